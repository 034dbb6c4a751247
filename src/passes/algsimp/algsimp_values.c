// algsimp_values.c - what the rules on values share, and the rules on operations of one value, on
// powers, remainders, shifts and conversions.
#include <math.h>

#include "passes/algsimp/algsimp.h"

// ---- what is known of a value -------------------------------------------------------------------

bool hsc__is_uniform_constant(hsc_instr *instr) {
  hsc_instr *value = hsc__uniform_value(instr);
  return value && value->op == HSC_OP_CONSTANT && !value->attr.literal.value->elided;
}

// The operation alone proves that the result is not below zero, whatever its operands are.
static bool gives_no_negatives(const hsc_instr *x) {
  switch (x->op) {
    case HSC_OP_EXP:
    case HSC_OP_LOGISTIC:
      return true;
    case HSC_OP_ABS:   // |lowest integer| is negative
    case HSC_OP_SQRT:  // of a negative number: NaN; of -0: -0, which is not below zero
      return hsc__is_float(x);
    case HSC_OP_MULTIPLY:
      return hsc__is_float(x) && x->operands[0] == x->operands[1];
    case HSC_OP_IOTA:  // a narrow one may wrap
      return hsc__is_float(x) || hsc_type_bits(x->shape.type) >= 32 ||
             x->shape.dims[x->attr.dims.dims.v[0]] <= 1ll << (hsc_type_bits(x->shape.type) - 1);
    case HSC_OP_CONSTANT: {
      const hsc_literal *literal = x->attr.literal.value;
      return !literal->elided && hsc_shape_is_scalar(&x->shape) &&
             hsc_literal_get_double(literal, 0) >= 0 &&
             !signbit(hsc_literal_get_double(literal, 0));
    }
    default:
      return false;
  }
}

// The operands that must all be free of negative numbers for the result to be so too, operand i in
// bit i. 0: nothing follows from the operands. Sums and powers of integers wrap, those of floating
// point do not.
static unsigned deciding_operands(const hsc_instr *x) {
  enum { FIRST = 1, SECOND = 2, THIRD = 4 };
  switch (x->op) {
    case HSC_OP_ABS:
    case HSC_OP_BROADCAST:
    case HSC_OP_RESHAPE:
    case HSC_OP_TRANSPOSE:
    case HSC_OP_SLICE:
      return FIRST;
    case HSC_OP_MINIMUM:
      return FIRST | SECOND;
    case HSC_OP_SELECT:
      return SECOND | THIRD;
    case HSC_OP_POWER:
      return hsc__is_float(x) ? FIRST : 0;
    case HSC_OP_ADD:
      return hsc__is_float(x) ? FIRST | SECOND : 0;
    case HSC_OP_CLAMP:  // min(max(low, x), high)
      return hsc__is_float(x) ? FIRST | THIRD : 0;
    default:
      return 0;
  }
}

// Cannot be below zero, whatever the inputs (NaN is not below zero). The limit of depth keeps the
// question cheap: it is asked of every operation, and operands are shared.
static bool is_never_negative(const hsc_instr *x, int depth) {
  if (depth > 6 || hsc_type_is_complex(x->shape.type))
    return false;
  if (hsc_type_class_of(x->shape.type) == HSC_CLASS_UNSIGNED || hsc__is_pred(x) ||
      gives_no_negatives(x))
    return true;
  if (x->op == HSC_OP_MAXIMUM)  // one is enough
    return is_never_negative(x->operands[0], depth + 1) ||
           is_never_negative(x->operands[1], depth + 1);
  unsigned deciding = deciding_operands(x);
  bool holds = deciding != 0;
  for (int i = 0; holds && i < x->operand_count; i++)
    if (deciding >> i & 1)
      holds = is_never_negative(x->operands[i], depth + 1);
  return holds;
}

bool hsc__never_negative(hsc_instr *instr) {
  return is_never_negative(instr, 0);
}

