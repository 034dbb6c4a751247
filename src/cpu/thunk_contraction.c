// thunk_contraction.c - runs planned dots: copies operands that need it, deals tasks to the threads, calls the candidate on each.
#include "cpu/contraction.h"
#include "cpu/convert.h"
#include "cpu/cpu_internal.h"
#include "cpu/lower.h"
#include "cpu/moves.h"
#include "cpu/openblas.h"

// ---- plain loops ----------------------------------------------------------------------------------------------------------------

// c = a·b on one thread; rows of b are added up, so the inner loop runs along contiguous memory and vectorises.
#define PLAIN(NAME, TYPE)                                                                                                                  \
  static void plain_##NAME(int64_t m, int64_t n, int64_t k, const TYPE *a, hsc_gemm_matrix as, const TYPE *b, hsc_gemm_matrix bs, TYPE *c, \
                           int64_t c_row) {                                                                                                \
    for (int64_t i = 0; i < m; i++) {                                                                                                      \
      TYPE *row = c + i * c_row;                                                                                                           \
      memset(row, 0, sizeof(TYPE) * (size_t)n);                                                                                            \
      for (int64_t p = 0; p < k; p++) {                                                                                                    \
        TYPE x = a[i * as.row + p * as.column];                                                                                            \
        const TYPE *from = b + p * bs.row;                                                                                                 \
        if (bs.column == 1)                                                                                                                \
          for (int64_t j = 0; j < n; j++) row[j] += x * from[j];                                                                           \
        else                                                                                                                               \
          for (int64_t j = 0; j < n; j++) row[j] += x * from[j * bs.column];                                                               \
      }                                                                                                                                    \
    }                                                                                                                                      \
  }
PLAIN(s32, uint32_t)   // wraps
PLAIN(s64, uint64_t)
PLAIN(c64, _Complex float)
PLAIN(c128, _Complex double)

// ---- tasks ----------------------------------------------------------------------------------------------------------------------

typedef struct run_context {
  const hsc_contraction *c;
  const hsc_cpu_frame *frame;
  const hsc_cpu_thunk *thunk;
  const hsc_gemm_kernels *kernels;
  const char *lhs, *rhs;
  char *out;
  int64_t m_parts, n_parts;
  int compute_bytes;
} run_context;

static int64_t batch_offset(const hsc_contraction *c, const int64_t *strides, int64_t batch) {
  int64_t offset = 0;
  for (int i = c->batch_rank - 1; i >= 0; i--) {
    offset += batch % c->batch_size[i] * strides[i];
    batch /= c->batch_size[i];
  }
  return offset;
}

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

static void product(const run_context *run, int64_t m, int64_t n, const void *a, const void *b, void *out, void *scratch) {
  const hsc_contraction *c = run->c;
  hsc_gemm_matrix as = c->lhs.strides, bs = c->rhs.strides;
  if (c->candidate == HSC_CONTRACTION_OPENBLAS && hsc_openblas_product((hsc_type)c->compute_type, m, n, c->k, a, as, b, bs, out, c->n)) return;
  switch ((hsc_type)c->compute_type) {
    case HSC_TYPE_F32: hsc_gemm_f32(run->kernels, &c->blocking, m, n, c->k, a, as, b, bs, out, c->n, false, scratch); break;
    case HSC_TYPE_F64: hsc_gemm_f64(run->kernels, &c->blocking, m, n, c->k, a, as, b, bs, out, c->n, false, scratch); break;
    case HSC_TYPE_S32: plain_s32(m, n, c->k, a, as, b, bs, out, c->n); break;
    case HSC_TYPE_S64: plain_s64(m, n, c->k, a, as, b, bs, out, c->n); break;
    case HSC_TYPE_C64: plain_c64(m, n, c->k, a, as, b, bs, out, c->n); break;
    case HSC_TYPE_C128: plain_c128(m, n, c->k, a, as, b, bs, out, c->n); break;
    default: break;
  }
}

