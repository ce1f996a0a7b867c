#include "routes/steps.h"

#include <algorithm>
#include <unordered_map>

namespace flitwatch::routes {

void start_ftree(Tables& tables) {
  const Tree& tree = tables.tree();
  const TreeShape& s = tree.shape();
  const auto& items = tables.demand().items;
  for (std::size_t i = 0; i < items.size(); ++i) tables.spine_of[i] = static_cast<Port>(items[i].dest % s.spines);
  for (int d = 0; d < tree.endpoints(); ++d) {
    for (int ps = 0; ps < tree.spines() && s.groups; ++ps)
      tables.core_of[tables.at_spine(ps, d)] = static_cast<Port>(d / s.spines % s.cores);
    for (int k = 0; k < tree.cores(); ++k)
      tables.down_of[tables.at_core(k, d)] = static_cast<Port>(d % s.spines % tree.spines_per_group());
  }
  tables.recompute();
}

void start_random(Tables& tables, Random& random) {
  const Tree& tree = tables.tree();
  const TreeShape& s = tree.shape();
  const auto& items = tables.demand().items;
  auto working = [&](int choices, auto link) {
    int pick = random.below(choices);
    for (int tries = 0; tries < choices && tables.failed(link(pick)); ++tries) pick = (pick + 1) % choices;
    return static_cast<Port>(pick);
  };
  for (std::size_t i = 0; i < items.size(); ++i)
    tables.spine_of[i] = working(s.spines, [&](int p) { return tree.leaf_to_spine(items[i].leaf, p); });
  for (int d = 0; d < tree.endpoints(); ++d) {
    const int pod = tree.pod_of(d);
    for (int ps = 0; ps < tree.spines() && s.groups; ++ps)
      tables.core_of[tables.at_spine(ps, d)] = working(s.cores, [&](int c) { return tree.spine_to_core(ps, c); });
    for (int k = 0; k < tree.cores(); ++k)
      tables.down_of[tables.at_core(k, d)] =
          working(tree.spines_per_group(), [&](int q) { return tree.core_to_spine(k, pod, q); });
  }
  tables.recompute();
}

namespace {

int fullest_slot(const float* bytes, int slots) {
  return static_cast<int>(std::max_element(bytes, bytes + slots) - bytes);
}

// Cores of the merged flows (spine, destination) of one group, and the spines under which they first arrive.
void split_cores(Tables& tables, int group, Random& random) {
  const Tree& tree = tables.tree();
  const TreeShape& s = tree.shape();
  struct Flow {
    int ps, dest;
  };
  std::vector<Flow> flows;
  std::vector<Edge> edges;
  std::unordered_map<std::size_t, int> known;
  const auto& items = tables.demand().items;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const int pod = tree.pod_of_leaf(items[i].leaf), to = tree.pod_of(items[i].dest), spine = tables.spine_of[i];
    if (pod == to || tree.group_of_spine(spine) != group) continue;
    const int ps = pod * s.spines + spine;
    const auto [at, fresh] = known.try_emplace(tables.at_spine(ps, items[i].dest), static_cast<int>(edges.size()));
    if (fresh) {
      flows.push_back({ps, items[i].dest});
      edges.push_back(
          {ps, to * s.spines + spine, 0, fullest_slot(tables.demand().bytes(static_cast<int>(i)), tables.slots())});
    }
    edges[at->second].weight += items[i].bytes;
  }
  const auto colours = colour(edges, tree.spines(), tree.spines(), s.cores, random);
  for (std::size_t f = 0; f < flows.size(); ++f) {
    tables.core_of[tables.at_spine(flows[f].ps, flows[f].dest)] = static_cast<Port>(colours[f]);
    Port& down = tables.down_of[tables.at_core(group * s.cores + colours[f], flows[f].dest)];
    if (down < 0) down = static_cast<Port>(flows[f].ps % s.spines % tree.spines_per_group());
  }
}

}  // namespace

void start_split(Tables& tables, Random& random) {
  const Tree& tree = tables.tree();
  const TreeShape& s = tree.shape();
  const auto& items = tables.demand().items;
  std::vector<Edge> edges;
  edges.reserve(items.size());
  for (int i = 0; i < static_cast<int>(items.size()); ++i)
    edges.push_back({items[i].leaf, tree.leaf_of(items[i].dest), items[i].bytes,
                     fullest_slot(tables.demand().bytes(i), tables.slots())});
  const auto spines = colour(edges, tree.leaves(), tree.leaves(), s.spines, random);
  for (std::size_t i = 0; i < items.size(); ++i) tables.spine_of[i] = static_cast<Port>(spines[i]);
  std::fill(tables.down_of.begin(), tables.down_of.end(), Port{-1});
  for (int group = 0; group < s.groups; ++group) split_cores(tables, group, random);
  for (Port& down : tables.down_of)
    if (down < 0) down = 0;
  tables.recompute();
}

}  // namespace flitwatch::routes
