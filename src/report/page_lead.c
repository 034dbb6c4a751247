// page_lead.c - the first view of a part, as JSON.
#include "report/page_lead.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/json/json_write.h"
#include "report/table.h"

void hsc_lead_say(hsc_page_lead *lead, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  hsc_bytes_printf_v(&lead->sentence, format, arguments);
  va_end(arguments);
}

// Counts are whole numbers without a unit; everything else is written as tables write it.
static void quantity(double value, const char *unit, char out_text[32]) {
  if (!isfinite(value))
    snprintf(out_text, 32, "–");
  else if (!*unit)
    snprintf(out_text, 32, "%.0f", value);
  else
    hsc_format_quantity(value, unit, true, out_text);
}

void hsc_lead_bar(hsc_page_lead *lead, const char *name, double value, const char *unit) {
  if (!(value > 0) || !isfinite(value))
    return;
  bool has_room = lead->part_count < HSC_LEAD_PARTS;
  hsc_lead_part *part = has_room ? &lead->parts[lead->part_count++] : &lead->rest;
  part->value += value;
  if (has_room) {
    snprintf(part->name, sizeof part->name, "%s", name);
  } else {
    lead->rest_count++;
    snprintf(part->name, sizeof part->name, "%zu others", lead->rest_count);
  }
  quantity(part->value, unit, part->text);
}

void hsc_lead_number(hsc_page_lead *lead,
                     double value,
                     const char *unit,
                     const char *tone,
                     const char *format,
                     ...) {
  if (lead->number_count == HSC_LEAD_NUMBERS)
    return;
  size_t at = lead->number_count++;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(lead->numbers[at].label, sizeof lead->numbers[at].label, format, arguments);
  va_end(arguments);
  quantity(value, unit, lead->numbers[at].value);
  lead->numbers[at].tone = tone;
}

bool hsc_lead_is_empty(const hsc_page_lead *lead) {
  return !lead->sentence.size && !lead->part_count && !lead->number_count;
}

static void write_part(hsc_json *json, const hsc_lead_part *part, double whole) {
  hsc_json_begin_object(json);
  hsc_json_kv_string(json, "name", part->name);
  hsc_json_kv_string(json, "text", part->text);
  hsc_json_kv_double(json, "share", part->value / whole);
  hsc_json_end_object(json);
}

static void write_bar(hsc_json *json, const hsc_page_lead *lead) {
  double whole = lead->rest.value;
  if (!lead->part_count) {
    hsc_json_null(json);
    return;
  }
  for (size_t i = 0; i < lead->part_count; i++)
    whole += lead->parts[i].value;
  hsc_json_begin_object(json);
  hsc_json_kv_string(json, "title", lead->bar_title ? lead->bar_title : "");
  hsc_json_key(json, "parts");
  hsc_json_begin_array(json);
  for (size_t i = 0; i < lead->part_count; i++)
    write_part(json, &lead->parts[i], whole);
  if (lead->rest_count)
    write_part(json, &lead->rest, whole);
  hsc_json_end_array(json);
  hsc_json_end_object(json);
}

// Texts that were written for JSON say "us"; readers get "µs".
static void write_sentence(hsc_json *json, const hsc_bytes *text, hsc_bytes *out) {
  hsc_bytes shown = {0};
  if (!text->size) {
    hsc_json_null(json);
    return;
  }
  hsc_text_units(hsc_bytes_text(text), true, &shown);
  hsc_json_string(json, hsc_bytes_text(&shown));
  if (shown.failed || text->failed)
    out->failed = true;
  hsc_bytes_deinit(&shown);
}

void hsc_lead_json(const hsc_page_lead *lead, hsc_bytes *out) {
  hsc_json json;
  hsc_json_init(&json, out, 0);
  hsc_json_begin_object(&json);
  hsc_json_key(&json, "sentence");
  write_sentence(&json, &lead->sentence, out);
  hsc_json_key(&json, "bar");
  write_bar(&json, lead);
  hsc_json_key(&json, "numbers");
  hsc_json_begin_array(&json);
  for (size_t i = 0; i < lead->number_count; i++) {
    hsc_json_begin_object(&json);
    hsc_json_kv_string(&json, "value", lead->numbers[i].value);
    hsc_json_kv_string(&json, "label", lead->numbers[i].label);
    hsc_json_kv_string(&json, "tone", lead->numbers[i].tone);
    hsc_json_end_object(&json);
  }
  hsc_json_end_array(&json);
  hsc_json_key(&json, "next");
  write_sentence(&json, &lead->next, out);
  hsc_json_end_object(&json);
}

void hsc_lead_deinit(hsc_page_lead *lead) {
  hsc_bytes_deinit(&lead->sentence);
  hsc_bytes_deinit(&lead->next);
  hsc_bytes_deinit(&lead->sums);
  *lead = (hsc_page_lead){0};
}
