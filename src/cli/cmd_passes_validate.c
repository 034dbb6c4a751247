// cmd_passes_validate.c - hloscope passes validate: after which pass are the numbers others?
#include <math.h>

#include "cli/cmd_passes.h"
#include "lab/run/json_tree.h"
#include "lab/devices/devices.h"
#include "lab/passes/validate.h"

static void show_progress(void *user, int64_t done, int64_t total, const char *text) {
  hsc_cli *cli = user;
  if (cli->talk_is_terminal || done == 0)
    hsc_cli_progress_of(cli, done, total, hsc_arena_printf(cli->arena, "stages, now %s", text));
}

static const char *text_at(const json_t *object, const char *key) {
  return json_string_value(json_object_get(object, key));
}

static hsc_status *print_result(hsc_cli *cli, json_t *result) {
  static const char *const columns[] = {"run",     "pipeline", "pass",    "numbers",
                                        "max abs", "max ulp",  "bridged", "not run because"};
  hsc_table *table = NULL;
  json_t *stage;
  json_t *first = json_object_get(result, "first");
  size_t i;
  HSC_TRY(hsc_table_create("validate", &table));
  for (size_t c = 0; c < HSC_COUNT_OF(columns); c++)
    hsc_table_column(table, columns[c], "");
  json_array_foreach (json_object_get(result, "stages"), i, stage) {
    json_t *run = json_object_get(stage, "run");
    double max_abs = hsc_json_number(json_object_get(stage, "max_abs"));
    const char *skipped = text_at(stage, "skipped");
    hsc_table_row(table);
    if (json_is_integer(run))
      hsc_table_int(table, json_integer_value(run));
    else
      hsc_table_missing(table);
    hsc_table_text(table, text_at(stage, "pipeline"));
    hsc_table_text(table, text_at(stage, "pass"));
    hsc_table_text(table, text_at(stage, "verdict"));
    if (isnan(max_abs))
      hsc_table_missing(table);
    else
      hsc_table_printf(table, "%.3g", max_abs);
    if (json_is_integer(json_object_get(stage, "max_ulp")))
      hsc_table_int(table, json_integer_value(json_object_get(stage, "max_ulp")));
    else
      hsc_table_missing(table);
    hsc_table_int(table, json_integer_value(json_object_get(stage, "bridged")));
    if (skipped)
      hsc_table_printf(table, "%.100s", skipped);
    else
      hsc_table_missing(table);
  }
  hsc_table_note(
      table,
      "stages of %s, run on %s on the same inputs, against the program before the first pass: %s",
      text_at(result, "device"), text_at(result, "runner"), text_at(result, "verdict"));
  json_t *rounding = json_object_get(result, "rounding");
  json_t *jump;
  if (!strcmp(text_at(result, "verdict"), "rounding"))
    hsc_table_note(table,
                   "rounding: beyond what the outputs' types allow, and no more than a last place "
                   "of the inputs moves them (%.2g), or the evaluator finds the same outputs",
                   hsc_json_number(json_object_get(rounding, "max_abs")));
  json_array_foreach (json_object_get(result, "jumps"), i, jump) {
    if (i == 0 && json_is_object(first) &&
        json_equal(json_object_get(jump, "run"), json_object_get(first, "run")))
      continue;
    hsc_table_note(
        table, "they move %s after run %lld, %s: by %.3g, before it %.3g (%s)",
        i ? "further" : "first", (long long)json_integer_value(json_object_get(jump, "run")),
        text_at(jump, "pass"), hsc_json_number(json_object_get(jump, "max_abs")),
        hsc_json_number(json_object_get(jump, "max_abs_before")), text_at(jump, "verdict"));
  }
  if (json_is_object(first)) {
    json_t *instruction = json_object_get(first, "instruction");
    hsc_table_note(table, "the numbers are others after run %lld, %s (pipeline %s)",
                   (long long)json_integer_value(json_object_get(first, "run")),
                   text_at(first, "pass"), text_at(first, "pipeline"));
    if (json_is_object(instruction))
      hsc_table_note(table, "first in %s: element %lld was %.9g, is %.9g",
                     text_at(instruction, "text"),
                     (long long)json_integer_value(json_object_get(instruction, "element")),
                     hsc_json_number(json_object_get(instruction, "value_before")),
                     hsc_json_number(json_object_get(instruction, "value_after")));
    else if (text_at(first, "instruction_unknown"))
      hsc_table_note(table, "which instruction cannot be said: %s",
                     text_at(first, "instruction_unknown"));
  }
  return hsc_cli_table(cli, table);
}

hsc_status *hsc__passes_validate(const passes_args *args, hsc_cli *cli) {
  hsc_device_spec device, runner;
  json_t *overrides = NULL;
  json_t *result = NULL;
  hsc_status *status = NULL;
  HSC_TRY(hsc_cli_program_file(cli, args->program));
  if (!(args->tolerance > 0))
    return hsc_cli_usage(cli, "--tolerance must be above 0");
  HSC_TRY(hsc__passes_device(args, cli, &device));
  HSC_TRY(hsc_device_spec_parse(args->runner, cli->arena, &runner));
  if (runner.topology)
    return hsc_cli_usage(cli, "%s compiles only; --runner takes a device that runs programs",
                         runner.text);
  HSC_TRY(hsc__passes_check_disabled(args, cli, &device));
  HSC_GOTO(hsc__passes_overrides(args, cli, true, &overrides));
  hsc_validate_options o = {.program = args->program,
                            .transforms = args->transforms.items,
                            .transform_count = args->transforms.count,
                            .device = &device,
                            .runner = &runner,
                            .overrides = overrides,
                            .disable = args->disable,
                            .seed = (uint64_t)args->seed,
                            .tolerance = args->tolerance,
                            .limit_ns = (int64_t)(args->limit_s * 1e9),
                            .progress = show_progress,
                            .user = cli,
                            .stop = &hsc__passes_stop};
  HSC_GOTO(hsc_validate(&o, &result));
  // for reports: how to make it again
  json_object_set_new(result, "command", json_string(cli->command_line));
  HSC_GOTO(cli->format == HSC_FORMAT_JSON ? hsc__passes_print_json(cli, result)
                                          : print_result(cli, result));
  if (json_is_object(json_object_get(result, "first")))
    cli->exit_code = 1;
done:
  json_decref(overrides);
  json_decref(result);
  return status;
}
