// calibrate.h - what this machine can do at most, measured: the two peaks of a roofline.
#pragma once

#include "base/core/status.h"

typedef struct hsc_peaks {
  double flops, bytes;  // per second
  char device[64];      // that they were measured on
  double lost;          // share of the cores' time that others took meanwhile, 0 to 1
} hsc_peaks;

// From this share on the peaks say only what the machine can do at least.
#define HSC_PEAKS_MOST_LOST 0.03

typedef enum hsc_calibration {
  HSC_CALIBRATE_ONCE,    // one round, about a second
  HSC_CALIBRATE_STEADY,  // until they no longer grow, at most about ten seconds
} hsc_calibration;

// Flops: f32 products of square matrices, the best of several sizes and runs. Bytes: an addition
// over arrays four times as large as the last cache, counted as two reads and a write. They are
// measured on `device` (as --device takes it; NULL = cpu), and are kept as peaks.json in the cache
// directory. Others on the machine only make a peak lower: of two calibrations of one processor the
// higher numbers are kept, and the smaller `lost`.
HSC_MUST_USE hsc_status *hsc_calibrate(const char *device,
                                       hsc_calibration how_long,
                                       hsc_peaks *out_peaks);
// What was kept. NOT_FOUND when nothing was.
HSC_MUST_USE hsc_status *hsc_peaks_load(hsc_peaks *out_peaks);
