// sdy_import.c - programs for several devices as JAX writes them: Shardy's meshes and manual
// computations become the program of one partition.
//
// Outside of manual computations a value is a whole array, of which each device computes the part
// that is asked for as far as operations can be done on parts (sdy_local.c), and the whole where
// they cannot: arguments that come in parts are gathered then. A manual computation gets its part
// of each operand and gives parts. So every program runs on several devices as it is written:
// dividing the work is an optimisation, done along what results ask. What nothing is said of is cut
// as propagation finds (sdy_propagate.c). Parts must be equal: what the devices do not divide is
// refused, and so are parts of axes.
// Source: Shardy's documentation of sdy.mesh, sdy.sharding, sdy.sharding_constraint,
// sdy.sharding_group and sdy.manual_computation.
#include "formats/shardy/sdy_internal.h"
#include "formats/shardy/sdy_layout.h"

#include <stdlib.h>

// ---- meshes and shardings -----------------------------------------------------------------------

static hsc_status *sdy_of(hsc__importer *im, struct hsc__sdy **out) {
  if (!im->sdy)
    im->sdy = HSC_NEW(im->arena, struct hsc__sdy);
  *out = im->sdy;
  return im->sdy ? NULL : hsc_status_out_of_memory();
}

hsc_status *hsc__sdy_mesh(hsc__importer *im, const hsc__mlir_op *op) {
  struct hsc__sdy *sdy;
  HSC_TRY(sdy_of(im, &sdy));
  if (sdy->mesh_count == (int)HSC_COUNT_OF(sdy->meshes))
    return HSC_OP_ERR(UNIMPLEMENTED, im, op, "sdy.mesh: not built yet: more than %zu meshes",
                      HSC_COUNT_OF(sdy->meshes));
  hsc__mesh *m = &sdy->meshes[sdy->mesh_count];
  *m = (hsc__mesh){.device_count = 1};
  for (int i = 0; i < op->attr_count; i++) {
    const hsc__mlir_attr *attr = op->attrs[i].value;
    if (attr->kind == HSC_MLIR_STRING)
      m->name = attr->text;
    if (attr->kind != HSC_MLIR_ARRAY)
      continue;
    for (int a = 0; a < attr->count; a++)
      HSC_TRY(hsc__mesh_add_axis(im, op, m, attr->elements[a]->text, attr->elements[a]->integer));
    if (attr->data.size == sizeof(int64_t) * (size_t)m->device_count)
      m->device_ids = (const int64_t *)(const void *)attr->data.data;
  }
  HSC_TRY(hsc__mesh_check_ids(im, op, m));
  if (m->name.data)
    sdy->mesh_count++;
  return NULL;
}

// `manual` (may be NULL) restricts the axes that count. A NULL sharding cuts nothing.
// The number of an axis that a sharding names; -1 = it cuts nothing here: in a manual computation
// only the manual axes count, and an axis of one device divides nothing.
static hsc_status *axis_of(hsc__importer *im,
                           const hsc__mlir_op *op,
                           const hsc__mesh *mesh,
                           const hsc__mlir_attr *named,
                           const hsc__mlir_attr *manual,
                           int *out_axis) {
  int axis = hsc__mesh_axis(mesh, named->text);
  bool counts = !manual;
  *out_axis = -1;
  for (int k = 0; manual && k < manual->count; k++)
    counts |= hsc_view_equals(manual->elements[k]->text, named->text);
  if (!counts)
    return NULL;
  if (axis < 0)
    return HSC_OP_ERR(INVALID_ARGUMENT, im, op, "%s: an axis that its mesh does not have",
                      op->written_name);
  if (named->count)
    return HSC_OP_ERR(UNIMPLEMENTED, im, op, "%s: not built yet: parts of an axis",
                      op->written_name);
  if (mesh->axis_sizes[axis] > 1)
    *out_axis = axis;
  return NULL;
}

