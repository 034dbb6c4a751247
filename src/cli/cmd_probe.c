// cmd_probe.c - hloscope probe: stages of growing size, up to the first that fails, and what is
// known about the failure.
#include "cli/document.h"
#include "cli/command.h"
#include "cli/probe_growth.h"
#include "cli/sized_program.h"
#include "doctor/explain.h"
#include "lab/run/json_tree.h"
#include "lab/run/run_counts.h"
#include "worker/lab_compile.h"
#include "lab/devices/devices.h"
#include "lab/probe/growth.h"
#include "lab/probe/probe.h"

typedef struct probe_args {
  const char *device, *keep, *sizes;
  hsc_list programs, overrides;
  double limit_s, precision, budget_s;
  int64_t memory_mib, rounds;
  bool all, exponent;
} probe_args;

static const hsc_option options[] = {
    HSC_POSITIONAL_REST(probe_args,
                        programs,
                        "PROGRAM",
                        HSC_OPTIONAL,
                        "program to reduce by batch, loop trips and outputs; default: a ladder of "
                        "nested-vmap patch models; with --exponent, one program in several sizes"),
    HSC_OPTION_FLAG(probe_args,
                    exponent,
                    "exponent",
                    "how run time, compile time, memory, flops and bytes grow with a size, and "
                    "which operator and pass make it"),
    HSC_OPTION_STRING(
        probe_args,
        sizes,
        "sizes",
        "SIZES",
        NULL,
        "with --exponent: A,B,C the size of each file; N=A,B,C for one file, in "
        "which the number N is the size and is replaced; N may also be a dimension of "
        "a parameter: x.0, 1.0, or a symbolic dimension, b=8,16,32"),
    HSC_OPTION_INT_FROM(probe_args,
                        rounds,
                        "rounds",
                        "N",
                        3,
                        5,
                        "with --exponent: measurements of each size, in turns"),
    HSC_OPTION_STRING(probe_args,
                      device,
                      "device|d",
                      "DEVICE",
                      NULL,
                      "device to run on; default: $HLOSCOPE_DEVICE, else cpu"),
    HSC_OPTION_LIST(probe_args,
                    overrides,
                    "option",
                    "NAME=VALUE",
                    NULL,
                    "an XLA compile option; may be repeated"),
    HSC_OPTION_DOUBLE(probe_args, limit_s, "limit", "S", 120, "time limit of a stage, in seconds"),
    HSC_OPTION_DOUBLE(
        probe_args,
        precision,
        "precision",
        "PERCENT",
        2,
        "time a stage's run until the median is known to within this, either way; 0: never"),
    HSC_OPTION_DOUBLE(probe_args,
                      budget_s,
                      "time-budget",
                      "S",
                      0.1,
                      "time limit of timing a stage, in seconds; 0: no limit"),
    HSC_OPTION_INT(
        probe_args, memory_mib, "memory-limit", "MIB", 0, "memory limit of a stage; 0: no limit"),
    HSC_OPTION_FLAG(probe_args, all, "all|a", "continue after the first failure"),
    HSC_OPTION_STRING(probe_args, keep, "keep", "DIR", NULL, "write the stages' programs to DIR"),
    HSC_OPTION_END,
};

static void say_stage(void *user, const char *name, const char *shape) {
  hsc_cli_progress(user, "stage %s, largest value %s", name, shape ? shape : "?");
}

