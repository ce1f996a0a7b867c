// libFuzzer target: any bytes as an Ethernet frame. Two bytes choose the variant and what is done to the frame; a
// header is found inside it or not at all, and a checksum that was right stays right, one that was wrong stays wrong.
#include "packet_path/ip_mark.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

using namespace flitwatch::packet_path;

namespace {

void check(bool holds) {
  if (!holds) std::abort();
}

void check_place(const Header& header, const std::vector<std::uint8_t>& frame) {
  check((header.at == nullptr) ==
        (header.kind == Kind::kIpv6 || header.kind == Kind::kNotIp || header.kind == Kind::kTruncated));
  if (header.at == nullptr) return;
  check(header.bytes() >= 20 && header.at >= frame.data() && header.at + header.bytes() <= frame.data() + frame.size());
}

void travel(const Header& header, Variant variant, std::uint8_t switches) {
  const bool right = header.checksum_right();
  begin(header, variant, 0x1234, {7, 0x51, false});
  check(header.marked() && header.hops() == 1 && !header.congested() && header.checksum_right() == right);
  for (std::uint8_t hop = 0; hop < switches; ++hop) {
    const auto link = static_cast<std::uint16_t>(100 + hop);
    const bool taken = forward(header, variant, hop * 0x9E3779B9u, {link, 0xA3u + hop, hop % 2 == 1});
    check(header.hops() == std::min<int>(hop + 2, kMostHops) && header.marked() && header.checksum_right() == right);
    if (taken) check(header.congested() == (hop % 2 == 1) && (variant == Variant::kOneBit || header.id() == link));
  }
  unmark(header);
  check(!header.marked() && header.checksum_right() == right);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  // A copy of the exact size lets AddressSanitizer see a read past the end.
  std::vector<std::uint8_t> frame(data + 2, data + size);
  const std::vector<std::uint8_t> before = frame;
  const Header header = find_header(frame);
  check_place(header, frame);
  if (header.kind == Kind::kAtomic)
    travel(header, data[0] % 2 ? Variant::kStandard : Variant::kOneBit, data[1]);
  else
    check(frame == before);
  if (header.at == nullptr) return 0;
  // Nothing but the DS field, the identification and the checksum is ever written.
  const auto at = static_cast<std::size_t>(header.at - frame.data());
  for (std::size_t i = 0; i < frame.size(); ++i)
    check(frame[i] == before[i] || i == at + 1 || i == at + 4 || i == at + 5 || i == at + 10 || i == at + 11);
  return 0;
}