static hsc_status *read_layout(hsc__importer *im,
                               const hsc__mlir_op *op,
                               const hsc__mlir_attr *sharding,
                               const hsc__mlir_attr *manual,
                               const hsc_shape *whole,
                               hsc__layout *out) {
  *out = (hsc__layout){.rank = whole->rank};
  if (sharding && sharding->kind == HSC_MLIR_STRING)
    return hsc__sdy_xla_layout(im, op, sharding->text, whole->rank, out);
  if (!sharding || sharding->kind != HSC_MLIR_ARRAY)
    return NULL;
  bool may_be_unreduced =
      sharding->column == HSC__SDY_SHARDING_2 || sharding->column == HSC__SDY_SHARDING_3;
  if (!may_be_unreduced && sharding->column != HSC__SDY_SHARDING)
    return HSC_OP_ERR(INVALID_ARGUMENT, im, op, "%s: an attribute that is no sharding",
                      op->written_name);
  out->mesh = hsc__mesh_named(im, sharding->text);
  for (int d = 0; d < sharding->count && d < whole->rank; d++)
    out->open[d] = sharding->elements[d]->integer == 0;
  if (!out->mesh)
    return sharding->count ? HSC_OP_ERR(UNIMPLEMENTED, im, op, "%s: not built yet: a mesh in place",
                                        op->written_name)
                           : NULL;
  int axis;
  for (int d = 0; d < sharding->count && d < whole->rank; d++) {
    const hsc__mlir_attr *dim = sharding->elements[d];
    for (int a = 0; a < dim->count; a++) {
      HSC_TRY(axis_of(im, op, out->mesh, dim->elements[a], manual, &axis));
      if (axis < 0)
        continue;
      if (out->counts[d] == HSC__MOST_AXES)
        return HSC_OP_ERR(INVALID_ARGUMENT, im, op, "%s: an axis that its mesh does not have",
                          op->written_name);
      out->axes[d][out->counts[d]++] = (int8_t)axis;
      out->is_cut = true;
    }
  }
  const hsc__mlir_attr *unreduced =
      may_be_unreduced && sharding->integer ? sharding->elements[sharding->count] : NULL;
  for (int i = 0; unreduced && i < unreduced->count; i++) {
    HSC_TRY(axis_of(im, op, out->mesh, unreduced->elements[i], manual, &axis));
    if (axis < 0)
      continue;
    out->unreduced |= 1u << axis;
    out->is_cut = true;
  }
  return NULL;
}

bool hsc__layout_same(const hsc__layout *a, const hsc__layout *b) {
  if (a->is_cut != b->is_cut)
    return false;
  if (!a->is_cut)
    return true;
  if (a->mesh != b->mesh || a->rank != b->rank || a->unreduced != b->unreduced)
    return false;
  for (int d = 0; d < a->rank; d++)
    if (a->counts[d] != b->counts[d] || memcmp(a->axes[d], b->axes[d], (size_t)a->counts[d]) != 0)
      return false;
  return true;
}

int64_t hsc__layout_pieces(const hsc__layout *l, int dim) {
  int64_t count = 1;
  for (int a = 0; a < l->counts[dim]; a++)
    count *= l->mesh->axis_sizes[l->axes[dim][a]];
  return count;
}

static bool uses_axis(const hsc__layout *l, int axis) {
  if (l->unreduced >> axis & 1)
    return true;
  for (int d = 0; d < l->rank; d++)
    for (int a = 0; a < l->counts[d]; a++)
      if (l->axes[d][a] == axis)
        return true;
  return false;
}

void hsc__layout_take(
    hsc__layout *to, int dim, int64_t size, const hsc__layout *from, int from_dim) {
  if ((to->is_cut || to->barred) && to->mesh != from->mesh)
    return;
  for (int a = 0; a < from->counts[from_dim]; a++) {
    int axis = from->axes[from_dim][a];
    int64_t pieces = hsc__layout_pieces(to, dim) * from->mesh->axis_sizes[axis];
    if (to->barred >> axis & 1 || uses_axis(to, axis) || size % pieces || size == 0)
      return;
    to->mesh = from->mesh;
    to->is_cut = true;
    to->axes[dim][to->counts[dim]++] = (int8_t)axis;
  }
}

// ---- cutting and gathering ----------------------------------------------------------------------

hsc_status *hsc__sdy_append(
    hsc_arena *arena, hsc_instr ***list, int *count, int *capacity, hsc_instr *item) {
  if (!HSC_GROW_IN(arena, *list, *count, *capacity))
    return hsc_arena_status(arena);
  (*list)[(*count)++] = item;
  return NULL;
}

hsc_status *hsc__sdy_made(hsc__importer *im, hsc_instr *instr) {
  return hsc__sdy_append(im->arena, &im->sdy->made, &im->sdy->made_count, &im->sdy->made_capacity,
                         instr);
}

hsc_status *hsc__sdy_divided(hsc__importer *im, hsc_instr *loop) {
  return hsc__sdy_append(im->arena, &im->sdy->divided, &im->sdy->divided_count,
                         &im->sdy->divided_capacity, loop);
}

