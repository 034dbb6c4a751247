// backend.h - what a conformance test runs programs on: the reference evaluator, or the built-in
// device.
#pragma once

#include "hlo/ir/hlo.h"

typedef struct backend backend;

// "evaluator" or "cpu". Errors: INVALID_ARGUMENT for another name, and the device's.
HSC_MUST_USE hsc_status *backend_open(const char *name, backend **out_backend);
void backend_close(backend *target);
const char *backend_name(const backend *target);

// A module made ready: compiled where there is something to compile. It borrows the module and the
// backend.
typedef struct backend_program backend_program;
// flags: switches passes on and off, as in XLA_FLAGS; NULL = none. Errors: UNIMPLEMENTED for what
// is not built, and the backend's.
HSC_MUST_USE hsc_status *backend_compile(backend *target,
                                         const hsc_module *module,
                                         const char *flags,
                                         backend_program **out_program);
void backend_program_release(backend_program *program);
// What is run: the optimised module on the device, the module itself on the evaluator. Borrowed.
const hsc_module *backend_program_module(const backend_program *program);
// Runs it once. `arguments` are literals of the parameters' shapes; the result lives in the arena.
// *out_ns (may be NULL): how long the run took.
HSC_MUST_USE hsc_status *backend_program_run(backend_program *program,
                                             int argument_count,
                                             hsc_literal *const *arguments,
                                             hsc_arena *arena,
                                             hsc_literal **out_result,
                                             int64_t *out_ns);

// Compiles with the flags of XLA_FLAGS, and runs once.
HSC_MUST_USE hsc_status *backend_run(backend *target,
                                     const hsc_module *module,
                                     int argument_count,
                                     hsc_literal *const *arguments,
                                     hsc_arena *arena,
                                     hsc_literal **out_result,
                                     int64_t *out_ns);
