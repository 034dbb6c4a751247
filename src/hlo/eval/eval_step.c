// eval_step.c - one step on lanes: dispatch by op and element type, and the ops that change the
// kind of their lanes.
#include <math.h>

#include "hlo/eval/eval_internal.h"

bool hsc__step_supported(const hsc_instr *instr, hsc_type operand_type) {
  hsc__kind kind = hsc__kind_of(operand_type);
  hsc_type_class class = hsc_type_class_of(operand_type);
  switch (instr->op) {
    case HSC_OP_SELECT:
    case HSC_OP_CLAMP:
    case HSC_OP_CONVERT:
      return kind != HSC__NO_KIND && hsc__kind_of(instr->shape.type) != HSC__NO_KIND;
    case HSC_OP_BITCAST_CONVERT:
      return hsc_type_bits(operand_type) == hsc_type_bits(instr->shape.type);
    case HSC_OP_COMPLEX:
      return operand_type == HSC_TYPE_F32 || operand_type == HSC_TYPE_F64;
    case HSC_OP_REAL:
    case HSC_OP_IMAG:
      return class == HSC_CLASS_COMPLEX || class == HSC_CLASS_FLOAT;
    case HSC_OP_REDUCE_PRECISION:
    case HSC_OP_STOCHASTIC_CONVERT:
      return class == HSC_CLASS_FLOAT;
    default:
      break;
  }
  switch (kind) {
    case HSC__I64:
    case HSC__U64:
      return (hsc_op_traits(instr->op) & HSC_TRAIT_INT) != 0;
    case HSC__F32:
    case HSC__F64:
      return (hsc_op_traits(instr->op) & HSC_TRAIT_REAL) != 0;
    case HSC__C64:
    case HSC__C128:
      return (hsc_op_traits(instr->op) & HSC_TRAIT_COMPLEX) != 0;
    default:
      return false;
  }
}

// ---- ops over several kinds ---------------------------------------------------------------------

typedef struct pair16 {
  uint64_t low, high;
} pair16;

#define SELECT(T) \
  do { \
    const T *x = on_true, *y = on_false; \
    T *d = out; \
    for (int64_t i = 0; i < count; i++) \
      d[i] = pred[i] ? x[i] : y[i]; \
  } while (0)

static void select_lanes(hsc__kind kind,
                         int64_t count,
                         void *out,
                         const uint64_t *pred,
                         const void *on_true,
                         const void *on_false) {
  switch (hsc__kind_bytes(kind)) {
    case 4:
      SELECT(uint32_t);
      break;
    case 8:
      SELECT(uint64_t);
      break;
    default:
      SELECT(pair16);
      break;
  }
}

static void clamp_lanes(const hsc__step *step,
                        int64_t count,
                        void *out,
                        const void *low,
                        const void *x,
                        const void *high) {
  // min(high, max(low, x)): a NaN in any of the three gives NaN.
  hsc__step part = *step;
  part.op = HSC_OP_MAXIMUM;
  hsc__step_run(&part, count, out, low, x, NULL);
  part.op = HSC_OP_MINIMUM;
  hsc__step_run(&part, count, out, high, out, NULL);
}

static void complex_lanes(hsc_type type, int64_t count, void *out, const void *re, const void *im) {
  if (type == HSC_TYPE_F32) {
    for (int64_t i = 0; i < count; i++) {
      ((float *)out)[2 * i] = ((const float *)re)[i];
      ((float *)out)[2 * i + 1] = ((const float *)im)[i];
    }
  } else {
    for (int64_t i = 0; i < count; i++) {
      ((double *)out)[2 * i] = ((const double *)re)[i];
      ((double *)out)[2 * i + 1] = ((const double *)im)[i];
    }
  }
}

static void bitcast_lanes(const hsc__step *step, int64_t count, void *out, const void *a) {
  _Alignas(16) unsigned char bytes[HSC__LANE_BYTES];
  hsc__lane_store(step->type, a, count, bytes);
  hsc__lane_load(step->out_type, bytes, count, out);
}

// Rounds a float of `mantissa_bits` stored bits and `exponent_bits` to fewer of either, on its
// bits: nearest even, overflow to infinity, underflow to zero (reduce-precision never makes
// denormals). XLA: xla/service/elemental_ir_emitter.cc, EmitReducePrecisionIR.
static uint64_t reduce_bits(
    uint64_t bits, int stored_exponent, int stored_mantissa, int exponent_bits, int mantissa_bits) {
  uint64_t sign_bit = 1ull << (stored_exponent + stored_mantissa);
  uint64_t sign = bits & sign_bit;
  uint64_t magnitude = bits & (sign_bit - 1);
  uint64_t infinity = ((1ull << stored_exponent) - 1) << stored_mantissa;
  if (magnitude > infinity)
    return mantissa_bits > 0 ? bits : sign | infinity | 1ull << (stored_mantissa - 1);
  if (mantissa_bits < stored_mantissa) {
    int dropped = stored_mantissa - mantissa_bits;
    uint64_t last = 1ull << dropped;
    uint64_t odd = magnitude >> dropped & 1;
    magnitude = (magnitude + (last >> 1) - 1 + odd) & ~(last - 1);
  }
  if (exponent_bits < stored_exponent) {
    uint64_t bias = (1ull << (stored_exponent - 1)) - 1;
    uint64_t reduced_bias = (1ull << (exponent_bits - 1)) - 1;
    uint64_t max_exponent = (bias + reduced_bias) << stored_mantissa;
    uint64_t min_exponent = (bias - reduced_bias) << stored_mantissa;
    uint64_t exponent = magnitude & infinity;
    if (exponent > max_exponent)
      magnitude = infinity;
    if (exponent <= min_exponent)
      magnitude = 0;
  }
  return sign | magnitude;
}

