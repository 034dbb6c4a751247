// vmath.c - see vmath.h. Compiled once per instruction set (HSC_ISA, HSC_ISA_BYTES as in
// gemm_kernels.c).
//
// Each f32 function reduces its argument to a small interval and evaluates a polynomial there
// (polynomials.h). emit_math.c writes some of them into generated code: the same steps in the same
// order, so that results are the same.
#include "cpu/kernels/vmath/vmath.h"

#include <math.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "cpu/kernels/vmath/polynomials.h"
#include "hlo/ir/hlo.h"

#define CONCAT3_(a, b, c) a##b##c
#define CONCAT3(a, b, c) CONCAT3_(a, b, c)

enum { F32_LANES = HSC_ISA_BYTES / 4, F64_LANES = HSC_ISA_BYTES / 8 };
typedef float vf __attribute__((vector_size(HSC_ISA_BYTES)));
typedef int32_t vi __attribute__((vector_size(HSC_ISA_BYTES)));
typedef uint32_t vu __attribute__((vector_size(HSC_ISA_BYTES)));
typedef double vd __attribute__((vector_size(HSC_ISA_BYTES)));
// as many doubles as vf has floats
typedef double vd2 __attribute__((vector_size(2 * HSC_ISA_BYTES)));

static inline vf all(float x) {
  return x - (vf){0};
}
static inline vf pick(vi mask, vf yes, vf no) {
  return (vf)(((vi)yes & mask) | ((vi)no & ~mask));
}
static inline vf absolute(vf x) {
  return (vf)((vi)x & 0x7fffffff);
}
static inline vf sign_of(vf x, vf magnitude) {
  return (vf)(((vi)x & (vi)all(-0.0f)) | ((vi)magnitude & 0x7fffffff));
}
static inline vf clamp(vf x, float low, float high) {
  x = pick(x > low, x, all(low));  // also for NaN
  return pick(x < high, x, all(high));
}
// Whether a lane of a mask is set: one instruction, where a loop over lanes is fifty.
static inline bool any_of(vi mask) {
#if defined(__AVX512DQ__) && HSC_ISA_BYTES == 64
  return _mm512_movepi32_mask((__m512i)mask) != 0;
#elif defined(__AVX2__) && HSC_ISA_BYTES == 32
  return _mm256_movemask_ps((__m256)mask) != 0;
#elif defined(__SSE2__) && HSC_ISA_BYTES == 16
  return _mm_movemask_ps((__m128)mask) != 0;
#else
  int32_t any = 0;
  for (int i = 0; i < F32_LANES; i++)
    any |= mask[i];
  return any != 0;
#endif
}
// Sums in powers (polynomials.h).
#define FIRST(p, x, c) vf p = all(c);
#define NEXT(p, x, c) p = p * x + c;

// Nearest whole number, for |x| < 2^22.
static inline vf nearest(vf x) {
  vf shift = all(12582912.0f);
  return (x + shift) - shift;
}
static inline vf power_of_two(vi n) {
  return (vf)((n + 127) << 23);
}  // -126 <= n <= 127

// x = n ln 2 + r with |r| <= ln 2 / 2; returns exp(r) - 1.
static inline vf reduced_expm1(vf x, vf *out_n) {
  vf n = nearest(x * HSC_LOG2_E);
  vf r = x - n * HSC_LN2_HIGH;
  r = r - n * HSC_LN2_LOW;
  HSC_POLY_EXP(FIRST, NEXT, q, r)
  *out_n = n;
  return r + r * r * q;
}

static inline vf exp_f32(vf x) {
  vf n;
  vf e = reduced_expm1(clamp(x, -120.0f, 120.0f), &n);
  // The scale in two factors reaches subnormal results and infinity.
  vi whole = __builtin_convertvector(n, vi);
  vi half = whole >> 1;
  vf result = (e + 1.0f) * power_of_two(half) * power_of_two(whole - half);
  return pick(x != x, x, result);
}

