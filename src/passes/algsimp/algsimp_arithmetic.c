// algsimp_arithmetic.c - rules on sums, differences, products and quotients.
//
// Merging constants of floats rounds once less; XLA does so by default. A merged constant that
// would leave the type's range is not made.
#include <float.h>
#include <math.h>

#include "passes/algsimp/algsimp.h"

// What may be a constant of that float type: 0, or neither below its smallest normal number nor
// above its largest.
static bool is_in_range(double value, hsc_type type) {
  double size = fabs(value);
  if (size == 0)
    return true;
  if (!(size < INFINITY))
    return false;
  if (type == HSC_TYPE_F64)
    return size >= DBL_MIN;
  if (type == HSC_TYPE_F16)
    return size >= 0x1p-14 && size <= 65504;
  return (type == HSC_TYPE_F32 || type == HSC_TYPE_BF16) && size >= FLT_MIN &&
         size <= FLT_MAX * 0.99;
}

// "x op C" with a float constant on the right.
static bool has_constant(hsc_instr *instr, hsc_op op, double *out_value) {
  return instr->op == op && hsc__uniform_number(instr->operands[1], out_value) &&
         !hsc__is_uniform_constant(instr->operands[0]);
}

static bool is_power_of_two(double value) {
  int exponent;
  return value != 0 && isfinite(value) && fabs(frexp(value, &exponent)) == 0.5;
}

// ---- constants ----------------------------------------------------------------------------------

// Constants go to the right of commutative ops, so that the other rules look at one side only.
HSC_RULE(constant_to_right) {
  if (!hsc__is_uniform_constant(instr->operands[0]) || hsc__is_uniform_constant(instr->operands[1]))
    return NULL;
  return hsc_build_binary(b, instr->op, instr->operands[1], instr->operands[0]);
}

// Exact for integers.
HSC_RULE(merge_constants) {
  hsc_instr *inner = instr->operands[0];
  if (inner->op != instr->op || inner->user_count != 1 ||
      !hsc__is_uniform_constant(instr->operands[1]) ||
      !hsc__is_uniform_constant(inner->operands[1]))
    return NULL;
  if (!hsc__is_int(instr))
    return NULL;
  return hsc_build_binary(b, instr->op, inner->operands[0],
                          hsc_build_binary(b, instr->op, inner->operands[1], instr->operands[1]));
}

// ---- sums and differences -----------------------------------------------------------------------

HSC_RULE(add_of_predicates) {
  return hsc__is_pred(instr)
             ? hsc_build_binary(b, HSC_OP_OR, instr->operands[0], instr->operands[1])
             : NULL;
}

// XLA does it for floats as well (-0 + 0 is 0, which it accepts).
HSC_RULE(add_zero) {
  if (hsc__is_all(instr->operands[1], 0))
    return instr->operands[0];
  return hsc__is_all(instr->operands[0], 0) ? instr->operands[1] : NULL;
}

HSC_RULE(add_negated) {
  const hsc_instr *y = instr->operands[1];
  return y->op == HSC_OP_NEGATE && y->user_count == 1
             ? hsc_build_binary(b, HSC_OP_SUBTRACT, instr->operands[0], y->operands[0])
             : NULL;
}

// A * C + B * C => (A + B) * C
static hsc_instr *common_factor(hsc_builder *b, hsc_instr *instr) {
  hsc_instr *x = instr->operands[0];
  hsc_instr *y = instr->operands[1];
  if (x == y || x->op != HSC_OP_MULTIPLY || y->op != HSC_OP_MULTIPLY || !hsc__has_one_use(x) ||
      !hsc__has_one_use(y))
    return NULL;
  for (int i = 0; i < 4; i++)
    if (x->operands[i & 1] == y->operands[i >> 1])
      return hsc_build_binary(
          b, HSC_OP_MULTIPLY,
          hsc_build_binary(b, HSC_OP_ADD, x->operands[!(i & 1)], y->operands[!(i >> 1)]),
          x->operands[i & 1]);
  return NULL;
}

HSC_RULE(common_factor_of_integers) {
  return hsc__is_int(instr) ? common_factor(b, instr) : NULL;
}

HSC_RULE(common_factor_of_floats) {
  return hsc__is_float(instr) ? common_factor(b, instr) : NULL;
}

