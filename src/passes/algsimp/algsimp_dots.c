// algsimp_dots.c - rules on dots, most of them switched by options, as in XLA: products of three in
// the cheaper order, what moves from one operand to the other, slices and sums that come first, and
// dots with constants.
#include "base/core/ints.h"
#include "passes/algsimp/algsimp.h"

static double elements(const hsc_instr *x) {
  return (double)hsc_shape_elements(&x->shape);
}

// ---- dots by labels -----------------------------------------------------------------------------
// Each dimension of each operand has a label, dimensions that a dot brings together the same one;
// as in einsum.

typedef struct labelled {
  hsc_instr *x;  // NULL = not built
  int rank, labels[HSC_MAX_RANK];
} labelled;

enum { MOST_LABELS = 60 };  // they are the bits of a mask
typedef struct labels {
  int count;
  int64_t sizes[MOST_LABELS];
} labels;

static uint64_t mask_of(const labelled *l) {
  uint64_t mask = 0;
  for (int i = 0; i < l->rank; i++)
    mask |= 1ull << l->labels[i];
  return mask;
}

static labelled fresh(labels *all, hsc_instr *x) {
  labelled l = {.x = x, .rank = x->shape.rank};
  for (int i = 0; i < l.rank; i++) {
    l.labels[i] = all->count;
    all->sizes[all->count++] = x->shape.dims[i];
  }
  return l;
}

// Gives the dimensions of `other` (operand `side` of the dot) the labels of those of `known` that
// they meet, and the dot's result its labels.
static labelled meet(const hsc_dot_dims *d, const labelled *known, labelled *other, int side) {
  hsc_dims batch[2] = {d->lhs_batch, d->rhs_batch};
  hsc_dims contracting[2] = {d->lhs_contracting, d->rhs_contracting};
  for (int i = 0; i < batch[0].count; i++)
    other->labels[batch[side].v[i]] = known->labels[batch[!side].v[i]];
  for (int i = 0; i < contracting[0].count; i++)
    other->labels[contracting[side].v[i]] = known->labels[contracting[!side].v[i]];
  const labelled *operands[2] = {side ? known : other, side ? other : known};
  labelled out = {0};
  for (int i = 0; i < batch[0].count; i++)
    out.labels[out.rank++] = operands[0]->labels[batch[0].v[i]];
  for (int k = 0; k < 2; k++)
    for (int i = 0; i < operands[k]->rank; i++)
      if (!hsc_dims_contain(batch[k], i) && !hsc_dims_contain(contracting[k], i))
        out.labels[out.rank++] = operands[k]->labels[i];
  return out;
}

// The dot of l and r that keeps the labels of `wanted`; its floating-point operations in *flops.
// Without a builder only labels and cost. `like`: where type and precision come from.
static labelled product(hsc_builder *b,
                        const hsc_instr *like,
                        const labelled *l,
                        const labelled *r,
                        uint64_t wanted,
                        const labels *all,
                        double *flops) {
  int64_t dims[4][HSC_MAX_RANK];
  int batch = 0;
  int contracted = 0;
  labelled out = {0};
  uint64_t met = mask_of(l) & mask_of(r);
  uint64_t every = mask_of(l) | mask_of(r);
  *flops = 2;
  for (int i = 0; i < all->count; i++)
    if (every >> i & 1)
      *flops *= (double)all->sizes[i];
  for (int i = 0; i < l->rank; i++)
    for (int k = 0; k < r->rank; k++) {
      if (l->labels[i] != r->labels[k])
        continue;
      if (wanted >> l->labels[i] & 1) {
        dims[0][batch] = i;
        dims[1][batch++] = k;
        out.labels[out.rank++] = l->labels[i];
      } else {
        dims[2][contracted] = i;
        dims[3][contracted++] = k;
      }
    }
  for (int i = 0; i < l->rank; i++)
    if (!(met >> l->labels[i] & 1))
      out.labels[out.rank++] = l->labels[i];
  for (int i = 0; i < r->rank; i++)
    if (!(met >> r->labels[i] & 1))
      out.labels[out.rank++] = r->labels[i];
  if (!b)
    return out;
  hsc_attr attr = {.dot = like->attr.dot};
  attr.dot.lhs_batch = hsc_dims_copy(arena_of(b), batch, dims[0]);
  attr.dot.rhs_batch = hsc_dims_copy(arena_of(b), batch, dims[1]);
  attr.dot.lhs_contracting = hsc_dims_copy(arena_of(b), contracted, dims[2]);
  attr.dot.rhs_contracting = hsc_dims_copy(arena_of(b), contracted, dims[3]);
  out.x = hsc_build_op(b, HSC_OP_DOT, hsc_shape_with_type((hsc_shape){0}, like->shape.type), &attr,
                       2, (hsc_instr *[]){l->x, r->x}, 0, NULL);
  return out;
}

