// symptom_internal.h - what the files that look for symptoms share.
#pragma once

#include "lab/reduce/symptom.h"
#include "worker/worker_client.h"

struct hsc_observer {
  hsc_observer_options options;  // device and the like are only borrowed while it is made
  hsc_arena *arena;
  const char *scratch;
  hsc_lab_worker *device, *reference, *substitute;  // NULL where there is none
  // the least work (hsc_looked_at) that took the reference too long, to run and to bound; 0 = none
  double too_much, too_much_to_bound;
  // the most nanoseconds an instruction that a job of the device took, of those that ended; 0: none
  double ns_per_instruction;
};

typedef struct hsc__run {
  const hsc_looked_at *program;
  const char *save_to;  // directory for the outputs; NULL = not kept
  double perturbation;  // share by which float inputs are moved
  int64_t series;       // timed runs
  int64_t limit_ns;     // less than the observer's; 0 = that
} hsc__run;
// Runs (compiles, ahead of time) in one of the observer's workers, which keeps what it compiled for
// another run of the same look.
HSC_MUST_USE hsc_status *hsc__observer_run(hsc_observer *observer,
                                           hsc_lab_worker *worker,
                                           const hsc__run *run,
                                           hsc_answer *out_answer);
// After a look: all workers forget the program that they read and compiled.
HSC_MUST_USE hsc_status *hsc__observer_forget(const hsc_observer *observer);
// On the reference; where that takes too long or cannot, on the substitute.
HSC_MUST_USE hsc_status *hsc__observer_reference(hsc_observer *observer,
                                                 const hsc__run *run,
                                                 hsc_answer *out);
// The "bounds" job of the evaluator: outputs of `directory`, each with its bounds. Outcome
// UNSUPPORTED without asking where the reference is another device, or took too long of late.
HSC_MUST_USE hsc_status *hsc__observer_bounds(hsc_observer *observer,
                                              const hsc_looked_at *program,
                                              const char *directory,
                                              hsc_answer *out);
// How a job ended, in one line; heap.
char *hsc__outcome_words(const hsc_answer *answer);
// symptom_wrong.c
HSC_MUST_USE hsc_status *hsc__look_wrong(hsc_observer *observer,
                                         const hsc_symptom *symptom,
                                         const hsc_looked_at *program,
                                         hsc_observation *out);
