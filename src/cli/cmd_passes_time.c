// cmd_passes_time.c - hloscope passes time: where the time of a compile goes.
#include <math.h>

#include "base/core/clock.h"
#include "cli/document.h"
#include "cli/cmd_passes.h"
#include "cli/interrupt.h"
#include "lab/run/json_tree.h"
#include "lab/passes/passes_remedy.h"
#include "lab/passes/passes_time.h"
#include "stats/stats_interleaved.h"

// Rows of each kind: on the first screen, and with --all.
enum { SHORT_PHASES = 6, SHORT_PIPELINES = 4, SHORT_PASSES = 9, MOST_ROWS = 100 };

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

static double share_of(json_t *row) {
  return 100 * hsc_json_number(json_object_get(row, "share"));
}

// "A compile takes 4.6 ms (...). Code generation takes 33 % of it, HLO passes 19 %."
static void say_headline(hsc_cli *cli, json_t *result) {
  json_t *whole = json_object_get(result, "compile");
  json_t *phases = json_object_get(result, "phases");
  json_t *passes = json_object_get(result, "passes");
  static const char *const keys[] = {"median", "low", "high"};
  char text[4][32];
  hsc_bytes line = {0};
  for (size_t i = 0; i < HSC_COUNT_OF(keys); i++)
    hsc_format_quantity(hsc_json_number(json_object_get(whole, keys[i])), "s",
                        cli->out_style.unicode, text[i]);
  hsc_format_quantity(hsc_json_number(json_object_get(result, "first_compile")), "s",
                      cli->out_style.unicode, text[3]);
  hsc_bytes_printf(&line, "A compile takes %s", text[0]);
  if (!isnan(hsc_json_number(json_object_get(whole, "low"))))
    hsc_bytes_printf(&line, " (%s to %s)", text[1], text[2]);
  hsc_bytes_printf(&line, ", the first one of a process %s.%s", text[3],
                   json_array_size(phases) ? " Of it" : "");
  json_t *row;
  size_t i;
  json_array_foreach (phases, i, row) {
    if (i == 3)
      break;
    hsc_bytes_printf(&line, "%s %s%s %.0f %%", i ? "," : "",
                     json_string_value(json_object_get(row, "name")), i ? "" : " takes",
                     share_of(row));
  }
  row = json_array_get(passes, 0);
  if (row)
    hsc_bytes_printf(&line, "; of the passes %s takes most, %.2g %%",
                     json_string_value(json_object_get(row, "name")), share_of(row));
  hsc_cli_paragraph(cli, "%s%s\n\n", hsc_bytes_text(&line), json_array_size(phases) ? "." : "");
  hsc_bytes_deinit(&line);
}

static void print_tried(hsc_cli *cli, json_t *row, const char *best) {
  const char *option = hsc_json_text(row, "option");
  const char *value = hsc_json_text(row, "value");
  bool is_best = best && !strcmp(best, hsc_json_text(row, "remedy"));
  double times = hsc_json_number(json_object_get(row, "times_faster"));
  hsc_cli_print(cli, "%s ", is_best ? "helps:" : "tried:");
  if (times == times)
    hsc_cli_print(cli, "%.3g times faster, numbers %s: ", times, hsc_json_text(row, "numbers"));
  else
    hsc_cli_print(cli, "%s: ", hsc_json_text(row, "numbers"));
  if (option)
    hsc_cli_print(cli, "%s=%s; ", option, value ? value : "");
  hsc_cli_print(cli, "%s\n", hsc_json_text(row, "text"));
}

// The answer of --remedy, before the tables.
static void print_slow(hsc_cli *cli, json_t *slow) {
  char seconds[32];
  json_t *row;
  size_t i;
  const char *phase = hsc_json_text(slow, "phase");
  const char *pass = hsc_json_text(slow, "pass");
  const char *source = hsc_json_text(slow, "source");
  const char *best = hsc_json_text(slow, "best");
  hsc_format_quantity(hsc_json_number(json_object_get(slow, "seconds")), "s",
                      cli->out_style.unicode, seconds);
  hsc_cli_paragraph(cli, "a compile takes %s, most of it in %s%s%s\n", seconds,
                    phase ? phase : "no phase by itself", pass ? ", pass " : "", pass ? pass : "");
  if (hsc_json_text(slow, "instruction"))
    hsc_cli_paragraph(cli, "it folds %s%s%s\n", hsc_json_text(slow, "instruction"),
                      source ? ", from " : "", source ? source : "");
  json_array_foreach (json_object_get(slow, "lines"), i, row)
    hsc_cli_print(cli, "  %3.0f %% of the program's instructions come from %s\n",
                  100 * hsc_json_number(json_object_get(row, "share")),
                  hsc_json_text(row, "source"));
  json_array_foreach (json_object_get(slow, "tried"), i, row)
    print_tried(cli, row, best);
  if (!best)
    hsc_cli_print(cli, "none of the remedies tried makes it 1.2 times faster\n");
  hsc_cli_print(cli, "\n");
}

