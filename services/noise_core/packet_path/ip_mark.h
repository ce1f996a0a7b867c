// The mark in a real IPv4 header (Taffet 2021, section 2.6.1, figures 2.11 to 2.13).
//
//   DS field   bit 7: the packet takes part; bits 6-3: hops, from 1; bit 2: hash of the sampled link
//   ECN field  01: the sampled link was not congested, 11: it was
//   identification  one-bit variant: the packet id, random; standard variant: the number of the sampled link
//
// Only atomic datagrams (RFC 6864: DF set, not fragmented) are marked, because other datagrams need their
// identification for reassembly. The ECN field distinguishes marks from foreign code points with bit 7 set (EF, CS4 to
// CS7), for which senders without ECT(1) use 00 or 10.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "sampling/marking.h"

namespace flitwatch::packet_path {

inline constexpr std::uint8_t kMostHops = 15;  // the field counts from 1 and saturates

enum class Variant : std::uint8_t { kOneBit, kStandard };

enum class Kind : std::uint8_t {
  kAtomic,        // an IPv4 datagram that can carry a mark
  kFragment,      // part of a datagram
  kFragmentable,  // whole, but a router may fragment it: its identification must not change
  kIpv6,
  kNotIp,
  kTruncated,  // an IPv4 header that is not completely in the frame, or is invalid
};

// The IPv4 header of an Ethernet frame, after any VLAN tags.
struct Header {
  Kind kind = Kind::kNotIp;
  std::uint8_t* at = nullptr;  // null unless IPv4

  std::uint8_t ds() const { return at[1]; }
  std::uint16_t id() const { return static_cast<std::uint16_t>(at[4] << 8 | at[5]); }
  std::uint32_t source() const;
  std::uint32_t destination() const;
  std::size_t bytes() const { return static_cast<std::size_t>(at[0] & 15) * 4; }
  std::uint8_t protocol() const { return at[9]; }
  bool marked() const { return (at[1] & 0x81) == 0x81; }
  std::uint8_t hops() const { return at[1] >> 3 & 15; }
  bool hash_bit() const { return at[1] >> 2 & 1; }
  bool congested() const { return (at[1] & 3) == 3; }
  bool checksum_right() const;
};

Header find_header(std::span<std::uint8_t> frame);

// The next link of a packet: its number (from 1), and the hash mask that a switch computes once per port.
struct Hop {
  std::uint16_t link = 0;
  std::uint32_t mask = 0;
  bool congested = false;
};

// Figure 2.11, the sending NIC. `id` is uniform over 16 bits. The checksum stays correct.
void begin(const Header& header, Variant variant, std::uint16_t id, const Hop& hop);
// Figure 2.12, a switch. `random` is uniform over 32 bits. Returns true if the link was sampled. An incorrect checksum
// stays incorrect.
bool forward(const Header& header, Variant variant, std::uint32_t random, const Hop& hop);
// A packet that does not participate must not look like one that does.
void unmark(const Header& header);

}  // namespace flitwatch::packet_path
