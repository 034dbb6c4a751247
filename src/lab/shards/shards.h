// shards.h - a program compiled for many chips: what one chip computes and holds, and what the
// chips say to each other.
#pragma once

#include <jansson.h>

#include "base/core/base.h"
#include "worker/device_spec.h"

typedef struct hsc_shards_input {
  const char *program;    // path
  const char *optimized;  // path of the compiled program; NULL = the device gave none
  const hsc_device_spec *device;
  json_t *describe;     // the worker's answer; NULL = it failed
  const char *message;  // of the failure; NULL = none
} hsc_shards_input;

// The devices that a program is for, partitions times replicas; 1 where it cannot be read.
int64_t hsc_shards_device_count(const char *program);
// An error of a verb whose exit code 1 is a verdict. That the device is too few for the program's
// parts is a mistake of the command, not a finding: usage. Steals and returns `status`.
HSC_MUST_USE hsc_status *hsc_shards_error(hsc_status *status, const char *program);

// Adds to a device's object, where the program is for several partitions or replicas:
// "partitions", "replicas", "mesh", "per_partition", "whole", "collectives", "axes", "top_buffers",
// "fits", "lacks_bytes", "capacity_bytes". docs/commands/run.md says what they mean.
// Errors: RESOURCE_EXHAUSTED. What cannot be read is said in "shards_note".
HSC_MUST_USE hsc_status *hsc_shards_describe(const hsc_shards_input *input, json_t *out_device);
