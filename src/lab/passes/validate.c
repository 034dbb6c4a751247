// validate.c - runs the stages of a compile and finds the pass after which the numbers are others.
#include "base/core/clock.h"
#include "base/files/file_io.h"
#include "lab/passes/validate.h"

#include <math.h>

#include "formats/common/formats.h"
#include "lab/passes/bridge.h"
#include "lab/passes/hlo_diff.h"
#include "lab/run/json_tree.h"
#include "lab/passes/optimized.h"
#include "lab/run/outputs.h"
#include "lab/run/rounding.h"
#include "worker/scratch.h"

typedef struct validation {
  const hsc_validate_options *options;
  char *scratch;
  hsc_lab_worker *runner;
  json_t *first_outputs;   // of the stage before the first pass
  const char *first_path;  // its bridged file
  // how rounding moves them (rounding.h); NULL = not asked yet, or the run failed
  json_t *moved;
  bool asked_moved;
  double largest;  // difference of any stage so far
  // the largest difference that the evaluator did not confirm: the runner's rounding
  double excused;
  json_t *jumps;          // stages whose difference is several times that of all before
  json_t *stages;         // rows of the document
  const char *last_good;  // bridged file of the last stage whose numbers were right
} validation;

// Writes a stage as HLO text without the custom calls that are known. *out_path is in the arena.
static hsc_status *bridge_stage(validation *v,
                                const char *dump,
                                size_t number,
                                hsc_arena *arena,
                                const char **out_path,
                                int *out_bridged,
                                const char **out_unknown) {
  hsc_module *module = NULL;
  hsc_bridged bridged = {0};
  hsc_status *status = hsc_optimized_module(dump, &module);
  *out_path = hsc_arena_printf(arena, "%s/stage_%zu.hlo", v->scratch, number);
  if (!status)
    status = hsc_bridge_custom_calls(module, &bridged);
  if (!status)
    status = hsc_arena_status(arena);
  if (!status)
    status = hsc_file_write_atomic(*out_path, bridged.text.data, bridged.text.size);
  *out_bridged = bridged.bridged;
  *out_unknown =
      bridged.unknown.size ? hsc_arena_strdup(arena, hsc_bytes_text(&bridged.unknown)) : NULL;
  hsc_bridged_deinit(&bridged);
  hsc_module_destroy(module);
  return status;
}

static hsc_status *run_stage(
    validation *v, const char *path, const char *outputs_dir, double nudge, hsc_answer *answer) {
  bool evaluator = hsc_lab_worker_spec(v->runner)->source == HSC_DEVICE_EVALUATOR;
  json_t *request =
      json_pack("{s:s, s:s, s:I, s:s}", "job", evaluator ? "evaluate" : "run", "program", path,
                "seed", (json_int_t)v->options->seed, "save_to", outputs_dir);
  if (!request)
    return hsc_status_out_of_memory();
  if (nudge > 0)
    json_object_set_new(request, "nudge", json_real(nudge));
  if (!evaluator)
    json_object_set_new(request, "cache", json_pack("[s]", "memory"));
  hsc_status *status = hsc_lab_worker_call(v->runner, request, v->options->limit_ns, answer);
  json_decref(request);
  if (!status && !evaluator && answer->outcome == HSC_OUTCOME_OK) {
    json_t *drop = json_pack("{s:s}", "job", "drop");
    hsc_answer dropped;
    status = hsc_lab_worker_call(v->runner, drop, v->options->limit_ns, &dropped);
    if (!status)
      hsc_answer_deinit(&dropped);
    json_decref(drop);
  }
  return status;
}

// By which share of themselves the inputs are moved: a last place of their own types, or of the
// narrowest 16-bit float that the program computes with.
static hsc_status *nudge_of(const char *path, double *out_nudge) {
  hsc_module *module = NULL;
  *out_nudge = 1e-30;  // the least that moves anything
  HSC_TRY(hsc_program_read_file(path, &module));
  HSC_FOR_EACH_COMPUTATION (module, computation)
    HSC_FOR_EACH_INSTR_IN (computation, instr) {
      if (!hsc_shape_is_array(&instr->shape))
        continue;
      if (instr->shape.type == HSC_TYPE_BF16)
        *out_nudge = fmax(*out_nudge, 0x1p-8);
      if (instr->shape.type == HSC_TYPE_F16)
        *out_nudge = fmax(*out_nudge, 0x1p-11);
    }
  hsc_module_destroy(module);
  return NULL;
}

