// A fabric for the packet engine: output ports in flat arrays with a constant stride per router, so that a neighbour, a
// link class or a load needs one indexed read.
//
// Port ids: router r has ports r * stride .. r * stride + degree(r) - 1, in the order of the caller's keys (ejection
// ports included); endpoint e injects through port routers * stride + e.
#pragma once

#include <algorithm>
#include <vector>

#include "sim/packet/types.h"
#include "sim/topology/graph.h"

namespace flitwatch::sim::packet {

struct LinkTiming {
  std::uint64_t ps_per_byte_q16 = 0;  // serialisation time per byte, 16 fractional bits
  std::uint32_t latency_ps = 0;       // propagation
  std::int32_t buffer_bytes = 0;      // of one VC at the receiving end; 0 at an endpoint, which drains at line rate
  Time serialise(std::uint32_t bytes) const { return (ps_per_byte_q16 * bytes) >> 16; }
  double bandwidth_bps() const { return 8e12 * 65536 / static_cast<double>(ps_per_byte_q16); }
};

// Per link of the graph, in its order.
struct LinkParameters {
  std::vector<double> latency_ns;
  std::vector<std::int32_t> buffer_bytes;
  std::vector<std::uint32_t> order;  // sort key of a router's ports (stable); empty: the graph's order
};

class Network {
 public:
  static constexpr std::uint8_t kUnused = 255;  // timing class of a nonexistent port

  // Throws std::invalid_argument if a bandwidth is unknown, a buffer is smaller than a packet of
  // `largest_packet_bytes`, or a router has more than 255 ports.
  Network(const Graph& graph, const LinkParameters& links, double router_delay_ns, std::uint32_t largest_packet_bytes);

  std::uint32_t routers() const { return routers_; }
  std::uint32_t endpoints() const { return endpoints_; }
  std::uint32_t stride() const { return stride_; }
  std::uint32_t degree(std::uint32_t router) const { return degree_[router]; }
  std::uint32_t router_ports() const { return routers_ * stride_; }
  std::uint32_t ports() const { return router_ports() + endpoints_; }
  PortId injection(std::uint32_t endpoint) const { return router_ports() + endpoint; }
  std::uint32_t links() const { return static_cast<std::uint32_t>(port_of_link_.size()); }
  Time router_delay_ps() const { return router_delay_ps_; }

  // Of a port: the router at its far end (kNil: an endpoint), its timing, and whether it ends at an endpoint.
  std::uint32_t peer(PortId port) const { return peer_[port]; }
  std::uint8_t timing_class(PortId port) const { return class_[port]; }
  const LinkTiming& timing_of(std::uint8_t timing_class) const { return timing_[timing_class]; }
  const LinkTiming& timing(PortId port) const { return timing_[class_[port]]; }
  bool ejects(PortId port) const { return class_[port] < eject_classes_; }
  bool class_ejects(std::uint8_t timing_class) const { return timing_class < eject_classes_; }

  std::uint32_t router_of(std::uint32_t endpoint) const { return attach_[endpoint] >> 8; }
  std::uint32_t eject_port(std::uint32_t endpoint) const { return attach_[endpoint] & 255; }  // within its router
  PortId port_of_link(LinkId link) const { return port_of_link_[link]; }
  LinkId link_of_port(PortId port) const { return link_of_port_[port]; }

 private:
  void sort_ports(const Graph& graph, const LinkParameters& links);
  void classify(const Graph& graph, const LinkParameters& links, std::uint32_t largest_packet_bytes);

  std::uint32_t routers_, endpoints_, stride_ = 0, eject_classes_ = 0;
  Time router_delay_ps_;
  std::vector<std::uint32_t> degree_, peer_, attach_;
  std::vector<std::uint8_t> class_;
  std::vector<LinkTiming> timing_;
  std::vector<PortId> port_of_link_;
  std::vector<LinkId> link_of_port_;
};

}  // namespace flitwatch::sim::packet
