// One replica of a collective: the counting kernel with memory that replicas reuse.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/flow/collective.h"
#include "sim/flow/spans.h"

namespace flitwatch::sim {

template <class Route, class Cell>
class Replica {
 public:
  explicit Replica(const Route& route) : route_(route), cells_(route.cells() + kOverrun) {}

  // Counts the perturbation once. Then, for each round, adds the application's messages, reads their weights and
  // removes them again. `costs` receives one cost per rule, and `weights`, if given, every message's weight. If
  // `cancelled` becomes true, it stops between two rounds, because an all-to-all of a large machine takes minutes.
  void run(const Pattern& pattern, std::span<const std::uint32_t> mapping, std::span<const Pair> perturbation,
           std::span<const Rules> rules, std::uint64_t salt, std::span<Peak> costs,
           std::vector<Peak>* weights = nullptr, const std::atomic<bool>* cancelled = nullptr) {
    std::fill(cells_.begin(), cells_.end(), Cell{0});
    perturb(perturbation, salt);
    dags_.resize(rules.size());
    for (std::size_t i = 0; i < rules.size(); ++i)
      dags_[i].start(pattern.ranks(), rules[i].semantics, rules[i].wait_for_own_send);
    for (std::uint32_t k = 0; k < pattern.rounds(); ++k) {
      if (cancelled != nullptr && cancelled->load(std::memory_order_relaxed)) return;
      const auto messages = pattern.round(k, scratch_);
      if (!pattern.repeats(k)) weigh(messages, mapping, salt, k + 1 == pattern.rounds());
      for (Dag& dag : dags_) dag.round(messages, weights_);
      if (weights != nullptr) weights->insert(weights->end(), weights_.begin(), weights_.end());
    }
    for (std::size_t i = 0; i < rules.size(); ++i) costs[i] = dags_[i].cost();
  }

  std::uint64_t increments() const { return increments_; }

 private:
  using L = Lanes<Cell>;
  using Step = typename Route::Step;

  void perturb(std::span<const Pair> pairs, std::uint64_t salt) {
    if constexpr (Route::kBulk) {
      increments_ += route_.template count<Cell>(pairs, cells_.data(), L::kPerturbation);
    } else {
      steps_.resize(route_.most_steps());
      for (const Pair& pair : pairs) {
        const Step* end = route_.route(pair.src, pair.dst, salt, steps_.data());
        add_path<Cell>(cells_.data(), steps_.data(), end, L::kPerturbation);
        increments_ += links_crossed(steps_.data(), end);
      }
    }
  }

  void weigh(std::span<const Message> messages, std::span<const std::uint32_t> mapping, std::uint64_t salt, bool last) {
    steps_.resize(messages.size() * route_.most_steps());
    ends_.resize(messages.size());
    weights_.resize(messages.size());
    Step* end = steps_.data();
    for (std::size_t i = 0; i < messages.size(); ++i) {
      Step* const begin = end;
      end = route_.route(mapping[messages[i].src], mapping[messages[i].dst], salt, begin);
      add_path(cells_.data(), begin, end, L::kApplication);
      ends_[i] = end;
    }
    increments_ += 2 * links_crossed(steps_.data(), end);  // in both lanes
    const Step* begin = steps_.data();
    for (std::size_t i = 0; i < messages.size(); begin = ends_[i++])
      weights_[i] = peak_of_path(cells_.data(), begin, ends_[i]);
    if (!last) add_path(cells_.data(), steps_.data(), end, static_cast<Cell>(Cell{0} - L::kApplication));
  }

  const Route& route_;
  std::vector<Cell> cells_;
  std::vector<Step> steps_;
  std::vector<const Step*> ends_;
  std::vector<Peak> weights_;
  std::vector<Message> scratch_;
  std::vector<Dag> dags_;
  std::uint64_t increments_ = 0;
};

}  // namespace flitwatch::sim
