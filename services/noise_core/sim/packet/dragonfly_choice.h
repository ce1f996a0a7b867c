// Choice between minimal and non-minimal paths (included by dragonfly.h).
#pragma once

namespace flitwatch::sim::packet {

// The decision at the source router.
template <class View>
void Dragonfly::choose(Packet& p, View& view) const {
  const Place &at = place_[p.cur], &goal = place_[network_.router_of(p.dst)];
  Random draws(drawn(p));
  std::uint64_t bits = draws();
  const DragonflyMode how = mode(p);
  if (how >= DragonflyMode::kMinHash) {
    const std::uint64_t salt = how == DragonflyMode::kInOrder ? 0 : p.msg;
    bits = Random((std::uint64_t{p.src} << 32 | p.dst) ^ salt << 17)();
  }
  p.option = static_cast<std::uint8_t>(bits);
  bits >>= 8;
  p.way2 = kNoWay;
  if (at.group == goal.group) return choose_local(p, at, goal, bits, view);

  const std::uint32_t n = cables(at.group, goal.group);
  const GlobalCable* lists = list(at.group, goal.group);
  const GlobalCable& one = lists[pick_of(bits, n)];
  if (how == DragonflyMode::kValiant || how == DragonflyMode::kNonMinHash) {
    if (divert(p, at, goal, kNever, 0, draws, view)) return;
    go(p, one);
    return view.count(true);
  }
  if (!is_adaptive(p)) {
    go(p, one);
    view.count(true);
    return;
  }
  const GlobalCable& other = lists[pick_of(bits, n)];
  const std::uint32_t hops_one = hops(at, at.local, one.from) + 1 + hops(goal, one.to, goal.local);
  const std::uint32_t hops_other = hops(at, at.local, other.from) + 1 + hops(goal, other.to, goal.local);
  const Time cost_one = cost(p, at, one, hops_one, view), cost_other = cost(p, at, other, hops_other, view);
  const bool first = cost_one != cost_other ? cost_one < cost_other : hops_one <= hops_other;
  if (divert(p, at, goal, first ? cost_one : cost_other, bias(p, 0), draws, view)) return;
  go(p, first ? one : other);
  view.count(true);
}

// Prefetches the first steps of the minimal candidates that choose() will compare.
template <class Visit>
void Dragonfly::each_minimal_step(const Packet& p, Visit visit) const {
  if (!is_adaptive(p)) return;
  const Place &at = place_[p.cur], &goal = place_[network_.router_of(p.dst)];
  Random draws(drawn(p));
  std::uint64_t bits = draws();
  const std::uint32_t option = bits & 1;
  bits >>= 8;
  if (at.group == goal.group) {
    if (at.local != goal.local)
      for (std::uint32_t way : {0u, 1u}) visit(toward(at, goal.local, way));
    return;
  }
  const std::uint32_t n = cables(at.group, goal.group);
  const GlobalCable* lists = list(at.group, goal.group);
  for (int candidate = 0; candidate < 2; ++candidate) {
    const GlobalCable& cable = lists[pick_of(bits, n)];
    visit(cable.from == at.local ? Step{cable.port, 1} : toward(at, cable.from, option));
  }
}

template <class View>
void Dragonfly::prefetch(const Packet& p, View& view) const {
  const PortId first = p.cur * network_.stride();
  each_minimal_step(p, [&](Step step) { view.prefetch_congestion(pick(first, step, p, view), 0); });
}

// A minimal packet that has taken one local hop in its source group can still leave its path, because the first router
// could not see the queue at the global cable. A packet is diverted at most once, so that its hops do not exceed the
// VCs.
template <class View>
void Dragonfly::reconsider(Packet& p, View& view) const {
  const Place &at = place_[p.cur], &goal = place_[network_.router_of(p.dst)];
  const PortId first = p.cur * network_.stride();
  const bool here = at.local == p.way1;
  const PortId port = here ? first + p.port1 : pick(first, toward(at, p.way1, p.option), p, view);
  const std::uint32_t left = hops(at, at.local, p.way1) + 2;
  if (!divert(p, at, goal, view.congestion(port, vc(p)) * left, bias(p, 1), Random(view.random()), view)) return;
  view.uncount_minimal();
}

// Within a group: the two minimal paths and, if they are crowded, two random routers as waypoints.
template <class View>
void Dragonfly::choose_local(Packet& p, const Place& at, const Place& goal, std::uint64_t bits, View& view) const {
  p.phase = Phase::kToDestination;
  const bool adaptive = is_adaptive(p);
  const bool always = mode(p) == DragonflyMode::kValiant || mode(p) == DragonflyMode::kNonMinHash;
  if (at.local == goal.local || (!adaptive && !always)) return view.count(true);
  const PortId first = p.cur * network_.stride();
  Time minimal = kNever;
  if (adaptive) {
    const std::uint32_t h = hops(at, at.local, goal.local);
    Time by_option[2];
    for (std::uint32_t option : {0u, 1u})
      by_option[option] = view.congestion(pick(first, toward(at, goal.local, option), p, view), vc(p)) * h;
    if (by_option[0] != by_option[1])
      p.option = static_cast<std::uint8_t>((p.option & ~1) | (by_option[1] < by_option[0]));
    minimal = by_option[p.option & 1];
    if (minimal <= bias(p, 0)) return view.count(true);
  }
  Time best = kNever;
  for (int candidate = 0; candidate < 2; ++candidate) {
    const auto& members = members_[at.group];
    const std::uint32_t way = place_[members[pick_of(bits, members.size())]].local;
    if (way == at.local || way == goal.local) continue;
    const std::uint32_t h = hops(at, at.local, way) + hops(at, way, goal.local);
    const Time cost = adaptive ? view.congestion(pick(first, toward(at, way, p.option), p, view), vc(p)) * h : 0;
    if (cost < best) {
      best = cost;
      p.way1 = static_cast<std::uint16_t>(way);
    }
  }
  if (best == kNever || (adaptive && minimal <= best + bias(p, 0))) return view.count(true);
  p.phase = Phase::kToFirst;
  p.port1 = kNoPort;
  view.count(false);
}

// Takes the better of two random non-minimal candidates if the minimal cost exceeds its cost plus the bias.
template <class View>
bool Dragonfly::divert(Packet& p, const Place& at, const Place& goal, Time minimal_cost, Time bias, Random draws,
                       View& view) const {
  if (minimal_cost <= bias) return false;
  const bool always = minimal_cost == kNever;
  Time best = kNever;
  struct {
    std::uint16_t way1, way2;
    std::uint8_t port1, port2;
  } chosen{};
  for (int candidate = 0; candidate < 2 && groups_ > 2; ++candidate) {
    std::uint64_t bits = mode(p) == DragonflyMode::kNonMinHash
                             ? Random((std::uint64_t{p.src} << 32 | p.dst) +
                                      std::uint64_t{0x51ED270B} * (static_cast<unsigned>(candidate) + 1))()
                             : draws();
    std::uint32_t between = pick_of(bits, groups_ - 2);
    const std::uint32_t low = std::min(at.group, goal.group), high = std::max(at.group, goal.group);
    between += between >= low;
    between += between >= high;
    const GlobalCable& out = list(at.group, between)[pick_of(bits, cables(at.group, between))];
    const Place& middle = place_[members_[between][0]];
    std::uint32_t way, hops_left;
    std::uint8_t port = kNoPort;
    if (options_.through_router) {
      way = place_[members_[between][pick_of(bits, members_[between].size())]].local;
      hops_left = 4;  // to a cable, over it, two to the destination
    } else {
      const GlobalCable& in = list(between, goal.group)[pick_of(bits, cables(between, goal.group))];
      way = in.from;
      port = in.port;
      hops_left = 1 + hops(goal, in.to, goal.local);
    }
    const std::uint32_t h = hops(at, at.local, out.from) + 1 + hops(middle, out.to, way) + hops_left;
    const Time c = always ? candidate : cost(p, at, out, h, view);
    if (c >= best) continue;
    best = c;
    chosen.way1 = out.from;
    chosen.port1 = out.port;
    chosen.way2 = static_cast<std::uint16_t>(way);
    chosen.port2 = port;
  }
  if (best == kNever || (!always && minimal_cost <= best + bias)) return false;
  p.phase = Phase::kToFirst;
  p.way1 = chosen.way1;
  p.port1 = chosen.port1;
  p.way2 = chosen.way2;
  p.port2 = chosen.port2;
  view.count(false);
  return true;
}

}  // namespace flitwatch::sim::packet
