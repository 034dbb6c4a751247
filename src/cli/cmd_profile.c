// cmd_profile.c - hloscope profile: operators of a program on a device, or of an unmodified program
// that somebody wrote.
#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/files/file_io.h"
#include "base/text/text.h"
#include "cli/child_program.h"
#include "cli/profile_peaks.h"
#include "cli/profile_short.h"
#include "cli/table_pick.h"
#include "cli/trace_short.h"
#include "lab/devices/devices.h"
#include "worker/lab_compile.h"
#include "lab/run/profile_diff.h"
#include "lab/run/given_inputs.h"
#include "lab/run/profile_run.h"
#include "trace/capture.h"
#include "trace/xspace.h"
#include "views/profile_tensorboard.h"
#include "views/views.h"

typedef struct profile_args {
  hsc_list what, transforms, options;
  const char *device, *output, *inputs;
  int64_t steps, duration_ms, seed, limit;
  double limit_s, precision, budget_s;
  int type;
  bool traced_only, all;
} profile_args;

enum { TYPE_OPERATOR, TYPE_TRACE };
static const char *const types[] = {"operator", "trace", NULL};

static const hsc_option options[] = {
    HSC_POSITIONAL_REST(profile_args,
                        what,
                        "PROGRAM",
                        HSC_REQUIRED,
                        "a program that hloscope reads; or, after --, a command with its "
                        "arguments; or diff A B, two profiles to compare"),
    HSC_OPTION_STRING(profile_args,
                      device,
                      "device|d",
                      "DEVICE",
                      NULL,
                      "device for PROGRAM: cpu, xla-cpu or any plugin with a profiler; default: "
                      "$HLOSCOPE_DEVICE, else cpu"),
    HSC_OPTION_CHOICE(profile_args,
                      type,
                      "type",
                      types,
                      TYPE_OPERATOR,
                      "show operators, or the lanes of the timeline"),
    HSC_OPTION_INT(profile_args,
                   steps,
                   "steps",
                   "N",
                   0,
                   "steps to record; 0: for PROGRAM chosen after a trial run, for a command all"),
    HSC_OPTION_DOUBLE(profile_args,
                      precision,
                      "precision",
                      "PERCENT",
                      2,
                      "for PROGRAM: stop recording when the median step is known to within this, "
                      "either way; 0: never"),
    HSC_OPTION_DOUBLE(profile_args,
                      budget_s,
                      "time-budget",
                      "S",
                      0.2,
                      "for PROGRAM: seconds to record, unless --duration-ms is given"),
    HSC_OPTION_INT(profile_args,
                   duration_ms,
                   "duration-ms",
                   "MS",
                   0,
                   "time to record; 0: for PROGRAM the time budget, for a command all of it"),
    HSC_OPTION_FLAG(profile_args,
                    traced_only,
                    "traced-only",
                    "leave out input transfers and what the framework does on the host"),
    HSC_OPTION_STRING(profile_args,
                      output,
                      "output|o",
                      "LOGDIR",
                      NULL,
                      "log directory for TensorBoard; earlier runs in it are kept; default: "
                      "hloscope-profile-TIME"),
    HSC_OPTION_LIST(profile_args,
                    transforms,
                    "transform",
                    "T",
                    NULL,
                    "repeat:N, vmap:N, scan:N or constant:I=V before compiling; may be repeated"),
    HSC_OPTION_LIST(profile_args,
                    options,
                    "option",
                    "NAME=VALUE",
                    NULL,
                    "for PROGRAM: an XLA compile option; may be repeated"),
    HSC_OPTION_INPUTS(profile_args, inputs),
    HSC_OPTION_INT(profile_args, seed, "seed", "N", 0, "seed for the generated inputs"),
    HSC_OPTION_INT(profile_args, limit, "limit", "N", 10, "rows to show; 0: all"),
    HSC_OPTION_FLAG(profile_args, all, "all|a", "every column of the table, not the first screen"),
    HSC_OPTION_DOUBLE(profile_args,
                      limit_s,
                      "time-limit",
                      "S",
                      600,
                      "time limit of each step on the device, in seconds"),
    HSC_OPTION_END,
};

