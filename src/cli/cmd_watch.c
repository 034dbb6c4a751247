// cmd_watch.c - hloscope watch: rules over a command's output or a log that grows, and what is done
// when one fires.
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text/text.h"
#include "base/core/clock.h"
#include "base/files/file_io.h"
#include "cli/command.h"
#include "cli/follow.h"
#include "cli/webhook.h"
#include "doctor/explain.h"
#include "doctor/watch.h"
#include "lab/probe/process_usage.h"

typedef struct watch_args {
  hsc_list command, rules;
  const char *log, *alerts, *run, *webhook, *prometheus, *name;
  int64_t retries;
  double retry_wait_s;
  bool once, stop;
} watch_args;

static const hsc_option options[] = {
    HSC_POSITIONAL_REST(watch_args,
                        command,
                        "COMMAND",
                        HSC_OPTIONAL,
                        "after --: a command that is run and watched"),
    HSC_OPTION_STRING(
        watch_args,
        log,
        "log",
        "FILE",
        NULL,
        "watch a log instead of a command, as it grows and is rotated; - for standard input"),
    HSC_OPTION_FLAG(watch_args, once, "once", "with --log: stop at its end"),
    HSC_OPTION_LIST(watch_args,
                    rules,
                    "rule|r",
                    "RULES",
                    "compile-failed,crash,severity=error",
                    "compile-failed, crash, severity=S, entry=ID, compile-over=S, compiles-over=N, "
                    "recompiles-over=N, misses-over=N, memory-over=SIZE, silent-over=S"),
    HSC_OPTION_STRING(watch_args,
                      alerts,
                      "alerts",
                      "FILE",
                      NULL,
                      "append each alert there as a line of JSON; - for standard output"),
    HSC_OPTION_STRING(watch_args,
                      run,
                      "run",
                      "COMMAND",
                      NULL,
                      "shell command to run for each alert; HLOSCOPE_ALERT holds it as JSON"),
    HSC_OPTION_STRING(watch_args, webhook, "webhook", "URL", NULL, "post each alert there as JSON"),
    HSC_OPTION_STRING(
        watch_args,
        prometheus,
        "prometheus",
        "FILE",
        NULL,
        "write counters to FILE for the text-file collector of Prometheus' node exporter"),
    HSC_OPTION_STRING(watch_args,
                      name,
                      "name",
                      "JOB",
                      NULL,
                      "name of the job in alerts and counters; default: the command or the log"),
    HSC_OPTION_FLAG(watch_args, stop, "stop", "end the command at the first alert"),
    HSC_OPTION_INT(watch_args,
                   retries,
                   "retry",
                   "N",
                   0,
                   "run the command again up to N times when it failed with a transient error"),
    HSC_OPTION_DOUBLE(watch_args,
                      retry_wait_s,
                      "retry-wait",
                      "S",
                      5,
                      "seconds before the first retry; twice as long before each further one"),
    HSC_OPTION_END,
};

typedef struct watching {
  const watch_args *args;
  hsc_cli *cli;
  const char *job;
  hsc_watch *watch;
  hsc_log_reader *reader;
  hsc_webhook *webhook;
  hsc_bytes alerts;  // JSON objects, one a line
  int64_t memory_bytes, peak_bytes;
  int64_t written_ns;  // of the Prometheus file
  uint64_t seen_bytes;
  int attempt;
} watching;

static volatile sig_atomic_t interrupted;
static void note_interrupt(int signal_number) {
  interrupted = signal_number;
}

static void run_action(watching *w, const char *json) {
  setenv("HLOSCOPE_ALERT", json, 1);
  int how = system(w->args->run);
  unsetenv("HLOSCOPE_ALERT");
  int code;
  if (how == -1)
    code = -1;
  else if (WIFEXITED(how))
    code = WEXITSTATUS(how);
  else
    code = 128 + WTERMSIG(how);
  if (code)
    hsc_cli_say(w->cli, "hloscope watch: the command of --run failed (%d)", code);
}

static void append_line(watching *w, const hsc_bytes *line) {
  int fd = open(w->args->alerts, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0 || write(fd, line->data, line->size) != (ssize_t)line->size)
    hsc_cli_say(w->cli, "hloscope watch: %s: %s", w->args->alerts, strerror(errno));
  if (fd >= 0)
    close(fd);
}

