// Routing on tori: dimension order on the shorter way around each ring, directly or through a random router (Valiant).
// Each ring has two channels (Dally and Seitz 1987). Before the dateline, from the last router to the first, a packet
// uses one channel, and after it the other. The second half of a Valiant path has two channels of its own.
#pragma once

#include <vector>

#include "sim/packet/division.h"
#include "sim/packet/packet.h"

namespace flitwatch::sim::packet {

enum class TorusMode : std::uint8_t { kDimensionOrder, kValiant };

class TorusRouting {
 public:
  static constexpr bool kReadsCredit = false;  // it does not choose by load
  // `extents` of the dimensions, `place` of each router: router-major, one coordinate per dimension. The first
  // dimension is corrected first. Throws std::invalid_argument if a place has no router or two, if a router lacks the
  // cable to a neighbour or has one to another router, if parallel cables are not at consecutive ports, or if a path is
  // longer than 254 routers.
  TorusRouting(const Network& network, std::vector<std::uint32_t> extents, std::vector<std::uint32_t> place);

  // Slabs of routers by number.
  Division divide() const { return divide_by_cables(network_); }

  std::uint32_t vcs() const { return 4; }
  std::uint32_t vc(const Packet& p) const { return p.port2; }
  std::uint32_t vc_ahead(const Packet& p) const { return p.next >> 8; }

  // A packet leaves its NIC. For Valiant, a waypoint is drawn.
  template <class View>
  void start(Packet& p, View& view) const {
    const bool straight = static_cast<TorusMode>(p.mode) == TorusMode::kDimensionOrder;
    view.count(straight);
    p.phase = straight ? Phase::kToDestination : Phase::kToFirst;
    if (straight) return;
    const std::uint32_t by = Random::scale(view.random() >> 32, network_.routers());
    p.way1 = static_cast<std::uint16_t>(by);
    p.way2 = static_cast<std::uint16_t>(by >> 16);
  }

  template <class View>
  PortId route(Packet& p, View& view) const {
    return route(p, look_ahead(p), view);
  }
  // A packet leaves for p.cur. Returns its port there within the router, and its channel from bit 8 on.
  std::uint32_t look_ahead(Packet& p) const {
    if (p.phase == Phase::kToFirst && way_point(p) == p.cur) p.phase = Phase::kToDestination;
    if (p.phase == Phase::kToFirst) return step(p, way_point(p), 0);
    const std::uint32_t goal = network_.router_of(p.dst);
    if (goal == p.cur) return network_.eject_port(p.dst);
    return step(p, goal, static_cast<TorusMode>(p.mode) == TorusMode::kValiant ? 2 : 0);
  }
  template <class View>
  PortId port_ahead(const Packet& p, View&) const {
    return p.cur * network_.stride() + (p.next & 255);
  }
  template <class View>
  PortId route(Packet& p, std::uint32_t ahead, View&) const {
    if (ahead == kNil) ahead = look_ahead(p);
    p.port2 = static_cast<std::uint8_t>(ahead >> 8);
    return p.cur * network_.stride() + (ahead & 255);
  }
  template <class View>
  void prefetch(const Packet&, View&) const {}
  template <class View>
  void prefetch_loads(const Packet&, View&) const {}

 private:
  struct Cables {  // from one router to a neighbour
    std::uint8_t port, count;
  };

  static std::uint32_t way_point(const Packet& p) { return p.way1 | std::uint32_t{p.way2} << 16; }

  // One step towards a router. A pair of endpoints always uses the same cable, so that its packets stay in order.
  std::uint32_t step(const Packet& p, std::uint32_t goal, std::uint32_t first_channel) const {
    const std::uint32_t* a = &place_[std::size_t{p.cur} * dimensions_];
    const std::uint32_t* b = &place_[std::size_t{goal} * dimensions_];
    std::uint32_t d = 0;
    while (a[d] == b[d]) ++d;
    const std::uint32_t x = a[d], y = b[d], k = extents_[d], up = y >= x ? y - x : y + k - x;
    const bool down = 2 * up > k, seam = down ? y > x : y < x;
    const Cables cables = cables_[(std::size_t{p.cur} * dimensions_ + d) * 2 + down];
    const std::uint32_t cable =
        cables.count == 1 ? 0 : ((p.src * 0x9E3779B1u ^ p.dst * 0x85EBCA77u) >> 16) % cables.count;
    return (cables.port + cable) | (first_channel + !seam) << 8;
  }

  void check_places() const;
  void find_cables();

  const Network& network_;
  std::uint32_t dimensions_;
  std::vector<std::uint32_t> extents_, place_;
  std::vector<Cables> cables_;  // [router][dimension][up, down]
};

}  // namespace flitwatch::sim::packet
