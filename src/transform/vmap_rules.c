// vmap_rules.c - which rule batches which op. An op without a row is refused by name
// (hsc_op_not_built).
#include "transform/transform_internal.h"

static hsc_status *outside(hsc__vmap_frame *f,
                           hsc_instr *instr,
                           const hsc__batch *operands,
                           hsc__batch *out) {
  (void)f;
  (void)operands;
  (void)out;
  return HSC_ERR(
      FAILED_PRECONDITION,
      "vmap: %s %%%s exchanges data with the host or another device, which cannot be batched",
      hsc_op_text(instr->op), instr->name);
}

static const hsc__vmap_rule rules[HSC_OP_COUNT] = {
    [HSC_OP_SELECT] = hsc__vmap_select,
    [HSC_OP_CLAMP] = hsc__vmap_clamp,
    [HSC_OP_MAP] = hsc__vmap_map,
    // moves
    [HSC_OP_COPY] = hsc__vmap_given_shape,
    [HSC_OP_RESHAPE] = hsc__vmap_given_shape,
    [HSC_OP_BITCAST_CONVERT] = hsc__vmap_given_shape,
    [HSC_OP_BITCAST] = hsc__vmap_bitcast,
    [HSC_OP_BROADCAST] = hsc__vmap_broadcast,
    [HSC_OP_TRANSPOSE] = hsc__vmap_transpose,
    [HSC_OP_SLICE] = hsc__vmap_slice,
    [HSC_OP_PAD] = hsc__vmap_pad,
    [HSC_OP_REVERSE] = hsc__vmap_dims_plus_one,
    [HSC_OP_CONCATENATE] = hsc__vmap_dims_plus_one,
    [HSC_OP_SORT] = hsc__vmap_dims_plus_one,
    [HSC_OP_GET_DIMENSION_SIZE] = hsc__vmap_dims_plus_one,
    [HSC_OP_SET_DIMENSION_SIZE] = hsc__vmap_set_dimension_size,
    [HSC_OP_DYNAMIC_SLICE] = hsc__vmap_dynamic_slice,
    [HSC_OP_DYNAMIC_UPDATE_SLICE] = hsc__vmap_dynamic_update_slice,
    [HSC_OP_GATHER] = hsc__vmap_gather,
    [HSC_OP_SCATTER] = hsc__vmap_scatter,
    // arithmetic over many elements
    [HSC_OP_REDUCE] = hsc__vmap_reduce,
    [HSC_OP_REDUCE_WINDOW] = hsc__vmap_reduce_window,
    [HSC_OP_SELECT_AND_SCATTER] = hsc__vmap_select_and_scatter,
    [HSC_OP_DOT] = hsc__vmap_dot,
    [HSC_OP_CONVOLUTION] = hsc__vmap_convolution,
    [HSC_OP_TOPK] = hsc__vmap_given_shape,
    [HSC_OP_FFT] = hsc__vmap_given_shape,
    [HSC_OP_CHOLESKY] = hsc__vmap_given_shape,
    [HSC_OP_TRIANGULAR_SOLVE] = hsc__vmap_given_shape,
    [HSC_OP_SCAN] = hsc__vmap_by_loop,
    [HSC_OP_RAGGED_DOT] = hsc__vmap_by_loop,
    [HSC_OP_SCALED_DOT] = hsc__vmap_by_loop,
    [HSC_OP_BATCH_NORM_INFERENCE] = hsc__vmap_by_loop,
    [HSC_OP_BATCH_NORM_TRAINING] = hsc__vmap_by_loop,
    [HSC_OP_BATCH_NORM_GRAD] = hsc__vmap_by_loop,
    // random numbers
    [HSC_OP_RNG] = hsc__vmap_rng,
    [HSC_OP_RNG_BIT_GENERATOR] = hsc__vmap_rng_bit_generator,
    [HSC_OP_RNG_GET_AND_UPDATE_STATE] = hsc__vmap_rng_state,
    // control
    [HSC_OP_TUPLE] = hsc__vmap_tuple,
    [HSC_OP_GET_TUPLE_ELEMENT] = hsc__vmap_get_tuple_element,
    [HSC_OP_CALL] = hsc__vmap_call,
    [HSC_OP_FUSION] = hsc__vmap_call,
    [HSC_OP_WHILE] = hsc__vmap_while,
    [HSC_OP_CONDITIONAL] = hsc__vmap_conditional,
    [HSC_OP_CUSTOM_CALL] = hsc__vmap_custom_call,
    [HSC_OP_OPT_BARRIER] = hsc__vmap_first_operand,
    [HSC_OP_ADD_DEPENDENCY] = hsc__vmap_first_operand,
    [HSC_OP_DOMAIN] = hsc__vmap_first_operand,
    // other devices: a collective works on whatever shape its operand has, where it does not name
    // dimensions
    [HSC_OP_ALL_REDUCE] = hsc__vmap_given_shape,
    [HSC_OP_COLLECTIVE_PERMUTE] = hsc__vmap_given_shape,
    [HSC_OP_COLLECTIVE_BROADCAST] = hsc__vmap_given_shape,
    [HSC_OP_ALL_GATHER] = hsc__vmap_dims_plus_one,
    [HSC_OP_REDUCE_SCATTER] = hsc__vmap_dims_plus_one,
    [HSC_OP_ALL_TO_ALL] = hsc__vmap_dims_plus_one,
    [HSC_OP_INFEED] = outside,
    [HSC_OP_OUTFEED] = outside,
    [HSC_OP_SEND] = outside,
    [HSC_OP_SEND_DONE] = outside,
    [HSC_OP_RECV] = outside,
    [HSC_OP_RECV_DONE] = outside,
};

hsc__vmap_rule hsc__vmap_rule_of(hsc_op op) {
  if (rules[op])
    return rules[op];
  return hsc_op_traits(op) & HSC_TRAIT_ELEMENTWISE ? hsc__vmap_elementwise : NULL;
}
