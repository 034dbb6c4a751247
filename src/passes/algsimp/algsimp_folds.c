// algsimp_folds.c - rules on what folds many elements into few: reductions and windows of known or
// repeated values, products whose result is moved or summed, scatters that meet in a sum.
#include <math.h>

#include "passes/algsimp/algsimp.h"

// ---- reductions ---------------------------------------------------------------------------------

// Of one array, by one binary operation.
static bool reduces_simply(const hsc_instr *instr, hsc_op *out_op) {
  return instr->operand_count == 2 && hsc_is_simple_reducer(instr->called[0], out_op);
}

bool hsc__is_idempotent(hsc_op op) {
  return op == HSC_OP_MAXIMUM || op == HSC_OP_MINIMUM || op == HSC_OP_AND || op == HSC_OP_OR;
}

// Whether the type has that whole number.
static bool holds_count(hsc_type type, double count) {
  if (hsc_type_is_integral(type))
    return hsc_type_bits(type) >= 32 && count < 0x1p31;
  switch (type) {
    case HSC_TYPE_F64:
      return count <= 0x1p53;
    case HSC_TYPE_F32:
      return count <= 0x1p24;
    case HSC_TYPE_F16:
      return count <= 0x1p11;
    case HSC_TYPE_BF16:
      return count <= 0x1p8;
    default:
      return count <= 0;
  }
}

// reduce(broadcast(A)): what the broadcast repeated is not folded again. The sum of n equal numbers
// is n times one; the largest of them is one.
HSC_RULE(reduce_of_broadcast) {
  const hsc_instr *x = instr->operands[0];
  hsc_op op;
  if (x->op != HSC_OP_BROADCAST || !reduces_simply(instr, &op))
    return NULL;
  hsc_instr *source = x->operands[0];
  hsc_instr *init = instr->operands[1];
  hsc_dims folded = instr->attr.dims.dims;
  hsc_dims from = x->attr.dims.dims;
  double count = 1;
  for (int i = 0; i < folded.count; i++)
    if (!hsc_dims_contain(from, folded.v[i]))
      count *= (double)x->shape.dims[folded.v[i]];
  bool sum =
      op == HSC_OP_ADD && (hsc_type_is_float(x->shape.type) || hsc_type_is_integral(x->shape.type));
  if (count <= 1 || (!sum && !hsc__is_idempotent(op)) ||
      (sum && !holds_count(x->shape.type, count)))
    return NULL;
  int64_t place[HSC_MAX_RANK], own[HSC_MAX_RANK], kept[HSC_MAX_RANK];
  int own_count = 0;
  int kept_count = 0;
  int at = 0;
  for (int i = 0; i < x->shape.rank; i++)
    place[i] = hsc_dims_contain(folded, i) ? -1 : at++;
  for (int i = 0; i < from.count; i++) {
    if (place[from.v[i]] < 0)
      own[own_count++] = i;
    else
      kept[kept_count++] = place[from.v[i]];
  }
  for (int i = 1; i < kept_count; i++)
    if (kept[i] < kept[i - 1])
      return NULL;
  hsc_instr *part = source;
  if (own_count)
    part = hsc_build_reduce(b, source, sum ? hsc_build_scalar(b, x->shape.type, 0) : init,
                            hsc_dims_copy(arena_of(b), own_count, own), instr->called[0]);
  if (sum)
    part = hsc_build_binary(b, HSC_OP_MULTIPLY, part, hsc__uniform_constant(b, count, part));
  if (sum ? !hsc__is_all(init, 0) : !own_count)
    part = hsc_build_binary(b, op, part, hsc__widen(b, init, part));
  return kept_count == instr->shape.rank
             ? part
             : hsc_build_broadcast(b, part, instr->shape,
                                   hsc_dims_copy(arena_of(b), kept_count, kept));
}

