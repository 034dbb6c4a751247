// thunk_windows.c - reduce-window and select-and-scatter of one operand with any reducer (see
// windows.h). Windows are walked in ascending order of their positions, and sources in ascending
// order of theirs, as the reference evaluator does, so results are the same bit for bit, except
// that a fold which runs from the end (a reversed cumulative sum) adds in the opposite order.
#include "base/core/ints.h"
#include "cpu/emit/emit.h"
#include "cpu/kernels/conv/conv_kernels.h"
#include "cpu/thunks/lanes.h"
#include "cpu/thunks/lower.h"
#include "cpu/kernels/move/strided_copy.h"
#include "cpu/thunks/windows.h"

typedef struct hsc_window_axis axis;

// ---- choosing -----------------------------------------------------------------------------------

static bool untouched(const axis *a) {
  return a->size == 1 && a->stride == 1 && a->pad_low == 0 && a->base_dilation == 1 &&
         a->in_size == a->out_size;
}

static bool same_type(const hsc_computation *computation, int parameter, hsc_type type) {
  return parameter < computation->parameter_count &&
         computation->parameters[parameter]->shape.type == type;
}

// A window that begins where the operand begins and grows by one element with each output:
// cumulative folds.
static bool runs_forward(const axis *a) {
  return a->in_size > 4 && a->out_size == a->in_size && a->size >= a->in_size && a->stride == 1 &&
         a->dilation == 1 && a->base_dilation == 1 && !a->reversal && a->pad_low == a->size - 1;
}
static bool runs_back(const axis *a) {
  return a->in_size > 4 && a->out_size == a->in_size && a->size >= a->in_size && a->stride == 1 &&
         a->dilation == 1 && a->base_dilation == 1 && !a->reversal && a->pad_low == 0;
}

static bool plan_windows(const hsc_window *window,
                         const hsc_shape *in,
                         const hsc_shape *out,
                         hsc_windows *w) {
  axis all[HSC_MAX_RANK];
  int64_t in_stride = 1;
  int64_t out_stride = 1;
  int rank = in->rank;
  for (int i = rank - 1; i >= 0; i--) {
    const hsc_window_dim *d = &window->dims[i];
    all[i] = (axis){.in_size = in->dims[i],
                    .out_size = out->dims[i],
                    .size = d->size,
                    .stride = d->stride,
                    .pad_low = d->pad_low,
                    .dilation = d->window_dilation,
                    .base_dilation = d->base_dilation,
                    .in_stride = in_stride,
                    .out_stride = out_stride,
                    .reversal = d->reversal};
    in_stride *= in->dims[i];
    out_stride *= out->dims[i];
  }
  w->in_elements = in_stride;
  w->out_elements = out_stride;
  w->running = -1;
  w->work = w->out_elements;
  for (int i = 0; i < rank; i++)
    w->work *= all[i].size;
  w->run = 1;
  while (rank > 0 && untouched(&all[rank - 1]))
    w->run *= all[--rank].in_size;
  w->direct = w->run >= HSC_WINDOWS_LONG_RUN || rank == 0;
  // Neighbours at the front that no window touches are one dimension.
  int at = 0;
  for (int i = 0; i < rank; i++) {
    if (i > 0 && at > 0 && untouched(&all[i]) && untouched(&all[at - 1])) {
      int64_t size = all[at - 1].in_size * all[i].in_size;
      all[at - 1] = all[i];
      all[at - 1].in_size = all[at - 1].out_size = size;
      continue;
    }
    all[at++] = all[i];
  }
  rank = at;
  if (rank > HSC_WINDOWS_MAX_DIMS)
    return false;
  int touched = 0;
  int which = -1;
  for (int i = 0; i < rank; i++)
    if (!untouched(&all[i])) {
      touched++;
      which = i;
    }
  if (touched == 1 && !w->is_scatter && (runs_forward(&all[which]) || runs_back(&all[which]))) {
    w->running = which;
    w->running_back = !runs_forward(&all[which]);
    w->direct = 1;
    w->work = w->out_elements;
  }
  w->outer_count = w->direct ? rank : rank - 1;
  memcpy(w->axes, all, sizeof all[0] * (size_t)w->outer_count);
  if (!w->direct)
    w->last = all[rank - 1];
  w->free_positions = 1;
  for (w->free_count = 0; w->free_count < w->outer_count && untouched(&w->axes[w->free_count]);
       w->free_count++)
    w->free_positions *= w->axes[w->free_count].in_size;
  return true;
}

