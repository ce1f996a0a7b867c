// Routing on dragonflies: minimal, Valiant and UGAL with the Aries modes.
//
// Sources: Kim et al. 2008 (UGAL on dragonflies); De Sensi 2019, section II-B (Aries modes: two minimal and two
// non-minimal candidates, bias for minimal paths); Wang 2018, section III (non-minimal through a random router); Won et
// al. 2015 (the effect of stale credits on such choices). One VC per hop avoids deadlock.
#pragma once

#include <vector>

#include "sim/packet/division.h"
#include "sim/packet/packet.h"

namespace flitwatch::sim::packet {

enum class DragonflyMode : std::uint8_t {
  kMinimal,    // a random minimal path for each packet
  kValiant,    // always non-minimal
  kAdaptive0,  // no bias
  kAdaptive1,  // bias grows with the hops taken
  kAdaptive2,  // low bias
  kAdaptive3,  // high bias
  kMinHash,    // minimal, one path per pair of endpoints and message
  kNonMinHash,
  kInOrder,  // minimal, one path per pair of endpoints
};

struct DragonflyOptions {
  bool through_router = false;  // Valiant's waypoint: a random router (Wang) or a random group (Aries)
  // Added to the cost (waiting time x hops, ps) of non-minimal candidates, by Aries mode and by hops taken (0, 1).
  Time bias_ps[4][2] = {{0, 0}, {0, 4'000'000}, {2'000'000, 2'000'000}, {8'000'000, 8'000'000}};
};

class Dragonfly {
 public:
  static constexpr bool kReadsCredit = true;  // UGAL compares congestion()
  // `group` of each router. Throws std::invalid_argument if two routers of a group are more than two hops apart or two
  // groups are not connected.
  Dragonfly(const Network& network, const std::vector<std::int32_t>& group, DragonflyOptions options);

  // Groups stay whole.
  Division divide() const;

  // Returns the most router-to-router hops, which is the number of VCs that avoids deadlock.
  std::uint32_t vcs() const { return options_.through_router ? 11 : 9; }
  std::uint32_t vc(const Packet& p) const { return p.hops - 1u; }
  std::uint32_t vc_ahead(const Packet& p) const { return p.hops; }  // at the router that it is approaching

  // A packet leaves its NIC. The random numbers of its choice are drawn now, so that its candidates can be prefetched.
  template <class View>
  void start(Packet& p, View& view) const {
    const std::uint64_t bits = view.random();
    p.way1 = static_cast<std::uint16_t>(bits);
    p.way2 = static_cast<std::uint16_t>(bits >> 16);
    p.port1 = static_cast<std::uint8_t>(bits >> 32);
    p.port2 = static_cast<std::uint8_t>(bits >> 40);
  }
  // Prefetches the data for the choice at p.cur.
  template <class View>
  void prefetch(const Packet& p, View& view) const;

  // Returns the output port at p.cur. View: now(), load(port), congestion(port, vc), random(), count(bool minimal).
  template <class View>
  PortId route(Packet& p, View& view) const {
    if (p.phase == Phase::kAtSource)
      choose(p, view);
    else if (may_reconsider(p, 2))
      reconsider(p, view);
    return pick(p.cur * network_.stride(), step(p, view), p, view);
  }

  // A packet leaves for p.cur, which it will reach with one more hop. Returns the certain part of its step there.
  std::uint32_t look_ahead(Packet& p) const {
    const Place& at = place_[p.cur];
    if (may_reconsider(p, 1)) {
      const Step step = at.local == p.way1 ? Step{p.port1, 1} : toward(at, p.way1, p.option);
      return pack(step) | kOpen;
    }
    if (p.phase == Phase::kToSecond && p.port2 == kNoPort && at.local == p.way2)
      return kNil;  // will draw its further path
    NoRandom none;
    return pack(step(p, none));
  }
  // Returns the port that it would take there now.
  template <class View>
  PortId port_ahead(const Packet& p, View& view) const {
    return pick(p.cur * network_.stride(), unpack(p.next), p, view);
  }
  template <class View>
  void prefetch_loads(const Packet& p, View& view) const {
    if (p.next != kNil) fetch(view.loads() + p.cur * network_.stride() + (p.next & 255));
  }
  template <class View>
  PortId route(Packet& p, std::uint32_t ahead, View& view) const {
    if (__builtin_expect(ahead & kOpen, 0)) return route(p, view);  // kNil, too
    return pick(p.cur * network_.stride(), unpack(ahead), p, view);
  }

