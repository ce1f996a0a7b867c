#include "sim/topology/table_routing.h"

#include <algorithm>
#include <queue>
#include <stdexcept>
#include <utility>

#include "sim/topology/graph.h"

namespace flitwatch::sim {
namespace {

// Gives each (router, destination) the least used of its candidate links.
class Balancer {
 public:
  explicit Balancer(RouteTable& table) : table_(table), used_(table.graph().links()) {}

  // `candidates[r]` are positions among r's out_links that lead to the endpoints of `target`.
  void assign(std::uint32_t target, const std::vector<std::uint32_t>& endpoints,
              const std::vector<std::vector<std::uint16_t>>& candidates) {
    const Graph& graph = table_.graph();
    for (std::uint32_t e : endpoints) {
      table_.set(target, e, position_of(graph, graph.ejection_link(e)));
      for (std::uint32_t r = 0; r < graph.routers(); ++r) {
        if (r == target || candidates[r].empty()) continue;
        const auto out = graph.out_links(r);
        const std::uint16_t best =
            *std::ranges::min_element(candidates[r], {}, [&](std::uint16_t i) { return used_[out[i]]; });
        ++used_[out[best]];
        table_.set(r, e, best);
      }
    }
  }

 private:
  RouteTable& table_;
  std::vector<std::uint32_t> used_;
};

// For every router with endpoints: what its candidates are, then the balanced choice.
template <class Candidates>
RouteTable fill(std::shared_ptr<const Graph> graph, Candidates candidates_to) {
  RouteTable table(graph);
  Balancer balancer(table);
  const auto endpoints = endpoints_by_router(*graph);
  std::vector<std::vector<std::uint16_t>> candidates(graph->routers());
  for (std::uint32_t target = 0; target < graph->routers(); ++target) {
    if (endpoints[target].empty()) continue;
    for (auto& list : candidates) list.clear();
    candidates_to(target, candidates);
    balancer.assign(target, endpoints[target], candidates);
  }
  return table;
}

template <class Take>
void for_router_links(const Graph& graph, std::uint32_t r, Take take) {
  const auto out = graph.out_links(r);
  for (std::uint16_t i = 0; i < out.size(); ++i)
    if (graph.is_router(graph.dst(out[i]))) take(i, out[i]);
}

}  // namespace

RouteTable cheapest_routes(std::shared_ptr<const Graph> graph, std::span<const std::uint32_t> cost) {
  if (cost.size() != graph->class_names().size() ||
      std::ranges::any_of(cost, [](std::uint32_t c) { return c == 0 || c > 1'000'000; }))
    throw std::invalid_argument("every link class needs a cost from 1 to 1,000,000");
  const IncomingLinks incoming(*graph);
  std::vector<std::uint32_t> distance(graph->routers());
  using Reached = std::pair<std::uint32_t, std::uint32_t>;  // cost so far, router
  return fill(graph, [&](std::uint32_t target, std::vector<std::vector<std::uint16_t>>& candidates) {
    std::ranges::fill(distance, kNone);
    distance[target] = 0;
    std::priority_queue<Reached, std::vector<Reached>, std::greater<>> queue;
    queue.push({0, target});
    while (!queue.empty()) {
      const auto [far, at] = queue.top();
      queue.pop();
      if (far != distance[at]) continue;
      for (LinkId l : incoming.into(at))
        if (const std::uint32_t there = far + cost[graph->link_class(l)]; there < distance[graph->src(l)])
          queue.push({distance[graph->src(l)] = there, graph->src(l)});
    }
    for (std::uint32_t r = 0; r < graph->routers(); ++r)
      if (distance[r] != kNone)
        for_router_links(*graph, r, [&](std::uint16_t i, LinkId l) {
          const std::uint32_t beyond = distance[graph->dst(l)];
          if (beyond != kNone && beyond + cost[graph->link_class(l)] == distance[r]) candidates[r].push_back(i);
        });
  });
}

std::vector<std::uint32_t> levels_of(const Graph& graph) {
  std::vector<std::uint32_t> level(graph.routers(), kNone), queue;
  const IncomingLinks incoming(graph);
  for (std::uint32_t e = 0; e < graph.endpoints(); ++e)
    if (std::exchange(level[graph.router_of(e)], 0) != 0) queue.push_back(graph.router_of(e));
  if (queue.size() < graph.routers()) {
    for (std::size_t head = 0; head < queue.size(); ++head)
      for (LinkId l : incoming.into(queue[head]))
        if (level[graph.src(l)] == kNone) {
          level[graph.src(l)] = level[queue[head]] + 1;
          queue.push_back(graph.src(l));
        }
    for (auto& one : level)
      if (one == kNone) one = 0;  // a router that reaches no endpoint carries nothing
    return level;
  }
  std::uint32_t nearest = kNone;
  for (std::uint32_t r = 0; r < graph.routers(); ++r) {
    auto hops = hops_to_router(graph, r);
    std::ranges::replace(hops, kNone, 0u);
    if (const std::uint32_t farthest = *std::ranges::max_element(hops); farthest < nearest) {
      nearest = farthest;
      std::ranges::transform(hops, level.begin(), [&](std::uint32_t h) { return farthest - h; });
    }
  }
  return level;
}

RouteTable up_down_routes(std::shared_ptr<const Graph> graph, std::span<const std::uint32_t> level) {
  const std::uint32_t n = graph->routers();
  if (level.size() != n) throw std::invalid_argument("up*/down* routes need one level per router");
  const auto goes_up = [&](LinkId l) {
    const std::uint32_t a = graph->src(l), b = graph->dst(l);
    return level[b] > level[a] || (level[b] == level[a] && b < a);
  };
  std::vector<std::uint32_t> upward(n);  // lowest first: a link up always leads to a later one
  for (std::uint32_t r = 0; r < n; ++r) upward[r] = r;
  std::ranges::sort(
      upward, [&](std::uint32_t a, std::uint32_t b) { return level[a] != level[b] ? level[a] < level[b] : a > b; });
  const IncomingLinks incoming(*graph);
  std::vector<std::uint32_t> down(n), any(n);
  return fill(graph, [&](std::uint32_t target, std::vector<std::vector<std::uint16_t>>& candidates) {
    // Ways that only go down first: a router that has one keeps to it, for it may be entered from above.
    std::ranges::fill(down, kNone);
    std::vector<std::uint32_t> queue{target};
    down[target] = 0;
    for (std::size_t head = 0; head < queue.size(); ++head)
      for (LinkId l : incoming.into(queue[head]))
        if (!goes_up(l) && down[graph->src(l)] == kNone) {
          down[graph->src(l)] = down[queue[head]] + 1;
          queue.push_back(graph->src(l));
        }
    any = down;
    for (auto r = upward.rbegin(); r != upward.rend(); ++r) {  // highest first: whatever is above is settled
      if (down[*r] != kNone) continue;
      for_router_links(*graph, *r, [&](std::uint16_t, LinkId l) {
        const std::uint32_t beyond = any[graph->dst(l)];
        if (goes_up(l) && beyond != kNone) any[*r] = std::min(any[*r], beyond + 1);
      });
    }
    for (std::uint32_t r = 0; r < n; ++r)
      for_router_links(*graph, r, [&](std::uint16_t i, LinkId l) {
        const bool on_the_way_down = down[r] != kNone;
        if (goes_up(l) == on_the_way_down) return;
        const std::uint32_t beyond = on_the_way_down ? down[graph->dst(l)] : any[graph->dst(l)];
        if (beyond != kNone && beyond + 1 == any[r]) candidates[r].push_back(i);
      });
  });
}

}  // namespace flitwatch::sim
