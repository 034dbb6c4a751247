// conv_tasks.c - does one task of a planned convolution on one thread (see convolution.h). The
// blocking is written once in conv_blocked.inc and made for float and double here; what does not
// depend on the type is here.
#include "base/core/ints.h"
#include "cpu/kernels/conv/convolution.h"
#include "cpu/kernels/move/copy_rows.h"

extern const hsc_conv_kernels hsc_conv_kernels_baseline;
#if defined(__x86_64__)
extern const hsc_conv_kernels hsc_conv_kernels_avx2, hsc_conv_kernels_avx512;
#endif

const hsc_conv_kernels *hsc_conv_kernels_for(hsc_cpu_isa_level level) {
#if defined(__x86_64__)
  if (level == HSC_CPU_ISA_AVX512)
    return &hsc_conv_kernels_avx512;
  if (level == HSC_CPU_ISA_AVX2)
    return &hsc_conv_kernels_avx2;
#endif
  return level == HSC_CPU_ISA_BASELINE ? &hsc_conv_kernels_baseline : NULL;
}

// ---- rows and taps ------------------------------------------------------------------------------

// Parallel arrays: what a row, a tap or a step of the sum adds to offsets, and to positions along
// axes that are checked.
typedef struct table {
  // other: of a row its offset in the result, of a tap or step its offset in rhs
  int64_t *lhs, *other;
  int64_t *position[HSC_CONV_MAX_AXES];  // by checked axis
} table;

typedef struct checks {
  int count;
  int64_t in_size[HSC_CONV_MAX_AXES], stride[HSC_CONV_MAX_AXES], base_dilation[HSC_CONV_MAX_AXES];
  bool dilated;
} checks;

static checks checks_of(const hsc_convolution *c) {
  checks all = {0};
  for (int a = 0; a < c->axis_count; a++) {
    if (!c->axes[a].checked)
      continue;
    all.in_size[all.count] = c->axes[a].in_size;
    all.stride[all.count] = c->axes[a].lhs_stride;
    all.base_dilation[all.count] = c->axes[a].base_dilation;
    all.dilated = all.dilated || c->axes[a].base_dilation > 1;
    all.count++;
  }
  return all;
}

static void *carve(char **scratch, int64_t bytes) {
  void *at = *scratch;
  *scratch += (bytes + 63) / 64 * 64;
  return at;
}

static table carve_table(const checks *all, char **scratch, int64_t count) {
  table t;
  char *at = *scratch;
  t.lhs = (int64_t *)at;
  t.other = t.lhs + count;
  for (int i = 0; i < all->count; i++)
    t.position[i] = t.other + (i + 1) * count;
  *scratch += ((2 + HSC_CONV_MAX_AXES) * count * 8 + 63) / 64 * 64;
  return t;
}

// The offset of the element in lhs, -1 outside.
static inline int64_t offset_of(
    const checks *all, const table *rows, int64_t row, const table *taps, int64_t tap) {
  int64_t offset = rows->lhs[row] + taps->lhs[tap];
  for (int i = 0; i < all->count; i++) {
    int64_t at = rows->position[i][row] + taps->position[i][tap];
    if (all->dilated && at >= 0) {
      if (at % all->base_dilation[i])
        return -1;
      at /= all->base_dilation[i];
    }
    if ((uint64_t)at >= (uint64_t)all->in_size[i])
      return -1;
    offset += at * all->stride[i];
  }
  return offset;
}

// Does `row` read, in every step, the element row - first places after the one that `first` reads?
static bool same_run(const checks *all, const table *rows, int64_t first, int64_t row) {
  if (rows->lhs[row] != rows->lhs[first] + (row - first))
    return false;
  for (int i = 0; i < all->count; i++)
    if (rows->position[i][row] != rows->position[i][first])
      return false;
  return true;
}

