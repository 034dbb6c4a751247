// stablehlo_export.c - HLO modules to StableHLO: functions, regions, tuples, control flow,
// metadata.
//
// The entry becomes @main; arguments and results are the leaves of its tuples (an attribute of the
// module remembers nested ones). Fusions, asynchronous pairs and calls of computations that are
// called once are inlined; other called computations are functions. Tuples are lists of values
// until something needs them as one. Copies and tuples are nothing at all. What has no form in
// StableHLO is refused by its name and place.
// Source: the StableHLO specification; XLA's own translation is xla/hlo/translate/hlo_to_mhlo.
#include "formats/stablehlo/stablehlo_export_internal.h"

#include <stdlib.h>

// ---- emitting -----------------------------------------------------------------------------------

// Emits with the given result types; the values of the results are in (*out_op)->results.
static hsc_status *emit(hsc__export_op *op,
                        int result_count,
                        const hsc__mlir_type *const *types,
                        hsc__mlir_op **out_op) {
  hsc__exporter *x = op->x;
  hsc__export_block *at = x->at;
  hsc__mlir_op *made = HSC_NEW(x->arena, hsc__mlir_op);
  const char *dot = strchr(op->name, '.');
  if (!made)
    return hsc_status_out_of_memory();
  *made = (hsc__mlir_op){.written_name = op->name,
                         .name = dot ? dot + 1 : op->name,
                         .operands = op->operands,
                         .operand_count = op->operand_count,
                         .regions = op->regions,
                         .region_count = op->region_count,
                         .attr_count = op->attr_count,
                         .result_count = result_count,
                         .location = x->location,
                         .block = at->block};
  if (x->instr) {
    made->line = x->instr->line;
    made->column = x->instr->column;
  }
  made->attrs = op->attr_count ? hsc_arena_copy(x->arena, op->attrs,
                                                (size_t)op->attr_count * sizeof *op->attrs)
                               : NULL;
  made->results = HSC_NEW_ARRAY(x->arena, hsc__mlir_value, result_count + 1);
  if (!made->results || (op->attr_count && !made->attrs))
    return hsc_status_out_of_memory();
  for (int i = 0; i < result_count; i++)
    made->results[i] = (hsc__mlir_value){.type = types[i], .owner = made, .block = at->block};
  for (int i = 0; i < op->region_count; i++)
    op->regions[i]->parent = made;
  if (!HSC_GROW_IN(x->arena, at->block->ops, at->block->op_count, at->capacity))
    return hsc_arena_status(x->arena);
  at->block->ops[at->block->op_count++] = made;
  if (out_op)
    *out_op = made;
  return NULL;
}

hsc_status *hsc__export_emit_value(hsc__export_op *op,
                                   const hsc_shape *shape,
                                   hsc__mlir_value **out_value) {
  const hsc__mlir_type *type = hsc__export_type(op->x, shape);
  hsc__mlir_op *made;
  HSC_TRY(emit(op, 1, &type, &made));
  *out_value = &made->results[0];
  return NULL;
}

static hsc__export_node *new_node(hsc__exporter *x,
                                  const hsc_shape *shape,
                                  hsc__mlir_value *value) {
  hsc__export_node *node = HSC_NEW(x->arena, hsc__export_node);
  if (!node)
    return NULL;
  node->value = value;
  node->is_tuple = hsc_shape_is_tuple(shape);
  node->count = node->is_tuple ? shape->element_count : 0;
  if (node->count)
    node->elements = HSC_NEW_ARRAY(x->arena, hsc__export_node, node->count);
  return node->count && !node->elements ? NULL : node;
}

// A value of a tuple type, taken apart.
static hsc_status *node_of_value(hsc__exporter *x,
                                 const hsc_shape *shape,
                                 hsc__mlir_value *value,
                                 hsc__export_node **out_node) {
  hsc__export_node *node = *out_node = new_node(x, shape, value);
  if (!node)
    return hsc_status_out_of_memory();
  for (int i = 0; i < node->count; i++) {
    hsc__export_op op = {.x = x, .name = "stablehlo.get_tuple_element", .operand_count = 1};
    hsc__mlir_value *element;
    hsc__export_node *sub;
    op.operands = hsc_arena_copy(x->arena, &value, sizeof value);
    hsc__export_put(&op, "index", hsc__export_int(x, HSC_TYPE_S32, i));
    HSC_TRY(hsc__export_emit_value(&op, &shape->elements[i], &element));
    HSC_TRY(node_of_value(x, &shape->elements[i], element, &sub));
    node->elements[i] = *sub;
  }
  return NULL;
}

