// The event queue: a calendar wheel of 16 ns buckets. A bucket is put in order when it becomes current (bins, then one
// insertion pass), so a push costs one store. Events of one picosecond leave in the order in which they were pushed.
#pragma once

#include <bit>
#include <cstring>
#include <vector>

#include "sim/packet/types.h"

namespace flitwatch::sim::packet {

class Wheel {
 public:
  static constexpr int kBucketBits = 14;
  static constexpr std::uint64_t kBuckets = std::uint64_t{1} << 15;
  static constexpr std::uint32_t kAhead = 32;  // ahead() looks fewer events ahead than this

  Wheel() : chunks_(kMaxChunks), head_(kBuckets), tail_(kBuckets), current_(kFirstRoom) { seal(); }

  bool empty() const { return pending_ == 0; }
  std::uint64_t pending() const { return pending_; }

  // `id` is the caller's. A time before the current event counts as now.
  [[gnu::always_inline]] void push(Time time, std::uint32_t id) {
    ++pending_;
    const std::uint64_t bucket = time >> kBucketBits, distance = bucket - bucket_ - 1;
    if (__builtin_expect(distance >= kBuckets - 1, 0)) return push_elsewhere(time, id);
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
      if (!tail_[slot]) continue;
      load(slot);
      return true;
    }
  }

  // The current bucket, in order: valid after advance() returned true.
  bool has_next() const { return next_ < end_; }
  // Id of a coming event of this bucket, kNil where there is none.
  std::uint32_t ahead(std::uint32_t distance) const { return static_cast<std::uint32_t>(current_[next_ + distance]); }
  std::uint32_t pop(Time& now) {
    const std::uint64_t event = current_[next_++];
    --pending_;
    now = (bucket_ << kBucketBits) + (event >> 32);
    return static_cast<std::uint32_t>(event);
  }

 private:
  static constexpr std::uint32_t kChunkEvents = 63, kFirstRoom = 1 << 12;
  static constexpr std::size_t kMaxChunks = std::size_t{1} << 21;  // 1 GiB of address space, touched as needed
  struct alignas(512) Chunk {
    std::uint64_t events[kChunkEvents];
    Chunk* next;
  };
  struct Far {
    Time time;
    std::uint32_t id;
  };

  static std::uint64_t offset(Time time) { return time & ((Time{1} << kBucketBits) - 1); }
  static std::uint64_t key(std::uint64_t at, std::uint32_t id) { return at << 32 | id; }
  static Chunk* chunk_of(std::uint64_t* event) {
    return reinterpret_cast<Chunk*>(reinterpret_cast<std::uintptr_t>(event) & ~std::uintptr_t{sizeof(Chunk) - 1});
  }

  // Into the current bucket, or beyond the wheel.
  [[gnu::noinline]] void push_elsewhere(Time time, std::uint32_t id) {
    const std::uint64_t bucket = time >> kBucketBits;
    if (bucket > bucket_) return far_.push_back({time, id});
    insert_current(bucket < bucket_ ? 0 : offset(time), id);
  }

  void insert_current(std::uint64_t at, std::uint32_t id) {
    // Nothing may go before an event that was already taken: the caller's clock stands at or after it.
    if (end_ + 1 + kAhead > current_.size()) current_.resize(2 * current_.size());
    std::uint32_t i = end_++;
    current_[end_ + kAhead - 1] = kNil;
    while (i > next_ && (current_[i - 1] >> 32) > at) {
      current_[i] = current_[i - 1];
      --i;
    }
    current_[i] = key(at, id);
  }
  // Behind the last event stand as many that are none, so that ahead() needs no look at the end.
  void seal() {
    for (std::uint32_t i = 0; i < kAhead; ++i) current_[end_ + i] = kNil;
  }

  // tail_: where a bucket's next event goes, null while it is empty. A full chunk's tail points at its `next`.
  void append(std::uint64_t slot, std::uint64_t event) {
    std::uint64_t* at = tail_[slot];
    if (__builtin_expect((reinterpret_cast<std::uintptr_t>(at) + sizeof(Chunk*)) % sizeof(Chunk) == 0 || !at, 0)) at = extend(slot);
    *at = event;
    tail_[slot] = at + 1;
  }

  [[gnu::noinline]] std::uint64_t* extend(std::uint64_t slot) {
    Chunk* fresh = free_;
    if (fresh)
      free_ = fresh->next;
    else if (used_ == kMaxChunks)
      throw EngineFault("more than 130 million events are pending");
    else
      fresh = &chunks_[used_++];
    (tail_[slot] ? chunk_of(tail_[slot])->next : head_[slot]) = fresh;
    return fresh->events;
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

  template <class Visit>
  static void each_chunk(Chunk* first, const std::uint64_t* tail, Visit visit) {
    for (Chunk* c = first;; c = c->next) {
      const std::size_t left = static_cast<std::size_t>(tail - c->events);
      const bool last = left <= kChunkEvents && tail >= c->events;
      visit(c->events, last ? left : kChunkEvents);
      if (last) return;
    }
  }

  void load(std::uint64_t slot) {
    Chunk* first = head_[slot];
    const std::uint64_t* tail = tail_[slot];
    tail_[slot] = nullptr;
    std::size_t n = 0;
    each_chunk(first, tail, [&](const std::uint64_t*, std::size_t count) { n += count; });
    if (n + 2 * kAhead > current_.size()) current_.resize(2 * n + 2 * kAhead);
    next_ = 0;
    end_ = static_cast<std::uint32_t>(n);
    if (n > 512)
      distribute<1024>(first, tail);
    else if (n > 24)
      distribute<256>(first, tail);
    else
      each_chunk(first, tail, [&, to = current_.data()](const std::uint64_t* events, std::size_t count) mutable {
        std::memcpy(to, events, count * sizeof(std::uint64_t));
        to += count;
      });
    std::uint64_t* const event = current_.data();
    for (std::size_t i = 1; i < n; ++i) {
      const std::uint64_t moving = event[i];
      std::size_t j = i;
      for (; j && (event[j - 1] >> 32) > (moving >> 32); --j) event[j] = event[j - 1];
      event[j] = moving;
    }
    seal();
    Chunk* last = chunk_of(const_cast<std::uint64_t*>(tail));
    last->next = free_;
    free_ = first;
  }

  // Stable: by the high bits of the time within the bucket.
  template <std::uint32_t kBins>
  void distribute(Chunk* first, const std::uint64_t* tail) {
    constexpr int shift = 32 + kBucketBits - std::countr_zero(kBins);
    std::uint32_t start[kBins + 1] = {};
    each_chunk(first, tail, [&](const std::uint64_t* events, std::size_t count) {
      for (std::size_t i = 0; i < count; ++i) ++start[(events[i] >> shift) + 1];
    });
    for (std::uint32_t bin = 0; bin < kBins; ++bin) start[bin + 1] += start[bin];
    std::uint64_t* const to = current_.data();
    each_chunk(first, tail, [&](const std::uint64_t* events, std::size_t count) {
      for (std::size_t i = 0; i < count; ++i) to[start[events[i] >> shift]++] = events[i];
    });
  }

  FlatArray<Chunk> chunks_;
  FlatArray<Chunk*> head_;
  FlatArray<std::uint64_t*> tail_;
  std::vector<std::uint64_t> current_;
  std::vector<Far> far_;
  std::uint64_t bucket_ = 0, pending_ = 0;
  Chunk* free_ = nullptr;
  std::uint32_t used_ = 0, next_ = 0, end_ = 0;
};

}  // namespace flitwatch::sim::packet
