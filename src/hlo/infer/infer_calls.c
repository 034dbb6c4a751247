// infer_calls.c - shape rules of ops that call computations: call, fusion, while, conditional,
// reduce, map, sort.
#include "base/text/text.h"
#include "hlo/infer/infer_internal.h"

RULE(called) {
  HSC_TRY(hsc__want_called(instr, 1));
  HSC_TRY(hsc__want_parameters(instr, 0, instr->operand_count));
  for (int i = 0; i < instr->operand_count; i++)
    HSC_TRY(hsc__want_parameter_shape(arena, instr, 0, i, hsc__operand_shape(instr, i)));
  *out_shape = instr->called[0]->root->shape;
  return NULL;
}

hsc_status *hsc__check_while(hsc_arena *arena, const hsc_instr *instr) {
  HSC_TRY(hsc__want_called(instr, 2));
  const hsc_shape *state = hsc__operand_shape(instr, 0);
  for (int i = 0; i < 2; i++) {
    HSC_TRY(hsc__want_parameters(instr, i, 1));
    HSC_TRY(hsc__want_parameter_shape(arena, instr, i, 0, state));
  }
  const hsc_shape *go_on = &instr->called[0]->root->shape;
  const hsc_shape *next = &instr->called[1]->root->shape;
  if (!hsc_shape_is_scalar(go_on) || go_on->type != HSC_TYPE_PRED)
    return hsc__infer_error(instr, "condition %%%s must give pred[]; it gives %s",
                            instr->called[0]->name, hsc__shape_text(arena, go_on));
  if (!hsc_shape_equal(next, state))
    return hsc__infer_error(instr, "body %%%s must give the state that it takes: %s for %s",
                            instr->called[1]->name, hsc__shape_text(arena, next),
                            hsc__shape_text(arena, state));
  return NULL;
}

RULE(conditional) {
  HSC_TRY(hsc__want_operands(instr, 1));
  const hsc_shape *selector = hsc__operand_shape(instr, 0);
  bool is_pred = selector->type == HSC_TYPE_PRED;
  if (!hsc_shape_is_scalar(selector) || (!is_pred && selector->type != HSC_TYPE_S32))
    return hsc__infer_error(instr, "operand 0 must be pred[] or s32[]; it is %s",
                            hsc__shape_text(arena, selector));
  if (is_pred ? instr->called_count != 2 : instr->called_count < 1)
    return hsc__infer_error(instr, "has %d branches; %s", instr->called_count,
                            is_pred ? "a pred selects one of 2" : "at least 1 is needed");
  if (instr->operand_count != instr->called_count + 1)
    return hsc__infer_error(instr, "%d branches need as many operands after the first; it has %d",
                            instr->called_count, instr->operand_count - 1);
  const hsc_shape *result = &instr->called[0]->root->shape;
  for (int i = 0; i < instr->called_count; i++) {
    HSC_TRY(hsc__want_parameters(instr, i, 1));
    HSC_TRY(hsc__want_parameter_shape(arena, instr, i, 0, hsc__operand_shape(instr, i + 1)));
    if (!hsc_shape_equal(&instr->called[i]->root->shape, result))
      return hsc__infer_error(instr, "branches differ: %%%s gives %s, %%%s gives %s",
                              instr->called[0]->name, hsc__shape_text(arena, result),
                              instr->called[i]->name,
                              hsc__shape_text(arena, &instr->called[i]->root->shape));
  }
  *out_shape = *result;
  return NULL;
}

hsc_status *hsc__reducer_shapes(hsc_arena *arena,
                                const hsc_instr *instr,
                                int called,
                                int count,
                                const hsc_shape **out_accumulators) {
  const hsc_computation *reducer = instr->called[called];
  HSC_TRY(hsc__want_parameters(instr, called, 2 * count));
  const hsc_shape *result = &reducer->root->shape;
  const hsc_shape *accumulators = hsc_shape_is_tuple(result) ? result->elements : result;
  if ((hsc_shape_is_tuple(result) ? result->element_count : 1) != count)
    return hsc__infer_error(instr, "reducer %%%s must give %d value%s; it gives %s", reducer->name,
                            count, hsc_plural((double)count, "", "s"),
                            hsc__shape_text(arena, result));
  for (int i = 0; i < 2 * count; i++) {
    const hsc_shape *accumulator = &accumulators[i % count];
    const hsc_shape *parameter = &reducer->parameters[i]->shape;
    if (!hsc_shape_is_scalar(accumulator) || !hsc_shape_is_scalar(parameter))
      return hsc__infer_error(
          instr, "reducer %%%s must take and give scalars: parameter %d is %s, the result %s",
          reducer->name, i, hsc__shape_text(arena, parameter), hsc__shape_text(arena, accumulator));
    if (i < count && parameter->type != accumulator->type)
      return hsc__infer_error(
          instr, "reducer %%%s: parameter %d is %s, the result that replaces it %s", reducer->name,
          i, hsc__shape_text(arena, parameter), hsc__shape_text(arena, accumulator));
  }
  *out_accumulators = accumulators;
  return NULL;
}

