// run_fallback.c - attempts: a device as it is, then with the remedies that the knowledge base has
// for its error, then the next device.
#include "base/files/file_io.h"
#include "base/text/text.h"
#include "cli/run_fallback.h"

#include <stdlib.h>

#include "doctor/log_reader.h"
#include "worker/lab_compile.h"

enum { REMEDIES_MAX = 16 };
static const char environment_prefix[] = "env.";

typedef struct falling {
  const hsc_run_options *options;
  hsc_cli *cli;
  hsc_knowledge *kb;  // NULL = there is none: devices only
  json_t *attempts;
  hsc_status *last;                          // why the last attempt failed
  const hsc_remedy *remedies[REMEDIES_MAX];  // of the entries that the last error is known by
  size_t remedy_count;
} falling;

// Entries that speak of a failed attempt: their ids into `ids`, their remedies into the state.
static hsc_status *look_up(falling *f, const hsc_status *failure, json_t *ids) {
  f->remedy_count = 0;
  if (!f->kb)
    return NULL;
  hsc_log_reader *reader = NULL;
  HSC_TRY(hsc_log_reader_create(f->kb, NULL, &reader));
  const char *const texts[] = {hsc_status_message(failure), "\n", hsc_status_notes(failure)};
  hsc_status *status = NULL;
  for (size_t i = 0; i < HSC_COUNT_OF(texts) && !status; i++)
    status = hsc_log_reader_feed(reader, texts[i], strlen(texts[i]));
  if (!status)
    status = hsc_log_reader_finish(reader);
  const hsc_log_report *report = hsc_log_reader_report(reader);
  for (size_t i = 0; i < report->finding_count && !status; i++) {
    const hsc_entry *entry = report->findings[i]->entry;
    if (entry->by_text)
      continue;
    json_array_append_new(ids, json_string(entry->id));
    for (size_t r = 0; r < entry->remedy_count && f->remedy_count < REMEDIES_MAX; r++)
      f->remedies[f->remedy_count++] = &entry->remedies[r];
  }
  hsc_log_reader_destroy(reader);
  return status;
}

// One run; on failure f->last says why. `remedy` may be NULL.
static hsc_status *attempt(falling *f,
                           const char *device,
                           const hsc_remedy *remedy,
                           json_t **out_result) {
  const char *devices[] = {device};
  hsc_run_options options = *f->options;
  json_t *overrides = options.overrides ? json_deep_copy(options.overrides) : json_object();
  json_t *ids = json_array();
  options.devices = devices;
  options.device_count = 1;
  options.compare = false;
  bool in_environment = remedy && hsc_starts_with(remedy->name, environment_prefix);
  const char *variable = in_environment ? remedy->name + sizeof environment_prefix - 1 : NULL;
  char *before = variable && getenv(variable) ? hsc_strdup(getenv(variable)) : NULL;
  hsc_status *status = NULL;
  if (in_environment) {
    setenv(variable, remedy->value, 1);
  } else if (remedy) {
    const char *item = hsc_arena_printf(f->cli->arena, "%s=%s", remedy->name, remedy->value);
    json_t *more = NULL;
    status = hsc_overrides_parse(&item, 1, &more);
    if (!status)
      json_object_update(overrides, more);
    json_decref(more);
  }
  options.overrides = json_object_size(overrides) ? overrides : NULL;
  json_t *record = json_pack(
      "{s:s, s:s?}", "device", device, "remedy",
      remedy ? hsc_arena_printf(f->cli->arena, "%s=%s", remedy->name, remedy->value) : NULL);
  json_array_append_new(f->attempts, record);
  hsc_status *failure = status ? NULL : hsc_run_program(&options, out_result);
  if (in_environment && before)
    setenv(variable, before, 1);
  else if (in_environment)
    unsetenv(variable);
  hsc_free(before);
  if (!status && !failure && *out_result) {
    json_object_set_new(record, "status", json_string("ok"));
    json_object_set_new(record, "message", json_null());
  } else if (failure) {
    json_object_set_new(record, "status", json_string(hsc_code_name(hsc_status_code(failure))));
    json_object_set_new(record, "message", json_string(hsc_status_message(failure)));
    status = look_up(f, failure, ids);
    hsc_status_free(f->last);
    f->last = failure;
  }
  json_object_set_new(record, "knowledge", ids);
  json_decref(overrides);
  return status;
}

// The program itself is at fault: no other device helps.
static bool is_of_program(const hsc_status *failure, const char *program) {
  const char *path = hsc_status_path(failure);
  return path && !strcmp(path, program) && hsc_status_code(failure) == HSC_INVALID_ARGUMENT;
}

