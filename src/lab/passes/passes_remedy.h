// passes_remedy.h - a slow compile: which phase, pass, instruction and line, and remedies that were
// tried.
#pragma once

#include <jansson.h>

#include "base/core/status.h"
#include "worker/device_spec.h"

typedef struct hsc_remedy_options {
  const char *program;  // path
  const hsc_device_spec *device;
  const char *executable;
  json_t *overrides;  // compile options of every compile; NULL = none
  int64_t limit_ns;   // of one compile
  void (*progress)(void *user, int64_t done, int64_t total, const char *text);  // may be NULL
  void *user;
  const volatile int *stop;  // may be NULL
} hsc_remedy_options;

// Adds "slow" to a document of hsc_passes_time: {"phase", "pass", "instruction", "source", "lines",
// "seconds", "tried": [{"remedy", "seconds", "times_faster", "numbers", "text"}], "best"}. Each
// remedy is one compile in a process of its own, at most three; where the device runs, its numbers
// are held against those of the program as it is.
// Errors: reading the program; what a remedy makes of the compiler is in its row.
HSC_MUST_USE hsc_status *hsc_passes_remedy(const hsc_remedy_options *options, json_t *io_document);
