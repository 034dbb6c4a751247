// copy_insertion.c - writes down the copies that a program cannot do without once values have
// places in memory.
//
// A loop keeps each element of its state in one place, a conditional each element of its result, a
// program each result in a buffer of its own. A value that goes there is copied when it must stay
// where it is: a constant, an argument that is not given away, a value that is read later, one that
// goes to two places, and what a loop's body makes while the old element is still read. Everything
// else is computed where it is wanted, so an update in place stays one. Runs after the scheduler:
// what lives until when is decided by the order of instructions. Buffer assignment drops a copy
// whose two sides may share a place. Linear in instructions and leaves. Legal always.
//
//   before   body: a = state.0;  b = state.1;  ROOT t = tuple(b, a)         the two change places
//   after    body: ...           ROOT t = tuple(copy(b), copy(a))
//
// XLA: xla/service/copy_insertion.h
#include "passes/manager/passes_internal.h"

typedef enum value_kind { COMPUTED, PARAMETER, CONSTANT } value_kind;

// One array that a computation has: a leaf of a parameter or of what an instruction computes.
typedef struct value {
  value_kind kind;
  int32_t parameter_leaf;  // counted over all parameters; -1 for other kinds
  int32_t def, last;       // places in the order; last reader
  hsc_instr *instr;
} value;

typedef struct table {
  hsc_arena *arena;
  hsc_computation *computation;
  value *values;
  int32_t value_count, capacity;
  int32_t **leaves;     // [instr->index][leaf] number of the value
  const int32_t *root;  // leaves of the computation's root as it was
  bool root_done;       // the root has its copies: two loops may share a body
  // [value_count] of the list that is being looked at: the first leaf that has the value; whether a
  // leaf that has it stays as it is
  int32_t *first;
  bool *stays;
} table;

static int32_t add_value(table *t, value v) {
  if (!HSC_GROW_IN(t->arena, t->values, t->value_count, t->capacity))
    return 0;
  t->values[t->value_count] = v;
  return t->value_count++;
}

static hsc_status *add_instr(table *t, hsc_instr *instr, int32_t *parameter_leaf) {
  int32_t count = hsc_shape_leaf_count(&instr->shape);
  int32_t at = 0;
  int32_t place = instr->index;
  int32_t *own = t->leaves[place] = HSC_NEW_ARRAY(t->arena, int32_t, count + 1);
  HSC_TRY(hsc_arena_status(t->arena));
  if (instr->op == HSC_OP_TUPLE) {
    for (int o = 0; o < instr->operand_count; o++) {
      int32_t inner = hsc_shape_leaf_count(&instr->operands[o]->shape);
      memcpy(own + at, t->leaves[instr->operands[o]->index], sizeof *own * (size_t)inner);
      at += inner;
    }
    return NULL;
  }
  if (instr->op == HSC_OP_GET_TUPLE_ELEMENT) {
    const hsc_shape *tuple = &instr->operands[0]->shape;
    if (tuple->flat)
      at += (int32_t)instr->attr.index.value;
    for (int64_t e = 0; e < instr->attr.index.value && !tuple->flat; e++)
      at += hsc_shape_leaf_count(&tuple->elements[e]);
    memcpy(own, t->leaves[instr->operands[0]->index] + at, sizeof *own * (size_t)count);
    return NULL;
  }
  if (hsc_instr_is_alias(instr)) {
    memcpy(own, t->leaves[instr->operands[0]->index], sizeof *own * (size_t)count);
    return NULL;
  }
  for (int o = 0; o < instr->operand_count; o++) {
    int32_t inner = hsc_shape_leaf_count(&instr->operands[o]->shape);
    for (int32_t l = 0; l < inner; l++)
      t->values[t->leaves[instr->operands[o]->index][l]].last = place;
  }
  for (int32_t l = 0; l < count; l++) {
    value v = {.kind = COMPUTED, .parameter_leaf = -1, .def = place, .last = place, .instr = instr};
    if (instr->op == HSC_OP_CONSTANT)
      v.kind = CONSTANT;
    if (instr->op == HSC_OP_PARAMETER)
      v = (value){.kind = PARAMETER,
                  .parameter_leaf = (*parameter_leaf)++,
                  .def = -1,
                  .last = -1,
                  .instr = instr};
    own[l] = add_value(t, v);
  }
  return hsc_arena_status(t->arena);
}

