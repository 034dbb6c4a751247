// thunk_convolution.c - runs planned convolutions: copies operands that need it, dispatches tasks
// to the threads, then what follows the product.
#include "cpu/kernels/gemm/contraction.h"
#include "cpu/kernels/move/convert.h"
#include "cpu/kernels/conv/convolution.h"
#include "cpu/thunks/kernels.h"
#include "cpu/thunks/lower.h"
#include "cpu/thunks/moves.h"

// ---- running ------------------------------------------------------------------------------------

typedef struct conv_context {
  hsc_conv_run run;
  const hsc_cpu_frame *frame;
  const hsc_cpu_thunk *thunk;
  void **buffers;  // of the generated epilogue
  bool panel_in_tasks;
  int64_t add_chunk, add_rows;
} conv_context;

static void do_task(void *context, int64_t chunk, int worker) {
  const conv_context *cx = context;
  int64_t m0, m1, n0, n1;
  hsc_convolution_task(&cx->run, chunk, hsc__cpu_worker_scratch(cx->frame, worker));
  if (!cx->panel_in_tasks)
    return;
  hsc_convolution_place(cx->run.c, chunk, &m0, &m1, &n0, &n1);
  if (m0 < m1 && n0 < n1)
    cx->frame->executable->kernels[cx->thunk->kernel].panel(cx->buffers, m0, m1, n0, n1);
}

static void do_prelude(void *context, int64_t chunk, int worker) {
  const conv_context *cx = context;
  hsc_winograd_prelude(&cx->run, chunk, hsc__cpu_worker_scratch(cx->frame, worker));
}

static void add_chunk(void *context, int64_t chunk, int worker) {
  const conv_context *cx = context;
  int64_t begin = chunk * cx->add_chunk;
  int64_t end = begin + cx->add_chunk;
  hsc_convolution_add_parts(&cx->run, begin, end < cx->add_rows ? end : cx->add_rows);
}

static void panel_chunk(void *context, int64_t chunk, int worker) {
  const conv_context *cx = context;
  int64_t begin = chunk * cx->add_chunk;
  int64_t end = begin + cx->add_chunk;
  cx->frame->executable->kernels[cx->thunk->kernel].panel(
      cx->buffers, begin, end < cx->add_rows ? end : cx->add_rows, 0,
      cx->run.c->groups * cx->run.c->columns);
}

// About 64 KB a chunk.
static void over_rows(conv_context *cx,
                      int64_t rows,
                      int64_t row_bytes,
                      hsc_cpu_chunk_function function) {
  cx->add_rows = rows;
  cx->add_chunk = (64 << 10) / (row_bytes > 0 ? row_bytes : 1) + 1;
  if (rows / cx->add_chunk > 4096)
    cx->add_chunk = rows / 4096 + 1;
  hsc_cpu_pool_run(cx->frame->pool, (rows + cx->add_chunk - 1) / cx->add_chunk, function, cx);
}

// The operand as the tasks read it: where it is stored, or its copy.
static const void *prepare(const hsc_cpu_frame *frame,
                           const hsc_cpu_thunk *thunk,
                           const hsc_convolution *c,
                           const hsc_conv_operand *operand) {
  const char *stored = hsc__cpu_input(frame, thunk, operand->input);
  if (!operand->copied)
    return stored;
  char *scratch = hsc__cpu_scratch(frame, thunk);
  bool converts = operand->type != c->compute_type;
  char *to = scratch + (converts ? operand->stored_offset : operand->scratch_offset);
  if (operand->fill)
    memset(to, 0, (size_t)operand->scratch_elements * hsc_type_bytes((hsc_type)operand->type));
  hsc__cpu_parallel_copy(frame->pool, &operand->copy, stored, to + operand->inside);
  if (!converts)
    return to;
  hsc_convert_array((hsc_type)operand->type, to, (hsc_type)c->compute_type,
                    scratch + operand->scratch_offset, operand->scratch_elements);
  return scratch + operand->scratch_offset;
}

