// thunk_contraction.c - runs planned dots: copies operands that need it, dispatches tasks to the
// threads, calls the candidate on each.
#include <stdlib.h>

#include "base/core/ints.h"
#include "cpu/emit/emit.h"
#include "cpu/kernels/gemm/complex.h"
#include "cpu/kernels/gemm/contraction.h"
#include "cpu/kernels/gemm/narrow.h"
#include "cpu/kernels/move/convert.h"
#include "cpu/thunks/kernels.h"
#include "cpu/thunks/lower.h"
#include "cpu/thunks/moves.h"
#include "cpu/kernels/gemm/openblas.h"

// ---- plain loops --------------------------------------------------------------------------------

// c = a·b on one thread; rows of b are added up, so the inner loop runs along contiguous memory and
// vectorises.
#define PLAIN(NAME, TYPE) \
  static void plain_##NAME(int64_t m, int64_t n, int64_t k, const TYPE *a, hsc_gemm_matrix as, \
                           const TYPE *b, hsc_gemm_matrix bs, TYPE *c, int64_t c_row) { \
    for (int64_t i = 0; i < m; i++) { \
      TYPE *row = c + i * c_row; \
      memset(row, 0, sizeof(TYPE) * (size_t)n); \
      for (int64_t p = 0; p < k; p++) { \
        TYPE x = a[i * as.row + p * as.column]; \
        const TYPE *from = b + p * bs.row; \
        if (bs.column == 1) \
          for (int64_t j = 0; j < n; j++) \
            row[j] += x * from[j]; \
        else \
          for (int64_t j = 0; j < n; j++) \
            row[j] += x * from[j * bs.column]; \
      } \
    } \
  }
PLAIN(s32, uint32_t)  // wraps
PLAIN(s64, uint64_t)

// ---- tasks --------------------------------------------------------------------------------------

typedef struct run_context {
  const hsc_contraction *c;
  const hsc_cpu_frame *frame;
  const hsc_cpu_thunk *thunk;
  const hsc_gemm_kernels *kernels;
  const char *lhs, *rhs;
  char *out;
  int64_t m_parts, n_parts;
  int compute_bytes;
  int lhs_bytes, rhs_bytes;  // of an element as the tasks read it
  // where the product is converted to, task by task, as a matrix of its own; NULL = it is not
  char *converted;
  const char *bias;
  void **buffers;  // of the generated epilogue
} run_context;

static int64_t batch_offset(const hsc_contraction *c, const int64_t *strides, int64_t batch) {
  int64_t offset = 0;
  for (int i = c->batch_rank - 1; i >= 0; i--) {
    offset += batch % c->batch_size[i] * strides[i];
    batch /= c->batch_size[i];
  }
  return offset;
}

#define BIAS(NAME, TYPE) \
  static void bias_##NAME(int64_t m, int64_t n, TYPE *c, int64_t c_row, const TYPE *bias, \
                          bool relu) { \
    for (int64_t i = 0; i < m; i++) \
      for (int64_t j = 0; j < n; j++) { \
        TYPE value = c[i * c_row + j] + (bias ? bias[j] : 0); \
        c[i * c_row + j] = relu && value < 0 ? 0 : value; \
      } \
  }
BIAS(f32, float)
BIAS(f64, double)

static bool try_openblas(const run_context *run,
                         int64_t m,
                         int64_t n,
                         const void *a,
                         const void *b,
                         void *out,
                         hsc_gemm_epilogue epilogue) {
  const hsc_contraction *c = run->c;
  if (!hsc_openblas_product((hsc_type)c->compute_type, m, n, c->k, a, c->lhs.strides, b,
                            c->rhs.strides, out, c->n))
    return false;
  if (!epilogue.bias && !epilogue.relu)
    return true;
  if (c->compute_type == HSC_TYPE_F32)
    bias_f32(m, n, out, c->n, epilogue.bias, epilogue.relu);
  else
    bias_f64(m, n, out, c->n, epilogue.bias, epilogue.relu);
  return true;
}

