// Every pass: one program before, the same after, by text; switches, fuel and the log of the
// manager.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "formats/common/formats.h"
#include "passes/manager/passes.h"

static hsc_module *parse(const char *text) {
  hsc_module *module = NULL;
  hsc_status *status = hsc_hlo_text_parse(hsc_view_of(text), "test.hlo", &module);
  if (status)
    fail_msg("%s (line %d)\n%s", hsc_status_message(status), hsc_status_line(status), text);
  status = hsc_module_verify(module);
  if (status)
    fail_msg("%s\n%s", hsc_status_message(status), text);
  return module;
}

static void run(hsc_module *module, const char *what, const hsc_pass_options *options) {
  hsc_pass_options checked = options ? *options : (hsc_pass_options){.fuel = -1};
  checked.verify = true;
  hsc_status *status = hsc_passes_run(module, what, &checked, NULL);
  if (status)
    fail_msg("%s: %s", what, hsc_status_message(status));
}

static char *print(const hsc_module *module) {
  hsc_bytes out = {0};
  hsc_module_print(
      module, &(hsc_print_options){.no_metadata = true, .no_layouts = true, .no_percent = true},
      &out);
  return hsc_bytes_take(&out);
}

// The ENTRY computation of `before` (its body lines) after `pass` contains every one of `needles`
// and none of `absent` (NULL-terminated).
static void expect(const char *pass,
                   const char *before,
                   const char *const *needles,
                   const char *const *absent) {
  hsc_module *module = parse(before);
  run(module, pass, NULL);
  run(module, "dce", NULL);
  char *text = print(module);
  for (; needles && *needles; needles++)
    if (!strstr(text, *needles))
      fail_msg("%s: '%s' is missing in\n%s", pass, *needles, text);
  for (; absent && *absent; absent++)
    if (strstr(text, *absent))
      fail_msg("%s: '%s' is still in\n%s", pass, *absent, text);
  hsc_free(text);
  hsc_module_destroy(module);
}
#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

static void test_dce(void **state) {
  expect("dce",
         "HloModule m\nENTRY e { x = f32[4] parameter(0)\n d = f32[4] exponential(x)\n ROOT r = "
         "f32[4] negate(x) }",
         LIST("negate(x)"), LIST("exponential"));
}

static void test_cse(void **state) {
  expect("cse",
         "HloModule m\nENTRY e { x = f32[4] parameter(0)\n y = f32[4] parameter(1)\n a = f32[4] "
         "add(x, y)\n b = f32[4] add(y, x)\n"
         " ROOT r = f32[4] multiply(a, b) }",
         LIST("multiply(a, a)"), LIST("add(y, x)"));
  // Subtraction does not commute; random numbers are not equal.
  expect("cse",
         "HloModule m\nENTRY e { x = f32[4] parameter(0)\n y = f32[4] parameter(1)\n a = f32[4] "
         "subtract(x, y)\n b = f32[4] subtract(y, x)\n"
         " ROOT r = f32[4] multiply(a, b) }",
         LIST("subtract(x, y)", "subtract(y, x)"), NULL);
}

static void test_call_inliner(void **state) {
  expect("call-inliner",
         "HloModule m\ndouble { p = f32[4] parameter(0)\n ROOT r = f32[4] add(p, p) }\n"
         "ENTRY e { x = f32[4] parameter(0)\n a = f32[4] call(x), to_apply=double\n ROOT b = "
         "f32[4] call(a), to_apply=double }",
         LIST("add(x, x)"), LIST("call("));
}

static void test_tuple_simplifier(void **state) {
  expect("tuple-simplifier",
         "HloModule m\nENTRY e { x = f32[4] parameter(0)\n y = f32[8] parameter(1)\n t = (f32[4], "
         "f32[8]) tuple(x, y)\n"
         " a = f32[4] get-tuple-element(t), index=0\n ROOT r = f32[4] negate(a) }",
         LIST("negate(x)"), LIST("tuple"));
}

static void test_constant_folding(void **state) {
  expect("constant_folding",
         "HloModule m\nENTRY e { a = f32[] constant(2)\n b = f32[] constant(3)\n c = f32[] "
         "multiply(a, b)\n x = f32[] parameter(0)\n ROOT r = f32[] add(x, c) }",
         LIST("constant(6)"), LIST("multiply"));
}

