// algsimp_arithmetic.c - rules on values: identities, strength reduction, constants to the right.
#include <math.h>

#include "passes/algsimp.h"

static bool is_float(const hsc_instr *instr) { return hsc_type_is_float(instr->shape.type); }
static bool is_pred(const hsc_instr *instr) { return instr->shape.type == HSC_TYPE_PRED; }
static bool is_int(const hsc_instr *instr) { return hsc_type_is_integral(instr->shape.type); }

static bool is_uniform_constant(hsc_instr *instr) {
  hsc_instr *value = hsc__uniform_value(instr);
  return value && value->op == HSC_OP_CONSTANT && !value->attr.literal.value->elided;
}

// Constants go to the right of commutative ops, so that the other rules look at one side only.
static hsc_instr *constant_to_right(hsc_builder *b, hsc_instr *instr) {
  if (!is_uniform_constant(instr->operands[0]) || is_uniform_constant(instr->operands[1])) return NULL;
  return hsc_build_binary(b, instr->op, instr->operands[1], instr->operands[0]);
}

// (x op c1) op c2 = x op (c1 op c2), exact for integers and done by XLA for floats too when both are constants.
static hsc_instr *merge_constants(hsc_builder *b, hsc_instr *instr) {
  hsc_instr *inner = instr->operands[0];
  if (inner->op != instr->op || inner->user_count != 1 || !is_uniform_constant(instr->operands[1]) || !is_uniform_constant(inner->operands[1])) return NULL;
  if (!is_int(instr)) return NULL;
  return hsc_build_binary(b, instr->op, inner->operands[0], hsc_build_binary(b, instr->op, inner->operands[1], instr->operands[1]));
}

static hsc_instr *rule_add(hsc_builder *b, hsc_instr *instr) {
  hsc_instr *x = instr->operands[0], *y = instr->operands[1];
  if (is_pred(instr)) return hsc_build_binary(b, HSC_OP_OR, x, y);
  // x + 0 is x; XLA does it for floats as well (-0 + 0 is 0, which it accepts).
  if (hsc__is_all(y, 0)) return x;
  if (hsc__is_all(x, 0)) return y;
  if (y->op == HSC_OP_NEGATE && y->user_count == 1) return hsc_build_binary(b, HSC_OP_SUBTRACT, x, y->operands[0]);
  hsc_instr *by = constant_to_right(b, instr);
  return by ? by : merge_constants(b, instr);
}

static hsc_instr *rule_subtract(hsc_builder *b, hsc_instr *instr) {
  hsc_instr *x = instr->operands[0], *y = instr->operands[1];
  if (hsc__is_all(y, 0)) return x;
  if (x == y && is_int(instr)) return hsc__uniform_constant(b, 0, instr);
  if (y->op == HSC_OP_NEGATE && y->user_count == 1) return hsc_build_binary(b, HSC_OP_ADD, x, y->operands[0]);
  return NULL;
}

static hsc_instr *rule_multiply(hsc_builder *b, hsc_instr *instr) {
  hsc_instr *x = instr->operands[0], *y = instr->operands[1];
  if (is_pred(instr)) return hsc_build_binary(b, HSC_OP_AND, x, y);
  if (hsc__is_all(y, 1)) return x;
  if (hsc__is_all(x, 1)) return y;
  if (is_int(instr) && hsc__is_all(y, 0)) return y;
  if (is_int(instr) && hsc__is_all(x, 0)) return x;
  if (hsc__is_all(y, -1)) return hsc_build_unary(b, HSC_OP_NEGATE, x);
  if (x->op == HSC_OP_NEGATE && y->op == HSC_OP_NEGATE) return hsc_build_binary(b, HSC_OP_MULTIPLY, x->operands[0], y->operands[0]);
  hsc_instr *by = constant_to_right(b, instr);
  return by ? by : merge_constants(b, instr);
}

