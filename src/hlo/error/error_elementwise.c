// error_elementwise.c - how errors of the operands of one element become the error of its result.
//
// Each rule holds for every value within the operands' errors, not to first order only: functions
// that grow are taken at both ends, products and quotients have their second-order terms. A result
// that some legal operand makes undefined (the root of what may be negative, the quotient by what
// may be zero) has an infinite error. Then the rounding of the op itself is added.
#include "hlo/error/error_internal.h"

// One element: its operands, their errors, and the evaluator's result.
typedef struct element {
  const hsc__error_site *site;
  double x, y;    // operands
  double ex, ey;  // their errors
  double value;   // the result
} element;

// ---- functions of one operand -------------------------------------------------------------------

static double sigmoid(double x) {
  return 1 / (1 + exp(-x));
}

static double reciprocal_root(double x) {
  return 1 / sqrt(x);
}

static double sign_of(double x) {
  return (x > 0) - (x < 0);
}

// Functions that grow, or fall, wherever they are defined.
static double (*monotone_function(hsc_op op))(double) {
  switch (op) {
    case HSC_OP_EXP:
      return exp;
    case HSC_OP_EXPM1:
      return expm1;
    case HSC_OP_LOG:
      return log;
    case HSC_OP_LOG1P:
      return log1p;
    case HSC_OP_SQRT:
      return sqrt;
    case HSC_OP_RSQRT:
      return reciprocal_root;
    case HSC_OP_CBRT:
      return cbrt;
    case HSC_OP_TANH:
      return tanh;
    case HSC_OP_LOGISTIC:
      return sigmoid;
    case HSC_OP_ERF:
      return erf;
    case HSC_OP_ASIN:
      return asin;
    case HSC_OP_ACOS:
      return acos;
    case HSC_OP_SINH:
      return sinh;
    case HSC_OP_ASINH:
      return asinh;
    case HSC_OP_ACOSH:
      return acosh;
    case HSC_OP_ATANH:
      return atanh;
    case HSC_OP_FLOOR:
      return floor;
    case HSC_OP_CEIL:
      return ceil;
    case HSC_OP_ROUND_AFZ:
      return round;
    case HSC_OP_ROUND_EVEN:
      return rint;
    case HSC_OP_SIGN:
      return sign_of;
    default:
      return NULL;
  }
}

static double at_both_ends(double (*f)(double), double x, double e) {
  double here = f(x);
  double low = f(x - e);
  double high = f(x + e);
  if (isnan(low) || isnan(high))
    return INFINITY;
  if (isinf(here))
    return isinf(low) && isinf(high) ? 0 : INFINITY;
  return fmax(fabs(high - here), fabs(low - here));
}

static double carried_unary(const element *e, hsc_op op) {
  double (*f)(double) = monotone_function(op);
  if (f)
    return at_both_ends(f, e->x, e->ex);
  switch (op) {
    case HSC_OP_ABS:
    case HSC_OP_NEGATE:
    case HSC_OP_REAL:
    case HSC_OP_IMAG:
      return e->ex;
    case HSC_OP_SINE:
    case HSC_OP_COSINE:
      return fmin(e->ex, 2);
    case HSC_OP_TAN: {
      double slope = 1 + tan(e->x) * tan(e->x);
      return e->ex * slope < 0.1 ? 2 * e->ex * slope : INFINITY;
    }
    case HSC_OP_COSH:
      return at_both_ends(cosh, fabs(e->x), e->ex);
    default:
      return NAN;
  }
}

// ---- functions of two operands ------------------------------------------------------------------

static double carried_power(const element *e) {
  double worst = 0;
  double here = pow(e->x, e->y);
  if (!(e->x - e->ex > 0))
    return INFINITY;
  for (int corner = 0; corner < 4; corner++) {
    double x = corner & 1 ? e->x + e->ex : e->x - e->ex;
    double y = corner & 2 ? e->y + e->ey : e->y - e->ey;
    worst = hsc__worse(worst, fabs(pow(x, y) - here));
  }
  return worst;
}

