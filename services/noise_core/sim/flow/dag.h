// Cost of a collective from the weights of its messages, with two semantics.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/flow/pattern.h"
#include "sim/flow/spans.h"

namespace flitwatch::sim {

enum class Semantics {
  // A message starts when its sender has received the messages of earlier rounds (Hoefler 2009, section 3, figure 10).
  kLongestPath,
  // The chaining of messages in the simulator behind the published curves. A rank's first message of a round continues
  // the first message that reached it in the previous round. Every other message starts at 0. The result is never the
  // larger one.
  kOrcs,
};

// Finish times of the quiet and of the perturbed collective, reused for each replica.
class Dag {
 public:
  void start(std::uint32_t ranks, Semantics semantics, bool wait_for_own_send);
  // Adds the messages of the next round with their weights.
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
  std::vector<std::uint32_t> reached_in_, sent_in_;  // orcs: the last round in which a rank received, or sent
  Peak cost_;
};

}  // namespace flitwatch::sim
