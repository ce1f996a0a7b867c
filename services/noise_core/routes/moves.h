// Moves on tables: one entry and what hangs on it is taken away and laid again by least cost.
#pragma once

#include <vector>

#include "routes/random.h"
#include "routes/tables.h"

namespace flitwatch::routes {

class Moves {
 public:
  Moves(Tables& tables, Random& random, double scale);

  // Takes one thing off an overloaded link and lays it again; `forced`: not on the old port.
  void relieve(int link, bool forced);
  void grow(float factor);              // prices of overloaded links
  void forget(float share);             // prices towards 1
  void reset() { price_.assign(price_.size(), 1.0f); }

 private:
  float added(int link, float bytes) const;  // cost of adding bytes to a link
  void price_descents(int group, int dest, float bytes);
  void lay_item(int item, bool forced);
  void lay_spine(int ps, int dest, bool forced);
  void lay_core(int k, int dest, bool forced);
  int any_item_at(int ps, int dest);
  void relieve_up(int link, bool forced);
  void relieve_core(int link, bool forced);
  void relieve_down(int k, int dest, bool forced);

  Tables& tables_;
  const Tree& tree_;
  Random& random_;
  double per_byte_, per_excess_;
  std::vector<float> price_;
  std::vector<float> descent_;   // by core: cheapest way down to the destination at hand
  std::vector<Port> descent_by_; // and the spine it takes
  std::vector<int> found_;
};

}  // namespace flitwatch::routes
