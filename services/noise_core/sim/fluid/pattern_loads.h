// Loads of each pattern of flows on the links per unit rate, and the sum over patterns at their current rates.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

namespace flitwatch::fluid {

// Adds up shares link by link: each link once, in ascending order, without links whose sum is 0. The scratch memory is
// reused.
class Gather {
 public:
  explicit Gather(std::size_t links) : sum_(links), met_(links) {}
  std::pair<std::vector<std::int32_t>, std::vector<double>> operator()(std::span<const std::int64_t> link,
                                                                       std::span<const double> share);

 private:
  std::vector<double> sum_;
  std::vector<std::uint8_t> met_;
  std::vector<std::int32_t> touched_;
};

// Columns of a sparse matrix links x patterns. Column numbers are never reused. Sums run over columns in the order of
// their numbers, so they depend neither on released columns nor on the order of the arguments.
class PatternLoads {
 public:
  explicit PatternLoads(std::size_t links) : links_(links) {}

  std::size_t links() const { return links_; }
  std::size_t columns() const { return columns_.size(); }
  // Throws std::invalid_argument for a link outside [0, links) and for arrays of different length.
  std::int64_t add(std::span<const std::int32_t> link, std::span<const double> share);
  void release(std::int64_t column) { columns_.erase(column); }
  // Returns the load of every link with column[k] at rate[k]. Throws std::invalid_argument for an unknown column.
  std::vector<double> sum(std::span<const std::int64_t> column, std::span<const double> rate) const;
  // Returns the highest value among the links of each column; 0 for a column without links.
  std::vector<double> fullest(std::span<const std::int64_t> column, std::span<const double> value) const;

 private:
  struct Column {
    std::vector<std::int32_t> link;
    std::vector<double> share;
  };
  const Column& at(std::int64_t column) const;

  std::size_t links_;
  std::int64_t next_ = 0;
  std::unordered_map<std::int64_t, Column> columns_;
};

// Load to utilisation and waiting in one pass over the links.

// scale x v^2 / (2 (1 - v)) with v = min(u, knee), and a straight line above the knee (see the twin's StallCurve for
// its source).
struct Curve {
  double scale, knee, slope_above_knee;
};

struct LinkState {
  std::vector<double> utilisation;  // offered load over capacity
  std::vector<double> wait;         // waiting over service time
  double highest = 0;               // utilisation of the most utilised link; 0 without links
};

// Throws std::invalid_argument if offered and capacity differ in length.
LinkState link_state(std::span<const double> offered, std::span<const double> capacity, const Curve& curve);

}  // namespace flitwatch::fluid
