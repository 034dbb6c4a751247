// test_algsimp_options.c - every option of the algebraic simplifier: a program that becomes another
// one when it is switched, with the same numbers; random programs with all of them switched; and
// what is said of names and values that are wrong.
#include "formats/common/formats.h"
#include "passes/manager/passes.h"
#include "random_module.h"
#include "unit.h"

#define SUM "s { p = f32[] parameter(0)\n q = f32[] parameter(1)\n ROOT r = f32[] add(p, q) }\n"

// [2,8] of [8,16] of [16,24], and one where another order gains a third only
#define NESTED_DOT \
  "HloModule t\nENTRY e { x = f32[2,8] parameter(0)\n y = f32[8,16] parameter(1)\n z = " \
  "f32[16,24] parameter(2)\n" \
  " d = f32[8,24] dot(y, z), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n ROOT r = " \
  "f32[2,24] dot(x, d), lhs_contracting_dims={1}, rhs_contracting_dims={0} }"
#define NESTED_DOT_OF_LITTLE_GAIN \
  "HloModule t\nENTRY e { x = f32[6,8] parameter(0)\n y = f32[8,8] parameter(1)\n z = f32[8,8] " \
  "parameter(2)\n" \
  " d = f32[8,8] dot(y, z), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n ROOT r = " \
  "f32[6,8] dot(x, d), lhs_contracting_dims={1}, rhs_contracting_dims={0} }"

