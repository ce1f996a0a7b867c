// Moves on tables: one entry and its dependants are removed and placed again at the lowest cost.
#pragma once

#include <vector>

#include "routes/steps.h"
#include "routes/tables.h"

namespace flitwatch::routes {

class Moves {
 public:
  Moves(Tables& tables, Random& random, double scale);

  // Removes one item from an overloaded cell (a link in a time slot) and places it again; `forced`: not on the old
  // port.
  void relieve(int cell, bool forced);
  void grow(float factor);   // prices of overloaded cells
  void forget(float share);  // prices towards 1
  void reset() { price_.assign(price_.size(), 1.0f); }

 private:
  float added(int link, const float* bytes) const;  // cost of adding bytes to a link
  float added_to_slots(int link, const float* bytes) const;
  float added_to_cell(std::size_t cell, int slot, double bytes) const;
  void price_descents(int group, int dest, const float* bytes);
  void lay_item(int item, bool forced);
  void lay_spine(int ps, int dest, bool forced);
  void lay_core(int k, int dest, bool forced);
  int any_item_at(int ps, int dest, int slot);
  void relieve_up(int link, int slot, bool forced);
  void relieve_core(int link, int slot, bool forced);
  void relieve_down(int k, int dest, int slot, bool forced);

  Tables& tables_;
  const Tree& tree_;
  Random& random_;
  double per_byte_, per_excess_;
  std::vector<float> price_;
  std::vector<float> last_;       // by spine of a group: the last link down to the current destination
  std::vector<float> descent_;    // by core: cost of the cheapest path down to the current destination
  std::vector<Port> descent_by_;  // the spine of that path
  std::vector<int> found_;
};

}  // namespace flitwatch::routes
