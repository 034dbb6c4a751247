// device_spec.h - what a worker is started with: which plugin, with which options, for which
// topology.
//
// lab/devices/devices.h makes one from what the user says; everything in it lies in the caller's
// arena.
#pragma once

#include "base/core/base.h"

typedef enum hsc_device_source {
  HSC_DEVICE_BUILT_IN,
  HSC_DEVICE_EVALUATOR,
  HSC_DEVICE_PYTHON,
  HSC_DEVICE_VENDOR,
  HSC_DEVICE_PATH
} hsc_device_source;
typedef enum hsc_device_option_type {
  HSC_DEVICE_OPTION_TEXT,
  HSC_DEVICE_OPTION_INT,
  HSC_DEVICE_OPTION_FLOAT,
  HSC_DEVICE_OPTION_BOOL
} hsc_device_option_type;
typedef struct hsc_device_option {
  const char *name, *text;  // text as written (without s:)
  hsc_device_option_type type;
  int64_t integer;
  double real;
  bool boolean;
} hsc_device_option;

typedef struct hsc_device_spec {
  const char *text;  // as the user wrote it; names results
  hsc_device_source source;
  const char *plugin_path;  // NULL for the evaluator; of PYTHON the interpreter
  const char *python_dir;   // of PYTHON: where the package hloscope is; else NULL
  // ahead of time: the name of the topology ("" where options say it all); NULL = on hardware
  const char *topology;
  int64_t memory_bytes;        // of one device, as its target says; 0 = not known
  int device_count;            // as "cpu:4" says; 0 = it says nothing
  hsc_device_option *options;  // for the creation of the client, or of the topology
  size_t option_count;
  hsc_device_option *compile_options;  // XLA's options of every compile, before those of a job
  size_t compile_option_count;
  // of its worker: "NAME=value", NULL-terminated; NULL = nothing to set
  const char *const *environment;
} hsc_device_spec;
