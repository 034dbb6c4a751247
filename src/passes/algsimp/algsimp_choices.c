// algsimp_choices.c - rules on truth values, bits, comparisons and what chooses between values:
// select, maximum, minimum, clamp.
#include <math.h>

#include "passes/algsimp/algsimp.h"

// ---- truth values and bits ----------------------------------------------------------------------

HSC_RULE(not_twice) {
  const hsc_instr *x = instr->operands[0];
  return x->op == HSC_OP_NOT ? x->operands[0] : NULL;
}

HSC_RULE(not_of_compare) {
  static const hsc_direction inverse[] = {[HSC_EQ] = HSC_NE, [HSC_NE] = HSC_EQ, [HSC_LT] = HSC_GE,
                                          [HSC_LE] = HSC_GT, [HSC_GT] = HSC_LE, [HSC_GE] = HSC_LT};
  const hsc_instr *x = instr->operands[0];
  if (x->op != HSC_OP_COMPARE || x->user_count != 1 || !hsc__is_pred(instr))
    return NULL;
  bool exact = hsc__is_int(x->operands[0]) || hsc__is_pred(x->operands[0]);
  hsc_direction d = x->attr.compare.direction;
  if (!exact && d != HSC_EQ && d != HSC_NE)
    return NULL;
  hsc_instr *replacement = hsc_build_compare(b, inverse[d], x->operands[0], x->operands[1]);
  replacement->attr.compare.type = x->attr.compare.type;
  return replacement;
}

HSC_RULE(same_twice) {
  return instr->operands[0] == instr->operands[1] ? instr->operands[0] : NULL;
}

HSC_RULE(and_with_constant) {
  hsc_instr *x = instr->operands[0];
  hsc_instr *y = instr->operands[1];
  if (!hsc__is_pred(instr))
    return hsc__is_all(y, 0) ? y : NULL;
  if (hsc__is_all(y, 1) || hsc__is_all(x, 0))
    return x;
  return hsc__is_all(x, 1) || hsc__is_all(y, 0) ? y : NULL;
}

HSC_RULE(or_with_constant) {
  hsc_instr *x = instr->operands[0];
  hsc_instr *y = instr->operands[1];
  if (hsc__is_all(y, 0))
    return x;
  if (hsc__is_all(x, 0))
    return y;
  if (hsc__is_pred(instr) && hsc__is_all(x, 1))
    return x;
  return hsc__is_pred(instr) && hsc__is_all(y, 1) ? y : NULL;
}

HSC_RULE(xor_same) {
  return instr->operands[0] == instr->operands[1] ? hsc__uniform_constant(b, 0, instr) : NULL;
}

HSC_RULE(xor_zero) {
  if (hsc__is_all(instr->operands[1], 0))
    return instr->operands[0];
  return hsc__is_all(instr->operands[0], 0) ? instr->operands[1] : NULL;
}

HSC_RULE(xor_true) {
  return hsc__is_pred(instr) && hsc__is_all(instr->operands[1], 1)
             ? hsc_build_unary(b, HSC_OP_NOT, instr->operands[0])
             : NULL;
}

// A > C likewise; "or" the other way round.
HSC_RULE(merge_bounds) {
  hsc_instr *x = instr->operands[0];
  hsc_instr *y = instr->operands[1];
  double p, q;
  if (!hsc__is_pred(instr) || x->op != HSC_OP_COMPARE || y->op != HSC_OP_COMPARE ||
      x->operands[0] != y->operands[0] || x->attr.compare.direction != y->attr.compare.direction)
    return NULL;
  if (x->attr.compare.type != y->attr.compare.type || !hsc__uniform_number(x->operands[1], &p) ||
      !hsc__uniform_number(y->operands[1], &q) || p != p || q != q)
    return NULL;
  hsc_direction d = x->attr.compare.direction;
  if (d == HSC_EQ || d == HSC_NE || x->attr.compare.type == HSC_COMPARE_TOTALORDER)
    return NULL;
  bool smaller = (d == HSC_LT || d == HSC_LE) == (instr->op == HSC_OP_AND);
  return smaller == (p <= q) ? x : y;
}

