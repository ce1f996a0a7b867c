#include "sim/topology/route_table.h"

#include <algorithm>

namespace flitwatch::sim {
namespace {

constexpr std::uint32_t kUnknown = 0, kDead = kNone, kOnTrail = kNone - 1;

// Links from each router to one endpoint, found along the table; kDead where the walk fails.
class Walks {
 public:
  Walks(const RouteTable& table, std::uint32_t endpoint, std::vector<std::uint32_t>& length)
      : table_(table), endpoint_(endpoint), length_(length) {
    std::ranges::fill(length_, kUnknown);
  }
  // Returns true where the walk from `router` runs into a loop.
  bool follow(std::uint32_t router) {
    trail_.clear();
    const Graph& graph = table_.graph();
    std::uint32_t at = router, tail = kDead;
    bool loop = false;
    for (;;) {
      if (length_[at] != kUnknown) {
        loop = length_[at] == kOnTrail;
        tail = loop ? kDead : length_[at];
        break;
      }
      length_[at] = kOnTrail;
      trail_.push_back(at);
      const LinkId l = table_.link(at, endpoint_);
      if (l == kNone) break;
      const Vertex next = graph.dst(l);
      if (!graph.is_router(next)) {
        tail = next == graph.vertex_of_endpoint(endpoint_) ? 0 : kDead;
        break;
      }
      at = next;
    }
    for (auto r = trail_.rbegin(); r != trail_.rend(); ++r) length_[*r] = tail = tail == kDead ? kDead : tail + 1;
    return loop;
  }

 private:
  const RouteTable& table_;
  std::uint32_t endpoint_;
  std::vector<std::uint32_t>& length_;
  std::vector<std::uint32_t> trail_;
};

}  // namespace

RouteCheck check_routes(const RouteTable& table) {
  const Graph& graph = table.graph();
  std::vector<bool> has_endpoint(graph.routers());
  for (std::uint32_t e = 0; e < graph.endpoints(); ++e) has_endpoint[graph.router_of(e)] = true;
  RouteCheck check;
  std::vector<std::uint32_t> length(graph.routers());
  for (std::uint32_t e = 0; e < graph.endpoints(); ++e) {
    Walks walks(table, e, length);
    for (std::uint32_t r = 0; r < graph.routers(); ++r) {
      if (!has_endpoint[r]) continue;
      const bool loop = walks.follow(r);
      if (length[r] != kDead) {
        check.longest = std::max<std::uint64_t>(check.longest, length[r] + 1);
        continue;
      }
      ++(loop ? check.loops : check.missing);
      if (check.example_router == kNone) check.example_router = r, check.example_endpoint = e;
    }
  }
  return check;
}

}  // namespace flitwatch::sim
