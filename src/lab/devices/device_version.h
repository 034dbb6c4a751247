// device_version.h - compilers of other releases: xla-cpu@0.7.1, cuda:h100@0.8.0, tpu:v5e@0.0.20.
//
// Each release has a Python environment of its own, <cache directory>/versions/<package>-<version>,
// made once from wheels alone with the first Python that the release has wheels for, and shared by
// all experiments. Before one is made, those that were used least lately go until all are within
// $HLOSCOPE_VERSIONS_GIB (16), but none that was used in the last ten minutes. Two processes that
// want the same one wait for each other.
#pragma once

#include "lab/devices/devices.h"

// The package that has a device's releases ("jaxlib" of xla-cpu); NULL = none has.
const char *hsc_release_package(const char *device, hsc_arena *arena);
// The device whose releases a package has: "xla-cpu" of jaxlib; NULL = none.
const char *hsc_release_device(const char *package, hsc_arena *arena);

// The environment of a release, made when it is not there: its Python and its directory.
// Errors: INVALID_ARGUMENT, NOT_FOUND (no Python here that there are wheels of it for:
// with what each said), UNAVAILABLE (no package index can be reached), DEADLINE_EXCEEDED,
// RESOURCE_EXHAUSTED (the disk is full), UNKNOWN (pip's last words).
HSC_MUST_USE hsc_status *hsc_release_environment(const hsc_vendor *vendor,
                                                 const char *version,
                                                 hsc_arena *arena,
                                                 const char **out_python,
                                                 const char **out_directory);

// Every release that the package index has wheels of for some Python here, and those whose
// environments are there, oldest first. In `arena`.
// Errors: UNAVAILABLE when the index cannot be reached and nothing is there either.
HSC_MUST_USE hsc_status *hsc_release_list(const char *package,
                                          hsc_arena *arena,
                                          const char *const **out_versions,
                                          size_t *out_count);
// Below 0, 0, above 0 as `a` is older than, the same as, newer than `b`: numbers between dots, then
// letters ("0.5.0rc1" is older than "0.5.0").
int hsc_release_compare(const char *a, const char *b);
// Digits, letters and dots, starting with a digit.
bool hsc_release_is_one(const char *text);
