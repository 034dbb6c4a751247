// scalar_interpreter.c - operations on a few elements, interpreted: loop counters, learning rates,
// steps of an optimiser. Compiling a kernel for one addition would take longer than running it will
// ever save.
//
// A program is a list of instructions on registers, run once per element. Integers are kept in 64
// bits, extended as their type says; f32 as a float. An instruction is chosen for this when it (or
// all that it fuses) is element-wise over at most MAX_ELEMENTS elements.
#include <math.h>

#include "cpu/thunks/kernels.h"
#include "cpu/thunks/lower.h"

enum { MAX_ELEMENTS = 8, MAX_CODE = 48, MAX_REGISTERS = 64 };

typedef union value {
  int64_t i;
  double d;
  float f;
} value;

typedef struct instruction {
  int16_t op;           // hsc_op; PARAMETER loads, CONSTANT takes an immediate
  int16_t type, from;   // of the result, of the operands
  int16_t to, a, b, c;  // registers; PARAMETER: a is the input
  int16_t detail;       // compare: direction; PARAMETER: 1 = one element for all
  value immediate;
} instruction;

typedef struct program {
  int32_t count, elements;
  int32_t result[8], result_type[8];  // register and type of each output
  int32_t result_count;
  instruction code[];
} program;

// ---- translating --------------------------------------------------------------------------------

static bool is_fit(hsc_type type) {
  switch (type) {
    case HSC_TYPE_PRED:
    case HSC_TYPE_S8:
    case HSC_TYPE_S16:
    case HSC_TYPE_S32:
    case HSC_TYPE_S64:
    case HSC_TYPE_U8:
    case HSC_TYPE_U16:
    case HSC_TYPE_U32:
    case HSC_TYPE_U64:
    case HSC_TYPE_F32:
    case HSC_TYPE_F64:
      return true;
    default:
      return false;
  }
}

static bool can_op(const hsc_instr *instr) {
  hsc_type type = instr->shape.type;
  hsc_type from = instr->operand_count ? instr->operands[0]->shape.type : type;
  switch (instr->op) {
    case HSC_OP_ADD:
    case HSC_OP_SUBTRACT:
    case HSC_OP_MULTIPLY:
    case HSC_OP_MAXIMUM:
    case HSC_OP_MINIMUM:
    case HSC_OP_NEGATE:
    case HSC_OP_SELECT:
      return true;
    case HSC_OP_AND:
    case HSC_OP_OR:
    case HSC_OP_XOR:
    case HSC_OP_NOT:
      return !hsc_type_is_float(type);
    case HSC_OP_DIVIDE:
    case HSC_OP_SQRT:
    case HSC_OP_RSQRT:
    case HSC_OP_EXP:
    case HSC_OP_LOG:
    case HSC_OP_POWER:
    case HSC_OP_ABS:
      return hsc_type_is_float(type);
    case HSC_OP_COMPARE:
      return instr->attr.compare.type != HSC_COMPARE_TOTALORDER;
    // Conversions to integers saturate, which generated code does.
    case HSC_OP_CONVERT:
      return !(hsc_type_is_float(from) && hsc_type_is_integral(type));
    default:
      return false;
  }
}

typedef struct translation {
  const hsc_instr *instr;  // the step's instruction
  program *out;
  const hsc_instr *seen[MAX_REGISTERS];
  int seen_count;
  int64_t elements;
} translation;

static bool same_or_one(const translation *t, const hsc_shape *shape) {
  int64_t count = hsc_shape_is_array(shape) ? hsc_shape_elements(shape) : -1;
  return is_fit(shape->type) && (count == t->elements || count == 1);
}

static int translate(translation *t, const hsc_instr *instr);

static int add_code(translation *t, const hsc_instr *instr, instruction code) {
  if (t->out->count == MAX_CODE || t->seen_count == MAX_REGISTERS)
    return -1;
  code.to = (int16_t)t->seen_count;
  t->seen[t->seen_count] = instr;
  t->out->code[t->out->count++] = code;
  return t->seen_count++;
}