// The sum of a dot over batch dimensions contracts them.
HSC_RULE(sum_of_dot_batches) {
  hsc_instr *dot = instr->operands[0];
  hsc_op op;
  if (dot->op != HSC_OP_DOT || !reduces_simply(instr, &op) || op != HSC_OP_ADD)
    return NULL;
  hsc_dot_dims d = dot->attr.dot;
  hsc_dims folded = instr->attr.dims.dims;
  int64_t batch[2][HSC_MAX_RANK], contracting[2][HSC_MAX_RANK];
  int count = 0;
  int contracted = d.lhs_contracting.count;
  if (d.sparsity || !hsc__has_one_use(dot) || !hsc__is_all(instr->operands[1], 0))
    return NULL;
  for (int i = 0; i < folded.count; i++)
    if (folded.v[i] >= d.lhs_batch.count)
      return NULL;
  for (int i = 0; i < contracted; i++) {
    contracting[0][i] = d.lhs_contracting.v[i];
    contracting[1][i] = d.rhs_contracting.v[i];
  }
  for (int i = 0; i < d.lhs_batch.count; i++) {
    if (hsc_dims_contain(folded, i)) {
      contracting[0][contracted] = d.lhs_batch.v[i];
      contracting[1][contracted++] = d.rhs_batch.v[i];
    } else {
      batch[0][count] = d.lhs_batch.v[i];
      batch[1][count++] = d.rhs_batch.v[i];
    }
  }
  d.lhs_batch = hsc_dims_copy(arena_of(b), count, batch[0]);
  d.rhs_batch = hsc_dims_copy(arena_of(b), count, batch[1]);
  d.lhs_contracting = hsc_dims_copy(arena_of(b), contracted, contracting[0]);
  d.rhs_contracting = hsc_dims_copy(arena_of(b), contracted, contracting[1]);
  hsc_attr attr = {.dot = d};
  return hsc_build_op(b, HSC_OP_DOT, hsc_shape_with_type((hsc_shape){0}, dot->shape.type), &attr, 2,
                      dot->operands, 0, NULL);
}

// The comparison of values that an argmax (direction GT) or argmin (LT) chooses by, NaN counting as
// the most; what JAX and TensorFlow write.
static bool chooses_first_result(const hsc_computation *computation, hsc_direction direction) {
  const hsc_instr *root = computation->root;
  if (computation->parameter_count != 4 || root->op != HSC_OP_TUPLE || root->operand_count != 2)
    return false;
  const hsc_instr *select = root->operands[0];
  const hsc_instr *p = computation->parameters[0];
  const hsc_instr *q = computation->parameters[2];
  if (select->op != HSC_OP_SELECT || select->operands[1] != p || select->operands[2] != q ||
      select->operands[0]->op != HSC_OP_OR)
    return false;
  const hsc_instr *either = select->operands[0];
  for (int i = 0; i < 2; i++) {
    const hsc_instr *better = either->operands[i];
    const hsc_instr *is_nan = either->operands[!i];
    if (better->op == HSC_OP_COMPARE && is_nan->op == HSC_OP_COMPARE &&
        better->attr.compare.direction == direction && better->operands[0] == p &&
        better->operands[1] == q && is_nan->attr.compare.direction == HSC_NE &&
        is_nan->operands[0] == p && is_nan->operands[1] == p)
      return true;
  }
  return false;
}

// The largest element beside an argmax of the same array: the argmax has it.
HSC_RULE(reduce_beside_argmax) {
  const hsc_instr *x = instr->operands[0];
  hsc_op op;
  if (!reduces_simply(instr, &op) || x->op == HSC_OP_BROADCAST)
    return NULL;
  if ((op != HSC_OP_MAXIMUM && op != HSC_OP_MINIMUM) || !hsc_type_is_float(x->shape.type) ||
      !hsc__is_all(instr->operands[1], op == HSC_OP_MAXIMUM ? -INFINITY : INFINITY))
    return NULL;
  for (int i = 0; i < x->user_count; i++) {
    hsc_instr *other = x->users[i];
    if (other == instr || other->op != HSC_OP_REDUCE || other->operand_count != 4 ||
        other->operands[0] != x || other->parent != instr->parent)
      continue;
    hsc_dims dims = other->attr.dims.dims;
    if (dims.count != instr->attr.dims.dims.count ||
        memcmp(dims.v, instr->attr.dims.dims.v, sizeof(int64_t) * (size_t)dims.count) != 0)
      continue;
    if (!hsc__is_all(other->operands[2], op == HSC_OP_MAXIMUM ? -INFINITY : INFINITY))
      continue;
    if (!chooses_first_result(other->called[0], op == HSC_OP_MAXIMUM ? HSC_GT : HSC_LT))
      continue;
    bool before = false;  // the builder is at `instr`: what it reads must be before
    for (const hsc_instr *at = instr->parent->first; at && at != instr && !before; at = at->next)
      before = at == other;
    if (before)
      return hsc_build_get_tuple_element(b, other, 0);
  }
  return NULL;
}

// Several arrays at once, of no elements: the initial values.
static hsc_instr *initial_values(hsc_builder *b, hsc_instr *instr) {
  hsc_instr *wide[8];
  int count = instr->operand_count / 2;
  if (instr->operand_count <= 2 || count > 8 || !hsc__is_empty(instr->operands[0]))
    return NULL;
  for (int i = 0; i < count; i++)
    wide[i] =
        hsc_build_broadcast(b, instr->operands[count + i], instr->shape.elements[i], (hsc_dims){0});
  return hsc_build_tuple(b, count, wide);
}

