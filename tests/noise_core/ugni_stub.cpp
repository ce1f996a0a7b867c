// A uGNI that moves nothing: it prints what each posting call was given.
#include <cstdio>

#include "ugni_choice/gni_post.h"

#define POST(name)                                                                                \
  extern "C" gni_return_t name(gni_ep_handle_t, gni_post_descriptor_t* d) {                       \
    std::printf("%s %llu %u\n", #name, static_cast<unsigned long long>(d->length), d->dlvr_mode); \
    std::fflush(stdout);                                                                          \
    return d->length == 13 ? 1 : 0;                                                               \
  }
POST(GNI_PostRdma)
POST(GNI_PostFma)
POST(GNI_CtPostFma)
