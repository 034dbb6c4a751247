// child.c - a child process with a request pipe, an answer pipe and its last words.
//
// One poll loop (pump) moves everything: whenever the caller sends, reads or waits, it also drains
// the child's output, so a child that talks a lot never blocks for long and never blocks us. No
// threads, no signal handlers.
#include "base/core/bytes.h"
#include "base/core/clock.h"
#include "base/core/memory.h"
#include "base/core/status.h"
#include "base/process/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum {
  ANSWER_FD = 3,
  DEFAULT_KEEP_BYTES = 65536,
  POLL_STEP_NS = 2000000,
  DESTROY_WAIT_NS = 1000000000
};

struct hsc_child {
  pid_t pid;
  int pid_fd;      // readable when it is dead; -1 when the kernel has no pidfd_open
  int request_fd;  // -1 = closed
  int answer_fd;
  int words_fd;           // its stdout and stderr
  hsc_bytes answer;       // read but not yet handed out
  size_t answer_scanned;  // bytes of `answer` known to hold no newline
  hsc_bytes words;
  size_t words_keep;
  bool echo;
  bool read_timed_out;  // a time limit passed before hsc_child_kill
  bool killed_for_time;
  char *note;  // shared with it, HSC_CHILD_NOTE_BYTES; NULL when there is no such memory
  char note_text[HSC_CHILD_NOTE_BYTES];
  hsc_child_exit exit;
};

static void close_fd(int *fd) {
  if (*fd >= 0)
    close(*fd);
  *fd = -1;
}

// A pipe whose ends are above the numbers that the child's descriptors get, closed on exec.
static hsc_status *make_pipe(int ends[2]) {
  int low[2];
  if (pipe2(low, O_CLOEXEC) < 0)
    return hsc_status_errno(errno, "cannot make a pipe", "child process");
  for (int i = 0; i < 2; i++) {
    ends[i] = fcntl(low[i], F_DUPFD_CLOEXEC, 10);
    int error = errno == EINVAL ? EMFILE : errno;  // EINVAL: the limit is under 10
    close(low[i]);
    if (ends[i] >= 0)
      continue;
    if (i == 0)
      close(low[1]);
    if (i == 1)
      close_fd(&ends[0]);
    ends[0] = ends[1] = -1;
    return hsc_status_errno(error, "cannot make a pipe", "child process");
  }
  return NULL;
}

// Memory that the child and we see, as a file above the child's descriptors; -1 and NULL when the
// kernel has none (then there are no notes).
static int make_note(char **out_note) {
  *out_note = NULL;
  int low = memfd_create(HSC_CHILD_NOTE_NAME, MFD_CLOEXEC);
  if (low < 0)
    return -1;
  int fd = fcntl(low, F_DUPFD_CLOEXEC, 10);
  close(low);
  void *at = fd >= 0 && ftruncate(fd, HSC_CHILD_NOTE_BYTES) == 0
                 ? mmap(NULL, HSC_CHILD_NOTE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
                 : MAP_FAILED;
  if (at != MAP_FAILED)
    *out_note = at;
  if (at == MAP_FAILED)
    close_fd(&fd);
  return fd;
}

static bool same_name(const char *a, const char *b) {
  size_t length = strcspn(a, "=");
  return strncmp(a, b, length) == 0 && b[length] == '=';
}

// Our environment with `extra` put over it; the array is the caller's, the strings are borrowed.
// NULL = out of memory.
static char **merge_environment(const char *const *extra) {
  size_t own_count = 0;
  size_t extra_count = 0;
  size_t count = 0;
  while (environ[own_count])
    own_count++;
  while (extra && extra[extra_count])
    extra_count++;
  char **merged = hsc_alloc((own_count + extra_count + 1) * sizeof *merged);
  if (!merged)
    return NULL;
  for (size_t i = 0; i < own_count; i++) {
    bool replaced = false;
    for (size_t j = 0; j < extra_count; j++)
      replaced = replaced || same_name(extra[j], environ[i]);
    if (!replaced)
      merged[count++] = environ[i];
  }
  for (size_t j = 0; j < extra_count; j++)
    merged[count++] = (char *)(uintptr_t)extra[j];
  return merged;
}

// Returns 0 or an errno. The child starts with default SIGPIPE and SIGINT handling and an empty
// signal mask, whatever ours are; `shielded`: with SIGINT in it.
static int spawn(const hsc_child_options *options,
                 char **env,
                 int request_fd,
                 int answer_fd,
                 int words_fd,
                 int note_fd,
                 pid_t *out_pid) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  sigset_t blocked, defaults;
  int error = posix_spawn_file_actions_init(&actions);
  if (error)
    return error;
  error = posix_spawnattr_init(&attributes);
  if (error) {
    posix_spawn_file_actions_destroy(&actions);
    return error;
  }
  sigemptyset(&blocked);
  if (options->shielded)
    sigaddset(&blocked, SIGINT);
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGPIPE);
  sigaddset(&defaults, SIGINT);
  posix_spawnattr_setsigmask(&attributes, &blocked);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  if (!error)
    error = posix_spawn_file_actions_adddup2(&actions, request_fd, STDIN_FILENO);
  if (!error)
    error = posix_spawn_file_actions_adddup2(&actions, words_fd, STDOUT_FILENO);
  if (!error)
    error = posix_spawn_file_actions_adddup2(&actions, words_fd, STDERR_FILENO);
  if (!error)
    error = posix_spawn_file_actions_adddup2(&actions, answer_fd, ANSWER_FD);
  if (!error && note_fd >= 0)
    error = posix_spawn_file_actions_adddup2(&actions, note_fd, HSC_CHILD_NOTE_FD);
  if (!error)
    error = posix_spawnp(out_pid, options->argv[0], &actions, &attributes,
                         (char *const *)(uintptr_t)options->argv, env);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

