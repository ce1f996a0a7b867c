// The event queue: a calendar wheel of 16 ns buckets. A bucket is sorted when it becomes current (bins, then one
// insertion pass), so a push costs one store. Events of the same picosecond keep the order in which they were pushed.
#pragma once

#include <algorithm>
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

  // `id` belongs to the caller. A time before the current event counts as now.
  [[gnu::always_inline]] void push(Time time, std::uint32_t id) {
    ++pending_;
    const std::uint64_t bucket = time >> kBucketBits, distance = bucket - bucket_ - 1;
    if (__builtin_expect(distance >= kBuckets - 1, 0)) return push_elsewhere(time, id);
    append(bucket & (kBuckets - 1), key(offset(time), id));
  }

  // Makes the next events current. Returns false if none are pending. The next bucket is appended while events of the
  // current one remain, so that ahead() sees across the border.
  bool advance() {
    if (next_ == end_) {
      if (!pending_) return false;
      if (pending_ == far_.size()) skip_to_far();
      while (!turn()) continue;
      load(bucket_ & (kBuckets - 1));
    }
    if (current_[next_] >> kFarthest) {  // what is pushed into buckets at hand never starts a new count by itself
      end_ = compact();
      seal();
    }
    const std::uint64_t last = base_ + (current_[next_] >> (32 + kBucketBits)) + kBucketsAhead;
    while (end_ - next_ <= kAhead && bucket_ < last && pending_ > end_ - next_ + far_.size())
      if (turn()) load(bucket_ & (kBuckets - 1));
    until_ = end_ - next_ > kAhead ? end_ - kAhead : end_;
    return true;
  }

  // The current events, in order: valid after advance() returned true.
  bool has_next() const { return next_ < until_; }

  // The same only for events before `limit`; later calls may not use an earlier limit. The wheel never advances so far
  // that an event at `limit` could not be pushed any more.
  bool advance_before(Time limit) {
    floor_ = limit >> kBucketBits;
    if (next_ == end_ && !reach(limit)) {
      end_ = compact();
      seal();
      return false;
    }
    advance();
    const Time base = base_ << kBucketBits;
    limit_ = limit > base ? std::min<Time>(limit - base, kNil) << 32 : 0;
    return has_next_before();
  }
  bool has_next_before() const { return next_ < until_ && current_[next_] < limit_; }
  // No event is earlier. kNever if none is pending.
  Time earliest() const {
    if (next_ != end_) return (base_ << kBucketBits) + (current_[next_] >> 32);
    Time first = kNever;
    for (const Far& far : far_) first = std::min(first, far.time);
    if (pending_ == far_.size()) return first;
    std::uint64_t bucket = bucket_ + 1;
    while (!tail_[bucket & (kBuckets - 1)]) ++bucket;
    return std::min<Time>(first, bucket << kBucketBits);
  }
  // Returns the id of a coming event, or kNil if there is none in the loaded buckets.
  std::uint32_t ahead(std::uint32_t distance) const { return static_cast<std::uint32_t>(current_[next_ + distance]); }
  std::uint32_t pop(Time& now) {
    const std::uint64_t event = current_[next_++];
    --pending_;
    now = (base_ << kBucketBits) + (event >> 32);
    return static_cast<std::uint32_t>(event);
  }

 private:
  static constexpr std::uint32_t kChunkEvents = 63, kFirstRoom = 1 << 12;
  static constexpr int kFarthest = 62;  // bit of an event: the time counted reaches 1 ms
  static constexpr std::uint64_t kBucketsAhead =
      2;  // no more: an event pushed into a loaded bucket must be inserted at its position
  static constexpr std::size_t kMaxChunks = std::size_t{1} << 21;  // 1 GiB of address space, used on demand
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

  // Pushes into the current bucket, or beyond the wheel.
  [[gnu::noinline]] void push_elsewhere(Time time, std::uint32_t id) {
    const std::uint64_t bucket = time >> kBucketBits;
    if (bucket > bucket_) return far_.push_back({time, id});
    insert_current(bucket < base_ ? 0 : time - (base_ << kBucketBits), id);
  }

  void insert_current(std::uint64_t at, std::uint32_t id) {
    // Never insert before an event that was already taken: the caller's clock is at or after it.
    if (end_ + 1 + kAhead > current_.size()) current_.resize(2 * current_.size());
    std::uint32_t i = end_++;
    current_[end_ + kAhead - 1] = kNil;
    while (i > next_ && (current_[i - 1] >> 32) > at) {
      current_[i] = current_[i - 1];
      --i;
    }
    current_[i] = key(at, id);
  }
  // The last event is followed by this many empty ones, so that ahead() need not check the end.
  void seal() {
    for (std::uint32_t i = 0; i < kAhead; ++i) current_[end_ + i] = kNil;
  }

  // tail_: where a bucket's next event goes, null while it is empty. A full chunk's tail points at its `next`.
  void append(std::uint64_t slot, std::uint64_t event) {
    std::uint64_t* at = tail_[slot];
    if (__builtin_expect((reinterpret_cast<std::uintptr_t>(at) + sizeof(Chunk*)) % sizeof(Chunk) == 0 || !at, 0))
      at = extend(slot);
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

  // Returns whether the next bucket with events begins before `limit`. If so, it is the next one to load.
  bool reach(Time limit) {
    if (!pending_) return false;
    if (pending_ == far_.size()) {
      if (earliest() >= limit) return false;
      skip_to_far();
    }
    while ((bucket_ + 1) << kBucketBits < limit) {
      if (tail_[(bucket_ + 1) & (kBuckets - 1)]) return true;
      turn();
    }
    return false;
  }

  void skip_to_far() {  // the wheel is empty: jump to the earliest far event instead of passing through empty buckets
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

  // Advances to the next bucket. Returns false if it is empty.
  bool turn() {
    ++bucket_;
    if ((bucket_ & (kBuckets / 2 - 1)) == 0 && !far_.empty()) admit_far();
    return tail_[bucket_ & (kBuckets - 1)];
  }

  // The remaining current events move to the front. Their times count from the bucket of the first one, or of
  // `bucket_`, but never from a later one than events can be pushed into.
  std::uint32_t compact() {
    const std::uint32_t left = end_ - next_;
    const std::uint64_t base = std::min(left ? base_ + (current_[next_] >> (32 + kBucketBits)) : bucket_, floor_);
    const std::uint64_t passed = (base - base_) << (32 + kBucketBits);
    for (std::uint32_t i = 0; i < left; ++i) current_[i] = current_[next_ + i] - passed;
    base_ = base;
    next_ = 0;
    return left;
  }

  void load(std::uint64_t slot) {
    const std::uint32_t left = compact();
    const std::uint64_t later = (bucket_ - base_) << (32 + kBucketBits);
    Chunk* first = head_[slot];
    const std::uint64_t* tail = tail_[slot];
    tail_[slot] = nullptr;
    std::size_t n = 0;
    each_chunk(first, tail, [&](const std::uint64_t*, std::size_t count) { n += count; });
    if (left + n + 2 * kAhead > current_.size()) current_.resize(2 * (left + n + kAhead));
    end_ = left + static_cast<std::uint32_t>(n);
    std::uint64_t* const event = current_.data() + left;
    if (n > 512)
      distribute<1024>(first, tail, event, later);
    else if (n > 24)
      distribute<256>(first, tail, event, later);
    else
      each_chunk(first, tail, [to = event, later](const std::uint64_t* events, std::size_t count) mutable {
        for (std::size_t i = 0; i < count; ++i) *to++ = events[i] + later;
      });
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
  static void distribute(Chunk* first, const std::uint64_t* tail, std::uint64_t* to, std::uint64_t later) {
    constexpr int shift = 32 + kBucketBits - std::countr_zero(kBins);
    std::uint32_t start[kBins + 1] = {};
    each_chunk(first, tail, [&](const std::uint64_t* events, std::size_t count) {
      for (std::size_t i = 0; i < count; ++i) ++start[(events[i] >> shift) + 1];
    });
    for (std::uint32_t bin = 0; bin < kBins; ++bin) start[bin + 1] += start[bin];
    each_chunk(first, tail, [&](const std::uint64_t* events, std::size_t count) {
      for (std::size_t i = 0; i < count; ++i) to[start[events[i] >> shift]++] = events[i] + later;
    });
  }

  FlatArray<Chunk> chunks_;
  FlatArray<Chunk*> head_;
  FlatArray<std::uint64_t*> tail_;
  std::vector<std::uint64_t> current_;
  std::vector<Far> far_;
  std::uint64_t base_ = 0, bucket_ = 0,
                pending_ = 0;  // bucket from which the current events' times count; last loaded one
  Chunk* free_ = nullptr;
  std::uint32_t used_ = 0, next_ = 0, end_ = 0, until_ = 0;
  std::uint64_t limit_ = 0, floor_ = ~std::uint64_t{0};  // of advance_before(): as events count; its bucket
};

}  // namespace flitwatch::sim::packet
