// cmd_doctor.c - hloscope doctor: the checks of checks.def, each in a process of its own with a
// limit, all at once.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/text/text.h"
#include "cli/command.h"
#include "doctor/doctor.h"

typedef struct doctor_args {
  const char *script, *root;
  hsc_list only;
  bool quick, all;
} doctor_args;

static const hsc_option options[] = {
    HSC_POSITIONAL(doctor_args,
                   script,
                   "SCRIPT",
                   HSC_OPTIONAL,
                   "a Python program, to find settings that it makes too late"),
    HSC_OPTION_FLAG(doctor_args, quick, "quick", "only checks that take no time"),
    HSC_OPTION_FLAG(doctor_args, all, "all|a", "also checks that do not concern this machine"),
    HSC_OPTION_LIST(doctor_args, only, "only", "CHECKS", NULL, "only these checks"),
    HSC_OPTION_STRING(doctor_args,
                      root,
                      "root",
                      "DIR",
                      NULL,
                      "examine a copy of another machine: DIR/proc, DIR/sys, DIR/dev, ...; the "
                      "environment is DIR/proc/self/environ"),
    HSC_OPTION_END,
};

typedef struct running {
  pid_t pid;
  int fd;  // what the child says; -1 = done
  int64_t begin_ns;
  hsc_bytes answer;  // "V" + evidence + NUL + fix
  hsc_check_result result;
  double seconds;
  bool chosen;
} running;

// In the child: runs the check and writes what it found.
static void answer_check(size_t index, const hsc_check_options *check_options, int fd) {
  hsc_check_result result;
  hsc_status *status = hsc_check_run(index, check_options, &result);
  char verdict = (char)('0' + (status ? HSC_VERDICT_ERROR : result.verdict));
  hsc_bytes text = {0};
  hsc_bytes_append_char(&text, verdict);
  hsc_bytes_append_text(&text, status ? hsc_status_message(status) : result.evidence);
  hsc_bytes_append_char(&text, 0);
  hsc_bytes_append_text(&text, status ? "" : result.fix);
  for (size_t at = 0; at < text.size;) {
    ssize_t put = write(fd, text.data + at, text.size - at);
    if (put < 0 && errno == EINTR)
      continue;
    if (put <= 0)
      break;
    at += (size_t)put;
  }
  _exit(0);
}

static hsc_status *start_check(size_t index, const hsc_check_options *check_options, running *r) {
  int ends[2];
  if (pipe(ends))
    return hsc_status_errno(errno, "cannot make a pipe", hsc_check_at(index)->id);
  pid_t parent = getpid();
  r->begin_ns = hsc_now_ns();
  r->pid = fork();
  if (r->pid < 0) {
    close(ends[0]);
    close(ends[1]);
    return hsc_status_errno(errno, "cannot start a process", hsc_check_at(index)->id);
  }
  if (!r->pid) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // nobody else would end a check that hangs
    if (getppid() != parent)
      _exit(1);
    close(ends[0]);
    int nowhere = open("/dev/null", O_WRONLY);  // libraries that are loaded talk
    if (nowhere >= 0) {
      dup2(nowhere, STDOUT_FILENO);
      dup2(nowhere, STDERR_FILENO);
    }
    answer_check(index, check_options, ends[1]);
  }
  close(ends[1]);
  r->fd = ends[0];
  return NULL;
}

static void set_result(running *r, hsc_verdict verdict, const char *evidence, const char *fix) {
  r->result = (hsc_check_result){verdict, hsc_strdup(evidence), hsc_strdup(fix)};
  r->seconds = (double)(hsc_now_ns() - r->begin_ns) / 1e9;
}

// Whether a process was at work rather than waiting: it computes now, or has used a third of its
// time. Says nothing of one that is gone.
static bool was_working(pid_t pid, int64_t limit_ns) {
  char path[64];
  char text[1024] = "";
  snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
  if (fd >= 0)
    close(fd);
  const char *after_name = got > 0 ? strrchr(text, ')') : NULL;
  char state = 0;
  unsigned long user = 0;
  unsigned long system = 0;
  if (!after_name || sscanf(after_name + 1, " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu",
                            &state, &user, &system) != 3)
    return false;
  return state == 'R' ||
         (double)(user + system) / (double)sysconf(_SC_CLK_TCK) > (double)limit_ns / 3e9;
}

