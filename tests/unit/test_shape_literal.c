// Shapes and literals: making, comparing, measuring; reading and writing single values; printing
// them.
#include "base/text/text.h"
#include "unit.h"

#include "hlo/ir/hlo.h"

#include <math.h>

static hsc_arena *arena;

static int setup(void **state) {
  hsc_status *status = hsc_arena_create(&arena);
  hsc_status_free(status);
  return status != NULL;
}

static int teardown(void **state) {
  hsc_arena_destroy(arena);
  return 0;
}

static void expect_shape_text(const hsc_shape *shape, bool with_layout, const char *want) {
  hsc_bytes bytes = {0};
  hsc_shape_print(shape, with_layout, &bytes);
  assert_string_equal(hsc_bytes_text(&bytes), want);
  hsc_bytes_deinit(&bytes);
}

static hsc_shape array(hsc_type type, int rank, const int64_t *dims) {
  return hsc_shape_array(arena, type, rank, dims);
}

static void shapes_print_as_in_xla(void **state) {
  hsc_shape scalar = hsc_shape_scalar(HSC_TYPE_F32);
  hsc_shape token = hsc_shape_token();
  hsc_shape matrix = array(HSC_TYPE_BF16, 2, (int64_t[]){32, 64});
  expect_shape_text(&scalar, true, "f32[]");
  expect_shape_text(&token, true, "token[]");
  expect_shape_text(&matrix, true, "bf16[32,64]{1,0}");
  expect_shape_text(&matrix, false, "bf16[32,64]");
  matrix.layout =
      &(hsc_layout){.rank = 2, .minor_to_major = (int64_t[]){0, 1}, .extra = "T(8,128)(2,1)S(1)"};
  expect_shape_text(&matrix, true, "bf16[32,64]{0,1:T(8,128)(2,1)S(1)}");
  scalar.layout = &(hsc_layout){.extra = "T(256)"};
  expect_shape_text(&scalar, true, "f32[]{:T(256)}");
  matrix.dynamic = (bool[]){true, false};
  expect_shape_text(&matrix, false, "bf16[<=32,64]");
  hsc_shape parts[7];
  for (int i = 0; i < 7; i++)
    parts[i] = hsc_shape_scalar(HSC_TYPE_S32);
  parts[6] = hsc_shape_tuple(arena, 1, parts);
  hsc_shape tuple = hsc_shape_tuple(arena, 7, parts);
  hsc_shape empty = hsc_shape_tuple(arena, 0, NULL);
  expect_shape_text(&tuple, true, "(s32[], s32[], s32[], s32[], s32[], /*index=5*/s32[], (s32[]))");
  expect_shape_text(&empty, true, "()");
  int64_t dims[HSC_MAX_RANK];
  for (int i = 0; i < HSC_MAX_RANK; i++)
    dims[i] = INT64_MAX - i;
  hsc_shape wide = array(HSC_TYPE_F8E4M3B11FNUZ, HSC_MAX_RANK, dims);
  hsc_bytes bytes = {0};
  hsc_shape_print(&wide, true, &bytes);
  assert_true(bytes.size > 20 * HSC_MAX_RANK && hsc_ends_with(hsc_bytes_text(&bytes), ",2,1,0}"));
  hsc_bytes_deinit(&bytes);
}

static void shapes_are_measured(void **state) {
  hsc_shape matrix = array(HSC_TYPE_F32, 2, (int64_t[]){3, 5});
  hsc_shape none = array(HSC_TYPE_F32, 3, (int64_t[]){INT64_MAX, 0, INT64_MAX});
  hsc_shape huge = array(HSC_TYPE_F64, 2, (int64_t[]){INT64_C(1) << 32, INT64_C(1) << 32});
  hsc_shape nibbles = array(HSC_TYPE_S4, 1, (int64_t[]){7});
  assert_int_equal(hsc_shape_elements(&matrix), 15);
  assert_int_equal(hsc_shape_bytes(&matrix), 60);
  assert_int_equal(hsc_shape_elements(&none), 0);
  assert_int_equal(hsc_shape_bytes(&none), 0);
  assert_int_equal(hsc_shape_elements(&huge), INT64_MAX);
  assert_int_equal(hsc_shape_bytes(&huge), INT64_MAX);
  assert_int_equal(hsc_shape_bytes(&nibbles), 7);
  hsc_shape inner = hsc_shape_tuple(arena, 2, (hsc_shape[]){matrix, hsc_shape_token()});
  hsc_shape outer = hsc_shape_tuple(arena, 3, (hsc_shape[]){nibbles, inner, matrix});
  hsc_shape with_huge = hsc_shape_tuple(arena, 2, (hsc_shape[]){huge, huge});
  assert_int_equal(hsc_shape_bytes(&outer), 127);
  assert_int_equal(hsc_shape_bytes(&with_huge), INT64_MAX);
  assert_int_equal(hsc_shape_elements(&outer), 0);
  assert_int_equal(hsc_shape_leaf_count(&outer), 4);
  assert_int_equal(hsc_shape_depth(&outer), 2);
  assert_int_equal(hsc_shape_leaf(&outer, 2)->type, HSC_TYPE_TOKEN);
  assert_int_equal(hsc_shape_leaf(&outer, 3)->rank, 2);
  assert_null(hsc_shape_leaf(&outer, 4));
  assert_null(hsc_shape_leaf(&outer, -1));
  assert_int_equal(hsc_shape_leaf_count(&matrix), 1);
}