hsc_status *hsc__export_value(hsc__exporter *x,
                              const hsc__export_node *node,
                              const hsc_shape *shape,
                              hsc__mlir_value **out_value) {
  if (node->value) {
    *out_value = node->value;
    return NULL;
  }
  hsc__export_op op = {.x = x, .name = "stablehlo.tuple", .operand_count = node->count};
  op.operands = HSC_NEW_ARRAY(x->arena, hsc__mlir_value *, node->count + 1);
  HSC_TRY(hsc_arena_status(x->arena));
  for (int i = 0; i < node->count; i++)
    HSC_TRY(hsc__export_value(x, &node->elements[i], &shape->elements[i], &op.operands[i]));
  return hsc__export_emit_value(&op, shape, out_value);
}

// The arrays and tokens of a node, depth first.
static void leaves_of(const hsc__export_node *node, hsc__mlir_value **values, int *count) {
  if (!node->is_tuple)
    values[(*count)++] = node->value;
  for (int i = 0; i < node->count; i++)
    leaves_of(&node->elements[i], values, count);
}

static void types_of_leaves(hsc__exporter *x,
                            const hsc_shape *shape,
                            const hsc__mlir_type **types,
                            int *count) {
  if (!hsc_shape_is_tuple(shape))
    types[(*count)++] = hsc__export_type(x, shape);
  for (int i = 0; i < shape->element_count; i++)
    types_of_leaves(x, &shape->elements[i], types, count);
}

static hsc_status *node_of_leaves(hsc__exporter *x,
                                  const hsc_shape *shape,
                                  hsc__mlir_value *values,
                                  int *next,
                                  hsc__export_node **out_node) {
  hsc__export_node *node = *out_node = new_node(x, shape, NULL);
  if (!node)
    return hsc_status_out_of_memory();
  if (!node->is_tuple)
    node->value = &values[(*next)++];
  for (int i = 0; i < node->count; i++) {
    hsc__export_node *sub;
    HSC_TRY(node_of_leaves(x, &shape->elements[i], values, next, &sub));
    node->elements[i] = *sub;
  }
  return NULL;
}

static hsc__export_node *node_of(const hsc__exporter *x, const hsc_instr *instr) {
  return x->nodes[instr->id];
}

// The leaves of operands [first, ...) as operands of the operation.
static hsc_status *flat_operands(hsc__export_op *op, const hsc_instr *instr, int first) {
  int count = 0;
  for (int i = first; i < instr->operand_count; i++)
    count += hsc_shape_leaf_count(&instr->operands[i]->shape);
  op->operands = HSC_NEW_ARRAY(op->x->arena, hsc__mlir_value *, count + 1);
  HSC_TRY(hsc_arena_status(op->x->arena));
  for (int i = first; i < instr->operand_count; i++)
    leaves_of(node_of(op->x, instr->operands[i]), op->operands, &op->operand_count);
  return NULL;
}

// The results are the leaves of the instruction's shape.
static hsc_status *emit_leaves(hsc__export_op *op, const hsc_instr *instr) {
  hsc__exporter *x = op->x;
  int count = 0;
  int next = 0;
  const hsc__mlir_type **types =
      HSC_NEW_ARRAY(x->arena, const hsc__mlir_type *, hsc_shape_leaf_count(&instr->shape) + 1);
  hsc__mlir_op *made;
  if (!types)
    return hsc_status_out_of_memory();
  types_of_leaves(x, &instr->shape, types, &count);
  HSC_TRY(emit(op, count, types, &made));
  return node_of_leaves(x, &instr->shape, made->results, &next, &x->nodes[instr->id]);
}

