// trace_short.c - the first screen of a capture.
//
// Four small tables, each of a view of `hloscope tables`: time (parts that add up to the whole),
// recompiles (only what was compiled again, with its cause), executables and operators (the first
// five). A part that has nothing to say is left out.
#include "base/text/text.h"
#include "cli/trace_short.h"

#include <math.h>
#include <string.h>

#include "cli/table_pick.h"
#include "views/views.h"

enum { MOST_ROWS = 5 };

// "compile 41 %, idle 42 %", the largest first, without what is under a half percent.
static void add_parts(const hsc_table *time, hsc_bytes *out) {
  double below = INFINITY;
  const char *between = "";
  for (;;) {
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < hsc_table_row_count(time); i++) {
      double share = hsc_cli_number(time, i, "share");
      if (share >= 0.005 && share < below &&
          (best == SIZE_MAX || share > hsc_cli_number(time, best, "share")))
        best = i;
    }
    if (best == SIZE_MAX)
      return;
    below = hsc_cli_number(time, best, "share");
    hsc_bytes_printf(out, "%s%s %.0f %%", between, hsc_cli_text(time, best, "part"), 100 * below);
    between = ", ";
  }
}

static double sum(const hsc_table *table, const char *column) {
  double total = 0;
  for (size_t i = 0; i < hsc_table_row_count(table); i++) {
    double value = hsc_cli_number(table, i, column);
    total += isnan(value) ? 0 : value;
  }
  return total;
}

// Executables that ran; others were compiled alone.
static size_t executables_run(const hsc_table *executables) {
  size_t count = 0;
  for (size_t i = 0; i < hsc_table_row_count(executables); i++)
    count += hsc_cli_number(executables, i, "runs") > 0;
  return count;
}

// "301 runs of 2 executables (257 timed on the device, 44 by their call), 3 calls that failed": a
// run is a row of the view executions, whoever timed it.
static void add_runs(const hsc_table *executables, hsc_bytes *out) {
  size_t runs = (size_t)sum(executables, "runs");
  size_t measured = (size_t)sum(executables, "measured");
  size_t failed = (size_t)sum(executables, "failed");
  size_t unknown = (size_t)sum(executables, "end unknown");
  size_t rows = executables_run(executables);
  bool timed = sum(executables, "run total") > 0;
  hsc_bytes_printf(out, "%zu run%s of %zu executable%s", runs, hsc_plural((double)runs, "", "s"),
                   rows, hsc_plural((double)rows, "", "s"));
  if (runs && !measured)
    hsc_bytes_append_text(
        out, timed ? " (timed by their call)" : " (none was timed: their calls compiled first)");
  else if (measured < runs)
    hsc_bytes_printf(out, " (%zu timed on the device, %zu by their call)", measured,
                     runs - measured);
  if (unknown)
    hsc_bytes_printf(out, ", of %zu of them it is not known whether they succeeded", unknown);
  if (failed)
    hsc_bytes_printf(out, ", %zu call%s that failed", failed, hsc_plural((double)failed, "", "s"));
}

typedef struct repeats {
  size_t count;
  double ns;
} repeats;

// What was compiled before.
static repeats repeats_of(const hsc_table *compiles) {
  repeats again = {0};
  for (size_t i = 0; i < hsc_table_row_count(compiles); i++) {
    if (!(hsc_cli_number(compiles, i, "times") > 1))
      continue;
    again.count++;
    again.ns += hsc_cli_number(compiles, i, "compile");
  }
  return again;
}

static void say(const hsc_table *time,
                const hsc_table *compiles,
                const hsc_table *executables,
                hsc_bytes *out) {
  char whole[32];
  char cost[32];
  repeats again = repeats_of(compiles);
  hsc_format_quantity(sum(time, "time"), "ns", false, whole);
  hsc_bytes_printf(out, "%s were recorded: ", whole);
  add_parts(time, out);
  size_t compiled = hsc_table_row_count(compiles);
  hsc_bytes_append_text(out, ". ");
  add_runs(executables, out);
  hsc_bytes_printf(out, ", %zu compilation%s", compiled, hsc_plural((double)compiled, "", "s"));
  if (again.count) {
    hsc_format_quantity(again.ns, "ns", false, cost);
    hsc_bytes_printf(out, ", %zu of them of a name that was compiled before (%s)", again.count,
                     cost);
  }
  hsc_bytes_printf(out, ".");
}

static hsc_status *print_picked(const hsc_table *from,
                                const char *view,
                                const hsc_cli_pick *columns,
                                size_t column_count,
                                const char *by,
                                hsc_cli *cli) {
  hsc_table *table = NULL;
  if (!hsc_table_row_count(from))
    return NULL;
  hsc_cli_print(cli, "\n");
  HSC_TRY(hsc_cli_pick_columns(from, view, columns, column_count, by, MOST_ROWS, &table));
  size_t count = hsc_table_row_count(from);
  if (count > MOST_ROWS)
    hsc_table_note(table, "%zu more: the view %s", count - MOST_ROWS, view);
  return hsc_cli_table(cli, table);
}

