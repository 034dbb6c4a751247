// profile_peaks.c - gives profiles the peaks of this machine.
#include "cli/profile_peaks.h"

#include "lab/run/calibrate.h"

void hsc_cli_profile_peaks(hsc_profile *profile) {
  hsc_peaks peaks;
  hsc_status *status = hsc_peaks_load(&peaks);
  if (!status)
    hsc_profile_set_peaks(profile, peaks.flops, peaks.bytes,
                          "this machine's, as hloscope devices --calibrate measured them");
  hsc_status_free(status);
}
