// sdy_local.c - a partition's part of a whole array: from parts of the operands where the operation
// allows it, so that each device does its share only; else the whole is computed everywhere and
// cut.
#include "formats/shardy/sdy_layout.h"

enum { DEEPEST = 400 };  // of operations that are followed back; beyond it the whole is cut

static bool divides(const hsc__layout *layout, const hsc_shape *shape) {
  for (int d = 0; d < shape->rank && d < layout->rank; d++)
    if (layout->counts[d] && shape->dims[d] % hsc__layout_pieces(layout, d))
      return false;
  return true;
}

hsc_status *hsc__sdy_local_shape(hsc__importer *im,
                                 const hsc__mlir_op *op,
                                 const hsc__layout *layout,
                                 const hsc_shape *whole,
                                 hsc_shape *out) {
  int64_t dims[HSC_MAX_RANK];
  for (int d = 0; d < whole->rank; d++) {
    int64_t count = layout->is_cut ? hsc__layout_pieces(layout, d) : 1;
    if (whole->dims[d] % count)
      return HSC_OP_ERR(UNIMPLEMENTED, im, op,
                        "%s: not built yet: dimension %d of size %lld in %lld unequal parts",
                        op->written_name, d, (long long)whole->dims[d], (long long)count);
    dims[d] = whole->dims[d] / count;
  }
  *out = hsc_shape_array(im->module->arena, whole->type, whole->rank, dims);
  return hsc_arena_status(im->module->arena);
}

// This partition's number in a table.
static hsc_status *look_up(hsc__importer *im,
                           hsc_builder *b,
                           hsc_literal *table,
                           hsc_instr **in_out_pid,
                           hsc_instr **out) {
  if (!*in_out_pid)
    HSC_TRY(hsc__sdy_made(im, *in_out_pid = hsc_build(b, HSC_OP_PARTITION_ID,
                                                      hsc_shape_scalar(HSC_TYPE_U32), 0, NULL)));
  hsc_instr *constant = hsc_build_constant(b, table);
  hsc_instr *one =
      hsc_build_dynamic_slice(b, constant, 1, in_out_pid, HSC_DIMS(im->module->arena, 1));
  *out = hsc_build_reshape(b, one, 0, NULL);
  HSC_TRY(hsc__sdy_made(im, constant));
  HSC_TRY(hsc__sdy_made(im, one));
  return hsc__sdy_made(im, *out);
}

static hsc_status *new_table(hsc__importer *im,
                             const hsc__mesh *mesh,
                             hsc_type type,
                             hsc_literal **out) {
  hsc_shape shape = hsc_shape_array(im->module->arena, type, 1, &mesh->device_count);
  return hsc_literal_create(im->module->arena, &shape, out);
}

// Where this partition's part begins in a dimension.
static hsc_status *start_of(hsc__importer *im,
                            hsc_builder *b,
                            const hsc__layout *layout,
                            int dim,
                            int64_t part_size,
                            hsc_instr **in_out_pid,
                            hsc_instr **out) {
  hsc_literal *table;
  HSC_TRY(new_table(im, layout->mesh, HSC_TYPE_S32, &table));
  for (int64_t place = 0; place < layout->mesh->device_count; place++) {
    int64_t at[HSC__MOST_AXES];
    hsc__mesh_coordinates(layout->mesh, place, at);
    hsc_literal_set_int(table, hsc__mesh_partition(layout->mesh, place),
                        hsc__layout_piece_of(layout, dim, at) * part_size);
  }
  return look_up(im, b, table, in_out_pid, out);
}

// An addend of an array that is there whole: the first device along the unreduced axes has all of
// it, the others zeros.
static hsc_status *addend_of(hsc__importer *im,
                             hsc_builder *b,
                             const hsc__layout *layout,
                             hsc_instr *value,
                             hsc_instr **out) {
  hsc_literal *table;
  hsc_instr *pid = NULL;
  hsc_instr *first;
  HSC_TRY(new_table(im, layout->mesh, HSC_TYPE_PRED, &table));
  for (int64_t place = 0; place < layout->mesh->device_count; place++) {
    int64_t at[HSC__MOST_AXES];
    bool is_first = true;
    hsc__mesh_coordinates(layout->mesh, place, at);
    for (int a = 0; a < layout->mesh->axis_count; a++)
      if (layout->unreduced >> a & 1)
        is_first &= at[a] == 0;
    hsc_literal_set_int(table, hsc__mesh_partition(layout->mesh, place), is_first);
  }
  HSC_TRY(look_up(im, b, table, &pid, &first));
  hsc_instr *zeros = hsc_build_broadcast(b, hsc_build_scalar(b, value->shape.type, 0), value->shape,
                                         (hsc_dims){0, NULL});
  hsc_shape pred =
      hsc_shape_array(im->module->arena, HSC_TYPE_PRED, value->shape.rank, value->shape.dims);
  *out =
      hsc_build_select(b, hsc_build_broadcast(b, first, pred, (hsc_dims){0, NULL}), value, zeros);
  return NULL;
}

