// emit_loop.c - kernels that compute one value per element: loops over the result, vectors in the
// innermost one (see emit.h).
#include "cpu/emit/emit_internal.h"

static hsc_status *root_values(hsc_emitter *e,
                               const hsc_emit_space *space,
                               hsc_emit_value *values) {
  hsc_affine index[HSC_MAX_RANK];
  for (int d = 0; d < space->rank; d++)
    index[d] = hsc__emit_space_index(e, space, d);
  for (int o = 0; o < e->output_count; o++)
    HSC_TRY(hsc__emit_visit(e, e->roots[o], index, NULL, &values[o]));
  if (!e->analysing)
    return NULL;
  for (int o = 0; o < e->output_count; o++) {
    hsc_affine linear;
    HSC_TRY(hsc__emit_linear(&e->roots[o]->shape, index, &linear));
    hsc__emit_note(e, e->input_count + o, &linear, false,
                   (int)hsc_type_bytes(e->roots[o]->shape.type));
    hsc__emit_note_width(e, e->roots[o]->shape.type);
  }
  return NULL;
}

static hsc_status *analyse_body(hsc_emitter *e, const hsc_emit_space *space) {
  hsc_emit_value *values = HSC_NEW_ARRAY(e->arena, hsc_emit_value, e->output_count + 1);
  HSC_TRY(hsc_arena_status(e->arena));
  return root_values(e, space, values);
}

// An output may overwrite an input that is read only at the element that is written, and is as
// wide.
static void find_in_place(const hsc_emitter *e, uint64_t *in_place) {
  for (int o = 0; o < e->output_count; o++) {
    const hsc_emit_access *out = NULL;
    for (int a = 0; a < e->access_count; a++)
      if (e->accesses[a].buffer == e->input_count + o)
        out = &e->accesses[a];
    uint64_t read = 0;
    uint64_t spoiled = 0;
    for (int a = 0; a < e->access_count && out; a++) {
      const hsc_emit_access *in = &e->accesses[a];
      if (in->buffer < 0 || in->buffer >= e->input_count || in->buffer >= 64)
        continue;
      read |= (uint64_t)1 << in->buffer;
      if (in->element_bytes != out->element_bytes || in->conditional ||
          !hsc_affine_equal(&in->linear, &out->linear))
        spoiled |= (uint64_t)1 << in->buffer;
    }
    in_place[o] = read & ~spoiled;
  }
}

hsc_status *hsc__emit_plan_loop(hsc_emit_job *job, uint64_t *in_place) {
  hsc_emitter *e = &job->e;
  const hsc_shape *shape = &e->roots[0]->shape;
  job->space.rank = shape->rank;
  for (int d = 0; d < shape->rank; d++) {
    job->space.dims[d] = shape->dims[d];
    job->space.group[d] = 0;
  }
  HSC_TRY(hsc__emit_analyse(e, &job->space, analyse_body));
  find_in_place(e, in_place);
  int64_t elements = hsc_shape_elements(shape);
  job->columns = hsc__emit_choose_columns(e);
  int vectors = job->columns ? e->loop_count - 2 : e->loop_count - 1;
  job->lanes = e->loop_count ? hsc__emit_choose_lanes(e, e->loops[vectors].size) : 1;
  job->plan.kind = HSC_KERNEL_LOOP;
  job->plan.count = e->loop_count ? e->loops[0].size : 1;
  job->plan.piece = vectors == 0 ? 64 : 1;
  job->plan.cost_ns = hsc__emit_cost_ns(e, elements, job->lanes);
  return NULL;
}

// All columns are computed before one is stored: a result may lie where an operand lies.
static hsc_status *store_columns(hsc_emit_job *job) {
  hsc_emitter *e = &job->e;
  int outputs = e->output_count;
  hsc_affine index[HSC_MAX_RANK], linear;
  hsc_emit_value *values = HSC_NEW_ARRAY(e->arena, hsc_emit_value, outputs * job->columns + 1);
  HSC_TRY(hsc_arena_status(e->arena));
  e->fixed_loop = e->loop_count - 1;
  for (e->fixed_trip = 0; e->fixed_trip < job->columns; e->fixed_trip++)
    HSC_TRY(root_values(e, &job->space, values + e->fixed_trip * outputs));
  for (int o = 0; o < outputs; o++) {
    hsc_type type = e->roots[o]->shape.type;
    hsc_lv buffer = e->buffers[e->input_count + o];
    hsc_emit_value columns[HSC_EMIT_MAX_COLUMNS];
    for (int c = 0; c < job->columns; c++)
      columns[c] = values[c * outputs + o];
    // With one lane, each by itself.
    int stores = e->lanes > 1 ? 1 : job->columns;
    for (e->fixed_trip = 0; e->fixed_trip < stores; e->fixed_trip++) {
      for (int d = 0; d < job->space.rank; d++)
        index[d] = hsc__emit_space_index(e, &job->space, d);
      HSC_TRY(hsc__emit_linear(&e->roots[o]->shape, index, &linear));
      if (e->lanes > 1)
        hsc__emit_store_rows(e, buffer, type, &linear, columns, job->columns);
      else
        hsc__emit_store(e, buffer, type, &linear, columns[e->fixed_trip]);
    }
  }
  e->fixed_loop = -1;
  return NULL;
}

