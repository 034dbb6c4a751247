// The reference evaluator where the corpus of single ops does not reach: what it refuses, what it
// may overwrite, computations that are more than lanes, asynchronous pairs, collectives alone, and
// running out of memory. Values are worked out by hand.
#include "unit.h"

#include <math.h>

#include "formats/common/formats.h"
#include "random_module.h"

static hsc_arena *arena;

static hsc_module *parse(const char *text) {
  hsc_module *module = NULL;
  EXPECT_OK(hsc_hlo_text_parse(hsc_view_of(text), "test.hlo", &module));
  EXPECT_OK(hsc_module_verify(module));
  return module;
}

static hsc_literal *numbers(hsc_type type, int rank, const int64_t *dims, const double *values) {
  hsc_literal *literal = NULL;
  hsc_shape shape = hsc_shape_array(arena, type, rank, dims);
  EXPECT_OK(hsc_literal_create(arena, &shape, &literal));
  for (int64_t i = 0; i < hsc_shape_elements(&shape); i++)
    hsc_literal_set_double(literal, i, values[i]);
  return literal;
}
#define VECTOR(type, ...) \
  numbers((type), 1, (int64_t[]){(int64_t)(sizeof((double[]){__VA_ARGS__}) / sizeof(double))}, \
          (double[]){__VA_ARGS__})

