#include "codec/tally.h"

#include <algorithm>
#include <set>

namespace flitwatch::codec {

std::size_t RowSums::row(const Key& key) {
  const auto [found, added] = index_.try_emplace(key, keys_.size());
  if (added) {
    keys_.push_back(key);
    values_.resize(values_.size() + columns_, 0);
    known_.resize(known_.size() + columns_, 0);
    samples_.push_back(0);
    time_us_.push_back(0);
  }
  return found->second;
}

void RowSums::clear() {
  index_.clear();
  keys_.clear();
  values_.clear();
  known_.clear();
  samples_.clear();
  time_us_.clear();
}

void RowSums::drop_through(std::int64_t bucket_s) {
  std::size_t kept = 0;
  for (std::size_t r = 0; r < keys_.size(); ++r) {
    if (keys_[r].bucket_s <= bucket_s) continue;
    if (kept != r) {
      keys_[kept] = keys_[r];
      std::copy_n(values_.begin() + static_cast<std::ptrdiff_t>(r * columns_), columns_,
                  values_.begin() + static_cast<std::ptrdiff_t>(kept * columns_));
      std::copy_n(known_.begin() + static_cast<std::ptrdiff_t>(r * columns_), columns_,
                  known_.begin() + static_cast<std::ptrdiff_t>(kept * columns_));
      samples_[kept] = samples_[r];
      time_us_[kept] = time_us_[r];
    }
    ++kept;
  }
  keys_.resize(kept);
  values_.resize(kept * columns_);
  known_.resize(kept * columns_);
  samples_.resize(kept);
  time_us_.resize(kept);
  index_.clear();
  for (std::size_t r = 0; r < kept; ++r) index_.emplace(keys_[r], r);
}

Tally::Tally(const Chart& chart, const std::vector<bool>& mine) : cells_(&chart.cells) {
  std::vector<bool> used(chart.cells.size(), false);
  for (std::uint32_t i = 0; i < chart.cell_of.size(); ++i) {
    if (chart.cell_of[i] < 0 || (!mine.empty() && !mine[i])) continue;
    const auto cell = static_cast<std::uint32_t>(chart.cell_of[i]);
    used[cell] = true;
    if (!runs_.empty() && runs_.back().cell == cell && runs_.back().first + runs_.back().count == i)
      ++runs_.back().count;
    else
      runs_.push_back({i, 1, cell});
  }
  std::set<int> ports, counted;
  for (std::uint16_t c = 0; c < used.size(); ++c) {
    if (!used[c]) continue;
    active_.push_back(c);
    const Cell& cell = chart.cells[c];
    if (cell.lane >= 0) laned_.push_back(c);
    if (cell.tiles < 0) {
      lone_column_ |= cell.columns[0] >= 0;
      lone_array_ |= cell.array >= 0;
    } else {
      timed_ = true;
      if (cell.columns[0] >= 0 && cell.port != -1) ports.insert(cell.port);
      if (cell.array == 0) counted.insert(cell.port);
      tiles_ += cell.tiles;
    }
    if (cell.place >= 0 && cell.place < kNics) nics_ |= 1u << cell.place;
  }
  tiles_ += static_cast<int>(ports.size());
  counted_ports_ = static_cast<int>(counted.size());
}

void Tally::sum(std::span<const std::uint64_t> deltas, std::int64_t* sums) const {
  for (const std::uint16_t cell : active_) sums[cell] = 0;
  for (const Run& run : runs_) {
    std::uint64_t total = 0;
    for (std::uint32_t i = run.first; i < run.first + run.count; ++i) total += deltas[i];
    sums[run.cell] += static_cast<std::int64_t>(total);
  }
}

namespace {

// A counter of 64 bits stops as well.
bool stops(std::uint64_t value, std::uint64_t ceiling) { return value == ceiling || value == ~std::uint64_t{0}; }

}  // namespace

void Tally::find_stopped(std::span<const std::uint64_t> before, std::span<const std::uint64_t> after,
                         std::uint8_t* stopped) const {
  for (const std::uint16_t cell : active_) stopped[cell] = 0;
  for (const Run& run : runs_) {
    const std::uint64_t ceiling = (*cells_)[run.cell].ceiling;
    for (std::uint32_t i = run.first; i < run.first + run.count; ++i)
      stopped[run.cell] |= stops(before[i], ceiling) || stops(after[i], ceiling);
  }
}

}  // namespace flitwatch::codec
