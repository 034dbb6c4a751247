// validate.h - after which pass of a compiler do a program's numbers change? Each stage of the
// compile is run elsewhere, on the same inputs.
//
// The HLO after every pass that changed the program is dumped with all constants, vendors' custom
// calls are written as what they mean (lower_custom_calls.h), and each stage runs on another device
// (the built-in one, or the reference evaluator), in a worker. The outputs are compared with those
// of the program as it was written, by our own reading of it; what the compiler holds before its
// first pass is a stage, so that a fault of its front end is seen. For the first stage whose
// numbers differ beyond tolerance, its instructions are evaluated one by one beside those of the
// stage before, and the first matched one (hlo_diff.h) that differs is named. Where the device runs
// programs, its executable is one more stage. Stages that could not be compared are gaps of the
// verdict (lab/verdict/agreement.h).
#pragma once

#include <jansson.h>

#include "lab/passes/passes_list.h"

typedef struct hsc_validate_options {
  const char *program;
  const char *const *transforms;
  size_t transform_count;
  const hsc_device_spec *device;  // whose compiler
  const hsc_device_spec *runner;  // what runs the stages
  // takes over where the runner is the evaluator and too slow for the first stage; NULL = none
  const hsc_device_spec *second_runner;
  json_t *overrides;        // of the compile; NULL = none. Borrowed
  const char *disable;      // passes that are off, for the document; may be NULL
  uint64_t seed;            // of the inputs
  const char *inputs_file;  // what `data` is from, for the document; NULL = none
  json_t *data;      // inputs in place of the seed's, as jobs take them; NULL = none. Borrowed
  double tolerance;  // multiplies the tolerance of the outputs' types; 1
  // "outputs" of a "bounds" job of the program: what is within their bounds is right, what is
  // beyond is not, whatever the tolerance. NULL = none. Borrowed
  json_t *bounded;
  int64_t limit_ns;        // for one job
  int64_t deadline_ns;     // on hsc_now_ns: what is not compared by then is a gap; 0 = none
  const char *executable;  // to start workers with; NULL = the running one
  void (*progress)(void *user, int64_t done, int64_t total, const char *text);  // may be NULL
  void *user;
  const volatile int *stop;         // NULL = never
  const hsc_worker_memory *memory;  // answers are looked for there first; NULL = none
  // a directory that stays, for the files that those answers name; NULL = one that goes
  const char *scratch;
} hsc_validate_options;

// The document of docs/schemas/passes_validate.json. A stage that cannot run is in it, with the
// reason. Errors: the compile, the first stage.
HSC_MUST_USE hsc_status *hsc_validate(const hsc_validate_options *options, json_t **out_result);
