// emit_reduce.c - kernels that fold dimensions: one reduce, or several over the same dimensions
// (see emit.h).
//
// The iteration space is that of the reduced operand; its dimensions are kept or reduced, and only
// alike neighbours merge. Three forms:
//   rows      the innermost dimension is reduced: accumulators in registers, vectors along it,
//             folded across lanes at the end of a row
//   columns   the innermost dimension is kept: the row of results is the accumulator, in memory;
//             every operand row is added to it as it comes
//   registers the same with one vector of results at a time in registers, for short rows of results
//   and for reducers that memory would round
//   short rows  the innermost loop has few trips: see emit_short_rows.c
// A reducer that is one operation with a neutral element may be cut up (vectors, partial results);
// any other is applied in order to single elements (rows) or to independent vectors (columns,
// registers).
// Large reductions to few results are cut into parts with results of their own, which a second
// function, <name>_combine, folds.
#include <float.h>
#include <math.h>

#include "cpu/emit/emit_reduce_internal.h"

enum { MAX_UNROLL = 4 };

// ---- reducers -----------------------------------------------------------------------------------

// The operation that the accumulators are folded with one by one, and that vectors of them are; any
// order will do. HSC_OP_COUNT: the computation is emitted as it is.
static hsc_op folding_op(const hsc_computation *c) {
  hsc_op op;
  bool folds = hsc_is_simple_reducer(c, &op) && (hsc_op_traits(op) & HSC_TRAIT_COMMUTES);
  return folds ? op : HSC_OP_COUNT;
}

// Narrow floats are accumulated in f32 and rounded once.
static hsc_type accumulate_type(hsc_type type, bool simple) {
  if (simple && hsc_type_is_float(type) && type != HSC_TYPE_F64)
    return HSC_TYPE_F32;
  return type;
}

static double lowest_of(hsc_type type) {
  if (hsc_type_is_float(type))
    return -INFINITY;
  if (hsc_type_class_of(type) == HSC_CLASS_SIGNED)
    return -ldexp(1, hsc_type_bits(type) - 1);
  return 0;
}

hsc_emit_value hsc__reduce_neutral(hsc_emitter *e, hsc_op op, hsc_type type) {
  LLVMTypeRef lane = hsc__emit_type(e, type);
  hsc_emit_value value = {.level = 0};
  if (hsc_type_is_float(type) || hsc_type_is_complex(type)) {
    double number;
    if (op == HSC_OP_ADD)
      number = -0.0;
    else if (op == HSC_OP_MULTIPLY)
      number = 1;
    else if (op == HSC_OP_MAXIMUM)
      number = -INFINITY;
    else
      number = INFINITY;
    value.v = hsc__emit_real(e, lane, number);
    if (hsc_type_is_complex(type))
      value.im = hsc__emit_real(e, lane, op == HSC_OP_ADD ? -0.0 : 0);
    return value;
  }
  bool is_signed = hsc_type_class_of(type) == HSC_CLASS_SIGNED;
  bool pred = type == HSC_TYPE_PRED;
  int bits = pred ? 1 : hsc_type_bits(type);
  int64_t highest;
  if (bits == 64) {
    if (is_signed)
      highest = INT64_MAX;
    else
      highest = -1;
  } else
    highest = ((int64_t)1 << (bits - (is_signed ? 1 : 0))) - 1;
  int64_t number = 0;
  if (op == HSC_OP_MULTIPLY)
    number = 1;
  if (op == HSC_OP_MAXIMUM)
    number = (int64_t)(lowest_of(type) < 0 ? -highest - 1 : 0);
  if (op == HSC_OP_MINIMUM)
    number = highest;
  if (op == HSC_OP_AND)
    number = is_signed ? -1 : highest;
  value.v = hsc__emit_int(e, lane, number);
  return value;
}

bool hsc__emit_can_reduce(const hsc_instr *reduce, const hsc_instr *first) {
  if (reduce->called_count != 1 || reduce->operand_count % 2 || reduce->operand_count == 0 ||
      !hsc__emit_can_called(reduce->called[0]))
    return false;
  if (!hsc_shape_same_dims(&reduce->operands[0]->shape, &first->operands[0]->shape))
    return false;
  if (reduce->attr.dims.dims.count != first->attr.dims.dims.count)
    return false;
  for (int i = 0; i < reduce->attr.dims.dims.count; i++)
    if (reduce->attr.dims.dims.v[i] != first->attr.dims.dims.v[i])
      return false;
  for (int i = 0; i < reduce->operand_count; i++) {
    const hsc_shape *shape = &reduce->operands[i]->shape;
    if (!hsc_shape_is_array(shape) || !hsc__emit_can_type(shape->type))
      return false;
    // An initial value or result of another type than the operand is folded by no emitter.
    if (i < reduce->operand_count / 2 &&
        shape->type != reduce->operands[i + reduce->operand_count / 2]->shape.type)
      return false;
  }
  if (hsc_shape_elements(&first->operands[0]->shape) == 0)
    return false;
  int leaves = hsc_shape_leaf_count(&reduce->shape);
  for (int l = 0; l < leaves; l++)
    if (hsc_shape_leaf(&reduce->shape, l)->type != reduce->operands[l]->shape.type)
      return false;
  return true;
}

static void make_context(hsc_reduce *cx, hsc_emit_job *job) {
  *cx = (hsc_reduce){.job = job, .simple = true};
  for (int r = 0; r < job->e.root_count; r++) {
    const hsc_instr *reduce = job->e.roots[r];
    hsc_folding *f = &cx->foldings[cx->folding_count++];
    *f = (hsc_folding){.reduce = reduce,
                       .operand_count = reduce->operand_count / 2,
                       .first_output = cx->value_count,
                       .op = folding_op(reduce->called[0])};
    if (hsc_type_is_complex(reduce->operands[0]->shape.type) && f->op != HSC_OP_ADD)
      f->op = HSC_OP_COUNT;
    cx->simple = cx->simple && f->op != HSC_OP_COUNT;
    cx->value_count += f->operand_count;
  }
}

hsc_type hsc__reduce_output_type(const hsc_reduce *cx, int output) {
  for (int f = 0; f < cx->folding_count; f++) {
    const hsc_folding *one = &cx->foldings[f];
    if (output < one->first_output + one->operand_count)
      return one->reduce->operands[output - one->first_output]->shape.type;
  }
  return HSC_TYPE_INVALID;
}

