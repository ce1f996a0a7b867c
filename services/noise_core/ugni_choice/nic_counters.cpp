#include "ugni_choice/nic_counters.h"

#include <fstream>
#include <string>

namespace flitwatch::ugni {

std::optional<NicCounters> read_nic_counters(const char* path) {
  std::ifstream file(path);
  NicCounters counters;
  int found = 0;
  std::string name;
  for (double value; file >> name >> value;) {
    double* into = name == "AR_NIC_NETMON_ORB_EVENT_CNTR_REQ_FLITS"       ? &counters.request_flits
                   : name == "AR_NIC_NETMON_ORB_EVENT_CNTR_REQ_STALLED"   ? &counters.stalled_cycles
                   : name == "AR_NIC_NETMON_ORB_EVENT_CNTR_RSP_NET_TRACK" ? &counters.responses
                   : name == "AR_NIC_ORB_PRF_NET_RSP_TRACK_2"             ? &counters.latency_cycles
                                                                          : nullptr;
    if (!into) continue;
    *into = into == &counters.latency_cycles ? value * kCyclesPerUs : value;
    ++found;
  }
  if (found != 4) return std::nullopt;
  return counters;
}

}  // namespace flitwatch::ugni