// Windows of few positions are generated code, which reads each element's neighbours by itself.
static hsc_status *is_kernel(const hsc_cpu_compiler *compiler,
                             const hsc_instr *instr,
                             bool *out_is_kernel) {
  uint64_t in_place[HSC_KERNEL_MAX_BUFFERS];
  hsc_kernel_plan plan = {0};
  *out_is_kernel = false;
  if (!hsc_instr_is_small_window(instr))
    return NULL;
  return hsc_kernel_plan_try(instr, &compiler->device->isa, &plan, in_place, out_is_kernel);
}

// Windows of arrays of one real type, whose reducer and comparator work on that type.
static bool is_windows(const hsc_instr *instr) {
  bool scatter = instr->op == HSC_OP_SELECT_AND_SCATTER;
  if ((!scatter && instr->op != HSC_OP_REDUCE_WINDOW) ||
      instr->operand_count != (scatter ? 3 : 2) || !hsc_shape_is_array(&instr->shape))
    return false;
  hsc_type type = instr->operands[0]->shape.type;
  if (instr->shape.type != type || instr->operands[1]->shape.type != type ||
      hsc_type_is_complex(type))
    return false;
  const hsc_computation *reducer = instr->called[scatter ? 1 : 0];
  if (!same_type(reducer, 0, type) || !same_type(reducer, 1, type) ||
      reducer->root->shape.type != type)
    return false;
  return !scatter ||
         (same_type(instr->called[0], 0, type) && same_type(instr->called[0], 1, type) &&
          instr->operands[2]->shape.type == type);
}

// A scatter remembers all positions of a window; HLO has no base dilation there.
static bool can_scatter(const hsc_window *window) {
  int64_t positions = 1;
  for (int i = 0; i < window->rank && positions <= HSC_WINDOWS_MAX_POSITIONS; i++) {
    if (window->dims[i].base_dilation != 1)
      return false;
    positions *= window->dims[i].size;
  }
  return positions <= HSC_WINDOWS_MAX_POSITIONS;
}

// Few free positions: the run is shared out too, in pieces that keep whole cache lines.
static int64_t run_chunk_of(const hsc_windows *w, int threads) {
  if (!w->direct)
    return 1;
  if (threads <= 1 || w->work <= 50000 || w->free_positions >= 2 * threads || w->run <= 64)
    return w->run;
  int64_t pieces = 4 * threads / hsc_max(w->free_positions, 1);
  return hsc_round_up(hsc_divide_up(w->run, pieces), 16);
}

hsc_status *hsc__cpu_choose_windows(hsc_cpu_compiler *compiler,
                                    hsc_cpu_step *step,
                                    hsc_cpu_choice *choice,
                                    bool *out_chosen) {
  const hsc_instr *instr = step->instr;
  bool scatter = instr->op == HSC_OP_SELECT_AND_SCATTER;
  bool generated = false;
  *out_chosen = false;
  if (!is_windows(instr))
    return NULL;
  HSC_TRY(is_kernel(compiler, instr, &generated));
  if (generated)
    return NULL;
  hsc_type type = instr->operands[0]->shape.type;
  hsc_windows *w = HSC_NEW(compiler->arena, hsc_windows);
  HSC_TRY(hsc_arena_status(compiler->arena));
  *w = (hsc_windows){
      .is_scatter = scatter, .element_bytes = (int32_t)hsc_type_bytes(type), .select_kernel = -1};
  const hsc_window *window = &instr->attr.window.window;
  const hsc_instr *covered = scatter ? instr->operands[1] : instr;
  if (!plan_windows(window, &instr->operands[0]->shape, &covered->shape, w) ||
      (scatter && !can_scatter(window)))
    return NULL;
  HSC_TRY(hsc__cpu_add_lanes(compiler, instr->called[scatter ? 1 : 0], &w->kernel));
  if (w->kernel < 0)
    return NULL;
  if (scatter) {
    HSC_TRY(hsc__cpu_add_lanes(compiler, instr->called[0], &w->select_kernel));
    if (w->select_kernel < 0)
      return NULL;
  }
  w->run_chunk = run_chunk_of(w, hsc_cpu_pool_thread_count(compiler->device->pool));
  choice->payload = w;
  choice->payload_bytes = sizeof *w;
  // Offsets of window positions; kept values, values, their positions, the comparator's answers.
  hsc__cpu_need_worker_scratch(
      compiler,
      HSC_WINDOWS_MAX_POSITIONS * 8 + HSC_LANES * (3 * (int64_t)w->element_bytes + 4 + 1) + 64);
  *out_chosen = true;
  return NULL;
}

