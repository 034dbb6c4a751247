// sdy_import.c - programs for several devices as JAX writes them: Shardy's meshes and manual computations become the program of one partition.
//
// Outside of manual computations every device computes with whole arrays: arguments that come in parts are gathered, results that go out in parts are
// cut. A manual computation gets its part of each operand and gives parts, which are gathered where whole ones are needed; where parts of the same
// kind go in or out, nothing is gathered or cut. So pmap and shard_map run as they are written; work that XLA's automatic partitioner would divide is done by
// every device (right, not faster). Parts must be equal: dimensions that the devices do not divide are refused, and so are sub-axes.
// Source: Shardy's documentation of sdy.mesh, sdy.sharding and sdy.manual_computation.
#include "formats/sdy_internal.h"

enum { MOST_AXES = 8 };

typedef struct mesh {
  hsc_view name;
  int axis_count;
  hsc_view axis_names[MOST_AXES];
  int64_t axis_sizes[MOST_AXES];
  int64_t device_count;
  const int64_t *device_ids;   // [device_count]: partition at each place of the mesh; NULL = in order
} mesh;

// How an array is cut: for each dimension, the axes that cut it, the slowest first.
typedef struct layout {
  const mesh *mesh;
  int rank;
  int8_t counts[HSC_MAX_RANK];
  int8_t axes[HSC_MAX_RANK][MOST_AXES];
  bool is_cut;
} layout;

typedef struct part {          // what is known of a whole array: which part of it a device had
  hsc_instr *whole, *local;
  layout layout;
} part;

struct hsc__sdy {
  mesh meshes[16];
  int mesh_count;
  part *parts;
  int part_count, part_capacity;
  hsc_instr **made;            // instructions made here, which may turn out to be unneeded
  int made_count, made_capacity;
};

// ---- meshes and shardings -------------------------------------------------------------------------------------------------------

static hsc_status *sdy_of(hsc__importer *im, struct hsc__sdy **out) {
  if (!im->sdy) im->sdy = HSC_NEW(im->arena, struct hsc__sdy);
  *out = im->sdy;
  return im->sdy ? NULL : hsc_status_out_of_memory();
}

hsc_status *hsc__sdy_mesh(hsc__importer *im, const hsc__mlir_op *op) {
  struct hsc__sdy *sdy;
  HSC_TRY(sdy_of(im, &sdy));
  if (sdy->mesh_count == (int)HSC_COUNT_OF(sdy->meshes)) return HSC_OP_ERR(UNIMPLEMENTED, im, op, "sdy.mesh: not built yet: more than %zu meshes", HSC_COUNT_OF(sdy->meshes));
  mesh *m = &sdy->meshes[sdy->mesh_count];
  *m = (mesh){.device_count = 1};
  for (int i = 0; i < op->attr_count; i++) {
    const hsc__mlir_attr *attr = op->attrs[i].value;
    if (attr->kind == HSC_MLIR_STRING) m->name = attr->text;
    if (attr->kind != HSC_MLIR_ARRAY) continue;
    if (attr->count > MOST_AXES) return HSC_OP_ERR(UNIMPLEMENTED, im, op, "sdy.mesh: not built yet: more than %d axes", MOST_AXES);
    for (int a = 0; a < attr->count; a++) {
      int64_t size = attr->elements[a]->integer;
      if (size < 1 || size > INT32_MAX || m->device_count > INT32_MAX / size) return HSC_OP_ERR(INVALID_ARGUMENT, im, op, "sdy.mesh: an axis of size %lld", (long long)size);
      m->axis_names[a] = attr->elements[a]->text;
      m->axis_sizes[a] = size;
      m->device_count *= size;
      m->axis_count++;
    }
    if (attr->data.size == sizeof(int64_t) * (size_t)m->device_count) m->device_ids = (const int64_t *)(const void *)attr->data.data;
  }
  for (int64_t d = 0; m->device_ids && d < m->device_count; d++)
    if (m->device_ids[d] < 0 || m->device_ids[d] >= m->device_count) return HSC_OP_ERR(INVALID_ARGUMENT, im, op, "sdy.mesh: there is no device %lld", (long long)m->device_ids[d]);
  if (m->name.data) sdy->mesh_count++;
  return NULL;
}

