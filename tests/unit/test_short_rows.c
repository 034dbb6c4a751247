// test_short_rows.c - reductions of arrays whose rows are short, against the reference evaluator:
// every set of reduced dimensions, differences of all pairs, several results, reducers of several
// operations, row counts around the width of vectors, and enough rows that threads share them.
#include "kernel_case.h"

// a - b for all pairs, or the operand itself, computed with.
static hsc_instr *operand(kernel_case *c, hsc_type type, int rank, const int64_t *dims) {
  bool pairs = rank == 3 && c->seed % 2;
  if (!pairs)
    return kernel_case_input(c, type, rank, dims, 5);
  hsc_arena *arena = c->module->arena;
  hsc_shape shape = hsc_shape_array(arena, type, rank, dims);
  int64_t first[2] = {dims[0], dims[2]};
  hsc_instr *a = kernel_case_input(c, type, 2, first, 5);
  hsc_instr *b = kernel_case_input(c, type, 2, dims + 1, 5);
  a = hsc_build_broadcast(&c->b, a, shape, HSC_DIMS(arena, 0, 2));
  b = hsc_build_broadcast(&c->b, b, shape, HSC_DIMS(arena, 1, 2));
  return hsc_build_binary(&c->b, type == HSC_TYPE_U8 ? HSC_OP_ADD : HSC_OP_SUBTRACT, a, b);
}

// The greater of two by a comparison: a reducer that is no single operation.
static hsc_computation *greater(kernel_case *c, hsc_type type) {
  hsc_builder b;
  hsc_computation *made = NULL;
  hsc_builder_init(&b, c->module, "greater");
  hsc_instr *x = hsc_build_parameter(&b, 0, hsc_shape_scalar(type), "x");
  hsc_instr *y = hsc_build_parameter(&b, 1, hsc_shape_scalar(type), "y");
  hsc_instr *root = hsc_build_select(&b, hsc_build_compare(&b, HSC_GE, x, y), x, y);
  EXPECT_OK(hsc_builder_finish(&b, root, &made));
  return made;
}

static hsc_instr *folded(kernel_case *c, hsc_instr *x, hsc_op op, hsc_dims dims) {
  hsc_type type = x->shape.type;
  hsc_computation *reducer =
      op == HSC_OP_SELECT ? greater(c, type) : hsc_module_scalar_reducer(c->module, op, type);
  return hsc_build_reduce(&c->b, x, hsc_build_scalar(&c->b, type, 3), dims, reducer);
}

// All sets of reduced dimensions but none: bit d of `set`.
static hsc_dims reduced_dims(kernel_case *c, int rank, int set) {
  int64_t dims[4];
  int count = 0;
  for (int d = 0; d < rank; d++)
    if (set >> d & 1)
      dims[count++] = d;
  return hsc_dims_copy(c->module->arena, count, dims);
}

static void every_set_of_dimensions(void **state) {
  (void)state;
  static const hsc_type types[] = {HSC_TYPE_F32, HSC_TYPE_F64, HSC_TYPE_S32, HSC_TYPE_BF16,
                                   HSC_TYPE_U8};
  static const hsc_op ops[] = {HSC_OP_ADD, HSC_OP_MAXIMUM, HSC_OP_MINIMUM, HSC_OP_SELECT};
  for (uint64_t seed = 1; seed <= 150; seed++) {
    kernel_case c;
    kernel_case_begin(&c, seed);
    int rank = 2 + (int)(seed % 3);
    int64_t dims[4];
    for (int d = 0; d < rank; d++)
      dims[d] = 1 + kernel_case_below(&c, d == rank - 2 ? 70 : 12);
    dims[rank - 1] = 2 + kernel_case_below(&c, 8);
    int set = 1 + (int)kernel_case_below(&c, (1 << rank) - 1);
    hsc_instr *x = operand(&c, types[seed % 5], rank, dims);
    hsc_dims reduced = reduced_dims(&c, rank, set);
    hsc_instr *y = folded(&c, hsc_build_binary(&c.b, HSC_OP_MAXIMUM, x, x),
                          ops[kernel_case_below(&c, 4)], reduced);
    if (seed % 4 == 0)  // two of one operand: one kernel, two results
      y = hsc_build_tuple(&c.b, 2, (hsc_instr *[]){y, folded(&c, x, HSC_OP_MAXIMUM, reduced)});
    kernel_case_check(&c, y, 0);
  }
}

// Threads share the rows, in pieces that are no whole vectors at the end.
static void many_rows(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 12; seed++) {
    kernel_case c;
    kernel_case_begin(&c, seed);
    int64_t dims[2] = {40000 + kernel_case_below(&c, 1000), 2 + (int64_t)(seed % 6)};
    hsc_instr *x = kernel_case_input(&c, HSC_TYPE_F32, 2, dims, 5);
    hsc_instr *y = hsc_build_binary(&c.b, HSC_OP_MULTIPLY, x, x);
    kernel_case_check(&c, folded(&c, y, HSC_OP_ADD, reduced_dims(&c, 2, 1 + (int)(seed % 2))), 0);
  }
}

static int end_all(void **state) {
  (void)state;
  kernel_case_end_all();
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_set_of_dimensions),
      cmocka_unit_test(many_rows),
  };
  return cmocka_run_group_tests(tests, NULL, end_all);
}
