// records_internal.h - the way of a record, for the code that runs thunks.
#pragma once

#include "cpu/runtime/records.h"

typedef struct hsc_cpu_recording hsc_cpu_recording;  // one run on one thread

// NULL when no session records, or there is no room. Every begin that gives one is followed by an
// end.
hsc_cpu_recording *hsc__cpu_recording_begin(hsc_cpu_executable *executable);
void hsc__cpu_recording_end(hsc_cpu_recording *recording, bool keep);
// A slot for the thunk that begins; complete it when the thunk is done. NULL = no room: the run is
// lost.
hsc_cpu_thunk_record *hsc__cpu_recording_take(hsc_cpu_recording *recording);
