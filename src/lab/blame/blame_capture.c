// blame_capture.c - the failed call of a capture. The tracer keeps each program that is compiled;
// and the options it was compiled with, and with --keep-failures also the inputs of calls that fail
// (tracer_failures.c).
#include "lab/blame/blame_capture.h"

#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/files/file_io.h"
#include "formats/common/formats.h"
#include "trace/capture.h"
#include "views/recompile_options.h"
#include "worker/lab_compile.h"

bool hsc_is_capture(const char *path) {
  struct stat info;
  return path && stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static const char *text_of(const hsc_capture *capture, const hsc_event *event, const char *key) {
  const hsc_trace_attr *attr = hsc_event_attr(capture, event, key);
  if (!attr || attr->type != HSC_ATTR_STRING)
    return NULL;
  const char *text = hsc_capture_string(capture, event->process, attr->value.string);
  return text && *text ? text : NULL;
}

static int64_t number_of(const hsc_capture *capture, const hsc_event *event, const char *key) {
  const hsc_trace_attr *attr = hsc_event_attr(capture, event, key);
  return attr && attr->type == HSC_ATTR_INT ? attr->value.i : -1;
}

static bool is_compile(const hsc_capture *capture, const hsc_event *event) {
  return hsc_event_is_span(event) && text_of(capture, event, "program");
}

static bool is_execution(const hsc_capture *capture, const hsc_event *event) {
  return hsc_event_is_span(event) && event->category == HSC_CATEGORY_EXECUTE &&
         text_of(capture, event, "executable");
}

static bool failed(const hsc_capture *capture, const hsc_event *event) {
  return event->open || text_of(capture, event, "error");
}

// The compilation whose executable ran: the last of its name before the run, in its process.
static const hsc_event *compile_of(const hsc_capture *capture, const hsc_event *run) {
  const hsc_event *events = hsc_capture_events(capture);
  const char *name = text_of(capture, run, "executable");
  const hsc_event *found = NULL;
  for (const hsc_event *e = events; name && e < run; e++) {
    const char *made = e->process == run->process && is_compile(capture, e)
                           ? text_of(capture, e, "executable")
                           : NULL;
    if (made && !strcmp(made, name))
      found = e;
  }
  return found;
}

// Of a call that never came back the number is not in the capture: it is the last one kept.
static int64_t last_kept(const hsc_capture *capture, int64_t pid, hsc_arena *arena) {
  const char *path = hsc_arena_printf(arena, "%s/failures", hsc_capture_path(capture));
  DIR *folder = path ? opendir(path) : NULL;
  int64_t last = -1;
  for (struct dirent *entry; folder && (entry = readdir(folder));) {
    char *end = NULL;
    if (strtoll(entry->d_name, &end, 10) != pid || *end != '_')
      continue;
    int64_t number = strtoll(end + 1, NULL, 10);
    last = number > last ? number : last;
  }
  if (folder)
    closedir(folder);
  return last;
}

// A list with a path for each input that was kept, null for the others; NULL = none was.
static hsc_status *inputs_of(const hsc_capture *capture,
                             const hsc_event *run,
                             const char *program,
                             hsc_arena *arena,
                             json_t **out_data) {
  hsc_module *module = NULL;
  int64_t pid = hsc_capture_process_at(capture, run->process)->pid;
  int64_t run_id = number_of(capture, run, "run_id");
  if (run_id < 0)
    run_id = last_kept(capture, pid, arena);
  json_t *data = json_array();
  bool any = false;
  *out_data = NULL;
  hsc_status *status = data ? hsc_program_read_file(program, &module) : hsc_status_out_of_memory();
  for (int p = 0, leaf = 0; !status && p < module->entry->parameter_count; p++) {
    int leaves = hsc_shape_leaf_count(&module->entry->parameters[p]->shape);
    for (int i = 0; i < leaves && !status; i++, leaf++) {
      const char *path =
          hsc_arena_printf(arena, "%s/failures/%lld_%lld/input_%d.bin", hsc_capture_path(capture),
                           (long long)pid, (long long)run_id, leaf);
      status = hsc_arena_status(arena);
      bool there = !status && hsc_file_exists(path);
      any |= there;
      json_array_append_new(data, there ? json_string(path) : json_null());
    }
  }
  hsc_module_destroy(module);
  if (!status && any)
    *out_data = json_incref(data);
  json_decref(data);
  return status;
}

// The options by name that the compilation was given, as jobs take them; NULL = none.
static hsc_status *options_of(const hsc_capture *capture,
                              const hsc_event *compile,
                              hsc_arena *arena,
                              json_t **out_overrides) {
  enum { MOST = 512 };
  const char *items[MOST];
  const char *name = text_of(capture, compile, "options");
  hsc_bytes bytes = {0};
  hsc_bytes text = {0};
  size_t count = 0;
  *out_overrides = NULL;
  if (!name)
    return NULL;
  const char *folder = hsc_arena_printf(arena, "%s/programs", hsc_capture_path(capture));
  HSC_TRY(hsc_arena_status(arena));
  hsc_status *status = hsc_file_read_in(folder, name, &bytes);
  while (!status && count < MOST && hsc_compile_option(hsc_bytes_view(&bytes), count, &text)) {
    items[count++] = hsc_arena_strdup(arena, hsc_bytes_text(&text));
    hsc_bytes_reset(&text);
  }
  if (!status && count)
    status = hsc_arena_status(arena);
  if (!status && count)
    status = hsc_overrides_parse(items, count, out_overrides);
  hsc_bytes_deinit(&bytes);
  hsc_bytes_deinit(&text);
  return status;
}

static hsc_status *describe(const hsc_capture *capture,
                            const hsc_event *event,
                            hsc_arena *arena,
                            hsc_failed_call *out) {
  bool runs = is_execution(capture, event);
  const hsc_event *compile = runs ? compile_of(capture, event) : event;
  const char *what = runs ? "an execution" : "a compilation";
  const char *error = text_of(capture, event, "error");
  if (!compile)
    return hsc_status_hint(
        HSC_ERR(NOT_FOUND,
                "%s: %s failed whose program was not compiled there: it came from a cache",
                hsc_capture_path(capture), what),
        "record it once more with an empty cache");
  const char *name = text_of(capture, compile, "program");
  const char *folder = hsc_arena_printf(arena, "%s/programs", hsc_capture_path(capture));
  out->program = folder && name ? hsc_arena_printf(arena, "%s/%s", folder, name) : NULL;
  out->words = error ? hsc_arena_printf(arena, "%s failed: %s", what, error)
                     : hsc_arena_printf(arena, "the process ended in %s", what);
  HSC_TRY(hsc_arena_status(arena));
  if (!name)
    return HSC_ERR(NOT_FOUND, "%s: %s failed whose program was not kept", hsc_capture_path(capture),
                   what);
  HSC_TRY(hsc_file_check_in(folder, name));
  HSC_TRY(options_of(capture, compile, arena, &out->overrides));
  return runs ? inputs_of(capture, event, out->program, arena, &out->data) : NULL;
}

hsc_status *hsc_failed_call_of(const char *path, hsc_arena *arena, hsc_failed_call *out_call) {
  hsc_capture *capture = NULL;
  const hsc_event *found = NULL;
  *out_call = (hsc_failed_call){0};
  HSC_TRY(hsc_capture_open(path, &capture));
  const hsc_event *events = hsc_capture_events(capture);
  for (size_t i = 0; i < hsc_capture_event_count(capture); i++) {
    bool call = is_compile(capture, &events[i]) || is_execution(capture, &events[i]);
    if (call && failed(capture, &events[i]))
      found = &events[i];
  }
  hsc_status *status =
      found ? describe(capture, found, arena, out_call)
            : HSC_ERR(NOT_FOUND, "%s: every compilation and execution came back well", path);
  hsc_capture_close(capture);
  return status;
}
