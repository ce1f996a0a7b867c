// Increments of every tile's and NIC's counters in a step, computed from the traffic and waiting of the links in one
// pass.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace flitwatch::fluid {

// Constants of the counters' meaning; the caller defines them (the twin's Counters).
struct CounterScale {
  double flits_per_byte, cycles_per_wait, clock_hz, flits_per_packet, alone_latency_us;
};

// Position at which each link counts. wire[i] counts at tile[i] (tiles of all routers in one row). out lists the links
// that leave routers, those of router r at [out_first[r], out_first[r + 1]). inject, eject, home and slot have one
// entry per endpoint.
struct CounterMap {
  std::vector<std::int64_t> wire, tile, out, out_first, inject, eject, home, slot;
};

// One step: arrays over the links, and over the routers (noise).
struct Carried {
  std::span<const double> bytes, utilisation, wait, noise;
  double dt_s;
};

// Cumulative counters, changed in place: network [3, R x tiles], processor [7, R x slots], nic [6, E], in row-major
// order.
struct CounterRows {
  std::span<double> network, processor, nic;
};

class TileCounters {
 public:
  // Throws std::invalid_argument if the map refers to positions outside the fabric.
  TileCounters(std::size_t links, std::size_t routers, std::size_t network_tiles, std::size_t processor_tiles,
               CounterMap map, CounterScale scale);

  // Throws std::invalid_argument if an array has the wrong length.
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
  std::vector<double> sent_, waited_;  // per router: flits of its outgoing links, and the same times their waiting
  // Per wire: the bundle of cables between its two routers in its direction, and that in the other (the last one:
  // none).
  std::vector<std::size_t> bundle_, back_;
  std::vector<double> bundle_sent_, bundle_waited_;  // the same sums per bundle
};

}  // namespace flitwatch::fluid
