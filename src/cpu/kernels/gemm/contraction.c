// contraction.c - brings dots to canonical form and chooses how they are done (see contraction.h).
// Running them is thunk_contraction.c.
#include "base/core/ints.h"
#include "cpu/kernels/gemm/contraction.h"

#include <stdlib.h>

#include "cpu/kernels/gemm/complex.h"
#include "cpu/kernels/gemm/narrow.h"
#include "cpu/kernels/gemm/openblas.h"
#include "cpu/kernels/gemm/written_algorithm.h"

static const char *const candidate_texts[] = {
#define CANDIDATE(id, text, doc) text,
#include "cpu/kernels/gemm/contraction_candidates.def"
#undef CANDIDATE
};
const char *hsc_contraction_candidate_text(hsc_contraction_candidate candidate) {
  return candidate_texts[candidate];
}

// Below this many multiply-adds (about 15 us on one core) a second thread costs more than it saves;
// tasks are about half of it.
static const double PARALLEL_MULTIPLY_ADDS = 800e3;
static const double TASK_MULTIPLY_ADDS = 400e3;
enum { MAX_TASKS_PER_THREAD = 6 };

// ---- canonical form -----------------------------------------------------------------------------

typedef struct axis {
  int64_t size, stride;  // elements
} axis;

typedef struct axes {
  int count;
  axis v[HSC_MAX_RANK];
} axes;

static int64_t stride_of(const hsc_shape *shape, int64_t dim) {
  int64_t stride = 1;
  for (int i = shape->rank - 1; i > dim; i--)
    stride *= shape->dims[i];
  return stride;
}

static void add_axis(axes *to, const hsc_shape *shape, int64_t dim) {
  to->v[to->count++] = (axis){shape->dims[dim], stride_of(shape, dim)};
}

static int64_t size_of(const axes *a) {
  int64_t size = 1;
  for (int i = 0; i < a->count; i++)
    size *= a->v[i].size;
  return size;
}

// Merges neighbours that run on; `with` (may be NULL) is merged in step and only where both run on.
static void fold(axes *a, axes *with) {
  int count = 0;
  for (int i = 0; i < a->count; i++) {
    if (a->v[i].size == 1)
      continue;
    bool runs_on = count > 0 && a->v[count - 1].stride == a->v[i].stride * a->v[i].size &&
                   (!with || with->v[count - 1].stride == with->v[i].stride * with->v[i].size);
    if (runs_on) {
      int64_t size = a->v[count - 1].size * a->v[i].size;
      a->v[count - 1] = (axis){size, a->v[i].stride};
      if (with)
        with->v[count - 1] = (axis){size, with->v[i].stride};
    } else {
      a->v[count] = a->v[i];
      if (with)
        with->v[count] = with->v[i];
      count++;
    }
  }
  a->count = count;
  if (with)
    with->count = count;
}

// Contracted dimensions may be summed in any order: by falling stride of the right side, so that
// they fold when either order folds.
static void sort_pairs(axes *a, axes *b) {
  for (int i = 1; i < a->count; i++)
    for (int j = i; j > 0 && b->v[j - 1].stride < b->v[j].stride; j--) {
      axis x = a->v[j];
      axis y = b->v[j];
      a->v[j] = a->v[j - 1];
      b->v[j] = b->v[j - 1];
      a->v[j - 1] = x;
      b->v[j - 1] = y;
    }
}

static int64_t only_stride(const axes *a) {
  return a->count ? a->v[0].stride : 0;
}

static hsc_type compute_type(hsc_type out) {
  switch (hsc_type_class_of(out)) {
    case HSC_CLASS_FLOAT:
      return out == HSC_TYPE_F64 ? HSC_TYPE_F64 : HSC_TYPE_F32;
    case HSC_CLASS_COMPLEX:
      return out;
    default:
      return hsc_type_bits(out) <= 32 && out != HSC_TYPE_PRED ? HSC_TYPE_S32 : HSC_TYPE_S64;
  }
}

