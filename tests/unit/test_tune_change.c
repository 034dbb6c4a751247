// test_tune_change.c - changes of the program that `tune` tries: which programs they are offered
// for, what they say, and that the changed program computes the same.
#include <stdlib.h>
#include <unistd.h>

#include "base/files/file_io.h"
#include "formats/common/formats.h"
#include "lab/tune/tune_internal.h"
#include "unit.h"

static char directory[64];
static hsc_arena *arena;
static tune_run made[16];  // every run of changes_of, whose candidates tear_down frees
static size_t made_count;

static int set_up(void **state) {
  snprintf(directory, sizeof directory, "/tmp/hloscope-tune-XXXXXX");
  return mkdtemp(directory) && !hsc_arena_create(&arena) ? 0 : -1;
}

static int tear_down(void **state) {
  char command[128];
  for (size_t i = 0; i < made_count; i++)
    hsc__tune_release_candidates(&made[i]);
  hsc_arena_destroy(arena);
  snprintf(command, sizeof command, "rm -rf '%s'", directory);
  return system(command);
}

// All changes of a program, in *out, which tear_down frees; the names one after the other.
static const char *changes_of(const char *text, tune_run *out) {
  hsc_tune_options *options = HSC_NEW(arena, hsc_tune_options);
  const char *path = hsc_arena_printf(arena, "%s/program.hlo", directory);
  EXPECT_OK(hsc_file_write_atomic(path, text, strlen(text)));
  options->program = path;
  *out = (tune_run){.options = options, .arena = arena, .scratch = directory};
  EXPECT_OK(hsc__tune_changes(out));
  assert_true(made_count < HSC_COUNT_OF(made));
  made[made_count++] = *out;
  const char *names = "";
  for (int i = 0; i < out->count; i++)
    names = hsc_arena_printf(arena, "%s%s%s", names, i ? " " : "", out->items[i].name);
  return names;
}

static tune_candidate *find(tune_run *run, const char *name) {
  for (int i = 0; i < run->count; i++)
    if (!strcmp(run->items[i].name, name))
      return &run->items[i];
  fail_msg("no %s", name);
  return NULL;
}

static hsc_module *open_program(const char *path) {
  hsc_module *module = NULL;
  EXPECT_OK(hsc_program_read_file(path, &module));
  return module;
}

// The outputs of two programs on the same inputs; the second may have one more, `last`.
static void expect_same_numbers(const hsc_module *a, const hsc_module *b, const hsc_literal *last) {
  hsc_literal *inputs[8];
  hsc_literal *left = NULL;
  hsc_literal *right = NULL;
  hsc_difference d;
  for (int i = 0; i < a->entry->parameter_count; i++) {
    EXPECT_OK(hsc_literal_create(arena, &a->entry->parameters[i]->shape, &inputs[i]));
    hsc_literal_fill(inputs[i], 3, (uint32_t)i);
  }
  inputs[a->entry->parameter_count] = (hsc_literal *)(uintptr_t)last;
  EXPECT_OK(hsc_evaluate(a, a->entry->parameter_count, inputs, arena, &left));
  EXPECT_OK(hsc_evaluate(b, b->entry->parameter_count, inputs, arena, &right));
  EXPECT_OK(hsc_literal_compare(left, right, &d));
  assert_true(d.max_ulp == 0);
}

#define DOT(precision) \
  "HloModule m\nENTRY e {\n  x = f32[4,8] parameter(0)\n  w = f32[8,6] parameter(1)\n" \
  "  ROOT d = f32[4,6] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}" precision \
  ", metadata={source_file=\"net.py\" source_line=31}\n}\n"

static void precision_is_for_products_that_ask_for_more(void **state) {
  static const char *const more[] = {", operand_precision={high,default}",
                                     ", operand_precision={default,highest}",
                                     ", operand_precision={highest,highest}"};
  static const char *const programs[] = {DOT(", operand_precision={high,default}"),
                                         DOT(", operand_precision={default,highest}"),
                                         DOT(", operand_precision={highest,highest}")};
  tune_run run;
  for (size_t i = 0; i < HSC_COUNT_OF(programs); i++) {
    if (!strstr(changes_of(programs[i], &run), "precision"))
      fail_msg("not offered for%s", more[i]);
    tune_candidate *c = find(&run, "precision");
    assert_string_equal(c->value, "precision=jax.lax.Precision.DEFAULT at net.py:31");
    assert_non_null(c->risk);
    hsc_module *changed = open_program(c->program);
    assert_int_equal(changed->entry->root->attr.dot.precision.count, 0);
    hsc_module_destroy(changed);
  }
  assert_null(strstr(changes_of(DOT(""), &run), "precision"));
  assert_null(strstr(changes_of(DOT(", operand_precision={default,default}"), &run), "precision"));
}

