// The last samples of one instance, in order of time.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>

namespace flitwatch::codec {

// How the segment that ends at a sample was handled.
enum class Effect : std::uint8_t { kNone, kCounted, kReset, kSilence };

struct Sample {
  std::int64_t time_us = 0;
  std::int64_t offset = 0;
  std::int32_t partition = 0;
  std::int32_t tally = -1;  // the tally that counted the segment that ends here
  Effect effect = Effect::kNone;
  bool implausible = false;  // in that segment alone, the counters moved implausibly
  std::uint8_t timed = 0;    // NICs whose seconds were counted in that segment
  std::uint8_t slot = 0;
};

// Stores the values of the newest kKept samples, and the times of kOlder more, which determine the usual interval.
class History {
 public:
  static constexpr int kKept = 16, kOlder = 3;

  explicit History(std::uint32_t width) : width_(width) {}

  int size() const { return size_; }
  // Returns whether there were samples before the oldest one with values. Records from before it may already be
  // counted.
  bool full() const { return parked_ || size_ - first_ == kKept; }
  // Returns the index of the oldest sample with values.
  int first() const { return first_; }
  Sample& operator[](int i) { return samples_[static_cast<std::size_t>(i)]; }
  const Sample& operator[](int i) const { return samples_[static_cast<std::size_t>(i)]; }
  const Sample& newest() const { return samples_[static_cast<std::size_t>(size_ - 1)]; }
  std::span<const std::uint64_t> values(int i) const {
    return {values_.get() + width_ * samples_[static_cast<std::size_t>(i)].slot, width_};
  }
  std::uint32_t width() const { return width_; }
  // Returns the first index with values and a time of at least `time_us`, or size() if all are earlier.
  int place(std::int64_t time_us) const;
  // Inserts a sample at index `at`, moves later ones up, and returns the place for its values. One sample more than
  // kKept can exist until `trim`.
  std::uint64_t* insert(int at, std::int64_t time_us, std::int64_t offset, std::int32_t partition);
  // Drops values beyond kKept and times beyond kOlder. Indices decrease by the returned number.
  int trim();
  // Drops all samples except the newest.
  void park();
  void clear() {
    size_ = first_ = 0;
    parked_ = false;
  }
  // Returns the shortest of the (up to kOlder) intervals before the segment that ends at `i`; 0 if there are none.
  std::int64_t usual_interval_us(int i) const;

 private:
  static constexpr int kMost = kKept + kOlder + 1;

  std::uint32_t width_;
  std::uint8_t size_ = 0, first_ = 0;
  bool parked_ = false;
  std::array<Sample, kMost> samples_;
  std::unique_ptr<std::uint64_t[]> values_;  // kKept + 1 slots; unused pages take no memory
};

}  // namespace flitwatch::codec
