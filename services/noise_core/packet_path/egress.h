// Output of a port: a FIFO served at the link's rate. Times are nanoseconds of one monotonic clock.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace flitwatch::packet_path {

struct Limits {
  double rate_bps = 0;                     // 0: as fast as the interface accepts frames
  std::size_t queue_bytes = 256 * 1024;    // frames that would exceed it are dropped
  std::size_t congested_bytes = 8 * 1024;  // a packet finds the link congested if this much is waiting
};

class Egress {
 public:
  explicit Egress(const Limits& limits) : limits_(limits) {}

  // Returns the bytes waiting or in service at that time. Arrivals are reported in order; a late one counts as of now.
  std::size_t waiting(std::int64_t at) {
    while (!in_service_.empty() && in_service_.front().until <= at) {
      waiting_ -= in_service_.front().bytes;
      in_service_.pop_front();
    }
    return waiting_;
  }
  bool congested(std::int64_t at) { return limits_.rate_bps > 0 && waiting(at) >= limits_.congested_bytes; }

  // Returns how long the cable, with one rate in both directions, is busy with a frame.
  std::int64_t on_wire_ns(std::size_t bytes) const {
    return limits_.rate_bps > 0 ? static_cast<std::int64_t>(static_cast<double>(bytes) * 8e9 / limits_.rate_bps) : 0;
  }

  // Returns the time when its last bit leaves, or nothing if it does not fit.
  std::optional<std::int64_t> admit(std::int64_t at, std::size_t bytes) {
    if (limits_.rate_bps <= 0) return at;
    if (waiting(at) + bytes > limits_.queue_bytes) return std::nullopt;
    free_at_ = std::max(at, free_at_) + on_wire_ns(bytes);
    in_service_.push_back({free_at_, bytes});
    waiting_ += bytes;
    return free_at_;
  }

  struct Frame {
    std::int64_t departs;
    std::vector<std::uint8_t> bytes;
  };
  std::deque<Frame> frames;  // admitted, not sent yet

 private:
  struct Service {
    std::int64_t until;
    std::size_t bytes;
  };
  Limits limits_;
  std::deque<Service> in_service_;
  std::size_t waiting_ = 0;
  std::int64_t free_at_ = 0;
};

}  // namespace flitwatch::packet_path
