// cmd_blame.c - hloscope blame: who is at fault, with the evidence.

#include "base/files/file_io.h"
#include "cli/document.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "lab/blame/blame_capture.h"
#include "lab/blame/blame_journal.h"
#include "lab/blame/blame_report.h"
#include "lab/run/given_inputs.h"
#include "lab/run/json_tree.h"
#include "lab/run/kept_failure.h"
#include "lab/shards/shards.h"
#include "formats/common/formats.h"
#include "transform/redact.h"
#include "worker/lab_compile.h"
#include "worker/scratch.h"

typedef struct blame_args {
  const char *program, *device, *against, *symptom, *output, *inputs;
  hsc_list overrides;
  bool redact, fresh;
  int64_t seed, runs;
  double limit_s, budget_s, reduce_s;
} blame_args;

static const hsc_option options[] = {
    HSC_POSITIONAL(
        blame_args,
        program,
        "PROGRAM",
        HSC_REQUIRED,
        "HLO, StableHLO, gzipped too; or what was kept of a failure: a capture (`hloscope trace`), "
        "its call that failed, or the folder of `hloscope run --keep-failures`"),
    HSC_OPTION_STRING(blame_args,
                      device,
                      "device|d",
                      "DEVICE",
                      NULL,
                      "device under suspicion; default: $HLOSCOPE_DEVICE, else cpu"),
    HSC_OPTION_STRING(blame_args,
                      symptom,
                      "symptom|s",
                      "SYMPTOM",
                      NULL,
                      "wrong, crash, error, hang, slow[:FACTOR], compile[:FACTOR], "
                      "memory[:FACTOR]; default: whichever of the first four shows"),
    HSC_OPTION_STRING(
        blame_args,
        against,
        "against",
        "DEVICE",
        NULL,
        "device with the expected time and memory; needed for slow, compile and memory"),
    HSC_OPTION_LIST(blame_args,
                    overrides,
                    "option",
                    "NAME=VALUE",
                    NULL,
                    "an XLA compile option; may be repeated"),
    HSC_OPTION_INPUTS(blame_args, inputs),
    HSC_OPTION_INT(blame_args, seed, "seed", "N", 0, "seed for the generated inputs"),
    HSC_OPTION_INT(blame_args, runs, "runs", "N", 5, "runs of the device on the same inputs"),
    HSC_OPTION_DOUBLE(blame_args,
                      limit_s,
                      "limit",
                      "S",
                      60,
                      "time limit of a compile and a run, in seconds; longer is a hang"),
    HSC_OPTION_DOUBLE(blame_args,
                      budget_s,
                      "time-budget",
                      "S",
                      600,
                      "time limit of the whole search, in seconds; what was not checked by then is "
                      "listed; 0: no limit"),
    HSC_OPTION_STRING(
        blame_args,
        output,
        "output|o",
        "DIR",
        NULL,
        "write a report to DIR: ISSUE.md (and ISSUE-xla.md) to paste, the evidence, the reduced "
        "program, commands to repeat it, report.zip"),
    HSC_OPTION_FLAG(blame_args,
                    redact,
                    "redact",
                    "blame the program under other names, without source paths and with other "
                    "constants, so that nothing of the report says whose it is"),
    HSC_OPTION_DOUBLE(
        blame_args,
        reduce_s,
        "reduce-budget",
        "S",
        60,
        "time limit for reducing the program of the report, in seconds; 0: do not reduce it"),
    HSC_OPTION_FLAG(
        blame_args, fresh, "fresh", "start anew, ignoring what an interrupted blame was told"),
    HSC_OPTION_END,
};

static void show_progress(void *user, int64_t done, int64_t total, const char *text) {
  hsc_cli *cli = user;
  if (cli->talk_is_terminal || done == 0)
    hsc_cli_progress_of(cli, done, total, text);
}

