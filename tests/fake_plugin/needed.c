// needed.c - a library that another one needs; a test takes it away.
#include "base/core/base.h"
HSC_EXPORT int hsc_fake_needed(void);
int hsc_fake_needed(void) {
  return 1;
}
