// reduction.h - the smallest program that still shows a symptom.
//
// Candidates are made by the rules of transform/reduce/reduce.h: first cuts through the entry
// computation, then every rule on all of its places, on halves, quarters and single ones, until
// nothing gets smaller. Every candidate is looked at by an observer (symptom.h) in its workers,
// as many at once as there are jobs; the first that shows the symptom, in their order, is taken, so
// the result does not depend on their number. What was seen goes into the store: the same reduction
// again answers from there and goes on where it was stopped.
//
//   hsc_reduction_options o = {.program = "m.hlo", .symptom = s, .observer = {...}, .jobs = 2};
//   hsc_reduction result;
//   HSC_TRY(hsc_reduce_program(&o, &result));
//   ... result.module, result.data, result.observation ...
//   hsc_reduction_deinit(&result);
#pragma once

#include "formats/common/formats.h"
#include "lab/reduce/symptom.h"
#include "lab/dispatch/task_table.h"

typedef struct hsc_reduction_options {
  const char *program;       // path
  const hsc_module *module;  // in place of it; NULL = read the path. Stays the caller's
  json_t *data;              // of its inputs, as jobs take it; NULL = as seeded
  hsc_symptom symptom;
  hsc_observer_options observer;  // scratch is set here
  int jobs;                       // observers; 0 = 1
  double budget_s;                // 0 = none
  bool keep_sizes;                // dimensions and types stay as they are
  hsc_format candidate_format;    // of the files that observers and commands get
  const char *command;            // for the store
  bool fresh;                     // nothing of an interrupted reduction is taken
  hsc_store *store;               // NULL = nothing is kept
  void (*progress)(void *user, int64_t steps, int64_t instructions, const char *rule);
  void *user;
} hsc_reduction_options;

typedef struct hsc_reduction {
  hsc_module *module;   // the smallest; its parameters are arrays
  json_t *data;         // of its inputs: null, an argument number, or a file in `scratch`
  char *scratch;        // files of data; removed by deinit
  hsc_symptom symptom;  // with the signature that was kept; text lies in `arena`
  hsc_arena *arena;
  hsc_observation before, after;  // of the program as it came, and of the smallest
  int64_t instructions_before, instructions_after;
  int64_t looks, steps;  // candidates that were looked at; that were taken
  int64_t remembered;    // looks that the store answered
  double seconds;
  bool complete;         // nothing gets smaller; false: the time budget ended it
  hsc_task_table tasks;  // what was seen of candidates; to be ended by the caller
  json_t *trail;         // of each step: {"rule", "instructions", "seconds"}
  json_t *taken;         // of each step: {"program": file in `scratch`, "data", "seen", "value"}
  // how often the whole showed the symptom, where it may come and go; and from that how many looks
  // at a candidate say that it does not
  int rate_shows, rate_looks, repeats;
} hsc_reduction;
void hsc_reduction_deinit(hsc_reduction *reduction);

// Errors: FAILED_PRECONDITION (the program does not show the symptom: with what was seen), the
// program's own, CANCELLED (what is found so far is in the store), RESOURCE_EXHAUSTED.
HSC_MUST_USE hsc_status *hsc_reduce_program(const hsc_reduction_options *options,
                                            hsc_reduction *out_reduction);
