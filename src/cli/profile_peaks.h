// profile_peaks.h - the peaks of this machine, for profiles of its CPU that tell none.
#pragma once

#include "cli/command.h"
#include "views/profile.h"

// What `hloscope devices --calibrate` measured; nothing when it never ran.
void hsc_cli_profile_peaks(hsc_profile *profile);
// Measures them, in about a second, where a profile of this machine needs them and nobody did.
void hsc_cli_peaks_measure_once(const hsc_profile *profile, hsc_cli *cli);
