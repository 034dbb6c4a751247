// sweep_merge.c - results as one table, in the order of the plan.
#include "lab/sweep/sweep_internal.h"

#include "lab/run/json_tree.h"

static const char *const fixed[][2] = {
    {"task", ""},         {"kind", ""},    {"program", ""},   {"device", ""},
    {"off", ""},          {"repeat", ""},  {"outcome", ""},   {"same", ""},
    {"instructions", ""}, {"fusions", ""}, {"kernels", ""},   {"temp bytes", "bytes"},
    {"fingerprint", ""},  {"digest", ""},  {"exit code", ""}, {"says", ""},
    {"code", ""},         {"message", ""}};
static const char *const moment[][2] = {
    {"took", "s"}, {"compile", "s"}, {"compile processor", "s"}, {"run", "s"}, {"host", ""}};

static void add_number(hsc_table *table, const json_t *value) {
  if (json_is_integer(value))
    hsc_table_int(table, json_integer_value(value));
  else
    hsc_table_double(table, hsc_json_number(value));
}

static const char *fingerprint_of(const json_t *row) {
  const json_t *facts = json_object_get(row, "optimized");
  const char *text = json_string_value(json_object_get(facts, "fingerprint"));
  return text ? text : json_string_value(json_object_get(facts, "bytes_hash"));
}

// "yes", "no": the compiler made the same of the program as with every pass on, as far as
// fingerprint, counts and temporaries tell. NULL: not both are known.
static const char *same_as(const json_t *row, const json_t *baseline) {
  static const char *const counts[] = {"instructions", "fusions", "kernels"};
  const char *a = fingerprint_of(row);
  const char *b = fingerprint_of(baseline);
  if (!a || !b)
    return NULL;
  bool same = !strcmp(a, b) && json_equal(json_object_get(row, "temp_bytes"),
                                          json_object_get(baseline, "temp_bytes"));
  for (size_t i = 0; i < HSC_COUNT_OF(counts); i++)
    same = same && json_equal(hsc_json_path(row, "optimized", counts[i], NULL),
                              hsc_json_path(baseline, "optimized", counts[i], NULL));
  return same ? "yes" : "no";
}

// What a command's document says in one line: its headline, else its verdict.
static const char *said(const json_t *row) {
  const char *headline = json_string_value(hsc_json_path(row, "document", "headline", NULL));
  const char *verdict = json_string_value(hsc_json_path(row, "document", "verdict", NULL));
  return headline ? headline : verdict;
}

// The columns that only some kinds have, in their order at the end of `fixed`.
enum { LATE_COLUMNS = 5, FIRST_LATE = HSC_COUNT_OF(fixed) - LATE_COLUMNS };

static void add_texts(hsc_table *table, const json_t *row, const bool *empty) {
  size_t column = FIRST_LATE;
  if (!empty[column])
    hsc_table_text(table, json_string_value(json_object_get(row, "digest")));
  if (!empty[column + 1])
    add_number(table, json_object_get(row, "exit_code"));
  if (!empty[column + 2])
    hsc_table_text(table, said(row));
  if (!empty[column + 3])
    hsc_table_text(table, json_string_value(json_object_get(row, "code")));
  if (!empty[column + 4])
    hsc_table_text(table, json_string_value(json_object_get(row, "message")));
}

static void add_fixed(hsc_table *table,
                      const hsc_sweep_task *task,
                      const json_t *row,
                      const json_t *baseline,
                      const bool *empty) {
  const json_t *facts = json_object_get(row, "optimized");
  hsc_table_printf(table, "%.12s", task->id);
  hsc_table_text(table, task->kind);
  hsc_table_text(table, task->program);
  hsc_table_text(table, task->device);
  hsc_table_text(table, *task->off ? task->off : NULL);
  hsc_table_int(table, json_integer_value(json_object_get(task->line, "repeat")));
  hsc_table_text(table, hsc__sweep_text(row, "outcome"));
  hsc_table_text(table, *task->off && baseline ? same_as(row, baseline) : NULL);
  add_number(table, json_object_get(facts, "instructions"));
  add_number(table, json_object_get(facts, "fusions"));
  add_number(table, json_object_get(facts, "kernels"));
  add_number(table, json_object_get(row, "temp_bytes"));
  hsc_table_text(table, fingerprint_of(row));
  add_texts(table, row, empty);
}

