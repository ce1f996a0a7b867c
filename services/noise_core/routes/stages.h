// Tables level by level: ports between leaves and spines at both ends of the way, then cores between the spines.
#pragma once

#include <functional>
#include <optional>

#include "routes/random.h"
#include "routes/tables.h"

namespace flitwatch::routes {

// Cables of each link of a level.
struct LevelCables {
  int leaf;  // between leaves and spines
  int core;  // between spines and cores; 0 without cores
};

// Empty where a link that traffic of the demand could take failed, or has another number of cables than others of its
// level: the stages know neither.
std::optional<LevelCables> even_cables(const Tables& tables);

// Lays the tables anew, from what they hold: no link above `limit`, or as little above it as was found while `go_on`,
// asked now and then, said yes.
void settle_by_stages(Tables& tables, const LevelCables& cables, double limit, Random& random,
                      const std::function<bool()>& go_on);

}  // namespace flitwatch::routes
