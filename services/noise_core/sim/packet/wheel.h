// The event queue: a calendar wheel of 16 ns buckets. A bucket is put in order when it becomes current (256 bins, then one
// insertion pass), so a push costs one store. Events of one picosecond leave in the order in which they were pushed.
#pragma once

#include <cstring>
#include <vector>

#include "sim/packet/types.h"

namespace flitwatch::sim::packet {

class Wheel {
 public:
  static constexpr int kBucketBits = 14;
  static constexpr std::uint64_t kBuckets = std::uint64_t{1} << 15;

  Wheel() : chunks_(kMaxChunks), head_(kBuckets, kNil), tail_(kBuckets, kNil), current_(1 << 12) {}

  bool empty() const { return pending_ == 0; }
  std::uint64_t pending() const { return pending_; }

  // `id` is the caller's. A time before the current event counts as now.
  void push(Time time, std::uint32_t id) {
    ++pending_;
    const std::uint64_t bucket = time >> kBucketBits;
    if (__builtin_expect(bucket <= bucket_, 0)) return insert_current(bucket < bucket_ ? 0 : offset(time), id);
    if (__builtin_expect(bucket - bucket_ >= kBuckets, 0)) return far_.push_back({time, id});
    append(bucket & (kBuckets - 1), key(offset(time), id));
  }

  // Makes the next non-empty bucket current; false when nothing is pending.
  bool advance() {
    if (next_ < end_) return true;
    if (!pending_) return false;
    if (pending_ == far_.size()) skip_to_far();
    for (;;) {
      ++bucket_;
      if ((bucket_ & (kBuckets / 2 - 1)) == 0 && !far_.empty()) admit_far();
      const std::uint64_t slot = bucket_ & (kBuckets - 1);
      if (head_[slot] == kNil) continue;
      const std::uint32_t first = head_[slot];
      head_[slot] = tail_[slot] = kNil;
      load(first);
      return true;
    }
  }

  // The current bucket, in order: valid after advance() returned true.
  bool has_next() const { return next_ < end_; }
  std::uint32_t ahead(std::uint32_t distance) const {  // id of a coming event of this bucket, kNil where there is none
    return next_ + distance < end_ ? static_cast<std::uint32_t>(current_[next_ + distance]) : kNil;
  }
  std::uint32_t pop(Time& now) {
    const std::uint64_t event = current_[next_++];
    --pending_;
    now = (bucket_ << kBucketBits) + (event >> 32);
    return static_cast<std::uint32_t>(event);
  }

 private:
  static constexpr std::uint32_t kChunkEvents = 63;
  static constexpr std::size_t kMaxChunks = std::size_t{1} << 21;  // 1 GiB of address space, touched as needed
  struct Chunk {
    std::uint32_t count, next;
    std::uint64_t events[kChunkEvents];
  };
  struct Far {
    Time time;
    std::uint32_t id;
  };

  static std::uint64_t offset(Time time) { return time & ((Time{1} << kBucketBits) - 1); }
  static std::uint64_t key(std::uint64_t at, std::uint32_t id) { return at << 32 | id; }

  void insert_current(std::uint64_t at, std::uint32_t id) {
    // Nothing may go before an event that was already taken: the caller's clock stands at or after it.
    if (end_ == current_.size()) current_.resize(2 * current_.size());
    std::uint32_t i = end_++;
    while (i > next_ && (current_[i - 1] >> 32) > at) {
      current_[i] = current_[i - 1];
      --i;
    }
    current_[i] = key(at, id);
  }

  void append(std::uint64_t slot, std::uint64_t event) {
    std::uint32_t chunk = tail_[slot];
    if (chunk == kNil || chunks_[chunk].count == kChunkEvents) {
      const std::uint32_t fresh = take_chunk();
      chunks_[fresh].count = 0;
      chunks_[fresh].next = kNil;
      (chunk == kNil ? head_[slot] : chunks_[chunk].next) = fresh;
      tail_[slot] = chunk = fresh;
    }
    chunks_[chunk].events[chunks_[chunk].count++] = event;
  }

  std::uint32_t take_chunk() {
    if (free_ != kNil) {
      const std::uint32_t chunk = free_;
      free_ = chunks_[chunk].next;
      return chunk;
    }
    if (used_ == kMaxChunks) throw EngineFault("more than 130 million events are pending");
    return used_++;
  }

  void skip_to_far() {  // the wheel is empty: jump to the earliest far event instead of turning through empty buckets
    Time first = kNever;
    for (const Far& far : far_) first = far.time < first ? far.time : first;
    bucket_ = (first >> kBucketBits) - 1;
    admit_far();
  }

  void admit_far() {
    std::size_t kept = 0;
    for (const Far& far : far_) {
      const std::uint64_t bucket = far.time >> kBucketBits;
      if (bucket - bucket_ < kBuckets)
        append(bucket & (kBuckets - 1), key(offset(far.time), far.id));
      else
        far_[kept++] = far;
    }
    far_.resize(kept);
  }

  void load(std::uint32_t first) {
    std::uint32_t n = 0;
    for (std::uint32_t c = first; c != kNil; c = chunks_[c].next) n += chunks_[c].count;
    if (n + 64 > current_.size()) current_.resize(2 * n + 64);
    next_ = 0;
    end_ = n;
    constexpr int shift = 32 + kBucketBits - 8;
    if (n > 24) {
      std::uint32_t start[257] = {};
      for (std::uint32_t c = first; c != kNil; c = chunks_[c].next)
        for (std::uint32_t i = 0; i < chunks_[c].count; ++i) ++start[(chunks_[c].events[i] >> shift) + 1];
      for (int bin = 0; bin < 256; ++bin) start[bin + 1] += start[bin];
      for (std::uint32_t c = first; c != kNil; c = release(c))
        for (std::uint32_t i = 0; i < chunks_[c].count; ++i)
          current_[start[chunks_[c].events[i] >> shift]++] = chunks_[c].events[i];
    } else {
      std::uint32_t at = 0;
      for (std::uint32_t c = first; c != kNil; c = release(c)) {
        std::memcpy(&current_[at], chunks_[c].events, chunks_[c].count * sizeof(std::uint64_t));
        at += chunks_[c].count;
      }
    }
    for (std::uint32_t i = 1; i < n; ++i) {
      const std::uint64_t event = current_[i];
      std::uint32_t j = i;
      for (; j && (current_[j - 1] >> 32) > (event >> 32); --j) current_[j] = current_[j - 1];
      current_[j] = event;
    }
  }

  std::uint32_t release(std::uint32_t chunk) {
    const std::uint32_t next = chunks_[chunk].next;
    chunks_[chunk].next = free_;
    free_ = chunk;
    return next;
  }

  FlatArray<Chunk> chunks_;
  std::vector<std::uint32_t> head_, tail_;
  std::vector<std::uint64_t> current_;
  std::vector<Far> far_;
  std::uint64_t bucket_ = 0, pending_ = 0;
  std::uint32_t free_ = kNil, used_ = 0, next_ = 0, end_ = 0;
};

}  // namespace flitwatch::sim::packet
