// Tables to begin with.
#pragma once

#include "routes/random.h"
#include "routes/tables.h"

namespace flitwatch::routes {

// Destination modulo the number of ports at every level, as OpenSM's ftree spreads destinations.
void start_ftree(Tables& tables);

// Every entry at random, failed links avoided where the entry's own link tells.
void start_random(Tables& tables, Random& random);

// Koenig's edge colouring by recursive halving: the multigraph of leaves (then of spines) is split into halves that are
// even at every vertex, heavy edges paired with heavy ones. Exact for uniform weights and a power of two of ports.
void start_split(Tables& tables, Random& random);

}  // namespace flitwatch::routes
