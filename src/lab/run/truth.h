// truth.h - what a program computes, by somebody other than the compiler that is looked at.
#pragma once

#include <jansson.h>

#include "base/core/memory.h"
#include "base/core/status.h"

typedef struct hsc_truth_options {
  const char *program;
  const char *const *transforms;
  size_t transform_count;
  const char *device;      // the one that is looked at, as --device takes it: not asked
  const char *executable;  // to start workers with; NULL = the running one
  const char *scratch;     // a directory; the outputs' files stay there
  uint64_t seed;           // of the inputs
  json_t *data;            // "data" of the jobs (hsc_given_inputs_read); NULL = the seed's
  double limit_s;          // that each runner gets
  int64_t deadline_ns;     // on hsc_now_ns: nobody runs for longer; 0 = none
  void (*progress)(void *user, const char *text);  // may be NULL
  void *user;
  const volatile int *stop;  // NULL = never
} hsc_truth_options;

// Runs the program as it was written: on the evaluator, which is right by definition, or where that
// does not get through in time or has no meaning for something, on another device. *out_outputs:
// "outputs" of a run job, a new reference; NULL where nobody ran it, and *out_why_not says why.
// Texts lie in `arena`. Errors: no process could be started, no memory.
HSC_MUST_USE hsc_status *hsc_truth_find(const hsc_truth_options *options,
                                        hsc_arena *arena,
                                        json_t **out_outputs,
                                        const char **out_by,
                                        const char **out_why_not);
