// sdy_propagate.c - layouts of values that nothing is said of, from those of their operands: what
// hosts are told of results.
//
// Forward, in the order of the program, as XLA's propagation mostly ends up: an operation's result
// is cut as its operands are along the dimensions that go together; the loop's values as they
// begin, where an iteration keeps them so. A value of a group is cut as the first of its group that
// is.
#include "formats/shardy/sdy_layout.h"

static int leaf_count(const hsc_shape *shape) {
  if (!hsc_shape_is_tuple(shape))
    return 1;
  int count = 0;
  for (int i = 0; i < shape->element_count; i++)
    count += leaf_count(&shape->elements[i]);
  return count;
}

static const hsc_shape *leaf_shape(const hsc_shape *shape, int leaf) {
  while (hsc_shape_is_tuple(shape)) {
    int i = 0;
    int leaves;
    for (; i < shape->element_count - 1 && leaf >= (leaves = leaf_count(&shape->elements[i])); i++)
      leaf -= leaves;
    shape = &shape->elements[i];
  }
  return shape;
}

static hsc__layout *new_layouts(hsc__importer *im, const hsc_shape *shape) {
  int count = leaf_count(shape);
  hsc__layout *layouts = HSC_NEW_ARRAY(im->arena, hsc__layout, count + 1);
  for (int i = 0; layouts && i < count; i++)
    layouts[i].rank = leaf_shape(shape, i)->rank;
  return layouts;
}

static const hsc__layout *layouts_of(const hsc_instr *instr) {
  const hsc__whole *whole = instr->scratch;
  return whole ? whole->layouts : NULL;
}

static hsc_status *propagate(hsc__importer *im,
                             hsc_computation *computation,
                             const hsc__layout *const *parameters,
                             int depth,
                             bool keep);

static void take_all(hsc__layout *to,
                     const hsc_shape *shape,
                     const hsc__sdy_rule *rule,
                     const hsc_instr *instr) {
  for (int i = 0; i < instr->operand_count; i++) {
    const hsc__layout *from = layouts_of(instr->operands[i]);
    const hsc_shape *operand = &instr->operands[i]->shape;
    if (!from || !hsc_shape_is_array(operand) || !from->is_cut)
      continue;
    for (int e = 0; e < operand->rank; e++) {
      int d = rule->links[i][e];
      if (d >= 0 && d < shape->rank && !to->counts[d] && from->counts[e])
        hsc__layout_take(to, d, shape->dims[d], from, e);
    }
  }
}

// The values of a loop are cut as they begin, as far as an iteration leaves them so; what it
// changes is whole, and then what depends on that.
static hsc_status *loop(hsc__importer *im, const hsc_instr *instr, hsc__layout *out, int depth) {
  const hsc__layout *from = layouts_of(instr->operands[0]);
  hsc_computation *body = instr->called[1];
  int count = leaf_count(&instr->shape);
  if (!from || depth > 8)
    return NULL;
  memcpy(out, from, sizeof *out * (size_t)count);
  for (int round = 0; round < 4; round++) {
    const hsc__layout *parameters[1] = {out};
    bool changed = false;
    HSC_TRY(propagate(im, body, parameters, depth + 1, false));
    const hsc__layout *after = layouts_of(body->root);
    for (int i = 0; i < count; i++) {
      if (!after || hsc__layout_same(&out[i], &after[i]) || !out[i].is_cut)
        continue;
      // Keeps the dimensions in which both agree.
      hsc__layout both = {.rank = out[i].rank};
      for (int d = 0; d < both.rank; d++)
        if (after[i].is_cut && after[i].mesh == out[i].mesh &&
            after[i].counts[d] == out[i].counts[d] &&
            !memcmp(after[i].axes[d], out[i].axes[d], (size_t)out[i].counts[d]))
          hsc__layout_take(&both, d, leaf_shape(&instr->shape, i)->dims[d], &out[i], d);
      changed = true;
      out[i] = both;
    }
    if (!changed)
      return NULL;
  }
  hsc__layout *none = new_layouts(im, &instr->shape);
  if (!none)
    return hsc_status_out_of_memory();
  memcpy(out, none, sizeof *out * (size_t)count);
  return NULL;
}

hsc_status *hsc__sdy_loop_layouts(hsc__importer *im, const hsc_instr *loop, hsc__layout *layouts) {
  const hsc__layout *parameters[1] = {layouts};
  int count = leaf_count(&loop->shape);
  bool changed = true;
  for (int round = 0; round < 4 && changed; round++) {
    changed = false;
    HSC_TRY(propagate(im, loop->called[1], parameters, 1, false));
    const hsc__layout *after = layouts_of(loop->called[1]->root);
    for (int i = 0; after && i < count; i++) {
      if (layouts[i].is_cut || !after[i].is_cut)
        continue;
      layouts[i] = after[i];
      changed = true;
    }
  }
  return NULL;
}

