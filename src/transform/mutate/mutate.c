// mutate.c - equal mutants of a program: rows of mutations.def, applied to values drawn by a seed.
//
// How to read: a function for each row, then which values may change, then hsc_transform_mutate.
#include "transform/mutate/mutate.h"

enum { MOST_REWRITES = 16, MOST_TRIES = 200 };

static bool is_float(const hsc_instr *x) {
  return hsc_type_is_float(x->shape.type);
}

static int64_t *sizes_of(hsc_builder *b, const hsc_shape *shape) {
  // one more than it has: a scalar's are an array too
  int64_t *sizes = HSC_NEW_ARRAY(b->module->arena, int64_t, (size_t)shape->rank + 1);
  for (int d = 0; sizes && d < shape->rank; d++)
    sizes[d] = shape->dims[d];
  return sizes;
}

// The first dimension of at least two; -1 = none.
static int wide_dimension(const hsc_shape *shape) {
  for (int d = 0; d < shape->rank; d++)
    if (shape->dims[d] > 1)
      return d;
  return -1;
}

// Elements `from` to `to` - 1 of a dimension.
static hsc_instr *part_of(hsc_builder *b, hsc_instr *x, int dimension, int64_t from, int64_t to) {
  int rank = x->shape.rank;
  int64_t *start = sizes_of(b, &x->shape);
  int64_t *limit = sizes_of(b, &x->shape);
  int64_t *stride = sizes_of(b, &x->shape);
  for (int d = 0; start && limit && stride && d < rank; d++) {
    start[d] = d == dimension ? from : 0;
    limit[d] = d == dimension ? to : x->shape.dims[d];
    stride[d] = 1;
  }
  return hsc_build_slice(b, x, (hsc_dims){rank, start}, (hsc_dims){rank, limit},
                         (hsc_dims){rank, stride});
}

static hsc_instr *filled(hsc_builder *b, hsc_shape shape, double value) {
  hsc_instr *scalar = hsc_build_scalar(b, shape.type, value);
  return shape.rank ? hsc_build_broadcast(b, scalar, shape, (hsc_dims){0}) : scalar;
}

// ---- rows of mutations.def: x is a copy that nothing uses yet -----------------------------------

static hsc_instr *mutate_negate_twice(hsc_builder *b, hsc_instr *x) {
  if (!is_float(x))
    return NULL;
  return hsc_build_unary(b, HSC_OP_NEGATE, hsc_build_unary(b, HSC_OP_NEGATE, x));
}

static hsc_instr *mutate_swap_operands(hsc_builder *b, hsc_instr *x) {
  switch (x->op) {
    case HSC_OP_ADD:
    case HSC_OP_MULTIPLY:
    case HSC_OP_MAXIMUM:
    case HSC_OP_MINIMUM:
    case HSC_OP_AND:
    case HSC_OP_OR:
    case HSC_OP_XOR:
      return hsc_build_binary(b, x->op, x->operands[1], x->operands[0]);
    default:
      return NULL;
  }
}

static hsc_instr *mutate_other_grouping(hsc_builder *b, hsc_instr *x) {
  if (x->op != HSC_OP_ADD || x->operands[0]->op != HSC_OP_ADD)
    return NULL;
  hsc_instr *const *ab = x->operands[0]->operands;
  return hsc_build_binary(b, HSC_OP_ADD, ab[0],
                          hsc_build_binary(b, HSC_OP_ADD, ab[1], x->operands[1]));
}

static hsc_instr *mutate_add_negative(hsc_builder *b, hsc_instr *x) {
  if (x->op != HSC_OP_SUBTRACT || !is_float(x))
    return NULL;
  hsc_instr *negative = hsc_build_unary(b, HSC_OP_NEGATE, x->operands[1]);
  return hsc_build_binary(b, HSC_OP_ADD, x->operands[0], negative);
}

static hsc_instr *mutate_multiply_by_one(hsc_builder *b, hsc_instr *x) {
  if (x->shape.type == HSC_TYPE_PRED)
    return NULL;
  return hsc_build_binary(b, HSC_OP_MULTIPLY, x, filled(b, x->shape, 1));
}

static hsc_instr *mutate_select_itself(hsc_builder *b, hsc_instr *x) {
  hsc_shape shape = hsc_shape_without_layout(b->module->arena, x->shape);
  shape.type = HSC_TYPE_PRED;
  return hsc_build_select(b, filled(b, shape, 1), x, x);
}

