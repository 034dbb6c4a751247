// worker_bounds.c - a program in the reference evaluator with an error beside each value, and where
// the first NaN, the first infinity, the loss of digits and what may be chosen come from.
#include <math.h>

#include "base/files/file_io.h"
#include "hlo/error/error_bounds.h"
#include "worker/worker_internal.h"

// A result of which so much is unknown, and so many times what is of any of its operands, has lost
// digits.
static const double LOST_SHARE = 1e-3;
static const double LOST_TIMES = 1000;

typedef struct origin {
  const hsc_instr *instr;  // NULL = none
  hsc_bytes operands;      // at the element: "log of -0.31"
  int64_t element;
} origin;

typedef struct finder {
  origin nan, infinity, lost, denormal, choice;
} finder;

// The first element that is NaN (or infinite); -1 = none. Tuples: of any leaf.
static int64_t first_of(const hsc_literal *literal, bool infinite) {
  if (hsc_shape_is_tuple(&literal->shape)) {
    for (int i = 0; i < literal->shape.element_count; i++) {
      int64_t at = first_of(&literal->elements[i], infinite);
      if (at >= 0)
        return at;
    }
    return -1;
  }
  if (!hsc_shape_is_array(&literal->shape) || !hsc_type_is_float(literal->shape.type))
    return -1;
  int64_t count = hsc_shape_elements(&literal->shape);
  for (int64_t i = 0; i < count; i++) {
    double value = hsc_literal_get_double(literal, i);
    if (infinite ? isinf(value) : isnan(value))
      return i;
  }
  return -1;
}

static void note(origin *o,
                 const hsc_instr *instr,
                 const hsc_bounded *const *operands,
                 int64_t element,
                 bool with_errors) {
  o->instr = instr;
  o->element = element;
  hsc_bytes_printf(&o->operands, "%s of", hsc_op_text(instr->op));
  for (int k = 0; k < instr->operand_count; k++) {
    const hsc_literal *value = operands[k]->value;
    bool same = hsc_shape_is_array(&value->shape) && hsc_shape_is_array(&instr->shape) &&
                hsc_shape_elements(&value->shape) == hsc_shape_elements(&instr->shape);
    hsc_bytes_printf(&o->operands, "%s ", k ? "," : "");
    if (!same) {
      hsc_bytes_printf(&o->operands, "%s", instr->operands[k]->name);
      continue;
    }
    hsc_bytes_printf(&o->operands, "%.9g", hsc_literal_get_double(value, element));
    if (with_errors)
      hsc_bytes_printf(&o->operands, " +- %.2g",
                       operands[k]->error ? operands[k]->error[element] : 0);
  }
}

// A walked call or loop shows what its last instruction showed.
static bool is_walked(const hsc_instr *instr) {
  return instr->op == HSC_OP_CALL || instr->op == HSC_OP_FUSION || instr->op == HSC_OP_WHILE ||
         instr->op == HSC_OP_CONDITIONAL || instr->op == HSC_OP_CONSTANT;
}

static void look_for_value(origin *o,
                           const hsc_instr *instr,
                           const hsc_bounded *const *operands,
                           const hsc_bounded *result,
                           bool infinite) {
  if (o->instr)
    return;
  int64_t at = first_of(result->value, infinite);
  if (at < 0)
    return;
  for (int k = 0; k < instr->operand_count; k++)
    if (first_of(operands[k]->value, false) >= 0 || first_of(operands[k]->value, true) >= 0)
      return;
  note(o, instr, operands, at, false);
}

static void look_for_loss(origin *o,
                          const hsc_instr *instr,
                          const hsc_bounded *const *operands,
                          const hsc_bounded *result) {
  double unit = hsc_type_unit(instr->shape.type);
  if (o->instr || !result->error || unit == 0)
    return;
  double had = unit;
  for (int k = 0; k < instr->operand_count; k++)
    had = fmax(had, hsc_bounded_relative(operands[k]));
  double share = hsc_bounded_relative(result);
  if (!isfinite(share) || !(share > LOST_SHARE) || !(share > LOST_TIMES * had))
    return;
  int64_t worst = 0;
  int64_t count = hsc_shape_elements(&result->value->shape);
  for (int64_t i = 1; i < count; i++)
    if (result->error[i] > result->error[worst])
      worst = i;
  note(o, instr, operands, worst, true);
}

