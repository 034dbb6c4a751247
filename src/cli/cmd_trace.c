// cmd_trace.c - hloscope trace -- COMMAND: runs an unmodified program with the PJRT tracer in front
// of its plugins.
#include <sys/statvfs.h>

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/text/text.h"
#include "base/core/clock.h"
#include "base/files/file_io.h"
#include "cli/child_program.h"
#include "cli/trace_short.h"
#include "trace/control.h"
#include "views/views.h"

typedef struct trace_args {
  const char *output;
  int64_t max_mib, max_compiles, pid, xla_cpu_calls, profile_calls;
  double xla_cpu_seconds;
  bool keep_failures, no_summary, pause, resume;
  hsc_list command;
} trace_args;

static const hsc_option options[] = {
    HSC_POSITIONAL_REST(
        trace_args, command, "COMMAND", HSC_OPTIONAL, "the program and its arguments, after --"),
    HSC_OPTION_STRING(
        trace_args,
        output,
        "output|o",
        "DIR",
        NULL,
        "write the capture to DIR; an earlier one there is renamed to DIR.1, DIR.2, ...; default: "
        "hloscope-trace-TIME.hsc"),
    HSC_OPTION_INT_FROM(
        trace_args,
        max_mib,
        "max-size",
        "MIB",
        1,
        256,
        "size limit of each process's recording; when full, the oldest part is dropped"),
    HSC_OPTION_INT_FROM(
        trace_args,
        max_compiles,
        "max-compiles",
        "N",
        0,
        0,
        "end a program that compiles more often, with exit code 1 and the reasons; 0: no limit"),
    HSC_OPTION_INT_FROM(trace_args,
                        xla_cpu_calls,
                        "xla-cpu-calls",
                        "N",
                        0,
                        2000,
                        "JAX on XLA:CPU: record the operators of the first N calls, and only the "
                        "calls after that; 0: compilations only"),
    HSC_OPTION_INT_FROM(
        trace_args,
        profile_calls,
        "profile-calls",
        "N",
        0,
        2000,
        "plugins with a profiler: record the operators of the first N executions; 0: none"),
    HSC_OPTION_DOUBLE(trace_args,
                      xla_cpu_seconds,
                      "xla-cpu-seconds",
                      "S",
                      60,
                      "JAX on XLA:CPU: record operators for at most S seconds"),
    HSC_OPTION_FLAG(trace_args,
                    keep_failures,
                    "keep-failures",
                    "keep the inputs of an executable's first call and of calls that fail, for "
                    "`hloscope blame DIR`"),
    HSC_OPTION_FLAG(trace_args, no_summary, "no-summary", "do not print the summary at the end"),
    HSC_OPTION_INT_FROM(trace_args, pid, "pid", "PID", 0, 0, "traced process to pause or resume"),
    HSC_OPTION_FLAG(trace_args, pause, "pause", "with --pid: pause recording"),
    HSC_OPTION_FLAG(trace_args, resume, "resume", "with --pid: resume recording"),
    HSC_OPTION_END,
};

// Compilations that the limit did not allow: why each was made is then the answer.
static bool over_limit(const hsc_capture *capture, int64_t max_compiles) {
  int64_t count = 0;
  const hsc_event *events = hsc_capture_events(capture);
  for (size_t i = 0; i < hsc_capture_event_count(capture); i++)
    count += events[i].category == HSC_CATEGORY_COMPILE && events[i].kind == HSC_RECORD_BEGIN &&
             hsc_event_attr(capture, &events[i], "program");
  return max_compiles && count > max_compiles;
}

// Whether there is less room than the least recording takes.
static bool is_full(const char *directory) {
  enum { LEAST_BYTES = 128 << 10 };
  struct statvfs info;
  return statvfs(directory, &info) == 0 && info.f_blocks > 0 &&
         (uint64_t)info.f_bavail * info.f_frsize < LEAST_BYTES;
}

static hsc_status *summarise(const char *output, int64_t max_compiles, hsc_cli *cli) {
  hsc_capture *capture = NULL;
  hsc_status *status = hsc_capture_open(output, &capture);
  if (hsc_status_code(status) == HSC_NOT_FOUND && is_full(output)) {
    hsc_status_free(status);
    return hsc_status_hint(
        HSC_ERR(RESOURCE_EXHAUSTED, "%s: nothing was recorded: the disk is full", output),
        "--output names a directory elsewhere");
  }
  if (hsc_status_code(status) == HSC_NOT_FOUND) {
    hsc_status_free(status);
    hsc_cli_say(
        cli,
        "nothing was recorded: the program loaded no PJRT plugin and no JAX (a static or setuid "
        "program, one that clears LD_PRELOAD or PYTHONPATH, or Python with -I, -E or -S)");
    hsc_cli_say_why_nothing(cli);
    (void)rmdir(output);  // nothing is in it
    return NULL;
  }
  hsc_table *table = NULL;
  bool over = !status && over_limit(capture, max_compiles);
  if (over) {
    hsc_cli_say(cli, "the program compiled more often than %lld times (--max-compiles)",
                (long long)max_compiles);
    cli->exit_code = 1;  // it was ended for that, by us
  }
  if (!status && !over && cli->format == HSC_FORMAT_TEXT) {
    status = hsc_cli_trace_short(capture, cli);
  } else if (!status) {
    status = hsc_view_table(capture, over ? HSC_VIEW_recompiles : HSC_VIEW_summary, NULL, &table);
    if (!status)
      status = hsc_cli_table(cli, table);
  }
  hsc_capture_close(capture);
  if (!status)
    hsc_cli_say(cli, "hloscope tables %s VIEW, hloscope export %s --to=chrome, hloscope report %s",
                output, output, output);
  return status;
}

