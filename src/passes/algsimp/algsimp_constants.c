// algsimp_constants.c - rules on values that bring constants together, and on comparisons, roots
// and remainders.
//
// Merging constants of floats rounds once less; XLA does so by default. A merged constant that
// would leave the type's range is not made.
#include <float.h>
#include <math.h>

#include "passes/algsimp/algsimp.h"

static bool is_float(const hsc_instr *instr) {
  return hsc_type_is_float(instr->shape.type);
}
static bool is_int(const hsc_instr *instr) {
  return hsc_type_is_integral(instr->shape.type);
}
static bool is_pred(const hsc_instr *instr) {
  return instr->shape.type == HSC_TYPE_PRED;
}

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

static hsc_instr *rule_add(hsc_builder *b, hsc_instr *instr) {
  hsc_instr *x = instr->operands[0];
  hsc_instr *y = instr->operands[1];
  if (!is_float(instr))
    return NULL;
  double inner, outer;
  if (hsc__uniform_number(y, &outer) && hsc__has_one_use(x)) {
    // (A + C1) + C2 => A + (C1 + C2);  (C1 - A) + C2 => (C1 + C2) - A
    if (has_constant(x, HSC_OP_ADD, &inner) && is_in_range(inner + outer, instr->shape.type))
      return hsc_build_binary(b, HSC_OP_ADD, x->operands[0],
                              hsc__uniform_constant(b, inner + outer, instr));
    if (x->op == HSC_OP_SUBTRACT && hsc__uniform_number(x->operands[0], &inner) &&
        is_in_range(inner + outer, instr->shape.type))
      return hsc_build_binary(b, HSC_OP_SUBTRACT, hsc__uniform_constant(b, inner + outer, instr),
                              x->operands[1]);
  }
  // A * C + B * C => (A + B) * C where C is a power of two: no rounding is lost by it.
  if (x != y && hsc__has_one_use(x) && hsc__has_one_use(y) &&
      has_constant(x, HSC_OP_MULTIPLY, &inner) && has_constant(y, HSC_OP_MULTIPLY, &outer) &&
      inner == outer && is_power_of_two(inner))
    return hsc_build_binary(b, HSC_OP_MULTIPLY,
                            hsc_build_binary(b, HSC_OP_ADD, x->operands[0], y->operands[0]),
                            x->operands[1]);
  return NULL;
}

// A - C => A + (-C), so that constants meet.
static hsc_instr *rule_subtract(hsc_builder *b, hsc_instr *instr) {
  double value;
  if (!is_float(instr) || !hsc__uniform_number(instr->operands[1], &value) ||
      hsc__is_uniform_constant(instr->operands[0]))
    return NULL;
  return hsc_build_binary(b, HSC_OP_ADD, instr->operands[0],
                          hsc__uniform_constant(b, -value, instr));
}

static hsc_instr *rule_multiply(hsc_builder *b, hsc_instr *instr) {
  hsc_instr *x = instr->operands[0];
  hsc_instr *y = instr->operands[1];
  if (!is_float(instr))
    return NULL;
  hsc_type type = instr->shape.type;
  double inner, outer;
  // (A * C1) * C2 => A * (C1 * C2);  (A * C1) * (B * C2) => (A * B) * (C1 * C2)
  if (hsc__has_one_use(x) && has_constant(x, HSC_OP_MULTIPLY, &inner) && is_in_range(inner, type)) {
    if (hsc__uniform_number(y, &outer) && is_in_range(outer, type) && inner * outer != 0 &&
        is_in_range(inner * outer, type))
      return hsc_build_binary(b, HSC_OP_MULTIPLY, x->operands[0],
                              hsc__uniform_constant(b, inner * outer, instr));
    if (x != y && hsc__has_one_use(y) && has_constant(y, HSC_OP_MULTIPLY, &outer) &&
        is_in_range(outer, type) && inner * outer != 0 && is_in_range(inner * outer, type)) {
      hsc_instr *factor = hsc__uniform_constant(b, inner * outer, instr);
      hsc_instr *product = hsc_build_binary(b, HSC_OP_MULTIPLY, x->operands[0], y->operands[0]);
      return hsc_build_binary(b, HSC_OP_MULTIPLY, product, factor);
    }
  }
  // (A * C) * broadcast(S) => A * broadcast(S * C): a product of scalars for one of arrays.
  for (int side = 0; side < 2; side++) {
    hsc_instr *product = instr->operands[side];
    hsc_instr *wide = instr->operands[!side];
    if (!hsc__has_one_use(product) || !has_constant(product, HSC_OP_MULTIPLY, &inner) ||
        wide->op != HSC_OP_BROADCAST || wide->operands[0]->shape.rank > 0)
      continue;
    if (wide->operands[0]->op == HSC_OP_CONSTANT || instr->shape.rank == 0)
      continue;
    hsc_instr *scalar =
        hsc_build_binary(b, HSC_OP_MULTIPLY, wide->operands[0], hsc_build_scalar(b, type, inner));
    return hsc_build_binary(b, HSC_OP_MULTIPLY, product->operands[0], hsc__widen(b, scalar, instr));
  }
  // sqrt(A) * sqrt(A) => A;  rsqrt(A) * rsqrt(A) => 1 / A, where A cannot be negative
  if (x == y && (x->op == HSC_OP_SQRT || x->op == HSC_OP_RSQRT) && x->user_count == 2 &&
      x->parent->root != x && hsc__never_negative(x->operands[0]))
    return x->op == HSC_OP_SQRT
               ? x->operands[0]
               : hsc_build_binary(b, HSC_OP_DIVIDE, hsc__uniform_constant(b, 1, instr),
                                  x->operands[0]);
  return NULL;
}