// ---- running ------------------------------------------------------------------------------------

typedef struct windows_run {
  const hsc_windows *w;
  const hsc_cpu_frame *frame;
  hsc_cpu_kernel_function select, combine;
  const char *in, *source, *init;
  char *out;
  void (*keep_4)(int64_t count,
                 const uint8_t *stays,
                 uint32_t *values,
                 const uint32_t *next,
                 int32_t *which,
                 int32_t number);
  int64_t runs;      // pieces of the run
  int64_t per_task;  // free positions
} windows_run;

// Input position of output o under window position k, or -1.
static inline int64_t position_of(const axis *a, int64_t o, int64_t k) {
  int64_t at = o * a->stride - a->pad_low + (a->reversal ? a->size - 1 - k : k) * a->dilation;
  if (at < 0 || (a->base_dilation > 1 && at % a->base_dilation))
    return -1;
  at /= a->base_dilation;
  return at < a->in_size ? at : -1;
}

static bool next_index(const axis *axes, int first, int count, bool window, int64_t *index) {
  for (int i = count - 1; i >= first; i--) {
    if (++index[i] < (window ? axes[i].size : axes[i].out_size))
      return true;
    index[i] = 0;
  }
  return false;
}

// Offset in elements of window position k over output o in the outer dimensions, or -1.
static int64_t outer_offset(const hsc_windows *w, const int64_t *o, const int64_t *k) {
  int64_t offset = 0;
  for (int i = 0; i < w->outer_count; i++) {
    int64_t at = position_of(&w->axes[i], o[i], k[i]);
    if (at < 0)
      return -1;
    offset += at * w->axes[i].in_stride;
  }
  return offset;
}

static void fold_lanes(const windows_run *r, char *accumulator, const char *values, int64_t count) {
  int bytes = r->w->element_bytes;
  for (int64_t at = 0; at < count; at += HSC_LANES) {
    void *buffers[3] = {accumulator + at * bytes, (char *)(uintptr_t)values + at * bytes,
                        accumulator + at * bytes};
    r->combine(buffers, 0, hsc_min(HSC_LANES, count - at));
  }
}

// Positions [*lo, *hi) of `last` whose inputs under window position k are inside, when elements are
// not spread apart.
static void inside_range(
    const axis *last, int64_t k, int64_t begin, int64_t end, int64_t *lo, int64_t *hi) {
  // input = o * stride + shift
  int64_t shift = (last->reversal ? last->size - 1 - k : k) * last->dilation - last->pad_low;
  *lo = shift >= 0 ? 0 : (-shift + last->stride - 1) / last->stride;
  *hi = last->in_size - 1 - shift < 0 ? 0 : (last->in_size - 1 - shift) / last->stride + 1;
  if (*lo < begin)
    *lo = begin;
  if (*hi > end)
    *hi = end;
}

// The inputs of positions [lo, hi) of `last` under window position k, side by side.
static void gather(
    const hsc_windows *w, const char *in, int64_t k, int64_t lo, int64_t hi, char *to) {
  const axis *last = &w->last;
  int64_t bytes = w->element_bytes;
  int64_t first = position_of(last, lo, k) * last->in_stride * bytes;
  int64_t step = last->stride * last->in_stride * bytes;
  int64_t run = w->run * bytes;
  const char *from = in + first;
  switch (run) {
    case 1:
      for (int64_t o = lo; o < hi; o++, from += step)
        *to++ = *from;
      break;
    case 2:
      for (int64_t o = lo; o < hi; o++, from += step, to += 2)
        memcpy(to, from, 2);
      break;
    case 4:
      for (int64_t o = lo; o < hi; o++, from += step, to += 4)
        memcpy(to, from, 4);
      break;
    case 8:
      for (int64_t o = lo; o < hi; o++, from += step, to += 8)
        memcpy(to, from, 8);
      break;
    default:
      for (int64_t o = lo; o < hi; o++, from += step, to += run)
        memcpy(to, from, (size_t)run);
      break;
  }
}