HSC_RULE(reduce_of_several_empty) {
  return initial_values(b, instr);
}

HSC_RULE(sum_of_negated) {
  const hsc_instr *x = instr->operands[0];
  hsc_op op;
  if (!reduces_simply(instr, &op) || op != HSC_OP_ADD || x->op != HSC_OP_NEGATE ||
      !hsc__has_one_use(x) || !hsc__is_all(instr->operands[1], 0))
    return NULL;
  return hsc_build_unary(b, HSC_OP_NEGATE,
                         hsc_build_reduce(b, x->operands[0], instr->operands[1],
                                          instr->attr.dims.dims, instr->called[0]));
}

HSC_RULE(reduce_window_of_several_empty) {
  return initial_values(b, instr);
}

// Whether folding the initial value in once more changes nothing.
static bool has_idle_start(const hsc_instr *instr, hsc_op *out_op) {
  return reduces_simply(instr, out_op) && !hsc__is_empty(instr->operands[0]) &&
         (hsc__is_idempotent(*out_op) ||
          hsc__is_all(instr->operands[1], *out_op == HSC_OP_MULTIPLY ? 1 : 0));
}

// Windows of one element with padding.
HSC_RULE(reduce_window_as_pad) {
  hsc_instr *x = instr->operands[0];
  hsc_instr *init = instr->operands[1];
  hsc_window window = instr->attr.window.window;
  hsc_op op;
  bool padded = false;
  if (!has_idle_start(instr, &op))
    return NULL;
  hsc_pad_dim *pads = HSC_NEW_ARRAY(arena_of(b), hsc_pad_dim, window.rank + 1);
  for (int i = 0; pads && i < window.rank; i++) {
    hsc_window_dim w = window.dims[i];
    if (w.size != 1 || w.stride != 1 || w.pad_low < 0 || w.pad_high < 0)
      return NULL;
    padded |= w.pad_low || w.pad_high || w.base_dilation != 1;
    pads[i] = (hsc_pad_dim){w.pad_low, w.pad_high, w.base_dilation - 1};
  }
  if (!pads || !padded)
    return NULL;
  hsc_attr attr = {.pad = {.rank = window.rank, .dims = pads}};
  hsc_instr *inner = hsc_build_binary(b, op, x, hsc__widen(b, init, x));
  return hsc_build_op(b, HSC_OP_PAD, (hsc_shape){0}, &attr, 2, (hsc_instr *[]){inner, init}, 0,
                      NULL);
}

// Each padded element is as far from the next as the base's are.
HSC_RULE(reduce_window_of_spread_pad) {
  hsc_instr *x = instr->operands[0];
  hsc_instr *init = instr->operands[1];
  hsc_window window = instr->attr.window.window;
  hsc_op op;
  bool spread = false;
  if (!has_idle_start(instr, &op) || x->op != HSC_OP_PAD || !hsc__has_one_use(x) ||
      x->operands[1] != init)
    return NULL;
  hsc_window_dim *dims = HSC_NEW_ARRAY(arena_of(b), hsc_window_dim, window.rank + 1);
  for (int i = 0; dims && i < window.rank; i++) {
    hsc_pad_dim p = x->attr.pad.dims[i];
    if (p.low < 0 || p.high < 0 || p.interior)
      return NULL;
    dims[i] = window.dims[i];
    spread |= dims[i].base_dilation != 1;
    dims[i].pad_low += p.low * dims[i].base_dilation;
    dims[i].pad_high += p.high * dims[i].base_dilation;
  }
  if (!dims || !spread)
    return NULL;
  hsc_attr attr = {.window = {.window = {window.rank, dims}}};
  return hsc_build_op(b, HSC_OP_REDUCE_WINDOW, (hsc_shape){0}, &attr, 2,
                      (hsc_instr *[]){x->operands[0], init}, 1, instr->called);
}

// ---- products -----------------------------------------------------------------------------------

