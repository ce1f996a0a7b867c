// The four NIC counters of De Sensi 2019, section II-D, as a file of `NAME VALUE` lines, which the site's reader (PAPI,
// LDMS) updates.
#pragma once

#include <optional>

namespace flitwatch::ugni {

struct NicCounters {  // cumulative
  double request_flits = 0, stalled_cycles = 0, responses = 0, latency_cycles = 0;
};

// Cycles of the NIC's clock (800 MHz) per microsecond. The NIC counts latency in microseconds (De Sensi 2019, section
// 2.3 and footnote 3).
inline constexpr double kCyclesPerUs = 800;

// Reads the file and converts its latency from microseconds to NIC cycles. Empty if the file is unreadable, or lacks a
// counter or its value.
std::optional<NicCounters> read_nic_counters(const char* path);

}  // namespace flitwatch::ugni
