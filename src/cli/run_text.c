// run_text.c - what `hloscope run` prints: the answer, a column a device, the comparison.
//
// It reads the document of docs/schemas/run.json, from top to bottom as the reader does: headline,
// table of the devices with its notes, table of the comparison, who is faster. Without `all` only
// what fits a screen.
#include "cli/run_text.h"

#include <math.h>

#include "base/text/text.h"
#include "cli/document.h"
#include "cli/run_counts_text.h"
#include "cli/run_shards.h"
#include "lab/run/json_tree.h"
#include "lab/run/run_counts.h"
#include "lab/verdict/agreement.h"
#include "report/sparkline.h"
#include "stats/stats_interleaved.h"

// What a column or sentence is about: the device, or, where two programs are compared, the program.
static const char *name_of(json_t *device) {
  json_t *program = json_object_get(device, "program");
  return json_string_value(program ? program : json_object_get(device, "device"));
}

static double at(json_t *tree, const char *a, const char *b) {
  return hsc_json_number(hsc_json_path(tree, a, b, NULL));
}

static void add_number(hsc_table *table,
                       const char *name,
                       const char *unit,
                       json_t *devices,
                       const char *a,
                       const char *b,
                       bool unicode) {
  bool any = false;
  json_t *device;
  size_t i;
  json_array_foreach (devices, i, device)
    any |= json_is_number(hsc_json_path(device, a, b, NULL));
  if (!any)
    return;
  hsc_table_row(table);
  hsc_table_text(table, name);
  json_array_foreach (devices, i, device) {
    char text[32];
    double value = at(device, a, b);
    if (value != value) {
      hsc_table_missing(table);
      continue;
    }
    hsc_format_quantity(value, unit, unicode, text);
    hsc_table_text(table, text);
  }
}

static void add_text(hsc_table *table, const char *name, json_t *devices, const char *key) {
  json_t *device;
  size_t i;
  hsc_table_row(table);
  hsc_table_text(table, name);
  json_array_foreach (devices, i, device)
    hsc_table_text(table, json_string_value(json_object_get(device, key)));
}

// The time of a run, or that there is none to be had.
static void add_run(hsc_table *table, json_t *devices, bool unicode) {
  json_t *device;
  size_t i;
  hsc_table_row(table);
  hsc_table_text(table, "run (median)");
  json_array_foreach (devices, i, device) {
    char text[32];
    double value = at(device, "run", "median");
    if (value == value)
      hsc_format_quantity(value, "s", unicode, text);
    if (value == value)
      hsc_table_text(table, text);
    else if (json_object_get(device, "cannot_run"))
      hsc_table_text(table, "cannot run here");
    else
      hsc_table_missing(table);
  }
}

// The runs in order, for eyes.
static void add_sparkline(hsc_table *table, json_t *devices, bool unicode) {
  json_t *device;
  size_t i;
  hsc_table_row(table);
  hsc_table_text(table, "runs, in order");
  json_array_foreach (devices, i, device) {
    size_t n = 0;
    double *samples = hsc_json_doubles(hsc_json_path(device, "run", "samples", NULL), &n);
    hsc_bytes line = {0};
    hsc_sparkline(samples, n, 24, unicode, &line);
    hsc_table_text(table, n ? hsc_bytes_text(&line) : NULL);
    hsc_bytes_deinit(&line);
    hsc_free(samples);
  }
}

// The first device that gave outputs tells how many there are and what shapes they have.
static json_t *outputs_of(json_t *devices) {
  json_t *device;
  json_t *outputs = NULL;
  size_t i;
  json_array_foreach (devices, i, device)
    if (json_array_size(outputs) == 0)
      outputs = json_object_get(device, "outputs");
  return outputs;
}

