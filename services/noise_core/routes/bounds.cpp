#include <algorithm>
#include <functional>
#include <limits>

#include "routes/demand.h"

namespace flitwatch::routes {

namespace {

// m ports must take these items. Of the (k + 1) m + 1 - i largest, at least m + 1 - i ports take k + 1 or one takes
// more, so that at most k (i - 1) items are on ports with fewer: one of the k (i - 1) + 1 largest shares its port with
// k others.
double pigeonhole(std::vector<float>& bytes, int ports) {
  if (bytes.empty()) return 0;
  if (ports == 0) return std::numeric_limits<double>::infinity();
  std::sort(bytes.begin(), bytes.end(), std::greater<>());
  const std::size_t n = bytes.size(), m = ports;
  std::vector<double> sum(n + 1, 0);
  for (std::size_t j = 0; j < n; ++j) sum[j + 1] = sum[j] + bytes[j];
  double best = bytes[0];
  for (std::size_t k = 1; k * m < n; ++k) {
    for (std::size_t i = 1; i <= m; ++i) {
      const std::size_t items = (k + 1) * m + 1 - i;
      if (items > n) continue;
      const double shared = bytes[k * (i - 1)] + sum[items] - sum[items - k];
      const double more = items < k + 2 ? shared : sum[items] - sum[items - k - 2];
      best = std::max(best, std::min(shared, more));
    }
  }
  return best;
}

// Bytes over links that work; nothing over no link.
double spread(double bytes, int links) {
  if (bytes == 0) return 0;
  return links ? bytes / links : std::numeric_limits<double>::infinity();
}

// How many cables work: from each leaf up, down into each leaf, and from spines of one pod to those of another.
class Working {
 public:
  Working(const Tree& tree, std::span<const std::uint8_t> cables) : tree_(tree), cables_(cables) {
    if (!cables.empty() && static_cast<int>(cables.size()) != tree.links())
      throw std::invalid_argument("give the number of working cables of every link");
  }

  int on(int link) const { return cables_.empty() ? 1 : cables_[link]; }
  int up(int leaf, int s) const { return on(tree_.leaf_to_spine(leaf, s)); }
  int down(int leaf, int s) const {
    const TreeShape& shape = tree_.shape();
    return on(tree_.spine_to_leaf(leaf / shape.leaves * shape.spines + s, leaf % shape.leaves));
  }
  int ups(int leaf) const {
    return count([&](int s) { return up(leaf, s); });
  }
  int downs(int leaf) const {
    return count([&](int s) { return down(leaf, s); });
  }

  // Links of a pod's spines to cores, and of cores to a pod's spines.
  int out_of(int pod) const {
    int links = 0;
    for (int s = 0; s < tree_.shape().spines; ++s)
      for (int c = 0; c < tree_.shape().cores; ++c) links += on(tree_.spine_to_core(pod * tree_.shape().spines + s, c));
    return links;
  }
  int into(int pod) const {
    int links = 0;
    for (int k = 0; k < tree_.cores(); ++k)
      for (int q = 0; q < tree_.spines_per_group(); ++q) links += on(tree_.core_to_spine(k, pod, q));
    return links;
  }

  // Spines of `leaf` from which spine `t` of another pod can be reached, for every t: by pair of pods, as [s * spines +
  // t].
  std::vector<std::uint8_t> joined(int pod, int to) const {
    const TreeShape& shape = tree_.shape();
    const int spines = shape.spines, per_group = tree_.spines_per_group();
    std::vector<std::uint8_t> result(static_cast<std::size_t>(spines) * spines, 0);
    for (int s = 0; s < spines; ++s) {
      const int group = tree_.group_of_spine(s);
      for (int c = 0; c < shape.cores; ++c) {
        if (!on(tree_.spine_to_core(pod * spines + s, c))) continue;
        for (int q = 0; q < per_group; ++q)
          if (on(tree_.core_to_spine(group * shape.cores + c, to, q)))
            result[static_cast<std::size_t>(s) * spines + group * per_group + q] = 1;
      }
    }
    return result;
  }

