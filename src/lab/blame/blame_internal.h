// blame_internal.h - what the files of a blame share.
#pragma once

#include "lab/blame/blame.h"
#include "lab/passes/passes_list.h"
#include "lab/verdict/agreement.h"
#include "worker/worker_client.h"

typedef enum hsc__blame_verdict {
#define VERDICT(id, word, exit_code, doc) HSC__BLAME_##id,
#include "lab/blame/blame_verdicts.def"
#undef VERDICT
  HSC__BLAME_VERDICTS
} hsc__blame_verdict;

// What outputs are against the right ones.
typedef struct hsc__distance {
  bool known;         // false: they cannot be compared
  bool wrong;         // beyond the bound
  bool beyond_type;   // beyond what the type's precision alone allows
  double most;        // the largest difference of any element of any output
  double seen;        // with a derived bound, of the element that is worst against its own
  double bound;       // that this output, or this element, may differ by
  double share;       // times its bound; infinite beside an exact value, or for NaN
  bool derived;       // the bound is derived from the program; false: it was measured
  int output;         // which one that is
  int64_t nans;       // elements that are NaN on one side only
  int64_t boundless;  // elements of all outputs that differ, and may be anything
} hsc__distance;

// What is right, on one set of inputs.
typedef struct hsc__right {
  json_t *outputs;  // of the reference; NULL = none
  const char *by;   // who computed them
  const char *why;  // why there are none
  bool is_late;     // because the reference did not end in time
  bool is_unknown;  // because we have no meaning for something in the program
  json_t *moved;    // what a last place of the inputs does to them; NULL = not asked, or failed
  bool asked_moved;
  double least_share;  // of an output's size that the narrowest type computed with rounds by
  json_t *bounded;     // outputs of a "bounds" job of the program; NULL = not asked, or not derived
  json_t *origins;     // its answer: "nan", "infinity", "lost_digits", ...; NULL likewise
  bool asked_bounds;
} hsc__right;

typedef struct hsc__blame {
  const hsc_blame_options *options;
  hsc_arena *arena;
  char *scratch;
  hsc_lab_worker *device, *reference, *substitute;
  int64_t start_ns;
  hsc_symptom symptom;
  bool has_symptom;
  hsc__right right;
  json_t *data;        // inputs in place of the seed's, as jobs take them; NULL = the seed's
  const char *inputs;  // which kind of generated inputs the symptom shows on; NULL = the given ones
  bool derived;        // what the verdict rests on is a derived bound
  bool other_shapes;   // the outputs are not of the reference's number or shapes
  bool draws;          // random numbers of the device's own
  int directories;

  hsc_agreement *agreement;  // of everything that the verdict rests on
  json_t *evidence;          // [{"question", "answer"}], in the order of asking
  hsc_pass_list list;        // passes of the compile; row_count 0 = not known
  bool listed;

  hsc__blame_verdict verdict;
  int runs, shows;  // of the device; how many showed the symptom
  bool has_rate;    // of shows in runs: it does not show in all of them, or does not always
  double bound, seen, most;     // of the distance that the verdict rests on
  int64_t nans;                 // likewise
  const char *pass, *pipeline;  // NULL = none
  int64_t run;                  // of the pass; -1 = none
  int64_t rewrite;              // -1 = not known
  const char *rule;             // that the rewrite was by, "algsimp/add-zero"; NULL = not known
  json_t *instruction;          // as `passes validate` has it; NULL = none
  const char *source;           // "file.py:12" or the name of the framework's operation
  json_t *repaired_by;          // names of passes
  json_t *tied;                 // passes whose absence repairs a cost as well as `pass`'s
  json_t *stages;               // the document of the stages; NULL = none
  json_t *versions;             // what the device says of itself; NULL = it never got so far
  hsc_bytes headline;
} hsc__blame;

// One job on a worker: a run, or with `compile` only a compile.
typedef struct hsc__trial {
  const char *program;  // NULL = the program
  json_t *overrides;    // NULL = those of the options
  const char *save_to;  // NULL = outputs are not kept
  double perturbation;
  bool compile;
  int executions;  // of the executable, of which the last one's outputs count; 0 = 1
} hsc__trial;

