#include <gtest/gtest.h>

#include <numeric>
#include <thread>

#include "sim/packet/simulate.h"
#include "sim/topology/xgft.h"

using namespace flitwatch::sim;
using namespace flitwatch::sim::packet;

namespace {

constexpr double kBandwidth = 40e9;

struct Fabric {
  std::unique_ptr<Network> network;
  packet::Routing routing;
  std::uint32_t endpoints;
};

// `groups` fully meshed groups of four fully meshed routers with two endpoints each.
Fabric dragonfly(std::uint32_t groups, bool through_router, std::uint32_t packet_bytes,
                 std::int32_t buffer_bytes = 8192) {
  const std::uint32_t size = 4, nodes = 2, routers = groups * size;
  LinkArrays links;
  const auto cable = [&](Vertex a, Vertex b) {
    links.src.insert(links.src.end(), {a, b});
    links.dst.insert(links.dst.end(), {b, a});
  };
  for (std::uint32_t e = 0; e < routers * nodes; ++e) cable(e / nodes, routers + e);
  std::vector<std::int32_t> group(routers);
  for (std::uint32_t r = 0; r < routers; ++r) {
    group[r] = static_cast<std::int32_t>(r / size);
    for (std::uint32_t other = r + 1; other < (r / size + 1) * size; ++other) cable(r, other);
  }
  for (std::uint32_t a = 0; a < groups; ++a)
    for (std::uint32_t b = a + 1; b < groups; ++b) cable(a * size + b % size, b * size + a % size);
  links.bandwidth_bps.assign(links.src.size(), kBandwidth);
  const std::size_t n = links.src.size();
  const Graph graph(routers, routers * nodes, std::move(links));
  Fabric f;
  f.network = std::make_unique<Network>(
      graph, LinkParameters{std::vector<double>(n, 30.0), std::vector<std::int32_t>(n, buffer_bytes), {}}, 50.0,
      packet_bytes);
  DragonflyOptions options;
  options.through_router = through_router;
  f.routing = std::make_unique<Dragonfly>(*f.network, group, options);
  f.endpoints = routers * nodes;
  return f;
}

Fabric tree(std::uint32_t packet_bytes, std::int32_t buffer_bytes = 16384) {
  const Xgft shape({4, 4, 2}, {1, 2, 2});
  const Graph graph = shape.graph(kBandwidth);
  Fabric f;
  f.network = std::make_unique<Network>(
      graph,
      LinkParameters{
          std::vector<double>(graph.links(), 10.0), std::vector<std::int32_t>(graph.links(), buffer_bytes), {}},
      90.0, packet_bytes);
  std::vector<std::int32_t> level(graph.routers());
  for (Vertex r = 0; r < graph.routers(); ++r) level[r] = static_cast<std::int32_t>(shape.level_of(r));
  f.routing = std::make_unique<Tree>(*f.network, level, std::vector<std::uint8_t>{});
  f.endpoints = graph.endpoints();
  return f;
}

// Everybody sends to the endpoint half the fabric away, and to a random one.
WorkloadSpec pressure(std::uint32_t endpoints, std::uint64_t bytes, std::uint8_t mode, std::uint64_t seed = 3) {
  WorkloadSpec w;
  w.ops.requires_begin = {0};
  w.default_mode = mode;
  w.seed = seed;
  packet::Random random(seed);
  for (std::uint32_t e = 0; e < endpoints; ++e)
    for (std::uint32_t to : {(e + endpoints / 2) % endpoints, random.below(endpoints)}) {
      if (to == e) continue;
      w.flows.src.push_back(e);
      w.flows.dst.push_back(to);
      w.flows.bytes.push_back(bytes);
    }
  return w;
}

RunResult run(const Fabric& f, const WorkloadSpec& w, EngineOptions options, EngineKind kind = EngineKind::kEager) {
  RunControl control;
  return simulate(*f.network, f.routing, w, options, kind, control);
}

std::string words(const std::vector<std::string>& lines) {
  return std::accumulate(lines.begin(), lines.end(), std::string{}, [](auto a, const auto& b) { return a + b + "; "; });
}

std::uint64_t sum(const std::vector<std::uint64_t>& values) {
  return std::accumulate(values.begin(), values.end(), std::uint64_t{0});
}

class EveryDragonflyMode : public testing::TestWithParam<std::tuple<int, bool, std::uint32_t, bool>> {};

TEST_P(EveryDragonflyMode, SaturationEndsWithAllBytesAndCreditsBack) {
  const auto [mode, through_router, packet_bytes, protocol] = GetParam();
  const Fabric f = dragonfly(5, through_router, wire_limit(packet_bytes, protocol));
  const WorkloadSpec w = pressure(f.endpoints, 40'000, static_cast<std::uint8_t>(mode));
  const RunResult r = run(f, w, {packet_bytes, 1, protocol, 64});
  EXPECT_TRUE(r.statistics.conserved) << words(r.statistics.violations);
  EXPECT_EQ(r.statistics.delivered_bytes, sum(w.flows.bytes));
  EXPECT_EQ(r.unfinished, 0u);
  EXPECT_EQ(r.statistics.minimal + r.statistics.non_minimal, r.statistics.packets * (protocol ? 2 : 1));
  for (const NicCounters& nic : r.nics) EXPECT_EQ(nic.request_packets, nic.responses);  // none without the protocol
}
INSTANTIATE_TEST_SUITE_P(Packet, EveryDragonflyMode,
                         testing::Combine(testing::Range(0, 9), testing::Bool(), testing::Values(64u, 500u, 2048u),
                                          testing::Bool()));

class EveryTreeMode : public testing::TestWithParam<std::tuple<int, std::uint32_t>> {};

TEST_P(EveryTreeMode, SaturationEndsWithAllBytesAndCreditsBack) {
  const auto [mode, packet_bytes] = GetParam();
  const Fabric f = tree(packet_bytes);
  const WorkloadSpec w = pressure(f.endpoints, 200'000, static_cast<std::uint8_t>(mode));
  const RunResult r = run(f, w, {packet_bytes});
  EXPECT_TRUE(r.statistics.conserved) << words(r.statistics.violations);
  EXPECT_EQ(r.statistics.delivered_bytes, sum(w.flows.bytes));
}
INSTANTIATE_TEST_SUITE_P(Packet, EveryTreeMode,
                         testing::Combine(testing::Range(0, 3), testing::Values(64u, 777u, 4096u)));

TEST(Engine, CountersOfALinkAddUpToItsBytes) {
  const Fabric f = dragonfly(4, false, 2048);
  const RunResult r = run(f, pressure(f.endpoints, 100'000, 3), {2048});
  const std::size_t links = f.network->links();
  std::uint64_t into_fabric = 0, out_of_fabric = 0;
  for (LinkId l = 0; l < links; ++l) {
    std::uint64_t bytes = 0, packets = 0;
    for (std::uint32_t vc = 0; vc < r.vcs; ++vc) {
      bytes += r.vc_bytes[vc * links + l];
      packets += r.vc_packets[vc * links + l];
    }
    EXPECT_EQ(bytes, r.link_bytes[l]);
    EXPECT_LE(bytes, packets * 2048);
    const PortId port = f.network->port_of_link(l);
    if (port >= f.network->router_ports())
      into_fabric += bytes;
    else if (f.network->ejects(port))
      out_of_fabric += bytes;
  }
  EXPECT_EQ(into_fabric, r.statistics.sent_bytes);
  EXPECT_EQ(out_of_fabric, r.statistics.delivered_bytes);
}

TEST(Engine, CountersOutgrowTheirNarrowForm) {
  // 5 GB over one link, and a receiver that two senders overrun for most of a second.
  const Fabric f = tree(8192, 65536);
  WorkloadSpec w;
  w.ops.requires_begin = {0};
  w.flows = {{0, 1}, {4, 4}, {2'500'000'000, 2'500'000'000}};
  const RunResult r = run(f, w, {8192});
  ASSERT_TRUE(r.statistics.conserved);
  const std::size_t links = f.network->links();
  std::uint64_t largest = 0, stall = 0;
  for (std::size_t i = 0; i < r.vcs * links; ++i) stall += r.vc_stall_ps[i];
  for (std::uint64_t bytes : r.link_bytes) largest = std::max(largest, bytes);
  EXPECT_EQ(largest, 5'000'000'000u);
  EXPECT_GT(stall, Time{1} << 36);
}

TEST(Engine, ThreadsDoNotChangeAResult) {
  const Fabric f = dragonfly(5, false, 1024);
  const WorkloadSpec w = pressure(f.endpoints, 60'000, 4);
  const RunResult alone = run(f, w, {1024, 7});
  RunResult pair[2];
  std::thread other([&] { pair[1] = run(f, w, {1024, 7}); });
  pair[0] = run(f, w, {1024, 7});
  other.join();
  for (const RunResult& r : pair) {
    EXPECT_EQ(r.workload_end, alone.workload_end);
    EXPECT_EQ(r.statistics.events, alone.statistics.events);
    EXPECT_EQ(r.link_bytes, alone.link_bytes);
    EXPECT_EQ(r.link_wait_ps, alone.link_wait_ps);
    EXPECT_EQ(r.statistics.latency.mean_ns(), alone.statistics.latency.mean_ns());
  }
  EXPECT_NE(run(f, w, {1024, 8}).statistics.events, alone.statistics.events);
}

TEST(Engine, CancelEndsARunAndBadWorkloadsAreRefused) {
  const Fabric f = tree(2048);
  RunControl control;
  control.cancelled = true;
  EXPECT_THROW(
      simulate(*f.network, f.routing, pressure(f.endpoints, 50'000'000, 0), {2048}, EngineKind::kEager, control),
      CancelledRun);
  WorkloadSpec bad;
  bad.ops.requires_begin = {0};
  bad.flows = {{0}, {f.endpoints}, {1}};
  EXPECT_THROW(run(f, bad, {2048}), std::invalid_argument);
}

// Credits against the plain definition: a balance and a sorted list.
template <std::uint32_t kInPlace, bool kBalanceIsRead>
void credits_agree_with_a_sorted_list() {
  packet::Random random(11);
  for (int round = 0; round < 200; ++round) {
    CreditStore<Channel<kInPlace>> store;
    Channel<kInPlace> c{};
    c.spill = kNil;
    c.credit = 1 << 20;
    std::vector<std::pair<Time, std::int32_t>> later;
    std::int64_t balance = c.credit;
    Time now = 0;
    for (int step = 0; step < 400; ++step) {
      now += random.below(50);
      const Time when = now + random.below(random.below(4) ? 400 : 4000);
      if (random.below(2) && balance > 0) {
        Time wake = 0;
        const std::int32_t size = static_cast<std::int32_t>(1 + random.below(1 << 13));
        std::int64_t known = balance;
        for (const auto& [time, bytes] : later) known += time <= now ? bytes : 0;
        if (!store.template take<kBalanceIsRead>(c, size, now, now, wake)) {
          EXPECT_LT(known, size);
        } else {
          EXPECT_GE(known, size);
          balance -= size;
        }
      } else {
        const std::int32_t bytes = static_cast<std::int32_t>(1 + random.below(1 << 12));
        store.give_back(c, now, when, static_cast<std::uint32_t>(bytes));
        later.emplace_back(when, bytes);
      }
      std::int64_t known = balance, total = balance;
      for (const auto& [time, bytes] : later) {
        known += time <= now ? bytes : 0;
        total += bytes;
      }
      ASSERT_EQ(store.known(c, now), known);
      ASSERT_EQ(store.total(c), total);
    }
  }
}

TEST(Credits, AgreeWithASortedList) {
  credits_agree_with_a_sorted_list<3, true>();
  credits_agree_with_a_sorted_list<3, false>();
  credits_agree_with_a_sorted_list<11, false>();
}

}  // namespace
