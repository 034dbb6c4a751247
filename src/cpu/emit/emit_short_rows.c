// emit_short_rows.c - reductions of arrays whose rows are short: coordinates, colours, a few states
// (see emit_reduce.c for other forms).
//
// Vectors along a row of three fill three lanes, and a sum of three is no loop. So the innermost
// loop is written out, as for kernels of loops in emit_columns.c, and vectors run along the loop
// around it. Each of the two may be kept or reduced:
//   rows kept      a vector of results at a time, one for each column that is kept
//   rows reduced   a vector of partial results for each column that is kept, folded across lanes at
//                  the end
// Other reduced loops lie inside of the kept ones, around both.
#include "cpu/emit/emit_reduce_internal.h"

enum {
  MOST_CODE = 400,    // operations of all columns together
  MOST_SHUFFLED = 6,  // columns that are shuffled out of rows in memory
  LEAST_LANES = 4,
};

static int column_loop(const hsc_emitter *e) {
  return e->loop_count - 1;
}
static int row_loop(const hsc_emitter *e) {
  return e->loop_count - 2;
}
static bool keeps(const hsc_emitter *e, int loop) {
  return e->loops[loop].group == 0;
}

// ---- the choice ---------------------------------------------------------------------------------

static int64_t factor_of(const hsc_emitter *e, const hsc_affine *linear, int loop) {
  return hsc_affine_factor(linear, e->loops[loop].first_iv + e->loops[loop].iv_count - 1);
}

// Whether vectors along the rows can load it: one element for all, side by side, or a column of
// rows that lie side by side whole.
static bool loads_well(const hsc_emitter *e, const hsc_emit_access *access) {
  const hsc_affine *linear = &access->linear;
  int64_t stride = factor_of(e, linear, row_loop(e));
  for (int i = 0; i < linear->count; i++)
    if (linear->terms[i].symbol >= e->iv_count)
      return false;
  if (stride == 0 || stride == 1)
    return true;
  if (stride < 2 || stride > MOST_SHUFFLED || linear->constant < 0 || access->conditional)
    return false;
  for (int l = 0; l < e->loop_count; l++)
    if (l != column_loop(e) && factor_of(e, linear, l) % stride)
      return false;
  return true;
}

// The number of lanes that leaves the fewest steps, with single elements after the last vector.
static int fitting_lanes(const hsc_emitter *e, int64_t size) {
  int best = hsc__emit_choose_lanes(e, size);
  for (int lanes = best / 2; lanes >= LEAST_LANES; lanes /= 2)
    if (size / lanes + size % lanes < size / best + size % best)
      best = lanes;
  return best;
}

int hsc__reduce_short_rows_shared(const hsc_emitter *e) {
  for (int l = 0; l < column_loop(e); l++)
    if (keeps(e, l))
      return l;
  return -1;
}

bool hsc__reduce_choose_short_rows(hsc_reduce *cx) {
  hsc_emit_job *job = cx->job;
  hsc_emitter *e = &job->e;
  if (e->loop_count < 2)
    return false;
  int64_t columns = e->loops[column_loop(e)].size;
  int lanes = fitting_lanes(e, e->loops[row_loop(e)].size);
  bool rows_kept = keeps(e, row_loop(e));
  int64_t held = keeps(e, column_loop(e)) ? columns : 1;
  if (columns > HSC_EMIT_MAX_COLUMNS || columns >= 2 * (int64_t)lanes || lanes < LEAST_LANES ||
      (!rows_kept && !cx->simple) || held * cx->value_count > HSC_REDUCE_MAX_ACCUMULATORS ||
      columns * (e->simple_ops + 4 * e->heavy_ops) > MOST_CODE)
    return false;
  for (int o = 0; o < cx->value_count; o++) {
    hsc_type type = hsc__reduce_output_type(cx, o);
    if (hsc_type_is_complex(type) || hsc_type_bits(type) < 8)
      return false;
  }
  for (int a = 0; a < e->access_count; a++)
    if (e->accesses[a].buffer >= 0 && !loads_well(e, &e->accesses[a]))
      return false;
  job->columns = (int)columns;
  job->lanes = lanes;
  return true;
}

// ---- accumulators -------------------------------------------------------------------------------

// One for each result, of one column after the other.
typedef struct held {
  hsc_emit_value v[HSC_REDUCE_MAX_ACCUMULATORS];
} held;

