// samples.h - raw samples out of files: results of hloscope, plain JSON, CSV or bare numbers,
// Parquet.
//
//   hsc_samples *set = NULL;
//   HSC_TRY(hsc_samples_create(&set));
//   hsc_status *status = hsc_samples_read(set, "run.json", &(hsc_samples_options){0});   // any
//   number of files
//   for (size_t i = 0; i < hsc_samples_count(set); i++) { const hsc_sample_series *s =
//   hsc_samples_at(set, i); ... }
//   hsc_samples_destroy(set);
//
// What is read:
//   JSON of hloscope  run, patterns, and whatever holds "samples" or "..._times": one series each,
//                     named by what holds it; the machine's grade; causes of slow runs
//   JSON, plain       [1.5, 1.6], [[...], [...]] (one list a process), {"a": [...], "b": [...]},
//                     {"series": [{"name", "unit", "samples"}]}, [{"name": .., "time": ..}]
//   tables            {"columns", "rows"}, JSON lines, CSV (comma, semicolon, tab, blanks; with or
//                     without a heading), Parquet: numeric columns, grouped by texts
//   bare numbers      one or several in a line; # begins a comment
//   a folder          of exported captures (views/dataset.h): durations by name; by host, run or
//                     date where `by` says so. Of a series of more than 8,192 one of each few that
//                     follow each other is drawn at random: see drawn_from
// NaN, Infinity and null are samples that are not finite: kept, to be counted by who uses them.
// Units are given by names that end in _ns, _us, _ms, _s or
// (s) and by Parquet metadata of hloscope; times come out in seconds or nanoseconds.
#pragma once

#include "base/core/status.h"

typedef struct hsc_sample_series {
  const char *name, *unit;  // "s", "ns", or as reported; "" unknown
  const char *source;       // the file
  double *samples;
  size_t count;
  size_t *block_sizes;  // processes, in order; NULL = one
  size_t block_count;
  // the blocks are parts of one process: they widen the interval, and its behaviour is that of the
  // whole series
  bool one_process;
  // [count] why a sample is slow, NULL where nothing is known; NULL = nothing is known of any
  const char **causes;
  // so many numbers there were, of which the samples were drawn; 0 = all are here
  size_t drawn_from;
  double least, most;  // of all those
} hsc_sample_series;

typedef struct hsc_samples hsc_samples;
typedef struct hsc_samples_options {
  // only this column of tables, or series whose name contains this; NULL = all
  const char *column;
  const char *by;      // a series for each value of this column
  const char *blocks;  // rows with the same value here are one process
  const char *unit;    // s, ms, us, ns, or anything else as it is; NULL = as the file tells
} hsc_samples_options;

HSC_MUST_USE hsc_status *hsc_samples_create(hsc_samples **out_set);
void hsc_samples_destroy(hsc_samples *set);  // NULL is fine
// Adds the series of a file; "-" is standard input. Errors: NOT_FOUND, INVALID_ARGUMENT with file
// and line, UNIMPLEMENTED (of Parquet), RESOURCE_EXHAUSTED.
HSC_MUST_USE hsc_status *hsc_samples_read(hsc_samples *set,
                                          const char *path,
                                          const hsc_samples_options *options);
size_t hsc_samples_count(const hsc_samples *set);
const hsc_sample_series *hsc_samples_at(const hsc_samples *set, size_t i);
// of the machine, the worst of all files; NULL = not reported
const char *hsc_samples_grade(const hsc_samples *set);
