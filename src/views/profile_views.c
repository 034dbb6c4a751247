// profile_views.c - the table of profile views, and what they share.
#include <math.h>
#include <stdlib.h>

#include "base/text/text.h"
#include "views/profile_internal.h"

static const struct {
  const char *text, *doc;
  hsc_status *(*fill)(hsc__profile_view *cx);
} views[] = {
#define PROFILE_VIEW(id, text, doc) {text, doc, hsc__profile_view_##id},
#include "views/profile_views.def"
#undef PROFILE_VIEW
};

const char *hsc_profile_view_name(hsc_profile_view_id view) {
  return views[view].text;
}

bool hsc_profile_view_of_name(const char *name, hsc_profile_view_id *out_view) {
  for (int i = 0; i < HSC_PROFILE_VIEW_COUNT; i++) {
    if (strcmp(name, views[i].text))
      continue;
    *out_view = (hsc_profile_view_id)i;
    return true;
  }
  return false;
}

// "name", "38" or "name(38)".
static hsc_status *find_program(hsc__profile_view *cx) {
  cx->program = -1;
  const char *wanted = cx->options->program;
  if (!wanted)
    return NULL;
  hsc_profile *profile = cx->profile;
  // with the number and without
  const char **names = HSC_NEW_ARRAY(cx->arena, const char *, 2 * profile->modules.count + 1);
  if (!names)
    return hsc_status_out_of_memory();
  for (size_t i = 0; i < profile->modules.count; i++) {
    const hsc_profile_module *m = &profile->modules.items[i];
    const char *full = hsc_arena_printf(cx->arena, "%.*s(%lld)", (int)m->name.size,
                                        m->name.data ? m->name.data : "", (long long)m->program_id);
    if (!m->has_id)
      full = hsc_arena_strndup(cx->arena, m->name.data ? m->name.data : "", m->name.size);
    const char *number = hsc_arena_printf(cx->arena, "%lld", (long long)m->program_id);
    HSC_TRY(hsc_arena_status(cx->arena));
    if (!strcmp(wanted, full) || (m->has_id && !strcmp(wanted, number)) ||
        hsc_view_equals_text(m->name, wanted)) {
      size_t more = 0;
      for (size_t k = i + 1; k < profile->modules.count; k++)
        more += strcmp(wanted, number) && strcmp(wanted, full) &&
                hsc_view_equals_text(profile->modules.items[k].name, wanted);
      if (more)
        hsc_table_note(cx->table,
                       "this is %s; %zu more programs are called %s: name one by its number, as "
                       "the view 'programs' shows it",
                       full, more, wanted);
      cx->program = (int32_t)i;
      return NULL;
    }
    names[i] = full;
    names[profile->modules.count + i] =
        hsc_arena_strndup(cx->arena, m->name.data ? m->name.data : "", m->name.size);
  }
  const char *near = hsc_did_you_mean(wanted, names, 2 * profile->modules.count);
  hsc_status *status =
      HSC_ERR(NOT_FOUND, "no operator of a program '%s' is in the profile", wanted);
  if (near)
    return hsc_status_hint(status, "did you mean %s?", near);
  if (profile->modules.count == 1)
    return hsc_status_hint(status, "there is one program: %s", names[0]);
  return profile->modules.count
             ? hsc_status_hint(status,
                               "there are %zu programs, such as %s; the view 'programs' shows all",
                               profile->modules.count, names[0])
             : status;
}

hsc_status *hsc_profile_table(hsc_profile *profile,
                              hsc_profile_view_id view,
                              const hsc_profile_options *options,
                              hsc_table **out_table) {
  static const hsc_profile_options defaults;
  hsc__profile_view cx = {.profile = profile, .options = options ? options : &defaults};
  hsc_status *status = NULL;
  *out_table = NULL;
  HSC_GOTO(hsc_arena_create(&cx.arena));
  HSC_GOTO(hsc_table_create(views[view].text, &cx.table));
  HSC_GOTO(find_program(&cx));
  HSC_GOTO(views[view].fill(&cx));
  HSC_GOTO(hsc_arena_status(cx.arena));
  if (cx.options->limit && (int64_t)hsc_table_row_count(cx.table) >= cx.options->limit)
    hsc_table_note(cx.table, "cut at %lld %s (--limit)", (long long)cx.options->limit,
                   hsc_plural((double)cx.options->limit, "row", "rows"));
  for (const char *line = hsc_profile_notes(profile); *line;) {
    const char *end = strchrnul(line, '\n');
    hsc_table_note(cx.table, "%.*s", (int)(end - line), line);
    line = *end ? end + 1 : end;
  }
  *out_table = cx.table;
  cx.table = NULL;
done:
  hsc_table_destroy(cx.table);
  hsc_arena_destroy(cx.arena);
  return status;
}

// ---- devices added up ---------------------------------------------------------------------------
