// The events of the oracle (included by oracle.h).
#pragma once

namespace flitwatch::sim::packet {

template <class R>
RunStatistics Oracle<R>::run(RunControl& control) {
  client_.start(*this);
  starting_ = false;
  for (std::uint32_t e = 0; e < network_.endpoints(); ++e) {
    if (client_.generates()) generate(e);
    inject(e);
  }
  std::uint32_t turns = 0;
  while (wheel_.advance()) {
    if ((++turns & 1023) == 0 && control.cancelled.load(std::memory_order_relaxed)) throw CancelledRun();
    while (wheel_.has_next()) {
      const std::uint32_t i = wheel_.pop(now_);
      ++statistics_.events;
      const Event event = events_[i];
      free_events_.push_back(i);
      handle(event);
    }
  }
  check();
  return std::move(statistics_);
}

template <class R>
void Oracle<R>::handle(const Event& event) {
  switch (event.kind) {
    case Kind::kArrival:
      return arrive(event.a);
    case Kind::kIdle:
      return event.a < network_.router_ports() ? send(event.a) : inject(event.a - network_.router_ports());
    case Kind::kCredit:
      channels_[event.a].credit += static_cast<std::int32_t>(event.b);
      return numbers_.is_injection(event.a) ? inject(numbers_.endpoint(event.a)) : send(numbers_.port(event.a));
    case Kind::kDelivery:
      return deliver(event.a);
    case Kind::kTimer:
      return client_.timer(event.a, *this);
    case Kind::kGenerate:
      inject(event.a);
      return generate(event.a);
  }
}

template <class R>
void Oracle<R>::arrive(std::uint32_t i) {
  Packet& p = packets_[i];
  ++statistics_.packet_hops;
  ++p.hops;
  const PortId out = routing_.route(p, *this);
  const LinkTiming& link = network_.timing(out);
  const Time in = network_.timing_of(p.in_class).serialise(p.wire_bytes), ser = link.serialise(p.wire_bytes);
  p.arrived = now_ + (in > ser ? in - ser : 0);
  channels_[channel(out, network_.ejects(out) ? 0 : routing_.vc(p))].waiting.push_back(i);
  Port& port = ports_[out];
  ++port.waiting;
  port.queued += ser;
  loads_[out] = std::max(port.busy, now_) + port.queued;
  send(out);
}

// Returns the VC whose head is sent next, or kNil if none has credit.
template <class R>
std::uint32_t Oracle<R>::arbitrate(PortId out) const {
  std::uint32_t best = kNil;
  Time oldest = kNever;
  const std::uint32_t vcs = network_.ejects(out) ? 1 : numbers_.vcs();
  for (std::uint32_t k = 0; k < vcs; ++k) {
    const std::uint32_t vc = (k + ports_[out].turn) % vcs;
    const Queue& q = channels_[numbers_.of(out, vc)];
    if (q.waiting.empty() || q.credit < packets_[q.waiting.front()].wire_bytes) continue;
    if (arbitration_ == Arbitration::kRoundRobin) return vc;
    const Time arrived = packets_[q.waiting.front()].arrived;
    if (arrived < oldest) {
      oldest = arrived;
      best = vc;
    }
  }
  return best;
}

template <class R>
void Oracle<R>::send(PortId out) {
  Port& port = ports_[out];
  if (port.busy > now_ || !port.waiting) return;
  const std::uint32_t vc = arbitrate(out);
  if (vc == kNil) return;
  port.turn = (vc + 1) % numbers_.vcs();
  Queue& q = channels_[numbers_.of(out, vc)];
  const std::uint32_t i = q.waiting.front();
  q.waiting.pop_front();
  --port.waiting;
  Packet& p = packets_[i];
  const LinkTiming& link = network_.timing(out);
  const Time ser = link.serialise(p.wire_bytes), start = std::max(now_, p.arrived), end = start + ser;
  const Time idle_from = std::max(p.arrived, port.busy);
  if (start > idle_from) port.wait += start - idle_from;
  port.queued -= ser;
  port.busy = end;
  loads_[out] = end + port.queued;
  ChannelCounters& in = channels_[p.in_channel].in;
  in.bytes += p.wire_bytes;
  in.flits += p.flits;
  ++in.packets;
  in.stall_ps += start - p.arrived;
  push(end, {Kind::kIdle, out, 0});
  push(end + network_.timing_of(p.in_class).latency_ps, {Kind::kCredit, p.in_channel, p.wire_bytes});
  if (network_.ejects(out)) return push(end + link.latency_ps, {Kind::kDelivery, i, 0});
  q.credit -= p.wire_bytes;
  p.in_channel = numbers_.of(out, vc);
  p.in_class = network_.timing_class(out);
  p.cur = network_.peer(out);
  push(start + link.latency_ps + network_.router_delay_ps(), {Kind::kArrival, i, 0});
}

template <class R>
void Oracle<R>::generate(std::uint32_t endpoint) {
  Generated g{};
  if (!client_.generate(endpoint, g.dst, g.left, g.born, g.job, g.mode)) return;
  nics_[endpoint].generated.push_back(g);
  push(std::max(g.born, now_), {Kind::kGenerate, endpoint, 0});
}

template <class R>
void Oracle<R>::inject(std::uint32_t endpoint) {
  Nic& nic = nics_[endpoint];
  const PortId out = network_.injection(endpoint);
  const std::uint32_t ch = numbers_.injection(endpoint);
  Port& port = ports_[out];
  if (port.busy > now_) return;
  Packet next{};
  Time born = 0;
  if (!nic.queue.empty()) {
    const Message& m = messages_[nic.queue.front()];
    next.msg = nic.queue.front();
    next.dst = m.dst;
    next.job = m.job;
    next.mode = m.mode;
    fill_sizes(next, static_cast<std::uint32_t>(std::min<std::uint64_t>(options_.packet_bytes, m.to_send)), false);
  } else if (!nic.generated.empty() && nic.generated.front().born <= now_) {
    const Generated& g = nic.generated.front();
    next.msg = kNil;
    next.dst = g.dst;
    next.job = g.job;
    next.mode = g.mode;
    born = g.born;
    fill_sizes(next, std::min(options_.packet_bytes, g.left), false);
  } else {
    return;
  }
  if (channels_[ch].credit < next.wire_bytes) return;
  const std::uint32_t i = new_packet();
  Packet& p = packets_[i] = next;
  p.src = endpoint;
  p.born = born ? born : now_;
  p.phase = Phase::kAtSource;
  p.in_channel = ch;
  p.in_class = network_.timing_class(out);
  p.cur = network_.router_of(endpoint);
  routing_.start(p, *this);
  channels_[ch].credit -= p.wire_bytes;
  const LinkTiming& link = network_.timing(out);
  port.busy = now_ + link.serialise(p.wire_bytes);
  ++live_;
  statistics_.sent_bytes += p.payload_bytes;
  push(port.busy, {Kind::kIdle, out, 0});
  push(now_ + link.latency_ps + network_.router_delay_ps(), {Kind::kArrival, i, 0});
  if (p.msg == kNil) {
    if (!(nic.generated.front().left -= p.payload_bytes)) nic.generated.pop_front();
    return;
  }
  Message& m = messages_[p.msg];
  if (m.to_send -= p.payload_bytes) return;
  nic.queue.pop_front();
  client_.injected(m.cookie, port.busy, *this);
}

template <class R>
void Oracle<R>::deliver(std::uint32_t i) {
  const Packet p = packets_[i];
  free_packets_.push_back(i);
  --live_;
  ChannelCounters& e = eject_[p.dst];
  e.bytes += p.wire_bytes;
  ++e.packets;
  e.flits += p.flits;
  statistics_.delivered_bytes += p.payload_bytes;
  ++statistics_.packets;
  statistics_.latency.add(now_ - p.born);
  ++statistics_.packets_of_hops[p.hops];
  JobStatistics& j = statistics_.jobs[p.job];
  j.bytes += p.payload_bytes;
  ++j.packets;
  j.hops += p.hops;
  j.latency_ps += static_cast<double>(now_ - p.born);
  j.end = now_;
  if (p.msg != kNil && !(messages_[p.msg].to_deliver -= p.payload_bytes))
    client_.delivered(messages_[p.msg].cookie, *this);
}

template <class R>
void Oracle<R>::check() {
  auto& wrong = statistics_.violations;
  if (live_) wrong.push_back(std::to_string(live_) + " packets never arrived");
  if (statistics_.sent_bytes != statistics_.delivered_bytes) wrong.push_back("bytes were lost");
  for (PortId port = 0; port < network_.ports(); ++port) {
    if (network_.timing_class(port) == Network::kUnused) continue;
    const bool injects = port >= network_.router_ports();
    if (!injects && network_.ejects(port)) continue;
    for (std::uint32_t vc = 0; vc < (injects ? 1 : numbers_.vcs()); ++vc)
      if (channels_[channel(port, vc)].credit != network_.timing(port).buffer_bytes)
        wrong.push_back("port " + std::to_string(port) + " misses credit");
  }
  statistics_.conserved = wrong.empty();
}

}  // namespace flitwatch::sim::packet
