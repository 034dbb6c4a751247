// Why a program is compiled again, in one sentence: each kind of change is named as what it is.
#include "unit.h"

#include "formats/common/formats.h"
#include "views/recompile_cause.h"

static hsc_module *parse(const char *text) {
  hsc_module *module = NULL;
  EXPECT_OK(hsc_program_read(hsc_view_of(text), "test.hlo", &module));
  return module;
}

static void names(const char *before, const char *now, const char *sentence) {
  hsc_module *a = parse(before);
  hsc_module *b = parse(now);
  hsc_bytes out = {0};
  hsc__recompile_cause(&a, 1, b, &out);
  assert_string_equal(hsc_bytes_text(&out), sentence);
  hsc_bytes_deinit(&out);
  hsc_module_destroy(a);
  hsc_module_destroy(b);
}

#define BODY(type, shape, constant) \
  "\n\nENTRY main {\n  x = " type "[" shape "]{1,0} parameter(0)\n  c = " type \
  "[] constant(" constant ")\n  d = " type "[" shape \
  "]{1,0} broadcast(c), dimensions={}\n" \
  "  ROOT r = " type "[" shape "]{1,0} add(x, d)\n}\n"
static const char plain[] = "HloModule m" BODY("f32", "4,8", "1");

static void each_change_is_named(void **state) {
  names(plain, "HloModule m" BODY("f32", "6,8", "1"),
        "compiled again: argument 0 (x) was f32[4,8], now f32[6,8]");
  names(plain, "HloModule m" BODY("f16", "4,8", "1"),
        "compiled again: argument 0 (x) was f32[4,8], now f16[4,8]");
  names(plain, "HloModule m" BODY("f32", "4,8", "2"),
        "compiled again: a constant was 1, now 2 (a Python number in the traced function?)");
  names(plain, "HloModule m, input_output_alias={ {}: (0, {}, may-alias) }" BODY("f32", "4,8", "1"),
        "compiled again: argument 0 (x) was kept, now donated");
  names("HloModule m, buffer_donor={ (0, {}) }" BODY("f32", "4,8", "1"), plain,
        "compiled again: argument 0 (x) was donated, now kept");
  names("HloModule m, entry_computation_layout={(f32[4,8]{1,0})->f32[4,8]{1,0}}" BODY("f32", "4,8",
                                                                                      "1"),
        "HloModule m, entry_computation_layout={(f32[4,8]{0,1})->f32[4,8]{1,0}}" BODY("f32", "4,8",
                                                                                      "1"),
        "compiled again: a layout of arguments or results was f32[4,8]{1,0}, now f32[4,8]{0,1}");
  names(plain,
        "HloModule m"
        "\n\nENTRY main {\n  x = f32[4,8]{1,0} parameter(0)\n  c = f32[4,8]{1,0} parameter(1)\n  "
        "ROOT r = f32[4,8]{1,0} add(x, c)\n}\n",
        "compiled again: argument 1 (c) was a constant (f32[4,8] broadcast of 1), now a parameter");
  names(plain,
        "HloModule m"
        "\n\nENTRY main {\n  x = f32[4,8]{1,0} parameter(1)\n  c = f32[4,8]{1,0} parameter(0)\n  "
        "ROOT r = f32[4,8]{1,0} add(x, c)\n}\n",
        "compiled again: argument 0 (c) was a constant (f32[4,8] broadcast of 1), now a parameter");
  names(plain, plain,
        "compiled again: the same program but for names and source lines (traced anew: another "
        "place calls it, under another setting of JAX, or its cache was cleared)");
}

// jax.random.normal(key, shape): the shape is static, so no argument tells of it.
#define DRAWN(shape, constant) \
  "HloModule m\n\ninner {\n  k = u32[2]{0} parameter(0)\n  s = u32[1]{0} slice(k), " \
  "slice={[0:1]}\n  c = u32[1]{0} constant({" constant \
  "})\n  a = u32[1]{0} add(s, c)\n  f = " \
  "u32[] reshape(a)\n  ROOT d = u32[" shape \
  "]{0} broadcast(f), dimensions={}\n}\n\n" \
  "ENTRY main {\n  x = u32[2]{0} parameter(0)\n  ROOT r = u32[" shape \
  "]{0} call(x), to_apply=inner\n}\n"

static void what_no_argument_tells_is_seen_in_results_and_calls(void **state) {
  names(DRAWN("8", "1"), DRAWN("16", "1"),
        "compiled again: result 0 was u32[8], now u32[16]: a static argument or a Python value "
        "sets it");
  names(DRAWN("8", "1"), DRAWN("8", "2"),
        "compiled again: a constant was 1, now 2 (a Python number in the traced function?)");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_change_is_named),
      cmocka_unit_test(what_no_argument_tells_is_seen_in_results_and_calls)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
