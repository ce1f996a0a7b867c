// A run in parts: the same to the last bit for any number of threads, and close to the run in one piece.
#include <gtest/gtest.h>

#include <cstring>

#include "sim/packet/simulate.h"
#include "sim/topology/torus.h"
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

void finish(Fabric& f, const Graph& graph, std::vector<double> latency_ns, std::uint32_t packet_bytes) {
  f.network = std::make_unique<Network>(
      graph, LinkParameters{std::move(latency_ns), std::vector<std::int32_t>(graph.links(), 12288), {}}, 50.0,
      packet_bytes);
  f.endpoints = graph.endpoints();
}

// `groups` fully meshed groups of four fully meshed routers with two endpoints each.
Fabric dragonfly(std::uint32_t groups, std::uint32_t packet_bytes) {
  const std::uint32_t size = 4, nodes = 2, routers = groups * size;
  LinkArrays links;
  std::vector<double> latency_ns;
  const auto cable = [&](Vertex a, Vertex b, double latency) {
    links.src.insert(links.src.end(), {a, b});
    links.dst.insert(links.dst.end(), {b, a});
    latency_ns.insert(latency_ns.end(), 2, latency);
  };
  for (std::uint32_t e = 0; e < routers * nodes; ++e) cable(e / nodes, routers + e, 20);
  std::vector<std::int32_t> group(routers);
  for (std::uint32_t r = 0; r < routers; ++r) {
    group[r] = static_cast<std::int32_t>(r / size);
    for (std::uint32_t other = r + 1; other < (r / size + 1) * size; ++other) cable(r, other, 20);
  }
  for (std::uint32_t a = 0; a < groups; ++a)
    for (std::uint32_t b = a + 1; b < groups; ++b) cable(a * size + b % size, b * size + a % size, 100);
  links.bandwidth_bps.assign(links.src.size(), kBandwidth);
  Fabric f;
  finish(f, Graph(routers, routers * nodes, std::move(links)), latency_ns, packet_bytes);
  f.routing = std::make_unique<Dragonfly>(*f.network, group, DragonflyOptions{});
  return f;
}

Fabric tree(std::uint32_t packet_bytes) {
  const Xgft shape({4, 4, 3}, {1, 2, 2});
  const Graph graph = shape.graph(kBandwidth);
  Fabric f;
  finish(f, graph, std::vector<double>(graph.links(), 10.0), packet_bytes);
  std::vector<std::int32_t> level(graph.routers());
  for (Vertex r = 0; r < graph.routers(); ++r) level[r] = static_cast<std::int32_t>(shape.level_of(r));
  f.routing = std::make_unique<Tree>(*f.network, level, std::vector<std::uint8_t>{});
  return f;
}

// A grid of 5 x 4 switches with an endpoint each, dimension order by a table: what a fabric of any file becomes.
Fabric grid(std::uint32_t packet_bytes) {
  const std::uint32_t width = 5, height = 4, routers = width * height;
  LinkArrays links;
  const auto cable = [&](Vertex a, Vertex b) {
    links.src.insert(links.src.end(), {a, b});
    links.dst.insert(links.dst.end(), {b, a});
  };
  std::vector<std::int32_t> level(routers);
  for (std::uint32_t r = 0; r < routers; ++r) {
    level[r] = static_cast<std::int32_t>(r % width + r / width);
    cable(r, routers + r);
    if (r % width + 1 < width) cable(r, r + 1);
    if (r / width + 1 < height) cable(r, r + width);
  }
  links.bandwidth_bps.assign(links.src.size(), kBandwidth);
  const Graph graph(routers, routers, std::move(links));
  Fabric f;
  finish(f, graph, std::vector<double>(graph.links(), 10.0), packet_bytes);
  std::vector<std::uint8_t> table(std::size_t{routers} * routers);
  for (std::uint32_t e = 0; e < routers; ++e)
    for (std::uint32_t r = 0; r < routers; ++r) {
      const std::uint32_t x = r % width, to = e % width;
      const std::uint32_t next = x < to ? r + 1 : x > to ? r - 1 : r < e ? r + width : r > e ? r - width : kNil;
      for (std::uint32_t k = 0; k < f.network->degree(r); ++k)
        if (f.network->peer(r * f.network->stride() + k) == next)
          table[std::size_t{e} * routers + r] = static_cast<std::uint8_t>(k);
    }
  f.routing = std::make_unique<Tree>(*f.network, level, std::move(table));
  return f;
}

