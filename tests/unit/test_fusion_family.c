// test_fusion_family.c - the passes after fusion on random graphs whose kernels share large
// values: each must find something to do, keep the numbers by the evaluator, and give programs that
// the built-in device runs to the same numbers.
#include <stdlib.h>

#include "cpu/core/cpu.h"
#include "passes/manager/passes.h"
#include "unit.h"

enum { ROWS = 72, COLUMNS = 128, VALUES = 26, SEEDS = 40 };
static const char *const passes[] = {"fusion_merger", "multi_output_fusion",
                                     "horizontal_loop_fusion", "horizontal_input_fusion",
                                     "dot-merger"};
static const char *const all_passes =
    "fusion_merger,multi_output_fusion,horizontal_loop_fusion,horizontal_input_fusion,dot-merger";

static uint64_t state;
static int below(int bound) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (int)((state >> 33) % (uint64_t)bound);
}

// Large values mix with each other, fold to vectors, and vectors spread over large values again;
// some products; several results.
static hsc_module *random_graph(uint64_t seed) {
  hsc_module *module = NULL;
  hsc_builder b;
  state = seed * 2654435761u + 11;
  EXPECT_OK(hsc_module_create("graph", &module));
  hsc_builder_init(&b, module, "main");
  hsc_arena *arena = module->arena;
  hsc_shape large = hsc_shape_array(arena, HSC_TYPE_F32, 2, (int64_t[]){ROWS, COLUMNS});
  hsc_shape row = hsc_shape_array(arena, HSC_TYPE_F32, 1, (int64_t[]){COLUMNS});
  hsc_shape square = hsc_shape_array(arena, HSC_TYPE_F32, 2, (int64_t[]){COLUMNS, COLUMNS});
  hsc_instr *values[VALUES + 2], *rows[VALUES + 2], *squares[2];
  int value_count = 0;
  int row_count = 0;
  for (int i = 0; i < 2; i++)
    values[value_count++] = hsc_build_parameter(&b, i, large, "x");
  rows[row_count++] = hsc_build_parameter(&b, 2, row, "r");
  for (int i = 0; i < 2; i++)
    squares[i] = hsc_build_parameter(&b, 3 + i, square, "w");
  hsc_computation *sum = hsc_module_scalar_reducer(module, HSC_OP_ADD, HSC_TYPE_F32);
  while (value_count < VALUES) {
    hsc_instr *x = values[below(value_count)];
    hsc_instr *y = values[below(value_count)];
    hsc_instr *r = rows[below(row_count)];
    hsc_instr *q = rows[below(row_count)];
    switch (below(9)) {
      case 0:
        values[value_count++] = hsc_build_unary(&b, HSC_OP_TANH, x);
        break;
      case 1:
        values[value_count++] =
            hsc_build_binary(&b, HSC_OP_MAXIMUM, x, hsc_build_unary(&b, HSC_OP_NEGATE, y));
        break;
      case 2:
        values[value_count++] =
            hsc_build_binary(&b, HSC_OP_MULTIPLY, hsc_build_unary(&b, HSC_OP_TANH, x), y);
        break;
      case 3:
        values[value_count++] = hsc_build_binary(
            &b, HSC_OP_SUBTRACT, x, hsc_build_broadcast(&b, r, large, HSC_DIMS(arena, 1)));
        break;
      case 4:
      case 5: {
        hsc_instr *folded =
            hsc_build_reduce(&b, x, hsc_build_scalar(&b, HSC_TYPE_F32, 0), HSC_DIMS(arena, 0), sum);
        hsc_instr *scale = hsc_build_broadcast(&b, hsc_build_scalar(&b, HSC_TYPE_F32, 1.0 / ROWS),
                                               row, (hsc_dims){0});
        if (row_count < VALUES)
          rows[row_count++] = hsc_build_binary(&b, HSC_OP_MULTIPLY, folded, scale);
        break;
      }
      case 6:
        if (row_count < VALUES)
          rows[row_count++] =
              hsc_build_binary(&b, HSC_OP_ADD, hsc_build_unary(&b, HSC_OP_TANH, r), q);
        break;
      case 7: {
        if (row_count >= VALUES)
          break;
        hsc_instr *folded =
            hsc_build_reduce(&b, hsc_build_reshape(&b, r, 2, (int64_t[]){8, COLUMNS / 8}),
                             hsc_build_scalar(&b, HSC_TYPE_F32, 0), HSC_DIMS(arena, 1), sum);
        hsc_shape pair = hsc_shape_array(arena, HSC_TYPE_F32, 2, (int64_t[]){8, COLUMNS / 8});
        rows[row_count++] =
            hsc_build_reshape(&b,
                              hsc_build_broadcast(&b, hsc_build_unary(&b, HSC_OP_LOGISTIC, folded),
                                                  pair, HSC_DIMS(arena, 0)),
                              1, (int64_t[]){COLUMNS});
        break;
      }
      default: {
        hsc_attr attr = {
            .dot = {.lhs_contracting = HSC_DIMS(arena, 1), .rhs_contracting = HSC_DIMS(arena, 0)}};
        hsc_instr *d = hsc_build_op(&b, HSC_OP_DOT, (hsc_shape){0}, &attr, 2,
                                    (hsc_instr *[]){x, squares[below(2)]}, 0, NULL);
        values[value_count++] = hsc_build_unary(&b, HSC_OP_TANH, d);
        break;
      }
    }
  }
  hsc_instr *results[8];
  int result_count = 2 + below(4);
  for (int i = 0; i < result_count; i++)
    results[i] = i % 2 ? rows[row_count - 1 - below(row_count < 3 ? row_count : 3)]
                       : values[value_count - 1 - below(4)];
  EXPECT_OK(hsc_builder_finish(&b, hsc_build_tuple(&b, result_count, results), &module->entry));
  EXPECT_OK(hsc_module_verify(module));
  return module;
}