static void product_narrow(const run_context *run,
                           int64_t m,
                           int64_t n,
                           const void *a,
                           const void *b,
                           void *out,
                           hsc_gemm_epilogue epilogue,
                           void *scratch) {
  const hsc_contraction *c = run->c;
  hsc_narrow_product(&run->frame->executable->device->isa, (hsc_type)c->lhs.type,
                     (hsc_type)c->rhs.type, (hsc_type)c->compute_type, m, n, c->k, a,
                     c->lhs.strides, b, c->rhs.strides, out, c->n, scratch);
  if (epilogue.bias || epilogue.relu)
    bias_f32(m, n, out, c->n, epilogue.bias, epilogue.relu);
}

// Rows of a task's part of the product in the type of the result.
static void convert_part(const run_context *run, const char *from, char *to, int64_t m, int64_t n) {
  const hsc_contraction *c = run->c;
  int64_t to_bytes = (int64_t)hsc_type_bytes((hsc_type)c->out_type);
  const hsc_narrow_kernels *kernels =
      hsc_narrow_kernels_for(run->frame->executable->device->isa.level);
  void (*round)(const float *, uint16_t *, int64_t) = NULL;
  if (kernels && c->compute_type == HSC_TYPE_F32) {
    if (c->out_type == HSC_TYPE_BF16)
      round = kernels->round_bf16;
    else if (c->out_type == HSC_TYPE_F16)
      round = kernels->round_f16;
  }
  for (int64_t i = 0; i < m; i++) {
    const char *row = from + i * c->n * run->compute_bytes;
    if (round)
      round((const float *)row, (uint16_t *)(to + i * c->n * to_bytes), n);
    else
      hsc_convert_array((hsc_type)c->compute_type, row, (hsc_type)c->out_type,
                        to + i * c->n * to_bytes, n);
  }
}

static void product(const run_context *run,
                    int64_t m,
                    int64_t n,
                    const void *a,
                    const void *b,
                    void *out,
                    hsc_gemm_epilogue epilogue,
                    void *scratch) {
  const hsc_contraction *c = run->c;
  hsc_gemm_matrix as = c->lhs.strides;
  hsc_gemm_matrix bs = c->rhs.strides;
  if (c->candidate == HSC_CONTRACTION_NARROW) {
    product_narrow(run, m, n, a, b, out, epilogue, scratch);
    return;
  }
  if (c->candidate == HSC_CONTRACTION_OPENBLAS && try_openblas(run, m, n, a, b, out, epilogue))
    return;
  switch ((hsc_type)c->compute_type) {
    case HSC_TYPE_F32:
      hsc_gemm_f32(run->kernels, &c->blocking, m, n, c->k, a, as, b, bs, out, c->n, false, epilogue,
                   scratch);
      break;
    case HSC_TYPE_F64:
      hsc_gemm_f64(run->kernels, &c->blocking, m, n, c->k, a, as, b, bs, out, c->n, false, epilogue,
                   scratch);
      break;
    case HSC_TYPE_S32:
      plain_s32(m, n, c->k, a, as, b, bs, out, c->n);
      break;
    case HSC_TYPE_S64:
      plain_s64(m, n, c->k, a, as, b, bs, out, c->n);
      break;
    case HSC_TYPE_C64:
    case HSC_TYPE_C128:
      hsc_complex_product(&run->frame->executable->device->isa, c->compute_type == HSC_TYPE_C128, m,
                          n, c->k, a, as, b, bs, out, c->n, scratch);
      break;
    default:
      break;
  }
}

