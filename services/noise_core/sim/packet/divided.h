// One run divided over threads. Each part of the fabric has its own engine, and all parts advance together from window
// to window. A window is as long as the least time that a packet takes from one part to another, so packets received
// within it cannot matter before its end (conservative windows; Chandy and Misra 1979, Nicol 1993).
//
// There are three differences from an undivided run. A credit from another part becomes known at the next window
// instead of when its packet is committed, so a queue that waits for it can commit later. A sender of a message beyond
// the eager limit is notified of its arrival at the next window at the earliest. Each part draws its own random
// numbers.
#pragma once

#include <time.h>

#include <atomic>
#include <exception>
#include <latch>
#include <memory>
#include <optional>
#include <system_error>
#include <thread>
#include <vector>

#include "sim/packet/engine.h"
#include "sim/packet/workload.h"

namespace flitwatch::sim::packet {

// Tells the core that this loop only waits.
inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Barrier of all threads. The last one to arrive does the work of a single thread. Threads spin, because a window takes
// microseconds, but yield their core if another thread lacks one.
class Border {
 public:
  explicit Border(unsigned threads) : threads_(threads) {}

  template <class Alone>
  void wait(Alone alone) {
    const std::uint32_t turn = turn_.load(std::memory_order_relaxed);
    if (waiting_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
      alone();
      waiting_.store(0, std::memory_order_relaxed);
      turn_.store(turn + 1, std::memory_order_release);
      return;
    }
    for (std::uint32_t spins = 0; turn_.load(std::memory_order_acquire) == turn; ++spins)
      if (spins < kSpins)
        relax();
      else
        std::this_thread::yield();
  }

 private:
  static constexpr std::uint32_t kSpins = 4000;
  const unsigned threads_;
  alignas(64) std::atomic<std::uint32_t> waiting_{0};
  alignas(64) std::atomic<std::uint32_t> turn_{0};
};

template <class Routing, std::uint32_t CreditsInPlace>
class DividedEngine {
  using Part = Engine<Routing, CreditsInPlace, true>;

 public:
  DividedEngine(const Network& network, const Routing& routing, Workload& workload, const EngineOptions& options,
                const Division& division, unsigned threads)
      : network_(network),
        division_(division),
        workload_(workload),
        memory_(std::make_shared<typename Part::Memory>(network, routing, options,
                                                        std::size_t{division.parts} * Division::kPackets)),
        threads_(std::clamp(threads, 1u, division.parts)),
        taken_(division.parts) {
    workload.check_parts(division.of_endpoint);
    for (std::uint32_t part = 0; part < division.parts; ++part) {
      clients_.push_back(std::make_unique<WorkloadPart>(workload, division.of_endpoint, part));
      parts_.push_back(std::make_unique<Part>(network, routing, *clients_[part], options, memory_, &division_, part));
      known_.push_back(parts_[part].get());
    }
    for (const auto& part : parts_) part->know(known_.data());
    for (auto& post : posts_) post.assign(division.parts, std::vector<Mailbox>(division.parts));
    until_ = division.window_ps;
  }

  RunStatistics run(RunControl& control) {
    std::latch known(1);
    std::optional<Border> border;
    const auto work = [&](unsigned thread) {
      while (!ended_) {
        work_window(thread);
        border->wait([&] { plan(control); });
      }
    };
    std::vector<std::jthread> others;
    try {
      for (unsigned thread = 1; thread < threads_; ++thread)
        others.emplace_back([&, thread] {
          known.wait();
          work(thread);
          cpu_s_.fetch_add(cpu_s(), std::memory_order_relaxed);
        });
    } catch (const std::system_error&) {  // the system provides no more
      threads_ = static_cast<unsigned>(others.size()) + 1;
    }
    border.emplace(threads_);
    known.count_down();
    work(0);
    others.clear();
    if (fault_) std::rethrow_exception(fault_);
    return sum();
  }

