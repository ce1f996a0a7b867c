#include "routes/demand.h"

#include <algorithm>
#include <cmath>
#include <functional>
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

namespace {

// m ports must take these items: some port takes two of the m + 1 largest, some three of the 2m + 1 largest, and so on.
double pigeonhole(std::vector<float>& bytes, int ports) {
  if (bytes.empty()) return 0;
  std::sort(bytes.begin(), bytes.end(), std::greater<>());
  double best = bytes[0];
  for (std::size_t k = 1; k * ports < bytes.size(); ++k) {
    double least = 0;
    for (std::size_t j = 0; j <= k; ++j) least += bytes[k * ports - j];
    best = std::max(best, least);
  }
  return best;
}

}  // namespace

Bounds bounds(const Tree& tree, const Demand& demand) {
  const TreeShape& s = tree.shape();
  std::vector<double> leaf_out(tree.leaves(), 0), leaf_in(tree.leaves(), 0), pod_out(s.pods, 0), pod_in(s.pods, 0);
  std::vector<std::vector<float>> out(tree.leaves()), in(tree.leaves());
  for (const Item& item : demand.items) {
    const int to = tree.leaf_of(item.dest), from_pod = tree.pod_of_leaf(item.leaf), to_pod = tree.pod_of_leaf(to);
    leaf_out[item.leaf] += item.bytes;
    leaf_in[to] += item.bytes;
    out[item.leaf].push_back(item.bytes);
    in[to].push_back(item.bytes);
    if (from_pod != to_pod) {
      pod_out[from_pod] += item.bytes;
      pod_in[to_pod] += item.bytes;
    }
  }
  double adaptive = 0, fixed = 0;
  for (int l = 0; l < tree.leaves(); ++l) {
    adaptive = std::max({adaptive, leaf_out[l] / s.spines, leaf_in[l] / s.spines});
    fixed = std::max({fixed, pigeonhole(out[l], s.spines), pigeonhole(in[l], s.spines)});
  }
  const double pod_links = static_cast<double>(s.spines) * s.cores;
  for (int p = 0; p < s.pods && s.groups; ++p) adaptive = std::max({adaptive, pod_out[p] / pod_links, pod_in[p] / pod_links});
  return {adaptive, std::max(adaptive, fixed)};
}

}  // namespace flitwatch::routes
