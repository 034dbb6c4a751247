// CHLO's operations, taken apart by the import: special functions against SciPy's values within
// bounds, whole numbers and bits exactly, and the shapes of the broadcasting ones. The farthest
// that is seen is printed.
#include "unit.h"

#include <float.h>
#include <math.h>

#include "formats/common/formats.h"

enum { MAX_VALUES = 64 };

// In units of the last place of the result; of the gamma functions, which pass through zero, at
// least of 1. Near +-1 the inverse of erf multiplies the rounding of x^2, far out erfc that of
// exp's argument.
#define BOUNDS(BOUND) \
  BOUND(erfc, 60, 8) \
  BOUND(erf_inv, 80, 8000) \
  BOUND(bessel_i1e, 20, 4) \
  BOUND(lgamma, 16, 30) \
  BOUND(digamma, 10, 20) \
  BOUND(zeta, 4, 8) \
  BOUND(polygamma, 100, 200)
enum {
#define BOUND(name, f32, f64) BOUND_##name##_f32 = f32, BOUND_##name##_f64 = f64,
  BOUNDS(BOUND)
#undef BOUND
};

static hsc_literal *run(const char *text,
                        int count,
                        hsc_literal *const *arguments,
                        hsc_arena *arena) {
  hsc_module *module;
  hsc_status *status =
      hsc_program_read_as(HSC_FORMAT_MLIR_TEXT, hsc_view_of(text), "test", &module);
  if (status)
    fail_msg("%s\n%s", hsc_status_message(status), text);
  hsc_literal *result, *kept;
  EXPECT_OK(hsc_evaluate(module, count, arguments, arena, &result));
  EXPECT_OK(hsc_literal_copy(arena, result, &kept));
  hsc_module_destroy(module);
  return kept;
}

static double units(double got, double want, bool is_f32, bool of_one) {
  if (isnan(want) || isinf(want))
    return (isnan(want) && isnan(got)) || got == want ? 0 : INFINITY;
  if (isnan(got) || isinf(got))
    return INFINITY;
  if (got == want)
    return 0;
  int exponent;
  frexp(of_one && fabs(want) < 1 ? 1 : want, &exponent);
  return fabs(got - want) / ldexp(is_f32 ? FLT_EPSILON : DBL_EPSILON, exponent - 1);
}

static void one_function(const char *name,
                         const char *type,
                         double bound,
                         int operands,
                         int count,
                         const double *x,
                         const double *y,
                         const double *want) {
  char text[600];
  hsc_arena *arena = NULL;
  EXPECT_OK(hsc_arena_create(&arena));
  bool is_f32 = !strcmp(type, "f32");
  char tensor[32];
  snprintf(tensor, sizeof tensor, "tensor<%dx%s>", count, type);
  const char *second = operands == 2 ? tensor : "";
  const char *comma = operands == 2 ? ", " : "";
  snprintf(text, sizeof text,
           "func.func @main(%%a: %s, %%b: %s) -> %s {\n  %%r = chlo.%s %%a%s : %s%s%s -> %s\n  "
           "return %%r : %s\n}\n",
           tensor, tensor, tensor, name, operands == 2 ? ", %b" : "", tensor, comma, second, tensor,
           tensor);
  hsc_shape shape =
      hsc_shape_array(arena, is_f32 ? HSC_TYPE_F32 : HSC_TYPE_F64, 1, (int64_t[]){count});
  hsc_literal *arguments[2], *result;
  for (int k = 0; k < 2; k++)
    EXPECT_OK(hsc_literal_create(arena, &shape, &arguments[k]));
  for (int i = 0; i < count; i++) {
    hsc_literal_set_double(arguments[0], i, x[i]);
    hsc_literal_set_double(arguments[1], i, operands == 2 ? y[i] : 0);
  }
  result = run(text, 2, arguments, arena);
  double farthest = 0;
  int at = 0;
  for (int i = 0; i < count; i++) {
    double distance =
        units(hsc_literal_get_double(result, i), want[i], is_f32, strstr(name, "gamma") != NULL);
    if (distance > farthest) {
      farthest = distance;
      at = i;
    }
  }
  printf("# chlo.%s %s: %.1f of %.0f\n", name, type, farthest, bound);
  if (!(farthest <= bound))
    fail_msg(
        "chlo.%s %s: at %.17g, %.17g it gives %.17g instead of %.17g: %.1f units, %.0f allowed",
        name, type, x[at], operands == 2 ? y[at] : 0, hsc_literal_get_double(result, at), want[at],
        farthest, bound);
  hsc_arena_destroy(arena);
}

