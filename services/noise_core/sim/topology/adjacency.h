// Links between routers in reverse direction, for searches that start at a destination.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/topology/graph.h"

namespace flitwatch::sim {

class IncomingLinks {
 public:
  explicit IncomingLinks(const Graph& graph) : begin_(graph.routers() + std::size_t{1}) {
    for (LinkId l = 0; l < graph.links(); ++l)
      if (graph.joins_routers(l)) ++begin_[graph.dst(l) + 1];
    for (std::uint32_t r = 0; r < graph.routers(); ++r) begin_[r + 1] += begin_[r];
    links_.resize(begin_.back());
    std::vector<std::uint32_t> next(begin_.begin(), begin_.end() - 1);
    for (LinkId l = 0; l < graph.links(); ++l)
      if (graph.joins_routers(l)) links_[next[graph.dst(l)]++] = l;
  }
  std::span<const LinkId> into(std::uint32_t router) const {
    return {links_.data() + begin_[router], links_.data() + begin_[router + 1]};
  }

 private:
  std::vector<std::uint32_t> begin_;
  std::vector<LinkId> links_;
};

inline std::vector<std::vector<std::uint32_t>> endpoints_by_router(const Graph& graph) {
  std::vector<std::vector<std::uint32_t>> on(graph.routers());
  for (std::uint32_t e = 0; e < graph.endpoints(); ++e) on[graph.router_of(e)].push_back(e);
  return on;
}

// Returns the index of a link among the out_links of its source.
inline std::uint16_t position_of(const Graph& graph, LinkId link) {
  const auto out = graph.out_links(graph.src(link));
  return static_cast<std::uint16_t>(std::find(out.begin(), out.end(), link) - out.begin());
}

}  // namespace flitwatch::sim
