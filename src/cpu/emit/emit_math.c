// emit_math.c - functions of vmath.h as code in place, for small loops: there values are a few
// lanes that wait for each other, and a call would put every register into memory and work on as
// many lanes as the machine has.
//
// The steps are those of vmath.c in the same order, with a product and the sum after it as one
// operation where the machine has that. Sine and cosine of one argument share all but the last of
// them.
#include <math.h>

#include "cpu/emit/emit_internal.h"
#include "cpu/kernels/vmath/polynomials.h"

#define B (e->builder)

// What is computed on: lanes of `real` (f32), with whole numbers of the same width beside them.
typedef struct lanes {
  hsc_emitter *e;
  bool vector;
  LLVMTypeRef real, whole, wide;  // f32, i32 and f64
} lanes;

static lanes lanes_of(hsc_emitter *e, bool vector) {
  return (lanes){.e = e,
                 .vector = vector,
                 .real = hsc__emit_lanes_of(e, e->f32, vector),
                 .whole = hsc__emit_lanes_of(e, e->i32, vector),
                 .wide = hsc__emit_lanes_of(e, e->f64, vector)};
}

// ---- the operations that the functions are made of ----------------------------------------------

static hsc_lv number(const lanes *l, double value) {
  return hsc__emit_real_like(l->e, l->e->f32, value, l->vector);
}
static hsc_lv wide_number(const lanes *l, double value) {
  return hsc__emit_real_like(l->e, l->e->f64, value, l->vector);
}
static hsc_lv whole_number(const lanes *l, int64_t value) {
  return hsc__emit_int_like(l->e, l->e->i32, value, l->vector);
}
static hsc_lv multiply(const lanes *l, hsc_lv a, hsc_lv b) {
  return hsc_ll.BuildFMul(l->e->builder, a, b, "");
}
static hsc_lv plus(const lanes *l, hsc_lv a, hsc_lv b) {
  return hsc_ll.BuildFAdd(l->e->builder, a, b, "");
}
static hsc_lv minus(const lanes *l, hsc_lv a, hsc_lv b) {
  return hsc_ll.BuildFSub(l->e->builder, a, b, "");
}
static hsc_lv pick(const lanes *l, hsc_lv mask, hsc_lv yes, hsc_lv no) {
  return hsc_ll.BuildSelect(l->e->builder, mask, yes, no, "");
}
static hsc_lv compare(const lanes *l, LLVMRealPredicate how, hsc_lv a, double b) {
  return hsc_ll.BuildFCmp(l->e->builder, how, a, number(l, b), "");
}
static hsc_lv bits_of(const lanes *l, hsc_lv x) {
  return hsc_ll.BuildBitCast(l->e->builder, x, l->whole, "");
}
static hsc_lv of_bits(const lanes *l, hsc_lv bits) {
  return hsc_ll.BuildBitCast(l->e->builder, bits, l->real, "");
}
static hsc_lv to_whole(const lanes *l, hsc_lv x) {
  return hsc_ll.BuildFPToSI(l->e->builder, x, l->whole, "");
}
static hsc_lv absolute(const lanes *l, hsc_lv x) {
  return hsc__emit_unary(l->e, "llvm.fabs", x);
}

// a * b + c, of either float type.
static hsc_lv multiply_add(const lanes *l, hsc_lv a, hsc_lv b, hsc_lv c) {
  if (l->e->isa->level < HSC_CPU_ISA_AVX2)
    return plus(l, multiply(l, a, b), c);
  hsc_lv arguments[3] = {a, b, c};
  return hsc__emit_intrinsic(l->e, "llvm.fma", hsc_ll.TypeOf(a), arguments, 3);
}

// c - a * b for a constant b.
static hsc_lv without(const lanes *l, hsc_lv c, hsc_lv a, double b) {
  bool wide = hsc_ll.TypeOf(a) == l->wide;
  return multiply_add(l, a, wide ? wide_number(l, -b) : number(l, -b), c);
}

#define TERM(p, x, c) c,
static const float exp_terms[] = {HSC_POLY_EXP(TERM, TERM, , )};
static const float log_terms[] = {HSC_POLY_LOG(TERM, TERM, , )};
static const float sin_terms[] = {HSC_POLY_SIN(TERM, TERM, , )};
static const float cos_terms[] = {HSC_POLY_COS(TERM, TERM, , )};

static hsc_lv polynomial(const lanes *l, const float *terms, size_t count, hsc_lv x) {
  hsc_lv sum = number(l, (double)terms[0]);
  for (size_t i = 1; i < count; i++)
    sum = multiply_add(l, sum, x, number(l, (double)terms[i]));
  return sum;
}

