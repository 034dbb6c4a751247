// patterns.h - the pattern experiment: where the time of a program goes (initialisation, transfer,
// compilation, synchronisation, execution), over graphs and four ways to apply them three times.
// docs/commands/patterns.md says what is measured and how it is computed.
//
// Four phases: starts of the device and the cost of a synchronisation; warm-up and trials of every
// configuration, interleaved in rounds of random order; what the seed of the analysis derives
// beside what is measured; a model of time fitted and checked on measurements that it has not seen.
// Every answer of a worker is in the store before it is used; a worker that dies takes one task
// with it.
//
// The result is one JSON object (docs/schemas/patterns.schema.json); text and Markdown are made
// from it (hsc_patterns_text, hsc_patterns_markdown), so that a stored result can be shown again.
#pragma once

#include <jansson.h>

#include "lab/devices/devices.h"
#include "lab/store/store.h"
#include "report/page_lead.h"
#include "report/table.h"

typedef struct hsc_patterns_options {
  const hsc_device_spec *device;
  const char *program;        // NULL = the built-in graphs
  const char *const *graphs;  // names; graph_count 0 = all
  size_t graph_count;
  const char *const *patterns;  // names; pattern_count 0 = all
  size_t pattern_count;
  int64_t warmup_iterations;  // 5
  // of each configuration; 0 = 10, and up to 40 where the interval of the run is wider than
  // half_width
  int64_t measurement_trials;
  double half_width;  // wanted of the median run's interval, as a share of it; 0 = none
  // What the whole is planned to take; 0 = no plan. Trials beyond the tenth end half-way, others
  // from the seventh on with it, and the model is repeated less; what an interval needs is always
  // made.
  double aim_s;
  // of the whole experiment, on hsc_now_ns: what is not done by then is left out; 0 = none
  int64_t deadline_ns;
  bool exclude_first_trial;   // true
  bool enable_device_reinit;  // a new client before every trial
  // what random operations give under vmap: "same", "different"; NULL = an error
  const char *randomness;
  uint64_t seed;           // of inputs, order and resampling
  int64_t task_limit_ns;   // per job of a worker
  const char *command;     // the command line, for the store
  const char *executable;  // to start workers with; NULL = the running one
  hsc_store *store;
  bool resume;  // go on with the last unfinished experiment of the same plan
  // Called before each task. done counts tasks; text is borrowed. May be NULL.
  void (*progress)(void *user, int64_t done, int64_t total, const char *text, int worker_pid);
  void *user;
  const volatile int *stop;  // not 0: end after the running task; NULL = never
} hsc_patterns_options;

// Errors: INVALID_ARGUMENT (unknown graph or pattern: with the nearest name), NOT_FOUND (models),
// what a user's program is refused with, and what starting the device fails with. A failure of
// single configurations is in the result. *out_result is owned by the caller.
HSC_MUST_USE hsc_status *hsc_patterns_run(const hsc_patterns_options *options, json_t **out_result);

// Terminal: tables and the answers to the questions. Markdown: the same, for the "summary" of the
// result.
HSC_MUST_USE hsc_status *hsc_patterns_text(const json_t *result,
                                           const hsc_text_style *style,
                                           hsc_bytes *out);
// Terminal, on one screen: what takes the time, a bar for each graph, the answers in a sentence.
HSC_MUST_USE hsc_status *hsc_patterns_text_short(const json_t *result,
                                                 const hsc_text_style *style,
                                                 hsc_bytes *out);
// The first view of the page (report/page_lead.h); nothing is said where nothing was measured.
void hsc_patterns_lead(const json_t *result, hsc_page_lead *lead);
HSC_MUST_USE hsc_status *hsc_patterns_markdown(const json_t *result, hsc_bytes *out);
