// The packet engine: virtual cut-through with byte credits per VC, one event per packet and hop.
//
// Eager commitment: if a packet's credit will be available by the time the link is free, its departure, its next
// arrival and the return of its credit are known on arrival. No events for free links, credits or deliveries are
// needed. Otherwise, it waits in the queue of its channel, which a returning credit drains. Arbitration is
// first-committed first-served, decided up to one committed backlog early. Queues of different inputs do not block one
// another (no head-of-line blocking in the crossbar).
//
// With traffic classes (routing policy ByClass), no packet is committed ahead: a packet queues at its channel, and its
// port chooses when it is idle (engine_classes.h).
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <type_traits>
#include <vector>

#include "sim/packet/client.h"
#include "sim/packet/credits.h"
#include "sim/packet/division.h"
#include "sim/packet/wheel.h"

namespace flitwatch::sim::packet {

struct RunControl {
  std::atomic<bool> cancelled{false};
  std::atomic<std::uint64_t> delivered_bytes{0};
};

// CreditsInPlace: credit records that a channel stores without a separate list. A channel with 3 is one cache line,
// with 11 two. Divided: the engine is one part of a run (divided.h).
template <class Routing, std::uint32_t CreditsInPlace, bool Divided = false>
class Engine final : public Host {
  using Line = Channel<CreditsInPlace>;
  struct Port {   // two to a cache line
    Time free;    // the link is committed until then
    Time queued;  // serialisation time of the packets that wait for it
    Time wait;    // time that the link was idle while a packet waited for credit
    std::uint32_t peer;
    std::uint8_t timing_class;
    std::uint8_t part;  // of the peer
  };
  static_assert(sizeof(Port) == 32);
  struct Nic {
    std::uint32_t head = kNil, tail = kNil;  // messages
    std::uint32_t before = kNil;             // with congestion control: the message before the one that is sending
    std::uint32_t responses = kNil, last_response = kNil;  // response packets that wait
    std::uint32_t outstanding = 0;
    std::uint32_t generated_dst = 0, generated_left = 0;  // rest of a generated message
    Time generated_at = 0;
    std::uint8_t generated_job = 0, generated_mode = 0;
    Time blocked_since = kNever;
  };

 public:
  // The engine's state of the fabric. The parts of a divided run share it; each uses only its own routers and nodes.
  struct Memory {
    Memory(const Network& network, const Routing& routing, const EngineOptions& options, std::size_t packet_count)
        : numbers(network, routing.vcs(), options.classes.count()),
          channels(numbers.count()),
          wake_times(numbers.count()),
          ports(network.ports()),
          loads(std::size_t{loads_stride(network)} * options.classes.count()),
          packets(packet_count),
          nics(network.endpoints() * options.classes.count()),
          eject(network.endpoints() * options.classes.count()),
          nic_counters(options.nic_protocol ? network.endpoints() : 0) {}

    ChannelNumbers numbers;
    FlatArray<Line> channels;
    FlatArray<Time> wake_times;  // of the earliest wake event of a channel, if any
    FlatArray<Port> ports;
    FlatArray<Time> loads;
    FlatArray<Packet> packets;
    std::vector<Nic> nics;
    std::vector<ChannelCounters> eject;
    std::vector<NicCounters> nic_counters;
  };