// Does `body` for each stretch of positions of `last` that are inside under k; one position at a
// time where elements are spread apart.
#define EACH_STRETCH(last, k, begin, end, lo, hi, body) \
  if ((last)->base_dilation == 1) { \
    int64_t lo, hi; \
    inside_range(last, k, begin, end, &lo, &hi); \
    if (lo < hi) \
      body \
  } else { \
    for (int64_t lo = begin; lo < (end); lo++) { \
      int64_t hi = lo + 1; \
      if (position_of(last, lo, k) >= 0) \
        body \
    } \
  }

// ---- reduce-window ------------------------------------------------------------------------------

// The fold of one outer position: lanes [first, first + count) of the run, or all positions of
// `last`.
static void reduce_position(
    const windows_run *r, const int64_t *o, int64_t first, int64_t count, char *scratch) {
  const hsc_windows *w = r->w;
  int64_t bytes = w->element_bytes;
  int64_t out = 0;
  int64_t k[HSC_WINDOWS_MAX_DIMS] = {0};
  for (int i = 0; i < w->outer_count; i++)
    out += o[i] * w->axes[i].out_stride;
  char *to = r->out + (out + first) * bytes;
  int64_t lanes = w->direct ? count : w->last.out_size * w->run;
  hsc_fill(to, r->init, (int)bytes, lanes);
  int64_t per_gather = w->direct ? 0 : HSC_LANES / w->run;
  do {
    int64_t offset = outer_offset(w, o, k);
    if (offset < 0)
      continue;
    const char *in = r->in + (offset + first) * bytes;
    if (w->direct) {
      fold_lanes(r, to, in, count);
      continue;
    }
    for (int64_t kl = 0; kl < w->last.size; kl++)
      for (int64_t begin = 0; begin < w->last.out_size; begin += per_gather) {
        EACH_STRETCH(&w->last, kl, begin, hsc_min(begin + per_gather, w->last.out_size), lo, hi, {
          gather(w, in, kl, lo, hi, scratch);
          fold_lanes(r, to + lo * w->run * bytes, scratch, (hi - lo) * w->run);
        })
      }
  } while (next_index(w->axes, 0, w->outer_count, true, k));
}

// All positions along the running dimension, from one neighbour's result to the next.
static void reduce_running(const windows_run *r, const int64_t *o, int64_t first, int64_t count) {
  const hsc_windows *w = r->w;
  const axis *a = &w->axes[w->running];
  int64_t bytes = w->element_bytes;
  int64_t base = first;
  for (int i = 0; i < w->outer_count; i++)
    if (i != w->running)
      base += o[i] * w->axes[i].out_stride;
  for (int64_t step = 0; step < a->in_size; step++) {
    int64_t i = w->running_back ? a->in_size - 1 - step : step;
    int64_t before = w->running_back ? i + 1 : i - 1;
    char *to = r->out + (base + i * a->out_stride) * bytes;
    const char *in = r->in + (base + i * a->in_stride) * bytes;
    if (step == 0) {
      hsc_fill(to, r->init, (int)bytes, count);
      fold_lanes(r, to, in, count);
      continue;
    }
    for (int64_t at = 0; at < count; at += HSC_LANES) {
      void *buffers[3] = {r->out + (base + before * a->out_stride + at) * bytes,
                          (char *)(uintptr_t)in + at * bytes, to + at * bytes};
      r->combine(buffers, 0, hsc_min(HSC_LANES, count - at));
    }
  }
}

// ---- cumulative folds along neighbours ----------------------------------------------------------

// Rows that are folded at once, and the columns of them that are turned at a time.
enum { ROW_LANES = 64, ROW_COLUMNS = 16 };

// Whether the fold runs along the dimension whose elements are neighbours, so that a lane is a row.
static bool folds_rows(const hsc_windows *w) {
  return w->running == 1 && w->outer_count == 2 && w->run == 1 && w->free_count == 1 &&
         w->axes[0].in_stride == w->axes[1].in_size && w->axes[0].out_stride == w->axes[1].out_size;
}

#define TURN(BYTES, TYPE) \
  case BYTES: \
    for (int64_t row = 0; row < rows; row++) \
      for (int64_t column = 0; column < columns; column++) { \
        TYPE *one = (TYPE *)(matrix + row * row_bytes) + column; \
        TYPE *turned = (TYPE *)lanes + column * ROW_LANES + row; \
        if (back) \
          *one = *turned; \
        else \
          *turned = *one; \
      } \
    break;

