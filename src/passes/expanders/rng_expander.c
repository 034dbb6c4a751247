// rng_expander.c - random numbers of a distribution as random bits and arithmetic on them.
//
// The bits are Philox's at the counters that the global random state hands out: one for a uniform
// number, two for a normal one, which Box and Muller's formula makes. Arithmetic is in f64, or u64
// for whole numbers, rounded once to the type. Legal always: nobody promises particular numbers;
// these are the evaluator's. The device makes numbers one after
// the other without it; with it on all threads. It runs on request.
//
//   before   r = f32[64] rng(a, b), distribution=rng_uniform
//   after    s = u64[2] rng-get-and-update-state(), delta=64;  bits = rng-bit-generator({key, s}),
//            algorithm=rng_philox;  r = a + (b - a) * (bits >> 11) * 2^-53
//
// XLA: xla/hlo/transforms/expanders/rng_expander.h; Box, Muller, "A Note on the Generation of
// Random Normal Deviates", 1958.
#include "passes/manager/passes_internal.h"

static const uint64_t KEY = 0x5eed5eed5eedull;

static bool matches(const hsc_instr *instr) {
  hsc_type type = instr->shape.type;
  if (instr->op != HSC_OP_RNG || instr->operand_count != 2 || instr->control_count ||
      instr->control_successor_count)
    return false;
  if (hsc_shape_elements(&instr->shape) == 0 || instr->shape.rank >= HSC_MAX_RANK)
    return false;
  if (hsc_type_is_float(type))
    return true;
  return hsc_type_is_integral(type) && hsc_type_bits(type) >= 8 &&
         instr->attr.rng.distribution == HSC_RNG_UNIFORM;
}

static hsc_instr *word(hsc_builder *b, uint64_t value) {
  hsc_literal *literal = NULL;
  hsc_shape shape = hsc_shape_scalar(HSC_TYPE_U64);
  hsc_status *status = hsc_literal_create(b->module->arena, &shape, &literal);
  if (status && !b->status)
    b->status = status;
  else
    hsc_status_free(status);
  if (b->status)
    return hsc_build_scalar(b, HSC_TYPE_U64, 0);
  hsc_literal_set_int(literal, 0, (int64_t)value);
  return hsc_build_constant(b, literal);
}

static hsc_instr *f64(hsc_builder *b, double value, const hsc_instr *like) {
  return hsc__widen(b, hsc_build_scalar(b, HSC_TYPE_F64, value), like);
}

// Every `stride`-th of the words from `start` on, [count].
static hsc_instr *every(hsc_builder *b, hsc_instr *words, int64_t start, int64_t stride) {
  hsc_arena *arena = b->module->arena;
  return hsc_build_slice(b, words, HSC_DIMS(arena, start), HSC_DIMS(arena, words->shape.dims[0]),
                         HSC_DIMS(arena, stride));
}

// Numbers in [0, 1) of 53 bits.
static hsc_instr *unit(hsc_builder *b, hsc_instr *words) {
  hsc_instr *bits =
      hsc_build_binary(b, HSC_OP_SHIFT_RIGHT_LOGICAL, words, hsc__widen(b, word(b, 11), words));
  hsc_instr *number = hsc_build_convert(b, HSC_TYPE_F64, bits);
  return hsc_build_binary(b, HSC_OP_MULTIPLY, number, f64(b, 0x1p-53, number));
}

