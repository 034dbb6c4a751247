// backend.h - what a conformance test runs programs on: the reference evaluator, or the built-in device.
#pragma once

#include "hlo/hlo.h"

typedef struct backend backend;

// "evaluator" or "cpu". Errors: INVALID_ARGUMENT for another name, and the device's.
HSC_MUST_USE hsc_status *backend_open(const char *name, backend **out_backend);
void backend_close(backend *target);
const char *backend_name(const backend *target);

// Runs the module once. `arguments` are literals of the parameters' shapes; the result lives in the arena.
// Errors: UNIMPLEMENTED for what is not built, and the backend's. *out_ns (may be NULL): how long the run took, compilation left out.
HSC_MUST_USE hsc_status *backend_run(backend *target, const hsc_module *module, int argument_count, hsc_literal *const *arguments, hsc_arena *arena,
                                     hsc_literal **out_result, int64_t *out_ns);
