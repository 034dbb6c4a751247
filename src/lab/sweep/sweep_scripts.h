// sweep_scripts.h - the tasks of a plan as work for a cluster's own scheduler: shares of it, each a
// `hloscope sweep run PLAN --share I/N` that needs nothing of the others.
#pragma once

#include "lab/sweep/sweep.h"

typedef struct hsc_sweep_script_options {
  const hsc_sweep *sweep;
  const char *folder;   // of the plan, as the scheduler's machines see it
  int64_t shares;       // 1 at least
  int jobs;             // tasks at the same time in a share
  const char *program;  // hloscope there
  const char *image;    // kubernetes: container image
  const char *volume;   // kubernetes: the persistent volume claim that holds the plan
} hsc_sweep_script_options;

// A script for sbatch: an array of jobs. Appends.
HSC_MUST_USE hsc_status *hsc_sweep_slurm_script(const hsc_sweep_script_options *options,
                                                hsc_bytes *out_text);
// A manifest for kubectl: a Job with completionMode Indexed. Appends.
HSC_MUST_USE hsc_status *hsc_sweep_kubernetes_manifest(const hsc_sweep_script_options *options,
                                                       hsc_bytes *out_text);
