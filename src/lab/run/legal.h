// legal.h - how far a legal computation of a program may be from the evaluator's, for whoever says
// that outputs differ.
//
// A type's tolerance knows nothing of the program: it calls the loss of digits that the program
// asks for a fault, and a last place of the inputs moves only what depends on it. The bound that
// the evaluator derives (hlo/error/error_bounds.h) is of this program on these inputs; where there
// is one, it decides, and where there is none, *out_why_not is to be shown beside the verdict.
#pragma once

#include <jansson.h>

#include "base/core/memory.h"
#include "base/core/status.h"
#include "lab/verdict/agreement.h"
#include "worker/worker_client.h"

typedef struct hsc_legal_options {
  const char *program;
  const char *const *transforms;
  size_t transform_count;
  const char *platform;      // of the device that is looked at (hsc_factor_unit); NULL = as a CPU
  const char *scratch;       // a directory that exists; the outputs' files stay in one below it
  const char *executable;    // to start the evaluator with; NULL = the running one
  uint64_t seed;             // of the inputs
  json_t *data;              // "data" of the jobs; NULL = the seed's. Borrowed
  int64_t limit_ns;          // of the caller's; no more than a minute is taken
  const volatile int *stop;  // NULL = never
  const hsc_worker_memory *memory;  // answers are looked for there first; NULL = none
} hsc_legal_options;

// *out_bounded: "outputs" of a "bounds" job, a new reference; NULL where it cannot be derived, and
// *out_why_not, in `arena`, says why. *out_denormals: the program meets denormal numbers, and the
// bounds allow to take them for zero, as XLA's devices do and StableHLO does not. Errors: no
// process could be started, no memory.
HSC_MUST_USE hsc_status *hsc_legal_derive(const hsc_legal_options *options,
                                          hsc_arena *arena,
                                          json_t **out_bounded,
                                          bool *out_denormals,
                                          const char **out_why_not);

// Whether differences are legal, asked of the same program again and again: what is derived is
// derived once, when the first difference is beyond its type's tolerance.
typedef struct hsc_legal_case {
  hsc_legal_options options;  // .limit_ns is looked at when it is asked
  hsc_arena *arena;           // of the text; the caller's
  bool asked, denormals;
  bool draws;           // the program draws random numbers of the device's own: nothing is derived
  json_t *bounded;      // hsc_legal_derive's; NULL = not asked, or none
  const char *why_not;  // NULL = not asked, or there are bounds
} hsc_legal_case;
void hsc_legal_case_deinit(hsc_legal_case *legal);
// Derives the bounds, unless it was tried before.
HSC_MUST_USE hsc_status *hsc_legal_ask(hsc_legal_case *legal);
// Rows of hsc_compare_outputs(left, right): where one is beyond its type's tolerance and what
// `moved` allows (rounding.h; NULL = not measured), both sides are held against the bounds, a NULL
// one of them not (it is the evaluator). Each row then has the verdict that it comes to ("equal",
// "close", "rounding", "different") and "decided_by": "bits", "type", "bound", "measured".
HSC_MUST_USE hsc_status *hsc_legal_settle(
    hsc_legal_case *legal, json_t *left, json_t *right, const json_t *moved, json_t *rows);
// {"derived", "reason", "denormals"}, null where nobody asked. A new reference.
json_t *hsc_legal_json(const hsc_legal_case *legal);

// Puts what the bounds say of `made` into the rows of a comparison of it (hsc_compare_outputs):
// "share" and its companions. Rows that have them already, of the other side, keep the worse. Where
// the outputs are not those of the bounds, nothing is put. `small`: rows within their type's
// tolerance too, which a bound may call different (a sum of whole numbers off by one place); false:
// they stay close. Errors: of reading the outputs.
HSC_MUST_USE hsc_status *hsc_legal_hold(json_t *bounded, json_t *made, bool small, json_t *rows);

// What a row comes to. A bound decides, then the type's tolerance (both times `tolerance`), then
// what a last place of the inputs makes of the outputs (`moved`, rounding.h; NULL = not measured).
hsc_finding hsc_row_finding(json_t *row, const json_t *moved, size_t output, double tolerance);
// Whether any row comes to DIFFERENT, at the type's tolerance itself.
bool hsc_any_beyond(json_t *rows, const json_t *moved);
