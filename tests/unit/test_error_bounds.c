// Running error analysis: what is exact stays exact, what rounds has a bound that holds and is not
// much too large, and what cannot be said is said to be so.
#include "unit.h"

#include <math.h>

#include "formats/common/formats.h"
#include "hlo/error/error_bounds.h"

static hsc_arena *arena;
static hsc_module *module;

// The program's result on inputs by the seed; `whole`: rounded to whole numbers.
static hsc_bounded *bounds_with(const char *text, bool whole, const hsc_error_options *options) {
  hsc_literal *arguments[8];
  hsc_bounded *result = NULL;
  hsc_module_destroy(module);
  module = NULL;
  EXPECT_OK(hsc_hlo_text_parse(hsc_view_of(text), "test.hlo", &module));
  EXPECT_OK(hsc_module_verify(module));
  int count = module->entry->parameter_count;
  for (int p = 0; p < count; p++) {
    EXPECT_OK(hsc_literal_create(arena, &module->entry->parameters[p]->shape, &arguments[p]));
    hsc_literal_fill(arguments[p], 7, (uint32_t)p);
    for (int64_t i = 0; whole && i < hsc_shape_elements(&arguments[p]->shape); i++)
      hsc_literal_set_double(arguments[p], i, rint(9 * hsc_literal_get_double(arguments[p], i)));
  }
  EXPECT_OK(hsc_evaluate_bounded(module, count, arguments, options, arena, &result));
  return result;
}
static hsc_bounded *bounds(const char *text) {
  return bounds_with(text, false, &(hsc_error_options){0});
}

static double largest(const hsc_bounded *b) {
  double most = 0;
  int64_t count = hsc_shape_elements(&b->value->shape);
  for (int64_t i = 0; b->error && i < count; i++)
    most = isnan(b->error[i]) ? NAN : fmax(most, b->error[i]);
  return most;
}

static const char dot[] =
    "HloModule m\nENTRY main {\n x = f32[8,64] parameter(0)\n w = f32[64,8] parameter(1)\n"
    " ROOT d = f32[8,8] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}\n";

static void sums_of_whole_numbers_are_exact(void **state) {
  (void)state;
  assert_null(bounds_with(dot, true, &(hsc_error_options){0})->error);
  assert_non_null(bounds(dot)->error);
}

static void a_product_may_be_rounded_in_any_order(void **state) {
  (void)state;
  hsc_bounded *b = bounds(dot);
  hsc_bounded *short_factors =
      bounds_with(dot, false, &(hsc_error_options){.factor_unit = 0x1p-11});
  double size = 0;
  for (int i = 0; i < 64; i++)
    size = fmax(size, fabs(hsc_literal_get_double(b->value, i)));
  assert_true(largest(b) > 64 * 0x1p-24 * size && largest(b) < 1e-3);
  assert_true(largest(short_factors) > 50 * largest(b));
}

static void moves_take_errors_along(void **state) {
  (void)state;
  hsc_bounded *b = bounds(
      "HloModule m\nENTRY main {\n x = f32[3] parameter(0)\n zero = f32[1] constant({0})\n"
      " e = f32[3] exponential(x)\n c = f32[4] concatenate(zero, e), dimensions={0}\n"
      " ROOT r = f32[4] reverse(c), dimensions={0}\n}\n");
  assert_non_null(b->error);
  assert_true(b->error[0] > 0 && b->error[1] > 0 && b->error[2] > 0);
  assert_true(b->error[3] == 0);
}

static void a_doubtful_choice_covers_both(void **state) {
  (void)state;
  hsc_bounded *b = bounds(
      "HloModule m\nENTRY main {\n x = f32[] parameter(0)\n e = f32[] exponential(x)\n"
      " l = f32[] log(e)\n p = pred[] compare(l, x), direction=LT\n a = f32[] constant(3)\n"
      " b = f32[] constant(10)\n ROOT s = f32[] select(p, a, b)\n}\n");
  assert_true(largest(b) == 7);
}

