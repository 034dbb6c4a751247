// emit_ops.c - element-wise operations on values (see emit_internal.h).
//
// In registers: pred is i1; integers are of their storage's width, sub-byte ones kept extended; f64
// is double and every other real type float, rounded to the type after each operation; complex
// numbers are two of those.
// Functions that are more than an instruction are calls to vmath.h: code stays small, and compiles
// fast.
#include "cpu/emit/emit_internal.h"

#include <float.h>
#include <math.h>

#define B (e->builder)

// ---- what can be done ---------------------------------------------------------------------------

bool hsc__emit_can_type(hsc_type type) {
  hsc_type_class class_of = hsc_type_class_of(type);
  return class_of != HSC_CLASS_OTHER;
}

static const char *math_name(hsc_op op) {
  switch (op) {
#define VMATH(name, operands, types, op_id) VMATH_##op_id(op_id, name)
#define VMATH_CASE(op_id, name) \
  case HSC_OP_##op_id: \
    return #name;
#define VMATH_NONE(op_id, name)
#define VMATH_EXP VMATH_CASE
#define VMATH_EXPM1 VMATH_CASE
#define VMATH_LOG VMATH_CASE
#define VMATH_LOG1P VMATH_CASE
#define VMATH_TANH VMATH_CASE
#define VMATH_LOGISTIC VMATH_CASE
#define VMATH_SINE VMATH_CASE
#define VMATH_COSINE VMATH_CASE
#define VMATH_TAN VMATH_CASE
#define VMATH_ERF VMATH_CASE
#define VMATH_CBRT VMATH_CASE
#define VMATH_SINH VMATH_CASE
#define VMATH_COSH VMATH_CASE
#define VMATH_ASIN VMATH_CASE
#define VMATH_ACOS VMATH_CASE
#define VMATH_ASINH VMATH_CASE
#define VMATH_ACOSH VMATH_CASE
#define VMATH_ATANH VMATH_CASE
#define VMATH_ATAN2 VMATH_CASE
#define VMATH_POWER VMATH_CASE
#define VMATH_REMAINDER VMATH_CASE
#include "cpu/kernels/vmath/vmath.def"
    default:
      return NULL;
  }
}

bool hsc__emit_is_heavy(hsc_op op) {
  return math_name(op) != NULL || op == HSC_OP_DIVIDE || op == HSC_OP_SQRT || op == HSC_OP_RSQRT;
}

// Instructions of LLVM, of every type that the operation has at all.
static const bool of_any_type[HSC_OP_COUNT] = {
    [HSC_OP_ABS] = true,
    [HSC_OP_ADD] = true,
    [HSC_OP_AND] = true,
    [HSC_OP_CEIL] = true,
    [HSC_OP_CLAMP] = true,
    [HSC_OP_CLZ] = true,
    [HSC_OP_COMPARE] = true,
    [HSC_OP_COMPLEX] = true,
    [HSC_OP_CONVERT] = true,
    [HSC_OP_COPY] = true,
    [HSC_OP_DIVIDE] = true,
    [HSC_OP_FLOOR] = true,
    [HSC_OP_IMAG] = true,
    [HSC_OP_IS_FINITE] = true,
    [HSC_OP_MAXIMUM] = true,
    [HSC_OP_MINIMUM] = true,
    [HSC_OP_MULTIPLY] = true,
    [HSC_OP_NEGATE] = true,
    [HSC_OP_NOT] = true,
    [HSC_OP_OR] = true,
    [HSC_OP_POPCNT] = true,
    [HSC_OP_REAL] = true,
    [HSC_OP_REMAINDER] = true,
    [HSC_OP_ROUND_AFZ] = true,
    [HSC_OP_ROUND_EVEN] = true,
    [HSC_OP_RSQRT] = true,
    [HSC_OP_SELECT] = true,
    [HSC_OP_SHIFT_LEFT] = true,
    [HSC_OP_SHIFT_RIGHT_ARITH] = true,
    [HSC_OP_SHIFT_RIGHT_LOGICAL] = true,
    [HSC_OP_SIGN] = true,
    [HSC_OP_SQRT] = true,
    [HSC_OP_SUBTRACT] = true,
    [HSC_OP_XOR] = true,
};

bool hsc__emit_can_elementwise(const hsc_instr *instr) {
  if (!hsc_shape_is_array(&instr->shape) || !hsc__emit_can_type(instr->shape.type))
    return false;
  bool complex = hsc_type_is_complex(instr->shape.type);
  for (int i = 0; i < instr->operand_count; i++) {
    if (!hsc_shape_is_array(&instr->operands[i]->shape))
      return false;
    complex = complex || hsc_type_is_complex(instr->operands[i]->shape.type);
  }
  if (complex && !hsc__emit_can_complex(instr))
    return false;
  if (of_any_type[instr->op])
    return true;
  switch (instr->op) {
    case HSC_OP_BITCAST_CONVERT:
      return hsc_type_bits(instr->shape.type) == hsc_type_bits(instr->operands[0]->shape.type) &&
             hsc_type_bits(instr->shape.type) >= 8;
    case HSC_OP_REDUCE_PRECISION:
      return hsc_type_bits(instr->shape.type) >= 16;
    case HSC_OP_POWER:
      return hsc_type_is_float(instr->shape.type);
    default:
      return math_name(instr->op) != NULL;
  }
}

// ---- small helpers ------------------------------------------------------------------------------

static bool is_real(hsc_type type) {
  return hsc_type_is_float(type);
}
static bool is_signed(hsc_type type) {
  return hsc_type_class_of(type) == HSC_CLASS_SIGNED;
}
static int storage_bits(hsc_type type) {
  return 8 * (int)hsc_type_bytes(type);
}
static bool is_narrow_int(hsc_type type) {
  return hsc_type_is_integral(type) && hsc_type_bits(type) < 8;
}

// Brings the operands to one form and one place: vectors if one is, the level of the deepest.
static hsc_emit_value meet(hsc_emitter *e, hsc_emit_value *operands, int count) {
  hsc_emit_value result = {.level = 0};
  for (int i = 0; i < count; i++) {
    if (operands[i].level > result.level)
      result.level = operands[i].level;
    result.vector = result.vector || operands[i].vector;
  }
  if (result.vector)
    for (int i = 0; i < count; i++)
      operands[i] = hsc__emit_widen(e, operands[i]);
  hsc__emit_at(e, result.level);
  return result;
}