static hsc_instr *in_order(hsc_builder *b, const labelled *from, const labelled *to) {
  int64_t permutation[HSC_MAX_RANK];
  bool moved = false;
  for (int i = 0; i < to->rank; i++)
    for (int k = 0; k < from->rank; k++) {
      if (from->labels[k] != to->labels[i])
        continue;
      permutation[i] = k;
      moved |= i != k;
    }
  return moved ? hsc_build_transpose(b, from->x, hsc_dims_copy(arena_of(b), to->rank, permutation))
               : from->x;
}

static bool is_plain(const hsc_instr *dot) {
  return dot->op == HSC_OP_DOT && dot->operand_count == 2 && !dot->attr.dot.sparsity &&
         !dot->attr.dot.algorithm && dot->operands[0]->shape.type == dot->shape.type &&
         dot->operands[1]->shape.type == dot->shape.type;
}

bool hsc__has_products(const hsc_instr *instr) {
  return !hsc__is_empty(instr->operands[0]) && !hsc__is_empty(instr->operands[1]);
}

// A plain dot of arrays with elements.
static bool is_product(const hsc_instr *dot) {
  return is_plain(dot) && hsc__has_products(dot);
}

// By the threshold.
HSC_RULE(dot_in_other_order) {
  hsc_instr *dot = instr;
  if (!is_product(dot))
    return NULL;
  for (int side = 0; side < 2; side++) {
    hsc_instr *inner = dot->operands[side];
    if (!is_plain(inner) || !hsc__has_one_use(inner) ||
        inner->operands[0]->shape.rank + inner->operands[1]->shape.rank +
                dot->operands[!side]->shape.rank >
            MOST_LABELS)
      continue;
    labels all = {0};
    double old_flops, flops, new_flops;
    labelled x = fresh(&all, inner->operands[0]);
    labelled y = fresh(&all, inner->operands[1]);
    labelled z = fresh(&all, dot->operands[!side]);
    labelled between = meet(&inner->attr.dot, &x, &y, 1);
    labelled out = meet(&dot->attr.dot, &between, &z, !side);
    (void)product(NULL, dot, &x, &y, mask_of(&between), &all, &old_flops);
    (void)product(NULL, dot, &between, &z, mask_of(&out), &all, &flops);
    old_flops += flops;
    // the operand in the middle meets the other one first
    const labelled *first[2] = {side ? &z : &y, side ? &x : &z};
    const labelled *last = side ? &y : &x;
    uint64_t wanted = mask_of(last) | mask_of(&out);
    labelled made = product(NULL, dot, first[0], first[1], wanted, &all, &new_flops);
    (void)product(NULL, dot, side ? &made : last, side ? last : &made, mask_of(&out), &all, &flops);
    if (old_flops <= (double)o->associative_reordering_threshold * (new_flops + flops))
      continue;
    made = product(b, dot, first[0], first[1], wanted, &all, &flops);
    labelled replacement =
        product(b, dot, side ? &made : last, side ? last : &made, mask_of(&out), &all, &flops);
    return in_order(b, &replacement, &out);
  }
  return NULL;
}

// A product one of whose operands is a broadcast, a pad or a reverse of `source`.
typedef struct mirrored {
  hsc_builder *b;
  const hsc_dot_dims *dims;
  int side;           // of `from`
  hsc_instr *from;    // the operand
  hsc_instr *source;  // what it was made of
  hsc_instr *to;      // the other operand
  double threshold;   // how much less there must be to multiply
  // [rank of from] the dimension of `to` that each one is contracted with; -1 = none
  int64_t there[HSC_MAX_RANK];
} mirrored;

