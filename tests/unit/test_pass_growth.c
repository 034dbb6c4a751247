// test_pass_growth.c - the work of passes on programs of thousands of like instructions, counted
// and not timed: twice the program may cost twice the work.
#include "formats/common/formats.h"
#include "passes/manager/passes_internal.h"
#include "unit.h"

// n fusions that differ in a constant only, n slices of one array and n broadcasts of one scalar, a
// tenth of each twice.
static hsc_module *like_instructions(int n) {
  hsc_bytes text = {0};
  hsc_module *module = NULL;
  hsc_bytes_append_text(&text, "HloModule like\n");
  for (int i = 0; i < n; i++)
    hsc_bytes_printf(&text,
                     "f%d {\n  p = f32[8] parameter(0)\n  c = f32[] constant(%d)\n"
                     "  b = f32[8] broadcast(c), dimensions={}\n"
                     "  ROOT r = f32[8] multiply(p, b)\n}\n",
                     i, i % 10 == 9 ? i - 1 : i);
  hsc_bytes_append_text(&text, "ENTRY main {\n  x = f32[8] parameter(0)\n");
  hsc_bytes_printf(&text, "  y = f32[%d] parameter(1)\n", n + 1);
  for (int i = 0; i < n; i++)
    hsc_bytes_printf(&text,
                     "  a%d = f32[8] fusion(x), kind=kLoop, calls=f%d\n"
                     "  s%d = f32[1] slice(y), slice={[%d:%d]}\n",
                     i, i, i, i % 10 == 9 ? i - 1 : i, (i % 10 == 9 ? i - 1 : i) + 1);
  hsc_bytes_append_text(&text, "  ROOT t = (");
  for (int i = 0; i < n; i++)
    hsc_bytes_printf(&text, "%sf32[8], f32[1]", i ? ", " : "");
  hsc_bytes_append_text(&text, ") tuple(");
  for (int i = 0; i < n; i++)
    hsc_bytes_printf(&text, "%sa%d, s%d", i ? ", " : "", i, i);
  hsc_bytes_append_text(&text, ")\n}\n");
  EXPECT_OK(hsc_hlo_text_parse(hsc_view_of(hsc_bytes_text(&text)), "like.hlo", &module));
  hsc_bytes_deinit(&text);
  return module;
}

static void check_cse(int n) {
  hsc_module *module = like_instructions(n);
  hsc_pass_context cx = {.fuel = -1, .pass_fuel = -1};
  EXPECT_OK(hsc_arena_create(&cx.scratch));
  EXPECT_OK(hsc__pass_cse(module, &cx));
  assert_int_equal(cx.rewrites, 2 * (n / 10));
  // One for each that is found equal, and none but by chance for the others.
  assert_in_range(cx.comparisons, cx.rewrites, cx.rewrites + 8);
  hsc_arena_destroy(cx.scratch);
  hsc_module_destroy(module);
}

static void cse_compares_what_is_equal_only(void **state) {
  check_cse(100);
  check_cse(3200);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(cse_compares_what_is_equal_only)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
