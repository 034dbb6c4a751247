// worker_client.c - starts workers, talks to them, tells how they died.
//
// How to read: hsc_lab_worker_call sends one line of JSON and reads one; it starts the process when
// there is none. When no answer comes, describe_death says why from the exit code, the signal, the
// kernel's count of processes that it killed for memory, and the last words on stderr.
#include "base/core/log.h"
#include "base/core/clock.h"
#include "base/core/memory.h"
#include "base/files/file_io.h"
#include "base/process/memory_room.h"
#include "base/process/python.h"
#include "formats/common/formats.h"
#include "hlo/ir/custom.h"
#include "worker/scratch.h"
#include "worker/worker_client.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static const int64_t LOOK_NS = 50000000;  // between looks at a worker's memory

struct hsc_lab_worker {
  hsc_arena *arena;
  hsc_device_spec device;
  char *executable, *cache_dir;
  size_t memory_limit_bytes;
  const volatile int *stop;
  bool echo_stderr, without_client;
  hsc_child *child;                 // NULL = not running
  json_t *device_facts;             // load answer
  const hsc_worker_memory *memory;  // NULL = none
  json_t *recalled_facts;           // load answer of the process that memory has answers of
  int64_t next_id;
  int64_t oom_kills;  // of the control group when the process was started
  int start_count;
};

const char *hsc_outcome_text(hsc_outcome outcome) {
  static const char *const text[] = {"ok",    "error",  "unsupported", "out_of_memory",
                                     "abort", "timeout"};
  return text[outcome];
}

hsc_outcome hsc_outcome_of_text(const char *text) {
  for (int i = HSC_OUTCOME_OK; i <= HSC_OUTCOME_TIMEOUT; i++)
    if (text && !strcmp(hsc_outcome_text((hsc_outcome)i), text))
      return (hsc_outcome)i;
  return HSC_OUTCOME_ERROR;
}

// Processes that the kernel killed for memory in our control group so far; 0 when it does not tell.
static int64_t oom_kill_count(void) {
  FILE *file = fopen("/sys/fs/cgroup/memory.events", "r");
  char line[128];
  long long count = 0;
  while (file && fgets(line, sizeof line, file))
    if (sscanf(line, "oom_kill %lld", &count) == 1)
      break;
  if (file)
    fclose(file);
  return count;
}

// Nine tenths of the machine's memory, or of our control group's when that is less.
static size_t default_memory_limit(void) {
  return hsc_memory_limit_bytes() / 10 * 9;
}

static hsc_status *copy_options(hsc_arena *arena,
                                const hsc_device_option *from,
                                size_t count,
                                hsc_device_option **out) {
  hsc_device_option *to = HSC_NEW_ARRAY(arena, hsc_device_option, count + 1);
  HSC_TRY(hsc_arena_status(arena));
  for (size_t i = 0; i < count; i++) {
    to[i] = from[i];
    to[i].name = hsc_arena_strdup(arena, from[i].name);
    to[i].text = hsc_arena_strdup(arena, from[i].text);
  }
  *out = to;
  return hsc_arena_status(arena);
}

static hsc_status *copy_device(hsc_arena *arena, const hsc_device_spec *from, hsc_device_spec *to) {
  *to = *from;
  to->text = hsc_arena_strdup(arena, from->text);
  to->plugin_path = from->plugin_path ? hsc_arena_strdup(arena, from->plugin_path) : NULL;
  to->python_dir = from->python_dir ? hsc_arena_strdup(arena, from->python_dir) : NULL;
  to->topology = from->topology ? hsc_arena_strdup(arena, from->topology) : NULL;
  HSC_TRY(copy_options(arena, from->options, from->option_count, &to->options));
  HSC_TRY(
      copy_options(arena, from->compile_options, from->compile_option_count, &to->compile_options));
  size_t count = 0;
  while (from->environment && from->environment[count])
    count++;
  const char **environment = HSC_NEW_ARRAY(arena, const char *, count + 1);
  HSC_TRY(hsc_arena_status(arena));
  for (size_t i = 0; i < count; i++)
    environment[i] = hsc_arena_strdup(arena, from->environment[i]);
  to->environment = environment;
  return hsc_arena_status(arena);
}

