#include "routes/cables.h"

#include <gtest/gtest.h>

#include <numeric>
#include <stdexcept>

namespace flitwatch::routes {
namespace {

TEST(Cables, LongestFirstAndAnExchangeReachTheBest) {
  // 3 3 2 2 2 over two cables: longest first leaves 7 and 5, an exchange makes 6 and 6.
  const std::vector<std::int64_t> first{0, 5};
  const std::vector<std::int32_t> cables{2}, held(5, -1);
  const std::vector<double> bytes{3, 3, 2, 2, 2}, limit{0};
  const auto cable = share_cables({1, first, cables, bytes, held}, limit);
  double load[2] = {0, 0};
  for (int i = 0; i < 5; ++i) load[cable[i]] += bytes[i];
  EXPECT_EQ(load[0], 6);
  EXPECT_EQ(load[1], 6);
}

TEST(Cables, EntriesStayWhereTheLimitAllows) {
  const std::vector<std::int64_t> first{0, 3};
  const std::vector<std::int32_t> cables{2}, held{1, 1, 1};
  const std::vector<double> bytes{1, 1, 1};
  EXPECT_EQ(share_cables({1, first, cables, bytes, held}, std::vector<double>{3}), held);
  const auto moved = share_cables({1, first, cables, bytes, held}, std::vector<double>{2});
  EXPECT_EQ(std::accumulate(moved.begin(), moved.end(), 0) % 3 != 0, true);
}

TEST(Cables, SlotsAreSharedOneByOne) {
  // Two entries send in the first slot and two in the second: each cable gets one of either.
  const std::vector<std::int64_t> first{0, 4};
  const std::vector<std::int32_t> cables{2}, held(4, -1);
  const std::vector<double> bytes{1, 0, 1, 0, 0, 1, 0, 1}, limit{0, 0};
  const auto cable = share_cables({2, first, cables, bytes, held}, limit);
  EXPECT_NE(cable[0], cable[1]);
  EXPECT_NE(cable[2], cable[3]);
}

TEST(Cables, WrongSizesAreRefused) {
  const std::vector<std::int64_t> first{0, 1};
  const std::vector<std::int32_t> none{0}, one{1}, held{-1};
  const std::vector<double> bytes{1}, limit{0};
  EXPECT_THROW(share_cables({1, first, none, bytes, held}, limit), std::invalid_argument);
  EXPECT_THROW(share_cables({2, first, one, bytes, held}, limit), std::invalid_argument);
  EXPECT_NO_THROW(share_cables({1, first, one, bytes, held}, limit));
}

}  // namespace
}  // namespace flitwatch::routes
