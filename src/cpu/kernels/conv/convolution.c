// convolution.c - brings convolutions to canonical form and chooses how they are done (see
// convolution.h). Running one task of them is conv_tasks.c, the whole thunk_convolution.c.
//
// How to read: canonical makes batch, axes, features and columns of any convolution; choose_form
// decides on a kernel and copies what it cannot read in place; plan_blocks and plan_tasks cut the
// work for the caches and the threads. plan, at the end, is the order of these steps. Everything is
// decided at compile time: a task only computes.
#include "base/core/ints.h"
#include "cpu/kernels/conv/convolution.h"

#include <stdlib.h>

#include "cpu/kernels/gemm/written_algorithm.h"

static const char *const candidate_texts[] = {
#define CANDIDATE(id, text, kernel, doc) text,
#include "cpu/kernels/conv/conv_candidates.def"
#undef CANDIDATE
};
static const int32_t candidate_kernels[] = {
#define CANDIDATE(id, text, kernel, doc) HSC_CONV_##kernel,
#include "cpu/kernels/conv/conv_candidates.def"
#undef CANDIDATE
};
const char *hsc_conv_candidate_text(hsc_conv_candidate candidate) {
  return candidate_texts[candidate];
}

// Below this many multiply-adds a second thread costs more than it saves.
static const double PARALLEL_MULTIPLY_ADDS = 800e3;
static const double TASK_MULTIPLY_ADDS = 400e3;
enum { TASKS_PER_THREAD = 6, SHORT_RUN = 16, MAX_K_PARTS = 64 };
static const int64_t MAX_PARTIAL_BYTES = 16 << 20;