static void do_task(void *context, int64_t chunk, int worker) {
  const run_context *run = context;
  const hsc_contraction *c = run->c;
  int64_t n_part = chunk % run->n_parts;
  int64_t m_part = chunk / run->n_parts % run->m_parts;
  int64_t batch_part = chunk / run->n_parts / run->m_parts;
  int64_t m0 = m_part * c->m_task;
  int64_t n0 = n_part * c->n_task;
  int64_t bytes = run->compute_bytes;
  int64_t m = hsc_min(c->m_task, c->m - m0);
  int64_t n = hsc_min(c->n_task, c->n - n0);
  int64_t last_batch = hsc_min((batch_part + 1) * c->batch_task, c->batch);
  for (int64_t batch = batch_part * c->batch_task; batch < last_batch; batch++) {
    const char *a =
        run->lhs +
        (batch_offset(c, c->lhs.batch_stride, batch) + m0 * c->lhs.strides.row) * run->lhs_bytes;
    const char *b =
        run->rhs +
        (batch_offset(c, c->rhs.batch_stride, batch) + n0 * c->rhs.strides.column) * run->rhs_bytes;
    char *out = run->out + ((batch * c->m + m0) * c->n + n0) * bytes;
    hsc_gemm_epilogue epilogue = {.bias = run->bias ? run->bias + n0 * bytes : NULL,
                                  .relu = c->relu};
    product(run, m, n, a, b, out, epilogue, hsc__cpu_worker_scratch(run->frame, worker));
    if (run->converted)
      convert_part(run, out,
                   run->converted + ((batch * c->m + m0) * c->n + n0) *
                                        (int64_t)hsc_type_bytes((hsc_type)c->out_type),
                   m, n);
    if (c->epilogue == HSC_EPILOGUE_PANEL)
      run->frame->executable->kernels[run->thunk->kernel].panel(run->buffers, batch * c->m + m0,
                                                                batch * c->m + m0 + m, n0, n0 + n);
  }
}

// The operand as the tasks read it: where it is stored, or its copy.
static const char *prepare(const hsc_cpu_frame *frame,
                           const hsc_cpu_thunk *thunk,
                           const hsc_contraction *c,
                           const hsc_contraction_operand *operand,
                           int64_t elements) {
  const char *stored = hsc__cpu_input(frame, thunk, operand->input);
  if (!operand->copied)
    return stored;
  char *to = (char *)hsc__cpu_scratch(frame, thunk) + operand->scratch_offset;
  hsc__cpu_parallel_copy(frame->pool, &operand->copy, stored, to);
  if (operand->type == c->compute_type || c->candidate == HSC_CONTRACTION_NARROW)
    return to;
  char *converted =
      to + (elements * (int64_t)hsc_type_bytes((hsc_type)operand->type) + 63) / 64 * 64;
  hsc_convert_array((hsc_type)operand->type, to, (hsc_type)c->compute_type, converted, elements);
  return converted;
}

hsc_status *hsc__cpu_run_contraction(const hsc_cpu_frame *frame, const hsc_cpu_thunk *thunk) {
  const hsc_contraction *c = hsc__cpu_data(frame, thunk);
  if (c->batch == 0 || c->m == 0 || c->n == 0)
    return NULL;
  run_context run = {.c = c,
                     .frame = frame,
                     .thunk = thunk,
                     .kernels = hsc_gemm_kernels_for(frame->executable->device->isa.level),
                     .compute_bytes = (int)hsc_type_bytes((hsc_type)c->compute_type)};
  bool narrow = c->candidate == HSC_CONTRACTION_NARROW;
  run.lhs_bytes = narrow ? (int)hsc_type_bytes((hsc_type)c->lhs.type) : run.compute_bytes;
  run.rhs_bytes = narrow ? (int)hsc_type_bytes((hsc_type)c->rhs.type) : run.compute_bytes;
  run.lhs = prepare(frame, thunk, c, &c->lhs, c->batch * c->m * c->k);
  run.rhs = prepare(frame, thunk, c, &c->rhs, c->batch * c->k * c->n);
  if (c->bias_input >= 0)
    run.bias = hsc__cpu_input(frame, thunk, c->bias_input);
  void *out = hsc__cpu_output(frame, thunk, 0);
  void *buffers[2 * HSC_KERNEL_MAX_BUFFERS];
  run.out = c->convert_out || c->product_bytes
                ? (char *)hsc__cpu_scratch(frame, thunk) + c->out_scratch_offset
                : out;
  if (c->epilogue == HSC_EPILOGUE_PANEL || c->epilogue == HSC_EPILOGUE_WHOLE) {
    for (int i = 0; i < thunk->input_count; i++)
      buffers[i] = hsc__cpu_input(frame, thunk, i);
    buffers[thunk->input_count] =
        c->convert_out ? (char *)hsc__cpu_scratch(frame, thunk) + c->converted_offset : run.out;
    for (int o = 0; o < thunk->output_count; o++)
      buffers[thunk->input_count + 1 + o] = hsc__cpu_output(frame, thunk, o);
    run.buffers = buffers;
  }
  if (c->convert_out)
    run.converted = run.buffers ? buffers[thunk->input_count] : out;
  run.m_parts = (c->m + c->m_task - 1) / c->m_task;
  run.n_parts = (c->n + c->n_task - 1) / c->n_task;
  int64_t batch_parts = (c->batch + c->batch_task - 1) / c->batch_task;
  hsc_cpu_pool_run(frame->pool, batch_parts * run.m_parts * run.n_parts, do_task, &run);
  if (c->epilogue == HSC_EPILOGUE_WHOLE)
    hsc__cpu_run_pieces(frame->pool, frame->executable->kernels[thunk->kernel].function, buffers,
                        c->epilogue_count, c->epilogue_chunk);
  return NULL;
}

