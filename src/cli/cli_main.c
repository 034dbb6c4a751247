// cli_main.c - from an argument vector to an exit code: finds the command, reads its options, runs
// it, prints what went wrong.
#include "base/core/log.h"
#include "base/text/text.h"
#include "cli/cli_main.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/cut_file.h"
#include "cli/interrupt.h"
#include "cli/sized_program.h"
#include "cli/terminal.h"
#include "worker/scratch.h"

static void log_to_stderr(void *user, const char *domain, int level, const char *text) {
  fprintf(stderr, "[%s] %s\n", domain, text);
}

// Whether errors must be JSON is needed before the options are understood.
static bool asks_for_json(int argc, char *const *argv) {
  for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
    if (strcmp(argv[i], "--json") == 0 || strcmp(argv[i], "--format=json") == 0 ||
        strcmp(argv[i], "--format=jsonl") == 0 ||
        (strcmp(argv[i], "--format") == 0 && i + 1 < argc && hsc_starts_with(argv[i + 1], "json")))
      return true;
  return false;
}

// The error where there is not even the memory to write one.
static const char without_memory[] =
    "{\n"
    "  \"error\": {\n"
    "    \"code\": \"RESOURCE_EXHAUSTED\",\n"
    "    \"message\": \"out of memory\",\n"
    "    \"where\": null,\n"
    "    \"hint\": null,\n"
    "    \"notes\": []\n"
    "  }\n"
    "}\n";

// Prints the error and frees it.
static int report(hsc_status *status, hsc_cli *cli, bool json) {
  hsc_bytes text = {0};
  int code = hsc_exit_code_of(status, cli->is_usage_error);
  if (json) {
    hsc_error_json(status, &text);
    hsc_cli_write(cli, text.failed ? HSC_VIEW(without_memory) : hsc_bytes_view(&text));
  } else {
    fflush(stdout);
    hsc_error_text(status, &cli->talk_style, &text);
    if (cli->progress_shown)
      fputc('\n', stderr);
    fputs(text.failed ? "error: out of memory\n" : hsc_bytes_text(&text), stderr);
  }
  hsc_bytes_deinit(&text);
  hsc_status_free(status);
  return code;
}

// Data that did not reach the disk is a failure like any other. A reader that went away is not
// worth a word.
static int close_stdout(int code) {
  bool failed = fflush(stdout) != 0 || ferror(stdout);
  int error = errno;
  if (close(STDOUT_FILENO) != 0 && errno != EBADF && !failed) {
    failed = true;
    error = errno;
  }
  if (!failed)
    return code;
  if (error != EPIPE)
    fprintf(stderr, "error: standard output: cannot write: %s\n", strerror(error));
  return 1;
}

static const char *formats_text(const hsc_command *command, hsc_arena *arena) {
  const char *text = "";
  for (unsigned bit = 1; bit <= HSC_FORMAT_PARQUET; bit <<= 1)
    if (command->formats & bit)
      text = hsc_arena_printf(arena, "%s%s%s", text, *text ? ", " : "",
                              hsc_output_format_name((hsc_output_format)bit));
  return text;
}

// Reads the options and runs. Usage errors set cli->is_usage_error.
static hsc_status *run_command(const hsc_command *command,
                               int argc,
                               char *const *argv,
                               hsc_cli *cli) {
  hsc_common_args common = {0};
  void *args = hsc_arena_alloc(cli->arena, command->body->args_bytes);
  HSC_TRY(hsc_arena_status(cli->arena));
  hsc_option_set sets[] = {{command->body->options, args},
                           {hsc_command_common_options(command), &common}};
  // help helps whatever else is written
  for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
    if (strcmp(argv[i], "--help") != 0 && strcmp(argv[i], "-h") != 0)
      continue;
    hsc_bytes text = {0};
    hsc_help_command(command, hsc_command_verb(command, argc, argv), &cli->out_style, &text);
    hsc_cli_put(cli, &text);
    hsc_bytes_deinit(&text);
    return NULL;
  }
  cli->is_usage_error = true;
  HSC_TRY(hsc_options_parse(command->name, sets, HSC_COUNT_OF(sets), argc, argv, cli->arena));
  cli->format = command->first_format;
  if (common.format >= 0 &&
      !hsc_output_format_of_name(hsc_format_choices[common.format], &cli->format))
    cli->format = command->first_format;
  if (common.json && common.format >= 0 && cli->format != HSC_FORMAT_JSON)
    return HSC_ERR(INVALID_ARGUMENT, "%s: --json and --format=%s contradict each other",
                   command->name, hsc_output_format_name(cli->format));
  if (common.json)
    cli->format = HSC_FORMAT_JSON;
  if (!(command->formats & cli->format))
    return HSC_ERR(INVALID_ARGUMENT, "%s: --format=%s is not among %s", command->name,
                   hsc_output_format_name(cli->format), formats_text(command, cli->arena));
  cli->is_usage_error = false;
  for (int i = 0; i < argc && !cli->after_dashes; i++)
    if (!strcmp(argv[i], "--"))
      cli->after_dashes = (size_t)(argc - i - 1);
  // What a plugin does to a worker is told by whoever started it.
  if (strcmp(command->name, "worker") != 0)
    hsc_cli_watch_cut_files();
  cli->quiet = common.quiet;
  cli->out_style = hsc_terminal_style(STDOUT_FILENO, (hsc_color_choice)common.color);
  cli->talk_style = hsc_terminal_style(STDERR_FILENO, (hsc_color_choice)common.color);
  cli->dims = common.dims;
  if (!command->body->sizes_programs)
    HSC_TRY(hsc_cli_size_programs(cli, command->body->options, args));
  return command->body->run(args, cli);
}

