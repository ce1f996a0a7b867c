// Any-time optimiser: removes traffic from overloaded links and places it where it costs least.
//
// The cost of a link is small per byte and grows with the square of the load above a limit. The limit decreases towards
// the bound as long as tables are found within it. Links that stay overloaded become more expensive. Failed links cost
// more than any other. Time slots have separate loads and limits. The objective is the sum of their largest loads: the
// total time if each slot starts when the previous one's traffic is through.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "routes/steps.h"
#include "routes/tables.h"

namespace flitwatch::routes {

struct Progress {
  double seconds;
  double largest;  // best so far, summed over all slots
  std::size_t moves;
};

struct Solution {
  std::vector<Port> spine_of, core_of, down_of;
  std::vector<std::uint8_t> core_used, down_used;  // entries that carry traffic
  BySlot largest;                                  // largest load between switches of each slot
  int worst_links = 0;                             // links with that load (within a millionth), over all slots
  double seconds = 0;
  std::size_t moves = 0;
};

struct Search {
  double seconds = 60;
  bool fewest_worst = false;  // minimise the number of links that carry as much as their slot's busiest link
  const Loaded* loaded =
      nullptr;  // start from these tables, and keep as many of their entries as the goal, or the best result, permits
  double within = 0;  // relative distance to the goal that is close enough
  std::uint64_t seed = 1;
  double forced = 0.02;  // share of moves that must leave the old port
  double growth = 1.15;  // growth of an overloaded link's price, every `growth_every` moves
  int growth_every = 1024;
};

// With `loaded`, the search ends at the goal and uses only these tables. `go_on` is called a few times per second;
// false stops with the best result so far. `goal`: stop at these loads, per slot (bounds). `cables`: working cables of
// each link; empty: one each. Loads are bytes per cable.
Solution optimise(const Tree& tree, const Demand& demand, const std::vector<std::uint8_t>& cables, const BySlot& goal,
                  const Search& search, const std::function<bool(const Progress&)>& go_on);

}  // namespace flitwatch::routes
