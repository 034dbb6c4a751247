// patterns_report.c - the result for people: the same tables and answers for the terminal and in
// Markdown.
//
// How to read: write_all lists the parts in their order; each reads the result document and prints
// through print_table and paragraph, which know the two forms. Nothing is computed here.
#include <limits.h>
#include <math.h>

#include "base/text/text.h"
#include "lab/run/json_tree.h"
#include "lab/patterns/patterns.h"
#include "report/sparkline.h"

typedef struct report {
  const json_t *result;
  const hsc_text_style *style;  // NULL = Markdown
  hsc_bytes *out;
  hsc_status *status;
} report;

static double at(const json_t *tree, const char *a, const char *b, const char *c) {
  return hsc_json_number(hsc_json_path(tree, a, b, c, NULL));
}

static void heading(report *r, const char *text) {
  if (!r->style)
    hsc_bytes_printf(r->out, "\n## %s\n\n", text);
  else
    hsc_bytes_printf(r->out, r->style->color ? "\n\x1b[1m%s\x1b[0m\n" : "\n%s\n", text);
}

// With its heading; nothing at all when there is no row.
static void print_table(report *r, const char *title, hsc_table *table) {
  if (hsc_table_row_count(table) > 0)
    heading(r, title);
  hsc_status *status = NULL;
  if (hsc_table_row_count(table) > 0)
    status =
        hsc_table_print(table, r->style ? HSC_FORMAT_TEXT : HSC_FORMAT_MARKDOWN, r->style, r->out);
  hsc_table_destroy(table);
  if (r->status)
    hsc_status_free(status);
  else
    r->status = status;
}

static hsc_table *new_table(report *r, const char *view) {
  hsc_table *table = NULL;
  hsc_status *status = hsc_table_create(view, &table);
  if (r->status)
    hsc_status_free(status);
  else
    r->status = status;
  return table;
}

// A paragraph: words broken at the width of the terminal (100 where there is none); Markdown leaves
// that to its reader, and parts lines by empty ones.
static void paragraph(report *r, const char *plain, int indent) {
  hsc_bytes shown = {0};
  hsc_text_units(plain, r->style && r->style->unicode, &shown);
  int width = INT_MAX;
  if (r->style && r->style->width > 20)
    width = r->style->width < 110 ? r->style->width : 110;
  else if (r->style)
    width = 100;
  for (const char *line = hsc_bytes_text(&shown); line;) {
    const char *end = r->style ? NULL : strchr(line, '\n');
    const hsc_view one = {line, end ? (size_t)(end - line) : strlen(line)};
    hsc_bytes text = {0};
    hsc_bytes_append(&text, one.data, one.size);
    for (int i = 0; i < indent; i++)
      hsc_bytes_append_char(r->out, ' ');
    hsc_text_wrap(hsc_bytes_text(&text), indent, width, r->out);
    if (!r->style)
      hsc_bytes_append_char(r->out, '\n');
    hsc_bytes_deinit(&text);
    line = end ? end + 1 : NULL;
  }
  hsc_bytes_deinit(&shown);
}

// ---- parts --------------------------------------------------------------------------------------

static void write_machine(report *r) {
  const json_t *environment = json_object_get(r->result, "environment");
  const json_t *device = json_object_get(r->result, "device");
  const json_t *reasons = json_object_get(environment, "grade_reasons");
  hsc_bytes text = {0};
  hsc_bytes_printf(
      &text, "Device %s (%s, PJRT %s). %s, %lld cores. Machine grade %s: %s.",
      hsc_json_text_or_empty(device, "device"), hsc_json_text_or_empty(device, "platform"),
      hsc_json_text_or_empty(device, "pjrt_version"), hsc_json_text_or_empty(environment, "cpu"),
      (long long)json_integer_value(hsc_json_path(environment, "cores", "allowed", NULL)),
      hsc_json_text_or_empty(environment, "grade"),
      json_array_size(reasons) ? json_string_value(json_array_get(reasons, 0)) : "");
  paragraph(r, hsc_bytes_text(&text), 0);
  hsc_bytes_deinit(&text);
}

static void phase_row(hsc_table *table,
                      const char *name,
                      const json_t *summary,
                      const char *about) {
  if (!json_is_object(summary))
    return;
  hsc_table_row(table);
  hsc_table_text(table, name);
  hsc_table_double(table, at(summary, "median", NULL, NULL));
  hsc_table_double(table, at(summary, "low", NULL, NULL));
  hsc_table_double(table, at(summary, "high", NULL, NULL));
  hsc_table_double(table, at(summary, "min", NULL, NULL));
  hsc_table_double(table, at(summary, "max", NULL, NULL));
  hsc_table_int(table, json_integer_value(json_object_get(summary, "n")));
  hsc_table_text(table, about);
}

