// Routing on trees: minimal up*down* paths with static tables (d-mod-k or a given LFT), or with a hardware-adaptive or
// random choice of the admissible ports. One VC is enough, because no route goes up after it went down.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "sim/packet/division.h"
#include "sim/packet/packet.h"

namespace flitwatch::sim::packet {

enum class TreeMode : std::uint8_t { kStatic, kAdaptive, kRandom };

class Tree {
 public:
  static constexpr bool kReadsCredit = false;  // it chooses by the ports' backlog
  // `level` of each router (0: leaf). `table`: for every endpoint, every router's port within the router
  // (endpoint-major, 255: none), or empty for d-mod-k. Throws std::invalid_argument if an endpoint is unreachable by
  // up*down* paths, a table's route does not arrive, or a table's routes can deadlock.
  // `output_queues`: simulate() uses a QueuedTree.
  Tree(const Network& network, const std::vector<std::int32_t>& level, std::vector<std::uint8_t> table,
       std::uint32_t vcs = 1, bool output_queues = false);

  // Slabs of leaf switches with the switches above them.
  Division divide() const { return divide_by_cables(network_); }

  std::uint32_t vcs() const { return vcs_; }
  bool output_queues() const { return output_queues_; }
  // A pair of endpoints always uses the same lane, so that its packets stay in order.
  std::uint32_t vc(const Packet& p) const {
    return vcs_ == 1 ? 0 : ((p.src * 0x9E3779B1u ^ p.dst * 0x85EBCA77u) >> 16) % vcs_;
  }
  std::uint32_t vc_ahead(const Packet& p) const { return vc(p); }

  template <class View>
  PortId route(Packet& p, View& view) const {
    const PortId first = p.cur * network_.stride();
    if (static_cast<TreeMode>(p.mode) == TreeMode::kStatic)
      return first + table_[std::size_t{p.dst} * routers_ + p.cur];
    const std::uint32_t goal = network_.router_of(p.dst);
    if (goal == p.cur) return first + network_.eject_port(p.dst);
    const Candidates c = candidates_[std::size_t{p.cur} * leaves_ + leaf_number_[goal]];
    if (c.count == 1) return first + at(c, 0);
    const std::uint64_t draw = view.random() >> 32;
    if (static_cast<TreeMode>(p.mode) == TreeMode::kRandom) return first + at(c, Random::scale(draw, c.count));
    if constexpr (requires { requires View::kOutputQueues; })
      return first + at(c, least_occupied(first, c, Random::scale(draw, c.count), vc(p), view));
    return first + at(c, least_loaded(first, c, Random::scale(draw, c.count), view));
  }
  // A packet leaves for p.cur. Returns its port there within the router, or kNil if that is chosen on arrival.
  std::uint32_t look_ahead(const Packet& p) const {
    if (static_cast<TreeMode>(p.mode) == TreeMode::kStatic) return table_[std::size_t{p.dst} * routers_ + p.cur];
    const std::uint32_t goal = network_.router_of(p.dst);
    if (goal == p.cur) return network_.eject_port(p.dst);
    const Candidates c = candidates_[std::size_t{p.cur} * leaves_ + leaf_number_[goal]];
    return c.count == 1 ? at(c, 0) : kNil;
  }
  template <class View>
  PortId port_ahead(const Packet& p, View&) const {
    return p.cur * network_.stride() + p.next;
  }
  template <class View>
  PortId route(Packet& p, std::uint32_t ahead, View& view) const {
    return ahead == kNil ? route(p, view) : p.cur * network_.stride() + ahead;
  }
  template <class View>
  void start(Packet&, View&) const {}
  // Prefetches the data of the packet at p.cur for current loads; a tie can lead to another port.
  template <class View>
  void prefetch(const Packet& p, View& view) const {
    if (static_cast<TreeMode>(p.mode) != TreeMode::kAdaptive) return;
    const PortId first = p.cur * network_.stride();
    const Candidates c = candidates_[std::size_t{p.cur} * leaves_ + leaf_number_[network_.router_of(p.dst)]];
    view.prefetch_congestion(first + at(c, least_loaded(first, c, 0, view)), vc(p));
  }
  // Prefetches the data for the choice at p.cur.
  template <class View>
  void prefetch_loads(const Packet& p, View& view) const {
    if (p.next != kNil || static_cast<TreeMode>(p.mode) != TreeMode::kAdaptive) return;
    const Time* loads = view.loads() + p.cur * network_.stride() + first_up_[p.cur];
    for (int line = 0; line < 4; ++line) fetch(loads + 8 * line);
  }
  const std::vector<std::uint8_t>& table() const { return table_; }

