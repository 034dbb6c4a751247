// run_series.h - timed runs of a program on a device, in blocks: each block is a "run" job of a
// worker, its counters say why a run was slow.
#pragma once

#include <jansson.h>

#include "lab/run/sampling_document.h"
#include "worker/worker_client.h"

typedef struct hsc_run_series {
  hsc_sampling sampling;  // levels: run, block
  json_t *blocks;         // answers of the jobs, in order
} hsc_run_series;

// options: lower and upper are set here. once_s: what one run took; NaN = unknown.
void hsc_run_series_init(hsc_run_series *series,
                         const hsc_sampling_options *options,
                         double once_s);
void hsc_run_series_deinit(hsc_run_series *series);
// Lets a worker that has run the program make the next block: a copy of `request`, a "run" job of
// this program, with as many runs as are due. spread: others use the processor between blocks, so
// one run warms up before each but the first. out_answer: the job's, owned by the caller; when its
// outcome is not OK nothing was added.
// Errors: those of hsc_lab_worker_call, RESOURCE_EXHAUSTED.
HSC_MUST_USE hsc_status *hsc_run_series_block(hsc_run_series *series,
                                              hsc_lab_worker *worker,
                                              const json_t *request,
                                              int64_t limit_ns,
                                              bool spread,
                                              hsc_answer *out_answer);
// The answer of a block's job (docs/formats/worker.md); spent_s: how long the whole job took.
// Errors: INVALID_ARGUMENT (no runs in it), RESOURCE_EXHAUSTED.
HSC_MUST_USE hsc_status *hsc_run_series_add(hsc_run_series *series, json_t *answer, double spent_s);
// Runs that were made without blocks (the evaluator's): one block, nothing was chosen. Without runs
// in it: nothing.
void hsc_run_series_take(hsc_run_series *series, json_t *answer);
// All blocks as one answer: {"series": {"run_ns": [...], ..., "block_count": [...]},
// "throttled_ns", "waited_ns"}. The caller owns it; NULL = no memory.
json_t *hsc_run_series_answer(const hsc_run_series *series);
// hsc_sampling_statistics with the causes of slow runs: page faults, switches, throttling, others
// that waited for a processor.
HSC_MUST_USE hsc_status *hsc_run_series_statistics(const hsc_run_series *series,
                                                   const char *name,
                                                   uint64_t seed,
                                                   json_t **out_row);
