// tally.c - counts recognised lines: one finding an entry (or a text), modules with their
// compilations, and the order that matters.
#include <stdlib.h>

#include "doctor/log_internal.h"

enum { SHOWN_BYTES = 400 };

hsc_status *hsc__tally_init(hsc__tally *t,
                            hsc_arena *arena,
                            const hsc_knowledge *knowledge,
                            const hsc_log_options *options) {
  *t = (hsc__tally){.arena = arena, .knowledge = knowledge};
  if (options)
    t->options = *options;
  t->unnamed = (hsc_log_module){.name = "", .seconds = -1};
  t->by_entry = HSC_NEW_ARRAY(arena, hsc_finding *, hsc_knowledge_count(knowledge) + 1);
  t->excluded = HSC_NEW_ARRAY(arena, uint8_t, hsc_knowledge_count(knowledge) + 1);
  t->excluded_generation = UINT64_MAX;
  if (!t->by_entry || !t->excluded)
    return hsc_status_out_of_memory();
  t->versions = t->options.versions;
  if (!t->versions) {
    HSC_TRY(hsc_versions_create(&t->own_versions));
    t->versions = t->own_versions;
  }
  HSC_TRY(hsc_map_create(&t->by_text));
  return hsc_map_create(&t->modules);
}

void hsc__tally_deinit(hsc__tally *t) {
  hsc_map_destroy(t->by_text);
  hsc_map_destroy(t->modules);
  hsc_free(t->findings);
  hsc_free(t->left_out);
  hsc_versions_destroy(t->own_versions);
}

// The line as it can be shown: no control characters, valid UTF-8 is left to the printer, the
// middle of a long one left out.
static const char *shown_text(hsc_arena *arena, hsc_view line) {
  while (line.size && (line.data[0] == ' ' || line.data[0] == '\t')) {
    line.data++;
    line.size--;
  }
  size_t size = line.size < SHOWN_BYTES ? line.size : SHOWN_BYTES;
  char *text = hsc_arena_strndup(arena, line.data, size + (line.size > size ? 3 : 0));
  if (!text)
    return "";
  for (size_t i = 0; i < size; i++)
    if ((unsigned char)text[i] < 32 || text[i] == 127)
      text[i] = ' ';
  if (line.size > size)
    memcpy(text + size, "...", 3);
  return text;
}

// The text without what differs from one occurrence to the next: runs of digits become one '#',
// hexadecimal addresses too.
static size_t normalise(hsc_view line, char *out, size_t room) {
  size_t size = 0;
  for (size_t i = 0; i < line.size && size < room; i++) {
    char c = line.data[i];
    if (c >= '0' && c <= '9') {
      if (c == '0' && i + 1 < line.size && line.data[i + 1] == 'x') {
        i += 2;
        while (i < line.size && ((line.data[i] >= '0' && line.data[i] <= '9') ||
                                 ((line.data[i] | 32) >= 'a' && (line.data[i] | 32) <= 'f')))
          i++;
        i--;
      }
      if (size && out[size - 1] == '#')
        continue;
      c = '#';
    }
    out[size++] = c;
  }
  return size;
}

static hsc_status *new_finding(hsc__tally *t,
                               const hsc_entry *entry,
                               hsc_view line,
                               uint64_t line_number,
                               hsc_finding **out_finding) {
  if (!HSC_GROW(t->findings, t->count, t->capacity))
    return hsc_status_out_of_memory();
  hsc_finding *finding = HSC_NEW(t->arena, hsc_finding);
  HSC_TRY(hsc_arena_status(t->arena));
  *finding =
      (hsc_finding){.entry = entry, .first_line = line_number, .text = shown_text(t->arena, line)};
  t->findings[t->count++] = *out_finding = finding;
  return hsc_arena_status(t->arena);
}

