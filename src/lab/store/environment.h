// environment.h - the machine that numbers come from, captured with every experiment.
//
// A number without its machine cannot be compared with anything; a number from a busy machine
// should not be. The grade says how fine a claim the machine supports at the moment: A to D, from
// time that a calibration loop lost to others, and from the load and pressure the kernel reports.
#pragma once

#include <jansson.h>

#include "base/core/status.h"

// JSON object: "hloscope", "compiler", "kernel", "cpu", "cores" {"online", "allowed", "quota"},
// "memory_bytes", "governor", "load_1m", "pressure_cpu_percent", "clock" {"source",
// "resolution_ns", "read_ns"}, "turbo", "smt", "steal_fraction" (of all time since the start),
// "numa_nodes" ("0-1"), and with `calibrate`
// (takes about 20 ms of CPU time) also "noise"
// {"loop_ns", "lost_fraction", "longest_ns"}, "grade", "grade_reasons" [text]. What the kernel does
// not tell is null.
// Errors: RESOURCE_EXHAUSTED.
HSC_MUST_USE hsc_status *hsc_environment_capture(bool calibrate, json_t **out_environment);
