// Mapping from counters to columns, compiled once so that a record's deltas are summed in runs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

namespace flitwatch::codec {

// Additive rows in memory: exact integer sums by (fabric, device, bucket), until a batch writes them.

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

inline constexpr int kRouterColumns = 19, kEndpointColumns = 12, kLinkClasses = 3, kPortArrays = 3, kNics = 4;
// Lanes of a port (virtual or by class), and their arrays: data by service level, stall cycles, packets.
inline constexpr int kLanes = 16, kLaneArrays = 3;
// A set's own endpoint, after the NICs of its router.
inline constexpr int kOwnEndpoint = kNics, kEndpointPlaces = kNics + 1;

// Port of an instance that counts one port of a switch.
inline constexpr std::int16_t kOwnPort = -2;

// Destinations of a group of counters; -1: none.
struct Cell {
  std::int16_t port = -1;                          // a tile or port, or kOwnPort
  std::int8_t array = -1;                          // array of the port: 0 flits, 1 stall cycles, 2 packets
  std::array<std::int8_t, 3> columns{-1, -1, -1};  // columns of the router
  std::int8_t class_part = -1;                     // part of the port's link class: 0 flits, 1 stall cycles
  std::int8_t place = -1;                          // endpoint: a NIC of the router, or kOwnEndpoint
  std::int8_t endpoint_column = -1;
  std::int32_t scale = 1;       // factor of the endpoint column
  std::int32_t port_scale = 1;  // factor of the router's columns, the port's arrays and the lanes
  // For a stall time, its unit in nanoseconds or device ticks; 0 if the count is not a time. It is stored as the data
  // that the port could have sent in that time, which requires the port's rate.
  std::int32_t stall_ns = 0;
  // Tiles represented by a counter without a port. Below 0: another set counts the time of its port or endpoint.
  std::int16_t tiles = 0;
  std::int8_t lane = -1, lane_array = -1;  // of the instance's own port or endpoint
  // Value at which the device's counter saturates. The count between two samples is unknown if one of them has this
  // value.
  std::uint64_t ceiling = ~std::uint64_t{0};
};

// A plan's counters by cell, before the claims of an instance are known.
struct Chart {
  std::vector<Cell> cells;
  std::vector<std::int32_t> cell_of;  // a counter's cell; -1: no column
  std::vector<std::uint32_t>
      claim_of;  // a counter's name as a number: two instances of a device must not count the same counter
};

class Tally {
 public:
  // Uses the counters whose `mine` is true (empty: all).
  Tally(const Chart& chart, const std::vector<bool>& mine);

  bool empty() const { return runs_.empty(); }
  const std::vector<Cell>& cells() const { return *cells_; }
  // Cells with at least one counter.
  const std::vector<std::uint16_t>& active() const { return active_; }
  int tiles() const { return tiles_; }
  int counted_ports() const { return counted_ports_; }
  bool adds_to_router() const { return tiles_ > 0 || lone_column_; }
  bool adds_to_ports() const { return counted_ports_ > 0 || lone_array_; }
  bool adds_to_lanes() const { return !laned_.empty(); }
  // Cells that count a lane.
  const std::vector<std::uint16_t>& laned() const { return laned_; }
  // Whether this set counts the device's time. Among sets with one counter each, those of sent data count it.
  bool timed() const { return timed_; }
  // NICs of the router to which this tally adds, as bits.
  unsigned nics() const { return nics_; }
  // Sums deltas by cell. Only the active cells of `sums` are written.
  void sum(std::span<const std::uint64_t> deltas, std::int64_t* sums) const;
  // Sets, for every active cell, whether one of its counters was saturated before or after.
  void find_stopped(std::span<const std::uint64_t> before, std::span<const std::uint64_t> after,
                    std::uint8_t* stopped) const;

 private:
  struct Run {
    std::uint32_t first, count;
    std::uint32_t cell;
  };
  const std::vector<Cell>* cells_;
  std::vector<Run> runs_;
  std::vector<std::uint16_t> active_, laned_;
  int tiles_ = 0, counted_ports_ = 0;
  bool lone_column_ = false, lone_array_ = false, timed_ = false;
  unsigned nics_ = 0;
};

}  // namespace flitwatch::codec