 private:
  struct Candidates {
    std::uint16_t begin;  // first port, or index in lists_ if the ports are not consecutive
    std::uint8_t count, listed;
  };

  std::uint32_t at(Candidates c, std::uint32_t k) const { return c.listed ? lists_[c.begin + k] : c.begin + k; }

  // Four ports at a time. A score is waiting time (ns), then the distance from a random port, then the port.
  using Lanes = std::int64_t __attribute__((vector_size(32)));
  static constexpr std::uint32_t kLanes = 4;

  // Returns the port that becomes idle first, in nanoseconds; ties are resolved in turn from a random port.
  template <class View>
  std::uint32_t least_loaded(PortId first, Candidates c, std::uint32_t rotation, View& view) const {
    if (c.listed) return least_loaded_of_list(first, c, rotation, view);
    const Time* loads = view.loads() + first + c.begin;
    const std::int64_t now = static_cast<std::int64_t>(view.now()), count = c.count, from = rotation;
    constexpr Lanes number = {0, 1, 2, 3};
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    constexpr Lanes none = {most, most, most, most};
    Lanes best = none;
    for (std::uint32_t begin = 0; begin < c.count; begin += kLanes) {
      Lanes load;
      if constexpr (requires { requires View::kShared; }) {  // what follows may be another part's
        load = Lanes{};
        std::memcpy(&load, loads + begin, std::min(kLanes, c.count - begin) * sizeof(Time));
      } else {
        std::memcpy(&load, loads + begin, sizeof load);
      }
      const Lanes k = number + begin, waits = load - now, wait = waits > 0 ? waits : Lanes{};
      const Lanes round = k - from, tie = round < 0 ? round + count : round;
      const Lanes beyond = k >= count;  // all ones there
      const Lanes score = (wait >> 10 << 16 | tie << 8 | k) | (beyond & none);
      best = score < best ? score : best;
    }
    const Lanes other = {best[2], best[3], best[0], best[1]}, two = other < best ? other : best;
    return static_cast<std::uint32_t>((two[0] < two[1] ? two[0] : two[1]) & 255);
  }
  template <class View>
  std::uint32_t least_loaded_of_list(PortId first, Candidates c, std::uint32_t rotation, View& view) const {
    const Time now = view.now();
    std::uint64_t best = kNever;
    for (std::uint32_t k = 0; k < c.count; ++k) {
      const Time load = view.load(first + lists_[c.begin + k]), wait = load > now ? load - now : 0;
      const std::uint32_t tie = k >= rotation ? k - rotation : k - rotation + c.count;
      const std::uint64_t score = (wait >> 10) << 16 | tie << 8 | k;
      best = score < best ? score : best;
    }
    return static_cast<std::uint32_t>(best & 255);
  }

  // With output queues: a random port if no bytes wait there or lack their credit, else the first with the fewest.
  template <class View>
  std::uint32_t least_occupied(PortId first, Candidates c, std::uint32_t random, std::uint32_t vc, View& view) const {
    std::uint32_t best = random;
    Time least = view.congestion(first + at(c, best), vc);
    for (std::uint32_t k = 0; k < c.count && least; ++k) {
      const Time load = view.congestion(first + at(c, k), vc);
      if (load >= least) continue;
      best = k;
      least = load;
    }
    return best;
  }

  void find_candidates(const std::vector<std::int32_t>& level);
  void add_candidates(std::uint32_t router, std::uint32_t leaf, const std::vector<std::uint8_t>& ports);
  void build_static_table(const std::vector<std::int32_t>& level);
  void check_table() const;
  void check_deadlock() const;

  const Network& network_;
  std::uint32_t routers_, leaves_ = 0, vcs_;
  bool output_queues_;
  std::vector<std::uint32_t> leaf_number_, first_up_;
  std::vector<Candidates> candidates_;  // [router][leaf]
  std::vector<std::uint8_t> lists_, table_;
};

// A tree of switches with a queue at each output, as in Taffet's simulator (CODES, fattree.c): a packet takes the
// credit of its link when it enters the queue, and leaves the buffer of its input then, not when it departs.
struct QueuedTree : Tree {
  static constexpr bool kOutputQueues = true;
  explicit QueuedTree(const Tree& tree) : Tree(tree) {}
};

}  // namespace flitwatch::sim::packet
