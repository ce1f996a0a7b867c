// Folding and taking against their definitions on a 3 x 3 matrix; every piece of a range is done once, whatever the
// number of threads.
#include "reconstruction/iteration.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace flitwatch::reconstruction {
namespace {

// Places off the diagonal of a 3 x 3 matrix, row by row: 01 02 10 12 20 21.
const std::vector<std::int32_t> kMirror{2, 4, 0, 5, 1, 3};

TEST(Iteration, FoldIsSumBelowAndDifferenceAboveTheDiagonal) {
  const std::vector<double> u{1, 2, 4, 8, 16, 32};
  std::vector<double> folded(6), back(6);
  fold<double>(u, kMirror, folded, false, 2);
  EXPECT_EQ(folded, (std::vector<double>{-3, -14, 5, -24, 18, 40}));
  const std::vector<double> w{3, 1, 4, 1, 5, 9};
  fold<double>(w, kMirror, back, true, 2);
  EXPECT_DOUBLE_EQ(std::inner_product(folded.begin(), folded.end(), w.begin(), 0.0),
                   std::inner_product(u.begin(), u.end(), back.begin(), 0.0));
}

TEST(Iteration, WhatIsNotThereIsZero) {
  const std::vector<float> x{1, 2, 3};
  const std::vector<std::int32_t> at{2, 3, 0}, less{3, 1, 1};
  std::vector<float> taken(3);
  take<float>(x, at, less, taken, 3);
  EXPECT_EQ(taken, (std::vector<float>{3, -2, -1}));
}

TEST(Iteration, ThreadsChangeNothingButTheOrderOfSums) {
  const std::size_t n = 1001;
  std::vector<double> x(n), least(n), pull(n, 0.5), first{1, 2, 3}, tail{4, 5};
  std::iota(x.begin(), x.end(), 0.0);
  std::vector<std::int32_t> first_of(n), tail_of(n);
  for (std::size_t k = 0; k < n; ++k)
    first_of[k] = static_cast<std::int32_t>(k % 3), tail_of[k] = static_cast<std::int32_t>(k % 2);
  std::vector<std::vector<double>> sums;
  for (const unsigned threads : {1U, 4U}) {
    std::vector<double> moved(n), left(n, 1.0), first_sum(3, 7.0), tail_sum(2, 7.0);
    descend_pairs(
        Pairs<double>{x, least, pull, first, tail, {}, first_of, tail_of, 0.25, moved, left, first_sum, tail_sum},
        threads);
    EXPECT_DOUBLE_EQ(moved[0], 0.0);
    EXPECT_DOUBLE_EQ(moved[1000], 1000 - 0.25 * (2 + 4 + 0.5));
    EXPECT_DOUBLE_EQ(left[1000], 1 + 2 * moved[1000] - 1000);
    EXPECT_DOUBLE_EQ(first_sum[0] + first_sum[1] + first_sum[2], tail_sum[0] + tail_sum[1]);
    EXPECT_DOUBLE_EQ(apart<double>(moved, moved, threads), 0.0);
    sums.push_back(first_sum);
  }
  for (std::size_t g = 0; g < 3; ++g) EXPECT_NEAR(sums[0][g], sums[1][g], 1e-6);
}

TEST(Iteration, DualsStayInTheBox) {
  const std::vector<float> y{0.5F, -0.5F, 0, 0, 0, 0}, u{1, 1, 1, 1, 1, 1}, shift{0, -9, 0, 0, 9, 0};
  std::vector<float> moved(6);
  ascend<float>(y, u, kMirror, shift, 0.25F, moved, 2);
  EXPECT_EQ(moved, (std::vector<float>{0.5F, -1, 0.5F, 0, 1, 0.5F}));
}

}  // namespace
}  // namespace flitwatch::reconstruction