hsc_status *hsc__sdy_replace(hsc__importer *im, hsc_instr *instr, hsc_instr *replacement) {
  HSC_TRY(hsc__sdy_append(im->arena, &im->sdy->replaced, &im->sdy->replaced_count,
                          &im->sdy->replaced_capacity, instr));
  return hsc__sdy_append(im->arena, &im->sdy->replaced, &im->sdy->replaced_count,
                         &im->sdy->replaced_capacity, replacement);
}

// Groups of the devices that hold the pieces of one dimension, in the order of the pieces.
static const char *groups_text(hsc__importer *im, const hsc__layout *l, int dim) {
  const hsc__mesh *m = l->mesh;
  hsc_bytes text = {0};
  int64_t count = hsc__layout_pieces(l, dim);
  int64_t first[HSC__MOST_AXES];
  int64_t at[HSC__MOST_AXES];
  hsc_bytes_append_char(&text, '{');
  for (int64_t place = 0; place < m->device_count; place++) {
    hsc__mesh_coordinates(m, place, first);
    if (hsc__layout_piece_of(l, dim, first) != 0)
      continue;
    hsc_bytes_append_text(&text, text.size > 1 ? ",{" : "{");
    // the one that differs from the first in these axes only
    for (int64_t piece = 0; piece < count; piece++)
      for (int64_t other = 0; other < m->device_count; other++) {
        hsc__mesh_coordinates(m, other, at);
        if (hsc__layout_piece_of(l, dim, at) == piece && hsc__layout_beside(l, dim, first, at))
          hsc_bytes_printf(&text, "%s%lld", piece ? "," : "",
                           (long long)hsc__mesh_partition(m, other));
      }
    hsc_bytes_append_char(&text, '}');
  }
  hsc_bytes_append_char(&text, '}');
  const char *copy =
      hsc_bytes_status(&text) ? NULL : hsc_arena_strdup(im->module->arena, text.data);
  hsc_bytes_deinit(&text);
  return copy;
}

hsc_status *hsc__sdy_all_reduce(hsc__importer *im,
                                hsc_builder *b,
                                const hsc__mesh *mesh,
                                unsigned axes,
                                hsc_computation *reducer,
                                hsc_instr *value,
                                hsc_instr **out) {
  hsc__layout group = {.mesh = mesh, .rank = 1};
  for (int a = 0; a < mesh->axis_count; a++)
    if (axes >> a & 1)
      group.axes[0][group.counts[0]++] = (int8_t)a;
  if (!reducer)
    return hsc_status_out_of_memory();
  *out = hsc_build_calls(b, HSC_OP_ALL_REDUCE, value->shape, 1, &value, 1, &reducer);
  (*out)->attr.collective.replica_groups = groups_text(im, &group, 0);
  (*out)->attr.collective.channel_id = 1;
  (*out)->attr.collective.use_global_device_ids = true;
  if (!(*out)->attr.collective.replica_groups)
    return hsc_status_out_of_memory();
  return hsc__sdy_made(im, *out);
}

static hsc_status *whole_fix(hsc__importer *im, hsc_instr *instr, const hsc__layout *layout);

hsc_status *hsc__sdy_gather(hsc__importer *im,
                            hsc_builder *b,
                            const hsc__layout *l,
                            hsc_instr *local,
                            hsc_instr **out_whole) {
  hsc_instr *at = local;
  hsc_computation *adder =
      l->unreduced ? hsc_module_scalar_reducer(im->module, HSC_OP_ADD, local->shape.type) : NULL;
  if (l->unreduced)
    HSC_TRY(hsc__sdy_all_reduce(im, b, l->mesh, l->unreduced, adder, local, &at));
  int64_t dims[HSC_MAX_RANK];
  for (int d = 0; d < local->shape.rank; d++)
    dims[d] = local->shape.dims[d];
  for (int d = 0; d < local->shape.rank; d++) {
    if (!l->counts[d])
      continue;
    dims[d] *= hsc__layout_pieces(l, d);
    at = hsc_build(b, HSC_OP_ALL_GATHER,
                   hsc_shape_array(im->module->arena, local->shape.type, local->shape.rank, dims),
                   1, &at);
    at->attr.collective.dims = HSC_DIMS(im->module->arena, d);
    at->attr.collective.replica_groups = groups_text(im, l, d);
    at->attr.collective.channel_id = 1;
    at->attr.collective.use_global_device_ids = true;
    if (!at->attr.collective.replica_groups)
      return hsc_status_out_of_memory();
    HSC_TRY(hsc__sdy_made(im, at));
  }
  *out_whole = at;
  HSC_TRY(whole_fix(im, at, l));
  return hsc__whole_add_part(im, at, l, local);
}

