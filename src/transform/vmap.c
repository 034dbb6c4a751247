// vmap.c - many examples at once: every instruction is rewritten by its op's rule, from the batched
// arguments on.
//
// A batched value has the new dimension in front, always. What depends on no batched argument is
// copied as it is. Loops find out by fixpoint which parts of their state become batched. A
// computation that is called with the same parts batched is rewritten once.
#include "transform/transform_internal.h"

// ---- values -------------------------------------------------------------------------------------

bool hsc__any(const hsc__batch *value) {
  for (int i = 0; i < value->leaf_count; i++)
    if (value->batched[i])
      return true;
  return false;
}

bool hsc__is_batched(const hsc__batch *value) {
  return value->leaf_count == 1 && value->batched[0];
}

hsc_shape hsc__batched_shape(hsc__vmap_frame *f, const hsc_shape *shape) {
  return hsc__stacked_shape(f->b.module->arena, shape, f->cx->count);
}

void hsc__give(hsc__vmap_frame *f, hsc_instr *instr, bool batched, hsc__batch *out) {
  int count = hsc_shape_leaf_count(&instr->shape);
  bool *flags = HSC_NEW_ARRAY(f->cx->arena, bool, count + 1);
  for (int i = 0; flags && i < count; i++)
    flags[i] = batched && hsc_shape_is_array(hsc_shape_leaf(&instr->shape, i));
  *out = (hsc__batch){.instr = instr, .batched = flags, .leaf_count = count};
}

// Repeats an array along the new dimension. A broadcast is repeated from what it repeats.
static hsc_instr *repeat(hsc__vmap_frame *f, hsc_instr *x) {
  hsc_shape shape = hsc__batched_shape(f, &x->shape);
  int64_t dims[HSC_MAX_RANK];
  const hsc_dims *from = x->op == HSC_OP_BROADCAST ? &x->attr.dims.dims : NULL;
  hsc_instr *source = from ? x->operands[0] : x;
  int rank = source->shape.rank;
  for (int i = 0; i < rank; i++)
    dims[i] = (from ? from->v[i] : i) + 1;
  return hsc_build_broadcast(&f->b, source, shape, (hsc_dims){rank, dims});
}

hsc_instr *hsc__batched(hsc__vmap_frame *f, const hsc__batch *value) {
  return hsc__is_batched(value) || f->b.status ? value->instr : repeat(f, value->instr);
}

hsc_instr *hsc__promote(hsc__vmap_frame *f, const hsc__batch *value, const bool *flags) {
  bool same = true;
  for (int i = 0; i < value->leaf_count; i++)
    same &= !flags[i] || value->batched[i];
  if (same || f->b.status)
    return value->instr;
  if (value->leaf_count == 1 && hsc_shape_is_array(&value->instr->shape))
    return repeat(f, value->instr);
  hsc_instr **leaves = hsc__transform_room(f, value->leaf_count);
  if (!leaves)
    return value->instr;
  hsc__unpack(&f->b, value->instr, leaves);
  for (int i = 0; i < value->leaf_count; i++)
    if (flags[i] && !value->batched[i])
      leaves[i] = repeat(f, leaves[i]);
  return hsc__pack(&f->b, &value->instr->shape, leaves);
}

hsc_instr *hsc__spread(hsc__vmap_frame *f, const hsc__batch *scalar, const hsc_shape *shape) {
  int64_t first = 0;
  return hsc_build_broadcast(&f->b, scalar->instr, *shape,
                             (hsc_dims){hsc__is_batched(scalar) ? 1 : 0, &first});
}

hsc_instr **hsc__transform_room(hsc__vmap_frame *f, int count) {
  return HSC_NEW_ARRAY(f->cx->arena, hsc_instr *, count + 1);
}

hsc_dims hsc__plus_one(hsc_arena *arena, hsc_dims dims) {
  int64_t *v = HSC_NEW_ARRAY(arena, int64_t, dims.count + 1);
  for (int i = 0; v && i < dims.count; i++)
    v[i] = dims.v[i] + 1;
  return (hsc_dims){v ? dims.count : 0, v};
}

hsc_dims hsc__zero_and_plus_one(hsc_arena *arena, hsc_dims dims) {
  int64_t *v = HSC_NEW_ARRAY(arena, int64_t, dims.count + 1);
  for (int i = 0; v && i < dims.count; i++)
    v[i + 1] = dims.v[i] + 1;
  return (hsc_dims){v ? dims.count + 1 : 0, v};
}

