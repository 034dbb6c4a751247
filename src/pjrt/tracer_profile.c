// tracer_profile.c - asks a plugin's own profiler, for hosts that do not: PyTorch/XLA and plain
// PJRT programs under `hloscope profile -- COMMAND`.
//
// With HLOSCOPE_PROFILE_PATH set, a session of the plugin's profiler extension begins when its
// first client is there, and ends at the end of the process or after HLOSCOPE_PROFILE_MS
// milliseconds; the XSpace goes to HLOSCOPE_PROFILE_PATH/PID.xplane.pb. Where JAX profiles by
// itself (HLOSCOPE_PROFILE_BY is set) this does nothing: a plugin has one session.
// Under `hloscope trace` HLOSCOPE_TRACE_PROFILE_CALLS says for how many executions; the XSpace then
// lies in the capture, which merges it. A profiler keeps what it records in the memory of the
// process, and SIGKILL takes that with it: a session whose end nobody asked for is written and the
// next one begun after 4 calls, 8, 16 and so on, and after 1 second, 2, 4 and so on, so that at
// most half of what was recorded is lost (as python/hloscope/site does for JAX on XLA:CPU).
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/bytes.h"
#include "base/core/clock.h"
#include "base/core/status.h"
#include "base/core/timed_wait.h"
#include "base/files/file_io.h"
#include "pjrt/tracer.h"
#include "pjrt/tracer_death.h"

typedef struct profiled {
  const PJRT_Api *under;  // what the host would have got
  PJRT_Api *table;        // with our client creation in it
  PLUGIN_Profiler_Api *api;
  PLUGIN_Profiler *profiler;
  int sessions;   // that were begun; each has a file of its own
  char file[96];  // of the session under way
} profiled;

