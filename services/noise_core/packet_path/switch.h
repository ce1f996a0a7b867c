// Software switch that forwards Ethernet frames, samples links and marks IPv4 headers. A NIC is a switch with two
// ports.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "packet_path/device.h"
#include "packet_path/ip_mark.h"

namespace flitwatch::packet_path {

// Output of a port: a FIFO served at the link's rate. Times are nanoseconds of one monotonic clock.

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

using Address = std::array<std::uint8_t, 6>;

struct PortSpec {
  std::string interface, network_namespace;
  bool tap = false;
  std::uint16_t link = 0;          // number of the outgoing link; 0: not a link of the fabric (a host's own programs)
  bool origin = false;             // packets that arrive here start their path: apply the sending NIC's marking
  std::uint32_t downsampling = 1;  // of an origin: one of this many packets is marked; 0: none
  bool flood = false;              // broadcast frames, and frames to unknown addresses, also leave here
  Limits limits;
};

struct PortCounts {
  std::uint64_t received = 0, sent = 0, sent_bytes = 0;
  std::uint64_t dropped = 0;  // the queue was full, or the interface refused the frame
  std::uint64_t begun = 0, marked = 0,
                sampled = 0;    // out: marks started here, marked packets, and marked packets that sampled this link
  std::uint64_t congested = 0;  // out: marked packets that found the link congested
  std::uint64_t not_ip = 0, ipv6 = 0, fragments = 0, fragmentable = 0, broken = 0;  // in: passed unchanged
  std::uint64_t unfinished_checksums = 0, overruns = 0, nowhere = 0;
};

class Switch {
 public:
  Switch(std::vector<PortSpec> ports, std::map<Address, std::size_t> table, Variant variant, std::uint32_t g,
         std::uint64_t seed);
  ~Switch();

  void run();   // until `stop`
  void stop();  // from any thread
  std::vector<PortCounts> counts();

 private:
  struct Port {
    Port(const PortSpec& spec, Device&& device, std::uint32_t mask)
        : spec(spec), device(std::move(device)), egress(spec.limits), mask(mask) {}
    PortSpec spec;
    Device device;
    Egress egress;
    std::uint32_t mask;
    struct Coming {
      std::int64_t at;
      std::vector<std::uint8_t> frame;
    };
    std::deque<Coming> coming;  // on the cable: read, but not yet arrived
    std::int64_t last_in = 0;   // arrival time of the newest of them
    PortCounts counts;
  };

  void read(Port& port);
  std::int64_t take_due(std::int64_t now);
  void take(std::size_t in, std::vector<std::uint8_t> frame, std::int64_t at);
  void put(Port& from, Port& to, std::vector<std::uint8_t> frame, std::int64_t at);
  bool mark(Port& from, Port& to, std::span<std::uint8_t> frame, bool congested);
  std::int64_t send_due(std::int64_t now);
  std::uint64_t random();

  std::vector<std::unique_ptr<Port>> ports_;
  std::map<Address, std::size_t> table_;
  Variant variant_;
  std::uint64_t state_;
  int wake_;
  std::atomic<bool> stopped_{false};
  std::mutex mutex_;
};

}  // namespace flitwatch::packet_path
