// attr_text.h - the words that HLO text has for numbers in attributes; the printer, the readers and
// the writers of formats share them.
#pragma once

#include "hlo/ir/hlo.h"

typedef enum hsc__words {
  HSC__WORDS_DIRECTION,         // hsc_direction
  HSC__WORDS_COMPARE_TYPE,      // hsc_compare_type; "" for the default
  HSC__WORDS_FUSION_KIND,       // hsc_fusion_kind
  HSC__WORDS_FFT_TYPE,          // hsc_fft_type
  HSC__WORDS_RNG_ALGORITHM,     // hsc_rng_algorithm
  HSC__WORDS_RNG_DISTRIBUTION,  // hsc_rng_distribution
  HSC__WORDS_TRANSPOSE,         // hsc_transpose
  HSC__WORDS_ALGORITHM,         // PrecisionConfig.Algorithm of xla_data.proto
  HSC__WORDS_PRECISION,         // PrecisionConfig.Precision
  HSC__WORDS_API_VERSION,       // CustomCallApiVersion of hlo.proto
} hsc__words;

// The word for a number, static; NULL when the list has no such number.
const char *hsc__word(hsc__words list, int number);
// The same, "unknown" in place of NULL: for messages and printing.
const char *hsc__word_or_unknown(hsc__words list, int number);
// The number of a word, -1 when the list does not have it.
int hsc__word_number(hsc__words list, hsc_view word);
// What the words of a list are, for messages: "comparison direction".
const char *hsc__words_what(hsc__words list);
// Newer compilers say TOTAL or PARTIAL where others have the type TOTALORDER or FLOAT. Of whole
// numbers, which have one order, it says nothing. False: it is neither word.
bool hsc__compare_take_order(hsc_instr *compare, hsc_view word);
