#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "bindings/arrays.h"
#include "sim/flow/collective.h"
#include "sim/topology/topology.h"

namespace flitwatch::bindings {
void bind_topologies(nb::module_& m);  // topology.cpp
void bind_routing(nb::module_& m);     // routing.cpp
}  // namespace flitwatch::bindings

namespace nb = nanobind;
using namespace nb::literals;
using namespace flitwatch::bindings;
using namespace flitwatch::sim;

namespace {

// Routes of a topology, by name.
struct NamedRoutes {
  std::string name;
  Routes routes;
};

Semantics semantics_of(const std::string& text) {
  if (text == "longest-path") return Semantics::kLongestPath;
  if (text == "orcs") return Semantics::kOrcs;
  throw std::invalid_argument("semantics must be 'longest-path' or 'orcs', not '" + text + "'");
}

Perturbation perturbation_of(const std::string& text) {
  if (text == "permutation") return Perturbation::kPermutation;
  if (text == "random-peer") return Perturbation::kRandomPeer;
  throw std::invalid_argument("perturbation must be 'permutation' or 'random-peer', not '" + text + "'");
}

Rules rules_of(const std::string& semantics, bool wait_for_own_send) {
  const Rules rules{semantics_of(semantics), wait_for_own_send};
  if (wait_for_own_send && rules.semantics == Semantics::kOrcs)
    throw std::invalid_argument("with orcs semantics, ranks do not wait for their own sends");
  return rules;
}

NamedRoutes algorithmic(const Topology& topology) {
  if (const auto* tree = std::get_if<Xgft>(&topology.shape)) return {"dmodk", XgftRoutes(*tree)};
  if (const auto* torus = std::get_if<Torus>(&topology.shape)) return {"dor", TorusRoutes(*torus)};
  throw std::invalid_argument("this topology has no computed routes: create a forwarding table");
}

// Valiant's detour avoids the groups of both ends; without groups, their routers.
NamedRoutes table_routes(const Topology& topology, std::shared_ptr<const RouteTable> table, std::string name,
                         bool valiant) {
  std::vector<std::uint32_t> group;
  if (valiant) {
    group = topology.group;
    for (std::uint32_t r = 0; group.size() < table->graph().routers(); ++r) group.push_back(r);
  }
  return {std::move(name), TableRoutes(std::move(table), std::move(group))};
}

std::vector<Pair> pairs_of(In<std::uint32_t> src, In<std::uint32_t> dst) {
  if (src.shape(0) != dst.shape(0)) throw std::invalid_argument("the numbers of sources and destinations differ");
  std::vector<Pair> pairs(src.shape(0));
  for (std::size_t i = 0; i < pairs.size(); ++i) pairs[i] = {src.data()[i], dst.data()[i]};
  return pairs;
}

// Runs `work` in a thread of its own while this one, now and then with the GIL, reports and looks for a cancel.
template <class Work>
void run_watched(nb::object watch, std::uint32_t total, std::atomic<std::uint32_t>& done, std::atomic<bool>& cancelled,
                 Work work) {
  if (watch.is_none()) {
    nb::gil_scoped_release release;
    work();
    return;
  }
  std::exception_ptr failure;
  std::atomic<bool> finished{false};
  std::thread worker([&] {
    try {
      work();
    } catch (...) {
      failure = std::current_exception();
    }
    finished = true;
    finished.notify_all();
  });
  try {
    while (!finished) {
      if (!nb::cast<bool>(watch(done.load(), total))) cancelled = true;
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
      nb::gil_scoped_release release;
      for (int i = 0; i < 50 && !finished; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  } catch (...) {
    cancelled = true;
    nb::gil_scoped_release release;
    worker.join();
    throw;
  }
  worker.join();
  if (failure) std::rethrow_exception(failure);
  watch(done.load(), total);
}

nb::object collective(const NamedRoutes& routes, const std::string& pattern_name, std::uint32_t ranks,
                      std::uint32_t perturbing, std::uint32_t runs, std::uint64_t seed, std::uint32_t first_run,
                      std::uint32_t threads, const std::vector<std::string>& semantics, bool wait_for_own_send,
                      const std::string& perturbation, bool random_mapping, nb::object watch) {
  if (runs == 0 || threads == 0) throw std::invalid_argument("at least one run and one thread are needed");
  const auto pattern = make_pattern(pattern_name, ranks);
  Experiment experiment;
  experiment.pattern = pattern.get();
  experiment.perturbing = perturbing;
  experiment.perturbation = perturbation_of(perturbation);
  experiment.random_mapping = random_mapping;
  experiment.rules.clear();
  for (const std::string& one : semantics) experiment.rules.push_back(rules_of(one, wait_for_own_send));
  experiment.seed = seed;
  experiment.first_run = first_run;
  experiment.runs = runs;
  experiment.threads = threads;
  Outcome outcome;
  std::atomic<std::uint32_t> done{0};
  std::atomic<bool> cancelled{false};
  run_watched(watch, runs, done, cancelled,
              [&] { outcome = run_collective(routes.routes, experiment, &done, &cancelled); });
  if (cancelled) return nb::none();
  nb::list costs;
  for (Costs& one : outcome.costs)
    costs.append(nb::make_tuple(give(std::move(one.quiet)), give(std::move(one.perturbed))));
  return nb::make_tuple(std::move(costs), outcome.increments, outcome.cpu_s);
}

}  // namespace

NB_MODULE(_flow, m) {
  m.doc() = "Topologies, routes, and flow-level noise (Hoefler, Schneider and Lumsdaine 2009).";
  bind_topologies(m);
  bind_routing(m);
  nb::class_<NamedRoutes>(m, "Routes", "The links that a message between two endpoints crosses.")
      .def_ro("name", &NamedRoutes::name)
      .def_prop_ro("endpoints", [](const NamedRoutes& r) { return endpoints_of(r.routes); })
      .def(
          "links_of",
          [](const NamedRoutes& r, std::uint32_t src, std::uint32_t dst, std::uint64_t salt) {
            return give(links_of(r.routes, {src, dst}, salt));
          },
          "src"_a, "dst"_a, "salt"_a = 0, "Links from endpoint src to endpoint dst, terminal links first.")
      .def(
          "count",
          [](const NamedRoutes& r, In<std::uint32_t> src, In<std::uint32_t> dst) {
            const auto pairs = pairs_of(src, dst);
            std::vector<std::uint32_t> counts;
            {
              nb::gil_scoped_release release;
              counts = count_links(r.routes, pairs);
            }
            return give(std::move(counts));
          },
          "src"_a, "dst"_a, "Messages on each link when all pairs send at once: uint32[links].");
  m.def("algorithmic_routes", &algorithmic, "topology"_a,
        "Destination mod k on a fat tree, dimension order on a torus.");
  m.def("table_routes", &table_routes, "topology"_a, "table"_a, "name"_a, "valiant"_a = false,
        "Routes along a forwarding table; `valiant` sends every message by way of a random endpoint's router outside "
        "both groups.\n\n"
        "Raises ValueError where some endpoint cannot reach another.");
  m.def("pattern_names", &pattern_names);
  m.def(
      "pattern",
      [](const std::string& name, std::uint32_t ranks) {
        const auto pattern = make_pattern(name, ranks);
        std::vector<std::uint32_t> round, src, dst;
        std::vector<Message> scratch;
        for (std::uint32_t k = 0; k < pattern->rounds(); ++k)
          for (const Message& message : pattern->round(k, scratch)) {
            round.push_back(k);
            src.push_back(message.src);
            dst.push_back(message.dst);
          }
        return nb::make_tuple(give(std::move(round)), give(std::move(src)), give(std::move(dst)));
      },
      "name"_a, "ranks"_a, "The messages of a pattern: (round, source rank, destination rank), uint32[messages] each.");
  m.def("run_collective", &collective, "routes"_a, "pattern"_a, "ranks"_a, "perturbing"_a, "runs"_a, "seed"_a = 1,
        "first_run"_a = 0, "threads"_a = 1, "semantics"_a = std::vector<std::string>{"longest-path"},
        "wait_for_own_send"_a = false, "perturbation"_a = "permutation", "random_mapping"_a = true,
        "watch"_a = nb::none(),
        nb::sig("def run_collective(routes: Routes, pattern: str, ranks: int, perturbing: int, runs: int, seed: int = "
                "1, first_run: int = 0, "
                "threads: int = 1, semantics: list[str] = ['longest-path'], wait_for_own_send: bool = False, "
                "perturbation: str = 'permutation', "
                "random_mapping: bool = True, watch: object = None) -> object"),
        "Costs of a collective without and with perturbation: ([(quiet uint32[runs], perturbed uint32[runs])] one a "
        "semantics, increments, cpu_s).\n\n"
        "Run i draws from (seed, first_run + i) alone, so threads and splits change nothing. `watch(done, total)` is "
        "called about twenty\n"
        "times a second and returns whether to go on; None comes back after a cancel. Raises ValueError for sizes that "
        "do not fit.");
  m.def(
      "annotate",
      [](const NamedRoutes& r, std::uint32_t ranks, In<std::uint32_t> src, In<std::uint32_t> dst,
         In<std::uint64_t> first, In<std::uint32_t> mapping, In<std::uint32_t> from, In<std::uint32_t> to,
         const std::string& semantics, bool wait_for_own_send) {
        if (src.shape(0) != dst.shape(0)) throw std::invalid_argument("the numbers of sources and destinations differ");
        std::vector<Message> messages(src.shape(0));
        for (std::size_t i = 0; i < messages.size(); ++i) messages[i] = {src.data()[i], dst.data()[i]};
        const auto pattern = explicit_pattern(ranks, std::move(messages), copy(first));
        const Annotated annotated = annotate_collective(r.routes, *pattern, view(mapping), pairs_of(from, to),
                                                        rules_of(semantics, wait_for_own_send));
        std::vector<std::uint32_t> quiet, perturbed;
        for (const Peak& weight : annotated.weights) {
          quiet.push_back(weight.quiet);
          perturbed.push_back(weight.perturbed);
        }
        return nb::make_tuple(annotated.cost.quiet, annotated.cost.perturbed, give(std::move(quiet)),
                              give(std::move(perturbed)));
      },
      "routes"_a, "ranks"_a, "src"_a, "dst"_a, "round_offsets"_a, "mapping"_a, "perturbation_src"_a,
      "perturbation_dst"_a, "semantics"_a = "longest-path", "wait_for_own_send"_a = false,
      nb::sig("def annotate(routes: Routes, ranks: int, src: object, dst: object, round_offsets: object, mapping: "
              "object, perturbation_src: object, "
              "perturbation_dst: object, semantics: str = 'longest-path', wait_for_own_send: bool = False) -> tuple"),
      "One explicit case: (quiet cost, perturbed cost, quiet weight of each message, perturbed weight of each "
      "message).");
}