Fabric torus(std::uint32_t packet_bytes) {
  const std::vector<std::uint32_t> dims{4, 3, 5};
  const Torus shape(dims);
  const Graph graph = shape.graph(kBandwidth);
  Fabric f;
  finish(f, graph, std::vector<double>(graph.links(), 20.0), packet_bytes);
  std::vector<std::uint32_t> place;
  for (std::uint32_t r = 0; r < shape.size(); ++r)
    for (std::uint32_t d = 0; d < dims.size(); ++d) place.push_back(shape.coordinate(r, d));
  f.routing = std::make_unique<TorusRouting>(*f.network, dims, place);
  return f;
}

// Flows of everybody to some others, of sizes that no packet divides.
WorkloadSpec flows(std::uint32_t endpoints, std::uint8_t mode, std::uint64_t seed) {
  WorkloadSpec w;
  w.ops.requires_begin = {0};
  w.default_mode = mode;
  w.seed = seed;
  packet::Random random(seed);
  for (std::uint32_t e = 0; e < endpoints; ++e)
    for (int k = 0; k < 4; ++k) {
      w.flows.src.push_back(e);
      w.flows.dst.push_back(k ? random.below(endpoints) : (e + endpoints / 2) % endpoints);
      w.flows.bytes.push_back(1 + random.below(60'000));
    }
  return w;
}

// Rounds of a ring: each rank sends to a rank of the round and waits for its receive before it goes on. Sizes stand on
// both sides of the eager limit, so that senders also wait for arrivals; background ends with the ranks.
WorkloadSpec rounds(std::uint32_t endpoints, std::uint8_t mode, std::uint64_t seed) {
  const std::uint32_t ranks = endpoints, count = 6;
  WorkloadSpec w;
  w.default_mode = mode;
  w.seed = seed;
  w.detours = {20'000, 500};
  packet::Random random(seed);
  OpArrays& ops = w.ops;
  ops.requires_begin = {0};
  const auto number = [&](std::uint32_t round, std::uint32_t rank, std::uint32_t kind) {
    return (round * ranks + rank) * 3 + kind;
  };
  for (std::uint32_t round = 0; round < count; ++round)
    for (std::uint32_t rank = 0; rank < ranks; ++rank)
      for (std::uint32_t kind = 0; kind < 3; ++kind) {
        const std::uint32_t to = (rank + 1 + round * 7 % (ranks - 1)) % ranks;
        ops.kind.push_back(static_cast<std::uint8_t>(kind));
        ops.rank.push_back(rank);
        ops.match.push_back(kind == 0 ? number(round, to, 1) : kNil);
        ops.amount.push_back(kind == 2 ? random.below(2000) : 1 + random.below(round % 2 ? 4'000 : 30'000));
        if (kind == 2)
          ops.required.insert(ops.required.end(), {number(round, rank, 0), number(round, rank, 1)});
        else if (round)
          ops.required.push_back(number(round - 1, rank, 2));
        ops.requires_begin.push_back(static_cast<std::uint32_t>(ops.required.size()));
      }
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    w.endpoint_of_rank.push_back(rank);
    w.job_of_rank.push_back(0);
    w.peers.push_back(rank);
  }
  for (std::uint32_t e = 0; e < endpoints; e += 2) {
    GeneratorSpec g;
    g.endpoint = e;
    g.peers_count = endpoints;
    g.message_bytes = 700;
    g.interval_ps = 900'000;
    g.job = 1;
    w.generators.push_back(g);
  }
  return w;
}

RunResult run(const Fabric& f, const WorkloadSpec& w, EngineOptions options, std::uint32_t threads) {
  RunControl control;
  options.jobs = 2;
  options.threads = threads;
  return simulate(*f.network, f.routing, w, options, EngineKind::kEager, control);
}

template <class T>
bool same(const FlatArray<T>& a, const FlatArray<T>& b) {
  return a.size() == b.size() && !std::memcmp(a.data(), b.data(), a.size() * sizeof(T));
}

void expect_same(const RunResult& a, const RunResult& b) {
  const RunStatistics &s = a.statistics, &t = b.statistics;
  EXPECT_TRUE(t.conserved);
  EXPECT_EQ(std::tie(a.workload_end, a.unfinished, s.sent_bytes, s.delivered_bytes, s.packets, s.packet_hops, s.events,
                     s.wakes, s.queued, s.minimal, s.non_minimal, s.peak_packets, s.packets_of_hops),
            std::tie(b.workload_end, b.unfinished, t.sent_bytes, t.delivered_bytes, t.packets, t.packet_hops, t.events,
                     t.wakes, t.queued, t.minimal, t.non_minimal, t.peak_packets, t.packets_of_hops));
  EXPECT_EQ(s.latency.mean_ns(), t.latency.mean_ns());
  EXPECT_EQ(s.latency.percentile_ns(0.99), t.latency.percentile_ns(0.99));
  for (std::size_t j = 0; j < s.jobs.size(); ++j)
    EXPECT_EQ(std::tie(s.jobs[j].bytes, s.jobs[j].hops, s.jobs[j].latency_ps, s.jobs[j].end),
              std::tie(t.jobs[j].bytes, t.jobs[j].hops, t.jobs[j].latency_ps, t.jobs[j].end));
  EXPECT_EQ(a.link_bytes, b.link_bytes);
  EXPECT_EQ(a.link_wait_ps, b.link_wait_ps);
  EXPECT_TRUE(same(a.vc_bytes, b.vc_bytes) && same(a.vc_packets, b.vc_packets) && same(a.vc_flits, b.vc_flits));
  EXPECT_TRUE(same(a.vc_stall_ps, b.vc_stall_ps));
  EXPECT_EQ(a.rank_end_ps, b.rank_end_ps);
  EXPECT_EQ(a.send_ps, b.send_ps);
  EXPECT_EQ(a.send_start_ps, b.send_start_ps);
  ASSERT_EQ(a.nics.size(), b.nics.size());
  for (std::size_t e = 0; e < a.nics.size(); ++e)
    EXPECT_EQ(std::tie(a.nics[e].responses, a.nics[e].stalled_ps, a.nics[e].latency_ps),
              std::tie(b.nics[e].responses, b.nics[e].stalled_ps, b.nics[e].latency_ps));
}

// One thread, two and three give the same; the run in one piece ends near them.
void compare(const Fabric& f, const WorkloadSpec& w, const EngineOptions& options) {
  const RunResult one = run(f, w, options, 1), whole = run(f, w, options, 0);
  EXPECT_TRUE(one.statistics.conserved);
  EXPECT_EQ(one.unfinished, 0u);
  for (const std::uint32_t threads : {2u, 3u}) expect_same(one, run(f, w, options, threads));
  EXPECT_NEAR(static_cast<double>(one.workload_end), static_cast<double>(whole.workload_end),
              0.15 * static_cast<double>(whole.workload_end));
}

TEST(Divided, DragonfliesAreTheSameForAnyNumberOfThreads) {
  std::uint64_t seed = 1;
  for (const int mode : {0, 1, 2, 3, 5, 8})
    for (const std::uint32_t bytes : {seed % 2 ? 500u : 2048u}) {
      const Fabric f = dragonfly(3 + seed % 4, bytes);
      compare(f, flows(f.endpoints, static_cast<std::uint8_t>(mode), seed), {bytes, seed});
      compare(f, rounds(f.endpoints, static_cast<std::uint8_t>(mode), seed), {bytes, seed});
      ++seed;
    }
}

TEST(Divided, TheNicProtocolIsTheSameForAnyNumberOfThreads) {
  const Fabric f = dragonfly(5, wire_limit(64, true));
  WorkloadSpec w = rounds(f.endpoints, static_cast<std::uint8_t>(DragonflyMode::kAdaptive2), 5);
  compare(f, w, {64, 9, true, 32});
  w.ops.mode.assign(w.ops.kind.size(), kChooses);
  compare(f, w, {64, 9, true, 32});
}

TEST(Divided, TreesAndGridsAreTheSameForAnyNumberOfThreads) {
  for (std::uint8_t mode = 0; mode < 3; ++mode)
    for (const std::uint32_t bytes : {mode % 2 ? 600u : 4096u}) {
      const Fabric t = tree(bytes), g = grid(bytes);
      compare(t, flows(t.endpoints, mode, 11 + mode), {bytes, 3});
      compare(t, rounds(t.endpoints, mode, 21 + mode), {bytes, 3});
      if (!mode) compare(g, flows(g.endpoints, mode, 31), {bytes, 3});
      if (!mode) compare(g, rounds(g.endpoints, mode, 41), {bytes, 3});
    }
}

TEST(Divided, ToriAreTheSameForAnyNumberOfThreads) {
  for (std::uint8_t mode = 0; mode < 2; ++mode)
    for (const std::uint32_t bytes : {600u, 4096u}) {
      const Fabric f = torus(bytes);
      compare(f, flows(f.endpoints, mode, 51 + mode), {bytes, 3});
      compare(f, rounds(f.endpoints, mode, 61 + mode), {bytes, 3});
    }
}

TEST(Divided, WhatKnowsOfRemoteQueuesAtOnceIsRefused) {
  const Fabric f = tree(2048);
  const WorkloadSpec w = flows(f.endpoints, 0, 1);
  EngineOptions sampled{2048, 1}, controlled{2048, 1}, classed{2048, 1};
  sampled.sampling = true;
  controlled.control.kind = ControlKind::kDcqcn;
  classed.classes = {{{0.5, 1, 0}}, {0, 0}};
  for (const EngineOptions& options : {sampled, controlled, classed})
    EXPECT_THROW(run(f, w, options, 2), std::invalid_argument);
}

TEST(Divided, AnOperationThatRequiresOneOfAnotherPartIsRefused) {
  const Fabric f = tree(2048);
  WorkloadSpec w;
  w.endpoint_of_rank = {0, f.endpoints - 1};
  w.job_of_rank = {0, 0};
  w.ops.kind = {2, 2};
  w.ops.rank = {0, 1};
  w.ops.match = {kNil, kNil};
  w.ops.amount = {100, 100};
  w.ops.requires_begin = {0, 0, 1};
  w.ops.required = {0};
  EXPECT_EQ(run(f, w, {2048, 1}, 0).unfinished, 0u);
  EXPECT_THROW(run(f, w, {2048, 1}, 2), std::invalid_argument);
}

TEST(Divided, ACancelledRunEndsAllThreads) {
  const Fabric f = tree(2048);
  RunControl control;
  control.cancelled = true;
  EngineOptions options{2048, 1};
  options.threads = 2;
  EXPECT_THROW(simulate(*f.network, f.routing, flows(f.endpoints, 0, 1), options, EngineKind::kEager, control),
               CancelledRun);
}

// Events a millisecond apart, so that windows are skipped and times lie beyond the wheel.
TEST(Divided, IdleTimeIsSkipped) {
  const Fabric f = tree(2048);
  WorkloadSpec w = rounds(f.endpoints, 1, 3);
  w.generators.clear();
  w.detours = {};
  for (std::size_t op = 0; op < w.ops.kind.size(); ++op)
    if (w.ops.kind[op] == 2) w.ops.amount[op] = 1'000'000 + w.ops.amount[op] * 300;
  compare(f, w, {2048, 1});
}

}  // namespace