static hsc_status *finding_of(
    hsc__tally *t, size_t index, hsc_view line, uint64_t line_number, hsc_finding **out_finding) {
  const hsc_entry *entry = hsc_knowledge_at(t->knowledge, index);
  if (entry->by_text) {
    char key[512];
    size_t size = normalise(line, key, sizeof key);
    *out_finding = hsc_map_get(t->by_text, (hsc_view){key, size});
    if (*out_finding)
      return NULL;
    if (hsc_map_count(t->by_text) < HSC_LOG_TEXTS_MAX) {
      HSC_TRY(new_finding(t, entry, line, line_number, out_finding));
      const char *copy = hsc_arena_strndup(t->arena, key, size);
      HSC_TRY(hsc_arena_status(t->arena));
      return hsc_map_put(t->by_text, (hsc_view){copy, size}, *out_finding);
    }
  }
  if (!t->by_entry[index])
    HSC_TRY(new_finding(t, entry, line, line_number, &t->by_entry[index]));
  *out_finding = t->by_entry[index];
  return NULL;
}

static void count_subject(hsc__tally *t, hsc_finding *finding, hsc_view subject) {
  if (!subject.size)
    return;
  if (subject.size > 200)
    subject.size = 200;
  for (size_t i = 0; i < finding->subject_count; i++)
    if (hsc_view_equals_text(subject, finding->subjects[i].text)) {
      finding->subjects[i].count++;
      return;
    }
  if (finding->subject_count == HSC_LOG_SUBJECTS_MAX) {
    finding->more_subjects = true;
    return;
  }
  const char *text = shown_text(t->arena, subject);
  finding->subjects[finding->subject_count++] = (hsc_log_subject){text, 1};
}

static hsc_status *module_of(hsc__tally *t, hsc_view name, hsc_log_module **out_module) {
  *out_module = &t->unnamed;
  if (!name.size)
    return NULL;
  if (name.size > 300)
    name.size = 300;
  hsc_log_module *module = hsc_map_get(t->modules, name);
  if (!module && hsc_map_count(t->modules) < HSC_LOG_MODULES_MAX) {
    module = HSC_NEW(t->arena, hsc_log_module);
    const char *copy = hsc_arena_strndup(t->arena, name.data, name.size);
    if (!module || !copy)
      return hsc_status_out_of_memory();
    *module = (hsc_log_module){.name = copy, .seconds = -1};
    HSC_TRY(hsc_map_put(t->modules, (hsc_view){copy, name.size}, module));
  }
  if (module)
    *out_module = module;
  return NULL;
}

static double number_in(hsc_view text) {
  static const double tenths[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9};
  uint64_t digits = 0;
  size_t at = 0;
  size_t point = 0;
  // "12.345": exact in a double, and what nearly every log has
  for (; at < text.size && at < 16; at++) {
    if (text.data[at] == '.' && !point && at)
      point = at + 1;
    else if (text.data[at] >= '0' && text.data[at] <= '9')
      digits = digits * 10 + (uint64_t)(text.data[at] - '0');
    else
      break;
  }
  if (at && at == text.size && (!point || at - point < HSC_COUNT_OF(tenths))) {
    double value = (double)digits / tenths[point ? at - point : 0];
    return value < 1e9 ? value : -1;
  }
  char copy[40];
  if (!text.size || text.size >= sizeof copy)
    return -1;
  memcpy(copy, text.data, text.size);
  copy[text.size] = 0;
  char *end = NULL;
  double value = strtod(copy, &end);
  return end != copy && value >= 0 && value < 1e9 ? value : -1;
}

// What the event means for its module: a compilation that began stays open until one ends. Gives
// how long it took, negative = unknown.
static double module_event(hsc__tally *t,
                           hsc_event event,
                           hsc_log_module *module,
                           bool named,
                           double seconds,
                           hsc_log_time now) {
  if (event == HSC_EVENT_COMPILE_START) {
    module->compiles++;
    module->open = now;
    t->last_open = module;
    return -1;
  }
  if (event == HSC_EVENT_CACHE_HIT)
    module->cache_hits++;
  if (event != HSC_EVENT_COMPILE_DONE && event != HSC_EVENT_COMPILE_FAILED)
    return -1;
  if (!named && t->last_open)
    module = t->last_open;
  if (event == HSC_EVENT_COMPILE_FAILED)
    module->failures++;
  if (!module->compiles)
    module->compiles++;
  if (seconds < 0)
    seconds = hsc_log_seconds(module->open, now);
  module->open = (hsc_log_time){0};
  if (t->last_open == module)
    t->last_open = NULL;
  if (seconds >= 0)
    module->seconds = (module->seconds < 0 ? 0 : module->seconds) + seconds;
  return seconds;
}

