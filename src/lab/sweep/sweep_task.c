// sweep_task.c - does one task: a job of a worker that stays over tasks, or a command in a process
// of its own; and writes down what came of it.
#include "base/core/clock.h"
#include "base/core/hash.h"
#include "base/files/file_io.h"
#include "base/text/text.h"
#include "lab/sweep/sweep_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "lab/devices/devices.h"
#include "lab/passes/optimized.h"
#include "lab/run/json_tree.h"
#include "worker/scratch.h"

// A worker that was killed from outside says nothing of its program; so often it is tried again.
enum { MOST_TRIES = 3 };
// Of a command's document: what is longer is kept as its length and hash.
enum { MOST_DOCUMENT_BYTES = 4 << 20 };

void hsc__sweep_slot_destroy(hsc__sweep_slot *slot) {
  if (!slot)
    return;
  hsc_lab_worker_destroy(slot->worker);
  hsc_scratch_destroy(slot->scratch);
  hsc_arena_destroy(slot->arena);
  hsc_free(slot);
}

static hsc_status *make_slot(hsc__sweep_slot **out_slot) {
  hsc__sweep_slot *slot = hsc_alloc(sizeof *slot);
  if (!slot)
    return hsc_status_out_of_memory();
  hsc_status *status = hsc_arena_create(&slot->arena);
  if (!status)
    status = hsc_scratch_create(&slot->scratch);
  if (status)
    hsc__sweep_slot_destroy(slot);
  else
    *out_slot = slot;
  return status;
}

// Whether times are of interest, which are those of the cores that are there. The same for every
// job of a plan.
static bool is_timed(const json_t *job) {
  return !strcmp(hsc__sweep_text(job, "job"), "interleave") ||
         json_integer_value(json_object_get(job, "series")) > 0;
}

// Compilers cut work for the cores that they see, and need temporaries for each: a rank that is
// bound to one core of eight would give another row than the machine that made the plan.
static hsc_status *fix_cores(const hsc_sweep *sweep, hsc__sweep_slot *slot) {
  long long cores = json_integer_value(json_object_get(sweep->document, "cores"));
  const char *const *before = slot->spec.environment;
  size_t count = 0;
  while (before && before[count])
    count++;
  const char **environment = HSC_NEW_ARRAY(slot->arena, const char *, count + 3);
  if (!environment || cores <= 0)  // a plan of an earlier version says none
    return hsc_arena_status(slot->arena);
  for (size_t i = 0; i < count; i++)
    environment[i] = before[i];
  environment[count] = hsc_arena_printf(slot->arena, "HLOSCOPE_THREADS=%lld", cores);
  environment[count + 1] = hsc_arena_printf(slot->arena, "NPROC=%lld", cores);  // XLA's
  slot->spec.environment = environment;
  return hsc_arena_status(slot->arena);
}

// The setting of a task's device; a worker of another device is ended first.
static hsc_status *use_device(const hsc_sweep_run_options *o,
                              hsc__sweep_slot *slot,
                              const char *device,
                              const json_t *job,
                              hsc_task_setting *out_setting) {
  if (!slot->device || strcmp(slot->device, device) != 0) {
    hsc_lab_worker_destroy(slot->worker);
    slot->worker = NULL;
    slot->device = NULL;
    hsc_arena_reset(slot->arena);
    const char *text = hsc_arena_strdup(slot->arena, device);
    HSC_TRY(hsc_arena_status(slot->arena));
    HSC_TRY(hsc_device_spec_parse(text, slot->arena, &slot->spec));
    if (!is_timed(job))
      HSC_TRY(fix_cores(o->sweep, slot));
    slot->device = text;
  }
  *out_setting =
      (hsc_task_setting){.device = &slot->spec, .executable = o->executable, .stop = o->stop};
  return NULL;
}

// Inputs are named by what is in them: a copy that was cut off or changed is found before it is
// used.
static hsc_status *check_input(const char *path, const char *input) {
  char hash[33];
  HSC_TRY(hsc__sweep_hash_file(path, hash));
  if (!strncmp(strrchr(input, '/') + 1, hash, 32))
    return NULL;
  return HSC_ERR(DATA_LOSS, "%s does not hold what the plan was made of", path);
}

