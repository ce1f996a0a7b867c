#include "routes/optimiser.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "routes/moves.h"

namespace flitwatch::routes {

namespace {

constexpr double kClose = 1e-6;         // loads this close are the same
constexpr double kWidest = 0.97;        // the limit's way from goal (0) to best (1)
constexpr int kLookEvery = 256;         // moves between looks at the clock
constexpr int kForgetEvery = 16384;     // moves between softenings of prices
constexpr double kShareOfTime = 0.15;   // of the time limit that one limit may take
constexpr double kReport = 0.25;        // seconds between calls of go_on

class Clock {
 public:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count(); }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

void keep(const Tables& tables, double largest, Solution& best) {
  best.largest = largest;
  best.spine_of = tables.spine_of;
  best.core_of = tables.core_of;
  best.down_of = tables.down_of;
  best.core_used.resize(tables.core_of.size());
  best.down_used.resize(tables.down_of.size());
  for (std::size_t q = 0; q < tables.core_of.size(); ++q) best.core_used[q] = tables.spine_users(q) > 0;
  for (std::size_t q = 0; q < tables.down_of.size(); ++q) best.down_used[q] = tables.core_users(q) > 0;
}

void restore(Tables& tables, const Solution& best) {
  tables.spine_of = best.spine_of;
  tables.core_of = best.core_of;
  tables.down_of = best.down_of;
  tables.recompute();
}

// The best of the starts is where the search begins.
void begin(Tables& tables, Random& random, Solution& best) {
  start_random(tables, random);
  best.random = tables.largest();
  keep(tables, best.random, best);
  start_ftree(tables);
  best.ftree = tables.largest();
  if (best.ftree < best.largest) keep(tables, best.ftree, best);
  start_split(tables, random);
  if (const double split = tables.largest(); split < best.largest) keep(tables, split, best);
  restore(tables, best);
}

int count_worst(const Tables& tables, double largest) {
  int worst = 0;
  for (int link = 0; link < tables.tree().links(); ++link) worst += tables.load(link) >= largest * (1 - kClose);
  return worst;
}

}  // namespace

Solution optimise(const Tree& tree, const Demand& demand, const std::vector<std::uint8_t>& failed, double goal, const Search& search,
                  const std::function<bool(const Progress&)>& go_on) {
  const Clock clock;
  Random random(search.seed);
  Tables tables(tree, demand, failed);
  Solution best;
  begin(tables, random, best);
  Moves moves(tables, random, goal > 0 ? goal : 1);
  double fraction = 0.5, growth = search.growth, reported = 0;
  bool wanted = go_on({clock.seconds(), best.largest, 0});
  auto time_left = [&] { return wanted && clock.seconds() < search.seconds; };
  while (time_left() && best.largest > goal * (1 + kClose)) {
    const double from = std::isfinite(best.largest) ? best.largest : 20 * goal;
    tables.set_limit(from - goal < goal * 2e-4 ? goal : goal + (from - goal) * fraction);
    moves.reset();
    const double begun = clock.seconds(), budget = std::max(2.0, search.seconds * kShareOfTime);
    for (std::size_t n = 1; !tables.overloaded().empty(); ++n, ++best.moves) {
      const auto& over = tables.overloaded();
      moves.relieve(over[random.below(static_cast<int>(over.size()))], random.unit() < search.forced);
      if (n % search.growth_every == 0) moves.grow(static_cast<float>(growth));
      if (n % kForgetEvery == 0) moves.forget(0.7f);
      if (n % kLookEvery) continue;
      const double now = clock.seconds();
      if (now - reported > kReport) {
        reported = now;
        wanted = go_on({now, best.largest, best.moves});
      }
      if (now - begun > budget || !time_left()) break;
    }
    tables.recompute();
    const bool met = tables.overloaded().empty();
    if (const double largest = tables.largest(); largest < best.largest) keep(tables, largest, best);
    fraction = met ? fraction * 0.8 : std::min(kWidest, 0.5 + 0.5 * fraction);
    // Slow growth wins on noisy weights, fast growth on stencils: a failed limit is tried again with another.
    if (!met) growth = growth > 1.2 ? 1.05 : growth * 1.1;
  }
  restore(tables, best);
  best.worst_links = count_worst(tables, best.largest);
  best.seconds = clock.seconds();
  return best;
}

}  // namespace flitwatch::routes
