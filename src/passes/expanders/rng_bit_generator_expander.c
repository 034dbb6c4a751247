// rng_bit_generator_expander.c - random bits as the arithmetic of their generator, which
// vectorises, fuses and runs on all threads.
//
// ThreeFry 2x32 (20 rounds) and Philox 4x32 (10 rounds), with the counters and the order of results
// of the operation, bit for bit. Each element of one array of 64-bit pairs is made by itself from
// its counter, so that all rounds are one fusion. Legal for a state of two or three u64 and results
// of 8 to 64 bits. Cost: about 150 instructions. One walk.
//
//   before   r = (u64[2], u32[64]) rng-bit-generator(u64[2] s), algorithm=rng_three_fry
//   after    pairs = u64[32] fusion(20 rounds over s[0] and s[1] + iota);  bits = u32[64] of the
//            pairs;  tuple({s[0], s[1] + 32}, bits)
//
// XLA: xla/hlo/transforms/expanders/rng_bit_generator_expander.h; the generators: Salmon et al.,
// "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011.
#include "passes/manager/passes_internal.h"

typedef struct maker {
  hsc_builder *b;
  hsc_shape u32, u64;  // of what is computed element by element
} maker;

static hsc_instr *op2(maker *m, hsc_op op, hsc_instr *x, hsc_instr *y) {
  return hsc_build_binary(m->b, op, x, y);
}
static hsc_instr *add(maker *m, hsc_instr *x, hsc_instr *y) {
  return op2(m, HSC_OP_ADD, x, y);
}
static hsc_instr *xor2(maker *m, hsc_instr *x, hsc_instr *y) {
  return op2(m, HSC_OP_XOR, x, y);
}
static hsc_instr *to(maker *m, hsc_type type, hsc_instr *x) {
  return hsc_build_convert(m->b, type, x);
}
static hsc_instr *like(maker *m, hsc_instr *scalar) {
  return hsc__widen(m->b, scalar, &(hsc_instr){.shape = m->u32});
}

// A constant of all bits of `value`, which a double would not hold.
static hsc_instr *constant(maker *m, hsc_type type, uint64_t value) {
  hsc_literal *literal = NULL;
  hsc_shape shape = hsc_shape_scalar(type);
  hsc_status *status = hsc_literal_create(m->b->module->arena, &shape, &literal);
  if (status) {
    if (!m->b->status)
      m->b->status = status;
    else
      hsc_status_free(status);
    return hsc_build_scalar(m->b, type, 0);
  }
  hsc_literal_set_int(literal, 0, (int64_t)value);
  return hsc_build_constant(m->b, literal);
}
static hsc_instr *c32(maker *m, uint32_t value) {
  return like(m, constant(m, HSC_TYPE_U32, value));
}
static hsc_instr *c64(maker *m, uint64_t value) {
  return like(m, constant(m, HSC_TYPE_U64, value));
}

static hsc_instr *low(maker *m, hsc_instr *x) {
  return to(m, HSC_TYPE_U32, x);
}
// Of a scalar or an array of u64.
static hsc_instr *high(maker *m, hsc_instr *x) {
  hsc_instr *shift = x->shape.rank ? c64(m, 32) : constant(m, HSC_TYPE_U64, 32);
  return to(m, HSC_TYPE_U32, op2(m, HSC_OP_SHIFT_RIGHT_LOGICAL, x, shift));
}
static hsc_instr *joined(maker *m, hsc_instr *x, hsc_instr *y) {
  hsc_instr *shift = c64(m, 32);
  hsc_instr *upper = op2(m, HSC_OP_SHIFT_LEFT, to(m, HSC_TYPE_U64, y), shift);
  return op2(m, HSC_OP_OR, to(m, HSC_TYPE_U64, x), upper);
}

static hsc_instr *rotated(maker *m, hsc_instr *x, int n) {
  hsc_instr *right = op2(m, HSC_OP_SHIFT_RIGHT_LOGICAL, x, c32(m, (uint32_t)(32 - n)));
  return op2(m, HSC_OP_OR, op2(m, HSC_OP_SHIFT_LEFT, x, c32(m, (uint32_t)n)), right);
}

