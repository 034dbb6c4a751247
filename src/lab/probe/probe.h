// probe.h - a program in stages of growing size, up to the first that a device does not manage.
//
// A user's program is cut in three ways, as far as it allows: the batch (the leading dimension of
// the last parameter, wherever it occurs), the number of trips of loops with a constant bound, and
// the outputs. Without a program there is a ladder of nested-vmap patch models. Each stage runs in
// a worker process with a limit of time, watched from outside: processor time and memory of the
// worker and of the compilers that it starts.
#pragma once

#include <jansson.h>

#include "lab/devices/devices.h"

typedef struct hsc_probe_options {
  const char *program;        // path; NULL = the built-in ladder
  const char *device;         // as --device takes it
  json_t *overrides;          // compile options {name: value}; NULL = none
  const char *executable;     // to start workers with; NULL = the running one
  double limit_s;             // of time, each stage
  size_t memory_limit_bytes;  // of a worker; 0 = none
  double half_width;          // wanted of a stage's run time, as a share of it; 0 = none
  // of the runs after a stage's first, which time it; 0 and no half_width = they are not made
  double budget_s;
  bool all;              // go on after a failure
  const char *keep_dir;  // the stages' programs are written there; NULL = a scratch directory
  // before each stage; may be NULL
  void (*on_stage)(void *user, const char *name, const char *text);
  void *user;
} hsc_probe_options;

// docs/schemas/probe.json. Errors: the device, the program (it cannot be read), no memory, no
// scratch directory; what a stage came to is in the result.
HSC_MUST_USE hsc_status *hsc_probe(const hsc_probe_options *options, json_t **out_result);
