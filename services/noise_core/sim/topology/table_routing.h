// Algorithms that fill forwarding tables of fabrics whose routes no formula gives.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "sim/topology/graph.h"
#include "sim/topology/route_table.h"

namespace flitwatch::sim {

// Cheapest routes; `cost` gives what a link of each class costs (all 1: fewest hops). Among equally cheap links a
// router takes, destination by destination, the one that the fewest destinations use so far, as subnet managers do. A
// dragonfly's minimal routes are those where a global link costs more than any detour inside groups. Throws
// std::invalid_argument unless every class has a cost of at least 1.
RouteTable cheapest_routes(std::shared_ptr<const Graph> graph, std::span<const std::uint32_t> cost);

// Levels of a tree: 0 on routers with endpoints, elsewhere the distance from the nearest of them. Where every router
// has endpoints there is no tree: then the levels fall from the router that is nearest to all others.
std::vector<std::uint32_t> levels_of(const Graph& graph);

// Up*/down*: no route goes up again once it went down, so no cycle of waiting buffers forms. Up is towards a higher
// level, or on the same level towards the lower number. Shortest among such routes that keep to one port a
// destination; balanced like cheapest_routes. Throws std::invalid_argument for too few levels.
RouteTable up_down_routes(std::shared_ptr<const Graph> graph, std::span<const std::uint32_t> level);

// Fat-tree routes, balanced over destinations leaf by leaf, by the rules of OpenSM's ftree engine (Zahavi et al. 2007),
// so that both give the same tables. `order` says which switch comes first where OpenSM goes by GUID; empty: by number.
// Throws std::invalid_argument where the fabric is no pure tree: links that skip or keep a level, endpoints above the
// leaves, or switches of a level with different numbers of parents.
RouteTable ftree_routes(std::shared_ptr<const Graph> graph, std::span<const std::uint32_t> order = {});

}  // namespace flitwatch::sim