// What low and high are of.
static void note_interval(hsc_table *table, json_t *devices) {
  size_t processes = 0;
  bool any = false;
  json_t *device;
  size_t i;
  json_array_foreach (devices, i, device) {
    size_t own = json_array_size(hsc_json_path(device, "run", "process_sizes", NULL));
    processes = own > processes ? own : processes;
    any |= isfinite(at(device, "run", "low"));
  }
  if (processes == 1 && !any)
    return;
  if (processes == 1)
    hsc_table_note(table,
                   "low and high: 95 %% interval of this process's median; another process of the "
                   "same program may lie outside");
  else if (processes && processes < HSC_LEAST_PROCESSES)
    hsc_table_note(table,
                   "no interval: what differs between processes is not known from fewer than %d",
                   HSC_LEAST_PROCESSES);
  else if (processes)
    hsc_table_note(table, "low and high: 95 %% interval of the median over %zu processes",
                   processes);
}

// How many runs, who chose it and what ended it; what is odd about them; who is faster.
static void note_sampling(hsc_table *table, json_t *devices, bool all) {
  json_t *device;
  size_t i;
  json_array_foreach (devices, i, device) {
    json_t *row = hsc_json_path(device, "run", "statistics", NULL);
    json_t *mode;
    const char *name = name_of(device);
    const char *text = json_string_value(hsc_json_path(device, "run", "sampling", "text", NULL));
    const char *class_text = json_string_value(json_object_get(row, "class"));
    bool several = json_array_size(hsc_json_path(device, "run", "process_sizes", NULL)) > 1;
    // with several processes all of this is of the one before them
    if (!text || (several && !all))
      continue;
    hsc_table_note(table, "%s: %s", name, text);
    double half =
        hsc_json_number(hsc_json_path(device, "compile_dominates_until", "half", "runs", NULL));
    double tenth =
        hsc_json_number(hsc_json_path(device, "compile_dominates_until", "tenth", "runs", NULL));
    if (half > 0 && all)
      hsc_table_note(
          table,
          "%s: the compile is under half of all time from %.0f runs on, under a tenth from %.0f",
          name, half, tenth);
    const char *there = several ? " in that process" : "";
    long long outliers = json_integer_value(json_object_get(row, "outlier_count"));
    if (outliers && all)
      hsc_table_note(table,
                     "%s: %lld of %lld runs%s are outliers, %lld of them with a cause "
                     "(--format=json); they are in %s",
                     name, outliers, (long long)json_integer_value(json_object_get(row, "count")),
                     there,
                     (long long)json_integer_value(json_object_get(row, "outliers_with_cause")),
                     several ? "its numbers" : "the numbers");
    if (class_text && strcmp(class_text, "flat") && strcmp(class_text, "too short"))
      hsc_table_note(table, "%s: over its runs the time shows: %s%s", name, class_text, there);
    if (json_array_size(json_object_get(row, "modes")) < 2)
      continue;
    hsc_bytes modes = {0};
    size_t k;
    json_array_foreach (json_object_get(row, "modes"), k, mode) {
      char median[32];
      hsc_format_quantity(at(mode, "median", NULL), "s", false, median);
      hsc_bytes_printf(&modes, "%s%s (%.0f %%)", k ? ", " : "", median,
                       100 * at(mode, "share", NULL));
    }
    hsc_table_note(table, "%s: %zu modes%s, so no single number tells it: %s", name,
                   json_array_size(json_object_get(row, "modes")), there, hsc_bytes_text(&modes));
    hsc_bytes_deinit(&modes);
  }
}

// Why devices that compiled the program did not run it, each reason once.
static void note_cannot_run(hsc_table *table, json_t *devices) {
  static const char said_in_the_row[] = "cannot run here: ";
  const char *before = "";
  json_t *device;
  size_t i;
  json_array_foreach (devices, i, device) {
    const char *why = json_string_value(json_object_get(device, "cannot_run"));
    if (!why || !strcmp(why, before))
      continue;
    before = why;
    if (hsc_starts_with(why, said_in_the_row))
      why += strlen(said_in_the_row);
    hsc_table_note(table, "cannot run here: %s", why);
  }
}

