// dot_merger.c - two matrix products that read the same matrix become one, of the other two side by
// side.
//
// Both multiply a shared left side by others (or others by a shared right side) that have one
// dimension which is neither contracted nor of the batch, batched and contracted alike, over one or
// several dimensions; neither needs the other. What is joined must be small
// (xla_gpu_dot_merger_threshold_mb, 32 MB as in XLA), as it is copied. Linear in dots times
// readers.
//
//   before   a = f32[8,16] dot(x, u);  b = f32[8,32] dot(x, v), lhs_contracting_dims={1},
//            rhs_contracting_dims={0}
//   after    d = f32[8,48] dot(x, concatenate(u, v));  a = slice(d, [0:8], [0:16]);  b = slice(d,
//            [0:8], [16:48])
//
// XLA: xla/service/dot_merger.h
#include "passes/fusion/fusion_util.h"

static const int64_t MOST_BYTES = (int64_t)32 << 20;
enum { MOST_USERS = 64 };

static bool equal_dims(hsc_dims a, hsc_dims b) {
  if (a.count != b.count)
    return false;
  for (int i = 0; i < a.count; i++)
    if (a.v[i] != b.v[i])
      return false;
  return true;
}

static bool is_plain(const hsc_instr *dot) {
  const hsc_dot_dims *d = &dot->attr.dot;
  return dot->op == HSC_OP_DOT && dot->operand_count == 2 && !d->sparsity && !dot->backend_config &&
         !dot->control_count && !dot->control_successor_count &&
         dot->operands[0] != dot->operands[1];
}

// The dimension of the operand that is neither contracted nor of the batch; -1 when that is not one
// dimension.
static int only_free_dim(const hsc_instr *dot, int side) {
  const hsc_dot_dims *d = &dot->attr.dot;
  int found = -1;
  for (int i = 0; i < dot->operands[side]->shape.rank; i++) {
    if (hsc_dims_contain(side == 0 ? d->lhs_batch : d->rhs_batch, i) ||
        hsc_dims_contain(side == 0 ? d->lhs_contracting : d->rhs_contracting, i))
      continue;
    if (found >= 0)
      return -1;
    found = i;
  }
  return found;
}

// side: the operand that the two share. The other ones can be joined along their one free
// dimension.
static bool fit(const hsc_instr *a, const hsc_instr *b, int side) {
  if (!is_plain(a) || !is_plain(b) || a->operands[side] != b->operands[side])
    return false;
  const hsc_shape *x = &a->operands[1 - side]->shape;
  const hsc_shape *y = &b->operands[1 - side]->shape;
  if (x->type != y->type || a->shape.type != b->shape.type || only_free_dim(a, 1 - side) < 0 ||
      only_free_dim(a, 1 - side) != only_free_dim(b, 1 - side))
    return false;
  const hsc_dot_dims *p = &a->attr.dot;
  const hsc_dot_dims *q = &b->attr.dot;
  if (!equal_dims(p->lhs_batch, q->lhs_batch) || !equal_dims(p->rhs_batch, q->rhs_batch))
    return false;
  if (!equal_dims(p->lhs_contracting, q->lhs_contracting) ||
      !equal_dims(p->rhs_contracting, q->rhs_contracting) ||
      !equal_dims(p->precision, q->precision) || p->algorithm != q->algorithm)
    return false;
  return hsc_shape_bytes(x) + hsc_shape_bytes(y) <= MOST_BYTES &&
         hsc_shape_bytes(&a->shape) + hsc_shape_bytes(&b->shape) <= MOST_BYTES;
}

static hsc_instr *part(hsc_builder *b, hsc_instr *whole, int dim, int64_t start, int64_t size) {
  int64_t from[HSC_MAX_RANK], to[HSC_MAX_RANK], step[HSC_MAX_RANK];
  int rank = whole->shape.rank;
  for (int i = 0; i < rank; i++) {
    from[i] = i == dim ? start : 0;
    to[i] = i == dim ? start + size : whole->shape.dims[i];
    step[i] = 1;
  }
  hsc_arena *arena = b->module->arena;
  return hsc_build_slice(b, whole, hsc_dims_copy(arena, rank, from), hsc_dims_copy(arena, rank, to),
                         hsc_dims_copy(arena, rank, step));
}

static hsc_status *merge(hsc_instr *first, hsc_instr *second, int side) {
  int out_dim = side == 0 ? second->shape.rank - 1 : second->attr.dot.lhs_batch.count;
  int64_t first_size = first->shape.dims[out_dim];
  int64_t second_size = second->shape.dims[out_dim];
  hsc_instr **moved = NULL;
  int32_t moved_count = 0;
  HSC_TRY(hsc__fused_between(first, second, &moved, &moved_count));
  hsc_builder b;
  hsc_builder_at(&b, second->parent, second);
  b.metadata = second->metadata;
  hsc_instr *joined = hsc_build_concatenate(
      &b, 2, (hsc_instr *[]){first->operands[1 - side], second->operands[1 - side]},
      only_free_dim(second, 1 - side));
  hsc_instr *operands[2];
  operands[side] = second->operands[side];
  operands[1 - side] = joined;
  hsc_attr attr = second->attr;
  hsc_instr *dot = hsc_build_op(&b, HSC_OP_DOT, hsc_shape_scalar(second->shape.type), &attr, 2,
                                operands, 0, NULL);
  HSC_TRY(hsc__replace(first, part(&b, dot, out_dim, 0, first_size)));
  hsc__fused_move(moved, moved_count, second);
  HSC_TRY(hsc__replace(second, part(&b, dot, out_dim, first_size, second_size)));
  return hsc_builder_finish(&b, NULL, NULL);
}

static hsc_instr *find_partner(hsc_instr *dot, int *out_side) {
  for (int side = 0; side < 2 && is_plain(dot); side++) {
    const hsc_instr *shared = dot->operands[side];
    if (shared->user_count > MOST_USERS)
      continue;
    for (int u = 0; u < shared->user_count; u++) {
      hsc_instr *other = shared->users[u];
      *out_side = side;
      if (other != dot && hsc__fused_passed(other) && fit(other, dot, side) &&
          hsc__fused_order_allows(other, dot, false))
        return other;
    }
  }
  return NULL;
}

hsc_status *hsc__pass_dot_merger(hsc_module *module, hsc_pass_context *cx) {
  hsc__mark_embedded(module);
  for (int i = 0; i < module->computation_count; i++) {
    hsc_computation *computation = module->computations[i];
    if (hsc__computation_is_embedded(computation))
      continue;
    hsc__fused_begin(computation);
    for (hsc_instr *instr = computation->first, *next; instr; instr = next) {
      int side = 0;
      next = instr->next;
      hsc_instr *partner = find_partner(instr, &side);
      hsc__fused_pass(instr);
      if (!partner)
        continue;
      if (!hsc__pass_spend(cx))
        return NULL;
      HSC_TRY(merge(partner, instr, side));
    }
  }
  return NULL;
}
