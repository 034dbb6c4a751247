// watch.h - rules over a log that is being written, and the alerts that they raise.
//
//   hsc_watch *watch = NULL;
//   HSC_TRY(hsc_watch_create(rules, rule_count, on_alert, user, &watch));
//   ... hsc_log_options{.live = true, .on_line = hsc_watch_on_line, .user = watch}; feed the reader
//   ...
//   hsc_watch_tick(watch, hsc_now_ns(), memory_bytes);      // about once a second
//
// A rule about messages raises one alert for each entry or module; a rule with a limit raises one
// when it is passed. Thread-compatible.
#pragma once

#include "base/json/json_write.h"
#include "doctor/log_reader.h"

typedef struct hsc_alert {
  const char *rule;        // as the user wrote it
  const char *text;        // what happened, one line
  const hsc_entry *entry;  // NULL = no message
  const char *module;      // "" = none
  uint64_t line;           // of the log; 0 = none
  double value;            // against the limit; NaN = none
} hsc_alert;

typedef struct hsc_watch hsc_watch;
// Rules as of watch_rules.def: "compile-failed", "compile-over=60", "memory-over=16GiB". The alert
// is valid during the call only.
// Errors: INVALID_ARGUMENT (no such rule: with the nearest name; a value that is none),
// RESOURCE_EXHAUSTED.
HSC_MUST_USE hsc_status *hsc_watch_create(const char *const *rules,
                                          size_t rule_count,
                                          void (*on_alert)(void *user, const hsc_alert *alert),
                                          void *user,
                                          hsc_watch **out_watch);
void hsc_watch_destroy(hsc_watch *watch);
// For hsc_log_options: `user` is the watch. The entry must live as long as the watch, as those of a
// knowledge base do.
void hsc_watch_on_line(void *user,
                       const hsc_entry *entry,
                       hsc_view line,
                       uint64_t line_number,
                       const hsc_log_module *module,
                       double seconds);
// memory_bytes: 0 = not known. Silence counts from the last call of hsc_watch_heard.
void hsc_watch_tick(hsc_watch *watch, int64_t now_ns, int64_t memory_bytes);
void hsc_watch_heard(hsc_watch *watch, int64_t now_ns);
// The command ended by a signal.
void hsc_watch_signal(hsc_watch *watch, int signal_number);
uint64_t hsc_watch_alert_count(const hsc_watch *watch);
// The error that names the cause most directly, when it is one that may go away; NULL = it is not,
// or there was none: trying again is of no use.
const hsc_entry *hsc_watch_transient(const hsc_watch *watch);

// Counters for the text-file collector of Prometheus' node exporter; `job` labels them.
void hsc_watch_prometheus(const hsc_watch *watch,
                          const hsc_log_report *report,
                          const char *job,
                          int64_t memory_bytes,
                          hsc_bytes *out);
void hsc_alert_json(const hsc_alert *alert, const char *job, hsc_json *json);  // one object