static void expect_close(const hsc_literal *wanted,
                         const hsc_literal *found,
                         const char *what,
                         uint64_t seed) {
  hsc_difference d;
  EXPECT_OK(hsc_literal_compare(wanted, found, &d));
  bool close = d.nan_mismatches == 0 && (d.max_abs < 2e-3 || d.max_rel < 1e-3);
  if (!close)
    fail_msg("%s, seed %d: output %d element %lld is %.9g, should be %.9g", what, (int)seed, d.leaf,
             (long long)d.index, d.right, d.left);
}

static int64_t rewrites_of(const hsc_pass_log *log, const char *pass) {
  int64_t rewrites = 0;
  for (int i = 0; i < log->run_count; i++)
    if (!strcmp(log->runs[i].pass, pass))
      rewrites += log->runs[i].rewrites;
  return rewrites;
}

static void random_graphs_keep_their_numbers(void **unused) {
  int64_t rewrites[HSC_COUNT_OF(passes)] = {0};
  hsc_cpu_device *device = NULL;
  EXPECT_OK(hsc_cpu_device_create(NULL, &device));
  for (uint64_t seed = 0; seed < SEEDS; seed++) {
    hsc_module *module = random_graph(seed);
    hsc_module *changed = NULL;
    hsc_arena *arena = NULL;
    EXPECT_OK(hsc_arena_create(&arena));
    hsc_literal *arguments[5];
    hsc_literal *wanted = NULL;
    hsc_literal *found = NULL;
    for (int i = 0; i < 5; i++) {
      EXPECT_OK(hsc_literal_create(arena, &module->entry->parameters[i]->shape, &arguments[i]));
      hsc_literal_fill(arguments[i], seed, (uint32_t)i);
    }
    EXPECT_OK(hsc_evaluate(module, 5, arguments, arena, &wanted));
    EXPECT_OK(hsc_module_clone(module, &changed));
    hsc_pass_log log = {0};
    EXPECT_OK(hsc_passes_run(changed, NULL,
                             &(hsc_pass_options){.fuel = -1, .verify = true, .enable = all_passes},
                             &log));
    for (size_t p = 0; p < HSC_COUNT_OF(passes); p++)
      rewrites[p] += rewrites_of(&log, passes[p]);
    hsc_pass_log_deinit(&log);
    EXPECT_OK(hsc_evaluate(changed, 5, arguments, arena, &found));
    expect_close(wanted, found, "evaluator", seed);
    hsc_cpu_compile_options options = hsc_cpu_compile_options_default();
    options.enable_hlo_passes = all_passes;
    hsc_cpu_executable *executable = NULL;
    EXPECT_OK(hsc_cpu_compile(device, module, &options, &executable));
    const void *inputs[5];
    void *outputs[8], *aligned[5];
    for (int i = 0; i < 5; i++) {
      size_t bytes = (size_t)hsc_shape_bytes(&arguments[i]->shape);
      inputs[i] = aligned[i] = aligned_alloc(64, (bytes + 63) / 64 * 64);
      memcpy(aligned[i], arguments[i]->data, bytes);
    }
    EXPECT_OK(hsc_literal_create(arena, &module->entry->root->shape, &found));
    int outputs_count = hsc_cpu_executable_output_count(executable);
    for (int o = 0; o < outputs_count; o++)
      outputs[o] = aligned_alloc(
          64,
          ((size_t)hsc_shape_bytes(hsc_cpu_executable_output_shape(executable, o)) + 63) / 64 * 64);
    EXPECT_OK(hsc_cpu_execute(executable, inputs, outputs));
    for (int o = 0; o < outputs_count; o++) {
      memcpy(found->elements[o].data, outputs[o],
             (size_t)hsc_shape_bytes(hsc_cpu_executable_output_shape(executable, o)));
      free(outputs[o]);
    }
    expect_close(wanted, found, "device", seed);
    for (int i = 0; i < 5; i++)
      free(aligned[i]);
    hsc_cpu_executable_release(executable);
    hsc_module_destroy(changed);
    hsc_module_destroy(module);
    hsc_arena_destroy(arena);
  }
  for (size_t p = 0; p < HSC_COUNT_OF(passes); p++)
    if (rewrites[p] == 0)
      fail_msg("%s found nothing to do in %d graphs", passes[p], SEEDS);
  hsc_cpu_device_destroy(device);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(random_graphs_keep_their_numbers)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
