// test_cpu_control.c - the built-in device where control flow meets: what branches and loops hand
// on must arrive as if all of it moved at once, wherever the plan put it. Against the evaluator.
#include "unit.h"

#include <stdlib.h>
#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#include "cpu/core/cpu.h"
#include "formats/common/formats.h"
#include "hlo/ir/custom.h"

static hsc_cpu_device *device;

static int open_device(void **state) {
  hsc_cpu_device_options options = {.thread_count = 1};
  EXPECT_OK(hsc_cpu_device_create(&options, &device));
  return 0;
}

static int close_device(void **state) {
  hsc_cpu_device_destroy(device);
  return 0;
}

enum { MAX_ARRAYS = 8 };

// Parameters: s32[] choice, then f32 arrays. Results: f32 arrays.
static void expect_as_evaluated(const char *text, int choice) {
  hsc_module *module = NULL;
  hsc_arena *arena = NULL;
  hsc_literal *arguments[MAX_ARRAYS];
  hsc_literal *result = NULL;
  hsc_cpu_executable *executable = NULL;
  void *buffers[2 * MAX_ARRAYS];
  EXPECT_OK(hsc_arena_create(&arena));
  EXPECT_OK(hsc_hlo_text_parse(hsc_view_of(text), "test.hlo", &module));
  EXPECT_OK(hsc_module_verify(module));
  int inputs = module->entry->parameter_count;
  for (int i = 0; i < inputs; i++) {
    EXPECT_OK(hsc_literal_create(arena, &module->entry->parameters[i]->shape, &arguments[i]));
    for (int64_t e = 0; e < hsc_shape_elements(&arguments[i]->shape); e++)
      hsc_literal_set_double(arguments[i], e, i == 0 ? choice : i + 0.25 * (double)e);
  }
  EXPECT_OK(hsc_evaluate(module, inputs, arguments, arena, &result));
  EXPECT_OK(hsc_cpu_compile(device, module, NULL, &executable));
  int outputs = hsc_cpu_executable_output_count(executable);
  assert_int_equal(outputs, result->shape.element_count);
  for (int i = 0; i < inputs + outputs; i++) {
    buffers[i] = aligned_alloc(HSC_CPU_ALIGNMENT, HSC_CPU_ALIGNMENT);
    memset(buffers[i], 0xA5, HSC_CPU_ALIGNMENT);
    if (i < inputs)
      memcpy(buffers[i], arguments[i]->data, (size_t)hsc_shape_bytes(&arguments[i]->shape));
  }
  EXPECT_OK(hsc_cpu_execute(executable, (const void *const *)buffers, buffers + inputs));
  for (int o = 0; o < outputs; o++) {
    const hsc_literal *expected = &result->elements[o];
    const float *got = buffers[inputs + o];
    for (int64_t e = 0; e < hsc_shape_elements(&expected->shape); e++)
      if ((double)got[e] != hsc_literal_get_double(expected, e))
        fail_msg("choice %d, output %d: %g, not %g", choice, o, (double)got[e],
                 hsc_literal_get_double(expected, e));
  }
  for (int i = 0; i < inputs + outputs; i++)
    free(buffers[i]);
  hsc_cpu_executable_release(executable);
  hsc_module_destroy(module);
  hsc_arena_destroy(arena);
}

// A branch computes one result from a value that it also hands on, and in another branch that value
// is the first result.
static void a_branch_hands_on_what_it_computes_with(void **state) {
  static const char text[] =
      "HloModule hands_on\n"
      "b0 {\n  p = (f32[3], f32[3]) parameter(0)\n  a = f32[3] get-tuple-element(p), index=0\n  b "
      "= f32[3] get-tuple-element(p), index=1\n  ROOT t = (f32[3], f32[3]) tuple(a, b)\n}\n"
      "b1 {\n  p = (f32[3], f32[3]) parameter(0)\n  a = f32[3] get-tuple-element(p), index=0\n  b "
      "= f32[3] get-tuple-element(p), index=1\n  m = f32[3] multiply(a, b)\n"
      "  ROOT t = (f32[3], f32[3]) tuple(m, a)\n}\n"
      "ENTRY main {\n  i = s32[] parameter(0)\n  x = f32[3] parameter(1)\n  y = f32[3] add(x, x)\n "
      " z = f32[3] multiply(x, x)\n  t = (f32[3], f32[3]) tuple(y, z)\n"
      "  ROOT r = (f32[3], f32[3]) conditional(i, t, t), branch_computations={b0, b1}\n}\n";
  for (int choice = 0; choice < 2; choice++)
    expect_as_evaluated(text, choice);
}

