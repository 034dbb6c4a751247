// qr_expander.c - QR by Householder reflectors, and the product of the reflectors, as loops over
// columns.
//
// The custom calls Qr and ProductOfElementaryHouseholderReflectors, and LAPACK's geqrf and orgqr
// under XLA:CPU's names, all in LAPACK's convention: R on and above the diagonal, reflectors below
// it with a first element of one that is left out, Q = H0 H1 ... with H = I - tau v v^T. Legal for
// real matrices, to the last bits; a trip is a matrix-vector product and an outer product. LAPACK
// is faster where there is one, so it runs on request.
//
//   before   q = (f32[8,4], f32[4]) custom-call(a), custom_call_target="Qr"
//   after    while j < 4: v, tau = the reflector of a[j:, j];  a[:, j+1:] -= tau v (v^T a);  a[:,
//            j] = r and v
//
// XLA: xla/hlo/transforms/expanders/qr_expander.h; LAPACK: xGEQR2, xLARFG, xORG2R
#include "passes/manager/pass_loop.h"

static bool is_target(const hsc_instr *instr, const char *const *targets) {
  if (instr->op != HSC_OP_CUSTOM_CALL || !instr->attr.custom.target || instr->operand_count == 0)
    return false;
  hsc_type type = instr->operands[0]->shape.type;
  if ((type != HSC_TYPE_F32 && type != HSC_TYPE_F64) || instr->operands[0]->shape.rank < 2 ||
      hsc_shape_elements(&instr->operands[0]->shape) == 0)
    return false;
  for (; *targets; targets++)
    if (!strcmp(instr->attr.custom.target, *targets))
      return true;
  return false;
}

// A number for each of some of the columns of each matrix.
static bool are_taus(const hsc_shape *taus, const hsc_shape *matrices) {
  if (taus->type != matrices->type || taus->rank != matrices->rank - 1)
    return false;
  for (int i = 0; i < taus->rank - 1; i++)
    if (taus->dims[i] != matrices->dims[i])
      return false;
  int64_t rows = matrices->dims[matrices->rank - 2];
  int64_t columns = matrices->dims[matrices->rank - 1];
  return taus->dims[taus->rank - 1] <= (rows < columns ? rows : columns);
}

static bool is_qr(const hsc_instr *instr) {
  static const char *const targets[] = {"Qr", "lapack_sgeqrf_ffi", "lapack_dgeqrf_ffi", NULL};
  if (!is_target(instr, targets) || !hsc_shape_is_tuple(&instr->shape) ||
      instr->shape.element_count != 2)
    return false;
  const hsc_shape *from = &instr->operands[0]->shape;
  const hsc_shape *taus = &instr->shape.elements[1];
  return hsc_shape_equal(&instr->shape.elements[0], from) && are_taus(taus, from) &&
         (taus->dims[taus->rank - 1] == from->dims[from->rank - 2] ||
          taus->dims[taus->rank - 1] == from->dims[from->rank - 1]);
}

static bool is_product(const hsc_instr *instr) {
  static const char *const targets[] = {"ProductOfElementaryHouseholderReflectors",
                                        "lapack_sorgqr_ffi", "lapack_dorgqr_ffi", NULL};
  return is_target(instr, targets) && instr->operand_count == 2 &&
         hsc_shape_equal(&instr->shape, &instr->operands[0]->shape) &&
         are_taus(&instr->operands[1]->shape, &instr->shape);
}

static bool matches(const hsc_instr *instr) {
  return is_qr(instr) || is_product(instr);
}

static hsc_instr *op2(hsc_builder *b, hsc_op op, hsc_instr *x, hsc_instr *y) {
  return hsc_build_binary(b, op, x, y);
}
static hsc_instr *number(hsc_builder *b, double value, const hsc_instr *like) {
  return hsc__uniform_constant(b, value, like);
}

// [batch] along the dimensions of `like`, [batch, ...].
static hsc_instr *spread(hsc_builder *b, hsc_instr *x, const hsc_instr *like) {
  return hsc_build_broadcast(b, x, hsc_shape_with_type(like->shape, x->shape.type),
                             HSC_DIMS(b->module->arena, 0));
}

static hsc_instr *sum_last(hsc_builder *b, hsc_instr *x) {
  return hsc_build_reduce(b, x, hsc_build_scalar(b, x->shape.type, 0),
                          HSC_DIMS(b->module->arena, 1),
                          hsc_module_scalar_reducer(b->module, HSC_OP_ADD, x->shape.type));
}

