// emit_complex.c - operations on complex numbers, as two values (see emit_internal.h).
//
// Sums and products are the textbook formulas in the parts' own type. Quotients and functions of
// c64 are computed in double, where no square of a part overflows or is lost; results at
// infinities and zeros are C99's (Annex G), as the evaluator has them. What is not here is left
// to the evaluator.
#include "cpu/emit/emit_internal.h"

#include <math.h>

#define B (e->builder)

bool hsc__emit_can_complex(const hsc_instr *instr) {
  switch (instr->op) {
    case HSC_OP_ADD:
    case HSC_OP_SUBTRACT:
    case HSC_OP_MULTIPLY:
    case HSC_OP_DIVIDE:
    case HSC_OP_NEGATE:
    case HSC_OP_SIGN:
    case HSC_OP_ABS:
    case HSC_OP_REAL:
    case HSC_OP_IMAG:
    case HSC_OP_COMPLEX:
    case HSC_OP_SELECT:
    case HSC_OP_CONVERT:
    case HSC_OP_COMPARE:
    case HSC_OP_COPY:
      return true;
    case HSC_OP_EXP:
    case HSC_OP_LOG:
      return instr->shape.type == HSC_TYPE_C64;
    default:
      return false;
  }
}

// ---- double parts -------------------------------------------------------------------------------

static hsc_lv constant(hsc_emitter *e, hsc_type type, double value, bool vector) {
  return hsc__emit_real_like(e, hsc__emit_type(e, type), value, vector);
}

static hsc_lv number(hsc_emitter *e, double value, bool vector) {
  return hsc__emit_real_like(e, e->f64, value, vector);
}

static hsc_lv wide(hsc_emitter *e, hsc_lv part, bool vector) {
  LLVMTypeRef type = hsc__emit_lanes_of(e, e->f64, vector);
  return hsc_ll.TypeOf(part) == type ? part : hsc_ll.BuildFPExt(B, part, type, "");
}

static hsc_lv narrow(hsc_emitter *e, hsc_type type, hsc_lv part, bool vector) {
  return type == HSC_TYPE_C128
             ? part
             : hsc_ll.BuildFPTrunc(B, part, hsc__emit_lanes_of(e, e->f32, vector), "");
}

static hsc_lv is_nan(hsc_emitter *e, hsc_lv v) {
  return hsc_ll.BuildFCmp(B, LLVMRealUNO, v, v, "");
}

static hsc_lv magnitude(hsc_emitter *e, hsc_lv v) {
  return hsc__emit_unary(e, "llvm.fabs", v);
}

static hsc_lv is_infinite(hsc_emitter *e, hsc_lv v, bool vector) {
  return hsc_ll.BuildFCmp(B, LLVMRealOEQ, magnitude(e, v), number(e, INFINITY, vector), "");
}

static hsc_lv is_finite(hsc_emitter *e, hsc_lv v, bool vector) {
  return hsc_ll.BuildFCmp(B, LLVMRealOLT, magnitude(e, v), number(e, INFINITY, vector), "");
}

static hsc_lv with_sign_of(hsc_emitter *e, hsc_lv v, hsc_lv sign) {
  hsc_lv arguments[2] = {v, sign};
  return hsc__emit_intrinsic(e, "llvm.copysign", hsc_ll.TypeOf(v), arguments, 2);
}

static hsc_lv pick(hsc_emitter *e, hsc_lv condition, hsc_lv on_true, hsc_lv on_false) {
  return hsc_ll.BuildSelect(B, condition, on_true, on_false, "");
}

static hsc_lv both(hsc_emitter *e, hsc_lv a, hsc_lv b) {
  return hsc_ll.BuildAnd(B, a, b, "");
}

static hsc_lv either(hsc_emitter *e, hsc_lv a, hsc_lv b) {
  return hsc_ll.BuildOr(B, a, b, "");
}

static hsc_lv times(hsc_emitter *e, hsc_lv a, hsc_lv b) {
  return hsc_ll.BuildFMul(B, a, b, "");
}

// ---- quotients ----------------------------------------------------------------------------------

typedef struct parts {
  hsc_lv re, im;
} parts;

// 1 with the part's sign where it is infinite, else 0 with its sign.
static hsc_lv boxed(hsc_emitter *e, hsc_lv part, bool vector) {
  hsc_lv size = pick(e, is_infinite(e, part, vector), number(e, 1, vector), number(e, 0, vector));
  return with_sign_of(e, size, part);
}

// scale * (x1 y1 + x2 y2), scale * (x2 y1 - x1 y2)
static parts scaled(hsc_emitter *e, hsc_lv scale, hsc_lv x1, hsc_lv x2, hsc_lv y1, hsc_lv y2) {
  return (parts){times(e, scale, hsc_ll.BuildFAdd(B, times(e, x1, y1), times(e, x2, y2), "")),
                 times(e, scale, hsc_ll.BuildFSub(B, times(e, x2, y1), times(e, x1, y2), ""))};
}

