// error_walk.c - evaluates a program instruction by instruction and keeps an error beside each
// value; calls, fusions, loops and branches are walked into.
//
// The value of an instruction is the evaluator's. Its error comes from the rule of the op's row in
// the table below. Control flow that depends on a value which is not exact is where the analysis
// ends: what follows from it is not known.
#include "hlo/error/error_internal.h"

static bool is_full(const hsc_arena *arena) {
  hsc_status *status = hsc_arena_status(arena);
  hsc_status_free(status);
  return status != NULL;
}

// ---- values -------------------------------------------------------------------------------------

static hsc_bounded *bounded_new(hsc_arena *arena, hsc_literal *value) {
  hsc_bounded *b = HSC_NEW(arena, hsc_bounded);
  b->value = value;
  if (!hsc_shape_is_tuple(&value->shape))
    return b;
  int count = value->shape.element_count;
  b->elements = HSC_NEW_ARRAY(arena, hsc_bounded *, count + 1);
  if (is_full(arena))
    return b;
  for (int i = 0; i < count; i++)
    b->elements[i] = bounded_new(arena, &value->elements[i]);
  return b;
}

// Fills every error with what is not known (NaN), or with what anything is legal for (infinity).
static void forget(hsc_arena *arena, hsc_bounded *b, double error) {
  if (b->elements) {
    for (int i = 0; i < b->value->shape.element_count; i++)
      forget(arena, b->elements[i], error);
    return;
  }
  if (!hsc_shape_is_array(&b->value->shape))
    return;
  int64_t count = hsc_shape_elements(&b->value->shape);
  b->error = HSC_NEW_ARRAY(arena, double, count + 1);
  if (is_full(arena))
    return;
  for (int64_t i = 0; i < count; i++)
    b->error[i] = error;
}

static hsc_bounded *bounded_copy(hsc_arena *arena, const hsc_bounded *b, hsc_literal *value) {
  hsc_bounded *copy = HSC_NEW(arena, hsc_bounded);
  copy->value = value;
  if (b->elements) {
    int count = value->shape.element_count;
    copy->elements = HSC_NEW_ARRAY(arena, hsc_bounded *, count + 1);
    if (is_full(arena))
      return copy;
    for (int i = 0; i < count; i++)
      copy->elements[i] = bounded_copy(arena, b->elements[i], &value->elements[i]);
  } else if (b->error) {
    int64_t count = hsc_shape_elements(&value->shape);
    copy->error = HSC_NEW_ARRAY(arena, double, count + 1);
    if (!is_full(arena))
      memcpy(copy->error, b->error, (size_t)count * sizeof *copy->error);
  }
  return copy;
}

// ---- one instruction ----------------------------------------------------------------------------

// Rules of the ops that are not elementwise and do more than move; NULL = unknown unless all
// operands are exact integers.
static hsc__error_rule *const RULES[HSC_OP_COUNT] = {
    [HSC_OP_SELECT] = hsc__error_select,
    [HSC_OP_CLAMP] = hsc__error_clamp,
    [HSC_OP_SCATTER] = hsc__error_scatter,
    [HSC_OP_DOT] = hsc__error_dot,
    [HSC_OP_CONVOLUTION] = hsc__error_convolution,
    [HSC_OP_REDUCE] = hsc__error_reduce,
    [HSC_OP_REDUCE_WINDOW] = hsc__error_reduce,
    [HSC_OP_FFT] = hsc__error_fft,
    [HSC_OP_BROADCAST] = hsc__error_moved,
    [HSC_OP_RESHAPE] = hsc__error_moved,
    [HSC_OP_TRANSPOSE] = hsc__error_moved,
    [HSC_OP_SLICE] = hsc__error_moved,
    [HSC_OP_REVERSE] = hsc__error_moved,
    [HSC_OP_PAD] = hsc__error_moved,
    [HSC_OP_CONCATENATE] = hsc__error_moved,
    [HSC_OP_COPY] = hsc__error_moved,
    [HSC_OP_DYNAMIC_SLICE] = hsc__error_moved,
    [HSC_OP_DYNAMIC_UPDATE_SLICE] = hsc__error_moved,
    [HSC_OP_GATHER] = hsc__error_moved,
};

