#include "sim/topology/torus.h"

#include <stdexcept>
#include <string>

namespace flitwatch::sim {

Torus::Torus(std::vector<std::uint32_t> dims) : dims_(std::move(dims)) {
  constexpr std::uint64_t kMostRouters = 1u << 26;
  if (dims_.empty() || dims_.size() > 8) throw std::invalid_argument("torus: between 1 and 8 dimensions are needed");
  std::uint64_t size = 1;
  for (std::uint32_t k : dims_) {
    if (k == 0) throw std::invalid_argument("torus: every dimension must be at least 1");
    stride_.push_back(static_cast<std::uint32_t>(size));
    size *= k;
    if (size > kMostRouters) throw std::invalid_argument("torus: more than 2^26 routers");
  }
  size_ = static_cast<std::uint32_t>(size);
  first_ = {0};
  for (std::uint32_t d = 0; d < dims_.size(); ++d)
    for (bool minus : {false, true}) first_.push_back(first_.back() + (has_block(d, minus) ? size_ : 0));
}

Graph Torus::graph(double bandwidth_bps) const {
  LinkArrays arrays;
  arrays.src.resize(links());
  arrays.dst.resize(links());
  arrays.src_port.resize(links());
  arrays.dst_port.resize(links());
  arrays.link_class.resize(links());
  arrays.bandwidth_bps.assign(links(), bandwidth_bps);
  std::vector<std::string> classes{"host"};
  // Port 0 is the endpoint's; 1 + 2d leads up dimension d, 2 + 2d down it.
  for (std::uint32_t d = 0; d < dims_.size(); ++d) {
    classes.push_back("dim" + std::to_string(d));
    const std::uint32_t k = dims_[d];
    for (std::uint32_t r = 0; r < size_; ++r) {
      const std::uint32_t x = coordinate(r, d);
      for (bool minus : {false, true}) {
        if (!has_block(d, minus)) continue;
        const std::uint32_t to = minus ? (x + k - 1) % k : (x + 1) % k;
        const LinkId l = first(d, minus) + ring(r, d) * k + x;
        arrays.src[l] = r;
        arrays.dst[l] = r + to * stride_[d] - x * stride_[d];
        arrays.src_port[l] = static_cast<std::uint16_t>(1 + 2 * d + (minus ? 1 : 0));
        // On a ring of two the one cable ends on the same port at both sides.
        arrays.dst_port[l] = static_cast<std::uint16_t>(k == 2 ? 1 + 2 * d : 1 + 2 * d + (minus ? 0 : 1));
        arrays.link_class[l] = static_cast<std::uint8_t>(1 + d);
      }
    }
  }
  for (std::uint32_t r = 0; r < size_; ++r) {
    arrays.src[injection(r)] = arrays.dst[ejection(r)] = size_ + r;
    arrays.dst[injection(r)] = arrays.src[ejection(r)] = r;
  }
  return Graph(size_, size_, std::move(arrays), std::move(classes));
}

}  // namespace flitwatch::sim