static hsc_status *print_text(hsc_cli *cli, json_t *document) {
  json_t *row;
  size_t i;
  hsc_cli_paragraph(cli, "%s\n", hsc_json_text(document, "headline"));
  json_t *instruction = json_object_get(document, "instruction");
  if (hsc_json_text(instruction, "text"))
    hsc_cli_print(cli, "first in  %s\n", hsc_json_text(instruction, "text"));
  if (hsc_json_text(document, "source") && *hsc_json_text(document, "source"))
    hsc_cli_print(cli, "from      %s\n", hsc_json_text(document, "source"));
  json_array_foreach (json_object_get(document, "evidence"), i, row) {
    hsc_cli_print(cli, "%s%s\n", i ? "" : "\n", hsc_json_text(row, "question"));
    hsc_cli_beside(cli, "  ", "%s\n", hsc_json_text(row, "answer"));
  }
  if (hsc_json_text(document, "report"))
    hsc_cli_print(cli, "report    %s/ISSUE.md\n", hsc_json_text(document, "report"));
  hsc_cli_beside(cli, "checked   ", "%s\n",
                 hsc_json_text(json_object_get(document, "coverage"), "sentence"));
  return NULL;
}

static bool is_cost(const hsc_symptom *s) {
  return s->kind == HSC_SYMPTOM_SLOW || s->kind == HSC_SYMPTOM_COMPILE ||
         s->kind == HSC_SYMPTOM_MEMORY;
}

// `failed`: the device that is meant where none is named; NULL = the default.
static hsc_status *read_args(const blame_args *args,
                             const char *failed,
                             hsc_cli *cli,
                             hsc_blame_options *o) {
  const char *named = args->device ? args->device : failed;
  hsc_device_spec *device = HSC_NEW(cli->arena, hsc_device_spec);
  hsc_device_spec *against = HSC_NEW(cli->arena, hsc_device_spec);
  hsc_device_spec *substitute = HSC_NEW(cli->arena, hsc_device_spec);
  hsc_symptom *symptom = HSC_NEW(cli->arena, hsc_symptom);
  HSC_TRY(hsc_arena_status(cli->arena));
  if (!(args->limit_s > 0) || args->budget_s < 0 || args->reduce_s < 0 || args->runs < 1 ||
      args->runs > 10000)
    return hsc_cli_usage(
        cli,
        "--limit must be above 0, --time-budget and --reduce-budget not below 0, --runs from 1 "
        "to 10000");
  if (args->symptom) {
    HSC_TRY(hsc_symptom_parse(args->symptom, cli->arena, symptom));
    if (symptom->kind == HSC_SYMPTOM_FIRES || symptom->kind == HSC_SYMPTOM_UNFUSED)
      return hsc_cli_usage(cli,
                           "'%s' is a question for `hloscope reduce`: nobody is at fault for it",
                           args->symptom);
    if (is_cost(symptom) && !args->against)
      return hsc_cli_usage(cli, "symptom '%s' compares two devices: name the other with --against",
                           args->symptom);
    o->symptom = symptom;
  }
  HSC_TRY(hsc_device_spec_parse(named ? named : hsc_default_device(), cli->arena, device));
  if (device->source == HSC_DEVICE_EVALUATOR)
    return hsc_cli_usage(cli, "the reference is right by definition: name another device");
  o->device = device;
  if (args->against) {
    HSC_TRY(hsc_device_spec_parse(args->against, cli->arena, against));
    o->against = against;
  }
  if (device->source == HSC_DEVICE_BUILT_IN)
    return NULL;
  o->substitute = substitute;  // large programs: the evaluator is slow
  return hsc_device_spec_parse("cpu", cli->arena, substitute);
}

static hsc_status *write_report(const blame_args *args,
                                hsc_cli *cli,
                                const hsc_blame_options *o,
                                hsc_store *store,
                                json_t *document) {
  hsc_cli_progress(cli, "the report, with a reduced program");
  hsc_status *status = hsc_blame_report(
      o,
      &(hsc_blame_report_options){.directory = args->output,
                                  .command = args->redact ? NULL : cli->command_line,
                                  .redact = args->redact,
                                  .reduce_s = args->reduce_s,
                                  .store = store},
      document);
  return status;
}

