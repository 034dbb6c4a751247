// sdy_axes.c - meshes: their axes, their devices, and the groups of a collective that names axes of
// one (#stablehlo.replica_group_mesh_axes), by a symbol or in place.
// Source: StableHLO's specification of replica_group_mesh_axes, Shardy's of sub-axes.
#include "formats/shardy/sdy_internal.h"
#include "formats/shardy/sdy_layout.h"
#include "hlo/ir/groups.h"

// ---- meshes -------------------------------------------------------------------------------------

hsc_status *hsc__mesh_add_axis(
    const hsc__importer *im, const hsc__mlir_op *op, hsc__mesh *m, hsc_view name, int64_t size) {
  if (m->axis_count == HSC__MOST_AXES)
    return HSC_OP_ERR(UNIMPLEMENTED, im, op, "%s: not built yet: a mesh of more than %d axes",
                      op->written_name, HSC__MOST_AXES);
  if (size < 1 || size > INT32_MAX || m->device_count > INT32_MAX / size)
    return HSC_OP_ERR(INVALID_ARGUMENT, im, op, "%s: an axis of a mesh of size %lld",
                      op->written_name, (long long)size);
  m->axis_names[m->axis_count] = name;
  m->axis_sizes[m->axis_count++] = size;
  m->device_count *= size;
  return NULL;
}

hsc_status *hsc__mesh_check_ids(const hsc__importer *im,
                                const hsc__mlir_op *op,
                                const hsc__mesh *m) {
  if (!m->device_ids)
    return NULL;
  bool *seen = HSC_NEW_ARRAY(im->arena, bool, m->device_count);
  HSC_TRY(hsc_arena_status(im->arena));
  for (int64_t d = 0; d < m->device_count; d++) {
    int64_t id = m->device_ids[d];
    if (id < 0 || id >= m->device_count)
      return HSC_OP_ERR(INVALID_ARGUMENT, im, op, "%s: a mesh of %lld devices has no device %lld",
                        op->written_name, (long long)m->device_count, (long long)id);
    if (seen[id])
      return HSC_OP_ERR(INVALID_ARGUMENT, im, op, "%s: a mesh names device %lld twice",
                        op->written_name, (long long)id);
    seen[id] = true;
  }
  return NULL;
}

int hsc__mesh_axis(const hsc__mesh *m, hsc_view name) {
  for (int a = 0; a < m->axis_count; a++)
    if (hsc_view_equals(m->axis_names[a], name))
      return a;
  return -1;
}

const hsc__mesh *hsc__mesh_named(const hsc__importer *im, hsc_view name) {
  for (int i = 0; im->sdy && i < im->sdy->mesh_count; i++)
    if (hsc_view_equals(im->sdy->meshes[i].name, name))
      return &im->sdy->meshes[i];
  return NULL;
}

// ---- groups by axes -----------------------------------------------------------------------------

static const hsc__mlir_attr *entry(const hsc__mlir_attr *of, const char *name) {
  for (int i = 0; of && of->kind == HSC_MLIR_DICT && i < of->count; i++)
    if (hsc_view_equals_text(of->entries[i].name, name))
      return of->entries[i].value;
  return NULL;
}

static int64_t number(const hsc__mlir_attr *of, const char *name) {
  const hsc__mlir_attr *value = entry(of, name);
  return value && value->kind == HSC_MLIR_INT ? value->integer : 0;
}

#define BAD(...) return HSC_OP_ERR(INVALID_ARGUMENT, im, op, __VA_ARGS__)

static hsc_status *mesh_in_place(const hsc__importer *im,
                                 const hsc__mlir_op *op,
                                 const hsc__mlir_attr *attr,
                                 hsc__mesh *out) {
  const hsc__mlir_attr *list = entry(attr, "axes");
  const hsc__mlir_attr *ids = entry(attr, "device_ids");
  *out = (hsc__mesh){.device_count = 1};
  if (!list || list->kind != HSC_MLIR_ARRAY)
    BAD("%s: a mesh without axes", op->written_name);
  for (int a = 0; a < list->count; a++) {
    const hsc__mlir_attr *name = entry(list->elements[a], "name");
    HSC_TRY(hsc__mesh_add_axis(im, op, out, name ? name->text : (hsc_view){0},
                               number(list->elements[a], "size")));
  }
  if (!ids)
    return NULL;
  if (ids->kind != HSC_MLIR_DENSE || ids->type->shape.type != HSC_TYPE_S64 ||
      ids->data.size != sizeof(int64_t) * (size_t)out->device_count)
    BAD("%s: the device_ids of a mesh of %lld devices are %lld numbers", op->written_name,
        (long long)out->device_count,
        ids->kind == HSC_MLIR_DENSE ? (long long)hsc_shape_elements(&ids->type->shape) : 0LL);
  int64_t *copy = HSC_NEW_ARRAY(im->arena, int64_t, out->device_count);
  HSC_TRY(hsc_arena_status(im->arena));
  memcpy(copy, ids->data.data, ids->data.size);
  out->device_ids = copy;
  return hsc__mesh_check_ids(im, op, out);
}