static void test_transpose_folding(void **state) {
  expect("transpose-folding",
         "HloModule m\nENTRY e { x = f32[8,32] parameter(0)\n w = f32[64,32] parameter(1)\n t = "
         "f32[32,64] transpose(w), dimensions={1,0}\n"
         " ROOT d = f32[8,64] dot(x, t), lhs_contracting_dims={1}, rhs_contracting_dims={0} }",
         LIST("dot(x, w)", "rhs_contracting_dims={1}"), LIST("transpose"));
}

static void test_algsimp(void **state) {
  static const struct {
    const char *before, *present, *absent;
  } cases[] = {
      {"x = f32[4] parameter(0)\n z = f32[] constant(0)\n b = f32[4] broadcast(z), dimensions={}\n "
       "ROOT r = f32[4] add(b, x)",
       "parameter(0)", "add"},
      {"x = f32[4] parameter(0)\n o = f32[] constant(1)\n b = f32[4] broadcast(o), dimensions={}\n "
       "ROOT r = f32[4] multiply(x, b)",
       "parameter(0)", "multiply"},
      {"x = f32[4,1,3] parameter(0)\n a = f32[12] reshape(x)\n ROOT r = f32[3,4] reshape(a)",
       "reshape(x)", "f32[12]"},
      {"x = f32[2,3] parameter(0)\n a = f32[3,2] transpose(x), dimensions={1,0}\n ROOT r = "
       "f32[2,3] transpose(a), dimensions={1,0}",
       "parameter(0)", "transpose"},
      {"x = f32[4] parameter(0)\n a = f32[1,4] reshape(x)\n b = f32[1,4] broadcast(a), "
       "dimensions={0,1}\n c = f32[4] reshape(b)\n"
       " ROOT r = f32[8,4] broadcast(c), dimensions={1}",
       "broadcast(x), dimensions={1}", "reshape"},
      {"x = f32[4] parameter(0)\n a = f32[4] slice(x), slice={[0:4]}\n ROOT r = f32[4] negate(a)",
       "negate(x)", "slice"},
      {"x = f32[9] parameter(0)\n a = f32[6] slice(x), slice={[2:8]}\n ROOT r = f32[2] slice(a), "
       "slice={[1:5:2]}",
       "slice={[3:6:2]}", "f32[6]"},
      {"x = s32[4] parameter(0)\n c = s32[] constant(3)\n ROOT r = s32[4] negate(x)", "negate(x)",
       "constant"},
      {"x = f32[8] parameter(0)\n i = s32[] constant(100)\n ROOT r = f32[2] dynamic-slice(x, i), "
       "dynamic_slice_sizes={2}",
       "slice={[6:8]}", "dynamic"},
      {"x = f32[4] parameter(0)\n t = f32[] constant(2)\n b = f32[4] broadcast(t), dimensions={}\n "
       "ROOT r = f32[4] power(x, b)",
       "multiply(x, x)", "power"},
      {"x = f32[2,8] parameter(0)\n p = f32[] parameter(1)\n ROOT r = f32[2,6] pad(x, p), "
       "padding=0_0x-1_-1",
       "slice={[0:2], [1:7]}", "pad"},
  };
  for (size_t i = 0; i < HSC_COUNT_OF(cases); i++) {
    hsc_bytes text = {0};
    hsc_bytes_printf(&text, "HloModule m\nENTRY e { %s }\n", cases[i].before);
    hsc_module *module = parse(text.data);
    run(module, "simplification", NULL);
    char *after = print(module);
    if (!strstr(after, cases[i].present))
      fail_msg("case %zu: '%s' is missing in\n%s", i, cases[i].present, after);
    if (strstr(after, cases[i].absent))
      fail_msg("case %zu: '%s' is still in\n%s", i, cases[i].absent, after);
    hsc_free(after);
    hsc_bytes_deinit(&text);
    hsc_module_destroy(module);
  }
}

static const char bias_relu[] =
    "HloModule m\nENTRY e { x = f32[32,64] parameter(0)\n w = f32[64,64] parameter(1)\n b = "
    "f32[64] parameter(2)\n"
    " d = f32[32,64] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n c = "
    "f32[32,64] broadcast(b), dimensions={1}\n"
    " a = f32[32,64] add(d, c)\n z = f32[] constant(0)\n y = f32[32,64] broadcast(z), "
    "dimensions={}\n ROOT r = f32[32,64] maximum(a, y) }";