hsc_type hsc__reduce_held_type(const hsc_reduce *cx, int output) {
  for (int f = 0; f < cx->folding_count; f++) {
    const hsc_folding *one = &cx->foldings[f];
    if (output < one->first_output + one->operand_count)
      return accumulate_type(hsc__reduce_output_type(cx, output), one->op != HSC_OP_COUNT);
  }
  return HSC_TYPE_INVALID;
}

// accumulators = reducer(accumulators, values), for all foldings.
hsc_status *hsc__reduce_fold_in(hsc_reduce *cx,
                                hsc_emit_value *accumulators,
                                const hsc_emit_value *values) {
  hsc_emitter *e = &cx->job->e;
  for (int f = 0; f < cx->folding_count; f++) {
    const hsc_folding *one = &cx->foldings[f];
    hsc_emit_value *acc = accumulators + one->first_output;
    const hsc_emit_value *value = values + one->first_output;
    if (one->op != HSC_OP_COUNT) {
      hsc_type type = hsc__reduce_held_type(cx, one->first_output);
      hsc_instr scalar = {.shape = hsc_shape_scalar(type)};
      hsc_instr *operands[2] = {&scalar, &scalar};
      hsc_instr op = {
          .op = one->op, .shape = hsc_shape_scalar(type), .operands = operands, .operand_count = 2};
      hsc_emit_value both[2] = {acc[0], value[0]};
      acc[0] = hsc__emit_elementwise(e, &op, both);
      continue;
    }
    hsc_emit_value arguments[2 * HSC_KERNEL_MAX_BUFFERS], results[HSC_KERNEL_MAX_BUFFERS];
    memcpy(arguments, acc, sizeof *acc * (size_t)one->operand_count);
    memcpy(arguments + one->operand_count, value, sizeof *value * (size_t)one->operand_count);
    HSC_TRY(hsc__emit_called(e, one->reduce->called[0], arguments, results));
    memcpy(acc, results, sizeof *acc * (size_t)one->operand_count);
  }
  return NULL;
}

hsc_status *hsc__reduce_initial_values(hsc_reduce *cx, hsc_emit_value *values, bool neutral_only) {
  hsc_emitter *e = &cx->job->e;
  for (int f = 0; f < cx->folding_count; f++) {
    const hsc_folding *one = &cx->foldings[f];
    for (int i = 0; i < one->operand_count; i++) {
      hsc_emit_value *value = &values[one->first_output + i];
      if (neutral_only)
        *value = hsc__reduce_neutral(e, one->op, hsc__reduce_held_type(cx, one->first_output + i));
      else
        HSC_TRY(
            hsc__emit_visit(e, one->reduce->operands[one->operand_count + i], NULL, NULL, value));
    }
  }
  return NULL;
}

// The folded operands at the current index.
hsc_status *hsc__reduce_operand_values(hsc_reduce *cx, hsc_emit_value *values) {
  hsc_emitter *e = &cx->job->e;
  const hsc_emit_space *space = &cx->job->space;
  hsc_affine index[HSC_MAX_RANK];
  for (int d = 0; d < space->rank; d++)
    index[d] = hsc__emit_space_index(e, space, d);
  for (int f = 0; f < cx->folding_count; f++)
    for (int i = 0; i < cx->foldings[f].operand_count; i++)
      HSC_TRY(hsc__emit_visit(e, cx->foldings[f].reduce->operands[i], index, NULL,
                              &values[cx->foldings[f].first_output + i]));
  return NULL;
}

// Where a result lies: row-major over the kept dimensions.
hsc_status *hsc__reduce_output_linear(const hsc_reduce *cx, hsc_affine *out_linear) {
  const hsc_emit_space *space = &cx->job->space;
  hsc_affine linear = hsc_affine_constant(0);
  int64_t stride = 1;
  for (int d = space->rank - 1; d >= 0; d--) {
    if (space->group[d])
      continue;
    hsc_affine index = hsc__emit_space_index(&cx->job->e, space, d);
    if (!hsc_affine_add(&linear, &index, stride, &linear))
      return HSC_ERR(UNIMPLEMENTED, "kernel: not built yet: an index of more than %d terms",
                     HSC_AFFINE_MAX_TERMS);
    stride *= space->dims[d];
  }
  *out_linear = linear;
  return NULL;
}

static int64_t output_elements(const hsc_emit_space *space) {
  int64_t count = 1;
  for (int d = 0; d < space->rank; d++)
    if (!space->group[d])
      count *= space->dims[d];
  return count;
}

// ---- planning -----------------------------------------------------------------------------------

static hsc_status *analyse_body(hsc_emitter *e, const hsc_emit_space *space) {
  hsc_reduce cx;
  make_context(&cx, (hsc_emit_job *)e);  // the emitter is the job's first member
  hsc_emit_value *values = HSC_NEW_ARRAY(e->arena, hsc_emit_value, cx.value_count + 1);
  HSC_TRY(hsc_arena_status(e->arena));
  HSC_TRY(hsc__reduce_operand_values(&cx, values));
  hsc_affine linear;
  HSC_TRY(hsc__reduce_output_linear(&cx, &linear));
  for (int o = 0; o < cx.value_count; o++) {
    hsc__emit_note(e, e->input_count + o, &linear, false, 0);
    hsc__emit_note_width(e, hsc__reduce_output_type(&cx, o));
    e->simple_ops++;
  }
  return hsc__reduce_initial_values(&cx, values, false);
}

static int last_loop_of_group(const hsc_emitter *e, int group) {
  for (int l = e->loop_count - 1; l >= 0; l--)
    if (e->loops[l].group == group)
      return l;
  return -1;
}

static int first_loop_of_group(const hsc_emitter *e, int group) {
  for (int l = 0; l < e->loop_count; l++)
    if (e->loops[l].group == group)
      return l;
  return -1;
}

// Parts of about 50 us, at most 64; none for what one thread does quickly.
static int64_t choose_partials(double cost_ns, int64_t size) {
  if (cost_ns < 100e3)
    return 0;
  int64_t parts = (int64_t)(cost_ns / 50e3);
  if (parts > 64)
    parts = 64;
  if (parts > size / 2)
    parts = size / 2;
  if (parts < 2)
    return 0;
  int64_t each = (size + parts - 1) / parts;  // no part is empty
  return (size + each - 1) / each;
}