static const struct {
  const char *option, *program;
  const char *with;  // other options that it needs; NULL = none
} programs[] = {
    {"enable_dot_strength_reduction",
     "HloModule t\nENTRY e { x = f32[6,4] parameter(0)\n y = f32[4] parameter(1)\n"
     " ROOT d = f32[6] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0} }"},
    {"enable_dot_to_multiply_rewrite",
     "HloModule t\nENTRY e { x = f32[2,6] parameter(0)\n y = f32[4,2] parameter(1)\n"
     " ROOT d = f32[2,6,4] dot(x, y), lhs_batch_dims={0}, rhs_batch_dims={1} }"},
    {"enable_conv_simplification",
     "HloModule t\nENTRY e { x = f32[2,5,3] parameter(0)\n k = f32[1,1,3] parameter(1)\n"
     " ROOT c = f32[2,5,3] convolution(x, k), window={size=1}, dim_labels=b0f_0io->b0f, "
     "feature_group_count=3 }"},
    {"enable_scalar_multiply_reduction",
     "HloModule t\nENTRY e { x = f32[6,40] parameter(0)\n y = f32[40,3] parameter(1)\n a = f32[] "
     "parameter(2)\n w = f32[6,40] broadcast(a), dimensions={}\n"
     " m = f32[6,40] multiply(x, w)\n ROOT d = f32[6,3] dot(m, y), lhs_contracting_dims={1}, "
     "rhs_contracting_dims={0} }"},
    {"enable_floats_are_real",
     "HloModule t\nENTRY e { x = f32[6] parameter(0)\n ROOT d = f32[6] subtract(x, x) }"},
    {"enable_window_reduce_to_reduce_replacement",
     "HloModule t\n" SUM "ENTRY e { x = f32[4,6] parameter(0)\n z = f32[] constant(0)\n"
     " ROOT d = f32[4,1] reduce-window(x, z), window={size=1x6}, to_apply=s }"},
    {"enable_reduce_of_reshape",
     "HloModule t\n" SUM
     "ENTRY e { x = f32[4,6] parameter(0)\n z = f32[] constant(0)\n r = f32[2,12] reshape(x)\n"
     " ROOT d = f32[] reduce(r, z), dimensions={0,1}, to_apply=s }"},
    {"enable_negative_padding_replacement",
     "HloModule t\nENTRY e { x = f32[8] parameter(0)\n z = f32[] constant(0)\n ROOT d = f32[5] "
     "pad(x, z), padding=-1_-2 }"},
    {"enable_sink_broadcast",
     "HloModule t\nENTRY e { x = f32[8] parameter(0)\n y = f32[8] parameter(1)\n a = f32[8,4] "
     "broadcast(x), dimensions={0}\n b = f32[8,4] broadcast(y), dimensions={0}\n"
     " ROOT d = f32[8,4] atan2(a, b) }"},
    {"unconditionally_simplify_reduce_of_transpose_or_reshape",
     "HloModule t\n" SUM "ENTRY e { x = f32[4,6] parameter(0)\n z = f32[] constant(0)\n r = "
     "f32[6,4] transpose(x), dimensions={1,0}\n"
     " d = f32[6] reduce(r, z), dimensions={1}, to_apply=s\n ROOT t = (f32[6], f32[6,4]) tuple(d, "
     "r) }"},
    {"very_small_gather_size",
     "HloModule t\nENTRY e { x = f32[3] parameter(0)\n i = s32[5,1] parameter(1)\n"
     " ROOT g = f32[5] gather(x, i), offset_dims={}, collapsed_slice_dims={0}, "
     "start_index_map={0}, index_vector_dim=1, slice_sizes={1} }"},
    {"enable_unconditional_reduce_of_concat_replacement",
     "HloModule t\n" SUM
     "ENTRY e { x = f32[4,6] parameter(0)\n y = f32[2,6] parameter(1)\n z = f32[] constant(1)\n"
     " c = f32[6,6] concatenate(x, y), dimensions={0}\n ROOT d = f32[6] reduce(c, z), "
     "dimensions={0}, to_apply=s }"},
    {"enable_remove_no_op_reduce_precision",
     "HloModule t\nENTRY e { x = f32[8] parameter(0)\n ROOT d = f32[8] reduce-precision(x), "
     "exponent_bits=8, mantissa_bits=23 }"},
    {"enable_fast_math",
     "HloModule t\nENTRY e { x = f32[6] parameter(0)\n y = f32[6] exponential(x)\n ROOT d = f32[6] "
     "log(y) }"},
    {"minmax_propagate_nan",
     "HloModule t\nENTRY e { x = f32[6] parameter(0)\n c = f32[] constant(-inf)\n cs = f32[6] "
     "broadcast(c), dimensions={}\n m = f32[6] maximum(x, cs)\n"
     " ROOT d = f32[6] negate(m) }"},
    {"executing_on_cpu",
     "HloModule t\nENTRY e { x = f32[6,4] parameter(0)\n y = f32[6] parameter(1)\n a = f32[6] "
     "exponential(y)\n b = f32[6,4] broadcast(a), dimensions={0}\n"
     " ROOT d = f32[6,4] divide(x, b) }"},
    {"enable_move_dot_param_to_rhs",
     "HloModule t\nENTRY e { x = f32[4,8] parameter(0)\n y = f32[8,6] parameter(1)\n z = f32[8,6] "
     "parameter(2)\n a = f32[8,6] add(y, z)\n"
     " ROOT r = f32[4,6] dot(x, a), lhs_contracting_dims={1}, rhs_contracting_dims={0} }"},
    {"supports_non_canonical_dots",
     "HloModule t\n" SUM
     "ENTRY e { x = f32[2,3,4] parameter(0)\n y = f32[2,4,5] parameter(1)\n z = f32[] constant(0)\n"
     " d = f32[2,3,5] dot(x, y), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, "
     "rhs_contracting_dims={1}\n ROOT r = f32[3,5] reduce(d, z), dimensions={0}, to_apply=s }"},
    {"use_associative_reordering", NESTED_DOT},
    {"associative_reordering_threshold", NESTED_DOT_OF_LITTLE_GAIN, "use_associative_reordering"},
    {"raise_slice_and_reduce_through_dot",
     "HloModule t\nENTRY e { x = f32[8,3] parameter(0)\n y = f32[3,9] parameter(1)\n d = f32[8,9] "
     "dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
     " ROOT s = f32[2,4] slice(d), slice={[1:3], [2:9:2]} }"},
    {"raise_slice_and_reduce_through_dot_threshold",
     "HloModule t\n" SUM
     "ENTRY e { x = f32[2,3] parameter(0)\n y = f32[3,2] parameter(1)\n z = f32[] constant(0)\n"
     " d = f32[2,2] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n ROOT s = "
     "f32[2] reduce(d, z), dimensions={0}, to_apply=s }",
     "raise_slice_and_reduce_through_dot"},
    {"enable_folding_pad_into_convolution",
     "HloModule t\nENTRY e { x = f32[1,4,2] parameter(0)\n k = f32[3,2,5] parameter(1)\n z = f32[] "
     "constant(0)\n p = f32[1,6,2] pad(x, z), padding=0_0x1_1x0_0\n"
     " ROOT c = f32[1,4,5] convolution(p, k), window={size=3}, dim_labels=b0f_0io->b0f }"},
    {"enable_conv_operand_swap",
     "HloModule t\nENTRY e { x = f32[1,3,2] parameter(0)\n k = f32[8,2,4] parameter(1)\n"
     " ROOT c = f32[1,10,4] convolution(x, k), window={size=8 pad=7_7}, dim_labels=b0f_0io->b0f }"},
    {"enable_conv_add_multiply_reorder",
     "HloModule t\nENTRY e { x = f32[1,4,1] parameter(0)\n k = f32[1,1,2] constant({{{3, 5}}})\n b "
     "= f32[1,4,2] parameter(1)\n c0 = f32[2] constant({2, 7})\n"
     " c = f32[1,4,2] broadcast(c0), dimensions={2}\n v = f32[1,4,2] convolution(x, k), "
     "window={size=1}, dim_labels=b0f_0io->b0f\n a = f32[1,4,2] add(v, b)\n ROOT r = f32[1,4,2] "
     "multiply(a, c) }"},
    {"enable_dynamic_update_slice_to_pad_replacement",
     "HloModule t\nENTRY e { x = f32[2] parameter(0)\n c0 = f32[] constant(0)\n c = f32[5] "
     "broadcast(c0), dimensions={}\n i = s32[] constant(1)\n"
     " ROOT r = f32[5] dynamic-update-slice(c, x, i) }"},
    {"enable_broadcast_degenerate_dimension",
     "HloModule t\nENTRY e { x = f32[3,1] parameter(0)\n ROOT b = f32[3,1,4] broadcast(x), "
     "dimensions={0,1} }"},
    {"rewrite_reshape_transpose_as_slice_concatenate",
     "HloModule t\nENTRY e { x = f32[2,3,4] parameter(0)\n a = f32[2,3,2,2] reshape(x)\n t = "
     "f32[2,2,3,2] transpose(a), dimensions={0,2,1,3}\n"
     " ROOT r = f32[2,6,2] reshape(t) }"},
    {"enable_hoist_transpose_of_reshape",
     "HloModule t\nENTRY e { x = f32[2,12] parameter(0)\n a = f32[2,3,2,2] reshape(x)\n t = "
     "f32[3,2,2,2] transpose(a), dimensions={1,0,2,3}\n"
     " ROOT r = f32[3,2,4] reshape(t) }"},
    {"enable_fold_transpose_into_scatter",
     "HloModule t\n" SUM "ENTRY e { x = f32[4,4] parameter(0)\n i = s32[3,1] parameter(1)\n u = "
     "f32[3,1,1] parameter(2)\n"
     " w = f32[4,4] scatter(x, i, u), update_window_dims={1,2}, inserted_window_dims={}, "
     "scatter_dims_to_operand_dims={1}, index_vector_dim=1, to_apply=s\n"
     " ROOT t = f32[4,4] transpose(w), dimensions={1,0} }"},
    {"enable_conditional_simplification",
     "HloModule t\na { p = f32[] parameter(0)\n ROOT n = f32[] negate(p) }\nb { q = f32[] "
     "parameter(0)\n ROOT m = f32[] add(q, q) }\n"
     "ENTRY e { p = pred[] parameter(0)\n x = f32[] parameter(1)\n i = s32[] convert(p)\n ROOT c = "
     "f32[] conditional(i, x, x), branch_computations={a, b} }"},
    {"run_to_fixed_point",
     "HloModule t\nENTRY e { x = s32[3] parameter(0)\n y = s32[2] parameter(1)\n a = s32[5] "
     "concatenate(x, y), dimensions={0}\n"
     " b = s32[8] concatenate(a, x), dimensions={0}\n m = s32[5] subtract(a, a)\n ROOT t = "
     "(s32[8], s32[5]) tuple(b, m) }"},
    {"disable_dynamic_slice_to_slice_conversion",
     "HloModule t\nENTRY e { x = f32[8] parameter(0)\n i = s32[] constant(2)\n ROOT d = f32[3] "
     "dynamic-slice(x, i), dynamic_slice_sizes={3} }"},
};

