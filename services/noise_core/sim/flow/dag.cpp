#include "sim/flow/dag.h"

namespace flitwatch::sim {

void Dag::start(std::uint32_t ranks, Semantics semantics, bool wait_for_own_send) {
  semantics_ = semantics;
  wait_for_own_send_ = wait_for_own_send;
  round_ = 0;
  cost_ = {};
  ready_.assign(ranks, {});
  if (wait_for_own_send) sent_.assign(ranks, {});
  if (semantics == Semantics::kOrcs) {
    reached_in_.assign(ranks, 0);
    sent_in_.assign(ranks, 0);
  }
}

void Dag::round(std::span<const Message> messages, std::span<const Peak> weights) {
  ++round_;
  finish_.resize(messages.size());
  if (semantics_ == Semantics::kLongestPath)
    longest_path(messages, weights);
  else
    orcs(messages, weights);
}

// Starts come from the state before the round, so a rank may receive and send in one round.
void Dag::longest_path(std::span<const Message> messages, std::span<const Peak> weights) {
  for (std::size_t i = 0; i < messages.size(); ++i) {
    Peak begin = ready_[messages[i].src];
    if (wait_for_own_send_) begin = later(begin, sent_[messages[i].src]);
    finish_[i] = after(begin, weights[i]);
    if (wait_for_own_send_) sent_[messages[i].src] = finish_[i];
  }
  for (std::size_t i = 0; i < messages.size(); ++i) {
    Peak& ready = ready_[messages[i].dst];
    ready = later(ready, finish_[i]);
    cost_ = later(cost_, finish_[i]);
  }
}

void Dag::orcs(std::span<const Message> messages, std::span<const Peak> weights) {
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const std::uint32_t src = messages[i].src;
    const bool first_send = sent_in_[src] != round_;
    const bool chained = first_send && round_ > 1 && reached_in_[src] == round_ - 1;
    finish_[i] = after(chained ? ready_[src] : Peak{}, weights[i]);
    sent_in_[src] = round_;
  }
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const std::uint32_t dst = messages[i].dst;
    if (reached_in_[dst] != round_) ready_[dst] = finish_[i];
    reached_in_[dst] = round_;
    cost_ = later(cost_, finish_[i]);
  }
}

}  // namespace flitwatch::sim
