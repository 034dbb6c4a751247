// profile_peaks.c - gives profiles the peaks of this machine.
#include "cli/profile_peaks.h"

#include <math.h>
#include <stdio.h>

#include "lab/run/calibrate.h"

void hsc_cli_profile_peaks(hsc_profile *profile) {
  hsc_peaks peaks;
  char source[320];
  static const char measured[] = "this machine's, as hloscope devices --calibrate measured them";
  static const char at_least[] =
      "the machine can do more, and a share of a limit is less than shown";
  hsc_status *status = hsc_peaks_load(&peaks);
  if (!status && isnan(peaks.lost))
    snprintf(source, sizeof source, "%s, how busy the machine was is not known", measured);
  else if (!status && peaks.lost > HSC_PEAKS_MOST_LOST)
    snprintf(source, sizeof source, "%s while %.0f %% of its time went to others: %s", measured,
             100 * peaks.lost, at_least);
  else if (!status)
    snprintf(source, sizeof source, "%s", measured);
  if (!status)
    hsc_profile_set_peaks(profile, peaks.flops, peaks.bytes, source);
  hsc_status_free(status);
}

void hsc_cli_peaks_measure_once(const hsc_profile *profile, hsc_cli *cli) {
  hsc_peaks peaks;
  hsc_status *known = hsc_peaks_load(&peaks);
  if (!known || !hsc_profile_wants_peaks(profile)) {
    hsc_status_free(known);
    return;
  }
  hsc_status_free(known);
  hsc_cli_progress(cli, "measuring what this machine can do at most, once");
  // without peaks the profile says less, and is none the worse for it
  hsc_status_free(hsc_calibrate(NULL, HSC_CALIBRATE_ONCE, &peaks));
}
