// explain_report.c - prints a log report and entries of the knowledge base.
//
// Everything is in two columns: a label of nine columns after two blanks, then text that is wrapped
// from column 11 on. A label repeats only where it changes (list_row, references, remedies), so
// that rows of one kind read as one list.
#include "base/text/text.h"
#include "doctor/explain.h"

enum { MODULES_SHOWN = 8 };

// At most 120 columns; 110 where the width is not known, or too small to wrap in.
static int width_of(const hsc_text_style *style) {
  if (style->width > 40) {
    if (style->width < 120)
      return style->width;
    return 120;
  }
  return 110;
}
static const char *bold(const hsc_text_style *style) {
  return style->color ? "\x1b[1m" : "";
}
static const char *dim(const hsc_text_style *style) {
  return style->color ? "\x1b[2m" : "";
}
static const char *plain(const hsc_text_style *style) {
  return style->color ? "\x1b[0m" : "";
}

// "error", "warning", "info", coloured where the style has colours and padded to seven columns.
static void severity_text(hsc_severity severity, const hsc_text_style *style, hsc_bytes *out) {
  static const char *const colors[] = {"\x1b[36m", "\x1b[33m", "\x1b[31m"};
  hsc_bytes_printf(out, "%s%-7s%s", style->color ? colors[severity] : "",
                   hsc_severity_name(severity), plain(style));
}

static void label(const char *name, const char *text, const hsc_text_style *style, hsc_bytes *out) {
  if (!*text)
    return;
  hsc_bytes_printf(out, "  %s%-9s%s", dim(style), name, plain(style));
  hsc_text_wrap(text, 11, width_of(style), out);
}

static void code(const char *name, const char *text, const hsc_text_style *style, hsc_bytes *out) {
  if (!*text)
    return;
  hsc_bytes_printf(out, "  %s%s%s\n", dim(style), name, plain(style));
  while (*text) {
    size_t length = strcspn(text, "\n");
    hsc_bytes_printf(out, "    | %.*s\n", (int)length, text);
    text += length + (text[length] == '\n');
  }
}

void hsc_entry_advice(const hsc_entry *entry, const hsc_text_style *style, hsc_bytes *out) {
  label("means", entry->meaning, style, out);
  label("matters", entry->matters, style, out);
  label("cause", entry->cause, style, out);
  label("do", entry->workaround, style, out);
  code("before", entry->before, style, out);
  code("after", entry->after, style, out);
  for (size_t i = 0; i < entry->reference_count; i++)
    hsc_bytes_printf(out, "  %s%-9s%s%s\n", dim(style), i ? "" : "see", plain(style),
                     entry->references[i].url);
}

static void list_row(const char *name,
                     const char *const *items,
                     const hsc_text_style *style,
                     hsc_bytes *out) {
  if (!items[0])
    return;
  hsc_bytes_printf(out, "  %s%-9s%s", dim(style), name, plain(style));
  for (size_t i = 0; items[i]; i++)
    hsc_bytes_printf(out, "%s%s", i ? ", " : "", items[i]);
  hsc_bytes_append_char(out, '\n');
}

