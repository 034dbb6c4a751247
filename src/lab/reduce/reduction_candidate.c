// reduction_candidate.c - candidates: the values of their inputs, their keys, looks at several at
// once.
//
// How to read: hsc__candidate_make makes one, with the values that its new parameters had in the
// smallest program so far; hsc__candidates_try looks at several, in threads, unless an earlier look
// or the store knows them, and takes the first that shows the symptom. Simpler inputs are at the
// end.
#include <pthread.h>
#include <stdlib.h>

#include "base/core/clock.h"
#include "base/files/file_io.h"
#include "lab/reduce/reduction_internal.h"
#include "lab/run/json_tree.h"

void hsc__candidate_deinit(hsc__candidate *candidate) {
  hsc_module_destroy(candidate->module);
  json_decref(candidate->data);
  hsc_observation_deinit(&candidate->seen);
  *candidate = (hsc__candidate){0};
}

// ---- values of inputs ---------------------------------------------------------------------------

static const char *new_path(hsc__reducer *r, const char *kind) {
  return hsc_arena_printf(r->result->arena, "%s/%s_%lld", r->result->scratch, kind,
                          (long long)r->file_count++);
}

// The value of input `p` of the smallest program so far.
static hsc_status *read_input(
    hsc__reducer *r, const hsc_shape *shape, int p, hsc_arena *arena, hsc_literal **out) {
  json_t *entry = json_array_get(r->result->data, (size_t)p);
  hsc_bytes bytes = {0};
  HSC_TRY(hsc_literal_create(arena, shape, out));
  if (!json_is_string(entry)) {
    int64_t argument = json_is_integer(entry) ? json_integer_value(entry) : p;
    hsc_literal_fill(*out, r->options->observer.seed, (uint32_t)argument);
    return NULL;
  }
  hsc_status *status = hsc_file_read(json_string_value(entry), &bytes);
  if (!status && bytes.size != (size_t)hsc_shape_bytes(shape))
    status = HSC_ERR(INTERNAL, "%s has another size", json_string_value(entry));
  if (!status && bytes.size)
    memcpy((*out)->data, bytes.data, bytes.size);
  hsc_bytes_deinit(&bytes);
  return status;
}

static hsc_status *cut_input(hsc__reducer *r,
                             const hsc_reduce_input *input,
                             const hsc_shape *shape,
                             const char **out_path) {
  hsc_arena *arena = NULL;
  hsc_literal *old = NULL;
  hsc_literal *value = NULL;
  HSC_TRY(hsc_arena_create(&arena));
  hsc_status *status = read_input(r, input->from, input->parameter, arena, &old);
  if (!status)
    status = hsc_reduce_value(old, shape, arena, &value);
  *out_path = new_path(r, "input");
  if (!status)
    status = hsc_arena_status(r->result->arena);
  if (!status)
    status = hsc_file_write_atomic(*out_path, value->data ? value->data : "",
                                   (size_t)hsc_shape_bytes(shape));
  hsc_arena_destroy(arena);
  return status;
}

// Operations and bytes of a run; 0 = unknown.
static double work_of(const hsc_module *module) {
  hsc_count count = {0};
  hsc_status *uncounted = hsc_module_count(module, &count);
  hsc_status_free(uncounted);
  const hsc_cost *cost = &count.cost;
  return uncounted ? 0 : cost->flops + cost->bytes_read + cost->bytes_written;
}

// Values of instructions of the smallest program so far, by running it on the reference as far as
// they go. What cannot be run leaves them unknown.
static hsc_status *ask_values(hsc__reducer *r, const hsc_instr **wanted, int count) {
  hsc_module *module = NULL;
  hsc_bytes text = {0};
  json_t *outputs = NULL;
  json_t *output;
  size_t i;
  char *why = NULL;
  const char *path = new_path(r, "values.hlo");
  const char *directory = new_path(r, "values");
  hsc_status *status = NULL;
  HSC_GOTO(hsc_arena_status(r->result->arena));
  HSC_GOTO(hsc_reduce_values(r->result->module, wanted, count, &module));
  hsc_module_print(module, NULL, &text);
  HSC_GOTO(hsc_bytes_status(&text));
  HSC_GOTO(hsc_file_write_atomic(path, text.data, text.size));
  hsc_looked_at program = {.path = path, .data = r->result->data, .work = work_of(module)};
  HSC_GOTO(hsc_observer_reference(r->observers[0], &program, directory, &outputs, &why));
  json_array_foreach (outputs, i, output) {
    const char *file =
        hsc_arena_strdup(r->result->arena, json_string_value(json_object_get(output, "file")));
    if (i < (size_t)count)
      HSC_GOTO(hsc_map_put(r->values, hsc_view_of(wanted[i]->name), (void *)(uintptr_t)file));
  }
done:
  remove(path);
  hsc_free(why);
  json_decref(outputs);
  hsc_bytes_deinit(&text);
  hsc_module_destroy(module);
  return status;
}