// blame_journal.c
// For the workers of the blame; NULL = none.
const hsc_worker_memory *hsc__journal_memory(const hsc_blame_journal *journal);
// Where the blame's files lie; NULL = no journal.
const char *hsc__journal_directory(const hsc_blame_journal *journal);
// Whether an earlier process left answers.
bool hsc__journal_is_resumed(const hsc_blame_journal *journal);
// What the device says of itself: what another one answered earlier is not taken for its answers.
HSC_MUST_USE hsc_status *hsc__journal_meet(hsc_blame_journal *journal, json_t *versions);

// blame_steps.c
// Errors: CANCELLED, the worker's, the journal's.
HSC_MUST_USE hsc_status *hsc__blame_run(hsc__blame *b,
                                        hsc_lab_worker *worker,
                                        const hsc__trial *trial,
                                        hsc_answer *out_answer);
// A new directory for outputs, in the arena.
const char *hsc__blame_directory(hsc__blame *b);
// One line of evidence.
void hsc__blame_tell(hsc__blame *b, const char *question, const char *format, ...) HSC_PRINTF(3, 4);
// Outputs in this directory are not needed any more.
void hsc__blame_done_with(const hsc__blame *b, const char *directory);
bool hsc__blame_is_late(const hsc__blame *b);
// What the device says of itself becomes b->versions, once.
HSC_MUST_USE hsc_status *hsc__blame_note_versions(hsc__blame *b);
// "abort: Check failed: ... (file.cc:12)", in the arena.
const char *hsc__blame_words(hsc__blame *b, const hsc_answer *answer);

// blame_symptom.c
// Runs the device, asks the reference: the symptom, how often it shows, and where that is an answer
// already, the verdict. *out_decided: it is.
HSC_MUST_USE hsc_status *hsc__blame_find(hsc__blame *b, bool *out_decided);
// Asks the reference: fills b->right.outputs, or why there are none.
HSC_MUST_USE hsc_status *hsc__blame_reference(hsc__blame *b);
void hsc__blame_right_deinit(hsc__right *right);
// "by up to 0.1, and 0.02 is the bound": by how much outputs are off, where the largest difference
// is another element's than the one that is worst against its bound with both. In the arena.
const char *hsc__blame_by_how_much(hsc__blame *b);
// Whether denormal numbers are in the program's way, which XLA's devices take for zero.
bool hsc__blame_denormals(const hsc__blame *b);
// What of the order of equal things the program leaves open; NULL = nothing, or not known.
const char *hsc__blame_choice(const hsc__blame *b);
// A run that was wrong (HSC_OUTCOME_OK) or did not get through is what is followed.
void hsc__blame_show(hsc__blame *b, hsc_outcome outcome, const hsc__distance *distance);
// Outputs against the right ones: b->right.outputs, or another run's.
HSC_MUST_USE hsc_status *hsc__blame_distance(hsc__blame *b,
                                             json_t *right,
                                             json_t *outputs,
                                             hsc__distance *out_distance);
// Whether the symptom shows with these compile options. *out_known false: the device could not do
// it at all (a pass that it cannot do without).
HSC_MUST_USE hsc_status *hsc__blame_shows(hsc__blame *b,
                                          json_t *overrides,
                                          bool *out_shows,
                                          bool *out_known);
// What the symptom counts (costs only) with these compile options, in a process of its own, of the
// device or of the one that it is held against: seconds or bytes; NaN = it cannot be measured.
HSC_MUST_USE hsc_status *hsc__blame_measure(hsc__blame *b,
                                            json_t *overrides,
                                            bool against,
                                            double *out_cost);

// blame_again.c
// The questions that the verdict rests on, once more: without any change, and without each pass
// whose absence repairs it. Another answer than the first makes the device not deterministic, and
// nobody else is accused.
HSC_MUST_USE hsc_status *hsc__blame_ask_again(hsc__blame *b);
// The device answers now so, now so: the verdict, with how often in more runs. `what` names the
// symptom in a sentence: "wrong", "ends with abort: ...".
HSC_MUST_USE hsc_status *hsc__blame_flaky(hsc__blame *b, const char *what);
// Evidence that so many runs without a fault say little of a rare one.
void hsc__blame_tell_rare(hsc__blame *b);

// The first stage of a compile that is no program, or whose result has another shape.
typedef struct hsc__broken_stage {
  const char *pass, *pipeline;  // that made it; pass NULL = there is none
  int64_t run;
  const char *why;
} hsc__broken_stage;