// The uniform constant as a number; false when it is none, or not a real one.
bool hsc__uniform_number(hsc_instr *instr, double *out_value) {
  hsc_instr *value = hsc__uniform_value(instr);
  if (!value || value->op != HSC_OP_CONSTANT || value->attr.literal.value->elided ||
      hsc_type_is_complex(value->shape.type))
    return false;
  if (hsc_type_bits(value->shape.type) > 53 && hsc__is_int(value)) {
    int64_t n = hsc_literal_get_int(value->attr.literal.value, 0);
    if (n > 1ll << 53 || n < -(1ll << 53))
      return false;
  }
  *out_value = hsc_literal_get_double(value->attr.literal.value, 0);
  return true;
}

int hsc__power_of_two(hsc_instr *instr) {
  hsc_instr *value = hsc__uniform_value(instr);
  if (!value || value->op != HSC_OP_CONSTANT || value->attr.literal.value->elided ||
      !hsc__is_int(value))
    return -1;
  uint64_t n = (uint64_t)hsc_literal_get_int(value->attr.literal.value, 0);
  if (hsc_type_class_of(value->shape.type) == HSC_CLASS_SIGNED && (int64_t)n <= 0)
    return -1;
  return n && !(n & (n - 1)) ? __builtin_ctzll(n) : -1;
}

// ---- signs, roots, logarithms -------------------------------------------------------------------

HSC_RULE(negate_twice) {
  return instr->operands[0]->op == HSC_OP_NEGATE ? instr->operands[0]->operands[0] : NULL;
}

HSC_RULE(abs_of_abs) {
  hsc_instr *x = instr->operands[0];
  return x->op == HSC_OP_ABS ? x : NULL;
}

HSC_RULE(abs_of_never_negative) {
  hsc_instr *x = instr->operands[0];
  // sqrt may be -0: |A| is A for what is above; a product of floats by itself cannot be -0.
  return x->op != HSC_OP_SQRT && is_never_negative(x, 0) ? x : NULL;
}

HSC_RULE(round_twice) {
  hsc_instr *x = instr->operands[0];
  return x->op == instr->op ? x : NULL;
}

// A^0 is 1 for every A, infinite ones too.
HSC_RULE(log_of_power) {
  hsc_instr *x = instr->operands[0];
  double exponent;
  if (!hsc__is_float(instr) || x->op != HSC_OP_POWER || !hsc__has_one_use(x) ||
      !is_never_negative(x->operands[0], 0))
    return NULL;
  hsc_instr *power = x->operands[1];
  hsc_instr *replacement =
      hsc_build_binary(b, HSC_OP_MULTIPLY, power, hsc_build_unary(b, HSC_OP_LOG, x->operands[0]));
  if (hsc__uniform_number(power, &exponent) && exponent != 0)
    return replacement;
  hsc_instr *nothing = hsc__uniform_constant(b, 0, instr);
  hsc_instr *is_zero = hsc_build_compare(b, HSC_EQ, power, hsc__uniform_constant(b, 0, power));
  return hsc_build_select(b, is_zero, nothing, replacement);
}

HSC_RULE(log_of_root) {
  hsc_instr *x = instr->operands[0];
  if (!hsc__is_float(instr) || (x->op != HSC_OP_SQRT && x->op != HSC_OP_RSQRT) ||
      !hsc__has_one_use(x))
    return NULL;
  hsc_instr *half = hsc__uniform_constant(b, x->op == HSC_OP_SQRT ? 0.5 : -0.5, instr);
  hsc_instr *log = hsc_build_unary(b, HSC_OP_LOG, x->operands[0]);
  return hsc_build_binary(b, HSC_OP_MULTIPLY, log, half);
}

HSC_RULE(log_of_exponential) {
  const hsc_instr *x = instr->operands[0];
  return hsc__is_float(instr) && x->op == HSC_OP_EXP ? x->operands[0] : NULL;
}

HSC_RULE(sqrt_of_square) {
  const hsc_instr *x = instr->operands[0];
  return hsc__is_float(instr) && x->op == HSC_OP_MULTIPLY && x->operands[0] == x->operands[1]
             ? hsc_build_unary(b, HSC_OP_ABS, x->operands[0])
             : NULL;
}

