// test_live_sets.c - storage sets in trees by time against plain lists, and places of thousands of
// values: no two that live at once share memory.
#include <stdlib.h>

#include "base/core/random.h"
#include "cpu/plan/live_set.h"
#include "formats/common/formats.h"
#include "kernel_case.h"

enum { VALUES = 300, RUNS = 40 };

static bool always(const void *plan, int32_t a, int32_t b) {
  (void)plan;
  (void)a;
  (void)b;
  return true;
}

static bool meet_one_by_one(const hsc_cpu_plan *plan, int32_t set_a, int32_t set_b) {
  for (int32_t a = 0; a < plan->value_count; a++)
    for (int32_t b = 0; b < plan->value_count; b++)
      if (hsc__live_set_of(plan, a) == set_a && hsc__live_set_of(plan, b) == set_b &&
          plan->values[a].def <= plan->values[b].last &&
          plan->values[b].def <= plan->values[a].last)
        return true;
  return false;
}

// Random intervals are joined where they do not meet, sometimes where they do.
static void check_joins(uint64_t seed) {
  static hsc_cpu_value values[VALUES];
  static hsc_cpu_set sets[VALUES];
  hsc_cpu_plan plan = {.values = values, .sets = sets, .value_count = VALUES};
  hsc_random random;
  hsc_random_init(&random, seed);
  for (int32_t v = 0; v < VALUES; v++) {
    int32_t def = (int32_t)hsc_random_below(&random, 1000);
    values[v] = (hsc_cpu_value){
        .def = def, .last = def + (int32_t)hsc_random_below(&random, 1 + 100 * (v % 3))};
    hsc__live_set_begin(&plan, v);
  }
  for (int step = 0; step < 2 * VALUES; step++) {
    int32_t a = hsc__live_set_of(&plan, (int32_t)hsc_random_below(&random, VALUES));
    int32_t b = hsc__live_set_of(&plan, (int32_t)hsc_random_below(&random, VALUES));
    if (a == b)
      continue;
    bool meet = hsc__live_sets_meet(&plan, a, b, always);
    if (step % 20 == 0)
      assert_int_equal(meet, meet_one_by_one(&plan, a, b));
    if (!meet || hsc_random_below(&random, 20) == 0)
      hsc__live_set_join(&plan, a, b);
  }
  for (int32_t v = 0; v < VALUES; v++) {
    int32_t from, to;
    hsc__live_set_hull(&plan, hsc__live_set_of(&plan, v), &from, &to);
    assert_true(from <= values[v].def && values[v].last <= to);
  }
}

static void trees_answer_as_lists_do(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= RUNS; seed++)
    check_joins(seed);
}

// Forward and backward through `count` layers of several widths: what is made forward waits for its
// step backward.
static void write_layers(hsc_bytes *text, int count) {
  hsc_bytes_append_text(text, "HloModule layers\nENTRY e {\n  x0 = f32[8] parameter(0)\n");
  for (int i = 0; i < count; i++)
    hsc_bytes_printf(text,
                     "  w%d = f32[%d] pad(x%d, z%d), padding=0_%d\n"
                     "  v%d = f32[%d] reverse(w%d), dimensions={0}\n"
                     "  x%d = f32[8] slice(v%d), slice={[%d:%d]}\n"
                     "  z%d = f32[] constant(%d)\n",
                     i, 8 + i % 5, i, i, i % 5, i, 8 + i % 5, i, i + 1, i, i % 5, 8 + i % 5, i,
                     i % 3);
  hsc_bytes_printf(text, "  g%d = f32[8] negate(x%d)\n", count, count);
  for (int i = count - 1; i >= 0; i--)
    hsc_bytes_printf(text,
                     "  s%d = (f32[8], s32[8]) sort(g%d, i), dimensions={0}, to_apply=less\n"
                     "  o%d = f32[8] get-tuple-element(s%d), index=0\n"
                     "  g%d = f32[8] subtract(o%d, x%d)\n",
                     i, i + 1, i, i, i, i, i);
  hsc_bytes_append_text(text, "  ROOT r = f32[8] negate(g0)\n}\n");
}

static void run_layers(int count) {
  hsc_bytes body = {0};
  hsc_bytes text = {0};
  hsc_module *module = NULL;
  hsc_arena *arena = NULL;
  hsc_cpu_executable *executable = NULL;
  hsc_literal *expected, *input;
  write_layers(&body, count);
  hsc_bytes_append_text(&text,
                        "HloModule layers\nless {\n  a = f32[] parameter(0)\n  b = f32[] "
                        "parameter(1)\n  c = s32[] parameter(2)\n  d = s32[] parameter(3)\n"
                        "  ROOT l = pred[] compare(a, b), direction=LT\n}\n"
                        "ENTRY e {\n  i = s32[8] iota(), iota_dimension=0\n");
  hsc_bytes_append_text(&text, strstr(hsc_bytes_text(&body), "  x0 ="));
  EXPECT_OK(hsc_hlo_text_parse(hsc_view_of(hsc_bytes_text(&text)), "layers.hlo", &module));
  EXPECT_OK(hsc_arena_create(&arena));
  EXPECT_OK(hsc_literal_create(arena, &module->entry->parameters[0]->shape, &input));
  for (int i = 0; i < 8; i++)
    hsc_literal_set_double(input, i, (i * 5) % 8);
  EXPECT_OK(hsc_evaluate(module, 1, &input, arena, &expected));
  EXPECT_OK(hsc_cpu_compile(kernel_case_device(), module, NULL, &executable));
  static _Alignas(64) float in[16], out[16];
  memcpy(in, input->data, 8 * sizeof *in);
  EXPECT_OK(hsc_cpu_execute(executable, (const void *[]){in}, (void *[]){out}));
  assert_memory_equal(out, expected->data, 8 * sizeof *out);
  hsc_cpu_executable_release(executable);
  hsc_arena_destroy(arena);
  hsc_module_destroy(module);
  hsc_bytes_deinit(&text);
  hsc_bytes_deinit(&body);
}

static void thousands_of_values_keep_apart(void **state) {
  (void)state;
  run_layers(3);
  run_layers(1500);
}

static int end_all(void **state) {
  (void)state;
  kernel_case_end_all();
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(trees_answer_as_lists_do),
      cmocka_unit_test(thousands_of_values_keep_apart),
  };
  return cmocka_run_group_tests(tests, NULL, end_all);
}
