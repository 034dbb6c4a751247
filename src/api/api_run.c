// api_run.c - running a program with fallback, for C programs and the Python package: `hloscope
// run` in a child, its document read back.
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/core/bytes.h"
#include "base/core/hash.h"
#include "base/core/memory.h"
#include "base/core/status.h"
#include "base/files/places.h"
#include "base/process/child.h"
#include "base/text/text.h"
#include "hloscope/run.h"

typedef struct run_result {
  hsc_program_run run;  // first, so that the caller's pointer is ours
  hsc_arena *arena;
} run_result;

// ---- the program --------------------------------------------------------------------------------

static bool on_path(hsc_arena *arena, const char *name, const char **out_path) {
  for (const char *at = getenv("PATH"); at && *at;) {
    size_t size = strcspn(at, ":");
    const char *path = hsc_arena_printf(arena, "%.*s/%s", (int)size, at, name);
    if (size && access(path, X_OK) == 0) {
      *out_path = path;
      return true;
    }
    at += size + (at[size] == ':');
  }
  return false;
}

static hsc_status *find_program(hsc_arena *arena, const char *wanted, const char **out_path) {
  const char *chosen = wanted ? wanted : getenv("HLOSCOPE_PROGRAM");
  if (chosen && *chosen) {
    *out_path = chosen;
    if (access(chosen, X_OK) == 0)
      return NULL;
    return HSC_ERR(NOT_FOUND, "%s: no program that can be run", chosen);
  }
  hsc_status *status = hsc_place_find(HSC_PLACE_PROGRAM, "hloscope", arena, out_path);
  if (!status)
    return NULL;
  if (on_path(arena, "hloscope", out_path)) {
    hsc_status_free(status);
    return hsc_arena_status(arena);
  }
  return hsc_status_hint(status, "HLOSCOPE_PROGRAM names the program; it is not on PATH either");
}

// ---- the call -----------------------------------------------------------------------------------

typedef struct arguments {
  const char *items[256];
  size_t count;
  hsc_arena *arena;
} arguments;

static void add(arguments *a, const char *text) {
  if (a->count + 1 < HSC_COUNT_OF(a->items))
    a->items[a->count++] = text;
}

static hsc_status *make_arguments(const hsc_program_run_options *o,
                                  const char *program,
                                  arguments *a) {
  // The document goes to descriptor 3; what libraries print to standard output is not mixed with
  // it.
  add(a, "/bin/sh");
  add(a, "-c");
  add(a, "exec \"$0\" \"$@\" >&3");
  add(a, program);
  add(a, "run");
  add(a, "--format=json");
  add(a, "--no-store");
  if (o->device)
    add(a, hsc_arena_printf(a->arena, "--device=%s", o->device));
  for (size_t i = 0; i < o->fallback_count; i++) {
    if (!*o->fallback[i] || strchr(o->fallback[i], ','))
      return HSC_ERR(INVALID_ARGUMENT, "fallback %zu is '%s': one device each", i, o->fallback[i]);
    add(a, hsc_arena_printf(a->arena, "--fallback=%s", o->fallback[i]));
  }
  for (size_t i = 0; i < o->option_count; i++)
    add(a, hsc_arena_printf(a->arena, "--option=%s", o->options[i]));
  if (o->save_outputs)
    add(a, hsc_arena_printf(a->arena, "--save-outputs=%s", o->save_outputs));
  if (o->inputs)
    add(a, hsc_arena_printf(a->arena, "--inputs=%s", o->inputs));
  add(a, hsc_arena_printf(a->arena, "--seed=%llu", (unsigned long long)o->seed));
  add(a, hsc_arena_printf(a->arena, "--runs=%lld", (long long)o->runs));
  if (o->limit_s > 0)
    add(a, hsc_arena_printf(a->arena, "--limit=%g", o->limit_s));
  add(a, "--");
  add(a, o->program);
  if (a->count + 1 == HSC_COUNT_OF(a->items))
    return HSC_ERR(INVALID_ARGUMENT, "more than %zu devices and options",
                   HSC_COUNT_OF(a->items) - 20);
  return hsc_arena_status(a->arena);
}

// All that the child writes to its answer pipe. A child that dies leaves its last words in the
// error.
static hsc_status *read_document(const arguments *a, hsc_bytes *out_text) {
  hsc_child *child = NULL;
  hsc_child_exit end = {0};
  HSC_TRY(hsc_child_start(&(hsc_child_options){.argv = a->items, .echo_stderr = false}, &child));
  hsc_child_close_input(child);
  hsc_status *status = NULL;
  while (!(status = hsc_child_read_line(child, -1, out_text)))
    hsc_bytes_append_char(out_text, '\n');
  if (hsc_status_code(status) == HSC_UNAVAILABLE) {
    hsc_status_free(status);
    status = NULL;
  }
  if (!status)
    status = hsc_bytes_status(out_text);
  if (!status)
    status = hsc_child_wait(child, -1, &end);
  if (!status && !out_text->size) {
    const char *words = hsc_child_stderr(child);
    status = HSC_ERR(INTERNAL, "%s gave no answer (%s %d)%s%s", a->items[3],
                     end.signal ? "signal" : "exit code", end.signal ? end.signal : end.exit_code,
                     *words ? ": " : "", words);
  }
  hsc_child_destroy(child);
  return status;
}

static const char *text_at(json_t *object, const char *key) {
  return json_string_value(json_object_get(object, key));
}