static hsc_status *store_roots(hsc_emit_job *job) {
  hsc_emitter *e = &job->e;
  if (job->columns)
    return store_columns(job);
  hsc_emit_value *values = HSC_NEW_ARRAY(e->arena, hsc_emit_value, e->output_count + 1);
  HSC_TRY(hsc_arena_status(e->arena));
  HSC_TRY(root_values(e, &job->space, values));
  hsc_affine index[HSC_MAX_RANK], linear;
  for (int d = 0; d < job->space.rank; d++)
    index[d] = hsc__emit_space_index(e, &job->space, d);
  for (int o = 0; o < e->output_count; o++) {
    HSC_TRY(hsc__emit_linear(&e->roots[o]->shape, index, &linear));
    hsc__emit_store(e, e->buffers[e->input_count + o], e->roots[o]->shape.type, &linear, values[o]);
  }
  return NULL;
}

static hsc_status *inner_part(
    hsc_emit_job *job, int level, int loop, hsc_lv begin, hsc_lv end, int lanes) {
  hsc_emitter *e = &job->e;
  hsc_emit_open_loop open = hsc__emit_open(e, level, loop, begin, end, lanes);
  e->lanes = lanes;
  e->vector_loop = lanes > 1 ? loop : -1;
  hsc_status *status = store_roots(job);
  hsc__emit_close(e, &open, NULL, NULL, 0);
  // Vectors of this width that were made outside of the loop mean nothing to code of another width.
  hsc__emit_forget_lanes(e);
  e->lanes = 1;
  e->vector_loop = -1;
  return status;
}

static hsc_status *guarded_part(
    hsc_emit_job *job, int level, int loop, hsc_lv begin, hsc_lv end, int lanes) {
  hsc_emitter *e = &job->e;
  hsc__emit_at(e, level);
  hsc_emit_open_if open =
      hsc__emit_open_if(e, level, hsc_ll.BuildICmp(e->builder, LLVMIntSLT, begin, end, ""));
  HSC_TRY(inner_part(job, level + 1, loop, begin, end, lanes));
  hsc__emit_close_if(e, &open);
  return NULL;
}

static hsc_status *emit_nest(hsc_emit_job *job, int level, int loop) {
  hsc_emitter *e = &job->e;
  if (e->loop_count == 0) {
    e->level = 0;
    return store_roots(job);
  }
  bool outermost = loop == 0;
  bool innermost = loop == e->loop_count - (job->columns ? 2 : 1);
  int64_t size = e->loops[loop].size;
  hsc_lv begin = outermost ? hsc_ll.GetParam(e->function, 1) : hsc__emit_int(e, e->i64, 0);
  hsc_lv end = outermost ? hsc_ll.GetParam(e->function, 2) : hsc__emit_int(e, e->i64, size);
  if (!innermost) {
    hsc_emit_open_loop open = hsc__emit_open(e, level, loop, begin, end, 1);
    HSC_TRY(emit_nest(job, level + 1, loop + 1));
    hsc__emit_close(e, &open, NULL, NULL, 0);
    return NULL;
  }
  int lanes = job->lanes;
  if (lanes == 1 || size % lanes == 0)
    return inner_part(job, level, loop, begin, end, lanes);
  if (!outermost) {
    hsc_lv middle = hsc__emit_int(e, e->i64, size / lanes * lanes);
    HSC_TRY(inner_part(job, level, loop, begin, middle, lanes));
    return inner_part(job, level, loop, middle, end, 1);
  }
  // Pieces are whole vectors except the last one.
  hsc__emit_at(e, level);
  hsc_lv count = hsc_ll.BuildSub(e->builder, end, begin, "");
  hsc_lv whole = hsc_ll.BuildAnd(e->builder, count, hsc__emit_int(e, e->i64, -(int64_t)lanes), "");
  hsc_lv middle = hsc_ll.BuildAdd(e->builder, begin, whole, "");
  HSC_TRY(guarded_part(job, level, loop, begin, middle, lanes));
  return guarded_part(job, level, loop, middle, end, 1);
}

