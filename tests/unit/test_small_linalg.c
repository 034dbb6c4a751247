// test_small_linalg.c - the kernels of small matrices: against the same algorithms in long double,
// on every instruction set of the machine, one matrix and a batch in lanes; on the device against
// LAPACK through the reference evaluator; what NaN, infinity, denormals and singular matrices give.
#include <float.h>
#include <math.h>

#include "cpu/kernels/linalg/small_linalg.h"
#include "formats/common/formats.h"
#include "kernel_case.h"

enum { MOST = HSC_SMALL_MATRIX * HSC_SMALL_MATRIX, BATCH = 21 };

typedef struct arrays {
  hsc_small_linalg what;
  hsc_small_sizes sizes;
  long double in[2][BATCH * MOST], out[3][BATCH * MOST];
} arrays;

// ---- the algorithms in long double --------------------------------------------------------------

static void exact_lu(const hsc_small_linalg *w, long double *x, long double *pivots) {
  for (int k = 0; k < (w->m < w->n ? w->m : w->n); k++) {
    int at = k;
    for (int i = k + 1; i < w->m; i++)
      if (fabsl(x[i * w->n + k]) > fabsl(x[at * w->n + k]))
        at = i;
    pivots[k] = at + 1;
    for (int c = 0; c < w->n; c++) {
      long double held = x[k * w->n + c];
      x[k * w->n + c] = x[at * w->n + c];
      x[at * w->n + c] = held;
    }
    for (int i = k + 1; i < w->m; i++) {
      x[i * w->n + k] /= x[k * w->n + k];
      for (int j = k + 1; j < w->n; j++)
        x[i * w->n + j] -= x[i * w->n + k] * x[k * w->n + j];
    }
  }
}

static void exact_cholesky(const hsc_small_linalg *w, long double *x) {
  int n = w->m;
  int row = w->upper ? 1 : n;
  int column = w->upper ? n : 1;
  for (int i = 0; i < n; i++)
    for (int j = 0; j <= i; j++) {
      long double sum = x[i * row + j * column];
      for (int k = 0; k < j; k++)
        sum -= x[i * row + k * column] * x[j * row + k * column];
      x[i * row + j * column] = i == j ? sqrtl(sum) : sum / x[j * row + j * column];
    }
  for (int i = 0; i < n && w->routine == HSC_SMALL_CHOLESKY; i++)
    for (int j = i + 1; j < n; j++)
      x[i * row + j * column] = 0;
}

// Checks op(a) x = b, or x op(a) = b, instead of solving again.
static void expect_solved(const hsc_small_linalg *w,
                          const long double *a,
                          const long double *b,
                          const long double *x,
                          long double eps) {
  for (int r = 0; r < w->m; r++)
    for (int c = 0; c < w->n; c++) {
      long double sum = 0;
      long double size = fabsl(b[r * w->n + c]);
      for (int t = 0; t < w->k; t++) {
        int i = w->right_unit & 1 ? t : r;
        int j = w->right_unit & 1 ? c : t;
        int s = w->transposed ? j : i;
        int u = w->transposed ? i : j;
        bool inside = w->upper ? u >= s : u <= s;
        long double e = inside ? a[s * w->k + u] : 0;
        if (s == u && w->right_unit & 2)
          e = 1;
        long double term = e * (w->right_unit & 1 ? x[r * w->n + t] : x[t * w->n + c]);
        sum += term;
        size += fabsl(term);
      }
      assert_true(fabsl(sum - b[r * w->n + c]) <= 2 * eps * (w->k + 2) * size);
    }
}

// ---- running kernels ----------------------------------------------------------------------------

static int64_t bytes_of(const hsc_small_linalg *w) {
  return w->is_f64 ? 8 : 4;
}

static void put(const arrays *a, int i, int64_t at, long double value, void *to) {
  if (a->what.is_f64)
    ((double *)to)[at] = (double)value;
  else
    ((float *)to)[at] = (float)value;
  (void)i;
}

static long double get(const arrays *a, int o, int64_t at, const void *from) {
  if (o && bytes_of(&a->what) != hsc_small_linalg_bytes(&a->what, o))
    return ((const int32_t *)from)[at];
  if (a->what.routine <= HSC_SMALL_POTRF && o)
    return ((const int32_t *)from)[at];
  return a->what.is_f64 ? ((const double *)from)[at] : ((const float *)from)[at];
}