hsc_status *hsc__export_emit_instr(hsc__export_op *op) {
  hsc__exporter *x = op->x;
  const hsc_shape *shape = &op->instr->shape;
  hsc__mlir_op *made;
  bool several = hsc_shape_is_tuple(shape) && shape->element_count != 1;
  int count = several ? shape->element_count : 1;
  const hsc__mlir_type **types = HSC_NEW_ARRAY(x->arena, const hsc__mlir_type *, count + 1);
  HSC_TRY(hsc_arena_status(x->arena));
  for (int i = 0; i < count; i++)
    types[i] = hsc__export_type(x, several ? &shape->elements[i] : shape);
  HSC_TRY(emit(op, count, types, &made));
  if (!several)
    return node_of_value(x, shape, &made->results[0], &x->nodes[op->instr->id]);
  hsc__export_node *node = x->nodes[op->instr->id] = new_node(x, shape, NULL);
  if (!node)
    return hsc_status_out_of_memory();
  for (int i = 0; i < count; i++) {
    hsc__export_node *sub;
    HSC_TRY(node_of_value(x, &shape->elements[i], &made->results[i], &sub));
    node->elements[i] = *sub;
  }
  return NULL;
}

// ---- computations -------------------------------------------------------------------------------

static hsc_status *export_instr(hsc__exporter *x, const hsc_instr *instr);

// The computation's instructions into the current block; arguments[i] is parameter i.
static hsc_status *export_body(hsc__exporter *x,
                               const hsc_computation *computation,
                               hsc__export_node *const *arguments,
                               hsc__export_node **out_root) {
  if (computation->execution_thread)
    hsc__export_note(x, HSC_EXPORT_THREAD, "execution threads");
  const hsc__mlir_attr *outer = x->location;
  for (const hsc_instr *instr = computation->first; instr; instr = instr->next) {
    if (instr->op == HSC_OP_PARAMETER) {
      x->nodes[instr->id] = arguments[instr->attr.index.value];
      continue;
    }
    const hsc__mlir_attr *location = hsc__export_location(x, instr->metadata);
    x->location = location ? location : outer;
    HSC_TRY(export_instr(x, instr));
    if (!x->nodes[instr->id])
      return hsc_status_out_of_memory();
    if (instr->control_count)
      hsc__export_note(x, HSC_EXPORT_CONTROL, "control dependencies");
    if (hsc_shape_is_array(&instr->shape) && instr->op != HSC_OP_CUSTOM_CALL &&
        !hsc_layout_is_default(&instr->shape))
      hsc__export_note(x, HSC_EXPORT_LAYOUT, "layouts of instructions");
  }
  x->location = outer;
  *out_root = node_of(x, computation->root);
  return NULL;
}

static hsc_status *emit_return(hsc__exporter *x,
                               const char *name,
                               int count,
                               hsc__mlir_value **values) {
  hsc__export_op op = {.x = x, .name = name, .operands = values, .operand_count = count};
  return emit(&op, 0, NULL, NULL);
}

// A new block with the leaves of `shapes` as arguments; the nodes of the shapes are given.
static hsc_status *open_block(hsc__exporter *x,
                              int count,
                              const hsc_shape *const *shapes,
                              hsc__export_block *out_block,
                              hsc__export_node ***out_nodes) {
  int leaves = 0;
  int next = 0;
  hsc__mlir_block *block = HSC_NEW(x->arena, hsc__mlir_block);
  hsc__export_node **nodes = HSC_NEW_ARRAY(x->arena, hsc__export_node *, count + 1);
  for (int i = 0; i < count; i++)
    leaves += hsc_shape_leaf_count(shapes[i]);
  const hsc__mlir_type **types = HSC_NEW_ARRAY(x->arena, const hsc__mlir_type *, leaves + 1);
  if (!block || !nodes || !types)
    return hsc_status_out_of_memory();
  block->arguments = HSC_NEW_ARRAY(x->arena, hsc__mlir_value, leaves + 1);
  HSC_TRY(hsc_arena_status(x->arena));
  int typed = 0;
  for (int i = 0; i < count; i++)
    types_of_leaves(x, shapes[i], types, &typed);
  for (int i = 0; i < leaves; i++)
    block->arguments[i] = (hsc__mlir_value){.type = types[i], .block = block};
  block->argument_count = leaves;
  *out_block = (hsc__export_block){.block = block};
  *out_nodes = nodes;
  x->at = out_block;
  for (int i = 0; i < count; i++)
    HSC_TRY(node_of_leaves(x, shapes[i], block->arguments, &next, &nodes[i]));
  return NULL;
}