// 16384 floats are 64 KiB.
static void constants_of_64_kib_become_arguments(void **state) {
  hsc_bytes text = {0};
  tune_run run;
  for (int less = 0; less < 2; less++) {
    int count = 16384 - less;
    hsc_bytes_reset(&text);
    hsc_bytes_printf(&text,
                     "HloModule m\nENTRY e {\n  x = f32[] parameter(0)\n"
                     "  c = f32[%d] constant({",
                     count);
    for (int i = 0; i < count; i++)
      hsc_bytes_printf(&text, "%s%d", i ? "," : "", i % 100);
    hsc_bytes_printf(
        &text, "})\n  b = f32[%d] broadcast(x), dimensions={}\n  ROOT r = f32[%d] add(b, c)\n}\n",
        count, count);
    const char *names = changes_of(hsc_bytes_text(&text), &run);
    if (less) {
      assert_null(strstr(names, "argument"));
      continue;
    }
    tune_candidate *c = find(&run, "argument");
    assert_string_equal(c->value, "1 constants of 64 KiB and more as arguments of f: %c");
    hsc_module *original = open_program(run.options->program);
    hsc_module *changed = open_program(c->program);
    assert_int_equal(changed->entry->parameter_count, 2);
    assert_int_equal(json_array_size(c->data), 2);
    assert_true(json_is_null(json_array_get(c->data, 0)));
    hsc_bytes saved = {0};
    EXPECT_OK(hsc_file_read(json_string_value(json_array_get(c->data, 1)), &saved));
    hsc_literal *value = NULL;
    EXPECT_OK(hsc_literal_create(arena, &changed->entry->parameters[1]->shape, &value));
    assert_int_equal(saved.size, 65536);
    memcpy(value->data, saved.data, saved.size);
    expect_same_numbers(original, changed, value);
    hsc_bytes_deinit(&saved);
    hsc_module_destroy(original);
    hsc_module_destroy(changed);
  }
  hsc_bytes_deinit(&text);
}

static void results_take_the_place_of_arguments_of_their_shape(void **state) {
  tune_run run;
  changes_of(
      "HloModule m\nENTRY e {\n  n = s32[] parameter(0)\n  w = f32[4] parameter(1)\n"
      "  g = f32[4] add(w, w)\n  k = f32[7] iota(), iota_dimension=0\n"
      "  ROOT t = (f32[7], f32[4]) tuple(k, g)\n}\n",
      &run);
  tune_candidate *c = find(&run, "donate");
  assert_string_equal(c->value, "jax.jit(f, donate_argnums=...): arguments 1 become results");
  assert_true(c->memory_only);
  hsc_module *changed = open_program(c->program);
  assert_int_equal(changed->alias_count, 1);
  assert_int_equal(changed->aliases[0].parameter, 1);
  assert_int_equal(changed->aliases[0].output_index.count, 1);
  assert_int_equal(changed->aliases[0].output_index.v[0], 1);
  hsc_module_destroy(changed);
  // What is donated already, and what has no result of its shape.
  static const char *const without[] = {
      "HloModule m, input_output_alias={ {}: (0, {}, may-alias) }\nENTRY e {\n  w = f32[4] "
      "parameter(0)\n  ROOT g = f32[4] add(w, w)\n}\n",
      "HloModule m\nENTRY e {\n  w = f32[4] parameter(0)\n  ROOT g = f32[2] slice(w), "
      "slice={[0:2]}\n}\n"};
  for (size_t i = 0; i < HSC_COUNT_OF(without); i++)
    assert_null(strstr(changes_of(without[i], &run), "donate"));
}

static void a_batch_is_eight_inputs(void **state) {
  tune_run run;
  changes_of("HloModule m\nENTRY e {\n  x = f32[4] parameter(0)\n  ROOT r = f32[4] abs(x)\n}\n",
             &run);
  tune_candidate *c = find(&run, "batch");
  assert_string_equal(c->transform, "vmap:8");
  assert_true(c->parts == 8);
  assert_null(c->program);
  run.options = NULL;
  // Where the program is transformed already nothing is changed further.
  hsc_tune_options options = {.program = "program.hlo", .transform_count = 1};
  tune_run transformed = {.options = &options, .arena = arena, .scratch = directory};
  EXPECT_OK(hsc__tune_changes(&transformed));
  assert_int_equal(transformed.count, 0);
  hsc__tune_release_candidates(&transformed);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(precision_is_for_products_that_ask_for_more),
      cmocka_unit_test(constants_of_64_kib_become_arguments),
      cmocka_unit_test(results_take_the_place_of_arguments_of_their_shape),
      cmocka_unit_test(a_batch_is_eight_inputs),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