static hsc_lv real_constant(hsc_emitter *e, hsc_type type, double value, bool vector) {
  return hsc__emit_real_like(e, hsc__emit_type(e, type), value, vector);
}
static hsc_lv int_constant(hsc_emitter *e, hsc_type type, int64_t value, bool vector) {
  return hsc__emit_int_like(e, hsc__emit_type(e, type), value, vector);
}
static LLVMTypeRef lanes_type(hsc_emitter *e, LLVMTypeRef lane, bool vector) {
  return hsc__emit_lanes_of(e, lane, vector);
}

// Keeps an integer narrower than a byte extended in its byte.
static hsc_lv wrap(hsc_emitter *e, hsc_type type, hsc_lv v, bool vector) {
  if (!is_narrow_int(type))
    return v;
  hsc_lv by = hsc__emit_int_like(e, e->i8, 8 - hsc_type_bits(type), vector);
  v = hsc_ll.BuildShl(B, v, by, "");
  return is_signed(type) ? hsc_ll.BuildAShr(B, v, by, "") : hsc_ll.BuildLShr(B, v, by, "");
}

// Whether a function of vectors is the C library's, lane by lane (lanes.def).
static bool is_lane_by_lane(const char *name, bool wide) {
#define LANES_F32_F64(text) strcmp(name, text) == 0 ||
#define LANES_F64(text) (wide && strcmp(name, text) == 0) ||
#define LANES(function, operands, types) LANES_##types(#function)
  return
#include "cpu/kernels/vmath/lanes.def"
      false;
#undef LANES
}

// Whether so few lanes are done sooner one by one than as a part of a vector.
static bool is_sooner_alone(const char *name, bool wide, int lanes, int width) {
#define LANES(function, operands, types)
#define FEW(function, operands, one) strcmp(name, #function) == 0 ||
  return (
#include "cpu/kernels/vmath/lanes.def"
             false) &&
         !wide && lanes <= width / 4;
#undef LANES
#undef FEW
}

// The function of one number for each lane.
static hsc_lv call_each(hsc_emitter *e,
                        const char *name,
                        LLVMTypeRef lane,
                        const hsc_lv *arguments,
                        int count,
                        bool vector) {
  char symbol[64];
  snprintf(symbol, sizeof symbol, "hsc_vs_%s_%s", name, lane == e->f64 ? "f64" : "f32");
  LLVMTypeRef types[2] = {lane, lane};
  LLVMTypeRef function_type = hsc_ll.FunctionType(lane, types, (unsigned)count, 0);
  hsc_lv function = hsc_ll.GetNamedFunction(e->module, symbol);
  if (!function)
    function = hsc_ll.AddFunction(e->module, symbol, function_type);
  if (!vector)
    return hsc_ll.BuildCall2(B, function_type, function, (hsc_lv *)arguments, (unsigned)count, "");
  hsc_lv all = hsc_ll.GetPoison(hsc_ll.TypeOf(arguments[0]));
  for (int i = 0; i < e->lanes; i++) {
    hsc_lv number = hsc__emit_int(e, e->i32, i);
    hsc_lv one[2];
    for (int a = 0; a < count; a++)
      one[a] = hsc_ll.BuildExtractElement(B, arguments[a], number, "");
    hsc_lv made = hsc_ll.BuildCall2(B, function_type, function, one, (unsigned)count, "");
    all = hsc_ll.BuildInsertElement(B, all, made, number, "");
  }
  return all;
}

// Calls a vector function for values of any number of lanes: in pieces of the machine's width; a
// scalar is lane 0 of a vector, the rest of which is ones: no function finds them hard.
hsc_lv hsc__emit_vmath(
    hsc_emitter *e, const char *name, LLVMTypeRef lane, hsc_lv *arguments, int count, bool vector) {
  bool wide = lane == e->f64;
  int width = e->isa->vector_bytes / (wide ? 8 : 4);
  int lanes = vector ? e->lanes : 1;
  if ((lanes < width && is_lane_by_lane(name, wide)) || is_sooner_alone(name, wide, lanes, width))
    return call_each(e, name, lane, arguments, count, vector);
  char symbol[64];
  snprintf(symbol, sizeof symbol, "hsc_vm_%s_%s", name, wide ? "f64" : "f32");
  LLVMTypeRef native = hsc_ll.VectorType(lane, (unsigned)width);
  LLVMTypeRef types[3] = {native, native, native};
  LLVMTypeRef function_type = hsc_ll.FunctionType(native, types, (unsigned)count, 0);
  hsc_lv function = hsc_ll.GetNamedFunction(e->module, symbol);
  if (!function)
    function = hsc_ll.AddFunction(e->module, symbol, function_type);
  hsc_lv zero = hsc__emit_int(e, e->i32, 0);
  if (!vector) {
    hsc_lv wide_arguments[3];
    hsc_lv ones[HSC_EMIT_MAX_LANES];
    for (int i = 0; i < width; i++)
      ones[i] = hsc__emit_real(e, lane, 1);
    for (int i = 0; i < count; i++)
      wide_arguments[i] = hsc_ll.BuildInsertElement(B, hsc_ll.ConstVector(ones, (unsigned)width),
                                                    arguments[i], zero, "");
    return hsc_ll.BuildExtractElement(
        B, hsc_ll.BuildCall2(B, function_type, function, wide_arguments, (unsigned)count, ""), zero,
        "");
  }
  if (lanes == width)
    return hsc_ll.BuildCall2(B, function_type, function, arguments, (unsigned)count, "");
  hsc_lv pieces[HSC_EMIT_MAX_LANES / 2];
  hsc_lv numbers[2 * HSC_EMIT_MAX_LANES];
  int piece_count = (lanes + width - 1) / width;
  for (int p = 0; p < piece_count; p++) {
    hsc_lv part[3];
    for (int i = 0; i < width; i++)
      numbers[i] = hsc__emit_int(e, e->i32, p * width + i < lanes ? p * width + i : lanes - 1);
    for (int i = 0; i < count; i++)
      part[i] =
          hsc_ll.BuildShuffleVector(B, arguments[i], hsc_ll.GetPoison(hsc_ll.TypeOf(arguments[i])),
                                    hsc_ll.ConstVector(numbers, (unsigned)width), "");
    pieces[p] = hsc_ll.BuildCall2(B, function_type, function, part, (unsigned)count, "");
  }
  // Pairs, then pairs of pairs; a piece without a neighbour gets one that is anything.
  int size = width;
  for (int have = piece_count; have > 1; have = (have + 1) / 2, size *= 2) {
    if (have % 2)
      pieces[have] = hsc_ll.GetPoison(hsc_ll.TypeOf(pieces[0]));
    for (int p = 0; p < (have + 1) / 2; p++) {
      for (int i = 0; i < 2 * size; i++)
        numbers[i] = hsc__emit_int(e, e->i32, i);
      pieces[p] = hsc_ll.BuildShuffleVector(B, pieces[2 * p], pieces[2 * p + 1],
                                            hsc_ll.ConstVector(numbers, 2 * (unsigned)size), "");
    }
  }
  if (size == lanes)
    return pieces[0];
  for (int i = 0; i < lanes; i++)
    numbers[i] = hsc__emit_int(e, e->i32, i);
  return hsc_ll.BuildShuffleVector(B, pieces[0], hsc_ll.GetPoison(hsc_ll.TypeOf(pieces[0])),
                                   hsc_ll.ConstVector(numbers, (unsigned)lanes), "");
}

