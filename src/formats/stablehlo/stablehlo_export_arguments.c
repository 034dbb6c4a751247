// stablehlo_export_arguments.c - what the entry's arguments and results carry besides their types:
// aliases, donation, shardings, frontend attributes.
#include "formats/stablehlo/stablehlo_export_internal.h"

// The place of a leaf among the leaves of several shapes; -1 when the path ends at a tuple.
static int leaf_of(const hsc_shape *shape, hsc_dims path) {
  int leaf = 0;
  for (int i = 0; i < path.count; i++) {
    if (!hsc_shape_is_tuple(shape) || path.v[i] < 0 || path.v[i] >= shape->element_count)
      return -1;
    for (int k = 0; k < path.v[i]; k++)
      leaf += hsc_shape_leaf_count(&shape->elements[k]);
    shape = &shape->elements[path.v[i]];
  }
  return hsc_shape_is_tuple(shape) ? -1 : leaf;
}

typedef struct leaf_attrs {
  hsc__mlir_named entries[5];
  int count;
} leaf_attrs;

static void add_leaf_attr(leaf_attrs *leaf, const char *name, const hsc__mlir_attr *value) {
  if (leaf->count < (int)HSC_COUNT_OF(leaf->entries))
    leaf->entries[leaf->count++] = (hsc__mlir_named){hsc_view_of(name), value};
}

// Leaves of parameter i that may be given up to any result of their size.
static void donor_attrs(hsc__exporter *x, const hsc_instr *parameter, int i, leaf_attrs *leaves) {
  const hsc_module *m = x->module;
  for (int k = 0; k < m->donor_count; k++) {
    if (m->donors[k].parameter != i)
      continue;
    int leaf = leaf_of(&parameter->shape, m->donors[k].parameter_index);
    if (leaf >= 0 && !leaves[leaf].count)
      add_leaf_attr(&leaves[leaf], "jax.buffer_donor", hsc__export_bool(x, true));
  }
}

// Leaves of parameter i that lie where a result of the program does.
static void alias_attrs(hsc__exporter *x, const hsc_computation *entry, int i, leaf_attrs *leaves) {
  const hsc_module *m = x->module;
  for (int k = 0; k < m->alias_count; k++) {
    const hsc_alias *alias = &m->aliases[k];
    if (alias->parameter != i)
      continue;
    int leaf = leaf_of(&entry->parameters[i]->shape, alias->parameter_index);
    int output = leaf_of(&entry->root->shape, alias->output_index);
    if (leaf < 0 || output < 0 || leaves[leaf].count == (int)HSC_COUNT_OF(leaves[0].entries))
      hsc__export_note(x, HSC_EXPORT_ALIAS, "aliases of whole tuples");
    else
      add_leaf_attr(&leaves[leaf], "tf.aliasing_output", hsc__export_int(x, HSC_TYPE_S32, output));
    if (alias->must_alias)
      hsc__export_note(x, HSC_EXPORT_MUST_ALIAS, "must-alias (the alias itself is kept)");
  }
}

// A parameter's own sharding and frontend attributes. An argument stands for one leaf, so those of
// a tuple have no place.
static void own_attrs(hsc__exporter *x, const hsc_instr *parameter, int leaves, leaf_attrs *first) {
  const hsc__mlir_attr *frontend = NULL;
  if (leaves == 1 && parameter->sharding)
    add_leaf_attr(first, "mhlo.sharding", hsc__export_text(x, hsc_view_of(parameter->sharding)));
  if (leaves == 1 && parameter->frontend_attributes)
    frontend = hsc__export_frontend(x, parameter->frontend_attributes);
  if (frontend)
    add_leaf_attr(first, "mhlo.frontend_attributes", frontend);
  if ((leaves != 1 && parameter->sharding) || (!frontend && parameter->frontend_attributes))
    hsc__export_note(x, HSC_EXPORT_GONE,
                     "attributes of copies, fusions and the like, which are no operations of "
                     "their own in StableHLO");
}

// Aliasing, donation and shardings of the entry's arguments.
hsc_status *hsc__export_argument_attrs(hsc__exporter *x,
                                       const hsc_computation *entry,
                                       hsc__export_op *op) {
  int total = 0;
  int at = 0;
  for (int i = 0; i < entry->parameter_count; i++)
    total += hsc_shape_leaf_count(&entry->parameters[i]->shape);
  const hsc__mlir_attr **list = HSC_NEW_ARRAY(x->arena, const hsc__mlir_attr *, total + 1);
  leaf_attrs *attrs = HSC_NEW_ARRAY(x->arena, leaf_attrs, total + 1);
  bool any = false;
  if (!list || !attrs)
    return hsc_status_out_of_memory();
  for (int i = 0; i < entry->parameter_count; i++) {
    const hsc_instr *parameter = entry->parameters[i];
    int leaves = hsc_shape_leaf_count(&parameter->shape);
    donor_attrs(x, parameter, i, &attrs[at]);
    own_attrs(x, parameter, leaves, &attrs[at]);
    alias_attrs(x, entry, i, &attrs[at]);
    at += leaves;
  }
  for (int i = 0; i < total; i++) {
    any |= attrs[i].count > 0;
    list[i] = hsc__export_dict(x, attrs[i].count, attrs[i].entries);
  }
  if (any)
    hsc__export_put(op, "arg_attrs", hsc__export_array(x, total, list));
  return NULL;
}

// The shardings of a result that is a tuple, "{{replicated}, {devices=[2,1]<=[2]}}", one for each
// result of the function.
void hsc__export_result_attrs(hsc__exporter *x,
                              const hsc_instr *root,
                              int count,
                              hsc__export_op *op) {
  const char *at = root->sharding;
  if (!at || !hsc_shape_is_tuple(&root->shape) || at[0] != '{' || at[1] != '{' || count < 1)
    return;
  const hsc__mlir_attr **list = HSC_NEW_ARRAY(x->arena, const hsc__mlir_attr *, count + 1);
  int found = 0;
  for (at++; list && *at == '{' && found < count; found++) {
    const char *start = at;
    int depth = 0;
    for (; *at; at++) {
      depth += (*at == '{') - (*at == '}');
      if (depth == 0)
        break;
    }
    if (!*at)
      break;
    at++;
    hsc__mlir_named *entry = HSC_NEW(x->arena, hsc__mlir_named);
    if (!entry)
      return;
    *entry = (hsc__mlir_named){hsc_view_of("mhlo.sharding"),
                               hsc__export_text(x, (hsc_view){start, (size_t)(at - start)})};
    list[found] = hsc__export_dict(x, 1, entry);
    while (*at == ',' || *at == ' ')
      at++;
  }
  if (list && found == count)
    hsc__export_put(op, "res_attrs", hsc__export_array(x, count, list));
  else
    hsc__export_note(x, HSC_EXPORT_GONE, "the sharding of a tuple that is no list of the results'");
}