#define VALUES(...) ((const double[]){__VA_ARGS__})
static void special_functions_agree_with_scipy(void **state) {
  (void)state;
#define CASE(name, type, bound, operands, x, y, want) \
  one_function(#name, #type, bound, operands, (int)(sizeof x / sizeof(double)), x, y, want);
#include "chlo_cases.def"
#undef CASE
}

// The whole program in `text` gives these numbers.
static void expect_numbers(const char *text, int count, const int64_t *want) {
  hsc_arena *arena = NULL;
  EXPECT_OK(hsc_arena_create(&arena));
  hsc_literal *result = run(text, 0, NULL, arena);
  assert_int_equal(hsc_shape_elements(&result->shape), count);
  for (int i = 0; i < count; i++)
    if (hsc_literal_get_int(result, i) != want[i])
      fail_msg("element %d is %lld instead of %lld in\n%s", i,
               (long long)hsc_literal_get_int(result, i), (long long)want[i], text);
  hsc_arena_destroy(arena);
}
#define EXPECT_NUMBERS(text, ...) \
  expect_numbers(text, (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), \
                 (int64_t[]){__VA_ARGS__})

static void upper_halves_of_products(void **state) {
  (void)state;
#define MULHI(type, a, b) \
  "func.func @main() -> tensor<4x" type "> {\n  %a = stablehlo.constant dense<" a \
  "> : tensor<4x" type ">\n  %b = stablehlo.constant dense<" b "> : tensor<4x" type \
  ">\n  %r = chlo.mulhi %a, %b : tensor<4x" type ">, tensor<4x" type "> -> tensor<4x" type \
  ">\n  return %r : tensor<4x" type ">\n}\n"
  EXPECT_NUMBERS(MULHI("i8", "[-128, 127, -1, 100]", "[-128, 127, 1, -100]"), 64, 63, -1, -40);
  EXPECT_NUMBERS(MULHI("ui8", "[255, 16, 1, 200]", "[255, 16, 1, 200]"), 254, 1, 0, 156);
  EXPECT_NUMBERS(
      MULHI("i32", "[2147483647, -2147483648, -1, 65536]", "[2147483647, -2147483648, 1, 65536]"),
      1073741823, 1073741824, -1, 1);
  EXPECT_NUMBERS(MULHI("i64", "[9223372036854775807, -9223372036854775808, -1, 4294967296]",
                       "[9223372036854775807, -9223372036854775808, 1, -4294967296]"),
                 4611686018427387903, 4611686018427387904, -1, -1);
  EXPECT_NUMBERS(MULHI("ui64", "[18446744073709551615, 4294967296, 1, 9223372036854775808]",
                       "[18446744073709551615, 4294967296, 1, 2]"),
                 -2, 1, 0, 1);
}

static void next_floats(void **state) {
  (void)state;
#define NEXT(type, ints, a, b) \
  "func.func @main() -> tensor<6x" ints "> {\n  %a = stablehlo.constant dense<" a \
  "> : tensor<6x" type ">\n  %b = stablehlo.constant dense<" b "> : tensor<6x" type \
  ">\n  %n = chlo.next_after %a, %b : tensor<6x" type ">, tensor<6x" type "> -> tensor<6x" type \
  ">\n" \
  "  %r = stablehlo.bitcast_convert %n : (tensor<6x" type ">) -> tensor<6x" ints \
  ">\n  return %r : tensor<6x" ints ">\n}\n"
  EXPECT_NUMBERS(
      NEXT("f32", "i32", "[1.0, 1.0, -1.0, 0.0, 0.0, -0.0]", "[2.0, 0.0, 0.0, 1.0, -1.0, 0.0]"),
      0x3f800001, 0x3f7fffff, (int32_t)0xbf7fffff, 1, (int32_t)0x80000001, 0);
  EXPECT_NUMBERS(NEXT("f16", "i16", "[1.0, 1.0, -1.0, 0.0, 0.0, 65504.0]",
                      "[2.0, 0.0, 0.0, 1.0, -1.0, 0x7C00]"),
                 0x3c01, 0x3bff, (int16_t)0xbbff, 1, (int16_t)0x8001, 0x7c00);
  EXPECT_NUMBERS(
      NEXT("f64", "i64", "[1.0, 1.0, -1.0, 0.0, 0.0, -0.0]", "[2.0, 0.0, 0.0, 1.0, -1.0, 0.0]"),
      0x3ff0000000000001, 0x3fefffffffffffff, (int64_t)0xbfefffffffffffff, 1,
      (int64_t)0x8000000000000001, 0);
}

static void operands_are_broadcast(void **state) {
  (void)state;
#define TWO \
  "  %a = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>\n  %b = " \
  "stablehlo.constant dense<[10, 20, 30]> : tensor<3xi32>\n" \
  "  %c = stablehlo.constant dense<[[7], [8]]> : tensor<2x1xi32>\n  %d = stablehlo.constant " \
  "dense<[100, 200]> : tensor<2xi32>\n  %s = stablehlo.constant dense<5> : tensor<i32>\n"
#define SUM(operands, dims, types) \
  "func.func @main() -> tensor<2x3xi32> {\n" TWO "  %r = chlo.broadcast_add " operands dims \
  " : (" types \
  ") -> tensor<2x3xi32>\n" \
  "  return %r : tensor<2x3xi32>\n}\n"
  EXPECT_NUMBERS(SUM("%a, %b", "", "tensor<2x3xi32>, tensor<3xi32>"), 11, 22, 33, 14, 25, 36);
  EXPECT_NUMBERS(SUM("%b, %c", "", "tensor<3xi32>, tensor<2x1xi32>"), 17, 27, 37, 18, 28, 38);
  EXPECT_NUMBERS(SUM("%a, %s", "", "tensor<2x3xi32>, tensor<i32>"), 6, 7, 8, 9, 10, 11);
  EXPECT_NUMBERS(
      SUM("%d, %a", " {broadcast_dimensions = array<i64: 0>}", "tensor<2xi32>, tensor<2x3xi32>"),
      101, 102, 103, 204, 205, 206);
  EXPECT_NUMBERS(
      "func.func @main() -> tensor<2x3xi1> {\n" TWO
      "  %r = chlo.broadcast_compare %a, %s {comparison_direction = #chlo<comparison_direction "
      "GT>} : (tensor<2x3xi32>, tensor<i32>) -> tensor<2x3xi1>\n"
      "  return %r : tensor<2x3xi1>\n}\n",
      0, 0, 0, 0, 0, 1);
  EXPECT_NUMBERS("func.func @main() -> tensor<2x3xi32> {\n" TWO
                 "  %p = stablehlo.constant dense<true> : tensor<i1>\n"
                 "  %r = chlo.broadcast_select %p, %c, %b : (tensor<i1>, tensor<2x1xi32>, "
                 "tensor<3xi32>) -> tensor<2x3xi32>\n  return %r : tensor<2x3xi32>\n}\n",
                 7, 7, 7, 8, 8, 8);
}

static void what_has_no_form_is_named(void **state) {
  (void)state;
  static const char text[] =
      "func.func @main(%a: tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>> {\n"
      "  %r = \"chlo._asin_acos_kernel\"(%a) : (tensor<2xcomplex<f32>>) -> "
      "tensor<2xcomplex<f32>>\n  return %r : tensor<2xcomplex<f32>>\n}\n";
  hsc_module *module;
  hsc_status *status =
      hsc_program_read_as(HSC_FORMAT_MLIR_TEXT, hsc_view_of(text), "test", &module);
  assert_int_equal(hsc_status_code(status), HSC_UNIMPLEMENTED);
  assert_non_null(strstr(hsc_status_message(status), "chlo._asin_acos_kernel"));
  assert_int_equal(hsc_status_line(status), 2);
  hsc_status_free(status);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(special_functions_agree_with_scipy),
      cmocka_unit_test(upper_halves_of_products),
      cmocka_unit_test(next_floats),
      cmocka_unit_test(operands_are_broadcast),
      cmocka_unit_test(what_has_no_form_is_named),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