static void layouts_count_only_where_asked(void **state) {
  hsc_shape plain = array(HSC_TYPE_F32, 2, (int64_t[]){3, 5});
  hsc_shape same = plain;
  hsc_shape other = plain;
  hsc_shape tiled = plain;
  same.layout = &(hsc_layout){.rank = 2, .minor_to_major = (int64_t[]){1, 0}};
  other.layout = &(hsc_layout){.rank = 2, .minor_to_major = (int64_t[]){0, 1}};
  tiled.layout = &(hsc_layout){.rank = 2, .minor_to_major = (int64_t[]){1, 0}, .extra = "S(1)"};
  assert_true(hsc_shape_equal(&plain, &other) && hsc_shape_equal_layout(&plain, &same));
  assert_false(hsc_shape_equal_layout(&plain, &other) || hsc_shape_equal_layout(&plain, &tiled));
  assert_true(hsc_layout_is_default(&plain) && hsc_layout_is_default(&same) &&
              !hsc_layout_is_default(&other) && !hsc_layout_is_default(&tiled));
  hsc_shape pair = hsc_shape_tuple(arena, 2, (hsc_shape[]){plain, other});
  hsc_shape stripped = hsc_shape_without_layout(arena, pair);
  assert_true(hsc_shape_equal(&pair, &stripped) && !hsc_shape_equal_layout(&pair, &stripped));
  hsc_shape type = hsc_shape_with_type(plain, HSC_TYPE_S32);
  hsc_shape wider = array(HSC_TYPE_F32, 2, (int64_t[]){3, 6});
  assert_true(hsc_shape_same_dims(&plain, &type) && !hsc_shape_equal(&plain, &type) &&
              !hsc_shape_equal(&plain, &wider));
  hsc_shape dynamic = plain;
  dynamic.dynamic = (bool[]){true, false};
  assert_false(hsc_shape_equal(&plain, &dynamic));
  dynamic.dynamic = (bool[]){false, false};
  assert_true(hsc_shape_equal(&plain, &dynamic));
}

static hsc_literal *literal_of(hsc_type type, int64_t count) {
  hsc_shape shape = array(type, 1, &count);
  hsc_literal *literal = NULL;
  EXPECT_OK(hsc_literal_create(arena, &shape, &literal));
  return literal;
}

static void values_are_kept_in_their_type(void **state) {
  static const struct {
    hsc_type type;
    double set, get;
  } rows[] = {
      {HSC_TYPE_PRED, 2.5, 1},
      {HSC_TYPE_S4, 7.9, 7},
      {HSC_TYPE_S4, 100, 7},
      {HSC_TYPE_S4, -100, -8},
      {HSC_TYPE_U4, 100, 15},
      {HSC_TYPE_U4, -1, 0},
      {HSC_TYPE_S1, -5, -1},
      {HSC_TYPE_U2, 9, 3},
      {HSC_TYPE_S8, 200, 127},
      {HSC_TYPE_U8, 200, 200},
      {HSC_TYPE_S16, -40000, -32768},
      {HSC_TYPE_S32, 3e9, 2147483647},
      {HSC_TYPE_U32, 3e9, 3e9},
      {HSC_TYPE_S64, 1e300, 0x1p63},
      {HSC_TYPE_U64, 1e300, 0x1p64},
      {HSC_TYPE_S32, -1.9, -1},
      {HSC_TYPE_BF16, 0.333, 0.33203125},
      {HSC_TYPE_F16, 1e9, INFINITY},
      {HSC_TYPE_F8E4M3FN, 300, 288},
      {HSC_TYPE_C64, 0.1, 0.1f},
  };
  for (size_t i = 0; i < HSC_COUNT_OF(rows); i++) {
    hsc_literal *literal = literal_of(rows[i].type, 3);
    hsc_literal_set_double(literal, 1, rows[i].set);
    if (hsc_literal_get_double(literal, 1) != rows[i].get)
      fail_msg("%s: %g is %g", hsc_type_text(rows[i].type), rows[i].set,
               hsc_literal_get_double(literal, 1));
    assert_true(hsc_literal_get_double(literal, 0) == 0 && hsc_literal_get_double(literal, 2) == 0);
  }
  hsc_literal *s32 = literal_of(HSC_TYPE_S32, 1);
  hsc_literal *u64 = literal_of(HSC_TYPE_U64, 1);
  hsc_literal *s4 = literal_of(HSC_TYPE_S4, 1);
  hsc_literal *c128 = literal_of(HSC_TYPE_C128, 2);
  hsc_literal_set_double(s32, 0, NAN);
  assert_int_equal(hsc_literal_get_int(s32, 0), 0);
  hsc_literal_set_int(u64, 0, -1);
  assert_int_equal(hsc_literal_get_int(u64, 0), -1);
  assert_true(hsc_literal_get_double(u64, 0) == 0x1p64);
  hsc_literal_set_int(s4, 0, 9);  // wraps
  assert_int_equal(hsc_literal_get_int(s4, 0), -7);
  hsc_literal_set_complex(c128, 1, 1.5, -2.5);
  assert_true(hsc_literal_get_double(c128, 1) == 1.5 && hsc_literal_get_imag(c128, 1) == -2.5 &&
              hsc_literal_get_imag(c128, 0) == 0);
}

