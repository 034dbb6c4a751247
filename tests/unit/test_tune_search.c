// The search of `hloscope tune` on machines that are made here: what it calls faster must be.
#include <math.h>

#include "base/core/memory.h"
#include "base/core/random.h"
#include "lab/tune/tune_search.h"
#include "unit.h"

enum { CANDIDATES = 60, PLACEBOS = 2, SEARCHES = 300 };

// A machine: every process has an own offset for each executable (where its memory lies), blocks
// vary, and some are disturbed by others.
typedef struct machine {
  hsc_random random;
  int good;       // the candidate that has an effect; -1 = none
  double effect;  // its ratio
  double process_sd, block_sd, disturbed_share;
  int rounds_seen;
  int end_in_round;  // the time is up there; -1 = never
} machine;

static double turn(machine *m, double base, double process) {
  double log_time = log(base) + process + m->block_sd * hsc_random_normal(&m->random);
  if (hsc_random_double(&m->random) < m->disturbed_share)
    log_time += hsc_random_double(&m->random);
  return exp(log_time);
}

static hsc_status *measure(
    void *user, const hsc_tune_round *round, double *times, double *baseline, bool *out_end) {
  machine *m = user;
  m->rounds_seen++;
  for (size_t i = 0; i < round->count; i++)
    for (int p = 0; p < round->processes; p++) {
      double effect = round->members[i] == m->good ? m->effect : 1;
      double own = m->process_sd * hsc_random_normal(&m->random);
      double base = m->process_sd * hsc_random_normal(&m->random);
      for (int b = 0; b < round->blocks; b++) {
        size_t cell =
            (i * (size_t)round->processes + (size_t)p) * (size_t)round->blocks + (size_t)b;
        times[cell] = turn(m, effect, own);
        baseline[cell] = turn(m, 1, base);
      }
    }
  *out_end = round->number == m->end_in_round;
  return NULL;
}

static machine machine_of(uint64_t seed, int good, double effect) {
  machine m = {.good = good,
               .effect = effect,
               .process_sd = 0.03,
               .block_sd = 0.06,
               .disturbed_share = 0.05,
               .end_in_round = -1};
  hsc_random_init(&m.random, seed);
  return m;
}

static const hsc_tune_plan plan = {.candidate_count = CANDIDATES,
                                   .placebo_count = PLACEBOS,
                                   .last_processes = 6,
                                   .last_blocks = 4,
                                   .margin = 0.02};

// How many candidates are called faster; *out_good: the one that is is among them.
static int search(machine *m, uint64_t seed, bool *out_good, bool *out_ended) {
  hsc_tune_found found[CANDIDATES + PLACEBOS];
  hsc_tune_plan mine = plan;
  int called = 0;
  mine.seed = seed;
  *out_good = false;
  EXPECT_OK(hsc_tune_search(&mine, measure, m, found, out_ended));
  for (int i = 0; i < CANDIDATES; i++) {
    bool faster = found[i].judged && found[i].effect.verdict == HSC_VERDICT_FASTER &&
                  found[i].effect.ratio.estimate < 1 - mine.margin;
    called += faster;
    *out_good |= faster && i == m->good;
  }
  return called;
}

static void false_discoveries_are_under_five_percent(void **state) {
  int with_any = 0;
  bool good = false;
  bool ended = false;
  for (uint64_t seed = 1; seed <= SEARCHES; seed++) {
    machine m = machine_of(seed, -1, 1);
    with_any += search(&m, seed, &good, &ended) > 0;
    assert_true(ended);
  }
  print_message("%d of %d searches among %d equal candidates called one faster\n", with_any,
                SEARCHES, CANDIDATES);
  assert_true(with_any * 20 < SEARCHES);
}

static void a_candidate_that_helps_is_found(void **state) {
  int found = 0;
  bool good = false;
  bool ended = false;
  for (uint64_t seed = 1; seed <= 50; seed++) {
    machine m = machine_of(seed, (int)(seed % CANDIDATES), 0.75);
    search(&m, seed, &good, &ended);
    found += good;
  }
  print_message("%d of 50 searches found a gain of 25 %%\n", found);
  assert_true(found >= 45);
}

// A candidate that had the luck of the first look keeps none of it: what is reported is measured
// anew, so over many searches the winner's ratio is the true one.
static void the_reported_gain_is_not_the_luck_of_the_choice(void **state) {
  double sum = 0;
  int count = 0;
  for (uint64_t seed = 1; seed <= 100; seed++) {
    machine m = machine_of(seed, 7, 0.8);
    hsc_tune_found found[CANDIDATES + PLACEBOS];
    bool ended = false;
    EXPECT_OK(hsc_tune_search(&plan, measure, &m, found, &ended));
    if (!found[7].judged)
      continue;
    sum += found[7].effect.log_effect;
    count++;
  }
  assert_true(count > 80);
  assert_true(fabs(sum / count - log(0.8)) < 0.015);
}

static void a_search_that_is_ended_proves_nothing(void **state) {
  for (int round = 0; round <= 2; round++) {
    machine m = machine_of(5, 3, 0.5);
    bool good = false;
    bool ended = true;
    m.end_in_round = round;
    int called = search(&m, 5, &good, &ended);
    assert_false(ended);
    if (round < 2)
      assert_int_equal(called, 0);
    assert_int_equal(m.rounds_seen, round + 1);
  }
}

