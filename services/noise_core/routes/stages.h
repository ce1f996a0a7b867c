// Tables level by level: ports between leaves and spines at both ends of the way, then cores between the spines.
#pragma once

#include <functional>

#include "routes/random.h"
#include "routes/tables.h"

namespace flitwatch::routes {

// Whether every link works that traffic of the demand could take: the stages know no failed ones.
bool whole(const Tables& tables);

// Lays the tables anew, from what they hold: no link above `limit`, or as little above it as was found while `go_on`, asked now and then, said yes.
void settle_by_stages(Tables& tables, double limit, Random& random, const std::function<bool()>& go_on);

}  // namespace flitwatch::routes
