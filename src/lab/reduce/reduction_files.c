// reduction_files.c - writes the three forms of a reduced program and runs each of them afresh.
#include <math.h>

#include "base/core/clock.h"
#include "base/files/file_io.h"
#include "base/process/child.h"
#include "lab/reduce/reduction_files.h"
#include "lab/run/json_tree.h"
#include "transform/reduce/reduce.h"
#include "worker/worker_client.h"

typedef struct writing {
  const hsc_reduction_options *options;
  const hsc_reduction *reduction;
  const char *base;
  hsc_arena *arena;
  hsc_module *module;    // as it is written: without numbers of what is gone
  json_t *data;          // of its inputs, by the files that stay
  hsc_literal **inputs;  // [parameter_count]
  hsc_literal *
      *expected;  // [expected_count] on the reference; NULL where that cannot be determined
  int expected_count;
  json_t *runs, *files, *input_files;
} writing;

// ---- inputs and what is right -------------------------------------------------------------------

static hsc_status *read_literal(hsc_arena *arena,
                                const hsc_shape *shape,
                                const char *path,
                                hsc_literal **out) {
  hsc_bytes bytes = {0};
  HSC_TRY(hsc_literal_create(arena, shape, out));
  hsc_status *status = hsc_file_read(path, &bytes);
  if (!status && bytes.size != (size_t)hsc_shape_bytes(shape))
    status = HSC_ERR(INTERNAL, "%s has another size than its shape", path);
  if (!status && bytes.size)
    memcpy((*out)->data, bytes.data, bytes.size);
  hsc_bytes_deinit(&bytes);
  return status;
}

static hsc_status *keep_inputs(writing *w) {
  hsc_computation *entry = w->module->entry;
  w->inputs = HSC_NEW_ARRAY(w->arena, hsc_literal *, entry->parameter_count + 1);
  HSC_TRY(hsc_arena_status(w->arena));
  for (int p = 0; p < entry->parameter_count; p++) {
    json_t *given = json_array_get(w->reduction->data, (size_t)p);
    const hsc_shape *shape = &entry->parameters[p]->shape;
    if (json_is_string(given)) {
      const char *path = hsc_arena_printf(w->arena, "%s.input%d.bin", w->base, p);
      HSC_TRY(hsc_arena_status(w->arena));
      HSC_TRY(read_literal(w->arena, shape, json_string_value(given), &w->inputs[p]));
      HSC_TRY(hsc_file_write_atomic(path, w->inputs[p]->data ? w->inputs[p]->data : "",
                                    (size_t)hsc_shape_bytes(shape)));
      json_array_append_new(w->data, json_string(path));
      json_array_append_new(w->input_files, json_string(path));
      continue;
    }
    int64_t argument = json_is_integer(given) ? json_integer_value(given) : p;
    HSC_TRY(hsc_literal_create(w->arena, shape, &w->inputs[p]));
    hsc_literal_fill(w->inputs[p], w->options->observer.seed, (uint32_t)argument);
    json_array_append_new(w->data, json_integer(argument));
  }
  return NULL;
}

// What the reference makes of the program; nothing where it cannot run it.
static hsc_status *ask_reference(writing *w, const char *path, hsc_observer *observer) {
  json_t *outputs = NULL;
  char *why = NULL;
  const hsc_shape *result = &w->module->entry->root->shape;
  const char *directory = hsc_arena_printf(w->arena, "%s/right", w->reduction->scratch);
  HSC_TRY(hsc_arena_status(w->arena));
  HSC_TRY(hsc_observer_reference(observer, &(hsc_looked_at){.path = path, .data = w->data},
                                 directory, &outputs, &why));
  int count = hsc_shape_leaf_count(result);
  hsc_status *status = NULL;
  hsc_literal **expected = HSC_NEW_ARRAY(w->arena, hsc_literal *, count + 1);
  bool all = outputs && json_array_size(outputs) == (size_t)count;
  for (int i = 0; all && !status && i < count; i++)
    status =
        read_literal(w->arena, hsc_shape_leaf(result, i),
                     json_string_value(json_object_get(json_array_get(outputs, (size_t)i), "file")),
                     &expected[i]);
  if (all && !status) {
    w->expected = expected;
    w->expected_count = count;
  }
  json_decref(outputs);
  hsc_free(why);
  return status;
}

// ---- forms --------------------------------------------------------------------------------------

typedef enum shown { HIDES, SHOWS, NOT_RUN } shown;

