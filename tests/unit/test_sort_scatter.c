// test_sort_scatter.c - sort, topk and scatter on the built-in device against the reference
// evaluator.
#include "kernel_case.h"
#include <math.h>

static int64_t between(kernel_case *c, int64_t low, int64_t high) {
  return low + kernel_case_below(c, high - low + 1);
}

static const hsc_type types[] = {HSC_TYPE_F32,  HSC_TYPE_S32, HSC_TYPE_F64, HSC_TYPE_U8,
                                 HSC_TYPE_BF16, HSC_TYPE_S64, HSC_TYPE_F16, HSC_TYPE_U32};

// ---- sort ---------------------------------------------------------------------------------------

typedef enum order { BY_VALUE, TOTAL, CANONICAL, TWO_KEYS, ORDERS } order;

// As JAX writes them: the value itself; its bits; zeros and NaNs made one first; two operands one
// after the other.
static hsc_computation *comparator(
    kernel_case *c, const hsc_type *operands, int count, order how, bool descending) {
  hsc_builder b;
  hsc_computation *computation = NULL;
  hsc_builder_init(&b, c->module, "before");
  hsc_instr *p[16];
  for (int i = 0; i < 2 * count; i++)
    p[i] = hsc_build_parameter(&b, i, hsc_shape_scalar(operands[i / 2]), "p");
  hsc_direction direction = descending ? HSC_GT : HSC_LT;
  hsc_instr *left = p[0];
  hsc_instr *right = p[1];
  hsc_instr *root;
  bool is_float = hsc_type_is_float(operands[0]);
  if (how == CANONICAL && is_float) {
    hsc_instr *zero = hsc_build_scalar(&b, operands[0], 0);
    left = hsc_build_select(&b, hsc_build_compare(&b, HSC_EQ, left, zero), zero, left);
    right = hsc_build_select(&b, hsc_build_compare(&b, HSC_EQ, right, zero), zero, right);
  }
  root = hsc_build_compare(&b, direction, left, right);
  if (how != BY_VALUE && is_float)
    root->attr.compare.type = HSC_COMPARE_TOTALORDER;
  if (how == TWO_KEYS && count > 1) {
    hsc_instr *equal = hsc_build_compare(&b, HSC_EQ, left, right);
    hsc_instr *second = hsc_build_compare(&b, direction, p[2], p[3]);
    root = hsc_build_binary(&b, HSC_OP_OR, hsc_build_compare(&b, direction, left, right),
                            hsc_build_binary(&b, HSC_OP_AND, equal, second));
  }
  EXPECT_OK(hsc_builder_finish(&b, root, &computation));
  return computation;
}

static void check_sort(uint64_t seed, int64_t longest) {
  kernel_case c;
  kernel_case_begin(&c, seed);
  int rank = 1 + (int)kernel_case_below(&c, 3);
  int count = 1 + (int)kernel_case_below(&c, 3);
  int along = (int)kernel_case_below(&c, rank);
  int64_t dims[3];
  for (int i = 0; i < rank; i++)
    dims[i] = between(&c, kernel_case_below(&c, 30) ? 1 : 0, i == along ? longest : 5);
  hsc_type operands[3];
  hsc_instr *inputs[3];
  for (int i = 0; i < count; i++) {
    operands[i] = types[kernel_case_below(&c, 8)];
    // Few different values: many are equal, so that stability shows.
    inputs[i] = kernel_case_input(&c, operands[i], rank, dims, kernel_case_below(&c, 2) ? 100 : 4);
  }
  order how = (order)kernel_case_below(&c, ORDERS);
  hsc_computation *called = comparator(&c, operands, count, how, kernel_case_below(&c, 2));
  hsc_attr attr = {.dims = {.dims = HSC_DIMS(c.module->arena, along), .is_stable = true}};
  kernel_case_check(
      &c, hsc_build_op(&c.b, HSC_OP_SORT, (hsc_shape){0}, &attr, count, inputs, 1, &called), 0);
}

