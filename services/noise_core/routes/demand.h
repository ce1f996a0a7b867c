// Traffic to route: bytes from each leaf to each destination endpoint, in each of several successive time slots. A
// leaf's table has one port per destination, so the sources behind a leaf always share their route.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "routes/tree.h"

namespace flitwatch::routes {

struct Item {
  int leaf;
  int dest;
  float bytes;  // of all slots
};

struct Demand {
  int slots = 1;
  std::vector<Item> items;     // by leaf, then destination; only between different leaves, only above zero
  std::vector<int> of_leaf;    // items of leaf l: [of_leaf[l], of_leaf[l + 1])
  std::vector<int> of_dest;    // positions in by_dest of destination d: [of_dest[d], of_dest[d + 1])
  std::vector<int> by_dest;    // item numbers, by destination
  std::vector<float> by_slot;  // bytes by item * slots + slot

  const float* bytes(int item) const { return &by_slot[static_cast<std::size_t>(item) * slots]; }
};

// `slot`: of every row, from 0 to slots - 1; empty: all rows in one slot. Throws std::invalid_argument for endpoints or
// slots out of range, or for bytes that are negative or not finite.
Demand gather(const Tree& tree, std::span<const std::int32_t> src, std::span<const std::int32_t> dst,
              std::span<const double> bytes, std::span<const std::int32_t> slot = {}, int slots = 1);

// Lower bounds on the largest load of a link between switches, over all slots together. `cables`: working cables of
// each link, or empty for one each.
struct Bounds {
  double adaptive;  // traffic of a leaf or pod spread evenly over its working cables: z_AR of an intact tree, at most
                    // z_AR of a broken one
  double fixed;  // with one port per destination: pigeonhole bounds for the items of each leaf, in both directions, and
                 // of each pair of leaves
};
Bounds bounds(const Tree& tree, const Demand& demand, std::span<const std::uint8_t> cables);

}  // namespace flitwatch::routes
