// layout_normalization.c - after it every array is row-major: an order that layout-assignment gave
// is in the dimensions themselves.
//
// An elementwise operation in another order works on arrays whose dimensions are listed in that
// order; a bitcast between orders becomes a reshape, which moves nothing; dots, convolutions,
// reductions and transposes have their dimension numbers changed; a dot with an exchanged result
// exchanges its operands. Whoever can do none of this gets a transpose. Legal always. One walk.
//
//   before   t = f32[64,8]{0,1} bitcast(x);  e = f32[64,8]{0,1} exponential(t);  ROOT d = f32[64,4]
//            dot(e, y), lhs_contracting_dims={1}
//   after    e = f32[8,64] exponential(x);  ROOT d = f32[64,4] dot(e, y), lhs_contracting_dims={0}
//
// XLA: xla/service/layout_normalization.h
#include "passes/layout/layouts.h"

typedef struct normalizer {
  hsc_pass_context *cx;
  hsc_computation *computation;
  hsc_arena *arena;  // of the module
  // [instr->index] the same bytes, row-major; NULL = the instruction itself is. Number 0, which new
  // instructions have, too, has none:
  //   the first instruction of a computation has no operands
  hsc_instr **physical;
  // [instr->index] made of it, in the logical order; NULL = not asked for yet
  hsc_instr **logical;
  int32_t count;  // instructions that have an index
} normalizer;

static hsc_instr *physical_of(const normalizer *n, const hsc_instr *instr) {
  return instr->index < n->count ? n->physical[instr->index] : NULL;
}

static hsc_shape physical_shape(const normalizer *n, const hsc_shape *shape) {
  hsc__order order = hsc__order_of(shape);
  int64_t dims[HSC_MAX_RANK];
  for (int p = 0; p < shape->rank; p++)
    dims[p] = shape->dims[order.dim[p]];
  return hsc_shape_array(n->arena, shape->type, shape->rank, dims);
}

static hsc_dims places(const normalizer *n, const hsc__order *order, hsc_dims dims) {
  int64_t mapped[HSC_MAX_RANK];
  for (int i = 0; i < dims.count; i++)
    mapped[i] = hsc__order_place(order, dims.v[i]);
  return hsc_dims_copy(n->arena, dims.count, mapped);
}

// The value in the order of its layout, row-major, where the builder is.
static hsc_instr *build_physical(const normalizer *n, hsc_builder *b, hsc_instr *instr) {
  hsc_instr *known = physical_of(n, instr);
  hsc__order order = hsc__order_of(&instr->shape);
  if (known || hsc__order_is_row_major(&order))
    return known ? known : instr;
  int64_t permutation[HSC_MAX_RANK];
  for (int p = 0; p < order.rank; p++)
    permutation[p] = order.dim[p];
  return hsc_build_transpose(b, instr, hsc_dims_copy(n->arena, order.rank, permutation));
}

// And back: for a reader that wants the dimensions as they are numbered.
static hsc_instr *build_logical(normalizer *n, hsc_builder *b, hsc_instr *instr) {
  hsc_instr *physical = physical_of(n, instr);
  if (!physical)
    return instr;
  if (n->logical[instr->index])
    return n->logical[instr->index];
  hsc__order order = hsc__order_of(&instr->shape);
  int64_t permutation[HSC_MAX_RANK];
  for (int p = 0; p < order.rank; p++)
    permutation[order.dim[p]] = p;
  hsc_builder at;  // right after it, for all readers
  hsc_builder_at(&at, n->computation, physical->next);
  at.metadata = instr->metadata;
  hsc_instr *replacement =
      hsc_build_transpose(&at, physical, hsc_dims_copy(n->arena, order.rank, permutation));
  if (at.status && !b->status)
    b->status = at.status;
  else
    hsc_status_free(at.status);
  return n->logical[instr->index] = replacement;
}

static bool is_special(const hsc_instr *instr) {
  return hsc_shape_is_array(&instr->shape) && !hsc_layout_is_default(&instr->shape);
}

static bool is_plain_elementwise(const hsc_instr *instr) {
  if (!(hsc_op_traits(instr->op) & HSC_TRAIT_ELEMENTWISE) || instr->operand_count == 0 ||
      instr->called_count || instr->op == HSC_OP_COPY || instr->op == HSC_OP_RNG)
    return false;
  for (int o = 0; o < instr->operand_count; o++)
    if (!hsc_shape_same_dims(&instr->operands[o]->shape, &instr->shape))
      return false;
  return true;
}

// An operand of an elementwise operation in the given order; NULL when it is not to be had for
// nothing.
static hsc_instr *in_order(const normalizer *n,
                           hsc_builder *b,
                           hsc_instr *operand,
                           const hsc_shape *like) {
  hsc__order wanted = hsc__order_of(like);
  hsc__order has = hsc__order_of(&operand->shape);
  if (physical_of(n, operand) && hsc__order_equal(&wanted, &has))
    return physical_of(n, operand);
  if (operand->op != HSC_OP_BROADCAST || operand->operands[0]->shape.rank > 0)
    return NULL;
  hsc_shape shape = operand->shape;
  shape.layout = like->layout;
  return hsc_build_broadcast(b, operand->operands[0], physical_shape(n, &shape), (hsc_dims){0});
}

