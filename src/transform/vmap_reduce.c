// vmap_reduce.c - reduce, reduce-window, select-and-scatter: dimension numbers go up by one,
// windows get a first dimension of size one.
//
// An initial value of each example's own is folded in afterwards when the reducer is one known op:
// reduce with its neutral element, then one more application. Otherwise the op runs example by
// example.
#include <math.h>

#include "transform/transform_internal.h"

// The op of a reducer "parameter 0 op parameter 1" and its neutral element; false when it is
// another computation, or has no such element.
static bool neutral_of(const hsc_computation *reducer, hsc_op *out_op, double *out_value) {
  hsc_type type = reducer->root->shape.type;
  if (!hsc_is_simple_reducer(reducer, out_op))
    return false;
  bool has_infinity =
      type == HSC_TYPE_F64 || type == HSC_TYPE_F32 || type == HSC_TYPE_F16 || type == HSC_TYPE_BF16;
  bool real = has_infinity || hsc_type_is_integral(type) || type == HSC_TYPE_PRED;
  switch (*out_op) {
    case HSC_OP_ADD:
      *out_value = 0;
      return real || hsc_type_is_complex(type);
    case HSC_OP_MULTIPLY:
      *out_value = 1;
      return real || hsc_type_is_complex(type);
    case HSC_OP_OR:
    case HSC_OP_XOR:
      *out_value = 0;
      return real && !has_infinity;
    case HSC_OP_MAXIMUM:
      *out_value = -INFINITY;
      return real;
    case HSC_OP_MINIMUM:
      *out_value = INFINITY;
      return real;
    case HSC_OP_AND:
      *out_value =
          type == HSC_TYPE_PRED || hsc_type_class_of(type) == HSC_CLASS_UNSIGNED ? INFINITY : -1;
      return real && !has_infinity;
    default:
      return false;
  }
}

static hsc_instr *neutral_scalar(hsc__vmap_frame *f, hsc_type type, double value) {
  if (type == HSC_TYPE_PRED)
    value = value > 0;  // all ones, and the largest, are true
  return hsc_build_scalar(&f->b, type, value);
}

// `attr` has the new dimension already.
static hsc_status *reduce(hsc__vmap_frame *f,
                          hsc_instr *instr,
                          const hsc__batch *operands,
                          const hsc_attr *attr,
                          hsc__batch *out) {
  int n = instr->operand_count / 2;
  bool own_init = false;
  for (int i = n; i < 2 * n; i++)
    own_init |= hsc__any(&operands[i]);
  hsc_op op = HSC_OP_COUNT;
  double neutral = 0;
  if (own_init && (n != 1 || !neutral_of(instr->called[0], &op, &neutral) ||
                   operands[0].instr->shape.type != instr->shape.type))
    return hsc__vmap_by_loop(f, instr, operands, out);
  hsc_instr **all = hsc__transform_room(f, instr->operand_count);
  HSC_TRY(hsc_arena_status(f->cx->arena));
  for (int i = 0; i < n; i++)
    all[i] = hsc__batched(f, &operands[i]);
  for (int i = n; i < 2 * n; i++)
    all[i] = own_init ? neutral_scalar(f, instr->shape.type, neutral) : operands[i].instr;
  hsc_instr *result = hsc__emit(f, instr, attr, (hsc_shape){0}, instr->operand_count, all);
  if (own_init)
    result = hsc_build_binary(&f->b, op, hsc__spread(f, &operands[1], &result->shape), result);
  hsc__give(f, result, true, out);
  return NULL;
}

hsc_status *hsc__vmap_reduce(hsc__vmap_frame *f,
                             hsc_instr *instr,
                             const hsc__batch *operands,
                             hsc__batch *out) {
  hsc_attr attr = instr->attr;
  attr.dims.dims = hsc__plus_one(f->b.module->arena, instr->attr.dims.dims);
  return reduce(f, instr, operands, &attr, out);
}

static hsc_status *window_attr(hsc__vmap_frame *f, const hsc_instr *instr, hsc_attr *out_attr) {
  const hsc_window *window = &instr->attr.window.window;
  hsc_window_dim *dims = HSC_NEW_ARRAY(f->b.module->arena, hsc_window_dim, window->rank + 1);
  HSC_TRY(hsc_arena_status(f->b.module->arena));
  dims[0] = (hsc_window_dim){.size = 1, .stride = 1, .window_dilation = 1, .base_dilation = 1};
  if (window->rank > 0)
    memcpy(dims + 1, window->dims, (size_t)window->rank * sizeof(*dims));
  *out_attr = instr->attr;
  out_attr->window.window = (hsc_window){.rank = window->rank + 1, .dims = dims};
  return NULL;
}

hsc_status *hsc__vmap_reduce_window(hsc__vmap_frame *f,
                                    hsc_instr *instr,
                                    const hsc__batch *operands,
                                    hsc__batch *out) {
  hsc_attr attr;
  HSC_TRY(window_attr(f, instr, &attr));
  return reduce(f, instr, operands, &attr, out);
}

hsc_status *hsc__vmap_select_and_scatter(hsc__vmap_frame *f,
                                         hsc_instr *instr,
                                         const hsc__batch *operands,
                                         hsc__batch *out) {
  if (hsc__any(&operands[2]))
    return hsc__vmap_by_loop(f, instr, operands, out);
  hsc_attr attr;
  HSC_TRY(window_attr(f, instr, &attr));
  hsc_instr *all[3] = {hsc__batched(f, &operands[0]), hsc__batched(f, &operands[1]),
                       operands[2].instr};
  hsc__give(f, hsc__emit(f, instr, &attr, (hsc_shape){0}, 3, all), true, out);
  return NULL;
}