// In XLA's text, which knows what groups axes make (hlo/ir/groups.h); axes are called by number.
static void put_mesh(const hsc__mesh *m, hsc_bytes *out) {
  hsc_bytes_append_text(out, "mesh[");
  for (int a = 0; a < m->axis_count; a++)
    hsc_bytes_printf(out, "%s'%d'=%lld", a ? "," : "", a, (long long)m->axis_sizes[a]);
  hsc_bytes_append_char(out, ']');
  for (int64_t d = 0; m->device_ids && d < m->device_count; d++)
    hsc_bytes_printf(out, "%s%lld", d ? "," : ", device_ids=(", (long long)m->device_ids[d]);
  hsc_bytes_append_text(out, m->device_ids ? ") {" : " {");
}

static hsc_status *put_axis(const hsc__importer *im,
                            const hsc__mlir_op *op,
                            const hsc__mesh *m,
                            const hsc__mlir_attr *ref,
                            hsc_bytes *out) {
  const hsc__mlir_attr *name = entry(ref, "name");
  const hsc__mlir_attr *part = entry(ref, "sub_axis_info");
  int axis = name ? hsc__mesh_axis(m, name->text) : -1;
  if (axis < 0)
    BAD("%s: its replica_groups go along axis '%.*s', which the mesh does not have",
        op->written_name, name ? (int)name->text.size : 0, name ? name->text.data : "");
  hsc_bytes_printf(out, "%s'%d'", out->data[out->size - 1] == '{' ? "" : ",", axis);
  if (part)
    hsc_bytes_printf(out, ":(%lld)%lld", (long long)number(part, "pre_size"),
                     (long long)number(part, "size"));
  return hsc_bytes_status(out);
}

static hsc_status *put_groups(const hsc__importer *im,
                              const hsc__mlir_op *op,
                              const hsc__mlir_attr *groups,
                              hsc_bytes *out) {
  const hsc__mlir_attr *named = entry(groups, "mesh");
  const hsc__mlir_attr *list = entry(groups, "axes");
  hsc__mesh in_place;
  const hsc__mesh *m = &in_place;
  if (!named || !list || list->kind != HSC_MLIR_ARRAY)
    return HSC_OP_ERR(
        UNIMPLEMENTED, im, op,
        "%s: not built yet: replica_groups that are neither a list nor axes of a mesh",
        op->written_name);
  if (named->kind == HSC_MLIR_DICT)
    HSC_TRY(mesh_in_place(im, op, named, &in_place));
  else
    m = hsc__mesh_named(im, named->text);
  if (!m)
    BAD("%s: there is no mesh '%.*s'", op->written_name, (int)named->text.size, named->text.data);
  if (m->device_count > HSC_MAX_GROUP_IDS)
    return HSC_OP_ERR(UNIMPLEMENTED, im, op,
                      "%s: not built yet: groups of a mesh of more than %d devices",
                      op->written_name, HSC_MAX_GROUP_IDS);
  put_mesh(m, out);
  HSC_TRY(hsc_bytes_status(out));
  for (int i = 0; i < list->count; i++)
    HSC_TRY(put_axis(im, op, m, list->elements[i], out));
  hsc_bytes_append_char(out, '}');
  return hsc_bytes_status(out);
}

static hsc_status *list_of(const hsc__importer *im,
                           const hsc__mlir_op *op,
                           const char *axes,
                           hsc_bytes *out) {
  hsc_groups groups;
  hsc_status *status = hsc_groups_parse(im->arena, axes, &groups);
  if (hsc_status_code(status) == HSC_INVALID_ARGUMENT) {
    hsc_status_free(status);
    BAD("%s: its replica_groups name an axis twice, or a part that an axis does not have",
        op->written_name);
  }
  HSC_TRY(status);
  hsc_bytes_append_char(out, '{');
  for (int64_t g = 0; g < groups.count; g++) {
    hsc_bytes_append_text(out, g ? ",{" : "{");
    for (int64_t i = groups.first[g]; i < groups.first[g + 1]; i++)
      hsc_bytes_printf(out, "%s%lld", i > groups.first[g] ? "," : "", (long long)groups.ids[i]);
    hsc_bytes_append_char(out, '}');
  }
  hsc_bytes_append_char(out, '}');
  return hsc_bytes_status(out);
}

hsc_status *hsc__sdy_axis_groups(const hsc__importer *im,
                                 const hsc__mlir_op *op,
                                 const hsc__mlir_attr *groups,
                                 const char **out_text) {
  hsc_bytes axes = {0};
  hsc_bytes list = {0};
  hsc_status *status = put_groups(im, op, groups, &axes);
  if (!status)
    status = list_of(im, op, hsc_bytes_text(&axes), &list);
  if (!status) {
    *out_text = hsc_arena_strdup(im->module->arena, hsc_bytes_text(&list));
    status = hsc_arena_status(im->module->arena);
  }
  hsc_bytes_deinit(&axes);
  hsc_bytes_deinit(&list);
  return status;
}
