// reduction_internal.h - what the files of a reduction share.
#pragma once

#include "base/core/map.h"
#include "lab/reduce/reduction.h"
#include "transform/reduce/reduce.h"

enum { HSC__MOST_JOBS = 16 };

// A program that may take the place of the smallest so far.
typedef struct hsc__candidate {
  hsc_module *module;
  json_t *data;
  char key[80];  // fingerprint of the program and of its inputs
  hsc_observation seen;
  bool known_before;  // `seen` is what an earlier look or the store said
} hsc__candidate;
void hsc__candidate_deinit(hsc__candidate *candidate);

typedef struct hsc__reducer {
  const hsc_reduction_options *options;
  hsc_reduction *result;  // module and data are the smallest so far
  hsc_observer *observers[HSC__MOST_JOBS];
  int jobs;
  hsc_map *seen;    // key -> text "shows" or "hides"; keys in the result's arena
  hsc_map *values;  // of the smallest so far: name of an instruction -> path of its value
  int64_t start_ns;
  int64_t file_count;
  const char *rule;        // that is being tried
  const char *first_path;  // of the original, flat
  bool missed;             // a candidate did not show it at the first look
  int repeats;             // looks at a candidate before it is said not to show it
} hsc__reducer;

bool hsc__reducer_is_late(const hsc__reducer *r);

// A candidate from what a rule made of the smallest program so far: takes reduced->module. Inputs
// are those of before, cut and converted where their shapes changed, and the values of instructions
// that became parameters. module NULL: nothing comes of it.
HSC_MUST_USE hsc_status *hsc__candidate_make(hsc__reducer *r,
                                             hsc_reduced *reduced,
                                             hsc__candidate *out_candidate);
// Looks at candidates, in parallel; *out_first: the first that shows the symptom, -1 = none. It has
// become the smallest program then.
HSC_MUST_USE hsc_status *hsc__candidates_try(hsc__reducer *r,
                                             hsc__candidate *candidates,
                                             int count,
                                             int *out_first);
// reduction_rate.c
// How often the whole is looked at until it shows the symptom.
int hsc__first_looks(const hsc__reducer *r);
// Whether so many looks, the first of them at start_ns, are enough to say that it does not show.
bool hsc__repeat_is_over(int repeats, int looks, int64_t start_ns);
// Counts how often the whole shows the symptom, and sets r->repeats. `misses`: it has not in some
// look already.
HSC_MUST_USE hsc_status *hsc__reduce_rate(hsc__reducer *r, bool misses);
// One look at the smallest program so far; nothing of it is kept.
HSC_MUST_USE hsc_status *hsc__look_at_smallest(hsc__reducer *r, bool *out_shows);

// Simpler values for the inputs: zeros, ones, small whole numbers.
HSC_MUST_USE hsc_status *hsc__reduce_inputs(hsc__reducer *r);
