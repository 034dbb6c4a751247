// cmd_patterns.c - hloscope patterns: where the time goes, over graphs and execution patterns.
#include "base/core/clock.h"
#include "cli/command.h"
#include "cli/interrupt.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lab/run/json_tree.h"
#include "lab/patterns/patterns.h"
#include "lab/devices/devices.h"
#include "worker/worker_client.h"

typedef struct patterns_args {
  const char *program, *device, *output, *store;
  int64_t warmup_count, trial_count, seed;
  hsc_list graphs, patterns;
  double limit_s, precision, budget_s;
  bool all, keep_first, reinit, resume;
  int randomness;
} patterns_args;

// With the wheel's installation the first answer comes within ten seconds.
static const double DEFAULT_AIM_S = 6;

static const char *const randomness_names[] = {"error", "same", "different", NULL};
static const hsc_option options[] = {
    HSC_POSITIONAL(patterns_args,
                   program,
                   "PROGRAM",
                   HSC_OPTIONAL,
                   "a program of yours; without it, the built-in graphs"),
    HSC_OPTION_STRING(
        patterns_args,
        device,
        "device|d",
        "DEVICE",
        NULL,
        "device to measure: a name, or the path of a plugin; default: $HLOSCOPE_DEVICE, else cpu"),
    HSC_OPTION_INT(patterns_args, warmup_count, "warmup", "N", 5, "untimed runs before measuring"),
    HSC_OPTION_INT(patterns_args,
                   trial_count,
                   "trials",
                   "N",
                   0,
                   "measured trials of each configuration; 0: 10, and up to 40 while its interval "
                   "is wider than --precision"),
    HSC_OPTION_DOUBLE(
        patterns_args,
        precision,
        "precision",
        "PERCENT",
        2,
        "target for half the width of the median run's interval; 0: none, so 10 trials"),
    HSC_OPTION_DOUBLE(
        patterns_args,
        budget_s,
        "time-budget",
        "S",
        -1,
        "seconds that the whole command may take; 0: no limit; -1: about 6, by fewer repetitions "
        "where it would take longer"),
    HSC_OPTION_FLAG(patterns_args, all, "all", "print every table, not only the summary"),
    HSC_OPTION_FLAG(
        patterns_args, keep_first, "no-exclude-first", "keep the first trial in the statistics"),
    HSC_OPTION_FLAG(patterns_args,
                    reinit,
                    "enable-reinit",
                    "tear the client down and create it again before every trial"),
    HSC_OPTION_LIST(patterns_args,
                    graphs,
                    "graphs",
                    "NAMES",
                    NULL,
                    "only these: tiny, small, medium, large, wide, deep, mlp, multihead"),
    HSC_OPTION_LIST(patterns_args,
                    patterns,
                    "patterns",
                    "NAMES",
                    NULL,
                    "only these: natural, dependent, vmap, scan"),
    HSC_OPTION_CHOICE(patterns_args,
                      randomness,
                      "randomness",
                      randomness_names,
                      0,
                      "what a random operation of your program gives under vmap"),
    HSC_OPTION_STRING(patterns_args,
                      output,
                      "output|o",
                      "FILE",
                      NULL,
                      "write the whole result as JSON to FILE; default: "
                      "hloscope-patterns-TIME.json"),
    HSC_OPTION_INT(patterns_args,
                   seed,
                   "seed",
                   "N",
                   0,
                   "seed for the inputs, the order of measurement and the intervals"),
    HSC_OPTION_DOUBLE(patterns_args,
                      limit_s,
                      "limit",
                      "S",
                      120,
                      "time limit of one task of a worker, in seconds"),
    HSC_OPTION_STRING(patterns_args,
                      store,
                      "store",
                      "FILE",
                      NULL,
                      "the result store; default: results.sqlite in the cache directory"),
    HSC_OPTION_FLAG(patterns_args,
                    resume,
                    "resume",
                    "continue the last unfinished sweep with the same options"),
    HSC_OPTION_END,
};

// An output that cannot be written is found before the minutes of measuring, not after them.
static hsc_status *check_output(const char *path, hsc_arena *arena) {
  struct stat file;
  if (stat(path, &file) == 0 && S_ISDIR(file.st_mode))
    return HSC_ERR(INVALID_ARGUMENT, "%s: is a directory; --output names a file", path);
  const char *slash = strrchr(path, '/');
  char *probe = slash ? hsc_arena_printf(arena, "%.*s/.hloscope-XXXXXX", (int)(slash - path), path)
                      : hsc_arena_strdup(arena, ".hloscope-XXXXXX");
  HSC_TRY(hsc_arena_status(arena));
  int fd = mkstemp(probe);
  if (fd < 0)
    return hsc_status_hint(hsc_status_errno(errno, "the result cannot be written there", path),
                           "nothing was measured; choose another place with --output FILE");
  close(fd);
  unlink(probe);
  return NULL;
}

static void show_progress(
    void *user, int64_t done, int64_t total, const char *text, int worker_pid) {
  hsc_cli *cli = user;
  // A line per task is for a terminal; a log gets one per fiftieth.
  if (!cli->talk_is_terminal && done % 50 != 1)
    return;
  if (cli->talk_is_terminal)
    hsc_cli_progress_of(cli, done, total, text);
  else  // what is measured now is not done
    hsc_cli_progress(cli, "%3lld %%  %s", (long long)(total ? 100 * (done - 1) / total : 0), text);
}

