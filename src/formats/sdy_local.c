// sdy_local.c - a partition's part of a whole array: from parts of the operands where the operation allows it, so that each device does its share only;
// else the whole is computed everywhere and cut.
#include "formats/sdy_layout.h"

enum { DEEPEST = 400 };   // of operations that are followed back; beyond it the whole is cut

void hsc__mesh_coordinates(const hsc__mesh *mesh, int64_t place, int64_t out[HSC__MOST_AXES]) {
  for (int a = mesh->axis_count - 1; a >= 0; a--) {
    out[a] = place % mesh->axis_sizes[a];
    place /= mesh->axis_sizes[a];
  }
}

int64_t hsc__mesh_partition(const hsc__mesh *mesh, int64_t place) { return mesh->device_ids ? mesh->device_ids[place] : place; }

int64_t hsc__layout_piece_of(const hsc__layout *layout, int dim, const int64_t at[HSC__MOST_AXES]) {
  int64_t piece = 0;
  for (int a = 0; a < layout->counts[dim]; a++) piece = piece * layout->mesh->axis_sizes[layout->axes[dim][a]] + at[layout->axes[dim][a]];
  return piece;
}

static bool divides(const hsc__layout *layout, const hsc_shape *shape) {
  for (int d = 0; d < shape->rank && d < layout->rank; d++)
    if (layout->counts[d] && shape->dims[d] % hsc__layout_pieces(layout, d)) return false;
  return true;
}

hsc_status *hsc__sdy_local_shape(hsc__importer *im, const hsc__mlir_op *op, const hsc__layout *layout, const hsc_shape *whole, hsc_shape *out) {
  int64_t dims[HSC_MAX_RANK];
  for (int d = 0; d < whole->rank; d++) {
    int64_t count = layout->is_cut ? hsc__layout_pieces(layout, d) : 1;
    if (whole->dims[d] % count)
      return HSC_OP_ERR(UNIMPLEMENTED, im, op, "%s: not built yet: dimension %d of size %lld in %lld unequal parts", op->written_name, d,
                        (long long)whole->dims[d], (long long)count);
    dims[d] = whole->dims[d] / count;
  }
  *out = hsc_shape_array(im->module->arena, whole->type, whole->rank, dims);
  return hsc_arena_status(im->module->arena);
}

// Where this partition's part begins in a dimension: from a table by partition.
static hsc_status *start_of(hsc__importer *im, hsc_builder *b, const hsc__layout *layout, int dim, int64_t part_size, hsc_instr **in_out_pid, hsc_instr **out) {
  const hsc__mesh *m = layout->mesh;
  hsc_shape table_shape = hsc_shape_array(im->module->arena, HSC_TYPE_S32, 1, &m->device_count);
  hsc_literal *table;
  HSC_TRY(hsc_literal_create(im->module->arena, &table_shape, &table));
  for (int64_t place = 0; place < m->device_count; place++) {
    int64_t at[HSC__MOST_AXES];
    hsc__mesh_coordinates(m, place, at);
    hsc_literal_set_int(table, hsc__mesh_partition(m, place), hsc__layout_piece_of(layout, dim, at) * part_size);
  }
  if (!*in_out_pid) HSC_TRY(hsc__sdy_made(im, *in_out_pid = hsc_build(b, HSC_OP_PARTITION_ID, hsc_shape_scalar(HSC_TYPE_U32), 0, NULL)));
  hsc_instr *constant = hsc_build_constant(b, table), *one = hsc_build_dynamic_slice(b, constant, 1, in_out_pid, HSC_DIMS(im->module->arena, 1));
  *out = hsc_build_reshape(b, one, 0, NULL);
  HSC_TRY(hsc__sdy_made(im, constant));
  HSC_TRY(hsc__sdy_made(im, one));
  return hsc__sdy_made(im, *out);
}

static hsc_status *cut(hsc__importer *im, hsc_builder *b, const hsc__layout *layout, hsc_instr *whole, const hsc_shape *local, hsc_instr **out) {
  hsc_instr *zero = NULL, *pid = NULL, *starts[HSC_MAX_RANK];
  for (int d = 0; d < whole->shape.rank; d++) {
    if (layout->counts[d]) {
      HSC_TRY(start_of(im, b, layout, d, local->dims[d], &pid, &starts[d]));
      continue;
    }
    if (!zero) HSC_TRY(hsc__sdy_made(im, zero = hsc_build_scalar(b, HSC_TYPE_S32, 0)));
    starts[d] = zero;
  }
  *out = hsc_build_dynamic_slice(b, whole, whole->shape.rank, starts, hsc_dims_copy(im->module->arena, local->rank, local->dims));
  return hsc__sdy_made(im, *out);
}

