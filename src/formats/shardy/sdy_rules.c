// sdy_rules.c - for each operation, which dimensions of its operands and of its result may be cut
// together.
#include "formats/shardy/sdy_layout.h"

#include <stdlib.h>

typedef struct rules {
  const hsc_instr *instr;
  const hsc_shape *shape;  // of the result, or of the first of several
  hsc__sdy_rule *out;
} rules;

static void link_dims(rules *r, int operand, int64_t from, int64_t to) {
  if (from < 0 || from >= HSC_MAX_RANK || to < 0 || to >= HSC_MAX_RANK)
    return;
  r->out->links[operand][from] = (int8_t)to;
  r->out->splits[to] = true;
}

// Operands of the result's rank, dimension by dimension; scalars beside them are whole.
static void same_dims(rules *r) {
  for (int i = 0; i < r->instr->operand_count; i++)
    for (int d = 0; d < r->instr->operands[i]->shape.rank &&
                    r->instr->operands[i]->shape.rank == r->shape->rank;
         d++)
      link_dims(r, i, d, d);
}

static void broadcast(rules *r) {
  for (int d = 0; d < r->shape->rank; d++)
    r->out->splits[d] = true;
  for (int i = 0; i < r->instr->attr.dims.dims.count; i++)
    link_dims(r, 0, i, r->instr->attr.dims.dims.v[i]);
}

// Runs of dimensions of the same number of elements: their first ones go together, row by row.
static void reshape(rules *r) {
  const hsc_shape *from = &r->instr->operands[0]->shape;
  const hsc_shape *to = r->shape;
  int e = 0;
  int d = 0;
  while (e < from->rank || d < to->rank) {
    while (e < from->rank && from->dims[e] == 1)
      e++;
    while (d < to->rank && to->dims[d] == 1)
      d++;
    if (e == from->rank || d == to->rank || from->dims[e] == 0 || to->dims[d] == 0)
      return;
    int first_e = e;
    int first_d = d;
    int64_t x = from->dims[e++];
    int64_t y = to->dims[d++];
    while (x != y) {
      if (x < y && e < from->rank)
        x *= from->dims[e++];
      else if (y < x && d < to->rank)
        y *= to->dims[d++];
      else
        return;
    }
    link_dims(r, 0, first_e, first_d);
  }
}

static void slice(rules *r) {
  const hsc_shape *from = &r->instr->operands[0]->shape;
  for (int d = 0; d < from->rank; d++)
    if (from->dims[d] == r->shape->dims[d])
      link_dims(r, 0, d, d);
}

static void pad(rules *r) {
  for (int d = 0; d < r->shape->rank; d++) {
    hsc_pad_dim p = r->instr->attr.pad.dims[d];
    if (!p.low && !p.high && !p.interior)
      link_dims(r, 0, d, d);
  }
}

static void update(rules *r) {
  for (int d = 0; d < r->shape->rank; d++) {
    if (r->instr->operands[1]->shape.dims[d] != r->shape->dims[d])
      continue;
    link_dims(r, 0, d, d);
    link_dims(r, 1, d, d);
  }
}

static void all_but(rules *r, hsc_dims dims) {
  for (int i = 0; i < r->instr->operand_count; i++)
    for (int d = 0; d < r->instr->operands[i]->shape.rank &&
                    r->instr->operands[i]->shape.rank == r->shape->rank;
         d++)
      if (!hsc_dims_contain(dims, d))
        link_dims(r, i, d, d);
}

static void reduce(rules *r) {
  for (int i = 0; i < r->instr->operand_count / 2; i++)
    for (int e = 0, d = 0; e < r->instr->operands[i]->shape.rank; e++)
      if (!hsc_dims_contain(r->instr->attr.dims.dims, e))
        link_dims(r, i, e, d++);
}

static bool is_point(const hsc_window_dim *w) {
  return w->size == 1 && w->stride == 1 && !w->pad_low && !w->pad_high && w->window_dilation == 1 &&
         w->base_dilation == 1;
}

static void windows(rules *r, const hsc_window *window, int data_operands) {
  for (int i = 0; i < data_operands; i++)
    for (int d = 0; d < window->rank && d < r->shape->rank; d++)
      if (is_point(&window->dims[d]))
        link_dims(r, i, d, d);
}