static const struct {
  const char *name;
  int value;
} options[] = {
#define OPTION(name, value, doc) {#name, value},
#include "passes/manager/algsimp_options.def"
#undef OPTION
};

static hsc_module *parse(const char *text) {
  hsc_module *module = NULL;
  EXPECT_OK(hsc_hlo_text_parse(hsc_view_of(text), "test.hlo", &module));
  EXPECT_OK(hsc_module_verify(module));
  return module;
}

static hsc_hash128 simplified(hsc_module *module, const char *algsimp) {
  EXPECT_OK(hsc_passes_run(module, "algsimp",
                           &(hsc_pass_options){.fuel = -1, .verify = true, .algsimp = algsimp},
                           NULL));
  EXPECT_OK(hsc_passes_run(module, "dce", NULL, NULL));
  return hsc_module_fingerprint(module);
}

static void expect_same(const hsc_literal *before, const hsc_literal *after, const char *what) {
  hsc_difference d;
  EXPECT_OK(hsc_literal_compare(before, after, &d));
  if (d.nan_mismatches || (d.max_ulp > 64 && d.max_abs > 1e-4 && d.max_rel > 2e-2))
    fail_msg("%s: %g became %g", what, d.left, d.right);
}

static void each_option_makes_a_difference(void **state) {
  for (size_t i = 0; i < HSC_COUNT_OF(options); i++) {
    size_t found = 0;
    while (found < HSC_COUNT_OF(programs) && strcmp(programs[found].option, options[i].name) != 0)
      found++;
    if (found == HSC_COUNT_OF(programs))
      fail_msg("%s has no program here", options[i].name);
    char flipped[160];
    const char *with = programs[found].with ? programs[found].with : "";
    snprintf(flipped, sizeof flipped, "%s%s%s=%d", with, *with ? "," : "", options[i].name,
             options[i].value                  ? 0
             : strstr(options[i].name, "size") ? 4
                                               : 1);
    hsc_module *original = parse(programs[found].program);
    hsc_module *one = parse(programs[found].program);
    hsc_module *other = parse(programs[found].program);
    hsc_hash128 x = simplified(one, with);
    hsc_hash128 y = simplified(other, flipped);
    if (x.low == y.low && x.high == y.high)
      fail_msg("%s: the same program with and without", options[i].name);
    hsc_arena *arena = NULL;
    hsc_literal *before = NULL;
    hsc_literal *after = NULL;
    EXPECT_OK(hsc_arena_create(&arena));
    EXPECT_OK(random_module_evaluate(original, 3, arena, &before));
    EXPECT_OK(random_module_evaluate(one, 3, arena, &after));
    expect_same(before, after, options[i].name);
    EXPECT_OK(random_module_evaluate(other, 3, arena, &after));
    expect_same(before, after, flipped);
    hsc_arena_destroy(arena);
    hsc_module_destroy(original);
    hsc_module_destroy(one);
    hsc_module_destroy(other);
  }
}

