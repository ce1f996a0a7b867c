#include "sim/topology/graph.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace flitwatch::sim {
namespace {

// Breadth first along links turned round. Neighbours are listed once, however many cables join them.
class Distances {
 public:
  explicit Distances(const Graph& graph) : begin_(graph.routers() + std::size_t{1}), distance_(graph.routers()) {
    std::vector<std::vector<std::uint32_t>> into(graph.routers());
    for (LinkId l = 0; l < graph.links(); ++l)
      if (graph.joins_routers(l)) into[graph.dst(l)].push_back(graph.src(l));
    for (std::uint32_t r = 0; r < graph.routers(); ++r) {
      std::ranges::sort(into[r]);
      const auto repeated = std::ranges::unique(into[r]);
      neighbours_.insert(neighbours_.end(), into[r].begin(), repeated.begin());
      begin_[r + 1] = static_cast<std::uint32_t>(neighbours_.size());
    }
    queue_.reserve(graph.routers());
  }

  const std::vector<std::uint32_t>& to(std::uint32_t target) {
    std::ranges::fill(distance_, kNone);
    distance_[target] = 0;
    queue_.assign(1, target);
    for (std::size_t head = 0; head < queue_.size(); ++head) {
      const std::uint32_t at = queue_[head];
      for (std::uint32_t i = begin_[at]; i < begin_[at + 1]; ++i)
        if (const std::uint32_t next = neighbours_[i]; distance_[next] == kNone) {
          distance_[next] = distance_[at] + 1;
          queue_.push_back(next);
        }
    }
    return distance_;
  }

 private:
  std::vector<std::uint32_t> begin_, neighbours_, distance_, queue_;
};

}  // namespace

std::vector<std::uint32_t> hops_to_router(const Graph& graph, std::uint32_t target) {
  if (target >= graph.routers()) throw std::invalid_argument("the router does not exist");
  return Distances(graph).to(target);
}

std::vector<std::uint32_t> hops_between(const Graph& graph, std::span<const std::uint32_t> src,
                                        std::span<const std::uint32_t> dst) {
  if (src.size() != dst.size()) throw std::invalid_argument("the numbers of sources and destinations differ");
  const auto outside = [&](std::uint32_t e) { return e >= graph.endpoints(); };
  if (std::ranges::any_of(src, outside) || std::ranges::any_of(dst, outside))
    throw std::invalid_argument("no such endpoint");
  std::vector<std::size_t> order(src.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return graph.router_of(dst[i]); });
  Distances distances(graph);
  std::vector<std::uint32_t> hops(src.size());
  std::uint32_t target = kNone;
  const std::vector<std::uint32_t>* to_target = nullptr;
  for (std::size_t i : order) {
    if (graph.router_of(dst[i]) != target) to_target = &distances.to(target = graph.router_of(dst[i]));
    const std::uint32_t between = (*to_target)[graph.router_of(src[i])];
    hops[i] = src[i] == dst[i] ? 0 : between == kNone ? kNone : between + 2;
  }
  return hops;
}

HopSummary summarise_hops(const Graph& graph, std::span<const std::uint32_t> routers) {
  std::vector<std::uint64_t> on_router(graph.routers());
  for (std::uint32_t e = 0; e < graph.endpoints(); ++e) ++on_router[graph.router_of(e)];
  Distances distances(graph);
  HopSummary summary;
  std::uint64_t hops = 0, pairs = 0;
  for (std::uint32_t target : routers) {
    if (on_router[target] == 0) continue;
    const auto& distance = distances.to(target);
    for (std::uint32_t r = 0; r < graph.routers(); ++r) {
      const std::uint64_t here = on_router[target] * (on_router[r] - (r == target ? 1 : 0));
      if (on_router[r] == 0 || here == 0) continue;
      if (distance[r] == kNone) {
        summary.unreachable += here;
        continue;
      }
      pairs += here;
      hops += here * (distance[r] + 2);
      summary.diameter = std::max(summary.diameter, distance[r] + 2);
    }
  }
  summary.mean = pairs == 0 ? 0.0 : static_cast<double>(hops) / static_cast<double>(pairs);
  return summary;
}

HopSummary summarise_hops(const Graph& graph) {
  std::vector<std::uint32_t> all(graph.routers());
  std::iota(all.begin(), all.end(), 0u);
  return summarise_hops(graph, all);
}

}  // namespace flitwatch::sim
