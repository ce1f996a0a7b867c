// Loaded tables of a fabric: a search starts from them and restores unchanged entries.
#pragma once

#include <vector>

#include "routes/tables.h"

namespace flitwatch::routes {

// The spine of every (leaf, destination), the core of every (spine, destination), and the spine below every (core,
// destination); -1 if the entry is missing or leads nowhere.
struct Loaded {
  std::vector<Port> spine_of, core_of, down_of;
};

// Sets the tables as loaded. Missing entries keep their current value.
void lay_loaded(Tables& tables, const Loaded& loaded);

// Restores loaded entries, one by one, unless that loads a cell above the limit.
void put_back(Tables& tables, const Loaded& loaded, const BySlot& limit);

}  // namespace flitwatch::routes
