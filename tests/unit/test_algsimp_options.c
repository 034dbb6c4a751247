// test_algsimp_options.c - every option of the algebraic simplifier: a program that becomes another one when it is switched, with the same numbers; random
// programs with all of them switched; and what is said of names and values that are wrong.
#include "formats/formats.h"
#include "passes/passes.h"
#include "random_module.h"
#include "unit.h"

#define SUM "s { p = f32[] parameter(0)\n q = f32[] parameter(1)\n ROOT r = f32[] add(p, q) }\n"

static const struct {
  const char *option, *program;
} programs[] = {
    {"enable_dot_strength_reduction", "HloModule t\nENTRY e { x = f32[6,4] parameter(0)\n y = f32[4] parameter(1)\n"
     " ROOT d = f32[6] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0} }"},
    {"enable_dot_to_multiply_rewrite", "HloModule t\nENTRY e { x = f32[2,6] parameter(0)\n y = f32[4,2] parameter(1)\n"
     " ROOT d = f32[2,6,4] dot(x, y), lhs_batch_dims={0}, rhs_batch_dims={1} }"},
    {"enable_conv_simplification", "HloModule t\nENTRY e { x = f32[1,4,2] parameter(0)\n k = f32[3,2,5] parameter(1)\n z = f32[] constant(0)\n p = f32[1,6,2] pad(x, z), padding=0_0x1_1x0_0\n"
     " ROOT c = f32[1,4,5] convolution(p, k), window={size=3}, dim_labels=b0f_0io->b0f }"},
    {"enable_scalar_multiply_reduction", "HloModule t\nENTRY e { x = f32[6,40] parameter(0)\n y = f32[40,3] parameter(1)\n a = f32[] parameter(2)\n w = f32[6,40] broadcast(a), dimensions={}\n"
     " m = f32[6,40] multiply(x, w)\n ROOT d = f32[6,3] dot(m, y), lhs_contracting_dims={1}, rhs_contracting_dims={0} }"},
    {"enable_floats_are_real", "HloModule t\nENTRY e { x = f32[6] parameter(0)\n ROOT d = f32[6] subtract(x, x) }"},
    {"enable_window_reduce_to_reduce_replacement", "HloModule t\n" SUM "ENTRY e { x = f32[4,6] parameter(0)\n z = f32[] constant(0)\n"
     " ROOT d = f32[4,1] reduce-window(x, z), window={size=1x6}, to_apply=s }"},
    {"enable_reduce_of_reshape", "HloModule t\n" SUM "ENTRY e { x = f32[4,6] parameter(0)\n z = f32[] constant(0)\n r = f32[2,12] reshape(x)\n"
     " ROOT d = f32[] reduce(r, z), dimensions={0,1}, to_apply=s }"},
    {"enable_negative_padding_replacement", "HloModule t\nENTRY e { x = f32[8] parameter(0)\n z = f32[] constant(0)\n ROOT d = f32[5] pad(x, z), padding=-1_-2 }"},
    {"enable_sink_broadcast", "HloModule t\nENTRY e { x = f32[8] parameter(0)\n y = f32[8] parameter(1)\n a = f32[8,4] broadcast(x), dimensions={0}\n b = f32[8,4] broadcast(y), dimensions={0}\n"
     " ROOT d = f32[8,4] atan2(a, b) }"},
    {"unconditionally_simplify_reduce_of_transpose_or_reshape", "HloModule t\n" SUM "ENTRY e { x = f32[4,6] parameter(0)\n z = f32[] constant(0)\n r = f32[6,4] transpose(x), dimensions={1,0}\n"
     " d = f32[6] reduce(r, z), dimensions={1}, to_apply=s\n ROOT t = (f32[6], f32[6,4]) tuple(d, r) }"},
    {"very_small_gather_size", "HloModule t\nENTRY e { x = f32[3] parameter(0)\n i = s32[5,1] parameter(1)\n"
     " ROOT g = f32[5] gather(x, i), offset_dims={}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1} }"},
    {"enable_unconditional_reduce_of_concat_replacement", "HloModule t\n" SUM "ENTRY e { x = f32[4,6] parameter(0)\n y = f32[2,6] parameter(1)\n z = f32[] constant(1)\n"
     " c = f32[6,6] concatenate(x, y), dimensions={0}\n ROOT d = f32[6] reduce(c, z), dimensions={0}, to_apply=s }"},
    {"enable_remove_no_op_reduce_precision", "HloModule t\nENTRY e { x = f32[8] parameter(0)\n ROOT d = f32[8] reduce-precision(x), exponent_bits=8, mantissa_bits=23 }"},
    {"disable_dynamic_slice_to_slice_conversion", "HloModule t\nENTRY e { x = f32[8] parameter(0)\n i = s32[] constant(2)\n ROOT d = f32[3] dynamic-slice(x, i), dynamic_slice_sizes={3} }"},
};

static const struct {
  const char *name;
  int value;
} options[] = {
#define OPTION(name, value, doc) {#name, value},
#include "passes/algsimp_options.def"
#undef OPTION
};

static hsc_module *parse(const char *text) {
  hsc_module *module = NULL;
  EXPECT_OK(hsc_hlo_text_parse(hsc_view_of(text), "test.hlo", &module));
  EXPECT_OK(hsc_module_verify(module));
  return module;
}

