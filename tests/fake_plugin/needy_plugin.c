// needy_plugin.c - a plugin that cannot be loaded without libhloscope_fake_needed.so, as vendors'
// plugins cannot without their runtime.
#include "base/core/base.h"
HSC_EXPORT const void *GetPjrtApi(void);
int hsc_fake_needed(void);
const void *GetPjrtApi(void) {
  return hsc_fake_needed() ? NULL : "";
}