// ---- choosing -----------------------------------------------------------------------------------

// Reads root = [relu] [dot + broadcast of a vector along its columns] off the fused computation.
static bool read_bias(const hsc_instr *fusion, const hsc_instr *dot, hsc_contraction *c) {
  if (c->convert_out || c->compute_type != (int32_t)fusion->shape.type ||
      (c->compute_type != HSC_TYPE_F32 && c->compute_type != HSC_TYPE_F64))
    return false;
  bool relu;
  const hsc_instr *spread;
  if (!hsc__cpu_reads_as_bias(fusion, dot, &relu, &spread))
    return false;
  c->relu = relu;
  if (!spread)
    return true;
  const hsc_shape *vector = &spread->operands[0]->shape;
  // The vector's dimensions are the dot's columns, in order.
  int columns = dot->operands[1]->shape.rank - dot->attr.dot.rhs_batch.count -
                dot->attr.dot.rhs_contracting.count;
  if (vector->rank != columns)
    return false;
  for (int i = 0; i < columns; i++)
    if (spread->attr.dims.dims.v[i] != dot->shape.rank - columns + i)
      return false;
  c->bias_input = (int32_t)spread->operands[0]->attr.index.value;
  return true;
}

static hsc_status *choose_epilogue(hsc_cpu_compiler *compiler,
                                   const hsc_instr *fusion,
                                   const hsc_instr *dot,
                                   hsc_contraction *c,
                                   hsc_cpu_choice *choice,
                                   bool *out_chosen) {
  if (read_bias(fusion, dot, c)) {
    c->epilogue = HSC_EPILOGUE_BIAS;
    *out_chosen = true;
    return NULL;
  }
  c->relu = 0;
  c->bias_input = -1;
  hsc_cpu_epilogue epilogue = {0};
  HSC_TRY(hsc__cpu_add_epilogue(compiler, fusion, &epilogue, &choice->kernel, out_chosen));
  if (!*out_chosen)
    return NULL;
  // A product that is converted first goes to the epilogue as a whole; one that is not of the
  // result's type has a slot of its own.
  c->epilogue = epilogue.by_panels ? HSC_EPILOGUE_PANEL : HSC_EPILOGUE_WHOLE;
  c->epilogue_count = epilogue.count;
  c->epilogue_chunk = epilogue.chunk;
  if (c->convert_out) {
    c->converted_offset = c->scratch_bytes;
    c->scratch_bytes += (hsc_shape_bytes(&dot->shape) + 63) / 64 * 64;
  } else if (!epilogue.by_panels || c->compute_type != (int32_t)fusion->shape.type ||
             !hsc_shape_is_array(&fusion->shape)) {
    c->product_bytes = hsc_shape_bytes(&dot->shape);
    c->out_scratch_offset = c->scratch_bytes;
    c->scratch_bytes += (c->product_bytes + 63) / 64 * 64;
  }
  return NULL;
}