static hsc_status *cut(hsc__importer *im,
                       hsc_builder *b,
                       const hsc__layout *layout,
                       hsc_instr *whole,
                       const hsc_shape *local,
                       hsc_instr **out) {
  hsc_instr *zero = NULL;
  hsc_instr *pid = NULL;
  hsc_instr *starts[HSC_MAX_RANK];
  for (int d = 0; d < whole->shape.rank; d++) {
    if (layout->counts[d]) {
      HSC_TRY(start_of(im, b, layout, d, local->dims[d], &pid, &starts[d]));
      continue;
    }
    if (!zero)
      HSC_TRY(hsc__sdy_made(im, zero = hsc_build_scalar(b, HSC_TYPE_S32, 0)));
    starts[d] = zero;
  }
  *out = hsc_build_dynamic_slice(b, whole, whole->shape.rank, starts,
                                 hsc_dims_copy(im->module->arena, local->rank, local->dims));
  return hsc__sdy_made(im, *out);
}

// ---- operations on parts ------------------------------------------------------------------------

static hsc_instr *part_of(const hsc_instr *instr, const hsc__layout *layout) {
  const hsc__whole *whole = instr->scratch;
  for (const hsc__part *p = whole ? whole->parts : NULL; p; p = p->next)
    if (hsc__layout_same(&p->layout, layout))
      return p->local;
  return NULL;
}

// Sizes among the attributes follow the part's shape.
static hsc_attr local_attr(hsc__importer *im,
                           const hsc_instr *instr,
                           const hsc__layout *layout,
                           const hsc_shape *local,
                           hsc_instr *const *operands) {
  hsc_attr attr = instr->attr;
  hsc_arena *arena = im->module->arena;
  int64_t values[HSC_MAX_RANK];
  switch (instr->op) {
    case HSC_OP_SLICE:
      for (int d = 0; d < local->rank; d++)
        values[d] = layout->counts[d] ? local->dims[d] : attr.slice.limit.v[d];
      attr.slice.limit = hsc_dims_copy(arena, local->rank, values);
      break;
    case HSC_OP_DYNAMIC_SLICE:
      attr.slice_sizes.sizes = hsc_dims_copy(arena, local->rank, local->dims);
      break;
    case HSC_OP_GATHER:
      for (int e = 0; e < attr.gather.slice_sizes.count; e++) {
        bool full = attr.gather.slice_sizes.v[e] == instr->operands[0]->shape.dims[e];
        values[e] = full ? operands[0]->shape.dims[e] : attr.gather.slice_sizes.v[e];
      }
      attr.gather.slice_sizes = hsc_dims_copy(arena, attr.gather.slice_sizes.count, values);
      break;
    case HSC_OP_CONVOLUTION:  // groups of features are cut as the features are
      if (attr.conv.feature_groups > 1)
        attr.conv.feature_groups = attr.conv.feature_groups *
                                   operands[0]->shape.dims[attr.conv.dims.input_feature] /
                                   instr->operands[0]->shape.dims[attr.conv.dims.input_feature];
      break;
    case HSC_OP_CUSTOM_CALL: {  // layouts of the parts
      hsc_shape *layouts = HSC_NEW_ARRAY(arena, hsc_shape, attr.custom.operand_layout_count + 1);
      for (int i = 0; layouts && i < attr.custom.operand_layout_count && i < instr->operand_count;
           i++) {
        layouts[i] = operands[i]->shape;
        layouts[i].layout = attr.custom.operand_layouts[i].layout;
      }
      if (layouts && attr.custom.operand_layouts)
        attr.custom.operand_layouts = layouts;
      break;
    }
    default:
      break;
  }
  return attr;
}

// Groups of features stay whole, and neighbours have the rows that windows reach into.
static bool convolves_on_parts(const hsc_instr *conv,
                               const hsc__layout *result,
                               const hsc__layout *input) {
  int feature = (int)conv->attr.conv.dims.output_feature;
  int64_t groups = conv->attr.conv.feature_groups;
  bool whole_groups =
      groups <= 1 || !result->counts[feature] || groups % hsc__layout_pieces(result, feature) == 0;
  return whole_groups && hsc__sdy_halos_fit(conv, input);
}