static void dot(rules *r) {
  const hsc_dot_dims *dims = &r->instr->attr.dot;
  int d = 0;
  for (int i = 0; i < dims->lhs_batch.count; i++, d++) {
    link_dims(r, 0, dims->lhs_batch.v[i], d);
    link_dims(r, 1, dims->rhs_batch.v[i], d);
  }
  for (int e = 0; e < r->instr->operands[0]->shape.rank; e++)
    if (!hsc_dims_contain(dims->lhs_batch, e) && !hsc_dims_contain(dims->lhs_contracting, e))
      link_dims(r, 0, e, d++);
  for (int e = 0; e < r->instr->operands[1]->shape.rank; e++)
    if (!hsc_dims_contain(dims->rhs_batch, e) && !hsc_dims_contain(dims->rhs_contracting, e))
      link_dims(r, 1, e, d++);
}

static void convolution(rules *r) {
  const hsc_conv_dims *dims = &r->instr->attr.conv.dims;
  if (r->instr->attr.conv.batch_groups > 1)
    return;
  link_dims(r, 0, dims->input_batch, dims->output_batch);
  link_dims(r, 1, dims->kernel_output, dims->output_feature);
  if (r->instr->attr.conv.feature_groups > 1)
    link_dims(r, 0, dims->input_feature, dims->output_feature);
  for (int s = 0; s < dims->spatial_rank; s++)
    if (hsc__sdy_has_halo(&r->instr->attr.conv.window.dims[s],
                          r->instr->operands[0]->shape.dims[dims->input_spatial[s]],
                          r->shape->dims[dims->output_spatial[s]]))
      link_dims(r, 0, dims->input_spatial[s], dims->output_spatial[s]);
}

static void gather(rules *r) {
  const hsc_gather_dims *g = &r->instr->attr.gather;
  const hsc_shape *from = &r->instr->operands[0]->shape;
  const hsc_shape *indices = &r->instr->operands[1]->shape;
  int next = 0;
  for (int e = 0; e < from->rank; e++) {
    if (hsc_dims_contain(g->collapsed_slice_dims, e) ||
        hsc_dims_contain(g->operand_batching_dims, e) || next >= g->offset_dims.count)
      continue;
    if (g->slice_sizes.v[e] == from->dims[e])
      link_dims(r, 0, e, g->offset_dims.v[next]);
    next++;
  }
  for (int s = 0, d = 0; s < indices->rank; s++) {
    if (s == g->index_vector_dim)
      continue;
    while (d < r->shape->rank && hsc_dims_contain(g->offset_dims, d))
      d++;
    link_dims(r, 1, s, d);
    for (int k = 0; k < g->start_indices_batching_dims.count; k++)
      if (g->start_indices_batching_dims.v[k] == s)
        link_dims(r, 0, g->operand_batching_dims.v[k], d);
    d++;
  }
}

// Dimensions whose whole extent every update covers.
static void scatter(rules *r) {
  const hsc_gather_dims *g = &r->instr->attr.scatter;
  int count = (r->instr->operand_count - 1) / 2;
  int next = 0;
  for (int e = 0; e < r->shape->rank; e++) {
    if (hsc_dims_contain(g->collapsed_slice_dims, e) ||
        hsc_dims_contain(g->operand_batching_dims, e) || next >= g->offset_dims.count)
      continue;
    int64_t u = g->offset_dims.v[next++];
    const hsc_shape *updates = &r->instr->operands[count + 1]->shape;
    if (u < 0 || u >= updates->rank || updates->dims[u] != r->shape->dims[e])
      continue;
    for (int i = 0; i < count; i++) {
      link_dims(r, i, e, e);
      link_dims(r, count + 1 + i, u, e);
    }
  }
}

static void leading(rules *r, int dims) {
  for (int i = 0; i < r->instr->operand_count; i++)
    for (int d = 0; d < dims && d < r->instr->operands[i]->shape.rank; d++)
      link_dims(r, i, d, d);
}

// JAX says of its linear algebra how many dimensions are a batch: num_batch_dims = "1" among the
// frontend attributes.
static void custom_call(rules *r) {
  const char *text = r->instr->frontend_attributes;
  const char *at = text ? strstr(text, "num_batch_dims=\"") : NULL;
  if (at && !r->instr->attr.custom.has_side_effect)
    leading(r, atoi(at + sizeof "num_batch_dims=\"" - 1));
}

