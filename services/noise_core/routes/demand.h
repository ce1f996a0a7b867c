// What is to be routed: bytes from each leaf to each destination endpoint. A leaf's table has one port a destination, so the
// sources behind a leaf never part.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "routes/tree.h"

namespace flitwatch::routes {

struct Item {
  int leaf;
  int dest;
  float bytes;
};

struct Demand {
  std::vector<Item> items;      // by leaf, then destination; only between different leaves, only above zero
  std::vector<int> of_leaf;     // items of leaf l: [of_leaf[l], of_leaf[l + 1])
  std::vector<int> of_dest;     // positions in by_dest of destination d: [of_dest[d], of_dest[d + 1])
  std::vector<int> by_dest;     // item numbers, by destination
  double busiest_host = 0;      // most bytes that one endpoint sends or receives, its own leaf included
};

// Throws std::invalid_argument for endpoints out of range or bytes that are negative or not finite.
Demand gather(const Tree& tree, std::span<const std::int32_t> src, std::span<const std::int32_t> dst, std::span<const double> bytes);

// Lower bounds on the largest load of a link between switches; `failed`: a flag a link, or empty.
struct Bounds {
  double adaptive;  // traffic of a leaf or pod spread evenly over its links that work: z_AR of an intact tree, at most z_AR of a broken one
  double fixed;     // with one port a destination: pigeonholes of the items of each leaf, on both sides, and of each pair of leaves
};
Bounds bounds(const Tree& tree, const Demand& demand, std::span<const std::uint8_t> failed);

}  // namespace flitwatch::routes