static hsc_status *own_executable(char **out_path) {
  char path[4096];
  ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  if (length < 0)
    return hsc_status_errno(errno, "cannot tell which program runs", "/proc/self/exe");
  path[length] = 0;
  *out_path = hsc_strdup(path);
  return *out_path ? NULL : hsc_status_out_of_memory();
}

hsc_status *hsc_lab_worker_create(const hsc_lab_worker_options *options,
                                  hsc_lab_worker **out_worker) {
  *out_worker = NULL;
  hsc_lab_worker *worker = hsc_alloc(sizeof(*worker));
  if (!worker)
    return hsc_status_out_of_memory();
  hsc_status *status = NULL;
  HSC_GOTO(hsc_arena_create(&worker->arena));
  HSC_GOTO(copy_device(worker->arena, options->device, &worker->device));
  worker->stop = options->stop;
  worker->memory_limit_bytes =
      options->memory_limit_bytes ? options->memory_limit_bytes : default_memory_limit();
  worker->echo_stderr = options->echo_stderr;
  worker->without_client = options->without_client;
  worker->memory = options->memory;
  if (options->executable)
    worker->executable = hsc_strdup(options->executable);
  else
    HSC_GOTO(own_executable(&worker->executable));
  if (options->cache_dir) {
    worker->cache_dir = hsc_strdup(options->cache_dir);
  } else if (!options->no_disk_cache) {
    char *dir = NULL;
    hsc_bytes path = {0};
    hsc_status *none = hsc_cache_dir(&dir);
    if (none)  // it costs compiling again, not results
      hsc_log("worker", 1, "no compile cache: %s", hsc_status_message(none));
    else
      hsc_bytes_printf(&path, "%s/executables", dir);
    hsc_free(dir);
    worker->cache_dir = none ? NULL : hsc_bytes_take(&path);
    if (!none && !worker->cache_dir)
      HSC_GOTO(hsc_status_out_of_memory());
    hsc_status_free(none);
  }
  *out_worker = worker;
  return NULL;
done:
  hsc_lab_worker_destroy(worker);
  return status;
}

void hsc_lab_worker_stop(hsc_lab_worker *worker) {
  hsc_child_destroy(worker->child);
  worker->child = NULL;
  json_decref(worker->device_facts);
  worker->device_facts = NULL;
}

void hsc_lab_worker_destroy(hsc_lab_worker *worker) {
  if (!worker)
    return;
  hsc_lab_worker_stop(worker);
  json_decref(worker->recalled_facts);
  hsc_free(worker->executable);
  hsc_free(worker->cache_dir);
  hsc_arena_destroy(worker->arena);
  hsc_free(worker);
}

json_t *hsc_lab_worker_device(const hsc_lab_worker *worker) {
  return worker->device_facts ? worker->device_facts : worker->recalled_facts;
}
int hsc_lab_worker_start_count(const hsc_lab_worker *worker) {
  return worker->start_count;
}
int hsc_lab_worker_pid(const hsc_lab_worker *worker) {
  return worker->child ? hsc_child_pid(worker->child) : 0;
}
const hsc_device_spec *hsc_lab_worker_spec(const hsc_lab_worker *worker) {
  return &worker->device;
}

void hsc_worker_memory_done_with(const hsc_worker_memory *memory, const char *directory) {
  if (memory)
    memory->done_with(memory->user, directory);
  else
    hsc_scratch_empty(directory);
}

// Whether the job failed because a file could not be written for want of room.
static bool is_full_disk(const hsc_answer *answer) {
  if (!answer->status)
    return false;
  // in the words of the C library and of Python, whatever the language of the worker
  const char *const texts[] = {hsc_status_message(answer->status),
                               hsc_status_notes(answer->status)};
  for (size_t i = 0; i < HSC_COUNT_OF(texts); i++)
    if (strstr(texts[i], "No space left on device") || strstr(texts[i], "Disk quota exceeded"))
      return true;
  return false;
}