hsc_status *hsc__emit_plan_reduce(hsc_emit_job *job) {
  hsc_emitter *e = &job->e;
  const hsc_instr *first = e->roots[0];
  const hsc_shape *shape = &first->operands[0]->shape;
  job->space.rank = shape->rank;
  for (int d = 0; d < shape->rank; d++) {
    job->space.dims[d] = shape->dims[d];
    job->space.group[d] = 0;
  }
  for (int i = 0; i < first->attr.dims.dims.count; i++)
    job->space.group[first->attr.dims.dims.v[i]] = 1;
  HSC_TRY(hsc__emit_analyse(e, &job->space, analyse_body));
  if (e->output_count > HSC_REDUCE_MAX_ACCUMULATORS)
    return HSC_ERR(UNIMPLEMENTED, "reduce: not built yet: more than %d results in one kernel",
                   HSC_REDUCE_MAX_ACCUMULATORS);
  hsc_reduce cx;
  make_context(&cx, job);
  hsc_kernel_plan *plan = &job->plan;
  plan->kind = HSC_KERNEL_REDUCE;
  int last = e->loop_count - 1;
  int kept = first_loop_of_group(e, 0);
  int reduced = first_loop_of_group(e, 1);
  bool rows = last >= 0 && e->loops[last].group == 1;
  job->lanes =
      last < 0 || (rows && !cx.simple) ? 1 : hsc__emit_choose_lanes(e, e->loops[last].size);
  plan->cost_ns = hsc__emit_cost_ns(e, hsc_shape_elements(shape), job->lanes);
  plan->piece = 1;
  // Results that one outermost loop runs over are shared out among threads; else the reduced
  // dimension is.
  int kept_outer;
  if (rows)
    kept_outer = kept;
  else if (kept == last_loop_of_group(e, 0))
    kept_outer = -1;
  else
    kept_outer = kept;
  plan->count = kept_outer >= 0 ? e->loops[kept_outer].size : 1;
  bool few = plan->count < 8;
  if (few && cx.simple && reduced >= 0) {
    plan->partials = choose_partials(plan->cost_ns, e->loops[reduced].size);
    if (plan->partials) {
      plan->count = plan->partials;
      plan->partial_elements = output_elements(&job->space);
      for (int o = 0; o < cx.value_count; o++) {
        plan->partial_offset[o] = plan->scratch_bytes;
        plan->scratch_bytes += (plan->partials * plan->partial_elements *
                                    (int64_t)hsc_type_bytes(hsc__reduce_held_type(&cx, o)) +
                                63) /
                               64 * 64;
      }
    }
  }
  if (plan->partials || !hsc__reduce_choose_short_rows(&cx))
    return NULL;
  int shared = hsc__reduce_short_rows_shared(e);
  plan->count = shared >= 0 ? e->loops[shared].size : 1;
  plan->piece = shared == e->loop_count - 2 ? 64 : 1;  // whole vectors
  plan->cost_ns = hsc__emit_cost_ns(e, hsc_shape_elements(shape), job->lanes);
  return NULL;
}

// ---- results ------------------------------------------------------------------------------------

void hsc__reduce_store_values(hsc_reduce *cx,
                              const hsc_reduce_target *to,
                              const hsc_emit_value *values) {
  hsc_emitter *e = &cx->job->e;
  for (int o = 0; o < cx->value_count; o++) {
    hsc_type type = to->partial ? hsc__reduce_held_type(cx, o) : hsc__reduce_output_type(cx, o);
    hsc_emit_value value = values[o];
    if (type != hsc__reduce_held_type(cx, o))
      value = hsc__emit_round(e, type, value);
    int buffer = e->input_count + (to->partial ? e->output_count : 0) + o;
    hsc__emit_store(e, e->buffers[buffer], type, &to->linear, value);
  }
}

static hsc_emit_value load_value(hsc_reduce *cx, const hsc_reduce_target *from, int output) {
  hsc_emitter *e = &cx->job->e;
  hsc_type type =
      from->partial ? hsc__reduce_held_type(cx, output) : hsc__reduce_output_type(cx, output);
  int buffer = e->input_count + (from->partial ? e->output_count : 0) + output;
  return hsc__emit_load(e, e->buffers[buffer], type, 0, &from->linear, NULL);
}

// ---- rows ---------------------------------------------------------------------------------------

typedef struct accumulators {
  hsc_emit_value wide[MAX_UNROLL][HSC_REDUCE_MAX_ACCUMULATORS];  // vectors
  // scalars: of the elements after the last whole vector
  hsc_emit_value one[HSC_REDUCE_MAX_ACCUMULATORS];
  int unroll;  // 0 = no vectors
  bool tail;
} accumulators;

// All parts of the accumulators as one list of values, in a fixed order, and back.
static int list_parts(const hsc_reduce *cx, const accumulators *a, hsc_lv *parts) {
  int count = 0;
  for (int u = 0; u < a->unroll; u++)
    for (int o = 0; o < cx->value_count; o++) {
      parts[count++] = a->wide[u][o].v;
      if (a->wide[u][o].im)
        parts[count++] = a->wide[u][o].im;
    }
  for (int o = 0; o < cx->value_count && a->tail; o++) {
    parts[count++] = a->one[o].v;
    if (a->one[o].im)
      parts[count++] = a->one[o].im;
  }
  return count;
}

static void unlist_parts(const hsc_reduce *cx, accumulators *a, const hsc_lv *parts, int level) {
  int count = 0;
  for (int u = 0; u < a->unroll; u++)
    for (int o = 0; o < cx->value_count; o++) {
      a->wide[u][o].v = parts[count++];
      if (a->wide[u][o].im)
        a->wide[u][o].im = parts[count++];
      a->wide[u][o].level = level;
    }
  for (int o = 0; o < cx->value_count && a->tail; o++) {
    a->one[o].v = parts[count++];
    if (a->one[o].im)
      a->one[o].im = parts[count++];
    a->one[o].level = level;
  }
}

