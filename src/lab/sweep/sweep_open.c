// sweep_open.c - reads a plan, says who a process is, notices that a plan was changed.
#include "base/core/build_id.h"
#include "base/core/hash.h"
#include "base/files/file_io.h"
#include "lab/sweep/sweep_internal.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lab/devices/devices.h"

const char *hsc__sweep_text(const json_t *object, const char *key) {
  const char *text = json_string_value(json_object_get(object, key));
  return text ? text : "";
}

hsc_status *hsc__sweep_hash_file(const char *path, char out_hash[33]) {
  hsc_bytes bytes = {0};
  hsc_status *status = hsc_file_read_regular(path, &bytes);
  if (!status)
    hsc_hash128_hex(hsc_hash128_of(bytes.data ? bytes.data : "", bytes.size, 0), out_hash);
  hsc_bytes_deinit(&bytes);
  return status;
}

static const char *path_in(const hsc_sweep *sweep, const char *name, char *out, size_t size) {
  snprintf(out, size, "%s/%s", sweep->folder, name);
  return out;
}

// Size and time of change of the two files; all -1 where one is not there.
static void read_stamp(const hsc_sweep *sweep, int64_t out_stamp[4]) {
  static const char *const names[] = {"plan.json", "tasks.jsonl"};
  char path[4200];
  struct stat info;
  for (int i = 0; i < 2; i++) {
    bool there = stat(path_in(sweep, names[i], path, sizeof path), &info) == 0;
    out_stamp[2 * i] = there ? (int64_t)info.st_size : -1;
    out_stamp[2 * i + 1] =
        there ? (int64_t)info.st_mtim.tv_sec * 1000000000 + info.st_mtim.tv_nsec : -1;
  }
}

static hsc_status *read_document(hsc_sweep *sweep) {
  char path[4200];
  json_error_t error;
  hsc_bytes text = {0};
  path_in(sweep, "plan.json", path, sizeof path);
  if (!hsc_file_exists(path))
    return hsc_status_hint(
        HSC_ERR(NOT_FOUND, "%s: no plan of a sweep (no plan.json)", sweep->folder),
        "hloscope sweep plan KIND PROGRAM... -o %s makes one", sweep->folder);
  HSC_TRY(hsc_file_read_regular(path, &text));
  sweep->document = json_loadb(text.data, text.size, 0, &error);
  hsc_bytes_deinit(&text);
  if (!json_is_object(sweep->document))
    return HSC_ERR(DATA_LOSS, "%s: not the plan of a sweep: %s", path, error.text);
  int64_t format = json_integer_value(json_object_get(sweep->document, "format"));
  if (format > HSC_SWEEP_FORMAT)
    return HSC_ERR(FAILED_PRECONDITION,
                   "%s: made by hloscope %s, in a format that this one (%s) does not know", path,
                   hsc__sweep_text(sweep->document, "hloscope"), HSC_VERSION);
  sweep->id = hsc_arena_strdup(sweep->arena, hsc__sweep_text(sweep->document, "id"));
  sweep->kind = hsc_arena_strdup(sweep->arena, hsc__sweep_text(sweep->document, "kind"));
  return hsc_arena_status(sweep->arena);
}

// Seconds that can be counted in nanoseconds: thirty years at most.
static bool is_seconds(double seconds) {
  return seconds > 0 && seconds <= 1e9;
}

// An input is named by plain words below the folder: a plan from elsewhere reads nothing else.
static bool is_input(const char *name) {
  return !strncmp(name, "inputs/", 7) && !strchr(name + 7, '/') && !strstr(name, "..");
}

