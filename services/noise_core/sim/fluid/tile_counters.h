// The second's increments of every tile's and NIC's counters from what links carried and how long it waited: one pass
// over the links.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace flitwatch::fluid {

// Constants of the counters' meaning; the caller owns them (Counters of the twin).
struct CounterScale {
  double flits_per_byte, cycles_per_wait, clock_hz, flits_per_packet, alone_latency_us;
};

// Which link counts where. wire[i] counts at tile[i] (tiles of all routers in one row); out lists the links that leave
// routers, those of router r at [out_first[r], out_first[r + 1]); inject, eject, home and slot are one an endpoint.
struct CounterMap {
  std::vector<std::int64_t> wire, tile, out, out_first, inject, eject, home, slot;
};

// One step: arrays of the links, and of the routers (noise).
struct Carried {
  std::span<const double> bytes, utilisation, wait, noise;
  double dt_s;
};

// Cumulative counters, changed in place: network [3, R x tiles], processor [7, R x slots], nic [6, E], rows one after
// the other.
struct CounterRows {
  std::span<double> network, processor, nic;
};

class TileCounters {
 public:
  // std::invalid_argument where the map points outside the fabric.
  TileCounters(std::size_t links, std::size_t routers, std::size_t network_tiles, std::size_t processor_tiles,
               CounterMap map, CounterScale scale);

  // std::invalid_argument where an array has the wrong length.
  void update(const Carried& carried, const CounterRows& rows);

 private:
  void check(const Carried& carried, const CounterRows& rows) const;
  void pair_cables();
  void wait_ahead(const Carried& carried);
  void network(const Carried& carried, double* rows) const;
  void processor(const Carried& carried, double* rows, double* nic) const;

  std::size_t links_, routers_, network_tiles_, processor_tiles_;  // tiles of all routers
  CounterMap map_;
  CounterScale scale_;
  std::vector<double> sent_, waited_;  // per router, flits of the links that leave it, and these times their waiting
  // Per wire the bundle of cables between its two routers in its direction, and that against it (the last one: none).
  std::vector<std::size_t> bundle_, back_;
  std::vector<double> bundle_sent_, bundle_waited_;  // the same sums per bundle
};

}  // namespace flitwatch::fluid
