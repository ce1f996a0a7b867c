// The engine as one part of a divided run (included by engine.h).
#pragma once

namespace flitwatch::sim::packet {

template <class R, std::uint32_t N, bool D>
template <class Visit>
void Engine<R, N, D>::each_router_port(Visit visit) const {
  if constexpr (D) {
    for (const std::uint32_t r : routers_)
      for (PortId port = r * network_.stride(); port < (r + 1) * network_.stride(); ++port) visit(port);
  } else {
    for (PortId port = 0; port < network_.router_ports(); ++port) visit(port);
  }
}

template <class R, std::uint32_t N, bool D>
template <class Visit>
void Engine<R, N, D>::each_endpoint(Visit visit) const {
  if constexpr (D) {
    for (const std::uint32_t e : endpoints_) visit(e);
  } else {
    for (std::uint32_t e = 0; e < network_.endpoints(); ++e) visit(e);
  }
}

template <class R, std::uint32_t N, bool D>
template <class Visit>
void Engine<R, N, D>::each_port(Visit visit) const {
  each_router_port(visit);
  each_endpoint([&](std::uint32_t e) { visit(network_.injection(e)); });
}

template <class R, std::uint32_t N, bool D>
void Engine<R, N, D>::open_part() {
  for (std::uint32_t r = 0; r < network_.routers(); ++r)
    if (division_->of_router[r] == part_) routers_.push_back(r);
  for (std::uint32_t e = 0; e < network_.endpoints(); ++e)
    if (division_->of_endpoint[e] == part_) endpoints_.push_back(e);
  messages_.reset(kMaxMessages);
  used_packets_ = part_ * Division::kPackets;
}

template <class R, std::uint32_t N, bool D>
void Engine<R, N, D>::start() {
  client_.start(*this);
  cascade();
  if (client_.generates()) each_endpoint([&](std::uint32_t e) { inject(e); });
}

// Processes events from `from` on and before `until`. `in_from`: data that the others sent to this part in the last
// window, by part.
template <class R, std::uint32_t N, bool D>
void Engine<R, N, D>::window(Time from, Time until, Mailbox* out, std::vector<std::vector<Mailbox>>& sent) {
  out_ = out;
  now_ = from;
  for (std::vector<Mailbox>& of_part : sent) take_in(of_part[part_], from);
  if (!from) start();
  cascade();
  if (wheel_.advance_before(until)) warm_up();
  while (wheel_.advance_before(until))
    while (wheel_.has_next_before()) {
      prefetch();
      const std::uint32_t event = wheel_.pop(now_);
      ++statistics_.events;
      handle(event);
    }
}

// No data were prefetched for the first events of a window.
template <class R, std::uint32_t N, bool D>
void Engine<R, N, D>::warm_up() {
  for (std::uint32_t k = 0; k < 30; ++k) prefetch_packet(wheel_.ahead(k));
  for (std::uint32_t k = 0; k < 19; ++k) prefetch_names(wheel_.ahead(k));
  for (std::uint32_t k = 0; k < 10; ++k) prefetch_way(wheel_.ahead(k));
  for (std::uint32_t k = 0; k < 10; ++k) prefetch_followers<false>(wheel_.ahead(k));
}

// A credit counts from its time on. If a packet waits for it, its channel is checked again at the end of the window.
template <class R, std::uint32_t N, bool D>
void Engine<R, N, D>::take_in(Mailbox& box, Time from) {
  if (box.first_free != kNil) {
    packets_[box.last_free].next = free_packet_;
    free_packet_ = box.first_free;
  }
  for (const Mailbox::Arrival& arrival : box.arrivals) {
    fetch(&packets_[arrival.packet]);
    wheel_.push(arrival.when, arrival.packet);
  }
  for (std::size_t k = 0; k < box.credits.size(); ++k) {
    if (k + 8 < box.credits.size()) prefetch_line(box.credits[k + 8].channel);
    const Mailbox::Credit& credit = box.credits[k];
    Line& c = channels_[credit.channel];
    count(c.in, credit.channel, credit.bytes, credit.flits, credit.stall);
    credits_.give_back(c, from, std::max(credit.when, from), credit.bytes);
    if (c.head == kNil) continue;
    fetch(&packets_[c.head]);
    cascade_.push_back(credit.channel);
  }
  for (const Mailbox::Sent& sent : box.sent)
    await_delivery(std::max(sent.when, from), {sent.message, messages_[sent.message].cookie, false, true});
  box.clear();
}

template <class R, std::uint32_t N, bool D>
[[gnu::always_inline]] inline void Engine<R, N, D>::send_credit(const Packet& p, Time when, Time stall) {
  out_[p.part].credits.push_back({when, stall, p.in_channel, p.wire_bytes, p.flits});
}

// Messages are stored at the part of their source; undelivered bytes are counted at their destination's.
template <class R, std::uint32_t N, bool D>
inline Message& Engine<R, N, D>::message_of(const Packet& p) const {
  if constexpr (D)
    return parts_[division_->of_endpoint[p.src]]->messages_[p.msg];
  else
    return const_cast<Message&>(messages_[p.msg]);
}

template <class R, std::uint32_t N, bool D>
[[gnu::noinline]] void Engine<R, N, D>::deliver(const Packet& p, Time when) {
  Message& m = message_of(p);
  m.last = std::max(m.last, when);
  if (m.to_deliver -= p.payload_bytes) return;
  const std::uint32_t source = division_->of_endpoint[p.src];
  if (source != part_) out_[source].sent.push_back({m.last, p.msg});
  await_delivery(m.last, {p.msg, m.cookie, true, source == part_});
}

template <class R, std::uint32_t N, bool D>
void Engine<R, N, D>::await_delivery(Time when, Delivery delivery) {
  std::uint32_t d;
  if (free_deliveries_.empty()) {
    d = static_cast<std::uint32_t>(deliveries_.size());
    deliveries_.emplace_back();
  } else {
    d = free_deliveries_.back();
    free_deliveries_.pop_back();
  }
  deliveries_[d] = delivery;
  wheel_.push(when, kDelivered | d);
}

template <class R, std::uint32_t N, bool D>
void Engine<R, N, D>::end_delivery(std::uint32_t id) {
  const Delivery d = deliveries_[id];
  free_deliveries_.push_back(id);
  if constexpr (D)
    if (d.began_here) free_messages_.push_back(d.message);
  if (d.ends_here && d.began_here)
    client_.delivered(d.cookie, *this);
  else if (d.ends_here)
    client_.received(d.cookie, *this);
  else
    client_.sent(d.cookie, *this);
  cascade();
}

}  // namespace flitwatch::sim::packet