static hsc_status *take_line(hsc_sweep *sweep, json_t *line, hsc_map *groups) {
  hsc_sweep_task *task = &sweep->tasks[sweep->count];
  const json_t *input = json_object_get(line, "input");
  char group[1024];
  *task = (hsc_sweep_task){.id = hsc__sweep_text(line, "id"),
                           .kind = hsc__sweep_text(line, "kind"),
                           .program = hsc__sweep_text(line, "program"),
                           .device = hsc__sweep_text(line, "device"),
                           .off = hsc__sweep_text(line, "off"),
                           .input = json_string_value(input),
                           .cost_s = json_number_value(json_object_get(line, "cost_s")),
                           .limit_s = json_number_value(json_object_get(line, "limit_s")),
                           .line = line};
  const json_t *does = json_object_get(line, "do");
  bool has_program = task->input || !json_object_get(does, "job");
  if (strlen(task->id) != 32 || !json_is_object(does) || !has_program ||
      !is_seconds(task->cost_s) || !is_seconds(task->limit_s) ||
      (task->input && !is_input(task->input)))
    return HSC_ERR(DATA_LOSS, "%s/tasks.jsonl:%lld: not a task", sweep->folder,
                   (long long)sweep->count + 1);
  snprintf(group, sizeof group, "%s|%s|%s", task->kind, task->device,
           task->input ? task->input : "");
  uintptr_t number = (uintptr_t)hsc_map_get(groups, hsc_view_of(group));
  if (!number) {
    number = hsc_map_count(groups) + 1;
    HSC_TRY(hsc_map_put(groups, hsc_view_of(group), (void *)number));
  }
  task->group = (int)number - 1;
  sweep->count++;
  return hsc_map_put(sweep->numbers, hsc_view_of(task->id), task);
}

static hsc_status *read_tasks(hsc_sweep *sweep, hsc_map *groups) {
  char path[4200];
  char hash[33];
  hsc_bytes text = {0};
  hsc_status *status = NULL;
  size_t lines = 0;
  HSC_GOTO(hsc_file_read_regular(path_in(sweep, "tasks.jsonl", path, sizeof path), &text));
  hsc_hash128_hex(hsc_hash128_of(text.data ? text.data : "", text.size, 0), hash);
  if (strcmp(hash, sweep->id) != 0)
    HSC_GOTO(hsc_status_hint(
        HSC_ERR(DATA_LOSS, "%s was changed: its tasks are plan %.8s, plan.json says %.8s",
                sweep->folder, hash, sweep->id),
        "a plan is not edited: make another one in a folder of its own"));
  for (size_t i = 0; i < text.size; i++)
    lines += text.data[i] == '\n';
  sweep->tasks = HSC_NEW_ARRAY(sweep->arena, hsc_sweep_task, lines + 1);
  HSC_GOTO(hsc_arena_status(sweep->arena));
  for (const char *at = text.data; at && at < text.data + text.size;) {
    const char *end = memchr(at, '\n', (size_t)(text.data + text.size - at));
    json_t *line = end ? json_loadb(at, (size_t)(end - at), 0, NULL) : NULL;
    if (!line)
      HSC_GOTO(HSC_ERR(DATA_LOSS, "%s:%lld: not a task", path, (long long)sweep->count + 1));
    json_array_append_new(sweep->lines, line);
    HSC_GOTO(take_line(sweep, line, groups));
    at = end + 1;
  }
  sweep->group_count = (int)hsc_map_count(groups);
done:
  hsc_bytes_deinit(&text);
  return status;
}

hsc_status *hsc_sweep_open(const char *folder, hsc_sweep **out_sweep) {
  hsc_sweep *sweep = hsc_alloc(sizeof *sweep);
  hsc_map *groups = NULL;
  hsc_status *status = NULL;
  *out_sweep = NULL;
  if (!sweep)
    return hsc_status_out_of_memory();
  HSC_GOTO(hsc_arena_create(&sweep->arena));
  HSC_GOTO(hsc_map_create(&sweep->numbers));
  HSC_GOTO(hsc_map_create(&groups));
  sweep->lines = json_array();
  sweep->folder = hsc_arena_strdup(sweep->arena, folder);
  HSC_GOTO(hsc_arena_status(sweep->arena));
  read_stamp(sweep, sweep->stamp);
  HSC_GOTO(read_document(sweep));
  HSC_GOTO(read_tasks(sweep, groups));
  *out_sweep = sweep;
done:
  hsc_map_destroy(groups);
  if (status)
    hsc_sweep_close(sweep);
  return status;
}

void hsc_sweep_close(hsc_sweep *sweep) {
  if (!sweep)
    return;
  json_decref(sweep->document);
  json_decref(sweep->lines);
  hsc_map_destroy(sweep->numbers);
  hsc_arena_destroy(sweep->arena);
  hsc_free(sweep);
}

