// fuzz_mlir_bytecode.c - any bytes: a module that verifies or is refused with a reason, never a
// crash or a read outside.
#include "same_again.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  hsc_module *module = NULL;
  hsc_status *status = hsc_program_read_as(HSC_FORMAT_MLIR_BYTECODE,
                                           (hsc_view){(const char *)data, size}, "fuzz", &module);
  if (!status)
    fuzz_same_again(module, HSC_FORMAT_HLO_TEXT);
  if (!status)
    fuzz_through_mlir(module);
  if (!status)
    hsc_module_destroy(module);
  fuzz_said_status(status);
  hsc_status_free(status);
  return 0;
}
