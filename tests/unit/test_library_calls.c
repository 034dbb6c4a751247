// What custom calls of libraries cost: as the plain operations that they stand for, by formulas of
// the literature, or "not counted" and said so.
#include "unit.h"

#include <math.h>

#include "formats/common/formats.h"
#include "lab/passes/lower_custom_calls.h"

static hsc_module *parse(const char *text) {
  hsc_module *module = NULL;
  EXPECT_OK(hsc_hlo_text_parse(hsc_view_of(text), NULL, &module));
  return module;
}

static hsc_count count_of(const char *text) {
  hsc_module *module = parse(text);
  hsc_count count;
  EXPECT_OK(hsc_module_count(module, &count));
  hsc_module_destroy(module);
  return count;
}

// One call as the root of a program, with its operands as parameters.
static hsc_cost cost_of_call(const char *result, const char *operands, const char *attributes) {
  char text[2048];
  int at = snprintf(text, sizeof text, "HloModule m\nENTRY main {\n");
  int count = 0;
  for (const char *shape = operands; *shape; count++) {
    size_t size = strcspn(shape, " ");
    at += snprintf(text + at, sizeof text - (size_t)at, "  p%d = %.*s parameter(%d)\n", count,
                   (int)size, shape, count);
    shape += size + (shape[size] == ' ');
  }
  at += snprintf(text + at, sizeof text - (size_t)at, "  ROOT r = %s custom-call(", result);
  for (int i = 0; i < count; i++)
    at += snprintf(text + at, sizeof text - (size_t)at, "%sp%d", i ? ", " : "", i);
  snprintf(text + at, sizeof text - (size_t)at, "), %s\n}\n", attributes);
  return count_of(text).cost;
}

