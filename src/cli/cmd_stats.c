// cmd_stats.c - hloscope stats: everything about series of raw samples, computed again.
#include <jansson.h>
#include <math.h>
#include <stdlib.h>

#include "base/core/spill.h"
#include "cli/command.h"
#include "lab/run/json_tree.h"
#include "lab/run/samples.h"
#include "lab/run/stats_document.h"
#include "report/sparkline.h"

typedef struct stats_args {
  hsc_list files;
  const char *column, *by, *blocks, *unit, *baseline, *grade;
  double confidence, margin;
  int64_t resamples, seed;
} stats_args;

static const hsc_option options[] = {
    HSC_POSITIONAL_REST(
        stats_args,
        files,
        "FILE",
        HSC_REQUIRED,
        "raw samples: JSON of hloscope or plain, CSV, bare numbers, Parquet; - is standard input"),
    HSC_OPTION_STRING(stats_args,
                      column,
                      "column",
                      "NAME",
                      NULL,
                      "tables: the column with the samples; JSON: series whose name contains this"),
    HSC_OPTION_STRING(
        stats_args, by, "by", "NAME", NULL, "tables: a series for each value of this column"),
    HSC_OPTION_STRING(stats_args,
                      blocks,
                      "blocks",
                      "NAME",
                      NULL,
                      "tables: rows with the same value of this column are one process"),
    HSC_OPTION_STRING(
        stats_args,
        unit,
        "unit",
        "UNIT",
        NULL,
        "unit of the samples: s, ms, us, ns, bytes, or any other text; default: taken from names"),
    HSC_OPTION_STRING(stats_args,
                      baseline,
                      "baseline",
                      "SERIES",
                      NULL,
                      "compare every other series with this one"),
    HSC_OPTION_DOUBLE(stats_args,
                      margin,
                      "margin",
                      "PERCENT",
                      0,
                      "smallest difference that is reported, and largest that counts as \"same\"; "
                      "0: what the machine's grade allows (A: quiet, to D: busy)"),
    HSC_OPTION_STRING(
        stats_args,
        grade,
        "grade",
        "A-D",
        NULL,
        "how quiet the measured machine was, A (quiet) to D (busy), if the files do not state it"),
    HSC_OPTION_DOUBLE(
        stats_args, confidence, "confidence", "PERCENT", 95, "confidence level of intervals"),
    HSC_OPTION_INT_FROM(
        stats_args, resamples, "resamples", "N", 100, 10000, "number of bootstrap resamples"),
    HSC_OPTION_INT(stats_args,
                   seed,
                   "seed",
                   "N",
                   1,
                   "seed for resampling: the same seed gives the same numbers"),
    HSC_OPTION_END,
};

static double number_at(const json_t *object, const char *key) {
  const json_t *value = json_object_get(object, key);
  return json_is_number(value) ? json_number_value(value) : NAN;
}

// "70.1 us, 97 us" when there are several, else nothing.
static const char *modes_text(hsc_cli *cli, const json_t *series) {
  const json_t *modes = json_object_get(series, "modes");
  if (json_array_size(modes) < 2)
    return NULL;
  const char *text = "";
  size_t i;
  json_t *mode;
  json_array_foreach ((json_t *)modes, i, mode) {
    char value[32];
    hsc_format_quantity(number_at(mode, "median"), hsc_json_text(series, "unit"),
                        cli->out_style.unicode, value);
    text = hsc_arena_printf(cli->arena, "%s%s%s (%.0f %%)", text, i ? ", " : "", value,
                            100 * number_at(mode, "share"));
  }
  return text;
}

