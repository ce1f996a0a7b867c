// The any-time optimiser: rip up what loads a link too much and lay it again where it costs least.
//
// The cost of a link is small for every byte and grows with the square of what lies above a limit; the limit shrinks towards the bound as
// long as tables are found within it. Links that stay overloaded grow dearer. Failed links cost more than any other.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "routes/start.h"
#include "routes/tables.h"

namespace flitwatch::routes {

struct Progress {
  double seconds;
  double largest;        // best so far
  std::size_t moves;
};

struct Solution {
  std::vector<Port> spine_of, core_of, down_of;
  std::vector<std::uint8_t> core_used, down_used;  // which entries carry traffic
  double largest = 0;                              // largest load between switches
  int worst_links = 0;                             // links that carry it, to a millionth
  double ftree = 0, random = 0;                    // largest loads of the starts
  double seconds = 0;
  std::size_t moves = 0;
};

// Tables that are loaded already: the spine of every (leaf, destination), the core of every (spine, destination), the spine below every (core, destination);
// -1 where the entry is absent or leads nowhere.
struct Loaded {
  std::vector<Port> spine_of, core_of, down_of;
};

struct Search {
  double seconds = 60;
  bool fewest_worst = false;        // as few links as possible that carry as much as the busiest
  const Loaded* loaded = nullptr;   // begin with these, and leave as many of their entries as the goal, or what is reached, allows
  std::uint64_t seed = 1;
  double forced = 0.02;   // share of moves that must leave the old port
  double growth = 1.15;   // of an overloaded link's price, every `growth_every` moves
  int growth_every = 1024;
};

// With `loaded` the search ends at the goal, and goes on from these tables alone. `go_on` is asked a few times a second; false stops with the best so far. `goal`: stop at this load (a bound).
Solution optimise(const Tree& tree, const Demand& demand, const std::vector<std::uint8_t>& failed, double goal, const Search& search,
                  const std::function<bool(const Progress&)>& go_on);

}  // namespace flitwatch::routes
