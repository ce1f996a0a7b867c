// Random numbers that a seed reproduces on every machine, with one independent stream per replica.
#pragma once

#include <cstdint>
#include <span>
#include <utility>

namespace flitwatch::sim {

// The finaliser of SplitMix64 (Steele et al. 2014): a bijection that separates similar inputs.
inline std::uint64_t mix64(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

// xoshiro256++ (Blackman and Vigna 2019), seeded from (seed, stream).
class Random {
 public:
  Random(std::uint64_t seed, std::uint64_t stream) {
    std::uint64_t x = mix64(seed) ^ mix64(~stream);
    for (auto& word : state_) word = x = mix64(x);
  }

  std::uint64_t next() {
    const std::uint64_t result = rotate(state_[0] + state_[3], 23) + state_[0];
    const std::uint64_t t = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= t;
    state_[3] = rotate(state_[3], 45);
    return result;
  }

  // Uniform in [0, bound), bound > 0, without bias (Lemire 2019).
  std::uint32_t below(std::uint32_t bound) {
    std::uint64_t product = (next() >> 32) * bound;
    if (static_cast<std::uint32_t>(product) < bound) {
      const std::uint32_t threshold = -bound % bound;
      while (static_cast<std::uint32_t>(product) < threshold) product = (next() >> 32) * bound;
    }
    return static_cast<std::uint32_t>(product >> 32);
  }

  // Three at once: uniform below bound, bound - 1 and bound - 2, for 3 <= bound <= 65536.
  void below3(std::uint32_t bound, std::uint32_t (&out)[3]) {
    const std::uint64_t product = std::uint64_t{bound} * (bound - 1) * (bound - 2);
    std::uint64_t rest = split(bound, out);
    if (rest < product) {
      const std::uint64_t threshold = -product % product;
      while (rest < threshold) rest = split(bound, out);
    }
  }

 private:
  std::uint64_t split(std::uint32_t bound, std::uint32_t (&out)[3]) {
    std::uint64_t rest = next();
    for (std::uint32_t step = 0; step < 3; ++step) {
      const auto wide = static_cast<unsigned __int128>(rest) * (bound - step);
      out[step] = static_cast<std::uint32_t>(wide >> 64);
      rest = static_cast<std::uint64_t>(wide);
    }
    return rest;
  }
  static std::uint64_t rotate(std::uint64_t x, int by) { return (x << by) | (x >> (64 - by)); }
  std::uint64_t state_[4];
};

// Shuffles uniformly (Fisher and Yates, Durstenfeld's form). Three steps share one draw, without bias as long as the
// product of their bounds is far below 2^64 (Brackett-Rozinsky and Lemire 2024).
inline void shuffle(std::span<std::uint32_t> items, Random& random) {
  auto i = static_cast<std::uint32_t>(items.size());
  for (; i > 65536; --i) std::swap(items[i - 1], items[random.below(i)]);
  for (; i > 3; i -= 3) {
    std::uint32_t at[3];
    random.below3(i, at);
    for (std::uint32_t step = 0; step < 3; ++step) std::swap(items[i - 1 - step], items[at[step]]);
  }
  for (; i > 1; --i) std::swap(items[i - 1], items[random.below(i)]);
}

}  // namespace flitwatch::sim