typedef struct phase {
  // output positions start + phases * j, j < count
  int64_t start[HSC_CONV_MAX_AXES], count[HSC_CONV_MAX_AXES];
  int64_t rows;
} phase;

static phase phase_of(const hsc_convolution *c, int64_t number) {
  phase p = {.rows = c->batch};
  for (int a = c->axis_count - 1; a >= 0; a--) {
    const hsc_conv_axis *axis = &c->axes[a];
    p.start[a] = number % axis->phases;
    number /= axis->phases;
    p.count[a] = axis->out_size > p.start[a]
                     ? (axis->out_size - p.start[a] + axis->phases - 1) / axis->phases
                     : 0;
    p.rows *= p.count[a];
  }
  return p;
}

// Rows [first, first + count) of a phase.
static void list_rows(
    const hsc_convolution *c, const phase *p, int64_t first, int64_t count, const table *to) {
  int64_t index[HSC_CONV_MAX_AXES + 1] = {0};
  int64_t size[HSC_CONV_MAX_AXES + 1];
  for (int i = c->order_count - 1; i >= 0; i--) {
    size[i] = c->order[i] < 0 ? c->batch : p->count[c->order[i]];
    index[i] = first % size[i];
    first /= size[i];
  }
  for (int64_t row = 0; row < count; row++) {
    int64_t lhs = 0;
    int64_t out = 0;
    int64_t position[HSC_CONV_MAX_AXES];
    for (int i = 0; i < c->order_count; i++) {
      int a = c->order[i];
      if (a < 0) {
        lhs += index[i] * c->lhs_batch_stride;
        out += index[i] * c->out_batch_stride;
        continue;
      }
      const hsc_conv_axis *axis = &c->axes[a];
      int64_t o = p->start[a] + index[i] * axis->phases;
      int64_t at = o * axis->stride - axis->pad_low;
      out += o * axis->out_stride;
      position[a] = at;
      if (!axis->checked)
        lhs += at * axis->lhs_stride;
    }
    to->lhs[row] = lhs;
    to->other[row] = out;
    for (int a = 0, checked = 0; a < c->axis_count; a++)
      if (c->axes[a].checked)
        to->position[checked++][row] = position[a];
    for (int i = c->order_count - 1; i >= 0 && ++index[i] == size[i]; i--)
      index[i] = 0;
  }
}

// Goes through the taps (and features, when `features` says so) in order.
typedef struct walk {
  int64_t w[HSC_CONV_MAX_AXES], feature;
} walk;

static void put_step(const hsc_convolution *c, const walk *at, int64_t number, const table *to) {
  int64_t lhs = at->feature * c->lhs_feature_stride;
  int64_t rhs = at->feature * c->rhs_feature_stride;
  for (int a = 0, checked = 0; a < c->axis_count; a++) {
    const hsc_conv_axis *axis = &c->axes[a];
    int64_t position = at->w[a] * axis->dilation;
    rhs += at->w[a] * axis->rhs_stride;
    if (axis->checked)
      to->position[checked++][number] = position;
    else
      lhs += position * axis->lhs_stride;
  }
  to->lhs[number] = lhs;
  to->other[number] = rhs;
}

// The window position, and the feature, of a step of the sum.
static walk walk_at(const hsc_convolution *c, int64_t step) {
  walk w = {0};
  for (int a = c->axis_count - 1; a >= 0; a--) {
    w.w[a] = step % c->axes[a].window;
    step /= c->axes[a].window;
  }
  w.feature = step;
  return w;
}

static void next_tap(const hsc_convolution *c, walk *at) {
  for (int a = c->axis_count - 1; a >= 0; a--) {
    if (++at->w[a] < c->axes[a].window)
      return;
    at->w[a] = 0;
  }
  at->feature++;
}

// Does output phase p see this window position of the axis?
static bool axis_sees(const hsc_conv_axis *axis, int64_t start, int64_t w) {
  return (start * axis->stride + w * axis->dilation - axis->pad_low) % axis->base_dilation == 0;
}

