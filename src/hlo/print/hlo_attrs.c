// hlo_attrs.c - the rows of hlo_attrs.def, and for each operation the numbers of its own.
#include "hlo/print/hlo_attrs.h"

#include <pthread.h>

#define OP_ID(op) OP_ID_##op
enum {
#define OP(id, text, arity, traits, attr, rule, doc) OP_ID_##id = HSC_OP_##id,
#include "hlo/ir/ops.def"
#undef OP
  OP_ID_ALL = HSC_OP_COUNT,
  CALLED_LIST = HSC__CALLED_LIST
};

#define ROW(m, o, t, n, k, p) \
  {.text = t, \
   .length = sizeof(t) - 1, \
   .member = HSC__ATTR_##m, \
   .kind = HSC__VALUE_##k, \
   .need = HSC__NEED_##n, \
   .op = OP_ID(o), \
   .place = p},
static const hsc__attr_row rows[] = {
#define ATTR(m, o, t, need, k, p) ROW(m, o, t, need, k, offsetof(hsc_attr, p))
#define CALLED(m, o, t, need, index) ROW(m, o, t, need, CALLED, index)
#define KEEP(m, o, t, need) ROW(m, o, t, need, KEEP, 0)
#include "hlo/print/hlo_attrs.def"
#undef ATTR
#undef CALLED
#undef KEEP
};
_Static_assert(HSC_COUNT_OF(rows) < 256, "row numbers are kept in bytes");

static hsc__attr_list lists[HSC_OP_COUNT];
static pthread_once_t lists_once = PTHREAD_ONCE_INIT;

static void make_lists(void) {
  for (int op = 0; op < HSC_OP_COUNT; op++) {
    hsc__attr_list *list = &lists[op];
    hsc__attr_kind member = hsc__op_attr_kind((hsc_op)op);
    for (size_t i = 0; i < HSC_COUNT_OF(rows); i++)
      if ((rows[i].member == HSC__ATTR_ANY || rows[i].member == member) &&
          (rows[i].op == OP_ID_ALL || rows[i].op == op) && list->count < sizeof list->rows)
        list->rows[list->count++] = (uint8_t)i;
  }
}

const hsc__attr_row *hsc__attr_row_at(int number) {
  return &rows[number];
}

const hsc__attr_list *hsc__attr_list_of(hsc_op op) {
  pthread_once(&lists_once, make_lists);
  return &lists[op];
}

bool hsc__value_words(hsc__value_kind kind, hsc__words *out_list) {
  static const struct {
    hsc__value_kind kind;
    hsc__words list;
  } words[] = {{HSC__VALUE_DIRECTION, HSC__WORDS_DIRECTION},
               {HSC__VALUE_COMPARE_TYPE, HSC__WORDS_COMPARE_TYPE},
               {HSC__VALUE_ALGORITHM, HSC__WORDS_ALGORITHM},
               {HSC__VALUE_FFT_TYPE, HSC__WORDS_FFT_TYPE},
               {HSC__VALUE_TRANSPOSE, HSC__WORDS_TRANSPOSE},
               {HSC__VALUE_RNG_DISTRIBUTION, HSC__WORDS_RNG_DISTRIBUTION},
               {HSC__VALUE_RNG_ALGORITHM, HSC__WORDS_RNG_ALGORITHM},
               {HSC__VALUE_FUSION_KIND, HSC__WORDS_FUSION_KIND},
               {HSC__VALUE_API_VERSION, HSC__WORDS_API_VERSION}};
  for (size_t i = 0; i < HSC_COUNT_OF(words); i++)
    if (words[i].kind == kind) {
      *out_list = words[i].list;
      return true;
    }
  return false;
}
