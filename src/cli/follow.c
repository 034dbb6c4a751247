// follow.c - one pipe for both streams of a command, read until it ends.
#include "base/core/clock.h"
#include "cli/child_program.h"
#include "cli/follow.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { CHUNK_BYTES = 1 << 16, POLL_MS = 50, GRACE_NS = 5 };

static hsc_status *start(const hsc_follow *follow, int write_end, pid_t *out_child) {
  char **argv = hsc_alloc((follow->argv_count + 1) * sizeof *argv);
  size_t count = 0;
  while (environ[count])
    count++;
  char **environment = hsc_alloc((count + 3) * sizeof *environment);
  static char unbuffered[] = "PYTHONUNBUFFERED=1";
  static char tells_compiles[] = "JAX_LOG_COMPILES=1";
  if (!argv || !environment) {
    hsc_free(argv);
    hsc_free(environment);
    return hsc_status_out_of_memory();
  }
  for (size_t i = 0; i < follow->argv_count; i++)
    argv[i] = (char *)(uintptr_t)follow->argv[i];
  memcpy(environment, environ, count * sizeof *environment);
  if (!getenv("PYTHONUNBUFFERED"))
    environment[count++] = unbuffered;
  if (!getenv("JAX_LOG_COMPILES"))
    environment[count] = tells_compiles;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_t actions;
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_init(&actions);
  sigset_t defaults;
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGINT);
  sigaddset(&defaults, SIGQUIT);
  sigaddset(&defaults, SIGPIPE);
  sigaddset(&defaults, SIGXFSZ);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  posix_spawn_file_actions_adddup2(&actions, write_end, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, write_end, STDERR_FILENO);
  int error = posix_spawnp(out_child, argv[0], &actions, &attributes, argv, environment);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  hsc_status *status = hsc_cli_not_started(argv[0], error);
  hsc_free(argv);
  hsc_free(environment);
  return status;
}

static void echo_bytes(const char *bytes, size_t size) {
  while (size) {
    ssize_t put = write(STDERR_FILENO, bytes, size);
    if (put < 0 && errno == EINTR)
      continue;
    if (put <= 0)
      return;
    bytes += put;
    size -= (size_t)put;
  }
}

// What JAX prints because of JAX_LOG_COMPILES, which is ours: read, not shown. A line that begins
// like one of them is held until it is whole.
typedef struct echo {
  bool hides;
  char line[4096];
  size_t size;
  bool passes;  // the rest of this line is shown as it comes
} echo;

static bool is_told_for_us(const char *line) {
  return !strncmp(line, "Finished XLA compilation of ", 28) ||
         !strncmp(line, "Finished jaxpr to MLIR module conversion ", 41) ||
         (!strncmp(line, "Finished tracing ", 17) && strstr(line, " in ")) ||
         (!strncmp(line, "Compiling ", 10) && strstr(line, " with global shapes and types "));
}

static bool may_be_told_for_us(const char *line, size_t size) {
  static const char *const begins[] = {"Finished ", "Compiling "};
  for (size_t i = 0; i < HSC_COUNT_OF(begins); i++) {
    size_t length = strlen(begins[i]);
    if (!strncmp(line, begins[i], size < length ? size : length))
      return true;
  }
  return false;
}

static void end_held(echo *e, bool show) {
  if (show)
    echo_bytes(e->line, e->size);
  e->size = 0;
}

static void echo_some(echo *e, const char *bytes, size_t size) {
  if (!e->hides) {
    echo_bytes(bytes, size);
    return;
  }
  size_t shown = 0;  // of these bytes
  for (size_t i = 0; i < size; i++) {
    bool ends = bytes[i] == '\n';
    if (!e->passes) {
      e->line[e->size++] = bytes[i];
      e->line[e->size] = 0;
      bool whole = ends || e->size == sizeof e->line - 1;
      if (whole || !may_be_told_for_us(e->line, e->size)) {
        end_held(e, !is_told_for_us(e->line));
        e->passes = !ends;
      }
      shown = i + 1;
    } else if (ends) {
      echo_bytes(bytes + shown, i + 1 - shown);
      shown = i + 1;
      e->passes = false;
    }
  }
  if (e->passes)
    echo_bytes(bytes + shown, size - shown);
}