static hsc_instr *rule_divide(hsc_builder *b, hsc_instr *instr) {
  hsc_instr *x = instr->operands[0];
  hsc_instr *y = instr->operands[1];
  if (!is_float(instr))
    return NULL;
  // A / rsqrt(B) => A * sqrt(B): a root for a root and two divisions
  if (y->op == HSC_OP_RSQRT && hsc__has_one_use(y))
    return hsc_build_binary(b, HSC_OP_MULTIPLY, x, hsc_build_unary(b, HSC_OP_SQRT, y->operands[0]));
  // A / C => A * (1 / C) for an array of constants that folding takes the quotients of
  const hsc_instr *divisor = y->op == HSC_OP_BROADCAST ? y->operands[0] : y;
  if (divisor->op == HSC_OP_CONSTANT && x->op != HSC_OP_CONSTANT &&
      !divisor->attr.literal.value->elided && hsc_shape_elements(&divisor->shape) <= 4096 &&
      !hsc__is_uniform_constant(y) && !hsc__is_uniform_constant(x)) {
    for (int64_t i = 0; i < hsc_shape_elements(&divisor->shape); i++) {
      double value = hsc_literal_get_double(divisor->attr.literal.value, i);
      if (value == 0 || !is_in_range(value, instr->shape.type) ||
          !is_in_range(1 / value, instr->shape.type))
        return NULL;
    }
    return hsc_build_binary(
        b, HSC_OP_MULTIPLY, x,
        hsc_build_binary(b, HSC_OP_DIVIDE, hsc__uniform_constant(b, 1, instr), y));
  }
  // (A / B) / (C / D) => (A * D) / (B * C);  (A / B) / C => A / (B * C);  A / (B / C) => (A * C) /
  // B
  bool left = x->op == HSC_OP_DIVIDE && hsc__has_one_use(x);
  bool right = y->op == HSC_OP_DIVIDE && hsc__has_one_use(y);
  if (x == y || (!left && !right))
    return NULL;
  hsc_instr *above = left ? x->operands[0] : x;
  hsc_instr *below = right ? y->operands[0] : y;
  if (right)
    above = hsc_build_binary(b, HSC_OP_MULTIPLY, above, y->operands[1]);
  if (left)
    below = hsc_build_binary(b, HSC_OP_MULTIPLY, x->operands[1], below);
  return hsc_build_binary(b, HSC_OP_DIVIDE, above, below);
}

static hsc_instr *rule_log(hsc_builder *b, hsc_instr *instr) {
  // log(sqrt(A)) => log(A) / 2;  log(rsqrt(A)) => log(A) / -2
  hsc_instr *x = instr->operands[0];
  if (!is_float(instr) || (x->op != HSC_OP_SQRT && x->op != HSC_OP_RSQRT) || !hsc__has_one_use(x))
    return NULL;
  hsc_instr *half = hsc__uniform_constant(b, x->op == HSC_OP_SQRT ? 0.5 : -0.5, instr);
  hsc_instr *log = hsc_build_unary(b, HSC_OP_LOG, x->operands[0]);
  return hsc_build_binary(b, HSC_OP_MULTIPLY, log, half);
}