hsc_instr *hsc__emit(hsc__vmap_frame *f,
                     const hsc_instr *like,
                     const hsc_attr *attr,
                     hsc_shape shape,
                     int count,
                     hsc_instr *const *operands) {
  hsc_instr *instr =
      hsc_build_calls(&f->b, like->op, shape, count, operands, like->called_count, like->called);
  if (f->b.status)
    return instr;
  instr->attr = attr ? *attr : like->attr;
  instr->extra_attributes = like->extra_attributes;
  instr->backend_config = like->backend_config;
  instr->frontend_attributes = like->frontend_attributes;
  f->b.status = hsc_infer_shape(f->b.module->arena, instr, &instr->shape);
  return instr;
}

// ---- computations -------------------------------------------------------------------------------

bool hsc__vmap_op_is_random(hsc_op op) {
  return op == HSC_OP_RNG || op == HSC_OP_RNG_BIT_GENERATOR ||
         op == HSC_OP_RNG_GET_AND_UPDATE_STATE;
}

// Each computation is looked at once, however many call it.
static hsc_status *is_random(hsc__vmap *cx, const hsc_computation *computation, bool *out_any) {
  static char yes, no;
  hsc_view key = {(const char *)&computation, sizeof computation};
  const char *known = hsc_map_get(cx->random, key);
  *out_any = known == &yes;
  if (known)
    return NULL;
  for (const hsc_instr *instr = computation->first; instr && !*out_any; instr = instr->next) {
    *out_any = hsc__vmap_op_is_random(instr->op);
    for (int i = 0; i < instr->called_count && !*out_any; i++)
      HSC_TRY(is_random(cx, instr->called[i], out_any));
  }
  return hsc_map_put(cx->random, key, *out_any ? &yes : &no);
}

static hsc_status *calls_random(hsc__vmap *cx, const hsc_instr *instr, bool *out_any) {
  *out_any = hsc__vmap_op_is_random(instr->op);
  for (int i = 0; i < instr->called_count && !*out_any; i++)
    HSC_TRY(is_random(cx, instr->called[i], out_any));
  return NULL;
}

static hsc_status *rewrite_instr(hsc__vmap_frame *f,
                                 hsc_instr *instr,
                                 const hsc__batch *operands,
                                 hsc__batch *out) {
  bool any = false;
  HSC_TRY(calls_random(f->cx, instr, &any));
  for (int i = 0; i < instr->operand_count && !any; i++)
    any = hsc__any(&operands[i]);
  hsc_instr **plain = hsc__transform_room(f, instr->operand_count);
  HSC_TRY(hsc_arena_status(f->cx->arena));
  for (int i = 0; i < instr->operand_count; i++)
    plain[i] = operands[i].instr;
  // Control edges are kept where both ends are still there.
  if (!any) {
    hsc__give(f, hsc_build_clone(&f->b, instr, plain), false, out);
  } else {
    hsc__vmap_rule rule = hsc__vmap_rule_of(instr->op);
    if (!rule)
      return hsc_op_not_built(instr->op, "vmap");
    f->b.metadata = instr->metadata;
    hsc_status *status = rule(f, instr, operands, out);
    f->b.metadata = NULL;
    if (status)
      return status;
  }
  return f->b.status || !out->batched ? hsc_arena_status(f->cx->arena) : NULL;
}

static hsc_status *failed(hsc__vmap_frame *f, hsc_status *status) {
  if (!status)
    return NULL;
  hsc_status_free(f->b.status);
  f->b.status = NULL;
  return status;
}

// All instructions of a computation after its parameters, whose values are given.
static hsc_status *rewrite_all(hsc__vmap_frame *f,
                               hsc_computation *computation,
                               const hsc__batch *parameters,
                               hsc__batch *out_root) {
  hsc_arena *arena = f->cx->arena;
  int count = 0;
  for (hsc_instr *instr = computation->first; instr; instr = instr->next)
    count++;
  hsc__batch *values = HSC_NEW_ARRAY(arena, hsc__batch, count + 1);
  HSC_TRY(hsc_arena_status(arena));
  int at = 0;
  for (hsc_instr *instr = computation->first; instr; instr = instr->next)
    instr->index = at++;
  for (hsc_instr *instr = computation->first; instr && !f->b.status; instr = instr->next) {
    hsc__batch *out = &values[instr->index];
    if (instr->op == HSC_OP_PARAMETER) {
      *out = parameters[instr->attr.index.value];
      continue;
    }
    hsc__batch *operands = HSC_NEW_ARRAY(arena, hsc__batch, instr->operand_count + 1);
    HSC_TRY(hsc_arena_status(arena));
    for (int i = 0; i < instr->operand_count; i++)
      operands[i] = values[instr->operands[i]->index];
    hsc_status *status = rewrite_instr(f, instr, operands, out);
    if (status)
      return failed(f, hsc_status_note(status, "while: batching %%%s = %s", instr->name,
                                       hsc_op_text(instr->op)));
    if (f->b.status)
      f->b.status = hsc_status_note(f->b.status, "while: batching %%%s = %s", instr->name,
                                    hsc_op_text(instr->op));
    for (int i = 0; i < instr->control_count && !f->b.status; i++) {
      hsc_instr *before = values[instr->control_predecessors[i]->index].instr;
      if (before->parent == out->instr->parent && before != out->instr)
        hsc_instr_add_control_predecessor(out->instr, before);
    }
  }
  if (f->b.status)
    return NULL;
  *out_root = values[computation->root->index];
  return NULL;
}

