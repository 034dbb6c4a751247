// verify.c - is a module what the other parts may rely on? Links, order, users, names, parameters,
// shapes, called computations.
//
// Linear in the size of the module. Users are checked by count and by a sum of mixed pointers, so
// that an instruction with ten thousand uses costs no more than ten thousand instructions with one.
#include "hlo/infer/infer_internal.h"

enum { MAX_CALL_DEPTH = 512 };  // of computations: what walks calls recursively may count on it

// Points a status at an instruction: where it was in the text, its own text, its computation.
static hsc_status *at_instr(hsc_status *status, const hsc_instr *instr) {
  if (!status)
    return NULL;
  const hsc_module *module = instr->parent && instr->parent->module ? instr->parent->module : NULL;
  hsc_bytes text = {0};
  bool printable = instr->name && (unsigned)instr->op < HSC_OP_COUNT &&
                   instr->shape.rank <= HSC_MAX_RANK &&
                   (instr->shape.rank <= 0 || instr->shape.dims);
  for (int i = 0; printable && i < instr->operand_count; i++)
    printable = instr->operands[i] && instr->operands[i]->name;
  for (int i = 0; printable && i < instr->called_count; i++)
    printable = instr->called[i] && instr->called[i]->name;
  if (printable)
    hsc_instr_print(instr, &(hsc_print_options){.elide_large_constants = true, .no_metadata = true},
                    &text);
  status = hsc_status_at(status, module ? module->source_path : NULL, instr->line, instr->column,
                         printable ? hsc_bytes_text(&text) : NULL);
  hsc_bytes_deinit(&text);
  return hsc_status_note(status, "in instruction %%%s of computation %%%s",
                         instr->name ? instr->name : "?",
                         instr->parent ? instr->parent->name : "?");
}

// ---- shapes -------------------------------------------------------------------------------------

static hsc_status *check_layout(const hsc_instr *instr, const hsc_shape *shape) {
  const hsc_layout *layout = shape->layout;
  if (!layout)
    return NULL;
  uint64_t seen = 0;
  if (layout->rank != shape->rank)
    return hsc__infer_error(instr, "a layout of %d dimensions for a shape of %d", layout->rank,
                            shape->rank);
  for (int i = 0; i < layout->rank; i++) {
    int64_t dim = layout->minor_to_major[i];
    if (dim < 0 || dim >= shape->rank || seen >> dim & 1)
      return hsc__infer_error(instr, "the layout is not a permutation of %d dimensions",
                              shape->rank);
    seen |= 1ull << dim;
  }
  return NULL;
}

static hsc_status *check_shape(const hsc_instr *instr, const hsc_shape *shape, int depth) {
  if (depth > HSC_MAX_TUPLE_DEPTH)
    return hsc__infer_error(instr, "tuples nest deeper than %d", HSC_MAX_TUPLE_DEPTH);
  if (shape->type <= HSC_TYPE_INVALID || shape->type >= HSC_TYPE_COUNT)
    return hsc__infer_error(instr, "its shape has no valid type");
  if (shape->type == HSC_TYPE_TUPLE) {
    for (int i = 0; i < shape->element_count; i++)
      HSC_TRY(check_shape(instr, &shape->elements[i], depth + 1));
    return NULL;
  }
  if (shape->rank < 0 || shape->rank > HSC_MAX_RANK || (shape->rank > 0 && !shape->dims))
    return hsc__infer_error(instr, "its shape has %d dimensions; 0 to %d are allowed", shape->rank,
                            HSC_MAX_RANK);
  for (int i = 0; i < shape->rank; i++)
    if (shape->dims[i] < 0)
      return hsc__infer_error(instr, "dimension %d of its shape is negative: %lld", i,
                              (long long)shape->dims[i]);
  if (hsc_shape_bytes(shape) == INT64_MAX)
    return hsc__infer_error(instr, "its shape is larger than any memory");
  return check_layout(instr, shape);
}

// Types and bounds agree. Which dimensions are dynamic is a matter of the program: inference does
// not follow all of it.
static bool shapes_agree(const hsc_shape *a, const hsc_shape *b) {
  if (a->type != b->type)
    return false;
  if (a->type != HSC_TYPE_TUPLE)
    return !hsc_shape_is_array(a) || hsc_shape_same_dims(a, b);
  if (a->element_count != b->element_count)
    return false;
  if (a->elements == b->elements)
    return true;
  for (int i = 0; i < a->element_count; i++)
    if (!shapes_agree(&a->elements[i], &b->elements[i]))
      return false;
  return true;
}