// 2^n for -126 <= n <= 127.
static hsc_lv power_of_two(const lanes *l, hsc_lv n) {
  hsc_emitter *e = l->e;
  hsc_lv moved = hsc_ll.BuildAdd(B, n, whole_number(l, 127), "");
  return of_bits(l, hsc_ll.BuildShl(B, moved, whole_number(l, 23), ""));
}

// The lesser of x and `high`, the greater of it and `low`; NaN becomes `low`.
static hsc_lv clamp(const lanes *l, hsc_lv x, double low, double high) {
  x = pick(l, compare(l, LLVMRealOGT, x, low), x, number(l, low));
  return pick(l, compare(l, LLVMRealOLT, x, high), x, number(l, high));
}

static hsc_lv or_nan(const lanes *l, hsc_lv x, hsc_lv result) {
  return pick(l, hsc_ll.BuildFCmp(l->e->builder, LLVMRealUNO, x, x, ""), x, result);
}

// ---- the functions ------------------------------------------------------------------------------

// x = n ln 2 + r; exp(r) - 1.
static hsc_lv reduced_expm1(const lanes *l, hsc_lv x, hsc_lv *out_n) {
  hsc_lv shift = number(l, 12582912.0);
  hsc_lv n = minus(l, multiply_add(l, x, number(l, (double)HSC_LOG2_E), shift), shift);
  hsc_lv r = without(l, x, n, (double)HSC_LN2_HIGH);
  r = without(l, r, n, (double)HSC_LN2_LOW);
  hsc_lv q = polynomial(l, exp_terms, HSC_COUNT_OF(exp_terms), r);
  *out_n = to_whole(l, n);
  return multiply_add(l, multiply(l, r, r), q, r);
}

static hsc_lv exponential(const lanes *l, hsc_lv x) {
  hsc_emitter *e = l->e;
  hsc_lv n;
  hsc_lv grown = reduced_expm1(l, clamp(l, x, -120, 120), &n);
  hsc_lv half = hsc_ll.BuildAShr(B, n, whole_number(l, 1), "");
  hsc_lv result = multiply(l, plus(l, grown, number(l, 1)), power_of_two(l, half));
  result = multiply(l, result, power_of_two(l, hsc_ll.BuildSub(B, n, half, "")));
  return or_nan(l, x, result);
}

static hsc_lv hyperbolic_tangent(const lanes *l, hsc_lv x) {
  hsc_emitter *e = l->e;
  hsc_lv n;
  hsc_lv twice = absolute(l, x);
  twice = plus(l, twice, twice);
  // NaN becomes 20 too: no whole number is made of it.
  twice = pick(l, compare(l, LLVMRealOLT, twice, 20), twice, number(l, 20));
  hsc_lv grown = reduced_expm1(l, twice, &n);
  hsc_lv scale = power_of_two(l, n);
  hsc_lv t = multiply_add(l, scale, grown, minus(l, scale, number(l, 1)));
  hsc_lv quotient = hsc_ll.BuildFDiv(B, t, plus(l, t, number(l, 2)), "");
  hsc_lv arguments[2] = {quotient, x};
  hsc_lv result = hsc__emit_intrinsic(e, "llvm.copysign", l->real, arguments, 2);
  return or_nan(l, x, result);
}

static hsc_lv logistic(const lanes *l, hsc_lv x) {
  hsc_emitter *e = l->e;
  hsc_lv grown = exponential(l, hsc_ll.BuildFNeg(B, absolute(l, x), ""));
  hsc_lv above = pick(l, compare(l, LLVMRealOLT, x, 0), grown, number(l, 1));
  return hsc_ll.BuildFDiv(B, above, plus(l, grown, number(l, 1)), "");
}

