// thunk_linalg.c - cholesky and triangular-solve of real matrices (see linalg.h): blocks along the
// diagonal by plain loops, everything else by the kernels of matrix products. Complex matrices and
// narrow floats stay with the evaluator.
#include "cpu/thunks/linalg.h"

#include <math.h>

#include "cpu/thunks/lower.h"

// a block's product: at most 64 x 64 of f64
enum { MAX_COLUMNS = 64, PRODUCT_BYTES = HSC_LINALG_ROWS * MAX_COLUMNS * 8 };

typedef struct linalg_run {
  const hsc_linalg *l;
  const hsc_cpu_frame *frame;
  const hsc_cpu_thunk *thunk;
  const hsc_gemm_kernels *kernels;
  const char *a, *b;
  char *out, *m, *x;
  int64_t column_chunks;
  void *matrix;  // cholesky: of one panel
  int64_t j0, j1;
} linalg_run;

#define TYPE float
#define NAME f32
#include "cpu/thunks/linalg.inc"
#undef TYPE
#undef NAME
#define TYPE double
#define NAME f64
#include "cpu/thunks/linalg.inc"
#undef TYPE
#undef NAME

// ---- choosing -----------------------------------------------------------------------------------

static void plan_solve(const hsc_instr *instr, hsc_linalg *l) {
  const hsc_shape *right = &instr->operands[1]->shape;
  bool left = instr->attr.triangular.left_side;
  bool transposed = (instr->attr.triangular.transpose_a != HSC_NO_TRANSPOSE) == left;
  // What is lower after transposing is solved from the first unknown; the other from the last,
  // which is the first when the order is turned round.
  bool turned = instr->attr.triangular.lower == transposed;
  int64_t n = l->n;
  int64_t bytes = (int64_t)hsc_type_bytes((hsc_type)l->type);
  int64_t columns = right->dims[right->rank - 1];
  l->right_sides = left ? columns : right->dims[right->rank - 2];
  l->unit = instr->attr.triangular.unit_diagonal;
  l->b_elements = right->dims[right->rank - 2] * columns;
  int64_t row = transposed ? 1 : n;
  int64_t column = transposed ? n : 1;
  int64_t unknown = left ? columns : 1;
  int64_t side = left ? 1 : columns;
  int64_t sign = turned ? -1 : 1;
  l->a_from = turned ? n * n - 1 : 0;
  l->b_from = turned ? (n - 1) * unknown : 0;
  l->a_copy = (hsc_strided){.rank = 2,
                            .element_bytes = (int32_t)bytes,
                            .size = {n, n},
                            .from_stride = {sign * row * bytes, sign * column * bytes},
                            .to_stride = {n * bytes, bytes}};
  l->b_copy = (hsc_strided){.rank = 2,
                            .element_bytes = (int32_t)bytes,
                            .size = {n, l->right_sides},
                            .from_stride = {sign * unknown * bytes, side * bytes},
                            .to_stride = {l->right_sides * bytes, bytes}};
}

hsc_status *hsc__cpu_choose_linalg(hsc_cpu_compiler *compiler,
                                   hsc_cpu_step *step,
                                   hsc_cpu_choice *choice,
                                   bool *out_chosen) {
  const hsc_instr *instr = step->instr;
  *out_chosen = false;
  bool solve = instr->op == HSC_OP_TRIANGULAR_SOLVE;
  if (!solve && instr->op != HSC_OP_CHOLESKY)
    return NULL;
  hsc_type type = instr->shape.type;
  const hsc_shape *a = &instr->operands[0]->shape;
  if ((type != HSC_TYPE_F32 && type != HSC_TYPE_F64) || a->type != type ||
      (solve && instr->operands[1]->shape.type != type))
    return NULL;
  hsc_linalg *l = HSC_NEW(compiler->arena, hsc_linalg);
  HSC_TRY(hsc_arena_status(compiler->arena));
  *l = (hsc_linalg){.is_solve = solve,
                    .type = (int32_t)type,
                    .lower = instr->attr.cholesky.lower,
                    .n = a->dims[a->rank - 1],
                    .batches = 1};
  for (int i = 0; i < a->rank - 2; i++)
    l->batches *= a->dims[i];
  int64_t bytes = (int64_t)hsc_type_bytes(type);
  int64_t n = l->n;
  if (solve) {
    plan_solve(instr, l);
    l->x_offset = (l->batches * n * n * bytes + 63) / 64 * 64;
    step->scratch_bytes = l->x_offset + l->batches * n * l->right_sides * bytes;
    hsc_gemm_plan(&compiler->device->isa, (int)bytes, HSC_LINALG_BLOCK, MAX_COLUMNS, n,
                  (hsc_gemm_matrix){n, 1}, (hsc_gemm_matrix){l->right_sides, 1}, NULL,
                  &l->blocking);
  } else {
    hsc_gemm_plan(&compiler->device->isa, (int)bytes, HSC_LINALG_ROWS, HSC_LINALG_BLOCK, n,
                  (hsc_gemm_matrix){n, 1}, (hsc_gemm_matrix){1, n}, NULL, &l->blocking);
  }
  hsc__cpu_need_worker_scratch(compiler, PRODUCT_BYTES + l->blocking.scratch_bytes);
  choice->payload = l;
  choice->payload_bytes = sizeof *l;
  *out_chosen = true;
  return NULL;
}

