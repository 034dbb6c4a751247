// test_gate.c - verdicts over times: false alarms and power, with the noise of busy machines.
#include <math.h>

#include "base/core/random.h"
#include "lab/gate/gate.h"
#include "lab/gate/gate_internal.h"
#include "unit.h"

enum { PROCESSES = 12, LOOKS = 3, TRIALS = 20000, SIDE = PROCESSES * LOOKS };

// A process's time: where its memory lies moves it by 1 %, and one in twenty was disturbed.
static double process_time(hsc_random *random, double effect) {
  double log_time = 0.01 * hsc_random_normal(random) + log(effect);
  if (hsc_random_double(random) < 0.05)
    log_time += 0.1 * hsc_random_double(random);
  return exp(log_time);
}

// As the gate does it: looks until nothing is open, three times at most.
static hsc_verdict gate(hsc_random *random, double effect, double session, bool paired) {
  double now[SIDE];
  double before[SIDE];
  hsc_gate_change change = {.verdict = HSC_VERDICT_CANNOT_TELL};
  for (int i = 0; i < SIDE; i++) {
    // load that lasts over a turn of both
    double load = paired ? exp(0.05 * hsc_random_normal(random)) : 1;
    before[i] = load * process_time(random, 1);
    now[i] = load * process_time(random, effect * session);
  }
  for (size_t look = 1; look <= LOOKS && change.verdict == HSC_VERDICT_CANNOT_TELL; look++)
    change =
        hsc_gate_compare(now, look * PROCESSES, before, paired ? look * PROCESSES : 2 * PROCESSES,
                         paired, paired ? 0 : 0.03, 0.05);
  return change.verdict;
}

static double share(double effect, double session, bool paired, hsc_verdict wanted) {
  hsc_random random;
  int hits = 0;
  hsc_random_init(&random, 7);
  for (int t = 0; t < TRIALS; t++) {
    double drift = exp(session * (2 * hsc_random_double(&random) - 1));
    hits += gate(&random, effect, drift, paired) == wanted;
  }
  return (double)hits / TRIALS;
}

static void unchanged_programs_raise_no_alarm(void **state) {
  (void)state;
  assert_true(share(1, 0, true, HSC_VERDICT_SLOWER) < 0.001);
  assert_true(share(1, 0.03, false, HSC_VERDICT_SLOWER) < 0.001);
}

static void five_percent_is_found_in_turns(void **state) {
  (void)state;
  assert_true(share(1.05, 0, true, HSC_VERDICT_SLOWER) > 0.95);
}

static void fifteen_percent_is_found_against_a_file(void **state) {
  (void)state;
  assert_true(share(1.15, 0.03, false, HSC_VERDICT_SLOWER) > 0.95);
}

static void few_processes_tell_nothing(void **state) {
  (void)state;
  const double now[] = {2, 2, 2, 2, 2};
  const double before[] = {1, 1, 1, 1, 1};
  hsc_gate_change change = hsc_gate_compare(now, 5, before, 5, true, 0, 0.05);
  assert_int_equal(change.verdict, HSC_VERDICT_CANNOT_TELL);
}

static void what_is_no_time_tells_nothing(void **state) {
  (void)state;
  const double now[] = {2, 2, 2, 2, 2, 2};
  const double before[] = {1, 1, 0, 1, NAN, -1};
  hsc_gate_change change = hsc_gate_compare(now, 6, before, 6, false, 0, 0.05);
  assert_int_equal(change.verdict, HSC_VERDICT_CANNOT_TELL);
}

// A baseline keeps some elements of a large output. When its digest differs and those that are kept
// do not, nothing is said of the rest.
static void what_a_baseline_did_not_keep_is_not_called_equal(void **state) {
  json_t *before =
      json_pack("[{s:s, s:s, s:i, s:i, s:s}, {s:s, s:s, s:i, s:i, s:s}]", "shape", "f32[1]",
                "digest", "aa", "elements", 1, "kept", 1, "values", "0000803f", "shape", "f32[4]",
                "digest", "bb", "elements", 4, "kept", 1, "values", "0000803f");
  json_t *now = json_deep_copy(before);
  json_object_set_new(json_array_get(now, 1), "digest", json_string("cc"));
  hsc_agreement *agreement = NULL;
  hsc_bytes sentence = {0};
  EXPECT_OK(hsc_agreement_create("output", &agreement));
  EXPECT_OK(hsc__gate_compare_outputs(before, now, NULL, agreement));
  assert_int_equal(hsc_agreement_verdict_of(agreement), HSC_AGREEMENT_PARTLY);
  assert_int_equal(hsc_agreement_exit_code(agreement), 3);
  hsc_agreement_sentence(agreement, &sentence);
  assert_non_null(strstr(hsc_bytes_text(&sentence), "equal as far as compared: 1 of 2 outputs"));
  assert_non_null(strstr(hsc_bytes_text(&sentence), "keeps 1 of 4 elements"));
  hsc_bytes_deinit(&sentence);
  hsc_agreement_destroy(agreement);
  json_decref(before);
  json_decref(now);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(unchanged_programs_raise_no_alarm),
      cmocka_unit_test(five_percent_is_found_in_turns),
      cmocka_unit_test(fifteen_percent_is_found_against_a_file),
      cmocka_unit_test(few_processes_tell_nothing),
      cmocka_unit_test(what_is_no_time_tells_nothing),
      cmocka_unit_test(what_a_baseline_did_not_keep_is_not_called_equal),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