typedef struct batched_computation {
  hsc_computation *computation;
  const bool *flags;
} batched_computation;

// Into the builder's computation. The root is not set yet; its flags are in *out_flags.
static hsc_status *rewrite_into(hsc__vmap *cx,
                                hsc_builder *b,
                                hsc_computation *computation,
                                const bool *in,
                                const bool *at_least,
                                hsc_instr **out_root,
                                const bool **out_flags) {
  hsc__vmap_frame f = {.cx = cx, .b = *b};
  hsc__batch *parameters = HSC_NEW_ARRAY(cx->arena, hsc__batch, computation->parameter_count + 1);
  hsc__batch root = {0};
  HSC_TRY(hsc_arena_status(cx->arena));
  for (int i = 0, at = 0; i < computation->parameter_count; i++) {
    hsc_instr *old = computation->parameters[i];
    int leaves = hsc_shape_leaf_count(&old->shape);
    int from = 0;
    hsc_shape shape = hsc__vmap_shape(&f, &old->shape, in + at, &from);
    parameters[i] = (hsc__batch){.instr = hsc_build_parameter(&f.b, i, shape, old->name),
                                 .batched = in + at,
                                 .leaf_count = leaves};
    parameters[i].instr->metadata = old->metadata;
    at += leaves;
  }
  hsc_status *status = rewrite_all(&f, computation, parameters, &root);
  if (!status && !f.b.status) {
    bool *flags = HSC_NEW_ARRAY(cx->arena, bool, root.leaf_count + 1);
    for (int i = 0; flags && i < root.leaf_count; i++)
      flags[i] = root.batched[i] || (at_least && at_least[i]);
    *out_flags = flags;
    *out_root = flags ? hsc__promote(&f, &root, flags) : root.instr;
  }
  *b = f.b;
  return status;
}

static hsc_status *rewrite_computation(hsc__vmap *cx,
                                       hsc_computation *computation,
                                       const bool *in,
                                       const bool *at_least,
                                       batched_computation *out) {
  hsc_builder b;
  hsc_instr *root = NULL;
  hsc_builder_init(&b, cx->module,
                   hsc_arena_printf(cx->module->arena, "%s_vmap", computation->name));
  hsc_status *status = rewrite_into(cx, &b, computation, in, at_least, &root, &out->flags);
  if (!status)
    return hsc_builder_finish(&b, root, &out->computation);
  hsc_status_free(hsc_builder_finish(&b, NULL, NULL));
  return status;
}

hsc_status *hsc__vmap_computation(hsc__vmap *cx,
                                  hsc_computation *computation,
                                  const bool *in,
                                  const bool *at_least,
                                  hsc_computation **out_computation,
                                  bool *out_flags) {
  int in_count = 0;
  int out_count = hsc_shape_leaf_count(&computation->root->shape);
  for (int i = 0; i < computation->parameter_count; i++)
    in_count += hsc_shape_leaf_count(&computation->parameters[i]->shape);
  // Nothing batched in, nothing wanted batched out, nothing random: the computation itself.
  bool any = false;
  HSC_TRY(is_random(cx, computation, &any));
  for (int i = 0; i < in_count; i++)
    any |= in[i];
  for (int i = 0; at_least && i < out_count; i++)
    any |= at_least[i];
  if (!any) {
    *out_computation = computation;
    memset(out_flags, 0, (size_t)out_count * sizeof(*out_flags));
    return NULL;
  }
  size_t size = sizeof(computation) + (size_t)(in_count + out_count) * sizeof(bool);
  char *key = hsc_arena_alloc(cx->arena, size);
  bool *in_copy = HSC_NEW_ARRAY(cx->arena, bool, in_count + 1);
  HSC_TRY(hsc_arena_status(cx->arena));
  memcpy(key, &computation, sizeof(computation));
  memcpy(key + sizeof(computation), in, (size_t)in_count * sizeof(bool));
  if (at_least)
    memcpy(key + sizeof(computation) + (size_t)in_count * sizeof(bool), at_least,
           (size_t)out_count * sizeof(bool));
  memcpy(in_copy, in, (size_t)in_count * sizeof(bool));
  batched_computation *found = hsc_map_get(cx->computations, (hsc_view){key, size});
  if (!found) {
    found = HSC_NEW(cx->arena, batched_computation);
    HSC_TRY(hsc_arena_status(cx->arena));
    HSC_TRY(rewrite_computation(cx, computation, in_copy, at_least, found));
    HSC_TRY(hsc_map_put(cx->computations, (hsc_view){key, size}, found));
  }
  *out_computation = found->computation;
  memcpy(out_flags, found->flags, (size_t)out_count * sizeof(*out_flags));
  return NULL;
}

