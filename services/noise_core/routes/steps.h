// Steps of the optimiser: initial and loaded tables, split demand, and tables level by level.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "routes/tables.h"

namespace flitwatch::routes {

// A small fast generator (splitmix64): the same seed gives the same moves on every machine.

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15ULL + 0xD1B54A32D192ED03ULL) {}
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15ULL);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }
  int below(int n) { return static_cast<int>((next() >> 32) * static_cast<std::uint64_t>(n) >> 32); }
  double unit() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

 private:
  std::uint64_t state_;
};

// Initial tables.

// Destination modulo the number of ports at every level, as OpenSM's ftree spreads destinations.
void start_ftree(Tables& tables);

// Chooses every entry at random and avoids failed links, as far as visible from the entry's own link.
void start_random(Tables& tables, Random& random);

// Koenig's edge colouring by recursive halving. The multigraph of leaves (then of spines) is split into halves that are
// even at every vertex, with heavy edges paired. Exact for uniform weights if the number of ports is a power of two.
void start_split(Tables& tables, Random& random);

// Colours the edges of a bipartite multigraph so that every vertex has about the same weight in each colour.

struct Edge {
  int left, right;
  float weight;
  int slot = 0;  // slot in which most of it is sent
};

// Returns a colour from 0 to colours - 1 for every edge. Degrees are even to within one edge per halving. Weights are
// even too, because edges of one slot that are adjacent in weight go to different halves. For an odd number of colours,
// one is split off by a matching of every vertex's share of edges.
std::vector<int> colour(const std::vector<Edge>& edges, int lefts, int rights, int colours, Random& random);

// Tables level by level: ports between leaves and spines at both ends of the path, then cores between the spines.

// Cables of each link of a level.
struct LevelCables {
  int leaf;  // between leaves and spines
  int core;  // between spines and cores; 0 without cores
};

// Empty if a link needed by the demand failed, or has a different number of cables than others of its level: the stages
// support neither.
std::optional<LevelCables> even_cables(const Tables& tables);

// Rebuilds the tables, starting from the current ones, so that no link is above `limit`, or as little as found while
// `go_on` (called now and then) returned true.
void settle_by_stages(Tables& tables, const LevelCables& cables, double limit, Random& random,
                      const std::function<bool()>& go_on);

// Loaded tables of a fabric: a search starts from them and restores unchanged entries.

// The spine of every (leaf, destination), the core of every (spine, destination), and the spine below every (core,
// destination); -1 if the entry is missing or leads nowhere.
struct Loaded {
  std::vector<Port> spine_of, core_of, down_of;
};

// Sets the tables as loaded. Missing entries keep their current value.
void lay_loaded(Tables& tables, const Loaded& loaded);

// Restores loaded entries, one by one, unless that loads a cell above the limit.
void put_back(Tables& tables, const Loaded& loaded, const BySlot& limit);

}  // namespace flitwatch::routes