static hsc_instr *mutate_transpose_back(hsc_builder *b, hsc_instr *x) {
  int rank = x->shape.rank;
  int64_t *backwards = sizes_of(b, &x->shape);
  if (rank < 2 || !backwards)
    return NULL;
  for (int d = 0; d < rank; d++)
    backwards[d] = rank - 1 - d;
  hsc_dims order = {rank, backwards};
  return hsc_build_transpose(b, hsc_build_transpose(b, x, order), order);
}

static hsc_instr *mutate_reshape_back(hsc_builder *b, hsc_instr *x) {
  int64_t count = hsc_shape_elements(&x->shape);
  int64_t *sizes = sizes_of(b, &x->shape);
  if (x->shape.rank < 2 || !sizes)
    return NULL;
  return hsc_build_reshape(b, hsc_build_reshape(b, x, 1, &count), x->shape.rank, sizes);
}

static hsc_instr *mutate_cut_and_join(hsc_builder *b, hsc_instr *x) {
  int d = wide_dimension(&x->shape);
  if (d < 0)
    return NULL;
  int64_t half = x->shape.dims[d] / 2;
  hsc_instr *const parts[] = {part_of(b, x, d, 0, half), part_of(b, x, d, half, x->shape.dims[d])};
  return hsc_build_concatenate(b, 2, parts, d);
}

static hsc_instr *mutate_update_in_place(hsc_builder *b, hsc_instr *x) {
  int d = wide_dimension(&x->shape);
  hsc_instr *indices[HSC_MAX_RANK];
  int64_t *sizes = sizes_of(b, &x->shape);
  if (d < 0 || !sizes)
    return NULL;
  for (int i = 0; i < x->shape.rank; i++)
    indices[i] = hsc_build_scalar(b, HSC_TYPE_S32, i == d);
  sizes[d] -= 1;
  hsc_instr *part =
      hsc_build_dynamic_slice(b, x, x->shape.rank, indices, (hsc_dims){x->shape.rank, sizes});
  return hsc_build_dynamic_update_slice(b, x, part, x->shape.rank, indices);
}

static hsc_instr *mutate_reverse_back(hsc_builder *b, hsc_instr *x) {
  int d = wide_dimension(&x->shape);
  if (d < 0)
    return NULL;
  hsc_attr attr = {.dims = {.dims = HSC_DIMS(b->module->arena, d)}};
  hsc_instr *there =
      hsc_build_op(b, HSC_OP_REVERSE, (hsc_shape){0}, &attr, 1, (hsc_instr *[]){x}, 0, NULL);
  return hsc_build_op(b, HSC_OP_REVERSE, (hsc_shape){0}, &attr, 1, (hsc_instr *[]){there}, 0, NULL);
}

static hsc_instr *mutate_wider_and_back(hsc_builder *b, hsc_instr *x) {
  if (x->shape.type != HSC_TYPE_F32 && x->shape.type != HSC_TYPE_BF16)
    return NULL;
  hsc_type wider = x->shape.type == HSC_TYPE_F32 ? HSC_TYPE_F64 : HSC_TYPE_F32;
  return hsc_build_convert(b, x->shape.type, hsc_build_convert(b, wider, x));
}

static hsc_instr *mutate_sum_in_parts(hsc_builder *b, hsc_instr *x) {
  if (x->op != HSC_OP_REDUCE || x->operand_count != 2 || x->called[0]->root->op != HSC_OP_ADD ||
      x->called[0]->instr_count != 3 || x->attr.dims.dims.count < 1)
    return NULL;
  hsc_instr *of = x->operands[0];
  int d = (int)x->attr.dims.dims.v[0];
  int64_t size = of->shape.dims[d];
  if (size < 2)
    return NULL;
  hsc_instr *zero = hsc_build_scalar(b, x->shape.type, 0);
  hsc_instr *first = hsc_build_reduce(b, part_of(b, of, d, 0, size / 2), x->operands[1],
                                      x->attr.dims.dims, x->called[0]);
  hsc_instr *second =
      hsc_build_reduce(b, part_of(b, of, d, size / 2, size), zero, x->attr.dims.dims, x->called[0]);
  return hsc_build_binary(b, HSC_OP_ADD, first, second);
}

