// eval_lane_complex.c - complex lanes. Sums and products are the textbook formulas in the lane's
// own precision, as compilers emit them; functions are computed in double precision complex with
// the branch cuts of C99 Annex G, which are XLA's.
#include <complex.h>
#include <math.h>

#include "hlo/eval/eval_internal.h"

typedef double complex z128;
static z128 make(double re, double im) {
  return __builtin_complex(re, im);
}

// Smith's quotient, which neither overflows nor underflows where the quotient does not; infinities
// and zeros as C99 Annex G has them.
static z128 quotient(z128 p, z128 q) {
  double a = creal(p);
  double b = cimag(p);
  double c = creal(q);
  double d = cimag(q);
  double re;
  double im;
  if (fabs(c) >= fabs(d)) {
    double ratio = d / c;
    double denominator = c + d * ratio;
    re = (a + b * ratio) / denominator;
    im = (b - a * ratio) / denominator;
  } else {
    double ratio = c / d;
    double denominator = c * ratio + d;
    re = (a * ratio + b) / denominator;
    im = (b * ratio - a) / denominator;
  }
  if (isnan(re) && isnan(im)) {
    if (c == 0 && d == 0 && (!isnan(a) || !isnan(b)))
      return make(copysign(INFINITY, c) * a, copysign(INFINITY, c) * b);
    if ((isinf(a) || isinf(b)) && isfinite(c) && isfinite(d)) {
      double x = copysign(isinf(a) ? 1 : 0, a);
      double y = copysign(isinf(b) ? 1 : 0, b);
      return make(INFINITY * (x * c + y * d), INFINITY * (y * c - x * d));
    }
    if ((isinf(c) || isinf(d)) && isfinite(a) && isfinite(b)) {
      double x = copysign(isinf(c) ? 1 : 0, c);
      double y = copysign(isinf(d) ? 1 : 0, d);
      return make(0.0 * (a * x + b * y), 0.0 * (b * x - a * y));
    }
  }
  return make(re, im);
}

static z128 expm1_complex(z128 z) {
  // e^x cos y - 1 = expm1(x) cos y - 2 sin^2(y/2)
  double x = creal(z);
  double y = cimag(z);
  double half = sin(y / 2);
  // without 0 * infinity
  return make(expm1(x) * cos(y) - 2 * half * half, y == 0 ? y : exp(x) * sin(y));
}

// Annex G gives what is known of a result at infinity; XLA's formulas give NaN for both parts where
// one is lost.
static z128 lost_at_infinity(bool lost, z128 value) {
  return lost ? make(NAN, NAN) : value;
}

static z128 log1p_complex(z128 z) {
  double x = creal(z);
  double y = cimag(z);
  // Near zero |1+z|^2 - 1 = x (2 + x) + y^2 keeps the digits that log would lose.
  double re =
      fabs(x) < 0.5 && fabs(y) < 0.5 ? 0.5 * log1p(x * (2 + x) + y * y) : log(hypot(1 + x, y));
  return make(re, atan2(y, 1 + x));
}

static z128 power_complex(z128 p, z128 q) {
  if (creal(q) == 0 && cimag(q) == 0)
    return 1;
  if (creal(p) == 0 && cimag(p) == 0) {
    if (cimag(q) == 0 && creal(q) > 0)
      return 0;
    return cpow(p, q);
  }
  double log_abs = log(cabs(p));
  double angle = carg(p);
  double magnitude = exp(creal(q) * log_abs - cimag(q) * angle);
  double phase = cimag(q) * log_abs + creal(q) * angle;
  return make(magnitude * cos(phase), magnitude * sin(phase));
}

