// winograd.c - plans and runs Winograd's convolutions, whose products are fewer (see winograd.h).
//
// How to read: hsc_winograd_plan takes one of three plans: wide, deep, or that of a filter's
// gradient. A task of each transforms tiles of the input, multiplies, and transforms the products
// back; the prelude transforms what all tasks read. hsc_winograd_pays weighs the cost against a
// direct convolution's.
#include "base/core/ints.h"
#include "cpu/kernels/conv/winograd.h"

#include "cpu/kernels/conv/convolution.h"
#include "cpu/kernels/move/copy_rows.h"
#include "cpu/kernels/gemm/gemm.h"

extern const hsc_winograd_kernels hsc_winograd_kernels_baseline;
#if defined(__x86_64__)
extern const hsc_winograd_kernels hsc_winograd_kernels_avx2, hsc_winograd_kernels_avx512;
#endif

static const hsc_winograd_kernels *kernels_for(hsc_cpu_isa_level level) {
#if defined(__x86_64__)
  if (level == HSC_CPU_ISA_AVX512)
    return &hsc_winograd_kernels_avx512;
  if (level == HSC_CPU_ISA_AVX2)
    return &hsc_winograd_kernels_avx2;
#endif
  return level == HSC_CPU_ISA_BASELINE ? &hsc_winograd_kernels_baseline : NULL;
}

static int64_t pixels_of(const hsc_winograd *w) {
  return (int64_t)(w->tile + 2) * (w->tile + 2);
}

// ---- the plan -----------------------------------------------------------------------------------

enum {
  LEAST_FEATURES = 8,
  FILTER_FEATURES = 32,
  DEEP_FEATURES = 64,
  TASKS_PER_THREAD = 6,
  LEAST_TASKS_PER_THREAD = 2,
  GROUP_BYTES = 8 << 20,
  GROUP_TILES = 8,
  SUM_TILES = 160
};
static const double PARALLEL_MULTIPLY_ADDS = 800e3;

// Matrices that follow each other at a multiple of a page would fall into the same few lines of the
// caches, so a line lies between them.
static int64_t apart(int64_t floats) {
  int64_t whole = hsc_round_up(floats, 16);
  if (whole % 1024 == 0)
    return floats + 16;
  return whole % 32 ? whole : whole + 16;
}

// Scratch of a thread, in floats: where each part begins.
typedef struct parts {
  int64_t input, products, filter, taps, zeros, dump, end;
} parts;

static parts parts_of(const hsc_convolution *c, int64_t panel) {
  const hsc_winograd *w = &c->winograd;
  int64_t pixels = pixels_of(w);
  parts p = {0};
  if (w->kind == HSC_WINOGRAD_FILTER) {
    p.zeros = w->group_count == 1 ? pixels * w->product_step : 0;
    p.dump = p.end = p.zeros + hsc_round_up(c->batch > c->columns ? c->batch : c->columns, 16);
    return p;
  }
  bool deep = w->kind == HSC_WINOGRAD_DEEP;
  p.products = p.input + (deep ? 0 : pixels * w->input_step);
  p.filter = p.products + pixels * w->product_step;
  p.taps = p.filter + (deep ? pixels * w->filter_step * (w->column_task / panel) : 0);
  p.zeros = p.taps + 9 * (deep ? w->k_block : FILTER_FEATURES) * panel;
  p.dump = p.zeros + hsc_round_up(c->features, 16);
  p.end = p.dump + hsc_round_up(c->columns, 16);
  return p;
}

// 3x3 results of a window as large as the image, summed over a batch whose features lie side by
// side.
static bool is_filter_gradient(const hsc_convolution *c) {
  return c->axis_count == 2 && c->lhs_batch_stride == 1 && c->rhs_column_stride == 1 &&
         c->axes[0].out_size == 3 && c->axes[1].out_size == 3 &&
         (c->lhs_feature_stride != 1 || c->axes[0].window != 3 || c->axes[1].window != 3);
}

static const char *refusal(const hsc_convolution *c) {
  if (c->compute_type != HSC_TYPE_F32)
    return "for f32 only";
  if (c->groups != 1)
    return "not for groups";
  bool filter = is_filter_gradient(c);
  if (c->axis_count != 2 || (!filter && c->lhs_feature_stride != 1))
    return "for images whose features lie side by side";
  for (int a = 0; a < 2; a++)
    if ((!filter && c->axes[a].window != 3) || c->axes[a].stride != 1 || c->axes[a].dilation != 1 ||
        c->axes[a].base_dilation != 1)
      return "for windows of 3x3 without stride and dilation";
  return (filter ? c->batch : c->features) < LEAST_FEATURES || c->columns < LEAST_FEATURES
             ? "fewer than 8 features"
             : NULL;
}

