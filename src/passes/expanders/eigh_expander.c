// eigh_expander.c - eigenvectors and eigenvalues of symmetric matrices by rotations of many pairs
// of rows at once.
//
// The custom call Eigh. A matrix is cut into an upper and a lower half of rows; row i of the one
// and row i of the other are a pair whose element beside the diagonal a rotation takes away, all
// pairs of a trip at once, in rows and in columns. Then rows and columns move on as at a tournament
// where everybody meets everybody, so that a sweep of n - 1 trips takes each element once. The
// number of sweeps is fixed (12 for f32, 16 for f64): convergence is quadratic after the first few.
// An odd matrix has a row of zeros added, which never takes part. Legal for real matrices;
// eigenvectors may have another sign, and any basis of an eigenspace. LAPACK is faster where there
// is one, so it runs on request.
//
//   before   e = (f32[4,4], f32[4]) custom-call(a), custom_call_target="Eigh",
//            backend_config="1,1,100,1e-6"
//   after    while trip < 12 * 3: c, s of the pairs; a = R a R^T; v = R v; rows and columns move
//            on;  (v^T, diagonal), sorted
//
// XLA: xla/hlo/transforms/expanders/eigh_expander.h; Brent, Luk, "The Solution of Singular-Value
// and Symmetric Eigenvalue Problems on Multiprocessor Arrays", 1985.
#include "passes/manager/pass_loop.h"

static bool matches(const hsc_instr *instr) {
  if (instr->op != HSC_OP_CUSTOM_CALL || !instr->attr.custom.target ||
      strcmp(instr->attr.custom.target, "Eigh") != 0 || instr->operand_count != 1)
    return false;
  const hsc_shape *from = &instr->operands[0]->shape;
  if ((from->type != HSC_TYPE_F32 && from->type != HSC_TYPE_F64) || from->rank < 2 ||
      hsc_shape_elements(from) == 0 || from->dims[from->rank - 1] != from->dims[from->rank - 2])
    return false;
  return hsc_shape_is_tuple(&instr->shape) && instr->shape.element_count == 2 &&
         hsc_shape_equal(&instr->shape.elements[0], from) &&
         instr->shape.elements[1].type == from->type &&
         instr->shape.elements[1].rank == from->rank - 1;
}

static hsc_instr *op2(hsc_builder *b, hsc_op op, hsc_instr *x, hsc_instr *y) {
  return hsc_build_binary(b, op, x, y);
}
static hsc_instr *number(hsc_builder *b, double value, const hsc_instr *like) {
  return hsc__uniform_constant(b, value, like);
}

// x[.., from:to, ..] of dimension `d`, 1 or 2, of [batch, n, n].
static hsc_instr *part(hsc_builder *b, hsc_instr *x, int d, int64_t from, int64_t to) {
  int64_t start[3] = {0};
  int64_t limit[3];
  int64_t stride[3] = {1, 1, 1};
  for (int i = 0; i < 3; i++)
    limit[i] = x->shape.dims[i];
  start[d] = from;
  limit[d] = to;
  hsc_arena *arena = b->module->arena;
  return hsc_build_slice(b, x, hsc_dims_copy(arena, 3, start), hsc_dims_copy(arena, 3, limit),
                         hsc_dims_copy(arena, 3, stride));
}

// The diagonal of [batch, h, h], [batch, h].
static hsc_instr *diagonal(hsc_builder *b, hsc_instr *x) {
  hsc_arena *arena = b->module->arena;
  hsc_shape counts = hsc_shape_array(arena, HSC_TYPE_S32, 3, x->shape.dims);
  hsc_instr *column = hsc_build_iota(b, counts, 2);
  hsc_instr *on = hsc_build_compare(b, HSC_EQ, hsc_build_iota(b, counts, 1), column);
  hsc_instr *only = hsc_build_select(b, on, x, number(b, 0, x));
  return hsc_build_reduce(b, only, hsc_build_scalar(b, x->shape.type, 0), HSC_DIMS(arena, 2),
                          hsc_module_scalar_reducer(b->module, HSC_OP_ADD, x->shape.type));
}

