// page.c - the template with data in its middle.
#include "base/core/clock.h"
#include "base/json/json_write.h"
#include "report/page.h"

#include <time.h>

extern const char hsc__page_before[], hsc__page_charts[], hsc__page_after[];
extern const size_t hsc__page_before_size, hsc__page_charts_size, hsc__page_after_size;

// Kinds of which the page draws nothing with the charts library, which is a megabyte.
static const char *const without_charts[] = {"hlo_stages", "passes_diff", "table",  "listing",
                                             "blame",      "doctor",      "explain"};

// In a script element only "<" can end it; in JSON texts it may be written as an escape, and it
// is nowhere else.
static void append_escaped(hsc_bytes *out, hsc_view json) {
  const char *at = json.data;
  const char *end = json.data + json.size;
  while (at < end) {
    const char *next = memchr(at, '<', (size_t)(end - at));
    hsc_bytes_append(out, at, (size_t)((next ? next : end) - at));
    if (!next)
      return;
    hsc_bytes_append_text(out, "\\u003c");
    at = next + 1;
  }
}

static void append_text(hsc_bytes *out, const char *text) {
  hsc_bytes quoted = {0};
  hsc_json json;
  hsc_json_init(&json, &quoted, 0);
  hsc_json_string(&json, text);
  append_escaped(out, hsc_bytes_view(&quoted));
  if (quoted.failed)
    out->failed = true;
  hsc_bytes_deinit(&quoted);
}

void hsc_page_begin(hsc_page *page, const char *title, hsc_bytes *out) {
  *page = (hsc_page){.out = out};
  time_t now = (time_t)(hsc_wall_ns() / 1000000000);
  struct tm utc;
  char made[32] = "";
  if (gmtime_r(&now, &utc))
    strftime(made, sizeof made, "%Y-%m-%d %H:%M UTC", &utc);
  hsc_bytes_append(out, hsc__page_before, hsc__page_before_size);
  hsc_bytes_append_text(out, "{\"title\":");
  append_text(out, title);
  hsc_bytes_append_text(out, ",\"version\":\"" HSC_VERSION "\",\"made\":");
  append_text(out, made);
  hsc_bytes_append_text(out, ",\"parts\":[");
}

static bool needs_charts(const char *kind) {
  for (size_t i = 0; i < HSC_COUNT_OF(without_charts); i++)
    if (!strcmp(kind, without_charts[i]))
      return false;
  return true;
}

void hsc_page_part(hsc_page *page,
                   const char *kind,
                   const char *label,
                   const char *command,
                   const hsc_page_lead *lead,
                   hsc_view json) {
  hsc_bytes *out = page->out;
  hsc_bytes_append_text(out, page->has_parts ? ",\n{\"kind\":" : "\n{\"kind\":");
  append_text(out, kind);
  hsc_bytes_append_text(out, ",\"label\":");
  append_text(out, label);
  hsc_bytes_append_text(out, ",\"command\":");
  append_text(out, command ? command : "");
  if (lead && !hsc_lead_is_empty(lead)) {
    hsc_bytes text = {0};
    hsc_lead_json(lead, &text);
    hsc_bytes_append_text(out, ",\"lead\":");
    append_escaped(out, hsc_bytes_view(&text));
    if (text.failed)
      out->failed = true;
    hsc_bytes_deinit(&text);
  }
  if (lead && lead->sums.size) {
    hsc_bytes_append_text(out, ",\"sums\":");
    append_escaped(out, hsc_bytes_view(&lead->sums));
  }
  page->has_charts = page->has_charts || needs_charts(kind);
  hsc_bytes_append_text(out, ",\"json\":");
  append_escaped(out, json);
  hsc_bytes_append_char(out, '}');
  page->has_parts = true;
}

void hsc_page_end(hsc_page *page) {
  hsc_bytes_append_text(page->out, "]}</script>\n<script>");
  if (page->has_charts)
    hsc_bytes_append(page->out, hsc__page_charts, hsc__page_charts_size);
  hsc_bytes_append(page->out, hsc__page_after, hsc__page_after_size);
}

void hsc_base64(hsc_bytes *out, const void *data, size_t size) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const uint8_t *from = data;
  char *to = hsc_bytes_extend(out, (size + 2) / 3 * 4);
  if (!to)
    return;
  for (size_t i = 0; i < size; i += 3) {
    uint32_t three = (uint32_t)from[i] << 16 | (i + 1 < size ? (uint32_t)from[i + 1] << 8 : 0) |
                     (i + 2 < size ? from[i + 2] : 0u);
    *to++ = digits[three >> 18];
    *to++ = digits[three >> 12 & 63];
    *to++ = i + 1 < size ? digits[three >> 6 & 63] : '=';
    *to++ = i + 2 < size ? digits[three & 63] : '=';
  }
}