static hsc_lv logarithm(const lanes *l, hsc_lv x) {
  hsc_emitter *e = l->e;
  hsc_lv one = number(l, 1);
  hsc_lv plain =
      hsc_ll.BuildAnd(B, compare(l, LLVMRealOGT, x, 0), compare(l, LLVMRealOLT, x, INFINITY), "");
  hsc_lv safe = pick(l, plain, x, one);
  hsc_lv tiny = compare(l, LLVMRealOLT, safe, 1.17549435e-38);
  safe = pick(l, tiny, multiply(l, safe, number(l, 8388608)), safe);
  hsc_lv bits = bits_of(l, safe);
  hsc_lv moved = hsc_ll.BuildSub(B, bits, whole_number(l, 0x3f3504f3), "");
  hsc_lv exponent = hsc_ll.BuildAShr(B, moved, whole_number(l, 23), "");
  hsc_lv scaled = hsc_ll.BuildShl(B, exponent, whole_number(l, 23), "");
  hsc_lv f = minus(l, of_bits(l, hsc_ll.BuildSub(B, bits, scaled, "")), one);
  exponent =
      hsc_ll.BuildSub(B, exponent, pick(l, tiny, whole_number(l, 23), whole_number(l, 0)), "");
  hsc_lv n = hsc_ll.BuildSIToFP(B, exponent, l->real, "");
  hsc_lv square = multiply(l, f, f);
  hsc_lv r = polynomial(l, log_terms, HSC_COUNT_OF(log_terms), f);
  hsc_lv low = multiply(l, n, number(l, (double)HSC_LN2_LOW));
  hsc_lv small = multiply_add(l, multiply(l, square, f), r, low);
  small = without(l, small, square, 0.5);
  hsc_lv result = multiply_add(l, n, number(l, (double)HSC_LN2_HIGH), plus(l, f, small));
  result = pick(l, compare(l, LLVMRealOEQ, x, 0), number(l, -INFINITY), result);
  result = pick(l, compare(l, LLVMRealOLT, x, 0), number(l, NAN), result);
  result = pick(l, compare(l, LLVMRealOEQ, x, INFINITY), x, result);
  return or_nan(l, x, result);
}

// ---- sine and cosine ----------------------------------------------------------------------------

// Whether any lane of a mask is set, as i1.
static hsc_lv any_of(const lanes *l, hsc_lv mask) {
  hsc_emitter *e = l->e;
  if (!l->vector)
    return mask;
  LLVMTypeRef bits = hsc_ll.IntTypeInContext(e->context, (unsigned)e->lanes);
  hsc_lv all = hsc_ll.BuildBitCast(B, mask, bits, "");
  return hsc_ll.BuildICmp(B, LLVMIntNE, all, hsc_ll.ConstNull(bits), "");
}

// x less the nearest multiple of pi/2, in f64, and the number of that.
static hsc_lv reduce_angle(const lanes *l, hsc_lv x, hsc_lv *out_quadrant) {
  hsc_emitter *e = l->e;
  hsc_lv wide = hsc_ll.BuildFPExt(B, x, l->wide, "");
  hsc_lv shift = wide_number(l, 6755399441055744.0);
  hsc_lv n = minus(l, multiply_add(l, wide, wide_number(l, HSC_TWO_OVER_PI), shift), shift);
  hsc_lv rest = without(l, wide, n, HSC_HALF_PI_HIGH);
  rest = without(l, rest, n, HSC_HALF_PI_LOW);
  *out_quadrant = to_whole(l, n);
  return hsc_ll.BuildFPTrunc(B, rest, l->real, "");
}

static hsc_lv join_of(
    hsc_emitter *e, hsc_lv a, LLVMBasicBlockRef from_a, hsc_lv b, LLVMBasicBlockRef from_b) {
  hsc_lv phi = hsc_ll.BuildPhi(B, hsc_ll.TypeOf(a), "");
  hsc_ll.AddIncoming(phi, &a, &from_a, 1);
  hsc_ll.AddIncoming(phi, &b, &from_b, 1);
  return phi;
}