// A block of a matrix to columns of ROW_LANES elements each, or back.
static void turn(char *matrix,
                 int64_t row_bytes,
                 int64_t rows,
                 int64_t columns,
                 char *lanes,
                 int bytes,
                 bool back) {
  switch (bytes) {
    TURN(1, uint8_t)
    TURN(2, uint16_t)
    TURN(4, uint32_t)
    TURN(8, uint64_t)
    default:
      break;
  }
}
#undef TURN

// Rows [begin, end), ROW_LANES of them at once: each column folds the one before it. The scratch
// holds the columns in turn, after the last column of the block before.
static void reduce_rows(const windows_run *r, int64_t begin, int64_t end, char *scratch) {
  const hsc_windows *w = r->w;
  int64_t length = w->axes[1].in_size;
  int64_t row_bytes = length * w->element_bytes;
  int64_t column_bytes = ROW_LANES * (int64_t)w->element_bytes;
  char *carry = scratch;
  char *lanes = scratch + column_bytes;
  for (int64_t first = begin; first < end; first += ROW_LANES) {
    int64_t rows = hsc_min(ROW_LANES, end - first);
    hsc_fill(carry, r->init, w->element_bytes, rows);
    for (int64_t done = 0; done < length; done += ROW_COLUMNS) {
      int64_t columns = hsc_min(ROW_COLUMNS, length - done);
      int64_t column = w->running_back ? length - done - columns : done;
      int64_t offset = first * row_bytes + column * w->element_bytes;
      turn((char *)(uintptr_t)r->in + offset, row_bytes, rows, columns, lanes, w->element_bytes,
           false);
      for (int64_t i = 0; i < columns; i++) {
        char *now = lanes + (w->running_back ? columns - 1 - i : i) * column_bytes;
        void *buffers[3] = {carry, now, now};
        r->combine(buffers, 0, rows);
        carry = now;
      }
      turn(r->out + offset, row_bytes, rows, columns, lanes, w->element_bytes, true);
      memcpy(scratch, carry, (size_t)(rows * w->element_bytes));
      carry = scratch;
    }
  }
}

static void reduce_free_position(
    const windows_run *r, int64_t position, int64_t first, int64_t count, char *scratch) {
  const hsc_windows *w = r->w;
  int64_t o[HSC_WINDOWS_MAX_DIMS] = {0};
  for (int i = w->free_count - 1; i >= 0; i--) {
    o[i] = position % w->axes[i].out_size;
    position /= w->axes[i].out_size;
  }
  if (w->running < 0) {
    do
      reduce_position(r, o, first, count, scratch);
    while (next_index(w->axes, w->free_count, w->outer_count, false, o));
    return;
  }
  do {
    if (o[w->running] == 0)
      reduce_running(r, o, first, count);
  } while (next_index(w->axes, w->free_count, w->outer_count, false, o));
}

// ---- select-and-scatter -------------------------------------------------------------------------

typedef struct kept {  // by lane
  char *values;
  // number of the window position that the value was read at, -1 = nothing yet
  int32_t *which;
  uint8_t *stays;
  char *next, *combined;
  // by window position: of lane 0 in the operand, not direct: of position 0 of `last`
  int64_t *offsets;
} kept;

#define KEEP(BYTES) \
  case BYTES: \
    for (int64_t i = 0; i < count; i++) \
      if (!stays[i] || which[i] < 0) { \
        memcpy(values + i * BYTES, next + i * BYTES, BYTES); \
        which[i] = number; \
      } \
    break;
// Lanes [lane, lane + count): what the comparator does not keep is replaced by the next value, read
// at window position `number`.
static void select_lanes(const windows_run *r,
                         const kept *k,
                         int64_t lane,
                         int64_t count,
                         const char *next,
                         int32_t number) {
  int64_t bytes = r->w->element_bytes;
  int32_t *which = k->which + lane;
  uint8_t *stays = k->stays + lane;
  char *values = k->values + lane * bytes;
  void *buffers[3] = {values, (char *)(uintptr_t)next, stays};
  r->select(buffers, 0, count);
  switch (bytes) {
    KEEP(1)
    KEEP(2)
    KEEP(8)
    case 4:
      r->keep_4(count, stays, (uint32_t *)(void *)values, (const uint32_t *)(const void *)next,
                which, number);
      break;
    default:
      break;
  }
}
#undef KEEP