// What rounding makes of the program before the first pass; asked once, when a stage is beyond
// tolerance. A run that fails leaves it unknown.
static hsc_status *measure_rounding(validation *v, hsc_arena *arena) {
  const char *directory = hsc_arena_printf(arena, "%s/outputs_moved", v->scratch);
  hsc_answer answer = {0};
  json_t *rows = json_array();
  double nudge = 0;
  if (v->asked_moved)
    return hsc_arena_status(arena);
  v->asked_moved = true;
  hsc_status *status = hsc_arena_status(arena);
  if (!status)
    status = nudge_of(v->first_path, &nudge);
  if (!status)
    status = run_stage(v, v->first_path, directory, nudge, &answer);
  if (!status && answer.outcome == HSC_OUTCOME_OK) {
    status = hsc_compare_outputs(v->first_outputs, json_object_get(answer.body, "outputs"), "input",
                                 "input moved by a last place", rows);
    if (!status)
      v->moved = json_incref(rows);
  }
  hsc_scratch_empty(directory);
  hsc_answer_deinit(&answer);
  json_decref(rows);
  return status;
}

static bool beyond_tolerance(const validation *v, json_t *row) {
  double limit = v->options->tolerance * hsc_json_number(json_object_get(row, "tolerance")) *
                 hsc_json_number(json_object_get(row, "largest_value"));
  return strcmp(json_string_value(json_object_get(row, "verdict")), "equal") != 0 &&
         (json_integer_value(json_object_get(row, "nan_mismatches")) > 0 ||
          !(hsc_json_number(json_object_get(row, "max_abs")) <= limit));
}

static int badness(const char *verdict) {
  if (!strcmp(verdict, "different"))
    return 3;
  if (!strcmp(verdict, "rounding"))
    return 2;
  return !strcmp(verdict, "close");
}

// "equal", "close", "rounding", "different" over all outputs; with the largest differences.
static hsc_status *judge_outputs(validation *v, json_t *rows, json_t *stage, hsc_arena *arena) {
  const char *worst = "equal";
  double max_abs = 0;
  double max_ulp = 0;
  json_t *row;
  size_t i;
  json_array_foreach (rows, i, row) {
    const char *verdict = json_string_value(json_object_get(row, "verdict"));
    if (!strcmp(verdict, "equal"))
      continue;
    verdict = "close";
    if (beyond_tolerance(v, row)) {
      HSC_TRY(measure_rounding(v, arena));
      verdict = hsc_is_rounding(v->moved, row, i) ? "rounding" : "different";
    }
    if (badness(verdict) > badness(worst))
      worst = verdict;
    max_abs = fmax(max_abs, hsc_json_number(json_object_get(row, "max_abs")));
    max_ulp = fmax(max_ulp, hsc_json_number(json_object_get(row, "max_ulp")));
  }
  json_object_set_new(stage, "verdict", json_string(worst));
  json_object_set_new(stage, "max_abs", hsc_json_real(max_abs));
  json_object_set_new(stage, "max_ulp", json_integer((json_int_t)fmin(max_ulp, 9e15)));
  return NULL;
}

// The first pass may be a small one: a later pass that moves the numbers much further is told as
// well.
static void note_jump(validation *v, json_t *stage) {
  const char *verdict = json_string_value(json_object_get(stage, "verdict"));
  double max_abs = hsc_json_number(json_object_get(stage, "max_abs"));
  if (badness(verdict) > 1 && (max_abs > 4 * v->largest || v->largest == 0))
    json_array_append_new(
        v->jumps, json_pack("{s:O, s:O, s:O, s:s, s:o, s:o}", "run", json_object_get(stage, "run"),
                            "pipeline", json_object_get(stage, "pipeline"), "pass",
                            json_object_get(stage, "pass"), "verdict", verdict, "max_abs_before",
                            hsc_json_real(v->largest), "max_abs", hsc_json_real(max_abs)));
  v->largest = fmax(v->largest, max_abs);
}

