// Software switch that forwards Ethernet frames, samples links and marks IPv4 headers. A NIC is a switch with two
// ports.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "packet_path/device.h"
#include "packet_path/egress.h"
#include "packet_path/ip_mark.h"

namespace flitwatch::packet_path {

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
