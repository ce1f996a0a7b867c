#include "routes/moves.h"

#include <algorithm>
#include <limits>

namespace flitwatch::routes {

namespace {
constexpr float kFailed = 1e12f;
constexpr float kNever = std::numeric_limits<float>::max();
// Weight of the plain square of loads alongside the square of excess: keeps loads even where nothing is above the
// limit.
constexpr double kEven = 1e-3;
}  // namespace

Moves::Moves(Tables& tables, Random& random, double scale)
    : tables_(tables),
      tree_(tables.tree()),
      random_(random),
      per_byte_(kEven / (scale * scale)),
      per_excess_(1 / (scale * scale)),
      price_(static_cast<std::size_t>(tree_.links()) * tables.slots(), 1.0f),
      last_(std::max(tree_.spines_per_group(), 1), 0),
      descent_(tree_.cores(), 0),
      descent_by_(tree_.cores(), 0) {}

inline float Moves::added_to_cell(std::size_t cell, int slot, double bytes) const {
  const double before = tables_.load(cell), after = before + bytes, limit = tables_.limit(slot);
  double cost = per_byte_ * (after * after - before * before);
  if (after > limit) {
    const double above = after - limit, was = before > limit ? before - limit : 0;
    cost += per_excess_ * price_[cell] * (above * above - was * was);
  }
  return static_cast<float>(cost);
}

inline float Moves::added(int link, const float* bytes) const {
  if (tables_.failed(link)) return kFailed;
  return tables_.slots() == 1 ? added_to_cell(link, 0, bytes[0] * tables_.per_cable(link))
                              : added_to_slots(link, bytes);
}

float Moves::added_to_slots(int link, const float* bytes) const {
  float cost = 0;
  for (int t = 0; t < tables_.slots(); ++t)
    if (bytes[t] != 0) cost += added_to_cell(tables_.cell(link, t), t, bytes[t] * tables_.per_cable(link));
  return cost;
}

void Moves::price_descents(int group, int dest, const float* bytes) {
  const int pod = tree_.pod_of(dest), leaf = tree_.leaf_of(dest) % tree_.shape().leaves, n = tree_.spines_per_group();
  for (int q = 0; q < n; ++q)
    last_[q] = added(tree_.spine_to_leaf(pod * tree_.shape().spines + group * n + q, leaf), bytes);
  for (int c = 0; c < tree_.shape().cores; ++c) {
    const int k = group * tree_.shape().cores + c;
    const std::size_t at = tables_.at_core(k, dest);
    if (tables_.core_users(at)) {
      const Port q = tables_.down_of[at];
      descent_[k] = added(tree_.core_to_spine(k, pod, q), bytes) + last_[q];
      descent_by_[k] = q;
      continue;
    }
    float best = kNever;
    for (int t = 0, q = random_.below(n); t < n; ++t, q = q + 1 == n ? 0 : q + 1) {
      const float cost = added(tree_.core_to_spine(k, pod, q), bytes) + last_[q];
      if (cost < best) {
        best = cost;
        descent_by_[k] = static_cast<Port>(q);
      }
    }
    descent_[k] = best;
  }
}

void Moves::lay_item(int item, bool forced) {
  const Item& it = tables_.demand().items[item];
  const float* bytes = tables_.demand().bytes(item);
  const TreeShape& s = tree_.shape();
  const int pod = tree_.pod_of_leaf(it.leaf), old = tables_.spine_of[item], leaf_at = tree_.leaf_of(it.dest) % s.leaves;
  tables_.place(item, -1);
  const bool inside = pod == tree_.pod_of(it.dest);
  for (int group = 0; group < s.groups && !inside; ++group) price_descents(group, it.dest, bytes);
  float best = kNever;
  int spine = old, core = -1;
  for (int t = 0, p = random_.below(s.spines); t < s.spines; ++t, p = p + 1 == s.spines ? 0 : p + 1) {
    if (forced && p == old && s.spines > 1) continue;
    const int ps = pod * s.spines + p;
    const float first = added(tree_.leaf_to_spine(it.leaf, p), bytes);
    if (first >= best) continue;
    if (inside) {
      const float cost = first + added(tree_.spine_to_leaf(ps, leaf_at), bytes);
      if (cost < best) best = cost, spine = p;
      continue;
    }
    const std::size_t q = tables_.at_spine(ps, it.dest);
    const int base = tree_.group_of_spine(p) * s.cores;
    if (tables_.spine_users(q)) {
      const int c = tables_.core_of[q];
      const float cost = first + added(tree_.spine_to_core(ps, c), bytes) + descent_[base + c];
      if (cost < best) best = cost, spine = p, core = c;
      continue;
    }
    for (int u = 0, c = random_.below(s.cores); u < s.cores; ++u, c = c + 1 == s.cores ? 0 : c + 1) {
      float cost = first + descent_[base + c];
      if (cost >= best) continue;
      cost += added(tree_.spine_to_core(ps, c), bytes);
      if (cost < best) best = cost, spine = p, core = c;
    }
  }
  tables_.spine_of[item] = static_cast<Port>(spine);
  if (core >= 0) {
    const std::size_t q = tables_.at_spine(pod * s.spines + spine, it.dest);
    if (!tables_.spine_users(q)) tables_.core_of[q] = static_cast<Port>(core);
    const int k = tree_.group_of_spine(spine) * s.cores + tables_.core_of[q];
    if (!tables_.core_users(tables_.at_core(k, it.dest))) tables_.down_of[tables_.at_core(k, it.dest)] = descent_by_[k];
  }
  tables_.place(item, 1);
}

void Moves::lay_spine(int ps, int dest, bool forced) {
  const std::size_t q = tables_.at_spine(ps, dest);
  if (!tables_.spine_users(q)) return;
  const TreeShape& s = tree_.shape();
  const float* bytes = tables_.spine_bytes(q);
  const int group = tree_.group_of_spine(ps % s.spines), old = tables_.core_of[q];
  tables_.place_spine(ps, dest, bytes, -1);
  price_descents(group, dest, bytes);
  float best = kNever;
  int core = old;
  for (int u = 0, c = random_.below(s.cores); u < s.cores; ++u, c = c + 1 == s.cores ? 0 : c + 1) {
    if (forced && c == old && s.cores > 1) continue;
    const float cost = added(tree_.spine_to_core(ps, c), bytes) + descent_[group * s.cores + c];
    if (cost < best) best = cost, core = c;
  }
  tables_.core_of[q] = static_cast<Port>(core);
  const int k = group * s.cores + core;
  if (!tables_.core_users(tables_.at_core(k, dest))) tables_.down_of[tables_.at_core(k, dest)] = descent_by_[k];
  tables_.place_spine(ps, dest, bytes, 1);
}

void Moves::lay_core(int k, int dest, bool forced) {
  const std::size_t at = tables_.at_core(k, dest);
  if (!tables_.core_users(at)) return;
  const int n = tree_.spines_per_group(), pod = tree_.pod_of(dest), leaf = tree_.leaf_of(dest) % tree_.shape().leaves;
  const int first_spine = pod * tree_.shape().spines + k / tree_.shape().cores * n, old = tables_.down_of[at];
  const float* bytes = tables_.core_bytes(at);
  tables_.place_core(k, dest, bytes, -1);
  float best = kNever;
  int down = old;
  for (int t = 0, q = random_.below(n); t < n; ++t, q = q + 1 == n ? 0 : q + 1) {
    if (forced && q == old && n > 1) continue;
    const float cost =
        added(tree_.core_to_spine(k, pod, q), bytes) + added(tree_.spine_to_leaf(first_spine + q, leaf), bytes);
    if (cost < best) best = cost, down = q;
  }
  tables_.down_of[at] = static_cast<Port>(down);
  tables_.place_core(k, dest, bytes, 1);
}

int Moves::any_item_at(int ps, int dest, int slot) {
  const Demand& demand = tables_.demand();
  const int pod = ps / tree_.shape().spines, s = ps % tree_.shape().spines;
  found_.clear();
  for (int i = demand.of_dest[dest]; i < demand.of_dest[dest + 1]; ++i) {
    const int item = demand.by_dest[i];
    if (tables_.spine_of[item] == s && tree_.pod_of_leaf(demand.items[item].leaf) == pod &&
        demand.bytes(item)[slot] > 0)
      found_.push_back(item);
  }
  return found_.empty() ? -1 : found_[random_.below(static_cast<int>(found_.size()))];
}

void Moves::relieve(int cell, bool forced) {
  const int link = cell / tables_.slots(), slot = cell % tables_.slots();
  const TreeShape& s = tree_.shape();
  const Demand& demand = tables_.demand();
  const int at = tree_.within_level(link);
  switch (tree_.level_of(link)) {
    case Tree::Level::kLeafToSpine: {
      const int leaf = at / s.spines, p = at % s.spines;
      found_.clear();
      for (int i = demand.of_leaf[leaf]; i < demand.of_leaf[leaf + 1]; ++i)
        if (tables_.spine_of[i] == p && demand.bytes(i)[slot] > 0) found_.push_back(i);
      if (!found_.empty()) lay_item(found_[random_.below(static_cast<int>(found_.size()))], forced);
      return;
    }
    case Tree::Level::kSpineToCore:
      return relieve_up(at, slot, forced);
    case Tree::Level::kCoreToSpine:
      return relieve_core(at, slot, forced);
    case Tree::Level::kSpineToLeaf:
      break;
  }
  // The last link down: everything that comes by a core through this spine, and what turns around at it.
  const int ps = at / s.leaves, leaf = ps / s.spines * s.leaves + at % s.leaves, p = ps % s.spines;
  found_.clear();
  const int cores = s.groups ? s.cores : 0, group = s.groups ? tree_.group_of_spine(p) : 0;
  for (int d = leaf * s.hosts; d < (leaf + 1) * s.hosts; ++d) {
    for (int c = 0; c < cores; ++c) {
      const std::size_t q = tables_.at_core(group * s.cores + c, d);
      if (tables_.core_users(q) && tables_.down_of[q] == p % tree_.spines_per_group() &&
          tables_.core_bytes(q)[slot] > 0)
        found_.push_back(static_cast<int>(q));
    }
    for (int i = demand.of_dest[d]; i < demand.of_dest[d + 1]; ++i) {
      const int item = demand.by_dest[i];
      if (tables_.spine_of[item] == p && tree_.pod_of_leaf(demand.items[item].leaf) == ps / s.spines &&
          demand.bytes(item)[slot] > 0)
        found_.push_back(-1 - item);
    }
  }
  if (found_.empty()) return;
  const int pick = found_[random_.below(static_cast<int>(found_.size()))];
  if (pick < 0) return lay_item(-1 - pick, forced);
  relieve_down(pick / tree_.endpoints(), pick % tree_.endpoints(), slot, forced);
}

void Moves::relieve_up(int at, int slot, bool forced) {
  const int ps = at / tree_.shape().cores, c = at % tree_.shape().cores;
  found_.clear();
  for (int d = 0; d < tree_.endpoints(); ++d) {
    const std::size_t q = tables_.at_spine(ps, d);
    if (tables_.spine_users(q) && tables_.core_of[q] == c && tables_.spine_bytes(q)[slot] > 0) found_.push_back(d);
  }
  if (found_.empty()) return;
  const int dest = found_[random_.below(static_cast<int>(found_.size()))];
  if (random_.below(3)) return lay_spine(ps, dest, forced);
  const int item = any_item_at(ps, dest, slot);
  if (item >= 0) lay_item(item, forced);
}

void Moves::relieve_core(int at, int slot, bool forced) {
  const int q = at % tree_.spines_per_group(), pod = at / tree_.spines_per_group() % tree_.shape().pods;
  const int k = at / tree_.spines_per_group() / tree_.shape().pods, hosts = tree_.shape().leaves * tree_.shape().hosts;
  found_.clear();
  for (int d = pod * hosts; d < (pod + 1) * hosts; ++d) {
    const std::size_t place = tables_.at_core(k, d);
    if (tables_.core_users(place) && tables_.down_of[place] == q && tables_.core_bytes(place)[slot] > 0)
      found_.push_back(d);
  }
  if (!found_.empty()) relieve_down(k, found_[random_.below(static_cast<int>(found_.size()))], slot, forced);
}

// What goes down from a core: lay the core's flow again, or one of the spines' flows that make it up, or one item of
// those.
void Moves::relieve_down(int k, int dest, int slot, bool forced) {
  const TreeShape& s = tree_.shape();
  const int what = random_.below(3);
  if (what == 0) return lay_core(k, dest, forced);
  const int group = k / s.cores, c = k % s.cores, n = tree_.spines_per_group();
  found_.clear();
  for (int pod = 0; pod < s.pods; ++pod) {
    for (int p = group * n; p < (group + 1) * n; ++p) {
      const std::size_t q = tables_.at_spine(pod * s.spines + p, dest);
      if (tables_.spine_users(q) && tables_.core_of[q] == c && tables_.spine_bytes(q)[slot] > 0)
        found_.push_back(pod * s.spines + p);
    }
  }
  if (found_.empty()) return;
  const int ps = found_[random_.below(static_cast<int>(found_.size()))];
  if (what == 1) return lay_spine(ps, dest, forced);
  const int item = any_item_at(ps, dest, slot);
  if (item >= 0) lay_item(item, forced);
}

void Moves::grow(float factor) {
  for (int cell : tables_.overloaded()) price_[cell] *= factor;
}

void Moves::forget(float share) {
  for (float& price : price_) price = std::min(1 + (price - 1) * share, 1e6f);
}

}  // namespace flitwatch::routes