 private:
  template <class Cables>
  int count(Cables of) const {
    int result = 0;
    for (int s = 0; s < tree_.shape().spines; ++s) result += of(s);
    return result;
  }

  const Tree& tree_;
  std::span<const std::uint8_t> cables_;
};

// Items of one leaf for another share the spines that lead there at all: fewer than either leaf has where links failed
// at both ends.
double pairwise(const Tree& tree, const Demand& demand, const Working& working) {
  const TreeShape& shape = tree.shape();
  double best = 0;
  std::vector<std::vector<float>> of(tree.leaves());
  std::vector<std::vector<std::uint8_t>> joined(static_cast<std::size_t>(shape.pods) * shape.pods);
  for (int leaf = 0; leaf < tree.leaves(); ++leaf) {
    for (int i = demand.of_leaf[leaf]; i < demand.of_leaf[leaf + 1]; ++i)
      of[tree.leaf_of(demand.items[i].dest)].push_back(demand.items[i].bytes);
    for (int to = 0; to < tree.leaves(); ++to) {
      if (of[to].empty()) continue;
      const int pod = tree.pod_of_leaf(leaf), other = tree.pod_of_leaf(to);
      auto& way = joined[static_cast<std::size_t>(pod) * shape.pods + other];
      if (way.empty() && pod != other) way = working.joined(pod, other);
      int leaving = 0, arriving = 0;
      for (int s = 0; s < shape.spines; ++s) {
        bool leaves = false, arrives = false;
        for (int t = 0; t < shape.spines; ++t) {
          const auto at = [&](int from, int end) {
            return pod == other ? from == end : way[static_cast<std::size_t>(from) * shape.spines + end] != 0;
          };
          leaves = leaves || (at(s, t) && working.down(to, t));
          arrives = arrives || (at(t, s) && working.up(leaf, t));
        }
        leaving += leaves ? working.up(leaf, s) : 0;
        arriving += arrives ? working.down(to, s) : 0;
      }
      best = std::max({best, pigeonhole(of[to], leaving), pigeonhole(of[to], arriving)});
      of[to].clear();
    }
  }
  return best;
}

}  // namespace

Bounds bounds(const Tree& tree, const Demand& demand, std::span<const std::uint8_t> cables) {
  const TreeShape& s = tree.shape();
  const Working working(tree, cables);
  std::vector<double> leaf_out(tree.leaves(), 0), leaf_in(tree.leaves(), 0), pod_out(s.pods, 0), pod_in(s.pods, 0);
  std::vector<std::vector<float>> out(tree.leaves()), in(tree.leaves());
  for (const Item& item : demand.items) {
    const int to = tree.leaf_of(item.dest), from_pod = tree.pod_of_leaf(item.leaf), to_pod = tree.pod_of_leaf(to);
    leaf_out[item.leaf] += item.bytes;
    leaf_in[to] += item.bytes;
    out[item.leaf].push_back(item.bytes);
    in[to].push_back(item.bytes);
    if (from_pod != to_pod) {
      pod_out[from_pod] += item.bytes;
      pod_in[to_pod] += item.bytes;
    }
  }
  double adaptive = 0, fixed = 0;
  for (int l = 0; l < tree.leaves(); ++l) {
    const int ups = working.ups(l), downs = working.downs(l);
    adaptive = std::max({adaptive, spread(leaf_out[l], ups), spread(leaf_in[l], downs)});
    fixed = std::max({fixed, pigeonhole(out[l], ups), pigeonhole(in[l], downs)});
  }
  for (int p = 0; p < s.pods && s.groups; ++p)
    adaptive = std::max({adaptive, spread(pod_out[p], working.out_of(p)), spread(pod_in[p], working.into(p))});
  const bool broken =
      std::any_of(cables.begin(), cables.end(), [&](std::uint8_t number) { return number != cables.front(); });
  if (broken) fixed = std::max(fixed, pairwise(tree, demand, working));
  return {adaptive, std::max(adaptive, fixed)};
}

}  // namespace flitwatch::routes
