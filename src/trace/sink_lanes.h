// sink_lanes.h - spans of one thread that overlap without nesting (asynchronous work) are laid on
// lanes beside it, so that every lane nests.
#pragma once

#include "trace/capture.h"

enum { HSC__MAX_LANES = 64, HSC__MAX_NESTING = 256 };

// Open spans of one lane, as a stack of end times.
typedef struct hsc__lane {
  int64_t ends[HSC__MAX_NESTING];
  int depth;
} hsc__lane;

typedef struct hsc__lanes {
  hsc__lane *list[HSC__MAX_LANES];
  int count;
} hsc__lanes;

// One hsc__lanes for each thread of the capture; NULL when memory ran out.
hsc__lanes *hsc__lanes_create(const hsc_capture *capture);
void hsc__lanes_destroy(hsc__lanes *of_threads, const hsc_capture *capture);
// The first lane in which [start, end) nests or follows; events come by rising start. -1 when
// memory ran out.
int hsc__lanes_choose(hsc__lanes *of_thread, int64_t start, int64_t end);

// A name for lane `lane` of the thread: "worker", "worker (2)", "thread 1234".
void hsc__lane_name(const hsc_capture_thread *thread, int lane, char out_name[192]);
