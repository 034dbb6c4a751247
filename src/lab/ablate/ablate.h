// ablate.h - what a program loses when each pass of its compiler is switched off, one by one.
// docs/commands/passes.md says what is measured.
//
// Structure first: every variant is compiled in a worker process of its own slot, and what the
// compiler made of the program is compared by its canonical fingerprint and by what it needs for
// temporaries, as the fingerprint does not tell the order of instructions. A variant that is the
// baseline in both is the same program and is not timed; equal variants are timed once. Then, where
// the device runs programs, the numbers of every different variant are compared with the
// baseline's, and the different ones are timed against it, interleaved in blocks of random order,
// with placebos (names of passes that do not exist) among them. Every answer of a worker is in the
// store before it is used; an interrupted sweep goes on where it was.
#pragma once

#include <jansson.h>

#include "lab/passes/passes_list.h"
#include "lab/store/store.h"

typedef struct hsc_ablate_options {
  const char *program;
  const char *const *transforms;
  size_t transform_count;
  const hsc_device_spec *device;
  // passes to switch off, by exact name; name_count 0 = every pass that ran
  const char *const *names;
  size_t name_count;
  const char *pattern;   // of them only those that match (POSIX extended); NULL = all
  const char *pipeline;  // only passes that ran in this pipeline; NULL = all
  // only passes of which a run changed the program: switching off another one cannot matter
  bool that_changed;
  bool with_pipelines;  // whole pipelines are switched off too
  bool with_rules;  // single rules that fired are switched off too, where the compiler tells them
  // compile options of every compile, an object; NULL = none. Borrowed
  json_t *overrides;
  int placebo_count;  // names that do not exist, 0 or more
  int jobs;           // compiles at the same time
  bool timing;        // run and time, where the device can
  // timing: fresh processes; 0 = as many as a pilot chooses, 3 at least
  int process_count;
  int block_count;  // blocks in each of them; 0 = as many as a pilot chooses
  // timing ends when no effect's interval is wider to either side; 0 = the pilot aims at the
  // margin, nothing ends by it
  double half_width;
  double budget_s;  // timing ends after this long; 0 = no limit
  // of the whole command, on hsc_now_ns: what is not done by then is left out, and no job goes on
  // after it; 0 = none
  int64_t deadline_ns;
  bool pairs;     // also two at a time, of those that mattered
  int pair_most;  // of at most N passes
  // slowdowns that are marked, shares, the smaller first; 0 = 0.01 and 0.05
  double highlight[2];
  double margin;           // of "same": effects inside 1 / (1 + margin) .. 1 + margin; 0.01
  uint64_t seed;           // of inputs, order and resampling
  int64_t limit_ns;        // for one job of a worker
  const char *command;     // for the store
  const char *executable;  // to start workers with; NULL = the running one
  hsc_store *store;
  bool resume;
  // Called before each task, from the calling thread's side of a lock. May be NULL.
  void (*progress)(void *user, int64_t done, int64_t total, double seconds_left, const char *text);
  int64_t waiting_ns;  // a task that goes on for longer is named meanwhile; 0 = 10 s
  // Called every second, likewise, for such a task: the phase, the variant, for how long. May be
  // NULL.
  void (*waiting)(void *user, const char *phase, const char *variant, double seconds);
  void *user;
  const volatile int *stop;  // not 0: end after the running tasks; NULL = never
} hsc_ablate_options;

// The document of docs/schemas/ablate.json. Errors: the baseline cannot be compiled (what the
// device said), a name that the compiler does not know (INVALID_ARGUMENT, with the nearest), no
// worker, no memory, the store.
HSC_MUST_USE hsc_status *hsc_ablate(const hsc_ablate_options *options, json_t **out_result);
