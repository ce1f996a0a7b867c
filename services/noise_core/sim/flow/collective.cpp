#include "sim/flow/collective.h"

#include <time.h>

#include <exception>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <thread>

#include "sim/flow/random.h"
#include "sim/flow/replica.h"

namespace flitwatch::sim {
namespace {

double thread_cpu_s() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// Draws who runs where and who perturbs whom. The first ranks() of a random order are the application.
class Draw {
 public:
  explicit Draw(std::uint32_t endpoints) : order_(endpoints) {}

  void next(const Experiment& experiment, std::uint32_t run) {
    Random random(experiment.seed, run);
    salt_ = random.next();
    std::iota(order_.begin(), order_.end(), 0u);
    if (experiment.random_mapping) shuffle(order_, random);
    const std::uint32_t ranks = experiment.pattern->ranks();
    mapping_ = std::span(order_).first(ranks);
    const auto outsiders = std::span<std::uint32_t>(order_).subspan(ranks, experiment.perturbing);
    // A random circle: of outsiders in a random order, each to the next. A fixed mapping leaves the order to be drawn.
    if (!experiment.random_mapping) shuffle(outsiders, random);
    const auto n = static_cast<std::uint32_t>(outsiders.size());
    pairs_.clear();
    if (n < 2) return;
    for (std::uint32_t i = 0; i < n; ++i) {
      std::uint32_t peer = i + 1 < n ? i + 1 : 0;
      if (experiment.perturbation == Perturbation::kRandomPeer) {
        peer = random.below(n - 1);
        peer += peer >= i;
      }
      pairs_.push_back({outsiders[i], outsiders[peer]});
    }
  }
  std::span<const std::uint32_t> mapping() const { return mapping_; }
  std::span<const Pair> pairs() const { return pairs_; }
  std::uint64_t salt() const { return salt_; }

