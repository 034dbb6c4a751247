// What vendors' calls are lowered to, against plain ops; gradients of convolutions against loops
// that accumulate them from the definition of the forward one.
#include "unit.h"

#include <math.h>

#include "formats/common/formats.h"
#include "lab/passes/lower_custom_calls.h"

typedef struct conv_case {
  int batch, height, width, in, out, kh, kw;  // sizes
  int sh, sw, ph0, ph1, pw0, pw1, dh, dw;     // stride, padding, dilation
  const char *labels;                         // of the forward convolution
  double scale;
} conv_case;

static const conv_case cases[] = {
    {2, 5, 6, 3, 4, 3, 2, 1, 1, 1, 1, 0, 0, 1, 1, "b01f_01io->b01f", 1},
    {2, 8, 7, 3, 4, 3, 2, 2, 1, 1, 0, 2, 1, 1, 2, "bf01_oi01->bf01", 1},
    {1, 9, 9, 2, 3, 3, 3, 2, 2, 0, 1, 1, 1, 2, 1, "b01f_o01i->b01f", 0.5},
    {3, 7, 7, 2, 5, 1, 1, 2, 2, 0, 0, 0, 0, 1, 1, "b01f_01io->b01f", 1},
};

static int steps_h(const conv_case *c) {
  return (c->height + c->ph0 + c->ph1 - (c->kh - 1) * c->dh - 1) / c->sh + 1;
}
static int steps_w(const conv_case *c) {
  return (c->width + c->pw0 + c->pw1 - (c->kw - 1) * c->dw - 1) / c->sw + 1;
}

// The shape of "b01f" and the like: sizes by label, and the place of an element.
static void shape_of(const char *labels, const int sizes[128], char out[64]) {
  int at = snprintf(out, 64, "f32[");
  for (int i = 0; i < 4; i++)
    at += snprintf(out + at, 64 - (size_t)at, "%s%d", i ? "," : "", sizes[(int)labels[i]]);
  snprintf(out + at, 64 - (size_t)at, "]");
}

static int64_t place(const char *labels,
                     const int sizes[128],
                     int first,
                     int second,
                     int h,
                     int w,
                     const char names[2]) {
  int64_t at = 0;
  for (int i = 0; i < 4; i++) {
    int value;
    if (labels[i] == '0')
      value = h;
    else if (labels[i] == '1')
      value = w;
    else if (labels[i] == names[0])
      value = first;
    else
      value = second;
    at = at * sizes[(int)labels[i]] + value;
  }
  return at;
}

// Fills `inputs`, and gives the result of the program, lowered first and written out.
static hsc_literal *evaluate_lowered(hsc_arena *arena,
                                     const char *text,
                                     hsc_literal **inputs,
                                     int input_count,
                                     int expected_lowered) {
  hsc_module *module = NULL;
  hsc_lowered_calls lowered = {0};
  hsc_literal *result = NULL;
  hsc_literal *copy = NULL;
  EXPECT_OK(hsc_hlo_text_parse(hsc_view_of(text), NULL, &module));
  EXPECT_OK(hsc_lower_custom_calls(module, &lowered));
  hsc_module_destroy(module);
  if (lowered.lowered != expected_lowered || lowered.unknown.size)
    fail_msg("%d lowered: %s", lowered.lowered, text);
  EXPECT_OK(hsc_program_read(hsc_bytes_view(&lowered.text), NULL, &module));
  for (int p = 0; p < input_count; p++) {
    EXPECT_OK(hsc_literal_create(arena, &module->entry->parameters[p]->shape, &inputs[p]));
    hsc_literal_fill(inputs[p], 5, (uint32_t)p);
  }
  EXPECT_OK(hsc_evaluate(module, input_count, inputs, arena, &result));
  EXPECT_OK(hsc_literal_copy(arena, result, &copy));
  hsc_module_destroy(module);
  hsc_lowered_calls_deinit(&lowered);
  return copy;
}

