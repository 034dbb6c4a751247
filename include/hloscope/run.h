// run.h - runs an XLA program on a device, and on the next one when that fails. Exported by
// libhloscope.so.
//
//   const char *const others[] = {"cuda", "cpu"};
//   hsc_program_run *run = NULL;
//   hsc_status *status = hsc_program_run_start(&(hsc_program_run_options){.program = "model.hlo",
//   .device = "neuron", .fallback = others, .fallback_count = 2}, &run);
//   if (status) fprintf(stderr, "%s\n", hsc_api_status_text(status)), hsc_api_status_free(status);
//   else if (run->degraded) fprintf(stderr, "warning: %s\n", run->warning);
//   hsc_program_run_free(run);
//
// It is `hloscope run --fallback` as a call: the device's own compiler first, then again with each
// remedy that the knowledge base has for its error, then the next device; without a fallback, the
// device as it is. Compilers live in processes of their own, started by the program `hloscope`, so
// one that aborts or hangs takes nothing of the caller with it. Threads: any; the call blocks.
// docs/commands/run.md says what is measured.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hloscope/capture.h"

#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif
#ifdef __cplusplus
extern "C" {
#endif

typedef struct hsc_program_run_options {
  // a file: HLO text or proto, StableHLO text or bytecode, plain or compressed
  const char *program;
  const char *device;  // as --device takes it; NULL = $HLOSCOPE_DEVICE, else cpu
  // [fallback_count] devices in their order tried
  const char *const *fallback;
  size_t fallback_count;
  const char *const *options;  // [option_count] compile options "NAME=VALUE" by XLA's names
  size_t option_count;
  // a directory that gets output_0.bin, ... (dense, row-major); NULL = not kept
  const char *save_outputs;
  uint64_t seed;   // of the inputs
  int64_t runs;    // timed runs; 0 = as many as fit in 0.2 s, from 3 to 100
  double limit_s;  // that a device gets for a step; 0 = 600
  // the program; NULL = $HLOSCOPE_PROGRAM, beside this library, ../bin beside it, or on PATH
  const char *hloscope;
  const char *inputs;  // .npz or .npy of NumPy, as --inputs takes it; NULL = all by the seed
} hsc_program_run_options;

typedef struct hsc_program_run {
  const char *device;      // where it ran in the end
  const char *wanted;      // where it was to run
  bool degraded;           // something had to be given up: another device, or a remedy
  const char *remedy;      // "NAME=VALUE" that made it work; NULL = none was needed
  const char *warning;     // one line about what happened; NULL unless degraded
  int attempts;            // how many were made; 1 = it worked at once
  double compile_seconds;  // NAN when the device did not tell
  double run_seconds;      // median of the timed runs; NAN when the device only compiles
  // everything: the document of docs/schemas/run.json, with "fallback" in it
  const char *json;
} hsc_program_run;

// Runs the program. *out_run is freed by hsc_program_run_free. Errors: NOT_FOUND (program,
// `hloscope`), INVALID_ARGUMENT (the program is malformed, at once: no other device helps), and
// when nothing worked the last device's own error with the number of attempts.
__attribute__((warn_unused_result)) hsc_status *hsc_program_run_start(
    const hsc_program_run_options *options, hsc_program_run **out_run);
void hsc_program_run_free(hsc_program_run *run);  // NULL is fine

// The digest of an output's `size` bytes (dense, row-major), as the documents of `hloscope run`
// have it: 32 hexadecimal digits and a zero.
void hsc_api_digest(const void *data, size_t size, char out_text[33]);

#ifdef __cplusplus
}
#endif
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
