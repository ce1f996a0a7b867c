#include "sim/packet/tree.h"

#include <algorithm>
#include <map>

namespace flitwatch::sim::packet {

namespace {
constexpr std::uint32_t kFar = 1u << 30;
}

Tree::Tree(const Network& network, const std::vector<std::int32_t>& level, std::vector<std::uint8_t> table,
           std::uint32_t vcs, bool output_queues)
    : network_(network),
      routers_(network.routers()),
      vcs_(vcs),
      output_queues_(output_queues),
      table_(std::move(table)) {
  if (level.size() != routers_) throw std::invalid_argument("level needs one entry per router");
  if (vcs_ < 1 || vcs_ > 15) throw std::invalid_argument("a tree has 1 to 15 virtual lanes");
  find_candidates(level);
  if (table_.empty()) {
    build_static_table(level);
  } else {
    if (table_.size() != std::size_t{routers_} * network.endpoints())
      throw std::invalid_argument("a route table needs one entry per endpoint and router");
    check_table();
    check_deadlock();
  }
}

void Tree::find_candidates(const std::vector<std::int32_t>& level) {
  leaf_number_.assign(routers_, kNil);
  first_up_.assign(routers_, 0);
  std::vector<std::uint32_t> leaf_router;
  for (std::uint32_t e = 0; e < network_.endpoints(); ++e) {
    const std::uint32_t r = network_.router_of(e);
    if (leaf_number_[r] != kNil) continue;
    leaf_number_[r] = leaves_++;
    leaf_router.push_back(r);
  }
  candidates_.assign(std::size_t{routers_} * leaves_, {});
  std::vector<std::uint32_t> by_level(routers_);
  for (std::uint32_t r = 0; r < routers_; ++r) by_level[r] = r;
  std::stable_sort(by_level.begin(), by_level.end(), [&](auto a, auto b) { return level[a] < level[b]; });
  for (std::uint32_t r = 0; r < routers_; ++r)
    for (std::uint32_t k = network_.degree(r); k-- > 0;) {
      const std::uint32_t peer = network_.peer(r * network_.stride() + k);
      if (peer == kNil) continue;
      if (level[peer] == level[r])
        throw std::invalid_argument("a link joins two switches of one level; this is not a tree");
      if (level[peer] > level[r]) first_up_[r] = k;
    }
  const auto each_peer = [&](std::uint32_t r, auto visit) {
    for (std::uint32_t k = 0; k < network_.degree(r); ++k) {
      const std::uint32_t peer = network_.peer(r * network_.stride() + k);
      if (peer != kNil) visit(static_cast<std::uint8_t>(k), peer);
    }
  };
  std::vector<std::uint32_t> down(routers_), best(routers_);
  std::vector<std::uint8_t> ports;
  for (std::uint32_t leaf = 0; leaf < leaves_; ++leaf) {
    std::fill(down.begin(), down.end(), kFar);
    down[leaf_router[leaf]] = 0;
    for (std::uint32_t r : by_level)
      each_peer(r, [&](std::uint8_t, std::uint32_t peer) {
        if (level[peer] < level[r]) down[r] = std::min(down[r], down[peer] + 1);
      });
    best = down;
    for (auto r = by_level.rbegin(); r != by_level.rend(); ++r)
      if (down[*r] >= kFar)
        each_peer(*r, [&](std::uint8_t, std::uint32_t peer) {
          if (level[peer] > level[*r]) best[*r] = std::min(best[*r], best[peer] + 1);
        });
    for (std::uint32_t r = 0; r < routers_; ++r) {
      if (r == leaf_router[leaf] || best[r] >= kFar) continue;
      const bool goes_down = down[r] < kFar;
      ports.clear();
      each_peer(r, [&](std::uint8_t k, std::uint32_t peer) {
        const bool fits = goes_down ? level[peer] < level[r] && down[peer] + 1 == down[r]
                                    : level[peer] > level[r] && best[peer] + 1 == best[r];
        if (fits) ports.push_back(k);
      });
      add_candidates(r, leaf, ports);
    }
  }
  for (std::uint32_t a : leaf_router)
    for (std::uint32_t leaf = 0; leaf < leaves_; ++leaf)
      if (leaf_router[leaf] != a && !candidates_[std::size_t{a} * leaves_ + leaf].count)
        throw std::invalid_argument("no up*down* path leads from switch " + std::to_string(a) + " to switch " +
                                    std::to_string(leaf_router[leaf]));
}

void Tree::add_candidates(std::uint32_t router, std::uint32_t leaf, const std::vector<std::uint8_t>& ports) {
  Candidates& c = candidates_[std::size_t{router} * leaves_ + leaf];
  c.count = static_cast<std::uint8_t>(ports.size());
  c.listed = ports.back() - ports.front() + 1 != static_cast<int>(ports.size());
  c.begin = ports.front();
  if (!c.listed) return;
  const auto known = std::search(lists_.begin(), lists_.end(), ports.begin(), ports.end());
  const std::size_t begin = static_cast<std::size_t>(known - lists_.begin());
  if (known == lists_.end()) lists_.insert(lists_.end(), ports.begin(), ports.end());
  if (begin > 0xFFFF) throw std::invalid_argument("the tree is too irregular: more than 65,536 listed ports");
  c.begin = static_cast<std::uint16_t>(begin);
}

// d-mod-k (Zahavi 2010, as ftree engines spread destinations): level l uses digit l of the destination in the mixed
// radix of the up degrees, so that all packets to one destination share one tree.
void Tree::build_static_table(const std::vector<std::int32_t>& level) {
  std::map<std::int32_t, std::uint32_t> widest;
  for (std::uint32_t r = 0; r < routers_; ++r)
    for (std::uint32_t leaf = 0; leaf < leaves_; ++leaf) {
      const Candidates c = candidates_[std::size_t{r} * leaves_ + leaf];
      if (!c.count) continue;
      const std::uint32_t peer = network_.peer(r * network_.stride() + at(c, 0));
      if (level[peer] > level[r]) widest[level[r]] = std::max<std::uint32_t>(widest[level[r]], c.count);
    }
  std::map<std::int32_t, std::uint32_t> divisor;
  std::uint32_t product = 1;
  for (const auto& [l, count] : widest) {
    divisor[l] = product;
    product *= count;
  }
  table_.assign(std::size_t{routers_} * network_.endpoints(), 255);
  for (std::uint32_t e = 0; e < network_.endpoints(); ++e) {
    const std::uint32_t goal = network_.router_of(e);
    for (std::uint32_t r = 0; r < routers_; ++r) {
      std::uint8_t& port = table_[std::size_t{e} * routers_ + r];
      const Candidates c = candidates_[std::size_t{r} * leaves_ + leaf_number_[goal]];
      if (r == goal)
        port = static_cast<std::uint8_t>(network_.eject_port(e));
      else if (c.count) {
        const bool up = level[network_.peer(r * network_.stride() + at(c, 0))] > level[r];
        port = static_cast<std::uint8_t>(at(c, e / (up ? divisor[level[r]] : 1) % c.count));
      }
    }
  }
}

void Tree::check_table() const {
  for (std::uint32_t e = 0; e < network_.endpoints(); ++e)
    for (std::uint32_t leaf = 0; leaf < routers_; ++leaf) {
      if (leaf_number_[leaf] == kNil) continue;
      std::uint32_t r = leaf;
      for (std::uint32_t steps = 0;; ++steps) {
        const std::uint8_t port = table_[std::size_t{e} * routers_ + r];
        const std::string where = "endpoint " + std::to_string(e) + " from switch " + std::to_string(leaf);
        if (port == 255 || port >= network_.degree(r))
          throw std::invalid_argument("the routes have no way to " + where);
        if (steps > routers_) throw std::invalid_argument("the routes to " + where + " form a loop");
        const std::uint32_t peer = network_.peer(r * network_.stride() + port);
        if (peer == kNil) {
          if (r != network_.router_of(e) || port != network_.eject_port(e))
            throw std::invalid_argument("the routes to " + where + " end at another endpoint");
          break;
        }
        r = peer;
      }
    }
}

// Dally and Seitz: routes are free of deadlock when no circle of links waits for one another.
void Tree::check_deadlock() const {
  const std::uint32_t ports = network_.router_ports();
  std::vector<std::vector<PortId>> waits(ports);
  for (std::uint32_t e = 0; e < network_.endpoints(); ++e) {
    std::vector<bool> seen(routers_);
    for (std::uint32_t leaf = 0; leaf < routers_; ++leaf) {
      if (leaf_number_[leaf] == kNil) continue;
      for (std::uint32_t r = leaf; !seen[r];) {
        seen[r] = true;
        const PortId out = r * network_.stride() + table_[std::size_t{e} * routers_ + r];
        const std::uint32_t peer = network_.peer(out);
        if (peer == kNil) break;
        const PortId next = peer * network_.stride() + table_[std::size_t{e} * routers_ + peer];
        if (network_.peer(next) != kNil) waits[out].push_back(next);
        r = peer;
      }
    }
  }
  for (auto& list : waits) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }
  std::vector<std::uint32_t> incoming(ports, 0);
  for (const auto& list : waits)
    for (PortId next : list) ++incoming[next];
  std::vector<PortId> ready;
  for (PortId p = 0; p < ports; ++p)
    if (!incoming[p]) ready.push_back(p);
  std::size_t done = 0;
  while (done < ready.size())
    for (PortId next : waits[ready[done++]])
      if (!--incoming[next]) ready.push_back(next);
  if (done != ports) throw std::invalid_argument("the routes can deadlock: channel dependencies form a cycle");
}

}  // namespace flitwatch::sim::packet