static bool same_interface(json_t *a, json_t *b) {
  if (json_array_size(a) != json_array_size(b))
    return false;
  for (size_t i = 0; i < json_array_size(a); i++)
    if (!json_equal(json_object_get(json_array_get(a, i), "shape"),
                    json_object_get(json_array_get(b, i), "shape")))
      return false;
  return true;
}

// ---- which instruction --------------------------------------------------------------------------

// Values of all instructions of the entry computation.
typedef struct values {
  hsc_module *module;
  hsc_arena *arena;
  hsc_map *by_name;  // instruction name -> hsc_literal
} values;

static void values_deinit(values *v) {
  hsc_map_destroy(v->by_name);
  hsc_module_destroy(v->module);
  hsc_arena_destroy(v->arena);
  *v = (values){0};
}

static hsc_status *evaluate_all(const hsc_validate_options *o, const char *path, values *out) {
  int64_t start_ns = hsc_now_ns();
  uint64_t seed = o->seed;
  *out = (values){0};
  HSC_TRY(hsc_arena_create(&out->arena));
  HSC_TRY(hsc_map_create(&out->by_name));
  HSC_TRY(hsc_program_read_file(path, &out->module));
  hsc_computation *entry = out->module->entry;
  for (hsc_instr *instr = entry->first; instr; instr = instr->next) {
    hsc_literal *value = NULL;
    hsc_literal *operands[64];
    if (o->stop && *o->stop)
      return HSC_ERR(CANCELLED, "interrupted");
    if (hsc_now_ns() - start_ns > o->limit_ns)
      return HSC_ERR(DEADLINE_EXCEEDED, "the evaluator did not get through in %.0f s (--limit)",
                     (double)o->limit_ns * 1e-9);
    if (instr->op == HSC_OP_PARAMETER) {
      if (hsc_shape_is_tuple(&instr->shape))
        return HSC_ERR(UNIMPLEMENTED, "parameter %s is a tuple", instr->name);
      HSC_TRY(hsc_literal_create(out->arena, &instr->shape, &value));
      hsc_literal_fill(value, seed, (uint32_t)instr->attr.index.value);
    } else {
      hsc_literal **all = instr->operand_count <= 64
                              ? operands
                              : HSC_NEW_ARRAY(out->arena, hsc_literal *, instr->operand_count);
      HSC_TRY(hsc_arena_status(out->arena));
      for (int k = 0; k < instr->operand_count; k++)
        all[k] = hsc_map_get(out->by_name, hsc_view_of(instr->operands[k]->name));
      HSC_TRY(hsc_evaluate_instr(instr, all, out->arena, &value));
    }
    HSC_TRY(hsc_map_put(out->by_name, hsc_view_of(instr->name), value));
  }
  return NULL;
}

static json_t *instruction_json(const hsc_instr *instr,
                                const hsc_instr *before,
                                const hsc_difference *d) {
  static const hsc_print_options form = {
      .no_backend_config = true, .elide_large_constants = true, .no_percent = true};
  hsc_bytes text = {0};
  hsc_instr_print(instr, &form, &text);
  const char *start = hsc_bytes_text(&text);
  while (*start == ' ')
    start++;
  json_t *out = json_pack("{s:s, s:s, s:s, s:I, s:o, s:o, s:o}", "name", instr->name, "text", start,
                          "before", before->name, "element", (json_int_t)d->index, "value_before",
                          hsc_json_real(d->left), "value_after", hsc_json_real(d->right), "max_abs",
                          hsc_json_real(d->max_abs));
  if (instr->metadata && instr->metadata->op_name)
    json_object_set_new(out, "op_name", json_string(instr->metadata->op_name));
  hsc_bytes_deinit(&text);
  return out;
}

