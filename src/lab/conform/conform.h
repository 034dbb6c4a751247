// conform.h - does a plugin keep the rules of the PJRT C API? One check a rule, each in a process
// that may die.
//
// hsc_conform_run starts `hloscope conform --serve` as a child, which loads the plugin and goes
// through the checks of conform.def. A check that crashes or hangs takes that child with it; the
// next child goes on after it. The plugin is never loaded here.
#pragma once

#include "base/core/bytes.h"
#include "base/core/memory.h"

typedef enum hsc_conform_outcome {
  HSC_CONFORM_PASS,
  HSC_CONFORM_FAIL,
  HSC_CONFORM_CRASH,
  HSC_CONFORM_HANG,
  HSC_CONFORM_NOT_OFFERED,
  HSC_CONFORM_OUTCOME_COUNT
} hsc_conform_outcome;
const char *hsc_conform_outcome_text(
    hsc_conform_outcome outcome);  // "pass", "fail", "crash", "hang", "not_offered"

typedef struct hsc_conform_result {
  const char *id;      // "buffer/round-trip/f32-rank2"
  const char *area;    // "buffer"
  const char *rule;    // what must hold
  const char *source;  // where that is written
  hsc_conform_outcome outcome;
  const char *seen;  // what was seen instead; "" where the check passed
  const char
      *repro;  // a C program that does the calls of the check; "" where it passed or made none
} hsc_conform_result;

typedef struct hsc_conform_options {
  const char *device;      // a plugin's path, or a name that --device takes
  const char *only;        // an area, or the start of an id; NULL = all
  const char *executable;  // the hloscope to start; NULL = the running one
  int64_t timeout_ns;      // of one check; 0 = 20 s
  size_t stop_after;       // that many failures, crashes and hangs end the run; 0 = never
  size_t hangs_max;        // that many hangs do; 0 = 25
  // Called after each check, with how many there are; NULL = nobody wants to know.
  void (*progress)(void *user, size_t done, size_t total, const hsc_conform_result *result);
  void *user;
} hsc_conform_options;

typedef struct hsc_conform_report {
  const char *plugin;       // path
  const char *platform;     // "" where no client could be made
  const char *api_version;  // "0.112"
  hsc_conform_result
      *results;  // [count], in the order of conform.def; everything lies in the caller's arena
  size_t count;
  size_t not_done;  // checks that the end of the run left out
  size_t totals[HSC_CONFORM_OUTCOME_COUNT];
} hsc_conform_report;

// Errors: no such device, the plugin cannot be loaded at all, no check of that name. What a check
// finds is in the report.
HSC_MUST_USE hsc_status *hsc_conform_run(const hsc_conform_options *options,
                                         hsc_arena *arena,
                                         hsc_conform_report *out_report);
// The child's side: does checks [first, ...) and writes one JSON line before and one after each to
// `fd`.
HSC_MUST_USE hsc_status *hsc_conform_serve(const char *device,
                                           const char *only,
                                           size_t first,
                                           int fd);
