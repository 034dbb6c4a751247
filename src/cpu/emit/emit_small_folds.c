// emit_small_folds.c - reductions and products of small loops (see emit_small.h): halves of a
// vector are folded until one row is left, and rows of a product are sums of scalars times rows.
#include "cpu/emit/emit_small.h"

#define B (e->builder)

typedef int32_t lane_map[HSC_SMALL_MAX_ELEMENTS];

// ---- reductions ---------------------------------------------------------------------------------

// The element of the operand that is number `k` of those that result element `r` folds.
static int64_t folded_element(const hsc_instr *instr, int64_t k, int64_t r) {
  const hsc_shape *from = &instr->operands[0]->shape;
  int64_t at[HSC_MAX_RANK];
  for (int d = from->rank - 1; d >= 0; d--) {
    bool folded = false;
    for (int i = 0; i < instr->attr.dims.dims.count; i++)
      folded = folded || instr->attr.dims.dims.v[i] == d;
    int64_t *number = folded ? &k : &r;
    at[d] = *number % from->dims[d];
    *number /= from->dims[d];
  }
  return hsc__small_element(from, at);
}

enum { MAX_FOLDED = 8 };  // arrays of one reduce

static hsc_status *fold(hsc_small *s,
                        const hsc_computation *by,
                        const hsc_emit_value *a,
                        const hsc_emit_value *b,
                        int count,
                        int64_t lanes,
                        hsc_emit_value *results) {
  hsc_emit_value arguments[2 * MAX_FOLDED];
  memcpy(arguments, a, sizeof *a * (size_t)count);
  memcpy(arguments + count, b, sizeof *b * (size_t)count);
  hsc__small_lanes(s, lanes);
  return hsc__emit_called(s->e, by, arguments, results);
}

// Rows [first, first + count) of an array of rows of `width` lanes.
static hsc_emit_value rows(
    hsc_small *s, hsc_emit_value value, int64_t have, int64_t first, int64_t count, int64_t width) {
  lane_map map = {0};
  for (int64_t i = 0; i < count * width; i++)
    map[i] = (int32_t)(first * width + i);
  return hsc__small_pick(s, value, have * width, map, count * width);
}

hsc_status *hsc__small_reduce(hsc_small *s,
                              const hsc_instr *instr,
                              const hsc_small_value *operands,
                              hsc_small_value *results) {
  int arrays = instr->operand_count / 2;
  const hsc_computation *by = instr->called[0];
  const hsc_shape *from = &instr->operands[0]->shape;
  int64_t all = hsc_shape_elements(from);
  int64_t width = hsc_shape_elements(hsc_shape_leaf(&instr->shape, 0));
  if (arrays > MAX_FOLDED || !hsc__emit_can_called(by) || all == 0)
    return hsc__small_refuse(instr, "its form");
  int64_t height = all / width;
  if (s->dry) {
    s->cost += by->instr_count * (2 * hsc__small_vectors(s, from->type, all) + 4);
    return NULL;
  }
  // Each row in a vector becomes the sum of two until there is one; odd ones wait in `late`.
  hsc_emit_value now[MAX_FOLDED] = {0};
  hsc_emit_value late[MAX_FOLDED] = {0};
  hsc_emit_value left[MAX_FOLDED] = {0};
  hsc_emit_value right[MAX_FOLDED] = {0};
  bool any_late = false;
  lane_map map = {0};
  for (int64_t i = 0; i < all; i++)
    map[i] = (int32_t)folded_element(instr, i / width, i % width);
  for (int o = 0; o < arrays; o++)
    now[o] = hsc__small_pick(s, operands[o].in, all, map, all);
  while (height > 1) {
    int64_t half = height / 2;
    if (height % 2) {
      for (int o = 0; o < arrays; o++)
        left[o] = rows(s, now[o], height, height - 1, 1, width);
      if (any_late)
        HSC_TRY(fold(s, by, late, left, arrays, width, late));
      else
        memcpy(late, left, sizeof late);
      any_late = true;
    }
    for (int o = 0; o < arrays; o++) {
      left[o] = rows(s, now[o], height, 0, half, width);
      right[o] = rows(s, now[o], height, half, half, width);
    }
    HSC_TRY(fold(s, by, left, right, arrays, half * width, now));
    height = half;
  }
  if (any_late)
    HSC_TRY(fold(s, by, now, late, arrays, width, now));
  for (int o = 0; o < arrays; o++)
    left[o] = operands[arrays + o].in;
  HSC_TRY(fold(s, by, left, now, arrays, width, right));
  for (int o = 0; o < arrays; o++)
    results[o] = (hsc_small_value){.in = right[o], .slot = -1};
  return NULL;
}

// ---- products -----------------------------------------------------------------------------------

