#include "sim/packet/division.h"

#include <algorithm>

namespace flitwatch::sim::packet {

namespace {

constexpr std::uint8_t kNowhere = 255;

template <class Visit>
void each_cable(const Network& network, std::uint32_t router, Visit visit) {
  for (std::uint32_t k = 0; k < network.degree(router); ++k) {
    const PortId port = router * network.stride() + k;
    if (network.peer(port) != kNil) visit(port, network.peer(port));
  }
}

void finish(Division& division, const Network& network) {
  for (std::uint32_t e = 0; e < network.endpoints(); ++e)
    division.of_endpoint.push_back(division.of_router[network.router_of(e)]);
  Time window = kNever;
  for (std::uint32_t r = 0; r < network.routers(); ++r)
    each_cable(network, r, [&](PortId port, std::uint32_t peer) {
      if (division.of_router[r] != division.of_router[peer])
        window = std::min<Time>(window, network.timing(port).latency_ps + network.router_delay_ps());
    });
  if (!window)
    throw std::invalid_argument("a run in parts needs a latency at the links between them; leave out the threads");
  division.window_ps = window == kNever ? 1'000'000 : window;  // parts that no cable joins
}

// Of the parts with the most votes the one with the fewest cables.
std::uint32_t elected(const std::vector<std::uint32_t>& votes, const std::vector<std::uint64_t>& cables) {
  std::uint32_t best = 0;
  for (std::uint32_t p = 1; p < votes.size(); ++p)
    if (votes[p] > votes[best] || (votes[p] == votes[best] && cables[p] < cables[best])) best = p;
  return best;
}

}  // namespace

Division divide_by_groups(const Network& network, const std::vector<std::uint16_t>& group) {
  Division division;
  const std::uint32_t groups = 1u + *std::max_element(group.begin(), group.end());
  division.parts = std::min(groups, Division::kMostParts);
  for (const std::uint16_t g : group)
    division.of_router.push_back(static_cast<std::uint8_t>(g * division.parts / groups));
  finish(division, network);
  return division;
}

Division divide_by_cables(const Network& network) {
  Division division;
  std::vector<std::uint32_t> nodes(network.routers(), 0), left;
  for (std::uint32_t e = 0; e < network.endpoints(); ++e) ++nodes[network.router_of(e)];
  const auto leaves = static_cast<std::uint32_t>(
      std::count_if(nodes.begin(), nodes.end(), [](std::uint32_t count) { return count > 0; }));
  division.parts = std::max(1u, std::min(leaves, Division::kMostParts));
  division.of_router.assign(network.routers(), kNowhere);
  std::vector<std::uint64_t> cables(division.parts, 0);  // of the switches without endpoints
  std::uint64_t seen = 0;
  for (std::uint32_t r = 0; r < network.routers(); ++r) {
    if (!nodes[r]) {
      left.push_back(r);
      continue;
    }
    division.of_router[r] = static_cast<std::uint8_t>(seen * division.parts / network.endpoints());
    seen += nodes[r];
  }
  while (!left.empty()) {  // one layer of switches after the other
    const std::vector<std::uint8_t> known = division.of_router;
    std::vector<std::uint32_t> later;
    for (const std::uint32_t r : left) {
      std::vector<std::uint32_t> votes(division.parts, 0);
      bool joined = false;
      each_cable(network, r, [&](PortId, std::uint32_t peer) {
        if (known[peer] == kNowhere) return;
        ++votes[known[peer]];
        joined = true;
      });
      if (!joined && later.size() + 1 < left.size()) {
        later.push_back(r);
        continue;
      }
      const std::uint32_t part = elected(votes, cables);
      division.of_router[r] = static_cast<std::uint8_t>(part);
      cables[part] += network.degree(r);
    }
    left = std::move(later);
  }
  finish(division, network);
  return division;
}

}  // namespace flitwatch::sim::packet
