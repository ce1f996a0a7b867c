// Destination-based routes as flat arrays, like InfiniBand's linear forwarding tables.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "sim/topology/graph.h"

namespace flitwatch::sim {

// For every (destination endpoint, router), the index of the link to take among the router's out_links.
// Destination-major, so that one walk stays within one short row.
class RouteTable {
 public:
  using Entry = std::uint16_t;
  static constexpr Entry kNoRoute = std::numeric_limits<Entry>::max();

  explicit RouteTable(std::shared_ptr<const Graph> graph)
      : graph_(std::move(graph)), next_(std::size_t{graph_->endpoints()} * graph_->routers(), kNoRoute) {}

  const Graph& graph() const { return *graph_; }
  const std::shared_ptr<const Graph>& shared_graph() const { return graph_; }
  Entry at(std::uint32_t router, std::uint32_t endpoint) const { return next_[index(router, endpoint)]; }
  void set(std::uint32_t router, std::uint32_t endpoint, Entry out) { next_[index(router, endpoint)] = out; }
  // Returns the link to take, or kNone.
  LinkId link(std::uint32_t router, std::uint32_t endpoint) const {
    const Entry out = at(router, endpoint);
    return out == kNoRoute ? kNone : graph_->out_links(router)[out];
  }

  // Appends the links from endpoint src to endpoint dst, including terminal links. Returns false, with the links so far
  // appended, if an entry is missing or the walk does not end within `routers` links.
  bool walk(std::uint32_t src, std::uint32_t dst, std::vector<LinkId>& path) const {
    if (src == dst) return true;
    path.push_back(graph_->injection_link(src));
    std::uint32_t at_router = graph_->router_of(src);
    for (std::uint32_t steps = 0; steps <= graph_->routers(); ++steps) {
      const LinkId l = link(at_router, dst);
      if (l == kNone) return false;
      path.push_back(l);
      if (!graph_->is_router(graph_->dst(l))) return graph_->dst(l) == graph_->vertex_of_endpoint(dst);
      at_router = graph_->dst(l);
    }
    return false;
  }

 private:
  std::size_t index(std::uint32_t router, std::uint32_t endpoint) const {
    return std::size_t{endpoint} * graph_->routers() + router;
  }
  std::shared_ptr<const Graph> graph_;
  std::vector<Entry> next_;
};

struct RouteCheck {
  std::uint64_t missing = 0, loops = 0,
                longest = 0;  // (router, endpoint) pairs without an end; links of the longest route
  std::uint32_t example_router = kNone, example_endpoint = kNone;
};
// Follows every (router, endpoint) pair. The cost is linear in the table's size.
RouteCheck check_routes(const RouteTable& table);

}  // namespace flitwatch::sim
