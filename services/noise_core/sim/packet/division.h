// One run in parts: which routers belong together, and what crosses between them.
//
// The parts of a fabric do not depend on how many threads share them, so neither do the results: what crosses goes by
// mailbox and is taken in at the border of a window, in the order of the parts and of its sending.
#pragma once

#include <vector>

#include "sim/packet/network.h"
#include "sim/packet/packet.h"

namespace flitwatch::sim::packet {

struct Division {
  static constexpr std::uint32_t kMostParts = 4;       // more make the windows of each too short to fetch memory ahead
  static constexpr std::uint32_t kPackets = 1u << 22;  // that one part makes, at most, before it gets some back

  std::uint32_t parts = 1;
  std::vector<std::uint8_t> of_router, of_endpoint;
  // Time of a window: a packet that leaves for another part within it arrives there after its end.
  Time window_ps = 0;
};

// `group` of each router, small numbers without gaps: groups stay whole, neighbours by number share a part where there
// are too many. Throws std::invalid_argument where a packet would come to another part without delay.
Division divide_by_groups(const Network& network, const std::vector<std::uint16_t>& group);

// Switches with endpoints in slabs by number; the others go where most of their cables go, or where there are
// fewest. Throws as above.
Division divide_by_cables(const Network& network);

// What one part sends another within a window.
struct alignas(64) Mailbox {
  struct Arrival {
    Time when;
    std::uint32_t packet;
  };
  struct Credit {
    Time when, stall;
    std::uint32_t channel;
    std::uint16_t bytes, flits;
  };
  struct Sent {  // the last byte of a message arrived
    Time when;
    std::uint32_t message;
  };
  std::vector<Arrival> arrivals;
  std::vector<Credit> credits;
  std::vector<Sent> sent;
  std::uint32_t first_free = kNil, last_free = kNil;  // packets that the receiver made and gets back, a list by `next`

  bool empty() const { return arrivals.empty() && credits.empty() && sent.empty(); }
  void take_back(std::uint32_t i, Packet* packets) {
    packets[i].next = first_free;
    if (first_free == kNil) last_free = i;
    first_free = i;
  }
  void clear() {
    arrivals.clear();
    credits.clear();
    sent.clear();
    first_free = last_free = kNil;
  }
};

}  // namespace flitwatch::sim::packet
