// plugin_stubs.c - an answer for every slot: UNIMPLEMENTED, with the function's name. The table
// then binds what there is.
#include "plugin/plugin_internal.h"

#define FN(function, need, minor, doc) \
  static PJRT_Error *stub_##function(void *args) { \
    return hsc__error_of( \
        HSC_ERR(UNIMPLEMENTED, "%s is not supported by the hloscope device", #function)); \
  }
#include "pjrt/functions.def"
#undef FN

static void *const stubs[] = {
#define FN(function, need, minor, doc) (void *)stub_##function,
#include "pjrt/functions.def"
#undef FN
};

void hsc__stubs_fill(PJRT_Api *table) {
  memcpy((char *)table + offsetof(PJRT_Api, PJRT_Error_Destroy), stubs, sizeof stubs);
}

bool hsc__is_stub(const void *slot) {
  for (size_t i = 0; i < HSC_COUNT_OF(stubs); i++)
    if (stubs[i] == slot)
      return true;
  return false;
}
