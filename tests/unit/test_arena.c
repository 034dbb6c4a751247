#include "base/core/memory.h"
#include "base/core/random.h"
#include "unit.h"

static void memory_is_zeroed_aligned_and_apart(void **state) {
  hsc_arena *arena = NULL;
  EXPECT_OK(hsc_arena_create(&arena));
  hsc_random random;
  hsc_random_init(&random, 1);
  enum { COUNT = 2000 };
  unsigned char *pieces[COUNT];
  size_t sizes[COUNT];
  for (int i = 0; i < COUNT; i++) {
    sizes[i] = hsc_random_below(&random, i % 100 == 0 ? 300000 : 400);
    pieces[i] = hsc_arena_alloc(arena, sizes[i]);
    assert_non_null(pieces[i]);
    assert_int_equal((uintptr_t)pieces[i] % 16, 0);
    for (size_t b = 0; b < sizes[i]; b++)
      assert_int_equal(pieces[i][b], 0);
    memset(pieces[i], i & 255, sizes[i]);
  }
  for (int i = 0; i < COUNT; i++)
    for (size_t b = 0; b < sizes[i]; b++)
      if (pieces[i][b] != (i & 255))
        fail_msg("piece %d was overwritten", i);
  EXPECT_OK(hsc_arena_status(arena));
  hsc_arena_destroy(arena);
}

static void reset_gives_zeroed_memory_again(void **state) {
  hsc_arena *arena = NULL;
  EXPECT_OK(hsc_arena_create(&arena));
  for (int round = 0; round < 5; round++) {
    for (int i = 0; i < 100 + round * 1000; i++) {
      unsigned char *piece = hsc_arena_alloc(arena, 33);
      for (int b = 0; b < 33; b++)
        assert_int_equal(piece[b], 0);
      memset(piece, 255, 33);
    }
    memset(hsc_arena_alloc(arena, 100000), 255, 100000);
    assert_true(hsc_arena_used_bytes(arena) >= 100000 + 33 * 100);
    hsc_arena_reset(arena);
    assert_int_equal(hsc_arena_used_bytes(arena), 0);
  }
  hsc_arena_destroy(arena);
}

static void texts_are_copied(void **state) {
  hsc_arena *arena = NULL;
  EXPECT_OK(hsc_arena_create(&arena));
  assert_string_equal(hsc_arena_strdup(arena, "abc"), "abc");
  assert_string_equal(hsc_arena_strdup(arena, ""), "");
  assert_string_equal(hsc_arena_strndup(arena, "abcdef", 3), "abc");
  assert_string_equal(hsc_arena_printf(arena, "%d-%s", 7, "x"), "7-x");
  const char *longer = hsc_arena_printf(arena, "%05000d", 1);
  assert_int_equal(strlen(longer), 5000);
  int numbers[] = {1, 2, 3};
  assert_memory_equal(hsc_arena_copy(arena, numbers, sizeof numbers), numbers, sizeof numbers);
  assert_non_null(HSC_NEW(arena, int));
  assert_non_null(HSC_NEW_ARRAY(arena, double, 10));
  hsc_arena_destroy(arena);
}

static void running_out_is_sticky_and_harmless(void **state) {
  hsc_arena *arena = NULL;
  EXPECT_OK(hsc_arena_create(&arena));
  hsc_alloc_fail_after(1);
  char *small = NULL;
  // more than the first block holds
  for (int i = 0; i < 100; i++)
    small = hsc_arena_alloc(arena, 100);
  hsc_alloc_fail_after(0);
  assert_non_null(small);
  small[99] = 1;
  small = hsc_arena_alloc(arena, 8);  // stays failed, stays zeroed
  assert_int_equal(small[0], 0);
  // another one that fails beside it has memory of its own, of any size, until the reserve is over
  hsc_arena *beside = NULL;
  EXPECT_OK(hsc_arena_create(&beside));
  hsc_alloc_fail_after(1);
  char *large = hsc_arena_alloc(beside, 1 << 20);
  hsc_alloc_fail_after(0);
  memset(large, 2, 1 << 20);
  assert_int_equal(small[0], 0);
  char *more = hsc_arena_alloc(arena, 100000);
  assert_int_equal(more[99999], 0);
  assert_int_equal(large[0], 2);
  assert_int_equal(large[(1 << 20) - 1], 2);
  assert_null(hsc_arena_alloc(arena, 64 << 20));
  EXPECT_CODE(RESOURCE_EXHAUSTED, hsc_arena_status(beside));
  hsc_arena_destroy(beside);
  EXPECT_CODE(RESOURCE_EXHAUSTED, hsc_arena_status(arena));
  assert_non_null(hsc_arena_alloc(arena, 14 << 20));  // what the other one had is free again
  hsc_arena_reset(arena);
  EXPECT_OK(hsc_arena_status(arena));
  hsc_arena_destroy(arena);
}

static void impossible_sizes_fail(void **state) {
  hsc_arena *arena = NULL;
  EXPECT_OK(hsc_arena_create(&arena));
  assert_null(hsc_arena_alloc_array(arena, SIZE_MAX / 2, 3));
  EXPECT_CODE(RESOURCE_EXHAUSTED, hsc_arena_status(arena));
  hsc_arena_reset(arena);
  assert_null(hsc_arena_alloc(arena, SIZE_MAX - 3));
  EXPECT_CODE(RESOURCE_EXHAUSTED, hsc_arena_status(arena));
  hsc_arena_destroy(arena);
  size_t out = 42;
  assert_false(hsc_mul_size(SIZE_MAX / 2, 3, &out));
  assert_false(hsc_add_size(SIZE_MAX, 1, &out));
  assert_int_equal(out, 42);
  assert_true(hsc_mul_size(6, 7, &out) && out == 42);
  assert_true(hsc_add_size(40, 3, &out) && out == 43);
}

static void create_survives_failing_allocations(void **state) {
  for (uint64_t n = 1; n <= 2; n++) {
    hsc_arena *arena = NULL;
    hsc_alloc_fail_after(n);
    hsc_status *status = hsc_arena_create(&arena);
    hsc_alloc_fail_after(0);
    EXPECT_CODE(RESOURCE_EXHAUSTED, status);
    assert_null(arena);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(memory_is_zeroed_aligned_and_apart),
      cmocka_unit_test(reset_gives_zeroed_memory_again),
      cmocka_unit_test(texts_are_copied),
      cmocka_unit_test(running_out_is_sticky_and_harmless),
      cmocka_unit_test(impossible_sizes_fail),
      cmocka_unit_test(create_survives_failing_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