void hsc_answer_deinit(hsc_answer *answer) {
  json_decref(answer->body);
  hsc_status_free(answer->status);
  hsc_free(answer->last_words);
  hsc_free(answer->log);
  *answer = (hsc_answer){0};
}

hsc_status *hsc_answer_take_status(hsc_answer *answer) {
  hsc_status *status = answer->status;
  answer->status = NULL;
  return status;
}

// ---- how a worker died --------------------------------------------------------------------------

// A fatal line of Google's logging, "F1121 12:00:00.000000 4711 file.cc:12] text", as "text
// (file.cc:12)". False: not one.
static bool read_fatal(const char *line, size_t length, hsc_bytes *out) {
  const char *end = line + length;
  const char *bracket = memchr(line, ']', length);
  const char *file = bracket;
  if (length < 8 || line[0] != 'F' || strspn(line + 1, "0123456789") < 4 || !bracket ||
      bracket + 2 > end)
    return false;
  while (file > line && file[-1] != ' ')
    file--;
  if (!memchr(file, ':', (size_t)(bracket - file)))
    return false;
  const char *text = bracket + 1 + (bracket[1] == ' ');
  size_t size = (size_t)(end - text);
  hsc_bytes_printf(out, "%.*s (%.*s)", (int)(size > 500 ? 500 : size), text, (int)(bracket - file),
                   file);
  return true;
}

// Lines that a handler of signals writes on the way out: they say that the process dies, and not
// why.
static bool is_of_handler(const char *line, size_t length) {
  static const char *const marks[] = {"process_state.cc:",
                                      "failure_signal_handler",
                                      "signal_handler.cc:",
                                      "signalhandler.cc:",
                                      "*** SIG",
                                      "*** Aborted at",
                                      "PC: @",
                                      "Raising signal",
                                      "*** Check failure stack trace"};
  const char *text = line + strspn(line, " \t");
  if (text + 4 < line + length && !strncmp(text, "@ ", 2))
    return true;  // of a stack
  for (size_t i = 0; i < HSC_COUNT_OF(marks); i++)
    if (memmem(line, length, marks[i], strlen(marks[i])))
      return true;
  return false;
}

// The line with which a handler begins to speak: what comes after it is its own, whatever files the
// lines name (hooks for core files, clients of crash collectors), up to the end.
static bool opens_handler(const char *line, size_t length) {
  return memmem(line, length, "*** SIG", 7) || memmem(line, length, "*** Aborted at", 14);
}

// What of stderr says why: a fatal line, another one that looks like it; else, of a worker that
// ended by itself, the last one that is not blank.
static char *pick_last_words(const char *text, bool by_itself) {
  static const char *const marks[] = {"Check failed",
                                      "Assertion",
                                      "terminate called",
                                      "what():",
                                      "ERROR: AddressSanitizer",
                                      "runtime error:",
                                      "LLVM ERROR",
                                      "FATAL",
                                      "fatal error",
                                      "Fatal"};
  const char *best = NULL;
  const char *last = "";
  hsc_bytes words = {0};
  for (const char *line = text; *line;) {
    size_t length = strcspn(line, "\n");
    bool handler = is_of_handler(line, length);
    if (opens_handler(line, length)) {
      last = "";  // it died where it said nothing of it: what was said before is of something else
      break;
    }
    if (strspn(line, " \t\r") < length && !handler)
      last = line;
    if (!handler && read_fatal(line, length, &words))
      return hsc_bytes_take(&words);
    for (size_t i = 0; i < HSC_COUNT_OF(marks) && !best; i++)
      if (memmem(line, length, marks[i], strlen(marks[i])))
        best = line;
    line += length;
    if (*line)
      line++;
  }
  if (!best)
    best = by_itself ? last : "";
  size_t length = strcspn(best, "\n");
  hsc_bytes_append(&words, best, length > 500 ? 500 : length);
  char *taken = hsc_bytes_take(&words);
  return taken ? taken : hsc_strdup("");
}

