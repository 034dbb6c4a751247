// tune.h - what to change so that a program runs faster, answered by trying.
//
// Candidates are compile options that the device's compiler says it has (compiler_flags.h), passes
// that changed the program and could stay away, what the knowledge base and the caller add, and
// changes of the program itself. They are tried in fresh processes by successive halving, with
// placebos among them; what is left is measured anew, so that what chose it is not what proves it.
// Only what computes the same numbers and is faster at a false discovery rate of 5 % is an answer.
// docs/tune.md says how.
#pragma once

#include <jansson.h>

#include "lab/devices/devices.h"
#include "lab/store/store.h"

typedef struct hsc_tune_extra {
  const char *name, *value;  // a compile option
  const char *why;           // "knowledge: xla-slow-compile"
} hsc_tune_extra;

typedef struct hsc_tune_options {
  const char *program;
  const char *const *transforms;
  size_t transform_count;
  const hsc_device_spec *device;
  json_t *overrides;  // compile options of every compile, an object; NULL = none. Borrowed
  const hsc_tune_extra *extras;
  size_t extra_count;
  const char *pattern;  // only candidates whose name matches (POSIX extended); NULL = all
  int most;             // candidates at most; 0 = as many as the time allows
  int placebos;         // at least 1
  bool for_compile;     // tuned for compile time in place of run time
  bool no_changes;      // options only, no changes of the program
  double budget_s;      // of the whole; 0 = no limit
  double margin;        // a gain that is not worth a line, as a share
  uint64_t seed;
  json_t *data;  // "data" of the runs (hsc_given_inputs_read); NULL = the seed's. Borrowed
  const char *inputs_file;  // what `data` is from, for the document; NULL = none
  int64_t limit_ns;         // for one job of a worker
  const char *command, *executable;
  hsc_store *store;
  bool resume;
  void (*progress)(void *user, int64_t done, int64_t total, const char *text);  // may be NULL
  void *user;
  const volatile int *stop;  // not 0: end after the running job; NULL = never
} hsc_tune_options;

// The document of docs/schemas/tune.json. Errors: the program does not compile or run as it is
// (FAILED_PRECONDITION), no worker, no memory, the store.
HSC_MUST_USE hsc_status *hsc_tune(const hsc_tune_options *options, json_t **out_result);

// 0 an answer or nothing found, 3 the search did not come to its end without an answer.
int hsc_tune_exit_code(const json_t *result);
