// test_convolution.c - convolutions on the built-in device against the reference evaluator: random
// dimension orders, windows, groups, types.
#include "cpu/kernels/conv/convolution.h"
#include "formats/common/formats.h"
#include "kernel_case.h"

#include <math.h>

static int64_t between(kernel_case *c, int64_t low, int64_t high) {
  return low + kernel_case_below(c, high - low + 1);
}

static void shuffle(kernel_case *c, int64_t *v, int count) {
  for (int i = count - 1; i > 0; i--) {
    int64_t j = kernel_case_below(c, i + 1);
    int64_t keep = v[i];
    v[i] = v[j];
    v[j] = keep;
  }
}

typedef struct form {
  int spatial_least, spatial_most;
  int64_t batch, features, columns, position, window;  // largest
  bool grouped, depthwise, dense_last, epilogue, narrow, not_finite, whole;
} form;

static void check_convolution(uint64_t seed, const form *f) {
  kernel_case c;
  kernel_case_begin(&c, seed);
  hsc_arena *arena = c.module->arena;
  int spatial = (int)between(&c, f->spatial_least, f->spatial_most);
  int rank = spatial + 2;
  // batch, feature, spatial...: their dimension numbers
  int64_t in_at[HSC_MAX_RANK], kernel_at[HSC_MAX_RANK], out_at[HSC_MAX_RANK];
  for (int i = 0; i < rank; i++)
    in_at[i] = kernel_at[i] = out_at[i] = i;
  shuffle(&c, in_at, rank);
  shuffle(&c, kernel_at, rank);
  shuffle(&c, out_at, rank);
  if (f->dense_last || kernel_case_below(&c, 2)) {
    // [batch, spatial..., feature], [spatial..., input, output]
    for (int i = 0; i < spatial; i++) {
      in_at[2 + i] = out_at[2 + i] = 1 + i;
      kernel_at[2 + i] = i;
    }
    in_at[0] = out_at[0] = 0;
    in_at[1] = out_at[1] = rank - 1;
    kernel_at[0] = rank - 2;
    kernel_at[1] = rank - 1;
  }
  int64_t groups;
  if (f->depthwise)
    groups = between(&c, 4, 70);
  else if (f->grouped)
    groups = between(&c, 2, 4);
  else
    groups = 1;
  bool batch_groups = f->grouped && kernel_case_below(&c, 2);
  int64_t features = f->depthwise ? 1 : between(&c, kernel_case_below(&c, 12) ? 1 : 0, f->features);
  int64_t columns = f->depthwise ? 1 : between(&c, 1, f->columns);
  int64_t batch = between(&c, kernel_case_below(&c, 12) ? 1 : 0, f->batch);
  int64_t in_dims[HSC_MAX_RANK], kernel_dims[HSC_MAX_RANK];
  in_dims[in_at[0]] = batch * (batch_groups ? groups : 1);
  in_dims[in_at[1]] = features * (batch_groups ? 1 : groups);
  kernel_dims[kernel_at[0]] = features;
  kernel_dims[kernel_at[1]] = columns * groups;
  hsc_window_dim window[HSC_MAX_RANK];
  int64_t in_spatial[HSC_MAX_RANK], kernel_spatial[HSC_MAX_RANK], out_spatial[HSC_MAX_RANK];
  for (int i = 0; i < spatial; i++) {
    in_spatial[i] = in_at[2 + i];
    kernel_spatial[i] = kernel_at[2 + i];
    out_spatial[i] = out_at[2 + i];
    in_dims[in_at[2 + i]] = between(&c, 1, f->position);
    int64_t size = kernel_dims[kernel_at[2 + i]] = between(&c, 1, f->window);
    bool plain = kernel_case_below(&c, 2);
    window[i] = (hsc_window_dim){.size = size,
                                 .stride = plain ? 1 : between(&c, 1, 3),
                                 .window_dilation = plain ? 1 : between(&c, 1, 3),
                                 .base_dilation = plain ? 1 : between(&c, 1, 3),
                                 .reversal = kernel_case_below(&c, 4) == 0};
    window[i].pad_low = plain ? size / 2 : between(&c, -2, 4);
    window[i].pad_high = plain ? size / 2 : between(&c, -2, 4);
    int64_t base = (in_dims[in_at[2 + i]] - 1) * window[i].base_dilation + 1;
    if (base + window[i].pad_low + window[i].pad_high < 0)
      window[i].pad_low = window[i].pad_high = 0;
  }
  static const hsc_type types[] = {HSC_TYPE_F32, HSC_TYPE_F64, HSC_TYPE_BF16, HSC_TYPE_F16};
  hsc_type type = types[f->narrow ? 2 + kernel_case_below(&c, 2) : kernel_case_below(&c, 5) == 0];
  static const hsc_type whole[] = {HSC_TYPE_S8, HSC_TYPE_U8, HSC_TYPE_S16, HSC_TYPE_U16};
  hsc_type x_type = f->whole ? whole[kernel_case_below(&c, 4)] : type;
  hsc_type k_type = f->whole ? whole[kernel_case_below(&c, 2)] : type;
  hsc_instr *x = kernel_case_input(&c, x_type, rank, in_dims, f->whole ? 127 : 3);
  hsc_instr *k = kernel_case_input(&c, k_type, rank, kernel_dims, f->whole ? 127 : 2);
  int64_t kernel_count = hsc_shape_elements(&k->shape);
  for (int i = 0; f->not_finite && i < 2 && kernel_count > 0; i++)
    hsc_literal_set_double(c.inputs[1], kernel_case_below(&c, kernel_count),
                           kernel_case_below(&c, 2) ? NAN : INFINITY);
  hsc_window_dim *window_copy =
      hsc_arena_copy(arena, window, sizeof window[0] * (size_t)(spatial + 1));
  hsc_attr attr = {
      .conv = {.window = {spatial, window_copy},
               .dims = {.spatial_rank = spatial,
                        .input_batch = in_at[0],
                        .input_feature = in_at[1],
                        .kernel_input = kernel_at[0],
                        .kernel_output = kernel_at[1],
                        .output_batch = out_at[0],
                        .output_feature = out_at[1],
                        .input_spatial = hsc_dims_copy(arena, spatial, in_spatial).v,
                        .kernel_spatial = hsc_dims_copy(arena, spatial, kernel_spatial).v,
                        .output_spatial = hsc_dims_copy(arena, spatial, out_spatial).v},
               .feature_groups = batch_groups ? 1 : groups,
               .batch_groups = batch_groups ? groups : 1}};
  hsc_shape result = {0};
  if (f->whole)
    result = hsc_shape_with_type(result, HSC_TYPE_S32);
  hsc_instr *root =
      hsc_build_op(&c.b, HSC_OP_CONVOLUTION, result, &attr, 2, (hsc_instr *[]){x, k}, 0, NULL);
  if (f->whole && !c.b.status && kernel_case_below(&c, 2))
    root = hsc_build_convert(&c.b, HSC_TYPE_F32, root);
  if (f->epilogue && !c.b.status) {
    int64_t all = columns * groups;
    int64_t what = kernel_case_below(&c, 4);
    hsc_instr *bias = kernel_case_input(&c, type, 1, &all, 3);
    hsc_dims at = HSC_DIMS(arena, attr.conv.dims.output_feature);
    hsc_instr *spread = hsc_build_broadcast(&c.b, bias, root->shape, at);
    if (what != 1)
      root = hsc_build_binary(&c.b, HSC_OP_ADD, root, spread);
    if (what == 2)
      root = hsc_build_binary(
          &c.b, HSC_OP_MULTIPLY, root,
          hsc_build_broadcast(&c.b, hsc_build_scalar(&c.b, type, 2), root->shape, (hsc_dims){0}));
    if (what == 3)
      root = hsc_build_binary(&c.b, HSC_OP_SUBTRACT, root,
                              kernel_case_input(&c, type, root->shape.rank, root->shape.dims, 3));
    if (what != 0)
      root = hsc_build_binary(
          &c.b, HSC_OP_MAXIMUM, root,
          hsc_build_broadcast(&c.b, hsc_build_scalar(&c.b, type, 0), root->shape, (hsc_dims){0}));
  }
  // Whole numbers come out whole but for winograd-4x4, which the larger ones may be done by.
  c.max_abs = f->batch > 3 ? 0.01 : 0;
  kernel_case_check(&c, root, f->narrow ? 1 : 0);
}