// The shape with the new dimension in the leaves that `flags` names.
hsc_shape hsc__vmap_shape(hsc__vmap_frame *f, const hsc_shape *shape, const bool *flags, int *at) {
  hsc_arena *arena = f->b.module->arena;
  if (!hsc_shape_is_tuple(shape))
    return flags[(*at)++] ? hsc__batched_shape(f, shape) : *shape;
  hsc_shape *elements = HSC_NEW_ARRAY(arena, hsc_shape, shape->element_count + 1);
  for (int i = 0; elements && i < shape->element_count; i++)
    elements[i] = hsc__vmap_shape(f, &shape->elements[i], flags, at);
  return hsc_shape_tuple(arena, elements ? shape->element_count : 0, elements);
}

// ---- the program --------------------------------------------------------------------------------

// Leaves of the parameters that get the new dimension.
static hsc_status *choose(const hsc_module *module,
                          const hsc_transform_options *options,
                          hsc_arena *arena,
                          bool **out_flags) {
  int count = 0;
  for (int i = 0; i < module->entry->parameter_count; i++)
    count += hsc_shape_leaf_count(&module->entry->parameters[i]->shape);
  bool *flags = HSC_NEW_ARRAY(arena, bool, count + 1);
  HSC_TRY(hsc_arena_status(arena));
  if (options && options->arguments) {
    for (int i = 0; i < options->argument_count; i++) {
      int64_t leaf = options->arguments[i];
      if (leaf < 0 || leaf >= count)
        return HSC_ERR(INVALID_ARGUMENT,
                       "vmap: argument %lld: the program has %d parameters, counted from 0",
                       (long long)leaf, count);
      flags[leaf] = true;
    }
  } else {
    int32_t *feeds = NULL;
    int32_t results = 0;
    int32_t data = -1;
    HSC_TRY(hsc_transform_feedback(module, NULL, arena, &feeds, &results, &data));
    if (data >= 0)
      flags[data] = true;
    for (int i = 0; i < results; i++)
      if (feeds[i] >= 0)
        flags[feeds[i]] = true;
  }
  for (int i = 0, at = 0; i < module->entry->parameter_count; i++) {
    const hsc_shape *shape = &module->entry->parameters[i]->shape;
    for (int k = 0; k < hsc_shape_leaf_count(shape); k++, at++)
      if (flags[at] && !hsc_shape_is_array(hsc_shape_leaf(shape, k)))
        return HSC_ERR(INVALID_ARGUMENT, "vmap: argument %d is no array and cannot get a dimension",
                       at);
  }
  *out_flags = flags;
  return NULL;
}

hsc_status *hsc_transform_vmap(const hsc_module *module,
                               int64_t count,
                               const hsc_transform_options *options,
                               hsc_module **out_module) {
  *out_module = NULL;
  if (count < 1)
    return HSC_ERR(INVALID_ARGUMENT, "vmap: a count of %lld; at least 1 is needed",
                   (long long)count);
  hsc__vmap cx = {.count = count,
                  .randomness = options ? options->randomness : HSC_RANDOMNESS_ERROR};
  hsc__rewrite r = {0};
  hsc_status *status = hsc_arena_create(&cx.arena);
  if (!status)
    status = hsc_map_create(&cx.computations);
  if (!status)
    status = hsc_map_create(&cx.random);
  if (!status)
    status = hsc__rewrite_begin(module, "_vmap", &r);
  if (!status) {
    cx.module = r.module;
    int leaves = hsc_shape_leaf_count(&r.from->root->shape);
    bool *flags = NULL;
    bool *all = HSC_NEW_ARRAY(cx.arena, bool, leaves + 1);
    const bool *given = NULL;
    hsc_instr *root = NULL;
    status = hsc_arena_status(cx.arena);
    for (int i = 0; i < leaves && !status; i++)
      all[i] = hsc_shape_is_array(hsc_shape_leaf(&r.from->root->shape, i));
    if (!status)
      status = choose(r.module, options, cx.arena, &flags);
    if (!status)
      status = rewrite_into(&cx, &r.b, r.from, flags, all, &root, &given);
    status = hsc__rewrite_end(&r, root, false, status, out_module);
  }
  hsc_map_destroy(cx.random);
  hsc_map_destroy(cx.computations);
  hsc_arena_destroy(cx.arena);
  return status ? hsc_status_note(status, "while: batching %s", module->name) : NULL;
}