static bool literals_agree(const hsc_literal *x, const hsc_literal *y, double tolerance_factor) {
  hsc_difference d;
  double scale;
  if (!x || !y || hsc_shape_is_tuple(&x->shape) != hsc_shape_is_tuple(&y->shape))
    return false;
  if (hsc_shape_is_tuple(&x->shape)) {
    bool agree = x->shape.element_count == y->shape.element_count;
    for (int i = 0; agree && i < x->shape.element_count; i++)
      agree = literals_agree(&x->elements[i], &y->elements[i], tolerance_factor);
    return agree;
  }
  hsc_status *status = hsc_shape_is_array(&x->shape) && hsc_shape_is_array(&y->shape)
                           ? hsc_literal_compare(x, y, &d)
                           : HSC_ERR(UNIMPLEMENTED, "no array");
  bool compared = status == NULL;
  hsc_status_free(status);
  return compared && d.nan_mismatches == 0 &&
         d.max_abs <= tolerance_factor * hsc_outputs_tolerance(x, &scale) * scale;
}

// The first instruction of the right stage's entry, in its order, whose value is not that of the
// one that it was matched with. A fusion has the value of its root. *out_agree: the evaluator finds
// the outputs of both within tolerance.
static hsc_status *first_difference(const hsc_validate_options *o,
                                    const char *before,
                                    const char *after,
                                    json_t **out_instruction,
                                    bool *out_agree) {
  values left;
  values right = {0};
  hsc_diff diff = {0};
  *out_instruction = NULL;
  *out_agree = false;
  hsc_status *status = evaluate_all(o, before, &left);
  if (!status)
    status = evaluate_all(o, after, &right);
  if (!status)
    *out_agree = literals_agree(
        hsc_map_get(left.by_name, hsc_view_of(left.module->entry->root->name)),
        hsc_map_get(right.by_name, hsc_view_of(right.module->entry->root->name)), o->tolerance);
  if (!status)
    status = hsc_diff_modules(left.module, right.module, &diff);
  for (hsc_instr *r = status ? NULL : right.module->entry->first; r && !*out_instruction && !status;
       r = r->next) {
    const hsc_instr *named = r->op == HSC_OP_FUSION && r->called_count ? r->called[0]->root : r;
    for (int pass = 0; pass < 2 && !*out_instruction && !status; pass++) {
      const hsc_instr *wanted = pass ? named : r;
      const hsc_instr *l = NULL;
      for (size_t i = 0; i < diff.row_count && !l; i++)
        if (diff.rows[i].right == wanted && diff.rows[i].left &&
            diff.rows[i].left->parent == left.module->entry)
          l = diff.rows[i].left;
      hsc_literal *x = l ? hsc_map_get(left.by_name, hsc_view_of(l->name)) : NULL;
      hsc_literal *y = hsc_map_get(right.by_name, hsc_view_of(r->name));
      hsc_difference d;
      double scale;
      if (!x || !y || !hsc_shape_is_array(&x->shape) || !hsc_shape_is_array(&y->shape) ||
          !hsc_shape_equal(&x->shape, &y->shape))
        continue;
      status = hsc_literal_compare(x, y, &d);
      double tolerance = hsc_outputs_tolerance(x, &scale) * o->tolerance;
      if (!status && (d.nan_mismatches > 0 || d.max_abs > tolerance * scale))
        *out_instruction = instruction_json(r, l, &d);
      if (named == r)
        break;
    }
  }
  hsc_diff_deinit(&diff);
  values_deinit(&left);
  values_deinit(&right);
  return status;
}

// ---- the stages ---------------------------------------------------------------------------------

static json_t *new_stage(const hsc_pass_row *row, int64_t run) {
  return json_pack("{s:o, s:s, s:s, s:o, s:n, s:n, s:n, s:n, s:i}", "run",
                   run < 0 ? json_null() : json_integer((json_int_t)run), "pipeline",
                   row ? row->pipeline : "", "pass", row ? row->pass : "input", "verdict",
                   json_null(), "max_abs", "max_ulp", "skipped", "where", "bridged", 0);
}