// What lowering knows how to write as plain operations does as many flops as those.
static void a_call_counts_as_what_it_is_lowered_to(void **state) {
#define GEMM(contract, batch) \
  "{\"gemm_backend_config\":{\"alpha_real\":1,\"beta\":0,\"dot_dimension_numbers\":{\"lhs_" \
  "contracting_dimensions\":[\"" contract "\"],\"rhs_contracting_dimensions\":[\"1\"]" batch \
  "},\"epilogue\":\"DEFAULT\"}}"
#define BATCH ",\"lhs_batch_dimensions\":[\"0\"],\"rhs_batch_dimensions\":[\"0\"]"
  static const char *const calls[][3] = {
      {"(f32[3,7], s8[64])", "f32[3,5] f32[7,5]",
       "custom_call_target=\"__cublas$gemm\", backend_config=" GEMM("1", "")},
      {"(f32[5,7], s8[64])", "f32[3,5] f32[7,3]",
       "custom_call_target=\"__cublas$lt$matmul\", backend_config=" GEMM("0", "")},
      {"(f32[4,3,7], s8[64])", "f32[4,3,5] f32[4,5,7]",
       "custom_call_target=\"__cublas$gemm\", backend_config=" GEMM("2", BATCH)},
      {"f32[2,6]", "f32[5,2] f32[5,6]",
       "custom_call_target=\"__onednn$matmul\", "
       "backend_config={\"onednn_matmul_config\":{\"transpose_a\":true,\"fusions\":{}}}"},
      {"f32[2,6]", "f32[2,5] f32[6,5]",
       "custom_call_target=\"__onednn$matmul\", "
       "backend_config={\"onednn_matmul_config\":{\"transpose_b\":true,\"fusions\":{}}}"},
      {"f32[4,9]", "f32[4,9]", "custom_call_target=\"__onednn$softmax\""},
      {"(f32[2,5,6,4], u8[0])", "f32[2,5,6,3] f32[3,3,3,4]",
       "custom_call_target=\"__cudnn$convForward\", window={size=3x3 pad=1_1x1_1}, "
       "dim_labels=b01f_01io->b01f"},
      {"(f32[2,4,4,4], u8[0])", "f32[2,4,8,7] f32[4,2,3,3]",
       "custom_call_target=\"__cudnn$convForward\", window={size=3x3 stride=2x2 pad=1_0x1_1}, "
       "dim_labels=bf01_oi01->bf01, feature_group_count=2"},
      {"(f32[2,8,7,3], u8[16])", "f32[2,4,6,4] f32[3,2,3,4]",
       "custom_call_target=\"__cudnn$convBackwardInput\", window={size=3x2 stride=2x1 "
       "pad=1_0x0_0}, "
       "dim_labels=b01f_01io->b01f"},
      {"(f32[3,2,3,4], u8[16])", "f32[2,8,7,3] f32[2,4,6,4]",
       "custom_call_target=\"__cudnn$convBackwardFilter\", window={size=3x2 stride=2x1 "
       "pad=1_0x0_0}, dim_labels=b01f_01io->b01f"},
  };
  for (size_t i = 0; i < HSC_COUNT_OF(calls); i++) {
    char text[2048];
    hsc_lowered_calls lowered = {0};
    hsc_cost cost = cost_of_call(calls[i][0], calls[i][1], calls[i][2]);
    // the same text again, to be lowered
    int at = snprintf(text, sizeof text, "HloModule m\nENTRY main {\n");
    size_t first = strcspn(calls[i][1], " ");
    bool two = calls[i][1][first] != 0;
    at += snprintf(text + at, sizeof text - (size_t)at, "  p0 = %.*s parameter(0)\n", (int)first,
                   calls[i][1]);
    if (two)
      at += snprintf(text + at, sizeof text - (size_t)at, "  p1 = %s parameter(1)\n",
                     calls[i][1] + first + 1);
    snprintf(text + at, sizeof text - (size_t)at, "  ROOT r = %s custom-call(p0%s), %s\n}\n",
             calls[i][0], two ? ", p1" : "", calls[i][2]);
    hsc_module *module = parse(text);
    EXPECT_OK(hsc_lower_custom_calls(module, &lowered));
    hsc_module_destroy(module);
    assert_int_equal(lowered.lowered, 1);
    hsc_count plain = count_of(hsc_bytes_text(&lowered.text));
    hsc_lowered_calls_deinit(&lowered);
    assert_true(plain.cost.flops > 0);
    if (cost.flops != plain.cost.flops || cost.uncounted != 0 ||
        cost.transcendentals != plain.cost.transcendentals)
      fail_msg("%s: %g flops, %g transcendentals, %g uncounted; as plain operations %g and %g",
               calls[i][2], cost.flops, cost.transcendentals, cost.uncounted, plain.cost.flops,
               plain.cost.transcendentals);
  }
#undef GEMM
#undef BATCH
}

