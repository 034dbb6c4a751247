// serialize.c - executables as bytes.
#include "cpu/cpu.h"

hsc_status *hsc_cpu_executable_serialize(hsc_cpu_executable *executable, hsc_bytes *out_bytes) {
  return HSC_ERR(UNIMPLEMENTED, "serialized executables: not built yet: %s", hsc_cpu_executable_name(executable));
}

hsc_status *hsc_cpu_executable_deserialize(hsc_cpu_device *device, hsc_view bytes, hsc_cpu_executable **out_executable) {
  *out_executable = NULL;
  return HSC_ERR(UNIMPLEMENTED, "serialized executables: not built yet: %zu bytes are not loaded", bytes.size);
}