static int held_columns(const hsc_reduce *cx) {
  return keeps(&cx->job->e, column_loop(&cx->job->e)) ? cx->job->columns : 1;
}

static int held_count(const hsc_reduce *cx) {
  return held_columns(cx) * cx->value_count;
}

// As many lanes as are worked on.
static hsc_status *begin_held(hsc_reduce *cx, bool neutral, held *a) {
  for (int c = 0; c < held_columns(cx); c++) {
    hsc_emit_value *column = a->v + c * cx->value_count;
    HSC_TRY(hsc__reduce_initial_values(cx, column, neutral));
    for (int o = 0; o < cx->value_count; o++)
      column[o] = hsc__emit_widen(&cx->job->e, column[o]);
  }
  return NULL;
}

static void open_phis(hsc_reduce *cx, const hsc_emit_open_loop *open, held *a, hsc_lv *phis) {
  hsc_emitter *e = &cx->job->e;
  LLVMBasicBlockRef from = open->from;
  hsc__emit_at(e, open->level + 1);
  for (int i = 0; i < held_count(cx); i++) {
    phis[i] = hsc_ll.BuildPhi(e->builder, hsc_ll.TypeOf(a->v[i].v), "");
    hsc_ll.AddIncoming(phis[i], &a->v[i].v, &from, 1);
    a->v[i].v = phis[i];
    a->v[i].level = open->level + 1;
  }
}

// Ends a loop; what its last trip held is held after it.
static void close_phis(hsc_reduce *cx, hsc_emit_open_loop *open, held *a, hsc_lv *phis) {
  hsc_lv next[HSC_REDUCE_MAX_ACCUMULATORS];
  int count = held_count(cx);
  for (int i = 0; i < count; i++)
    next[i] = a->v[i].v;
  hsc__emit_close(&cx->job->e, open, phis, next, count);
  for (int i = 0; i < count; i++)
    a->v[i].level = open->level;
}

// All columns at the current row.
static hsc_status *fold_columns(hsc_reduce *cx, held *a) {
  hsc_emitter *e = &cx->job->e;
  hsc_emit_value values[HSC_REDUCE_MAX_ACCUMULATORS];
  bool kept = keeps(e, column_loop(e));
  e->fixed_loop = column_loop(e);
  for (int64_t c = 0; c < cx->job->columns; c++) {
    e->fixed_trip = c;
    HSC_TRY(hsc__reduce_operand_values(cx, values));
    for (int o = 0; o < cx->value_count; o++)
      values[o] = hsc__emit_widen(e, values[o]);
    HSC_TRY(hsc__reduce_fold_in(cx, a->v + (kept ? c * cx->value_count : 0), values));
  }
  e->fixed_loop = -1;
  return NULL;
}

// ---- stores -------------------------------------------------------------------------------------

static hsc_emit_value rounded(hsc_reduce *cx, int output, hsc_emit_value value) {
  hsc_type type = hsc__reduce_output_type(cx, output);
  if (type == hsc__reduce_held_type(cx, output))
    return value;
  return hsc__emit_round(&cx->job->e, type, value);
}

// The columns of a vector of rows, side by side as memory holds them.
static hsc_status *store_rows(hsc_reduce *cx, const held *a) {
  hsc_emitter *e = &cx->job->e;
  hsc_affine linear;
  e->fixed_trip = 0;
  HSC_TRY(hsc__reduce_output_linear(cx, &linear));
  for (int o = 0; o < cx->value_count; o++) {
    hsc_emit_value columns[HSC_EMIT_MAX_COLUMNS];
    for (int c = 0; c < cx->job->columns; c++)
      columns[c] = rounded(cx, o, a->v[c * cx->value_count + o]);
    hsc__emit_store_rows(e, e->buffers[e->input_count + o], hsc__reduce_output_type(cx, o), &linear,
                         columns, cx->job->columns);
  }
  return NULL;
}

static hsc_status *store_held(hsc_reduce *cx, int level, const held *a) {
  hsc_emitter *e = &cx->job->e;
  hsc_status *status = NULL;
  e->level = level;
  e->fixed_loop = column_loop(e);
  if (e->lanes > 1 && held_columns(cx) > 1) {
    status = store_rows(cx, a);
  } else {
    for (int c = 0; c < held_columns(cx) && !status; c++) {
      hsc_reduce_target to = {.partial = false};
      e->fixed_trip = c;
      status = hsc__reduce_output_linear(cx, &to.linear);
      if (!status)
        hsc__reduce_store_values(cx, &to, a->v + c * cx->value_count);
    }
  }
  e->fixed_loop = -1;
  return status;
}