// Flops and bytes from the literature or by hand; workspace is no result.
static void libraries_cost_what_books_say(void **state) {
  static const struct {
    const char *result, *operands, *attributes;
    double flops, bytes;
  } calls[] = {
      {"(f32[6,6], f32[99], s32[])", "f32[6,6]", "custom_call_target=\"__cusolver$cholesky\"", 72,
       288},
      {"(f32[6,6], s32[])", "f32[6,6]", "custom_call_target=\"lapack_spotrf_ffi\"", 72, 288},
      {"(f64[3,4,4], s32[3,4], s32[3])", "f64[3,4,4]", "custom_call_target=\"lapack_dgetrf_ffi\"",
       128, 384 + 384 + 48 + 12},
      {"(f32[9,3], f32[3])", "f32[9,3]", "custom_call_target=\"lapack_sgeqrf_ffi\"", 144,
       108 + 108 + 12},
      {"f32[9,3]", "f32[9,3] f32[3]", "custom_call_target=\"lapack_sorgqr_ffi\"", 144,
       108 + 12 + 108},
      {"(f32[1000], u8[4096])", "f32[1000]", "custom_call_target=\"__cub$DeviceRadixSort\"", 10000,
       8000},
      {"(f32[8], s32[8], u8[4096])", "f32[8] s32[8]",
       "custom_call_target=\"__cub$DeviceRadixSort\"", 24, 128},
      {"(f32[2,3,4,8], u8[64])", "f32[2,3,4,8] f32[2,3,5,8] f32[2,3,5,8]",
       "custom_call_target=\"__cudnn$fmhaSoftmax\", "
       "backend_config={\"cudnn_fmha_backend_config\":{\"bmm1_dot_dimension_numbers\":{\"lhs_"
       "contracting_dimensions\":[\"3\"],\"rhs_contracting_dimensions\":[\"3\"],\"lhs_batch_"
       "dimensions\":[\"0\",\"1\"],\"rhs_batch_dimensions\":[\"0\",\"1\"]}}}",
       2 * 2.0 * 6 * 4 * 5 * 8, 4 * (192 + 240 + 240 + 192)},
      {"f32[8]", "f32[8]",
       "custom_call_target=\"tpu_custom_call\", "
       "backend_config={\"custom_call_config\":{\"cost_estimate\":{\"flops\":123,"
       "\"transcendentals\":4,\"bytes_accessed\":640}}}",
       123, 640},
      {"(f32[5], s32[5])", "f32[100]", "custom_call_target=\"TopK\"", 0, 440},
      {"f32[8]", "f32[8]", "custom_call_target=\"Sharding\"", 0, 0},
  };
  for (size_t i = 0; i < HSC_COUNT_OF(calls); i++) {
    hsc_cost cost = cost_of_call(calls[i].result, calls[i].operands, calls[i].attributes);
    double bytes = cost.bytes_read + cost.bytes_written;
    if (cost.uncounted != 0 || fabs(cost.flops - calls[i].flops) > 1e-9 * calls[i].flops ||
        bytes != calls[i].bytes)
      fail_msg("%s: %g flops, %g bytes, %g uncounted; wanted %g and %g", calls[i].attributes,
               cost.flops, bytes, cost.uncounted, calls[i].flops, calls[i].bytes);
  }
}

// Unknown names, and known ones that are not what they are said to be: no number, and it is told.
static void what_is_not_known_is_not_counted(void **state) {
  static const char *const calls[][3] = {
      {"f32[8]", "f32[8]", "custom_call_target=\"triton_kernel_call\""},
      {"f32[8]", "f32[8]", "custom_call_target=\"tpu_custom_call\", backend_config=\"x\""},
      {"f32[8]", "f32[8]",
       "custom_call_target=\"tpu_custom_call\", "
       "backend_config={\"cost_estimate\":{\"flops\":-1,\"bytes_accessed\":9}}"},
      {"f32[8]", "f32[8]", "custom_call_target=\"__cublas$gemm\""},
      {"f32[8,8]", "f32[8,8] f32[8,8]", "custom_call_target=\"__cublas$gemm\""},
      {"f32[8,8]", "f32[8,8] f32[8,8]",
       "custom_call_target=\"__cublas$gemm\", "
       "backend_config={\"dot_dimension_numbers\":{\"lhs_contracting_dimensions\":[\"7\"]}}"},
      {"f32[8,8]", "f32[8,8] f32[8,8]",
       "custom_call_target=\"__cublas$gemm\", "
       "backend_config={\"dot_dimension_numbers\":{\"lhs_contracting_dimensions\":\"1\"}}"},
      {"f32[1,4,4,2]", "f32[1,4,4,2] f32[3,3,2,2]", "custom_call_target=\"__cudnn$convForward\""},
      {"f32[1,4,4,2]", "f32[1,4,4,2] f32[3,3,2,2]",
       "window={size=3x3 stride=0x1}, dim_labels=b01f_01io->b01f, "
       "custom_call_target=\"__cudnn$convForward\""},
      {"f32[1,4,4,2]", "f32[8] f32[3,3,2,2]",
       "window={size=3x3}, dim_labels=b01f_01io->b01f, "
       "custom_call_target=\"__cudnn$convForward\""},
      {"f32[1,4,4,2]", "f32[1,4,4,2] f32[3,3,2,2]",
       "window={size=3x3}, dim_labels=b55f_01io->b01f, "
       "custom_call_target=\"__cudnn$convForward\""},
      {"f32[8]", "f32[] f32[8]", "custom_call_target=\"lapack_spotrf_ffi\""},
      {"(f32[8], f32[8])", "f32[8,8]", "custom_call_target=\"lapack_sgesdd_ffi\""},
  };
  for (size_t i = 0; i < HSC_COUNT_OF(calls); i++) {
    hsc_cost cost = cost_of_call(calls[i][0], calls[i][1], calls[i][2]);
    if (cost.uncounted != 1 || cost.flops != 0 || cost.bytes_read + cost.bytes_written != 0)
      fail_msg("%s: %g flops, %g bytes, %g uncounted", calls[i][2], cost.flops,
               cost.bytes_read + cost.bytes_written, cost.uncounted);
  }
  // what reads nothing has nothing to be counted
  assert_true(cost_of_call("f32[8]", "", "custom_call_target=\"who_knows\"").uncounted == 0);
}