static _Alignas(64) char in_memory[2][BATCH * MOST * 8], out_memory[3][BATCH * MOST * 8],
    other_memory[3][BATCH * MOST * 8], room[2 * MOST * 64];

static hsc_cpu_isa isa_of(hsc_cpu_isa_level level) {
  hsc_cpu_isa isa;
  hsc_cpu_isa_detect(&isa);
  isa.level = level;
  return isa;
}

// One by one, then in lanes: `out` gets the first, and the second must be within `eps` of it, and
// the same wherever in the batch a matrix stands.
static void run_kernels(arrays *a, hsc_cpu_isa_level level, int batches) {
  hsc_cpu_isa isa = isa_of(level);
  const hsc_small_linalg_kernels *kernels = hsc_small_linalg_kernels_for(level);
  int64_t bytes = bytes_of(&a->what);
  uint64_t packed;
  memcpy(&packed, &a->what, sizeof packed);
  for (int i = 0; i < a->sizes.in_count; i++)
    for (int64_t at = 0; at < (int64_t)batches * a->sizes.in[i]; at++)
      put(a, i, at, a->in[i][at], in_memory[i]);
  for (int b = 0; b < batches; b++) {
    char *out[3] = {0};
    for (int o = 0; o < a->sizes.out_count; o++)
      out[o] = out_memory[o] + b * a->sizes.out[o] * hsc_small_linalg_bytes(&a->what, o);
    kernels->one(packed, in_memory[0] + b * a->sizes.in[0] * bytes,
                 a->sizes.in_count > 1 ? in_memory[1] + b * a->sizes.in[1] * bytes : NULL, out[0],
                 out[1], out[2]);
  }
  for (int o = 0; o < a->sizes.out_count; o++)
    for (int64_t at = 0; at < (int64_t)batches * a->sizes.out[o]; at++)
      a->out[o][at] = get(a, o, at, out_memory[o]);
  int lanes = hsc_small_linalg_lanes(&a->what, &isa);
  for (int first = 0; first < batches; first += lanes) {
    char *out[3] = {0};
    for (int o = 0; o < a->sizes.out_count; o++)
      out[o] = other_memory[o] + first * a->sizes.out[o] * hsc_small_linalg_bytes(&a->what, o);
    kernels->lanes(&a->what, batches - first < lanes ? batches - first : lanes,
                   in_memory[0] + first * a->sizes.in[0] * bytes,
                   in_memory[1] + first * a->sizes.in[1] * bytes, out[0], out[1], out[2], room);
  }
}

static bool same(long double a, long double b, long double within) {
  if (isnan(a) || isnan(b))
    return isnan(a) && isnan(b);
  return a == b || fabsl(a - b) <= within;
}

// What lanes made is what one by one made, up to rounding.
static void expect_lanes_alike(const arrays *a, int batches, long double eps, long double size) {
  for (int o = 0; o < a->sizes.out_count; o++)
    for (int64_t at = 0; at < (int64_t)batches * a->sizes.out[o]; at++)
      assert_true(same(a->out[o][at], get(a, o, at, other_memory[o]), 40 * eps * a->what.m * size));
}

// ---- random matrices ----------------------------------------------------------------------------

static long double rounded(const arrays *a, double value) {
  return a->what.is_f64 ? value : (float)value;
}

static void fill(arrays *a, hsc_random *random, int batches) {
  bool symmetric = a->what.routine == HSC_SMALL_POTRF || a->what.routine == HSC_SMALL_CHOLESKY;
  for (int i = 0; i < a->sizes.in_count; i++)
    for (int64_t at = 0; at < (int64_t)batches * a->sizes.in[i]; at++)
      a->in[i][at] = rounded(a, 2 * hsc_random_double(random) - 1);
  int order = a->what.routine == HSC_SMALL_TRSM ? a->what.k : a->what.m;
  for (int b = 0; b < batches && (symmetric || a->what.routine == HSC_SMALL_TRSM); b++)
    for (int i = 0; i < order; i++)
      for (int j = 0; j <= i; j++) {
        long double *matrix = a->in[0] + (int64_t)b * order * order;
        if (i == j)
          matrix[i * order + j] = rounded(a, order + 1 + hsc_random_double(random));
        else if (symmetric)
          matrix[j * order + i] = matrix[i * order + j];
      }
}

