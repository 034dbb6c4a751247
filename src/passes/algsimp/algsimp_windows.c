// algsimp_windows.c - rules on operations that fold many elements or pick them by index: dot,
// convolution, reduce-window, gather, scatter.
#include "passes/algsimp/algsimp.h"

// A sum of no products is zero.
HSC_RULE(dot_of_empty) {
  return hsc__is_empty(instr->operands[0]) || hsc__is_empty(instr->operands[1])
             ? hsc__uniform_constant(b, 0, instr)
             : NULL;
}

// Padding with `value` that only adds at the ends and between elements.
static bool only_adds(const hsc_instr *pad) {
  for (int i = 0; i < pad->attr.pad.rank; i++)
    if (pad->attr.pad.dims[i].low < 0 || pad->attr.pad.dims[i].high < 0)
      return false;
  return true;
}

// The padding of one dimension as part of the window that runs over it; false when the window would
// mean something else. What is between elements becomes base dilation, where the window has none
// and pads nothing.
static bool fold_padding(hsc_pad_dim pad, hsc_window_dim *window) {
  if (pad.interior &&
      (window->base_dilation != 1 || window->pad_low || window->pad_high || pad.low || pad.high))
    return false;
  window->pad_low += pad.low;
  window->pad_high += pad.high;
  if (pad.interior)
    window->base_dilation = pad.interior + 1;
  return true;
}

HSC_RULE(convolution_of_padded_input) {
  const hsc_instr *conv = instr;
  const hsc_instr *pad = conv->operands[0];
  const hsc_conv_dims *dims = &conv->attr.conv.dims;
  if (pad->op != HSC_OP_PAD || pad->user_count != 1 || !hsc__is_all(pad->operands[1], 0) ||
      !only_adds(pad))
    return NULL;
  hsc_window_dim *window = HSC_NEW_ARRAY(arena_of(b), hsc_window_dim, dims->spatial_rank + 1);
  if (!window)
    return NULL;
  hsc_pad_dim batch = pad->attr.pad.dims[dims->input_batch];
  hsc_pad_dim feature = pad->attr.pad.dims[dims->input_feature];
  if (batch.low || batch.high || batch.interior || feature.low || feature.high || feature.interior)
    return NULL;
  for (int i = 0; i < dims->spatial_rank; i++) {
    window[i] = conv->attr.conv.window.dims[i];
    // Dilated input stays as it is between the padding's elements, which must not be dilated.
    if (window[i].base_dilation != 1 ||
        !fold_padding(pad->attr.pad.dims[dims->input_spatial[i]], &window[i]))
      return NULL;
  }
  hsc_attr attr = conv->attr;
  attr.conv.window.dims = window;
  hsc_instr *operands[2] = {pad->operands[0], conv->operands[1]};
  return hsc_build_op(b, HSC_OP_CONVOLUTION, hsc_shape_with_type((hsc_shape){0}, conv->shape.type),
                      &attr, 2, operands, 0, NULL);
}

// Zeros between the kernel's elements are window dilation.
HSC_RULE(convolution_of_padded_kernel) {
  const hsc_instr *conv = instr;
  const hsc_instr *pad = conv->operands[1];
  const hsc_conv_dims *dims = &conv->attr.conv.dims;
  if (pad->op != HSC_OP_PAD || pad->user_count != 1 || !hsc__is_all(pad->operands[1], 0))
    return NULL;
  hsc_window_dim *window = HSC_NEW_ARRAY(arena_of(b), hsc_window_dim, dims->spatial_rank + 1);
  if (!window)
    return NULL;
  for (int i = 0; i < pad->attr.pad.rank; i++)
    if (pad->attr.pad.dims[i].low || pad->attr.pad.dims[i].high)
      return NULL;
  if (pad->attr.pad.dims[dims->kernel_input].interior ||
      pad->attr.pad.dims[dims->kernel_output].interior)
    return NULL;
  for (int i = 0; i < dims->spatial_rank; i++) {
    window[i] = conv->attr.conv.window.dims[i];
    int64_t between = pad->attr.pad.dims[dims->kernel_spatial[i]].interior;
    if (between && window[i].window_dilation != 1)
      return NULL;
    window[i].size = pad->operands[0]->shape.dims[dims->kernel_spatial[i]];
    if (between)
      window[i].window_dilation = between + 1;
  }
  hsc_attr attr = conv->attr;
  attr.conv.window.dims = window;
  hsc_instr *operands[2] = {conv->operands[0], pad->operands[0]};
  return hsc_build_op(b, HSC_OP_CONVOLUTION, hsc_shape_with_type((hsc_shape){0}, conv->shape.type),
                      &attr, 2, operands, 0, NULL);
}