// What the convolution computes from and into. product: where the convolution's own result goes.
static hsc_conv_run run_of(const hsc_cpu_frame *frame,
                           const hsc_cpu_thunk *thunk,
                           const hsc_convolution *c,
                           char *scratch,
                           void *product) {
  hsc_conv_run run = {.c = c, .isa_level = frame->executable->device->isa.level};
  run.kernels = hsc_conv_kernels_for(run.isa_level);
  run.lhs = prepare(frame, thunk, c, &c->lhs);
  run.rhs = prepare(frame, thunk, c, &c->rhs);
  run.out = c->out_copied ? scratch + c->out_scratch_offset : product;
  run.partials = scratch ? scratch + c->partial_offset : NULL;
  if (c->winograd.tile)
    run.shared = (float *)(scratch + c->winograd.shared_offset);
  run.bias = c->bias_input >= 0 ? hsc__cpu_input(frame, thunk, c->bias_input) : NULL;
  run.relu = c->relu;
  return run;
}

// A compiled epilogue's buffers: the thunk's inputs, the product, the thunk's outputs.
static void epilogue_buffers(const hsc_cpu_frame *frame,
                             const hsc_cpu_thunk *thunk,
                             void *product,
                             void **buffers) {
  for (int i = 0; i < thunk->input_count; i++)
    buffers[i] = hsc__cpu_input(frame, thunk, i);
  buffers[thunk->input_count] = product;
  for (int o = 0; o < thunk->output_count; o++)
    buffers[thunk->input_count + 1 + o] = hsc__cpu_output(frame, thunk, o);
}

// A task can do the epilogue of its rows, while they are in the cache, where nothing is added to
// them afterwards and they lie in the product as they do in the result.
static bool panel_fits_in_tasks(const hsc_convolution *c, bool holes_matter) {
  if (holes_matter || c->epilogue != HSC_EPILOGUE_PANEL || !c->rows_in_order || c->out_copied ||
      c->k_parts != 1)
    return false;
  return c->candidate == HSC_CONV_ROWS ||
         (c->winograd.tile && c->winograd.kind != HSC_WINOGRAD_FILTER && c->order[0] < 0);
}

// From the order in which it was computed to that of the product, converted on the way.
static void copy_out(const hsc_cpu_frame *frame,
                     const hsc_convolution *c,
                     char *from,
                     char *scratch,
                     void *product) {
  if (c->out_type != c->compute_type) {
    hsc_convert_array((hsc_type)c->compute_type, from, (hsc_type)c->out_type,
                      scratch + c->out_convert_offset, c->rows * c->groups * c->columns);
    from = scratch + c->out_convert_offset;
  }
  hsc__cpu_parallel_copy(frame->pool, &c->out_copy, from, product);
}

hsc_status *hsc__cpu_run_convolution(const hsc_cpu_frame *frame, const hsc_cpu_thunk *thunk) {
  const hsc_convolution *c = hsc__cpu_data(frame, thunk);
  if (c->rows == 0 || c->columns == 0 || c->groups == 0)
    return NULL;
  void *buffers[2 * HSC_KERNEL_MAX_BUFFERS];
  char *scratch = thunk->has_scratch ? hsc__cpu_scratch(frame, thunk) : NULL;
  void *product = c->product_bytes ? scratch + c->product_offset : hsc__cpu_output(frame, thunk, 0);
  conv_context cx = {
      .frame = frame, .thunk = thunk, .run = run_of(frame, thunk, c, scratch, product)};
  if (c->epilogue == HSC_EPILOGUE_PANEL || c->epilogue == HSC_EPILOGUE_WHOLE) {
    epilogue_buffers(frame, thunk, product, buffers);
    cx.buffers = buffers;
  }
  bool holes_matter = hsc_convolution_holes_matter(&cx.run);
  cx.panel_in_tasks = panel_fits_in_tasks(c, holes_matter);
  for (int64_t groups = c->winograd.tile ? c->winograd.group_count : 1; cx.run.group < groups;
       cx.run.group++) {
    if (c->winograd.tile)
      hsc_cpu_pool_run(frame->pool, c->winograd.prelude_count, do_prelude, &cx);
    hsc_cpu_pool_run(frame->pool, hsc_convolution_task_count(c), do_task, &cx);
  }
  int64_t column_bytes = c->columns * (int64_t)hsc_type_bytes((hsc_type)c->compute_type);
  if (c->k_parts > 1)
    over_rows(&cx, c->rows * c->groups, column_bytes * c->k_parts, add_chunk);
  if (holes_matter)
    hsc_convolution_fill_holes(&cx.run);
  if (c->out_copied)
    copy_out(frame, c, cx.run.out, scratch, product);
  if (c->epilogue == HSC_EPILOGUE_PANEL && !cx.panel_in_tasks)
    over_rows(&cx, c->rows, c->groups * column_bytes, panel_chunk);
  if (c->epilogue == HSC_EPILOGUE_WHOLE)
    hsc__cpu_run_pieces(frame->pool, frame->executable->kernels[thunk->kernel].function, buffers,
                        c->epilogue_count, c->epilogue_chunk);
  return NULL;
}

