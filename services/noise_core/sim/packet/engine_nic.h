// NIC part of the engine (included by engine.h).
#pragma once

namespace flitwatch::sim::packet {

template <class R, std::uint32_t N, bool D>
void Engine<R, N, D>::post(const Post& post) {
  std::uint32_t m;
  if (free_messages_.empty()) {
    if constexpr (D) {
      m = used_messages_++;
      if (m >= kMaxMessages) throw EngineFault("more than 33 million messages of one part are in flight");
    } else {
      m = static_cast<std::uint32_t>(messages_.size());
      messages_.emplace_back();
    }
    if (m > kIdMask) throw EngineFault("more than a billion messages are in flight");
  } else {
    m = free_messages_.back();
    free_messages_.pop_back();
  }
  messages_[m] = {post.bytes, post.bytes, post.bytes, 0,           now_,     0,
                  post.src,   post.dst,   kNil,       post.cookie, post.job, post.mode};
  const std::uint32_t at = place(post.src, class_of(post.job));
  Nic& nic = nics_[at];
  (nic.head == kNil ? nic.head : messages_[nic.tail].next) = m;
  nic.tail = m;
  cascade_.push_back(numbers_.injection(at));  // the caller's cascade() injects it
}

template <class R, std::uint32_t N, bool D>
void Engine<R, N, D>::at(Time time, std::uint32_t cookie) {
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

// With congestion control: returns the first message whose pair may send now, and records the one before it. Otherwise,
// returns kNil, and the NIC checks again when a pair may send. The decision is made when the link is free, not in
// advance.
template <class R, std::uint32_t N, bool D>
std::uint32_t Engine<R, N, D>::next_allowed(std::uint32_t endpoint, Nic& nic) {
  const Port& port = ports_[network_.injection(endpoint)];
  Time wake = kNever;
  if (port.free > now_) {
    wake = nic.head == kNil ? kNever : port.free;
  } else {
    const std::uint32_t message = first_allowed(endpoint, nic, wake);
    if (message != kNil) return message;
  }
  const std::uint32_t channel = numbers_.injection(endpoint);
  if (wake != kNever) wake_later(channels_[channel], channel, wake);
  return kNil;
}

// The same on an idle link; `wake` becomes the time when a pair may send, if earlier.
template <class R, std::uint32_t N, bool D>
std::uint32_t Engine<R, N, D>::first_allowed(std::uint32_t endpoint, Nic& nic, Time& wake) {
  const double line_bps = network_.timing(network_.injection(endpoint)).bandwidth_bps();
  nic.before = kNil;
  for (std::uint32_t m = nic.head; m != kNil; nic.before = m, m = messages_[m].next) {
    const Message& message = messages_[m];
    const auto bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(options_.packet_bytes, message.to_send));
    const Time ready = control_->ready(endpoint, place(message.dst, class_of(message.job)), bytes, now_, line_bps);
    if (ready <= now_) return m;
    wake = std::min(wake, ready);
  }
  return kNil;
}

// A packet leaves under congestion control. If its message is complete and not the first of the queue, the message is
// removed.
template <class R, std::uint32_t N, bool D>
bool Engine<R, N, D>::unlinks(Nic& nic, const Packet& p, Time end) {
  const LinkTiming& link = network_.timing_of(ports_[network_.injection(p.src)].timing_class);
  control_->sent(p.src, place(p.dst, class_of(p.job)), p.wire_bytes, end - link.serialise(p.wire_bytes),
                 link.bandwidth_bps());
  Message& m = messages_[p.msg];
  if (m.to_send != p.payload_bytes || nic.before == kNil) return false;
  m.to_send = 0;
  messages_[nic.before].next = m.next;
  if (nic.tail == p.msg) nic.tail = nic.before;
  return true;
}

template <class R, std::uint32_t N, bool D>
void Engine<R, N, D>::watch_injection(Packet& p, PortId out, Time waited) {
  p.marked = 0;
  if (options_.sampling) sample(p, out, waited > options_.mark_after_ps);
}

// Feedback has priority over data: it returns without waiting.
template <class R, std::uint32_t N, bool D>
void Engine<R, N, D>::tell_sender(const Packet& p, Time when, const LinkTiming& link) {
  const Time back = p.hops * (network_.router_delay_ps() + link.latency_ps) + link.latency_ps;
  const std::uint32_t k = class_of(p.job), from = place(p.src, k);
  const Time known = control_->arrived(p.src, place(p.dst, k), p.wire_bytes, p.marked, when, back);
  if (known == kNever || nics_[from].head == kNil) return;
  if constexpr (kClasses) return look_again(network_.injection(p.src), known);
  const std::uint32_t channel = numbers_.injection(p.src);
  wake_later(channels_[channel], channel, known);
}

// Returns the next request of a NIC: from its queue of messages, else generated.
template <class R, std::uint32_t N, bool D>
inline bool Engine<R, N, D>::next_payload(std::uint32_t endpoint, Nic& nic, Packet& p, Time& born) {
  born = 0;
  std::uint32_t head = nic.head;
  if (__builtin_expect(watched_, 0) && control_) {
    head = next_allowed(endpoint, nic);
    if (head == kNil) return false;
  }
  if (head != kNil) {
    const Message& m = messages_[head];
    p.msg = head;
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

template <class R, std::uint32_t N, bool D>
inline void Engine<R, N, D>::consume_payload(Nic& nic, const Packet& p, Time end) {
  statistics_.sent_bytes += p.payload_bytes;
  if (p.msg == kNil) {
    nic.generated_left -= p.payload_bytes;
    return;
  }
  Message& m = messages_[p.msg];
  if (__builtin_expect(watched_, 0) && control_ && unlinks(nic, p, end)) return client_.injected(m.cookie, end, *this);
  if (m.to_send -= p.payload_bytes) return;
  nic.head = m.next;
  client_.injected(m.cookie, end, *this);
}

template <class R, std::uint32_t N, bool D>
void Engine<R, N, D>::inject(std::uint32_t endpoint) {
  if constexpr (kClasses) return inject_by_class(endpoint);
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
        c.head = kNil;  // no packet waits for credit
        nic.blocked_since = kNever;
        return free_packet(i);
      }
      if (options_.nic_protocol) {
        if (nic.outstanding >= options_.outstanding || born > now_) {
          c.head = kNil;
          if (born > now_) wake_later(c, channel, born);  // committing ahead would delay responses
          return free_packet(
              i);  // a response, or the wake-up, returns here; a full window is not back-pressure, so not a stall
        }
      }
    }
    const Time base = std::max(now_, port.free), start = std::max(base, born);
    Time wake = 0;
    if (!credits_.template take<R::kReadsCredit>(c, p.wire_bytes, base, start, wake)) {
      c.head = 0;  // marks that a returning credit must return here
      if (!responds) {
        free_packet(i);
        if (nic.blocked_since == kNever) nic.blocked_since = start;
      }
      if (wake) wake_later(c, channel, wake);
      return;
    }
    const Time end = start + link.serialise(p.wire_bytes);
    Time blocked = kNever;
    if (responds) {
      nic.responses = p.next;
    } else {
      p.src = endpoint;
      p.born = born ? std::min(born, start) : start;
      blocked = nic.blocked_since;
      nic.blocked_since = kNever;
      if (options_.nic_protocol) {
        ++nic.outstanding;
        NicCounters& counters = nic_counters_[endpoint];
        ++counters.request_packets;
        counters.request_flits += p.flits;
        if (blocked < start) counters.stalled_ps += start - blocked;
      }
      consume_payload(nic, p, end);
    }
    launch(i, out, channel, start, end, blocked < start ? start - blocked : 0);
  }
}

// Packet i is on the injection link from `start` to `end`. A NIC creates a packet only when it can send it, so its
// queue is that packet: congested if it `waited` for credit.
template <class R, std::uint32_t N, bool D>
[[gnu::always_inline]] inline void Engine<R, N, D>::launch(std::uint32_t i, PortId out, std::uint32_t channel,
                                                           Time start, Time end, Time waited) {
  Packet& p = packets_[i];
  Port& port = ports_[out];
  p.phase = Phase::kAtSource;
  p.hops = 0;
  p.option = 0;
  if (__builtin_expect(watched_, 0)) watch_injection(p, out, waited);
  p.in_channel = channel;
  p.in_class = port.timing_class;
  p.cur = port.peer;
  p.next = kNil;
  if constexpr (D) p.part = part_;
  routing_.start(p, *this);
  port.free = end;
  wheel_.push(start + network_.timing_of(port.timing_class).latency_ps + network_.router_delay_ps(), i);
}

// A request becomes its response; a response reopens the window and is removed.
template <class R, std::uint32_t N, bool D>
void Engine<R, N, D>::at_endpoint(std::uint32_t i) {
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