static void say_guess(json_t *counts, const char *guess, hsc_bytes *line) {
  long long loops = json_integer_value(json_object_get(counts, "guessed_loops"));
  long long branches = json_integer_value(json_object_get(counts, "guessed_branches"));
  long long trips = json_integer_value(json_object_get(counts, "loop_trips"));
  hsc_bytes_printf(line, ", guessing at %s (%lld %s, %lld %s; %lld %s ran)", guess, loops,
                   hsc_plural((double)loops, "loop", "loops"), branches,
                   hsc_plural((double)branches, "branch", "branches"), trips,
                   hsc_plural((double)trips, "trip", "trips"));
}

// Where the counts of the program's text are not what ran, and why.
static void note_counts(hsc_table *table, json_t *devices) {
  json_t *device;
  size_t i;
  json_array_foreach (devices, i, device) {
    json_t *counts = json_object_get(device, "counts");
    const char *guess = json_string_value(json_object_get(counts, "first_guess"));
    double exact = at(counts, "exact", "flops");
    double from_text = at(counts, "static", "flops");
    if (!json_object_get(counts, "exact"))
      continue;
    hsc_bytes line = {0};
    hsc_bytes_printf(&line, "%s: flops and bytes are exact, counted while it ran",
                     json_string_value(json_object_get(device, "device")));
    if (exact == from_text)
      hsc_bytes_append_text(&line, "; the program's text says the same flops");
    else
      hsc_bytes_printf(&line, "; the program's text says %.4g flops", from_text);
    if (guess)
      say_guess(counts, guess, &line);
    hsc_table_note(table, "%s", hsc_bytes_text(&line));
    hsc_bytes_deinit(&line);
  }
}

// Flops and bytes that leave calls out say so, with or without --all.
static void note_uncounted(hsc_table *table, json_t *devices) {
  json_t *device;
  size_t i;
  json_array_foreach (devices, i, device) {
    hsc_bytes line = {0};
    if (hsc_say_uncounted(json_object_get(device, "counts"), &line))
      hsc_table_note(table, "%s: %s: its flops and bytes are the others'", name_of(device),
                     hsc_bytes_text(&line));
    hsc_bytes_deinit(&line);
  }
}

// A compiler's numbers are of the text: a row of numbers that were not counted alike says so, and
// so do numbers beside which nobody counted.
static void note_counts_differ(hsc_table *table, json_t *devices) {
  json_t *device;
  size_t i;
  const char *counted = NULL;
  bool loops = false;
  bool branches = false;
  hsc_bytes others = {0};
  json_array_foreach (devices, i, device) {
    json_t *counts = json_object_get(device, "counts");
    if (json_object_get(counts, "exact")) {
      counted = name_of(device);
    } else if (at(device, "flops", NULL) >= 0) {
      hsc_bytes_printf(&others, "%s%s", others.size ? " and " : "", name_of(device));
    }
    loops |= at(counts, "guessed_loops", NULL) > 0 || at(counts, "loop_trips", NULL) > 0;
    branches |= at(counts, "guessed_branches", NULL) > 0;
  }
  const char *how = "a loop's body counts once, and of branches the costliest, whichever runs";
  if (!branches)
    how = "a loop's body counts once";
  else if (!loops)
    how = "of branches the costliest counts, whichever runs";
  if ((loops || branches) && counted && others.size)
    hsc_table_note(table,
                   "flops and bytes: %s counted what ran, every trip of the loops; those of %s are "
                   "the compiler's cost analysis, where %s",
                   counted, hsc_bytes_text(&others), how);
  else if ((loops || branches) && others.size)
    hsc_table_note(table,
                   "flops and bytes of %s: the compiler's cost analysis, where %s; --compare "
                   "reference counts what runs",
                   hsc_bytes_text(&others), how);
  hsc_bytes_deinit(&others);
}

