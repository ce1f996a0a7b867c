#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "sim/topology/lft_dump.h"
#include "sim/topology/table_routing.h"
#include "sim/topology/topology.h"

using namespace flitwatch::sim;

namespace {

struct Table1 {
  std::vector<std::uint32_t> m, w;
  std::vector<double> p;
  std::uint32_t endpoints, switches;
};

TEST(Xgft, MeetsTable1OfHoefler2009With24PortSwitches) {
  const std::vector<Table1> rows{
      {{12, 12}, {1, 6}, {1, 2}, 144, 18},
      {{12, 24}, {1, 12}, {1, 1}, 288, 36},
      {{12, 12, 8}, {1, 12, 4}, {1, 1, 3}, 1152, 240},
      {{12, 12, 16}, {1, 12, 8}, {1, 1, 1.5}, 2304, 480},
      {{12, 12, 24}, {1, 12, 12}, {1, 1, 1}, 3456, 720},
      {{12, 12, 12, 6}, {1, 12, 12, 3}, {1, 1, 1, 4}, 10368, 3024},
      {{12, 12, 12, 12}, {1, 12, 12, 6}, {1, 1, 1, 2}, 20736, 6048},
  };
  for (const Table1& row : rows) {
    const Xgft tree(row.m, row.w, row.p);
    EXPECT_EQ(tree.endpoints(), row.endpoints);
    EXPECT_EQ(tree.switches(), row.switches);
    const Graph graph = tree.graph();
    for (std::uint32_t r = 0; r < graph.routers(); ++r) ASSERT_EQ(graph.out_links(r).size(), 24u);
  }
}

TEST(Xgft, RefusesSizesThatMakeNoTree) {
  EXPECT_THROW(Xgft({12}, {1, 2}), std::invalid_argument);
  EXPECT_THROW(Xgft({4, 4}, {2, 2}), std::invalid_argument);
  EXPECT_THROW(Xgft({4, 0}, {1, 2}), std::invalid_argument);
  EXPECT_THROW(Xgft({4, 4}, {1, 3}, {1, 1.5}), std::invalid_argument);  // 4.5 ports
  EXPECT_THROW(Xgft({60000, 60000}, {1, 1}), std::invalid_argument);
}

TEST(Graph, EveryCableHasTwinsOnTheSamePorts) {
  for (const Topology& t : {make_xgft({4, 3, 2}, {1, 2, 3}, {1, 2, 1}), make_torus({4, 3, 2}), make_torus({2, 1, 5})}) {
    const Graph& g = *t.graph;
    std::set<std::pair<std::pair<Vertex, int>, std::pair<Vertex, int>>> cables;
    for (LinkId l = 0; l < g.links(); ++l)
      EXPECT_TRUE(cables.insert({{g.src(l), g.src_port(l)}, {g.dst(l), g.dst_port(l)}}).second);
    for (const auto& [from, to] : cables) EXPECT_TRUE(cables.contains({to, from}));
  }
}

TEST(Graph, RefusesWhatIsNoFabric) {
  const auto build = [](std::vector<Vertex> src, std::vector<Vertex> dst) {
    LinkArrays links;
    links.src = std::move(src);
    links.dst = std::move(dst);
    return Graph(1, 1, std::move(links));
  };
  EXPECT_NO_THROW(build({1, 0}, {0, 1}));
  EXPECT_THROW(build({1}, {0}), std::invalid_argument);              // no way back to the endpoint
  EXPECT_THROW(build({1, 0, 0}, {0, 1, 7}), std::invalid_argument);  // no such vertex
  EXPECT_THROW(build({1, 0, 0}, {0, 1, 0}), std::invalid_argument);  // to itself
  EXPECT_THROW(build({1, 0, 1}, {0, 1, 0}), std::invalid_argument);  // two links of an endpoint
  EXPECT_THROW(build({1, 0, 0}, {0, 1}), std::invalid_argument);     // lengths
}

TEST(Hops, KnownDistances) {
  const auto torus = summarise_hops(make_torus({20, 20, 20}));
  EXPECT_EQ(torus.diameter, 32u);
  EXPECT_NEAR(torus.mean, 2 + 3 * 5.0 * 8000 / 7999, 1e-12);
  const Topology tree = make_xgft({4, 3, 2}, {1, 2, 3}, {});
  const auto one = summarise_hops(tree), all = summarise_hops(*tree.graph);
  EXPECT_DOUBLE_EQ(one.mean, all.mean);
  EXPECT_EQ(one.diameter, 6u);
}

class Tables : public testing::TestWithParam<int> {};

RouteTable table(int which, std::shared_ptr<const Graph> graph) {
  const std::vector<std::uint32_t> cost(graph->class_names().size(), 1);
  if (which == 0) return cheapest_routes(graph, cost);
  if (which == 1) return up_down_routes(graph, levels_of(*graph));
  return ftree_routes(graph);
}

TEST_P(Tables, OfATreeAreShortestAndComplete) {
  for (const Topology& t : {make_xgft({4, 3, 2}, {1, 2, 3}, {1, 2, 1}), make_xgft({3, 5}, {1, 4}, {})}) {
    const RouteTable routes = table(GetParam(), t.graph);
    const RouteCheck check = check_routes(routes);
    EXPECT_EQ(check.missing + check.loops, 0u);
    const std::uint32_t n = t.graph->endpoints();
    for (std::uint32_t a = 0; a < n; ++a)
      for (std::uint32_t b = 0; b < n; ++b) {
        std::vector<LinkId> path;
        ASSERT_TRUE(routes.walk(a, b, path));
        EXPECT_EQ(path.size(), hops_between(*t.graph, std::span(&a, 1), std::span(&b, 1))[0]);
      }
  }
}
INSTANTIATE_TEST_SUITE_P(Routing, Tables, testing::Values(0, 1, 2));

TEST(UpDown, NeverGoesUpAfterDown) {
  const Topology torus = make_torus({4, 4});  // no tree at all
  const auto level = levels_of(*torus.graph);
  const RouteTable routes = up_down_routes(torus.graph, level);
  EXPECT_EQ(check_routes(routes).missing + check_routes(routes).loops, 0u);
  for (std::uint32_t a = 0; a < 16; ++a)
    for (std::uint32_t b = 0; b < 16; ++b) {
      std::vector<LinkId> path;
      ASSERT_TRUE(routes.walk(a, b, path));
      bool down = false;
      for (LinkId l : path) {
        if (!torus.graph->joins_routers(l)) continue;
        const auto s = torus.graph->src(l), d = torus.graph->dst(l);
        const bool up = level[d] > level[s] || (level[d] == level[s] && d < s);
        EXPECT_FALSE(up && down);
        down |= !up;
      }
    }
}

TEST(Ftree, RefusesATorus) { EXPECT_THROW(ftree_routes(make_torus({4, 4}).graph), std::invalid_argument); }

TEST(RouteCheck, FindsLoopsAndHoles) {
  const Topology t = make_torus({4});
  RouteTable routes = cheapest_routes(t.graph, std::vector<std::uint32_t>(2, 1));
  for (std::uint32_t r : {1u, 2u})  // 1 -> 2 -> 1 on the way to 0
    for (std::uint16_t i = 0; i < t.graph->out_links(r).size(); ++i)
      if (t.graph->dst(t.graph->out_links(r)[i]) == 3 - r) routes.set(r, 0, i);
  EXPECT_EQ(check_routes(routes).loops, 2u);
  routes.set(3, 1, RouteTable::kNoRoute);
  EXPECT_EQ(check_routes(routes).missing, 1u + (routes.link(2, 1) != kNone && t.graph->dst(routes.link(2, 1)) == 3));
}

TEST(LftDump, ReadsBothDialectsAndNamesTheLine) {
  const LftDump dump = parse_lft_dump(
      "Unicast lids [0-162] of switch Lid 2 guid 0x0002c90000100000 ('leaf (0)'):\n0x0001 001 # Channel Adapter "
      "portguid 0x00aa: 'n0'\n"
      "0x0007 013\n162 lids dumped\nUnicast lids [0x0-0x2] of switch DR path slid 0 guid 0x5 (leaf95):\r\n  Lid  Out   "
      "Destination\n"
      "0x0007 033 : (Channel Adapter portguid 0x00bb: 'n1')");
  ASSERT_EQ(dump.switches.size(), 2u);
  EXPECT_EQ(dump.switches[0].name, "leaf (0)");
  EXPECT_EQ(dump.switches[1].guid, 5u);
  EXPECT_EQ(dump.port, (std::vector<std::uint16_t>{1, 13, 33}));
  EXPECT_EQ(dump.port_guid, (std::vector<std::uint64_t>{0xaa, 0xbb, 0xbb}));
  const auto line_of = [](std::string_view text) -> std::string {
    try {
      parse_lft_dump(text);
    } catch (const LftSyntaxError& e) {
      return std::string(e.what()).substr(0, 7);
    }
    return "";
  };
  EXPECT_EQ(line_of("0x0001 001\n"), "line 1:");
  EXPECT_EQ(line_of("Unicast lids of switch guid 0x1 (a):\n0x1 999\n"), "line 2:");
  EXPECT_EQ(line_of("Unicast lids of switch guid 0x1 (a):\n\nhello\n"), "line 3:");
  EXPECT_EQ(line_of(""), "line 1:");
  EXPECT_EQ(line_of("\xEF\xBB\xBFUnicast lids of switch guid 0x1 (a):\n0x1 001\n0x1 001\n"), "");
  EXPECT_EQ(line_of("Unicast lids of switch guid 0x1 (a):\n0x1 001\n0x1 002\n"), "line 3:");
}

}  // namespace
