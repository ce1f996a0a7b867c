// Which of the cables that join two switches each entry of a forwarding table takes.
//
// The tables say which switch follows; what a switch sends to a destination is then fixed, whichever cable it takes. So
// the entries of one link are shared out among its cables without a look at any other link: the makespan problem of
// identical machines, a vector of time slots at each entry.
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
  std::span<const std::int32_t> held;    // of each entry: the cable it holds already, or -1
};

// The cable of every entry. Entries stay on the cables that they hold where no slot of the link then carries more than
// `limit` on a cable; else, and for the others, the largest entry first takes the cable with the least, and moves and
// exchanges follow as long as they lower the busiest cable. Throws std::invalid_argument where sizes differ or a link
// has no cable.
std::vector<std::int32_t> share_cables(const Entries& entries, std::span<const double> limit);

}  // namespace flitwatch::routes