static void rows_are_sorted_stably(void **state) {
  for (uint64_t seed = 1; seed <= 200; seed++)
    check_sort(seed, 20);
  for (uint64_t seed = 300; seed <= 340; seed++)
    check_sort(seed, 700);
  for (uint64_t seed = 400; seed <= 403; seed++)
    check_sort(seed, 5000);
}

// A key of 60 values, each of them used twice by the next: written out, 2^60 instructions.
static void keys_are_not_written_out(void **state) {
  kernel_case c;
  hsc_builder b;
  hsc_computation *called = NULL;
  hsc_instr *sides[2];
  kernel_case_begin(&c, 7);
  hsc_builder_init(&b, c.module, "before");
  for (int i = 0; i < 2; i++)
    sides[i] = hsc_build_parameter(&b, i, hsc_shape_scalar(HSC_TYPE_F32), "p");
  for (int level = 0; level < 60; level++)
    for (int i = 0; i < 2; i++)
      sides[i] = hsc_build_binary(&b, HSC_OP_ADD, sides[i], sides[i]);
  EXPECT_OK(hsc_builder_finish(&b, hsc_build_compare(&b, HSC_LT, sides[0], sides[1]), &called));
  int64_t count = 50;
  hsc_instr *x = kernel_case_input(&c, HSC_TYPE_F32, 1, &count, 30);
  hsc_attr attr = {.dims = {.dims = HSC_DIMS(c.module->arena, 0), .is_stable = true}};
  kernel_case_check(&c, hsc_build_op(&c.b, HSC_OP_SORT, (hsc_shape){0}, &attr, 1, &x, 1, &called),
                    0);
}

static void special_floats_have_an_order(void **state) {
  static const double values[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, -NAN, 1, -1, 5e-324, 1e-40};
  for (uint64_t seed = 500; seed < 520; seed++) {
    kernel_case c;
    kernel_case_begin(&c, seed);
    int64_t dims[2] = {3, between(&c, 1, 400)};
    hsc_type operands[2] = {seed % 2 ? HSC_TYPE_F32 : HSC_TYPE_F64, HSC_TYPE_S32};
    hsc_instr *inputs[2] = {kernel_case_input(&c, operands[0], 2, dims, 3),
                            kernel_case_input(&c, operands[1], 2, dims, 1000)};
    for (int64_t i = 0; i < 3 * dims[1]; i++)
      if (kernel_case_below(&c, 2))
        hsc_literal_set_double(c.inputs[0], i, values[kernel_case_below(&c, 10)]);
    hsc_computation *called =
        comparator(&c, operands, 2, seed % 4 < 2 ? TOTAL : CANONICAL, seed % 3 == 0);
    hsc_attr attr = {.dims = {.dims = HSC_DIMS(c.module->arena, 1), .is_stable = true}};
    kernel_case_check(
        &c, hsc_build_op(&c.b, HSC_OP_SORT, (hsc_shape){0}, &attr, 2, inputs, 1, &called), 0);
  }
}

static void the_largest_come_first(void **state) {
  for (uint64_t seed = 600; seed < 660; seed++) {
    kernel_case c;
    kernel_case_begin(&c, seed);
    int64_t dims[2] = {between(&c, 1, 6), between(&c, 1, 600)};
    hsc_type type = types[kernel_case_below(&c, 8)];
    hsc_instr *x = kernel_case_input(&c, type, 2, dims, kernel_case_below(&c, 2) ? 100 : 4);
    hsc_attr attr = {.topk = {.k = between(&c, 0, dims[1]), .largest = kernel_case_below(&c, 2)}};
    kernel_case_check(&c, hsc_build_op(&c.b, HSC_OP_TOPK, (hsc_shape){0}, &attr, 1, &x, 0, NULL),
                      0);
  }
}

