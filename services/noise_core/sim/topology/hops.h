// Distances in links.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/topology/graph.h"

namespace flitwatch::sim {

// Links from each router to router `target` (kNone where there is no way); every link counts 1.
std::vector<std::uint32_t> hops_to_router(const Graph& graph, std::uint32_t target);

// Links from endpoint to endpoint, both terminal links included: 2 on the same router, kNone without a way.
std::vector<std::uint32_t> hops_between(const Graph& graph, std::span<const std::uint32_t> src,
                                        std::span<const std::uint32_t> dst);

struct HopSummary {
  double mean = 0;             // over ordered pairs of different endpoints that are connected
  std::uint32_t diameter = 0;  // largest of them
  std::uint64_t unreachable = 0;
};
// From all endpoints on `routers` to all endpoints; where every router looks the same, one is enough.
HopSummary summarise_hops(const Graph& graph, std::span<const std::uint32_t> routers);
HopSummary summarise_hops(const Graph& graph);

}  // namespace flitwatch::sim
