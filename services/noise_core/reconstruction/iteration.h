// One iteration of the reconstruction's first-order solver in a few passes over memory: vectors of ten million values
// do not fit into any cache.
//
// Indices select the elements that the program's operators gather (services/routing, reconstruction/bases.py and
// sensing.py). An empty index means "the same position". An index equal to the length of the indexed array means "no
// element", that is zero. Ranges are divided into as many pieces as there are threads.
#pragma once

#include <cstdint>
#include <span>

namespace flitwatch::reconstruction {

using Index = std::span<const std::int32_t>;

// out[c] = x[at[c]] - x[less[c]]; without `less`, no value is subtracted.
template <class T>
void take(std::span<const T> x, Index at, Index less, std::span<T> out, unsigned threads);

// Sum (below the diagonal) and difference (above) of mirrored places, or its adjoint. mirror[c] < c means that c is
// below.
template <class T>
void fold(std::span<const T> u, Index mirror, std::span<T> out, bool adjoint, unsigned threads);

// moved = y + sigma (fold(u) + shift), clamped to [-1, 1]. Without a mirror there is no folding; an empty shift is
// zero.
template <class T>
void ascend(std::span<const T> y, std::span<const T> u, Index mirror, std::span<const T> shift, T sigma,
            std::span<T> moved, unsigned threads);

// The second part of a dictionary, z: moved = z - tau (pull2 - pull1), ahead = 2 moved - z, left = -ahead;
// the pulls are take(v1, home1, later1) and take(v2, home2, later2), and the first is kept.
template <class T>
struct Free {
  std::span<const T> z, v1, v2;
  Index home1, later1, home2, later2;
  T tau;
  std::span<T> pull1, moved, ahead, left;
};
template <class T>
void descend_free(const Free<T>& f, unsigned threads);

// Pairs: moved = max(x - tau (first[first_of] + tail[tail_of] + pull[place]), least), ahead = 2 moved - x; ahead is
// added to `left` at the pairs' places, and summed by group into first_sum and tail_sum.
template <class T>
struct Pairs {
  std::span<const T> x, least, pull, first, tail;
  Index place, first_of, tail_of;
  T tau;
  std::span<T> moved, left, first_sum, tail_sum;
};
template <class T>
void descend_pairs(const Pairs<T>& p, unsigned threads);

// at = part (2 moved - at) + (1 - part) anchor.
template <class T>
void reflect(std::span<T> at, std::span<const T> moved, std::span<const T> anchor, T part, unsigned threads);

// Sum of squared differences.
template <class T>
double apart(std::span<const T> a, std::span<const T> b, unsigned threads);

}  // namespace flitwatch::reconstruction
