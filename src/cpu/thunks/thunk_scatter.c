// thunk_scatter.c - scatter of one operand with any combiner (see scatter.h). Updates with the same
// index are combined in their order, on every thread count: threads share the run of neighbours in
// a window, never the updates.
#include "cpu/thunks/lanes.h"
#include "cpu/thunks/lower.h"
#include "cpu/thunks/moves.h"
#include "cpu/thunks/scatter.h"

// ---- choosing -----------------------------------------------------------------------------------

static void dense_strides(const hsc_shape *shape, int64_t *strides) {
  int64_t stride = 1;
  for (int i = shape->rank - 1; i >= 0; i--) {
    strides[i] = stride;
    stride *= shape->dims[i];
  }
}

// Dimensions of the batch that follow each other without a gap in all three arrays are one: lines
// of updates are long then.
static void merge_batch(hsc_scatter *s) {
  int kept = 0;
  for (int i = 0; i < s->batch_rank; i++) {
    int64_t size = s->batch_size[i];
    int last = kept - 1;
    if (size == 1)
      continue;
    bool merges = kept > 0 && s->batch_index_stride[last] == size * s->batch_index_stride[i] &&
                  s->batch_update_stride[last] == size * s->batch_update_stride[i] &&
                  s->batch_target_stride[last] == size * s->batch_target_stride[i];
    int to = merges ? last : kept++;
    s->batch_size[to] = merges ? size * s->batch_size[to] : size;
    s->batch_index_stride[to] = s->batch_index_stride[i];
    s->batch_update_stride[to] = s->batch_update_stride[i];
    s->batch_target_stride[to] = s->batch_target_stride[i];
  }
  s->batch_rank = kept;
}

static void plan_scatter(const hsc_instr *instr, hsc_scatter *s) {
  const hsc_gather_dims *d = &instr->attr.scatter;
  const hsc_shape *big = &instr->operands[0]->shape;
  const hsc_shape *indices = &instr->operands[1]->shape;
  const hsc_shape *updates = &instr->operands[2]->shape;
  int64_t big_strides[HSC_MAX_RANK], index_strides[HSC_MAX_RANK], update_strides[HSC_MAX_RANK];
  dense_strides(big, big_strides);
  dense_strides(indices, index_strides);
  dense_strides(updates, update_strides);
  s->index_type = (int32_t)indices->type;
  s->vector_stride = d->index_vector_dim < indices->rank ? index_strides[d->index_vector_dim] : 1;
  s->updates = 1;
  for (int i = 0; i < indices->rank; i++) {
    if (i == d->index_vector_dim)
      continue;
    s->updates *= indices->dims[i];
    s->batch_size[s->batch_rank] = indices->dims[i];
    s->batch_index_stride[s->batch_rank] = index_strides[i];
    for (int k = 0; k < d->start_indices_batching_dims.count; k++)
      if (d->start_indices_batching_dims.v[k] == i)
        s->batch_target_stride[s->batch_rank] = big_strides[d->operand_batching_dims.v[k]];
    s->batch_rank++;
  }
  int64_t window_of[HSC_MAX_RANK];     // size along each dimension of the operand
  bool indexed[HSC_SCATTER_MAX_DIMS];  // [window] whether indices say where it begins
  int batch = 0;
  int window = 0;
  int big_dim = 0;
  for (int i = 0; i < big->rank; i++)
    window_of[i] = 1;
  for (int i = 0; i < updates->rank; i++) {
    if (!hsc_dims_contain(d->offset_dims, i)) {
      s->batch_update_stride[batch++] = update_strides[i];
      continue;
    }
    while (hsc_dims_contain(d->collapsed_slice_dims, big_dim) ||
           hsc_dims_contain(d->operand_batching_dims, big_dim))
      big_dim++;
    window_of[big_dim] = updates->dims[i];
    indexed[window] = hsc_dims_contain(d->start_index_map, big_dim);
    s->window_size[window] = updates->dims[i];
    s->window_update_stride[window] = update_strides[i];
    s->window_target_stride[window++] = big_strides[big_dim++];
  }
  s->vector_count = d->start_index_map.count;
  for (int i = 0; i < s->vector_count; i++) {
    int64_t dim = d->start_index_map.v[i];
    s->limit[i] = big->dims[dim] - window_of[dim];
    s->target_stride[i] = big_strides[dim];
  }
  s->run = 1;
  while (window > 0 && s->window_update_stride[window - 1] == s->run &&
         s->window_target_stride[window - 1] == s->run)
    s->run *= s->window_size[--window];
  s->window_rank = window;
  s->windows_apart = true;
  for (int i = 0; i < window; i++)
    s->windows_apart = s->windows_apart && !indexed[i];
  merge_batch(s);
}