// Smith's quotient, which neither overflows nor underflows where the quotient does not: the larger
// part of the divisor is divided out. (a + ib) / (c + id).
static parts smith_quotient(hsc_emitter *e, hsc_lv a, hsc_lv b, hsc_lv c, hsc_lv d, bool vector) {
  hsc_lv by_real = hsc_ll.BuildFCmp(B, LLVMRealOGE, magnitude(e, c), magnitude(e, d), "");
  hsc_lv large = pick(e, by_real, c, d);
  hsc_lv small = pick(e, by_real, d, c);
  hsc_lv ratio = hsc_ll.BuildFDiv(B, small, large, "");
  hsc_lv under = hsc_ll.BuildFAdd(B, large, times(e, small, ratio), "");
  // By the real part: (a + b r, b - a r); by the imaginary: (a r + b, b r - a).
  hsc_lv first = pick(e, by_real, a, b);
  hsc_lv second = pick(e, by_real, b, a);
  hsc_lv re = hsc_ll.BuildFAdd(B, first, times(e, second, ratio), "");
  hsc_lv im_real = hsc_ll.BuildFSub(B, b, times(e, a, ratio), "");
  hsc_lv im_other = hsc_ll.BuildFSub(B, times(e, b, ratio), a, "");
  return (parts){hsc_ll.BuildFDiv(B, re, under, ""),
                 hsc_ll.BuildFDiv(B, pick(e, by_real, im_real, im_other), under, "")};
}

// Of parts that were f32: their squares are doubles, so that one division does.
static parts direct_quotient(hsc_emitter *e, hsc_lv a, hsc_lv b, hsc_lv c, hsc_lv d, bool vector) {
  hsc_lv under = hsc_ll.BuildFAdd(B, times(e, c, c), times(e, d, d), "");
  return scaled(e, hsc_ll.BuildFDiv(B, number(e, 1, vector), under, ""), a, b, c, d);
}

static parts quotient(
    hsc_emitter *e, hsc_type type, hsc_lv a, hsc_lv b, hsc_lv c, hsc_lv d, bool vector) {
  parts plain = type == HSC_TYPE_C64 ? direct_quotient(e, a, b, c, d, vector)
                                     : smith_quotient(e, a, b, c, d, vector);
  // Both parts lost: at zeros and infinities more is known.
  hsc_lv zero = number(e, 0, vector);
  hsc_lv infinity = number(e, INFINITY, vector);
  hsc_lv lost = both(e, is_nan(e, plain.re), is_nan(e, plain.im));
  hsc_lv by_zero = both(e, hsc_ll.BuildFCmp(B, LLVMRealOEQ, c, zero, ""),
                        hsc_ll.BuildFCmp(B, LLVMRealOEQ, d, zero, ""));
  hsc_lv known = hsc_ll.BuildNot(B, both(e, is_nan(e, a), is_nan(e, b)), "");
  hsc_lv over_finite = both(e, is_finite(e, c, vector), is_finite(e, d, vector));
  hsc_lv finite_top = both(e, is_finite(e, a, vector), is_finite(e, b, vector));
  hsc_lv infinite_top = either(e, is_infinite(e, a, vector), is_infinite(e, b, vector));
  hsc_lv infinite_under = either(e, is_infinite(e, c, vector), is_infinite(e, d, vector));
  hsc_lv signed_infinity = with_sign_of(e, infinity, c);
  parts at_zero = {times(e, signed_infinity, a), times(e, signed_infinity, b)};
  parts at_top = scaled(e, infinity, boxed(e, a, vector), boxed(e, b, vector), c, d);
  parts at_under = scaled(e, zero, a, b, boxed(e, c, vector), boxed(e, d, vector));
  hsc_lv use_under = both(e, lost, both(e, infinite_under, finite_top));
  hsc_lv use_top = both(e, lost, both(e, infinite_top, over_finite));
  hsc_lv use_zero = both(e, lost, both(e, by_zero, known));
  plain.re = pick(e, use_under, at_under.re, plain.re);
  plain.im = pick(e, use_under, at_under.im, plain.im);
  plain.re = pick(e, use_top, at_top.re, plain.re);
  plain.im = pick(e, use_top, at_top.im, plain.im);
  plain.re = pick(e, use_zero, at_zero.re, plain.re);
  plain.im = pick(e, use_zero, at_zero.im, plain.im);
  return plain;
}

// ---- functions ----------------------------------------------------------------------------------

static hsc_lv function(hsc_emitter *e, const char *name, hsc_lv x, bool vector) {
  return hsc__emit_vmath(e, name, e->f64, &x, 1, vector);
}

