#include <nanobind/nanobind.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <optional>
#include <tuple>

#include "bindings/arrays.h"
#include "routes/cables.h"
#include "routes/optimiser.h"

namespace nb = nanobind;
using namespace nb::literals;
using namespace flitwatch::bindings;
using namespace flitwatch::routes;

namespace {

Tree tree_of(nb::handle shape) {
  const auto s = nb::cast<nb::tuple>(shape);
  if (s.size() != 6) throw std::invalid_argument("a shape is (pods, leaves, hosts, spines, groups, cores)");
  return Tree({nb::cast<int>(s[0]), nb::cast<int>(s[1]), nb::cast<int>(s[2]), nb::cast<int>(s[3]), nb::cast<int>(s[4]),
               nb::cast<int>(s[5])});
}

std::optional<Loaded> loaded_of(const Tree& tree, nb::handle loaded) {
  if (loaded.is_none()) return std::nullopt;
  const auto [spine, core, down] = nb::cast<std::tuple<In<std::int16_t>, In<std::int16_t>, In<std::int16_t>>>(loaded);
  Loaded found{copy(spine), copy(core), copy(down)};
  const std::size_t endpoints = tree.endpoints();
  const int spines = tree.shape().spines, cores = tree.shape().cores, below = tree.spines_per_group();
  auto fits = [](const std::vector<Port>& choices, std::size_t size, int ports) {
    return choices.size() == size &&
           std::all_of(choices.begin(), choices.end(), [&](Port p) { return p >= -1 && p < ports; });
  };
  if (!fits(found.spine_of, tree.leaves() * endpoints, spines) ||
      !fits(found.core_of, tree.spines() * endpoints, cores) || !fits(found.down_of, tree.cores() * endpoints, below))
    throw std::invalid_argument("the loaded tables are not of this tree");
  return found;
}

// The search runs without the GIL; `watch` is asked with it, a few times a second.
nb::dict optimise_routes(nb::tuple shape, In<std::int32_t> src, In<std::int32_t> dst, In<double> bytes,
                         In<std::int32_t> slot, In<std::uint8_t> cables, In<double> goal, double seconds,
                         std::uint64_t seed, nb::object watch, bool fewest_worst, nb::object loaded, double within) {
  const Tree tree = tree_of(shape);
  if (src.shape(0) != dst.shape(0) || src.shape(0) != bytes.shape(0) || src.shape(0) != slot.shape(0))
    throw std::invalid_argument("src, dst, bytes and slot differ in length");
  const Demand demand = gather(tree, view(src), view(dst), view(bytes), view(slot), static_cast<int>(goal.shape(0)));
  const BySlot goals = copy(goal);
  const std::vector<std::uint8_t> working = copy(cables);
  const std::optional<Loaded> held = loaded_of(tree, loaded);
  Solution found;
  std::exception_ptr trouble;
  {
    nb::gil_scoped_release release;
    Search search;
    search.seconds = seconds;
    search.seed = seed;
    search.fewest_worst = fewest_worst;
    if (held) search.loaded = &*held;
    search.within = within;
    auto go_on = [&](const Progress& progress) {
      if (watch.is_none()) return true;
      nb::gil_scoped_acquire acquire;
      try {
        return nb::cast<bool>(watch(progress.seconds, progress.largest, progress.moves));
      } catch (...) {
        trouble = std::current_exception();
        return false;
      }
    };
    found = optimise(tree, demand, working, goals, search, go_on);
  }
  if (trouble) std::rethrow_exception(trouble);
  std::vector<std::int32_t> leaf, dest;
  for (const Item& item : demand.items) {
    leaf.push_back(item.leaf);
    dest.push_back(item.dest);
  }
  nb::dict result;
  result["leaf"] = give(std::move(leaf));
  result["dest"] = give(std::move(dest));
  result["spine_of"] = give(std::move(found.spine_of));
  result["core_of"] = give(std::move(found.core_of));
  result["down_of"] = give(std::move(found.down_of));
  result["core_used"] = give(std::move(found.core_used));
  result["down_used"] = give(std::move(found.down_used));
  result["largest"] = give(std::move(found.largest));
  result["worst_links"] = found.worst_links;
  result["seconds"] = found.seconds;
  result["moves"] = found.moves;
  return result;
}

}  // namespace

NB_MODULE(_routes, m) {
  m.doc() = "Static routes of fat trees against a traffic matrix.";
  m.def("optimise", &optimise_routes, "shape"_a, "src"_a, "dst"_a, "bytes"_a, "slot"_a, "cables"_a, "goal"_a,
        "seconds"_a, "seed"_a, "watch"_a.none(), "fewest_worst"_a = false, "loaded"_a = nb::none(), "within"_a = 0.0,
        "Tables that make the largest load of a link between switches, added up over time slots, as small as possible "
        "within `seconds`.\n\n"
        "slot: int32 of every row of traffic, from 0; goal: float64[slots], lower bounds, where the search ends.\n"
        "shape: (pods, leaves a pod, hosts a leaf, spines a pod, core groups, cores a group); cables: uint8[links], of "
        "each link how many work, or empty\n"
        "for one each, numbered leaf to spine, spine to core, core to spine, spine to leaf; a link's load is its bytes "
        "by its cables; watch(seconds, largest of all slots, moves) -> bool goes on;\n"
        "fewest_worst: then as few links as possible that carry as much as their slot's busiest; loaded: (leaves x "
        "endpoints, spines x endpoints, cores x endpoints)\n"
        "int16 choices of tables to begin with, -1 for none, of which as many stay as what is reached allows; within: "
        "of the goal, relative, is enough.\n"
        "Raises ValueError for endpoints or slots out of range, bytes that are negative or not finite, or a shape that "
        "no tree has.");
  m.def(
      "bounds",
      [](nb::tuple shape, In<std::int32_t> src, In<std::int32_t> dst, In<double> bytes, In<std::uint8_t> cables) {
        const Tree tree = tree_of(shape);
        const Bounds found = bounds(tree, gather(tree, view(src), view(dst), view(bytes)), view(cables));
        return nb::make_tuple(found.adaptive, found.fixed);
      },
      "shape"_a, "src"_a, "dst"_a, "bytes"_a, "cables"_a,
      "Lower bounds in bytes on the largest load of a cable between switches: (without the one-port rule, with it). "
      "The first is exact on a tree\n"
      "without failed links; inf where links that failed part leaves that communicate. `cables` as for `optimise`.");
  m.def(
      "share_cables",
      [](In<std::int64_t> first, In<std::int32_t> cables, In<double> bytes, In<std::int32_t> held, In<double> limit) {
        const Entries entries{static_cast<int>(limit.shape(0)), view(first), view(cables), view(bytes), view(held)};
        std::vector<std::int32_t> cable;
        {
          nb::gil_scoped_release release;
          cable = share_cables(entries, view(limit));
        }
        return give(std::move(cable));
      },
      "first"_a, "cables"_a, "bytes"_a, "held"_a, "limit"_a,
      "The cable, int32[entries], that each entry of a link's forwarding table takes, so that the link's busiest cable "
      "carries little.\n\n"
      "first: int64[links + 1], entries of link l are [first[l], first[l + 1]); cables: int32[links]; bytes: "
      "float64[entries x slots]; held: int32[entries],\n"
      "the cable an entry has already, -1 for none; limit: float64[slots], entries keep their cables where none then "
      "carries more.\n"
      "Raises ValueError where sizes differ or a link has no cable.");
  m.def(
      "links", [](nb::tuple shape) { return tree_of(shape).links(); }, "shape"_a,
      "Directed links between switches of a shape.");
}