// What the try before said is not what this one says.
static void forget_try(json_t *row) {
  static const char *const said[] = {"outcome", "code", "message", "last_words", "exit_code"};
  for (size_t i = 0; i < HSC_COUNT_OF(said); i++)
    json_object_del(row, said[i]);
}

// A task that failed where nothing can be written any more says nothing of its program.
static hsc_status *check_room(const hsc__sweep_slot *slot, const json_t *row) {
  static const char some[1 << 16];
  char path[4200];
  if (!strcmp(hsc__sweep_text(row, "outcome"), "ok"))
    return NULL;
  snprintf(path, sizeof path, "%s/room", slot->scratch);
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  hsc_status *status = fd < 0 ? hsc_status_errno(errno, "cannot write", path)
                              : hsc_fd_write(fd, path, some, sizeof some);
  if (fd >= 0)
    close(fd);
  unlink(path);
  return status ? hsc_status_hint(status,
                                  "tasks keep what they write for a while in $TMPDIR: without room "
                                  "there they fail for it, and are not done")
                : NULL;
}

static bool stopped(const hsc_sweep_run_options *o) {
  return o->stop && *o->stop;
}

// Sets a text in which the program's copy is called by its name.
static void put_text(const hsc_sweep_task *task, json_t *row, const char *key, const char *text) {
  hsc_bytes out = {0};
  const char *at;
  while (text && task->input && (at = strstr(text, task->input))) {
    const char *start = at;
    while (start > text && !strchr(" \t\n'\"(", start[-1]))
      start--;
    hsc_bytes_append(&out, text, (size_t)(start - text));
    hsc_bytes_append_text(&out, task->program);
    text = at + strlen(task->input);
  }
  hsc_bytes_append_text(&out, text ? text : "");
  if (out.size)
    json_object_set_new(row, key, json_string(hsc_bytes_text(&out)));
  hsc_bytes_deinit(&out);
}

// ---- a job of a worker --------------------------------------------------------------------------

static void put_seconds(json_t *row, const char *key, const json_t *answer, const char *from) {
  double ns = hsc_json_number(json_object_get(answer, from));
  if (ns > 0)
    json_object_set_new(row, key, json_real(ns * 1e-9));
}

// One digest over those of all outputs, in order.
static void put_digest(json_t *row, json_t *outputs) {
  hsc_bytes all = {0};
  char hash[33];
  json_t *output;
  size_t i;
  json_array_foreach (outputs, i, output)
    hsc_bytes_printf(&all, "%s %s\n", hsc__sweep_text(output, "shape"),
                     hsc__sweep_text(output, "digest"));
  if (!all.size)
    return;
  hsc_hash128_hex(hsc_hash128_of(all.data, all.size, 0), hash);
  json_object_set_new(row, "digest", json_string(hash));
  hsc_bytes_deinit(&all);
}

static void take_answer(const hsc_sweep_task *task,
                        const hsc_answer *answer,
                        const char *optimized,
                        json_t *row) {
  const json_t *body = answer->body;
  json_object_set_new(row, "outcome", json_string(hsc_outcome_text(answer->outcome)));
  if (answer->status) {
    json_object_set_new(row, "code", json_string(hsc_code_name(hsc_status_code(answer->status))));
    put_text(task, row, "message", hsc_status_message(answer->status));
  }
  if (answer->last_words && *answer->last_words)
    put_text(task, row, "last_words", answer->last_words);
  if (answer->outcome != HSC_OUTCOME_OK)
    return;
  put_seconds(row, "compile_s", body, "compile_ns");
  put_seconds(row, "compile_processor_s", body, "compile_processor_ns");
  static const char *const kept[] = {"temp_bytes", "peak_bytes", "code_bytes", "series",
                                     "max_rss_bytes"};
  for (size_t i = 0; i < HSC_COUNT_OF(kept); i++)
    if (json_object_get(body, kept[i]))
      json_object_set(row, kept[i], json_object_get(body, kept[i]));
  if (json_object_get(body, "optimized"))
    json_object_set_new(row, "optimized", hsc_optimized_json(optimized));
  put_digest(row, json_object_get(body, "outputs"));
}