static void check_gradient(const conv_case *c, bool of_filter) {
  hsc_arena *arena = NULL;
  hsc_literal *inputs[2];
  char x_labels[5], w_labels[5], y_labels[5], x[64], w[64], y[64];
  assert_int_equal(sscanf(c->labels, "%4[^_]_%4[^-]->%4s", x_labels, w_labels, y_labels), 3);
  int oh = steps_h(c);
  int ow = steps_w(c);
  int xs[128] = {['b'] = c->batch, ['0'] = c->height, ['1'] = c->width, ['f'] = c->in};
  int ws[128] = {['i'] = c->in, ['o'] = c->out, ['0'] = c->kh, ['1'] = c->kw};
  int ys[128] = {['b'] = c->batch, ['0'] = oh, ['1'] = ow, ['f'] = c->out};
  EXPECT_OK(hsc_arena_create(&arena));
  shape_of(x_labels, xs, x);
  shape_of(w_labels, ws, w);
  shape_of(y_labels, ys, y);
  const char *left = of_filter ? x : y;
  const char *right = of_filter ? y : w;
  const char *made = of_filter ? w : x;
  const char *text = hsc_arena_printf(
      arena,
      "HloModule m\nENTRY main {\n  a = %s parameter(0)\n  b = %s parameter(1)\n  c = (%s, u8[16]) "
      "custom-call(a, b), custom_call_target=\"__cudnn$convBackward%s\", "
      "window={size=%dx%d stride=%dx%d pad=%d_%dx%d_%d rhs_dilate=%dx%d}, dim_labels=%s, "
      "backend_config={\"cudnn_conv_backend_config\":{\"conv_result_scale\":%g}}\n"
      "  ROOT r = %s get-tuple-element(c), index=0\n}\n",
      left, right, made, of_filter ? "Filter" : "Input", c->kh, c->kw, c->sh, c->sw, c->ph0, c->ph1,
      c->pw0, c->pw1, c->dh, c->dw, c->labels, c->scale, made);
  hsc_literal *result = evaluate_lowered(arena, text, inputs, 2, 1);
  int64_t count = hsc_shape_elements(&result->shape);
  double *sum = HSC_NEW_ARRAY(arena, double, count);
  for (int n = 0; n < c->batch; n++)
    for (int p = 0; p < oh; p++)
      for (int q = 0; q < ow; q++)
        for (int kh = 0; kh < c->kh; kh++)
          for (int kw = 0; kw < c->kw; kw++)
            for (int i = 0; i < c->in; i++)
              for (int o = 0; o < c->out; o++) {
                int h = p * c->sh + kh * c->dh - c->ph0;
                int v = q * c->sw + kw * c->dw - c->pw0;
                if (h < 0 || v < 0 || h >= c->height || v >= c->width)
                  continue;
                int64_t at_x = place(x_labels, xs, n, i, h, v, "bf");
                int64_t at_w = place(w_labels, ws, i, o, kh, kw, "io");
                int64_t at_y = place(y_labels, ys, n, o, p, q, "bf");
                if (of_filter)
                  sum[at_w] += hsc_literal_get_double(inputs[0], at_x) *
                               hsc_literal_get_double(inputs[1], at_y);
                else
                  sum[at_x] += hsc_literal_get_double(inputs[0], at_y) *
                               hsc_literal_get_double(inputs[1], at_w);
              }
  for (int64_t k = 0; k < count; k++)
    if (fabs(hsc_literal_get_double(result, k) - c->scale * sum[k]) > 1e-5)
      fail_msg("%s of %s: element %lld is %g, not %g", of_filter ? "filter" : "input", c->labels,
               (long long)k, hsc_literal_get_double(result, k), c->scale * sum[k]);
  hsc_arena_destroy(arena);
}

static int calls_in(const char *text) {
  int count = 0;
  for (const char *at = text; (at = strstr(at, "custom_call_target")) != NULL; at++)
    count++;
  return count;
}

