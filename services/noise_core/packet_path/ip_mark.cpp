#include "packet_path/ip_mark.h"

namespace flitwatch::packet_path {

namespace {

constexpr std::size_t kEthernetBytes = 14, kTagBytes = 4, kLeastHeader = 20;

std::uint16_t word(const std::uint8_t* at) { return static_cast<std::uint16_t>(at[0] << 8 | at[1]); }

// RFC 1624, equation 3: HC' = ~(~HC + ~m + m').
void replace(std::uint8_t* header, std::size_t offset, std::uint16_t value) {
  std::uint32_t sum =
      static_cast<std::uint16_t>(~word(header + 10)) + static_cast<std::uint16_t>(~word(header + offset)) + value;
  sum = (sum & 0xFFFF) + (sum >> 16);
  sum = (sum & 0xFFFF) + (sum >> 16);
  const auto checksum = static_cast<std::uint16_t>(~sum);
  header[offset] = static_cast<std::uint8_t>(value >> 8);
  header[offset + 1] = static_cast<std::uint8_t>(value);
  header[10] = static_cast<std::uint8_t>(checksum >> 8);
  header[11] = static_cast<std::uint8_t>(checksum);
}

void write(const Header& header, Variant variant, const sampling::Mark& mark) {
  const bool bit = variant == Variant::kOneBit && mark.bit;
  const int ds = 1 << 7 | mark.hops << 3 | bit << 2 | (mark.congested ? 3 : 1);
  replace(header.at, 0, static_cast<std::uint16_t>(header.at[0] << 8 | ds));
}

}  // namespace

std::uint32_t Header::source() const { return std::uint32_t{word(at + 12)} << 16 | word(at + 14); }
std::uint32_t Header::destination() const { return std::uint32_t{word(at + 16)} << 16 | word(at + 18); }

bool Header::checksum_right() const {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < bytes(); i += 2) sum += word(at + i);
  while (sum >> 16) sum = (sum & 0xFFFF) + (sum >> 16);
  return sum == 0xFFFF;
}

Header find_header(std::span<std::uint8_t> frame) {
  std::size_t type_at = 12;
  while (frame.size() >= type_at + 2 && (word(&frame[type_at]) == 0x8100 || word(&frame[type_at]) == 0x88A8))
    type_at += kTagBytes;
  if (frame.size() < type_at + 2) return {};
  const std::uint16_t type = word(&frame[type_at]);
  if (type == 0x86DD) return {Kind::kIpv6, nullptr};
  if (type != 0x0800) return {};
  const std::size_t begins = type_at + 2;
  std::uint8_t* const at = frame.data() + begins;
  const std::size_t held = frame.size() - begins;
  if (held < kLeastHeader || at[0] >> 4 != 4) return {Kind::kTruncated, nullptr};
  const Header header{Kind::kAtomic, at};
  if (header.bytes() < kLeastHeader || held < header.bytes() || word(at + 2) < header.bytes() || word(at + 2) > held)
    return {Kind::kTruncated, nullptr};
  const std::uint16_t flags = word(at + 6);
  if (flags & 0x3FFF) return {Kind::kFragment, at};
  return {flags & 0x4000 ? Kind::kAtomic : Kind::kFragmentable, at};
}

void begin(const Header& header, Variant variant, std::uint16_t id, const Hop& hop) {
  replace(header.at, 4, variant == Variant::kOneBit ? id : hop.link);
  write(header, variant, sampling::begin(id, hop.link, hop.mask, hop.congested));
}

bool forward(const Header& header, Variant variant, std::uint32_t random, const Hop& hop) {
  sampling::Mark mark{0, header.hops(), header.hash_bit(), header.congested()};
  sampling::forward(mark, random, header.id(), hop.link, hop.mask, hop.congested);
  if (mark.hops > kMostHops) mark.hops = kMostHops;
  const bool taken = mark.link != 0;
  if (taken && variant == Variant::kStandard) replace(header.at, 4, hop.link);
  write(header, variant, mark);
  return taken;
}

void unmark(const Header& header) {
  if (header.marked()) replace(header.at, 0, static_cast<std::uint16_t>(header.at[0] << 8 | (header.at[1] & 0x7F)));
}

}  // namespace flitwatch::packet_path