// The first element of an array of floats that is denormal; -1 = none.
static int64_t denormal_of(const hsc_literal *literal) {
  if (!hsc_shape_is_array(&literal->shape) || !hsc_type_is_float(literal->shape.type))
    return -1;
  int64_t count = hsc_shape_elements(&literal->shape);
  for (int64_t i = 0; i < count; i++)
    if (hsc_is_denormal(literal->shape.type, hsc_literal_get_double(literal, i)))
      return i;
  return -1;
}

// What reads or makes a denormal number and does more with it than to hand it on.
static void look_for_denormal(origin *o,
                              const hsc_instr *instr,
                              const hsc_bounded *const *operands,
                              const hsc_bounded *result) {
  if (o->instr || hsc_error_reads_bits(instr))
    return;
  int64_t at = denormal_of(result->value);
  for (int k = 0; k < instr->operand_count && at < 0; k++) {
    at = denormal_of(operands[k]->value);
    bool same = hsc_shape_is_array(&instr->shape) &&
                hsc_shape_elements(&instr->shape) == hsc_shape_elements(&operands[k]->value->shape);
    if (at >= 0 && !same)
      at = 0;  // of a sum or a product: the operands are named without an element
  }
  if (at >= 0)
    note(o, instr, operands, at, false);
}

static bool is_bounded(const hsc_bounded *b) {
  bool bounded = b->error != NULL;
  for (int i = 0; b->elements && i < b->value->shape.element_count && !bounded; i++)
    bounded = is_bounded(b->elements[i]);
  return bounded;
}

// What gives one of several legal results of operands that are exact: here it is chosen.
static void look_for_choice(origin *o,
                            const hsc_instr *instr,
                            const hsc_bounded *const *operands,
                            const hsc_bounded *result) {
  if (o->instr || !hsc_error_is_choice(instr) || !is_bounded(result))
    return;
  for (int k = 0; k < instr->operand_count; k++)
    if (is_bounded(operands[k]))
      return;
  note(o, instr, operands, 0, false);
}

static void visit(void *user,
                  const hsc_instr *instr,
                  const hsc_bounded *const *operands,
                  const hsc_bounded *result) {
  finder *f = user;
  if (is_walked(instr))
    return;
  look_for_value(&f->nan, instr, operands, result, false);
  look_for_value(&f->infinity, instr, operands, result, true);
  look_for_denormal(&f->denormal, instr, operands, result);
  look_for_choice(&f->choice, instr, operands, result);
  // what only hands on a number has lost none of it
  bool moves = instr->op == HSC_OP_GET_TUPLE_ELEMENT || hsc_error_is_choice(instr);
  if (hsc_shape_is_array(&instr->shape) && !moves)
    look_for_loss(&f->lost, instr, operands, result);
}

static void write_origin(hsc_json *answer, const char *key, const origin *o) {
  static const hsc_print_options form = {
      .no_backend_config = true, .elide_large_constants = true, .no_percent = true};
  hsc_json_key(answer, key);
  if (!o->instr) {
    hsc_json_null(answer);
    return;
  }
  const hsc_metadata *m = o->instr->metadata;
  hsc_bytes text = {0};
  hsc_bytes source = {0};
  hsc_bytes operands = o->operands;
  hsc_instr_print(o->instr, &form, &text);
  const char *start = hsc_bytes_text(&text);
  while (*start == ' ')
    start++;
  if (m && m->source_file)
    hsc_bytes_printf(&source, "%s:%d", m->source_file, (int)m->source_line);
  const hsc_answer_origin answered = {.name = o->instr->name,
                                      .text = start,
                                      .operands = hsc_bytes_text(&operands),
                                      .element = o->element,
                                      .op_name = m ? m->op_name : NULL,
                                      .source = source.size ? hsc_bytes_text(&source) : NULL};
  hsc_answer_write(answer, &hsc_answer_origin_layout, &answered);
  hsc_bytes_deinit(&text);
  hsc_bytes_deinit(&source);
}

static const hsc_bounded *leaf_of(const hsc_bounded *b, int *left) {
  if (!b->elements)
    return (*left)-- == 0 ? b : NULL;
  for (int i = 0; i < b->value->shape.element_count; i++) {
    const hsc_bounded *found = leaf_of(b->elements[i], left);
    if (found)
      return found;
  }
  return NULL;
}