// ---- loops --------------------------------------------------------------------------------------

// Between these, loop `row_loop` runs in steps of `lanes`.
static hsc_emit_open_loop open_rows(
    hsc_emitter *e, int level, hsc_lv begin, hsc_lv end, int lanes) {
  hsc_emit_open_loop open = hsc__emit_open(e, level, row_loop(e), begin, end, lanes);
  e->lanes = lanes;
  e->vector_loop = lanes > 1 ? row_loop(e) : -1;
  return open;
}

static void leave_rows(hsc_emitter *e) {
  hsc__emit_forget_lanes(e);
  e->lanes = 1;
  e->vector_loop = -1;
}

// Rows that are reduced: vectors, then single ones.
typedef struct row_sums {
  held wide, one;
  bool any_wide, any_one;
} row_sums;

static hsc_status *fold_rows(hsc_reduce *cx, int level, row_sums *sums) {
  hsc_emitter *e = &cx->job->e;
  int lanes = cx->job->lanes;
  int64_t size = e->loops[row_loop(e)].size;
  int64_t bounds[3] = {0, size / lanes * lanes, size};
  for (int part = 0; part < 2; part++) {
    held *a = part ? &sums->one : &sums->wide;
    hsc_lv phis[HSC_REDUCE_MAX_ACCUMULATORS];
    if (bounds[part] == bounds[part + 1])
      continue;
    hsc_emit_open_loop open =
        open_rows(e, level, hsc__emit_int(e, e->i64, bounds[part]),
                  hsc__emit_int(e, e->i64, bounds[part + 1]), part ? 1 : lanes);
    open_phis(cx, &open, a, phis);
    hsc_status *status = fold_columns(cx, a);
    close_phis(cx, &open, a, phis);
    leave_rows(e);
    HSC_TRY(status);
  }
  return NULL;
}

static int next_reduced(const hsc_emitter *e, int loop) {
  while (loop < row_loop(e) && keeps(e, loop))
    loop++;
  return loop;
}

// Reduced loops around the rows, with what they fold; `sums` where rows are reduced, else `a`.
static hsc_status *reduced_nest(hsc_reduce *cx, int level, int loop, held *a, row_sums *sums) {
  hsc_emitter *e = &cx->job->e;
  hsc_lv phis[2][HSC_REDUCE_MAX_ACCUMULATORS];
  loop = next_reduced(e, loop);
  if (loop >= row_loop(e))
    return sums ? fold_rows(cx, level, sums) : fold_columns(cx, a);
  hsc_emit_open_loop open = hsc__emit_open(e, level, loop, hsc__emit_int(e, e->i64, 0),
                                           hsc__emit_int(e, e->i64, e->loops[loop].size), 1);
  if (!sums) {
    open_phis(cx, &open, a, phis[0]);
    HSC_TRY(reduced_nest(cx, level + 1, loop + 1, a, NULL));
    close_phis(cx, &open, a, phis[0]);
    return NULL;
  }
  int count = held_count(cx);
  hsc_lv all[2 * HSC_REDUCE_MAX_ACCUMULATORS], next[2 * HSC_REDUCE_MAX_ACCUMULATORS];
  open_phis(cx, &open, &sums->wide, phis[0]);
  open_phis(cx, &open, &sums->one, phis[1]);
  HSC_TRY(reduced_nest(cx, level + 1, loop + 1, NULL, sums));
  for (int i = 0; i < count; i++) {
    all[i] = phis[0][i];
    all[count + i] = phis[1][i];
    next[i] = sums->wide.v[i].v;
    next[count + i] = sums->one.v[i].v;
  }
  hsc__emit_close(e, &open, all, next, 2 * count);
  for (int i = 0; i < count; i++)
    sums->wide.v[i].level = sums->one.v[i].level = level;
  return NULL;
}

