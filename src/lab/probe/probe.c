// probe.c - runs the stages and says what differs between the last good and the first bad one.
#include "base/core/clock.h"
#include "base/files/file_io.h"
#include "lab/probe/probe_internal.h"

#include <math.h>

#include "formats/common/formats.h"
#include "lab/run/json_tree.h"
#include "lab/run/run_series.h"
#include "lab/devices/devices.h"
#include "worker/scratch.h"

typedef struct stage {
  const char *name;
  hsc_module *module;
  hsc__probe_cut_result cut;
} stage;

enum { STAGES_MAX = 5 };

// A user's program, from a little of it to the whole.
static const struct {
  const char *name;
  hsc__probe_cut cut;
} cuts[] = {
    {"small", {0.125, 0.01, true}},
    {"medium", {0.25, 0.125, true}},
    {"large", {0.5, 0.5, false}},
    {"full", {1, 1, false}},
};

static bool same_program(const hsc_module *a, const hsc_module *b) {
  hsc_hash128 x = hsc_module_fingerprint(a);
  hsc_hash128 y = hsc_module_fingerprint(b);
  return x.low == y.low && x.high == y.high;
}

static hsc_status *make_stages(const hsc_probe_options *o,
                               hsc_arena *arena,
                               stage *stages,
                               size_t *out_count) {
  hsc_module *whole = NULL;
  if (!o->program) {
    for (size_t i = 0; i < HSC__PROBE_RUNGS; i++) {
      stages[*out_count].name = hsc__probe_ladder[i].name;
      HSC_TRY(hsc__probe_patch_model(&hsc__probe_ladder[i], &stages[*out_count].module));
      ++*out_count;
    }
    return NULL;
  }
  HSC_TRY(hsc_program_read_file(o->program, &whole));
  hsc_status *status = NULL;
  for (size_t i = 0; i < HSC_COUNT_OF(cuts) && !status; i++) {
    stage *s = &stages[*out_count];
    *s = (stage){.name = cuts[i].name};
    status = hsc__probe_cut_program(whole, &cuts[i].cut, arena, &s->module, &s->cut);
    if (status)
      break;
    // nothing more could be cut: the later name stays
    if (*out_count && same_program(stages[*out_count - 1].module, s->module)) {
      hsc_module_destroy(stages[*out_count - 1].module);
      stages[*out_count - 1] = *s;
    } else {
      ++*out_count;
    }
  }
  hsc_module_destroy(whole);
  return status;
}

static int64_t largest_value(const hsc_module *module, hsc_bytes *shape) {
  int64_t largest = 0;
  const hsc_instr *of = NULL;
  HSC_FOR_EACH_COMPUTATION (module, computation) {
    HSC_FOR_EACH_INSTR_IN (computation, instr) {
      int64_t bytes = hsc_shape_is_array(&instr->shape) ? hsc_shape_bytes(&instr->shape) : 0;
      if (bytes > largest) {
        largest = bytes;
        of = instr;
      }
    }
  }
  if (of)
    hsc_shape_print(&of->shape, false, shape);
  return largest;
}

static json_t *describe(const stage *s) {
  hsc_cost cost;
  hsc_bytes shape = {0};
  hsc_module_cost(s->module, &cost);
  int64_t largest = largest_value(s->module, &shape);
  int64_t parameters = 0;
  for (int i = 0; i < s->module->entry->parameter_count; i++)
    parameters += hsc_shape_bytes(&s->module->entry->parameters[i]->shape);
  json_t *tree =
      json_pack("{s:I, s:f, s:f, s:I, s:I, s:s}", "instructions",
                (json_int_t)hsc_module_instr_count(s->module), "flops", cost.flops, "bytes",
                cost.bytes_read + cost.bytes_written, "parameter_bytes", (json_int_t)parameters,
                "largest_bytes", (json_int_t)largest, "largest_shape", hsc_bytes_text(&shape));
  const char *uncounted = hsc_uncounted_targets(s->module, s->module->arena);
  if (cost.uncounted > 0) {
    json_object_set_new(tree, "uncounted_calls", json_real(cost.uncounted));
    json_object_set_new(tree, "uncounted", uncounted ? json_string(uncounted) : json_null());
  }
  hsc_bytes_deinit(&shape);
  return tree;
}