static inline vf expm1_f32(vf x) {
  vf n;
  vf e = reduced_expm1(clamp(x, -30.0f, 100.0f), &n);
  // 2^n e + (2^n - 1), in halves so that n = 128 does not overflow early; above, the sum is
  // infinite.
  vi whole = __builtin_convertvector(n, vi);
  vi cut = whole > 128;
  whole = (whole & ~cut) | (cut & 128);
  vf scale = power_of_two(whole - 1);
  vf result = scale * e + (scale - 0.5f);
  result = result + result;
  result = pick(x > 88.7228394f, all(INFINITY), result);
  // Small arguments keep their own bits: x + x^2 / 2 is exact enough and does not lose subnormals.
  result = pick(absolute(x) < 1e-4f, x + 0.5f * x * x, result);
  result = pick(x == 0, x, result);
  return pick(x != x, x, result);
}

// log(x) for positive finite x, as the sum of a large and a small part.
static inline vf log_positive(vf x) {
  vi tiny = x < 1.17549435e-38f;
  x = pick(tiny, x * 8388608.0f, x);
  vi bits = (vi)x;
  // Mantissa in [sqrt(1/2), sqrt(2)).
  vi exponent = (bits - 0x3f3504f3) >> 23;
  vf m = (vf)(bits - (exponent << 23));
  vf n = __builtin_convertvector(exponent - (tiny & 23), vf);
  vf f = m - 1.0f;
  vf s = f * f;
  HSC_POLY_LOG(FIRST, NEXT, r, f)
  vf small = s * f * r + n * HSC_LN2_LOW;
  small = small - 0.5f * s;
  return n * HSC_LN2_HIGH + (f + small);
}

static inline vf log_f32(vf x) {
  vf result = log_positive(pick(x > 0, pick(x < INFINITY, x, all(1)), all(1)));
  result = pick(x == 0, all(-INFINITY), result);
  result = pick(x < 0, all(NAN), result);
  result = pick(x == INFINITY, x, result);
  return pick(x != x, x, result);
}

// log(u) with u = 1 + x rounded, and what the rounding lost: c / u.
static inline vf log1p_f32(vf x) {
  vf safe = pick(x > -1.0f, pick(x < 1e30f, x, all(1)), all(1));
  vf u = 1.0f + safe;
  vf lost = pick(absolute(safe) < 1.0f, safe - (u - 1.0f), 1.0f - (u - safe));
  vf result = log_positive(u) + lost / u;
  result = pick(absolute(x) < 1e-4f, x - 0.5f * x * x, result);
  result = pick(x >= 1e30f, log_f32(x), result);
  result = pick(x == -1.0f, all(-INFINITY), result);
  result = pick(x < -1.0f, all(NAN), result);
  result = pick(x == 0, x, result);
  return pick(x != x, x, result);
}

// t / (t + 2) of t = exp(2 |x|) - 1, where 1 <= 2^n <= 2^29: none of the cases that expm1 has to
// tell apart can come up. NaN goes through all of it.
static inline vf tanh_f32(vf x) {
  vf n;
  vf twice = absolute(x) + absolute(x);
  vf e = reduced_expm1(pick(twice > 20.0f, all(20.0f), twice), &n);
  vf scale = power_of_two(__builtin_convertvector(n, vi));
  vf t = scale * e + (scale - 1.0f);
  return sign_of(x, t / (t + 2.0f));
}

// By the exponential that cannot overflow, so that far negative arguments keep their small, at last
// subnormal, results.
static inline vf logistic_f32(vf x) {
  vf e = exp_f32(-absolute(x));
  return pick(x < 0, e, all(1.0f)) / (1.0f + e);
}

