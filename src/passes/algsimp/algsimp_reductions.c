// algsimp_reductions.c - rules on what is folded and in which order it lies: reductions of
// reshapes, transposes and reductions, running sums and windows of equal or single elements,
// scatters that write everything.
#include <math.h>

#include "passes/algsimp/algsimp.h"

static hsc_arena *arena_of(const hsc_builder *b) {
  return b->module->arena;
}

// ---- reductions ---------------------------------------------------------------------------------

hsc_instr *hsc__algsimp_reduce_of_reshape(hsc_builder *b, hsc_instr *instr, bool always) {
  const hsc_instr *x = instr->operands[0];
  hsc_instr *source = x->operands[0];
  hsc_instr *init = instr->operands[1];
  hsc_dims folded = instr->attr.dims.dims;
  int64_t dims[HSC_MAX_RANK];
  bool stays[HSC_MAX_RANK] = {false};
  bool inside = true;
  bool outside = true;
  int count = 0;
  if (hsc_shape_elements(&x->shape) == 0 || source->shape.rank == 0)
    return NULL;
  for (int i = 0; i < x->shape.rank; i++) {
    if (x->shape.dims[i] == 1)
      continue;
    bool modified = true;
    for (int k = 0; k < source->shape.rank && modified; k++) {
      if (hsc__unmodified_dim(&source->shape, &x->shape, k) != i)
        continue;
      modified = false;
      stays[k] = !hsc__dims_hold(folded, i);
    }
    if (modified && hsc__dims_hold(folded, i))
      outside = false;
    if (modified && !hsc__dims_hold(folded, i))
      inside = false;
  }
  // the reshape is of what stays only: it comes after, of less
  if (inside) {  // the reshape is of what is folded only: all of it is folded as it was
    for (int k = 0; k < source->shape.rank; k++)
      if (!stays[k])
        dims[count++] = k;
  } else if (outside && (hsc__has_one_use(x) || always)) {
    for (int k = 0; k < source->shape.rank; k++) {
      int to = hsc__unmodified_dim(&source->shape, &x->shape, k);
      if (to >= 0 && hsc__dims_hold(folded, to))
        dims[count++] = k;
    }
  }
  if (count == 0)
    return NULL;
  hsc_instr *replacement =
      hsc_build_reduce(b, source, init, hsc_dims_copy(arena_of(b), count, dims), instr->called[0]);
  return b->status || hsc_shape_equal(&replacement->shape, &instr->shape)
             ? replacement
             : hsc_build_reshape(b, replacement, instr->shape.rank, instr->shape.dims);
}

// reduce(transpose(A)) => transpose(reduce(A)): less is moved
static hsc_instr *reduce_of_transpose(hsc_builder *b, hsc_instr *instr) {
  const hsc_instr *x = instr->operands[0];
  hsc_dims folded = instr->attr.dims.dims;
  hsc_dims from = x->attr.dims.dims;
  int64_t dims[HSC_MAX_RANK], permutation[HSC_MAX_RANK];
  int kept = 0;
  if (!hsc__has_one_use(x) || folded.count == 0)
    return NULL;
  for (int i = 0; i < folded.count; i++)
    dims[i] = from.v[folded.v[i]];
  for (int i = 0; i < x->shape.rank; i++) {
    if (hsc__dims_hold(folded, i))
      continue;
    permutation[kept] = 0;  // how many of those that stay come before it in A
    for (int k = 0; k < x->shape.rank; k++)
      permutation[kept] += !hsc__dims_hold(folded, k) && from.v[k] < from.v[i];
    kept++;
  }
  hsc_instr *replacement =
      hsc_build_reduce(b, x->operands[0], instr->operands[1],
                       hsc_dims_copy(arena_of(b), folded.count, dims), instr->called[0]);
  return hsc_build_transpose(b, replacement, hsc_dims_copy(arena_of(b), kept, permutation));
}

static hsc_instr *rule_reduce(hsc_builder *b, hsc_instr *instr) {
  hsc_op op;
  if (instr->operand_count != 2 || instr->operands[0]->op != HSC_OP_TRANSPOSE ||
      !hsc__is_simple_reducer(instr->called[0], &op))
    return NULL;
  return hsc_op_traits(op) & HSC_TRAIT_COMMUTES ? reduce_of_transpose(b, instr) : NULL;
}

// ---- windows ------------------------------------------------------------------------------------

// The running sum of equal numbers C => C * (iota + 1). Of floats only where every one of the sums
// is one.
static hsc_instr *running_sum_of_equal(hsc_builder *b, hsc_instr *instr) {
  hsc_instr *x = instr->operands[0];
  hsc_window window = instr->attr.window.window;
  hsc_type type = instr->shape.type;
  double value;
  int dim = -1;
  if (!hsc__is_all(instr->operands[1], 0) || !hsc__uniform_number(x, &value) ||
      x->op != HSC_OP_BROADCAST || hsc_type_bits(type) < 32)
    return NULL;
  for (int i = 0; i < window.rank; i++) {
    hsc_window_dim w = window.dims[i];
    int64_t size = x->shape.dims[i];
    if (w.stride != 1 || w.base_dilation != 1 || w.window_dilation != 1 || w.pad_high)
      return NULL;
    if (w.size == 1 && !w.pad_low)
      continue;
    if (dim >= 0 || w.size != size || w.pad_low != size - 1)
      return NULL;
    dim = i;
  }
  if (dim < 0)
    return NULL;
  bool exact = fabs(value) < 0x1p20 && value == floor(value) &&
               fabs(value) * (double)x->shape.dims[dim] <= (type == HSC_TYPE_F64 ? 0x1p53 : 0x1p24);
  if (!hsc_type_is_integral(type) && ((type != HSC_TYPE_F32 && type != HSC_TYPE_F64) || !exact))
    return NULL;
  hsc_instr *one = hsc__uniform_constant(b, 1, instr);
  hsc_instr *before = hsc_build_iota(b, instr->shape, dim);
  hsc_instr *count = hsc_build_binary(b, HSC_OP_ADD, before, one);
  return hsc_build_binary(b, HSC_OP_MULTIPLY, count,
                          hsc_build_broadcast(b, x->operands[0], instr->shape, (hsc_dims){0}));
}