static void expect_right(arrays *a, int batches, long double eps) {
  static long double x[MOST], pivots[HSC_SMALL_MATRIX];
  for (int b = 0; b < batches; b++) {
    const long double *in = a->in[0] + (int64_t)b * a->sizes.in[0];
    const long double *out = a->out[0] + (int64_t)b * a->sizes.out[0];
    if (a->what.routine == HSC_SMALL_TRSM) {
      expect_solved(&a->what, in, a->in[1] + (int64_t)b * a->sizes.in[1], out, eps);
      continue;
    }
    if (a->what.routine >= HSC_SMALL_GEQRF)
      continue;
    memcpy(x, in, (size_t)a->sizes.in[0] * sizeof *x);
    if (a->what.routine == HSC_SMALL_GETRF)
      exact_lu(&a->what, x, pivots);
    else
      exact_cholesky(&a->what, x);
    for (int i = 0; i < a->sizes.out[0]; i++)
      assert_true(fabsl(out[i] - x[i]) <= 400 * eps * a->what.m * a->what.m);
    for (int k = 0; a->what.routine == HSC_SMALL_GETRF && k < a->sizes.out[1]; k++)
      assert_true(a->out[1][b * a->sizes.out[1] + k] == pivots[k]);
  }
}

static arrays held;

static void check_routine(hsc_small_routine routine, hsc_cpu_isa_level level, uint64_t seed) {
  hsc_random random;
  hsc_random_init(&random, seed);
  arrays *a = &held;
  int side = 1 + (int)hsc_random_below(&random, seed % 7 == 0 ? 40 : 9);
  int other = 1 + (int)hsc_random_below(&random, 12);
  a->what = (hsc_small_linalg){.routine = (uint8_t)routine,
                               .is_f64 = hsc_random_below(&random, 2),
                               .m = (uint8_t)side,
                               .n = (uint8_t)side};
  if (routine == HSC_SMALL_GETRF || routine == HSC_SMALL_GEQRF)
    a->what.n = (uint8_t)other;
  if (routine == HSC_SMALL_POTRF || routine == HSC_SMALL_CHOLESKY || routine == HSC_SMALL_TRSM)
    a->what.upper = hsc_random_below(&random, 2);
  if (routine == HSC_SMALL_TRSM) {
    a->what.transposed = hsc_random_below(&random, 2);
    a->what.right_unit = hsc_random_below(&random, 4);
    a->what.k = (uint8_t)side;
    *(a->what.right_unit & 1 ? &a->what.m : &a->what.n) = (uint8_t)other;
  }
  a->sizes = hsc_small_linalg_sizes(&a->what);
  assert_true(hsc_small_linalg_is_sound(&a->what));
  int batches = 1 + (int)hsc_random_below(&random, BATCH);
  fill(a, &random, batches);
  run_kernels(a, level, batches);
  long double eps = a->what.is_f64 ? DBL_EPSILON : FLT_EPSILON;
  expect_right(a, batches, eps);
  // With unit diagonals solutions grow as the triangle's inverse does.
  if (routine != HSC_SMALL_TRSM || !(a->what.right_unit & 2))
    expect_lanes_alike(a, batches, eps, a->what.m);
}

static void kernels_are_exact_up_to_rounding(void **state) {
  (void)state;
  hsc_cpu_isa isa;
  hsc_cpu_isa_detect(&isa);
  for (int level = HSC_CPU_ISA_BASELINE; level <= (int)isa.level; level++)
    for (int routine = 0; routine <= HSC_SMALL_GEQRF; routine++)
      for (uint64_t seed = 1; seed <= 30; seed++)
        check_routine((hsc_small_routine)routine, (hsc_cpu_isa_level)level,
                      seed * 31 + (uint64_t)routine);
}

