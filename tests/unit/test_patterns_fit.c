// test_patterns_fit.c - the model of time over worker processes: what it finds, and how often its
// prediction for another process holds.
#include <math.h>

#include "base/core/random.h"
#include "lab/patterns/patterns_internal.h"
#include "unit.h"

static const double fitted[][2] = {{1, 1}, {2, 1}, {2, 2},  {4, 1},  {4, 4},
                                   {8, 1}, {8, 8}, {16, 1}, {16, 16}};

// One process's answer: a s + b k, each time with noise of its own.
static json_t *answer_of(double a, double b, double noise, hsc_random *random) {
  json_t *time = json_array();
  json_t *k = json_array();
  json_t *s = json_array();
  for (size_t i = 0; i < HSC_COUNT_OF(fitted); i++)
    for (int repeat = 0; repeat < 5; repeat++) {
      double ns = (a * fitted[i][1] + b * fitted[i][0]) * exp(noise * hsc_random_normal(random));
      json_array_append_new(k, json_real(fitted[i][0]));
      json_array_append_new(s, json_real(fitted[i][1]));
      json_array_append_new(time, json_real(ns));
    }
  return json_pack("{s:{s:o, s:o, s:o}}", "series", "time_ns", time, "executions_count", k,
                   "syncs_count", s);
}

static void release(json_t **answers) {
  for (int p = 0; p < HSC__MODEL_PROCESSES; p++)
    json_decref(answers[p]);
}

static void exact_times_give_their_terms(void **state) {
  hsc_random random;
  hsc_random_init(&random, 1);
  json_t *answers[HSC__MODEL_PROCESSES];
  for (int p = 0; p < HSC__MODEL_PROCESSES; p++)
    answers[p] = answer_of(500, 2000, 0, &random);
  hsc__time_model model;
  EXPECT_OK(hsc__time_model_fit(answers, HSC__MODEL_PROCESSES, &model));
  assert_int_equal(model.process_count, HSC__MODEL_PROCESSES);
  assert_true(fabs(model.term[0].estimate - 500) < 1e-6);
  assert_true(fabs(model.term[1].estimate - 2000) < 1e-6);
  assert_true(fabs(hsc__time_model_at(&model, 3, 3).estimate - 7500) < 1e-6);
  release(answers);
}

// A process in which more synchronisations look faster: no term may become negative.
static void no_term_is_negative(void **state) {
  hsc_random random;
  hsc_random_init(&random, 2);
  json_t *answers[HSC__MODEL_PROCESSES];
  for (int p = 0; p < HSC__MODEL_PROCESSES; p++)
    answers[p] = answer_of(-300, 2000, 0.01, &random);
  hsc__time_model model;
  EXPECT_OK(hsc__time_model_fit(answers, HSC__MODEL_PROCESSES, &model));
  for (size_t p = 0; p < model.process_count; p++)
    assert_true(model.coefficient[p][0] >= 0 && model.coefficient[p][1] > 0);
  assert_true(model.term[0].low >= 0);
  assert_true(hsc__time_model_at(&model, 1, 1).low > 0);
  release(answers);
}

// Processes differ by 10 %, runs within one by 2 %: the interval is for the next process.
static void predictions_hold_for_another_process(void **state) {
  hsc_random random;
  hsc_random_init(&random, 3);
  enum { SWEEPS = 2000 };
  int held = 0;
  for (int sweep = 0; sweep < SWEEPS; sweep++) {
    json_t *answers[HSC__MODEL_PROCESSES];
    double spread[HSC__MODEL_PROCESSES + 1];
    for (int p = 0; p <= HSC__MODEL_PROCESSES; p++)
      spread[p] = exp(0.1 * hsc_random_normal(&random));
    for (int p = 0; p < HSC__MODEL_PROCESSES; p++)
      answers[p] = answer_of(500 * spread[p], 2000 * spread[p], 0.02, &random);
    hsc__time_model model;
    EXPECT_OK(hsc__time_model_fit(answers, HSC__MODEL_PROCESSES, &model));
    double truth = (12 * 500 + 12 * 2000) * spread[HSC__MODEL_PROCESSES];
    hsc_interval i = hsc__time_model_at(&model, 12, 12);
    held += i.low <= truth && truth <= i.high;
    release(answers);
  }
  double share = (double)held / SWEEPS;
  if (share < 0.93 || share > 0.97)
    fail_msg("95 %% prediction intervals hold %.1f %%", 100 * share);
}

static void one_process_has_no_interval(void **state) {
  hsc_random random;
  hsc_random_init(&random, 4);
  json_t *answers[HSC__MODEL_PROCESSES] = {answer_of(500, 2000, 0.01, &random)};
  hsc__time_model model;
  EXPECT_OK(hsc__time_model_fit(answers, HSC__MODEL_PROCESSES, &model));
  assert_int_equal(model.process_count, 1);
  assert_true(isnan(model.term[0].low) && isnan(hsc__time_model_at(&model, 1, 1).low));
  release(answers);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(exact_times_give_their_terms),
      cmocka_unit_test(no_term_is_negative),
      cmocka_unit_test(predictions_hold_for_another_process),
      cmocka_unit_test(one_process_has_no_interval),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
