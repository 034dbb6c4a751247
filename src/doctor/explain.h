// explain.h - what a log says, for people and for programs.
#pragma once

#include "doctor/log_reader.h"
#include "report/table.h"

// The findings that matter, each with its meaning and what to do, then what was merely expected,
// then the summary and the next step. `source` names the log. `all`: also what is merely expected
// in full.
void hsc_explain_text(const hsc_log_report *report,
                      const char *source,
                      double read_seconds,
                      bool all,
                      const hsc_text_style *style,
                      hsc_bytes *out);
// {"findings": [...], "summary": {...}, "next": text}; docs/schemas/explain.json.
void hsc_explain_json(const hsc_log_report *report, hsc_bytes *out);
// One entry in full, as `hloscope knowledge show` prints it.
void hsc_entry_text(const hsc_entry *entry, const hsc_text_style *style, hsc_bytes *out);
void hsc_entry_json(const hsc_entry *entry, hsc_json *json);
// What a person needs on the spot: meaning, whether it matters, what to do, where it was discussed.
// Each line is indented.
void hsc_entry_advice(const hsc_entry *entry, const hsc_text_style *style, hsc_bytes *out);