static hsc_status *write_output(
    const hsc_bounded *b, const char *save_to, size_t index, hsc_arena *arena, hsc_json *answer) {
  hsc_bytes shape = {0};
  hsc_bytes path = {0};
  hsc_status *status = NULL;
  int64_t count = hsc_shape_elements(&b->value->shape);
  const char *bound = hsc_arena_printf(arena, "%s/bound_%zu.bin", save_to, index);
  const double *error = b->error ? b->error : HSC_NEW_ARRAY(arena, double, count + 1);
  HSC_GOTO(hsc_arena_status(arena));
  hsc_shape_print(&b->value->shape, false, &shape);
  HSC_GOTO(hsc_file_write_atomic(bound, error, (size_t)count * sizeof *error));
  HSC_GOTO(hsc__save_output(save_to, index, b->value->data,
                            (size_t)hsc_shape_bytes(&b->value->shape), &path));
  const hsc_answer_bounded output = {
      .shape = hsc_bytes_text(&shape), .file = hsc_bytes_text(&path), .bound = bound};
  hsc_answer_write(answer, &hsc_answer_bounded_layout, &output);
done:
  hsc_bytes_deinit(&shape);
  hsc_bytes_deinit(&path);
  return status;
}

static hsc_status *write_answer(const hsc_bounded *result,
                                int output_count,
                                const char *save_to,
                                finder *f,
                                hsc_arena *arena,
                                hsc_json *answer) {
  bool lossy = false;
  hsc_json_key(answer, "outputs");
  hsc_json_begin_array(answer);
  for (int i = 0; i < output_count; i++) {
    int left = i;
    const hsc_bounded *b = leaf_of(result, &left);
    lossy |= hsc_bounded_relative(b) > LOST_SHARE;
    HSC_TRY(write_output(b, save_to, (size_t)i, arena, answer));
  }
  hsc_json_end_array(answer);
  // what no output is the worse for is no loss
  if (!lossy)
    f->lost.instr = NULL;
  write_origin(answer, "nan", &f->nan);
  write_origin(answer, "infinity", &f->infinity);
  write_origin(answer, "lost_digits", &f->lost);
  write_origin(answer, "denormal", &f->denormal);
  write_origin(answer, "choice", &f->choice);
  return NULL;
}

hsc_status *hsc__job_bounds(hsc_worker *worker, json_t *request, hsc_json *answer) {
  worker_program *program = NULL;
  int64_t seed = 0;
  const char *save_to = NULL;
  hsc_arena *arena = NULL;
  hsc_literal **arguments = NULL;
  hsc_bounded *result = NULL;
  finder f = {0};
  hsc_status *status = NULL;
  HSC_TRY(hsc__request_int(request, "seed", 0, INT64_MAX, &seed));
  HSC_TRY(hsc__request_text(request, "save_to", true, &save_to));
  HSC_TRY(hsc__worker_program(worker, request, &program));
  HSC_TRY(hsc__worker_fill_inputs(program, (uint64_t)seed, 0, json_object_get(request, "data")));
  hsc__write_program_times(program, answer);
  hsc_computation *entry = program->module->entry;
  hsc_error_options options = {
      .factor_unit = json_number_value(json_object_get(request, "factor_unit")),
      .visit = visit,
      .user = &f};
  HSC_TRY(hsc_arena_create(&arena));
  HSC_GOTO(hsc__worker_arguments(program, entry, arena, &arguments));
  HSC_GOTO(hsc_dir_make(save_to));
  hsc__worker_at(worker, "evaluating with error bounds");
  HSC_GOTO(hsc_evaluate_bounded(program->module, entry->parameter_count, arguments, &options, arena,
                                &result));
  hsc__worker_at(worker, NULL);
  HSC_GOTO(write_answer(result, program->output_count, save_to, &f, arena, answer));
done:
  hsc_bytes_deinit(&f.nan.operands);
  hsc_bytes_deinit(&f.infinity.operands);
  hsc_bytes_deinit(&f.lost.operands);
  hsc_bytes_deinit(&f.denormal.operands);
  hsc_bytes_deinit(&f.choice.operands);
  hsc_arena_destroy(arena);
  return status;
}
