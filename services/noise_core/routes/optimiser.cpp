#include "routes/optimiser.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "routes/moves.h"
#include "routes/stages.h"

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

namespace {

class Optimiser {
 public:
  Optimiser(const Tree& tree, const Demand& demand, const std::vector<std::uint8_t>& failed, double goal, const Search& search,
            const std::function<bool(const Progress&)>& go_on)
      : goal_(goal), search_(search), go_on_(go_on), random_(search.seed), tables_(tree, demand, failed), moves_(tables_, random_, goal > 0 ? goal : 1) {}

  Solution run() {
    begin(tables_, random_, best_);
    wanted_ = go_on_({clock_.seconds(), best_.largest, 0});
    const bool stages = whole(tables_);
    double staged = 0, fraction = 0.5, growth = search_.growth;
    for (int attempt = 0; time_left() && best_.largest > goal_ * (1 + kClose); ++attempt) {
      const bool by_stages = stages && attempt % 2 == 0;
      const double limit = limit_at(by_stages ? staged : fraction);
      if (by_stages) lay_stages(limit);
      else relieve(limit, growth);
      const double largest = tables_.largest();
      const bool met = largest <= limit * (1 + kClose);
      if (largest < best_.largest) keep(tables_, largest, best_);
      double& way = by_stages ? staged : fraction;
      way = met ? way * 0.8 : std::min(kWidest, 0.5 + 0.5 * way);
      // Slow growth wins on noisy weights, fast growth on stencils: a failed limit is tried again with another.
      if (!met && !by_stages) growth = growth > 1.2 ? 1.05 : growth * 1.1;
    }
    restore(tables_, best_);
    best_.worst_links = count_worst(tables_, best_.largest);
    best_.seconds = clock_.seconds();
    return best_;
  }

 private:
  bool time_left() const { return wanted_ && clock_.seconds() < search_.seconds; }

  double limit_at(double fraction) const {
    const double from = std::isfinite(best_.largest) ? best_.largest : 20 * goal_;
    return from - goal_ < goal_ * 2e-4 ? goal_ : goal_ + (from - goal_) * fraction;
  }

  // Asks the caller, now and then; whether there is time left, in all and of a budget that began at `begun`.
  bool go_on(double begun, double budget) {
    const double now = clock_.seconds();
    if (now - reported_ > kReport) {
      reported_ = now;
      wanted_ = go_on_({now, best_.largest, best_.moves});
    }
    return now - begun <= budget && time_left();
  }

  void lay_stages(double limit) {
    restore(tables_, best_);
    settle_by_stages(tables_, limit, random_, [&] { return go_on(0, search_.seconds); });
  }

  void relieve(double limit, double growth) {
    tables_.set_limit(limit);
    moves_.reset();
    const double begun = clock_.seconds(), budget = std::max(2.0, search_.seconds * kShareOfTime);
    for (std::size_t n = 1; !tables_.overloaded().empty(); ++n, ++best_.moves) {
      const auto& over = tables_.overloaded();
      moves_.relieve(over[random_.below(static_cast<int>(over.size()))], random_.unit() < search_.forced);
      if (n % search_.growth_every == 0) moves_.grow(static_cast<float>(growth));
      if (n % kForgetEvery == 0) moves_.forget(0.7f);
      if (n % kLookEvery == 0 && !go_on(begun, budget)) break;
    }
    tables_.recompute();
  }

  const Clock clock_;
  double goal_;
  const Search& search_;
  const std::function<bool(const Progress&)>& go_on_;
  Random random_;
  Tables tables_;
  Moves moves_;
  Solution best_;
  double reported_ = 0;
  bool wanted_ = true;
};

}  // namespace

Solution optimise(const Tree& tree, const Demand& demand, const std::vector<std::uint8_t>& failed, double goal, const Search& search,
                  const std::function<bool(const Progress&)>& go_on) {
  return Optimiser(tree, demand, failed, goal, search, go_on).run();
}

}  // namespace flitwatch::routes