// Three values in a circle, in one of four branches.
static void a_branch_turns_values_around(void **state) {
  static const char text[] =
      "HloModule turns\n"
      "b0 {\n  p = (f32[3], f32[3], f32[3]) parameter(0)\n  a = f32[3] get-tuple-element(p), "
      "index=0\n  b = f32[3] get-tuple-element(p), index=1\n"
      "  c = f32[3] get-tuple-element(p), index=2\n  ROOT t = (f32[3], f32[3], f32[3]) tuple(a, b, "
      "c)\n}\n"
      "b1 {\n  p = (f32[3], f32[3], f32[3]) parameter(0)\n  a = f32[3] get-tuple-element(p), "
      "index=0\n  b = f32[3] get-tuple-element(p), index=1\n"
      "  c = f32[3] get-tuple-element(p), index=2\n  ROOT t = (f32[3], f32[3], f32[3]) tuple(c, a, "
      "b)\n}\n"
      "b2 {\n  p = (f32[3], f32[3], f32[3]) parameter(0)\n  a = f32[3] get-tuple-element(p), "
      "index=0\n  b = f32[3] get-tuple-element(p), index=1\n"
      "  c = f32[3] get-tuple-element(p), index=2\n  n = f32[3] multiply(a, b)\n  ROOT t = "
      "(f32[3], f32[3], f32[3]) tuple(n, c, b)\n}\n"
      "b3 {\n  p = (f32[3], f32[3], f32[3]) parameter(0)\n  a = f32[3] get-tuple-element(p), "
      "index=0\n  b = f32[3] get-tuple-element(p), index=1\n"
      "  c = f32[3] get-tuple-element(p), index=2\n  ROOT t = (f32[3], f32[3], f32[3]) tuple(b, a, "
      "a)\n}\n"
      "ENTRY main {\n  i = s32[] parameter(0)\n  x = f32[3] parameter(1)\n  y = f32[3] add(x, x)\n "
      " z = f32[3] multiply(x, x)\n  w = f32[3] negate(x)\n"
      "  t = (f32[3], f32[3], f32[3]) tuple(y, z, w)\n"
      "  ROOT r = (f32[3], f32[3], f32[3]) conditional(i, t, t, t, t), branch_computations={b0, "
      "b1, b2, b3}\n}\n";
  for (int choice = 0; choice < 4; choice++)
    expect_as_evaluated(text, choice);
}

// A branch inside a loop: the carried value is the first result of one branch and saved by the
// other (a scan that keeps residuals).
static void a_loop_carries_what_a_branch_saves(void **state) {
  static const char text[] =
      "HloModule saves\n"
      "b0 {\n  p = (f32[2], f32[2]) parameter(0)\n  a = f32[2] get-tuple-element(p), index=0\n  b "
      "= f32[2] get-tuple-element(p), index=1\n  ROOT t = (f32[2], f32[2]) tuple(a, b)\n}\n"
      "b1 {\n  p = (f32[2], f32[2]) parameter(0)\n  a = f32[2] get-tuple-element(p), index=0\n  b "
      "= f32[2] get-tuple-element(p), index=1\n  m = f32[2] multiply(a, a)\n"
      "  ROOT t = (f32[2], f32[2]) tuple(m, a)\n}\n"
      "body {\n  p = (s32[], s32[], f32[2], f32[2]) parameter(0)\n  k = s32[] "
      "get-tuple-element(p), index=0\n  i = s32[] get-tuple-element(p), index=1\n"
      "  v = f32[2] get-tuple-element(p), index=2\n  w = f32[2] get-tuple-element(p), index=3\n  "
      "one = s32[] constant(1)\n  k1 = s32[] add(k, one)\n"
      "  t = (f32[2], f32[2]) tuple(v, w)\n  c = (f32[2], f32[2]) conditional(i, t, t), "
      "branch_computations={b0, b1}\n"
      "  c0 = f32[2] get-tuple-element(c), index=0\n  c1 = f32[2] get-tuple-element(c), index=1\n  "
      "ROOT r = (s32[], s32[], f32[2], f32[2]) tuple(k1, i, c0, c1)\n}\n"
      "cond {\n  p = (s32[], s32[], f32[2], f32[2]) parameter(0)\n  k = s32[] "
      "get-tuple-element(p), index=0\n  n = s32[] constant(3)\n  ROOT l = pred[] compare(k, n), "
      "direction=LT\n}\n"
      "ENTRY main {\n  i = s32[] parameter(0)\n  x = f32[2] parameter(1)\n  y = f32[2] "
      "parameter(2)\n  zero = s32[] constant(0)\n  a = f32[2] add(x, y)\n  b = f32[2] subtract(x, "
      "y)\n"
      "  s = (s32[], s32[], f32[2], f32[2]) tuple(zero, i, a, b)\n  l = (s32[], s32[], f32[2], "
      "f32[2]) while(s), condition=cond, body=body\n"
      "  u = f32[2] get-tuple-element(l), index=2\n  v = f32[2] get-tuple-element(l), index=3\n  "
      "ROOT r = (f32[2], f32[2]) tuple(u, v)\n}\n";
  for (int choice = 0; choice < 2; choice++)
    expect_as_evaluated(text, choice);
}