static int translate_input(translation *t, const hsc_instr *instr, int input) {
  return add_code(t, instr,
                  (instruction){.op = HSC_OP_PARAMETER,
                                .type = (int16_t)instr->shape.type,
                                .a = (int16_t)input,
                                .detail = hsc_shape_elements(&instr->shape) == 1});
}

static int translate_constant(translation *t, const hsc_instr *instr) {
  const hsc_literal *literal = instr->attr.literal.value;
  hsc_type type = instr->shape.type;
  if (literal->elided || hsc_shape_elements(&instr->shape) < 1)
    return -1;
  for (int64_t i = 1; i < hsc_shape_elements(&instr->shape); i++)
    if (hsc_literal_get_double(literal, i) != hsc_literal_get_double(literal, 0))
      return -1;
  instruction code = {.op = HSC_OP_CONSTANT, .type = (int16_t)type};
  if (type == HSC_TYPE_F32)
    code.immediate.f = (float)hsc_literal_get_double(literal, 0);
  else if (type == HSC_TYPE_F64)
    code.immediate.d = hsc_literal_get_double(literal, 0);
  else
    code.immediate.i = hsc_literal_get_int(literal, 0);
  return add_code(t, instr, code);
}

// The register that holds `instr`, -1 when it cannot be had.
static int translate(translation *t, const hsc_instr *instr) {
  for (int i = 0; i < t->seen_count; i++)
    if (t->seen[i] == instr)
      return i;
  if (!same_or_one(t, &instr->shape))
    return -1;
  bool fused = t->instr->op == HSC_OP_FUSION;
  if (fused && instr->op == HSC_OP_PARAMETER)
    return translate_input(t, instr, (int)instr->attr.index.value);
  if (!fused && instr != t->instr) {
    for (int i = 0; i < t->instr->operand_count; i++)
      if (t->instr->operands[i] == instr)
        return translate_input(t, instr, i);
    return -1;
  }
  if (instr->op == HSC_OP_CONSTANT)
    return translate_constant(t, instr);
  // One element everywhere, or the same elements in the same order.
  if (instr->op == HSC_OP_RESHAPE || instr->op == HSC_OP_COPY ||
      (instr->op == HSC_OP_BROADCAST && hsc_shape_elements(&instr->operands[0]->shape) == 1))
    return translate(t, instr->operands[0]);
  if (!can_op(instr) || instr->operand_count > 3)
    return -1;
  instruction code = {.op = (int16_t)instr->op,
                      .type = (int16_t)instr->shape.type,
                      .from = (int16_t)instr->operands[0]->shape.type};
  int registers[3] = {0};
  for (int i = 0; i < instr->operand_count; i++)
    if ((registers[i] = translate(t, instr->operands[i])) < 0)
      return -1;
  code.a = (int16_t)registers[0];
  code.b = (int16_t)registers[1];
  code.c = (int16_t)registers[2];
  if (instr->op == HSC_OP_COMPARE)
    code.detail = (int16_t)instr->attr.compare.direction;
  return add_code(t, instr, code);
}

hsc_status *hsc__cpu_choose_scalar_interpreter(hsc_cpu_compiler *compiler,
                                               hsc_cpu_step *step,
                                               hsc_cpu_choice *choice,
                                               bool *out_chosen) {
  const hsc_instr *instr = step->instr;
  const hsc_instr *root = instr;
  *out_chosen = false;
  if (instr->op == HSC_OP_FUSION) {
    if (instr->attr.fusion.kind != HSC_FUSION_LOOP || instr->called_count != 1)
      return NULL;
    root = instr->called[0]->root;
  }
  const hsc_instr *const *roots =
      root->op == HSC_OP_TUPLE ? (const hsc_instr *const *)root->operands : &root;
  int count = root->op == HSC_OP_TUPLE ? root->operand_count : 1;
  if (count < 1 || count > 8 || !hsc_shape_is_array(&roots[0]->shape))
    return NULL;
  int64_t elements = hsc_shape_elements(&roots[0]->shape);
  if (elements < 1 || elements > MAX_ELEMENTS)
    return NULL;
  program *out = hsc_arena_alloc(compiler->arena, sizeof(program) + MAX_CODE * sizeof(instruction));
  HSC_TRY(hsc_arena_status(compiler->arena));
  *out = (program){.elements = (int32_t)elements, .result_count = count};
  translation t = {.instr = instr, .out = out, .elements = elements};
  for (int i = 0; i < count; i++) {
    if (hsc_shape_elements(&roots[i]->shape) != elements)
      return NULL;
    int result = translate(&t, roots[i]);
    if (result < 0)
      return NULL;
    out->result[i] = result;
    out->result_type[i] = (int32_t)roots[i]->shape.type;
  }
  choice->payload = out;
  choice->payload_bytes = sizeof(program) + sizeof(instruction) * (size_t)out->count;
  // All inputs of an element are read before its results are written, and nothing is broadcast over
  // a result that overwrites it.
  step->in_place = HSC_NEW_ARRAY(compiler->arena, uint64_t, step->output_count + 1);
  HSC_TRY(hsc_arena_status(compiler->arena));
  for (int o = 0; o < step->output_count; o++)
    for (int i = 0; i < out->count; i++) {
      const instruction *code = &out->code[i];
      if (code->op == HSC_OP_PARAMETER && code->a < 64 && (elements == 1 || !code->detail) &&
          hsc_type_bytes((hsc_type)code->type) == hsc_type_bytes((hsc_type)out->result_type[o]))
        step->in_place[o] |= (uint64_t)1 << code->a;
    }
  *out_chosen = true;
  return NULL;
}

