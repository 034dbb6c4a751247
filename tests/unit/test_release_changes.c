// What the search over releases concludes, on releases that are made up: levels of a value with
// noise, exponents, verdicts, releases that cannot be tried.
#include "unit.h"

#include <math.h>

#include "lab/versions/release_search_internal.h"

enum { RELEASES = 30 };

typedef struct world {
  double value[RELEASES];     // NaN = cannot be tried
  double exponent[RELEASES];  // 0 = no sizes
  double noise;               // half width of an interval, as a share
} world;

static const char *name_of(size_t i) {
  static char names[RELEASES][8];
  snprintf(names[i], sizeof names[i], "0.%zu", i);
  return names[i];
}

static void look(const world *w, hsc__versions *v, size_t i) {
  hsc__try *t = &v->tries[i];
  t->tried = true;
  if (isnan(w->value[i])) {
    t->reason = "no wheel";
    return;
  }
  t->value = w->value[i];
  t->low = t->value * (1 - w->noise);
  t->high = t->value * (1 + w->noise);
  if (v->size_count)
    t->exponent = (hsc_interval){w->exponent[i], w->exponent[i] - 0.02, w->exponent[i] + 0.02};
  t->word = hsc__word_of(v, t, true);
}

// Both ends, then whatever release the search asks for. Returns how many were tried.
static int search(const world *w, const char *symptom, json_t **out_changes) {
  hsc_arena *arena = NULL;
  hsc_versions_options options = {0};
  hsc__try tries[RELEASES];
  EXPECT_OK(hsc_arena_create(&arena));
  EXPECT_OK(hsc_symptom_parse(symptom, arena, &options.symptom));
  hsc__versions v = {.options = &options,
                     .tries = tries,
                     .count = RELEASES,
                     .size_count = w->exponent[0] > 0 ? 3 : 0,
                     .limit = NAN,
                     .exponent_limit = NAN};
  const hsc__try *good = NULL;
  const hsc__try *bad = NULL;
  for (size_t i = 0; i < RELEASES; i++)
    tries[i] = hsc__try_of(name_of(i));
  look(w, &v, 0);
  look(w, &v, RELEASES - 1);
  hsc__set_limits(&v, &tries[0], &tries[RELEASES - 1]);
  tries[0].word = hsc__word_of(&v, &tries[0], true);
  tries[RELEASES - 1].word = hsc__word_of(&v, &tries[RELEASES - 1], true);
  int tried = 2;
  for (size_t i; (i = hsc__next_release(&v)) < v.count; tried++) {
    assert_false(tries[i].tried);
    look(w, &v, i);
  }
  *out_changes = hsc__changes_of(&v, &good, &bad);
  assert_int_equal(good != NULL, json_array_size(*out_changes) > 0);
  size_t left, right;
  assert_int_equal(hsc__unconfirmed(&v, &left, &right), json_array_size(*out_changes) > 0);
  hsc_arena_destroy(arena);
  return tried;
}

static void expect_change(json_t *changes, size_t i, const char *key, const char *version) {
  const char *found = json_string_value(json_object_get(json_array_get(changes, i), key));
  assert_non_null(found);
  assert_string_equal(found, version);
}

static world flat(double level) {
  world w = {.noise = 0.05};
  for (size_t i = 0; i < RELEASES; i++)
    w.value[i] = level;
  return w;
}

static void one_change_takes_few_looks(void **state) {
  for (size_t at = 1; at < RELEASES; at++) {
    world w = flat(1);
    json_t *changes = NULL;
    for (size_t i = at; i < RELEASES; i++)
      w.value[i] = 3;
    int tried = search(&w, "slow:1.5", &changes);
    assert_int_equal(json_array_size(changes), 1);
    expect_change(changes, 0, "first_bad", name_of(at));
    expect_change(changes, 0, "last_good", name_of(at - 1));
    assert_true(tried <= 16);  // five for the change, the rest so that no other could hide
    json_decref(changes);
  }
}

