// What a run accounts for: the check after it sees what was lost, and a NIC's stalls are the idle time of its link.
#include <gtest/gtest.h>

#include "sim/packet/oracle.h"
#include "sim/packet/simulate.h"
#include "sim/topology/xgft.h"

using namespace flitwatch::sim;
using namespace flitwatch::sim::packet;

namespace {

constexpr double kBandwidth = 40e9;
constexpr std::uint32_t kPacket = 2048;

enum class Fault { kNone, kCreditByte, kPayloadByte, kLeak };

// Routes as a tree does; on the way it falsifies what a packet says of itself, which the accounts must notice.
class Faulty : public Tree {
 public:
  Faulty(const Tree& sound, Fault fault) : Tree(sound), fault_(fault) {}

  template <class View>
  PortId route(Packet& p, View& view) const {
    return Tree::route(falsified(p), view);
  }
  template <class View>
  PortId route(Packet& p, std::uint32_t ahead, View& view) const {
    return Tree::route(falsified(p), ahead, view);
  }

 private:
  // A leak: every packet gives back half of what it took on the way to its second router, until nothing is left there.
  Packet& falsified(Packet& p) const {
    if (fault_ == Fault::kLeak && p.hops == 2 && p.wire_bytes == kPacket) p.wire_bytes = kPacket / 2;
    if (!done_ && fault_ == Fault::kCreditByte) --p.wire_bytes;
    if (!done_ && fault_ == Fault::kPayloadByte) --p.payload_bytes;
    done_ = true;
    return p;
  }
  Fault fault_;
  mutable bool done_ = false;
};

struct Site {
  std::unique_ptr<Network> network;
  std::unique_ptr<Tree> tree;
  std::uint32_t endpoints;
};

Site site(std::uint32_t packet_bytes, std::int32_t buffer_bytes) {
  const Xgft shape({4, 4, 2}, {1, 2, 2});
  const Graph graph = shape.graph(kBandwidth);
  const LinkParameters links{
      std::vector<double>(graph.links(), 10.0), std::vector<std::int32_t>(graph.links(), buffer_bytes), {}};
  std::vector<std::int32_t> level(graph.routers());
  for (Vertex r = 0; r < graph.routers(); ++r) level[r] = static_cast<std::int32_t>(shape.level_of(r));
  Site s;
  s.network = std::make_unique<Network>(graph, links, 90.0, packet_bytes);
  s.tree = std::make_unique<Tree>(*s.network, level, std::vector<std::uint8_t>{});
  s.endpoints = graph.endpoints();
  return s;
}

// Each endpoint sends to the one half the fabric away.
WorkloadSpec exchange(std::uint32_t endpoints, std::uint64_t bytes) {
  WorkloadSpec w;
  w.ops.requires_begin = {0};
  for (std::uint32_t e = 0; e < endpoints; ++e) {
    w.flows.src.push_back(e);
    w.flows.dst.push_back((e + endpoints / 2) % endpoints);
    w.flows.bytes.push_back(bytes);
  }
  return w;
}

template <class Engine, class... Extra>
RunStatistics account(Fault fault, Extra... extra) {
  const Site s = site(kPacket, 16384);
  const Faulty routing(*s.tree, fault);
  const WorkloadSpec spec = exchange(s.endpoints, 200'000);
  Workload workload(spec, s.endpoints);
  Engine engine(*s.network, routing, workload, EngineOptions{kPacket}, extra...);
  RunControl control;
  return engine.run(control);
}

std::string said(const RunStatistics& statistics) {
  std::string all;
  for (const std::string& one : statistics.violations) all += one + "; ";
  return all;
}

TEST(Accounts, ASoundRunIsConserved) {
  const RunStatistics statistics = account<Engine<Faulty, 11>>(Fault::kNone);
  EXPECT_TRUE(statistics.conserved) << said(statistics);
  EXPECT_EQ(statistics.delivered_bytes, 32u * 200'000);
}

TEST(Accounts, OneLostByteOfCreditIsSeen) {
  const RunStatistics statistics = account<Engine<Faulty, 11>>(Fault::kCreditByte);
  EXPECT_FALSE(statistics.conserved);
  EXPECT_EQ(said(statistics), "1 channels miss credit or hold a packet; ");
  EXPECT_EQ(statistics.delivered_bytes, statistics.sent_bytes);
}

TEST(Accounts, OneLostByteOfPayloadIsSeen) {
  const RunStatistics statistics = account<Engine<Faulty, 11>>(Fault::kPayloadByte);
  EXPECT_FALSE(statistics.conserved);
  EXPECT_EQ(said(statistics), "6400000 bytes were sent and 6399999 arrived; ");
}

TEST(Accounts, PacketsThatStandStillAreSeen) {
  const RunStatistics statistics = account<Engine<Faulty, 11>>(Fault::kLeak);
  EXPECT_FALSE(statistics.conserved);
  EXPECT_NE(said(statistics).find("packets never arrived"), std::string::npos) << said(statistics);
  EXPECT_NE(said(statistics).find("miss credit or hold a packet"), std::string::npos) << said(statistics);
  EXPECT_LT(statistics.delivered_bytes, 32u * 200'000);
}

TEST(Accounts, TheOracleSeesThemToo) {
  const auto oracle = [](Fault fault) { return account<Oracle<Faulty>>(fault, Arbitration::kOldestFirst); };
  EXPECT_TRUE(oracle(Fault::kNone).conserved);
  EXPECT_NE(said(oracle(Fault::kCreditByte)).find("misses credit"), std::string::npos);
  EXPECT_NE(said(oracle(Fault::kPayloadByte)).find("bytes were lost"), std::string::npos);
  EXPECT_FALSE(oracle(Fault::kLeak).conserved);
}

// One stream of requests across an idle tree; the sender's counters and the end of the last delivery.
std::pair<NicCounters, Time> stream(std::uint32_t packets, std::uint32_t window, std::int32_t buffer_bytes) {
  const Site s = site(wire_limit(64, true), buffer_bytes);
  WorkloadSpec w;
  w.ops.requires_begin = {0};
  w.flows = {{0}, {s.endpoints - 1}, {64ull * packets}};
  Workload workload(w, s.endpoints);
  EngineOptions options{64};
  options.nic_protocol = true;
  options.outstanding = window;
  Engine<Tree, 11> engine(*s.network, *s.tree, workload, options);
  RunControl control;
  const RunStatistics statistics = engine.run(control);
  EXPECT_TRUE(statistics.conserved) << said(statistics);
  return {engine.nic_counters()[0], workload.end()};
}

constexpr Time kSerialise = 80 * 8 * 1000 / 40;  // 64 bytes and a header flit at 40 Gb/s, in ps

TEST(NicCounters, StallsAreTheTimeThatItsLinkStoodIdleForCredit) {
  constexpr std::uint32_t kPackets = 50;
  for (const std::int32_t buffer : {160, 240, 400}) {
    const Time first = stream(1, 1024, buffer).second;
    const auto [counters, end] = stream(kPackets, 1024, buffer);
    // Nothing else moves, so the last request left as much later than the first as it arrived later.
    EXPECT_NEAR(static_cast<double>(counters.stalled_ps),
                static_cast<double>(end - first - (kPackets - 1) * kSerialise), 1.0)
        << buffer;
    EXPECT_EQ(counters.request_flits, 5 * kPackets);
  }
  EXPECT_GT(stream(kPackets, 1024, 160).first.stalled_ps, stream(kPackets, 1024, 240).first.stalled_ps);
}

TEST(NicCounters, ABackPressureFreeNicDoesNotStall) {
  const Time first = stream(1, 1024, 65536).second;
  const auto [counters, end] = stream(500, 1024, 65536);
  EXPECT_EQ(counters.stalled_ps, 0u);
  EXPECT_EQ(end - first, 499 * kSerialise);
}

// De Sensi 2019, section 2.3: a stall is a ready flit that back-pressure holds. Equation 2 charges the window by
// itself, (p + 512) / 1024 * L.
TEST(NicCounters, AFullWindowIsNoStall) {
  constexpr std::uint32_t kPackets = 40;
  const Time first = stream(1, 1, 65536).second;
  const auto [counters, end] = stream(kPackets, 1, 65536);
  EXPECT_EQ(counters.stalled_ps, 0u);
  EXPECT_EQ((end - first) * kPackets, counters.latency_ps * (kPackets - 1));  // the time went into round trips
}

}  // namespace