static void bitcast_convert(rules *r) {
  if (r->instr->operands[0]->shape.rank == r->instr->shape.rank)
    same_dims(r);
}

static void iota(rules *r) {
  for (int d = 0; d < r->shape->rank; d++)
    r->out->splits[d] = true;
}

static void transpose(rules *r) {
  for (int d = 0; d < r->shape->rank; d++)
    link_dims(r, 0, r->instr->attr.dims.dims.v[d], d);
}

static void all_but_own(rules *r) {
  all_but(r, r->instr->attr.dims.dims);
}

// Reversed dimensions are cut as before, but into other pieces.
static void reverse(rules *r) {
  const hsc_dims dims = r->instr->attr.dims.dims;
  same_dims(r);
  for (int i = 0; i < dims.count; i++)
    r->out->splits[dims.v[i]] = false;
}

static void reduce_window(rules *r) {
  windows(r, &r->instr->attr.window.window, r->instr->operand_count / 2);
}

static void select_and_scatter(rules *r) {
  windows(r, &r->instr->attr.window.window, 2);
}

static void all_but_matrix(rules *r) {
  leading(r, r->shape->rank - 2);
}

static void all_but_last(rules *r) {
  leading(r, r->shape->rank - 1);
}

static void fft(rules *r) {
  leading(r, r->shape->rank - r->instr->attr.fft.length.count);
}

// The rule of an operation; NULL = there is none. Operations on single elements that have the trait
// need no row: their dimensions are those of their operands.
static void (*const rule_of_op[HSC_OP_COUNT])(rules *r) = {
    [HSC_OP_BITCAST_CONVERT] = bitcast_convert,
    [HSC_OP_BROADCAST] = broadcast,
    [HSC_OP_CHOLESKY] = all_but_matrix,
    [HSC_OP_CLAMP] = same_dims,
    [HSC_OP_CONCATENATE] = all_but_own,
    [HSC_OP_CONVOLUTION] = convolution,
    [HSC_OP_COPY] = same_dims,
    [HSC_OP_CUSTOM_CALL] = custom_call,
    [HSC_OP_DOT] = dot,
    [HSC_OP_DYNAMIC_SLICE] = slice,
    [HSC_OP_DYNAMIC_UPDATE_SLICE] = update,
    [HSC_OP_FFT] = fft,
    [HSC_OP_GATHER] = gather,
    [HSC_OP_IOTA] = iota,
    [HSC_OP_PAD] = pad,
    [HSC_OP_REDUCE] = reduce,
    [HSC_OP_REDUCE_PRECISION] = same_dims,
    [HSC_OP_REDUCE_WINDOW] = reduce_window,
    [HSC_OP_RESHAPE] = reshape,
    [HSC_OP_REVERSE] = reverse,
    [HSC_OP_SCATTER] = scatter,
    [HSC_OP_SELECT] = same_dims,
    [HSC_OP_SELECT_AND_SCATTER] = select_and_scatter,
    [HSC_OP_SLICE] = slice,
    [HSC_OP_SORT] = all_but_own,
    [HSC_OP_TOPK] = all_but_last,
    [HSC_OP_TRANSPOSE] = transpose,
    [HSC_OP_TRIANGULAR_SOLVE] = all_but_matrix,
};

hsc_status *hsc__sdy_rule_of(hsc_arena *arena, const hsc_instr *instr, hsc__sdy_rule *out) {
  rules r = {.instr = instr,
             .shape = hsc_shape_is_tuple(&instr->shape) ? instr->shape.elements : &instr->shape,
             .out = out};
  *out = (hsc__sdy_rule){0};
  if (!r.shape || !hsc_shape_is_array(r.shape))
    return NULL;
  out->links = hsc_arena_alloc(arena, sizeof *out->links * (size_t)(instr->operand_count + 1));
  HSC_TRY(hsc_arena_status(arena));
  memset(out->links, -1, sizeof *out->links * (size_t)(instr->operand_count + 1));
  bool elementwise = hsc_op_traits(instr->op) & HSC_TRAIT_ELEMENTWISE;
  void (*rule)(rules *r) = elementwise ? same_dims : rule_of_op[instr->op];
  out->known = rule != NULL;
  if (rule)
    rule(&r);
  return NULL;
}
