// sampling_document.h - what a sampling plan gave, for results: docs/schemas/sampling.json, and one
// sentence for people.
#pragma once

#include <jansson.h>

#include "base/core/bytes.h"
#include "stats/stats_sampling.h"

// One sentence: what was made, who chose it, what ended it, which interval was reached, about how
// many more are needed.
void hsc_sampling_text(const hsc_sampling *sampling, bool unicode, hsc_bytes *out);
// After hsc_sampling_finish. The caller owns it.
json_t *hsc_sampling_json(const hsc_sampling *sampling);
// Quantiles with permission, modes, class, change points, outliers with causes: a row of "series"
// in docs/schemas/stats.json. causes[count]: why a sample is slow, NULL where nothing is known;
// NULL = of none. one_process: the upper level lies within a process. *out_row NULL: no sample.
// Errors: RESOURCE_EXHAUSTED.
HSC_MUST_USE hsc_status *hsc_sampling_statistics(const hsc_sampling *sampling,
                                                 const char *name,
                                                 const char **causes,
                                                 bool one_process,
                                                 uint64_t seed,
                                                 json_t **out_row);