static void finish_check(size_t index, running *r, bool too_long) {
  bool working = too_long && was_working(r->pid, hsc_check_at(index)->limit_ns);
  if (too_long)
    kill(r->pid, SIGKILL);
  close(r->fd);
  r->fd = -1;
  int how = 0;
  // one that hangs in the kernel cannot be waited for
  pid_t got = waitpid(r->pid, &how, too_long ? WNOHANG : 0);
  char text[160];
  if (working) {
    snprintf(text, sizeof text, "not done after %.1f s, so nothing is known: the machine is busy",
             (double)hsc_check_at(index)->limit_ns / 1e9);
    char fix[96];
    snprintf(fix, sizeof fix, "hloscope doctor --only=%s when it is idle", hsc_check_at(index)->id);
    set_result(r, HSC_VERDICT_WARNING, text, fix);
  } else if (too_long) {
    snprintf(text, sizeof text, "no answer after %.1f s: a device node, a disk or a library hangs",
             (double)hsc_check_at(index)->limit_ns / 1e9);
    set_result(r, HSC_VERDICT_ERROR, text,
               "dmesg tells which driver or network disk does not answer");
  } else if (r->answer.size < 2 || (got == r->pid && WIFSIGNALED(how))) {
    snprintf(text, sizeof text, "the check itself was ended by signal %d (%s)",
             WIFSIGNALED(how) ? WTERMSIG(how) : 0,
             WIFSIGNALED(how) ? strsignal(WTERMSIG(how)) : "no answer");
    set_result(r, HSC_VERDICT_ERROR, text,
               "a library that it loads crashes; reinstall the package");
  } else {
    const char *evidence = r->answer.data + 1;
    size_t length = strlen(evidence);
    set_result(r, (hsc_verdict)(r->answer.data[0] - '0'), evidence,
               2 + length <= r->answer.size ? evidence + length + 1 : "");
  }
  hsc_bytes_deinit(&r->answer);
}

static void collect(running *all, size_t count) {
  for (;;) {
    struct pollfd fds[64];
    size_t of[64];
    nfds_t waiting = 0;
    int64_t now = hsc_now_ns();
    int64_t nearest = INT64_MAX;
    for (size_t i = 0; i < count && waiting < HSC_COUNT_OF(fds); i++) {
      if (!all[i].chosen || all[i].fd < 0)
        continue;
      int64_t left = all[i].begin_ns + hsc_check_at(i)->limit_ns - now;
      if (left <= 0) {
        finish_check(i, &all[i], true);
        continue;
      }
      if (left < nearest)
        nearest = left;
      of[waiting] = i;
      fds[waiting++] = (struct pollfd){.fd = all[i].fd, .events = POLLIN};
    }
    if (!waiting)
      return;
    poll(fds, waiting, (int)(nearest / 1000000) + 1);
    for (nfds_t w = 0; w < waiting; w++) {
      if (!fds[w].revents)
        continue;
      char chunk[4096];
      ssize_t got = read(fds[w].fd, chunk, sizeof chunk);
      if (got > 0)
        hsc_bytes_append(&all[of[w]].answer, chunk, (size_t)got);
      else if (got == 0 || errno != EINTR)
        finish_check(of[w], &all[of[w]], false);
    }
  }
}

static void print_json(const running *all, size_t count, double seconds, hsc_bytes *out) {
  hsc_json json;
  hsc_json_init(&json, out, 2);
  hsc_json_begin_object(&json);
  hsc_json_key(&json, "checks");
  hsc_json_begin_array(&json);
  for (size_t i = 0; i < count; i++) {
    if (!all[i].chosen)
      continue;
    hsc_json_begin_object(&json);
    hsc_json_kv_string(&json, "id", hsc_check_at(i)->id);
    hsc_json_kv_string(&json, "group", hsc_check_at(i)->group);
    hsc_json_kv_string(&json, "verdict", hsc_verdict_name(all[i].result.verdict));
    hsc_json_kv_string(&json, "evidence", all[i].result.evidence);
    hsc_json_kv_string(&json, "fix",
                       all[i].result.fix && *all[i].result.fix ? all[i].result.fix : NULL);
    hsc_json_kv_double(&json, "seconds", all[i].seconds);
    hsc_json_end_object(&json);
  }
  hsc_json_end_array(&json);
  hsc_json_kv_double(&json, "seconds", seconds);
  hsc_json_end_object(&json);
  hsc_bytes_append_char(out, '\n');
}