static void test_fusion(void **state) {
  expect("hlo passes", bias_relu, LIST("kind=kOutput", "dot("), LIST("kind=kLoop"));
  // A value with two readers is computed once.
  expect("fusion",
         "HloModule m\nENTRY e { x = f32[64] parameter(0)\n a = f32[64] exponential(x)\n b = "
         "f32[64] add(a, x)\n c = f32[64] multiply(a, x)\n"
         " ROOT t = (f32[64], f32[64]) tuple(b, c) }",
         LIST("exponential(x)"), LIST("fusion("));
  // An expensive value is not computed again for every row of a broadcast.
  expect("fusion",
         "HloModule m\nENTRY e { x = f32[64] parameter(0)\n y = f32[32,64] parameter(1)\n a = "
         "f32[64] exponential(x)\n"
         " b = f32[32,64] broadcast(a), dimensions={1}\n ROOT c = f32[32,64] add(b, y) }",
         LIST("= f32[64] exponential(x)", "kind=kLoop"), NULL);
  expect("fusion",
         "HloModule m\nadd { p = f32[] parameter(0)\n q = f32[] parameter(1)\n ROOT s = f32[] "
         "add(p, q) }\n"
         "ENTRY e { x = f32[8,64] parameter(0)\n z = f32[] constant(0)\n a = f32[8,64] multiply(x, "
         "x)\n ROOT r = f32[8] reduce(a, z), dimensions={1}, to_apply=add }",
         LIST("kind=kInput"), NULL);
  // Two callers of one body: what is taken in for the one is not there for the other.
  expect("fusion",
         "HloModule m\nbody { p = f32[] parameter(0)\n q = f32[64] parameter(1)\n b = f32[64] "
         "broadcast(p), dimensions={}\n ROOT r = f32[64] add(b, q) }\n"
         "ENTRY e { x = f32[] parameter(0)\n y = f32[64] parameter(1)\n n = f32[] negate(x)\n f = "
         "f32[64] fusion(n, y), kind=kLoop, calls=body\n"
         " g = f32[64] fusion(x, f), kind=kLoop, calls=body\n ROOT t = (f32[64], f32[64]) tuple(f, "
         "g) }",
         LIST("negate(", "fusion(y, x)", "fusion(x, f)"), NULL);
}

static const char counting_loop[] =
    "HloModule m\nbody { s = (s32[], f32[4], f32[9]) parameter(0)\n i = s32[] "
    "get-tuple-element(s), index=0\n one = s32[] constant(1)\n"
    " n = s32[] add(i, one)\n x = f32[4] get-tuple-element(s), index=1\n y = f32[4] negate(x)\n u "
    "= f32[9] get-tuple-element(s), index=2\n"
    " ROOT t = (s32[], f32[4], f32[9]) tuple(n, y, u) }\n"
    "cond { s = (s32[], f32[4], f32[9]) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n c "
    "= s32[] constant(3)\n ROOT l = pred[] compare(i, c), direction=LT }\n"
    "ENTRY e { x = f32[4] parameter(0)\n u = f32[9] parameter(1)\n z = s32[] constant(0)\n t = "
    "(s32[], f32[4], f32[9]) tuple(z, x, u)\n"
    " w = (s32[], f32[4], f32[9]) while(t), condition=cond, body=body\n ROOT r = f32[4] "
    "get-tuple-element(w), index=1 }";

static const char unread_results[] =
    "HloModule m\nbody { s = (s32[], f32[], f32[8]) parameter(0)\n i = s32[] get-tuple-element(s), "
    "index=0\n one = s32[] constant(1)\n n = s32[] add(i, one)\n"
    " x = f32[] get-tuple-element(s), index=1\n y = f32[] sine(x)\n u = f32[8] "
    "get-tuple-element(s), index=2\n w = f32[1] reshape(y)\n"
    " v = f32[8] dynamic-update-slice(u, w, i)\n ROOT t = (s32[], f32[], f32[8]) tuple(n, y, v) }\n"
    "cond { s = (s32[], f32[], f32[8]) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n c "
    "= s32[] constant(8)\n ROOT l = pred[] compare(i, c), direction=LT }\n"
    "ENTRY e { x = f32[] parameter(0)\n z = s32[] constant(0)\n f = f32[] constant(0)\n a = f32[8] "
    "broadcast(f), dimensions={}\n"
    " t = (s32[], f32[], f32[8]) tuple(z, x, a)\n w = (s32[], f32[], f32[8]) while(t), "
    "condition=cond, body=body\n ROOT r = f32[] get-tuple-element(w), index=1 }";