hsc_status *hsc__emit_loop(hsc_emit_job *job, const char *name) {
  hsc_emitter *e = &job->e;
  HSC_TRY(hsc__emit_begin_function(e, name, 3));
  hsc__emit_load_buffers(e, e->input_count + e->output_count);
  HSC_TRY(emit_nest(job, 0, 0));
  hsc__emit_end_function(e);
  return NULL;
}

// ---- panels -------------------------------------------------------------------------------------

// Columns of the product: the last dimensions of a dot's result that come from its right side; the
// feature dimension of a convolution's when that is the last one. -1 = not at the end.
static int column_dims(const hsc_instr *product) {
  if (product->op == HSC_OP_DOT) {
    const hsc_dot_dims *dims = &product->attr.dot;
    return product->operands[1]->shape.rank - dims->rhs_batch.count - dims->rhs_contracting.count;
  }
  return product->attr.conv.dims.output_feature == product->shape.rank - 1 ? 1 : -1;
}

hsc_status *hsc__emit_plan_panel(hsc_emit_job *job) {
  hsc_emitter *e = &job->e;
  const hsc_shape *shape = &e->roots[0]->shape;
  int columns = column_dims(e->product);
  int first_column = shape->rank - columns;
  bool panel = columns >= 0 && e->root_count == 1 && hsc_shape_same_dims(shape, &e->product->shape);
  for (int attempt = 0; attempt < 2; attempt++) {
    job->space.rank = shape->rank;
    for (int d = 0; d < shape->rank; d++) {
      job->space.dims[d] = shape->dims[d];
      job->space.group[d] = panel && d >= first_column;
    }
    HSC_TRY(hsc__emit_analyse(e, &job->space, analyse_body));
    int rows = 0;
    int runs = 0;
    for (int l = 0; l < e->loop_count; l++) {
      rows += e->loops[l].group == 0;
      runs += e->loops[l].group == 1;
    }
    if (!panel || (rows <= 1 && runs <= 1))
      break;
    // rows or columns do not run on: the whole product first, then one loop over it
    panel = false;
  }
  job->lanes = e->loop_count ? hsc__emit_choose_lanes(e, e->loops[e->loop_count - 1].size) : 1;
  job->plan.kind = panel ? HSC_KERNEL_PANEL : HSC_KERNEL_EPILOGUE;
  job->plan.count = e->loop_count ? e->loops[0].size : 1;
  job->plan.piece = e->loop_count == 1 ? 64 : 1;
  job->plan.cost_ns = hsc__emit_cost_ns(e, hsc_shape_elements(shape), job->lanes);
  return NULL;
}

static hsc_status *panel_run(hsc_emit_job *job, int level, int loop, int first_parameter) {
  hsc_emitter *e = &job->e;
  hsc_lv begin = hsc_ll.GetParam(e->function, (unsigned)first_parameter);
  hsc_lv end = hsc_ll.GetParam(e->function, (unsigned)first_parameter + 1);
  int lanes = job->lanes;
  if (lanes == 1)
    return guarded_part(job, level, loop, begin, end, 1);
  hsc__emit_at(e, level);
  hsc_lv count = hsc_ll.BuildSub(e->builder, end, begin, "");
  hsc_lv whole = hsc_ll.BuildAnd(e->builder, count, hsc__emit_int(e, e->i64, -(int64_t)lanes), "");
  hsc_lv middle = hsc_ll.BuildAdd(e->builder, begin, whole, "");
  HSC_TRY(guarded_part(job, level, loop, begin, middle, lanes));
  // Columns of a task are whole panels of the product's kernels, which are whole vectors, except at
  // the end; rows are any number.
  if (first_parameter == 3 && e->loops[loop].size % lanes == 0)
    return NULL;
  return guarded_part(job, level, loop, middle, end, 1);
}

hsc_status *hsc__emit_panel(hsc_emit_job *job, const char *name) {
  hsc_emitter *e = &job->e;
  HSC_TRY(hsc__emit_begin_function(e, name, 5));
  hsc__emit_load_buffers(e, e->input_count + e->output_count);
  if (e->loop_count == 0) {
    e->level = 0;
    HSC_TRY(store_roots(job));
  } else if (e->loop_count == 1) {
    HSC_TRY(panel_run(job, 0, 0, e->loops[0].group == 0 ? 1 : 3));
  } else {
    hsc_emit_open_loop open = hsc__emit_open(e, 0, 0, hsc_ll.GetParam(e->function, 1),
                                             hsc_ll.GetParam(e->function, 2), 1);
    HSC_TRY(panel_run(job, 1, 1, 3));
    hsc__emit_close(e, &open, NULL, NULL, 0);
  }
  hsc__emit_end_function(e);
  return NULL;
}
