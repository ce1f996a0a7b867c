// Sums of a receiving host (Taffet 2021, algorithms 3 and 6).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sampling/marking.h"

namespace flitwatch::sampling {

struct Arrival {
  std::uint32_t id;
  std::uint8_t hops, bit, congested, unused = 0;
};

// One-bit receiver for packets of one kind of path, with all links on the possible paths of such a packet. A host has
// one for each kind (for example each leaf switch that sends to it) and context.
class OneBitReceiver {
 public:
  explicit OneBitReceiver(std::span<const std::uint32_t> links, std::uint32_t g = kDefaultG);

  void add(std::span<const Arrival> packets);
  void add_scalar(std::span<const Arrival> packets);  // the same without SIMD: the oracle

  std::size_t links() const { return links_; }
  std::uint64_t tested() const { return tested_; }  // packets, which is also the number of tests of each link
  std::vector<std::int64_t> traffic() const;        // signed estimates, in packets
  std::vector<std::int64_t> congested() const;

 private:
  // 16 links at once in 16-bit lanes: 2,000 packets of at most 16 hops stay within 15 bits.
  static constexpr std::uint32_t kFlushAfter = 2000;
  template <bool kHigh>
  void add_one(const Arrival& packet);
  void flush();

  std::size_t links_, padded_;
  std::vector<std::uint16_t> low_, high_;  // halves of the masks
  std::vector<std::int16_t> traffic_now_, congested_now_;
  std::vector<std::int64_t> traffic_, congested_;
  std::uint64_t tested_ = 0;
  std::uint32_t since_flush_ = 0;
};

// A smaller count of a link is reported as 0: longest path * sqrt(tested) * 2.33 (the 99th percentile of a normal
// distribution).
double false_positive_threshold(std::uint32_t longest_path, double tested);

}  // namespace flitwatch::sampling
