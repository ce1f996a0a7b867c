// Algorithms that fill forwarding tables of fabrics without computed routes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "sim/topology/graph.h"
#include "sim/topology/route_table.h"

namespace flitwatch::sim {

// Cheapest routes; `cost` is the cost of a link of each class (all 1: fewest hops). Among equally cheap links, a router
// takes, destination by destination, the one used by the fewest destinations so far, as subnet managers do. Minimal
// routes on a dragonfly result if a global link costs more than any detour inside groups. Throws std::invalid_argument
// unless every class has a cost of at least 1.
RouteTable cheapest_routes(std::shared_ptr<const Graph> graph, std::span<const std::uint32_t> cost);

// Levels of a tree: 0 on routers with endpoints, elsewhere the distance from the nearest of them. If every router has
// endpoints, there is no tree; the levels then decrease from the most central router.
std::vector<std::uint32_t> levels_of(const Graph& graph);

// Up*/down*: no route goes up again after it went down, so waiting buffers form no cycle. Up is towards a higher level,
// or on the same level towards the lower number. Uses the shortest of these routes with one port per destination,
// balanced like cheapest_routes. Throws std::invalid_argument for too few levels.
RouteTable up_down_routes(std::shared_ptr<const Graph> graph, std::span<const std::uint32_t> level);

// Fat-tree routes, balanced over destinations leaf by leaf, by the rules of OpenSM's ftree engine (Zahavi et al. 2007),
// so that both give the same tables. `order` is the order of switches for which OpenSM uses the GUID; empty: by number.
// Throws std::invalid_argument if the fabric is not a pure tree: links within a level or across levels, endpoints above
// the leaves, or switches of a level with different numbers of parents.
RouteTable ftree_routes(std::shared_ptr<const Graph> graph, std::span<const std::uint32_t> order = {});

}  // namespace flitwatch::sim
