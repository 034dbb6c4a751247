// release_search_internal.h - what the search over releases and the looks at single ones share.
#pragma once

#include "lab/devices/compiler_flags.h"
#include "lab/dispatch/task_table.h"
#include "lab/probe/growth.h"
#include "lab/versions/release_search.h"
#include "stats/stats.h"

typedef enum hsc__word { HSC__UNKNOWN, HSC__GOOD, HSC__BAD } hsc__word;

typedef struct hsc__try {
  const char *version;
  bool tried, noisy;
  bool confirmed;  // a value beside a change: measured in as many processes as a claim takes
  hsc__word word;
  // seconds of a run or compile, bytes, of the largest size; with the interval of the median. NaN
  // where the symptom is no value
  double value, low, high;
  hsc_interval exponent;  // of the value over the sizes; NaN without sizes
  double *at_sizes;       // [size_count], in the arena, of the last look; NULL without sizes
  int looks;              // at the exponent; each has twice the rounds of the one before
  const char *reason;     // it cannot be tried, and why; NULL = it can
  bool for_now;           // the reason is of today (no index, a full disk): not kept
  const char *seen;       // in words
  double *samples;        // [sample_count], in the arena, of all repeats
  size_t sample_count;
  // Medians of worker processes, [process_count], in the arena. What differs from one process to
  // the next stays within a process, so its own runs do not show it.
  double *processes;
  size_t process_count;
  bool by_process;  // value, low and high are of these; else of the samples
} hsc__try;

typedef struct hsc__versions {
  const hsc_versions_options *options;
  hsc_arena *arena;
  char *scratch;
  const char *of, *device;
  const char *program;        // that is looked at: the largest size
  hsc_growth_program *sizes;  // [size_count], smallest first; NULL = one program
  size_t size_count;          // 0 = time is judged by its value alone
  const char *const *names;   // [name_count] every release that there is, oldest first
  size_t name_count;
  hsc__try *tries;  // [count] those between the ends
  size_t count;
  int64_t tried;
  double limit;              // between good and bad values; NaN = not known yet
  double exponent_limit;     // the same of exponents; NaN without sizes
  hsc_task_table tasks;      // what was seen of each release
  json_t *changed_defaults;  // {option: as the good release has it}; NULL = not asked yet
} hsc__versions;

// ---- release_changes.c: good, bad, and where it changes -----------------------------------------

// A release of which nothing is known yet.
hsc__try hsc__try_of(const char *version);
// Whether the symptom is a value, which has levels.
bool hsc__is_measured(const hsc__versions *v);
// Values of two releases that can be tried make the limits: between two that differ by the factor,
// else the factor above the better one; of exponents the same, by a step of 0.3.
void hsc__set_limits(hsc__versions *v, const hsc__try *a, const hsc__try *b);
// Where a measured release lies; UNKNOWN while an interval spans its limit. `whatever` = by the
// estimates alone.
hsc__word hsc__word_of(const hsc__versions *v, const hsc__try *t, bool whatever);
// The next release to try; count = none is needed. Gaps with a change come first, the widest of
// them; then, while no change is known (or all are wanted), every gap; else those in which a change
// could hide that lasted HSC__MOST_GAP releases.
size_t hsc__next_release(const hsc__versions *v);
// Neighbours with a change between them and nothing untried: {"last_good", "first_bad"} or
// {"last_bad", "mended_in"}, "by", "factor", "exponents", "step" (the verdict is the same). The two
// of the first change, NULL = none.
json_t *hsc__changes_of(const hsc__versions *v,
                        const hsc__try **out_good,
                        const hsc__try **out_bad);
// The first two neighbours of a change of which one is not confirmed; false = there are none.
bool hsc__unconfirmed(const hsc__versions *v, size_t *out_left, size_t *out_right);
enum { HSC__MOST_GAP = 5 };

// ---- release_try.c: one release -----------------------------------------------------------------

// Makes the release's environment and looks once. Whatever it does is in *io_try; its verdict for
// symptoms that are no values too.
HSC_MUST_USE hsc_status *hsc__version_try(hsc__versions *v, hsc__try *io_try);
// More samples of a value; interval and median are of all.
HSC_MUST_USE hsc_status *hsc__version_again(hsc__versions *v, hsc__try *io_try);
// How many processes a claim about the symptom's value takes: memory is the same in each.
size_t hsc__processes_wanted(const hsc__versions *v);
// The value in one more process; from here on it is that of the processes.
HSC_MUST_USE hsc_status *hsc__version_process(hsc__versions *v, hsc__try *t, json_t *overrides);
// Keeps what is known of a release, as trying and measuring again do by themselves.
HSC_MUST_USE hsc_status *hsc__version_keep(hsc__versions *v, const hsc__try *t);
// Looks with compile options; nothing is kept.
HSC_MUST_USE hsc_status *hsc__version_look(hsc__versions *v, hsc__try *t, json_t *overrides);
// The device of a release: "xla-cpu@0.7.1".
HSC_MUST_USE hsc_status *hsc__version_spec(hsc__versions *v,
                                           const char *version,
                                           hsc_device_spec *out_spec);
void hsc__version_say(const hsc__versions *v, const char *version, const char *text);
int64_t hsc__version_limit_ns(const hsc__versions *v);

// ---- release_diff.c: two neighbours -------------------------------------------------------------

// Appends {"what", "before", "after"}: what the two releases make of the program; and, in words,
// what could not be compared, and why.
HSC_MUST_USE hsc_status *hsc__version_differences(hsc__versions *v,
                                                  const hsc__try *good,
                                                  const hsc__try *bad,
                                                  json_t *out_differences,
                                                  json_t *out_not_compared);
// ---- release_options.c: options of two neighbours -----------------------------------------------

// Appends {"what", "before", "after"} for each compile option that concerns the device and has
// another default, and keeps them in changed_defaults.
HSC_MUST_USE hsc_status *hsc__version_defaults(hsc__versions *v,
                                               const hsc__try *good,
                                               const hsc__try *bad,
                                               json_t *out_differences,
                                               json_t *out_not_compared);
// The same of options that are known; an option that `before` does not have counts as off there.
HSC_MUST_USE hsc_status *hsc__version_changed_defaults(hsc__versions *v,
                                                       const hsc_flags *before,
                                                       const hsc_flags *after,
                                                       json_t *out_differences);
// Tries on `bad` the defaults that changed, as `good` has them, and the options of
// restoring_flags.def: appends {"option", "restores", "seen"} of
// each, and to out_flags ("NAME=VALUE") those with which it is as `good` is.
HSC_MUST_USE hsc_status *hsc__version_restore(hsc__versions *v,
                                              const hsc__try *good,
                                              const hsc__try *bad,
                                              json_t *out_tried,
                                              json_t *out_flags);
