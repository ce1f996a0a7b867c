// One perturbed binomial broadcast on half of the endpoints, on one core: seconds, counts a second, and peak memory.
// Prints one JSON object a topology. Arguments: runs a topology (default 300), then names to run only those; run it
// under `valgrind --tool=callgrind` (built for x86-64-v3) for counted instructions, for seconds wander:
// tests/benchmarks/flow.py does both.
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "sim/flow/collective.h"

using namespace flitwatch::sim;

namespace {

struct Case {
  const char* name;
  double limit_ms;
  Routes (*routes)();
};

const Case kCases[] = {
    {"xgft-3456", 0.3, [] { return Routes(XgftRoutes(Xgft({12, 12, 24}, {1, 12, 12}))); }},
    {"torus-8000", 4.0, [] { return Routes(TorusRoutes(Torus({20, 20, 20}))); }},
    {"xgft-20736", 2.0, [] { return Routes(XgftRoutes(Xgft({24, 24, 36}, {1, 24, 24}))); }},
    {"torus-10000", 0.0, [] { return Routes(TorusRoutes(Torus({100, 100}))); }},
};

void measure(const Case& one, std::uint32_t runs) {
  const Routes routes = one.routes();
  const std::uint32_t n = endpoints_of(routes);
  const auto pattern = make_pattern("binomial-bcast", n / 2);
  Experiment experiment{.pattern = pattern.get(), .perturbing = n - n / 2, .seed = 1, .runs = std::max(1u, runs / 5)};
  std::vector<double> batches;  // five, of which the fastest is least disturbed by others on the machine
  double increments_per_s = 0;
  for (int batch = 0; batch < 5; ++batch) {
    const Outcome outcome = run_collective(routes, experiment);
    batches.push_back(1e3 * outcome.cpu_s / experiment.runs);
    increments_per_s = std::max(increments_per_s, static_cast<double>(outcome.increments) / outcome.cpu_s);
  }
  std::sort(batches.begin(), batches.end());
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf(
      "{\"bench\":\"flow-collective\",\"topology\":\"%s\",\"endpoints\":%u,\"runs\":%u,\"cpu_ms_per_run\":%.4f,\"cpu_"
      "ms_per_run_median\":%.4f,"
      "\"increments_per_s\":%.4g,\"limit_ms\":%.3g,\"peak_rss_mib\":%.1f}\n",
      one.name, n, 5 * experiment.runs, batches.front(), batches[2], increments_per_s, one.limit_ms,
      static_cast<double>(usage.ru_maxrss) / 1024);
}

}  // namespace

int main(int argc, char** argv) {
  const auto runs = static_cast<std::uint32_t>(argc > 1 ? std::atoi(argv[1]) : 300);
  for (const Case& one : kCases)
    if (argc <= 2 ||
        std::any_of(argv + 2, argv + argc, [&](const char* name) { return std::string(name) == one.name; }))
      measure(one, runs);
}
