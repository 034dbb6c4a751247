// profile_tensorboard.h - a profile in the form that TensorBoard's profile plugin (xprof) fills all
// its pages from.
#pragma once

#include "views/profile.h"

// Appends an XSpace to `out`: all planes of the profile as they are, and, where operators are known
// from host threads only (XLA:CPU), planes /device:TPU:N with Steps, XLA Modules and XLA Ops made
// from them, one for each thread that ran operators. Devices of the profile that have those lines
// already are kept, with steps added where there are none. What the program's HLO says of an
// operator goes to its metadata. `space`: which host's file. `traced_only` leaves out what the host
// did to move arrays. Errors: RESOURCE_EXHAUSTED.
HSC_MUST_USE hsc_status *hsc_profile_write_tensorboard(hsc_profile *profile,
                                                       int space,
                                                       bool traced_only,
                                                       hsc_bytes *out);
// Writes LOGDIR/plugins/profile/RUN/HOST.xplane.pb for every host of the profile, and removes what
// viewers cached there for an earlier one. `run` NULL is the time. *out_directory (may be NULL) is
// the run's directory, a heap string.
HSC_MUST_USE hsc_status *hsc_profile_write_logdir(hsc_profile *profile,
                                                  const char *logdir,
                                                  const char *run,
                                                  bool traced_only,
                                                  char **out_directory);
