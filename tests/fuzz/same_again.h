// same_again.h - what every fuzz target of a program format asks of a module that was read: its text reads again with the same meaning.
#pragma once

#include <stdlib.h>

#include "formats/formats.h"

static inline void fuzz_same_again(const hsc_module *module, hsc_format format) {
  hsc_module *again = NULL;
  hsc_bytes out = {0};
  hsc_status *status = hsc_program_write(module, format, &out);
  if (!status) {
    status = hsc_program_read_as(format, hsc_bytes_view(&out), "again", &again);
    if (status) {
      fprintf(stderr, "%s\n%s\n", hsc_status_message(status), hsc_bytes_text(&out));
      abort();
    }
    hsc_hash128 first = hsc_module_fingerprint(module), second = hsc_module_fingerprint(again);
    if (first.low != second.low || first.high != second.high) {
      fprintf(stderr, "fingerprints differ\n%s\n", hsc_bytes_text(&out));
      abort();
    }
    hsc_module_destroy(again);
  }
  hsc_status_free(status);
  hsc_bytes_deinit(&out);
}