static void reduce_precision_lanes(const hsc__step *step, int64_t count, void *out, const void *a) {
  int exponent_bits = step->instr->attr.precision.exponent_bits;
  int mantissa_bits = step->instr->attr.precision.mantissa_bits;
  if (hsc__kind_of(step->type) == HSC__F64) {
    for (int64_t i = 0; i < count; i++)
      ((uint64_t *)out)[i] =
          reduce_bits(((const uint64_t *)a)[i], 11, 52, exponent_bits, mantissa_bits);
  } else if (step->type == HSC_TYPE_F16) {  // its own exponent range decides what is too small
    _Alignas(16) uint16_t halves[HSC__LANES];
    hsc__lane_store(HSC_TYPE_F16, a, count, halves);
    for (int64_t i = 0; i < count; i++)
      halves[i] = (uint16_t)reduce_bits(halves[i], 5, 10, exponent_bits, mantissa_bits);
    hsc__lane_load(HSC_TYPE_F16, halves, count, out);
  } else {
    for (int64_t i = 0; i < count; i++)
      ((uint32_t *)out)[i] =
          (uint32_t)reduce_bits(((const uint32_t *)a)[i], 8, 23, exponent_bits, mantissa_bits);
  }
}

// Rounds to `type` up or down with the odds of the distance: up (away from zero) when the random
// bits, as a fraction, are under the part of the step that is cut off. Integers as XLA's
// stochastic_convert_decomposer: truncated magnitude, plus one when bits < fraction.
static void stochastic_lanes(const hsc__step *step,
                             int64_t count,
                             void *out,
                             const void *a,
                             const uint64_t *random,
                             hsc_type random_type) {
  int random_bits = hsc_type_bits(random_type);
  bool wide = hsc__kind_of(step->type) == HSC__F64;
  for (int64_t i = 0; i < count; i++) {
    double v = wide ? ((const double *)a)[i] : (double)((const float *)a)[i];
    double odds = ldexp((double)random[i], -random_bits);
    double magnitude = fabs(v);
    double result;
    if (hsc_type_is_integral(step->out_type)) {
      double whole = trunc(magnitude);
      result = whole + (magnitude - whole > odds ? 1 : 0);
      result = v < 0 ? -result : result;
      _Alignas(16) double one[1] = {result};
      hsc__lane_convert(HSC_TYPE_F64, one, step->out_type, 1, (uint64_t *)out + i);
      continue;
    }
    uint64_t bits = hsc_float_encode(step->out_type, magnitude);
    double low = hsc_float_decode(step->out_type, bits);
    if (low > magnitude && bits > 0)
      low = hsc_float_decode(step->out_type, --bits);
    if (isfinite(magnitude) && low < magnitude) {
      double high = hsc_float_decode(step->out_type, bits + 1);
      if (isfinite(high) && (magnitude - low) / (high - low) > odds)
        low = high;
    }
    result = isfinite(magnitude)
                 ? copysign(low, v)
                 : hsc_float_decode(step->out_type, hsc_float_encode(step->out_type, v));
    if (hsc__kind_of(step->out_type) == HSC__F64)
      ((double *)out)[i] = result;
    else
      ((float *)out)[i] = (float)result;
  }
}

void hsc__step_run(
    const hsc__step *step, int64_t count, void *out, const void *a, const void *b, const void *c) {
  hsc__kind kind = hsc__kind_of(step->type);
  switch (step->op) {
    case HSC_OP_SELECT:
      select_lanes(kind, count, out, a, b, c);
      return;
    case HSC_OP_CLAMP:
      clamp_lanes(step, count, out, a, b, c);
      return;
    case HSC_OP_CONVERT:
      hsc__lane_convert(step->type, a, step->out_type, count, out);
      return;
    case HSC_OP_BITCAST_CONVERT:
      bitcast_lanes(step, count, out, a);
      return;
    case HSC_OP_COMPLEX:
      complex_lanes(step->type, count, out, a, b);
      return;
    case HSC_OP_REDUCE_PRECISION:
      reduce_precision_lanes(step, count, out, a);
      hsc__lane_round(step->out_type, count, out);
      return;
    case HSC_OP_STOCHASTIC_CONVERT:
      stochastic_lanes(step, count, out, a, b, step->instr->operands[1]->shape.type);
      return;
    case HSC_OP_REAL:
    case HSC_OP_IMAG:
      if (kind == HSC__F32 || kind == HSC__F64) {  // of a real number
        if (step->op == HSC_OP_REAL)
          memmove(out, a, (size_t)count * hsc__kind_bytes(kind));
        else
          memset(out, 0, (size_t)count * hsc__kind_bytes(kind));
        return;
      }
      break;
    default:
      break;
  }
  switch (kind) {
    case HSC__I64:
    case HSC__U64:
      hsc__lane_int(step, count, out, a, b);
      break;
    case HSC__F32:
      hsc__lane_f32(step, count, out, a, b);
      break;
    case HSC__F64:
      hsc__lane_f64(step, count, out, a, b);
      break;
    default:
      hsc__lane_complex(step, count, out, a, b);
      break;
  }
  if (!hsc__type_is_direct(step->out_type) && step->out_type != HSC_TYPE_PRED)
    hsc__lane_round(step->out_type, count, out);
  if (step->out_type == HSC_TYPE_PRED && step->op != HSC_OP_COMPARE && step->op != HSC_OP_IS_FINITE)
    hsc__lane_round(HSC_TYPE_PRED, count, out);
}
