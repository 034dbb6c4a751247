// validate.c - runs the stages of a compile and finds the pass after which the numbers are others.
//
// How to read: a stage is the program after a pass. take_stages collects them, hsc__validate_enter
// runs one and compares its outputs with those of the stage before, hsc__validate_judge says
// whether the distance is more than rounding makes. Where it is, look_into asks the reference
// evaluator: the first pass that it finds guilty, with the instruction, is the result.
#include "base/core/clock.h"
#include "base/files/file_io.h"
#include "lab/passes/validate_internal.h"

#include <math.h>

#include "formats/common/formats.h"
#include "lab/passes/lower_custom_calls.h"
#include "lab/run/json_tree.h"
#include "lab/passes/optimized.h"
#include "lab/run/outputs.h"
#include "lab/run/rounding.h"
#include "worker/program_spec.h"
#include "worker/scratch.h"

// Stages in a row that a runner may fail to get through before it is given up.
enum { MOST_TIMEOUTS = 2 };

// Writes a stage as HLO text without the custom calls that are known. `dump` NULL: the program as
// it was written, by our own reading of it. *out_path is in the arena.
static hsc_status *lower_stage(hsc_validation *v,
                               const char *dump,
                               size_t number,
                               hsc_arena *arena,
                               const char **out_path,
                               int *out_lowered,
                               const char **out_unknown) {
  hsc_module *module = NULL;
  hsc_lowered_calls lowered = {0};
  const hsc_validate_options *o = v->options;
  hsc_status *status =
      dump ? hsc_optimized_module(dump, &module)
           : hsc_program_open(o->program, o->transforms, o->transform_count, &module);
  *out_path = hsc_arena_printf(arena, "%s/stage_%zu.hlo", v->scratch, number);
  if (!status)
    status = hsc_lower_custom_calls(module, &lowered);
  if (!status)
    status = hsc_arena_status(arena);
  if (!status)
    status = hsc_file_write_atomic(*out_path, lowered.text.data, lowered.text.size);
  *out_lowered = lowered.lowered;
  *out_unknown =
      lowered.unknown.size ? hsc_arena_strdup(arena, hsc_bytes_text(&lowered.unknown)) : NULL;
  hsc_lowered_calls_deinit(&lowered);
  hsc_module_destroy(module);
  return status;
}

// The first pass may be a small one: a later pass that moves the numbers much further is reported
// as well.
static void note_jump(hsc_validation *v, json_t *stage) {
  const char *verdict = json_string_value(json_object_get(stage, "verdict"));
  double max_abs = hsc_json_number(json_object_get(stage, "max_abs"));
  if ((!strcmp(verdict, "rounding") || !strcmp(verdict, "different")) &&
      (max_abs > 4 * v->largest || v->largest == 0))
    json_array_append_new(
        v->jumps, json_pack("{s:O, s:O, s:O, s:s, s:o, s:o}", "run", json_object_get(stage, "run"),
                            "pipeline", json_object_get(stage, "pipeline"), "pass",
                            json_object_get(stage, "pass"), "verdict", verdict, "max_abs_before",
                            hsc_json_real(v->largest), "max_abs", hsc_json_real(max_abs)));
  v->largest = fmax(v->largest, max_abs);
}

// ---- the stages ---------------------------------------------------------------------------------

// A stage whose numbers differ: what the evaluator, which is right by definition, says of it and
// the last good one. Where it finds the same outputs the difference is the runner's own rounding;
// else the first such pass and its instruction are noted.
static hsc_status *look_into(
    hsc_validation *v, json_t *stage, const char *path, const hsc_pass_row *row, int64_t run) {
  json_t *instruction = NULL;
  double max_abs = hsc_json_number(json_object_get(stage, "max_abs"));
  // a NaN on one side only is no distance, and no rounding
  bool agree = max_abs <= v->excused && !v->beyond_bound && !v->other_nans;
  double seen = v->beyond_bound ? max_abs : 0;
  if (v->first)
    return NULL;
  hsc_status *failed = agree ? NULL
                             : hsc__validate_first_difference(v->options, v->last_good, path, seen,
                                                              &instruction, &agree);
  if (!failed && agree) {
    json_object_set_new(stage, "verdict", json_string("rounding"));
    json_object_set_new(stage, "decided_by", json_string("evaluator"));
    v->excused = fmax(v->excused, max_abs);
    json_decref(instruction);
    return NULL;
  }
  v->first =
      json_pack("{s:o, s:s, s:s, s:o}", "run",
                run < 0 ? json_null() : json_integer((json_int_t)run), "pipeline", row->pipeline,
                "pass", row->pass, "instruction", instruction ? instruction : json_null());
  if (run < 0)
    json_object_set_new(v->first, "front_end", json_true());
  if (v->first && failed)
    json_object_set_new(v->first, "instruction_unknown", json_string(hsc_status_message(failed)));
  hsc_status_free(failed);
  return v->first ? NULL : hsc_status_out_of_memory();
}