// What the knowledge base says about a failed stage's message and last words.
static hsc_status *explain_failure(json_t *stage,
                                   hsc_knowledge **kb,
                                   hsc_bytes *out_advice,
                                   const hsc_text_style *style,
                                   json_t *ids) {
  const char *message = json_string_value(json_object_get(stage, "message"));
  const char *words = json_string_value(json_object_get(stage, "last_words"));
  if (!message && !words)
    return NULL;
  if (!*kb) {
    hsc_status *status = hsc_knowledge_load(NULL, kb);
    hsc_status_free(status);  // without a knowledge base there is no advice
    if (!*kb)
      return NULL;
  }
  hsc_log_reader *reader = NULL;
  HSC_TRY(hsc_log_reader_create(*kb, NULL, &reader));
  hsc_status *status = message ? hsc_log_reader_feed(reader, message, strlen(message)) : NULL;
  if (!status)
    status = hsc_log_reader_feed(reader, "\n", 1);
  if (!status && words)
    status = hsc_log_reader_feed(reader, words, strlen(words));
  if (!status)
    status = hsc_log_reader_finish(reader);
  const hsc_log_report *report = hsc_log_reader_report(reader);
  for (size_t i = 0; i < report->finding_count && !status; i++) {
    const hsc_entry *entry = report->findings[i]->entry;
    if (entry->by_text || entry->severity == HSC_SEVERITY_INFO)
      continue;
    json_array_append_new(ids, json_string(entry->id));
    hsc_bytes_printf(out_advice, "%s [%s]\n", entry->title, entry->id);
    hsc_entry_advice(entry, style, out_advice);
  }
  hsc_log_reader_destroy(reader);
  return status;
}

static void cut_text(json_t *cut, const char *key, const char *name, hsc_bytes *out) {
  json_t *pair = json_object_get(cut, key);
  if (!json_is_array(pair))
    return;
  hsc_bytes_printf(out, "%s%s %lld of %lld", out->size ? ", " : "", name,
                   (long long)json_integer_value(json_array_get(pair, 1)),
                   (long long)json_integer_value(json_array_get(pair, 0)));
}

static bool was_run(const json_t *result) {
  return json_is_true(json_object_get(result, "ran"));
}

// "every stage works on cpu", or the first that fails and why.
static void say_answer(json_t *result, hsc_cli *cli) {
  json_t *stages = json_object_get(result, "stages");
  json_t *stage;
  size_t i;
  json_array_foreach (stages, i, stage) {
    if (!strcmp(json_string_value(json_object_get(stage, "status")), "ok"))
      continue;
    const char *message = json_string_value(json_object_get(stage, "message"));
    if (!message)
      message = json_string_value(json_object_get(stage, "status"));
    size_t line = strcspn(message, "\n");
    hsc_cli_paragraph(cli, "%zu of %zu stages work on %s; stage %s fails: %.*s\n", i,
                      json_array_size(stages), json_string_value(json_object_get(result, "device")),
                      json_string_value(json_object_get(stage, "stage")), (int)line, message);
    hsc_cli_print(cli, "%s\n\n", message + line + (message[line] == '\n'));
    return;
  }
  const char *device = json_string_value(json_object_get(result, "device"));
  if (was_run(result))
    hsc_cli_paragraph(cli, "every stage works on %s\n\n", device);
  else
    hsc_cli_paragraph(
        cli, "every stage compiles for %s; none was run: the device only compiles here\n\n",
        device);
}

