// test_custom.c - custom calls: attributes as MLIR prints them, targets that are registered, QR,
// LAPACK's routines. Factorisations are multiplied out.
#include "unit.h"

#include <math.h>

#include "formats/common/formats.h"
#include "hlo/ir/custom.h"

static hsc_arena *arena;

static int open_arena(void **state) {
  EXPECT_OK(hsc_arena_create(&arena));
  return 0;
}

static int close_arena(void **state) {
  hsc_arena_destroy(arena);
  return 0;
}

// ---- attributes ---------------------------------------------------------------------------------

static const hsc_config *parse_config(const char *text) {
  const hsc_config *config = NULL;
  EXPECT_OK(hsc_config_parse(text, arena, &config));
  return config;
}

static void attributes_have_names_types_and_values(void **state) {
  const hsc_config *c = parse_config(
      "{mode = 86 : ui8, left = true, low = -3 : i32, big = 18446744073709551615 : ui64, \"odd "
      "name\" = 1.5 : f32, "
      "text = \"a\\22b\\n\", sizes = array<i64: 3, 4>, list = [1 : i32, 2 : i32], bits = "
      "0x7F800000 : f32, inner = {x = 1 : i32}, unit}");
  assert_int_equal(c->count, 11);
  assert_int_equal(hsc_config_int(c, "mode", 0), 86);
  assert_int_equal(hsc_config_get(c, "mode")->type, HSC_TYPE_U8);
  assert_int_equal(hsc_config_int(c, "left", 0), 1);
  assert_int_equal(hsc_config_int(c, "low", 0), -3);
  assert_int_equal(hsc_config_int(c, "big", 0), -1);
  assert_true(hsc_config_get(c, "odd name")->number == 1.5);
  assert_string_equal(hsc_config_get(c, "text")->text, "a\"b\n");
  assert_int_equal(hsc_config_get(c, "sizes")->count, 2);
  assert_int_equal(hsc_config_get(c, "sizes")->type, HSC_TYPE_S64);
  assert_int_equal(hsc_config_get(c, "list")->elements[1].integer, 2);
  assert_true(isinf(hsc_config_get(c, "bits")->number));
  assert_int_equal(hsc_config_int(hsc_config_get(c, "inner"), "x", 0), 1);
  assert_int_equal(hsc_config_int(c, "unit", 0), 1);
  assert_int_equal(hsc_config_int(c, "nothing", 7), 7);
  assert_int_equal(parse_config("")->count, 0);
  assert_int_equal(parse_config(NULL)->count, 0);
}

static void wrong_attributes_are_refused_with_their_place(void **state) {
  static const char *const wrong[] = {
      "{",
      "{a",
      "{a = }",
      "{a = 1 : i7}",
      "{a = 1, , b = 2}",
      "{a = \"x}",
      "{a = 99999999999999999999}",
      "{a = [1}",
      "{} x",
      "{a = \"\\q\"}",
      "{a={a={a={a={a={a={a={a={a={a={a={a={a={a={a={a={a={a={a=1}}}}}}}}}}}}}}}}}}}"};
  for (size_t i = 0; i < HSC_COUNT_OF(wrong); i++) {
    const hsc_config *config = NULL;
    hsc_status *status = hsc_config_parse(wrong[i], arena, &config);
    if (hsc_status_code(status) != HSC_INVALID_ARGUMENT ||
        !strstr(hsc_status_message(status), "character"))
      fail_msg("%s: %s", wrong[i], hsc_status_message(status));
    hsc_status_free(status);
  }
}

// ---- calls --------------------------------------------------------------------------------------

static hsc_status *run(const char *text, hsc_literal *argument, hsc_literal **out_result) {
  hsc_module *module = NULL;
  EXPECT_OK(hsc_hlo_text_parse(hsc_view_of(text), "test.hlo", &module));
  EXPECT_OK(hsc_module_verify(module));
  hsc_status *status = hsc_evaluate(module, 1, &argument, arena, out_result);
  hsc_module_destroy(module);
  return status;
}

static hsc_literal *matrix(hsc_type type, int64_t batch, int64_t m, int64_t n, bool symmetric) {
  hsc_literal *literal = NULL;
  hsc_shape shape = hsc_shape_array(arena, type, 3, (int64_t[]){batch, m, n});
  EXPECT_OK(hsc_literal_create(arena, &shape, &literal));
  bool is_complex = type == HSC_TYPE_C64 || type == HSC_TYPE_C128;
  for (int64_t b = 0; b < batch; b++)
    for (int64_t i = 0; i < m; i++)
      for (int64_t j = 0; j < n; j++) {
        int64_t low = symmetric && i > j ? j : i;
        int64_t high = symmetric && i > j ? i : j;
        double re = sin((double)(b * 97 + low * 13 + high * 5 + 1)) + (i == j ? 2 : 0);
        double im = is_complex && i != j ? cos((double)(low * 7 + high + b)) : 0;
        hsc_literal_set_complex(literal, (b * m + i) * n + j, re, symmetric && i > j ? -im : im);
      }
  return literal;
}