// The type whose values are copied as those of the given one are.
static int32_t bits_of(int32_t type) {
  switch (hsc_type_bytes((hsc_type)type)) {
    case 1:
      return HSC_TYPE_U8;
    case 2:
      return HSC_TYPE_U16;
    case 4:
      return HSC_TYPE_U32;
    case 8:
      return HSC_TYPE_U64;
    default:
      return type;
  }
}

// The combiner as one of scatter_kernels.h, for elements of *type.
static hsc_scatter_op op_of(const hsc_computation *combiner,
                            const hsc_cpu_isa *isa,
                            int32_t *type) {
  const hsc_scatter_kernels *kernels = hsc_scatter_kernels_for(isa->level);
  const hsc_instr *root = combiner->root;
  const hsc_instr *x = combiner->parameters[0];
  const hsc_instr *y = combiner->parameters[1];
  hsc_scatter_op op = HSC_SCATTER_CALL;
  if (!kernels)
    return op;
  if (root == y) {
    *type = bits_of(*type);
    op = HSC_SCATTER_SET;
  } else if (root->operand_count == 2 && ((root->operands[0] == x && root->operands[1] == y) ||
                                          (root->operands[0] == y && root->operands[1] == x))) {
    if (root->op == HSC_OP_ADD)
      op = HSC_SCATTER_ADD;
    else if (root->op == HSC_OP_MULTIPLY)
      op = HSC_SCATTER_MULTIPLY;
    else if (root->op == HSC_OP_MAXIMUM)
      op = HSC_SCATTER_MAX;
    else if (root->op == HSC_OP_MINIMUM)
      op = HSC_SCATTER_MIN;
  }
  return kernels->functions[op][*type] ? op : HSC_SCATTER_CALL;
}

// Sums of integers may be made in any order: each part of the updates has bins of its own. Worth it
// for many updates into bins that fit a cache.
static void plan_parts(const hsc_shape *target, int threads, hsc_scatter *s, hsc_cpu_step *step) {
  enum { LEAST_UPDATES = 1 << 15, MOST_BYTES = 256 << 10 };
  int64_t bins = hsc_shape_elements(target);
  bool one = s->run == 1 && s->window_rank == 0;
  if (threads < 2 || !one || s->shares > 1 || s->op != HSC_SCATTER_ADD ||
      !hsc_type_is_integral((hsc_type)s->type) || s->updates < LEAST_UPDATES ||
      bins * 4 > s->updates || bins * s->element_bytes > MOST_BYTES)
    return;
  s->parts = threads;
  s->bins = bins;
  step->scratch_bytes = (int64_t)threads * ((bins * s->element_bytes + 63) / 64 * 64);
}

// Along a batching dimension each position of the batch has places of its own.
static void plan_shares(int threads, hsc_scatter *s) {
  enum { LEAST_ELEMENTS = 1 << 15 };
  s->shares = 1;
  if (threads < 2 || s->op == HSC_SCATTER_CALL || s->batch_rank == 0 ||
      s->batch_target_stride[0] == 0 || s->run_chunk < s->run || s->batch_size[0] == 0)
    return;
  int64_t elements = s->updates * s->run;
  for (int i = 0; i < s->window_rank; i++)
    elements *= s->window_size[i];
  if (elements >= LEAST_ELEMENTS)
    s->shares = threads < s->batch_size[0] ? threads : s->batch_size[0];
}