static hsc_status *add_region(hsc__export_op *op, hsc__mlir_block *block) {
  hsc__mlir_block **regions = HSC_NEW_ARRAY(op->x->arena, hsc__mlir_block *, op->region_count + 1);
  HSC_TRY(hsc_arena_status(op->x->arena));
  if (op->region_count)
    memcpy(regions, op->regions, (size_t)op->region_count * sizeof *regions);
  regions[op->region_count++] = block;
  op->regions = regions;
  return NULL;
}

// Runs `computation` in a block of its own. With `outside`, the computation sees those nodes
// instead of arguments of the block.
static hsc_status *export_region(hsc__export_op *op,
                                 const hsc_computation *computation,
                                 hsc__export_node *const *outside) {
  hsc__exporter *x = op->x;
  hsc__export_block *saved = x->at;
  hsc__export_block block;
  hsc__export_node **nodes, *root;
  const hsc_shape **shapes =
      HSC_NEW_ARRAY(x->arena, const hsc_shape *, computation->parameter_count + 1);
  HSC_TRY(hsc_arena_status(x->arena));
  for (int i = 0; i < computation->parameter_count; i++)
    shapes[i] = &computation->parameters[i]->shape;
  HSC_TRY(open_block(x, outside ? 0 : computation->parameter_count, shapes, &block, &nodes));
  HSC_TRY(export_body(x, computation, outside ? outside : nodes, &root));
  hsc__mlir_value **values = HSC_NEW_ARRAY(x->arena, hsc__mlir_value *,
                                           hsc_shape_leaf_count(&computation->root->shape) + 1);
  int count = 0;
  if (!values)
    return hsc_status_out_of_memory();
  leaves_of(root, values, &count);
  HSC_TRY(emit_return(x, "stablehlo.return", count, values));
  x->at = saved;
  return add_region(op, block.block);
}

hsc_status *hsc__export_region(hsc__export_op *op, const hsc_computation *computation) {
  return export_region(op, computation, NULL);
}

static hsc_view address_key(const void *const *slot) {
  return (hsc_view){(const char *)slot, sizeof *slot};
}

hsc_status *hsc__export_function(hsc__exporter *x,
                                 const hsc_computation *computation,
                                 const char **out_symbol) {
  const void *address = computation;
  const char *known = hsc_map_get(x->functions, address_key(&address));
  if (known) {
    *out_symbol = known;
    return NULL;
  }
  const char *name = computation->name;
  for (int i = 0;; i++) {
    bool added;
    const char *candidate = i ? hsc_arena_printf(x->arena, "%s_%d", name, i - 1) : name;
    if (!candidate)
      return hsc_status_out_of_memory();
    HSC_TRY(hsc_map_add(x->names, hsc_view_of(candidate), (void *)(uintptr_t)candidate, &added));
    if (!added)
      continue;
    *out_symbol = candidate;
    break;
  }
  const void **key = hsc_arena_copy(x->arena, &address, sizeof address);
  HSC_TRY(hsc_arena_status(x->arena));
  HSC_TRY(hsc_map_put(x->functions, address_key(key), (void *)(uintptr_t)*out_symbol));
  if (!HSC_GROW_IN(x->arena, x->pending, x->pending_count, x->pending_capacity))
    return hsc_arena_status(x->arena);
  x->pending[x->pending_count++] = computation;
  return NULL;
}

// ---- calls and control flow ---------------------------------------------------------------------

static bool called_once(const hsc__exporter *x, const hsc_computation *computation) {
  const void *address = computation;
  return (uintptr_t)hsc_map_get(x->callers, address_key(&address)) <= 1;
}

static hsc_status *inline_call(hsc__exporter *x,
                               const hsc_instr *instr,
                               const hsc_computation *computation,
                               const hsc_instr *caller,
                               hsc__export_node **out_root) {
  hsc__export_node **arguments =
      HSC_NEW_ARRAY(x->arena, hsc__export_node *, caller->operand_count + 1);
  HSC_TRY(hsc_arena_status(x->arena));
  if (computation->parameter_count != caller->operand_count)
    return HSC_EXPORT_ERR(x, instr, "%s: its computation takes other operands",
                          hsc_op_text(instr->op));
  for (int i = 0; i < caller->operand_count; i++)
    arguments[i] = node_of(x, caller->operands[i]);
  return export_body(x, computation, arguments, out_root);
}