static void note_form(
    writing *w, const char *form, const char *path, shown shows, const char *seen) {
  json_object_set_new(w->files, form, path ? json_string(path) : json_null());
  json_object_set_new(
      w->runs, form,
      json_pack("{s:s?, s:o, s:s}", "file", path, "shows",
                shows == NOT_RUN ? json_null() : json_boolean(shows == SHOWS), "seen", seen));
}

static hsc_status *write_program(writing *w,
                                 const char *form,
                                 hsc_format format,
                                 const char *path) {
  hsc_bytes text = {0};
  hsc_observer *observer = NULL;
  hsc_observation seen = {0};
  hsc_observer_options o = w->options->observer;
  o.scratch = hsc_arena_printf(w->arena, "%s/afresh_%s", w->reduction->scratch, form);
  o.reference_limit_ns = 0;  // whatever it takes
  hsc_status *status = hsc_program_write(w->module, format, &text);
  if (status && hsc_status_code(status) == HSC_UNIMPLEMENTED) {
    note_form(w, form, NULL, NOT_RUN, hsc_status_message(status));
    hsc_status_free(status);
    hsc_bytes_deinit(&text);
    return NULL;
  }
  if (!status)
    status = hsc_file_write_atomic(path, text.data, text.size);
  if (!status)
    status = hsc_observer_create(&o, &observer);
  if (!status)
    status = hsc_observer_look(observer, &w->reduction->symptom,
                               &(hsc_looked_at){.path = path, .data = w->data}, &seen);
  if (!status)
    note_form(w, form, path, seen.shows ? SHOWS : HIDES, seen.text ? seen.text : "");
  if (!status && format == HSC_FORMAT_HLO_TEXT && w->reduction->symptom.kind == HSC_SYMPTOM_WRONG)
    status = ask_reference(w, path, observer);
  hsc_observation_deinit(&seen);
  hsc_observer_destroy(observer);
  hsc_bytes_deinit(&text);
  return status;
}

// The last line of what a process said.
static const char *last_line(hsc_arena *arena, const char *text) {
  size_t end = strlen(text);
  while (end > 0 && (text[end - 1] == '\n' || text[end - 1] == ' '))
    end--;
  size_t start = end;
  while (start > 0 && text[start - 1] != '\n')
    start--;
  return hsc_arena_strndup(arena, text + start, end - start);
}

// Exit code 1 of a script with expected numbers: they are not what it got. Crashes and hangs are
// told by how it ended.
static hsc_status *run_script(writing *w, const char *path) {
  const hsc_device_spec *device = w->options->observer.device;
  hsc_symptom_kind kind = w->reduction->symptom.kind;
  hsc_child *child = NULL;
  hsc_child_exit end = {0};
  if (!device || device->source != HSC_DEVICE_PYTHON) {
    note_form(w, "jax", path, NOT_RUN, "not run: the device has no Python of its own");
    return NULL;
  }
  const char *const argv[] = {device->plugin_path, path, NULL};
  const char *const environment[] = {"JAX_PLATFORMS=cpu", NULL};
  HSC_TRY(hsc_child_start(&(hsc_child_options){.argv = argv, .extra_env = environment}, &child));
  hsc_child_close_input(child);
  hsc_status *status =
      hsc_child_wait(child, w->options->observer.limit_ns + 60 * HSC_SECOND_NS, &end);
  const char *said = last_line(w->arena, hsc_child_stderr(child));
  bool shows = kind == HSC_SYMPTOM_WRONG && end.exited && end.exit_code == 1 &&
               strstr(hsc_child_stderr(child), "wrong: ") != NULL;
  if (kind == HSC_SYMPTOM_CRASH)
    shows = end.exited && end.signal != 0;
  if (kind == HSC_SYMPTOM_ERROR)
    shows = end.exited && end.exit_code != 0;
  if (kind == HSC_SYMPTOM_HANG)
    shows = !end.exited;
  if (!end.exited)
    hsc_child_kill(child);
  bool no_jax = strstr(hsc_child_stderr(child), "No module named 'jax'") != NULL;
  if (!status)
    note_form(w, "jax", path, no_jax ? NOT_RUN : (shown)shows,
              no_jax ? "not run: no jax in the device's Python" : said);
  hsc_child_destroy(child);
  return status;
}

static hsc_status *write_script(writing *w, const char *path) {
  hsc_bytes text = {0};
  hsc_status *status = hsc_jax_script(
      w->module, w->inputs, w->expected, w->expected_count,
      w->reduction->after.text ? w->reduction->after.text : w->reduction->symptom.text, &text);
  if (status && hsc_status_code(status) == HSC_UNIMPLEMENTED) {
    note_form(w, "jax", NULL, NOT_RUN, hsc_status_message(status));
    hsc_status_free(status);
    hsc_bytes_deinit(&text);
    return NULL;
  }
  if (!status)
    status = hsc_file_write_atomic(path, text.data, text.size);
  hsc_bytes_deinit(&text);
  return status ? status : run_script(w, path);
}

