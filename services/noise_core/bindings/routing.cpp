// Forwarding tables: made by an algorithm, or given port by port.
#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <map>

#include "bindings/arrays.h"
#include "sim/topology/graph.h"
#include "sim/topology/lft_dump.h"
#include "sim/topology/table_routing.h"
#include "sim/topology/topology.h"

namespace nb = nanobind;
using namespace nb::literals;
using namespace flitwatch::bindings;
using namespace flitwatch::sim;

namespace {

template <class Make>
std::shared_ptr<RouteTable> made(Make make) {
  nb::gil_scoped_release release;
  return std::make_shared<RouteTable>(make());
}

std::shared_ptr<RouteTable> from_ports(const Topology& topology, In<std::uint32_t> router, In<std::uint32_t> endpoint,
                                       In<std::uint16_t> port) {
  const Graph& graph = *topology.graph;
  if (router.shape(0) != endpoint.shape(0) || router.shape(0) != port.shape(0))
    throw std::invalid_argument("the arrays differ in length");
  return made([&] {
    std::map<std::pair<std::uint32_t, std::uint16_t>, std::uint16_t> position;
    for (std::uint32_t r = 0; r < graph.routers(); ++r) {
      const auto out = graph.out_links(r);
      for (std::uint16_t i = 0; i < out.size(); ++i) position.emplace(std::pair(r, graph.src_port(out[i])), i);
    }
    RouteTable table(topology.graph);
    for (std::size_t i = 0; i < router.shape(0); ++i) {
      const std::uint32_t r = router.data()[i], e = endpoint.data()[i];
      if (r >= graph.routers() || e >= graph.endpoints())
        throw std::invalid_argument("entry " + std::to_string(i) + " does not name an existing router or endpoint");
      const auto at = position.find({r, port.data()[i]});
      if (at == position.end())
        throw std::invalid_argument("router " + std::to_string(r) + " has no link on port " +
                                    std::to_string(port.data()[i]));
      table.set(r, e, at->second);
    }
    return table;
  });
}

auto ports_of(const RouteTable& table) {
  const Graph& graph = table.graph();
  std::vector<std::int32_t> ports(std::size_t{graph.routers()} * graph.endpoints());
  for (std::uint32_t r = 0; r < graph.routers(); ++r)
    for (std::uint32_t e = 0; e < graph.endpoints(); ++e) {
      const LinkId l = table.link(r, e);
      ports[std::size_t{r} * graph.endpoints() + e] = l == kNone ? -1 : graph.src_port(l);
    }
  return give(std::move(ports));
}

auto parse_dump(const nb::bytes& text) {
  LftDump dump;
  const std::string_view view(text.c_str(), text.size());
  {
    nb::gil_scoped_release release;
    dump = parse_lft_dump(view);
  }
  std::vector<std::uint64_t> guids;
  nb::list names;
  for (const auto& one : dump.switches) {
    guids.push_back(one.guid);
    names.append(nb::bytes(one.name.data(), one.name.size()));
  }
  return nb::make_tuple(give(std::move(guids)), names, give(std::move(dump.at_switch)), give(std::move(dump.lid)),
                        give(std::move(dump.port)), give(std::move(dump.port_guid)));
}

}  // namespace

namespace flitwatch::bindings {

void bind_routing(nb::module_& m) {
  nb::class_<RouteTable>(m, "RouteTable", "One output link for every (router, destination endpoint).")
      .def("ports", &ports_of,
           "Output ports as the vendor numbers them: int32[routers x endpoints], router-major; -1 without a route.")
      .def(
          "check",
          [](const RouteTable& table) {
            RouteCheck check;
            {
              nb::gil_scoped_release release;
              check = check_routes(table);
            }
            return nb::make_tuple(check.missing, check.loops, check.longest);
          },
          nb::sig("def check(self) -> tuple[int, int, int]"),
          "(missing, looping, longest): pairs of a router with endpoints and a destination that have no end, and the "
          "links of the longest route.");
  m.def(
      "cheapest_routes",
      [](const Topology& t, std::vector<std::uint32_t> cost) {
        return made([&] { return cheapest_routes(t.graph, cost); });
      },
      "topology"_a, "class_cost"_a,
      "Cheapest routes with a cost a link class (1 each: fewest hops), balanced over destinations.");
  m.def(
      "up_down_routes",
      [](const Topology& t, In<std::uint32_t> level) {
        return made([&] { return up_down_routes(t.graph, level.shape(0) == 0 ? levels_of(*t.graph) : copy(level)); });
      },
      "topology"_a, "level"_a,
      "Up*/down* routes; an empty `level` (uint32[routers], growing upward) is found from the endpoints.");
  m.def(
      "ftree_routes",
      [](const Topology& t, In<std::uint32_t> order) {
        return made([&] { return ftree_routes(t.graph, view(order)); });
      },
      "topology"_a, "order"_a,
      "The tables of OpenSM's ftree engine; `order` (uint32[routers] or empty) stands for its order by GUID.\n\n"
      "Raises ValueError where the fabric is no pure fat tree.");
  m.def("table_from_ports", &from_ports, "topology"_a, "router"_a, "endpoint"_a, "port"_a,
        "A table from entries (router, destination endpoint, output port); what no entry names stays without a route.");
  m.def("parse_lft_dump", &parse_dump, "text"_a, nb::sig("def parse_lft_dump(text: bytes) -> tuple"),
        "OpenSM's dump as arrays: (switch guid uint64[S], switch names bytes[S], entry switch uint32[N], lid "
        "uint16[N], port uint16[N],\n"
        "destination port guid uint64[N], 0 unknown). Raises ValueError that names the line.");
  nb::register_exception_translator([](const std::exception_ptr& p, void*) {
    try {
      std::rethrow_exception(p);
    } catch (const LftSyntaxError& e) {
      PyErr_SetString(PyExc_ValueError, e.what());
    }
  });
}

}  // namespace flitwatch::bindings