// What the calls are lowered to has the numbers of the plain ops that they stand for, of a (2x2), b
// (2x3) and c (3).
static void expect_same_numbers(const char *const pairs[][2], size_t count, double tolerance) {
  for (size_t i = 0; i < count; i++) {
    hsc_arena *arena = NULL;
    hsc_literal *inputs[3], *results[2];
    hsc_difference d;
    EXPECT_OK(hsc_arena_create(&arena));
    for (int side = 0; side < 2; side++) {
      const char *text = hsc_arena_printf(
          arena,
          "HloModule m\nlater {\n  p = f32[] parameter(0)\n  i = s32[] "
          "parameter(1)\n  q = f32[] parameter(2)\n  j = s32[] parameter(3)\n"
          "  m = f32[] maximum(p, q)\n  k = s32[] add(i, j)\n"
          "  ROOT t = (f32[], s32[]) tuple(m, k)\n}\nplus {\n  p = f32[] parameter(0)\n  q = f32[] "
          "parameter(1)\n  ROOT s0 = f32[] add(p, q)\n}\nENTRY main {\n"
          "  a = f32[2,2] parameter(0)\n  b = f32[2,3] parameter(1)\n  c = f32[3] "
          "parameter(2)\n%s}\n",
          pairs[i][side]);
      results[side] = evaluate_lowered(arena, text, inputs, 3, calls_in(text));
    }
    EXPECT_OK(hsc_literal_compare(results[0], results[1], &d));
    if (d.max_abs > tolerance)
      fail_msg("pair %zu: %g against %g", i, d.left, d.right);
    hsc_arena_destroy(arena);
  }
}

// What is lowered has the numbers of the plain ops that it stands for.
static void calls_have_the_numbers_of_plain_ops(void **state) {
  static const char *const pairs[][2] = {
      {"  ROOT r = f32[2,3] custom-call(a, b), custom_call_target=\"__onednn$matmul\", "
       "backend_config={\"onednn_matmul_config\":{\"fusions\":{}}}\n",
       "  ROOT r = f32[2,3] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"},
      {"  m = (f32[2,3], s8[16]) custom-call(a, b, c), custom_call_target=\"__cublas$lt$matmul\", "
       "backend_config={\"gemm_backend_config\":{\"alpha_real\":0.5,\"beta\":0,"
       "\"dot_dimension_numbers\":{\"lhs_contracting_dimensions\":[\"1\"],\"rhs_contracting_"
       "dimensions\":[\"0\"]},\"epilogue\":\"BIAS_RELU\"}}\n"
       "  ROOT r = f32[2,3] get-tuple-element(m), index=0\n",
       "  d = f32[2,3] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n  h = f32[] "
       "constant(0.5)\n  hs = f32[2,3] broadcast(h), dimensions={}\n"
       "  s = f32[2,3] multiply(d, hs)\n  cs = f32[2,3] broadcast(c), dimensions={1}\n  t = "
       "f32[2,3] add(s, cs)\n  z = f32[] constant(0)\n"
       "  zs = f32[2,3] broadcast(z), dimensions={}\n  ROOT r = f32[2,3] maximum(t, zs)\n"},
      {"  d = f32[2,3] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n  ROOT r = "
       "f32[2,3] custom-call(d), custom_call_target=\"__onednn$softmax\"\n",
       "  d = f32[2,3] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n  e = "
       "f32[2,3] exponential(d)\n  z = f32[] constant(0)\n"
       "  s = f32[2] reduce(e, z), dimensions={1}, to_apply=plus\n  ss = f32[2,3] broadcast(s), "
       "dimensions={0}\n  ROOT r = f32[2,3] divide(e, ss)\n"},
      {"  i = f32[1,2,2,1] reshape(a)\n  k = f32[1,2,1,3] reshape(b)\n  v = (f32[1,2,1,3], u8[4]) "
       "custom-call(i, k), custom_call_target=\"__cudnn$convForward\", "
       "window={size=1x2}, dim_labels=b01f_01io->b01f, backend_config={\"conv_result_scale\":2}\n  "
       "g = f32[1,2,1,3] get-tuple-element(v), index=0\n  ROOT r = f32[2,3] reshape(g)\n",
       "  i = f32[1,2,2,1] reshape(a)\n  k = f32[1,2,1,3] reshape(b)\n  v = f32[1,2,1,3] "
       "convolution(i, k), window={size=1x2}, dim_labels=b01f_01io->b01f\n"
       "  w = f32[1,2,1,3] add(v, v)\n  ROOT r = f32[2,3] reshape(w)\n"},
      {"  s = f32[2,3] custom-call(), custom_call_target=\"AllocateBuffer\"\n  z = s32[] "
       "constant(0)\n  ROOT r = f32[2,3] dynamic-update-slice(s, b, z, z)\n",
       "  o = f32[] constant(1)\n  os = f32[2,3] broadcast(o), dimensions={}\n  ROOT r = f32[2,3] "
       "multiply(b, os)\n"},
      // XLA:TPU's numbers of 64 bits: the low half of a complex one is its real part
      {"  q = f32[2,3] multiply(b, b)\n  z = c64[2,3] complex(b, q)\n  l = f32[2,3] "
       "custom-call(z), "
       "custom_call_target=\"X64SplitLow\"\n  h = f32[2,3] custom-call(z), "
       "custom_call_target=\"X64SplitHigh\"\n  ROOT r = f32[2,3] subtract(l, h)\n",
       "  q = f32[2,3] multiply(b, b)\n  ROOT r = f32[2,3] subtract(b, q)\n"},
      {"  q = f32[2,3] multiply(b, b)\n  z = c64[2,3] custom-call(b, q), "
       "custom_call_target=\"X64Combine\"\n  l = f32[2,3] real(z)\n  h = f32[2,3] imag(z)\n"
       "  ROOT r = f32[2,3] subtract(l, h)\n",
       "  q = f32[2,3] multiply(b, b)\n  ROOT r = f32[2,3] subtract(b, q)\n"},
      {"  m = f32[] constant(1e12)\n  ms = f32[2,3] broadcast(m), dimensions={}\n"
       "  x = f32[2,3] multiply(b, ms)\n  i = s64[2,3] convert(x)\n"
       "  l = u32[2,3] custom-call(i), custom_call_target=\"X64SplitLow\"\n"
       "  h = u32[2,3] custom-call(i), custom_call_target=\"X64SplitHigh\"\n"
       "  w = s64[2,3] custom-call(l, h), custom_call_target=\"X64Combine\"\n"
       "  f = f32[2,3] convert(w)\n  u = f32[2,3] convert(l)\n  ROOT r = f32[2,3] add(f, u)\n",
       "  m = f32[] constant(1e12)\n  ms = f32[2,3] broadcast(m), dimensions={}\n"
       "  x = f32[2,3] multiply(b, ms)\n  i = s64[2,3] convert(x)\n  l = u32[2,3] convert(i)\n"
       "  f = f32[2,3] convert(i)\n  u = f32[2,3] convert(l)\n  ROOT r = f32[2,3] add(f, u)\n"}};
  expect_same_numbers(pairs, HSC_COUNT_OF(pairs), 1e-6);
}

