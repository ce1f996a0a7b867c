#include "sim/topology/topology.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include "bindings/arrays.h"

namespace nb = nanobind;
using namespace nb::literals;
using namespace flitwatch::bindings;
using namespace flitwatch::sim;

namespace {

Topology from_arrays(std::uint32_t routers, std::uint32_t endpoints, In<std::uint32_t> src, In<std::uint32_t> dst,
                     In<std::uint16_t> src_port, In<std::uint16_t> dst_port, In<std::uint8_t> link_class,
                     In<std::uint16_t> multiplicity, In<double> bandwidth_bps, std::vector<std::string> class_names,
                     std::vector<std::uint32_t> group) {
  if (!group.empty() && group.size() != routers) throw std::invalid_argument("one group per router is required");
  LinkArrays links{copy(src),        copy(dst),          copy(src_port),     copy(dst_port),
                   copy(link_class), copy(multiplicity), copy(bandwidth_bps)};
  auto graph = std::make_shared<const Graph>(routers, endpoints, std::move(links), std::move(class_names));
  return {group.empty() ? Kind::kGraph : Kind::kDragonfly, std::move(graph), {}, std::move(group), false};
}

const char* name(Kind kind) {
  switch (kind) {
    case Kind::kXgft:
      return "xgft";
    case Kind::kTorus:
      return "torus";
    case Kind::kDragonfly:
      return "dragonfly";
    case Kind::kGraph:
      break;
  }
  return "graph";
}

void bind_topology(nb::module_& m) {
  nb::class_<Topology>(m, "Topology", "A fabric: routers 0..R-1, endpoints 0..E-1 and directed links, as flat arrays.")
      .def_prop_ro(
          "kind", [](const Topology& t) { return name(t.kind); }, "xgft, torus, dragonfly or graph.")
      .def_prop_ro("routers", [](const Topology& t) { return t.graph->routers(); })
      .def_prop_ro("endpoints", [](const Topology& t) { return t.graph->endpoints(); })
      .def_prop_ro(
          "links", [](const Topology& t) { return t.graph->links(); }, "Directed links, terminal links included.")
      .def_prop_ro(
          "src", [](const Topology& t) { return give(std::vector(t.graph->arrays().src)); }, nb::rv_policy::automatic,
          "Vertex that each link leaves: router r is r, endpoint e is routers + e.")
      .def_prop_ro(
          "dst", [](const Topology& t) { return give(std::vector(t.graph->arrays().dst)); }, nb::rv_policy::automatic,
          "Vertex that each link reaches.")
      .def_prop_ro(
          "src_port", [](const Topology& t) { return give(std::vector(t.graph->arrays().src_port)); },
          nb::rv_policy::automatic)
      .def_prop_ro(
          "dst_port", [](const Topology& t) { return give(std::vector(t.graph->arrays().dst_port)); },
          nb::rv_policy::automatic)
      .def_prop_ro(
          "link_class", [](const Topology& t) { return give(std::vector(t.graph->arrays().link_class)); },
          nb::rv_policy::automatic, "Index into `class_names`.")
      .def_prop_ro(
          "multiplicity", [](const Topology& t) { return give(std::vector(t.graph->arrays().multiplicity)); },
          nb::rv_policy::automatic)
      .def_prop_ro(
          "bandwidth_bps", [](const Topology& t) { return give(std::vector(t.graph->arrays().bandwidth_bps)); },
          nb::rv_policy::automatic)
      .def_prop_ro("class_names", [](const Topology& t) { return t.graph->class_names(); })
      .def_prop_ro(
          "group", [](const Topology& t) { return give(std::vector(t.group)); }, nb::rv_policy::automatic,
          "Dragonfly: the group of each router; empty otherwise.")
      .def_prop_ro(
          "router_of",
          [](const Topology& t) {
            std::vector<std::uint32_t> routers(t.graph->endpoints());
            for (std::uint32_t e = 0; e < t.graph->endpoints(); ++e) routers[e] = t.graph->router_of(e);
            return give(std::move(routers));
          },
          nb::rv_policy::automatic, "Router of each endpoint.");
  m.def("xgft", &make_xgft, "m"_a, "w"_a, "p"_a = std::vector<double>{}, "bandwidth_bps"_a = 0.0,
        "XGFT(h; m1..mh; w1..wh) with p parallel cables a pair, level by level (Oehring et al. 1995).\n\nRaises "
        "ValueError for sizes that make no tree.");
  m.def("torus", &make_torus, "dims"_a, "bandwidth_bps"_a = 0.0,
        "A torus with one endpoint a router; k-ary n-cube where all sizes are k.");
  m.def("graph", &from_arrays, "routers"_a, "endpoints"_a, "src"_a, "dst"_a, "src_port"_a, "dst_port"_a, "link_class"_a,
        "multiplicity"_a, "bandwidth_bps"_a, "class_names"_a, "group"_a = std::vector<std::uint32_t>{},
        "A fabric from link arrays of equal length (uint32, uint16, uint8, float64; empty where unknown). A `group` a "
        "router makes it a dragonfly.\n\n"
        "Raises ValueError where a link names no vertex, or an endpoint does not hang on one router by one link each "
        "way.");
}

void bind_hops(nb::module_& m) {
  m.def(
      "hop_summary",
      [](const Topology& t) {
        HopSummary summary;
        {
          nb::gil_scoped_release release;
          summary = summarise_hops(t);
        }
        return nb::make_tuple(summary.mean, summary.diameter, summary.unreachable);
      },
      "topology"_a, nb::sig("def hop_summary(topology: Topology) -> tuple[float, int, int]"),
      "(mean, largest, unreachable pairs): links between endpoints, both terminal links included, over all ordered "
      "pairs.");
  m.def(
      "hops_between",
      [](const Topology& t, In<std::uint32_t> src, In<std::uint32_t> dst) {
        std::vector<std::uint32_t> hops;
        {
          nb::gil_scoped_release release;
          hops = hops_between(*t.graph, view(src), view(dst));
        }
        return give(std::move(hops));
      },
      "topology"_a, "src"_a, "dst"_a,
      "Fewest links from endpoint src[i] to dst[i], both terminal links included; 0 to itself, 2^32 - 1 without a "
      "way.");
}

}  // namespace

namespace flitwatch::bindings {

void bind_topologies(nb::module_& m) {
  bind_topology(m);
  bind_hops(m);
}

}  // namespace flitwatch::bindings
