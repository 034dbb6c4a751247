// kept_failure.h - a run that went wrong as a folder, from which `hloscope blame` goes on: the
// program as it was compiled, its inputs, the options, the device, and what happened.
#pragma once

#include "base/core/memory.h"
#include "lab/run/run.h"

typedef struct hsc_kept_failure {
  const char *program;  // path, in the folder
  const char *device;   // as --device takes it
  const char *words;    // what happened
  uint64_t seed;        // of inputs that are not kept
  json_t *data;         // inputs as jobs take them; NULL = the seed's. A new reference
  json_t *overrides;    // compile options {name: value}. A new reference
} hsc_kept_failure;

// The device of `result` (hsc_run_program's document) that failed, else the one whose numbers are
// others than the reference's, and what happened; borrowed. NULL = nothing went wrong.
const char *hsc_failure_find(const json_t *result, const char **out_words);
// Makes the folder and writes failure.json, the program (with its transforms applied) and the
// inputs that were given. Errors: files that cannot be read or written.
HSC_MUST_USE hsc_status *hsc_failure_keep(const char *directory,
                                          const hsc_run_options *run,
                                          const char *device,
                                          const char *words);
// Whether the folder holds one.
bool hsc_is_kept_failure(const char *path);
// Texts are in `arena`. Errors: NOT_FOUND, INVALID_ARGUMENT (no such document).
HSC_MUST_USE hsc_status *hsc_failure_read(const char *directory,
                                          hsc_arena *arena,
                                          hsc_kept_failure *out_failure);
