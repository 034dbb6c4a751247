// test_windows.c - reduce-window and select-and-scatter on the built-in device against the
// reference evaluator.
#include "kernel_case.h"

static int64_t between(kernel_case *c, int64_t low, int64_t high) {
  return low + kernel_case_below(c, high - low + 1);
}

static const hsc_type types[] = {HSC_TYPE_F32,  HSC_TYPE_F32, HSC_TYPE_F64, HSC_TYPE_S32,
                                 HSC_TYPE_BF16, HSC_TYPE_S8,  HSC_TYPE_U16, HSC_TYPE_S64};

// x op y, or something that no library has: max(x, y) of twice y.
static hsc_computation *reducer(kernel_case *c, hsc_type type, int which) {
  static const hsc_op ops[] = {HSC_OP_ADD, HSC_OP_MAXIMUM, HSC_OP_MINIMUM, HSC_OP_MULTIPLY};
  if (which < 4)
    return hsc_module_scalar_reducer(c->module, ops[which], type);
  hsc_builder b;
  hsc_computation *computation = NULL;
  hsc_builder_init(&b, c->module, "odd");
  hsc_instr *x = hsc_build_parameter(&b, 0, hsc_shape_scalar(type), "x");
  hsc_instr *y = hsc_build_parameter(&b, 1, hsc_shape_scalar(type), "y");
  EXPECT_OK(hsc_builder_finish(
      &b, hsc_build_binary(&b, HSC_OP_MAXIMUM, x, hsc_build_binary(&b, HSC_OP_ADD, y, y)),
      &computation));
  return computation;
}

typedef struct form {
  int rank;
  int64_t size, run;  // largest dimension; of the last one
  bool window_last;   // the last dimension has a window too
  bool channels;      // it has none, and is long
} form;

static void make_window(kernel_case *c, const form *f, int64_t *dims, hsc_window_dim *window) {
  for (int i = 0; i < f->rank; i++) {
    bool last = i == f->rank - 1;
    dims[i] = between(c, kernel_case_below(c, 20) ? 1 : 0, last ? f->run : f->size);
    bool touched = (last ? f->window_last : kernel_case_below(c, 3) != 0);
    window[i] = (hsc_window_dim){.size = 1, .stride = 1, .window_dilation = 1, .base_dilation = 1};
    if (!touched)
      continue;
    window[i].size = between(c, 1, 4);
    window[i].stride = between(c, 1, 3);
    window[i].pad_low = between(c, kernel_case_below(c, 4) ? 0 : -1, 3);
    window[i].pad_high = between(c, 0, 3);
    if (kernel_case_below(c, 3) == 0)
      window[i].window_dilation = between(c, 1, 3);
    if (kernel_case_below(c, 4) == 0)
      window[i].base_dilation = between(c, 1, 3);
    if (dims[i] + window[i].pad_low + window[i].pad_high < 0)
      window[i].pad_low = 0;
  }
}

static void check_reduce(uint64_t seed, const form *f) {
  kernel_case c;
  kernel_case_begin(&c, seed);
  int64_t dims[HSC_MAX_RANK];
  hsc_window_dim window[HSC_MAX_RANK];
  make_window(&c, f, dims, window);
  hsc_type type = types[kernel_case_below(&c, 8)];
  int which = (int)kernel_case_below(&c, 5);
  hsc_instr *x = kernel_case_input(&c, type, f->rank, dims, which == 3 ? 1 : 5);
  hsc_instr *init = kernel_case_input(&c, type, 0, NULL, 2);
  hsc_attr attr = {.window = {{f->rank, hsc_arena_copy(c.module->arena, window,
                                                       sizeof window[0] * (size_t)f->rank)}}};
  hsc_computation *called = reducer(&c, type, which);
  // The odd one doubles at every step: as far as the types go.
  if (which == 4 && type == HSC_TYPE_BF16)
    called = reducer(&c, type, 1);
  kernel_case_check(&c,
                    hsc_build_op(&c.b, HSC_OP_REDUCE_WINDOW, (hsc_shape){0}, &attr, 2,
                                 (hsc_instr *[]){x, init}, 1, &called),
                    0);
}

static void windows_of_any_kind(void **state) {
  for (uint64_t seed = 1; seed <= 150; seed++)
    check_reduce(seed,
                 &(form){.rank = 1 + (int)(seed % 4), .size = 7, .run = 7, .window_last = true});
  for (uint64_t seed = 200; seed <= 300; seed++)
    check_reduce(seed, &(form){.rank = 2 + (int)(seed % 3), .size = 7, .run = 6});
  for (uint64_t seed = 400; seed <= 460; seed++)
    check_reduce(seed, &(form){.rank = 2 + (int)(seed % 3), .size = 7, .run = 60});
  for (uint64_t seed = 500; seed <= 505; seed++)
    check_reduce(seed, &(form){.rank = 3, .size = 30, .run = 3000});
  for (uint64_t seed = 510; seed <= 515; seed++)
    check_reduce(seed, &(form){.rank = 3, .size = 20, .run = 3000, .window_last = true});
}