static void write_device(report *r) {
  static const char *const rows[][3] = {
      {"process_start", "process start", "worker process, until it answers"},
      {"plugin_load", "plugin load", "dlopen, GetPjrtApi"},
      {"plugin_initialize", "plugin initialise", "PJRT_Plugin_Initialize"},
      {"client_create", "client create", "PJRT_Client_Create"}};
  hsc_table *table = new_table(r, "device");
  if (!table)
    return;
  const char *const columns[] = {"median", "low", "high", "min", "max"};
  hsc_table_column(table, "phase", "");
  for (size_t i = 0; i < HSC_COUNT_OF(columns); i++)
    hsc_table_column(table, columns[i], "s");
  hsc_table_column(table, "n", "");
  hsc_table_column(table, "what", "");
  for (size_t i = 0; i < HSC_COUNT_OF(rows); i++)
    phase_row(table, rows[i][1], hsc_json_path(r->result, "device", "phases", rows[i][0], NULL),
              rows[i][2]);
  phase_row(table, "synchronisation", json_object_get(r->result, "sync_baseline"),
            "with nothing to wait for");
  hsc_table_note(table, "low and high: 95 %% bootstrap interval of the median");
  print_table(r, "Device and synchronisation", table);
}

static bool any_has(const json_t *patterns, const char *phase) {
  const char *key;
  json_t *p;
  json_object_foreach ((json_t *)(uintptr_t)patterns, key, p) {
    if (json_is_object(hsc_json_path(p, "phases", phase, NULL)))
      return true;
  }
  return false;
}

// A series for eyes.
static void add_sparkline(hsc_table *table, const json_t *series, bool unicode) {
  size_t n = 0;
  double *x = hsc_json_doubles(series, &n);
  hsc_bytes line = {0};
  hsc_sparkline(x, n, 16, unicode, &line);
  hsc_table_text(table, n ? hsc_bytes_text(&line) : NULL);
  hsc_bytes_deinit(&line);
  hsc_free(x);
}

// How many trials there were, who chose the runs in them, and which configuration needs most more.
static void note_sampling(hsc_table *table, const json_t *patterns) {
  const char *key;
  const char *worst = NULL;
  json_t *p;
  size_t narrow = 0;
  size_t all = 0;
  size_t pilots = 0;
  size_t least = SIZE_MAX;
  size_t most = 0;
  size_t manifold = 0;
  double more = 0;
  double seen;
  json_object_foreach ((json_t *)(uintptr_t)patterns, key, p) {
    json_t *sampling = hsc_json_path(p, "run", "sampling", NULL);
    if (!sampling)
      continue;
    size_t trials = (size_t)json_integer_value(hsc_json_path(sampling, "made", "trial", NULL));
    all++;
    pilots += json_is_object(json_object_get(sampling, "pilot"));
    narrow += hsc_json_number(json_object_get(sampling, "half_width")) <=
              hsc_json_number(json_object_get(sampling, "wanted_half_width"));
    manifold += json_array_size(hsc_json_path(p, "run", "modes", NULL)) > 1;
    least = trials < least ? trials : least;
    most = trials > most ? trials : most;
    if ((seen = at(sampling, "more_needed", NULL, NULL)) > more) {
      more = seen;
      worst = key;
    }
  }
  if (!all)
    return;
  char trials[64];
  if (least == most)
    snprintf(trials, sizeof trials, "%zu trials", least);
  else
    snprintf(trials, sizeof trials, "%zu to %zu trials", least, most);
  hsc_table_note(
      table,
      "%s; trial runs chose how many runs they have for %zu of %zu configurations; %zu intervals "
      "are as narrow as was wanted",
      trials, pilots, all, narrow);
  if (worst) {
    char text[32];
    hsc_format_quantity(more >= 100 ? round(more / pow(10, floor(log10(more)) - 1)) *
                                          pow(10, floor(log10(more)) - 1)
                                    : more,
                        "count", false, text);
    hsc_table_note(table, "%s is the furthest from it: about %s more runs needed", worst, text);
  }
  if (manifold)
    hsc_table_note(table,
                   "%zu configurations have several modes, so no single number tells their runs: "
                   "\"modes\" in --format=json",
                   manifold);
}