static hsc_status *control(const trace_args *args, hsc_cli *cli) {
  int rings = 0;
  HSC_TRY(hsc_trace_set_paused(args->pid, args->pause, &rings));
  hsc_cli_say(cli, "%d recording%s of process %lld %s", rings, hsc_plural((double)rings, "", "s"),
              (long long)args->pid, args->pause ? "paused" : "resumed");
  return NULL;
}

// A number for this run, which tells its processes from those of others.
static const char *run_number(hsc_cli *cli) {
  uint64_t number[2] = {0};
  if (getrandom(number, sizeof number, GRND_NONBLOCK) != sizeof number) {
    number[0] = (uint64_t)hsc_wall_ns();
    number[1] = (uint64_t)getpid();
  }
  return hsc_arena_printf(cli->arena, "HLOSCOPE_TRACE_RUN=%016" PRIx64 "%016" PRIx64, number[0],
                          number[1]);
}

static hsc_status *run(const void *args_of_command, hsc_cli *cli) {
  const trace_args *args = args_of_command;
  if (args->pause && args->resume)
    return hsc_cli_usage(cli, "--pause and --resume exclude each other");
  if ((args->pid != 0) != (args->pause || args->resume))
    return hsc_cli_usage(cli, "--pid goes with --pause or --resume");
  if (args->pid && args->command.count)
    return hsc_cli_usage(cli, "--pid names a process that runs already; no COMMAND beside it");
  if (args->pid)
    return control(args, cli);
  if (!args->command.count)
    return hsc_cli_usage(cli, "COMMAND is missing: the program and its arguments, after --");
  if (!(args->xla_cpu_seconds > 0))
    return hsc_cli_usage(cli, "--xla-cpu-seconds is above 0");
  const char *directory = args->output ? args->output : hsc_cli_new_name(cli, ".hsc");
  HSC_TRY(hsc_arena_status(cli->arena));
  HSC_TRY(hsc_cli_set_aside(cli, directory));
  HSC_TRY_NOTE(hsc_dir_make(directory), "while: making the capture's directory");
  char *output = realpath(directory, NULL);
  if (!output)
    return HSC_ERR(NOT_FOUND, "%s: %s", directory, strerror(errno));
  int waited = 0;
  const char *python = hsc_cli_python_hook(cli);
  const char *set[] = {
      hsc_arena_printf(cli->arena, "HLOSCOPE_OUTPUT_PATH=%s", output),
      run_number(cli),
      hsc_arena_printf(cli->arena, "HLOSCOPE_TRACE_MAX_BYTES=%lld", (long long)args->max_mib << 20),
      hsc_arena_printf(cli->arena, "HLOSCOPE_TRACE_MAX_COMPILES=%lld",
                       (long long)args->max_compiles),
      args->keep_failures ? "HLOSCOPE_TRACE_KEEP_FAILURES=1" : "HLOSCOPE_TRACE_KEEP_FAILURES=0",
      hsc_arena_printf(cli->arena, "HLOSCOPE_XLA_CPU_CALLS=%lld", (long long)args->xla_cpu_calls),
      hsc_arena_printf(cli->arena, "HLOSCOPE_XLA_CPU_SECONDS=%g", args->xla_cpu_seconds),
      hsc_arena_printf(cli->arena, "HLOSCOPE_TRACE_PROFILE_CALLS=%lld",
                       (long long)args->profile_calls),
      python,
  };
  free(output);
  HSC_TRY(hsc_cli_run_program(cli, &args->command, set, HSC_COUNT_OF(set) - !python, &waited));
  hsc_cli_program_ended(cli, waited);
  if (!args->no_summary)
    hsc_cli_tell_of_recording(cli, summarise(directory, args->max_compiles, cli));
  return NULL;
}

const hsc_command_body hsc_command_trace = {
    .options = options,
    .args_bytes = sizeof(trace_args),
    .run = run,
    .description =
        "Records every compilation, execution, transfer and wait that goes through the PJRT C API, "
        "whatever the plugin: JAX, PyTorch/XLA or plain PJRT, unchanged.\n"
        "Operators come from the plugin's own profiler, for the first executions.\n"
        "XLA:CPU inside jaxlib is no plugin: there jaxlib's profiler records compilations and the "
        "operators of the first calls, and calls are timed from outside.\n"
        "The exit code is the program's.",
    .examples =
        "hloscope trace -o trace.hsc -- python train.py\nhloscope trace -o step.hsc "
        "--max-size=1024 -- python "
        "train.py --steps 10\nhloscope trace --pid=4711 --pause\n"
        "hloscope trace --max-compiles=3 -- python train.py\n"
        "hloscope trace --keep-failures -- python train.py",
};