// A peak below the temporaries that are part of it: compilers count the two in ways of their own.
static void note_peak(hsc_table *table, json_t *devices) {
  json_t *device;
  size_t i;
  json_array_foreach (devices, i, device)
    if (at(device, "temp_bytes", NULL) > at(device, "peak_bytes", NULL))
      hsc_table_note(table,
                     "%s: temporaries are what its compiler sets aside, peak memory what it says "
                     "lives at once in the device's memory: it does not count all of them there",
                     name_of(device));
}

// Whether a device's phase took a hundredth of its time to the first result, or more.
static bool is_large(json_t *devices, const char *name) {
  json_t *device;
  size_t i;
  json_array_foreach (devices, i, device) {
    json_t *phases = json_object_get(device, "phases");
    double whole = 0;
    const char *key;
    json_t *seconds;
    json_object_foreach (phases, key, seconds)
      whole += json_is_number(seconds) ? json_number_value(seconds) : 0;
    if (at(device, "phases", name) >= 0.01 * whole)
      return true;
  }
  return false;
}

// The outputs' digests: all of them, or the first few where nothing else tells the numbers apart.
static void add_digests(hsc_table *table, json_t *devices, bool all) {
  enum { MOST = 8, SHORT = 3 };
  json_t *outputs = outputs_of(devices);
  size_t count = json_array_size(outputs);
  size_t shown = all ? MOST : SHORT;
  if (!all && json_array_size(devices) > 1)
    return;
  for (size_t o = 0; o < count && o < shown; o++) {
    json_t *device;
    size_t i;
    hsc_table_row(table);
    hsc_table_printf(table, "output %zu %s", o,
                     json_string_value(json_object_get(json_array_get(outputs, o), "shape")));
    json_array_foreach (devices, i, device) {
      json_t *own = json_array_get(json_object_get(device, "outputs"), o);
      const char *digest = json_string_value(json_object_get(own, "digest"));
      hsc_table_printf(table, "%.16s", digest && *digest ? digest : "-");
    }
  }
  if (count > shown)
    hsc_table_note(table, "of outputs the digests of their numbers; %zu more: %s", count - shown,
                   all || count > MOST ? "--format=json" : "--all");
  else if (count)
    hsc_table_note(table, "of outputs the digests of their numbers");
}

// One column a device.
static hsc_status *print_devices(hsc_cli *cli, json_t *result, bool all) {
  static const char *const phases[][2] = {{"process start", "process_start"},
                                          {"plugin load", "plugin_load"},
                                          {"plugin initialise", "plugin_initialize"},
                                          {"client create", "client_create"},
                                          {"topology create", "topology_create"},
                                          {"program read", "program_read"},
                                          {"program parse", "program_parse"},
                                          {"compile", "compile"},
                                          {"compiled program read", "compile_disk_read"},
                                          {"compiled program load", "executable_load"},
                                          {"transfer in", "transfer_in"},
                                          {"first run", "first_run"},
                                          {"transfer out", "transfer_out"}};
  static const char *const counts[][3] = {{"instructions", "instructions", "count"},
                                          {"fusions", "fusions", "count"},
                                          {"flops", "flops", "flops"},
                                          {"bytes accessed", "bytes", "bytes"},
                                          {"code", "code_bytes", "bytes"},
                                          {"temporaries", "temp_bytes", "bytes"},
                                          {"peak memory", "peak_bytes", "bytes"}};
  bool unicode = cli->out_style.unicode;
  json_t *devices = json_object_get(result, "devices");
  json_t *device;
  size_t i;
  hsc_table *table = NULL;
  HSC_TRY(hsc_table_create("run", &table));
  hsc_table_column(table, "", "");
  json_array_foreach (devices, i, device)
    hsc_table_column(table, name_of(device), "");
  bool failed = false;
  json_array_foreach (devices, i, device)
    failed |= strcmp(json_string_value(json_object_get(device, "status")), "ok") != 0;
  if (all || failed)
    add_text(table, "status", devices, "status");
  add_text(table, "compiled program was", devices, "compile");
  for (size_t k = 0; k < HSC_COUNT_OF(phases); k++)
    if (all || is_large(devices, phases[k][1]))
      add_number(table, phases[k][0], "s", devices, "phases", phases[k][1], unicode);
  add_run(table, devices, unicode);
  if (cli->out_style.width)
    add_sparkline(table, devices, cli->out_style.unicode);
  add_number(table, "  low", "s", devices, "run", "low", unicode);
  add_number(table, "  high", "s", devices, "run", "high", unicode);
  add_number(table, "  of it the call itself", "s", devices, "call_overhead", NULL, unicode);
  add_number(table, "  without the call", "s", devices, "run", "median_without_call", unicode);
  // of several devices what the program does counts, not into how many pieces it was cut
  bool few = !all && json_array_size(devices) > 1;
  for (size_t k = 0; k < HSC_COUNT_OF(counts); k++)
    if (!few || strcmp(counts[k][2], "count"))
      add_number(table, counts[k][0], counts[k][2], devices, counts[k][1], NULL, unicode);
  note_cannot_run(table, devices);
  if (all)
    note_counts(table, devices);
  note_uncounted(table, devices);
  note_counts_differ(table, devices);
  note_peak(table, devices);
  note_sampling(table, devices, all);
  note_interval(table, devices);
  add_digests(table, devices, all);
  return hsc_cli_table(cli, table);
}

