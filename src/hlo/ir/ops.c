// ops.c - the op table, and names of attribute enumerators.
#include "hlo/ir/hlo_internal.h"

#include <pthread.h>

typedef struct op_row {
  const char *text, *doc, *attr_text, *rule_text;
  int16_t arity;
  uint16_t traits;
  uint8_t attr, text_size;
} op_row;

#define VARIADIC VARIADIC_ARITY
enum {
  ELEMENTWISE = HSC_TRAIT_ELEMENTWISE,
  COMMUTES = HSC_TRAIT_COMMUTES,
  TRANSCENDENTAL = HSC_TRAIT_TRANSCENDENTAL,
  CALLS = HSC_TRAIT_CALLS,
  EFFECT = HSC_TRAIT_EFFECT,
  COLLECTIVE = HSC_TRAIT_COLLECTIVE,
  ASYNC = HSC_TRAIT_ASYNC,
  MOVES = HSC_TRAIT_MOVES,
  ALIAS = HSC_TRAIT_ALIAS,
  COSTLY = HSC_TRAIT_COSTLY,
  INT = HSC_TRAIT_INT,
  REAL = HSC_TRAIT_REAL,
  COMPLEX = HSC_TRAIT_COMPLEX,
  ACCURACY = HSC_TRAIT_ACCURACY,
  MONOTONE = HSC_TRAIT_MONOTONE,
};
static const op_row rows[HSC_OP_COUNT] = {
#define OP(id, text, arity, traits, attr, rule, doc) \
  [HSC_OP_##id] = {text, doc, #attr, #rule, arity, traits, HSC__ATTR_##attr, sizeof(text) - 1},
#include "hlo/ir/ops.def"
#undef OP
};
#undef VARIADIC

static const op_row *row_of(hsc_op op) {
  static const op_row unknown = {"unknown", "", "none", "given", 0, 0, HSC__ATTR_none, 7};
  return (unsigned)op < HSC_OP_COUNT ? &rows[op] : &unknown;
}

const char *hsc_op_text(hsc_op op) {
  return row_of(op)->text;
}
int hsc_op_arity(hsc_op op) {
  return row_of(op)->arity;
}
uint32_t hsc_op_traits(hsc_op op) {
  return row_of(op)->traits;
}
hsc__attr_kind hsc__op_attr_kind(hsc_op op) {
  return (hsc__attr_kind)row_of(op)->attr;
}

// Texts to rows: open addressing, filled once; readers of programs ask for every instruction.
enum { SLOT_COUNT = 512 };
static struct {
  pthread_once_t once;
  uint16_t slots[SLOT_COUNT];  // row + 1, 0 = free
} by_text = {.once = PTHREAD_ONCE_INIT};

static size_t slot_of(const char *text, size_t size) {
  unsigned char first = (unsigned char)text[0];
  unsigned char middle = (unsigned char)text[size / 2];
  unsigned char last = (unsigned char)text[size - 1];
  return (first * 7u + middle * 57u + last * 133u + size * 31u) % SLOT_COUNT;
}

static void fill_by_text(void) {
  for (int op = 0; op < HSC_OP_COUNT; op++) {
    size_t at = slot_of(rows[op].text, rows[op].text_size);
    while (by_text.slots[at])
      at = (at + 1) % SLOT_COUNT;
    by_text.slots[at] = (uint16_t)(op + 1);
  }
}

bool hsc_op_parse(hsc_view text, hsc_op *out_op) {
  pthread_once(&by_text.once, fill_by_text);
  if (text.size == 0)
    return false;
  for (size_t at = slot_of(text.data, text.size); by_text.slots[at]; at = (at + 1) % SLOT_COUNT) {
    int op = by_text.slots[at] - 1;
    if (rows[op].text_size != text.size || memcmp(rows[op].text, text.data, text.size) != 0)
      continue;
    *out_op = (hsc_op)op;
    return true;
  }
  return false;
}

hsc_status *hsc_op_not_built(hsc_op op, const char *where) {
  return HSC_ERR(UNIMPLEMENTED, "%s: not built yet: %s", hsc_op_text(op), where);
}

#define TEXT_OF(array, value) ((unsigned)(value) < HSC_COUNT_OF(array) ? (array)[value] : "unknown")

const char *hsc__direction_text(hsc_direction direction) {
  static const char *const texts[] = {[HSC_EQ] = "EQ", [HSC_NE] = "NE", [HSC_LT] = "LT",
                                      [HSC_LE] = "LE", [HSC_GT] = "GT", [HSC_GE] = "GE"};
  return TEXT_OF(texts, direction);
}

const char *hsc__compare_type_text(hsc_compare_type type) {
  static const char *const texts[] = {[HSC_COMPARE_DEFAULT] = "",
                                      [HSC_COMPARE_FLOAT] = "FLOAT",
                                      [HSC_COMPARE_TOTALORDER] = "TOTALORDER",
                                      [HSC_COMPARE_SIGNED] = "SIGNED",
                                      [HSC_COMPARE_UNSIGNED] = "UNSIGNED"};
  return TEXT_OF(texts, type);
}

const char *hsc__fusion_kind_text(hsc_fusion_kind kind) {
  static const char *const texts[] = {[HSC_FUSION_LOOP] = "kLoop",
                                      [HSC_FUSION_INPUT] = "kInput",
                                      [HSC_FUSION_OUTPUT] = "kOutput",
                                      [HSC_FUSION_CUSTOM] = "kCustom"};
  return TEXT_OF(texts, kind);
}

const char *hsc__fft_type_text(hsc_fft_type type) {
  static const char *const texts[] = {
      [HSC_FFT] = "FFT", [HSC_IFFT] = "IFFT", [HSC_RFFT] = "RFFT", [HSC_IRFFT] = "IRFFT"};
  return TEXT_OF(texts, type);
}

const char *hsc__rng_algorithm_text(hsc_rng_algorithm algorithm) {
  static const char *const texts[] = {[HSC_RNG_DEFAULT] = "rng_default",
                                      [HSC_RNG_THREE_FRY] = "rng_three_fry",
                                      [HSC_RNG_PHILOX] = "rng_philox"};
  return TEXT_OF(texts, algorithm);
}

const char *hsc__rng_distribution_text(hsc_rng_distribution distribution) {
  static const char *const texts[] = {[HSC_RNG_NONE] = "rng_invalid",
                                      [HSC_RNG_UNIFORM] = "rng_uniform",
                                      [HSC_RNG_NORMAL] = "rng_normal"};
  return TEXT_OF(texts, distribution);
}

const char *hsc__transpose_text(hsc_transpose transpose) {
  static const char *const texts[] = {[HSC_NO_TRANSPOSE] = "NO_TRANSPOSE",
                                      [HSC_TRANSPOSE] = "TRANSPOSE",
                                      [HSC_ADJOINT] = "ADJOINT"};
  return TEXT_OF(texts, transpose);
}

// PrecisionConfig.Algorithm of xla_data.proto, by number.
const char *hsc__dot_algorithm_text(int algorithm) {
  static const char *const texts[] = {
      "dot_unset",         "dot_any_f8_any_f8_f32", "dot_any_f8_any_f8_f32_fast_accum",
      "dot_f16_f16_f16",   "dot_f16_f16_f32",       "dot_bf16_bf16_bf16",
      "dot_bf16_bf16_f32", "dot_bf16_bf16_f32_x3",  "dot_bf16_bf16_f32_x6",
      "dot_tf32_tf32_f32", "dot_tf32_tf32_f32_x3",  "dot_f32_f32_f32",
      "dot_f64_f64_f64",   "dot_bf16_bf16_f32_x9"};
  return (unsigned)algorithm < HSC_COUNT_OF(texts) ? texts[algorithm] : NULL;
}