void hsc_entry_text(const hsc_entry *entry, const hsc_text_style *style, hsc_bytes *out) {
  severity_text(entry->severity, style, out);
  hsc_bytes_printf(out, " %s%s%s  [%s]\n", bold(style), entry->title, plain(style), entry->id);
  list_row("systems", entry->systems, style, out);
  list_row("since", entry->since, style, out);
  list_row("until", entry->until, style, out);
  list_row("seen", entry->seen, style, out);
  hsc_entry_advice(entry, style, out);
  for (size_t i = 0; i < entry->match_count; i++) {
    const hsc_match *match = &entry->matches[i];
    hsc_bytes_printf(out, "  %s%-9s%s", dim(style), i ? "or" : "found by", plain(style));
    for (size_t k = 0; k < match->literal_count; k++)
      hsc_bytes_printf(out, "%s\"%.*s\"", k ? " and " : "", (int)match->literals[k].size,
                       match->literals[k].data);
    for (size_t k = 0; k < match->absent_count; k++)
      hsc_bytes_printf(out, ", not \"%.*s\"", (int)match->absent[k].size, match->absent[k].data);
    if (match->regex)
      hsc_bytes_printf(out, ", /%s/", match->regex);
    hsc_bytes_append_char(out, '\n');
  }
  for (size_t i = 0; i < entry->remedy_count; i++)
    hsc_bytes_printf(out, "  %s%-9s%s%s=%s\n", dim(style), i ? "" : "remedy", plain(style),
                     entry->remedies[i].name, entry->remedies[i].value);
  hsc_bytes_printf(out, "  %s%-9s%s%zu log%s, %zu program%s\n", dim(style), "proof", plain(style),
                   entry->log_count, hsc_plural((double)entry->log_count, "", "s"),
                   entry->program_count, hsc_plural((double)entry->program_count, "", "s"));
  if (entry->path)
    hsc_bytes_printf(out, "  %s%-9s%s%s\n", dim(style), "file", plain(style), entry->path);
}

static void finding_text(const hsc_finding *finding, const hsc_text_style *style, hsc_bytes *out) {
  severity_text(finding->entry->severity, style, out);
  hsc_bytes_printf(out, " %s%s%s  [%s]", bold(style), finding->entry->title, plain(style),
                   finding->entry->id);
  if (finding->count > 1)
    hsc_bytes_printf(out, "  %llu times, lines %llu to %llu", (unsigned long long)finding->count,
                     (unsigned long long)finding->first_line,
                     (unsigned long long)finding->last_line);
  hsc_bytes_append_char(out, '\n');
  char place[32];
  snprintf(place, sizeof place, "line %llu", (unsigned long long)finding->first_line);
  hsc_bytes_printf(out, "  %s%-9s%s%s\n", dim(style), place, plain(style), finding->text);
  for (size_t i = 0;
       i < finding->subject_count && (finding->subject_count > 1 || finding->count > 1); i++)
    hsc_bytes_printf(out, "  %s%-9s%s%s (%llu)\n", dim(style), i ? "" : "of", plain(style),
                     finding->subjects[i].text, (unsigned long long)finding->subjects[i].count);
  if (finding->more_subjects)
    hsc_bytes_printf(out, "           and others\n");
  hsc_entry_advice(finding->entry, style, out);
  hsc_bytes_append_char(out, '\n');
}

static void count_item(
    hsc_bytes *out, bool *first, uint64_t count, const char *one, const char *many) {
  if (!count)
    return;
  hsc_bytes_printf(out, "%s%llu %s", *first ? "" : ", ", (unsigned long long)count,
                   count == 1 ? one : many);
  *first = false;
}