  Engine(const Network& network, const Routing& routing, Client& client, EngineOptions options)
      : Engine(network, routing, client, options, std::make_shared<Memory>(network, routing, options, kMaxPackets),
               nullptr, 0) {}
  // Part `part` of a divided run.
  Engine(const Network& network, const Routing& routing, Client& client, EngineOptions options,
         std::shared_ptr<Memory> memory, const Division* division, std::uint32_t part)
      : network_(network),
        routing_(routing),
        client_(client),
        options_(options),
        memory_(std::move(memory)),
        numbers_(memory_->numbers),
        channels_(memory_->channels.data()),
        wake_times_(memory_->wake_times.data()),
        ports_(memory_->ports.data()),
        loads_(memory_->loads.data()),
        packets_(memory_->packets.data()),
        nics_(memory_->nics.data()),
        eject_(memory_->eject.data()),
        nic_counters_(memory_->nic_counters.data()),
        congested_(options.sampling ? network.ports() : 0),
        random_(options.seed + part * 0xD1342543DE82EF95ull),
        division_(division),
        part_(part) {
    if constexpr (Divided) open_part();
    statistics_.jobs.resize(options.jobs);
    if (options.control.kind != ControlKind::kNone) {
      if (options.nic_protocol || options.sampling || client.generates())
        throw std::invalid_argument(
            "congestion control goes with messages alone: without the NIC protocol, sampling and generated traffic");
      control_ = std::make_unique<CongestionControl>(options.control, network.endpoints() * classes());
    }
    if constexpr (kClasses) {
      if (options.nic_protocol || options.sampling)
        throw std::invalid_argument("traffic classes go without the NIC protocol and without sampling");
      arbiter_ = std::make_unique<ClassArbiter>(options.classes.classes, network.ports());
      statistics_.classes.resize(classes());
    }
    watched_ = control_ || options.sampling;
    each_port([&](PortId port) {
      const std::uint32_t peer = network_.peer(port);
      ports_[port].peer = peer;
      ports_[port].timing_class = network_.timing_class(port);
      if constexpr (Divided) ports_[port].part = peer == kNil ? 0 : division_->of_router[peer];
    });
    for (std::uint32_t k = 0; k < classes(); ++k)
      each_endpoint([&](std::uint32_t e) { fill(channels_[numbers_.injection(place(e, k))], network_.injection(e)); });
    open_planes(std::min(numbers_.vcs(), 3u * classes()));  // congestion() asks for the VCs of the first hops
  }

  RunStatistics run(RunControl& control);

  // Calls for one part of a divided run, between two ends of windows (engine_part.h).
  void know(Engine* const* parts) { parts_ = parts; }
  void window(Time from, Time until, Mailbox* out, std::vector<std::vector<Mailbox>>& sent);
  Time earliest() const { return wheel_.earliest(); }
  std::uint32_t live_packets() const { return live_packets_; }  // arrivals minus departures, modulo 2^32
  const RunStatistics& statistics() const { return statistics_; }
  std::uint64_t credit_faults() const;

  // Host
  Time now() const override { return now_; }
  void post(const Post& message) override;
  void at(Time time, std::uint32_t cookie) override;
  const NicCounters& nic(std::uint32_t endpoint) const override { return nic_counters_[endpoint]; }

  // Interface for the routing policy.
  static constexpr bool kOutputQueues = requires { requires Routing::kOutputQueues; };
  static constexpr bool kShared = Divided;               // loads of other routers can change meanwhile
  Time load(PortId port) const { return loads_[port]; }  // time when the port becomes idle, as of its last change
  const Time* loads() const { return loads_; }
  const Time* loads_of(std::uint32_t k) const { return loads_ + std::size_t{k} * loads_stride(network_); }
  std::uint64_t random() { return random_(); }
  void count(bool minimal) { ++(minimal ? statistics_.minimal : statistics_.non_minimal); }
  void uncount_minimal() { --statistics_.minimal; }
  // Returns the time to send the packets waiting here for the port, plus the bytes that, by the credits seen here, are
  // still in the next router's buffer of this VC. The latter is outdated by one round trip.
  Time congestion(PortId out, std::uint32_t vc) const {
    const Port& port = ports_[out];
    const Time unsent = port.free > now_ ? port.free - now_ : 0;
    const Time backlog = unsent + queued(out, class_of_channel(vc));
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
    memory_->channels.forget(numbers_.of(0, vc), numbers_.of(0, vc + 1));
  }  // they were read
  const ChannelCounters& ejected(std::uint32_t endpoint, std::uint32_t k) const { return eject_[place(endpoint, k)]; }
  Time port_wait_ps(PortId port) const { return ports_[port].wait; }
  const std::vector<NicCounters>& nic_counters() const { return memory_->nic_counters; }
  const std::vector<SampleRecord>& samples() const { return samples_; }
  // Packets that found a port congested, by port: the true counts that samples estimate. Empty without sampling.
  const std::vector<std::uint64_t>& congested() const { return congested_; }