// How the elements of an operand are numbered: batch, free and contracted dimensions, each as one
// number.
typedef struct side {
  const hsc_shape *shape;
  hsc_dims batch, contracting;
  int64_t free;
  hsc_emit_value value;
} side;

static void set_listed(const side *x, hsc_dims dims, int64_t number, int64_t *at) {
  for (int i = dims.count - 1; i >= 0; i--) {
    at[dims.v[i]] = number % x->shape->dims[dims.v[i]];
    number /= x->shape->dims[dims.v[i]];
  }
}

static int32_t element_of(const side *x, int64_t batch, int64_t number, int64_t k) {
  int64_t at[HSC_MAX_RANK];
  set_listed(x, x->batch, batch, at);
  set_listed(x, x->contracting, k, at);
  for (int d = x->shape->rank - 1; d >= 0; d--) {
    if (hsc_dims_contain(x->batch, d) || hsc_dims_contain(x->contracting, d))
      continue;
    at[d] = number % x->shape->dims[d];
    number /= x->shape->dims[d];
  }
  return (int32_t)hsc__small_element(x->shape, at);
}

// sum + a * b; sum NULL: a * b.
static hsc_emit_value multiply_add(hsc_small *s,
                                   hsc_type type,
                                   const hsc_emit_value *sum,
                                   hsc_emit_value a,
                                   hsc_emit_value b,
                                   int64_t lanes) {
  hsc_emitter *e = s->e;
  if (lanes > 1) {
    a = hsc__small_spread(s, a, lanes);
    b = hsc__small_spread(s, b, lanes);
  }
  hsc_emit_value result = {.level = a.level > b.level ? a.level : b.level, .vector = lanes > 1};
  if (sum && sum->level > result.level)
    result.level = sum->level;
  hsc__emit_at(e, result.level);
  if (!hsc_type_is_float(type)) {
    result.v = hsc_ll.BuildMul(B, a.v, b.v, "");
    if (sum)
      result.v = hsc_ll.BuildAdd(B, sum->v, result.v, "");
  } else if (sum && e->isa->level >= HSC_CPU_ISA_AVX2) {
    hsc_lv arguments[3] = {a.v, b.v, sum->v};
    result.v = hsc__emit_intrinsic(e, "llvm.fma", hsc_ll.TypeOf(a.v), arguments, 3);
  } else {
    result.v = hsc_ll.BuildFMul(B, a.v, b.v, "");
    if (sum)
      result.v = hsc_ll.BuildFAdd(B, sum->v, result.v, "");
  }
  return result;
}

// Two vectors' product, summed: halves are added until one lane is left.
static hsc_emit_value inner_product(hsc_small *s, hsc_type type, side *x, side *y, int64_t depth) {
  hsc_emitter *e = s->e;
  lane_map map = {0};
  for (int64_t k = 0; k < depth; k++)
    map[k] = element_of(x, 0, 0, k);
  hsc_emit_value a = hsc__small_pick(s, x->value, hsc_shape_elements(x->shape), map, depth);
  for (int64_t k = 0; k < depth; k++)
    map[k] = element_of(y, 0, 0, k);
  hsc_emit_value b = hsc__small_pick(s, y->value, hsc_shape_elements(y->shape), map, depth);
  hsc_emit_value sum = multiply_add(s, type, NULL, a, b, depth);
  hsc_emit_value late = {0};
  while (depth > 1) {
    int64_t half = depth / 2;
    if (depth % 2) {
      hsc_emit_value odd = rows(s, sum, depth, depth - 1, 1, 1);
      hsc__emit_at(e, odd.level);
      if (late.v)
        odd.v = hsc_type_is_float(type) ? hsc_ll.BuildFAdd(B, late.v, odd.v, "")
                                        : hsc_ll.BuildAdd(B, late.v, odd.v, "");
      late = odd;
    }
    hsc_emit_value left = rows(s, sum, depth, 0, half, 1);
    hsc_emit_value right = rows(s, sum, depth, half, half, 1);
    hsc__emit_at(e, left.level);
    sum = left;
    sum.v = hsc_type_is_float(type) ? hsc_ll.BuildFAdd(B, left.v, right.v, "")
                                    : hsc_ll.BuildAdd(B, left.v, right.v, "");
    depth = half;
  }
  hsc__emit_at(e, sum.level);
  if (late.v)
    sum.v = hsc_type_is_float(type) ? hsc_ll.BuildFAdd(B, sum.v, late.v, "")
                                    : hsc_ll.BuildAdd(B, sum.v, late.v, "");
  return sum;
}

