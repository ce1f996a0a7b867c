// State shared by all feeds of a writer: the sums of its batch, the wiring of its fabrics, and the claims on counters.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <vector>

#include "codec/tally.h"

namespace flitwatch::codec {

class Engine;

inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

struct Wiring {
  std::int32_t fabric = 0;
  std::int32_t routers = 0, ports = 0, endpoints = 0;
  std::vector<std::uint8_t> link_class;  // by router and port: 0 none, else 1 + the class
  // Data counts that a port can send per unit of its stalls (nanosecond or tick), by router and port, and by endpoint.
  // NaN: unknown. Empty: all unknown.
  std::vector<double> port_rates, endpoint_rates;
  std::vector<std::int32_t> own_sets;  // by endpoint: number of live sets of its own
  RowSums port_sums{0};
  // By router: arrays of ports and lanes next to each other; by endpoint: of its lanes.
  RowSums port_lanes{0}, endpoint_lanes{kLaneArrays * kLanes};

  int class_at(std::int32_t router, int port) const {
    return link_class[static_cast<std::size_t>(router) * static_cast<std::size_t>(ports) +
                      static_cast<std::size_t>(port)];
  }
  double port_rate(std::int32_t router, int port) const {
    return port_rates.empty() || port < 0
               ? kUnknown
               : port_rates[static_cast<std::size_t>(router) * static_cast<std::size_t>(ports) +
                            static_cast<std::size_t>(port)];
  }
  double endpoint_rate(std::int32_t endpoint) const {
    return endpoint_rates.empty() || endpoint < 0 ? kUnknown : endpoint_rates[static_cast<std::size_t>(endpoint)];
  }
};

// Several instances of one device can have the same counter (four nodes that all sample their whole router). The live
// one with the smallest component counts it, so a device's row never adds up repeats.
class Claims {
 public:
  struct Member {
    Engine* engine;
    std::uint32_t instance;
    std::int64_t component;
  };
  // An endpoint, a router, or one port of a router (otherwise -1).
  struct Device {
    std::int32_t fabric;
    bool endpoint;
    std::int32_t device, port;
    auto operator<=>(const Device&) const = default;
  };
  void join(const Device& device, const Member& member);
  void leave(const Device& device, Engine* engine, std::uint32_t instance);

 private:
  void divide(const std::vector<Member>& members);

  std::map<Device, std::vector<Member>> members_;
  std::vector<std::uint64_t> claimed_;  // by counter name: the round that assigned it last
  std::uint64_t division_ = 0;
};

struct Ledger {
  Ledger() = default;
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  RowSums routers{kRouterColumns};
  RowSums endpoints{kEndpointColumns};
  std::map<std::int32_t, std::unique_ptr<Wiring>> fabrics;
  Claims claims;
  std::int64_t ports_closed_s = -1;  // port buckets up to this time are written

  // Replaces the fabric's wiring and keeps its sums of ports and lanes. Rates can be empty.
  Wiring& wire(std::int32_t fabric, std::int32_t routers, std::int32_t ports, std::int32_t endpoints,
               std::vector<std::uint8_t> link_class, std::vector<double> port_rates = {},
               std::vector<double> endpoint_rates = {});
};

inline constexpr int kClassColumns = 4;  // first router column by class: flits and stalls of each class
inline constexpr std::int64_t kPortBucketS = 10;

}  // namespace flitwatch::codec
