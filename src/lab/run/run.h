// run.h - one program on one or more devices: compile, run, time, compare numbers.
// docs/commands/run.md says what is measured.
#pragma once

#include <jansson.h>

#include "lab/devices/devices.h"
#include "lab/store/store.h"

typedef struct hsc_run_options {
  const char *program;  // path, "-" is not possible: workers read it themselves
  const char *const *transforms;
  size_t transform_count;
  // [device_count] as --device takes them; one that cannot be had is a result like others
  const char *const *devices;
  size_t device_count;
  // [device_count]: what each of `devices` runs, to compare programs; NULL = all run `program`.
  // They are then named by their programs, and each has "program" beside "device" in the document.
  const char *const *programs;
  bool compare;   // outputs of every further device against those of the first
  uint64_t seed;  // of the inputs
  // "data" of the jobs (hsc_given_inputs_read), and the file that it is from; NULL = the seed's
  json_t *data;
  const char *inputs_file;
  // timed runs; 0 = as many as a pilot chooses, until half_width or budget_s ends it
  int64_t run_count;
  // of each device, one round of all after the other; 0: as many as tell who is faster where
  // several devices are timed and a round takes under 10 s, else 1. From HSC_LEAST_PROCESSES on the
  // interval holds what differs between processes, and one device may be called faster
  int64_t process_count;
  double half_width;  // wanted of the median's interval, as a share of it; 0 = none
  // of a device's timed runs; 0 = none, below 0 = those of 1000 runs, from 0.02 to 0.2
  double budget_s;
  bool use_cache;             // of compiled programs
  const char *save_dir;       // outputs as files there; NULL = not kept
  json_t *overrides;          // of every compile, by XLA's names (hsc_overrides_parse); NULL = none
  int64_t limit_ns;           // per device and job
  size_t memory_limit_bytes;  // of a worker; 0 = nine tenths of the machine
  // devices that only compile, N at a time; 0 is 1. Devices that run have the machine alone
  int job_count;
  const char *command;     // for the store
  const char *executable;  // to start workers with; NULL = the running one
  hsc_store *store;        // NULL = results are not kept
} hsc_run_options;

// The document of docs/schemas/run.json. What a device could not do is its "status" and "message"
// there, and, when there is only one device, also the returned status (*out_result then is NULL).
// Errors: the program (one device), no worker, no memory, the store.
HSC_MUST_USE hsc_status *hsc_run_program(const hsc_run_options *options, json_t **out_result);
