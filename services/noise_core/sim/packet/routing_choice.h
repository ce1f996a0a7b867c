// Application-aware routing: the routing mode of the next message (De Sensi 2019, section 4.2, algorithm 1).
#pragma once

#include <cstdint>

namespace flitwatch::sim::packet {

struct RoutingChoiceOptions {
  double latency_factor = 0.8;  // lambda: expected L with high bias relative to L with adaptive
  double stall_factor = 1.5;    // sigma: the same for the stall ratio
  std::uint32_t oldest = 16;    // samples after which data on the other mode are dropped
  std::uint64_t threshold_bytes = 4096;
};

class RoutingChoice {
 public:
  enum class Mode : std::uint8_t { kAdaptive, kHighBias, kIncreasinglyMinimal };
  enum class Transfer : std::uint8_t { kPut, kGet };

  explicit RoutingChoice(RoutingChoiceOptions options = {}) : options_(options) {}

  // Call before a message is sent. Below the threshold, messages add up and use high bias, and their counters need not
  // be read.
  Mode select(std::uint64_t bytes, bool all_to_all, Transfer transfer = Transfer::kPut) {
    cumulated_ += bytes;
    decided_ = cumulated_ >= options_.threshold_bytes;
    if (!decided_) return Mode::kHighBias;
    cumulated_ = 0;
    if (known(current_)) {
      const int other = 1 - current_;
      Seen expected = seen_[other];
      if (!known(other)) {
        const bool to_bias = other == kBias;
        expected.latency = to_bias ? seen_[current_].latency * options_.latency_factor
                                   : seen_[current_].latency / options_.latency_factor;
        expected.stalls =
            to_bias ? seen_[current_].stalls * options_.stall_factor : seen_[current_].stalls / options_.stall_factor;
      }
      // Equation 3 itself. Its divided form (4) reverses if high bias stalls less than adaptive.
      if (time_cycles(bytes, expected.latency, expected.stalls, transfer) <
          time_cycles(bytes, seen_[current_].latency, seen_[current_].stalls, transfer))
        current_ = other;
    }
    if (current_ == kBias) return Mode::kHighBias;
    return all_to_all ? Mode::kIncreasinglyMinimal : Mode::kAdaptive;
  }
  // Returns whether the last select() decided, so that counters should be read after the message.
  bool decided() const { return decided_; }

  // NIC counters of the last message: mean request-to-response latency in NIC cycles, stalled cycles per flit.
  void observe(double latency_cycles, double stalls_per_flit) {
    for (Seen& s : seen_) ++s.age;
    seen_[current_] = {latency_cycles, stalls_per_flit, 0, true};
  }

  // Equation 2: f request flits in p packets of 64 bytes, with at most 1024 in flight. A packet of a PUT is a header
  // flit and its payload, five flits when full; a packet of a GET is one request flit (section 2.1).
  static double time_cycles(std::uint64_t bytes, double latency_cycles, double stalls_per_flit,
                            Transfer transfer = Transfer::kPut) {
    const double packets = static_cast<double>((bytes + 63) / 64);
    const double flits = transfer == Transfer::kGet ? packets : packets + static_cast<double>((bytes + 15) / 16);
    return (packets + 512) / 1024 * latency_cycles + flits * (stalls_per_flit + 1);
  }

 private:
  static constexpr int kAdaptive = 0, kBias = 1;
  struct Seen {
    double latency = 0, stalls = 0;
    std::uint32_t age = 0;
    bool ever = false;
  };
  bool known(int mode) const { return seen_[mode].ever && seen_[mode].age <= options_.oldest; }

  RoutingChoiceOptions options_;
  Seen seen_[2];
  std::uint64_t cumulated_ = 0;
  int current_ = kAdaptive;
  bool decided_ = false;
};

}  // namespace flitwatch::sim::packet