static hsc_lv to_bits(hsc_emitter *e, hsc_lv v, bool vector) {
  return hsc_ll.BuildBitCast(B, v, lanes_type(e, e->i32, vector), "");
}
static hsc_lv from_bits(hsc_emitter *e, hsc_lv v, bool vector) {
  return hsc_ll.BuildBitCast(B, v, lanes_type(e, e->f32, vector), "");
}

static const char *narrow_name(hsc_type type, bool encode, char *room) {
  snprintf(room, 48, "%s_%s", encode ? "encode" : "decode", hsc_type_text(type));
  return room;
}

// f32 bits rounded to bf16, in the upper half of the word; NaN stays NaN.
static hsc_lv bf16_bits(hsc_emitter *e, hsc_lv v, bool vector) {
  hsc_lv bits = to_bits(e, v, vector);
  hsc_lv odd =
      hsc_ll.BuildAnd(B, hsc_ll.BuildLShr(B, bits, hsc__emit_int_like(e, e->i32, 16, vector), ""),
                      hsc__emit_int_like(e, e->i32, 1, vector), "");
  hsc_lv rounded = hsc_ll.BuildAdd(B, hsc_ll.BuildAdd(B, bits, odd, ""),
                                   hsc__emit_int_like(e, e->i32, 0x7fff, vector), "");
  hsc_lv quiet = hsc_ll.BuildOr(B, bits, hsc__emit_int_like(e, e->i32, 0x400000, vector), "");
  hsc_lv nan = hsc_ll.BuildFCmp(B, LLVMRealUNO, v, v, "");
  return hsc_ll.BuildAnd(B, hsc_ll.BuildSelect(B, nan, quiet, rounded, ""),
                         hsc__emit_int_like(e, e->i32, (int64_t)0xffff0000, vector), "");
}

// A float rounded to a narrower type, still as a float.
static hsc_lv round_to(hsc_emitter *e, hsc_type type, hsc_lv v, bool vector) {
  char name[48];
  switch (type) {
    case HSC_TYPE_F32:
    case HSC_TYPE_F64:
    case HSC_TYPE_C64:
    case HSC_TYPE_C128:
      return v;
    case HSC_TYPE_F16:
      v = hsc_ll.BuildFPTrunc(B, v, lanes_type(e, e->f16, vector), "");
      return hsc_ll.BuildFPExt(B, v, lanes_type(e, e->f32, vector), "");
    case HSC_TYPE_BF16:
      return from_bits(e, bf16_bits(e, v, vector), vector);
    default: {
      hsc_lv bits = hsc__emit_vmath(e, narrow_name(type, true, name), e->f32, &v, 1, vector);
      return hsc__emit_vmath(e, narrow_name(type, false, name), e->f32, &bits, 1, vector);
    }
  }
}

hsc_emit_value hsc__emit_round(hsc_emitter *e, hsc_type type, hsc_emit_value value) {
  hsc__emit_at(e, value.level);
  value.v = round_to(e, type, value.v, value.vector);
  return value;
}

// ---- memory form --------------------------------------------------------------------------------

hsc_emit_value hsc__emit_from_memory(
    hsc_emitter *e, hsc_type type, hsc_lv raw, hsc_lv raw_im, int level, bool vector) {
  hsc_emit_value value = {.v = raw, .im = raw_im, .level = level, .vector = vector};
  char name[48];
  switch (type) {
    case HSC_TYPE_PRED:
      value.v = hsc_ll.BuildICmp(B, LLVMIntNE, raw, hsc__emit_int_like(e, e->i8, 0, vector), "");
      break;
    case HSC_TYPE_F16:
      value.v = hsc_ll.BuildFPExt(B, raw, lanes_type(e, e->f32, vector), "");
      break;
    case HSC_TYPE_BF16: {
      hsc_lv bits = hsc_ll.BuildZExt(B, raw, lanes_type(e, e->i32, vector), "");
      value.v = from_bits(
          e, hsc_ll.BuildShl(B, bits, hsc__emit_int_like(e, e->i32, 16, vector), ""), vector);
      break;
    }
    default:
      if (!is_real(type) || type == HSC_TYPE_F32 || type == HSC_TYPE_F64)
        break;
      hsc_lv bits =
          from_bits(e, hsc_ll.BuildZExt(B, raw, lanes_type(e, e->i32, vector), ""), vector);
      value.v = hsc__emit_vmath(e, narrow_name(type, false, name), e->f32, &bits, 1, vector);
  }
  return value;
}

void hsc__emit_to_memory(
    hsc_emitter *e, hsc_type type, hsc_emit_value value, hsc_lv *out_raw, hsc_lv *out_raw_im) {
  char name[48];
  bool vector = value.vector;
  *out_raw = value.v;
  *out_raw_im = value.im;
  switch (type) {
    case HSC_TYPE_PRED:
      *out_raw = hsc_ll.BuildZExt(B, value.v, lanes_type(e, e->i8, vector), "");
      break;
    case HSC_TYPE_F16:
      *out_raw = hsc_ll.BuildFPTrunc(B, value.v, lanes_type(e, e->f16, vector), "");
      break;
    case HSC_TYPE_BF16: {
      hsc_lv bits = hsc_ll.BuildLShr(B, to_bits(e, value.v, vector),
                                     hsc__emit_int_like(e, e->i32, 16, vector), "");
      *out_raw = hsc_ll.BuildTrunc(B, bits, lanes_type(e, e->i16, vector), "");
      break;
    }
    default:
      if (!is_real(type) || type == HSC_TYPE_F32 || type == HSC_TYPE_F64)
        break;
      hsc_lv bits = hsc__emit_vmath(e, narrow_name(type, true, name), e->f32, &value.v, 1, vector);
      *out_raw = hsc_ll.BuildTrunc(B, to_bits(e, bits, vector), lanes_type(e, e->i8, vector), "");
  }
}

