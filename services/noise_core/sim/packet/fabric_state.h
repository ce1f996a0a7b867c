// State of ports and virtual channels in both engines, and their counters.
#pragma once

#include "sim/packet/congestion_control.h"
#include "sim/packet/network.h"
#include "sim/packet/packet.h"
#include "sim/packet/traffic_classes.h"

namespace flitwatch::sim::packet {

// Counters of one directed link and VC, both ends: arrivals at the receiver, and the packets' waiting time in its
// buffer.
struct ChannelCounters {
  std::uint64_t bytes = 0, packets = 0, flits = 0;
  Time stall_ps = 0;  // sum over packets of the time between arrival and departure, beyond cut-through
};

// The same during a run, in 16 bytes: overflows are moved to the wide counters now and then.
struct NarrowCounters {
  static constexpr std::uint32_t kFull = 1u << 31;
  std::uint32_t bytes, packets, flits, stall_ps;
  void move_to(ChannelCounters& wide) {
    wide.bytes += bytes;
    wide.packets += packets;
    wide.flits += flits;
    wide.stall_ps += stall_ps;
    *this = {};
  }
};

// Channels: one for each injection port and traffic class, then a plane of all router ports for each VC. Planes,
// because the VCs of long paths are rarely used, so their memory is never touched. (Without classes, ejection ports
// need no channel; theirs also stay unused.)
class ChannelNumbers {
 public:
  ChannelNumbers(const Network& network, std::uint32_t vcs, std::uint32_t classes = 1)
      : vcs_(vcs), injections_(network.endpoints() * classes), plane_(network.router_ports()) {}
  std::uint32_t count() const { return injections_ + plane_ * vcs_; }
  std::uint32_t vcs() const { return vcs_; }
  std::uint32_t of(PortId port, std::uint32_t vc) const { return injections_ + vc * plane_ + port; }
  std::uint32_t injection(std::uint32_t endpoint) const { return endpoint; }  // of the first class
  bool is_injection(std::uint32_t channel) const { return channel < injections_; }
  std::uint32_t endpoint(std::uint32_t channel) const { return channel; }
  PortId port(std::uint32_t channel) const { return (channel - injections_) % plane_; }
  std::uint32_t plane(std::uint32_t channel) const { return (channel - injections_) / plane_; }

 private:
  std::uint32_t vcs_, injections_, plane_;
};

struct EngineOptions {
  std::uint32_t packet_bytes = 2048;
  std::uint64_t seed = 1;
  bool nic_protocol = false;  // requests and responses, 1024 outstanding, header flits on the wire
  std::uint32_t outstanding = 1024;
  bool sampling = false;   // a reservoir of one link in every packet (Taffet 2021, algorithms 1 to 3)
  Time mark_after_ps = 0;  // a link is congested if a packet waited longer; 0: if the queue, including the packet,
                           // exceeds the available credits
  std::uint32_t jobs = 1;
  ControlOptions control = {};
  ClassOptions classes = {};
  std::uint32_t threads = 0;  // 0: undivided; else the run is divided, with results that do not depend on the number
};

// Returns the flits of a packet of an Aries NIC: 64-byte packets of one header flit and up to four payload flits of 16
// bytes.
inline std::uint32_t flits_of(std::uint32_t payload_bytes) {
  return (payload_bytes + 63) / 64 + (payload_bytes + 15) / 16;
}
inline constexpr std::uint32_t kFlitBytes = 16;

// A packet that leaves its NIC. With the NIC protocol, a response is one flit and headers use bandwidth. Without it,
// bandwidths are those of payload.
inline void fill_sizes(Packet& p, std::uint32_t payload, bool protocol) {
  p.payload_bytes = static_cast<std::uint16_t>(p.kind == PacketKind::kResponse ? 0 : payload);
  p.flits = static_cast<std::uint16_t>(p.kind == PacketKind::kResponse ? 1 : flits_of(payload));
  p.wire_bytes = static_cast<std::uint16_t>(protocol ? p.flits * kFlitBytes : payload);
}
// Largest packet on the wire.
inline std::uint32_t wire_limit(std::uint32_t packet_bytes, bool protocol) {
  return protocol ? flits_of(packet_bytes) * kFlitBytes : packet_bytes;
}

// Counters of an Aries NIC, only with the NIC protocol.
struct NicCounters {
  std::uint64_t request_packets = 0, request_flits = 0, responses = 0;
  Time stalled_ps = 0,
       latency_ps = 0;  // ready requests waiting for credit, not for the window; sum of request-to-response times
};

struct SampleRecord {            // data of a sampled packet at the receiving host
  std::uint32_t src, dst, link;  // endpoints; port id of the reservoir's link
  std::uint8_t job, links, marked;
};

}  // namespace flitwatch::sim::packet