// ---- the larger and the smaller one -------------------------------------------------------------

// Whether no value of the type is below (or above) the uniform constant.
static bool is_extreme(hsc_instr *instr, bool lowest) {
  hsc_type type = instr->shape.type;
  if (hsc__is_float(instr))
    return hsc__is_all(instr, lowest ? -INFINITY : INFINITY);
  if (!hsc__is_int(instr))
    return false;
  hsc_instr *value = hsc__uniform_value(instr);
  if (!value || value->op != HSC_OP_CONSTANT || value->attr.literal.value->elided)
    return false;
  uint64_t n = (uint64_t)hsc_literal_get_int(value->attr.literal.value, 0);
  uint64_t all = hsc_type_bits(type) >= 64 ? UINT64_MAX : (1ull << hsc_type_bits(type)) - 1;
  uint64_t low = hsc_type_class_of(type) == HSC_CLASS_UNSIGNED ? 0 : (all >> 1) + 1;
  return (n & all) == (lowest ? low : (low - 1) & all);
}

HSC_RULE(extreme_of_bound) {
  hsc_instr *x = instr->operands[0];
  hsc_instr *y = instr->operands[1];
  bool is_max = instr->op == HSC_OP_MAXIMUM;
  if (is_extreme(y, is_max))
    return x;
  if (is_extreme(x, is_max))
    return y;
  return hsc__is_int(instr) && is_extreme(y, !is_max) ? y : NULL;
}

// Whether it is max(op(A, inner), outer), or min, of two constants that are no NaN.
static bool has_two_bounds(hsc_instr *instr, hsc_op op, double *out_inner, double *out_outer) {
  hsc_instr *x = instr->operands[0];
  return hsc__has_one_use(x) && x->op == op && hsc__uniform_number(instr->operands[1], out_outer) &&
         hsc__uniform_number(x->operands[1], out_inner) && *out_outer == *out_outer &&
         *out_inner == *out_inner;
}

HSC_RULE(extreme_of_extreme_constants) {
  const hsc_instr *x = instr->operands[0];
  double inner, outer;
  if (!has_two_bounds(instr, instr->op, &inner, &outer))
    return NULL;
  bool is_inner = instr->op == HSC_OP_MAXIMUM ? inner > outer : inner < outer;
  return hsc_build_binary(b, instr->op, x->operands[0],
                          is_inner ? x->operands[1] : instr->operands[1]);
}

HSC_RULE(extremes_as_clamp) {
  const hsc_instr *x = instr->operands[0];
  hsc_instr *y = instr->operands[1];
  bool is_max = instr->op == HSC_OP_MAXIMUM;
  double inner, outer;
  if (!has_two_bounds(instr, is_max ? HSC_OP_MINIMUM : HSC_OP_MAXIMUM, &inner, &outer))
    return NULL;
  double low = is_max ? outer : inner;
  double high = is_max ? inner : outer;
  hsc_instr *bounds[2] = {hsc__uniform_value(is_max ? y : x->operands[1]),
                          hsc__uniform_value(is_max ? x->operands[1] : y)};
  if (low > high)
    return NULL;
  return hsc_build_op(b, HSC_OP_CLAMP, (hsc_shape){0}, NULL, 3,
                      (hsc_instr *[]){bounds[0], x->operands[0], bounds[1]}, 0, NULL);
}

HSC_RULE(extreme_of_extreme) {
  for (int side = 0; side < 2; side++) {
    hsc_instr *inner = instr->operands[side];
    const hsc_instr *other = instr->operands[!side];
    if (inner->op == instr->op && (inner->operands[0] == other || inner->operands[1] == other))
      return inner;
  }
  return NULL;
}