static hsc_instr *positions(hsc_builder *b, const hsc_instr *like, int64_t dimension) {
  return hsc_build_iota(
      b, hsc_shape_array(b->module->arena, HSC_TYPE_S32, like->shape.rank, like->shape.dims),
      dimension);
}
static hsc_instr *compare_to(hsc_builder *b,
                             hsc_direction direction,
                             hsc_instr *position,
                             hsc_instr *j) {
  return hsc_build_compare(b, direction, position, hsc__widen(b, j, position));
}

// Column j of [batch, m, n], [batch, m].
static hsc_instr *column_of(hsc_builder *b, hsc_instr *a, hsc_instr *j) {
  hsc_arena *arena = b->module->arena;
  hsc_instr *zero = hsc__build_index(b, 0);
  hsc_instr *indices[3] = {zero, zero, j};
  hsc_instr *column = hsc_build_dynamic_slice(
      b, a, 3, indices, HSC_DIMS(arena, a->shape.dims[0], a->shape.dims[1], 1));
  return hsc_build_reshape(b, column, 2, a->shape.dims);
}

// v^T a: [batch, n] of [batch, m] and [batch, m, n].
static hsc_instr *times(hsc_builder *b, hsc_instr *v, hsc_instr *a) {
  hsc_arena *arena = b->module->arena;
  hsc_dot_dims dims = {.lhs_batch = HSC_DIMS(arena, 0),
                       .rhs_batch = HSC_DIMS(arena, 0),
                       .lhs_contracting = HSC_DIMS(arena, 1),
                       .rhs_contracting = HSC_DIMS(arena, 1),
                       .precision = HSC_DIMS(arena, 2, 2)};
  return hsc_build_dot(b, v, a, dims);
}

// a - tau v w^T
static hsc_instr *less_outer(
    hsc_builder *b, hsc_instr *a, hsc_instr *tau, hsc_instr *v, hsc_instr *w) {
  hsc_arena *arena = b->module->arena;
  hsc_instr *scaled = op2(b, HSC_OP_MULTIPLY, spread(b, tau, v), v);
  hsc_instr *columns = hsc_build_broadcast(b, w, a->shape, HSC_DIMS(arena, 0, 2));
  hsc_instr *rows = hsc_build_broadcast(b, scaled, a->shape, HSC_DIMS(arena, 0, 1));
  return op2(b, HSC_OP_SUBTRACT, a, op2(b, HSC_OP_MULTIPLY, rows, columns));
}

// state: matrices [batch, m, n], taus [batch, k]
static void reflect(hsc_builder *b, hsc_instr *j, hsc_instr **state, void *user) {
  (void)user;
  hsc_arena *arena = b->module->arena;
  hsc_instr *a = state[0];
  hsc_instr *column = column_of(b, a, j);
  hsc_instr *row = positions(b, column, 1);
  hsc_instr *zeros = number(b, 0, column);
  if (b->status)
    return;
  hsc_instr *below = compare_to(b, HSC_GT, row, j);
  hsc_instr *here = compare_to(b, HSC_EQ, row, j);
  hsc_instr *tail = hsc_build_select(b, below, column, zeros);
  hsc_instr *sigma = sum_last(b, op2(b, HSC_OP_MULTIPLY, tail, tail));
  hsc_instr *alpha = sum_last(b, hsc_build_select(b, here, column, zeros));
  if (b->status)
    return;
  hsc_instr *none = hsc_build_compare(b, HSC_EQ, sigma, number(b, 0, sigma));
  hsc_instr *length = hsc_build_unary(
      b, HSC_OP_SQRT, op2(b, HSC_OP_ADD, op2(b, HSC_OP_MULTIPLY, alpha, alpha), sigma));
  hsc_instr *negative = hsc_build_unary(b, HSC_OP_NEGATE, length);
  hsc_instr *below_zero = hsc_build_compare(b, HSC_LT, alpha, number(b, 0, alpha));
  hsc_instr *beta = hsc_build_select(b, below_zero, length, negative);
  hsc_instr *tau = op2(b, HSC_OP_DIVIDE, op2(b, HSC_OP_SUBTRACT, beta, alpha), beta);
  tau = hsc_build_select(b, none, number(b, 0, sigma), tau);
  hsc_instr *scale = op2(b, HSC_OP_SUBTRACT, alpha, beta);
  scale = hsc_build_select(b, none, number(b, 1, sigma), scale);
  hsc_instr *diagonal = hsc_build_select(b, none, alpha, beta);
  hsc_instr *reflector = op2(b, HSC_OP_DIVIDE, tail, spread(b, scale, tail));
  hsc_instr *v = hsc_build_select(b, here, number(b, 1, column), reflector);
  hsc_instr *reflected = less_outer(b, a, tau, v, times(b, v, a));
  hsc_instr *written = hsc_build_select(b, below, reflector, column);
  written = hsc_build_select(b, here, spread(b, diagonal, column), written);
  if (b->status)
    return;
  hsc_instr *at = positions(b, a, 2);
  hsc_instr *wide = hsc_build_broadcast(b, written, a->shape, HSC_DIMS(arena, 0, 1));
  hsc_instr *rest = hsc_build_select(b, compare_to(b, HSC_EQ, at, j), wide, a);
  state[0] = hsc_build_select(b, compare_to(b, HSC_GT, at, j), reflected, rest);
  hsc_instr *slot = positions(b, state[1], 1);
  hsc_instr *wide_tau = spread(b, tau, state[1]);
  state[1] = hsc_build_select(b, compare_to(b, HSC_EQ, slot, j), wide_tau, state[1]);
}