// What only the compiler sees shows whatever the values are.
static bool values_matter(const hsc__reducer *r) {
  const hsc_device_spec *device = r->options->observer.device;
  switch (r->result->symptom.kind) {
    case HSC_SYMPTOM_COMPILE:
    case HSC_SYMPTOM_MEMORY:
    case HSC_SYMPTOM_FIRES:
    case HSC_SYMPTOM_UNFUSED:
      return false;
    default:
      return !(device && device->topology);
  }
}

static hsc_status *need_values(hsc__reducer *r, const hsc_reduced *reduced) {
  if (!values_matter(r))
    return NULL;
  int count = reduced->module->entry->parameter_count;
  const hsc_instr **wanted = hsc_alloc((size_t)(count + 1) * sizeof *wanted);
  int missing = 0;
  if (!wanted)
    return hsc_status_out_of_memory();
  for (int p = 0; p < count; p++) {
    const hsc_instr *instr = reduced->inputs[p].value_of;
    if (instr && !hsc_map_get(r->values, hsc_view_of(instr->name)))
      wanted[missing++] = instr;
  }
  hsc_status *status = missing ? ask_values(r, wanted, missing) : NULL;
  hsc_free(wanted);
  return status;
}

static hsc_status *key_of(hsc__candidate *candidate) {
  char program[33];
  char inputs[33];
  hsc_hash128_hex(hsc_module_fingerprint(candidate->module), program);
  hsc_bytes all = {0};
  hsc_bytes file = {0};
  json_t *entry;
  size_t i;
  hsc_status *status = NULL;
  json_array_foreach (candidate->data, i, entry) {
    char digest[33] = "";
    if (json_is_string(entry)) {
      hsc_bytes_reset(&file);
      HSC_GOTO(hsc_file_read(json_string_value(entry), &file));
      hsc_hash128_hex(hsc_hash128_of(file.size ? file.data : (const void *)"", file.size, 0),
                      digest);
    }
    hsc_bytes_printf(&all, "%s/%lld;", digest,
                     json_is_integer(entry) ? (long long)json_integer_value(entry) : -1);
  }
  HSC_GOTO(hsc_bytes_status(&all));
  hsc_hash128_hex(hsc_hash128_of(all.size ? all.data : (const void *)"", all.size, 0), inputs);
  snprintf(candidate->key, sizeof candidate->key, "%s/%.16s", program, inputs);
done:
  hsc_bytes_deinit(&all);
  hsc_bytes_deinit(&file);
  return status;
}

hsc_status *hsc__candidate_make(hsc__reducer *r,
                                hsc_reduced *reduced,
                                hsc__candidate *out_candidate) {
  *out_candidate = (hsc__candidate){0};
  if (!reduced->module)
    return NULL;
  hsc_computation *entry = reduced->module->entry;
  json_t *data = json_array();
  hsc_status *status = data ? need_values(r, reduced) : hsc_status_out_of_memory();
  for (int p = 0; p < entry->parameter_count && !status; p++) {
    const hsc_reduce_input *input = &reduced->inputs[p];
    const char *path = NULL;
    if (input->value_of)
      path = hsc_map_get(r->values, hsc_view_of(input->value_of->name));
    else if (input->from)
      status = cut_input(r, input, &entry->parameters[p]->shape, &path);
    else if (input->parameter >= 0) {
      json_t *kept = json_array_get(r->result->data, (size_t)input->parameter);
      bool given = kept && !json_is_null(kept);
      json_array_append_new(data, given ? json_incref(kept) : json_integer(input->parameter));
      continue;
    }
    json_array_append_new(data, path ? json_string(path) : json_integer(p));
  }
  if (!status) {
    out_candidate->module = reduced->module;
    reduced->module = NULL;
    out_candidate->data = json_incref(data);
    status = key_of(out_candidate);
  }
  json_decref(data);
  return status;
}

// ---- looks --------------------------------------------------------------------------------------

typedef struct look {
  hsc_observer *observer;
  const hsc_symptom *symptom;
  const char *path;
  hsc__candidate *candidate;
  int repeats;  // at most, until it shows
  int count;    // how many there were
  hsc_status *status;
} look;

