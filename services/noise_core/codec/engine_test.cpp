#include "codec/engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace flitwatch::codec {
namespace {

constexpr std::int64_t kStartUs = 1'795'000'000'000'000, kSecondUs = 1'000'000;

struct Taken {
  std::int64_t time_us;
  std::uint64_t value;
};

Taken taken(double second, std::uint64_t value) {
  return {kStartUs + static_cast<std::int64_t>(second * 1e6 + 0.5), value};
}

// One router whose only counter is the flits of its first port.
class Line {
 public:
  Line() : engine_(ledger_, Limits{}) {
    Cell cell;
    cell.port = 0;
    cell.columns[0] = 0;
    cell.tiles = 1;
    chart_.cells = {cell};
    chart_.cell_of = {0};
    chart_.claim_of = {0};
    ledger_.wire(1, 1, 1, 0, {0});
    Target target;
    target.wiring = ledger_.fabrics.at(1).get();
    target.router = 0;
    index_ = engine_.add_instance(1, true, &chart_, 0, target);
  }

  Outcome give(const Taken& sample) {
    return engine_.push(index_, {sample.time_us, offset_++, 0, &sample.value, "record"});
  }
  Line& give(const std::vector<Taken>& samples) {
    for (const Taken& sample : samples) give(sample);
    return *this;
  }
  void check_silence(double second) { engine_.check_silence(taken(second, 0).time_us); }

  using Counted = std::map<std::int64_t, std::int64_t>;                      // flits by second
  using Gaps = std::set<std::tuple<std::int64_t, std::int64_t, GapReason>>;  // in milliseconds
  struct Account {
    Counted counted;
    Gaps gaps;
    std::size_t letters;
    bool operator==(const Account&) const = default;
  };
  Account settle() {
    engine_.give_up_held();
    Account account{{}, {}, engine_.letters.size()};
    for (std::size_t row = 0; row < ledger_.routers.size(); ++row)
      if (ledger_.routers.samples(row) != 0)
        account.counted[ledger_.routers.keys()[row].bucket_s - kStartUs / kSecondUs] = ledger_.routers.values(row)[0];
    for (const GapNote& gap : engine_.gaps) {
      const auto from = (gap.from_us - kStartUs) / 1000, to = (gap.to_us - kStartUs) / 1000;
      std::erase_if(account.gaps,
                    [&](const auto& other) { return std::get<0>(other) == from && std::get<2>(other) == gap.reason; });
      if (gap.put) account.gaps.emplace(from, to, gap.reason);
    }
    return account;
  }

 private:
  Ledger ledger_;
  Engine engine_;
  Chart chart_;
  std::uint32_t index_ = 0;
  std::int64_t offset_ = 0;
};

TEST(Engine, SamplesFromBeforeAResetMayArriveAfterIt) {
  const std::uint64_t base = 1'000'000, jump = std::uint64_t{1} << 45;
  std::vector<Taken> line;
  for (int i = 0; i < 10; ++i) line.push_back(taken(0.9 * i, base + static_cast<std::uint64_t>(i)));
  line.push_back(taken(9.0, base + jump));
  line.push_back(taken(9.9, 0));
  line.push_back(taken(10.8, 1));
  std::vector<Taken> arrivals;
  for (const std::size_t i : {11, 1, 2, 10, 4, 5, 6, 7, 8, 9, 3, 0, 12}) arrivals.push_back(line[i]);

  const Line::Account found = Line().give(arrivals).settle();
  EXPECT_EQ(found, Line().give(line).settle());
  EXPECT_EQ(found.gaps, (Line::Gaps{{9000, 9900, GapReason::kReset}}));
  EXPECT_EQ(found.counted.size(), 11u);
  EXPECT_EQ(found.counted.at(10), 1);
}

TEST(Engine, EveryOrderAroundAResetEndsInTheSameSums) {
  const std::uint64_t jump = std::uint64_t{1} << 45;
  const std::vector<Taken> line{taken(0, 1000), taken(1, 1010), taken(2, 1020), taken(3, jump),
                                taken(4, 0),    taken(5, 9),    taken(6, 19)};
  const Line::Account wanted = Line().give(line).settle();
  ASSERT_EQ(wanted.gaps, (Line::Gaps{{3000, 4000, GapReason::kReset}}));
  std::vector<std::size_t> order{0, 1, 2, 3, 4, 5, 6};
  do {
    std::vector<Taken> arrivals;
    for (const std::size_t i : order) arrivals.push_back(line[i]);
    ASSERT_EQ(Line().give(arrivals).settle(), wanted) << testing::PrintToString(order);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(Engine, ABurstAfterAResetMayOvertakeWhatWasBeforeIt) {
  // The first samples after the reset are known in order; then come three from before it, and a burst follows.
  const std::vector<Taken> before{taken(0, 500), taken(1, 510), taken(2, 520)};
  const std::vector<Taken> after{taken(3, 0), taken(4, 10), taken(5, 20), taken(6, 900)};
  std::vector<Taken> line = before, arrivals(after.begin(), after.end() - 1);
  line.insert(line.end(), after.begin(), after.end());
  arrivals.insert(arrivals.end(), before.begin(), before.end());
  arrivals.push_back(after.back());
  EXPECT_EQ(Line().give(arrivals).settle(), Line().give(line).settle());
}

TEST(Engine, AClockSetBackAmongKnownSamplesRestarts) {
  Line line;
  for (int i = 0; i < 40; ++i) line.give(taken(i, 1000u * static_cast<unsigned>(i)));
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(line.give(taken(35.5 + i, 40'000u + 1000u * static_cast<unsigned>(i))), Outcome::kHeld);
  EXPECT_EQ(line.settle().gaps, (Line::Gaps{{35500, 39000, GapReason::kClockBack}}));
}

TEST(Engine, SamplesOfAParkedDeviceThatArriveAgainCountOnce) {
  std::vector<Taken> samples;
  for (int i = 0; i < 20; ++i) samples.push_back(taken(i, 3000 * static_cast<std::uint64_t>(i)));
  Line once, again;
  const auto account = once.give(samples).settle();
  again.give(samples);
  again.check_silence(100);
  again.check_silence(200);
  for (int i = 10; i < 19; ++i) EXPECT_EQ(again.give(samples[static_cast<std::size_t>(i)]), Outcome::kLate);
  EXPECT_EQ(again.give(samples.back()), Outcome::kRepeat);
  EXPECT_EQ(again.settle().counted, account.counted);
}

TEST(Engine, AClockSetBackIntoAPauseRestartsWhenNothingNewerComes) {
  Line line;
  for (int i = 0; i < 20; ++i) line.give(taken(i, 1000u * static_cast<unsigned>(i)));
  line.give(taken(200, 20'000));
  for (int i = 0; i < 12; ++i)
    EXPECT_EQ(line.give(taken(100 + i, 21'000u + 1000u * static_cast<unsigned>(i))), Outcome::kHeld);
  line.check_silence(212);
  EXPECT_EQ(line.give(taken(112, 33'000)), Outcome::kAccepted);
  const Line::Account found = line.settle();
  EXPECT_EQ(found.gaps, (Line::Gaps{{19000, 200000, GapReason::kSilence}, {100000, 200000, GapReason::kClockBack}}));
  EXPECT_EQ(found.counted.at(112), 1000);
}

}  // namespace
}  // namespace flitwatch::codec
