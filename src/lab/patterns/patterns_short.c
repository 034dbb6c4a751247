// patterns_short.c - the result on one screen, of a terminal and of a page: what takes the time, a
// bar for each graph, the answers in a sentence each. patterns_report.c writes all of it.
#include <math.h>

#include "base/text/text.h"
#include "lab/patterns/patterns_internal.h"

enum { MOST_PARTS = 6, ANSWER_LEAST = 60, MOST_SHARES = 256 };
// Of bars, in columns; what the other columns take beside the graph's name.
enum { BAR_LEAST = 12, BAR_MOST = 30, BESIDE_BARS = 56, NAME_MOST = 24 };

// From nothing to the first result; each with the sign that its part of a bar is drawn with.
static const struct {
  const char *phase, *name, *sign, *ascii;
} PARTS[] = {
    {"client_create", "client", "▒", "c"},  {"compile_miss", "compile", "█", "#"},
    {"transfer_in", "to device", "░", "t"}, {"first_execution", "first run", "▓", "r"},
    {"sync", "waiting", "w", "w"},          {"transfer_out", "back", "b", "b"},
};

typedef struct first_use {
  double parts[MOST_PARTS];  // seconds, medians
  double total;
  size_t largest;
} first_use;

static bool first_use_of(const json_t *config, first_use *out_use) {
  *out_use = (first_use){0};
  for (size_t i = 0; i < HSC_COUNT_OF(PARTS); i++) {
    double seconds =
        hsc_json_number(hsc_json_path(config, "phases", PARTS[i].phase, "median", NULL));
    if (!(seconds >= 0))
      return false;
    out_use->parts[i] = seconds;
    out_use->total += seconds;
    if (seconds > out_use->parts[out_use->largest])
      out_use->largest = i;
  }
  return out_use->total > 0;
}

static void draw_bar(const first_use *use, int width, bool unicode, hsc_bytes *out) {
  double until = 0;
  int drawn = 0;
  out->size = 0;
  for (size_t i = 0; i < HSC_COUNT_OF(PARTS); i++) {
    until += use->parts[i];
    for (int end = (int)lround(until / use->total * width); drawn < end; drawn++)
      hsc_bytes_append_text(out, unicode ? PARTS[i].sign : PARTS[i].ascii);
  }
}

static int width_of(const hsc_text_style *style) {
  return style->width > 40 ? style->width : 100;
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a;
  double y = *(const double *)b;
  return (x > y) - (x < y);
}

// Sorts the values.
static double median_of(double *values, size_t count) {
  qsort(values, count, sizeof *values, by_value);
  return count ? (values[(count - 1) / 2] + values[count / 2]) / 2 : NAN;
}

// "Compiling is 61 % of ...": the part that is largest in the most configurations.
static void write_headline(const json_t *patterns, hsc_bytes *out) {
  static const char *const words[] = {
      "Creating the client", "Compiling", "Transferring the inputs",
      "The first run",       "Waiting",   "Transferring the result back"};
  double shares[MOST_SHARES];
  size_t wins[MOST_PARTS] = {0};
  size_t count = 0;
  size_t best = 0;
  const char *key;
  const json_t *config;
  json_object_foreach ((json_t *)(uintptr_t)patterns, key, config) {
    first_use use;
    if (first_use_of(config, &use))
      wins[use.largest]++;
  }
  for (size_t i = 1; i < MOST_PARTS; i++)
    if (wins[i] > wins[best])
      best = i;
  json_object_foreach ((json_t *)(uintptr_t)patterns, key, config) {
    first_use use;
    if (count < MOST_SHARES && first_use_of(config, &use))
      shares[count++] = use.parts[best] / use.total;
  }
  if (count == 0)
    return;  // nothing was measured; the failures say why
  double median = median_of(shares, count);
  hsc_bytes_printf(out,
                   "%s is %.0f %% of the time from nothing to the first result (median of %zu "
                   "configurations, %.0f to %.0f %%).",
                   words[best], median * 100, count, shares[0] * 100, shares[count - 1] * 100);
}

