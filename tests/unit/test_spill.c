// Memory in files: what large pieces hold, how they grow, and that the process stays small.
#include "base/core/bytes.h"
#include "base/core/clock.h"
#include "base/core/memory.h"
#include "base/core/spill.h"
#include "unit.h"

enum { MIB = 1 << 20, PIECE = 40 * MIB };

static void small_and_large_pieces_are_zeroed_and_freed(void **state) {
  (void)state;
  hsc_spill_begin();
  const size_t sizes[] = {100, PIECE, HSC_SPILL_BYTES - 1, HSC_SPILL_BYTES};
  for (size_t i = 0; i < HSC_COUNT_OF(sizes); i++) {
    char *memory = hsc_alloc(sizes[i]);
    assert_non_null(memory);
    assert_int_equal(hsc_spill_holds(memory), sizes[i] >= HSC_SPILL_BYTES);
    for (size_t at = 0; at < sizes[i]; at += 997)
      assert_int_equal(memory[at], 0);
    memory[sizes[i] - 1] = 1;
    hsc_free(memory);
  }
}

static void what_grows_keeps_what_it_holds(void **state) {
  (void)state;
  hsc_spill_begin();
  hsc_bytes bytes = {0};
  for (uint32_t i = 0; i < 30 * MIB; i++)
    hsc_bytes_append(&bytes, &i, sizeof i);
  EXPECT_OK(hsc_bytes_status(&bytes));
  assert_true(hsc_spill_holds(bytes.data));
  for (uint32_t i = 0; i < 30 * MIB; i++) {
    uint32_t held;
    memcpy(&held, bytes.data + (size_t)i * 4, sizeof held);
    if (held != i)
      fail_msg("number %u is %u", i, held);
  }
  hsc_bytes_deinit(&bytes);
}

// Ten times what may stay is written and read twice.
static void the_process_stays_small(void **state) {
  (void)state;
  enum { PIECES = 16, MOST = 320 * MIB };
  static char *held[PIECES];
  int64_t largest = 0;
  hsc_spill_begin();
  for (int pass = 0; pass < 3; pass++) {
    for (int p = 0; p < PIECES; p++) {
      if (!pass)
        held[p] = hsc_alloc(PIECE);
      assert_non_null(held[p]);
      if (!hsc_spill_holds(held[p]))
        skip();  // temporary files are memory here
      for (size_t at = 0; at < PIECE; at += 4096) {
        hsc_spill_passed(at / 4096);
        if (pass)
          assert_int_equal(held[p][at], (char)(p + (int)(at >> 12)));
        else
          held[p][at] = (char)(p + (int)(at >> 12));
      }
    }
    hsc_usage usage;
    hsc_usage_get(&usage);
    largest = usage.max_rss_bytes;
  }
  for (int p = 0; p < PIECES; p++)
    hsc_free(held[p]);
  assert_in_range(largest, 1, MOST);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_process_stays_small),
      cmocka_unit_test(small_and_large_pieces_are_zeroed_and_freed),
      cmocka_unit_test(what_grows_keeps_what_it_holds),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