static void write_patterns(report *r) {
  static const char *const phases[][2] = {{"compile", "compile_miss"},
                                          {"from disk", "compile_disk"},
                                          {"memory", "compile_memory"},
                                          {"to device", "transfer_in"},
                                          {"first run", "first_execution"}};
  const json_t *patterns = json_object_get(r->result, "patterns");
  hsc_table *table = new_table(r, "patterns");
  if (!table)
    return;
  hsc_table_column(table, "configuration", "");
  for (size_t i = 0; i < HSC_COUNT_OF(phases); i++)
    if (any_has(patterns, phases[i][1]))
      hsc_table_column(table, phases[i][0], "s");
  hsc_table_column(table, "run", "s");
  hsc_table_column(table, "within", "percent");
  hsc_table_column(table, "sync", "s");
  hsc_table_column(table, "back", "s");
  bool lines = r->style && r->style->width > 0;
  if (lines)
    hsc_table_column(table, "trials, in order", "");
  const char *key;
  json_t *p;
  json_object_foreach ((json_t *)(uintptr_t)patterns, key, p) {
    bool ok = !strcmp(hsc_json_text_or_empty(p, "status"), "ok");
    hsc_table_row(table);
    if (ok)
      hsc_table_text(table, key);
    else
      hsc_table_printf(table, "%s (%s)", key, hsc_json_text_or_empty(p, "status"));
    for (size_t i = 0; i < HSC_COUNT_OF(phases); i++)
      if (any_has(patterns, phases[i][1]))
        hsc_table_double(table, at(p, "phases", phases[i][1], "median"));
    double median = at(p, "run", "median", NULL);
    hsc_table_double(table, median);
    hsc_table_double(table, 50 * (at(p, "run", "high", NULL) - at(p, "run", "low", NULL)) / median);
    hsc_table_double(table, at(p, "phases", "sync", "median"));
    hsc_table_double(table, at(p, "phases", "transfer_out", "median"));
    if (lines)
      add_sparkline(table, json_object_get(p, "cached_run_times"), r->style->unicode);
  }
  note_sampling(table, patterns);
  hsc_table_note(
      table,
      "medians; compile, hits and first run: each in a new client; memory: a hit there; run: three "
      "applications with their");
  hsc_table_note(table,
                 "synchronisations; within: half of its 95 %% interval in this process; sync: "
                 "waiting in it; to "
                 "device, back: transfers");
  print_table(r, "Where the time goes", table);
}

// "0.88x faster" of a graph's pattern against its natural loop; missing when it was not compared.
static void compared_cell(report *r, hsc_table *table, const char *graph, const char *pattern) {
  json_t *row;
  size_t i;
  json_array_foreach (json_object_get(r->result, "comparisons"), i, row) {
    if (strcmp(hsc_json_text_or_empty(row, "graph"), graph) != 0 ||
        strcmp(hsc_json_text_or_empty(row, "pattern"), pattern) != 0)
      continue;
    hsc_table_printf(table, "%.2fx %s", at(row, "ratio", "estimate", NULL),
                     hsc_json_text_or_empty(row, "verdict"));
    if (json_is_string(json_object_get(row, "why")))
      hsc_table_note(table, "%s on %s: %s", pattern, graph, hsc_json_text_or_empty(row, "why"));
    if (json_is_false(json_object_get(row, "same_work")))
      hsc_table_note(table, "%s on %s %s", pattern, graph,
                     hsc_json_text_or_empty(row, "work_note"));
    return;
  }
  hsc_table_missing(table);
}

static void write_comparisons(report *r) {
  if (json_array_size(json_object_get(r->result, "comparisons")) == 0)
    return;
  hsc_table *table = new_table(r, "comparisons");
  if (!table)
    return;
  static const char *const patterns[] = {"dependent_for_loop", "vmap", "scan"};
  hsc_table_column(table, "graph", "");
  hsc_table_column(table, "natural_for_loop", "s");
  for (size_t i = 0; i < HSC_COUNT_OF(patterns); i++)
    hsc_table_column(table, patterns[i], "");
  const char *graph;
  json_t *facts;
  json_object_foreach (json_object_get(r->result, "graphs"), graph, facts) {
    char key[512];
    snprintf(key, sizeof key, "natural_for_loop_%s", graph);
    hsc_table_row(table);
    hsc_table_text(table, graph);
    hsc_table_double(
        table, hsc_json_number(hsc_json_path(r->result, "patterns", key, "run", "median", NULL)));
    for (size_t i = 0; i < HSC_COUNT_OF(patterns); i++)
      compared_cell(r, table, graph, patterns[i]);
  }
  hsc_table_note(
      table,
      "ratio of the times in the model's worker processes, where both ran; faster, "
      "slower or same at a margin of 5 %%, by the ratio's 95 %% interval over processes, "
      "false discoveries held to 5 %%");
  print_table(r, "The patterns against the natural loop", table);
}