static void mirrored_of(hsc_builder *b, hsc_instr *dot, int side, double threshold, mirrored *out) {
  const hsc_dot_dims *d = &dot->attr.dot;
  hsc_dims mine = side ? d->rhs_contracting : d->lhs_contracting;
  hsc_dims theirs = side ? d->lhs_contracting : d->rhs_contracting;
  *out = (mirrored){.b = b,
                    .dims = d,
                    .side = side,
                    .from = dot->operands[side],
                    .source = dot->operands[side]->operands[0],
                    .to = dot->operands[!side],
                    .threshold = threshold};
  for (int i = 0; i < out->from->shape.rank; i++)
    out->there[i] = -1;
  for (int i = 0; i < mine.count; i++)
    out->there[mine.v[i]] = theirs.v[i];
}

// What is contracted is reversed on the other side instead.
static bool mirror_reverse(const mirrored *m, hsc_instr *operands[2]) {
  int64_t dims[HSC_MAX_RANK], rest[HSC_MAX_RANK];
  int count = 0;
  int left = 0;
  hsc_dims reversed = m->from->attr.dims.dims;
  if (elements(m->from) < m->threshold * elements(m->to))
    return false;
  for (int i = 0; i < reversed.count; i++) {
    int64_t dim = reversed.v[i];
    if (m->there[dim] >= 0)
      dims[count++] = m->there[dim];
    else
      rest[left++] = dim;
  }
  if (count == 0)
    return false;
  hsc_attr moved = {.dims = {.dims = hsc_dims_copy(arena_of(m->b), count, dims)}};
  hsc_attr kept = {.dims = {.dims = hsc_dims_copy(arena_of(m->b), left, rest)}};
  operands[!m->side] =
      hsc_build_op(m->b, HSC_OP_REVERSE, (hsc_shape){0}, &moved, 1, &m->to, 0, NULL);
  operands[m->side] = m->source;
  if (left)
    operands[m->side] =
        hsc_build_op(m->b, HSC_OP_REVERSE, (hsc_shape){0}, &kept, 1, &m->source, 0, NULL);
  return true;
}

// Zeros that are contracted come to nothing: the other side is sliced to what meets no padding.
static bool mirror_pad(const mirrored *m, hsc_instr *operands[2]) {
  int64_t start[HSC_MAX_RANK], limit[HSC_MAX_RANK], stride[HSC_MAX_RANK];
  hsc_arena *arena = arena_of(m->b);
  int rank = m->from->shape.rank;
  hsc_pad_dim *pads = HSC_NEW_ARRAY(arena, hsc_pad_dim, rank + 1);
  int count = 0;
  int left = 0;
  double saved = 1;
  if (!pads || !hsc__is_all(m->from->operands[1], 0))
    return false;
  for (int i = 0; i < m->to->shape.rank; i++) {
    start[i] = 0;
    limit[i] = m->to->shape.dims[i];
    stride[i] = 1;
  }
  for (int i = 0; i < rank; i++) {
    hsc_pad_dim pad = pads[i] = m->from->attr.pad.dims[i];
    bool pads_any = pad.low || pad.high || pad.interior;
    if (pad.low < 0 || pad.high < 0)
      return false;
    if (m->there[i] < 0) {
      left += pads_any;
      continue;
    }
    count += pads_any;
    start[m->there[i]] = pad.low;
    limit[m->there[i]] = m->from->shape.dims[i] - pad.high;
    stride[m->there[i]] = pad.interior + 1;
    saved *= (double)m->from->shape.dims[i] / (double)hsc_max(m->source->shape.dims[i], 1);
    pads[i] = (hsc_pad_dim){0};
  }
  if (count == 0 || elements(m->source) == 0 || saved <= (left ? 2 : 1) * m->threshold)
    return false;
  hsc_attr pad = {.pad = {.rank = rank, .dims = pads}};
  operands[!m->side] = hsc_build_slice(m->b, m->to, hsc_dims_copy(arena, m->to->shape.rank, start),
                                       hsc_dims_copy(arena, m->to->shape.rank, limit),
                                       hsc_dims_copy(arena, m->to->shape.rank, stride));
  operands[m->side] = m->source;
  if (left)
    operands[m->side] = hsc_build_op(m->b, HSC_OP_PAD, (hsc_shape){0}, &pad, 2,
                                     (hsc_instr *[]){m->source, m->from->operands[1]}, 0, NULL);
  return true;
}

