// The engine with traffic classes (included by engine.h): packets and messages queue by class, and an idle link chooses
// one of those with credit. Compiled only for a policy ByClass.
#pragma once

namespace flitwatch::sim::packet {

template <class R, std::uint32_t N, bool D>
void Engine<R, N, D>::enqueue(std::uint32_t i, PortId out) {
  Packet& p = packets_[i];
  const std::uint32_t k = class_of(p.job), vc = network_.ejects(out) ? k : routing_.vc(p);
  if (vc >= open_planes_) open_planes(vc + 1);
  Line& c = channels_[numbers_.of(out, vc)];
  p.next = kNil;
  (c.head == kNil ? c.head : packets_[c.tail].next) = i;
  c.tail = i;
  ClassArbiter::Share& share = arbiter_->share(out, k);
  share.waiting |= static_cast<std::uint16_t>(1u << vc / classes());
  share.queued += network_.timing(out).serialise(p.wire_bytes);
  note_loads(out);
}

// Returns when the port would become idle for a packet of each class: other classes' queues do not delay it.
template <class R, std::uint32_t N, bool D>
void Engine<R, N, D>::note_loads(PortId out) {
  for (std::uint32_t k = 0; k < classes(); ++k)
    loads_[std::size_t{k} * loads_stride(network_) + out] = std::max(ports_[out].free, now_) + queued(out, k);
}

// Schedules another check of the port or NIC at `when`.
template <class R, std::uint32_t N, bool D>
void Engine<R, N, D>::look_again(PortId out, Time when) {
  if (!arbiter_->orders(out, when)) return;
  const std::uint32_t channel = channel_of(out, 0);
  ++channels_[channel].wakes;
  wheel_.push(when, kWake | channel);
}

// Sends a packet if the link is idle and one may be sent. Otherwise, schedules another check of the port for the time
// when that can change. A returning credit triggers a check itself.
template <class R, std::uint32_t N, bool D>
void Engine<R, N, D>::serve(PortId out) {
  arbiter_->woke(out, now_);
  const Port& port = ports_[out];
  Time wake = kNever;
  if (port.free <= now_) {
    std::uint32_t bytes[kMaxClasses] = {}, channel[kMaxClasses];
    for (std::uint32_t k = 0; k < classes(); ++k) {
      const ClassArbiter::Share& share = arbiter_->share(out, k);
      if (!share.waiting) continue;
      if (share.allowed > now_) {
        wake = std::min(wake, share.allowed);
        continue;
      }
      channel[k] = oldest_ready(out, k, wake);
      if (channel[k] != kNil) bytes[k] = packets_[channels_[channel[k]].head].wire_bytes;
    }
    const std::uint32_t chosen = arbiter_->choose(out, bytes, now_, network_.timing(out));
    if (chosen == kNil) {
      if (wake != kNever) look_again(out, wake);
      return;
    }
    send_head(out, channel[chosen]);
  }
  for (std::uint32_t k = 0; k < classes(); ++k)
    if (arbiter_->share(out, k).waiting) return look_again(out, port.free);
}

// Returns the channel of a class whose head has arrived, has credit and has waited longest, or kNil. `wake` becomes the
// time when one will be ready, if known and earlier.
template <class R, std::uint32_t N, bool D>
std::uint32_t Engine<R, N, D>::oldest_ready(PortId out, std::uint32_t k, Time& wake) {
  std::uint32_t oldest = kNil;
  Time since = kNever;
  const bool ejects = network_.ejects(out);
  for (std::uint32_t left = arbiter_->share(out, k).waiting; left; left &= left - 1) {
    const std::uint32_t vc = static_cast<std::uint32_t>(std::countr_zero(left)) * classes() + k;
    const std::uint32_t channel = numbers_.of(out, vc);
    Line& c = channels_[channel];
    const Packet& p = packets_[c.head];
    if (p.arrived > now_) {
      wake = std::min(wake, p.arrived);
      continue;
    }
    if (!ejects && !has_credit(c, p.wire_bytes, wake)) continue;
    if (p.arrived >= since) continue;
    oldest = channel;
    since = p.arrived;
  }
  return oldest;
}

template <class R, std::uint32_t N, bool D>
bool Engine<R, N, D>::has_credit(Line& c, std::uint32_t bytes, Time& wake) {
  const auto size = static_cast<std::int32_t>(bytes);
  if (credits_.known(c, now_) >= size) return true;
  Time enough = 0;
  credits_.template take<true>(c, size, now_, now_, enough);  // reserves nothing: there is too little
  if (enough) wake = std::min(wake, enough);
  return false;
}

template <class R, std::uint32_t N, bool D>
void Engine<R, N, D>::send_head(PortId out, std::uint32_t channel) {
  Line& c = channels_[channel];
  const std::uint32_t i = c.head;
  const Packet& p = packets_[i];
  ClassArbiter::Share& share = arbiter_->share(out, class_of(p.job));
  share.queued -= network_.timing(out).serialise(p.wire_bytes);
  c.head = p.next;
  if (c.head == kNil) share.waiting &= static_cast<std::uint16_t>(~(1u << numbers_.plane(channel) / classes()));
  statistics_.queued += now_ > p.arrived;
  if (network_.ejects(out)) return commit<true>(i, out, kNil, now_);
  Time wake = 0;
  credits_.template take<true>(c, p.wire_bytes, now_, now_, wake);
  commit<false>(i, out, channel, now_);
}

// The same for a NIC: the first message of each class is a candidate.
template <class R, std::uint32_t N, bool D>
void Engine<R, N, D>::inject_by_class(std::uint32_t endpoint) {
  const PortId out = network_.injection(endpoint);
  arbiter_->woke(out, now_);
  const Port& port = ports_[out];
  Time wake = kNever;
  if (port.free <= now_) {
    Packet next[kMaxClasses];
    std::uint32_t bytes[kMaxClasses] = {};
    for (std::uint32_t k = 0; k < classes(); ++k) {
      Line& c = channels_[numbers_.injection(place(endpoint, k))];
      c.head = kNil;
      if (!next_of_class(endpoint, k, next[k], wake)) continue;
      if (has_credit(c, next[k].wire_bytes, wake))
        bytes[k] = next[k].wire_bytes;
      else
        c.head = 0;  // marks that a returning credit must return here
    }
    const std::uint32_t chosen = arbiter_->choose(out, bytes, now_, network_.timing(out));
    if (chosen == kNil) {
      if (wake != kNever) look_again(out, wake);
      return;
    }
    inject_one(endpoint, chosen, next[chosen]);
  }
  bool waits = client_.generates();
  for (std::uint32_t k = 0; k < classes(); ++k) waits |= nics_[place(endpoint, k)].head != kNil;
  if (waits) look_again(out, port.free);
}

// Returns the next packet of a class of a NIC, if one may be sent now apart from its credit. Generated traffic of an
// endpoint is of one class at a time and is sent before the class's messages.
template <class R, std::uint32_t N, bool D>
bool Engine<R, N, D>::next_of_class(std::uint32_t endpoint, std::uint32_t k, Packet& p, Time& wake) {
  Nic &nic = nics_[place(endpoint, k)], &generated = nics_[endpoint];
  std::uint32_t message = nic.head;
  if (message == kNil) {
    if (!generated.generated_left &&
        (!client_.generates() ||
         !client_.generate(endpoint, generated.generated_dst, generated.generated_left, generated.generated_at,
                           generated.generated_job, generated.generated_mode)))
      return false;
    if (class_of(generated.generated_job) != k) return false;
    if (generated.generated_at > now_) {
      wake = std::min(wake, generated.generated_at);
      return false;
    }
  }
  const Time allowed = arbiter_->share(network_.injection(endpoint), k).allowed;
  if (allowed > now_) {
    wake = std::min(wake, allowed);
    return false;
  }
  p = {};
  p.kind = PacketKind::kData;
  p.msg = message;
  if (message == kNil) {
    p.dst = generated.generated_dst;
    p.job = generated.generated_job;
    p.mode = generated.generated_mode;
    p.born = generated.generated_at;
    fill_sizes(p, std::min(options_.packet_bytes, generated.generated_left), false);
    return true;
  }
  if (control_) {
    message = p.msg = first_allowed(endpoint, nic, wake);
    if (message == kNil) return false;
  }
  const Message& m = messages_[message];
  p.dst = m.dst;
  p.job = m.job;
  p.mode = m.mode;
  p.born = now_;
  fill_sizes(p, static_cast<std::uint32_t>(std::min<std::uint64_t>(options_.packet_bytes, m.to_send)), false);
  return true;
}

template <class R, std::uint32_t N, bool D>
void Engine<R, N, D>::inject_one(std::uint32_t endpoint, std::uint32_t k, const Packet& next) {
  const std::uint32_t i = new_packet(), channel = numbers_.injection(place(endpoint, k));
  const PortId out = network_.injection(endpoint);
  Packet& p = packets_[i];
  p = next;
  p.src = endpoint;
  Time wake = 0;
  credits_.template take<true>(channels_[channel], p.wire_bytes, now_, now_, wake);
  const Time end = now_ + network_.timing(out).serialise(p.wire_bytes);
  consume_payload(nics_[p.msg == kNil ? endpoint : place(endpoint, k)], p, end);
  launch(i, out, channel, now_, end, 0);
}

}  // namespace flitwatch::sim::packet
