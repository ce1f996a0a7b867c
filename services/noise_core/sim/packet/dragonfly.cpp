#include "sim/packet/dragonfly.h"

#include <algorithm>
#include <map>

namespace flitwatch::sim::packet {

Dragonfly::Dragonfly(const Network& network, const std::vector<std::int32_t>& group, DragonflyOptions options)
    : network_(network), options_(options) {
  if (group.size() != network.routers()) throw std::invalid_argument("group needs one entry per router");
  number_groups(group);
  build_local_tables();
  build_global_lists(group);
}

Division Dragonfly::divide() const {
  std::vector<std::uint16_t> group;
  for (const Place& place : place_) group.push_back(place.group);
  return divide_by_groups(network_, group);
}

void Dragonfly::number_groups(const std::vector<std::int32_t>& group) {
  std::map<std::int32_t, std::uint16_t> number;
  for (std::int32_t g : group) {
    if (g < 0) throw std::invalid_argument("a router's group is unknown; dragonfly routing needs it");
    number.emplace(g, 0);
  }
  for (auto& [id, n] : number) n = static_cast<std::uint16_t>(groups_++);
  members_.resize(groups_);
  place_.resize(group.size());
  for (std::uint32_t r = 0; r < group.size(); ++r) {
    const std::uint16_t g = number.at(group[r]);
    place_[r] = {g, static_cast<std::uint16_t>(members_[g].size()), 0};
    members_[g].push_back(r);
    size_ = std::max<std::uint32_t>(size_, static_cast<std::uint32_t>(members_[g].size()));
  }
}

void Dragonfly::build_local_tables() {
  for (std::uint32_t g = 0; g < groups_; ++g) {
    std::vector<std::uint8_t> hops;
    const std::vector<Step> steps = steps_of_group(g, hops);
    std::uint16_t table = 0;
    const auto same = [&](std::uint16_t t) {
      return hops_[t] == hops && std::equal(steps.begin(), steps.end(), steps_[t].begin(),
                                            [](Step a, Step b) { return a.port == b.port && a.cables == b.cables; });
    };
    while (table < steps_.size() && !same(table)) ++table;
    if (table == steps_.size()) {
      steps_.push_back(steps);
      hops_.push_back(std::move(hops));
    }
    for (std::uint32_t r : members_[g]) place_[r].table = table;
  }
}

std::vector<Dragonfly::Step> Dragonfly::steps_of_group(std::uint32_t g, std::vector<std::uint8_t>& hops) const {
  std::vector<Step> direct(std::size_t{size_} * size_, {kNoPort, 0});
  const std::uint32_t n = static_cast<std::uint32_t>(members_[g].size());
  for (std::uint32_t a = 0; a < n; ++a) {
    const std::uint32_t r = members_[g][a];
    for (std::uint32_t k = 0; k < network_.degree(r); ++k) {
      const std::uint32_t peer = network_.peer(r * network_.stride() + k);
      if (peer == kNil || place_[peer].group != g) continue;
      Step& step = direct[a * size_ + place_[peer].local];
      if (step.cables && step.port + step.cables != static_cast<int>(k))
        throw std::invalid_argument("parallel cables of a router must have consecutive ports; order the links by peer");
      if (!step.cables) step.port = static_cast<std::uint8_t>(k);
      ++step.cables;
    }
  }
  hops.assign(std::size_t{size_} * size_, 0);
  std::vector<Step> steps(std::size_t{size_} * size_ * 2, {kNoPort, 0});
  for (std::uint32_t a = 0; a < n; ++a)
    for (std::uint32_t b = 0; b < n; ++b) {
      if (a == b) continue;
      Step* both = &steps[(a * size_ + b) * 2];
      if (direct[a * size_ + b].cables) {
        both[0] = both[1] = direct[a * size_ + b];
        hops[a * size_ + b] = 1;
        continue;
      }
      // Ways over two hops: the first and the last common neighbour (of a grid: along the row first, along the column
      // first).
      for (std::uint32_t m = 0; m < n; ++m) {
        if (!direct[a * size_ + m].cables || !direct[m * size_ + b].cables) continue;
        if (!both[0].cables) both[0] = direct[a * size_ + m];
        both[1] = direct[a * size_ + m];
      }
      if (!both[0].cables)
        throw std::invalid_argument("routers " + std::to_string(members_[g][a]) + " and " +
                                    std::to_string(members_[g][b]) + " of one group are more than two hops apart");
      hops[a * size_ + b] = 2;
    }
  return steps;
}

void Dragonfly::build_global_lists(const std::vector<std::int32_t>& group) {
  std::vector<std::vector<GlobalCable>> lists(std::size_t{groups_} * groups_);
  for (std::uint32_t r = 0; r < network_.routers(); ++r)
    for (std::uint32_t k = 0; k < network_.degree(r); ++k) {
      const std::uint32_t peer = network_.peer(r * network_.stride() + k);
      if (peer == kNil || place_[peer].group == place_[r].group) continue;
      lists[place_[r].group * groups_ + place_[peer].group].push_back(
          {place_[r].local, place_[peer].local, static_cast<std::uint8_t>(k)});
    }
  global_begin_.push_back(0);
  for (std::uint32_t a = 0; a < groups_; ++a)
    for (std::uint32_t b = 0; b < groups_; ++b) {
      const auto& cables = lists[a * groups_ + b];
      if (a != b && cables.empty())
        throw std::invalid_argument("no cable joins groups " + std::to_string(group[members_[a][0]]) + " and " +
                                    std::to_string(group[members_[b][0]]));
      global_.insert(global_.end(), cables.begin(), cables.end());
      global_begin_.push_back(static_cast<std::uint32_t>(global_.size()));
    }
}

}  // namespace flitwatch::sim::packet
