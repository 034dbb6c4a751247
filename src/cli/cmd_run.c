// cmd_run.c - hloscope run: compile, run, time, compare.
#include "cli/command.h"
#include "cli/run_fallback.h"
#include "cli/run_text.h"

#include <unistd.h>

#include "lab/run/given_inputs.h"
#include "lab/run/kept_failure.h"
#include "lab/run/json_tree.h"
#include "worker/lab_compile.h"
#include "lab/run/run.h"
#include "lab/verdict/agreement.h"
#include "lab/devices/devices.h"
#include "worker/worker_client.h"

typedef struct run_args {
  const char *program, *other, *store, *save, *inputs, *failures;
  hsc_list fallback;
  hsc_list devices, compare, transforms, options;
  int64_t seed, runs, processes, jobs, memory_mib;
  double limit_s, precision, budget_s;
  bool no_cache, no_store, all;
} run_args;

static const hsc_option options[] = {
    HSC_POSITIONAL(run_args, program, "PROGRAM", HSC_REQUIRED, "HLO text, plain or compressed"),
    HSC_POSITIONAL(run_args,
                   other,
                   "OTHER",
                   0,
                   "another program: which one is faster, and whether they compute the same"),
    HSC_OPTION_LIST(run_args,
                    devices,
                    "device|d",
                    "DEVICES",
                    NULL,
                    "devices to run on: names or paths of plugins, separated by commas; default: "
                    "$HLOSCOPE_DEVICE, else cpu"),
    HSC_OPTION_LIST(
        run_args,
        fallback,
        "fallback",
        "DEVICES",
        NULL,
        "devices to try in turn when the device fails, with the known remedies for its error"),
    HSC_OPTION_LIST(run_args,
                    compare,
                    "compare|c",
                    "DEVICES",
                    NULL,
                    "also run on these devices with the same inputs, and compare the numbers"),
    HSC_OPTION_INPUTS(run_args, inputs),
    HSC_OPTION_INT(run_args, seed, "seed", "N", 0, "seed for the generated inputs"),
    HSC_OPTION_INT(run_args,
                   runs,
                   "runs",
                   "N",
                   0,
                   "timed runs; 0: as many as --precision needs and --time-budget allows"),
    HSC_OPTION_INT_FROM(run_args,
                        processes,
                        "processes",
                        "N",
                        0,
                        0,
                        "of each device, in turn; 0: 6 where several devices are timed and one "
                        "round takes under 10 s, else 1. Fewer than 6 call no device faster: "
                        "processes of one program differ"),
    HSC_OPTION_DOUBLE(
        run_args,
        precision,
        "precision",
        "PERCENT",
        2,
        "stop the timed runs when the median is known to within this, either way; 0: never"),
    HSC_OPTION_DOUBLE(run_args,
                      budget_s,
                      "time-budget",
                      "S",
                      -1,
                      "seconds for the timed runs of a device; 0: no limit; -1: those of 1000 "
                      "runs, from 0.02 to 0.2, timed in at most 40 groups"),
    HSC_OPTION_LIST(run_args,
                    transforms,
                    "transform",
                    "T",
                    NULL,
                    "repeat:N, vmap:N, scan:N or constant:I=V before compiling; may be repeated"),
    HSC_OPTION_LIST(run_args,
                    options,
                    "option",
                    "NAME=VALUE",
                    NULL,
                    "an XLA compile option, for these compiles only; may be repeated"),
    HSC_OPTION_INT_FROM(
        run_args, jobs, "jobs|j", "N", 1, 1, "compile for up to N devices in parallel"),
    HSC_OPTION_STRING(
        run_args, save, "save-outputs", "DIR", NULL, "write the outputs as files to DIR"),
    HSC_OPTION_STRING(run_args,
                      failures,
                      "keep-failures",
                      "DIR",
                      NULL,
                      "where a device fails or its numbers are others: write the program, its "
                      "inputs and options to DIR, for `hloscope blame DIR`"),
    HSC_OPTION_DOUBLE(
        run_args, limit_s, "limit", "S", 600, "time limit of each step on a device, in seconds"),
    HSC_OPTION_INT(run_args,
                   memory_mib,
                   "memory-limit",
                   "MIB",
                   0,
                   "memory limit of a worker; 0: nine tenths of the machine's memory"),
    HSC_OPTION_FLAG(
        run_args, no_cache, "no-cache", "compile even if the program is in the compile cache"),
    HSC_OPTION_STRING(run_args,
                      store,
                      "store",
                      "FILE",
                      NULL,
                      "the result store; default: results.sqlite in the cache directory"),
    HSC_OPTION_FLAG(run_args, all, "all|a", "every phase, count and output, not the first screen"),
    HSC_OPTION_FLAG(run_args, no_store, "no-store", "do not store the result"),
    HSC_OPTION_END,
};

