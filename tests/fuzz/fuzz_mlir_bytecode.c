// fuzz_mlir_bytecode.c - any bytes: a module that verifies or is refused with a reason, never a crash or a read outside.
#include <stdlib.h>

#include "formats/formats.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  hsc_module *module = NULL, *again = NULL;
  hsc_status *status = hsc_program_read_as(HSC_FORMAT_MLIR_BYTECODE, (hsc_view){(const char *)data, size}, "fuzz", &module);
  if (!status) {
    // What was read is a program: its text reads again with the same meaning.
    hsc_bytes out = {0};
    hsc_module_print(module, NULL, &out);
    status = hsc_program_read_as(HSC_FORMAT_HLO_TEXT, hsc_bytes_view(&out), "again", &again);
    if (status) {
      fprintf(stderr, "%s\n%s\n", hsc_status_message(status), hsc_bytes_text(&out));
      abort();
    }
    hsc_hash128 first = hsc_module_fingerprint(module), second = hsc_module_fingerprint(again);
    if (first.low != second.low || first.high != second.high) abort();
    hsc_module_destroy(again);
    hsc_module_destroy(module);
    hsc_bytes_deinit(&out);
  }
  hsc_status_free(status);
  return 0;
}