static hsc_status *reduced_rows(hsc_reduce *cx, int level) {
  hsc_emit_job *job = cx->job;
  hsc_emitter *e = &job->e;
  row_sums *sums = HSC_NEW(e->arena, row_sums);
  held *total = HSC_NEW(e->arena, held);
  HSC_TRY(hsc_arena_status(e->arena));
  bool tail = e->loops[row_loop(e)].size % job->lanes != 0;
  e->lanes = job->lanes;
  hsc_status *status = begin_held(cx, true, &sums->wide);
  leave_rows(e);
  HSC_TRY(status);
  HSC_TRY(begin_held(cx, true, &sums->one));
  HSC_TRY(begin_held(cx, false, total));
  HSC_TRY(reduced_nest(cx, level, 0, NULL, sums));
  for (int c = 0; c < held_columns(cx); c++) {
    hsc_emit_value *column = sums->wide.v + c * cx->value_count;
    HSC_TRY(hsc__reduce_across_lanes(cx, level, column));
    if (tail)
      HSC_TRY(hsc__reduce_fold_in(cx, column, sums->one.v + c * cx->value_count));
    HSC_TRY(hsc__reduce_fold_in(cx, total->v + c * cx->value_count, column));
  }
  return store_held(cx, level, total);
}

// Rows [begin, end), which are kept.
static hsc_status *kept_rows(hsc_reduce *cx, int level, hsc_lv begin, hsc_lv end, int lanes) {
  hsc_emitter *e = &cx->job->e;
  held *a = HSC_NEW(e->arena, held);
  HSC_TRY(hsc_arena_status(e->arena));
  hsc_emit_open_loop open = open_rows(e, level, begin, end, lanes);
  hsc_status *status = begin_held(cx, false, a);
  if (!status)
    status = reduced_nest(cx, level + 1, 0, a, NULL);
  if (!status)
    status = store_held(cx, level + 1, a);
  hsc__emit_close(e, &open, NULL, NULL, 0);
  leave_rows(e);
  return status;
}

static hsc_status *guarded_rows(hsc_reduce *cx, int level, hsc_lv begin, hsc_lv end, int lanes) {
  hsc_emitter *e = &cx->job->e;
  hsc__emit_at(e, level);
  hsc_emit_open_if open =
      hsc__emit_open_if(e, level, hsc_ll.BuildICmp(e->builder, LLVMIntSLT, begin, end, ""));
  HSC_TRY(kept_rows(cx, level + 1, begin, end, lanes));
  hsc__emit_close_if(e, &open);
  return NULL;
}

static hsc_status *all_kept_rows(hsc_reduce *cx, int level) {
  hsc_emitter *e = &cx->job->e;
  int lanes = cx->job->lanes;
  int64_t size = e->loops[row_loop(e)].size;
  if (hsc__reduce_short_rows_shared(e) != row_loop(e)) {
    hsc_lv middle = hsc__emit_int(e, e->i64, size / lanes * lanes);
    HSC_TRY(kept_rows(cx, level, hsc__emit_int(e, e->i64, 0), middle, lanes));
    if (size % lanes == 0)
      return NULL;
    return kept_rows(cx, level, middle, hsc__emit_int(e, e->i64, size), 1);
  }
  hsc_lv begin = hsc_ll.GetParam(e->function, 1);
  hsc_lv end = hsc_ll.GetParam(e->function, 2);
  hsc__emit_at(e, level);
  hsc_lv count = hsc_ll.BuildSub(e->builder, end, begin, "");
  hsc_lv whole = hsc_ll.BuildAnd(e->builder, count, hsc__emit_int(e, e->i64, -(int64_t)lanes), "");
  hsc_lv middle = hsc_ll.BuildAdd(e->builder, begin, whole, "");
  HSC_TRY(guarded_rows(cx, level, begin, middle, lanes));
  return guarded_rows(cx, level, middle, end, 1);
}

static hsc_status *kept_nest(hsc_reduce *cx, int level, int loop) {
  hsc_emitter *e = &cx->job->e;
  while (loop < row_loop(e) && !keeps(e, loop))
    loop++;
  if (loop >= row_loop(e))
    return keeps(e, row_loop(e)) ? all_kept_rows(cx, level) : reduced_rows(cx, level);
  bool shared = loop == hsc__reduce_short_rows_shared(e);
  hsc_lv begin = shared ? hsc_ll.GetParam(e->function, 1) : hsc__emit_int(e, e->i64, 0);
  hsc_lv end =
      shared ? hsc_ll.GetParam(e->function, 2) : hsc__emit_int(e, e->i64, e->loops[loop].size);
  hsc_emit_open_loop open = hsc__emit_open(e, level, loop, begin, end, 1);
  HSC_TRY(kept_nest(cx, level + 1, loop + 1));
  hsc__emit_close(e, &open, NULL, NULL, 0);
  return NULL;
}

hsc_status *hsc__reduce_short_rows(hsc_reduce *cx) {
  return kept_nest(cx, 0, 0);
}