static double least_run(const json_t *row) {
  double least = hsc_json_number(NULL);
  json_t *value;
  size_t i;
  json_array_foreach (hsc_json_path(row, "series", "run_ns", NULL), i, value) {
    double ns = json_number_value(value);
    least = least < ns ? least : ns;
  }
  return least * 1e-9;
}

static void add_moment(hsc_table *table, const json_t *row) {
  hsc_table_double(table, hsc_json_number(json_object_get(row, "took_s")));
  hsc_table_double(table, hsc_json_number(json_object_get(row, "compile_s")));
  hsc_table_double(table, hsc_json_number(json_object_get(row, "compile_processor_s")));
  hsc_table_double(table, least_run(row));
  hsc_table_text(table, hsc__sweep_text(row, "host"));
}

// Which of the fixed columns no row has anything in: text leaves them out.
static void find_empty(const hsc_sweep *sweep, const hsc_sweep_results *results, bool *out_empty) {
  static const char *const members[LATE_COLUMNS] = {"digest", "exit_code", NULL, "code", "message"};
  for (size_t c = 0; c < LATE_COLUMNS; c++)
    out_empty[FIRST_LATE + c] = true;
  for (int64_t i = 0; i < sweep->count; i++)
    for (size_t c = 0; c < LATE_COLUMNS; c++)
      if (members[c] ? json_object_get(results->rows[i], members[c]) != NULL
                     : said(results->rows[i]) != NULL)
        out_empty[FIRST_LATE + c] = false;
}

static void add_rows(const hsc_sweep *sweep,
                     const hsc_sweep_results *results,
                     json_t *const *baselines,
                     const bool *empty,
                     bool times,
                     hsc_table *table) {
  for (int64_t i = 0; i < sweep->count; i++) {
    const json_t *row = results->rows[i];
    if (!hsc_sweep_is_result(row))
      continue;
    hsc_table_row(table);
    add_fixed(table, &sweep->tasks[i], row, baselines[sweep->tasks[i].group], empty);
    if (times)
      add_moment(table, row);
  }
}

bool hsc_sweep_is_result(const json_t *row) {
  return row && strcmp(hsc__sweep_text(row, "outcome"), "killed") != 0;
}

hsc_status *hsc_sweep_table(const hsc_sweep *sweep,
                            const hsc_sweep_results *results,
                            unsigned columns,
                            hsc_table **out_table) {
  json_t **baselines = hsc_alloc(((size_t)sweep->group_count + 1) * sizeof *baselines);
  hsc_table *table = NULL;
  bool empty[HSC_COUNT_OF(fixed)] = {false};
  bool times = columns & HSC_SWEEP_TIMES;
  hsc_status *status = baselines ? hsc_table_create("sweep", &table) : hsc_status_out_of_memory();
  if (status) {
    hsc_free(baselines);
    return status;
  }
  if (columns & HSC_SWEEP_LEAN)
    find_empty(sweep, results, empty);
  for (size_t c = 0; c < HSC_COUNT_OF(fixed); c++)
    if (!empty[c])
      hsc_table_column(table, fixed[c][0], fixed[c][1]);
  for (size_t c = 0; times && c < HSC_COUNT_OF(moment); c++)
    hsc_table_column(table, moment[c][0], moment[c][1]);
  for (int64_t i = 0; i < sweep->count; i++) {
    const hsc_sweep_task *task = &sweep->tasks[i];
    if (!*task->off && results->rows[i] && !baselines[task->group])
      baselines[task->group] = results->rows[i];
  }
  add_rows(sweep, results, baselines, empty, times, table);
  hsc_free(baselines);
  *out_table = table;
  return NULL;
}