static hsc_status *print_series(hsc_cli *cli, const hsc_samples *samples, const json_t *list) {
  hsc_table *table = NULL;
  HSC_TRY(hsc_table_create("series", &table));
  const char *unit = json_array_size(list) ? hsc_json_text(json_array_get(list, 0), "unit") : "";
  size_t i;
  json_t *s;
  json_array_foreach ((json_t *)list, i, s)
    if (strcmp(hsc_json_text(s, "unit"), unit))
      unit = "";
  bool several_files = false;
  json_array_foreach ((json_t *)list, i, s)
    several_files = several_files || strcmp(hsc_json_text(s, "source"),
                                            hsc_json_text(json_array_get(list, 0), "source"));
  hsc_table_column(table, "series", "");
  if (several_files)
    hsc_table_column(table, "file", "");
  hsc_table_column(table, "n", "count");
  hsc_table_column(table, "median", unit);
  hsc_table_column(table, "+-", "percent");
  static const char *const values[] = {"min", "max", "mad"};
  for (size_t v = 0; v < HSC_COUNT_OF(values); v++)
    hsc_table_column(table, values[v], unit);
  hsc_table_column(table, "class", "");
  hsc_table_column(table, "steady from", "");
  hsc_table_column(table, "outliers", "count");
  hsc_table_column(table, "samples", "");
  json_array_foreach ((json_t *)list, i, s) {
    hsc_table_row(table);
    hsc_table_text(table, hsc_json_text(s, "name"));
    if (several_files)
      hsc_table_text(table, hsc_json_text(s, "source"));
    hsc_table_int(table, json_integer_value(json_object_get(s, "count")));
    double median = number_at(s, "median");
    hsc_table_double(table, median);
    hsc_table_double(table, median != 0 && json_integer_value(json_object_get(s, "count")) > 1
                                ? 50 * (number_at(s, "high") - number_at(s, "low")) / fabs(median)
                                : NAN);
    for (size_t v = 0; v < HSC_COUNT_OF(values); v++)
      hsc_table_double(table, number_at(s, values[v]));
    hsc_table_text(table, hsc_json_text(s, "class"));
    if (json_is_integer(json_object_get(s, "steady_from")))
      hsc_table_int(table, json_integer_value(json_object_get(s, "steady_from")));
    else
      hsc_table_missing(table);
    hsc_table_int(table, json_integer_value(json_object_get(s, "outlier_count")));
    hsc_bytes line = {0};
    const hsc_sample_series *raw = hsc_samples_at(samples, i);
    hsc_sparkline(raw->samples, raw->count, 24, cli->out_style.unicode, &line);
    hsc_table_text(table, hsc_bytes_text(&line));
    hsc_bytes_deinit(&line);
    const char *modes = modes_text(cli, s);
    if (modes)
      hsc_table_note(table, "%s has %zu modes: %s; no single number stands for it",
                     hsc_json_text(s, "name"), json_array_size(json_object_get(s, "modes")), modes);
    if (!strcmp(hsc_json_text(s, "class"), "no steady state"))
      hsc_table_note(table, "%s never settles: its median is of whatever was recorded",
                     hsc_json_text(s, "name"));
    if (!strcmp(hsc_json_text(s, "class"), "inconsistent"))
      hsc_table_note(table, "the processes of %s do not behave alike", hsc_json_text(s, "name"));
    if (raw->drawn_from)
      hsc_table_note(table,
                     "%s: of %zu numbers one of each few that follow each other, drawn at random",
                     hsc_json_text(s, "name"), raw->drawn_from);
    long long lost = json_integer_value(json_object_get(s, "not_finite"));
    if (lost)
      hsc_table_note(table, "%s: %lld samples are not finite and were left out",
                     hsc_json_text(s, "name"), lost);
    double worth = number_at(s, "worth");
    double count = number_at(s, "count");
    if (count >= 20 && worth < 0.8 * count)
      hsc_table_note(table,
                     "%s: samples that follow each other are alike; the %.0f are worth about %.0f "
                     "independent ones",
                     hsc_json_text(s, "name"), count, worth);
  }
  return hsc_cli_table(cli, table);
}

static hsc_status *print_quantiles(hsc_cli *cli, const json_t *series) {
  hsc_table *table = NULL;
  HSC_TRY(hsc_table_create("quantiles", &table));
  const char *unit = hsc_json_text(series, "unit");
  hsc_table_column(table, "quantile", "fraction");
  hsc_table_column(table, "value", unit);
  hsc_table_column(table, "low", unit);
  hsc_table_column(table, "high", unit);
  size_t i;
  json_t *row;
  json_array_foreach (json_object_get(series, "quantiles"), i, row) {
    hsc_table_row(table);
    hsc_table_double(table, number_at(row, "quantile"));
    if (isnan(number_at(row, "value"))) {
      hsc_table_needs(table, json_integer_value(json_object_get(row, "needs")));
      continue;
    }
    hsc_table_double(table, number_at(row, "value"));
    hsc_table_double(table, number_at(row, "low"));
    hsc_table_double(table, number_at(row, "high"));
  }
  return hsc_cli_table(cli, table);
}

static const char *unit_of_column(const json_t *series, const char *column) {
  static const char *const values[] = {"value", "before", "after", "median", "low", "high"};
  for (size_t i = 0; i < HSC_COUNT_OF(values); i++)
    if (!strcmp(column, values[i]))
      return hsc_json_text(series, "unit");
  if (!strcmp(column, "share"))
    return "fraction";
  return strcmp(column, "deviations") ? "" : "MADs";
}