// sum_k a[i][k] * scale[k] * b[k][j] (b by its conjugated columns where `adjoint`), against the
// expected matrix.
static void expect_product(const hsc_literal *a,
                           const hsc_literal *scale,
                           const hsc_literal *b,
                           bool adjoint,
                           const hsc_literal *expected,
                           double tolerance) {
  const int64_t *dims = expected->shape.dims;
  int64_t inner = a->shape.dims[2];
  for (int64_t batch = 0; batch < dims[0]; batch++)
    for (int64_t i = 0; i < dims[1]; i++)
      for (int64_t j = 0; j < dims[2]; j++) {
        double re = 0;
        double im = 0;
        for (int64_t k = 0; k < inner; k++) {
          int64_t at_a = (batch * a->shape.dims[1] + i) * inner + k;
          int64_t at_b = adjoint ? (batch * b->shape.dims[1] + j) * b->shape.dims[2] + k
                                 : (batch * b->shape.dims[1] + k) * b->shape.dims[2] + j;
          double s = scale ? hsc_literal_get_double(scale, batch * inner + k) : 1;
          double ar = hsc_literal_get_double(a, at_a) * s;
          double ai = hsc_literal_get_imag(a, at_a) * s;
          double br = hsc_literal_get_double(b, at_b);
          double bi = hsc_literal_get_imag(b, at_b) * (adjoint ? -1 : 1);
          re += ar * br - ai * bi;
          im += ar * bi + ai * br;
        }
        int64_t at = (batch * dims[1] + i) * dims[2] + j;
        double dr = re - hsc_literal_get_double(expected, at);
        double di = im - hsc_literal_get_imag(expected, at);
        if (!(fabs(dr) + fabs(di) <= tolerance))
          fail_msg("batch %d, (%d, %d): off by %g + %gi", (int)batch, (int)i, (int)j, dr, di);
      }
}

static hsc_literal *upper(const hsc_literal *r, int64_t rows) {
  hsc_literal *out = NULL;
  hsc_shape shape = hsc_shape_array(arena, r->shape.type, 3,
                                    (int64_t[]){r->shape.dims[0], rows, r->shape.dims[2]});
  EXPECT_OK(hsc_literal_create(arena, &shape, &out));
  int64_t m = r->shape.dims[1];
  int64_t n = r->shape.dims[2];
  for (int64_t b = 0; b < shape.dims[0]; b++)
    for (int64_t i = 0; i < rows; i++)
      for (int64_t j = i; j < n; j++) {
        int64_t from = (b * m + i) * n + j;
        hsc_literal_set_complex(out, (b * rows + i) * n + j, hsc_literal_get_double(r, from),
                                hsc_literal_get_imag(r, from));
      }
  return out;
}

// LAPACK may be missing where tests run: then the answer names the routine, and there is nothing to
// multiply.
static bool missing(hsc_status *status, const char *routine) {
  if (hsc_status_code(status) != HSC_UNIMPLEMENTED)
    return false;
  if (!strstr(hsc_status_message(status), routine))
    fail_msg("does not name %s: %s", routine, hsc_status_message(status));
  hsc_status_free(status);
  return true;
}