hsc_status *hsc__cpu_choose_contraction(hsc_cpu_compiler *compiler,
                                        hsc_cpu_step *step,
                                        hsc_cpu_choice *choice,
                                        bool *out_chosen) {
  const hsc_instr *instr = step->instr;
  const hsc_instr *product_of = hsc_kernel_product(instr);
  const hsc_instr *dot = product_of ? product_of : instr;
  *out_chosen = false;
  if (dot->op != HSC_OP_DOT || dot->operand_count != 2)
    return NULL;
  if (product_of &&
      (dot->operands[0]->op != HSC_OP_PARAMETER || dot->operands[1]->op != HSC_OP_PARAMETER))
    return NULL;
  // Short products are generated code, unless somebody asks for one of the algorithms.
  bool generated = false;
  uint64_t in_place[HSC_KERNEL_MAX_BUFFERS];
  hsc_kernel_plan plan = {0};
  if (!product_of && !getenv("HLOSCOPE_CPU_DOT"))
    HSC_TRY(hsc_kernel_plan_try(dot, &compiler->device->isa, &plan, in_place, &generated));
  if (generated)
    return NULL;
  hsc_contraction *contraction = HSC_NEW(compiler->arena, hsc_contraction);
  HSC_TRY(hsc_arena_status(compiler->arena));
  hsc_status *status = hsc_contraction_plan(
      dot, &compiler->device->isa, hsc_cpu_pool_thread_count(compiler->device->pool), contraction);
  if (hsc_status_code(status) == HSC_UNIMPLEMENTED) {
    hsc_status_free(status);
    return NULL;
  }
  HSC_TRY(status);
  if (product_of) {
    contraction->lhs.input = (int32_t)dot->operands[0]->attr.index.value;
    contraction->rhs.input = (int32_t)dot->operands[1]->attr.index.value;
    bool fits = false;
    HSC_TRY(choose_epilogue(compiler, instr, dot, contraction, choice, &fits));
    if (!fits)
      return NULL;
  }
  choice->payload = contraction;
  choice->payload_bytes = sizeof *contraction;
  step->scratch_bytes = contraction->scratch_bytes;
  hsc__cpu_need_worker_scratch(compiler, contraction->worker_scratch_bytes);
  *out_chosen = true;
  return NULL;
}

// ---- checking -----------------------------------------------------------------------------------

// Types that `product` has a loop for.
static bool computes_in(int32_t type) {
  switch (type) {
    case HSC_TYPE_F32:
    case HSC_TYPE_F64:
    case HSC_TYPE_S32:
    case HSC_TYPE_S64:
    case HSC_TYPE_C64:
    case HSC_TYPE_C128:
      return true;
    default:
      return false;
  }
}

// An operand of rows x columns a batch, where it is stored or as its copy.
static bool side_fits(const hsc_cpu_payload *p,
                      const hsc_contraction *c,
                      const hsc_contraction_operand *o,
                      int64_t rows,
                      int64_t columns) {
  if (!hsc__is_element_type(o->type) || !hsc__payload_reads(p, o->input, 0))
    return false;
  int64_t compute = (int64_t)hsc_type_bytes((hsc_type)c->compute_type);
  int64_t stored = (int64_t)hsc_type_bytes((hsc_type)o->type);
  int64_t elements = hsc__size_times(c->batch, hsc__size_times(rows, columns));
  int64_t room = p->inputs[o->input].bytes;
  bool narrow = c->candidate == HSC_CONTRACTION_NARROW;
  if (!o->copied && o->type != c->compute_type && !narrow)
    return false;
  // Narrow ones are read as they are stored.
  if (narrow)
    compute = stored;
  if (o->copied) {
    room = hsc__size_times(elements, compute);
    int64_t first = hsc__size_times(elements, stored);
    int64_t whole = o->type == c->compute_type || narrow
                        ? room
                        : hsc__size_plus(hsc__size_rounded(first, 64), room);
    if (o->copy.element_bytes != stored || !hsc__payload_scratch(p, o->scratch_offset, whole) ||
        !hsc__strided_fits(&o->copy, hsc__reach_begin(0), p->inputs[o->input].bytes,
                           hsc__reach_begin(0), first))
      return false;
  }
  hsc_reach reach = hsc__reach_begin(0);
  for (int i = 0; i < c->batch_rank; i++)
    hsc__reach_add(&reach, c->batch_size[i], o->batch_stride[i]);
  hsc__reach_add(&reach, rows, o->strides.row);
  hsc__reach_add(&reach, columns, o->strides.column);
  return o->strides.row >= 0 && o->strides.column >= 0 &&
         hsc__reach_fits(&reach, compute, compute, room);
}

