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
constexpr double kShareOfWorst = 0.3;   // and the search for fewer links that carry the most
constexpr int kIdleAttempts = 6;        // at fewer such links before that search ends
constexpr int kPasses = 4;              // over entries that may go back to what is loaded
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

// Tables as they are loaded; entries that are absent stay as the tables hold them.
void lay_loaded(Tables& tables, const Loaded& loaded) {
  const auto& items = tables.demand().items;
  const std::size_t endpoints = tables.tree().endpoints();
  for (std::size_t i = 0; i < items.size(); ++i)
    if (const Port p = loaded.spine_of[items[i].leaf * endpoints + items[i].dest]; p >= 0) tables.spine_of[i] = p;
  for (std::size_t q = 0; q < loaded.core_of.size(); ++q)
    if (loaded.core_of[q] >= 0) tables.core_of[q] = loaded.core_of[q];
  for (std::size_t q = 0; q < loaded.down_of.size(); ++q)
    if (loaded.down_of[q] >= 0) tables.down_of[q] = loaded.down_of[q];
  tables.recompute();
}

class Optimiser {
 public:
  Optimiser(const Tree& tree, const Demand& demand, const std::vector<std::uint8_t>& failed, double goal, const Search& search,
            const std::function<bool(const Progress&)>& go_on)
      : goal_(goal), search_(search), go_on_(go_on), random_(search.seed), tables_(tree, demand, failed), moves_(tables_, random_, goal > 0 ? goal : 1) {}

  Solution run() {
    begin(tables_, random_, best_);
    if (search_.loaded) {
      lay_loaded(tables_, *search_.loaded);
      keep(tables_, tables_.largest(), best_);
    }
    wanted_ = go_on_({clock_.seconds(), best_.largest, 0});
    ends_ = search_.seconds * (search_.fewest_worst ? 1 - kShareOfWorst : 1);
    lower();
    ends_ = search_.seconds;
    if (search_.fewest_worst) thin_out();
    restore(tables_, best_);
    if (search_.loaded) {
      put_back();
      keep(tables_, tables_.largest(), best_);
    }
    best_.worst_links = count_worst(tables_, best_.largest);
    best_.seconds = clock_.seconds();
    return best_;
  }

 private:
  // The largest load, limit by limit, until it is the goal or the time is over.
  void lower() {
    const bool stages = !search_.loaded && whole(tables_);
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
  }

  // The links that carry as much as the busiest, one limit just below it.
  void thin_out() {
    const bool stages = !search_.loaded && whole(tables_);
    restore(tables_, best_);
    int fewest = count_worst(tables_, best_.largest), idle = 0;
    for (int attempt = 0; time_left() && fewest > 0 && idle < kIdleAttempts && best_.largest > 0; ++attempt) {
      const double most = best_.largest, limit = most * (1 - 4 * kClose);
      if (stages && attempt % 2 == 0) lay_stages(limit);
      else relieve(limit, search_.growth, fewest);
      const int worst = count_worst(tables_, most);
      ++idle;
      if (tables_.largest() > most * (1 + kClose) || worst >= fewest) continue;
      keep(tables_, tables_.largest(), best_);
      fewest = worst;
      idle = 0;
    }
  }

  // Loaded entries again, one by one, wherever they load no link above what was reached.
  void put_back() {
    const Loaded& loaded = *search_.loaded;
    const auto& items = tables_.demand().items;
    const std::size_t endpoints = tables_.tree().endpoints();
    tables_.set_limit(std::max(best_.largest, goal_));
    bool moved = true;
    for (int pass = 0; pass < kPasses && moved && tables_.overloaded().empty(); ++pass) {
      moved = false;
      for (std::size_t i = 0; i < items.size(); ++i) {
        const Port was = loaded.spine_of[items[i].leaf * endpoints + items[i].dest];
        if (was >= 0 && was != tables_.spine_of[i]) moved = item_back(static_cast<int>(i), was, loaded) || moved;
      }
      for (std::size_t q = 0; q < loaded.core_of.size(); ++q)
        if (tables_.spine_users(q) && loaded.core_of[q] >= 0 && loaded.core_of[q] != tables_.core_of[q]) moved = spine_back(q, loaded) || moved;
      for (std::size_t q = 0; q < loaded.down_of.size(); ++q)
        if (tables_.core_users(q) && loaded.down_of[q] >= 0 && loaded.down_of[q] != tables_.down_of[q]) moved = core_back(q, loaded) || moved;
    }
  }

  // A core's entry as it was: the way that is left may go through the same core.
  struct Undo {
    std::size_t at = 0;
    Port down = -1;
  };