static double carried_binary(const element *e, hsc_op op) {
  double x = fabs(e->x);
  double y = fabs(e->y);
  switch (op) {
    case HSC_OP_ADD:
    case HSC_OP_SUBTRACT:
      return e->ex + e->ey;
    case HSC_OP_MULTIPLY:
      return x * e->ey + y * e->ex + e->ex * e->ey;
    case HSC_OP_DIVIDE:
      if (y <= e->ey)
        return INFINITY;
      return (x * e->ey + y * e->ex) / (y * (y - e->ey));
    case HSC_OP_MAXIMUM:
    case HSC_OP_MINIMUM:
      return fmax(e->ex, e->ey);
    case HSC_OP_POWER:
      return carried_power(e);
    case HSC_OP_ATAN2: {
      double room = hypot(x, y) - e->ex - e->ey;
      bool cut = e->y - e->ey < 0 && x <= e->ex;  // the angle jumps there
      if (room <= 0 || cut)
        return 6.4;
      return (e->ex + e->ey) / room;
    }
    case HSC_OP_COMPLEX:
      return hypot(e->ex, e->ey);
    default:
      return NAN;
  }
}

// ---- the op's own rounding ----------------------------------------------------------------------

// Whether the result is what arithmetic without rounding gives.
static bool is_whole(const element *e, hsc_op op) {
  if (op == HSC_OP_MULTIPLY)
    return fma(e->x, e->y, -e->value) == 0;
  double y = op == HSC_OP_SUBTRACT ? -e->y : e->y;
  double sum = e->x + y;
  double part = sum - e->x;
  double lost = (e->x - (sum - part)) + (y - part);
  return sum == e->value && lost == 0;
}

// What they give is one of the numbers that they were given, or a whole number.
static const bool never_rounds[HSC_OP_COUNT] = {
    [HSC_OP_ABS] = true,     [HSC_OP_CEIL] = true,      [HSC_OP_COMPLEX] = true,
    [HSC_OP_FLOOR] = true,   [HSC_OP_IMAG] = true,      [HSC_OP_MAXIMUM] = true,
    [HSC_OP_MINIMUM] = true, [HSC_OP_NEGATE] = true,    [HSC_OP_REAL] = true,
    [HSC_OP_SIGN] = true,    [HSC_OP_ROUND_AFZ] = true, [HSC_OP_ROUND_EVEN] = true,
};

// What taking a denormal result for zero does.
static double denormal(const element *e) {
  double size = fabs(e->value);
  return size < e->site->tiny ? size : 0;
}

static double own_rounding(const element *e, const hsc_instr *instr) {
  double size = fabs(e->value);
  double unit = e->site->unit;
  bool exact = e->ex == 0 && e->ey == 0;
  if (never_rounds[instr->op])
    return 0;
  switch (instr->op) {
    case HSC_OP_ADD:
    case HSC_OP_SUBTRACT:
    case HSC_OP_MULTIPLY:
      return exact && is_whole(e, instr->op) ? denormal(e) : hsc__rounding(e->site, e->value);
    case HSC_OP_CONVERT:
      return exact && e->value == e->x ? denormal(e) : hsc__rounding(e->site, e->value);
    case HSC_OP_REDUCE_PRECISION:
      return exact ? 0 : ldexp(size, -instr->attr.precision.mantissa_bits);
    case HSC_OP_EXP:
      return (2 * hsc__op_places(instr->op) + 2 * fmin(fabs(e->x), 1100)) * unit * size +
             e->site->tiny;
    case HSC_OP_SINE:
    case HSC_OP_COSINE:
      return 2 * hsc__op_places(instr->op) * unit + e->site->tiny;  // of the range, not the value
    case HSC_OP_POWER:
      if (e->x == 0)
        return 0;
      return (2 * hsc__op_places(instr->op) + 4 * fabs(e->y * log(fabs(e->x)))) * unit * size +
             e->site->tiny;
    default:
      return 2 * hsc__op_places(instr->op) * unit * size + e->site->tiny;
  }
}

