// device_run.h - runs a program on a PJRT plugin with values given as literals: for test programs
// that compare a device with references.
#pragma once

#include "hlo/ir/hlo.h"
#include "pjrt/client.h"

typedef struct device_run {
  hsc_plugin *plugin;
  hsc_client *client;
} device_run;

// Opens the plugin and a client on it.
HSC_MUST_USE hsc_status *device_run_open(const char *plugin_path, device_run *out_run);
void device_run_close(device_run *run);
// Compiles `code` ("hlo": text or proto) and runs it once. Tuples among the arguments are given as
// their leaves. Results are leaves of the result shape, in `arena`; their number must be
// result_count, else INTERNAL.
HSC_MUST_USE hsc_status *device_run_program(device_run *run,
                                            hsc_view code,
                                            int argument_count,
                                            hsc_literal *const *arguments,
                                            const hsc_shape *result_shape,
                                            hsc_arena *arena,
                                            int result_count,
                                            hsc_literal **out_results);