// ---- running ------------------------------------------------------------------------------------

static value load(hsc_type type, const void *at, int64_t i) {
  switch (type) {
    case HSC_TYPE_S8:
      return (value){.i = ((const int8_t *)at)[i]};
    case HSC_TYPE_S16:
      return (value){.i = ((const int16_t *)at)[i]};
    case HSC_TYPE_S32:
      return (value){.i = ((const int32_t *)at)[i]};
    case HSC_TYPE_PRED:
    case HSC_TYPE_U8:
      return (value){.i = ((const uint8_t *)at)[i]};
    case HSC_TYPE_U16:
      return (value){.i = ((const uint16_t *)at)[i]};
    case HSC_TYPE_U32:
      return (value){.i = ((const uint32_t *)at)[i]};
    case HSC_TYPE_F32:
      return (value){.f = ((const float *)at)[i]};
    case HSC_TYPE_F64:
      return (value){.d = ((const double *)at)[i]};
    default:
      return (value){.i = ((const int64_t *)at)[i]};
  }
}

static void store(hsc_type type, void *at, int64_t i, value v) {
  switch (hsc_type_bytes(type)) {
    case 1:
      ((uint8_t *)at)[i] = (uint8_t)v.i;
      break;
    case 2:
      ((uint16_t *)at)[i] = (uint16_t)v.i;
      break;
    case 4:
      memcpy((char *)at + 4 * i, &v, 4);
      break;
    default:
      memcpy((char *)at + 8 * i, &v, 8);
      break;
  }
}

// A 64-bit result back into the range of its type.
static int64_t wrap(hsc_type type, int64_t v) {
  switch (type) {
    case HSC_TYPE_S8:
      return (int8_t)v;
    case HSC_TYPE_S16:
      return (int16_t)v;
    case HSC_TYPE_S32:
      return (int32_t)v;
    case HSC_TYPE_U8:
      return (uint8_t)v;
    case HSC_TYPE_U16:
      return (uint16_t)v;
    case HSC_TYPE_U32:
      return (uint32_t)v;
    case HSC_TYPE_PRED:
      return v != 0;
    default:
      return v;
  }
}

#define COMPARE(x, y) \
  switch ((hsc_direction)code->detail) { \
    case HSC_EQ: \
      return (x) == (y); \
    case HSC_NE: \
      return (x) != (y); \
    case HSC_LT: \
      return (x) < (y); \
    case HSC_LE: \
      return (x) <= (y); \
    case HSC_GT: \
      return (x) > (y); \
    default: \
      return (x) >= (y); \
  }

static int64_t compare(const instruction *code, value a, value b) {
  if (code->from == HSC_TYPE_F32)
    COMPARE(a.f, b.f)
  if (code->from == HSC_TYPE_F64)
    COMPARE(a.d, b.d)
  if (code->from == HSC_TYPE_U64)
    COMPARE((uint64_t)a.i, (uint64_t)b.i)
  COMPARE(a.i, b.i)
}