// ---- choosing -----------------------------------------------------------------------------------

// Reads root = [relu] [convolution + broadcast of a vector along its features] off the fused
// computation.
static bool read_bias(const hsc_instr *fusion, const hsc_instr *product, hsc_convolution *c) {
  if (c->out_type != c->compute_type || c->compute_type != (int32_t)fusion->shape.type)
    return false;
  bool relu;
  const hsc_instr *spread;
  if (!hsc__cpu_reads_as_bias(fusion, product, &relu, &spread))
    return false;
  c->relu = relu;
  if (!spread)
    return true;
  if (spread->operands[0]->shape.rank != 1 ||
      spread->attr.dims.dims.v[0] != product->attr.conv.dims.output_feature)
    return false;
  c->bias_input = (int32_t)spread->operands[0]->attr.index.value;
  return true;
}

static hsc_status *choose_epilogue(hsc_cpu_compiler *compiler,
                                   const hsc_instr *fusion,
                                   const hsc_instr *product,
                                   hsc_convolution *c,
                                   hsc_cpu_choice *choice,
                                   bool *out_fits) {
  if (read_bias(fusion, product, c)) {
    c->epilogue = HSC_EPILOGUE_BIAS;
    *out_fits = true;
    return NULL;
  }
  c->relu = 0;
  c->bias_input = -1;
  hsc_cpu_epilogue epilogue = {0};
  HSC_TRY(hsc__cpu_add_epilogue(compiler, fusion, &epilogue, &choice->kernel, out_fits));
  if (!*out_fits)
    return NULL;
  c->epilogue = epilogue.by_panels ? HSC_EPILOGUE_PANEL : HSC_EPILOGUE_WHOLE;
  c->epilogue_count = epilogue.count;
  c->epilogue_chunk = epilogue.chunk;
  if (!epilogue.by_panels || c->out_type != (int32_t)fusion->shape.type ||
      !hsc_shape_is_array(&fusion->shape)) {
    c->product_bytes = hsc_shape_bytes(&product->shape);
    c->product_offset = c->scratch_bytes;
    c->scratch_bytes += (c->product_bytes + 63) / 64 * 64;
  }
  return NULL;
}

hsc_status *hsc__cpu_choose_convolution(hsc_cpu_compiler *compiler,
                                        hsc_cpu_step *step,
                                        hsc_cpu_choice *choice,
                                        bool *out_chosen) {
  const hsc_instr *instr = step->instr;
  const hsc_instr *product_of = hsc_kernel_product(instr);
  const hsc_instr *product = product_of ? product_of : instr;
  *out_chosen = false;
  if (product->op != HSC_OP_CONVOLUTION)
    return NULL;
  if (product_of && (product->operands[0]->op != HSC_OP_PARAMETER ||
                     product->operands[1]->op != HSC_OP_PARAMETER))
    return NULL;
  hsc_convolution *c = HSC_NEW(compiler->arena, hsc_convolution);
  HSC_TRY(hsc_arena_status(compiler->arena));
  hsc_status *status = hsc_convolution_plan(product, &compiler->device->isa,
                                            hsc_cpu_pool_thread_count(compiler->device->pool),
                                            compiler->options->strict_dot_conv_math, c);
  if (hsc_status_code(status) == HSC_UNIMPLEMENTED) {
    hsc_status_free(status);
    return NULL;
  }
  HSC_TRY(status);
  if (product_of) {
    c->lhs.input = (int32_t)product->operands[0]->attr.index.value;
    c->rhs.input = (int32_t)product->operands[1]->attr.index.value;
    bool fits = false;
    HSC_TRY(choose_epilogue(compiler, instr, product, c, choice, &fits));
    if (!fits)
      return NULL;
  }
  choice->payload = c;
  choice->payload_bytes = sizeof *c;
  step->scratch_bytes = c->scratch_bytes;
  hsc__cpu_need_worker_scratch(compiler, c->worker_scratch_bytes);
  *out_chosen = true;
  return NULL;
}

