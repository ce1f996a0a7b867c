#include "codec/tally.h"

#include <set>

namespace flitwatch::codec {

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