static hsc__error_rule *rule_of(const hsc_instr *instr) {
  if (RULES[instr->op])
    return RULES[instr->op];
  return hsc_op_traits(instr->op) & HSC_TRAIT_ELEMENTWISE ? hsc__error_elementwise
                                                          : hsc__error_unknown;
}

// What has no arithmetic on floats: exact operands give an exact result.
static bool is_exact_op(const hsc_instr *instr) {
  switch (instr->op) {
    case HSC_OP_IOTA:
    case HSC_OP_CONSTANT:
    case HSC_OP_RNG_BIT_GENERATOR:
    case HSC_OP_BITCAST:
    case HSC_OP_BITCAST_CONVERT:
    case HSC_OP_TOPK:
    case HSC_OP_PARTITION_ID:
    case HSC_OP_REPLICA_ID:
    case HSC_OP_AFTER_ALL:
    case HSC_OP_GET_DIMENSION_SIZE:
      return true;
    case HSC_OP_SORT:  // equal keys may go either way
      return hsc__sorts_alike(instr);
    default:
      return false;
  }
}

// Whether a result can have no rounding: integers and predicates of exact operands.
static bool is_integral(const hsc_shape *shape) {
  if (hsc_shape_is_tuple(shape)) {
    for (int i = 0; i < shape->element_count; i++)
      if (!is_integral(&shape->elements[i]))
        return false;
    return true;
  }
  return !hsc_shape_is_array(shape) || hsc_type_is_integral(shape->type) ||
         shape->type == HSC_TYPE_PRED;
}

// A reducer that picks one of its values: the same whatever the order.
static bool picks(const hsc_computation *computation) {
  HSC_FOR_EACH_INSTR_IN (computation, instr) {
    bool fine = instr->op == HSC_OP_PARAMETER || instr->op == HSC_OP_CONSTANT ||
                instr->op == HSC_OP_COMPARE || instr->op == HSC_OP_SELECT ||
                instr->op == HSC_OP_MAXIMUM || instr->op == HSC_OP_MINIMUM ||
                instr->op == HSC_OP_TUPLE || instr->op == HSC_OP_AND || instr->op == HSC_OP_OR ||
                instr->op == HSC_OP_NOT;
    if (!fine)
      return false;
  }
  return true;
}

// A NaN has no place in an order: what sorts or picks by comparing may put it anywhere.
static bool has_nan(const hsc_literal *literal) {
  if (hsc_shape_is_tuple(&literal->shape)) {
    for (int i = 0; i < literal->shape.element_count; i++)
      if (has_nan(&literal->elements[i]))
        return true;
    return false;
  }
  bool floats = hsc_shape_is_array(&literal->shape) && hsc_type_is_float(literal->shape.type);
  int64_t count = floats ? hsc_shape_elements(&literal->shape) : 0;
  for (int64_t i = 0; i < count; i++)
    if (isnan(hsc_literal_get_double(literal, i)))
      return true;
  return false;
}

static bool is_maximum(const hsc_computation *computation) {
  return computation->root->op == HSC_OP_MAXIMUM || computation->root->op == HSC_OP_MINIMUM;
}

// Of a result that no rule can say: of operands that may be anything it may be anything.
static double unknown_of(const hsc_bounded *const *operands, int count) {
  for (int k = 0; k < count; k++) {
    const hsc_bounded *b = operands[k];
    if (b->elements &&
        isinf(unknown_of((const hsc_bounded *const *)b->elements, b->value->shape.element_count)))
      return INFINITY;
    int64_t size = b->error ? hsc_shape_elements(&b->value->shape) : 0;
    for (int64_t i = 0; i < size; i++)
      if (isinf(b->error[i]))
        return INFINITY;
  }
  return NAN;
}

