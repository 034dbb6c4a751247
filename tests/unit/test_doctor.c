#include "unit.h"

#include "doctor/doctor_internal.h"

static void versions_are_compared_as_pip_does(void **state) {
  static const struct {
    const char *a, *b;
    int order;
  } rows[] = {{"1.0", "1.0.0", 0},      {"1.10", "1.9", 1},
              {"2.0rc1", "2.0", -1},    {"2.9.0+cu121", "2.9.0", 0},
              {"0.4.30", "0.4.35", -1}, {"2.21.18209.0+043b1bf7", "2.21.18209.0", 0},
              {"1.0.post1", "1.0", 0},  {"3", "2.999", 1},
              {"2.0.dev1", "2.0", -1}};
  for (size_t i = 0; i < HSC_COUNT_OF(rows); i++) {
    assert_int_equal(hsc__version_compare(rows[i].a, rows[i].b), rows[i].order);
    assert_int_equal(hsc__version_compare(rows[i].b, rows[i].a), -rows[i].order);
  }
}

// Answers are those of packaging.specifiers.SpecifierSet.
static void specifiers_are_read(void **state) {
  static const struct {
    const char *version, *specifiers;
    bool fits;
  } rows[] = {{"0.4.30", "<=0.4.30,>=0.4.27", true},
              {"0.4.35", "<=0.4.30,>=0.4.27", false},
              {"1.26.4", "<2", true},
              {"2.0", "<2", false},
              {"1.2.3", "==1.2.*", true},
              {"1.3.0", "==1.2.*", false},
              {"1.5", "~=1.4", true},
              {"1.3", "~=1.4", false},
              {"1.0", "!=1.0", false},
              {"1.0", "", true},
              {"2.1", " >= 2.0 , < 3", true}};
  for (size_t i = 0; i < HSC_COUNT_OF(rows); i++)
    if (hsc__version_satisfies(rows[i].version, rows[i].specifiers) != rows[i].fits)
      fail_msg("%s against '%s'", rows[i].version, rows[i].specifiers);
}

// Every check answers, whatever is missing: an empty root has nothing at all.
static void every_check_answers_on_an_empty_machine(void **state) {
  for (size_t i = 0; i < hsc_check_count(); i++) {
    hsc_check_result result;
    EXPECT_OK(hsc_check_run(i, &(hsc_check_options){.root = "/nonexistent-root"}, &result));
    assert_true(*result.evidence != 0);
    if (result.verdict == HSC_VERDICT_WARNING || result.verdict == HSC_VERDICT_ERROR)
      assert_true(*result.fix != 0);
    hsc_check_result_deinit(&result);
  }
}

static void every_check_answers_on_this_machine(void **state) {
  for (size_t i = 0; i < hsc_check_count(); i++) {
    if (!hsc_check_at(i)->quick)
      continue;
    hsc_check_result result;
    EXPECT_OK(hsc_check_run(i, &(hsc_check_options){.root = "", .quick = true}, &result));
    assert_true(*result.evidence != 0);
    hsc_check_result_deinit(&result);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(versions_are_compared_as_pip_does),
      cmocka_unit_test(specifiers_are_read),
      cmocka_unit_test(every_check_answers_on_an_empty_machine),
      cmocka_unit_test(every_check_answers_on_this_machine),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
