// profile_run.h - one program under a device's profiler: compile, warm up, record N steps, write a
// log directory.
#pragma once

#include <jansson.h>

#include "base/core/status.h"

typedef struct hsc_profile_run_options {
  const char *program;  // path; workers read it themselves
  const char *const *transforms;
  size_t transform_count;
  json_t *overrides;   // compile options by XLA's names (hsc_overrides_parse); NULL = none
  const char *device;  // as --device takes it
  // recorded executions; 0 = as many as a pilot chooses, 3 to 1000, until half_width or duration_ns
  // ends it
  int64_t steps;
  int64_t duration_ns;      // 0 = 0.2 s
  double half_width;        // wanted of the median step's interval, as a share of it; 0 = none
  uint64_t seed;            // of the inputs
  json_t *data;             // "data" of the jobs (hsc_given_inputs_read); NULL = the seed's
  int64_t limit_ns;         // of each job of the worker; < 0 = no limit
  const char *xspace_path;  // where the device's profile goes, as it gives it
  const char *executable;   // to start workers with; NULL = the running one
} hsc_profile_run_options;

typedef struct hsc_profile_run {
  int64_t steps;
  double warm_up_s;  // one execution before
  int64_t xspace_bytes;
  char *sampling;  // how many, who chose it and what ended it, in one sentence; heap
} hsc_profile_run;

// Errors: the program's, the device's (UNIMPLEMENTED when it has no profiler: names what can be
// done instead), no worker.
HSC_MUST_USE hsc_status *hsc_profile_program(const hsc_profile_run_options *options,
                                             hsc_profile_run *out_run);