static hsc_status *make_table(hsc_computation *computation, hsc_arena *arena, table *t) {
  *t = (table){.arena = arena,
               .computation = computation,
               .leaves = HSC_NEW_ARRAY(arena, int32_t *, computation->instr_count + 1)};
  HSC_TRY(hsc_arena_status(arena));
  int32_t place = 0;
  int32_t parameter_leaf = 0;
  for (hsc_instr *instr = computation->first; instr; instr = instr->next)
    instr->index = place++;
  for (int p = 0; p < computation->parameter_count; p++)
    HSC_TRY(add_instr(t, computation->parameters[p], &parameter_leaf));
  for (hsc_instr *instr = computation->first; instr; instr = instr->next)
    if (instr->op != HSC_OP_PARAMETER)
      HSC_TRY(add_instr(t, instr, &parameter_leaf));
  t->root = t->leaves[computation->root->index];
  int32_t leaves = hsc_shape_leaf_count(&computation->root->shape);
  for (int32_t l = 0; l < leaves; l++)
    t->values[t->root[l]].last = place;
  t->first = HSC_NEW_ARRAY(arena, int32_t, t->value_count + 1);
  t->stays = HSC_NEW_ARRAY(arena, bool, t->value_count + 1);
  return hsc_arena_status(arena);
}

// Notes in t->first, for each value of the list, the first leaf that has it.
static void find_first(const table *t, const int32_t *leaves, int32_t count) {
  for (int32_t l = count - 1; l >= 0; l--)
    t->first[leaves[l]] = l;
}

static bool seen_before(const table *t, const int32_t *leaves, int32_t l) {
  return t->first[leaves[l]] != l;
}

// Whether the instruction can write its result over an array that it reads for the last time.
static bool may_work_in_place(const hsc_instr *instr) {
  switch (instr->op) {
    case HSC_OP_FUSION:
    case HSC_OP_DYNAMIC_UPDATE_SLICE:
    case HSC_OP_SCATTER:
    case HSC_OP_WHILE:
    case HSC_OP_CONDITIONAL:
    case HSC_OP_CALL:
    case HSC_OP_SORT:
    case HSC_OP_COPY:
    case HSC_OP_TRIANGULAR_SOLVE:
    case HSC_OP_CHOLESKY:
    case HSC_OP_CUSTOM_CALL:
      return true;
    default:
      return (hsc_op_traits(instr->op) & HSC_TRAIT_ELEMENTWISE) != 0;
  }
}

// ---- editing ------------------------------------------------------------------------------------

// `instr` with copies in place of the wanted leaves, where the builder is; itself when none is
// wanted.
static hsc_instr *with_copies(
    hsc_builder *b, hsc_pass_context *cx, hsc_instr *instr, const bool *wanted, int32_t *leaf) {
  if (!hsc_shape_is_tuple(&instr->shape)) {
    bool copies = wanted[(*leaf)++] && hsc_shape_is_array(&instr->shape) && hsc__pass_spend(cx);
    return copies ? hsc_build_unary(b, HSC_OP_COPY, instr) : instr;
  }
  int count = instr->shape.element_count;
  int32_t leaves = hsc_shape_leaf_count(&instr->shape);
  bool any = false;
  for (int32_t l = *leaf; l < *leaf + leaves; l++)
    any |= wanted[l];
  hsc_instr **elements = any ? HSC_NEW_ARRAY(b->module->arena, hsc_instr *, count + 1) : NULL;
  if (!elements) {
    *leaf += leaves;
    return instr;
  }
  bool changed = false;
  for (int e = 0; e < count; e++) {
    hsc_instr *element =
        instr->op == HSC_OP_TUPLE ? instr->operands[e] : hsc_build_get_tuple_element(b, instr, e);
    elements[e] = with_copies(b, cx, element, wanted, leaf);
    changed |= elements[e] != element;
  }
  return changed ? hsc_build_tuple(b, count, elements) : instr;
}

static hsc_status *copy_operand(hsc_pass_context *cx,
                                hsc_instr *instr,
                                int operand,
                                const bool *wanted) {
  hsc_builder b;
  int32_t leaf = 0;
  hsc_instr *old = instr->operands[operand];
  hsc_builder_at(&b, instr->parent, instr);
  hsc_instr *replacement = with_copies(&b, cx, old, wanted, &leaf);
  HSC_TRY(hsc_builder_finish(&b, NULL, NULL));
  if (replacement == old)
    return NULL;
  hsc_instr_set_operand(instr, operand, replacement);
  if (old->op == HSC_OP_TUPLE && hsc_instr_is_dead(old))
    hsc_instr_remove(old);
  return NULL;
}

static hsc_status *copy_root(hsc_pass_context *cx,
                             hsc_computation *computation,
                             const bool *wanted) {
  hsc_builder b;
  int32_t leaf = 0;
  hsc_instr *old = computation->root;
  hsc_builder_at(&b, computation, NULL);
  hsc_instr *replacement = with_copies(&b, cx, old, wanted, &leaf);
  if (replacement == old)
    return hsc_builder_finish(&b, NULL, NULL);
  HSC_TRY(hsc_builder_finish(&b, replacement, NULL));
  if (old->op == HSC_OP_TUPLE && hsc_instr_is_dead(old))
    hsc_instr_remove(old);
  return NULL;
}