static hsc_status *do_job(const hsc_sweep_run_options *o,
                          const hsc_sweep_task *task,
                          hsc__sweep_slot *slot,
                          json_t *job,
                          json_t *row,
                          bool *out_undone) {
  hsc_answer answer = {0};
  hsc_task_setting setting;
  hsc_task_end end;
  json_t *request = json_deep_copy(job);
  hsc_bytes program = {0};
  hsc_bytes optimized = {0};
  hsc_status *status = NULL;
  hsc_bytes_printf(&program, "%s/%s", o->sweep->folder, task->input);
  hsc_bytes_printf(&optimized, "%s/optimized", slot->scratch);
  HSC_GOTO(hsc_bytes_status(&program));
  HSC_GOTO(hsc_bytes_status(&optimized));
  json_object_set_new(request, "program", json_string(hsc_bytes_text(&program)));
  if (!strcmp(hsc__sweep_text(request, "job"), "compile"))
    json_object_set_new(request, "optimized_to", json_string(hsc_bytes_text(&optimized)));
  HSC_GOTO(use_device(o, slot, task->device, job, &setting));
  // read again by a worker that holds it already only when the process is new
  if (task->input && (!slot->worker || !hsc_lab_worker_pid(slot->worker)))
    HSC_GOTO(check_input(hsc_bytes_text(&program), task->input));
  HSC_GOTO(hsc_task_call(&setting, &slot->worker, request, (int64_t)(task->limit_s * 1e9), &answer,
                         &end));
  *out_undone = stopped(o) && answer.outcome != HSC_OUTCOME_OK;
  if (*out_undone)
    goto done;
  take_answer(task, &answer, hsc_bytes_text(&optimized), row);
  HSC_GOTO(check_room(slot, row));
  if (end == HSC_TASK_KILLED)
    json_object_set_new(row, "outcome", json_string("killed"));
done:
  unlink(hsc_bytes_text(&optimized));
  hsc_answer_deinit(&answer);
  json_decref(request);
  hsc_bytes_deinit(&program);
  hsc_bytes_deinit(&optimized);
  return status;
}

// ---- a command ----------------------------------------------------------------------------------

// Waits for a command's end; kills it at its limit and when the sweep is to stop.
static hsc_status *wait_for(const hsc_sweep_run_options *o,
                            const hsc_sweep_task *task,
                            hsc_child *child,
                            hsc_child_exit *ended,
                            bool *out_late) {
  static const int64_t LOOK_NS = 100000000;
  int64_t end_ns = hsc_now_ns() + (int64_t)(task->limit_s * 1e9);
  *out_late = false;
  for (;;) {
    HSC_TRY(hsc_child_wait(child, LOOK_NS, ended));
    if (ended->exited)
      return NULL;
    *out_late = hsc_now_ns() > end_ns;
    if (*out_late || stopped(o)) {
      hsc_child_kill(child);
      return hsc_child_wait(child, -1, ended);
    }
  }
}

static void take_document(const hsc_sweep_task *task,
                          const char *path,
                          const hsc_child_exit *ended,
                          const char *words,
                          json_t *row) {
  hsc_bytes text = {0};
  hsc_status *status = hsc_file_read(path, &text);
  json_t *document = text.size && text.size <= MOST_DOCUMENT_BYTES
                         ? json_loadb(text.data, text.size, 0, NULL)
                         : NULL;
  json_t *error = json_object_get(document, "error");
  const char *outcome = "ok";
  if (json_is_object(error)) {
    outcome = ended->exit_code == 3 ? "unsupported" : "error";
    json_object_set_new(row, "code", json_string(hsc__sweep_text(error, "code")));
    put_text(task, row, "message", hsc__sweep_text(error, "message"));
  } else if (!document) {
    outcome = ended->signal ? "abort" : "error";
    put_text(task, row, "message", words && *words ? words : "it printed no JSON document");
  } else {
    json_object_set(row, "document", document);
  }
  if (document && !ended->signal)
    json_object_set_new(row, "exit_code", json_integer(ended->exit_code));
  json_object_set_new(row, "outcome", json_string(outcome));
  json_decref(document);
  hsc_status_free(status);
  hsc_bytes_deinit(&text);
}

static hsc_status *own_path(const hsc_sweep_run_options *o, char *out, size_t size) {
  ssize_t length;
  if (o->executable)
    return snprintf(out, size, "%s", o->executable) < (int)size
               ? NULL
               : HSC_ERR(INTERNAL, "path too long");
  length = readlink("/proc/self/exe", out, size - 1);
  if (length < 0)
    return HSC_ERR(INTERNAL, "cannot tell which program this is (/proc/self/exe)");
  out[length] = 0;
  return NULL;
}