static void run_form(uint64_t first, int count, const form *f) {
  for (int i = 0; i < count; i++)
    check_convolution(first + (uint64_t)i, f);
}

static void any_order_and_window(void **state) {
  run_form(1, 250,
           &(form){.spatial_least = 0,
                   .spatial_most = 3,
                   .batch = 3,
                   .features = 5,
                   .columns = 20,
                   .position = 6,
                   .window = 4});
}
static void groups(void **state) {
  run_form(1000, 150,
           &(form){.spatial_least = 1,
                   .spatial_most = 2,
                   .batch = 3,
                   .features = 5,
                   .columns = 5,
                   .position = 6,
                   .window = 3,
                   .grouped = true});
}
static void one_feature_per_group(void **state) {
  run_form(2000, 60,
           &(form){.spatial_least = 1,
                   .spatial_most = 2,
                   .batch = 3,
                   .features = 1,
                   .columns = 1,
                   .position = 9,
                   .window = 4,
                   .depthwise = true,
                   .dense_last = true});
}
static void followed_by_bias_and_more(void **state) {
  run_form(3000, 80,
           &(form){.spatial_least = 1,
                   .spatial_most = 2,
                   .batch = 3,
                   .features = 6,
                   .columns = 20,
                   .position = 6,
                   .window = 3,
                   .epilogue = true});
}
static void narrow_floats(void **state) {
  run_form(4000, 40,
           &(form){.spatial_least = 1,
                   .spatial_most = 2,
                   .batch = 2,
                   .features = 5,
                   .columns = 20,
                   .position = 5,
                   .window = 3,
                   .narrow = true,
                   .epilogue = true});
}
// What meets padding or a hole between dilated elements is multiplied by zero, which is seen where
// the kernel's element is infinite or NaN.
static void taps_that_are_not_finite(void **state) {
  form f = {.spatial_least = 1,
            .spatial_most = 2,
            .batch = 3,
            .features = 4,
            .columns = 9,
            .position = 6,
            .window = 4,
            .not_finite = true};
  run_form(9000, 120, &f);
  f.epilogue = true;
  run_form(9200, 60, &f);
  f.epilogue = false;
  f.grouped = true;
  run_form(9300, 60, &f);
  f.grouped = false;
  f.narrow = true;
  run_form(9400, 40, &f);
  f.narrow = false;
  f.depthwise = f.dense_last = true;
  run_form(9500, 60, &f);
}
// By the definition: every output sees every tap, as 1 times it or as 0 times it.
static void a_tap_of_nan_is_in_every_sum(void **state) {
  static const char text[] =
      "HloModule m\nENTRY e {\n  x = f32[1,4,1]{2,1,0} parameter(0)\n  k = f32[3,1,1]{2,1,0} "
      "parameter(1)\n  ROOT r = f32[1,9,1]{2,1,0} convolution(x, k), window={size=3 pad=2_2 "
      "lhs_dilate=2}, dim_labels=b0f_0io->b0f\n}\n";
  hsc_module *module;
  hsc_arena *arena;
  hsc_literal *arguments[2], *result;
  EXPECT_OK(hsc_arena_create(&arena));
  EXPECT_OK(hsc_program_read((hsc_view){text, sizeof text - 1}, "m.hlo", &module));
  for (int tap = 0; tap < 3; tap++) {
    for (int i = 0; i < 2; i++) {
      hsc_shape shape = module->entry->parameters[i]->shape;
      EXPECT_OK(hsc_literal_create(arena, &shape, &arguments[i]));
      for (int64_t at = 0; at < hsc_shape_elements(&shape); at++)
        hsc_literal_set_double(arguments[i], at, i == 1 && at == tap ? NAN : 1);
    }
    EXPECT_OK(hsc_evaluate(module, 2, arguments, arena, &result));
    for (int64_t at = 0; at < 9; at++)
      assert_true(isnan(hsc_literal_get_double(result, at)));
  }
  hsc_module_destroy(module);
  hsc_arena_destroy(arena);
}
// Long enough for several blocks of the sum, tasks for several threads, parts of the sum.
static void larger_ones(void **state) {
  run_form(5000, 25,
           &(form){.spatial_least = 2,
                   .spatial_most = 2,
                   .batch = 20,
                   .features = 150,
                   .columns = 40,
                   .position = 12,
                   .window = 3});
  run_form(5100, 15,
           &(form){.spatial_least = 2,
                   .spatial_most = 2,
                   .batch = 40,
                   .features = 9,
                   .columns = 40,
                   .position = 30,
                   .window = 25});
  run_form(5200, 15,
           &(form){.spatial_least = 1,
                   .spatial_most = 1,
                   .batch = 2,
                   .features = 3,
                   .columns = 40,
                   .position = 90,
                   .window = 60,
                   .dense_last = true});
}