// key: a scalar u64; counter: u64 elements.
static hsc_instr *three_fry(maker *m, hsc_instr *key, hsc_instr *counter) {
  static const int rotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  hsc_instr *scalar[3] = {low(m, key), high(m, key)};
  hsc_instr *keys[3];
  hsc_instr *both = xor2(m, scalar[0], scalar[1]);
  scalar[2] = xor2(m, constant(m, HSC_TYPE_U32, 0x1bd11bda), both);
  for (int i = 0; i < 3; i++)
    keys[i] = like(m, scalar[i]);
  hsc_instr *x = add(m, low(m, counter), keys[0]);
  hsc_instr *y = add(m, high(m, counter), keys[1]);
  for (uint32_t group = 0; group < 5; group++) {
    for (int i = 0; i < 4; i++) {
      x = add(m, x, y);
      y = xor2(m, rotated(m, y, rotations[group % 2][i]), x);
    }
    x = add(m, x, keys[(group + 1) % 3]);
    y = add(m, y, add(m, keys[(group + 2) % 3], c32(m, group + 1)));
  }
  return joined(m, x, y);
}

// Of four words, the pair that `second` (pred elements) chooses.
static hsc_instr *philox(
    maker *m, hsc_instr *key, hsc_instr *counter_low, hsc_instr *counter_high, hsc_instr *second) {
  hsc_instr *x[4] = {low(m, counter_low), high(m, counter_low), low(m, counter_high),
                     high(m, counter_high)};
  hsc_instr *k0 = low(m, key);
  hsc_instr *k1 = high(m, key);
  hsc_instr *m0 = c64(m, 0xd2511f53u);
  hsc_instr *m1 = c64(m, 0xcd9e8d57u);
  for (int round = 0; round < 10; round++) {
    hsc_instr *p0 = op2(m, HSC_OP_MULTIPLY, to(m, HSC_TYPE_U64, x[0]), m0);
    hsc_instr *p1 = op2(m, HSC_OP_MULTIPLY, to(m, HSC_TYPE_U64, x[2]), m1);
    hsc_instr *key0 = like(m, k0);
    hsc_instr *first = xor2(m, xor2(m, high(m, p1), x[1]), key0);
    hsc_instr *second_word = low(m, p1);
    hsc_instr *key1 = like(m, k1);
    hsc_instr *third = xor2(m, xor2(m, high(m, p0), x[3]), key1);
    hsc_instr *next[4] = {first, second_word, third, low(m, p0)};
    memcpy(x, next, sizeof x);
    k0 = add(m, k0, constant(m, HSC_TYPE_U32, 0x9e3779b9u));
    k1 = add(m, k1, constant(m, HSC_TYPE_U32, 0xbb67ae85u));
  }
  hsc_instr *otherwise = joined(m, x[0], x[1]);
  return hsc_build_select(m->b, second, joined(m, x[2], x[3]), otherwise);
}

static hsc_instr *state_word(hsc_builder *b, hsc_instr *state, int64_t i) {
  hsc_arena *arena = b->module->arena;
  hsc_instr *word =
      hsc_build_slice(b, state, HSC_DIMS(arena, i), HSC_DIMS(arena, i + 1), HSC_DIMS(arena, 1));
  return hsc_build_reshape(b, word, 0, NULL);
}

static hsc_instr *state_of(hsc_builder *b, int count, hsc_instr **words) {
  int64_t one = 1;
  hsc_instr *parts[3];
  for (int i = 0; i < count; i++)
    parts[i] = hsc_build_reshape(b, words[i], 1, &one);
  return hsc_build_concatenate(b, count, parts, 0);
}

static maker maker_of(hsc_builder *b, int64_t count) {
  maker m = {.b = b};
  m.u32 = hsc_shape_array(b->module->arena, HSC_TYPE_U32, 1, &count);
  m.u64 = hsc_shape_with_type(m.u32, HSC_TYPE_U64);
  return m;
}

