// log_reader.h - reads a log of any size and says what is in it: what was recognised, how often,
// where first, and a summary of compilations.
//
//   hsc_log_reader *reader = NULL;
//   HSC_TRY(hsc_log_reader_create(kb, NULL, &reader));
//   while (more) HSC_TRY(hsc_log_reader_feed(reader, bytes, size));   // pieces of any size
//   HSC_TRY(hsc_log_reader_finish(reader));
//   const hsc_log_report *report = hsc_log_reader_report(reader);     // lives as long as the
//   reader
//
// A line ends with a newline; a carriage return (progress bars) ends a part of a line that is
// looked at by itself. ANSI escapes are taken out. Any bytes are allowed. A line longer than
// HSC_LOG_SEGMENT_BYTES is looked at in overlapping pieces. Memory does not grow with the log
// beyond the distinct findings and modules (both bounded). Thread-compatible.
#pragma once

#include "doctor/versions.h"

enum {
  HSC_LOG_SEGMENT_BYTES = 1 << 20,
  HSC_LOG_MODULES_MAX = 20000,
  HSC_LOG_TEXTS_MAX = 100,
  HSC_LOG_SUBJECTS_MAX = 4
};

// When a line was written, by each clock that tells, in nanoseconds; 0 = that clock does not tell.
// A stamp without a zone is on a clock of its own: nobody knows how far it is from the others, so
// times are only subtracted from times of the same clock.
typedef struct hsc_log_time {
  int64_t zoned_ns;    // since the epoch: the stamp names its zone, or counts seconds
  int64_t local_ns;    // the stamp read as if it were UTC: it names no zone
  int64_t arrival_ns;  // since the epoch: when the line was read, of a log that is being written
} hsc_log_time;

typedef struct hsc_log_subject {
  const char *text;  // what the expression's group `subject` held
  uint64_t count;
} hsc_log_subject;

typedef struct hsc_finding {
  const hsc_entry *entry;
  uint64_t count;
  uint64_t first_line, last_line;  // from 1
  const char *text;                // the first such line, printable, shortened
  hsc_log_subject subjects[HSC_LOG_SUBJECTS_MAX];
  size_t subject_count;
  bool more_subjects;
} hsc_finding;

typedef struct hsc_log_module {
  const char *name;
  uint64_t compiles, cache_hits, failures;
  double seconds;     // sum of what is known; negative = unknown
  hsc_log_time open;  // of a compilation that began and has not ended; all 0 = none
} hsc_log_module;

// What a line of the log looks like, but cannot be because of the versions that are known.
typedef struct hsc_left_out {
  const hsc_entry *entry;
  const char *because;  // "since jax 0.4.15, and jax is 0.4.1 here"
  const char *text;     // the first such line
  uint64_t first_line, count;
} hsc_left_out;

typedef struct hsc_log_report {
  uint64_t lines, bytes;
  const hsc_finding *const *findings;  // by severity, rank, first line
  size_t finding_count;
  const hsc_left_out *left_out;  // not among the findings; in the order in which they were seen
  size_t left_out_count;
  uint64_t events[HSC_EVENT_COUNT];
  uint64_t compiles;               // begun, or ended where the log does not say that they began
  double compile_seconds;          // sum over modules; negative = the log does not tell
  hsc_log_module *const *modules;  // those that took longest first
  size_t module_count;
  // between the first and the last time stamp of recognised lines; negative = none
  double span_seconds;
  const char *next;  // the next thing to do; "" = nothing
} hsc_log_report;

typedef struct hsc_log_options {
  bool live;  // the log is being written now: times are those of arrival where a line has none
  // Called when a finding is seen for the first time (live shows) and for every recognised line
  // (rules); either may be NULL.
  void (*on_first)(void *user, const hsc_finding *finding);
  void (*on_line)(void *user,
                  const hsc_entry *entry,
                  hsc_view line,
                  uint64_t line_number,
                  const hsc_log_module *module,
                  double seconds);
  void *user;
  // what is known of versions; what the log shows is added. NULL = only what the log shows
  hsc_versions *versions;
} hsc_log_options;

typedef struct hsc_log_reader hsc_log_reader;
// `options` may be NULL. The base must outlive the reader.
HSC_MUST_USE hsc_status *hsc_log_reader_create(const hsc_knowledge *knowledge,
                                               const hsc_log_options *options,
                                               hsc_log_reader **out_reader);
void hsc_log_reader_destroy(hsc_log_reader *reader);
HSC_MUST_USE hsc_status *hsc_log_reader_feed(hsc_log_reader *reader,
                                             const void *bytes,
                                             size_t size);
HSC_MUST_USE hsc_status *hsc_log_reader_finish(hsc_log_reader *reader);
const hsc_log_report *hsc_log_reader_report(const hsc_log_reader *reader);
uint64_t hsc_log_reader_bytes(const hsc_log_reader *reader);  // that were fed so far
// Malformed expressions of the base, found when the reader was made.
const hsc_knowledge_problem *hsc_log_reader_problems(const hsc_log_reader *reader,
                                                     size_t *out_count);

// The time stamp at the start of a line; arrival is 0. Zoned: 2025-10-31T07:17:12Z, 07:17:12+09:00,
// I0000 00:00:1731234567.123456. Local: 2024-04-12 07:13:06.000296.
hsc_log_time hsc_line_time(hsc_view line);
// From `begin` to `end` by the best clock that tells both; negative = none does.
double hsc_log_seconds(hsc_log_time begin, hsc_log_time end);