enum { MAX_PARTS = 2 * (MAX_UNROLL + 1) * HSC_REDUCE_MAX_ACCUMULATORS };

// Makes phi's for the accumulators at the head of an open loop.
static int make_phis(hsc_reduce *cx,
                     const hsc_emit_open_loop *open,
                     accumulators *a,
                     hsc_lv *phis) {
  hsc_emitter *e = &cx->job->e;
  hsc_lv parts[MAX_PARTS];
  LLVMBasicBlockRef from = open->from;
  int count = list_parts(cx, a, parts);
  hsc__emit_at(e, open->level + 1);
  for (int i = 0; i < count; i++) {
    phis[i] = hsc_ll.BuildPhi(e->builder, hsc_ll.TypeOf(parts[i]), "");
    hsc_ll.AddIncoming(phis[i], &parts[i], &from, 1);
  }
  unlist_parts(cx, a, phis, open->level + 1);
  return count;
}

static hsc_status *row_vectors(
    hsc_reduce *cx, int level, int loop, hsc_lv begin, hsc_lv end, accumulators *a) {
  hsc_emitter *e = &cx->job->e;
  int lanes = cx->job->lanes;
  hsc_lv phis[MAX_PARTS], next[MAX_PARTS];
  hsc_emit_open_loop open = hsc__emit_open(e, level, loop, begin, end, (int64_t)lanes * a->unroll);
  e->lanes = lanes;
  e->vector_loop = loop;
  int count = make_phis(cx, &open, a, phis);
  hsc_emit_value *values = HSC_NEW_ARRAY(e->arena, hsc_emit_value, cx->value_count + 1);
  HSC_TRY(hsc_arena_status(e->arena));
  for (int u = 0; u < a->unroll; u++) {
    if (u > 0) {
      hsc__emit_forget(e, level + 1);
      hsc__emit_at(e, level + 1);
      e->loops[loop].counter = hsc_ll.BuildAdd(e->builder, open.counter,
                                               hsc__emit_int(e, e->i64, (int64_t)u * lanes), "");
    }
    HSC_TRY(hsc__reduce_operand_values(cx, values));
    for (int o = 0; o < cx->value_count; o++)
      values[o] = hsc__emit_widen(e, values[o]);
    HSC_TRY(hsc__reduce_fold_in(cx, a->wide[u], values));
  }
  list_parts(cx, a, next);
  hsc__emit_close(e, &open, phis, next, count);
  // After the loop the values are those of its last trip.
  unlist_parts(cx, a, next, level);
  hsc__emit_forget_lanes(e);
  e->lanes = 1;
  e->vector_loop = -1;
  return NULL;
}

static hsc_status *row_scalars(
    hsc_reduce *cx, int level, int loop, hsc_lv begin, hsc_lv end, accumulators *a) {
  hsc_emitter *e = &cx->job->e;
  hsc_lv phis[MAX_PARTS], next[MAX_PARTS];
  hsc_emit_open_loop open = hsc__emit_open(e, level, loop, begin, end, 1);
  int count = make_phis(cx, &open, a, phis);
  hsc_emit_value *values = HSC_NEW_ARRAY(e->arena, hsc_emit_value, cx->value_count + 1);
  HSC_TRY(hsc_arena_status(e->arena));
  HSC_TRY(hsc__reduce_operand_values(cx, values));
  HSC_TRY(hsc__reduce_fold_in(cx, a->one, values));
  list_parts(cx, a, next);
  hsc__emit_close(e, &open, phis, next, count);
  unlist_parts(cx, a, next, level);
  return NULL;
}

// The values that reach a join: those from inside when the condition held, else those from before.
static void join_parts(hsc_reduce *cx,
                       int level,
                       LLVMBasicBlockRef before_block,
                       LLVMBasicBlockRef inner_block,
                       const hsc_lv *before,
                       accumulators *a) {
  hsc_emitter *e = &cx->job->e;
  hsc_lv inner[MAX_PARTS], joined[MAX_PARTS];
  int count = list_parts(cx, a, inner);
  hsc__emit_at(e, level);
  for (int i = 0; i < count; i++) {
    joined[i] = hsc_ll.BuildPhi(e->builder, hsc_ll.TypeOf(inner[i]), "");
    hsc_lv values[2] = {before[i], inner[i]};
    LLVMBasicBlockRef blocks[2] = {before_block, inner_block};
    hsc_ll.AddIncoming(joined[i], values, blocks, 2);
  }
  unlist_parts(cx, a, joined, level);
}

// A loop that may have no trips, around row_vectors or row_scalars.
static hsc_status *row_guarded(
    hsc_reduce *cx, int level, int loop, hsc_lv begin, hsc_lv end, accumulators *a, bool vectors) {
  hsc_emitter *e = &cx->job->e;
  hsc_lv before[MAX_PARTS];
  list_parts(cx, a, before);
  hsc__emit_at(e, level);
  hsc_lv any = hsc_ll.BuildICmp(e->builder, LLVMIntSLT, begin, end, "");
  LLVMBasicBlockRef before_block = e->tails[level];
  hsc_emit_open_if open = hsc__emit_open_if(e, level, any);
  HSC_TRY(vectors ? row_vectors(cx, level + 1, loop, begin, end, a)
                  : row_scalars(cx, level + 1, loop, begin, end, a));
  LLVMBasicBlockRef inner_block = e->tails[level + 1];
  hsc__emit_close_if(e, &open);
  join_parts(cx, level, before_block, inner_block, before, a);
  return NULL;
}

typedef struct span {  // bounds of the outermost reduced loop
  hsc_lv begin, end;
  bool fixed;  // the whole loop
} span;

