// cmd_trace.c - hloscope trace -- COMMAND: runs an unmodified program with the PJRT tracer in front of its plugins.
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/command.h"
#include "trace/control.h"
#include "views/views.h"

typedef struct trace_args {
  const char *output;
  int64_t max_mib, pid;
  bool no_summary, pause, resume;
  hsc_list command;
} trace_args;

static const hsc_option options[] = {
    HSC_POSITIONAL_REST(trace_args, command, "COMMAND", HSC_OPTIONAL, "the program and its arguments, after --"),
    HSC_OPTION_STRING(trace_args, output, "output|o", "DIR", "trace.hsc", "the capture; what is there of an earlier run stays beside it"),
    HSC_OPTION_INT_FROM(trace_args, max_mib, "max-size", "MIB", 1, 256, "room for each process's recording; when full the oldest part goes"),
    HSC_OPTION_FLAG(trace_args, no_summary, "no-summary", "do not print the summary at the end"),
    HSC_OPTION_INT_FROM(trace_args, pid, "pid", "PID", 0, 0, "a process that is being traced, to be paused or resumed"),
    HSC_OPTION_FLAG(trace_args, pause, "pause", "with --pid: record nothing from now on"),
    HSC_OPTION_FLAG(trace_args, resume, "resume", "with --pid: record again"),
    HSC_OPTION_END,
};

extern char **environ;

static hsc_status *tracer_library(hsc_cli *cli, const char **out_path) {
  char *directory = NULL;
  HSC_TRY(hsc_self_dir((const void *)(uintptr_t)&tracer_library, &directory));
  static const char *const places[] = {"%s/libhloscope_pjrt_tracer.so", "%s/../lib/libhloscope_pjrt_tracer.so", "%s/../lib/x86_64-linux-gnu/libhloscope_pjrt_tracer.so"};
  hsc_status *status = HSC_ERR(NOT_FOUND, "libhloscope_pjrt_tracer.so is not beside hloscope in %s", directory);
  for (size_t i = 0; i < HSC_COUNT_OF(places) && status; i++) {
    char *path = NULL;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    path = hsc_arena_printf(cli->arena, places[i], directory);
#pragma GCC diagnostic pop
    if (!path || !hsc_file_exists(path)) continue;
    *out_path = path;
    hsc_status_free(status);
    status = NULL;
  }
  hsc_free(directory);
  return status;
}

// The parent's environment with our variables in place of theirs; a preload that is there already stays, behind ours.
static char **child_environment(hsc_cli *cli, const char *const *set, size_t set_count) {
  size_t count = 0;
  while (environ[count]) count++;
  char **list = HSC_NEW_ARRAY(cli->arena, char *, count + set_count + 1);
  if (!list) return NULL;
  size_t at = 0;
  for (size_t i = 0; i < count; i++) {
    bool replaced = false;
    for (size_t k = 0; k < set_count; k++) {
      size_t name = strcspn(set[k], "=") + 1;
      replaced |= !strncmp(environ[i], set[k], name);
    }
    if (!replaced) list[at++] = environ[i];
  }
  for (size_t k = 0; k < set_count; k++) list[at++] = (char *)(uintptr_t)set[k];
  return list;
}

static hsc_status *run_child(const trace_args *args, const char *library, const char *output, hsc_cli *cli, int *out_wait) {
  const char *before = getenv("LD_PRELOAD");
  const char *set[] = {
      hsc_arena_printf(cli->arena, "LD_PRELOAD=%s%s%s", library, before && *before ? ":" : "", before ? before : ""),
      hsc_arena_printf(cli->arena, "HLOSCOPE_OUTPUT_PATH=%s", output),
      hsc_arena_printf(cli->arena, "HLOSCOPE_TRACE_MAX_BYTES=%lld", (long long)args->max_mib << 20),
  };
  char **environment = child_environment(cli, set, HSC_COUNT_OF(set));
  char **argv = HSC_NEW_ARRAY(cli->arena, char *, args->command.count + 1);
  if (!environment || !argv) return hsc_status_out_of_memory();
  for (size_t i = 0; i < args->command.count; i++) argv[i] = (char *)(uintptr_t)args->command.items[i];
  // Ctrl-C is the program's: it ends, and then we report.
  struct sigaction ignore = {.sa_handler = SIG_IGN}, old_int, old_quit;
  sigaction(SIGINT, &ignore, &old_int);
  sigaction(SIGQUIT, &ignore, &old_quit);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t defaults;
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGINT);
  sigaddset(&defaults, SIGQUIT);
  sigaddset(&defaults, SIGPIPE);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  pid_t child = 0;
  int error = posix_spawnp(&child, argv[0], NULL, &attributes, argv, environment);
  posix_spawnattr_destroy(&attributes);
  hsc_status *status = error ? hsc_status_make(error == ENOENT ? HSC_NOT_FOUND : HSC_PERMISSION_DENIED, __FILE__, __LINE__, "cannot start '%s': %s", argv[0], strerror(error)) : NULL;
  while (!status && waitpid(child, out_wait, 0) < 0)
    if (errno != EINTR) status = HSC_ERR(INTERNAL, "lost the program: %s", strerror(errno));
  sigaction(SIGINT, &old_int, NULL);
  sigaction(SIGQUIT, &old_quit, NULL);
  return status;
}

