#include "codec/sums.h"

#include <algorithm>

namespace flitwatch::codec {

std::size_t RowSums::row(const Key& key) {
  const auto [found, added] = index_.try_emplace(key, keys_.size());
  if (added) {
    keys_.push_back(key);
    values_.resize(values_.size() + columns_, 0);
    known_.resize(known_.size() + columns_, 0);
    samples_.push_back(0);
    time_us_.push_back(0);
  }
  return found->second;
}

void RowSums::clear() {
  index_.clear();
  keys_.clear();
  values_.clear();
  known_.clear();
  samples_.clear();
  time_us_.clear();
}

void RowSums::drop_through(std::int64_t bucket_s) {
  std::size_t kept = 0;
  for (std::size_t r = 0; r < keys_.size(); ++r) {
    if (keys_[r].bucket_s <= bucket_s) continue;
    if (kept != r) {
      keys_[kept] = keys_[r];
      std::copy_n(values_.begin() + static_cast<std::ptrdiff_t>(r * columns_), columns_,
                  values_.begin() + static_cast<std::ptrdiff_t>(kept * columns_));
      std::copy_n(known_.begin() + static_cast<std::ptrdiff_t>(r * columns_), columns_,
                  known_.begin() + static_cast<std::ptrdiff_t>(kept * columns_));
      samples_[kept] = samples_[r];
      time_us_[kept] = time_us_[r];
    }
    ++kept;
  }
  keys_.resize(kept);
  values_.resize(kept * columns_);
  known_.resize(kept * columns_);
  samples_.resize(kept);
  time_us_.resize(kept);
  index_.clear();
  for (std::size_t r = 0; r < kept; ++r) index_.emplace(keys_[r], r);
}

}  // namespace flitwatch::codec