static profiled all[HSC_TRACER_INSTANCES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
enum { MOST_EXTENSIONS = 256 };
static bool at_exit_set;
static _Atomic int64_t calls_left;  // of a trace's profile; 0 = not counted
static _Atomic bool ended;          // the time or the calls that were asked for are over

// The parts of a trace's profile. One thread writes them all: the plugin may wait for a run that
// waits for the caller (a collective), so the caller waits for that thread no longer than a moment.
static const int64_t FIRST_PART_CALLS = 4;
static const int64_t FIRST_PART_NS = 1000000000;
static const int64_t MOST_WAIT_NS = 250000000;  // of the call that ends a part
static struct {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  bool has_thread, under_way;
  _Atomic int64_t calls, time_ns;  // the part ends before the call with this number, at this time
  int64_t span_ns;
  int64_t asked;  // calls of the whole profile
} part = {.lock = PTHREAD_MUTEX_INITIALIZER};

// Where profiles of this process go; NULL = nobody asked for one.
static const char *profile_directory(void) {
  const char *directory = getenv("HLOSCOPE_PROFILE_PATH");
  return directory && *directory ? directory : NULL;
}

// Executions that a trace has profiled; 0 = none.
static int64_t trace_calls(void) {
  const char *calls = getenv("HLOSCOPE_TRACE_PROFILE_CALLS");
  const char *output = getenv("HLOSCOPE_OUTPUT_PATH");
  return calls && output && *output && !profile_directory() ? strtoll(calls, NULL, 10) : 0;
}

// A profile of the whole program is written in parts, which `hloscope profile` makes one again.
static bool is_in_parts(void) {
  return profile_directory() && !getenv("HLOSCOPE_PROFILE_MS") && !getenv("HLOSCOPE_PROFILE_STEPS");
}

// A preloaded library has nobody else to tell.
static void complain(const char *what) {
  ssize_t written = write(STDERR_FILENO, "hloscope: ", 10);
  written += write(STDERR_FILENO, what, strlen(what));
  written += write(STDERR_FILENO, "\n", 1);
  (void)written;
}

// True when the plugin said no; says why.
static bool failed(const profiled *p, PLUGIN_Profiler_Error *error, const char *step) {
  if (!error)
    return false;
  PLUGIN_Profiler_Error_Message_Args message = {
      .struct_size = PLUGIN_Profiler_Error_Message_Args_STRUCT_SIZE, .error = error};
  PLUGIN_Profiler_Error_Destroy_Args destroy = {
      .struct_size = PLUGIN_Profiler_Error_Destroy_Args_STRUCT_SIZE, .error = error};
  p->api->error_message(&message);
  char text[512];
  snprintf(text, sizeof text, "the plugin's profiler did not %s: %.*s", step,
           (int)(message.message_size < 400 ? message.message_size : 400),
           message.message ? message.message : "");
  complain(text);
  p->api->error_destroy(&destroy);
  return true;
}

static void write_file(const profiled *p, const uint8_t *data, size_t size) {
  if (size > 0 && data[size - 1] == 0)
    size--;  // counted by XLA's plugins
  if (!size)
    return;
  hsc_bytes path = {0};
  hsc_status *status = NULL;
  if (profile_directory()) {
    hsc_bytes_printf(&path, "%s", profile_directory());
  } else {
    hsc_bytes_printf(&path, "%s/profiles", getenv("HLOSCOPE_OUTPUT_PATH"));
    status = hsc_dir_make(hsc_bytes_text(&path));
  }
  hsc_bytes_printf(&path, "/%s", p->file);
  if (!status)
    status = hsc_bytes_status(&path);
  if (!status)
    status = hsc_file_write_atomic(path.data, data, size);
  if (status)
    complain(hsc_status_message(status));
  hsc_status_free(status);
  hsc_bytes_deinit(&path);
}

// Ends the session and writes what it holds. The lock is held.
static void end_session(profiled *p) {
  PLUGIN_Profiler_Args args = {PLUGIN_Profiler_Args_STRUCT_SIZE, p->profiler};
  PLUGIN_Profiler_CollectData_Args data = {
      .struct_size = PLUGIN_Profiler_CollectData_Args_STRUCT_SIZE, .profiler = p->profiler};
  if (!failed(p, p->api->stop(&args), "stop") &&
      !failed(p, p->api->collect_data(&data), "give its data")) {
    uint8_t *own = NULL;
    if (!data.buffer && data.buffer_size_in_bytes && (own = malloc(data.buffer_size_in_bytes))) {
      data.buffer = own;
      if (failed(p, p->api->collect_data(&data), "give its data"))
        data.buffer = NULL;
    }
    if (data.buffer)
      write_file(p, data.buffer, data.buffer_size_in_bytes);
    free(own);
  }
  (void)failed(p, p->api->destroy(&args), "end");
  p->profiler = NULL;
}

static void finish(void) {
  pthread_mutex_lock(&lock);
  for (int i = 0; i < HSC_TRACER_INSTANCES; i++)
    if (all[i].profiler)
      end_session(&all[i]);
  pthread_mutex_unlock(&lock);
}

HSC_EXPORT void hsc_tracer_profile_end(void) {
  finish();
}

// A signal of the program's end is for another thread: this one may hold the lock that its handler
// needs.
static bool start_thread(void *(*run)(void *), void *argument) {
  sigset_t every;
  sigset_t before;
  pthread_t thread;
  sigfillset(&every);
  pthread_sigmask(SIG_SETMASK, &every, &before);
  int error = pthread_create(&thread, NULL, run, argument);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (!error)
    pthread_detach(thread);
  return !error;
}

static void *finish_now(void *unused) {
  finish();
  return NULL;
}

static void *finish_later(void *milliseconds) {
  hsc_sleep_ns((int64_t)(intptr_t)milliseconds * 1000000);
  atomic_store(&ended, true);
  finish();
  return NULL;
}

// PID.xplane.pb, and what tells further plugins and sessions of the process apart.
static void name_file(profiled *p, bool of_trace) {
  char plugin[16] = "";
  char session[40] = "";
  if (of_trace)
    snprintf(plugin, sizeof plugin, "-device%d", (int)(p - all));
  else if (p != all)
    snprintf(plugin, sizeof plugin, "_%d", (int)(p - all));
  p->sessions++;
  if (is_in_parts())
    snprintf(session, sizeof session, ".part%04d.%lld", p->sessions, (long long)hsc_wall_ns());
  else if (p->sessions > 1)
    snprintf(session, sizeof session, "-%d", p->sessions);
  snprintf(p->file, sizeof p->file, "%d%s%s.xplane.pb", (int)getpid(), plugin, session);
}

// The lock is held. False: the plugin did not.
static bool begin_session(profiled *p) {
  PLUGIN_Profiler_Create_Args create = {.struct_size = PLUGIN_Profiler_Create_Args_STRUCT_SIZE};
  // ProfileOptions: version 1, host level 2, device level 1
  static const char options[] = {0x28, 1, 0x10, 2, 0x18, 1};
  create.options = options;
  create.options_size = sizeof options;
  if (failed(p, p->api->create(&create), "begin"))
    return false;
  PLUGIN_Profiler_Args args = {PLUGIN_Profiler_Args_STRUCT_SIZE, create.profiler};
  if (failed(p, p->api->start(&args), "start")) {
    (void)failed(p, p->api->destroy(&args), "end");
    return false;
  }
  p->profiler = create.profiler;
  bool of_trace = trace_calls() > 0;
  name_file(p, of_trace);
  if (of_trace)
    hsc_tracer_note_profile(p->file, hsc_wall_ns());
  return true;
}

// Calls count from here on, once in a process. What the counting reads is there before it begins.
static void begin_counting(int64_t calls) {
  pthread_mutex_lock(&part.lock);
  if (!part.asked) {
    hsc_cond_init(&part.changed);
    part.asked = calls;
    part.span_ns = FIRST_PART_NS;
    atomic_store(&part.calls, FIRST_PART_CALLS);
    atomic_store(&part.time_ns, hsc_now_ns() + FIRST_PART_NS);
    atomic_store_explicit(&calls_left, calls, memory_order_release);
  }
  pthread_mutex_unlock(&part.lock);
}

static void begin(profiled *p) {
  // A client that is made when all was recorded that was asked for begins nothing anew.
  if (p->profiler || atomic_load(&ended) || getenv("HLOSCOPE_PROFILE_BY") || !begin_session(p))
    return;
  if (!at_exit_set)
    atexit(finish);
  at_exit_set = true;
  hsc_tracer_at_death(finish);
  int64_t calls = trace_calls();
  if (calls || is_in_parts())
    begin_counting(calls ? calls : INT64_MAX / 2);
  const char *text = getenv("HLOSCOPE_PROFILE_MS");
  long milliseconds = text ? strtol(text, NULL, 10) : 0;
  if (milliseconds > 0)
    (void)start_thread(finish_later, (void *)(intptr_t)milliseconds);
}

// ---- parts --------------------------------------------------------------------------------------

// Runs that the device has not begun yet would fall between two sessions: they are awaited, but not
// for long, for a program may keep its device busy all the time.
static void wait_for_runs(void) {
  const int64_t most_ns = 100000000;
  const int64_t step_ns = 20000;
  for (int64_t until = hsc_now_ns() + most_ns;
       hsc_tracer_runs_under_way() > 0 && hsc_now_ns() < until;)
    hsc_sleep_ns(step_ns);
}

static void *write_parts(void *unused) {
  pthread_mutex_lock(&part.lock);
  for (;;) {
    while (!part.under_way)
      pthread_cond_wait(&part.changed, &part.lock);
    pthread_mutex_unlock(&part.lock);
    wait_for_runs();
    pthread_mutex_lock(&lock);
    for (int i = 0; i < HSC_TRACER_INSTANCES; i++) {
      if (!all[i].profiler)
        continue;
      end_session(&all[i]);
      if (!atomic_load(&ended))
        (void)begin_session(&all[i]);
    }
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&part.lock);
    part.under_way = false;
    pthread_cond_broadcast(&part.changed);
  }
  return NULL;
}