// Fills the operand in its stored form, or, where that does not fold or is of another type, as a
// dense copy [batch][rows][columns] in scratch.
static hsc_status *plan_operand(hsc_contraction *c,
                                hsc_contraction_operand *operand,
                                const hsc_shape *shape,
                                const axes *batch,
                                const axes *rows,
                                const axes *columns,
                                const axes *own_batch) {
  operand->type = (int32_t)shape->type;
  int64_t row_count = size_of(rows);
  int64_t column_count = size_of(columns);
  int64_t batch_count = size_of(own_batch);
  bool converted =
      shape->type != (hsc_type)c->compute_type && c->candidate != HSC_CONTRACTION_NARROW;
  operand->copied = converted || rows->count > 1 || columns->count > 1;
  if (!operand->copied) {
    operand->strides = (hsc_gemm_matrix){only_stride(rows), only_stride(columns)};
    // A side of one element has no stride of its own; a neutral one keeps the fast paths open.
    if (column_count == 1)
      operand->strides.column = 1;
    if (row_count == 1)
      operand->strides.row = operand->strides.column == 1 ? column_count : 1;
    for (int i = 0; i < batch->count; i++)
      operand->batch_stride[i] = batch->v[i].stride;
    return NULL;
  }
  int bytes = (int)hsc_type_bytes(shape->type);
  int rank = own_batch->count + rows->count + columns->count;
  if (rank > HSC_STRIDED_MAX_RANK)
    return HSC_ERR(UNIMPLEMENTED, "dot: not built yet: more than %d separate dimensions",
                   HSC_STRIDED_MAX_RANK);
  operand->copy = (hsc_strided){.rank = rank, .element_bytes = bytes};
  const axes *groups[3] = {own_batch, rows, columns};
  int64_t to = bytes;
  int at = rank;
  for (int g = 2; g >= 0; g--)
    for (int i = groups[g]->count - 1; i >= 0; i--) {
      at--;
      operand->copy.size[at] = groups[g]->v[i].size;
      operand->copy.from_stride[at] = groups[g]->v[i].stride * bytes;
      operand->copy.to_stride[at] = to;
      to *= groups[g]->v[i].size;
    }
  hsc_strided_normalize(&operand->copy);
  operand->strides = (hsc_gemm_matrix){column_count, 1};
  int64_t stride = row_count * column_count;
  for (int i = batch->count - 1; i >= 0; i--) {
    operand->batch_stride[i] = stride;
    stride *= batch->v[i].size;
  }
  int64_t elements = batch_count * row_count * column_count;
  operand->scratch_offset = c->scratch_bytes;
  // When the type changes, the ordered copy in the stored type comes first and the converted one
  // after it.
  int64_t stored = converted ? elements * bytes : 0;
  c->scratch_bytes +=
      (stored + 63) / 64 * 64 +
      (elements * (converted ? (int64_t)hsc_type_bytes((hsc_type)c->compute_type) : bytes) + 63) /
          64 * 64;
  return NULL;
}

// ---- tasks --------------------------------------------------------------------------------------

static int64_t panel_width(const hsc_contraction *c, const hsc_cpu_isa *isa) {
  int64_t width = isa->vector_bytes / (int64_t)hsc_type_bytes((hsc_type)c->compute_type) * 2;
  return width < 1 ? 1 : width;
}

// Columns in whole panels, rows in whole tiles.
static void cut(hsc_contraction *c, int64_t width, int64_t m_parts, int64_t n_parts) {
  c->n_task = hsc_divide_up(hsc_divide_up(c->n, width), n_parts) * width;
  c->m_task = hsc_divide_up(c->m, m_parts);
  if (m_parts > 1)
    c->m_task = hsc_divide_up(c->m_task, 6) * 6;
}

