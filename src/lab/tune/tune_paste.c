// tune_paste.c - lines to paste: a variable of the environment, compiler_options of jax.jit. Both
// ask for what was measured, the options of the command line included.
//
// A compiler takes options for one compile that no flag of its environment sets, and aborts the
// process over a flag that it does not know. So the variable is tried before it is an answer: a
// fresh worker that has it, and nothing else, compiles the program.
#include <stdlib.h>

#include "lab/run/json_tree.h"
#include "lab/tune/tune_internal.h"

enum { TRY_SECONDS = 60, MOST_VARIABLES = 24 };

static bool is_plain(const char *text) {
  for (; *text; text++)
    if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+.,:=/", *text))
      return false;
  return true;
}

static void put_value(hsc_bytes *out, const json_t *value) {
  if (json_is_string(value))
    hsc_bytes_append_text(out, json_string_value(value));
  else if (json_is_boolean(value))
    hsc_bytes_append_text(out, json_is_true(value) ? "true" : "false");
  else if (json_is_integer(value))
    hsc_bytes_printf(out, "%lld", (long long)json_integer_value(value));
  else
    hsc_bytes_printf(out, "%g", json_number_value(value));
}

// libtpu reads its own from another variable.
static const char *variable_of(const tune_run *run) {
  return strncmp(run->options->device->text, "tpu", 3) ? "XLA_FLAGS" : "LIBTPU_INIT_ARGS";
}

// "--a=b --c=d"
static void put_flags(json_t *overrides, hsc_bytes *out) {
  const char *name;
  json_t *value;
  json_object_foreach (overrides, name, value) {
    hsc_bytes_printf(out, "%s--%s=", out->size ? " " : "", name);
    put_value(out, value);
  }
}

// What the variable holds already is kept, and what is given later wins.
static void put_line(const char *variable, const char *flags, hsc_bytes *out) {
  const char *before = getenv(variable);
  if (before && *before)
    hsc_bytes_printf(out, "%s=\"$%s %s\"", variable, variable, flags);
  else
    hsc_bytes_printf(out, is_plain(flags) ? "%s=%s" : "%s='%s'", variable, flags);
}

static void put_python(json_t *overrides, hsc_bytes *out) {
  const char *name;
  json_t *value;
  bool first = true;
  hsc_bytes_append_text(out, "jax.jit(f, compiler_options={");
  json_object_foreach (overrides, name, value) {
    hsc_bytes_printf(out, "%s\"%s\": ", first ? "" : ", ", name);
    first = false;
    if (json_is_boolean(value)) {
      hsc_bytes_append_text(out, json_is_true(value) ? "True" : "False");
      continue;
    }
    hsc_bytes_append_text(out, json_is_string(value) ? "\"" : "");
    put_value(out, value);
    hsc_bytes_append_text(out, json_is_string(value) ? "\"" : "");
  }
  hsc_bytes_append_text(out, "})");
}

// ---- the variable, tried ------------------------------------------------------------------------

// The device with one more variable in its workers; NULL where there is no room for it.
static hsc_device_spec *with_variable(tune_run *run, const char *flags) {
  const char *variable = variable_of(run);
  const char *before = getenv(variable);
  hsc_device_spec *device = hsc_arena_copy(run->arena, run->options->device, sizeof *device);
  const char **list = HSC_NEW_ARRAY(run->arena, const char *, MOST_VARIABLES + 2);
  int count = 0;
  if (!device || !list)
    return NULL;
  while (device->environment && device->environment[count] && count < MOST_VARIABLES) {
    list[count] = device->environment[count];
    count++;
  }
  list[count] = hsc_arena_printf(run->arena, "%s=%s%s%s", variable, before ? before : "",
                                 before && *before ? " " : "", flags);
  device->environment = list;
  return list[count] ? device : NULL;
}

// *out_refused: the compiler's words, in the run's arena; NULL = it takes the flags. *out_tried:
// false where there was no answer in time.
static hsc_status *try_flags(tune_run *run,
                             const tune_candidate *c,
                             const char *flags,
                             bool *out_tried,
                             const char **out_refused) {
  hsc_lab_worker *worker = NULL;
  hsc_answer answer = {0};
  hsc_status *status = NULL;
  hsc_device_spec *device = with_variable(run, flags);
  json_t *request = hsc__tune_request(run, "compile", c);
  *out_tried = false;
  *out_refused = NULL;
  if (!device || !request)
    HSC_GOTO(hsc_status_out_of_memory());
  json_object_del(request, "data");
  json_object_set_new(request, "overrides", json_object());
  HSC_GOTO(hsc_lab_worker_create(&(hsc_lab_worker_options){.device = device,
                                                           .executable = run->options->executable,
                                                           .no_disk_cache = true,
                                                           .stop = run->options->stop},
                                 &worker));
  HSC_GOTO(hsc_lab_worker_call(worker, request, TRY_SECONDS * HSC_SECOND_NS, &answer));
  bool stopped = run->options->stop && *run->options->stop;
  *out_tried = answer.outcome != HSC_OUTCOME_TIMEOUT && !stopped;
  if (*out_tried && answer.outcome != HSC_OUTCOME_OK)
    *out_refused = hsc_arena_strdup(
        run->arena, answer.status ? hsc_status_message(answer.status) : "it does not start");
done:
  hsc_answer_deinit(&answer);
  hsc_lab_worker_destroy(worker);
  json_decref(request);
  return status;
}

hsc_status *hsc__tune_put_lines(tune_run *run, const tune_candidate *c, json_t *answer) {
  hsc_bytes flags = {0};
  hsc_bytes line = {0};
  hsc_bytes python = {0};
  const char *refused = NULL;
  bool tried = false;
  hsc_status *status = NULL;
  json_t *request = hsc__tune_request(run, "compile", c);
  json_t *overrides = json_object_get(request, "overrides");
  if (json_object_size(c->overrides)) {
    put_flags(overrides, &flags);
    put_line(variable_of(run), hsc_bytes_text(&flags), &line);
    put_python(overrides, &python);
    status = try_flags(run, c, hsc_bytes_text(&flags), &tried, &refused);
  }
  if (refused)
    line.size = 0;
  json_object_set_new(answer, "flags", hsc__tune_text(&line));
  json_object_set_new(answer, "flags_tried", json_boolean(tried));
  json_object_set_new(answer, "flags_refused", refused ? json_string(refused) : json_null());
  json_object_set_new(answer, "python", hsc__tune_text(&python));
  hsc_bytes_deinit(&flags);
  json_decref(request);
  return status;
}