// The first `total` of the 32-bit words of u64[n], or of its numbers when `bits` is 64, as u32 or
// u64 [total].
static hsc_instr *words_of(hsc_builder *b, hsc_instr *pairs, int bits, int64_t total) {
  hsc_arena *arena = b->module->arena;
  int64_t n = pairs->shape.dims[0];
  int64_t two = 2 * n;
  if (bits != 64) {
    hsc_shape shape = hsc_shape_array(arena, HSC_TYPE_U32, 2, (int64_t[]){n, 2});
    pairs = hsc_build_reshape(b, hsc_build(b, HSC_OP_BITCAST_CONVERT, shape, 1, &pairs), 1, &two);
  }
  return hsc_build_slice(b, pairs, HSC_DIMS(arena, 0), HSC_DIMS(arena, total), HSC_DIMS(arena, 1));
}

// Unsigned words of 32 or 64 bits as numbers of the wanted type, of the same dimensions.
static hsc_instr *as_type(hsc_builder *b, hsc_instr *words, hsc_type type) {
  static const hsc_type narrow[] = {
      [8] = HSC_TYPE_U8, [16] = HSC_TYPE_U16, [32] = HSC_TYPE_U32, [64] = HSC_TYPE_U64};
  hsc_type same = narrow[hsc_type_bits(type)];
  if (words->shape.type != same)
    words = hsc_build_convert(b, same, words);
  return same == type ? words
                      : hsc_build(b, HSC_OP_BITCAST_CONVERT,
                                  hsc_shape_with_type(words->shape, type), 1, &words);
}

static hsc_instr *three_fry_bits(hsc_builder *b,
                                 hsc_instr *state,
                                 const hsc_shape *shape,
                                 hsc_instr **out_state) {
  hsc_arena *arena = b->module->arena;
  int bits = hsc_type_bits(shape->type);
  int split = -1;
  int64_t half[HSC_MAX_RANK];
  int64_t halves[HSC_MAX_RANK + 1];
  int64_t order[HSC_MAX_RANK + 1];
  int64_t all[HSC_MAX_RANK];
  int64_t count = 1;
  for (int i = 0; i < shape->rank && bits != 64 && split < 0; i++)
    if (shape->dims[i] % 2 == 0)
      split = i;
  for (int i = 0; i < shape->rank && bits != 64 && (split < 0 || shape->dims[split] % 2 != 0); i++)
    if (split < 0 || shape->dims[i] > shape->dims[split])
      split = i;
  for (int i = 0; i < shape->rank; i++)
    count *= half[i] = i == split ? (shape->dims[i] + 1) / 2 : shape->dims[i];
  maker m = maker_of(b, count);
  hsc_instr *key = state_word(b, state, 0);
  hsc_instr *counter = state_word(b, state, 1);
  hsc_instr *at = hsc_build_iota(b, m.u64, 0);
  hsc_instr *pairs = three_fry(&m, key, add(&m, like(&m, counter), at));
  *out_state = state_of(
      b, 2, (hsc_instr *[]){key, add(&m, counter, constant(&m, HSC_TYPE_U64, (uint64_t)count))});
  if (bits == 64)
    return hsc_build_reshape(b, pairs, shape->rank, shape->dims);
  if (split < 0)
    return hsc_build_reshape(b, as_type(b, words_of(b, pairs, bits, 1), shape->type), 0, NULL);
  // [half..., 2] with the pair moved after the split dimension, which it doubles.
  hsc_instr *words = as_type(b, words_of(b, pairs, bits, 2 * count), shape->type);
  memcpy(halves, half, sizeof half);
  halves[shape->rank] = 2;
  words = hsc_build_reshape(b, words, shape->rank + 1, halves);
  for (int i = 0; i <= shape->rank; i++) {
    if (i <= split)
      order[i] = i;
    else if (i == split + 1)
      order[i] = shape->rank;
    else
      order[i] = i - 1;
  }
  words = hsc_build_transpose(b, words, hsc_dims_copy(arena, shape->rank + 1, order));
  for (int i = 0; i < shape->rank; i++)
    all[i] = i == split ? 2 * half[i] : half[i];
  words = hsc_build_reshape(b, words, shape->rank, all);
  int64_t zeros[HSC_MAX_RANK] = {0};
  int64_t ones[HSC_MAX_RANK];
  for (int i = 0; i < shape->rank; i++)
    ones[i] = 1;
  if (all[split] == shape->dims[split])
    return words;
  return hsc_build_slice(b, words, hsc_dims_copy(arena, shape->rank, zeros),
                         hsc_dims_copy(arena, shape->rank, shape->dims),
                         hsc_dims_copy(arena, shape->rank, ones));
}