HSC_RULE(rsqrt_of_power) {
  const hsc_instr *x = instr->operands[0];
  return hsc__is_float(instr) && x->op == HSC_OP_POWER && hsc__is_all(x->operands[1], -2)
             ? hsc_build_unary(b, HSC_OP_ABS, x->operands[0])
             : NULL;
}

HSC_RULE(rsqrt_of_inverse) {
  const hsc_instr *x = instr->operands[0];
  return hsc__is_float(instr) && x->op == HSC_OP_DIVIDE && hsc__is_all(x->operands[0], 1) &&
                 is_never_negative(x->operands[1], 0)
             ? hsc_build_unary(b, HSC_OP_SQRT, x->operands[1])
             : NULL;
}

// ---- powers -------------------------------------------------------------------------------------

HSC_RULE(power_one) {
  return hsc__is_all(instr->operands[1], 1) ? instr->operands[0] : NULL;
}

HSC_RULE(power_zero) {
  return hsc__is_all(instr->operands[1], 0) ? hsc__uniform_constant(b, 1, instr) : NULL;
}

HSC_RULE(power_two) {
  hsc_instr *x = instr->operands[0];
  return hsc__is_all(instr->operands[1], 2) ? hsc_build_binary(b, HSC_OP_MULTIPLY, x, x) : NULL;
}

HSC_RULE(power_three) {
  hsc_instr *x = instr->operands[0];
  return hsc__is_all(instr->operands[1], 3)
             ? hsc_build_binary(b, HSC_OP_MULTIPLY, x, hsc_build_binary(b, HSC_OP_MULTIPLY, x, x))
             : NULL;
}

HSC_RULE(power_half) {
  hsc_instr *x = instr->operands[0];
  return hsc__is_float(instr) && hsc__is_all(instr->operands[1], 0.5) && is_never_negative(x, 0)
             ? hsc_build_unary(b, HSC_OP_SQRT, x)
             : NULL;
}

HSC_RULE(power_minus_one) {
  return hsc__is_float(instr) && hsc__is_all(instr->operands[1], -1)
             ? hsc_build_binary(b, HSC_OP_DIVIDE, hsc__uniform_constant(b, 1, instr),
                                instr->operands[0])
             : NULL;
}

HSC_RULE(power_of_power) {
  const hsc_instr *x = instr->operands[0];
  return hsc__is_float(instr) && x->op == HSC_OP_POWER && hsc__has_one_use(x) &&
                 hsc__never_negative(x->operands[0])
             ? hsc_build_binary(
                   b, HSC_OP_POWER, x->operands[0],
                   hsc_build_binary(b, HSC_OP_MULTIPLY, x->operands[1], instr->operands[1]))
             : NULL;
}

HSC_RULE(power_of_exponential) {
  const hsc_instr *x = instr->operands[0];
  return hsc__is_float(instr) && x->op == HSC_OP_EXP && hsc__has_one_use(x)
             ? hsc_build_unary(
                   b, HSC_OP_EXP,
                   hsc_build_binary(b, HSC_OP_MULTIPLY, x->operands[0], instr->operands[1]))
             : NULL;
}

// ---- conversions --------------------------------------------------------------------------------

// Whether an integer type or truth value is held by a wider integer type or a float with room for
// its digits.
static bool holds_integers(hsc_type wide, hsc_type narrow) {
  int bits = (int)hsc_type_bits(narrow);
  int room = 0;
  hsc_type_class nc = hsc_type_class_of(narrow);
  hsc_type_class wc = hsc_type_class_of(wide);
  if (nc != HSC_CLASS_SIGNED && nc != HSC_CLASS_UNSIGNED)
    return false;
  if (nc == HSC_CLASS_UNSIGNED && wc == HSC_CLASS_SIGNED)
    return (int)hsc_type_bits(wide) > bits;
  if (wc != HSC_CLASS_FLOAT)
    return false;
  if (wide == HSC_TYPE_F64)
    room = 53;
  else if (wide == HSC_TYPE_F32)
    room = 24;
  else if (wide == HSC_TYPE_F16)
    room = 11;
  else if (wide == HSC_TYPE_BF16)
    room = 8;
  else
    room = 0;
  return (nc == HSC_CLASS_SIGNED ? bits - 1 : bits) <= room;
}

