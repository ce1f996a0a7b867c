#include "reconstruction/iteration.h"

#include <algorithm>
#include <cstddef>
#include <thread>
#include <vector>

namespace flitwatch::reconstruction {
namespace {

// run(piece, begin, end) for pieces of a range, the first of them on this thread.
template <class Run>
void in_pieces(std::size_t count, unsigned threads, const Run& run) {
  const std::size_t pieces = std::clamp<std::size_t>(threads, 1, std::max<std::size_t>(count, 1));
  std::vector<std::jthread> helpers;
  for (std::size_t piece = 1; piece < pieces; ++piece)
    helpers.emplace_back([&, piece] { run(piece, count * piece / pieces, count * (piece + 1) / pieces); });
  run(std::size_t{0}, std::size_t{0}, count / pieces);
}

template <class T>
T value(std::span<const T> x, Index at, std::size_t c) {
  if (at.empty()) return x[c];
  const auto place = static_cast<std::size_t>(at[c]);
  return place < x.size() ? x[place] : T{0};
}

template <class T>
T difference(std::span<const T> x, Index at, Index less, std::size_t c) {
  return less.empty() ? value(x, at, c) : value(x, at, c) - value(x, less, c);
}

template <class T>
T folded(std::span<const T> u, Index mirror, std::size_t c) {
  if (mirror.empty()) return u[c];
  const auto m = static_cast<std::size_t>(mirror[c]);
  return m < c ? u[c] + u[m] : u[c] - u[m];
}

template <class T>
void add(std::span<T> sum, const std::vector<T>& part) {
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += part[i];
}

}  // namespace

template <class T>
void take(std::span<const T> x, Index at, Index less, std::span<T> out, unsigned threads) {
  in_pieces(out.size(), threads, [&](std::size_t, std::size_t begin, std::size_t end) {
    for (std::size_t c = begin; c < end; ++c) out[c] = difference(x, at, less, c);
  });
}

template <class T>
void fold(std::span<const T> u, Index mirror, std::span<T> out, bool adjoint, unsigned threads) {
  in_pieces(out.size(), threads, [&](std::size_t, std::size_t begin, std::size_t end) {
    for (std::size_t c = begin; c < end; ++c) {
      const auto m = static_cast<std::size_t>(mirror[c]);
      out[c] = (m < c) != adjoint ? u[c] + u[m] : u[c] - u[m];
    }
  });
}

template <class T>
void ascend(std::span<const T> y, std::span<const T> u, Index mirror, std::span<const T> shift, T sigma,
            std::span<T> moved, unsigned threads) {
  in_pieces(y.size(), threads, [&](std::size_t, std::size_t begin, std::size_t end) {
    for (std::size_t c = begin; c < end; ++c) {
      const T k = folded(u, mirror, c) + (shift.empty() ? T{0} : shift[c]);
      moved[c] = std::clamp(y[c] + sigma * k, T{-1}, T{1});
    }
  });
}

template <class T>
void descend_free(const Free<T>& f, unsigned threads) {
  in_pieces(f.z.size(), threads, [&](std::size_t, std::size_t begin, std::size_t end) {
    for (std::size_t p = begin; p < end; ++p) {
      const T pull = difference(f.v1, f.home1, f.later1, p);
      const T moved = f.z[p] - f.tau * (difference(f.v2, f.home2, f.later2, p) - pull);
      f.pull1[p] = pull;
      f.moved[p] = moved;
      f.ahead[p] = 2 * moved - f.z[p];
      f.left[p] = -f.ahead[p];
    }
  });
}

template <class T>
void descend_pairs(const Pairs<T>& p, unsigned threads) {
  std::vector<std::vector<T>> first(threads > 1 ? threads - 1 : 0, std::vector<T>(p.first_sum.size())), tail = first;
  for (auto& sums : tail) sums.resize(p.tail_sum.size());
  std::ranges::fill(p.first_sum, T{0});
  std::ranges::fill(p.tail_sum, T{0});
  in_pieces(p.x.size(), threads, [&](std::size_t piece, std::size_t begin, std::size_t end) {
    const std::span<T> first_sum = piece == 0 ? p.first_sum : std::span<T>(first[piece - 1]);
    const std::span<T> tail_sum = piece == 0 ? p.tail_sum : std::span<T>(tail[piece - 1]);
    for (std::size_t k = begin; k < end; ++k) {
      const auto a = static_cast<std::size_t>(p.first_of[k]), b = static_cast<std::size_t>(p.tail_of[k]);
      const std::size_t place = p.place.empty() ? k : static_cast<std::size_t>(p.place[k]);
      const T moved = std::max(p.x[k] - p.tau * (p.first[a] + p.tail[b] + p.pull[place]), p.least[k]);
      const T ahead = 2 * moved - p.x[k];
      p.moved[k] = moved;
      p.left[place] += ahead;
      first_sum[a] += ahead;
      tail_sum[b] += ahead;
    }
  });
  for (const auto& sums : first) add(p.first_sum, sums);
  for (const auto& sums : tail) add(p.tail_sum, sums);
}

template <class T>
void reflect(std::span<T> at, std::span<const T> moved, std::span<const T> anchor, T part, unsigned threads) {
  in_pieces(at.size(), threads, [&](std::size_t, std::size_t begin, std::size_t end) {
    for (std::size_t c = begin; c < end; ++c) at[c] = part * (2 * moved[c] - at[c]) + (1 - part) * anchor[c];
  });
}

template <class T>
double apart(std::span<const T> a, std::span<const T> b, unsigned threads) {
  std::vector<double> sums(std::max(threads, 1U));
  in_pieces(a.size(), threads, [&](std::size_t piece, std::size_t begin, std::size_t end) {
    double sum = 0;
    for (std::size_t c = begin; c < end; ++c) {
      const double d = static_cast<double>(a[c]) - static_cast<double>(b[c]);
      sum += d * d;
    }
    sums[piece] = sum;
  });
  double all = 0;
  for (const double sum : sums) all += sum;
  return all;
}

#define FLITWATCH_FOR(T)                                                                                      \
  template void take<T>(std::span<const T>, Index, Index, std::span<T>, unsigned);                            \
  template void fold<T>(std::span<const T>, Index, std::span<T>, bool, unsigned);                             \
  template void ascend<T>(std::span<const T>, std::span<const T>, Index, std::span<const T>, T, std::span<T>, \
                          unsigned);                                                                          \
  template void descend_free<T>(const Free<T>&, unsigned);                                                    \
  template void descend_pairs<T>(const Pairs<T>&, unsigned);                                                  \
  template void reflect<T>(std::span<T>, std::span<const T>, std::span<const T>, T, unsigned);                \
  template double apart<T>(std::span<const T>, std::span<const T>, unsigned);
FLITWATCH_FOR(float)
FLITWATCH_FOR(double)
#undef FLITWATCH_FOR

}  // namespace flitwatch::reconstruction
