// profile_short.c - the first screen of a profile.
//
// It reads the tables that `hloscope tables` prints (hlo-operators, steps) and makes of them what
// fits a screen: sentences first, then ten columns of the operators. Nothing is computed twice: a
// share in a sentence is the sum of the shares in the rows.
#include "base/text/text.h"
#include "cli/profile_short.h"

#include "cli/table_pick.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_OPERATORS 10

static void say_operators(const hsc_table *all, hsc_bytes *out) {
  size_t rows = hsc_table_row_count(all);
  if (!rows)
    return;
  size_t first = rows < FIRST_OPERATORS ? rows : FIRST_OPERATORS;
  double share = 0;
  for (size_t i = 0; i < first; i++)
    share += hsc_cli_number(all, i, "share");
  const char *category = hsc_cli_text(all, 0, "category");
  const char *name = hsc_cli_text(all, 0, "name");
  hsc_bytes_printf(out, "%s%s%s%s takes %.3g %% of the operators' time", name ? name : "?",
                   category ? " (" : "", category ? category : "", category ? ")" : "",
                   100 * hsc_cli_number(all, 0, "share"));
  if (first < rows)
    hsc_bytes_printf(out, "; the first %zu of %zu take %.3g %%", first, rows, 100 * share);
  else if (rows > 1)
    hsc_bytes_printf(out, "; all %zu of them are below", rows);
  hsc_bytes_printf(out, ".\n");
}

// Of the time from step to step; above it the device is said to wait.
static const double WAITS_BETWEEN = 0.05;

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a;
  double y = *(const double *)b;
  return (x > y) - (x < y);
}

static const char *const activities[] = {"compute", "collective", "transfer",
                                         "compile", "host",       "idle"};

// The time of steps in one activity, of those that last from `least` to `most`.
static double sum_between(const hsc_table *steps, const char *column, double least, double most) {
  double sum = 0;
  for (size_t i = 0; i < hsc_table_row_count(steps); i++) {
    double value = hsc_cli_number(steps, i, column);
    double time = hsc_cli_number(steps, i, "time");
    if (!isnan(value) && time >= least && time <= most)
      sum += value;
  }
  return sum;
}

// Of all rows, steps or not.
static double sum_of(const hsc_table *table, const char *column) {
  double sum = 0;
  for (size_t i = 0; i < hsc_table_row_count(table); i++) {
    double value = hsc_cli_number(table, i, column);
    sum += isnan(value) ? 0 : value;
  }
  return sum;
}

// "A step takes 4.1 ms (median of 20): 98 % compute, 2 % host." The time is from one start to the
// next; where the device waits in between, the sentence says so and not that the step takes it:
// "A step begins every 4.1 ms (median of 20): 81 % compute, 19 % idle." Like the median, the shares
// are of the steps in the middle: one step that was held up would make all of them idle.
// "20", or of a program on several devices, each of which tells its share of a step, "10 on each of
// 2 devices".
static void put_step_count(const hsc_table *steps, size_t count, hsc_bytes *out) {
  enum { MOST_DEVICES = 256 };
  const char *known[MOST_DEVICES];
  size_t devices = 0;
  size_t of_first = 0;
  for (size_t i = 0; i < hsc_table_row_count(steps); i++) {
    const char *device = hsc_cli_text(steps, i, "device");
    size_t at = 0;
    while (device && at < devices && strcmp(device, known[at]) != 0)
      at++;
    if (device && at == devices && devices < MOST_DEVICES)
      known[devices++] = device;
    of_first += device && at == 0 && hsc_cli_number(steps, i, "time") > 0;
  }
  if (devices < 2)
    hsc_bytes_printf(out, "%zu", count);
  else if (of_first * devices == count)
    hsc_bytes_printf(out, "%zu on each of %zu devices", of_first, devices);
  else
    hsc_bytes_printf(out, "%zu shares of %zu devices", count, devices);
}

// Without marked steps it is no step that takes so long, but a run: "A run of jit_train takes".
static hsc_status *say_steps(const hsc_table *steps,
                             const char *runs_of,
                             hsc_arena *arena,
                             hsc_bytes *out) {
  size_t rows = hsc_table_row_count(steps);
  double *times = rows ? HSC_NEW_ARRAY(arena, double, rows) : NULL;
  if (!times)
    return hsc_arena_status(arena);
  size_t count = 0;
  for (size_t i = 0; i < rows; i++) {
    double time = hsc_cli_number(steps, i, "time");
    if (time > 0)
      times[count++] = time;
  }
  if (!count)
    return NULL;
  qsort(times, count, sizeof *times, by_value);
  double least = times[count / 4];
  double most = times[count - 1 - count / 4];
  double whole = sum_between(steps, "time", least, most);
  double idle = sum_between(steps, "idle", least, most);
  char median[32];
  hsc_format_quantity((times[(count - 1) / 2] + times[count / 2]) / 2, "ns", false, median);
  hsc_bytes_append_text(out, runs_of ? "A run" : "A step");
  if (runs_of && *runs_of)
    hsc_bytes_printf(out, " of %s", runs_of);
  hsc_bytes_printf(out, " %s %s (median of ",
                   idle > whole * WAITS_BETWEEN ? "begins every" : "takes", median);
  put_step_count(steps, count, out);
  hsc_bytes_append_char(out, ')');
  const char *between = ": ";
  for (size_t p = 0; p < HSC_COUNT_OF(activities); p++) {
    double sum = sum_between(steps, activities[p], least, most);
    if (sum < whole / 200)
      continue;
    hsc_bytes_printf(out, "%s%.0f %% %s", between, 100 * sum / whole, activities[p]);
    between = ", ";
  }
  hsc_bytes_printf(out, ".\n");
  return NULL;
}

