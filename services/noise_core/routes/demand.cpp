#include "routes/demand.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace flitwatch::routes {

Demand gather(const Tree& tree, std::span<const std::int32_t> src, std::span<const std::int32_t> dst, std::span<const double> bytes) {
  const int endpoints = tree.endpoints();
  std::vector<double> sent(endpoints, 0), received(endpoints, 0);
  std::vector<double> flow(static_cast<std::size_t>(tree.leaves()) * endpoints, 0);
  for (std::size_t i = 0; i < src.size(); ++i) {
    if (src[i] < 0 || src[i] >= endpoints || dst[i] < 0 || dst[i] >= endpoints)
      throw std::invalid_argument("row " + std::to_string(i) + ": endpoints go from 0 to " + std::to_string(endpoints - 1));
    if (!(bytes[i] >= 0) || !std::isfinite(bytes[i])) throw std::invalid_argument("row " + std::to_string(i) + ": bytes must be a finite number from 0");
    if (src[i] == dst[i]) continue;
    sent[src[i]] += bytes[i];
    received[dst[i]] += bytes[i];
    const int leaf = tree.leaf_of(src[i]);
    if (leaf != tree.leaf_of(dst[i])) flow[static_cast<std::size_t>(leaf) * endpoints + dst[i]] += bytes[i];
  }
  Demand demand;
  demand.of_leaf.push_back(0);
  demand.of_dest.assign(endpoints + 1, 0);
  for (int leaf = 0; leaf < tree.leaves(); ++leaf) {
    for (int d = 0; d < endpoints; ++d) {
      const double b = flow[static_cast<std::size_t>(leaf) * endpoints + d];
      if (b <= 0) continue;
      demand.items.push_back({leaf, d, static_cast<float>(b)});
      ++demand.of_dest[d + 1];
    }
    demand.of_leaf.push_back(static_cast<int>(demand.items.size()));
  }
  for (int d = 0; d < endpoints; ++d) demand.of_dest[d + 1] += demand.of_dest[d];
  demand.by_dest.resize(demand.items.size());
  std::vector<int> place(demand.of_dest.begin(), demand.of_dest.end() - 1);
  for (int i = 0; i < static_cast<int>(demand.items.size()); ++i) demand.by_dest[place[demand.items[i].dest]++] = i;
  for (int e = 0; e < endpoints; ++e) demand.busiest_host = std::max({demand.busiest_host, sent[e], received[e]});
  return demand;
}

}  // namespace flitwatch::routes
