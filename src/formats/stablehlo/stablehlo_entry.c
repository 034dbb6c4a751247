// stablehlo_entry.c - what the attributes of @main's arguments and results say: aliases, donors,
// shardings, layouts.
//
// JAX writes them (tf.aliasing_output, jax.buffer_donor, mhlo.sharding, mhlo.layout_mode); HLO has
// them in the header of the module, but for shardings.
#include "formats/common/formats_internal.h"
#include "formats/stablehlo/stablehlo_internal.h"

enum { DEEPEST = 200 };  // marks of sharding after each other

static int count_leaves(const hsc_shape *shape) {
  int count = hsc_shape_is_tuple(shape) ? 0 : 1;
  for (int i = 0; i < shape->element_count; i++)
    count += count_leaves(&shape->elements[i]);
  return count;
}

static int results_of(const hsc_shape *root) {
  return hsc_shape_is_tuple(root) ? root->element_count : 1;
}

// Where a leaf is in a shape: {1,0}; {} for an array.
static hsc_status *path_of_leaf(const hsc__importer *im,
                                const hsc_shape *shape,
                                int leaf,
                                hsc_dims *out_path) {
  int64_t path[HSC_MAX_TUPLE_DEPTH];
  int depth = 0;
  while (hsc_shape_is_tuple(shape) && depth < HSC_MAX_TUPLE_DEPTH) {
    int i = 0;
    int leaves;
    for (; i < shape->element_count && leaf >= (leaves = count_leaves(&shape->elements[i])); i++)
      leaf -= leaves;
    if (i == shape->element_count)
      return HSC_OP_ERR(INVALID_ARGUMENT, im, im->top,
                        "tf.aliasing_output names a result that is not there");
    path[depth++] = i;
    shape = &shape->elements[i];
  }
  if (leaf != 0)
    return HSC_OP_ERR(INVALID_ARGUMENT, im, im->top,
                      "tf.aliasing_output names a result that is not there");
  *out_path = hsc_dims_copy(im->module->arena, depth, path);
  return NULL;
}

// What an argument or a result of the entry says besides what is known by name: kept as frontend
// attributes of the instruction.
static hsc_status *keep_unknown(hsc__importer *im, const hsc__mlir_attr *dict, hsc_instr *instr) {
  static const char *const known[] = {"tf.aliasing_output", "jax.buffer_donor", "jax.result_info",
                                      "mhlo.sharding",      "mhlo.layout_mode", "mhlo.memory_kind",
                                      "sdy.sharding"};
  if (!dict || dict->kind != HSC_MLIR_DICT || !dict->count)
    return NULL;
  hsc__mlir_named *rest = HSC_NEW_ARRAY(im->arena, hsc__mlir_named, dict->count);
  HSC_TRY(hsc_arena_status(im->arena));
  hsc__mlir_op holder = {
      .name = "func", .written_name = "func.func", .attrs = rest, .has_foreign = true};
  for (int i = 0; i < dict->count; i++) {
    bool is_known = false;
    for (size_t k = 0; k < HSC_COUNT_OF(known); k++)
      is_known |= hsc_view_equals_text(dict->entries[i].name, known[k]);
    if (!is_known)
      rest[holder.attr_count++] = dict->entries[i];
  }
  return holder.attr_count && !instr->frontend_attributes
             ? hsc__import_attributes(im, &holder, instr)
             : NULL;
}

// Shardings of the entry's results: of the tuple that they are in HLO, one after the other; those
// that say nothing are replicated, as XLA has it.
static hsc_status *import_result_attrs(hsc__importer *im, const hsc__mlir_op *main_op) {
  const hsc__mlir_attr *list = hsc__mlir_attr_get(main_op, "res_attrs");
  hsc_instr *root = im->module->entry->root;
  if (!list || list->kind != HSC_MLIR_ARRAY)
    return NULL;
  hsc_bytes text = {0};
  bool any = false;
  bool is_tuple = list->count != 1 || root->op == HSC_OP_TUPLE;
  if (is_tuple)
    hsc_bytes_append_char(&text, '{');
  for (int i = 0; i < list->count; i++) {
    const hsc__mlir_attr *sharding = hsc__mlir_dict_get(list->elements[i], "mhlo.sharding");
    bool said = sharding && sharding->kind == HSC_MLIR_STRING;
    any |= said;
    if (i)
      hsc_bytes_append_text(&text, ", ");
    if (said)
      hsc_bytes_append(&text, sharding->text.data, sharding->text.size);
    else
      hsc_bytes_append_text(&text, "{replicated}");
  }
  if (is_tuple)
    hsc_bytes_append_char(&text, '}');
  hsc_status *status = hsc_bytes_status(&text);
  // A parameter that is the result keeps its own.
  if (!status && any && !root->sharding && root->op != HSC_OP_PARAMETER)
    root->sharding = hsc_arena_strndup(im->module->arena, hsc_bytes_text(&text), text.size);
  hsc_bytes_deinit(&text);
  for (int i = 0; i < list->count && !status; i++)
    status = keep_unknown(im, list->elements[i], root);
  return status;
}