static void write_derived(report *r) {
  hsc_table *table = new_table(r, "derived");
  if (!table)
    return;
  static const char *const columns[] = {
      "first-cached",   "in trial 1",   "compile", "trial 1-others",
      "initialisation", "warm-up mean", "run"};
  hsc_table_column(table, "configuration", "");
  for (size_t i = 0; i < HSC_COUNT_OF(columns); i++)
    hsc_table_column(table, columns[i], "s");
  const char *key;
  const char *why_compile = NULL;
  const char *why_init = NULL;
  const char *why_key = NULL;
  json_t *row;
  json_object_foreach (json_object_get(r->result, "compilation_dominance"), key, row) {
    const json_t *theory = hsc_json_path(r->result, "theoretical_analysis", key, NULL);
    hsc_table_row(table);
    hsc_table_text(table, key);
    hsc_table_double(table, at(row, "compilation_time", NULL, NULL));
    hsc_table_double(table, at(row, "compilation_time_first_trial", NULL, NULL));
    hsc_table_double(table, at(row, "measured", "compile_miss", "median"));
    hsc_table_double(table, at(theory, "device_initialization_time", NULL, NULL));
    hsc_table_double(table, at(theory, "measured", "device_initialization", "estimate"));
    hsc_table_double(table, at(theory, "true_execution_time", NULL, NULL));
    hsc_table_double(table, at(theory, "measured", "execution", "estimate"));
    if (why_compile || !json_is_string(json_object_get(row, "why_they_differ")))
      continue;
    why_key = key;
    why_compile = hsc_json_text_or_empty(row, "why_they_differ");
    why_init = json_string_value(json_object_get(theory, "why_they_differ"));
  }
  hsc_table_note(table,
                 "derived: first-cached (mean, and in trial 1) and trial 1-others, warm-up mean; "
                 "measured beside them: "
                 "compile, initialisation, run");
  print_table(r, "Derived figures beside measured ones", table);
  hsc_bytes text = {0};
  if (why_compile) {
    hsc_bytes_printf(&text, "Why they differ, on %s: %s.", why_key, why_compile);
    if (why_init)
      hsc_bytes_printf(&text, "\n%s.", why_init);
    paragraph(r, hsc_bytes_text(&text), 0);
  }
  hsc_bytes_deinit(&text);
}

static void write_model(report *r) {
  hsc_table *table = new_table(r, "model");
  if (!table)
    return;
  static const char *const columns[][2] = {{"configuration", ""}, {"first use", "s"},
                                           {"a (sync)", "s"},     {"low", "s"},
                                           {"high", "s"},         {"b (execution)", "s"},
                                           {"within", "percent"}, {"held out", "fraction"},
                                           {"from nothing", "s"}, {"predicted", "s"},
                                           {"half", ""}};
  for (size_t i = 0; i < HSC_COUNT_OF(columns); i++)
    hsc_table_column(table, columns[i][0], columns[i][1]);
  const char *key;
  json_t *theory;
  json_object_foreach (json_object_get(r->result, "theoretical_analysis"), key, theory) {
    const json_t *model = json_object_get(theory, "model");
    if (!json_object_get(model, "a_sync"))
      continue;
    hsc_table_row(table);
    hsc_table_text(table, key);
    if (json_is_string(json_object_get(model, "refused")))
      hsc_table_note(table, "%s: the model is refused: %s", key,
                     hsc_json_text_or_empty(model, "refused"));
    hsc_table_double(table, at(model, "first_use", "estimate", NULL));
    hsc_table_double(table, at(model, "a_sync", "estimate", NULL));
    hsc_table_double(table, at(model, "a_sync", "low", NULL));
    hsc_table_double(table, at(model, "a_sync", "high", NULL));
    double b = at(model, "b_execution", "estimate", NULL);
    hsc_table_double(table, b);
    hsc_table_double(
        table,
        50 * (at(model, "b_execution", "high", NULL) - at(model, "b_execution", "low", NULL)) / b);
    hsc_table_double(table, at(model, "held_out_worst_relative_error", NULL, NULL));
    hsc_table_double(table, at(model, "from_nothing", "measured", NULL));
    hsc_table_double(table, at(model, "from_nothing", "predicted", NULL));
    hsc_table_double(table, at(model, "runs_until_compile_under_half", "estimate", NULL));
  }
  hsc_table_note(table,
                 "low, high: 95 %% interval of a; one that holds zero cannot tell a "
                 "synchronisation from none; held "
                 "out: worst error on held-out measurements");
  hsc_table_note(table,
                 "from nothing: client, compile, transfer and executions in one go, against the "
                 "sum; half: runs until "
                 "the compile is under half of the time, both as measured");
  hsc_table_note(table,
                 "time(k executions, s syncs) = initialisation + compile + first use + a s + b k");
  print_table(r, "The model of time", table);
}

