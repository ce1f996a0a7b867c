// Tables that a fabric has loaded: a search begins with them, and gives back what it need not change.
#pragma once

#include <vector>

#include "routes/tables.h"

namespace flitwatch::routes {

// The spine of every (leaf, destination), the core of every (spine, destination), the spine below every (core,
// destination); -1 where the entry is absent or leads nowhere.
struct Loaded {
  std::vector<Port> spine_of, core_of, down_of;
};

// Tables as they are loaded; entries that are absent stay as the tables hold them.
void lay_loaded(Tables& tables, const Loaded& loaded);

// Loaded entries again, one by one, wherever they load no cell above the limit.
void put_back(Tables& tables, const Loaded& loaded, const BySlot& limit);

}  // namespace flitwatch::routes