hsc_emit_value hsc__emit_literal(hsc_emitter *e, const hsc_literal *literal, int64_t index) {
  hsc_type type = literal->shape.type;
  LLVMTypeRef lane = hsc__emit_type(e, type);
  hsc_emit_value value = {.level = 0};
  if (hsc_type_is_complex(type)) {
    value.v = hsc__emit_real(e, lane, hsc_literal_get_double(literal, index));
    value.im = hsc__emit_real(e, lane, hsc_literal_get_imag(literal, index));
  } else if (is_real(type)) {
    value.v = hsc__emit_real(e, lane, hsc_literal_get_double(literal, index));
  } else {
    value.v = hsc__emit_int(e, lane, hsc_literal_get_int(literal, index));
  }
  return value;
}

// ---- comparing and selecting --------------------------------------------------------------------

hsc_emit_value hsc__emit_select(hsc_emitter *e,
                                hsc_emit_value condition,
                                hsc_emit_value on_true,
                                hsc_emit_value on_false) {
  hsc_emit_value three[3] = {condition, on_true, on_false};
  // A scalar condition chooses whole vectors; it need not be spread out.
  bool uniform = !condition.vector;
  hsc_emit_value result = meet(e, uniform ? three + 1 : three, uniform ? 2 : 3);
  if (uniform && condition.level > result.level) {
    result.level = condition.level;
    hsc__emit_at(e, result.level);
  }
  result.v = hsc_ll.BuildSelect(B, three[0].v, three[1].v, three[2].v, "");
  if (three[1].im)
    result.im = hsc_ll.BuildSelect(B, three[0].v, three[1].im, three[2].im, "");
  return result;
}

static hsc_lv compare_values(hsc_emitter *e,
                             const hsc_instr *instr,
                             hsc_emit_value a,
                             hsc_emit_value b) {
  hsc_type type = instr->operands[0]->shape.type;
  hsc_direction direction = instr->attr.compare.direction;
  static const LLVMRealPredicate reals[] = {LLVMRealOEQ, LLVMRealUNE, LLVMRealOLT,
                                            LLVMRealOLE, LLVMRealOGT, LLVMRealOGE};
  static const LLVMIntPredicate signeds[] = {LLVMIntEQ,  LLVMIntNE,  LLVMIntSLT,
                                             LLVMIntSLE, LLVMIntSGT, LLVMIntSGE};
  static const LLVMIntPredicate unsigneds[] = {LLVMIntEQ,  LLVMIntNE,  LLVMIntULT,
                                               LLVMIntULE, LLVMIntUGT, LLVMIntUGE};
  if (hsc_type_is_complex(type)) {
    hsc_lv re = hsc_ll.BuildFCmp(B, reals[direction], a.v, b.v, "");
    hsc_lv im = hsc_ll.BuildFCmp(B, reals[direction], a.im, b.im, "");
    return direction == HSC_NE ? hsc_ll.BuildOr(B, re, im, "") : hsc_ll.BuildAnd(B, re, im, "");
  }
  if (!is_real(type))
    return hsc_ll.BuildICmp(B, (is_signed(type) ? signeds : unsigneds)[direction], a.v, b.v, "");
  if (instr->attr.compare.type != HSC_COMPARE_TOTALORDER)
    return hsc_ll.BuildFCmp(B, reals[direction], a.v, b.v, "");
  // -NaN < -inf < ... < -0 < +0 < ... < inf < NaN: as signed integers once negative numbers have
  // their other bits flipped.
  LLVMTypeRef lane = type == HSC_TYPE_F64 ? e->i64 : e->i32;
  int bits = type == HSC_TYPE_F64 ? 64 : 32;
  hsc_lv ordered[2];
  for (int i = 0; i < 2; i++) {
    hsc_lv v = hsc_ll.BuildBitCast(B, i ? b.v : a.v, lanes_type(e, lane, a.vector), "");
    hsc_lv sign = hsc_ll.BuildAShr(B, v, hsc__emit_int_like(e, lane, bits - 1, a.vector), "");
    ordered[i] = hsc_ll.BuildXor(
        B, v, hsc_ll.BuildLShr(B, sign, hsc__emit_int_like(e, lane, 1, a.vector), ""), "");
  }
  return hsc_ll.BuildICmp(B, signeds[direction], ordered[0], ordered[1], "");
}

static bool is_number_constant(hsc_lv v) {
  return hsc_ll.IsConstant(v);
}

// NaN if either is. The instruction max(a, b) gives b when either is NaN or both are zero: with a
// constant in front, nothing else is needed.
static hsc_lv real_extreme(hsc_emitter *e, hsc_lv a, hsc_lv b, bool maximum) {
  LLVMRealPredicate predicate = maximum ? LLVMRealOGT : LLVMRealOLT;
  if (is_number_constant(b)) {
    hsc_lv swap = a;
    a = b;
    b = swap;
  }
  hsc_lv chosen = hsc_ll.BuildSelect(B, hsc_ll.BuildFCmp(B, predicate, a, b, ""), a, b, "");
  if (is_number_constant(a))
    return chosen;
  return hsc_ll.BuildSelect(B, hsc_ll.BuildFCmp(B, LLVMRealUNO, a, a, ""), a, chosen, "");
}

static hsc_lv int_extreme(hsc_emitter *e, hsc_type type, hsc_lv a, hsc_lv b, bool maximum) {
  LLVMIntPredicate predicate;
  if (is_signed(type)) {
    if (maximum)
      predicate = LLVMIntSGT;
    else
      predicate = LLVMIntSLT;
  } else if (maximum)
    predicate = LLVMIntUGT;
  else
    predicate = LLVMIntULT;
  return hsc_ll.BuildSelect(B, hsc_ll.BuildICmp(B, predicate, a, b, ""), a, b, "");
}

static hsc_lv extreme(hsc_emitter *e, hsc_type type, hsc_lv a, hsc_lv b, bool maximum) {
  return is_real(type) ? real_extreme(e, a, b, maximum) : int_extreme(e, type, a, b, maximum);
}

// ---- integers -----------------------------------------------------------------------------------