// A directory for what devices and programs write, beside where the profile goes.
static hsc_status *raw_directory(const profile_args *args, hsc_cli *cli, const char **out_path) {
  HSC_TRY_NOTE(hsc_dir_make(args->output), "while: making the log directory");
  char *pattern = hsc_arena_printf(cli->arena, "%s/.hloscope-XXXXXX", args->output);
  if (!pattern || !mkdtemp(pattern))
    return hsc_status_errno(errno, "cannot make a directory in it", args->output);
  *out_path = realpath(pattern, NULL);
  if (!*out_path)
    return hsc_status_errno(errno, "cannot be resolved", pattern);
  const char *kept = hsc_arena_strdup(cli->arena, *out_path);
  free((void *)(uintptr_t)*out_path);
  *out_path = kept;
  return hsc_arena_status(cli->arena);
}

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *walk) {
  (void)info;
  (void)type;
  (void)walk;
  return remove(path), 0;
}

static void remove_directory(const char *path) {
  nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

// The first screen: sentences, then the operators that prove them.
static hsc_status *show_short(const profile_args *args,
                              hsc_profile *profile,
                              const char *note,
                              hsc_cli *cli) {
  hsc_bytes headline = {0};
  hsc_table *table = NULL;
  hsc_status *status =
      hsc_cli_profile_short(profile, args->traced_only, args->limit, &headline, &table);
  if (!status) {
    if (headline.size) {
      hsc_cli_paragraph(cli, "%s", hsc_bytes_text(&headline));
      hsc_cli_print(cli, "\n");
    }
    if (note)
      hsc_table_note(table, "%s", note);
    status = hsc_cli_table(cli, table);
  }
  hsc_bytes_deinit(&headline);
  return status;
}

static hsc_status *show_all(const profile_args *args,
                            hsc_profile *profile,
                            const char *note,
                            hsc_cli *cli) {
  hsc_table *table = NULL;
  hsc_profile_options view = {.limit = args->limit, .traced_only = args->traced_only};
  HSC_TRY(hsc_profile_table(
      profile,
      args->type == TYPE_TRACE ? HSC_PROFILE_VIEW_timeline : HSC_PROFILE_VIEW_hlo_operators, &view,
      &table));
  if (note)
    hsc_table_note(table, "%s", note);
  return hsc_cli_table(cli, table);
}

// The raw profiles become a run of the log directory, and the table is printed.
static hsc_status *show(const profile_args *args, const char *raw, const char *note, hsc_cli *cli) {
  hsc_profile *profile = NULL;
  char *directory = NULL;
  hsc_status *status = NULL;
  bool is_short = cli->format == HSC_FORMAT_TEXT && args->type == TYPE_OPERATOR && !args->all;
  HSC_GOTO(hsc_profile_open(raw, &profile));
  if (is_short)
    hsc_cli_peaks_measure_once(profile, cli);
  hsc_cli_profile_peaks(profile);
  HSC_GOTO(hsc_profile_write_logdir(profile, args->output, NULL, args->traced_only, &directory));
  HSC_GOTO((is_short ? show_short : show_all)(args, profile, note, cli));
  hsc_cli_say(cli, "%s", directory);
  hsc_cli_say(
      cli, "hloscope tables %s framework-operators steps timeline gaps;  tensorboard --logdir %s",
      args->output, args->output);
done:
  hsc_free(directory);
  hsc_profile_close(profile);
  return status;
}

static hsc_status *profile_program(const profile_args *args, hsc_cli *cli) {
  if (args->what.count != 1)
    return hsc_cli_usage(cli,
                         "one PROGRAM at a time; a command is after --: hloscope profile -- %s ...",
                         args->what.items[0]);
  HSC_TRY(hsc_cli_program_file(cli, &args->what.items[0]));
  if (!(args->limit_s > 0))
    return hsc_cli_usage(cli, "--time-limit must be above 0 s");
  HSC_TRY(hsc_cli_check_sampling(cli, args->precision, args->budget_s, args->steps > 0));
  const char *raw = NULL;
  const char *device = args->device ? args->device : hsc_default_device();
  bool is_new = !hsc_file_exists(args->output);
  json_t *overrides = NULL;
  hsc_given_inputs inputs = {0};
  HSC_TRY(hsc_overrides_parse(args->options.items, args->options.count, &overrides));
  hsc_status *status =
      hsc_given_inputs_read(&(hsc_given_inputs_options){.file = args->inputs,
                                                        .program = args->what.items[0],
                                                        .transforms = args->transforms.items,
                                                        .transform_count = args->transforms.count},
                            &inputs);
  if (!status)
    status = raw_directory(args, cli, &raw);
  if (status) {
    hsc_given_inputs_deinit(&inputs);
    json_decref(overrides);
    return status;
  }
  hsc_profile_run_options run_options = {
      .program = args->what.items[0],
      .transforms = args->transforms.items,
      .transform_count = args->transforms.count,
      .device = device,
      .overrides = overrides,
      .steps = args->steps,
      .duration_ns =
          args->duration_ms ? args->duration_ms * 1000000 : (int64_t)(args->budget_s * 1e9),
      .half_width = args->precision / 100,
      .seed = (uint64_t)args->seed,
      .data = inputs.data,
      .limit_ns = (int64_t)(args->limit_s * 1e9),
      .xspace_path = hsc_arena_printf(cli->arena, "%s/%s.xplane.pb", raw, "device")};
  hsc_profile_run made = {0};
  hsc_cli_progress(cli, "profiling %s on %s", args->what.items[0], device);
  status = hsc_profile_program(&run_options, &made);
  json_decref(overrides);
  hsc_given_inputs_deinit(&inputs);
  if (!status) {
    char first[32];
    hsc_format_quantity(made.warm_up_s, "s", false, first);
    // how long they took is the headline's, from what was recorded
    hsc_cli_say(cli, "%lld %s on %s; the first one, before them, took %s", (long long)made.steps,
                hsc_plural((double)made.steps, "step", "steps"), device, first);
    status = show(args, raw, made.sampling, cli);
  }
  hsc_free(made.sampling);
  remove_directory(raw);
  if (status && is_new)
    rmdir(args->output);  // nothing was put there
  return status;
}

static bool is_empty(const char *path) {
  DIR *directory = opendir(path);
  bool empty = true;
  for (struct dirent *entry; directory && (entry = readdir(directory));)
    empty &= !hsc_ends_with(entry->d_name, ".xplane.pb");
  if (directory)
    closedir(directory);
  return empty;
}

static hsc_status *keep_calls(const profile_args *args,
                              const char *calls,
                              hsc_cli *cli,
                              const char **out_kept) {
  *out_kept = hsc_arena_printf(cli->arena, "%s/calls.hsc", args->output);
  HSC_TRY(hsc_arena_status(cli->arena));
  HSC_TRY(hsc_cli_set_aside(cli, *out_kept));
  if (rename(calls, *out_kept))
    return hsc_status_errno(errno, "cannot be made of what was recorded", *out_kept);
  return NULL;
}

// Calls survive any death, in rings that are mapped files; operators are the profiler's until it
// hands them over. What is left is kept beside the log directory's runs and shown.
static hsc_status *show_calls(const profile_args *args, const char *calls, hsc_cli *cli) {
  hsc_capture *capture = NULL;
  hsc_table *table = NULL;
  const char *kept = NULL;
  HSC_TRY(keep_calls(args, calls, cli, &kept));
  HSC_TRY(hsc_capture_open(kept, &capture));
  hsc_status *status = NULL;
  if (cli->format == HSC_FORMAT_TEXT) {
    hsc_cli_paragraph(cli,
                      "No operator of these runs is known: the program was killed before its "
                      "profiler wrote any.\n");
    status = hsc_cli_trace_short(capture, cli);
  } else if (!(status = hsc_view_table(capture, HSC_VIEW_summary, NULL, &table))) {
    hsc_table_note(table,
                   "operators are missing: the program was killed before its profiler wrote "
                   "any; these are its calls");
    status = hsc_cli_table(cli, table);
  }
  hsc_capture_close(capture);
  if (!status)
    hsc_cli_say(cli, "hloscope tables %s VIEW; --duration-ms or --steps write operators earlier",
                kept);
  return status;
}

static void say_what_a_killed_program_left(const profile_args *args,
                                           const char *calls,
                                           bool killed,
                                           hsc_cli *cli) {
  bool has_calls = killed && !access(calls, F_OK);
  if (has_calls)
    hsc_cli_say(cli,
                "operators are missing: the profiler holds them in the program's memory until it "
                "ends, and SIGKILL ends it without a word; its calls were recorded until then:");
  else
    hsc_cli_say(
        cli, killed ? "nothing was recorded: the program died before its first call of a device"
                    : "nothing was recorded: the program used neither JAX nor a PJRT plugin with "
                      "a profiler");
  if (has_calls)
    hsc_cli_tell_of_recording(cli, show_calls(args, calls, cli));
  else
    hsc_cli_say_why_nothing(cli);
}

// A program that SIGKILL ended wrote its profile up to the last part. How many runs it made, its
// calls tell, which are recorded to the end.
static hsc_status *note_what_is_missing(const profile_args *args,
                                        const char *calls,
                                        hsc_cli *cli,
                                        const char **out_note) {
  hsc_capture *capture = NULL;
  hsc_table *table = NULL;
  const char *kept = NULL;
  double runs = 0;
  hsc_bytes note = {0};
  hsc_bytes_append_text(
      &note,
      "not whole: SIGKILL ended the program; its profiler had written what was done by then in "
      "parts, after 4 calls, 8, 16 and so on: what came after the last part is missing");
  hsc_status *status = NULL;
  if (!access(calls, F_OK)) {
    HSC_GOTO(keep_calls(args, calls, cli, &kept));
    HSC_GOTO(hsc_capture_open(kept, &capture));
    HSC_GOTO(hsc_view_table(capture, HSC_VIEW_executables, NULL, &table));
    for (size_t i = 0; i < hsc_table_row_count(table); i++)
      runs += hsc_cli_number(table, i, "runs");
    hsc_bytes_printf(&note, "; all it called, %.0f %s, is in %s", runs,
                     hsc_plural(runs, "run", "runs"), kept);
  }
  *out_note = hsc_arena_strdup(cli->arena, hsc_bytes_text(&note));
  HSC_GOTO(hsc_arena_status(cli->arena));
done:
  hsc_bytes_deinit(&note);
  hsc_table_destroy(table);
  hsc_capture_close(capture);
  return status;
}

// A part that was cut short: by a full disk, or while it was written.
static hsc_status *note_damaged(const hsc_xspace_joined *joined,
                                hsc_cli *cli,
                                const char **io_note) {
  const char *before = *io_note ? *io_note : "not whole";
  *io_note = hsc_arena_printf(
      cli->arena, "%s; %d of the profile's %d parts cannot be read to %s end", before,
      joined->damaged, joined->parts, joined->damaged == 1 ? "its" : "their");
  return hsc_arena_status(cli->arena);
}

static hsc_status *profile_command(const profile_args *args, hsc_cli *cli) {
  if (args->options.count)
    return hsc_cli_usage(
        cli, "--option is for PROGRAM; a command takes its compile options from XLA_FLAGS");
  if (args->device)
    return hsc_cli_usage(
        cli,
        "--device is for PROGRAM; a command chooses its own devices (JAX_PLATFORMS, PJRT_DEVICE)");
  const char *raw = NULL;
  const char *python = hsc_cli_python_hook(cli);
  HSC_TRY(raw_directory(args, cli, &raw));
  hsc_status *status = NULL;
  const char *calls = hsc_arena_printf(cli->arena, "%s/calls.hsc", raw);
  const char *set[10];
  size_t count = 0;
  set[count++] = hsc_arena_printf(cli->arena, "HLOSCOPE_OUTPUT_PATH=%s", calls);
  // calls only: the operators are the profile's
  set[count++] = "HLOSCOPE_XLA_CPU_CALLS=0";
  set[count++] = hsc_arena_printf(cli->arena, "HLOSCOPE_PROFILE_PATH=%s", raw);
  if (args->duration_ms)
    set[count++] =
        hsc_arena_printf(cli->arena, "HLOSCOPE_PROFILE_MS=%lld", (long long)args->duration_ms);
  if (args->steps)
    set[count++] =
        hsc_arena_printf(cli->arena, "HLOSCOPE_PROFILE_STEPS=%lld", (long long)args->steps);
  if (args->traced_only)
    set[count++] = "HLOSCOPE_PROFILE_TRACED_ONLY=1";
  if (python)
    set[count++] = python;
  // PyTorch/XLA writes names of modules and functions into its programs when it is asked to
  static const char *const names[] = {"XLA_HLO_DEBUG", "XLA_IR_DEBUG"};
  for (size_t i = 0; i < HSC_COUNT_OF(names); i++)
    if (!getenv(names[i]))
      set[count++] = hsc_arena_printf(cli->arena, "%s=1", names[i]);
  int waited = 0;
  bool keep = false;
  hsc_xspace_joined joined = {0};
  HSC_GOTO(hsc_arena_status(cli->arena));
  HSC_GOTO(hsc_cli_run_program(cli, &args->what, set, count, &waited));
  hsc_cli_program_ended(cli, waited);
  status = hsc_xspace_join_parts(raw, &joined);
  if (status) {
    keep = true;
    status = hsc_status_hint(status, "what was recorded is in %s, in parts", raw);
    goto done;
  }
  if (is_empty(raw)) {
    say_what_a_killed_program_left(args, calls, WIFSIGNALED(waited), cli);
  } else {
    const char *note = NULL;
    if (WIFSIGNALED(waited) && WTERMSIG(waited) == SIGKILL)
      HSC_GOTO(note_what_is_missing(args, calls, cli, &note));
    if (joined.damaged)
      HSC_GOTO(note_damaged(&joined, cli, &note));
    hsc_cli_tell_of_recording(cli, show(args, raw, note, cli));
  }
done:
  if (!keep)
    remove_directory(raw);
  return status;
}

static hsc_status *diff(const profile_args *args, hsc_cli *cli) {
  if (args->what.count != 3)
    return hsc_cli_usage(cli, "diff takes two profiles: hloscope profile diff A B");
  hsc_profile *a = NULL;
  hsc_profile *b = NULL;
  hsc_table *table = NULL;
  hsc_status *status = hsc_profile_open_detailed(args->what.items[1], &a);
  if (!status)
    status = hsc_profile_open_detailed(args->what.items[2], &b);
  if (!status)
    status = hsc_profile_diff(a, b, args->limit, &table);
  if (!status)
    status = hsc_cli_table(cli, table);
  hsc_profile_close(a);
  hsc_profile_close(b);
  return status;
}

static hsc_status *run(const void *args_of_command, hsc_cli *cli) {
  const profile_args *args = args_of_command;
  bool is_command = strstr(cli->command_line, " -- ") != NULL;
  if (!is_command && args->what.count && !strcmp(args->what.items[0], "diff") &&
      !hsc_file_exists("diff"))
    return diff(args, cli);
  profile_args named = *args;
  if (!named.output)
    named.output = hsc_cli_new_name(cli, "");
  HSC_TRY(hsc_arena_status(cli->arena));
  return is_command ? profile_command(&named, cli) : profile_program(&named, cli);
}

const hsc_command_body hsc_command_profile = {
    .options = options,
    .args_bytes = sizeof(profile_args),
    .run = run,
    .description =
        "PROGRAM is compiled, run until it is warm, and then recorded for N steps by the device's "
        "own profiler. A command is run unchanged: JAX programs are\n"
        "profiled by JAX's profiler, on XLA:CPU and on any plugin; PyTorch/XLA and others by the "
        "profiler of the plugin that they load. The profile goes to\n"
        "LOGDIR/plugins/profile/RUN as TensorBoard's profile plugin wants it, with HLO, costs and "
        "steps; `hloscope tables LOGDIR VIEW` reads it back.\n"
        "The exit code of a command is the command's.\n"
        "diff compares two profiles operator by operator, matched by name, then by framework name, "
        "then by structure.",
    .examples =
        "hloscope profile model.hlo\nhloscope profile model.mlir --device xla-cpu --steps 20 "
        "--output logs\n"
        "hloscope profile --duration-ms 10000 -- python train.py\nhloscope tables logs "
        "framework-operators steps\nhloscope profile diff before after",
};
