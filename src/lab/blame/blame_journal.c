// blame_journal.c - answers of workers by their questions, in the store.
//
// How to read: recall and keep, at the end, are what the workers call. A question is known by the
// device, the request with contents in place of the paths of programs and inputs, and how often it
// was asked before in the same blame: equal runs are different questions.
#include "lab/blame/blame_journal.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/core/hash.h"
#include "base/core/map.h"
#include "base/files/file_io.h"
#include "base/files/private_file.h"
#include "formats/common/formats.h"
#include "lab/blame/blame_internal.h"
#include "lab/run/given_inputs.h"
#include "lab/run/json_tree.h"
#include "worker/scratch.h"

enum {
  DAYS_KEPT = 7,                // of the directory of a blame that nobody went on with
  MOST_KEPT_BYTES = 256 << 20,  // of outputs that only another process would need
  SPARE_BYTES = 1 << 30,        // that stay free on the disk
};
static const char DEVICE_KEY[] = "the device";

struct hsc_blame_journal {
  hsc_task_table tasks;  // question -> answer; its `resumed`: an earlier process left answers
  hsc_arena *arena;
  hsc_worker_memory memory;
  const char *directory;
  int64_t limit_ns;     // of a job of the blame
  int lock;             // descriptor of the directory, locked
  hsc_map *asked;       // question -> how often so far
  hsc_map *used;        // directories that this process has had written
  const char *key;      // of the question that was asked last; NULL = it is not kept
  int64_t remembered;   // questions that an earlier process was answered
  int64_t kept_bytes;   // of directories that are left as they are
  const char *problem;  // why something could not be kept; NULL = nothing
};

static void note_problem(hsc_blame_journal *j, hsc_status *status) {
  if (status && !j->problem)
    j->problem = hsc_arena_strdup(j->arena, hsc_status_message(status));
  hsc_status_free(status);
}

// ---- what makes two questions the same ----------------------------------------------------------

// A file's contents in place of its path; a path that cannot be read stays.
static json_t *contents_of(json_t *path) {
  hsc_bytes bytes = {0};
  char digits[33];
  hsc_status *unread = hsc_file_read(json_string_value(path), &bytes);
  if (!unread)
    hsc_hash128_hex(hsc_hash128_of(bytes.size ? bytes.data : (const void *)"", bytes.size, 0),
                    digits);
  json_t *known = unread ? json_incref(path) : json_string(digits);
  hsc_status_free(unread);
  hsc_bytes_deinit(&bytes);
  return known;
}

static json_t *without_paths(const json_t *request) {
  json_t *question = json_deep_copy(request);
  json_t *data = json_object_get(question, "data");
  json_t *entry;
  size_t i;
  json_object_del(question, "id");
  if (json_is_string(json_object_get(question, "program")))
    json_object_set_new(question, "program", contents_of(json_object_get(question, "program")));
  json_array_foreach (data, i, entry)
    if (json_is_string(entry))
      json_array_set_new(data, i, contents_of(entry));
  return question;
}

