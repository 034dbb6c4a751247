// eval_random.c - random bits: ThreeFry 2x32 (20 rounds) and Philox 4x32 (10 rounds), with the
// counters and the order of results that XLA gives them (xla/hlo/builder/lib/prng.cc), bit for bit.
// The generators: Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011.
#include <math.h>

#include "hlo/eval/eval_internal.h"

static uint32_t rotate_left(uint32_t v, int n) {
  return v << n | v >> (32 - n);
}

static void three_fry(uint64_t key, uint64_t counter, uint32_t out[2]) {
  static const int rotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  uint32_t keys[3] = {(uint32_t)key, (uint32_t)(key >> 32), 0};
  keys[2] = 0x1bd11bda ^ keys[0] ^ keys[1];
  uint32_t x = (uint32_t)counter + keys[0];
  uint32_t y = (uint32_t)(counter >> 32) + keys[1];
  for (uint32_t group = 0; group < 5; group++) {
    for (int i = 0; i < 4; i++) {
      x += y;
      y = rotate_left(y, rotations[group % 2][i]) ^ x;
    }
    x += keys[(group + 1) % 3];
    y += keys[(group + 2) % 3] + group + 1;
  }
  out[0] = x;
  out[1] = y;
}

typedef struct u128 {
  uint64_t low, high;
} u128;
static u128 add_u64(u128 a, uint64_t b) {
  u128 sum = {a.low + b, a.high};
  if (sum.low < a.low)
    sum.high++;
  return sum;
}

static void philox(uint64_t key, u128 counter, uint32_t out[4]) {
  uint32_t k0 = (uint32_t)key;
  uint32_t k1 = (uint32_t)(key >> 32);
  uint32_t x[4] = {(uint32_t)counter.low, (uint32_t)(counter.low >> 32), (uint32_t)counter.high,
                   (uint32_t)(counter.high >> 32)};
  for (int round = 0; round < 10; round++) {
    uint64_t p0 = (uint64_t)x[0] * 0xd2511f53u;
    uint64_t p1 = (uint64_t)x[2] * 0xcd9e8d57u;
    uint32_t next[4] = {(uint32_t)(p1 >> 32) ^ x[1] ^ k0, (uint32_t)p1,
                        (uint32_t)(p0 >> 32) ^ x[3] ^ k1, (uint32_t)p0};
    memcpy(x, next, sizeof(x));
    k0 += 0x9e3779b9u;
    k1 += 0xbb67ae85u;
  }
  memcpy(out, x, sizeof(x));
}

static void store_bits(
    unsigned char *data, size_t element_bytes, int bits, int64_t index, uint64_t value) {
  if (bits < 8)
    value &= (1u << bits) - 1;
  memcpy(data + (size_t)index * element_bytes, &value, element_bytes);
}

// Numbers of 32 bits and less come in pairs: one dimension is split in two halves (rounded up), and
// element 2j + p of it is word p of the counter at j. The first even dimension is split, else the
// largest. Returns how far the counter goes.
static uint64_t fill_three_fry(const hsc_shape *shape,
                               uint64_t key,
                               uint64_t counter,
                               unsigned char *data) {
  size_t element_bytes = hsc_type_bytes(shape->type);
  int bits = hsc_type_bits(shape->type);
  uint32_t words[2];
  int64_t total = hsc_shape_elements(shape);
  if (bits == 64) {
    for (int64_t i = 0; i < total; i++) {
      three_fry(key, counter + (uint64_t)i, words);
      store_bits(data, element_bytes, bits, i, words[0] | (uint64_t)words[1] << 32);
    }
    return (uint64_t)total;
  }
  if (shape->rank == 0) {
    three_fry(key, counter, words);
    store_bits(data, element_bytes, bits, 0, words[0]);
    return 1;
  }
  int split = -1;
  for (int i = 0; i < shape->rank && split < 0; i++)
    if (shape->dims[i] % 2 == 0)
      split = i;
  for (int i = 0; i < shape->rank && (split < 0 || shape->dims[split] % 2 != 0); i++)
    if (split < 0 || shape->dims[i] > shape->dims[split])
      split = i;
  int64_t half[HSC_MAX_RANK];
  int64_t strides[HSC_MAX_RANK];
  int64_t index[HSC_MAX_RANK] = {0};
  int64_t count = 1;
  hsc__strides(shape, strides);
  for (int i = 0; i < shape->rank; i++)
    count *= half[i] = i == split ? (shape->dims[i] + 1) / 2 : shape->dims[i];
  for (int64_t at = 0; at < count; at++) {
    three_fry(key, counter + (uint64_t)at, words);
    int64_t base = 0;
    for (int i = 0; i < shape->rank; i++)
      base += (i == split ? 2 * index[i] : index[i]) * strides[i];
    store_bits(data, element_bytes, bits, base, words[0]);
    if (2 * index[split] + 1 < shape->dims[split])
      store_bits(data, element_bytes, bits, base + strides[split], words[1]);
    hsc__next_index(shape->rank, half, index);
  }
  return (uint64_t)count;
}