// Rows that are long beside k are not sorted: ties, rising rows and NaN come out as if they were.
static void few_of_long_rows_come_first(void **state) {
  static const hsc_type words[] = {HSC_TYPE_F32, HSC_TYPE_S32, HSC_TYPE_U32};
  static const double special[] = {NAN, -NAN, INFINITY, -INFINITY, 0.0, -0.0, 1e-40};
  for (uint64_t seed = 660; seed < 690; seed++) {
    kernel_case c;
    kernel_case_begin(&c, seed);
    int64_t dims[2] = {between(&c, 1, 3), between(&c, 1500, 6000)};
    hsc_type type = words[kernel_case_below(&c, 3)];
    hsc_instr *x = kernel_case_input(&c, type, 2, dims, kernel_case_below(&c, 2) ? 100000 : 4);
    int64_t count = dims[0] * dims[1];
    for (int64_t i = 0; seed % 3 == 0 && i < count; i++)
      hsc_literal_set_double(c.inputs[0], i, (double)(i % dims[1]));
    for (int64_t i = 0; type == HSC_TYPE_F32 && seed % 3 == 1 && i < count; i += 17)
      hsc_literal_set_double(c.inputs[0], i, special[kernel_case_below(&c, 7)]);
    hsc_attr attr = {.topk = {.k = between(&c, 1, 100), .largest = kernel_case_below(&c, 2)}};
    kernel_case_check(&c, hsc_build_op(&c.b, HSC_OP_TOPK, (hsc_shape){0}, &attr, 1, &x, 0, NULL),
                      0);
  }
}

// ---- scatter ------------------------------------------------------------------------------------

static hsc_computation *combiner(kernel_case *c, hsc_type type, int which) {
  static const hsc_op ops[] = {HSC_OP_ADD, HSC_OP_MAXIMUM, HSC_OP_MULTIPLY, HSC_OP_SUBTRACT};
  hsc_builder b;
  hsc_computation *computation = NULL;
  hsc_builder_init(&b, c->module, "combine");
  hsc_instr *x = hsc_build_parameter(&b, 0, hsc_shape_scalar(type), "x");
  hsc_instr *y = hsc_build_parameter(&b, 1, hsc_shape_scalar(type), "y");
  EXPECT_OK(hsc_builder_finish(&b, which == 4 ? y : hsc_build_binary(&b, ops[which], x, y),
                               &computation));
  return computation;
}

// Histograms: single elements, few places, enough updates for bins of each thread's own, and
// places that are outside.
static void many_updates_of_few_elements(void **state) {
  static const hsc_type kinds[] = {HSC_TYPE_S32, HSC_TYPE_U32, HSC_TYPE_F32,
                                   HSC_TYPE_F64, HSC_TYPE_S64, HSC_TYPE_S8};
  for (uint64_t seed = 700; seed < 724; seed++) {
    kernel_case c;
    kernel_case_begin(&c, seed);
    hsc_arena *arena = c.module->arena;
    hsc_type type = kinds[seed % 6];
    int64_t bins = between(&c, 1, 80);
    int64_t updates[2] = {between(&c, 30000, 70000), 1};
    hsc_instr *operands[3];
    operands[0] = kernel_case_input(&c, type, 1, &bins, 3);
    operands[1] = kernel_case_input(&c, HSC_TYPE_S32, 2, updates, 70);
    operands[2] = kernel_case_input(&c, type, 1, updates, 3);
    hsc_computation *called = combiner(&c, type, (int)(seed / 6 % 3 == 2 ? 4 : seed / 6 % 3));
    int64_t zero = 0;
    hsc_attr attr = {.scatter = {.collapsed_slice_dims = hsc_dims_copy(arena, 1, &zero),
                                 .start_index_map = hsc_dims_copy(arena, 1, &zero),
                                 .index_vector_dim = 1}};
    kernel_case_check(
        &c, hsc_build_op(&c.b, HSC_OP_SCATTER, (hsc_shape){0}, &attr, 3, operands, 1, &called), 0);
  }
}