static void do_task(void *context, int64_t chunk, int worker) {
  const run_context *run = context;
  const hsc_contraction *c = run->c;
  int64_t n_part = chunk % run->n_parts, m_part = chunk / run->n_parts % run->m_parts, batch_part = chunk / run->n_parts / run->m_parts;
  int64_t m0 = m_part * c->m_task, n0 = n_part * c->n_task, bytes = run->compute_bytes;
  int64_t m = smaller(c->m_task, c->m - m0), n = smaller(c->n_task, c->n - n0);
  int64_t last_batch = smaller((batch_part + 1) * c->batch_task, c->batch);
  for (int64_t batch = batch_part * c->batch_task; batch < last_batch; batch++) {
    const char *a = run->lhs + (batch_offset(c, c->lhs.batch_stride, batch) + m0 * c->lhs.strides.row) * bytes;
    const char *b = run->rhs + (batch_offset(c, c->rhs.batch_stride, batch) + n0 * c->rhs.strides.column) * bytes;
    char *out = run->out + ((batch * c->m + m0) * c->n + n0) * bytes;
    product(run, m, n, a, b, out, hsc__cpu_worker_scratch(run->frame, worker));
  }
}

// The operand as the tasks read it: where it is stored, or its copy.
static const char *prepare(const hsc_cpu_frame *frame, const hsc_cpu_thunk *thunk, const hsc_contraction *c, const hsc_contraction_operand *operand, int number, int64_t elements) {
  const char *stored = hsc__cpu_input(frame, thunk, number);
  if (!operand->copied) return stored;
  char *to = (char *)hsc__cpu_scratch(frame, thunk) + operand->scratch_offset;
  hsc__cpu_parallel_copy(frame->pool, &operand->copy, stored, to);
  if (operand->type == c->compute_type) return to;
  char *converted = to + (elements * (int64_t)hsc_type_bytes((hsc_type)operand->type) + 63) / 64 * 64;
  hsc_convert_array((hsc_type)operand->type, to, (hsc_type)c->compute_type, converted, elements);
  return converted;
}

hsc_status *hsc__cpu_run_CONTRACTION(const hsc_cpu_frame *frame, const hsc_cpu_thunk *thunk) {
  const hsc_contraction *c = hsc__cpu_data(frame, thunk);
  if (c->batch == 0 || c->m == 0 || c->n == 0) return NULL;
  run_context run = {.c = c, .frame = frame, .thunk = thunk, .kernels = hsc_gemm_kernels_for(frame->executable->device->isa.level),
                     .compute_bytes = (int)hsc_type_bytes((hsc_type)c->compute_type)};
  run.lhs = prepare(frame, thunk, c, &c->lhs, 0, c->batch * c->m * c->k);
  run.rhs = prepare(frame, thunk, c, &c->rhs, 1, c->batch * c->k * c->n);
  void *out = hsc__cpu_output(frame, thunk, 0);
  run.out = c->convert_out ? (char *)hsc__cpu_scratch(frame, thunk) + c->out_scratch_offset : out;
  run.m_parts = (c->m + c->m_task - 1) / c->m_task;
  run.n_parts = (c->n + c->n_task - 1) / c->n_task;
  int64_t batch_parts = (c->batch + c->batch_task - 1) / c->batch_task;
  hsc_cpu_pool_run(frame->pool, batch_parts * run.m_parts * run.n_parts, do_task, &run);
  if (c->convert_out) hsc_convert_array((hsc_type)c->compute_type, run.out, (hsc_type)c->out_type, out, c->batch * c->m * c->n);
  return NULL;
}

// ---- choosing -------------------------------------------------------------------------------------------------------------------

hsc_status *hsc__cpu_choose_contraction(hsc_cpu_compiler *compiler, hsc_cpu_step *step, hsc_cpu_choice *choice, bool *out_chosen) {
  *out_chosen = false;
  if (step->instr->op != HSC_OP_DOT || step->instr->operand_count != 2) return NULL;
  hsc_contraction *contraction = HSC_NEW(compiler->arena, hsc_contraction);
  HSC_TRY(hsc_arena_status(compiler->arena));
  hsc_status *status = hsc_contraction_plan(step->instr, &compiler->device->isa, hsc_cpu_pool_thread_count(compiler->device->pool), contraction);
  if (hsc_status_code(status) == HSC_UNIMPLEMENTED) {
    hsc_status_free(status);
    return NULL;
  }
  HSC_TRY(status);
  choice->kind = HSC_CPU_THUNK_CONTRACTION;
  choice->payload = contraction;
  choice->payload_bytes = sizeof *contraction;
  step->scratch_bytes = contraction->scratch_bytes;
  hsc__cpu_need_worker_scratch(compiler, contraction->worker_scratch_bytes);
  *out_chosen = true;
  return NULL;
}
