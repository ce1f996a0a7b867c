// Posts what its input says: lines `rdma|fma|chained BYTES [MODE [TYPE]]`, `all_to_all 0|1`, `counters FLITS STALLED
// RESPONSES LATENCY_US`.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>

#include "ugni_choice/gni_post.h"

int main() {
  gni_post_descriptor_t descriptor{};
  for (std::string line, word; std::getline(std::cin, line);) {
    std::istringstream in(line);
    in >> word;
    if (word == "counters") {
      double flits, stalled, responses, latency_us;
      in >> flits >> stalled >> responses >> latency_us;
      std::ofstream(std::getenv("FLITWATCH_NIC_COUNTERS"))
          << "AR_NIC_NETMON_ORB_EVENT_CNTR_REQ_FLITS " << flits << "\nAR_NIC_NETMON_ORB_EVENT_CNTR_REQ_STALLED "
          << stalled << "\nAR_NIC_NETMON_ORB_EVENT_CNTR_RSP_NET_TRACK " << responses
          << "\nAR_NIC_ORB_PRF_NET_RSP_TRACK_2 " << latency_us << '\n';
    } else if (word == "all_to_all") {
      int within = 0;
      in >> within;
      if (auto* say = reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "flitwatch_all_to_all"))) say(within);
    } else {
      std::uint16_t mode = 0;
      descriptor.type = 1;
      if (in >> descriptor.length && in >> mode) in >> descriptor.type;
      descriptor.dlvr_mode = mode;
      const auto post = word == "rdma" ? GNI_PostRdma : word == "fma" ? GNI_PostFma : GNI_CtPostFma;
      const gni_return_t answer = post(nullptr, &descriptor);
      if (descriptor.dlvr_mode != mode) std::puts("the descriptor was changed");
      if (answer) std::printf("answer %u\n", answer);
    }
  }
}
