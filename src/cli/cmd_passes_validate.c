// cmd_passes_validate.c - hloscope passes validate: after which pass are the numbers others?
#include <math.h>

#include "cli/document.h"
#include "cli/cmd_passes.h"
#include "cli/interrupt.h"
#include "lab/run/given_inputs.h"
#include "lab/run/json_tree.h"
#include "lab/devices/devices.h"
#include "lab/passes/validate.h"
#include "lab/verdict/agreement.h"
#include "lab/shards/shards.h"

static void show_progress(void *user, int64_t done, int64_t total, const char *text) {
  hsc_cli *cli = user;
  if (cli->talk_is_terminal || done == 0)
    hsc_cli_progress_of(cli, done, total, hsc_arena_printf(cli->arena, "stages, now %s", text));
}

// The largest bound of the stages that are of this verdict for this reason; NaN: there is none.
// Negative: none of them has a bound.
static double stages_decided(json_t *result, const char *verdict, const char *decided_by) {
  json_t *stage;
  size_t i;
  double most = NAN;
  json_array_foreach (json_object_get(result, "stages"), i, stage)
    if (!strcmp(hsc_json_text_or_empty(stage, "verdict"), verdict) &&
        !strcmp(hsc_json_text_or_empty(stage, "decided_by"), decided_by))
      most = fmax(fmax(most, -1), hsc_json_number(json_object_get(stage, "bound")));
  return most;
}

// What the words of the column mean here, by what decided.
static void note_measures(hsc_table *table, json_t *result) {
  const json_t *bounds = json_object_get(result, "bounds");
  double bound = stages_decided(result, "rounding", "bound");
  const char *denormals = json_is_true(json_object_get(bounds, "denormals"))
                              ? ", or denormal numbers taken for zero (XLA's devices do so, "
                                "StableHLO does not),"
                              : "";
  char of_size[32] = "anything";
  if (bound >= 0)
    snprintf(of_size, sizeof of_size, "up to %.3g", bound);
  if (!isnan(bound))
    hsc_table_note(table,
                   "rounding: beyond what the outputs' types allow, and within what another legal "
                   "order of the program's operations%s may make of them (%s)",
                   denormals, of_size);
  if (!isnan(stages_decided(result, "rounding", "measured")))
    hsc_table_note(
        table,
        "rounding: beyond what the outputs' types allow, and no more than a last place of the "
        "inputs moves them (%.2g)",
        hsc_json_number(json_object_get(json_object_get(result, "rounding"), "max_abs")));
  if (!isnan(stages_decided(result, "rounding", "evaluator")))
    hsc_table_note(table,
                   "rounding of %s, which ran the stages: the evaluator finds the same "
                   "outputs before and after them",
                   hsc_json_text(result, "runner"));
  bound = stages_decided(result, "different", "bound");
  if (!isnan(bound))
    hsc_table_note(table,
                   "different: beyond what any legal order of the program's operations may make "
                   "of them (bound %.3g)",
                   fmax(bound, 0));
  if (!isnan(stages_decided(result, "different", "measured")) && hsc_json_text(bounds, "reason"))
    hsc_table_note(table,
                   "different: beyond what the outputs' types allow and a last place of the inputs "
                   "moves; how far legal rounding may carry is not known: %.200s",
                   hsc_json_text(bounds, "reason"));
}

// What is known of the code after the last stage.
static void note_executable(hsc_table *table, json_t *result) {
  const json_t *coverage = json_object_get(result, "coverage");
  const char *final_text = hsc_json_text(coverage, "final_executable");
  if (hsc_json_text(coverage, "final_executable_reason"))
    return;  // the headline says it
  if (!strcmp(final_text, "not_run"))
    hsc_table_note(table, "the executable after the last stage was not compared");
  else
    hsc_table_note(table, "the executable, as %s computes it: %s", hsc_json_text(result, "device"),
                   final_text);
}

// What the stages were held against: the program as it was written, or where nothing else could run
// it, the first stage that could be run.
static const char *anchor_text(const json_t *result) {
  const char *against = hsc_json_text(result, "against");
  if (!against)
    return "";
  return strcmp(against, "program") ? ", against the first of them that could be run"
                                    : ", against the program as it was written";
}