// ---- what is known of values --------------------------------------------------------------------

hsc_status *hsc__whole_of(hsc__importer *im, hsc_instr *instr, hsc__whole **out) {
  if (!instr->scratch) {
    hsc__whole *whole = HSC_NEW(im->arena, hsc__whole);
    HSC_TRY(hsc_arena_status(im->arena));
    *whole = (hsc__whole){.group = -1};
    instr->scratch = whole;
  }
  *out = instr->scratch;
  return NULL;
}

static hsc_status *whole_fix(hsc__importer *im, hsc_instr *instr, const hsc__layout *layout) {
  hsc__whole *whole = NULL;
  HSC_TRY(hsc__whole_of(im, instr, &whole));
  whole->layouts = hsc_arena_copy(im->arena, layout, sizeof *layout);
  whole->is_fixed = true;
  return whole->layouts ? NULL : hsc_status_out_of_memory();
}

hsc_status *hsc__whole_add_part(hsc__importer *im,
                                hsc_instr *instr,
                                const hsc__layout *layout,
                                hsc_instr *local) {
  hsc__whole *whole = NULL;
  HSC_TRY(hsc__whole_of(im, instr, &whole));
  hsc__part *part = HSC_NEW(im->arena, hsc__part);
  HSC_TRY(hsc_arena_status(im->arena));
  *part = (hsc__part){*layout, local, whole->parts};
  whole->parts = part;
  return NULL;
}

hsc_status *hsc__sdy_layout_of(hsc__importer *im, hsc_instr *instr, hsc__layout *out) {
  if (!im->sdy->is_propagated)
    HSC_TRY(hsc__sdy_propagate(im, instr->parent));
  im->sdy->is_propagated = true;
  const hsc__whole *whole = instr->scratch;
  *out = whole && whole->layouts ? *whole->layouts : (hsc__layout){.rank = instr->shape.rank};
  return NULL;
}

// ---- constraints and groups ---------------------------------------------------------------------

// A copy stands for the value from here on, until the end of the import. Other computations than
// the entry hold whole arrays only.
hsc_status *hsc__sdy_constrain(hsc__importer *im,
                               hsc_builder *b,
                               hsc__mlir_op *op,
                               hsc_instr **in_out_value) {
  hsc_instr *value = *in_out_value;
  const hsc__mlir_attr *sharding = NULL;
  hsc__layout l;
  if (im->sdy && im->sdy->is_xla)
    sharding = hsc__mlir_attr_get(op, "mhlo.sharding");
  for (int i = 0; i < op->attr_count && !sharding; i++)
    if (op->attrs[i].value->kind == HSC_MLIR_ARRAY)
      sharding = op->attrs[i].value;
  if (!im->sdy || b->computation != im->sdy->entry || !sharding ||
      !hsc_shape_is_array(&value->shape))
    return NULL;
  HSC_TRY(read_layout(im, op, sharding, NULL, &value->shape, &l));
  // parts would not be equal: whole
  for (int d = 0; d < value->shape.rank; d++)
    if (l.counts[d] && value->shape.dims[d] % hsc__layout_pieces(&l, d))
      return NULL;
  hsc_instr *copy = hsc_build_unary(b, HSC_OP_COPY, value);
  HSC_TRY(hsc__sdy_append(im->arena, &im->sdy->constraints, &im->sdy->constraint_count,
                          &im->sdy->constraint_capacity, copy));
  *in_out_value = copy;
  return whole_fix(im, copy, &l);
}

hsc_status *hsc__sdy_constraint(hsc__importer *im, hsc_builder *b, hsc__mlir_op *op) {
  op->results[0].instr = op->operands[0]->instr;
  return hsc__sdy_constrain(im, b, op, &op->results[0].instr);
}

hsc_status *hsc__sdy_group(hsc__importer *im, hsc_builder *b, hsc__mlir_op *op) {
  int64_t group = -1;
  hsc__whole *whole = NULL;
  for (int i = 0; i < op->attr_count; i++)
    if (op->attrs[i].value->kind == HSC_MLIR_INT)
      group = op->attrs[i].value->integer;
  if (!im->sdy || b->computation != im->sdy->entry || group < 0 || group > INT32_MAX ||
      op->operand_count != 1)
    return NULL;
  HSC_TRY(hsc__whole_of(im, op->operands[0]->instr, &whole));
  whole->group = (int)group;
  return hsc__sdy_append(im->arena, &im->sdy->grouped, &im->sdy->grouped_count,
                         &im->sdy->grouped_capacity, op->operands[0]->instr);
}

