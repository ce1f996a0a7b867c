// Marking of a packet by senders and switches (Taffet 2021, algorithms 1, 2, 4 and 5).
#pragma once

#include <cstdint>

namespace flitwatch::sampling {

// H_GF (Taffet 2021, section 2.5.2): the top bit of id * d * g in GF(2^32).
//
// The source does not state the polynomial; this one is that of CRC-32 (x^32 + x^26 + x^23 + x^22 + x^16 + x^12 + x^11
// + x^10 + x^8 + x^7 + x^5 + x^4 + x^2 + x + 1, primitive). IP packet ids have 16 bits and are zero-extended. With the
// default g, the two theorems still hold for all links numbered below 2^16. Other primitive polynomials, such as x^32 +
// x^22 + x^2 + x + 1, lose one dimension there.

inline constexpr std::uint32_t kPolynomial = 0x04C11DB7;  // without x^32
inline constexpr std::uint32_t kDefaultG = 0xB5E4DC75;
inline constexpr std::uint32_t kOtherG = 0x127BE738;

constexpr std::uint32_t gf_times_x(std::uint32_t a) { return (a << 1) ^ ((a >> 31) ? kPolynomial : 0); }

constexpr std::uint32_t gf_multiply(std::uint32_t a, std::uint32_t b) {
  std::uint32_t product = 0;
  for (; b; b >>= 1, a = gf_times_x(a))
    if (b & 1) product ^= a;
  return product;
}

// Bit k is the top bit of g * d * x^k, so H(id, d) is the parity of id & mask. A switch computes it once per port.
constexpr std::uint32_t mask_of(std::uint32_t d, std::uint32_t g = kDefaultG) {
  std::uint32_t value = gf_multiply(g, d), mask = 0;
  for (int k = 0; k < 32; ++k, value = gf_times_x(value)) mask |= (value >> 31) << k;
  return mask;
}

constexpr bool hash_masked(std::uint32_t id, std::uint32_t mask) { return __builtin_parity(id & mask); }
constexpr bool hash(std::uint32_t id, std::uint32_t d, std::uint32_t g = kDefaultG) {
  return hash_masked(id, mask_of(d, g));
}

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
