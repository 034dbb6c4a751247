// fuzz_decompress.c - any bytes: hsc_decompress gives data within the limit or an error, and never reads or writes outside.
#include <stdlib.h>

#include "base/base.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  enum { LIMIT = 1 << 20 };
  hsc_bytes out = {0};
  hsc_status *status = hsc_decompress((hsc_view){(const char *)data, size}, LIMIT, &out);
  if (!status && out.size > LIMIT) abort();
  hsc_status_free(status);
  hsc_bytes_deinit(&out);
  return 0;
}