// Loops multiply what is missing, branches take the most, fusions and wrappers keep it; the names
// are told once each.
static void what_is_missing_is_summed_as_costs_are(void **state) {
  static const char text[] =
      "HloModule m\n"
      "inner {\n  a = f32[8] parameter(0)\n  ROOT b = f32[8] custom-call(a), "
      "custom_call_target=\"one\"\n}\n"
      "body {\n  s = (s32[], f32[8]) parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n"
      "  x = f32[8] get-tuple-element(s), index=1\n  k = s32[] constant(1)\n  j = s32[] add(i, k)\n"
      "  y = f32[8] custom-call(x), custom_call_target=\"two\"\n"
      "  ROOT t = (s32[], f32[8]) tuple(j, y)\n}\n"
      "test {\n  s = (s32[], f32[8]) parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n"
      "  n = s32[] constant(5)\n  ROOT c = pred[] compare(i, n), direction=LT\n}\n"
      "ENTRY main {\n  a = f32[8] parameter(0)\n  f = f32[8] fusion(a), kind=kLoop, calls=inner\n"
      "  z = s32[] constant(0)\n  s = (s32[], f32[8]) tuple(z, f)\n"
      "  w = (s32[], f32[8]) while(s), condition=test, body=body\n"
      "  x = f32[8] get-tuple-element(w), index=1\n"
      "  ROOT y = f32[8] custom-call(x), custom_call_target=\"one\"\n}\n";
  hsc_module *module = parse(text);
  hsc_arena *arena = NULL;
  hsc_count count;
  hsc_op_costs by_op;
  EXPECT_OK(hsc_arena_create(&arena));
  EXPECT_OK(hsc_module_count(module, &count));
  assert_true(count.cost.uncounted == 7);
  assert_string_equal(hsc_uncounted_targets(module, arena), "one, two");
  for (int open = 0; open < 2; open++) {
    EXPECT_OK(hsc_module_count_by_op(module, open, &count, &by_op));
    assert_true(by_op.of[HSC_OP_CUSTOM_CALL].cost.uncounted == (open ? 7 : 6));
    assert_true(by_op.of[HSC_OP_FUSION].cost.uncounted == (open ? 0 : 1));
  }
  hsc_arena_destroy(arena);
  hsc_module_destroy(module);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_call_counts_as_what_it_is_lowered_to),
      cmocka_unit_test(libraries_cost_what_books_say),
      cmocka_unit_test(what_is_not_known_is_not_counted),
      cmocka_unit_test(what_is_missing_is_summed_as_costs_are),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
