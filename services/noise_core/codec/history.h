// The last samples of one instance, in the order of their times.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>

namespace flitwatch::codec {

// What the segment that ends at a sample came to.
enum class Effect : std::uint8_t { kNone, kCounted, kReset, kSilence };

struct Sample {
  std::int64_t time_us = 0;
  std::int64_t offset = 0;
  std::int32_t partition = 0;
  std::int32_t tally = -1;  // which tally counted the segment that ends here
  Effect effect = Effect::kNone;
  bool implausible = false;  // the counters cannot have moved so in that segment, looked at alone
  std::uint8_t timed = 0;    // NICs whose seconds that segment counted
  std::uint8_t slot = 0;
};

// Keeps the values of the newest kKept samples, and the times of kOlder more: the usual interval is judged by them.
class History {
 public:
  static constexpr int kKept = 16, kOlder = 3;

  explicit History(std::uint32_t width) : width_(width) {}

  int size() const { return size_; }
  // Whether there were samples before the oldest one whose values are kept: what comes from before it may have been
  // counted.
  bool full() const { return parked_ || size_ - first_ == kKept; }
  // Index of the oldest sample whose values are kept.
  int first() const { return first_; }
  Sample& operator[](int i) { return samples_[static_cast<std::size_t>(i)]; }
  const Sample& operator[](int i) const { return samples_[static_cast<std::size_t>(i)]; }
  const Sample& newest() const { return samples_[static_cast<std::size_t>(size_ - 1)]; }
  std::span<const std::uint64_t> values(int i) const {
    return {values_.get() + width_ * samples_[static_cast<std::size_t>(i)].slot, width_};
  }
  std::uint32_t width() const { return width_; }
  // The first index with values whose time is not before `time_us`; size() if all are before.
  int place(std::int64_t time_us) const;
  // Makes a sample at index `at`, the later ones move up; returns where its values go. One sample more than kKept may
  // stand until `trim`.
  std::uint64_t* insert(int at, std::int64_t time_us, std::int64_t offset, std::int32_t partition);
  // Lets go of what is beyond kKept values and kOlder times; indices move down by the number returned.
  int trim();
  // Forgets all but the newest sample.
  void park();
  void clear() {
    size_ = first_ = 0;
    parked_ = false;
  }
  // Least of the (up to kOlder) intervals before the segment that ends at `i`; 0: there are none.
  std::int64_t usual_interval_us(int i) const;

 private:
  static constexpr int kMost = kKept + kOlder + 1;

  std::uint32_t width_;
  std::uint8_t size_ = 0, first_ = 0;
  bool parked_ = false;
  std::array<Sample, kMost> samples_;
  std::unique_ptr<std::uint64_t[]> values_;  // kKept + 1 slots; pages that are never used cost nothing
};

}  // namespace flitwatch::codec