static double error_of_real(const element *e, const hsc_instr *instr) {
  bool exact = e->ex == 0 && e->ey == 0;
  double carried = 0;
  if (isnan(e->ex) || isnan(e->ey))
    return NAN;
  if (isinf(e->ex) || isinf(e->ey))
    return INFINITY;
  if (instr->op == HSC_OP_REMAINDER)
    return exact ? 0 : NAN;
  if (!exact && (instr->op == HSC_OP_CONVERT || instr->op == HSC_OP_REDUCE_PRECISION))
    carried = e->ex;
  else if (!exact)
    carried =
        instr->operand_count == 1 ? carried_unary(e, instr->op) : carried_binary(e, instr->op);
  // NaN of exact operands stays NaN, an infinity an infinity
  if (!isfinite(e->value))
    return exact ? 0 : INFINITY;
  return carried + own_rounding(e, instr);
}

// ---- predicates and integers --------------------------------------------------------------------

// 1 where the answer may be the other one.
static double error_of_compare(const element *e, const hsc_instr *instr) {
  double room = e->ex + e->ey;
  if (isnan(room))
    return NAN;
  if (room == 0)
    return 0;
  if (instr->attr.compare.type == HSC_COMPARE_TOTALORDER)
    return 1;
  return fabs(e->x - e->y) <= room || isinf(room) ? 1 : 0;
}

static double error_of_predicate(const element *e, const hsc_instr *instr) {
  bool certain_x = e->ex == 0;
  bool certain_y = e->ey == 0;
  switch (instr->op) {
    case HSC_OP_COMPARE:
      return error_of_compare(e, instr);
    case HSC_OP_IS_FINITE:
      if (isnan(e->ex))
        return NAN;
      return certain_x || (isfinite(e->x) && isfinite(e->ex)) ? 0 : 1;
    case HSC_OP_AND:
      if ((certain_x && e->x == 0) || (certain_y && e->y == 0))
        return 0;
      return hsc__worse(e->ex, e->ey);
    case HSC_OP_OR:
      if ((certain_x && e->x != 0) || (certain_y && e->y != 0))
        return 0;
      return hsc__worse(e->ex, e->ey);
    case HSC_OP_XOR:
    case HSC_OP_NOT:
      return hsc__worse(e->ex, e->ey);
    default:
      return certain_x && certain_y ? 0 : NAN;
  }
}

// Integers that came from floats with an error: a step at most further than the float.
static double error_of_integer(const element *e, const hsc_instr *instr) {
  bool exact = e->ex == 0 && e->ey == 0;
  if (exact)
    return 0;
  switch (instr->op) {
    case HSC_OP_CONVERT:
      return at_both_ends(trunc, e->x, e->ex);
    case HSC_OP_ADD:
    case HSC_OP_SUBTRACT:
      return e->ex + e->ey;
    case HSC_OP_MULTIPLY:
      return fabs(e->x) * e->ey + fabs(e->y) * e->ex + e->ex * e->ey;
    case HSC_OP_MAXIMUM:
    case HSC_OP_MINIMUM:
      return hsc__worse(e->ex, e->ey);
    case HSC_OP_NEGATE:
    case HSC_OP_ABS:
      return e->ex;
    default:
      return NAN;
  }
}

// ---- complex numbers ----------------------------------------------------------------------------

static double modulus(const hsc_literal *literal, int64_t i) {
  double re = hsc_literal_get_double(literal, i);
  return hsc_type_is_complex(literal->shape.type) ? hypot(re, hsc_literal_get_imag(literal, i))
                                                  : fabs(re);
}