// x/0 is -1, and the smallest number by -1 is itself: the divisor is made harmless first, since the
// instruction traps.
static hsc_lv int_divide(
    hsc_emitter *e, hsc_type type, hsc_lv a, hsc_lv b, bool vector, bool remainder) {
  hsc_lv zero = int_constant(e, type, 0, vector);
  hsc_lv one = int_constant(e, type, 1, vector);
  hsc_lv minus_one = int_constant(e, type, -1, vector);
  hsc_lv by_zero = hsc_ll.BuildICmp(B, LLVMIntEQ, b, zero, "");
  if (!is_signed(type)) {
    hsc_lv safe = hsc_ll.BuildSelect(B, by_zero, one, b, "");
    if (remainder)
      return hsc_ll.BuildSelect(B, by_zero, a, hsc_ll.BuildURem(B, a, safe, ""), "");
    return hsc_ll.BuildSelect(B, by_zero, wrap(e, type, minus_one, vector),
                              hsc_ll.BuildUDiv(B, a, safe, ""), "");
  }
  hsc_lv by_minus_one = hsc_ll.BuildICmp(B, LLVMIntEQ, b, minus_one, "");
  hsc_lv safe = hsc_ll.BuildSelect(B, hsc_ll.BuildOr(B, by_zero, by_minus_one, ""), one, b, "");
  if (remainder) {
    hsc_lv rest = hsc_ll.BuildSRem(B, a, safe, "");
    return hsc_ll.BuildSelect(B, by_zero, a, hsc_ll.BuildSelect(B, by_minus_one, zero, rest, ""),
                              "");
  }
  hsc_lv quotient = hsc_ll.BuildSelect(B, by_minus_one, hsc_ll.BuildNeg(B, a, ""),
                                       hsc_ll.BuildSDiv(B, a, safe, ""), "");
  return wrap(e, type, hsc_ll.BuildSelect(B, by_zero, minus_one, quotient, ""), vector);
}

static hsc_lv shift(hsc_emitter *e, const hsc_instr *instr, hsc_lv a, hsc_lv by, bool vector) {
  hsc_type type = instr->shape.type;
  int bits = hsc_type_bits(type);
  hsc_lv width = int_constant(e, type, bits, vector);
  hsc_lv mask = int_constant(e, type, bits < 8 ? (1 << bits) - 1 : -1, vector);
  hsc_lv amount = bits < 8 ? hsc_ll.BuildAnd(B, by, mask, "") : by;
  hsc_lv inside = hsc_ll.BuildICmp(B, LLVMIntULT, amount, width, "");
  hsc_lv zero = int_constant(e, type, 0, vector);
  hsc_lv result;
  if (instr->op == HSC_OP_SHIFT_RIGHT_ARITH) {
    hsc_lv safe =
        hsc_ll.BuildSelect(B, inside, amount, int_constant(e, type, bits - 1, vector), "");
    if (bits < 8 && !is_signed(type)) {
      hsc_lv up = hsc__emit_int_like(e, e->i8, 8 - bits, vector);
      a = hsc_ll.BuildAShr(B, hsc_ll.BuildShl(B, a, up, ""), up, "");
    }
    result = hsc_ll.BuildAShr(B, a, safe, "");
  } else {
    hsc_lv safe = hsc_ll.BuildSelect(B, inside, amount, zero, "");
    if (instr->op == HSC_OP_SHIFT_LEFT)
      result = hsc_ll.BuildShl(B, a, safe, "");
    else
      result = hsc_ll.BuildLShr(B, bits < 8 ? hsc_ll.BuildAnd(B, a, mask, "") : a, safe, "");
    result = hsc_ll.BuildSelect(B, inside, result, zero, "");
  }
  return wrap(e, type, result, vector);
}

static hsc_lv count_bits(hsc_emitter *e, const hsc_instr *instr, hsc_lv a, bool vector) {
  hsc_type type = instr->shape.type;
  int bits = hsc_type_bits(type);
  LLVMTypeRef lanes = lanes_type(e, hsc__emit_type(e, type), vector);
  if (bits < 8)
    a = hsc_ll.BuildAnd(B, a, int_constant(e, type, (1 << bits) - 1, vector), "");
  if (instr->op == HSC_OP_POPCNT)
    return wrap(e, type, hsc__emit_intrinsic(e, "llvm.ctpop", lanes, &a, 1), vector);
  hsc_lv arguments[2] = {a, hsc__emit_int(e, e->i1, 0)};
  hsc_lv zeros = hsc__emit_intrinsic(e, "llvm.ctlz", lanes, arguments, 2);
  if (bits < 8)
    zeros = hsc_ll.BuildSub(B, zeros, int_constant(e, type, 8 - bits, vector), "");
  return wrap(e, type, zeros, vector);
}

static hsc_lv int_op(hsc_emitter *e, const hsc_instr *instr, hsc_lv a, hsc_lv b, bool vector) {
  hsc_type type = instr->shape.type;
  switch (instr->op) {
    case HSC_OP_ADD:
      return wrap(e, type, hsc_ll.BuildAdd(B, a, b, ""), vector);
    case HSC_OP_SUBTRACT:
      return wrap(e, type, hsc_ll.BuildSub(B, a, b, ""), vector);
    case HSC_OP_MULTIPLY:
      return wrap(e, type, hsc_ll.BuildMul(B, a, b, ""), vector);
    case HSC_OP_DIVIDE:
      return int_divide(e, type, a, b, vector, false);
    case HSC_OP_REMAINDER:
      return int_divide(e, type, a, b, vector, true);
    case HSC_OP_AND:
      return hsc_ll.BuildAnd(B, a, b, "");
    case HSC_OP_OR:
      return hsc_ll.BuildOr(B, a, b, "");
    case HSC_OP_XOR:
      return hsc_ll.BuildXor(B, a, b, "");
    case HSC_OP_NOT:
      return wrap(e, type, hsc_ll.BuildNot(B, a, ""), vector);
    case HSC_OP_NEGATE:
      return wrap(e, type, hsc_ll.BuildNeg(B, a, ""), vector);
    case HSC_OP_MAXIMUM:
      return int_extreme(e, type, a, b, true);
    case HSC_OP_MINIMUM:
      return int_extreme(e, type, a, b, false);
    case HSC_OP_SHIFT_LEFT:
    case HSC_OP_SHIFT_RIGHT_ARITH:
    case HSC_OP_SHIFT_RIGHT_LOGICAL:
      return shift(e, instr, a, b, vector);
    case HSC_OP_POPCNT:
    case HSC_OP_CLZ:
      return count_bits(e, instr, a, vector);
    case HSC_OP_ABS: {
      if (!is_signed(type))
        return a;
      hsc_lv negative = hsc_ll.BuildICmp(B, LLVMIntSLT, a, int_constant(e, type, 0, vector), "");
      return wrap(e, type, hsc_ll.BuildSelect(B, negative, hsc_ll.BuildNeg(B, a, ""), a, ""),
                  vector);
    }
    case HSC_OP_SIGN: {
      hsc_lv zero = int_constant(e, type, 0, vector);
      hsc_lv one = int_constant(e, type, 1, vector);
      hsc_lv minus_one = int_constant(e, type, -1, vector);
      hsc_lv positive =
          hsc_ll.BuildSelect(B, hsc_ll.BuildICmp(B, LLVMIntEQ, a, zero, ""), zero, one, "");
      if (!is_signed(type))
        return positive;
      return hsc_ll.BuildSelect(B, hsc_ll.BuildICmp(B, LLVMIntSLT, a, zero, ""), minus_one,
                                positive, "");
    }
    default:
      return a;
  }
}

