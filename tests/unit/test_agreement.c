// test_agreement.c - a verdict follows from what was compared and what was not.
#include "lab/verdict/agreement.h"
#include "base/core/memory.h"
#include "unit.h"

static hsc_agreement *start(const char *unit) {
  hsc_agreement *a = NULL;
  EXPECT_OK(hsc_agreement_create(unit, &a));
  return a;
}

static void expect_sentence(const hsc_agreement *a, const char *wanted) {
  hsc_bytes text = {0};
  hsc_agreement_sentence(a, &text);
  assert_string_equal(hsc_bytes_text(&text), wanted);
  hsc_bytes_deinit(&text);
}

static void expect_verdict(const hsc_agreement *a, hsc_agreement_verdict wanted, int exit_code) {
  assert_int_equal(hsc_agreement_verdict_of(a), wanted);
  assert_int_equal(hsc_agreement_exit_code(a), exit_code);
  assert_int_equal(hsc_agreement_exit_code_of(hsc_agreement_text(wanted)), exit_code);
}

static void equal_needs_everything(void **state) {
  hsc_agreement *a = start("stage");
  hsc_agreement_anchor(a, "input");
  hsc_agreement_compared(a, "run 1, fusion", HSC_FINDING_EQUAL);
  expect_verdict(a, HSC_AGREEMENT_EQUAL, 0);
  expect_sentence(a, "equal: all of 2 stages compared");
  hsc_agreement_gap(a, json_pack("{s:i}", "run", 2), "run 2, dce", "no known meaning: f");
  expect_verdict(a, HSC_AGREEMENT_PARTLY, 3);
  expect_sentence(
      a, "equal as far as compared: 2 of 3 stages; not compared: run 2, dce: no known meaning: f");
  hsc_agreement_destroy(a);
}

static void a_difference_stays_one(void **state) {
  hsc_agreement *a = start("output");
  hsc_agreement_gap(a, NULL, "output 0", "it has no outputs");
  hsc_agreement_compared(a, "output 1", HSC_FINDING_DIFFERENT);
  hsc_agreement_compared(a, "output 2", HSC_FINDING_EQUAL);
  expect_verdict(a, HSC_AGREEMENT_DIFFERENT, 1);
  expect_sentence(a, "different in 1 of 3 outputs; not compared: output 0: it has no outputs");
  hsc_agreement_destroy(a);
}

// Of a program that nobody ran not even the number of its outputs is known.
static void what_nobody_counted_is_in_no_count(void **state) {
  hsc_agreement *a = start("output");
  hsc_agreement_gap_uncounted(a, NULL, "cpu", "unsupported");
  expect_verdict(a, HSC_AGREEMENT_UNKNOWN, 3);
  expect_sentence(a, "unknown: no output could be compared; not compared: cpu: unsupported");
  json_t *coverage = hsc_agreement_coverage(a);
  assert_int_equal(json_integer_value(json_object_get(coverage, "outputs")), 0);
  assert_int_equal(json_array_size(json_object_get(coverage, "not_compared")), 1);
  json_decref(coverage);
  hsc_agreement_compared(a, "output 0", HSC_FINDING_EQUAL);
  expect_verdict(a, HSC_AGREEMENT_PARTLY, 3);
  expect_sentence(a, "equal as far as compared: 1 of 1 output; not compared: cpu: unsupported");
  hsc_agreement_destroy(a);
}

// What is compared with itself shows nothing.
static void an_anchor_is_no_comparison(void **state) {
  hsc_agreement *a = start("stage");
  expect_verdict(a, HSC_AGREEMENT_UNKNOWN, 3);
  hsc_agreement_anchor(a, "input");
  expect_verdict(a, HSC_AGREEMENT_EQUAL, 0);  // a compile that changed nothing
  hsc_agreement_gap(a, NULL, "run 3, cse", "interrupted");
  hsc_agreement_gap(a, NULL, "run 4, dce", "interrupted");
  expect_verdict(a, HSC_AGREEMENT_UNKNOWN, 3);
  expect_sentence(a,
                  "unknown: none of 2 stages could be compared; not compared: none from run 3, "
                  "cse on (2): interrupted");
  hsc_agreement_destroy(a);
}

