// What a collective costs once each of its messages has a weight: two semantics.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/flow/pattern.h"
#include "sim/flow/spans.h"

namespace flitwatch::sim {

enum class Semantics {
  // A message starts when its sender has received what earlier rounds send it (Hoefler 2009, section 3, figure 10).
  kLongestPath,
  // As the simulator behind the published curves chains messages: a rank's first message of a round continues the
  // first message that reached it in the round just before; every other message starts at 0. Never the larger one.
  kOrcs,
};

// Finish times of the quiet and of the perturbed collective, kept for one replica and reused for the next.
class Dag {
 public:
  void start(std::uint32_t ranks, Semantics semantics, bool wait_for_own_send);
  // Takes the messages of the next round with their weights.
  void round(std::span<const Message> messages, std::span<const Peak> weights);
  Peak cost() const { return cost_; }

 private:
  void longest_path(std::span<const Message> messages, std::span<const Peak> weights);
  void orcs(std::span<const Message> messages, std::span<const Peak> weights);
  static Peak later(Peak a, Peak b) { return {std::max(a.quiet, b.quiet), std::max(a.perturbed, b.perturbed)}; }
  static Peak after(Peak a, Peak b) { return {a.quiet + b.quiet, a.perturbed + b.perturbed}; }

  Semantics semantics_ = Semantics::kLongestPath;
  bool wait_for_own_send_ = false;
  std::uint32_t round_ = 0;
  std::vector<Peak> ready_, sent_, finish_;
  std::vector<std::uint32_t> reached_in_, sent_in_;  // orcs: the last round in which a rank was reached, or sent
  Peak cost_;
};

}  // namespace flitwatch::sim
