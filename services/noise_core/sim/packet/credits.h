// Byte credits of virtual channels with lazy updates: a returning credit is a record with the time when it becomes
// known, not an event.
#pragma once

#include <unordered_map>
#include <vector>

#include "sim/packet/fabric_state.h"

namespace flitwatch::sim::packet {

// One (port, VC) at its sender, with the queue of packets that wait for it and its counters. The memory used per hop
// determines the engine's speed, so with three records in place a channel is one cache line.
template <std::uint32_t InPlace>
struct alignas(64) Channel {
  static constexpr std::uint32_t kInPlace = InPlace;
  std::int32_t credit;           // bytes known to be free at the receiver
  std::uint32_t head, tail;      // waiting packets
  std::uint32_t spill;           // list of further, later records; or kNil
  std::uint16_t records, wakes;  // credit records in place; pending wake events
  NarrowCounters in;             // counted at the receiving end
  std::uint32_t unused;
  std::uint64_t record[InPlace];  // (time << 16 | bytes), ascending
};
static_assert(sizeof(Channel<3>) == 64 && sizeof(Channel<11>) == 128);

template <class Channel>
class CreditStore {
 public:
  static std::uint64_t record(Time time, std::uint32_t bytes) { return time << 16 | bytes; }
  static Time time_of(std::uint64_t record) { return record >> 16; }
  static std::int32_t bytes_of(std::uint64_t record) { return static_cast<std::int32_t>(record & 0xFFFF); }

  // Adds all credits known at `until` to the balance.
  void fold(Channel& c, Time until) {
    for (;;) {
      const std::uint32_t n = c.records, k = Channel::kInPlace == 3 ? fold_three(c, until) : fold_many(c, until);
      c.records = static_cast<std::uint16_t>(n - k);
      if (__builtin_expect(c.spill == kNil, 1) || !k) return;
      refill(c);
    }
  }

  // Reserves `size` bytes for a packet that starts at `start`, given that the link is free at `base` <= start. Returns
  // whether that is possible. Otherwise, `wake` is the time when enough credit will be known, or 0 if no known record
  // suffices. An idle gap is never reserved for a known future credit, because an earlier one can become known
  // meanwhile. If no code reads the balance (`known`), credits are added only when needed.
  template <bool kBalanceIsRead>
  bool take(Channel& c, std::int32_t size, Time base, Time start, Time& wake) {
    if (kBalanceIsRead || c.credit < size) fold(c, base);
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
    if (__builtin_expect(c.records == Channel::kInPlace, 0)) {
      fold(c, now);
      if (c.records == Channel::kInPlace) return spill(c, r);
    }
    std::uint32_t i = c.records++;
    for (; i && c.record[i - 1] > r; --i) c.record[i] = c.record[i - 1];
    c.record[i] = r;
  }

  // Prefetches the list of a channel that has one, and soon after (kSoon) the end of it, where a record will be added.
  template <bool kSoon>
  void prefetch(const Channel& c) const {
    if (__builtin_expect(c.spill == kNil, 1)) return;
    const Spilled& s = spilled_[c.spill];
    fetch(kSoon ? static_cast<const void*>(s.records.data() + s.records.size()) : &s);
  }

  // Returns the bytes known to be free at `now`, without any change.
  std::int32_t known(const Channel& c, Time now) const {
    std::int32_t bytes = c.credit;
    for (std::uint32_t k = 0; k < c.records; ++k) {
      if (time_of(c.record[k]) > now) return bytes;
      bytes += bytes_of(c.record[k]);
    }
    if (__builtin_expect(c.spill != kNil, 0)) {
      const Spilled& s = spilled_[c.spill];
      for (std::size_t k = s.begin; k < s.records.size() && time_of(s.records[k]) <= now; ++k)
        bytes += bytes_of(s.records[k]);
    }
    return bytes;
  }
  // Returns all bytes, known or returning.
  std::int64_t total(const Channel& c) const { return known(c, kNever); }

 private:
  struct Spilled {  // ascending from `begin`
    std::vector<std::uint64_t> records;
    std::size_t begin = 0;
  };

  // Remove the known records in place and return their number. Three are compared without a branch, because the number
  // of credits returned since the last packet is unpredictable.
  static std::uint32_t fold_three(Channel& c, Time until) {
    const std::uint64_t one = c.record[0], two = c.record[1], three = c.record[2];
    const std::uint32_t n = c.records, known_one = (n > 0) & (time_of(one) <= until),
                        known_two = (n > 1) & (time_of(two) <= until),
                        known_three = (n > 2) & (time_of(three) <= until), k = known_one + known_two + known_three;
    c.credit += (known_one ? bytes_of(one) : 0) + (known_two ? bytes_of(two) : 0) + (known_three ? bytes_of(three) : 0);
    c.record[0] = k == 0 ? one : k == 1 ? two : three;
    c.record[1] = k == 0 ? two : three;
    return k;
  }
  static std::uint32_t fold_many(Channel& c, Time until) {
    const std::uint32_t n = c.records;
    std::uint32_t k = 0;
    while (k < n && time_of(c.record[k]) <= until) c.credit += bytes_of(c.record[k++]);
    if (k)
      for (std::uint32_t i = k; i < n; ++i) c.record[i - k] = c.record[i];
    return k;
  }

  Time when_enough(const Channel& c, std::int32_t size) const {
    std::int32_t bytes = c.credit;
    for (std::uint32_t k = 0; k < c.records; ++k)
      if ((bytes += bytes_of(c.record[k])) >= size) return time_of(c.record[k]);
    if (c.spill != kNil) {
      const Spilled& s = spilled_[c.spill];
      for (std::size_t k = s.begin; k < s.records.size(); ++k)
        if ((bytes += bytes_of(s.records[k])) >= size) return time_of(s.records[k]);
    }
    return kNever;
  }

  // Credits return almost in order, so the position of a record is searched from the end.
  void spill(Channel& c, std::uint64_t r) {
    if (r < c.record[Channel::kInPlace - 1]) {
      std::swap(r, c.record[Channel::kInPlace - 1]);
      for (std::uint32_t i = Channel::kInPlace - 1; i && c.record[i - 1] > c.record[i]; --i)
        std::swap(c.record[i - 1], c.record[i]);
    }
    if (c.spill == kNil) {
      if (free_.empty()) {
        free_.push_back(static_cast<std::uint32_t>(spilled_.size()));
        spilled_.emplace_back();
      }
      c.spill = free_.back();
      free_.pop_back();
    }
    Spilled& s = spilled_[c.spill];
    if (s.begin >= 32 && 2 * s.begin >= s.records.size()) {  // remove used records once they are the greater part
      s.records.erase(s.records.begin(), s.records.begin() + static_cast<std::ptrdiff_t>(s.begin));
      s.begin = 0;
    }
    s.records.push_back(r);
    for (std::size_t i = s.records.size() - 1; i > s.begin && s.records[i - 1] > s.records[i]; --i)
      std::swap(s.records[i - 1], s.records[i]);
  }

  void refill(Channel& c) {
    Spilled& s = spilled_[c.spill];
    while (s.begin < s.records.size() && c.records < Channel::kInPlace) c.record[c.records++] = s.records[s.begin++];
    if (s.begin < s.records.size()) return;
    s.records.clear();
    s.begin = 0;
    free_.push_back(c.spill);
    c.spill = kNil;
  }

  std::vector<Spilled> spilled_;
  std::vector<std::uint32_t> free_;
};

}  // namespace flitwatch::sim::packet