// state: Q so far [batch, m, n], reflectors, taus; from the last reflector to the first.
static void multiply(hsc_builder *b, hsc_instr *i, hsc_instr **state, void *user) {
  const int64_t *count = user;
  hsc_instr *j = op2(b, HSC_OP_SUBTRACT, hsc__build_index(b, *count - 1), i);
  hsc_instr *column = column_of(b, state[1], j);
  if (b->status)
    return;
  hsc_instr *row = positions(b, column, 1);
  hsc_instr *slot = positions(b, state[2], 1);
  hsc_instr *zero = number(b, 0, column);
  hsc_instr *v = hsc_build_select(b, compare_to(b, HSC_GT, row, j), column, zero);
  hsc_instr *one = number(b, 1, column);
  v = hsc_build_select(b, compare_to(b, HSC_EQ, row, j), one, v);
  zero = number(b, 0, state[2]);
  hsc_instr *tau = sum_last(b, hsc_build_select(b, compare_to(b, HSC_EQ, slot, j), state[2], zero));
  state[0] = less_outer(b, state[0], tau, v, times(b, v, state[0]));
}

static hsc_instr *rewrite(hsc_builder *b, hsc_instr *instr) {
  hsc_arena *arena = b->module->arena;
  const hsc_shape *from = &instr->operands[0]->shape;
  int64_t m = from->dims[from->rank - 2];
  int64_t n = from->dims[from->rank - 1];
  int64_t dims[3] = {hsc_shape_elements(from) / (m * n), m, n};
  hsc_instr *a = hsc_build_reshape(b, instr->operands[0], 3, dims);
  if (is_qr(instr)) {
    const hsc_shape *taus = &instr->shape.elements[1];
    int64_t k = taus->dims[taus->rank - 1];
    hsc_shape shape = hsc_shape_array(arena, from->type, 2, (int64_t[]){dims[0], k});
    hsc_instr *state[2] = {
        a, hsc__widen(b, hsc_build_scalar(b, from->type, 0), &(hsc_instr){.shape = shape})};
    hsc__build_counted_loop(b, k, 2, state, reflect, NULL);
    hsc_instr *parts[2];
    parts[0] = hsc_build_reshape(b, state[0], from->rank, from->dims);
    parts[1] = hsc_build_reshape(b, state[1], taus->rank, taus->dims);
    return hsc_build_tuple(b, 2, parts);
  }
  const hsc_shape *taus = &instr->operands[1]->shape;
  int64_t k = taus->dims[taus->rank - 1];
  hsc_instr *column = positions(b, a, 2);
  hsc_instr *unit = hsc_build_compare(b, HSC_EQ, positions(b, a, 1), column);
  hsc_instr *zero = number(b, 0, a);
  unit = hsc_build_select(b, unit, number(b, 1, a), zero);
  hsc_instr *rows = hsc_build_reshape(b, instr->operands[1], 2, (int64_t[]){dims[0], k});
  hsc_instr *state[3] = {unit, a, rows};
  hsc__build_counted_loop(b, k, 3, state, multiply, &k);
  return hsc_build_reshape(b, state[0], from->rank, from->dims);
}

hsc_status *hsc__pass_qr_expander(hsc_module *module, hsc_pass_context *cx) {
  return hsc__rewrite_each(module, cx, matches, rewrite);
}