// The longer side is cut first.
static void cut_evenly(hsc_contraction *c, int64_t width, int64_t per_product) {
  int64_t n_parts = 1;
  int64_t m_parts = 1;
  if (c->n >= c->m) {
    n_parts = per_product < hsc_divide_up(c->n, width) ? per_product : hsc_divide_up(c->n, width);
    m_parts = hsc_divide_up(per_product, n_parts);
  } else {
    m_parts = per_product < hsc_divide_up(c->m, 24) ? per_product : hsc_divide_up(c->m, 24);
    n_parts = hsc_divide_up(per_product, m_parts);
  }
  cut(c, width, m_parts, n_parts);
}

static void plan_blocks(hsc_contraction *c, const hsc_cpu_isa *isa);

// What all tasks take, in ns: tasks that share rows of A or columns of B each read them or copy
// them into panels, so fewer and squarer tasks move less; more tasks leave less to wait for at the
// end. Rates are those of one core: two fused multiply-adds a cycle; an element copied in a
// nanosecond; rows of B that are not copied are read across pages.
static double estimate(hsc_contraction *c,
                       const hsc_cpu_isa *isa,
                       int threads,
                       int64_t width,
                       int64_t m_parts,
                       int64_t n_parts) {
  static const double COPY_NS = 1;
  static const double READ_A_NS = 0.3;
  static const double READ_B_NS = 0.6;
  static const double START_NS = 400;
  static const double TAIL = 0.35;
  cut(c, width, m_parts, n_parts);
  plan_blocks(c, isa);
  double per_ns = 2.5 * (double)width;
  double task = (double)c->m_task * (double)c->n_task * (double)c->k / per_ns + START_NS;
  task += (c->blocking.pack_a ? COPY_NS : READ_A_NS) * (double)c->m_task * (double)c->k;
  task += (c->blocking.pack_b ? COPY_NS : READ_B_NS) * (double)c->n_task * (double)c->k;
  double tasks =
      (double)(c->batch * hsc_divide_up(c->m, c->m_task) * hsc_divide_up(c->n, c->n_task));
  double turns = tasks <= threads ? 1 : tasks / threads;
  return task * (turns + TAIL);
}

// Few ways to cut are worth a look: powers of two times one or three along each side.
static void cut_cheapest(
    hsc_contraction *c, const hsc_cpu_isa *isa, int threads, int64_t width, int64_t most) {
  static const int64_t parts[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128};
  double best = -1;
  int64_t best_m = 1;
  int64_t best_n = 1;
  for (size_t i = 0; i < HSC_COUNT_OF(parts) && parts[i] <= most; i++) {
    if (parts[i] > 1 && c->m / parts[i] < 12)
      break;
    for (size_t j = 0; j < HSC_COUNT_OF(parts) && parts[i] * parts[j] <= most; j++) {
      if (parts[j] > 1 && c->n / parts[j] < width)
        break;
      double time = estimate(c, isa, threads, width, parts[i], parts[j]);
      if (best >= 0 && time >= best)
        continue;
      best = time;
      best_m = parts[i];
      best_n = parts[j];
    }
  }
  cut(c, width, best_m, best_n);
}

static void plan_tasks(hsc_contraction *c, const hsc_cpu_isa *isa, int threads) {
  double work = (double)c->batch * (double)c->m * (double)c->n * (double)c->k;
  c->batch_task = c->batch;
  c->m_task = c->m;
  c->n_task = c->n;
  if (threads < 2 || work < PARALLEL_MULTIPLY_ADDS)
    return;
  int64_t wanted = (int64_t)(work / TASK_MULTIPLY_ADDS);
  if (wanted > (int64_t)threads * MAX_TASKS_PER_THREAD)
    wanted = (int64_t)threads * MAX_TASKS_PER_THREAD;
  if (c->candidate == HSC_CONTRACTION_OWN_COARSE)
    wanted = threads;
  if (c->candidate == HSC_CONTRACTION_OWN_FINE)
    wanted *= 3;
  if (c->batch >= wanted) {
    c->batch_task = hsc_divide_up(c->batch, wanted);
    return;
  }
  c->batch_task = 1;
  int64_t per_product = hsc_divide_up(wanted, c->batch);
  int64_t width = panel_width(c, isa);
  bool by_rule =
      c->candidate == HSC_CONTRACTION_OWN || c->candidate == HSC_CONTRACTION_OWN_PACKED ||
      c->candidate == HSC_CONTRACTION_OWN_DIRECT || c->candidate == HSC_CONTRACTION_OWN_DEEP;
  if (by_rule)
    cut_cheapest(c, isa, threads, width, per_product);
  else
    cut_evenly(c, width, per_product);
}

