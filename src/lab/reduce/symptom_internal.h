// symptom_internal.h - what the files that look for symptoms share.
#pragma once

#include "lab/reduce/symptom.h"
#include "worker/worker_client.h"

struct hsc_observer {
  hsc_observer_options options;  // device and the like are only borrowed while it is made
  hsc_arena *arena;
  const char *scratch;
  hsc_lab_worker *device, *reference, *substitute;  // NULL where there is none
  int pass_over;  // so many looks ask the substitute at once: the reference took too long
};

typedef struct hsc__run {
  const hsc_looked_at *program;
  const char *save_to;  // directory for the outputs; NULL = not kept
  double perturbation;  // share by which float inputs are moved
  int64_t series;       // timed runs
} hsc__run;
// Runs (compiles, ahead of time) in one of the observer's workers, and lets it forget the program.
HSC_MUST_USE hsc_status *hsc__observer_run(hsc_observer *observer,
                                           hsc_lab_worker *worker,
                                           const hsc__run *run,
                                           hsc_answer *out_answer);
// On the reference; where that takes too long or cannot, on the substitute.
HSC_MUST_USE hsc_status *hsc__observer_reference(hsc_observer *observer,
                                                 const hsc__run *run,
                                                 hsc_answer *out);
