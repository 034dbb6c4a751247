// test_fused_reads.c - operations that read their operand more than once, or in no order, within
// kernels: windows of few positions between elementwise operations, gathers of single elements by
// indices that are put together, short products. Against the reference evaluator.
#include "kernel_case.h"

static hsc_instr *window(kernel_case *c, hsc_instr *x, hsc_op op, double init) {
  hsc_window_dim dims[3];
  hsc_type type = x->shape.type;
  for (int i = 0; i < 3; i++)
    dims[i] = (hsc_window_dim){.size = 1 + kernel_case_below(c, 4),
                               .stride = 1 + kernel_case_below(c, 2),
                               .pad_low = kernel_case_below(c, 3),
                               .pad_high = kernel_case_below(c, 2),
                               .window_dilation = 1 + kernel_case_below(c, 2),
                               .base_dilation = 1};
  hsc_attr attr = {.window = {{3, hsc_arena_copy(c->module->arena, dims, sizeof dims)}}};
  hsc_computation *called = hsc_module_scalar_reducer(c->module, op, type);
  hsc_instr *start = hsc_build_scalar(&c->b, type, init);
  return hsc_build_op(&c->b, HSC_OP_REDUCE_WINDOW, (hsc_shape){0}, &attr, 2,
                      (hsc_instr *[]){x, start}, 1, &called);
}

// Elementwise before, between two windows, and after; the first value is read by both ends.
static void windows_between_elementwise(void **state) {
  (void)state;
  static const hsc_type types[] = {HSC_TYPE_F32, HSC_TYPE_F64, HSC_TYPE_S32, HSC_TYPE_BF16};
  for (uint64_t seed = 1; seed <= 60; seed++) {
    kernel_case c;
    kernel_case_begin(&c, seed);
    int64_t dims[3];
    for (int i = 0; i < 3; i++)
      dims[i] = 9 + kernel_case_below(&c, i == 2 ? 40 : 8);
    hsc_instr *x = kernel_case_input(&c, types[seed % 4], 3, dims, 3);
    hsc_instr *y =
        hsc_build_binary(&c.b, HSC_OP_MAXIMUM, x, hsc_build_unary(&c.b, HSC_OP_NEGATE, x));
    hsc_instr *w = window(&c, y, HSC_OP_ADD, 0);
    w = hsc_build_binary(&c.b, HSC_OP_SUBTRACT, w, hsc_build_unary(&c.b, HSC_OP_SIGN, w));
    w = window(&c, w, HSC_OP_MAXIMUM, -2);
    kernel_case_check(
        &c, hsc_build_binary(&c.b, HSC_OP_ADD, w, hsc_build_unary(&c.b, HSC_OP_ABS, w)), 0);
  }
}

// table[i, j] with i and j from arrays of their own, beyond both ends too, then computed with.
static void elements_by_parts_of_indices(void **state) {
  (void)state;
  static const hsc_type index_types[] = {HSC_TYPE_S32, HSC_TYPE_S64, HSC_TYPE_S8, HSC_TYPE_U8,
                                         HSC_TYPE_U32};
  for (uint64_t seed = 1; seed <= 60; seed++) {
    kernel_case c;
    kernel_case_begin(&c, seed);
    hsc_arena *arena = c.module->arena;
    hsc_type type = index_types[seed % 5];
    int64_t sizes[2] = {1 + kernel_case_below(&c, 90), 1 + kernel_case_below(&c, 300)};
    int64_t count = 1 + kernel_case_below(&c, 200);
    int64_t column[2] = {count, 1};
    hsc_instr *table = kernel_case_input(&c, HSC_TYPE_F32, 2, sizes, 9);
    hsc_instr *parts[2];
    for (int i = 0; i < 2; i++) {
      hsc_instr *at = kernel_case_input(&c, type, 1, &count, 100);
      parts[i] = hsc_build_reshape(&c.b, hsc_build_binary(&c.b, HSC_OP_ADD, at, at), 2, column);
    }
    hsc_instr *indices = hsc_build_concatenate(&c.b, 2, parts, 1);
    hsc_attr attr = {.gather = {.collapsed_slice_dims = HSC_DIMS(arena, 0, 1),
                                .start_index_map = HSC_DIMS(arena, seed % 2, 1 - seed % 2),
                                .index_vector_dim = 1,
                                .slice_sizes = HSC_DIMS(arena, 1, 1)}};
    hsc_instr *found = hsc_build_op(&c.b, HSC_OP_GATHER, (hsc_shape){0}, &attr, 2,
                                    (hsc_instr *[]){table, indices}, 0, NULL);
    kernel_case_check(
        &c,
        hsc_build_binary(&c.b, HSC_OP_MULTIPLY, found, hsc_build_unary(&c.b, HSC_OP_ABS, found)),
        0);
  }
}