// q r of the reflectors is the matrix, and q^T q is one, for q from orgqr.
static void check_qr(hsc_cpu_isa_level level, int m, int n, bool wide, double scale) {
  arrays *a = &held;
  hsc_random random;
  hsc_random_init(&random, (uint64_t)(m * 100 + n));
  a->what = (hsc_small_linalg){
      .routine = HSC_SMALL_GEQRF, .is_f64 = wide, .m = (uint8_t)m, .n = (uint8_t)n};
  a->sizes = hsc_small_linalg_sizes(&a->what);
  fill(a, &random, 1);
  for (int i = 0; i < m * n; i++)
    a->in[0][i] = rounded(a, (double)a->in[0][i] * scale);
  static long double matrix[MOST], r[MOST];
  memcpy(matrix, a->in[0], sizeof matrix);
  run_kernels(a, level, 1);
  memcpy(r, a->out[0], sizeof r);
  for (int i = 0; i < m * n; i++)
    a->in[0][i] = a->out[0][i];
  for (int i = 0; i < n; i++)
    a->in[1][i] = a->out[1][i];
  a->what.routine = HSC_SMALL_ORGQR;
  a->what.k = (uint8_t)n;
  a->sizes = hsc_small_linalg_sizes(&a->what);
  run_kernels(a, level, 1);
  const long double *q = a->out[0];
  long double eps = wide ? DBL_EPSILON : FLT_EPSILON;
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++) {
      long double sum = 0;
      for (int k = 0; k <= j; k++)
        sum += q[i * n + k] * r[k * n + j];
      assert_true(fabsl(sum - matrix[i * n + j]) <= 8 * eps * m * (long double)scale);
    }
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      long double sum = 0;
      for (int k = 0; k < m; k++)
        sum += q[k * n + i] * q[k * n + j];
      assert_true(fabsl(sum - (i == j)) <= 8 * eps * m);
    }
}

static void reflectors_make_the_matrix_at_any_scale(void **state) {
  (void)state;
  hsc_cpu_isa isa;
  hsc_cpu_isa_detect(&isa);
  for (int level = HSC_CPU_ISA_BASELINE; level <= (int)isa.level; level++)
    for (int n = 1; n <= 12; n++) {
      check_qr((hsc_cpu_isa_level)level, n + 3, n, n % 2, 1);
      check_qr((hsc_cpu_isa_level)level, n, n, n % 2, n % 2 ? 1e200 : 1e30);
      check_qr((hsc_cpu_isa_level)level, n + 1, n, n % 2, n % 2 ? 1e-200 : 1e-30);
    }
}

// ---- special values -----------------------------------------------------------------------------

static void special(hsc_small_routine routine, const long double *values, int n) {
  arrays *a = &held;
  a->what = (hsc_small_linalg){.routine = (uint8_t)routine, .m = (uint8_t)n, .n = (uint8_t)n};
  a->sizes = hsc_small_linalg_sizes(&a->what);
  for (int b = 0; b < 3; b++)  // one that is good between two that are not
    for (int i = 0; i < n * n; i++)
      a->in[0][b * n * n + i] = b == 1 ? (i % (n + 1) == 0 ? 2 : 0) : values[i];
  hsc_cpu_isa isa;
  hsc_cpu_isa_detect(&isa);
  run_kernels(a, isa.level, 3);
  expect_lanes_alike(a, 3, 0, 0);
  for (int i = 0; i < n * n; i++)
    assert_true(routine >= HSC_SMALL_GEQRF ||
                a->out[0][n * n + i] ==
                    (i % (n + 1) == 0 ? (routine == HSC_SMALL_GETRF ? 2 : (float)sqrt(2)) : 0));
}

static void a_bad_matrix_says_where_and_spoils_no_other(void **state) {
  (void)state;
  special(HSC_SMALL_GETRF, (long double[]){1, 2, 0, 0}, 2);
  assert_true(held.out[2][0] == 2 && held.out[2][1] == 0);
  special(HSC_SMALL_GETRF, (long double[]){0, 0, 0, 1, 1, 1, 3, 0, 1}, 3);
  assert_true(held.out[1][0] == 3 && held.out[2][0] == 3);
  special(HSC_SMALL_GETRF, (long double[]){NAN, 1, 2, 3}, 2);
  assert_true(held.out[1][0] == 1 && isnan(held.out[0][2]));
  special(HSC_SMALL_GETRF, (long double[]){1, 1, INFINITY, 1}, 2);
  assert_true(held.out[1][0] == 2 && held.out[0][2] == 0);
  special(HSC_SMALL_GETRF, (long double[]){1e-40L, 0, 0, 1e-42L}, 2);
  assert_true(held.out[2][0] == 0 && held.out[0][0] == (float)1e-40);
  special(HSC_SMALL_POTRF, (long double[]){4, 2, 2, -1}, 2);
  assert_true(held.out[1][0] == 2 && held.out[0][0] == 2);
  // What comes after the pivot that is not positive stays as it was.
  special(HSC_SMALL_POTRF, (long double[]){4, 2, 2, 2, -1, 5, 2, 5, 7}, 3);
  assert_true(held.out[1][0] == 2 && held.out[0][7] == 5 && held.out[0][8] == 7);
  special(HSC_SMALL_POTRF, (long double[]){NAN, 0, 0, 1}, 2);
  assert_true(held.out[1][0] == 1);
  special(HSC_SMALL_CHOLESKY, (long double[]){4, 2, 2, -1}, 2);
  assert_true(isnan(held.out[0][0]) && isnan(held.out[0][3]));
  special(HSC_SMALL_GEQRF, (long double[]){3, 1, 0, 5}, 2);
  assert_true(held.out[1][0] == 0 && held.out[0][0] == 3);
  special(HSC_SMALL_GEQRF, (long double[]){1, 1, NAN, 5}, 2);
  assert_true(isnan(held.out[0][0]) && isnan(held.out[0][3]));
}