static inline vf erf_f32(vf x) {
  vf t = absolute(x);
  vf s = x * x;
  vf p = all(-9.64151604421204e-06f);
  p = p * s + 0.0001125694761867635f;
  p = p * s - 0.0008482828852720559f;
  p = p * s + 0.005220945458859205f;
  p = p * s - 0.0268654003739357f;
  p = p * s + 0.11283782124519348f;
  p = p * s - 0.37612637877464294f;
  p = p * s + 1.128379225730896f;
  // erfc(t) = exp(-t g(t)) for 1 < t; above 4.05 erf rounds to 1.
  vf u = pick(t < 4.05f, t, all(4.05f));
  vf g = all(3.7023696677351836e-06f);
  g = g * u - 3.0273617085185833e-05f;
  g = g * u - 0.00012900032743345946f;
  g = g * u + 0.003153897589072585f;
  g = g * u - 0.023043999448418617f;
  g = g * u + 0.10562161356210709f;
  g = g * u + 0.6354358792304993f;
  g = g * u + 1.1285936832427979f;
  vf large = sign_of(x, 1.0f - exp_f32(-u * g));
  vf result = pick(t <= 1.0f, x * p, large);
  return pick(x != x, x, result);
}

// |x| reduced by multiples of pi/2 in f64: the quadrant and the rest. Good to 2^30.
static inline vf quadrant(vf x, vi *out_quadrant) {
  vd2 wide = __builtin_convertvector(x, vd2);
  vd2 shift = 6755399441055744.0 - (vd2){0};
  vd2 n = (wide * HSC_TWO_OVER_PI + shift) - shift;
  vd2 rest = wide - n * HSC_HALF_PI_HIGH;
  rest = rest - n * HSC_HALF_PI_LOW;
  *out_quadrant = __builtin_convertvector(n, vi);
  return __builtin_convertvector(rest, vf);
}

static inline vf sine_part(vf r) {
  vf s = r * r;
  HSC_POLY_SIN(FIRST, NEXT, p, s)
  return r + r * s * p;
}

static inline vf cosine_part(vf r) {
  vf s = r * r;
  HSC_POLY_COS(FIRST, NEXT, p, s)
  return s * s * p + (1.0f - 0.5f * s);
}

enum { TRIG_SIN, TRIG_COS, TRIG_TAN };

// Of the C library: for arguments so large that a quadrant in f32 says nothing.
static inline double trig_f64(double x, int which) {
  if (which == TRIG_SIN)
    return sin(x);
  return which == TRIG_COS ? cos(x) : tan(x);
}

static inline vf trig_f32(vf x, int which) {
  vi big = ~(vi)(absolute(x) < 1e8f);
  vi q;
  vf r = quadrant(pick(big, all(0), x), &q);
  vf s = sine_part(r);
  vf c = cosine_part(r);
  vi swap = -(q & 1);
  vf result;
  if (which == TRIG_TAN) {
    result = pick(swap, -c / s, s / c);
  } else {
    if (which == TRIG_COS)
      q = q + 1;
    swap = -(q & 1);
    result = pick(swap, c, s);
    result = (vf)((vi)result ^ ((q & 2) << 30));
  }
  if (which != TRIG_COS)
    result = pick(x == 0, x, result);
  if (any_of(big))
    for (int i = 0; i < F32_LANES; i++)
      if (big[i])
        result[i] = (float)trig_f64((double)x[i], which);
  return result;
}

static inline vf sin_f32(vf x) {
  return trig_f32(x, TRIG_SIN);
}
static inline vf cos_f32(vf x) {
  return trig_f32(x, TRIG_COS);
}
static inline vf tan_f32(vf x) {
  return trig_f32(x, TRIG_TAN);
}

// ---- in f64 -------------------------------------------------------------------------------------

typedef int64_t vl __attribute__((vector_size(HSC_ISA_BYTES)));

static inline vd all_f64(double x) {
  return x - (vd){0};
}
static inline vd pick_f64(vl mask, vd yes, vd no) {
  return (vd)(((vl)yes & mask) | ((vl)no & ~mask));
}
static inline vd absolute_f64(vd x) {
  return (vd)((vl)x & INT64_MAX);
}
static inline vd power_of_two_f64(vl n) {
  return (vd)((n + 1023) << 52);
}  // -1022 <= n <= 1023

