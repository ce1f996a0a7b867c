// The NIC side of the engine (included by engine.h).
#pragma once

namespace flitwatch::sim::packet {

template <class R, std::uint32_t N>
void Engine<R, N>::post(const Post& post) {
  std::uint32_t m;
  if (free_messages_.empty()) {
    m = static_cast<std::uint32_t>(messages_.size());
    messages_.emplace_back();
    if (m > kIdMask) throw EngineFault("more than a billion messages are under way");
  } else {
    m = free_messages_.back();
    free_messages_.pop_back();
  }
  messages_[m] = {post.bytes, post.bytes, post.bytes, 0,           now_,     0,
                  post.src,   post.dst,   kNil,       post.cookie, post.job, post.mode};
  Nic& nic = nics_[post.src];
  (nic.head == kNil ? nic.head : messages_[nic.tail].next) = m;
  nic.tail = m;
  cascade_.push_back(numbers_.injection(post.src));  // the caller's cascade() injects it
}

template <class R, std::uint32_t N>
void Engine<R, N>::at(Time time, std::uint32_t cookie) {
  std::uint32_t t;
  if (free_timers_.empty()) {
    t = static_cast<std::uint32_t>(timers_.size());
    timers_.emplace_back();
  } else {
    t = free_timers_.back();
    free_timers_.pop_back();
  }
  timers_[t] = cookie;
  wheel_.push(time, kTimer | t);
}

// The next request of a NIC: from its queue of messages, else generated.
template <class R, std::uint32_t N>
inline bool Engine<R, N>::next_payload(std::uint32_t endpoint, Nic& nic, Packet& p, Time& born) {
  born = 0;
  if (nic.head != kNil) {
    const Message& m = messages_[nic.head];
    p.msg = nic.head;
    p.dst = m.dst;
    p.job = m.job;
    p.mode = m.mode;
    fill_sizes(p, static_cast<std::uint32_t>(std::min<std::uint64_t>(options_.packet_bytes, m.to_send)),
               options_.nic_protocol);
    return true;
  }
  if (!nic.generated_left &&
      (!client_.generates() || !client_.generate(endpoint, nic.generated_dst, nic.generated_left, nic.generated_at,
                                                 nic.generated_job, nic.generated_mode)))
    return false;
  p.msg = kNil;
  p.dst = nic.generated_dst;
  p.job = nic.generated_job;
  p.mode = nic.generated_mode;
  born = nic.generated_at;
  fill_sizes(p, std::min(options_.packet_bytes, nic.generated_left), options_.nic_protocol);
  return true;
}

template <class R, std::uint32_t N>
inline void Engine<R, N>::consume_payload(Nic& nic, const Packet& p, Time end) {
  statistics_.sent_bytes += p.payload_bytes;
  if (p.msg == kNil) {
    nic.generated_left -= p.payload_bytes;
    return;
  }
  Message& m = messages_[p.msg];
  if (m.to_send -= p.payload_bytes) return;
  nic.head = m.next;
  client_.injected(m.cookie, end, *this);
}

template <class R, std::uint32_t N>
void Engine<R, N>::inject(std::uint32_t endpoint) {
  Nic& nic = nics_[endpoint];
  const PortId out = network_.injection(endpoint);
  const std::uint32_t channel = numbers_.injection(endpoint);
  Line& c = channels_[channel];
  Port& port = ports_[out];
  const LinkTiming& link = network_.timing_of(port.timing_class);
  for (;;) {
    const bool responds = nic.responses != kNil;
    const std::uint32_t i = responds ? nic.responses : new_packet();
    Packet& p = packets_[i];
    Time born = 0;
    if (!responds) {
      p.kind = options_.nic_protocol ? PacketKind::kRequest : PacketKind::kData;
      if (!next_payload(endpoint, nic, p, born)) {
        c.head = kNil;  // nothing waits for credit
        nic.blocked_since = kNever;
        return free_packet(i);
      }
      if (options_.nic_protocol) {
        if (nic.outstanding >= options_.outstanding || born > now_) {
          c.head = kNil;
          if (born > now_) wake_later(c, channel, born);  // looking ahead would delay responses
          return free_packet(
              i);  // a response, or the wake-up, comes back here; a full window is no back-pressure, so no stall
        }
      }
    }
    const Time base = std::max(now_, port.free), start = std::max(base, born);
    Time wake = 0;
    if (!credits_.template take<R::kReadsCredit>(c, p.wire_bytes, base, start, wake)) {
      c.head = 0;  // marks that a returning credit has to come back here
      if (!responds) {
        free_packet(i);
        if (nic.blocked_since == kNever) nic.blocked_since = start;
      }
      if (wake) wake_later(c, channel, wake);
      return;
    }
    const Time end = start + link.serialise(p.wire_bytes);
    if (responds) {
      nic.responses = p.next;
    } else {
      p.src = endpoint;
      p.born = born ? std::min(born, start) : start;
      if (options_.nic_protocol) {
        ++nic.outstanding;
        NicCounters& counters = nic_counters_[endpoint];
        ++counters.request_packets;
        counters.request_flits += p.flits;
        if (nic.blocked_since < start) counters.stalled_ps += start - nic.blocked_since;
      }
      consume_payload(nic, p, end);
    }
    p.phase = Phase::kAtSource;
    p.hops = 0;
    p.option = 0;
    // A NIC makes a packet when the packet's turn has come, so its queue is that packet: congested where it had to wait
    // for credit.
    if (__builtin_expect(options_.sampling, 0))
      sample(p, out, !responds && nic.blocked_since < start && start - nic.blocked_since > options_.mark_after_ps);
    if (!responds) nic.blocked_since = kNever;
    p.in_channel = channel;
    p.in_class = port.timing_class;
    p.cur = port.peer;
    p.next = kNil;
    routing_.start(p, *this);
    port.free = end;
    wheel_.push(start + link.latency_ps + network_.router_delay_ps(), i);
  }
}

// A request becomes its response; a response opens the window and is gone.
template <class R, std::uint32_t N>
void Engine<R, N>::at_endpoint(std::uint32_t i) {
  Packet& p = packets_[i];
  const std::uint32_t here = p.dst;
  Nic& nic = nics_[here];
  if (p.kind == PacketKind::kResponse) {
    --nic.outstanding;
    ++nic_counters_[here].responses;
    nic_counters_[here].latency_ps += now_ - p.born;
    free_packet(i);
  } else {
    p.kind = PacketKind::kResponse;
    std::swap(p.src, p.dst);
    p.msg = kNil;
    p.next = kNil;
    fill_sizes(p, 0, true);
    (nic.responses == kNil ? nic.responses : packets_[nic.last_response].next) = i;
    nic.last_response = i;
  }
  inject(here);
  cascade();
}

}  // namespace flitwatch::sim::packet
