// Additive rows in memory: exact integer sums by (fabric, device, bucket), until a batch writes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

namespace flitwatch::codec {

struct Key {
  std::int32_t fabric;
  std::int32_t device;
  std::int64_t bucket_s;
  bool operator==(const Key&) const = default;
};

struct KeyHash {
  std::size_t operator()(const Key& key) const {
    std::uint64_t x = static_cast<std::uint64_t>(key.bucket_s) << 24 ^ static_cast<std::uint32_t>(key.device);
    x = (x ^ static_cast<std::uint64_t>(key.fabric) << 56) * 0x9E3779B97F4A7C15u;
    return x ^ x >> 29;
  }
};

// Rows of `columns` integer sums. A column is known once a value was added to it, even zero.
class RowSums {
 public:
  explicit RowSums(int columns) : columns_(static_cast<std::size_t>(columns)) {}

  // Returns the row of a key, creating it if necessary. Numbers stay valid until `clear`.
  std::size_t row(const Key& key);
  std::size_t size() const { return keys_.size(); }
  std::size_t columns() const { return columns_; }
  const std::vector<Key>& keys() const { return keys_; }
  std::int64_t* values(std::size_t row) { return values_.data() + row * columns_; }
  std::uint8_t* known(std::size_t row) { return known_.data() + row * columns_; }
  std::int32_t& samples(std::size_t row) { return samples_[row]; }
  std::int64_t& time_us(std::size_t row) { return time_us_[row]; }
  void clear();
  // Removes the rows with a bucket of at most `bucket_s`.
  void drop_through(std::int64_t bucket_s);

 private:
  std::size_t columns_;
  std::unordered_map<Key, std::size_t, KeyHash> index_;
  std::vector<Key> keys_;
  std::vector<std::int64_t> values_;
  std::vector<std::uint8_t> known_;
  std::vector<std::int32_t> samples_;
  std::vector<std::int64_t> time_us_;
};

}  // namespace flitwatch::codec