// x = n ln 2 + r as in reduced_expm1; exp(r) - 1 by its series, of which 13 terms are within 5e-18.
static inline vd reduced_expm1_f64(vd x, vl *out_n) {
  vd shift = all_f64(6755399441055744.0);
  vd shifted = x * 1.4426950408889634074 + shift;
  vd n = shifted - shift;
  vd r = x - n * 0x1.62e42fee00000p-1;
  r = r - n * 0x1.a39ef35793c76p-33;
  vd q = all_f64(1.0 / 6227020800);
  q = q * r + 1.0 / 479001600;
  q = q * r + 1.0 / 39916800;
  q = q * r + 1.0 / 3628800;
  q = q * r + 1.0 / 362880;
  q = q * r + 1.0 / 40320;
  q = q * r + 1.0 / 5040;
  q = q * r + 1.0 / 720;
  q = q * r + 1.0 / 120;
  q = q * r + 1.0 / 24;
  q = q * r + 1.0 / 6;
  q = q * r + 0.5;
  *out_n = (vl)shifted - (vl)shift;
  return r + r * r * q;
}

static inline vd exp_f64(vd x) {
  vl n;
  vd safe = pick_f64(x > -800, pick_f64(x < 800, x, all_f64(800)), all_f64(-800));
  vd e = reduced_expm1_f64(safe, &n);
  vl half = n >> 1;
  vd result = (e + 1.0) * power_of_two_f64(half) * power_of_two_f64(n - half);
  return pick_f64(x != x, x, result);
}

static inline vd expm1_f64(vd x) {
  vl n;
  vd safe = pick_f64(x > -50, pick_f64(x < 709, x, all_f64(709)), all_f64(-50));
  vd e = reduced_expm1_f64(safe, &n);
  vd scale = power_of_two_f64(n - 1);
  vd result = scale * e + (scale - 0.5);
  result = result + result;
  result = pick_f64(x >= 709, exp_f64(x), result);
  result = pick_f64(absolute_f64(x) < 1e-9, x + 0.5 * x * x, result);
  result = pick_f64(x == 0, x, result);
  return pick_f64(x != x, x, result);
}

// log(x) for positive finite x: with s = f / (2 + f), log(1 + f) = f - s (f - 2 z (1/3 + z/5 ...)),
// z = s^2 < 0.0295.
static inline vd log_positive_f64(vd x) {
  vl tiny = x < 0x1p-1022;
  x = pick_f64(tiny, x * 0x1p54, x);
  vl bits = (vl)x;
  vl exponent = (bits - 0x3fe6a09e667f3bcd) >> 52;
  vd f = (vd)(bits - (exponent << 52)) - 1.0;
  // Whole numbers below 2^51 as doubles: by the bits of 2^52 + 2^51.
  vd shift = all_f64(6755399441055744.0);
  vd n = (vd)((vl)shift + exponent - (tiny & 54)) - shift;
  vd s = f / (2.0 + f);
  vd z = s * s;
  vd p = all_f64(2.0 / 23);
  p = p * z + 2.0 / 21;
  p = p * z + 2.0 / 19;
  p = p * z + 2.0 / 17;
  p = p * z + 2.0 / 15;
  p = p * z + 2.0 / 13;
  p = p * z + 2.0 / 11;
  p = p * z + 2.0 / 9;
  p = p * z + 2.0 / 7;
  p = p * z + 2.0 / 5;
  p = p * z + 2.0 / 3;
  vd small = n * 0x1.a39ef35793c76p-33 - s * (f - z * p);
  return n * 0x1.62e42fee00000p-1 + (f + small);
}

