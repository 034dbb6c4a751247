// tracer_death.c - writes profiles when the process dies otherwise than by returning from main.
//
// Three ways lead to write_all():
//   _exit      this preloaded library is before libc's; the writers run on the calling thread.
//   a crash    the thread cannot go on. A writer may be Python's (JAX's profiler), which needs
//              the interpreter's lock: where the crashed thread holds it, it writes itself; else
//              a thread of ours does, which waited for this since the beginning.
//   TERM etc.  the program is healthy: where the signal met a thread that holds the lock, Python's
//              main thread writes before its next bytecode (a pending call) and dies there: it
//              does not go on to its end, whose exit code would take the place of the signal.
//              Where it does not come to one in a second, our thread takes its turn at the lock.
// Whoever writes has claimed it first; all others wait for it and die of the same signal. Nothing
// may hang: after ten seconds the process dies without having written. A forked child has none of
// this.
#include "pjrt/tracer_death.h"

#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/core/base.h"

enum { MOST_WRITERS = 4, LIMIT_MS = 10000, TURN_MS = 1000, STEP_MS = 2 };
enum { TASK_WRITE = 1, TASK_WRITE_AND_DIE, TASK_WATCH };

static void (*_Atomic writers[MOST_WRITERS])(void);
HSC_EXPORT _Atomic int hsc_tracer_dying;  // 1 = a crash or an end is under way; the plugin looks
static _Atomic int task, claimed, written;
static _Atomic pid_t owner;
static volatile sig_atomic_t fatal_signal;
static sem_t wake;
// PyGILState_Check, Py_AddPendingCall, PyEval_SaveThread; NULL = no Python here
static int (*holds_interpreter)(void);
static int (*call_soon)(int (*function)(void *), void *argument);
static void *(*let_others_run)(void);
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

// Writes, unless somebody does already.
static void write_all(void) {
  if (atomic_exchange(&claimed, 1))
    return;
  for (int i = 0; i < MOST_WRITERS; i++) {
    void (*write)(void) = atomic_load(&writers[i]);
    if (write)
      write();
  }
  atomic_store(&written, 1);
}

static void wait_for(_Atomic int *what, int limit_ms) {
  const struct timespec step = {.tv_nsec = STEP_MS * 1000000};
  for (int waited = 0; waited < limit_ms && !atomic_load(what); waited += STEP_MS)
    nanosleep(&step, NULL);
}

static void wait_until_written(void) {
  wait_for(&written, LIMIT_MS);
}

static void die(int number) {
  sigset_t only;
  signal(number, SIG_DFL);
  sigemptyset(&only);
  sigaddset(&only, number);
  pthread_sigmask(SIG_UNBLOCK, &only, NULL);
  kill(getpid(), number);
}

// What Python's main thread does before its next bytecode, with the interpreter's lock: the end of
// the program. Where our thread was first, it needs the lock.
static int end_here(void *unused) {
  if (atomic_load(&claimed) && !atomic_load(&written) && let_others_run)
    let_others_run();
  write_all();
  wait_until_written();
  die(fatal_signal);
  return 0;
}

static void *wait_for_death(void *unused) {
  while (sem_wait(&wake))
    continue;
  if (atomic_load(&task) == TASK_WATCH) {
    wait_until_written();
    if (!atomic_load(&written))
      die(fatal_signal);
    return NULL;
  }
  bool dies = atomic_load(&task) == TASK_WRITE_AND_DIE;
  if (dies && call_soon)
    wait_for(&claimed, TURN_MS);
  write_all();
  wait_until_written();
  if (dies)
    die(fatal_signal);
  return NULL;
}

// Also guards against a writer that takes too long.
static void *end_anyway(void *unused) {
  wait_until_written();
  const struct timespec moment = {.tv_sec = 1};
  nanosleep(&moment, NULL);
  die(fatal_signal);
  return NULL;
}

// Whether a signal began the end: nothing catches SIGKILL, which stands for _exit here.
static bool has_signal(void) {
  return fatal_signal && fatal_signal != SIGKILL;
}

