// plugin_table.c - the table that GetPjrtApi gives, and what the plugin says about itself.
#include <stdlib.h>
#include <unistd.h>

#include "base/core/log.h"
#include "pjrt/abi_transfers.h"
#include "plugin/plugin_internal.h"

// StableHLO versions that the readers take; hosts send programs in a version between these two.
// the newest that src/formats/mlir/stablehlo_ops.def knows
static const int64_t stablehlo_current[3] = {1, 20, 0};
static const int64_t stablehlo_minimum[3] = {0, 9, 0};

static const PJRT_NamedValue attributes[] = {
    {.struct_size = PJRT_NamedValue_STRUCT_SIZE,
     .name = "xla_version",
     .name_size = 11,
     .type = PJRT_NamedValue_kInt64,
     .int64_value = 2,
     .value_size = 1},
    {.struct_size = PJRT_NamedValue_STRUCT_SIZE,
     .name = "stablehlo_current_version",
     .name_size = 25,
     .type = PJRT_NamedValue_kInt64List,
     .int64_array_value = stablehlo_current,
     .value_size = 3},
    {.struct_size = PJRT_NamedValue_STRUCT_SIZE,
     .name = "stablehlo_minimum_version",
     .name_size = 25,
     .type = PJRT_NamedValue_kInt64List,
     .int64_array_value = stablehlo_minimum,
     .value_size = 3},
};

// The sink of hsc_log in a process that is not hloscope's own; set only where HLOSCOPE_LOG asks for
// it.
static void log_to_stderr(void *user, const char *domain, int level, const char *text) {
  dprintf(STDERR_FILENO, "hloscope %s: %s\n", domain, text);
}

HSC_ENTRY(PJRT_Plugin_Initialize) {
  HSC_CHECK_ARGS(PJRT_Plugin_Initialize, extension_start);
  if (getenv("HLOSCOPE_LOG"))
    hsc_log_set_sink(log_to_stderr, NULL);
  return NULL;
}

HSC_ENTRY(PJRT_Plugin_Attributes) {
  // Its size ended one field early in the C API until XLA of 2025: such a host (jaxlib 0.4) gives
  // all of the struct and calls it 24 bytes.
  HSC_CHECK_ARGS(PJRT_Plugin_Attributes, attributes);
  args->attributes = attributes;
  args->num_attributes = HSC_COUNT_OF(attributes);
  return NULL;
}

// XLA's own wrapper reads through a NULL handle and crashes; here the check is one comparison.
#define BIND(function)
#define HANDLE(function, field) \
  static PJRT_Error *checked_##function(function##_Args *args) { \
    bool has_field = args->struct_size >= HSC_PJRT_SIZE_TO(function##_Args, field); \
    if (__builtin_expect(has_field && !args->field, 0)) \
      return hsc__error_of(HSC_ERR(INVALID_ARGUMENT, "%s: args->%s is NULL", #function, #field)); \
    return hsc__##function(args); \
  }
#include "plugin/bound.def"
#undef HANDLE
#undef BIND

static PJRT_Api table;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void fill_table(void) {
  hsc__stubs_fill(&table);
#define BIND(function) table.function = hsc__##function;
#define HANDLE(function, field) table.function = checked_##function;
#include "plugin/bound.def"
#undef HANDLE
#undef BIND
  table.struct_size = PJRT_Api_STRUCT_SIZE;
  hsc__layouts_extension.base.next = &hsc__profiler_extension.base;
  hsc__profiler_extension.base.next = &hsc__ffi_extension.base;
  hsc__ffi_extension.base.next = &hsc__cross_host_extension.base;
  table.extension_start = &hsc__layouts_extension.base;
  table.pjrt_api_version = (PJRT_Api_Version){.struct_size = PJRT_Api_Version_STRUCT_SIZE,
                                              .major_version = PJRT_API_MAJOR,
                                              .minor_version = PJRT_API_MINOR};
}

const PJRT_Api *hsc__plugin_table(void) {
  pthread_once(&once, fill_table);
  return &table;
}