static void summary_text(const hsc_log_report *report,
                         const hsc_text_style *style,
                         hsc_bytes *out) {
  const uint64_t *events = report->events;
  bool first = true;
  hsc_bytes line = {0};
  count_item(&line, &first, report->compiles, "compilation", "compilations");
  count_item(&line, &first, events[HSC_EVENT_CACHE_HIT], "cache hit", "cache hits");
  count_item(&line, &first, events[HSC_EVENT_CACHE_MISS], "cache miss", "cache misses");
  count_item(&line, &first, events[HSC_EVENT_COMPILE_FAILED], "failure", "failures");
  count_item(&line, &first, events[HSC_EVENT_CACHED_FAILURE], "remembered failure",
             "remembered failures");
  count_item(&line, &first, events[HSC_EVENT_RECOMPILE], "recompilation", "recompilations");
  count_item(&line, &first, events[HSC_EVENT_RETRY], "retry", "retries");
  count_item(&line, &first, events[HSC_EVENT_SLOW_COMPILE], "slow compilation",
             "slow compilations");
  count_item(&line, &first, events[HSC_EVENT_OUT_OF_MEMORY], "time out of memory",
             "times out of memory");
  count_item(&line, &first, events[HSC_EVENT_CRASH], "crash", "crashes");
  if (report->compile_seconds >= 0) {
    char text[32];
    hsc_format_quantity(report->compile_seconds, "s", style->unicode, text);
    hsc_bytes_printf(&line, "%scompiling took %s", first ? "" : ", ", text);
    first = false;
  }
  if (!first)
    hsc_bytes_printf(out, "%sSummary%s  %s\n", bold(style), plain(style), hsc_bytes_text(&line));
  hsc_bytes_deinit(&line);
  size_t shown = report->module_count < MODULES_SHOWN ? report->module_count : MODULES_SHOWN;
  for (size_t i = 0; i < shown; i++) {
    const hsc_log_module *module = report->modules[i];
    if (module->seconds < 0 && !module->failures)
      continue;
    char text[32] = "?";
    if (module->seconds >= 0)
      hsc_format_quantity(module->seconds, "s", style->unicode, text);
    hsc_bytes_printf(out, "  %8s  %s", text, *module->name ? module->name : "(no name in the log)");
    if (module->compiles > 1)
      hsc_bytes_printf(out, ", compiled %llu times", (unsigned long long)module->compiles);
    if (module->cache_hits)
      hsc_bytes_printf(out, ", %llu from the cache", (unsigned long long)module->cache_hits);
    if (module->failures)
      hsc_bytes_printf(out, ", failed %llu %s", (unsigned long long)module->failures,
                       hsc_plural((double)module->failures, "time", "times"));
    hsc_bytes_append_char(out, '\n');
  }
  if (report->module_count > shown)
    hsc_bytes_printf(out, "  and %zu more %s\n", report->module_count - shown,
                     hsc_plural((double)(report->module_count - shown), "module", "modules"));
}

void hsc_explain_text(const hsc_log_report *report,
                      const char *source,
                      double read_seconds,
                      bool all,
                      const hsc_text_style *style,
                      hsc_bytes *out) {
  size_t expected = 0;
  for (size_t i = 0; i < report->finding_count; i++) {
    if (report->findings[i]->entry->severity != HSC_SEVERITY_INFO || all)
      finding_text(report->findings[i], style, out);
    else
      expected++;
  }
  if (expected) {
    hsc_bytes_printf(out, "%sExpected, nothing to do%s\n", bold(style), plain(style));
    for (size_t i = 0; i < report->finding_count; i++) {
      const hsc_finding *finding = report->findings[i];
      if (finding->entry->severity == HSC_SEVERITY_INFO)
        hsc_bytes_printf(out, "  %6llu x  %s  [%s]\n", (unsigned long long)finding->count,
                         finding->entry->title, finding->entry->id);
    }
    hsc_bytes_append_char(out, '\n');
  }
  for (size_t i = 0; i < report->left_out_count; i++) {
    const hsc_left_out *left = &report->left_out[i];
    if (!i)
      hsc_bytes_printf(out, "%sLooks like something known, but the versions exclude it%s\n",
                       bold(style), plain(style));
    hsc_bytes_printf(out, "  line %-6llu %s\n", (unsigned long long)left->first_line, left->text);
    hsc_bytes_printf(out, "  %6llu x  [%s] is known %s\n", (unsigned long long)left->count,
                     left->entry->id, left->because);
    if (i + 1 == report->left_out_count)
      hsc_bytes_append_char(out, '\n');
  }
  summary_text(report, style, out);
  char size[32], seconds[32];
  hsc_format_quantity((double)report->bytes, "bytes", style->unicode, size);
  hsc_format_quantity(read_seconds, "s", style->unicode, seconds);
  hsc_bytes_printf(out, "%s%s%s: %llu line%s, %s, read in %s\n", dim(style), source, plain(style),
                   (unsigned long long)report->lines, hsc_plural((double)report->lines, "", "s"),
                   size, seconds);
  if (*report->next) {
    hsc_bytes_printf(out, "%sNext%s ", bold(style), plain(style));
    hsc_text_wrap(report->next, 5, width_of(style), out);
  } else if (!report->finding_count && !report->left_out_count) {
    hsc_bytes_printf(out,
                     "Nothing in it is known here. hloscope knowledge search WORDS looks for "
                     "words; hloscope knowledge add teaches it a message.\n");
  } else {
    hsc_bytes_printf(out, "Next nothing: no warning and no error was recognised.\n");
  }
}