// A table of one of a series' lists, when it has any rows: the first column counts samples, `texts`
// are not numbers.
static hsc_status *print_list(hsc_cli *cli,
                              const json_t *series,
                              const char *list,
                              const char *title,
                              const char *const *columns,
                              size_t total) {
  const json_t *rows = json_object_get(series, list);
  if (!json_array_size(rows))
    return NULL;
  hsc_table *table = NULL;
  HSC_TRY(hsc_table_create(title, &table));
  for (const char *const *c = columns; *c; c++)
    hsc_table_column(table, *c, unit_of_column(series, *c));
  size_t i;
  json_t *row;
  json_array_foreach ((json_t *)rows, i, row) {
    hsc_table_row(table);
    for (const char *const *c = columns; *c; c++) {
      const json_t *value = json_object_get(row, *c);
      if (json_is_integer(value))
        hsc_table_int(table, json_integer_value(value));
      else if (json_is_number(value))
        hsc_table_double(table, json_number_value(value));
      else if (json_is_string(value))
        hsc_table_text(table, json_string_value(value));
      else
        hsc_table_missing(table);
    }
  }
  if (total > json_array_size(rows))
    hsc_table_note(table, "the first %zu of %zu", json_array_size(rows), total);
  return hsc_cli_table(cli, table);
}

static hsc_status *print_comparisons(hsc_cli *cli, const json_t *document) {
  const json_t *rows = json_object_get(document, "comparisons");
  if (!json_array_size(rows))
    return NULL;
  hsc_table *table = NULL;
  HSC_TRY(hsc_table_create("comparisons", &table));
  static const char *const columns[][2] = {{"series", ""},   {"against", ""},   {"ratio", "ratio"},
                                           {"low", "ratio"}, {"high", "ratio"}, {"verdict", ""},
                                           {"effect", ""},   {"q", ""}};
  for (size_t c = 0; c < HSC_COUNT_OF(columns); c++)
    hsc_table_column(table, columns[c][0], columns[c][1]);
  bool files = strcmp(hsc_json_text(json_array_get(rows, 0), "source"),
                      hsc_json_text(json_array_get(rows, 0), "against_source")) != 0;
  size_t i;
  json_t *row;
  json_array_foreach ((json_t *)rows, i, row) {
    hsc_table_row(table);
    if (files)
      hsc_table_printf(table, "%s: %s", hsc_json_text(row, "source"), hsc_json_text(row, "series"));
    else
      hsc_table_text(table, hsc_json_text(row, "series"));
    if (files)
      hsc_table_printf(table, "%s: %s", hsc_json_text(row, "against_source"),
                       hsc_json_text(row, "against"));
    else
      hsc_table_text(table, hsc_json_text(row, "against"));
    for (size_t c = 2; c < 5; c++)
      hsc_table_double(table, number_at(row, columns[c][0]));
    double more = number_at(row, "more_runs");
    if (json_is_string(json_object_get(row, "assumes")))
      hsc_table_printf(table, "%s, if each number is independent", hsc_json_text(row, "verdict"));
    else if (strcmp(hsc_json_text(row, "verdict"), "cannot tell"))
      hsc_table_text(table, hsc_json_text(row, "verdict"));
    else if (json_is_string(json_object_get(row, "why")))
      hsc_table_printf(table, "cannot tell (%s)", hsc_json_text(row, "why"));
    else if (more < 1e6)
      hsc_table_printf(table, "cannot tell (about %.0f more %s needed)", more,
                       strcmp(hsc_json_text(row, "compared"), "processes") ? "runs" : "processes");
    else
      hsc_table_text(
          table, isnan(more)
                     ? "cannot tell (too few runs)"
                     : "cannot tell (more runs would hardly help: the ratio lies at the margin)");
    hsc_table_text(table, hsc_json_text(row, "effect"));
    double q = number_at(row, "q_value");
    if (isnan(q))
      hsc_table_missing(table);
    else
      hsc_table_printf(table, "%.2g", q);
  }
  json_t *note;
  json_array_foreach (json_object_get(document, "notes"), i, note)
    hsc_table_note(table, "%s", json_string_value(note));
  return hsc_cli_table(cli, table);
}