static int axis_number(const mesh *m, hsc_view name) {
  for (int a = 0; a < m->axis_count; a++)
    if (hsc_view_equals(m->axis_names[a], name)) return a;
  return -1;
}

// `manual` (may be NULL) restricts the axes that count. A NULL sharding cuts nothing.
static hsc_status *read_layout(hsc__importer *im, const hsc__mlir_op *op, const hsc__mlir_attr *sharding, const hsc__mlir_attr *manual, const hsc_shape *whole, layout *out) {
  *out = (layout){.rank = whole->rank};
  if (!sharding || sharding->kind != HSC_MLIR_ARRAY) return NULL;
  if (sharding->integer) return HSC_OP_ERR(UNIMPLEMENTED, im, op, "%s: not built yet: unreduced axes", op->written_name);
  for (int i = 0; im->sdy && i < im->sdy->mesh_count && !out->mesh; i++)
    if (hsc_view_equals(im->sdy->meshes[i].name, sharding->text)) out->mesh = &im->sdy->meshes[i];
  if (!out->mesh) return sharding->count ? HSC_OP_ERR(UNIMPLEMENTED, im, op, "%s: not built yet: a mesh in place", op->written_name) : NULL;
  for (int d = 0; d < sharding->count && d < whole->rank; d++) {
    const hsc__mlir_attr *dim = sharding->elements[d];
    for (int a = 0; a < dim->count; a++) {
      int axis = axis_number(out->mesh, dim->elements[a]->text);
      bool counts = !manual;
      for (int k = 0; manual && k < manual->count; k++) counts |= hsc_view_equals(manual->elements[k]->text, dim->elements[a]->text);
      if (!counts) continue;
      if (axis < 0 || out->counts[d] == MOST_AXES) return HSC_OP_ERR(INVALID_ARGUMENT, im, op, "%s: an axis that its mesh does not have", op->written_name);
      if (dim->elements[a]->count) return HSC_OP_ERR(UNIMPLEMENTED, im, op, "%s: not built yet: parts of an axis", op->written_name);
      if (out->mesh->axis_sizes[axis] == 1) continue;
      out->axes[d][out->counts[d]++] = (int8_t)axis;
      out->is_cut = true;
    }
  }
  return NULL;
}

static bool same_layout(const layout *a, const layout *b) {
  if (a->is_cut != b->is_cut) return false;
  if (!a->is_cut) return true;
  return a->mesh == b->mesh && a->rank == b->rank && !memcmp(a->counts, b->counts, sizeof a->counts) && !memcmp(a->axes, b->axes, sizeof a->axes);
}

static int64_t pieces(const layout *l, int dim) {
  int64_t count = 1;
  for (int a = 0; a < l->counts[dim]; a++) count *= l->mesh->axis_sizes[l->axes[dim][a]];
  return count;
}

static hsc_status *local_shape(hsc__importer *im, const hsc__mlir_op *op, const layout *l, const hsc_shape *whole, hsc_shape *out) {
  int64_t dims[HSC_MAX_RANK];
  for (int d = 0; d < whole->rank; d++) {
    int64_t count = l->is_cut ? pieces(l, d) : 1;
    if (whole->dims[d] % count)
      return HSC_OP_ERR(UNIMPLEMENTED, im, op, "%s: not built yet: dimension %d of size %lld in %lld unequal parts", op->written_name, d,
                        (long long)whole->dims[d], (long long)count);
    dims[d] = whole->dims[d] / count;
  }
  *out = hsc_shape_array(im->module->arena, whole->type, whole->rank, dims);
  return hsc_arena_status(im->module->arena);
}