// e^x (cos y + i sin y). A real argument stays real; e^-inf is 0 and e^inf infinite whatever y is.
static parts exponential(hsc_emitter *e, hsc_lv x, hsc_lv y, bool vector) {
  hsc_lv size = function(e, "exp", x, vector);
  hsc_lv zero = number(e, 0, vector);
  parts result = {times(e, size, function(e, "cos", y, vector)),
                  times(e, size, function(e, "sin", y, vector))};
  hsc_lv turned = hsc_ll.BuildNot(B, is_finite(e, y, vector), "");
  hsc_lv none =
      both(e, turned, hsc_ll.BuildFCmp(B, LLVMRealOEQ, x, number(e, -INFINITY, vector), ""));
  hsc_lv all =
      both(e, turned, hsc_ll.BuildFCmp(B, LLVMRealOEQ, x, number(e, INFINITY, vector), ""));
  result.re = pick(e, none, zero, pick(e, all, number(e, INFINITY, vector), result.re));
  result.im = pick(e, none, with_sign_of(e, zero, y), result.im);
  hsc_lv real = hsc_ll.BuildFCmp(B, LLVMRealOEQ, y, zero, "");
  result.re = pick(e, real, size, result.re);
  result.im = pick(e, real, y, result.im);
  return result;
}

// log |z| + i arg z, of floats as doubles. Near |z| = 1 the logarithm is that of 1 + (|z|^2 - 1),
// whose terms are exact.
static parts logarithm(hsc_emitter *e, hsc_lv x, hsc_lv y, bool vector) {
  hsc_lv a = magnitude(e, x);
  hsc_lv b = magnitude(e, y);
  hsc_lv less = hsc_ll.BuildFCmp(B, LLVMRealOLT, a, b, "");
  hsc_lv large = pick(e, less, b, a);
  hsc_lv small = pick(e, less, a, b);
  hsc_lv one = number(e, 1, vector);
  hsc_lv half = number(e, 0.5, vector);
  hsc_lv square = hsc_ll.BuildFAdd(B, times(e, large, large), times(e, small, small), "");
  hsc_lv beside = hsc_ll.BuildFAdd(
      B, times(e, hsc_ll.BuildFSub(B, large, one, ""), hsc_ll.BuildFAdd(B, large, one, "")),
      times(e, small, small), "");
  hsc_lv near = both(e, hsc_ll.BuildFCmp(B, LLVMRealOGT, square, half, ""),
                     hsc_ll.BuildFCmp(B, LLVMRealOLT, square, number(e, 3, vector), ""));
  hsc_lv far_log = function(e, "log", square, vector);
  hsc_lv near_log = function(e, "log1p", pick(e, near, beside, half), vector);
  parts result = {.re = times(e, half, pick(e, near, near_log, far_log))};
  hsc_lv infinite = either(e, is_infinite(e, x, vector), is_infinite(e, y, vector));
  result.re = pick(e, infinite, number(e, INFINITY, vector), result.re);
  hsc_lv arguments[2] = {y, x};
  result.im = hsc__emit_vmath(e, "atan2", e->f64, arguments, 2, vector);
  return result;
}

// z / |z|, where |z| is larger * sqrt(1 + (smaller / larger)^2), each step in the parts' type.
static parts direction(hsc_emitter *e, hsc_type type, hsc_lv re, hsc_lv im, bool vector) {
  hsc_lv zero = constant(e, type, 0, vector);
  hsc_lv r = magnitude(e, re);
  hsc_lv m = magnitude(e, im);
  hsc_lv greater = hsc_ll.BuildFCmp(B, LLVMRealOGT, r, m, "");
  hsc_lv larger = pick(e, greater, r, m);
  hsc_lv smaller = pick(e, greater, m, r);
  hsc_lv ratio = hsc_ll.BuildFDiv(B, smaller, larger, "");
  hsc_lv sum = hsc_ll.BuildFAdd(B, constant(e, type, 1, vector), times(e, ratio, ratio), "");
  hsc_lv size = times(e, larger, hsc__emit_unary(e, "llvm.sqrt", sum));
  hsc_lv none = both(e, hsc_ll.BuildFCmp(B, LLVMRealOEQ, re, zero, ""),
                     hsc_ll.BuildFCmp(B, LLVMRealOEQ, im, zero, ""));
  return (parts){pick(e, none, zero, hsc_ll.BuildFDiv(B, re, size, "")),
                 pick(e, none, zero, hsc_ll.BuildFDiv(B, im, size, ""))};
}

// ---- the operation ------------------------------------------------------------------------------