 private:
  static constexpr bool kClasses = kByClass<Routing>;
  static constexpr std::size_t kMaxPackets = std::size_t{1} << 24;  // only address space; live packets take memory
  static constexpr std::uint32_t kIdMask = (1u << 30) - 1;
  enum EventKind : std::uint32_t { kArrival = 0u << 30, kWake = 1u << 30, kDelivered = 2u << 30, kTimer = 3u << 30 };

  static constexpr std::size_t kMaxMessages = std::size_t{1} << 25;  // of a part; only address space, too
  // A message that arrived: stored at its destination's part, at its source's, or both.
  struct Delivery {
    std::uint32_t message, cookie;
    bool ends_here, began_here;
  };

  std::uint32_t channel_of(PortId port, std::uint32_t vc) const {
    return port >= network_.router_ports() ? numbers_.injection(place(port - network_.router_ports(), vc))
                                           : numbers_.of(port, vc);
  }

  // Traffic classes. Without them, there is one, the constant 0.
  std::uint32_t classes() const {
    if constexpr (kClasses) return routing_.classes();
    return 1;
  }
  std::uint32_t class_of(std::uint8_t job) const {
    if constexpr (kClasses) return routing_.class_of(job);
    return 0;
  }
  std::uint32_t class_of_channel(std::uint32_t vc) const {
    if constexpr (kClasses) return vc % routing_.classes();
    return 0;
  }
  // Per class of an endpoint: index in nics_ and eject_, number of its injection channel.
  std::uint32_t place(std::uint32_t endpoint, std::uint32_t k) const {
    if constexpr (kClasses) return k * network_.endpoints() + endpoint;
    return endpoint;
  }
  std::uint32_t endpoint_of(std::uint32_t channel) const {
    if constexpr (kClasses) return channel % network_.endpoints();
    return numbers_.endpoint(channel);
  }
  Time queued(PortId port, std::uint32_t k) const {
    if constexpr (kClasses) return arbiter_->share(port, k).queued;
    return ports_[port].queued;
  }
  static std::uint32_t loads_stride(const Network& network) { return network.ports() + 8; }
  void enqueue(std::uint32_t i, PortId out);
  void serve(PortId out);
  void send_head(PortId out, std::uint32_t channel);
  std::uint32_t oldest_ready(PortId out, std::uint32_t k, Time& wake);
  void inject_by_class(std::uint32_t endpoint);
  bool has_credit(Line& c, std::uint32_t bytes, Time& wake);
  bool next_of_class(std::uint32_t endpoint, std::uint32_t k, Packet& p, Time& wake);
  void inject_one(std::uint32_t endpoint, std::uint32_t k, const Packet& next);
  void look_again(PortId out, Time when);
  void note_loads(PortId out);

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
  bool reserve(Line& c, const Packet& p, const Port& port, Time& wake);
  template <bool kEjects>
  Time entry(const Packet& p, Time start, const LinkTiming& link) const;
  void give_back(std::uint32_t channel, const Packet& p, Time when, Time stall);
  void count(NarrowCounters& in, std::uint32_t channel, std::uint32_t bytes, std::uint32_t flits, Time stall);
  void drain(std::uint32_t channel);
  void cascade();
  void wake_later(Line& c, std::uint32_t channel, Time wake);
  void inject(std::uint32_t endpoint);
  void launch(std::uint32_t i, PortId out, std::uint32_t channel, Time start, Time end, Time waited);
  // Congestion control and samples, separated from runs without them.
  [[gnu::cold, gnu::noinline]] std::uint32_t next_allowed(std::uint32_t endpoint, Nic& nic);
  std::uint32_t first_allowed(std::uint32_t endpoint, Nic& nic, Time& wake);
  [[gnu::cold, gnu::noinline]] void watch(Packet& p, PortId out);
  [[gnu::cold, gnu::noinline]] void watch_injection(Packet& p, PortId out, Time waited);
  [[gnu::cold, gnu::noinline]] void watch_arrival(const Packet& p, Time when, const LinkTiming& link);
  [[gnu::cold, gnu::noinline]] bool finds_queue(const Packet& p, PortId out);
  [[gnu::cold, gnu::noinline]] bool unlinks(Nic& nic, const Packet& p, Time end);
  [[gnu::cold, gnu::noinline]] void tell_sender(const Packet& p, Time when, const LinkTiming& link);
  bool next_payload(std::uint32_t endpoint, Nic& nic, Packet& p, Time& born);
  void consume_payload(Nic& nic, const Packet& p, Time end);
  bool queue_exceeds_credit(const Packet& p, PortId out, std::uint32_t channel) const;
  Time node_buffer(const Packet& p, const LinkTiming& link) const {
    return link.serialise(static_cast<std::uint32_t>(network_.timing(network_.injection(p.dst)).buffer_bytes));
  }
  [[gnu::cold, gnu::noinline]] void sample(Packet& p, PortId out, bool congested);
  void prefetch();
  void prefetch_packet(std::uint32_t event) const;
  void prefetch_names(std::uint32_t event);
  void prefetch_way(std::uint32_t event);
  template <bool kSoon>
  void prefetch_followers(std::uint32_t event) const;
  void prefetch_line(std::uint32_t channel) const;
  void prefetch_way(const Packet& p) const;
  // In a divided run those of the part, else all.
  template <class Visit>
  void each_port(Visit visit) const;
  template <class Visit>
  void each_router_port(Visit visit) const;
  template <class Visit>
  void each_endpoint(Visit visit) const;

