// libFuzzer target: any bytes either parse into consistent arrays or are refused by line.
#include "sim/topology/lft_dump.h"

#include <cstdint>
#include <cstdlib>

using namespace flitwatch::sim;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const LftDump dump = parse_lft_dump({reinterpret_cast<const char*>(data), size});
    const std::size_t entries = dump.lid.size();
    if (dump.switches.empty() || dump.at_switch.size() != entries || dump.port.size() != entries ||
        dump.port_guid.size() != entries)
      std::abort();
    for (std::size_t i = 0; i < entries; ++i)
      if (dump.at_switch[i] >= dump.switches.size() || dump.port[i] > 255) std::abort();
  } catch (const LftSyntaxError&) {
  }
  return 0;
}