// A stage whose numbers differ: what the evaluator, which is right by definition, says of it and
// the last good one. Where it finds the same outputs the difference is the runner's own rounding;
// else the first such pass and its instruction are noted.
static hsc_status *look_into(validation *v,
                             json_t *stage,
                             const char *path,
                             const hsc_pass_row *row,
                             int64_t run,
                             json_t *result) {
  json_t *instruction = NULL;
  json_t *first;
  double max_abs = hsc_json_number(json_object_get(stage, "max_abs"));
  bool agree = max_abs <= v->excused;
  if (json_object_get(result, "first"))
    return NULL;
  hsc_status *failed =
      agree ? NULL : first_difference(v->options, v->last_good, path, &instruction, &agree);
  if (!failed && agree) {
    json_object_set_new(stage, "verdict", json_string("rounding"));
    v->excused = fmax(v->excused, max_abs);
    json_decref(instruction);
    return NULL;
  }
  first = json_pack("{s:I, s:s, s:s, s:o}", "run", (json_int_t)run, "pipeline", row->pipeline,
                    "pass", row->pass, "instruction", instruction ? instruction : json_null());
  if (failed)
    json_object_set_new(first, "instruction_unknown", json_string(hsc_status_message(failed)));
  hsc_status_free(failed);
  json_object_set_new(result, "first", first);
  return NULL;
}

static hsc_status *take_stage(validation *v,
                              const char *dump,
                              const hsc_pass_row *row,
                              int64_t run,
                              size_t number,
                              hsc_arena *arena,
                              json_t **io_result) {
  json_t *stage = new_stage(row, run);
  json_t *rows = json_array();
  const char *path = NULL;
  const char *unknown = NULL;
  const char *outputs = hsc_arena_printf(arena, "%s/outputs_%zu", v->scratch, number);
  int bridged = 0;
  hsc_answer answer = {0};
  hsc_status *status = hsc_arena_status(arena);
  json_array_append_new(v->stages, stage);
  if (!status)
    status = bridge_stage(v, dump, number, arena, &path, &bridged, &unknown);
  json_object_set_new(stage, "bridged", json_integer(bridged));
  if (!status && unknown) {  // would be refused by name anyway, but by the first one only
    json_object_set_new(stage, "skipped",
                        json_string(hsc_arena_printf(arena, "no known meaning: %s", unknown)));
    goto done;
  }
  if (!status)
    status = run_stage(v, path, outputs, 0, &answer);
  if (status) {
    if (hsc_status_code(status) == HSC_RESOURCE_EXHAUSTED || number == 0)
      goto done;
    json_object_set_new(stage, "skipped", json_string(hsc_status_message(status)));
    hsc_status_free(status);
    status = NULL;
    goto done;
  }
  if (answer.outcome != HSC_OUTCOME_OK) {
    if (number == 0) {
      status = hsc_answer_take_status(&answer);
      goto done;
    }
    json_object_set_new(stage, "skipped",
                        json_string(answer.status ? hsc_status_message(answer.status)
                                                  : hsc_outcome_text(answer.outcome)));
    goto done;
  }
  json_t *made = json_object_get(answer.body, "outputs");
  if (number == 0) {
    v->first_outputs = json_incref(made);
    json_object_set_new(stage, "verdict", json_string("equal"));
    v->last_good = v->first_path = path;
    goto done;
  }
  if (!same_interface(v->first_outputs, made)) {
    json_object_set_new(stage, "skipped",
                        json_string("its outputs have other shapes than the program's"));
    goto done;
  }
  HSC_GOTO(hsc_compare_outputs(v->first_outputs, made, "input", row->pass, rows));
  HSC_GOTO(judge_outputs(v, rows, stage, arena));
  if (!strcmp(json_string_value(json_object_get(stage, "verdict")), "different"))
    HSC_GOTO(look_into(v, stage, path, row, run, *io_result));
  if (strcmp(json_string_value(json_object_get(stage, "verdict")), "different") != 0)
    v->last_good = path;
  note_jump(v, stage);
done:
  if (number > 0)
    hsc_scratch_empty(outputs);
  json_decref(rows);
  hsc_answer_deinit(&answer);
  return status;
}