// What messages call a device: its name, or the file name of its plugin without path and options.
static const char *short_name(const hsc_lab_worker *worker, char out[256]) {
  const char *text = worker->device.text;
  const char *slash = NULL;
  size_t length = strcspn(text, "?");
  for (size_t i = 0; i < length; i++)
    if (text[i] == '/')
      slash = text + i;
  const char *base = slash ? slash + 1 : text;
  snprintf(out, 256, "%.*s", (int)(length - (size_t)(base - text)), base);
  return out;
}

typedef enum why_killed { NOT_KILLED, FOR_TIME, FOR_MEMORY, FOR_STOP } why_killed;

static void describe_death(hsc_lab_worker *worker,
                           const char *doing,
                           int64_t limit_ns,
                           why_killed why,
                           hsc_answer *answer) {
  hsc_status *status = hsc_child_wait(worker->child, 2 * HSC_SECOND_NS, &answer->exit);
  hsc_status_free(status);
  if (!answer->exit.exited) {  // closed its answer pipe but lives on
    hsc_child_kill(worker->child);
    status = hsc_child_wait(worker->child, -1, &answer->exit);
    hsc_status_free(status);
  }
  answer->last_words = pick_last_words(hsc_child_stderr(worker->child), why == NOT_KILLED);
  const char *said = hsc_child_stderr(worker->child);
  size_t said_size = strlen(said);
  answer->log = hsc_strdup(said + (said_size > 8192 ? said_size - 8192 : 0));
  char name_room[256];
  const char *name = short_name(worker, name_room);
  const char *words = answer->last_words ? answer->last_words : "";
  const char *colon = *words ? ": " : "";
  double peak_mib = (double)answer->exit.max_rss_bytes / 1048576;
  answer->exit.timed_out = why == FOR_TIME;
  if (why == FOR_MEMORY) {
    answer->outcome = HSC_OUTCOME_OUT_OF_MEMORY;
    answer->status =
        HSC_ERR(RESOURCE_EXHAUSTED,
                "%s: the worker had %.0f MiB, over its limit of %.0f MiB, and was killed%s%s", name,
                peak_mib, (double)worker->memory_limit_bytes / 1048576, colon, words);
  } else if (why == FOR_TIME) {
    answer->outcome = HSC_OUTCOME_TIMEOUT;
    answer->status =
        HSC_ERR(DEADLINE_EXCEEDED, "%s: no answer within %.1f s; the worker was killed%s%s", name,
                (double)limit_ns * 1e-9, colon, words);
  } else if (why == FOR_STOP) {
    answer->outcome = HSC_OUTCOME_ABORT;
    answer->status = HSC_ERR(CANCELLED, "%s: interrupted%s%s", name, colon, words);
  } else if (answer->exit.signal == SIGKILL && oom_kill_count() > worker->oom_kills) {
    answer->outcome = HSC_OUTCOME_OUT_OF_MEMORY;
    answer->status =
        HSC_ERR(RESOURCE_EXHAUSTED, "%s: the kernel killed the worker for memory (it had %.0f MiB)",
                name, peak_mib);
  } else if (answer->exit.signal) {
    answer->outcome = HSC_OUTCOME_ABORT;
    answer->status =
        HSC_ERR(ABORTED, "%s: the worker was ended by signal %d (%s), peak %.0f MiB%s%s", name,
                answer->exit.signal, strsignal(answer->exit.signal), peak_mib, colon, words);
  } else {
    answer->outcome = HSC_OUTCOME_ABORT;
    answer->status = HSC_ERR(ABORTED, "%s: the worker ended with exit code %d, peak %.0f MiB%s%s",
                             name, answer->exit.exit_code, peak_mib, colon, words);
  }
  const char *step = hsc_child_note(worker->child);
  answer->status = *step ? hsc_status_note(answer->status, "while: %s (%s)", step, doing)
                         : hsc_status_note(answer->status, "while: %s", doing);
  hsc_lab_worker_stop(worker);
}

