// test_vmath.c - how far the device's transcendental functions are from the exact value, in units
// of the last place, against the C library's long double functions; for every instruction set that
// this machine has.
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "base/core/hash.h"
#include "formats/common/formats.h"
#include "kernel_case.h"

typedef struct function {
  hsc_op op;
  long double (*exact)(long double);
  double bound_f32, bound_f64;  // ULP
  // where arguments are drawn from, besides random bits; NaN results must be NaN on both sides
  double low, high;
} function;

static long double logistic(long double x) {
  return 1 / (1 + expl(-x));
}

// The bounds are what vmath.h promises and what glibc documents for its f64 functions. They hold
// for other arguments too: HSC_VMATH_SEED=7 draws others, HSC_VMATH_SHOW=1 shows the worst.
static const function functions[] = {
    {HSC_OP_EXP, expl, 2, 2, -104, 89},    {HSC_OP_EXPM1, expm1l, 2, 2, -20, 89},
    {HSC_OP_LOG, logl, 2, 2, 0, 4},        {HSC_OP_LOG1P, log1pl, 2, 2, -1, 4},
    {HSC_OP_TANH, tanhl, 2.5, 3, -10, 10}, {HSC_OP_LOGISTIC, logistic, 2.5, 3, -90, 90},
    {HSC_OP_SINE, sinl, 2, 2, -50, 50},    {HSC_OP_COSINE, cosl, 2, 2, -50, 50},
    {HSC_OP_TAN, tanl, 4, 2, -50, 50},     {HSC_OP_ERF, erfl, 3, 2, -4, 4},
    {HSC_OP_CBRT, cbrtl, 1, 4, -8, 8},     {HSC_OP_SINH, sinhl, 1, 3, -89, 89},
    {HSC_OP_COSH, coshl, 1, 3, -89, 89},   {HSC_OP_ASIN, asinl, 1, 2, -1, 1},
    {HSC_OP_ACOS, acosl, 1, 2, -1, 1},     {HSC_OP_ASINH, asinhl, 1, 3, -50, 50},
    {HSC_OP_ACOSH, acoshl, 1, 3, 1, 50},   {HSC_OP_ATANH, atanhl, 1, 3, -1, 1},
};

enum { ARGUMENTS = 24000 };

// Distance of a result from the exact value, in units of the last place of the result's type there.
static double distance(double result, long double exact, bool is_double) {
  if (isnan(result) || isnan(exact))
    return isnan(result) && isnan(exact) ? 0 : INFINITY;
  long double largest = is_double ? DBL_MAX : FLT_MAX;
  int digits = is_double ? 53 : 24;
  int least = is_double ? -1022 : -126;
  int exponent;
  if (isinf(result))
    return (result > 0) == (exact > 0) && fabsl(exact) > largest * (1 - ldexpl(1, -digits))
               ? 0
               : INFINITY;
  if (fabsl(exact) > 2 * largest)
    return INFINITY;
  if (exact == 0)
    return result == 0 ? 0 : INFINITY;
  frexpl(exact, &exponent);
  // subnormal results have the smallest normal number's unit
  if (exponent - 1 < least)
    exponent = least + 1;
  return (double)(fabsl((long double)result - exact) / ldexpl(1, exponent - digits));
}

static double argument(hsc_random *random, const function *f, bool is_double, int64_t i) {
  static const double special[] = {0,        -0.0,      1,     -1,         0.5,      -0.5,
                                   INFINITY, -INFINITY, NAN,   1e-30,      -1e-30,   FLT_MIN,
                                   FLT_MAX,  -FLT_MAX,  1e-40, 0.99999994, 1.0000001};
  if (i < (int64_t)HSC_COUNT_OF(special))
    return is_double ? special[i] : (double)(float)special[i];
  double x;
  if (i % 4 == 0) {  // any bits
    uint64_t bits = hsc_random_u64(random);
    uint32_t low = (uint32_t)bits;
    float narrow;
    memcpy(&narrow, &low, 4);
    memcpy(&x, &bits, 8);
    if (!is_double)
      x = (double)narrow;
    // Huge arguments of the periodic functions are another subject: their reduction takes hundreds
    // of bits.
    if ((f->op == HSC_OP_SINE || f->op == HSC_OP_COSINE || f->op == HSC_OP_TAN) && fabs(x) > 1e5)
      x = fmod(x, 1000);
  } else if (i % 4 == 1) {  // near zero, all magnitudes
    x = (hsc_random_below(random, 2) ? 1 : -1) * exp2(-60 * hsc_random_double(random));
  } else {
    x = f->low + (f->high - f->low) * hsc_random_double(random);
  }
  return is_double ? x : (double)(float)x;
}

