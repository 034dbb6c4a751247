// autotune.h - times the ways in which a product can be done, on this machine, and says which is
// best.
//
// One problem is two inputs, one output and candidates. Everything a candidate may write to lies in
// one block, with red zones around each part:
//
//   | zone | input 0 | zone | input 1 | zone | output | zone | scratch | zone |
//
// Levels, as xla_gpu_autotune_level has them: 1 times only (buffers hold zeros); 2 fills inputs and
// output with random numbers first; 3 fills them again after each candidate; 4 also looks at the
// red zones, and compares the output with that of the first candidate that works (the reference).
// Candidates take turns, so that what else the machine does meets all of them; one that is far
// behind is left out of later turns. The first candidate that works stays unless another is at
// least 3 % faster.
// Memory: results in the caller's arena; the block is freed. One thread calls; candidates may use
// others.
// Source: xla/service/gpu/autotuning/conv_algorithm_picker.cc, xla/xla.proto (levels).
#pragma once

#include "formats/common/autotune_results.h"
#include "hlo/ir/hlo.h"

typedef struct hsc_tune_candidate {
  int64_t algorithm;
  const char *name;
  const char *refused;    // why it cannot do this problem; NULL = it can
  int64_t scratch_bytes;  // that it may write to, 64-byte aligned
  // Reads inputs, writes the output. An error disqualifies it.
  hsc_status *(*run)(void *context, void *const *inputs, void *output, void *scratch);
  void *context;
} hsc_tune_candidate;

typedef struct hsc_tune_problem {
  const hsc_shape *inputs[2];  // arrays of floating-point numbers
  const hsc_shape *output;
  const hsc_tune_candidate *candidates;  // [candidate_count]
  int candidate_count;
} hsc_tune_problem;

// FIRST_FAULT: numbers of faults on purpose
enum { HSC_TUNE_REDZONE_BYTES = 4096, HSC_TUNE_MAX_CANDIDATES = 32, HSC_TUNE_FIRST_FAULT = 1000 };

// *out_results: [candidate_count] in the order of the candidates; *out_best -1 when none works.
// Errors: RESOURCE_EXHAUSTED only.
HSC_MUST_USE hsc_status *hsc_autotune_run(const hsc_tune_problem *problem,
                                          int level,
                                          hsc_arena *arena,
                                          hsc_autotune_result **out_results,
                                          int32_t *out_best);