// What "close" allowed, of the rows that are; none where none is.
static void note_close(hsc_table *table, json_t *rows) {
  double least = INFINITY;
  double most = 0;
  json_t *row;
  size_t i;
  json_array_foreach (rows, i, row) {
    if (strcmp(json_string_value(json_object_get(row, "verdict")), "close") != 0)
      continue;
    double tolerance = hsc_json_number(json_object_get(row, "tolerance"));
    least = fmin(least, tolerance);
    most = fmax(most, tolerance);
  }
  if (most > least)
    hsc_table_note(table,
                   "close: every difference is at most %g to %g, by the type, of the output's "
                   "largest value",
                   least, most);
  else if (most > 0)
    hsc_table_note(table, "close: every difference is at most %g of the output's largest value",
                   most);
}

// The largest bound of rows with this verdict that the derived bound decided; NaN = none.
static double bound_of(json_t *rows, const char *verdict) {
  double most = NAN;
  json_t *row;
  size_t i;
  json_array_foreach (rows, i, row)
    if (!strcmp(json_string_value(json_object_get(row, "verdict")), verdict) &&
        !strcmp(json_string_value(json_object_get(row, "decided_by")), "bound"))
      most = fmax(most, hsc_json_number(json_object_get(row, "share_bound")));
  return most;
}

static bool any_by_type(json_t *rows) {
  json_t *row;
  size_t i;
  json_array_foreach (rows, i, row)
    if (!strcmp(json_string_value(json_object_get(row, "verdict")), "different") &&
        !strcmp(json_string_value(json_object_get(row, "decided_by")), "type"))
      return true;
  return false;
}

// What was held against the bound that the evaluator derived of the program.
static void note_bounds(hsc_table *table, json_t *result) {
  json_t *rows = json_object_get(result, "compare");
  json_t *bounds = json_object_get(result, "bounds");
  const char *why_not = json_string_value(json_object_get(bounds, "reason"));
  double rounding = bound_of(rows, "rounding");
  double different = bound_of(rows, "different");
  if (!isnan(rounding))
    hsc_table_note(table,
                   "rounding: beyond what the outputs' types allow, and each side within what a "
                   "legal order of the program's operations%s may make of them (bound %.3g)",
                   json_is_true(json_object_get(bounds, "denormals"))
                       ? ", or denormal numbers taken for zero,"
                       : "",
                   rounding);
  if (!isnan(different))
    hsc_table_note(table,
                   "different: a side is beyond what any legal order of the program's operations "
                   "may make of the reference's numbers (bound %.3g)",
                   different);
  if (any_by_type(rows))
    hsc_table_note(table,
                   "different: beyond what the outputs' types allow; how far legal rounding may "
                   "carry is not known%s%.200s",
                   why_not ? ": " : "", why_not ? why_not : "");
}