// Reads what is there; false at the end of the stream.
static hsc_status *read_some(
    const hsc_follow *follow, echo *shown, int fd, char *chunk, bool *out_open) {
  for (;;) {
    ssize_t got = read(fd, chunk, CHUNK_BYTES);
    if (got < 0 && errno == EINTR)
      continue;
    *out_open = got > 0 || (got < 0 && errno == EAGAIN);
    if (got <= 0)
      return NULL;
    if (follow->echo)
      echo_some(shown, chunk, (size_t)got);
    HSC_TRY(hsc_log_reader_feed(follow->reader, chunk, (size_t)got));
    if (got < CHUNK_BYTES)
      return NULL;
  }
}

static hsc_status *follow_child(const hsc_follow *follow,
                                int fd,
                                pid_t child,
                                hsc_follow_end *end) {
  echo shown = {.hides = !getenv("JAX_LOG_COMPILES")};
  char *chunk = hsc_alloc(CHUNK_BYTES);
  if (!chunk)
    return hsc_status_out_of_memory();
  hsc_status *status = NULL;
  int64_t begin_ns = hsc_now_ns();
  int64_t next_tick = begin_ns + follow->tick_ns;
  int64_t kill_ns = 0;
  bool open = true;
  bool dead = false;
  int how = 0;
  struct rusage usage = {0};
  while (!status && !dead) {
    struct pollfd ready = {.fd = open ? fd : -1, .events = POLLIN};
    poll(&ready, 1, POLL_MS);
    // before the last read, so that nothing it wrote is missed
    pid_t got = wait4(child, &how, WNOHANG, &usage);
    dead = got == child || (got < 0 && errno == ECHILD);
    if (open)
      status = read_some(follow, &shown, fd, chunk, &open);
    int64_t now = hsc_now_ns();
    if (follow->on_tick && follow->tick_ns && now >= next_tick && !end->stopped) {
      next_tick = now + follow->tick_ns;
      if (!follow->on_tick(follow->user, child)) {
        end->stopped = true;
        kill(child, SIGTERM);
        kill_ns = now + GRACE_NS * INT64_C(1000000000);
      }
    }
    if (kill_ns && now > kill_ns)
      kill(child, SIGKILL);
  }
  hsc_free(chunk);
  end_held(&shown, follow->echo);
  if (!dead) {
    kill(child, SIGKILL);
    wait4(child, &how, 0, &usage);
  }
  end->seconds = (double)(hsc_now_ns() - begin_ns) / 1e9;
  end->max_rss_bytes = (int64_t)usage.ru_maxrss * 1024;
  end->signal = WIFSIGNALED(how) ? WTERMSIG(how) : 0;
  end->exit_code = end->signal ? 128 + end->signal : WEXITSTATUS(how);
  return status;
}

hsc_status *hsc_follow_command(const hsc_follow *follow, hsc_follow_end *out_end) {
  *out_end = (hsc_follow_end){0};
  int ends[2];
  if (pipe2(ends, O_CLOEXEC))
    return hsc_status_errno(errno, "cannot make a pipe", follow->argv[0]);
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  struct sigaction ignore = {.sa_handler = SIG_IGN};
  struct sigaction old_int;
  struct sigaction old_quit;
  sigaction(SIGINT, &ignore, &old_int);
  sigaction(SIGQUIT, &ignore, &old_quit);
  pid_t child = 0;
  hsc_status *status = start(follow, ends[1], &child);
  close(ends[1]);
  if (!status)
    status = follow_child(follow, ends[0], child, out_end);
  close(ends[0]);
  sigaction(SIGINT, &old_int, NULL);
  sigaction(SIGQUIT, &old_quit, NULL);
  return status;
}
