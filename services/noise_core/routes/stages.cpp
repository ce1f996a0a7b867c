#include "routes/steps.h"

#include <algorithm>
#include <unordered_map>

#include "routes/exchange.h"

namespace flitwatch::routes {

namespace {

// What the spines of a pod send to one destination in another pod: one entry of a spine's table, and so one way from
// there on.
struct Merged {
  int ps, dest, down;  // down: spine within the destination's pod
  float bytes;
  float largest;  // of its items: it says which spine they all come down by
};

class Stages {
 public:
  Stages(Tables& tables, const LevelCables& cables, double limit, Random& random, const std::function<bool()>& go_on)
      : tables_(tables),
        tree_(tables.tree()),
        s_(tree_.shape()),
        cables_(cables),
        limit_(limit),
        random_(random),
        go_on_(go_on) {}

  void run() {
    leaves();
    if (s_.groups) {
      merge();
      downs();
      for (int group = 0; group < s_.groups; ++group) cores(group);
    }
    for (std::size_t i = 0; i < flows_.size(); ++i) tables_.spine_of[i] = static_cast<Port>(flows_[i].out);
    tables_.recompute();
  }

 private:
  bool within(int leaf, int dest) const { return !s_.groups || tree_.pod_of_leaf(leaf) == tree_.pod_of(dest); }

  // Ports of the leaves at both ends: an entry of a leaf's table each, and the spine above the destination's leaf.
  void leaves() {
    const auto& items = tables_.demand().items;
    for (std::size_t i = 0; i < items.size(); ++i) {
      const Item& item = items[i];
      const int out = tables_.spine_of[i];
      int in = out;
      if (!within(item.leaf, item.dest)) {
        const int ps = tree_.pod_of_leaf(item.leaf) * s_.spines + out, group = tree_.group_of_spine(out);
        const int k = group * s_.cores + tables_.core_of[tables_.at_spine(ps, item.dest)];
        in = group * tree_.spines_per_group() + tables_.down_of[tables_.at_core(k, item.dest)];
      }
      flows_.push_back(
          {item.leaf, tree_.leaf_of(item.dest), item.dest, item.bytes, within(item.leaf, item.dest), out, in});
    }
    Exchange exchange(flows_, tree_.leaves(), tree_.leaves(), tree_.endpoints(),
                      {s_.spines, s_.groups ? tree_.spines_per_group() : 1, false}, random_);
    settle(exchange, cables_.leaf);
  }

  // Entries of leaves that meet at a spine; the largest of them says where all come down.
  void merge() {
    std::unordered_map<std::size_t, int> known;
    for (const Flow& flow : flows_) {
      if (within(flow.from, flow.dest)) continue;
      const int ps = tree_.pod_of_leaf(flow.from) * s_.spines + flow.out;
      const auto [at, fresh] = known.try_emplace(tables_.at_spine(ps, flow.dest), static_cast<int>(merged_.size()));
      if (fresh) merged_.push_back({ps, flow.dest, flow.in, 0, 0});
      Merged& one = merged_[at->second];
      one.bytes += flow.bytes;
      if (flow.bytes > one.largest) one.largest = flow.bytes, one.down = flow.in;
    }
  }

  // The spines above the destinations' leaves once more, now that entries which share a spine's entry come down
  // together.
  void downs() {
    std::vector<Flow> flows;
    for (const Merged& one : merged_)
      flows.push_back({-1, tree_.leaf_of(one.dest), one.dest, one.bytes, false, one.ps % s_.spines, one.down});
    for (const Flow& flow : flows_)
      if (flow.rigid) flows.push_back({-1, flow.to, flow.dest, flow.bytes, true, flow.out, flow.in});
    Exchange exchange(flows, 0, tree_.leaves(), tree_.endpoints(), {s_.spines, tree_.spines_per_group(), false},
                      random_);
    settle(exchange, cables_.leaf);
    for (std::size_t m = 0; m < merged_.size(); ++m) merged_[m].down = flows[m].in;
  }