// Whoever computes may take a denormal number for zero, compares it as zero too, and hands it on as
// it is: an operand as those read it who do. *out_read is `b` itself where it has none.
static hsc_status *read_as_zero(hsc_arena *arena,
                                const hsc_bounded *b,
                                const hsc_bounded **out_read) {
  const hsc_literal *value = b->value;
  *out_read = b;
  if (!hsc_shape_is_array(&value->shape) || !hsc_type_is_float(value->shape.type))
    return NULL;
  int64_t count = hsc_shape_elements(&value->shape);
  hsc_bounded *read = NULL;
  for (int64_t i = 0; i < count; i++) {
    double size = fabs(hsc_literal_get_double(value, i));
    if (!hsc_is_denormal(value->shape.type, size))
      continue;
    if (!read) {
      read = HSC_NEW(arena, hsc_bounded);
      double *error = HSC_NEW_ARRAY(arena, double, count + 1);
      HSC_TRY(hsc_arena_status(arena));
      *read = *b;
      read->error = error;
      if (b->error)
        memcpy(error, b->error, (size_t)count * sizeof *error);
    }
    read->error[i] = hsc__worse(read->error[i], size);
  }
  if (read)
    *out_read = read;
  return NULL;
}

bool hsc_error_reads_bits(const hsc_instr *instr) {
  bool orders = instr->op == HSC_OP_SORT || instr->op == HSC_OP_TOPK;
  return !orders && ((hsc_op_traits(instr->op) & HSC_TRAIT_MOVES) || is_exact_op(instr));
}

bool hsc_error_is_choice(const hsc_instr *instr) {
  return (instr->op == HSC_OP_SORT && !hsc__sorts_alike(instr)) || hsc__may_collide(instr);
}

// A sort, a top-k or a reducer that picks by comparing: NaN among what it compares leaves open
// which value comes out. Minima and maxima are not of these: they give NaN.
static bool compares_nan(const hsc_instr *instr,
                         const hsc_bounded *const *operands,
                         bool picks_a_value) {
  bool compares = instr->op == HSC_OP_SORT || instr->op == HSC_OP_TOPK ||
                  (picks_a_value && !is_maximum(instr->called[0]));
  for (int k = 0; k < instr->operand_count && compares; k++)
    if (has_nan(operands[k]->value))
      return true;
  return false;
}

// Whether exact operands give an exact result, by what the instruction is.
static bool keeps_exact(const hsc_instr *instr, bool picks_a_value) {
  if (hsc__may_collide(instr))
    return false;
  if (is_exact_op(instr) || picks_a_value || (hsc_op_traits(instr->op) & HSC_TRAIT_MOVES))
    return true;
  if (instr->op == HSC_OP_SORT)
    return false;
  bool integral = is_integral(&instr->shape);
  for (int k = 0; k < instr->operand_count && integral; k++)
    integral = is_integral(&instr->operands[k]->shape);
  return integral && instr->op != HSC_OP_CUSTOM_CALL && instr->op != HSC_OP_RNG;
}

// The error of an array by its op's rule. NaN, where the rule cannot say, becomes infinity when an
// operand may be anything; an array of zeros is no error at all (NULL).
static hsc_status *array_error(hsc__error_walk *w,
                               const hsc_instr *instr,
                               const hsc_bounded *const *operands,
                               hsc_bounded *result) {
  hsc__error_site site = {.walk = w,
                          .instr = instr,
                          .operands = operands,
                          .value = result->value,
                          .count = hsc_shape_elements(&instr->shape),
                          .unit = hsc_type_unit(instr->shape.type)};
  if (site.unit != 0)  // of integers it stays 0
    site.tiny = hsc__least_normal(instr->shape.type);
  result->error = HSC_NEW_ARRAY(w->arena, double, site.count + 1);
  HSC_TRY(hsc_arena_status(w->arena));
  HSC_TRY(rule_of(instr)(&site, result->error));
  bool unknown = false;
  for (int64_t i = 0; i < site.count && !unknown; i++)
    unknown = isnan(result->error[i]);
  double lost = unknown ? unknown_of(operands, instr->operand_count) : NAN;
  for (int64_t i = 0; i < site.count && isinf(lost); i++)
    if (isnan(result->error[i]))
      result->error[i] = lost;
  for (int64_t i = 0; i < site.count; i++)
    if (result->error[i] != 0)
      return NULL;
  result->error = NULL;
  return NULL;
}

