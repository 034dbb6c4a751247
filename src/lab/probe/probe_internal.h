// probe_internal.h - what the parts of probe share.
#pragma once

#include "hlo/ir/hlo.h"
#include "lab/probe/probe.h"

// How far a stage is cut: fractions of the program's own numbers; 1 = as it is.
typedef struct hsc__probe_cut {
  double batch, loops;
  bool first_output_only;
} hsc__probe_cut;

typedef struct hsc__probe_cut_result {
  int64_t batch_from, batch_to;  // 0 = not cut
  int64_t trips_from, trips_to;  // of the longest loop; 0 = not cut
  int64_t outputs_from, outputs_to;
  // why the batch could not be cut; NULL = it was, or was not asked for
  const char *refused;
} hsc__probe_cut_result;

// A cut copy of the program. What a program does not allow is left out and said in *out_cut; texts
// live in `arena`.
// Errors: RESOURCE_EXHAUSTED, INTERNAL.
HSC_MUST_USE hsc_status *hsc__probe_cut_program(const hsc_module *module,
                                                const hsc__probe_cut *cut,
                                                hsc_arena *arena,
                                                hsc_module **out_module,
                                                hsc__probe_cut_result *out_cut);

typedef struct hsc__probe_rung {
  const char *name;
  int64_t patch, hidden, layers, patches, batch;
} hsc__probe_rung;
enum { HSC__PROBE_RUNGS = 4 };
extern const hsc__probe_rung hsc__probe_ladder[HSC__PROBE_RUNGS];
// The patch model of one rung: a network for one patch, batched over the patches of an image and
// over images.
HSC_MUST_USE hsc_status *hsc__probe_patch_model(const hsc__probe_rung *rung,
                                                hsc_module **out_module);

// Samples processor time and memory of a process and all below it until stopped.
typedef struct hsc__probe_watch hsc__probe_watch;
HSC_MUST_USE hsc_status *hsc__probe_watch_start(int pid, hsc__probe_watch **out_watch);
// {"peak_bytes", "cpu_seconds", "processes", "curve": [[seconds, bytes]]}; frees the watch.
json_t *hsc__probe_watch_stop(hsc__probe_watch *watch);