// What is added and taken away again: exact for integers, which wrap. NULL when there is none.
static hsc_instr *cancel(hsc_builder *b, hsc_instr *instr) {
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

HSC_RULE(cancel_integers) {
  return hsc__is_int(instr) ? cancel(b, instr) : NULL;
}

HSC_RULE(cancel_floats) {
  return hsc__is_float(instr) ? cancel(b, instr) : NULL;
}

HSC_RULE(merge_float_sums) {
  hsc_instr *x = instr->operands[0];
  double inner, outer;
  return hsc__is_float(instr) && hsc__uniform_number(instr->operands[1], &outer) &&
                 hsc__has_one_use(x) && has_constant(x, HSC_OP_ADD, &inner) &&
                 is_in_range(inner + outer, instr->shape.type)
             ? hsc_build_binary(b, HSC_OP_ADD, x->operands[0],
                                hsc__uniform_constant(b, inner + outer, instr))
             : NULL;
}

HSC_RULE(add_to_difference) {
  hsc_instr *x = instr->operands[0];
  double inner, outer;
  return hsc__is_float(instr) && hsc__uniform_number(instr->operands[1], &outer) &&
                 hsc__has_one_use(x) && x->op == HSC_OP_SUBTRACT &&
                 hsc__uniform_number(x->operands[0], &inner) &&
                 is_in_range(inner + outer, instr->shape.type)
             ? hsc_build_binary(b, HSC_OP_SUBTRACT, hsc__uniform_constant(b, inner + outer, instr),
                                x->operands[1])
             : NULL;
}

// No rounding is lost by it.
HSC_RULE(common_power_of_two) {
  hsc_instr *x = instr->operands[0];
  hsc_instr *y = instr->operands[1];
  double inner, outer;
  if (!hsc__is_float(instr) || x == y || !hsc__has_one_use(x) || !hsc__has_one_use(y) ||
      !has_constant(x, HSC_OP_MULTIPLY, &inner) || !has_constant(y, HSC_OP_MULTIPLY, &outer) ||
      inner != outer || !is_power_of_two(inner))
    return NULL;
  return hsc_build_binary(b, HSC_OP_MULTIPLY,
                          hsc_build_binary(b, HSC_OP_ADD, x->operands[0], y->operands[0]),
                          x->operands[1]);
}

HSC_RULE(subtract_zero) {
  return hsc__is_all(instr->operands[1], 0) ? instr->operands[0] : NULL;
}

HSC_RULE(subtract_itself) {
  return instr->operands[0] == instr->operands[1] && hsc__is_int(instr)
             ? hsc__uniform_constant(b, 0, instr)
             : NULL;
}

HSC_RULE(subtract_itself_float) {
  return instr->operands[0] == instr->operands[1] && hsc__is_float(instr)
             ? hsc__uniform_constant(b, 0, instr)
             : NULL;
}

HSC_RULE(subtract_negated) {
  const hsc_instr *y = instr->operands[1];
  return y->op == HSC_OP_NEGATE && y->user_count == 1
             ? hsc_build_binary(b, HSC_OP_ADD, instr->operands[0], y->operands[0])
             : NULL;
}

// So that constants meet; folding makes -C one.
HSC_RULE(subtract_constant) {
  hsc_instr *y = instr->operands[1];
  return hsc__is_int(instr) && hsc__is_uniform_constant(y) &&
                 !hsc__is_uniform_constant(instr->operands[0])
             ? hsc_build_binary(b, HSC_OP_ADD, instr->operands[0],
                                hsc_build_unary(b, HSC_OP_NEGATE, y))
             : NULL;
}

HSC_RULE(subtract_float_constant) {
  double value;
  if (!hsc__is_float(instr) || !hsc__uniform_number(instr->operands[1], &value) ||
      hsc__is_uniform_constant(instr->operands[0]))
    return NULL;
  return hsc_build_binary(b, HSC_OP_ADD, instr->operands[0],
                          hsc__uniform_constant(b, -value, instr));
}

// ---- products -----------------------------------------------------------------------------------

HSC_RULE(multiply_of_predicates) {
  return hsc__is_pred(instr)
             ? hsc_build_binary(b, HSC_OP_AND, instr->operands[0], instr->operands[1])
             : NULL;
}

HSC_RULE(multiply_one) {
  if (hsc__is_all(instr->operands[1], 1))
    return instr->operands[0];
  return hsc__is_all(instr->operands[0], 1) ? instr->operands[1] : NULL;
}

HSC_RULE(multiply_zero) {
  if (!hsc__is_int(instr))
    return NULL;
  if (hsc__is_all(instr->operands[1], 0))
    return instr->operands[1];
  return hsc__is_all(instr->operands[0], 0) ? instr->operands[0] : NULL;
}

HSC_RULE(multiply_zero_fast) {
  if (!hsc__is_float(instr))
    return NULL;
  if (hsc__is_all(instr->operands[0], 0))
    return instr->operands[0];
  return hsc__is_all(instr->operands[1], 0) ? instr->operands[1] : NULL;
}

HSC_RULE(multiply_zero_real) {
  return hsc__is_float(instr) &&
                 (hsc__is_all(instr->operands[0], 0) || hsc__is_all(instr->operands[1], 0))
             ? hsc__uniform_constant(b, 0, instr)
             : NULL;
}

HSC_RULE(multiply_minus_one) {
  return hsc__is_all(instr->operands[1], -1) ? hsc_build_unary(b, HSC_OP_NEGATE, instr->operands[0])
                                             : NULL;
}

HSC_RULE(multiply_negated) {
  const hsc_instr *x = instr->operands[0];
  const hsc_instr *y = instr->operands[1];
  return x->op == HSC_OP_NEGATE && y->op == HSC_OP_NEGATE
             ? hsc_build_binary(b, HSC_OP_MULTIPLY, x->operands[0], y->operands[0])
             : NULL;
}

HSC_RULE(multiply_absolute) {
  const hsc_instr *x = instr->operands[0];
  return x == instr->operands[1] && x->op == HSC_OP_ABS && (hsc__is_float(x) || hsc__is_int(x)) &&
                 !hsc_type_is_complex(x->operands[0]->shape.type)
             ? hsc_build_binary(b, HSC_OP_MULTIPLY, x->operands[0], x->operands[0])
             : NULL;
}

HSC_RULE(multiply_exponentials) {
  hsc_instr *x = instr->operands[0];
  hsc_instr *y = instr->operands[1];
  if (!hsc__is_float(instr) || x == y || x->op != HSC_OP_EXP || y->op != HSC_OP_EXP ||
      !hsc__has_one_use(x) || !hsc__has_one_use(y))
    return NULL;
  return hsc_build_unary(b, HSC_OP_EXP,
                         hsc_build_binary(b, HSC_OP_ADD, x->operands[0], y->operands[0]));
}

// Whether a float product has a constant factor that other factors may meet.
static bool is_scaled(hsc_instr *x, double *out_factor) {
  return hsc__has_one_use(x) && has_constant(x, HSC_OP_MULTIPLY, out_factor) &&
         is_in_range(*out_factor, x->shape.type);
}

// Whether two constant factors have a product that is one.
static bool may_merge(double inner, double outer, hsc_type type) {
  return is_in_range(outer, type) && inner * outer != 0 && is_in_range(inner * outer, type);
}

HSC_RULE(merge_float_factors) {
  hsc_instr *x = instr->operands[0];
  double inner, outer;
  return hsc__is_float(instr) && is_scaled(x, &inner) &&
                 hsc__uniform_number(instr->operands[1], &outer) &&
                 may_merge(inner, outer, instr->shape.type)
             ? hsc_build_binary(b, HSC_OP_MULTIPLY, x->operands[0],
                                hsc__uniform_constant(b, inner * outer, instr))
             : NULL;
}

HSC_RULE(merge_factors_of_both) {
  hsc_instr *x = instr->operands[0];
  hsc_instr *y = instr->operands[1];
  double inner, outer;
  if (!hsc__is_float(instr) || x == y || !is_scaled(x, &inner) || !hsc__has_one_use(y) ||
      !has_constant(y, HSC_OP_MULTIPLY, &outer) || !may_merge(inner, outer, instr->shape.type))
    return NULL;
  hsc_instr *factor = hsc__uniform_constant(b, inner * outer, instr);
  hsc_instr *product = hsc_build_binary(b, HSC_OP_MULTIPLY, x->operands[0], y->operands[0]);
  return hsc_build_binary(b, HSC_OP_MULTIPLY, product, factor);
}

// A product of scalars for one of arrays.
HSC_RULE(scale_broadcast_scalar) {
  double inner;
  for (int side = 0; side < 2 && hsc__is_float(instr); side++) {
    hsc_instr *product = instr->operands[side];
    hsc_instr *wide = instr->operands[!side];
    if (!hsc__has_one_use(product) || !has_constant(product, HSC_OP_MULTIPLY, &inner) ||
        wide->op != HSC_OP_BROADCAST || wide->operands[0]->shape.rank > 0)
      continue;
    if (wide->operands[0]->op == HSC_OP_CONSTANT || instr->shape.rank == 0)
      continue;
    hsc_instr *scalar = hsc_build_binary(b, HSC_OP_MULTIPLY, wide->operands[0],
                                         hsc_build_scalar(b, instr->shape.type, inner));
    return hsc_build_binary(b, HSC_OP_MULTIPLY, product->operands[0], hsc__widen(b, scalar, instr));
  }
  return NULL;
}

// The product of a root with itself, that nobody else reads, of what cannot be negative.
static bool is_squared_root(hsc_instr *instr, hsc_op root) {
  hsc_instr *x = instr->operands[0];
  return hsc__is_float(instr) && x == instr->operands[1] && x->op == root && x->user_count == 2 &&
         x->parent->root != x && hsc__never_negative(x->operands[0]);
}

HSC_RULE(square_of_sqrt) {
  return is_squared_root(instr, HSC_OP_SQRT) ? instr->operands[0]->operands[0] : NULL;
}

HSC_RULE(square_of_rsqrt) {
  return is_squared_root(instr, HSC_OP_RSQRT)
             ? hsc_build_binary(b, HSC_OP_DIVIDE, hsc__uniform_constant(b, 1, instr),
                                instr->operands[0]->operands[0])
             : NULL;
}

// ---- quotients ----------------------------------------------------------------------------------

HSC_RULE(divide_one) {
  return hsc__is_all(instr->operands[1], 1) ? instr->operands[0] : NULL;
}

HSC_RULE(divide_as_shift) {
  hsc_instr *y = instr->operands[1];
  return hsc__is_int(instr) && hsc__power_of_two(y) > 0 && hsc__never_negative(instr->operands[0])
             ? hsc_build_binary(b, HSC_OP_SHIFT_RIGHT_LOGICAL, instr->operands[0],
                                hsc__uniform_constant(b, hsc__power_of_two(y), instr))
             : NULL;
}

HSC_RULE(divide_by_power) {
  hsc_instr *y = instr->operands[1];
  if (!hsc__is_float(instr) || y->op != HSC_OP_POWER || !hsc__has_one_use(y))
    return NULL;
  return hsc_build_binary(b, HSC_OP_MULTIPLY, instr->operands[0],
                          hsc_build_binary(b, HSC_OP_POWER, y->operands[0],
                                           hsc_build_unary(b, HSC_OP_NEGATE, y->operands[1])));
}

// 1 / root(A) as the other root of A.
static hsc_instr *inverse_of_root(hsc_builder *b, hsc_instr *instr, hsc_op root, hsc_op other) {
  const hsc_instr *x = instr->operands[0];
  const hsc_instr *y = instr->operands[1];
  return hsc__is_float(instr) && (x->op == HSC_OP_CONSTANT || x->op == HSC_OP_BROADCAST) &&
                 hsc__is_all(x, 1) && y->op == root && y->user_count == 1
             ? hsc_build_unary(b, other, y->operands[0])
             : NULL;
}

HSC_RULE(inverse_of_rsqrt) {
  return inverse_of_root(b, instr, HSC_OP_RSQRT, HSC_OP_SQRT);
}

HSC_RULE(inverse_of_sqrt) {
  return inverse_of_root(b, instr, HSC_OP_SQRT, HSC_OP_RSQRT);
}

// Exact to one rounding more: as XLA by default.
HSC_RULE(divide_by_constant) {
  const hsc_instr *divisor = hsc__uniform_value(instr->operands[1]);
  if (!hsc__is_float(instr) || !divisor || divisor->op != HSC_OP_CONSTANT ||
      divisor->attr.literal.value->elided)
    return NULL;
  double value = hsc_literal_get_double(divisor->attr.literal.value, 0);
  if (value == 0 || !isfinite(value) || fabs(value) <= 1e-30 || fabs(value) >= 1e30)
    return NULL;
  return hsc_build_binary(b, HSC_OP_MULTIPLY, instr->operands[0],
                          hsc__uniform_constant(b, 1.0 / value, instr));
}

// A root for a root and two divisions.
HSC_RULE(divide_by_rsqrt) {
  hsc_instr *y = instr->operands[1];
  return hsc__is_float(instr) && y->op == HSC_OP_RSQRT && hsc__has_one_use(y)
             ? hsc_build_binary(b, HSC_OP_MULTIPLY, instr->operands[0],
                                hsc_build_unary(b, HSC_OP_SQRT, y->operands[0]))
             : NULL;
}

// The array of constants that something else is divided by; NULL when there is none, or too many.
static const hsc_instr *constant_divisors(hsc_instr *instr) {
  hsc_instr *x = instr->operands[0];
  hsc_instr *y = instr->operands[1];
  const hsc_instr *divisor = y->op == HSC_OP_BROADCAST ? y->operands[0] : y;
  return divisor->op == HSC_OP_CONSTANT && x->op != HSC_OP_CONSTANT &&
                 !divisor->attr.literal.value->elided &&
                 hsc_shape_elements(&divisor->shape) <= 4096 && !hsc__is_uniform_constant(y) &&
                 !hsc__is_uniform_constant(x)
             ? divisor
             : NULL;
}

// Folding takes the quotients.
HSC_RULE(divide_by_constants) {
  const hsc_instr *divisor = hsc__is_float(instr) ? constant_divisors(instr) : NULL;
  if (!divisor)
    return NULL;
  for (int64_t i = 0; i < hsc_shape_elements(&divisor->shape); i++) {
    double value = hsc_literal_get_double(divisor->attr.literal.value, i);
    if (value == 0 || !is_in_range(value, instr->shape.type) ||
        !is_in_range(1 / value, instr->shape.type))
      return NULL;
  }
  return hsc_build_binary(
      b, HSC_OP_MULTIPLY, instr->operands[0],
      hsc_build_binary(b, HSC_OP_DIVIDE, hsc__uniform_constant(b, 1, instr), instr->operands[1]));
}

HSC_RULE(divide_quotients) {
  hsc_instr *x = instr->operands[0];
  hsc_instr *y = instr->operands[1];
  bool left = x->op == HSC_OP_DIVIDE && hsc__has_one_use(x);
  bool right = y->op == HSC_OP_DIVIDE && hsc__has_one_use(y);
  if (!hsc__is_float(instr) || x == y || (!left && !right) || constant_divisors(instr))
    return NULL;
  hsc_instr *above = left ? x->operands[0] : x;
  hsc_instr *below = right ? y->operands[0] : y;
  if (right)
    above = hsc_build_binary(b, HSC_OP_MULTIPLY, above, y->operands[1]);
  if (left)
    below = hsc_build_binary(b, HSC_OP_MULTIPLY, x->operands[1], below);
  return hsc_build_binary(b, HSC_OP_DIVIDE, above, below);
}

HSC_RULE(divide_exponentials) {
  hsc_instr *x = instr->operands[0];
  hsc_instr *y = instr->operands[1];
  return hsc__is_float(instr) && y->op == HSC_OP_EXP && hsc__has_one_use(y) &&
                 x->op == HSC_OP_EXP && hsc__has_one_use(x)
             ? hsc_build_unary(b, HSC_OP_EXP,
                               hsc_build_binary(b, HSC_OP_SUBTRACT, x->operands[0], y->operands[0]))
             : NULL;
}

HSC_RULE(divide_by_exponential) {
  hsc_instr *y = instr->operands[1];
  return hsc__is_float(instr) && y->op == HSC_OP_EXP && hsc__has_one_use(y)
             ? hsc_build_binary(b, HSC_OP_MULTIPLY, instr->operands[0],
                                hsc_build_unary(b, HSC_OP_EXP,
                                                hsc_build_unary(b, HSC_OP_NEGATE, y->operands[0])))
             : NULL;
}

// Fewer divisions.
HSC_RULE(divide_by_broadcast) {
  hsc_instr *y = instr->operands[1];
  if (!o->enable_sink_broadcast || !hsc__is_float(instr) || y->op != HSC_OP_BROADCAST ||
      !hsc__has_one_use(y->operands[0]) || hsc__is_uniform_constant(y) ||
      hsc__is_all(instr->operands[0], 1))
    return NULL;
  hsc_instr *inverse = hsc_build_binary(
      b, HSC_OP_DIVIDE, hsc__uniform_constant(b, 1, y->operands[0]), y->operands[0]);
  return hsc_build_binary(b, HSC_OP_MULTIPLY, instr->operands[0],
                          hsc_build_broadcast(b, inverse, instr->shape, y->attr.dims.dims));
}
