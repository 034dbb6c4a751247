// infer_collective.c - shape rules of ops that talk to other devices. How many take part is text
// here (replica_groups), so ops that scale a dimension by it take the given shape when it fits.
#include "hlo/infer/infer_internal.h"

// sort, all-reduce, collective-permute and their like: the operand's shape, of several a tuple.
RULE(operands) {
  HSC_TRY(hsc__want_operands(instr, 1));
  if (instr->op == HSC_OP_SORT)
    HSC_TRY(hsc__check_sort(arena, instr));
  if (instr->op == HSC_OP_ALL_REDUCE) {
    const hsc_shape *accumulators = NULL;
    HSC_TRY(hsc__want_called(instr, 1));
    HSC_TRY(hsc__reducer_shapes(arena, instr, 0, 1, &accumulators));
  }
  // in place: source, target, where from, where to
  if (instr->op == HSC_OP_COLLECTIVE_PERMUTE && instr->operand_count == 4) {
    *out_shape = *hsc__operand_shape(instr, 1);
    return NULL;
  }
  return hsc__tuple_of_operands(arena, instr, instr->operand_count, out_shape);
}

// Operand i is `from`, result i is `to`; in dimension `dim` one is a multiple of the other
// (`grows`: the result), elsewhere they are equal.
static hsc_status *want_scaled(hsc_arena *arena,
                               const hsc_instr *instr,
                               int i,
                               const hsc_shape *from,
                               const hsc_shape *to,
                               int64_t dim,
                               bool grows) {
  bool fits = hsc_shape_is_array(from) && hsc_shape_is_array(to) && from->type == to->type &&
              from->rank == to->rank;
  for (int d = 0; fits && d < from->rank; d++) {
    int64_t small = grows ? from->dims[d] : to->dims[d];
    int64_t large = grows ? to->dims[d] : from->dims[d];
    if (d == dim) {
      if (small == 0)
        fits = large == 0;
      else
        fits = large % small == 0;
    } else
      fits = small == large;
  }
  if (fits)
    return NULL;
  return hsc__infer_error(
      instr, "operand %d, %s, cannot become %s: only dimension %lld may differ, by a whole factor",
      i, hsc__shape_text(arena, from), hsc__shape_text(arena, to), (long long)dim);
}

static hsc_status *scaled(hsc_arena *arena,
                          const hsc_instr *instr,
                          bool grows,
                          hsc_shape *out_shape) {
  HSC_TRY(hsc__want_operands(instr, 1));
  HSC_TRY(hsc__want_array(instr, 0));
  if (instr->attr.collective.dims.count != 1)
    return hsc__infer_error(instr, "needs one dimension; has %d",
                            instr->attr.collective.dims.count);
  HSC_TRY(hsc__want_distinct_dims(arena, instr, "dimensions", instr->attr.collective.dims,
                                  hsc__operand_shape(instr, 0)->rank));
  const hsc_shape *result = &instr->shape;
  if (result->type == HSC_TYPE_INVALID)
    return hsc__infer_error(instr, "its shape depends on the replica groups and must be given");
  int results = hsc_shape_is_tuple(result) ? result->element_count : 1;
  if (results != instr->operand_count)
    return hsc__infer_error(instr, "%d operands give %d results", instr->operand_count, results);
  for (int i = 0; i < results; i++)
    HSC_TRY(want_scaled(arena, instr, i, hsc__operand_shape(instr, i),
                        hsc_shape_is_tuple(result) ? &result->elements[i] : result,
                        instr->attr.collective.dims.v[0], grows));
  *out_shape = *result;
  return NULL;
}

RULE(all_gather) {
  return scaled(arena, instr, true, out_shape);
}

RULE(reduce_scatter) {
  const hsc_shape *accumulators = NULL;
  HSC_TRY(hsc__want_called(instr, 1));
  HSC_TRY(hsc__reducer_shapes(arena, instr, 0, 1, &accumulators));
  return scaled(arena, instr, false, out_shape);
}

// With a dimension: one array that is split and joined along it. Without: a tuple, one operand a
// participant.
RULE(all_to_all) {
  HSC_TRY(hsc__want_operands(instr, 1));
  if (instr->attr.collective.dims.count > 0) {
    HSC_TRY(hsc__want_array(instr, 0));
    HSC_TRY(hsc__want_distinct_dims(arena, instr, "dimensions", instr->attr.collective.dims,
                                    hsc__operand_shape(instr, 0)->rank));
  }
  if (instr->attr.collective.dims.count > 0 || !hsc_shape_is_tuple(&instr->shape))
    return hsc__tuple_of_operands(arena, instr, instr->operand_count, out_shape);
  hsc_shape *elements = HSC_NEW_ARRAY(arena, hsc_shape, instr->operand_count);
  HSC_TRY(hsc_arena_status(arena));
  for (int i = 0; i < instr->operand_count; i++) {
    elements[i] = *hsc__operand_shape(instr, i);
    if (!hsc_shape_equal(&elements[i], &elements[0]))
      return hsc__infer_error(
          instr, "operands must have one shape: operand 0 is %s, operand %d is %s",
          hsc__shape_text(arena, &elements[0]), i, hsc__shape_text(arena, &elements[i]));
  }
  *out_shape = hsc_shape_tuple_over(instr->operand_count, elements);
  return NULL;
}