// Aliasing, donation and shardings of the entry's arguments.
hsc_status *hsc__import_argument_attrs(hsc__importer *im, const hsc__mlir_op *main_op) {
  const hsc__mlir_attr *list = hsc__mlir_attr_get(main_op, "arg_attrs");
  HSC_TRY(import_result_attrs(im, main_op));
  if (!list || list->kind != HSC_MLIR_ARRAY)
    return NULL;
  hsc_module *m = im->module;
  hsc_alias *aliases = HSC_NEW_ARRAY(m->arena, hsc_alias, list->count + 1);
  hsc_alias *donors = HSC_NEW_ARRAY(m->arena, hsc_alias, list->count + 1);
  if (!aliases || !donors)
    return hsc_status_out_of_memory();
  int at = 0;
  for (int i = 0; i < m->entry->parameter_count; i++) {
    hsc_instr *parameter = m->entry->parameters[i];
    int leaves = hsc_shape_is_tuple(&parameter->shape) ? count_leaves(&parameter->shape) : 1;
    for (int leaf = 0; leaf < leaves && at < list->count; leaf++, at++) {
      const hsc__mlir_attr *dict = list->elements[at];
      const hsc__mlir_attr *output = hsc__mlir_dict_get(dict, "tf.aliasing_output");
      const hsc__mlir_attr *donor = hsc__mlir_dict_get(dict, "jax.buffer_donor");
      const hsc__mlir_attr *sharding = hsc__mlir_dict_get(dict, "mhlo.sharding");
      hsc_dims in, out;
      HSC_TRY(path_of_leaf(im, &parameter->shape, leaf, &in));
      if (output) {
        HSC_TRY(path_of_leaf(im, &m->entry->root->shape, (int)output->integer, &out));
        aliases[m->alias_count++] = (hsc_alias){
            .output_index = out, .parameter = i, .parameter_index = in, .must_alias = false};
      } else if (donor && donor->integer) {
        donors[m->donor_count++] = (hsc_alias){.parameter = i, .parameter_index = in};
      }
      if (sharding && sharding->kind == HSC_MLIR_STRING && leaves == 1)
        parameter->sharding = hsc_arena_strndup(m->arena, sharding->text.data, sharding->text.size);
      HSC_TRY(keep_unknown(im, dict, parameter));
    }
  }
  m->aliases = aliases;
  m->donors = donors;
  return NULL;
}

// The operation that gives a result of the entry, after marks of sharding; NULL for an argument.
static const hsc__mlir_op *giver_of(const hsc__mlir_op *main_op, int result) {
  const hsc__mlir_block *block = main_op->region_count ? main_op->regions[0] : NULL;
  const hsc__mlir_op *end = block && block->op_count ? block->ops[block->op_count - 1] : NULL;
  const hsc__mlir_op *op = end && result < end->operand_count ? end->operands[result]->owner : NULL;
  for (int depth = 0; op && op->operand_count == 1 && depth < DEEPEST; depth++) {
    if (strcmp(op->name, "sharding_constraint") != 0 && strcmp(op->name, "reshard") != 0)
      break;
    op = op->operands[0]->owner;
  }
  return op;
}

// An order of dimensions as "{0,1}": `dims` as they are, or (a permutation of a transpose) the
// order in which nothing moves.
static void append_order(const hsc_dims *dims, bool is_permutation, hsc_bytes *text) {
  for (int i = 0; i < dims->count; i++) {
    int d = is_permutation ? 0 : (int)dims->v[i];
    while (is_permutation && d < dims->count - 1 && dims->v[d] != dims->count - 1 - i)
      d++;
    hsc_bytes_printf(text, "%c%d", i ? ',' : '{', d);
  }
  hsc_bytes_append_char(text, '}');
}

