// test_literal_fill.c - the numbers that programs are fed with are the ones that models/README.md
// lists (and models/inputs.py makes).
#include "unit.h"

#include "hlo/ir/hlo.h"

static hsc_literal *filled(
    hsc_arena *arena, hsc_type type, int64_t count, uint64_t seed, uint32_t argument_index) {
  hsc_shape shape = hsc_shape_array(arena, type, 1, &count);
  hsc_literal *literal;
  EXPECT_OK(hsc_literal_create(arena, &shape, &literal));
  hsc_literal_fill(literal, seed, argument_index);
  return literal;
}

// One row of the table in models/README.md: the storage of the first elements.
typedef struct vector {
  hsc_type type;
  uint32_t argument_index;
  uint64_t seed;
  uint64_t bits[12];  // for complex types the parts, one after the other
} vector;

static const vector vectors[] = {
    {HSC_TYPE_F32, 0, 0, {0x3dc44150, 0x3c885168, 0x3cbac1a8, 0xbdc5e9d8, 0xbc8c60e8, 0xbce7e628}},
    {HSC_TYPE_F32, 3, 7, {0xbd5a8b84, 0x3d7fe868, 0xbdd6c52a, 0xbc761950, 0x3d17364c, 0x3dd7dbe0}},
    {HSC_TYPE_F64,
     0,
     0,
     {0x3fb8882a00000000, 0x3f910a2d00000000, 0x3f97583500000000, 0xbfb8bd3b00000000,
      0xbf918c1d00000000, 0xbf9cfcc500000000}},
    {HSC_TYPE_F16, 0, 0, {0x2e22, 0x2443, 0x25d6, 0xae2f, 0xa463, 0xa73f}},
    {HSC_TYPE_BF16, 0, 0, {0x3dc4, 0x3c88, 0x3cbb, 0xbdc6, 0xbc8c, 0xbce8}},
    {HSC_TYPE_F8E4M3FN, 0, 0, {0x1c, 0x09, 0x0c, 0x9c, 0x89, 0x8e}},
    {HSC_TYPE_F8E5M2, 0, 0, {0x2e, 0x24, 0x26, 0xae, 0xa4, 0xa7}},
    {HSC_TYPE_F8E3M4, 3, 7, {0x83, 0x04, 0x87, 0x81, 0x02, 0x07}},
    {HSC_TYPE_F8E8M0FNU, 0, 0, {0x7c, 0x79, 0x79, 0x7c, 0x79, 0x7a}},
    {HSC_TYPE_F4E2M1FN, 0, 0, {0x05, 0x01, 0x01, 0x0d, 0x09, 0x0a}},
    {HSC_TYPE_S32, 0, 0, {0x28, 0x2d, 0x35, 0x14, 0x23, 0x3b}},
    {HSC_TYPE_S32, 3, 7, {0x1f, 0x1a, 0x2b, 0x2b, 0x13, 0x30}},
    {HSC_TYPE_U64, 3, 7, {0x1f, 0x1a, 0x2b, 0x2b, 0x13, 0x30}},
    {HSC_TYPE_S4, 0, 0, {0, 5, 5, 4, 3, 3}},
    {HSC_TYPE_U4, 0, 0, {8, 0xd, 5, 4, 3, 0xb}},
    {HSC_TYPE_U2, 3, 7, {3, 2, 3, 3, 3, 0}},
    {HSC_TYPE_S1, 0, 0, {0, 0, 0, 0, 0, 0}},
    {HSC_TYPE_PRED, 0, 0, {1, 1, 1, 0, 0, 0}},
    {HSC_TYPE_C64, 0, 0, {0x3dc44150, 0x3c885168, 0x3cbac1a8, 0xbdc5e9d8, 0xbc8c60e8, 0xbce7e628}},
};