static void write_second_compile(report *r) {
  json_t *list = json_object_get(r->result, "second_compile");
  json_t *entry;
  json_t *row;
  if (!json_array_size(list))
    return;
  hsc_table *table = new_table(r, "second_compile");
  if (!table)
    return;
  static const char *const columns[][2] = {{"configuration", ""}, {"input", ""},  {"run 0", "s"},
                                           {"run 1", "s"},        {"run 2", "s"}, {"run 3", "s"},
                                           {"compiles", ""}};
  for (size_t i = 0; i < HSC_COUNT_OF(columns); i++)
    hsc_table_column(table, columns[i][0], columns[i][1]);
  size_t i, k;
  json_array_foreach (list, i, entry) {
    for (int c = 0; c < 2; c++) {
      json_t *runs =
          json_object_get(entry, c ? "input_transferred_before" : "input_made_on_the_device");
      hsc_bytes compiles = {0};
      hsc_table_row(table);
      hsc_table_text(table, hsc_json_text_or_empty(entry, "configuration"));
      hsc_table_text(table, c ? "transferred before" : "made on the device");
      json_array_foreach (runs, k, row) {
        hsc_table_double(table, at(row, "seconds", NULL, NULL));
        hsc_bytes_printf(&compiles, "%s%d", k ? ", " : "",
                         json_integer_value(json_object_get(row, "compiles")) > 0);
      }
      hsc_table_text(table, hsc_bytes_text(&compiles));
      hsc_bytes_deinit(&compiles);
    }
  }
  hsc_table_note(table, "medians of %d repeats, each in a new client; compiles: in run 0, 1, 2, 3",
                 3);
  print_table(r, "The run that was to be cached", table);
}

static bool is_expected_first(const json_t *row) {
  return json_integer_value(json_object_get(row, "trial")) == 1 &&
         (!strcmp(hsc_json_text_or_empty(row, "run"), "warmup") ||
          !strcmp(hsc_json_text_or_empty(row, "run"), "first_run"));
}

static void write_slow(report *r) {
  enum { SHOWN = 12 };
  hsc_table *table = new_table(r, "slow_runs");
  if (!table)
    return;
  static const char *const columns[][2] = {
      {"configuration", ""},    {"run", ""},  {"trial", ""}, {"took", "s"},
      {"more than usual", "s"}, {"cause", ""}};
  for (size_t i = 0; i < HSC_COUNT_OF(columns); i++)
    hsc_table_column(table, columns[i][0], columns[i][1]);
  const char *key;
  json_t *p, *row;
  size_t i;
  size_t shown = 0;
  size_t left_out = 0;
  size_t firsts = 0;
  size_t first_shown = 0;
  long long series_outliers = 0;
  long long with_switch = 0;
  long long with_faults = 0;
  long long without = 0;
  long long all_runs = 0;
  json_object_foreach (json_object_get(r->result, "patterns"), key, p) {
    const json_t *outliers = hsc_json_path(p, "run", "outliers", NULL);
    series_outliers += json_integer_value(json_object_get(outliers, "count"));
    with_switch += json_integer_value(json_object_get(outliers, "with_context_switch"));
    with_faults += json_integer_value(json_object_get(outliers, "with_page_faults"));
    without += json_integer_value(json_object_get(outliers, "without_recorded_cause"));
    all_runs += json_integer_value(json_object_get(outliers, "of"));
    json_array_foreach (json_object_get(p, "slow_runs"), i, row) {
      bool expected = is_expected_first(row);
      firsts += expected;
      if (expected ? first_shown >= 2 : shown >= SHOWN) {
        left_out += !expected;
        continue;
      }
      shown += !expected;
      first_shown += expected;
      hsc_table_row(table);
      hsc_table_text(table, key);
      hsc_table_text(table, hsc_json_text_or_empty(row, "run"));
      hsc_table_int(table, json_integer_value(json_object_get(row, "trial")));
      hsc_table_double(table, at(row, "seconds", NULL, NULL));
      hsc_table_double(table, at(row, "excess", NULL, NULL));
      hsc_table_text(table, hsc_json_text_or_empty(row, "cause"));
    }
  }
  if (firsts > first_shown)
    hsc_table_note(
        table,
        "%zu more first runs of warm-ups and trials compiled likewise; all are in the result file",
        firsts - first_shown);
  if (left_out)
    hsc_table_note(table, "%zu more slow runs are in the result file", left_out);
  hsc_table_note(table,
                 "of %lld repeated runs %lld are outliers (none is dropped): %lld with a context "
                 "switch, %lld with "
                 "page faults, %lld whose trial lost time to others, %lld without a recorded cause",
                 all_runs, series_outliers, with_switch, with_faults,
                 series_outliers - with_switch - with_faults - without, without);
  print_table(r, "Slow runs and their causes", table);
}

