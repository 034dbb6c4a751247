// cmd_explain.c - hloscope explain: what a log says, and what to do about it.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/text/text.h"
#include "cli/command.h"
#include "cli/follow.h"
#include "base/files/unpack.h"
#include "doctor/explain.h"

typedef struct explain_args {
  hsc_list inputs;
  bool all;
  const char *knowledge;
  hsc_list versions;
} explain_args;

static const hsc_option options[] = {
    HSC_POSITIONAL_REST(explain_args,
                        inputs,
                        "FILE",
                        HSC_OPTIONAL,
                        "a log, or - for standard input; or, after --, a command that is run"),
    HSC_OPTION_FLAG(
        explain_args, all, "all|a", "also messages that are expected and need no action, in full"),
    HSC_OPTION_STRING(explain_args,
                      knowledge,
                      "knowledge",
                      "DIR",
                      NULL,
                      "entries to use instead of the installed ones"),
    HSC_OPTION_LIST(explain_args,
                    versions,
                    "versions",
                    "NAMES",
                    NULL,
                    "versions that the log was made with: jax==0.4.30,neuronx-cc==2.15; those that "
                    "it shows are read from it"),
    HSC_OPTION_END,
};

static volatile sig_atomic_t interrupted;
static void note_interrupt(int signal) {
  interrupted = signal;
}

static hsc_status *feed_reader(void *reader, const void *bytes, size_t size) {
  return hsc_log_reader_feed(reader, bytes, size);
}

// Until the end, or until the user has seen enough: what was read by then is reported, also of a
// packed log that is cut off.
static hsc_status *read_file(hsc_cli *cli, const char *path, hsc_log_reader *reader) {
  bool is_input = !strcmp(path, "-");
  int fd = is_input ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return hsc_status_errno(errno, "cannot open", path);
  // the bytes, their copy and what is left of it without escapes stay in the cache
  enum { CHUNK = 1 << 16 };
  char *chunk = hsc_alloc(CHUNK);
  hsc_unpacker *unpacker = NULL;
  hsc_status *status = chunk ? hsc_unpacker_create(&unpacker) : hsc_status_out_of_memory();
  bool at_end = false;
  interrupted = 0;
  struct sigaction note = {.sa_handler = note_interrupt};
  struct sigaction old;
  sigaction(SIGINT, &note, &old);
  while (!status && !interrupted && !at_end) {
    ssize_t got = read(fd, chunk, CHUNK);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      status = hsc_status_errno(errno, "cannot read", path);
    else if (got > 0)
      status = hsc_unpacker_feed(unpacker, (hsc_view){chunk, (size_t)got}, feed_reader, reader);
    else
      at_end = true;
  }
  if (!status && at_end)
    status = hsc_unpacker_finish(unpacker);
  sigaction(SIGINT, &old, NULL);
  if (status && hsc_status_code(status) == HSC_DATA_LOSS) {
    hsc_cli_say(cli, "warning: %s: %s; this is what was read until there", path,
                hsc_status_message(status));
    hsc_status_free(status);
    status = NULL;
    cli->exit_code = 1;
  }
  hsc_unpacker_destroy(unpacker);
  hsc_free(chunk);
  if (!is_input)
    close(fd);
  return status;
}

static void say_problems(hsc_cli *cli, const hsc_knowledge_problem *problems, size_t count) {
  for (size_t i = 0; i < count; i++)
    hsc_cli_say(cli, "warning: this entry is left out: %s:%d: %s", problems[i].path,
                problems[i].line, problems[i].message);
}

// The command itself when it is a python with its path, in whose environment the program runs.
static const char *python_of(const char *command) {
  const char *slash = strrchr(command, '/');
  return slash && hsc_starts_with(slash + 1, "python") ? command : NULL;
}

static void say_first(void *user, const hsc_finding *finding) {
  hsc_cli *cli = user;
  if (cli->quiet || finding->entry->severity == HSC_SEVERITY_INFO)
    return;
  hsc_cli_say(cli, "hloscope: %s: %s [%s]%s%s", hsc_severity_name(finding->entry->severity),
              finding->entry->title, finding->entry->id, *finding->entry->next ? " -> " : "",
              finding->entry->next);
}

