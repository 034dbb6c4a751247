// algsimp_reductions.c - rules on what is folded and in which order it lies: reductions of
// reshapes, transposes and reductions, running sums and windows of equal or single elements,
// scatters that write everything.
#include <math.h>

#include "passes/algsimp/algsimp.h"

// ---- reductions ---------------------------------------------------------------------------------

// Whether it folds one array, in any order.
static bool folds_freely(const hsc_instr *instr, hsc_op *out_op) {
  return instr->operand_count == 2 && hsc_is_simple_reducer(instr->called[0], out_op) &&
         (hsc_op_traits(*out_op) & HSC_TRAIT_COMMUTES);
}

// A reduce of a reshape of what is folded only, or of what stays only (then of a reshape that
// nobody else reads, or `always`), as wanted; NULL for others.
static hsc_instr *reduce_of_reshape(hsc_builder *b, hsc_instr *instr, bool of_folded, bool always) {
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
      stays[k] = !hsc_dims_contain(folded, i);
    }
    if (modified && hsc_dims_contain(folded, i))
      outside = false;
    if (modified && !hsc_dims_contain(folded, i))
      inside = false;
  }
  if (inside != of_folded)
    return NULL;
  // the reshape is of what stays only: it comes after, of less
  if (inside) {  // the reshape is of what is folded only: all of it is folded as it was
    for (int k = 0; k < source->shape.rank; k++)
      if (!stays[k])
        dims[count++] = k;
  } else if (outside && (hsc__has_one_use(x) || always)) {
    for (int k = 0; k < source->shape.rank; k++) {
      int to = hsc__unmodified_dim(&source->shape, &x->shape, k);
      if (to >= 0 && hsc_dims_contain(folded, to))
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

HSC_RULE(reduce_of_reshape_of_folded) {
  hsc_op op;
  return folds_freely(instr, &op) && instr->operands[0]->op == HSC_OP_RESHAPE
             ? reduce_of_reshape(b, instr, true, false)
             : NULL;
}

HSC_RULE(reduce_of_reshape_of_rest) {
  hsc_op op;
  return folds_freely(instr, &op) && instr->operands[0]->op == HSC_OP_RESHAPE
             ? reduce_of_reshape(b, instr, false,
                                 o->unconditionally_simplify_reduce_of_transpose_or_reshape)
             : NULL;
}

// The dimensions of the transpose's operand that a reduce of it folds; false where those that stay
// do not keep their order.
static bool folds_in_order(const hsc_instr *instr, int64_t out_dims[HSC_MAX_RANK]) {
  hsc_dims folded = instr->attr.dims.dims;
  hsc_dims from = instr->operands[0]->attr.dims.dims;
  int64_t last = -1;
  for (int i = 0; i < from.count; i++) {
    if (hsc_dims_contain(folded, i))
      continue;
    if (from.v[i] < last)
      return false;
    last = from.v[i];
  }
  for (int i = 0; i < folded.count; i++)
    out_dims[i] = from.v[folded.v[i]];
  return true;
}

// reduce(transpose(A)) => reduce(A)
static hsc_instr *reduce_before_transpose(hsc_builder *b, hsc_instr *instr) {
  int64_t dims[HSC_MAX_RANK];
  if (!folds_in_order(instr, dims))
    return NULL;
  return hsc_build_reduce(b, instr->operands[0]->operands[0], instr->operands[1],
                          hsc_dims_copy(arena_of(b), instr->attr.dims.dims.count, dims),
                          instr->called[0]);
}

// Where others read the transpose, too.
HSC_RULE(reduce_of_shared_transpose) {
  hsc_op op;
  return folds_freely(instr, &op) && instr->operands[0]->op == HSC_OP_TRANSPOSE
             ? reduce_before_transpose(b, instr)
             : NULL;
}

// The parts one after the other.
HSC_RULE(reduce_of_concatenate) {
  const hsc_instr *x = instr->operands[0];
  hsc_instr *init = instr->operands[1];
  hsc_dims dims = instr->attr.dims.dims;
  hsc_op op;
  hsc_instr *sum = NULL;
  if (!folds_freely(instr, &op) || x->op != HSC_OP_CONCATENATE || x->operand_count > 8 ||
      !hsc_dims_contain(dims, x->attr.dims.dims.v[0]))
    return NULL;
  if (!hsc__is_idempotent(op) && op != HSC_OP_ADD && op != HSC_OP_MULTIPLY)
    return NULL;
  hsc_instr *neutral =
      hsc__is_idempotent(op) ? init : hsc_build_scalar(b, instr->shape.type, op == HSC_OP_MULTIPLY);
  for (int i = 0; i < x->operand_count; i++) {
    hsc_instr *part =
        hsc_build_reduce(b, x->operands[i], i ? neutral : init, dims, instr->called[0]);
    sum = sum ? hsc_build_binary(b, op, sum, part) : part;
  }
  return sum;
}

// Whether it folds something: not the copy that a reduce of no dimensions is.
static bool folds_something(const hsc_instr *instr) {
  return instr->operand_count == 2 && (instr->attr.dims.dims.count > 0 ||
                                       !hsc_shape_equal(&instr->operands[0]->shape, &instr->shape));
}

HSC_RULE(reduce_nothing) {
  hsc_op op;
  return instr->operand_count == 2 && !folds_something(instr) &&
                 hsc_is_simple_reducer(instr->called[0], &op) && op == HSC_OP_ADD &&
                 hsc__is_all(instr->operands[1], 0)
             ? instr->operands[0]
             : NULL;
}

HSC_RULE(reduce_of_empty) {
  return folds_something(instr) && hsc__is_empty(instr->operands[0])
             ? hsc__widen(b, instr->operands[1], instr)
             : NULL;
}

// With the initial value folded in.
HSC_RULE(reduce_of_ones) {
  const hsc_instr *init = instr->operands[1];
  hsc_instr *x = instr->operands[0];
  hsc_dims dims = instr->attr.dims.dims;
  hsc_op op;
  if (!folds_something(instr) || !hsc_is_simple_reducer(instr->called[0], &op))
    return NULL;
  for (int i = 0; i < dims.count; i++)
    if (x->shape.dims[dims.v[i]] != 1)
      return NULL;
  hsc_instr *value = hsc_build_reshape(b, x, instr->shape.rank, instr->shape.dims);
  if (op == HSC_OP_ADD && hsc__is_all(init, 0))
    return value;
  return hsc_build_binary(b, op, value, hsc__widen(b, instr->operands[1], instr));
}

// Where the dimensions that stay keep their order. Reducers fold in any order.
HSC_RULE(reduce_of_transpose_in_order) {
  const hsc_instr *x = instr->operands[0];
  return folds_something(instr) && x->op == HSC_OP_TRANSPOSE && x->user_count == 1
             ? reduce_before_transpose(b, instr)
             : NULL;
}

// n times one.
HSC_RULE(sum_of_equal_integers) {
  const hsc_instr *x = instr->operands[0];
  hsc_dims dims = instr->attr.dims.dims;
  hsc_op op;
  double count = 1;
  if (!folds_something(instr) || x->op != HSC_OP_BROADCAST || x->operands[0]->shape.rank != 0 ||
      !hsc__is_int(x) || !hsc_is_simple_reducer(instr->called[0], &op) || op != HSC_OP_ADD)
    return NULL;
  for (int i = 0; i < dims.count; i++)
    count *= (double)x->shape.dims[dims.v[i]];
  if (count >= 0x1p31)
    return NULL;
  hsc_instr *total = hsc_build_binary(
      b, HSC_OP_MULTIPLY, x->operands[0],
      hsc_build_convert(b, x->shape.type, hsc_build_scalar(b, HSC_TYPE_S64, count)));
  return hsc__widen(b, hsc_build_binary(b, HSC_OP_ADD, total, instr->operands[1]), instr);
}

// Whether the initial value of the outer of two reduces by `op` adds nothing.
static bool starts_idle(hsc_op op, const hsc_instr *outer, const hsc_instr *inner) {
  hsc_instr *init = outer->operands[1];
  hsc_instr *other = inner->operands[1];
  double outer_start, inner_start;
  if (hsc__is_idempotent(op))  // folding a value in once more changes nothing
    return init == other ||
           (hsc__uniform_number(init, &outer_start) && hsc__uniform_number(other, &inner_start) &&
            outer_start == inner_start);
  return (op == HSC_OP_ADD && hsc__is_all(init, 0)) ||
         (op == HSC_OP_MULTIPLY && hsc__is_all(init, 1));
}

// With the same reducer: one over both sets of dimensions.
HSC_RULE(reduce_of_reduce) {
  const hsc_instr *x = instr->operands[0];
  hsc_dims dims = instr->attr.dims.dims;
  int64_t free_dims[HSC_MAX_RANK], all[HSC_MAX_RANK];
  bool reduced[HSC_MAX_RANK] = {false};
  hsc_op op, inner_op;
  int free_count = 0;
  int count = 0;
  if (!folds_something(instr) || x->op != HSC_OP_REDUCE || x->operand_count != 2 ||
      x->user_count != 1 || !hsc_is_simple_reducer(instr->called[0], &op))
    return NULL;
  if (!starts_idle(op, instr, x) || !hsc_is_simple_reducer(x->called[0], &inner_op) ||
      inner_op != op)
    return NULL;
  for (int i = 0; i < x->attr.dims.dims.count; i++)
    reduced[x->attr.dims.dims.v[i]] = true;
  for (int i = 0; i < x->operands[0]->shape.rank; i++)
    if (!reduced[i])
      free_dims[free_count++] = i;
  for (int i = 0; i < dims.count; i++)
    reduced[free_dims[dims.v[i]]] = true;
  for (int i = 0; i < x->operands[0]->shape.rank; i++)
    if (reduced[i])
      all[count++] = i;
  return hsc_build_reduce(b, x->operands[0], x->operands[1], hsc_dims_copy(arena_of(b), count, all),
                          instr->called[0]);
}

// Less is moved.
HSC_RULE(reduce_then_transpose) {
  const hsc_instr *x = instr->operands[0];
  hsc_op op;
  if (x->op != HSC_OP_TRANSPOSE || !folds_freely(instr, &op))
    return NULL;
  hsc_dims folded = instr->attr.dims.dims;
  hsc_dims from = x->attr.dims.dims;
  int64_t dims[HSC_MAX_RANK], permutation[HSC_MAX_RANK];
  int kept = 0;
  if (!hsc__has_one_use(x) || folded.count == 0)
    return NULL;
  for (int i = 0; i < folded.count; i++)
    dims[i] = from.v[folded.v[i]];
  for (int i = 0; i < x->shape.rank; i++) {
    if (hsc_dims_contain(folded, i))
      continue;
    permutation[kept] = 0;  // how many of those that stay come before it in A
    for (int k = 0; k < x->shape.rank; k++)
      permutation[kept] += !hsc_dims_contain(folded, k) && from.v[k] < from.v[i];
    kept++;
  }
  hsc_instr *replacement =
      hsc_build_reduce(b, x->operands[0], instr->operands[1],
                       hsc_dims_copy(arena_of(b), folded.count, dims), instr->called[0]);
  return hsc_build_transpose(b, replacement, hsc_dims_copy(arena_of(b), kept, permutation));
}

// ---- windows ------------------------------------------------------------------------------------

// Of one array, into something, by one operation.
static bool has_plain_windows(const hsc_instr *instr, hsc_op *out_op) {
  return instr->operand_count == 2 && hsc_is_simple_reducer(instr->called[0], out_op) &&
         !hsc__is_empty(instr);
}

// C * (iota + 1). Of floats only where every one of the sums is one.
HSC_RULE(running_sum_of_equal) {
  hsc_instr *x = instr->operands[0];
  hsc_op op;
  if (!has_plain_windows(instr, &op) || op != HSC_OP_ADD)
    return NULL;
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

// And padding.
HSC_RULE(windows_of_one_element) {
  hsc_instr *x = instr->operands[0];
  hsc_op op;
  if (!has_plain_windows(instr, &op))
    return NULL;
  hsc_instr *init = instr->operands[1];
  hsc_window window = instr->attr.window.window;
  int64_t kept[HSC_MAX_RANK], to[HSC_MAX_RANK];
  int rank = 0;
  bool idempotent = hsc__is_idempotent(op);
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

// The window takes the padding in.
HSC_RULE(reduce_window_of_converted_pad) {
  const hsc_instr *x = instr->operands[0];
  hsc_instr *init = instr->operands[1];
  hsc_op op;
  double padding, start;
  if (!has_plain_windows(instr, &op) || x->op != HSC_OP_CONVERT ||
      x->operands[0]->op != HSC_OP_PAD || !hsc__has_one_use(x) || !hsc__has_one_use(x->operands[0]))
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
HSC_RULE(scatter_whole) {
  if (instr->operand_count != 3 || hsc_shape_elements(&instr->operands[1]->shape) > 0 ||
      !hsc_shape_equal(&instr->operands[0]->shape, &instr->operands[2]->shape))
    return NULL;
  const hsc_instr *root = instr->called[0]->root;
  hsc_op op;
  if (instr->attr.scatter.offset_dims.count != instr->shape.rank)
    return NULL;
  if (root->op == HSC_OP_PARAMETER)
    return instr->operands[root->attr.index.value ? 2 : 0];
  return hsc_is_simple_reducer(instr->called[0], &op)
             ? hsc_build_binary(b, op, instr->operands[0], instr->operands[2])
             : NULL;
}