static void plan_wide(const hsc_cpu_isa *isa, int64_t panel, int64_t tallest, hsc_convolution *c) {
  hsc_winograd *w = &c->winograd;
  int64_t pixels = pixels_of(w);
  int64_t rows = c->batch * w->tiles_y;
  int64_t tiles = rows * w->tiles_x;
  int64_t panels = hsc_divide_up(c->columns, panel);
  double work = (double)tiles * (double)pixels * (double)c->features * (double)c->columns;
  // The transformed input of a block and its products for some columns stay in the second cache.
  w->block =
      isa->l2_bytes * 5 / 8 / (pixels * (w->feature_step + w->column_task) * 4) / tallest * tallest;
  if (w->block < 4 * tallest)
    w->block = 4 * tallest;
  w->k_block = hsc_min(c->features, isa->l1_bytes / 2 / (panel * 4));
  w->k_block = hsc_divide_up(c->features, hsc_divide_up(c->features, w->k_block));
  w->filter_step = apart(c->features * panel);
  int64_t wanted =
      w->threads < 2 || work < PARALLEL_MULTIPLY_ADDS ? 1 : w->threads * TASKS_PER_THREAD;
  int64_t most = hsc_divide_up(tiles, w->block);
  int64_t least = w->threads * LEAST_TASKS_PER_THREAD;
  if (wanted > most)
    wanted = most > least || wanted == 1 ? most : least;
  w->row_task = hsc_divide_up(rows, hsc_min(wanted, rows));
  w->task_count = hsc_divide_up(rows, w->row_task);
  int64_t of_task = w->row_task * w->tiles_x;
  w->block = hsc_divide_up(of_task, hsc_divide_up(of_task, w->block));
  w->prelude_count = panels * hsc_divide_up(c->features, FILTER_FEATURES);
}

static void plan_deep(int64_t panel, int64_t tallest, hsc_convolution *c) {
  hsc_winograd *w = &c->winograd;
  w->block = c->batch * w->tiles_y * w->tiles_x;
  w->row_task = c->batch * w->tiles_y;
  w->k_block = hsc_min(DEEP_FEATURES, c->features);
  w->filter_step = apart(w->k_block * panel);
  w->task_count = hsc_divide_up(c->columns, w->column_task);
  w->prelude_count = hsc_divide_up(w->block, tallest);
}

static void plan_filter(const hsc_cpu_isa *isa,
                        int64_t panel,
                        int64_t tallest,
                        hsc_convolution *c) {
  hsc_winograd *w = &c->winograd;
  int64_t pixels = pixels_of(w);
  int64_t tiles = c->features * w->tiles_y * w->tiles_x;
  // Rows of an odd number of lines: neighbours in a column of the matrix do not fall into the same
  // few lines of the first cache.
  w->feature_step = hsc_round_up(c->batch, 16) | 16;
  w->column_step = hsc_round_up(c->columns, panel) | 16;
  w->group_count =
      hsc_divide_up(tiles * pixels * (w->feature_step + w->column_step) * 4, GROUP_BYTES);
  w->block = hsc_divide_up(tiles, w->group_count);
  w->group_count = hsc_divide_up(tiles, w->block);
  w->k_block = hsc_divide_up(w->block, hsc_divide_up(w->block, SUM_TILES));
  w->filter_step = apart(w->block * w->column_step);
  int64_t room = isa->l2_bytes / 2 / (pixels * w->column_task * 4) / tallest * tallest;
  w->row_task = room > tallest ? room : tallest;
  if (w->row_task > c->batch)
    w->row_task = c->batch;
  w->task_count = hsc_divide_up(c->batch, w->row_task) * hsc_divide_up(c->columns, w->column_task);
  w->prelude_count = 2 * hsc_divide_up(w->block, GROUP_TILES);
}