static bool phase_sees(const hsc_convolution *c, const phase *p, const walk *at) {
  for (int a = 0; a < c->axis_count; a++)
    if (c->axes[a].base_dilation > 1 && !axis_sees(&c->axes[a], p->start[a], at->w[a]))
      return false;
  return true;
}

static int64_t phase_taps(const hsc_convolution *c, const phase *p) {
  int64_t taps = 1;
  for (int a = 0; a < c->axis_count; a++) {
    int64_t seen = 0;
    for (int64_t w = 0; w < c->axes[a].window; w++)
      seen += c->axes[a].base_dilation == 1 || axis_sees(&c->axes[a], p->start[a], w);
    taps *= seen;
  }
  return taps;
}

// ---- tasks --------------------------------------------------------------------------------------

typedef struct position {  // what a task does
  int64_t group, phase, part, m0, m, n0, n;
} position;

static position position_of(const hsc_convolution *c, int64_t task, int64_t phase_rows) {
  position at;
  at.n0 = task % c->n_parts * c->n_task;
  task /= c->n_parts;
  at.m0 = task % c->m_parts * c->m_task;
  task /= c->m_parts;
  at.part = task % c->k_parts;
  task /= c->k_parts;
  at.phase = task % c->phase_count;
  at.group = task / c->phase_count;
  at.m = hsc_min(c->m_task, phase_rows - at.m0);
  at.n = hsc_min(c->n_task, c->columns - at.n0);
  return at;
}

#define TYPE float
#define NAME f32
#include "cpu/kernels/conv/conv_blocked.inc"
#undef TYPE
#undef NAME
#define TYPE double
#define NAME f64
#include "cpu/kernels/conv/conv_blocked.inc"
#undef TYPE
#undef NAME

int64_t hsc_convolution_task_count(const hsc_convolution *c) {
  if (c->winograd.tile)
    return c->winograd.task_count;
  int64_t groups = c->candidate == HSC_CONV_CHANNELS ? 1 : c->groups;
  return groups * c->phase_count * c->k_parts * c->m_parts * c->n_parts;
}

void hsc_convolution_task(const hsc_conv_run *run, int64_t task, void *worker_scratch) {
  const hsc_convolution *c = run->c;
  bool is_double = c->compute_type == HSC_TYPE_F64;
  switch ((hsc_conv_candidate)c->candidate) {
    case HSC_CONV_PACKED:
      is_double ? packed_task_f64(run, task, worker_scratch)
                : packed_task_f32(run, task, worker_scratch);
      break;
    case HSC_CONV_WINOGRAD_2:
    case HSC_CONV_WINOGRAD_4:
      hsc_winograd_task(run, task, worker_scratch);
      break;
    case HSC_CONV_CHANNELS:
      is_double ? channels_task_f64(run, task, worker_scratch)
                : channels_task_f32(run, task, worker_scratch);
      break;
    default:
      is_double ? rows_task_f64(run, task, worker_scratch)
                : rows_task_f32(run, task, worker_scratch);
      break;
  }
}

void hsc_convolution_place(
    const hsc_convolution *c, int64_t task, int64_t *m0, int64_t *m1, int64_t *n0, int64_t *n1) {
  if (c->winograd.tile) {
    hsc_winograd_place(c, task, m0, m1, n0, n1);
    return;
  }
  *n0 = task % c->n_parts * c->n_task;
  *m0 = task / c->n_parts % c->m_parts * c->m_task;
  *n1 = hsc_min(*n0 + c->n_task, c->columns);
  *m1 = hsc_min(*m0 + c->m_task, c->rows);
}

void hsc_convolution_add_parts(const hsc_conv_run *run, int64_t begin, int64_t end) {
  if (run->c->compute_type == HSC_TYPE_F64)
    add_parts_f64(run, begin, end);
  else
    add_parts_f32(run, begin, end);
}
