// attr_text.h - names of attribute enumerators as XLA prints them; readers and writers of formats
// share them with the printer. The texts are static. Values out of range give "unknown" unless said
// otherwise.
#pragma once

#include "hlo/ir/hlo.h"

const char *hsc__direction_text(hsc_direction direction);          // "EQ"
const char *hsc__compare_type_text(hsc_compare_type type);         // "FLOAT", "" for the default
const char *hsc__fusion_kind_text(hsc_fusion_kind kind);           // "kLoop"
const char *hsc__fft_type_text(hsc_fft_type type);                 // "IRFFT"
const char *hsc__rng_algorithm_text(hsc_rng_algorithm algorithm);  // "rng_three_fry"
const char *hsc__rng_distribution_text(hsc_rng_distribution distribution);  // "rng_uniform"
const char *hsc__transpose_text(hsc_transpose transpose);                   // "NO_TRANSPOSE"
// "dot_bf16_bf16_f32"; NULL when unknown
const char *hsc__dot_algorithm_text(int algorithm);
