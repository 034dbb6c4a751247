#include "base/core/hash.h"
#include "base/core/map.h"
#include "base/core/memory.h"
#include "base/core/random.h"
#include "unit.h"

#include <math.h>
#include <stdlib.h>

// Cache entries on users' disks carry these numbers: a change of the hash is a change of format.
static void hashes_never_change(void **state) {
  char hex[33];
  assert_int_equal(hsc_hash64("", 0, 0), 0x7bdeba0d1a72c281u);
  assert_int_equal(hsc_hash64("hloscope", 8, 0), 0x8ffcb40b11887f6du);
  assert_int_equal(hsc_hash64("hloscope measures programs", 26, 1), 0x3ed27b1672b4913fu);
  hsc_hash128_hex(hsc_hash128_of("", 0, 0), hex);
  assert_string_equal(hex, "ff7df6497921fc72592f3a9ac1ef972d");
  hsc_hash128_hex(hsc_hash128_of("hloscope measures programs", 26, 1), hex);
  assert_string_equal(hex, "4c8842ecddc833356918ab296f9a10b1");
}

// Every flipped input bit flips about half of the output bits (mean over many inputs, each output
// word).
static void one_bit_changes_half_of_the_hash(void **state) {
  hsc_random random;
  hsc_random_init(&random, 3);
  double flips64 = 0;
  double flips_low = 0;
  double flips_high = 0;
  int count = 0;
  for (size_t size = 1; size <= 48; size++) {
    for (int round = 0; round < 20; round++) {
      unsigned char data[48];
      for (size_t i = 0; i < size; i++)
        data[i] = (unsigned char)hsc_random_u64(&random);
      uint64_t before = hsc_hash64(data, size, 9);
      hsc_hash128 wide = hsc_hash128_of(data, size, 9);
      size_t bit = hsc_random_below(&random, size * 8);
      data[bit / 8] ^= (unsigned char)(1u << bit % 8);
      hsc_hash128 wide_after = hsc_hash128_of(data, size, 9);
      int changed = __builtin_popcountll(before ^ hsc_hash64(data, size, 9));
      assert_in_range(changed, 8, 56);
      flips64 += changed;
      flips_low += __builtin_popcountll(wide.low ^ wide_after.low);
      flips_high += __builtin_popcountll(wide.high ^ wide_after.high);
      count++;
    }
  }
  assert_true(fabs(flips64 / count - 32) < 1);
  assert_true(fabs(flips_low / count - 32) < 1);
  assert_true(fabs(flips_high / count - 32) < 1);
}

static void size_and_seed_matter(void **state) {
  static const char zeros[40];
  uint64_t seen[82];
  size_t count = 0;
  for (uint64_t seed = 0; seed < 2; seed++)
    for (size_t size = 0; size <= 40; size++) {
      uint64_t hash = hsc_hash64(zeros, size, seed);
      for (size_t i = 0; i < count; i++)
        assert_true(seen[i] != hash);
      seen[count++] = hash;
    }
}

static void map_finds_what_was_put(void **state) {
  enum { COUNT = 5000 };
  static char keys[COUNT][16];
  static int values[COUNT];
  hsc_map *map = NULL;
  EXPECT_OK(hsc_map_create(&map));
  assert_null(hsc_map_get(map, HSC_VIEW("x")));
  for (int i = 0; i < COUNT; i++) {
    snprintf(keys[i], sizeof keys[i], "key.%d", i);
    EXPECT_OK(hsc_map_put(map, hsc_view_of(keys[i]), &values[i]));
  }
  EXPECT_OK(hsc_map_put(map, HSC_VIEW("key.17"), &values[0]));  // replaces
  assert_int_equal(hsc_map_count(map), COUNT);
  for (int i = 0; i < COUNT; i++) {
    hsc_view key;
    void *expected = i == 17 ? &values[0] : &values[i];
    assert_ptr_equal(hsc_map_get(map, hsc_view_of(keys[i])), expected);
    assert_ptr_equal(hsc_map_at(map, (size_t)i, &key), expected);
    assert_true(hsc_view_equals_text(key, keys[i]));
  }
  assert_null(hsc_map_get(map, HSC_VIEW("key.5000")));
  assert_null(hsc_map_at(map, COUNT, NULL));
  hsc_map_destroy(map);
}

