// Congestion control at the NICs, by pair of endpoints: how much a pair may send, and when. Feedback is a record with
// the time when the sender receives it. It is applied when the NIC checks, so only wake-ups need events.
#pragma once

#include <algorithm>
#include <cmath>
#include <deque>
#include <unordered_map>
#include <vector>

#include "sim/packet/types.h"

namespace flitwatch::sim::packet {

enum class ControlKind : std::uint8_t { kNone, kPairs, kDcqcn };

struct ControlOptions {
  ControlKind kind = ControlKind::kNone;
  // kPairs: the switch of an endpoint whose port has a longer queue divides `window_bytes` among the pairs that send
  // there. De Sensi 2020, section II-D, describes Slingshot's behaviour; its parameters are not published.
  std::uint32_t threshold_bytes = 65536, window_bytes = 65536;
  // kDcqcn: Zhu 2015, figures 5 to 7 and section 4; names as there.
  std::uint32_t kmin_bytes = 5'000, kmax_bytes = 200'000;
  double pmax = 0.01, g = 1.0 / 256, additive_bps = 40e6, hyper_bps = 400e6;
  Time cnp_interval_ps = 50'000'000, alpha_timer_ps = 55'000'000, increase_timer_ps = 55'000'000;
  std::uint64_t increase_bytes = 10'000'000;
  std::uint32_t fast_steps = 5;
};

// The reaction point of DCQCN for one pair. Rates are bits per second. Before the first notification, it sends at line
// rate and no timer runs.
class DcqcnRate {
 public:
  DcqcnRate(const ControlOptions& options, double line_bps)
      : options_(&options), line_(line_bps), rate_(line_bps), target_(line_bps) {}

  void notified(Time when) {
    target_ = rate_;
    rate_ *= 1 - alpha_ / 2;
    alpha_ = (1 - options_->g) * alpha_ + options_->g;
    cut_ = true;
    alpha_at_ = when + options_->alpha_timer_ps;
    increase_at_ = when + options_->increase_timer_ps;
    timer_steps_ = byte_steps_ = 0;
    counted_ = 0;
  }
  // Processes timers that expire by `until`.
  void advance(Time until) {
    while (cut_ && std::min(alpha_at_, increase_at_) <= until) {
      if (alpha_at_ <= increase_at_) {
        alpha_ *= 1 - options_->g;
        alpha_at_ += options_->alpha_timer_ps;
      } else {
        increase_at_ += options_->increase_timer_ps;
        ++timer_steps_;
        increase();
      }
    }
  }
  void sent(std::uint64_t bytes) {
    if (!cut_) return;
    for (counted_ += bytes; counted_ >= options_->increase_bytes; counted_ -= options_->increase_bytes) {
      ++byte_steps_;
      increase();
    }
  }
  double rate() const { return rate_; }
  double target() const { return target_; }
  double alpha() const { return alpha_; }

 private:
  void increase() {
    const std::uint32_t most = std::max(timer_steps_, byte_steps_), least = std::min(timer_steps_, byte_steps_);
    if (least > options_->fast_steps)
      target_ += options_->hyper_bps;
    else if (most > options_->fast_steps)
      target_ += options_->additive_bps;
    target_ = std::min(target_, line_);
    rate_ = (target_ + rate_) / 2;
    // Endless halving of the difference would keep timers running without effect.
    if (target_ == line_ && line_ - rate_ < line_ * 1e-6) {
      rate_ = line_;
      cut_ = false;
    }
  }

  const ControlOptions* options_;
  double line_, rate_, target_, alpha_ = 1;
  Time alpha_at_ = 0, increase_at_ = 0;
  std::uint64_t counted_ = 0;
  std::uint32_t timer_steps_ = 0, byte_steps_ = 0;
  bool cut_ = false;
};

// All pairs of a run.
class CongestionControl {
 public:
  CongestionControl(const ControlOptions& options, std::uint32_t endpoints)
      : options_(options), senders_(endpoints, 0) {}

  const ControlOptions& options() const { return options_; }

