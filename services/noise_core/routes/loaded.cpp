#include "routes/steps.h"

namespace flitwatch::routes {

namespace {

constexpr int kPasses = 4;  // over entries that may go back

class PutBack {
 public:
  PutBack(Tables& tables, const Loaded& loaded) : tables_(tables), tree_(tables.tree()), loaded_(loaded) {}

  // Whether any entry went back.
  bool pass() {
    bool moved = false;
    for (int i = 0; i < static_cast<int>(tables_.spine_of.size()); ++i) moved = item(i) || moved;
    for (std::size_t q = 0; q < tables_.core_of.size(); ++q) moved = (tables_.spine_users(q) && spine(q)) || moved;
    for (std::size_t q = 0; q < tables_.down_of.size(); ++q) moved = (tables_.core_users(q) && core(q)) || moved;
    return moved;
  }

 private:
  // A core's entry as it was: the way that is left may go through the same core.
  struct Undo {
    std::size_t at = 0;
    Port down = -1;
  };

  // The entry goes back to what it was, unless that loads a cell too much. `place(sign)` adds and takes away what
  // follows the entry; `free()` lays what nothing else uses on the way that begins there.
  template <class Place, class Free>
  bool back(Port& entry, Port was, Place place, Free free) {
    const Port now = entry;
    if (was < 0 || was == now) return false;
    place(-1);
    entry = was;
    const Undo undo = free();
    place(1);
    if (tables_.overloaded().empty()) return true;
    place(-1);
    entry = now;
    if (undo.down >= 0) tables_.down_of[undo.at] = undo.down;
    place(1);
    return false;
  }

  bool item(int item) {
    const Item& one = tables_.demand().items[item];
    const Port was = loaded_.spine_of[static_cast<std::size_t>(one.leaf) * tree_.endpoints() + one.dest];
    const int pod = tree_.pod_of_leaf(one.leaf);
    return back(
        tables_.spine_of[item], was, [&](int sign) { tables_.place(item, sign); },
        [&] {
          return pod == tree_.pod_of(one.dest) ? Undo{} : free_entries(pod * tree_.shape().spines + was, one.dest);
        });
  }

  bool spine(std::size_t q) {
    const int ps = static_cast<int>(q / tree_.endpoints()), dest = static_cast<int>(q % tree_.endpoints());
    return back(
        tables_.core_of[q], loaded_.core_of[q],
        [&](int sign) { tables_.place_spine(ps, dest, tables_.spine_bytes(q), sign); },
        [&] { return free_core(core_above(ps, tables_.core_of[q]), dest); });
  }

  bool core(std::size_t q) {
    const int k = static_cast<int>(q / tree_.endpoints()), dest = static_cast<int>(q % tree_.endpoints());
    return back(
        tables_.down_of[q], loaded_.down_of[q],
        [&](int sign) { tables_.place_core(k, dest, tables_.core_bytes(q), sign); }, [] { return Undo{}; });
  }

  int core_above(int ps, Port c) const {
    return tree_.group_of_spine(ps % tree_.shape().spines) * tree_.shape().cores + c;
  }

  // Entries on the way from a spine that nothing uses yet become the loaded ones.
  Undo free_entries(int ps, int dest) {
    const std::size_t q = tables_.at_spine(ps, dest);
    if (!tables_.spine_users(q) && loaded_.core_of[q] >= 0) tables_.core_of[q] = loaded_.core_of[q];
    return free_core(core_above(ps, tables_.core_of[q]), dest);
  }

  Undo free_core(int k, int dest) {
    const std::size_t at = tables_.at_core(k, dest);
    const Undo undo{at, tables_.down_of[at]};
    if (!tables_.core_users(at) && loaded_.down_of[at] >= 0) tables_.down_of[at] = loaded_.down_of[at];
    return undo;
  }

  Tables& tables_;
  const Tree& tree_;
  const Loaded& loaded_;
};

}  // namespace

void lay_loaded(Tables& tables, const Loaded& loaded) {
  const auto& items = tables.demand().items;
  const std::size_t endpoints = tables.tree().endpoints();
  for (std::size_t i = 0; i < items.size(); ++i)
    if (const Port p = loaded.spine_of[items[i].leaf * endpoints + items[i].dest]; p >= 0) tables.spine_of[i] = p;
  for (std::size_t q = 0; q < loaded.core_of.size(); ++q)
    if (loaded.core_of[q] >= 0) tables.core_of[q] = loaded.core_of[q];
  for (std::size_t q = 0; q < loaded.down_of.size(); ++q)
    if (loaded.down_of[q] >= 0) tables.down_of[q] = loaded.down_of[q];
  tables.recompute();
}

void put_back(Tables& tables, const Loaded& loaded, const BySlot& limit) {
  tables.set_limit(limit);
  PutBack entries(tables, loaded);
  for (int pass = 0; pass < kPasses && tables.overloaded().empty(); ++pass)
    if (!entries.pass()) return;
}

}  // namespace flitwatch::routes
