#include "routes/optimiser.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace flitwatch::routes {
namespace {

struct Problem {
  TreeShape shape;
  int flows, slots;
  double failed;  // share of links
  int most_cables;
};

class OptimiserTest : public ::testing::TestWithParam<Problem> {};

// Bytes a cable of every link, added up without the optimiser's own tables.
std::vector<double> loads(const Tree& tree, const Demand& demand, const Solution& found,
                          const std::vector<std::uint8_t>& cables, int slot) {
  std::vector<double> load(tree.links(), 0);
  const TreeShape& s = tree.shape();
  for (int i = 0; i < static_cast<int>(demand.items.size()); ++i) {
    const Item& item = demand.items[i];
    const double bytes = demand.bytes(i)[slot];
    const int pod = tree.pod_of_leaf(item.leaf), to = tree.pod_of(item.dest), up = found.spine_of[i];
    load[tree.leaf_to_spine(item.leaf, up)] += bytes;
    int spine = to * s.spines + up;
    if (pod != to) {
      const int ps = pod * s.spines + up,
                c = found.core_of[static_cast<std::size_t>(ps) * tree.endpoints() + item.dest];
      const int k = tree.group_of_spine(up) * s.cores + c,
                q = found.down_of[static_cast<std::size_t>(k) * tree.endpoints() + item.dest];
      load[tree.spine_to_core(ps, c)] += bytes;
      load[tree.core_to_spine(k, to, q)] += bytes;
      spine = to * s.spines + tree.group_of_spine(up) * tree.spines_per_group() + q;
    }
    load[tree.spine_to_leaf(spine, tree.leaf_of(item.dest) % s.leaves)] += bytes;
  }
  for (int link = 0; link < tree.links(); ++link)
    if (load[link] > 0) load[link] = cables[link] ? load[link] / cables[link] : std::numeric_limits<double>::infinity();
  return load;
}

TEST_P(OptimiserTest, SaysTheLoadsOfItsTablesAndNoneIsBelowTheBound) {
  const Problem p = GetParam();
  const Tree tree(p.shape);
  Random random(7);
  std::vector<std::int32_t> src, dst, slot;
  std::vector<double> bytes;
  for (int i = 0; i < p.flows; ++i) {
    src.push_back(random.below(tree.endpoints()));
    dst.push_back(random.below(tree.endpoints()));
    bytes.push_back(1 + random.below(8));
    slot.push_back(random.below(p.slots));
  }
  const Demand demand = gather(tree, src, dst, bytes, slot, p.slots);
  std::vector<std::uint8_t> cables(tree.links());
  for (auto& number : cables) number = random.unit() < p.failed ? 0 : 1 + random.below(p.most_cables);
  Search search;
  search.seconds = 0.2;
  search.fewest_worst = p.slots == 1;
  const auto go_on = [](const Progress&) { return true; };
  const Solution found = optimise(tree, demand, cables, BySlot(p.slots, 1e-3), search, go_on);
  double sum = 0;
  for (int t = 0; t < p.slots; ++t) {
    const auto load = loads(tree, demand, found, cables, t);
    const double largest = *std::max_element(load.begin(), load.end());
    sum += largest;
    if (std::isfinite(largest)) {
      EXPECT_NEAR(found.largest[t], largest, 1e-5 * largest);
    } else {
      EXPECT_TRUE(std::isinf(found.largest[t]));
    }
  }
  if (p.slots == 1) {
    EXPECT_GE(sum * (1 + 1e-5), bounds(tree, demand, cables).adaptive);
  }

  // From its own tables a search with them loaded leaves them as they are.
  Loaded loaded{std::vector<Port>(static_cast<std::size_t>(tree.leaves()) * tree.endpoints(), -1), found.core_of,
                found.down_of};
  for (std::size_t i = 0; i < demand.items.size(); ++i)
    loaded.spine_of[static_cast<std::size_t>(demand.items[i].leaf) * tree.endpoints() + demand.items[i].dest] =
        found.spine_of[i];
  search.loaded = &loaded;
  search.fewest_worst = false;
  const Solution again = optimise(tree, demand, cables, found.largest, search, go_on);
  if (std::isfinite(sum)) {
    EXPECT_EQ(again.spine_of, found.spine_of);
  }
}

INSTANTIATE_TEST_SUITE_P(Trees, OptimiserTest,
                         ::testing::Values(Problem{{1, 4, 3, 3, 0, 0}, 60, 1, 0, 1},
                                           Problem{{1, 4, 3, 3, 0, 0}, 60, 1, 0.05, 3},
                                           Problem{{3, 2, 2, 4, 2, 2}, 80, 1, 0, 1},
                                           Problem{{3, 2, 2, 4, 2, 2}, 80, 3, 0.05, 2},
                                           Problem{{2, 1, 1, 600, 1, 1}, 2, 1, 0, 1}));

TEST(Tree, RefusesShapesThatNoTreeHas) {
  EXPECT_THROW(Tree({2, 2, 2, 2, 0, 0}), std::invalid_argument);
  EXPECT_THROW(Tree({1, 2, 2, 3, 2, 1}), std::invalid_argument);
  EXPECT_THROW(Tree({0, 2, 2, 2, 0, 0}), std::invalid_argument);
}

}  // namespace
}  // namespace flitwatch::routes