hsc_status *hsc_winograd_plan(
    const char *name, int tile, const hsc_cpu_isa *isa, int threads, hsc_convolution *c) {
  const char *why_not = refusal(c);
  if (why_not)
    return HSC_ERR(FAILED_PRECONDITION, "%s: %s", name, why_not);
  bool filter = is_filter_gradient(c);
  hsc_winograd *w = &c->winograd;
  *w = (hsc_winograd){.tile = tile, .threads = threads, .y_axis = 0, .x_axis = 1, .group_count = 1};
  // The rows of an image that lie closer together run along a row of tiles.
  if (filter ? c->axes[0].rhs_stride * c->axes[0].rhs_stride <
                   c->axes[1].rhs_stride * c->axes[1].rhs_stride
             : c->axes[0].out_stride < c->axes[1].out_stride) {
    w->y_axis = 1;
    w->x_axis = 0;
  }
  int64_t pixels = pixels_of(w);
  int64_t vector = isa->vector_bytes / 4;
  int64_t panel = 2 * vector;
  int64_t tallest = hsc_gemm_kernels_for(isa->level)->max_rows[2];
  int64_t panels = hsc_divide_up(c->columns, panel);
  w->tiles_y =
      hsc_divide_up(filter ? c->axes[w->y_axis].window : c->axes[w->y_axis].out_size, tile);
  w->tiles_x =
      hsc_divide_up(filter ? c->axes[w->x_axis].window : c->axes[w->x_axis].out_size, tile);
  w->column_task = hsc_min(2, panels) * panel;
  w->feature_step = hsc_round_up(c->features, vector);
  if (w->feature_step % 256 == 0)
    w->feature_step += 16;
  if (filter)
    w->kind = HSC_WINOGRAD_FILTER;
  else if (c->batch * w->tiles_y * w->tiles_x * pixels * 2 * panel * 4 <= isa->l2_bytes / 2)
    w->kind = HSC_WINOGRAD_DEEP;
  else
    w->kind = HSC_WINOGRAD_WIDE;
  if (filter)
    plan_filter(isa, panel, tallest, c);
  else if (w->kind == HSC_WINOGRAD_DEEP)
    plan_deep(panel, tallest, c);
  else
    plan_wide(isa, panel, tallest, c);
  w->input_step = apart(w->block * w->feature_step);
  w->product_step = apart((filter ? w->row_task : w->block) * w->column_task);
  int64_t shared = w->kind == HSC_WINOGRAD_WIDE ? panels * w->filter_step : w->input_step;
  if (filter)
    shared += w->filter_step + (w->group_count > 1 ? w->task_count * w->product_step : 0);
  w->shared_offset = c->scratch_bytes;
  c->scratch_bytes += hsc_round_up(4 * pixels * shared, 64);
  c->worker_scratch_bytes = 4 * parts_of(c, panel).end;
  return NULL;
}

// Costs in multiply-adds of a product, from bench/bench_convolution on AVX2: a kernel transformed,
// a feature of a tile transformed in and out.
static double cost_of(const hsc_convolution *c, int tile, double by_filter, double by_feature) {
  bool filter = is_filter_gradient(c);
  double images = (double)(filter ? c->features : c->batch);
  double features = (double)(filter ? c->batch : c->features);
  double columns = (double)c->columns;
  double tiles = images;
  for (int a = 0; a < 2; a++)
    tiles *= (double)hsc_divide_up(filter ? c->axes[a].window : c->axes[a].out_size, tile);
  return features * columns * (tiles * (tile + 2) * (tile + 2) + by_filter) +
         by_feature * tiles * (features + columns);
}

int hsc_winograd_pays(const hsc_convolution *c) {
  static const double LEAST = 1e6;
  static const double GAIN = 0.8;
  static const double GAIN_OF_4 = 0.9;
  if (refusal(c) || c->columns < 2 * LEAST_FEATURES ||
      (is_filter_gradient(c) ? c->batch : c->features) < 2 * LEAST_FEATURES)
    return 0;
  double direct = (double)c->rows * (double)c->columns * (double)c->taps * (double)c->features;
  double by_2 = cost_of(c, 2, 160, 90);
  double by_4 = cost_of(c, 4, 300, 250);
  int tile = by_4 < GAIN_OF_4 * by_2 ? 4 : 2;  // the smaller tile is rounded less
  return direct >= LEAST && (tile == 4 ? by_4 : by_2) < GAIN * direct ? tile : 0;
}