static void *look_at(void *user) {
  look *l = user;
  hsc_looked_at program = {
      .work = work_of(l->candidate->module),
      .path = l->path,
      .data = l->candidate->data,
      .instructions = hsc_module_instr_count(l->candidate->module),
  };
  int64_t start_ns = hsc_now_ns();
  do {
    hsc_observation_deinit(&l->candidate->seen);
    l->status = hsc_observer_look(l->observer, l->symptom, &program, &l->candidate->seen);
    l->count++;
  } while (!l->status && !l->candidate->seen.shows &&
           !hsc__repeat_is_over(l->repeats, l->count, start_ns));
  return NULL;
}

// What an earlier look or the store says of a candidate.
static hsc_status *recall(hsc__reducer *r, hsc__candidate *c) {
  const char *known = hsc_map_get(r->seen, hsc_view_of(c->key));
  hsc_task_row row = {0};
  if (!known)
    HSC_TRY(hsc_task_table_find(&r->result->tasks, c->key, &row));
  if (row.state) {
    known = !strcmp(row.state, "ok") ? "shows" : "hides";
    c->seen.text = hsc_strdup(row.message ? row.message : "");
    r->result->remembered++;
    hsc_task_row_deinit(&row);
    HSC_TRY(hsc_map_put(r->seen, hsc_view_of(hsc_arena_strdup(r->result->arena, c->key)),
                        (void *)(uintptr_t)known));
  }
  c->known_before = known != NULL;  // "taken": it has been the smallest already
  c->seen.shows = known && !strcmp(known, "shows");
  return NULL;
}

static hsc_status *remember(hsc__reducer *r, const hsc__candidate *c) {
  const char *state = c->seen.shows ? "shows" : "hides";
  // of the whole nothing but that it shows it is kept: it is asked anew
  bool whole_hides = r->result->steps == 0 && !c->seen.shows;
  if (c->seen.by_chance || whole_hides)
    return NULL;
  HSC_TRY(hsc_map_put(r->seen, hsc_view_of(hsc_arena_strdup(r->result->arena, c->key)),
                      (void *)(uintptr_t)state));
  HSC_TRY(hsc_arena_status(r->result->arena));
  if (!r->options->store)
    return NULL;
  json_t *answer = json_pack("{s:s, s:I, s:o}", "rule", r->rule, "instructions",
                             (json_int_t)hsc_module_instr_count(c->module), "value",
                             hsc_json_real(c->seen.value));
  hsc_bytes text = {0};
  if (c->seen.shows) {
    hsc_module_print(c->module, NULL, &text);
    json_object_set_new(answer, "program", json_string(hsc_bytes_text(&text)));
  }
  hsc_status *status =
      hsc_task_table_keep(&r->result->tasks, c->key, c->seen.shows ? "ok" : "hides",
                          c->seen.text ? c->seen.text : "", answer);
  hsc_bytes_deinit(&text);
  json_decref(answer);
  return status;
}

static hsc_status *write_candidate(hsc__reducer *r, hsc__candidate *c, const char **out_path) {
  hsc_bytes text = {0};
  bool mlir = r->options->candidate_format == HSC_FORMAT_MLIR_TEXT;
  *out_path = hsc_arena_printf(r->result->arena, "%s/candidate_%lld.%s", r->result->scratch,
                               (long long)r->file_count++, mlir ? "mlir" : "hlo");
  HSC_TRY(hsc_arena_status(r->result->arena));
  hsc_status *status =
      hsc_program_write(c->module, mlir ? HSC_FORMAT_MLIR_TEXT : HSC_FORMAT_HLO_TEXT, &text);
  if (!status)
    status = hsc_file_write_atomic(*out_path, text.data, text.size);
  hsc_bytes_deinit(&text);
  return status;
}