static hsc_status *row_nest(
    hsc_reduce *cx, int level, int loop, const span *outer, accumulators *a) {
  hsc_emitter *e = &cx->job->e;
  int lanes = cx->job->lanes;
  int next_loop = loop + 1;
  while (next_loop < e->loop_count && e->loops[next_loop].group == 0)
    next_loop++;
  int64_t size = e->loops[loop].size;
  hsc_lv begin = outer ? outer->begin : hsc__emit_int(e, e->i64, 0);
  hsc_lv end = outer ? outer->end : hsc__emit_int(e, e->i64, size);
  bool fixed = !outer || outer->fixed;
  if (next_loop < e->loop_count) {
    hsc_lv phis[MAX_PARTS], next[MAX_PARTS];
    hsc_emit_open_loop open = hsc__emit_open(e, level, loop, begin, end, 1);
    int count = make_phis(cx, &open, a, phis);
    HSC_TRY(row_nest(cx, level + 1, next_loop, NULL, a));
    list_parts(cx, a, next);
    hsc__emit_close(e, &open, phis, next, count);
    unlist_parts(cx, a, next, level);
    return NULL;
  }
  if (!a->unroll)
    return row_scalars(cx, level, loop, begin, end, a);
  int64_t step = (int64_t)lanes * a->unroll;
  if (fixed) {
    hsc_lv middle = hsc__emit_int(e, e->i64, size / step * step);
    HSC_TRY(row_vectors(cx, level, loop, begin, middle, a));
    return a->tail ? row_scalars(cx, level, loop, middle, end, a) : NULL;
  }
  hsc__emit_at(e, level);
  hsc_lv whole = hsc_ll.BuildSub(e->builder, end, begin, "");
  // Divided and multiplied: the step need not be a power of two.
  whole = hsc_ll.BuildMul(e->builder,
                          hsc_ll.BuildUDiv(e->builder, whole, hsc__emit_int(e, e->i64, step), ""),
                          hsc__emit_int(e, e->i64, step), "");
  hsc_lv middle = hsc_ll.BuildAdd(e->builder, begin, whole, "");
  HSC_TRY(row_guarded(cx, level, loop, begin, middle, a, true));
  return row_guarded(cx, level, loop, middle, end, a, false);
}

static hsc_lv upper_half(hsc_emitter *e, hsc_lv v, int lanes) {
  hsc_lv numbers[64];
  for (int i = 0; i < lanes / 2; i++)
    numbers[i] = hsc__emit_int(e, e->i32, lanes / 2 + i);
  return hsc_ll.BuildShuffleVector(e->builder, v, hsc_ll.GetPoison(hsc_ll.TypeOf(v)),
                                   hsc_ll.ConstVector(numbers, (unsigned)(lanes / 2)), "");
}

static hsc_lv lower_half(hsc_emitter *e, hsc_lv v, int lanes) {
  hsc_lv numbers[64];
  for (int i = 0; i < lanes / 2; i++)
    numbers[i] = hsc__emit_int(e, e->i32, i);
  return hsc_ll.BuildShuffleVector(e->builder, v, hsc_ll.GetPoison(hsc_ll.TypeOf(v)),
                                   hsc_ll.ConstVector(numbers, (unsigned)(lanes / 2)), "");
}

// Vectors to scalars: halves are folded together until one lane is left.
hsc_status *hsc__reduce_across_lanes(hsc_reduce *cx, int level, hsc_emit_value *values) {
  hsc_emitter *e = &cx->job->e;
  hsc_emit_value low[HSC_REDUCE_MAX_ACCUMULATORS], high[HSC_REDUCE_MAX_ACCUMULATORS];
  int lanes = cx->job->lanes;
  for (; lanes > 1; lanes /= 2) {
    hsc__emit_at(e, level);
    for (int o = 0; o < cx->value_count; o++) {
      low[o] = high[o] = values[o];
      low[o].level = high[o].level = level;
      low[o].v = lower_half(e, values[o].v, lanes);
      high[o].v = upper_half(e, values[o].v, lanes);
      if (values[o].im) {
        low[o].im = lower_half(e, values[o].im, lanes);
        high[o].im = upper_half(e, values[o].im, lanes);
      }
    }
    e->lanes = lanes / 2;
    HSC_TRY(hsc__reduce_fold_in(cx, low, high));
    memcpy(values, low, sizeof *low * (size_t)cx->value_count);
  }
  e->lanes = 1;
  hsc__emit_at(e, level);
  for (int o = 0; o < cx->value_count; o++) {
    hsc_lv zero = hsc__emit_int(e, e->i32, 0);
    values[o].v = hsc_ll.BuildExtractElement(e->builder, values[o].v, zero, "");
    if (values[o].im)
      values[o].im = hsc_ll.BuildExtractElement(e->builder, values[o].im, zero, "");
    values[o].vector = false;
    values[o].level = level;
  }
  return NULL;
}

static int choose_unroll(const hsc_emitter *e, int64_t size, int lanes, int value_count) {
  static const int wanted[] = {4, 3, 2};
  if (value_count > 2 || e->simple_ops + 4 * e->heavy_ops > 24)
    return 1;
  for (size_t i = 0; i < HSC_COUNT_OF(wanted); i++)
    if (size / lanes >= wanted[i] && size / lanes % wanted[i] == 0)
      return wanted[i];
  return 1;
}