static hsc_status *sort_errors(hsc__error_walk *w,
                               const hsc_instr *instr,
                               const hsc_bounded *const *operands,
                               hsc_bounded *result) {
  hsc_bounded *one[] = {result};
  hsc__error_site site = {.walk = w,
                          .instr = instr,
                          .operands = operands,
                          .value = result->value,
                          .count = hsc_shape_elements(&operands[0]->value->shape)};
  return hsc__error_sort(&site, result->elements ? result->elements : one);
}

static hsc_status *apply_rule(hsc__error_walk *w,
                              const hsc_instr *instr,
                              const hsc_bounded *const *given,
                              hsc_bounded *result) {
  bool exact = true;
  bool open = false;
  const hsc_bounded **operands =
      HSC_NEW_ARRAY(w->arena, const hsc_bounded *, instr->operand_count + 1);
  HSC_TRY(hsc_arena_status(w->arena));
  for (int k = 0; k < instr->operand_count; k++) {
    operands[k] = given[k];
    if (!hsc_error_reads_bits(instr))
      HSC_TRY(read_as_zero(w->arena, given[k], &operands[k]));
  }
  HSC_TRY(hsc__error_is_open(w, instr, operands, &open));
  bool picks_a_value =
      (instr->op == HSC_OP_REDUCE || instr->op == HSC_OP_REDUCE_WINDOW) && picks(instr->called[0]);
  if (open || compares_nan(instr, operands, picks_a_value)) {
    forget(w->arena, result, INFINITY);
    return hsc_arena_status(w->arena);
  }
  for (int k = 0; k < instr->operand_count; k++)
    exact &= hsc__is_exact(operands[k]);
  if (exact && keeps_exact(instr, picks_a_value))
    return NULL;
  if (instr->op == HSC_OP_SORT)
    return sort_errors(w, instr, operands, result);
  if (!hsc_shape_is_array(&instr->shape)) {
    forget(w->arena, result, unknown_of(operands, instr->operand_count));
    return hsc_arena_status(w->arena);
  }
  return array_error(w, instr, operands, result);
}

// ---- computations -------------------------------------------------------------------------------

static hsc_status *walk_computation(hsc__error_walk *w,
                                    const hsc_computation *computation,
                                    const hsc_bounded *const *arguments,
                                    hsc_bounded **out_result);

static hsc_status *copy_into(hsc_arena *arena, const hsc_bounded *b, hsc_bounded **out_copy) {
  hsc_literal *value = NULL;
  HSC_TRY(hsc_literal_copy(arena, b->value, &value));
  *out_copy = bounded_copy(arena, b, value);
  return hsc_arena_status(arena);
}

// One iteration in an arena of its own; *out_state is a copy in `keep`, NULL when the loop is over.
static hsc_status *walk_iteration(hsc__error_walk *w,
                                  const hsc_instr *instr,
                                  const hsc_bounded *state,
                                  hsc_arena *keep,
                                  bool *io_known,
                                  hsc_bounded **out_state) {
  hsc_arena *outer = w->arena;
  hsc_bounded *goes_on = NULL;
  hsc_bounded *next = NULL;
  hsc_status *status = NULL;
  *out_state = NULL;
  w->arena = NULL;
  HSC_GOTO(hsc_arena_create(&w->arena));
  HSC_GOTO(walk_computation(w, instr->called[0], &state, &goes_on));
  *io_known &= hsc__is_exact(goes_on);
  if (!hsc_literal_get_int(goes_on->value, 0))
    goto done;
  HSC_GOTO(walk_computation(w, instr->called[1], &state, &next));
  HSC_GOTO(copy_into(keep, next, out_state));
done:
  hsc_arena_destroy(w->arena);
  w->arena = outer;
  return status;
}

