// A fabric as flat arrays: routers, endpoints and directed links. Immutable once built. Header only, so that every
// engine can use it without linking the topology library.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace flitwatch::sim {

using Vertex = std::uint32_t;  // router r is r, endpoint e is routers() + e
using LinkId = std::uint32_t;  // index in the arrays that the graph was built from

inline constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

// One directed link per position. A cable used in both directions takes two positions.
struct LinkArrays {
  std::vector<Vertex> src, dst;
  std::vector<std::uint16_t> src_port, dst_port;  // the vendor's numbers; empty: index among the links of src
  std::vector<std::uint8_t> link_class;           // an index into `class_names`; empty: all 0
  std::vector<std::uint16_t> multiplicity;        // parallel cables that this position represents; empty: all 1
  std::vector<double> bandwidth_bps;              // of one cable; empty: unknown (0)
};

class Graph {
 public:
  Graph() = default;

  // Throws std::invalid_argument if arrays differ in length, a vertex is out of range, a link joins a vertex to itself,
  // or an endpoint is not attached to exactly one router by one link in each direction.
  Graph(std::uint32_t routers, std::uint32_t endpoints, LinkArrays links,
        std::vector<std::string> class_names = {"link"})
      : routers_(routers), endpoints_(endpoints), links_(std::move(links)), class_names_(std::move(class_names)) {
    fill_defaults();
    check_links();
    index_by_source();
    attach_endpoints();
  }

  std::uint32_t routers() const { return routers_; }
  std::uint32_t endpoints() const { return endpoints_; }
  std::uint32_t vertices() const { return routers_ + endpoints_; }
  std::uint32_t links() const { return static_cast<std::uint32_t>(links_.src.size()); }
  Vertex vertex_of_endpoint(std::uint32_t endpoint) const { return routers_ + endpoint; }
  bool is_router(Vertex v) const { return v < routers_; }

  Vertex src(LinkId l) const { return links_.src[l]; }
  Vertex dst(LinkId l) const { return links_.dst[l]; }
  std::uint16_t src_port(LinkId l) const { return links_.src_port[l]; }
  std::uint16_t dst_port(LinkId l) const { return links_.dst_port[l]; }
  std::uint8_t link_class(LinkId l) const { return links_.link_class[l]; }
  std::uint16_t multiplicity(LinkId l) const { return links_.multiplicity[l]; }
  double bandwidth_bps(LinkId l) const { return links_.bandwidth_bps[l]; }
  const LinkArrays& arrays() const { return links_; }
  const std::vector<std::string>& class_names() const { return class_names_; }

  // Returns the outgoing links of vertex v, in the order of the arrays.
  std::span<const LinkId> out_links(Vertex v) const {
    return {out_.data() + out_begin_[v], out_begin_[v + 1] - out_begin_[v]};
  }
  std::uint32_t router_of(std::uint32_t endpoint) const { return router_of_[endpoint]; }
  LinkId injection_link(std::uint32_t endpoint) const { return injection_[endpoint]; }  // endpoint -> router
  LinkId ejection_link(std::uint32_t endpoint) const { return ejection_[endpoint]; }    // router -> endpoint
  bool joins_routers(LinkId l) const { return is_router(src(l)) && is_router(dst(l)); }

 private:
  void fill_defaults() {
    const std::size_t n = links_.src.size();
    if (links_.link_class.empty()) links_.link_class.assign(n, 0);
    if (links_.multiplicity.empty()) links_.multiplicity.assign(n, 1);
    if (links_.bandwidth_bps.empty()) links_.bandwidth_bps.assign(n, 0.0);
    if (links_.src_port.empty()) links_.src_port = positions(links_.src);
    if (links_.dst_port.empty()) links_.dst_port = positions(links_.dst);
    for (std::size_t length : {links_.dst.size(), links_.src_port.size(), links_.dst_port.size(),
                               links_.link_class.size(), links_.multiplicity.size(), links_.bandwidth_bps.size()})
      if (length != n) throw std::invalid_argument("link arrays differ in length");
  }

