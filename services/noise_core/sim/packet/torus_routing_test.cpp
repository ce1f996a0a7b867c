#include "sim/packet/torus_routing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "sim/flow/routes.h"
#include "sim/packet/simulate.h"
#include "sim/topology/topology.h"

using namespace flitwatch::sim;
using namespace flitwatch::sim::packet;

namespace {

struct Fabric {
  Topology topology;
  std::unique_ptr<Network> network;
  packet::Routing routing;
  const TorusRouting& torus() const { return *std::get<std::unique_ptr<TorusRouting>>(routing); }
};

std::vector<std::uint32_t> places(const Torus& shape) {
  std::vector<std::uint32_t> place;
  for (std::uint32_t r = 0; r < shape.size(); ++r)
    for (std::uint32_t d = 0; d < shape.dims().size(); ++d) place.push_back(shape.coordinate(r, d));
  return place;
}

Fabric fabric_of(std::vector<std::uint32_t> dims, std::int32_t buffer_bytes = 4096) {
  Fabric f{make_torus(dims, 40e9), nullptr, {}};
  const Graph& graph = *f.topology.graph;
  f.network = std::make_unique<Network>(
      graph,
      LinkParameters{
          std::vector<double>(graph.links(), 20.0), std::vector<std::int32_t>(graph.links(), buffer_bytes), {}},
      50.0, 2048);
  f.routing = std::make_unique<TorusRouting>(*f.network, dims, places(std::get<Torus>(f.topology.shape)));
  return f;
}

struct FixedView {
  std::uint64_t bits;
  std::uint64_t random() const { return bits; }
  void count(bool) const {}
};

struct Step {
  PortId port;
  std::uint32_t vc;
  bool operator<(const Step& other) const { return std::tie(port, vc) < std::tie(other.port, other.vc); }
};

// The steps of one packet, looked up ahead as the engine does, its ejection left out.
std::vector<Step> walk(const Fabric& f, std::uint32_t src, std::uint32_t dst, TorusMode mode, std::uint32_t by = 0) {
  Packet p{};
  FixedView view{((std::uint64_t{by} << 32) / f.network->routers() + 1) << 32};
  p.src = src;
  p.dst = dst;
  p.mode = static_cast<std::uint8_t>(mode);
  p.cur = f.network->router_of(src);
  p.next = kNil;
  f.torus().start(p, view);
  std::vector<Step> steps;
  while (steps.size() < 300) {
    const PortId port = f.torus().route(p, p.next, view);
    if (f.network->ejects(port)) {
      EXPECT_EQ(port, p.cur * f.network->stride() + f.network->eject_port(dst));
      EXPECT_EQ(p.cur, f.network->router_of(dst));
      return steps;
    }
    steps.push_back({port, f.torus().vc(p)});
    p.cur = f.network->peer(port);
    p.next = f.torus().look_ahead(p);
    EXPECT_EQ(f.torus().port_ahead(p, view) / f.network->stride(), p.cur);
  }
  ADD_FAILURE() << src << " to " << dst << " does not arrive";
  return steps;
}

const std::vector<std::vector<std::uint32_t>> kShapes = {{7},       {4, 4},    {5, 3},   {2, 2, 2},
                                                         {4, 1, 3}, {3, 2, 4}, {6, 5, 2}};

TEST(TorusRouting, TakesTheLinksOfTheFlowEngine) {
  for (const auto& dims : kShapes) {
    const Fabric f = fabric_of(dims);
    const TorusRoutes routes(std::get<Torus>(f.topology.shape));
    for (std::uint32_t src = 0; src < f.network->endpoints(); ++src)
      for (std::uint32_t dst = 0; dst < f.network->endpoints(); ++dst) {
        if (src == dst) continue;
        std::vector<RingRun> runs(routes.most_steps());
        runs.resize(static_cast<std::size_t>(routes.route(src, dst, 0, runs.data()) - runs.data()));
        std::set<LinkId> expected;
        for (const RingRun& run : runs)
          for (std::uint32_t k = 0; k < run.length; ++k) expected.insert(run.ring + (run.begin + k) % run.size);
        std::set<LinkId> taken{
            f.topology.graph->injection_link(src),
            f.network->link_of_port(f.network->router_of(dst) * f.network->stride() + f.network->eject_port(dst))};
        for (const Step& step : walk(f, src, dst, TorusMode::kDimensionOrder))
          taken.insert(f.network->link_of_port(step.port));
        EXPECT_EQ(taken, expected) << src << " to " << dst;
      }
  }
}

// Dally and Seitz 1987: no circle of channels waits for one another.
TEST(TorusRouting, IsFreeOfDeadlock) {
  for (const auto& dims : kShapes) {
    const Fabric f = fabric_of(dims);
    std::map<Step, std::set<Step>> waits;
    std::map<Step, int> incoming;
    const auto note = [&](const std::vector<Step>& steps) {
      for (const Step& step : steps) incoming.try_emplace(step, 0);
      for (std::size_t k = 1; k < steps.size(); ++k)
        if (waits[steps[k - 1]].insert(steps[k]).second) ++incoming[steps[k]];
    };
    for (std::uint32_t src = 0; src < f.network->endpoints(); ++src)
      for (std::uint32_t dst = 0; dst < f.network->endpoints(); ++dst) {
        note(walk(f, src, dst, TorusMode::kDimensionOrder));
        for (std::uint32_t by = 0; by < f.network->routers(); ++by) note(walk(f, src, dst, TorusMode::kValiant, by));
      }
    std::vector<Step> ready;
    for (const auto& [step, count] : incoming)
      if (!count) ready.push_back(step);
    for (std::size_t done = 0; done < ready.size(); ++done)
      for (const Step& next : std::set<Step>(waits[ready[done]]))
        if (!--incoming[next]) ready.push_back(next);
    EXPECT_EQ(ready.size(), incoming.size()) << "a circle among " << incoming.size() - ready.size() << " channels";
  }
}

TEST(TorusRouting, ValiantPassesItsRouter) {
  const Fabric f = fabric_of({5, 3});
  for (std::uint32_t by = 0; by < 15; ++by) {
    const std::vector<Step> steps = walk(f, 1, 13, TorusMode::kValiant, by);
    const bool passes =
        std::any_of(steps.begin(), steps.end(), [&](const Step& step) { return f.network->peer(step.port) == by; });
    EXPECT_TRUE(passes || by == 1) << by;
    EXPECT_EQ(steps.size(),
              walk(f, 1, by, TorusMode::kDimensionOrder).size() + walk(f, by, 13, TorusMode::kDimensionOrder).size());
  }
}

// Everybody to everybody in buffers of two packets: rings fill up all round.
TEST(TorusRouting, SaturationEndsWithAllBytesAndCreditsBack) {
  for (const auto& dims : kShapes)
    for (const TorusMode mode : {TorusMode::kDimensionOrder, TorusMode::kValiant})
      for (const EngineKind kind : {EngineKind::kEager, EngineKind::kOracleOldest}) {
        const Fabric f = fabric_of(dims);
        WorkloadSpec w;
        w.ops.requires_begin = {0};
        w.default_mode = static_cast<std::uint8_t>(mode);
        for (std::uint32_t e = 0; e < f.network->endpoints(); ++e)
          for (std::uint32_t by = 1; by < f.network->endpoints(); ++by) {
            w.flows.src.push_back(e);
            w.flows.dst.push_back((e + by) % f.network->endpoints());
            w.flows.bytes.push_back(20'000);
          }
        RunControl control;
        const RunResult r = simulate(*f.network, f.routing, w, {2048}, kind, control);
        EXPECT_TRUE(r.statistics.conserved);
        EXPECT_EQ(r.statistics.delivered_bytes,
                  std::accumulate(w.flows.bytes.begin(), w.flows.bytes.end(), std::uint64_t{0}));
        const bool straight = mode == TorusMode::kDimensionOrder;
        EXPECT_EQ(straight ? r.statistics.minimal : r.statistics.non_minimal, r.statistics.packets);
      }
}

TEST(TorusRouting, RefusesWhatIsNoTorus) {
  const Fabric f = fabric_of({4, 3});
  auto place = places(std::get<Torus>(f.topology.shape));
  EXPECT_THROW(TorusRouting(*f.network, {3, 4}, place), std::invalid_argument);  // outside
  EXPECT_THROW(TorusRouting(*f.network, {4, 4}, place), std::invalid_argument);  // too few routers
  EXPECT_THROW(TorusRouting(*f.network, {0, 0}, place), std::invalid_argument);
  EXPECT_THROW(TorusRouting(*f.network, {}, {}), std::invalid_argument);
  auto twice = place;
  twice[2] = twice[0], twice[3] = twice[1];
  EXPECT_THROW(TorusRouting(*f.network, {4, 3}, twice), std::invalid_argument);
  auto swapped = place;  // routers 0 and 2 of one row
  std::swap(swapped[0], swapped[4]);
  EXPECT_THROW(TorusRouting(*f.network, {4, 3}, swapped), std::invalid_argument);
  EXPECT_THROW(fabric_of({260}), std::invalid_argument);  // hops beyond what a packet counts

  const Graph& whole = *f.topology.graph;  // without the cables of link 0's two routers
  LinkArrays some;
  for (LinkId l = 0; l < whole.links(); ++l) {
    if (std::minmax(whole.src(l), whole.dst(l)) == std::minmax(whole.src(0), whole.dst(0))) continue;
    some.src.push_back(whole.src(l));
    some.dst.push_back(whole.dst(l));
    some.bandwidth_bps.push_back(40e9);
  }
  const std::size_t links = some.src.size();
  const Graph broken(whole.routers(), whole.endpoints(), std::move(some));
  const Network network(
      broken, LinkParameters{std::vector<double>(links, 20.0), std::vector<std::int32_t>(links, 4096), {}}, 50, 2048);
  EXPECT_THROW(TorusRouting(network, {4, 3}, place), std::invalid_argument);
}

}  // namespace
