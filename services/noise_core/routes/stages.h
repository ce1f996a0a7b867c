// Tables level by level: ports between leaves and spines at both ends of the path, then cores between the spines.
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

// Empty if a link needed by the demand failed, or has a different number of cables than others of its level: the stages
// support neither.
std::optional<LevelCables> even_cables(const Tables& tables);

// Rebuilds the tables, starting from the current ones, so that no link is above `limit`, or as little as found while
// `go_on` (called now and then) returned true.
void settle_by_stages(Tables& tables, const LevelCables& cables, double limit, Random& random,
                      const std::function<bool()>& go_on);

}  // namespace flitwatch::routes