bool hsc__sdy_has_groups(const hsc__importer *im) {
  return im->sdy->grouped_count > 0;
}

const hsc__layout *hsc__sdy_group_layout(const hsc__importer *im, int group) {
  for (int i = 0; im->sdy->groups_are_settled && i < im->sdy->grouped_count; i++) {
    const hsc__whole *whole = im->sdy->grouped[i]->scratch;
    if (whole->group == group && whole->layouts && whole->layouts->is_cut)
      return whole->layouts;
  }
  return NULL;
}

void hsc__sdy_settle_groups(hsc__importer *im) {
  im->sdy->groups_are_settled = true;
}

// The entry's constraints are where its builder is at work.
void hsc__sdy_begin_entry(hsc__importer *im, const hsc_builder *b) {
  if (im->sdy)
    im->sdy->entry = b->computation;
}

// ---- manual computations, arguments, results ----------------------------------------------------

static const hsc__mlir_attr *attr_of_code(const hsc__mlir_op *op, int64_t code, int which) {
  for (int i = 0; i < op->attr_count; i++)
    if (op->attrs[i].value->kind == HSC_MLIR_ARRAY && op->attrs[i].value->column == code &&
        which-- == 0)
      return op->attrs[i].value;
  return NULL;
}

hsc_status *hsc__sdy_enter_manual(hsc__importer *im,
                                  hsc_builder *b,
                                  const hsc__mesh *mesh,
                                  unsigned manual,
                                  hsc_instr **in_out_part) {
  hsc__layout l = {.mesh = mesh, .rank = (*in_out_part)->shape.rank, .barred = manual};
  if (!hsc_shape_is_array(&(*in_out_part)->shape))
    return NULL;
  for (int d = 0; d < l.rank; d++)
    l.open[d] = true;
  *in_out_part = hsc_build_unary(b, HSC_OP_COPY, *in_out_part);
  HSC_TRY(hsc__sdy_append(im->arena, &im->sdy->constraints, &im->sdy->constraint_count,
                          &im->sdy->constraint_capacity, *in_out_part));
  return whole_fix(im, *in_out_part, &l);
}

// An argument that comes back as it went in: the copies are taken out in the end, and what is left
// must not be mistaken for an instruction that can have a sharding of its own.
hsc_instr *hsc__sdy_behind_copies(hsc_instr *instr) {
  const hsc__whole *whole = instr->scratch;
  for (; instr->op == HSC_OP_COPY && whole && whole->is_fixed; whole = instr->scratch)
    instr = instr->operands[0];
  return instr;
}

// For one device a manual computation is what it holds, where its pieces are the wholes.
static hsc_status *import_undivided(hsc__importer *im,
                                    hsc_builder *b,
                                    hsc__mlir_op *op,
                                    hsc__mlir_block *block) {
  const hsc__mlir_op *last = block->op_count ? block->ops[block->op_count - 1] : NULL;
  bool is_whole = last && last->operand_count == op->result_count;
  for (int i = 0; is_whole && i < op->operand_count; i++)
    is_whole = hsc_shape_equal(&block->arguments[i].type->shape, &op->operands[i]->type->shape);
  for (int i = 0; is_whole && i < op->result_count; i++)
    is_whole = hsc_shape_equal(&last->operands[i]->type->shape, &op->results[i].type->shape);
  if (!is_whole)
    return HSC_OP_ERR(FAILED_PRECONDITION, im, op, HSC__NO_WHOLE, op->written_name);
  hsc__mlir_op *end;
  for (int i = 0; i < op->operand_count; i++)
    block->arguments[i].instr = op->operands[i]->instr;
  HSC_TRY(hsc__import_block(im, b, block, &end));
  for (int i = 0; i < op->result_count; i++)
    op->results[i].instr = last->operands[i]->instr;
  return NULL;
}

