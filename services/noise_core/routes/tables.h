// Forwarding tables of a tree under a demand, with the resulting loads. Each switch has one port per destination by
// construction, because a table has one entry for it. Entries are counted while traffic uses them.
//
// A link represents all cables that join two switches. Its load is the load per cable if they share the traffic evenly.
// cables.h later assigns entries to cables, separately for each link.
#pragma once

#include <cstdint>
#include <vector>

#include "routes/demand.h"
#include "routes/tree.h"

namespace flitwatch::routes {

using Port = std::int16_t;

// One number per time slot.
using BySlot = std::vector<double>;
double sum_of(const BySlot& each);

class Tables {
 public:
  // `cables`: working cables of each link; empty: one each.
  Tables(const Tree& tree, const Demand& demand, const std::vector<std::uint8_t>& cables);

  // The tables: spine (within the pod) of an item; core (within the group) of (ps, dest); spine within the group of (k,
  // dest).
  std::vector<Port> spine_of;  // by item
  std::vector<Port> core_of;   // by ps * endpoints + dest
  std::vector<Port> down_of;   // by k * endpoints + dest

  const Tree& tree() const { return tree_; }
  const Demand& demand() const { return demand_; }
  int slots() const { return slots_; }
  int cables(int link) const { return cables_[link]; }
  bool failed(int link) const { return cables_[link] == 0; }
  float per_cable(int link) const { return per_cable_[link]; }  // of a link's bytes
  int spine_users(std::size_t q) const { return spine_users_[q]; }
  int core_users(std::size_t q) const { return core_users_[q]; }
  std::size_t at_spine(int ps, int dest) const { return static_cast<std::size_t>(ps) * endpoints_ + dest; }
  std::size_t at_core(int k, int dest) const { return static_cast<std::size_t>(k) * endpoints_ + dest; }

  // Bytes, one float per slot: of dest through ps, to another pod; of dest through core k. Loads are per cell, which is
  // a link and a slot.
  const float* spine_bytes(std::size_t q) const { return &spine_bytes_[q * slots_]; }
  const float* core_bytes(std::size_t q) const { return &core_bytes_[q * slots_]; }
  std::size_t cell(int link, int slot) const { return static_cast<std::size_t>(link) * slots_ + slot; }
  double load(std::size_t cell) const { return load_[cell]; }

  void place(int item, int sign);  // +1: add along the tables, -1: remove
  void place_spine(int ps, int dest, const float* bytes,
                   int sign);  // a spine's merged flow of a destination, above the spine
  void place_core(int k, int dest, const float* bytes,
                  int sign);  // a core's merged flow, below the core; users unchanged
  void recompute();           // computes loads from the tables, which removes rounding errors
  BySlot largest() const;     // largest load of each slot; infinite if a failed link carries bytes

  // Cells loaded above their slot's limit (failed links: above zero), updated with every change.
  void set_limit(const BySlot& limit);
  double limit(int slot) const { return limit_[slot]; }
  const std::vector<int>& overloaded() const { return overloaded_; }

 private:
  void change(int link, const float* bytes, int sign);
  void classify(std::size_t cell, double limit);

  const Tree& tree_;
  const Demand& demand_;
  int endpoints_, slots_;
  double slack_ = 0;
  BySlot limit_;
  std::vector<std::uint8_t> cables_;
  std::vector<float> per_cable_;
  std::vector<double> load_;
  std::vector<float> spine_bytes_, core_bytes_;
  std::vector<std::uint16_t> spine_users_, core_users_;
  std::vector<int> overloaded_, place_;
};

}  // namespace flitwatch::routes