static hsc_status *do_command(const hsc_sweep_run_options *o,
                              const hsc_sweep_task *task,
                              hsc__sweep_slot *slot,
                              json_t *words,
                              json_t *row,
                              bool *out_undone) {
  enum { MOST_WORDS = 256 };
  const char *argv[MOST_WORDS + 8] = {"/bin/sh", "-c", "out=$1; shift; exec \"$@\" >\"$out\"",
                                      "sh"};
  char executable[4200];
  hsc_child *child = NULL;
  hsc_child_exit ended = {0};
  hsc_bytes out = {0};
  json_t *word;
  size_t i;
  int count = 4;
  bool late = false;
  hsc_status *status = NULL;
  hsc_arena *arena = NULL;
  HSC_GOTO(hsc_arena_create(&arena));
  HSC_GOTO(own_path(o, executable, sizeof executable));
  // a store of the task's own: nothing measured before answers for it, and tasks of many hosts do
  // not wait for one file on a network's disk
  const char *const extra[] = {
      hsc_arena_printf(arena, "HLOSCOPE_STORE=%s/results.sqlite", slot->scratch), NULL};
  hsc_bytes_printf(&out, "%s/document.json", slot->scratch);
  argv[count++] = hsc_bytes_text(&out);
  argv[count++] = executable;
  json_array_foreach (words, i, word) {
    const char *text = json_string_value(word);
    if (text && hsc_starts_with(text, "{folder}/"))
      text = hsc_arena_printf(arena, "%s/%s", o->sweep->folder, text + 9);
    // what a command writes beside its document is nobody's: not into the current folder
    if (text && hsc_starts_with(text, "{scratch}/"))
      text = hsc_arena_printf(arena, "%s/%s", slot->scratch, text + 10);
    if (i < MOST_WORDS)
      argv[count++] = text;
  }
  HSC_GOTO(hsc_arena_status(arena));
  if (task->input) {
    const char *path = hsc_arena_printf(arena, "%s/%s", o->sweep->folder, task->input);
    HSC_GOTO(check_input(path, task->input));
  }
  for (int tries = 0; tries < MOST_TRIES; tries++) {
    HSC_GOTO(hsc_child_start(&(hsc_child_options){.argv = argv, .extra_env = extra}, &child));
    HSC_GOTO(wait_for(o, task, child, &ended, &late));
    *out_undone = stopped(o) && ended.signal;
    if (*out_undone)
      break;
    forget_try(row);
    take_document(task, hsc_bytes_text(&out), &ended, hsc_child_stderr(child), row);
    HSC_GOTO(check_room(slot, row));
    bool outside = !late && hsc_task_is_from_outside(&ended);
    if (late || outside)
      json_object_set_new(row, "outcome", json_string(late ? "timeout" : "killed"));
    if (!outside)
      break;
    hsc_child_destroy(child);
    child = NULL;
  }
done:
  hsc_child_destroy(child);
  hsc_scratch_empty(slot->scratch);
  hsc_bytes_deinit(&out);
  hsc_arena_destroy(arena);
  return status;
}

hsc_status *hsc__sweep_do(const hsc_sweep_run_options *options,
                          const hsc_sweep_task *task,
                          hsc__sweep_slot **slot,
                          json_t **out_row) {
  const json_t *does = json_object_get(task->line, "do");
  json_t *job = json_object_get(does, "job");
  char host[256] = "";
  bool undone = false;
  *out_row = NULL;
  if (!*slot)
    HSC_TRY(make_slot(slot));
  gethostname(host, sizeof host - 1);
  json_t *row = json_pack("{s:s, s:s, s:i, s:I}", "task", task->id, "host", host, "pid",
                          (int)getpid(), "started_ns", (json_int_t)hsc_wall_ns());
  if (!row)
    return hsc_status_out_of_memory();
  int64_t start_ns = hsc_now_ns();
  hsc_status *status =
      job ? do_job(options, task, *slot, job, row, &undone)
          : do_command(options, task, *slot, json_object_get(does, "argv"), row, &undone);
  json_object_set_new(row, "took_s", json_real((double)(hsc_now_ns() - start_ns) * 1e-9));
  if (status || undone)
    json_decref(row);
  else
    *out_row = row;
  return status;
}
