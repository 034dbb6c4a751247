// attr_text.c - the words that HLO text has for numbers in attributes.
#include "hlo/ir/attr_text.h"

// By number; xla_data.proto and hlo.proto give those that have no enum here.
static const char *const directions[] = {[HSC_EQ] = "EQ", [HSC_NE] = "NE", [HSC_LT] = "LT",
                                         [HSC_LE] = "LE", [HSC_GT] = "GT", [HSC_GE] = "GE"};
static const char *const compare_types[] = {[HSC_COMPARE_DEFAULT] = "",
                                            [HSC_COMPARE_FLOAT] = "FLOAT",
                                            [HSC_COMPARE_TOTALORDER] = "TOTALORDER",
                                            [HSC_COMPARE_SIGNED] = "SIGNED",
                                            [HSC_COMPARE_UNSIGNED] = "UNSIGNED"};
static const char *const fusion_kinds[] = {[HSC_FUSION_LOOP] = "kLoop",
                                           [HSC_FUSION_INPUT] = "kInput",
                                           [HSC_FUSION_OUTPUT] = "kOutput",
                                           [HSC_FUSION_CUSTOM] = "kCustom"};
static const char *const fft_types[] = {
    [HSC_FFT] = "FFT", [HSC_IFFT] = "IFFT", [HSC_RFFT] = "RFFT", [HSC_IRFFT] = "IRFFT"};
static const char *const rng_algorithms[] = {[HSC_RNG_DEFAULT] = "rng_default",
                                             [HSC_RNG_THREE_FRY] = "rng_three_fry",
                                             [HSC_RNG_PHILOX] = "rng_philox"};
static const char *const rng_distributions[] = {[HSC_RNG_NONE] = "rng_invalid",
                                                [HSC_RNG_UNIFORM] = "rng_uniform",
                                                [HSC_RNG_NORMAL] = "rng_normal"};
static const char *const transposes[] = {
    [HSC_NO_TRANSPOSE] = "NO_TRANSPOSE", [HSC_TRANSPOSE] = "TRANSPOSE", [HSC_ADJOINT] = "ADJOINT"};
static const char *const algorithms[] = {
    "dot_unset",         "dot_any_f8_any_f8_f32", "dot_any_f8_any_f8_f32_fast_accum",
    "dot_f16_f16_f16",   "dot_f16_f16_f32",       "dot_bf16_bf16_bf16",
    "dot_bf16_bf16_f32", "dot_bf16_bf16_f32_x3",  "dot_bf16_bf16_f32_x6",
    "dot_tf32_tf32_f32", "dot_tf32_tf32_f32_x3",  "dot_f32_f32_f32",
    "dot_f64_f64_f64",   "dot_bf16_bf16_f32_x9"};
static const char *const precisions[] = {"default", "high", "highest", "packed_nibble"};
static const char *const api_versions[] = {
    "API_VERSION_UNSPECIFIED", "API_VERSION_ORIGINAL", "API_VERSION_STATUS_RETURNING",
    "API_VERSION_STATUS_RETURNING_UNIFIED", "API_VERSION_TYPED_FFI"};

#define LIST(words, what) {words, HSC_COUNT_OF(words), what}
static const struct {
  const char *const *words;
  size_t count;
  const char *what;
} lists[] = {
    [HSC__WORDS_DIRECTION] = LIST(directions, "comparison direction"),
    [HSC__WORDS_COMPARE_TYPE] = LIST(compare_types, "comparison type"),
    [HSC__WORDS_FUSION_KIND] = LIST(fusion_kinds, "fusion kind"),
    [HSC__WORDS_FFT_TYPE] = LIST(fft_types, "fft type"),
    [HSC__WORDS_RNG_ALGORITHM] = LIST(rng_algorithms, "random algorithm"),
    [HSC__WORDS_RNG_DISTRIBUTION] = LIST(rng_distributions, "random distribution"),
    [HSC__WORDS_TRANSPOSE] = LIST(transposes, "transpose"),
    [HSC__WORDS_ALGORITHM] = LIST(algorithms, "dot algorithm"),
    [HSC__WORDS_PRECISION] = LIST(precisions, "precision"),
    [HSC__WORDS_API_VERSION] = LIST(api_versions, "custom-call API version"),
};

const char *hsc__word(hsc__words list, int number) {
  return (size_t)number < lists[list].count ? lists[list].words[number] : NULL;
}

const char *hsc__word_or_unknown(hsc__words list, int number) {
  const char *word = hsc__word(list, number);
  return word ? word : "unknown";
}

int hsc__word_number(hsc__words list, hsc_view word) {
  for (size_t i = 0; i < lists[list].count; i++)
    if (hsc_view_equals_text(word, lists[list].words[i]))
      return (int)i;
  return -1;
}

const char *hsc__words_what(hsc__words list) {
  return lists[list].what;
}

bool hsc__compare_take_order(hsc_instr *compare, hsc_view word) {
  const hsc_instr *operand = compare->operand_count ? compare->operands[0] : NULL;
  bool is_total = hsc_view_equals_text(word, "TOTAL");
  // an operand that is not read yet (text before its definition) is taken for a float
  if (is_total && (!operand || hsc_type_is_float(operand->shape.type)))
    compare->attr.compare.type = HSC_COMPARE_TOTALORDER;
  return is_total || hsc_view_equals_text(word, "PARTIAL");
}
