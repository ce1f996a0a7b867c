// Marking of a packet by senders and switches (Taffet 2021, algorithms 1, 2, 4 and 5).
#pragma once

#include <cstdint>

#include "sampling/hash.h"

namespace flitwatch::sampling {

inline constexpr std::uint8_t kMaxHops = 16;  // four bits contain hops - 1; longer paths saturate

// Standard and one-bit variant together: a packet carries either `link` or `bit`.
struct Mark {
  std::uint32_t link = 0;
  std::uint8_t hops = 0;
  bool bit = false, congested = false;
};

inline Mark begin(std::uint32_t id, std::uint32_t link, std::uint32_t mask, bool congested) {
  return {link, 1, hash_masked(id, mask), congested};
}

// `random` is uniform over 32 bits: the link replaces the sampled one with probability 1 / (hops + 1).
inline void forward(Mark& mark, std::uint32_t random, std::uint32_t id, std::uint32_t link, std::uint32_t mask,
                    bool congested) {
  const std::uint32_t draw = static_cast<std::uint32_t>((std::uint64_t{random} * (mark.hops + 1u)) >> 32);
  if (draw == 0) {
    mark.link = link;
    mark.bit = hash_masked(id, mask);
    mark.congested = congested;
  }
  if (mark.hops < kMaxHops) ++mark.hops;
}

}  // namespace flitwatch::sampling