// blame_stages.c
// Reads the dumps of a compile from the first on; texts of *out are in the arena.
HSC_MUST_USE hsc_status *hsc__blame_first_broken(hsc__blame *b,
                                                 const hsc_pass_list *list,
                                                 hsc__broken_stage *out);

// blame_untold.c
// From here on the device's processes log each pass; hsc__blame_log_no_more ends that, with what
// this one returns.
unsigned hsc__blame_log_passes(hsc__blame *b);
void hsc__blame_log_no_more(hsc__blame *b, unsigned ours);
// The pass in which a job of such a process ended, by its log or its status; NULL = nothing tells.
const char *hsc__blame_running_pass(hsc__blame *b, const hsc_answer *answer);
// b->list gets a row for a pass that it lacks; NULL does nothing.
void hsc__blame_list_running(hsc__blame *b, const char *running);
// The stages name a pass and its absence does not repair it: the fault may be that of one before it
// that says it changed nothing. Where the absence of such a one repairs it, that is the verdict.
HSC_MUST_USE hsc_status *hsc__blame_untold(hsc__blame *b);

// blame_inputs.c
// The device on each kind of blame_inputs.def. *out_shows: it is wrong on one, or does not get
// through; b->data, b->right and the symptom are that one's then, else as they were.
HSC_MUST_USE hsc_status *hsc__blame_try_inputs(hsc__blame *b, bool *out_shows);

// blame_zip.c
// Files of a directory into a zip archive; one that would make it larger than the limit is left
// out. Errors: a file that cannot be read, no memory.
HSC_MUST_USE hsc_status *hsc__blame_zip(
    const char *directory, const char *const *names, int count, size_t limit_bytes, hsc_bytes *out);

// blame_origin.c
// Fills b->bounded and b->origins, once; a program of which the analysis cannot be made leaves them
// NULL.
HSC_MUST_USE hsc_status *hsc__blame_bounds(hsc__blame *b);
// The first instruction, in the order of evaluation, that makes a NaN of operands without one, as
// the schema's "instruction"; NULL = the outputs have none, or the evaluator cannot say. What is to
// be said of infinities and lost digits becomes evidence.
HSC_MUST_USE hsc_status *hsc__blame_nan_origin(hsc__blame *b, json_t **out_instruction);

// blame_pass.c
// Which pass, or what is below them; sets the verdict.
HSC_MUST_USE hsc_status *hsc__blame_wrong(hsc__blame *b);
HSC_MUST_USE hsc_status *hsc__blame_end(hsc__blame *b);  // crash, error, hang
// A check that could not be made.
void hsc__blame_gap(hsc__blame *b, const char *name, const char *reason);
// Fills b->list; where the program cannot be compiled, with the names alone.
HSC_MUST_USE hsc_status *hsc__blame_list_passes(hsc__blame *b);
// The options' overrides and one more; `append`: to a list that it holds already.
HSC_MUST_USE hsc_status *hsc__blame_overrides_with(
    const hsc__blame *b, const char *key, const char *value, bool append, json_t **out);
// Whether the symptom is gone without this pass. *out_known false: the device cannot do without it.
HSC_MUST_USE hsc_status *hsc__blame_without(hsc__blame *b,
                                            const char *name,
                                            bool *out_repaired,
                                            bool *out_known);
// Whether the pass is among those whose absence repairs it.
bool hsc__blame_is_repaired_by(const hsc__blame *b, const char *pass);
// False: it ran and changed nothing.
bool hsc__blame_may_matter(const hsc__blame *b, const char *name);
// The verdict is this pass; run -1 = not known which.
void hsc__blame_take_pass(hsc__blame *b, const char *pass, const char *pipeline, int64_t run);
// The first rewrite of the pass with which the symptom shows, counted from 1; the built-in
// compiler's only.
HSC_MUST_USE hsc_status *hsc__blame_find_rewrite(hsc__blame *b);
// The headline of the verdict.
HSC_MUST_USE hsc_status *hsc__blame_say(hsc__blame *b, const char *what);

// blame_cost.c
HSC_MUST_USE hsc_status *hsc__blame_cost(hsc__blame *b);  // slow, compile, memory
