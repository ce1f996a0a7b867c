// Router part of the engine, and its loop (included by engine.h).
#pragma once

namespace flitwatch::sim::packet {

template <class R, std::uint32_t N, bool D>
RunStatistics Engine<R, N, D>::run(RunControl& control) {
  start();
  std::uint32_t turns = 0;
  while (wheel_.advance()) {
    if ((++turns & 1023) == 0) {
      if (control.cancelled.load(std::memory_order_relaxed)) throw CancelledRun();
      control.delivered_bytes.store(statistics_.delivered_bytes, std::memory_order_relaxed);
    }
    while (wheel_.has_next()) {
      prefetch();
      const std::uint32_t event = wheel_.pop(now_);
      ++statistics_.events;
      handle(event);
    }
  }
  control.delivered_bytes.store(statistics_.delivered_bytes, std::memory_order_relaxed);
  statistics_.settle(live_packets_, credit_faults());
  return std::move(statistics_);
}

template <class R, std::uint32_t N, bool D>
inline void Engine<R, N, D>::fill(Line& c, PortId port) const {
  c.credit = network_.timing(port).buffer_bytes;
  c.head = c.tail = c.spill = kNil;
}

// Initialises the channels of the first VCs; the memory of the others stays unused.
template <class R, std::uint32_t N, bool D>
void Engine<R, N, D>::open_planes(std::uint32_t planes) {
  for (; open_planes_ < planes; ++open_planes_)
    each_router_port([&](PortId port) {
      if (network_.timing_class(port) != Network::kUnused && (kClasses || !network_.ejects(port)))
        fill(channels_[numbers_.of(port, open_planes_)], port);
    });
}

// Most of a hop's time is memory latency, so the data of an event are prefetched step by step: its packet, the data
// that the packet refers to, the port that it would take with current loads, and the packet that moves up behind it.
template <class R, std::uint32_t N, bool D>
[[gnu::always_inline]] inline void Engine<R, N, D>::prefetch() {
  prefetch_packet(wheel_.ahead(30));
  prefetch_names(wheel_.ahead(19));
  const std::uint32_t third = wheel_.ahead(10);
  prefetch_way(third);
  prefetch_followers<false>(third);
  prefetch_followers<true>(wheel_.ahead(4));
}

template <class R, std::uint32_t N, bool D>
[[gnu::always_inline]] inline void Engine<R, N, D>::prefetch_packet(std::uint32_t event) const {
  if (event < kWake)
    fetch(&packets_[event]);
  else if (event >> 30 == kWake >> 30)
    prefetch_line(event & kIdMask);
}

template <class R, std::uint32_t N, bool D>
[[gnu::always_inline]] inline void Engine<R, N, D>::prefetch_names(std::uint32_t event) {
  if (event >= kWake || packets_[event].phase == Phase::kAtEndpoint) return;
  const Packet& p = packets_[event];
  if (!D || p.part == part_) prefetch_line(p.in_channel);
  if (numbers_.is_injection(p.in_channel)) {
    fetch(&nics_[p.in_channel]);
    client_.prefetch(endpoint_of(p.in_channel));
  }
  routing_.prefetch_loads(p, *this);
}

template <class R, std::uint32_t N, bool D>
[[gnu::always_inline]] inline void Engine<R, N, D>::prefetch_way(std::uint32_t event) {
  if (event >= kWake || packets_[event].phase == Phase::kAtEndpoint) return;
  const Packet& p = packets_[event];
  if (p.next == kNil)
    routing_.prefetch(p, *this);
  else
    prefetch_way(p);
}

// Follow-up of an event that returns buffer to a channel: its NIC or the longest waiting packet moves up, or its list
// of credits grows.
template <class R, std::uint32_t N, bool D>
template <bool kSoon>
[[gnu::always_inline]] inline void Engine<R, N, D>::prefetch_followers(std::uint32_t event) const {
  if (event == kNil || event >> 30 > kWake >> 30) return;
  if (D && event < kWake && packets_[event].part != part_) return;
  const std::uint32_t channel = event < kWake ? packets_[event].in_channel : event & kIdMask;
  const Line& c = channels_[channel];
  credits_.template prefetch<kSoon>(c);
  if (c.head == kNil) return;
  if constexpr (kSoon) {
    if (!numbers_.is_injection(channel)) prefetch_line(packets_[c.head].in_channel);
  } else if (numbers_.is_injection(channel)) {
    const std::uint32_t message = nics_[channel].head;
    fetch(&ports_[network_.injection(endpoint_of(channel))]);
    if (message != kNil) fetch(&messages_[message]);
  } else {
    fetch(&packets_[c.head]);
    fetch(&ports_[numbers_.port(channel)]);
  }
}

template <class R, std::uint32_t N, bool D>
inline void Engine<R, N, D>::prefetch_line(std::uint32_t channel) const {
  for (std::size_t line = 0; line < sizeof(Line); line += 64)
    fetch(reinterpret_cast<const char*>(&channels_[channel]) + line);
}

template <class R, std::uint32_t N, bool D>
inline void Engine<R, N, D>::prefetch_way(const Packet& p) const {
  const PortId out = routing_.port_ahead(p, *this);
  fetch(&ports_[out]);
  if (network_.router_of(p.dst) != p.cur) return prefetch_line(numbers_.of(out, routing_.vc_ahead(p)));
  fetch(&eject_[p.dst]);
  if (p.msg != kNil) fetch(&message_of(p));
}

template <class R, std::uint32_t N, bool D>
[[gnu::always_inline]] inline void Engine<R, N, D>::handle(std::uint32_t event) {
  const std::uint32_t id = event & kIdMask;
  switch (event & ~kIdMask) {
    case kArrival:
      return packets_[id].phase == Phase::kAtEndpoint ? at_endpoint(id) : arrive(id);
    case kWake:
      ++statistics_.wakes;
      --channels_[id].wakes;
      cascade_.push_back(id);
      return cascade();
    case kDelivered: {
      if constexpr (D) return end_delivery(id);
      const std::uint32_t cookie = messages_[id].cookie;
      free_messages_.push_back(id);
      client_.delivered(cookie, *this);
      return cascade();
    }
    default: {
      const std::uint32_t cookie = timers_[id];
      free_timers_.push_back(id);
      client_.timer(cookie, *this);
      return cascade();
    }
  }
}

template <class R, std::uint32_t N, bool D>
inline std::uint32_t Engine<R, N, D>::new_packet() {
  std::uint32_t i = free_packet_;
  if (i != kNil)
    free_packet_ = packets_[i].next;
  else if ((i = used_packets_++) >= (D ? (part_ + 1) * Division::kPackets : kMaxPackets))
    throw EngineFault(D ? "more than 4 million packets of one part are in the fabric"
                        : "more than 16 million packets are in the fabric");
  ++live_packets_;
  if (!D && live_packets_ > statistics_.peak_packets) statistics_.peak_packets = live_packets_;
  return i;
}

template <class R, std::uint32_t N, bool D>
inline void Engine<R, N, D>::free_packet(std::uint32_t i) {
  --live_packets_;
  if constexpr (D) {
    const std::uint32_t owner = i / Division::kPackets;
    if (owner != part_) return out_[owner].take_back(i, packets_);
  }
  packets_[i].next = free_packet_;
  free_packet_ = i;
}

template <class R, std::uint32_t N, bool D>
[[gnu::always_inline]] inline void Engine<R, N, D>::arrive(std::uint32_t i) {
  Packet& p = packets_[i];
  ++statistics_.packet_hops;
  ++p.hops;
  const PortId out = routing_.route(p, p.next, *this);
  Port& port = ports_[out];
  const LinkTiming& link = network_.timing_of(port.timing_class);
  p.arrived = now_ + slack(p, link);
  const Time start = std::max(p.arrived, port.free);
  if (__builtin_expect(watched_, 0)) watch(p, out);
  if constexpr (kClasses) {
    enqueue(i, out);
    serve(out);
    return cascade();
  }
  if (network_.class_ejects(port.timing_class)) {
    commit<true>(i, out, kNil, start);
    return cascade();
  }
  const std::uint32_t vc = routing_.vc(p), channel = numbers_.of(out, vc);
  if (__builtin_expect(vc >= open_planes_, 0)) open_planes(vc + 1);
  Line& c = channels_[channel];
  Time wake = 0;
  if (c.head == kNil && reserve(c, p, port, wake)) {
    commit<false>(i, out, channel, start);
    return cascade();
  }
  ++statistics_.queued;
  port.queued += link.serialise(p.wire_bytes);
  loads_[out] = std::max(port.free, now_) + port.queued;
  p.next = kNil;
  (c.head == kNil ? c.head : packets_[c.tail].next) = i;
  c.tail = i;
  if (wake) wake_later(c, channel, wake);
}

// Records the data of congestion control and of samples by credit for a packet that now reaches this port.
template <class R, std::uint32_t N, bool D>
void Engine<R, N, D>::watch(Packet& p, PortId out) {
  if (control_ && finds_queue(p, out)) p.marked = 1;
  if (!options_.sampling || options_.mark_after_ps) return;
  std::uint32_t channel = kNil;
  if (!network_.class_ejects(ports_[out].timing_class)) {
    const std::uint32_t vc = routing_.vc(p);
    if (vc >= open_planes_) open_planes(vc + 1);
    channel = numbers_.of(out, vc);
  }
  sample(p, out, queue_exceeds_credit(p, out, channel));
}

// Returns whether congestion control marks a packet that now reaches this port.
template <class R, std::uint32_t N, bool D>
bool Engine<R, N, D>::finds_queue(const Packet& p, PortId out) {
  const Port& port = ports_[out];
  const LinkTiming& link = network_.timing_of(port.timing_class);
  const Time unsent = (port.free > now_ ? port.free - now_ : 0) + queued(out, class_of(p.job));
  const double bytes = static_cast<double>(unsent) * link.bandwidth_bps() / 8e12;
  return control_->marks(bytes, network_.class_ejects(port.timing_class), random_.unit());
}

template <class R, std::uint32_t N, bool D>
inline void Engine<R, N, D>::wake_later(Line& c, std::uint32_t channel, Time wake) {
  if (c.wakes && wake >= wake_times_[channel]) return;
  ++c.wakes;
  wake_times_[channel] = wake;
  wheel_.push(wake, kWake | channel);
}

// Takes the packet's credit if it is known when the packet can depart or, with output queues, now. `wake` as in `take`.
template <class R, std::uint32_t N, bool D>
[[gnu::always_inline]] inline bool Engine<R, N, D>::reserve(Line& c, const Packet& p, const Port& port, Time& wake) {
  const Time base = kOutputQueues ? now_ : std::max(now_, port.free);
  const Time start = kOutputQueues ? now_ : std::max(base, p.arrived);
  return credits_.template take<R::kReadsCredit>(c, p.wire_bytes, base, start, wake);
}

// Returns when a packet that departs at `start` enters the output queue: now, or for a node, which returns the credit
// of a packet on arrival, when those ahead of it leave room.
template <class R, std::uint32_t N, bool D>
template <bool kEjects>
inline Time Engine<R, N, D>::entry(const Packet& p, Time start, const LinkTiming& link) const {
  if constexpr (!kEjects) return std::max(now_, p.arrived);
  const Time room = node_buffer(p, link) - link.serialise(p.wire_bytes), returned = start + 2 * link.latency_ps;
  return std::max(p.arrived, returned > room ? returned - room : 0);
}

// Packet i leaves its router through `out` at `start`.
template <class R, std::uint32_t N, bool D>
template <bool kEjects>
[[gnu::always_inline]] inline void Engine<R, N, D>::commit(std::uint32_t i, PortId out, std::uint32_t channel,
                                                           Time start) {
  Packet& p = packets_[i];
  Port& port = ports_[out];
  const LinkTiming& link = network_.timing_of(port.timing_class);
  const Time end = start + link.serialise(p.wire_bytes);
  const Time idle_from = std::max(p.arrived, port.free);
  if (start > idle_from) port.wait += start - idle_from;
  port.free = end;
  if constexpr (kClasses)
    note_loads(out);
  else
    loads_[out] = end + port.queued;
  const Time stall = start - p.arrived;
  if (__builtin_expect(options_.mark_after_ps != 0, 0)) sample(p, out, stall > options_.mark_after_ps);
  const Time left = kOutputQueues ? entry<kEjects>(p, start, link) + link.serialise(p.wire_bytes) : end;
  const Time back = left + network_.timing_of(p.in_class).latency_ps;
  if (D && p.part != part_)
    send_credit(p, back, stall);
  else
    give_back(p.in_channel, p, back, stall);
  if constexpr (kEjects) return eject(i, end, link);
  p.in_channel = channel;
  p.in_class = port.timing_class;
  p.cur = port.peer;
  p.next = routing_.look_ahead(p);
  const Time arrival = start + link.latency_ps + network_.router_delay_ps();
  if constexpr (D) {
    p.part = part_;
    if (port.part != part_) return out_[port.part].arrivals.push_back({arrival, i});
  }
  wheel_.push(arrival, i);
}

template <class R, std::uint32_t N, bool D>
[[gnu::always_inline]] inline void Engine<R, N, D>::give_back(std::uint32_t channel, const Packet& p, Time when,
                                                              Time stall) {
  Line& c = channels_[channel];
  count(c.in, channel, p.wire_bytes, p.flits, stall);
  credits_.give_back(c, now_, when, p.wire_bytes);
  if (c.head != kNil) cascade_.push_back(channel);
}

template <class R, std::uint32_t N, bool D>
inline void Engine<R, N, D>::count(NarrowCounters& in, std::uint32_t channel, std::uint32_t bytes, std::uint32_t flits,
                                   Time stall) {
  in.bytes += bytes;
  in.flits += flits;
  ++in.packets;
  const bool short_stall = stall < NarrowCounters::kFull;
  in.stall_ps += short_stall ? static_cast<std::uint32_t>(stall) : 0;
  if (__builtin_expect(((in.bytes | in.flits | in.stall_ps) & NarrowCounters::kFull) || !short_stall, 0)) {
    ChannelCounters& wide = wide_[channel];
    in.move_to(wide);
    if (!short_stall) wide.stall_ps += stall;
  }
}

// Returns whether the bytes waiting for the port, including the packet, exceed the available credits (Taffet 2021,
// section 2.3.1). Committed packets already have their credit and count on both sides. A node accepts all packets, so
// the credits of its link are those of a buffer like its switch's. With output queues, the packet itself does not
// count: congested are more bytes than the buffer, waiting or without their credit.
template <class R, std::uint32_t N, bool D>
bool Engine<R, N, D>::queue_exceeds_credit(const Packet& p, PortId out, std::uint32_t channel) const {
  const Port& port = ports_[out];
  if (channel == kNil) {
    const LinkTiming& link = network_.timing_of(port.timing_class);
    const Time unsent = port.free > now_ ? port.free - now_ : 0;
    return unsent + (kOutputQueues ? 2 * link.latency_ps : link.serialise(p.wire_bytes)) > node_buffer(p, link);
  }
  const Line& c = channels_[channel];
  const std::int32_t credit = credits_.known(c, now_);
  std::int32_t queue = kOutputQueues ? 0 : p.wire_bytes;
  for (std::uint32_t i = c.head; i != kNil && queue <= credit; i = packets_[i].next) queue += packets_[i].wire_bytes;
  return queue > credit;
}

// Taffet 2021, algorithms 1 and 2: the k-th link of a path, the NIC's being the first, replaces the sampled one with
// probability 1/k.
template <class R, std::uint32_t N, bool D>
void Engine<R, N, D>::sample(Packet& p, PortId out, bool congested) {
  if (p.kind != PacketKind::kResponse) congested_[out] += congested;
  if (p.hops && random_.below(p.hops + 1u) != 0) return;
  p.sample_link = out;
  p.marked = congested;
}

// The node drains at line rate: all effects of the departure are counted now, with one event per message.
template <class R, std::uint32_t N, bool D>
[[gnu::always_inline]] inline void Engine<R, N, D>::eject(std::uint32_t i, Time end, const LinkTiming& link) {
  Packet& p = packets_[i];
  const Time when = end + link.latency_ps;
  ChannelCounters& e = eject_[place(p.dst, class_of(p.job))];
  e.bytes += p.wire_bytes;
  ++e.packets;
  e.flits += p.flits;
  if (p.kind != PacketKind::kResponse) {
    statistics_.delivered_bytes += p.payload_bytes;
    ++statistics_.packets;
    statistics_.latency.add(when - p.born);
    ++statistics_.packets_of_hops[p.hops];
    JobStatistics& j = statistics_.jobs[p.job];
    j.bytes += p.payload_bytes;
    ++j.packets;
    j.hops += p.hops;
    j.latency_ps += static_cast<double>(when - p.born);
    j.end = std::max(j.end, when);
    if constexpr (kClasses) {
      ClassStatistics& of_class = statistics_.classes[class_of(p.job)];
      of_class.bytes += p.payload_bytes;
      of_class.latency.add(when - p.born);
    }
    if (D && p.msg != kNil) {
      deliver(p, when);
    } else if (p.msg != kNil) {
      Message& m = messages_[p.msg];
      m.last = std::max(m.last, when);
      if (!(m.to_deliver -= p.payload_bytes)) wheel_.push(m.last, kDelivered | p.msg);
    }
  }
  if (__builtin_expect(watched_, 0)) watch_arrival(p, when, link);
  if (p.kind == PacketKind::kData) return free_packet(i);
  p.phase = Phase::kAtEndpoint;
  wheel_.push(when, i);
}

template <class R, std::uint32_t N, bool D>
void Engine<R, N, D>::watch_arrival(const Packet& p, Time when, const LinkTiming& link) {
  if (options_.sampling && p.kind != PacketKind::kResponse)
    samples_.push_back({p.src, p.dst, p.sample_link, p.job, static_cast<std::uint8_t>(p.hops + 1), p.marked});
  if (control_) tell_sender(p, when, link);
}

template <class R, std::uint32_t N, bool D>
inline void Engine<R, N, D>::cascade() {
  while (!cascade_.empty()) {
    const std::uint32_t channel = cascade_.back();
    cascade_.pop_back();
    if (numbers_.is_injection(channel))
      inject(endpoint_of(channel));
    else
      drain(channel);
  }
}

template <class R, std::uint32_t N, bool D>
void Engine<R, N, D>::drain(std::uint32_t channel) {
  if constexpr (kClasses) return serve(numbers_.port(channel));
  Line& c = channels_[channel];
  const PortId out = numbers_.port(channel);
  Port& port = ports_[out];
  const LinkTiming& link = network_.timing_of(port.timing_class);
  while (c.head != kNil) {
    const std::uint32_t i = c.head;
    Packet& p = packets_[i];
    const Time start = std::max({now_, port.free, p.arrived});
    Time wake = 0;
    if (!reserve(c, p, port, wake)) {
      if (wake) wake_later(c, channel, wake);
      return;
    }
    c.head = p.next;
    if (c.head != kNil) fetch(&packets_[c.head]);
    port.queued -= link.serialise(p.wire_bytes);
    commit<false>(i, out, channel, start);
  }
}

template <class R, std::uint32_t N, bool D>
std::uint64_t Engine<R, N, D>::credit_faults() const {
  std::uint64_t credit_faults = 0;
  const auto full = [&](const Line& c, PortId port) { return credits_.total(c) == network_.timing(port).buffer_bytes; };
  for (std::uint32_t k = 0; k < classes(); ++k)
    each_endpoint([&](std::uint32_t e) {
      credit_faults += !full(channels_[numbers_.injection(place(e, k))], network_.injection(e));
    });
  each_router_port([&](PortId port) {
    if (network_.timing_class(port) == Network::kUnused || (!kClasses && network_.ejects(port))) return;
    for (std::uint32_t vc = 0; vc < open_planes_; ++vc) {
      const Line& c = channels_[numbers_.of(port, vc)];
      credit_faults += !full(c, port) || c.head != kNil;
    }
    for (std::uint32_t k = 0; k < classes(); ++k) credit_faults += queued(port, k) != 0;
  });
  return credit_faults;
}

}  // namespace flitwatch::sim::packet
