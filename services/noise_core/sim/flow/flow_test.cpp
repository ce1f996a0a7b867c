#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "sim/flow/collective.h"
#include "sim/flow/random.h"
#include "sim/topology/table_routing.h"
#include "sim/topology/topology.h"

using namespace flitwatch::sim;

namespace {

// The model written down plainly: counts from scratch in every round, longest path by relaxation.
Peak plain(const Routes& routes, const Pattern& pattern, std::span<const std::uint32_t> mapping,
           std::span<const Pair> noise, Rules rules) {
  const auto one = [&](bool perturbed) -> std::uint32_t {
    std::vector<std::uint32_t> ready(pattern.ranks()), sent(pattern.ranks());
    std::map<std::uint32_t, std::uint32_t> chained;  // orcs: who the round before reached, and when
    std::uint32_t cost = 0;
    std::vector<Message> scratch;
    for (std::uint32_t k = 0; k < pattern.rounds(); ++k) {
      std::map<LinkId, std::uint32_t> count;
      const auto messages = pattern.round(k, scratch);
      for (const Message& m : messages)
        for (LinkId l : links_of(routes, {mapping[m.src], mapping[m.dst]})) ++count[l];
      if (perturbed)
        for (const Pair& p : noise)
          for (LinkId l : links_of(routes, p)) ++count[l];
      auto next = ready;
      std::map<std::uint32_t, std::uint32_t> reached;
      std::map<std::uint32_t, bool> has_sent;
      for (const Message& m : messages) {
        std::uint32_t weight = 0;
        for (LinkId l : links_of(routes, {mapping[m.src], mapping[m.dst]})) weight = std::max(weight, count[l]);
        std::uint32_t begin = ready[m.src];
        if (rules.wait_for_own_send) begin = std::max(begin, sent[m.src]);
        if (rules.semantics == Semantics::kOrcs) {
          begin = chained.contains(m.src) && !has_sent[m.src] ? chained[m.src] : 0;
          has_sent[m.src] = true;
          reached.emplace(m.dst, begin + weight);
        }
        sent[m.src] = begin + weight;
        next[m.dst] = std::max(next[m.dst], begin + weight);
        cost = std::max(cost, begin + weight);
      }
      ready = next;
      chained = reached;
    }
    return cost;
  };
  return {one(false), one(true)};
}

struct Fabric {
  std::string name;
  Routes routes;
};

std::vector<Fabric> fabrics() {
  const Topology tree = make_xgft({4, 3, 2}, {1, 2, 3}, {1, 2, 1});
  const Topology uneven = make_xgft({4, 4, 4}, {1, 4, 2}, {1, 1, 1.5});
  auto table = std::make_shared<const RouteTable>(ftree_routes(uneven.graph));
  std::vector<std::uint32_t> own(uneven.graph->routers());
  std::iota(own.begin(), own.end(), 0u);
  return {
      {"xgft", XgftRoutes(std::get<Xgft>(tree.shape))},
      {"torus", TorusRoutes(Torus({5, 4, 2}))},
      {"ring of 40", TorusRoutes(Torus({40}))},
      {"torus with a flat side", TorusRoutes(Torus({1, 18, 3}))},
      {"table", TableRoutes(table)},
      {"valiant", TableRoutes(table, own)},
  };
}

TEST(Replica, AgreesWithThePlainModel) {
  for (const Fabric& fabric : fabrics())
    for (const std::string& name : pattern_names()) {
      const std::uint32_t n = endpoints_of(fabric.routes), ranks = name == "bit-reversal" ? 16 : n / 2;
      const auto pattern = make_pattern(name, ranks);
      Random random(7, n);
      std::vector<std::uint32_t> order(n);
      std::iota(order.begin(), order.end(), 0u);
      shuffle(order, random);
      std::vector<Pair> noise;
      for (std::uint32_t i = ranks; i + 1 < n; ++i) noise.push_back({order[i], order[i + 1]});
      for (const Rules rules : {Rules{}, Rules{Semantics::kLongestPath, true}, Rules{Semantics::kOrcs, false}}) {
        const auto mapping = std::span(order).first(ranks);
        const Peak ours = annotate_collective(fabric.routes, *pattern, mapping, noise, rules).cost;
        const Peak expected = plain(fabric.routes, *pattern, mapping, noise, rules);
        EXPECT_EQ(ours.quiet, expected.quiet) << fabric.name << ' ' << name;
        EXPECT_EQ(ours.perturbed, expected.perturbed) << fabric.name << ' ' << name;
        EXPECT_LE(ours.quiet, ours.perturbed);
      }
    }
}

TEST(Collective, ThreadsAndSplitsChangeNothing) {
  for (const Fabric& fabric : fabrics()) {
    const std::uint32_t n = endpoints_of(fabric.routes);
    const auto pattern = make_pattern("binomial-bcast", n / 2);
    Experiment experiment{.pattern = pattern.get(), .perturbing = n - n / 2, .seed = 99, .runs = 60};
    const Outcome one = run_collective(fabric.routes, experiment);
    for (std::uint32_t threads : {2u, 3u}) {
      experiment.threads = threads;
      const Outcome many = run_collective(fabric.routes, experiment);
      EXPECT_EQ(one.costs[0].quiet, many.costs[0].quiet);
      EXPECT_EQ(one.costs[0].perturbed, many.costs[0].perturbed);
      EXPECT_EQ(one.increments, many.increments);
    }
    experiment.first_run = 40;
    experiment.runs = 20;
    const Outcome tail = run_collective(fabric.routes, experiment);
    const auto& last = tail.costs[0].perturbed;
    EXPECT_TRUE(std::equal(last.begin(), last.end(), one.costs[0].perturbed.begin() + 40));
    experiment.seed = 100;
    EXPECT_NE(run_collective(fabric.routes, experiment).costs[0].perturbed, last);
  }
}

TEST(Collective, WithoutPerturbationNothingSlowsDown) {
  const Routes routes = TorusRoutes(Torus({8, 8}));
  const auto pattern = make_pattern("dissemination-barrier", 64);
  const Outcome outcome = run_collective(routes, {.pattern = pattern.get(), .perturbing = 0, .runs = 20});
  EXPECT_EQ(outcome.costs[0].quiet, outcome.costs[0].perturbed);
}

TEST(Collective, OrcsNeverExceedsLongestPath) {
  const Routes routes = XgftRoutes(Xgft({6, 6, 4}, {1, 6, 6}));
  for (const char* name : {"binomial-bcast", "recursive-doubling-allreduce", "sweep-3d"}) {
    const auto pattern = make_pattern(name, 72);
    Experiment experiment{.pattern = pattern.get(), .perturbing = 72, .seed = 3, .runs = 50};
    const Costs longest = run_collective(routes, experiment).costs[0];
    experiment.rules = {{Semantics::kOrcs}};
    const Outcome alone = run_collective(routes, experiment);
    const Costs& orcs = alone.costs[0];
    experiment.rules = {{Semantics::kLongestPath}, {Semantics::kOrcs}};
    const Outcome both = run_collective(routes, experiment);
    EXPECT_EQ(both.costs[0].perturbed, longest.perturbed);
    EXPECT_EQ(both.costs[1].perturbed, orcs.perturbed);
    EXPECT_EQ(both.costs[1].quiet, orcs.quiet);
    EXPECT_EQ(both.increments, alone.increments);
    for (std::size_t i = 0; i < longest.quiet.size(); ++i) {
      EXPECT_LE(orcs.quiet[i], longest.quiet[i]);
      EXPECT_LE(orcs.perturbed[i], longest.perturbed[i]);
    }
  }
}

TEST(CountLinks, DifferencesOnRingsEqualWalks) {
  const TorusRoutes torus(Torus({7, 6, 4}));
  Random random(1, 2);
  std::vector<Pair> pairs;
  for (int i = 0; i < 2000; ++i) {
    const Pair pair{random.below(168), random.below(168)};
    if (pair.src != pair.dst) pairs.push_back(pair);
  }
  const Routes routes = torus;
  std::vector<std::uint32_t> walked(torus.cells());
  for (const Pair& pair : pairs)
    for (LinkId l : links_of(routes, pair)) ++walked[l];
  EXPECT_EQ(count_links(routes, pairs), walked);
}

TEST(XgftRoutes, AreWalksOfTheGraphAndSpreadTheDestinationsOfALeaf) {
  const Topology t = make_xgft({6, 3, 3}, {1, 3, 2}, {1, 2, 3});
  const Routes routes = XgftRoutes(std::get<Xgft>(t.shape));
  const Graph& g = *t.graph;
  for (std::uint32_t a = 0; a < g.endpoints(); ++a)
    for (std::uint32_t b = 0; b < g.endpoints(); ++b) {
      if (a == b) continue;
      auto links = links_of(routes, {a, b});
      EXPECT_EQ(links.size(), hops_between(g, std::span(&a, 1), std::span(&b, 1))[0]);
      Vertex at = g.vertex_of_endpoint(a);
      while (!links.empty()) {
        const auto next = std::ranges::find_if(links, [&](LinkId l) { return g.src(l) == at; });
        ASSERT_NE(next, links.end());
        at = g.dst(*next);
        links.erase(next);
      }
      EXPECT_EQ(at, g.vertex_of_endpoint(b));
    }
  // Full bisection: a shift by a whole subtree never shares a link.
  std::vector<Pair> shift;
  for (std::uint32_t a = 0; a < g.endpoints(); ++a) shift.push_back({a, (a + 18) % g.endpoints()});
  const auto counts = count_links(routes, shift);
  EXPECT_EQ(*std::ranges::max_element(counts), 1u);
}

TEST(TorusRoutes, AreShortestWalks) {
  for (const std::vector<std::uint32_t>& dims : {std::vector<std::uint32_t>{5, 4, 2}, {2, 2, 2}, {1, 7}, {33}}) {
    const Topology t = make_torus(dims);
    const Routes routes = TorusRoutes(std::get<Torus>(t.shape));
    const Graph& g = *t.graph;
    for (std::uint32_t a = 0; a < g.endpoints(); ++a)
      for (std::uint32_t b = 0; b < g.endpoints(); ++b) {
        auto links = links_of(routes, {a, b});
        ASSERT_EQ(links.size(), hops_between(g, std::span(&a, 1), std::span(&b, 1))[0]);
        std::map<Vertex, int> balance;
        for (LinkId l : links) ++balance[g.src(l)], --balance[g.dst(l)];
        for (const auto& [v, sum] : balance)
          EXPECT_EQ(sum, (v == g.vertex_of_endpoint(a)) - (v == g.vertex_of_endpoint(b)));
      }
  }
}

TEST(Pattern, SendsWhatItsNamePromises) {
  for (const std::string& name : pattern_names())
    for (std::uint32_t n : {2u, 3u, 8u, 13u, 64u}) {
      std::unique_ptr<Pattern> pattern;
      try {
        pattern = make_pattern(name, n);
      } catch (const std::invalid_argument&) {
        continue;  // bit reversal of 13, a permutation that stays, a transpose of a line
      }
      std::uint64_t messages = 0;
      std::vector<Message> scratch;
      for (std::uint32_t k = 0; k < pattern->rounds(); ++k)
        for (const Message& m : pattern->round(k, scratch)) {
          ++messages;
          ASSERT_TRUE(m.src < n && m.dst < n && m.src != m.dst) << name;
        }
      EXPECT_EQ(messages, pattern->messages()) << name;
      if (name == "binomial-bcast" || name == "binomial-reduce") {
        EXPECT_EQ(messages, n - 1);
      }
      if (name == "pairwise-alltoall") {
        EXPECT_EQ(messages, n * (n - 1));
      }
    }
  EXPECT_THROW(make_pattern("nonsense", 4), std::invalid_argument);
  EXPECT_THROW(make_pattern("ring:3", 4), std::invalid_argument);
  EXPECT_THROW(make_pattern("shift:x", 4), std::invalid_argument);
  EXPECT_THROW(make_pattern("ring", 1), std::invalid_argument);
}

TEST(Random, ShufflesUniformly) {
  Random random(5, 0);
  std::map<std::vector<std::uint32_t>, int> seen;
  for (int i = 0; i < 120'000; ++i) {
    std::vector<std::uint32_t> items{0, 1, 2, 3, 4};
    shuffle(items, random);
    ++seen[items];
  }
  EXPECT_EQ(seen.size(), 120u);
  double chi2 = 0;
  for (const auto& [order, count] : seen) chi2 += (count - 1000.0) * (count - 1000.0) / 1000.0;
  EXPECT_LT(chi2, 180.0);  // 119 degrees of freedom: exceeded by chance once in 4,000
}

TEST(WideCells, HoldMoreMessagesThanNarrowOnes) {
  const Routes routes = TorusRoutes(Torus({4, 4}));
  std::vector<Message> messages;
  for (int i = 0; i < 70'000; ++i) messages.push_back({0, 1});
  const auto pattern = explicit_pattern(2, messages, {0, messages.size()});
  const std::vector<std::uint32_t> mapping{0, 5};
  const std::vector<Pair> noise{{1, 5}};
  const Peak cost = annotate_collective(routes, *pattern, mapping, noise, {}).cost;
  EXPECT_EQ(cost.quiet, 70'000u);
  EXPECT_EQ(cost.perturbed, 70'001u);
}

}  // namespace
