// plugin_entry.c - the shared library's exported symbols: PJRT's one, whose table is in
// plugin_table.c, and those for the Python package.
#include "plugin/plugin_host.h"
#include "plugin/plugin_internal.h"

HSC_EXPORT const PJRT_Api *GetPjrtApi(void);
const PJRT_Api *GetPjrtApi(void) {
  return hsc__plugin_table();
}

HSC_EXPORT int32_t hloscope_set_host_function(hloscope_host_function function);
int32_t hloscope_set_host_function(hloscope_host_function function) {
  return hsc__host_set_function(function);
}

HSC_EXPORT int32_t hloscope_provide_lapack(const char *name, void *function);
int32_t hloscope_provide_lapack(const char *name, void *function) {
  return hsc__host_provide_lapack(name, function);
}

HSC_EXPORT int32_t hloscope_register_ffi(
    const char *target, void *instantiate, void *prepare, void *initialize, void *execute);
int32_t hloscope_register_ffi(
    const char *target, void *instantiate, void *prepare, void *initialize, void *execute) {
  return hsc__host_register_ffi(target, instantiate, prepare, initialize, execute);
}

HSC_EXPORT int32_t hloscope_register_ffi_type(const char *name,
                                              int64_t *type_id,
                                              const void *type_info);
int32_t hloscope_register_ffi_type(const char *name, int64_t *type_id, const void *type_info) {
  return hsc__host_register_ffi_type(name, type_id, type_info);
}
