// validate_internal.h - what the parts of a validation share.
#pragma once

#include "lab/passes/validate.h"
#include "lab/verdict/agreement.h"

typedef struct hsc_validation {
  const hsc_validate_options *options;
  hsc_agreement *agreement;  // every stage is told to it once
  char *scratch;
  hsc_lab_worker *runner;
  const char *runner_text;
  json_t *first_outputs;   // of the stage that the others are compared with; NULL = none ran yet
  const char *first_path;  // its lowered file
  const char *against;     // its name, of the row in `stages`
  bool draws;              // it draws random numbers that each device draws in its own way
  // how rounding moves them (rounding.h); NULL = not asked yet, or the run failed
  json_t *moved;
  bool asked_moved;
  // "outputs" of a "bounds" job of the program; NULL = nothing differed yet, or `no_bounds` says
  // why there are none
  json_t *bounded;
  const char *no_bounds;
  bool asked_bounds;
  bool denormals;  // the bounds allow denormal numbers to be taken for zero, and there are some
  const char *platform;  // of the device whose compiler it is; NULL = not known
  bool beyond_bound;     // what was judged last: beyond a bound
  bool other_nans;       // likewise: NaN on one side only
  double largest;        // difference of any stage so far
  // the largest difference that the evaluator did not confirm: the runner's rounding
  double excused;
  json_t *jumps;          // stages whose difference is several times that of all before
  json_t *stages;         // rows of the document
  json_t *first;          // what the document says of the first difference; NULL = none
  const char *last_good;  // lowered file of the last stage whose numbers were right
  // the last stage that was compared, with its outputs; NULL = the last one was not
  json_t *last_outputs;
  const char *last_directory;
  int timeouts;  // stages in a row that the runner did not get through
} hsc_validation;

// validate_stage.c
// Runs a stage's file on the runner, its outputs as files; perturbation: of its inputs, 0 = none.
HSC_MUST_USE hsc_status *hsc__validate_run(hsc_validation *v,
                                           const char *path,
                                           const char *outputs_dir,
                                           double perturbation,
                                           hsc_answer *answer);
// Why nothing more is run: interrupted, or past the deadline; NULL = it goes on.
const char *hsc__validate_over(const hsc_validate_options *options);
// What a job gets of this limit: no more than is left until the deadline.
int64_t hsc__validate_limit(const hsc_validate_options *options, int64_t limit_ns);
// A row of "stages"; run -1 = none: no pass of the compiler's made it.
json_t *hsc__validate_new_stage(const hsc_pass_row *row, int64_t run);
// A stage that was not compared, and why not.
void hsc__validate_skip(json_t *stage, const char *reason);
// Tells the agreement of a finished stage: compared, or not and why.
void hsc__validate_enter(hsc_validation *v, json_t *stage, hsc_arena *arena);

// validate_judge.c
// "equal", "close", "rounding", "different" over all outputs, with the largest differences, into a
// stage. rows: of hsc_compare_outputs.
HSC_MUST_USE hsc_status *hsc__validate_judge(hsc_validation *v,
                                             json_t *rows,
                                             json_t *stage,
                                             hsc_arena *arena);
// hsc_compare_outputs, with what the program's bounds say of `made`.
HSC_MUST_USE hsc_status *hsc__validate_compare(hsc_validation *v,
                                               json_t *right,
                                               json_t *made,
                                               const char *name,
                                               hsc_arena *arena,
                                               json_t *out_rows);

// validate_instruction.c
// The first instruction of the right stage's entry, in its order, whose value is not that of the
// one that it was matched with. A fusion has the value of its root. `seen`: the difference of the
// outputs where it is beyond a bound, else 0: smaller ones are looked at too. *out_agree: the
// evaluator finds the outputs of both within tolerance. Errors: what the evaluator cannot do, its
// time limit.
HSC_MUST_USE hsc_status *hsc__validate_first_difference(const hsc_validate_options *options,
                                                        const char *before,
                                                        const char *after,
                                                        double seen,
                                                        json_t **out_instruction,
                                                        bool *out_agree);

// validate_final.c
// The executable as the device itself computes it, as one more stage; where the device only
// compiles, none. *out_text: "equal" ... "different", "not_run"; static.
HSC_MUST_USE hsc_status *hsc__validate_final(hsc_validation *v,
                                             hsc_arena *arena,
                                             const char **out_text);
