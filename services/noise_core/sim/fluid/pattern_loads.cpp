#include "sim/fluid/pattern_loads.h"

#include <algorithm>
#include <stdexcept>

namespace flitwatch::fluid {

std::pair<std::vector<std::int32_t>, std::vector<double>> Gather::operator()(std::span<const std::int64_t> link,
                                                                             std::span<const double> share) {
  if (link.size() != share.size()) throw std::invalid_argument("links and shares differ in length");
  for (const std::int64_t l : link)
    if (l < 0 || static_cast<std::size_t>(l) >= sum_.size())
      throw std::invalid_argument("a link is outside the fabric");
  touched_.clear();
  for (std::size_t i = 0; i < link.size(); ++i) {
    const auto l = static_cast<std::size_t>(link[i]);
    if (!met_[l]) {
      met_[l] = 1;
      touched_.push_back(static_cast<std::int32_t>(l));
    }
    sum_[l] += share[i];
  }
  std::sort(touched_.begin(), touched_.end());
  std::pair<std::vector<std::int32_t>, std::vector<double>> out;
  out.first.reserve(touched_.size());
  out.second.reserve(touched_.size());
  for (const std::int32_t l : touched_) {
    if (sum_[l] != 0) {
      out.first.push_back(l);
      out.second.push_back(sum_[l]);
    }
    sum_[l] = 0;
    met_[l] = 0;
  }
  return out;
}

std::int64_t PatternLoads::add(std::span<const std::int32_t> link, std::span<const double> share) {
  if (link.size() != share.size()) throw std::invalid_argument("links and shares differ in length");
  for (const std::int32_t l : link)
    if (l < 0 || static_cast<std::size_t>(l) >= links_) throw std::invalid_argument("a link is outside the fabric");
  columns_.emplace(next_, Column{{link.begin(), link.end()}, {share.begin(), share.end()}});
  return next_++;
}

const PatternLoads::Column& PatternLoads::at(std::int64_t column) const {
  const auto found = columns_.find(column);
  if (found == columns_.end()) throw std::invalid_argument("a column is unknown");
  return found->second;
}

std::vector<double> PatternLoads::sum(std::span<const std::int64_t> column, std::span<const double> rate) const {
  if (column.size() != rate.size()) throw std::invalid_argument("columns and rates differ in length");
  std::vector<std::pair<std::int64_t, double>> running(column.size());
  for (std::size_t k = 0; k < column.size(); ++k) running[k] = {column[k], rate[k]};
  std::sort(running.begin(), running.end());  // by rate too, so that a column asked for twice sums alike in any order
  std::vector<double> total(links_);
  double* const load = total.data();
  for (std::size_t k = 0; k < running.size();) {
    const std::int64_t number = running[k].first;
    double factor = 0;
    for (; k < running.size() && running[k].first == number; ++k) factor += running[k].second;
    const Column& c = at(number);
    if (factor == 0) continue;
    const std::int32_t* const link = c.link.data();
    const double* const share = c.share.data();
    const std::size_t count = c.link.size();
    for (std::size_t i = 0; i < count; ++i) load[link[i]] += factor * share[i];
  }
  return total;
}

std::vector<double> PatternLoads::fullest(std::span<const std::int64_t> column, std::span<const double> value) const {
  if (value.size() != links_) throw std::invalid_argument("one value per link is required");
  std::vector<double> most(column.size());
  for (std::size_t k = 0; k < column.size(); ++k) {
    double m = 0;
    for (const std::int32_t l : at(column[k]).link) m = std::max(m, value[l]);
    most[k] = m;
  }
  return most;
}

LinkState link_state(std::span<const double> offered, std::span<const double> capacity, const Curve& curve) {
  if (offered.size() != capacity.size()) throw std::invalid_argument("loads and capacities differ in length");
  const std::size_t count = offered.size();
  LinkState state{std::vector<double>(count), std::vector<double>(count), 0};
  double* const utilisation = state.utilisation.data();
  double* const wait = state.wait.data();
  const auto [scale, knee, slope] = curve;
  for (std::size_t l = 0; l < count; ++l) {
    const double u = offered[l] / capacity[l];
    const double held = u < knee ? u : knee;
    const double above = u > knee ? u - knee : 0.0;
    utilisation[l] = u;
    wait[l] = scale * held * held / (2 * (1 - held)) + slope * above;
  }
  for (std::size_t l = 0; l < count; ++l) state.highest = std::max(state.highest, utilisation[l]);
  return state;
}

}  // namespace flitwatch::fluid