static void check_scatter(uint64_t seed, int64_t largest, int64_t last) {
  kernel_case c;
  kernel_case_begin(&c, seed);
  hsc_arena *arena = c.module->arena;
  int rank = 1 + (int)kernel_case_below(&c, 3);
  int batch_rank = (int)kernel_case_below(&c, 3);
  int64_t big[4], window[4], batch[4], map[4], collapsed[4], offset[4];
  int map_count = 0;
  int collapsed_count = 0;
  int window_rank = 0;
  for (int i = 0; i < rank; i++) {
    big[i] = between(&c, 1, i == rank - 1 ? last : largest);
    // found by index: one element, or a window; not found by index: all of it
    int what = (int)kernel_case_below(&c, 3);
    if (what < 2)
      map[map_count++] = i;
    if (what == 0)
      collapsed[collapsed_count++] = i;
    else
      window[window_rank++] = what == 1 ? between(&c, 1, big[i]) : big[i];
  }
  // Updates: batch and window dimensions, mixed in any order.
  int64_t update_dims[8], index_dims[4];
  int batch_at = 0;
  int window_at = 0;
  int offset_count = 0;
  int total = batch_rank + window_rank;
  for (int i = 0; i < batch_rank; i++)
    batch[i] = index_dims[i] = between(&c, kernel_case_below(&c, 20) ? 1 : 0, 7);
  index_dims[batch_rank] = map_count;
  for (int i = 0; i < total; i++) {
    bool is_window =
        window_at < window_rank && (batch_at == batch_rank || kernel_case_below(&c, 2));
    if (is_window)
      offset[offset_count++] = i;
    update_dims[i] = is_window ? window[window_at++] : batch[batch_at++];
  }
  hsc_type type = types[kernel_case_below(&c, 8)];
  static const hsc_type index_types[] = {HSC_TYPE_S32, HSC_TYPE_S64, HSC_TYPE_U32, HSC_TYPE_S8};
  hsc_instr *operand = kernel_case_input(&c, type, rank, big, 5);
  hsc_instr *indices = kernel_case_input(&c, index_types[kernel_case_below(&c, 4)], batch_rank + 1,
                                         index_dims, (int)largest);
  hsc_instr *updates = kernel_case_input(&c, type, total, update_dims, 2);
  hsc_attr attr = {
      .scatter = {.offset_dims = hsc_dims_copy(arena, offset_count, offset),
                  .collapsed_slice_dims = hsc_dims_copy(arena, collapsed_count, collapsed),
                  .start_index_map = hsc_dims_copy(arena, map_count, map),
                  .operand_batching_dims = hsc_dims_copy(arena, 0, NULL),
                  .start_indices_batching_dims = hsc_dims_copy(arena, 0, NULL),
                  .index_vector_dim = batch_rank}};
  int which = (int)kernel_case_below(&c, 5);
  // products of many would overflow narrow floats
  if (which == 2 && type != HSC_TYPE_S32 && type != HSC_TYPE_U8)
    which = 0;
  hsc_computation *called = combiner(&c, type, which);
  // The operand may be overwritten in place, or is wanted afterwards too.
  hsc_instr *root = hsc_build_op(&c.b, HSC_OP_SCATTER, (hsc_shape){0}, &attr, 3,
                                 (hsc_instr *[]){operand, indices, updates}, 1, &called);
  if (kernel_case_below(&c, 2))
    root = hsc_build_tuple(
        &c.b, 2, (hsc_instr *[]){root, hsc_build_binary(&c.b, HSC_OP_MAXIMUM, operand, operand)});
  kernel_case_check(&c, root, 0);
}

static void updates_are_combined_in_order(void **state) {
  for (uint64_t seed = 1001; seed <= 1250; seed++)
    check_scatter(seed, 6, 6);
  for (uint64_t seed = 1301; seed <= 1340; seed++)
    check_scatter(seed, 12, 70);
  for (uint64_t seed = 1401; seed <= 1410; seed++)
    check_scatter(seed, 30, 3000);
}