// The three forms that a layer and its gradients have, as JAX writes them, one step each of
// ResNet's kinds.
static void check_layer(
    uint64_t seed, int64_t size, int64_t from, int64_t to, int64_t window, int64_t stride) {
  int64_t batch = 3;
  int64_t out = (size + stride - 1) / stride;
  int64_t total = (out - 1) * stride + window - size;
  int64_t low = (total > 0 ? total : 0) / 2;
  int64_t high = (total > 0 ? total : 0) - low;
  for (int which = 0; which < 3; which++) {
    kernel_case c;
    kernel_case_begin(&c, seed + (uint64_t)which);
    hsc_arena *arena = c.module->arena;
    hsc_window_dim w = {.size = window,
                        .stride = stride,
                        .pad_low = low,
                        .pad_high = high,
                        .window_dilation = 1,
                        .base_dilation = 1};
    hsc_conv_dims dims = {.spatial_rank = 2,
                          .input_batch = 0,
                          .input_feature = 3,
                          .kernel_input = 2,
                          .kernel_output = 3,
                          .output_batch = 0,
                          .output_feature = 3,
                          .input_spatial = HSC_DIMS(arena, 1, 2).v,
                          .kernel_spatial = HSC_DIMS(arena, 0, 1).v,
                          .output_spatial = HSC_DIMS(arena, 1, 2).v};
    hsc_instr *x, *k;
    if (which == 0) {  // forward
      x = kernel_case_input(&c, HSC_TYPE_F32, 4, (int64_t[]){batch, size, size, from}, 2);
      k = kernel_case_input(&c, HSC_TYPE_F32, 4, (int64_t[]){window, window, from, to}, 2);
    } else if (which == 1) {  // backward data: b01f_01oi->b01f
      x = kernel_case_input(&c, HSC_TYPE_F32, 4, (int64_t[]){batch, out, out, to}, 2);
      k = kernel_case_input(&c, HSC_TYPE_F32, 4, (int64_t[]){window, window, from, to}, 2);
      dims.kernel_input = 3;
      dims.kernel_output = 2;
      w = (hsc_window_dim){.size = window,
                           .stride = 1,
                           .pad_low = window - 1 - low,
                           .window_dilation = 1,
                           .base_dilation = stride,
                           .reversal = true};
      w.pad_high = size + window - 1 - ((out - 1) * stride + 1) - w.pad_low;
    } else {  // backward filter: f01b_i01o->01bf
      x = kernel_case_input(&c, HSC_TYPE_F32, 4, (int64_t[]){batch, size, size, from}, 2);
      k = kernel_case_input(&c, HSC_TYPE_F32, 4, (int64_t[]){batch, out, out, to}, 2);
      dims = (hsc_conv_dims){.spatial_rank = 2,
                             .input_batch = 3,
                             .input_feature = 0,
                             .kernel_input = 0,
                             .kernel_output = 3,
                             .output_batch = 2,
                             .output_feature = 3,
                             .input_spatial = HSC_DIMS(arena, 1, 2).v,
                             .kernel_spatial = HSC_DIMS(arena, 1, 2).v,
                             .output_spatial = HSC_DIMS(arena, 0, 1).v};
      w = (hsc_window_dim){
          .size = out, .stride = 1, .pad_low = low, .window_dilation = stride, .base_dilation = 1};
      w.pad_high = window - 1 + (out - 1) * stride + 1 - size - low;
    }
    hsc_window_dim both[2] = {w, w};
    hsc_attr attr = {.conv = {.window = {2, hsc_arena_copy(arena, both, sizeof both)},
                              .dims = dims,
                              .feature_groups = 1,
                              .batch_groups = 1}};
    c.max_abs = window == 3 && stride == 1 ? 1e-3 : 0;  // winograd-4x4 by rule
    kernel_case_check(&c,
                      hsc_build_op(&c.b, HSC_OP_CONVOLUTION, (hsc_shape){0}, &attr, 2,
                                   (hsc_instr *[]){x, k}, 0, NULL),
                      0);
  }
}

