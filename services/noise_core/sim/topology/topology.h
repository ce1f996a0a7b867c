// A fabric together with its shape, from which routes can be computed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "sim/topology/graph.h"
#include "sim/topology/torus.h"
#include "sim/topology/xgft.h"

namespace flitwatch::sim {

enum class Kind { kXgft, kTorus, kDragonfly, kGraph };

struct Topology {
  Kind kind = Kind::kGraph;
  std::shared_ptr<const Graph> graph;
  std::variant<std::monostate, Xgft, Torus> shape{};  // set if routes can be computed from the address alone
  std::vector<std::uint32_t> group{};                 // dragonfly: one per router
  bool alike = false;                                 // all endpoints have an equivalent view of the fabric
};

inline Topology make_xgft(std::vector<std::uint32_t> m, std::vector<std::uint32_t> w, std::vector<double> p,
                          double bandwidth_bps = 0) {
  Xgft tree(std::move(m), std::move(w), std::move(p));
  auto graph = std::make_shared<const Graph>(tree.graph(bandwidth_bps));
  return {Kind::kXgft, std::move(graph), std::move(tree), {}, true};
}

inline Topology make_torus(std::vector<std::uint32_t> dims, double bandwidth_bps = 0) {
  Torus torus(std::move(dims));
  auto graph = std::make_shared<const Graph>(torus.graph(bandwidth_bps));
  return {Kind::kTorus, std::move(graph), std::move(torus), {}, true};
}

inline HopSummary summarise_hops(const Topology& topology) {
  if (!topology.alike) return summarise_hops(*topology.graph);
  const std::uint32_t one = topology.graph->router_of(0);
  return summarise_hops(*topology.graph, std::span(&one, 1));
}

}  // namespace flitwatch::sim