hsc_status *hsc__sdy_manual_computation(hsc__importer *im, hsc_builder *b, hsc__mlir_op *op) {
  const hsc__mlir_attr *in = attr_of_code(op, HSC__SDY_PER_VALUE, 0);
  const hsc__mlir_attr *out = attr_of_code(op, HSC__SDY_PER_VALUE, 1);
  const hsc__mlir_attr *manual = attr_of_code(op, HSC__SDY_MANUAL_AXES, 0);
  hsc__mlir_block *block = op->region_count == 1 ? op->regions[0] : NULL;
  struct hsc__sdy *sdy;
  HSC_TRY(sdy_of(im, &sdy));
  if (!in || !out || !manual || !block || block->argument_count != op->operand_count ||
      in->count != op->operand_count || out->count != op->result_count)
    return HSC_OP_ERR(INVALID_ARGUMENT, im, op,
                      "%s: its operands, shardings and region do not fit each other",
                      op->written_name);
  if (im->partition_count == 1)
    return import_undivided(im, b, op, block);
  unsigned barred = 0;
  for (int i = 0; i < op->operand_count; i++) {
    hsc__layout l;
    hsc_instr *whole = op->operands[i]->instr;
    HSC_TRY(read_layout(im, op, in->elements[i], manual, &whole->shape, &l));
    HSC_TRY(hsc__sdy_local(im, b, op, &l, whole, &block->arguments[i].instr));
    for (int k = 0; l.mesh && k < manual->count; k++) {
      int axis = hsc__mesh_axis(l.mesh, manual->elements[k]->text);
      barred |= axis >= 0 ? 1u << axis : 0;
    }
    HSC_TRY(
        hsc__sdy_enter_manual(im, b, l.mesh, l.mesh ? barred : ~0u, &block->arguments[i].instr));
  }
  hsc__mlir_op *terminator;
  sdy->manual_depth++;
  HSC_TRY(hsc__import_block(im, b, block, &terminator));
  sdy->manual_depth--;
  if (!terminator || terminator->operand_count != op->result_count)
    return HSC_OP_ERR(INVALID_ARGUMENT, im, op, "%s: its region gives other results",
                      op->written_name);
  for (int i = 0; i < op->result_count; i++) {
    hsc__layout l;
    hsc_shape whole, local;
    HSC_TRY(hsc__import_shape(im, op, op->results[i].type, &whole));
    HSC_TRY(read_layout(im, op, out->elements[i], manual, &whole, &l));
    hsc_instr *value = hsc__sdy_behind_copies(terminator->operands[i]->instr);
    op->results[i].instr = value;
    if (!l.is_cut)
      continue;
    HSC_TRY(hsc__sdy_local_shape(im, op, &l, &whole, &local));
    if (!hsc_shape_same_dims(&local, &value->shape))
      return HSC_OP_ERR(INVALID_ARGUMENT, im, op, "%s: result %d is no part of its type",
                        op->written_name, i);
    HSC_TRY(hsc__sdy_gather(im, b, &l, value, &op->results[i].instr));
  }
  return NULL;
}

static const hsc__mlir_attr *sharding_in(const hsc__importer *im,
                                         const hsc__mlir_op *function,
                                         const char *list_name,
                                         int index) {
  const hsc__mlir_attr *list = hsc__mlir_attr_get(function, list_name);
  if (!list || list->kind != HSC_MLIR_ARRAY || index >= list->count ||
      list->elements[index]->kind != HSC_MLIR_DICT)
    return NULL;
  return hsc__mlir_dict_get(list->elements[index],
                            im->sdy->is_xla ? "mhlo.sharding" : "sdy.sharding");
}

// XLA's text of a layout: {devices=[4,1,2]<=[8] last_tile_dim_replicate}, with the devices written
// out.
const char *hsc__layout_xla_text(hsc__importer *im, const hsc__layout *l) {
  if (!l->is_cut)
    return "{replicated}";
  hsc_bytes text = {0};
  const hsc__mesh *m = l->mesh;
  int64_t total = 1;
  hsc_bytes_append_text(&text, "{devices=[");
  for (int d = 0; d < l->rank; d++) {
    hsc_bytes_printf(&text, "%s%lld", d ? "," : "", (long long)hsc__layout_pieces(l, d));
    total *= hsc__layout_pieces(l, d);
  }
  int64_t copies = m->device_count / total;
  int64_t addends = 1;
  for (int a = 0; a < m->axis_count; a++)
    addends *= l->unreduced >> a & 1 ? m->axis_sizes[a] : 1;
  copies /= addends;
  if (addends > 1)
    hsc_bytes_printf(&text, ",%lld", (long long)addends);
  if (copies > 1)
    hsc_bytes_printf(&text, ",%lld", (long long)copies);
  hsc_bytes_append_char(&text, ']');
  for (int64_t tile = 0; tile < total * addends; tile++)
    for (int64_t place = 0; place < m->device_count; place++) {
      int64_t at[HSC__MOST_AXES];
      int64_t number = 0;
      hsc__mesh_coordinates(m, place, at);
      for (int d = 0; d < l->rank; d++)
        number = number * hsc__layout_pieces(l, d) + hsc__layout_piece_of(l, d, at);
      for (int a = 0; a < m->axis_count; a++)
        if (l->unreduced >> a & 1)
          number = number * m->axis_sizes[a] + at[a];
      if (number == tile)
        hsc_bytes_printf(&text, "%s%lld", !text.size || text.data[text.size - 1] == ']' ? "" : ",",
                         (long long)hsc__mesh_partition(m, place));
    }
  if (addends > 1)
    hsc_bytes_append_text(&text, copies > 1 ? " last_tile_dims={unreduced, replicated}"
                                            : " last_tile_dims={unreduced}");
  else if (copies > 1)
    hsc_bytes_append_text(&text, " last_tile_dim_replicate");
  hsc_bytes_append_char(&text, '}');
  const char *copy =
      hsc_bytes_status(&text) ? NULL : hsc_arena_strdup(im->module->arena, text.data);
  hsc_bytes_deinit(&text);
  return copy;
}