static void layers_and_their_gradients(void **state) {
  check_layer(6000, 23, 3, 20, 7, 2);
  check_layer(6010, 14, 17, 40, 3, 1);
  check_layer(6020, 14, 32, 33, 3, 2);
  check_layer(6030, 14, 70, 16, 1, 1);
  check_layer(6040, 15, 30, 70, 1, 2);
  check_layer(6050, 40, 64, 64, 1, 1);
}

// ---- Winograd -----------------------------------------------------------------------------------

typedef struct layer {
  int64_t batch, height, width, features, columns, pad[4];  // top, bottom, left, right
  bool gradient, epilogue;
  int order;  // 0: NHWC; 1: NWHC; 2: NCHW; 3: HWNC
} layer;

static hsc_instr *build_layer(kernel_case *c, const layer *l, int algorithm, bool high) {
  // of batch, y, x, feature
  static const int64_t orders[4][4] = {{0, 1, 2, 3}, {0, 2, 1, 3}, {0, 2, 3, 1}, {2, 0, 1, 3}};
  const int64_t *at = orders[l->order];
  int64_t x_dims[4];
  int64_t all = l->columns;
  int64_t k_dims[] = {3, 3, l->gradient ? l->columns : l->features,
                      l->gradient ? l->features : l->columns};
  x_dims[at[0]] = l->batch;
  x_dims[at[1]] = l->height;
  x_dims[at[2]] = l->width;
  x_dims[at[3]] = l->features;
  hsc_arena *arena = c->module->arena;
  hsc_instr *x = kernel_case_input(c, HSC_TYPE_F32, 4, x_dims, 3);
  hsc_instr *k = kernel_case_input(c, HSC_TYPE_F32, 4, k_dims, 2);
  hsc_window_dim window[2];
  for (int i = 0; i < 2; i++)
    window[i] = (hsc_window_dim){.size = 3,
                                 .stride = 1,
                                 .pad_low = l->pad[2 * i],
                                 .pad_high = l->pad[2 * i + 1],
                                 .window_dilation = 1,
                                 .base_dilation = 1,
                                 .reversal = l->gradient};
  hsc_conv_dims dims = {.spatial_rank = 2,
                        .input_batch = at[0],
                        .input_feature = at[3],
                        .kernel_input = l->gradient ? 3 : 2,
                        .kernel_output = l->gradient ? 2 : 3,
                        .output_batch = at[0],
                        .output_feature = at[3],
                        .input_spatial = HSC_DIMS(arena, at[1], at[2]).v,
                        .kernel_spatial = HSC_DIMS(arena, 0, 1).v,
                        .output_spatial = HSC_DIMS(arena, at[1], at[2]).v};
  hsc_attr attr = {.conv = {.window = {2, hsc_arena_copy(arena, window, sizeof window)},
                            .dims = dims,
                            .feature_groups = 1,
                            .batch_groups = 1}};
  if (high)
    attr.conv.precision = HSC_DIMS(arena, 2, 2);
  hsc_instr *conv = hsc_build_op(&c->b, HSC_OP_CONVOLUTION, (hsc_shape){0}, &attr, 2,
                                 (hsc_instr *[]){x, k}, 0, NULL);
  hsc_instr *root = conv;
  if (c->b.status)
    return conv;
  if (algorithm >= 0)
    conv->backend_config =
        hsc_arena_printf(arena, "{\"algorithm\":{\"algo_id\":\"%d\"}}", algorithm);
  if (!l->epilogue)
    return root;
  int64_t what = kernel_case_below(c, 3);
  root = hsc_build_binary(&c->b, HSC_OP_ADD, root,
                          hsc_build_broadcast(&c->b, kernel_case_input(c, HSC_TYPE_F32, 1, &all, 3),
                                              root->shape, HSC_DIMS(arena, at[3])));
  if (what == 1)
    root = hsc_build_binary(&c->b, HSC_OP_SUBTRACT, root,
                            kernel_case_input(c, HSC_TYPE_F32, 4, root->shape.dims, 3));
  if (what > 0)
    root = hsc_build_binary(&c->b, HSC_OP_MAXIMUM, root,
                            hsc_build_broadcast(&c->b, hsc_build_scalar(&c->b, HSC_TYPE_F32, 0),
                                                root->shape, (hsc_dims){0}));
  return root;
}

