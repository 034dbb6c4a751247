// run_internal.h - what the files of `run` share.
#pragma once

#include "lab/run/run.h"
#include "lab/run/run_series.h"
#include "lab/devices/devices.h"
#include "worker/worker_client.h"

// The timed runs of one process, seconds.
typedef struct hsc__process_times {
  double *samples;
  size_t count;
  double median;
} hsc__process_times;

typedef struct hsc__device_run {
  const char *text;       // as the user wrote it; of several programs, the program's path
  const char *device;     // as the user wrote it
  const char *program;    // that it runs
  hsc_device_spec *spec;  // NULL: there is no such device here, status says why
  // answers: load, the first run, the timed ones, what is known
  json_t *facts, *first, *series, *describe;
  hsc_lab_worker *worker;  // from the first run to the last; NULL = over
  hsc_run_series timed;
  const char *optimized;  // where the compiled program of several partitions lies; NULL = not asked
  bool compiles_only;     // ahead of time
  int64_t wanted;         // devices that the program is for
  bool is_whole;          // one device runs the whole of what is for several
  hsc_outcome outcome;
  hsc_status *status;   // what the device could not do
  hsc_status *failure;  // what we could not do
  // [process_count]: the one of `timed`; or, where several were wanted, further ones in which all
  // devices ran alike
  hsc__process_times *processes;
  size_t process_count;
} hsc__device_run;

// Starts the device and runs the program once (run.c). A device that only compiles, or failed, is
// then over: it has no worker. What the device could not do is its outcome and status.
HSC_MUST_USE hsc_status *hsc__run_start(const hsc_run_options *options,
                                        const char *save_dir,
                                        hsc__device_run *device);
// Blocks of all devices that have a worker, in random order, until each has what it wants.
HSC_MUST_USE hsc_status *hsc__run_blocks(const hsc_run_options *options,
                                         hsc__device_run *devices,
                                         size_t count);
// After the last block: ends the samples, asks what is known of the compiled program, lets the
// process go.
HSC_MUST_USE hsc_status *hsc__run_finish(const hsc_run_options *options, hsc__device_run *device);
void hsc__run_release(hsc__device_run *device);  // answers, worker, series, status

// run_document.c: a row of "devices". New reference; NULL = no memory.
json_t *hsc__run_device_json(const hsc_run_options *options, hsc__device_run *device);

// Further processes of each device, after the first (run_speed.c). round_s: what the first process
// of all took. Errors: those of the lab; what a
// device cannot do is its own.
HSC_MUST_USE hsc_status *hsc__run_processes(const hsc_run_options *options,
                                            double round_s,
                                            hsc__device_run *devices);
// Adds a row to `rows` for each output of each further device, and to the document "verdict",
// "coverage", "headline" and "bounds". scratch: a directory for what is derived.
HSC_MUST_USE hsc_status *hsc__run_compare_numbers(const hsc_run_options *o,
                                                  const hsc__device_run *devices,
                                                  const char *scratch,
                                                  json_t *rows,
                                                  json_t *result);

// "speed" and "environment" of the document: every further device against the first that has
// times. A claim needs processes (hsc_stats_compare_processes).
HSC_MUST_USE hsc_status *hsc__run_compare_speed(const hsc_run_options *options,
                                                const hsc__device_run *devices,
                                                json_t *result);
// All timed runs, seconds, process after process; of a device without processes (the evaluator) its
// one series. Heap; NULL = no memory.
double *hsc__run_samples(const hsc__device_run *device, size_t *out_count);
// The interval of the median run: over processes, or, of a single one, over its blocks; ends are
// NaN where there are too few processes for one.
HSC_MUST_USE hsc_status *hsc__run_interval(const hsc__device_run *device,
                                           uint64_t seed,
                                           hsc_interval *out_interval);
