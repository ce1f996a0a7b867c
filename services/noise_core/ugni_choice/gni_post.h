// The part of Cray's uGNI that posting needs (gni_pub.h 6.0, x86-64 layout), declared here because the header exists
// only on Cray systems.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

struct gni_mem_handle_t {
  std::uint64_t qword1, qword2;
};

struct gni_post_descriptor_t {
  void *next_descr, *prev_descr;
  std::uint64_t post_id, status;
  std::uint16_t cq_mode_complete;
  std::uint32_t type;
  std::uint16_t cq_mode, dlvr_mode;
  std::uint64_t local_addr;
  gni_mem_handle_t local_mem_hndl;
  std::uint64_t remote_addr;
  gni_mem_handle_t remote_mem_hndl;
  std::uint64_t length;
  // The fields after this are neither read nor written here.
};

using gni_ep_handle_t = void*;
using gni_return_t = std::uint32_t;

gni_return_t GNI_PostRdma(gni_ep_handle_t endpoint, gni_post_descriptor_t* descriptor);
gni_return_t GNI_PostFma(gni_ep_handle_t endpoint, gni_post_descriptor_t* descriptor);
gni_return_t GNI_CtPostFma(gni_ep_handle_t endpoint, gni_post_descriptor_t* descriptor);

}  // extern "C"

static_assert(offsetof(gni_post_descriptor_t, dlvr_mode) == 42 && offsetof(gni_post_descriptor_t, length) == 96);

namespace flitwatch::ugni {
inline constexpr std::uint16_t kAdaptive0 = 0x0000, kAdaptive1 = 0x0020,
                               kAdaptive3 = 0x0080;  // GNI_DLVMODE_ADAPTIVE...
// Post types whose payload returns in response packets (gni_post_type_t: GNI_POST_RDMA_GET, GNI_POST_FMA_GET,
// GNI_POST_FMA_GET_W_FLAG).
inline constexpr bool is_get(std::uint32_t type) { return type == 2 || type == 5 || type == 9; }
inline constexpr gni_return_t kInvalidState = 10;  // GNI_RC_INVALID_STATE
}  // namespace flitwatch::ugni
