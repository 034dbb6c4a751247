// test_small_loops.c - loops over small state, which are one function each (emit_small.c), against
// the reference evaluator: sine and cosine where their three ways meet, and what is computed once
// although several fusions, loops and branches want it.
#include <math.h>

#include "kernel_case.h"

// Arguments of sine and cosine: around pi/4, where angles need no reduction, and 1e8, beyond which
// a function is called.
static double angle(kernel_case *c, int kind) {
  static const double edges[] = {0.0,        -0.0,     0.78539812, -0.78539812, 0.78539819,
                                 0.78539824, 1e-40,    1e8,        99999992.0,  -100000008.0,
                                 3e30,       INFINITY, -INFINITY,  NAN};
  double drawn = (double)kernel_case_below(c, 2000001) / 1e6 - 1;
  if (kind == 0)
    return drawn * 0.78;
  if (kind == 1)
    return drawn * 3000;
  if (kind == 2)
    return drawn < 0 ? drawn * 3e8 - 1e8 : drawn * 3e8 + 1e8;
  return edges[kernel_case_below(c, (int64_t)HSC_COUNT_OF(edges))];
}

// 1 / sin tells the sign of zero.
static const char trig_text[] =
    "HloModule angles\n"
    "cond {\n  p = (s32[], f32[%1$d], f32[%1$d], f32[%1$d], f32[%1$d]) parameter(0)\n"
    "  i = s32[] get-tuple-element(p), index=0\n  n = s32[] constant(3)\n"
    "  ROOT c = pred[] compare(i, n), direction=LT\n}\n"
    "body {\n  p = (s32[], f32[%1$d], f32[%1$d], f32[%1$d], f32[%1$d]) parameter(0)\n"
    "  i = s32[] get-tuple-element(p), index=0\n  one = s32[] constant(1)\n"
    "  x = f32[%1$d] get-tuple-element(p), index=1\n  j = s32[] add(i, one)\n"
    "  s = f32[%1$d] sine(x)\n  c = f32[%1$d] cosine(x)\n  y = f32[%1$d] negate(x)\n"
    "  u = f32[] constant(1)\n  us = f32[%1$d] broadcast(u), dimensions={}\n"
    "  d = f32[%1$d] divide(us, s)\n"
    "  ROOT t = (s32[], f32[%1$d], f32[%1$d], f32[%1$d], f32[%1$d]) tuple(j, y, s, c, d)\n}\n"
    "ENTRY main {\n  x = f32[%1$d] parameter(0)\n  zero = s32[] constant(0)\n"
    "  t = (s32[], f32[%1$d], f32[%1$d], f32[%1$d], f32[%1$d]) tuple(zero, x, x, x, x)\n"
    "  w = (s32[], f32[%1$d], f32[%1$d], f32[%1$d], f32[%1$d]) while(t), condition=cond, "
    "body=body\n"
    "  s = f32[%1$d] get-tuple-element(w), index=2\n"
    "  c = f32[%1$d] get-tuple-element(w), index=3\n"
    "  d = f32[%1$d] get-tuple-element(w), index=4\n"
    "  ROOT r = (f32[%1$d], f32[%1$d], f32[%1$d]) tuple(s, c, d)\n}\n";

static void angles_of_every_size(void **state) {
  (void)state;
  static const int widths[] = {1, 2, 3, 4, 8, 16, 21};
  for (uint64_t seed = 1; seed <= 84; seed++) {
    char text[4096];
    int width = widths[seed % HSC_COUNT_OF(widths)];
    kernel_case c;
    snprintf(text, sizeof text, trig_text, width);
    kernel_case_begin_text(&c, seed, text, 1);
    // One kind for all lanes, or each its own: a lane that is large sends all to the function.
    int kind = (int)(seed / 7 % 5);
    for (int i = 0; i < width; i++)
      hsc_literal_set_double(c.inputs[0], i,
                             angle(&c, kind < 4 ? kind : (int)kernel_case_below(&c, 4)));
    kernel_case_check_module(&c, 4);
  }
}

