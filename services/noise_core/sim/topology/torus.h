// k-ary n-cubes, including unequal dimensions, with one endpoint per router.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/topology/graph.h"

namespace flitwatch::sim {

// Router r has coordinates r % k0, r / k0 % k1, ... Links form blocks, one per dimension and direction, ordered by ring
// within a block, so that a path along a dimension uses consecutive links: position = first(d, direction) + ring * k(d)
// + coordinate of the link's source. Injection and ejection links follow. A ring of two has one cable and uses only the
// plus block; a dimension of size 1 has no link.
class Torus {
 public:
  // Throws std::invalid_argument for zero dimensions, a size of 0, or more than 2^26 routers.
  explicit Torus(std::vector<std::uint32_t> dims);

  const std::vector<std::uint32_t>& dims() const { return dims_; }
  std::uint32_t size() const { return size_; }
  std::uint32_t stride(std::uint32_t d) const { return stride_[d]; }
  bool has_block(std::uint32_t d, bool minus) const { return dims_[d] > 2 || (dims_[d] == 2 && !minus); }
  LinkId first(std::uint32_t d, bool minus) const { return first_[2 * d + (minus ? 1 : 0)]; }
  std::uint32_t ring_links() const { return first_.back(); }
  LinkId injection(std::uint32_t router) const { return ring_links() + router; }
  LinkId ejection(std::uint32_t router) const { return ring_links() + size_ + router; }
  std::uint32_t links() const { return ring_links() + 2 * size_; }
  std::uint32_t coordinate(std::uint32_t router, std::uint32_t d) const { return router / stride_[d] % dims_[d]; }
  // Returns the number of the ring of dimension d through the router.
  std::uint32_t ring(std::uint32_t router, std::uint32_t d) const {
    return router / (stride_[d] * dims_[d]) * stride_[d] + router % stride_[d];
  }

  Graph graph(double bandwidth_bps = 0.0) const;

 private:
  std::vector<std::uint32_t> dims_, stride_;
  std::vector<LinkId> first_;
  std::uint32_t size_ = 1;
};

}  // namespace flitwatch::sim
