// Distances in links.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/topology/graph.h"

namespace flitwatch::sim {

// Returns the number of links from each router to router `target` (kNone if unreachable); every link counts 1.
std::vector<std::uint32_t> hops_to_router(const Graph& graph, std::uint32_t target);

// Returns the number of links from endpoint to endpoint, including both terminal links: 2 on the same router, kNone if
// unreachable.
std::vector<std::uint32_t> hops_between(const Graph& graph, std::span<const std::uint32_t> src,
                                        std::span<const std::uint32_t> dst);

struct HopSummary {
  double mean = 0;             // over ordered pairs of different, connected endpoints
  std::uint32_t diameter = 0;  // largest of them
  std::uint64_t unreachable = 0;
};
// Computes distances from all endpoints on `routers` to all endpoints. If all routers are equivalent, one is enough.
HopSummary summarise_hops(const Graph& graph, std::span<const std::uint32_t> routers);
HopSummary summarise_hops(const Graph& graph);

}  // namespace flitwatch::sim