// 1 where a device failed or numbers differ, 3 where a device does not support the program or the
// numbers could not all be compared.
static int exit_code_of(json_t *result) {
  enum { FAILED = 1, UNSUPPORTED = 3 };
  json_t *device;
  size_t i;
  const char *verdict = json_string_value(json_object_get(result, "verdict"));
  int code = verdict ? hsc_agreement_exit_code_of(verdict) : 0;
  json_array_foreach (json_object_get(result, "devices"), i, device) {
    const char *status = json_string_value(json_object_get(device, "status"));
    if (!strcmp(status, "unsupported"))
      code = code ? code : UNSUPPORTED;
    else if (strcmp(status, "ok") != 0)
      return FAILED;
  }
  return code;
}

// Of two programs both must take them: what they compute is compared.
static hsc_status *read_inputs(const run_args *args, hsc_given_inputs *out_inputs) {
  const char *const programs[] = {args->other, args->program};
  for (size_t i = 0; i < HSC_COUNT_OF(programs); i++) {
    if (!programs[i])
      continue;
    hsc_given_inputs_deinit(out_inputs);
    HSC_TRY(hsc_given_inputs_read(
        &(hsc_given_inputs_options){.file = args->inputs,
                                    .program = programs[i],
                                    .transforms = args->transforms.items,
                                    .transform_count = args->transforms.count},
        out_inputs));
  }
  return NULL;
}

// The folder that `blame` goes on from, where something went wrong. A single device that fails is
// the error of the whole run. A disk that is full does not take the result away.
static void keep_failure(hsc_cli *cli,
                         const char *directory,
                         const hsc_run_options *run,
                         const json_t *result,
                         const hsc_status *failed) {
  const char *words = failed ? hsc_status_message(failed) : NULL;
  const char *device = failed ? run->devices[0] : hsc_failure_find(result, &words);
  if (!device)
    return;
  hsc_status *status = hsc_failure_keep(directory, run, device, words);
  if (status)
    hsc_cli_say(cli, "the failure is not kept: %s", hsc_status_message(status));
  else
    hsc_cli_say(cli, "the failure is kept: hloscope blame %s", directory);
  hsc_status_free(status);
}

// The devices to run on: those of --device, or the default one, then those of --compare; the first
// once more where a second program is given, which is run there.
static hsc_status *choose_devices(const run_args *args,
                                  hsc_cli *cli,
                                  const char *const **out_devices,
                                  size_t *out_count) {
  size_t count = 0;
  size_t most = 2 + args->devices.count + args->compare.count;
  const char **devices = HSC_NEW_ARRAY(cli->arena, const char *, most);
  HSC_TRY(hsc_arena_status(cli->arena));
  for (size_t i = 0; i < args->devices.count; i++)
    devices[count++] = args->devices.items[i];
  if (!count)
    devices[count++] = hsc_default_device();
  for (size_t i = 0; i < args->compare.count; i++)
    devices[count++] = args->compare.items[i];
  if (args->fallback.count && count != 1)
    return hsc_cli_usage(cli, "--fallback goes with one --device and no --compare");
  if (args->other && (count != 1 || args->fallback.count))
    return hsc_cli_usage(cli,
                         "two programs are compared on one --device, without --compare and "
                         "--fallback");
  if (args->other)
    devices[count++] = devices[0];
  *out_devices = devices;
  *out_count = count;
  return NULL;
}