static hsc_status *called(hsc__importer *im,
                          const hsc_instr *instr,
                          int which,
                          int first_operand,
                          hsc__layout *out,
                          int depth) {
  hsc_computation *computation = instr->called[which];
  if (depth > 8)
    return NULL;
  const hsc__layout **parameters =
      HSC_NEW_ARRAY(im->arena, const hsc__layout *, computation->parameter_count + 1);
  HSC_TRY(hsc_arena_status(im->arena));
  for (int p = 0; p < computation->parameter_count && first_operand + p < instr->operand_count; p++)
    parameters[p] = layouts_of(instr->operands[first_operand + p]);
  HSC_TRY(propagate(im, computation, parameters, depth + 1, false));
  const hsc__layout *result = layouts_of(computation->root);
  if (result)
    memcpy(out, result, sizeof *out * (size_t)leaf_count(&instr->shape));
  return NULL;
}

static hsc_status *layouts_by_operation(hsc__importer *im,
                                        const hsc_instr *instr,
                                        hsc__layout *out,
                                        int depth) {
  switch (instr->op) {
    case HSC_OP_TUPLE:
    case HSC_OP_OPT_BARRIER:
      if (instr->op == HSC_OP_OPT_BARRIER && !hsc_shape_is_tuple(&instr->shape))
        break;
      for (int i = 0, at = 0; i < instr->operand_count; i++) {
        int leaves = leaf_count(&instr->operands[i]->shape);
        if (layouts_of(instr->operands[i]))
          memcpy(out + at, layouts_of(instr->operands[i]), sizeof *out * (size_t)leaves);
        at += leaves;
      }
      return NULL;
    case HSC_OP_GET_TUPLE_ELEMENT: {
      const hsc__layout *from = layouts_of(instr->operands[0]);
      int at = 0;
      for (int64_t i = 0; i < instr->attr.index.value; i++)
        at += leaf_count(&instr->operands[0]->shape.elements[i]);
      if (from)
        memcpy(out, from + at, sizeof *out * (size_t)leaf_count(&instr->shape));
      return NULL;
    }
    case HSC_OP_WHILE:
      return loop(im, instr, out, depth);
    case HSC_OP_CALL:
      return called(im, instr, 0, 0, out, depth);
    case HSC_OP_CONDITIONAL:
      return instr->called_count
                 ? called(im, instr, instr->called_count - 1, instr->called_count, out, depth)
                 : NULL;
    default:
      break;
  }
  hsc__sdy_rule rule;
  HSC_TRY(hsc__sdy_rule_of(im->arena, instr, &rule));
  if (!rule.known)
    return NULL;
  for (int i = 0, leaves = leaf_count(&instr->shape); i < leaves; i++)
    take_all(&out[i], leaf_shape(&instr->shape, i), &rule, instr);
  return NULL;
}

// `keep`: of the entry, where what is said stays; else of a called computation, for these
// parameters.
static hsc_status *propagate(hsc__importer *im,
                             hsc_computation *computation,
                             const hsc__layout *const *parameters,
                             int depth,
                             bool keep) {
  HSC_FOR_EACH_INSTR_IN (computation, instr) {
    hsc__whole *whole = NULL;
    HSC_TRY(hsc__whole_of(im, instr, &whole));
    if (keep && whole->is_fixed && instr->op != HSC_OP_COPY)
      continue;
    hsc__layout *out = new_layouts(im, &instr->shape);
    if (!out)
      return hsc_status_out_of_memory();
    // a constraint, whose open dimensions are filled
    if (whole->is_fixed && instr->op == HSC_OP_COPY) {
      const hsc__layout *from = layouts_of(instr->operands[0]);
      *out = *whole->layouts;
      for (int d = 0; from && from->is_cut && d < out->rank; d++)
        if (out->open[d] && !out->counts[d])
          hsc__layout_take(out, d, instr->shape.dims[d], from, d);
    } else if (instr->op == HSC_OP_PARAMETER) {
      if (parameters && parameters[instr->attr.index.value])
        memcpy(out, parameters[instr->attr.index.value],
               sizeof *out * (size_t)leaf_count(&instr->shape));
    } else {
      HSC_TRY(layouts_by_operation(im, instr, out, depth));
    }
    if (whole->group >= 0 && !out->is_cut) {
      const hsc__layout *group = hsc__sdy_group_layout(im, whole->group);
      if (group && group->is_cut && group->rank == out->rank)
        *out = *group;
    }
    whole->layouts = out;
  }
  return NULL;
}

hsc_status *hsc__sdy_propagate(hsc__importer *im, hsc_computation *computation) {
  for (int round = 0; round < 2; round++) {  // the second knows what the groups are
    HSC_TRY(propagate(im, computation, NULL, 0, true));
    if (!hsc__sdy_has_groups(im))
      return NULL;
    hsc__sdy_settle_groups(im);
  }
  return NULL;
}