static hsc_status *local_of(hsc__importer *im,
                            hsc_builder *b,
                            const hsc__mlir_op *op,
                            const hsc__layout *layout,
                            hsc_instr *whole,
                            int depth,
                            hsc_instr **out);

// The results of an operation, one or those of a tuple.
typedef struct result_shapes {
  int count;
  const hsc_shape *shapes;
} result_shapes;

static result_shapes results_of(const hsc_instr *instr) {
  if (hsc_shape_is_tuple(&instr->shape))
    return (result_shapes){instr->shape.element_count, instr->shape.elements};
  return (result_shapes){1, &instr->shape};
}

// Whether the rule lets the dimensions that the layout cuts be cut, into pieces of equal sizes.
static bool cuts_evenly(const hsc__sdy_rule *rule, const hsc__layout *layout, result_shapes r) {
  for (int d = 0; d < layout->rank; d++) {
    if (!layout->counts[d])
      continue;
    if (!rule->splits[d])
      return false;
    for (int i = 0; i < r.count; i++)
      if (!hsc_shape_is_array(&r.shapes[i]) || d >= r.shapes[i].rank ||
          r.shapes[i].dims[d] % hsc__layout_pieces(layout, d))
        return false;
  }
  return true;
}

// How operand i must lie for the result to come out in `layout`: a dimension that the rule links to
// a dimension of the result is cut as that one is, the others are whole.
static hsc__layout layout_of_operand(const hsc__sdy_rule *rule,
                                     const hsc__layout *layout,
                                     int i,
                                     int rank) {
  hsc__layout needed = {.rank = rank};
  for (int e = 0; e < rank; e++) {
    int d = rule->links[i][e];
    if (d < 0 || d >= layout->rank || !layout->counts[d])
      continue;
    needed.mesh = layout->mesh;
    needed.is_cut = true;
    needed.counts[e] = layout->counts[d];
    memcpy(needed.axes[e], layout->axes[d], sizeof needed.axes[e]);
  }
  return needed;
}

// An iota counts from 0 in each part: what comes before the part is added.
static hsc_status *iota_from_start(hsc__importer *im,
                                   hsc_builder *b,
                                   const hsc__layout *layout,
                                   int dim,
                                   const hsc_shape *part,
                                   hsc_instr **in_out_iota) {
  hsc_instr *pid = NULL;
  hsc_instr *start;
  HSC_TRY(start_of(im, b, layout, dim, part->dims[dim], &pid, &start));
  hsc_instr *converted = hsc_build_convert(b, part->type, start);
  hsc_instr *everywhere = hsc_build_broadcast(b, converted, *part, (hsc_dims){0, NULL});
  *in_out_iota = hsc_build_binary(b, HSC_OP_ADD, *in_out_iota, everywhere);
  return NULL;
}

