// Routes for the counting kernel: each gives the cells (links) that a message occupies.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "sim/topology/route_table.h"
#include "sim/topology/torus.h"
#include "sim/topology/xgft.h"

namespace flitwatch::sim {

// Consecutive cells on a ring of `size` cells, starting at `begin`, possibly around its end. Routes without consecutive
// cells give one LinkId per step instead.
struct RingRun {
  LinkId ring;
  std::uint32_t begin, length, size;
};

struct Pair {
  std::uint32_t src, dst;  // endpoints
};

// Destination mod k: the digits of the destination choose the upward ports. The destinations of a leaf thus separate at
// every level, and each path down belongs to one destination.
class XgftRoutes {
 public:
  using Step = LinkId;
  static constexpr bool kBulk = true;
  // Throws std::invalid_argument unless every pair of switches has the same number of cables (otherwise use a table).
  explicit XgftRoutes(const Xgft& tree);

  std::uint32_t endpoints() const { return static_cast<std::uint32_t>(endpoints_); }
  std::uint32_t cells() const { return cells_; }
  std::uint32_t most_steps() const { return 2 * height_; }

  // Writes the steps from src to dst (which differ) and returns the end; `salt` is unused.
  LinkId* route(std::uint32_t src, std::uint32_t dst, std::uint64_t, LinkId* out) const {
    *out++ = src;
    *out++ = endpoints_ + dst;
    const Place* from = &places_[std::size_t{src} * (height_ - 1)];
    const Place* to = &places_[std::size_t{dst} * (height_ - 1)];
    for (std::uint32_t l = 1; l < height_ && from->first_up != to->first_up; ++l, ++from, ++to) {
      *out++ = from->first_up + to->port;
      *out++ = to->down;
    }
    return out;
  }

  // Adds `one` to every cell on the path of every pair. Returns the number of links crossed.
  template <class Cell>
  std::uint64_t count(std::span<const Pair> pairs, Cell* cells, Cell one) const;

 private:
  struct Place {
    LinkId first_up;     // of the level's subtree that contains the endpoint; identifies the subtree
    std::uint32_t port;  // copy * up_ports + port: the cable to the endpoint, within its subtree's block
    LinkId down;         // the link through which every message to the endpoint enters that subtree
  };
  std::uint32_t height_, endpoints_, cells_;
  std::vector<Place> places_;  // endpoint-major, levels 1..h-1
};

template <class Cell>
std::uint64_t XgftRoutes::count(std::span<const Pair> pairs, Cell* cells, Cell one) const {
  std::uint64_t crossed = 2 * pairs.size();
  const std::size_t levels = height_ - 1;
  for (const Pair& pair : pairs) {
    cells[pair.src] += one;
    cells[endpoints_ + pair.dst] += one;
    const Place* from = &places_[pair.src * levels];
    const Place* to = &places_[pair.dst * levels];
    for (const Place* const end = from + levels; from != end && from->first_up != to->first_up; ++from, ++to) {
      cells[from->first_up + to->port] += one;
      cells[to->down] += one;
      crossed += 2;
    }
  }
  return crossed;
}

// Dimension order, the shorter way around each ring; half-way around an even ring goes up.
class TorusRoutes {
 public:
  using Step = RingRun;
  static constexpr bool kBulk = true;
  explicit TorusRoutes(const Torus& torus);

  std::uint32_t endpoints() const { return torus_.size(); }
  std::uint32_t cells() const { return torus_.links(); }
  std::uint32_t most_steps() const { return 2 + dimensions_; }

  RingRun* route(std::uint32_t src, std::uint32_t dst, std::uint64_t, RingRun* out) const {
    *out++ = {torus_.injection(src), 0, 1, 1};
    *out++ = {torus_.ejection(dst), 0, 1, 1};
    along_rings(src, dst, [&](RingRun run) { *out++ = run; });
    return out;
  }

  // Adds `one` to every cell on the path of every pair, using differences along the rings. Returns the number of links
  // crossed.
  template <class Cell>
  std::uint64_t count(std::span<const Pair> pairs, Cell* cells, Cell one) const;

