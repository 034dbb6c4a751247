// stats_document.h - everything that statistics say of series of raw samples, as one document: what
// `hloscope stats` prints.
//
//   json_t *document = NULL;
//   HSC_TRY(hsc_stats_document(samples, &(hsc_stats_options){.seed = 1}, &document));
//
// {"series": [...], "comparisons": [...], "machine": {...}, "settings": {...}, "notes": [...]}:
// docs/schemas/stats.json. Same samples, same options: same document.
#pragma once

#include <jansson.h>

#include "lab/run/samples.h"

typedef struct hsc_stats_options {
  double confidence;        // 0 = 0.95
  double margin;            // of "same"; 0 = what the machine's grade allows, 1 % at best
  uint32_t resample_count;  // 0 = 10000
  uint64_t seed;
  const char *baseline;  // series that all others are compared with; NULL = by the rule below
  const char *grade;     // of the machine; NULL = what the files say
} hsc_stats_options;

// Compared are: with `baseline`, every other series with it; several files, series of the same name
// with the first file's (with one series a file, whatever their names); two series of one file, the
// second with the first. Errors: INVALID_ARGUMENT (no such baseline, confidence),
// RESOURCE_EXHAUSTED.
HSC_MUST_USE hsc_status *hsc_stats_document(const hsc_samples *samples,
                                            const hsc_stats_options *options,
                                            json_t **out_document);
// One row of "series". The caller owns it. Errors: RESOURCE_EXHAUSTED.
HSC_MUST_USE hsc_status *hsc_stats_series(const hsc_sample_series *series,
                                          const hsc_stats_options *options,
                                          json_t **out_row);