static hsc_status *key_of(hsc_blame_journal *j,
                          const hsc_device_spec *device,
                          const json_t *request,
                          const char **out_key) {
  json_t *question = without_paths(request);
  char *text = question ? json_dumps(question, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
  char digits[33];
  json_decref(question);
  if (!text)
    return hsc_status_out_of_memory();
  const char *whole = hsc_arena_printf(j->arena, "%s %s", device->text, text);
  free(text);
  HSC_TRY(hsc_arena_status(j->arena));
  hsc_hash128_hex(hsc_hash128_of(whole, strlen(whole), 0), digits);
  uintptr_t before = (uintptr_t)hsc_map_get(j->asked, hsc_view_of(digits));
  HSC_TRY(hsc_map_put(j->asked, hsc_view_of(digits), (void *)(before + 1)));
  *out_key = hsc_arena_printf(j->arena, "%s/%llu", digits, (unsigned long long)before);
  return hsc_arena_status(j->arena);
}

// ---- answers as JSON ----------------------------------------------------------------------------

static json_t *text_or_null(const char *text) {
  return text ? json_string(text) : json_null();
}

static json_t *json_of_answer(const hsc_answer *answer, json_t *device) {
  const hsc_child_exit *end = &answer->exit;
  json_t *kept =
      json_pack("{s:i, s:O?, s:O?, s:o, s:o, s:{s:b, s:i, s:i, s:b, s:I, s:I, s:I}}", "outcome",
                (int)answer->outcome, "body", answer->body, "device", device, "log",
                text_or_null(answer->log), "last_words", text_or_null(answer->last_words), "exit",
                "exited", end->exited, "exit_code", end->exit_code, "signal", end->signal,
                "timed_out", end->timed_out, "max_rss_bytes", (json_int_t)end->max_rss_bytes,
                "user_ns", (json_int_t)end->user_ns, "system_ns", (json_int_t)end->system_ns);
  if (kept && answer->status)
    json_object_set_new(
        kept, "status",
        json_pack("{s:s, s:s, s:s, s:s?}", "code", hsc_code_name(hsc_status_code(answer->status)),
                  "message", hsc_status_message(answer->status), "notes",
                  hsc_status_notes(answer->status), "hint", hsc_status_hint_text(answer->status)));
  return kept;
}

static hsc_status *status_of_json(json_t *kept) {
  const char *hint = hsc_json_text(kept, "hint");
  const char *notes = hsc_json_text(kept, "notes");
  const char *message = hsc_json_text(kept, "message");
  hsc_status *status = hsc_status_make(hsc_code_of_name(hsc_json_text(kept, "code")), __FILE__,
                                       __LINE__, "%s", message ? message : "");
  if (notes && *notes)
    status = hsc_status_note(status, "%s", notes);
  return hint ? hsc_status_hint(status, "%s", hint) : status;
}

static char *heap_text(json_t *kept, const char *key) {
  const char *text = hsc_json_text(kept, key);
  return text ? hsc_strdup(text) : NULL;
}

static void answer_of_json(json_t *kept, hsc_answer *out) {
  json_t *end = json_object_get(kept, "exit");
  json_t *body = json_object_get(kept, "body");
  json_t *status = json_object_get(kept, "status");
  *out = (hsc_answer){
      .outcome = (hsc_outcome)json_integer_value(json_object_get(kept, "outcome")),
      .body = json_is_object(body) ? json_incref(body) : NULL,
      .status = json_is_object(status) ? status_of_json(status) : NULL,
      .log = heap_text(kept, "log"),
      .last_words = heap_text(kept, "last_words"),
      .exit = {.exited = json_is_true(json_object_get(end, "exited")),
               .exit_code = (int)json_integer_value(json_object_get(end, "exit_code")),
               .signal = (int)json_integer_value(json_object_get(end, "signal")),
               .timed_out = json_is_true(json_object_get(end, "timed_out")),
               .max_rss_bytes = json_integer_value(json_object_get(end, "max_rss_bytes")),
               .user_ns = json_integer_value(json_object_get(end, "user_ns")),
               .system_ns = json_integer_value(json_object_get(end, "system_ns"))}};
}

// Whether every file that the answer names is still there.
static bool has_its_files(json_t *kept) {
  json_t *output;
  size_t i;
  json_array_foreach (json_object_get(json_object_get(kept, "body"), "outputs"), i, output) {
    const char *file = hsc_json_text(output, "file");
    if (file && !hsc_file_exists(file))
      return false;
  }
  return true;
}

// ---- what the workers call ----------------------------------------------------------------------

// A killed process may have left half of what the job writes; not what this process wrote.
static void empty_unfinished(hsc_blame_journal *j, const json_t *request) {
  const char *const places[] = {
      hsc_json_text(request, "save_to"),
      hsc_json_text(json_object_get(request, "overrides"), "xla_dump_to")};
  size_t length = strlen(j->directory);
  for (size_t i = 0; i < HSC_COUNT_OF(places); i++) {
    const char *place = places[i];
    if (!place || strncmp(place, j->directory, length) != 0 || place[length] != '/')
      continue;
    bool is_new = false;
    hsc_status_free(hsc_map_add(j->used, hsc_view_of(place), j, &is_new));
    if (is_new)
      hsc_scratch_empty(place);
  }
}

static hsc_status *read_kept(hsc_blame_journal *j, json_t **out_kept) {
  hsc_task_row row = {0};
  hsc_status *status = hsc_task_table_find(&j->tasks, j->key, &row);
  *out_kept = row.answer ? json_incref(row.answer) : NULL;
  hsc_task_row_deinit(&row);
  return status;
}

static hsc_status *recall(void *user,
                          const hsc_device_spec *device,
                          const json_t *request,
                          hsc_answer *out_answer,
                          json_t **out_device,
                          bool *out_known) {
  hsc_blame_journal *j = user;
  const char *job = hsc_json_text(request, "job");
  json_t *kept = NULL;
  *out_known = false;
  *out_device = NULL;
  j->key = NULL;
  if (!j->tasks.experiment || (job && !strcmp(job, "drop")))
    return NULL;
  HSC_TRY(key_of(j, device, request, &j->key));
  if (j->tasks.resumed)
    note_problem(j, read_kept(j, &kept));
  if (json_is_object(kept) && has_its_files(kept)) {
    json_t *facts = json_object_get(kept, "device");
    answer_of_json(kept, out_answer);
    *out_device = json_is_object(facts) ? json_incref(facts) : NULL;
    *out_known = true;
    j->remembered++;
  } else if (j->tasks.resumed) {
    empty_unfinished(j, request);
  }
  json_decref(kept);
  return NULL;
}

static void keep(void *user, const hsc_answer *answer, int64_t timeout_ns, json_t *device) {
  hsc_blame_journal *j = user;
  // what the time budget cut off is asked again
  bool cut_off = answer->outcome == HSC_OUTCOME_TIMEOUT && timeout_ns < j->limit_ns;
  if (!j->key || cut_off)
    return;
  json_t *kept = json_of_answer(answer, device);
  if (kept)
    note_problem(
        j, hsc_task_table_keep(&j->tasks, j->key, hsc_outcome_text(answer->outcome), NULL, kept));
  json_decref(kept);
}

static int64_t bytes_in(const char *directory) {
  int64_t sum = 0;
  DIR *open = opendir(directory);
  for (struct dirent *entry; open && (entry = readdir(open));) {
    struct stat file;
    if (fstatat(dirfd(open), entry->d_name, &file, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISREG(file.st_mode))
      sum += file.st_size;
  }
  if (open)
    closedir(open);
  return sum;
}

// Small outputs stay for a process that goes on from here.
static void done_with(void *user, const char *directory) {
  hsc_blame_journal *j = user;
  struct statvfs disk;
  int64_t bytes = bytes_in(directory);
  bool room = statvfs(j->directory, &disk) == 0 &&
              (double)disk.f_bavail * (double)disk.f_frsize > (double)SPARE_BYTES;
  if (room && j->kept_bytes + bytes <= MOST_KEPT_BYTES)
    j->kept_bytes += bytes;
  else
    hsc_scratch_empty(directory);
}

// ---- the same blame -----------------------------------------------------------------------------

static hsc_task_target target_of(const hsc_blame_options *o) {
  return (hsc_task_target){.device = o->device, .against = o->against, .overrides = o->overrides};
}

static hsc_status *plan_of(hsc_blame_journal *j,
                           const hsc_blame_options *o,
                           const char **out_plan) {
  hsc_bytes program = {0};
  char digits[33] = "";
  char inputs[33] = "seed";
  hsc_status *unread = hsc_file_read(o->program, &program);  // the blame says so
  if (!unread && program.size)
    hsc_hash128_hex(hsc_hash128_of(program.data, program.size, 0), digits);
  hsc_status_free(unread);
  hsc_bytes_deinit(&program);
  if (o->data)
    HSC_TRY(hsc_given_inputs_digest(o->data, inputs));
  *out_plan = hsc_arena_printf(j->arena, "blame %s %s, inputs %s %llu, runs %d, limit %lld", digits,
                               o->symptom ? o->symptom->text : "any", inputs,
                               (unsigned long long)o->seed, o->runs, (long long)o->limit_ns);
  return hsc_arena_status(j->arena);
}

// Directories that nobody holds and nobody went on with for days.
static void remove_old(const char *parent) {
  DIR *open = opendir(parent);
  for (struct dirent *entry; open && (entry = readdir(open));) {
    struct stat info;
    int fd = entry->d_name[0] == '.' ? -1
                                     : openat(dirfd(open), entry->d_name,
                                              O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
      continue;
    bool old = fstat(fd, &info) == 0 && info.st_mtime < time(NULL) - DAYS_KEPT * 86400L;
    if (old && flock(fd, LOCK_EX | LOCK_NB) == 0) {
      hsc_bytes path = {0};
      hsc_bytes_printf(&path, "%s/%s", parent, entry->d_name);
      hsc_scratch_empty(hsc_bytes_text(&path));
      unlinkat(dirfd(open), entry->d_name, AT_REMOVEDIR);
      hsc_bytes_deinit(&path);
    }
    close(fd);
  }
  if (open)
    closedir(open);
}

// Makes the directory and locks it. *out_ours false: another process has it. *out_was_there: it
// has what an earlier process left.
static hsc_status *take_directory(hsc_blame_journal *j,
                                  const char *whole,
                                  bool *out_ours,
                                  bool *out_was_there) {
  char *cache = NULL;
  char digits[33];
  *out_ours = false;
  hsc_hash128_hex(hsc_hash128_of(whole, strlen(whole), 0), digits);
  HSC_TRY(hsc_cache_dir(&cache));
  const char *parent = hsc_arena_printf(j->arena, "%s/blame", cache);
  j->directory = hsc_arena_printf(j->arena, "%s/blame/%s", cache, digits);
  hsc_free(cache);
  HSC_TRY(hsc_arena_status(j->arena));
  *out_was_there = hsc_file_exists(j->directory);
  if (!*out_was_there)
    remove_old(parent);
  HSC_TRY(hsc_private_dir_make(j->directory));
  j->lock = open(j->directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  *out_ours = j->lock >= 0 && flock(j->lock, LOCK_EX | LOCK_NB) == 0;
  return NULL;
}

static hsc_status *begin_experiment(hsc_blame_journal *j,
                                    hsc_store *store,
                                    const hsc_blame_options *o,
                                    const char *plan,
                                    const char *command,
                                    bool anew) {
  hsc_experiment experiment = {.kind = "blame",
                               .command = command,
                               .device = o->device->text,
                               .subject = o->program,
                               .plan = plan,
                               .seed = o->seed};
  hsc_task_target target = target_of(o);
  HSC_TRY(hsc_task_table_begin(store, !anew, &experiment, &target, &j->tasks));
  if (!j->tasks.resumed)
    hsc_scratch_empty(j->directory);
  return NULL;
}

static void destroy(hsc_blame_journal *j) {
  if (j->lock >= 0)
    close(j->lock);
  hsc_map_destroy(j->asked);
  hsc_map_destroy(j->used);
  hsc_arena_destroy(j->arena);
  hsc_free(j);
}

hsc_status *hsc_blame_journal_open(const hsc_blame_options *options,
                                   hsc_store *store,
                                   const char *command,
                                   bool fresh,
                                   hsc_blame_journal **out_journal) {
  hsc_blame_journal *j = hsc_alloc(sizeof *j);
  const char *plan = NULL;
  const char *whole = NULL;
  hsc_task_target target = target_of(options);
  bool ours = false;
  bool was_there = false;
  hsc_status *status = NULL;
  *out_journal = NULL;
  if (!j)
    return hsc_status_out_of_memory();
  *j = (hsc_blame_journal){.lock = -1, .limit_ns = options->limit_ns};
  j->memory =
      (hsc_worker_memory){.user = j, .recall = recall, .keep = keep, .done_with = done_with};
  HSC_GOTO(hsc_arena_create(&j->arena));
  HSC_GOTO(hsc_map_create(&j->asked));
  HSC_GOTO(hsc_map_create(&j->used));
  HSC_GOTO(plan_of(j, options, &plan));
  whole = hsc_task_plan(j->arena, plan, &target);
  HSC_GOTO(hsc_arena_status(j->arena));
  HSC_GOTO(take_directory(j, whole, &ours, &was_there));
  if (!ours)
    goto done;
  // answers without their files are none
  HSC_GOTO(begin_experiment(j, store, options, plan, command, fresh || !was_there));
  *out_journal = j;
  j = NULL;
done:
  if (j)
    destroy(j);
  return status;
}

hsc_status *hsc_blame_journal_close(hsc_blame_journal *j, hsc_status *status, json_t *document) {
  if (!j)
    return status;
  bool done = !status && document;
  if (done)
    note_problem(j, hsc_task_table_end(&j->tasks, NULL, false, document));
  else
    status = hsc_task_table_end(&j->tasks, status, false, NULL);
  if (done) {
    hsc_scratch_empty(j->directory);
    rmdir(j->directory);
  } else if (hsc_status_code(status) == HSC_CANCELLED) {
    status = hsc_status_hint(status, "the same command goes on from here");
  }
  destroy(j);
  return status;
}

int64_t hsc_blame_journal_remembered(const hsc_blame_journal *journal) {
  return journal ? journal->remembered : 0;
}

const char *hsc_blame_journal_problem(const hsc_blame_journal *journal) {
  return journal ? journal->problem : NULL;
}

// ---- what a blame asks of it --------------------------------------------------------------------

const hsc_worker_memory *hsc__journal_memory(const hsc_blame_journal *journal) {
  return journal ? &journal->memory : NULL;
}

const char *hsc__journal_directory(const hsc_blame_journal *journal) {
  return journal ? journal->directory : NULL;
}

bool hsc__journal_is_resumed(const hsc_blame_journal *journal) {
  return journal && journal->tasks.resumed;
}

hsc_status *hsc__journal_meet(hsc_blame_journal *j, json_t *versions) {
  json_t *met = NULL;
  if (!j || !j->tasks.experiment || !versions)
    return NULL;
  j->key = DEVICE_KEY;
  if (j->tasks.resumed)
    note_problem(j, read_kept(j, &met));
  if (j->tasks.resumed && !json_equal(met, versions)) {
    j->tasks.resumed = false;  // another device under the same name: its answers are written over
    hsc_scratch_empty(j->directory);
  }
  json_decref(met);
  note_problem(j, hsc_task_table_keep(&j->tasks, DEVICE_KEY, "ok", NULL, versions));
  j->key = NULL;
  return NULL;
}
