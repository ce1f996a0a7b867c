// Traffic classes against closed forms: shares, maxima and priorities of a link, and what one class can do to another.
#include <gtest/gtest.h>

#include <cmath>

#include "sim/packet/simulate.h"
#include "sim/topology/xgft.h"

using namespace flitwatch::sim;
using namespace flitwatch::sim::packet;

namespace {

constexpr double kBandwidth = 40e9;
constexpr std::uint32_t kPacket = 2048;
constexpr double kPacketPs = kPacket * 8e12 / kBandwidth;
constexpr std::uint64_t kMegabyte = 1 << 20;

// Two leaf switches with four endpoints each, joined by one spine: endpoints 0 to 3 share a link to 4 to 7.
struct Site {
  std::unique_ptr<Network> network;
  packet::Routing routing;
};
Site site(std::int32_t buffer_bytes = 32768, std::uint32_t lanes = 1) {
  const Xgft shape({4, 2}, {1, 1});
  const Graph graph = shape.graph(kBandwidth);
  Site s;
  s.network = std::make_unique<Network>(
      graph,
      LinkParameters{
          std::vector<double>(graph.links(), 10.0), std::vector<std::int32_t>(graph.links(), buffer_bytes), {}},
      90.0, kPacket);
  std::vector<std::int32_t> level(graph.routers());
  for (Vertex r = 0; r < graph.routers(); ++r) level[r] = static_cast<std::int32_t>(shape.level_of(r));
  s.routing = std::make_unique<Tree>(*s.network, level, std::vector<std::uint8_t>{}, lanes);
  return s;
}

struct Sent {
  std::uint32_t src, dst, job;
  std::uint64_t bytes;
  std::uint64_t after_ns = 0;
};
// Each message between ranks of its own: compute, send, receive.
WorkloadSpec messages(const std::vector<Sent>& sent) {
  WorkloadSpec w;
  OpArrays& ops = w.ops;
  ops.requires_begin = {0};
  const auto add = [&](OpKind kind, std::uint32_t rank, std::uint32_t match, std::uint64_t amount) {
    ops.kind.push_back(static_cast<std::uint8_t>(kind));
    ops.rank.push_back(rank);
    ops.match.push_back(match);
    ops.amount.push_back(amount);
    ops.requires_begin.push_back(static_cast<std::uint32_t>(ops.required.size()));
  };
  for (const Sent& one : sent) {
    const auto first = static_cast<std::uint32_t>(ops.kind.size()),
               rank = static_cast<std::uint32_t>(w.endpoint_of_rank.size());
    w.endpoint_of_rank.insert(w.endpoint_of_rank.end(), {one.src, one.dst});
    w.job_of_rank.insert(w.job_of_rank.end(), 2, static_cast<std::uint8_t>(one.job));
    add(OpKind::kCompute, rank, kNil, one.after_ns);
    ops.required.push_back(first);
    add(OpKind::kSend, rank, first + 2, one.bytes);
    add(OpKind::kReceive, rank + 1, kNil, one.bytes);
  }
  return w;
}

// Each job is a class of its own.
EngineOptions options(std::vector<TrafficClass> classes, std::uint32_t jobs = 2) {
  EngineOptions o;
  o.packet_bytes = kPacket;
  o.jobs = jobs;
  o.classes.classes = std::move(classes);
  for (std::uint32_t job = 0; job < jobs && !o.classes.classes.empty(); ++job)
    o.classes.of_job.push_back(static_cast<std::uint8_t>(job % o.classes.classes.size()));
  return o;
}

RunResult run(const Site& s, const WorkloadSpec& w, const EngineOptions& o, EngineKind kind = EngineKind::kEager) {
  RunControl control;
  RunResult r = simulate(*s.network, s.routing, w, o, kind, control);
  EXPECT_TRUE(r.statistics.conserved) << (r.statistics.violations.empty() ? "" : r.statistics.violations[0]);
  return r;
}
double end_of(const RunResult& r, std::uint32_t job) { return static_cast<double>(r.statistics.jobs[job].end); }
double wire_ps(double bytes, double share = 1) { return bytes * 8e12 / kBandwidth / share; }
constexpr double kLatencyPs = 400'000;  // of the first packet's head through three switches, at most

// ---- one link ----

struct Place {
  const char* name;
  std::uint32_t src[2], dst[2];
};
void PrintTo(const Place& place, std::ostream* out) { *out << place.name; }
class OfOneLink : public testing::TestWithParam<Place> {};

TEST_P(OfOneLink, TwoSaturatingClassesShareByTheirMinima) {
  const Place& at = GetParam();
  const RunResult r =
      run(site(), messages({{at.src[0], at.dst[0], 0, kMegabyte}, {at.src[1], at.dst[1], 1, kMegabyte}}),
          options({{0.6}, {0.2}}));  // 3 : 1, and what nobody was promised alike
  EXPECT_NEAR(end_of(r, 0), wire_ps(kMegabyte, 0.75) + kLatencyPs / 2, 2 * kPacketPs + kLatencyPs / 2);
  EXPECT_NEAR(end_of(r, 1), wire_ps(2 * kMegabyte) + kLatencyPs / 2, 2 * kPacketPs + kLatencyPs / 2);
}
INSTANTIATE_TEST_SUITE_P(Classes, OfOneLink,
                         testing::Values(Place{"nic", {0, 0}, {1, 2}}, Place{"trunk", {0, 1}, {4, 5}},
                                         Place{"node", {0, 1}, {2, 2}}));

TEST(Classes, AnIdleClassLeavesItsShare) {
  const WorkloadSpec alone = messages({{0, 4, 0, kMegabyte}});
  const RunResult free = run(site(), alone, options({}, 1));
  EngineOptions o = options({{0.25}, {0.75}});
  o.jobs = 1;
  o.classes.of_job = {0};
  const RunResult held = run(site(), alone, o);
  EXPECT_NEAR(end_of(held, 0), end_of(free, 0), kPacketPs);
}

TEST(Classes, AClassWithoutAMinimumTakesWhatIsLeft) {
  const RunResult r = run(site(), messages({{0, 4, 0, kMegabyte}, {1, 5, 1, kMegabyte}}), options({{0.1, 0.5}, {0.0}}));
  EXPECT_NEAR(end_of(r, 0), wire_ps(kMegabyte, 0.5) + kLatencyPs / 2, 3 * kPacketPs + kLatencyPs / 2);
  EXPECT_NEAR(end_of(r, 1), wire_ps(2 * kMegabyte) + kLatencyPs / 2, 3 * kPacketPs + kLatencyPs / 2);
}

TEST(Classes, AMaximumHoldsOnAnIdleLink) {
  for (const double maximum : {0.5, 0.3}) {
    const RunResult r = run(site(), messages({{0, 4, 0, kMegabyte}}), options({{0.1, maximum}}, 1));
    EXPECT_NEAR(end_of(r, 0), wire_ps(kMegabyte, maximum), 2 * kPacketPs / maximum + kLatencyPs);
  }
}

TEST(Classes, PriorityGoesFirstAndTheOthersMinimumHolds) {
  const WorkloadSpec both = messages({{0, 4, 0, kMegabyte}, {1, 5, 1, kMegabyte}});
  const RunResult kept = run(site(), both, options({{0.2, 1, 1}, {0.3, 1, 0}}));
  EXPECT_NEAR(end_of(kept, 0), wire_ps(kMegabyte, 0.7) + kLatencyPs / 2, 4 * kPacketPs + kLatencyPs / 2);
  EXPECT_NEAR(end_of(kept, 1), wire_ps(2 * kMegabyte) + kLatencyPs / 2, 2 * kPacketPs + kLatencyPs / 2);
  const RunResult none = run(site(), both, options({{0.2, 1, 1}, {0.0, 1, 0}}));
  EXPECT_NEAR(end_of(none, 0), wire_ps(kMegabyte) + kLatencyPs / 2, 4 * kPacketPs + kLatencyPs / 2);
}

// ---- between classes ----

// Class 1 sends 3 MB to one node from both sides, so that its buffers on the shared link stand full; class 0 crosses
// it.
std::vector<Sent> burst_beside(std::vector<Sent> sent) {
  for (std::uint32_t src : {1u, 2u, 3u, 6u, 7u}) sent.push_back({src, 5, 1, kMegabyte});
  return sent;
}

TEST(Classes, ABurstDoesNotDelayAnotherClass) {
  const std::vector<Sent> own = {{0, 4, 0, kMegabyte / 4, 200'000}};
  const Site s = site(65536);
  const RunResult share = run(s, messages(own), options({{0.5, 0.5}, {0.5}}));
  const RunResult classed = run(s, messages(burst_beside(own)), options({{0.5}, {0.5}}));
  const RunResult mixed = run(s, messages(burst_beside(own)), options({}));
  const double alone = end_of(share, 0);
  EXPECT_LE(end_of(classed, 0), alone + 5 * kPacketPs);  // a packet a link
  EXPECT_GT(end_of(mixed, 0) - 2e8, 1.5 * (alone - 2e8));
}

TEST(Classes, AMessageDoesNotWaitBehindOneOfABlockedClass) {
  const std::vector<Sent> same_nic = {{1, 4, 0, kMegabyte / 4, 200'000}};
  const RunResult share = run(site(), messages(same_nic), options({{0.5, 0.5}, {0.5}}));
  const RunResult classed = run(site(), messages(burst_beside(same_nic)), options({{0.5}, {0.5}}));
  const RunResult mixed = run(site(), messages(burst_beside(same_nic)), options({}));
  EXPECT_LE(end_of(classed, 0), end_of(share, 0) + 5 * kPacketPs);
  EXPECT_GT(end_of(mixed, 0) - 2e8, 3 * (end_of(share, 0) - 2e8));
}

TEST(Classes, AdaptiveRoutingAndLanesKeepEveryByteAndCredit) {
  std::vector<Sent> sent;
  packet::Random random(5);
  for (std::uint32_t n = 0; n < 200; ++n) {
    const std::uint32_t src = random.below(8), dst = random.below(8);
    if (src != dst) sent.push_back({src, dst, random.below(3), 1 + random.below(40'000), random.below(2) * 20'000ull});
  }
  std::uint64_t bytes[3] = {};
  for (const Sent& one : sent) bytes[one.job] += one.bytes;
  const Site s = site(8192, 3);
  EngineOptions o = options({{0.5, 0.8, 1}, {0.2}, {0.0, 0.9}}, 3);
  const RunResult first = run(s, messages(sent), o), again = run(s, messages(sent), o);
  EXPECT_EQ(first.vcs, 9u);
  EXPECT_EQ(first.workload_end, again.workload_end);
  EXPECT_EQ(first.statistics.events, again.statistics.events);
  for (std::uint32_t k = 0; k < 3; ++k) {
    EXPECT_EQ(first.statistics.classes[k].bytes, bytes[k]);
    EXPECT_EQ(first.statistics.jobs[k].bytes, bytes[k]);
  }
  o.control.kind = ControlKind::kPairs;
  EXPECT_EQ(run(s, messages(sent), o).statistics.delivered_bytes, first.statistics.delivered_bytes);
  o.control.kind = ControlKind::kDcqcn;
  EXPECT_EQ(run(s, messages(sent), o).statistics.delivered_bytes, first.statistics.delivered_bytes);
}

TEST(Classes, CongestionControlHoldsBackAPairInItsClassAlone) {
  // One pair sends in both classes; the burst congests the node in class 1.
  const std::vector<Sent> sent = burst_beside({{1, 5, 0, kMegabyte / 4, 200'000}});
  EngineOptions o = options({{0.5}, {0.5}});
  const double free = end_of(run(site(), messages(sent), o), 0);
  o.control.kind = ControlKind::kPairs;
  EXPECT_LE(end_of(run(site(), messages(sent), o), 0), free + 5 * kPacketPs);
}

TEST(Classes, GeneratedTrafficHasTheClassOfItsJob) {
  WorkloadSpec w = messages({{0, 4, 0, kMegabyte / 4}});
  w.peers = {5};
  w.generators = {{1, 0, 1, 4096, 0, 0, false, false, 1}};  // as fast as the NIC takes it, until the job ends
  const RunResult r = run(site(), w, options({{0.8}, {0.2}}));
  EXPECT_NEAR(end_of(r, 0), wire_ps(kMegabyte / 4, 0.8) + kLatencyPs / 2, 3 * kPacketPs + kLatencyPs / 2);
  EXPECT_GT(r.statistics.classes[1].bytes, kMegabyte / 20);
}

// ---- the arbiter alongside fluid sharing ----

// Any two classes that always have something to send differ, in bytes over minimum and in any window, by a packet of
// each at most (Goyal 1996, theorem 1).
TEST(ClassArbiter, StaysAPacketFromFluidSharing) {
  const std::vector<TrafficClass> classes = {{0.5}, {0.3}, {0.15}};
  ClassArbiter arbiter(classes, 1);
  const LinkTiming link{static_cast<std::uint64_t>(200 * 65536), 0, 0};
  packet::Random random(3);
  double sent[3] = {}, least[3][3] = {}, most[3][3] = {}, bound[3][3] = {};
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) bound[i][j] = 2048 / classes[i].minimum + 2048 / classes[j].minimum;
  Time now = 0;
  std::uint32_t bytes[3] = {2048, 64, 700};
  for (int n = 0; n < 20'000; ++n) {
    const std::uint32_t k = arbiter.choose(0, bytes, now, link);
    sent[k] += bytes[k] / classes[k].minimum;
    now += link.serialise(bytes[k]);
    bytes[k] = 1 + random.below(2048);
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) {
        least[i][j] = std::min(least[i][j], sent[i] - sent[j]);
        most[i][j] = std::max(most[i][j], sent[i] - sent[j]);
      }
  }
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) EXPECT_LE(most[i][j] - least[i][j], bound[i][j]);
  EXPECT_NEAR(sent[0] / static_cast<double>(now), sent[2] / static_cast<double>(now), 1e-4);
}

// ---- what does not fit ----

std::string refused(EngineOptions o, EngineKind kind = EngineKind::kEager) {
  try {
    run(site(), messages({{0, 4, 0, 1000}, {1, 5, 1, 1000}}), o, kind);
  } catch (const std::invalid_argument& wrong) {
    return wrong.what();
  }
  return "taken";
}

TEST(Classes, WhatDoesNotFitIsNamed) {
  EXPECT_EQ(refused(options({{0.7}, {0.4}})), "the minima of the traffic classes add up to more than 1");
  EXPECT_EQ(refused(options({{0.5, 0.4}, {0.1}})),
            "a traffic class's minimum lies between 0 and its maximum, the maximum at most at 1");
  EngineOptions o = options({{0.5}, {0.5}});
  o.classes.of_job = {0, 2};
  EXPECT_EQ(refused(o), "a job's traffic class does not exist");
  o.classes.of_job = {0};
  EXPECT_EQ(refused(o), "every job needs a traffic class");
  o = options({{0.5}, {0.5}});
  o.nic_protocol = true;
  EXPECT_EQ(refused(o), "traffic classes go without the NIC protocol and without sampling");
  EXPECT_EQ(refused(options({{0.5}, {0.5}}), EngineKind::kOracleOldest),
            "the oracle has no traffic classes; use the eager engine");
}

}  // namespace
