// Assigns a cable, among those that join two switches, to each entry of a forwarding table.
//
// The tables determine the next switch, so the traffic of a switch to a destination is fixed, whichever cable it takes.
// The entries of one link are therefore distributed over its cables independently of other links: the makespan problem
// of identical machines, with a vector of time slots per entry.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace flitwatch::routes {

struct Entries {
  int slots;
  std::span<const std::int64_t> first;   // links + 1: the entries of link l are [first[l], first[l + 1])
  std::span<const std::int32_t> cables;  // of each link, 1 or more
  std::span<const double> bytes;         // by entry * slots + slot
  std::span<const std::int32_t> held;    // of each entry: its current cable, or -1
};

// Returns the cable of every entry. Entries keep their current cables if no slot of the link then carries more than
// `limit` on a cable. Otherwise, and for other entries, the largest entry first takes the least loaded cable. Moves and
// exchanges follow as long as they reduce the load of the busiest cable. Throws std::invalid_argument if sizes differ
// or a link has no cable.
std::vector<std::int32_t> share_cables(const Entries& entries, std::span<const double> limit);

}  // namespace flitwatch::routes
