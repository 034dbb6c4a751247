// cmd_reduce.c - hloscope reduce: the smallest program that still shows a symptom.
#include <unistd.h>

#include "base/files/file_io.h"
#include "base/text/text.h"
#include "cli/document.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "lab/reduce/reduction.h"
#include "lab/reduce/reduction_files.h"
#include "lab/run/given_inputs.h"
#include "lab/run/json_tree.h"
#include "worker/lab_compile.h"

typedef struct reduce_args {
  const char *program, *device, *against, *symptom, *command, *output, *inputs;
  hsc_list overrides;
  int64_t seed, jobs, memory_mib;
  double limit_s, budget_s;
  bool keep_sizes, fresh;
} reduce_args;

static const hsc_option options[] = {
    HSC_POSITIONAL(reduce_args, program, "PROGRAM", HSC_REQUIRED, "HLO, StableHLO, gzipped too"),
    HSC_OPTION_STRING(reduce_args,
                      symptom,
                      "symptom|s",
                      "SYMPTOM",
                      "wrong",
                      "symptom that must remain: wrong, crash, error, hang, slow[:FACTOR], "
                      "compile[:FACTOR], memory[:FACTOR], fires:PASS, unfused[:OP]"),
    HSC_OPTION_STRING(reduce_args,
                      device,
                      "device|d",
                      "DEVICE",
                      NULL,
                      "device to run on; default: $HLOSCOPE_DEVICE, else cpu"),
    HSC_OPTION_STRING(reduce_args,
                      command,
                      "while",
                      "COMMAND",
                      NULL,
                      "instead of a symptom: a shell command; {} and $HLOSCOPE_CANDIDATE are the "
                      "candidate's file; exit code 0: the problem remains"),
    HSC_OPTION_STRING(
        reduce_args,
        against,
        "against",
        "DEVICE",
        "reference",
        "device with the right numbers, time or memory; needed for slow, compile and memory"),
    HSC_OPTION_STRING(reduce_args,
                      output,
                      "output|o",
                      "FILE",
                      NULL,
                      "FILE.hlo, FILE.mlir and FILE.py; default: PROGRAM's name with -reduced"),
    HSC_OPTION_LIST(reduce_args,
                    overrides,
                    "option",
                    "NAME=VALUE",
                    NULL,
                    "an XLA compile option; may be repeated"),
    HSC_OPTION_INPUTS(reduce_args, inputs),
    HSC_OPTION_INT(reduce_args, seed, "seed", "N", 0, "seed for the generated inputs"),
    HSC_OPTION_INT(
        reduce_args, jobs, "jobs|j", "N", 0, "candidates tried in parallel; 0: one per processor"),
    HSC_OPTION_DOUBLE(reduce_args,
                      limit_s,
                      "limit",
                      "S",
                      60,
                      "time limit of a candidate, in seconds; longer is a hang"),
    HSC_OPTION_DOUBLE(reduce_args,
                      budget_s,
                      "time-budget",
                      "S",
                      600,
                      "time limit of the whole reduction, in seconds; the smallest program so far "
                      "is written; 0: no limit"),
    HSC_OPTION_INT(
        reduce_args, memory_mib, "memory-limit", "MIB", 0, "memory limit of a candidate; 0: none"),
    HSC_OPTION_FLAG(
        reduce_args, keep_sizes, "keep-sizes", "leave dimensions and types as they are"),
    HSC_OPTION_FLAG(
        reduce_args, fresh, "fresh", "start anew, ignoring what an interrupted run found"),
    HSC_OPTION_END,
};

static void show_progress(void *user, int64_t steps, int64_t instructions, const char *rule) {
  hsc_cli_progress(user, "step %lld: %lld instructions (%s)", (long long)steps,
                   (long long)instructions, rule);
}

// PROGRAM without directory and format, "-reduced" after it; or what -o says without its format.
static const char *base_name(const reduce_args *args, hsc_arena *arena) {
  static const char *const endings[] = {".gz", ".hlo", ".mlir", ".pb", ".txt", ".py", ".mlirbc"};
  char *base = hsc_arena_strdup(arena, args->output ? args->output : hsc_path_file(args->program));
  for (size_t i = 0; base && i < HSC_COUNT_OF(endings); i++) {
    size_t length = strlen(base);
    size_t ending = strlen(endings[i]);
    if (length > ending && !strcmp(base + length - ending, endings[i]))
      base[length - ending] = 0;
  }
  return args->output ? base : hsc_arena_printf(arena, "%s-reduced", base);
}