static const char whole_loop[] =
    "HloModule m\nbody { s = (s32[], f32[4], f32[4]) parameter(0)\n i = s32[] "
    "get-tuple-element(s), index=0\n one = s32[] constant(1)\n n = s32[] add(i, one)\n"
    " u = f32[4] get-tuple-element(s), index=1\n v = f32[4] get-tuple-element(s), index=2\n"
    " ROOT t = (s32[], f32[4], f32[4]) tuple(n, u, v) }\n"
    "cond { s = (s32[], f32[4], f32[4]) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n u "
    "= f32[4] get-tuple-element(s), index=1\n k = s32[4] convert(u)\n"
    " v = f32[4] get-tuple-element(s), index=2\n h = s32[4] convert(v)\n m = s32[4] multiply(k, "
    "h)\n p = s32[1] slice(m), slice={[0:1]}\n c = s32[] reshape(p)\n"
    " ROOT l = pred[] compare(i, c), direction=LT }\n"
    "ENTRY e { x = f32[4] parameter(0)\n z = s32[] constant(0)\n t = (s32[], f32[4], f32[4]) "
    "tuple(z, x, x)\n"
    " ROOT w = (s32[], f32[4], f32[4]) while(t), condition=cond, body=body }";

static void test_while(void **state) {
  expect("while-loop-trip-count-annotator", counting_loop,
         LIST("\"known_trip_count\":{\"n\":\"3\"}"), NULL);
  expect("while-loop-simplifier", counting_loop, LIST("while("), LIST("(s32[], f32[4], f32[9])"));
  // Elements that only feed themselves go, with what computes them.
  expect("while-loop-simplifier", unread_results, LIST("(s32[], f32[]) while("),
         LIST("dynamic-update-slice"));
  // A loop that is read whole: what it passes on is read before it, and of two equal elements one
  // stays.
  expect("while-loop-simplifier", whole_loop, LIST("(s32[], f32[4]) while(", ", x, x)"), NULL);
}

static void test_switches(void **state) {
  hsc_module *module = parse(bias_relu);
  hsc_pass_log log = {0};
  hsc_pass_options options = {.fuel = -1, .disable = "gemm_rewriter,cse", .record_counts = true};
  assert_null(hsc_passes_run(module, NULL, &options, &log));
  bool fused = false;
  for (int i = 0; i < log.run_count; i++) {
    assert_string_not_equal(log.runs[i].pass, "gemm_rewriter");
    assert_string_not_equal(log.runs[i].pass, "cse");
    assert_true(log.runs[i].duration_ns >= 0);
    assert_true(log.runs[i].instructions_before > 0 && log.runs[i].instructions_after > 0);
    fused |= log.runs[i].changed && !strcmp(log.runs[i].pass, "fusion");
  }
  assert_true(fused);
  hsc_pass_log_deinit(&log);
  hsc_module_destroy(module);

  module = parse(bias_relu);
  hsc_hash128 before = hsc_module_fingerprint(module);
  options = (hsc_pass_options){.fuel = 0};
  run(module, NULL, &options);
  hsc_hash128 after = hsc_module_fingerprint(module);
  assert_true(before.low == after.low && before.high == after.high);
  hsc_status *status = hsc_passes_run(module, "algsimpp", NULL, NULL);
  assert_int_equal(hsc_status_code(status), HSC_NOT_FOUND);
  assert_non_null(strstr(hsc_status_hint_text(status), "algsimp"));
  hsc_status_free(status);
  hsc_module_destroy(module);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_dce),
      cmocka_unit_test(test_cse),
      cmocka_unit_test(test_call_inliner),
      cmocka_unit_test(test_tuple_simplifier),
      cmocka_unit_test(test_constant_folding),
      cmocka_unit_test(test_transpose_folding),
      cmocka_unit_test(test_algsimp),
      cmocka_unit_test(test_fusion),
      cmocka_unit_test(test_while),
      cmocka_unit_test(test_switches),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