bool hsc_winograd_fits(const hsc_convolution *c, const hsc_cpu_isa *isa) {
  hsc_convolution again = *c;
  again.scratch_bytes = c->winograd.shared_offset;
  hsc_status *status = hsc_winograd_plan("", c->winograd.tile, isa, c->winograd.threads, &again);
  bool fits = !status && again.worker_scratch_bytes <= c->worker_scratch_bytes &&
              again.scratch_bytes <= c->scratch_bytes &&
              !memcmp(&again.winograd, &c->winograd, sizeof c->winograd);
  hsc_status_free(status);
  return fits;
}

void hsc_winograd_place(
    const hsc_convolution *c, int64_t task, int64_t *m0, int64_t *m1, int64_t *n0, int64_t *n1) {
  const hsc_winograd *w = &c->winograd;
  bool deep = w->kind == HSC_WINOGRAD_DEEP;
  int64_t out_y = c->axes[w->y_axis].out_size;
  int64_t out_x = c->axes[w->x_axis].out_size;
  int64_t rows = c->batch * w->tiles_y;
  int64_t first = deep ? 0 : task * w->row_task;
  int64_t end = deep ? rows : hsc_min(first + w->row_task, rows);
  *m0 = (first / w->tiles_y * out_y + first % w->tiles_y * w->tile) * out_x;
  *m1 = (end / w->tiles_y * out_y + end % w->tiles_y * w->tile) * out_x;
  *n0 = deep ? task * w->column_task : 0;
  *n1 = deep ? hsc_min(*n0 + w->column_task, c->columns) : c->columns;
}

// ---- transforms ---------------------------------------------------------------------------------

// Images that tiles are read from: where an image, a row, a pixel begin, how many there are, and
// how far the first tile lies before them.
typedef struct images {
  const float *data;
  int64_t image_stride, y_stride, x_stride, y_size, x_size, y_pad, x_pad, channels;
  int side;  // pixels of a tile along an axis
} images;

static images input_of(const hsc_conv_run *run) {
  const hsc_convolution *c = run->c;
  const hsc_conv_axis *ya = &c->axes[c->winograd.y_axis];
  const hsc_conv_axis *xa = &c->axes[c->winograd.x_axis];
  bool filter = c->winograd.kind == HSC_WINOGRAD_FILTER;
  return (images){.data = run->lhs,
                  .image_stride = filter ? c->lhs_feature_stride : c->lhs_batch_stride,
                  .y_stride = ya->lhs_stride,
                  .x_stride = xa->lhs_stride,
                  .y_size = ya->in_size,
                  .x_size = xa->in_size,
                  .y_pad = ya->pad_low,
                  .x_pad = xa->pad_low,
                  .channels = filter ? c->batch : c->features,
                  .side = c->winograd.tile + 2};
}

static images gradient_of(const hsc_conv_run *run) {
  const hsc_convolution *c = run->c;
  const hsc_conv_axis *ya = &c->axes[c->winograd.y_axis];
  const hsc_conv_axis *xa = &c->axes[c->winograd.x_axis];
  return (images){.data = (const float *)run->rhs + c->rhs_offset,
                  .image_stride = c->rhs_feature_stride,
                  .y_stride = ya->rhs_stride,
                  .x_stride = xa->rhs_stride,
                  .y_size = ya->window,
                  .x_size = xa->window,
                  .channels = c->columns,
                  .side = c->winograd.tile};
}

typedef void (*spread_function)(int64_t count, const float *const *pixels, float *to, int64_t step);

// Tiles [first, first + count), numbered along rows of tiles: all channels, into `to`, tile by
// tile, matrix_step floats from a matrix to the next.
static void transform_tiles(const hsc_winograd *w,
                            const images *from,
                            spread_function spread,
                            int64_t first,
                            int64_t count,
                            const float *zeros,
                            float *to,
                            int64_t tile_step,
                            int64_t matrix_step) {
  const float *pixels[HSC_WINOGRAD_MAX_PIXELS];
  for (int64_t t = first; t < first + count; t++, to += tile_step) {
    int64_t row = t / w->tiles_x;
    int64_t y0 = row % w->tiles_y * w->tile - from->y_pad;
    int64_t x0 = t % w->tiles_x * w->tile - from->x_pad;
    const float *image = from->data + row / w->tiles_y * from->image_stride;
    for (int y = 0; y < from->side; y++)
      for (int x = 0; x < from->side; x++) {
        bool inside = (uint64_t)(y0 + y) < (uint64_t)from->y_size &&
                      (uint64_t)(x0 + x) < (uint64_t)from->x_size;
        pixels[y * from->side + x] =
            inside ? image + (y0 + y) * from->y_stride + (x0 + x) * from->x_stride : zeros;
      }
    spread(from->channels, pixels, to, matrix_step);
  }
}