// Products of few terms, or of small matrices in batches, with any order of dimensions on either
// side; large enough to be code of their own.
static void short_products(void **state) {
  (void)state;
  static const hsc_type types[] = {HSC_TYPE_F32, HSC_TYPE_F64, HSC_TYPE_S32};
  for (uint64_t seed = 1; seed <= 60; seed++) {
    kernel_case c;
    kernel_case_begin(&c, seed);
    hsc_arena *arena = c.module->arena;
    int64_t batch = 20 + kernel_case_below(&c, 200);
    int64_t terms = 1 + kernel_case_below(&c, seed % 2 ? 4 : 16);
    int64_t m = 1 + kernel_case_below(&c, 24);
    int64_t n = seed % 5 == 0 ? 1 : 1 + kernel_case_below(&c, 40);
    int64_t left = seed % 3;       // where the contracted dimension is
    int64_t right = seed / 3 % 3;  // the other two keep their order
    int64_t a[3];
    int64_t b[3];
    int64_t rest_a[2] = {batch, m};
    int64_t rest_b[2] = {batch, n};
    for (int i = 0, at = 0; i < 3; i++)
      a[i] = i == left ? terms : rest_a[at++];
    for (int i = 0, at = 0; i < 3; i++)
      b[i] = i == right ? terms : rest_b[at++];
    hsc_instr *x = kernel_case_input(&c, types[seed % 3], 3, a, 5);
    hsc_instr *y = kernel_case_input(&c, types[seed % 3], 3, b, 5);
    hsc_attr attr = {.dot = {.lhs_batch = HSC_DIMS(arena, left == 0),
                             .rhs_batch = HSC_DIMS(arena, right == 0),
                             .lhs_contracting = HSC_DIMS(arena, left),
                             .rhs_contracting = HSC_DIMS(arena, right)}};
    kernel_case_check(
        &c,
        hsc_build_op(&c.b, HSC_OP_DOT, (hsc_shape){0}, &attr, 2, (hsc_instr *[]){x, y}, 0, NULL),
        0);
  }
}

// The same in batches, with a row added, a residual and a cut behind the product: all of it is one
// kernel.
static void short_products_with_more_behind(void **state) {
  (void)state;
  static const hsc_type types[] = {HSC_TYPE_F32, HSC_TYPE_F64, HSC_TYPE_S32};
  for (uint64_t seed = 1; seed <= 60; seed++) {
    kernel_case c;
    kernel_case_begin(&c, seed);
    hsc_arena *arena = c.module->arena;
    hsc_type type = types[seed % 3];
    int64_t batch = 20 + kernel_case_below(&c, 200);
    int64_t terms = 1 + kernel_case_below(&c, seed % 2 ? 4 : 16);
    int64_t m = 1 + kernel_case_below(&c, 12);
    int64_t n = 1 + kernel_case_below(&c, 40);
    hsc_instr *x = kernel_case_input(&c, type, 3, (int64_t[]){batch, m, terms}, 5);
    hsc_instr *y = kernel_case_input(&c, type, 3, (int64_t[]){batch, terms, n}, 5);
    hsc_instr *row = kernel_case_input(&c, type, 1, &n, 5);
    hsc_attr attr = {.dot = {.lhs_batch = HSC_DIMS(arena, 0),
                             .rhs_batch = HSC_DIMS(arena, 0),
                             .lhs_contracting = HSC_DIMS(arena, 2),
                             .rhs_contracting = HSC_DIMS(arena, 1)}};
    hsc_instr *made =
        hsc_build_op(&c.b, HSC_OP_DOT, (hsc_shape){0}, &attr, 2, (hsc_instr *[]){x, y}, 0, NULL);
    hsc_shape shape = made->shape;
    made = hsc_build_binary(&c.b, HSC_OP_ADD, made,
                            hsc_build_broadcast(&c.b, row, shape, HSC_DIMS(arena, 2)));
    if (seed % 2)
      made = hsc_build_binary(&c.b, HSC_OP_SUBTRACT, made,
                              kernel_case_input(&c, type, 3, shape.dims, 9));
    hsc_instr *zero =
        hsc_build_broadcast(&c.b, hsc_build_scalar(&c.b, type, 0), shape, (hsc_dims){0});
    made = hsc_build_binary(&c.b, HSC_OP_MAXIMUM, made, zero);
    if (seed % 4 == 0)
      made = hsc_build_convert(&c.b, HSC_TYPE_F32, made);
    kernel_case_check(&c, made, 0);
  }
}

// Products with one to five lines on one side, along k of 10 to 90: around the sizes from which
// they are folded along k.
static void products_with_a_short_side(void **state) {
  (void)state;
  static const hsc_type types[] = {HSC_TYPE_F32, HSC_TYPE_F64};
  for (uint64_t seed = 1; seed <= 60; seed++) {
    kernel_case c;
    kernel_case_begin(&c, seed);
    hsc_arena *arena = c.module->arena;
    int64_t batch = 1 + kernel_case_below(&c, 4);
    int64_t k = 10 + kernel_case_below(&c, 80);
    int64_t few = 1 + kernel_case_below(&c, 5);
    int64_t many = 60 + kernel_case_below(&c, 200);
    bool left_is_few = seed % 2;
    int64_t m = left_is_few ? few : many;
    int64_t n = left_is_few ? many : few;
    bool along = seed / 2 % 2;  // k is the last dimension of the right side
    hsc_instr *x = kernel_case_input(&c, types[seed % 3 == 0], 3, (int64_t[]){batch, m, k}, 4);
    hsc_instr *y =
        kernel_case_input(&c, types[seed % 3 == 0], 3,
                          along ? (int64_t[]){batch, n, k} : (int64_t[]){batch, k, n}, 4);
    hsc_attr attr = {.dot = {.lhs_batch = HSC_DIMS(arena, 0),
                             .rhs_batch = HSC_DIMS(arena, 0),
                             .lhs_contracting = HSC_DIMS(arena, 2),
                             .rhs_contracting = HSC_DIMS(arena, along ? 2 : 1)}};
    kernel_case_check(
        &c,
        hsc_build_op(&c.b, HSC_OP_DOT, (hsc_shape){0}, &attr, 2, (hsc_instr *[]){x, y}, 0, NULL),
        0);
  }
}

static int end_all(void **state) {
  (void)state;
  kernel_case_end_all();
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(windows_between_elementwise),
      cmocka_unit_test(elements_by_parts_of_indices),
      cmocka_unit_test(short_products),
      cmocka_unit_test(short_products_with_more_behind),
      cmocka_unit_test(products_with_a_short_side),
  };
  return cmocka_run_group_tests(tests, NULL, end_all);
}