// One row at `level`: folds it and stores the result.
static hsc_status *one_row(
    hsc_reduce *cx, int level, const span *outer, bool partial, const hsc_affine *partial_offset) {
  hsc_emit_job *job = cx->job;
  hsc_emitter *e = &job->e;
  accumulators a = {0};
  hsc_emit_value initial[HSC_REDUCE_MAX_ACCUMULATORS], total[HSC_REDUCE_MAX_ACCUMULATORS];
  int first = first_loop_of_group(e, 1);
  int last = last_loop_of_group(e, 1);
  HSC_TRY(hsc__reduce_initial_values(cx, initial, false));
  if (first < 0) {
    // Every reduced dimension is of size 1.
    e->level = level;
    HSC_TRY(hsc__reduce_operand_values(cx, total));
    memcpy(a.one, initial, sizeof initial);
    HSC_TRY(hsc__reduce_fold_in(cx, a.one, total));
    memcpy(total, a.one, sizeof total);
  } else {
    int64_t size = e->loops[last].size;
    bool fixed = first != last || !outer || outer->fixed;
    if (job->lanes > 1) {
      a.unroll = fixed ? choose_unroll(e, size, job->lanes, cx->value_count) : 1;
      a.tail = !fixed || size % ((int64_t)job->lanes * a.unroll) != 0;
      e->lanes = job->lanes;
      for (int u = 0; u < a.unroll; u++)
        for (int f = 0; f < cx->folding_count; f++) {
          int o = cx->foldings[f].first_output;
          a.wide[u][o] = hsc__emit_widen(
              e, hsc__reduce_neutral(e, cx->foldings[f].op, hsc__reduce_held_type(cx, o)));
        }
      e->lanes = 1;
      hsc__emit_forget_lanes(e);
      HSC_TRY(hsc__reduce_initial_values(cx, a.one, true));
    } else {
      a.tail = true;
      // In order from the initial value, except where a part must not count it.
      if (cx->simple)
        HSC_TRY(hsc__reduce_initial_values(cx, a.one, true));
      else
        memcpy(a.one, initial, sizeof initial);
    }
    HSC_TRY(row_nest(cx, level, first, outer, &a));
    if (a.unroll) {
      e->lanes = job->lanes;
      for (int u = 1; u < a.unroll; u++)
        HSC_TRY(hsc__reduce_fold_in(cx, a.wide[0], a.wide[u]));
      memcpy(total, a.wide[0], sizeof total);
      HSC_TRY(hsc__reduce_across_lanes(cx, level, total));
      if (a.tail)
        HSC_TRY(hsc__reduce_fold_in(cx, total, a.one));
    } else {
      memcpy(total, a.one, sizeof total);
    }
    if (cx->simple && !partial) {
      hsc_emit_value with_initial[HSC_REDUCE_MAX_ACCUMULATORS];
      memcpy(with_initial, initial, sizeof initial);
      HSC_TRY(hsc__reduce_fold_in(cx, with_initial, total));
      memcpy(total, with_initial, sizeof total);
    }
  }
  hsc_reduce_target to = {.partial = partial};
  HSC_TRY(hsc__reduce_output_linear(cx, &to.linear));
  if (partial && !hsc_affine_add(&to.linear, partial_offset, 1, &to.linear))
    return HSC_ERR(UNIMPLEMENTED, "kernel: not built yet: an index of more than %d terms",
                   HSC_AFFINE_MAX_TERMS);
  e->level = level;
  hsc__reduce_store_values(cx, &to, total);
  return NULL;
}

static hsc_status *kept_nest(hsc_reduce *cx,
                             int level,
                             int loop,
                             bool cut_by_caller,
                             const span *outer,
                             bool partial,
                             const hsc_affine *partial_offset) {
  hsc_emitter *e = &cx->job->e;
  while (loop < e->loop_count && e->loops[loop].group == 1)
    loop++;
  if (loop >= e->loop_count)
    return one_row(cx, level, outer, partial, partial_offset);
  hsc_lv begin = cut_by_caller ? hsc_ll.GetParam(e->function, 1) : hsc__emit_int(e, e->i64, 0);
  hsc_lv end = cut_by_caller ? hsc_ll.GetParam(e->function, 2)
                             : hsc__emit_int(e, e->i64, e->loops[loop].size);
  hsc_emit_open_loop open = hsc__emit_open(e, level, loop, begin, end, 1);
  HSC_TRY(kept_nest(cx, level + 1, loop + 1, false, outer, partial, partial_offset));
  hsc__emit_close(e, &open, NULL, NULL, 0);
  return NULL;
}

// ---- columns ------------------------------------------------------------------------------------

typedef hsc_status *(*column_body)(hsc_reduce *cx, const hsc_reduce_target *to);

static hsc_status *column_initialise(hsc_reduce *cx, const hsc_reduce_target *to) {
  hsc_emit_value initial[HSC_REDUCE_MAX_ACCUMULATORS];
  HSC_TRY(hsc__reduce_initial_values(cx, initial, to->partial));
  hsc__reduce_store_values(cx, to, initial);
  return NULL;
}

static hsc_status *column_add(hsc_reduce *cx, const hsc_reduce_target *to) {
  hsc_emit_value acc[HSC_REDUCE_MAX_ACCUMULATORS], values[HSC_REDUCE_MAX_ACCUMULATORS];
  HSC_TRY(hsc__reduce_operand_values(cx, values));
  for (int o = 0; o < cx->value_count; o++)
    acc[o] = load_value(cx, to, o);
  HSC_TRY(hsc__reduce_fold_in(cx, acc, values));
  hsc__reduce_store_values(cx, to, acc);
  return NULL;
}

// body over the innermost kept loop, in vectors and then single elements.
static hsc_status *column_run(hsc_reduce *cx,
                              int level,
                              const hsc_reduce_target *to,
                              column_body body) {
  hsc_emitter *e = &cx->job->e;
  int loop = e->loop_count - 1;
  int lanes = cx->job->lanes;
  int64_t size = e->loops[loop].size;
  int64_t whole = size / lanes * lanes;
  int64_t bounds[3] = {0, whole, size};
  for (int part = 0; part < 2; part++) {
    if (bounds[part] == bounds[part + 1])
      continue;
    int part_lanes = part == 0 ? lanes : 1;
    hsc_emit_open_loop open =
        hsc__emit_open(e, level, loop, hsc__emit_int(e, e->i64, bounds[part]),
                       hsc__emit_int(e, e->i64, bounds[part + 1]), part_lanes);
    e->lanes = part_lanes;
    e->vector_loop = part_lanes > 1 ? loop : -1;
    hsc_status *status = body(cx, to);
    hsc__emit_close(e, &open, NULL, NULL, 0);
    hsc__emit_forget_lanes(e);
    e->lanes = 1;
    e->vector_loop = -1;
    HSC_TRY(status);
  }
  return NULL;
}

static hsc_status *column_nest(
    hsc_reduce *cx, int level, int loop, const span *outer, const hsc_reduce_target *to) {
  hsc_emitter *e = &cx->job->e;
  while (loop < e->loop_count && e->loops[loop].group == 0)
    loop++;
  if (loop >= e->loop_count)
    return column_run(cx, level, to, column_add);
  hsc_lv begin = outer ? outer->begin : hsc__emit_int(e, e->i64, 0);
  hsc_lv end = outer ? outer->end : hsc__emit_int(e, e->i64, e->loops[loop].size);
  hsc_emit_open_loop open = hsc__emit_open(e, level, loop, begin, end, 1);
  HSC_TRY(column_nest(cx, level + 1, loop + 1, NULL, to));
  hsc__emit_close(e, &open, NULL, NULL, 0);
  return NULL;
}

