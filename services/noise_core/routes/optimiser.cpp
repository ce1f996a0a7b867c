#include "routes/optimiser.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "routes/moves.h"
#include "routes/steps.h"

namespace flitwatch::routes {

namespace {

constexpr double kClose = 1e-6;        // loads this close are the same
constexpr double kWidest = 0.97;       // the limit's way from goal (0) to best (1)
constexpr int kLookEvery = 256;        // moves between looks at the clock
constexpr int kForgetEvery = 16384;    // moves between softenings of prices
constexpr double kShareOfTime = 0.15;  // of the time limit that one limit may take
constexpr double kLeastTime = 2;  // seconds that it may take all the same, where the time limit has four times as many
constexpr double kShareOfWorst = 0.3;  // and the search for fewer links that carry the most
constexpr int kIdleAttempts = 6;       // at fewer such links before that search ends
constexpr double kReport = 0.25;       // seconds between calls of go_on

class Clock {
 public:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count(); }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

double largest_of(const Solution& found) { return sum_of(found.largest); }

void keep(const Tables& tables, Solution& best) {
  best.largest = tables.largest();
  best.spine_of = tables.spine_of;
  best.core_of = tables.core_of;
  best.down_of = tables.down_of;
  best.core_used.resize(tables.core_of.size());
  best.down_used.resize(tables.down_of.size());
  for (std::size_t q = 0; q < tables.core_of.size(); ++q) best.core_used[q] = tables.spine_users(q) > 0;
  for (std::size_t q = 0; q < tables.down_of.size(); ++q) best.down_used[q] = tables.core_users(q) > 0;
}

void keep_if_better(const Tables& tables, Solution& best) {
  if (sum_of(tables.largest()) < largest_of(best)) keep(tables, best);
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
  keep(tables, best);
  start_ftree(tables);
  keep_if_better(tables, best);
  start_split(tables, random);
  keep_if_better(tables, best);
  restore(tables, best);
}

int count_worst(const Tables& tables, const BySlot& largest) {
  int worst = 0;
  for (int link = 0; link < tables.tree().links(); ++link)
    for (int t = 0; t < tables.slots(); ++t)
      worst += largest[t] > 0 && tables.load(tables.cell(link, t)) >= largest[t] * (1 - kClose);
  return worst;
}

// Whether no slot's load is above its limit.
bool within(const BySlot& load, const BySlot& limit) {
  for (std::size_t t = 0; t < load.size(); ++t)
    if (load[t] > limit[t] * (1 + kClose)) return false;
  return true;
}

class Optimiser {
 public:
  Optimiser(const Tree& tree, const Demand& demand, const std::vector<std::uint8_t>& cables, const BySlot& goal,
            const Search& search, const std::function<bool(const Progress&)>& go_on)
      : goal_(goal),
        search_(search),
        go_on_(go_on),
        random_(search.seed),
        tables_(tree, demand, cables),
        moves_(tables_, random_, scale_of(goal)) {}

  Solution run() {
    begin(tables_, random_, best_);
    if (search_.loaded) {
      lay_loaded(tables_, *search_.loaded);
      keep(tables_, best_);
    }
    wanted_ = go_on_({clock_.seconds(), largest_of(best_), 0});
    ends_ = search_.seconds * (search_.fewest_worst ? 1 - kShareOfWorst : 1);
    lower();
    ends_ = search_.seconds;
    restore(tables_, best_);
    if (search_.loaded) {
      put_back(tables_, *search_.loaded, allowed());
      keep(tables_, best_);
    }
    if (search_.fewest_worst) thin_out();
    restore(tables_, best_);
    best_.worst_links = count_worst(tables_, best_.largest);
    best_.seconds = clock_.seconds();
    return best_;
  }

 private:
  static double scale_of(const BySlot& goal) {
    const double all = sum_of(goal);
    return all > 0 ? all / static_cast<double>(goal.size()) : 1;
  }

  BySlot enough() const {
    BySlot load = goal_;
    for (double& one : load) one *= 1 + search_.within;
    return load;
  }

  // Loads of the slots that add up to what is enough, none below what was reached: what some slots are above theirs the
  // others give. Where it was not reached, no slot may carry more.
  BySlot allowed() const {
    const BySlot most = enough(), &reached = best_.largest;
    double above = 0, room = 0;
    for (std::size_t t = 0; t < most.size(); ++t)
      (reached[t] > most[t] ? above : room) += std::abs(reached[t] - most[t]);
    const double share = above < room ? 1 - above / room : 0;
    BySlot limit = reached;
    for (std::size_t t = 0; t < most.size(); ++t) limit[t] += share * std::max(most[t] - reached[t], 0.0);
    return limit;
  }

  // The levels one after the other know neither failed links nor slots, and leave nothing of what is loaded.
  std::optional<LevelCables> by_levels() const {
    return !search_.loaded && tables_.slots() == 1 ? even_cables(tables_) : std::nullopt;
  }

