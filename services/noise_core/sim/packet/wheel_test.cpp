// The event queue against a sorted list: order by time, and of one picosecond by the order of the pushes.
#include "sim/packet/wheel.h"

#include <gtest/gtest.h>

#include <map>

using namespace flitwatch::sim::packet;

namespace {

// Pushes while it pops, with delays of `reach` ps at most, and compares each event with the list's.
void compare(std::uint64_t seed, Time reach, std::uint32_t burst, std::uint32_t events) {
  Random random(seed);
  Wheel wheel;
  std::multimap<Time, std::uint32_t> expected;  // inserts behind its equals
  std::uint32_t made = 0;
  Time now = 0;
  const auto push = [&](Time delay) {
    wheel.push(now + delay, made);
    expected.emplace(now + delay, made++);
  };
  while (made < burst) push(random() % reach);
  while (wheel.advance()) {
    while (wheel.has_next()) {
      const std::uint32_t event = wheel.pop(now);
      ASSERT_EQ(now, expected.begin()->first);
      ASSERT_EQ(event, expected.begin()->second);
      expected.erase(expected.begin());
      for (std::uint32_t k = random.below(3); k && made < events; --k)
        push(random.below(4) ? random() % reach : random() % 64 * 1000);
    }
    if (expected.empty() && made < events) push(reach);
  }
  EXPECT_TRUE(expected.empty());
  EXPECT_EQ(made, events);
}

TEST(Wheel, LeavesInTheOrderOfASortedList) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    compare(seed, 200, 50, 20'000);                 // within one bucket
    compare(seed, 40'000, 2000, 60'000);            // over the border of neighbours
    compare(seed, 3'000'000, 300, 30'000);          // with empty buckets between
    compare(seed, Time{2'000'000'000}, 40, 5'000);  // beyond the wheel
  }
}

// Windows of all lengths, with pushes at their borders: each event comes in its window, in the order of the list.
TEST(Wheel, GoesNoFurtherThanItsLimit) {
  for (const Time window : {Time{3'000}, Time{150'000}, Time{5'000'000'000}}) {
    Random random(window);
    Wheel wheel;
    std::multimap<Time, std::uint32_t> expected;
    std::uint32_t made = 0, left = 30'000;
    const auto push = [&](Time time) {
      wheel.push(time, made);
      expected.emplace(time, made++);
    };
    push(0);
    for (Time now = 0, until = window; !expected.empty();) {
      while (wheel.advance_before(until))
        while (wheel.has_next_before()) {
          const std::uint32_t event = wheel.pop(now);
          ASSERT_LT(now, until);
          ASSERT_EQ(now, expected.begin()->first);
          ASSERT_EQ(event, expected.begin()->second);
          expected.erase(expected.begin());
          for (std::uint32_t k = random.below(3); k && left; --k, --left) push(now + random.below(60'000));
        }
      const Time next = expected.empty() ? kNever : expected.begin()->first;
      ASSERT_GE(next, until);
      ASSERT_LE(wheel.earliest(), next);
      for (std::uint32_t k = random.below(4); k && left; --k, --left)
        push(until + random.below(3) * (random() % (3 * window)));
      if (expected.empty() && left) push(until + window + random() % window);
      until = std::max(wheel.earliest(), until) + window;
    }
    EXPECT_EQ(left, 0u);
  }
}

// Each event pushes the next one a few nanoseconds on, always into a bucket at hand, for longer than the times within
// it can count.
TEST(Wheel, AChainOfShortDelaysRunsForMilliseconds) {
  Wheel wheel;
  Time now = 0;
  std::uint32_t left = 800'000;
  wheel.push(0, left);
  wheel.push(Time{7'000'000'000}, 1);
  while (wheel.advance())
    while (wheel.has_next()) {
      const Time before = now;
      const std::uint32_t event = wheel.pop(now);
      if (event == 1) continue;
      ASSERT_EQ(now, before + (event == 800'000 ? 0 : 8'000));
      if (--left > 1) wheel.push(now + 8'000, left);
    }
  EXPECT_EQ(now, Time{7'000'000'000});
}

}  // namespace