// Operations whose operands and result differ in float type are computed in the widest one and
// rounded; what is valid as it is stays.
static void mixed_precision_is_said_in_full(void **state) {
  static const char *const pairs[][2] = {
      {"  h = bf16[2,3] multiply(b, b)\n  s = f32[2,3] add(h, b)\n  c1 = bf16[2,6] concatenate(h, "
       "s), dimensions={1}\n  z = bf16[] constant(0)\n"
       "  ROOT r = bf16[2] reduce(c1, z), dimensions={1}, to_apply=plus\n",
       "  m = f32[2,3] multiply(b, b)\n  h = bf16[2,3] convert(m)\n  g = f32[2,3] convert(h)\n  s "
       "= f32[2,3] add(g, b)\n  t = bf16[2,3] convert(s)\n"
       "  c1 = bf16[2,6] concatenate(h, t), dimensions={1}\n  w = f32[2,6] convert(c1)\n  z = "
       "f32[] constant(0)\n  q = f32[2] reduce(w, z), dimensions={1}, to_apply=plus\n"
       "  ROOT r = bf16[2] convert(q)\n"},
      // a reduce of several arrays, of which one is rounded
      {"  n = f32[] constant(-inf)\n  i = s32[2,3] iota(), iota_dimension=1\n  z = s32[] "
       "constant(0)\n  t = (bf16[2], s32[2]) reduce(b, i, n, z), dimensions={1}, to_apply=later\n"
       "  v = bf16[2] get-tuple-element(t), index=0\n  k = s32[2] get-tuple-element(t), index=1\n"
       "  g = bf16[2] convert(k)\n  ROOT r = bf16[2] add(v, g)\n",
       "  n = f32[] constant(-inf)\n  i = s32[2,3] iota(), iota_dimension=1\n  z = s32[] "
       "constant(0)\n  t = (f32[2], s32[2]) reduce(b, i, n, z), dimensions={1}, to_apply=later\n"
       "  w = f32[2] get-tuple-element(t), index=0\n  k = s32[2] get-tuple-element(t), index=1\n"
       "  v = bf16[2] convert(w)\n  g = bf16[2] convert(k)\n  ROOT r = bf16[2] add(v, g)\n"},
      {"  ac = bf16[2,2] convert(a)\n  bc = bf16[2,3] convert(b)\n  ROOT r = f32[2,3] dot(ac, bc), "
       "lhs_contracting_dims={1}, rhs_contracting_dims={0}\n",
       "  ac = bf16[2,2] convert(a)\n  bc = bf16[2,3] convert(b)\n  ROOT r = f32[2,3] dot(ac, bc), "
       "lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"}};
  expect_same_numbers(pairs, HSC_COUNT_OF(pairs), 0);
}