// The state alone outlives an iteration, so that long loops need no more memory than short ones.
static hsc_status *walk_loop(hsc__error_walk *w,
                             const hsc_instr *instr,
                             const hsc_bounded *state,
                             hsc_bounded **out_result) {
  hsc_arena *kept = NULL;
  hsc_arena *fresh = NULL;
  hsc_status *status = NULL;
  bool known = true;
  for (;;) {
    hsc_bounded *next = NULL;
    HSC_GOTO(hsc_arena_create(&fresh));
    HSC_GOTO(walk_iteration(w, instr, state, fresh, &known, &next));
    if (!next)
      break;
    hsc_arena_destroy(kept);
    kept = fresh;
    fresh = NULL;
    state = next;
  }
  HSC_GOTO(copy_into(w->arena, state, out_result));
  if (!known)
    forget(w->arena, *out_result, NAN);
done:
  hsc_arena_destroy(kept);
  hsc_arena_destroy(fresh);
  return status;
}

static hsc_status *walk_branch(hsc__error_walk *w,
                               const hsc_instr *instr,
                               const hsc_bounded *const *operands,
                               hsc_bounded **out_result) {
  const hsc_literal *index = operands[0]->value;
  int64_t branch = hsc_literal_get_int(index, 0);
  if (index->shape.type == HSC_TYPE_PRED)
    branch = !branch;
  else if (branch < 0 || branch >= instr->called_count)
    branch = instr->called_count - 1;
  HSC_TRY(walk_computation(w, instr->called[branch], &operands[branch + 1], out_result));
  if (!hsc__is_exact(operands[0]))
    forget(w->arena, *out_result, unknown_of(operands, 1));
  return hsc_arena_status(w->arena);
}

static hsc_status *evaluate(hsc__error_walk *w,
                            const hsc_instr *instr,
                            const hsc_bounded *const *operands,
                            hsc_bounded **out_result) {
  hsc_literal **values = HSC_NEW_ARRAY(w->arena, hsc_literal *, instr->operand_count + 1);
  hsc_literal *value = NULL;
  HSC_TRY(hsc_arena_status(w->arena));
  for (int k = 0; k < instr->operand_count; k++)
    values[k] = operands[k]->value;
  HSC_TRY(hsc_evaluate_instr_drawing(instr, values, w->random_state, w->arena, &value));
  *out_result = bounded_new(w->arena, value);
  HSC_TRY(hsc_arena_status(w->arena));
  return apply_rule(w, instr, operands, *out_result);
}

// Tuples share what they are made of.
static hsc_status *make_tuple(hsc__error_walk *w,
                              const hsc_instr *instr,
                              const hsc_bounded *const *operands,
                              hsc_bounded **out_result) {
  int count = instr->operand_count;
  hsc_bounded *b = HSC_NEW(w->arena, hsc_bounded);
  hsc_literal *value = HSC_NEW(w->arena, hsc_literal);
  b->elements = HSC_NEW_ARRAY(w->arena, hsc_bounded *, count + 1);
  value->elements = HSC_NEW_ARRAY(w->arena, hsc_literal, count + 1);
  HSC_TRY(hsc_arena_status(w->arena));
  value->shape = instr->shape;
  b->value = value;
  for (int k = 0; k < count; k++) {
    value->elements[k] = *operands[k]->value;
    b->elements[k] = HSC_NEW(w->arena, hsc_bounded);
    HSC_TRY(hsc_arena_status(w->arena));
    *b->elements[k] = *operands[k];
  }
  *out_result = b;
  return NULL;
}