static int64_t gcd(int64_t a, int64_t b) {
  while (b) {
    int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

static int64_t stride_of(const hsc_shape *shape, int64_t dim) {
  int64_t stride = 1;
  for (int i = shape->rank - 1; i > dim; i--)
    stride *= shape->dims[i];
  return stride;
}

// ---- canonical form -----------------------------------------------------------------------------

static bool never_outside(const hsc_conv_axis *axis) {
  int64_t first = -axis->pad_low;
  int64_t last =
      (axis->out_size - 1) * axis->stride + (axis->window - 1) * axis->dilation - axis->pad_low;
  return axis->base_dilation == 1 && first >= 0 && last < axis->in_size;
}

static void read_axes(const hsc_instr *instr, hsc_convolution *c) {
  const hsc_conv_dims *d = &instr->attr.conv.dims;
  const hsc_shape *lhs = &instr->operands[0]->shape;
  const hsc_shape *rhs = &instr->operands[1]->shape;
  const hsc_shape *out = &instr->shape;
  for (int i = 0; i < d->spatial_rank; i++) {
    const hsc_window_dim *window = &instr->attr.conv.window.dims[i];
    hsc_conv_axis axis = {.out_size = out->dims[d->output_spatial[i]],
                          .window = rhs->dims[d->kernel_spatial[i]],
                          .in_size = lhs->dims[d->input_spatial[i]],
                          .stride = window->stride,
                          .dilation = window->window_dilation,
                          .base_dilation = window->base_dilation,
                          .pad_low = window->pad_low,
                          .lhs_stride = stride_of(lhs, d->input_spatial[i]),
                          .rhs_stride = stride_of(rhs, d->kernel_spatial[i]),
                          .out_stride = stride_of(out, d->output_spatial[i]),
                          .lhs_dim = (int32_t)d->input_spatial[i]};
    if (window->reversal) {
      c->rhs_offset += (axis.window - 1) * axis.rhs_stride;
      axis.rhs_stride = -axis.rhs_stride;
    }
    if (axis.in_size == 1)
      axis.base_dilation = 1;  // no second element to be apart from
    axis.checked = !never_outside(&axis);
    axis.phases = axis.base_dilation / gcd(axis.stride, axis.base_dilation);
    if (axis.out_size == 1 && axis.window == 1 && !axis.checked) {
      // One position, of lhs too: only an offset, which is zero unless padding is negative.
      if (axis.pad_low == 0)
        continue;
    }
    c->axes[c->axis_count++] = axis;
  }
}

// Dense strides of a copy of lhs as [batch][axes...][groups, features].
static void copy_lhs(const hsc_instr *instr, hsc_convolution *c) {
  const hsc_conv_dims *d = &instr->attr.conv.dims;
  const hsc_shape *lhs = &instr->operands[0]->shape;
  int64_t all_features = lhs->dims[d->input_feature];
  int64_t all_batch = lhs->dims[d->input_batch];
  int64_t to = 1;
  int64_t bytes = (int64_t)hsc_type_bytes(lhs->type);
  hsc_conv_operand *operand = &c->lhs;
  operand->copied = 1;
  operand->copy = (hsc_strided){.element_bytes = (int32_t)bytes};
  int at = 0;
  operand->copy.size[at] = all_features;
  operand->copy.from_stride[at] = stride_of(lhs, d->input_feature) * bytes;
  operand->copy.to_stride[at++] = bytes;
  to = all_features;
  c->lhs_feature_stride = 1;
  if (c->groups > 1 && instr->attr.conv.feature_groups > 1)
    c->lhs_group_stride = c->features;
  for (int a = c->axis_count - 1; a >= 0; a--) {
    hsc_conv_axis *axis = &c->axes[a];
    operand->copy.size[at] = axis->in_size;
    operand->copy.from_stride[at] = axis->lhs_stride * bytes;
    operand->copy.to_stride[at++] = to * bytes;
    axis->lhs_stride = to;
    to *= axis->in_size;
  }
  operand->copy.size[at] = all_batch;
  operand->copy.from_stride[at] = stride_of(lhs, d->input_batch) * bytes;
  operand->copy.to_stride[at++] = to * bytes;
  c->lhs_batch_stride = to;
  if (c->groups > 1 && instr->attr.conv.batch_groups > 1)
    c->lhs_group_stride = c->batch * to;
  operand->copy.rank = at;
  operand->scratch_elements = to * all_batch;
}

// A copy of lhs in the order in which it is stored, with one axis padded to `size` positions, so
// that none of them is outside.
static void copy_padded(const hsc_instr *instr, hsc_convolution *c, int padded, int64_t size) {
  const hsc_conv_dims *d = &instr->attr.conv.dims;
  const hsc_shape *lhs = &instr->operands[0]->shape;
  int64_t bytes = (int64_t)hsc_type_bytes(lhs->type);
  int64_t to = bytes;
  int64_t elements = 1;
  hsc_conv_operand *operand = &c->lhs;
  operand->copied = operand->fill = 1;
  operand->copy = (hsc_strided){.rank = lhs->rank, .element_bytes = (int32_t)bytes};
  int64_t stored[HSC_MAX_RANK];
  for (int dim = lhs->rank - 1, at = 0; dim >= 0; dim--, at++) {
    int64_t here = lhs->dims[dim];
    stored[dim] = stride_of(lhs, dim);
    operand->copy.size[at] = here;
    operand->copy.from_stride[at] = stored[dim] * bytes;
    operand->copy.to_stride[at] = to;
    if (dim == d->input_batch)
      c->lhs_batch_stride = to / bytes;
    if (dim == d->input_feature)
      c->lhs_feature_stride = to / bytes;
    for (int a = 0; a < c->axis_count; a++) {
      if (c->axes[a].lhs_dim != dim)
        continue;
      c->axes[a].lhs_stride = to / bytes;
      if (a != padded)
        continue;
      operand->inside = c->axes[a].pad_low * to;
      c->axes[a].in_size = here = size;
      c->axes[a].pad_low = 0;
      c->axes[a].checked = 0;
    }
    to *= here;
    elements *= here;
  }
  operand->scratch_elements = elements;
}

// Positions along an axis with all its padding; 0 = too many, or it cannot be padded.
static int64_t padded_size(const hsc_conv_axis *axis) {
  int64_t reach = (axis->out_size - 1) * axis->stride + (axis->window - 1) * axis->dilation + 1;
  int64_t size = axis->pad_low + axis->in_size;
  if (axis->pad_low < 0 || axis->base_dilation != 1)
    return 0;
  if (reach > size)
    size = reach;
  return size > 2 * axis->in_size + 64 ? 0 : size;
}

static void copy_rhs(const hsc_instr *instr, hsc_convolution *c) {
  const hsc_shape *rhs = &instr->operands[1]->shape;
  c->rhs.copied = 1;
  c->rhs.copy = (hsc_strided){.rank = 1, .element_bytes = (int32_t)hsc_type_bytes(rhs->type)};
  c->rhs.copy.size[0] = c->rhs.scratch_elements = c->rhs.elements;
  c->rhs.copy.from_stride[0] = c->rhs.copy.to_stride[0] = c->rhs.copy.element_bytes;
}

static int64_t take(int64_t *total, int64_t bytes) {
  int64_t at = *total;
  *total += hsc_round_up(bytes, 64);
  return at;
}

static void place_copies(hsc_convolution *c) {
  int64_t bytes = (int64_t)hsc_type_bytes((hsc_type)c->compute_type);
  hsc_conv_operand *both[2] = {&c->lhs, &c->rhs};
  for (int i = 0; i < 2; i++) {
    hsc_conv_operand *operand = both[i];
    if (!operand->copied)
      continue;
    operand->scratch_offset = take(&c->scratch_bytes, operand->scratch_elements * bytes);
    if (operand->type != c->compute_type)
      operand->stored_offset =
          take(&c->scratch_bytes,
               operand->scratch_elements * (int64_t)hsc_type_bytes((hsc_type)operand->type));
    hsc_strided_normalize(&operand->copy);
  }
}

// The axis whose taps follow each other in memory at the end of a run of features: taken into the
// run.
static void merge_features(const hsc_instr *instr, hsc_convolution *c) {
  if (c->lhs_feature_stride != 1 || c->features >= SHORT_RUN)
    return;
  for (int a = 0; a < c->axis_count; a++) {
    hsc_conv_axis *axis = &c->axes[a];
    bool runs_on = axis->window > 1 && axis->base_dilation == 1 &&
                   axis->dilation * axis->lhs_stride == c->features &&
                   axis->rhs_stride == c->features * c->rhs_feature_stride;
    if (!runs_on)
      continue;
    if (axis->checked) {
      int64_t size = padded_size(axis);
      if (size == 0 || c->lhs.copied || c->groups > 1)
        return;
      copy_padded(instr, c, a, size);
    }
    c->features *= axis->window;
    axis->window = 1;
    return;
  }
}

// PACKED with a short run of batches: an axis whose output positions follow each other in memory
// makes it longer once nothing is outside.
static void merge_batches(const hsc_instr *instr, hsc_convolution *c) {
  if (c->lhs_batch_stride != 1 || c->batch >= SHORT_RUN || c->lhs.copied || c->groups > 1)
    return;
  for (int a = 0; a < c->axis_count; a++) {
    hsc_conv_axis *axis = &c->axes[a];
    if (!axis->checked || axis->out_size < 2 || axis->stride * axis->lhs_stride != c->batch)
      continue;
    int64_t size = padded_size(axis);
    if (size)
      copy_padded(instr, c, a, size);
    return;
  }
}

static bool lays_out_result(const hsc_instr *instr, const hsc_convolution *c) {
  return instr->attr.conv.dims.output_feature == instr->shape.rank - 1 ||
         c->columns * c->groups == 1;
}

static void copy_out(const hsc_instr *instr, hsc_convolution *c) {
  const hsc_conv_dims *d = &instr->attr.conv.dims;
  const hsc_shape *out = &instr->shape;
  int64_t bytes = (int64_t)hsc_type_bytes(out->type);
  int64_t from = c->groups * c->columns;
  c->out_copied = 1;
  c->out_copy = (hsc_strided){.element_bytes = (int32_t)bytes};
  int at = 0;
  c->out_copy.size[at] = from;
  c->out_copy.from_stride[at] = bytes;
  c->out_copy.to_stride[at++] = stride_of(out, d->output_feature) * bytes;
  for (int a = c->axis_count - 1; a >= 0; a--) {
    c->out_copy.size[at] = c->axes[a].out_size;
    c->out_copy.from_stride[at] = from * bytes;
    c->out_copy.to_stride[at++] = c->axes[a].out_stride * bytes;
    c->axes[a].out_stride = from;
    from *= c->axes[a].out_size;
  }
  c->out_copy.size[at] = c->batch;
  c->out_copy.from_stride[at] = from * bytes;
  c->out_copy.to_stride[at++] = c->out_batch_stride * bytes;
  c->out_copy.rank = at;
  c->out_batch_stride = from;
  c->out_group_stride = c->columns;
  hsc_strided_normalize(&c->out_copy);
}

// Rows in the order of the result's memory; PACKED wants the batch to run fastest.
static void order_rows(hsc_convolution *c) {
  c->order_count = 0;
  for (int next = -1; next < c->axis_count; next++) {
    int64_t stride = next < 0 ? c->out_batch_stride : c->axes[next].out_stride;
    int at = c->order_count++;
    for (; at > 0; at--) {
      int before = c->order[at - 1];
      bool batch_last = c->candidate == HSC_CONV_PACKED && before < 0;
      int64_t other = before < 0 ? c->out_batch_stride : c->axes[before].out_stride;
      if (!batch_last && other >= stride)
        break;
      c->order[at] = c->order[at - 1];
    }
    c->order[at] = next;
  }
  int64_t stride = c->columns * c->groups;
  c->rows_in_order = c->groups == 1 && c->phase_count == 1;
  for (int i = c->order_count - 1; i >= 0; i--) {
    int dim = c->order[i];
    int64_t size = dim < 0 ? c->batch : c->axes[dim].out_size;
    if (size != 1 && (dim < 0 ? c->out_batch_stride : c->axes[dim].out_stride) != stride)
      c->rows_in_order = 0;
    stride *= size;
  }
}

// ---- tasks --------------------------------------------------------------------------------------

static void plan_tasks(hsc_convolution *c, const hsc_cpu_isa *isa, int threads) {
  int64_t bytes = (int64_t)hsc_type_bytes((hsc_type)c->compute_type);
  int64_t vector = isa->vector_bytes / bytes;
  int64_t width = c->columns > vector ? 2 * vector : vector;
  int64_t steps = c->taps * c->features;
  int64_t phase_rows = c->batch;
  for (int a = 0; a < c->axis_count; a++)
    phase_rows *= hsc_divide_up(c->axes[a].out_size, c->axes[a].phases);
  c->m_parts = c->n_parts = c->k_parts = 1;
  c->m_task = phase_rows;
  c->n_task = c->columns;
  double work = (double)c->groups * (double)c->rows * (double)c->columns * (double)steps /
                (double)c->phase_count;
  int64_t tallest = hsc_conv_kernels_for(isa->level)->max_rows;
  int64_t wanted =
      threads < 2 || work < PARALLEL_MULTIPLY_ADDS ? 1 : (int64_t)(work / TASK_MULTIPLY_ADDS);
  if (wanted > (int64_t)threads * TASKS_PER_THREAD)
    wanted = (int64_t)threads * TASKS_PER_THREAD;
  if (c->algorithm == HSC_CONV_ROWS_COARSE)
    wanted = hsc_divide_up(wanted, 3);
  int64_t have = c->candidate == HSC_CONV_CHANNELS ? 1 : c->groups * c->phase_count;
  if (c->candidate == HSC_CONV_PACKED && have < wanted && c->algorithm != HSC_CONV_PACKED_WHOLE) {
    // The sum is the long side: parts of it share no packing, but each has a product of its own.
    int64_t product = c->groups * c->rows * c->columns * bytes;
    int64_t parts = hsc_divide_up(wanted, have);
    if (parts > MAX_PARTIAL_BYTES / product)
      parts = MAX_PARTIAL_BYTES / product;
    if (parts > steps / (4 * c->k_block))
      parts = steps / (4 * c->k_block);
    if (parts > MAX_K_PARTS)
      parts = MAX_K_PARTS;
    if (parts > 1)
      c->k_parts = parts;
    have *= c->k_parts;
  }
  for (int64_t m_wanted = 1, n_wanted = 1; have * m_wanted * n_wanted < wanted;) {
    bool rows = phase_rows / m_wanted >= 8 * tallest;
    bool columns = c->columns / n_wanted >= 2 * width;
    if (rows && (phase_rows / m_wanted >= 2 * (c->columns / n_wanted) || !columns))
      m_wanted++;
    else if (columns)
      n_wanted++;
    else
      break;
    c->m_task = hsc_round_up(hsc_divide_up(phase_rows, m_wanted), tallest);
    c->n_task = hsc_round_up(hsc_divide_up(c->columns, n_wanted), width);
  }
  c->m_parts = hsc_divide_up(phase_rows, c->m_task);
  c->n_parts = hsc_divide_up(c->columns, c->n_task);
  // What a task writes down about its rows has to fit the second cache.
  if (c->m_task > 4096) {
    c->m_task = 4096 / tallest * tallest;
    c->m_parts = hsc_divide_up(phase_rows, c->m_task);
  }
  c->k_part = hsc_divide_up(steps, c->k_parts);
  if (c->k_parts > 1) {
    c->k_part = hsc_round_up(c->k_part, c->k_block);
    c->k_parts = hsc_divide_up(steps, c->k_part);
  }
  if (c->k_parts > 1)
    c->partial_offset =
        take(&c->scratch_bytes, c->k_parts * c->groups * c->rows * c->columns * bytes);
}

static void size_worker_scratch(hsc_convolution *c, const hsc_cpu_isa *isa) {
  int64_t bytes = (int64_t)hsc_type_bytes((hsc_type)c->compute_type);
  int64_t width = 2 * isa->vector_bytes / bytes;
  int64_t tallest = hsc_conv_kernels_for(isa->level)->max_rows;
  int64_t total = 0;
  int64_t words = 2 + HSC_CONV_MAX_AXES;
  if (c->candidate == HSC_CONV_CHANNELS) {
    take(&total, c->m_task * words * 8);  // rows
    take(&total, c->taps * words * 8);    // taps
    take(&total, c->taps * 8);            // pointers of both sides
    take(&total, c->taps * 8);
    c->worker_scratch_bytes = total;
    return;
  }
  take(&total, c->k_block * hsc_round_up(c->n_task, width) * bytes);  // packed right side
  if (c->candidate == HSC_CONV_PACKED)
    take(&total, c->k_block * hsc_round_up(c->m_block, tallest) * bytes);
  take(&total, (c->candidate == HSC_CONV_PACKED ? c->m_block : c->k_block) * bytes);  // zeros
  take(&total, c->m_task * words * 8);                                                // rows
  take(&total, c->k_block * words * 8);  // taps or steps
  // pointers
  take(&total, c->candidate == HSC_CONV_ROWS ? c->k_block * c->m_block * 8 : c->k_block * 8);
  c->worker_scratch_bytes = total;
}

// ---- the plan -----------------------------------------------------------------------------------

static hsc_status *canonical(const hsc_instr *instr, hsc_convolution *c) {
  const hsc_conv_dims *d = &instr->attr.conv.dims;
  const hsc_shape *lhs = &instr->operands[0]->shape;
  const hsc_shape *rhs = &instr->operands[1]->shape;
  const hsc_shape *out = &instr->shape;
  int64_t feature_groups =
      instr->attr.conv.feature_groups > 1 ? instr->attr.conv.feature_groups : 1;
  int64_t batch_groups = instr->attr.conv.batch_groups > 1 ? instr->attr.conv.batch_groups : 1;
  if (feature_groups > 1 && batch_groups > 1)
    return HSC_ERR(UNIMPLEMENTED,
                   "convolution: not built yet: feature groups and batch groups at once");
  if (d->spatial_rank > HSC_CONV_MAX_AXES)
    return HSC_ERR(UNIMPLEMENTED, "convolution: not built yet: more than %d spatial dimensions",
                   HSC_CONV_MAX_AXES);
  c->groups = feature_groups * batch_groups;
  c->batch = out->dims[d->output_batch];
  c->features = rhs->dims[d->kernel_input];
  c->columns = rhs->dims[d->kernel_output] / c->groups;
  c->lhs_batch_stride = stride_of(lhs, d->input_batch);
  c->lhs_feature_stride = stride_of(lhs, d->input_feature);
  c->lhs_group_stride =
      feature_groups > 1 ? c->features * c->lhs_feature_stride : c->batch * c->lhs_batch_stride;
  c->rhs_feature_stride = stride_of(rhs, d->kernel_input);
  c->rhs_column_stride = stride_of(rhs, d->kernel_output);
  c->rhs_group_stride = c->columns * c->rhs_column_stride;
  c->out_batch_stride = stride_of(out, d->output_batch);
  c->out_group_stride = c->columns;
  c->lhs.elements = hsc_shape_elements(lhs);
  c->rhs.elements = hsc_shape_elements(rhs);
  c->lhs.type = (int32_t)lhs->type;
  c->rhs.type = (int32_t)rhs->type;
  read_axes(instr, c);
  return NULL;
}

static bool is_depthwise(const hsc_convolution *c) {
  return c->features == 1 && c->columns == 1 && c->groups >= 4 && c->lhs_group_stride == 1 &&
         c->rhs_group_stride == 1 && c->phase_count == 1;
}

static hsc_conv_candidate choose_candidate(const hsc_convolution *c) {
  if (is_depthwise(c))
    return HSC_CONV_CHANNELS;
  bool features_run = c->lhs_feature_stride == 1 || c->features == 1;
  bool batches_run = c->lhs_batch_stride == 1 && c->batch > 1;
  // Few features and a long window: rows of one step each would be slow where batches run.
  if (batches_run && (!features_run || c->features < 4))
    return HSC_CONV_PACKED;
  return HSC_CONV_ROWS;
}

static int winograd_tile(int32_t candidate) {
  if (candidate == HSC_CONV_WINOGRAD_2)
    return 2;
  if (candidate == HSC_CONV_WINOGRAD_4)
    return 4;
  return 0;
}

// Chooses how the convolution is done and brings its operands into the forms that this way reads:
// copies where it must, merged dimensions where it can. algorithm < 0: the choice is ours.
static hsc_status *choose_form(const hsc_instr *instr, int64_t algorithm, hsc_convolution *c) {
  if (algorithm >= 0 && candidate_kernels[algorithm] == HSC_CONV_CHANNELS && !is_depthwise(c))
    return HSC_ERR(FAILED_PRECONDITION, "%s: not a depthwise convolution",
                   candidate_texts[algorithm]);
  c->candidate = algorithm < 0 ? (int32_t)choose_candidate(c) : candidate_kernels[algorithm];
  c->algorithm = algorithm < 0 ? c->candidate : (int32_t)algorithm;
  bool features_run = c->lhs_feature_stride == 1 || c->features == 1;
  if (c->lhs.type != c->compute_type ||
      (!features_run && c->lhs_batch_stride != 1 && winograd_tile(c->candidate)) ||
      (c->candidate == HSC_CONV_ROWS && !features_run)) {
    copy_lhs(instr, c);
    if (algorithm < 0)
      c->candidate = c->algorithm = (int32_t)choose_candidate(c);
  }
  if (c->features == 1)
    c->lhs_feature_stride = 1;
  if (c->rhs.type != c->compute_type)
    copy_rhs(instr, c);
  if (c->candidate == HSC_CONV_ROWS)
    merge_features(instr, c);
  else if (c->candidate == HSC_CONV_PACKED)
    merge_batches(instr, c);
  return NULL;
}

// What the window and the result come to: taps, rows, phases.
static void count_rows(hsc_convolution *c) {
  bool packed = c->candidate == HSC_CONV_PACKED;
  if (packed)
    c->phase_count = 1;
  c->taps = 1;
  c->rows = c->batch;
  for (int a = 0; a < c->axis_count; a++) {
    if (packed)
      c->axes[a].phases = 1;
    c->taps *= c->axes[a].window;
    c->rows *= c->axes[a].out_size;
  }
}

static void place_result_copy(const hsc_instr *instr, hsc_convolution *c) {
  if (!c->out_copied)
    return;
  int64_t elements = hsc_shape_elements(&instr->shape);
  c->out_scratch_offset =
      take(&c->scratch_bytes, elements * (int64_t)hsc_type_bytes((hsc_type)c->compute_type));
  c->out_convert_offset = c->out_scratch_offset;
  if (c->out_type != c->compute_type)
    c->out_convert_offset =
        take(&c->scratch_bytes, elements * (int64_t)hsc_type_bytes((hsc_type)c->out_type));
}

// A panel of the right side (k_block x two registers) takes half of the first cache, a block of the
// left side half of the second.
static void plan_blocks(hsc_convolution *c, const hsc_cpu_isa *isa) {
  int64_t bytes = (int64_t)hsc_type_bytes((hsc_type)c->compute_type);
  c->k_block = isa->l1_bytes / 2 / (isa->vector_bytes * 2);
  if (c->algorithm == HSC_CONV_ROWS_DEEP || c->algorithm == HSC_CONV_PACKED_DEEP)
    c->k_block *= 2;
  if (c->algorithm == HSC_CONV_ROWS_SHALLOW)
    c->k_block /= 2;
  c->k_block = hsc_min(hsc_max(c->k_block, 64), hsc_max(c->taps * c->features, 1));
  c->m_block = hsc_clamp(isa->l2_bytes / 2 / (c->k_block * bytes), 24, 480);
}

// Greatest magnitude of an operand's elements; 0 = not of a type whose sums are known to be exact.
static double greatest(hsc_type type) {
  switch (type) {
    case HSC_TYPE_S8:
      return 128;
    case HSC_TYPE_U8:
      return 255;
    case HSC_TYPE_S16:
      return 32768;
    case HSC_TYPE_U16:
      return 65535;
    default:
      return 0;
  }
}

// What products are summed in. Whole numbers are summed as floats, in which every sum is exact, in
// any order: those that fit the significand. HSC_TYPE_INVALID: there is no such type, or the result
// would wrap.
static hsc_type compute_type(const hsc_instr *instr) {
  hsc_type lhs = instr->operands[0]->shape.type;
  hsc_type rhs = instr->operands[1]->shape.type;
  hsc_type out = instr->shape.type;
  if (hsc_type_is_float(out) && hsc_type_is_float(lhs) && hsc_type_is_float(rhs))
    return out == HSC_TYPE_F64 ? HSC_TYPE_F64 : HSC_TYPE_F32;
  int64_t kernels = instr->operands[1]->shape.dims[instr->attr.conv.dims.kernel_output];
  if (out != HSC_TYPE_S32 || kernels == 0)
    return HSC_TYPE_INVALID;
  double terms = (double)(hsc_shape_elements(&instr->operands[1]->shape) / kernels);
  double most = terms * greatest(lhs) * greatest(rhs);
  if (greatest(lhs) == 0 || greatest(rhs) == 0 || most > INT32_MAX)
    return HSC_TYPE_INVALID;
  return most <= 1 << 24 ? HSC_TYPE_F32 : HSC_TYPE_F64;
}

// algorithm < 0: by rule.
static hsc_status *plan(const hsc_instr *instr,
                        const hsc_cpu_isa *isa,
                        int threads,
                        int64_t algorithm,
                        hsc_convolution *out_convolution) {
  hsc_convolution *c = out_convolution;
  *c =
      (hsc_convolution){.out_type = (int32_t)instr->shape.type, .phase_count = 1, .bias_input = -1};
  c->compute_type = (int32_t)compute_type(instr);
  if (c->compute_type == HSC_TYPE_INVALID)
    return HSC_ERR(UNIMPLEMENTED, "convolution: not built yet: kernels for %s",
                   hsc_type_text(instr->shape.type));
  HSC_TRY(canonical(instr, c));
  if (hsc_shape_elements(&instr->shape) == 0)
    return NULL;
  c->rhs.input = 1;
  for (int a = 0; a < c->axis_count; a++)
    c->phase_count *= c->axes[a].phases;
  if (!lays_out_result(instr, c) || c->out_type != c->compute_type)
    copy_out(instr, c);
  HSC_TRY(choose_form(instr, algorithm, c));
  count_rows(c);
  place_copies(c);
  place_result_copy(instr, c);
  plan_blocks(c, isa);
  order_rows(c);
  if (winograd_tile(c->candidate)) {
    c->m_task = c->n_task = c->m_parts = c->n_parts = c->k_parts = c->m_block = 1;
    return hsc_winograd_plan(candidate_texts[c->algorithm], winograd_tile(c->candidate), isa,
                             threads, c);
  }
  plan_tasks(c, isa, threads);
  c->m_block = hsc_min(c->m_block, c->m_task);
  size_worker_scratch(c, isa);
  return NULL;
}

// "operand_precision={highest,...}" wants no error beyond that of the sum.
static const char *wants_direct(const hsc_instr *instr, bool direct_only) {
  if (direct_only)
    return "xla_cpu_strict_dot_conv_math is on";
  if (!hsc_type_is_float(instr->shape.type))
    return "sums of whole numbers are exact";
  for (int i = 0; i < instr->attr.conv.precision.count; i++)
    if (instr->attr.conv.precision.v[i] > 0)
      return "operand_precision is not default";
  return NULL;
}

hsc_status *hsc_convolution_plan_as(const hsc_instr *instr,
                                    const hsc_cpu_isa *isa,
                                    int threads,
                                    bool direct_only,
                                    hsc_conv_candidate candidate,
                                    hsc_convolution *out_convolution) {
  const char *direct = winograd_tile((int32_t)candidate) ? wants_direct(instr, direct_only) : NULL;
  if (direct)
    return HSC_ERR(FAILED_PRECONDITION, "%s: %s", candidate_texts[candidate], direct);
  return plan(instr, isa, threads, candidate, out_convolution);
}

// Whether the candidate can do it; *out_status: what else went wrong.
static bool planned_as(const hsc_instr *instr,
                       const hsc_cpu_isa *isa,
                       int threads,
                       bool direct_only,
                       hsc_conv_candidate candidate,
                       hsc_convolution *out_convolution,
                       hsc_status **out_status) {
  *out_status =
      hsc_convolution_plan_as(instr, isa, threads, direct_only, candidate, out_convolution);
  if (hsc_status_code(*out_status) != HSC_FAILED_PRECONDITION)
    return true;
  hsc_status_free(*out_status);
  return false;
}

hsc_status *hsc_convolution_plan(const hsc_instr *instr,
                                 const hsc_cpu_isa *isa,
                                 int threads,
                                 bool direct_only,
                                 hsc_convolution *out_convolution) {
  hsc_status *status = NULL;
  int64_t written = hsc__cpu_written_algorithm(instr);
  if (written >= 0 && written < HSC_CONV_COUNT &&
      planned_as(instr, isa, threads, direct_only, (hsc_conv_candidate)written, out_convolution,
                 &status))
    return status;
  HSC_TRY(plan(instr, isa, threads, -1, out_convolution));
  int tile = out_convolution->candidate != HSC_CONV_CHANNELS && !wants_direct(instr, direct_only)
                 ? hsc_winograd_pays(out_convolution)
                 : 0;
  if (!tile)
    return NULL;
  hsc_convolution direct = *out_convolution;
  if (planned_as(instr, isa, threads, direct_only,
                 tile == 2 ? HSC_CONV_WINOGRAD_2 : HSC_CONV_WINOGRAD_4, out_convolution, &status))
    return status;
  *out_convolution = direct;
  return NULL;
}

int64_t hsc_convolution_worker_bytes(const hsc_convolution *c, const hsc_cpu_isa *isa) {
  hsc_convolution again = *c;
  size_worker_scratch(&again, isa);
  return again.worker_scratch_bytes;
}

int hsc_convolution_winograd_tile(int32_t candidate) {
  return winograd_tile(candidate);
}

int64_t hsc_convolution_gcd(int64_t a, int64_t b) {
  return gcd(a, b);
}