static void gradients_of_inputs_are_those_of_the_definition(void **state) {
  for (size_t i = 0; i < HSC_COUNT_OF(cases); i++)
    check_gradient(&cases[i], false);
}

static void gradients_of_filters_are_those_of_the_definition(void **state) {
  for (size_t i = 0; i < HSC_COUNT_OF(cases); i++)
    check_gradient(&cases[i], true);
}

// Text of one call -> how many were lowered; what stays is named.
static void what_has_no_known_meaning_is_named(void **state) {
  static const char *const calls[] = {
      "window={size=3x3}, dim_labels=b01f_01io->b01f, feature_group_count=2, "
      "custom_call_target=\"__cudnn$convBackwardInput\"",
      "window={size=3x3 lhs_dilate=2x2}, dim_labels=b01f_01io->b01f, "
      "custom_call_target=\"__cudnn$convBackwardFilter\"",
      "custom_call_target=\"__cudnn$convBackwardFilter\"",
      "window={size=3x3}, dim_labels=b01f_01io->b01f, "
      "custom_call_target=\"__cudnn$convForwardGraph\"",
  };
  for (size_t i = 0; i < HSC_COUNT_OF(calls); i++) {
    hsc_module *module = NULL;
    hsc_lowered_calls lowered = {0};
    char text[600];
    snprintf(text, sizeof text,
             "HloModule m\nENTRY main {\n  a = f32[1,4,4,2] parameter(0)\n  b = f32[3,3,2,2] "
             "parameter(1)\n  ROOT c = f32[1,4,4,2] custom-call(a, b), %s\n}\n",
             calls[i]);
    EXPECT_OK(hsc_hlo_text_parse(hsc_view_of(text), NULL, &module));
    EXPECT_OK(hsc_lower_custom_calls(module, &lowered));
    assert_int_equal(lowered.lowered, 0);
    assert_non_null(strstr(hsc_bytes_text(&lowered.unknown), "__cudnn$conv"));
    hsc_lowered_calls_deinit(&lowered);
    hsc_module_destroy(module);
  }
}

// What the evaluator computes has a meaning, though nothing is rewritten.
// An attribute that nobody here knows may change what an instruction computes: such a stage says
// nothing. One that is known to be without effect does not.
static void an_attribute_of_unknown_meaning_is_told(void **state) {
  static const char text[] =
      "HloModule m\nENTRY main {\n  a = f32[3] parameter(0)\n  ROOT b = f32[3] add(a, a), "
      "statistics={visualizing_index=1}, rounding_of_sums=up\n}\n";
  hsc_module *module = NULL;
  hsc_lowered_calls lowered = {0};
  EXPECT_OK(hsc_hlo_text_parse(hsc_view_of(text), NULL, &module));
  EXPECT_OK(hsc_lower_custom_calls(module, &lowered));
  assert_string_equal(hsc_bytes_text(&lowered.unknown), "attribute rounding_of_sums of add");
  hsc_lowered_calls_deinit(&lowered);
  hsc_module_destroy(module);
}