static void expect(const hsc_literal *literal, int count, const double *values, const char *what) {
  assert_int_equal(hsc_shape_elements(&literal->shape), count);
  for (int i = 0; i < count; i++) {
    double got = hsc_literal_get_double(literal, i);
    if (got != values[i] && !(isnan(got) && isnan(values[i])))
      fail_msg("%s: element %d is %g, expected %g", what, i, got, values[i]);
  }
}
#define EXPECT_VALUES(literal, ...) \
  expect((literal), (int)(sizeof((double[]){__VA_ARGS__}) / sizeof(double)), \
         (double[]){__VA_ARGS__}, #literal)

static hsc_literal *run(const char *text, int count, hsc_literal *const *arguments) {
  hsc_module *module = parse(text);
  hsc_literal *result = NULL;
  EXPECT_OK(hsc_evaluate(module, count, arguments, arena, &result));
  hsc_module_destroy(module);
  return result;
}

static hsc_status *run_failing(const char *text, int count, hsc_literal *const *arguments) {
  hsc_module *module = parse(text);
  hsc_literal *result = NULL;
  hsc_status *status = hsc_evaluate(module, count, arguments, arena, &result);
  hsc_module_destroy(module);
  return status;
}

// ---- what is refused ----------------------------------------------------------------------------

static void expect_refusal(const char *text, hsc_code code, const char *words) {
  hsc_literal *x = VECTOR(HSC_TYPE_F32, 1, 2);
  hsc_status *status = run_failing(text, 1, &x);
  if (hsc_status_code(status) != code || !strstr(hsc_status_message(status), words))
    fail_msg("'%s' is not '%s'", hsc_status_message(status), words);
  hsc_status_free(status);
}

static void refusals_name_op_and_reason(void **state) {
  expect_refusal(
      "HloModule m\nENTRY e {\n  x = f32[2] parameter(0)\n  ROOT c = f32[2] custom-call(x), "
      "custom_call_target=\"lapack_sgetrf\"\n}\n",
      HSC_UNIMPLEMENTED, "lapack_sgetrf");
  expect_refusal(
      "HloModule m\nENTRY e {\n  x = f32[2] parameter(0)\n  t = token[] after-all()\n  o = token[] "
      "outfeed(x, t), outfeed_shape=f32[2]\n  ROOT r = f32[2] negate(x)\n}\n",
      HSC_UNIMPLEMENTED, "outfeed: not built yet");
  expect_refusal(
      "HloModule m\nadd {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] "
      "add(a, b)\n}\nENTRY e {\n  x = f32[2] parameter(0)\n"
      "  ROOT r = f32[2] all-reduce(x), replica_groups={{0,1}}, to_apply=add\n}\n",
      HSC_UNIMPLEMENTED, "2 participants");
  expect_refusal(
      "HloModule m\nENTRY e {\n  x = f32[2] parameter(0)\n  ROOT c = f32[20] constant({...})\n}\n",
      HSC_FAILED_PRECONDITION, "left out of the text");
}

static void arguments_of_wrong_shape_are_named(void **state) {
  hsc_literal *three = VECTOR(HSC_TYPE_F32, 1, 2, 3);
  const char *text =
      "HloModule m\nENTRY e {\n  x = f32[2] parameter(0)\n  ROOT r = f32[2] negate(x)\n}\n";
  hsc_status *status = run_failing(text, 1, &three);
  assert_int_equal(hsc_status_code(status), HSC_INVALID_ARGUMENT);
  assert_non_null(strstr(hsc_status_message(status), "f32[3], expected f32[2]"));
  hsc_status_free(status);
  EXPECT_CODE(INVALID_ARGUMENT, run_failing(text, 0, NULL));
}

// ---- what may be overwritten --------------------------------------------------------------------

// An operand that is read later, is the root, is an argument or a constant keeps its values, though
// updates happen in place.
static void updates_in_place_change_nobody_elses_values(void **state) {
  hsc_literal *x = VECTOR(HSC_TYPE_F32, 1, 2, 3);
  hsc_literal *result =
      run("HloModule m\nENTRY e {\n  x = f32[3] parameter(0)\n  c = f32[3] constant({7, 8, 9})\n  "
          "one = f32[1] constant({100})\n  i = s32[] constant(1)\n"
          "  a = f32[3] dynamic-update-slice(x, one, i)\n  b = f32[3] dynamic-update-slice(c, one, "
          "i)\n  y = f32[3] add(x, c)\n"
          "  z = f32[3] dynamic-update-slice(y, one, i)\n  w = f32[3] multiply(y, y)\n  v = f32[3] "
          "reshape(w)\n  u = f32[3] dynamic-update-slice(w, one, i)\n"
          "  s = f32[3] add(u, v)\n  ROOT t = (f32[3], f32[3], f32[3], f32[3], f32[3]) tuple(a, b, "
          "y, z, s)\n}\n",
          1, &x);
  EXPECT_VALUES(x, 1, 2, 3);
  EXPECT_VALUES(&result->elements[0], 1, 100, 3);
  EXPECT_VALUES(&result->elements[1], 7, 100, 9);
  EXPECT_VALUES(&result->elements[2], 8, 10, 12);
  EXPECT_VALUES(&result->elements[3], 8, 100, 12);
  // w and v share bytes until one of them is written
  EXPECT_VALUES(&result->elements[4], 128, 200, 288);
}

// A loop's state may be overwritten; what it started from may not.
static void loops_keep_what_they_started_from(void **state) {
  hsc_literal *x = VECTOR(HSC_TYPE_F32, 0, 0, 0, 0);
  hsc_literal *result =
      run("HloModule m\n"
          "put {\n  a = f32[4] parameter(0)\n  i = s32[] parameter(1)\n  v = f32[] convert(i)\n  "
          "one = f32[1] reshape(v)\n  ROOT r = f32[4] dynamic-update-slice(a, one, i)\n}\n"
          "less {\n  s = (s32[], f32[4], f32[4]) parameter(0)\n  i = s32[] get-tuple-element(s), "
          "index=0\n  n = s32[] constant(4)\n  ROOT r = pred[] compare(i, n), direction=LT\n}\n"
          "step {\n  s = (s32[], f32[4], f32[4]) parameter(0)\n  i = s32[] get-tuple-element(s), "
          "index=0\n  a = f32[4] get-tuple-element(s), index=1\n"
          "  k = f32[4] get-tuple-element(s), index=2\n"
          "  one = s32[] constant(1)\n  j = s32[] add(i, one)\n  b = f32[4] call(a, i), "
          "to_apply=put\n  ROOT t = (s32[], f32[4], f32[4]) tuple(j, b, k)\n}\n"
          "ENTRY e {\n  x = f32[4] parameter(0)\n  y = f32[4] add(x, x)\n  zero = s32[] "
          "constant(0)\n  s = (s32[], f32[4], f32[4]) tuple(zero, y, y)\n"
          "  w = (s32[], f32[4], f32[4]) while(s), condition=less, body=step\n  a = f32[4] "
          "get-tuple-element(w), index=1\n  k = f32[4] get-tuple-element(w), index=2\n"
          "  ROOT t = (f32[4], f32[4], f32[4]) tuple(a, k, y)\n}\n",
          1, &x);
  EXPECT_VALUES(&result->elements[0], 0, 1, 2, 3);
  EXPECT_VALUES(&result->elements[1], 0, 0, 0, 0);
  EXPECT_VALUES(&result->elements[2], 0, 0, 0, 0);
}

// ---- computations that are more than lanes ------------------------------------------------------

// A reducer with a loop in it runs as a computation for every element: b^(a mod 4) by repeated
// multiplication, summed.
static void reducers_may_hold_loops(void **state) {
  hsc_literal *x = VECTOR(HSC_TYPE_S32, 1, 2, 3);
  hsc_literal *result =
      run("HloModule m\n"
          "less {\n  s = (s32[], s32[], s32[]) parameter(0)\n  i = s32[] get-tuple-element(s), "
          "index=0\n  n = s32[] get-tuple-element(s), index=2\n  ROOT r = pred[] compare(i, n), "
          "direction=LT\n}\n"
          "step {\n  s = (s32[], s32[], s32[]) parameter(0)\n  i = s32[] get-tuple-element(s), "
          "index=0\n  p = s32[] get-tuple-element(s), index=1\n  n = s32[] get-tuple-element(s), "
          "index=2\n"
          "  one = s32[] constant(1)\n  j = s32[] add(i, one)\n  q = s32[] add(p, p)\n  ROOT t = "
          "(s32[], s32[], s32[]) tuple(j, q, n)\n}\n"
          "red {\n  a = s32[] parameter(0)\n  b = s32[] parameter(1)\n  zero = s32[] constant(0)\n "
          " one = s32[] constant(1)\n  s = (s32[], s32[], s32[]) tuple(zero, one, b)\n"
          "  w = (s32[], s32[], s32[]) while(s), condition=less, body=step\n  p = s32[] "
          "get-tuple-element(w), index=1\n  ROOT r = s32[] add(a, p)\n}\n"
          "ENTRY e {\n  x = s32[3] parameter(0)\n  zero = s32[] constant(0)\n  ROOT r = s32[] "
          "reduce(x, zero), dimensions={0}, to_apply=red\n}\n",
          1, &x);
  EXPECT_VALUES(result, 14);  // 2 + 4 + 8
}

// Long reductions do not take long: a million elements, with a reducer of several steps.
static void long_reductions_are_quick(void **state) {
  hsc_module *module = parse(
      "HloModule m\nred {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  m = f32[] "
      "maximum(a, b)\n"
      "  h = f32[] constant(0.5)\n  d = f32[] multiply(b, h)\n  n = f32[] minimum(m, d)\n"
      "  ROOT r = f32[] maximum(a, n)\n}\nENTRY e {\n  x = f32[1000000] parameter(0)\n  zero = "
      "f32[] constant(0)\n"
      "  ROOT r = f32[] reduce(x, zero), dimensions={0}, to_apply=red\n}\n");
  hsc_literal *x = NULL;
  hsc_literal *result = NULL;
  EXPECT_OK(hsc_literal_create(arena, &module->entry->parameters[0]->shape, &x));
  hsc_literal_set_double(x, 777777, 3);
  int64_t start = cpu_ns();
  EXPECT_OK(hsc_evaluate(module, 1, &x, arena, &result));
  EXPECT_VALUES(result, 1.5);
  assert_true(cpu_ns() - start < 20000000000);  // 0.2 s on an idle machine
  hsc_module_destroy(module);
}

// ---- pairs, collectives, the rest ---------------------------------------------------------------

static void asynchronous_pairs_run_at_their_start(void **state) {
  hsc_literal *x = VECTOR(HSC_TYPE_F32, 1, -2);
  hsc_literal *result = run(
      "HloModule m\nwrapped {\n  p = f32[2] parameter(0)\n  ROOT r = f32[2] negate(p)\n}\nadd {\n  "
      "a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] add(a, b)\n}\n"
      "ENTRY e {\n  x = f32[2] parameter(0)\n  s = ((f32[2]), f32[2], s32[]) async-start(x), "
      "calls=wrapped\n  u = ((f32[2]), f32[2], s32[]) async-update(s)\n  a = f32[2] async-done(u)\n"
      "  cs = (f32[2], f32[2], u32[]) copy-start(x)\n  c = f32[2] copy-done(cs)\n  rs = f32[2] "
      "all-reduce-start(x), replica_groups={{0}}, to_apply=add\n  r = f32[2] all-reduce-done(rs)\n"
      "  gs = (f32[2], f32[2]) all-gather-start(x), replica_groups={{0}}, dimensions={0}\n  g = "
      "f32[2] all-gather-done(gs)\n"
      "  ps = (f32[2], f32[2], u32[], u32[]) collective-permute-start(x), "
      "source_target_pairs={{0,0}}\n  p = f32[2] collective-permute-done(ps)\n"
      "  ROOT t = (f32[2], f32[2], f32[2], f32[2], f32[2]) tuple(a, c, r, g, p)\n}\n",
      1, &x);
  EXPECT_VALUES(&result->elements[0], -1, 2);
  for (int i = 1; i < 5; i++)
    EXPECT_VALUES(&result->elements[i], 1, -2);
}

static void scans_carry_and_stack(void **state) {
  hsc_literal *x[2] = {numbers(HSC_TYPE_F32, 2, (int64_t[]){2, 3}, (double[]){1, 2, 3, 10, 20, 30}),
                       VECTOR(HSC_TYPE_F32, 0, 100)};
  const char *text =
      "HloModule m\nbody {\n  v = f32[2] parameter(0)\n  c = f32[2] parameter(1)\n  s = f32[2] "
      "add(v, c)\n  ROOT t = (f32[2], f32[2]) tuple(s, s)\n}\n"
      "ENTRY e {\n  x = f32[2,3] parameter(0)\n  i = f32[2] parameter(1)\n  ROOT r = (f32[2,3], "
      "f32[2]) scan(x, i), dimensions={1}, num_carries=1%s, to_apply=body\n}\n";
  char buffer[1024];
  snprintf(buffer, sizeof buffer, text, "");
  hsc_literal *result = run(buffer, 2, x);
  EXPECT_VALUES(&result->elements[0], 1, 3, 6, 110, 130, 160);
  EXPECT_VALUES(&result->elements[1], 6, 160);
  snprintf(buffer, sizeof buffer, text, ", is_reverse=true");
  result = run(buffer, 2, x);
  EXPECT_VALUES(&result->elements[0], 6, 5, 3, 160, 150, 130);
  EXPECT_VALUES(&result->elements[1], 6, 160);
}

static void scaled_dots_scale_blocks(void **state) {
  hsc_literal *x[4] = {numbers(HSC_TYPE_F8E4M3FN, 2, (int64_t[]){1, 4}, (double[]){1, 2, 3, 4}),
                       numbers(HSC_TYPE_F8E4M3FN, 2, (int64_t[]){4, 1}, (double[]){1, 1, 1, 1}),
                       numbers(HSC_TYPE_F8E8M0FNU, 2, (int64_t[]){1, 2}, (double[]){1, 4}),
                       numbers(HSC_TYPE_F8E8M0FNU, 2, (int64_t[]){1, 1}, (double[]){0.5})};
  hsc_literal *result =
      run("HloModule m\nENTRY e {\n  a = f8e4m3fn[1,4] parameter(0)\n  b = f8e4m3fn[4,1] "
          "parameter(1)\n  s = f8e8m0fnu[1,2] parameter(2)\n  t = f8e8m0fnu[1,1] parameter(3)\n"
          "  ROOT r = f32[1,1] scaled-dot(a, b, s, t), lhs_contracting_dims={1}, "
          "rhs_contracting_dims={0}\n}\n",
          4, x);
  EXPECT_VALUES(result, 15.5);  // ((1 + 2) * 1 + (3 + 4) * 4) * 0.5
}

static void layouts_decide_what_a_bitcast_means(void **state) {
  hsc_literal *x = numbers(HSC_TYPE_F32, 2, (int64_t[]){2, 3}, (double[]){1, 2, 3, 4, 5, 6});
  // The bytes of a column-major [2,3] are those of a row-major [3,2] that is its transpose.
  hsc_literal *result =
      run("HloModule m\nENTRY e {\n  x = f32[2,3]{0,1} parameter(0)\n  ROOT b = f32[3,2]{1,0} "
          "bitcast(x)\n}\n",
          1, &x);
  EXPECT_VALUES(result, 1, 4, 2, 5, 3, 6);
  result =
      run("HloModule m\nENTRY e {\n  x = f32[2,3]{1,0} parameter(0)\n  ROOT b = f32[6]{0} "
          "bitcast(x)\n}\n",
          1, &x);
  EXPECT_VALUES(result, 1, 2, 3, 4, 5, 6);
}

static void custom_calls_by_name(void **state) {
  hsc_literal *x = numbers(HSC_TYPE_F32, 2, (int64_t[]){2, 3}, (double[]){1, NAN, 3, 6, 5, 6});
  hsc_literal *result =
      run("HloModule m\nENTRY e {\n  x = f32[2,3] parameter(0)\n  s = f32[2,3] custom-call(x), "
          "custom_call_target=\"Sharding\"\n"
          "  ROOT t = (f32[2,2], s32[2,2]) custom-call(s), custom_call_target=\"TopK\"\n}\n",
          1, &x);
  // NaN is the largest, equal ones keep their order
  EXPECT_VALUES(&result->elements[0], NAN, 3, 6, 6);
  EXPECT_VALUES(&result->elements[1], 1, 2, 0, 2);
}

// The stream of rng is the same in every evaluation, and lies where it should.
static void rng_is_repeatable_and_in_range(void **state) {
  const char *text =
      "HloModule m\nENTRY e {\n  a = f32[] constant(-2)\n  b = f32[] constant(3)\n"
      "  u = f32[10000] rng(a, b), distribution=rng_uniform\n  n = f32[10000] rng(a, b), "
      "distribution=rng_normal\n"
      "  l = s32[] constant(-3)\n  h = s32[] constant(4)\n  i = s32[10000] rng(l, h), "
      "distribution=rng_uniform\n"
      "  ROOT t = (f32[10000], f32[10000], s32[10000]) tuple(u, n, i)\n}\n";
  hsc_literal *one = run(text, 0, NULL);
  hsc_literal *two = run(text, 0, NULL);
  assert_true(hsc_literal_equal(one, two));
  double sums[3] = {0};
  double squares[3] = {0};
  for (int64_t i = 0; i < 10000; i++)
    for (int k = 0; k < 3; k++) {
      double v = hsc_literal_get_double(&one->elements[k], i);
      sums[k] += v;
      squares[k] += v * v;
      if (k == 0)
        assert_true(v >= -2 && v < 3);
      if (k == 2)
        assert_true(v >= -3 && v < 4);
    }
  assert_true(fabs(sums[0] / 10000 - 0.5) < 0.1);
  assert_true(fabs(sums[1] / 10000 + 2) < 0.2 && fabs(sqrt(squares[1] / 10000 - 4) - 3) < 0.2);
  assert_true(fabs(sums[2] / 10000) < 0.2);
}

static void one_instruction_alone(void **state) {
  hsc_module *module = parse(
      "HloModule m\nENTRY e {\n  x = f32[2] parameter(0)\n  ROOT r = f32[2] multiply(x, x)\n}\n");
  hsc_literal *x = VECTOR(HSC_TYPE_F32, 3, -4);
  hsc_literal *operands[2] = {x, x};
  hsc_literal *result = NULL;
  EXPECT_OK(hsc_evaluate_instr(module->entry->root, operands, arena, &result));
  EXPECT_VALUES(result, 9, 16);
  EXPECT_VALUES(x, 3, -4);
  EXPECT_CODE(INVALID_ARGUMENT,
              hsc_evaluate_instr(module->entry->parameters[0], NULL, arena, &result));
  hsc_module_destroy(module);
}

static void differences_are_measured_in_the_outputs_type(void **state) {
  hsc_difference d;
  EXPECT_OK(hsc_literal_compare(VECTOR(HSC_TYPE_F32, 1, 2, 0.0),
                                VECTOR(HSC_TYPE_F32, 1, 2 + 0x1p-22, -0.0), &d));
  assert_int_equal(d.max_ulp, 1);
  assert_int_equal(d.index, 1);
  assert_true(d.max_abs == 0x1p-22 && d.nan_mismatches == 0);
  EXPECT_OK(hsc_literal_compare(VECTOR(HSC_TYPE_BF16, 1), VECTOR(HSC_TYPE_BF16, 1.0078125), &d));
  assert_int_equal(d.max_ulp, 1);
  EXPECT_OK(
      hsc_literal_compare(VECTOR(HSC_TYPE_F32, NAN, NAN, 1), VECTOR(HSC_TYPE_F32, NAN, 5, 1), &d));
  assert_int_equal(d.nan_mismatches, 1);
  assert_int_equal(d.index, 1);
  // across zero a distance in steps is not reported: 2^-9 and -2^-9 are two
  // billion steps apart
  EXPECT_OK(hsc_literal_compare(VECTOR(HSC_TYPE_F32, 0x1p-9, 1, 0),
                                VECTOR(HSC_TYPE_F32, -0x1p-9, 1 + 0x1p-22, 1e-9), &d));
  assert_int_equal(d.max_ulp_one_side, 2);
  assert_int_equal(d.across_zero, 2);
  assert_true(d.max_ulp > 1000000000);
  EXPECT_OK(hsc_literal_compare(VECTOR(HSC_TYPE_S32, 5), VECTOR(HSC_TYPE_S32, -4), &d));
  assert_int_equal(d.max_ulp_one_side, 9);
  assert_int_equal(d.across_zero, 0);
  EXPECT_OK(hsc_literal_compare(VECTOR(HSC_TYPE_U64, 5), VECTOR(HSC_TYPE_U64, 9), &d));
  assert_int_equal(d.max_ulp, 4);
  EXPECT_CODE(INVALID_ARGUMENT,
              hsc_literal_compare(VECTOR(HSC_TYPE_F32, 1), VECTOR(HSC_TYPE_F32, 1, 2), &d));
}

// ---- memory -------------------------------------------------------------------------------------

// Every allocation of an evaluation fails once; the status says so and nothing is lost or freed
// twice (the sanitizer builds see to that).
static void running_out_of_memory_is_reported(void **state) {
  for (uint64_t seed = 1; seed <= 6; seed++) {
    hsc_module *module = NULL;
    hsc_literal *arguments[8];
    EXPECT_OK(random_module_create(seed, NULL, &module));
    for (int i = 0; i < module->entry->parameter_count; i++) {
      EXPECT_OK(hsc_literal_create(arena, &module->entry->parameters[i]->shape, &arguments[i]));
      hsc_literal_fill(arguments[i], seed, (uint32_t)i);
    }
    bool done = false;
    for (uint64_t n = 1; !done; n += 1 + n / 40) {
      hsc_arena *own = NULL;
      hsc_literal *result = NULL;
      EXPECT_OK(hsc_arena_create(&own));
      hsc_alloc_fail_after(n);
      hsc_status *status =
          hsc_evaluate(module, module->entry->parameter_count, arguments, own, &result);
      hsc_alloc_fail_after(0);
      done = !status;
      if (status)
        assert_int_equal(hsc_status_code(status), HSC_RESOURCE_EXHAUSTED);
      hsc_status_free(status);
      hsc_arena_destroy(own);
    }
    hsc_module_destroy(module);
  }
}

static int setup(void **state) {
  EXPECT_OK(hsc_arena_create(&arena));
  return 0;
}
static int teardown(void **state) {
  hsc_arena_destroy(arena);
  return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(refusals_name_op_and_reason),
      TEST(arguments_of_wrong_shape_are_named),
      TEST(updates_in_place_change_nobody_elses_values),
      TEST(loops_keep_what_they_started_from),
      TEST(reducers_may_hold_loops),
      TEST(long_reductions_are_quick),
      TEST(asynchronous_pairs_run_at_their_start),
      TEST(scans_carry_and_stack),
      TEST(scaled_dots_scale_blocks),
      TEST(layouts_decide_what_a_bitcast_means),
      TEST(custom_calls_by_name),
      TEST(rng_is_repeatable_and_in_range),
      TEST(one_instruction_alone),
      TEST(differences_are_measured_in_the_outputs_type),
      TEST(running_out_of_memory_is_reported),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
