// fuzz_hlo_text.c - any bytes: a module that prints and reads again with the same meaning, or an error; never a crash or a read outside.
#include <stdlib.h>

#include "formats/formats.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  hsc_module *module = NULL, *again = NULL;
  hsc_status *status = hsc_hlo_text_parse((hsc_view){(const char *)data, size}, "fuzz", &module);
  if (!status) {
    hsc_status *verified = hsc_module_verify(module);
    if (!verified) {
      hsc_bytes out = {0};
      status = hsc_program_write(module, HSC_FORMAT_HLO_TEXT, &out);
      if (!status) {
        status = hsc_program_read_as(HSC_FORMAT_HLO_TEXT, hsc_bytes_view(&out), "again", &again);
        if (status) abort();
        hsc_hash128 first = hsc_module_fingerprint(module), second = hsc_module_fingerprint(again);
        if (first.low != second.low || first.high != second.high) abort();
        hsc_module_destroy(again);
      }
      hsc_bytes_deinit(&out);
    }
    hsc_status_free(verified);
    hsc_module_destroy(module);
  }
  hsc_status_free(status);
  return 0;
}