// x, y and value are moduli here.
static double error_of_complex(const element *e, const hsc_instr *instr) {
  bool exact = e->ex == 0 && e->ey == 0;
  double unit = e->site->unit;
  double carried = NAN;
  if (!isfinite(e->value))
    return exact ? NAN : INFINITY;
  switch (instr->op) {
    case HSC_OP_ADD:
    case HSC_OP_SUBTRACT:
    case HSC_OP_MULTIPLY:
    case HSC_OP_DIVIDE:
      carried = carried_binary(e, instr->op);
      return carried + 16 * unit * (instr->op == HSC_OP_MULTIPLY ? e->x * e->y : e->value) +
             e->site->tiny;
    case HSC_OP_NEGATE:
    case HSC_OP_REAL:
    case HSC_OP_IMAG:
      return e->ex;
    case HSC_OP_COMPLEX:
      return hypot(e->ex, e->ey);
    case HSC_OP_ABS:
      return e->ex + 8 * unit * e->value + e->site->tiny;
    case HSC_OP_CONVERT:
      return e->ex + 2 * unit * e->value + e->site->tiny;
    default:
      return NAN;
  }
}

// ---- rules --------------------------------------------------------------------------------------

typedef double error_of(const element *e, const hsc_instr *instr);

hsc_status *hsc__error_elementwise(const hsc__error_site *site, double *error) {
  const hsc_instr *instr = site->instr;
  const hsc_bounded *left = site->operands[0];
  const hsc_bounded *right = instr->operand_count > 1 ? site->operands[1] : NULL;
  bool complex =
      hsc_type_is_complex(instr->shape.type) || hsc_type_is_complex(left->value->shape.type);
  error_of *of = error_of_real;
  if (instr->operand_count > 2)
    return hsc__error_unknown(site, error);
  if (instr->shape.type == HSC_TYPE_PRED)
    of = error_of_predicate;
  else if (hsc_type_is_integral(instr->shape.type))
    of = error_of_integer;
  else if (complex)
    of = error_of_complex;
  for (int64_t i = 0; i < site->count; i++) {
    element e = {.site = site, .ex = hsc__error_at(left, i)};
    e.x = complex ? modulus(left->value, i) : hsc_literal_get_double(left->value, i);
    e.value = complex ? modulus(site->value, i) : hsc_literal_get_double(site->value, i);
    if (right) {
      e.y = complex ? modulus(right->value, i) : hsc_literal_get_double(right->value, i);
      e.ey = hsc__error_at(right, i);
    }
    error[i] = of(&e, instr);
  }
  return NULL;
}

static double difference(const hsc_literal *a, const hsc_literal *b, int64_t i) {
  double re = hsc_literal_get_double(a, i) - hsc_literal_get_double(b, i);
  if (!hsc_type_is_complex(a->shape.type))
    return fabs(re);
  return hypot(re, hsc_literal_get_imag(a, i) - hsc_literal_get_imag(b, i));
}

hsc_status *hsc__error_select(const hsc__error_site *site, double *error) {
  const hsc_bounded *which = site->operands[0];
  const hsc_bounded *yes = site->operands[1];
  const hsc_bounded *no = site->operands[2];
  bool one = hsc_shape_elements(&which->value->shape) == 1;
  for (int64_t i = 0; i < site->count; i++) {
    double doubt = hsc__error_at(which, one ? 0 : i);
    bool taken = hsc_literal_get_int(which->value, one ? 0 : i) != 0;
    error[i] = hsc__error_at(taken ? yes : no, i);
    if (isnan(doubt))
      error[i] = NAN;
    else if (doubt > 0)
      error[i] = difference(yes->value, no->value, i) +
                 hsc__worse(hsc__error_at(yes, i), hsc__error_at(no, i));
  }
  return NULL;
}

hsc_status *hsc__error_clamp(const hsc__error_site *site, double *error) {
  for (int64_t i = 0; i < site->count; i++) {
    error[i] = 0;
    for (int k = 0; k < 3; k++) {
      bool one = hsc_shape_elements(&site->operands[k]->value->shape) == 1;
      error[i] = hsc__worse(error[i], hsc__error_at(site->operands[k], one ? 0 : i));
    }
  }
  return NULL;
}