// N inputs of the same dimensions, N scalar initial values, a reducer over N values. Gives N and
// the accumulators' shapes.
static hsc_status *want_reduction(hsc_arena *arena,
                                  const hsc_instr *instr,
                                  int *out_count,
                                  const hsc_shape **out_accumulators) {
  if (instr->operand_count < 2 || instr->operand_count % 2 != 0)
    return hsc__infer_error(instr, "takes N operands and N initial values; it has %d in all",
                            instr->operand_count);
  int count = instr->operand_count / 2;
  HSC_TRY(hsc__want_called(instr, 1));
  HSC_TRY(hsc__reducer_shapes(arena, instr, 0, count, out_accumulators));
  for (int i = 0; i < count; i++) {
    HSC_TRY(hsc__want_array(instr, i));
    const hsc_shape *x = hsc__operand_shape(instr, i);
    const hsc_shape *init = hsc__operand_shape(instr, count + i);
    const hsc_shape *first = hsc__operand_shape(instr, 0);
    if (!hsc_shape_same_dims(x, first))
      return hsc__infer_error(
          instr, "operands must have the same dimensions: operand 0 is %s, operand %d is %s",
          hsc__shape_text(arena, first), i, hsc__shape_text(arena, x));
    if (!hsc_shape_equal(init, &(*out_accumulators)[i]))
      return hsc__infer_error(instr, "initial value %d is %s; the reducer accumulates %s", i,
                              hsc__shape_text(arena, init),
                              hsc__shape_text(arena, &(*out_accumulators)[i]));
    const hsc_shape *element = &instr->called[0]->parameters[count + i]->shape;
    if (x->type != element->type)
      return hsc__infer_error(instr, "operand %d is %s; the reducer takes elements of %s", i,
                              hsc__shape_text(arena, x), hsc_type_text(element->type));
  }
  *out_count = count;
  return NULL;
}

// One result for each accumulator, all of the same dimensions.
static hsc_status *reduction_result(hsc_arena *arena,
                                    int count,
                                    const hsc_shape *accumulators,
                                    int rank,
                                    const int64_t *dims,
                                    hsc_shape *out_shape) {
  if (count == 1) {
    *out_shape = hsc__shape_of_dims(accumulators[0].type, rank, dims);
    return NULL;
  }
  hsc_shape *elements = HSC_NEW_ARRAY(arena, hsc_shape, count);
  HSC_TRY(hsc_arena_status(arena));
  for (int i = 0; i < count; i++)
    elements[i] = hsc__shape_of_dims(accumulators[i].type, rank, dims);
  *out_shape = hsc_shape_tuple_over(count, elements);
  return NULL;
}

RULE(reduce) {
  int count = 0;
  const hsc_shape *accumulators = NULL;
  HSC_TRY(want_reduction(arena, instr, &count, &accumulators));
  const hsc_shape *x = hsc__operand_shape(instr, 0);
  hsc_dims reduced = instr->attr.dims.dims;
  HSC_TRY(hsc__want_distinct_dims(arena, instr, "dimensions", reduced, x->rank));
  int64_t *dims = hsc__new_dims(arena, x->rank);
  if (!dims)
    return hsc_status_out_of_memory();
  int rank = 0;
  for (int i = 0; i < x->rank; i++)
    if (!hsc_dims_contain(reduced, i))
      dims[rank++] = x->dims[i];
  return reduction_result(arena, count, accumulators, rank, dims, out_shape);
}

RULE(reduce_window) {
  int count = 0;
  const hsc_shape *accumulators = NULL;
  HSC_TRY(want_reduction(arena, instr, &count, &accumulators));
  const hsc_shape *x = hsc__operand_shape(instr, 0);
  if (instr->attr.window.window.rank != x->rank)
    return hsc__infer_error(instr, "the window has %d dimensions, the operand %d",
                            instr->attr.window.window.rank, x->rank);
  int64_t *dims = hsc__new_dims(arena, x->rank);
  if (!dims)
    return hsc_status_out_of_memory();
  HSC_TRY(hsc__window_output(instr, instr->attr.window.window, x->dims, dims));
  return reduction_result(arena, count, accumulators, x->rank, dims, out_shape);
}