static hsc_instr *rewrite(hsc_builder *b, hsc_instr *instr) {
  hsc_arena *arena = b->module->arena;
  hsc_type type = instr->shape.type;
  bool normal = instr->attr.rng.distribution == HSC_RNG_NORMAL;
  bool integral = !hsc_type_is_float(type);
  int64_t count = hsc_shape_elements(&instr->shape);
  int64_t counters = normal ? 2 * count : count;
  hsc_shape pair = hsc_shape_array(arena, HSC_TYPE_U64, 1, (int64_t[]){2});
  hsc_shape triple = hsc_shape_array(arena, HSC_TYPE_U64, 1, (int64_t[]){3});
  hsc_shape words_shape = hsc_shape_array(arena, HSC_TYPE_U64, 1, (int64_t[]){2 * counters});
  hsc_instr *state = hsc_build(b, HSC_OP_RNG_GET_AND_UPDATE_STATE, pair, 0, NULL);
  state->attr.index.value = counters;
  hsc_instr *key = hsc_build_reshape(b, word(b, KEY), 1, (int64_t[]){1});
  hsc_instr *whole = hsc_build_concatenate(b, 2, (hsc_instr *[]){key, state}, 0);
  hsc_attr attr = {.rng = {.algorithm = HSC_RNG_PHILOX}};
  hsc_instr *generated = hsc_build_op(b, HSC_OP_RNG_BIT_GENERATOR,
                                      hsc_shape_tuple(arena, 2, (hsc_shape[]){triple, words_shape}),
                                      &attr, 1, &whole, 0, NULL);
  hsc_instr *words = hsc_build_get_tuple_element(b, generated, 1);
  hsc_instr *value;
  if (b->status)
    return instr;
  if (integral) {
    bool is_signed = hsc_type_class_of(type) == HSC_CLASS_SIGNED;
    hsc_instr *ends[2];
    for (int i = 0; i < 2; i++) {
      ends[i] = is_signed ? hsc_build_convert(b, HSC_TYPE_S64, instr->operands[i])
                          : hsc_build_convert(b, HSC_TYPE_U64, instr->operands[i]);
      if (is_signed)
        ends[i] = hsc_build_op(b, HSC_OP_BITCAST_CONVERT, hsc_shape_scalar(HSC_TYPE_U64), NULL, 1,
                               &ends[i], 0, NULL);
    }
    hsc_instr *drawn = every(b, words, 0, 2);
    hsc_instr *range = hsc_build_binary(b, HSC_OP_SUBTRACT, ends[1], ends[0]);
    hsc_instr *one = word(b, 1);
    // An empty range gives its lower end: a remainder by one.
    range = hsc_build_select(b, hsc_build_compare(b, HSC_EQ, range, word(b, 0)), one, range);
    value = hsc_build_binary(b, HSC_OP_REMAINDER, drawn, hsc__widen(b, range, drawn));
    value = hsc_build_binary(b, HSC_OP_ADD, hsc__widen(b, ends[0], drawn), value);
    if (is_signed)
      value =
          hsc_build_op(b, HSC_OP_BITCAST_CONVERT, hsc_shape_with_type(value->shape, HSC_TYPE_S64),
                       NULL, 1, &value, 0, NULL);
    value = hsc_build_convert(b, type, value);
  } else {
    hsc_instr *a = hsc_build_convert(b, HSC_TYPE_F64, instr->operands[0]);
    hsc_instr *z = hsc_build_convert(b, HSC_TYPE_F64, instr->operands[1]);
    if (normal) {
      hsc_instr *u = unit(b, every(b, words, 0, 4));
      hsc_instr *v = unit(b, every(b, words, 2, 4));
      hsc_instr *log =
          hsc_build_unary(b, HSC_OP_LOG, hsc_build_binary(b, HSC_OP_SUBTRACT, f64(b, 1, u), u));
      hsc_instr *radius = hsc_build_unary(
          b, HSC_OP_SQRT, hsc_build_binary(b, HSC_OP_MULTIPLY, f64(b, -2, log), log));
      hsc_instr *angle = hsc_build_unary(
          b, HSC_OP_COSINE,
          hsc_build_binary(b, HSC_OP_MULTIPLY, f64(b, 2 * 3.14159265358979323846, v), v));
      hsc_instr *scaled = hsc_build_binary(
          b, HSC_OP_MULTIPLY,
          hsc_build_binary(b, HSC_OP_MULTIPLY, hsc__widen(b, z, radius), radius), angle);
      value = hsc_build_convert(b, type,
                                hsc_build_binary(b, HSC_OP_ADD, hsc__widen(b, a, scaled), scaled));
    } else {
      hsc_instr *u = unit(b, every(b, words, 0, 2));
      hsc_instr *scaled = hsc_build_binary(
          b, HSC_OP_MULTIPLY, hsc__widen(b, hsc_build_binary(b, HSC_OP_SUBTRACT, z, a), u), u);
      value = hsc_build_convert(b, type,
                                hsc_build_binary(b, HSC_OP_ADD, hsc__widen(b, a, scaled), scaled));
      // Rounding may reach the open end.
      hsc_instr *low = hsc__widen(b, instr->operands[0], value);
      hsc_instr *high = hsc__widen(b, instr->operands[1], value);
      hsc_instr *wide = hsc_build_compare(b, HSC_GT, high, low);
      hsc_instr *reached = hsc_build_compare(b, HSC_GE, value, high);
      reached = hsc_build_binary(b, HSC_OP_AND, reached, wide);
      value = hsc_build_select(b, reached, low, value);
    }
  }
  return hsc_build_reshape(b, value, instr->shape.rank, instr->shape.dims);
}

hsc_status *hsc__pass_rng_expander(hsc_module *module, hsc_pass_context *cx) {
  HSC_FOR_EACH_COMPUTATION (module, computation) {
    HSC_FOR_EACH_INSTR_IN (computation, instr) {
      if (!matches(instr))
        continue;
      if (!hsc__pass_spend(cx))
        return NULL;
      hsc_builder b;
      hsc_builder_at(&b, computation, instr);
      b.metadata = instr->metadata;
      hsc_instr *replacement = rewrite(&b, instr);
      HSC_TRY(hsc_builder_finish(&b, NULL, NULL));
      HSC_TRY(hsc__replace_effects_too(instr, replacement));
    }
  }
  return NULL;
}