static hsc_status *check_result(hsc_arena *scratch, const hsc_instr *instr) {
  hsc_shape inferred;
  HSC_TRY(check_shape(instr, &instr->shape, 0));
  HSC_TRY(hsc_infer_shape(scratch, instr, &inferred));
  if (shapes_agree(&inferred, &instr->shape))
    return NULL;
  return hsc__infer_error(instr, "gives %s, but says %s", hsc__shape_text(scratch, &inferred),
                          hsc__shape_text(scratch, &instr->shape));
}

static hsc_status *check_calls(const hsc_instr *instr) {
  if (instr->called_count > 0 && !(hsc_op_traits(instr->op) & HSC_TRAIT_CALLS))
    return hsc__infer_error(instr, "calls computation %%%s; this op calls none",
                            instr->called[0] ? instr->called[0]->name : "?");
  for (int i = 0; i < instr->called_count; i++) {
    const hsc_computation *called = instr->called[i];
    if (!called)
      return HSC_ERR(INTERNAL, "%s: called computation %d is missing", hsc_op_text(instr->op), i);
    if (called->module != instr->parent->module)
      return HSC_ERR(INTERNAL, "%s: called computation %%%s is not in the module",
                     hsc_op_text(instr->op), called->name);
    if (!called->root)
      return HSC_ERR(INTERNAL, "%s: called computation %%%s has no root", hsc_op_text(instr->op),
                     called->name);
  }
  return NULL;
}

static hsc_status *check_alone(hsc_arena *scratch, const hsc_instr *instr) {
  if ((unsigned)instr->op >= HSC_OP_COUNT)
    return HSC_ERR(INTERNAL, "instruction %%%s: unknown op %d", instr->name ? instr->name : "?",
                   (int)instr->op);
  if (!instr->name || !*instr->name)
    return HSC_ERR(INTERNAL, "%s: has no name", hsc_op_text(instr->op));
  for (int i = 0; i < instr->operand_count; i++)
    if (!instr->operands[i])
      return HSC_ERR(INTERNAL, "%s: operand %d is missing", hsc_op_text(instr->op), i);
  HSC_TRY(check_calls(instr));
  return check_result(scratch, instr);
}

hsc_status *hsc_instr_verify(const hsc_instr *instr) {
  hsc_arena *scratch = NULL;
  HSC_TRY(hsc_arena_create(&scratch));
  hsc_status *status = at_instr(check_alone(scratch, instr), instr);
  hsc_arena_destroy(scratch);
  return status;
}

// ---- links --------------------------------------------------------------------------------------

// What the operands and control edges of a computation say about one of its instructions.
typedef struct uses {
  uint64_t sum;  // of the mixed pointers of its users
  int32_t count, control_count;
} uses;

typedef struct verifier {
  const hsc_module *module;
  hsc_arena *scratch;   // reset after each instruction
  hsc__ptr_map listed;  // computations of the module
  hsc__ptr_map seen;    // instruction -> its uses; those before the current one
  uses *uses;           // of the computation, in program order
  int uses_capacity;
} verifier;

static uint64_t mix(const void *pointer) {
  uint64_t x = (uint64_t)(uintptr_t)pointer * 0x9e3779b97f4a7c15u;
  return (x ^ x >> 29) * 0xbf58476d1ce4e5b9u;
}

static hsc_status *check_links(verifier *v, const hsc_instr *instr) {
  const hsc_computation *computation = instr->parent;
  const char *op = hsc_op_text(instr->op);
  for (int i = 0; i < instr->operand_count; i++) {
    const hsc_instr *operand = instr->operands[i];
    uses *of_operand = hsc__ptr_map_get(&v->seen, operand);
    if (!of_operand)
      return HSC_ERR(
          INTERNAL, "%s: operand %d, %%%s, %s", op, i, operand->name ? operand->name : "?",
          operand->parent != computation ? "is not in its computation" : "comes after it");
    of_operand->count++;
    of_operand->sum += mix(instr);
  }
  for (int i = 0; i < instr->control_count; i++) {
    const hsc_instr *predecessor = instr->control_predecessors[i];
    uses *of_predecessor = predecessor ? hsc__ptr_map_get(&v->seen, predecessor) : NULL;
    if (!of_predecessor)
      return HSC_ERR(INTERNAL, "%s: control predecessor %d, %%%s, %s", op, i,
                     predecessor ? predecessor->name : "?",
                     !predecessor || predecessor->parent != computation
                         ? "is not in its computation"
                         : "comes after it");
    of_predecessor->control_count++;
  }
  for (int i = 0; i < instr->called_count; i++)
    if (!hsc__ptr_map_get(&v->listed, instr->called[i]))
      return HSC_ERR(INTERNAL, "%s: called computation %%%s is not in the module's list", op,
                     instr->called[i]->name);
  if (instr->op == HSC_OP_PARAMETER) {
    int64_t number = instr->attr.index.value;
    if (number < 0 || number >= computation->parameter_count ||
        computation->parameters[number] != instr)
      return HSC_ERR(INTERNAL,
                     "parameter: number %lld is not this instruction in the computation's list",
                     (long long)number);
  }
  if (!v->module->names_counted && hsc_map_get(v->module->names, hsc_view_of(instr->name)) != instr)
    return HSC_ERR(INTERNAL, "%s: its name is not registered in the module", op);
  return NULL;
}