static hsc_instr *rule_divide(hsc_builder *b, hsc_instr *instr) {
  hsc_instr *x = instr->operands[0], *y = instr->operands[1];
  if (hsc__is_all(y, 1)) return x;
  if (!is_float(instr)) return NULL;
  // A / sqrt(B) => A * rsqrt(B);  A / exp(B) => A * exp(-B): as XLA by default.
  if (y->op == HSC_OP_EXP && y->user_count == 1)
    return hsc_build_binary(b, HSC_OP_MULTIPLY, x, hsc_build_unary(b, HSC_OP_EXP, hsc_build_unary(b, HSC_OP_NEGATE, y->operands[0])));
  if (x->op == HSC_OP_CONSTANT || x->op == HSC_OP_BROADCAST) {
    if (hsc__is_all(x, 1) && y->op == HSC_OP_RSQRT && y->user_count == 1) return hsc_build_unary(b, HSC_OP_SQRT, y->operands[0]);
    if (hsc__is_all(x, 1) && y->op == HSC_OP_SQRT && y->user_count == 1) return hsc_build_unary(b, HSC_OP_RSQRT, y->operands[0]);
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
  static const hsc_direction inverse[] = {[HSC_EQ] = HSC_NE, [HSC_NE] = HSC_EQ, [HSC_LT] = HSC_GE, [HSC_LE] = HSC_GT, [HSC_GT] = HSC_LE, [HSC_GE] = HSC_LT};
  hsc_instr *x = instr->operands[0];
  if (x->op == HSC_OP_NOT) return x->operands[0];
  if (x->op == HSC_OP_COMPARE && x->user_count == 1 && is_pred(instr)) {
    bool exact = is_int(x->operands[0]) || is_pred(x->operands[0]);
    hsc_direction d = x->attr.compare.direction;
    if (exact || d == HSC_EQ || d == HSC_NE) {
      hsc_instr *by = hsc_build_compare(b, inverse[d], x->operands[0], x->operands[1]);
      by->attr.compare.type = x->attr.compare.type;
      return by;
    }
  }
  return NULL;
}

static hsc_instr *rule_and(hsc_builder *b, hsc_instr *instr) {
  hsc_instr *x = instr->operands[0], *y = instr->operands[1];
  if (x == y) return x;
  if (is_pred(instr)) {
    if (hsc__is_all(y, 1) || hsc__is_all(x, 0)) return x;
    if (hsc__is_all(x, 1) || hsc__is_all(y, 0)) return y;
  } else if (hsc__is_all(y, 0)) {
    return y;
  }
  return constant_to_right(b, instr);
}

static hsc_instr *rule_or(hsc_builder *b, hsc_instr *instr) {
  hsc_instr *x = instr->operands[0], *y = instr->operands[1];
  if (x == y || hsc__is_all(y, 0)) return x;
  if (hsc__is_all(x, 0)) return y;
  if (is_pred(instr) && (hsc__is_all(x, 1))) return x;
  if (is_pred(instr) && (hsc__is_all(y, 1))) return y;
  return constant_to_right(b, instr);
}

static hsc_instr *rule_maximum(hsc_builder *b, hsc_instr *instr) {
  if (instr->operands[0] == instr->operands[1]) return instr->operands[0];
  return constant_to_right(b, instr);
}

static hsc_instr *rule_power(hsc_builder *b, hsc_instr *instr) {
  hsc_instr *x = instr->operands[0], *y = instr->operands[1];
  if (hsc__is_all(y, 1)) return x;
  if (hsc__is_all(y, 0)) return hsc__uniform_constant(b, 1, instr);
  if (hsc__is_all(y, 2)) return hsc_build_binary(b, HSC_OP_MULTIPLY, x, x);
  if (hsc__is_all(y, 3)) return hsc_build_binary(b, HSC_OP_MULTIPLY, x, hsc_build_binary(b, HSC_OP_MULTIPLY, x, x));
  if (is_float(instr) && hsc__is_all(y, -1)) return hsc_build_binary(b, HSC_OP_DIVIDE, hsc__uniform_constant(b, 1, instr), x);
  return NULL;
}

static hsc_instr *rule_compare(hsc_builder *b, hsc_instr *instr) {
  hsc_instr *x = instr->operands[0], *y = instr->operands[1];
  hsc_direction d = instr->attr.compare.direction;
  if (x == y && !is_float(x) && !hsc_type_is_complex(x->shape.type))
    return hsc__uniform_constant(b, d == HSC_EQ || d == HSC_LE || d == HSC_GE, instr);
  if (is_pred(x) && d == HSC_EQ && hsc__is_all(y, 1)) return x;
  if (is_pred(x) && d == HSC_NE && hsc__is_all(y, 0)) return x;
  bool is_unsigned = hsc_type_class_of(x->shape.type) == HSC_CLASS_UNSIGNED;
  if (is_unsigned && d == HSC_LT && hsc__is_all(y, 0)) return hsc__uniform_constant(b, 0, instr);
  if (is_unsigned && d == HSC_GE && hsc__is_all(y, 0)) return hsc__uniform_constant(b, 1, instr);
  return NULL;
}

static hsc_instr *rule_select(hsc_builder *b, hsc_instr *instr) {
  hsc_instr *which = instr->operands[0], *x = instr->operands[1], *y = instr->operands[2];
  if (x == y) return x;
  if (hsc__is_all(which, 1)) return x;
  if (hsc__is_all(which, 0)) return y;
  if (which->op == HSC_OP_NOT && which->user_count == 1) return hsc_build_select(b, which->operands[0], y, x);
  if (is_pred(instr) && hsc__is_all(x, 1) && hsc__is_all(y, 0) && hsc_shape_same_dims(&which->shape, &instr->shape)) return which;
  return NULL;
}

static hsc_instr *rule_convert(hsc_builder *b, hsc_instr *instr) {
  (void)b;
  hsc_instr *x = instr->operands[0];
  if (x->shape.type == instr->shape.type) return x;
  // narrow(widen(x)) is x when the middle type holds every value of x's type.
  if (x->op == HSC_OP_CONVERT && x->operands[0]->shape.type == instr->shape.type) {
    hsc_type outer = instr->shape.type, middle = x->shape.type;
    hsc_type_class oc = hsc_type_class_of(outer), mc = hsc_type_class_of(middle);
    bool float_widens = oc == HSC_CLASS_FLOAT && mc == HSC_CLASS_FLOAT &&
                        ((middle == HSC_TYPE_F32 && hsc_type_bits(outer) <= 16) || (middle == HSC_TYPE_F64 && hsc_type_bits(outer) <= 32));
    bool int_widens = oc == mc && (oc == HSC_CLASS_SIGNED || oc == HSC_CLASS_UNSIGNED) && hsc_type_bits(middle) > hsc_type_bits(outer);
    bool pred_widens = outer == HSC_TYPE_PRED && mc != HSC_CLASS_OTHER && mc != HSC_CLASS_COMPLEX && hsc_type_bits(middle) >= 8;
    if (float_widens || int_widens || pred_widens) return x->operands[0];
  }
  return NULL;
}

static hsc_instr *rule_idempotent(hsc_builder *b, hsc_instr *instr) {
  (void)b;
  hsc_instr *x = instr->operands[0];
  return x->op == instr->op ? x : NULL;
}

static hsc_instr *rule_log(hsc_builder *b, hsc_instr *instr) {
  (void)b;
  return instr->operands[0]->op == HSC_OP_EXP && is_float(instr) ? instr->operands[0]->operands[0] : NULL;
}

static hsc_instr *rule_real(hsc_builder *b, hsc_instr *instr) {
  (void)b;
  hsc_instr *x = instr->operands[0];
  if (x->op == HSC_OP_COMPLEX) return x->operands[instr->op == HSC_OP_IMAG];
  return instr->op == HSC_OP_REAL && !hsc_type_is_complex(x->shape.type) ? x : NULL;
}

static hsc_instr *rule_complex(hsc_builder *b, hsc_instr *instr) {
  (void)b;
  hsc_instr *re = instr->operands[0], *im = instr->operands[1];
  if (re->op != HSC_OP_REAL || im->op != HSC_OP_IMAG || re->operands[0] != im->operands[0]) return NULL;
  return re->operands[0]->shape.type == instr->shape.type ? re->operands[0] : NULL;
}

static hsc_instr *rule_remainder(hsc_builder *b, hsc_instr *instr) {
  if (is_int(instr) && hsc__is_all(instr->operands[1], 1)) return hsc__uniform_constant(b, 0, instr);
  return NULL;
}

static hsc_instr *rule_shift(hsc_builder *b, hsc_instr *instr) {
  (void)b;
  return hsc__is_all(instr->operands[1], 0) ? instr->operands[0] : NULL;
}

hsc__rule hsc__algsimp_arithmetic_rule(hsc_op op) {
  switch (op) {
    case HSC_OP_ADD: return rule_add;
    case HSC_OP_SUBTRACT: return rule_subtract;
    case HSC_OP_MULTIPLY: return rule_multiply;
    case HSC_OP_DIVIDE: return rule_divide;
    case HSC_OP_NEGATE: return rule_negate;
    case HSC_OP_NOT: return rule_not;
    case HSC_OP_AND: return rule_and;
    case HSC_OP_OR: return rule_or;
    case HSC_OP_MAXIMUM: case HSC_OP_MINIMUM: return rule_maximum;
    case HSC_OP_POWER: return rule_power;
    case HSC_OP_COMPARE: return rule_compare;
    case HSC_OP_SELECT: return rule_select;
    case HSC_OP_CONVERT: return rule_convert;
    case HSC_OP_ABS: case HSC_OP_FLOOR: case HSC_OP_CEIL: case HSC_OP_ROUND_AFZ: case HSC_OP_ROUND_EVEN: return rule_idempotent;
    case HSC_OP_LOG: return rule_log;
    case HSC_OP_REAL: case HSC_OP_IMAG: return rule_real;
    case HSC_OP_COMPLEX: return rule_complex;
    case HSC_OP_REMAINDER: return rule_remainder;
    case HSC_OP_SHIFT_LEFT: case HSC_OP_SHIFT_RIGHT_ARITH: case HSC_OP_SHIFT_RIGHT_LOGICAL: return rule_shift;
    default: return NULL;
  }
}