// Coordinates of a place of the mesh, and the place's partition.
static void coordinates(const mesh *m, int64_t place, int64_t out[MOST_AXES]) {
  for (int a = m->axis_count - 1; a >= 0; a--) {
    out[a] = place % m->axis_sizes[a];
    place /= m->axis_sizes[a];
  }
}

static int64_t partition_at(const mesh *m, int64_t place) { return m->device_ids ? m->device_ids[place] : place; }

static int64_t piece_of(const layout *l, int dim, const int64_t at[MOST_AXES]) {
  int64_t piece = 0;
  for (int a = 0; a < l->counts[dim]; a++) piece = piece * l->mesh->axis_sizes[l->axes[dim][a]] + at[l->axes[dim][a]];
  return piece;
}

// ---- cutting and gathering ------------------------------------------------------------------------------------------------------

static hsc_status *append(hsc_arena *arena, void **array, int *count, int *capacity, size_t bytes, const void *item) {
  if (*count == *capacity) {
    int wanted = *capacity ? *capacity * 2 : 16;
    char *larger = hsc_arena_alloc(arena, bytes * (size_t)wanted);
    if (!larger) return hsc_status_out_of_memory();
    if (*count) memcpy(larger, *array, bytes * (size_t)*count);
    *array = larger;
    *capacity = wanted;
  }
  memcpy((char *)*array + bytes * (size_t)(*count)++, item, bytes);
  return NULL;
}

static hsc_status *remember_made(hsc__importer *im, hsc_instr *instr) {
  return append(im->arena, (void **)&im->sdy->made, &im->sdy->made_count, &im->sdy->made_capacity, sizeof instr, &instr);
}

// The part of a whole array that this partition has.
static hsc_status *cut(hsc__importer *im, hsc_builder *b, const layout *l, hsc_instr *whole, const hsc_shape *local, hsc_instr **out) {
  const mesh *m = l->mesh;
  hsc_instr *zero = NULL, *pid = NULL, *starts[HSC_MAX_RANK];
  const int64_t one = 1;
  for (int d = 0; d < whole->shape.rank; d++) {
    if (!l->counts[d]) {
      if (!zero) HSC_TRY(remember_made(im, zero = hsc_build_scalar(b, HSC_TYPE_S32, 0)));
      starts[d] = zero;
      continue;
    }
    hsc_shape table_shape = hsc_shape_array(im->module->arena, HSC_TYPE_S32, 1, &m->device_count), one_shape = hsc_shape_array(im->module->arena, HSC_TYPE_S32, 1, &one);
    hsc_literal *table;
    HSC_TRY(hsc_literal_create(im->module->arena, &table_shape, &table));
    for (int64_t place = 0; place < m->device_count; place++) {
      int64_t at[MOST_AXES];
      coordinates(m, place, at);
      hsc_literal_set_int(table, partition_at(m, place), piece_of(l, d, at) * local->dims[d]);
    }
    if (!pid) HSC_TRY(remember_made(im, pid = hsc_build(b, HSC_OP_PARTITION_ID, hsc_shape_scalar(HSC_TYPE_U32), 0, NULL)));
    hsc_instr *constant = hsc_build_constant(b, table), *one_value = hsc_build_dynamic_slice(b, constant, 1, &pid, (hsc_dims){1, HSC_DIMS(im->module->arena, 1).v});
    (void)one_shape;
    starts[d] = hsc_build_reshape(b, one_value, 0, NULL);
    HSC_TRY(remember_made(im, constant));
    HSC_TRY(remember_made(im, one_value));
    HSC_TRY(remember_made(im, starts[d]));
  }
  *out = hsc_build_dynamic_slice(b, whole, whole->shape.rank, starts, hsc_dims_copy(im->module->arena, local->rank, local->dims));
  return remember_made(im, *out);
}