// {"error": {"code", "message", "hint", "notes"}} as the status that it was.
static hsc_status *error_of(json_t *error) {
  const char *code = text_at(error, "code");
  const char *message = text_at(error, "message");
  const char *hint = text_at(error, "hint");
  hsc_code known = HSC_INTERNAL;
  for (int c = 1; c <= HSC_UNAUTHENTICATED; c++)
    if (code && !strcmp(code, hsc_code_name((hsc_code)c)))
      known = (hsc_code)c;
  hsc_status *status = hsc_status_make(known, __FILE__, __LINE__, "%s",
                                       message ? message : "an error without a message");
  json_t *note;
  size_t i;
  json_array_foreach (json_object_get(error, "notes"), i, note)
    if (json_is_string(note))
      status = hsc_status_note(status, "%s", json_string_value(note));
  const char *where = text_at(error, "where");
  if (where)
    status = hsc_status_at(status, where, 0, 0, NULL);  // "file:line:column" already
  return hint ? hsc_status_hint(status, "%s", hint) : status;
}

static double number_or_nan(json_t *value) {
  return json_is_number(value) ? json_number_value(value) : NAN;
}

static const char *keep(run_result *r, const char *text) {
  return text ? hsc_arena_strdup(r->arena, text) : NULL;
}

static void explain_fallback(run_result *r, json_t *attempts) {
  hsc_bytes text = {0};
  json_t *attempt;
  size_t i;
  hsc_bytes_printf(&text, "ran on %s%s%s in place of %s", r->run.device,
                   r->run.remedy ? " with " : "", r->run.remedy ? r->run.remedy : "",
                   r->run.wanted);
  json_array_foreach (attempts, i, attempt) {
    const char *message = text_at(attempt, "message");
    const char *remedy = text_at(attempt, "remedy");
    if (!message)
      continue;
    const char *device = text_at(attempt, "device");
    if (remedy || !hsc_starts_with(message, device))
      hsc_bytes_printf(&text, "; %s%s%s: ", device, remedy ? " with " : "", remedy ? remedy : "");
    else
      hsc_bytes_append_text(&text, "; ");
    hsc_bytes_append(&text, message, strcspn(message, "\n"));
  }
  r->run.warning = keep(r, hsc_bytes_text(&text));
  hsc_bytes_deinit(&text);
}

static hsc_status *take_document(run_result *r, const char *text) {
  json_error_t problem;
  json_t *document = json_loads(text, 0, &problem);
  if (!document)
    return HSC_ERR(INTERNAL, "hloscope's answer is no JSON: %s (line %d)", problem.text,
                   problem.line);
  json_t *error = json_object_get(document, "error");
  json_t *fallback = json_object_get(document, "fallback");
  json_t *device = json_array_get(json_object_get(document, "devices"), 0);
  hsc_status *status = error ? error_of(error) : NULL;
  if (!status && !text_at(device, "device"))
    status = HSC_ERR(INTERNAL, "hloscope's answer names no device");
  if (status)
    goto done;
  const char *used = text_at(fallback, "used");
  const char *wanted = text_at(fallback, "wanted");
  json_t *attempts = json_object_get(fallback, "attempts");
  r->run.device = keep(r, used ? used : text_at(device, "device"));
  r->run.wanted = keep(r, wanted ? wanted : text_at(device, "device"));
  r->run.remedy = keep(r, text_at(fallback, "remedy"));
  r->run.degraded = json_is_true(json_object_get(fallback, "degraded"));
  r->run.attempts = attempts ? (int)json_array_size(attempts) : 1;
  r->run.compile_seconds =
      number_or_nan(json_object_get(json_object_get(device, "phases"), "compile"));
  r->run.run_seconds = number_or_nan(json_object_get(json_object_get(device, "run"), "median"));
  r->run.json = keep(r, text);
  if (r->run.degraded)
    explain_fallback(r, attempts);
  status = hsc_arena_status(r->arena);
done:
  json_decref(document);
  return status;
}

hsc_status *hsc_program_run_start(const hsc_program_run_options *options,
                                  hsc_program_run **out_run) {
  arguments a = {0};
  hsc_bytes text = {0};
  const char *program = NULL;
  hsc_status *status = NULL;
  *out_run = NULL;
  if (!options->program || !*options->program)
    return HSC_ERR(INVALID_ARGUMENT, "no program was given");
  run_result *r = hsc_alloc(sizeof *r);
  if (!r)
    return hsc_status_out_of_memory();
  HSC_GOTO(hsc_arena_create(&r->arena));
  a.arena = r->arena;
  HSC_GOTO(find_program(r->arena, options->hloscope, &program));
  HSC_GOTO(make_arguments(options, program, &a));
  HSC_GOTO(read_document(&a, &text));
  HSC_GOTO(take_document(r, hsc_bytes_text(&text)));
  *out_run = &r->run;
  r = NULL;
done:
  hsc_bytes_deinit(&text);
  if (r)
    hsc_program_run_free(&r->run);
  return status;
}

void hsc_program_run_free(hsc_program_run *run) {
  run_result *r = (run_result *)run;
  if (!r)
    return;
  hsc_arena_destroy(r->arena);
  hsc_free(r);
}

void hsc_api_digest(const void *data, size_t size, char out_text[33]) {
  hsc_hash128_hex(hsc_hash128_of(data, size, 0), out_text);
}