// Tiles of 2x2 compute with halves and quarters: whole numbers come out exactly.
static void check_winograd(uint64_t seed, const layer *l) {
  for (int algorithm = HSC_CONV_WINOGRAD_2; algorithm <= HSC_CONV_WINOGRAD_4; algorithm++) {
    kernel_case c;
    kernel_case_begin(&c, seed);
    hsc_instr *root = build_layer(&c, l, algorithm, false);
    c.max_abs = algorithm == HSC_CONV_WINOGRAD_4 ? 2e-3 : 0;
    if (!l->epilogue && !c.b.status) {
      hsc_convolution plan;
      EXPECT_OK(hsc_convolution_plan(root, &kernel_case_device()->isa, 3, false, &plan));
      assert_int_equal(plan.candidate, algorithm);
    }
    kernel_case_check(&c, root, 0);
  }
}

static void winograd_of_any_size(void **state) {
  for (uint64_t seed = 7000; seed < 7120; seed++) {
    hsc_random r;
    hsc_random_init(&r, seed);
    layer l = {.batch = 1 + (int64_t)hsc_random_below(&r, 9),
               .height = 1 + (int64_t)hsc_random_below(&r, 12),
               .width = 1 + (int64_t)hsc_random_below(&r, 12),
               .features = 8 + (int64_t)hsc_random_below(&r, 30),
               .columns = 8 + (int64_t)hsc_random_below(&r, 30),
               .gradient = hsc_random_below(&r, 2) == 0,
               .epilogue = hsc_random_below(&r, 3) == 0,
               .order = hsc_random_below(&r, 3) ? 0 : (int)hsc_random_below(&r, 4)};
    for (int i = 0; i < 4; i++)
      l.pad[i] = hsc_random_below(&r, 2) ? 1 : (int64_t)hsc_random_below(&r, 5) - 1;
    if (l.height + l.pad[0] + l.pad[1] < 3)
      l.pad[0] = l.pad[1] = 1;
    if (l.width + l.pad[2] + l.pad[3] < 3)
      l.pad[2] = l.pad[3] = 1;
    check_winograd(seed, &l);
  }
}

