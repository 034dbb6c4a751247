// page.h - a report as one HTML page that works from a file: template, charts and data in it; it
// asks nothing of any server.
//
//   hsc_bytes out = {0};
//   hsc_page page;
//   hsc_page_begin(&page, "tiny on cpu", &out);
//   hsc_page_part(&page, "patterns", "p.json", "hloscope patterns --output p.json", &lead,
//   hsc_view_of(json));   // any number of parts
//   hsc_page_end(&page);
//   // errors are sticky in `out`
//
// Kinds that the page draws: patterns, passes_list, passes_ablate, run, capture, profile, doctor,
// explain; any other is shown as a table or as text. Nothing in the data is taken as markup: it
// is in a JSON element, escaped here, and the page makes text nodes of it alone.
#pragma once

#include "report/page_lead.h"

typedef struct hsc_page {
  hsc_bytes *out;
  bool has_parts, has_charts;
} hsc_page;

void hsc_page_begin(hsc_page *page, const char *title, hsc_bytes *out);
// `json` is one JSON document (checked by the caller). `command` repeats what made it; NULL or ""
// when unknown. `lead` is what is seen first of the part, borrowed; NULL or empty: nothing but the
// part itself.
void hsc_page_part(hsc_page *page,
                   const char *kind,
                   const char *label,
                   const char *command,
                   const hsc_page_lead *lead,
                   hsc_view json);
void hsc_page_end(hsc_page *page);

// Appends RFC 4648 base64 of `data`, with padding, for arrays inside a part's JSON.
void hsc_base64(hsc_bytes *out, const void *data, size_t size);