static void qr_multiplies_out(void **state) {
  static const struct {
    const char *geqrf, *orgqr, *routine;
  } targets[] = {{"Qr", "ProductOfElementaryHouseholderReflectors", ""},
                 {"lapack_%cgeqrf_ffi", "lapack_%c%sgqr_ffi", "geqrf"}};
  static const struct {
    hsc_type type;
    char letter;
    const char *text, *prefix;
    double tolerance;
  } types[] = {{HSC_TYPE_F32, 's', "f32", "or", 1e-5},
               {HSC_TYPE_F64, 'd', "f64", "or", 1e-13},
               {HSC_TYPE_C64, 'c', "c64", "un", 1e-5},
               {HSC_TYPE_C128, 'z', "c128", "un", 1e-13}};
  for (size_t t = 0; t < HSC_COUNT_OF(targets); t++)
    for (size_t k = 0; k < HSC_COUNT_OF(types); k++) {
      char first[64], second[64], text[2048];
      const char *y = types[k].text;
      snprintf(first, sizeof first, t ? "lapack_%cgeqrf_ffi" : "Qr", types[k].letter);
      snprintf(second, sizeof second,
               t ? "lapack_%c%sgqr_ffi" : "ProductOfElementaryHouseholderReflectors",
               types[k].letter, types[k].prefix);
      snprintf(text, sizeof text,
               "HloModule qr\nENTRY main {\n  x = %s[2,5,3] parameter(0)\n  f = (%s[2,5,3], "
               "%s[2,3]) custom-call(x), custom_call_target=\"%s\"\n"
               "  a = %s[2,5,3] get-tuple-element(f), index=0\n  tau = %s[2,3] "
               "get-tuple-element(f), index=1\n"
               "  q = %s[2,5,3] custom-call(a, tau), custom_call_target=\"%s\"\n  ROOT r = "
               "(%s[2,5,3], %s[2,5,3]) tuple(q, a)\n}\n",
               y, y, y, first, y, y, y, second, y, y);
      hsc_literal *x = matrix(types[k].type, 2, 5, 3, false);
      hsc_literal *result = NULL;
      hsc_status *status = run(text, x, &result);
      if (missing(status, targets[t].routine))
        continue;
      EXPECT_OK(status);
      expect_product(&result->elements[0], NULL, upper(&result->elements[1], 3), false, x,
                     types[k].tolerance);
    }
}

static void symmetric_eigenvectors_multiply_out(void **state) {
  static const struct {
    hsc_type type;
    const char *text, *real, *target;
    double tolerance;
  } types[] = {{HSC_TYPE_F32, "f32", "f32", "lapack_ssyevd_ffi", 2e-5},
               {HSC_TYPE_F64, "f64", "f64", "lapack_dsyevd_ffi", 1e-13},
               {HSC_TYPE_C64, "c64", "f32", "lapack_cheevd_ffi", 2e-5},
               {HSC_TYPE_C128, "c128", "f64", "lapack_zheevd_ffi", 1e-13}};
  for (size_t k = 0; k < HSC_COUNT_OF(types); k++) {
    char text[1024];
    const char *y = types[k].text;
    snprintf(text, sizeof text,
             "HloModule eigh\nENTRY main {\n  x = %s[3,4,4] parameter(0)\n"
             "  ROOT r = (%s[3,4,4], %s[3,4], s32[3]) custom-call(x), custom_call_target=\"%s\", "
             "backend_config={mode = 86 : ui8, uplo = 76 : ui8}\n}\n",
             y, y, types[k].real, types[k].target);
    hsc_literal *x = matrix(types[k].type, 3, 4, 4, true);
    hsc_literal *result = NULL;
    hsc_status *status = run(text, x, &result);
    if (missing(status, "evd"))
      continue;
    EXPECT_OK(status);
    for (int b = 0; b < 3; b++)
      assert_int_equal(hsc_literal_get_int(&result->elements[2], b), 0);
    expect_product(&result->elements[0], &result->elements[1], &result->elements[0], true, x,
                   types[k].tolerance);
  }
}

static void singular_values_multiply_out(void **state) {
  static const char *const targets[] = {"lapack_dgesdd_ffi", "lapack_dgesvd_ffi"};
  for (size_t t = 0; t < HSC_COUNT_OF(targets); t++) {
    char text[1024];
    snprintf(text, sizeof text,
             "HloModule svd\nENTRY main {\n  x = f64[2,3,5] parameter(0)\n  ROOT r = (f64[2,3,5], "
             "f64[2,3], f64[2,3,3], f64[2,3,5], s32[2]) custom-call(x), "
             "custom_call_target=\"%s\", backend_config={mode = 83 : ui8}\n}\n",
             targets[t]);
    hsc_literal *x = matrix(HSC_TYPE_F64, 2, 3, 5, false);
    hsc_literal *result = NULL;
    hsc_status *status = run(text, x, &result);
    if (missing(status, "ges"))
      continue;
    EXPECT_OK(status);
    expect_product(&result->elements[2], &result->elements[1], &result->elements[3], false, x,
                   1e-13);
  }
}