// Several blocks of tiles, tasks for three threads, blocks of the sum; images and blocks that do
// not end together.
static void winograd_in_many_tasks(void **state) {
  check_winograd(7200, &(layer){.batch = 5,
                                .height = 37,
                                .width = 41,
                                .features = 65,
                                .columns = 50,
                                .pad = {1, 1, 1, 1}});
  check_winograd(7201, &(layer){.batch = 2,
                                .height = 13,
                                .width = 130,
                                .features = 33,
                                .columns = 70,
                                .pad = {1, 1, 1, 1},
                                .epilogue = true});
  check_winograd(7202, &(layer){.batch = 9,
                                .height = 14,
                                .width = 14,
                                .features = 300,
                                .columns = 40,
                                .pad = {1, 1, 1, 1}});
  check_winograd(7203, &(layer){.batch = 3,
                                .height = 7,
                                .width = 7,
                                .features = 150,
                                .columns = 130,
                                .pad = {1, 1, 1, 1},
                                .gradient = true,
                                .epilogue = true});
  check_winograd(7204, &(layer){.batch = 4,
                                .height = 30,
                                .width = 20,
                                .features = 40,
                                .columns = 33,
                                .pad = {0, 0, 2, 2},
                                .order = 1});
  check_winograd(7205, &(layer){.batch = 20,
                                .height = 20,
                                .width = 20,
                                .features = 24,
                                .columns = 24,
                                .pad = {1, 1, 1, 1},
                                .order = 3,
                                .epilogue = true});
}

