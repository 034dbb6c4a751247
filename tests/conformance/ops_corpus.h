// ops_corpus.h - the corpus of single-op programs (ops/README.md) for test programs in C: reading
// it, and judging a result.
//
//   hsc_status *check(void *user, const ops_case *one) { run one->hlo on one->arguments;
//   ops_case_judge(...); return NULL; }
//   ops_corpus_each("tests/conformance/ops/dot.json.gz", check, user);
//
// What a case points to lives until the callback returns.
#pragma once

#include "hlo/ir/hlo.h"

// When an element of a result agrees: README.md.
typedef struct ops_agree {
  bool bits, signed_zero;
  int64_t ulp;      // -1 = not given
  double rel, abs;  // < 0 = not given
} ops_agree;

typedef struct ops_case {
  const char *family, *name, *op;
  const char *hlo;   // text of the program
  hsc_arena *arena;  // for the callback's own use
  int argument_count, result_count;
  hsc_literal **arguments;  // [argument_count], by parameter number
  hsc_literal **results;    // [result_count], leaves of the result, as XLA:CPU gave them
  ops_agree *agree;         // [result_count]
} ops_case;

typedef hsc_status *(*ops_case_fn)(void *user, const ops_case *one);
// Calls `run` for every case of the file. A status that it returns ends the walk.
HSC_MUST_USE hsc_status *ops_corpus_each(const char *path, ops_case_fn run, void *user);
// True when the leaf `result` agrees with results[leaf]; else out_why (appended) tells shape, first
// wrong element and both values.
bool ops_case_judge(const ops_case *one, int leaf, const hsc_literal *result, hsc_bytes *out_why);
// How far a leaf of floats is from results[leaf]: the most representable numbers apart, among
// elements that are farther apart than the case's `abs`, and the largest difference as a part of
// the largest finite element. Zero for other types, NaN and infinities left out.
void ops_case_measure(
    const ops_case *one, int leaf, const hsc_literal *result, uint64_t *out_ulp, double *out_part);