// Loops in loops that begin and go on with their values exchanged.
static void loops_exchange_values(void **state) {
  static const char text[] =
      "HloModule exchange\n"
      "inner {\n  p = (s32[], f32[2], f32[2]) parameter(0)\n  k = s32[] get-tuple-element(p), "
      "index=0\n  a = f32[2] get-tuple-element(p), index=1\n  b = f32[2] get-tuple-element(p), "
      "index=2\n"
      "  one = s32[] constant(1)\n  k1 = s32[] add(k, one)\n  c = f32[2] add(a, b)\n  ROOT r = "
      "(s32[], f32[2], f32[2]) tuple(k1, b, c)\n}\n"
      "less2 {\n  p = (s32[], f32[2], f32[2]) parameter(0)\n  k = s32[] get-tuple-element(p), "
      "index=0\n  n = s32[] constant(2)\n  ROOT l = pred[] compare(k, n), direction=LT\n}\n"
      "outer {\n  p = (s32[], f32[2], f32[2]) parameter(0)\n  k = s32[] get-tuple-element(p), "
      "index=0\n  a = f32[2] get-tuple-element(p), index=1\n  b = f32[2] get-tuple-element(p), "
      "index=2\n"
      "  one = s32[] constant(1)\n  k1 = s32[] add(k, one)\n  zero = s32[] constant(0)\n  s = "
      "(s32[], f32[2], f32[2]) tuple(zero, b, a)\n"
      "  l = (s32[], f32[2], f32[2]) while(s), condition=less2, body=inner\n  u = f32[2] "
      "get-tuple-element(l), index=1\n  v = f32[2] get-tuple-element(l), index=2\n"
      "  ROOT r = (s32[], f32[2], f32[2]) tuple(k1, v, u)\n}\n"
      "less5 {\n  p = (s32[], f32[2], f32[2]) parameter(0)\n  k = s32[] get-tuple-element(p), "
      "index=0\n  n = s32[] constant(5)\n  ROOT l = pred[] compare(k, n), direction=LT\n}\n"
      "ENTRY main {\n  i = s32[] parameter(0)\n  x = f32[2] parameter(1)\n  y = f32[2] "
      "parameter(2)\n  s = (s32[], f32[2], f32[2]) tuple(i, y, x)\n"
      "  l = (s32[], f32[2], f32[2]) while(s), condition=less5, body=outer\n  u = f32[2] "
      "get-tuple-element(l), index=1\n  v = f32[2] get-tuple-element(l), index=2\n"
      "  ROOT r = (f32[2], f32[2]) tuple(u, v)\n}\n";
  for (int choice = 0; choice < 6; choice++)
    expect_as_evaluated(text, choice);
}

static hsc_status *count_call(void *user, const hsc_custom_call *call) {
  ++*(int *)user;
  memcpy(call->results[0].data, call->operands[0].data,
         (size_t)hsc_shape_bytes(&call->operands[0].shape));
  return NULL;
}