// Where the kept element of a lane is in the operand.
static inline int64_t place_of(const hsc_windows *w, const kept *k, int64_t lane) {
  int64_t offset = k->offsets[k->which[lane]];
  return w->direct ? offset + lane
                   : offset + lane / w->run * w->last.stride * w->last.in_stride + lane % w->run;
}

// Lanes' sources are combined into the result where the kept elements are. Lanes of one call
// are at different places, or go one by one.
static void scatter_lanes(
    const windows_run *r, const kept *k, int64_t count, const char *source, bool distinct) {
  const hsc_windows *w = r->w;
  int64_t bytes = w->element_bytes;
  if (!distinct) {
    for (int64_t i = 0; i < count; i++) {
      if (k->which[i] < 0)
        continue;
      char *to = r->out + place_of(w, k, i) * bytes;
      void *buffers[3] = {(char *)(uintptr_t)source + i * bytes, to, to};
      r->combine(buffers, 0, 1);
    }
    return;
  }
  // What no window position reached takes part in the arithmetic, not in the result.
  if (bytes == 4)
    for (int64_t i = 0; i < count; i++)
      memcpy(k->next + i * 4, k->which[i] < 0 ? r->init : r->out + place_of(w, k, i) * 4, 4);
  else
    for (int64_t i = 0; i < count; i++)
      memcpy(k->next + i * bytes, k->which[i] < 0 ? r->init : r->out + place_of(w, k, i) * bytes,
             (size_t)bytes);
  void *buffers[3] = {(char *)(uintptr_t)source, k->next, k->combined};
  r->combine(buffers, 0, count);
  if (bytes == 4) {
    for (int64_t i = 0; i < count; i++)
      if (k->which[i] >= 0)
        memcpy(r->out + place_of(w, k, i) * 4, k->combined + i * 4, 4);
  } else {
    for (int64_t i = 0; i < count; i++)
      if (k->which[i] >= 0)
        memcpy(r->out + place_of(w, k, i) * bytes, k->combined + i * bytes, (size_t)bytes);
  }
}

// Sources [begin, end) of lanes at one outer position.
static void scatter_position(
    const windows_run *r, const int64_t *o, int64_t first, int64_t count, const kept *keep) {
  const hsc_windows *w = r->w;
  int64_t bytes = w->element_bytes;
  int64_t source = first;
  int64_t k[HSC_WINDOWS_MAX_DIMS] = {0};
  for (int i = 0; i < w->outer_count; i++)
    source += o[i] * w->axes[i].out_stride;
  for (int64_t i = 0; i < count; i++)
    keep->which[i] = -1;
  memset(keep->values, 0, (size_t)(count * bytes));
  // not direct: positions of `last`
  int64_t begin = first / w->run;
  int64_t end = begin + count / w->run;
  int32_t number = -1;
  do {
    int64_t offset = outer_offset(w, o, k);
    if (w->direct) {
      number++;
      if (offset < 0)
        continue;
      keep->offsets[number] = offset + first;
      select_lanes(r, keep, 0, count, r->in + (offset + first) * bytes, number);
      continue;
    }
    for (int64_t kl = 0; kl < w->last.size; kl++) {
      number++;
      if (offset < 0)
        continue;
      // The input of position o of `last` is o * stride + shift; lane 0 is position `begin`.
      int64_t shift =
          (w->last.reversal ? w->last.size - 1 - kl : kl) * w->last.dilation - w->last.pad_low;
      keep->offsets[number] = offset + (begin * w->last.stride + shift) * w->last.in_stride;
      EACH_STRETCH(&w->last, kl, begin, end, lo, hi, {
        gather(w, r->in + offset * bytes, kl, lo, hi, keep->next);
        select_lanes(r, keep, (lo - begin) * w->run, (hi - lo) * w->run, keep->next, number);
      })
    }
  } while (next_index(w->axes, 0, w->outer_count, true, k));
  scatter_lanes(r, keep, count, r->source + source * bytes, w->direct);
}