static hsc_status *print_text(json_t *result, hsc_bytes *advice, hsc_cli *cli) {
  hsc_table *table = NULL;
  say_answer(result, cli);
  HSC_TRY(hsc_table_create("probe", &table));
  static const char *const columns[][2] = {
      {"stage", ""},       {"status", ""},       {"time", "s"},      {"compile", "s"}, {"run", "s"},
      {"memory", "bytes"}, {"instructions", ""}, {"flops", "count"}, {"cut", ""}};
  for (size_t i = 0; i < HSC_COUNT_OF(columns); i++)
    hsc_table_column(table, columns[i][0], columns[i][1]);
  json_t *stage;
  json_t *line;
  json_t *list = json_object_get(result, "stages");
  size_t i;
  json_array_foreach (list, i, stage) {
    hsc_bytes cut = {0};
    cut_text(json_object_get(stage, "cut"), "batch", "batch", &cut);
    cut_text(json_object_get(stage, "cut"), "trips", "trips", &cut);
    cut_text(json_object_get(stage, "cut"), "outputs", "outputs", &cut);
    hsc_table_row(table);
    hsc_table_text(table, json_string_value(json_object_get(stage, "stage")));
    hsc_table_text(table, json_string_value(json_object_get(stage, "status")));
    hsc_table_double(table, hsc_json_number(json_object_get(stage, "seconds")));
    hsc_table_double(table, hsc_json_number(json_object_get(stage, "compile_seconds")));
    hsc_table_double(table, hsc_json_number(hsc_json_path(stage, "run_seconds", "median", NULL)));
    hsc_table_double(table, hsc_json_number(json_object_get(stage, "peak_bytes")));
    hsc_table_int(table, json_integer_value(hsc_json_path(stage, "program", "instructions", NULL)));
    hsc_table_double(table, hsc_json_number(hsc_json_path(stage, "program", "flops", NULL)));
    hsc_table_text(table, cut.size ? hsc_bytes_text(&cut) : "");
    hsc_bytes_deinit(&cut);
    hsc_bytes uncounted = {0};
    if (hsc_say_uncounted(json_object_get(stage, "program"), &uncounted))
      hsc_table_note(table, "%s: %s", json_string_value(json_object_get(stage, "stage")),
                     hsc_bytes_text(&uncounted));
    hsc_bytes_deinit(&uncounted);
    const char *refused = json_string_value(hsc_json_path(stage, "cut", "refused", NULL));
    if (refused)
      hsc_table_note(table, "%s: the batch was not cut: %.200s",
                     json_string_value(json_object_get(stage, "stage")), refused);
  }
  json_array_foreach (json_object_get(result, "difference"), i, line)
    hsc_table_note(table, "differs: %s", json_string_value(line));
  hsc_table_note(table,
                 "run: its median, memory: the most at a time; intervals, processor time: "
                 "--format=json");
  HSC_TRY(hsc_cli_table(cli, table));
  if (advice->size)
    hsc_cli_print(cli, "\n%s", hsc_bytes_text(advice));
  return NULL;
}

static void say_growth(void *user, const char *text) {
  hsc_cli_progress(user, "%s", text);
}

static hsc_status *run_exponent(const probe_args *args, hsc_cli *cli) {
  json_t *overrides = NULL;
  json_t *document = NULL;
  if (!args->programs.count)
    return hsc_cli_usage(cli,
                         "--exponent takes a program: several files of it, or one with "
                         "--sizes N=A,B,C");
  // With names of dimensions in --sizes, growth sizes the program itself.
  bool named = args->sizes && strchr(args->sizes, '=');
  hsc_dim_size *dims = NULL;
  HSC_TRY(hsc_cli_read_sizes(cli, &dims));
  for (size_t i = 0; i < args->programs.count; i++)
    HSC_TRY(named ? hsc_cli_check_readable(cli, &args->programs.items[i])
                  : hsc_cli_program_file(cli, &args->programs.items[i]));
  HSC_TRY(hsc_overrides_parse(args->overrides.items, args->overrides.count, &overrides));
  hsc_growth_options growth = {.programs = args->programs.items,
                               .program_count = args->programs.count,
                               .sizes = args->sizes,
                               .dims = named ? dims : NULL,
                               .dim_count = named ? (int)cli->dims.count : 0,
                               .device = args->device ? args->device : hsc_default_device(),
                               .overrides = overrides,
                               .rounds = (int)args->rounds,
                               .limit_s = args->limit_s,
                               .memory_limit_bytes = (size_t)args->memory_mib << 20,
                               .keep_dir = args->keep,
                               .progress = say_growth,
                               .user = cli};
  hsc_status *status = hsc_growth(&growth, &document);
  if (!status)
    status = cli->format == HSC_FORMAT_JSON ? hsc_cli_document_of_command(cli, document)
                                            : hsc_cli_print_growth(document, cli);
  json_decref(overrides);
  json_decref(document);
  return status;
}