// ---- on the device ------------------------------------------------------------------------------

static const char *const calls[] = {
    "  ROOT r = (f32[%d,5,5], s32[%d,5], s32[%d]) custom-call(x), "
    "custom_call_target=\"lapack_sgetrf_ffi\"\n",
    "  ROOT r = (f32[%d,5,5], s32[%d]) custom-call(s), custom_call_target=\"lapack_spotrf_ffi\", "
    "backend_config={uplo = 76 : ui8}\n",
    "  ROOT r = f32[%d,5,5] custom-call(s, x), custom_call_target=\"lapack_strsm_ffi\", "
    "backend_config={diag = 78 : ui8, side = 76 : ui8, trans_x = 84 : ui8, uplo = 85 : ui8}\n",
    "  ROOT r = (f32[%d,5,5], f32[%d,5]) custom-call(x), "
    "custom_call_target=\"lapack_sgeqrf_ffi\"\n",
    "  ROOT r = f32[%d,5,5] triangular-solve(s, x), left_side=true, lower=true, "
    "transpose_a=NO_TRANSPOSE\n",
    "  ROOT r = f32[%d,5,5] cholesky(s), lower=true\n",
};

// x is random, s symmetric with a heavy diagonal.
static hsc_literal **make_inputs(hsc_arena *arena, const hsc_module *module, int batches) {
  hsc_literal **inputs = HSC_NEW_ARRAY(arena, hsc_literal *, 2);
  hsc_random random;
  hsc_random_init(&random, 5);
  for (int p = 0; p < 2; p++) {
    EXPECT_OK(hsc_literal_create(arena, &module->entry->parameters[p]->shape, &inputs[p]));
    for (int64_t i = 0; i < batches * 25; i++) {
      int row = (int)(i % 25 / 5);
      int column = (int)(i % 5);
      double value = hsc_random_double(&random) - 0.5;
      if (p && row == column)
        value += 6;
      if (p && column > row)
        continue;
      hsc_literal_set_double(inputs[p], i, value);
      if (p)
        hsc_literal_set_double(inputs[p], i - row * 5 - column + column * 5 + row, value);
    }
  }
  return inputs;
}

static void run_text(const char *text, int batches, hsc_cpu_thunk_kind wanted) {
  hsc_module *module = NULL;
  hsc_arena *arena = NULL;
  hsc_cpu_executable *executable = NULL;
  hsc_literal *expected;
  hsc_difference d = {0};
  EXPECT_OK(hsc_arena_create(&arena));
  EXPECT_OK(hsc_hlo_text_parse(hsc_view_of(text), "small.hlo", &module));
  hsc_literal **inputs = make_inputs(arena, module, batches);
  EXPECT_OK(hsc_evaluate(module, 2, inputs, arena, &expected));
  EXPECT_OK(hsc_cpu_compile(kernel_case_device(), module, NULL, &executable));
  int found = 0;
  for (int32_t t = 0; t < executable->thunk_count; t++) {
    found += executable->thunks[t].kind == (int32_t)wanted;
    assert_int_not_equal(executable->thunks[t].kind, HSC_CPU_THUNK_EVALUATOR);
    assert_true(wanted != HSC_CPU_THUNK_KERNEL ||
                executable->thunks[t].kind != HSC_CPU_THUNK_WHILE);
  }
  assert_true(found > 0);
  hsc_literal *result;
  EXPECT_OK(hsc_literal_create(arena, &module->entry->root->shape, &result));
  void *outputs[3] = {out_memory[0], out_memory[1], out_memory[2]};
  for (int i = 0; i < 2; i++)
    memcpy(in_memory[i], inputs[i]->data, (size_t)batches * 25 * sizeof(float));
  EXPECT_OK(hsc_cpu_execute(executable, (const void *[]){in_memory[0], in_memory[1]}, outputs));
  for (int o = 0; o < hsc_shape_leaf_count(&result->shape); o++) {
    hsc_literal *leaf = hsc_shape_is_tuple(&result->shape) ? &result->elements[o] : result;
    memcpy(leaf->data, outputs[o], (size_t)hsc_shape_bytes(&leaf->shape));
  }
  EXPECT_OK(hsc_literal_compare(expected, result, &d));
  assert_true(d.max_abs < 2e-5 && d.nan_mismatches == 0);
  hsc_cpu_executable_release(executable);
  hsc_module_destroy(module);
  hsc_arena_destroy(arena);
}

