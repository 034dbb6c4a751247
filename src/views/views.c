// views.c - the table of views, and what they share.
#include "base/text/text.h"
#include "views/views.h"

#include <math.h>
#include <stdlib.h>

#include "views/views_internal.h"

static const struct {
  const char *text, *doc;
  hsc_status *(*fill)(hsc__view_context *cx);
} views[] = {
#define VIEW(id, text, doc) {text, doc, hsc__view_##id},
#include "views/views.def"
#undef VIEW
};

const char *hsc_view_name(hsc_view_id view) {
  return views[view].text;
}

bool hsc_view_of_name(const char *name, hsc_view_id *out_view) {
  for (int i = 0; i < HSC_VIEW_COUNT; i++) {
    if (strcmp(name, views[i].text))
      continue;
    *out_view = (hsc_view_id)i;
    return true;
  }
  return false;
}

hsc_status *hsc_view_table(const hsc_capture *capture,
                           hsc_view_id view,
                           const hsc_view_options *options,
                           hsc_table **out_table) {
  static const hsc_view_options defaults;
  hsc__view_context cx = {.capture = capture, .options = options ? options : &defaults};
  hsc_status *status = NULL;
  *out_table = NULL;
  HSC_GOTO(hsc_arena_create(&cx.arena));
  HSC_GOTO(hsc_table_create(views[view].text, &cx.table));
  HSC_GOTO(views[view].fill(&cx));
  if (!cx.arena_given)
    HSC_GOTO(hsc_arena_status(cx.arena));
  if (cx.options->limit && (int64_t)hsc_table_row_count(cx.table) >= cx.options->limit)
    hsc_table_note(cx.table, "cut at %lld %s (--limit)", (long long)cx.options->limit,
                   hsc_plural((double)cx.options->limit, "row", "rows"));
  for (const char *line = hsc_capture_notes(capture); *line;) {
    const char *end = strchrnul(line, '\n');
    hsc_table_note(cx.table, "%.*s", (int)(end - line), line);
    line = *end ? end + 1 : end;
  }
  *out_table = cx.table;
  cx.table = NULL;
done:
  hsc_table_destroy(cx.table);
  if (!cx.arena_given)
    hsc_arena_destroy(cx.arena);
  return status;
}

// ---- shared -------------------------------------------------------------------------------------