static void lapack_with_other_shapes_is_refused(void **state) {
  static const char *const wrong[] = {
      // not square
      "  ROOT r = (f32[2,3,5], s32[2]) custom-call(x), custom_call_target=\"lapack_spotrf_ffi\"\n",
      // another type
      "  ROOT r = (f32[2,3,5], f32[2,3]) custom-call(x), "
      "custom_call_target=\"lapack_dgeqrf_ffi\"\n",
      // too few reflectors
      "  ROOT r = (f32[2,3,5], f32[2,2]) custom-call(x), "
      "custom_call_target=\"lapack_sgeqrf_ffi\"\n",
      "  ROOT r = (f32[2,3,5], f32[2,3], f32[2,3,5], f32[2,3,5], s32[2]) custom-call(x), "
      "custom_call_target=\"lapack_sgesdd_ffi\"\n",
      // mode A wants 5x5
      "  ROOT r = (f32[2,3,5], f32[2,3], f32[2,3,3], f32[2,3,5], s32[2]) custom-call(x), "
      "custom_call_target=\"lapack_sgesdd_ffi\"\n",
      "  ROOT r = f32[2,3,5] custom-call(x), custom_call_target=\"lapack_sorgqr_ffi\"\n"};
  for (size_t i = 0; i < HSC_COUNT_OF(wrong); i++) {
    char text[1024];
    snprintf(text, sizeof text,
             "HloModule wrong\nENTRY main {\n  x = f32[2,3,5] parameter(0)\n%s}\n", wrong[i]);
    hsc_literal *result = NULL;
    hsc_status *status = run(text, matrix(HSC_TYPE_F32, 2, 3, 5, false), &result);
    if (hsc_status_code(status) != HSC_INVALID_ARGUMENT)
      fail_msg("%s: %s", wrong[i], hsc_status_message(status));
    hsc_status_free(status);
  }
}

static void nothing_to_compute_is_no_error(void **state) {
  hsc_literal *result = NULL;
  hsc_status *status =
      run("HloModule empty\nENTRY main {\n  x = f32[2,0,0] parameter(0)\n  ROOT r = (f32[2,0,0], "
          "f32[2,0], s32[2]) custom-call(x), "
          "custom_call_target=\"lapack_ssyevd_ffi\"\n}\n",
          matrix(HSC_TYPE_F32, 2, 0, 0, false), &result);
  if (missing(status, "evd"))
    return;
  EXPECT_OK(status);
  assert_int_equal(hsc_literal_get_int(&result->elements[2], 1), 0);
}

static hsc_status *twice(void *user, const hsc_custom_call *call) {
  if (call->operand_count != 1 || call->result_count != 2)
    return HSC_ERR(INVALID_ARGUMENT, "%s: wants one operand", call->target);
  for (int64_t i = 0; i < hsc_shape_elements(&call->operands[0].shape); i++) {
    hsc_literal_set_double(&call->results[0], i, 2 * hsc_literal_get_double(&call->operands[0], i));
    hsc_literal_set_double(&call->results[1], i, *(const double *)user);
  }
  return NULL;
}

static void a_registered_target_is_called(void **state) {
  static double number = 7;
  static double other = 9;
  const char *text =
      "HloModule own\nENTRY main {\n  x = f32[1,1,2] parameter(0)\n  ROOT r = (f32[1,1,2], "
      "f32[1,1,2]) custom-call(x), custom_call_target=\"test_twice\"\n}\n";
  hsc_literal *x = matrix(HSC_TYPE_F32, 1, 1, 2, false);
  hsc_literal *result = NULL;
  assert_false(hsc_custom_is_known("test_twice"));
  EXPECT_CODE(UNIMPLEMENTED, run(text, x, &result));
  EXPECT_OK(hsc_custom_register("test_twice", twice, &number));
  assert_true(hsc_custom_is_known("test_twice"));
  EXPECT_OK(run(text, x, &result));
  assert_true(hsc_literal_get_double(&result->elements[0], 1) == 2 * hsc_literal_get_double(x, 1));
  assert_true(hsc_literal_get_double(&result->elements[1], 1) == 7);
  EXPECT_OK(hsc_custom_register("test_twice", twice, &other));  // replaces
  EXPECT_OK(run(text, x, &result));
  assert_true(hsc_literal_get_double(&result->elements[1], 0) == 9);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(attributes_have_names_types_and_values),
      cmocka_unit_test(wrong_attributes_are_refused_with_their_place),
      cmocka_unit_test(qr_multiplies_out),
      cmocka_unit_test(symmetric_eigenvectors_multiply_out),
      cmocka_unit_test(singular_values_multiply_out),
      cmocka_unit_test(lapack_with_other_shapes_is_refused),
      cmocka_unit_test(nothing_to_compute_is_no_error),
      cmocka_unit_test(a_registered_target_is_called),
  };
  return cmocka_run_group_tests(tests, open_arena, close_arena);
}
