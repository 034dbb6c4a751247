// hlo_attrs.h - the rows of hlo_attrs.def: what HLO text writes after the operands of an operation.
#pragma once

#include "hlo/ir/attr_kinds.h"
#include "hlo/ir/attr_text.h"

// How the value of an attribute is written.
typedef enum hsc__value_kind {
  HSC__VALUE_CALLED,      // a computation: the row's place is an index of `called`
  HSC__VALUE_KEEP,        // kept as raw text, no place
  HSC__VALUE_INT64,       // 0 is the default
  HSC__VALUE_INT64_OF_1,  // 1 is the default
  HSC__VALUE_INT32,
  HSC__VALUE_BOOL,
  HSC__VALUE_FLOAT,
  HSC__VALUE_DIMS,     // {0,1}
  HSC__VALUE_DIM,      // hsc_dims of one number
  HSC__VALUE_TEXT,     // "in quotes"
  HSC__VALUE_RAW,      // text as it is written
  HSC__VALUE_GROUPS,   // likewise, of collectives that do not permute
  HSC__VALUE_PAIRS,    // likewise, of those that do
  HSC__VALUE_SLICE,    // {[0:4], [0:8:2]}
  HSC__VALUE_PADDING,  // 1_2x0_0_1
  HSC__VALUE_WINDOW,
  HSC__VALUE_DIM_LABELS,  // b01f_01io->b01f
  HSC__VALUE_PRECISION,   // {highest,default}
  HSC__VALUE_SHAPES,
  HSC__VALUE_LITERAL,
  // one word for a number: hsc__value_words gives the list
  HSC__VALUE_DIRECTION,
  HSC__VALUE_COMPARE_TYPE,
  HSC__VALUE_ALGORITHM,
  HSC__VALUE_FFT_TYPE,
  HSC__VALUE_TRANSPOSE,
  HSC__VALUE_RNG_DISTRIBUTION,
  HSC__VALUE_RNG_ALGORITHM,
  HSC__VALUE_FUSION_KIND,
  HSC__VALUE_API_VERSION,
} hsc__value_kind;

typedef enum hsc__attr_need {
  HSC__NEED_OPTIONAL,  // printed where it is not the default
  HSC__NEED_SHOWN,     // may be missing in what is read, always printed
  HSC__NEED_REQUIRED
} hsc__attr_need;

enum { HSC__CALLED_LIST = -1 };  // the place of a row that names all called computations

typedef struct hsc__attr_row {
  const char *text;  // the attribute's name
  uint8_t length;
  uint8_t member;  // hsc__attr_kind
  uint8_t kind;    // hsc__value_kind
  uint8_t need;    // hsc__attr_need
  int16_t op;      // hsc_op, or HSC_OP_COUNT for every operation of the member
  int16_t place;   // offset in hsc_attr, index of `called`, or HSC__CALLED_LIST
} hsc__attr_row;

// The rows that an operation may have, in the order in which they are printed.
typedef struct hsc__attr_list {
  uint8_t count;
  uint8_t rows[47];  // numbers for hsc__attr_row_at
} hsc__attr_list;

const hsc__attr_row *hsc__attr_row_at(int number);
const hsc__attr_list *hsc__attr_list_of(hsc_op op);
// Whether it names pairs of devices where other collectives name groups.
static inline bool hsc__attr_permutes(hsc_op op) {
  return op == HSC_OP_COLLECTIVE_PERMUTE || op == HSC_OP_COLLECTIVE_PERMUTE_START;
}
// The first attribute of the instruction that was read and kept as text and that no operation of
// hlo_attrs.def has: what it means, nobody here knows. Empty = there is none.
hsc_view hsc_instr_unknown_attribute(const hsc_instr *instr);
// The list of words of a kind that is one word; false for the others.
bool hsc__value_words(hsc__value_kind kind, hsc__words *out_list);

// print_attr.c
// One "key=value" of raw attribute text, which is separated by commas outside of braces, brackets,
// parentheses and quotes.
typedef struct hsc__piece {
  hsc_view text, key;
} hsc__piece;
bool hsc__next_piece(const char **at, hsc__piece *out_piece);  // false at the end