  // Returns when the pair may send its next packet: `now` or earlier means now; kNever means after feedback, which
  // wakes the NIC.
  Time ready(std::uint32_t src, std::uint32_t dst, std::uint32_t bytes, Time now, double line_bps) {
    Pair& pair = at(src, dst, line_bps);
    learn(pair, now);
    if (options_.kind == ControlKind::kDcqcn) return pair.next;
    if (!pair.in_flight || pair.in_flight + bytes <= pair.window) return now;
    return pair.feedback.empty() ? kNever : pair.feedback.front().when;
  }
  void sent(std::uint32_t src, std::uint32_t dst, std::uint32_t bytes, Time start, double line_bps) {
    Pair& pair = at(src, dst, line_bps);
    if (options_.kind == ControlKind::kDcqcn) {
      pair.rate.sent(bytes);
      pair.next = start + static_cast<Time>(std::llround(bytes * 8e12 / pair.rate.rate()));
      return;
    }
    senders_[dst] += !pair.held;
    pair.held += bytes;
    pair.in_flight += bytes;
  }
  // A packet reaches its endpoint at `when`; `marked`: a queue on its path was too long. Returns when its sender
  // receives the feedback, or kNever if there is none.
  Time arrived(std::uint32_t src, std::uint32_t dst, std::uint32_t bytes, bool marked, Time when, Time back) {
    Pair& pair = pairs_.find(key(src, dst))->second;
    if (options_.kind == ControlKind::kDcqcn) {
      if (!marked || (pair.last_notice != kNever && when < pair.last_notice + options_.cnp_interval_ps)) return kNever;
      pair.last_notice = when;
      insert(pair, {when + back, 0, 0});
      return kNever;  // the pace does not depend on it
    }
    const std::uint32_t sharing = std::max(senders_[dst], 1u);
    pair.held -= bytes;
    senders_[dst] -= !pair.held;
    insert(pair, {when + back, bytes, marked ? options_.window_bytes / sharing : kNil});
    return when + back;
  }
  // Returns whether a packet with that many bytes queued before it is marked; `unit`: a random number in [0, 1).
  bool marks(double queue_bytes, bool ejects, double unit) const {
    if (options_.kind == ControlKind::kPairs) return ejects && queue_bytes > options_.threshold_bytes;
    if (queue_bytes <= options_.kmin_bytes) return false;
    if (queue_bytes > options_.kmax_bytes) return true;
    return unit < options_.pmax * (queue_bytes - options_.kmin_bytes) / (options_.kmax_bytes - options_.kmin_bytes);
  }

 private:
  struct Feedback {
    Time when;
    std::uint32_t bytes, window;
  };
  struct Pair {
    explicit Pair(const DcqcnRate& fresh) : rate(fresh) {}
    DcqcnRate rate;
    Time next = 0, last_notice = kNever;
    std::uint64_t in_flight = 0, held = 0;  // as known to the sender; actual bytes in the fabric
    std::uint64_t window = kNil;
    std::deque<Feedback> feedback;  // ascending
  };

  static std::uint64_t key(std::uint32_t src, std::uint32_t dst) { return std::uint64_t{src} << 32 | dst; }
  Pair& at(std::uint32_t src, std::uint32_t dst, double line_bps) {
    return pairs_.try_emplace(key(src, dst), DcqcnRate(options_, line_bps)).first->second;
  }
  void insert(Pair& pair, Feedback one) {
    auto to = pair.feedback.end();
    while (to != pair.feedback.begin() && (to - 1)->when > one.when) --to;
    pair.feedback.insert(to, one);
  }
  void learn(Pair& pair, Time now) {
    for (; !pair.feedback.empty() && pair.feedback.front().when <= now; pair.feedback.pop_front()) {
      const Feedback& one = pair.feedback.front();
      if (options_.kind == ControlKind::kDcqcn) {
        pair.rate.advance(one.when);
        pair.rate.notified(one.when);
      } else {
        pair.in_flight -= one.bytes;
        pair.window = one.window;
      }
    }
    if (options_.kind == ControlKind::kDcqcn) pair.rate.advance(now);
  }

  ControlOptions options_;
  std::unordered_map<std::uint64_t, Pair> pairs_;
  std::vector<std::uint32_t> senders_;  // pairs with bytes in flight to each endpoint
};

}  // namespace flitwatch::sim::packet