// Four words a counter, in row-major order; numbers of 64 bits take two.
static uint64_t fill_philox(const hsc_shape *shape,
                            uint64_t key,
                            u128 counter,
                            unsigned char *data) {
  size_t element_bytes = hsc_type_bytes(shape->type);
  int bits = hsc_type_bits(shape->type);
  int64_t total = hsc_shape_elements(shape);
  int64_t per_counter = bits == 64 ? 2 : 4;
  for (int64_t i = 0; i < total; i++) {
    uint32_t words[4];
    if (i % per_counter == 0)
      philox(key, add_u64(counter, (uint64_t)(i / per_counter)), words);
    if (bits == 64)
      store_bits(data, element_bytes, bits, i,
                 words[2 * (i % 2)] | (uint64_t)words[2 * (i % 2) + 1] << 32);
    else
      store_bits(data, element_bytes, bits, i, words[i % 4]);
  }
  return (uint64_t)((total * (bits == 64 ? 2 : 1) + 3) / 4);
}

hsc_status *hsc__eval_rng_bit_generator(hsc__eval *cx,
                                        const hsc_instr *instr,
                                        hsc__value **operands,
                                        hsc__value **out_value) {
  (void)cx;
  const hsc_shape *state_shape = &operands[0]->shape;
  const hsc_shape *shape = &instr->shape;
  bool is_tuple = hsc_shape_is_tuple(shape);
  if (is_tuple && shape->element_count != 2)
    return HSC_ERR(INVALID_ARGUMENT, "rng-bit-generator: its result is not (state, bits)");
  const hsc_shape *bits_shape = is_tuple ? &shape->elements[1] : shape;
  int64_t state_bytes = hsc_shape_bytes(state_shape);
  if (state_bytes < 16)
    return HSC_ERR(INVALID_ARGUMENT,
                   "rng-bit-generator: its state has %lld bytes, expected 16 or 24",
                   (long long)state_bytes);
  int words = state_bytes >= 24 ? 3 : 2;
  uint64_t state[3] = {0};
  memcpy(state, operands[0]->data, (size_t)words * 8);
  hsc__value *result = NULL;
  HSC_TRY(hsc__value_zeros(shape, &result));
  unsigned char *data = (is_tuple ? result->elements[1] : result)->data;
  if (instr->attr.rng.algorithm == HSC_RNG_THREE_FRY) {
    state[1] += fill_three_fry(bits_shape, state[0], state[1], data);
  } else {
    // The counter is 128 bits: words 1 and 2, or with a state of two words (word 1, key), of which
    // only the low half is kept.
    u128 counter = {state[1], words == 3 ? state[2] : state[0]};
    counter = add_u64(counter, fill_philox(bits_shape, state[0], counter, data));
    state[1] = counter.low;
    if (words == 3)
      state[2] = counter.high;
  }
  if (is_tuple) {
    memcpy(result->elements[0]->data, operands[0]->data, (size_t)state_bytes);
    memcpy(result->elements[0]->data, state, (size_t)words * 8);
  }
  *out_value = result;
  return NULL;
}