hsc_status *hsc__cpu_choose_scatter(hsc_cpu_compiler *compiler,
                                    hsc_cpu_step *step,
                                    hsc_cpu_choice *choice,
                                    bool *out_chosen) {
  const hsc_instr *instr = step->instr;
  *out_chosen = false;
  if (instr->op != HSC_OP_SCATTER || instr->operand_count != 3 ||
      !hsc_shape_is_array(&instr->shape))
    return NULL;
  hsc_type type = instr->shape.type;
  const hsc_computation *combiner = instr->called[0];
  for (int i = 0; i < 3; i++)
    if (instr->operands[i]->shape.rank > HSC_SCATTER_MAX_DIMS)
      return NULL;
  if (instr->operands[0]->shape.type != type || instr->operands[2]->shape.type != type ||
      combiner->root->shape.type != type)
    return NULL;
  if (combiner->parameters[0]->shape.type != type || combiner->parameters[1]->shape.type != type ||
      !hsc_type_is_integral(instr->operands[1]->shape.type))
    return NULL;
  hsc_scatter *s = HSC_NEW(compiler->arena, hsc_scatter);
  HSC_TRY(hsc_arena_status(compiler->arena));
  *s = (hsc_scatter){.element_bytes = (int32_t)hsc_type_bytes(type), .kernel = -1};
  plan_scatter(instr, s);
  s->type = (int32_t)type;
  s->op = (int32_t)op_of(combiner, &compiler->device->isa, &s->type);
  if (s->op == HSC_SCATTER_CALL && combiner->root != combiner->parameters[1]) {
    HSC_TRY(hsc__cpu_add_lanes(compiler, combiner, &s->kernel));
    if (s->kernel < 0)
      return NULL;
  }
  int threads = hsc_cpu_pool_thread_count(compiler->device->pool);
  int64_t bytes = hsc_shape_bytes(&instr->operands[2]->shape);
  s->run_chunk = s->run > 0 ? s->run : 1;
  if (threads > 1 && bytes > 128 << 10 && s->run >= 32)
    s->run_chunk = ((s->run + threads - 1) / threads + 15) / 16 * 16;
  plan_shares(threads, s);
  plan_parts(&instr->shape, threads, s, step);
  choice->payload = s;
  choice->payload_bytes = sizeof *s;
  step->in_place = HSC_NEW(compiler->arena, uint64_t);
  HSC_TRY(hsc_arena_status(compiler->arena));
  step->in_place[0] = 1;
  *out_chosen = true;
  return NULL;
}

// ---- running ------------------------------------------------------------------------------------

typedef struct scatter_run {
  const hsc_scatter *s;
  hsc_cpu_kernel_function combine;  // CALL, NULL = the update replaces the element
  hsc_scatter_function by_offsets;  // else
  const hsc_scatter_kernels *kernels;
  const char *indices, *updates;
  char *out;
  char *bins;     // [parts] of the target's size, lines of 64 bytes apart
  bool in_lines;  // whether a call of by_offsets may take one place of many windows
  int index_bytes;
} scatter_run;

static void combine_run(const scatter_run *r, char *to, const char *from, int64_t count) {
  int64_t bytes = r->s->element_bytes;
  if (!r->combine) {
    memcpy(to, from, (size_t)(count * bytes));
    return;
  }
  for (int64_t at = 0; at < count; at += HSC_LANES) {
    void *buffers[3] = {to + at * bytes, (char *)(uintptr_t)from + at * bytes, to + at * bytes};
    r->combine(buffers, 0, count - at < HSC_LANES ? count - at : HSC_LANES);
  }
}

static bool next(int rank, const int64_t *size, int64_t *index) {
  for (int i = rank - 1; i >= 0; i--) {
    if (++index[i] < size[i])
      return true;
    index[i] = 0;
  }
  return false;
}

// Where the update at a position of the batch comes from and goes to, in elements; -1 = it is left
// out.
static int64_t place_of(const scatter_run *r, const int64_t *batch, int64_t *out_from) {
  const hsc_scatter *s = r->s;
  int64_t at = 0;
  int64_t to = 0;
  *out_from = 0;
  for (int i = 0; i < s->batch_rank; i++) {
    at += batch[i] * s->batch_index_stride[i];
    *out_from += batch[i] * s->batch_update_stride[i];
    to += batch[i] * s->batch_target_stride[i];
  }
  for (int i = 0; i < s->vector_count; i++) {
    int64_t start = hsc__cpu_read_index(s->index_type,
                                        r->indices + (at + i * s->vector_stride) * r->index_bytes);
    if (start < 0 || start > s->limit[i])
      return -1;
    to += start * s->target_stride[i];
  }
  return to;
}

// One window, or the part of its run from `first` on.
static void combine_window(
    const scatter_run *r, int64_t to, int64_t from, int64_t first, int64_t count) {
  const hsc_scatter *s = r->s;
  int64_t window[HSC_SCATTER_MAX_DIMS] = {0};
  do {
    int64_t target = to + first;
    int64_t source = from + first;
    for (int i = 0; i < s->window_rank; i++) {
      target += window[i] * s->window_target_stride[i];
      source += window[i] * s->window_update_stride[i];
    }
    const char *update = r->updates + source * s->element_bytes;
    if (r->by_offsets)
      r->by_offsets(r->out, update, 0, &target, 1, count);
    else
      combine_run(r, r->out + target * s->element_bytes, update, count);
  } while (next(s->window_rank, s->window_size, window));
}

