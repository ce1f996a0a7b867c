// Link counts of random permutations in bulk, on one core: increments a second. Prints one JSON object a topology.
// Arguments: repetitions (default 200), then names to run only those; under `valgrind --tool=callgrind` for counted
// instructions.
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

#include "sim/flow/collective.h"
#include "sim/flow/random.h"

using namespace flitwatch::sim;

namespace {

struct Case {
  const char* name;
  Routes (*routes)();
};

const Case kCases[] = {
    {"xgft-3456", [] { return Routes(XgftRoutes(Xgft({12, 12, 24}, {1, 12, 12}))); }},
    {"xgft-20736", [] { return Routes(XgftRoutes(Xgft({24, 24, 36}, {1, 24, 24}))); }},
    {"torus-8000", [] { return Routes(TorusRoutes(Torus({20, 20, 20}))); }},
    {"torus-10000", [] { return Routes(TorusRoutes(Torus({100, 100}))); }},
};

double cpu_s() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

void measure(const Case& one, int repetitions) {
  const Routes routes = one.routes();
  const std::uint32_t n = endpoints_of(routes);
  std::vector<std::uint32_t> order(n);
  std::iota(order.begin(), order.end(), 0u);
  Random random(1, 0);
  shuffle(order, random);
  std::vector<Pair> pairs;
  for (std::uint32_t shift = 1; shift <= 8; ++shift)  // eight messages an endpoint
    for (std::uint32_t i = 0; i < n; ++i) pairs.push_back({order[i], order[(i + shift) % n]});
  std::uint64_t increments = 0;
  double best = 1e9;
  for (int i = 0; i < repetitions; ++i) {
    const double started = cpu_s();
    const auto counts = count_links(routes, pairs);
    best = std::min(best, cpu_s() - started);
    if (i == 0) increments = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  }
  std::printf(
      "{\"bench\":\"flow-counting\",\"topology\":\"%s\",\"endpoints\":%u,\"increments\":%llu,\"cpu_us\":%.1f,"
      "\"increments_per_s\":%.4g,\"least_per_s\":3e8}\n",
      one.name, n, static_cast<unsigned long long>(increments), 1e6 * best, static_cast<double>(increments) / best);
}

}  // namespace

int main(int argc, char** argv) {
  const int repetitions = std::max(1, argc > 1 ? std::atoi(argv[1]) : 200);
  for (const Case& one : kCases)
    if (argc <= 2 ||
        std::any_of(argv + 2, argv + argc, [&](const char* name) { return std::string(name) == one.name; }))
      measure(one, repetitions);
}