static hsc_status *walk_instr(hsc__error_walk *w,
                              const hsc_instr *instr,
                              const hsc_bounded *const *operands,
                              hsc_bounded **out_result) {
  switch (instr->op) {
    case HSC_OP_WHILE:
      return walk_loop(w, instr, operands[0], out_result);
    case HSC_OP_CONDITIONAL:
      return walk_branch(w, instr, operands, out_result);
    case HSC_OP_CALL:
    case HSC_OP_FUSION:
      return walk_computation(w, instr->called[0], operands, out_result);
    case HSC_OP_TUPLE:
      return make_tuple(w, instr, operands, out_result);
    case HSC_OP_GET_TUPLE_ELEMENT:
      *out_result = operands[0]->elements[instr->attr.index.value];
      return NULL;
    case HSC_OP_OPT_BARRIER:
    case HSC_OP_ADD_DEPENDENCY:
    case HSC_OP_DOMAIN:
      *out_result = HSC_NEW(w->arena, hsc_bounded);
      HSC_TRY(hsc_arena_status(w->arena));
      **out_result = *operands[0];
      return NULL;
    default:
      return evaluate(w, instr, operands, out_result);
  }
}

static hsc_status *walk_computation(hsc__error_walk *w,
                                    const hsc_computation *computation,
                                    const hsc_bounded *const *arguments,
                                    hsc_bounded **out_result) {
  hsc_map *values = NULL;
  hsc_status *status = hsc_map_create(&values);
  *out_result = NULL;
  for (const hsc_instr *instr = computation->first; instr && !status; instr = instr->next) {
    hsc_bounded *result = NULL;
    const hsc_bounded **operands =
        HSC_NEW_ARRAY(w->arena, const hsc_bounded *, instr->operand_count + 1);
    status = hsc_arena_status(w->arena);
    for (int k = 0; k < instr->operand_count && !status; k++) {
      operands[k] = hsc_map_get(values, hsc_view_of(instr->operands[k]->name));
      if (!operands[k])
        status = HSC_ERR(INTERNAL, "%s: its operand has no value", instr->name);
    }
    if (!status && instr->op == HSC_OP_PARAMETER)
      result = (hsc_bounded *)arguments[instr->attr.index.value];
    else if (!status)
      status = walk_instr(w, instr, operands, &result);
    if (!status && w->options->visit && instr->op != HSC_OP_PARAMETER)
      w->options->visit(w->options->user, instr, operands, result);
    if (!status)
      status = hsc_map_put(values, hsc_view_of(instr->name), result);
    if (instr == computation->root)
      *out_result = result;
  }
  hsc_map_destroy(values);
  return status;
}

hsc_status *hsc_evaluate_bounded(const hsc_module *module,
                                 int argument_count,
                                 hsc_literal *const *arguments,
                                 const hsc_error_options *options,
                                 hsc_arena *arena,
                                 hsc_bounded **out_result) {
  hsc__error_walk w = {.options = options, .arena = arena};
  const hsc_computation *entry = module->entry;
  const hsc_bounded **given = HSC_NEW_ARRAY(arena, const hsc_bounded *, argument_count + 1);
  HSC_TRY(hsc_arena_status(arena));
  if (argument_count != entry->parameter_count)
    return HSC_ERR(INVALID_ARGUMENT, "%d arguments for %d parameters", argument_count,
                   entry->parameter_count);
  for (int i = 0; i < argument_count; i++)
    given[i] = bounded_new(arena, arguments[i]);
  HSC_TRY(hsc_arena_status(arena));
  hsc_random_state_start(w.random_state);
  HSC_TRY(hsc_module_create("reducers", &w.reducers));
  hsc_status *status = walk_computation(&w, entry, given, out_result);
  hsc_module_destroy(w.reducers);
  return status;
}
