// Differences of cumulative counters between two samples.
#pragma once

#include <cstdint>
#include <span>

namespace flitwatch::codec {

// A modular difference from here on is a counter that went back (a reset), not one that wrapped. Less is exact in a
// double, which the tables hold.
inline constexpr std::uint64_t kPlausible = std::uint64_t{1} << 53;
// Counters that all moved by less need no sum: a record has at most 2^14.
inline constexpr std::uint64_t kSmall = kPlausible >> 14;

// Writes after - before modulo 2^64; false where a counter, or all together, moved implausibly far.
inline bool take_deltas(std::span<const std::uint64_t> before, std::span<const std::uint64_t> after,
                        std::uint64_t* out) {
  std::uint64_t any = 0;
  const std::size_t n = before.size();
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t delta = after[i] - before[i];
    out[i] = delta;
    any |= delta;
  }
  if (any < kSmall) [[likely]]
    return true;
  if (any >= kPlausible) return false;
  std::uint64_t sum = 0;  // the sums of a record must fit as well
  for (std::size_t i = 0; i < n; ++i) {
    sum += out[i];
    if (sum >= kPlausible) return false;
  }
  return true;
}

// Sums are taken modulo 2^64, so that what was added can be taken back whatever it was.
inline void add_to(std::int64_t& sum, std::int64_t amount) {
  sum = static_cast<std::int64_t>(static_cast<std::uint64_t>(sum) + static_cast<std::uint64_t>(amount));
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