// The evaluator did not get through the first stage, and another runner stands by: it takes over.
static hsc_status *change_runner(hsc_validation *v) {
  const hsc_validate_options *o = v->options;
  hsc_lab_worker_destroy(v->runner);
  v->runner = NULL;
  v->runner_text = o->second_runner->text;
  return hsc_lab_worker_create(&(hsc_lab_worker_options){.device = o->second_runner,
                                                         .executable = o->executable,
                                                         .no_disk_cache = true,
                                                         .memory = o->memory,
                                                         .stop = o->stop},
                               &v->runner);
}

// Runs a stage; *out_reason: why it has no outputs, NULL = it has.
static hsc_status *run_or_say_why(hsc_validation *v,
                                  const char *path,
                                  const char *outputs,
                                  hsc_arena *arena,
                                  hsc_answer *answer,
                                  const char **out_reason) {
  *out_reason = NULL;
  if (v->timeouts >= MOST_TIMEOUTS) {
    *out_reason = hsc_arena_printf(arena, "%s did not get through the stages before it in time",
                                   v->runner_text);
    return hsc_arena_status(arena);
  }
  hsc_status *status = hsc__validate_run(v, path, outputs, 0, answer);
  bool slow = !status && answer->outcome == HSC_OUTCOME_TIMEOUT;
  if (slow && !v->first_outputs && v->options->second_runner &&
      hsc_lab_worker_spec(v->runner)->source == HSC_DEVICE_EVALUATOR) {
    hsc_answer_deinit(answer);
    *answer = (hsc_answer){0};
    HSC_TRY(change_runner(v));
    status = hsc__validate_run(v, path, outputs, 0, answer);
    slow = !status && answer->outcome == HSC_OUTCOME_TIMEOUT;
  }
  v->timeouts = slow ? v->timeouts + 1 : 0;
  if (status && hsc_status_code(status) == HSC_RESOURCE_EXHAUSTED)
    return status;
  if (status)
    *out_reason = hsc_arena_strdup(arena, hsc_status_message(status));
  else if (answer->outcome != HSC_OUTCOME_OK)
    *out_reason = hsc_arena_strdup(arena, answer->status ? hsc_status_message(answer->status)
                                                         : hsc_outcome_text(answer->outcome));
  hsc_status_free(status);
  return hsc_arena_status(arena);
}

// The first stage that runs is what all others are compared with: the program as it was written,
// or where the runner cannot do that, the first that it can.
static hsc_status *take_first(hsc_validation *v, json_t *stage, const char *path, json_t *made) {
  v->first_outputs = json_incref(made);
  v->last_outputs = json_incref(made);
  v->last_good = v->first_path = path;
  json_object_set_new(stage, "verdict", json_string("equal"));
  v->against = json_string_value(json_object_get(stage, "pass"));
  hsc_agreement_anchor(v->agreement, v->against);
  return hsc_program_draws(path, &v->draws);
}

// The last stage's outputs stay until the next stage has its own: the executable is held against
// them.
static void keep_last(hsc_validation *v, json_t *outputs, const char *directory) {
  if (v->last_directory)
    hsc_worker_memory_done_with(v->options->memory, v->last_directory);
  json_decref(v->last_outputs);
  v->last_outputs = json_incref(outputs);
  v->last_directory = directory;
}

// The rows before the first pass: what the user wrote, and what the compiler made of it by reading.
static const hsc_pass_row WRITTEN = {.pipeline = "", .pass = "program"};
static const hsc_pass_row READ = {.pipeline = "front end", .pass = "input"};