// ---- running ------------------------------------------------------------------------------------

static void cholesky_one(linalg_run *r, int64_t batch, bool alone, int worker) {
  int64_t at = batch * r->l->n * r->l->n;
  if (r->l->type == HSC_TYPE_F32)
    cholesky_f32(r, (const float *)(const void *)r->a + at, (float *)(void *)r->out + at, alone,
                 worker);
  else
    cholesky_f64(r, (const double *)(const void *)r->a + at, (double *)(void *)r->out + at, alone,
                 worker);
}

static void cholesky_batch(void *context, int64_t batch, int worker) {
  linalg_run r = *(const linalg_run *)context;
  cholesky_one(&r, batch, true, worker);
}

static void copy_in(void *context, int64_t batch, int worker) {
  const linalg_run *r = context;
  const hsc_linalg *l = r->l;
  int64_t bytes = (int64_t)hsc_type_bytes((hsc_type)l->type);
  hsc_strided a = l->a_copy;
  hsc_strided b = l->b_copy;
  hsc_strided_normalize(&a);
  hsc_strided_normalize(&b);
  hsc_strided_copy(&a, r->a + (batch * l->n * l->n + l->a_from) * bytes,
                   r->m + batch * l->n * l->n * bytes, 0, hsc_strided_outer(&a));
  hsc_strided_copy(&b, r->b + (batch * l->b_elements + l->b_from) * bytes,
                   r->x + batch * l->n * l->right_sides * bytes, 0, hsc_strided_outer(&b));
}

static void copy_out(void *context, int64_t batch, int worker) {
  const linalg_run *r = context;
  const hsc_linalg *l = r->l;
  int64_t bytes = (int64_t)hsc_type_bytes((hsc_type)l->type);
  hsc_strided b = l->b_copy;
  for (int i = 0; i < b.rank; i++) {
    int64_t keep = b.from_stride[i];
    b.from_stride[i] = b.to_stride[i];
    b.to_stride[i] = keep;
  }
  hsc_strided_normalize(&b);
  hsc_strided_copy(&b, r->x + batch * l->n * l->right_sides * bytes,
                   r->out + (batch * l->b_elements + l->b_from) * bytes, 0, hsc_strided_outer(&b));
}

static void solve_columns(void *context, int64_t chunk, int worker) {
  const linalg_run *r = context;
  const hsc_linalg *l = r->l;
  int64_t batch = chunk / r->column_chunks;
  int64_t c0 = chunk % r->column_chunks * MAX_COLUMNS;
  int64_t columns = l->right_sides - c0 < MAX_COLUMNS ? l->right_sides - c0 : MAX_COLUMNS;
  char *scratch = hsc__cpu_worker_scratch(r->frame, worker);
  if (l->type == HSC_TYPE_F32)
    solve_f32(r, (const float *)(const void *)r->m + batch * l->n * l->n,
              (float *)(void *)r->x + batch * l->n * l->right_sides, c0, columns, scratch);
  else
    solve_f64(r, (const double *)(const void *)r->m + batch * l->n * l->n,
              (double *)(void *)r->x + batch * l->n * l->right_sides, c0, columns, scratch);
}