  // The largest load, limit by limit, until it is the goal or the time is over.
  void lower() {
    const auto stages = by_levels();
    double staged = 0, fraction = 0.5, growth = search_.growth;
    for (int attempt = 0; time_left() && largest_of(best_) > sum_of(enough()) * (1 + kClose); ++attempt) {
      const bool by_stages = stages && attempt % 2 == 0;
      // A slot that cannot come so near has to be paid for by others that come nearer than is enough.
      const bool nearer = tables_.slots() > 1 && attempt % 2 == 1;
      const BySlot limit = limit_at(by_stages ? staged : fraction, nearer ? goal_ : enough());
      if (by_stages)
        lay_stages(*stages, limit);
      else
        relieve(limit, growth);
      const bool met = within(tables_.largest(), limit);
      keep_if_better(tables_, best_);
      double& way = by_stages ? staged : fraction;
      way = met ? way * 0.8 : std::min(kWidest, 0.5 + 0.5 * way);
      // Slow growth wins on noisy weights, fast growth on stencils: a failed limit is tried again with another.
      if (!met && !by_stages) growth = growth > 1.2 ? 1.05 : growth * 1.1;
    }
  }

  // The links that carry as much as the busiest, one limit just below it.
  void thin_out() {
    const auto stages = by_levels();
    restore(tables_, best_);
    int fewest = count_worst(tables_, best_.largest), idle = 0;
    for (int attempt = 0; time_left() && fewest > 0 && idle < kIdleAttempts && largest_of(best_) > 0; ++attempt) {
      const BySlot most = best_.largest;
      BySlot limit = most;
      for (double& load : limit) load *= 1 - 4 * kClose;
      if (stages && attempt % 2 == 0)
        lay_stages(*stages, limit);
      else
        relieve(limit, search_.growth, fewest);
      const int worst = count_worst(tables_, most);
      ++idle;
      if (!within(tables_.largest(), most) || worst >= fewest) continue;
      keep(tables_, best_);
      fewest = worst;
      idle = 0;
    }
  }

  bool time_left() const { return wanted_ && clock_.seconds() < ends_; }

  BySlot limit_at(double fraction, const BySlot& goals) const {
    BySlot limit = goals;
    for (std::size_t t = 0; t < limit.size(); ++t) {
      const double goal = goals[t], from = std::isfinite(best_.largest[t]) ? best_.largest[t] : 20 * goal;
      if (from - goal >= goal * 2e-4) limit[t] = goal + (from - goal) * fraction;
    }
    return limit;
  }

  // Asks the caller, now and then; whether there is time left, in all and of a budget that began at `begun`.
  bool go_on(double begun, double budget) {
    const double now = clock_.seconds();
    if (now - reported_ > kReport) {
      reported_ = now;
      wanted_ = go_on_({now, largest_of(best_), best_.moves});
    }
    return now - begun <= budget && time_left();
  }

  void lay_stages(const LevelCables& cables, const BySlot& limit) {
    restore(tables_, best_);
    settle_by_stages(tables_, cables, limit[0], random_, [&] { return go_on(0, ends_); });
  }

  // `enough`: end as soon as fewer links than these are above the limit, and none above the best.
  void relieve(const BySlot& limit, double growth, int enough = 0) {
    tables_.set_limit(limit);
    moves_.reset();
    const double begun = clock_.seconds(),
                 budget = std::max(std::min(kLeastTime, search_.seconds / 4), search_.seconds * kShareOfTime);
    for (std::size_t n = 1; !tables_.overloaded().empty(); ++n, ++best_.moves) {
      const auto& over = tables_.overloaded();
      moves_.relieve(over[random_.below(static_cast<int>(over.size()))], random_.unit() < search_.forced);
      if (n % search_.growth_every == 0) moves_.grow(static_cast<float>(growth));
      if (n % kForgetEvery == 0) moves_.forget(0.7f);
      if (static_cast<int>(tables_.overloaded().size()) < enough && within(tables_.largest(), best_.largest)) break;
      if (n % kLookEvery != 0) continue;
      if (tables_.slots() > 1)
        keep_if_better(tables_, best_);  // where one slot cannot come to its limit, what the others gain counts
      if (!go_on(begun, budget)) break;
    }
    tables_.recompute();
  }

  const Clock clock_;
  BySlot goal_;
  const Search& search_;
  const std::function<bool(const Progress&)>& go_on_;
  Random random_;
  Tables tables_;
  Moves moves_;
  Solution best_;
  double reported_ = 0, ends_ = 0;
  bool wanted_ = true;
};

}  // namespace

Solution optimise(const Tree& tree, const Demand& demand, const std::vector<std::uint8_t>& cables, const BySlot& goal,
                  const Search& search, const std::function<bool(const Progress&)>& go_on) {
  return Optimiser(tree, demand, cables, goal, search, go_on).run();
}

}  // namespace flitwatch::routes