static hsc_status *take_stage(hsc_validation *v,
                              const char *dump,
                              const hsc_pass_row *row,
                              int64_t run,
                              size_t number,
                              hsc_arena *arena) {
  json_t *stage = hsc__validate_new_stage(row, run);
  json_t *rows = json_array();
  json_t *made = NULL;
  const char *path = NULL;
  const char *unknown = NULL;
  const char *reason = NULL;
  const char *outputs = hsc_arena_printf(arena, "%s/outputs_%zu", v->scratch, number);
  int lowered = 0;
  hsc_answer answer = {0};
  bool written = row == &WRITTEN;
  hsc_status *status = hsc_arena_status(arena);
  json_array_append_new(v->stages, stage);
  if (!status && !dump && !written)
    reason = "no HLO was dumped after it";
  if (!status && !reason)
    status = lower_stage(v, dump, number, arena, &path, &lowered, &unknown);
  json_object_set_new(stage, "lowered", json_integer(lowered));
  if (status && hsc_status_code(status) != HSC_RESOURCE_EXHAUSTED) {
    reason = hsc_arena_strdup(arena, hsc_status_message(status));
    hsc_status_free(status);
    status = NULL;
  }
  if (!status && !reason && unknown)  // would be refused by name anyway, but by the first one only
    reason = hsc_arena_printf(arena, "no known meaning: %s", unknown);
  if (!status && !reason)
    status = run_or_say_why(v, path, outputs, arena, &answer, &reason);
  if (status)
    goto done;
  made = reason ? NULL : json_object_get(answer.body, "outputs");
  if (made && !v->first_outputs) {
    status = take_first(v, stage, path, made);
    goto done;
  }
  if (made && !hsc_outputs_same(v->first_outputs, made, "shape"))
    reason = "its outputs have other shapes than the program's";
  if (reason) {
    hsc__validate_skip(stage, reason);
    keep_last(v, NULL, NULL);
    hsc__validate_enter(v, stage, arena);
    goto done;
  }
  HSC_GOTO(hsc__validate_compare(v, v->first_outputs, made, row->pass, arena, rows));
  HSC_GOTO(hsc__validate_judge(v, rows, stage, arena));
  if (!strcmp(json_string_value(json_object_get(stage, "verdict")), "different") && !v->draws)
    HSC_GOTO(look_into(v, stage, path, row, run));
  if (strcmp(json_string_value(json_object_get(stage, "verdict")), "different") != 0)
    v->last_good = path;
  note_jump(v, stage);
  keep_last(v, made, outputs);
  hsc__validate_enter(v, stage, arena);
done:
  json_decref(rows);
  hsc_answer_deinit(&answer);
  return status;
}

// What has HLO is a stage. A pass that says that it changed the program and left none is seen in
// the next stage, which holds its change too; where there is none after it, it is a stage that
// nobody sees.
static bool is_stage(const hsc_pass_list *list, size_t number) {
  const hsc_pass_row *row = &list->rows[number];
  if (row->nested || row->counts)
    return false;
  if (row->dump || row->changed != 1)
    return row->dump != NULL;
  for (size_t i = number + 1; i < list->row_count; i++)
    if (list->rows[i].dump && !list->rows[i].nested)
      return false;
  return true;
}

static hsc_status *take_stages(hsc_validation *v, const hsc_pass_list *list) {
  const hsc_validate_options *o = v->options;
  size_t number = 0;
  size_t total = 2;
  if (!list->first_dump)
    return HSC_ERR(UNIMPLEMENTED, "%s wrote no HLO of its stages", o->device->text);
  for (size_t i = 0; i < list->row_count; i++)
    total += is_stage(list, i);
  HSC_TRY(take_stage(v, NULL, &WRITTEN, -1, number++, list->arena));
  HSC_TRY(take_stage(v, list->first_dump, &READ, -1, number++, list->arena));
  for (size_t i = 0; i < list->row_count; i++) {
    const hsc_pass_row *row = &list->rows[i];
    if (!is_stage(list, i))
      continue;
    const char *over = hsc__validate_over(o);
    if (over) {
      json_t *stage = hsc__validate_new_stage(row, (int64_t)i);
      json_array_append_new(v->stages, stage);
      hsc__validate_skip(stage, over);
      keep_last(v, NULL, NULL);
      hsc__validate_enter(v, stage, list->arena);
      continue;
    }
    if (o->progress)
      o->progress(o->user, (int64_t)number, (int64_t)total, row->pass);
    HSC_TRY(take_stage(v, row->dump, row, (int64_t)i, number++, list->arena));
  }
  return NULL;
}

