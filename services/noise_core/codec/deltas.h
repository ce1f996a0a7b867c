// Differences of cumulative counters between two samples.
#pragma once

#include <cstdint>
#include <span>

namespace flitwatch::codec {

// A modular difference from here on is a counter that went back (a reset), not one that wrapped.
inline constexpr std::uint64_t kPlausible = std::uint64_t{1} << 62;

// Writes after - before modulo 2^64; false where a counter, or all together, moved implausibly far.
inline bool take_deltas(std::span<const std::uint64_t> before, std::span<const std::uint64_t> after, std::uint64_t* out) {
  std::uint64_t any = 0;
  const std::size_t n = before.size();
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t delta = after[i] - before[i];
    out[i] = delta;
    any |= delta;
  }
  if (any < std::uint64_t{1} << 48) [[likely]] return true;
  if (any >= kPlausible) return false;
  std::uint64_t sum = 0;  // the sums of a record must fit as well
  for (std::size_t i = 0; i < n; ++i) {
    sum += out[i];
    if (sum >= kPlausible) return false;
  }
  return true;
}

// Whether a counter is less than before: it wrapped, where the movement is plausible.
inline bool wraps(std::span<const std::uint64_t> before, std::span<const std::uint64_t> after) {
  bool any = false;
  for (std::size_t i = 0; i < before.size(); ++i) any |= after[i] < before[i];
  return any;
}

// Whether every counter of `after` may follow `before`: went on or stood still.
inline bool follows(std::span<const std::uint64_t> before, std::span<const std::uint64_t> after) {
  std::uint64_t any = 0;
  for (std::size_t i = 0; i < before.size(); ++i) any |= after[i] - before[i];
  return any < kPlausible;
}

// Sum of all movements, as a size to compare by.
inline double moved(std::span<const std::uint64_t> before, std::span<const std::uint64_t> after) {
  double sum = 0;
  for (std::size_t i = 0; i < before.size(); ++i) sum += static_cast<double>(after[i] - before[i]);
  return sum;
}

}  // namespace flitwatch::codec