// `calls` were made before the one that is about to begin.
static void write_part_if_due(int64_t calls) {
  int64_t now_ns = hsc_now_ns();
  if (calls < atomic_load_explicit(&part.calls, memory_order_relaxed) &&
      now_ns < atomic_load_explicit(&part.time_ns, memory_order_relaxed))
    return;
  struct timespec until = hsc_moment_after_ns(MOST_WAIT_NS);
  pthread_mutex_lock(&part.lock);
  while (atomic_load(&part.calls) <= calls)
    atomic_store(&part.calls, 2 * atomic_load(&part.calls));
  while (atomic_load(&part.time_ns) <= now_ns) {
    part.span_ns *= 2;
    atomic_store(&part.time_ns, atomic_load(&part.time_ns) + part.span_ns);
  }
  if (!part.under_way) {
    part.has_thread = part.has_thread || start_thread(write_parts, NULL);
    part.under_way = part.has_thread;
    pthread_cond_broadcast(&part.changed);
    while (part.under_way && hsc_cond_wait_until(&part.changed, &part.lock, &until))
      continue;
  }
  pthread_mutex_unlock(&part.lock);
}

void hsc_tracer_profile_count(void) {
  if (atomic_load_explicit(&calls_left, memory_order_acquire) <= 0)
    return;
  int64_t left = atomic_fetch_sub_explicit(&calls_left, 1, memory_order_relaxed);
  if (left > 1) {
    write_part_if_due(part.asked - left);
  } else if (left == 1) {
    atomic_store(&ended, true);
    // on a thread of its own: the plugin may wait for the execution that is about to begin
    (void)start_thread(finish_now, NULL);
  }
}