// Where the dimensions of a broadcast product go when the contracted ones that only repeat are
// summed on the other side.
typedef struct unrepeated {
  int64_t place[HSC_MAX_RANK];     // [rank of from] -1 = gone
  int64_t to_place[HSC_MAX_RANK];  // [rank of to]
  int64_t sizes[HSC_MAX_RANK];     // [rank] of what stays of from
  int64_t summed[HSC_MAX_RANK];    // [summed_count] of to
  int rank, summed_count;
  double saved;  // how many times less is multiplied
} unrepeated;

static void unrepeated_of(const mirrored *m, unrepeated *u) {
  *u = (unrepeated){.saved = 1};
  for (int i = 0; i < m->from->shape.rank; i++) {
    bool gone = m->there[i] >= 0 && !hsc_dims_contain(m->from->attr.dims.dims, i);
    u->place[i] = gone ? -1 : u->rank;
    if (gone) {
      u->summed[u->summed_count++] = m->there[i];
      u->saved *= (double)m->from->shape.dims[i];
    } else {
      u->sizes[u->rank++] = m->from->shape.dims[i];
    }
  }
  for (int i = 0, at = 0; i < m->to->shape.rank; i++)
    u->to_place[i] = hsc_dims_contain((hsc_dims){u->summed_count, u->summed}, i) ? -1 : at++;
}

// The product's dimensions after that.
static void renumber(const mirrored *m, const unrepeated *u, hsc_dot_dims *out) {
  const hsc_dot_dims *d = m->dims;
  hsc_dims mine = m->side ? d->rhs_contracting : d->lhs_contracting;
  hsc_dims theirs = m->side ? d->lhs_contracting : d->rhs_contracting;
  hsc_dims mine_batch = m->side ? d->rhs_batch : d->lhs_batch;
  hsc_dims theirs_batch = m->side ? d->lhs_batch : d->rhs_batch;
  int64_t contracting[2][HSC_MAX_RANK], batch[2][HSC_MAX_RANK];
  int contracted = 0;
  for (int i = 0; i < mine.count; i++) {
    if (u->place[mine.v[i]] < 0)
      continue;
    contracting[m->side][contracted] = u->place[mine.v[i]];
    contracting[!m->side][contracted++] = u->to_place[theirs.v[i]];
  }
  for (int i = 0; i < mine_batch.count; i++) {
    batch[m->side][i] = u->place[mine_batch.v[i]];
    batch[!m->side][i] = u->to_place[theirs_batch.v[i]];
  }
  out->lhs_batch = hsc_dims_copy(arena_of(m->b), mine_batch.count, batch[0]);
  out->rhs_batch = hsc_dims_copy(arena_of(m->b), mine_batch.count, batch[1]);
  out->lhs_contracting = hsc_dims_copy(arena_of(m->b), contracted, contracting[0]);
  out->rhs_contracting = hsc_dims_copy(arena_of(m->b), contracted, contracting[1]);
}

// A value that repeats along what is contracted is multiplied once, with the sum of the others.
static bool mirror_broadcast(const mirrored *m, hsc_instr *operands[2], hsc_dot_dims *out_dims) {
  unrepeated u;
  int64_t dims_of[HSC_MAX_RANK];
  int source_rank = m->source->shape.rank;
  unrepeated_of(m, &u);
  bool same = u.rank == source_rank;
  if (u.summed_count == 0 || u.saved <= (same ? 1 : 2) * m->threshold)
    return false;
  for (int i = 0; i < source_rank; i++) {
    dims_of[i] = u.place[m->from->attr.dims.dims.v[i]];
    same &= dims_of[i] == i;
  }
  operands[m->side] = m->source;
  if (!same)
    operands[m->side] = hsc_build_broadcast(
        m->b, m->source, hsc_shape_array(arena_of(m->b), m->from->shape.type, u.rank, u.sizes),
        hsc_dims_copy(arena_of(m->b), source_rank, dims_of));
  operands[!m->side] =
      hsc_build_reduce(m->b, m->to, hsc_build_scalar(m->b, m->to->shape.type, 0),
                       hsc_dims_copy(arena_of(m->b), u.summed_count, u.summed),
                       hsc_module_scalar_reducer(m->b->module, HSC_OP_ADD, m->to->shape.type));
  renumber(m, &u, out_dims);
  return true;
}

