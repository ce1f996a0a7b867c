// Colours the edges of a bipartite multigraph so that every vertex has about the same weight in each colour.
#pragma once

#include <vector>

#include "routes/random.h"

namespace flitwatch::routes {

struct Edge {
  int left, right;
  float weight;
  int slot = 0;  // slot in which most of it is sent
};

// Returns a colour from 0 to colours - 1 for every edge. Degrees are even to within one edge per halving. Weights are
// even too, because edges of one slot that are adjacent in weight go to different halves. For an odd number of colours,
// one is split off by a matching of every vertex's share of edges.
std::vector<int> colour(const std::vector<Edge>& edges, int lefts, int rights, int colours, Random& random);

}  // namespace flitwatch::routes
