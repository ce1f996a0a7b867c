// Extended generalised fat trees XGFT(h; m1..mh; w1..wh) with parallel cables (Oehring et al. 1995).
#pragma once

#include <cstdint>
#include <vector>

#include "sim/topology/graph.h"

namespace flitwatch::sim {

// Level 0 contains the endpoints, level h the top switches. A switch of level l has a subtree t (the digits m(l+1)..mh)
// and w = (w1..wl) in mixed radix; its index within the level is t * (w1 * .. * wl) + w. There are p(l+1) cables
// between a switch of level l and each of its w(l+1) parents. A fraction spreads them evenly, so 1.5 alternates 1 and 2
// (needed for XGFT(3,12,16,12,8) in table 1 of Hoefler 2009).
class Xgft {
 public:
  // Throws std::invalid_argument for sizes of no tree. w1 and p1 are 1, because an endpoint has one link.
  Xgft(std::vector<std::uint32_t> m, std::vector<std::uint32_t> w, std::vector<double> p = {});

  std::uint32_t height() const { return static_cast<std::uint32_t>(m_.size()); }
  std::uint32_t endpoints() const { return subtree_size(height()); }
  std::uint32_t switches() const { return first_switch_.back(); }
  const std::vector<std::uint32_t>& m() const { return m_; }
  const std::vector<std::uint32_t>& w() const { return w_; }

  // Endpoints below one switch of level l: m1 * .. * ml.
  std::uint32_t subtree_size(std::uint32_t l) const { return m_product_[l]; }
  // Switches of level l above one subtree of level l: w1 * .. * wl.
  std::uint32_t copies(std::uint32_t l) const { return w_product_[l]; }
  std::uint32_t level_size(std::uint32_t l) const { return endpoints() / m_product_[l] * w_product_[l]; }
  Vertex switch_vertex(std::uint32_t l, std::uint32_t index) const { return first_switch_[l - 1] + index; }
  std::uint32_t level_of(Vertex router) const;

  // Upward cables of a switch (or endpoint) of level l; the same for all of them.
  std::uint32_t up_ports(std::uint32_t l) const { return up_ports_[l]; }
  struct UpPort {
    std::uint32_t parent, cable;  // digit of the parent (0..w(l+1)-1), number of the cable of that pair
  };
  // Returns the destination of upward port `port` for the child with number x (0..m(l+1)-1) among its siblings.
  UpPort up_port(std::uint32_t l, std::uint32_t x, std::uint32_t port) const {
    return ports_[l][x * up_ports_[l] + port];
  }
  std::uint32_t port_of(std::uint32_t l, std::uint32_t x, std::uint32_t parent, std::uint32_t cable) const;
  std::uint32_t cables(std::uint32_t l, std::uint32_t x, std::uint32_t parent) const;
  bool uniform() const { return uniform_; }  // every pair has the same number of cables, level by level

  // Links of level l form blocks: all upward ones by (child, port), then their downward twins.
  LinkId up_link(std::uint32_t l, std::uint32_t child, std::uint32_t port) const {
    return first_link_[l] + child * up_ports_[l] + port;
  }
  LinkId down_link(std::uint32_t l, std::uint32_t child, std::uint32_t port) const {
    return up_link(l, child, port) + level_size(l) * up_ports_[l];
  }
  std::uint32_t links() const { return first_link_.back(); }

  Graph graph(double bandwidth_bps = 0.0) const;

 private:
  void name_ports(std::uint32_t l);

  std::vector<std::uint32_t> m_, w_;
  std::vector<double> p_;
  bool uniform_ = true;
  std::vector<std::uint32_t> m_product_, w_product_, first_switch_, up_ports_, first_link_;
  std::vector<std::vector<UpPort>> ports_;
};

}  // namespace flitwatch::sim