static bool is_float(const hsc_contraction *c) {
  return c->compute_type == HSC_TYPE_F32 || c->compute_type == HSC_TYPE_F64;
}

// Below so many products packing takes longer than it saves.
enum { NARROW_LEAST_PRODUCTS = 512 };

// Whether the operands are packed as they are stored, and converted on the way.
static bool fits_narrow(const hsc_contraction *c,
                        hsc_type lhs,
                        hsc_type rhs,
                        const hsc_cpu_isa *isa) {
  const hsc_narrow_kernels *kernels = hsc_narrow_kernels_for(isa->level);
  hsc_type sum = (hsc_type)c->compute_type;
  if (!kernels || hsc_narrow_unit_of(kernels, lhs, rhs, sum) == HSC_NARROW_NONE)
    return false;
  if (c->m * c->n * c->k < NARROW_LEAST_PRODUCTS)
    return false;
  return sum == HSC_TYPE_S32 || lhs != HSC_TYPE_F32 || rhs != HSC_TYPE_F32;
}

// Why the candidate cannot; NULL when it can.
static const char *refusal(const hsc_contraction *c, hsc_contraction_candidate candidate) {
  if (candidate == HSC_CONTRACTION_NARROW)
    return "made for operands narrower than their sums";
  if (candidate == HSC_CONTRACTION_PLAIN)
    return is_float(c) ? "the plain loops are for integers and complex numbers" : NULL;
  if (!is_float(c))
    return "made for f32 and f64";
  if (candidate != HSC_CONTRACTION_OPENBLAS)
    return NULL;
  if (!hsc_openblas_there())
    return "OpenBLAS is not on this machine";
  bool lhs = c->lhs.strides.row == 1 || c->lhs.strides.column == 1;
  bool rhs = c->rhs.strides.row == 1 || c->rhs.strides.column == 1;
  return lhs && rhs && c->k > 0 ? NULL : "OpenBLAS wants rows or columns side by side";
}

static hsc_contraction_candidate choose_candidate(const hsc_contraction *c) {
  if (!is_float(c))
    return HSC_CONTRACTION_PLAIN;
  const char *wanted = getenv("HLOSCOPE_CPU_DOT");
  if (wanted)
    for (int i = 0; i < HSC_CONTRACTION_COUNT; i++)
      if (i != HSC_CONTRACTION_PLAIN && !strcmp(wanted, candidate_texts[i]))
        return (hsc_contraction_candidate)i;
  return HSC_CONTRACTION_OWN;
}

// The blocks of one task, changed as the candidate says.
static void plan_blocks(hsc_contraction *c, const hsc_cpu_isa *isa) {
  hsc_gemm_wish wish = {.k_factor = c->candidate == HSC_CONTRACTION_OWN_DEEP ? 4 : 1};
  if (c->candidate == HSC_CONTRACTION_OWN_PACKED)
    wish.pack = 1;
  else if (c->candidate == HSC_CONTRACTION_OWN_DIRECT)
    wish.pack = -1;
  hsc_gemm_plan(isa, (int)hsc_type_bytes((hsc_type)c->compute_type),
                c->m_task < c->m ? c->m_task : c->m, c->n_task < c->n ? c->n_task : c->n, c->k,
                c->lhs.strides, c->rhs.strides, &wish, &c->blocking);
  c->worker_scratch_bytes = c->blocking.scratch_bytes;
}