static void a_sure_choice_is_exact(void **state) {
  (void)state;
  hsc_bounded *b = bounds(
      "HloModule m\nENTRY main {\n x = f32[] parameter(0)\n e = f32[] exponential(x)\n"
      " n = f32[] constant(-1)\n p = pred[] compare(n, e), direction=LT\n a = f32[] constant(3)\n"
      " b = f32[] constant(10)\n ROOT s = f32[] select(p, a, b)\n}\n");
  assert_null(b->error);
}

static void cancellation_loses_digits(void **state) {
  (void)state;
  hsc_bounded *b = bounds(
      "HloModule m\nENTRY main {\n x = f32[4] parameter(0)\n big = f32[] constant(100000)\n"
      " bigs = f32[4] broadcast(big), dimensions={}\n s = f32[4] add(x, bigs)\n"
      " ROOT d = f32[4] subtract(s, bigs)\n}\n");
  assert_true(hsc_bounded_relative(b) > 1e-3);
  for (int i = 0; i < 4; i++) {
    double lost = fabs(hsc_literal_get_double(b->value, i));
    assert_true(b->error[i] < 1 && lost < 2);
  }
}

static void a_root_of_what_may_be_negative_is_anything(void **state) {
  (void)state;
  hsc_bounded *b = bounds(
      "HloModule m\nENTRY main {\n x = f32[] parameter(0)\n e = f32[] exponential(x)\n"
      " l = f32[] log(e)\n d = f32[] subtract(l, x)\n a = f32[] abs(d)\n ROOT r = f32[] "
      "sqrt(a)\n}\n");
  assert_true(isinf(largest(b)));
}

static void nan_has_no_place_in_an_order(void **state) {
  (void)state;
  hsc_bounded *b = bounds(
      "HloModule m\nless {\n p = f32[] parameter(0)\n q = f32[] parameter(1)\n"
      " ROOT r = pred[] compare(p, q), direction=LT\n}\nENTRY main {\n"
      " x = f32[3] constant({2, nan, 1})\n ROOT s = f32[3] sort(x), dimensions={0}, "
      "to_apply=less\n}\n");
  assert_true(isinf(largest(b)));
}

// Keys 1 1 2 2 2 3 with the values 10 20 30 60 50 7 beside them.
#define SORTED(stable) \
  "HloModule m\nless {\n a = s32[] parameter(0)\n b = s32[] parameter(1)\n" \
  " c = f32[] parameter(2)\n d = f32[] parameter(3)\n" \
  " ROOT r = pred[] compare(a, b), direction=LT\n}\nENTRY main {\n" \
  " k = s32[6] constant({2, 1, 3, 2, 1, 2})\n v = f32[6] constant({30, 10, 7, 60, 20, 50})" \
  "\n ROOT s = (s32[6], f32[6]) sort(k, v), dimensions={0}, is_stable=" stable \
  ", to_apply=less\n}\n"

static void equal_keys_may_go_either_way(void **state) {
  (void)state;
  hsc_bounded *b = bounds(SORTED("false"));
  const double wanted[] = {10, 10, 30, 30, 20, 0};
  assert_true(largest(b->elements[0]) == 0);
  assert_non_null(b->elements[1]->error);
  for (int i = 0; i < 6; i++)
    assert_true(b->elements[1]->error[i] == wanted[i]);
  b = bounds(SORTED("true"));
  assert_null(b->elements[1]->error);
}

// A sort along the first of two dimensions: its lines lie a step apart.
static void equal_keys_of_each_line_are_its_own(void **state) {
  (void)state;
  hsc_bounded *b = bounds(
      "HloModule m\nless {\n a = s32[] parameter(0)\n b = s32[] parameter(1)\n"
      " c = s32[] parameter(2)\n d = s32[] parameter(3)\n"
      " ROOT r = pred[] compare(a, b), direction=LT\n}\nENTRY main {\n"
      " k = s32[2,2] constant({ {1, 4}, {1, 5} })\n v = s32[2,2] constant({ {10, 30}, {17, 40} })\n"
      " ROOT s = (s32[2,2], s32[2,2]) sort(k, v), dimensions={0}, to_apply=less\n}\n");
  const double wanted[] = {7, 0, 7, 0};
  assert_non_null(b->elements[1]->error);
  for (int i = 0; i < 4; i++)
    assert_true(b->elements[1]->error[i] == wanted[i]);
}