// transpose(dot(A, B)) that brings B's free dimensions before A's => dot(B, A)
HSC_RULE(transpose_of_dot) {
  const hsc_instr *dot = instr->operands[0];
  if (dot->op != HSC_OP_DOT || !hsc__has_one_use(dot) || dot->operand_count != 2 ||
      dot->attr.dot.sparsity)
    return NULL;
  hsc_dot_dims d = dot->attr.dot;
  int batch = d.lhs_batch.count;
  int left = dot->operands[0]->shape.rank - batch - d.lhs_contracting.count;
  int right = dot->shape.rank - batch - left;
  if (left == 0 || right == 0)
    return NULL;
  int64_t batches[2][HSC_MAX_RANK];
  for (int i = 0; i < dot->shape.rank; i++) {
    int64_t from = instr->attr.dims.dims.v[i];
    int64_t swapped = i < batch + right ? i + left : i - right;
    if (i < batch ? from >= batch : from != swapped)
      return NULL;
    if (i >= batch)
      continue;
    batches[0][i] = d.rhs_batch.v[from];  // batches may change places among themselves
    batches[1][i] = d.lhs_batch.v[from];
  }
  hsc_attr attr = {.dot = d};
  attr.dot.lhs_batch = hsc_dims_copy(arena_of(b), batch, batches[0]);
  attr.dot.rhs_batch = hsc_dims_copy(arena_of(b), batch, batches[1]);
  attr.dot.lhs_contracting = d.rhs_contracting;
  attr.dot.rhs_contracting = d.lhs_contracting;
  if (d.precision.count == 2)
    attr.dot.precision = HSC_DIMS(arena_of(b), d.precision.v[1], d.precision.v[0]);
  return hsc_build_op(b, HSC_OP_DOT, hsc_shape_with_type((hsc_shape){0}, dot->shape.type), &attr, 2,
                      (hsc_instr *[]){dot->operands[1], dot->operands[0]}, 0, NULL);
}

// ---- scatters -----------------------------------------------------------------------------------

// A scatter that adds what it is given, of one array.
static bool adds_up(const hsc_instr *x) {
  hsc_op op;
  return x->op == HSC_OP_SCATTER && x->operand_count == 3 && hsc__has_one_use(x) &&
         hsc_is_simple_reducer(x->called[0], &op) && op == HSC_OP_ADD;
}

// Dimensions of indices and updates along which two scatters can be put one after the other; false
// when there is none.
static bool joining_dims(const hsc_instr *x,
                         const hsc_instr *y,
                         int64_t *out_index_dim,
                         int64_t *out_update_dim) {
  const hsc_gather_dims *g = &x->attr.scatter;
  if (!hsc_attr_equal(x, y) || x->operands[1]->shape.rank != y->operands[1]->shape.rank ||
      x->operands[2]->shape.rank != y->operands[2]->shape.rank)
    return false;
  if (x->operands[1]->shape.type != y->operands[1]->shape.type)
    return false;
  int64_t update_dim = -1;
  bool found = false;
  for (int i = 0; i < x->operands[1]->shape.rank; i++) {
    if (i == g->index_vector_dim)
      continue;
    do
      update_dim++;
    while (hsc_dims_contain(g->offset_dims, update_dim));
    bool batching = hsc_dims_contain(g->start_indices_batching_dims, i);
    bool differs = x->operands[1]->shape.dims[i] != y->operands[1]->shape.dims[i];
    if (differs && (batching || (found && x->operands[1]->shape.dims[*out_index_dim] !=
                                              y->operands[1]->shape.dims[*out_index_dim])))
      return false;
    if (batching || (found && !differs))
      continue;
    *out_index_dim = i;
    *out_update_dim = update_dim;
    found = true;
  }
  for (int i = 0; i < x->operands[2]->shape.rank; i++)
    if (found && i != *out_update_dim &&
        x->operands[2]->shape.dims[i] != y->operands[2]->shape.dims[i])
      return false;
  return found;
}

// Of the same kind: one of all updates.
HSC_RULE(add_scatters) {
  hsc_instr *x = instr->operands[0];
  hsc_instr *y = instr->operands[1];
  int64_t index_dim = 0;
  int64_t update_dim = 0;
  if (x == y || !adds_up(x) || !adds_up(y) || !hsc__is_all(y->operands[0], 0) ||
      !joining_dims(x, y, &index_dim, &update_dim))
    return NULL;
  hsc_instr *operands[3] = {
      x->operands[0],
      hsc_build_concatenate(b, 2, (hsc_instr *[]){x->operands[1], y->operands[1]}, index_dim),
      hsc_build_concatenate(b, 2, (hsc_instr *[]){x->operands[2], y->operands[2]}, update_dim)};
  hsc_instr *replacement = hsc_build_clone(b, x, operands);
  replacement->attr.scatter.unique = replacement->attr.scatter.indices_are_sorted = false;
  return replacement;
}

HSC_RULE(add_scatter) {
  for (int side = 0; side < 2; side++) {
    hsc_instr *scatter = instr->operands[side];
    hsc_instr *base = instr->operands[!side];
    if (!adds_up(scatter) || !hsc__is_all(scatter->operands[0], 0) || hsc__is_all(base, 0))
      continue;
    return hsc_build_clone(b, scatter,
                           (hsc_instr *[]){base, scatter->operands[1], scatter->operands[2]});
  }
  return NULL;
}
