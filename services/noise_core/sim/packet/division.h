// One run in parts: the assignment of routers to parts, and the data exchanged between parts.
//
// The parts of a fabric do not depend on the number of threads, so neither do the results. Data between parts use
// mailboxes, which are read at the end of a window, in the order of the parts and of sending.
#pragma once

#include <vector>

#include "sim/packet/network.h"
#include "sim/packet/packet.h"

namespace flitwatch::sim::packet {

struct Division {
  static constexpr std::uint32_t kMostParts = 4;       // more parts would make windows too short for prefetching
  static constexpr std::uint32_t kPackets = 1u << 22;  // most packets that one part creates before it gets some back

  std::uint32_t parts = 1;
  std::vector<std::uint8_t> of_router, of_endpoint;
  // Length of a window: a packet that leaves for another part within it arrives there after its end.
  Time window_ps = 0;
};

// `group` of each router, small consecutive numbers. Groups stay whole; if there are too many, groups with adjacent
// numbers share a part. Throws std::invalid_argument if a packet could reach another part without delay.
Division divide_by_groups(const Network& network, const std::vector<std::uint16_t>& group);

// Assigns switches with endpoints in slabs by number, and the others to the part with most of their cables or the
// smallest part. Throws as above.
Division divide_by_cables(const Network& network);

// Data that one part sends to another within a window.
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
  std::uint32_t first_free = kNil,
                last_free = kNil;  // packets created by the receiver and returned to it, a list by `next`

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