#define SCATTERED(unique) \
  "HloModule m\nlast {\n a = s32[] parameter(0)\n ROOT b = s32[] parameter(1)\n}\n" \
  "ENTRY main {\n x = s32[4] constant({1, 2, 3, 4})\n i = s32[3,1] constant({ {1}, {3}, {1} })\n" \
  " u = s32[3] constant({50, 60, 58})\n ROOT s = s32[4] scatter(x, i, u), update_window_dims={}" \
  ", inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, " \
  "unique_indices=" unique ", to_apply=last\n}\n"

static void which_update_is_last_is_open(void **state) {
  (void)state;
  hsc_bounded *b = bounds(SCATTERED("false"));
  const double wanted[] = {0, 8, 0, 0};
  assert_non_null(b->error);
  for (int i = 0; i < 4; i++)
    assert_true(b->error[i] == wanted[i]);
  assert_null(bounds(SCATTERED("true"))->error);
}

static const char loop[] =
    "HloModule m\nbody {\n s = (s32[], f32[]) parameter(0)\n"
    " i = s32[] get-tuple-element(s), index=0\n x = f32[] get-tuple-element(s), index=1\n"
    " one = s32[] constant(1)\n n = s32[] add(i, one)\n f = f32[] constant(1.1)\n"
    " y = f32[] multiply(x, f)\n ROOT t = (s32[], f32[]) tuple(n, y)\n}\n"
    "goes_on {\n s = (s32[], f32[]) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n"
    " x = f32[] get-tuple-element(s), index=1\n n = s32[] constant(50)\n h = f32[] "
    "constant(1.8156197)\n"
    " far = f32[] constant(2.9)\n"
    " ROOT p = pred[] compare(%s), direction=LT\n}\n"
    "ENTRY main {\n x = f32[] constant(0.7)\n z = s32[] constant(0)\n"
    " t = (s32[], f32[]) tuple(z, x)\n"
    " w = (s32[], f32[]) while(t), condition=goes_on, body=body\n"
    " ROOT r = f32[] get-tuple-element(w), index=1\n}\n";

static void a_loop_adds_up(void **state) {
  (void)state;
  char text[2048];
  snprintf(text, sizeof text, loop, "i, n");
  hsc_bounded *b = bounds(text);
  double value = hsc_literal_get_double(b->value, 0);
  double one_rounding = value * 0x1p-23;
  assert_true(b->error[0] > 40 * one_rounding && b->error[0] < 60 * one_rounding);
  double exact = 0.7f;
  for (int i = 0; i < 50; i++)
    exact *= 1.1f;
  assert_true(fabs(exact - value) <= b->error[0]);
}

static void a_loop_that_rounding_ends_is_not_known(void **state) {
  (void)state;
  char text[2048];
  snprintf(text, sizeof text, loop, "x, h");
  assert_true(isnan(largest(bounds(text))));
}

static void more_precision_is_legal(void **state) {
  (void)state;
  hsc_bounded *b = bounds(
      "HloModule m\nENTRY main {\n x = f32[64] parameter(0)\n ROOT c = bf16[64] convert(x)\n}\n");
  hsc_bounded *whole = bounds_with(
      "HloModule m\nENTRY main {\n x = f32[64] parameter(0)\n ROOT c = bf16[64] convert(x)\n}\n",
      true, &(hsc_error_options){0});
  assert_null(whole->error);
  for (int i = 0; i < 64; i++)
    assert_true(b->error[i] >= fabs(hsc_literal_get_double(b->value, i)) * 0x1p-9);
}