static hsc_status *check_users(const hsc_instr *instr, const uses *wanted) {
  uint64_t sum = 0;
  for (int i = 0; i < instr->user_count; i++)
    sum += mix(instr->users[i]);
  if (instr->user_count != wanted->count || sum != wanted->sum)
    return HSC_ERR(INTERNAL,
                   "%s: its list of %d users is not what the %d operands that name it say",
                   hsc_op_text(instr->op), instr->user_count, wanted->count);
  if (instr->control_successor_count != wanted->control_count)
    return HSC_ERR(INTERNAL, "%s: counts %d control successors, %d name it", hsc_op_text(instr->op),
                   instr->control_successor_count, wanted->control_count);
  return NULL;
}

static hsc_status *reserve_uses(verifier *v, int count) {
  if (count > v->uses_capacity) {
    hsc_free(v->uses);
    v->uses_capacity = 0;
    v->uses = hsc_alloc((size_t)count * sizeof *v->uses);
    if (!v->uses)
      return hsc_status_out_of_memory();
    v->uses_capacity = count;
  } else if (count > 0) {
    memset(v->uses, 0, (size_t)count * sizeof *v->uses);
  }
  return NULL;
}

static hsc_status *in_computation(hsc_status *status, const hsc_computation *computation) {
  return hsc_status_note(status, "in computation %%%s", computation->name);
}

static hsc_status *check_list(const hsc_computation *computation) {
  int count = 0;
  const hsc_instr *last = NULL;
  for (const hsc_instr *instr = computation->first; instr; last = instr, instr = instr->next) {
    if (instr->prev != last || instr->parent != computation || ++count > computation->instr_count)
      return in_computation(
          HSC_ERR(INTERNAL, "computation %%%s: its list of instructions is broken at %%%s",
                  computation->name, instr->name ? instr->name : "?"),
          computation);
  }
  if (last != computation->last || count != computation->instr_count)
    return in_computation(HSC_ERR(INTERNAL, "computation %%%s: holds %d instructions, counts %d",
                                  computation->name, count, computation->instr_count),
                          computation);
  return NULL;
}

static hsc_status *check_computation(verifier *v, const hsc_computation *computation) {
  HSC_TRY(check_list(computation));
  HSC_TRY(reserve_uses(v, computation->instr_count));
  hsc__ptr_map_deinit(&v->seen);
  int at = 0;
  for (const hsc_instr *instr = computation->first; instr; instr = instr->next) {
    hsc_status *status = check_alone(v->scratch, instr);
    if (!status)
      status = check_links(v, instr);
    if (status)
      return at_instr(status, instr);
    hsc__ptr_map_put(&v->seen, instr, &v->uses[at++]);
    if (v->seen.failed)
      return hsc_status_out_of_memory();
    if (hsc_arena_used_bytes(v->scratch) > 1 << 16)
      hsc_arena_reset(v->scratch);
  }
  at = 0;
  for (const hsc_instr *instr = computation->first; instr; instr = instr->next)
    HSC_TRY(at_instr(check_users(instr, &v->uses[at++]), instr));
  for (int i = 0; i < computation->parameter_count; i++)
    if (!computation->parameters[i] || computation->parameters[i]->parent != computation)
      return in_computation(HSC_ERR(INVALID_ARGUMENT, "computation %%%s: parameter %d is missing",
                                    computation->name, i),
                            computation);
  if (!computation->root)
    return in_computation(
        HSC_ERR(INVALID_ARGUMENT, "computation %%%s: has no root", computation->name), computation);
  if (!hsc__ptr_map_get(&v->seen, computation->root))
    return in_computation(HSC_ERR(INTERNAL, "computation %%%s: its root %%%s is not in it",
                                  computation->name, computation->root->name),
                          computation);
  return NULL;
}

// ---- the module ---------------------------------------------------------------------------------

