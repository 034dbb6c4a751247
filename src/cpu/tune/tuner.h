// tuner.h - the autotuner of one compilation: which algorithm each dot and convolution gets, from
// where it is known, and what is kept of it.
//
// A product's result is looked for in this order: this compilation; the results that were loaded
// (xla_gpu_load_autotune_results_from); the device's memory; the cache directory, where results of
// this build, this processor and this number of threads stay; then it is measured (autotune.h).
// Threads: one compilation is one thread; the device's memory is shared under a lock.
#pragma once

#include "cpu/tune/autotune.h"
#include "cpu/core/cpu_internal.h"

typedef struct hsc_cpu_tuner hsc_cpu_tuner;

// Reads what the options name. Errors: NOT_FOUND, INVALID_ARGUMENT of those files.
HSC_MUST_USE hsc_status *hsc__cpu_tuner_create(hsc_cpu_device *device,
                                               const hsc_cpu_compile_options *options,
                                               hsc_cpu_tuner **out_tuner);
// As hsc_pass_target.pick_algorithm wants it. Errors: FAILED_PRECONDITION when no algorithm works
// for a convolution and the picker is strict, and when verification failed and that shall end the
// compilation.
HSC_MUST_USE hsc_status *hsc__cpu_tuner_pick(void *tuner,
                                             const hsc_instr *instr,
                                             int64_t *out_algorithm,
                                             const char **out_name);
// Writes what the options name.
HSC_MUST_USE hsc_status *hsc__cpu_tuner_finish(hsc_cpu_tuner *tuner);
void hsc__cpu_tuner_destroy(hsc_cpu_tuner *tuner);

// What a device remembers; NULL until something is put there.
typedef struct hsc_cpu_tuned hsc_cpu_tuned;
void hsc__cpu_tuned_destroy(hsc_cpu_tuned *tuned);

// ---- products as candidates (tune_products.c) ----

typedef struct hsc_tune_products hsc_tune_products;
// Whether there is anything to choose: a dot or convolution of floating-point numbers, not tiny.
bool hsc__tune_wants(const hsc_instr *instr);
// All candidates for the instruction, the default first. `arena` holds them;
// hsc__tune_products_deinit frees what threads write to. direct_only: no algorithm but those that
// add up the products as they are written.
HSC_MUST_USE hsc_status *hsc__tune_products_make(hsc_cpu_device *device,
                                                 const hsc_instr *instr,
                                                 bool direct_only,
                                                 hsc_arena *arena,
                                                 hsc_tune_candidate *out_candidates,
                                                 int *out_count,
                                                 hsc_tune_products **out_products);
void hsc__tune_products_deinit(hsc_tune_products *products);
// "own-packed"; "?" of a number that there is not
const char *hsc_tune_algorithm_name(bool is_conv, int64_t algorithm);