static void cumulative_folds(void **state) {
  for (uint64_t seed = 600; seed <= 660; seed++) {
    kernel_case c;
    kernel_case_begin(&c, seed);
    int rank = 1 + (int)kernel_case_below(&c, 3);
    int along = (int)kernel_case_below(&c, rank);
    bool back = kernel_case_below(&c, 2);
    int64_t dims[3];
    hsc_window_dim window[3];
    for (int i = 0; i < rank; i++) {
      dims[i] = between(&c, 1, seed % 3 ? 9 : 150);
      window[i] =
          (hsc_window_dim){.size = 1, .stride = 1, .window_dilation = 1, .base_dilation = 1};
    }
    dims[along] += 4;
    window[along].size = dims[along] + kernel_case_below(&c, 2);
    *(back ? &window[along].pad_high : &window[along].pad_low) = window[along].size - 1;
    hsc_type type = types[kernel_case_below(&c, 4)];
    hsc_computation *called = reducer(&c, type, (int)kernel_case_below(&c, 3));
    hsc_instr *x = kernel_case_input(&c, type, rank, dims, 5);
    hsc_instr *init = kernel_case_input(&c, type, 0, NULL, 2);
    hsc_attr attr = {.window = {{rank, hsc_arena_copy(c.module->arena, window, sizeof window)}}};
    kernel_case_check(&c,
                      hsc_build_op(&c.b, HSC_OP_REDUCE_WINDOW, (hsc_shape){0}, &attr, 2,
                                   (hsc_instr *[]){x, init}, 1, &called),
                      0);
  }
}

static hsc_computation *comparator(kernel_case *c, hsc_type type, hsc_direction direction) {
  hsc_builder b;
  hsc_computation *computation = NULL;
  hsc_builder_init(&b, c->module, "select");
  hsc_instr *x = hsc_build_parameter(&b, 0, hsc_shape_scalar(type), "x");
  hsc_instr *y = hsc_build_parameter(&b, 1, hsc_shape_scalar(type), "y");
  EXPECT_OK(hsc_builder_finish(&b, hsc_build_compare(&b, direction, x, y), &computation));
  return computation;
}

static void check_select(uint64_t seed, const form *f) {
  static const hsc_direction directions[] = {HSC_GE, HSC_LE, HSC_GT, HSC_NE};
  kernel_case c;
  kernel_case_begin(&c, seed);
  int64_t dims[HSC_MAX_RANK], out[HSC_MAX_RANK];
  hsc_window_dim window[HSC_MAX_RANK];
  make_window(&c, f, dims, window);
  for (int i = 0; i < f->rank; i++) {
    window[i].window_dilation = window[i].base_dilation = 1;
    int64_t room = dims[i] + window[i].pad_low + window[i].pad_high - window[i].size;
    out[i] = room < 0 ? 0 : room / window[i].stride + 1;
  }
  hsc_type type = types[kernel_case_below(&c, 8)];
  hsc_instr *x = kernel_case_input(&c, type, f->rank, dims, 9);
  hsc_instr *source = kernel_case_input(&c, type, f->rank, out, 3);
  hsc_instr *init = kernel_case_input(&c, type, 0, NULL, 2);
  hsc_attr attr = {.window = {{f->rank, hsc_arena_copy(c.module->arena, window,
                                                       sizeof window[0] * (size_t)f->rank)}}};
  hsc_computation *called[2] = {comparator(&c, type, directions[kernel_case_below(&c, 4)]),
                                reducer(&c, type, (int)kernel_case_below(&c, 3))};
  kernel_case_check(&c,
                    hsc_build_op(&c.b, HSC_OP_SELECT_AND_SCATTER, (hsc_shape){0}, &attr, 3,
                                 (hsc_instr *[]){x, source, init}, 2, called),
                    0);
}

static void sources_go_where_windows_select(void **state) {
  for (uint64_t seed = 1001; seed <= 1100; seed++)
    check_select(seed,
                 &(form){.rank = 1 + (int)(seed % 4), .size = 7, .run = 7, .window_last = true});
  for (uint64_t seed = 1201; seed <= 1260; seed++)
    check_select(seed, &(form){.rank = 2 + (int)(seed % 3), .size = 7, .run = 6});
  for (uint64_t seed = 1301; seed <= 1350; seed++)
    check_select(seed, &(form){.rank = 2 + (int)(seed % 3), .size = 7, .run = 60});
  for (uint64_t seed = 1401; seed <= 1404; seed++)
    check_select(seed, &(form){.rank = 3, .size = 20, .run = 3000});
  for (uint64_t seed = 1411; seed <= 1414; seed++)
    check_select(seed, &(form){.rank = 3, .size = 10, .run = 3000, .window_last = true});
}

static int end_all(void **state) {
  kernel_case_end_all();
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(windows_of_any_kind),
      cmocka_unit_test(cumulative_folds),
      cmocka_unit_test(sources_go_where_windows_select),
  };
  return cmocka_run_group_tests(tests, NULL, end_all);
}