hsc_status *hsc__eval_rng_get_and_update_state(hsc__eval *cx,
                                               const hsc_instr *instr,
                                               hsc__value **operands,
                                               hsc__value **out_value) {
  (void)operands;
  HSC_TRY(hsc__value_array(&instr->shape, out_value));
  if (hsc_shape_bytes(&instr->shape) < 16)
    return HSC_ERR(INVALID_ARGUMENT, "rng-get-and-update-state: its result is not u64[2]");
  memcpy((*out_value)->data, cx->random_state, 16);
  u128 next =
      add_u64((u128){cx->random_state[0], cx->random_state[1]}, (uint64_t)instr->attr.index.value);
  cx->random_state[0] = next.low;
  cx->random_state[1] = next.high;
  return NULL;
}

// ---- rng ----------------------------------------------------------------------------------------

// The stream is the evaluation's own: the same program gives the same numbers in every evaluation.
// No device promises particular ones.
static uint64_t draw(hsc__eval *cx) {
  uint32_t words[4];
  philox(0x5eed5eed5eedull, (u128){cx->random_state[0], cx->random_state[1]}, words);
  u128 next = add_u64((u128){cx->random_state[0], cx->random_state[1]}, 1);
  cx->random_state[0] = next.low;
  cx->random_state[1] = next.high;
  return words[0] | (uint64_t)words[1] << 32;
}
static double draw_unit(hsc__eval *cx) {
  return (double)(draw(cx) >> 11) * 0x1p-53;
}

static double scalar(const hsc__value *value) {
  _Alignas(16) unsigned char lane[16];
  double v;
  hsc__lane_load(value->shape.type, value->data, 1, lane);
  hsc__lane_convert(value->shape.type, lane, HSC_TYPE_F64, 1, &v);
  return v;
}

hsc_status *hsc__eval_rng(hsc__eval *cx,
                          const hsc_instr *instr,
                          hsc__value **operands,
                          hsc__value **out_value) {
  hsc_type type = instr->shape.type;
  if (instr->operand_count != 2 || hsc_type_is_complex(type))
    return hsc_op_not_built(instr->op, "the reference evaluator (complex numbers)");
  HSC_TRY(hsc__value_array(&instr->shape, out_value));
  double a = scalar(operands[0]);
  double b = scalar(operands[1]);
  bool integral = !hsc_type_is_float(type);
  bool normal = instr->attr.rng.distribution == HSC_RNG_NORMAL;
  int64_t total = hsc_shape_elements(&instr->shape);
  size_t element_bytes = hsc_type_bytes(type);
  int64_t low = integral ? hsc__get_int(operands[0], 0) : 0;
  int64_t high = integral ? hsc__get_int(operands[1], 0) : 0;
  for (int64_t i = 0; i < total; i++) {
    _Alignas(16) unsigned char lane[16];
    if (integral) {
      uint64_t range = (uint64_t)high - (uint64_t)low;
      int64_t v = (int64_t)((uint64_t)low + (range ? draw(cx) % range : 0));
      hsc__lane_convert(HSC_TYPE_S64, &v, type, 1, lane);
    } else {
      double v;
      do {
        double u = draw_unit(cx);
        if (normal)
          v = a + b * sqrt(-2 * log(1 - u)) * cos(2 * 3.14159265358979323846 * draw_unit(cx));
        else
          v = a + (b - a) * u;
        hsc__lane_convert(HSC_TYPE_F64, &v, type, 1, lane);
        hsc__lane_convert(type, lane, HSC_TYPE_F64, 1, &v);
      } while (!normal && v >= b && b > a);  // rounding may reach the open end
    }
    hsc__lane_store(type, lane, 1, (*out_value)->data + (size_t)i * element_bytes);
  }
  return NULL;
}