// An argument without a sharding of its own that only goes into manual computations, in the same
// parts everywhere, comes in those parts.
static hsc_status *layout_of_uses(hsc__importer *im,
                                  const hsc__mlir_op *function,
                                  int index,
                                  const hsc_shape *whole,
                                  hsc__layout *out) {
  const hsc__mlir_block *block = function->regions[0];
  bool found = false;
  *out = (hsc__layout){.rank = whole->rank};
  for (int i = 0; i < block->op_count; i++)
    for (int o = 0; o < block->ops[i]->operand_count; o++) {
      const hsc__mlir_op *op = block->ops[i];
      if (op->operands[o] != &block->arguments[index])
        continue;
      const hsc__mlir_attr *in = attr_of_code(op, HSC__SDY_PER_VALUE, 0);
      const hsc__mlir_attr *manual = attr_of_code(op, HSC__SDY_MANUAL_AXES, 0);
      hsc__layout l = {.rank = whole->rank};
      if (!strcmp(op->name, "manual_computation") && in && manual && o < in->count)
        HSC_TRY(read_layout(im, op, in->elements[o], manual, whole, &l));
      if (!l.is_cut || (found && !hsc__layout_same(&l, out))) {
        *out = (hsc__layout){.rank = whole->rank};
        return NULL;
      }
      *out = l;
      found = true;
    }
  return NULL;
}

hsc_status *hsc__sdy_argument(hsc__importer *im,
                              hsc_builder *b,
                              const hsc__mlir_op *function,
                              int index,
                              hsc_shape whole,
                              const char *name,
                              hsc_instr **out) {
  hsc__layout l;
  hsc_shape local;
  const hsc__mlir_attr *sharding = sharding_in(im, function, "arg_attrs", index);
  if (sharding)
    HSC_TRY(read_layout(im, function, sharding, NULL, &whole, &l));
  else
    HSC_TRY(layout_of_uses(im, function, index, &whole, &l));
  if (!l.is_cut) {
    *out = hsc_build_parameter(b, index, whole, name);
    (*out)->sharding = "{replicated}";
    return NULL;
  }
  HSC_TRY(hsc__sdy_local_shape(im, function, &l, &whole, &local));
  hsc_instr *parameter = hsc_build_parameter(b, index, local, name);
  parameter->sharding = hsc__layout_xla_text(im, &l);
  return hsc__sdy_gather(im, b, &l, parameter, out);
}

hsc_status *hsc__sdy_result(hsc__importer *im,
                            hsc_builder *b,
                            const hsc__mlir_op *function,
                            int index,
                            hsc_instr **in_out_value,
                            const char **out_sharding) {
  const hsc__mlir_attr *sharding = sharding_in(im, function, "res_attrs", index);
  hsc_instr *value = *in_out_value;
  hsc__layout l = {.rank = value->shape.rank};
  hsc__layout natural = l;
  *out_sharding = "{replicated}";
  if (!hsc_shape_is_array(&value->shape))
    return NULL;
  if (sharding)
    HSC_TRY(read_layout(im, function, sharding, NULL, &value->shape, &l));
  HSC_TRY(hsc__sdy_layout_of(im, value, &natural));
  if (!sharding)
    l = natural;
  for (int d = 0; sharding && d < l.rank; d++)
    if (l.open[d] && !l.counts[d] && natural.is_cut)
      hsc__layout_take(&l, d, value->shape.dims[d], &natural, d);
  *out_sharding = hsc__layout_xla_text(im, &l);
  return hsc__sdy_local(im, b, function, &l, value, in_out_value);
}