hsc_status *hsc_sweep_check(const hsc_sweep *sweep) {
  int64_t now[4];
  hsc_sweep *again = NULL;
  read_stamp(sweep, now);
  if (!memcmp(now, sweep->stamp, sizeof now))
    return NULL;
  hsc_status *status = hsc_sweep_open(sweep->folder, &again);
  bool same = !status && !strcmp(again->id, sweep->id);
  hsc_status *changed =
      status ? HSC_ERR(FAILED_PRECONDITION, "%s was changed while its tasks ran: %s", sweep->folder,
                       hsc_status_message(status))
             : HSC_ERR(FAILED_PRECONDITION,
                       "%s was changed while its tasks ran: it was plan %.8s, now it is plan %.8s",
                       sweep->folder, sweep->id, again->id);
  hsc_sweep_close(again);
  if (same) {
    hsc_status_free(changed);
    return NULL;  // touched, copied back: the same tasks
  }
  hsc_status_free(status);
  return hsc_status_hint(changed, "what was done is in results/ and belongs to the plan as it was");
}

// ---- who a process is ---------------------------------------------------------------------------

// A device by the file that it is loaded from: two machines may hold different ones by one name.
static void add_device(json_t *devices, const char *text) {
  hsc_arena *arena = NULL;
  hsc_device_spec spec;
  char hash[33] = "";
  if (json_object_get(devices, text))
    return;
  hsc_status *status = hsc_arena_create(&arena);
  if (!status)
    status = hsc_device_spec_parse(text, arena, &spec);
  if (!status && spec.plugin_path && spec.source != HSC_DEVICE_PYTHON)
    status = hsc__sweep_hash_file(spec.plugin_path, hash);
  json_object_set_new(devices, text, json_string(status ? hsc_status_message(status) : hash));
  hsc_status_free(status);
  hsc_arena_destroy(arena);
}

json_t *hsc__sweep_identity(const hsc_sweep *sweep) {
  char host[256] = "";
  json_t *devices = json_object();
  gethostname(host, sizeof host - 1);
  for (int64_t i = 0; i < sweep->count; i++)
    add_device(devices, sweep->tasks[i].device);
  return json_pack("{s:s, s:s, s:s, s:i, s:s, s:o}", "hloscope", HSC_VERSION, "build",
                   hsc_build_id(), "host", host, "pid", (int)getpid(), "plan", sweep->id, "devices",
                   devices);
}

static void name_one(const json_t *who, hsc_bytes *out) {
  hsc_bytes_printf(out, "hloscope %s (build %.12s, host %s)", hsc__sweep_text(who, "hloscope"),
                   hsc__sweep_text(who, "build"), hsc__sweep_text(who, "host"));
}

bool hsc__sweep_differ(const json_t *a, const json_t *b, hsc_bytes *out_words) {
  const char *device;
  json_t *hash;
  if (strcmp(hsc__sweep_text(a, "plan"), hsc__sweep_text(b, "plan")) != 0) {
    hsc_bytes_printf(out_words, "plan %.8s on host %s, plan %.8s on host %s",
                     hsc__sweep_text(a, "plan"), hsc__sweep_text(a, "host"),
                     hsc__sweep_text(b, "plan"), hsc__sweep_text(b, "host"));
    return true;
  }
  if (strcmp(hsc__sweep_text(a, "hloscope"), hsc__sweep_text(b, "hloscope")) != 0 ||
      strcmp(hsc__sweep_text(a, "build"), hsc__sweep_text(b, "build")) != 0) {
    name_one(a, out_words);
    hsc_bytes_append_text(out_words, " and ");
    name_one(b, out_words);
    return true;
  }
  json_object_foreach (json_object_get(a, "devices"), device, hash) {
    const char *other = hsc__sweep_text(json_object_get(b, "devices"), device);
    if (strcmp(json_string_value(hash), other) == 0)
      continue;
    hsc_bytes_printf(out_words, "device %s: %.40s on host %s, %.40s on host %s", device,
                     *json_string_value(hash) ? json_string_value(hash) : "none",
                     hsc__sweep_text(a, "host"), *other ? other : "none",
                     hsc__sweep_text(b, "host"));
    return true;
  }
  return false;
}
