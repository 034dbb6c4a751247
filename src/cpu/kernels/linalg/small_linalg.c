// small_linalg.c - see small_linalg.h: the routines of small_linalg.inc for single numbers and for
// registers of them.
#include "cpu/kernels/linalg/small_linalg.h"

#include <math.h>
#include <string.h>

#include "cpu/kernels/kernel_vectors.h"

// ---- one matrix ---------------------------------------------------------------------------------

#define ONE_LANE
#define NO_V 0
#define NO_I 0
#define I int32_t
#define SELECT(mask, yes, no) ((mask) ? (yes) : (no))
#define SELECT_I SELECT
#define NOT(mask) (!(mask))

#define T float
#define V float
#define NAME one_f32
#define ABS fabsf
#define SQRT sqrtf
#include "cpu/kernels/linalg/small_linalg.inc"
#undef T
#undef V
#undef NAME
#undef ABS
#undef SQRT

#define T double
#define V double
#define NAME one_f64
#define ABS fabs
#define SQRT sqrt
#include "cpu/kernels/linalg/small_linalg.inc"
#undef T
#undef V
#undef NAME
#undef ABS
#undef SQRT

#undef ONE_LANE
#undef NO_V
#undef NO_I
#undef I
#undef SELECT
#undef SELECT_I
#undef NOT

// ---- a matrix in each lane ----------------------------------------------------------------------

#define NO_V ((V){0})
#define NO_I ((I){0})
#define SELECT(mask, yes, no) ((V)(((I)(yes) & (I)(mask)) | ((I)(no) & ~(I)(mask))))
#define SELECT_I(mask, yes, no) (((yes) & (mask)) | ((no) & ~(mask)))
#define NOT(mask) (~(mask))

static vector_f32 sqrt_f32(vector_f32 x) {
  for (size_t l = 0; l < HSC_ISA_BYTES / sizeof(float); l++)
    x[l] = sqrtf(x[l]);
  return x;
}

static vector_f64 sqrt_f64(vector_f64 x) {
  for (size_t l = 0; l < HSC_ISA_BYTES / sizeof(double); l++)
    x[l] = sqrt(x[l]);
  return x;
}

#define T float
#define V vector_f32
#define I bits_f32
#define NAME f32
#define ABS(x) ((V)((I)(x) & 0x7fffffff))
#define SQRT sqrt_f32
#include "cpu/kernels/linalg/small_linalg.inc"
#undef T
#undef V
#undef I
#undef NAME
#undef ABS
#undef SQRT

#define T double
#define V vector_f64
#define I bits_f64
#define NAME f64
#define ABS(x) ((V)((I)(x) & 0x7fffffffffffffff))
#define SQRT sqrt_f64
#include "cpu/kernels/linalg/small_linalg.inc"
#undef T
#undef V
#undef I
#undef NAME
#undef ABS
#undef SQRT

// ---- the doors ----------------------------------------------------------------------------------

static void one(uint64_t packed, const void *a, const void *b, void *x, void *second, void *third) {
  hsc_small_linalg w;
  memcpy(&w, &packed, sizeof w);
  bool solves = w.routine == HSC_SMALL_TRSM;
  const void *changed = solves ? b : a;
  const void *other = solves ? a : b;
  size_t bytes = (size_t)w.m * w.n * (w.is_f64 ? sizeof(double) : sizeof(float));
  void *info = w.routine == HSC_SMALL_POTRF ? second : third;
  if (x != changed)
    memcpy(x, changed, bytes);
  if (w.is_f64)
    routine_one_f64(&w, x, other, second, second, info);
  else
    routine_one_f32(&w, x, other, second, second, info);
}

static void lanes(const hsc_small_linalg *w,
                  int64_t count,
                  const void *a,
                  const void *b,
                  void *x,
                  void *second,
                  void *third,
                  void *room) {
  hsc_small_sizes sizes = hsc_small_linalg_sizes(w);
  void *out[HSC_SMALL_LINALG_ARRAYS] = {x, second, third};
  if (w->is_f64)
    batch_f64(w, &sizes, count, a, b, out, room);
  else
    batch_f32(w, &sizes, count, a, b, out, room);
}

extern const hsc_small_linalg_kernels CONCAT(hsc_small_linalg_kernels_, HSC_ISA);
const hsc_small_linalg_kernels CONCAT(hsc_small_linalg_kernels_, HSC_ISA) = {one, lanes};