// The gradient of a kernel: 3x3 results of a window as large as the image.
static void check_filter_gradient(uint64_t seed,
                                  int64_t batch,
                                  int64_t height,
                                  int64_t width,
                                  int64_t features,
                                  int64_t columns,
                                  const int64_t *pad,
                                  bool reversal) {
  for (int algorithm = HSC_CONV_WINOGRAD_2; algorithm <= HSC_CONV_WINOGRAD_4; algorithm++) {
    kernel_case c;
    kernel_case_begin(&c, seed);
    hsc_arena *arena = c.module->arena;
    hsc_instr *x = kernel_case_input(
        &c, HSC_TYPE_F32, 4,
        (int64_t[]){batch, height + 2 - pad[0] - pad[1], width + 2 - pad[2] - pad[3], features}, 3);
    hsc_instr *k =
        kernel_case_input(&c, HSC_TYPE_F32, 4, (int64_t[]){batch, height, width, columns}, 2);
    hsc_window_dim window[2] = {{.size = height,
                                 .stride = 1,
                                 .pad_low = pad[0],
                                 .pad_high = pad[1],
                                 .window_dilation = 1,
                                 .base_dilation = 1,
                                 .reversal = reversal},
                                {.size = width,
                                 .stride = 1,
                                 .pad_low = pad[2],
                                 .pad_high = pad[3],
                                 .window_dilation = 1,
                                 .base_dilation = 1,
                                 .reversal = reversal}};
    hsc_conv_dims dims = {.spatial_rank = 2,
                          .input_batch = 3,
                          .input_feature = 0,
                          .kernel_input = 0,
                          .kernel_output = 3,
                          .output_batch = 2,
                          .output_feature = 3,
                          .input_spatial = HSC_DIMS(arena, 1, 2).v,
                          .kernel_spatial = HSC_DIMS(arena, 1, 2).v,
                          .output_spatial = HSC_DIMS(arena, 0, 1).v};
    hsc_attr attr = {.conv = {.window = {2, hsc_arena_copy(arena, window, sizeof window)},
                              .dims = dims,
                              .feature_groups = 1,
                              .batch_groups = 1}};
    hsc_instr *conv = hsc_build_op(&c.b, HSC_OP_CONVOLUTION, (hsc_shape){0}, &attr, 2,
                                   (hsc_instr *[]){x, k}, 0, NULL);
    hsc_instr *root = conv;
    if (!c.b.status) {
      hsc_convolution plan;
      conv->backend_config =
          hsc_arena_printf(arena, "{\"algorithm\":{\"algo_id\":\"%d\"}}", algorithm);
      EXPECT_OK(hsc_convolution_plan(conv, &kernel_case_device()->isa, 3, false, &plan));
      assert_int_equal(plan.candidate, algorithm);
      // a step of an optimiser
      if (seed % 3 == 0)
        root = hsc_build_binary(&c.b, HSC_OP_SUBTRACT,
                                kernel_case_input(&c, HSC_TYPE_F32, 4, conv->shape.dims, 3), conv);
      if (seed % 3 == 1) {
        hsc_instr *spread =
            hsc_build_broadcast(&c.b, kernel_case_input(&c, HSC_TYPE_F32, 1, &columns, 3),
                                conv->shape, HSC_DIMS(arena, 3));
        root =
            hsc_build_binary(&c.b, HSC_OP_MAXIMUM, hsc_build_binary(&c.b, HSC_OP_ADD, conv, spread),
                             hsc_build_broadcast(&c.b, hsc_build_scalar(&c.b, HSC_TYPE_F32, 0),
                                                 conv->shape, (hsc_dims){0}));
      }
    }
    c.max_abs =
        algorithm == HSC_CONV_WINOGRAD_4 ? 1e-5 * (double)(batch * height * width + 100) : 0;
    kernel_case_check(&c, root, 0);
  }
}

static void winograd_of_gradients_of_kernels(void **state) {
  for (uint64_t seed = 7400; seed < 7460; seed++) {
    hsc_random r;
    hsc_random_init(&r, seed);
    int64_t pad[4];
    for (int i = 0; i < 4; i++)
      pad[i] = (int64_t)hsc_random_below(&r, 2);
    check_filter_gradient(
        seed, 1 + (int64_t)hsc_random_below(&r, 9), 1 + (int64_t)hsc_random_below(&r, 12),
        1 + (int64_t)hsc_random_below(&r, 12), 8 + (int64_t)hsc_random_below(&r, 40),
        8 + (int64_t)hsc_random_below(&r, 40), pad, hsc_random_below(&r, 4) == 0);
  }
  static const int64_t one[] = {1, 1, 1, 1};
  check_filter_gradient(7500, 9, 33, 29, 70, 50, one, false);  // several groups of tiles
  check_filter_gradient(7501, 3, 17, 120, 33, 64, one, false);
  check_filter_gradient(7502, 2, 7, 7, 260, 140, one, false);  // many tasks
}