static void on_alert(void *user, const hsc_alert *alert) {
  watching *w = user;
  hsc_bytes line = {0};
  hsc_json json;
  hsc_json_init(&json, &line, 0);
  hsc_alert_json(alert, w->job, &json);
  hsc_cli_say(w->cli, "hloscope watch: %s: %s%s%s%s", alert->rule, alert->text,
              alert->entry ? " [" : "", alert->entry ? alert->entry->id : "",
              alert->entry ? "]" : "");
  if (w->webhook)
    hsc_webhook_send(w->webhook, hsc_bytes_view(&line));
  if (w->args->run)
    run_action(w, hsc_bytes_text(&line));
  hsc_bytes_append_char(&line, '\n');
  hsc_bytes_append(&w->alerts, line.data, line.size);
  if (w->args->alerts && strcmp(w->args->alerts, "-") != 0)
    append_line(w, &line);
  else if (w->args->alerts)
    hsc_cli_write(w->cli, hsc_bytes_view(&line));
  hsc_bytes_deinit(&line);
}

static void write_prometheus(watching *w) {
  if (!w->args->prometheus)
    return;
  hsc_bytes text = {0};
  hsc_watch_prometheus(w->watch, hsc_log_reader_report(w->reader), w->job, w->memory_bytes, &text);
  hsc_status *status = hsc_bytes_status(&text);
  if (!status)
    status = hsc_file_write_atomic(w->args->prometheus, text.data, text.size);
  if (status)
    hsc_cli_say(w->cli, "hloscope watch: %s", hsc_status_message(status));
  hsc_status_free(status);
  hsc_bytes_deinit(&text);
  w->written_ns = hsc_now_ns();
}

static void tick(watching *w, pid_t child) {
  int64_t now = hsc_now_ns();
  if (child) {
    hsc_process_usage usage;
    hsc_process_usage_get(child, &usage);
    w->memory_bytes = usage.resident_bytes;
    if (w->memory_bytes > w->peak_bytes)
      w->peak_bytes = w->memory_bytes;
  }
  hsc_watch_tick(w->watch, now, w->memory_bytes);
  if (now - w->written_ns > INT64_C(1000000000))
    write_prometheus(w);
}

static bool on_tick(void *user, pid_t child) {
  watching *w = user;
  uint64_t bytes = hsc_log_reader_bytes(w->reader);
  if (bytes != w->seen_bytes)
    hsc_watch_heard(w->watch, hsc_now_ns());
  w->seen_bytes = bytes;
  tick(w, child);
  return !(w->args->stop && hsc_watch_alert_count(w->watch));
}

// Reads what the log has, and goes on as it grows; a shorter or another file of the name is read
// from its beginning.
static hsc_status *follow_log(watching *w) {
  const char *path = w->args->log;
  bool is_input = !strcmp(path, "-");
  int fd = is_input ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return hsc_status_errno(errno, "cannot open", path);
  struct sigaction note = {.sa_handler = note_interrupt};
  struct sigaction old;
  sigaction(SIGINT, &note, &old);
  static char chunk[1 << 16];
  off_t at = 0;
  hsc_status *status = NULL;
  int64_t next_tick = 0;
  while (!status && !interrupted && on_tick(w, 0)) {
    ssize_t got = read(fd, chunk, sizeof chunk);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      status = hsc_status_errno(errno, "cannot read", path);
    if (got > 0) {
      at += got;
      status = hsc_log_reader_feed(w->reader, chunk, (size_t)got);
      if (!is_input && hsc_now_ns() < next_tick)
        continue;
    } else if (!status && (w->args->once || is_input)) {
      break;
    } else if (!status) {
      struct stat now, held;
      if (!stat(path, &now) && !fstat(fd, &held) &&
          (now.st_ino != held.st_ino || now.st_dev != held.st_dev)) {
        int next = open(path, O_RDONLY | O_CLOEXEC);
        if (next >= 0) {
          close(fd);
          fd = next;
          at = 0;
        }
      } else if (!fstat(fd, &held) && held.st_size < at) {
        at = lseek(fd, 0, SEEK_SET);
      } else {
        hsc_sleep_ns(200000000);
      }
    }
    next_tick = hsc_now_ns() + 200000000;
  }
  sigaction(SIGINT, &old, NULL);
  if (!is_input)
    close(fd);
  return status;
}