// What a program calls may be nowhere in the worker, and XLA's compilers do not look before they
// jump to it.
static void add_callback_hint(const char *program, hsc_answer *answer) {
  hsc_module *module = NULL;
  const char *hint = NULL;
  hsc_status *unread = hsc_program_read_file(program, &module);
  if (unread) {
    hsc_status_free(unread);
    return;
  }
  HSC_FOR_EACH_COMPUTATION (module, computation)
    HSC_FOR_EACH_INSTR_IN (computation, instr)
      if (instr->op == HSC_OP_CUSTOM_CALL && !hint)
        hint = hsc_custom_callback_hint(instr->attr.custom.target);
  if (hint)
    answer->status = hsc_status_hint(answer->status, "%s", hint);
  hsc_module_destroy(module);
}

// ---- calls --------------------------------------------------------------------------------------

static const char *text_of(const json_t *object, const char *key) {
  return json_string_value(json_object_get(object, key));
}

// The worker's "error" as a status again, with place, notes and hint.
static void read_error(json_t *error, hsc_answer *answer) {
  hsc_code code = hsc_code_of_name(text_of(error, "code"));
  const char *message = text_of(error, "message");
  const char *path = text_of(error, "path");
  const char *hint = text_of(error, "hint");
  const char *notes = text_of(error, "notes");
  const char *step = text_of(error, "step");
  hsc_status *status =
      hsc_status_make(code == HSC_OK ? HSC_UNKNOWN : code, __FILE__, __LINE__, "%s",
                      message ? message : "the worker refused without a reason");
  int line = (int)json_integer_value(json_object_get(error, "line"));
  if (path || line)
    status =
        hsc_status_at(status, path, line, (int)json_integer_value(json_object_get(error, "column")),
                      text_of(error, "source_line"));
  for (const char *note = notes; note && *note;) {
    size_t length = strcspn(note, "\n");
    status = hsc_status_note(status, "%.*s", (int)length, note);
    note += length + (note[length] == '\n');
  }
  if (step)
    status = hsc_status_note(status, "while: %s", step);
  if (hint)
    status = hsc_status_hint(status, "%s", hint);
  answer->status = status;
  if (code == HSC_UNIMPLEMENTED)
    answer->outcome = HSC_OUTCOME_UNSUPPORTED;
  else if (code == HSC_RESOURCE_EXHAUSTED)
    answer->outcome = HSC_OUTCOME_OUT_OF_MEMORY;
  else
    answer->outcome = HSC_OUTCOME_ERROR;
}

// Resident memory of a process; 0 when the kernel does not tell.
static size_t resident_bytes(int pid) {
  char path[64];
  long long total = 0;
  long long resident = 0;
  snprintf(path, sizeof path, "/proc/%d/statm", pid);
  FILE *file = fopen(path, "r");
  if (!file)
    return 0;
  if (fscanf(file, "%lld %lld", &total, &resident) != 2)
    resident = 0;
  fclose(file);
  return (size_t)resident * (size_t)sysconf(_SC_PAGESIZE);
}

// Waits for the answer, with an eye on the clock and on the memory.
static hsc_status *read_answer(hsc_lab_worker *worker,
                               int64_t timeout_ns,
                               hsc_bytes *out_line,
                               why_killed *out_why) {
  int64_t start = hsc_now_ns();
  for (;;) {
    int64_t left = timeout_ns < 0 ? LOOK_NS : timeout_ns - (hsc_now_ns() - start);
    if (left < 0)
      left = 0;
    hsc_status *status =
        hsc_child_read_line(worker->child, left < LOOK_NS ? left : LOOK_NS, out_line);
    if (hsc_status_code(status) != HSC_DEADLINE_EXCEEDED)
      return status;
    if (timeout_ns >= 0 && hsc_now_ns() - start >= timeout_ns)
      *out_why = FOR_TIME;
    else if (worker->stop && *worker->stop)
      *out_why = FOR_STOP;
    else if (resident_bytes(hsc_child_pid(worker->child)) > worker->memory_limit_bytes)
      *out_why = FOR_MEMORY;
    if (*out_why != NOT_KILLED)
      return status;
    hsc_status_free(status);
  }
}