static void map_survives_failing_allocations(void **state) {
  static const char *const keys[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"};
  for (uint64_t n = 1; n <= 6; n++) {
    hsc_map *map = NULL;
    hsc_alloc_fail_after(n);
    hsc_status *status = hsc_map_create(&map);
    size_t put = 0;
    for (; !status && put < HSC_COUNT_OF(keys); put++)
      status = hsc_map_put(map, hsc_view_of(keys[put]), (void *)(uintptr_t)keys[put]);
    hsc_alloc_fail_after(0);
    if (n <= 5)
      assert_non_null(status);
    if (map)
      for (size_t i = 0; i < hsc_map_count(map); i++)
        assert_ptr_equal(hsc_map_get(map, hsc_view_of(keys[i])), keys[i]);
    hsc_status_free(status);
    hsc_map_destroy(map);
  }
}

// Reference values: the published C code of xoshiro256** and splitmix64, compiled apart.
static void random_numbers_are_the_published_ones(void **state) {
  hsc_random random;
  hsc_random_init(&random, 0);
  assert_int_equal(random.state[0], 0xe220a8397b1dcdafu);  // splitmix64, seed 0, first output
  assert_int_equal(hsc_random_u64(&random), 0x99ec5f36cb75f2b4u);
}

static void random_numbers_are_spread(void **state) {
  hsc_random random;
  hsc_random_init(&random, 11);
  enum { COUNT = 200000 };
  double sum = 0;
  double normal_sum = 0;
  double normal_squares = 0;
  int buckets[7] = {0};
  for (int i = 0; i < COUNT; i++) {
    double x = hsc_random_double(&random);
    double z = hsc_random_normal(&random);
    assert_true(x >= 0 && x < 1);
    sum += x;
    normal_sum += z;
    normal_squares += z * z;
    uint64_t below = hsc_random_below(&random, 7);
    assert_true(below < 7);
    buckets[below]++;
  }
  assert_true(fabs(sum / COUNT - 0.5) < 0.005);
  assert_true(fabs(normal_sum / COUNT) < 0.01);
  assert_true(fabs(normal_squares / COUNT - 1) < 0.02);
  for (int i = 0; i < 7; i++)
    assert_true(abs(buckets[i] - COUNT / 7) < 1000);
}

// What a key was given as may go at once: the map has its own.
static void a_map_owns_its_keys(void **state) {
  hsc_map *map;
  char key[32];
  EXPECT_OK(hsc_map_create(&map));
  for (int i = 0; i < 1000; i++) {
    char *own = malloc(32);
    int size = snprintf(own, 32, "key %d", i);
    EXPECT_OK(hsc_map_put(map, (hsc_view){own, (size_t)size}, (void *)(uintptr_t)(i + 1)));
    memset(own, 'x', 32);
    free(own);
  }
  for (int i = 0; i < 1000; i++) {
    hsc_view kept;
    int size = snprintf(key, sizeof key, "key %d", i);
    assert_int_equal((uintptr_t)hsc_map_get(map, (hsc_view){key, (size_t)size}), i + 1);
    hsc_map_at(map, (size_t)i, &kept);
    assert_string_equal(kept.data, key);
  }
  hsc_map_destroy(map);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(hashes_never_change),
      cmocka_unit_test(a_map_owns_its_keys),
      cmocka_unit_test(one_bit_changes_half_of_the_hash),
      cmocka_unit_test(size_and_seed_matter),
      cmocka_unit_test(map_finds_what_was_put),
      cmocka_unit_test(map_survives_failing_allocations),
      cmocka_unit_test(random_numbers_are_the_published_ones),
      cmocka_unit_test(random_numbers_are_spread),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