// The whole result, when every stage was reported.
static hsc_status *finish(hsc_validation *v, const char *final_text, json_t *result) {
  const hsc_validate_options *o = v->options;
  HSC_TRY(hsc_agreement_into(v->agreement, result));
  json_t *coverage = json_object_get(result, "coverage");
  json_object_set_new(coverage, "final_executable", json_string(final_text));
  json_t *inputs = json_pack("{s:I}", "seed", (json_int_t)o->seed);
  if (inputs && o->inputs_file)
    json_object_set_new(inputs, "file", json_string(o->inputs_file));
  json_object_set_new(coverage, "inputs", inputs);
  if (!strcmp(final_text, "not_run") && o->device->topology)
    json_object_set_new(
        coverage, "final_executable_reason",
        json_string("the device only compiles here: what its code computes was not seen"));
  json_object_set_new(result, "runner", json_string(v->runner_text));
  json_object_set_new(result, "against", v->against ? json_string(v->against) : json_null());
  json_object_set(result, "stages", v->stages);
  json_object_set(result, "jumps", v->jumps);
  json_object_set_new(result, "rounding", hsc_rounding_json(v->moved));
  // a program that draws is held against none: its stages say so
  json_t *bounds = json_pack("{s:b, s:b, s:s?}", "derived", v->bounded != NULL, "denormals",
                             v->denormals, "reason", v->no_bounds);
  json_object_set_new(result, "bounds", v->asked_bounds ? bounds : json_null());
  if (!v->asked_bounds)
    json_decref(bounds);
  json_object_set_new(result, "first", v->first ? json_incref(v->first) : json_null());
  return NULL;
}

static hsc_status *take_scratch(hsc_validation *v) {
  const char *given = v->options->scratch;
  if (!given)
    return hsc_scratch_create(&v->scratch);
  v->scratch = hsc_strdup(given);
  return v->scratch ? hsc_dir_make(given) : hsc_status_out_of_memory();
}

hsc_status *hsc_validate(const hsc_validate_options *options, json_t **out_result) {
  hsc_validation v = {.options = options,
                      .runner_text = options->runner->text,
                      .stages = json_array(),
                      .jumps = json_array()};
  hsc_pass_list list = {0};
  hsc_lab_worker *compiler = NULL;
  const char *final_text = NULL;
  json_t *result = json_pack("{s:s, s:s, s:s, s:I, s:s?}", "program", options->program, "device",
                             options->device->text, "runner", options->runner->text, "seed",
                             (json_int_t)options->seed, "disabled", options->disable);
  hsc_status *status = NULL;
  *out_result = NULL;
  if (!result || !v.stages || !v.jumps)
    HSC_GOTO(hsc_status_out_of_memory());
  HSC_GOTO(hsc_agreement_create("stage", &v.agreement));
  HSC_GOTO(hsc_pass_list_init(&list));
  HSC_GOTO(take_scratch(&v));
  HSC_GOTO(hsc_lab_worker_create(&(hsc_lab_worker_options){.device = options->device,
                                                           .executable = options->executable,
                                                           .no_disk_cache = true,
                                                           .memory = options->memory,
                                                           .stop = options->stop},
                                 &compiler));
  hsc_passes_collect_options collect = {
      .program = options->program,
      .transforms = options->transforms,
      .transform_count = options->transform_count,
      .overrides = options->overrides,
      .scratch = hsc_arena_printf(list.arena, "%s/dumps", v.scratch),
      .dumps = true,
      .as_proto = true,
      .limit_ns = hsc__validate_limit(options, options->limit_ns)};
  if (options->progress)
    options->progress(options->user, 0, 1, "compiling");
  HSC_GOTO(hsc_passes_collect(compiler, &collect, &list));
  v.platform = hsc_arena_strdup(
      list.arena, hsc_json_text_or_empty(hsc_lab_worker_device(compiler), "platform"));
  hsc_lab_worker_destroy(compiler);
  compiler = NULL;
  HSC_GOTO(hsc_lab_worker_create(&(hsc_lab_worker_options){.device = options->runner,
                                                           .executable = options->executable,
                                                           .no_disk_cache = true,
                                                           .memory = options->memory,
                                                           .stop = options->stop},
                                 &v.runner));
  HSC_GOTO(take_stages(&v, &list));
  HSC_GOTO(hsc__validate_final(&v, list.arena, &final_text));
  HSC_GOTO(finish(&v, final_text, result));
  *out_result = json_incref(result);
done:
  json_decref(result);
  json_t *const values[] = {v.stages,  v.first_outputs, v.last_outputs, v.moved,
                            v.bounded, v.jumps,         v.first};
  for (size_t k = 0; k < HSC_COUNT_OF(values); k++)
    json_decref(values[k]);
  hsc_agreement_destroy(v.agreement);
  hsc_lab_worker_destroy(compiler);
  hsc_lab_worker_destroy(v.runner);
  if (options->scratch)
    hsc_free(v.scratch);
  else
    hsc_scratch_destroy(v.scratch);
  hsc_pass_list_deinit(&list);
  return status;
}
