// recorder.h - what the PJRT tracer records besides spans: executions, as one record each.
//
//   hsc__run run = hsc__run_begin(recorder, executable);
//   ...                                                     // the call
//   if (run.span) hsc__run_end(recorder, &run, hsc__run_ticks(recorder), ...);
//
// A call costs two clock reads and one record: 112 bytes with two attributes, 40 where it is much
// like the one before it. While it is under way a mark in the thread's chunk names the executable,
// so that a capture whose program died in it tells. Threads: a run ends on the thread that it began
// on.
#pragma once

#include "hloscope/trace.h"

typedef struct hsc__run {
  uint64_t span, parent, begin_ticks;  // span 0: nothing is recorded
} hsc__run;

// `executable`: an interned name.
hsc__run hsc__run_begin(hsc_recorder *recorder, uint32_t executable);
uint64_t hsc__run_ticks(const hsc_recorder *recorder);  // the recorder's clock
// `name`: of the call. `device_run`, `track`: interned names of the run and of the device's line,
// used where `device_done` says that the device ended with the call; else the caller completes a
// span of its own when it does. `device_bytes`: live on the devices now; UINT64_MAX = not counted.
void hsc__run_end(hsc_recorder *recorder,
                  const hsc__run *run,
                  uint64_t end_ticks,
                  uint32_t name,
                  uint32_t device_run,
                  uint32_t track,
                  bool device_done,
                  uint64_t device_bytes,
                  const hsc_trace_attr *attrs,
                  int attr_count);

// What the process is called from now on, where it learns that late: "process 1/2". Cut at 127
// bytes; without memory the old name stays.
void hsc_recorder_relabel(hsc_recorder *recorder, const char *label);

// Ends the recording and goes on in a new one at `path`: strings keep their numbers, spans that are
// open end nowhere. Other threads may record meanwhile; what they are in the middle of is in the
// old ring. Errors: those of hsc_recorder_open; then nothing is recorded any more.
HSC_MUST_USE hsc_status *hsc_recorder_move(hsc_recorder *recorder, const char *path);