// A called computation is inlined: what it does must not be done a second time by the call.
// Every rng of a program, and every trip of a loop, draws other numbers: the evaluator's.
static void random_numbers_go_on(void **state) {
  expect_as_evaluated(
      "HloModule t\nENTRY e { c = s32[] parameter(0)\n a = f32[] constant(0)\n b = f32[] "
      "constant(1)\n x = f32[8] rng(a, b), distribution=rng_uniform\n"
      " y = f32[8] rng(a, b), distribution=rng_normal\n z = f32[8] rng(a, b), "
      "distribution=rng_uniform\n ROOT r = (f32[8], f32[8], f32[8]) tuple(x, y, z) }",
      0);
  expect_as_evaluated(
      "HloModule t\nc { s = (s32[], f32[8]) parameter(0)\n i = s32[] get-tuple-element(s), "
      "index=0\n n = s32[] constant(3)\n ROOT l = pred[] compare(i, n), direction=LT }\n"
      "b { s = (s32[], f32[8]) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n v = f32[8] "
      "get-tuple-element(s), index=1\n one = s32[] constant(1)\n"
      " a = f32[] constant(0)\n z = f32[] constant(1)\n x = f32[8] rng(a, z), "
      "distribution=rng_uniform\n h = f32[] constant(0.5)\n w = f32[8] broadcast(h), "
      "dimensions={}\n"
      " m = f32[8] multiply(v, w)\n p = f32[8] add(m, x)\n j = s32[] add(i, one)\n ROOT r = "
      "(s32[], f32[8]) tuple(j, p) }\n"
      "ENTRY e { k = s32[] parameter(0)\n g = f32[] constant(0)\n v = f32[8] broadcast(g), "
      "dimensions={}\n t = (s32[], f32[8]) tuple(k, v)\n"
      " w = (s32[], f32[8]) while(t), condition=c, body=b\n o = f32[8] get-tuple-element(w), "
      "index=1\n ROOT r = (f32[8]) tuple(o) }",
      0);
}

static void effects_of_a_called_computation_happen_once(void **state) {
  static const char text[] =
      "HloModule effects\n"
      "f {\n  p = f32[2] parameter(0)\n  ROOT c = f32[2] custom-call(p), "
      "custom_call_target=\"test_count\", custom_call_has_side_effect=true\n}\n"
      "ENTRY main {\n  i = s32[] parameter(0)\n  x = f32[2] parameter(1)\n  a = f32[2] call(x), "
      "to_apply=f\n  b = f32[2] call(a), to_apply=f\n"
      "  ROOT r = (f32[2], f32[2]) tuple(a, b)\n}\n";
  static int calls;
  EXPECT_OK(hsc_custom_register("test_count", count_call, &calls));
  expect_as_evaluated(text, 0);
  assert_int_equal(calls, 4);  // twice by the evaluator, twice by the device
}

// A caller whose thread takes denormal numbers for zero (jaxlib's compiling threads do) gets the
// same numbers as everybody, and finds its thread as it was.
static void denormal_numbers_are_kept_whoever_calls(void **state) {
#if defined(__SSE2__)
  unsigned before = _mm_getcsr();
  unsigned flushing = before | 0x8040;
  static const char text[] =
      "HloModule kept\n"
      "ENTRY main {\n"
      "  x = f32[4] parameter(0)\n"
      "  c = f32[] constant(1e-40)\n"
      "  b = f32[4] broadcast(c), dimensions={}\n"
      "  big = f32[] constant(1e30)\n"
      "  bb = f32[4] broadcast(big), dimensions={}\n"
      "  folded = f32[4] multiply(b, bb)\n"
      "  run = f32[4] multiply(b, x)\n"
      "  ROOT t = (f32[4], f32[4]) tuple(folded, run)\n"
      "}\n";
  hsc_module *module = NULL;
  hsc_cpu_executable *executable = NULL;
  EXPECT_OK(hsc_hlo_text_parse(hsc_view_of(text), "test.hlo", &module));
  _Alignas(64) float x[16] = {1, 1, 1, 1};
  _Alignas(64) float folded[16];
  _Alignas(64) float run[16];
  const void *inputs[] = {x};
  void *outputs[] = {folded, run};
  _mm_setcsr(flushing);
  hsc_status *compiled = hsc_cpu_compile(device, module, NULL, &executable);
  hsc_status *ran = compiled ? NULL : hsc_cpu_execute(executable, inputs, outputs);
  unsigned after = _mm_getcsr();
  _mm_setcsr(before);
  EXPECT_OK(compiled);
  EXPECT_OK(ran);
  assert_int_equal(after & 0xffc0, flushing & 0xffc0);
  assert_true(folded[0] > 0.9e-10f && folded[0] < 1.1e-10f);
  assert_true(run[0] > 0.9e-40f && run[0] < 1.1e-40f);
  hsc_cpu_executable_release(executable);
  hsc_module_destroy(module);
#endif
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(denormal_numbers_are_kept_whoever_calls),
      cmocka_unit_test(a_branch_hands_on_what_it_computes_with),
      cmocka_unit_test(a_branch_turns_values_around),
      cmocka_unit_test(a_loop_carries_what_a_branch_saves),
      cmocka_unit_test(loops_exchange_values),
      cmocka_unit_test(random_numbers_go_on),
      cmocka_unit_test(effects_of_a_called_computation_happen_once),
  };
  return cmocka_run_group_tests(tests, open_device, close_device);
}