 private:
  static constexpr std::uint16_t kNoWay = 0xFFFF;
  static constexpr std::uint8_t kNoPort = 255;
  static constexpr std::uint32_t kOpen = 1u << 16;  // of look_ahead(): the packet may still leave its path
  struct NoRandom {
    static std::uint64_t random() { throw EngineFault("a packet drew its path too early"); }
  };
  struct Step {
    std::uint8_t port, cables;
  };
  struct GlobalCable {
    std::uint16_t from, to;  // numbers of the routers within their groups
    std::uint8_t port;
  };
  struct Place {
    std::uint16_t group, local, table;
  };

  void number_groups(const std::vector<std::int32_t>& group);
  void build_local_tables();
  void build_global_lists(const std::vector<std::int32_t>& group);
  std::vector<Step> steps_of_group(std::uint32_t group, std::vector<std::uint8_t>& hops) const;

  static DragonflyMode mode(const Packet& p) { return static_cast<DragonflyMode>(p.mode); }
  static bool is_adaptive(const Packet& p) {
    return mode(p) >= DragonflyMode::kAdaptive0 && mode(p) <= DragonflyMode::kAdaptive3;
  }
  Time bias(const Packet& p, int hop) const {
    return options_.bias_ps[p.mode - static_cast<int>(DragonflyMode::kAdaptive0)][hop];
  }

  Step toward(const Place& at, std::uint32_t target, std::uint32_t option) const {
    return steps_[at.table][(at.local * size_ + target) * 2 + (option & 1)];
  }
  std::uint32_t hops(const Place& at, std::uint32_t from, std::uint32_t to) const {
    return hops_[at.table][from * size_ + to];
  }
  std::uint32_t cables(std::uint32_t from, std::uint32_t to) const {
    return global_begin_[from * groups_ + to + 1] - global_begin_[from * groups_ + to];
  }
  const GlobalCable* list(std::uint32_t from, std::uint32_t to) const {
    return global_.data() + global_begin_[from * groups_ + to];
  }

  static std::uint32_t pack(Step step) { return step.port | std::uint32_t{step.cables} << 8; }
  static Step unpack(std::uint32_t ahead) {
    return {static_cast<std::uint8_t>(ahead), static_cast<std::uint8_t>(ahead >> 8)};
  }
  // A minimal packet that arrives with `hops` hops, including the router of its source.
  static bool may_reconsider(const Packet& p, std::uint32_t hops) {
    return p.hops == hops && p.phase == Phase::kToFirst && p.way2 == kNoWay && p.port1 != kNoPort && is_adaptive(p);
  }

  // Returns a cable of a bundle of parallel cables: the least loaded for adaptive packets, else one by the packet's
  // option.
  template <class View>
  PortId pick(PortId first, Step step, const Packet& p, View& view) const {
    PortId best = first + step.port;
    if (step.cables == 1) return best;
    if (!is_adaptive(p)) return best + (p.option >> 1) % step.cables;
    // The first of the smallest, without a branch that depends on the loads.
    const Time* loads = view.loads() + best;
    Time least = loads[0];
    std::uint32_t chosen = 0;
    for (std::uint32_t k = 1; k < step.cables; ++k) {
      const bool less = loads[k] < least;
      chosen = less ? k : chosen;
      least = less ? loads[k] : least;
    }
    return best + chosen;
  }