static hsc_instr *mutate_product_in_parts(hsc_builder *b, hsc_instr *x) {
  if (x->op != HSC_OP_DOT || x->attr.dot.lhs_contracting.count != 1 || !is_float(x))
    return NULL;
  hsc_instr *const *of = x->operands;
  int left = (int)x->attr.dot.lhs_contracting.v[0];
  int right = (int)x->attr.dot.rhs_contracting.v[0];
  int64_t size = of[0]->shape.dims[left];
  if (size < 2)
    return NULL;
  hsc_instr *parts[2];
  for (int i = 0; i < 2; i++) {
    int64_t from = i ? size / 2 : 0;
    int64_t to = i ? size : size / 2;
    hsc_instr *const operands[] = {part_of(b, of[0], left, from, to),
                                   part_of(b, of[1], right, from, to)};
    parts[i] = hsc_build_clone(b, x, operands);
  }
  return hsc_build_binary(b, HSC_OP_ADD, parts[0], parts[1]);
}

static hsc_instr *mutate_barrier(hsc_builder *b, hsc_instr *x) {
  hsc_shape shape = hsc_shape_without_layout(b->module->arena, x->shape);
  return hsc_build_op(b, HSC_OP_OPT_BARRIER, shape, NULL, 1, (hsc_instr *[]){x}, 0, NULL);
}

typedef hsc_instr *(*mutation)(hsc_builder *b, hsc_instr *x);
static const mutation MUTATIONS[] = {
#define MUTATION(id, doc) mutate_##id,
#include "transform/mutate/mutations.def"
#undef MUTATION
};

// ---- programs -----------------------------------------------------------------------------------

static bool may_change(const hsc_instr *x) {
  return hsc_shape_is_array(&x->shape) && x->op != HSC_OP_PARAMETER && x->op != HSC_OP_CONSTANT &&
         !hsc_type_is_complex(x->shape.type) && !hsc_instr_has_effect(x) &&
         hsc_shape_elements(&x->shape) > 0 && x->control_successor_count == 0;
}

// Number `at` of the values that may change, over all computations; scalars, and with them reducers
// and comparators, keep their form.
static hsc_instr *value_at(hsc_module *module, uint64_t at) {
  uint64_t seen = 0;
  HSC_FOR_EACH_COMPUTATION (module, computation)
    HSC_FOR_EACH_INSTR_IN (computation, instr)
      if (may_change(instr) && instr->shape.rank > 0 && seen++ == at)
        return instr;
  return NULL;
}

static uint64_t value_count(hsc_module *module) {
  uint64_t count = 0;
  HSC_FOR_EACH_COMPUTATION (module, computation)
    HSC_FOR_EACH_INSTR_IN (computation, instr)
      count += may_change(instr) && instr->shape.rank > 0;
  return count;
}

static hsc_status *rewrite(hsc_instr *value, mutation mutate, bool *out_done) {
  hsc_builder b;
  *out_done = false;
  hsc_builder_at(&b, value->parent, value->next);
  hsc_instr *copy = hsc_build_clone(&b, value, value->operands);
  hsc_instr *equal = copy && !b.status ? mutate(&b, copy) : NULL;
  HSC_TRY(hsc_builder_finish(&b, NULL, NULL));
  if (!equal)
    return NULL;
  *out_done = true;
  return hsc_instr_replace_uses(value, equal);
}

hsc_status *hsc_transform_mutate(hsc_module *module, hsc_random *random) {
  uint64_t wanted = 1 + hsc_random_below(random, MOST_REWRITES);
  for (uint64_t done = 0, tries = 0; done < wanted && tries < MOST_TRIES; tries++) {
    uint64_t count = value_count(module);
    bool changed = false;
    if (!count)
      break;
    hsc_instr *value = value_at(module, hsc_random_below(random, count));
    mutation mutate = MUTATIONS[hsc_random_below(random, HSC_COUNT_OF(MUTATIONS))];
    HSC_TRY(rewrite(value, mutate, &changed));
    done += changed;
  }
  HSC_FOR_EACH_COMPUTATION (module, computation)
    for (hsc_instr *instr = computation->last, *before; instr; instr = before) {
      before = instr->prev;
      if (hsc_instr_is_dead(instr))
        hsc_instr_remove(instr);
    }
  HSC_TRY(hsc_module_sort(module));
  return hsc_module_verify(module);
}