// Columns that say nothing about the rows shown are left out.
typedef struct short_columns {
  bool device, limit, where;
} short_columns;

static void operator_row(hsc_table *table,
                         const hsc_table *all,
                         size_t row,
                         const short_columns *columns) {
  const char *source = hsc_cli_text(all, row, "source");
  const char *op_name = hsc_cli_text(all, row, "op_name");
  hsc_table_row(table);
  hsc_table_double(table, hsc_cli_number(all, row, "share"));
  hsc_table_double(table, hsc_cli_number(all, row, "self_time"));
  hsc_table_double(table, hsc_cli_number(all, row, "occurrences"));
  hsc_table_double(table, hsc_cli_number(all, row, "mean"));
  hsc_table_text(table, hsc_cli_text(all, row, "name"));
  hsc_table_text(table, hsc_cli_text(all, row, "category"));
  if (columns->device)
    hsc_table_text(table, hsc_cli_text(all, row, "device"));
  // Faster than memory can be: the bytes came from a cache, whose limit is not known.
  double of_limit = hsc_cli_number(all, row, "of_roofline");
  const char *bound = hsc_cli_text(all, row, "bound");
  bool cached = of_limit > 1 && bound && !strcmp(bound, "memory");
  if (columns->limit) {
    hsc_table_text(table, cached ? "cache" : bound);
    hsc_table_double(table, cached ? NAN : of_limit);
  }
  if (columns->where)
    hsc_table_text(table, source ? source : op_name);
}

// Whether the rows say more than one thing in this column.
static bool differs(const hsc_table *all, const char *name) {
  const char *first = NULL;
  for (size_t i = 0; i < hsc_table_row_count(all); i++) {
    const char *value = hsc_cli_text(all, i, name);
    if (first && value && strcmp(first, value))
      return true;
    first = first ? first : value;
  }
  return false;
}

// Whether one of the first rows says something in this column.
static bool says(const hsc_table *all, const char *name, size_t rows) {
  for (size_t i = 0; i < rows; i++) {
    const char *text = hsc_cli_text(all, i, name);
    if (text && *text)
      return true;
  }
  return false;
}

// No operator computes faster than the machine can: the limit was measured too low.
static void note_low_limit(hsc_table *table, const hsc_table *all, size_t shown) {
  double most = 0;
  for (size_t i = 0; i < shown; i++) {
    const char *bound = hsc_cli_text(all, i, "bound");
    double of_limit = hsc_cli_number(all, i, "of_roofline");
    if (bound && !strcmp(bound, "compute") && of_limit > most)
      most = of_limit;
  }
  if (most > 1.05)
    hsc_table_note(table,
                   "up to %.0f %% of the limit: it was measured too low, on a busy machine; "
                   "hloscope devices --calibrate measures it again",
                   100 * most);
}

// Whether the note explains a column of the whole table ("not_fused: ...") that is not shown here.
static bool of_hidden_column(const char *note, const hsc_table *all, const hsc_table *shown) {
  size_t size = strcspn(note, ":");
  for (size_t i = 0; i < hsc_table_column_count(all); i++) {
    const char *name = hsc_table_column_name(all, i);
    if (strlen(name) != size || strncmp(name, note, size) != 0)
      continue;
    for (size_t j = 0; j < hsc_table_column_count(shown); j++)
      if (!strcmp(hsc_table_column_name(shown, j), name))
        return false;
    return true;
  }
  return false;
}