// Groups of the devices that hold the pieces of one dimension, in the order of the pieces.
static const char *groups_text(hsc__importer *im, const layout *l, int dim) {
  const mesh *m = l->mesh;
  hsc_bytes text = {0};
  int64_t count = pieces(l, dim), first[MOST_AXES], at[MOST_AXES];
  hsc_bytes_append_char(&text, '{');
  for (int64_t place = 0; place < m->device_count; place++) {
    coordinates(m, place, first);
    if (piece_of(l, dim, first) != 0) continue;
    hsc_bytes_append_text(&text, text.size > 1 ? ",{" : "{");
    for (int64_t piece = 0; piece < count; piece++)
      for (int64_t other = 0; other < m->device_count; other++) {   // the one that differs from the first in these axes only
        coordinates(m, other, at);
        bool fits = piece_of(l, dim, at) == piece;
        for (int a = 0; a < m->axis_count && fits; a++) {
          bool cuts = false;
          for (int k = 0; k < l->counts[dim]; k++) cuts |= l->axes[dim][k] == a;
          fits = cuts || at[a] == first[a];
        }
        if (fits) hsc_bytes_printf(&text, "%s%lld", piece ? "," : "", (long long)partition_at(m, other));
      }
    hsc_bytes_append_char(&text, '}');
  }
  hsc_bytes_append_char(&text, '}');
  const char *copy = hsc_bytes_status(&text) ? NULL : hsc_arena_strdup(im->module->arena, text.data);
  hsc_bytes_deinit(&text);
  return copy;
}

static hsc_status *gather(hsc__importer *im, hsc_builder *b, const layout *l, hsc_instr *local, hsc_instr **out_whole) {
  hsc_instr *at = local;
  int64_t dims[HSC_MAX_RANK];
  for (int d = 0; d < local->shape.rank; d++) dims[d] = local->shape.dims[d];
  for (int d = 0; d < local->shape.rank; d++) {
    if (!l->counts[d]) continue;
    dims[d] *= pieces(l, d);
    at = hsc_build(b, HSC_OP_ALL_GATHER, hsc_shape_array(im->module->arena, local->shape.type, local->shape.rank, dims), 1, &at);
    at->attr.collective.dims = HSC_DIMS(im->module->arena, d);
    at->attr.collective.replica_groups = groups_text(im, l, d);
    at->attr.collective.channel_id = 1;
    at->attr.collective.use_global_device_ids = true;
    if (!at->attr.collective.replica_groups) return hsc_status_out_of_memory();
    HSC_TRY(remember_made(im, at));
  }
  *out_whole = at;
  part known = {at, local, *l};
  return append(im->arena, (void **)&im->sdy->parts, &im->sdy->part_count, &im->sdy->part_capacity, sizeof known, &known);
}

static const part *part_of(const hsc__importer *im, const hsc_instr *whole) {
  for (int i = im->sdy ? im->sdy->part_count - 1 : -1; i >= 0; i--)
    if (im->sdy->parts[i].whole == whole) return &im->sdy->parts[i];
  return NULL;
}

static hsc_status *to_local(hsc__importer *im, hsc_builder *b, const hsc__mlir_op *op, const layout *l, hsc_instr *whole, hsc_instr **out) {
  const part *known = part_of(im, whole);
  hsc_shape local;
  *out = whole;
  if (!l->is_cut) return NULL;
  if (known && same_layout(&known->layout, l) && known->local->parent == b->computation) {
    *out = known->local;
    return NULL;
  }
  HSC_TRY(local_shape(im, op, l, &whole->shape, &local));
  return cut(im, b, l, whole, &local, out);
}

// ---- manual computations, arguments, results ------------------------------------------------------------------------------------

static const hsc__mlir_attr *attr_of_code(const hsc__mlir_op *op, int64_t code, int which) {
  for (int i = 0; i < op->attr_count; i++)
    if (op->attrs[i].value->kind == HSC_MLIR_ARRAY && op->attrs[i].value->column == code && which-- == 0) return op->attrs[i].value;
  return NULL;
}