 private:
  std::vector<std::uint32_t> order_;
  std::vector<Pair> pairs_;
  std::span<const std::uint32_t> mapping_;
  std::uint64_t salt_ = 0;
};

// Narrow lanes hold every possible count unless one link could see more than 65,535 messages.
template <class Use>
auto with_cell(std::uint64_t most_messages, Use use) {
  if (most_messages <= Lanes<std::uint32_t>::kMost) return use(std::uint32_t{});
  if (most_messages > Lanes<std::uint64_t>::kMost) throw std::invalid_argument("more than 2^32 messages at once");
  return use(std::uint64_t{});
}

// Valiant's detour may cross a link twice with one message.
constexpr std::uint64_t kCrossings = 2;

void append(LinkId link, std::vector<LinkId>& links) { links.push_back(link); }
void append(const RingRun& run, std::vector<LinkId>& links) {
  for (std::uint32_t i = 0; i < run.length; ++i) links.push_back(run.ring + (run.begin + i) % run.size);
}

struct Workload {
  std::atomic<std::uint32_t> next{0};
  std::atomic<std::uint64_t> increments{0};
  std::mutex lock;
  double cpu_s = 0;
  std::exception_ptr failure;
};

template <class Cell, class Route>
void work(const Route& route, const Experiment& experiment, Workload& load, Outcome& outcome,
          std::atomic<std::uint32_t>* done, const std::atomic<bool>* cancelled) {
  const double started = thread_cpu_s();
  try {
    Replica<Route, Cell> replica(route);
    Draw draw(route.endpoints());
    std::vector<Peak> costs(experiment.rules.size());
    for (std::uint32_t i; (i = load.next.fetch_add(1)) < experiment.runs;) {
      if (cancelled != nullptr && cancelled->load(std::memory_order_relaxed)) break;
      draw.next(experiment, experiment.first_run + i);
      replica.run(*experiment.pattern, draw.mapping(), draw.pairs(), experiment.rules, draw.salt(), costs, nullptr,
                  cancelled);
      for (std::size_t rule = 0; rule < costs.size(); ++rule) {
        outcome.costs[rule].quiet[i] = costs[rule].quiet;
        outcome.costs[rule].perturbed[i] = costs[rule].perturbed;
      }
      if (done != nullptr) done->fetch_add(1, std::memory_order_relaxed);
    }
    load.increments += replica.increments();
  } catch (...) {
    const std::lock_guard guard(load.lock);
    load.failure = std::current_exception();
  }
  const std::lock_guard guard(load.lock);
  load.cpu_s += thread_cpu_s() - started;
}

}  // namespace

Outcome run_collective(const Routes& routes, const Experiment& experiment, std::atomic<std::uint32_t>* done,
                       const std::atomic<bool>* cancelled) {
  if (experiment.pattern == nullptr) throw std::invalid_argument("a pattern is needed");
  if (std::uint64_t{experiment.pattern->ranks()} + experiment.perturbing > endpoints_of(routes))
    throw std::invalid_argument("application and perturbation need more endpoints than there are");
  Outcome outcome;
  for (std::size_t rule = 0; rule < experiment.rules.size(); ++rule)
    outcome.costs.push_back({std::vector<std::uint32_t>(experiment.runs), std::vector<std::uint32_t>(experiment.runs)});
  Workload load;
  const auto worker = [&] {
    std::visit(
        [&](const auto& route) {
          with_cell(kCrossings * (std::uint64_t{experiment.pattern->largest_round()} + experiment.perturbing),
                    [&](auto cell) { work<decltype(cell)>(route, experiment, load, outcome, done, cancelled); });
        },
        routes);
  };
  std::vector<std::jthread> helpers;
  for (std::uint32_t t = 1; t < std::min(experiment.threads, experiment.runs); ++t) helpers.emplace_back(worker);
  worker();
  helpers.clear();
  if (load.failure) std::rethrow_exception(load.failure);
  outcome.increments = load.increments;
  outcome.cpu_s = load.cpu_s;
  return outcome;
}

Annotated annotate_collective(const Routes& routes, const Pattern& pattern, std::span<const std::uint32_t> mapping,
                              std::span<const Pair> perturbation, Rules rules) {
  const auto endpoints = endpoints_of(routes);
  const auto outside = [endpoints](std::uint32_t e) { return e >= endpoints; };
  if (mapping.size() != pattern.ranks()) throw std::invalid_argument("the mapping needs one endpoint per rank");
  if (std::ranges::any_of(mapping, outside))
    throw std::invalid_argument("the mapping names an endpoint that does not exist");
  for (const Pair& pair : perturbation)
    if (outside(pair.src) || outside(pair.dst) || pair.src == pair.dst)
      throw std::invalid_argument("a perturbing pair must join two different endpoints");
  std::vector<bool> taken(endpoints);
  for (std::uint32_t e : mapping) {
    if (taken[e]) throw std::invalid_argument("the mapping puts two ranks on endpoint " + std::to_string(e));
    taken[e] = true;
  }
  Annotated annotated;
  std::visit(
      [&](const auto& route) {
        with_cell(kCrossings * (std::uint64_t{pattern.largest_round()} + perturbation.size()), [&](auto cell) {
          Replica<std::decay_t<decltype(route)>, decltype(cell)> replica(route);
          replica.run(pattern, mapping, perturbation, {&rules, 1}, 0, {&annotated.cost, 1}, &annotated.weights);
        });
      },
      routes);
  return annotated;
}

std::vector<std::uint32_t> count_links(const Routes& routes, std::span<const Pair> pairs) {
  return std::visit(
      [&](const auto& route) {
        using Route = std::decay_t<decltype(route)>;
        for (const Pair& pair : pairs)
          if (pair.src >= route.endpoints() || pair.dst >= route.endpoints() || pair.src == pair.dst)
            throw std::invalid_argument("a pair must join two different endpoints");
        std::vector<std::uint32_t> counts(route.cells());
        if constexpr (Route::kBulk) {
          route.template count<std::uint32_t>(pairs, counts.data(), 1u);
        } else {
          std::vector<typename Route::Step> steps(route.most_steps());
          for (const Pair& pair : pairs) {
            const LinkId* end = route.route(pair.src, pair.dst, 0, steps.data());
            add_path(counts.data(), steps.data(), end, 1u);
          }
        }
        return counts;
      },
      routes);
}

std::vector<LinkId> links_of(const Routes& routes, Pair pair, std::uint64_t salt) {
  return std::visit(
      [&](const auto& route) {
        if (pair.src >= route.endpoints() || pair.dst >= route.endpoints())
          throw std::invalid_argument("no such endpoint");
        using Step = typename std::decay_t<decltype(route)>::Step;
        std::vector<LinkId> links;
        if (pair.src == pair.dst) return links;
        std::vector<Step> steps(route.most_steps());
        const Step* end = route.route(pair.src, pair.dst, salt, steps.data());
        for (const Step* s = steps.data(); s != end; ++s) append(*s, links);
        return links;
      },
      routes);
}

std::uint32_t endpoints_of(const Routes& routes) {
  return std::visit([](const auto& route) { return route.endpoints(); }, routes);
}

}  // namespace flitwatch::sim