static void what_the_evaluator_knows_is_not_unknown(void **state) {
  static const char text[] =
      "HloModule m\nENTRY main {\n  a = f32[3,3] parameter(0)\n  b = (f32[3,3], s32[]) "
      "custom-call(a), custom_call_target=\"lapack_spotrf_ffi\"\n  c = f32[3,3] "
      "get-tuple-element(b), index=0\n  d = (f32[3,2], s32[3,2]) custom-call(c), "
      "custom_call_target=\"TopK\"\n  ROOT e = f32[3,2] get-tuple-element(d), index=0\n}\n";
  hsc_module *module = NULL;
  hsc_lowered_calls lowered = {0};
  EXPECT_OK(hsc_hlo_text_parse(hsc_view_of(text), NULL, &module));
  EXPECT_OK(hsc_lower_custom_calls(module, &lowered));
  assert_int_equal(lowered.lowered, 0);
  assert_int_equal(lowered.unknown.size, 0);
  hsc_lowered_calls_deinit(&lowered);
  hsc_module_destroy(module);
}

// relu6(conv(a, k) + 0.5 side + bias) and gelu(dot) against the plain ops' numbers by the C
// library.
static void epilogues_have_their_numbers(void **state) {
  static const char *const texts[] = {
      "HloModule m\nENTRY main {\n  a = f32[1,2,2,1] parameter(0)\n  s = f32[1,2,2,1] "
      "parameter(1)\n  k = f32[1,1,1,1] constant({{{{-100}}}})\n  b = f32[1] constant({3})\n"
      "  c = (f32[1,2,2,1], u8[4]) custom-call(a, k, b, s), "
      "custom_call_target=\"__cudnn$convBiasActivationForward\", window={size=1x1}, "
      "dim_labels=b01f_01io->b01f, "
      "backend_config={\"cudnn_conv_backend_config\":{\"activation_mode\":\"kRelu6\",\"conv_result_"
      "scale\":1,\"side_input_scale\":0.5}}\n"
      "  ROOT r = f32[1,2,2,1] get-tuple-element(c), index=0\n}\n",
      "HloModule m\nENTRY main {\n  a = f32[2,3] parameter(0)\n  b = f32[3,2] parameter(1)\n  c = "
      "(f32[2,2], s8[4]) custom-call(a, b), custom_call_target=\"__cublas$lt$matmul\", "
      "backend_config={\"gemm_backend_config\":{\"alpha_real\":100,\"beta\":0,\"dot_dimension_"
      "numbers\":{\"lhs_contracting_dimensions\":[\"1\"],\"rhs_contracting_dimensions\":[\"0\"]},"
      "\"epilogue\":\"GELU\"}}\n  ROOT r = f32[2,2] get-tuple-element(c), index=0\n}\n"};
  for (int t = 0; t < 2; t++) {
    hsc_arena *arena = NULL;
    hsc_literal *inputs[2];
    EXPECT_OK(hsc_arena_create(&arena));
    hsc_literal *result = evaluate_lowered(arena, texts[t], inputs, 2, 1);
    for (int k = 0; k < 4; k++) {
      double expected = 0;
      if (t == 0) {
        expected = fmin(6, fmax(0, -100 * hsc_literal_get_double(inputs[0], k) +
                                       0.5 * hsc_literal_get_double(inputs[1], k) + 3));
      } else {
        for (int i = 0; i < 3; i++)
          expected += 100 * hsc_literal_get_double(inputs[0], k / 2 * 3 + i) *
                      hsc_literal_get_double(inputs[1], i * 2 + k % 2);
        expected =
            0.5 * expected * (1 + tanh(sqrt(2 / M_PI) * (expected + 0.044715 * pow(expected, 3))));
      }
      if (fabs(hsc_literal_get_double(result, k) - expected) > 1e-5)
        fail_msg("text %d, element %d: %g, not %g", t, k, hsc_literal_get_double(result, k),
                 expected);
    }
    hsc_arena_destroy(arena);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(calls_have_the_numbers_of_plain_ops),
      cmocka_unit_test(mixed_precision_is_said_in_full),
      cmocka_unit_test(gradients_of_inputs_are_those_of_the_definition),
      cmocka_unit_test(gradients_of_filters_are_those_of_the_definition),
      cmocka_unit_test(what_has_no_known_meaning_is_named),
      cmocka_unit_test(what_the_evaluator_knows_is_not_unknown),
      cmocka_unit_test(an_attribute_of_unknown_meaning_is_told),
      cmocka_unit_test(epilogues_have_their_numbers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
