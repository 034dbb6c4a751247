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

// A symptom that comes and goes is looked for as often as in candidates.
static int repeats_of(const writing *w) {
  return w->reduction->repeats > 1 ? w->reduction->repeats : 1;
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
  for (int i = 0; !status && !seen.shows && i < repeats_of(w); i++) {
    hsc_observation_deinit(&seen);
    status = hsc_observer_look(observer, &w->reduction->symptom,
                               &(hsc_looked_at){.path = path, .data = w->data}, &seen);
  }
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
// *out_again: it ran and did not show it.
static hsc_status *run_script(writing *w, const char *path, bool *out_again) {
  const hsc_device_spec *device = w->options->observer.device;
  hsc_symptom_kind kind = w->reduction->symptom.kind;
  hsc_child *child = NULL;
  hsc_child_exit end = {0};
  *out_again = false;
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
  *out_again = !status && !no_jax && !shows;
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
  bool again = true;
  for (int i = 0; !status && again && i < repeats_of(w); i++)
    status = run_script(w, path, &again);
  return status;
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
  if (r->rate_shows < r->rate_looks)
    json_object_set_new(document, "rate",
                        json_pack("{s:i, s:i, s:i}", "shows", r->rate_shows, "looks", r->rate_looks,
                                  "repeats", r->repeats));
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

// The forms of the program that the reduction holds.
static hsc_status *write_forms(const hsc_reduction_options *options,
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

// ---- when the smallest does not show it afresh --------------------------------------------------

// Takes a step of the trail in place of the program that the reduction holds.
static hsc_status *go_back_to(hsc_reduction *reduction, size_t step) {
  json_t *taken = json_array_get(reduction->taken, step);
  hsc_module *module = NULL;
  HSC_TRY(hsc_program_read_file(hsc_json_text(taken, "program"), &module));
  hsc_module_destroy(reduction->module);
  json_decref(reduction->data);
  hsc_free(reduction->after.text);
  reduction->module = module;
  reduction->data = json_incref(json_object_get(taken, "data"));
  reduction->after.text = hsc_strdup(hsc_json_text(taken, "seen"));
  reduction->after.value = hsc_json_number(json_object_get(taken, "value"));
  reduction->instructions_after = hsc_module_instr_count(module);
  return NULL;
}

// Forms that ran and did not show it, as "hlo, jax".
static char *forms_that_hide(json_t *runs) {
  const char *form;
  json_t *run;
  hsc_bytes names = {0};
  json_object_foreach (runs, form, run)
    if (json_is_false(json_object_get(run, "shows")))
      hsc_bytes_printf(&names, "%s%s", names.size ? ", " : "", form);
  return hsc_bytes_take(&names);
}

typedef struct falling_back {
  const hsc_reduction_options *options;
  hsc_reduction *reduction;
  const char *base;
  json_t *runs;  // of the smallest
  size_t at;     // the step that is written
  int tries;     // so far
  int64_t start_ns;
  json_t *document;  // of that step
} falling_back;

// Every form that ran shows it, and so does what hid it in the smallest.
static bool is_better(const falling_back *f) {
  json_t *now = json_object_get(f->document, "runs");
  const char *form;
  json_t *run;
  json_object_foreach (f->runs, form, run)
    if (json_is_false(json_object_get(run, "shows")) &&
        !json_is_true(json_object_get(json_object_get(now, form), "shows")))
      return false;
  return json_is_true(json_object_get(f->document, "verified"));
}

static hsc_status *try_step(falling_back *f, size_t step, bool *out_shows) {
  *out_shows = false;
  HSC_TRY(go_back_to(f->reduction, step));
  json_decref(f->document);
  f->document = NULL;
  f->at = step;
  f->tries++;
  HSC_TRY(write_forms(f->options, f->reduction, f->base, &f->document));
  *out_shows = is_better(f);
  return NULL;
}

static bool may_try(const falling_back *f) {
  enum { MOST_TRIES = 12 };
  double seconds = (double)(hsc_now_ns() - f->start_ns) * 1e-9;
  double budget_s = f->options->budget_s;
  return f->tries < MOST_TRIES && !(budget_s > 0 && seconds > budget_s / 2);
}

// Back from the end by one step, two, four, then by halving to the smallest that shows it. Where
// none does, the smallest stays.
static hsc_status *find_step(falling_back *f, size_t smallest) {
  size_t hides = smallest;
  size_t shows = smallest;
  for (size_t back = 1; shows == smallest && hides > 0 && may_try(f); back *= 2) {
    size_t step = back < smallest ? smallest - back : 0;
    bool found = false;
    HSC_TRY(try_step(f, step, &found));
    *(found ? &shows : &hides) = step;
  }
  while (shows < smallest && hides - shows > 1 && may_try(f)) {
    size_t step = shows + (hides - shows) / 2;
    bool found = false;
    HSC_TRY(try_step(f, step, &found));
    *(found ? &shows : &hides) = step;
  }
  bool again = false;
  return f->at == shows ? NULL : try_step(f, shows, &again);
}

static hsc_status *fall_back(const hsc_reduction_options *options,
                             hsc_reduction *reduction,
                             const char *base,
                             json_t **io_document) {
  size_t smallest = json_array_size(reduction->taken) - 1;
  falling_back f = {.options = options,
                    .reduction = reduction,
                    .base = base,
                    .runs = json_incref(json_object_get(*io_document, "runs")),
                    .at = smallest,
                    .start_ns = hsc_now_ns()};
  int64_t instructions = reduction->instructions_after;
  char *forms = forms_that_hide(f.runs);
  f.document = json_incref(*io_document);
  hsc_status *status = forms ? find_step(&f, smallest) : hsc_status_out_of_memory();
  if (!status) {
    json_object_set_new(
        f.document, "fell_back",
        json_pack("{s:I, s:I, s:s, s:b}", "steps", (json_int_t)(smallest - f.at), "instructions",
                  (json_int_t)instructions, "forms", forms, "found", f.at != smallest));
    json_decref(*io_document);
    *io_document = json_incref(f.document);
  }
  json_decref(f.document);
  json_decref(f.runs);
  hsc_free(forms);
  return status;
}

hsc_status *hsc_reduction_write(const hsc_reduction_options *options,
                                hsc_reduction *reduction,
                                const char *base,
                                json_t **out_document) {
  HSC_TRY(write_forms(options, reduction, base, out_document));
  char *forms = forms_that_hide(json_object_get(*out_document, "runs"));
  bool some_hide = forms && *forms;
  hsc_free(forms);
  if (!some_hide || json_array_size(reduction->taken) < 2)
    return NULL;
  return fall_back(options, reduction, base, out_document);
}
