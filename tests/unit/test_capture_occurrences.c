// Runs told from operators that do not say which run they are of, against runs that are known:
// programs of several operators, some of them in loops, run after one another.
#include "trace/capture_internal.h"
#include "unit.h"

enum { MOST = 512 };
static hsc__occurrence list[MOST];
static size_t count;

static void add(int64_t program, const char *name, int64_t start_ns, int64_t duration_ns) {
  list[count++] = (hsc__occurrence){.program_id = program,
                                    .program = "jit_f",
                                    .name = name,
                                    .start_ns = start_ns,
                                    .end_ns = start_ns + duration_ns,
                                    .run = -7};
}

// `runs` of a program with three operators and a loop of `turns`, each 100 ns after the last one.
static void add_runs(int64_t program, int runs, int turns, int64_t from_ns) {
  for (int k = 0; k < runs; k++) {
    int64_t at = from_ns + 100 * k;
    add(program, "first", at, 5);
    for (int t = 0; t < turns; t++)
      add(program, "in_loop", at + 6 + 2 * t, 1);
    add(program, "while", at + 5, 80);
    add(program, "last", at + 90, 5);
  }
}

static void operators_are_of_the_run_in_which_they_lie(void **state) {
  count = 0;
  add_runs(3, 7, 4, 1000);
  add_runs(5, 2, 3, 1050);  // same module name, another program, at the same time
  EXPECT_OK(hsc__number_occurrences(list, count));
  int numbered = 0;
  for (size_t i = 0; i < count; i++) {
    int64_t from = list[i].program_id == 3 ? 1000 : 1050;
    int64_t run = (list[i].start_ns - from) / 100;
    if (!strcmp(list[i].name, "in_loop"))
      assert_int_equal(list[i].run, -1);
    else
      assert_int_equal(list[i].run, run);
    numbered += list[i].run >= 0;
  }
  assert_int_equal(numbered, 3 * (7 + 2));
}

static void a_loop_of_one_turn_is_no_loop(void **state) {
  count = 0;
  add_runs(1, 3, 1, 0);
  EXPECT_OK(hsc__number_occurrences(list, count));
  for (size_t i = 0; i < count; i++)
    assert_int_equal(list[i].run, list[i].start_ns / 100);
}

static void runs_that_lie_over_each_other_are_not_numbered(void **state) {
  count = 0;
  add_runs(1, 4, 2, 0);
  add_runs(1, 4, 2, 10);  // another device
  add_runs(2, 4, 2, 0);
  EXPECT_OK(hsc__number_occurrences(list, count));
  for (size_t i = 0; i < count; i++)
    assert_int_equal(list[i].run >= 0, list[i].program_id == 2 && strcmp(list[i].name, "in_loop"));
}

static void runs_may_touch(void **state) {
  count = 0;
  add(1, "a", 0, 10);
  add(1, "a", 10, 10);
  EXPECT_OK(hsc__number_occurrences(list, count));
  assert_int_equal(list[0].run, 0);
  assert_int_equal(list[1].run, 1);
  list[1].start_ns = 9;
  EXPECT_OK(hsc__number_occurrences(list, count));
  assert_int_equal(list[0].run, -1);
  assert_int_equal(list[1].run, -1);
  EXPECT_OK(hsc__number_occurrences(list, 0));
}

static void without_memory_it_says_so(void **state) {
  count = 0;
  add_runs(1, 3, 1, 0);
  hsc_alloc_fail_after(1);
  hsc_status *status = hsc__number_occurrences(list, count);
  hsc_alloc_fail_after(0);
  EXPECT_CODE(RESOURCE_EXHAUSTED, status);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(operators_are_of_the_run_in_which_they_lie),
      cmocka_unit_test(a_loop_of_one_turn_is_no_loop),
      cmocka_unit_test(runs_that_lie_over_each_other_are_not_numbered),
      cmocka_unit_test(runs_may_touch),
      cmocka_unit_test(without_memory_it_says_so),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