static hsc_instr *philox_bits(hsc_builder *b,
                              hsc_instr *state,
                              const hsc_shape *shape,
                              hsc_instr **out_state) {
  int bits = hsc_type_bits(shape->type);
  int state_words = (int)state->shape.dims[0];
  int64_t total = hsc_shape_elements(shape);
  int64_t counters = (total * (bits == 64 ? 2 : 1) + 3) / 4;
  maker m = maker_of(b, 2 * counters);
  hsc_instr *key = state_word(b, state, 0);
  hsc_instr *word = state_word(b, state, 1);
  hsc_instr *upper = state_words == 3 ? state_word(b, state, 2) : key;
  hsc_instr *at = hsc_build_iota(b, m.u64, 0);
  hsc_instr *one = c64(&m, 1);
  hsc_instr *pair = op2(&m, HSC_OP_SHIFT_RIGHT_LOGICAL, at, one);
  hsc_instr *lower = add(&m, like(&m, word), pair);
  hsc_instr *carry = hsc_build_compare(b, HSC_LT, lower, like(&m, word));
  hsc_instr *second = hsc_build_compare(b, HSC_EQ, op2(&m, HSC_OP_AND, at, one), one);
  hsc_instr *carried = to(&m, HSC_TYPE_U64, carry);
  hsc_instr *pairs = philox(&m, key, lower, add(&m, like(&m, upper), carried), second);
  hsc_instr *next = add(&m, word, constant(&m, HSC_TYPE_U64, (uint64_t)counters));
  hsc_instr *words[3] = {key, next};
  if (state_words == 3)
    words[2] = add(&m, upper, to(&m, HSC_TYPE_U64, hsc_build_compare(b, HSC_LT, next, word)));
  *out_state = state_of(b, state_words, words);
  return hsc_build_reshape(b, as_type(b, words_of(b, pairs, bits, total), shape->type), shape->rank,
                           shape->dims);
}

static bool matches(const hsc_instr *instr) {
  if (instr->op != HSC_OP_RNG_BIT_GENERATOR)
    return false;
  const hsc_shape *state = &instr->operands[0]->shape;
  bool three_fry = instr->attr.rng.algorithm == HSC_RNG_THREE_FRY;
  if (state->type != HSC_TYPE_U64 || state->rank != 1 ||
      (state->dims[0] != 2 && (state->dims[0] != 3 || three_fry)))
    return false;
  if (hsc_shape_is_tuple(&instr->shape) && instr->shape.element_count != 2)
    return false;
  const hsc_shape *bits =
      hsc_shape_is_tuple(&instr->shape) ? &instr->shape.elements[1] : &instr->shape;
  int width = hsc_type_bits(bits->type);
  bool integral = hsc_type_is_integral(bits->type);
  bool common = width == 8 || width == 16 || width == 32 || width == 64;
  return hsc_shape_is_array(bits) && !bits->dynamic && integral && common &&
         hsc_shape_elements(bits) > 0;
}

static hsc_instr *rewrite(hsc_builder *b, hsc_instr *instr) {
  bool is_tuple = hsc_shape_is_tuple(&instr->shape);
  const hsc_shape *shape = is_tuple ? &instr->shape.elements[1] : &instr->shape;
  hsc_instr *parts[2];
  parts[1] = instr->attr.rng.algorithm == HSC_RNG_THREE_FRY
                 ? three_fry_bits(b, instr->operands[0], shape, &parts[0])
                 : philox_bits(b, instr->operands[0], shape, &parts[0]);
  return is_tuple ? hsc_build_tuple(b, 2, parts) : parts[1];
}

hsc_status *hsc__pass_rng_bit_generator_expander(hsc_module *module, hsc_pass_context *cx) {
  return hsc__rewrite_each(module, cx, matches, rewrite);
}