static hsc_status *take_stages(validation *v, const hsc_pass_list *list, json_t *result) {
  const hsc_validate_options *o = v->options;
  size_t number = 0;
  size_t total = 1;
  if (!list->first_dump)
    return HSC_ERR(UNIMPLEMENTED, "%s wrote no HLO of its stages", o->device->text);
  for (size_t i = 0; i < list->row_count; i++)
    total += list->rows[i].dump != NULL && !list->rows[i].nested;
  HSC_TRY(take_stage(v, list->first_dump, NULL, -1, number++, list->arena, &result));
  for (size_t i = 0; i < list->row_count && !(o->stop && *o->stop); i++) {
    if (!list->rows[i].dump || list->rows[i].nested)
      continue;
    if (o->progress)
      o->progress(o->user, (int64_t)number, (int64_t)total, list->rows[i].pass);
    HSC_TRY(take_stage(v, list->rows[i].dump, &list->rows[i], (int64_t)i, number++, list->arena,
                       &result));
  }
  return NULL;
}

static const char *overall(json_t *stages) {
  const char *worst = "equal";
  size_t i;
  size_t ran = 0;
  json_t *stage;
  json_array_foreach (stages, i, stage) {
    const char *verdict = json_string_value(json_object_get(stage, "verdict"));
    if (!verdict)
      continue;
    ran++;
    if (!strcmp(verdict, "different"))
      return "different";
    if (badness(verdict) > badness(worst))
      worst = verdict;
  }
  return ran > 1 || json_array_size(stages) <= 1 ? worst : "unknown";
}

hsc_status *hsc_validate(const hsc_validate_options *options, json_t **out_result) {
  validation v = {.options = options, .stages = json_array(), .jumps = json_array()};
  hsc_pass_list list = {0};
  hsc_lab_worker *compiler = NULL;
  json_t *result = json_pack("{s:s, s:s, s:s, s:I, s:s?}", "program", options->program, "device",
                             options->device->text, "runner", options->runner->text, "seed",
                             (json_int_t)options->seed, "disabled", options->disable);
  hsc_status *status = NULL;
  *out_result = NULL;
  if (!result || !v.stages)
    HSC_GOTO(hsc_status_out_of_memory());
  HSC_GOTO(hsc_pass_list_init(&list));
  HSC_GOTO(hsc_scratch_create(&v.scratch));
  HSC_GOTO(hsc_lab_worker_create(&(hsc_lab_worker_options){.device = options->device,
                                                           .executable = options->executable,
                                                           .no_disk_cache = true,
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
      .limit_ns = options->limit_ns};
  if (options->progress)
    options->progress(options->user, 0, 1, "compiling");
  HSC_GOTO(hsc_passes_collect(compiler, &collect, &list));
  hsc_lab_worker_destroy(compiler);
  compiler = NULL;
  HSC_GOTO(hsc_lab_worker_create(&(hsc_lab_worker_options){.device = options->runner,
                                                           .executable = options->executable,
                                                           .no_disk_cache = true,
                                                           .stop = options->stop},
                                 &v.runner));
  HSC_GOTO(take_stages(&v, &list, result));
  json_object_set_new(result, "verdict", json_string(overall(v.stages)));
  json_object_set(result, "stages", v.stages);
  json_object_set(result, "jumps", v.jumps);
  json_object_set_new(result, "rounding", hsc_rounding_json(v.moved));
  if (!json_object_get(result, "first"))
    json_object_set_new(result, "first", json_null());
  *out_result = json_incref(result);
done:
  json_decref(result);
  json_decref(v.stages);
  json_decref(v.first_outputs);
  json_decref(v.moved);
  json_decref(v.jumps);
  hsc_lab_worker_destroy(compiler);
  hsc_lab_worker_destroy(v.runner);
  hsc_scratch_destroy(v.scratch);
  hsc_pass_list_deinit(&list);
  return status;
}
