// fuzz_hlo_proto.c - any bytes: a module that prints and reads again with the same meaning, or an
// error; never a crash or a read outside.
#include "same_again.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  hsc_module *module = NULL;
  hsc_status *status = hsc_hlo_proto_read((hsc_view){(const char *)data, size}, "fuzz", &module);
  if (!status) {
    hsc_status *verified = hsc_module_verify(module);
    if (!verified) {
      fuzz_same_again(module, HSC_FORMAT_HLO_PROTO);
      hsc_bytes text = {0};
      hsc_module_print(module, NULL, &text);
      fuzz_said(hsc_bytes_view(&text));
      hsc_bytes_deinit(&text);
      fuzz_through_mlir(module);
    }
    fuzz_said_status(verified);
    hsc_status_free(verified);
    hsc_module_destroy(module);
  }
  fuzz_said_status(status);
  hsc_status_free(status);
  return 0;
}
