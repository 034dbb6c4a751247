// cmd_top.c - hloscope top: what a traced program does now, renewed every second.
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/files/file_io.h"
#include "cli/command.h"
#include "trace/control.h"
#include "views/top.h"

typedef struct top_args {
  const char *target;
  double interval, window;
  int64_t count;
} top_args;

static const hsc_option options[] = {
    HSC_POSITIONAL(top_args,
                   target,
                   "CAPTURE|PID",
                   HSC_REQUIRED,
                   "a capture that is being recorded, or the process that records it"),
    HSC_OPTION_DOUBLE(top_args, interval, "interval", "SECONDS", 1, "time between two updates"),
    HSC_OPTION_DOUBLE(
        top_args, window, "window", "SECONDS", 5, "rates and percentiles cover the last SECONDS"),
    HSC_OPTION_INT(
        top_args,
        count,
        "count|n",
        "N",
        0,
        "stop after N updates; 0: on a terminal until the program ends or Ctrl-C, else one"),
    HSC_OPTION_END,
};

static volatile sig_atomic_t stopped;
static void stop(int number) {
  stopped = 1;
}

// A number is a process, unless a file of that name is there.
static hsc_status *find_capture(const char *target, hsc_cli *cli, const char **out_path) {
  char *end = NULL;
  long long pid = strtoll(target, &end, 10);
  *out_path = target;
  if (*end || end == target || hsc_file_exists(target))
    return NULL;
  char *path = NULL;
  HSC_TRY(hsc_trace_find_capture(pid, &path));
  *out_path = hsc_arena_strdup(cli->arena, path);
  hsc_free(path);
  return NULL;
}

static bool runs_still(const hsc_capture *capture) {
  for (int p = 0; p < hsc_capture_process_count(capture); p++) {
    const hsc_capture_process *process = hsc_capture_process_at(capture, p);
    if (!process->closed && kill((pid_t)process->pid, 0) == 0)
      return true;
  }
  return false;
}

static hsc_status *look(
    const top_args *args, const char *path, bool screen, hsc_cli *cli, bool *out_runs) {
  hsc_capture *capture = NULL;
  HSC_TRY(hsc_capture_open(path, &capture));
  *out_runs = runs_still(capture);
  hsc_table *table = NULL;
  int64_t now = *out_runs ? hsc_wall_ns() - hsc_capture_start_wall_ns(capture) : INT64_MIN;
  hsc_status *status = hsc_top_table(capture, (int64_t)(args->window * 1e9), now, &table);
  if (!status && screen) {
    hsc_cli_write(cli, HSC_VIEW("\x1b[H\x1b[J"));
    hsc_cli_print(cli, "%s%s\n\n", path, *out_runs ? "" : " (ended)");
  }
  if (!status)
    status = hsc_cli_table(cli, table);
  hsc_capture_close(capture);
  return status;
}

static hsc_status *run(const void *args_of_command, hsc_cli *cli) {
  const top_args *args = args_of_command;
  if (!(args->interval > 0) || !(args->window > 0))
    return hsc_cli_usage(cli, "--interval and --window are above 0");
  const char *path = NULL;
  HSC_TRY(find_capture(args->target, cli, &path));
  bool screen = cli->format == HSC_FORMAT_TEXT && isatty(STDOUT_FILENO);
  bool runs = true;
  int64_t looks;
  if (args->count)
    looks = args->count;
  else if (screen)
    looks = INT64_MAX;
  else
    looks = 1;
  struct sigaction action = {.sa_handler = stop};
  struct sigaction old;
  sigaction(SIGINT, &action, &old);
  hsc_status *status = NULL;
  for (int64_t i = 0; i < looks && runs && !stopped && !status; i++) {
    if (i)
      hsc_sleep_ns((int64_t)(args->interval * 1e9));
    if (!stopped)
      status = look(args, path, screen, cli, &runs);
    fflush(stdout);
  }
  sigaction(SIGINT, &old, NULL);
  return status;
}

const hsc_command_body hsc_command_top = {
    .options = options,
    .args_bytes = sizeof(top_args),
    .run = run,
    .description =
        "The program is not stopped or slowed: its recording is read while it is written. Without "
        "a terminal, one snapshot is printed.",
    .examples =
        "hloscope top run.hsc\nhloscope top 4711\nhloscope top run.hsc --count=60 --format=jsonl > "
        "minute.jsonl",
};