static hsc_status *check_call_depth(const hsc_module *module) {
  hsc_status *status = NULL;
  hsc__ptr_map depths = {0};
  int count = 0;
  hsc_computation **order = hsc_alloc(((size_t)module->computation_count + 1) * sizeof *order);
  if (!order)
    return hsc_status_out_of_memory();
  HSC_GOTO(hsc__call_order(module, order, &count));
  for (int i = 0; i < count; i++) {
    uintptr_t depth = 1;
    for (const hsc_instr *instr = order[i]->first; instr; instr = instr->next)
      for (int c = 0; c < instr->called_count; c++) {
        uintptr_t below = (uintptr_t)hsc__ptr_map_get(&depths, instr->called[c]);
        if (below + 1 > depth)
          depth = below + 1;
      }
    if (depth > MAX_CALL_DEPTH)
      HSC_GOTO(HSC_ERR(INVALID_ARGUMENT, "computation %%%s: calls nest deeper than %d",
                       order[i]->name, MAX_CALL_DEPTH));
    hsc__ptr_map_put(&depths, order[i], (void *)depth);
  }
  if (depths.failed)
    status = hsc_status_out_of_memory();
done:
  hsc__ptr_map_deinit(&depths);
  hsc_free(order);
  return status;
}

// The part of `shape` that `path` leads to; NULL when it leads nowhere.
static const hsc_shape *follow(const hsc_shape *shape, hsc_dims path) {
  for (int i = 0; i < path.count; i++) {
    if (shape->type != HSC_TYPE_TUPLE || path.v[i] < 0 || path.v[i] >= shape->element_count)
      return NULL;
    shape = &shape->elements[path.v[i]];
  }
  return shape;
}

static hsc_status *check_aliases(const hsc_module *module) {
  const hsc_computation *entry = module->entry;
  for (int i = 0; i < module->alias_count + module->donor_count; i++) {
    bool donor = i >= module->alias_count;
    const char *what = donor ? "buffer_donor" : "input_output_alias";
    int at = donor ? i - module->alias_count : i;
    const hsc_alias *alias = donor ? &module->donors[at] : &module->aliases[at];
    if (alias->parameter < 0 || alias->parameter >= entry->parameter_count)
      return HSC_ERR(INVALID_ARGUMENT, "module %s: %s %d names parameter %lld of %d", module->name,
                     what, at, (long long)alias->parameter, entry->parameter_count);
    const hsc_shape *in =
        follow(&entry->parameters[alias->parameter]->shape, alias->parameter_index);
    const hsc_shape *out = donor ? in : follow(&entry->root->shape, alias->output_index);
    if (!in || !out)
      return HSC_ERR(INVALID_ARGUMENT, "module %s: %s %d names a part that is not there",
                     module->name, what, at);
    if (!donor && hsc_shape_bytes(in) != hsc_shape_bytes(out))
      return HSC_ERR(INVALID_ARGUMENT, "module %s: %s %d joins %lld bytes with %lld", module->name,
                     what, at, (long long)hsc_shape_bytes(in), (long long)hsc_shape_bytes(out));
  }
  return NULL;
}

static hsc_status *check_module(verifier *v) {
  const hsc_module *module = v->module;
  if (!module->entry)
    return HSC_ERR(INVALID_ARGUMENT, "module %s: has no entry computation", module->name);
  for (int i = 0; i < module->computation_count; i++) {
    const hsc_computation *computation = module->computations[i];
    if (!computation || computation->module != module || !computation->name)
      return HSC_ERR(INTERNAL, "module %s: computation %d is not its own", module->name, i);
    if (hsc__ptr_map_get(&v->listed, computation))
      return HSC_ERR(INTERNAL, "module %s: lists computation %%%s twice", module->name,
                     computation->name);
    hsc__ptr_map_put(&v->listed, computation, (void *)computation);
  }
  if (v->listed.failed)
    return hsc_status_out_of_memory();
  if (!hsc__ptr_map_get(&v->listed, module->entry))
    return HSC_ERR(INTERNAL, "module %s: its entry %%%s is not in its list", module->name,
                   module->entry->name);
  for (int i = 0; i < module->computation_count; i++)
    HSC_TRY(check_computation(v, module->computations[i]));
  HSC_TRY(check_call_depth(module));
  return check_aliases(module);
}

hsc_status *hsc_module_verify(const hsc_module *module) {
  verifier v = {.module = module};
  HSC_TRY(hsc_arena_create(&v.scratch));
  hsc_status *status = check_module(&v);
  hsc__ptr_map_deinit(&v.listed);
  hsc__ptr_map_deinit(&v.seen);
  hsc_free(v.uses);
  hsc_arena_destroy(v.scratch);
  return status;
}