// The rows to show of a comparison: the outputs that differ before those that are close or equal.
static size_t pick_compared(json_t *rows, size_t most, json_t **out_rows) {
  static const char *const order[] = {"different", "rounding", "close", "equal"};
  size_t count = 0;
  for (size_t k = 0; k < HSC_COUNT_OF(order); k++) {
    json_t *row;
    size_t i;
    json_array_foreach (rows, i, row)
      if (count < most && !strcmp(json_string_value(json_object_get(row, "verdict")), order[k]))
        out_rows[count++] = row;
  }
  return count;
}

static hsc_status *print_comparison(hsc_cli *cli, json_t *result, bool all) {
  enum { SHORT = 3 };
  json_t *rows = json_object_get(result, "compare");
  const char *headline = json_string_value(json_object_get(result, "headline"));
  hsc_table *table = NULL;
  if (!headline)
    return NULL;
  hsc_cli_print(cli, "\n");
  if (json_array_size(rows) == 0) {
    hsc_cli_paragraph(cli, "%s\n", headline);
    return NULL;
  }
  HSC_TRY(hsc_table_create("compare", &table));
  static const char *const columns[] = {"device",  "against", "output",     "shape",  "max abs",
                                        "max rel", "max ulp", "NaN in one", "verdict"};
  for (size_t k = 0; k < HSC_COUNT_OF(columns); k++)
    hsc_table_column(table, columns[k], "");
  size_t total = json_array_size(rows);
  json_t **shown = HSC_NEW_ARRAY(cli->arena, json_t *, total + 1);
  HSC_TRY(hsc_arena_status(cli->arena));
  size_t count = pick_compared(rows, all ? total : SHORT, shown);
  for (size_t i = 0; i < count; i++) {
    json_t *row = shown[i];
    hsc_table_row(table);
    hsc_table_text(table, json_string_value(json_object_get(row, "device")));
    hsc_table_text(table, json_string_value(json_object_get(row, "against")));
    hsc_table_int(table, json_integer_value(json_object_get(row, "output")));
    hsc_table_text(table, json_string_value(json_object_get(row, "shape")));
    hsc_table_printf(table, "%.3g", hsc_json_number(json_object_get(row, "max_abs")));
    hsc_table_printf(table, "%.3g", hsc_json_number(json_object_get(row, "max_rel")));
    if (json_is_integer(json_object_get(row, "max_ulp")))
      hsc_table_int(table, json_integer_value(json_object_get(row, "max_ulp")));
    else
      hsc_table_missing(table);
    hsc_table_int(table, json_integer_value(json_object_get(row, "nan_mismatches")));
    hsc_table_text(table, json_string_value(json_object_get(row, "verdict")));
  }
  hsc_table_note(table, "%s", headline);
  note_close(table, rows);
  note_bounds(table, result);
  if (count < total)
    hsc_table_note(table, "%zu more row%s, %s worse: --all", total - count,
                   hsc_plural((double)(total - count), "", "s"),
                   total - count == 1 ? "not" : "none of them");
  return hsc_cli_table(cli, table);
}

// Beside print_faster, which is read first: the tests' own words, and what is too small to claim.
static void print_speed(hsc_cli *cli, json_t *result, bool all) {
  json_t *first = json_array_get(json_object_get(result, "devices"), 0);
  bool programs = json_object_get(first, "program") != NULL;
  json_t *speed = json_object_get(result, "speed");
  json_t *row;
  size_t i;
  const char *grade = json_string_value(hsc_json_path(result, "environment", "grade", NULL));
  json_array_foreach (speed, i, row)
    if (all || (!programs && !isfinite(at(row, "low", NULL))))
      hsc_cli_paragraph(cli, "%s against %s: %s\n",
                        json_string_value(json_object_get(row, "device")),
                        json_string_value(json_object_get(row, "against")),
                        json_string_value(json_object_get(row, "text")));
  if (i && grade && *grade != 'A')
    hsc_cli_paragraph(
        cli,
        "no difference below %.3g %% is claimed: the machine is not quiet (grade %s; A is quiet, "
        "D is busy)\n",
        100 * at(json_array_get(speed, 0), "margin", NULL), grade);
}