// One vector of results in registers over all reduced loops; with lanes == 1, one result.
static hsc_status *register_nest(
    hsc_reduce *cx, int level, int loop, const span *outer, accumulators *a) {
  hsc_emitter *e = &cx->job->e;
  while (loop < e->loop_count && e->loops[loop].group == 0)
    loop++;
  if (loop >= e->loop_count) {
    hsc_emit_value values[HSC_REDUCE_MAX_ACCUMULATORS];
    HSC_TRY(hsc__reduce_operand_values(cx, values));
    for (int o = 0; o < cx->value_count; o++)
      values[o] = hsc__emit_widen(e, values[o]);
    return hsc__reduce_fold_in(cx, a->one, values);
  }
  hsc_lv begin = outer ? outer->begin : hsc__emit_int(e, e->i64, 0);
  hsc_lv end = outer ? outer->end : hsc__emit_int(e, e->i64, e->loops[loop].size);
  hsc_lv phis[MAX_PARTS], next[MAX_PARTS];
  hsc_emit_open_loop open = hsc__emit_open(e, level, loop, begin, end, 1);
  int count = make_phis(cx, &open, a, phis);
  HSC_TRY(register_nest(cx, level + 1, loop + 1, NULL, a));
  list_parts(cx, a, next);
  hsc__emit_close(e, &open, phis, next, count);
  unlist_parts(cx, a, next, level);
  return NULL;
}

static hsc_status *register_columns(hsc_reduce *cx,
                                    int level,
                                    const span *outer,
                                    const hsc_reduce_target *to) {
  hsc_emitter *e = &cx->job->e;
  int loop = e->loop_count - 1;
  int lanes = cx->job->lanes;
  int64_t size = e->loops[loop].size;
  int64_t bounds[3] = {0, size / lanes * lanes, size};
  for (int part = 0; part < 2; part++) {
    if (bounds[part] == bounds[part + 1])
      continue;
    int part_lanes = part == 0 ? lanes : 1;
    hsc_emit_open_loop open =
        hsc__emit_open(e, level, loop, hsc__emit_int(e, e->i64, bounds[part]),
                       hsc__emit_int(e, e->i64, bounds[part + 1]), part_lanes);
    e->lanes = part_lanes;
    e->vector_loop = part_lanes > 1 ? loop : -1;
    accumulators a = {.tail = true};
    HSC_TRY(hsc__reduce_initial_values(cx, a.one, to->partial));
    for (int o = 0; o < cx->value_count; o++)
      a.one[o] = hsc__emit_widen(e, a.one[o]);
    HSC_TRY(register_nest(cx, level + 1, 0, outer, &a));
    e->level = level + 1;
    hsc__reduce_store_values(cx, to, a.one);
    hsc__emit_close(e, &open, NULL, NULL, 0);
    hsc__emit_forget_lanes(e);
    e->lanes = 1;
    e->vector_loop = -1;
  }
  return NULL;
}

static bool wants_registers(const hsc_reduce *cx) {
  const hsc_emitter *e = &cx->job->e;
  for (int o = 0; o < cx->value_count; o++)
    if (hsc__reduce_held_type(cx, o) != hsc__reduce_output_type(cx, o))
      return true;
  return e->loops[e->loop_count - 1].size < 4 * cx->job->lanes;
}

// Kept loops outside of the innermost one, then the columns.
static hsc_status *columns_outer(hsc_reduce *cx,
                                 int level,
                                 int loop,
                                 bool cut_by_caller,
                                 const span *outer,
                                 bool partial,
                                 const hsc_affine *partial_offset) {
  hsc_emitter *e = &cx->job->e;
  while (loop < e->loop_count - 1 && e->loops[loop].group == 1)
    loop++;
  if (loop >= e->loop_count - 1) {
    hsc_reduce_target to = {.partial = partial};
    HSC_TRY(hsc__reduce_output_linear(cx, &to.linear));
    if (partial && !hsc_affine_add(&to.linear, partial_offset, 1, &to.linear))
      return HSC_ERR(UNIMPLEMENTED, "kernel: not built yet: an index of more than %d terms",
                     HSC_AFFINE_MAX_TERMS);
    if (wants_registers(cx))
      return register_columns(cx, level, outer, &to);
    HSC_TRY(column_run(cx, level, &to, column_initialise));
    return column_nest(cx, level, 0, outer, &to);
  }
  hsc_lv begin = cut_by_caller ? hsc_ll.GetParam(e->function, 1) : hsc__emit_int(e, e->i64, 0);
  hsc_lv end = cut_by_caller ? hsc_ll.GetParam(e->function, 2)
                             : hsc__emit_int(e, e->i64, e->loops[loop].size);
  hsc_emit_open_loop open = hsc__emit_open(e, level, loop, begin, end, 1);
  HSC_TRY(columns_outer(cx, level + 1, loop + 1, false, outer, partial, partial_offset));
  hsc__emit_close(e, &open, NULL, NULL, 0);
  return NULL;
}

// ---- the functions ------------------------------------------------------------------------------

static hsc_status *emit_nests(hsc_reduce *cx,
                              int level,
                              bool cut_by_caller,
                              const span *outer,
                              bool partial,
                              const hsc_affine *partial_offset) {
  hsc_emitter *e = &cx->job->e;
  bool rows = e->loop_count == 0 || e->loops[e->loop_count - 1].group == 1;
  if (rows)
    return kept_nest(cx, level, 0, cut_by_caller, outer, partial, partial_offset);
  return columns_outer(cx, level, 0, cut_by_caller, outer, partial, partial_offset);
}

static hsc_status *emit_whole(hsc_reduce *cx) {
  hsc_emitter *e = &cx->job->e;
  if (cx->job->columns)
    return hsc__reduce_short_rows(cx);
  int reduced = first_loop_of_group(e, 1);
  span outer = {.fixed = true};
  if (reduced >= 0) {
    outer.begin = hsc__emit_int(e, e->i64, 0);
    outer.end = hsc__emit_int(e, e->i64, e->loops[reduced].size);
  }
  bool rows = e->loop_count == 0 || e->loops[e->loop_count - 1].group == 1;
  int kept = first_loop_of_group(e, 0);
  bool shared = rows ? kept >= 0 : kept != e->loop_count - 1;
  return emit_nests(cx, 0, shared, reduced >= 0 ? &outer : NULL, false, NULL);
}

