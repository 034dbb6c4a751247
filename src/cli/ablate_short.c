// ablate_short.c - the first screen of an ablation.
#include "base/text/text.h"
#include "cli/ablate_short.h"

#include <math.h>
#include <stdlib.h>

#include "lab/run/json_tree.h"
#include "stats/stats_interleaved.h"

enum { MOST_ROWS = 24 };

static bool is(json_t *row, const char *key, const char *value) {
  return !strcmp(hsc_json_text_or_empty(row, key), value);
}

static double ratio_of(json_t *row) {
  return hsc_json_number(hsc_json_path(row, "total_time", "ratio", NULL));
}

// What could not be compiled or run has nothing to compare.
static bool has_failed(json_t *row) {
  return !json_is_object(json_object_get(row, "delta"));
}

// Proven effects before the others, the largest first; then as they came.
static int rank_of(json_t *row) {
  if (is(row, "verdict", "slower"))
    return 0;
  if (is(row, "verdict", "faster"))
    return 1;
  return has_failed(row) ? 2 : 3;
}

static int by_rank(const void *a, const void *b) {
  json_t *x = *(json_t *const *)a;
  json_t *y = *(json_t *const *)b;
  int order = rank_of(x) - rank_of(y);
  if (order || rank_of(x) > 1)
    return order;
  double change_x = fabs(log(ratio_of(x)));
  double change_y = fabs(log(ratio_of(y)));
  return (change_x < change_y) - (change_x > change_y);
}

// "; slower without fusion (1.31 times), cse (1.08 times)"
static void put_effects(json_t *const *rows, size_t count, const char *verdict, hsc_bytes *out) {
  const char *separator = NULL;
  for (size_t i = 0; i < count; i++) {
    if (!is(rows[i], "verdict", verdict))
      continue;
    if (!separator)
      hsc_bytes_printf(out, "; %s without", verdict);
    hsc_bytes_printf(out, "%s %s (%.3g times the time)", separator ? separator : "",
                     hsc_json_text_or_empty(rows[i], "pass"), ratio_of(rows[i]));
    separator = ",";
  }
}

static void put_sentence(
    json_t *result, json_t *const *rows, size_t count, size_t tried, hsc_cli *cli) {
  size_t failed = 0;
  hsc_bytes line = {0};
  for (size_t i = 0; i < count; i++)
    failed += has_failed(rows[i]);
  hsc_bytes_printf(&line, "%zu of the %zu passes that were switched off change%s the program",
                   count - failed, tried, count - failed == 1 ? "s" : "");
  if (failed)
    hsc_bytes_printf(&line, ", without %zu it cannot be compiled or run", failed);
  size_t said = line.size;
  put_effects(rows, count, "slower", &line);
  put_effects(rows, count, "faster", &line);
  if (line.size == said && json_is_object(json_object_get(result, "timing")))
    hsc_bytes_append_text(&line,
                          "; of none it is certain that it makes the program faster or "
                          "slower");
  hsc_cli_paragraph(cli, "%s\n\n", hsc_bytes_text(&line));
  hsc_bytes_deinit(&line);
}

static void add_change(hsc_table *table, json_t *row, const char *key) {
  json_t *change = hsc_json_path(row, "delta", key, NULL);
  if (!json_is_number(change))
    hsc_table_missing(table);
  else
    hsc_table_printf(table, "%+.0f", json_number_value(change));
}

static void add_time(hsc_table *table, json_t *row) {
  json_t *time = json_object_get(row, "total_time");
  double low = hsc_json_number(json_object_get(time, "low"));
  if (isnan(ratio_of(row)))
    hsc_table_missing(table);
  else if (isnan(low))
    hsc_table_printf(table, "%.3f", ratio_of(row));
  else
    hsc_table_printf(table, "%.3f [%.3f, %.3f]", ratio_of(row), low,
                     hsc_json_number(json_object_get(time, "high")));
}

static void add_row(hsc_table *table, json_t *row, bool timed) {
  const char *numbers = json_string_value(hsc_json_path(row, "numbers", "verdict", NULL));
  hsc_table_row(table);
  hsc_table_text(table, hsc_json_text_or_empty(row, "pass"));
  add_change(table, row, "instructions");
  add_change(table, row, "kernels");
  hsc_table_text(table, has_failed(row) ? hsc_json_text_or_empty(row, "outcome") : numbers);
  if (timed) {
    add_time(table, row);
    hsc_table_text(table, json_string_value(json_object_get(row, "verdict")));
  }
}

static void add_notes(hsc_table *table, json_t *result, size_t left_out) {
  json_t *placebo;
  size_t i;
  double low = INFINITY;
  double high = -INFINITY;
  json_array_foreach (json_object_get(result, "placebos"), i, placebo) {
    low = fmin(low, ratio_of(placebo));
    high = fmax(high, ratio_of(placebo));
  }
  const char *against = json_string_value(hsc_json_path(result, "numbers", "against", NULL));
  const char *headline = json_string_value(hsc_json_path(result, "numbers", "headline", NULL));
  if (headline)
    hsc_table_note(table, "numbers against %s: %s", against ? against : "what is right", headline);
  const json_t *made = hsc_json_path(result, "timing", "processes", NULL);
  long long processes = made ? (long long)json_integer_value(made) : 0;
  bool has_intervals = processes >= HSC_LEAST_PROCESSES;
  if (isfinite(low))
    hsc_table_note(table,
                   "total time: without the pass over with it%s; of placebos, which are the same "
                   "program, %.3f to %.3f",
                   has_intervals ? ", [95 % interval]" : "", low, high);
  if (isfinite(low) && !has_intervals)
    hsc_table_note(table,
                   "no interval and no verdict from %lld process%s: what differs between processes "
                   "is not known from fewer than %d (--processes, --time-budget)",
                   processes, hsc_plural((double)processes, "", "es"), HSC_LEAST_PROCESSES);
  if (left_out)
    hsc_table_note(table, "%zu more %s, and all columns: --all", left_out,
                   hsc_plural((double)left_out, "row", "rows"));
}

hsc_status *hsc_cli_ablate_short(json_t *result, hsc_cli *cli) {
  static const char *const columns[] = {"without", "instructions", "kernels", "numbers"};
  json_t *variants = json_object_get(result, "variants");
  size_t tried = json_array_size(variants);
  json_t **rows = HSC_NEW_ARRAY(cli->arena, json_t *, tried + 1);
  HSC_TRY(hsc_arena_status(cli->arena));
  bool timed = json_is_object(json_object_get(result, "timing"));
  size_t count = 0;
  json_t *row;
  size_t i;
  json_array_foreach (variants, i, row)
    if (!is(row, "outcome", "same"))
      rows[count++] = row;
  qsort(rows, count, sizeof *rows, by_rank);
  put_sentence(result, rows, count, tried, cli);
  hsc_table *table = NULL;
  HSC_TRY(hsc_table_create("ablation", &table));
  for (size_t c = 0; c < HSC_COUNT_OF(columns); c++)
    hsc_table_column(table, columns[c], "");
  if (timed) {
    hsc_table_column(table, "total time", "");
    hsc_table_column(table, "verdict", "");
  }
  for (i = 0; i < count && i < MOST_ROWS; i++)
    add_row(table, rows[i], timed);
  add_notes(table, result, tried - (count < MOST_ROWS ? count : MOST_ROWS));
  return hsc_cli_table(cli, table);
}