static bool has_physical_operand(const normalizer *n, const hsc_instr *instr) {
  for (int o = 0; o < instr->operand_count; o++)
    if (physical_of(n, instr->operands[o]))
      return true;
  return false;
}

static bool all_in_order(const normalizer *n, const hsc_instr *instr) {
  hsc__order wanted = hsc__order_of(&instr->shape);
  for (int o = 0; o < instr->operand_count; o++) {
    const hsc_instr *operand = instr->operands[o];
    hsc__order has = hsc__order_of(&operand->shape);
    bool flexible = operand->op == HSC_OP_BROADCAST && operand->operands[0]->shape.rank == 0;
    if (!flexible && !(physical_of(n, operand) && hsc__order_equal(&wanted, &has)))
      return false;
  }
  return true;
}

// Changes the numbers of dimensions of operand `o`, which is read in its physical form from now on.
static void take_physical(normalizer *n, hsc_instr *instr, int o) {
  hsc_instr *operand = instr->operands[o];
  hsc__order order = hsc__order_of(&operand->shape);
  switch (instr->op) {
    case HSC_OP_DOT: {
      hsc_dot_dims *dims = &instr->attr.dot;
      hsc_dims *batch = o ? &dims->rhs_batch : &dims->lhs_batch;
      hsc_dims *contracting = o ? &dims->rhs_contracting : &dims->lhs_contracting;
      *batch = places(n, &order, *batch);
      *contracting = places(n, &order, *contracting);
      break;
    }
    case HSC_OP_CONVOLUTION: {
      hsc_conv_dims *dims = &instr->attr.conv.dims;
      if (o == 0) {
        dims->input_batch = hsc__order_place(&order, dims->input_batch);
        dims->input_feature = hsc__order_place(&order, dims->input_feature);
        dims->input_spatial =
            places(n, &order, (hsc_dims){dims->spatial_rank, dims->input_spatial}).v;
      } else {
        dims->kernel_input = hsc__order_place(&order, dims->kernel_input);
        dims->kernel_output = hsc__order_place(&order, dims->kernel_output);
        dims->kernel_spatial =
            places(n, &order, (hsc_dims){dims->spatial_rank, dims->kernel_spatial}).v;
      }
      break;
    }
    default:
      instr->attr.dims.dims = places(n, &order, instr->attr.dims.dims);
      break;  // reduce, transpose
  }
  hsc_instr_set_operand(instr, o, n->physical[operand->index]);
}

static void exchange(normalizer *n, hsc_builder *b, hsc_instr *dot) {
  hsc_dot_dims d = dot->attr.dot;
  hsc_dot_dims e = {.lhs_batch = d.rhs_batch,
                    .rhs_batch = d.lhs_batch,
                    .lhs_contracting = d.rhs_contracting,
                    .rhs_contracting = d.lhs_contracting,
                    .precision = d.precision,
                    .algorithm = d.algorithm};
  if (d.precision.count == 2)
    e.precision = HSC_DIMS(n->arena, d.precision.v[1], d.precision.v[0]);
  hsc_instr *operands[2] = {dot->operands[1], dot->operands[0]};
  hsc_instr *replacement = hsc_build_clone(b, dot, operands);
  if (b->status)
    return;
  replacement->attr.dot = e;
  replacement->shape = physical_shape(n, &dot->shape);
  replacement->index = n->count;
  n->physical[dot->index] = replacement;
}

static bool has_extra_layout(const hsc_instr *x) {
  return x->shape.layout && x->shape.layout->extra;
}

// A bitcast between arrays of one type of which one has a special layout: a reshape of what lies in
// memory, unless it is the program's result, whose layout is given (`edge`).
static bool is_layout_bitcast(const hsc_instr *instr, bool edge) {
  if (instr->op != HSC_OP_BITCAST || !hsc_shape_is_array(&instr->shape))
    return false;
  const hsc_instr *operand = instr->operands[0];
  if (operand->shape.type != instr->shape.type || !hsc_shape_is_array(&operand->shape))
    return false;
  return (is_special(instr) || is_special(operand)) && !(edge && is_special(instr)) &&
         !has_extra_layout(instr) && !has_extra_layout(operand);
}

static hsc_status *normalize_bitcast(normalizer *n, hsc_builder *b, hsc_instr *instr) {
  hsc_instr *physical = build_physical(n, b, instr->operands[0]);
  hsc_shape shape = physical_shape(n, &instr->shape);
  if (!hsc_shape_same_dims(&physical->shape, &shape))
    physical = hsc_build_reshape(b, physical, shape.rank, shape.dims);
  HSC_TRY(hsc_builder_finish(b, NULL, NULL));
  if (!is_special(instr))
    return hsc__replace(instr, physical);
  n->physical[instr->index] = physical;
  return NULL;
}