// Looks at those that nobody has looked at, each with an observer of its own.
static hsc_status *look_at_all(hsc__reducer *r, hsc__candidate *candidates, int count) {
  look looks[HSC__MOST_JOBS];
  pthread_t threads[HSC__MOST_JOBS];
  int n = 0;
  hsc_status *status = NULL;
  for (int i = 0; i < count && !status; i++) {
    hsc__candidate *c = &candidates[i];
    if (!c->module || c->known_before)
      continue;
    look *l = &looks[n++];
    *l = (look){.observer = r->observers[n - 1],
                .symptom = &r->result->symptom,
                .candidate = c,
                .repeats = r->repeats};
    hsc_status *unwritten = write_candidate(r, c, &l->path);
    if (!unwritten)
      continue;
    n--;  // a program that the format cannot say: not a candidate
    c->known_before = true;
    if (hsc_status_code(unwritten) == HSC_UNIMPLEMENTED)
      hsc_status_free(unwritten);
    else
      status = unwritten;
  }
  int started = 0;
  for (; !status && started < n - 1; started++)
    if (pthread_create(&threads[started], NULL, look_at, &looks[started]) != 0)
      break;
  for (int i = started; !status && i < n; i++)
    look_at(&looks[i]);
  for (int i = 0; i < started; i++)
    pthread_join(threads[i], NULL);
  for (int i = 0; i < n; i++) {
    if (looks[i].path)
      remove(looks[i].path);
    if (status)
      hsc_status_free(looks[i].status);
    else
      status = looks[i].status;
    r->result->looks += looks[i].count;
    r->missed |= looks[i].count > 1;
    if (!status)
      status = remember(r, looks[i].candidate);
  }
  return status;
}

hsc_status *hsc__look_at_smallest(hsc__reducer *r, bool *out_shows) {
  hsc__candidate c = {.data = json_incref(r->result->data)};
  look once = {.observer = r->observers[0], .symptom = &r->result->symptom, .candidate = &c};
  *out_shows = false;
  hsc_status *status = hsc_module_clone(r->result->module, &c.module);
  if (!status)
    status = write_candidate(r, &c, &once.path);
  if (!status) {
    look_at(&once);
    status = once.status;
    remove(once.path);
    *out_shows = c.seen.shows;
    r->result->looks++;
  }
  hsc__candidate_deinit(&c);
  return status;
}

// The program of a step, for when a smaller one does not show it afresh.
static hsc_status *keep_step(hsc__reducer *r) {
  hsc_reduction *result = r->result;
  hsc_bytes text = {0};
  const char *path = hsc_arena_printf(result->arena, "%s/step_%lld.hlo", result->scratch,
                                      (long long)result->steps);
  HSC_TRY(hsc_arena_status(result->arena));
  hsc_module_print(result->module, NULL, &text);
  hsc_status *status = hsc_bytes_status(&text);
  if (!status)
    status = hsc_file_write_atomic(path, text.data, text.size);
  hsc_bytes_deinit(&text);
  if (!status &&
      json_array_append_new(result->taken,
                            json_pack("{s:s, s:O, s:s, s:o}", "program", path, "data", result->data,
                                      "seen", result->after.text ? result->after.text : "", "value",
                                      hsc_json_real(result->after.value))))
    status = hsc_status_out_of_memory();
  return status;
}

static hsc_status *take(hsc__reducer *r, hsc__candidate *c) {
  hsc_reduction *result = r->result;
  hsc_map_destroy(r->values);
  r->values = NULL;
  HSC_TRY(hsc_map_create(&r->values));
  HSC_TRY(hsc_map_put(r->seen, hsc_view_of(hsc_arena_strdup(result->arena, c->key)),
                      (void *)(uintptr_t)"taken"));
  hsc_module_destroy(result->module);
  json_decref(result->data);
  hsc_observation_deinit(&result->after);
  result->module = c->module;
  result->data = c->data;
  result->after = c->seen;
  *c = (hsc__candidate){0};
  result->steps++;
  result->instructions_after = hsc_module_instr_count(result->module);
  json_array_append_new(result->trail,
                        json_pack("{s:s, s:I, s:o}", "rule", r->rule, "instructions",
                                  (json_int_t)result->instructions_after, "seconds",
                                  hsc_json_real((double)(hsc_now_ns() - r->start_ns) / 1e9)));
  if (r->options->progress)
    r->options->progress(r->options->user, result->steps, result->instructions_after, r->rule);
  return keep_step(r);
}

// A clock that is asked about many candidates says yes to one by chance some day, and all that is
// looked for from there on is not in the program. Whether it shows once more: by new processes,
// with no other candidate running beside it.
static hsc_status *look_once_more(hsc__reducer *r, hsc__candidate *c, bool *out_shows) {
  look again = {
      .observer = r->observers[0], .symptom = &r->result->symptom, .candidate = c, .path = NULL};
  *out_shows = true;
  if (!hsc_symptom_is_timed(&r->result->symptom))
    return NULL;
  HSC_TRY(write_candidate(r, c, &again.path));
  hsc_observation_deinit(&c->seen);
  hsc_observer_renew(again.observer);
  look_at(&again);
  remove(again.path);
  HSC_TRY(again.status);
  r->result->looks++;
  *out_shows = c->seen.shows;
  return c->seen.shows ? NULL : remember(r, c);
}