static void scatter_free_position(
    const windows_run *r, int64_t position, int64_t first, int64_t count, char *scratch) {
  const hsc_windows *w = r->w;
  int64_t o[HSC_WINDOWS_MAX_DIMS] = {0};
  int64_t bytes = w->element_bytes;
  kept k = {.offsets = (int64_t *)(void *)scratch};
  k.which = (int32_t *)(void *)(scratch + HSC_WINDOWS_MAX_POSITIONS * 8);
  k.values = scratch + HSC_WINDOWS_MAX_POSITIONS * 8 + HSC_LANES * 4;
  k.next = k.values + HSC_LANES * bytes;
  k.combined = k.next + HSC_LANES * bytes;
  k.stays = (uint8_t *)(k.combined + HSC_LANES * bytes);
  for (int i = w->free_count - 1; i >= 0; i--) {
    o[i] = position % w->axes[i].out_size;
    position /= w->axes[i].out_size;
  }
  int64_t lanes = w->direct ? count : w->last.out_size * w->run;
  int64_t most = w->direct ? HSC_LANES : HSC_LANES / w->run * w->run;
  do
    for (int64_t at = 0; at < lanes; at += most)
      scatter_position(r, o, first + at, hsc_min(most, lanes - at), &k);
  while (next_index(w->axes, w->free_count, w->outer_count, false, o));
}

// ---- tasks --------------------------------------------------------------------------------------

static void do_task(void *context, int64_t task, int worker) {
  const windows_run *r = context;
  const hsc_windows *w = r->w;
  char *scratch = hsc__cpu_worker_scratch(r->frame, worker);
  int64_t piece = task % r->runs;
  int64_t begin = task / r->runs * r->per_task;
  int64_t end = hsc_min(begin + r->per_task, w->free_positions);
  int64_t first = w->direct ? piece * w->run_chunk : 0;
  int64_t count = w->direct ? hsc_min(w->run_chunk, w->run - first) : 1;
  if (!w->is_scatter && folds_rows(w)) {
    reduce_rows(r, begin, end, scratch);
    return;
  }
  for (int64_t position = begin; position < end; position++) {
    if (w->is_scatter)
      scatter_free_position(r, position, first, count, scratch);
    else
      reduce_free_position(r, position, first, count, scratch);
  }
}

hsc_status *hsc__cpu_run_windows(const hsc_cpu_frame *frame, const hsc_cpu_thunk *thunk) {
  const hsc_windows *w = hsc__cpu_data(frame, thunk);
  const hsc_cpu_kernel *kernels = frame->executable->kernels;
  windows_run r = {.w = w,
                   .frame = frame,
                   .combine = kernels[w->kernel].function,
                   .in = hsc__cpu_input(frame, thunk, 0),
                   .out = hsc__cpu_output(frame, thunk, 0)};
  r.init = hsc__cpu_input(frame, thunk, w->is_scatter ? 2 : 1);
  if (w->is_scatter) {
    r.select = kernels[w->select_kernel].function;
    r.keep_4 = hsc_conv_kernels_for(frame->executable->device->isa.level)->keep_4;
    r.source = hsc__cpu_input(frame, thunk, 1);
    hsc_fill(r.out, r.init, w->element_bytes, w->in_elements);
  }
  if (w->out_elements == 0 || (w->is_scatter && w->in_elements == 0))
    return NULL;
  r.runs = w->direct ? (w->run + w->run_chunk - 1) / w->run_chunk : 1;
  int threads = hsc_cpu_pool_thread_count(frame->pool);
  int64_t tasks = w->work < 50000 ? 1 : hsc_min(w->free_positions, 8 * (int64_t)threads);
  r.per_task = (w->free_positions + tasks - 1) / tasks;
  if (!w->is_scatter && folds_rows(w))
    r.per_task = (r.per_task + ROW_LANES - 1) / ROW_LANES * ROW_LANES;
  hsc_cpu_pool_run(frame->pool, (w->free_positions + r.per_task - 1) / r.per_task * r.runs, do_task,
                   &r);
  return NULL;
}

// ---- checking -----------------------------------------------------------------------------------

// Positions are computed as o * stride - pad_low + k * dilation: none of the parts overflows.
static bool axis_fits(const axis *a) {
  static const int64_t FAR = (int64_t)1 << 60;
  int64_t outs = hsc__size_times(a->out_size, a->stride);
  int64_t taps = hsc__size_times(a->size, a->dilation);
  return a->in_size >= 0 && a->out_size >= 1 && a->size >= 1 && a->stride >= 1 &&
         a->dilation >= 1 && a->base_dilation >= 1 && outs >= 0 && outs < FAR && taps >= 0 &&
         taps < FAR && a->pad_low > -FAR && a->pad_low < FAR;
}