static void json_list(hsc_json *json, const char *key, const char *const *items) {
  hsc_json_key(json, key);
  hsc_json_begin_array(json);
  for (size_t i = 0; items[i]; i++)
    hsc_json_string(json, items[i]);
  hsc_json_end_array(json);
}

static void json_text(hsc_json *json, const char *key, const char *text) {
  hsc_json_kv_string(json, key, *text ? text : NULL);
}

static void json_references(hsc_json *json, const hsc_entry *entry) {
  hsc_json_key(json, "references");
  hsc_json_begin_array(json);
  for (size_t i = 0; i < entry->reference_count; i++)
    hsc_json_string(json, entry->references[i].url);
  hsc_json_end_array(json);
}

static void json_advice(hsc_json *json, const hsc_entry *entry) {
  json_text(json, "meaning", entry->meaning);
  json_text(json, "does_it_matter", entry->matters);
  json_text(json, "cause", entry->cause);
  json_text(json, "workaround", entry->workaround);
  json_text(json, "before", entry->before);
  json_text(json, "after", entry->after);
  json_references(json, entry);
}

void hsc_entry_json(const hsc_entry *entry, hsc_json *json) {
  hsc_json_begin_object(json);
  hsc_json_kv_string(json, "id", entry->id);
  hsc_json_kv_string(json, "title", entry->title);
  hsc_json_kv_string(json, "severity", hsc_severity_name(entry->severity));
  hsc_json_kv_string(json, "event",
                     entry->event == HSC_EVENT_NONE ? NULL : hsc_event_name(entry->event));
  hsc_json_kv_bool(json, "transient", entry->transient);
  json_list(json, "systems", entry->systems);
  json_list(json, "since", entry->since);
  json_list(json, "until", entry->until);
  json_list(json, "seen", entry->seen);
  json_advice(json, entry);
  hsc_json_key(json, "remedies");
  hsc_json_begin_array(json);
  for (size_t i = 0; i < entry->remedy_count; i++) {
    hsc_json_begin_object(json);
    hsc_json_kv_string(json, "option", entry->remedies[i].name);
    hsc_json_kv_string(json, "value", entry->remedies[i].value);
    hsc_json_end_object(json);
  }
  hsc_json_end_array(json);
  hsc_json_kv_int(json, "proofs", (int64_t)(entry->log_count + entry->program_count));
  hsc_json_kv_string(json, "file", entry->path);
  hsc_json_end_object(json);
}

static void json_finding(hsc_json *json, const hsc_finding *finding) {
  hsc_json_begin_object(json);
  hsc_json_kv_string(json, "entry", finding->entry->id);
  hsc_json_kv_string(json, "title", finding->entry->title);
  hsc_json_kv_string(json, "severity", hsc_severity_name(finding->entry->severity));
  hsc_json_kv_int(json, "count", (int64_t)finding->count);
  hsc_json_kv_int(json, "first_line", (int64_t)finding->first_line);
  hsc_json_kv_int(json, "last_line", (int64_t)finding->last_line);
  hsc_json_kv_string(json, "text", finding->text);
  hsc_json_key(json, "subjects");
  hsc_json_begin_array(json);
  for (size_t i = 0; i < finding->subject_count; i++) {
    hsc_json_begin_object(json);
    hsc_json_kv_string(json, "text", finding->subjects[i].text);
    hsc_json_kv_int(json, "count", (int64_t)finding->subjects[i].count);
    hsc_json_end_object(json);
  }
  hsc_json_end_array(json);
  hsc_json_kv_bool(json, "transient", finding->entry->transient);
  json_advice(json, finding->entry);
  hsc_json_end_object(json);
}

