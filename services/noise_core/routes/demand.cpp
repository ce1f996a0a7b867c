#include "routes/demand.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace flitwatch::routes {

namespace {

void reject(std::size_t row, const std::string& what) {
  throw std::invalid_argument("row " + std::to_string(row) + ": " + what);
}

}  // namespace

Demand gather(const Tree& tree, std::span<const std::int32_t> src, std::span<const std::int32_t> dst,
              std::span<const double> bytes, std::span<const std::int32_t> slot, int slots) {
  const int endpoints = tree.endpoints();
  if (slots < 1) throw std::invalid_argument("traffic needs at least one time slot");
  std::vector<double> flow(static_cast<std::size_t>(tree.leaves()) * endpoints * slots, 0);
  for (std::size_t i = 0; i < src.size(); ++i) {
    if (src[i] < 0 || src[i] >= endpoints || dst[i] < 0 || dst[i] >= endpoints)
      reject(i, "endpoints go from 0 to " + std::to_string(endpoints - 1));
    if (!(bytes[i] >= 0) || !std::isfinite(bytes[i])) reject(i, "bytes must be a finite number from 0");
    const int at = slot.empty() ? 0 : slot[i];
    if (at < 0 || at >= slots) reject(i, "time slots go from 0 to " + std::to_string(slots - 1));
    const int leaf = tree.leaf_of(src[i]);
    if (leaf != tree.leaf_of(dst[i]))
      flow[(static_cast<std::size_t>(leaf) * endpoints + dst[i]) * slots + at] += bytes[i];
  }
  Demand demand;
  demand.slots = slots;
  demand.of_leaf.push_back(0);
  demand.of_dest.assign(endpoints + 1, 0);
  for (int leaf = 0; leaf < tree.leaves(); ++leaf) {
    for (int d = 0; d < endpoints; ++d) {
      const double* each = &flow[(static_cast<std::size_t>(leaf) * endpoints + d) * slots];
      double all = 0;
      for (int t = 0; t < slots; ++t) all += each[t];
      if (all <= 0) continue;
      demand.items.push_back({leaf, d, static_cast<float>(all)});
      for (int t = 0; t < slots; ++t) demand.by_slot.push_back(static_cast<float>(each[t]));
      ++demand.of_dest[d + 1];
    }
    demand.of_leaf.push_back(static_cast<int>(demand.items.size()));
  }
  for (int d = 0; d < endpoints; ++d) demand.of_dest[d + 1] += demand.of_dest[d];
  demand.by_dest.resize(demand.items.size());
  std::vector<int> place(demand.of_dest.begin(), demand.of_dest.end() - 1);
  for (int i = 0; i < static_cast<int>(demand.items.size()); ++i) demand.by_dest[place[demand.items[i].dest]++] = i;
  return demand;
}

}  // namespace flitwatch::routes
