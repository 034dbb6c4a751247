// error_open.c - reductions of which StableHLO leaves the result open: their function is no
// monoid with their initial value. An implementation may begin each part of its sum with that
// value, may leave it out where a dimension has one element, and may take elements in any order.
#include <math.h>

#include "hlo/error/error_internal.h"

// The value that changes nothing beside any other; NaN = the op has none.
static double neutral_of(hsc_op op, hsc_type type) {
  switch (op) {
    case HSC_OP_ADD:
    case HSC_OP_OR:
    case HSC_OP_XOR:
      return 0;
    case HSC_OP_MULTIPLY:
      return 1;
    case HSC_OP_MAXIMUM:
      return type == HSC_TYPE_PRED ? 0 : -INFINITY;
    case HSC_OP_MINIMUM:
      return type == HSC_TYPE_PRED ? 1 : INFINITY;
    case HSC_OP_AND:
      if (type == HSC_TYPE_PRED)
        return 1;
      return hsc_type_class_of(type) == HSC_CLASS_UNSIGNED ? INFINITY : -1;
    default:
      return NAN;
  }
}

// Whether an initial value is the op's neutral one. The largest finite value of a float is taken
// for infinity: programs begin a maximum with either.
static hsc_status *is_neutral(hsc__error_walk *w,
                              hsc_op op,
                              const hsc_literal *init,
                              bool *out_neutral) {
  hsc_literal *neutral = NULL;
  double value = neutral_of(op, init->shape.type);
  HSC_TRY(hsc_literal_create(w->arena, &init->shape, &neutral));
  if (hsc_type_is_complex(init->shape.type))
    hsc_literal_set_complex(neutral, 0, value, 0);
  else
    hsc_literal_set_double(neutral, 0, value);
  double is = hsc_literal_get_double(init, 0);
  bool float_type = hsc_type_is_float(init->shape.type) && !hsc_type_is_complex(init->shape.type);
  *out_neutral = !memcmp(neutral->data, init->data, (size_t)hsc_shape_bytes(&init->shape)) ||
                 (float_type && is == value) ||
                 (float_type && isinf(value) && is * value > 0 && fabs(is) > 1e4);
  return hsc_arena_status(w->arena);
}

// One result of a reduction: `made` of its function, which begins with `init`.
static hsc_status *result_is_open(hsc__error_walk *w,
                                  const hsc_instr *made,
                                  const hsc_literal *init,
                                  bool *out_open) {
  bool neutral = true;
  *out_open = made->op == HSC_OP_PARAMETER;  // the first or the last of elements in any order
  bool plain = made->operand_count == 2 && made->operands[0]->op == HSC_OP_PARAMETER &&
               made->operands[1]->op == HSC_OP_PARAMETER;
  if (!plain || !hsc_shape_is_array(&init->shape) || hsc_shape_elements(&init->shape) != 1)
    return NULL;
  if (isnan(neutral_of(made->op, made->shape.type))) {
    *out_open = made->op == HSC_OP_SUBTRACT || made->op == HSC_OP_DIVIDE ||
                made->op == HSC_OP_REMAINDER || made->op == HSC_OP_POWER;
    return NULL;
  }
  HSC_TRY(is_neutral(w, made->op, init, &neutral));
  *out_open = !neutral;
  return NULL;
}

hsc_status *hsc__error_is_open(hsc__error_walk *w,
                               const hsc_instr *instr,
                               const hsc_bounded *const *operands,
                               bool *out_open) {
  *out_open = false;
  if (instr->op != HSC_OP_REDUCE && instr->op != HSC_OP_REDUCE_WINDOW)
    return NULL;
  const hsc_instr *root = instr->called[0]->root;
  int count = instr->operand_count / 2;
  bool several = root->op == HSC_OP_TUPLE && root->operand_count == count;
  for (int i = 0; i < count && (several || count == 1) && !*out_open; i++)
    HSC_TRY(result_is_open(w, several ? root->operands[i] : root, operands[count + i]->value,
                           out_open));
  return NULL;
}