// The device differs from what its own HLO computes.
static void note_below(hsc_table *table, json_t *result, json_t *first) {
  if (json_is_true(json_object_get(first, "below_hlo")))
    hsc_table_note(table,
                   "%s computes other numbers than its own last HLO stage: the fault lies below "
                   "HLO, in code generation, and in none of the passes",
                   hsc_json_text(result, "device"));
  else
    hsc_table_note(table,
                   "%s computes other numbers than the last stage that was compared: below HLO, or "
                   "in a stage after it",
                   hsc_json_text(result, "device"));
  if (hsc_json_text(first, "unconfirmed"))
    hsc_table_note(table, "%s", hsc_json_text(first, "unconfirmed"));
}

static hsc_status *print_result(hsc_cli *cli, json_t *result) {
  static const char *const columns[] = {"run",     "pipeline", "pass",    "numbers",
                                        "max abs", "max ulp",  "lowered", "not run because"};
  hsc_table *table = NULL;
  json_t *stage;
  json_t *first = json_object_get(result, "first");
  size_t i;
  hsc_cli_paragraph(cli, "%s\n\n", hsc_json_text(result, "headline"));
  HSC_TRY(hsc_table_create("validate", &table));
  for (size_t c = 0; c < HSC_COUNT_OF(columns); c++)
    hsc_table_column(table, columns[c], "");
  json_array_foreach (json_object_get(result, "stages"), i, stage) {
    json_t *run = json_object_get(stage, "run");
    double max_abs = hsc_json_number(json_object_get(stage, "max_abs"));
    const char *skipped = hsc_json_text(stage, "skipped");
    hsc_table_row(table);
    if (json_is_integer(run))
      hsc_table_int(table, json_integer_value(run));
    else
      hsc_table_missing(table);
    hsc_table_text(table, hsc_json_text(stage, "pipeline"));
    hsc_table_text(table, hsc_json_text(stage, "pass"));
    hsc_table_text(table, hsc_json_text(stage, "verdict"));
    if (isnan(max_abs))
      hsc_table_missing(table);
    else
      hsc_table_printf(table, "%.3g", max_abs);
    if (json_is_integer(json_object_get(stage, "max_ulp")))
      hsc_table_int(table, json_integer_value(json_object_get(stage, "max_ulp")));
    else
      hsc_table_missing(table);
    hsc_table_int(table, json_integer_value(json_object_get(stage, "lowered")));
    if (skipped)
      hsc_table_printf(table, "%.100s", skipped);
    else
      hsc_table_missing(table);
  }
  const char *file = json_string_value(hsc_json_path(result, "coverage", "inputs", "file", NULL));
  char of_inputs[200];
  if (file)
    snprintf(of_inputs, sizeof of_inputs, "the inputs of %.160s", file);
  else
    snprintf(of_inputs, sizeof of_inputs, "the inputs of seed %lld",
             (long long)json_integer_value(json_object_get(result, "seed")));
  hsc_table_note(table, "stages of %s, run on %s on %s%s", hsc_json_text(result, "device"),
                 hsc_json_text(result, "runner"), of_inputs, anchor_text(result));
  note_executable(table, result);
  note_measures(table, result);
  json_t *jump;
  json_array_foreach (json_object_get(result, "jumps"), i, jump) {
    if (i == 0 && json_is_object(first) &&
        json_equal(json_object_get(jump, "run"), json_object_get(first, "run")))
      continue;
    hsc_table_note(
        table, "they move %s after run %lld, %s: by %.3g, before it %.3g (%s)",
        i ? "further" : "first", (long long)json_integer_value(json_object_get(jump, "run")),
        hsc_json_text(jump, "pass"), hsc_json_number(json_object_get(jump, "max_abs")),
        hsc_json_number(json_object_get(jump, "max_abs_before")), hsc_json_text(jump, "verdict"));
  }
  if (json_is_object(first)) {
    json_t *instruction = json_object_get(first, "instruction");
    if (json_is_integer(json_object_get(first, "run")))
      hsc_table_note(table, "the numbers are others after run %lld, %s (pipeline %s)",
                     (long long)json_integer_value(json_object_get(first, "run")),
                     hsc_json_text(first, "pass"), hsc_json_text(first, "pipeline"));
    else if (json_is_true(json_object_get(first, "front_end")))
      hsc_table_note(
          table,
          "before its first pass %s holds a program with other numbers than the one that "
          "was written: the fault lies in reading it, before the passes",
          hsc_json_text(result, "device"));
    else
      note_below(table, result, first);
    if (json_is_null(json_object_get(first, "run")) &&
        !json_is_true(json_object_get(first, "front_end")))
      return hsc_cli_table(cli, table);
    if (json_is_object(instruction))
      hsc_table_note(table, "first in %s: element %lld was %.9g, is %.9g",
                     hsc_json_text(instruction, "text"),
                     (long long)json_integer_value(json_object_get(instruction, "element")),
                     hsc_json_number(json_object_get(instruction, "value_before")),
                     hsc_json_number(json_object_get(instruction, "value_after")));
    else if (hsc_json_text(first, "instruction_unknown"))
      hsc_table_note(table, "which instruction cannot be said: %s",
                     hsc_json_text(first, "instruction_unknown"));
  }
  return hsc_cli_table(cli, table);
}

