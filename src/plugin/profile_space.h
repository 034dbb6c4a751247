// profile_space.h - a recorded session of the built-in device as an XSpace.
#pragma once

#include "cpu/runtime/records.h"

typedef struct hsc__profile_peaks {  // of the machine, measured; 0 = not known
  double flops, bytes;               // per second
} hsc__profile_peaks;

// Appends the XSpace of a session that was stopped. Errors: RESOURCE_EXHAUSTED.
HSC_MUST_USE hsc_status *hsc__profile_space_write(const hsc_cpu_session *session,
                                                  const hsc__profile_peaks *peaks,
                                                  const char *device_type,
                                                  hsc_bytes *out);