static hsc_status *print_result(hsc_cli *cli, json_t *result, bool all) {
  hsc_bytes text = {0};
  hsc_status *status = NULL;
  if (cli->format == HSC_FORMAT_JSON) {
    hsc_json json;
    hsc_json_init(&json, &text, 1);
    hsc_json_tree(&json, result);
    hsc_bytes_append_char(&text, '\n');
    status = hsc_bytes_status(&text);
  } else if (cli->format == HSC_FORMAT_MARKDOWN) {
    const char *summary = json_string_value(json_object_get(result, "summary"));
    hsc_bytes_append_text(&text, summary ? summary : "");
  } else {
    status = all ? hsc_patterns_text(result, &cli->out_style, &text)
                 : hsc_patterns_text_short(result, &cli->out_style, &text);
  }
  if (!status)
    hsc_cli_put(cli, &text);
  hsc_bytes_deinit(&text);
  return status;
}

static hsc_status *run(const void *args_of_command, hsc_cli *cli) {
  const patterns_args *args = args_of_command;
  hsc_device_spec device;
  hsc_store *store = NULL;
  json_t *result = NULL;
  int64_t start_ns = hsc_now_ns();
  double aim_s = args->budget_s == -1 ? DEFAULT_AIM_S : args->budget_s;
  int64_t trial_count = args->trial_count;
  if (!trial_count && !(args->precision > 0))
    trial_count = 10;
  if (!(args->limit_s > 0))
    return hsc_cli_usage(cli, "--limit must be above 0 s");
  HSC_TRY(hsc_cli_check_sampling(cli, args->precision, aim_s, true));
  HSC_TRY(hsc_cli_program_file(cli, &args->program));
  HSC_TRY(hsc_device_spec_parse(args->device ? args->device : hsc_default_device(), cli->arena,
                                &device));
  if (device.source == HSC_DEVICE_EVALUATOR)
    return hsc_status_hint(HSC_ERR(UNIMPLEMENTED,
                                   "patterns: the reference evaluator does not compile, so there "
                                   "is nothing to take apart"),
                           "hloscope run PROGRAM --device reference runs it");
  const char *output = args->output ? args->output : hsc_cli_new_name(cli, ".json");
  HSC_TRY(check_output(output, cli->arena));
  HSC_TRY(hsc_cli_store_open(cli, args->store, &store));
  hsc_cli_catch_interrupt();
  hsc_patterns_options o = {
      .device = &device,
      .program = args->program,
      .graphs = args->graphs.items,
      .graph_count = args->graphs.count,
      .patterns = args->patterns.items,
      .pattern_count = args->patterns.count,
      .warmup_iterations = args->warmup_count,
      .measurement_trials = trial_count,
      .half_width = args->precision / 100,
      .aim_s = aim_s,
      .deadline_ns = args->budget_s > 0 ? start_ns + (int64_t)(args->budget_s * 1e9) : 0,
      .exclude_first_trial = !args->keep_first,
      .randomness = args->randomness ? randomness_names[args->randomness] : NULL,
      .enable_device_reinit = args->reinit,
      .seed = (uint64_t)args->seed,
      .task_limit_ns = (int64_t)(args->limit_s * 1e9),
      .command = cli->command_line,
      .store = store,
      .resume = args->resume,
      .progress = show_progress,
      .user = cli,
      .stop = &hsc_cli_stop};
  hsc_status *status = hsc_patterns_run(&o, &result);
  // for reports: how to make it again
  if (!status)
    json_object_set_new(result, "command", json_string(cli->command_line));
  if (!status)
    status = hsc_json_tree_save(output, result);
  if (!status)
    status = print_result(cli, result, args->all);
  if (!status) {
    const char *how = json_string_value(json_object_get(result, "status"));
    long long experiment = json_integer_value(json_object_get(result, "experiment"));
    if (strcmp(how, "interrupted") == 0)
      hsc_cli_say(cli, "%s; hloscope patterns --resume goes on with it",
                  hsc_cli_stop ? "interrupted" : "the time budget is over");
    hsc_cli_say(cli, "result: %s    every sample: hloscope results show %lld", output, experiment);
    if (strcmp(how, "done") != 0)
      cli->exit_code = 1;
  }
  json_decref(result);
  hsc_store_close(store);
  return status;
}

const hsc_command_body hsc_command_patterns = {
    .options = options,
    .args_bytes = sizeof(patterns_args),
    .run = run,
    .description =
        "Measures device initialisation, transfer, compilation (missed, found in memory, found on "
        "disk), first "
        "execution, execution, synchronisation and transfer back, "
        "each by itself, for eight graphs applied three times in four ways: a natural loop, a loop "
        "with a "
        "synchronisation after each step, vmap, and scan. Every slow run gets a "
        "cause. A program of yours is transformed into the four patterns. Exit code 1 when a "
        "configuration could not "
        "be measured.",
    .examples =
        "hloscope patterns\nhloscope patterns --graphs tiny,small --trials 20\nhloscope patterns "
        "model.hlo --output "
        "model.json\nhloscope patterns --enable-reinit --no-exclude-first",
};
