// profile_chrome.h - a profile as Chrome trace events (JSON object with traceEvents).
#pragma once

#include "views/profile.h"

// Called with pieces of about a MiB, in order.
typedef hsc_status *(*hsc_profile_piece)(void *user, hsc_view bytes);
// Planes are processes, lines are threads; what does not nest in its line goes to further lanes of
// it, because viewers drop it otherwise. Times are microseconds since the profile's first event.
// Operators carry category, framework name, program, flops and bytes. Nothing is cut.
HSC_MUST_USE hsc_status *hsc_profile_write_chrome(hsc_profile *profile,
                                                  hsc_profile_piece piece,
                                                  void *user);