// ---- what is wanted -----------------------------------------------------------------------------

typedef struct inserter {
  hsc_pass_context *cx;
  const hsc_module *module;
  table *tables;  // [computation_count] by computation->index
  bool *has_table;
  int32_t *aliased;  // [leaves of all parameters of the entry] leaf of the result, -1 = none
} inserter;

static hsc_status *table_of(inserter *in, hsc_computation *computation, table **out) {
  table *t = *out = &in->tables[computation->index];
  if (in->has_table[computation->index])
    return NULL;
  in->has_table[computation->index] = true;
  return make_table(computation, in->cx->scratch, t);
}

static int32_t leaf_of_path(const hsc_shape *shape, hsc_dims path) {
  int32_t leaf = 0;
  for (int i = 0; i < path.count; i++) {
    if (shape->flat)
      leaf += (int32_t)path.v[i];
    for (int64_t e = 0; e < path.v[i] && !shape->flat; e++)
      leaf += hsc_shape_leaf_count(&shape->elements[e]);
    shape = &shape->elements[path.v[i]];
  }
  return leaf;
}

// The leaf of the program's result that has each argument's memory.
static hsc_status *find_aliases(inserter *in) {
  const hsc_computation *entry = in->module->entry;
  int32_t *first = HSC_NEW_ARRAY(in->cx->scratch, int32_t, entry->parameter_count + 1);
  HSC_TRY(hsc_arena_status(in->cx->scratch));
  for (int p = 0; p < entry->parameter_count; p++)
    first[p + 1] = first[p] + hsc_shape_leaf_count(&entry->parameters[p]->shape);
  in->aliased = HSC_NEW_ARRAY(in->cx->scratch, int32_t, first[entry->parameter_count] + 1);
  HSC_TRY(hsc_arena_status(in->cx->scratch));
  for (int32_t l = 0; l < first[entry->parameter_count]; l++)
    in->aliased[l] = -1;
  for (int a = in->module->alias_count - 1; a >= 0; a--) {
    const hsc_alias *alias = &in->module->aliases[a];
    const hsc_shape *parameter = &entry->parameters[alias->parameter]->shape;
    in->aliased[first[alias->parameter] + leaf_of_path(parameter, alias->parameter_index)] =
        leaf_of_path(&entry->root->shape, alias->output_index);
  }
  return NULL;
}

static int32_t aliased_output(const inserter *in, int32_t parameter_leaf) {
  return in->aliased[parameter_leaf];
}

// A value that must be left as it is, whoever reads it: a constant, or an argument that the program
// may not write to.
static bool must_stay(const inserter *in, const table *t, const value *v) {
  if (v->kind == CONSTANT)
    return true;
  return v->kind == PARAMETER && t->computation == in->module->entry &&
         aliased_output(in, v->parameter_leaf) < 0;
}

static bool is_invariant(const table *body, int32_t l) {
  const value *v = &body->values[body->root[l]];
  return v->kind == PARAMETER && v->parameter_leaf == l;
}

// The state that a loop begins with.
static hsc_status *copy_initial_state(inserter *in, const table *t, hsc_instr *loop) {
  table *body;
  HSC_TRY(table_of(in, loop->called[1], &body));
  int32_t count = hsc_shape_leaf_count(&loop->shape);
  const int32_t *init = t->leaves[loop->operands[0]->index];
  bool *wanted = HSC_NEW_ARRAY(in->cx->scratch, bool, count + 1);
  HSC_TRY(hsc_arena_status(in->cx->scratch));
  find_first(t, init, count);
  for (int32_t l = 0; l < count; l++)
    t->stays[init[l]] = false;
  for (int32_t l = 0; l < count; l++)
    t->stays[init[l]] |= is_invariant(body, l);
  for (int32_t l = 0; l < count; l++) {
    if (is_invariant(body, l))
      continue;
    const value *v = &t->values[init[l]];
    wanted[l] = must_stay(in, t, v) || v->last > loop->index || t->stays[init[l]] ||
                seen_before(t, init, l);
  }
  return copy_operand(in->cx, loop, 0, wanted);
}

