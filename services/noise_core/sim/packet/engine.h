// The packet engine: virtual cut-through with byte credits per VC, one event a packet-hop.
//
// Eager commitment: when a packet arrives and its credit will be there by the time the link is free, its departure, its
// next arrival and the return of its credit are known, so no link-free, credit or delivery events exist. Otherwise it
// waits in the queue of its channel, which a returning credit drains. Arbitration is first-committed first-served,
// fixed up to one committed backlog early; queues of different inputs do not block one another (no head-of-line
// blocking in the crossbar).
#pragma once

#include <atomic>
#include <functional>
#include <vector>

#include "sim/packet/client.h"
#include "sim/packet/credits.h"
#include "sim/packet/wheel.h"

namespace flitwatch::sim::packet {

struct RunControl {
  std::atomic<bool> cancelled{false};
  std::atomic<std::uint64_t> delivered_bytes{0};
};

// CreditsInPlace: credit records that a channel holds without a list beside it. A channel with 3 is one cache line,
// with 11 two.
template <class Routing, std::uint32_t CreditsInPlace>
class Engine final : public Host {
 public:
  Engine(const Network& network, const Routing& routing, Client& client, EngineOptions options)
      : network_(network),
        routing_(routing),
        client_(client),
        options_(options),
        numbers_(network, routing.vcs()),
        channels_(numbers_.count()),
        wake_times_(numbers_.count()),
        ports_(network.ports()),
        loads_(network.ports() + 8),
        packets_(kMaxPackets),
        nics_(network.endpoints()),
        eject_(network.endpoints()),
        nic_counters_(options.nic_protocol ? network.endpoints() : 0),
        congested_(options.sampling ? network.ports() : 0),
        random_(options.seed) {
    statistics_.jobs.resize(options.jobs);
    for (PortId port = 0; port < network_.ports(); ++port) {
      ports_[port].peer = network_.peer(port);
      ports_[port].timing_class = network_.timing_class(port);
    }
    for (std::uint32_t e = 0; e < network_.endpoints(); ++e)
      fill(channels_[numbers_.injection(e)], network_.injection(e));
    open_planes(std::min(numbers_.vcs(), 3u));  // congestion() asks for the VCs of the first hops
  }

  RunStatistics run(RunControl& control);

  // Host
  Time now() const override { return now_; }
  void post(const Post& message) override;
  void at(Time time, std::uint32_t cookie) override;
  const NicCounters& nic(std::uint32_t endpoint) const override { return nic_counters_[endpoint]; }

  // What the routing policy sees.
  Time load(PortId port) const { return loads_[port]; }  // when the port falls idle, as of its last change
  const Time* loads() const { return loads_.data(); }
  std::uint64_t random() { return random_(); }
  void count(bool minimal) { ++(minimal ? statistics_.minimal : statistics_.non_minimal); }
  void uncount_minimal() { --statistics_.minimal; }
  // Time to send what waits here for the port, and what the credits seen here say is still in the next router's buffer
  // of this VC. The latter is stale by a round trip.
  Time congestion(PortId out, std::uint32_t vc) const {
    const Port& port = ports_[out];
    const Time unsent = port.free > now_ ? port.free - now_ : 0, backlog = unsent + port.queued;
    if (network_.class_ejects(port.timing_class)) return backlog;
    const LinkTiming& link = network_.timing_of(port.timing_class);
    const std::int32_t used = link.buffer_bytes - credits_.known(channels_[numbers_.of(out, vc)], now_);
    const Time sent = link.serialise(used > 0 ? static_cast<std::uint32_t>(used) : 0);
    return backlog + (sent > unsent ? sent - unsent : 0);
  }
  void prefetch_congestion(PortId port, std::uint32_t vc) const {
    fetch(&ports_[port]);
    prefetch_line(numbers_.of(port, vc));
  }

  // Results, valid after run().
  ChannelCounters counters(PortId port, std::uint32_t vc) const {
    const std::uint32_t channel = channel_of(port, vc);
    const auto wide = wide_.find(channel);
    ChannelCounters sum = wide == wide_.end() ? ChannelCounters{} : wide->second;
    NarrowCounters narrow = channels_[channel].in;
    narrow.move_to(sum);
    return sum;
  }
  void forget_counters(std::uint32_t vc) {
    channels_.forget(numbers_.of(0, vc), numbers_.of(0, vc + 1));
  }  // they were read
  const ChannelCounters& ejected(std::uint32_t endpoint) const { return eject_[endpoint]; }
  Time port_wait_ps(PortId port) const { return ports_[port].wait; }
  const std::vector<NicCounters>& nic_counters() const { return nic_counters_; }
  const std::vector<SampleRecord>& samples() const { return samples_; }
  // Packets that found a port congested, by port: what samples estimate. Empty without sampling.
  const std::vector<std::uint64_t>& congested() const { return congested_; }