static void print_text(
    const running *all, size_t count, bool with_all, const hsc_text_style *style, hsc_bytes *out) {
  static const char *const marks[] = {"  -  ", " ok  ", "warn ", "ERROR"};
  static const char *const colors[] = {"\x1b[2m", "\x1b[32m", "\x1b[33m", "\x1b[31m"};
  int width;
  if (style->width > 40) {
    if (style->width < 140)
      width = style->width;
    else
      width = 140;
  } else
    width = 120;
  size_t hidden = 0;
  size_t counts[4] = {0};
  const char *group = "";
  for (size_t i = 0; i < count; i++) {
    if (!all[i].chosen)
      continue;
    hsc_verdict verdict = all[i].result.verdict;
    counts[verdict]++;
    if (verdict == HSC_VERDICT_NOT_APPLICABLE && !with_all) {
      hidden++;
      continue;
    }
    const hsc_check *check = hsc_check_at(i);
    if (strcmp(group, check->group) != 0)
      hsc_bytes_printf(out, "%s%s%s\n", style->color ? "\x1b[1m" : "", check->group,
                       style->color ? "\x1b[0m" : "");
    group = check->group;
    hsc_bytes_printf(out, "  %s%s%s %-15s ", style->color ? colors[verdict] : "", marks[verdict],
                     style->color ? "\x1b[0m" : "", check->id);
    hsc_text_wrap(all[i].result.evidence ? all[i].result.evidence : "", 24, width, out);
    if (all[i].result.fix && *all[i].result.fix && verdict != HSC_VERDICT_NOT_APPLICABLE) {
      hsc_bytes_printf(out, "%21s-> ", "");
      hsc_text_wrap(all[i].result.fix, 24, width, out);
    }
  }
  hsc_bytes total = {0};
  hsc_bytes_printf(
      &total, "%zu ok, %zu %s, %zu %s", counts[HSC_VERDICT_OK], counts[HSC_VERDICT_WARNING],
      hsc_plural((double)counts[HSC_VERDICT_WARNING], "warning", "warnings"),
      counts[HSC_VERDICT_ERROR], hsc_plural((double)counts[HSC_VERDICT_ERROR], "error", "errors"));
  if (hidden)
    hsc_bytes_printf(&total, "; %zu %s not concern this machine (--all shows %s)", hidden,
                     hsc_plural((double)hidden, "check does", "checks do"),
                     hsc_plural((double)hidden, "it", "them"));
  hsc_text_wrap(hsc_bytes_text(&total), 0, width, out);
  hsc_bytes_deinit(&total);
}

static hsc_status *choose(const doctor_args *args, running *all, hsc_cli *cli) {
  size_t count = hsc_check_count();
  for (size_t i = 0; i < count; i++)
    all[i].chosen = !args->only.count && (!args->quick || hsc_check_at(i)->quick);
  for (size_t k = 0; k < args->only.count; k++) {
    bool found = false;
    for (size_t i = 0; i < count; i++)
      if (!strcmp(hsc_check_at(i)->id, args->only.items[k]))
        all[i].chosen = found = true;
    if (found)
      continue;
    const char *names[64];
    for (size_t i = 0; i < count; i++)
      names[i] = hsc_check_at(i)->id;
    const char *near = hsc_did_you_mean(args->only.items[k], names, count);
    return near ? hsc_cli_usage(cli, "there is no check '%s'; did you mean '%s'?",
                                args->only.items[k], near)
                : hsc_cli_usage(
                      cli, "there is no check '%s'; hloscope doctor --all --format=json lists them",
                      args->only.items[k]);
  }
  return NULL;
}

static hsc_status *run(const void *args_of_command, hsc_cli *cli) {
  const doctor_args *args = args_of_command;
  running *all = HSC_NEW_ARRAY(cli->arena, running, hsc_check_count());
  if (!all)
    return hsc_status_out_of_memory();
  HSC_TRY(choose(args, all, cli));
  hsc_check_options check_options = {
      .root = args->root ? args->root : "", .script = args->script, .quick = args->quick};
  int64_t begin_ns = hsc_now_ns();
  hsc_status *status = NULL;
  for (size_t i = 0; i < hsc_check_count(); i++) {
    all[i].fd = -1;
    if (!all[i].chosen)
      continue;
    if (!status)
      status = start_check(i, &check_options, &all[i]);
    if (status)
      all[i].chosen = false;
  }
  collect(all, hsc_check_count());
  hsc_bytes out = {0};
  double seconds = (double)(hsc_now_ns() - begin_ns) / 1e9;
  if (!status) {
    if (cli->format == HSC_FORMAT_JSON)
      print_json(all, hsc_check_count(), seconds, &out);
    else
      print_text(all, hsc_check_count(), args->all || args->only.count, &cli->out_style, &out);
    status = hsc_bytes_status(&out);
  }
  if (!status)
    hsc_cli_put(cli, &out);
  for (size_t i = 0; i < hsc_check_count(); i++) {
    if (all[i].chosen && all[i].result.verdict == HSC_VERDICT_ERROR)
      cli->exit_code = 1;
    hsc_check_result_deinit(&all[i].result);
  }
  hsc_bytes_deinit(&out);
  return status;
}

const hsc_command_body hsc_command_doctor = {
    .options = options,
    .args_bytes = sizeof(doctor_args),
    .run = run,
    .description =
        "Looks at the machine, its accelerators and drivers, the Python environment, environment "
        "variables, compiler flags and compile caches.\nEach check says ok, warning or error, what "
        "it saw, and what to do. Nothing is changed and Python is not started. A check that hangs "
        "is stopped and reported. The exit code is 1 if there is an error.",
    .examples =
        "hloscope doctor\nhloscope doctor --quick\nhloscope doctor train.py\nhloscope doctor "
        "--only=frameworks,plugins --format=json",
};