  // Results in the format of an undivided engine.
  ChannelCounters counters(PortId port, std::uint32_t vc) const { return part_of(port).counters(port, vc); }
  void forget_counters(std::uint32_t vc) { parts_[0]->forget_counters(vc); }
  const ChannelCounters& ejected(std::uint32_t endpoint, std::uint32_t k) const {
    return parts_[0]->ejected(endpoint, k);
  }
  Time port_wait_ps(PortId port) const { return parts_[0]->port_wait_ps(port); }
  const std::vector<NicCounters>& nic_counters() const { return memory_->nic_counters; }
  const std::vector<SampleRecord>& samples() const { return parts_[0]->samples(); }
  const std::vector<std::uint64_t>& congested() const { return parts_[0]->congested(); }

 private:
  const Part& part_of(PortId port) const {
    if (port >= network_.router_ports()) return *parts_[division_.of_endpoint[port - network_.router_ports()]];
    return *parts_[division_.of_router[port / network_.stride()]];
  }

  static double cpu_s() {
    timespec used{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
  }

  // A thread processes its own parts first, then parts that no other thread has started.
  void work_window(unsigned thread) {
    const std::uint32_t first = thread * division_.parts / threads_;
    for (std::uint32_t k = 0; k < division_.parts; ++k) {
      const std::uint32_t part = (first + k) % division_.parts;
      std::uint32_t expected = window_;
      if (!taken_[part].window.compare_exchange_strong(expected, window_ + 1, std::memory_order_relaxed)) continue;
      try {
        parts_[part]->window(from_, until_, posts_[window_ & 1][part].data(), posts_[~window_ & 1]);
      } catch (...) {
        taken_[part].fault = std::current_exception();
      }
    }
  }

  // Run while all threads wait: chooses the next window, or the end.
  void plan(RunControl& control) {
    std::uint64_t delivered = 0;
    std::uint32_t live = 0;
    Time next = kNever;
    bool news = false;
    for (std::uint32_t part = 0; part < division_.parts; ++part) {
      if (taken_[part].fault && !fault_) fault_ = taken_[part].fault;
      clients_[part]->gather();
      delivered += parts_[part]->statistics().delivered_bytes;
      live += parts_[part]->live_packets();
      next = std::min(next, parts_[part]->earliest());
      for (const Mailbox& box : posts_[window_ & 1][part]) {
        news |= !box.credits.empty() || !box.sent.empty();
        for (const Mailbox::Arrival& arrival : box.arrivals) next = std::min(next, arrival.when);
      }
    }
    peak_packets_ = std::max<std::uint64_t>(peak_packets_, live);
    control.delivered_bytes.store(delivered, std::memory_order_relaxed);
    if (!fault_ && control.cancelled.load(std::memory_order_relaxed)) fault_ = std::make_exception_ptr(CancelledRun());
    ended_ = fault_ || (next == kNever && !news);
    from_ = news ? until_ : std::max(next, until_);
    until_ = from_ + division_.window_ps;
    ++window_;
  }

  RunStatistics sum() const {
    RunStatistics all = parts_[0]->statistics();
    std::uint32_t live = parts_[0]->live_packets();
    std::uint64_t credit_faults = parts_[0]->credit_faults();
    for (std::uint32_t part = 1; part < division_.parts; ++part) {
      all.add(parts_[part]->statistics());
      live += parts_[part]->live_packets();
      credit_faults += parts_[part]->credit_faults();
    }
    all.peak_packets = peak_packets_;
    all.other_cpu_s = cpu_s_;
    all.settle(live, credit_faults);
    return all;
  }

  struct alignas(64) Taken {
    std::atomic<std::uint32_t> window{0};  // the next window that no thread has started
    std::exception_ptr fault;
  };

  const Network& network_;
  const Division division_;
  Workload& workload_;
  std::shared_ptr<typename Part::Memory> memory_;
  unsigned threads_;
  std::vector<std::unique_ptr<WorkloadPart>> clients_;
  std::vector<std::unique_ptr<Part>> parts_;
  std::vector<Part*> known_;
  std::vector<Taken> taken_;
  std::vector<std::vector<Mailbox>> posts_[2];  // of odd and even windows: [from][to]
  Time from_ = 0, until_ = 0;
  std::uint32_t window_ = 0;
  std::uint64_t peak_packets_ = 0;
  std::exception_ptr fault_;
  std::atomic<double> cpu_s_{0};
  bool ended_ = false;
};

}  // namespace flitwatch::sim::packet
