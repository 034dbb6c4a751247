// profile_peaks.h - the peaks of this machine, for profiles of its CPU that tell none.
#pragma once

#include "views/profile.h"

// What `hloscope devices --calibrate` measured; nothing when it never ran.
void hsc_cli_profile_peaks(hsc_profile *profile);
