// random_module.h - random valid programs for property tests: what comes out verifies, prints,
// parses, evaluates and compiles.
//
//   hsc_module *module;
//   EXPECT_OK(random_module_create(seed, NULL, &module));
//
// The same seed and options give the same module. Floats stay in about [-4, 4], away from poles,
// unless `unbounded`: then NaN and infinity come up too. With `smooth` every float result depends
// continuously on the floats that it is made of (no comparison, rounding or conversion of a float
// decides anything), so that two implementations whose sums round differently still agree within a
// small tolerance.
#pragma once

#include "hlo/ir/hlo.h"

typedef enum random_feature {
  RANDOM_CALLS = 1 << 0,     // call, fusion, map
  RANDOM_LOOPS = 1 << 1,     // while with 0 to 4 trips, nested
  RANDOM_BRANCHES = 1 << 2,  // conditional by pred and by index (also out of range)
  // reduce (also of pairs), reduce-window, select-and-scatter, sort, topk
  RANDOM_REDUCTIONS = 1 << 3,
  RANDOM_CONTRACTIONS = 1 << 4,  // dot, convolution
  RANDOM_INDEXING = 1 << 5,      // dynamic-slice, dynamic-update-slice, gather, scatter
  // beyond f32, s32 and pred: u8 to u64, s8 to s64, f16, bf16, f64, c64
  RANDOM_TYPES = 1 << 6,
  RANDOM_ALGEBRA = 1 << 7,  // batch-norm, cholesky, triangular-solve, fft
  RANDOM_EMPTY = 1 << 8,    // dimensions of size 0
  // operations between devices with one participant, marks of sharding, optimization barriers
  RANDOM_ALONE = 1 << 9,
  RANDOM_BITS = 1 << 10,  // random bits, bitcast-convert to other widths
  // parts of arrays worked on alike, transposed weights, tuples taken apart, long sums, total order
  RANDOM_IDIOMS = 1 << 11,
  // operations in the forms that are rare: general dimension numbers, several operands, states of
  // loops that are nested (random_forms.c)
  RANDOM_FORMS = 1 << 12,
  // f16, bf16, f8, s4, u4, c128 also where results are smooth: those agree within a few of their
  // steps
  RANDOM_NARROW = 1 << 13,
  RANDOM_ALL = (1 << 14) - 1,
} random_feature;

typedef struct random_module_options {
  uint32_t features;      // random_feature
  int instruction_count;  // of the entry computation, about
  int parameter_count;
  int max_rank, max_dim;
  bool unbounded;  // floats of any size
  bool smooth;     // no cliffs; see above
} random_module_options;
// 30 instructions, 3 parameters, rank 3, dimensions to 6; all features but EMPTY and those after
// it
random_module_options random_module_options_default(void);
// Smooth, with features beyond the default ones by the seed.
random_module_options random_module_options_varied(uint64_t seed);

HSC_MUST_USE hsc_status *random_module_create(uint64_t seed,
                                              const random_module_options *options,
                                              hsc_module **out_module);

// The evaluator's result of a module of at most 64 parameters, on arguments by the seed. In the
// arena.
HSC_MUST_USE hsc_status *random_module_evaluate(const hsc_module *module,
                                                uint64_t seed,
                                                hsc_arena *arena,
                                                hsc_literal **out_result);

// Whether two results of a smooth program are the same up to roundings that moved. *out_difference:
// where they are farthest apart. *out_error: not NULL when they cannot be compared (the caller
// frees it); then false.
bool random_results_agree(const hsc_literal *expected,
                          const hsc_literal *result,
                          hsc_difference *out_difference,
                          hsc_status **out_error);
