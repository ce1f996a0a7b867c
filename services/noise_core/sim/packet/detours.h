// Detours: time that the operating system takes from a rank (OS noise).
#pragma once

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "sim/packet/types.h"

namespace flitwatch::sim::packet {

struct DetourSpec {
  double interval_ns = 0;  // one detour of a rank begins in each interval; 0: none
  double duration_ns = 0;  // mean of the exponential length
};

// One detour begins at a random time of every interval and lasts an exponential time, at most half an interval. Each is
// a function of seed, rank and interval, so the order of queries does not matter.
class Detours {
 public:
  static constexpr double kShortestNs = 100, kLongestNs = 1e12;

  // Throws std::invalid_argument if detours would take half of a rank's time or more, or are out of range.
  Detours(DetourSpec spec, std::uint64_t seed) : interval_(0), duration_ps_(spec.duration_ns * 1000), seed_(seed) {
    if (!(spec.interval_ns > 0)) return;
    if (!(spec.interval_ns >= kShortestNs && spec.interval_ns <= kLongestNs) || !(spec.duration_ns >= 0) ||
        spec.duration_ns * 2 > spec.interval_ns)
      throw std::invalid_argument("detours begin every 100 ns to 1000 s and last at most half of that");
    interval_ = static_cast<Time>(spec.interval_ns * 1000);
  }

  // Returns the end of `work` that a rank starts at `from`, including delays by detours. With no work, returns the time
  // when it can start.
  Time done(std::uint32_t rank, Time from, Time work) const {
    if (!interval_) return from + work;
    Time now = from, left = work;
    for (Time k = from / interval_ - (from >= interval_);; ++k) {
      Random random(seed_ ^ (k * 0x9E3779B97F4A7C15ull + rank));
      random();
      const Time begin = k * interval_ + static_cast<Time>(random.unit() * static_cast<double>(interval_));
      const double length = std::min(-std::log1p(-random.unit()) * duration_ps_, static_cast<double>(interval_) / 2);
      const Time end = begin + static_cast<Time>(length);
      if (end <= now) continue;
      if (begin >= now + left) return now + left;
      if (begin > now) left -= begin - now;
      now = end;
    }
  }

 private:
  Time interval_;
  double duration_ps_;
  std::uint64_t seed_;
};

}  // namespace flitwatch::sim::packet
