// devices.h - what the user means by --device: a name of devices.def, or a plugin by its path; and
// where it is found.
//
//   cpu                                          the built-in device
//   cpu:4, cuda:h100:4                           so many devices, for programs of several
//   partitions
//   reference                                    the reference evaluator
//   xla-cpu                                      XLA:CPU of a jaxlib
//   cuda, tpu, rocm, neuron                      a vendor's plugin, on its hardware
//   cuda:h100, cuda:./mine.pbtxt                 XLA:GPU ahead of time, for a target of
//   targets/gpu/ or of a file
//   tpu:v5e, tpu:v5e:2x2                         the TPU compiler ahead of time, for a generation
//   of targets/tpu/ and a shape
//   xla-cpu@0.7.1, cuda:h100@0.8.0, tpu:v5e@0.0.20   another release (device_version.h), in an
//   environment of its own, which is made when it is not there
//   /opt/vendor/libpjrt.so                       any PJRT plugin
//   ./libpjrt.so?threads=2&name=x&fast=true      with options for the creation of its client: whole
//   numbers, true/false,
//                                                decimal numbers, else text; `s:` before a value
//                                                keeps it text (?port=s:8080)
//   ./libpjrt.so?ahead-of-time=v5e:2x2           ahead of time: the name of a topology; other
//   options go to its creation
// A path is what holds a slash or ends in .so, but for what follows the colon of a name.
#pragma once

#include "base/core/memory.h"
#include "base/core/status.h"
#include "worker/device_spec.h"

typedef struct hsc_device_row {
  const char *name, *variants, *about;
  hsc_device_source source;
} hsc_device_row;
enum {
  HSC_DEVICE_ROWS = 0  // how many
#define DEVICE(name, variants, kind, about) +1
#include "lab/devices/devices.def"
#undef DEVICE
};
size_t hsc_device_row_count(void);
const hsc_device_row *hsc_device_row_at(size_t index);

// Everything lies in `arena`. Looks at the file system: the plugin file must be there.
// Errors: INVALID_ARGUMENT (no such device: with the nearest name; a malformed option), NOT_FOUND
// (the file), of a vendor's plugin with the places that were looked at and the command that
// installs it).
HSC_MUST_USE hsc_status *hsc_device_spec_parse(const char *text,
                                               hsc_arena *arena,
                                               hsc_device_spec *out_spec);
const char *hsc_default_device(void);  // $HLOSCOPE_DEVICE, else "cpu"
// Where the built-in plugin is: $HLOSCOPE_CPU_PLUGIN, else beside the executable, else in
// ../lib/hloscope or ../lib. NOT_FOUND lists the places.
HSC_MUST_USE hsc_status *hsc_builtin_plugin_path(hsc_arena *arena, const char **out_path);
// The Python that this program was installed into as a wheel (absolute path) and the folder of its
// packages, in the arena; NULL where there is none. Errors: the file system's, no memory.
HSC_MUST_USE hsc_status *hsc_python_of_program(hsc_arena *arena,
                                               const char **out_python,
                                               const char **out_site);
// A Python that has jaxlib: the first of $HLOSCOPE_PYTHON, $VIRTUAL_ENV/bin/python, the one that
// this program was installed into, python3 on PATH, and <cache directory>/venv/bin/python. Starts
// each until one has it. NOT_FOUND lists them, with the command that makes the last.
HSC_MUST_USE hsc_status *hsc_jaxlib_python(hsc_arena *arena, const char **out_path);

// ---- finding (device_find.c) --------------------------------------------------------------------

typedef struct hsc_vendor {
  // columns of vendors.def
  const char *device, *file, *in_python, *elsewhere, *packages, *on_hardware, *environment;
} hsc_vendor;
const hsc_vendor *hsc_vendor_get(const char *device);    // NULL when there is no such row
const hsc_vendor *hsc_vendor_of_file(const char *file);  // a plugin's file name; NULL likewise
// Where the vendor's plugin is: a directory or file of $HLOSCOPE_PLUGIN_PATH, its name in
// $PJRT_NAMES_AND_LIBRARY_PATHS (tpu also: $TPU_LIBRARY_PATH), the package directories of the
// Pythons of hsc_python_sites, the vendor's own places. NOT_FOUND lists where it looked, with what
// installs it as the hint.
HSC_MUST_USE hsc_status *hsc_vendor_plugin_path(const hsc_vendor *vendor,
                                                hsc_arena *arena,
                                                const char **out_path);
// What must be set for the vendor's worker on this machine; NULL-terminated, in `arena`.
HSC_MUST_USE hsc_status *hsc_vendor_environment(const hsc_vendor *vendor,
                                                bool ahead_of_time,
                                                hsc_arena *arena,
                                                const char *const **out_environment);
// site-packages directories that are there, NULL-terminated: of the prefix of $HLOSCOPE_PYTHON, of
// $VIRTUAL_ENV, of python3 on PATH, of the user (~/.local), and of <cache directory>/venv. Looks at
// directories; starts no Python.
HSC_MUST_USE hsc_status *hsc_python_sites(hsc_arena *arena, const char *const **out_sites);

typedef struct hsc_found_plugin {
  // "NAME" of $PJRT_NAMES_AND_LIBRARY_PATHS, the package of jax_plugins, or the file name
  const char *name;
  const char *path;
  const char *where;  // "PJRT_NAMES_AND_LIBRARY_PATHS", "HLOSCOPE_PLUGIN_PATH", "jax_plugins"
} hsc_found_plugin;
// Plugins that no row of devices.def names: what the environment variables name, *.so of the
// directories of $HLOSCOPE_PLUGIN_PATH, and packages of jax_plugins. Each path once.
HSC_MUST_USE hsc_status *hsc_plugins_find(hsc_arena *arena,
                                          hsc_found_plugin **out_plugins,
                                          size_t *out_count);

// ---- targets (device_target.c) ------------------------------------------------------------------

// A description of a device that a compiler can be given without hardware:
// <targets>/<kind>/<name>.pbtxt. kind: "gpu" (GpuTargetConfigProto as text) or "tpu". `name` may
// also be a path (it holds a slash). *out_text: the file.
// Errors: INVALID_ARGUMENT (unknown: with the nearest name and all of them), NOT_FOUND (no
// targets).
HSC_MUST_USE hsc_status *hsc_target_read(const char *kind,
                                         const char *name,
                                         hsc_arena *arena,
                                         const char **out_text);
// The names, sorted, NULL-terminated.
HSC_MUST_USE hsc_status *hsc_target_names(const char *kind,
                                          hsc_arena *arena,
                                          const char *const **out_names);
// The value of the first line "key: value" at the top level; text without its quotes. NULL when
// there is none.
const char *hsc_target_value(const char *text, const char *key, hsc_arena *arena);

// Where the Python package hloscope is: ../python or ../share/hloscope/python beside the
// executable.
HSC_MUST_USE hsc_status *hsc_python_package_dir(hsc_arena *arena, const char **out_path);