// "b.hlo is faster than a.hlo: it takes 0.481 of its time (0.45 to 0.51).", of two programs or of
// one on two devices.
static void print_faster(hsc_cli *cli, json_t *row, bool programs) {
  const char *verdict = json_string_value(json_object_get(row, "verdict"));
  const char *name = json_string_value(json_object_get(row, "device"));
  const char *against = json_string_value(json_object_get(row, "against"));
  double ratio = at(row, "ratio", NULL);
  hsc_bytes interval = {0};
  if (!row || !verdict)
    return;
  if (isfinite(at(row, "low", NULL)))
    hsc_bytes_printf(&interval, " (%.3g to %.3g)", at(row, "low", NULL), at(row, "high", NULL));
  if (!strcmp(verdict, "faster"))
    hsc_cli_paragraph(cli, "%s is faster than %s: it takes %.3g of its time%s.\n", name, against,
                      ratio, hsc_bytes_text(&interval));
  else if (!strcmp(verdict, "slower"))
    hsc_cli_paragraph(cli, "%s is slower than %s: it takes %.3g times as long%s.\n", name, against,
                      ratio, hsc_bytes_text(&interval));
  else if (!strcmp(verdict, "same"))
    hsc_cli_paragraph(cli, "%s takes as long as %s: %.3g of its time%s.\n", name, against, ratio,
                      hsc_bytes_text(&interval));
  else if (interval.size)
    hsc_cli_paragraph(cli, "Which is faster cannot be told: %s takes %.3g of the time of %s%s.\n",
                      name, ratio, against, hsc_bytes_text(&interval));
  else if (programs)
    hsc_cli_paragraph(cli, "Which of %s and %s is faster: %s.\n", against, name,
                      json_string_value(json_object_get(row, "text")));
  hsc_bytes_deinit(&interval);
}

// The answer first: a sentence a device, and what the comparison of the numbers says.
static void print_headline(hsc_cli *cli, json_t *result) {
  bool unicode = cli->out_style.unicode;
  const char *verdict = json_string_value(json_object_get(result, "verdict"));
  json_t *device;
  size_t i;
  device = json_array_get(json_object_get(result, "devices"), 0);
  bool programs = json_object_get(device, "program") != NULL;
  json_array_foreach (json_object_get(result, "speed"), i, device)
    print_faster(cli, device, programs);
  json_array_foreach (json_object_get(result, "devices"), i, device) {
    const char *name = name_of(device);
    const char *status = json_string_value(json_object_get(device, "status"));
    double median = at(device, "run", "median");
    char text[3][32];
    double first = hsc_json_number(json_object_get(device, "first_result"));
    bool said = hsc_run_shards_headline(cli, device);
    if (said && !(median > 0))
      continue;
    if (!strcmp(status, "ok") && json_object_get(device, "cannot_run")) {
      hsc_cli_paragraph(cli, "%s: compiled, not run: it only compiles here\n", name);
      continue;
    }
    if (strcmp(status, "ok") != 0 || !(median > 0)) {
      hsc_cli_paragraph(cli, "%s: %s\n", name, status);
      continue;
    }
    hsc_format_quantity(median, "s", unicode, text[0]);
    hsc_format_quantity(at(device, "run", "low"), "s", unicode, text[1]);
    hsc_format_quantity(at(device, "run", "high"), "s", unicode, text[2]);
    hsc_bytes line = {0};
    size_t processes = json_array_size(hsc_json_path(device, "run", "process_sizes", NULL));
    hsc_bytes_printf(&line, "%s: a run takes %s", name, text[0]);
    if (isfinite(at(device, "run", "low")) && processes == 1)
      hsc_bytes_printf(&line, " (%s to %s in this process)", text[1], text[2]);
    else if (isfinite(at(device, "run", "low")))
      hsc_bytes_printf(&line, " (%s to %s%s)", text[1], text[2],
                       processes ? "" : " in this process");
    hsc_format_quantity(first, "s", unicode, text[0]);
    // a compiled program that lay on the disk is not nothing
    const char *compiled = json_string_value(json_object_get(device, "compile"));
    bool on_disk = compiled && !strcmp(compiled, "disk");
    hsc_bytes_printf(&line, "; the first result took %s from %s", text[0],
                     on_disk ? "a start with the compiled program on disk" : "nothing");
    hsc_cli_paragraph(cli, "%s\n", hsc_bytes_text(&line));
    hsc_bytes_deinit(&line);
  }
  if (verdict && json_array_size(json_object_get(result, "devices")) > 1)
    hsc_cli_paragraph(cli, "numbers: %s\n", verdict);
  hsc_cli_print(cli, "\n");
}