static void json_seconds(hsc_json *json, const char *key, double seconds) {
  hsc_json_key(json, key);
  if (seconds < 0)
    hsc_json_null(json);
  else
    hsc_json_double(json, seconds);
}

static void json_summary(hsc_json *json, const hsc_log_report *report) {
  const uint64_t *events = report->events;
  static const struct {
    const char *key;
    hsc_event event;
  } counts[] = {{"cache_hits", HSC_EVENT_CACHE_HIT},
                {"cache_misses", HSC_EVENT_CACHE_MISS},
                {"failures", HSC_EVENT_COMPILE_FAILED},
                {"cached_failures", HSC_EVENT_CACHED_FAILURE},
                {"recompiles", HSC_EVENT_RECOMPILE},
                {"retries", HSC_EVENT_RETRY},
                {"slow_compiles", HSC_EVENT_SLOW_COMPILE},
                {"out_of_memory", HSC_EVENT_OUT_OF_MEMORY},
                {"crashes", HSC_EVENT_CRASH}};
  hsc_json_begin_object(json);
  hsc_json_kv_int(json, "lines", (int64_t)report->lines);
  hsc_json_kv_int(json, "bytes", (int64_t)report->bytes);
  hsc_json_kv_int(json, "compiles", (int64_t)report->compiles);
  for (size_t i = 0; i < HSC_COUNT_OF(counts); i++)
    hsc_json_kv_int(json, counts[i].key, (int64_t)events[counts[i].event]);
  json_seconds(json, "compile_seconds", report->compile_seconds);
  json_seconds(json, "span_seconds", report->span_seconds);
  hsc_json_key(json, "modules");
  hsc_json_begin_array(json);
  for (size_t i = 0; i < report->module_count; i++) {
    const hsc_log_module *module = report->modules[i];
    hsc_json_begin_object(json);
    hsc_json_kv_string(json, "module", *module->name ? module->name : NULL);
    hsc_json_kv_int(json, "compiles", (int64_t)module->compiles);
    hsc_json_kv_int(json, "cache_hits", (int64_t)module->cache_hits);
    hsc_json_kv_int(json, "failures", (int64_t)module->failures);
    json_seconds(json, "seconds", module->seconds);
    hsc_json_end_object(json);
  }
  hsc_json_end_array(json);
  hsc_json_end_object(json);
}

void hsc_explain_json(const hsc_log_report *report, hsc_bytes *out) {
  hsc_json json;
  hsc_json_init(&json, out, 2);
  hsc_json_begin_object(&json);
  hsc_json_key(&json, "findings");
  hsc_json_begin_array(&json);
  for (size_t i = 0; i < report->finding_count; i++)
    json_finding(&json, report->findings[i]);
  hsc_json_end_array(&json);
  hsc_json_key(&json, "left_out");
  hsc_json_begin_array(&json);
  for (size_t i = 0; i < report->left_out_count; i++) {
    const hsc_left_out *left = &report->left_out[i];
    hsc_json_begin_object(&json);
    hsc_json_kv_string(&json, "entry", left->entry->id);
    hsc_json_kv_string(&json, "because", left->because);
    hsc_json_kv_int(&json, "first_line", (int64_t)left->first_line);
    hsc_json_kv_int(&json, "count", (int64_t)left->count);
    hsc_json_kv_string(&json, "text", left->text);
    hsc_json_end_object(&json);
  }
  hsc_json_end_array(&json);
  hsc_json_key(&json, "summary");
  json_summary(&json, report);
  json_text(&json, "next", report->next);
  hsc_json_end_object(&json);
  hsc_bytes_append_char(out, '\n');
}
