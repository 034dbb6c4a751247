// passes_time.h - where the time of a compile goes: phases, pipelines, passes, over repeated
// compiles; and a flame graph.
#pragma once

#include <jansson.h>

#include "lab/passes/passes_list.h"

typedef struct hsc_passes_time_options {
  const char *program;
  const char *const *transforms;
  size_t transform_count;
  const hsc_device_spec *device;
  json_t *overrides;  // NULL = none. Borrowed
  // compiles that count, in one process; one more, its first, stands by itself. 0 = as many
  // compiles and processes as a pilot chooses
  int repeats;
  double half_width;  // wanted of the median compile's interval, as a share of it; 0 = none
  double budget_s;    // for all of it; 0 = none
  // of the whole command, on hsc_now_ns: a compile that is not through by then is given up; 0 =
  // none
  int64_t deadline_ns;
  uint64_t seed;           // of the intervals
  int64_t limit_ns;        // for one compile
  const char *executable;  // NULL = the running one
  void (*progress)(void *user, int64_t done, int64_t total, const char *text);  // may be NULL
  void *user;
  const volatile int *stop;
} hsc_passes_time_options;

// The document of docs/schemas/passes_time.json; *out_folded (may be NULL): stacks of the last
// compile, "frame;frame;frame microseconds" a line, as flamegraph.pl and speedscope read them. A
// compile that died or ran out of time: its error, with the pass that was running when the compiler
// says so.
HSC_MUST_USE hsc_status *hsc_passes_time(const hsc_passes_time_options *options,
                                         json_t **out_result,
                                         hsc_bytes *out_folded);