static bool batches_fit(const hsc_contraction *c) {
  int64_t batch = 1;
  if (c->batch_rank < 0 || c->batch_rank > HSC_CONTRACTION_MAX_BATCH_DIMS)
    return false;
  for (int i = 0; i < c->batch_rank; i++)
    batch = c->batch_size[i] < 1 ? -1 : hsc__size_times(batch, c->batch_size[i]);
  return batch == c->batch;
}

// Where the product lies, and its way to the result.
static bool result_fits(hsc_cpu_payload *p, const hsc_contraction *c) {
  int64_t elements = hsc__size_times(c->batch, hsc__size_times(c->m, c->n));
  int64_t computed = hsc__size_times(elements, (int64_t)hsc_type_bytes((hsc_type)c->compute_type));
  int64_t converted = hsc__size_times(elements, (int64_t)hsc_type_bytes((hsc_type)c->out_type));
  bool generated = c->epilogue == HSC_EPILOGUE_PANEL || c->epilogue == HSC_EPILOGUE_WHOLE;
  if (c->convert_out != (c->compute_type != c->out_type))
    return false;
  if ((c->convert_out || c->product_bytes) &&
      !hsc__payload_scratch(p, c->out_scratch_offset, computed))
    return false;
  if (!c->convert_out && !c->product_bytes && !hsc__payload_writes(p, 0, computed))
    return false;
  if (c->convert_out && !(generated ? hsc__payload_scratch(p, c->converted_offset, converted)
                                    : hsc__payload_writes(p, 0, converted)))
    return false;
  int64_t bias = hsc__size_times(c->n, (int64_t)hsc_type_bytes((hsc_type)c->compute_type));
  if (c->bias_input >= 0 && !hsc__payload_reads(p, c->bias_input, bias))
    return false;
  return hsc__epilogue_fits(p, c->epilogue, hsc__size_times(c->batch, c->m), c->n,
                            c->epilogue_count, c->epilogue_chunk, converted);
}

bool hsc__cpu_check_contraction(hsc_cpu_payload *p) {
  const hsc_contraction *c = p->data;
  if (!hsc__payload_is(p, sizeof *c, -1, -1) || p->thunk->output_count < 1)
    return false;
  if (c->batch < 0 || c->m < 0 || c->n < 0 || c->k < 0)
    return false;
  if (c->batch == 0 || c->m == 0 || c->n == 0)
    return true;  // nothing to do
  if (c->candidate < 0 || c->candidate >= HSC_CONTRACTION_COUNT || !computes_in(c->compute_type) ||
      !hsc__is_element_type(c->out_type))
    return false;
  // Tasks count in whole pieces beyond the sides: twice a side has to be a number.
  if (c->m_task < 1 || c->n_task < 1 || c->batch_task < 1 || c->m_task > c->m + 64 ||
      c->n_task > c->n + 4096 || c->batch_task > c->batch)
    return false;
  return batches_fit(c) && side_fits(p, c, &c->lhs, c->m, c->k) &&
         side_fits(p, c, &c->rhs, c->k, c->n) && result_fits(p, c) &&
         hsc_contraction_blocks_fit(c, &p->executable->device->isa) &&
         hsc__payload_worker_scratch(p, c->worker_scratch_bytes);
}