// ---- checking -----------------------------------------------------------------------------------

static const int64_t LARGEST_SIZE = (int64_t)1 << 31;

static bool is_size(int64_t number, int64_t least) {
  return number >= least && number < LARGEST_SIZE;
}

static bool axis_fits(const hsc_convolution *c, const hsc_conv_axis *a) {
  if (!is_size(a->out_size, 1) || !is_size(a->window, 1) || !is_size(a->in_size, 0) ||
      !is_size(a->stride, 1) || !is_size(a->dilation, 1) || !is_size(a->base_dilation, 1) ||
      a->pad_low <= -LARGEST_SIZE || a->pad_low >= LARGEST_SIZE)
    return false;
  int64_t phases = a->base_dilation / hsc_convolution_gcd(a->stride, a->base_dilation);
  return a->phases == (c->candidate == HSC_CONV_PACKED ? 1 : phases) &&
         (a->checked || a->base_dilation == 1);
}

// Sizes that follow from others, and the order of the rows: each dimension once.
static bool counts_fit(const hsc_convolution *c) {
  int64_t phases = 1;
  int64_t taps = 1;
  int64_t rows = c->batch;
  unsigned seen = 0;
  for (int32_t a = 0; a < c->axis_count; a++) {
    phases = hsc__size_times(phases, c->axes[a].phases);
    taps = hsc__size_times(taps, c->axes[a].window);
    rows = hsc__size_times(rows, c->axes[a].out_size);
  }
  if (phases != c->phase_count || taps != c->taps || rows != c->rows ||
      c->order_count != c->axis_count + 1)
    return false;
  for (int32_t i = 0; i < c->order_count; i++) {
    if (c->order[i] < -1 || c->order[i] >= c->axis_count || seen >> (c->order[i] + 1) & 1)
      return false;
    seen |= 1u << (c->order[i] + 1);
  }
  return hsc__size_times(hsc__size_times(rows, c->groups), c->columns) >= 0 &&
         hsc__size_times(taps, c->features) >= 0;
}

// Tasks cut rows, columns and the sum in whole numbers of pieces.
static bool tasks_fit(const hsc_convolution *c) {
  int64_t rows = c->batch;
  int64_t steps = c->taps * c->features;
  for (int32_t a = 0; a < c->axis_count; a++)
    rows *= (c->axes[a].out_size + c->axes[a].phases - 1) / c->axes[a].phases;
  if (!is_size(c->m_task, 1) || !is_size(c->n_task, 1) || !is_size(c->k_block, 1) ||
      !is_size(c->m_block, 1) || !is_size(c->k_parts, 1))
    return false;
  if (c->winograd.tile)
    return c->k_parts == 1;
  if (c->m_parts != (rows + c->m_task - 1) / c->m_task ||
      c->n_parts != (c->columns + c->n_task - 1) / c->n_task || c->m_block > c->m_task)
    return false;
  if (c->k_parts > 1 && c->candidate != HSC_CONV_PACKED)
    return false;
  if (c->candidate == HSC_CONV_PACKED && (c->k_part < 0 || c->k_part > steps + LARGEST_SIZE ||
                                          hsc__size_times(c->k_part, c->k_parts) < steps))
    return false;
  int64_t tasks = hsc__size_times(c->groups, hsc__size_times(c->phase_count, c->k_parts));
  return hsc__size_times(tasks, hsc__size_times(c->m_parts, c->n_parts)) >= 0;
}