static hsc_status *print_result(hsc_cli *cli, json_t *result, bool all) {
  hsc_table *table = NULL;
  json_t *whole = json_object_get(result, "compile");
  const char *stamp = json_string_value(hsc_json_path(result, "sampling", "text", NULL));
  static const char *const rest[] = {"phases", "pipelines", "passes"};
  static const size_t most[] = {SHORT_PHASES, SHORT_PIPELINES, SHORT_PASSES};
  static const char *const kinds[] = {"phase", "pipeline", "pass"};
  say_headline(cli, result);
  if (json_object_get(result, "slow"))
    print_slow(cli, json_object_get(result, "slow"));
  HSC_TRY(hsc_table_create("compile time", &table));
  static const char *const columns[][2] = {{"kind", ""},     {"name", ""},  {"time", "s"},
                                           {"low", "s"},     {"high", "s"}, {"share", "fraction"},
                                           {"runs", "count"}};
  for (size_t i = 0; i < HSC_COUNT_OF(columns); i++)
    hsc_table_column(table, columns[i][0], columns[i][1]);
  if (all)
    add_front_end(table, json_object_get(result, "front_end"));
  bool is_cut = false;
  for (size_t i = 0; i < HSC_COUNT_OF(rest); i++) {
    json_t *rows = json_object_get(result, rest[i]);
    add_rows(table, kinds[i], rows, all ? MOST_ROWS : most[i]);
    is_cut |= !all && json_array_size(rows) > most[i];
  }
  if (all)
    add_rows(table, "thread", json_object_get(result, "threads"), MOST_ROWS);
  hsc_table_note(table, "%s", stamp);
  if (isnan(hsc_json_number(json_object_get(whole, "low"))))
    hsc_table_note(table, "low and high: there is an interval from %d processes on",
                   HSC_LEAST_PROCESSES);
  else
    hsc_table_note(table, "low and high: 95 %% interval of the median, by bootstrap of processes");
  if (is_cut)
    hsc_table_note(table,
                   "every row, the front end too: --all; what a pass did: hloscope passes list");
  return hsc_cli_table(cli, table);
}

static hsc_status *add_remedy(const passes_args *args,
                              hsc_cli *cli,
                              const hsc_device_spec *device,
                              json_t *overrides,
                              json_t *io_document) {
  if (args->transforms.count)
    return hsc_cli_usage(cli, "--remedy takes the program as it is, without --transform");
  return hsc_passes_remedy(&(hsc_remedy_options){.program = args->program,
                                                 .device = device,
                                                 .overrides = overrides,
                                                 .limit_ns = (int64_t)(args->limit_s * 1e9),
                                                 .progress = show_progress,
                                                 .user = cli,
                                                 .stop = &hsc_cli_stop},
                           io_document);
}

hsc_status *hsc__passes_time(const passes_args *args, hsc_cli *cli) {
  hsc_device_spec device;
  json_t *overrides = NULL;
  json_t *result = NULL;
  hsc_bytes folded = {0};
  int64_t start_ns = hsc_now_ns();
  hsc_status *status = NULL;
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
      .stop = &hsc_cli_stop};
  HSC_GOTO(hsc_passes_time(&o, &result, &folded));
  if (args->output) {
    HSC_GOTO(hsc_bytes_status(&folded));
    HSC_GOTO(hsc_cli_write_to(cli, args->output, &folded));
    if (!strcmp(args->output, "-"))
      goto done;
  }
  if (args->remedy)
    HSC_GOTO(add_remedy(args, cli, &device, overrides, result));
  // for reports: how to make it again
  json_object_set_new(result, "command", json_string(cli->command_line));
  HSC_GOTO(cli->format == HSC_FORMAT_JSON ? hsc_cli_document(cli, result)
                                          : print_result(cli, result, args->all));
  if (args->output && cli->format == HSC_FORMAT_TEXT)
    hsc_cli_say(cli, "stacks for a flame graph (flamegraph.pl, speedscope): %s", args->output);
done:
  hsc_bytes_deinit(&folded);
  json_decref(overrides);
  json_decref(result);
  return status;
}