// The operation on parts; *out stays NULL where it cannot be done so. `layout` is that of the
// result, or of the first dimensions of several results.
static hsc_status *on_parts(hsc__importer *im,
                            hsc_builder *b,
                            const hsc__mlir_op *op,
                            const hsc__layout *layout,
                            hsc_instr *instr,
                            int depth,
                            hsc_instr **out) {
  hsc__sdy_rule rule;
  HSC_TRY(hsc__sdy_rule_of(im->arena, instr, &rule));
  result_shapes results = results_of(instr);
  bool several = hsc_shape_is_tuple(&instr->shape);
  if (!rule.known || (instr->op == HSC_OP_COPY && several) || !cuts_evenly(&rule, layout, results))
    return NULL;
  hsc__layout *needed = HSC_NEW_ARRAY(im->arena, hsc__layout, instr->operand_count + 1);
  hsc_instr **operands = HSC_NEW_ARRAY(im->arena, hsc_instr *, instr->operand_count + 1);
  hsc_shape *locals = HSC_NEW_ARRAY(im->arena, hsc_shape, results.count + 1);
  if (!needed || !operands || !locals)
    return hsc_status_out_of_memory();
  for (int i = 0; i < instr->operand_count; i++) {
    const hsc_shape *shape = &instr->operands[i]->shape;
    needed[i] = layout_of_operand(&rule, layout, i, shape->rank);
    if (!divides(&needed[i], shape))
      return NULL;
  }
  if (instr->op == HSC_OP_CONVOLUTION && !convolves_on_parts(instr, layout, &needed[0]))
    return NULL;
  for (int i = 0; i < instr->operand_count; i++)
    HSC_TRY(local_of(im, b, op, &needed[i], instr->operands[i], depth + 1, &operands[i]));
  if (instr->op == HSC_OP_COPY) {  // a constraint, which leaves nothing behind
    *out = operands[0];
    return NULL;
  }
  for (int i = 0; i < results.count; i++) {
    hsc__layout of_result = *layout;
    of_result.rank = results.shapes[i].rank;
    HSC_TRY(hsc__sdy_local_shape(im, op, &of_result, &results.shapes[i], &locals[i]));
    if (instr->op == HSC_OP_CUSTOM_CALL)
      locals[i].layout = results.shapes[i].layout;
  }
  hsc_shape shape = several ? hsc_shape_tuple(im->module->arena, results.count, locals) : locals[0];
  hsc_attr attr = local_attr(im, instr, layout, &locals[0], operands);
  if (instr->op == HSC_OP_CONVOLUTION)
    HSC_TRY(hsc__sdy_add_halos(im, b, &needed[0], &attr, &operands[0]));
  hsc_instr *made = hsc_build_op(b, instr->op, shape, &attr, instr->operand_count, operands,
                                 instr->called_count, instr->called);
  made->frontend_attributes = instr->frontend_attributes;
  made->backend_config = instr->backend_config;
  made->extra_attributes = instr->extra_attributes;
  made->metadata = instr->metadata;
  if (instr->op == HSC_OP_IOTA && layout->counts[attr.dims.dims.v[0]])
    HSC_TRY(iota_from_start(im, b, layout, (int)attr.dims.dims.v[0], &shape, &made));
  *out = made;
  return NULL;
}

// ---- loops --------------------------------------------------------------------------------------

// The instructions of a loop's computation once more, over `wholes` in place of the elements of its
// parameter: made[i] is what instruction i became. The tuple at the root is left to the caller.
// Facts about layouts go along with what they are about.
static hsc_status *clone_over(hsc__importer *im,
                              hsc_builder *b,
                              const hsc_computation *from,
                              hsc_instr *const *wholes,
                              hsc_instr **made) {
  int number = 0;
  HSC_FOR_EACH_INSTR_IN (from, instr)
    instr->index = number++;
  HSC_FOR_EACH_INSTR_IN (from, instr) {
    hsc_instr **operands = HSC_NEW_ARRAY(im->arena, hsc_instr *, instr->operand_count + 1);
    if (!operands)
      return hsc_status_out_of_memory();
    for (int i = 0; i < instr->operand_count; i++)
      operands[i] = made[instr->operands[i]->index];
    if (instr->op == HSC_OP_PARAMETER)
      continue;
    if (instr->op == HSC_OP_GET_TUPLE_ELEMENT && instr->operands[0]->op == HSC_OP_PARAMETER) {
      made[instr->index] = wholes[instr->attr.index.value];
      continue;
    }
    if (instr->op == HSC_OP_TUPLE && instr == from->root)
      break;
    made[instr->index] = hsc_build_clone(b, instr, operands);
    hsc__whole *known = instr->scratch;
    hsc__whole *whole;
    if (!made[instr->index])
      return hsc_status_out_of_memory();
    if (!known)
      continue;
    HSC_TRY(hsc__whole_of(im, made[instr->index], &whole));
    whole->layouts = known->layouts;
  }
  return NULL;
}