hsc_status *hsc__candidates_try(hsc__reducer *r,
                                hsc__candidate *candidates,
                                int count,
                                int *out_first) {
  *out_first = -1;
  if (r->options->observer.stop && *r->options->observer.stop)
    return HSC_ERR(CANCELLED, "stopped; the same command goes on from here");
  for (int i = 0; i < count; i++)
    if (candidates[i].module)
      HSC_TRY(recall(r, &candidates[i]));
  HSC_TRY(look_at_all(r, candidates, count));
  for (int i = 0; i < count && *out_first < 0; i++)
    if (candidates[i].module && candidates[i].seen.shows) {
      bool shows = false;
      HSC_TRY(look_once_more(r, &candidates[i], &shows));
      *out_first = shows ? i : -1;
    }
  return *out_first >= 0 ? take(r, &candidates[*out_first]) : NULL;
}

// ---- simpler inputs -----------------------------------------------------------------------------

typedef enum filling { ZEROS, ONES, COUNT_UP, FILLING_COUNT } filling;

// All inputs as a run without data fills them: the program by itself shows the symptom then.
static hsc_status *try_seeded(hsc__reducer *r, bool *out_shows) {
  hsc__candidate c = {0};
  int first = -1;
  int count = r->result->module->entry->parameter_count;
  hsc_status *status = hsc_module_clone(r->result->module, &c.module);
  c.data = json_array();
  for (int p = 0; p < count; p++)
    json_array_append_new(c.data, json_integer(p));
  *out_shows = json_equal(c.data, r->result->data);
  if (!status && !*out_shows)
    status = key_of(&c);
  if (!status && !*out_shows) {
    status = hsc__candidates_try(r, &c, 1, &first);
    *out_shows = first >= 0;
  }
  hsc__candidate_deinit(&c);
  return status;
}

static hsc_status *fill_simply(hsc__reducer *r, int p, filling how, const char **out_path) {
  hsc_arena *arena = NULL;
  hsc_literal *value = NULL;
  const hsc_shape *shape = &r->result->module->entry->parameters[p]->shape;
  HSC_TRY(hsc_arena_create(&arena));
  hsc_status *status = hsc_literal_create(arena, shape, &value);
  int64_t count = status ? 0 : hsc_shape_elements(shape);
  for (int64_t i = 0; i < count; i++) {
    int64_t v = how == COUNT_UP ? i % 64 : how == ONES;
    if (hsc_type_is_complex(shape->type))
      hsc_literal_set_complex(value, i, (double)v, 0);
    else if (hsc_type_is_float(shape->type))
      hsc_literal_set_double(value, i, (double)v);
    else
      hsc_literal_set_int(value, i, shape->type == HSC_TYPE_PRED ? v & 1 : v);
  }
  *out_path = new_path(r, "simple");
  if (!status)
    status = hsc_arena_status(r->result->arena);
  if (!status)
    status = hsc_file_write_atomic(*out_path, value->data ? value->data : "",
                                   (size_t)hsc_shape_bytes(shape));
  hsc_arena_destroy(arena);
  return status;
}

hsc_status *hsc__reduce_inputs(hsc__reducer *r) {
  bool seeded = false;
  r->rule = "inputs";
  HSC_TRY(try_seeded(r, &seeded));
  for (int p = 0; !seeded && p < r->result->module->entry->parameter_count; p++)
    for (int how = 0; how < FILLING_COUNT && !hsc__reducer_is_late(r); how++) {
      hsc__candidate c = {0};
      const char *path = NULL;
      int first = -1;
      HSC_TRY(fill_simply(r, p, (filling)how, &path));
      hsc_status *status = hsc_module_clone(r->result->module, &c.module);
      if (!status) {
        c.data = json_deep_copy(r->result->data);
        json_array_set_new(c.data, (size_t)p, json_string(path));
        status = key_of(&c);
      }
      if (!status)
        status = hsc__candidates_try(r, &c, 1, &first);
      hsc__candidate_deinit(&c);
      HSC_TRY(status);
      if (first >= 0)
        break;
    }
  return NULL;
}

bool hsc__reducer_is_late(const hsc__reducer *r) {
  double budget_s = r->options->budget_s;
  return budget_s > 0 && (double)(hsc_now_ns() - r->start_ns) / 1e9 > budget_s;
}