hsc_status *hsc_child_start(const hsc_child_options *options, hsc_child **out_child) {
  hsc_status *status = NULL;
  int request[2] = {-1, -1};
  int answer[2] = {-1, -1};
  int words[2] = {-1, -1};
  char **env = NULL;
  int note_fd = -1;
  hsc_child *child = hsc_alloc(sizeof *child);
  if (!child)
    return hsc_status_out_of_memory();
  child->pid_fd = child->request_fd = child->answer_fd = child->words_fd = -1;
  HSC_GOTO(make_pipe(request));
  HSC_GOTO(make_pipe(answer));
  HSC_GOTO(make_pipe(words));
  env = merge_environment(options->extra_env);
  if (!env) {
    status = hsc_status_out_of_memory();
    goto done;
  }
  note_fd = make_note(&child->note);
  int error = spawn(options, env, request[0], answer[1], words[1], note_fd, &child->pid);
  if (error) {
    status = hsc_status_errno(error, "cannot be started", options->argv[0]);
    goto done;
  }
  if (options->memory_limit_bytes) {
    struct rlimit limit = {options->memory_limit_bytes, options->memory_limit_bytes};
    prlimit(child->pid, RLIMIT_AS, &limit, NULL);  // fails only when the child is dead already
  }
#ifdef SYS_pidfd_open
  child->pid_fd = (int)syscall(SYS_pidfd_open, child->pid, 0);
#endif
  child->request_fd = request[1];
  request[1] = -1;
  child->answer_fd = answer[0];
  answer[0] = -1;
  child->words_fd = words[0];
  words[0] = -1;
  fcntl(child->request_fd, F_SETFL, O_NONBLOCK);
  fcntl(child->answer_fd, F_SETFL, O_NONBLOCK);
  fcntl(child->words_fd, F_SETFL, O_NONBLOCK);
  child->words_keep = options->stderr_keep_bytes ? options->stderr_keep_bytes : DEFAULT_KEEP_BYTES;
  child->echo = options->echo_stderr;
  *out_child = child;
  child = NULL;
done:
  for (int i = 0; i < 2; i++) {
    close_fd(&request[i]);
    close_fd(&answer[i]);
    close_fd(&words[i]);
  }
  close_fd(&note_fd);
  hsc_free(env);
  if (child && child->note)
    munmap(child->note, HSC_CHILD_NOTE_BYTES);
  hsc_free(child);
  return status;
}

// Reads what is there now. Closes the descriptor at its end.
static void drain(int *fd, hsc_bytes *into, bool echo) {
  char chunk[16384];
  while (*fd >= 0) {
    ssize_t got = read(*fd, chunk, sizeof chunk);
    if (got > 0) {
      hsc_bytes_append(into, chunk, (size_t)got);
      if (echo) {
        ssize_t ignored = write(STDERR_FILENO, chunk, (size_t)got);
        (void)ignored;
      }
      if ((size_t)got < sizeof chunk)
        return;
    } else if (got < 0 && errno == EINTR) {
      continue;
    } else {
      if (got == 0 || errno != EAGAIN)
        close_fd(fd);
      return;
    }
  }
}

