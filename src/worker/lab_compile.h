// lab_compile.h - "compile PROGRAM on device D with these options, in a process that may die, and
// tell what came of it".
//
// Works on every device: cpu, xla-cpu, cuda:h100 and tpu:v5e (ahead of time, no hardware), any
// plugin by its path. One worker process a device: warm it costs no more than the compiler itself;
// when it dies (abort, signal, time, memory) that is the result of this compile, and the next one
// gets a new process. Options go through env_option_overrides: they hold for this compile only, an
// unknown one is a clean error. docs/formats/worker.md, job "compile", says what crosses the pipe.
//
//   hsc_device_spec spec;  hsc_lab_worker *w;  hsc_compiled c;
//   HSC_TRY(hsc_device_spec_parse("cuda:h100", arena, &spec));
//   HSC_TRY(hsc_lab_worker_create(&(hsc_lab_worker_options){.device = &spec, .no_disk_cache =
//   true}, &w));
//   hsc_override off = {.name = "xla_disable_hlo_passes", .type = HSC_OVERRIDE_TEXT, .text =
//   "algsimp,fusion"};
//   HSC_TRY(hsc_lab_compile(w, &(hsc_compile_request){.program = "m.hlo", .overrides = &off,
//   .override_count = 1,
//                                                     .want_optimized = true, .metadata_dir =
//                                                     "/tmp/fresh"}, &c));
//   if (c.outcome == HSC_OUTCOME_OK) ... c.compile_ns, c.fingerprint,
//   hsc_program_read(hsc_bytes_view(&c.optimized), ...)
//   else ... hsc_outcome_text(c.outcome), hsc_status_message(c.status), c.last_words ("Check
//   failed: ... (file.cc:12)")
//   hsc_compiled_deinit(&c);
//
// Many at once: hsc_compile_many shares a list out to several workers of one device (--jobs).
//
// What a directory of dumps holds (facts of the compilers, measured on jax-cuda12-pjrt 0.10.2,
// libtpu 0.0.51, jaxlib 0.10.2):
//   metadata_dir   module_*.metadata.textproto: one entry per pass run, unchanged ones too, with
//                  times; CUDA and TPU write it,
//                  XLA:CPU has none (use want_xspace there). No HLO is written, so it costs next to
//                  nothing.
//   dump_dir       numbered dumps after every pass that changed the module (dump_passes), and what
//                  the back end makes: PTX, LLVM.
//                  The module number is the process's own counter and the CUDA autotuner dumps its
//                  small modules too, so give
//                  every compile a fresh directory and choose files by the module's name.
#pragma once

#include "worker/worker_client.h"
#include "pjrt/client.h"

typedef struct hsc_compile_request {
  const char *program;  // path; read once a process
  const char *const *transforms;
  size_t transform_count;
  const hsc_override *overrides;  // [override_count], after the device's own
  size_t override_count;
  bool want_optimized;  // the program after all passes
  // profile around the compile (pass times, back end); UNIMPLEMENTED where there is no profiler
  bool want_xspace;
  const char *metadata_dir;  // xla_dump_module_metadata there; made when missing; NULL = not
  const char *dump_dir;      // xla_dump_to there; may be the same as metadata_dir; NULL = no dumps
  // xla_dump_hlo_pass_re, ".*" for all; NULL = only before and after the whole
  const char *dump_passes;
  bool dump_protos;  // dumps as HloProto (.hlo.pb) in place of text
  int64_t limit_ns;  // of time; 0 = none
} hsc_compile_request;

typedef struct hsc_compiled {
  hsc_outcome outcome;
  hsc_status *status;   // NULL when ok; else what happened, with the device and the step
  hsc_child_exit exit;  // when the worker died
  char *last_words;     // when it died: the line that says why; else NULL
  bool started;         // a new process was started for this
  json_t *start;        // what its start took (load answer), when started; else NULL
  int64_t compile_ns;   // of the plugin's compile alone
  int64_t call_ns;      // from request to answer, reading the program and the results included
  char *fingerprint;    // of the executable, as the compiler tells it; NULL = it does not
  // HloModuleProto, or HloModuleProtoWithConfig: hsc_program_read takes both; empty = not given
  hsc_bytes optimized;
  hsc_bytes xspace;                            // XSpace
  int64_t instructions, fusions;               // of the optimised program; -1 = unknown
  double flops, bytes;                         // NaN = unknown
  bool cost_from_device;                       // false: our cost model's, before optimisation
  int64_t code_bytes, temp_bytes, peak_bytes;  // -1 = unknown
  // the whole answer: "cost" (all properties), "memory"; NULL when it died
  json_t *body;
} hsc_compiled;
void hsc_compiled_deinit(hsc_compiled *compiled);

// Errors: no process could be started, no memory, no scratch directory. Whatever the compiler does
// is in *out_compiled.
HSC_MUST_USE hsc_status *hsc_lab_compile(hsc_lab_worker *worker,
                                         const hsc_compile_request *request,
                                         hsc_compiled *out_compiled);

// Compile options as people write them: "NAME=VALUE", true and false as such, whole and decimal
// numbers, else text. An item without "=" goes on with the value of the one before (lists are
// written with commas: xla_disable_hlo_passes=a,b). *out_overrides: {name: value}, as jobs take it.
// Errors: INVALID_ARGUMENT.
HSC_MUST_USE hsc_status *hsc_overrides_parse(const char *const *items,
                                             size_t count,
                                             json_t **out_overrides);

// Called once a request, by one thread at a time, in the order in which they end. `compiled` may be
// emptied by taking its members; what is left is freed after the call. An error stops the whole
// (after what is running).
typedef hsc_status *(*hsc_compile_done)(void *user, size_t index, hsc_compiled *compiled);
// Shares requests out to `job_count` workers made from `options` (more workers than requests are
// not started). stop: not 0 = take no new request; may be NULL.
HSC_MUST_USE hsc_status *hsc_compile_many(const hsc_lab_worker_options *options,
                                          int job_count,
                                          const hsc_compile_request *requests,
                                          size_t count,
                                          const volatile int *stop,
                                          hsc_compile_done done,
                                          void *user);