// As wide as the line allows: a bar that is cut would show other shares.
static int bar_width(const json_t *patterns, const hsc_text_style *style) {
  const char *key;
  const json_t *config;
  int name = 0;
  json_object_foreach ((json_t *)(uintptr_t)patterns, key, config) {
    const char *graph = json_string_value(json_object_get(config, "graph"));
    int width = graph ? hsc_text_width(graph, strlen(graph)) : 0;
    name = width > name ? width : name;
  }
  int left = width_of(style) - BESIDE_BARS - (name < NAME_MOST ? name : NAME_MOST);
  if (left > BAR_MOST)
    return BAR_MOST;
  return left > BAR_LEAST ? left : BAR_LEAST;
}

// The first few: one screen.
static void note_work(hsc_table *table, const json_t *row) {
  enum { MOST_NOTES = 2 };
  const char *note = json_string_value(json_object_get(row, "work_note"));
  if (note && hsc_table_note_count(table) < MOST_NOTES)
    hsc_table_note(table, "* %s on %s %s", json_string_value(json_object_get(row, "pattern")),
                   json_string_value(json_object_get(row, "graph")), note);
}

// "2.21x" the time of a run of the graph's natural loop, "same", "?" where it cannot be told; ""
// when it was not compared. "*" behind it: they do different work, and a note says how much.
static const char *compared(const json_t *result,
                            const char *graph,
                            const char *pattern,
                            hsc_table *table,
                            char out_text[32]) {
  size_t i;
  const json_t *row;
  json_array_foreach (json_object_get(result, "comparisons"), i, row) {
    const char *of = json_string_value(json_object_get(row, "graph"));
    const char *which = json_string_value(json_object_get(row, "pattern"));
    const char *verdict = json_string_value(json_object_get(row, "verdict"));
    double ratio = hsc_json_number(hsc_json_path(row, "ratio", "estimate", NULL));
    if (!of || !which || strcmp(of, graph) != 0 || strcmp(which, pattern) != 0)
      continue;
    bool differs = verdict && (!strcmp(verdict, "slower") || !strcmp(verdict, "faster"));
    bool other_work = json_is_false(json_object_get(row, "same_work"));
    if (other_work)
      note_work(table, row);
    if (differs)
      snprintf(out_text, 32, "%.2fx%s", ratio, other_work ? "*" : "");
    else
      snprintf(out_text, 32, "%s%s", verdict && !strcmp(verdict, "same") ? "same" : "?",
               other_work ? "*" : "");
    return out_text;
  }
  return "";
}

static hsc_status *write_bars(const json_t *result, const hsc_text_style *style, hsc_bytes *out) {
  static const char *const others[] = {"dependent_for_loop", "vmap", "scan"};
  hsc_table *table = NULL;
  hsc_bytes bar = {0};
  const char *key;
  const char *first = NULL;
  const json_t *config;
  HSC_TRY(hsc_table_create("patterns", &table));
  hsc_table_column(table, "graph", "");
  hsc_table_column(table, "from nothing to a result", "");
  hsc_table_column(table, "takes", "s");
  hsc_table_column(table, "a run", "s");
  hsc_table_column(table, "dependent", "");
  hsc_table_column(table, "vmap", "");
  hsc_table_column(table, "scan", "");
  json_object_foreach (json_object_get(result, "patterns"), key, config) {
    const char *graph = json_string_value(json_object_get(config, "graph"));
    const char *pattern = json_string_value(json_object_get(config, "pattern"));
    first_use use;
    if (!first)
      first = pattern;  // the natural loop, where it was measured
    if (!graph || !pattern || strcmp(pattern, first) != 0 || !first_use_of(config, &use))
      continue;
    draw_bar(&use, bar_width(json_object_get(result, "patterns"), style), style->unicode, &bar);
    hsc_table_row(table);
    hsc_table_text(table, graph);
    hsc_table_text(table, hsc_bytes_text(&bar));
    hsc_table_double(table, use.total);
    hsc_table_double(table, hsc_json_number(hsc_json_path(config, "run", "median", NULL)));
    for (size_t i = 0; i < HSC_COUNT_OF(others); i++) {
      char text[32];
      hsc_table_text(table, compared(result, graph, others[i], table, text));
    }
  }
  hsc_bytes_deinit(&bar);
  hsc_bytes legend = {0};
  for (size_t i = 0; i < HSC_COUNT_OF(PARTS); i++)
    hsc_bytes_printf(&legend, "%s%s %s", i ? "  " : "",
                     style->unicode ? PARTS[i].sign : PARTS[i].ascii, PARTS[i].name);
  hsc_table_note(table, "%s", hsc_bytes_text(&legend));
  hsc_table_note(table,
                 "dependent, vmap, scan: times a run of the natural loop; ? cannot be told yet");
  hsc_bytes_deinit(&legend);
  hsc_status *status = NULL;
  hsc_text_style narrow = *style;  // in a pipe too: one screen
  narrow.width = width_of(style);
  if (hsc_table_row_count(table) > 0)
    hsc_bytes_append_char(out, '\n');
  if (hsc_table_row_count(table) > 0)
    status = hsc_table_print(table, HSC_FORMAT_TEXT, &narrow, out);
  hsc_table_destroy(table);
  return status;
}