HSC_RULE(convolution_of_empty) {
  return hsc__is_empty(instr->operands[0]) || hsc__is_empty(instr->operands[1]) ||
                 hsc__is_empty(instr)
             ? hsc__uniform_constant(b, 0, instr)
             : NULL;
}

static bool is_trivial(hsc_window_dim w) {
  return w.size == 1 && w.stride == 1 && !w.pad_low && !w.pad_high && w.base_dilation == 1;
}

// Reducing the initial value once more changes nothing.
static bool is_idle(hsc_op op, const hsc_instr *init) {
  switch (op) {
    case HSC_OP_MAXIMUM:
    case HSC_OP_MINIMUM:
    case HSC_OP_AND:
    case HSC_OP_OR:
      return true;
    case HSC_OP_ADD:
      return hsc__is_all(init, 0);
    case HSC_OP_MULTIPLY:
      return hsc__is_all(init, 1);
    default:
      return false;
  }
}

HSC_RULE(reduce_window_of_empty) {
  return instr->operand_count == 2 && (hsc__is_empty(instr->operands[0]) || hsc__is_empty(instr))
             ? hsc__widen(b, instr->operands[1], instr)
             : NULL;
}

static bool has_trivial_windows(const hsc_instr *instr) {
  for (int i = 0; i < instr->attr.window.window.rank; i++)
    if (!is_trivial(instr->attr.window.window.dims[i]))
      return false;
  return true;
}

HSC_RULE(reduce_window_of_size_one) {
  hsc_instr *x = instr->operands[0];
  hsc_op op;
  return instr->operand_count == 2 && has_trivial_windows(instr) &&
                 hsc_is_simple_reducer(instr->called[0], &op)
             ? hsc_build_binary(b, op, hsc__widen(b, instr->operands[1], x), x)
             : NULL;
}

HSC_RULE(reduce_window_as_reduce) {
  hsc_instr *x = instr->operands[0];
  hsc_window window = instr->attr.window.window;
  int64_t dims[HSC_MAX_RANK];
  int count = 0;
  if (instr->operand_count != 2 || hsc__is_empty(x) || hsc__is_empty(instr))
    return NULL;
  for (int i = 0; i < window.rank; i++) {
    hsc_window_dim w = window.dims[i];
    if (is_trivial(w))
      continue;
    // The window is all of the dimension, once.
    if (w.size != x->shape.dims[i] || w.pad_low || w.pad_high || w.base_dilation != 1 ||
        w.window_dilation != 1)
      return NULL;
    dims[count++] = i;
  }
  if (count == 0)
    return NULL;
  hsc_instr *reduced = hsc_build_reduce(b, x, instr->operands[1],
                                        hsc_dims_copy(arena_of(b), count, dims), instr->called[0]);
  return hsc_build_reshape(b, reduced, instr->shape.rank, instr->shape.dims);
}