// Rotates the halves of dimension `d`, and moves everybody on to the next pair: first, lower 0,
// upper 1 .. h-2 above; lower 1 .. h-1, upper h-1 below.
static hsc_instr *rotate(hsc_builder *b, hsc_instr *x, int d, hsc_instr *c, hsc_instr *s) {
  hsc_arena *arena = b->module->arena;
  int64_t n = x->shape.dims[d];
  int64_t h = n / 2;
  hsc_instr *upper = part(b, x, d, 0, h);
  hsc_instr *lower = part(b, x, d, h, n);
  if (b->status)
    return x;
  hsc_instr *cosine = hsc_build_broadcast(b, c, upper->shape, HSC_DIMS(arena, 0, d));
  hsc_instr *sine = hsc_build_broadcast(b, s, upper->shape, HSC_DIMS(arena, 0, d));
  hsc_instr *subtracted = op2(b, HSC_OP_MULTIPLY, sine, lower);
  hsc_instr *first = op2(b, HSC_OP_SUBTRACT, op2(b, HSC_OP_MULTIPLY, cosine, upper), subtracted);
  hsc_instr *added = op2(b, HSC_OP_MULTIPLY, cosine, lower);
  hsc_instr *second = op2(b, HSC_OP_ADD, op2(b, HSC_OP_MULTIPLY, sine, upper), added);
  hsc_instr *pieces[5];
  int count = 0;
  pieces[count++] = part(b, first, d, 0, 1);
  if (h > 1)
    pieces[count++] = part(b, second, d, 0, 1);
  if (h > 2)
    pieces[count++] = part(b, first, d, 1, h - 1);
  if (h > 1)
    pieces[count++] = part(b, second, d, 1, h);
  pieces[count++] = h > 1 ? part(b, first, d, h - 1, h) : second;
  return hsc_build_concatenate(b, count, pieces, d);
}

// state: matrix, eigenvectors as rows
static void step(hsc_builder *b, hsc_instr *trip, hsc_instr **state, void *user) {
  (void)trip;
  (void)user;
  hsc_instr *a = state[0];
  int64_t n = a->shape.dims[1];
  int64_t h = n / 2;
  hsc_instr *above = part(b, a, 1, 0, h);
  hsc_instr *below = part(b, a, 1, h, n);
  hsc_instr *p = diagonal(b, part(b, above, 2, 0, h));
  hsc_instr *q = diagonal(b, part(b, below, 2, h, n));
  hsc_instr *pq = diagonal(b, part(b, above, 2, h, n));
  if (b->status)
    return;
  hsc_instr *none = hsc_build_compare(b, HSC_EQ, pq, number(b, 0, pq));
  hsc_instr *one = number(b, 1, pq);
  hsc_instr *divisor = hsc_build_select(b, none, one, pq);
  divisor = op2(b, HSC_OP_MULTIPLY, number(b, 2, pq), divisor);
  hsc_instr *theta = op2(b, HSC_OP_DIVIDE, op2(b, HSC_OP_SUBTRACT, q, p), divisor);
  hsc_instr *size = hsc_build_unary(b, HSC_OP_ABS, theta);
  hsc_instr *root = hsc_build_unary(b, HSC_OP_SQRT,
                                    op2(b, HSC_OP_ADD, one, op2(b, HSC_OP_MULTIPLY, theta, theta)));
  hsc_instr *t = op2(b, HSC_OP_DIVIDE, one, op2(b, HSC_OP_ADD, size, root));
  hsc_instr *negative = hsc_build_unary(b, HSC_OP_NEGATE, t);
  t = hsc_build_select(b, hsc_build_compare(b, HSC_LT, theta, number(b, 0, pq)), negative, t);
  t = hsc_build_select(b, none, number(b, 0, pq), t);
  hsc_instr *c =
      hsc_build_unary(b, HSC_OP_RSQRT, op2(b, HSC_OP_ADD, one, op2(b, HSC_OP_MULTIPLY, t, t)));
  hsc_instr *s = op2(b, HSC_OP_MULTIPLY, t, c);
  if (b->status)
    return;
  state[0] = rotate(b, rotate(b, a, 1, c, s), 2, c, s);
  state[1] = rotate(b, state[1], 1, c, s);
}

// Ascending keys; what comes with them does not count.
static hsc_computation *ascending(hsc_builder *b, hsc_type type) {
  hsc_builder body;
  hsc_computation *computation = NULL;
  hsc_shape shape = hsc_shape_scalar(type);
  hsc_builder_init(&body, b->module, "ascending");
  hsc_instr *x = hsc_build_parameter(&body, 0, shape, "x");
  hsc_instr *y = hsc_build_parameter(&body, 1, shape, "y");
  hsc_build_parameter(&body, 2, shape, "x_with");
  hsc_build_parameter(&body, 3, shape, "y_with");
  hsc_status *status =
      hsc_builder_finish(&body, hsc_build_compare(&body, HSC_LT, x, y), &computation);
  if (status && !b->status)
    b->status = status;
  else
    hsc_status_free(status);
  return computation;
}

