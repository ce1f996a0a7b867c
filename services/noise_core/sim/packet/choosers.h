// Algorithm 1 of De Sensi 2019 at every rank during a run: before a message, its NIC's counters describe the previous
// one.
#pragma once

#include <vector>

#include "sim/packet/client.h"
#include "sim/packet/dragonfly.h"
#include "sim/packet/routing_choice.h"

namespace flitwatch::sim::packet {

// Modes of a send whose rank chooses the mode; within an all-to-all, adaptive is increasingly minimal.
inline constexpr std::uint8_t kChooses = 254, kChoosesAllToAll = 255;

inline DragonflyMode mode_of(RoutingChoice::Mode mode) {
  return mode == RoutingChoice::Mode::kHighBias              ? DragonflyMode::kAdaptive3
         : mode == RoutingChoice::Mode::kIncreasinglyMinimal ? DragonflyMode::kAdaptive1
                                                             : DragonflyMode::kAdaptive0;
}

class Choosers {
 public:
  Choosers(std::size_t ranks, RoutingChoiceOptions options) : ranks_(ranks, Rank{RoutingChoice(options), {}, false}) {}

  std::uint8_t choose(std::uint32_t rank, std::uint32_t endpoint, std::uint64_t bytes, bool all_to_all, Host& host) {
    Rank& r = ranks_[rank];
    if (r.counted) observe(r, host.nic(endpoint));
    const DragonflyMode mode = mode_of(r.choice.select(bytes, all_to_all));
    r.counted = r.choice.decided();
    return static_cast<std::uint8_t>(mode);
  }

 private:
  static constexpr double kCyclesPerPs = 800e6 * 1e-12;  // an Aries NIC's clock
  struct Rank {
    RoutingChoice choice;
    NicCounters last;
    bool counted;  // the last message was large enough to read counters for
  };

  static void observe(Rank& r, const NicCounters& now) {
    const auto responses = static_cast<double>(now.responses - r.last.responses),
               flits = static_cast<double>(now.request_flits - r.last.request_flits);
    if (responses <= 0 || flits <= 0) return;  // no response has arrived yet
    r.choice.observe(static_cast<double>(now.latency_ps - r.last.latency_ps) * kCyclesPerPs / responses,
                     static_cast<double>(now.stalled_ps - r.last.stalled_ps) * kCyclesPerPs / flits);
    r.last = now;
  }

  std::vector<Rank> ranks_;
};

}  // namespace flitwatch::sim::packet
