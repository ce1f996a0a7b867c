// Forwarding tables in the text format that OpenSM and infiniband-diags dump.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace flitwatch::sim {

struct LftDump {
  struct Switch {
    std::uint64_t guid;
    std::string name;
  };
  std::vector<Switch> switches;
  // One entry per position: the switch (an index above), the LID, the output port and the destination's port GUID (0 if
  // neither this entry nor another of the same LID names it).
  std::vector<std::uint32_t> at_switch;
  std::vector<std::uint16_t> lid, port;
  std::vector<std::uint64_t> port_guid;
};

class LftSyntaxError : public std::runtime_error {
 public:
  LftSyntaxError(std::size_t line, const std::string& what)
      : std::runtime_error("line " + std::to_string(line) + ": " + what) {}
};

// Reads both dialects: `Unicast lids [..] of switch Lid 2 guid 0x.. ('name'):` with `0x0001 001 # Channel Adapter
// portguid 0x..: 'n0'` (opensm-lfts.dump), and that of dump_lfts with ` : (..)`. Repeated entries are permitted. An
// entry that contradicts an earlier line (another port for a LID, another owner, LIDs of one port too far apart for any
// LMC) throws LftSyntaxError, as does text that is not a dump.
LftDump parse_lft_dump(std::string_view text);

}  // namespace flitwatch::sim