static double to_f64(hsc_type from, value a) {
  if (from == HSC_TYPE_F64)
    return a.d;
  if (from == HSC_TYPE_F32)
    return (double)a.f;
  return from == HSC_TYPE_U64 ? (double)(uint64_t)a.i : (double)a.i;
}

// Not through f64: a whole number would be rounded twice.
static float to_f32(hsc_type from, value a) {
  if (from == HSC_TYPE_F64)
    return (float)a.d;
  if (from == HSC_TYPE_F32)
    return a.f;
  return from == HSC_TYPE_U64 ? (float)(uint64_t)a.i : (float)a.i;
}

static value convert(const instruction *code, value a) {
  hsc_type to = (hsc_type)code->type;
  hsc_type from = (hsc_type)code->from;
  if (to == HSC_TYPE_F64)
    return (value){.d = to_f64(from, a)};
  if (to == HSC_TYPE_F32)
    return (value){.f = to_f32(from, a)};
  if (from == HSC_TYPE_F32)
    return (value){.i = a.f != 0};  // to pred
  if (from == HSC_TYPE_F64)
    return (value){.i = a.d != 0};
  return (value){.i = wrap(to, a.i)};
}

static value real_f32(const instruction *code, float a, float b) {
  switch ((hsc_op)code->op) {
    case HSC_OP_ADD:
      return (value){.f = a + b};
    case HSC_OP_SUBTRACT:
      return (value){.f = a - b};
    case HSC_OP_MULTIPLY:
      return (value){.f = a * b};
    case HSC_OP_DIVIDE:
      return (value){.f = a / b};
    case HSC_OP_MAXIMUM:
      return (value){.f = a > b || a != a ? a : b};
    case HSC_OP_MINIMUM:
      return (value){.f = a < b || a != a ? a : b};
    case HSC_OP_NEGATE:
      return (value){.f = -a};
    case HSC_OP_ABS:
      return (value){.f = fabsf(a)};
    case HSC_OP_SQRT:
      return (value){.f = sqrtf(a)};
    case HSC_OP_RSQRT:
      return (value){.f = (float)(1 / sqrt((double)a))};
    case HSC_OP_EXP:
      return (value){.f = (float)exp((double)a)};
    case HSC_OP_LOG:
      return (value){.f = (float)log((double)a)};
    default:
      return (value){.f = (float)pow((double)a, (double)b)};
  }
}

static value real_f64(const instruction *code, double a, double b) {
  switch ((hsc_op)code->op) {
    case HSC_OP_ADD:
      return (value){.d = a + b};
    case HSC_OP_SUBTRACT:
      return (value){.d = a - b};
    case HSC_OP_MULTIPLY:
      return (value){.d = a * b};
    case HSC_OP_DIVIDE:
      return (value){.d = a / b};
    case HSC_OP_MAXIMUM:
      return (value){.d = a > b || a != a ? a : b};
    case HSC_OP_MINIMUM:
      return (value){.d = a < b || a != a ? a : b};
    case HSC_OP_NEGATE:
      return (value){.d = -a};
    case HSC_OP_ABS:
      return (value){.d = fabs(a)};
    case HSC_OP_SQRT:
      return (value){.d = sqrt(a)};
    case HSC_OP_RSQRT:
      return (value){.d = 1 / sqrt(a)};
    case HSC_OP_EXP:
      return (value){.d = exp(a)};
    case HSC_OP_LOG:
      return (value){.d = log(a)};
    default:
      return (value){.d = pow(a, b)};
  }
}

