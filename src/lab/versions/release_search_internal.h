// release_search_internal.h - what the search over releases and the looks at single ones share.
#pragma once

#include "lab/versions/release_search.h"

typedef enum hsc__word { HSC__UNKNOWN, HSC__GOOD, HSC__BAD } hsc__word;

typedef struct hsc__try {
  const char *version;
  bool tried, noisy;
  hsc__word word;
  // seconds of a run or compile, bytes; with the interval of the median. NaN where the symptom is
  // no value
  double value, low, high;
  const char *reason;  // it cannot be tried, and why; NULL = it can
  const char *seen;    // in words
  double *samples;     // [sample_count], in the arena, of all repeats
  size_t sample_count;
} hsc__try;

typedef struct hsc__versions {
  const hsc_versions_options *options;
  hsc_arena *arena;
  char *scratch;
  const char *of, *device;
  const char *const *names;  // [name_count] every release that there is, oldest first
  size_t name_count;
  hsc__try *tries;  // [count] those between the ends
  size_t count;
  int64_t tried;
  double limit;  // between good and bad values; NaN = not known yet
  int64_t experiment;
} hsc__versions;

// Makes the release's environment and looks once. Whatever it does is in *io_try; its verdict for
// symptoms that are no values too.
HSC_MUST_USE hsc_status *hsc__version_try(hsc__versions *v, hsc__try *io_try);
// More samples of a value; interval and median are of all.
HSC_MUST_USE hsc_status *hsc__version_again(hsc__versions *v, hsc__try *io_try);
// Appends {"what", "before", "after"}: what the two releases make of the program; and, in words,
// what could not be compared, and why.
HSC_MUST_USE hsc_status *hsc__version_differences(hsc__versions *v,
                                                  const hsc__try *good,
                                                  const hsc__try *bad,
                                                  json_t *out_differences,
                                                  json_t *out_not_compared);
// Appends the options ("NAME=VALUE") of restoring_flags.def with which `bad` is good.
HSC_MUST_USE hsc_status *hsc__version_restore(hsc__versions *v,
                                              const hsc__try *bad,
                                              json_t *out_flags);