static long long integer_of(json_t *object, const char *key) {
  return (long long)json_integer_value(json_object_get(object, key));
}

// A symptom that comes and goes, and a smallest program that did not show it afresh.
static void print_doubts(hsc_cli *cli, json_t *document) {
  json_t *rate = json_object_get(document, "rate");
  json_t *back = json_object_get(document, "fell_back");
  if (rate)
    hsc_cli_paragraph(cli,
                      "it comes and goes: the whole shows it in %lld of %lld looks; every "
                      "candidate was looked at up to %lld times\n\n",
                      integer_of(rate, "shows"), integer_of(rate, "looks"),
                      integer_of(rate, "repeats"));
  if (json_is_true(json_object_get(back, "found")))
    hsc_cli_paragraph(cli,
                      "the smallest, of %lld instructions, did not show it afresh (%s): this is "
                      "the smallest step before it, of those tried, that does in every form\n\n",
                      integer_of(back, "instructions"), hsc_json_text(back, "forms"));
  else if (back)
    hsc_cli_paragraph(cli,
                      "it does not show afresh (%s), nor does any step before it that was "
                      "tried in every form\n\n",
                      hsc_json_text(back, "forms"));
}

static hsc_status *print_result(hsc_cli *cli, const hsc_reduction *reduction, json_t *document) {
  hsc_bytes text = {0};
  hsc_module_print(reduction->module, &(hsc_print_options){.no_metadata = true}, &text);
  hsc_cli_print(cli, "%lld %s of %lld still %s it: %s\n", (long long)reduction->instructions_after,
                hsc_plural((double)reduction->instructions_after, "instruction", "instructions"),
                (long long)reduction->instructions_before,
                hsc_plural((double)reduction->instructions_after, "shows", "show"),
                reduction->after.text ? reduction->after.text : "");
  hsc_cli_print(cli, "%lld %s, %lld looks, %.1f s%s\n\n", (long long)reduction->steps,
                hsc_plural((double)reduction->steps, "step", "steps"), (long long)reduction->looks,
                reduction->seconds, reduction->complete ? "" : "; the time budget ended it");
  print_doubts(cli, document);
  hsc_cli_print(cli, "%s\n", hsc_bytes_text(&text));
  json_t *form;
  const char *key;
  json_object_foreach (json_object_get(document, "runs"), key, form)
    hsc_cli_print(cli, "%-10s %s: %s\n", key, json_string_value(json_object_get(form, "file")),
                  json_string_value(json_object_get(form, "seen")));
  hsc_status *status = hsc_bytes_status(&text);
  hsc_bytes_deinit(&text);
  return status;
}

static hsc_status *read_args(const reduce_args *args, hsc_cli *cli, hsc_reduction_options *o) {
  bool needs_device = args->against == NULL || strcmp(args->against, "reference") == 0;
  hsc_device_spec *device = HSC_NEW(cli->arena, hsc_device_spec);
  hsc_device_spec *against = HSC_NEW(cli->arena, hsc_device_spec);
  HSC_TRY(hsc_arena_status(cli->arena));
  if (!(args->limit_s > 0) || args->budget_s < 0 || args->jobs < 0 || args->memory_mib < 0)
    return hsc_cli_usage(cli, "--limit must be above 0, other numbers not below 0");
  if (args->command) {
    o->symptom =
        (hsc_symptom){.kind = HSC_SYMPTOM_COMMAND, .text = "command", .command = args->command};
  } else {
    HSC_TRY(hsc_symptom_parse(args->symptom, cli->arena, &o->symptom));
    HSC_TRY(hsc_device_spec_parse(args->device ? args->device : hsc_default_device(), cli->arena,
                                  device));
    o->observer.device = device;
    if (device->topology &&
        (o->symptom.kind == HSC_SYMPTOM_WRONG || o->symptom.kind == HSC_SYMPTOM_SLOW))
      return hsc_cli_usage(cli, "%s only compiles; symptom '%s' takes a device that runs programs",
                           device->text, o->symptom.text);
  }
  bool measures = o->symptom.kind == HSC_SYMPTOM_SLOW || o->symptom.kind == HSC_SYMPTOM_COMPILE ||
                  o->symptom.kind == HSC_SYMPTOM_MEMORY;
  if (measures && needs_device)
    return hsc_cli_usage(cli, "symptom '%s' compares two devices: name the other with --against",
                         o->symptom.text);
  if (!needs_device) {
    HSC_TRY(hsc_device_spec_parse(args->against, cli->arena, against));
    o->observer.reference = against;
  }
  return NULL;
}

