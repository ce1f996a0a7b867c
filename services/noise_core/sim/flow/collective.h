// Flow-level noise (Hoefler, Schneider, Lumsdaine 2009): the slowdown of a collective by a perturbation.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <variant>
#include <vector>

#include "sim/flow/dag.h"
#include "sim/flow/pattern.h"
#include "sim/flow/routes.h"

namespace flitwatch::sim {

using Routes = std::variant<XgftRoutes, TorusRoutes, TableRoutes>;

enum class Perturbation {
  kPermutation,  // the outsiders in a random cycle: each sends to the next, so each sends and receives once
  kRandomPeer,   // each outsider to an independent random other outsider
};

struct Rules {
  Semantics semantics = Semantics::kLongestPath;
  bool wait_for_own_send = false;  // longest path only: a message also waits for its sender's previous message
};

struct Experiment {
  const Pattern* pattern = nullptr;  // its ranks are the application
  std::uint32_t perturbing = 0;      // endpoints outside the application that cause the perturbation
  Perturbation perturbation = Perturbation::kPermutation;
  bool random_mapping = true;       // otherwise rank r runs on endpoint r and the outsiders follow
  std::vector<Rules> rules = {{}};  // each chains the same weights, so the expensive counting is done once
  std::uint64_t seed = 1;
  std::uint32_t first_run = 0,
                runs = 1;  // runs [first_run, first_run + runs) of the seed, so that a sweep can be split
  std::uint32_t threads = 1;
};

struct Costs {
  std::vector<std::uint32_t> quiet, perturbed;  // one per run, in hops of congestion
};

struct Outcome {
  std::vector<Costs> costs;  // one per rule, in the experiment's order
  std::uint64_t increments =
      0;             // counts made: a message's link counts once for the quiet and once for the perturbed network
  double cpu_s = 0;  // of all threads
};

// Throws std::invalid_argument if application and perturbation exceed the endpoints. `done` counts finished runs for a
// progress display. If `cancelled` becomes true, the call ends early and unfinished runs are undefined.
Outcome run_collective(const Routes& routes, const Experiment& experiment, std::atomic<std::uint32_t>* done = nullptr,
                       const std::atomic<bool>* cancelled = nullptr);

// One explicit case: `mapping[rank]` is an endpoint, and the perturbation is a list of pairs.
struct Annotated {
  Peak cost;
  std::vector<Peak> weights;  // one per message, in the pattern's order
};
Annotated annotate_collective(const Routes& routes, const Pattern& pattern, std::span<const std::uint32_t> mapping,
                              std::span<const Pair> perturbation, Rules rules);

// Returns the number of messages on each link if all pairs send at once.
std::vector<std::uint32_t> count_links(const Routes& routes, std::span<const Pair> pairs);

// Returns the links from src to dst in the kernel's counting order.
std::vector<LinkId> links_of(const Routes& routes, Pair pair, std::uint64_t salt = 0);
std::uint32_t endpoints_of(const Routes& routes);

}  // namespace flitwatch::sim