// Features [k0, k0 + count) of the columns of one panel: matrices of [count][panel], filter_step
// apart. taps: [9][count][panel].
static void transform_filter(const hsc_conv_run *run,
                             const hsc_winograd_kernels *kernels,
                             int64_t k0,
                             int64_t count,
                             int64_t n0,
                             float *taps,
                             float *to) {
  const hsc_convolution *c = run->c;
  const hsc_winograd *w = &c->winograd;
  int64_t panel = 2 * kernels->vector;
  int64_t columns = hsc_min(panel, c->columns - n0);
  const float *from = (const float *)run->rhs + c->rhs_offset + k0 * c->rhs_feature_stride +
                      n0 * c->rhs_column_stride;
  for (int tap = 0; tap < 9; tap++) {
    const float *source =
        from + tap / 3 * c->axes[w->y_axis].rhs_stride + tap % 3 * c->axes[w->x_axis].rhs_stride;
    float *target = taps + tap * count * panel;
    if (c->rhs_column_stride == 1 && columns == panel) {
      hsc__copy_rows(source, c->rhs_feature_stride * 4, target, panel * 4, panel * 4, count);
    } else if (c->rhs_feature_stride == 1) {
      run->kernels->transpose_f32(count, columns, panel, source, c->rhs_column_stride, target);
    } else {
      for (int64_t k = 0; k < count; k++)
        for (int64_t n = 0; n < panel; n++)
          target[k * panel + n] =
              n < columns ? source[k * c->rhs_feature_stride + n * c->rhs_column_stride] : 0;
    }
  }
  kernels->filter[w->tile / 2](count * panel, taps, count * panel, to, w->filter_step);
}

// The products of tiles [first, first + count) become results, columns [n0, n0 + columns).
static void transform_output(const hsc_conv_run *run,
                             const hsc_winograd_kernels *kernels,
                             int64_t first,
                             int64_t count,
                             int64_t n0,
                             int64_t columns,
                             const float *products,
                             float *dump) {
  const hsc_convolution *c = run->c;
  const hsc_winograd *w = &c->winograd;
  const hsc_conv_axis *ya = &c->axes[w->y_axis];
  const hsc_conv_axis *xa = &c->axes[w->x_axis];
  const float *bias = run->bias ? (const float *)run->bias + n0 : NULL;
  float *results[16];
  for (int64_t t = first; t < first + count; t++, products += w->column_task) {
    int64_t row = t / w->tiles_x;
    int64_t y0 = row % w->tiles_y * w->tile;
    int64_t x0 = t % w->tiles_x * w->tile;
    float *image = (float *)run->out + row / w->tiles_y * c->out_batch_stride + n0;
    for (int y = 0; y < w->tile; y++)
      for (int x = 0; x < w->tile; x++)
        results[y * w->tile + x] =
            y0 + y < ya->out_size && x0 + x < xa->out_size
                ? image + (y0 + y) * ya->out_stride + (x0 + x) * xa->out_stride
                : dump;
    kernels->output[w->tile / 2](columns, products, w->product_step, results, bias, run->relu);
  }
}

// ---- tasks --------------------------------------------------------------------------------------

// products[tiles][panel] (+)= input[tiles][count] * filter[count][panel], rows of input
// feature_step apart, of products column_task.
static void multiply(const hsc_gemm_kernels *gemm,
                     const hsc_winograd *w,
                     int64_t tiles,
                     int64_t count,
                     const float *input,
                     const float *filter,
                     float *products,
                     bool accumulate) {
  int64_t tallest = gemm->max_rows[2];
  int64_t pieces = hsc_divide_up(tiles, tallest);
  int64_t width = 2 * gemm->vector_f32;
  for (int64_t piece = 0; piece < pieces; piece++) {
    int64_t row = tiles * piece / pieces;
    int64_t height = tiles * (piece + 1) / pieces - row;
    gemm->f32[2][height](count, input + row * w->feature_step, w->feature_step, 1, filter, width,
                         products + row * w->column_task, w->column_task, accumulate, NULL, false);
  }
}

// Tiles of a group: the last may have fewer.
static int64_t group_tiles(const hsc_convolution *c, int64_t group) {
  const hsc_winograd *w = &c->winograd;
  return hsc_min(w->block, c->features * w->tiles_y * w->tiles_x - group * w->block);
}

