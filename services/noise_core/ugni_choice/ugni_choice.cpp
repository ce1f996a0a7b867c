// Application-aware routing under an unchanged program: LD_PRELOAD=libflitwatch_ugni.so sets the delivery mode of each
// posted transaction by algorithm 1 of De Sensi 2019. Needs no recompilation and no privilege; what the program sets
// itself (any mode but the default) stays.
//
//   FLITWATCH_NIC_COUNTERS=FILE  cumulative counters of this node's NIC (see NicCounters); without it nothing is
//   observed, so large
//                                messages keep the default and small ones go with high bias
//   FLITWATCH_ROUTING_LOG=FILE   on exit, one JSON line with the transactions and bytes of each mode
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <optional>
#include <string>

#include "sim/packet/routing_choice.h"
#include "ugni_choice/gni_post.h"

namespace flitwatch::ugni {
namespace {

// The four NIC counters of De Sensi 2019, section II-D, as a file of `NAME VALUE` lines, which the site's reader (PAPI,
// LDMS) updates.
struct NicCounters {  // cumulative
  double request_flits = 0, stalled_cycles = 0, responses = 0, latency_cycles = 0;
};

// Cycles of the NIC's clock (800 MHz) per microsecond. The NIC counts latency in microseconds (De Sensi 2019, section
// 2.3 and footnote 3).
inline constexpr double kCyclesPerUs = 800;

// Reads the file and converts its latency from microseconds to NIC cycles. Empty if the file is unreadable, or lacks a
// counter or its value.
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

using sim::packet::RoutingChoice;
using PostCall = gni_return_t (*)(gni_ep_handle_t, gni_post_descriptor_t*);

// One a process, as the paper's library: all of its messages share the NIC.
class Chooser {
 public:
  Chooser() {
    if (const char* path = std::getenv("FLITWATCH_NIC_COUNTERS")) counter_file_ = path;
    if (counter_file_) last_ = read_nic_counters(counter_file_);
  }
  ~Chooser() {
    const char* path = std::getenv("FLITWATCH_ROUTING_LOG");
    std::FILE* file = path ? std::fopen(path, "a") : nullptr;
    if (!file) return;
    std::fprintf(file,
                 "{\"adaptive\": [%llu, %llu], \"high_bias\": [%llu, %llu], \"increasingly_minimal\": [%llu, %llu], "
                 "\"observations\": %llu}\n",
                 count_[0], bytes_[0], count_[1], bytes_[1], count_[2], bytes_[2], observations_);
    std::fclose(file);
  }

  std::uint16_t choose(std::uint64_t bytes, RoutingChoice::Transfer transfer) {
    const std::lock_guard lock(mutex_);
    if (large_before_) observe();
    const RoutingChoice::Mode mode = choice_.select(bytes, all_to_all, transfer);
    large_before_ = choice_.decided();
    const int k = static_cast<int>(mode);
    ++count_[k];
    bytes_[k] += bytes;
    return mode == RoutingChoice::Mode::kHighBias              ? kAdaptive3
           : mode == RoutingChoice::Mode::kIncreasinglyMinimal ? kAdaptive1
                                                               : kAdaptive0;
  }

  bool all_to_all = false;

 private:
  // What the counters say of the time since they last moved. Counters of a restarted reader run backwards and begin
  // anew.
  void observe() {
    if (!counter_file_) return;
    const auto now = read_nic_counters(counter_file_);
    if (!now) return;
    if (!last_ || now->responses < last_->responses || now->request_flits < last_->request_flits) {
      last_ = now;
      return;
    }
    const double responses = now->responses - last_->responses, flits = now->request_flits - last_->request_flits;
    if (responses <= 0 || flits <= 0) return;
    choice_.observe((now->latency_cycles - last_->latency_cycles) / responses,
                    (now->stalled_cycles - last_->stalled_cycles) / flits);
    ++observations_;
    last_ = now;
  }

  std::mutex mutex_;
  RoutingChoice choice_;
  const char* counter_file_ = nullptr;
  std::optional<NicCounters> last_;
  bool large_before_ = false;
  unsigned long long count_[3] = {}, bytes_[3] = {}, observations_ = 0;
};

Chooser& chooser() {
  static Chooser one;
  return one;
}

// A program may post a descriptor again, so its own mode is put back.
gni_return_t post(const char* name, PostCall& real, gni_ep_handle_t endpoint, gni_post_descriptor_t* descriptor) {
  if (!real) real = reinterpret_cast<PostCall>(dlsym(RTLD_NEXT, name));
  if (!real) {
    std::fprintf(stderr, "flitwatch: %s is in no loaded library; preload this one only into programs that use uGNI\n",
                 name);
    return kInvalidState;
  }
  if (!descriptor || descriptor->dlvr_mode != kAdaptive0) return real(endpoint, descriptor);
  descriptor->dlvr_mode = chooser().choose(
      descriptor->length, is_get(descriptor->type) ? RoutingChoice::Transfer::kGet : RoutingChoice::Transfer::kPut);
  const gni_return_t answer = real(endpoint, descriptor);
  descriptor->dlvr_mode = kAdaptive0;
  return answer;
}

}  // namespace
}  // namespace flitwatch::ugni

extern "C" {

gni_return_t GNI_PostRdma(gni_ep_handle_t endpoint, gni_post_descriptor_t* descriptor) {
  static flitwatch::ugni::PostCall real = nullptr;
  return flitwatch::ugni::post("GNI_PostRdma", real, endpoint, descriptor);
}
gni_return_t GNI_PostFma(gni_ep_handle_t endpoint, gni_post_descriptor_t* descriptor) {
  static flitwatch::ugni::PostCall real = nullptr;
  return flitwatch::ugni::post("GNI_PostFma", real, endpoint, descriptor);
}
gni_return_t GNI_CtPostFma(gni_ep_handle_t endpoint, gni_post_descriptor_t* descriptor) {
  static flitwatch::ugni::PostCall real = nullptr;
  return flitwatch::ugni::post("GNI_CtPostFma", real, endpoint, descriptor);
}
// A program, or a wrapper of its collectives, says that it is within an all-to-all (section IV-C: increasingly minimal
// bias then).
void flitwatch_all_to_all(int within) { flitwatch::ugni::chooser().all_to_all = within != 0; }

}  // extern "C"