// The last one that programs run on for their speed: not the reference.
static json_t *last_device(const json_t *devices) {
  for (size_t i = json_array_size(devices); i > 0; i--) {
    json_t *device = json_array_get(devices, i - 1);
    if (strcmp(name_of(device), "reference") != 0)
      return device;
  }
  return NULL;
}

// What a reader does next: where the numbers differ, who is at fault; else where the time goes.
static void print_next(hsc_cli *cli, json_t *result) {
  const char *verdict = json_string_value(json_object_get(result, "verdict"));
  const char *program = json_string_value(json_object_get(result, "program"));
  json_t *last = last_device(json_object_get(result, "devices"));
  const char *device = json_string_value(json_object_get(last, "device"));
  const char *status = json_string_value(json_object_get(last, "status"));
  if (!program || !device || !status || strcmp(status, "ok") != 0)
    return;
  if (verdict && !strcmp(verdict, "different") && !json_object_get(last, "program"))
    hsc_cli_print(cli, "\nnext: hloscope blame %s -d %s\n", program, device);
  else if (at(last, "run", "median") > 0)
    hsc_cli_print(cli, "\nnext: hloscope profile %s -d %s\n", program, device);
}

hsc_status *hsc_run_print(hsc_cli *cli, json_t *result, bool all) {
  if (cli->format == HSC_FORMAT_JSON)
    return hsc_cli_document(cli, result);
  json_t *device;
  size_t i;
  print_headline(cli, result);
  json_array_foreach (json_object_get(result, "devices"), i, device)
    HSC_TRY(hsc_run_shards_print(cli, device));
  HSC_TRY(print_devices(cli, result, all));
  HSC_TRY(print_comparison(cli, result, all));
  print_speed(cli, result, all);
  json_array_foreach (json_object_get(result, "devices"), i, device)
    if (all)
      HSC_TRY(hsc_run_counts_print(cli, device));
  json_array_foreach (json_object_get(result, "devices"), i, device) {
    const char *message = json_string_value(json_object_get(device, "message"));
    const char *hint = json_string_value(json_object_get(device, "hint"));
    const char *notes = json_string_value(json_object_get(device, "notes"));
    if (!message)
      continue;
    const char *name = name_of(device);
    if (hsc_starts_with(message, name))
      hsc_cli_say(cli, "%s", message);
    else
      hsc_cli_say(cli, "%s: %s", name, message);
    for (const char *note = notes; note && *note;
         note += strcspn(note, "\n"), note += *note == '\n')
      hsc_cli_say(cli, "  %.*s", (int)strcspn(note, "\n"), note);
    if (hint)
      hsc_cli_say(cli, "  hint: %s", hint);
  }
  print_next(cli, result);
  return NULL;
}