// What the window pads counts as the initial value, too.
HSC_RULE(reduce_window_of_pad) {
  const hsc_instr *x = instr->operands[0];
  hsc_instr *init = instr->operands[1];
  hsc_window window = instr->attr.window.window;
  hsc_op op;
  if (instr->operand_count != 2 || x->op != HSC_OP_PAD || x->user_count != 1 ||
      x->operands[1] != init || !only_adds(x) || hsc__is_empty(x) || hsc__is_empty(instr))
    return NULL;
  if (!hsc_is_simple_reducer(instr->called[0], &op) || !is_idle(op, init))
    return NULL;
  hsc_window_dim *dims = HSC_NEW_ARRAY(arena_of(b), hsc_window_dim, window.rank + 1);
  if (!dims)
    return NULL;
  for (int i = 0; i < window.rank; i++) {
    dims[i] = window.dims[i];
    if (dims[i].base_dilation != 1 || !fold_padding(x->attr.pad.dims[i], &dims[i]))
      return NULL;
  }
  hsc_attr attr = {.window = {.window = {window.rank, dims}}};
  return hsc_build_op(b, HSC_OP_REDUCE_WINDOW, (hsc_shape){0}, &attr, 2,
                      (hsc_instr *[]){x->operands[0], init}, 1, instr->called);
}

// gather(pad(A, V)) along dimensions that every window takes whole => pad(gather(A), V)
HSC_RULE(gather_of_pad) {
  const hsc_gather_dims *g = &instr->attr.gather;
  const hsc_instr *pad = instr->operands[0];
  if (pad->op != HSC_OP_PAD)
    return NULL;
  hsc_instr *source = pad->operands[0];
  int64_t sizes[HSC_MAX_RANK];
  hsc_pad_dim *dims = HSC_NEW_ARRAY(arena_of(b), hsc_pad_dim, instr->shape.rank + 1);
  if (!dims || pad->user_count != 1 || hsc__is_empty(instr) || hsc__is_empty(source))
    return NULL;
  memset(dims, 0, sizeof *dims * (size_t)instr->shape.rank);
  for (int i = 0, window = 0; i < source->shape.rank; i++) {
    hsc_pad_dim p = pad->attr.pad.dims[i];
    bool drops = hsc_dims_contain(g->collapsed_slice_dims, i) ||
                 hsc_dims_contain(g->operand_batching_dims, i);
    sizes[i] = g->slice_sizes.v[i];
    if (p.low || p.high || p.interior) {
      if (drops || p.low < 0 || p.high < 0 || sizes[i] != pad->shape.dims[i])
        return NULL;
      sizes[i] = source->shape.dims[i];
      dims[g->offset_dims.v[window]] = p;
    }
    window += !drops;
  }
  hsc_attr attr = {.gather = *g};
  attr.gather.slice_sizes = hsc_dims_copy(arena_of(b), source->shape.rank, sizes);
  hsc_instr *picked = hsc_build_op(b, HSC_OP_GATHER, (hsc_shape){0}, &attr, 2,
                                   (hsc_instr *[]){source, instr->operands[1]}, 0, NULL);
  attr = (hsc_attr){.pad = {.rank = instr->shape.rank, .dims = dims}};
  return hsc_build_op(b, HSC_OP_PAD, (hsc_shape){0}, &attr, 2,
                      (hsc_instr *[]){picked, pad->operands[1]}, 0, NULL);
}

// Where every window is as large as the dimensions that the indices move it in, there is one place
// for it (indices are clamped): the window, broadcast.
HSC_RULE(gather_of_one_place) {
  const hsc_gather_dims *g = &instr->attr.gather;
  hsc_instr *x = instr->operands[0];
  if (hsc__is_empty(instr) || g->operand_batching_dims.count)
    return NULL;
  for (int i = 0; i < g->start_index_map.count; i++)
    if (x->shape.dims[g->start_index_map.v[i]] != g->slice_sizes.v[g->start_index_map.v[i]])
      return NULL;
  int64_t dims[HSC_MAX_RANK];
  int rank = 0;
  for (int i = 0; i < x->shape.rank; i++) {
    // cut at 0: a slice would do, and is rare
    if (x->shape.dims[i] != g->slice_sizes.v[i])
      return NULL;
    if (!hsc_dims_contain(g->collapsed_slice_dims, i))
      dims[rank++] = x->shape.dims[i];
  }
  return hsc_build_broadcast(b, hsc_build_reshape(b, x, rank, dims), instr->shape, g->offset_dims);
}

// No indices may still be updates: index vectors of no elements.
HSC_RULE(scatter_of_nothing) {
  return instr->operand_count == 3 && hsc__is_empty(instr->operands[2]) ? instr->operands[0] : NULL;
}