static void a_second_step_is_found_though_both_its_ends_are_bad(void **state) {
  for (size_t first = 2; first < 12; first++)
    for (size_t second = first + 1; second < RELEASES - 1; second += 3) {
      world w = flat(1);
      json_t *changes = NULL;
      for (size_t i = first; i < RELEASES; i++)
        w.value[i] = i < second ? 2 : 4;
      search(&w, "slow:1.5", &changes);
      assert_int_equal(json_array_size(changes), 2);
      expect_change(changes, 0, "first_bad", name_of(first));
      expect_change(changes, 1, "first_bad", name_of(second));
      json_decref(changes);
    }
}

// Two values on both sides of the limit, whose intervals over processes reach into each other: a
// busy machine gives such ends.
static void values_that_reach_into_each_other_are_no_change(void **state) {
  static const double noises[] = {0.02, 0.3};
  for (size_t n = 0; n < HSC_COUNT_OF(noises); n++) {
    world w = flat(1);
    json_t *changes = NULL;
    w.noise = noises[n];
    for (size_t i = 9; i < RELEASES; i++)
      w.value[i] = 1.6;
    search(&w, "slow:1.5", &changes);
    assert_int_equal(json_array_size(changes), noises[n] < 0.2 ? 1 : 0);
    json_decref(changes);
  }
}

static void what_was_mended_and_broke_again_is_three_changes(void **state) {
  world w = flat(1);
  json_t *changes = NULL;
  for (size_t i = 4; i < RELEASES; i++)
    w.value[i] = i < 12 || i >= 21 ? 5 : 1;
  search(&w, "slow:1.5", &changes);
  assert_int_equal(json_array_size(changes), 3);
  expect_change(changes, 0, "first_bad", name_of(4));
  expect_change(changes, 1, "mended_in", name_of(12));
  expect_change(changes, 2, "first_bad", name_of(21));
  json_decref(changes);
}

static void a_change_that_lasted_is_found_between_ends_that_are_alike(void **state) {
  for (size_t at = 1; at + HSC__MOST_GAP < RELEASES; at++) {
    world w = flat(1);
    json_t *changes = NULL;
    for (size_t i = at; i < at + HSC__MOST_GAP; i++)
      w.value[i] = 9;
    search(&w, "slow:1.5", &changes);
    assert_int_equal(json_array_size(changes), 2);
    expect_change(changes, 0, "first_bad", name_of(at));
    expect_change(changes, 1, "mended_in", name_of(at + HSC__MOST_GAP));
    json_decref(changes);
  }
}

static void noise_is_no_change(void **state) {
  json_t *changes = NULL;
  world w = flat(1);
  w.noise = 0.3;
  for (size_t i = 1; i < RELEASES; i++)  // 1.4 times, within the factor; or wide intervals
    w.value[i] = i % 3 ? 1.4 : 1;
  assert_int_equal(search(&w, "slow:1.5", &changes), RELEASES);  // everything was tried
  assert_int_equal(json_array_size(changes), 0);
  json_decref(changes);
}

static void an_exponent_changes_where_the_time_does_not(void **state) {
  json_t *changes = NULL;
  world w = flat(1);
  for (size_t i = 0; i < RELEASES; i++)
    w.exponent[i] = i < 7 ? 0.95 : 1.9;
  search(&w, "slow:1.5", &changes);
  assert_int_equal(json_array_size(changes), 1);
  expect_change(changes, 0, "first_bad", name_of(7));
  expect_change(changes, 0, "by", "exponent");
  json_decref(changes);
  for (size_t i = 0; i < RELEASES; i++)  // n and n log n are one
    w.exponent[i] = i < 7 ? 0.95 : 1.1;
  search(&w, "slow:1.5", &changes);
  assert_int_equal(json_array_size(changes), 0);
  json_decref(changes);
}

