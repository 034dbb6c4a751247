// device_spec.h - what the user means by --device: a name of devices.def, or a plugin by its path.
//
//   cpu                                          the built-in device
//   reference                                    the reference evaluator
//   xla-cpu                                      XLA:CPU of a jaxlib
//   /opt/vendor/libpjrt.so                       any PJRT plugin
//   ./libpjrt.so?threads=2&name=x&fast=true      with options for the creation of its client: whole numbers,
//   true/false, decimal numbers, else text;
//                                                `s:` before a value keeps it text (?port=s:8080)
// A path is what holds a slash or ends in .so.
#pragma once

#include "base/base.h"

typedef enum hsc_device_source {
  HSC_DEVICE_BUILT_IN,
  HSC_DEVICE_EVALUATOR,
  HSC_DEVICE_PYTHON,
  HSC_DEVICE_NOT_HERE,
  HSC_DEVICE_PATH
} hsc_device_source;
typedef struct hsc_device_row {
  const char *name, *variants, *about, *reason, *install;
  hsc_device_source source;
} hsc_device_row;
size_t hsc_device_row_count(void);
const hsc_device_row *hsc_device_row_at(size_t index);

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
  const char *text;          // as the user wrote it; names results
  hsc_device_source source;  // not NOT_HERE
  const char *plugin_path;   // NULL for the evaluator; of PYTHON the interpreter
  const char *python_dir;    // of PYTHON: where the package hloscope is; else NULL
  hsc_device_option *options;
  size_t option_count;
} hsc_device_spec;
// Everything lies in `arena`. Looks at the file system: the plugin file must be there.
// Errors: INVALID_ARGUMENT (no such device: with the nearest name; a malformed option), NOT_FOUND (the file),
// UNIMPLEMENTED (a name of devices.def that this build cannot use: with the row's reason and what to do).
HSC_MUST_USE hsc_status *hsc_device_spec_parse(const char *text, hsc_arena *arena, hsc_device_spec *out_spec);
const char *hsc_default_device(void);  // $HLOSCOPE_DEVICE, else "cpu"
// Where the built-in plugin is: $HLOSCOPE_CPU_PLUGIN, else beside the executable, else in ../lib/hloscope or ../lib.
// NOT_FOUND lists the places.
HSC_MUST_USE hsc_status *hsc_builtin_plugin_path(hsc_arena *arena, const char **out_path);
// A Python that has jaxlib: the first of $HLOSCOPE_PYTHON, $VIRTUAL_ENV/bin/python, python3 on PATH, and <cache
// directory>/venv/bin/python. Starts each until one has it. NOT_FOUND lists them, with the command that makes the last.
HSC_MUST_USE hsc_status *hsc_jaxlib_python(hsc_arena *arena, const char **out_path);
// Where the Python package hloscope is: ../python or ../share/hloscope/python beside the executable.
HSC_MUST_USE hsc_status *hsc_python_package_dir(hsc_arena *arena, const char **out_path);