// The first sentences of a text, as many as make an answer.
static size_t sentences(const char *text) {
  size_t end = strcspn(text, "\n");
  for (size_t i = ANSWER_LEAST; i + 2 < end; i++)
    if (text[i] == '.' && text[i + 1] == ' ' && text[i + 2] >= 'A' && text[i + 2] <= 'Z')
      return i + 1;
  return end;
}

static void write_answers(const json_t *result, const hsc_text_style *style, hsc_bytes *out) {
  size_t i;
  const json_t *row;
  json_array_foreach (json_object_get(result, "questions"), i, row) {
    const char *question = json_string_value(json_object_get(row, "question"));
    const char *answer = json_string_value(json_object_get(row, "answer"));
    if (!question || !answer)
      continue;
    hsc_bytes text = {0};
    hsc_bytes shown = {0};
    hsc_bytes_printf(&text, "%s %.*s", question, (int)sentences(answer), answer);
    hsc_text_units(hsc_bytes_text(&text), style->unicode, &shown);
    hsc_bytes_append_text(out, "- ");
    hsc_text_wrap(hsc_bytes_text(&shown), 2, width_of(style), out);
    hsc_bytes_deinit(&shown);
    hsc_bytes_deinit(&text);
  }
}

// The first one's message and way out; --all has them all.
static void write_failures(const json_t *failures,
                           size_t count,
                           const hsc_text_style *style,
                           hsc_bytes *out) {
  const json_t *first = json_array_get(failures, 0);
  const char *message = json_string_value(json_object_get(first, "message"));
  const char *hint = json_string_value(json_object_get(first, "hint"));
  hsc_bytes text = {0};
  hsc_bytes_printf(&text, "%zu task%s could not be measured (--all lists them): %s", count,
                   hsc_plural((double)count, "", "s"), message ? message : "");
  hsc_text_wrap(hsc_bytes_text(&text), 0, width_of(style), out);
  hsc_bytes_deinit(&text);
  if (hint && *hint) {
    hsc_bytes_append_text(out, "  hint: ");
    hsc_text_wrap(hint, 8, width_of(style), out);
  }
}

// Of a compiler without its device: the compiles, which need none.
static hsc_status *write_compiles(const json_t *result,
                                  const hsc_text_style *style,
                                  hsc_bytes *out) {
  hsc_table *table = NULL;
  const json_t *patterns = json_object_get(result, "patterns");
  const char *message = NULL;
  const char *key;
  json_t *config;
  HSC_TRY(hsc_table_create("compiles", &table));
  static const char *const columns[][2] = {
      {"configuration", ""}, {"compile", "s"}, {"low", "s"}, {"high", "s"}, {"processes", ""}};
  for (size_t i = 0; i < HSC_COUNT_OF(columns); i++)
    hsc_table_column(table, columns[i][0], columns[i][1]);
  json_object_foreach ((json_t *)(uintptr_t)patterns, key, config) {
    const json_t *compile = hsc_json_path(config, "phases", "compile_miss", NULL);
    if (!compile || hsc_json_path(config, "run", "median", NULL))
      continue;
    if (!message)
      message = json_string_value(json_object_get(config, "message"));
    bool told = json_integer_value(json_object_get(compile, "n")) >= HSC_LEAST_PROCESSES;
    hsc_table_row(table);
    hsc_table_text(table, key);
    hsc_table_double(table, hsc_json_number(json_object_get(compile, "median")));
    hsc_table_double(table, told ? hsc_json_number(json_object_get(compile, "low")) : NAN);
    hsc_table_double(table, told ? hsc_json_number(json_object_get(compile, "high")) : NAN);
    hsc_table_int(table, json_integer_value(json_object_get(compile, "n")));
  }
  hsc_status *status = NULL;
  if (hsc_table_row_count(table)) {
    if (message)
      hsc_bytes_printf(out, "%s\n\n", message);
    hsc_table_note(
        table, "low and high: 95 %% interval of the median over processes, from six of them on");
    status = hsc_table_print(table, HSC_FORMAT_TEXT, style, out);
  }
  hsc_table_destroy(table);
  return status;
}