// What an operand only repeats, pads with zero or reverses along contracted dimensions is done to
// the other operand instead: summed, cut, reversed.
static hsc_instr *mirror_operand(const hsc_algsimp_options *o,
                                 hsc_builder *b,
                                 hsc_instr *dot,
                                 hsc_op wanted) {
  int side = 0;
  for (; side < 2; side++) {
    hsc_op op = dot->operands[side]->op;
    if (op == HSC_OP_BROADCAST || op == HSC_OP_PAD || op == HSC_OP_REVERSE)
      break;
  }
  if (side == 2 || dot->operands[side]->op != wanted)
    return NULL;
  mirrored m;
  mirrored_of(b, dot, side, o->associative_reordering_threshold, &m);
  hsc_attr attr = {.dot = dot->attr.dot};
  hsc_instr *operands[2];
  bool mirrors;
  if (wanted == HSC_OP_REVERSE)
    mirrors = mirror_reverse(&m, operands);
  else if (wanted == HSC_OP_PAD)
    mirrors = mirror_pad(&m, operands);
  else
    mirrors = mirror_broadcast(&m, operands, &attr.dot);
  if (!mirrors)
    return NULL;
  return hsc_build_op(b, HSC_OP_DOT, hsc_shape_with_type((hsc_shape){0}, dot->shape.type), &attr, 2,
                      operands, 0, NULL);
}

HSC_RULE(dot_of_repeated) {
  return is_product(instr) ? mirror_operand(o, b, instr, HSC_OP_BROADCAST) : NULL;
}

HSC_RULE(dot_of_padded) {
  return is_product(instr) ? mirror_operand(o, b, instr, HSC_OP_PAD) : NULL;
}

HSC_RULE(dot_of_reversed) {
  return is_product(instr) ? mirror_operand(o, b, instr, HSC_OP_REVERSE) : NULL;
}

// ---- slices and sums of dots --------------------------------------------------------------------

HSC_RULE(slice_of_dot) {
  hsc_instr *dot = instr->operands[0];
  hsc_instr *operands[2];
  if (!is_plain(dot) || !hsc__has_one_use(dot) || hsc_shape_elements(&instr->shape) == 0)
    return NULL;
  const hsc_dot_dims *d = &dot->attr.dot;
  hsc_dims batch[2] = {d->lhs_batch, d->rhs_batch};
  hsc_dims contracting[2] = {d->lhs_contracting, d->rhs_contracting};
  int at = batch[0].count;
  bool has_free = true;
  for (int side = 0; side < 2; side++) {
    hsc_instr *x = dot->operands[side];
    int64_t start[HSC_MAX_RANK], limit[HSC_MAX_RANK], stride[HSC_MAX_RANK];
    bool cut = false;
    bool is_free = false;
    for (int i = 0; i < x->shape.rank; i++) {
      int dim = -1;
      for (int k = 0; k < batch[side].count; k++)
        if (batch[side].v[k] == i)
          dim = k;
      if (dim < 0 && !hsc_dims_contain(contracting[side], i)) {
        dim = at++;
        is_free |= instr->shape.dims[dim] > 1;
      }
      start[i] = dim < 0 ? 0 : instr->attr.slice.start.v[dim];
      limit[i] = dim < 0 ? x->shape.dims[i] : instr->attr.slice.limit.v[dim];
      stride[i] = dim < 0 || !instr->attr.slice.stride.count ? 1 : instr->attr.slice.stride.v[dim];
      cut |= start[i] != 0 || limit[i] != x->shape.dims[i] || stride[i] != 1;
    }
    has_free &= is_free;  // a dot with a vector is another rule's
    hsc_arena *arena = arena_of(b);
    int rank = x->shape.rank;
    operands[side] =
        cut ? hsc_build_slice(b, x, hsc_dims_copy(arena, rank, start),
                              hsc_dims_copy(arena, rank, limit), hsc_dims_copy(arena, rank, stride))
            : x;
  }
  if (!has_free)
    return NULL;
  return hsc_build_op(b, HSC_OP_DOT, hsc_shape_with_type((hsc_shape){0}, dot->shape.type),
                      &dot->attr, 2, operands, 0, NULL);
}