// Parts [begin, end): part p folds the p-th piece of the outermost reduced loop into results of its
// own.
static hsc_status *emit_parts(hsc_reduce *cx) {
  hsc_emitter *e = &cx->job->e;
  const hsc_kernel_plan *plan = &cx->job->plan;
  int reduced = first_loop_of_group(e, 1);
  int64_t size = e->loops[reduced].size;
  int64_t chunk = (size + plan->partials - 1) / plan->partials;
  hsc_emit_open_loop open =
      hsc__emit_open(e, 0, -1, hsc_ll.GetParam(e->function, 1), hsc_ll.GetParam(e->function, 2), 1);
  int32_t part = hsc__emit_add_symbol(e, HSC_SYMBOL_SCALAR, plan->partials,
                                      (hsc_emit_value){.v = open.counter, .level = 1});
  if (part < 0)
    return HSC_ERR(UNIMPLEMENTED, "kernel: not built yet: more than %d index terms",
                   HSC_EMIT_MAX_SYMBOLS);
  hsc_affine offset = hsc_affine_symbol(part);
  offset = hsc_affine_scale(&offset, plan->partial_elements);
  hsc__emit_at(e, 1);
  span outer = {.fixed = false};
  outer.begin = hsc_ll.BuildMul(e->builder, open.counter, hsc__emit_int(e, e->i64, chunk), "");
  hsc_lv end = hsc_ll.BuildAdd(e->builder, outer.begin, hsc__emit_int(e, e->i64, chunk), "");
  hsc_lv most = hsc__emit_int(e, e->i64, size);
  outer.end = hsc_ll.BuildSelect(
      e->builder, hsc_ll.BuildICmp(e->builder, LLVMIntSLT, end, most, ""), end, most, "");
  HSC_TRY(emit_nests(cx, 1, false, &outer, true, &offset));
  hsc__emit_close(e, &open, NULL, NULL, 0);
  return NULL;
}

// out[i] = initial value folded with all parts' results at i, for all i.
static hsc_status *emit_combine(hsc_reduce *cx, const char *name) {
  hsc_emitter *e = &cx->job->e;
  const hsc_kernel_plan *plan = &cx->job->plan;
  char combine[128];
  snprintf(combine, sizeof combine, "%s_combine", name);
  HSC_TRY(hsc__emit_begin_function(e, combine, 3));
  hsc__emit_load_buffers(e, e->input_count + 2 * e->output_count);
  int64_t size = plan->partial_elements;
  int lanes = hsc__emit_choose_lanes(e, size);
  // An iteration space of its own: part, element.
  e->iv_count = e->symbol_count = 0;
  hsc__emit_add_symbol(e, HSC_SYMBOL_LOOP, plan->partials, (hsc_emit_value){0});
  hsc__emit_add_symbol(e, HSC_SYMBOL_LOOP, size, (hsc_emit_value){0});
  e->iv_count = e->loop_count = 2;
  e->loops[0] = (hsc_emit_loop){.size = plan->partials, .first_iv = 0, .iv_count = 1};
  e->loops[1] = (hsc_emit_loop){.size = size, .first_iv = 1, .iv_count = 1};
  e->symbols[0].loop = 0;
  e->symbols[1].loop = 1;
  hsc_affine element = hsc_affine_symbol(1);
  hsc_affine part = hsc_affine_symbol(0);
  hsc_reduce_target from = {.partial = true};
  hsc_reduce_target to = {.partial = false, .linear = element};
  if (!hsc_affine_add(&element, &part, size, &from.linear))
    return HSC_ERR(INTERNAL, "reduce: index of a part");
  int64_t bounds[3] = {0, size / lanes * lanes, size};
  for (int piece = 0; piece < 2; piece++) {
    if (bounds[piece] == bounds[piece + 1])
      continue;
    int piece_lanes = piece == 0 ? lanes : 1;
    hsc_emit_open_loop outer =
        hsc__emit_open(e, 0, 1, hsc__emit_int(e, e->i64, bounds[piece]),
                       hsc__emit_int(e, e->i64, bounds[piece + 1]), piece_lanes);
    e->lanes = piece_lanes;
    e->vector_loop = piece_lanes > 1 ? 1 : -1;
    accumulators a = {.tail = true};
    HSC_TRY(hsc__reduce_initial_values(cx, a.one, false));
    for (int o = 0; o < cx->value_count; o++)
      a.one[o] = hsc__emit_widen(e, a.one[o]);
    hsc_lv phis[MAX_PARTS], next[MAX_PARTS];
    hsc_emit_open_loop inner = hsc__emit_open(e, 1, 0, hsc__emit_int(e, e->i64, 0),
                                              hsc__emit_int(e, e->i64, plan->partials), 1);
    int count = make_phis(cx, &inner, &a, phis);
    hsc_emit_value values[HSC_REDUCE_MAX_ACCUMULATORS];
    for (int o = 0; o < cx->value_count; o++)
      values[o] = load_value(cx, &from, o);
    HSC_TRY(hsc__reduce_fold_in(cx, a.one, values));
    list_parts(cx, &a, next);
    hsc__emit_close(e, &inner, phis, next, count);
    unlist_parts(cx, &a, next, 1);
    e->level = 1;
    hsc__reduce_store_values(cx, &to, a.one);
    hsc__emit_close(e, &outer, NULL, NULL, 0);
    hsc__emit_forget_lanes(e);
    e->lanes = 1;
    e->vector_loop = -1;
  }
  hsc__emit_end_function(e);
  return NULL;
}

hsc_status *hsc__emit_reduce(hsc_emit_job *job, const char *name) {
  hsc_emitter *e = &job->e;
  hsc_reduce *cx = HSC_NEW(e->arena, hsc_reduce);
  HSC_TRY(hsc_arena_status(e->arena));
  make_context(cx, job);
  HSC_TRY(hsc__emit_begin_function(e, name, 3));
  hsc__emit_load_buffers(e, e->input_count + e->output_count * (job->plan.partials ? 2 : 1));
  HSC_TRY(job->plan.partials ? emit_parts(cx) : emit_whole(cx));
  hsc__emit_end_function(e);
  return job->plan.partials ? emit_combine(cx, name) : NULL;
}