// ---- operations on parts ------------------------------------------------------------------------------------------------------------------

static hsc_instr *part_of(const hsc_instr *instr, const hsc__layout *layout) {
  const hsc__whole *whole = instr->scratch;
  for (const hsc__part *p = whole ? whole->parts : NULL; p; p = p->next)
    if (hsc__layout_same(&p->layout, layout)) return p->local;
  return NULL;
}

// Sizes among the attributes follow the part's shape.
static hsc_attr local_attr(hsc__importer *im, const hsc_instr *instr, const hsc__layout *layout, const hsc_shape *local, hsc_instr *const *operands) {
  hsc_attr attr = instr->attr;
  hsc_arena *arena = im->module->arena;
  int64_t values[HSC_MAX_RANK];
  switch (instr->op) {
    case HSC_OP_SLICE:
      for (int d = 0; d < local->rank; d++) values[d] = layout->counts[d] ? local->dims[d] : attr.slice.limit.v[d];
      attr.slice.limit = hsc_dims_copy(arena, local->rank, values);
      break;
    case HSC_OP_DYNAMIC_SLICE: attr.slice_sizes.sizes = hsc_dims_copy(arena, local->rank, local->dims); break;
    case HSC_OP_GATHER:
      for (int e = 0; e < attr.gather.slice_sizes.count; e++) {
        bool full = attr.gather.slice_sizes.v[e] == instr->operands[0]->shape.dims[e];
        values[e] = full ? operands[0]->shape.dims[e] : attr.gather.slice_sizes.v[e];
      }
      attr.gather.slice_sizes = hsc_dims_copy(arena, attr.gather.slice_sizes.count, values);
      break;
    default: break;
  }
  return attr;
}

static hsc_status *local_of(hsc__importer *im, hsc_builder *b, const hsc__mlir_op *op, const hsc__layout *layout, hsc_instr *whole, int depth, hsc_instr **out);

// The operation on parts; *out stays NULL where it cannot be done so. `layout` is that of the result, or of the first dimensions of several results.
static hsc_status *on_parts(hsc__importer *im, hsc_builder *b, const hsc__mlir_op *op, const hsc__layout *layout, hsc_instr *instr, int depth, hsc_instr **out) {
  hsc__sdy_rule rule;
  HSC_TRY(hsc__sdy_rule_of(im->arena, instr, &rule));
  bool several = hsc_shape_is_tuple(&instr->shape);
  int results = several ? instr->shape.element_count : 1;
  const hsc_shape *shapes = several ? instr->shape.elements : &instr->shape;
  if (!rule.known || (instr->op == HSC_OP_COPY && hsc_shape_is_tuple(&instr->shape))) return NULL;
  for (int d = 0; d < layout->rank; d++)
    if (layout->counts[d] && !rule.splits[d]) return NULL;
  for (int i = 0; i < results; i++)
    for (int d = 0; d < layout->rank; d++)
      if (layout->counts[d] && (!hsc_shape_is_array(&shapes[i]) || d >= shapes[i].rank || shapes[i].dims[d] % hsc__layout_pieces(layout, d))) return NULL;
  hsc__layout *needed = HSC_NEW_ARRAY(im->arena, hsc__layout, instr->operand_count + 1);
  hsc_instr **operands = HSC_NEW_ARRAY(im->arena, hsc_instr *, instr->operand_count + 1);
  hsc_shape *locals = HSC_NEW_ARRAY(im->arena, hsc_shape, results + 1);
  if (!needed || !operands || !locals) return hsc_status_out_of_memory();
  for (int i = 0; i < instr->operand_count; i++) {
    const hsc_shape *shape = &instr->operands[i]->shape;
    needed[i] = (hsc__layout){.rank = shape->rank};
    for (int e = 0; e < shape->rank; e++) {
      int d = rule.links[i][e];
      if (d < 0 || d >= layout->rank || !layout->counts[d]) continue;
      needed[i].mesh = layout->mesh;
      needed[i].is_cut = true;
      needed[i].counts[e] = layout->counts[d];
      memcpy(needed[i].axes[e], layout->axes[d], sizeof needed[i].axes[e]);
    }
    if (!divides(&needed[i], shape)) return NULL;
  }
  for (int i = 0; i < instr->operand_count; i++) HSC_TRY(local_of(im, b, op, &needed[i], instr->operands[i], depth + 1, &operands[i]));
  for (int i = 0; i < results; i++) {
    hsc__layout of_result = *layout;
    of_result.rank = shapes[i].rank;
    HSC_TRY(hsc__sdy_local_shape(im, op, &of_result, &shapes[i], &locals[i]));
  }
  hsc_shape shape = several ? hsc_shape_tuple(im->module->arena, results, locals) : locals[0];
  if (instr->op == HSC_OP_COPY) {   // a constraint, which leaves nothing behind
    *out = operands[0];
    return NULL;
  }
  hsc_attr attr = local_attr(im, instr, layout, &locals[0], operands);
  hsc_instr *made = hsc_build_op(b, instr->op, shape, &attr, instr->operand_count, operands, instr->called_count, instr->called);
  made->frontend_attributes = instr->frontend_attributes;
  made->backend_config = instr->backend_config;
  made->extra_attributes = instr->extra_attributes;
  made->metadata = instr->metadata;
  if (instr->op == HSC_OP_IOTA && layout->counts[attr.dims.dims.v[0]]) {
    hsc_instr *pid = NULL, *start;
    int dim = (int)attr.dims.dims.v[0];
    HSC_TRY(start_of(im, b, layout, dim, locals[0].dims[dim], &pid, &start));
    hsc_instr *converted = hsc_build_convert(b, shape.type, start), *everywhere = hsc_build_broadcast(b, converted, shape, (hsc_dims){0, NULL});
    made = hsc_build_binary(b, HSC_OP_ADD, made, everywhere);
  }
  *out = made;
  return NULL;
}