static void put_pair(json_t *cut, const char *key, int64_t from, int64_t to) {
  json_object_set_new(cut, key,
                      from ? json_pack("[I, I]", (json_int_t)from, (json_int_t)to) : json_null());
}

static json_t *cut_of(const stage *s) {
  json_t *cut = json_object();
  put_pair(cut, "batch", s->cut.batch_from, s->cut.batch_to);
  put_pair(cut, "trips", s->cut.trips_from, s->cut.trips_to);
  put_pair(cut, "outputs", s->cut.outputs_from, s->cut.outputs_to);
  json_object_set_new(cut, "refused", s->cut.refused ? json_string(s->cut.refused) : json_null());
  return cut;
}

// A stage that works is run on, to time it. What goes wrong now is no failure of the stage.
static hsc_status *time_stage(const hsc_probe_options *o,
                              hsc_lab_worker *worker,
                              const json_t *request,
                              json_t *first,
                              json_t *result) {
  double once_s = hsc_answer_execute_ns(first, 0) / 1e9;
  json_object_set_new(result, "run_seconds", json_null());
  if (!(once_s >= 0) || (o->budget_s > 0 && once_s > 2 * o->budget_s) ||
      (o->budget_s <= 0 && o->half_width <= 0))
    return NULL;
  hsc_run_series series;
  hsc_run_series_init(&series,
                      &(hsc_sampling_options){.half_width = o->half_width, .budget_s = o->budget_s},
                      once_s);
  hsc_status *status = NULL;
  for (bool done = false; !status && !done && hsc_sampling_next(&series.sampling);) {
    hsc_answer answer = {0};
    status =
        hsc_run_series_block(&series, worker, request, (int64_t)(o->limit_s * 1e9), false, &answer);
    done = answer.outcome != HSC_OUTCOME_OK;
    hsc_answer_deinit(&answer);
  }
  if (!status)
    status = hsc_sampling_finish(&series.sampling, 0);
  if (!status && series.sampling.count) {
    const hsc_sampling *s = &series.sampling;
    json_object_set_new(
        result, "run_seconds",
        json_pack("{s:o, s:o, s:o, s:o}", "median", hsc_json_real(s->interval.estimate), "low",
                  hsc_json_real(s->interval.low), "high", hsc_json_real(s->interval.high),
                  "sampling", hsc_sampling_json(s)));
  }
  hsc_run_series_deinit(&series);
  return status;
}