static hsc_status *measures_nothing(
    void *user, const hsc_tune_round *round, double *times, double *baseline, bool *out_end) {
  *out_end = false;
  return NULL;
}

static void what_never_runs_is_not_judged(void **state) {
  hsc_tune_found found[CANDIDATES + PLACEBOS];
  bool ended = false;
  EXPECT_OK(hsc_tune_search(&plan, measures_nothing, NULL, found, &ended));
  assert_true(ended);
  for (int i = 0; i < CANDIDATES; i++)
    assert_false(found[i].judged);
}

static void without_candidates_there_is_nothing_to_find(void **state) {
  hsc_tune_plan none = plan;
  machine m = machine_of(1, -1, 1);
  hsc_tune_found found[PLACEBOS];
  bool ended = false;
  none.candidate_count = 0;
  EXPECT_OK(hsc_tune_search(&none, measure, &m, found, &ended));
  assert_true(ended);
}

// ---- which rounds there are ---------------------------------------------------------------------

// A machine without noise: candidate k takes ratio + k * step times as long as the baseline.
typedef struct steps {
  double ratio, step;
  size_t counts[HSC_TUNE_ROUNDS];  // members of each round; 0 = it was not asked for
  bool in_last[CANDIDATES + PLACEBOS];
} steps;

static hsc_status *measure_steps(
    void *user, const hsc_tune_round *round, double *times, double *baseline, bool *out_end) {
  steps *s = user;
  size_t cell = 0;
  s->counts[round->number] = round->count;
  for (size_t i = 0; i < round->count; i++) {
    int member = round->members[i];
    if (round->number == HSC_TUNE_ROUNDS - 1)
      s->in_last[member] = true;
    for (int k = 0; k < round->processes * round->blocks; k++, cell++) {
      times[cell] = s->ratio + s->step * member;
      baseline[cell] = 1;
    }
  }
  *out_end = false;
  return NULL;
}

static void each_round_takes_a_third_of_the_last(void **state) {
  for (int candidates = 1; candidates <= CANDIDATES; candidates++) {
    hsc_tune_plan mine = plan;
    hsc_tune_found found[CANDIDATES + PLACEBOS];
    steps s = {.ratio = 0.9, .step = 0.001};
    bool ended = false;
    mine.candidate_count = candidates;
    EXPECT_OK(hsc_tune_search(&mine, measure_steps, &s, found, &ended));
    assert_true(ended);
    int third = (candidates + 2) / 3;
    int second = third < 12 ? third : 12;
    int last = candidates < HSC_TUNE_LAST ? candidates : HSC_TUNE_LAST;
    assert_int_equal(s.counts[0], candidates + PLACEBOS);
    assert_int_equal(s.counts[1], second > HSC_TUNE_LAST ? second : 0);
    assert_int_equal(s.counts[2], last + PLACEBOS);
    for (int i = 0; i < candidates; i++) {  // the fastest go on, and it is said how far
      int rounds = 1;
      if (i < last)
        rounds = HSC_TUNE_ROUNDS;
      else if (second > HSC_TUNE_LAST && i < second)
        rounds = 2;
      assert_int_equal(found[i].rounds, rounds);
      assert_int_equal(s.in_last[i], i < last);
      assert_true(fabs(found[i].screen - (0.9 + 0.001 * i)) < 1e-12);
    }
  }
}

// A tenth slower than the baseline, in the first look, is slower.
static void what_is_a_tenth_slower_does_not_go_on(void **state) {
  hsc_tune_found found[CANDIDATES + PLACEBOS];
  steps s = {.ratio = exp(0.1) - 0.015, .step = 0.01};
  bool ended = false;
  EXPECT_OK(hsc_tune_search(&plan, measure_steps, &s, found, &ended));
  assert_int_equal(s.counts[1], 0);
  assert_int_equal(s.counts[2], 2 + PLACEBOS);
  assert_int_equal(found[1].rounds, HSC_TUNE_ROUNDS);
  assert_int_equal(found[2].rounds, 1);
}

// A program of a microsecond whose first run, cold, takes ten times that.
static void a_look_is_as_many_runs_as_it_is_held_against(void **state) {
  assert_int_equal(hsc_tune_look_runs(10e-6, 0.1, 3, 200), 200);
  assert_int_equal(hsc_tune_look_runs(10e-3, 0.1, 3, 200), 10);
  assert_int_equal(hsc_tune_look_runs(90e-3, 0.1, 3, 200), 3);
  assert_int_equal(hsc_tune_look_runs(2, 0.1, 3, 200), 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_look_is_as_many_runs_as_it_is_held_against),
      cmocka_unit_test(false_discoveries_are_under_five_percent),
      cmocka_unit_test(a_candidate_that_helps_is_found),
      cmocka_unit_test(the_reported_gain_is_not_the_luck_of_the_choice),
      cmocka_unit_test(a_search_that_is_ended_proves_nothing),
      cmocka_unit_test(what_never_runs_is_not_judged),
      cmocka_unit_test(without_candidates_there_is_nothing_to_find),
      cmocka_unit_test(each_round_takes_a_third_of_the_last),
      cmocka_unit_test(what_is_a_tenth_slower_does_not_go_on),
  };
  return cmocka_run_group_tests(tests, 0, 0);
}