static bool has_attributes(const hsc_instr *instr) {
  return instr->sharding || instr->frontend_attributes || instr->backend_config ||
         instr->extra_attributes;
}

// A call that is marked as one, with its name, attributes and version, as the import and XLA write
// it. *out_done false when it is none, or when what it says cannot be read: it is a call then.
static hsc_status *export_composite(hsc__exporter *x, const hsc_instr *instr, bool *out_done) {
  *out_done = false;
  if (instr->op != HSC_OP_CALL || !instr->extra_attributes ||
      strcmp(instr->extra_attributes, "is_composite=true") || !instr->frontend_attributes)
    return NULL;
  const hsc__mlir_attr *dict = hsc__export_frontend(x, instr->frontend_attributes);
  const hsc__mlir_attr *name = NULL;
  const hsc__mlir_attr *attributes = NULL;
  if (!dict)
    return NULL;
  int64_t version = 0;
  hsc__mlir_named *rest = HSC_NEW_ARRAY(x->arena, hsc__mlir_named, dict->count);
  int rest_count = 0;
  if (!rest)
    return hsc_status_out_of_memory();
  for (int i = 0; i < dict->count; i++) {
    const hsc__mlir_named *entry = &dict->entries[i];
    if (hsc_view_equals_text(entry->name, "composite.name")) {
      name = entry->value;
    } else if (hsc_view_equals_text(entry->name, "composite.version")) {
      hsc_view text = entry->value->text;
      if (text.size < 1 || text.size > 9)
        return NULL;
      for (size_t k = 0; k < text.size; k++) {
        if (text.data[k] < '0' || text.data[k] > '9')
          return NULL;
        version = 10 * version + (text.data[k] - '0');
      }
    } else if (hsc_view_equals_text(entry->name, "composite.attributes")) {
      hsc_status *status = hsc__mlir_text_read_attr(entry->value->text, x->arena, &attributes);
      bool read = !status && attributes->kind == HSC_MLIR_DICT;
      hsc_status_free(status);
      if (!read)
        return NULL;
    } else {
      rest[rest_count++] = *entry;
    }
  }
  if (!name)
    return NULL;
  hsc_instr plain = *instr;  // without the marks
  plain.extra_attributes = plain.frontend_attributes = NULL;
  hsc__export_op op = {.x = x, .instr = instr, .name = "stablehlo.composite"};
  const char *symbol;
  HSC_TRY(hsc__export_function(x, instr->called[0], &symbol));
  if (attributes && attributes->count)
    hsc__export_put(&op, "composite_attributes", attributes);
  hsc__export_put(&op, "decomposition", hsc__export_symbol(x, symbol));
  hsc__export_put(&op, "name", name);
  hsc__export_put(&op, "version", hsc__export_int(x, HSC_TYPE_S32, version));
  if (rest_count)
    hsc__export_put(&op, "mhlo.frontend_attributes", hsc__export_dict(x, rest_count, rest));
  HSC_TRY(flat_operands(&op, instr, 0));
  HSC_TRY(hsc__export_discardable(&op, &plain));
  *out_done = true;
  return emit_leaves(&op, instr);
}

static hsc_status *export_call(hsc__exporter *x, const hsc_instr *instr) {
  const hsc_computation *computation = instr->called[0];
  bool composite;
  HSC_TRY(export_composite(x, instr, &composite));
  if (composite)
    return NULL;
  bool fusion = instr->op == HSC_OP_FUSION;
  if (fusion && has_attributes(instr))
    hsc__export_note(x, HSC_EXPORT_GONE,
                     "attributes of copies, fusions and the like, which are no operations of their "
                     "own in StableHLO");
  if (called_once(x, computation) && (fusion || !has_attributes(instr)))
    return inline_call(x, instr, computation, instr, &x->nodes[instr->id]);
  hsc__export_op op = {.x = x, .instr = instr, .name = "func.call"};
  const char *symbol;
  HSC_TRY(hsc__export_function(x, computation, &symbol));
  hsc__export_put(&op, "callee", hsc__export_symbol(x, symbol));
  HSC_TRY(flat_operands(&op, instr, 0));
  if (!fusion)
    HSC_TRY(hsc__export_discardable(&op, instr));
  return emit_leaves(&op, instr);
}

