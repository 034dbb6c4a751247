// growth.h - how a program's cost grows with a size: the exponent of run time, compile time,
// memory, flops and bytes, and which operator and which pass make it.
//
//   json_t *document = NULL;
//   HSC_TRY(hsc_growth(&(hsc_growth_options){.programs = files, .program_count = 3,
//                                            .device = "cpu", .rounds = 5}, &document));
//   json_decref(document);
//
// One program in two sizes or more. The sizes are measured in turns, round after round, in one
// worker, so that what the machine does meanwhile meets all of them. Times are processor times of
// the worker, all its threads together: on a machine that others use, wall time also counts them.
#pragma once

#include <jansson.h>

#include "formats/common/formats.h"
#include "lab/devices/devices.h"
#include "stats/stats.h"

typedef struct hsc_growth_options {
  const char *const *programs;  // [program_count] paths: one program in several sizes, or one
  size_t program_count;
  // "A,B,C": the size of each file. "N=A,B,C": one file; the number N in it stands for the size and
  // is replaced by each, or N is a symbolic dimension, which gets them. NULL = told by the files'
  // parameters
  const char *sizes;
  const hsc_dim_size *dims;  // [dim_count] sizes of the program's other symbolic dimensions
  int dim_count;
  const char *device;      // as --device takes it
  json_t *overrides;       // compile options {name: value}; NULL = none
  const char *executable;  // to start workers with; NULL = the running one
  int rounds;              // at least 3
  double limit_s;          // of a job
  // "run", "compile" or "memory": that one alone is measured, without operators, passes and counts;
  // NULL = everything
  const char *only;
  size_t memory_limit_bytes;
  const char *keep_dir;  // scaled programs are written there; NULL = a scratch directory
  void (*progress)(void *user, const char *text);  // may be NULL
  void *user;
  const volatile int *stop;  // may be NULL; set to 1 it ends the measurement with CANCELLED
} hsc_growth_options;

// docs/schemas/probe_exponent.json. What cannot be measured on the device is null there, with a
// reason. Errors: INVALID_ARGUMENT (one size only, sizes that are not reported, equal or not
// positive, a program that does not scale), the device's, the programs'.
HSC_MUST_USE hsc_status *hsc_growth(const hsc_growth_options *options, json_t **out_document);

// The files of options->programs and ->sizes alone, smallest first, scaled ones written into
// `directory`; nothing is measured. Paths and list are in `arena`. Errors: as hsc_growth.
typedef struct hsc_growth_program {
  const char *path;
  double size;
} hsc_growth_program;
HSC_MUST_USE hsc_status *hsc_growth_programs(const hsc_growth_options *options,
                                             const char *directory,
                                             hsc_arena *arena,
                                             hsc_growth_program **out_programs,
                                             size_t *out_count);

// One measured quantity: several samples a size.
typedef struct hsc_growth_sample {
  double size, value;
} hsc_growth_sample;
// The slope of log value over log size by least squares, with its 95 % interval: Student's, over
// the rounds. Exact counts (exact: one sample a size, without noise) have the least and the largest
// slope between neighbouring sizes as theirs. False: fewer than two sizes have a positive value, or
// there is no interval (two samples).
bool hsc_growth_fit(const hsc_growth_sample *samples,
                    size_t count,
                    bool exact,
                    hsc_interval *out_exponent);