  std::vector<std::uint16_t> positions(const std::vector<Vertex>& at) const {
    std::vector<std::uint16_t> seen(vertices(), 0), ports;
    ports.reserve(at.size());
    for (Vertex v : at) ports.push_back(v < vertices() ? seen[v]++ : 0);
    return ports;
  }

  void check_links() const {
    for (LinkId l = 0; l < links(); ++l) {
      const std::string where = "link " + std::to_string(l);
      if (src(l) >= vertices() || dst(l) >= vertices()) throw std::invalid_argument(where + ": no such vertex");
      if (src(l) == dst(l)) throw std::invalid_argument(where + " joins a vertex to itself");
      if (multiplicity(l) == 0) throw std::invalid_argument(where + ": multiplicity is 0");
      if (link_class(l) >= class_names_.size()) throw std::invalid_argument(where + ": no such class");
    }
  }

  void index_by_source() {
    out_begin_.assign(vertices() + std::size_t{1}, 0);
    for (Vertex v : links_.src) ++out_begin_[v + 1];
    std::partial_sum(out_begin_.begin(), out_begin_.end(), out_begin_.begin());
    out_.resize(links());
    std::vector<std::uint32_t> next(out_begin_.begin(), out_begin_.end() - 1);
    for (LinkId l = 0; l < links(); ++l) out_[next[src(l)]++] = l;
  }

  void attach_endpoints() {
    router_of_.assign(endpoints_, kNone);
    injection_.assign(endpoints_, kNone);
    ejection_.assign(endpoints_, kNone);
    for (LinkId l = 0; l < links(); ++l) {
      if (!is_router(src(l))) take(injection_, src(l) - routers_, l, dst(l));
      if (!is_router(dst(l))) take(ejection_, dst(l) - routers_, l, src(l));
    }
    for (std::uint32_t e = 0; e < endpoints_; ++e)
      if (injection_[e] == kNone || ejection_[e] == kNone)
        throw std::invalid_argument("endpoint " + std::to_string(e) +
                                    " is not attached to a router in both directions");
  }

  void take(std::vector<LinkId>& end, std::uint32_t endpoint, LinkId l, Vertex router) {
    const bool elsewhere = router_of_[endpoint] != kNone && router_of_[endpoint] != router;
    if (end[endpoint] != kNone || elsewhere || !is_router(router))
      throw std::invalid_argument("endpoint " + std::to_string(endpoint) + " must be attached to exactly one router");
    end[endpoint] = l;
    router_of_[endpoint] = router;
  }

  std::uint32_t routers_ = 0, endpoints_ = 0;
  LinkArrays links_;
  std::vector<std::string> class_names_;
  std::vector<std::uint32_t> out_begin_;
  std::vector<LinkId> out_, injection_, ejection_;
  std::vector<std::uint32_t> router_of_;
};

// Links between routers in reverse direction, for searches that start at a destination.

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

// Distances in links.

// Returns the number of links from each router to router `target` (kNone if unreachable); every link counts 1.
std::vector<std::uint32_t> hops_to_router(const Graph& graph, std::uint32_t target);

// Returns the number of links from endpoint to endpoint, including both terminal links: 2 on the same router, kNone if
// unreachable.
std::vector<std::uint32_t> hops_between(const Graph& graph, std::span<const std::uint32_t> src,
                                        std::span<const std::uint32_t> dst);

struct HopSummary {
  double mean = 0;             // over ordered pairs of different, connected endpoints
  std::uint32_t diameter = 0;  // largest of them
  std::uint64_t unreachable = 0;
};
// Computes distances from all endpoints on `routers` to all endpoints. If all routers are equivalent, one is enough.
HopSummary summarise_hops(const Graph& graph, std::span<const std::uint32_t> routers);
HopSummary summarise_hops(const Graph& graph);

}  // namespace flitwatch::sim