hsc_status *hsc__cpu_run_linalg(const hsc_cpu_frame *frame, const hsc_cpu_thunk *thunk) {
  const hsc_linalg *l = hsc__cpu_data(frame, thunk);
  linalg_run r = {.l = l,
                  .frame = frame,
                  .thunk = thunk,
                  .kernels = hsc_gemm_kernels_for(frame->executable->device->isa.level),
                  .a = hsc__cpu_input(frame, thunk, 0),
                  .out = hsc__cpu_output(frame, thunk, 0)};
  if (l->n == 0 || l->batches == 0)
    return NULL;
  if (!l->is_solve) {
    if (l->batches == 1)
      cholesky_one(&r, 0, false, 0);
    else
      hsc_cpu_pool_run(frame->pool, l->batches, cholesky_batch, &r);
    return NULL;
  }
  if (l->right_sides == 0)
    return NULL;
  r.b = hsc__cpu_input(frame, thunk, 1);
  r.m = (char *)hsc__cpu_scratch(frame, thunk) + l->m_offset;
  r.x = (char *)hsc__cpu_scratch(frame, thunk) + l->x_offset;
  r.column_chunks = (l->right_sides + MAX_COLUMNS - 1) / MAX_COLUMNS;
  hsc_cpu_pool_run(frame->pool, l->batches, copy_in, &r);
  hsc_cpu_pool_run(frame->pool, l->batches * r.column_chunks, solve_columns, &r);
  hsc_cpu_pool_run(frame->pool, l->batches, copy_out, &r);
  return NULL;
}

// ---- checking -----------------------------------------------------------------------------------

static bool same_blocking(const hsc_gemm_blocking *a, const hsc_gemm_blocking *b) {
  return a->k_block == b->k_block && a->n_block == b->n_block && a->m_block == b->m_block &&
         a->vectors == b->vectors && a->pack_a == b->pack_a && a->pack_b == b->pack_b &&
         a->scratch_bytes == b->scratch_bytes;
}

static bool solve_fits(const hsc_cpu_payload *p, const hsc_linalg *l, int64_t bytes) {
  int64_t matrix = hsc__size_times(hsc__size_times(l->n, l->n), bytes);
  int64_t unknowns = hsc__size_times(hsc__size_times(l->n, l->right_sides), bytes);
  int64_t right = hsc__size_times(l->b_elements, bytes);
  int64_t a_from, b_from;
  if (l->a_copy.element_bytes != bytes || l->b_copy.element_bytes != bytes)
    return false;
  if (__builtin_mul_overflow(l->a_from, bytes, &a_from) ||
      __builtin_mul_overflow(l->b_from, bytes, &b_from))
    return false;
  return hsc__payload_reads(p, 1, hsc__size_times(right, l->batches)) &&
         hsc__payload_writes(p, 0, hsc__size_times(right, l->batches)) &&
         hsc__payload_scratch(p, l->m_offset, hsc__size_times(matrix, l->batches)) &&
         hsc__payload_scratch(p, l->x_offset, hsc__size_times(unknowns, l->batches)) &&
         hsc__strided_fits(&l->a_copy, hsc__reach_begin(a_from), matrix, hsc__reach_begin(0),
                           matrix) &&
         hsc__strided_fits(&l->b_copy, hsc__reach_begin(b_from), right, hsc__reach_begin(0),
                           unknowns);
}

bool hsc__cpu_check_linalg(hsc_cpu_payload *p) {
  const hsc_linalg *l = p->data;
  const hsc_cpu_isa *isa = &p->executable->device->isa;
  if (!hsc__payload_is(p, sizeof *l, p->bytes == sizeof *l && l->is_solve ? 2 : 1, 1))
    return false;
  if (l->batches < 0 || l->n < 0 || l->right_sides < 0 ||
      (l->type != HSC_TYPE_F32 && l->type != HSC_TYPE_F64))
    return false;
  if (l->n == 0 || l->batches == 0 || (l->is_solve && l->right_sides == 0))
    return true;  // nothing to do
  int64_t bytes = (int64_t)hsc_type_bytes((hsc_type)l->type);
  int64_t all = hsc__size_times(hsc__size_times(l->n, l->n), hsc__size_times(bytes, l->batches));
  hsc_gemm_blocking blocking = {0};
  if (!hsc__payload_reads(p, 0, all))
    return false;
  if (l->is_solve)
    hsc_gemm_plan(isa, (int)bytes, HSC_LINALG_BLOCK, MAX_COLUMNS, l->n, (hsc_gemm_matrix){l->n, 1},
                  (hsc_gemm_matrix){l->right_sides, 1}, NULL, &blocking);
  else
    hsc_gemm_plan(isa, (int)bytes, HSC_LINALG_ROWS, HSC_LINALG_BLOCK, l->n,
                  (hsc_gemm_matrix){l->n, 1}, (hsc_gemm_matrix){1, l->n}, NULL, &blocking);
  if (!same_blocking(&blocking, &l->blocking) ||
      !hsc__payload_worker_scratch(p, hsc__size_plus(PRODUCT_BYTES, blocking.scratch_bytes)))
    return false;
  return l->is_solve ? solve_fits(p, l, bytes) : hsc__payload_writes(p, 0, all);
}
