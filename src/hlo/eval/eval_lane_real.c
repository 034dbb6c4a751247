// eval_lane_real.c - float and double lanes. Arithmetic is IEEE-754 in the lane's own precision;
// functions are computed in the next wider type and rounded once: nearer to the true value than any
// device, so a distance in ULP measures the device.
#include <math.h>

#include "hlo/eval/eval_internal.h"

bool hsc__op_has_real(hsc_op op) {
  switch (op) {
    case HSC_OP_ABS:
    case HSC_OP_ACOS:
    case HSC_OP_ACOSH:
    case HSC_OP_ADD:
    case HSC_OP_ASIN:
    case HSC_OP_ASINH:
    case HSC_OP_ATAN2:
    case HSC_OP_ATANH:
    case HSC_OP_CBRT:
    case HSC_OP_CEIL:
    case HSC_OP_COMPARE:
    case HSC_OP_COSH:
    case HSC_OP_COSINE:
    case HSC_OP_DIVIDE:
    case HSC_OP_ERF:
    case HSC_OP_EXP:
    case HSC_OP_EXPM1:
    case HSC_OP_FLOOR:
    case HSC_OP_IS_FINITE:
    case HSC_OP_LOG:
    case HSC_OP_LOG1P:
    case HSC_OP_LOGISTIC:
    case HSC_OP_MAXIMUM:
    case HSC_OP_MINIMUM:
    case HSC_OP_MULTIPLY:
    case HSC_OP_NEGATE:
    case HSC_OP_POWER:
    case HSC_OP_REMAINDER:
    case HSC_OP_ROUND_AFZ:
    case HSC_OP_ROUND_EVEN:
    case HSC_OP_RSQRT:
    case HSC_OP_SIGN:
    case HSC_OP_SINE:
    case HSC_OP_SINH:
    case HSC_OP_SQRT:
    case HSC_OP_SUBTRACT:
    case HSC_OP_TAN:
    case HSC_OP_TANH:
      return true;
    default:
      return false;
  }
}

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