// A text with T, N, K and OP for what it is made for.
static const char *const in_a_loop =
    "HloModule vmath\nc {\n  p = (s32[], T[N], T[N]) parameter(0)\n"
    "  i = s32[] get-tuple-element(p), index=0\n  n = s32[] constant(N)\n"
    "  ROOT l = pred[] compare(i, n), direction=LT\n}\nb {\n"
    "  p = (s32[], T[N], T[N]) parameter(0)\n  i = s32[] get-tuple-element(p), index=0\n"
    "  x = T[N] get-tuple-element(p), index=1\n  y = T[N] get-tuple-element(p), index=2\n"
    "  v = T[K] dynamic-slice(x, i), dynamic_slice_sizes={K}\n  f = T[K] OP(v)\n"
    "  u = T[N] dynamic-update-slice(y, f, i)\n  k = s32[] constant(K)\n"
    "  j = s32[] add(i, k)\n  ROOT r = (s32[], T[N], T[N]) tuple(j, x, u)\n}\nENTRY e {\n"
    "  x = T[N] parameter(0)\n  z = s32[] constant(0)\n  o = T[] constant(0)\n"
    "  y = T[N] broadcast(o), dimensions={}\n  t = (s32[], T[N], T[N]) tuple(z, x, y)\n"
    "  w = (s32[], T[N], T[N]) while(t), condition=c, body=b\n"
    "  ROOT r = T[N] get-tuple-element(w), index=2\n}\n";
static const char *const at_once =
    "HloModule vmath\nENTRY e {\n  x = T[N] parameter(0)\n  ROOT r = T[N] OP(x)\n}\n";

// The function of an array, or of `at_a_time` numbers in each trip of a loop: there some functions
// are code in place, and the others are called for fewer numbers than a vector holds.
static hsc_module *program_of(const function *f, bool is_double, int at_a_time) {
  hsc_bytes text = {0};
  hsc_module *module = NULL;
  for (const char *at = at_a_time ? in_a_loop : at_once; *at; at++) {
    if (*at == 'T' && at[1] == '[')
      hsc_bytes_append_text(&text, is_double ? "f64" : "f32");
    else if (*at == 'N' && (at[1] == ']' || at[1] == ')'))
      hsc_bytes_printf(&text, "%d", ARGUMENTS);
    else if (*at == 'K' && at[1] != 'e')
      hsc_bytes_printf(&text, "%d", at_a_time);
    else if (*at == 'O' && at[1] == 'P')
      hsc_bytes_append_text(&text, hsc_op_text(f->op));
    else if (*at != 'P')
      hsc_bytes_append(&text, at, 1);
  }
  EXPECT_OK(hsc_hlo_text_parse(hsc_bytes_view(&text), "vmath.hlo", &module));
  hsc_bytes_deinit(&text);
  return module;
}

