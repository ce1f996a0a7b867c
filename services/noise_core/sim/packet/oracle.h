// The oracle: the same network model with conventional events on the same wheel (arrival, link idle, credit, delivery),
// and an arbiter that decides when the link becomes idle. Deliberately slow, it checks the effect of eager commitment.
#pragma once

#include <deque>

#include "sim/packet/client.h"
#include "sim/packet/engine.h"

namespace flitwatch::sim::packet {

enum class Arbitration { kOldestFirst, kRoundRobin };

template <class Routing>
class Oracle final : public Host {
 public:
  Oracle(const Network& network, const Routing& routing, Client& client, EngineOptions options, Arbitration arbitration)
      : network_(network),
        routing_(routing),
        client_(client),
        options_(options),
        arbitration_(arbitration),
        numbers_(network, routing.vcs()),
        channels_(numbers_.count()),
        ports_(network.ports()),
        loads_(network.ports()),
        nics_(network.endpoints()),
        eject_(network.endpoints()),
        random_(options.seed) {
    if (options.nic_protocol || options.sampling || options.control.kind != ControlKind::kNone)
      throw std::invalid_argument(
          "the oracle has neither the NIC protocol nor sampling nor congestion control; use the eager engine");
    statistics_.jobs.resize(options.jobs);
    for (PortId port = 0; port < network.ports(); ++port) {
      if (network.timing_class(port) == Network::kUnused) continue;
      const bool injects = port >= network.router_ports();
      for (std::uint32_t vc = 0; vc < (injects ? 1 : numbers_.vcs()); ++vc) {
        Queue& q = channels_[channel(port, vc)];
        q.credit = !injects && network.ejects(port) ? 1 << 30 : network.timing(port).buffer_bytes;
      }
    }
  }

  RunStatistics run(RunControl& control);

  Time now() const override { return now_; }
  void post(const Post& message) override {
    messages_.push_back({message.bytes, message.bytes, message.bytes, 0, now_, 0, message.src, message.dst, kNil,
                         message.cookie, message.job, message.mode});
    nics_[message.src].queue.push_back(static_cast<std::uint32_t>(messages_.size() - 1));
    if (!starting_) inject(message.src);
  }
  void at(Time time, std::uint32_t cookie) override { push(time, {Kind::kTimer, cookie, 0}); }
  const NicCounters& nic(std::uint32_t) const override { throw std::logic_error("the oracle has no NIC protocol"); }

  Time load(PortId port) const { return loads_[port]; }
  const Time* loads() const { return loads_.data(); }
  std::uint64_t random() { return random_(); }
  void count(bool minimal) { ++(minimal ? statistics_.minimal : statistics_.non_minimal); }
  void uncount_minimal() { --statistics_.minimal; }
  Time congestion(PortId port, std::uint32_t vc) const {
    const Time backlog = loads_[port] > now_ ? loads_[port] - now_ : 0;
    if (network_.ejects(port)) return backlog;
    const LinkTiming& link = network_.timing(port);
    return backlog +
           link.serialise(static_cast<std::uint32_t>(link.buffer_bytes - channels_[numbers_.of(port, vc)].credit));
  }

  const ChannelCounters& counters(PortId port, std::uint32_t vc) const { return channels_[channel(port, vc)].in; }
  void forget_counters(std::uint32_t) {}
  Time port_wait_ps(PortId port) const { return ports_[port].wait; }
  const ChannelCounters& ejected(std::uint32_t endpoint, std::uint32_t) const { return eject_[endpoint]; }
  const std::vector<NicCounters>& nic_counters() const { return nic_counters_; }
  const std::vector<SampleRecord>& samples() const { return samples_; }
  const std::vector<std::uint64_t>& congested() const { return congested_; }

 private:
  enum class Kind : std::uint8_t { kArrival, kIdle, kCredit, kDelivery, kTimer, kGenerate };
  struct Event {
    Kind kind;
    std::uint32_t a, b;
  };
  struct Queue {
    std::int32_t credit = 0;
    std::deque<std::uint32_t> waiting;
    ChannelCounters in;
  };
  struct Port {
    Time busy = 0, queued = 0, wait = 0;
    std::uint32_t waiting = 0, turn = 0;
  };
  struct Generated {
    std::uint32_t dst, left;
    Time born;
    std::uint8_t job, mode;
  };
  struct Nic {
    std::deque<std::uint32_t> queue;
    std::deque<Generated> generated;
  };

  std::uint32_t channel(PortId port, std::uint32_t vc) const {
    return port >= network_.router_ports() ? numbers_.injection(port - network_.router_ports()) : numbers_.of(port, vc);
  }
  void push(Time time, Event event) {
    std::uint32_t i;
    if (free_events_.empty()) {
      i = static_cast<std::uint32_t>(events_.size());
      events_.push_back(event);
    } else {
      i = free_events_.back();
      free_events_.pop_back();
      events_[i] = event;
    }
    wheel_.push(time, i);
  }
  std::uint32_t new_packet() {
    if (!free_packets_.empty()) {
      const std::uint32_t i = free_packets_.back();
      free_packets_.pop_back();
      return i;
    }
    packets_.emplace_back();
    return static_cast<std::uint32_t>(packets_.size() - 1);
  }

  void handle(const Event& event);
  void arrive(std::uint32_t i);
  void send(PortId out);
  std::uint32_t arbitrate(PortId out) const;
  void inject(std::uint32_t endpoint);
  void generate(std::uint32_t endpoint);
  void deliver(std::uint32_t i);
  void check();

  const Network& network_;
  const Routing& routing_;
  Client& client_;
  EngineOptions options_;
  Arbitration arbitration_;
  ChannelNumbers numbers_;
  Wheel wheel_;
  std::vector<Event> events_;
  std::vector<std::uint32_t> free_events_, free_packets_;
  std::vector<Queue> channels_;
  std::vector<Port> ports_;
  std::vector<Time> loads_;
  std::deque<Packet> packets_;
  std::vector<Nic> nics_;
  std::vector<ChannelCounters> eject_;
  std::vector<Message> messages_;
  std::vector<NicCounters> nic_counters_;
  std::vector<SampleRecord> samples_;
  std::vector<std::uint64_t> congested_;
  RunStatistics statistics_;
  Random random_;
  Time now_ = 0;
  bool starting_ = true;
  std::uint64_t live_ = 0;
};

}  // namespace flitwatch::sim::packet

#include "sim/packet/oracle_steps.h"
