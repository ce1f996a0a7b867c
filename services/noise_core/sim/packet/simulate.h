// One run: a network, a routing policy, a workload, an engine.
#pragma once

#include <memory>
#include <variant>
#include <vector>

#include "sim/packet/dragonfly.h"
#include "sim/packet/engine.h"
#include "sim/packet/torus_routing.h"
#include "sim/packet/tree.h"
#include "sim/packet/workload.h"

namespace flitwatch::sim::packet {

enum class EngineKind { kEager, kOracleOldest, kOracleRoundRobin };

using Routing = std::variant<std::unique_ptr<Dragonfly>, std::unique_ptr<Tree>, std::unique_ptr<TorusRouting>>;

// Results of a run. Arrays over links have the graph's order.
struct RunResult {
  RunStatistics statistics;
  Time workload_end = 0;
  std::uint64_t unfinished = 0;  // operations and flows that never completed
  std::uint32_t vcs = 0;
  std::vector<std::uint64_t> link_bytes;
  std::vector<Time> link_wait_ps;  // idle while a packet waits for credit
  FlatArray<std::uint64_t> vc_bytes, vc_packets, vc_flits,
      vc_stall_ps;  // [vc][link]; injection and ejection links use VC 0.
                    // With traffic classes: [vc x classes + class][link]
  std::vector<NicCounters> nics;
  std::vector<SampleRecord> samples;             // `link` is the graph's
  std::vector<std::uint64_t> congested_packets;  // by link, all packets; empty without sampling
  std::vector<Time> rank_end_ps, rank_compute_ps, send_ps, send_start_ps;
  std::vector<std::uint8_t> chosen_modes;
};

// Throws std::invalid_argument for an unsuitable workload, CancelledRun, EngineFault.
RunResult simulate(const Network& network, const Routing& routing, const WorkloadSpec& workload,
                   const EngineOptions& options, EngineKind engine, RunControl& control);

}  // namespace flitwatch::sim::packet
