// Differences of cumulative counters between two samples.
#pragma once

#include <cstdint>
#include <span>

namespace flitwatch::codec {

// A modular difference of at least this size means that the counter went back (a reset) instead of wrapping. Smaller
// differences are exact in a double, the type of the tables.
inline constexpr std::uint64_t kPlausible = std::uint64_t{1} << 53;
// If all counters moved by less, their sum need not be checked: a record has at most 2^14 counters.
inline constexpr std::uint64_t kSmall = kPlausible >> 14;

// Writes after - before modulo 2^64. Returns false if a counter, or all together, moved implausibly far.
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
  std::uint64_t sum = 0;  // the sum of a record's deltas must be plausible too
  for (std::size_t i = 0; i < n; ++i) {
    sum += out[i];
    if (sum >= kPlausible) return false;
  }
  return true;
}

// Sums are modulo 2^64, so any addition can be reverted exactly.
inline void add_to(std::int64_t& sum, std::int64_t amount) {
  sum = static_cast<std::int64_t>(static_cast<std::uint64_t>(sum) + static_cast<std::uint64_t>(amount));
}

// Returns whether a counter is less than before, which means a wrap if the movement is plausible.
inline bool wraps(std::span<const std::uint64_t> before, std::span<const std::uint64_t> after) {
  bool any = false;
  for (std::size_t i = 0; i < before.size(); ++i) any |= after[i] < before[i];
  return any;
}

// Returns whether every counter of `after` is at least that of `before`.
inline bool follows(std::span<const std::uint64_t> before, std::span<const std::uint64_t> after) {
  std::uint64_t any = 0;
  for (std::size_t i = 0; i < before.size(); ++i) any |= after[i] - before[i];
  return any < kPlausible;
}

// Returns the sum of all movements, for comparisons of size.
inline double moved(std::span<const std::uint64_t> before, std::span<const std::uint64_t> after) {
  double sum = 0;
  for (std::size_t i = 0; i < before.size(); ++i) sum += static_cast<double>(after[i] - before[i]);
  return sum;
}

}  // namespace flitwatch::codec