// All of them the other way round, but for those that change numbers by their nature.
static void random_programs_keep_their_numbers(void **state) {
  hsc_bytes all = {0};
  for (size_t i = 0; i < HSC_COUNT_OF(options); i++)
    if (strcmp(options[i].name, "enable_floats_are_real") != 0 &&
        strcmp(options[i].name, "enable_fast_math") != 0)
      hsc_bytes_printf(&all, "%s=%d,", options[i].name,
                       options[i].value                  ? 0
                       : strstr(options[i].name, "size") ? 4
                                                         : 1);
  for (uint64_t seed = 9000; seed < 9080; seed++)
    for (int way = 0; way < 2; way++) {
      random_module_options shape = random_module_options_default();
      shape.smooth = true;
      if (seed % 2)
        shape.features |= RANDOM_ALONE | RANDOM_IDIOMS;
      hsc_module *module = NULL;
      hsc_arena *arena = NULL;
      hsc_literal *before = NULL;
      hsc_literal *after = NULL;
      EXPECT_OK(random_module_create(seed, &shape, &module));
      EXPECT_OK(hsc_arena_create(&arena));
      EXPECT_OK(random_module_evaluate(module, seed, arena, &before));
      EXPECT_OK(hsc_passes_run(
          module, "simplification",
          &(hsc_pass_options){
              .fuel = -1, .verify = true, .algsimp = way ? hsc_bytes_text(&all) : NULL},
          NULL));
      EXPECT_OK(random_module_evaluate(module, seed, arena, &after));
      expect_same(before, after, way ? "all switched" : "as they are");
      hsc_arena_destroy(arena);
      hsc_module_destroy(module);
    }
  hsc_bytes_deinit(&all);
}

static void mistakes_are_named(void **state) {
  static const struct {
    const char *text, *message;
  } cases[] = {
      {"enable_sink_broadcasts=true", "algsimp: unknown option 'enable_sink_broadcasts'"},
      {"enable_sink_broadcast=maybe",
       "algsimp: expected enable_sink_broadcast=true, false or a whole number, found 'maybe'"},
      {"very_small_gather_size=-1",
       "algsimp: expected very_small_gather_size=true, false or a whole number, found '-1'"}};
  for (size_t i = 0; i < HSC_COUNT_OF(cases); i++) {
    hsc_algsimp_options o = hsc_algsimp_options_default();
    hsc_status *status = hsc_algsimp_options_read(cases[i].text, &o);
    assert_non_null(status);
    assert_string_equal(hsc_status_message(status), cases[i].message);
    hsc_status_free(status);
  }
  hsc_algsimp_options o = hsc_algsimp_options_default();
  EXPECT_OK(hsc_algsimp_options_read(
      "enable_floats_are_real,very_small_gather_size=7,enable_sink_broadcast=false", &o));
  assert_int_equal(o.enable_floats_are_real, 1);
  assert_int_equal(o.very_small_gather_size, 7);
  assert_int_equal(o.enable_sink_broadcast, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(each_option_makes_a_difference),
                                     cmocka_unit_test(random_programs_keep_their_numbers),
                                     cmocka_unit_test(mistakes_are_named)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