// How operands are planned depends on it, so it is decided first.
static bool wants_narrow(const hsc_contraction *c, const hsc_instr *dot, int64_t candidate) {
  if (candidate < 0)
    candidate = hsc__cpu_written_algorithm(dot);
  return c->narrow_fits && (candidate < 0 || candidate >= HSC_CONTRACTION_COUNT ||
                            candidate == HSC_CONTRACTION_NARROW);
}

// candidate < 0: the one that is written down or, where none is or it cannot, the default.
static hsc_status *choose(hsc_contraction *c, const hsc_instr *dot, int64_t candidate) {
  if (candidate >= 0) {
    const char *why = refusal(c, (hsc_contraction_candidate)candidate);
    if (why)
      return HSC_ERR(FAILED_PRECONDITION, "%s: %s", candidate_texts[candidate], why);
    c->candidate = (int32_t)candidate;
  } else {
    int64_t written = hsc__cpu_written_algorithm(dot);
    bool usable = written >= 0 && written < HSC_CONTRACTION_COUNT &&
                  !refusal(c, (hsc_contraction_candidate)written);
    c->candidate = usable ? (int32_t)written : (int32_t)choose_candidate(c);
  }
  return NULL;
}

// Blocks of our kernels, and what one thread needs for a task.
static void plan_scratch(hsc_contraction *c, const hsc_cpu_isa *isa) {
  // OpenBLAS may still refuse when it is called: our kernels then do it, so their blocks are
  // planned for it too.
  if (is_float(c))
    plan_blocks(c, isa);
  if (c->candidate == HSC_CONTRACTION_NARROW)
    c->worker_scratch_bytes = hsc_narrow_scratch_bytes(isa, c->m_task, c->n_task, c->k);
  bool is_double = c->compute_type == HSC_TYPE_C128;
  if (is_double || c->compute_type == HSC_TYPE_C64)
    c->worker_scratch_bytes = hsc_complex_scratch_bytes(isa, is_double, c->m_task, c->n_task, c->k);
}