// A computation over parts: its parameter has the shapes of the parts, its root (of the body) gives
// such parts again.
static hsc_status *divide_computation(hsc__importer *im,
                                      const hsc__mlir_op *op,
                                      const hsc_computation *from,
                                      const hsc__layout *layouts,
                                      const hsc_shape *parts,
                                      bool is_body,
                                      bool *out_gathers,
                                      hsc_computation **out) {
  hsc_builder b;
  hsc_status *status = NULL;
  int count = parts->element_count;
  hsc_instr **made = HSC_NEW_ARRAY(im->arena, hsc_instr *, from->instr_count + 1);
  hsc_instr **elements = HSC_NEW_ARRAY(im->arena, hsc_instr *, count + 1);
  hsc_instr **wholes = HSC_NEW_ARRAY(im->arena, hsc_instr *, count + 1);
  hsc_instr *root = NULL;
  if (!made || !elements || !wholes)
    return hsc_status_out_of_memory();
  hsc_builder_init(&b, im->module, from->name);
  hsc_instr *parameter = hsc_build_parameter(&b, 0, *parts, "parts");
  for (int i = 0; i < count; i++) {
    elements[i] = wholes[i] = hsc_build_get_tuple_element(&b, parameter, i);
    if (layouts[i].is_cut)
      HSC_GOTO(hsc__sdy_gather(im, &b, &layouts[i], elements[i], &wholes[i]));
  }
  HSC_GOTO(clone_over(im, &b, from, wholes, made));
  if (is_body) {
    for (int i = 0; i < count; i++)
      HSC_GOTO(hsc__sdy_local(im, &b, op, &layouts[i], made[from->root->operands[i]->index],
                              &elements[i]));
    root = hsc_build_tuple(&b, count, elements);
  } else {
    root = made[from->root->index];
  }
done:
  if (status) {
    hsc_status_free(hsc_builder_finish(&b, NULL, out));
    return status;
  }
  HSC_TRY(hsc_builder_finish(&b, root, out));
  hsc__sdy_sweep(im, *out);
  *out_gathers = false;
  for (int i = 0; i < count; i++)
    *out_gathers |= layouts[i].is_cut && wholes[i]->parent == *out;
  for (int i = 0; i < count; i++)
    wholes[i] = wholes[i]->parent == *out ? wholes[i] : NULL;
  if (*out_gathers)  // what the loop needs whole is better whole from the start
    for (int i = 0; i < count; i++)
      if (layouts[i].is_cut && wholes[i])
        ((hsc__layout *)(uintptr_t)layouts)[i] = (hsc__layout){.rank = layouts[i].rank};
  return NULL;
}

static bool plain_loop(const hsc_instr *loop) {
  const hsc_shape *shape = &loop->shape;
  const hsc_computation *body = loop->called[1];
  if (!hsc_shape_is_tuple(shape) || loop->operands[0]->op != HSC_OP_TUPLE ||
      body->root->op != HSC_OP_TUPLE || loop->called[0]->root->op == HSC_OP_PARAMETER)
    return false;
  for (int i = 0; i < shape->element_count; i++)
    if (!hsc_shape_is_array(&shape->elements[i]))
      return false;
  for (int c = 0; c < 2; c++)
    HSC_FOR_EACH_INSTR_IN (loop->called[c], instr) {
      if (hsc_instr_has_effect(instr))
        return false;
      for (int i = 0; i < instr->operand_count; i++)
        if (instr->operands[i]->op == HSC_OP_PARAMETER && instr->op != HSC_OP_GET_TUPLE_ELEMENT)
          return false;
    }
  return true;
}

// The loop over parts of its values, one of them cut as is wanted, the others as goes with it; *out
// NULL where some must be whole inside it.
static hsc_status *divide_loop(hsc__importer *im,
                               hsc_builder *b,
                               const hsc__mlir_op *op,
                               hsc_instr *loop,
                               int64_t wanted,
                               const hsc__layout *wanted_layout,
                               int depth,
                               hsc_instr **out) {
  hsc__whole *known = loop->scratch;
  int count = loop->shape.element_count;
  *out = NULL;
  if (!known->layouts || !plain_loop(loop))
    return NULL;
  hsc__layout *layouts = hsc_arena_copy(im->arena, known->layouts, sizeof *layouts * (size_t)count);
  hsc_shape *shapes = HSC_NEW_ARRAY(im->module->arena, hsc_shape, count + 1);
  hsc_instr **begin = HSC_NEW_ARRAY(im->arena, hsc_instr *, count + 1);
  hsc_computation *body = NULL;
  hsc_computation *condition = NULL;
  if (!layouts || !shapes || !begin)
    return hsc_status_out_of_memory();
  layouts[wanted] = *wanted_layout;
  HSC_TRY(hsc__sdy_loop_layouts(im, loop, layouts));
  for (int round = 0; round < 4; round++) {
    bool any = false;
    bool body_gathers = false;
    bool condition_gathers = false;
    for (int i = 0; i < count; i++) {
      any |= layouts[i].is_cut;
      HSC_TRY(hsc__sdy_local_shape(im, op, &layouts[i], &loop->shape.elements[i], &shapes[i]));
    }
    if (!any)
      return NULL;
    hsc_shape parts = hsc_shape_tuple(im->module->arena, count, shapes);
    HSC_TRY(divide_computation(im, op, loop->called[0], layouts, &parts, false, &condition_gathers,
                               &condition));
    HSC_TRY(
        divide_computation(im, op, loop->called[1], layouts, &parts, true, &body_gathers, &body));
    if (condition_gathers || body_gathers)
      continue;
    for (int i = 0; i < count; i++)
      HSC_TRY(
          local_of(im, b, op, &layouts[i], loop->operands[0]->operands[i], depth + 1, &begin[i]));
    *out = hsc_build_while(b, condition, body, hsc_build_tuple(b, count, begin));
    known->layouts = layouts;
    return hsc__sdy_divided(im, loop);
  }
  return NULL;
}