static void first_values_are_the_listed_ones(void **state) {
  (void)state;
  hsc_arena *arena;
  EXPECT_OK(hsc_arena_create(&arena));
  for (size_t i = 0; i < HSC_COUNT_OF(vectors); i++) {
    const vector *want = &vectors[i];
    bool is_complex = hsc_type_is_complex(want->type);
    hsc_literal *literal =
        filled(arena, want->type, is_complex ? 3 : 6, want->seed, want->argument_index);
    size_t bytes = hsc_type_bytes(want->type) / (is_complex ? 2 : 1);
    for (int k = 0; k < 6; k++) {
      uint64_t got = 0;
      memcpy(&got, (const char *)literal->data + (size_t)k * bytes, bytes);
      if (got != want->bits[k])
        fail_msg("%s, argument %u, seed %u, number %d: %llx, not %llx", hsc_type_text(want->type),
                 want->argument_index, (unsigned)want->seed, k, (unsigned long long)got,
                 (unsigned long long)want->bits[k]);
    }
  }
  hsc_arena_destroy(arena);
}

static void elements_do_not_depend_on_the_shape(void **state) {
  (void)state;
  hsc_arena *arena;
  EXPECT_OK(hsc_arena_create(&arena));
  hsc_literal *flat = filled(arena, HSC_TYPE_F32, 24, 5, 2);
  hsc_shape shape = hsc_shape_array(arena, HSC_TYPE_F32, 3, (int64_t[]){2, 3, 4});
  hsc_literal *deep;
  EXPECT_OK(hsc_literal_create(arena, &shape, &deep));
  hsc_literal_fill(deep, 5, 2);
  assert_memory_equal(flat->data, deep->data, 24 * sizeof(float));
  hsc_arena_destroy(arena);
}

static void leaves_arguments_and_seeds_differ(void **state) {
  (void)state;
  hsc_arena *arena;
  EXPECT_OK(hsc_arena_create(&arena));
  hsc_shape leaf = hsc_shape_array(arena, HSC_TYPE_F32, 1, (int64_t[]){8});
  hsc_shape pair = hsc_shape_tuple(arena, 2, (hsc_shape[]){leaf, leaf});
  hsc_literal *tuple;
  EXPECT_OK(hsc_literal_create(arena, &pair, &tuple));
  hsc_literal_fill(tuple, 1, 0);
  hsc_literal *one = filled(arena, HSC_TYPE_F32, 8, 1, 0);
  assert_memory_equal(one->data, tuple->elements[0].data, 8 * sizeof(float));
  assert_memory_equal(filled(arena, HSC_TYPE_F32, 8, 1, 1 << 16)->data, tuple->elements[1].data,
                      8 * sizeof(float));
  assert_memory_not_equal(one->data, tuple->elements[1].data, 8 * sizeof(float));
  assert_memory_not_equal(one->data, filled(arena, HSC_TYPE_F32, 8, 1, 1)->data, 8 * sizeof(float));
  assert_memory_not_equal(one->data, filled(arena, HSC_TYPE_F32, 8, 2, 0)->data, 8 * sizeof(float));
  hsc_arena_destroy(arena);
}

static void numbers_stay_in_their_range_and_fill_it(void **state) {
  (void)state;
  hsc_arena *arena;
  EXPECT_OK(hsc_arena_create(&arena));
  hsc_literal *literal = filled(arena, HSC_TYPE_F32, 10000, 0, 0);
  const float *data = literal->data;
  double sum = 0;
  double low = 1;
  double high = -1;
  for (int k = 0; k < 10000; k++) {
    sum += data[k];
    if (data[k] < low)
      low = data[k];
    if (data[k] > high)
      high = data[k];
  }
  assert_true(low >= -0.125 && low < -0.1249);
  assert_true(high < 0.125 && high > 0.1249);
  // four standard errors of a uniform mean
  assert_true(sum / 10000 > -0.003 && sum / 10000 < 0.003);
  literal = filled(arena, HSC_TYPE_S64, 1000, 0, 0);
  for (int k = 0; k < 1000; k++)
    assert_in_range(hsc_literal_get_int(literal, k), 0, 63);
  hsc_arena_destroy(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(first_values_are_the_listed_ones),
      cmocka_unit_test(elements_do_not_depend_on_the_shape),
      cmocka_unit_test(leaves_arguments_and_seeds_differ),
      cmocka_unit_test(numbers_stay_in_their_range_and_fill_it),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
