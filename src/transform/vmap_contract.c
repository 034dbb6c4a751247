// vmap_contract.c - dot and convolution: one big product instead of many, as jax.vmap makes it.
//
// dot           both sides batched: one more batch dimension, in front. One side: its new dimension
//               is a free one.
// convolution   input batched: folded into the batch. Kernel batched: folded into the output
//               features. Both: one more factor of feature
//               groups (or of batch groups).
#include "transform/transform_internal.h"

// Dimension `from` to the front.
static hsc_instr *move_to_front(hsc__vmap_frame *f, hsc_instr *x, int from) {
  if (from == 0 || f->b.status)
    return x;
  int64_t permutation[HSC_MAX_RANK + 1] = {from};
  int rank = x->shape.rank;
  for (int i = 0, at = 1; i < rank; i++)
    if (i != from)
      permutation[at++] = i;
  return hsc_build_transpose(&f->b, x, (hsc_dims){rank, permutation});
}

hsc_status *hsc__vmap_dot(hsc__vmap_frame *f,
                          hsc_instr *instr,
                          const hsc__batch *operands,
                          hsc__batch *out) {
  hsc_arena *arena = f->b.module->arena;
  const hsc_dot_dims *from = &instr->attr.dot;
  if (from->sparsity)
    return hsc__vmap_by_loop(f, instr, operands, out);
  bool left = hsc__is_batched(&operands[0]);
  bool right = hsc__is_batched(&operands[1]);
  hsc_attr attr = instr->attr;
  int front = 0;  // where the new dimension comes out
  if (left) {
    attr.dot.lhs_contracting = hsc__plus_one(arena, from->lhs_contracting);
    attr.dot.lhs_batch = right ? hsc__zero_and_plus_one(arena, from->lhs_batch)
                               : hsc__plus_one(arena, from->lhs_batch);
  }
  if (right) {
    attr.dot.rhs_contracting = hsc__plus_one(arena, from->rhs_contracting);
    attr.dot.rhs_batch = left ? hsc__zero_and_plus_one(arena, from->rhs_batch)
                              : hsc__plus_one(arena, from->rhs_batch);
  }
  // batch, then it, then other free ones of lhs
  if (left && !right)
    front = from->lhs_batch.count;
  // batch, lhs, then it
  if (right && !left)
    front = instr->operands[0]->shape.rank - from->lhs_contracting.count;
  hsc_instr *built = hsc__emit(f, instr, &attr, hsc_shape_scalar(instr->shape.type), 2,
                               (hsc_instr *[]){operands[0].instr, operands[1].instr});
  hsc__give(f, move_to_front(f, built, front), true, out);
  return NULL;
}

// [examples, ..., d, ...] to [..., groups * examples * (d / groups), ...]: the new dimension goes
// into dimension `d` (numbered without it).
static hsc_instr *fold(hsc__vmap_frame *f, hsc_instr *x, int d, int64_t groups) {
  if (f->b.status)
    return x;
  int rank = x->shape.rank;  // with the new dimension
  int64_t split[HSC_MAX_RANK + 2], permutation[HSC_MAX_RANK + 2], merged[HSC_MAX_RANK + 2];
  int n = 0;
  int at = 0;
  if (groups > 1) {
    for (int i = 0; i < rank; i++) {
      if (i == d + 1) {
        split[n++] = groups;
        split[n++] = x->shape.dims[i] / groups;
      } else {
        split[n++] = x->shape.dims[i];
      }
    }
    x = hsc_build_reshape(&f->b, x, n, split);
  }
  int target = d + (groups > 1 ? 1 : 0);  // dimensions that go before it
  for (int i = 1; i <= target; i++)
    permutation[at++] = i;
  permutation[at++] = 0;
  for (int i = target + 1; i < rank + (groups > 1 ? 1 : 0); i++)
    permutation[at++] = i;
  if (target > 0)
    x = hsc_build_transpose(&f->b, x, (hsc_dims){at, permutation});
  if (f->b.status)
    return x;
  int64_t factor = f->cx->count * (groups > 1 ? groups : 1);
  for (int i = 0, source = 0; i < rank - 1; i++) {
    if (i == d) {
      source += groups > 1 ? 2 : 1;  // groups, examples
      merged[i] = factor * x->shape.dims[source++];
    } else {
      merged[i] = x->shape.dims[source++];
    }
  }
  return hsc_build_reshape(&f->b, x, rank - 1, merged);
}

// The reverse, on a result: dimension d of groups * examples * rest gives [examples, ..., groups *
// rest, ...].
static hsc_instr *unfold(hsc__vmap_frame *f, hsc_instr *x, int d, int64_t groups) {
  if (f->b.status)
    return x;
  int rank = x->shape.rank;
  int n = 0;
  int examples = 0;
  int64_t split[HSC_MAX_RANK + 2];
  int64_t merged[HSC_MAX_RANK + 2];
  int64_t rest = x->shape.dims[d] / f->cx->count;
  for (int i = 0; i < rank; i++) {
    if (i == d) {
      if (groups > 1)
        split[n++] = groups;
      examples = n;
      split[n++] = f->cx->count;
      split[n++] = rest / (groups > 1 ? groups : 1);
    } else {
      split[n++] = x->shape.dims[i];
    }
  }
  merged[0] = f->cx->count;
  for (int i = 0; i < rank; i++)
    merged[i + 1] = i == d ? rest : x->shape.dims[i];
  x = move_to_front(f, hsc_build_reshape(&f->b, x, n, split), examples);
  return groups > 1 ? hsc_build_reshape(&f->b, x, rank + 1, merged) : x;
}

hsc_status *hsc__vmap_convolution(hsc__vmap_frame *f,
                                  hsc_instr *instr,
                                  const hsc__batch *operands,
                                  hsc__batch *out) {
  bool left = hsc__is_batched(&operands[0]);
  bool right = hsc__is_batched(&operands[1]);
  const hsc_conv_dims *dims = &instr->attr.conv.dims;
  int64_t feature_groups =
      instr->attr.conv.feature_groups > 1 ? instr->attr.conv.feature_groups : 1;
  int64_t batch_groups = instr->attr.conv.batch_groups > 1 ? instr->attr.conv.batch_groups : 1;
  hsc_attr attr = instr->attr;
  hsc_instr *input = operands[0].instr;
  hsc_instr *kernel = operands[1].instr;
  int unfolded = (int)dims->output_feature;
  int64_t result_groups = 1;
  if (hsc_shape_elements(&instr->operands[0]->shape) == 0 ||
      hsc_shape_elements(&instr->operands[1]->shape) == 0)
    return hsc__vmap_by_loop(f, instr, operands, out);
  if (left && right) {
    kernel = fold(f, kernel, (int)dims->kernel_output, 1);
    if (batch_groups > 1) {
      input = fold(f, input, (int)dims->input_batch, 1);
      attr.conv.batch_groups = batch_groups * f->cx->count;
    } else {
      input = fold(f, input, (int)dims->input_feature, 1);
      attr.conv.feature_groups = feature_groups * f->cx->count;
    }
  } else if (left) {
    input = fold(f, input, (int)dims->input_batch, batch_groups);
    unfolded = (int)dims->output_batch;
  } else {
    result_groups = feature_groups > batch_groups ? feature_groups : batch_groups;
    kernel = fold(f, kernel, (int)dims->kernel_output, result_groups);
  }
  hsc_instr *built = hsc__emit(f, instr, &attr, hsc_shape_scalar(instr->shape.type), 2,
                               (hsc_instr *[]){input, kernel});
  hsc__give(f, unfold(f, built, unfolded, result_groups), true, out);
  return NULL;
}
