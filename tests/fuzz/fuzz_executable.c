// fuzz_executable.c - any bytes as a serialized executable: loaded or refused, never a crash or a
// read outside. Nothing of it is run.
//
// Bytes that begin with a header are given this build, this processor and the right checksum first,
// so that what lies after them is reached.
#include <stdlib.h>

#include "base/core/build_id.h"
#include "cpu/serial/serial_format.h"
#include "rules.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void load(hsc_cpu_device *device, const char *bytes, size_t size) {
  hsc_cpu_executable *executable = NULL;
  hsc_status *status = hsc_cpu_executable_deserialize(device, (hsc_view){bytes, size}, &executable);
  if (!status != !!executable)
    fuzz_broken();
  hsc_status_free(status);
  if (!executable)
    return;
  hsc_cpu_executable_module(executable);
  hsc_cpu_executable_release(executable);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static hsc_cpu_device *device;
  hsc_cpu_device_options options = {.thread_count = 1};
  if (!device && hsc_cpu_device_create(&options, &device))
    abort();
  char *copy = malloc(size + 1);  // its end is the end of what may be read
  if (!copy)
    return 0;
  memcpy(copy, data, size);
  load(device, copy, size);
  if (size >= sizeof(hsc_serial_header)) {
    hsc_serial_header header;
    hsc_cpu_isa isa;
    memcpy(&header, copy, sizeof header);
    memcpy(header.magic, HSC_SERIAL_MAGIC, sizeof header.magic);
    header.version = HSC_SERIAL_VERSION;
    header.header_bytes = sizeof header;
    snprintf(header.build, sizeof header.build, "%s", hsc_build_id());
    memset(header.features, 0, sizeof header.features);
    hsc_cpu_isa_detect(&isa);
    header.isa_level = (int32_t)isa.level;
    memcpy(copy, &header, sizeof header);
    hsc__serial_seal(copy, size);
    load(device, copy, size);
  }
  free(copy);
  return 0;
}
