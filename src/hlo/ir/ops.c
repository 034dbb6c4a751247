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
