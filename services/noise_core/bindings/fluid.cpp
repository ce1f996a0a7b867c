// Python bindings of the per-second fluid engine. Arrays of links, routers and endpoints in, arrays out.
#include <nanobind/nanobind.h>

#include "bindings/arrays.h"
#include "sim/fluid/pattern_loads.h"
#include "sim/fluid/tile_counters.h"

namespace nb = nanobind;
using namespace nb::literals;
using namespace flitwatch::bindings;
using namespace flitwatch::fluid;

namespace {

using Rows = nb::ndarray<double, nb::c_contig, nb::device::cpu>;  // changed in place

std::span<double> rows(const Rows& array) { return {array.data(), array.size()}; }

}  // namespace

NB_MODULE(_fluid, m) {
  m.doc() = "The per-second fluid engine: loads of patterns, waiting on links, counters of tiles and NICs.";

  nb::class_<Gather>(m, "Gather")
      .def(nb::init<std::size_t>(), "links"_a)
      .def(
          "__call__",
          [](Gather& gather, In<std::int64_t> link, In<double> share) {
            auto [links, shares] = gather(view(link), view(share));
            return nb::make_tuple(give(std::move(links)), give(std::move(shares)));
          },
          "link"_a, "share"_a,
          "(int32[n], float64[n]): each link once, ascending, and the sum of its shares; sums of 0 are left out.");

  nb::class_<PatternLoads>(m, "PatternLoads")
      .def(nb::init<std::size_t>(), "links"_a)
      .def("__len__", &PatternLoads::columns)
      .def(
          "add",
          [](PatternLoads& loads, In<std::int32_t> link, In<double> share) {
            return loads.add(view(link), view(share));
          },
          "link"_a, "share"_a, "Keep a column; returns its number, which is never used again.")
      .def("release", &PatternLoads::release, "column"_a)
      .def(
          "sum",
          [](const PatternLoads& loads, In<std::int64_t> column, In<double> rate) {
            return give(loads.sum(view(column), view(rate)));
          },
          "column"_a, "rate"_a, "float64[L]: load of every link, where column[k] runs at rate[k].")
      .def(
          "fullest",
          [](const PatternLoads& loads, In<std::int64_t> column, In<double> value) {
            return give(loads.fullest(view(column), view(value)));
          },
          "column"_a, "value"_a, "float64[C]: the highest value among the links of each column, 0 without links.");

  m.def(
      "link_state",
      [](In<double> offered, In<double> capacity, double scale, double knee, double slope_above_knee) {
        LinkState state = link_state(view(offered), view(capacity), {scale, knee, slope_above_knee});
        return nb::make_tuple(give(std::move(state.utilisation)), give(std::move(state.wait)), state.highest);
      },
      "offered"_a, "capacity"_a, "scale"_a, "knee"_a, "slope_above_knee"_a,
      "(utilisation float64[L], waiting over service time float64[L], utilisation of the fullest link).");

  nb::class_<TileCounters>(m, "TileCounters")
      .def(
          "__init__",
          [](TileCounters* self, std::size_t links, std::size_t routers, std::size_t network_tiles,
             std::size_t processor_tiles, In<std::int64_t> wire, In<std::int64_t> tile, In<std::int64_t> out,
             In<std::int64_t> out_first, In<std::int64_t> inject, In<std::int64_t> eject, In<std::int64_t> home,
             In<std::int64_t> slot, double flits_per_byte, double cycles_per_wait, double clock_hz,
             double flits_per_packet, double alone_latency_us) {
            CounterMap map{copy(wire),   copy(tile),  copy(out),  copy(out_first),
                           copy(inject), copy(eject), copy(home), copy(slot)};
            new (self) TileCounters(links, routers, network_tiles, processor_tiles, std::move(map),
                                    {flits_per_byte, cycles_per_wait, clock_hz, flits_per_packet, alone_latency_us});
          },
          nb::kw_only(), "links"_a, "routers"_a, "network_tiles"_a, "processor_tiles"_a, "wire"_a, "tile"_a, "out"_a,
          "out_first"_a, "inject"_a, "eject"_a, "home"_a, "slot"_a, "flits_per_byte"_a, "cycles_per_wait"_a,
          "clock_hz"_a, "flits_per_packet"_a, "alone_latency_us"_a)
      .def(
          "update",
          [](TileCounters& counters, In<double> bytes, In<double> utilisation, In<double> wait, In<double> noise,
             double dt_s, Rows network, Rows processor, Rows nic) {
            counters.update({view(bytes), view(utilisation), view(wait), view(noise), dt_s},
                            {rows(network), rows(processor), rows(nic)});
          },
          "bytes"_a, "utilisation"_a, "wait"_a, "noise"_a, "dt_s"_a, "network"_a.noconvert(), "processor"_a.noconvert(),
          "nic"_a.noconvert(), "Add one step to the cumulative counters, in place.");
}