// What a loop's body hands to the next trip.
static hsc_status *copy_next_state(inserter *in, hsc_instr *loop) {
  hsc_computation *computation = loop->called[1];
  table *body;
  HSC_TRY(table_of(in, computation, &body));
  if (body->root_done)
    return NULL;
  body->root_done = true;
  int32_t count = hsc_shape_leaf_count(&loop->shape);
  const int32_t *root = body->root;
  const int32_t *state = body->leaves[computation->parameters[0]->index];
  bool *wanted = HSC_NEW_ARRAY(in->cx->scratch, bool, count + 1);
  HSC_TRY(hsc_arena_status(in->cx->scratch));
  find_first(body, root, count);
  for (int32_t l = 0; l < count; l++) {
    const value *next = &body->values[root[l]];
    const value *old = &body->values[state[l]];
    if (is_invariant(body, l))
      continue;
    wanted[l] = next->kind != COMPUTED || seen_before(body, root, l) || old->last > next->def ||
                (old->last == next->def && !may_work_in_place(next->instr));
  }
  return copy_root(in->cx, computation, wanted);
}

static hsc_status *copy_branch_results(inserter *in, const table *t, hsc_instr *choice) {
  int32_t count = hsc_shape_leaf_count(&choice->shape);
  for (int b = 0; b < choice->called_count; b++) {
    hsc_computation *computation = choice->called[b];
    table *branch;
    HSC_TRY(table_of(in, computation, &branch));
    const int32_t *root = branch->root;
    if (branch->root_done)
      continue;
    branch->root_done = true;
    bool *wanted = HSC_NEW_ARRAY(in->cx->scratch, bool, count + 1);
    HSC_TRY(hsc_arena_status(in->cx->scratch));
    find_first(branch, root, count);
    for (int32_t l = 0; l < count; l++) {
      const value *v = &branch->values[root[l]];
      wanted[l] = v->kind == CONSTANT || seen_before(branch, root, l);
      if (v->kind != PARAMETER || wanted[l])
        continue;
      const value *outside =
          &t->values[t->leaves[choice->operands[b + 1]->index][v->parameter_leaf]];
      wanted[l] = must_stay(in, t, outside) || outside->last > choice->index;
    }
    HSC_TRY(copy_root(in->cx, computation, wanted));
  }
  return NULL;
}

static hsc_status *copy_results(inserter *in, const table *t) {
  hsc_computation *entry = in->module->entry;
  int32_t count = hsc_shape_leaf_count(&entry->root->shape);
  const int32_t *root = t->root;
  bool *wanted = HSC_NEW_ARRAY(in->cx->scratch, bool, count + 1);
  HSC_TRY(hsc_arena_status(in->cx->scratch));
  find_first(t, root, count);
  for (int32_t l = 0; l < count; l++) {
    const value *v = &t->values[root[l]];
    wanted[l] = v->kind == PARAMETER ? aliased_output(in, v->parameter_leaf) != l
                                     : v->kind == CONSTANT || seen_before(t, root, l);
  }
  return copy_root(in->cx, entry, wanted);
}

hsc_status *hsc__pass_copy_insertion(hsc_module *module, hsc_pass_context *cx) {
  hsc__mark_embedded(module);
  bool *embedded = HSC_NEW_ARRAY(cx->scratch, bool, module->computation_count + 1);
  inserter in = {.cx = cx,
                 .module = module,
                 .tables = HSC_NEW_ARRAY(cx->scratch, table, module->computation_count + 1),
                 .has_table = HSC_NEW_ARRAY(cx->scratch, bool, module->computation_count + 1)};
  HSC_TRY(hsc_arena_status(cx->scratch));
  for (int c = 0; c < module->computation_count; c++) {
    embedded[c] = hsc__computation_is_embedded(module->computations[c]);
    module->computations[c]->index = c;
  }
  HSC_TRY(find_aliases(&in));
  // All tables are made of the module as it was: a computation's root may change before what calls
  // it is looked at.
  for (int c = 0; c < module->computation_count; c++) {
    table *t;
    if (!embedded[c])
      HSC_TRY(table_of(&in, module->computations[c], &t));
  }
  for (int c = 0; c < module->computation_count; c++) {
    hsc_computation *computation = module->computations[c];
    if (embedded[c])
      continue;
    const table *t = &in.tables[c];
    HSC_FOR_EACH_INSTR_IN (computation, instr) {
      if (instr->op == HSC_OP_WHILE)
        HSC_TRY(copy_initial_state(&in, t, instr));
      if (instr->op == HSC_OP_CONDITIONAL)
        HSC_TRY(copy_branch_results(&in, t, instr));
    }
  }
  for (int c = 0; c < module->computation_count; c++) {
    if (embedded[c])
      continue;
    HSC_FOR_EACH_INSTR_IN (module->computations[c], instr)
      if (instr->op == HSC_OP_WHILE)
        HSC_TRY(copy_next_state(&in, instr));
  }
  return copy_results(&in, &in.tables[module->entry->index]);
}