hsc_status *hsc__sdy_manual_computation(hsc__importer *im, hsc_builder *b, hsc__mlir_op *op) {
  const hsc__mlir_attr *in = attr_of_code(op, HSC__SDY_PER_VALUE, 0), *out = attr_of_code(op, HSC__SDY_PER_VALUE, 1), *manual = attr_of_code(op, HSC__SDY_MANUAL_AXES, 0);
  hsc__mlir_block *block = op->region_count == 1 ? op->regions[0] : NULL;
  struct hsc__sdy *sdy;
  HSC_TRY(sdy_of(im, &sdy));
  if (!in || !out || !manual || !block || block->argument_count != op->operand_count || in->count != op->operand_count || out->count != op->result_count)
    return HSC_OP_ERR(INVALID_ARGUMENT, im, op, "%s: its operands, shardings and region do not fit each other", op->written_name);
  for (int i = 0; i < op->operand_count; i++) {
    layout l;
    hsc_instr *whole = op->operands[i]->instr;
    HSC_TRY(read_layout(im, op, in->elements[i], manual, &whole->shape, &l));
    HSC_TRY(to_local(im, b, op, &l, whole, &block->arguments[i].instr));
  }
  hsc__mlir_op *terminator;
  HSC_TRY(hsc__import_block(im, b, block, &terminator));
  if (!terminator || terminator->operand_count != op->result_count) return HSC_OP_ERR(INVALID_ARGUMENT, im, op, "%s: its region gives other results", op->written_name);
  for (int i = 0; i < op->result_count; i++) {
    layout l;
    hsc_shape whole, local;
    HSC_TRY(hsc__import_shape(im, op, op->results[i].type, &whole));
    HSC_TRY(read_layout(im, op, out->elements[i], manual, &whole, &l));
    hsc_instr *value = terminator->operands[i]->instr;
    op->results[i].instr = value;
    if (!l.is_cut) continue;
    HSC_TRY(local_shape(im, op, &l, &whole, &local));
    if (!hsc_shape_same_dims(&local, &value->shape)) return HSC_OP_ERR(INVALID_ARGUMENT, im, op, "%s: result %d is no part of its type", op->written_name, i);
    HSC_TRY(gather(im, b, &l, value, &op->results[i].instr));
  }
  return NULL;
}

static const hsc__mlir_attr *sharding_in(const hsc__mlir_op *function, const char *list_name, int index) {
  const hsc__mlir_attr *list = hsc__mlir_attr_get(function, list_name);
  if (!list || list->kind != HSC_MLIR_ARRAY || index >= list->count || list->elements[index]->kind != HSC_MLIR_DICT) return NULL;
  for (int i = 0; i < list->elements[index]->count; i++)
    if (hsc_view_equals_text(list->elements[index]->entries[i].name, "sdy.sharding")) return list->elements[index]->entries[i].value;
  return NULL;
}

// XLA's text of a layout: {devices=[4,1,2]<=[8] last_tile_dim_replicate}, with the devices written out.
static const char *xla_text(hsc__importer *im, const layout *l) {
  if (!l->is_cut) return "{replicated}";
  hsc_bytes text = {0};
  const mesh *m = l->mesh;
  int64_t total = 1;
  hsc_bytes_append_text(&text, "{devices=[");
  for (int d = 0; d < l->rank; d++) {
    hsc_bytes_printf(&text, "%s%lld", d ? "," : "", (long long)pieces(l, d));
    total *= pieces(l, d);
  }
  int64_t copies = m->device_count / total;
  if (copies > 1) hsc_bytes_printf(&text, ",%lld", (long long)copies);
  hsc_bytes_append_char(&text, ']');
  for (int64_t tile = 0; tile < total; tile++)
    for (int64_t place = 0; place < m->device_count; place++) {
      int64_t at[MOST_AXES], number = 0;
      coordinates(m, place, at);
      for (int d = 0; d < l->rank; d++) number = number * pieces(l, d) + piece_of(l, d, at);
      if (number == tile) hsc_bytes_printf(&text, "%s%lld", text.data[text.size - 1] == ']' ? "" : ",", (long long)partition_at(m, place));
    }
  if (copies > 1) hsc_bytes_append_text(&text, " last_tile_dim_replicate");
  hsc_bytes_append_char(&text, '}');
  const char *copy = hsc_bytes_status(&text) ? NULL : hsc_arena_strdup(im->module->arena, text.data);
  hsc_bytes_deinit(&text);
  return copy;
}