// Keeps the last `words_keep` bytes; moves only when twice as much has come.
static void trim_words(hsc_child *child) {
  if (child->words.size <= 2 * child->words_keep)
    return;
  size_t drop = child->words.size - child->words_keep;
  memmove(child->words.data, child->words.data + drop, child->words_keep + 1);
  child->words.size = child->words_keep;
}

static int64_t timeval_ns(struct timeval time) {
  return (int64_t)time.tv_sec * 1000000000 + (int64_t)time.tv_usec * 1000;
}

// Collects the exit if the child is dead. Never blocks.
static bool reap(hsc_child *child) {
  if (child->exit.exited)
    return true;
  int how;
  struct rusage usage;
  pid_t got;
  do
    got = wait4(child->pid, &how, WNOHANG, &usage);
  while (got < 0 && errno == EINTR);
  if (got == 0)
    return false;
  child->exit =
      (hsc_child_exit){.exited = true, .exit_code = -1, .timed_out = child->killed_for_time};
  if (got == child->pid) {
    if (WIFEXITED(how))
      child->exit.exit_code = WEXITSTATUS(how);
    if (WIFSIGNALED(how))
      child->exit.signal = WTERMSIG(how);
    child->exit.max_rss_bytes = (int64_t)usage.ru_maxrss * 1024;
    child->exit.user_ns = timeval_ns(usage.ru_utime);
    child->exit.system_ns = timeval_ns(usage.ru_stime);
  }
  return true;
}

static void pump(hsc_child *child) {
  drain(&child->answer_fd, &child->answer, false);
  drain(&child->words_fd, &child->words, child->echo);
  trim_words(child);
}

// Waits until something can move, the child dies or `timeout_ns` passes (< 0: no limit), then
// pumps.
static void wait_and_pump(hsc_child *child, bool want_write, int64_t timeout_ns) {
  struct pollfd fds[4];
  nfds_t count = 0;
  if (child->answer_fd >= 0)
    fds[count++] = (struct pollfd){.fd = child->answer_fd, .events = POLLIN};
  if (child->words_fd >= 0)
    fds[count++] = (struct pollfd){.fd = child->words_fd, .events = POLLIN};
  if (child->pid_fd >= 0 && !child->exit.exited)
    fds[count++] = (struct pollfd){.fd = child->pid_fd, .events = POLLIN};
  if (want_write && child->request_fd >= 0)
    fds[count++] = (struct pollfd){.fd = child->request_fd, .events = POLLOUT};
  if (child->pid_fd < 0 && (timeout_ns < 0 || timeout_ns > POLL_STEP_NS))
    timeout_ns = POLL_STEP_NS;
  struct timespec limit = {.tv_sec = timeout_ns / 1000000000, .tv_nsec = timeout_ns % 1000000000};
  ppoll(fds, count, timeout_ns < 0 ? NULL : &limit, NULL);
  pump(child);
}

// write() that answers EPIPE instead of raising SIGPIPE in the host process, whatever its handlers
// are.
static ssize_t write_quietly(int fd, const char *data, size_t size) {
  sigset_t pipe_set, old, pending;
  sigemptyset(&pipe_set);
  sigaddset(&pipe_set, SIGPIPE);
  sigpending(&pending);
  bool was_pending = sigismember(&pending, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe_set, &old);
  ssize_t put = write(fd, data, size);
  int error = errno;
  if (put < 0 && error == EPIPE && !was_pending) {
    struct timespec zero = {0};
    while (sigtimedwait(&pipe_set, NULL, &zero) < 0 && errno == EINTR)
      continue;
  }
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  errno = error;
  return put;
}

static hsc_status *send_bytes(hsc_child *child, const char *data, size_t size) {
  while (size > 0) {
    ssize_t put = child->request_fd >= 0 ? write_quietly(child->request_fd, data, size) : -1;
    if (put > 0) {
      data += put;
      size -= (size_t)put;
    } else if (child->request_fd >= 0 && errno == EINTR) {
      continue;
    } else if (child->request_fd >= 0 && errno == EAGAIN && !reap(child)) {
      wait_and_pump(child, true, -1);
    } else {
      close_fd(&child->request_fd);
      return HSC_ERR(UNAVAILABLE, "the child process %d does not read its input any more",
                     (int)child->pid);
    }
  }
  return NULL;
}