// Our own compiler is held against the evaluator: what it ran its stages on would be wrong with it.
// *out_second: where the evaluator is too slow for the program; its text is NULL where there is
// none.
static hsc_status *choose_runner(const passes_args *args,
                                 hsc_cli *cli,
                                 const hsc_device_spec *device,
                                 hsc_device_spec *out_runner,
                                 hsc_device_spec *out_second) {
  *out_second = (hsc_device_spec){0};
  if (args->runner)
    return hsc_device_spec_parse(args->runner, cli->arena, out_runner);
  if (device->source != HSC_DEVICE_BUILT_IN)
    return hsc_device_spec_parse("cpu", cli->arena, out_runner);
  hsc_status *missing = hsc_device_spec_parse("xla-cpu", cli->arena, out_second);
  if (missing)
    *out_second = (hsc_device_spec){0};
  hsc_status_free(missing);
  return hsc_device_spec_parse("reference", cli->arena, out_runner);
}

hsc_status *hsc__passes_validate(const passes_args *args, hsc_cli *cli) {
  hsc_device_spec device;
  hsc_device_spec runner;
  hsc_device_spec second;
  json_t *overrides = NULL;
  json_t *result = NULL;
  hsc_given_inputs inputs = {0};
  hsc_status *status = NULL;
  if (!(args->tolerance > 0))
    return hsc_cli_usage(cli, "--tolerance must be above 0");
  HSC_TRY(hsc__passes_device(args, cli, &device));
  HSC_TRY(choose_runner(args, cli, &device, &runner, &second));
  if (runner.topology)
    return hsc_cli_usage(cli, "%s compiles only; --runner takes a device that runs programs",
                         runner.text);
  HSC_TRY(hsc__passes_check_disabled(args, cli, &device));
  HSC_GOTO(hsc__passes_overrides(args, cli, true, &overrides));
  HSC_GOTO(
      hsc_given_inputs_read(&(hsc_given_inputs_options){.file = args->inputs,
                                                        .program = args->program,
                                                        .transforms = args->transforms.items,
                                                        .transform_count = args->transforms.count},
                            &inputs));
  hsc_validate_options o = {.program = args->program,
                            .transforms = args->transforms.items,
                            .transform_count = args->transforms.count,
                            .device = &device,
                            .runner = &runner,
                            .second_runner = second.text ? &second : NULL,
                            .overrides = overrides,
                            .disable = args->disable,
                            .seed = (uint64_t)args->seed,
                            .data = inputs.data,
                            .inputs_file = args->inputs,
                            .tolerance = args->tolerance,
                            .limit_ns = (int64_t)(args->limit_s * 1e9),
                            .progress = show_progress,
                            .user = cli,
                            .stop = &hsc_cli_stop};
  HSC_GOTO(hsc_shards_error(hsc_validate(&o, &result), o.program));
  // for reports: how to make it again
  json_object_set_new(result, "command", json_string(cli->command_line));
  HSC_GOTO(cli->format == HSC_FORMAT_JSON ? hsc_cli_document(cli, result)
                                          : print_result(cli, result));
  cli->exit_code = hsc_agreement_exit_code_of(hsc_json_text(result, "verdict"));
done:
  json_decref(overrides);
  json_decref(result);
  hsc_given_inputs_deinit(&inputs);
  return status;
}