// One request, one answer, on a child that runs.
static hsc_status *exchange(hsc_lab_worker *worker,
                            json_t *request,
                            int64_t timeout_ns,
                            hsc_answer *answer) {
  const char *job = text_of(request, "job");
  const char *program = text_of(request, "program");
  char doing[512];
  snprintf(doing, sizeof doing, "job %s%s%s", job ? job : "?", program ? " of " : "",
           program ? program : "");
  json_object_set_new(request, "id", json_integer(++worker->next_id));
  char *text = json_dumps(request, JSON_COMPACT | JSON_REAL_PRECISION(17));
  if (!text)
    return hsc_status_out_of_memory();
  hsc_status *status = hsc_child_send_line(worker->child, hsc_view_of(text));
  free(text);
  hsc_bytes line = {0};
  why_killed why = NOT_KILLED;
  if (!status)
    status = read_answer(worker, timeout_ns, &line, &why);
  if (status) {
    bool dead = hsc_status_code(status) == HSC_UNAVAILABLE;
    if (why != NOT_KILLED || dead) {
      hsc_status_free(status);
      status = NULL;
      if (why != NOT_KILLED)
        hsc_child_kill(worker->child);
      describe_death(worker, doing, timeout_ns, why, answer);
      if (program && answer->outcome == HSC_OUTCOME_ABORT && answer->exit.signal)
        add_callback_hint(program, answer);
    }
    hsc_bytes_deinit(&line);
    return status;
  }
  json_error_t error;
  answer->body = json_loadb(hsc_bytes_text(&line), line.size, 0, &error);
  hsc_bytes_deinit(&line);
  if (!json_is_object(answer->body) ||
      json_integer_value(json_object_get(answer->body, "id")) != worker->next_id) {
    hsc_child_kill(worker->child);
    describe_death(worker, doing, timeout_ns, NOT_KILLED, answer);
    answer->status = hsc_status_note(answer->status, "its answer was not one to this job");
    return NULL;
  }
  if (!json_is_true(json_object_get(answer->body, "ok")))
    read_error(json_object_get(answer->body, "error"), answer);
  return NULL;
}

static json_t *options_json(const hsc_device_option *list, size_t count) {
  json_t *options = json_object();
  for (size_t i = 0; i < count; i++) {
    const hsc_device_option *o = &list[i];
    json_t *value;
    if (o->type == HSC_DEVICE_OPTION_BOOL)
      value = json_boolean(o->boolean);
    else if (o->type == HSC_DEVICE_OPTION_INT)
      value = json_integer(o->integer);
    else if (o->type == HSC_DEVICE_OPTION_FLOAT)
      value = json_real(o->real);
    else
      value = json_string(o->text);
    json_object_set_new(options, o->name, value);
  }
  return options;
}

static json_t *load_request(const hsc_lab_worker *worker) {
  const hsc_device_spec *d = &worker->device;
  return json_pack("{s:s, s:s*, s:s?, s:o, s:o, s:s*, s:s?, s:b, s:s}", "job", "load", "device",
                   d->text, "plugin", d->plugin_path, "options",
                   options_json(d->options, d->option_count), "overrides",
                   options_json(d->compile_options, d->compile_option_count), "topology",
                   worker->without_client ? NULL : d->topology, "cache_dir", worker->cache_dir,
                   "create_client", !worker->without_client, "hloscope", worker->executable);
}

static hsc_status *start_process(hsc_lab_worker *worker) {
  const char *const own[] = {worker->executable, "worker", NULL};
  const char *const python[] = {worker->device.plugin_path, "-c", HSC_PYTHON_MODULE,
                                "hloscope.worker", NULL};
  bool in_python = worker->device.source == HSC_DEVICE_PYTHON;
  const char *path = in_python ? hsc_python_path(worker->arena, worker->device.python_dir) : NULL;
  HSC_TRY(hsc_arena_status(worker->arena));
  const char *environment[32] = {path};
  size_t count = path != NULL;
  for (size_t i = 0; worker->device.environment && worker->device.environment[i] &&
                     count + 1 < HSC_COUNT_OF(environment);
       i++)
    environment[count++] = worker->device.environment[i];
  worker->oom_kills = oom_kill_count();
  HSC_TRY(hsc_child_start(&(hsc_child_options){.argv = in_python ? python : own,
                                               .extra_env = environment,
                                               .echo_stderr = worker->echo_stderr,
                                               .shielded = true},
                          &worker->child));
  worker->start_count++;
  worker->next_id = 0;
  return NULL;
}