// Integers made wide, an operation, the result made narrow again: the low digits of a sum,
// difference or product do not depend on the high ones; quotients and remainders of numbers without
// sign are as small as they were.
HSC_RULE(narrow_operation) {
  hsc_instr *x = instr->operands[0];
  hsc_instr *inner[2];
  hsc_type_class class = hsc_type_class_of(instr->shape.type);
  bool wraps = x->op == HSC_OP_ADD || x->op == HSC_OP_SUBTRACT || x->op == HSC_OP_MULTIPLY;
  bool shrinks =
      (x->op == HSC_OP_DIVIDE || x->op == HSC_OP_REMAINDER) && class == HSC_CLASS_UNSIGNED;
  if ((!wraps && !shrinks) || !hsc__has_one_use(x) || !hsc__is_int(instr) ||
      class != hsc_type_class_of(x->shape.type))
    return NULL;
  if (hsc_type_bits(instr->shape.type) < 8 ||
      hsc_type_bits(x->shape.type) <= hsc_type_bits(instr->shape.type))
    return NULL;
  for (int i = 0; i < 2; i++) {
    const hsc_instr *y = x->operands[i];
    if (y->op != HSC_OP_CONVERT || y->operands[0]->shape.type != instr->shape.type)
      return NULL;
    inner[i] = y->operands[0];
  }
  return hsc_build_binary(b, x->op, inner[0], inner[1]);
}

// Whether all numbers of an iota are numbers of the integer type.
static bool iota_fits(const hsc_instr *iota, hsc_type type) {
  if (!hsc_type_is_integral(type))
    return false;
  int bits = hsc_type_bits(type) - (hsc_type_class_of(type) == HSC_CLASS_SIGNED);
  return (double)iota->shape.dims[iota->attr.dims.dims.v[0]] <= ldexp(1, bits);
}

HSC_RULE(convert_same) {
  hsc_instr *x = instr->operands[0];
  return x->shape.type == instr->shape.type ? x : NULL;
}

HSC_RULE(convert_of_iota) {
  const hsc_instr *x = instr->operands[0];
  return x->op == HSC_OP_IOTA && iota_fits(x, x->shape.type) && iota_fits(x, instr->shape.type)
             ? hsc_build_iota(b, instr->shape, x->attr.dims.dims.v[0])
             : NULL;
}

// narrow(widen(x)) is x when the middle type holds every value of x's type.
HSC_RULE(convert_there_and_back) {
  const hsc_instr *x = instr->operands[0];
  if (x->op != HSC_OP_CONVERT || x->operands[0]->shape.type != instr->shape.type)
    return NULL;
  hsc_type outer = instr->shape.type;
  hsc_type middle = x->shape.type;
  hsc_type_class oc = hsc_type_class_of(outer);
  hsc_type_class mc = hsc_type_class_of(middle);
  bool float_widens = oc == HSC_CLASS_FLOAT && mc == HSC_CLASS_FLOAT &&
                      ((middle == HSC_TYPE_F32 && hsc_type_bits(outer) <= 16) ||
                       (middle == HSC_TYPE_F64 && hsc_type_bits(outer) <= 32));
  bool int_widens = oc == mc && (oc == HSC_CLASS_SIGNED || oc == HSC_CLASS_UNSIGNED) &&
                    hsc_type_bits(middle) > hsc_type_bits(outer);
  bool pred_widens = outer == HSC_TYPE_PRED && mc != HSC_CLASS_OTHER && mc != HSC_CLASS_COMPLEX &&
                     hsc_type_bits(middle) >= 8;
  return float_widens || int_widens || pred_widens || holds_integers(middle, outer) ? x->operands[0]
                                                                                    : NULL;
}

HSC_RULE(part_of_complex) {
  const hsc_instr *x = instr->operands[0];
  return x->op == HSC_OP_COMPLEX ? x->operands[instr->op == HSC_OP_IMAG] : NULL;
}

HSC_RULE(part_of_real) {
  hsc_instr *x = instr->operands[0];
  if (hsc_type_is_complex(x->shape.type))
    return NULL;
  return instr->op == HSC_OP_REAL ? x : hsc__uniform_constant(b, 0, instr);
}