void hsc_winograd_prelude(const hsc_conv_run *run, int64_t part, void *worker_scratch) {
  const hsc_convolution *c = run->c;
  const hsc_winograd *w = &c->winograd;
  const hsc_winograd_kernels *kernels = kernels_for(run->isa_level);
  int64_t panel = 2 * kernels->vector;
  parts p = parts_of(c, panel);
  float *scratch = worker_scratch;
  images input = input_of(run);
  if (w->kind == HSC_WINOGRAD_DEEP) {
    memset(scratch + p.zeros, 0, sizeof(float) * (size_t)c->features);
    int64_t first = w->block * part / w->prelude_count;
    int64_t end = w->block * (part + 1) / w->prelude_count;
    transform_tiles(w, &input, kernels->input[w->tile / 2], first, end - first, scratch + p.zeros,
                    run->shared + first * w->feature_step, w->feature_step, w->input_step);
    return;
  }
  if (w->kind == HSC_WINOGRAD_FILTER) {
    int64_t first = part / 2 * GROUP_TILES;
    int64_t count = hsc_min(GROUP_TILES, group_tiles(c, run->group) - first);
    int64_t tile = run->group * w->block + first;
    images gradient = gradient_of(run);
    memset(scratch + p.zeros, 0, sizeof(float) * (size_t)(p.end - p.zeros));
    if (part % 2 == 0)
      transform_tiles(w, &input, kernels->input[w->tile / 2], tile, count, scratch + p.zeros,
                      run->shared + first * w->feature_step, w->feature_step, w->input_step);
    else
      transform_tiles(w, &gradient, kernels->gradient[w->tile / 2], tile, count, scratch + p.zeros,
                      run->shared + pixels_of(w) * w->input_step + first * w->column_step,
                      w->column_step, w->filter_step);
    return;
  }
  int64_t runs = hsc_divide_up(c->features, FILTER_FEATURES);
  int64_t number = part / runs;
  int64_t k0 = part % runs * FILTER_FEATURES;
  transform_filter(run, kernels, k0, hsc_min(FILTER_FEATURES, c->features - k0), number * panel,
                   scratch + p.taps,
                   run->shared + number * pixels_of(w) * w->filter_step + k0 * panel);
}

static void deep_task(const hsc_conv_run *run,
                      const hsc_winograd_kernels *kernels,
                      int64_t task,
                      float *scratch) {
  const hsc_convolution *c = run->c;
  const hsc_winograd *w = &c->winograd;
  const hsc_gemm_kernels *gemm = hsc_gemm_kernels_for(run->isa_level);
  int64_t panel = 2 * kernels->vector;
  int64_t pixels = pixels_of(w);
  int64_t n0 = task * w->column_task;
  int64_t columns = hsc_min(w->column_task, c->columns - n0);
  parts p = parts_of(c, panel);
  for (int64_t k0 = 0; k0 < c->features; k0 += w->k_block) {
    int64_t count = hsc_min(w->k_block, c->features - k0);
    for (int64_t n = 0; n < columns; n += panel)
      transform_filter(run, kernels, k0, count, n0 + n, scratch + p.taps,
                       scratch + p.filter + n / panel * pixels * w->filter_step);
    for (int64_t x = 0; x < pixels; x++)
      for (int64_t n = 0; n < columns; n += panel)
        multiply(gemm, w, w->block, count, run->shared + x * w->input_step + k0,
                 scratch + p.filter + (n / panel * pixels + x) * w->filter_step,
                 scratch + p.products + x * w->product_step + n, k0 > 0);
  }
  transform_output(run, kernels, 0, w->block, n0, columns, scratch + p.products, scratch + p.dump);
}

