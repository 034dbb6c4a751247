// tune_search.h - the search among candidates: which are measured, how often, and what is proved.
//
// Pure: what measures is a function of the caller's, so that a test can put a machine there whose
// candidates are all the same (tests/unit/test_tune_search.c).
//
// Round 0 looks at every candidate once; of those that computed the right numbers the best third,
// at most twelve, go on to a round with two processes each, the best four to the last. The last
// round is measured from nothing, with placebos, in at least HSC_LEAST_PROCESSES fresh processes,
// and is judged by hsc_stats_judge. That a candidate was chosen for its luck in earlier rounds
// cannot help it there. Pairs of what helped are a last round of their own.
#pragma once

#include "base/core/status.h"
#include "stats/stats_interleaved.h"

enum { HSC_TUNE_ROUNDS = 3, HSC_TUNE_LAST = 4 };

typedef struct hsc_tune_round {
  int number;          // 0 is the look at all
  const int *members;  // [count] candidates, then placebos from `candidate_count` on
  size_t count;
  int processes, blocks;  // fresh processes, blocks in each
} hsc_tune_round;

// Times of members and of the baseline in the same process and block, [count][processes][blocks];
// NaN = not measured. Round 0 may leave out candidates for good by NaN. *out_end: the time is up or
// somebody wants an end; what was measured stays.
typedef hsc_status *(*hsc_tune_measure)(
    void *user, const hsc_tune_round *round, double *times, double *baseline, bool *out_end);

typedef struct hsc_tune_found {
  double screen;      // ratio of the look; NaN = none
  int rounds;         // that it was in, 0 to HSC_TUNE_ROUNDS
  bool judged;        // it was in the last round, and that has an interval
  hsc_effect effect;  // of the last round
} hsc_tune_found;

typedef struct hsc_tune_plan {
  int candidate_count, placebo_count;
  int last_processes, last_blocks;  // of the last round
  double margin;
  uint64_t seed;
} hsc_tune_plan;

// found: [candidate_count + placebo_count]. *out_ended: the last round was measured and judged.
HSC_MUST_USE hsc_status *hsc_tune_search(const hsc_tune_plan *plan,
                                         hsc_tune_measure measure,
                                         void *user,
                                         hsc_tune_found *found,
                                         bool *out_ended);

// A last round by itself, over given members: effects into `found`.
HSC_MUST_USE hsc_status *hsc_tune_prove(const hsc_tune_plan *plan,
                                        int number,
                                        const int *members,
                                        size_t count,
                                        hsc_tune_measure measure,
                                        void *user,
                                        hsc_tune_found *found,
                                        bool *out_ended);

// Runs of a candidate's first look, of which the shortest counts: as many as the program as it is
// gets (`wanted`), as far as a turn has time for them by the candidate's first run, which is cold.
// The shortest of many is not held against one; a run as long as a turn is enough by itself.
int hsc_tune_look_runs(double first_s, double turn_s, int least, int wanted);