HSC_RULE(extreme_of_clamp) {
  double low, high, bound;
  for (int side = 0; side < 2; side++) {
    hsc_instr *inner = instr->operands[side];
    if (inner->op == HSC_OP_CLAMP && hsc__uniform_number(inner->operands[0], &low) &&
        hsc__uniform_number(inner->operands[2], &high) &&
        hsc__uniform_number(instr->operands[!side], &bound) && low <= high &&
        (instr->op == HSC_OP_MAXIMUM ? bound <= low : bound >= high))
      return inner;
  }
  return NULL;
}

HSC_RULE(extreme_of_growing) {
  hsc_instr *x = instr->operands[0];
  hsc_instr *y = instr->operands[1];
  if (!hsc__is_float(instr) || x == y || x->op != y->op ||
      !(hsc_op_traits(x->op) & HSC_TRAIT_MONOTONE) || !hsc__has_one_use(x) || !hsc__has_one_use(y))
    return NULL;
  return hsc_build_clone(
      b, x, (hsc_instr *[]){hsc_build_binary(b, instr->op, x->operands[0], y->operands[0])});
}

HSC_RULE(clamp_twice) {
  hsc_instr *x = instr->operands[1];
  return x->op == HSC_OP_CLAMP && x->operands[0] == instr->operands[0] &&
                 x->operands[2] == instr->operands[2]
             ? x
             : NULL;
}

// ---- comparisons --------------------------------------------------------------------------------

// Whether A op A is true, of numbers.
static bool holds_of_equal(hsc_direction d) {
  return d == HSC_EQ || d == HSC_LE || d == HSC_GE;
}

HSC_RULE(compare_itself) {
  const hsc_instr *x = instr->operands[0];
  return x == instr->operands[1] && !hsc__is_float(x) && !hsc_type_is_complex(x->shape.type)
             ? hsc__uniform_constant(b, holds_of_equal(instr->attr.compare.direction), instr)
             : NULL;
}

HSC_RULE(compare_itself_float) {
  const hsc_instr *x = instr->operands[0];
  return x == instr->operands[1] && hsc__is_float(x)
             ? hsc__uniform_constant(b, holds_of_equal(instr->attr.compare.direction), instr)
             : NULL;
}

HSC_RULE(compare_with_truth) {
  hsc_instr *x = instr->operands[0];
  hsc_direction d = instr->attr.compare.direction;
  bool is_same = (d == HSC_EQ && hsc__is_all(instr->operands[1], 1)) ||
                 (d == HSC_NE && hsc__is_all(instr->operands[1], 0));
  return hsc__is_pred(x) && is_same ? x : NULL;
}

// The direction turns round.
HSC_RULE(compare_constant_to_right) {
  static const hsc_direction mirrored[] = {[HSC_EQ] = HSC_EQ, [HSC_NE] = HSC_NE, [HSC_LT] = HSC_GT,
                                           [HSC_LE] = HSC_GE, [HSC_GT] = HSC_LT, [HSC_GE] = HSC_LE};
  hsc_instr *x = instr->operands[0];
  hsc_instr *y = instr->operands[1];
  if (!hsc__is_uniform_constant(x) || hsc__is_uniform_constant(y))
    return NULL;
  hsc_instr *replacement = hsc_build_compare(b, mirrored[instr->attr.compare.direction], y, x);
  replacement->attr.compare.type = instr->attr.compare.type;
  return replacement;
}

HSC_RULE(compare_unsigned_with_zero) {
  hsc_direction d = instr->attr.compare.direction;
  if (hsc_type_class_of(instr->operands[0]->shape.type) != HSC_CLASS_UNSIGNED ||
      (d != HSC_LT && d != HSC_GE) || !hsc__is_all(instr->operands[1], 0))
    return NULL;
  return hsc__uniform_constant(b, d == HSC_GE, instr);
}

static hsc_instr *compare_as(
    hsc_builder *b, const hsc_instr *like, hsc_direction direction, hsc_instr *x, hsc_instr *y) {
  hsc_instr *replacement = hsc_build_compare(b, direction, x, y);
  replacement->attr.compare.type = like->attr.compare.type;
  return replacement;
}