// "{0,1}" of mhlo.layout_mode; "default" is row-major, and so is "auto" but for a result (`giver`;
// NULL = an argument) that has a layout constraint, or that is a transpose: its layout is that of
// what it transposes, so that nothing moves.
static hsc_status *append_layout(const hsc__importer *im,
                                 const hsc__mlir_attr *dict,
                                 const hsc_shape *shape,
                                 const hsc__mlir_op *giver,
                                 hsc_bytes *text,
                                 bool *any) {
  const hsc__mlir_attr *mode = hsc__mlir_dict_get(dict, "mhlo.layout_mode");
  hsc_dims dims = {0};
  hsc_shape_print(shape, false, text);
  if (!mode || mode->kind != HSC_MLIR_STRING || !hsc_shape_is_array(shape) || shape->rank < 2)
    return NULL;
  bool given = mode->text.size > 2 && mode->text.data[0] == '{';
  *any |= given;
  if (given)
    hsc_bytes_append(text, mode->text.data, mode->text.size);
  if (!giver || !hsc_view_equals_text(mode->text, "auto"))
    return NULL;
  bool transpose = !strcmp(giver->name, "transpose");
  if (transpose)
    HSC_TRY(hsc__import_dims(im, giver, "permutation", &dims));
  if (!strcmp(giver->name, "custom_call") &&
      hsc_view_equals_text(hsc__import_text(giver, "call_target_name"), "LayoutConstraint")) {
    const hsc__mlir_attr *list = hsc__mlir_attr_get(giver, "result_layouts");
    hsc__mlir_named one = {
        HSC_VIEW("layout"),
        list && list->kind == HSC_MLIR_ARRAY && list->count == 1 ? list->elements[0] : NULL};
    hsc__mlir_op holder = {.name = giver->name,
                           .written_name = giver->written_name,
                           .attrs = &one,
                           .attr_count = one.value ? 1 : 0,
                           .location = giver->location};
    HSC_TRY(hsc__import_dims(im, &holder, "layout", &dims));
  }
  if (dims.count != shape->rank)
    return NULL;
  append_order(&dims, transpose, text);
  *any = true;
  return NULL;
}

// The shapes of the arguments (`result` false) or of the results, with the layouts that are asked
// for.
static hsc_status *append_layouts(
    const hsc__importer *im, const hsc__mlir_op *main_op, bool result, hsc_bytes *text, bool *any) {
  const hsc__mlir_attr *list = hsc__mlir_attr_get(main_op, result ? "res_attrs" : "arg_attrs");
  const hsc_computation *entry = im->module->entry;
  const hsc_shape *root = &entry->root->shape;
  bool tuple = hsc_shape_is_tuple(root);
  bool has_list = list && list->kind == HSC_MLIR_ARRAY && list->count;
  int count = result ? results_of(root) : entry->parameter_count;
  for (int i = 0; i < count; i++) {
    const hsc_shape *shape = result ? root : &entry->parameters[i]->shape;
    if (result && tuple)
      shape = &root->elements[i];
    if (i)
      hsc_bytes_append_text(text, ", ");
    HSC_TRY(append_layout(im, has_list ? list->elements[i] : NULL, shape,
                          result ? giver_of(main_op, i) : NULL, text, any));
  }
  return NULL;
}

// Whether a list of attributes, where there is one, has one for each.
static bool fits(const hsc__mlir_attr *list, int count) {
  int given = list && list->kind == HSC_MLIR_ARRAY ? list->count : 0;
  return !given || given == count;
}

hsc_status *hsc__import_layouts(hsc__importer *im, const hsc__mlir_op *main_op) {
  const hsc_computation *entry = im->module->entry;
  bool any = false;
  bool tuple = hsc_shape_is_tuple(&entry->root->shape);
  if (!fits(hsc__mlir_attr_get(main_op, "arg_attrs"), entry->parameter_count) ||
      !fits(hsc__mlir_attr_get(main_op, "res_attrs"), results_of(&entry->root->shape)))
    return NULL;
  hsc_bytes text = {0};
  hsc_status *status = NULL;
  hsc_bytes_append_text(&text, "{(");
  HSC_GOTO(append_layouts(im, main_op, false, &text, &any));
  hsc_bytes_append_text(&text, tuple ? ")->(" : ")->");
  HSC_GOTO(append_layouts(im, main_op, true, &text, &any));
  hsc_bytes_append_text(&text, tuple ? ")}" : "}");
  HSC_GOTO(hsc_bytes_status(&text));
  if (any) {
    hsc_shape *shapes, result;
    int count;
    status =
        hsc_hlo_text_parse_entry_layout(im->arena, hsc_bytes_view(&text), &count, &shapes, &result);
    if (status)
      status = hsc__import_error(status, im, main_op);
    else
      im->module->layout_text = hsc_arena_strndup(im->module->arena, text.data, text.size);
  }
done:
  hsc_bytes_deinit(&text);
  return status ? status : hsc_arena_status(im->module->arena);
}