static hsc_status *run(const void *args_of_command, hsc_cli *cli) {
  probe_args own = *(const probe_args *)args_of_command;
  const probe_args *args = &own;
  bool named = args->exponent && args->sizes && strchr(args->sizes, '=');
  if (!named)
    HSC_TRY(hsc_cli_size_programs(cli, options, &own));
  if (!(args->limit_s > 0))
    return hsc_cli_usage(cli, "--limit must be above 0 s");
  if (args->exponent)
    return run_exponent(args, cli);
  if (args->sizes)
    return hsc_cli_usage(cli, "--sizes goes with --exponent");
  if (args->programs.count > 1)
    return hsc_cli_usage(cli,
                         "several programs go with --exponent, which takes them as one "
                         "program in several sizes");
  HSC_TRY(hsc_cli_check_sampling(cli, args->precision, args->budget_s, false));
  json_t *overrides = NULL;
  json_t *result = NULL;
  json_t *stage;
  hsc_knowledge *kb = NULL;
  hsc_bytes advice = {0};
  size_t i;
  HSC_TRY(hsc_overrides_parse(args->overrides.items, args->overrides.count, &overrides));
  hsc_probe_options probe = {.program = args->programs.count ? args->programs.items[0] : NULL,
                             .device = args->device ? args->device : hsc_default_device(),
                             .overrides = overrides,
                             .limit_s = args->limit_s,
                             .half_width = args->precision / 100,
                             .budget_s = args->budget_s,
                             .memory_limit_bytes = (size_t)args->memory_mib << 20,
                             .all = args->all,
                             .keep_dir = args->keep,
                             .on_stage = say_stage,
                             .user = cli};
  hsc_status *status = hsc_probe(&probe, &result);
  if (!status) {
    json_array_foreach (json_object_get(result, "stages"), i, stage) {
      json_t *ids = json_array();
      json_object_set_new(stage, "knowledge", ids);
      if (!status && strcmp(json_string_value(json_object_get(stage, "status")), "ok") != 0)
        status = explain_failure(stage, &kb, &advice, &cli->out_style, ids);
    }
  }
  if (!status && cli->format == HSC_FORMAT_JSON) {
    status = hsc_cli_document_of_command(cli, result);
  } else if (!status) {
    status = print_text(result, &advice, cli);
  }
  // that a program compiles does not tell whether it works
  enum { FAILED = 1, UNTOLD = 3 };
  if (!status && json_is_true(json_object_get(result, "failed")))
    cli->exit_code = FAILED;
  else if (!status && !was_run(result))
    cli->exit_code = UNTOLD;
  hsc_bytes_deinit(&advice);
  hsc_knowledge_destroy(kb);
  json_decref(result);
  json_decref(overrides);
  return status;
}

const hsc_command_body hsc_command_probe = {
    .options = options,
    .sizes_programs = true,
    .args_bytes = sizeof(probe_args),
    .run = run,
    .description =
        "Compiles and runs a program in stages of growing size, each in a process of its own with "
        "a limit of time and memory, and stops at the first\nthat fails: what differs between it "
        "and the last that worked, and what is known about its error. A reduced program computes "
        "different numbers; this is for finding the limits of a compiler. Without PROGRAM: small, "
        "medium, large and full models of image patches under nested vmap. Exit code 1: a stage "
        "failed; 3: the device only compiles here, and none was run.",
    .examples =
        "hloscope probe\nhloscope probe model.hlo --device ./libneuronpjrt.so --limit "
        "600\nhloscope probe model.hlo --keep stages "
        "--format=json\nhloscope probe --exponent n1000.mlir n2000.mlir n4000.mlir\nhloscope "
        "probe --exponent model.hlo --sizes 1000=1000,2000,4000",
};
