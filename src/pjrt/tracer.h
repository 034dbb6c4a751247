// tracer.h - a plugin that wraps a plugin: forwards every call and records the ones in
// tracer_calls.def into a capture.
//
// The wrapped plugin's table is copied at its full size, slots that this version does not know
// included, and only the recorded slots are replaced: an untraced call costs nothing, and a newer
// plugin works. Extensions pass through untouched. Up to HSC_TRACER_INSTANCES plugins per process.
// The recorder is opened at the first wrap, at $HLOSCOPE_OUTPUT_PATH; without that variable the
// real table is returned as it is. What was recorded survives any end of the process.
// Threads: everything may be called from any thread. Errors are never the traced program's problem:
// a tracer that cannot record says so once on stderr (it is a preloaded library: there is nobody
// else to tell) and stands aside.
#pragma once

#include "hloscope/trace.h"
#include "pjrt/abi.h"

enum { HSC_TRACER_INSTANCES = 4 };

// The wrapped table of the plugin whose entry point is `get_api`; the same one for the same entry
// point. `path` names its file.
const PJRT_Api *hsc_tracer_wrap(GetPjrtApi_Fn *get_api, const char *path);
// An entry point that returns that table: what dlsym answers with. NULL when all instances are
// taken.
GetPjrtApi_Fn *hsc_tracer_entry(GetPjrtApi_Fn *get_api, const char *path);

// The process's recorder, opened at the first call; NULL when nothing is recorded.
hsc_recorder *hsc_tracer_recorder(void);
// A compilation that goes through no plugin: keeps the program, counts it against --max-compiles. 0
// = not recorded.
uint64_t hsc_tracer_compile_begin(const char *format,
                                  const void *code,
                                  size_t code_bytes,
                                  const void *options,
                                  size_t options_bytes);
// A profile that will lie in the capture's folder profiles/ as `file`; `wall_ns` is the wall clock
// of now, which joins the clocks of both.
void hsc_tracer_note_profile(const char *file, int64_t wall_ns);

// tracer_profile.c: under `hloscope profile -- COMMAND`, `table` with a creation of clients that
// starts the plugin's own profiler; else `table`.
const PJRT_Api *hsc_tracer_profile(const PJRT_Api *table, int instance);
// An execution begins: the profile of a trace is written in parts, and ends after so many.
void hsc_tracer_profile_count(void);
// Runs of devices that were begun and are not done, of those whose events are followed.
int64_t hsc_tracer_runs_under_way(void);
// Ends the sessions now and writes what they hold: the program wants one of its own.
void hsc_tracer_profile_end(void);

// Puts the recorded calls into the table of a plugin that is in use (tracer.c).
bool hsc_tracer_attach_to(GetPjrtApi_Fn *get_api, const char *path, const char *platform);