// ---- the whole ----------------------------------------------------------------------------------

static bool all_show(json_t *runs) {
  const char *form;
  json_t *run;
  bool all = true;
  bool any = false;
  json_object_foreach (runs, form, run) {
    if (json_is_null(json_object_get(run, "shows")))
      continue;
    any = true;
    all &= json_is_true(json_object_get(run, "shows"));
  }
  return any && all;
}

static json_t *document_of(const writing *w) {
  const hsc_reduction *r = w->reduction;
  const hsc_reduction_options *o = w->options;
  json_t *document = json_pack(
      "{s:s?, s:s, s:s?, s:I, s:I, s:I, s:I, s:I, s:o, s:b, s:b, s:s?, s:s?, s:o}", "program",
      o->program, "symptom", r->symptom.text, "device",
      o->observer.device ? o->observer.device->text : NULL, "instructions_before",
      (json_int_t)r->instructions_before, "instructions_after", (json_int_t)r->instructions_after,
      "steps", (json_int_t)r->steps, "looks", (json_int_t)r->looks, "remembered",
      (json_int_t)r->remembered, "seconds", hsc_json_real(r->seconds), "complete", r->complete,
      "verified", all_show(w->runs), "seen", r->after.text, "signature", r->symptom.signature,
      "value", hsc_json_real(r->after.value));
  json_object_set(document, "files", w->files);
  json_object_set(document, "inputs", w->input_files);
  json_object_set(document, "runs", w->runs);
  json_object_set(document, "trail", r->trail);
  json_object_set_new(document, "command", o->command ? json_string(o->command) : json_null());
  return document;
}

// Without metadata and other notes where the program is the same without: they are of files that
// the reader does not have.
static hsc_status *drop_notes(writing *w) {
  const hsc_reduce_rule *rule = hsc_reduce_rule_get("attributes");
  bool all[16];
  int64_t places = 0;
  hsc_reduced bare = {0};
  memset(all, true, sizeof all);
  HSC_TRY(hsc_reduce_places(rule, w->module, &places));
  places = places < (int64_t)HSC_COUNT_OF(all) ? places : (int64_t)HSC_COUNT_OF(all);
  HSC_TRY(hsc_reduce_apply(rule, w->module, all, places, &bare));
  hsc_hash128 with = hsc_module_fingerprint(w->module);
  hsc_hash128 without = bare.module ? hsc_module_fingerprint(bare.module) : (hsc_hash128){0};
  if (bare.module && with.low == without.low && with.high == without.high) {
    hsc_module *kept = w->module;
    w->module = bare.module;
    bare.module = kept;
  }
  hsc_reduced_deinit(&bare);
  return NULL;
}

hsc_status *hsc_reduction_write(const hsc_reduction_options *options,
                                const hsc_reduction *reduction,
                                const char *base,
                                json_t **out_document) {
  writing w = {.options = options,
               .reduction = reduction,
               .base = base,
               .data = json_array(),
               .runs = json_object(),
               .files = json_object(),
               .input_files = json_array()};
  hsc_status *status = NULL;
  *out_document = NULL;
  HSC_GOTO(hsc_arena_create(&w.arena));
  HSC_GOTO(hsc_module_clone(reduction->module, &w.module));
  w.module->name = hsc_arena_strdup(w.module->arena, "reduced");
  HSC_GOTO(drop_notes(&w));
  HSC_GOTO(keep_inputs(&w));
  HSC_GOTO(
      write_program(&w, "hlo", HSC_FORMAT_HLO_TEXT, hsc_arena_printf(w.arena, "%s.hlo", base)));
  HSC_GOTO(write_program(&w, "stablehlo", HSC_FORMAT_MLIR_TEXT,
                         hsc_arena_printf(w.arena, "%s.mlir", base)));
  HSC_GOTO(write_script(&w, hsc_arena_printf(w.arena, "%s.py", base)));
  *out_document = document_of(&w);
  if (!*out_document)
    status = hsc_status_out_of_memory();
done:
  json_decref(w.data);
  json_decref(w.runs);
  json_decref(w.files);
  json_decref(w.input_files);
  hsc_module_destroy(w.module);
  hsc_arena_destroy(w.arena);
  return status;
}