// An element of what gives several.
static hsc_status *element_on_parts(hsc__importer *im,
                                    hsc_builder *b,
                                    const hsc__mlir_op *op,
                                    const hsc__layout *layout,
                                    hsc_instr *element,
                                    int depth,
                                    hsc_instr **out) {
  hsc_instr *from = element->operands[0];
  int64_t index = element->attr.index.value;
  if ((from->op == HSC_OP_OPT_BARRIER || from->op == HSC_OP_TUPLE) && from->operand_count > index &&
      hsc_shape_equal(&from->operands[index]->shape, &element->shape))
    return local_of(im, b, op, layout, from->operands[index], depth + 1, out);
  if (from->op == HSC_OP_WHILE) {
    hsc__whole *loop = NULL;
    HSC_TRY(hsc__whole_of(im, from, &loop));
    if (!loop->was_tried) {
      loop->was_tried = true;
      HSC_TRY(divide_loop(im, b, op, from, index, layout, depth, &loop->divided));
    }
    if (loop->divided && hsc__layout_same(&loop->layouts[index], layout))
      *out = hsc_build_get_tuple_element(b, loop->divided, index);
    return NULL;
  }
  hsc__layout common = *layout;
  while (common.rank > 0 && !common.counts[common.rank - 1])
    common.rank--;
  hsc_instr *all = part_of(from, &common);
  if (!all) {
    HSC_TRY(on_parts(im, b, op, &common, from, depth, &all));
    if (!all)
      return NULL;
    HSC_TRY(hsc__whole_add_part(im, from, &common, all));
  }
  *out = hsc_build_get_tuple_element(b, all, index);
  return NULL;
}

// An addend on each device: of the value as it is cut but for the sum.
static hsc_status *unreduced_of(hsc__importer *im,
                                hsc_builder *b,
                                const hsc__mlir_op *op,
                                const hsc__layout *layout,
                                hsc_instr *whole,
                                int depth,
                                hsc_instr **out) {
  hsc_instr *made = NULL;
  hsc__layout reduced = *layout;
  reduced.unreduced = 0;
  reduced.is_cut = false;
  for (int d = 0; d < layout->rank; d++)
    reduced.is_cut |= layout->counts[d] > 0;
  HSC_TRY(local_of(im, b, op, &reduced, whole, depth, &made));
  return addend_of(im, b, layout, made, out);
}

// The operation that makes the value, done on parts; *out stays NULL where it cannot be.
static hsc_status *made_on_parts(hsc__importer *im,
                                 hsc_builder *b,
                                 const hsc__mlir_op *op,
                                 const hsc__layout *layout,
                                 hsc_instr *whole,
                                 int depth,
                                 hsc_instr **out) {
  const hsc__whole *facts = whole->scratch;
  if (facts && facts->sum) {  // its addends are there already, from operands cut as they are
    hsc_shape piece;
    HSC_TRY(hsc__sdy_local_shape(im, op, layout, &whole->shape, &piece));
    return cut(im, b, layout, facts->sum, &piece, out);
  }
  if (whole->op == HSC_OP_GET_TUPLE_ELEMENT)
    return element_on_parts(im, b, op, layout, whole, depth, out);
  return hsc_shape_is_array(&whole->shape) ? on_parts(im, b, op, layout, whole, depth, out) : NULL;
}