  // Entries on the way from a spine that nothing uses yet become the loaded ones.
  Undo free_entries(int ps, int dest, const Loaded& loaded) {
    const Tree& tree = tables_.tree();
    const std::size_t q = tables_.at_spine(ps, dest);
    if (!tables_.spine_users(q) && loaded.core_of[q] >= 0) tables_.core_of[q] = loaded.core_of[q];
    return free_core(tree.group_of_spine(ps % tree.shape().spines) * tree.shape().cores + tables_.core_of[q], dest, loaded);
  }

  Undo free_core(int k, int dest, const Loaded& loaded) {
    const std::size_t at = tables_.at_core(k, dest);
    const Undo undo{at, tables_.down_of[at]};
    if (!tables_.core_users(at) && loaded.down_of[at] >= 0) tables_.down_of[at] = loaded.down_of[at];
    return undo;
  }

  bool item_back(int item, Port was, const Loaded& loaded) {
    const Tree& tree = tables_.tree();
    const Item& one = tables_.demand().items[item];
    const Port now = tables_.spine_of[item];
    const int pod = tree.pod_of_leaf(one.leaf);
    tables_.place(item, -1);
    tables_.spine_of[item] = was;
    const Undo undo = pod == tree.pod_of(one.dest) ? Undo{} : free_entries(pod * tree.shape().spines + was, one.dest, loaded);
    tables_.place(item, 1);
    if (tables_.overloaded().empty()) return true;
    tables_.place(item, -1);
    tables_.spine_of[item] = now;
    if (undo.down >= 0) tables_.down_of[undo.at] = undo.down;
    tables_.place(item, 1);
    return false;
  }

  bool spine_back(std::size_t q, const Loaded& loaded) {
    const Tree& tree = tables_.tree();
    const int ps = static_cast<int>(q / tree.endpoints()), dest = static_cast<int>(q % tree.endpoints());
    const float bytes = tables_.spine_bytes(q);
    const Port now = tables_.core_of[q];
    tables_.place_spine(ps, dest, bytes, -1);
    tables_.core_of[q] = loaded.core_of[q];
    free_core(tree.group_of_spine(ps % tree.shape().spines) * tree.shape().cores + tables_.core_of[q], dest, loaded);
    tables_.place_spine(ps, dest, bytes, 1);
    if (tables_.overloaded().empty()) return true;
    tables_.place_spine(ps, dest, bytes, -1);
    tables_.core_of[q] = now;
    tables_.place_spine(ps, dest, bytes, 1);
    return false;
  }

  bool core_back(std::size_t q, const Loaded& loaded) {
    const int k = static_cast<int>(q / tables_.tree().endpoints()), dest = static_cast<int>(q % tables_.tree().endpoints());
    const float bytes = tables_.core_bytes(q);
    const Port now = tables_.down_of[q];
    tables_.place_core(k, dest, bytes, -1);
    tables_.down_of[q] = loaded.down_of[q];
    tables_.place_core(k, dest, bytes, 1);
    if (tables_.overloaded().empty()) return true;
    tables_.place_core(k, dest, bytes, -1);
    tables_.down_of[q] = now;
    tables_.place_core(k, dest, bytes, 1);
    return false;
  }

  bool time_left() const { return wanted_ && clock_.seconds() < ends_; }

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
    settle_by_stages(tables_, limit, random_, [&] { return go_on(0, ends_); });
  }

  // `enough`: end as soon as fewer links than these are above the limit, and none above the best.
  void relieve(double limit, double growth, int enough = 0) {
    tables_.set_limit(limit);
    moves_.reset();
    const double begun = clock_.seconds(), budget = std::max(2.0, search_.seconds * kShareOfTime);
    for (std::size_t n = 1; !tables_.overloaded().empty(); ++n, ++best_.moves) {
      const auto& over = tables_.overloaded();
      moves_.relieve(over[random_.below(static_cast<int>(over.size()))], random_.unit() < search_.forced);
      if (n % search_.growth_every == 0) moves_.grow(static_cast<float>(growth));
      if (n % kForgetEvery == 0) moves_.forget(0.7f);
      if (static_cast<int>(tables_.overloaded().size()) < enough && tables_.largest() <= best_.largest * (1 + kClose)) break;
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
  double reported_ = 0, ends_ = 0;
  bool wanted_ = true;
};

}  // namespace

Solution optimise(const Tree& tree, const Demand& demand, const std::vector<std::uint8_t>& failed, double goal, const Search& search,
                  const std::function<bool(const Progress&)>& go_on) {
  return Optimiser(tree, demand, failed, goal, search, go_on).run();
}

}  // namespace flitwatch::routes
