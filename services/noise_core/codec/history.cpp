#include "codec/history.h"

#include <algorithm>
#include <cstring>

namespace flitwatch::codec {

int History::place(std::int64_t time_us) const {
  int i = size_;
  while (i > first_ && samples_[static_cast<std::size_t>(i - 1)].time_us >= time_us) --i;
  return i;
}

std::uint64_t* History::insert(int at, std::int64_t time_us, std::int64_t offset, std::int32_t partition) {
  if (!values_)
    values_ = std::make_unique_for_overwrite<std::uint64_t[]>(static_cast<std::size_t>(width_) * (kKept + 1));
  std::uint32_t used = 0;
  for (int i = first_; i < size_; ++i) used |= 1u << samples_[static_cast<std::size_t>(i)].slot;
  std::uint8_t slot = 0;
  while (used >> slot & 1) ++slot;
  std::copy_backward(samples_.begin() + at, samples_.begin() + size_, samples_.begin() + size_ + 1);
  ++size_;
  Sample& sample = samples_[static_cast<std::size_t>(at)];
  sample = Sample{};
  sample.time_us = time_us;
  sample.offset = offset;
  sample.partition = partition;
  sample.slot = slot;
  return values_.get() + static_cast<std::size_t>(width_) * slot;
}

int History::trim() {
  if (size_ - first_ > kKept) ++first_;
  const int gone = std::max(0, first_ - kOlder);
  if (gone > 0) {
    std::copy(samples_.begin() + gone, samples_.begin() + size_, samples_.begin());
    size_ = static_cast<std::uint8_t>(size_ - gone);
    first_ = static_cast<std::uint8_t>(first_ - gone);
  }
  return gone;
}

void History::park() {
  if (size_ == 0) return;
  samples_[0] = samples_[static_cast<std::size_t>(size_ - 1)];
  parked_ = parked_ || size_ > 1;
  size_ = 1;
  first_ = 0;
}

std::int64_t History::usual_interval_us(int i) const {
  std::int64_t least = 0;
  for (int k = i - 1; k >= 1 && k > i - 1 - kOlder; --k) {
    const std::int64_t interval =
        samples_[static_cast<std::size_t>(k)].time_us - samples_[static_cast<std::size_t>(k - 1)].time_us;
    least = least == 0 ? interval : std::min(least, interval);
  }
  return least;
}

}  // namespace flitwatch::codec