// The part of `whole` that `layout` gives a device, in the order of what is cheapest: the value
// itself, a part that is known, the operation on parts, and where nothing else works a slice of the
// whole. What was made is remembered, as long as it is of the computation that is being built.
static hsc_status *local_of(hsc__importer *im,
                            hsc_builder *b,
                            const hsc__mlir_op *op,
                            const hsc__layout *layout,
                            hsc_instr *whole,
                            int depth,
                            hsc_instr **out) {
  const hsc__whole *facts = whole->scratch;
  bool is_here = whole->parent == b->computation;
  *out = whole;
  if (!layout->is_cut) {
    if (facts && facts->sum && is_here)
      *out = facts->sum;
    else if (whole->op == HSC_OP_COPY && facts && facts->is_fixed)
      *out = whole->operands[0];
    return NULL;
  }
  hsc_instr *made = is_here ? part_of(whole, layout) : NULL;
  if (made) {
    *out = made;
    return NULL;
  }
  if (layout->unreduced && whole->op == HSC_OP_COPY && is_here)
    made = part_of(whole->operands[0], layout);  // addends as they come from a reduction
  if (layout->unreduced && !made)
    HSC_TRY(unreduced_of(im, b, op, layout, whole, depth, &made));
  else if (!made && is_here && depth < DEEPEST && divides(layout, &whole->shape))
    HSC_TRY(made_on_parts(im, b, op, layout, whole, depth, &made));
  if (!made) {
    hsc_shape local;
    HSC_TRY(hsc__sdy_local_shape(im, op, layout, &whole->shape, &local));
    HSC_TRY(cut(im, b, layout, whole, &local, &made));
  }
  *out = made;
  return is_here ? hsc__whole_add_part(im, whole, layout, made) : NULL;
}

// ---- reductions ---------------------------------------------------------------------------------

// Sums of products over dimensions that both operands have.
static bool is_product(const hsc_instr *instr) {
  return instr->op == HSC_OP_DOT ||
         (instr->op == HSC_OP_CONVOLUTION && instr->attr.conv.feature_groups <= 1 &&
          instr->attr.conv.batch_groups <= 1);
}

// The dimension of the other operand that a product sums over together with dimension `e` of the
// first; -1 = it does not sum over `e`, or not over whole positions.
static int summed_with(const hsc_instr *product, int e) {
  if (product->op == HSC_OP_CONVOLUTION)
    return e == product->attr.conv.dims.input_feature ? (int)product->attr.conv.dims.kernel_input
                                                      : -1;
  const hsc_dot_dims *dims = &product->attr.dot;
  for (int k = 0; k < dims->lhs_contracting.count; k++)
    if (dims->lhs_contracting.v[k] == e)
      return (int)dims->rhs_contracting.v[k];
  return -1;
}

// Whether parts may be reduced apart with this initial value; the reducer of what they give.
static hsc_computation *reducer_of(hsc__importer *im, const hsc_instr *instr) {
  double init = 0;
  if (is_product(instr))
    return hsc_module_scalar_reducer(im->module, HSC_OP_ADD, instr->shape.type);
  const hsc_instr *root = instr->called[0]->root;
  bool plain = root->operand_count == 2 && root->operands[0]->op == HSC_OP_PARAMETER &&
               root->operands[1]->op == HSC_OP_PARAMETER && root->operands[0] != root->operands[1];
  bool is_scalar = hsc_instr_is_scalar_constant(instr->operands[1], &init);
  switch (plain ? root->op : HSC_OP_COUNT) {
    case HSC_OP_ADD:
      return is_scalar && init == 0 ? instr->called[0] : NULL;
    case HSC_OP_MULTIPLY:
      return is_scalar && init == 1 ? instr->called[0] : NULL;
    case HSC_OP_MAXIMUM:
    case HSC_OP_MINIMUM:
    case HSC_OP_AND:
    case HSC_OP_OR:
      return instr->called[0];
    default:
      return NULL;
  }
}

static void add_axes(unsigned *axes, const hsc__layout *layout, int dim) {
  for (int a = 0; a < layout->counts[dim]; a++)
    *axes |= 1u << layout->axes[dim][a];
}

static void keep_axes(hsc__layout *to, int to_dim, const hsc__layout *from, int dim) {
  to->mesh = from->mesh;
  to->counts[to_dim] = from->counts[dim];
  to->is_cut |= from->counts[dim] > 0;
  memcpy(to->axes[to_dim], from->axes[dim], sizeof to->axes[to_dim]);
}