static hsc_status *export_while(hsc__exporter *x, const hsc_instr *instr) {
  hsc__export_op op = {.x = x, .instr = instr, .name = "stablehlo.while"};
  HSC_TRY(flat_operands(&op, instr, 0));
  for (int i = 0; i < 2; i++)
    HSC_TRY(export_region(&op, instr->called[i], NULL));
  HSC_TRY(hsc__export_discardable(&op, instr));
  return emit_leaves(&op, instr);
}

static hsc_status *export_conditional(hsc__exporter *x, const hsc_instr *instr) {
  bool two = instr->operands[0]->shape.type == HSC_TYPE_PRED;
  hsc__export_op op = {
      .x = x, .instr = instr, .name = two ? "stablehlo.if" : "stablehlo.case", .operand_count = 1};
  hsc__mlir_value *selector = node_of(x, instr->operands[0])->value;
  op.operands = hsc_arena_copy(x->arena, &selector, sizeof selector);
  HSC_TRY(hsc_arena_status(x->arena));
  for (int i = 0; i < instr->called_count; i++) {
    hsc__export_node *argument = node_of(x, instr->operands[i + 1]);
    HSC_TRY(export_region(&op, instr->called[i], &argument));
  }
  HSC_TRY(hsc__export_discardable(&op, instr));
  return emit_leaves(&op, instr);
}

static hsc_status *export_barrier(hsc__exporter *x, const hsc_instr *instr) {
  hsc__export_op op = {.x = x, .instr = instr, .name = "stablehlo.optimization_barrier"};
  HSC_TRY(flat_operands(&op, instr, 0));
  if (op.operand_count == 0) {
    x->nodes[instr->id] = node_of(x, instr->operands[0]);
    return NULL;
  }
  HSC_TRY(hsc__export_discardable(&op, instr));
  return emit_leaves(&op, instr);
}

// The start of an asynchronous pair computes; its node is that of the result, which `done` takes.
static hsc_status *export_async(hsc__exporter *x, const hsc_instr *instr) {
  if (instr->op != HSC_OP_ASYNC_START) {
    x->nodes[instr->id] = node_of(x, instr->operands[0]);
    return NULL;
  }
  hsc__export_node *root;
  if (instr->called_count < 1)
    return HSC_EXPORT_ERR(x, instr, "async-start: it calls nothing");
  HSC_TRY(inline_call(x, instr, instr->called[0], instr, &root));
  x->nodes[instr->id] = root;
  return NULL;
}

static hsc_status *export_tuple(hsc__exporter *x, const hsc_instr *instr) {
  hsc__export_node *node = x->nodes[instr->id] = new_node(x, &instr->shape, NULL);
  if (!node)
    return hsc_status_out_of_memory();
  for (int i = 0; i < instr->operand_count; i++)
    node->elements[i] = *node_of(x, instr->operands[i]);
  return NULL;
}

static hsc_status *export_instr(hsc__exporter *x, const hsc_instr *instr) {
  bool done;
  x->instr = instr;
  switch (instr->op) {
    case HSC_OP_TUPLE:
      return export_tuple(x, instr);
    case HSC_OP_GET_TUPLE_ELEMENT: {
      hsc__export_node *tuple = node_of(x, instr->operands[0]);
      if (instr->attr.index.value >= tuple->count)
        return HSC_EXPORT_ERR(x, instr, "get-tuple-element: an element of a pending result");
      x->nodes[instr->id] = &tuple->elements[instr->attr.index.value];
      return NULL;
    }
    case HSC_OP_COPY:
    case HSC_OP_COPY_DONE:
    case HSC_OP_ADD_DEPENDENCY:
    case HSC_OP_DOMAIN:
    case HSC_OP_COPY_START:
    case HSC_OP_ALL_GATHER_DONE:
    case HSC_OP_ALL_REDUCE_DONE:
    case HSC_OP_COLLECTIVE_PERMUTE_DONE:
      x->nodes[instr->id] = node_of(x, instr->operands[0]);
      if (has_attributes(instr))
        hsc__export_note(x, HSC_EXPORT_GONE,
                         "attributes of copies, fusions and the like, which are no operations of "
                         "their own in StableHLO");
      return NULL;
    case HSC_OP_CALL:
    case HSC_OP_FUSION:
      return export_call(x, instr);
    case HSC_OP_WHILE:
      return export_while(x, instr);
    case HSC_OP_CONDITIONAL:
      return export_conditional(x, instr);
    case HSC_OP_OPT_BARRIER:
      return export_barrier(x, instr);
    case HSC_OP_ASYNC_START:
    case HSC_OP_ASYNC_UPDATE:
    case HSC_OP_ASYNC_DONE:
      return export_async(x, instr);
    default:
      break;
  }
  HSC_TRY(hsc__export_plain(x, instr, &done));
  return done ? NULL
              : HSC_EXPORT_ERR(x, instr, "%s: there is no such operation in StableHLO",
                               hsc_op_text(instr->op));
}