 private:
  static constexpr std::size_t kMaxPackets = std::size_t{1} << 24;  // address space only; live packets take memory
  static constexpr std::uint32_t kIdMask = (1u << 30) - 1;
  enum EventKind : std::uint32_t { kArrival = 0u << 30, kWake = 1u << 30, kDelivered = 2u << 30, kTimer = 3u << 30 };

  using Line = Channel<CreditsInPlace>;

  struct Port {   // two to a cache line
    Time free;    // the link is committed until then
    Time queued;  // serialisation time of the packets that wait for it
    Time wait;    // time the link stood idle while a packet waited for credit
    std::uint32_t peer;
    std::uint8_t timing_class;
  };
  static_assert(sizeof(Port) == 32);
  struct Nic {
    std::uint32_t head = kNil, tail = kNil;                // messages
    std::uint32_t responses = kNil, last_response = kNil;  // response packets that wait
    std::uint32_t outstanding = 0;
    std::uint32_t generated_dst = 0, generated_left = 0;  // rest of a generated message
    Time generated_at = 0;
    std::uint8_t generated_job = 0, generated_mode = 0;
    Time blocked_since = kNever;
  };

  std::uint32_t channel_of(PortId port, std::uint32_t vc) const {
    return port >= network_.router_ports() ? numbers_.injection(port - network_.router_ports()) : numbers_.of(port, vc);
  }
  void fill(Line& c, PortId port) const;
  void open_planes(std::uint32_t planes);
  std::uint32_t new_packet();
  void free_packet(std::uint32_t i);
  void handle(std::uint32_t event);
  void arrive(std::uint32_t i);
  void at_endpoint(std::uint32_t i);
  template <bool kEjects>
  void commit(std::uint32_t i, PortId out, std::uint32_t channel, Time start);
  void eject(std::uint32_t i, Time end, const LinkTiming& link);
  void give_back(std::uint32_t channel, const Packet& p, Time when, Time stall);
  void count(NarrowCounters& in, std::uint32_t channel, const Packet& p, Time stall);
  void drain(std::uint32_t channel);
  void cascade();
  void wake_later(Line& c, std::uint32_t channel, Time wake);
  void inject(std::uint32_t endpoint);
  bool next_payload(std::uint32_t endpoint, Nic& nic, Packet& p, Time& born);
  void consume_payload(Nic& nic, const Packet& p, Time end);
  bool queue_exceeds_credit(const Packet& p, PortId out, std::uint32_t channel) const;
  void sample(Packet& p, PortId out, bool congested);
  void prefetch();
  template <bool kSoon>
  void prefetch_followers(std::uint32_t event) const;
  void prefetch_line(std::uint32_t channel) const;
  void prefetch_way(const Packet& p) const;
  void check();
  Time slack(const Packet& p, const LinkTiming& out) const {
    const Time in = network_.timing_of(p.in_class).serialise(p.wire_bytes), next = out.serialise(p.wire_bytes);
    return in > next ? in - next : 0;
  }

  const Network& network_;
  const Routing& routing_;
  Client& client_;
  EngineOptions options_;
  ChannelNumbers numbers_;
  Wheel wheel_;
  FlatArray<Line> channels_;
  FlatArray<Time> wake_times_;  // of the earliest wake event of a channel that has any
  FlatArray<Port> ports_;
  FlatArray<Time> loads_;
  FlatArray<Packet> packets_;
  CreditStore<Line> credits_;
  std::unordered_map<std::uint32_t, ChannelCounters> wide_;
  std::vector<Nic> nics_;
  std::vector<ChannelCounters> eject_;
  std::vector<NicCounters> nic_counters_;
  std::vector<Message> messages_;
  std::vector<std::uint32_t> free_messages_, timers_, free_timers_, cascade_;
  std::vector<SampleRecord> samples_;
  std::vector<std::uint64_t> congested_;
  RunStatistics statistics_;
  Random random_;
  Time now_ = 0;
  std::uint32_t free_packet_ = kNil, used_packets_ = 0, live_packets_ = 0, open_planes_ = 0;
};

}  // namespace flitwatch::sim::packet

#include "sim/packet/engine_nic.h"
#include "sim/packet/engine_router.h"