// Rows of the result along the free dimension of `along`, one for each batch and each number of
// `across`: each is a sum of a scalar of `across` times a row of `along`.
static hsc_status *product_rows(hsc_small *s,
                                hsc_type type,
                                const side *along,
                                const side *across,
                                int64_t batches,
                                int64_t depth,
                                hsc_emit_value *out_rows) {
  hsc_emit_value *row = HSC_NEW_ARRAY(s->e->arena, hsc_emit_value, depth + 1);
  HSC_TRY(hsc_arena_status(s->e->arena));
  int64_t along_elements = hsc_shape_elements(along->shape);
  int64_t across_elements = hsc_shape_elements(across->shape);
  lane_map map = {0};
  for (int64_t b = 0; b < batches; b++) {
    for (int64_t k = 0; k < depth; k++) {
      for (int64_t i = 0; i < along->free; i++)
        map[i] = element_of(along, b, i, k);
      row[k] = hsc__small_pick(s, along->value, along_elements, map, along->free);
    }
    for (int64_t i = 0; i < across->free; i++) {
      hsc_emit_value sum = {0};
      for (int64_t k = 0; k < depth; k++) {
        map[0] = element_of(across, b, i, k);
        hsc_emit_value one = hsc__small_pick(s, across->value, across_elements, map, 1);
        sum = multiply_add(s, type, k ? &sum : NULL, one, row[k], along->free);
      }
      out_rows[b * across->free + i] = sum;
    }
  }
  return NULL;
}

// Operands and result of one type that registers hold as it is.
static bool is_plain_dot(const hsc_instr *dot) {
  hsc_type type = dot->shape.type;
  if (dot->operand_count != 2 || dot->attr.dot.sparsity || dot->operands[0]->shape.type != type ||
      dot->operands[1]->shape.type != type)
    return false;
  return type == HSC_TYPE_F32 || type == HSC_TYPE_F64 || type == HSC_TYPE_S32 ||
         type == HSC_TYPE_U32 || type == HSC_TYPE_S64 || type == HSC_TYPE_U64;
}

hsc_status *hsc__small_dot(hsc_small *s,
                           const hsc_instr *instr,
                           const hsc_small_value *operands,
                           hsc_emit_value *out_value) {
  const hsc_dot_dims *dims = &instr->attr.dot;
  hsc_type type = instr->shape.type;
  side sides[2];
  int64_t depth = 1;
  int64_t batches = 1;
  if (!is_plain_dot(instr))
    return hsc__small_refuse(instr, "its types");
  for (int i = 0; i < dims->lhs_contracting.count; i++)
    depth *= instr->operands[0]->shape.dims[dims->lhs_contracting.v[i]];
  for (int i = 0; i < dims->lhs_batch.count; i++)
    batches *= instr->operands[0]->shape.dims[dims->lhs_batch.v[i]];
  if (depth == 0 || batches == 0 || hsc_shape_elements(&instr->shape) == 0)
    return hsc__small_refuse(instr, "its size");
  for (int i = 0; i < 2; i++) {
    const hsc_shape *shape = &instr->operands[i]->shape;
    sides[i] = (side){.shape = shape,
                      .batch = i ? dims->rhs_batch : dims->lhs_batch,
                      .contracting = i ? dims->rhs_contracting : dims->lhs_contracting,
                      .free = hsc_shape_elements(shape) / depth / batches,
                      .value = operands[i].in};
  }
  int along = sides[1].free >= sides[0].free;
  const side *x = &sides[along];
  const side *y = &sides[1 - along];
  if (s->dry) {
    double steps = (double)(batches * y->free * depth);
    s->cost += steps * (1 + hsc__small_vectors(s, type, x->free)) +
               (double)(batches * depth) * hsc__small_vectors(s, type, x->free);
    return NULL;
  }
  if (batches == 1 && x->free == 1 && y->free == 1) {
    *out_value = inner_product(s, type, &sides[0], &sides[1], depth);
    return NULL;
  }
  int count = (int)(batches * y->free);
  hsc_emit_value *lines = HSC_NEW_ARRAY(s->e->arena, hsc_emit_value, count + 1);
  HSC_TRY(hsc_arena_status(s->e->arena));
  HSC_TRY(product_rows(s, type, x, y, batches, depth, lines));
  hsc_emit_value all = hsc__small_line_up(s, lines, count, x->free);
  lane_map map = {0};
  int64_t elements = hsc_shape_elements(&instr->shape);
  for (int64_t i = 0; i < elements; i++) {
    int64_t n = i % sides[1].free;
    int64_t m = i / sides[1].free % sides[0].free;
    int64_t b = i / sides[1].free / sides[0].free;
    int64_t line = b * y->free + (along ? m : n);
    map[i] = (int32_t)(line * x->free + (along ? n : m));
  }
  *out_value = hsc__small_pick(s, all, elements, map, elements);
  return NULL;
}