static hsc_status *normalize_elementwise(normalizer *n, hsc_builder *b, hsc_instr *instr) {
  hsc_instr *operands[8];
  if (instr->operand_count > (int)HSC_COUNT_OF(operands))
    return hsc_builder_finish(b, NULL, NULL);
  for (int o = 0; o < instr->operand_count; o++)
    operands[o] = in_order(n, b, instr->operands[o], &instr->shape);
  hsc_instr *replacement = hsc_build_clone(b, instr, operands);
  if (!b->status) {
    replacement->shape = physical_shape(n, &instr->shape);
    replacement->index = n->count;
    n->physical[instr->index] = replacement;
  }
  return hsc_builder_finish(b, NULL, NULL);
}

// Operands that lie otherwise now: as they are where the operation takes them so, else in the order
// that it knows. *out_goes_on: the pass may change more.
static hsc_status *normalize_operands(normalizer *n,
                                      hsc_builder *b,
                                      hsc_instr *instr,
                                      bool *out_goes_on) {
  *out_goes_on = false;
  for (int o = 0; o < instr->operand_count; o++) {
    if (!physical_of(n, instr->operands[o]))
      continue;
    hsc__order order = hsc__order_of(&instr->operands[o]->shape);
    if (!hsc__pass_spend(n->cx))
      return hsc_builder_finish(b, NULL, NULL);
    if (hsc__takes_order(instr, o, &order))
      take_physical(n, instr, o);
    else if (instr->op == HSC_OP_BITCAST)
      continue;  // the program's result, whose order is given: it goes by its operand's
    else
      hsc_instr_set_operand(instr, o, build_logical(n, b, instr->operands[o]));
  }
  *out_goes_on = true;
  return hsc_builder_finish(b, NULL, NULL);
}

static hsc_status *normalize(normalizer *n, hsc_instr *instr) {
  hsc_builder b;
  hsc_builder_at(&b, n->computation, instr);
  b.metadata = instr->metadata;
  bool edge = n->computation == n->computation->module->entry && n->computation->root == instr;
  if (is_layout_bitcast(instr, edge))
    return hsc__pass_spend(n->cx) ? normalize_bitcast(n, &b, instr) : NULL;
  if (is_special(instr) && !edge && is_plain_elementwise(instr) && has_physical_operand(n, instr) &&
      all_in_order(n, instr))
    return hsc__pass_spend(n->cx) ? normalize_elementwise(n, &b, instr) : NULL;
  bool goes_on;
  HSC_TRY(normalize_operands(n, &b, instr, &goes_on));
  if (!goes_on)
    return NULL;
  if (!is_special(instr) || edge)
    return hsc_arena_status(n->arena);
  hsc__order order = hsc__order_of(&instr->shape);
  if (!hsc__is_exchanged_dot(instr, &order))
    return hsc_arena_status(n->arena);
  if (!hsc__pass_spend(n->cx))
    return NULL;
  hsc_builder_at(&b, n->computation, instr);
  b.metadata = instr->metadata;
  exchange(n, &b, instr);
  return hsc_builder_finish(&b, NULL, NULL);
}

static hsc_status *normalize_computation(hsc_computation *computation, hsc_pass_context *cx) {
  bool any = false;
  int32_t count = 0;
  for (hsc_instr *instr = computation->first; instr; instr = instr->next) {
    any |= is_special(instr) && instr->op != HSC_OP_PARAMETER;
    instr->index = count++;
  }
  if (!any)
    return NULL;
  normalizer n = {.cx = cx,
                  .computation = computation,
                  .arena = computation->module->arena,
                  .count = count,
                  .physical = HSC_NEW_ARRAY(cx->scratch, hsc_instr *, count + 1),
                  .logical = HSC_NEW_ARRAY(cx->scratch, hsc_instr *, count + 1)};
  HSC_TRY(hsc_arena_status(cx->scratch));
  HSC_FOR_EACH_INSTR_IN (computation, instr) {
    HSC_TRY(normalize(&n, instr));
    if (cx->fuel == 0 || cx->pass_fuel == 0)
      return NULL;
  }
  for (hsc_instr *instr = computation->last, *before; instr; instr = before) {
    before = instr->prev;
    if (instr->op == HSC_OP_TRANSPOSE && instr->operands[0]->shape.rank == instr->shape.rank &&
        physical_of(&n, instr) == NULL) {
      bool same = true;
      for (int d = 0; d < instr->shape.rank; d++)
        same &= instr->attr.dims.dims.v[d] == d;
      if (same) {
        HSC_TRY(hsc__replace(instr, instr->operands[0]));
        continue;
      }
    }
    if (instr->index < count && n.physical[instr->index] && hsc_instr_is_dead(instr))
      hsc_instr_remove(instr);
  }
  return NULL;
}

hsc_status *hsc__pass_layout_normalization(hsc_module *module, hsc_pass_context *cx) {
  hsc__mark_embedded(module);
  for (int c = 0; c < module->computation_count; c++)
    if (!hsc__computation_is_embedded(module->computations[c]))
      HSC_TRY(normalize_computation(module->computations[c], cx));
  return NULL;
}