// The same difference and its square: before, in both branches, in an inner loop that runs a number
// of times that is not known, after it, and of a slice that is taken twice.
static const char repeated_text[] =
    "HloModule repeated\n"
    "yes {\n  p = (f32[4], f32[4]) parameter(0)\n  a = f32[4] get-tuple-element(p), index=0\n"
    "  b = f32[4] get-tuple-element(p), index=1\n  d = f32[4] subtract(a, b)\n"
    "  q = f32[4] multiply(d, d)\n  ROOT r = f32[4] add(q, a)\n}\n"
    "no {\n  p = (f32[4], f32[4]) parameter(0)\n  a = f32[4] get-tuple-element(p), index=0\n"
    "  b = f32[4] get-tuple-element(p), index=1\n  d = f32[4] subtract(a, b)\n"
    "  q = f32[4] multiply(d, d)\n  e = f32[4] add(q, q)\n  ROOT r = f32[4] subtract(e, a)\n}\n"
    "icond {\n  p = (s32[], s32[], f32[4], f32[4]) parameter(0)\n"
    "  i = s32[] get-tuple-element(p), index=0\n  n = s32[] get-tuple-element(p), index=1\n"
    "  ROOT c = pred[] compare(i, n), direction=LT\n}\n"
    "ibody {\n  p = (s32[], s32[], f32[4], f32[4]) parameter(0)\n"
    "  i = s32[] get-tuple-element(p), index=0\n  n = s32[] get-tuple-element(p), index=1\n"
    "  a = f32[4] get-tuple-element(p), index=2\n  b = f32[4] get-tuple-element(p), index=3\n"
    "  one = s32[] constant(1)\n  j = s32[] add(i, one)\n  d = f32[4] subtract(a, b)\n"
    "  s = f32[1] slice(d), slice={[1:2]}\n  t = f32[1] slice(d), slice={[1:2]}\n"
    "  u = f32[1] add(s, t)\n  v = f32[] reshape(u)\n  w = f32[4] broadcast(v), dimensions={}\n"
    "  lo = f32[] constant(-9)\n  hi = f32[] constant(9)\n"
    "  x = f32[4] clamp(lo, w, hi)\n"
    "  ROOT r = (s32[], s32[], f32[4], f32[4]) tuple(j, n, b, x)\n}\n"
    "cond {\n  p = (s32[], s32[], f32[4], f32[4]) parameter(0)\n"
    "  i = s32[] get-tuple-element(p), index=0\n  n = s32[] constant(5)\n"
    "  ROOT c = pred[] compare(i, n), direction=LT\n}\n"
    "body {\n  p = (s32[], s32[], f32[4], f32[4]) parameter(0)\n"
    "  i = s32[] get-tuple-element(p), index=0\n  m = s32[] get-tuple-element(p), index=1\n"
    "  a = f32[4] get-tuple-element(p), index=2\n  b = f32[4] get-tuple-element(p), index=3\n"
    "  zero = s32[] constant(0)\n  one = s32[] constant(1)\n  j = s32[] add(i, one)\n"
    "  odd = s32[] and(i, one)\n  is = pred[] compare(odd, zero), direction=EQ\n"
    "  ab = (f32[4], f32[4]) tuple(a, b)\n"
    "  r = f32[4] conditional(is, ab, ab), true_computation=yes, false_computation=no\n"
    "  k = s32[] and(m, j)\n"
    "  t = (s32[], s32[], f32[4], f32[4]) tuple(zero, k, a, b)\n"
    "  w = (s32[], s32[], f32[4], f32[4]) while(t), condition=icond, body=ibody\n"
    "  wa = f32[4] get-tuple-element(w), index=2\n  wb = f32[4] get-tuple-element(w), index=3\n"
    "  d = f32[4] subtract(a, b)\n  q = f32[4] multiply(d, d)\n  e = f32[4] subtract(wa, wb)\n"
    "  f = f32[4] add(q, e)\n  g = f32[4] add(f, r)\n  lo = f32[] constant(-7)\n"
    "  hi = f32[] constant(8)\n  h = f32[4] clamp(lo, g, hi)\n"
    "  ROOT o = (s32[], s32[], f32[4], f32[4]) tuple(j, m, h, a)\n}\n"
    "ENTRY main {\n  m = s32[] parameter(0)\n  a = f32[4] parameter(1)\n  b = f32[4] parameter(2)\n"
    "  zero = s32[] constant(0)\n  t = (s32[], s32[], f32[4], f32[4]) tuple(zero, m, a, b)\n"
    "  w = (s32[], s32[], f32[4], f32[4]) while(t), condition=cond, body=body\n"
    "  x = f32[4] get-tuple-element(w), index=2\n  y = f32[4] get-tuple-element(w), index=3\n"
    "  ROOT r = (f32[4], f32[4]) tuple(x, y)\n}\n";

static void repeated_in_loops_and_branches(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 12; seed++) {
    kernel_case c;
    kernel_case_begin_text(&c, seed, repeated_text, 7);
    kernel_case_check_module(&c, 0);
  }
}

// Powers of so few numbers that each is computed by itself, and of more.
static void powers_of_few_numbers(void **state) {
  (void)state;
  static const double edges[] = {0.0, -0.0,  1,    -1,       2,         -2,
                                 0.5, 1e-40, 3e38, INFINITY, -INFINITY, NAN};
  for (uint64_t seed = 1; seed <= 60; seed++) {
    kernel_case c;
    kernel_case_begin(&c, seed);
    int64_t count = 1 + (int64_t)(seed % 20);
    hsc_instr *x = kernel_case_input(&c, HSC_TYPE_F32, 1, &count, 1);
    hsc_instr *y = kernel_case_input(&c, HSC_TYPE_F32, 1, &count, 1);
    for (int64_t i = 0; i < 2 * count; i++) {
      double drawn = (double)kernel_case_below(&c, 2000001) / 1e6 - (i < count ? 0 : 1);
      double value = seed % 3 ? drawn * 5 : edges[kernel_case_below(&c, HSC_COUNT_OF(edges))];
      hsc_literal_set_double(c.inputs[i / count], i % count, value);
    }
    kernel_case_check(&c, hsc_build_binary(&c.b, HSC_OP_POWER, x, y), 1);
  }
}

static int end_all(void **state) {
  (void)state;
  kernel_case_end_all();
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(angles_of_every_size),
      cmocka_unit_test(repeated_in_loops_and_branches),
      cmocka_unit_test(powers_of_few_numbers),
  };
  return cmocka_run_group_tests(tests, NULL, end_all);
}