  // Parts.
  void open_part();
  void start();
  void warm_up();
  void take_in(Mailbox& box, Time from);
  void send_credit(const Packet& p, Time when, Time stall);
  void deliver(const Packet& p, Time when);
  void await_delivery(Time when, Delivery delivery);
  void end_delivery(std::uint32_t id);
  Message& message_of(const Packet& p) const;
  Time slack(const Packet& p, const LinkTiming& out) const {
    const Time in = network_.timing_of(p.in_class).serialise(p.wire_bytes), next = out.serialise(p.wire_bytes);
    return in > next ? in - next : 0;
  }

  const Network& network_;
  const Routing& routing_;
  Client& client_;
  EngineOptions options_;
  std::shared_ptr<Memory> memory_;
  ChannelNumbers numbers_;
  Wheel wheel_;
  Line* channels_;
  Time* wake_times_;
  Port* ports_;
  Time* loads_;
  Packet* packets_;
  CreditStore<Line> credits_;
  std::unordered_map<std::uint32_t, ChannelCounters> wide_;
  Nic* nics_;
  ChannelCounters* eject_;
  NicCounters* nic_counters_;
  // Other parts look up messages that arrive there, so those of a divided run must not move.
  std::conditional_t<Divided, FlatArray<Message>, std::vector<Message>> messages_;
  std::vector<std::uint32_t> free_messages_, timers_, free_timers_, cascade_;
  std::vector<SampleRecord> samples_;
  std::vector<std::uint64_t> congested_;
  std::unique_ptr<CongestionControl> control_;
  std::unique_ptr<ClassArbiter> arbiter_;
  RunStatistics statistics_;
  Random random_;
  Time now_ = 0;
  bool watched_ = false;  // by congestion control or samples: the only check of a hop without them
  std::uint32_t free_packet_ = kNil, used_packets_ = 0, live_packets_ = 0, open_planes_ = 0;

  // Parts.
  const Division* division_;
  std::uint32_t part_, used_messages_ = 0;
  std::vector<std::uint32_t> routers_, endpoints_, free_deliveries_;
  std::vector<Delivery> deliveries_;
  Engine* const* parts_ = nullptr;
  Mailbox* out_ = nullptr;  // to each part, for the next window
};

}  // namespace flitwatch::sim::packet

#include "sim/packet/engine_classes.h"
#include "sim/packet/engine_nic.h"
#include "sim/packet/engine_part.h"
#include "sim/packet/engine_router.h"
