#include "sim/flow/routes.h"

#include <algorithm>
#include <stdexcept>

#include "sim/flow/random.h"

namespace flitwatch::sim {

XgftRoutes::XgftRoutes(const Xgft& tree) : height_(tree.height()), endpoints_(tree.endpoints()), cells_(tree.links()) {
  if (!tree.uniform()) throw std::invalid_argument("uneven cable counts need a forwarding table");
  places_.resize(std::size_t{endpoints_} * (height_ - 1));
  for (std::uint32_t e = 0; e < endpoints_; ++e) {
    std::uint32_t copy = 0, digits = e;
    for (std::uint32_t l = 1; l < height_; ++l) {
      const std::uint32_t subtree = e / tree.subtree_size(l);
      const std::uint32_t port = digits % tree.up_ports(l);
      digits /= tree.w()[l];  // not by the ports: which of the parallel cables it was parts destinations further up
      const std::uint32_t block = subtree * tree.copies(l) * tree.up_ports(l), cable = copy * tree.up_ports(l) + port;
      places_[std::size_t{e} * (height_ - 1) + l - 1] = {tree.up_link(l, 0, 0) + block, cable,
                                                         tree.down_link(l, 0, 0) + block + cable};
      copy += tree.up_port(l, subtree % tree.m()[l], port).parent * tree.copies(l);
    }
  }
}

TorusRoutes::TorusRoutes(const Torus& torus)
    : torus_(torus), dimensions_(static_cast<std::uint32_t>(torus.dims().size())) {
  places_.reserve(std::size_t{torus.size()} * dimensions_);
  for (std::uint32_t r = 0; r < torus.size(); ++r)
    for (std::uint32_t d = 0; d < dimensions_; ++d) {
      const std::uint32_t ring = torus.ring(r, d), low = r % torus.stride(d);
      places_.push_back({torus.coordinate(r, d), (ring - low) * torus.dims()[d]});
    }
}

TableRoutes::TableRoutes(std::shared_ptr<const RouteTable> table, std::vector<std::uint32_t> valiant_groups)
    : table_(std::move(table)), groups_(std::move(valiant_groups)) {
  const Graph& graph = table_->graph();
  if (!groups_.empty() && groups_.size() != graph.routers())
    throw std::invalid_argument("Valiant routes need one group for every router");
  const RouteCheck check = check_routes(*table_);
  if (check.missing + check.loops > 0)
    throw std::invalid_argument("routes: " + std::to_string(check.missing) + " are missing and " +
                                std::to_string(check.loops) + " loop; the first is from router " +
                                std::to_string(check.example_router) + " to endpoint " +
                                std::to_string(check.example_endpoint));
  most_steps_ = static_cast<std::uint32_t>(check.longest + 1) * (groups_.empty() ? 1 : 2);
}

std::uint32_t TableRoutes::intermediate(std::uint32_t src, std::uint32_t dst, std::uint64_t salt) const {
  const Graph& graph = table_->graph();
  const std::uint32_t a = groups_[graph.router_of(src)], b = groups_[graph.router_of(dst)];
  Random random(salt, (std::uint64_t{src} << 32) | dst);
  std::uint32_t via = dst;
  for (int tries = 0; tries < 32; ++tries) {  // fewer than three groups leave any router to choose from
    via = random.below(graph.endpoints());
    const std::uint32_t group = groups_[graph.router_of(via)];
    if (group != a && group != b) break;
  }
  return via;
}

}  // namespace flitwatch::sim