static void do_windows(const scatter_run *r, int64_t first, int64_t count) {
  const hsc_scatter *s = r->s;
  int64_t batch[HSC_SCATTER_MAX_DIMS] = {0};
  do {
    int64_t from;
    int64_t to = place_of(r, batch, &from);
    if (to >= 0)
      combine_window(r, to, from, first, count);
  } while (next(s->batch_rank, s->batch_size, batch));
}

// ---- lines of updates, whose places are found first ---------------------------------------------

enum { OFFSETS = 512 };

// Updates that follow each other along the innermost dimension of the batch: where the first of
// them has its indices, comes from and goes to, in elements.
typedef struct line {
  int64_t index, update, target;
} line;

static line line_at(const hsc_scatter *s, int64_t position) {
  line l = {0};
  for (int i = s->batch_rank - 1; i >= 0; i--) {
    int64_t at = position % s->batch_size[i];
    position /= s->batch_size[i];
    l.index += at * s->batch_index_stride[i];
    l.update += at * s->batch_update_stride[i];
    l.target += at * s->batch_target_stride[i];
  }
  return l;
}

static void find_offsets(const scatter_run *r, const line *l, int64_t count, int64_t *offsets) {
  const hsc_scatter *s = r->s;
  int inner = s->batch_rank - 1;
  int64_t target_stride = inner >= 0 ? s->batch_target_stride[inner] : 0;
  int64_t stride = inner >= 0 ? s->batch_index_stride[inner] : 0;
  hsc_scatter_indices known = r->kernels->indices[s->index_type];
  // updates of one line of the target: no offsets before those of the first index
  bool one_line = known && target_stride == 0 && s->vector_count > 0;
  if (one_line)
    r->kernels->first_indices[s->index_type](r->indices + l->index * r->index_bytes, stride, count,
                                             s->limit[0], s->target_stride[0], l->target, offsets);
  else
    r->kernels->begin(l->target, target_stride, count, offsets);
  for (int v = one_line ? 1 : 0; v < s->vector_count; v++) {
    const char *from = r->indices + (l->index + v * s->vector_stride) * r->index_bytes;
    if (known) {
      known(from, stride, count, s->limit[v], s->target_stride[v], offsets);
      continue;
    }
    for (int64_t i = 0; i < count; i++) {
      int64_t start = hsc__cpu_read_index(s->index_type, from + i * stride * r->index_bytes);
      bool outside = offsets[i] < 0 || start < 0 || start > s->limit[v];
      offsets[i] = outside ? -1 : offsets[i] + start * s->target_stride[v];
    }
  }
}

// The same place of all windows of a line, then the next place: no two places meet (windows_apart),
// so that each element still sees its updates in their order.
static void combine_line(const scatter_run *r,
                         char *out,
                         int64_t update,
                         const int64_t *offsets,
                         int64_t count,
                         int64_t run) {
  const hsc_scatter *s = r->s;
  int64_t stride = s->batch_rank ? s->batch_update_stride[s->batch_rank - 1] : 0;
  int64_t window[HSC_SCATTER_MAX_DIMS] = {0};
  do {
    int64_t target = 0;
    int64_t source = update;
    for (int i = 0; i < s->window_rank; i++) {
      target += window[i] * s->window_target_stride[i];
      source += window[i] * s->window_update_stride[i];
    }
    r->by_offsets(out + target * s->element_bytes, r->updates + source * s->element_bytes, stride,
                  offsets, count, run);
  } while (next(s->window_rank, s->window_size, window));
}

// Updates [begin, end), the part of each run from `first` on.
static void do_lines(
    const scatter_run *r, char *out, int64_t begin, int64_t end, int64_t first, int64_t run) {
  const hsc_scatter *s = r->s;
  int64_t inner = s->batch_rank ? s->batch_size[s->batch_rank - 1] : 1;
  int64_t offsets[OFFSETS];
  for (int64_t at = begin, count; at < end; at += count) {
    count = inner - at % inner;
    if (count > OFFSETS)
      count = OFFSETS;
    if (count > end - at)
      count = end - at;
    line l = line_at(s, at);
    find_offsets(r, &l, count, offsets);
    combine_line(r, out + first * s->element_bytes, l.update + first, offsets, count, run);
  }
}