static bool holds(hsc_direction d, double x, double y) {
  switch (d) {
    case HSC_EQ:
      return x == y;
    case HSC_NE:
      return x != y;
    case HSC_LT:
      return x < y;
    case HSC_LE:
      return x <= y;
    case HSC_GT:
      return x > y;
    default:
      return x >= y;
  }
}

// Whether it compares numbers as numbers: -0 equals 0.
static bool compares_numbers(const hsc_instr *instr) {
  const hsc_instr *x = instr->operands[0];
  bool total = hsc__is_float(x) && instr->attr.compare.type == HSC_COMPARE_TOTALORDER;
  return !total && !hsc_type_is_complex(x->shape.type);
}

// The number that it compares with; false when that is none.
static bool compared_number(hsc_instr *instr, double *out_value) {
  return compares_numbers(instr) && hsc__uniform_number(instr->operands[1], out_value) &&
         *out_value == *out_value;
}

HSC_RULE(compare_extreme) {
  hsc_instr *x = instr->operands[0];
  hsc_instr *y = instr->operands[1];
  hsc_direction d = instr->attr.compare.direction;
  if (!compares_numbers(instr) || d != HSC_GT)
    return NULL;
  if (x->op == HSC_OP_MAXIMUM && (x->operands[0] == y || x->operands[1] == y))
    return compare_as(b, instr, d, x->operands[x->operands[0] == y], y);
  if (y->op == HSC_OP_MINIMUM && (y->operands[0] == x || y->operands[1] == x))
    return compare_as(b, instr, d, x, y->operands[y->operands[0] == x]);
  return NULL;
}

HSC_RULE(compare_never_negative) {
  double value;
  return compared_number(instr, &value) && instr->attr.compare.direction == HSC_LT && value == 0 &&
                 hsc__never_negative(instr->operands[0])
             ? hsc__uniform_constant(b, 0, instr)
             : NULL;
}

// It is known where the whole of the iota lies on one side.
HSC_RULE(compare_iota) {
  const hsc_instr *x = instr->operands[0];
  hsc_direction d = instr->attr.compare.direction;
  double value;
  if (!compared_number(instr, &value) || x->op != HSC_OP_IOTA || !hsc__is_int(x) ||
      hsc_type_bits(x->shape.type) < 32)
    return NULL;
  double last = (double)x->shape.dims[x->attr.dims.dims.v[0]] - 1;
  bool inside = value >= 0 && value <= last && last > 0;
  return !inside && holds(d, 0, value) == holds(d, last, value)
             ? hsc__uniform_constant(b, holds(d, 0, value), instr)
             : NULL;
}

HSC_RULE(compare_select) {
  const hsc_instr *x = instr->operands[0];
  hsc_direction d = instr->attr.compare.direction;
  double value, on_true, on_false;
  if (!compared_number(instr, &value) || x->op != HSC_OP_SELECT ||
      !hsc_shape_same_dims(&x->operands[0]->shape, &instr->shape) ||
      !hsc__uniform_number(x->operands[1], &on_true) ||
      !hsc__uniform_number(x->operands[2], &on_false))
    return NULL;
  bool p = holds(d, on_true, value);
  bool q = holds(d, on_false, value);
  if (p == q)
    return hsc__uniform_constant(b, p, instr);
  return p ? x->operands[0] : hsc_build_unary(b, HSC_OP_NOT, x->operands[0]);
}

// ---- select -------------------------------------------------------------------------------------

HSC_RULE(select_same) {
  return instr->operands[1] == instr->operands[2] ? instr->operands[1] : NULL;
}

HSC_RULE(select_on_constant) {
  if (hsc__is_all(instr->operands[0], 1))
    return instr->operands[1];
  return hsc__is_all(instr->operands[0], 0) ? instr->operands[2] : NULL;
}