static hsc_status *run(const void *args_of_command, hsc_cli *cli) {
  const explain_args *args = args_of_command;
  hsc_knowledge *kb = NULL;
  hsc_log_reader *reader = NULL;
  hsc_versions *versions = NULL;
  hsc_bytes out = {0};
  hsc_status *status = NULL;
  bool is_command = cli->after_dashes > 0;
  const char *source;
  if (is_command)
    source = args->inputs.items[0];
  else if (args->inputs.count)
    source = args->inputs.items[0];
  else
    source = "-";
  if (is_command && cli->after_dashes != args->inputs.count)
    return hsc_cli_usage(cli, "either a log or, after --, a command");
  if (!is_command && args->inputs.count > 1)
    return hsc_cli_usage(cli,
                         "one log at a time; a command comes after --: hloscope explain -- %s ...",
                         args->inputs.items[0]);
  HSC_TRY(hsc_knowledge_load(args->knowledge, &kb));
  size_t count = 0;
  const hsc_knowledge_problem *problems = hsc_knowledge_problems(kb, &count);
  say_problems(cli, problems, count);
  HSC_GOTO(hsc_versions_create(&versions));
  for (size_t i = 0; i < args->versions.count; i++)
    HSC_GOTO(hsc_versions_add_text(versions, args->versions.items[i], HSC_VERSIONS_FROM_USER));
  if (is_command)
    HSC_GOTO(hsc_versions_add_environment(versions, python_of(source)));
  hsc_log_options reader_options = {.live = is_command,
                                    .on_first = is_command ? say_first : NULL,
                                    .user = cli,
                                    .versions = versions};
  HSC_GOTO(hsc_log_reader_create(kb, &reader_options, &reader));
  problems = hsc_log_reader_problems(reader, &count);
  say_problems(cli, problems, count);
  int64_t begin_ns = hsc_now_ns();
  if (is_command) {
    hsc_follow_end end;
    HSC_GOTO(hsc_follow_command(&(hsc_follow){.argv = args->inputs.items,
                                              .argv_count = args->inputs.count,
                                              .reader = reader,
                                              .echo = true},
                                &end));
    cli->exit_code = end.exit_code;
    if (end.signal)
      hsc_cli_say(cli, "the program was ended by signal %d (%s)", end.signal,
                  strsignal(end.signal));
  } else {
    HSC_GOTO(read_file(cli, source, reader));
    if (interrupted) {
      hsc_cli_say(cli, "interrupted: this is what was read until then");
      cli->exit_code = 128 + interrupted;
    }
  }
  HSC_GOTO(hsc_log_reader_finish(reader));
  double seconds = (double)(hsc_now_ns() - begin_ns) / 1e9;
  if (cli->format == HSC_FORMAT_JSON)
    hsc_explain_json(hsc_log_reader_report(reader), &out);
  else
    hsc_explain_text(hsc_log_reader_report(reader), strcmp(source, "-") ? source : "standard input",
                     seconds, args->all, &cli->out_style, &out);
  HSC_GOTO(hsc_bytes_status(&out));
  hsc_cli_put(cli, &out);
done:
  hsc_bytes_deinit(&out);
  hsc_log_reader_destroy(reader);
  hsc_versions_destroy(versions);
  hsc_knowledge_destroy(kb);
  return status;
}

const hsc_command_body hsc_command_explain = {
    .options = options,
    .args_bytes = sizeof(explain_args),
    .run = run,
    .description =
        "Reads the log of a compiler, a runtime or a framework and prints what it recognises: what "
        "each message means, whether it matters, what to do\n"
        "and where it was discussed, the worst first, each once. Ends with a summary of "
        "compilations and the next thing to do.\n"
        "The log may be compressed (gzip, zstd). Ctrl-C stops reading and reports what was read so "
        "far.\n"
        "After --, runs a command, passes its output through, reports known messages as they "
        "appear, and exits with the command's exit code.",
    .examples =
        "hloscope explain train.log\ndmesg | hloscope explain -\nhloscope explain --format=json "
        "train.log\nhloscope explain -- python train.py",
};