static PJRT_Error *client_created(profiled *p, PJRT_Client_Create_Args *args) {
  PJRT_Error *error = p->under->PJRT_Client_Create(args);
  pthread_mutex_lock(&lock);
  if (!error)
    begin(p);
  pthread_mutex_unlock(&lock);
  return error;
}
static PJRT_Error *create0(PJRT_Client_Create_Args *args) {
  return client_created(&all[0], args);
}
static PJRT_Error *create1(PJRT_Client_Create_Args *args) {
  return client_created(&all[1], args);
}
static PJRT_Error *create2(PJRT_Client_Create_Args *args) {
  return client_created(&all[2], args);
}
static PJRT_Error *create3(PJRT_Client_Create_Args *args) {
  return client_created(&all[3], args);
}

const PJRT_Api *hsc_tracer_profile(const PJRT_Api *table, int instance) {
  static PJRT_Error *(*const creators[HSC_TRACER_INSTANCES])(PJRT_Client_Create_Args *) = {
      create0, create1, create2, create3};
  bool of_trace = trace_calls() > 0;
  if ((!profile_directory() && !of_trace) || !table || instance < 0 ||
      instance >= HSC_TRACER_INSTANCES)
    return table;
  if (table->struct_size < HSC_PJRT_SIZE_TO(PJRT_Api, PJRT_Client_Create) ||
      !table->PJRT_Client_Create)
    return table;
  profiled *p = &all[instance];
  pthread_mutex_lock(&lock);
  if (p->under != table) {
    const PJRT_Extension_Base *e = table->extension_start;
    // a damaged chain may go round
    for (int n = 0; e && e->type != PJRT_Extension_Type_Profiler; n++)
      e = n < MOST_EXTENSIONS ? e->next : NULL;
    const PJRT_Profiler_Extension *extension = (const PJRT_Profiler_Extension *)e;
    bool usable = e && e->struct_size >= HSC_PJRT_SIZE_TO(PJRT_Profiler_Extension, profiler_api) &&
                  extension->profiler_api &&
                  extension->profiler_api->struct_size >= PLUGIN_Profiler_Api_STRUCT_SIZE;
    if (!usable && !of_trace && !getenv("HLOSCOPE_PROFILE_BY"))
      complain("the plugin has no profiler; hloscope trace shows what is called of it");
    PJRT_Api *copy = usable ? malloc(table->struct_size) : NULL;
    if (copy) {
      memcpy(copy, table, table->struct_size);
      copy->PJRT_Client_Create = creators[instance];
      p->api = extension->profiler_api;
      p->table = copy;  // tables that were given before stay: calls through them may be under way
      p->under = table;
    }
  }
  const PJRT_Api *result = p->under == table && p->table ? p->table : table;
  pthread_mutex_unlock(&lock);
  return result;
}