static void wide_task(const hsc_conv_run *run,
                      const hsc_winograd_kernels *kernels,
                      int64_t task,
                      float *scratch) {
  const hsc_convolution *c = run->c;
  const hsc_winograd *w = &c->winograd;
  const hsc_gemm_kernels *gemm = hsc_gemm_kernels_for(run->isa_level);
  int64_t panel = 2 * kernels->vector;
  int64_t pixels = pixels_of(w);
  int64_t row = task * w->row_task;
  int64_t first = row * w->tiles_x;
  int64_t end = hsc_min(row + w->row_task, c->batch * w->tiles_y) * w->tiles_x;
  parts p = parts_of(c, panel);
  images input = input_of(run);
  memset(scratch + p.zeros, 0, sizeof(float) * (size_t)c->features);
  for (int64_t t = first; t < end; t += w->block) {
    int64_t tiles = hsc_min(w->block, end - t);
    transform_tiles(w, &input, kernels->input[w->tile / 2], t, tiles, scratch + p.zeros,
                    scratch + p.input, w->feature_step, w->input_step);
    for (int64_t n0 = 0; n0 < c->columns; n0 += w->column_task) {
      int64_t columns = hsc_min(w->column_task, c->columns - n0);
      for (int64_t x = 0; x < pixels; x++)
        for (int64_t k0 = 0; k0 < c->features; k0 += w->k_block)
          for (int64_t n = 0; n < columns; n += panel)
            multiply(gemm, w, tiles, hsc_min(w->k_block, c->features - k0),
                     scratch + p.input + x * w->input_step + k0,
                     run->shared + ((n0 + n) / panel * pixels + x) * w->filter_step + k0 * panel,
                     scratch + p.products + x * w->product_step + n, k0 > 0);
      transform_output(run, kernels, t, tiles, n0, columns, scratch + p.products, scratch + p.dump);
    }
  }
}

static void filter_task(const hsc_conv_run *run,
                        const hsc_winograd_kernels *kernels,
                        int64_t task,
                        float *scratch) {
  const hsc_convolution *c = run->c;
  const hsc_winograd *w = &c->winograd;
  const hsc_gemm_kernels *gemm = hsc_gemm_kernels_for(run->isa_level);
  int64_t panel = 2 * kernels->vector;
  int64_t pixels = pixels_of(w);
  int64_t column_tasks = hsc_divide_up(c->columns, w->column_task);
  int64_t tiles = group_tiles(c, run->group);
  int64_t tallest = gemm->max_rows[2];
  int64_t c0 = task / column_tasks * w->row_task;
  int64_t features = hsc_min(w->row_task, c->batch - c0);
  int64_t n0 = task % column_tasks * w->column_task;
  int64_t columns = hsc_min(w->column_task, c->columns - n0);
  int64_t pieces = hsc_divide_up(features, tallest);
  const float *input = run->shared + c0;
  const float *gradient = run->shared + pixels * w->input_step + n0;
  float *products =
      w->group_count == 1
          ? scratch
          : run->shared + pixels * (w->input_step + w->filter_step + task * w->product_step);
  for (int64_t x = 0; x < pixels; x++)
    for (int64_t t = 0; t < tiles; t += w->k_block)
      for (int64_t n = 0; n < columns; n += panel)
        for (int64_t piece = 0; piece < pieces; piece++) {
          int64_t row = features * piece / pieces;
          int64_t height = features * (piece + 1) / pieces - row;
          gemm->f32[2][height](
              hsc_min(w->k_block, tiles - t), input + x * w->input_step + t * w->feature_step + row,
              1, w->feature_step, gradient + x * w->filter_step + t * w->column_step + n,
              w->column_step, products + x * w->product_step + row * w->column_task + n,
              w->column_task, run->group > 0 || t > 0, NULL, false);
        }
  if (run->group + 1 < w->group_count)
    return;
  const hsc_conv_axis *ya = &c->axes[w->y_axis];
  const hsc_conv_axis *xa = &c->axes[w->x_axis];
  for (int64_t f = 0; f < features; f++) {
    float *results[9];
    float *out = (float *)run->out + (c0 + f) * c->out_batch_stride + n0;
    for (int i = 0; i < 9; i++)
      results[i] = out + i / 3 * ya->out_stride + i % 3 * xa->out_stride;
    kernels->window[w->tile / 2](columns, products + f * w->column_task, w->product_step, results,
                                 run->bias ? (const float *)run->bias + n0 : NULL, run->relu);
  }
}

void hsc_winograd_task(const hsc_conv_run *run, int64_t task, void *worker_scratch) {
  const hsc_winograd_kernels *kernels = kernels_for(run->isa_level);
  switch ((hsc_winograd_kind)run->c->winograd.kind) {
    case HSC_WINOGRAD_WIDE:
      wide_task(run, kernels, task, worker_scratch);
      break;
    case HSC_WINOGRAD_DEEP:
      deep_task(run, kernels, task, worker_scratch);
      break;
    case HSC_WINOGRAD_FILTER:
      filter_task(run, kernels, task, worker_scratch);
      break;
  }
}