static hsc_status *make_reader(watching *w, const hsc_knowledge *kb) {
  hsc_log_options reader_options = {
      .live = !w->args->log, .on_line = hsc_watch_on_line, .user = w->watch};
  return hsc_log_reader_create(kb, &reader_options, &w->reader);
}

// One run of the command; *out_again: it failed with something that may go away.
static hsc_status *run_command(watching *w, bool *out_again) {
  hsc_follow_end end;
  HSC_TRY(hsc_follow_command(&(hsc_follow){.argv = w->args->command.items,
                                           .argv_count = w->args->command.count,
                                           .reader = w->reader,
                                           .echo = true,
                                           .tick_ns = INT64_C(250000000),
                                           .on_tick = on_tick,
                                           .user = w},
                             &end));
  if (end.max_rss_bytes > w->peak_bytes)
    w->peak_bytes = end.max_rss_bytes;
  if (end.signal && !end.stopped)
    hsc_watch_signal(w->watch, end.signal);
  w->cli->exit_code = end.exit_code;
  *out_again = end.exit_code != 0 && !end.stopped && hsc_watch_transient(w->watch) != NULL;
  return NULL;
}

static void count_text(hsc_bytes *out, uint64_t count, const char *what) {
  hsc_bytes_printf(out, "%s%llu %s%s", out->size ? ", " : "", (unsigned long long)count, what,
                   hsc_plural((double)count, "", "s"));
}

static hsc_status *report(watching *w, hsc_cli *cli) {
  hsc_bytes out = {0};
  const hsc_log_report *log = hsc_log_reader_report(w->reader);
  if (cli->format == HSC_FORMAT_JSON) {
    hsc_bytes explained = {0};
    hsc_json json;
    hsc_json_init(&json, &out, 2);
    hsc_json_begin_object(&json);
    hsc_json_kv_string(&json, "job", w->job);
    hsc_json_kv_int(&json, "alert_count", (int64_t)hsc_watch_alert_count(w->watch));
    hsc_json_key(&json, "alerts");
    hsc_json_begin_array(&json);
    for (char *at = (char *)(uintptr_t)hsc_bytes_text(&w->alerts); *at;) {
      size_t length = strcspn(at, "\n");
      at[length] = 0;
      hsc_json_raw(&json, at);
      at += length + 1;
    }
    hsc_json_end_array(&json);
    hsc_json_kv_int(&json, "attempts", w->attempt);
    hsc_json_kv_int(&json, "command_exit_code", cli->exit_code);
    hsc_json_kv_int(&json, "peak_bytes", w->peak_bytes);
    hsc_explain_json(log, &explained);
    hsc_json_key(&json, "log");
    hsc_json_raw(&json, hsc_bytes_text(&explained));
    hsc_json_end_object(&json);
    hsc_bytes_append_char(&out, '\n');
    hsc_bytes_deinit(&explained);
  } else {
    char peak[32];
    hsc_format_quantity((double)w->peak_bytes, "bytes", cli->out_style.unicode, peak);
    count_text(&out, hsc_watch_alert_count(w->watch), "alert");
    count_text(&out, log->lines, "line");
    count_text(&out, log->compiles, "compilation");
    count_text(&out, log->events[HSC_EVENT_COMPILE_FAILED], "failure");
    count_text(&out, log->events[HSC_EVENT_CACHE_HIT], "cache hit");
    if (!w->args->log)
      hsc_bytes_printf(&out, ", peak memory %s, %d run%s", peak, w->attempt,
                       hsc_plural((double)w->attempt, "", "s"));
    hsc_bytes_append_char(&out, '\n');
    if (hsc_watch_alert_count(w->watch) && *log->next)
      hsc_bytes_printf(&out, "Next %s\n", log->next);
  }
  hsc_status *status = hsc_bytes_status(&out);
  if (!status)
    hsc_cli_put(cli, &out);
  hsc_bytes_deinit(&out);
  return status;
}