// The journal of the blame. Without one it goes on and keeps nothing: what is asked matters more.
static hsc_status *open_journal(const blame_args *args,
                                hsc_cli *cli,
                                hsc_blame_options *o,
                                hsc_store **out_store) {
  hsc_status *unkept = hsc_store_open(NULL, out_store);
  if (!unkept)
    unkept = hsc_blame_journal_open(o, *out_store, cli->command_line, args->fresh, &o->journal);
  if (!unkept)
    return NULL;
  hsc_cli_say(cli, "what is found is not kept in case of an interruption: %s",
              hsc_status_message(unkept));
  hsc_status_free(unkept);
  return NULL;
}

static hsc_status *close_journal(hsc_cli *cli,
                                 hsc_blame_journal *journal,
                                 hsc_status *status,
                                 json_t *document) {
  if (hsc_blame_journal_problem(journal))
    hsc_cli_say(cli, "not all answers could be kept: %s", hsc_blame_journal_problem(journal));
  return hsc_blame_journal_close(journal, status, document);
}

// What the failing call was given; options of the command line come after it.
static hsc_status *take_options(json_t *kept, json_t *overrides) {
  return kept && json_object_update_missing(overrides, kept) ? hsc_status_out_of_memory() : NULL;
}

// A capture in place of a program: the program of its call that failed, with what was kept of it.
static hsc_status *read_capture(const blame_args *args,
                                hsc_cli *cli,
                                hsc_blame_options *o,
                                json_t *overrides) {
  hsc_failed_call call = {0};
  HSC_TRY(hsc_failed_call_of(args->program, cli->arena, &call));
  o->program = call.program;
  o->data = call.data;
  hsc_cli_say(cli, "%s: %s; %s%s%s", args->program, call.words, call.program,
              call.data ? ", with its inputs" : ", on inputs by the seed",
              call.overrides ? ", with its options" : "");
  hsc_status *status = take_options(call.overrides, overrides);
  json_decref(call.overrides);
  return status;
}

// The folder of a run that went wrong. The device is the one that failed, unless another is named.
static hsc_status *read_kept(const blame_args *args,
                             hsc_cli *cli,
                             const hsc_kept_failure *kept,
                             hsc_blame_options *o,
                             json_t *overrides) {
  o->program = kept->program;
  o->seed = args->seed ? (uint64_t)args->seed : kept->seed;
  hsc_cli_say(cli, "%s: %s: %s; %s%s%s", args->program, kept->device, kept->words, kept->program,
              kept->data ? ", with its inputs" : ", on inputs by the seed",
              kept->overrides ? ", with its options" : "");
  return take_options(kept->overrides, overrides);
}

// What is blamed is the redacted program: nothing that comes after has seen the other.
static hsc_status *redact(hsc_cli *cli, const char *scratch, hsc_blame_options *o) {
  hsc_module *module = NULL;
  hsc_bytes text = {0};
  const char *path = hsc_arena_printf(cli->arena, "%s/redacted.hlo", scratch);
  HSC_TRY(hsc_arena_status(cli->arena));
  HSC_TRY(hsc_program_read_file(o->program, &module));
  hsc_status *status = hsc_module_redact(module, true);
  if (!status) {
    hsc_module_print(module, NULL, &text);
    status = hsc_bytes_status(&text);
  }
  if (!status)
    status = hsc_file_write_atomic(path, text.data, text.size);
  hsc_bytes_deinit(&text);
  hsc_module_destroy(module);
  o->program = path;
  return status;
}

