// tune_internal.h - what the parts of a tuning share.
#pragma once

#include "hlo/ir/hlo.h"
#include "lab/tune/tune.h"
#include "lab/devices/compiler_flags.h"
#include "lab/dispatch/task_table.h"
#include "lab/tune/tune_search.h"
#include "worker/worker_client.h"

typedef enum tune_kind {
  TUNE_OPTION,
  TUNE_PASS,
  TUNE_CHANGE,
  TUNE_PAIR,
  TUNE_PLACEBO,
} tune_kind;
const char *hsc__tune_kind_text(tune_kind kind);  // "option", "pass", "change", "pair", "placebo"

// Texts live in the run's arena.
typedef struct tune_candidate {
  tune_kind kind;
  const char *name, *value;  // of an option; of a pass its name and NULL
  const char *why;           // why it is tried
  const char *risk;          // what is given up beyond the numbers; NULL = nothing known
  const char *program;       // of a change: the changed file; NULL = as it is
  const char *transform;     // of a change: "vmap:8"; NULL = none
  json_t *data;              // of a change: "data" of its runs; NULL = as the seed makes it
  double parts;              // runs of the program that one of this is worth, 1 or more
  bool memory_only;          // cannot be timed here: donation
  int first, second;         // of a pair
  json_t *overrides;         // what is added to every compile's, an object
  double weight;             // how early it is tried: larger first
  // what it came to
  hsc_outcome outcome;
  bool tried;
  char *message;
  double compile_s, run_s;
  double temp_bytes, peak_bytes, kernels;  // NaN = not known
  json_t *facts;                           // of the compiled program, as described
  json_t *numbers;                         // {"verdict", "max_ulp", "max_abs"}; NULL = not compared
  bool usable;                             // it runs, and its numbers are right
  hsc_tune_found found;
} tune_candidate;

typedef struct tune_run {
  const hsc_tune_options *options;
  hsc_arena *arena;
  char *scratch;
  hsc_flags flags;
  const char *flags_from;  // the library that told them; NULL = none, and why
  const char *no_flags;
  tune_candidate *items;  // [count], 0 is the program as it is, placebos last before pairs
  int count, capacity;
  int candidate_count;  // items 1 to candidate_count are tried; placebos follow
  int left_out;         // options that are never tried, by the rules
  int first_pair;       // pairs are from here on; 0 = none
  hsc_task_table tasks;
  hsc_task_setting setting;  // of every worker; its deadline is that of the budget
  bool interrupted, out_of_time;
  double earlier_s;
  int64_t started_ns;
  json_t *environment, *device;
  json_t *bounded;  // how far a legal computation may be from `truth` (legal.h); NULL = not asked
  bool asked_bounds;
  json_t *truth, *outputs, *rounding;
  const char *truth_by, *no_truth;
  const char *truth_of;   // what the numbers are held against: "reference", "the program as it is"
  int processes, blocks;  // of the last round
  bool searched;          // the last round was made
  bool only_compiles;     // the device does not run programs
  bool structure_only;    // tuned for memory and kernels
} tune_run;

bool hsc__tune_stopped(tune_run *run);
int64_t hsc__tune_limit(const tune_run *run);
double hsc__tune_seconds(const tune_run *run);
// Frees run->items with all that they own; run has none afterwards.
void hsc__tune_release_candidates(tune_run *run);
hsc_status *hsc__tune_add(tune_run *run,
                          tune_kind kind,
                          const char *name,
                          const char *value,
                          const char *why,
                          double weight,
                          tune_candidate **out_candidate);

// tune_candidates.c: all of them, the ones that are tried first in front.
HSC_MUST_USE hsc_status *hsc__tune_find_flags(tune_run *run);
HSC_MUST_USE hsc_status *hsc__tune_candidates(tune_run *run);
// Values worth trying of an option, in the arena; *out_count 0 where its setting is not known.
HSC_MUST_USE hsc_status *hsc__tune_values(const hsc_flag *flag,
                                          hsc_arena *arena,
                                          const char ***out_values,
                                          size_t *out_count);
// Why an option is never tried on a device; NULL = it is tried.
const char *hsc__tune_leave(const char *device, const hsc_flag *flag);
const char *hsc__tune_risk(const char *name);  // NULL = none known

// tune_change.c: changes of the program itself.
HSC_MUST_USE hsc_status *hsc__tune_changes(tune_run *run);

// tune_measure.c
HSC_MUST_USE hsc_status *hsc__tune_baseline(tune_run *run);
// Of a search: user is a tune_members.
typedef struct tune_members {
  tune_run *run;
  const int *items;  // the search's numbers to items; NULL = item 1 + number
  const char *name;  // of its tasks in the store
} tune_members;
HSC_MUST_USE hsc_status *hsc__tune_measure(
    void *user, const hsc_tune_round *round, double *times, double *baseline, bool *out_end);
// Compiles every candidate: memory and kernels, where the device does not run programs.
HSC_MUST_USE hsc_status *hsc__tune_structure(tune_run *run);
HSC_MUST_USE hsc_status *hsc__tune_compile_as_it_is(tune_run *run);
// tune_compile.c: the search, by compile times.
HSC_MUST_USE hsc_status *hsc__tune_compile_times(tune_run *run);
// Runs a candidate once: its numbers decide whether it is usable.
HSC_MUST_USE hsc_status *hsc__tune_check_numbers(tune_run *run,
                                                 hsc_lab_worker **worker,
                                                 tune_candidate *candidate);
json_t *hsc__tune_request(const tune_run *run, const char *job, const tune_candidate *candidate);

// tune_document.c
HSC_MUST_USE hsc_status *hsc__tune_document(tune_run *run, json_t **out_result);
// A string, null where the text is empty; frees the text.
json_t *hsc__tune_text(hsc_bytes *text);

// tune_paste.c
// Sets "flags", "flags_tried", "flags_refused" and "python" of an answer: what a user pastes to
// have this candidate. The flags are tried in a fresh worker; null where the compiler refuses them.
HSC_MUST_USE hsc_status *hsc__tune_put_lines(tune_run *run,
                                             const tune_candidate *c,
                                             json_t *answer);