HSC_RULE(select_of_select) {
  hsc_instr *which = instr->operands[0];
  hsc_instr *x = instr->operands[1];
  hsc_instr *y = instr->operands[2];
  if (x->op == HSC_OP_SELECT && x->operands[0] == which)
    return hsc_build_select(b, which, x->operands[1], y);
  if (y->op == HSC_OP_SELECT && y->operands[0] == which)
    return hsc_build_select(b, which, x, y->operands[2]);
  return NULL;
}

// Whether it chooses between two truth values, for each element by itself.
static bool selects_truth(hsc_instr *instr, bool on_true) {
  return hsc__is_pred(instr) && hsc__is_all(instr->operands[1], on_true) &&
         hsc__is_all(instr->operands[2], !on_true) &&
         hsc_shape_same_dims(&instr->operands[0]->shape, &instr->shape);
}

HSC_RULE(select_false_true) {
  return selects_truth(instr, false) ? hsc_build_unary(b, HSC_OP_NOT, instr->operands[0]) : NULL;
}

HSC_RULE(select_on_not) {
  const hsc_instr *which = instr->operands[0];
  return which->op == HSC_OP_NOT && which->user_count == 1
             ? hsc_build_select(b, which->operands[0], instr->operands[2], instr->operands[1])
             : NULL;
}

HSC_RULE(select_true_false) {
  return selects_truth(instr, true) ? instr->operands[0] : NULL;
}

// select(A op B, A, B) of integers or truth values.
static bool selects_compared(const hsc_instr *instr) {
  const hsc_instr *which = instr->operands[0];
  return which->op == HSC_OP_COMPARE && (hsc__is_int(instr) || hsc__is_pred(instr)) &&
         which->operands[0] == instr->operands[1] && which->operands[1] == instr->operands[2];
}

HSC_RULE(select_on_equality) {
  if (!selects_compared(instr))
    return NULL;
  hsc_direction d = instr->operands[0]->attr.compare.direction;
  if (d == HSC_EQ)
    return instr->operands[2];
  return d == HSC_NE ? instr->operands[1] : NULL;
}

// Of truth values: A > B chooses "or", A < B "and".
HSC_RULE(select_on_order) {
  if (!selects_compared(instr))
    return NULL;
  hsc_direction d = instr->operands[0]->attr.compare.direction;
  bool larger = d == HSC_GT || d == HSC_GE;
  if (d == HSC_EQ || d == HSC_NE)
    return NULL;
  hsc_op op = larger ? HSC_OP_MAXIMUM : HSC_OP_MINIMUM;
  if (hsc__is_pred(instr))
    op = larger ? HSC_OP_OR : HSC_OP_AND;
  return hsc_build_binary(b, op, instr->operands[1], instr->operands[2]);
}

// And with the sides swapped.
HSC_RULE(select_of_update) {
  hsc_instr *which = instr->operands[0];
  for (int side = 1; side < 3; side++) {
    hsc_instr *update = instr->operands[side];
    hsc_instr *plain = instr->operands[3 - side];
    if (update->op != HSC_OP_DYNAMIC_UPDATE_SLICE || update->operands[0] != plain ||
        !hsc__has_one_use(update))
      continue;
    hsc_instr *part = update->operands[1];
    hsc_dims sizes = hsc_dims_copy(b->module->arena, part->shape.rank, part->shape.dims);
    int count = update->operand_count - 2;
    hsc_instr *p = which->shape.rank
                       ? hsc_build_dynamic_slice(b, which, count, update->operands + 2, sizes)
                       : which;
    hsc_instr *old = hsc_build_dynamic_slice(b, plain, count, update->operands + 2, sizes);
    hsc_instr *kept =
        side == 1 ? hsc_build_select(b, p, part, old) : hsc_build_select(b, p, old, part);
    return hsc_build_dynamic_update_slice(b, plain, kept, count, update->operands + 2);
  }
  return NULL;
}