// A reason may be a message with notes on lines of their own; a headline is one line.
static void a_headline_is_one_line(void **state) {
  hsc_agreement *a = NULL;
  EXPECT_OK(hsc_agreement_create("stage", &a));
  hsc_agreement_compared(a, "run 1, cse", HSC_FINDING_EQUAL);
  hsc_agreement_gap(a, NULL, "run 2, fusion", "subtract: no operand\n  while: pass fusion");
  expect_sentence(a,
                  "equal as far as compared: 1 of 2 stages; not compared: run 2, fusion: subtract: "
                  "no operand");
  hsc_agreement_destroy(a);
}

static void rounding_is_close(void **state) {
  hsc_agreement *a = start("output");
  hsc_agreement_compared(a, "output 0", HSC_FINDING_CLOSE);
  expect_sentence(a, "close: all of 1 output compared");
  hsc_agreement_compared(a, "output 1", HSC_FINDING_ROUNDING);
  expect_verdict(a, HSC_AGREEMENT_CLOSE, 0);
  expect_sentence(a, "close, by rounding: all of 2 outputs compared");
  hsc_agreement_destroy(a);
}

static void coverage_stands_in_the_document(void **state) {
  hsc_agreement *a = start("stage");
  json_t *document = json_object();
  hsc_agreement_anchor(a, "input");
  hsc_agreement_compared(a, "run 1", HSC_FINDING_CLOSE);
  hsc_agreement_gap(a, json_pack("{s:i}", "run", 7), "run 7", "too slow");
  EXPECT_OK(hsc_agreement_into(a, document));
  json_t *wanted = json_loads(
      "{\"verdict\": \"partly\", \"headline\": \"close as far as compared: 2 of 3 stages; not "
      "compared: run 7: too slow\", \"coverage\": {\"stages\": 3, \"compared\": 2, "
      "\"not_compared\": [{\"run\": 7, \"reason\": \"too slow\"}]}}",
      0, NULL);
  assert_true(json_equal(document, wanted));
  json_decref(wanted);
  json_decref(document);
  hsc_agreement_destroy(a);
}

// Memory that runs out while entries are made never leaves "equal" behind.
static void lost_entries_are_no_agreement(void **state) {
  for (int n = 1; n < 12; n++) {
    hsc_agreement *a = start("stage");
    hsc_alloc_fail_after(n);
    hsc_agreement_anchor(a, "input");
    for (int i = 0; i < 40; i++)
      hsc_agreement_compared(a, "run", HSC_FINDING_EQUAL);
    hsc_alloc_fail_after(0);
    if (hsc_agreement_wanted(a) < 41)
      expect_verdict(a, HSC_AGREEMENT_UNKNOWN, 3);
    hsc_agreement_destroy(a);
  }
}

static void words_are_findings(void **state) {
  hsc_finding finding;
  for (int i = HSC_FINDING_EQUAL; i <= HSC_FINDING_DIFFERENT; i++) {
    assert_true(hsc_finding_parse(hsc_finding_text((hsc_finding)i), &finding));
    assert_int_equal(finding, i);
  }
  assert_false(hsc_finding_parse("partly", &finding));
  assert_false(hsc_finding_parse(NULL, &finding));
  assert_int_equal(hsc_agreement_exit_code_of("fine"), 3);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(equal_needs_everything),
      cmocka_unit_test(a_difference_stays_one),
      cmocka_unit_test(what_nobody_counted_is_in_no_count),
      cmocka_unit_test(an_anchor_is_no_comparison),
      cmocka_unit_test(a_headline_is_one_line),
      cmocka_unit_test(rounding_is_close),
      cmocka_unit_test(coverage_stands_in_the_document),
      cmocka_unit_test(lost_entries_are_no_agreement),
      cmocka_unit_test(words_are_findings),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