// What jax.vmap makes of a scatter, and places of several indices: batching dimensions, one to
// three dimensions of updates, one or two indices each, single elements or rows, enough for
// threads.
static void check_batched(uint64_t seed) {
  kernel_case c;
  kernel_case_begin(&c, seed);
  hsc_arena *arena = c.module->arena;
  int batching = (int)kernel_case_below(&c, 3);
  int found = 1 + (int)kernel_case_below(&c, 2);
  int free_rank = (int)kernel_case_below(&c, 3);  // of the batch
  int64_t row = kernel_case_below(&c, 2) ? between(&c, 2, 9) : 0;
  int64_t big[5], index_dims[6], update_dims[6], map[2], both[2];
  int rank = 0;
  int batch_rank = 0;
  for (; rank < batching; rank++, batch_rank++)
    both[rank] = rank, big[rank] = index_dims[rank] = between(&c, 1, 5);
  for (int i = 0; i < found; i++, rank++)
    map[i] = rank, big[rank] = between(&c, 1, 40);
  if (row)
    big[rank++] = row;
  for (int i = 0; i < free_rank; i++)
    index_dims[batch_rank++] = between(&c, 1, i == 0 ? 1500 : 4);
  memcpy(update_dims, index_dims, sizeof update_dims);
  index_dims[batch_rank] = found;
  // The row of an update comes last, or first: then its elements are far apart.
  int64_t offset = kernel_case_below(&c, 2) ? batch_rank : 0;
  if (row) {
    for (int i = batch_rank; i > offset; i--)
      update_dims[i] = update_dims[i - 1];
    update_dims[offset] = row;
  }
  static const hsc_type kinds[] = {HSC_TYPE_F32, HSC_TYPE_S32, HSC_TYPE_U8,
                                   HSC_TYPE_F64, HSC_TYPE_S16, HSC_TYPE_BF16};
  static const hsc_type index_types[] = {HSC_TYPE_S32, HSC_TYPE_U32, HSC_TYPE_S64, HSC_TYPE_U8};
  hsc_type type = kinds[kernel_case_below(&c, 6)];
  hsc_instr *operands[3] = {
      kernel_case_input(&c, type, rank, big, 3),
      kernel_case_input(&c, index_types[kernel_case_below(&c, 4)], batch_rank + 1, index_dims, 42),
      kernel_case_input(&c, type, batch_rank + (row > 0), update_dims, 3)};
  int which = (int)kernel_case_below(&c, 5);
  // products of many would overflow floats
  if (which == 2 && hsc_type_is_float(type))
    which = 0;
  hsc_computation *called = combiner(&c, type, which);
  hsc_attr attr = {.scatter = {.offset_dims = hsc_dims_copy(arena, row > 0, &offset),
                               .collapsed_slice_dims = hsc_dims_copy(arena, found, map),
                               .start_index_map = hsc_dims_copy(arena, found, map),
                               .operand_batching_dims = hsc_dims_copy(arena, batching, both),
                               .start_indices_batching_dims = hsc_dims_copy(arena, batching, both),
                               .index_vector_dim = batch_rank}};
  kernel_case_check(
      &c, hsc_build_op(&c.b, HSC_OP_SCATTER, (hsc_shape){0}, &attr, 3, operands, 1, &called), 0);
}

static void updates_of_batches_are_combined_in_order(void **state) {
  for (uint64_t seed = 1501; seed <= 1700; seed++)
    check_batched(seed);
}

static int end_all(void **state) {
  kernel_case_end_all();
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_are_sorted_stably),
      cmocka_unit_test(keys_are_not_written_out),
      cmocka_unit_test(special_floats_have_an_order),
      cmocka_unit_test(the_largest_come_first),
      cmocka_unit_test(few_of_long_rows_come_first),
      cmocka_unit_test(many_updates_of_few_elements),
      cmocka_unit_test(updates_are_combined_in_order),
      cmocka_unit_test(updates_of_batches_are_combined_in_order),
  };
  return cmocka_run_group_tests(tests, NULL, end_all);
}
