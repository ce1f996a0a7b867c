// The any-time optimiser: rip up what loads a link too much and lay it again where it costs least.
//
// The cost of a link is small for every byte and grows with the square of what lies above a limit; the limit shrinks
// towards the bound as long as tables are found within it. Links that stay overloaded grow dearer. Failed links cost
// more than any other. Time slots have loads and limits of their own; what counts is the sum of their largest loads,
// the time that slots take which begin when the last one's traffic is through.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "routes/loaded.h"
#include "routes/start.h"
#include "routes/tables.h"

namespace flitwatch::routes {

struct Progress {
  double seconds;
  double largest;  // best so far: of all slots
  std::size_t moves;
};

struct Solution {
  std::vector<Port> spine_of, core_of, down_of;
  std::vector<std::uint8_t> core_used, down_used;  // which entries carry traffic
  BySlot largest;                                  // largest load between switches of each slot
  int worst_links = 0;                             // links that carry it, to a millionth: of all slots
  double seconds = 0;
  std::size_t moves = 0;
};

struct Search {
  double seconds = 60;
  bool fewest_worst = false;  // as few links as possible that carry as much as their slot's busiest
  const Loaded* loaded =
      nullptr;        // begin with these, and leave as many of their entries as the goal, or what is reached, allows
  double within = 0;  // of the goal, relative: near enough
  std::uint64_t seed = 1;
  double forced = 0.02;  // share of moves that must leave the old port
  double growth = 1.15;  // of an overloaded link's price, every `growth_every` moves
  int growth_every = 1024;
};

// With `loaded` the search ends at the goal, and goes on from these tables alone. `go_on` is asked a few times a
// second; false stops with the best so far. `goal`: stop at these loads, of each slot (bounds). `cables`: of each link,
// how many work; empty: one each. Loads are bytes a cable.
Solution optimise(const Tree& tree, const Demand& demand, const std::vector<std::uint8_t>& cables, const BySlot& goal,
                  const Search& search, const std::function<bool(const Progress&)>& go_on);

}  // namespace flitwatch::routes
