// Colouring the edges of a bipartite multigraph so that every vertex has about the same weight in each colour.
#pragma once

#include <vector>

#include "routes/random.h"

namespace flitwatch::routes {

struct Edge {
  int left, right;
  float weight;
  int slot = 0;  // when most of it is sent
};

// A colour from 0 to colours - 1 for every edge. Degrees are even to within one edge a halving; weights follow, as
// neighbours in weight, of one slot, go to different halves. Odd numbers of colours split one off by a matching of
// every vertex's share of edges.
std::vector<int> colour(const std::vector<Edge>& edges, int lefts, int rights, int colours, Random& random);

}  // namespace flitwatch::routes