// A chunk is a part of all runs or, where there are shares, of the batch.
static void do_chunk(void *context, int64_t chunk, int worker) {
  const scatter_run *r = context;
  const hsc_scatter *s = r->s;
  int64_t share = s->shares > 1 ? chunk : 0;
  int64_t first = s->shares > 1 ? 0 : chunk * s->run_chunk;
  int64_t run = s->run - first < s->run_chunk ? s->run - first : s->run_chunk;
  if (!r->in_lines) {
    do_windows(r, first, run);
    return;
  }
  int64_t rows = s->batch_rank ? s->batch_size[0] : 1;
  int64_t row = s->updates / rows;
  do_lines(r, r->out, rows * share / s->shares * row, rows * (share + 1) / s->shares * row, first,
           run);
}

static int64_t part_bytes(const hsc_scatter *s) {
  return (s->bins * s->element_bytes + 63) / 64 * 64;
}

static void do_part(void *context, int64_t part, int worker) {
  const scatter_run *r = context;
  const hsc_scatter *s = r->s;
  char *bins = r->bins + part * part_bytes(s);
  memset(bins, 0, (size_t)part_bytes(s));
  do_lines(r, bins, s->updates * part / s->parts, s->updates * (part + 1) / s->parts, 0, 1);
}

static void do_parts(const hsc_cpu_frame *frame, const scatter_run *r) {
  const hsc_scatter *s = r->s;
  hsc_cpu_pool_run(frame->pool, s->parts, do_part, (void *)(uintptr_t)r);
  const int64_t start = 0;
  for (int64_t part = 0; part < s->parts; part++)
    r->by_offsets(r->out, r->bins + part * part_bytes(s), 0, &start, 1, s->bins);
}

hsc_status *hsc__cpu_run_scatter(const hsc_cpu_frame *frame, const hsc_cpu_thunk *thunk) {
  const hsc_scatter *s = hsc__cpu_data(frame, thunk);
  const hsc_cpu_slice *slices = hsc__cpu_slices(frame, thunk);
  const char *base = hsc__cpu_input(frame, thunk, 0);
  char *out = hsc__cpu_output(frame, thunk, 0);
  if (base != out && slices[0].bytes) {
    hsc_strided copy = {.rank = 1,
                        .element_bytes = s->element_bytes,
                        .size = {slices[0].bytes / s->element_bytes},
                        .from_stride = {s->element_bytes},
                        .to_stride = {s->element_bytes}};
    hsc__cpu_parallel_copy(frame->pool, &copy, base, out);
  }
  // Behind this, what a payload without updates says of functions has not been checked.
  if (slices[2].bytes == 0 || slices[0].bytes == 0)
    return NULL;
  scatter_run r = {
      .s = s,
      .combine = s->kernel >= 0 ? frame->executable->kernels[s->kernel].function : NULL,
      .kernels = hsc_scatter_kernels_for(frame->executable->device->isa.level),
      .indices = hsc__cpu_input(frame, thunk, 1),
      .updates = hsc__cpu_input(frame, thunk, 2),
      .out = out,
      .index_bytes = (int)hsc_type_bytes((hsc_type)s->index_type)};
  if (s->op != HSC_SCATTER_CALL)
    r.by_offsets = r.kernels->functions[s->op][s->type];
  r.in_lines = r.by_offsets && (s->window_rank == 0 || s->windows_apart);
  if (s->parts > 1 && r.in_lines) {
    r.bins = hsc__cpu_scratch(frame, thunk);
    do_parts(frame, &r);
    return NULL;
  }
  bool shared = s->shares > 1 && r.in_lines;
  hsc_cpu_pool_run(frame->pool, shared ? s->shares : (s->run + s->run_chunk - 1) / s->run_chunk,
                   do_chunk, &r);
  return NULL;
}

// ---- checking -----------------------------------------------------------------------------------

// Places that all positions of the batch reach in one of the three arrays.
static void add_batch(hsc_reach *reach, const hsc_scatter *s, const int64_t *strides) {
  for (int i = 0; i < s->batch_rank; i++)
    hsc__reach_add(reach, s->batch_size[i], strides[i]);
}

static bool indices_fit(const hsc_cpu_payload *p, const hsc_scatter *s) {
  hsc_reach reach = hsc__reach_begin(0);
  int64_t bytes = (int64_t)hsc_type_bytes((hsc_type)s->index_type);
  if (s->vector_count == 0)
    return true;
  add_batch(&reach, s, s->batch_index_stride);
  hsc__reach_add(&reach, s->vector_count, s->vector_stride);
  return hsc__reach_fits(&reach, bytes, bytes, p->inputs[1].bytes);
}

