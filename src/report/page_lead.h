// page_lead.h - the first view of a part of the report page: a sentence, one bar of parts that do
// not overlap, three numbers, what to do.
//
//   hsc_page_lead lead = {0};
//   hsc_lead_say(&lead, "Compiling takes %.0f %% of the time.", percent);
//   lead.bar_title = "from nothing to the first result";
//   hsc_lead_bar(&lead, "compile", seconds, "s");
//   hsc_lead_number(&lead, median, "s", "", "compile, median of %zu", count);
//   hsc_page_part(&page, kind, label, command, &lead, json);
//   hsc_lead_deinit(&lead);
//
// Everything is text and shares by then: the page prints it and computes nothing, so that no two
// places of a page can disagree. Failures of memory are sticky in the bytes, as everywhere.
#pragma once

#include "base/core/bytes.h"

enum { HSC_LEAD_PARTS = 7, HSC_LEAD_NUMBERS = 3 };

typedef struct hsc_lead_part {
  char name[48], text[32];  // the name, cut to its room; the value with its unit
  double value;
} hsc_lead_part;

typedef struct hsc_page_lead {
  hsc_bytes sentence;
  hsc_bytes next;         // what to do, a sentence; nothing is written where it is empty
  const char *bar_title;  // what the whole bar is, borrowed until the part is written
  hsc_lead_part parts[HSC_LEAD_PARTS];
  hsc_lead_part rest;  // all that found no room, together
  size_t part_count, rest_count;
  struct {
    char value[32], label[96];
    const char *tone;  // "", "good", "bad", "warn": a literal
  } numbers[HSC_LEAD_NUMBERS];
  size_t number_count;
  hsc_bytes
      sums;  // JSON of what the tables and charts below add up; nothing is written where empty
} hsc_page_lead;

// Appends to the sentence.
void hsc_lead_say(hsc_page_lead *lead, const char *format, ...) HSC_PRINTF(2, 3);
// One part of the bar, in the order of the calls; `unit` as in report/table.h, "" counts things.
// What is not above zero is left out; what is over HSC_LEAD_PARTS is added up as "others".
void hsc_lead_bar(hsc_page_lead *lead, const char *name, double value, const char *unit);
// One of the three numbers; a fourth is ignored. NaN is a dash.
void hsc_lead_number(
    hsc_page_lead *lead, double value, const char *unit, const char *tone, const char *format, ...)
    HSC_PRINTF(5, 6);
// Whether there is anything to show.
bool hsc_lead_is_empty(const hsc_page_lead *lead);
// {"sentence": text or null, "bar": {"title", "parts": [{"name", "text", "share"}]} or null,
// "numbers": [{"value", "label", "tone"}], "next": text or null}
void hsc_lead_json(const hsc_page_lead *lead, hsc_bytes *out);
void hsc_lead_deinit(hsc_page_lead *lead);
