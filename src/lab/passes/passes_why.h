// passes_why.h - why a compiler did not fuse two operations: found by changing one thing at a time.
//
// A pair is an operation and one that reads its result, where the compiled program has them in
// different kernels. Both are cut out of the program and compiled by themselves; then one thing
// about them, or around them, is changed and compiled again. What makes them one kernel is the
// cause, and it is one only where the same change to the whole program does it too.
#pragma once

#include <jansson.h>

#include "base/core/status.h"
#include "worker/device_spec.h"

typedef struct hsc_why_options {
  const char *program;  // path
  const char *const *transforms;
  size_t transform_count;
  const hsc_device_spec *device;
  const char *executable;
  json_t *overrides;  // compile options of every compile; NULL = none
  // names of operations of the program, or of kernels of the compiled program; NULL = the pairs
  // that cost most
  const char *producer, *consumer;
  int most;             // pairs that are looked into
  int64_t limit_ns;     // of one compile
  int64_t deadline_ns;  // of the whole, hsc_now_ns; 0 = none
  void (*progress)(void *user, int64_t done, int64_t total, const char *text);  // may be NULL
  void *user;
  const volatile int *stop;  // not 0 = end with what there is; may be NULL
} hsc_why_options;

// *out_result: {"program", "device", "unfused", "examined", "explained", "pairs": [...]}, as in
// docs/schemas/passes_why.json.
// Errors: NOT_FOUND (no operation of that name), INVALID_ARGUMENT (two that are no pair), and the
// compiler's of the program as it is.
HSC_MUST_USE hsc_status *hsc_passes_why(const hsc_why_options *options, json_t **out_result);