static hsc_status *run(const void *args_of_command, hsc_cli *cli) {
  const blame_args *args = args_of_command;
  bool failure = hsc_is_kept_failure(args->program);
  bool capture = !failure && hsc_is_capture(args->program);
  hsc_kept_failure kept = {0};
  hsc_blame_options o = {.seed = (uint64_t)args->seed,
                         .runs = (int)args->runs,
                         .limit_ns = (int64_t)(args->limit_s * 1e9),
                         .budget_s = args->budget_s,
                         .progress = show_progress,
                         .user = cli,
                         .stop = &hsc_cli_stop};
  json_t *document = NULL;
  json_t *overrides = NULL;
  char *scratch = NULL;
  hsc_store *store = NULL;
  hsc_given_inputs inputs = {0};
  hsc_status *unwritten = NULL;  // why there is no report
  hsc_status *status = NULL;
  if ((capture || failure) && args->inputs)
    return hsc_cli_usage(cli, "--inputs is for a program; what was recorded has its own inputs");
  if (!capture && !failure)
    HSC_TRY(hsc_cli_program_file(cli, &args->program));
  o.program = args->program;
  if (failure)
    HSC_TRY(hsc_failure_read(args->program, cli->arena, &kept));
  o.data = kept.data;
  HSC_GOTO(read_args(args, kept.device, cli, &o));
  HSC_GOTO(hsc_overrides_parse(args->overrides.items, args->overrides.count, &overrides));
  o.overrides = overrides;
  if (capture)
    HSC_GOTO(read_capture(args, cli, &o, overrides));
  if (failure)
    HSC_GOTO(read_kept(args, cli, &kept, &o, overrides));
  if (args->inputs) {
    HSC_GOTO(hsc_given_inputs_read(
        &(hsc_given_inputs_options){.file = args->inputs, .program = args->program}, &inputs));
    o.data = json_incref(inputs.data);
  }
  if (args->redact) {
    HSC_GOTO(hsc_scratch_create(&scratch));
    HSC_GOTO(redact(cli, scratch, &o));
  }
  hsc_cli_catch_interrupt();
  HSC_GOTO(open_journal(args, cli, &o, &store));
  HSC_GOTO(hsc_shards_error(hsc_blame(&o, &document), o.program));
  json_object_set_new(document, "command",
                      args->redact ? json_null() : json_string(cli->command_line));
  if (args->redact)
    json_object_set_new(document, "program", json_string("redacted.hlo"));
  if (args->output)
    unwritten = write_report(args, cli, &o, store, document);
  HSC_GOTO(cli->format == HSC_FORMAT_JSON ? hsc_cli_document(cli, document)
                                          : print_text(cli, document));
  cli->exit_code = hsc_blame_exit_code_of(document);
  status = unwritten;  // a full disk does not take the verdict away
  unwritten = NULL;
done:
  status = close_journal(cli, o.journal, status, document);
  hsc_store_close(store);
  hsc_status_free(unwritten);
  hsc_scratch_destroy(scratch);
  json_decref(overrides);
  json_decref(kept.overrides);
  json_decref(document);
  json_decref(o.data);
  hsc_given_inputs_deinit(&inputs);
  return status;
}

const hsc_command_body hsc_command_blame = {
    .options = options,
    .args_bytes = sizeof(blame_args),
    .run = run,
    .description =
        "Finds what is at fault when a program is wrong, crashes, hangs or is slow on a device: "
        "the program itself, the compiler's front end, one of its passes, code generation below "
        "HLO, or nothing, because rounding explains it. Exit code 0: nothing is; 1: something is; "
        "3: it cannot be determined, or not everything was compared.",
    .examples =
        "hloscope blame model.hlo -d xla-cpu\n"
        "hloscope blame model.hlo -d xla-cpu -o report\n"
        "hloscope blame trace.hsc -d cuda:h100\n"
        "hloscope blame failed\n"
        "hloscope blame model.mlir -d cuda:h100 --symptom crash\n"
        "hloscope blame model.hlo -d cpu --symptom slow:3 --against xla-cpu",
};
