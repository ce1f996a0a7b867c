// Parses numbers from text, eight digits at a time, and from Avro's variable-length encoding.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#if defined(__BMI2__)
#include <immintrin.h>
#endif

namespace flitwatch::codec {

static_assert(std::endian::native == std::endian::little, "the codec reads eight bytes as one little-endian number");

inline std::uint64_t load64(const char* p) {
  std::uint64_t word;
  std::memcpy(&word, p, 8);
  return word;
}

// Returns how many of the eight characters are digits, before the first non-digit.
inline int leading_digits(std::uint64_t word) {
  const std::uint64_t low = word ^ 0x3030303030303030u;  // digits become 0 to 9
  const std::uint64_t not_digit = ((low + 0x7676767676767676u) | low) & 0x8080808080808080u;
  return not_digit == 0 ? 8 : std::countr_zero(not_digit) / 8;
}

// Returns the value of eight digit characters (Lemire and Muła's multiply-and-shift).
inline std::uint64_t eight_digits(std::uint64_t word) {
  word -= 0x3030303030303030u;
  word = word * 10 + (word >> 8);
  return (((word & 0x000000FF000000FFu) * 0x000F424000000064u) +
          (((word >> 16) & 0x000000FF000000FFu) * 0x0000271000000001u)) >>
         32;
}

inline constexpr std::uint64_t kPowersOf10[] = {1, 10, 100, 1'000, 10'000, 100'000, 1'000'000, 10'000'000, 100'000'000};

// Reads digits, sets `digits` to their number and returns their end. The value wraps beyond 64 bits and sets
// `overflow`.
inline const char* read_digits(const char* p, const char* end, std::uint64_t& value, int& digits, bool& overflow) {
  const char* const begin = p;
  std::uint64_t sum = 0;
  while (end - p >= 8) {
    const std::uint64_t word = load64(p);
    const int n = leading_digits(word);
    if (n < 8) {
      // Shift the digits to the end and fill up with zeros.
      if (n > 0) {
        const std::uint64_t padded = (word << (64 - 8 * n)) | (0x3030303030303030u >> (8 * n));
        const __uint128_t wide = static_cast<__uint128_t>(sum) * kPowersOf10[n] + eight_digits(padded);
        overflow |= (wide >> 64) != 0;
        sum = static_cast<std::uint64_t>(wide);
        p += n;
      }
      value = sum;
      digits = static_cast<int>(p - begin);
      return p;
    }
    const __uint128_t wide = static_cast<__uint128_t>(sum) * 100'000'000u + eight_digits(word);
    overflow |= (wide >> 64) != 0;
    sum = static_cast<std::uint64_t>(wide);
    p += 8;
    if (p - begin > 64) break;  // far too long, and an overflow in any case
  }
  for (; p < end && *p >= '0' && *p <= '9'; ++p) {
    const __uint128_t wide = static_cast<__uint128_t>(sum) * 10 + static_cast<unsigned>(*p - '0');
    overflow |= (wide >> 64) != 0;
    sum = static_cast<std::uint64_t>(wide);
  }
  value = sum;
  digits = static_cast<int>(p - begin);
  return p;
}

inline std::uint64_t unzigzag(std::uint64_t word) { return (word >> 1) ^ (~(word & 1) + 1); }

// Reads one varint byte by byte. Returns nullptr if the bytes end or there are more than ten.
inline const char* read_varint_checked(const char* p, const char* end, std::uint64_t& value) {
  std::uint64_t word = 0;
  for (int shift = 0; shift < 70 && p < end; shift += 7) {
    const auto byte = static_cast<unsigned char>(*p++);
    word |= static_cast<std::uint64_t>(byte & 0x7F) << (shift & 63);
    if (byte < 0x80) {
      if (shift == 63 && byte > 1) return nullptr;
      value = word;
      return p;
    }
  }
  return nullptr;
}

// The same if at least ten bytes are readable.
inline const char* read_varint_wide(const char* p, std::uint64_t& value) {
#if defined(__BMI2__)
  const std::uint64_t word = load64(p);
  const std::uint64_t stop = ~word & 0x8080808080808080u;
  if (stop != 0) [[likely]] {
    const std::uint64_t mask = stop ^ (stop - 1);
    value = _pext_u64(word & mask, 0x7F7F7F7F7F7F7F7Fu);
    return p + std::popcount(mask) / 8;
  }
#endif
  return read_varint_checked(p, p + 10, value);
}

}  // namespace flitwatch::codec
