// H_GF (Taffet 2021, section 2.5.2): the top bit of id * d * g in GF(2^32).
//
// The source does not state the polynomial; this one is that of CRC-32 (x^32 + x^26 + x^23 + x^22 + x^16 + x^12 + x^11
// + x^10 + x^8 + x^7 + x^5 + x^4 + x^2 + x + 1, primitive). IP packet ids have 16 bits and are zero-extended. With the
// default g, the two theorems still hold for all links numbered below 2^16. Other primitive polynomials, such as x^32 +
// x^22 + x^2 + x + 1, lose one dimension there.
#pragma once

#include <cstdint>

namespace flitwatch::sampling {

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

}  // namespace flitwatch::sampling