static bool windows_fit(const hsc_cpu_payload *p, const hsc_scatter *s) {
  hsc_reach updates = hsc__reach_begin(0);
  hsc_reach target = hsc__reach_begin(0);
  add_batch(&updates, s, s->batch_update_stride);
  add_batch(&target, s, s->batch_target_stride);
  for (int i = 0; i < s->vector_count; i++) {
    int64_t starts;
    if (s->limit[i] < 0)
      return true;  // no start is inside: nothing is written
    if (__builtin_add_overflow(s->limit[i], 1, &starts))
      return false;
    hsc__reach_add(&target, starts, s->target_stride[i]);
  }
  for (int i = 0; i < s->window_rank; i++) {
    hsc__reach_add(&updates, s->window_size[i], s->window_update_stride[i]);
    hsc__reach_add(&target, s->window_size[i], s->window_target_stride[i]);
  }
  hsc__reach_add(&updates, s->run, 1);
  hsc__reach_add(&target, s->run, 1);
  return hsc__reach_fits(&updates, s->element_bytes, s->element_bytes, p->inputs[2].bytes) &&
         hsc__reach_fits(&target, s->element_bytes, s->element_bytes, p->outputs[0].bytes);
}

// Bins of their own, one target's size for each part.
static bool parts_fit(const hsc_cpu_payload *p, const hsc_scatter *s) {
  if (s->parts <= 1)
    return s->parts >= 0;
  return s->run == 1 && s->window_rank == 0 && s->bins > 0 &&
         hsc__size_times(s->bins, s->element_bytes) == p->inputs[0].bytes &&
         hsc__payload_scratch(p, 0, hsc__size_times(s->parts, part_bytes(s)));
}

// Threads write apart only along a batching dimension, and take runs as a whole then.
static bool shares_fit(const hsc_scatter *s) {
  if (s->shares == 1)
    return true;
  return s->shares > 1 && s->batch_rank > 0 && s->shares <= s->batch_size[0] &&
         s->batch_target_stride[0] != 0 && s->run_chunk >= s->run && s->op != HSC_SCATTER_CALL;
}

static bool op_fits(const hsc_scatter *s) {
  if (s->op < 0 || s->op >= HSC_SCATTER_OP_COUNT)
    return false;
  if (s->op == HSC_SCATTER_CALL)
    return true;
  int64_t updates = 1;
  for (int i = 0; i < s->batch_rank; i++)
    updates = hsc__size_times(updates, s->batch_size[i]);
  return hsc__is_element_type(s->type) &&
         (int64_t)hsc_type_bytes((hsc_type)s->type) == s->element_bytes && s->updates == updates;
}

static bool all_positive(int count, const int64_t *sizes) {
  for (int i = 0; i < count; i++)
    if (sizes[i] < 1)
      return false;
  return true;
}

static bool ranks_fit(const hsc_scatter *s) {
  return s->batch_rank >= 0 && s->batch_rank <= HSC_SCATTER_MAX_DIMS && s->window_rank >= 0 &&
         s->window_rank <= HSC_SCATTER_MAX_DIMS && s->vector_count >= 0 &&
         s->vector_count <= HSC_SCATTER_MAX_DIMS;
}

bool hsc__cpu_check_scatter(hsc_cpu_payload *p) {
  const hsc_scatter *s = p->data;
  if (!hsc__payload_is(p, sizeof *s, 3, 1))
    return false;
  int64_t bytes = s->element_bytes;
  if (bytes < 1 || bytes > 16 || (bytes & (bytes - 1)) || p->inputs[0].bytes % bytes ||
      !hsc__payload_writes(p, 0, p->inputs[0].bytes))
    return false;
  if (p->inputs[2].bytes == 0 || p->inputs[0].bytes == 0)
    return true;  // nothing to do but the copy
  if (!ranks_fit(s) || s->run < 0 || s->run_chunk < 1)
    return false;
  if (!all_positive(s->batch_rank, s->batch_size) || !all_positive(s->window_rank, s->window_size))
    return false;
  int64_t both[2] = {bytes, bytes};
  if (s->kernel != -1 && !hsc__lanes_fit(p, s->kernel, bytes, 2, both))
    return false;
  return op_fits(s) && shares_fit(s) && parts_fit(p, s) && hsc__is_index_type(s->index_type) &&
         s->run <= INT64_MAX - s->run_chunk && indices_fit(p, s) && windows_fit(p, s);
}
