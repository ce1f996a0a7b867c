#include "sim/topology/xgft.h"

#include <cmath>
#include <stdexcept>
#include <string>

namespace flitwatch::sim {
namespace {

constexpr std::uint64_t kMostLinks = 1u << 30;

void check_sizes(const std::vector<std::uint32_t>& m, const std::vector<std::uint32_t>& w,
                 const std::vector<double>& p) {
  const auto bad = [](const std::string& why) { throw std::invalid_argument("XGFT: " + why); };
  if (m.empty()) bad("the height must be at least 1");
  if (w.size() != m.size()) bad("as many w as m are needed");
  if (!p.empty() && p.size() != m.size()) bad("as many multiplicities p as m are needed");
  if (w[0] != 1 || (!p.empty() && p[0] != 1.0)) bad("w1 and p1 must be 1, for an endpoint has one link");
  std::uint64_t below = 1, above = 1, links = 0;
  for (std::size_t l = 0; l < m.size(); ++l) {
    if (m[l] == 0 || w[l] == 0) bad("every m and w must be at least 1");
    if (!p.empty() && !(p[l] >= 1.0 && p[l] <= 64.0)) bad("multiplicities must lie between 1 and 64");
    below *= m[l];
    above *= w[l];
    if (below > kMostLinks || above > kMostLinks) bad("too large");
  }
  std::uint64_t copies = 1, size = below;
  for (std::size_t l = 0; l < m.size(); ++l) {
    links += 2 * size * copies * w[l] * static_cast<std::uint64_t>(std::ceil(p.empty() ? 1.0 : p[l]));
    copies *= w[l];
    size /= m[l];
    if (links > kMostLinks) bad("too large: more than 2^30 links");
  }
}

}  // namespace

Xgft::Xgft(std::vector<std::uint32_t> m, std::vector<std::uint32_t> w, std::vector<double> p)
    : m_(std::move(m)), w_(std::move(w)), p_(std::move(p)) {
  check_sizes(m_, w_, p_);
  if (p_.empty()) p_.assign(m_.size(), 1.0);
  m_product_ = w_product_ = {1};
  for (std::uint32_t l = 0; l < height(); ++l) {
    m_product_.push_back(m_product_.back() * m_[l]);
    w_product_.push_back(w_product_.back() * w_[l]);
  }
  first_switch_ = {0};
  first_link_ = {0};
  for (std::uint32_t l = 1; l <= height(); ++l) first_switch_.push_back(first_switch_.back() + level_size(l));
  for (std::uint32_t l = 0; l < height(); ++l) {
    name_ports(l);
    first_link_.push_back(first_link_.back() + 2 * level_size(l) * up_ports_[l]);
  }
}

std::uint32_t Xgft::level_of(Vertex router) const {
  std::uint32_t l = 1;
  while (router >= first_switch_[l]) ++l;
  return l;
}

std::uint32_t Xgft::cables(std::uint32_t l, std::uint32_t x, std::uint32_t parent) const {
  const double at = x + parent;
  return static_cast<std::uint32_t>(std::floor((at + 1) * p_[l]) - std::floor(at * p_[l]));
}

// Ports go round the parents: the first cable of each, then the second, so that neighbouring destinations part.
void Xgft::name_ports(std::uint32_t l) {
  std::vector<UpPort> all;
  std::uint32_t per_child = 0;
  for (std::uint32_t x = 0; x < m_[l]; ++x) {
    const std::size_t before = all.size();
    const auto most = static_cast<std::uint32_t>(std::ceil(p_[l]));
    for (std::uint32_t cable = 0; cable < most; ++cable)
      for (std::uint32_t parent = 0; parent < w_[l]; ++parent)
        if (cable < cables(l, x, parent)) all.push_back({parent, cable});
    const auto mine = static_cast<std::uint32_t>(all.size() - before);
    if (x > 0 && mine != per_child)
      throw std::invalid_argument("XGFT: multiplicity p" + std::to_string(l + 1) +
                                  " gives siblings unequal port counts");
    per_child = mine;
  }
  uniform_ = uniform_ && p_[l] == std::floor(p_[l]);
  up_ports_.push_back(per_child);
  ports_.push_back(std::move(all));
}

std::uint32_t Xgft::port_of(std::uint32_t l, std::uint32_t x, std::uint32_t parent, std::uint32_t cable) const {
  for (std::uint32_t port = 0; port < up_ports_[l]; ++port) {
    const UpPort at = up_port(l, x, port);
    if (at.parent == parent && at.cable == cable) return port;
  }
  throw std::out_of_range("XGFT: no such cable");
}

Graph Xgft::graph(double bandwidth_bps) const {
  LinkArrays arrays;
  arrays.src.resize(links());
  arrays.dst.resize(links());
  arrays.src_port.resize(links());
  arrays.dst_port.resize(links());
  arrays.link_class.resize(links());
  arrays.bandwidth_bps.assign(links(), bandwidth_bps);
  const auto vertex = [this](std::uint32_t l, std::uint32_t index) {
    return l == 0 ? switches() + index : switch_vertex(l, index);
  };
  std::vector<std::uint32_t> ports(switches() + endpoints(), 0);  // downward ports come first, from 1 as vendors count
  for (std::uint32_t l = 0; l < height(); ++l) {
    for (std::uint32_t child = 0; child < level_size(l); ++child) {
      const std::uint32_t subtree = child / copies(l), copy = child % copies(l);
      for (std::uint32_t port = 0; port < up_ports_[l]; ++port) {
        const std::uint32_t parent_digit = up_port(l, subtree % m_[l], port).parent;
        const Vertex low = vertex(l, child);
        const Vertex high = switch_vertex(l + 1, subtree / m_[l] * copies(l + 1) + parent_digit * copies(l) + copy);
        const LinkId up = up_link(l, child, port), down = down_link(l, child, port);
        arrays.src[up] = arrays.dst[down] = low;
        arrays.dst[up] = arrays.src[down] = high;
        arrays.src_port[up] = arrays.dst_port[down] = static_cast<std::uint16_t>(ports[low] + 1);
        arrays.dst_port[up] = arrays.src_port[down] = static_cast<std::uint16_t>(ports[high] + 1);
        ++ports[low];
        ++ports[high];
        arrays.link_class[up] = l == 0 ? 0 : 1;
        arrays.link_class[down] = l == 0 ? 0 : 2;
      }
    }
  }
  return Graph(switches(), endpoints(), std::move(arrays), {"host", "up", "down"});
}

}  // namespace flitwatch::sim