HSC_RULE(sum_of_dot) {
  hsc_instr *dot = instr->operands[0];
  labels all = {0};
  double old_flops, new_flops;
  hsc_op op;
  if (instr->operand_count != 2 || !hsc_is_simple_reducer(instr->called[0], &op) ||
      op != HSC_OP_ADD)
    return NULL;
  if (!is_plain(dot) || !hsc__has_one_use(dot) || dot->attr.dot.lhs_batch.count ||
      !hsc__is_all(instr->operands[1], 0))
    return NULL;
  if (dot->operands[0]->shape.rank + dot->operands[1]->shape.rank > MOST_LABELS)
    return NULL;
  labelled operands[2] = {fresh(&all, dot->operands[0]), fresh(&all, dot->operands[1])};
  labelled out = meet(&dot->attr.dot, &operands[0], &operands[1], 1);
  labelled kept = {0};
  (void)product(NULL, dot, &operands[0], &operands[1], mask_of(&out), &all, &old_flops);
  old_flops += elements(dot) - elements(instr);
  uint64_t folded = 0;
  for (int i = 0; i < out.rank; i++) {
    if (hsc_dims_contain(instr->attr.dims.dims, i))
      folded |= 1ull << out.labels[i];
    else
      kept.labels[kept.rank++] = out.labels[i];
  }
  labelled less[2] = {operands[0], operands[1]};
  int64_t dims[2][HSC_MAX_RANK];
  int counts[2] = {0};
  double sums = 0;
  for (int side = 0; side < 2; side++) {
    double size = 1;
    less[side].rank = 0;
    for (int i = 0; i < operands[side].rank; i++) {
      int label = operands[side].labels[i];
      if (folded >> label & 1) {
        dims[side][counts[side]++] = i;
      } else {
        less[side].labels[less[side].rank++] = label;
        size *= (double)all.sizes[label];
      }
    }
    if (counts[side])
      sums += elements(operands[side].x) - size;
  }
  (void)product(NULL, dot, &less[0], &less[1], mask_of(&kept), &all, &new_flops);
  if (old_flops <= (double)o->raise_slice_and_reduce_through_dot_threshold * (new_flops + sums))
    return NULL;
  for (int side = 0; side < 2; side++)
    if (counts[side])
      less[side].x =
          hsc_build_reduce(b, operands[side].x, instr->operands[1],
                           hsc_dims_copy(arena_of(b), counts[side], dims[side]), instr->called[0]);
  labelled replacement = product(b, dot, &less[0], &less[1], mask_of(&kept), &all, &new_flops);
  return in_order(b, &replacement, &kept);
}

// ---- dots with constants ------------------------------------------------------------------------

static bool is_known(const hsc_instr *x) {
  return x->op == HSC_OP_CONSTANT && !x->attr.literal.value->elided;
}

// A product of two matrices along one dimension.
static bool is_matrix_product(const hsc_instr *dot) {
  return is_product(dot) && dot->shape.rank == 2 && dot->attr.dot.lhs_batch.count == 0 &&
         dot->attr.dot.lhs_contracting.count == 1 && dot->operands[0]->shape.rank == 2;
}

// Along what is contracted.
HSC_RULE(dot_of_concatenate) {
  hsc_instr *dot = instr;
  if (!is_matrix_product(dot))
    return NULL;
  const hsc_dot_dims *d = &dot->attr.dot;
  for (int side = 0; side < 2; side++) {
    const hsc_instr *x = dot->operands[side];
    hsc_instr *constant = dot->operands[!side];
    hsc_instr *sum = NULL;
    int64_t mine = side ? d->rhs_contracting.v[0] : d->lhs_contracting.v[0];
    int64_t theirs = side ? d->lhs_contracting.v[0] : d->rhs_contracting.v[0];
    int64_t at = 0;
    if (x->op != HSC_OP_CONCATENATE || x->attr.dims.dims.v[0] != mine || !hsc__has_one_use(x) ||
        !is_known(constant) || constant->shape.rank != 2)
      continue;
    for (int i = 0; i < x->operand_count; i++) {
      int64_t size = x->operands[i]->shape.dims[mine];
      int64_t start[2] = {0, 0};
      int64_t limit[2] = {constant->shape.dims[0], constant->shape.dims[1]};
      start[theirs] = at;
      limit[theirs] = at += size;
      hsc_instr *operands[2];
      operands[side] = x->operands[i];
      operands[!side] =
          hsc_build_slice(b, constant, HSC_DIMS(arena_of(b), start[0], start[1]),
                          HSC_DIMS(arena_of(b), limit[0], limit[1]), HSC_DIMS(arena_of(b), 1, 1));
      hsc_instr *part =
          hsc_build_op(b, HSC_OP_DOT, hsc_shape_with_type((hsc_shape){0}, dot->shape.type),
                       &dot->attr, 2, operands, 0, NULL);
      sum = sum ? hsc_build_binary(b, HSC_OP_ADD, sum, part) : part;
    }
    return sum;
  }
  return NULL;
}