// One whose end is sure in spite of rounding is.
static void a_loop_that_ends_for_sure_is_known(void **state) {
  (void)state;
  char text[2048];
  snprintf(text, sizeof text, loop, "x, far");
  assert_true(isfinite(largest(bounds(text))));
}

// The same program in doubles is as legal as any.
static void doubles_are_within(void **state) {
  (void)state;
  static const char form[] =
      "HloModule m\nsum { a = %1$s[] parameter(0)  b = %1$s[] parameter(1)  ROOT s = %1$s[] add(a, "
      "b) }\nENTRY main {\n p = f32[16,32] parameter(0)\n x = %1$s[16,32] %2$s(p)\n"
      " zero = %1$s[] constant(0)\n e = %1$s[16,32] exponential(x)\n"
      " t = %1$s[16] reduce(e, zero), dimensions={1}, to_apply=sum\n"
      " ts = %1$s[16,32] broadcast(t), dimensions={0}\n q = %1$s[16,32] divide(e, ts)\n"
      " l = %1$s[16,32] log(q)\n h = %1$s[16,32] tanh(l)\n"
      " ROOT r = %1$s[16,32] multiply(h, q)\n}\n";
  char narrow[2048];
  char wide[2048];
  snprintf(narrow, sizeof narrow, form, "f32", "copy");
  snprintf(wide, sizeof wide, form, "f64", "convert");
  hsc_bounded *b = bounds(narrow);
  hsc_bounded *exact = bounds(wide);
  double closest = INFINITY;
  for (int i = 0; i < 512; i++) {
    double apart =
        fabs(hsc_literal_get_double(b->value, i) - hsc_literal_get_double(exact->value, i));
    assert_true(apart <= b->error[i]);
    closest = fmin(closest, b->error[i] / fmax(apart, 1e-300));
  }
  assert_true(closest < 100);  // and not a hundred times too large everywhere
}

static void a_unit_is_half_a_last_place(void **state) {
  (void)state;
  assert_true(hsc_type_unit(HSC_TYPE_F32) == 0x1p-24);
  assert_true(hsc_type_unit(HSC_TYPE_F64) == 0x1p-53);
  assert_true(hsc_type_unit(HSC_TYPE_BF16) == 0x1p-8);
  assert_true(hsc_type_unit(HSC_TYPE_F16) == 0x1p-11);
  assert_true(hsc_type_unit(HSC_TYPE_C64) == 0x1p-24);
  assert_true(hsc_type_unit(HSC_TYPE_S32) == 0);
}

static int set_up(void **state) {
  (void)state;
  EXPECT_OK(hsc_arena_create(&arena));
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  hsc_module_destroy(module);
  module = NULL;
  hsc_arena_destroy(arena);
  return 0;
}