// An argument without a sharding of its own that only goes into manual computations, in the same parts everywhere, comes in those parts.
static hsc_status *layout_of_uses(hsc__importer *im, const hsc__mlir_op *function, int index, const hsc_shape *whole, layout *out) {
  const hsc__mlir_block *block = function->regions[0];
  bool found = false;
  *out = (layout){.rank = whole->rank};
  for (int i = 0; i < block->op_count; i++)
    for (int o = 0; o < block->ops[i]->operand_count; o++) {
      const hsc__mlir_op *op = block->ops[i];
      if (op->operands[o] != &block->arguments[index]) continue;
      const hsc__mlir_attr *in = attr_of_code(op, HSC__SDY_PER_VALUE, 0), *manual = attr_of_code(op, HSC__SDY_MANUAL_AXES, 0);
      layout l = {.rank = whole->rank};
      if (!strcmp(op->name, "manual_computation") && in && manual && o < in->count) HSC_TRY(read_layout(im, op, in->elements[o], manual, whole, &l));
      if (!l.is_cut || (found && !same_layout(&l, out))) {
        *out = (layout){.rank = whole->rank};
        return NULL;
      }
      *out = l;
      found = true;
    }
  return NULL;
}

hsc_status *hsc__sdy_argument(hsc__importer *im, hsc_builder *b, const hsc__mlir_op *function, int index, hsc_shape whole, const char *name, hsc_instr **out) {
  layout l;
  hsc_shape local;
  const hsc__mlir_attr *sharding = sharding_in(function, "arg_attrs", index);
  if (sharding) HSC_TRY(read_layout(im, function, sharding, NULL, &whole, &l));
  else HSC_TRY(layout_of_uses(im, function, index, &whole, &l));
  if (!l.is_cut) {
    *out = hsc_build_parameter(b, index, whole, name);
    (*out)->sharding = "{replicated}";
    return NULL;
  }
  HSC_TRY(local_shape(im, function, &l, &whole, &local));
  hsc_instr *parameter = hsc_build_parameter(b, index, local, name);
  parameter->sharding = xla_text(im, &l);
  return gather(im, b, &l, parameter, out);
}

hsc_status *hsc__sdy_result(hsc__importer *im, hsc_builder *b, const hsc__mlir_op *function, int index, hsc_instr **in_out_value, const char **out_sharding) {
  const hsc__mlir_attr *sharding = sharding_in(function, "res_attrs", index);
  const part *known = part_of(im, *in_out_value);
  layout l = {0};
  if (sharding) HSC_TRY(read_layout(im, function, sharding, NULL, &(*in_out_value)->shape, &l));
  else if (known) l = known->layout;   // as it comes
  *out_sharding = xla_text(im, &l);
  return to_local(im, b, function, &l, *in_out_value, in_out_value);
}

// What was gathered and cut for nothing goes, the last made first.
void hsc__sdy_clean(hsc__importer *im) {
  for (int i = im->sdy ? im->sdy->made_count - 1 : -1; i >= 0; i--) {
    hsc_instr *instr = im->sdy->made[i];
    if (instr->user_count == 0 && instr->parent && instr->parent->root != instr) hsc_instr_remove(instr);
  }
}
