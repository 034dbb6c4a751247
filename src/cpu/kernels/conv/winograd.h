// winograd.h - convolutions by 3x3 windows with fewer multiplications.
//
// A tile of m x m results (m = 2 or 4) comes from (m + 2) x (m + 2) elements of the input by one
// multiplication for each of these, not by nine for each result:
//
//   Y = At [ (G k Gt) * (Bt d B) ] A        * element by element, summed over the features
//
// so that the sum over features is (m + 2)^2 matrix products, tiles x features times features x
// columns. 4 / 2.25 times (m = 4 / 2) fewer multiplications than the direct sum, where the image is
// a multiple of m. Elements in the padding are zeros in the transform of the input; results outside
// are not kept.
//
// How exact: the polynomials are evaluated at 0, 1, -1 and infinity (m = 2), at 0, +-11/16, +-23/16
// and infinity (m = 4): the product of the two is near 1, which keeps all transformed numbers of
// one size; 1 and 2, which are found more often, are three times less exact (docs/BENCHMARKS.md,
// "Winograd"). An infinity or a NaN of the input spreads over the tile and not only over the
// window, as in other libraries.
//
// The gradient of the kernel is the same with other parts in the same places: its 3x3 results come
// from tiles of the input and m x m tiles of the gradient, summed over all tiles. Three ways to cut
// it into tasks:
//   WIDE    few columns and features, many tiles: kernels are transformed first, into scratch; a
//           task does rows of tiles, block by block, all columns
//   DEEP    few tiles: the input is transformed first, into scratch; a task does some columns for
//           all tiles, and transforms its kernels as it goes
//   FILTER  the gradient of the kernel: both sides are transformed first, group by group of tiles;
//           a task does some features and columns of the kernel
//
// Source: Lavin and Gray, "Fast algorithms for convolutional neural networks", arXiv:1509.09308;
// points after Barabasz et al., "Error analysis and improving the accuracy of Winograd convolution
// for deep neural networks", arXiv:1803.10986.
#pragma once

#include "base/core/status.h"
#include "cpu/core/isa.h"

struct hsc_convolution;
struct hsc_conv_run;

enum { HSC_WINOGRAD_MAX_PIXELS = 36 };

// [1] of each array is for tiles of 2 x 2, [2] for tiles of 4 x 4; pixels = (m + 2)^2.
typedef struct hsc_winograd_kernels {
  int vector;  // floats of a register
  // to[p * step + i] for i in [0, count rounded up to registers): pixels[..][i] transformed; zeros
  // after `count`.
  void (*input[3])(int64_t count, const float *const *pixels, float *to, int64_t step);
  // to[p * step + i] = taps[tap * tap_step + i] transformed; tap = 3 * row + column; count is a
  // multiple of `vector`.
  void (*filter[3])(int64_t count, const float *taps, int64_t tap_step, float *to, int64_t step);
  // results[row * m + column][i] = from[p * step + i] transformed, + bias[i] (NULL = none), max(0,
  // .) when relu (NaN stays); from: whole registers.
  void (*output[3])(int64_t count,
                    const float *from,
                    int64_t step,
                    float *const *results,
                    const float *bias,
                    bool relu);
  // The gradient of the kernel: m x m pixels of the gradient, as `input`; 3 x 3 results, as
  // `output`.
  void (*gradient[3])(int64_t count, const float *const *pixels, float *to, int64_t step);
  void (*window[3])(int64_t count,
                    const float *from,
                    int64_t step,
                    float *const *results,
                    const float *bias,
                    bool relu);
} hsc_winograd_kernels;

typedef enum hsc_winograd_kind {
  HSC_WINOGRAD_WIDE,
  HSC_WINOGRAD_DEEP,
  HSC_WINOGRAD_FILTER
} hsc_winograd_kind;

// Part of a planned convolution; plain data.
typedef struct hsc_winograd {
  int32_t tile;     // m; 0: the convolution is not done this way
  int32_t kind;     // hsc_winograd_kind
  int32_t threads;  // that it is planned for
  // axes of the convolution: of the rows of tiles, and along them
  int32_t y_axis, x_axis;
  int64_t tiles_y, tiles_x;  // of one image
  int64_t block;             // tiles that are done together
  int64_t row_task;          // WIDE: rows of tiles of a task; FILTER: features of a task
  int64_t column_task;       // columns of a task; WIDE: that are done together
  // steps of the sum that are done together: features; FILTER: tiles
  int64_t k_block;
  int64_t feature_step;  // floats from a tile to the next in the transformed input
  int64_t column_step;   // FILTER: the same in the transformed gradient
  // floats from a matrix to the next; FILTER: filter_step of the transformed gradient
  int64_t input_step, filter_step, product_step;
  // scratch: what the prelude makes; FILTER, several groups: and the products
  int64_t shared_offset;
  // FILTER: groups of tiles, one after the other, each with a prelude
  int64_t group_count;
  int64_t prelude_count, task_count;
} hsc_winograd;

// Plans c->winograd for a convolution in canonical form, and the scratch that it needs.
// FAILED_PRECONDITION with the reason when it cannot.
HSC_MUST_USE hsc_status *hsc_winograd_plan(
    const char *name, int tile, const hsc_cpu_isa *isa, int threads, struct hsc_convolution *c);
// The tile (2 or 4) by which a convolution, planned directly, would be clearly faster; 0: it would
// not. From measured costs of the transforms.
int hsc_winograd_pays(const struct hsc_convolution *c);
// Whether numbers from elsewhere are a plan that stays inside its scratch.
bool hsc_winograd_fits(const struct hsc_convolution *c, const hsc_cpu_isa *isa);
// For each group: what comes before the tasks, in prelude_count parts; then the tasks. On one
// thread each, with its scratch.
void hsc_winograd_prelude(const struct hsc_conv_run *run, int64_t part, void *worker_scratch);
void hsc_winograd_task(const struct hsc_conv_run *run, int64_t task, void *worker_scratch);
// The rows (in the result's order) and columns that a task does; not for FILTER.
void hsc_winograd_place(const struct hsc_convolution *c,
                        int64_t task,
                        int64_t *m0,
                        int64_t *m1,
                        int64_t *n0,
                        int64_t *n1);
