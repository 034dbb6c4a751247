// passes_list_internal.h - what the readers of pass lists share.
#pragma once

#include "lab/passes/passes_list.h"

// The largest module metadata file of a directory: that of the program, where the compiler also
// compiled small ones beside it. NULL = there is none.
HSC_MUST_USE hsc_status *hsc__metadata_file(const char *directory,
                                            hsc_arena *arena,
                                            const char **out_path);

// An event of a profile, in picoseconds from its line's beginning. pipeline: it is a pipeline of
// HLO passes.
typedef struct compile_event {
  hsc_view name;
  int64_t start_ps, duration_ps;
  bool pipeline;
} compile_event;

// Adds to {key: int64_t * nanoseconds}; the key is copied into the arena.
HSC_MUST_USE hsc_status *hsc__add_time(hsc_map *map, const char *key, int64_t ns, hsc_arena *arena);

// compile_phases.c: what all lines of a profile do when, by phase. One thread.
typedef struct hsc_phase_stretches hsc_phase_stretches;
HSC_MUST_USE hsc_status *hsc__phase_stretches_create(hsc_phase_stretches **out);
void hsc__phase_stretches_destroy(hsc_phase_stretches *stretches);
// A line's events, sorted by start, the longer first; origin_ns: of the line, on the clock that all
// lines share.
HSC_MUST_USE hsc_status *hsc__phase_stretches_add_line(hsc_phase_stretches *stretches,
                                                       const compile_event *events,
                                                       size_t count,
                                                       int64_t origin_ns);
// {phase: nanoseconds} of the line that compiles (with the longest event of a known phase, or
// around one): what it does, and where that is not known what others do meanwhile, else "all else".
HSC_MUST_USE hsc_status *hsc__phase_stretches_sum(const hsc_phase_stretches *stretches,
                                                  hsc_map *map,
                                                  hsc_arena *arena);