static hsc_hash128 simplified(hsc_module *module, const char *algsimp) {
  EXPECT_OK(hsc_passes_run(module, "algsimp", &(hsc_pass_options){.fuel = -1, .verify = true, .algsimp = algsimp}, NULL));
  EXPECT_OK(hsc_passes_run(module, "dce", NULL, NULL));
  return hsc_module_fingerprint(module);
}

static void evaluate(const hsc_module *module, uint64_t seed, hsc_arena *arena, hsc_literal **out) {
  hsc_literal *arguments[64];
  assert_true(module->entry->parameter_count <= 64);
  for (int i = 0; i < module->entry->parameter_count; i++) {
    EXPECT_OK(hsc_literal_create(arena, &module->entry->parameters[i]->shape, &arguments[i]));
    hsc_literal_fill(arguments[i], seed, (uint32_t)i);
  }
  EXPECT_OK(hsc_evaluate(module, module->entry->parameter_count, arguments, arena, out));
}

static void expect_same(const hsc_literal *before, const hsc_literal *after, const char *what) {
  hsc_difference d;
  EXPECT_OK(hsc_literal_compare(before, after, &d));
  if (d.nan_mismatches || (d.max_ulp > 64 && d.max_abs > 1e-4 && d.max_rel > 2e-2)) fail_msg("%s: %g became %g", what, d.left, d.right);
}

static void each_option_makes_a_difference(void **state) {
  for (size_t i = 0; i < HSC_COUNT_OF(options); i++) {
    size_t found = 0;
    while (found < HSC_COUNT_OF(programs) && strcmp(programs[found].option, options[i].name) != 0) found++;
    if (found == HSC_COUNT_OF(programs)) fail_msg("%s has no program here", options[i].name);
    char flipped[128];
    snprintf(flipped, sizeof flipped, "%s=%d", options[i].name, options[i].value ? 0 : strstr(options[i].name, "size") ? 4 : 1);
    hsc_module *original = parse(programs[found].program), *one = parse(programs[found].program), *other = parse(programs[found].program);
    hsc_hash128 x = simplified(one, NULL), y = simplified(other, flipped);
    if (x.low == y.low && x.high == y.high) fail_msg("%s: the same program with and without", options[i].name);
    hsc_arena *arena = NULL;
    hsc_literal *before = NULL, *after = NULL;
    EXPECT_OK(hsc_arena_create(&arena));
    evaluate(original, 3, arena, &before);
    evaluate(one, 3, arena, &after);
    expect_same(before, after, options[i].name);
    evaluate(other, 3, arena, &after);
    expect_same(before, after, flipped);
    hsc_arena_destroy(arena);
    hsc_module_destroy(original);
    hsc_module_destroy(one);
    hsc_module_destroy(other);
  }
}

// All of them the other way round, but for the one that changes numbers by its nature.
static void random_programs_keep_their_numbers(void **state) {
  hsc_bytes all = {0};
  for (size_t i = 0; i < HSC_COUNT_OF(options); i++)
    if (strcmp(options[i].name, "enable_floats_are_real") != 0)
      hsc_bytes_printf(&all, "%s=%d,", options[i].name, options[i].value ? 0 : strstr(options[i].name, "size") ? 4 : 1);
  for (uint64_t seed = 9000; seed < 9080; seed++)
    for (int way = 0; way < 2; way++) {
      random_module_options shape = random_module_options_default();
      shape.smooth = true;
      if (seed % 2) shape.features |= RANDOM_ALONE | RANDOM_IDIOMS;
      hsc_module *module = NULL;
      hsc_arena *arena = NULL;
      hsc_literal *before = NULL, *after = NULL;
      EXPECT_OK(random_module_create(seed, &shape, &module));
      EXPECT_OK(hsc_arena_create(&arena));
      evaluate(module, seed, arena, &before);
      EXPECT_OK(hsc_passes_run(module, "simplification", &(hsc_pass_options){.fuel = -1, .verify = true, .algsimp = way ? hsc_bytes_text(&all) : NULL}, NULL));
      evaluate(module, seed, arena, &after);
      expect_same(before, after, way ? "all switched" : "as they are");
      hsc_arena_destroy(arena);
      hsc_module_destroy(module);
    }
  hsc_bytes_deinit(&all);
}

static void mistakes_are_named(void **state) {
  static const struct {
    const char *text, *message;
  } cases[] = {{"enable_sink_broadcasts=true", "algsimp: unknown option 'enable_sink_broadcasts'"},
               {"enable_sink_broadcast=maybe", "algsimp: expected enable_sink_broadcast=true, false or a whole number, found 'maybe'"},
               {"very_small_gather_size=-1", "algsimp: expected very_small_gather_size=true, false or a whole number, found '-1'"}};
  for (size_t i = 0; i < HSC_COUNT_OF(cases); i++) {
    hsc_algsimp_options o = hsc_algsimp_options_default();
    hsc_status *status = hsc_algsimp_options_read(cases[i].text, &o);
    assert_non_null(status);
    assert_string_equal(hsc_status_message(status), cases[i].message);
    hsc_status_free(status);
  }
  hsc_algsimp_options o = hsc_algsimp_options_default();
  EXPECT_OK(hsc_algsimp_options_read("enable_floats_are_real,very_small_gather_size=7,enable_sink_broadcast=false", &o));
  assert_int_equal(o.enable_floats_are_real, 1);
  assert_int_equal(o.very_small_gather_size, 7);
  assert_int_equal(o.enable_sink_broadcast, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(each_option_makes_a_difference), cmocka_unit_test(random_programs_keep_their_numbers),
                                     cmocka_unit_test(mistakes_are_named)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