// The program came to its end while others write: it dies of the signal all the same.
static void at_exit(void) {
  if (atomic_load(&owner) != getpid() || !has_signal())
    return;
  wait_until_written();
  die(fatal_signal);
}

static void on_signal(int number, siginfo_t *info, void *context) {
  if (atomic_load(&owner) != getpid()) {
    die(number);
    return;
  }
  if (atomic_exchange(&hsc_tracer_dying, 1)) {  // a second one, while the first is written
    if (info->si_code <= 0 && number != SIGABRT)
      return;
    wait_until_written();  // a thread that cannot go on
    die(has_signal() ? fatal_signal : number);
    return;
  }
  fatal_signal = number;
  bool from_outside = info->si_code == SI_USER || info->si_code == SI_QUEUE;
  bool holds = holds_interpreter && holds_interpreter();
  if (from_outside && holds) {
    atomic_store(&task, TASK_WRITE_AND_DIE);
    if (call_soon)
      call_soon(end_here, NULL);
    sem_post(&wake);
    return;
  }
  atomic_store(&task, holds ? TASK_WATCH : TASK_WRITE);
  sem_post(&wake);
  if (holds)
    write_all();
  else
    wait_until_written();
  die(number);
}

static void install(void) {
  static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT,
                                SIGTERM, SIGHUP, SIGINT, SIGXCPU};
  for (size_t i = 0; i < HSC_COUNT_OF(signals); i++) {
    struct sigaction old;
    if (sigaction(signals[i], NULL, &old) || old.sa_flags & SA_SIGINFO || old.sa_handler != SIG_DFL)
      continue;
    struct sigaction ours = {.sa_sigaction = on_signal,
                             .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};
    sigemptyset(&ours.sa_mask);
    sigaction(signals[i], &ours, NULL);
  }
}

// A function of the program's Python, into a pointer to it.
static void find(const char *name, void *out_function) {
  void *found = dlsym(RTLD_DEFAULT, name);
  memcpy(out_function, &found, sizeof found);
}

static void begin(void) {
  find("PyGILState_Check", &holds_interpreter);
  find("Py_AddPendingCall", &call_soon);
  find("PyEval_SaveThread", &let_others_run);
  if (sem_init(&wake, 0, 0))
    return;
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  int error = pthread_create(&thread, NULL, wait_for_death, NULL);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (error)
    return;
  pthread_detach(thread);
  atexit(at_exit);
  atomic_store(&owner, getpid());
  install();
}

HSC_EXPORT void hsc_tracer_at_death(void (*write)(void)) {
  pthread_mutex_lock(&lock);
  if (!atomic_load(&owner))
    begin();
  for (int i = 0; i < MOST_WRITERS && atomic_load(&owner) == getpid(); i++) {
    void (*there)(void) = atomic_load(&writers[i]);
    if (there == write)
      break;
    if (there)
      continue;
    atomic_store(&writers[i], write);
    break;
  }
  pthread_mutex_unlock(&lock);
}

// A child between vfork and exec ends by this too: it is not the owner, and nothing is touched.
static _Noreturn void leave(int code) {
  if (atomic_load(&owner) == (pid_t)syscall(SYS_getpid) && !atomic_exchange(&hsc_tracer_dying, 1)) {
    fatal_signal = SIGKILL;
    pthread_t watch;
    if (!pthread_create(&watch, NULL, end_anyway, NULL))
      pthread_detach(watch);
    write_all();
  } else if (atomic_load(&owner) == (pid_t)syscall(SYS_getpid) && fatal_signal) {
    wait_until_written();  // a signal came first: it is what the process dies of
    die(fatal_signal);
  }
  for (;;)
    syscall(SYS_exit_group, code);
}

// What libc calls _exit and _Exit, for everybody in this process.
HSC_EXPORT _Noreturn void hsc__exit_here(int code) __asm__("_exit");
HSC_EXPORT _Noreturn void hsc__exit_here_too(int code) __asm__("_Exit");

_Noreturn void hsc__exit_here(int code) {
  leave(code);
}
_Noreturn void hsc__exit_here_too(int code) {
  leave(code);
}