static void note_time(int64_t *first_ns, int64_t *last_ns, int64_t now_ns) {
  if (!now_ns)
    return;
  if (!*first_ns)
    *first_ns = now_ns;
  *last_ns = now_ns;
}

hsc_status *hsc__tally_line(hsc__tally *t,
                            size_t index,
                            hsc_view line,
                            uint64_t line_number,
                            const hsc_capture_groups *groups,
                            hsc_log_time now) {
  const hsc_entry *entry = hsc_knowledge_at(t->knowledge, index);
  hsc_finding *finding = NULL;
  HSC_TRY(finding_of(t, index, line, line_number, &finding));
  if (line_number == t->long_line && finding->last_line == line_number)
    return NULL;
  finding->count++;
  finding->last_line = line_number;
  count_subject(t, finding, groups->subject);
  note_time(&t->first.zoned_ns, &t->last.zoned_ns, now.zoned_ns);
  note_time(&t->first.local_ns, &t->last.local_ns, now.local_ns);
  note_time(&t->first.arrival_ns, &t->last.arrival_ns, now.arrival_ns);
  t->report.events[entry->event]++;
  double seconds = number_in(groups->seconds);
  hsc_log_module *module = NULL;
  if (entry->event != HSC_EVENT_NONE) {
    HSC_TRY(module_of(t, groups->module, &module));
    seconds = module_event(t, entry->event, module, groups->module.size > 0, seconds, now);
  }
  if (finding->count == 1 && t->options.on_first)
    t->options.on_first(t->options.user, finding);
  if (t->options.on_line)
    t->options.on_line(t->options.user, entry, line, line_number, module, seconds);
  return NULL;
}

bool hsc__tally_excludes(hsc__tally *t, size_t index) {
  uint64_t now = hsc_versions_generation(t->versions);
  if (now != t->excluded_generation) {
    for (size_t i = 0; i < hsc_knowledge_count(t->knowledge); i++)
      t->excluded[i] =
          hsc_versions_exclude(t->versions, hsc_knowledge_at(t->knowledge, i), NULL) != NULL;
    t->excluded_generation = now;
  }
  return t->excluded[index];
}

static hsc_status *add_left_out(hsc__tally *t, const hsc_left_out *item) {
  if (!HSC_GROW(t->left_out, t->left_out_count, t->left_out_capacity))
    return hsc_status_out_of_memory();
  t->left_out[t->left_out_count++] = *item;
  return NULL;
}

hsc_status *hsc__tally_leave_out(hsc__tally *t, size_t index, hsc_view line, uint64_t line_number) {
  const hsc_entry *entry = hsc_knowledge_at(t->knowledge, index);
  for (size_t i = 0; i < t->left_out_count; i++)
    if (t->left_out[i].entry == entry) {
      t->left_out[i].count++;
      return NULL;
    }
  const char *because = hsc_versions_exclude(t->versions, entry, t->arena);
  const char *text = shown_text(t->arena, line);
  HSC_TRY(hsc_arena_status(t->arena));
  return add_left_out(t, &(hsc_left_out){.entry = entry,
                                         .because = because ? because : "",
                                         .text = text,
                                         .first_line = line_number,
                                         .count = 1});
}

