// fuzz_device_code.c - any bytes as a serialised executable: its code is counted or there is none,
// nothing outside is read, and memory stays bounded.
#include <stdlib.h>

#include "worker/device_code.h"
#include "rules.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  int64_t code = 0;
  bool has_code = hsc_device_code_bytes((hsc_view){(const char *)data, size}, &code);
  fuzz_said_number(has_code ? "code" : "none", has_code ? code : 0);
  if (has_code && code <= 0)
    fuzz_broken();
  return 0;
}