static hsc_status *print_text(hsc_cli *cli, const hsc_samples *samples, const json_t *document) {
  const json_t *list = json_object_get(document, "series");
  HSC_TRY(print_series(cli, samples, list));
  if (json_array_size(list) == 1) {
    static const char *const modes[] = {"median", "low", "high", "count", "share", NULL};
    static const char *const changes[] = {"sample", "before", "after", NULL};
    static const char *const outliers[] = {"sample", "value", "deviations", "cause", NULL};
    const json_t *s = json_array_get(list, 0);
    hsc_cli_print(cli, "\n");
    HSC_TRY(print_quantiles(cli, s));
    struct {
      const char *list, *title;
      const char *const *columns;
      size_t total;
    } lists[] = {{"modes", "modes", modes, 0},
                 {"changes", "change points", changes, 0},
                 {"outliers", "outliers", outliers,
                  (size_t)json_integer_value(json_object_get(s, "outlier_count"))}};
    for (size_t i = json_array_size(json_object_get(s, "modes")) < 2; i < HSC_COUNT_OF(lists);
         i++) {
      if (!json_array_size(json_object_get(s, lists[i].list)))
        continue;
      hsc_cli_print(cli, "\n%s\n", lists[i].title);
      HSC_TRY(print_list(cli, s, lists[i].list, lists[i].title, lists[i].columns, lists[i].total));
    }
  }
  if (json_array_size(json_object_get(document, "comparisons")))
    hsc_cli_print(cli, "\n");
  return print_comparisons(cli, document);
}

static hsc_status *run(const void *args_of_command, hsc_cli *cli) {
  const stats_args *args = args_of_command;
  hsc_spill_begin();
  if (!args->files.count)
    return hsc_cli_usage(cli, "FILE is missing: which samples?");
  if (args->grade && (args->grade[0] < 'A' || args->grade[0] > 'D' || args->grade[1]))
    return hsc_cli_usage(cli, "--grade is A, B, C or D, not '%s'", args->grade);
  if (!(args->confidence > 50 && args->confidence < 100))
    return hsc_cli_usage(cli, "--confidence is a percentage above 50 and below 100, not %g",
                         args->confidence);
  if (!(args->margin >= 0 && args->margin < 1000))
    return hsc_cli_usage(cli, "--margin is a percentage from 0 to 1000, not %g", args->margin);
  hsc_samples *samples = NULL;
  json_t *document = NULL;
  HSC_TRY(hsc_samples_create(&samples));
  hsc_samples_options read = {
      .column = args->column, .by = args->by, .blocks = args->blocks, .unit = args->unit};
  hsc_status *status = NULL;
  for (size_t i = 0; i < args->files.count && !status; i++)
    status = hsc_samples_read(samples, args->files.items[i], &read);
  hsc_stats_options o = {.confidence = args->confidence / 100,
                         .margin = args->margin / 100,
                         .resample_count = (uint32_t)args->resamples,
                         .seed = (uint64_t)args->seed,
                         .baseline = args->baseline,
                         .grade = args->grade};
  if (!status)
    status = hsc_stats_document(samples, &o, &document);
  // for reports: how to make it again
  if (!status)
    json_object_set_new(document, "command", json_string(cli->command_line));
  if (!status && cli->format == HSC_FORMAT_JSON) {
    char *text = json_dumps(document, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
    if (text)
      hsc_cli_print(cli, "%s\n", text);
    else
      status = hsc_status_out_of_memory();
    free(text);
  } else if (!status) {
    status = print_text(cli, samples, document);
  }
  json_decref(document);
  hsc_samples_destroy(samples);
  return status;
}

const hsc_command_body hsc_command_stats = {
    .options = options,
    .args_bytes = sizeof(stats_args),
    .run = run,
    .description =
        "Computes everything anew from raw samples: median and interval, quantiles as far as the "
        "number of samples permits, modes, change points, class\n"
        "(flat, warm-up, slow-down, no steady state, inconsistent), outliers with their causes. "
        "Two files are compared series by series, the second with the\n"
        "first; two series of one file likewise; --baseline chooses what all are compared with. A "
        "verdict is faster, slower, same, or cannot tell with the\n"
        "number of runs that would decide.",
    .examples =
        "hloscope run model.hlo --format=json > run.json && hloscope stats run.json\nhloscope "
        "stats before.json after.json\n"
        "hloscope stats times.csv --column time_us --by variant --baseline main\n"
        "hloscope export trace.hsc --to parquet -o events.parquet && hloscope stats events.parquet "
        "--column duration_ns --by name",
};