// Sine and cosine of what is left of x in its quadrant. Three ways: angles below pi/4 are left as
// they are, which saves what comes next the wait for the way through f64; large ones go to the
// functions that are called, whose results stand in quadrant 0.
static hsc_emit_trig fold_angle(const lanes *l, hsc_lv x, int level) {
  hsc_emitter *e = l->e;
  hsc_emit_trig t = {.argument = x, .level = level, .lanes = l->vector ? e->lanes : 1};
  LLVMBasicBlockRef from = e->tails[level];
  LLVMBasicBlockRef reduce = hsc_ll.AppendBasicBlockInContext(e->context, e->function, "");
  LLVMBasicBlockRef fold = hsc_ll.AppendBasicBlockInContext(e->context, e->function, "");
  LLVMBasicBlockRef rare = hsc_ll.AppendBasicBlockInContext(e->context, e->function, "");
  LLVMBasicBlockRef join = hsc_ll.AppendBasicBlockInContext(e->context, e->function, "");
  hsc_lv size = absolute(l, x);
  hsc_lv none = whole_number(l, 0);
  hsc_lv beyond = hsc_ll.BuildNot(B, compare(l, LLVMRealOLT, size, 0.78539812), "");
  hsc_ll.BuildCondBr(B, any_of(l, beyond), reduce, fold);

  hsc_ll.PositionBuilderAtEnd(B, reduce);
  hsc_lv quadrant;
  hsc_lv left = reduce_angle(l, x, &quadrant);
  hsc_lv big = hsc_ll.BuildNot(B, compare(l, LLVMRealOLT, size, 1e8), "");
  hsc__emit_mark_rare(e, hsc_ll.BuildCondBr(B, any_of(l, big), rare, fold));

  hsc_ll.PositionBuilderAtEnd(B, fold);
  hsc_lv r = join_of(e, x, from, left, reduce);
  quadrant = join_of(e, none, from, quadrant, reduce);
  hsc_lv s = multiply(l, r, r);
  hsc_lv p = polynomial(l, sin_terms, HSC_COUNT_OF(sin_terms), s);
  hsc_lv sine = multiply_add(l, multiply(l, r, s), p, r);
  p = polynomial(l, cos_terms, HSC_COUNT_OF(cos_terms), s);
  hsc_lv near_one = without(l, number(l, 1), s, 0.5);
  hsc_lv cosine = multiply_add(l, multiply(l, s, s), p, near_one);
  hsc_ll.BuildBr(B, join);

  hsc_ll.PositionBuilderAtEnd(B, rare);
  hsc_lv called_sine = hsc__emit_vmath(e, "sin", e->f32, &x, 1, l->vector);
  hsc_lv called_cosine = hsc__emit_vmath(e, "cos", e->f32, &x, 1, l->vector);
  hsc_ll.BuildBr(B, join);

  e->tails[level] = join;
  hsc__emit_at(e, level);
  t.sine = join_of(e, sine, fold, called_sine, rare);
  t.cosine = join_of(e, cosine, fold, called_cosine, rare);
  t.quadrant = join_of(e, quadrant, fold, none, rare);
  return t;
}

static const hsc_emit_trig *trig_parts(const lanes *l, hsc_lv x, int level) {
  hsc_emitter *e = l->e;
  int count = l->vector ? e->lanes : 1;
  for (int i = 0; i < HSC_EMIT_TRIGS; i++)
    if (e->trigs[i].argument == x && e->trigs[i].level == level && e->trigs[i].lanes == count)
      return &e->trigs[i];
  hsc_emit_trig *t = &e->trigs[e->trig_next++ % HSC_EMIT_TRIGS];
  *t = fold_angle(l, x, level);
  return t;
}

static hsc_lv sine_or_cosine(const lanes *l, hsc_op op, hsc_lv x, int level) {
  hsc_emitter *e = l->e;
  const hsc_emit_trig *t = trig_parts(l, x, level);
  hsc_lv q = t->quadrant;
  if (op == HSC_OP_COSINE)
    q = hsc_ll.BuildAdd(B, q, whole_number(l, 1), "");
  hsc_lv odd = hsc_ll.BuildAnd(B, q, whole_number(l, 1), "");
  hsc_lv swap = hsc_ll.BuildICmp(B, LLVMIntNE, odd, whole_number(l, 0), "");
  hsc_lv result = pick(l, swap, t->cosine, t->sine);
  hsc_lv sign = hsc_ll.BuildAnd(B, q, whole_number(l, 2), "");
  sign = hsc_ll.BuildShl(B, sign, whole_number(l, 30), "");
  result = of_bits(l, hsc_ll.BuildXor(B, bits_of(l, result), sign, ""));
  if (op == HSC_OP_SINE)  // the sign of zero
    result = pick(l, compare(l, LLVMRealOEQ, x, 0), x, result);
  return result;
}

hsc_lv hsc__emit_math_in_place(hsc_emitter *e, hsc_op op, hsc_lv x, int level, bool vector) {
  if (!e->math_in_place || (vector && e->lanes > e->isa->vector_bytes / 4))
    return NULL;
  lanes l = lanes_of(e, vector);
  switch (op) {
    case HSC_OP_EXP:
      return exponential(&l, x);
    case HSC_OP_LOG:
      return logarithm(&l, x);
    case HSC_OP_TANH:
      return hyperbolic_tangent(&l, x);
    case HSC_OP_LOGISTIC:
      return logistic(&l, x);
    case HSC_OP_SINE:
    case HSC_OP_COSINE:
      return sine_or_cosine(&l, op, x, level);
    default:
      return NULL;
  }
}