static void the_device_gives_what_lapack_gives(void **state) {
  (void)state;
  for (int batches = 1; batches <= 40; batches += 13)
    for (size_t c = 0; c < HSC_COUNT_OF(calls); c++) {
      hsc_bytes text = {0};
      hsc_bytes_printf(&text,
                       "HloModule m\nENTRY e {\n  x = f32[%d,5,5] parameter(0)\n"
                       "  s = f32[%d,5,5] parameter(1)\n",
                       batches, batches);
      hsc_bytes_printf(&text, calls[c], batches, batches, batches);
      hsc_bytes_append_text(&text, "}\n");
      run_text(hsc_bytes_text(&text), batches, HSC_CPU_THUNK_SMALL_LINALG);
      hsc_bytes_deinit(&text);
    }
}

// A loop that factors and solves is one function.
static const char loop[] =
    "HloModule m\n"
    "cond { p = (s32[], f32[5,5], f32[5,5]) parameter(0)\n  i = s32[] get-tuple-element(p), "
    "index=0\n"
    "  n = s32[] constant(7)\n  ROOT c = pred[] compare(i, n), direction=LT }\n"
    "body { p = (s32[], f32[5,5], f32[5,5]) parameter(0)\n  i = s32[] get-tuple-element(p), "
    "index=0\n"
    "  x = f32[5,5] get-tuple-element(p), index=1\n  s = f32[5,5] get-tuple-element(p), index=2\n"
    "  t = f32[5,5] add(x, s)\n"
    "  f = (f32[5,5], s32[5], s32[]) custom-call(t), custom_call_target=\"lapack_sgetrf_ffi\"\n"
    "  lu = f32[5,5] get-tuple-element(f), index=0\n"
    "  y = f32[5,5] custom-call(lu, x), custom_call_target=\"lapack_strsm_ffi\", "
    "backend_config={diag = 85 : ui8, side = 76 : ui8, trans_x = 78 : ui8, uplo = 76 : ui8}\n"
    "  o = s32[] constant(1)\n  j = s32[] add(i, o)\n"
    "  ROOT r = (s32[], f32[5,5], f32[5,5]) tuple(j, y, s) }\n"
    "ENTRY e { x = f32[1,5,5] parameter(0)\n  s = f32[1,5,5] parameter(1)\n  z = s32[] "
    "constant(0)\n"
    "  a = f32[5,5] reshape(x)\n  b = f32[5,5] reshape(s)\n"
    "  i = (s32[], f32[5,5], f32[5,5]) tuple(z, a, b)\n"
    "  w = (s32[], f32[5,5], f32[5,5]) while(i), condition=cond, body=body\n"
    "  ROOT r = f32[5,5] get-tuple-element(w), index=1 }\n";

static void a_loop_with_factors_is_one_function(void **state) {
  (void)state;
  run_text(loop, 1, HSC_CPU_THUNK_KERNEL);
}

static int end_all(void **state) {
  (void)state;
  kernel_case_end_all();
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(kernels_are_exact_up_to_rounding),
      cmocka_unit_test(reflectors_make_the_matrix_at_any_scale),
      cmocka_unit_test(a_bad_matrix_says_where_and_spoils_no_other),
      cmocka_unit_test(the_device_gives_what_lapack_gives),
      cmocka_unit_test(a_loop_with_factors_is_one_function),
  };
  return cmocka_run_group_tests(tests, NULL, end_all);
}