hsc_status *hsc_lab_worker_start(hsc_lab_worker *worker, hsc_answer *out_answer) {
  *out_answer = (hsc_answer){0};
  if (worker->child) {
    out_answer->body = json_incref(worker->device_facts);
    return NULL;
  }
  enum {
    START_LIMIT_S = 120
  };  // a plugin that looks for its hardware may take long; one that never comes back is killed
  int64_t start = hsc_now_ns();
  HSC_TRY(start_process(worker));
  json_t *hello = json_pack("{s:s}", "job", "hello");
  json_t *load = load_request(worker);
  hsc_status *status = NULL;
  if (!hello || !load)
    HSC_GOTO(hsc_status_out_of_memory());
  HSC_GOTO(exchange(worker, hello, START_LIMIT_S * HSC_SECOND_NS, out_answer));
  int64_t started_ns = hsc_now_ns() - start;
  if (out_answer->outcome == HSC_OUTCOME_OK && worker->device.source != HSC_DEVICE_EVALUATOR) {
    hsc_answer_deinit(out_answer);
    HSC_GOTO(exchange(worker, load, START_LIMIT_S * HSC_SECOND_NS, out_answer));
  }
  if (out_answer->outcome == HSC_OUTCOME_OK) {
    json_object_set_new(out_answer->body, "start_ns", json_integer(started_ns));
    worker->device_facts = json_incref(out_answer->body);
  } else if (worker->child) {
    hsc_lab_worker_stop(worker);  // without a device it is of no use
  }
  out_answer->started = true;
done:
  json_decref(hello);
  json_decref(load);
  return status;
}

// A worker that does not run has nothing to drop.
static bool is_needless(const hsc_lab_worker *worker, const json_t *request) {
  const char *job = text_of(request, "job");
  return worker->memory && !worker->child && job && !strcmp(job, "drop");
}

static hsc_status *recall(hsc_lab_worker *worker,
                          const json_t *request,
                          hsc_answer *out_answer,
                          bool *out_known) {
  json_t *device = NULL;
  *out_known = false;
  if (!worker->memory)
    return NULL;
  hsc_status *status = worker->memory->recall(worker->memory->user, &worker->device, request,
                                              out_answer, &device, out_known);
  if (device) {
    json_decref(worker->recalled_facts);
    worker->recalled_facts = device;
  }
  return status;
}

static bool was_given_up(const hsc_lab_worker *worker) {
  return worker->stop && *worker->stop;
}

hsc_status *hsc_lab_worker_call(hsc_lab_worker *worker,
                                json_t *request,
                                int64_t timeout_ns,
                                hsc_answer *out_answer) {
  *out_answer = (hsc_answer){0};
  bool started = false;
  bool known = is_needless(worker, request);
  if (!known)
    HSC_TRY(recall(worker, request, out_answer, &known));
  if (known)
    return NULL;
  if (!worker->child) {
    HSC_TRY(hsc_lab_worker_start(worker, out_answer));
    if (out_answer->outcome != HSC_OUTCOME_OK)
      return NULL;
    hsc_answer_deinit(out_answer);
    started = true;
  }
  hsc_status *status = exchange(worker, request, timeout_ns, out_answer);
  out_answer->started = started;
  if (!status && is_full_disk(out_answer)) {
    status = HSC_ERR(RESOURCE_EXHAUSTED, "%s", hsc_status_message(out_answer->status));
    hsc_answer_deinit(out_answer);
  }
  if (worker->memory && !status && !was_given_up(worker))
    worker->memory->keep(worker->memory->user, out_answer, timeout_ns, worker->device_facts);
  return status;
}