static hsc_status *operators(const hsc_table *all, int64_t rows, hsc_table **out_table) {
  static const char *const names[][2] = {{"share", "fraction"}, {"time", "ns"},
                                         {"times", "count"},    {"each", "ns"},
                                         {"operator", ""},      {"category", ""}};
  size_t count = hsc_table_row_count(all);
  size_t shown = rows > 0 && (size_t)rows < count ? (size_t)rows : count;
  short_columns columns = {
      .device = differs(all, "device"),
      .limit = says(all, "bound", shown),
      .where = says(all, "source", shown) || says(all, "op_name", shown),
  };
  HSC_TRY(hsc_table_create("hlo-operators", out_table));
  for (size_t i = 0; i < HSC_COUNT_OF(names); i++)
    hsc_table_column(*out_table, names[i][0], names[i][1]);
  if (columns.device)
    hsc_table_column(*out_table, "device", "");
  if (columns.limit) {
    hsc_table_column(*out_table, "limit", "");
    hsc_table_column(*out_table, "of limit", "fraction");
  }
  if (columns.where)
    hsc_table_column(*out_table, "where", "");
  for (size_t i = 0; i < shown; i++)
    operator_row(*out_table, all, i, &columns);
  note_low_limit(*out_table, all, shown);
  for (size_t i = 0; i < hsc_table_note_count(all); i++)
    if (!of_hidden_column(hsc_table_note_text(all, i), all, *out_table))
      hsc_table_note(*out_table, "%s", hsc_table_note_text(all, i));
  if (shown < count)
    hsc_table_note(*out_table, "%zu more %s: --limit 0; every column: --all", count - shown,
                   hsc_plural((double)(count - shown), "operator", "operators"));
  return NULL;
}

hsc_status *hsc_cli_profile_short(hsc_profile *profile,
                                  bool traced_only,
                                  int64_t rows,
                                  hsc_bytes *out_headline,
                                  hsc_table **out_table) {
  hsc_profile_options options = {.traced_only = traced_only};
  hsc_table *all = NULL;
  hsc_table *steps = NULL;
  hsc_arena *arena = NULL;
  hsc_status *status = NULL;
  HSC_GOTO(hsc_arena_create(&arena));
  HSC_GOTO(hsc_profile_table(profile, HSC_PROFILE_VIEW_hlo_operators, &options, &all));
  HSC_GOTO(hsc_profile_table(profile, HSC_PROFILE_VIEW_steps, &options, &steps));
  say_operators(all, out_headline);
  HSC_GOTO(say_steps(steps, hsc_profile_steps_of(profile), arena, out_headline));
  HSC_GOTO(operators(all, rows, out_table));
  HSC_GOTO(hsc_bytes_status(out_headline));
done:
  hsc_table_destroy(all);
  hsc_table_destroy(steps);
  hsc_arena_destroy(arena);
  return status;
}

// ---- the first view of the page -----------------------------------------------------------------

// Operators that have a time and no count of flops (calls of libraries that have none): they have
// no place under the roofline, and the page says how much of the time they are.
static void add_uncounted(const hsc_table *all, hsc_bytes *out_sums) {
  size_t count = 0;
  double share = 0;
  for (size_t i = 0; i < hsc_table_row_count(all); i++) {
    if (!isnan(hsc_cli_number(all, i, "flops")) || !(hsc_cli_number(all, i, "self_time") > 0))
      continue;
    double part = hsc_cli_number(all, i, "share");
    count++;
    share += isnan(part) ? 0 : part;
  }
  hsc_bytes_printf(out_sums, "{\"uncounted\": {\"operators\": %zu, \"share\": %.17g}}", count,
                   share);
}

static void fill_lead(const hsc_table *all,
                      const hsc_table *steps,
                      const char *path,
                      hsc_page_lead *lead) {
  size_t rows = hsc_table_row_count(all);
  if (hsc_table_row_count(steps)) {
    lead->bar_title = "all steps, each moment counted once";
    for (size_t i = 0; i < HSC_COUNT_OF(activities); i++)
      hsc_lead_bar(lead, activities[i], sum_of(steps, activities[i]), "ns");
  } else {
    lead->bar_title = "the operators' own time";
    for (size_t i = 0; i < rows; i++)
      hsc_lead_bar(lead, hsc_cli_text(all, i, "name"), hsc_cli_number(all, i, "self_time"), "ns");
  }
  hsc_lead_number(lead, (double)rows, "", "", "operators");
  hsc_lead_number(lead, sum_of(all, "self_time"), "ns", "", "in operators, without what they wait");
  hsc_lead_number(lead, (double)hsc_table_row_count(steps), "", "", "steps");
  add_uncounted(all, &lead->sums);
  hsc_bytes_printf(&lead->next,
                   "Each operator with its line of source: hloscope tables %s "
                   "hlo-operators",
                   path);
}

hsc_status *hsc_cli_profile_lead(hsc_profile *profile, const char *path, hsc_page_lead *lead) {
  hsc_table *all = NULL;
  hsc_table *steps = NULL;
  hsc_arena *arena = NULL;
  hsc_status *status = NULL;
  hsc_profile_options options = {0};
  HSC_GOTO(hsc_arena_create(&arena));
  HSC_GOTO(hsc_profile_table(profile, HSC_PROFILE_VIEW_hlo_operators, &options, &all));
  HSC_GOTO(hsc_profile_table(profile, HSC_PROFILE_VIEW_steps, &options, &steps));
  say_operators(all, &lead->sentence);
  HSC_GOTO(say_steps(steps, hsc_profile_steps_of(profile), arena, &lead->sentence));
  if (hsc_table_row_count(all))
    fill_lead(all, steps, path, lead);
done:
  hsc_table_destroy(all);
  hsc_table_destroy(steps);
  hsc_arena_destroy(arena);
  return status;
}