static hsc_instr *rewrite(hsc_builder *b, hsc_instr *instr) {
  hsc_arena *arena = b->module->arena;
  const hsc_shape *from = &instr->operands[0]->shape;
  int64_t n = from->dims[from->rank - 1];
  int64_t even = n + n % 2;
  int64_t dims[3] = {hsc_shape_elements(from) / (n * n), n, n};
  const char *config;
  if (instr->attr.custom.opaque)
    config = instr->attr.custom.opaque;
  else if (instr->backend_config)
    config = instr->backend_config;
  else
    config = "";
  int lower = 1;
  int sorts = 1;
  sscanf(config + (*config == '"'), "%d,%d", &lower, &sorts);
  hsc_instr *a = hsc_build_reshape(b, instr->operands[0], 3, dims);
  // The half that counts, on both sides.
  hsc_shape counts = hsc_shape_array(arena, HSC_TYPE_S32, 3, dims);
  hsc_instr *i = hsc_build_iota(b, counts, 1);
  hsc_instr *j = hsc_build_iota(b, counts, 2);
  hsc_instr *turned = hsc_build_transpose(b, a, HSC_DIMS(arena, 0, 2, 1));
  a = hsc_build_select(b, hsc_build_compare(b, lower ? HSC_GE : HSC_LE, i, j), a, turned);
  if (even != n) {
    hsc_attr attr = {.pad = {.rank = 3}};
    hsc_pad_dim *pad = HSC_NEW_ARRAY(arena, hsc_pad_dim, 3);
    if (!pad || b->status)
      return instr;
    pad[1].high = pad[2].high = 1;
    attr.pad.dims = pad;
    hsc_instr *operands[2] = {a, hsc_build_scalar(b, from->type, 0)};
    a = hsc_build_op(b, HSC_OP_PAD, (hsc_shape){0}, &attr, 2, operands, 0, NULL);
  }
  if (b->status)
    return instr;
  counts = hsc_shape_array(arena, HSC_TYPE_S32, 3, a->shape.dims);
  hsc_instr *column = hsc_build_iota(b, counts, 2);
  hsc_instr *unit = hsc_build_compare(b, HSC_EQ, hsc_build_iota(b, counts, 1), column);
  hsc_instr *zero = number(b, 0, a);
  hsc_instr *state[2] = {a, hsc_build_select(b, unit, number(b, 1, a), zero)};
  hsc__build_counted_loop(b, (even - 1) * (from->type == HSC_TYPE_F32 ? 12 : 16), 2, state, step,
                          NULL);
  hsc_instr *values = diagonal(b, state[0]);
  hsc_instr *vectors = state[1];
  if (b->status)
    return instr;
  values = hsc_build_slice(b, values, HSC_DIMS(arena, 0, 0), HSC_DIMS(arena, dims[0], n),
                           HSC_DIMS(arena, 1, 1));
  vectors = part(b, part(b, vectors, 1, 0, n), 2, 0, n);
  if (b->status)
    return instr;
  if (sorts && n > 1) {
    // Each column of the vectors goes by the same keys, so that rows stay together.
    hsc_computation *compare = ascending(b, from->type);
    hsc_instr *keys[2] = {hsc_build_broadcast(b, values, vectors->shape, HSC_DIMS(arena, 0, 1)),
                          vectors};
    if (b->status)
      return instr;
    hsc_attr attr = {.dims = {.dims = HSC_DIMS(arena, 1), .is_stable = true}};
    hsc_instr *sorted = hsc_build_op(b, HSC_OP_SORT, (hsc_shape){0}, &attr, 2, keys, 1, &compare);
    values =
        hsc_build_reshape(b, part(b, hsc_build_get_tuple_element(b, sorted, 0), 2, 0, 1), 2, dims);
    vectors = hsc_build_get_tuple_element(b, sorted, 1);
  }
  hsc_instr *columns = hsc_build_transpose(b, vectors, HSC_DIMS(arena, 0, 2, 1));
  hsc_instr *parts[2] = {
      hsc_build_reshape(b, columns, from->rank, from->dims),
      hsc_build_reshape(b, values, from->rank - 1, instr->shape.elements[1].dims)};
  return hsc_build_tuple(b, 2, parts);
}

hsc_status *hsc__pass_eigh_expander(hsc_module *module, hsc_pass_context *cx) {
  return hsc__rewrite_each(module, cx, matches, rewrite);
}
