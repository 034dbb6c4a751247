// fuzz_compile_options.c - any bytes as CompileOptionsProto: settings within their ranges, or an
// error.
#include <stdlib.h>

#include "plugin/plugin_internal.h"
#include "rules.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  hsc__compile_settings settings;
  hsc_status *status = hsc__compile_settings_read((hsc_view){(const char *)data, size}, &settings);
  fuzz_said_status(status);
  if (status) {
    if (hsc_status_code(status) != HSC_INVALID_ARGUMENT &&
        hsc_status_code(status) != HSC_RESOURCE_EXHAUSTED)
      fuzz_broken();
    hsc_status_free(status);
    return 0;
  }
  if (settings.cpu.backend_optimization_level < 0 || settings.cpu.backend_optimization_level > 3 ||
      settings.cpu.pass_fuel < -1 || settings.device < -1)
    fuzz_broken();
  if (settings.cpu.disable_hlo_passes && strlen(settings.cpu.disable_hlo_passes) > 2 * size)
    fuzz_broken();
  fuzz_said_number("level", settings.cpu.backend_optimization_level);
  fuzz_said_number("fuel", settings.cpu.pass_fuel);
  fuzz_said_number("device", settings.device);
  const char *const texts[] = {settings.cpu.disable_hlo_passes, settings.cpu.enable_hlo_passes_only,
                               settings.cpu.fuel_of_passes, settings.cpu.dump_to};
  for (size_t i = 0; i < HSC_COUNT_OF(texts); i++)
    fuzz_said(hsc_view_of(texts[i] ? texts[i] : "none"));
  hsc__compile_settings_deinit(&settings);
  return 0;
}