// The operand as windows see it, and the positions of the result.
static bool places_fit(const hsc_windows *w, int64_t operand_bytes, int64_t position_bytes) {
  hsc_reach in = hsc__reach_begin(0);
  hsc_reach out = hsc__reach_begin(0);
  for (int32_t i = 0; i < w->outer_count; i++) {
    if (!axis_fits(&w->axes[i]))
      return false;
    hsc__reach_add(&in, w->axes[i].in_size, w->axes[i].in_stride);
    hsc__reach_add(&out, w->axes[i].out_size, w->axes[i].out_stride);
  }
  if (!w->direct) {
    if (!axis_fits(&w->last))
      return false;
    hsc__reach_add(&in, w->last.in_size, w->last.in_stride);
    hsc__reach_add(&out, w->last.out_size, w->run);
  }
  hsc__reach_add(&in, w->run, 1);
  hsc__reach_add(&out, w->run, 1);
  return hsc__reach_fits(&in, w->element_bytes, w->element_bytes, operand_bytes) &&
         hsc__reach_fits(&out, w->element_bytes, w->element_bytes, position_bytes);
}

// A running fold walks operand and result by the result's strides.
static bool running_fits(const hsc_windows *w) {
  if (w->running == -1)
    return true;
  if (w->running < 0 || w->running >= w->outer_count || !w->direct || w->is_scatter)
    return false;
  for (int32_t i = 0; i < w->outer_count; i++)
    if (w->axes[i].in_size != w->axes[i].out_size || w->axes[i].in_stride != w->axes[i].out_stride)
      return false;
  return true;
}

static int64_t window_positions(const hsc_windows *w) {
  int64_t positions = w->direct ? 1 : w->last.size;
  for (int32_t i = 0; i < w->outer_count; i++)
    positions = hsc__size_times(positions, w->axes[i].size);
  return positions;
}

static bool tasks_fit(const hsc_windows *w) {
  int64_t positions = 1;
  for (int32_t i = 0; i < w->free_count; i++)
    positions = hsc__size_times(positions, w->axes[i].out_size);
  return positions == w->free_positions && w->run_chunk >= 1 && w->run_chunk <= w->run &&
         hsc__size_times(positions, w->run) >= 0;
}

// The initial value, the whole result where updates are scattered into it, and the compiled
// functions, of elements of w->element_bytes.
static bool elements_fit(hsc_cpu_payload *p, const hsc_windows *w) {
  int64_t bytes = w->element_bytes;
  int64_t both[2] = {bytes, bytes};
  if (bytes < 1 || bytes > 8 || (bytes & (bytes - 1)) ||
      !hsc__payload_reads(p, w->is_scatter ? 2 : 1, bytes) ||
      !hsc__lanes_fit(p, w->kernel, bytes, 2, both))
    return false;
  return !w->is_scatter || (hsc__payload_writes(p, 0, hsc__size_times(w->in_elements, bytes)) &&
                            hsc__lanes_fit(p, w->select_kernel, 1, 2, both));
}

// Counts that loops go by, and what a worker keeps of one window.
static bool counts_fit(const hsc_cpu_payload *p, const hsc_windows *w) {
  if (w->outer_count < 0 || w->outer_count > HSC_WINDOWS_MAX_DIMS || w->free_count < 0 ||
      w->free_count > w->outer_count || w->run < 1 || (!w->direct && w->run > HSC_LANES))
    return false;
  int64_t scratch = HSC_WINDOWS_MAX_POSITIONS * 8 + HSC_LANES * (3 * w->element_bytes + 4 + 1) + 64;
  int64_t positions = window_positions(w);
  return hsc__payload_worker_scratch(p, scratch) && positions >= 0 &&
         (!w->is_scatter || positions <= HSC_WINDOWS_MAX_POSITIONS);
}

bool hsc__cpu_check_windows(hsc_cpu_payload *p) {
  const hsc_windows *w = p->data;
  if (p->bytes != sizeof *w || !hsc__payload_is(p, sizeof *w, w->is_scatter ? 3 : 2, 1) ||
      !elements_fit(p, w))
    return false;
  if (w->out_elements == 0 || (w->is_scatter && w->in_elements == 0))
    return true;  // nothing more to do
  if (!counts_fit(p, w))
    return false;
  int64_t operand = p->inputs[0].bytes;
  if (w->is_scatter && p->outputs[0].bytes < operand)
    operand = p->outputs[0].bytes;
  return places_fit(w, operand, w->is_scatter ? p->inputs[1].bytes : p->outputs[0].bytes) &&
         running_fits(w) && tasks_fit(w);
}