// ---- functions and the module -------------------------------------------------------------------

static hsc_status *export_function(hsc__exporter *x,
                                   hsc__export_block *module_block,
                                   const hsc_computation *computation,
                                   const char *symbol,
                                   bool is_entry) {
  hsc__export_block block;
  hsc__export_node **nodes, *root;
  const hsc_shape **shapes =
      HSC_NEW_ARRAY(x->arena, const hsc_shape *, computation->parameter_count + 1);
  const hsc_shape *result = &computation->root->shape;
  if (!shapes)
    return hsc_status_out_of_memory();
  x->location = NULL;
  for (int i = 0; i < computation->parameter_count; i++)
    shapes[i] = &computation->parameters[i]->shape;
  HSC_TRY(open_block(x, computation->parameter_count, shapes, &block, &nodes));
  HSC_TRY(export_body(x, computation, nodes, &root));
  int count = 0;
  hsc__mlir_value **values = HSC_NEW_ARRAY(
      x->arena, hsc__mlir_value *, hsc_shape_leaf_count(result) + result->element_count + 1);
  HSC_TRY(hsc_arena_status(x->arena));
  leaves_of(root, values, &count);
  HSC_TRY(emit_return(x, "func.return", count, values));
  hsc__mlir_type *type = HSC_NEW(x->arena, hsc__mlir_type);
  HSC_TRY(hsc_arena_status(x->arena));
  type->kind = HSC_MLIR_FUNCTION;
  type->input_count = block.block->argument_count;
  type->element_count = type->input_count + count;
  type->elements = HSC_NEW_ARRAY(x->arena, const hsc__mlir_type *, type->element_count + 1);
  HSC_TRY(hsc_arena_status(x->arena));
  for (int i = 0; i < type->input_count; i++)
    type->elements[i] = block.block->arguments[i].type;
  for (int i = 0; i < count; i++)
    type->elements[type->input_count + i] = values[i]->type;
  x->at = module_block;
  x->location = NULL;
  hsc__export_op op = {.x = x, .name = "func.func"};
  if (is_entry)
    HSC_TRY(hsc__export_argument_attrs(x, computation, &op));
  if (is_entry)
    hsc__export_result_attrs(x, computation->root, count, &op);
  hsc__export_put(&op, "function_type", hsc__export_type_attr(x, type));
  hsc__export_put(&op, "sym_name", hsc__export_text(x, hsc_view_of(symbol)));
  hsc__export_put(&op, "sym_visibility",
                  hsc__export_text(x, hsc_view_of(is_entry ? "public" : "private")));
  HSC_TRY(add_region(&op, block.block));
  return emit(&op, 0, NULL, NULL);
}

static hsc_status *count_callers(hsc__exporter *x) {
  HSC_FOR_EACH_COMPUTATION (x->module, computation)
    for (const hsc_instr *instr = computation->first; instr; instr = instr->next)
      for (int i = 0; i < instr->called_count; i++) {
        const void *address = instr->called[i];
        const void **key = hsc_arena_copy(x->arena, &address, sizeof address);
        HSC_TRY(hsc_arena_status(x->arena));
        HSC_TRY(
            hsc_map_put(x->callers, address_key(key),
                        (void *)((uintptr_t)hsc_map_get(x->callers, address_key(&address)) + 1)));
      }
  return NULL;
}