// What forbids it, and what the rule takes.
static void winograd_where_it_is_wanted(void **state) {
  const layer large = {
      .batch = 2, .height = 28, .width = 28, .features = 32, .columns = 32, .pad = {1, 1, 1, 1}};
  const hsc_cpu_isa *isa = &kernel_case_device()->isa;
  for (int which = 0; which < 4; which++) {
    kernel_case c;
    kernel_case_begin(&c, 7300);
    hsc_instr *root = build_layer(&c, &large, which == 3 ? HSC_CONV_WINOGRAD_2 : -1, which == 2);
    hsc_convolution plan;
    EXPECT_OK(hsc_convolution_plan(root, isa, 2, which == 1 || which == 3, &plan));
    assert_int_equal(plan.candidate, which == 0 ? HSC_CONV_WINOGRAD_4 : HSC_CONV_ROWS);
    hsc_status *status =
        hsc_convolution_plan_as(root, isa, 2, which == 1, HSC_CONV_WINOGRAD_2, &plan);
    assert_int_equal(hsc_status_code(status),
                     which == 1 || which == 2 ? HSC_FAILED_PRECONDITION : HSC_OK);
    if (which == 1)
      assert_non_null(strstr(hsc_status_message(status), "xla_cpu_strict_dot_conv_math"));
    if (which == 2)
      assert_non_null(strstr(hsc_status_message(status), "operand_precision"));
    hsc_status_free(status);
    EXPECT_OK(hsc_builder_finish(&c.b, root, &c.module->entry));
    hsc_module_destroy(c.module);
  }
}

// Sums of whole numbers in floats, exact: none is left to the evaluator.
static void whole_numbers(void **state) {
  const form small = {.spatial_most = 2,
                      .batch = 3,
                      .features = 6,
                      .columns = 20,
                      .position = 9,
                      .window = 3,
                      .whole = true};
  const form by_groups = {.spatial_least = 1,
                          .spatial_most = 2,
                          .batch = 3,
                          .features = 4,
                          .columns = 3,
                          .position = 9,
                          .window = 3,
                          .grouped = true,
                          .whole = true};
  const form by_channels = {.spatial_least = 1,
                            .spatial_most = 2,
                            .batch = 3,
                            .position = 9,
                            .window = 3,
                            .depthwise = true,
                            .dense_last = true,
                            .whole = true};
  run_form(7000, (int)cases_of(40, 120), &small);
  run_form(7200, (int)cases_of(20, 60), &by_groups);
  run_form(7400, (int)cases_of(10, 40), &by_channels);
}

// Such as every form of the rule would take winograd for.
static void whole_numbers_of_a_layer(void **state) {
  const form of_layer = {.spatial_least = 2,
                         .spatial_most = 2,
                         .batch = 2,
                         .features = 40,
                         .columns = 40,
                         .position = 30,
                         .window = 3,
                         .dense_last = true,
                         .whole = true};
  run_form(7600, (int)cases_of(4, 12), &of_layer);
}

static int end_all(void **state) {
  kernel_case_end_all();
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(any_order_and_window),
      cmocka_unit_test(groups),
      cmocka_unit_test(one_feature_per_group),
      cmocka_unit_test(followed_by_bias_and_more),
      cmocka_unit_test(narrow_floats),
      cmocka_unit_test(taps_that_are_not_finite),
      cmocka_unit_test(a_tap_of_nan_is_in_every_sum),
      cmocka_unit_test(larger_ones),
      cmocka_unit_test(layers_and_their_gradients),
      cmocka_unit_test(winograd_of_any_size),
      cmocka_unit_test(winograd_in_many_tasks),
      cmocka_unit_test(winograd_of_gradients_of_kernels),
      cmocka_unit_test(winograd_where_it_is_wanted),
      cmocka_unit_test(whole_numbers),
      cmocka_unit_test(whole_numbers_of_a_layer),
  };
  return cmocka_run_group_tests(tests, NULL, end_all);
}
