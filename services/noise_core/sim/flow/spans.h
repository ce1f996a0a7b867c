// Addition to, and maximum over, consecutive counters. A cell has two counters: the low half counts the application's
// messages, the high half those of the application and of the perturbation. One pass thus handles the quiet and the
// perturbed network.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "sim/flow/routes.h"

namespace flitwatch::sim {

template <class Cell>
struct Lanes {
  static constexpr int kHalf = std::numeric_limits<Cell>::digits / 2;
  static constexpr Cell kMost = (Cell{1} << kHalf) - 1;  // largest count of one lane
  static constexpr Cell kPerturbation = Cell{1} << kHalf;
  static constexpr Cell kApplication = kPerturbation + 1;
};

struct Peak {
  std::uint32_t quiet = 0, perturbed = 0;
};

// The high lane determines the order of whole cells; the low lane is compared separately.
template <class Cell>
class PeakOver {
 public:
  void take(Cell cell) {
    high_ = std::max(high_, cell);
    low_ = std::max(low_, static_cast<Cell>(cell & Lanes<Cell>::kMost));
  }
  Peak peak() const {
    return {static_cast<std::uint32_t>(low_), static_cast<std::uint32_t>(high_ >> Lanes<Cell>::kHalf)};
  }

 private:
  Cell high_ = 0, low_ = 0;
};

// Rings are processed as a whole, one vector register of cells at a time: selecting the cells of a run by comparison is
// cheaper than branching on its ends. Reads, and writes of unchanged values, extend up to kOverrun cells past the last
// ring.
#if defined(__AVX512BW__)
inline constexpr std::uint32_t kVectorBytes = 64;
#else
inline constexpr std::uint32_t kVectorBytes = 32;
#endif
inline constexpr std::uint32_t kOverrun = kVectorBytes / sizeof(std::uint32_t);

template <class Cell>
struct Vector {
  static constexpr std::uint32_t kLanes = kVectorBytes / sizeof(Cell);
  using Signed = std::make_signed_t<Cell>;
  using Type [[gnu::vector_size(kVectorBytes), gnu::aligned(alignof(Cell)), gnu::may_alias]] = Cell;
  using Mask [[gnu::vector_size(kVectorBytes)]] = Signed;

  static Type& at(Cell* cells) { return *reinterpret_cast<Type*>(cells); }
  static const Type& at(const Cell* cells) { return *reinterpret_cast<const Type*>(cells); }
  // All ones in the lanes of the ring's positions from `block` on that belong to the run.
  static Type in_run(const RingRun& run, std::uint32_t block) {
    Mask position{};
    for (std::uint32_t lane = 0; lane < kLanes; ++lane) position[lane] = static_cast<Signed>(lane);
    position += static_cast<Signed>(block);
    Mask ahead = position - static_cast<Signed>(run.begin);
    ahead += (ahead < 0) & static_cast<Signed>(run.size);
    return reinterpret_cast<Type>((ahead < static_cast<Signed>(run.length)) &
                                  (position < static_cast<Signed>(run.size)));
  }
};

template <class Cell>
inline void add_run(Cell* cells, const RingRun& run, Cell amount) {
  using V = Vector<Cell>;
  for (std::uint32_t block = 0; block < run.size; block += V::kLanes) {
    auto& here = V::at(cells + run.ring + block);
    here += V::in_run(run, block) & amount;
  }
}

template <class Cell>
class PeakOverRuns {
 public:
  void take(const Cell* cells, const RingRun& run) {
    for (std::uint32_t block = 0; block < run.size; block += V::kLanes) {
      const auto here = V::at(cells + run.ring + block) & V::in_run(run, block);
      const auto low = here & Lanes<Cell>::kMost;
      high_ = high_ > here ? high_ : here;
      low_ = low_ > low ? low_ : low;
    }
  }
  Peak peak() const {
    Cell high = 0, low = 0;
    for (std::uint32_t lane = 0; lane < V::kLanes; ++lane) {
      high = std::max(high, Cell{high_[lane]});
      low = std::max(low, Cell{low_[lane]});
    }
    return {static_cast<std::uint32_t>(low), static_cast<std::uint32_t>(high >> Lanes<Cell>::kHalf)};
  }

 private:
  using V = Vector<Cell>;
  typename V::Type high_{}, low_{};
};

template <class Cell>
inline void add_path(Cell* cells, const LinkId* begin, const LinkId* end, Cell amount) {
  for (; begin != end; ++begin) cells[*begin] += amount;
}

template <class Cell>
inline void add_path(Cell* cells, const RingRun* begin, const RingRun* end, Cell amount) {
  for (; begin != end; ++begin) add_run(cells, *begin, amount);
}

template <class Cell>
inline Peak peak_of_path(const Cell* cells, const LinkId* begin, const LinkId* end) {
  PeakOver<Cell> over;
  for (; begin != end; ++begin) over.take(cells[*begin]);
  return over.peak();
}

template <class Cell>
inline Peak peak_of_path(const Cell* cells, const RingRun* begin, const RingRun* end) {
  PeakOverRuns<Cell> over;
  for (; begin != end; ++begin) over.take(cells, *begin);
  return over.peak();
}

inline std::uint64_t links_crossed(const LinkId* begin, const LinkId* end) {
  return static_cast<std::uint64_t>(end - begin);
}
inline std::uint64_t links_crossed(const RingRun* begin, const RingRun* end) {
  std::uint64_t links = 0;
  for (; begin != end; ++begin) links += begin->length;
  return links;
}

}  // namespace flitwatch::sim