static hsc_status *run_stage(const hsc_probe_options *o,
                             const hsc_device_spec *spec,
                             const char *path,
                             json_t *result) {
  hsc_lab_worker *worker = NULL;
  hsc_answer answer;
  hsc__probe_watch *watch = NULL;
  json_t *request = NULL;
  HSC_TRY(
      hsc_lab_worker_create(&(hsc_lab_worker_options){.device = spec,
                                                      .executable = o->executable,
                                                      .no_disk_cache = true,
                                                      .memory_limit_bytes = o->memory_limit_bytes},
                            &worker));
  hsc_status *status = hsc_lab_worker_start(worker, &answer);
  if (status)
    goto done;
  bool started = answer.outcome == HSC_OUTCOME_OK;
  int64_t begin_ns = hsc_now_ns();
  if (started) {
    hsc_answer_deinit(&answer);
    HSC_GOTO(hsc__probe_watch_start(hsc_lab_worker_pid(worker), &watch));
    const char *job;
    if (spec->source == HSC_DEVICE_EVALUATOR)
      job = "evaluate";
    else if (spec->topology)
      job = "describe";
    else
      job = "run";
    request = json_pack("{s:s, s:s, s:I, s:[], s:[s]}", "job", job, "program", path, "seed",
                        (json_int_t)0, "transforms", "cache", "memory");
    if (o->overrides)
      json_object_set(request, "overrides", o->overrides);
    status = request ? hsc_lab_worker_call(worker, request, (int64_t)(o->limit_s * 1e9), &answer)
                     : hsc_status_out_of_memory();
    if (status)
      goto done;
  }
  json_object_set_new(result, "status", json_string(hsc_outcome_text(answer.outcome)));
  json_object_set_new(result, "message",
                      answer.status ? json_string(hsc_status_message(answer.status)) : json_null());
  json_object_set_new(
      result, "last_words",
      answer.last_words && *answer.last_words ? json_string(answer.last_words) : json_null());
  json_object_set_new(result, "seconds", json_real((double)(hsc_now_ns() - begin_ns) / 1e9));
  json_t *compile = answer.body ? json_object_get(answer.body, "compile_ns") : NULL;
  if (!compile && answer.body)
    compile =
        json_object_get(json_array_get(json_object_get(answer.body, "records"), 0), "compile_ns");
  json_object_set_new(
      result, "compile_seconds",
      json_is_number(compile) ? json_real(json_number_value(compile) / 1e9) : json_null());
  if (answer.outcome == HSC_OUTCOME_OK && spec->source != HSC_DEVICE_EVALUATOR && !spec->topology)
    status = time_stage(o, worker, request, answer.body, result);
  hsc_answer_deinit(&answer);
done:
  json_decref(request);
  if (watch) {
    json_t *used = hsc__probe_watch_stop(watch);
    json_object_update_missing(result, used);
    json_decref(used);
  }
  hsc_lab_worker_destroy(worker);
  return status;
}

// Operations of `bad` that `good` does not have.
static void new_operations(const hsc_module *good, const hsc_module *bad, json_t *difference) {
  bool has[HSC_OP_COUNT] = {0};
  bool told[HSC_OP_COUNT] = {0};
  HSC_FOR_EACH_COMPUTATION (good, computation)
    HSC_FOR_EACH_INSTR_IN (computation, instr)
      has[instr->op] = true;
  HSC_FOR_EACH_COMPUTATION (bad, other) {
    HSC_FOR_EACH_INSTR_IN (other, instr) {
      if (has[instr->op] || told[instr->op])
        continue;
      told[instr->op] = true;
      char text[128];
      snprintf(text, sizeof text, "operation %s occurs for the first time", hsc_op_text(instr->op));
      json_array_append_new(difference, json_string(text));
    }
  }
}

static json_t *difference_between(const stage *good,
                                  json_t *good_result,
                                  const stage *bad,
                                  json_t *bad_result) {
  static const struct {
    const char *key, *text, *unit;
  } rows[] = {{"instructions", "instructions", ""},
              {"flops", "floating-point operations", ""},
              {"bytes", "bytes moved", ""},
              {"parameter_bytes", "bytes of parameters", ""},
              {"largest_bytes", "bytes of the largest value", ""}};
  json_t *difference = json_array();
  for (size_t i = 0; i < HSC_COUNT_OF(rows); i++) {
    double a = hsc_json_number(hsc_json_path(good_result, "program", rows[i].key, NULL));
    double b = hsc_json_number(hsc_json_path(bad_result, "program", rows[i].key, NULL));
    if (!(a > 0) || !(b > 0) || a == b)
      continue;
    char text[160];
    snprintf(text, sizeof text, "%s: %.4g, then %.4g (%.3gx)", rows[i].text, a, b, b / a);
    json_array_append_new(difference, json_string(text));
  }
  const char *a = json_string_value(hsc_json_path(good_result, "program", "largest_shape", NULL));
  const char *b = json_string_value(hsc_json_path(bad_result, "program", "largest_shape", NULL));
  if (a && b && strcmp(a, b) != 0) {
    char text[400];
    snprintf(text, sizeof text, "largest value: %.150s, then %.150s", a, b);
    json_array_append_new(difference, json_string(text));
  }
  if (good->cut.outputs_from && !bad->cut.outputs_from) {
    char text[96];
    snprintf(text, sizeof text, "outputs: 1, then %lld", (long long)good->cut.outputs_from);
    json_array_append_new(difference, json_string(text));
  }
  if (good->cut.trips_from &&
      good->cut.trips_to != (bad->cut.trips_to ? bad->cut.trips_to : good->cut.trips_from)) {
    char text[96];
    snprintf(text, sizeof text, "trips of the longest loop: %lld, then %lld",
             (long long)good->cut.trips_to,
             (long long)(bad->cut.trips_to ? bad->cut.trips_to : good->cut.trips_from));
    json_array_append_new(difference, json_string(text));
  }
  new_operations(good->module, bad->module, difference);
  return difference;
}