// candidate < 0: the one that is written down or, where none is or it cannot, the default.
static hsc_status *plan(const hsc_instr *dot,
                        const hsc_cpu_isa *isa,
                        int threads,
                        int64_t candidate,
                        hsc_contraction *out_contraction) {
  const hsc_dot_dims *dims = &dot->attr.dot;
  const hsc_shape *lhs = &dot->operands[0]->shape;
  const hsc_shape *rhs = &dot->operands[1]->shape;
  if (dims->sparsity)
    return HSC_ERR(UNIMPLEMENTED, "dot: not built yet: sparse operands");
  hsc_contraction *c = out_contraction;
  *c = (hsc_contraction){.compute_type = (int32_t)compute_type(dot->shape.type),
                         .out_type = (int32_t)dot->shape.type};
  axes lhs_batch = {0};
  axes rhs_batch = {0};
  axes m = {0};
  axes n = {0};
  axes lhs_k = {0};
  axes rhs_k = {0};
  for (int i = 0; i < dims->lhs_batch.count; i++) {
    add_axis(&lhs_batch, lhs, dims->lhs_batch.v[i]);
    add_axis(&rhs_batch, rhs, dims->rhs_batch.v[i]);
  }
  for (int i = 0; i < dims->lhs_contracting.count; i++) {
    add_axis(&lhs_k, lhs, dims->lhs_contracting.v[i]);
    add_axis(&rhs_k, rhs, dims->rhs_contracting.v[i]);
  }
  for (int i = 0; i < lhs->rank; i++)
    if (!hsc_dims_contain(dims->lhs_batch, i) && !hsc_dims_contain(dims->lhs_contracting, i))
      add_axis(&m, lhs, i);
  for (int i = 0; i < rhs->rank; i++)
    if (!hsc_dims_contain(dims->rhs_batch, i) && !hsc_dims_contain(dims->rhs_contracting, i))
      add_axis(&n, rhs, i);
  c->batch = size_of(&lhs_batch);
  c->m = size_of(&m);
  c->n = size_of(&n);
  c->k = size_of(&lhs_k);
  sort_pairs(&lhs_k, &rhs_k);
  fold(&lhs_batch, &rhs_batch);
  fold(&m, NULL);
  fold(&n, NULL);
  axes lhs_k_folded = lhs_k;
  axes rhs_k_folded = rhs_k;
  fold(&lhs_k_folded, &rhs_k_folded);
  if (lhs_batch.count > HSC_CONTRACTION_MAX_BATCH_DIMS)
    return HSC_ERR(UNIMPLEMENTED, "dot: not built yet: more than %d separate batch dimensions",
                   HSC_CONTRACTION_MAX_BATCH_DIMS);
  c->batch_rank = lhs_batch.count;
  for (int i = 0; i < lhs_batch.count; i++)
    c->batch_size[i] = lhs_batch.v[i].size;
  c->bias_input = -1;
  c->lhs.input = 0;
  c->rhs.input = 1;
  c->narrow_fits = fits_narrow(c, lhs->type, rhs->type, isa);
  if (wants_narrow(c, dot, candidate))
    c->candidate = HSC_CONTRACTION_NARROW;
  HSC_TRY(plan_operand(c, &c->lhs, lhs, &lhs_batch, &m, &lhs_k_folded, &lhs_batch));
  HSC_TRY(plan_operand(c, &c->rhs, rhs, &rhs_batch, &rhs_k_folded, &n, &rhs_batch));
  if (c->candidate != HSC_CONTRACTION_NARROW)
    HSC_TRY(choose(c, dot, candidate));
  c->convert_out = c->compute_type != c->out_type;
  if (c->convert_out) {
    c->out_scratch_offset = c->scratch_bytes;
    c->scratch_bytes +=
        (c->batch * c->m * c->n * (int64_t)hsc_type_bytes((hsc_type)c->compute_type) + 63) / 64 *
        64;
  }
  plan_tasks(c, isa, threads);
  plan_scratch(c, isa);
  return NULL;
}

hsc_status *hsc_contraction_plan(const hsc_instr *dot,
                                 const hsc_cpu_isa *isa,
                                 int threads,
                                 hsc_contraction *out_contraction) {
  return plan(dot, isa, threads, -1, out_contraction);
}

hsc_status *hsc_contraction_plan_as(const hsc_instr *dot,
                                    const hsc_cpu_isa *isa,
                                    int threads,
                                    hsc_contraction_candidate candidate,
                                    hsc_contraction *out_contraction) {
  return plan(dot, isa, threads, candidate, out_contraction);
}

bool hsc_contraction_blocks_fit(const hsc_contraction *contraction, const hsc_cpu_isa *isa) {
  hsc_contraction again = *contraction;
  const hsc_narrow_kernels *narrow = hsc_narrow_kernels_for(isa->level);
  if (contraction->candidate == HSC_CONTRACTION_NARROW &&
      (!narrow ||
       hsc_narrow_unit_of(narrow, (hsc_type)contraction->lhs.type, (hsc_type)contraction->rhs.type,
                          (hsc_type)contraction->compute_type) == HSC_NARROW_NONE))
    return false;
  plan_scratch(&again, isa);
  if (!is_float(contraction))
    return again.worker_scratch_bytes == contraction->worker_scratch_bytes;
  const hsc_gemm_blocking *a = &again.blocking;
  const hsc_gemm_blocking *b = &contraction->blocking;
  return a->k_block == b->k_block && a->n_block == b->n_block && a->m_block == b->m_block &&
         a->vectors == b->vectors && a->pack_a == b->pack_a && a->pack_b == b->pack_b &&
         a->scratch_bytes == b->scratch_bytes &&
         again.worker_scratch_bytes == contraction->worker_scratch_bytes;
}
