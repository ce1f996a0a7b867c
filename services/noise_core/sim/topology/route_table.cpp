#include "sim/topology/route_table.h"

#include <algorithm>

namespace flitwatch::sim {
namespace {

constexpr std::uint32_t kUnknown = 0, kMissing = kNone, kLooping = kNone - 1, kOnTrail = kNone - 2;

bool arrives(std::uint32_t length) { return length < kOnTrail; }

// Links from each router to one endpoint, found along the table, or how the walk fails.
class Walks {
 public:
  Walks(const RouteTable& table, std::uint32_t endpoint, std::vector<std::uint32_t>& length)
      : table_(table), endpoint_(endpoint), length_(length) {
    std::ranges::fill(length_, kUnknown);
  }
  std::uint32_t follow(std::uint32_t router) {
    trail_.clear();
    const Graph& graph = table_.graph();
    std::uint32_t at = router, tail = kMissing;
    for (;;) {
      if (length_[at] != kUnknown) {
        tail = length_[at] == kOnTrail ? kLooping : length_[at];
        break;
      }
      length_[at] = kOnTrail;
      trail_.push_back(at);
      const LinkId l = table_.link(at, endpoint_);
      if (l == kNone) break;
      const Vertex next = graph.dst(l);
      if (!graph.is_router(next)) {
        tail = next == graph.vertex_of_endpoint(endpoint_) ? 0 : kMissing;
        break;
      }
      at = next;
    }
    for (auto r = trail_.rbegin(); r != trail_.rend(); ++r) length_[*r] = tail = arrives(tail) ? tail + 1 : tail;
    return length_[router];
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
      const std::uint32_t links = walks.follow(r);
      if (arrives(links)) {
        check.longest = std::max<std::uint64_t>(check.longest, links + 1);
        continue;
      }
      ++(links == kLooping ? check.loops : check.missing);
      if (check.example_router == kNone) check.example_router = r, check.example_endpoint = e;
    }
  }
  return check;
}

}  // namespace flitwatch::sim
