// partition.h - where a capture's wall time went: parts that do not overlap and add up to the
// whole.
//
// Every moment between the first event's beginning and the last one's end is of one part: the first
// of activities.def that anything was busy with, on whatever thread or device.
//   compute     a device ran a program; or, where nothing tells what the device did, a call that
//               runs programs and compiled none
//   collective  devices talked to each other, and none computed
//   transfer    bytes went between host and device
//   compile     a program was compiled or loaded, also inside of the call that needed it
//   host        the program was in something that is recorded: a label, a wait, a call that traced
//   idle        nothing that is recorded: Python outside of labels, input, sleep
#pragma once

#include "trace/capture.h"
#include "views/profile.h"

typedef struct hsc_partition {
  int64_t whole_ns;
  int64_t part_ns[HSC_ACTIVITY_COUNT];  // together the whole
} hsc_partition;
// Errors: RESOURCE_EXHAUSTED.
HSC_MUST_USE hsc_status *hsc_partition_of(const hsc_capture *capture, hsc_partition *out);