// pred: add is or, multiply is and, as its arithmetic is that of one bit that saturates.
static hsc_lv pred_op(hsc_emitter *e, const hsc_instr *instr, hsc_lv a, hsc_lv b, bool vector) {
  switch (instr->op) {
    case HSC_OP_ADD:
    case HSC_OP_OR:
    case HSC_OP_MAXIMUM:
      return hsc_ll.BuildOr(B, a, b, "");
    case HSC_OP_MULTIPLY:
    case HSC_OP_AND:
    case HSC_OP_MINIMUM:
      return hsc_ll.BuildAnd(B, a, b, "");
    case HSC_OP_XOR:
    case HSC_OP_SUBTRACT:
      return hsc_ll.BuildXor(B, a, b, "");
    case HSC_OP_NOT:
      return hsc_ll.BuildXor(B, a, hsc__emit_int_like(e, e->i1, 1, vector), "");
    case HSC_OP_DIVIDE:
      return hsc_ll.BuildOr(B, a,
                            hsc_ll.BuildXor(B, b, hsc__emit_int_like(e, e->i1, 1, vector), ""), "");
    case HSC_OP_REMAINDER:
      return hsc_ll.BuildAnd(
          B, a, hsc_ll.BuildXor(B, b, hsc__emit_int_like(e, e->i1, 1, vector), ""), "");
    default:
      return a;
  }
}

// ---- reals --------------------------------------------------------------------------------------

hsc_lv hsc__emit_unary(hsc_emitter *e, const char *name, hsc_lv a) {
  return hsc__emit_intrinsic(e, name, hsc_ll.TypeOf(a), &a, 1);
}

// Halves away from zero: truncate |x| + the largest number below one half, with the sign of x. (One
// half itself would round 0.49999997 up.)
static hsc_lv round_away(hsc_emitter *e, hsc_type type, hsc_lv a, bool vector) {
  hsc_lv half = real_constant(
      e, type, type == HSC_TYPE_F64 ? nextafter(0.5, 0) : nextafterf(0.5f, 0), vector);
  hsc_lv moved = hsc_ll.BuildFAdd(B, hsc__emit_unary(e, "llvm.fabs", a), half, "");
  hsc_lv arguments[2] = {hsc__emit_unary(e, "llvm.trunc", moved), a};
  return hsc__emit_intrinsic(e, "llvm.copysign", hsc_ll.TypeOf(a), arguments, 2);
}

static hsc_lv reduce_precision(hsc_emitter *e, const hsc_instr *instr, hsc_lv a, bool vector) {
  // Rounds the mantissa to nearest even by adding below the last bit kept; then exponents that do
  // not fit become infinity or zero.
  hsc_type type = instr->shape.type;
  // In the bits of the type itself (bf16 is the upper half of an f32): f16's subnormal numbers have
  // their last bit elsewhere than as an f32.
  bool wide = type == HSC_TYPE_F64;
  bool half = type == HSC_TYPE_F16;
  LLVMTypeRef lane;
  if (wide)
    lane = e->i64;
  else if (half)
    lane = e->i16;
  else
    lane = e->i32;
  LLVMTypeRef real;
  if (wide)
    real = e->f64;
  else if (half)
    real = e->f16;
  else
    real = e->f32;
  hsc_lv operand = a;
  if (half)
    a = hsc_ll.BuildFPTrunc(B, a, lanes_type(e, e->f16, vector), "");
  int mantissa;
  if (wide)
    mantissa = 52;
  else if (half)
    mantissa = 10;
  else
    mantissa = 23;
  int exponent;
  if (wide)
    exponent = 11;
  else if (half)
    exponent = 5;
  else
    exponent = 8;
  int keep = instr->attr.precision.mantissa_bits;
  int keep_exponent = instr->attr.precision.exponent_bits;
  hsc_lv bits = hsc_ll.BuildBitCast(B, a, lanes_type(e, lane, vector), "");
  hsc_lv result = bits;
  if (keep < mantissa) {
    int drop = mantissa - keep;
    hsc_lv last =
        hsc_ll.BuildAnd(B, hsc_ll.BuildLShr(B, bits, hsc__emit_int_like(e, lane, drop, vector), ""),
                        hsc__emit_int_like(e, lane, 1, vector), "");
    hsc_lv bias = hsc_ll.BuildAdd(
        B, last, hsc__emit_int_like(e, lane, ((int64_t)1 << (drop - 1)) - 1, vector), "");
    result = hsc_ll.BuildAnd(B, hsc_ll.BuildAdd(B, bits, bias, ""),
                             hsc__emit_int_like(e, lane, -((int64_t)1 << drop), vector), "");
  }
  if (keep_exponent < exponent) {
    int64_t center = ((int64_t)1 << (exponent - 1)) - 1;
    int64_t reach = ((int64_t)1 << (keep_exponent - 1)) - 1;
    int64_t highest = center + reach;
    int64_t lowest = center - reach;
    int64_t exponent_mask = (((int64_t)1 << exponent) - 1) << mantissa;
    int64_t sign_mask = (int64_t)1 << (mantissa + exponent);
    hsc_lv field =
        hsc_ll.BuildAnd(B, result, hsc__emit_int_like(e, lane, exponent_mask, vector), "");
    hsc_lv sign = hsc_ll.BuildAnd(B, bits, hsc__emit_int_like(e, lane, sign_mask, vector), "");
    hsc_lv over = hsc_ll.BuildICmp(B, LLVMIntUGT, field,
                                   hsc__emit_int_like(e, lane, highest << mantissa, vector), "");
    hsc_lv under = hsc_ll.BuildICmp(B, LLVMIntULE, field,
                                    hsc__emit_int_like(e, lane, (lowest << mantissa), vector), "");
    result = hsc_ll.BuildSelect(
        B, over, hsc_ll.BuildOr(B, sign, hsc__emit_int_like(e, lane, exponent_mask, vector), ""),
        result, "");
    result = hsc_ll.BuildSelect(B, under, sign, result, "");
  }
  hsc_lv rounded = hsc_ll.BuildBitCast(B, result, lanes_type(e, real, vector), "");
  if (half)
    rounded = hsc_ll.BuildFPExt(B, rounded, lanes_type(e, e->f32, vector), "");
  return hsc_ll.BuildSelect(B, hsc_ll.BuildFCmp(B, LLVMRealUNO, operand, operand, ""), operand,
                            rounded, "");
}