hsc_status *hsc__check_select_and_scatter(hsc_arena *arena, const hsc_instr *instr) {
  HSC_TRY(hsc__want_called(instr, 2));
  for (int i = 0; i < 3; i++)
    HSC_TRY(hsc__want_array(instr, i));
  const hsc_shape *x = hsc__operand_shape(instr, 0);
  const hsc_shape *source = hsc__operand_shape(instr, 1);
  const hsc_shape *init = hsc__operand_shape(instr, 2);
  hsc_shape scalar = hsc_shape_scalar(x->type);
  const hsc_shape *accumulator = NULL;
  HSC_TRY(hsc__want_parameters(instr, 0, 2));
  for (int i = 0; i < 2; i++)
    HSC_TRY(hsc__want_parameter_shape(arena, instr, 0, i, &scalar));
  const hsc_shape *picks = &instr->called[0]->root->shape;
  if (!hsc_shape_is_scalar(picks) || picks->type != HSC_TYPE_PRED)
    return hsc__infer_error(instr, "select %%%s must give pred[]; it gives %s",
                            instr->called[0]->name, hsc__shape_text(arena, picks));
  HSC_TRY(hsc__reducer_shapes(arena, instr, 1, 1, &accumulator));
  if (!hsc_shape_equal(init, &scalar) || accumulator->type != x->type || source->type != x->type)
    return hsc__infer_error(
        instr, "operand %s, source %s, initial value %s and scatter result %s must be of one type",
        hsc__shape_text(arena, x), hsc__shape_text(arena, source), hsc__shape_text(arena, init),
        hsc__shape_text(arena, accumulator));
  if (instr->attr.window.window.rank != x->rank)
    return hsc__infer_error(instr, "the window has %d dimensions, the operand %d",
                            instr->attr.window.window.rank, x->rank);
  int64_t dims[HSC_MAX_RANK];
  if (x->rank > HSC_MAX_RANK)
    return hsc__infer_error(instr, "the operand has %d dimensions; %d are allowed", x->rank,
                            HSC_MAX_RANK);
  HSC_TRY(hsc__window_output(instr, instr->attr.window.window, x->dims, dims));
  hsc_shape wanted = hsc__shape_of_dims(x->type, x->rank, dims);
  if (!hsc_shape_same_dims(&wanted, source))
    return hsc__infer_error(instr, "the source must have an element a window: %s, wanted %s",
                            hsc__shape_text(arena, source), hsc__shape_text(arena, &wanted));
  return NULL;
}

RULE(map) {
  HSC_TRY(hsc__want_operands(instr, 1));
  HSC_TRY(hsc__want_called(instr, 1));
  HSC_TRY(hsc__want_parameters(instr, 0, instr->operand_count));
  const hsc_shape *first = hsc__operand_shape(instr, 0);
  for (int i = 0; i < instr->operand_count; i++) {
    HSC_TRY(hsc__want_array(instr, i));
    const hsc_shape *x = hsc__operand_shape(instr, i);
    hsc_shape scalar = hsc_shape_scalar(x->type);
    if (!hsc_shape_same_dims(x, first))
      return hsc__infer_error(
          instr, "operands must have the same dimensions: operand 0 is %s, operand %d is %s",
          hsc__shape_text(arena, first), i, hsc__shape_text(arena, x));
    HSC_TRY(hsc__want_parameter_shape(arena, instr, 0, i, &scalar));
  }
  hsc_dims dims = instr->attr.dims.dims;
  for (int i = 0; i < dims.count || i < first->rank; i++)
    if (dims.count != first->rank || dims.v[i] != i)
      return hsc__infer_error(instr,
                              "dimensions must be all dimensions of the operands in order: 0 to %d",
                              first->rank - 1);
  const hsc_shape *result = &instr->called[0]->root->shape;
  if (!hsc_shape_is_scalar(result))
    return hsc__infer_error(instr, "computation %%%s must give a scalar; it gives %s",
                            instr->called[0]->name, hsc__shape_text(arena, result));
  *out_shape = hsc_shape_with_type(*first, result->type);
  return NULL;
}

hsc_status *hsc__check_sort(hsc_arena *arena, const hsc_instr *instr) {
  HSC_TRY(hsc__want_operands(instr, 1));
  HSC_TRY(hsc__want_called(instr, 1));
  HSC_TRY(hsc__want_parameters(instr, 0, 2 * instr->operand_count));
  const hsc_shape *first = hsc__operand_shape(instr, 0);
  for (int i = 0; i < instr->operand_count; i++) {
    HSC_TRY(hsc__want_array(instr, i));
    const hsc_shape *x = hsc__operand_shape(instr, i);
    hsc_shape scalar = hsc_shape_scalar(x->type);
    if (!hsc_shape_same_dims(x, first))
      return hsc__infer_error(
          instr, "operands must have the same dimensions: operand 0 is %s, operand %d is %s",
          hsc__shape_text(arena, first), i, hsc__shape_text(arena, x));
    HSC_TRY(hsc__want_parameter_shape(arena, instr, 0, 2 * i, &scalar));
    HSC_TRY(hsc__want_parameter_shape(arena, instr, 0, 2 * i + 1, &scalar));
  }
  if (instr->attr.dims.dims.count != 1)
    return hsc__infer_error(instr, "needs one dimension; has %d", instr->attr.dims.dims.count);
  HSC_TRY(hsc__want_distinct_dims(arena, instr, "dimensions", instr->attr.dims.dims, first->rank));
  const hsc_shape *result = &instr->called[0]->root->shape;
  if (!hsc_shape_is_scalar(result) || result->type != HSC_TYPE_PRED)
    return hsc__infer_error(instr, "comparator %%%s must give pred[]; it gives %s",
                            instr->called[0]->name, hsc__shape_text(arena, result));
  return NULL;
}
