#include "routes/tables.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace flitwatch::routes {

namespace {

// Loads are sums of floats added and taken away many times: below this share of all bytes a load is none.
constexpr double kRounding = 1e-9;

void add(float* to, const float* bytes, int sign, int slots) {
  for (int t = 0; t < slots; ++t) to[t] += sign * bytes[t];
}

}  // namespace

double sum_of(const BySlot& each) { return std::accumulate(each.begin(), each.end(), 0.0); }

Tables::Tables(const Tree& tree, const Demand& demand, const std::vector<std::uint8_t>& cables)
    : spine_of(demand.items.size(), 0),
      core_of(static_cast<std::size_t>(tree.spines()) * tree.endpoints(), 0),
      down_of(static_cast<std::size_t>(tree.cores()) * tree.endpoints(), 0),
      tree_(tree),
      demand_(demand),
      endpoints_(tree.endpoints()),
      slots_(demand.slots),
      limit_(slots_, std::numeric_limits<double>::infinity()),
      cables_(cables.empty() ? std::vector<std::uint8_t>(tree.links(), 1) : cables),
      per_cable_(cables_.size(), 1.0f),
      load_(static_cast<std::size_t>(tree.links()) * slots_, 0),
      spine_bytes_(core_of.size() * slots_, 0),
      core_bytes_(down_of.size() * slots_, 0),
      spine_users_(core_of.size(), 0),
      core_users_(down_of.size(), 0),
      place_(load_.size(), -1) {
  if (static_cast<int>(cables_.size()) != tree.links())
    throw std::invalid_argument("give the number of working cables of every link");
  for (std::size_t link = 0; link < cables_.size(); ++link)
    if (cables_[link] > 1) per_cable_[link] = 1.0f / cables_[link];
  double all = 0;
  for (const Item& item : demand.items) all += item.bytes;
  slack_ = all * kRounding;
}

void Tables::classify(std::size_t at, double limit) {
  const bool over = load_[at] > limit;
  int& place = place_[at];
  if (over && place < 0) {
    place = static_cast<int>(overloaded_.size());
    overloaded_.push_back(static_cast<int>(at));
  } else if (!over && place >= 0) {
    const int last = overloaded_.back();
    overloaded_[place] = last;
    place_[last] = place;
    overloaded_.pop_back();
    place = -1;
  }
}

void Tables::change(int link, const float* bytes, int sign) {
  const std::size_t first = cell(link, 0);
  for (int t = 0; t < slots_; ++t) {
    if (bytes[t] == 0) continue;
    load_[first + t] += sign * static_cast<double>(bytes[t] * per_cable_[link]);
    classify(first + t, failed(link) ? slack_ : limit_[t] * (1 + kRounding));
  }
}

void Tables::place_core(int k, int dest, const float* bytes, int sign) {
  const int pod = tree_.pod_of(dest), q = down_of[at_core(k, dest)];
  const int s = k / tree_.shape().cores * tree_.spines_per_group() + q;
  change(tree_.core_to_spine(k, pod, q), bytes, sign);
  change(tree_.spine_to_leaf(pod * tree_.shape().spines + s, tree_.leaf_of(dest) % tree_.shape().leaves), bytes, sign);
}

void Tables::place_spine(int ps, int dest, const float* bytes, int sign) {
  const std::size_t q = at_spine(ps, dest);
  change(tree_.spine_to_core(ps, core_of[q]), bytes, sign);
  const int k = tree_.group_of_spine(ps % tree_.shape().spines) * tree_.shape().cores + core_of[q];
  const std::size_t at = at_core(k, dest);
  add(&core_bytes_[at * slots_], bytes, sign, slots_);
  core_users_[at] += sign;
  place_core(k, dest, bytes, sign);
  if (core_users_[at] == 0) std::fill_n(&core_bytes_[at * slots_], slots_, 0.0f);
}

void Tables::place(int item, int sign) {
  const Item& it = demand_.items[item];
  const float* bytes = demand_.bytes(item);
  const int pod = tree_.pod_of_leaf(it.leaf), s = spine_of[item], ps = pod * tree_.shape().spines + s;
  change(tree_.leaf_to_spine(it.leaf, s), bytes, sign);
  if (pod == tree_.pod_of(it.dest)) {
    change(tree_.spine_to_leaf(ps, tree_.leaf_of(it.dest) % tree_.shape().leaves), bytes, sign);
    return;
  }
  const std::size_t q = at_spine(ps, it.dest);
  const bool was_used = spine_users_[q] > 0;
  add(&spine_bytes_[q * slots_], bytes, sign, slots_);
  spine_users_[q] += sign;
  const bool is_used = spine_users_[q] > 0;
  change(tree_.spine_to_core(ps, core_of[q]), bytes, sign);
  const int k = tree_.group_of_spine(s) * tree_.shape().cores + core_of[q];
  const std::size_t at = at_core(k, it.dest);
  add(&core_bytes_[at * slots_], bytes, sign, slots_);
  core_users_[at] += static_cast<int>(is_used) - static_cast<int>(was_used);
  place_core(k, it.dest, bytes, sign);
  if (!is_used) std::fill_n(&spine_bytes_[q * slots_], slots_, 0.0f);
  if (core_users_[at] == 0) std::fill_n(&core_bytes_[at * slots_], slots_, 0.0f);
}

void Tables::recompute() {
  std::fill(load_.begin(), load_.end(), 0);
  std::fill(spine_bytes_.begin(), spine_bytes_.end(), 0);
  std::fill(core_bytes_.begin(), core_bytes_.end(), 0);
  std::fill(spine_users_.begin(), spine_users_.end(), 0);
  std::fill(core_users_.begin(), core_users_.end(), 0);
  const BySlot limit = limit_;
  set_limit(BySlot(slots_, std::numeric_limits<double>::infinity()));
  for (int i = 0; i < static_cast<int>(demand_.items.size()); ++i) place(i, 1);
  set_limit(limit);
}

BySlot Tables::largest() const {
  BySlot most(slots_, 0);
  for (int link = 0; link < tree_.links(); ++link) {
    for (int t = 0; t < slots_; ++t) {
      const double load = load_[cell(link, t)];
      if (failed(link) && load > slack_) most[t] = std::numeric_limits<double>::infinity();
      most[t] = std::max(most[t], load);
    }
  }
  return most;
}

void Tables::set_limit(const BySlot& limit) {
  limit_ = limit;
  for (int link = 0; link < tree_.links(); ++link)
    for (int t = 0; t < slots_; ++t) classify(cell(link, t), failed(link) ? slack_ : limit[t] * (1 + kRounding));
}

}  // namespace flitwatch::routes
