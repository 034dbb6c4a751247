// layouts.c - see layouts.h.
#include "passes/layout/layouts.h"

hsc__order hsc__order_of(const hsc_shape *shape) {
  hsc__order order = {.rank = shape->rank};
  bool given = shape->layout && shape->layout->rank == shape->rank;
  for (int p = 0; p < shape->rank; p++)
    order.dim[p] = (int8_t)(given ? shape->layout->minor_to_major[shape->rank - 1 - p] : p);
  return order;
}

bool hsc__order_is_row_major(const hsc__order *order) {
  for (int p = 0; p < order->rank; p++)
    if (order->dim[p] != p)
      return false;
  return true;
}

bool hsc__order_equal(const hsc__order *a, const hsc__order *b) {
  return a->rank == b->rank && !memcmp(a->dim, b->dim, (size_t)a->rank);
}

int hsc__order_place(const hsc__order *order, int64_t dim) {
  for (int p = 0; p < order->rank; p++)
    if (order->dim[p] == dim)
      return p;
  return 0;
}

hsc_shape hsc__shape_in_order(hsc_arena *arena, hsc_shape shape, const hsc__order *order) {
  shape.layout = NULL;
  if (hsc__order_is_row_major(order))
    return shape;
  hsc_layout *layout = HSC_NEW(arena, hsc_layout);
  int64_t *minor_to_major = HSC_NEW_ARRAY(arena, int64_t, order->rank);
  if (!layout || !minor_to_major)
    return shape;
  for (int p = 0; p < order->rank; p++)
    minor_to_major[p] = order->dim[order->rank - 1 - p];
  *layout = (hsc_layout){.rank = order->rank, .minor_to_major = minor_to_major};
  shape.layout = layout;
  return shape;
}

hsc__order hsc__order_of_transposed(const hsc__order *operand, hsc_dims permutation) {
  hsc__order order = {.rank = operand->rank};
  for (int p = 0; p < operand->rank; p++)
    for (int d = 0; d < permutation.count; d++)
      if (permutation.v[d] == operand->dim[p])
        order.dim[p] = (int8_t)d;
  return order;
}

// Whether the dimensions that are in none of the lists are in memory in their logical order.
static bool order_keeps_free(const hsc__order *order, hsc_dims a, hsc_dims b) {
  int last = -1;
  for (int p = 0; p < order->rank; p++) {
    if (hsc_dims_contain(a, order->dim[p]) || hsc_dims_contain(b, order->dim[p]))
      continue;
    if (order->dim[p] < last)
      return false;
    last = order->dim[p];
  }
  return true;
}

bool hsc__takes_order(const hsc_instr *instr, int operand, const hsc__order *order) {
  switch (instr->op) {
    case HSC_OP_DOT: {
      const hsc_dot_dims *dims = &instr->attr.dot;
      return !dims->sparsity && instr->operand_count == 2 &&
             order_keeps_free(order, operand ? dims->rhs_batch : dims->lhs_batch,
                              operand ? dims->rhs_contracting : dims->lhs_contracting);
    }
    case HSC_OP_CONVOLUTION: {
      // The kernels want features last; an order that has them elsewhere costs more than the
      // transpose that it saves.
      const hsc_conv_dims *dims = &instr->attr.conv.dims;
      int last = order->rank - 1;
      if (operand == 0)
        return order->dim[0] == dims->input_batch && order->dim[last] == dims->input_feature;
      return order->dim[last] == dims->kernel_output && order->dim[last - 1] == dims->kernel_input;
    }
    case HSC_OP_REDUCE:
      return instr->operand_count == 2 && operand == 0 &&
             order_keeps_free(order, instr->attr.dims.dims, (hsc_dims){0});
    case HSC_OP_TRANSPOSE:
      return true;
    default:
      return false;
  }
}

bool hsc__is_exchanged_dot(const hsc_instr *dot, const hsc__order *order) {
  if (dot->op != HSC_OP_DOT || dot->attr.dot.sparsity || dot->operand_count != 2)
    return false;
  int batch = dot->attr.dot.lhs_batch.count;
  int left = dot->operands[0]->shape.rank - batch - dot->attr.dot.lhs_contracting.count;
  int right = dot->shape.rank - batch - left;
  for (int p = 0; p < batch; p++)
    if (order->dim[p] != p)
      return false;
  for (int p = 0; p < right; p++)
    if (order->dim[batch + p] != batch + left + p)
      return false;
  for (int p = 0; p < left; p++)
    if (order->dim[batch + right + p] != batch + p)
      return false;
  return left > 0 && right > 0;
}
