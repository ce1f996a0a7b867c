#include "sampling/receiver.h"

#include <cmath>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace flitwatch::sampling {

OneBitReceiver::OneBitReceiver(std::span<const std::uint32_t> links, std::uint32_t g)
    : links_(links.size()),
      padded_((links.size() + 15) / 16 * 16),
      low_(padded_),
      high_(padded_),
      traffic_now_(padded_),
      congested_now_(padded_),
      traffic_(padded_),
      congested_(padded_) {
  for (std::size_t i = 0; i < links_; ++i) {
    const std::uint32_t mask = mask_of(links[i], g);
    low_[i] = static_cast<std::uint16_t>(mask);
    high_[i] = static_cast<std::uint16_t>(mask >> 16);
  }
}

void OneBitReceiver::add_scalar(std::span<const Arrival> packets) {
  for (const Arrival& p : packets) {
    ++tested_;
    for (std::size_t i = 0; i < links_; ++i) {
      const std::uint32_t mask = low_[i] | std::uint32_t{high_[i]} << 16;
      const int delta = hash_masked(p.id, mask) == static_cast<bool>(p.bit) ? p.hops : -p.hops;
      traffic_[i] += delta;
      if (p.congested) congested_[i] += delta;
    }
  }
}

#if defined(__AVX2__)

// The parity of a 16-bit lane is that of one nibble after two folds; a byte shuffle turns the nibble into +hops or
// -hops.
template <bool kHigh>
void OneBitReceiver::add_one(const Arrival& p) {
  const auto plus = static_cast<char>(p.bit ? -p.hops : p.hops), minus = static_cast<char>(-plus);
  const __m256i by_nibble = _mm256_broadcastsi128_si256(_mm_setr_epi8(
      plus, minus, minus, plus, minus, plus, plus, minus, minus, plus, plus, minus, plus, minus, minus, plus));
  const __m256i id_low = _mm256_set1_epi16(static_cast<short>(p.id)),
                id_high = _mm256_set1_epi16(static_cast<short>(p.id >> 16));
  const __m256i nibble = _mm256_set1_epi16(0x000F);
  const auto load = [](const auto* at) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at)); };
  const auto add_to = [&](std::int16_t* sums, __m256i delta) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(sums), _mm256_add_epi16(load(sums), delta));
  };
  for (std::size_t i = 0; i < padded_; i += 16) {
    __m256i x = _mm256_and_si256(load(&low_[i]), id_low);
    if constexpr (kHigh) x = _mm256_xor_si256(x, _mm256_and_si256(load(&high_[i]), id_high));
    x = _mm256_xor_si256(x, _mm256_srli_epi16(x, 8));
    x = _mm256_xor_si256(x, _mm256_srli_epi16(x, 4));
    const __m256i byte =
        _mm256_shuffle_epi8(by_nibble, _mm256_and_si256(x, nibble));  // upper byte: entry 0, replaced by the sign
    const __m256i delta = _mm256_srai_epi16(_mm256_slli_epi16(byte, 8), 8);
    add_to(&traffic_now_[i], delta);
    if (p.congested) add_to(&congested_now_[i], delta);
  }
}

void OneBitReceiver::add(std::span<const Arrival> packets) {
  for (const Arrival& p : packets) {
    ++tested_;
    if (p.id >> 16)
      add_one<true>(p);
    else
      add_one<false>(p);
    if (++since_flush_ == kFlushAfter) flush();
  }
}

#else

void OneBitReceiver::add(std::span<const Arrival> packets) { add_scalar(packets); }

#endif

void OneBitReceiver::flush() {
  for (std::size_t i = 0; i < padded_; ++i) {
    traffic_[i] += traffic_now_[i];
    congested_[i] += congested_now_[i];
    traffic_now_[i] = congested_now_[i] = 0;
  }
  since_flush_ = 0;
}

std::vector<std::int64_t> OneBitReceiver::traffic() const {
  std::vector<std::int64_t> sums(traffic_.begin(), traffic_.begin() + static_cast<std::ptrdiff_t>(links_));
  for (std::size_t i = 0; i < links_; ++i) sums[i] += traffic_now_[i];
  return sums;
}

std::vector<std::int64_t> OneBitReceiver::congested() const {
  std::vector<std::int64_t> sums(congested_.begin(), congested_.begin() + static_cast<std::ptrdiff_t>(links_));
  for (std::size_t i = 0; i < links_; ++i) sums[i] += congested_now_[i];
  return sums;
}

double false_positive_threshold(std::uint32_t longest_path, double tested) {
  return longest_path * std::sqrt(tested) * 2.33;
}

}  // namespace flitwatch::sampling