// Loops of a candidate run along what lies side by side.
static bool candidate_fits(const hsc_convolution *c) {
  switch (c->candidate) {
    case HSC_CONV_ROWS:
      return c->lhs_feature_stride == 1 || c->features <= 1;
    case HSC_CONV_PACKED:
    case HSC_CONV_WINOGRAD_2:
    case HSC_CONV_WINOGRAD_4:
      return true;
    case HSC_CONV_CHANNELS:
      return c->features == 1 && c->columns == 1 && c->phase_count == 1 && c->n_parts == 1 &&
             c->lhs_group_stride == 1 && c->rhs_group_stride == 1 && c->out_group_stride == 1;
    default:
      return false;
  }
}

static bool lhs_fits(const hsc_convolution *c, int64_t room, int64_t bytes) {
  hsc_reach reach = hsc__reach_begin(0);
  hsc__reach_add(&reach, c->groups, c->lhs_group_stride);
  hsc__reach_add(&reach, c->batch, c->lhs_batch_stride);
  hsc__reach_add(&reach, c->features, c->lhs_feature_stride);
  for (int32_t i = 0; i < c->axis_count; i++) {
    const hsc_conv_axis *a = &c->axes[i];
    int64_t first;
    if (a->checked) {
      hsc__reach_add(&reach, a->in_size, a->lhs_stride);
      continue;
    }
    int64_t positions = (a->out_size - 1) * a->stride + (a->window - 1) * a->dilation + 1;
    if (__builtin_mul_overflow(-a->pad_low, a->lhs_stride, &first) ||
        __builtin_add_overflow(reach.low, first, &reach.low) ||
        __builtin_add_overflow(reach.high, first, &reach.high))
      return false;
    hsc__reach_add(&reach, positions, a->lhs_stride);
  }
  return hsc__reach_fits(&reach, bytes, bytes, room);
}

static bool rhs_fits(const hsc_convolution *c, int64_t room, int64_t bytes) {
  hsc_reach reach = hsc__reach_begin(c->rhs_offset);
  hsc__reach_add(&reach, c->groups, c->rhs_group_stride);
  hsc__reach_add(&reach, c->features, c->rhs_feature_stride);
  hsc__reach_add(&reach, c->columns, c->rhs_column_stride);
  for (int32_t a = 0; a < c->axis_count; a++)
    hsc__reach_add(&reach, c->axes[a].window, c->axes[a].rhs_stride);
  return hsc__reach_fits(&reach, bytes, bytes, room);
}

static bool out_fits(const hsc_convolution *c, int64_t room, int64_t bytes) {
  hsc_reach reach = hsc__reach_begin(0);
  hsc__reach_add(&reach, c->groups, c->out_group_stride);
  hsc__reach_add(&reach, c->batch, c->out_batch_stride);
  hsc__reach_add(&reach, c->columns, 1);
  for (int32_t a = 0; a < c->axis_count; a++)
    hsc__reach_add(&reach, c->axes[a].out_size, c->axes[a].out_stride);
  return hsc__reach_fits(&reach, bytes, bytes, room);
}

// Where an operand lies while the tasks run; *out_room: its bytes there.
static bool operand_fits(const hsc_cpu_payload *p,
                         const hsc_convolution *c,
                         const hsc_conv_operand *o,
                         int64_t *out_room) {
  if (!hsc__is_element_type(o->type) || !hsc__payload_reads(p, o->input, 0))
    return false;
  int64_t stored = p->inputs[o->input].bytes;
  int64_t type_bytes = (int64_t)hsc_type_bytes((hsc_type)o->type);
  int64_t copy = hsc__size_times(o->scratch_elements, type_bytes);
  bool converts = o->type != c->compute_type;
  *out_room = stored;
  if (!o->copied)
    return !converts;
  *out_room =
      hsc__size_times(o->scratch_elements, (int64_t)hsc_type_bytes((hsc_type)c->compute_type));
  return o->copy.element_bytes == type_bytes &&
         hsc__payload_scratch(p, o->scratch_offset, *out_room) &&
         (!converts || hsc__payload_scratch(p, o->stored_offset, copy)) &&
         hsc__strided_fits(&o->copy, hsc__reach_begin(0), stored, hsc__reach_begin(o->inside),
                           copy);
}