// Windows that each hold the one element of a dimension, and padding: the element, broadcast.
static hsc_instr *windows_of_one_element(hsc_builder *b, hsc_instr *instr, hsc_op op) {
  hsc_instr *x = instr->operands[0];
  hsc_instr *init = instr->operands[1];
  hsc_window window = instr->attr.window.window;
  int64_t kept[HSC_MAX_RANK], to[HSC_MAX_RANK];
  int rank = 0;
  bool idempotent =
      op == HSC_OP_MAXIMUM || op == HSC_OP_MINIMUM || op == HSC_OP_AND || op == HSC_OP_OR;
  bool widens = false;
  if (!idempotent && !(op == HSC_OP_ADD && hsc__is_all(init, 0)) &&
      !(op == HSC_OP_MULTIPLY && hsc__is_all(init, 1)))
    return NULL;
  for (int i = 0; i < window.rank; i++) {
    hsc_window_dim w = window.dims[i];
    if (w.stride != 1 || w.base_dilation != 1 || w.window_dilation != 1 || w.pad_low < 0 ||
        w.pad_high < 0)
      return NULL;
    if (x->shape.dims[i] == 1) {
      // The element is at pad_low; the windows begin at 0 .. size - 1.
      if (w.pad_low > w.size - 1 || w.pad_low < instr->shape.dims[i] - 1)
        return NULL;
      widens |= instr->shape.dims[i] > 1;
      continue;
    }
    if (w.size != 1 || w.pad_low || w.pad_high)
      return NULL;
    kept[rank] = x->shape.dims[i];
    to[rank++] = i;
  }
  if (!widens)
    return NULL;
  hsc_instr *replacement = hsc_build_broadcast(b, hsc_build_reshape(b, x, rank, kept), instr->shape,
                                               hsc_dims_copy(arena_of(b), rank, to));
  return idempotent ? hsc_build_binary(b, op, replacement, hsc__widen(b, init, instr))
                    : replacement;
}

static hsc_instr *rule_reduce_window(hsc_builder *b, hsc_instr *instr) {
  hsc_instr *x = instr->operands[0];
  hsc_instr *init = instr->operands[1];
  hsc_op op;
  double padding, start;
  if (instr->operand_count != 2 || !hsc__is_simple_reducer(instr->called[0], &op) ||
      hsc_shape_elements(&instr->shape) == 0)
    return NULL;
  hsc_instr *replacement = op == HSC_OP_ADD ? running_sum_of_equal(b, instr) : NULL;
  if (!replacement)
    replacement = windows_of_one_element(b, instr, op);
  if (replacement)
    return replacement;
  // convert(pad(A)) whose padding is the initial value => pad(convert(A)), which the window takes
  // in
  if (x->op != HSC_OP_CONVERT || x->operands[0]->op != HSC_OP_PAD || !hsc__has_one_use(x) ||
      !hsc__has_one_use(x->operands[0]))
    return NULL;
  const hsc_instr *pad = x->operands[0];
  if (!hsc__uniform_number(pad->operands[1], &padding) || !hsc__uniform_number(init, &start) ||
      padding != start || signbit(padding) != signbit(start))
    return NULL;
  hsc_instr *inner[2] = {hsc_build_convert(b, x->shape.type, pad->operands[0]), init};
  hsc_instr *operands[2] = {
      hsc_build_op(b, HSC_OP_PAD, (hsc_shape){0}, &pad->attr, 2, inner, 0, NULL), init};
  return hsc_build_clone(b, instr, operands);
}

// ---- scatters -----------------------------------------------------------------------------------

// A scatter at no indices whose one window is the whole array: its function of all elements.
static hsc_instr *rule_scatter(hsc_builder *b, hsc_instr *instr) {
  if (instr->operand_count != 3 || hsc_shape_elements(&instr->operands[1]->shape) > 0 ||
      !hsc_shape_equal(&instr->operands[0]->shape, &instr->operands[2]->shape))
    return NULL;
  const hsc_instr *root = instr->called[0]->root;
  hsc_op op;
  if (instr->attr.scatter.offset_dims.count != instr->shape.rank)
    return NULL;
  if (root->op == HSC_OP_PARAMETER)
    return instr->operands[root->attr.index.value ? 2 : 0];
  return hsc__is_simple_reducer(instr->called[0], &op)
             ? hsc_build_binary(b, op, instr->operands[0], instr->operands[2])
             : NULL;
}

hsc__rule hsc__algsimp_reductions_rule(hsc_op op) {
  switch (op) {
    case HSC_OP_REDUCE:
      return rule_reduce;
    case HSC_OP_REDUCE_WINDOW:
      return rule_reduce_window;
    case HSC_OP_SCATTER:
      return rule_scatter;
    default:
      return NULL;
  }
}