static void releases_that_cannot_be_tried_are_stepped_over(void **state) {
  json_t *changes = NULL;
  world w = flat(1);
  for (size_t i = 10; i < RELEASES; i++)
    w.value[i] = i < 16 ? (double)NAN : 3;
  search(&w, "slow:1.5", &changes);
  assert_int_equal(json_array_size(changes), 1);
  expect_change(changes, 0, "last_good", name_of(9));
  expect_change(changes, 0, "first_bad", name_of(16));
  json_decref(changes);
}

// A new option that is on counts as off before; other devices' options and dumps say nothing.
static void changed_defaults_are_differences_to_try(void **state) {
  hsc_flag before_items[] = {
      {.name = "xla_cpu_use_xnnpack", .type = HSC_FLAG_BOOL, .preset = "false"},
      {.name = "xla_cpu_max_isa", .type = HSC_FLAG_TEXT, .preset = ""},
      {.name = "xla_backend_optimization_level", .type = HSC_FLAG_INT, .preset = "3"},
      {.name = "xla_gpu_autotune_level", .type = HSC_FLAG_INT, .preset = "3"},
      {.name = "xla_dump_to", .type = HSC_FLAG_TEXT, .preset = ""},
      {.name = "xla_cpu_gone", .type = HSC_FLAG_BOOL, .preset = "true"},
      {.name = "xla_cpu_untold", .type = HSC_FLAG_BOOL},
  };
  hsc_flag after_items[] = {
      {.name = "xla_cpu_use_xnnpack", .type = HSC_FLAG_BOOL, .preset = "true"},
      {.name = "xla_cpu_max_isa", .type = HSC_FLAG_TEXT, .preset = ""},
      {.name = "xla_backend_optimization_level", .type = HSC_FLAG_INT, .preset = "2"},
      {.name = "xla_gpu_autotune_level", .type = HSC_FLAG_INT, .preset = "4"},
      {.name = "xla_dump_to", .type = HSC_FLAG_TEXT, .preset = "x"},
      {.name = "xla_cpu_new", .type = HSC_FLAG_BOOL, .preset = "true"},
      {.name = "xla_cpu_new_number", .type = HSC_FLAG_INT, .preset = "7"},
      {.name = "xla_cpu_untold", .type = HSC_FLAG_BOOL, .preset = "true"},
  };
  hsc_flags before = {.items = before_items, .count = HSC_COUNT_OF(before_items)};
  hsc_flags after = {.items = after_items, .count = HSC_COUNT_OF(after_items)};
  hsc__versions v = {.device = "xla-cpu"};
  json_t *differences = json_array();
  assert_null(hsc__version_changed_defaults(&v, &before, &after, differences));
  json_t *wanted = json_pack("{s:s, s:s, s:s}", "xla_cpu_use_xnnpack", "false",
                             "xla_backend_optimization_level", "3", "xla_cpu_new", "false");
  assert_true(json_equal(v.changed_defaults, wanted));
  assert_int_equal(json_array_size(differences), 3);
  assert_string_equal(json_string_value(json_object_get(json_array_get(differences, 0), "what")),
                      "default of xla_cpu_use_xnnpack");
  assert_true(json_is_null(json_object_get(json_array_get(differences, 2), "before")));
  json_decref(wanted);
  json_decref(differences);
  json_decref(v.changed_defaults);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_change_takes_few_looks),
      cmocka_unit_test(a_second_step_is_found_though_both_its_ends_are_bad),
      cmocka_unit_test(values_that_reach_into_each_other_are_no_change),
      cmocka_unit_test(what_was_mended_and_broke_again_is_three_changes),
      cmocka_unit_test(a_change_that_lasted_is_found_between_ends_that_are_alike),
      cmocka_unit_test(noise_is_no_change),
      cmocka_unit_test(an_exponent_changes_where_the_time_does_not),
      cmocka_unit_test(releases_that_cannot_be_tried_are_stepped_over),
      cmocka_unit_test(changed_defaults_are_differences_to_try),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