  // Cores between the spines of a group. Flows of one destination through one core come down by one spine.
  void cores(int group) {
    const int n = tree_.spines_per_group();
    std::vector<Flow> flows;
    std::vector<Edge> edges;
    for (const Merged& one : merged_) {
      const int spine = one.ps % s_.spines;
      if (tree_.group_of_spine(spine) != group) continue;
      const int from = one.ps / s_.spines * n + spine % n, to = tree_.pod_of(one.dest) * n + one.down % n;
      flows.push_back({from, to, one.dest, one.bytes, true, 0, 0});
      edges.push_back({from, to, one.bytes});
    }
    const auto colours = colour(edges, s_.pods * n, s_.pods * n, s_.cores, random_);
    std::vector<int> holder(static_cast<std::size_t>(s_.cores) * tree_.endpoints(), -1);
    for (std::size_t f = 0; f < flows.size(); ++f) {
      int core = colours[f];
      for (int tries = 0; tries < s_.cores; ++tries, core = (core + 1) % s_.cores) {
        const int held = holder[static_cast<std::size_t>(core) * tree_.endpoints() + flows[f].dest];
        if (held < 0 || held == flows[f].to) break;
      }
      int& held = holder[static_cast<std::size_t>(core) * tree_.endpoints() + flows[f].dest];
      if (held < 0) held = flows[f].to;
      flows[f].to = held;
      flows[f].out = flows[f].in = core;
    }
    Exchange exchange(flows, s_.pods * n, s_.pods * n, tree_.endpoints(), {s_.cores, 1, true}, random_);
    settle(exchange, cables_.core);
    std::size_t f = 0;
    for (const Merged& one : merged_) {
      if (tree_.group_of_spine(one.ps % s_.spines) != group) continue;
      tables_.core_of[tables_.at_spine(one.ps, one.dest)] = static_cast<Port>(flows[f].out);
      tables_.down_of[tables_.at_core(group * s_.cores + flows[f].out, one.dest)] = static_cast<Port>(flows[f].to % n);
      ++f;
    }
  }

  // A later stage need not be better than what an earlier one came to.
  void settle(Exchange& exchange, int cables) {
    exchange.settle(limit_ * cables, go_on_);
    limit_ = std::max(limit_, exchange.largest() / cables);
  }

  Tables& tables_;
  const Tree& tree_;
  const TreeShape& s_;
  const LevelCables cables_;
  double limit_;
  Random& random_;
  const std::function<bool()>& go_on_;
  std::vector<Flow> flows_;
  std::vector<Merged> merged_;
};

}  // namespace

std::optional<LevelCables> even_cables(const Tables& tables) {
  const Tree& tree = tables.tree();
  const TreeShape& s = tree.shape();
  std::vector<bool> talks(tree.leaves(), false), used(s.pods, false);
  LevelCables found{0, 0};
  // Whether the link works, with as many cables as the level's links before it.
  auto alike = [&](int& level, int link) {
    if (level == 0) level = tables.cables(link);
    return !tables.failed(link) && tables.cables(link) == level;
  };
  for (const Item& item : tables.demand().items) talks[item.leaf] = talks[tree.leaf_of(item.dest)] = true;
  for (int leaf = 0; leaf < tree.leaves(); ++leaf) {
    if (!talks[leaf]) continue;
    const int pod = tree.pod_of_leaf(leaf);
    used[pod] = true;
    for (int p = 0; p < s.spines; ++p)
      if (!alike(found.leaf, tree.leaf_to_spine(leaf, p)) ||
          !alike(found.leaf, tree.spine_to_leaf(pod * s.spines + p, leaf % s.leaves)))
        return std::nullopt;
  }
  for (int pod = 0; pod < s.pods && s.groups; ++pod) {
    if (!used[pod]) continue;
    for (int p = 0; p < s.spines; ++p) {
      for (int c = 0; c < s.cores; ++c) {
        const int k = tree.group_of_spine(p) * s.cores + c;
        if (!alike(found.core, tree.spine_to_core(pod * s.spines + p, c)) ||
            !alike(found.core, tree.core_to_spine(k, pod, p % tree.spines_per_group())))
          return std::nullopt;
      }
    }
  }
  return found;
}

void settle_by_stages(Tables& tables, const LevelCables& cables, double limit, Random& random,
                      const std::function<bool()>& go_on) {
  Stages(tables, cables, limit, random, go_on).run();
}

}  // namespace flitwatch::routes