static inline vd log_f64(vd x) {
  vd one = all_f64(1);
  vd result = log_positive_f64(pick_f64(x > 0, pick_f64(x < INFINITY, x, one), one));
  result = pick_f64(x == 0, all_f64(-INFINITY), result);
  result = pick_f64(x < 0, all_f64(NAN), result);
  result = pick_f64(x == INFINITY, x, result);
  return pick_f64(x != x, x, result);
}

static inline vd tanh_f64(vd x) {
  vd a = absolute_f64(x);
  vd t = expm1_f64(2.0 * pick_f64(a < 20.0, a, all_f64(20)));
  vd result = (vd)((vl)(t / (t + 2.0)) | ((vl)x & INT64_MIN));
  result = pick_f64(a < 1e-8, x, result);
  return pick_f64(x != x, x, result);
}

static inline vd logistic_f64(vd x) {
  vd e = exp_f64(-absolute_f64(x));
  vd one = all_f64(1);
  vd result = pick_f64(x < 0, e, one) / (1.0 + e);
  return pick_f64(x != x, x, result);
}

// exp(y log x) in f64, whose errors are far below half a unit of f32. What is not positive and
// finite on both sides goes to the C library, lane by lane.
static inline vf pow_f32(vf x, vf y) {
  vi plain = (x > 0) & (x < INFINITY) & (absolute(y) < INFINITY);
  vf safe_x = pick(plain, x, all(1));
  vf safe_y = pick(plain, y, all(0));
  vf result;
  for (int part = 0; part < 2; part++) {
    vd base;
    vd power;
    for (int i = 0; i < F64_LANES; i++) {
      base[i] = safe_x[part * F64_LANES + i];
      power[i] = safe_y[part * F64_LANES + i];
    }
    vd made = exp_f64(power * log_positive_f64(base));
    for (int i = 0; i < F64_LANES; i++)
      result[part * F64_LANES + i] = (float)made[i];
  }
  bool all_plain = true;
  for (int i = 0; i < F32_LANES; i++)
    all_plain = all_plain && plain[i];
  for (int i = 0; !all_plain && i < F32_LANES; i++)
    if (!plain[i])
      result[i] = (float)pow((double)x[i], (double)y[i]);
  return result;
}

// Functions that are rarely in a hot loop: the C library's in f64, lane by lane.
#define LANES_F32_1(name) \
  static float one_##name##_f32(float x) { \
    return (float)name((double)x); \
  } \
  static inline vf name##_f32(vf x) { \
    for (int i = 0; i < F32_LANES; i++) \
      x[i] = (float)name((double)x[i]); \
    return x; \
  }
#define LANES_F32_2(name) \
  static float one_##name##_f32(float x, float y) { \
    return (float)name((double)x, (double)y); \
  } \
  static inline vf name##_f32(vf x, vf y) { \
    for (int i = 0; i < F32_LANES; i++) \
      x[i] = (float)name((double)x[i], (double)y[i]); \
    return x; \
  }
#define LANES_F64_1(name) \
  static inline vd name##_f64(vd x) { \
    for (int i = 0; i < F64_LANES; i++) \
      x[i] = name(x[i]); \
    return x; \
  }
#define LANES_F64_2(name) \
  static inline vd name##_f64(vd x, vd y) { \
    for (int i = 0; i < F64_LANES; i++) \
      x[i] = name(x[i], y[i]); \
    return x; \
  }
#define LANES_F64(name, operands) LANES_F64_##operands(name)
#define LANES_F32_F64(name, operands) LANES_F32_##operands(name) LANES_F64_##operands(name)
#define LANES(name, operands, types) LANES_##types(name, operands)
#include "cpu/kernels/vmath/lanes.def"
#undef LANES

// Bits of a narrow float in the lanes' integer form, to f32 and back.
#define NARROW(name, id) \
  static inline vf decode_##name##_f32(vf x) { \
    for (int i = 0; i < F32_LANES; i++) \
      x[i] = (float)hsc_float_decode(HSC_TYPE_##id, (uint64_t)(((vi)x)[i] & 0xff)); \
    return x; \
  } \
  static inline vf encode_##name##_f32(vf x) { \
    vi bits = {0}; \
    for (int i = 0; i < F32_LANES; i++) \
      bits[i] = (int32_t)hsc_float_encode(HSC_TYPE_##id, (double)x[i]); \
    return (vf)bits; \
  }