static value whole(const instruction *code, int64_t a, int64_t b) {
  bool large = code->type == HSC_TYPE_U64 ? (uint64_t)a > (uint64_t)b : a > b;
  bool pred = code->type == HSC_TYPE_PRED;
  int64_t result = 0;
  switch ((hsc_op)code->op) {
    case HSC_OP_ADD:
      result = pred ? (a | b) : (int64_t)((uint64_t)a + (uint64_t)b);
      break;
    case HSC_OP_SUBTRACT:
      result = pred ? (a ^ b) : (int64_t)((uint64_t)a - (uint64_t)b);
      break;
    case HSC_OP_MULTIPLY:
      result = (int64_t)((uint64_t)a * (uint64_t)b);
      break;
    case HSC_OP_MAXIMUM:
      result = large ? a : b;
      break;
    case HSC_OP_MINIMUM:
      result = large ? b : a;
      break;
    case HSC_OP_NEGATE:
      result = (int64_t)(0 - (uint64_t)a);
      break;
    case HSC_OP_AND:
      result = a & b;
      break;
    case HSC_OP_OR:
      result = a | b;
      break;
    case HSC_OP_XOR:
      result = a ^ b;
      break;
    default:
      result = pred ? !a : ~a;
      break;  // not
  }
  return (value){.i = wrap((hsc_type)code->type, result)};
}

static value run_one(const instruction *code, const value *r) {
  value a = r[code->a];
  value b = r[code->b];
  switch ((hsc_op)code->op) {
    case HSC_OP_CONSTANT:
      return code->immediate;
    case HSC_OP_COMPARE:
      return (value){.i = compare(code, a, b)};
    case HSC_OP_SELECT:
      return a.i ? b : r[code->c];
    case HSC_OP_CONVERT:
      return convert(code, a);
    default:
      break;
  }
  if (code->type == HSC_TYPE_F32)
    return real_f32(code, a.f, b.f);
  if (code->type == HSC_TYPE_F64)
    return real_f64(code, a.d, b.d);
  return whole(code, a.i, b.i);
}

hsc_status *hsc__cpu_run_scalar_interpreter(const hsc_cpu_frame *frame,
                                            const hsc_cpu_thunk *thunk) {
  const program *p = hsc__cpu_data(frame, thunk);
  value registers[MAX_REGISTERS] = {{0}};
  for (int64_t e = 0; e < p->elements; e++) {
    for (int32_t i = 0; i < p->count; i++) {
      const instruction *code = &p->code[i];
      if (code->op == HSC_OP_PARAMETER)
        registers[code->to] =
            load((hsc_type)code->type, hsc__cpu_input(frame, thunk, code->a), code->detail ? 0 : e);
      else
        registers[code->to] = run_one(code, registers);
    }
    for (int32_t o = 0; o < p->result_count; o++)
      store((hsc_type)p->result_type[o], hsc__cpu_output(frame, thunk, o), e,
            registers[p->result[o]]);
  }
  return NULL;
}

// ---- checking -----------------------------------------------------------------------------------

static bool is_register(int16_t number) {
  return number >= 0 && number < MAX_REGISTERS;
}

static bool fits_code(const hsc_cpu_payload *p, const program *out, const instruction *code) {
  if (!is_register(code->to) || !is_fit((hsc_type)code->type))
    return false;
  if (code->op == HSC_OP_PARAMETER) {
    int64_t elements = code->detail ? 1 : out->elements;
    return hsc__payload_reads(
        p, code->a, hsc__size_times(elements, (int64_t)hsc_type_bytes((hsc_type)code->type)));
  }
  return is_register(code->a) && is_register(code->b) && is_register(code->c);
}

bool hsc__cpu_check_scalar_interpreter(hsc_cpu_payload *p) {
  const program *out = p->data;
  if (p->bytes < sizeof *out || out->count < 0 || out->count > MAX_CODE)
    return false;
  if (!hsc__payload_is(p, sizeof *out + sizeof out->code[0] * (size_t)out->count, -1,
                       out->result_count))
    return false;
  if (out->elements < 1 || out->elements > MAX_ELEMENTS || out->result_count < 1 ||
      out->result_count > (int32_t)HSC_COUNT_OF(out->result))
    return false;
  for (int32_t i = 0; i < out->count; i++)
    if (!fits_code(p, out, &out->code[i]))
      return false;
  for (int32_t o = 0; o < out->result_count; o++) {
    if (out->result[o] < 0 || out->result[o] >= MAX_REGISTERS ||
        !is_fit((hsc_type)out->result_type[o]))
      return false;
    int64_t bytes = (int64_t)hsc_type_bytes((hsc_type)out->result_type[o]);
    if (!hsc__payload_writes(p, o, hsc__size_times(out->elements, bytes)))
      return false;
  }
  return true;
}