// The last first: wholes of which only parts are wanted, parts that stayed as they came.
void hsc__sdy_sweep(hsc__importer *im, hsc_computation *computation) {
  for (hsc_instr *instr = computation->last, *before; instr; instr = before) {
    before = instr->prev;
    if (instr->user_count > 0 || instr == computation->root || instr->op == HSC_OP_PARAMETER)
      continue;
    bool ours = false;
    if (instr->op == HSC_OP_ALL_GATHER || instr->op == HSC_OP_ALL_REDUCE)
      for (int i = im->sdy->made_count - 1; i >= 0 && !ours; i--)
        ours = im->sdy->made[i] == instr;
    if (ours || !hsc_instr_has_effect(instr))
      hsc_instr_remove(instr);
  }
}

// Operands before users again; else the order stays.
static void sort_entry(hsc_computation *computation) {
  hsc_instr *first = NULL;
  hsc_instr *last = NULL;
  hsc_instr *todo = computation->first;
  HSC_FOR_EACH_INSTR_IN (computation, instr)
    instr->index = 0;
  while (todo) {
    hsc_instr *instr = todo;
    for (bool found = true; found;) {  // down to one whose operands have their places
      found = false;
      for (int i = 0; i < instr->operand_count && !found; i++)
        if (!instr->operands[i]->index) {
          instr = instr->operands[i];
          found = true;
        }
    }
    if (instr == todo)
      todo = todo->next;
    if (instr->prev)
      instr->prev->next = instr->next;
    if (instr->next)
      instr->next->prev = instr->prev;
    instr->index = 1;
    instr->prev = last;
    instr->next = NULL;
    if (last)
      last->next = instr;
    else
      first = instr;
    last = instr;
  }
  computation->first = first;
  computation->last = last;
}

// Who wants values of a loop of which there is one over parts takes them from that.
static hsc_status *use_divided_loops(hsc__importer *im, bool *out_moved) {
  for (int i = 0; i < im->sdy->divided_count; i++) {
    hsc_instr *loop = im->sdy->divided[i];
    hsc__whole *known = loop->scratch;
    if (loop->parent != im->module->entry)
      continue;
    for (int u = loop->user_count - 1; u >= 0; u--) {
      hsc_instr *element = loop->users[u];
      hsc_instr *replacement = NULL;
      if (element->op != HSC_OP_GET_TUPLE_ELEMENT || element->user_count == 0)
        continue;
      hsc_builder b;
      hsc_builder_at(&b, im->module->entry, NULL);
      replacement = hsc_build_get_tuple_element(&b, known->divided, element->attr.index.value);
      if (known->layouts[element->attr.index.value].is_cut)
        HSC_TRY(hsc__sdy_gather(im, &b, &known->layouts[element->attr.index.value], replacement,
                                &replacement));
      hsc_computation *same;
      HSC_TRY(hsc_builder_finish(&b, NULL, &same));
      HSC_TRY(hsc_instr_replace_uses(element, replacement));
      *out_moved = true;
    }
  }
  return NULL;
}

hsc_status *hsc__sdy_clean(hsc__importer *im) {
  if (!im->sdy)
    return NULL;
  bool moved = im->sdy->call_count > 0;
  const char *result_sharding = im->module->entry->root->sharding;
  for (int i = 0; i < im->sdy->replaced_count; i += 2) {
    hsc_instr *instr = im->sdy->replaced[i];
    if (!instr->parent || instr->user_count == 0)
      continue;
    HSC_TRY(hsc_instr_replace_uses(instr, im->sdy->replaced[i + 1]));
    moved = true;
  }
  hsc__sdy_sweep(im, im->module->entry);
  HSC_TRY(use_divided_loops(im, &moved));
  if (moved) {
    sort_entry(im->module->entry);
    hsc__sdy_sweep(im, im->module->entry);
  }
  for (int i = 0; i < im->sdy->constraint_count; i++) {
    hsc_instr *copy = im->sdy->constraints[i];
    if (!copy->parent)
      continue;  // went as unneeded
    HSC_TRY(hsc_instr_replace_uses(copy, copy->operands[0]));
    hsc_instr_remove(copy);
  }
  // whatever is there by now
  if (im->module->entry->root->op != HSC_OP_PARAMETER)
    im->module->entry->root->sharding = result_sharding;
  HSC_FOR_EACH_COMPUTATION (im->module, computation)
    HSC_FOR_EACH_INSTR_IN (computation, instr)
      instr->scratch = NULL;
  return NULL;
}