NARROW(f8e3m4, F8E3M4)
NARROW(f8e4m3, F8E4M3)
NARROW(f8e4m3b11fnuz, F8E4M3B11FNUZ)
NARROW(f8e4m3fn, F8E4M3FN)
NARROW(f8e4m3fnuz, F8E4M3FNUZ)
NARROW(f8e5m2, F8E5M2)
NARROW(f8e5m2fnuz, F8E5M2FNUZ)
NARROW(f8e8m0fnu, F8E8M0FNU)
NARROW(f4e2m1fn, F4E2M1FN)

// ---- the functions that generated code calls, and their table -----------------------------------

#define PARAMETERS_1(type) type x
#define ARGUMENTS_1 x
#define PARAMETERS_2(type) type x, type y
#define ARGUMENTS_2 x, y
#define DEFINE_F32(name, operands) \
  static vf call_##name##_f32(PARAMETERS_##operands(vf)) { \
    return name##_f32(ARGUMENTS_##operands); \
  }
#define DEFINE_F32_F64(name, operands) \
  DEFINE_F32(name, operands) \
  static vd call_##name##_f64(PARAMETERS_##operands(vd)) { \
    return name##_f64(ARGUMENTS_##operands); \
  }
#define VMATH(name, operands, types, op) DEFINE_##types(name, operands)
#include "cpu/kernels/vmath/vmath.def"
#undef VMATH

// What LLVM calls where the instruction set lacks an operation (rounding before SSE4.1, fma,
// conversions of f16): names and calling convention of libm and of the compilers' runtime
// libraries.
#define LIBM(name) {#name, (void *)name}, {#name "f", (void *)name##f},
#if defined(__FLT16_MAX__)
static float extend_half(_Float16 x) {
  return (float)x;
}
static _Float16 truncate_float(float x) {
  return (_Float16)x;
}
static _Float16 truncate_double(double x) {
  return (_Float16)x;
}
#define HALF_ROWS \
  {"__extendhfsf2", (void *)extend_half}, {"__truncsfhf2", (void *)truncate_float}, \
      {"__truncdfhf2", (void *)truncate_double},
#else
#define HALF_ROWS
#endif

#define ROW_F32(name) {"hsc_vm_" #name "_f32", (void *)call_##name##_f32},
#define ROW_F32_F64(name) ROW_F32(name){"hsc_vm_" #name "_f64", (void *)call_##name##_f64},
#define ONE_F64(name) {"hsc_vs_" #name "_f64", (void *)name},
#define ONE_F32_F64(name) {"hsc_vs_" #name "_f32", (void *)one_##name##_f32}, ONE_F64(name)
static const hsc_cpu_symbol symbols[] = {
#define VMATH(name, operands, types, op) ROW_##types(name)
#include "cpu/kernels/vmath/vmath.def"
#undef VMATH
#define FEW(name, operands, one) {"hsc_vs_" #name "_f32", (void *)one},
#define LANES(name, operands, types) ONE_##types(name)
#include "cpu/kernels/vmath/lanes.def"
#undef LANES
#undef FEW
    LIBM(ceil) LIBM(floor) LIBM(trunc) LIBM(rint) LIBM(nearbyint) LIBM(round) LIBM(fma) LIBM(fmod)
        HALF_ROWS};

const hsc_cpu_symbol *CONCAT3(hsc_vmath_symbols_, HSC_ISA, )(size_t *out_count);
const hsc_cpu_symbol *CONCAT3(hsc_vmath_symbols_, HSC_ISA, )(size_t *out_count) {
  *out_count = HSC_COUNT_OF(symbols);
  return symbols;
}
