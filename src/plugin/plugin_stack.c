// plugin_stack.c - compiles on threads of our own, whose stacks are deep: hosts compile on threads
// with stacks of any size, and a program may nest as deep as it likes. A stack that overflows would
// end the host's process.
//
// A thread that has done its job waits for the next one; there are as many as compiles ran at once.
// Handing a job over costs two context switches. Pages of a stack count only once they are touched.
// Where no such thread can be made (a limit on address space), a smaller one is tried, then the
// caller's own.
#include "plugin/plugin_internal.h"

#include <unistd.h>

typedef struct deep_thread {
  pthread_cond_t changed;
  void (*job)(void *);  // NULL = idle
  void *argument;
  bool done;
  struct deep_thread *next;  // in the list of idle ones
} deep_thread;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static deep_thread *idle;
// the process that the idle threads belong to: a forked child has none of them
static pid_t idle_of;

static void *serve(void *argument) {
  deep_thread *self = argument;
  pthread_mutex_lock(&lock);
  for (;;) {
    while (!self->job)
      pthread_cond_wait(&self->changed, &lock);
    pthread_mutex_unlock(&lock);
    self->job(self->argument);
    pthread_mutex_lock(&lock);
    self->job = NULL;
    self->done = true;
    pthread_cond_broadcast(&self->changed);
  }
  return NULL;
}

static deep_thread *make_thread(void) {
  static const size_t sizes[] = {(size_t)256 << 20, (size_t)32 << 20};
  deep_thread *thread = hsc_alloc(sizeof *thread);
  if (!thread)
    return NULL;
  pthread_cond_init(&thread->changed, NULL);
  for (size_t i = 0; i < HSC_COUNT_OF(sizes); i++) {
    pthread_attr_t attributes;
    pthread_t id;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, sizes[i]);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    int failed = pthread_create(&id, &attributes, serve, thread);
    pthread_attr_destroy(&attributes);
    if (!failed)
      return thread;
  }
  pthread_cond_destroy(&thread->changed);
  hsc_free(thread);
  return NULL;
}

void hsc__on_deep_stack(void (*job)(void *), void *argument) {
  pid_t process = getpid();
  pthread_mutex_lock(&lock);
  if (idle_of != process) {
    idle = NULL;
    idle_of = process;
  }
  deep_thread *thread = idle;
  if (thread)
    idle = thread->next;
  pthread_mutex_unlock(&lock);
  if (!thread)
    thread = make_thread();
  if (!thread) {
    job(argument);
    return;
  }
  pthread_mutex_lock(&lock);
  thread->argument = argument;
  thread->done = false;
  thread->job = job;
  pthread_cond_broadcast(&thread->changed);
  while (!thread->done)
    pthread_cond_wait(&thread->changed, &lock);
  thread->next = idle;
  idle = thread;
  pthread_mutex_unlock(&lock);
}
