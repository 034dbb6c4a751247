// device_install.h - sets up real compilers in a Python environment of our own: <cache
// directory>/venv.
//
// What is installed, and in which versions, is the column `packages` of vendors.def. The
// environment is made with the Python of $HLOSCOPE_PYTHON, else python3; pip does the rest, so its
// own settings (an index, a proxy) hold. Packages that are there in their pinned version cost a
// look at a directory. Two installations at a time wait for each other.
#pragma once

#include "lab/devices/devices.h"

typedef struct hsc_install_options {
  const char *const *devices;  // [device_count] names of vendors.def
  size_t device_count;
  int64_t limit_ns;  // for one device; 0 = 30 minutes
  // What goes on: text is borrowed; downloaded_bytes of the file that is being fetched, total_bytes
  // 0 = not known. May be NULL.
  void (*progress)(void *user,
                   const char *device,
                   const char *text,
                   int64_t downloaded_bytes,
                   int64_t total_bytes);
  void *user;
  const volatile int *stop;  // not 0: end pip and return CANCELLED
} hsc_install_options;
// Errors: INVALID_ARGUMENT (no such device: with the nearest), UNIMPLEMENTED (only the vendor's own
// installer has it), FAILED_PRECONDITION (no Python that can make an environment), UNAVAILABLE (no
// package index can be reached), DEADLINE_EXCEEDED, CANCELLED, UNKNOWN (pip's last words).
HSC_MUST_USE hsc_status *hsc_devices_install(const hsc_install_options *options);
// Whether everything that `device` needs is in our environment, in the pinned versions.
HSC_MUST_USE hsc_status *hsc_device_installed(const char *device, bool *out_installed);
