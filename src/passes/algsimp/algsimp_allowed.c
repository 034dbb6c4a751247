// algsimp_allowed.c - what the options forbid: whether a rule that none of them switches on may
// look at an instruction.
#include <math.h>

#include "passes/algsimp/algsimp.h"

static bool is_infinite(const hsc_instr *x) {
  return hsc__is_all(x, INFINITY) || hsc__is_all(x, -INFINITY);
}

// A window over all of a dimension: what could be written as a reduce.
static bool has_whole_window(const hsc_instr *reduce_window) {
  const hsc_window *window = &reduce_window->attr.window.window;
  const int64_t *sizes = reduce_window->operands[0]->shape.dims;
  for (int i = 0; i < window->rank; i++)
    if (window->dims[i].size == sizes[i] && sizes[i] > 1)
      return true;
  return false;
}

static bool pads_negatively(const hsc_instr *pad) {
  for (int i = 0; i < pad->attr.pad.rank; i++)
    if (pad->attr.pad.dims[i].low < 0 || pad->attr.pad.dims[i].high < 0)
      return true;
  return false;
}

bool hsc__algsimp_allowed(const hsc_algsimp_options *o, const hsc_instr *instr) {
  const hsc_instr *x = instr->operand_count ? instr->operands[0] : NULL;
  switch (instr->op) {
    case HSC_OP_CONVOLUTION:
      return o->enable_folding_pad_into_convolution || hsc_shape_elements(&instr->shape) == 0;
    case HSC_OP_REDUCE_WINDOW:
      return o->enable_window_reduce_to_reduce_replacement || !has_whole_window(instr);
    case HSC_OP_PAD:
      return o->enable_negative_padding_replacement || !pads_negatively(instr);
    case HSC_OP_MAXIMUM:
    case HSC_OP_MINIMUM:  // max(NaN, -infinity) is NaN only where NaN goes on
      return o->minmax_propagate_nan || !hsc_type_is_float(instr->shape.type) ||
             (!is_infinite(x) && !is_infinite(instr->operands[1]));
    case HSC_OP_DYNAMIC_UPDATE_SLICE:
      return o->enable_dynamic_update_slice_to_pad_replacement || x->op != HSC_OP_BROADCAST;
    case HSC_OP_REDUCE:
      return o->supports_non_canonical_dots || x->op != HSC_OP_DOT;
    case HSC_OP_TRANSPOSE:
      if (x->op != HSC_OP_DOT)
        return true;
      return o->supports_non_canonical_dots &&
             !(o->enable_move_dot_param_to_rhs && !hsc__is_parameter_like(x->operands[0]) &&
               hsc__is_parameter_like(x->operands[1]));
    case HSC_OP_DYNAMIC_SLICE:
      return !o->disable_dynamic_slice_to_slice_conversion ||
             hsc_shape_equal(&x->shape, &instr->shape) || x->op == HSC_OP_BROADCAST;
    default:
      return true;
  }
}
