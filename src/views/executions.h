// executions.h - what ran: the one definition of an execution for every view, headline and page
// that counts them.
//
// An execution is a call of an executable, on however many devices, with what was recorded of their
// runs; or a run of a device whose call nobody recorded. A process that is killed leaves calls
// whose runs were in nobody's memory but its own: they are executions as well, timed by their call.
// Whether those succeeded nobody knows. A call that was refused ran nothing and is a failure, not
// an execution; so is one whose error came later, by the event of its end.
//
//   hsc__executions ran;
//   HSC_TRY(hsc__executions_of(cx, &ran));
//   for (size_t i = 0; i < ran.count; i++)
//     total += hsc__execution_times_of(&ran, &ran.list[i]).working_ns;
#pragma once

#include "views/views_internal.h"

typedef struct hsc__execution {
  uint32_t call, run;  // places in the capture's events; UINT32_MAX = not recorded; never both.
                       // run: of several devices the one that ended last
  uint32_t first_run;  // the one that began first
  uint32_t run_count;  // devices of which a run was recorded
  bool failed;         // the call was refused, or a device said later that its run failed
  bool failed_later;   // the latter
  bool untimed;        // known by its call alone, which compiled first: no time of a run
  bool end_unknown;    // known by its call alone, of a process that did not end its recording: it
                       // may have been killed before the device was done
} hsc__execution;

typedef struct hsc__executions {
  const hsc_capture *capture;
  hsc__execution *list;  // [count] in the order of their first event; in the view's arena
  size_t count;
  size_t on_device, by_call, failed;  // by how they were timed: together `count`
  size_t untimed, end_unknown;        // of by_call
  hsc__key executable, run_id, total, run, wait, error;
} hsc__executions;

typedef struct hsc__execution_times {
  int64_t total_ns, working_ns, wait_ns;
  bool on_device;
} hsc__execution_times;

// Which events are calls that compiled: [event], in the view's arena. Errors: RESOURCE_EXHAUSTED.
HSC_MUST_USE hsc_status *hsc__calls_that_compile(const hsc__view_context *cx,
                                                 const bool **out_compiles);
// Errors: RESOURCE_EXHAUSTED.
HSC_MUST_USE hsc_status *hsc__executions_of(const hsc__view_context *cx, hsc__executions *out);
// The call, or where there is none the run.
const hsc_event *hsc__execution_event(const hsc__executions *ran, const hsc__execution *x);
const char *hsc__execution_name(const hsc__executions *ran, const hsc__execution *x);  // "" = none
// total: from the call to the device's end. working: the part in which the call itself worked, or
// the device when it went on after it; of several devices from the first one's begin to the last
// one's end. wait: what is left; signed, because two clocks may disagree.
hsc__execution_times hsc__execution_times_of(const hsc__executions *ran, const hsc__execution *x);