static hsc_lv real_op(
    hsc_emitter *e, const hsc_instr *instr, hsc_lv a, hsc_lv b, int level, bool vector) {
  hsc_type type = instr->shape.type;
  switch (instr->op) {
    case HSC_OP_ADD:
      return hsc_ll.BuildFAdd(B, a, b, "");
    case HSC_OP_SUBTRACT:
      return hsc_ll.BuildFSub(B, a, b, "");
    case HSC_OP_MULTIPLY:
      return hsc_ll.BuildFMul(B, a, b, "");
    case HSC_OP_DIVIDE:
      return hsc_ll.BuildFDiv(B, a, b, "");
    case HSC_OP_MAXIMUM:
      return real_extreme(e, a, b, true);
    case HSC_OP_MINIMUM:
      return real_extreme(e, a, b, false);
    case HSC_OP_NEGATE:
      return hsc_ll.BuildFNeg(B, a, "");
    case HSC_OP_ABS:
      return hsc__emit_unary(e, "llvm.fabs", a);
    case HSC_OP_FLOOR:
      return hsc__emit_unary(e, "llvm.floor", a);
    case HSC_OP_CEIL:
      return hsc__emit_unary(e, "llvm.ceil", a);
    case HSC_OP_ROUND_EVEN:
      return hsc__emit_unary(e, "llvm.rint", a);
    case HSC_OP_ROUND_AFZ:
      return round_away(e, type, a, vector);
    case HSC_OP_SQRT:
      return hsc__emit_unary(e, "llvm.sqrt", a);
    case HSC_OP_RSQRT:
      return hsc_ll.BuildFDiv(B, real_constant(e, type, 1, vector),
                              hsc__emit_unary(e, "llvm.sqrt", a), "");
    case HSC_OP_REDUCE_PRECISION:
      return reduce_precision(e, instr, a, vector);
    case HSC_OP_SIGN: {
      // +-1 with the sign of x where x is not zero and not NaN, else x.
      hsc_lv arguments[2] = {real_constant(e, type, 1, vector), a};
      hsc_lv one = hsc__emit_intrinsic(e, "llvm.copysign", hsc_ll.TypeOf(a), arguments, 2);
      return hsc_ll.BuildSelect(
          B, hsc_ll.BuildFCmp(B, LLVMRealONE, a, real_constant(e, type, 0, vector), ""), one, a,
          "");
    }
    default: {
      hsc_lv arguments[2] = {a, b};
      hsc_lv here =
          type == HSC_TYPE_F64 ? NULL : hsc__emit_math_in_place(e, instr->op, a, level, vector);
      if (here)
        return here;
      return hsc__emit_vmath(e, math_name(instr->op), hsc__emit_type(e, type), arguments,
                             instr->operand_count, vector);
    }
  }
}

// ---- conversions --------------------------------------------------------------------------------

static hsc_lv int_to_int(hsc_emitter *e, hsc_type from, hsc_type to, hsc_lv v, bool vector) {
  int from_bits_count = from == HSC_TYPE_PRED ? 1 : storage_bits(from);
  int to_bits_count = storage_bits(to);
  LLVMTypeRef lanes = lanes_type(e, hsc__emit_type(e, to), vector);
  if (from_bits_count > to_bits_count)
    v = hsc_ll.BuildTrunc(B, v, lanes, "");
  else if (from_bits_count < to_bits_count)
    v = is_signed(from) ? hsc_ll.BuildSExt(B, v, lanes, "") : hsc_ll.BuildZExt(B, v, lanes, "");
  return wrap(e, to, v, vector);
}

// Towards zero; out of range becomes the nearest number of the type, NaN becomes 0.
static hsc_lv real_to_int(hsc_emitter *e, hsc_type from, hsc_type to, hsc_lv v, bool vector) {
  int bits = hsc_type_bits(to);
  bool sign = is_signed(to);
  LLVMTypeRef lane = hsc__emit_type(e, to);
  LLVMTypeRef lanes = lanes_type(e, lane, vector);
  double high = ldexp(1, sign ? bits - 1 : bits);
  double low = sign ? -high : 0;
  int64_t highest;
  if (sign)
    highest = (int64_t)(((uint64_t)1 << (bits - 1)) - 1);
  else if (bits == 64)
    highest = -1;
  else
    highest = ((int64_t)1 << bits) - 1;
  int64_t lowest = sign ? -highest - 1 : 0;
  hsc_lv too_high = hsc_ll.BuildFCmp(B, LLVMRealOGE, v, real_constant(e, from, high, vector), "");
  hsc_lv inside_low = hsc_ll.BuildFCmp(B, LLVMRealOGT, v, real_constant(e, from, low, vector), "");
  hsc_lv nan = hsc_ll.BuildFCmp(B, LLVMRealUNO, v, v, "");
  hsc_lv outside = hsc_ll.BuildOr(B, too_high, hsc_ll.BuildNot(B, inside_low, ""), "");
  hsc_lv safe = hsc_ll.BuildSelect(B, outside, real_constant(e, from, 0, vector), v, "");
  hsc_lv result =
      sign ? hsc_ll.BuildFPToSI(B, safe, lanes, "") : hsc_ll.BuildFPToUI(B, safe, lanes, "");
  result =
      hsc_ll.BuildSelect(B, too_high, hsc__emit_int_like(e, lane, highest, vector), result, "");
  result =
      hsc_ll.BuildSelect(B, inside_low, result, hsc__emit_int_like(e, lane, lowest, vector), "");
  return hsc_ll.BuildSelect(B, nan, hsc__emit_int_like(e, lane, 0, vector), result, "");
}

