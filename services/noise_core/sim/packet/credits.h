// Byte credits of virtual channels, folded in lazily: a credit on its way back is a record with the time at which it will be
// known, not an event.
#pragma once

#include <vector>

#include "sim/packet/fabric_state.h"

namespace flitwatch::sim::packet {

// One (port, VC) as its sender sees it, with the queue of packets that wait for it. Two cache lines.
struct alignas(128) Channel {
  static constexpr std::uint32_t kRing = 8;
  std::int32_t credit;               // bytes known to be free at the receiver
  std::uint32_t head, tail;          // waiting packets
  std::uint16_t ring_size, wakes;    // credit records in the ring; wake events under way
  Time wake_time;
  std::uint32_t spill;               // records that did not fit, later than those of the ring; index or kNil
  std::uint32_t unused;
  ChannelCounters in;                // counted at the receiving end
  std::uint64_t ring[kRing];         // (time << 16 | bytes), ascending
};
static_assert(sizeof(Channel) == 128);

class CreditStore {
 public:
  static std::uint64_t record(Time time, std::uint32_t bytes) { return time << 16 | bytes; }
  static Time time_of(std::uint64_t record) { return record >> 16; }
  static std::int32_t bytes_of(std::uint64_t record) { return static_cast<std::int32_t>(record & 0xFFFF); }

  // Adds all credits known at `until` to the balance.
  void fold(Channel& c, Time until) {
    do {
      const std::uint32_t n = c.ring_size;
      std::uint32_t k = 0;
      while (k < n && time_of(c.ring[k]) <= until) c.credit += bytes_of(c.ring[k++]);
      if (!k) return;
      for (std::uint32_t i = k; i < n; ++i) c.ring[i - k] = c.ring[i];
      c.ring_size = static_cast<std::uint16_t>(n - k);
      if (__builtin_expect(c.spill == kNil, 1)) return;
      refill(c);
    } while (true);
  }

  // Reserves `size` bytes for a packet that starts at `start`, given that the link is free at `base` <= start. Returns whether that is
  // possible; otherwise `wake` is the time at which enough credit will be known, or 0 where no known record suffices. An idle gap is never
  // reserved for a known future credit: an earlier one may become known meanwhile.
  bool take(Channel& c, std::int32_t size, Time base, Time start, Time& wake) {
    fold(c, base);
    if (c.credit < size) {
      const Time enough = when_enough(c, size);
      if (enough > start) {
        wake = enough == kNever ? 0 : enough;
        return false;
      }
      fold(c, enough);
    }
    c.credit -= size;
    return true;
  }

  void give_back(Channel& c, Time now, Time when, std::uint32_t bytes) {
    const std::uint64_t r = record(when, bytes);
    if (__builtin_expect(c.ring_size == Channel::kRing, 0)) {
      fold(c, now);
      if (c.ring_size == Channel::kRing) return spill(c, r);
    }
    insert(c, r);
  }

  // Bytes known to be free at `now`, without changing anything.
  static std::int32_t known(const Channel& c, Time now) {
    std::int32_t bytes = c.credit;
    for (std::uint32_t k = 0; k < c.ring_size && time_of(c.ring[k]) <= now; ++k) bytes += bytes_of(c.ring[k]);
    return bytes;
  }
  // All bytes, known or on their way.
  std::int64_t total(const Channel& c) const {
    std::int64_t bytes = c.credit;
    for (std::uint32_t k = 0; k < c.ring_size; ++k) bytes += bytes_of(c.ring[k]);
    for (std::uint32_t s = c.spill; s != kNil; s = spilled_[s].next) bytes += bytes_of(spilled_[s].record);
    return bytes;
  }

 private:
  struct Spilled {
    std::uint64_t record;
    std::uint32_t next;
  };

  static void insert(Channel& c, std::uint64_t r) {
    std::uint32_t i = c.ring_size++;
    for (; i && c.ring[i - 1] > r; --i) c.ring[i] = c.ring[i - 1];
    c.ring[i] = r;
  }

  Time when_enough(const Channel& c, std::int32_t size) const {
    std::int32_t bytes = c.credit;
    for (std::uint32_t k = 0; k < c.ring_size; ++k)
      if ((bytes += bytes_of(c.ring[k])) >= size) return time_of(c.ring[k]);
    for (std::uint32_t s = c.spill; s != kNil; s = spilled_[s].next)
      if ((bytes += bytes_of(spilled_[s].record)) >= size) return time_of(spilled_[s].record);
    return kNever;
  }

  void spill(Channel& c, std::uint64_t r) {
    if (r < c.ring[Channel::kRing - 1]) {
      std::swap(r, c.ring[Channel::kRing - 1]);
      for (std::uint32_t i = Channel::kRing - 1; i && c.ring[i - 1] > c.ring[i]; --i) std::swap(c.ring[i - 1], c.ring[i]);
    }
    std::uint32_t fresh = free_;
    if (fresh != kNil)
      free_ = spilled_[fresh].next;
    else {
      fresh = static_cast<std::uint32_t>(spilled_.size());
      spilled_.push_back({});
    }
    std::uint32_t before = kNil, after = c.spill;
    while (after != kNil && spilled_[after].record <= r) {
      before = after;
      after = spilled_[after].next;
    }
    spilled_[fresh] = {r, after};
    (before == kNil ? c.spill : spilled_[before].next) = fresh;
  }

  void refill(Channel& c) {
    while (c.spill != kNil && c.ring_size < Channel::kRing) {
      const std::uint32_t s = c.spill;
      c.ring[c.ring_size++] = spilled_[s].record;
      c.spill = spilled_[s].next;
      spilled_[s].next = free_;
      free_ = s;
    }
  }

  std::vector<Spilled> spilled_;
  std::uint32_t free_ = kNil;
};

}  // namespace flitwatch::sim::packet
