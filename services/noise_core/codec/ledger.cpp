#include "codec/ledger.h"

#include <algorithm>
#include <stdexcept>

#include "codec/engine.h"

namespace flitwatch::codec {

void Claims::join(const Device& device, const Member& member) {
  auto& members = members_[device];
  members.push_back(member);
  std::stable_sort(members.begin(), members.end(),
                   [](const Member& a, const Member& b) { return a.component < b.component; });
  divide(members);
}

void Claims::leave(const Device& device, Engine* engine, std::uint32_t instance) {
  const auto found = members_.find(device);
  if (found == members_.end()) return;
  auto& members = found->second;
  std::erase_if(members, [&](const Member& m) { return m.engine == engine && m.instance == instance; });
  if (members.empty())
    members_.erase(found);
  else
    divide(members);
}

void Claims::divide(const std::vector<Member>& members) {
  ++division_;
  for (const Member& member : members) {
    const Chart& chart = member.engine->chart_of(member.instance);
    std::vector<bool> mine(chart.claim_of.size());
    bool all = true;
    for (std::size_t i = 0; i < mine.size(); ++i) {
      if (chart.cell_of[i] < 0) continue;
      const std::uint32_t claim = chart.claim_of[i];
      if (claim >= claimed_.size()) claimed_.resize(claim + 1, 0);
      mine[i] = claimed_[claim] != division_;
      all &= mine[i];
      claimed_[claim] = division_;
    }
    member.engine->set_tally(member.instance, all ? std::vector<bool>{} : mine);
  }
}

Wiring& Ledger::wire(std::int32_t fabric, std::int32_t routers_, std::int32_t ports, std::int32_t endpoints_,
                     std::vector<std::uint8_t> link_class, std::vector<double> port_rates,
                     std::vector<double> endpoint_rates) {
  if (!port_rates.empty() && port_rates.size() != link_class.size())
    throw std::invalid_argument("one rate per router and port is required");
  if (!endpoint_rates.empty() && endpoint_rates.size() != static_cast<std::size_t>(endpoints_))
    throw std::invalid_argument("one rate per endpoint is required");
  if (link_class.size() != static_cast<std::size_t>(routers_) * static_cast<std::size_t>(ports))
    throw std::invalid_argument("one link class per router and port is required");
  auto& slot = fabrics[fabric];
  if (slot && slot->ports != ports && slot->port_sums.size() + slot->port_lanes.size() != 0)
    throw std::invalid_argument("the fabric's number of ports changed while port sums were open");
  if (!slot) slot = std::make_unique<Wiring>();
  if (slot->ports != ports || slot->port_sums.columns() == 0) {
    slot->port_sums = RowSums(kPortArrays * ports);
    slot->port_lanes = RowSums(kLaneArrays * ports * kLanes);
  }
  slot->fabric = fabric;
  slot->routers = routers_;
  slot->ports = ports;
  slot->endpoints = endpoints_;
  slot->link_class = std::move(link_class);
  slot->port_rates = std::move(port_rates);
  slot->endpoint_rates = std::move(endpoint_rates);
  slot->own_sets.resize(static_cast<std::size_t>(endpoints_), 0);
  return *slot;
}

}  // namespace flitwatch::codec