static void write_questions(report *r) {
  json_t *questions = json_object_get(r->result, "questions");
  json_t *q;
  if (!json_array_size(questions))
    return;
  heading(r, "Answers");
  size_t i;
  json_array_foreach (questions, i, q) {
    if (!r->style)
      hsc_bytes_printf(r->out, "**%s** ", hsc_json_text_or_empty(q, "question"));
    else
      hsc_bytes_printf(r->out, "%s%s\n", i ? "\n" : "", hsc_json_text_or_empty(q, "question"));
    paragraph(r, hsc_json_text_or_empty(q, "answer"), r->style ? 2 : 0);
  }
}

static void write_failures(report *r) {
  json_t *failures = json_object_get(r->result, "failures");
  json_t *deaths = json_object_get(r->result, "worker_deaths");
  json_t *row;
  size_t i;
  if (json_array_size(failures)) {
    hsc_table *table = new_table(r, "failures");
    if (!table)
      return;
    hsc_table_column(table, "task", "");
    hsc_table_column(table, "outcome", "");
    hsc_table_column(table, "message", "");
    json_array_foreach (failures, i, row) {
      hsc_table_row(table);
      hsc_table_text(table, hsc_json_text_or_empty(row, "task"));
      hsc_table_text(table, hsc_json_text_or_empty(row, "outcome"));
      hsc_table_text(table, hsc_json_text_or_empty(row, "message"));
    }
    const char *last_hint = "";
    json_array_foreach (failures, i, row) {
      if (*hsc_json_text_or_empty(row, "hint") &&
          strcmp(hsc_json_text_or_empty(row, "hint"), last_hint) != 0)
        hsc_table_note(table, "%s", hsc_json_text_or_empty(row, "hint"));
      last_hint = hsc_json_text_or_empty(row, "hint");
    }
    if (json_array_size(deaths))
      hsc_table_note(table, "%zu worker%s died and %s replaced; everything else was measured",
                     json_array_size(deaths), hsc_plural((double)json_array_size(deaths), "", "s"),
                     json_array_size(deaths) == 1 ? "was" : "were");
    print_table(r, "What could not be measured", table);
  }
}

static hsc_status *write_all(const json_t *result, const hsc_text_style *style, hsc_bytes *out) {
  report r = {.result = result, .style = style, .out = out};
  if (!style)
    hsc_bytes_append_text(out, "# Where the time goes\n\n");
  if (strcmp(hsc_json_text_or_empty(result, "status"), "interrupted") == 0)
    paragraph(&r,
              "Not finished: what follows is what was measured until the interrupt or the end of "
              "the time budget.",
              0);
  write_machine(&r);
  write_device(&r);
  write_patterns(&r);
  write_comparisons(&r);
  write_second_compile(&r);
  write_derived(&r);
  write_model(&r);
  write_slow(&r);
  write_failures(&r);
  write_questions(&r);
  if (r.status)
    return r.status;
  return hsc_bytes_status(out);
}

hsc_status *hsc_patterns_text(const json_t *result, const hsc_text_style *style, hsc_bytes *out) {
  return write_all(result, style, out);
}

hsc_status *hsc_patterns_markdown(const json_t *result, hsc_bytes *out) {
  return write_all(result, NULL, out);
}