static void literals_compare_bit_by_bit(void **state) {
  hsc_literal *zero = literal_of(HSC_TYPE_F32, 4);
  hsc_literal *minus_zero = literal_of(HSC_TYPE_F32, 4);
  hsc_literal *nan = literal_of(HSC_TYPE_F32, 4);
  hsc_literal *copy = NULL;
  for (int i = 0; i < 4; i++) {
    hsc_literal_set_double(minus_zero, i, -0.0);
    hsc_literal_set_double(nan, i, NAN);
  }
  EXPECT_OK(hsc_literal_copy(arena, nan, &copy));
  assert_false(hsc_literal_equal(zero, minus_zero));
  assert_true(hsc_literal_equal(nan, copy) && copy->data != nan->data);
  assert_true(hsc_literal_is_all(zero, 0) && hsc_literal_is_all(minus_zero, 0) &&
              !hsc_literal_is_all(nan, NAN));
  hsc_literal_set_double(minus_zero, 2, 0);
  assert_true(hsc_literal_is_all(minus_zero, 0));
  hsc_literal_set_double(minus_zero, 3, 1);
  assert_false(hsc_literal_is_all(minus_zero, 0) ||
               hsc_literal_is_all(literal_of(HSC_TYPE_F32, 0), 0));
  assert_true(hsc_literal_equal(literal_of(HSC_TYPE_F32, 0), literal_of(HSC_TYPE_F32, 0)));
  assert_false(hsc_literal_equal(literal_of(HSC_TYPE_F32, 4), literal_of(HSC_TYPE_S32, 4)));
  hsc_shape pair =
      hsc_shape_tuple(arena, 2, (hsc_shape[]){zero->shape, hsc_shape_scalar(HSC_TYPE_S32)});
  hsc_literal *tuple = NULL;
  hsc_literal *other = NULL;
  EXPECT_OK(hsc_literal_create(arena, &pair, &tuple));
  EXPECT_OK(hsc_literal_copy(arena, tuple, &other));
  assert_true(hsc_literal_equal(tuple, other));
  hsc_literal_set_int(&other->elements[1], 0, 1);
  assert_false(hsc_literal_equal(tuple, other));
}

static void literals_larger_than_memory_are_refused(void **state) {
  hsc_shape huge = array(HSC_TYPE_F64, 2, (int64_t[]){INT64_C(1) << 40, INT64_C(1) << 40});
  hsc_shape large = array(HSC_TYPE_F64, 1, (int64_t[]){INT64_C(1) << 58});
  hsc_literal *literal = NULL;
  EXPECT_CODE(RESOURCE_EXHAUSTED, hsc_literal_create(arena, &huge, &literal));
  hsc_arena *scratch = NULL;
  EXPECT_OK(hsc_arena_create(&scratch));
  EXPECT_CODE(RESOURCE_EXHAUSTED, hsc_literal_create(scratch, &large, &literal));
  hsc_arena_destroy(scratch);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(shapes_print_as_in_xla),
      cmocka_unit_test(shapes_are_measured),
      cmocka_unit_test(layouts_count_only_where_asked),
      cmocka_unit_test(values_are_kept_in_their_type),
      cmocka_unit_test(literals_compare_bit_by_bit),
      cmocka_unit_test(literals_larger_than_memory_are_refused),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