// Folding makes their product a constant.
HSC_RULE(dot_of_row) {
  hsc_instr *dot = instr;
  if (!is_matrix_product(dot))
    return NULL;
  const hsc_dot_dims *d = &dot->attr.dot;
  for (int side = 0; side < 2; side++) {
    const hsc_instr *x = dot->operands[side];
    hsc_instr *other = dot->operands[!side];
    hsc_instr *operands[2];
    hsc_instr *indices[2];
    int64_t mine = side ? d->rhs_contracting.v[0] : d->lhs_contracting.v[0];
    if (x->op != HSC_OP_DYNAMIC_SLICE || x->operand_count != 3 || !is_known(x->operands[0]) ||
        !is_known(other))
      continue;
    if (x->shape.dims[1 - mine] != 1 || x->shape.dims[mine] != x->operands[0]->shape.dims[mine])
      continue;
    operands[side] = x->operands[0];
    operands[!side] = other;
    // more than folding takes
    if (x->operands[0]->shape.dims[1 - mine] * dot->shape.dims[!side] > 4096)
      continue;
    hsc_instr *all =
        hsc_build_op(b, HSC_OP_DOT, hsc_shape_with_type((hsc_shape){0}, dot->shape.type),
                     &dot->attr, 2, operands, 0, NULL);
    indices[side] = x->operands[1 + 1 - mine];
    indices[!side] = hsc_build_scalar(b, indices[side]->shape.type, 0);
    return hsc_build_dynamic_slice(b, all, 2, indices,
                                   hsc_dims_copy(arena_of(b), 2, dot->shape.dims));
  }
  return NULL;
}

// ---- operands that change places ----------------------------------------------------------------

bool hsc__is_parameter_like(const hsc_instr *x) {
  while (x->op != HSC_OP_PARAMETER && x->operand_count == 1)
    x = x->operands[0];
  return x->op == HSC_OP_PARAMETER;
}

HSC_RULE(dot_parameter_to_right) {
  hsc_instr *dot = instr;
  if (!is_product(dot) || !hsc__is_parameter_like(dot->operands[0]) ||
      hsc__is_parameter_like(dot->operands[1]))
    return NULL;
  hsc_attr attr = {.dot = dot->attr.dot};
  hsc_dot_dims *d = &attr.dot;
  d->lhs_batch = dot->attr.dot.rhs_batch;
  d->rhs_batch = dot->attr.dot.lhs_batch;
  d->lhs_contracting = dot->attr.dot.rhs_contracting;
  d->rhs_contracting = dot->attr.dot.lhs_contracting;
  if (d->precision.count == 2)
    d->precision =
        HSC_DIMS(arena_of(b), dot->attr.dot.precision.v[1], dot->attr.dot.precision.v[0]);
  hsc_instr *replacement =
      hsc_build_op(b, HSC_OP_DOT, hsc_shape_with_type((hsc_shape){0}, dot->shape.type), &attr, 2,
                   (hsc_instr *[]){dot->operands[1], dot->operands[0]}, 0, NULL);
  int64_t permutation[HSC_MAX_RANK];
  int batch = d->lhs_batch.count;
  int first = dot->operands[1]->shape.rank - batch - d->lhs_contracting.count;
  int second = dot->shape.rank - batch - first;
  for (int i = 0; i < dot->shape.rank; i++) {
    if (i < batch)
      permutation[i] = i;
    else if (i < batch + second)
      permutation[i] = i + first;
    else
      permutation[i] = i - second;
  }
  return first == 0 || second == 0
             ? replacement
             : hsc_build_transpose(b, replacement,
                                   hsc_dims_copy(arena_of(b), dot->shape.rank, permutation));
}