HSC_RULE(complex_of_parts) {
  const hsc_instr *re = instr->operands[0];
  const hsc_instr *im = instr->operands[1];
  if (re->op != HSC_OP_REAL || im->op != HSC_OP_IMAG || re->operands[0] != im->operands[0])
    return NULL;
  return re->operands[0]->shape.type == instr->shape.type ? re->operands[0] : NULL;
}

HSC_RULE(reduce_precision_own) {
  static const struct {
    hsc_type type;
    int exponent, mantissa;
  } own[] = {
      {HSC_TYPE_F16, 5, 10}, {HSC_TYPE_BF16, 8, 7}, {HSC_TYPE_F32, 8, 23}, {HSC_TYPE_F64, 11, 52}};
  for (size_t i = 0; i < HSC_COUNT_OF(own); i++)
    if (own[i].type == instr->shape.type &&
        instr->attr.precision.exponent_bits == own[i].exponent &&
        instr->attr.precision.mantissa_bits == own[i].mantissa)
      return instr->operands[0];
  return NULL;
}

// ---- remainders and shifts ----------------------------------------------------------------------

HSC_RULE(remainder_of_small_iota) {
  hsc_instr *x = instr->operands[0];
  double divisor;
  return hsc__is_int(instr) && x->op == HSC_OP_IOTA &&
                 hsc__uniform_number(instr->operands[1], &divisor) &&
                 divisor >= (double)x->shape.dims[x->attr.dims.dims.v[0]]
             ? x
             : NULL;
}

HSC_RULE(remainder_as_mask) {
  hsc_instr *x = instr->operands[0];
  int power = hsc__power_of_two(instr->operands[1]);
  if (!hsc__is_int(instr) || power < 0 || power > 53 || !is_never_negative(x, 0))
    return NULL;
  int64_t mask = ((int64_t)1 << power) - 1;
  return hsc_build_binary(b, HSC_OP_AND, x, hsc__uniform_constant(b, (double)mask, instr));
}

HSC_RULE(remainder_one) {
  return hsc__is_int(instr) && hsc__is_all(instr->operands[1], 1)
             ? hsc__uniform_constant(b, 0, instr)
             : NULL;
}

HSC_RULE(remainder_twice) {
  hsc_instr *x = instr->operands[0];
  return hsc__is_int(instr) && x->op == HSC_OP_REMAINDER && x->operands[1] == instr->operands[1]
             ? x
             : NULL;
}

// Where the sum does not leave the type.
HSC_RULE(remainder_of_shifted_iota) {
  const hsc_instr *x = instr->operands[0];
  hsc_instr *y = instr->operands[1];
  double divisor, added;
  if (!hsc__is_int(instr) || x->op != HSC_OP_ADD || x->operands[0]->op != HSC_OP_IOTA ||
      !hsc__uniform_number(y, &divisor) || !hsc__uniform_number(x->operands[1], &added))
    return NULL;
  const hsc_instr *iota = x->operands[0];
  double last = (double)iota->shape.dims[iota->attr.dims.dims.v[0]] - 1 + added;
  double most = ldexp(1, (int)hsc_type_bits(instr->shape.type) - 1);
  if (divisor <= 0 || added < 0 || fmod(added, divisor) != 0 || last >= most)
    return NULL;
  return hsc_build_binary(b, HSC_OP_REMAINDER, x->operands[0], y);
}

HSC_RULE(shift_by_zero) {
  return hsc__is_all(instr->operands[1], 0) ? instr->operands[0] : NULL;
}

// All bits of an iota are shifted out, as of the upper halves of a counter of 64 bits.
HSC_RULE(shift_iota_out) {
  const hsc_instr *x = instr->operands[0];
  double by;
  return x->op == HSC_OP_IOTA && iota_fits(x, x->shape.type) &&
                 hsc__uniform_number(instr->operands[1], &by) && by >= 0 &&
                 by < hsc_type_bits(x->shape.type) &&
                 ldexp(1, (int)by) >= (double)x->shape.dims[x->attr.dims.dims.v[0]]
             ? hsc__uniform_constant(b, 0, instr)
             : NULL;
}