static hsc_lv real_to_real(hsc_emitter *e, hsc_type from, hsc_type to, hsc_lv v, bool vector) {
  if (from == HSC_TYPE_F64 && to != HSC_TYPE_F64) {
    // f64 to the narrow types by way of f32 would round twice: the first rounding is to odd, which
    // the second cannot tell from the exact value.
    hsc_lv near = hsc_ll.BuildFPTrunc(B, v, lanes_type(e, e->f32, vector), "");
    if (to != HSC_TYPE_F32) {
      hsc_lv back = hsc_ll.BuildFPExt(B, near, lanes_type(e, e->f64, vector), "");
      hsc_lv exact = hsc_ll.BuildFCmp(B, LLVMRealUEQ, back, v, "");
      hsc_lv bits = to_bits(e, near, vector);
      // Where |near| > |v| the truncated value is one below; then the lowest bit is set.
      hsc_lv over = hsc_ll.BuildFCmp(B, LLVMRealOGT, hsc__emit_unary(e, "llvm.fabs", back),
                                     hsc__emit_unary(e, "llvm.fabs", v), "");
      hsc_lv down = hsc_ll.BuildSub(
          B, bits, hsc_ll.BuildZExt(B, over, lanes_type(e, e->i32, vector), ""), "");
      hsc_lv odd = from_bits(
          e, hsc_ll.BuildOr(B, down, hsc__emit_int_like(e, e->i32, 1, vector), ""), vector);
      near = hsc_ll.BuildSelect(B, exact, near, odd, "");
    }
    return round_to(e, to, near, vector);
  }
  if (from != HSC_TYPE_F64 && to == HSC_TYPE_F64)
    return hsc_ll.BuildFPExt(B, v, lanes_type(e, e->f64, vector), "");
  return round_to(e, to, v, vector);
}

static hsc_lv convert_real_part(hsc_emitter *e, hsc_type from, hsc_type to, hsc_lv v, bool vector) {
  bool from_int = from == HSC_TYPE_PRED || hsc_type_is_integral(from);
  bool to_int = to == HSC_TYPE_PRED || hsc_type_is_integral(to);
  if (from == to)
    return v;
  if (to == HSC_TYPE_PRED)
    return from_int
               ? hsc_ll.BuildICmp(B, LLVMIntNE, v,
                                  hsc__emit_int_like(e, hsc__emit_type(e, from), 0, vector), "")
               : hsc_ll.BuildFCmp(B, LLVMRealUNE, v, real_constant(e, from, 0, vector), "");
  if (from_int && to_int)
    return int_to_int(e, from, to, v, vector);
  if (to_int)
    return real_to_int(e, from, to, v, vector);
  if (!from_int)
    return real_to_real(e, from, to, v, vector);
  LLVMTypeRef lanes = lanes_type(e, hsc__emit_type(e, to), vector);
  v = is_signed(from) ? hsc_ll.BuildSIToFP(B, v, lanes, "") : hsc_ll.BuildUIToFP(B, v, lanes, "");
  return round_to(e, to, v, vector);
}

static hsc_emit_value convert(hsc_emitter *e, hsc_type from, hsc_type to, hsc_emit_value value) {
  hsc_type from_real = hsc_type_real_part(from);
  hsc_type to_real = hsc_type_real_part(to);
  hsc_emit_value result = value;
  result.v = convert_real_part(e, from_real, to_real, value.v, value.vector);
  result.im = NULL;
  if (to == HSC_TYPE_PRED && hsc_type_is_complex(from))
    result.v = hsc_ll.BuildOr(B, result.v,
                              convert_real_part(e, from_real, to_real, value.im, value.vector), "");
  if (hsc_type_is_complex(to))
    result.im = hsc_type_is_complex(from)
                    ? convert_real_part(e, from_real, to_real, value.im, value.vector)
                    : real_constant(e, to_real, 0, value.vector);
  return result;
}

// The bits of a value in an integer of the storage's width, and back.
static hsc_lv bitcast_convert(hsc_emitter *e, hsc_type from, hsc_type to, hsc_emit_value value) {
  hsc_lv raw, raw_im;
  hsc__emit_to_memory(e, from, value, &raw, &raw_im);
  LLVMTypeRef memory = hsc__emit_memory_type(e, to);
  raw = hsc_ll.BuildBitCast(B, raw, lanes_type(e, memory, value.vector), "");
  return hsc__emit_from_memory(e, to, raw, NULL, value.level, value.vector).v;
}

// ---- the operation ------------------------------------------------------------------------------

hsc_emit_value hsc__emit_elementwise(hsc_emitter *e,
                                     const hsc_instr *instr,
                                     const hsc_emit_value *operands) {
  hsc_type type = instr->shape.type;
  hsc_type from = instr->operands[0]->shape.type;
  if (instr->op == HSC_OP_SELECT)
    return hsc__emit_select(e, operands[0], operands[1], operands[2]);
  hsc_emit_value x[3];
  for (int i = 0; i < instr->operand_count; i++)
    x[i] = operands[i];
  hsc_emit_value result = meet(e, x, instr->operand_count);
  bool vector = result.vector;
  switch (instr->op) {
    case HSC_OP_COPY:
      return x[0];
    case HSC_OP_COMPARE:
      result.v = compare_values(e, instr, x[0], x[1]);
      return result;
    case HSC_OP_CONVERT:
      return convert(e, from, type, x[0]);
    case HSC_OP_BITCAST_CONVERT:
      result.v = bitcast_convert(e, from, type, x[0]);
      return result;
    case HSC_OP_CLAMP:
      result.v = extreme(e, type, extreme(e, type, x[1].v, x[0].v, true), x[2].v, false);
      return result;
    case HSC_OP_ABS:
      if (!hsc_type_is_complex(from))
        break;
      result.v = hsc__emit_complex_abs(e, from, x[0], vector);
      return result;
    case HSC_OP_REAL:
      result.v = x[0].v;
      return result;
    case HSC_OP_IMAG:
      result.v = hsc_type_is_complex(from) ? x[0].im : real_constant(e, type, 0, vector);
      return result;
    case HSC_OP_COMPLEX:
      result.v = x[0].v;
      result.im = x[1].v;
      return result;
    case HSC_OP_IS_FINITE:
      result.v = hsc_ll.BuildFCmp(B, LLVMRealOLT, hsc__emit_unary(e, "llvm.fabs", x[0].v),
                                  real_constant(e, from, INFINITY, vector), "");
      return result;
    default:
      break;
  }
  hsc_lv b = instr->operand_count > 1 ? x[1].v : NULL;
  if (hsc_type_is_complex(type))
    hsc__emit_complex_op(e, instr, x, &result);
  else if (type == HSC_TYPE_PRED)
    result.v = pred_op(e, instr, x[0].v, b, vector);
  else if (is_real(type))
    result.v = round_to(e, type, real_op(e, instr, x[0].v, b, result.level, vector), vector);
  else
    result.v = int_op(e, instr, x[0].v, b, vector);
  return result;
}