static hsc_status *check(const run_args *args, hsc_cli *cli) {
  if (!(args->limit_s > 0))
    return hsc_cli_usage(cli, "--limit must be above 0 s");
  if (args->other && args->failures)
    return hsc_cli_usage(cli, "--keep-failures goes with one program");
  return hsc_cli_check_sampling(cli, args->precision, args->budget_s == -1 ? 0.2 : args->budget_s,
                                args->runs > 0);
}

static hsc_status *run_and_print(const run_args *args,
                                 hsc_cli *cli,
                                 const hsc_run_options *run_options,
                                 json_t **out_result) {
  hsc_status *status = args->fallback.count
                           ? hsc_run_with_fallback(run_options, &args->fallback, cli, out_result)
                           : hsc_run_program(run_options, out_result);
  if (args->failures)
    keep_failure(cli, args->failures, run_options, *out_result, status);
  HSC_TRY(status);
  // for reports: how to make it again
  json_object_set_new(*out_result, "command", json_string(cli->command_line));
  HSC_TRY(hsc_run_print(cli, *out_result, args->all));
  const char *not_kept = json_string_value(json_object_get(*out_result, "not_kept"));
  if (not_kept)
    hsc_cli_say(cli, "the result is not kept: %s", not_kept);
  cli->exit_code = exit_code_of(*out_result);
  return NULL;
}

static hsc_status *run(const void *args_of_command, hsc_cli *cli) {
  const run_args *args = args_of_command;
  const char *const *devices = NULL;
  size_t device_count = 0;
  HSC_TRY(check(args, cli));
  HSC_TRY(hsc_cli_program_file(cli, &args->program));
  HSC_TRY(choose_devices(args, cli, &devices, &device_count));
  HSC_TRY(hsc_cli_program_file(cli, &args->other));
  const char *programs[] = {args->program, args->other};
  hsc_store *store = NULL;
  json_t *result = NULL;
  json_t *overrides = NULL;
  hsc_given_inputs inputs = {0};
  hsc_status *status = NULL;
  HSC_GOTO(hsc_overrides_parse(args->options.items, args->options.count, &overrides));
  HSC_GOTO(read_inputs(args, &inputs));
  if (!args->no_store)
    HSC_GOTO(hsc_cli_store_open(cli, args->store, &store));
  hsc_run_options run_options = {.program = args->program,
                                 .transforms = args->transforms.items,
                                 .transform_count = args->transforms.count,
                                 .devices = devices,
                                 .device_count = device_count,
                                 .overrides = json_object_size(overrides) ? overrides : NULL,
                                 .memory_limit_bytes = (size_t)args->memory_mib << 20,
                                 .job_count = (int)(args->jobs < 64 ? args->jobs : 64),
                                 .programs = args->other ? programs : NULL,
                                 .compare = args->compare.count > 0 || args->other,
                                 .seed = (uint64_t)args->seed,
                                 .data = inputs.data,
                                 .inputs_file = args->inputs,
                                 .run_count = args->runs,
                                 .process_count = args->processes,
                                 .half_width = args->precision / 100,
                                 .budget_s = args->budget_s,
                                 .use_cache = !args->no_cache,
                                 .save_dir = args->save,
                                 .limit_ns = (int64_t)(args->limit_s * 1e9),
                                 .command = cli->command_line,
                                 .store = store};
  HSC_GOTO(run_and_print(args, cli, &run_options, &result));
done:
  json_decref(result);
  json_decref(overrides);
  hsc_given_inputs_deinit(&inputs);
  hsc_store_close(store);
  return status;
}

const hsc_command_body hsc_command_run = {
    .options = options,
    .args_bytes = sizeof(run_args),
    .run = run,
    .description =
        "Each device runs in its own worker process. Inputs depend only on the seed, so results "
        "can be compared across devices, machines and days. Exit code 1 when a device fails or a "
        "comparison finds different numbers, 3 when not all of them could be compared.",
    .examples =
        "hloscope run model.hlo\nhloscope run before.hlo after.hlo\nhloscope run model.hlo "
        "--compare reference\nhloscope run "
        "model.hlo --device "
        "cpu --compare xla-cpu\nhloscope run model.hlo --device "
        "cpu,./libvendor_pjrt.so --format=json\n"
        "hloscope run model.hlo -d xla-cpu --compare reference --keep-failures failed",
};