// A reduction that does not begin with what changes nothing, or whose function is no sum, has no
// one result; what it is beside stays exact.
static void a_reduction_that_is_no_monoid_is_anything(void **state) {
  (void)state;
  static const struct {
    const char *type, *op, *init;
    bool open;
  } cases[] = {
      {"s32", "minimum", "2", true},      {"s32", "minimum", "2147483647", false},
      {"s32", "add", "2", true},          {"s32", "add", "0", false},
      {"u8", "and", "255", false},        {"u8", "and", "1", true},
      {"s32", "and", "-1", false},        {"f32", "maximum", "-inf", false},
      {"f32", "maximum", "-3e38", false}, {"f32", "maximum", "0", true},
      {"f32", "multiply", "1", false},    {"f32", "multiply", "2", true},
      {"f32", "subtract", "0", true},     {"pred", "or", "false", false},
      {"pred", "and", "false", true},
  };
  for (size_t i = 0; i < HSC_COUNT_OF(cases); i++) {
    char text[512];
    const char *type = cases[i].type;
    snprintf(text, sizeof text,
             "HloModule m\nf { a = %s[] parameter(0)\n b = %s[] parameter(1)\n"
             " ROOT r = %s[] %s(a, b) }\n"
             "ENTRY main {\n x = %s[2,1] parameter(0)\n i = %s[] constant(%s)\n"
             " r = %s[2] reduce(x, i), dimensions={1}, to_apply=f\n"
             " ROOT t = (%s[2], %s[2,1]) tuple(r, x)\n}\n",
             type, type, type, cases[i].op, type, type, cases[i].init, type, type, type);
    hsc_bounded *result = bounds(text);
    assert_int_equal(isinf(largest(result->elements[0])), cases[i].open);
    assert_true(largest(result->elements[1]) == 0);
  }
  // what is made of it may be anything as well: integers shifted, a choice by it
  assert_true(isinf(
      largest(bounds("HloModule m\nf { a = s32[] parameter(0)\n b = s32[] parameter(1)\n"
                     " ROOT r = s32[] minimum(a, b) }\n"
                     "ENTRY main {\n x = s32[2,1] parameter(0)\n i = s32[] constant(2)\n"
                     " r = s32[2] reduce(x, i), dimensions={1}, to_apply=f\n"
                     " s = s32[2] shift-left(r, r)\n p = pred[2] compare(s, r), direction=LT\n"
                     " ROOT t = s32[2] select(p, s, r)\n}\n"))));
  assert_true(isinf(
      largest(bounds("HloModule m\nf { ROOT a = s32[] parameter(0)\n b = s32[] parameter(1) }\n"
                     "ENTRY main {\n x = s32[2,1] parameter(0)\n i = s32[] constant(0)\n"
                     " ROOT r = s32[2] reduce(x, i), dimensions={1}, to_apply=f\n}\n"))));
}

// XLA's devices take denormals for zero, whole arithmetic or not; what only hands bits on does not.
static void a_denormal_may_be_zero(void **state) {
  (void)state;
  hsc_bounded *b = bounds(
      "HloModule m\nENTRY main {\n i = s32[] constant(16)\n zero = f32[] constant(0)\n"
      " two = f32[] constant(2)\n four = f32[] constant(4)\n"
      " d = f32[] bitcast-convert(i)\n p = pred[] compare(d, zero), direction=GT\n"
      " m = f32[] multiply(d, two)\n s = f32[] sign(d)\n r = f32[1] reshape(d)\n"
      " back = s32[] bitcast-convert(d)\n w = f32[] multiply(two, four)\n"
      " ROOT t = (pred[], f32[], f32[], f32[1], s32[], f32[]) tuple(p, m, s, r, back, w)\n}\n");
  assert_true(largest(b->elements[0]) == 1);
  assert_true(largest(b->elements[1]) > 0 && largest(b->elements[1]) < 0x1p-125);
  assert_true(largest(b->elements[2]) == 1);
  for (int i = 3; i < 6; i++)
    assert_null(b->elements[i]->error);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sums_of_whole_numbers_are_exact),
      cmocka_unit_test(a_product_may_be_rounded_in_any_order),
      cmocka_unit_test(moves_take_errors_along),
      cmocka_unit_test(a_doubtful_choice_covers_both),
      cmocka_unit_test(a_sure_choice_is_exact),
      cmocka_unit_test(cancellation_loses_digits),
      cmocka_unit_test(a_root_of_what_may_be_negative_is_anything),
      cmocka_unit_test(nan_has_no_place_in_an_order),
      cmocka_unit_test(equal_keys_may_go_either_way),
      cmocka_unit_test(equal_keys_of_each_line_are_its_own),
      cmocka_unit_test(which_update_is_last_is_open),
      cmocka_unit_test(a_loop_adds_up),
      cmocka_unit_test(a_loop_that_rounding_ends_is_not_known),
      cmocka_unit_test(a_loop_that_ends_for_sure_is_known),
      cmocka_unit_test(more_precision_is_legal),
      cmocka_unit_test(doubles_are_within),
      cmocka_unit_test(a_unit_is_half_a_last_place),
      cmocka_unit_test(a_denormal_may_be_zero),
      cmocka_unit_test(a_reduction_that_is_no_monoid_is_anything),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
