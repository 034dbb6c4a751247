// cmd_passes_time.c - hloscope passes time: where the time of a compile goes.
#include <math.h>

#include "base/core/clock.h"
#include "cli/document.h"
#include "cli/cmd_passes.h"
#include "lab/run/json_tree.h"
#include "lab/passes/passes_time.h"
#include "stats/stats_interleaved.h"

enum { MOST_PASSES = 15 };

static void show_progress(void *user, int64_t done, int64_t total, const char *text) {
  hsc_cli *cli = user;
  if (!cli->talk_is_terminal && done != 0)
    return;
  if (total)
    hsc_cli_progress_of(cli, done, total, text);
  else
    hsc_cli_progress(cli, "%s: %lld so far", text, (long long)done + 1);
}

static void add_rows(hsc_table *table, const char *kind, json_t *rows, size_t most) {
  json_t *row;
  size_t i;
  json_array_foreach (rows, i, row) {
    if (i >= most)
      break;
    hsc_table_row(table);
    hsc_table_text(table, kind);
    hsc_table_text(table, json_string_value(json_object_get(row, "name")));
    hsc_table_double(table, hsc_json_number(json_object_get(row, "median")));
    hsc_table_double(table, hsc_json_number(json_object_get(row, "low")));
    hsc_table_double(table, hsc_json_number(json_object_get(row, "high")));
    hsc_table_double(table, hsc_json_number(json_object_get(row, "share")));
    hsc_table_int(table, json_integer_value(json_object_get(row, "runs")));
  }
}

// What comes before the compiler, measured once: reading the file, parsing it, transforming it,
// writing it for the device.
static void add_front_end(hsc_table *table, json_t *steps) {
  const char *name;
  json_t *seconds;
  json_object_foreach (steps, name, seconds) {
    if (!(hsc_json_number(seconds) >= 1e-6))
      continue;
    hsc_table_row(table);
    hsc_table_text(table, "front end");
    hsc_table_text(table, name);
    hsc_table_double(table, hsc_json_number(seconds));
    for (int i = 0; i < 3; i++)
      hsc_table_missing(table);
    hsc_table_int(table, 1);
  }
}

static hsc_status *print_result(hsc_cli *cli, json_t *result) {
  hsc_table *table = NULL;
  json_t *whole = json_object_get(result, "compile");
  json_t *passes = json_object_get(result, "passes");
  HSC_TRY(hsc_table_create("compile time", &table));
  static const char *const columns[][2] = {{"kind", ""},     {"name", ""},  {"time", "s"},
                                           {"low", "s"},     {"high", "s"}, {"share", "fraction"},
                                           {"runs", "count"}};
  for (size_t i = 0; i < HSC_COUNT_OF(columns); i++)
    hsc_table_column(table, columns[i][0], columns[i][1]);
  add_front_end(table, json_object_get(result, "front_end"));
  add_rows(table, "phase", json_object_get(result, "phases"), 20);
  add_rows(table, "pipeline", json_object_get(result, "pipelines"), 20);
  add_rows(table, "pass", passes, MOST_PASSES);
  add_rows(table, "thread", json_object_get(result, "threads"), 5);
  char text[3][32];
  hsc_format_quantity(hsc_json_number(json_object_get(whole, "median")), "s",
                      cli->out_style.unicode, text[0]);
  hsc_format_quantity(hsc_json_number(json_object_get(whole, "low")), "s", cli->out_style.unicode,
                      text[1]);
  hsc_format_quantity(hsc_json_number(json_object_get(whole, "high")), "s", cli->out_style.unicode,
                      text[2]);
  char interval[72] = "";
  if (!isnan(hsc_json_number(json_object_get(whole, "low"))))
    snprintf(interval, sizeof interval, " [%s, %s]", text[1], text[2]);
  hsc_table_note(table,
                 "a whole compile takes %s%s, over %lld of them; the first one of a process took "
                 "%.3f s",
                 text[0], interval,
                 (long long)json_integer_value(json_object_get(result, "repeats")),
                 hsc_json_number(json_object_get(result, "first_compile")));
  hsc_table_note(table, "%s", json_string_value(hsc_json_path(result, "sampling", "text", NULL)));
  if (json_array_size(passes) > MOST_PASSES)
    hsc_table_note(table, "%zu more passes are in --format=json",
                   json_array_size(passes) - MOST_PASSES);
  if (isnan(hsc_json_number(json_object_get(whole, "low"))))
    hsc_table_note(table, "low and high: there is an interval from %d processes on",
                   HSC_LEAST_PROCESSES);
  else
    hsc_table_note(table, "low and high: 95 %% interval of the median, by bootstrap of processes");
  return hsc_cli_table(cli, table);
}

hsc_status *hsc__passes_time(const passes_args *args, hsc_cli *cli) {
  hsc_device_spec device;
  json_t *overrides = NULL;
  json_t *result = NULL;
  hsc_bytes folded = {0};
  int64_t start_ns = hsc_now_ns();
  hsc_status *status = NULL;
  HSC_TRY(hsc_cli_program_file(cli, args->program));
  double precision = args->precision == -1 ? 2 : args->precision;
  double budget_s = args->budget_s == -1 ? 10 : args->budget_s;
  HSC_TRY(hsc_cli_check_sampling(cli, precision, budget_s, args->repeats > 0));
  HSC_TRY(hsc__passes_device(args, cli, &device));
  HSC_TRY(hsc__passes_check_disabled(args, cli, &device));
  HSC_GOTO(hsc__passes_overrides(args, cli, true, &overrides));
  hsc_passes_time_options o = {
      .program = args->program,
      .transforms = args->transforms.items,
      .transform_count = args->transforms.count,
      .device = &device,
      .overrides = overrides,
      .repeats = (int)args->repeats,
      .half_width = precision / 100,
      .budget_s = budget_s,
      .deadline_ns = args->budget_s > 0 ? start_ns + (int64_t)(args->budget_s * 1e9) : 0,
      .seed = (uint64_t)args->seed,
      .limit_ns = (int64_t)(args->limit_s * 1e9),
      .progress = show_progress,
      .user = cli,
      .stop = &hsc__passes_stop};
  HSC_GOTO(hsc_passes_time(&o, &result, &folded));
  if (args->output) {
    HSC_GOTO(hsc_bytes_status(&folded));
    HSC_GOTO(hsc_cli_write_to(cli, args->output, hsc_bytes_view(&folded)));
    if (!strcmp(args->output, "-"))
      goto done;
  }
  // for reports: how to make it again
  json_object_set_new(result, "command", json_string(cli->command_line));
  HSC_GOTO(cli->format == HSC_FORMAT_JSON ? hsc_cli_document(cli, result)
                                          : print_result(cli, result));
  if (args->output && cli->format == HSC_FORMAT_TEXT)
    hsc_cli_say(cli, "stacks for a flame graph (flamegraph.pl, speedscope): %s", args->output);
done:
  hsc_bytes_deinit(&folded);
  json_decref(overrides);
  json_decref(result);
  return status;
}