static hsc_status *put_entry_shapes(hsc__exporter *x, hsc__export_op *op) {
  const hsc_computation *entry = x->module->entry;
  const hsc_shape *result = &entry->root->shape;
  bool plain = !hsc_shape_is_tuple(result) || result->element_count != 1;
  for (int i = 0; i < result->element_count; i++)
    plain &= !hsc_shape_is_tuple(&result->elements[i]);
  for (int i = 0; i < entry->parameter_count; i++)
    plain &= !hsc_shape_is_tuple(&entry->parameters[i]->shape);
  if (plain)
    return NULL;
  hsc_bytes text = {0};
  hsc_bytes_append_text(&text, "{(");
  for (int i = 0; i < entry->parameter_count; i++) {
    if (i)
      hsc_bytes_append_text(&text, ", ");
    hsc_shape_print(&entry->parameters[i]->shape, false, &text);
  }
  hsc_bytes_append_text(&text, ")->");
  hsc_shape_print(result, false, &text);
  hsc_bytes_append_char(&text, '}');
  hsc_status *status = hsc_bytes_status(&text);
  if (!status)
    hsc__export_put(op, HSC__ENTRY_SHAPES, hsc__export_text(x, hsc_bytes_view(&text)));
  hsc_bytes_deinit(&text);
  return status;
}

static hsc_status *export_module(hsc__exporter *x, hsc__mlir_op **out_top) {
  const hsc_module *m = x->module;
  hsc__mlir_block *body = HSC_NEW(x->arena, hsc__mlir_block);
  hsc__mlir_block *outer = HSC_NEW(x->arena, hsc__mlir_block);
  bool added;
  if (!body || !outer)
    return hsc_status_out_of_memory();
  hsc__export_block module_block = {.block = body};
  hsc__export_block outer_block = {.block = outer};
  HSC_TRY(count_callers(x));
  HSC_TRY(hsc_map_add(x->names, HSC_VIEW("main"), (void *)(uintptr_t)"main", &added));
  HSC_TRY(export_function(x, &module_block, m->entry, "main", true));
  for (int i = 0; i < x->pending_count; i++) {
    const char *symbol;
    HSC_TRY(hsc__export_function(x, x->pending[i], &symbol));
    HSC_TRY(export_function(x, &module_block, x->pending[i], symbol, false));
  }
  x->at = &outer_block;
  hsc__export_op op = {.x = x, .name = "builtin.module"};
  hsc__export_put(&op, "sym_name", hsc__export_text(x, hsc_view_of(m->name)));
  hsc__export_put(&op, "mhlo.num_partitions",
                  hsc__export_int(x, HSC_TYPE_S32, m->num_partitions < 1 ? 1 : m->num_partitions));
  hsc__export_put(&op, "mhlo.num_replicas",
                  hsc__export_int(x, HSC_TYPE_S32, m->replica_count < 1 ? 1 : m->replica_count));
  HSC_TRY(put_entry_shapes(x, &op));
  if (m->extra_attributes)
    hsc__export_note(x, HSC_EXPORT_HEADER, "attributes of the module's header");
  if (m->is_scheduled)
    hsc__export_note(x, HSC_EXPORT_SCHEDULE, "the schedule");
  HSC_TRY(add_region(&op, body));
  return emit(&op, 0, NULL, out_top);
}

hsc_status *hsc__stablehlo_export(const hsc_module *module,
                                  bool chlo,
                                  hsc_arena *arena,
                                  hsc_bytes *notes,
                                  hsc__mlir_op **out_top) {
  hsc__exporter x = {.module = module, .arena = arena, .chlo = chlo, .notes = notes};
  hsc_status *status = NULL;
  *out_top = NULL;
  x.nodes = HSC_NEW_ARRAY(arena, hsc__export_node *, module->next_id + 1);
  if (!x.nodes || !module->entry)
    HSC_GOTO(module->entry ? hsc_status_out_of_memory()
                           : HSC_ERR(INVALID_ARGUMENT, "the module has no entry computation"));
  HSC_GOTO(hsc_map_create(&x.functions));
  HSC_GOTO(hsc_map_create(&x.names));
  HSC_GOTO(hsc_map_create(&x.callers));
  HSC_GOTO(hsc_map_create(&x.locations));
  HSC_GOTO(export_module(&x, out_top));
  HSC_GOTO(hsc_arena_status(arena));
done:
  hsc_map_destroy(x.functions);
  hsc_map_destroy(x.names);
  hsc_map_destroy(x.callers);
  hsc_map_destroy(x.locations);
  return status;
}