// What was compiled again, the costliest first.
static hsc_status *print_recompiles(const hsc_table *compiles, hsc_cli *cli) {
  static const hsc_cli_pick columns[] = {{"compiled again", "executable"},
                                         {"compile no.", "times"},
                                         {"cost", "compile"},
                                         {"why", "why"}};
  hsc_table *again = NULL;
  hsc_status *status = NULL;
  HSC_GOTO(hsc_table_create("recompiles", &again));
  for (size_t i = 0; i < HSC_COUNT_OF(columns); i++)
    hsc_table_column(again, columns[i].from, i == 2 ? "ns" : "");
  for (size_t i = 0; i < hsc_table_row_count(compiles); i++) {
    if (!(hsc_cli_number(compiles, i, "times") > 1))
      continue;
    hsc_table_row(again);
    hsc_table_text(again, hsc_cli_text(compiles, i, "executable"));
    hsc_table_int(again, (int64_t)hsc_cli_number(compiles, i, "times"));
    hsc_table_double(again, hsc_cli_number(compiles, i, "compile"));
    hsc_table_text(again, hsc_cli_text(compiles, i, "why"));
  }
  HSC_GOTO(print_picked(again, "recompiles", columns, HSC_COUNT_OF(columns), "compile", cli));
done:
  hsc_table_destroy(again);
  return status;
}

// The mean times the runs is not the total where not all runs were timed on the device.
static void note_untimed(const hsc_table *executables, hsc_cli *cli) {
  double runs = 0;
  double timed = 0;
  for (size_t i = 0; i < hsc_table_row_count(executables); i++) {
    double measured = hsc_cli_number(executables, i, "measured");
    if (measured > 0 && measured < hsc_cli_number(executables, i, "runs")) {
      runs += hsc_cli_number(executables, i, "runs");
      timed += measured;
    }
  }
  if (runs > 0)
    hsc_cli_paragraph(cli,
                      "total, each and share: of the %.0f of %.0f runs that were timed on the "
                      "device, where some of a program were and some were not\n",
                      timed, runs);
}

hsc_status *hsc_cli_trace_short(const hsc_capture *capture, hsc_cli *cli) {
  static const hsc_cli_pick parts[] = {{"part", "part"}, {"time", "time"}, {"share", "share"}};
  static const hsc_cli_pick programs[] = {
      {"executable", "executable"},  {"runs", "runs"},   {"total", "run total"},
      {"each", "run mean"},          {"share", "share"}, {"compiles", "compiles"},
      {"compiling", "compile total"}};
  static const hsc_cli_pick operators[] = {{"operator", "name"},
                                           {"times", "count"},
                                           {"total", "total"},
                                           {"each", "average_elapsed"},
                                           {"share", "share"}};
  static const hsc_view_id views[] = {HSC_VIEW_time, HSC_VIEW_recompiles, HSC_VIEW_executables,
                                      HSC_VIEW_operators};
  hsc_table *tables[HSC_COUNT_OF(views)] = {NULL};
  hsc_bytes headline = {0};
  hsc_status *status = NULL;
  for (size_t i = 0; i < HSC_COUNT_OF(views); i++)
    HSC_GOTO(hsc_view_table(capture, views[i], NULL, &tables[i]));
  say(tables[0], tables[1], tables[2], &headline);
  hsc_cli_paragraph(cli, "%s\n", hsc_bytes_text(&headline));
  HSC_GOTO(print_picked(tables[0], "time", parts, HSC_COUNT_OF(parts), "time", cli));
  HSC_GOTO(print_recompiles(tables[1], cli));
  HSC_GOTO(
      print_picked(tables[2], "executables", programs, HSC_COUNT_OF(programs), "run total", cli));
  note_untimed(tables[2], cli);
  HSC_GOTO(print_picked(tables[3], "operators", operators, HSC_COUNT_OF(operators), "share", cli));
done:
  hsc_bytes_deinit(&headline);
  for (size_t i = 0; i < HSC_COUNT_OF(views); i++)
    hsc_table_destroy(tables[i]);
  return status;
}

// ---- the first view of the page -----------------------------------------------------------------

static void fill_lead(const hsc_table *time,
                      const hsc_table *compiles,
                      const hsc_table *executables,
                      const char *path,
                      hsc_page_lead *lead) {
  repeats again = repeats_of(compiles);
  say(time, compiles, executables, &lead->sentence);
  lead->bar_title = "the wall time, each moment counted once";
  for (size_t i = 0; i < hsc_table_row_count(time); i++)
    hsc_lead_bar(lead, hsc_cli_text(time, i, "part"), hsc_cli_number(time, i, "time"), "ns");
  hsc_lead_number(lead, sum(time, "time"), "ns", "", "recorded");
  size_t ran = executables_run(executables);
  hsc_lead_number(lead, sum(executables, "runs"), "", "", "runs of %zu executable%s", ran,
                  hsc_plural((double)ran, "", "s"));
  hsc_lead_number(lead, (double)again.count, "", again.count ? "bad" : "good",
                  "of %zu compilation%s were repeats", hsc_table_row_count(compiles),
                  hsc_plural((double)hsc_table_row_count(compiles), "", "s"));
  if (again.count)
    hsc_bytes_printf(&lead->next,
                     "What was compiled again, and why: the table of recompiles below, or "
                     "hloscope tables %s recompiles",
                     path);
  else
    hsc_bytes_printf(&lead->next, "What takes the time: hloscope tables %s executables", path);
}

hsc_status *hsc_cli_trace_lead(const hsc_capture *capture, const char *path, hsc_page_lead *lead) {
  static const hsc_view_id views[] = {HSC_VIEW_time, HSC_VIEW_recompiles, HSC_VIEW_executables};
  hsc_table *tables[HSC_COUNT_OF(views)] = {NULL};
  hsc_status *status = NULL;
  for (size_t i = 0; i < HSC_COUNT_OF(views); i++)
    HSC_GOTO(hsc_view_table(capture, views[i], NULL, &tables[i]));
  if (hsc_table_row_count(tables[0]))
    fill_lead(tables[0], tables[1], tables[2], path, lead);
done:
  for (size_t i = 0; i < HSC_COUNT_OF(views); i++)
    hsc_table_destroy(tables[i]);
  return status;
}