static hsc_status *try_device(falling *f, const char *device, json_t **out_result, bool *out_stop) {
  HSC_TRY(attempt(f, device, NULL, out_result));
  *out_stop = *out_result || is_of_program(f->last, f->options->program);
  const hsc_remedy *remedies[REMEDIES_MAX];
  size_t count = f->remedy_count;
  memcpy(remedies, f->remedies, sizeof remedies);
  for (size_t i = 0; i < count && !*out_stop; i++) {
    hsc_cli_say(f->cli, "%s failed; once more with %s=%s", device, remedies[i]->name,
                remedies[i]->value);
    HSC_TRY(attempt(f, device, remedies[i], out_result));
    *out_stop = *out_result != NULL;
  }
  return NULL;
}

// A line that programs can read: JSON after a fixed word.
static void warn(falling *f, json_t *told) {
  char *text = json_dumps(told, JSON_COMPACT | JSON_PRESERVE_ORDER);
  if (text)
    hsc_cli_say(f->cli, "warning: fallback %s", text);
  free(text);
}

// It compiled ahead of time, for a device that is not here.
static bool only_compiled(const json_t *result) {
  return json_is_string(
      json_object_get(json_array_get(json_object_get(result, "devices"), 0), "cannot_run"));
}

// Kept in case nothing on the list can run: the attempt's record says so, and the next device is
// tried.
static void set_aside(falling *f,
                      const char *device,
                      json_t **io_result,
                      json_t **io_kept,
                      json_t **io_kept_record,
                      const char **io_kept_device) {
  json_t *record = json_array_get(f->attempts, json_array_size(f->attempts) - 1);
  json_object_set_new(record, "status", json_string("cannot_run"));
  hsc_status_free(f->last);
  f->last = HSC_ERR(UNAVAILABLE, "it compiles, but no such device is here to run it");
  json_object_set_new(record, "message", json_string(hsc_status_message(f->last)));
  if (*io_kept) {
    json_decref(*io_result);
  } else {
    *io_kept = *io_result;
    *io_kept_record = record;
    *io_kept_device = device;
  }
  *io_result = NULL;
}

hsc_status *hsc_run_with_fallback(const hsc_run_options *options,
                                  const hsc_list *fallback,
                                  hsc_cli *cli,
                                  json_t **out_result) {
  falling f = {.options = options, .cli = cli, .attempts = json_array()};
  hsc_status *ignored = hsc_knowledge_load(NULL, &f.kb);  // without one, devices are still tried
  hsc_status_free(ignored);
  static const hsc_list none = {0};
  if (!hsc_file_exists(options->program))
    fallback = &none;
  hsc_status *status = NULL;
  bool stop = false;
  const char *used = NULL;
  const char *kept_device = NULL;
  json_t *kept = NULL;
  json_t *kept_record = NULL;
  for (size_t i = 0; i <= fallback->count && !stop && !status; i++) {
    used = i ? fallback->items[i - 1] : options->devices[0];
    if (i)
      hsc_cli_say(cli, "%s failed: %s; going on with %s",
                  i > 1 ? fallback->items[i - 2] : options->devices[0], hsc_status_message(f.last),
                  used);
    status = try_device(&f, used, out_result, &stop);
    if (status || !*out_result || i == fallback->count || !only_compiled(*out_result))
      continue;
    set_aside(&f, used, out_result, &kept, &kept_record, &kept_device);
    stop = false;
  }
  size_t tried = json_array_size(f.attempts);
  json_t *last = json_array_get(f.attempts, tried - 1);
  if (kept && !*out_result && !status) {  // nothing runs: that it compiles is something
    *out_result = kept;
    kept = NULL;
    last = kept_record;
    used = kept_device;
  }
  if (!status && *out_result) {
    json_t *told = json_pack("{s:s, s:s, s:O, s:b, s:O}", "wanted", options->devices[0], "used",
                             used, "remedy", json_object_get(last, "remedy"), "degraded", tried > 1,
                             "attempts", f.attempts);
    if (tried > 1)
      warn(&f, told);
    json_object_set_new(*out_result, "fallback", told);
  } else if (!status && f.last) {
    status = tried > 1 ? hsc_status_note(f.last, "nothing worked: %zu attempts on %zu devices",
                                         tried, 1 + fallback->count)
                       : f.last;
    f.last = NULL;
  }
  json_decref(kept);
  hsc_status_free(f.last);
  hsc_knowledge_destroy(f.kb);
  json_decref(f.attempts);
  return status;
}