static hsc_status *summarise(const char *output, hsc_cli *cli) {
  hsc_capture *capture = NULL;
  hsc_status *status = hsc_capture_open(output, &capture);
  if (hsc_status_code(status) == HSC_NOT_FOUND) {
    hsc_status_free(status);
    hsc_cli_say(cli, "nothing was recorded: the program loaded no PJRT plugin (a static program, one that clears LD_PRELOAD, or XLA:CPU inside jaxlib, which is no plugin)");
    cli->exit_code = cli->exit_code ? cli->exit_code : 1;
    return NULL;
  }
  hsc_table *table = NULL;
  if (!status) status = hsc_view_table(capture, HSC_VIEW_summary, NULL, &table);
  if (!status) status = hsc_cli_table(cli, table);
  hsc_capture_close(capture);
  return status;
}

static hsc_status *control(const trace_args *args, hsc_cli *cli) {
  int rings = 0;
  HSC_TRY(hsc_trace_set_paused(args->pid, args->pause, &rings));
  hsc_cli_say(cli, "%d recording%s of process %lld %s", rings, rings == 1 ? "" : "s", (long long)args->pid, args->pause ? "paused" : "resumed");
  return NULL;
}

static hsc_status *run(const void *args_of_command, hsc_cli *cli) {
  const trace_args *args = args_of_command;
  if (args->pause && args->resume) return hsc_cli_usage(cli, "--pause and --resume exclude each other");
  if ((args->pid != 0) != (args->pause || args->resume)) return hsc_cli_usage(cli, "--pid goes with --pause or --resume");
  if (args->pid && args->command.count) return hsc_cli_usage(cli, "--pid names a process that runs already; no COMMAND beside it");
  if (args->pid) return control(args, cli);
  if (!args->command.count) return hsc_cli_usage(cli, "COMMAND is missing: the program and its arguments, after --");
  const char *library = NULL;
  HSC_TRY(tracer_library(cli, &library));
  HSC_TRY_NOTE(hsc_dir_make(args->output), "while: making the capture's directory");
  char *output = realpath(args->output, NULL);
  if (!output) return HSC_ERR(NOT_FOUND, "%s: %s", args->output, strerror(errno));
  int waited = 0;
  hsc_status *status = run_child(args, library, hsc_arena_strdup(cli->arena, output), cli, &waited);
  free(output);
  if (status) return status;
  if (WIFSIGNALED(waited)) {
    hsc_cli_say(cli, "the program was ended by signal %d (%s); what it recorded until then is in %s", WTERMSIG(waited), strsignal(WTERMSIG(waited)), args->output);
    cli->exit_code = 128 + WTERMSIG(waited);
  } else {
    cli->exit_code = WEXITSTATUS(waited);
  }
  if (args->no_summary) return NULL;
  HSC_TRY(summarise(args->output, cli));
  hsc_cli_say(cli, "hloscope tables %s VIEW, hloscope export %s --to=chrome", args->output, args->output);
  return NULL;
}

const hsc_command_body hsc_command_trace = {
    .options = options,
    .args_bytes = sizeof(trace_args),
    .run = run,
    .description = "Records every compilation, execution, transfer and wait that goes through the PJRT C API, whatever the plugin: JAX, PyTorch/XLA or plain PJRT, unchanged.\n"
                   "The exit code is the program's. XLA:CPU inside jaxlib is no plugin and is not seen.",
    .examples = "hloscope trace -- python train.py\nhloscope trace -o step.hsc --max-size=1024 -- python train.py --steps 10\nhloscope trace --pid=4711 --pause",
};