static z128 function(hsc_op op, z128 z, z128 w) {
  switch (op) {
    case HSC_OP_DIVIDE:
      return quotient(z, w);
    case HSC_OP_POWER:
      return power_complex(z, w);
    case HSC_OP_ATAN2: {  // -i log((w + i z) / sqrt(z^2 + w^2))
      z128 q = quotient(make(creal(w) - cimag(z), cimag(w) + creal(z)), csqrt(z * z + w * w));
      z128 l = clog(q);
      return make(cimag(l), -creal(l));
    }
    case HSC_OP_SQRT:
      return csqrt(z);
    case HSC_OP_RSQRT:
      return quotient(1, csqrt(z));
    case HSC_OP_CBRT:
      return power_complex(z, 1.0 / 3.0);
    case HSC_OP_EXP:
      return cexp(z);
    case HSC_OP_EXPM1:
      return expm1_complex(z);
    case HSC_OP_LOG:
      return clog(z);
    case HSC_OP_LOG1P:
      return log1p_complex(z);
    case HSC_OP_LOGISTIC:
      return quotient(1, 1 + cexp(-z));
    case HSC_OP_TANH:
      return lost_at_infinity(creal(z) == 0 && !isfinite(cimag(z)), ctanh(z));
    case HSC_OP_SINE:
      return csin(z);
    case HSC_OP_COSINE:
      return ccos(z);
    case HSC_OP_TAN:
      return lost_at_infinity(!isfinite(creal(z)) && isfinite(cimag(z)), ctan(z));
    case HSC_OP_SINH:
      return lost_at_infinity(!isfinite(cimag(z)), csinh(z));
    case HSC_OP_COSH:
      return lost_at_infinity(!isfinite(cimag(z)), ccosh(z));
    case HSC_OP_ASIN:
      return casin(z);
    case HSC_OP_ACOS:
      return cacos(z);
    case HSC_OP_ASINH:
      return casinh(z);
    case HSC_OP_ACOSH:
      return cacosh(z);
    case HSC_OP_ATANH:
      return catanh(z);
    default:
      return 0;
  }
}

#define COMPLEX_LANES(T) \
  do { \
    const T *x = a, *y = b; \
    T *d = out; \
    uint64_t *pred = out; \
    switch (step->op) { \
      case HSC_OP_ADD: \
        for (int64_t i = 0; i < 2 * count; i++) \
          d[i] = x[i] + y[i]; \
        return; \
      case HSC_OP_SUBTRACT: \
        for (int64_t i = 0; i < 2 * count; i++) \
          d[i] = x[i] - y[i]; \
        return; \
      case HSC_OP_NEGATE: \
        for (int64_t i = 0; i < 2 * count; i++) \
          d[i] = -x[i]; \
        return; \
      case HSC_OP_MULTIPLY: \
        for (int64_t i = 0; i < 2 * count; i += 2) { \
          T re = x[i] * y[i] - x[i + 1] * y[i + 1], im = x[i] * y[i + 1] + x[i + 1] * y[i]; \
          d[i] = re; \
          d[i + 1] = im; \
        } \
        return; \
      case HSC_OP_COMPARE: { \
        bool negated = step->instr->attr.compare.direction == HSC_NE; \
        for (int64_t i = 0; i < count; i++) \
          pred[i] = (x[2 * i] == y[2 * i] && x[2 * i + 1] == y[2 * i + 1]) != negated; \
        return; \
      } \
      case HSC_OP_REAL: \
        for (int64_t i = 0; i < count; i++) \
          d[i] = x[2 * i]; \
        return; \
      case HSC_OP_IMAG: \
        for (int64_t i = 0; i < count; i++) \
          d[i] = x[2 * i + 1]; \
        return; \
      case HSC_OP_ABS: \
        for (int64_t i = 0; i < count; i++) \
          d[i] = (T)hypot((double)x[2 * i], (double)x[2 * i + 1]); \
        return; \
      case HSC_OP_SIGN: \
        /* x / |x|, where |x| is larger * sqrt(1 + (smaller / larger)^2), each step in T */ \
        for (int64_t i = 0; i < 2 * count; i += 2) { \
          T re = x[i], im = x[i + 1], r = re < 0 ? -re : re, m = im < 0 ? -im : im, \
            larger = r > m ? r : m, smaller = r > m ? m : r; \
          T ratio = smaller / larger, \
            magnitude = larger * (T)sqrt((double)((T)1 + ratio * ratio)); \
          bool zero = re == 0 && im == 0; /* NaN + 0i is not */ \
          d[i] = zero ? 0 : re / magnitude; \
          d[i + 1] = zero ? 0 : im / magnitude; \
        } \
        return; \
      default: \
        for (int64_t i = 0; i < 2 * count; i += 2) { \
          z128 w = y ? make((double)y[i], (double)y[i + 1]) : 0; \
          z128 r = function(step->op, make((double)x[i], (double)x[i + 1]), w); \
          d[i] = (T)creal(r); \
          d[i + 1] = (T)cimag(r); \
        } \
    } \
  } while (0)

void hsc__lane_complex(
    const hsc__step *step, int64_t count, void *out, const void *a, const void *b) {
  if (step->type == HSC_TYPE_C64)
    COMPLEX_LANES(float);
  else
    COMPLEX_LANES(double);
}