static hsc_instr *rule_maximum(hsc_builder *b, hsc_instr *instr) {
  hsc_instr *x = instr->operands[0];
  hsc_instr *y = instr->operands[1];
  for (int side = 0; side < 2; side++) {
    hsc_instr *inner = instr->operands[side];
    hsc_instr *other = instr->operands[!side];
    // max(max(A, B), A) => max(A, B);  max(C, clamp(C, A, D)) => clamp(C, A, D), min likewise with
    //                                  D; constants
    if (inner->op == instr->op && (inner->operands[0] == other || inner->operands[1] == other))
      return inner;
    double low, high, bound;
    if (inner->op == HSC_OP_CLAMP && hsc__uniform_number(inner->operands[0], &low) &&
        hsc__uniform_number(inner->operands[2], &high) && hsc__uniform_number(other, &bound) &&
        low <= high && (instr->op == HSC_OP_MAXIMUM ? bound <= low : bound >= high))
      return inner;
  }
  // max(f(A), f(B)) => f(max(A, B)) for an f that grows
  if (is_float(instr) && x != y && x->op == y->op && (hsc_op_traits(x->op) & HSC_TRAIT_MONOTONE) &&
      hsc__has_one_use(x) && hsc__has_one_use(y))
    return hsc_build_clone(
        b, x, (hsc_instr *[]){hsc_build_binary(b, instr->op, x->operands[0], y->operands[0])});
  return NULL;
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

static hsc_instr *rule_compare(hsc_builder *b, hsc_instr *instr) {
  hsc_instr *x = instr->operands[0];
  hsc_instr *y = instr->operands[1];
  hsc_direction d = instr->attr.compare.direction;
  double value, on_true, on_false;
  bool total = is_float(x) && instr->attr.compare.type == HSC_COMPARE_TOTALORDER;
  if (total || hsc_type_is_complex(x->shape.type))
    return NULL;
  // max(A, B) > A => B > A;  A > min(A, B) => A > B
  if (d == HSC_GT && x->op == HSC_OP_MAXIMUM && (x->operands[0] == y || x->operands[1] == y))
    return compare_as(b, instr, d, x->operands[x->operands[0] == y], y);
  if (d == HSC_GT && y->op == HSC_OP_MINIMUM && (y->operands[0] == x || y->operands[1] == x))
    return compare_as(b, instr, d, x, y->operands[y->operands[0] == x]);
  if (!hsc__uniform_number(y, &value) || value != value)
    return NULL;
  if (d == HSC_LT && value == 0 && hsc__never_negative(x))
    return hsc__uniform_constant(b, 0, instr);
  // iota < C is known where the whole of it lies on one side
  if (x->op == HSC_OP_IOTA && is_int(x) && hsc_type_bits(x->shape.type) >= 32) {
    double last = (double)x->shape.dims[x->attr.dims.dims.v[0]] - 1;
    bool inside = value >= 0 && value <= last && last > 0;
    if (!inside && holds(d, 0, value) == holds(d, last, value))
      return hsc__uniform_constant(b, holds(d, 0, value), instr);
  }
  // select(P, C1, C2) == C => P, not P, true or false
  if (x->op == HSC_OP_SELECT && hsc_shape_same_dims(&x->operands[0]->shape, &instr->shape) &&
      hsc__uniform_number(x->operands[1], &on_true) &&
      hsc__uniform_number(x->operands[2], &on_false)) {
    bool p = holds(d, on_true, value);
    bool q = holds(d, on_false, value);
    if (p == q)
      return hsc__uniform_constant(b, p, instr);
    return p ? x->operands[0] : hsc_build_unary(b, HSC_OP_NOT, x->operands[0]);
  }
  return NULL;
}

// A < C1 & A < C2 => A < min(C1, C2), A > C likewise; "or" the other way round.
static hsc_instr *rule_and(hsc_builder *b, hsc_instr *instr) {
  (void)b;
  hsc_instr *x = instr->operands[0];
  hsc_instr *y = instr->operands[1];
  double p, q;
  if (!is_pred(instr) || x->op != HSC_OP_COMPARE || y->op != HSC_OP_COMPARE ||
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

static hsc_instr *rule_select(hsc_builder *b, hsc_instr *instr) {
  hsc_instr *which = instr->operands[0];
  hsc_instr *x = instr->operands[1];
  hsc_instr *y = instr->operands[2];
  if (which->op == HSC_OP_COMPARE && (is_int(instr) || is_pred(instr)) && which->operands[0] == x &&
      which->operands[1] == y) {
    // select(A == B, A, B) => B;  select(A != B, A, B) => A;  of truth values: A > B chooses "or",
    //                             A < B "and"
    hsc_direction d = which->attr.compare.direction;
    if (d == HSC_EQ)
      return y;
    if (d == HSC_NE)
      return x;
    if (is_pred(instr))
      return hsc_build_binary(b, d == HSC_GT || d == HSC_GE ? HSC_OP_OR : HSC_OP_AND, x, y);
    return hsc_build_binary(b, d == HSC_GT || d == HSC_GE ? HSC_OP_MAXIMUM : HSC_OP_MINIMUM, x, y);
  }
  // select(P, update(A, B at I), A) => update(A, select(P at I, B, A at I) at I), and with the
  // sides swapped
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

static hsc_instr *rule_remainder(hsc_builder *b, hsc_instr *instr) {
  hsc_instr *x = instr->operands[0];
  hsc_instr *y = instr->operands[1];
  if (!is_int(instr))
    return NULL;
  if (x->op == HSC_OP_REMAINDER && x->operands[1] == y)
    return x;  // (A % B) % B
  // (iota + N * C) % C => iota % C where the sum does not leave the type
  double divisor, added;
  if (x->op != HSC_OP_ADD || x->operands[0]->op != HSC_OP_IOTA ||
      !hsc__uniform_number(y, &divisor) || !hsc__uniform_number(x->operands[1], &added))
    return NULL;
  const hsc_instr *iota = x->operands[0];
  double last = (double)iota->shape.dims[iota->attr.dims.dims.v[0]] - 1 + added;
  double most = ldexp(1, (int)hsc_type_bits(instr->shape.type) - 1);
  if (divisor <= 0 || added < 0 || fmod(added, divisor) != 0 || last >= most)
    return NULL;
  return hsc_build_binary(b, HSC_OP_REMAINDER, x->operands[0], y);
}

// 0, S, 2 S ... of integers => iota * S: nothing to be read from memory, and it fuses.
static hsc_instr *rule_constant(hsc_builder *b, hsc_instr *instr) {
  const hsc_literal *literal = instr->attr.literal.value;
  if (literal->elided || !hsc_shape_is_array(&instr->shape) || instr->shape.rank != 1 ||
      instr->shape.dims[0] < 3 || !literal->data)
    return NULL;
  if (!is_int(instr) || hsc_type_bits(instr->shape.type) < 32)
    return NULL;
  int64_t step = hsc_literal_get_int(literal, 1);
  if (hsc_literal_get_int(literal, 0) != 0 || step < 2 || step > 1ll << 31)
    return NULL;
  for (int64_t i = 2; i < instr->shape.dims[0]; i++)
    if (hsc_literal_get_int(literal, i) - hsc_literal_get_int(literal, i - 1) != step)
      return NULL;
  hsc_instr *replacement = hsc_build_iota(b, instr->shape, 0);
  return hsc_build_binary(b, HSC_OP_MULTIPLY, replacement,
                          hsc__uniform_constant(b, (double)step, instr));
}

// What a barrier holds and nobody takes out of it drops out.
static hsc_instr *rule_optimization_barrier(hsc_builder *b, hsc_instr *instr) {
  hsc_instr *tuple = instr->operands[0];
  if (tuple->op != HSC_OP_TUPLE || instr->parent->root == instr || tuple->operand_count == 0)
    return NULL;
  bool *used = HSC_NEW_ARRAY(b->module->arena, bool, tuple->operand_count);
  hsc_instr **kept = HSC_NEW_ARRAY(b->module->arena, hsc_instr *, tuple->operand_count);
  hsc_instr **all = HSC_NEW_ARRAY(b->module->arena, hsc_instr *, tuple->operand_count);
  if (!used || !kept || !all)
    return NULL;
  for (int i = 0; i < instr->user_count; i++) {
    if (instr->users[i]->op != HSC_OP_GET_TUPLE_ELEMENT)
      return NULL;
    used[instr->users[i]->attr.index.value] = true;
  }
  int count = 0;
  for (int i = 0; i < tuple->operand_count; i++)
    if (used[i])
      kept[count++] = tuple->operands[i];
  if (count == tuple->operand_count || count == 0)
    return NULL;
  hsc_instr *smaller = hsc_build_tuple(b, count, kept);
  hsc_instr *barrier = hsc_build(b, instr->op, smaller->shape, 1, &smaller);
  for (int i = 0, at = 0; i < tuple->operand_count; i++)
    all[i] = used[i] ? hsc_build_get_tuple_element(b, barrier, at++) : tuple->operands[i];
  return hsc_build_tuple(b, tuple->operand_count, all);
}

hsc__rule hsc__algsimp_constants_rule(hsc_op op) {
  switch (op) {
    case HSC_OP_ADD:
      return rule_add;
    case HSC_OP_SUBTRACT:
      return rule_subtract;
    case HSC_OP_MULTIPLY:
      return rule_multiply;
    case HSC_OP_DIVIDE:
      return rule_divide;
    case HSC_OP_LOG:
      return rule_log;
    case HSC_OP_MAXIMUM:
    case HSC_OP_MINIMUM:
      return rule_maximum;
    case HSC_OP_COMPARE:
      return rule_compare;
    case HSC_OP_AND:
    case HSC_OP_OR:
      return rule_and;
    case HSC_OP_SELECT:
      return rule_select;
    case HSC_OP_REMAINDER:
      return rule_remainder;
    case HSC_OP_CONSTANT:
      return rule_constant;
    case HSC_OP_OPT_BARRIER:
      return rule_optimization_barrier;
    default:
      return NULL;
  }
}