// The product's slot, the way there from scratch, and what follows.
static bool result_fits(hsc_cpu_payload *p, const hsc_convolution *c, int64_t bytes) {
  int64_t elements = hsc__size_times(hsc__size_times(c->rows, c->groups), c->columns);
  int64_t computed = hsc__size_times(elements, bytes);
  int64_t out_bytes = (int64_t)hsc_type_bytes((hsc_type)c->out_type);
  int64_t product = c->product_bytes ? c->product_bytes : p->outputs[0].bytes;
  if (c->product_bytes && !hsc__payload_scratch(p, c->product_offset, c->product_bytes))
    return false;
  if (!c->out_copied && (c->out_type != c->compute_type || !out_fits(c, product, bytes)))
    return false;
  if (c->out_copied) {
    int64_t converted = hsc__size_times(elements, out_bytes);
    bool converts = c->out_type != c->compute_type;
    if (!hsc__payload_scratch(p, c->out_scratch_offset, computed) ||
        (converts && !hsc__payload_scratch(p, c->out_convert_offset, converted)) ||
        !out_fits(c, computed, bytes) || c->out_copy.element_bytes != out_bytes ||
        !hsc__strided_fits(&c->out_copy, hsc__reach_begin(0), converted, hsc__reach_begin(0),
                           product))
      return false;
  }
  if (c->k_parts > 1 &&
      !hsc__payload_scratch(p, c->partial_offset, hsc__size_times(c->k_parts, computed)))
    return false;
  int64_t columns = hsc__size_times(c->groups, c->columns);
  if (c->bias_input >= 0 && !hsc__payload_reads(p, c->bias_input, hsc__size_times(columns, bytes)))
    return false;
  return hsc__epilogue_fits(p, c->epilogue, c->rows, columns, c->epilogue_count, c->epilogue_chunk,
                            product);
}

static bool scratch_fits(const hsc_cpu_payload *p, const hsc_convolution *c) {
  const hsc_cpu_isa *isa = &p->executable->device->isa;
  if (c->winograd.tile)
    return hsc_winograd_fits(c, isa) && hsc__payload_scratch(p, 0, c->scratch_bytes) &&
           hsc__payload_worker_scratch(p, c->worker_scratch_bytes);
  return hsc__payload_worker_scratch(p, hsc_convolution_worker_bytes(c, isa));
}

static bool sizes_fit(const hsc_convolution *c) {
  if (!is_size(c->groups, 1) || !is_size(c->batch, 1) || !is_size(c->features, 0) ||
      !is_size(c->columns, 1) || c->axis_count < 0 || c->axis_count > HSC_CONV_MAX_AXES)
    return false;
  for (int32_t a = 0; a < c->axis_count; a++)
    if (!axis_fits(c, &c->axes[a]))
      return false;
  return true;
}

bool hsc__cpu_check_convolution(hsc_cpu_payload *p) {
  const hsc_convolution *c = p->data;
  int64_t lhs_room, rhs_room;
  if (!hsc__payload_is(p, sizeof *c, -1, -1) || p->thunk->output_count < 1)
    return false;
  if (c->rows == 0 || c->columns == 0 || c->groups == 0)
    return true;  // nothing to do
  if ((c->compute_type != HSC_TYPE_F32 && c->compute_type != HSC_TYPE_F64) ||
      !hsc__is_element_type(c->out_type) || !sizes_fit(c) ||
      c->winograd.tile != hsc_convolution_winograd_tile(c->candidate))
    return false;
  int64_t bytes = (int64_t)hsc_type_bytes((hsc_type)c->compute_type);
  return counts_fit(c) && tasks_fit(c) && candidate_fits(c) &&
         operand_fits(p, c, &c->lhs, &lhs_room) && operand_fits(p, c, &c->rhs, &rhs_room) &&
         lhs_fits(c, lhs_room, bytes) && rhs_fits(c, rhs_room, bytes) && result_fits(p, c, bytes) &&
         scratch_fits(p, c);
}