hsc_status *hsc_patterns_text_short(const json_t *result,
                                    const hsc_text_style *style,
                                    hsc_bytes *out) {
  const json_t *failures = json_object_get(result, "failures");
  size_t failed = json_array_size(failures);
  const char *how = json_string_value(json_object_get(result, "status"));
  if (how && strcmp(how, "interrupted") == 0)
    hsc_bytes_append_text(out,
                          "Not finished: what follows is what was measured until the interrupt or "
                          "the end of the time budget.\n");
  if (failed)
    write_failures(failures, failed, style, out);
  hsc_bytes headline = {0};
  write_headline(json_object_get(result, "patterns"), &headline);
  if (headline.size)
    hsc_text_wrap(hsc_bytes_text(&headline), 0, width_of(style), out);
  hsc_bytes_deinit(&headline);
  size_t before = out->size;
  HSC_TRY(write_bars(result, style, out));
  if (out->size > before)
    hsc_bytes_append_char(out, '\n');
  if (out->size == before)
    HSC_TRY(write_compiles(result, style, out));
  write_answers(result, style, out);
  hsc_bytes_append_text(out,
                        "\nall tables: hloscope patterns --all\n"
                        "a page: hloscope report FILE -o report.html\n");
  return hsc_bytes_status(out);
}

// ---- the first view of the page -----------------------------------------------------------------

// The median over the configurations of what is at these keys.
static double median_over(const json_t *patterns, const char *a, const char *b, const char *c) {
  double values[MOST_SHARES];
  size_t count = 0;
  const char *key;
  const json_t *config;
  json_object_foreach ((json_t *)(uintptr_t)patterns, key, config) {
    double value = hsc_json_number(hsc_json_path(config, a, b, c, NULL));
    if (isfinite(value) && count < MOST_SHARES)
      values[count++] = value;
  }
  return median_of(values, count);
}

static const json_t *question_of(const json_t *result, const char *id) {
  size_t i;
  const json_t *row;
  json_array_foreach (json_object_get(result, "questions"), i, row) {
    const char *is = json_string_value(json_object_get(row, "id"));
    if (is && !strcmp(is, id))
      return row;
  }
  return NULL;
}

void hsc_patterns_lead(const json_t *result, hsc_page_lead *lead) {
  const json_t *patterns = json_object_get(result, "patterns");
  const json_t *break_even = question_of(result, "break_even");
  double parts[MOST_PARTS] = {0};
  const char *key;
  const json_t *config;
  write_headline(patterns, &lead->sentence);
  json_object_foreach ((json_t *)(uintptr_t)patterns, key, config) {
    first_use use;
    if (!first_use_of(config, &use))
      continue;
    for (size_t i = 0; i < MOST_PARTS; i++)
      parts[i] += use.parts[i];
  }
  lead->bar_title = "from nothing to the first result, all configurations together";
  for (size_t i = 0; i < MOST_PARTS; i++)
    hsc_lead_bar(lead, PARTS[i].name, parts[i], "s");
  hsc_lead_number(lead, median_over(patterns, "phases", "compile_miss", "median"), "s", "",
                  "compile, median of the configurations");
  hsc_lead_number(lead, median_over(patterns, "run", "median", NULL), "s", "",
                  "run, warm, median of the configurations");
  double runs = hsc_json_number(hsc_json_path(break_even, "evidence", "median_runs", NULL));
  hsc_lead_number(lead, runs, "", "", "runs until the compile is under half of the time, median");
  if (isfinite(runs))
    hsc_bytes_printf(&lead->next,
                     "Keep one process for more than %.0f runs of what it compiled, or keep "
                     "compiled programs on disk: hloscope help cache",
                     runs);
  else
    hsc_bytes_append_text(&lead->next,
                          "More trials narrow the intervals: hloscope patterns --trials 20");
  if (!lead->sentence.size)
    hsc_lead_say(lead, "No configuration got to its first result here.");
}