void hsc__emit_complex_op(hsc_emitter *e,
                          const hsc_instr *instr,
                          const hsc_emit_value *x,
                          hsc_emit_value *result) {
  hsc_emit_value a = x[0];
  hsc_emit_value b = instr->operand_count > 1 ? x[1] : x[0];
  hsc_type type = instr->shape.type;
  bool vector = result->vector;
  parts made = {a.v, a.im};
  switch (instr->op) {
    case HSC_OP_ADD:
      made = (parts){hsc_ll.BuildFAdd(B, a.v, b.v, ""), hsc_ll.BuildFAdd(B, a.im, b.im, "")};
      break;
    case HSC_OP_SUBTRACT:
      made = (parts){hsc_ll.BuildFSub(B, a.v, b.v, ""), hsc_ll.BuildFSub(B, a.im, b.im, "")};
      break;
    case HSC_OP_MULTIPLY:
      made.re = hsc_ll.BuildFSub(B, times(e, a.v, b.v), times(e, a.im, b.im), "");
      made.im = hsc_ll.BuildFAdd(B, times(e, a.v, b.im), times(e, a.im, b.v), "");
      break;
    case HSC_OP_NEGATE:
      made = (parts){hsc_ll.BuildFNeg(B, a.v, ""), hsc_ll.BuildFNeg(B, a.im, "")};
      break;
    case HSC_OP_SIGN:
      made = direction(e, hsc_type_real_part(type), a.v, a.im, vector);
      break;
    case HSC_OP_DIVIDE:
    case HSC_OP_EXP:
    case HSC_OP_LOG: {
      hsc_lv re = wide(e, a.v, vector);
      hsc_lv im = wide(e, a.im, vector);
      if (instr->op == HSC_OP_DIVIDE)
        made = quotient(e, type, re, im, wide(e, b.v, vector), wide(e, b.im, vector), vector);
      else if (instr->op == HSC_OP_EXP)
        made = exponential(e, re, im, vector);
      else
        made = logarithm(e, re, im, vector);
      made.re = narrow(e, type, made.re, vector);
      made.im = narrow(e, type, made.im, vector);
      break;
    }
    default:
      break;
  }
  result->v = made.re;
  result->im = made.im;
}

// |z|. Of c64 in double, where no square overflows or is lost; of c128 by the larger part. Infinite
// where a part is, also beside NaN.
hsc_lv hsc__emit_complex_abs(hsc_emitter *e, hsc_type from, hsc_emit_value z, bool vector) {
  hsc_lv re = hsc__emit_unary(e, "llvm.fabs", z.v);
  hsc_lv im = hsc__emit_unary(e, "llvm.fabs", z.im);
  hsc_type part = from == HSC_TYPE_C64 ? HSC_TYPE_F32 : HSC_TYPE_F64;
  hsc_lv infinity = constant(e, part, INFINITY, vector);
  hsc_lv infinite = hsc_ll.BuildOr(B, hsc_ll.BuildFCmp(B, LLVMRealOEQ, re, infinity, ""),
                                   hsc_ll.BuildFCmp(B, LLVMRealOEQ, im, infinity, ""), "");
  hsc_lv length;
  if (from == HSC_TYPE_C64) {
    hsc_lv x = hsc_ll.BuildFPExt(B, re, hsc__emit_lanes_of(e, e->f64, vector), "");
    hsc_lv y = hsc_ll.BuildFPExt(B, im, hsc__emit_lanes_of(e, e->f64, vector), "");
    hsc_lv sum =
        hsc_ll.BuildFAdd(B, hsc_ll.BuildFMul(B, x, x, ""), hsc_ll.BuildFMul(B, y, y, ""), "");
    length = hsc_ll.BuildFPTrunc(B, hsc__emit_unary(e, "llvm.sqrt", sum),
                                 hsc__emit_lanes_of(e, e->f32, vector), "");
  } else {
    hsc_lv less = hsc_ll.BuildFCmp(B, LLVMRealOLT, re, im, "");
    hsc_lv large = hsc_ll.BuildSelect(B, less, im, re, "");
    hsc_lv small = hsc_ll.BuildSelect(B, less, re, im, "");
    hsc_lv ratio = hsc_ll.BuildFDiv(B, small, large, "");
    hsc_lv root = hsc__emit_unary(e, "llvm.sqrt",
                                  hsc_ll.BuildFAdd(B, constant(e, part, 1, vector),
                                                   hsc_ll.BuildFMul(B, ratio, ratio, ""), ""));
    hsc_lv zero = hsc_ll.BuildFCmp(B, LLVMRealOEQ, hsc_ll.BuildFAdd(B, large, small, ""),
                                   constant(e, part, 0, vector), "");
    length = hsc_ll.BuildSelect(B, zero, large, hsc_ll.BuildFMul(B, large, root, ""), "");
  }
  return hsc_ll.BuildSelect(B, infinite, infinity, length, "");
}