static hsc_status *watch_all(watching *w, const hsc_knowledge *kb) {
  const watch_args *args = w->args;
  double wait_s = args->retry_wait_s;
  for (bool again = true; again;) {
    again = false;
    w->attempt++;
    HSC_TRY(hsc_watch_create(args->rules.items, args->rules.count, on_alert, w, &w->watch));
    HSC_TRY(make_reader(w, kb));
    if (args->log)
      HSC_TRY(follow_log(w));
    else
      HSC_TRY(run_command(w, &again));
    HSC_TRY(hsc_log_reader_finish(w->reader));
    tick(w, 0);
    write_prometheus(w);
    if (!again || w->attempt > args->retries)
      return NULL;
    hsc_cli_say(w->cli, "hloscope watch: %s may go away; run %d of %lld in %.0f s",
                hsc_watch_transient(w->watch)->id, w->attempt + 1, (long long)args->retries + 1,
                wait_s);
    hsc_sleep_ns((int64_t)(wait_s * 1e9));
    wait_s *= 2;
    hsc_watch_destroy(w->watch);
    hsc_log_reader_destroy(w->reader);
    w->watch = NULL;
    w->reader = NULL;
  }
  return NULL;
}

static hsc_status *run(const void *args_of_command, hsc_cli *cli) {
  const watch_args *args = args_of_command;
  if (!args->log && !args->command.count)
    return hsc_cli_usage(cli, "what is to be watched? hloscope watch -- COMMAND, or --log FILE");
  if (args->log && args->command.count)
    return hsc_cli_usage(cli, "either a command or --log");
  if (args->command.count && cli->after_dashes != args->command.count)
    return hsc_cli_usage(cli, "the command comes after --: hloscope watch -- %s",
                         args->command.items[0]);
  const char *source = args->log ? args->log : args->command.items[0];
  watching w = {.args = args, .cli = cli, .job = args->name ? args->name : hsc_path_file(source)};
  hsc_knowledge *kb = NULL;
  hsc_status *status = NULL;
  hsc_watch *probe = NULL;
  // rules are the user's: a wrong one is a usage error
  status = hsc_watch_create(args->rules.items, args->rules.count, NULL, NULL, &probe);
  hsc_watch_destroy(probe);
  if (status) {
    cli->is_usage_error = true;
    return hsc_status_hint(status, "hloscope watch --help lists the rules");
  }
  HSC_GOTO(hsc_knowledge_load(NULL, &kb));
  if (args->webhook)
    HSC_GOTO(hsc_webhook_create(args->webhook, &w.webhook));
  HSC_GOTO(watch_all(&w, kb));
  HSC_GOTO(report(&w, cli));
  if (hsc_watch_alert_count(w.watch) && !cli->exit_code)
    cli->exit_code = 1;
done:
  if (w.webhook) {
    char why[200];
    int failed = hsc_webhook_close(w.webhook, why, sizeof why);
    if (failed)
      hsc_cli_say(cli, "hloscope watch: %d alert%s could not be delivered to %s: %s", failed,
                  hsc_plural((double)failed, "", "s"), args->webhook, why);
  }
  hsc_watch_destroy(w.watch);
  hsc_log_reader_destroy(w.reader);
  hsc_knowledge_destroy(kb);
  hsc_bytes_deinit(&w.alerts);
  return status;
}

const hsc_command_body hsc_command_watch = {
    .options = options,
    .args_bytes = sizeof(watch_args),
    .run = run,
    .description =
        "Runs a command, or follows a log, and raises an alert when a rule fires: a line on "
        "stderr, a line of JSON, a command, a webhook. Counters go to\n"
        "a file that Prometheus' node exporter reads. A command that failed with a transient error "
        "is run again, a bounded number of times.\n"
        "The exit code is the command's; where that is 0 and there was an alert, 1.",
    .examples =
        "hloscope watch -- python train.py\nhloscope watch --rule "
        "compile-over=600,recompiles-over=20 --webhook https://example.com/hook -- python "
        "train.py\n"
        "hloscope watch --log train.log --rule severity=warning --prometheus "
        "/var/lib/node_exporter/train.prom\nhloscope watch --retry 3 -- python compile.py",
};