static hsc_status *write_stage(const stage *s,
                               const char *directory,
                               hsc_arena *arena,
                               const char **out_path) {
  hsc_bytes text = {0};
  hsc_module_print(s->module, NULL, &text);
  hsc_status *status = hsc_bytes_status(&text);
  *out_path = hsc_arena_printf(arena, "%s/%s.hlo", directory, s->name);
  if (!status)
    status = hsc_arena_status(arena);
  if (!status)
    status = hsc_file_write_atomic(*out_path, text.data, text.size);
  hsc_bytes_deinit(&text);
  return status;
}

hsc_status *hsc_probe(const hsc_probe_options *o, json_t **out_result) {
  hsc_arena *arena = NULL;
  stage stages[STAGES_MAX] = {0};
  size_t count = 0;
  char *scratch = NULL;
  hsc_device_spec spec;
  json_t *list = json_array();
  json_t *difference = NULL;
  json_t *last_result = NULL;
  const stage *last_good = NULL;
  bool failed = false;
  HSC_TRY(hsc_arena_create(&arena));
  hsc_status *status = NULL;
  HSC_GOTO(hsc_device_spec_parse(o->device, arena, &spec));
  HSC_GOTO(make_stages(o, arena, stages, &count));
  if (o->keep_dir)
    HSC_GOTO(hsc_dir_make(o->keep_dir));
  else
    HSC_GOTO(hsc_scratch_create(&scratch));
  for (size_t i = 0; i < count && (!failed || o->all); i++) {
    const char *path = NULL;
    json_t *result = json_pack("{s:s, s:o, s:o}", "stage", stages[i].name, "cut",
                               cut_of(&stages[i]), "program", describe(&stages[i]));
    json_array_append_new(list, result);
    HSC_GOTO(write_stage(&stages[i], o->keep_dir ? o->keep_dir : scratch, arena, &path));
    json_object_set_new(result, "file", o->keep_dir ? json_string(path) : json_null());
    if (o->on_stage)
      o->on_stage(o->user, stages[i].name,
                  json_string_value(hsc_json_path(result, "program", "largest_shape", NULL)));
    HSC_GOTO(run_stage(o, &spec, path, result));
    bool ok = !strcmp(json_string_value(json_object_get(result, "status")), "ok");
    if (!ok && !failed) {
      failed = true;
      if (last_good)
        difference = difference_between(last_good, last_result, &stages[i], result);
    }
    if (ok && !failed) {
      last_good = &stages[i];
      last_result = result;
    }
  }
  *out_result = json_pack(
      "{s:s?, s:s, s:O, s:o, s:s?, s:b, s:b}", "program", o->program, "device", o->device, "stages",
      list, "difference", difference ? json_incref(difference) : json_null(), "last_good",
      last_good ? last_good->name : NULL, "failed", failed, "ran", spec.topology == NULL);
  if (!*out_result)
    status = hsc_status_out_of_memory();
done:
  for (size_t i = 0; i < count; i++)
    hsc_module_destroy(stages[i].module);
  json_decref(list);
  json_decref(difference);
  hsc_scratch_destroy(scratch);
  hsc_arena_destroy(arena);
  return status;
}
