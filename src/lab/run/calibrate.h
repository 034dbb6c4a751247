// calibrate.h - what this machine can do at most, measured: the two peaks of a roofline.
#pragma once

#include "base/core/status.h"

typedef struct hsc_peaks {
  double flops, bytes;  // per second
  char device[64];      // that they were measured on
} hsc_peaks;

// Flops: f32 products of square matrices, the best of several sizes and runs. Bytes: an addition
// over arrays far larger than the caches, counted as two reads and a write. Takes a few seconds on
// `device` (as --device takes it; NULL = cpu), and is kept as peaks.json in the cache directory.
HSC_MUST_USE hsc_status *hsc_calibrate(const char *device, hsc_peaks *out_peaks);
// What was kept. NOT_FOUND when nothing was.
HSC_MUST_USE hsc_status *hsc_peaks_load(hsc_peaks *out_peaks);
