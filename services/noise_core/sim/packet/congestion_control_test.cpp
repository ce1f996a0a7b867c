// DCQCN's reaction point against closed forms (Zhu 2015, section 4), and what marks.
#include "sim/packet/congestion_control.h"

#include <gtest/gtest.h>

using namespace flitwatch::sim::packet;

namespace {
constexpr double kLine = 100e9;
ControlOptions dcqcn() {
  ControlOptions o;
  o.kind = ControlKind::kDcqcn;
  return o;
}
}  // namespace

TEST(Dcqcn, FirstNotificationHalvesAndAlphaDecaysByG) {
  const ControlOptions o = dcqcn();
  DcqcnRate r(o, kLine);
  r.notified(0);
  EXPECT_DOUBLE_EQ(r.rate(), kLine / 2);
  EXPECT_DOUBLE_EQ(r.target(), kLine);
  EXPECT_DOUBLE_EQ(r.alpha(), 1);
  r.advance(3 * o.alpha_timer_ps);
  EXPECT_NEAR(r.alpha(), std::pow(1 - o.g, 3), 1e-12);
}

TEST(Dcqcn, FastRecoveryHalvesTheDistanceToTheTarget) {
  const ControlOptions o = dcqcn();
  DcqcnRate r(o, kLine);
  r.notified(0);
  r.notified(1);  // target is now half of the line
  EXPECT_DOUBLE_EQ(r.target(), kLine / 2);
  EXPECT_DOUBLE_EQ(r.rate(), kLine / 4);
  for (std::uint32_t k = 1; k <= o.fast_steps; ++k) {
    r.advance(1 + k * o.increase_timer_ps);
    EXPECT_NEAR(r.rate(), kLine / 2 - kLine / 4 / std::pow(2, k), 1);
    EXPECT_DOUBLE_EQ(r.target(), kLine / 2);
  }
  for (std::uint32_t k = 1; k <= 3; ++k) {
    r.advance(1 + (o.fast_steps + k) * o.increase_timer_ps);
    EXPECT_DOUBLE_EQ(r.target(), kLine / 2 + k * o.additive_bps);
  }
}

TEST(Dcqcn, TimerAndBytesTogetherRiseFastest) {
  const ControlOptions o = dcqcn();
  DcqcnRate r(o, kLine);
  r.notified(0);
  r.notified(0);
  r.sent(6 * o.increase_bytes);
  EXPECT_DOUBLE_EQ(r.target(), kLine / 2 + o.additive_bps);
  r.advance(6 * o.increase_timer_ps);  // the first five timers: bytes alone are past fast recovery
  EXPECT_DOUBLE_EQ(r.target(), kLine / 2 + 6 * o.additive_bps + o.hyper_bps);
}

TEST(Dcqcn, WithoutNotificationsItSendsAtLineRate) {
  const ControlOptions o = dcqcn();
  DcqcnRate r(o, kLine);
  r.sent(std::uint64_t{1} << 40);
  r.advance(Time{1} << 50);
  EXPECT_DOUBLE_EQ(r.rate(), kLine);
}

TEST(Marks, LieBetweenKminAndKmax) {
  const CongestionControl c(dcqcn(), 2);
  EXPECT_FALSE(c.marks(5'000, false, 0));
  EXPECT_TRUE(c.marks(200'001, false, 0.999));
  EXPECT_TRUE(c.marks(102'500, false, 0.0049));  // half way: half of pmax
  EXPECT_FALSE(c.marks(102'500, false, 0.0051));
}