static const char *join_arguments(int argc, char *const *argv, hsc_arena *arena) {
  const char *text = "hloscope";
  for (int i = 1; i < argc; i++) {
    hsc_bytes word = {0};  // as a shell takes it
    bool plain = *argv[i] && !strpbrk(argv[i], " \t\n'\"\\$`*?[]{}!;&|<>()#~");
    if (!plain)
      hsc_bytes_append_char(&word, '\'');
    for (const char *at = argv[i]; *at; at++)
      if (*at == '\'')
        hsc_bytes_append_text(&word, "'\\''");
      else
        hsc_bytes_append_char(&word, *at);
    if (!plain)
      hsc_bytes_append_char(&word, '\'');
    text = hsc_arena_printf(arena, "%s %s", text, hsc_bytes_text(&word));
    hsc_bytes_deinit(&word);
  }
  return text;
}

// A file or socket that is opened takes the lowest free number: where a shell closed standard
// output or the errors' stream (`>&-`), what is printed would go into it. Opened the wrong way
// round, so that reading and writing still fail as they do on what is closed.
static void hold_closed_streams(void) {
  for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; stream++)
    if (fcntl(stream, F_GETFD) == -1 && errno == EBADF)
      open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

int hsc_cli_main(int argc, char *const *argv) {
  hsc_cli cli = {.command_name = "", .format = HSC_FORMAT_TEXT};
  hold_closed_streams();
  hsc_cli_end_cleanly();
  signal(SIGPIPE, SIG_DFL);  // `hloscope ... | head` ends quietly
  signal(SIGXFSZ, SIG_IGN);  // a write over `ulimit -f` is an error like that of a full disk
  hsc_log_set_sink(log_to_stderr, NULL);
  cli.out_style = hsc_terminal_style(STDOUT_FILENO, HSC_COLOR_AUTO);
  cli.talk_style = hsc_terminal_style(STDERR_FILENO, HSC_COLOR_AUTO);
  cli.talk_is_terminal = isatty(STDERR_FILENO);
  bool json = asks_for_json(argc, argv);
  hsc_status *status = hsc_arena_create(&cli.arena);
  const char *name = argc > 1 ? argv[1] : NULL;
  if (name && (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0))
    name = "help";
  if (name && strcmp(name, "--version") == 0)
    name = "version";
  const hsc_command *command = name ? hsc_command_find(name) : NULL;
  if (!status && !name) {
    cli.is_usage_error = true;
    hsc_bytes text = {0};
    hsc_help_overview(&cli.talk_style, &text);
    fputs(hsc_bytes_text(&text), stderr);
    hsc_bytes_deinit(&text);
    cli.exit_code = 2;
  } else if (!status && !command) {
    const char *near = hsc_command_near(name);
    cli.is_usage_error = true;
    status =
        hsc_status_hint(HSC_ERR(INVALID_ARGUMENT, "there is no command '%s'%s%s%s", name,
                                near ? "; did you mean '" : "", near ? near : "", near ? "'?" : ""),
                        "hloscope help shows all commands");
  } else if (!status) {
    cli.command_name = command->name;
    cli.command_line = join_arguments(argc, argv, cli.arena);
    status = run_command(command, argc - 2, argv + 2, &cli);
  }
  if (!status && cli.lost_output)
    status = hsc_status_out_of_memory();
  int code = status ? report(status, &cli, json) : cli.exit_code;
  if (hsc_cli_stop)
    code = 128 + hsc_cli_stop;
  if (cli.progress_shown)
    fputc('\n', stderr);
  hsc_arena_destroy(cli.arena);
  hsc_scratch_destroy(cli.scratch);
  return close_stdout(code);
}