// What was counted before the log showed the version that excludes it.
static hsc_status *drop_excluded(hsc__tally *t) {
  size_t kept = 0;
  for (size_t i = 0; i < t->count; i++) {
    hsc_finding *finding = t->findings[i];
    const char *because = hsc_versions_exclude(t->versions, finding->entry, t->arena);
    if (!because) {
      t->findings[kept++] = finding;
      continue;
    }
    t->report.events[finding->entry->event] -= finding->count;
    hsc_left_out *earlier = NULL;
    for (size_t k = 0; k < t->left_out_count; k++)
      if (t->left_out[k].entry == finding->entry)
        earlier = &t->left_out[k];
    if (earlier) {
      earlier->count += finding->count;
      earlier->first_line = finding->first_line;
      earlier->text = finding->text;
    } else {
      HSC_TRY(add_left_out(t, &(hsc_left_out){.entry = finding->entry,
                                              .because = because,
                                              .text = finding->text,
                                              .first_line = finding->first_line,
                                              .count = finding->count}));
    }
  }
  t->count = kept;
  return hsc_arena_status(t->arena);
}

static int by_importance(const void *a, const void *b) {
  const hsc_finding *x = *(hsc_finding *const *)a;
  const hsc_finding *y = *(hsc_finding *const *)b;
  if (x->entry->severity != y->entry->severity)
    return x->entry->severity > y->entry->severity ? -1 : 1;
  if (x->entry->rank != y->entry->rank)
    return x->entry->rank > y->entry->rank ? -1 : 1;
  return (x->first_line > y->first_line) - (x->first_line < y->first_line);
}

static int by_seconds(const void *a, const void *b) {
  const hsc_log_module *x = *(hsc_log_module *const *)a;
  const hsc_log_module *y = *(hsc_log_module *const *)b;
  if (x->seconds != y->seconds)
    return x->seconds > y->seconds ? -1 : 1;
  if (x->compiles != y->compiles) {
    if (x->compiles > y->compiles)
      return -1;
    return 1;
  }
  return strcmp(x->name, y->name);
}

// The next step of the most important finding; of a warning where there is no error.
static const char *next_step(const hsc__tally *t) {
  for (size_t i = 0; i < t->count; i++) {
    const hsc_entry *entry = t->findings[i]->entry;
    if (entry->severity == HSC_SEVERITY_INFO)
      break;
    if (*entry->next)
      return entry->next;
    if (*entry->workaround)
      return entry->workaround;
  }
  return "";
}

hsc_status *hsc__tally_finish(hsc__tally *t, uint64_t lines, uint64_t bytes) {
  hsc_log_report *report = &t->report;
  HSC_TRY(drop_excluded(t));
  report->left_out = t->left_out;
  report->left_out_count = t->left_out_count;
  if (t->count)
    qsort(t->findings, t->count, sizeof *t->findings, by_importance);
  report->lines = lines;
  report->bytes = bytes;
  report->findings = (const hsc_finding *const *)t->findings;
  report->finding_count = t->count;
  uint64_t begun = report->events[HSC_EVENT_COMPILE_START];
  uint64_t ended =
      report->events[HSC_EVENT_COMPILE_DONE] + report->events[HSC_EVENT_COMPILE_FAILED];
  report->compiles = begun > ended ? begun : ended;
  size_t named = hsc_map_count(t->modules);
  size_t total = named + (t->unnamed.compiles || t->unnamed.cache_hits ? 1 : 0);
  t->module_list = HSC_NEW_ARRAY(t->arena, hsc_log_module *, total + 1);
  HSC_TRY(hsc_arena_status(t->arena));
  for (size_t i = 0; i < named; i++)
    t->module_list[i] = hsc_map_at(t->modules, i, NULL);
  if (total > named)
    t->module_list[named] = &t->unnamed;
  report->compile_seconds = -1;
  for (size_t i = 0; i < total; i++)
    if (t->module_list[i]->seconds >= 0)
      report->compile_seconds =
          (report->compile_seconds < 0 ? 0 : report->compile_seconds) + t->module_list[i]->seconds;
  if (total)
    qsort(t->module_list, total, sizeof *t->module_list, by_seconds);
  report->modules = t->module_list;
  report->module_count = total;
  report->span_seconds = hsc_log_seconds(t->first, t->last);
  report->next = next_step(t);
  return NULL;
}
