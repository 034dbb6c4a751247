// eval_lane_real.c - float and double lanes. Arithmetic is IEEE-754 in the lane's own precision;
// functions are computed in the next wider type and rounded once: nearer to the true value than any
// device, so a distance in ULP measures the device.
#include <math.h>

#include "hlo/eval/eval_internal.h"

// The order of -NaN < -inf < ... < -0 < +0 < ... < inf < NaN as a signed integer.
static int64_t order_f32(float f) {
  int32_t bits;
  memcpy(&bits, &f, 4);
  return bits ^ (bits >> 31 & 0x7fffffff);
}
static int64_t order_f64(double f) {
  int64_t bits;
  memcpy(&bits, &f, 8);
  return bits ^ (int64_t)((uint64_t)(bits >> 63) >> 1);
}

#define UNARY(expr) \
  do { \
    const T *x = a; \
    T *d = out; \
    for (int64_t i = 0; i < count; i++) { \
      T v = x[i]; \
      d[i] = (T)(expr); \
    } \
    return; \
  } while (0)
#define BINARY(D, expr) \
  do { \
    const T *x = a, *y = b; \
    D *d = out; \
    for (int64_t i = 0; i < count; i++) { \
      T v = x[i], w = y[i]; \
      d[i] = (D)(expr); \
    } \
    return; \
  } while (0)

#define T float
#define W double
#define F(name) name
#define NAME(f32, f64) f32
#include "hlo/eval/eval_lane_real.inc"
#undef T
#undef W
#undef F
#undef NAME
#define T double
#define W long double
#define F(name) name##l
#define NAME(f32, f64) f64
#include "hlo/eval/eval_lane_real.inc"
