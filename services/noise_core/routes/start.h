// Initial tables.
#pragma once

#include "routes/random.h"
#include "routes/tables.h"

namespace flitwatch::routes {

// Destination modulo the number of ports at every level, as OpenSM's ftree spreads destinations.
void start_ftree(Tables& tables);

// Chooses every entry at random and avoids failed links, as far as visible from the entry's own link.
void start_random(Tables& tables, Random& random);

// Koenig's edge colouring by recursive halving. The multigraph of leaves (then of spines) is split into halves that are
// even at every vertex, with heavy edges paired. Exact for uniform weights if the number of ports is a power of two.
void start_split(Tables& tables, Random& random);

}  // namespace flitwatch::routes
