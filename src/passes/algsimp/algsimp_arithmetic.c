// algsimp_arithmetic.c - rules on values: identities, strength reduction, constants to the right.
#include <math.h>

#include "passes/algsimp/algsimp.h"

static bool is_float(const hsc_instr *instr) {
  return hsc_type_is_float(instr->shape.type);
}
static bool is_pred(const hsc_instr *instr) {
  return instr->shape.type == HSC_TYPE_PRED;
}
static bool is_int(const hsc_instr *instr) {
  return hsc_type_is_integral(instr->shape.type);
}

bool hsc__is_uniform_constant(hsc_instr *instr) {
  hsc_instr *value = hsc__uniform_value(instr);
  return value && value->op == HSC_OP_CONSTANT && !value->attr.literal.value->elided;
}

// Cannot be below zero, whatever the inputs (NaN is not below zero).
static bool is_never_negative(hsc_instr *x, int depth) {
  if (depth > 6 || hsc_type_is_complex(x->shape.type))
    return false;
  if (hsc_type_class_of(x->shape.type) == HSC_CLASS_UNSIGNED || is_pred(x))
    return true;
  switch (x->op) {
    // |lowest integer| is negative
    case HSC_OP_ABS:
      return is_float(x) || is_never_negative(x->operands[0], depth + 1);
    case HSC_OP_POWER:
      return is_float(x) && is_never_negative(x->operands[0], depth + 1);
    case HSC_OP_EXP:
    case HSC_OP_LOGISTIC:
      return true;
    case HSC_OP_IOTA:  // a narrow one may wrap
      return is_float(x) || hsc_type_bits(x->shape.type) >= 32 ||
             x->shape.dims[x->attr.dims.dims.v[0]] <= 1ll << (hsc_type_bits(x->shape.type) - 1);
    // of a negative number: NaN; of -0: -0, which is not below zero
    case HSC_OP_SQRT:
      return is_float(x);
    case HSC_OP_MULTIPLY:
      return is_float(x) && x->operands[0] == x->operands[1];
    case HSC_OP_BROADCAST:
    case HSC_OP_RESHAPE:
    case HSC_OP_TRANSPOSE:
    case HSC_OP_SLICE:
      return is_never_negative(x->operands[0], depth + 1);
    case HSC_OP_MAXIMUM:
      return is_never_negative(x->operands[0], depth + 1) ||
             is_never_negative(x->operands[1], depth + 1);
    case HSC_OP_MINIMUM:
      return is_never_negative(x->operands[0], depth + 1) &&
             is_never_negative(x->operands[1], depth + 1);
    case HSC_OP_SELECT:
      return is_never_negative(x->operands[1], depth + 1) &&
             is_never_negative(x->operands[2], depth + 1);
    case HSC_OP_CLAMP:
      return is_float(x) && is_never_negative(x->operands[0], depth + 1) &&
             is_never_negative(x->operands[2], depth + 1);
    case HSC_OP_ADD:
      return is_float(x) && is_never_negative(x->operands[0], depth + 1) &&
             is_never_negative(x->operands[1], depth + 1);
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

bool hsc__never_negative(hsc_instr *instr) {
  return is_never_negative(instr, 0);
}

// Constants go to the right of commutative ops, so that the other rules look at one side only.
static hsc_instr *constant_to_right(hsc_builder *b, hsc_instr *instr) {
  if (!hsc__is_uniform_constant(instr->operands[0]) || hsc__is_uniform_constant(instr->operands[1]))
    return NULL;
  return hsc_build_binary(b, instr->op, instr->operands[1], instr->operands[0]);
}

// (x op c1) op c2 = x op (c1 op c2), exact for integers and done by XLA for floats too when both
// are constants.
static hsc_instr *merge_constants(hsc_builder *b, hsc_instr *instr) {
  hsc_instr *inner = instr->operands[0];
  if (inner->op != instr->op || inner->user_count != 1 ||
      !hsc__is_uniform_constant(instr->operands[1]) ||
      !hsc__is_uniform_constant(inner->operands[1]))
    return NULL;
  if (!is_int(instr))
    return NULL;
  return hsc_build_binary(b, instr->op, inner->operands[0],
                          hsc_build_binary(b, instr->op, inner->operands[1], instr->operands[1]));
}

static hsc_instr *rule_add(hsc_builder *b, hsc_instr *instr) {
  hsc_instr *x = instr->operands[0];
  hsc_instr *y = instr->operands[1];
  if (is_pred(instr))
    return hsc_build_binary(b, HSC_OP_OR, x, y);
  // x + 0 is x; XLA does it for floats as well (-0 + 0 is 0, which it accepts).
  if (hsc__is_all(y, 0))
    return x;
  if (hsc__is_all(x, 0))
    return y;
  if (y->op == HSC_OP_NEGATE && y->user_count == 1)
    return hsc_build_binary(b, HSC_OP_SUBTRACT, x, y->operands[0]);
  // A * C + B * C => (A + B) * C, exact for integers.
  if (is_int(instr) && x->op == HSC_OP_MULTIPLY && y->op == HSC_OP_MULTIPLY && x != y &&
      hsc__has_one_use(x) && hsc__has_one_use(y)) {
    for (int i = 0; i < 4; i++) {
      hsc_instr *common = x->operands[i & 1];
      if (common != y->operands[i >> 1])
        continue;
      return hsc_build_binary(
          b, HSC_OP_MULTIPLY,
          hsc_build_binary(b, HSC_OP_ADD, x->operands[!(i & 1)], y->operands[!(i >> 1)]), common);
    }
  }
  hsc_instr *replacement = is_int(instr) ? hsc__algsimp_cancel(b, instr) : NULL;
  if (!replacement)
    replacement = constant_to_right(b, instr);
  return replacement ? replacement : merge_constants(b, instr);
}

// What is added and taken away again: exact for integers, which wrap. NULL when there is none.
hsc_instr *hsc__algsimp_cancel(hsc_builder *b, hsc_instr *instr) {
  hsc_instr *x = instr->operands[0];
  hsc_instr *y = instr->operands[1];
  for (int side = 0; side < 2 && instr->op == HSC_OP_ADD; side++) {  // A + (B - A) => B
    hsc_instr *difference = instr->operands[side];
    if (difference->op == HSC_OP_SUBTRACT && difference->operands[1] == instr->operands[!side])
      return difference->operands[0];
  }
  if (instr->op != HSC_OP_SUBTRACT)
    return NULL;
  if (y->op == HSC_OP_SUBTRACT && y->operands[0] == x)
    return y->operands[1];                // A - (A - B) => B
  for (int side = 0; side < 2; side++) {  // (A + B) - A => B;  A - (A + B) => -B
    if (x->op == HSC_OP_ADD && x->operands[side] == y)
      return x->operands[!side];
    if (y->op == HSC_OP_ADD && y->operands[side] == x)
      return hsc_build_unary(b, HSC_OP_NEGATE, y->operands[!side]);
  }
  return NULL;
}

static hsc_instr *rule_subtract(hsc_builder *b, hsc_instr *instr) {
  hsc_instr *x = instr->operands[0];
  hsc_instr *y = instr->operands[1];
  if (hsc__is_all(y, 0))
    return x;
  if (x == y && is_int(instr))
    return hsc__uniform_constant(b, 0, instr);
  hsc_instr *replacement = is_int(instr) ? hsc__algsimp_cancel(b, instr) : NULL;
  if (replacement)
    return replacement;
  if (y->op == HSC_OP_NEGATE && y->user_count == 1)
    return hsc_build_binary(b, HSC_OP_ADD, x, y->operands[0]);
  // A - C => A + (-C), so that constants meet; folding makes -C one.
  if (is_int(instr) && hsc__is_uniform_constant(y) && !hsc__is_uniform_constant(x))
    return hsc_build_binary(b, HSC_OP_ADD, x, hsc_build_unary(b, HSC_OP_NEGATE, y));
  return NULL;
}

static hsc_instr *rule_multiply(hsc_builder *b, hsc_instr *instr) {
  hsc_instr *x = instr->operands[0];
  hsc_instr *y = instr->operands[1];
  if (is_pred(instr))
    return hsc_build_binary(b, HSC_OP_AND, x, y);
  if (hsc__is_all(y, 1))
    return x;
  if (hsc__is_all(x, 1))
    return y;
  if (is_int(instr) && hsc__is_all(y, 0))
    return y;
  if (is_int(instr) && hsc__is_all(x, 0))
    return x;
  if (hsc__is_all(y, -1))
    return hsc_build_unary(b, HSC_OP_NEGATE, x);
  if (x->op == HSC_OP_NEGATE && y->op == HSC_OP_NEGATE)
    return hsc_build_binary(b, HSC_OP_MULTIPLY, x->operands[0], y->operands[0]);
  // |A| * |A| => A * A
  if (x == y && x->op == HSC_OP_ABS && (is_float(x) || is_int(x)) &&
      !hsc_type_is_complex(x->operands[0]->shape.type))
    return hsc_build_binary(b, HSC_OP_MULTIPLY, x->operands[0], x->operands[0]);
  hsc_instr *replacement = constant_to_right(b, instr);
  return replacement ? replacement : merge_constants(b, instr);
}

// log2 of a uniform constant that is a positive power of two, -1 when it is none.
static int power_of_two(hsc_instr *instr) {
  hsc_instr *value = hsc__uniform_value(instr);
  if (!value || value->op != HSC_OP_CONSTANT || value->attr.literal.value->elided || !is_int(value))
    return -1;
  uint64_t n = (uint64_t)hsc_literal_get_int(value->attr.literal.value, 0);
  if (hsc_type_class_of(value->shape.type) == HSC_CLASS_SIGNED && (int64_t)n <= 0)
    return -1;
  return n && !(n & (n - 1)) ? __builtin_ctzll(n) : -1;
}

static hsc_instr *rule_divide(hsc_builder *b, hsc_instr *instr) {
  hsc_instr *x = instr->operands[0];
  hsc_instr *y = instr->operands[1];
  if (hsc__is_all(y, 1))
    return x;
  if (is_int(instr) && power_of_two(y) > 0 && is_never_negative(x, 0))
    return hsc_build_binary(b, HSC_OP_SHIFT_RIGHT_LOGICAL, x,
                            hsc__uniform_constant(b, power_of_two(y), instr));
  if (!is_float(instr))
    return NULL;
  // A / B^C => A * B^-C
  if (y->op == HSC_OP_POWER && hsc__has_one_use(y))
    return hsc_build_binary(b, HSC_OP_MULTIPLY, x,
                            hsc_build_binary(b, HSC_OP_POWER, y->operands[0],
                                             hsc_build_unary(b, HSC_OP_NEGATE, y->operands[1])));
  if (x->op == HSC_OP_CONSTANT || x->op == HSC_OP_BROADCAST) {
    if (hsc__is_all(x, 1) && y->op == HSC_OP_RSQRT && y->user_count == 1)
      return hsc_build_unary(b, HSC_OP_SQRT, y->operands[0]);
    if (hsc__is_all(x, 1) && y->op == HSC_OP_SQRT && y->user_count == 1)
      return hsc_build_unary(b, HSC_OP_RSQRT, y->operands[0]);
  }
  // A / constant => A * (1 / constant), exact to one rounding more: as XLA by default.
  hsc_instr *divisor = hsc__uniform_value(y);
  if (divisor && divisor->op == HSC_OP_CONSTANT && !divisor->attr.literal.value->elided) {
    double value = hsc_literal_get_double(divisor->attr.literal.value, 0);
    if (value != 0 && isfinite(value) && fabs(value) > 1e-30 && fabs(value) < 1e30)
      return hsc_build_binary(b, HSC_OP_MULTIPLY, x, hsc__uniform_constant(b, 1.0 / value, instr));
  }
  return NULL;
}

static hsc_instr *rule_negate(hsc_builder *b, hsc_instr *instr) {
  (void)b;
  return instr->operands[0]->op == HSC_OP_NEGATE ? instr->operands[0]->operands[0] : NULL;
}

static hsc_instr *rule_not(hsc_builder *b, hsc_instr *instr) {
  static const hsc_direction inverse[] = {[HSC_EQ] = HSC_NE, [HSC_NE] = HSC_EQ, [HSC_LT] = HSC_GE,
                                          [HSC_LE] = HSC_GT, [HSC_GT] = HSC_LE, [HSC_GE] = HSC_LT};
  hsc_instr *x = instr->operands[0];
  if (x->op == HSC_OP_NOT)
    return x->operands[0];
  if (x->op == HSC_OP_COMPARE && x->user_count == 1 && is_pred(instr)) {
    bool exact = is_int(x->operands[0]) || is_pred(x->operands[0]);
    hsc_direction d = x->attr.compare.direction;
    if (exact || d == HSC_EQ || d == HSC_NE) {
      hsc_instr *replacement = hsc_build_compare(b, inverse[d], x->operands[0], x->operands[1]);
      replacement->attr.compare.type = x->attr.compare.type;
      return replacement;
    }
  }
  return NULL;
}

static hsc_instr *rule_and(hsc_builder *b, hsc_instr *instr) {
  hsc_instr *x = instr->operands[0];
  hsc_instr *y = instr->operands[1];
  if (x == y)
    return x;
  if (is_pred(instr)) {
    if (hsc__is_all(y, 1) || hsc__is_all(x, 0))
      return x;
    if (hsc__is_all(x, 1) || hsc__is_all(y, 0))
      return y;
  } else if (hsc__is_all(y, 0)) {
    return y;
  }
  return constant_to_right(b, instr);
}

static hsc_instr *rule_or(hsc_builder *b, hsc_instr *instr) {
  hsc_instr *x = instr->operands[0];
  hsc_instr *y = instr->operands[1];
  if (x == y || hsc__is_all(y, 0))
    return x;
  if (hsc__is_all(x, 0))
    return y;
  if (is_pred(instr) && (hsc__is_all(x, 1)))
    return x;
  if (is_pred(instr) && (hsc__is_all(y, 1)))
    return y;
  return constant_to_right(b, instr);
}

static hsc_instr *rule_xor(hsc_builder *b, hsc_instr *instr) {
  hsc_instr *x = instr->operands[0];
  hsc_instr *y = instr->operands[1];
  if (x == y)
    return hsc__uniform_constant(b, 0, instr);
  if (hsc__is_all(y, 0))
    return x;
  if (hsc__is_all(x, 0))
    return y;
  if (is_pred(instr) && hsc__is_all(y, 1))
    return hsc_build_unary(b, HSC_OP_NOT, x);
  return constant_to_right(b, instr);
}

// The uniform constant as a number; false when it is none, or not a real one.
bool hsc__uniform_number(hsc_instr *instr, double *out_value) {
  hsc_instr *value = hsc__uniform_value(instr);
  if (!value || value->op != HSC_OP_CONSTANT || value->attr.literal.value->elided ||
      hsc_type_is_complex(value->shape.type))
    return false;
  if (hsc_type_bits(value->shape.type) > 53 && is_int(value)) {
    int64_t n = hsc_literal_get_int(value->attr.literal.value, 0);
    if (n > 1ll << 53 || n < -(1ll << 53))
      return false;
  }
  *out_value = hsc_literal_get_double(value->attr.literal.value, 0);
  return true;
}

// Whether no value of the type is below (or above) the uniform constant.
static bool is_extreme(hsc_instr *instr, bool lowest) {
  hsc_type type = instr->shape.type;
  if (is_float(instr))
    return hsc__is_all(instr, lowest ? -INFINITY : INFINITY);
  if (!is_int(instr))
    return false;
  hsc_instr *value = hsc__uniform_value(instr);
  if (!value || value->op != HSC_OP_CONSTANT || value->attr.literal.value->elided)
    return false;
  uint64_t n = (uint64_t)hsc_literal_get_int(value->attr.literal.value, 0);
  uint64_t all = hsc_type_bits(type) >= 64 ? UINT64_MAX : (1ull << hsc_type_bits(type)) - 1;
  uint64_t low = hsc_type_class_of(type) == HSC_CLASS_UNSIGNED ? 0 : (all >> 1) + 1;
  return (n & all) == (lowest ? low : (low - 1) & all);
}

static hsc_instr *rule_maximum(hsc_builder *b, hsc_instr *instr) {
  hsc_instr *x = instr->operands[0];
  hsc_instr *y = instr->operands[1];
  bool is_max = instr->op == HSC_OP_MAXIMUM;
  if (x == y)
    return x;
  if (is_extreme(y, is_max))
    return x;
  if (is_extreme(x, is_max))
    return y;
  if (is_int(instr) && is_extreme(y, !is_max))
    return y;
  // max(max(A, C1), C2) => max(A, max(C1, C2));  max(min(A, C2), C1) => clamp(C1, A, C2)
  hsc_op opposite = is_max ? HSC_OP_MINIMUM : HSC_OP_MAXIMUM;
  double outer, inner;
  if (hsc__has_one_use(x) && (x->op == instr->op || x->op == opposite) &&
      hsc__uniform_number(y, &outer) && hsc__uniform_number(x->operands[1], &inner) &&
      outer == outer && inner == inner) {
    if (x->op == instr->op)
      return hsc_build_binary(b, instr->op, x->operands[0],
                              (is_max ? inner > outer : inner < outer) ? x->operands[1] : y);
    double low = is_max ? outer : inner;
    double high = is_max ? inner : outer;
    hsc_instr *bounds[2] = {hsc__uniform_value(is_max ? y : x->operands[1]),
                            hsc__uniform_value(is_max ? x->operands[1] : y)};
    if (low <= high)
      return hsc_build_op(b, HSC_OP_CLAMP, (hsc_shape){0}, NULL, 3,
                          (hsc_instr *[]){bounds[0], x->operands[0], bounds[1]}, 0, NULL);
  }
  return constant_to_right(b, instr);
}

static hsc_instr *rule_power(hsc_builder *b, hsc_instr *instr) {
  hsc_instr *x = instr->operands[0];
  hsc_instr *y = instr->operands[1];
  if (hsc__is_all(y, 1))
    return x;
  if (hsc__is_all(y, 0))
    return hsc__uniform_constant(b, 1, instr);
  if (hsc__is_all(y, 2))
    return hsc_build_binary(b, HSC_OP_MULTIPLY, x, x);
  if (hsc__is_all(y, 3))
    return hsc_build_binary(b, HSC_OP_MULTIPLY, x, hsc_build_binary(b, HSC_OP_MULTIPLY, x, x));
  if (is_float(instr) && hsc__is_all(y, 0.5) && is_never_negative(x, 0))
    return hsc_build_unary(b, HSC_OP_SQRT, x);
  if (is_float(instr) && hsc__is_all(y, -1))
    return hsc_build_binary(b, HSC_OP_DIVIDE, hsc__uniform_constant(b, 1, instr), x);
  return NULL;
}

static hsc_instr *rule_compare(hsc_builder *b, hsc_instr *instr) {
  hsc_instr *x = instr->operands[0];
  hsc_instr *y = instr->operands[1];
  hsc_direction d = instr->attr.compare.direction;
  if (x == y && !is_float(x) && !hsc_type_is_complex(x->shape.type))
    return hsc__uniform_constant(b, d == HSC_EQ || d == HSC_LE || d == HSC_GE, instr);
  if (is_pred(x) && d == HSC_EQ && hsc__is_all(y, 1))
    return x;
  if (is_pred(x) && d == HSC_NE && hsc__is_all(y, 0))
    return x;
  // A constant goes to the right, the direction turning round.
  if (hsc__is_uniform_constant(x) && !hsc__is_uniform_constant(y)) {
    static const hsc_direction mirrored[] = {
        [HSC_EQ] = HSC_EQ, [HSC_NE] = HSC_NE, [HSC_LT] = HSC_GT,
        [HSC_LE] = HSC_GE, [HSC_GT] = HSC_LT, [HSC_GE] = HSC_LE};
    hsc_instr *replacement = hsc_build_compare(b, mirrored[d], y, x);
    replacement->attr.compare.type = instr->attr.compare.type;
    return replacement;
  }
  bool is_unsigned = hsc_type_class_of(x->shape.type) == HSC_CLASS_UNSIGNED;
  if (is_unsigned && d == HSC_LT && hsc__is_all(y, 0))
    return hsc__uniform_constant(b, 0, instr);
  if (is_unsigned && d == HSC_GE && hsc__is_all(y, 0))
    return hsc__uniform_constant(b, 1, instr);
  return NULL;
}

static hsc_instr *rule_select(hsc_builder *b, hsc_instr *instr) {
  hsc_instr *which = instr->operands[0];
  hsc_instr *x = instr->operands[1];
  hsc_instr *y = instr->operands[2];
  if (x == y)
    return x;
  if (hsc__is_all(which, 1))
    return x;
  if (hsc__is_all(which, 0))
    return y;
  // select(P, select(P, A, B), C) => select(P, A, C), and on the other side.
  if (x->op == HSC_OP_SELECT && x->operands[0] == which)
    return hsc_build_select(b, which, x->operands[1], y);
  if (y->op == HSC_OP_SELECT && y->operands[0] == which)
    return hsc_build_select(b, which, x, y->operands[2]);
  if (is_pred(instr) && hsc__is_all(x, 0) && hsc__is_all(y, 1) &&
      hsc_shape_same_dims(&which->shape, &instr->shape))
    return hsc_build_unary(b, HSC_OP_NOT, which);
  if (which->op == HSC_OP_NOT && which->user_count == 1)
    return hsc_build_select(b, which->operands[0], y, x);
  if (is_pred(instr) && hsc__is_all(x, 1) && hsc__is_all(y, 0) &&
      hsc_shape_same_dims(&which->shape, &instr->shape))
    return which;
  return NULL;
}

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
static hsc_instr *narrow_operation(hsc_builder *b, hsc_instr *instr) {
  hsc_instr *x = instr->operands[0];
  hsc_instr *inner[2];
  hsc_type_class class = hsc_type_class_of(instr->shape.type);
  bool wraps = x->op == HSC_OP_ADD || x->op == HSC_OP_SUBTRACT || x->op == HSC_OP_MULTIPLY;
  bool shrinks =
      (x->op == HSC_OP_DIVIDE || x->op == HSC_OP_REMAINDER) && class == HSC_CLASS_UNSIGNED;
  if ((!wraps && !shrinks) || !hsc__has_one_use(x) || !is_int(instr) ||
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

static hsc_instr *rule_convert(hsc_builder *b, hsc_instr *instr) {
  hsc_instr *x = instr->operands[0];
  if (x->shape.type == instr->shape.type)
    return x;
  if (x->op == HSC_OP_IOTA && iota_fits(x, x->shape.type) && iota_fits(x, instr->shape.type))
    return hsc_build_iota(b, instr->shape, x->attr.dims.dims.v[0]);
  // narrow(widen(x)) is x when the middle type holds every value of x's type.
  if (x->op == HSC_OP_CONVERT && x->operands[0]->shape.type == instr->shape.type) {
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
    if (float_widens || int_widens || pred_widens || holds_integers(middle, outer))
      return x->operands[0];
  }
  return narrow_operation(b, instr);
}

static hsc_instr *rule_idempotent(hsc_builder *b, hsc_instr *instr) {
  (void)b;
  hsc_instr *x = instr->operands[0];
  return x->op == instr->op ? x : NULL;
}

static hsc_instr *rule_abs(hsc_builder *b, hsc_instr *instr) {
  (void)b;
  hsc_instr *x = instr->operands[0];
  if (hsc_type_is_complex(x->shape.type))
    return NULL;
  // sqrt and iota may be -0 or of the lowest integer's type: |A| is A for what is above; a product
  // of floats by itself cannot be -0.
  return x->op == HSC_OP_ABS || (x->op != HSC_OP_SQRT && is_never_negative(x, 0)) ? x : NULL;
}

static hsc_instr *rule_log(hsc_builder *b, hsc_instr *instr) {
  hsc_instr *x = instr->operands[0];
  if (!is_float(instr))
    return NULL;
  // log(A^B) => B * log(A), where A cannot be negative; A^0 is 1 for every A, infinite ones too
  double exponent;
  if (x->op == HSC_OP_POWER && hsc__has_one_use(x) && is_never_negative(x->operands[0], 0)) {
    hsc_instr *power = x->operands[1];
    hsc_instr *replacement =
        hsc_build_binary(b, HSC_OP_MULTIPLY, power, hsc_build_unary(b, HSC_OP_LOG, x->operands[0]));
    if (hsc__uniform_number(power, &exponent) && exponent != 0)
      return replacement;
    hsc_instr *nothing = hsc__uniform_constant(b, 0, instr);
    hsc_instr *is_zero = hsc_build_compare(b, HSC_EQ, power, hsc__uniform_constant(b, 0, power));
    return hsc_build_select(b, is_zero, nothing, replacement);
  }
  return NULL;
}

static hsc_instr *rule_rsqrt(hsc_builder *b, hsc_instr *instr) {
  hsc_instr *x = instr->operands[0];
  if (!is_float(instr))
    return NULL;
  if (x->op == HSC_OP_POWER && hsc__is_all(x->operands[1], -2))
    return hsc_build_unary(b, HSC_OP_ABS, x->operands[0]);
  if (x->op == HSC_OP_DIVIDE && hsc__is_all(x->operands[0], 1) &&
      is_never_negative(x->operands[1], 0))
    return hsc_build_unary(b, HSC_OP_SQRT, x->operands[1]);
  return NULL;
}

static hsc_instr *rule_real(hsc_builder *b, hsc_instr *instr) {
  hsc_instr *x = instr->operands[0];
  if (x->op == HSC_OP_COMPLEX)
    return x->operands[instr->op == HSC_OP_IMAG];
  if (hsc_type_is_complex(x->shape.type))
    return NULL;
  return instr->op == HSC_OP_REAL ? x : hsc__uniform_constant(b, 0, instr);
}

static hsc_instr *rule_complex(hsc_builder *b, hsc_instr *instr) {
  (void)b;
  hsc_instr *re = instr->operands[0];
  hsc_instr *im = instr->operands[1];
  if (re->op != HSC_OP_REAL || im->op != HSC_OP_IMAG || re->operands[0] != im->operands[0])
    return NULL;
  return re->operands[0]->shape.type == instr->shape.type ? re->operands[0] : NULL;
}

static hsc_instr *rule_remainder(hsc_builder *b, hsc_instr *instr) {
  hsc_instr *x = instr->operands[0];
  double divisor;
  if (is_int(instr) && x->op == HSC_OP_IOTA && hsc__uniform_number(instr->operands[1], &divisor) &&
      divisor >= (double)x->shape.dims[x->attr.dims.dims.v[0]])
    return x;
  if (is_int(instr) && power_of_two(instr->operands[1]) >= 0 && is_never_negative(x, 0)) {
    int64_t mask = ((int64_t)1 << power_of_two(instr->operands[1])) - 1;
    if (mask < 1ll << 53)
      return hsc_build_binary(b, HSC_OP_AND, x, hsc__uniform_constant(b, (double)mask, instr));
  }
  if (is_int(instr) && hsc__is_all(instr->operands[1], 1))
    return hsc__uniform_constant(b, 0, instr);
  return NULL;
}

static hsc_instr *rule_shift(hsc_builder *b, hsc_instr *instr) {
  const hsc_instr *x = instr->operands[0];
  double by;
  if (hsc__is_all(instr->operands[1], 0))
    return instr->operands[0];
  // Of an iota all bits are shifted out, as of the upper halves of a counter of 64 bits.
  if (instr->op != HSC_OP_SHIFT_LEFT && x->op == HSC_OP_IOTA && iota_fits(x, x->shape.type) &&
      hsc__uniform_number(instr->operands[1], &by) && by >= 0 &&
      by < hsc_type_bits(x->shape.type) &&
      ldexp(1, (int)by) >= (double)x->shape.dims[x->attr.dims.dims.v[0]])
    return hsc__uniform_constant(b, 0, instr);
  return NULL;
}

hsc__rule hsc__algsimp_arithmetic_rule(hsc_op op) {
  switch (op) {
    case HSC_OP_ADD:
      return rule_add;
    case HSC_OP_SUBTRACT:
      return rule_subtract;
    case HSC_OP_MULTIPLY:
      return rule_multiply;
    case HSC_OP_DIVIDE:
      return rule_divide;
    case HSC_OP_NEGATE:
      return rule_negate;
    case HSC_OP_NOT:
      return rule_not;
    case HSC_OP_AND:
      return rule_and;
    case HSC_OP_OR:
      return rule_or;
    case HSC_OP_XOR:
      return rule_xor;
    case HSC_OP_MAXIMUM:
    case HSC_OP_MINIMUM:
      return rule_maximum;
    case HSC_OP_POWER:
      return rule_power;
    case HSC_OP_COMPARE:
      return rule_compare;
    case HSC_OP_SELECT:
      return rule_select;
    case HSC_OP_CONVERT:
      return rule_convert;
    case HSC_OP_ABS:
      return rule_abs;
    case HSC_OP_RSQRT:
      return rule_rsqrt;
    case HSC_OP_FLOOR:
    case HSC_OP_CEIL:
    case HSC_OP_ROUND_AFZ:
    case HSC_OP_ROUND_EVEN:
      return rule_idempotent;
    case HSC_OP_LOG:
      return rule_log;
    case HSC_OP_REAL:
    case HSC_OP_IMAG:
      return rule_real;
    case HSC_OP_COMPLEX:
      return rule_complex;
    case HSC_OP_REMAINDER:
      return rule_remainder;
    case HSC_OP_SHIFT_LEFT:
    case HSC_OP_SHIFT_RIGHT_ARITH:
    case HSC_OP_SHIFT_RIGHT_LOGICAL:
      return rule_shift;
    default:
      return NULL;
  }
}
