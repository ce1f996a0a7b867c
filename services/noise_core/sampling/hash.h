// H_GF (Taffet 2021, section 2.5.2): the top bit of id * d * g in GF(2^32).
//
// The polynomial is not stated there; ours is x^32 + x^22 + x^2 + x + 1 (primitive). Packet ids of 16 bits are zero-extended: the theorems hold
// for every non-zero d over all 2^32 ids, and over the 2^16 short ids for every d whose mask has a bit among the lower 16.
#pragma once

#include <cstdint>

namespace flitwatch::sampling {

inline constexpr std::uint32_t kPolynomial = 0x00400007;  // without x^32
inline constexpr std::uint32_t kDefaultG = 0xB5E4DC75;
inline constexpr std::uint32_t kOtherG = 0x127BE738;

constexpr std::uint32_t gf_times_x(std::uint32_t a) { return (a << 1) ^ ((a >> 31) ? kPolynomial : 0); }

constexpr std::uint32_t gf_multiply(std::uint32_t a, std::uint32_t b) {
  std::uint32_t product = 0;
  for (; b; b >>= 1, a = gf_times_x(a))
    if (b & 1) product ^= a;
  return product;
}

// Bit k is the top bit of g * d * x^k, so that H(id, d) is the parity of id & mask: what a switch computes once a port.
constexpr std::uint32_t mask_of(std::uint32_t d, std::uint32_t g = kDefaultG) {
  std::uint32_t value = gf_multiply(g, d), mask = 0;
  for (int k = 0; k < 32; ++k, value = gf_times_x(value)) mask |= (value >> 31) << k;
  return mask;
}

constexpr bool hash_masked(std::uint32_t id, std::uint32_t mask) { return __builtin_parity(id & mask); }
constexpr bool hash(std::uint32_t id, std::uint32_t d, std::uint32_t g = kDefaultG) { return hash_masked(id, mask_of(d, g)); }

}  // namespace flitwatch::sampling
