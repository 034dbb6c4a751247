// test_gate.c - verdicts over times: false alarms and power, with the noise of busy machines: one
// that is made up, and one that was recorded (tests/statistics/gate_times.json).
//
//   build/tests/unit/test_gate . --figures [FILE...]
//
// prints the figures of the recording, or of baselines that `hloscope gate --update` wrote.
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

// ---- recorded times -----------------------------------------------------------------------------

enum { MOST_PAIRS = 4096, RECORDED_TRIALS = 20000, KINDS = 2 };
static const char *const kinds[KINDS] = {"run_seconds", "compile_seconds"};
static const double kind_margins[KINDS] = {0.05, 0.1};
static const char *source_dir;

// Processes of one unchanged program, two and two as they followed each other: turns of A and A.
typedef struct recording {
  double pairs[MOST_PAIRS][2];
  size_t count;
} recording;

static void take_pairs(json_t *entry, const char *key, recording *out) {
  json_t *list = json_object_get(entry, key);
  for (size_t i = 0; i + 1 < json_array_size(list) && out->count < MOST_PAIRS; i += 2) {
    out->pairs[out->count][0] = json_number_value(json_array_get(list, i));
    out->pairs[out->count++][1] = json_number_value(json_array_get(list, i + 1));
  }
}

// A recording, or a baseline; false where it is neither.
static bool read_recording(const char *path, const char *key, recording *out) {
  json_t *document = json_load_file(path, 0, NULL);
  json_t *entries = json_object_get(document, "recordings");
  json_t *entry;
  size_t i;
  if (!entries)
    entries = json_object_get(document, "programs");
  json_array_foreach (entries, i, entry)
    take_pairs(entry, key, out);
  json_decref(document);
  return document != NULL;
}

static bool read_own_recording(const char *key, recording *out) {
  char path[512];
  snprintf(path, sizeof path, "%s/tests/statistics/gate_times.json", source_dir);
  return read_recording(path, key, out);
}

// One gate on turns that followed each other, from a random one on. Which of two unchanged
// processes is called "now" is drawn: both orders are as likely, so there is no change in truth.
static hsc_verdict gate_of(hsc_random *random, const recording *r, double effect, double margin) {
  double now[SIDE];
  double before[SIDE];
  size_t first = (size_t)hsc_random_below(random, r->count);
  hsc_gate_change change = {.verdict = HSC_VERDICT_CANNOT_TELL};
  for (size_t i = 0; i < SIDE; i++) {
    const double *pair = r->pairs[(first + i) % r->count];
    size_t is_now = (size_t)hsc_random_below(random, 2);
    now[i] = effect * pair[is_now];
    before[i] = pair[1 - is_now];
  }
  for (size_t look = 1; look <= LOOKS && change.verdict == HSC_VERDICT_CANNOT_TELL; look++)
    change = hsc_gate_compare(now, look * PROCESSES, before, look * PROCESSES, true, 0, margin);
  return change.verdict;
}

static double recorded_share(const recording *r, double effect, double margin, hsc_verdict wanted) {
  hsc_random random;
  int hits = 0;
  hsc_random_init(&random, 11);
  for (int t = 0; t < RECORDED_TRIALS; t++)
    hits += gate_of(&random, r, effect, margin) == wanted;
  return (double)hits / RECORDED_TRIALS;
}

// Times of runs and of compiles on a machine with fifteen times more to do than processors.
static void recorded_processes_raise_no_alarm(void **state) {
  (void)state;
  for (int k = 0; k < KINDS; k++) {
    recording r = {.count = 0};
    assert_true(read_own_recording(kinds[k], &r));
    assert_true(r.count >= 200);
    assert_true(recorded_share(&r, 1, kind_margins[k], HSC_VERDICT_SLOWER) < 0.001);
  }
}

// For the page of the command.
static int print_figures(int file_count, char **files) {
  for (int k = 0; k < KINDS; k++) {
    recording r = {.count = 0};
    bool known = file_count > 0 || read_own_recording(kinds[k], &r);
    double margin = kind_margins[k];
    for (int f = 0; f < file_count; f++)
      known &= read_recording(files[f], kinds[k], &r);
    if (!known || r.count < SIDE) {
      printf("%s: %zu pairs of processes; %d are the least\n", kinds[k], r.count, SIDE);
      return 1;
    }
    printf("%s: %zu pairs, %d gates of each: unchanged: slower %.5f, faster %.5f, same %.3f; ",
           kinds[k], r.count, RECORDED_TRIALS, recorded_share(&r, 1, margin, HSC_VERDICT_SLOWER),
           recorded_share(&r, 1, margin, HSC_VERDICT_FASTER),
           recorded_share(&r, 1, margin, HSC_VERDICT_SAME));
    printf("5 %% more: slower %.4f; 10 %% more: slower %.4f\n",
           recorded_share(&r, 1.05, margin, HSC_VERDICT_SLOWER),
           recorded_share(&r, 1.1, margin, HSC_VERDICT_SLOWER));
  }
  return 0;
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

int main(int argc, char **argv) {
  source_dir = argc > 1 ? argv[1] : ".";
  if (argc > 2 && !strcmp(argv[2], "--figures"))
    return print_figures(argc - 3, argv + 3);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(unchanged_programs_raise_no_alarm),
      cmocka_unit_test(recorded_processes_raise_no_alarm),
      cmocka_unit_test(five_percent_is_found_in_turns),
      cmocka_unit_test(fifteen_percent_is_found_against_a_file),
      cmocka_unit_test(few_processes_tell_nothing),
      cmocka_unit_test(what_is_no_time_tells_nothing),
      cmocka_unit_test(what_a_baseline_did_not_keep_is_not_called_equal),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