// What the operands of one reduction or product are wanted as, and the axes that it reduces along;
// none where operands do not go together.
static hsc_status *plan_reduction(hsc__importer *im,
                                  const hsc_instr *instr,
                                  const hsc__layout *result,
                                  hsc__layout *operands,
                                  unsigned *out_axes) {
  hsc__sdy_rule rule;
  int count = is_product(instr) ? 2 : 1;
  unsigned used = 0;
  *out_axes = 0;
  HSC_TRY(hsc__sdy_rule_of(im->arena, instr, &rule));
  for (int d = 0; d < result->rank; d++)
    add_axes(&used, result, d);
  for (int i = 0; i < count; i++) {
    operands[i] = (hsc__layout){.rank = instr->operands[i]->shape.rank};
    for (int e = 0; e < operands[i].rank; e++)
      if (rule.links[i][e] >= 0 && result->counts[rule.links[i][e]])
        keep_axes(&operands[i], e, result, rule.links[i][e]);
  }
  hsc__layout first;
  HSC_TRY(hsc__sdy_layout_of(im, instr->operands[0], &first));
  if (!first.is_cut || first.unreduced || (result->is_cut && result->mesh != first.mesh))
    return NULL;
  for (int e = 0; e < first.rank; e++) {
    unsigned axes = 0;
    add_axes(&axes, &first, e);
    if (rule.links[0][e] >= 0 || !axes || axes & used)
      continue;
    if (is_product(instr)) {
      int with = summed_with(instr, e);
      if (with < 0)
        continue;
      keep_axes(&operands[1], with, &first, e);
    }
    keep_axes(&operands[0], e, &first, e);
    *out_axes |= axes;
    used |= axes;
  }
  for (int i = 0; i < count; i++)
    if (!divides(&operands[i], &instr->operands[i]->shape))
      *out_axes = 0;
  if (instr->op == HSC_OP_CONVOLUTION && !convolves_on_parts(instr, result, &operands[0]))
    *out_axes = 0;
  return NULL;
}

static hsc_status *reduce_parts(hsc__importer *im,
                                hsc_builder *b,
                                const hsc__mlir_op *op,
                                hsc_instr *instr) {
  hsc__layout natural, wanted[2], addends;
  hsc_instr *operands[2], *result;
  hsc_shape shape;
  unsigned axes;
  HSC_TRY(hsc__sdy_layout_of(im, instr, &natural));
  if (natural.unreduced || !divides(&natural, &instr->shape))
    return NULL;
  HSC_TRY(plan_reduction(im, instr, &natural, wanted, &axes));
  hsc_computation *reducer = axes ? reducer_of(im, instr) : NULL;
  if (!reducer)
    return NULL;
  for (int i = 0; i < 2; i++) {
    operands[i] = instr->operands[i];
    if (i == 0 || is_product(instr))
      HSC_TRY(local_of(im, b, op, &wanted[i], instr->operands[i], 0, &operands[i]));
  }
  HSC_TRY(hsc__sdy_local_shape(im, op, &natural, &instr->shape, &shape));
  hsc_attr attr = instr->attr;
  if (instr->op == HSC_OP_CONVOLUTION)
    HSC_TRY(hsc__sdy_add_halos(im, b, &wanted[0], &attr, &operands[0]));
  hsc_instr *part =
      hsc_build_op(b, instr->op, shape, &attr, 2, operands, instr->called_count, instr->called);
  part->metadata = instr->metadata;
  addends = natural;
  addends.mesh = wanted[0].mesh;
  addends.unreduced = axes;
  addends.is_cut = true;
  bool is_sum = reducer->root->op == HSC_OP_ADD && instr->shape.type != HSC_TYPE_PRED;
  if (is_sum)
    HSC_TRY(hsc__whole_add_part(im, instr, &addends, part));
  HSC_TRY(hsc__sdy_all_reduce(im, b, addends.mesh, axes, reducer, part, &result));
  if (natural.is_cut)
    return hsc__whole_add_part(im, instr, &natural, result);
  hsc__whole *whole = NULL;
  HSC_TRY(hsc__whole_of(im, instr, &whole));
  whole->sum = result;
  return hsc__sdy_replace(im, instr, result);
}

hsc_status *hsc__sdy_reductions(hsc__importer *im, hsc_builder *b, const hsc__mlir_op *op) {
  const hsc_instr *last = b->computation->last;
  for (hsc_instr *instr = b->computation->first; instr; instr = instr->next) {
    bool is_reduce = instr->op == HSC_OP_REDUCE && instr->operand_count == 2 &&
                     hsc_shape_is_array(&instr->shape);
    if (is_reduce || is_product(instr))
      HSC_TRY(reduce_parts(im, b, op, instr));
    if (instr == last)
      break;
  }
  return NULL;
}

hsc_status *hsc__sdy_local(hsc__importer *im,
                           hsc_builder *b,
                           const hsc__mlir_op *op,
                           const hsc__layout *layout,
                           hsc_instr *whole,
                           hsc_instr **out) {
  return local_of(im, b, op, layout, whole, 0, out);
}