static hsc_status *run(const void *args_of_command, hsc_cli *cli) {
  const reduce_args *args = args_of_command;
  hsc_reduction_options o = {.program = args->program,
                             .budget_s = args->budget_s,
                             .keep_sizes = args->keep_sizes,
                             .fresh = args->fresh,
                             .candidate_format = HSC_FORMAT_HLO_TEXT,
                             .command = cli->command_line,
                             .progress = show_progress,
                             .user = cli};
  hsc_reduction reduction = {0};
  hsc_device_spec substitute = {0};
  hsc_given_inputs inputs = {0};
  json_t *overrides = NULL;
  json_t *document = NULL;
  hsc_status *status = NULL;
  HSC_TRY(hsc_cli_program_file(cli, &args->program));
  HSC_TRY(read_args(args, cli, &o));
  HSC_TRY(hsc_overrides_parse(args->overrides.items, args->overrides.count, &overrides));
  o.jobs = args->jobs ? (int)args->jobs : (int)sysconf(_SC_NPROCESSORS_ONLN);
  o.observer.overrides = overrides;
  o.observer.seed = (uint64_t)args->seed;
  o.observer.limit_ns = (int64_t)(args->limit_s * 1e9);
  o.observer.memory_limit_bytes = (size_t)args->memory_mib << 20;
  o.observer.stop = &hsc_cli_stop;
  if (o.observer.device && !o.observer.reference) {  // large programs: the evaluator is slow
    bool built_in = o.observer.device->source == HSC_DEVICE_BUILT_IN;
    hsc_status *none = hsc_device_spec_parse(built_in ? "xla-cpu" : "cpu", cli->arena, &substitute);
    o.observer.substitute = none ? NULL : &substitute;
    o.observer.reference_limit_ns = none ? o.observer.limit_ns : 3 * HSC_SECOND_NS;
    hsc_status_free(none);
  }
  if (hsc_ends_with(args->program, ".mlir") && args->command)
    o.candidate_format = HSC_FORMAT_MLIR_TEXT;
  HSC_GOTO(hsc_given_inputs_read(
      &(hsc_given_inputs_options){.file = args->inputs, .program = args->program}, &inputs));
  o.data = inputs.data;
  HSC_GOTO(hsc_cli_store_open(cli, NULL, (hsc_store **)&o.store));
  hsc_cli_catch_interrupt();
  HSC_GOTO(hsc_reduce_program(&o, &reduction));
  HSC_GOTO(hsc_reduction_write(&o, &reduction, base_name(args, cli->arena), &document));
  HSC_GOTO(hsc_task_table_end(&reduction.tasks, NULL, false, document));
  if (cli->format == HSC_FORMAT_JSON) {
    HSC_GOTO(hsc_cli_document(cli, document));
  } else {
    HSC_GOTO(print_result(cli, &reduction, document));
  }
  if (!json_is_true(json_object_get(document, "verified")))
    cli->exit_code = 1;
done:
  json_decref(overrides);
  json_decref(document);
  hsc_reduction_deinit(&reduction);
  hsc_given_inputs_deinit(&inputs);
  hsc_store_close(o.store);
  return status;
}

const hsc_command_body hsc_command_reduce = {
    .options = options,
    .args_bytes = sizeof(reduce_args),
    .run = run,
    .description =
        "Makes a program smaller as long as it still shows what is wrong with it: cuts its end and "
        "beginning, its results and loops, replaces\n"
        "instructions by parameters, constants and operands, inlines calls, shrinks dimensions. "
        "Every candidate is compiled and run in a worker process;\n"
        "one that crashes or hangs takes nothing with it. If interrupted, the same command "
        "continues where it stopped.",
    .examples =
        "hloscope reduce model.hlo -d xla-cpu\n"
        "hloscope reduce model.hlo -d cuda:h100 --symptom crash -o small.hlo\n"
        "hloscope reduce model.mlir --while 'my-compiler {} 2>&1 | grep -q \"Check failed\"'",
};