hsc_status *hsc_child_send_line(hsc_child *child, hsc_view line) {
  if (memchr(line.data, '\n', line.size))
    return HSC_ERR(INVALID_ARGUMENT, "a request to a child process holds a newline");
  HSC_TRY(send_bytes(child, line.data, line.size));
  return send_bytes(child, "\n", 1);
}

// Moves one line from `answer` to `out`; false when there is none yet.
static bool take_line(hsc_child *child, hsc_bytes *out) {
  hsc_bytes *answer = &child->answer;
  if (answer->size == child->answer_scanned)
    return false;
  char *newline =
      memchr(answer->data + child->answer_scanned, '\n', answer->size - child->answer_scanned);
  if (!newline) {
    child->answer_scanned = answer->size;
    return false;
  }
  size_t length = (size_t)(newline - answer->data);
  size_t left = answer->size - length - 1;
  hsc_bytes_append(out, answer->data, length);
  memmove(answer->data, newline + 1, left);
  answer->data[left] = 0;
  answer->size = left;
  child->answer_scanned = 0;
  return true;
}

hsc_status *hsc_child_read_line(hsc_child *child, int64_t timeout_ns, hsc_bytes *out_line) {
  int64_t start = hsc_now_ns();
  for (;;) {
    bool dead = reap(child);  // before the pump: what a dead child wrote is all there
    pump(child);
    if (take_line(child, out_line))
      return hsc_bytes_status(out_line);
    HSC_TRY(hsc_bytes_status(&child->answer));
    if (dead || child->answer_fd < 0)
      return HSC_ERR(UNAVAILABLE, "the child process %d ended without an answer", (int)child->pid);
    int64_t left = timeout_ns < 0 ? -1 : timeout_ns - (hsc_now_ns() - start);
    if (timeout_ns >= 0 && left <= 0) {
      child->read_timed_out = true;
      return HSC_ERR(DEADLINE_EXCEEDED, "the child process %d gave no answer in %.3g s",
                     (int)child->pid, (double)timeout_ns * 1e-9);
    }
    wait_and_pump(child, false, left);
  }
}

const char *hsc_child_stderr(hsc_child *child) {
  pump(child);
  size_t size = child->words.size;
  return hsc_bytes_text(&child->words) + (size > child->words_keep ? size - child->words_keep : 0);
}

const char *hsc_child_note(hsc_child *child) {
  // it may be writing: the last byte here stays 0
  if (child->note)
    memcpy(child->note_text, child->note, HSC_CHILD_NOTE_BYTES - 1);
  return child->note_text;
}

int hsc_child_pid(const hsc_child *child) {
  return (int)child->pid;
}

void hsc_child_kill(hsc_child *child) {
  if (reap(child))
    return;
  child->killed_for_time = child->read_timed_out;
  kill(child->pid, SIGKILL);
}

hsc_status *hsc_child_wait(hsc_child *child, int64_t timeout_ns, hsc_child_exit *out_exit) {
  int64_t start = hsc_now_ns();
  while (!reap(child)) {
    int64_t left = timeout_ns < 0 ? -1 : timeout_ns - (hsc_now_ns() - start);
    if (timeout_ns >= 0 && left <= 0) {
      child->read_timed_out = true;
      break;
    }
    wait_and_pump(child, false, left);
  }
  pump(child);
  *out_exit = child->exit;
  return NULL;
}

void hsc_child_close_input(hsc_child *child) {
  close_fd(&child->request_fd);
}

void hsc_child_destroy(hsc_child *child) {
  if (!child)
    return;
  hsc_child_exit how = {0};
  close_fd(&child->request_fd);
  hsc_status_free(hsc_child_wait(child, DESTROY_WAIT_NS, &how));
  if (!how.exited) {
    hsc_child_kill(child);
    hsc_status_free(hsc_child_wait(child, -1, &how));
  }
  close_fd(&child->answer_fd);
  close_fd(&child->words_fd);
  close_fd(&child->pid_fd);
  hsc_bytes_deinit(&child->answer);
  hsc_bytes_deinit(&child->words);
  if (child->note)
    munmap(child->note, HSC_CHILD_NOTE_BYTES);
  hsc_free(child);
}