 private:
  // Calls `run` once per dimension, even for a length of 0: branches would be mispredicted half of the time.
  template <class Run>
  void along_rings(std::uint32_t src, std::uint32_t dst, Run run) const {
    const Place* a = &places_[std::size_t{src} * dimensions_];
    const Place* b = &places_[std::size_t{dst} * dimensions_];
    std::uint32_t low = 0;  // dimensions below d already have the destination's coordinates
    for (std::uint32_t d = 0; d < dimensions_; ++d) {
      const std::uint32_t x = a[d].coordinate, y = b[d].coordinate, k = torus_.dims()[d];
      const std::uint32_t up = y >= x ? y - x : y + k - x;
      const bool minus = 2 * up > k;  // then the sources of the links are y + 1 .. x
      run({torus_.first(d, minus) + a[d].high + low * k, minus ? (y + 1 < k ? y + 1 : 0) : x, minus ? k - up : up, k});
      low += y * torus_.stride(d);
    }
  }

  struct Place {
    std::uint32_t coordinate;
    std::uint32_t high;  // offset of the ring's first link from the coordinates above d
  };
  Torus torus_;
  std::uint32_t dimensions_;
  std::vector<Place> places_;  // router-major
};

// Forwarding tables, and Valiant's scheme over them: through a random intermediate router.
class TableRoutes {
 public:
  using Step = LinkId;
  static constexpr bool kBulk = false;
  // Throws std::invalid_argument if some endpoint cannot reach another. With `valiant_groups`, one group per router,
  // every message between routers goes through a router outside the groups of both (or any router if there is none).
  explicit TableRoutes(std::shared_ptr<const RouteTable> table, std::vector<std::uint32_t> valiant_groups = {});

  std::uint32_t endpoints() const { return table_->graph().endpoints(); }
  std::uint32_t cells() const { return table_->graph().links(); }
  std::uint32_t most_steps() const { return most_steps_; }

  LinkId* route(std::uint32_t src, std::uint32_t dst, std::uint64_t salt, LinkId* out) const {
    const Graph& graph = table_->graph();
    *out++ = graph.injection_link(src);
    std::uint32_t at = graph.router_of(src);
    if (!groups_.empty() && at != graph.router_of(dst)) {
      const std::uint32_t via = intermediate(src, dst, salt);
      out = walk(at, via, graph.router_of(via), out);
      at = graph.router_of(via);
    }
    out = walk(at, dst, graph.router_of(dst), out);
    *out++ = graph.ejection_link(dst);
    return out;
  }

 private:
  LinkId* walk(std::uint32_t at, std::uint32_t towards, std::uint32_t end, LinkId* out) const {
    while (at != end) {
      const LinkId l = table_->link(at, towards);
      *out++ = l;
      at = table_->graph().dst(l);
    }
    return out;
  }
  std::uint32_t intermediate(std::uint32_t src, std::uint32_t dst, std::uint64_t salt) const;

  std::shared_ptr<const RouteTable> table_;
  std::vector<std::uint32_t> groups_;
  std::uint32_t most_steps_;
};

template <class Cell>
std::uint64_t TorusRoutes::count(std::span<const Pair> pairs, Cell* cells, Cell one) const {
  std::uint64_t crossed = 2 * pairs.size();
  for (const Pair& pair : pairs) {
    cells[torus_.injection(pair.src)] += one;
    cells[torus_.ejection(pair.dst)] += one;
    along_rings(pair.src, pair.dst, [&](RingRun run) {
      Cell* const ring = cells + run.ring;
      const std::uint32_t end = run.begin + run.length;
      crossed += run.length;
      ring[run.begin] += one;
      ring[0] += end > run.size ? one : Cell{0};
      ring[end >= run.size ? end - run.size : end] -= end == run.size ? Cell{0} : one;
    });
  }
  for (std::uint32_t d = 0; d < dimensions_; ++d)
    for (bool minus : {false, true}) {
      if (!torus_.has_block(d, minus)) continue;
      const std::uint32_t k = torus_.dims()[d];
      Cell* ring = cells + torus_.first(d, minus);
      for (Cell* const end = ring + torus_.size(); ring < end; ring += k) {
        Cell sum = ring[0];
        for (std::uint32_t x = 1; x < k; ++x) ring[x] = sum += ring[x];
      }
    }
  return crossed;
}

}  // namespace flitwatch::sim