  // Returns the port, or bundle of ports, that p takes at p.cur. A waypoint that it has reached is removed.
  template <class View>
  Step step(Packet& p, View& view) const {
    const Place& at = place_[p.cur];
    if (p.phase == Phase::kToFirst) {
      if (at.local != p.way1) return toward(at, p.way1, p.option);
      p.phase = p.way2 == kNoWay ? Phase::kToDestination : Phase::kToSecond;
      if (p.port1 != kNoPort) return {p.port1, 1};
    }
    if (p.phase == Phase::kToSecond) {
      if (at.local != p.way2) return toward(at, p.way2, p.option);
      if (p.port2 != kNoPort) {
        p.phase = Phase::kToDestination;
        return {p.port2, 1};
      }
      leave_way_point(p, view);
      return step(p, view);
    }
    const std::uint32_t goal = network_.router_of(p.dst);
    if (goal == p.cur) return {static_cast<std::uint8_t>(network_.eject_port(p.dst)), 1};
    return toward(at, place_[goal].local, p.option);
  }

  // From a random intermediate router, the packet continues on a minimal path.
  template <class View>
  void leave_way_point(Packet& p, View& view) const {
    const Place &at = place_[p.cur], &goal = place_[network_.router_of(p.dst)];
    p.way2 = kNoWay;
    if (at.group == goal.group) {
      p.phase = Phase::kToDestination;
      return;
    }
    const GlobalCable& cable =
        list(at.group, goal.group)[Random::scale(view.random() >> 32, cables(at.group, goal.group))];
    p.phase = Phase::kToFirst;
    p.way1 = cable.from;
    p.port1 = cable.port;
  }

  template <class View>
  void choose(Packet& p, View& view) const;
  template <class View>
  void reconsider(Packet& p, View& view) const;
  template <class View>
  void choose_local(Packet& p, const Place& at, const Place& goal, std::uint64_t bits, View& view) const;
  template <class View>
  bool divert(Packet& p, const Place& at, const Place& goal, Time minimal_cost, Time bias, Random draws,
              View& view) const;
  template <class Visit>
  void each_minimal_step(const Packet& p, Visit visit) const;
  static std::uint64_t drawn(const Packet& p) {
    return p.way1 | std::uint64_t{p.way2} << 16 | std::uint64_t{p.port1} << 32 | std::uint64_t{p.port2} << 40;
  }
  // Returns a random number below n, using up the lowest 16 bits.
  static std::uint32_t pick_of(std::uint64_t& bits, std::size_t n) {
    const std::uint32_t k = static_cast<std::uint32_t>((bits & 0xFFFF) * n >> 16);
    bits >>= 16;
    return k;
  }
  template <class View>
  Time cost(const Packet& p, const Place& at, const GlobalCable& cable, std::uint32_t hops, View& view) const {
    const PortId first = p.cur * network_.stride();
    const PortId port =
        cable.from == at.local ? first + cable.port : pick(first, toward(at, cable.from, p.option), p, view);
    return view.congestion(port, vc(p)) * hops;
  }
  void go(Packet& p, const GlobalCable& first) const {
    p.phase = Phase::kToFirst;
    p.way1 = first.from;
    p.port1 = first.port;
    p.way2 = kNoWay;
  }

  const Network& network_;
  DragonflyOptions options_;
  std::uint32_t groups_ = 0, size_ = 0;  // groups; routers of the largest group
  std::vector<Place> place_;
  std::vector<std::vector<std::uint32_t>> members_;
  std::vector<std::vector<Step>> steps_;  // one table for all groups with the same wiring
  std::vector<std::vector<std::uint8_t>> hops_;
  std::vector<std::uint32_t> global_begin_;
  std::vector<GlobalCable> global_;
};

}  // namespace flitwatch::sim::packet

#include "sim/packet/dragonfly_choice.h"
