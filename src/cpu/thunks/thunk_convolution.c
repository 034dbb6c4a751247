// thunk_convolution.c - runs planned convolutions: copies operands that need it, deals tasks to the
// threads, then what follows the product.
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

hsc_status *hsc__cpu_run_CONVOLUTION(const hsc_cpu_frame *frame, const hsc_cpu_thunk *thunk) {
  const hsc_convolution *c = hsc__cpu_data(frame, thunk);
  if (c->rows == 0 || c->columns == 0 || c->groups == 0)
    return NULL;
  void *buffers[2 * HSC_KERNEL_MAX_BUFFERS];
  char *scratch = thunk->has_scratch ? hsc__cpu_scratch(frame, thunk) : NULL;
  void *product = c->product_bytes ? scratch + c->product_offset : hsc__cpu_output(frame, thunk, 0);
  conv_context cx = {.frame = frame, .thunk = thunk, .run = {.c = c}};
  cx.run.isa_level = frame->executable->device->isa.level;
  cx.run.kernels = hsc_conv_kernels_for(cx.run.isa_level);
  cx.run.lhs = prepare(frame, thunk, c, &c->lhs);
  cx.run.rhs = prepare(frame, thunk, c, &c->rhs);
  cx.run.out = c->out_copied ? scratch + c->out_scratch_offset : product;
  cx.run.partials = scratch ? scratch + c->partial_offset : NULL;
  if (c->winograd.tile)
    cx.run.shared = (float *)(scratch + c->winograd.shared_offset);
  cx.run.bias = c->bias_input >= 0 ? hsc__cpu_input(frame, thunk, c->bias_input) : NULL;
  cx.run.relu = c->relu;
  if (c->epilogue == HSC_EPILOGUE_PANEL || c->epilogue == HSC_EPILOGUE_WHOLE) {
    for (int i = 0; i < thunk->input_count; i++)
      buffers[i] = hsc__cpu_input(frame, thunk, i);
    buffers[thunk->input_count] = product;
    for (int o = 0; o < thunk->output_count; o++)
      buffers[thunk->input_count + 1 + o] = hsc__cpu_output(frame, thunk, o);
    cx.buffers = buffers;
  }
  cx.panel_in_tasks =
      c->epilogue == HSC_EPILOGUE_PANEL && c->rows_in_order && !c->out_copied && c->k_parts == 1 &&
      (c->candidate == HSC_CONV_ROWS ||
       (c->winograd.tile && c->winograd.kind != HSC_WINOGRAD_FILTER && c->order[0] < 0));
  for (int64_t groups = c->winograd.tile ? c->winograd.group_count : 1; cx.run.group < groups;
       cx.run.group++) {
    if (c->winograd.tile)
      hsc_cpu_pool_run(frame->pool, c->winograd.prelude_count, do_prelude, &cx);
    hsc_cpu_pool_run(frame->pool, hsc_convolution_task_count(c), do_task, &cx);
  }
  int64_t row_bytes = c->groups * c->columns * (int64_t)hsc_type_bytes((hsc_type)c->compute_type);
  if (c->k_parts > 1)
    over_rows(&cx, c->rows * c->groups,
              c->columns * (int64_t)hsc_type_bytes((hsc_type)c->compute_type) * c->k_parts,
              add_chunk);
  if (c->out_copied) {
    char *from = cx.run.out;
    if (c->out_type != c->compute_type) {
      hsc_convert_array((hsc_type)c->compute_type, from, (hsc_type)c->out_type,
                        scratch + c->out_convert_offset, c->rows * c->groups * c->columns);
      from = scratch + c->out_convert_offset;
    }
    hsc__cpu_parallel_copy(frame->pool, &c->out_copy, from, product);
  }
  if (c->epilogue == HSC_EPILOGUE_PANEL && !cx.panel_in_tasks)
    over_rows(&cx, c->rows, row_bytes, panel_chunk);
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
  choice->kind = HSC_CPU_THUNK_CONVOLUTION;
  choice->payload = c;
  choice->payload_bytes = sizeof *c;
  step->scratch_bytes = c->scratch_bytes;
  hsc__cpu_need_worker_scratch(compiler, c->worker_scratch_bytes);
  *out_chosen = true;
  return NULL;
}