// An element of what gives several.
static hsc_status *element_on_parts(hsc__importer *im, hsc_builder *b, const hsc__mlir_op *op, const hsc__layout *layout, hsc_instr *element, int depth, hsc_instr **out) {
  hsc_instr *from = element->operands[0];
  int64_t index = element->attr.index.value;
  if ((from->op == HSC_OP_OPT_BARRIER || from->op == HSC_OP_TUPLE) && from->operand_count > index && hsc_shape_equal(&from->operands[index]->shape, &element->shape))
    return local_of(im, b, op, layout, from->operands[index], depth + 1, out);
  hsc__layout common = *layout;
  while (common.rank > 0 && !common.counts[common.rank - 1]) common.rank--;
  hsc_instr *all = part_of(from, &common);
  if (!all) {
    HSC_TRY(on_parts(im, b, op, &common, from, depth, &all));
    if (!all) return NULL;
    HSC_TRY(hsc__whole_add_part(im, from, &common, all));
  }
  *out = hsc_build_get_tuple_element(b, all, index);
  return NULL;
}

static hsc_status *local_of(hsc__importer *im, hsc_builder *b, const hsc__mlir_op *op, const hsc__layout *layout, hsc_instr *whole, int depth, hsc_instr **out) {
  *out = whole;
  if (!layout->is_cut) {
    if (whole->op == HSC_OP_COPY && whole->scratch && ((hsc__whole *)whole->scratch)->is_fixed) *out = whole->operands[0];
    return NULL;
  }
  hsc_instr *known = whole->parent == b->computation ? part_of(whole, layout) : NULL;
  if (known) {
    *out = known;
    return NULL;
  }
  hsc_instr *made = NULL;
  if (whole->parent == b->computation && depth < DEEPEST && divides(layout, &whole->shape)) {
    if (whole->op == HSC_OP_GET_TUPLE_ELEMENT) HSC_TRY(element_on_parts(im, b, op, layout, whole, depth, &made));
    else if (hsc_shape_is_array(&whole->shape)) HSC_TRY(on_parts(im, b, op, layout, whole, depth, &made));
  }
  if (!made) {
    hsc_shape local;
    HSC_TRY(hsc__sdy_local_shape(im, op, layout, &whole->shape, &local));
    HSC_TRY(cut(im, b, layout, whole, &local, &made));
  }
  *out = made;
  return whole->parent == b->computation ? hsc__whole_add_part(im, whole, layout, made) : NULL;
}

hsc_status *hsc__sdy_local(hsc__importer *im, hsc_builder *b, const hsc__mlir_op *op, const hsc__layout *layout, hsc_instr *whole, hsc_instr **out) {
  return local_of(im, b, op, layout, whole, 0, out);
}