static void check_function(
    hsc_cpu_device *device, const char *isa, const function *f, bool is_double, int at_a_time) {
  hsc_arena *arena = NULL;
  hsc_module *module = program_of(f, is_double, at_a_time);
  EXPECT_OK(hsc_arena_create(&arena));
  hsc_shape shape = module->entry->root->shape;
  int64_t size = ARGUMENTS;
  hsc_literal *in = NULL;
  hsc_literal *out = NULL;
  EXPECT_OK(hsc_literal_create(arena, &shape, &in));
  EXPECT_OK(hsc_literal_create(arena, &shape, &out));
  hsc_random random;
  const char *text = getenv("HSC_VMATH_SEED");
  uint64_t seed = text ? strtoull(text, NULL, 10) : 0;
  // by the name: a new row in ops.def must not change what is tried
  hsc_random_init(&random, hsc_hash64(hsc_op_text(f->op), strlen(hsc_op_text(f->op)), seed));
  for (int64_t i = 0; i < size; i++)
    hsc_literal_set_double(in, i, argument(&random, f, is_double, i));
  void *memory[2];
  size_t bytes = (size_t)hsc_shape_bytes(&shape);
  for (int i = 0; i < 2; i++)
    assert_int_equal(posix_memalign(&memory[i], 64, bytes), 0);
  memcpy(memory[0], in->data, bytes);
  hsc_cpu_executable *executable = NULL;
  EXPECT_OK(hsc_cpu_compile(device, module, NULL, &executable));
  for (int32_t t = 0; t < executable->thunk_count; t++)
    if (executable->thunks[t].kind == HSC_CPU_THUNK_EVALUATOR ||
        executable->thunks[t].kind == HSC_CPU_THUNK_WHILE)
      fail_msg("%s, %d at a time, is not generated code", hsc_op_text(f->op), at_a_time);
  EXPECT_OK(hsc_cpu_execute(executable, (const void *[]){memory[0]}, (void *[]){memory[1]}));
  memcpy(out->data, memory[1], bytes);
  double worst = 0;
  double worst_at = 0;
  for (int64_t i = 0; i < size; i++) {
    double x = hsc_literal_get_double(in, i);
    // 1 / (1 + exp(-x)), as XLA computes it: exp(-x) overflows before its inverse is 0
    bool overflows = f->op == HSC_OP_LOGISTIC && is_double && x < -708;
    if (overflows)
      continue;
    double d = distance(hsc_literal_get_double(out, i), f->exact((long double)x), is_double);
    if (d > worst) {
      worst = d;
      worst_at = x;
    }
  }
  double bound = is_double ? f->bound_f64 : f->bound_f32;
  if (getenv("HSC_VMATH_SHOW"))
    printf("# %s %s %s, %d at a time: %.3f ULP at %.17g\n", isa, hsc_op_text(f->op),
           is_double ? "f64" : "f32", at_a_time, worst, worst_at);
  if (worst > bound)
    fail_msg("%s of %s on %s, %d at a time: %.3f ULP at %.17g, more than %g", hsc_op_text(f->op),
             is_double ? "f64" : "f32", isa, at_a_time, worst, worst_at, bound);
  hsc_cpu_executable_release(executable);
  free(memory[0]);
  free(memory[1]);
  hsc_module_destroy(module);
  hsc_arena_destroy(arena);
}

static void check_level(const char *isa) {
  setenv("HLOSCOPE_CPU_ISA", isa, 1);
  hsc_cpu_device *device = NULL;
  EXPECT_OK(hsc_cpu_device_create(&(hsc_cpu_device_options){.thread_count = 1}, &device));
  for (size_t i = 0; i < HSC_COUNT_OF(functions); i++)
    for (int wide = 0; wide < 2; wide++)
      for (int at_a_time = 0; at_a_time <= 3; at_a_time += at_a_time + 1)
        check_function(device, isa, &functions[i], wide, at_a_time);
  hsc_cpu_device_destroy(device);
  unsetenv("HLOSCOPE_CPU_ISA");
}

static void baseline_stays_within_its_bounds(void **state) {
  check_level("baseline");
}
static void avx2_stays_within_its_bounds(void **state) {
  hsc_cpu_isa isa;
  hsc_cpu_isa_detect(&isa);
  if (isa.level < HSC_CPU_ISA_AVX2)
    return;
  check_level("avx2");
}
static void avx512_stays_within_its_bounds(void **state) {
  hsc_cpu_isa isa;
  hsc_cpu_isa_detect(&isa);
  if (isa.level < HSC_CPU_ISA_AVX512)
    return;  // nothing to measure it on
  check_level("avx512");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(baseline_stays_within_its_bounds),
      cmocka_unit_test(avx2_stays_within_its_bounds),
      cmocka_unit_test(avx512_stays_within_its_bounds),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
