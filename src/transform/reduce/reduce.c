// reduce.c - the frame of every rule: copy, change, sweep, verify; where parameters' values come
// from.
#include "transform/reduce/reduce_internal.h"

static const struct {
  hsc_reduce_rule rule;
  hsc__reduce_fn run;
} RULES[] = {
#define RULE(id, rule_name, rule_doc) \
  {.rule = {.name = rule_name, .doc = rule_doc}, .run = hsc__reduce_##id},
#include "transform/reduce/reduce_rules.def"
#undef RULE
};

size_t hsc_reduce_rule_count(void) {
  return HSC_COUNT_OF(RULES);
}
const hsc_reduce_rule *hsc_reduce_rule_at(size_t index) {
  return &RULES[index].rule;
}
const hsc_reduce_rule *hsc_reduce_rule_get(const char *name) {
  for (size_t i = 0; i < HSC_COUNT_OF(RULES); i++)
    if (!strcmp(RULES[i].rule.name, name))
      return &RULES[i].rule;
  return NULL;
}

void hsc_reduced_deinit(hsc_reduced *reduced) {
  hsc_module_destroy(reduced->module);
  *reduced = (hsc_reduced){0};
}

// ---- a copy, and back ---------------------------------------------------------------------------

static bool is_unused(const hsc_instr *instr) {
  return instr->user_count == 0 && hsc_instr_is_dead(instr);
}

// What nothing uses in the program as it came stays until a rule takes it: compilers fall over it
// all the same.
static hsc_status *note_unused(hsc__reducing *r) {
  HSC_FOR_EACH_COMPUTATION (r->module, computation)
    HSC_FOR_EACH_INSTR_IN (computation, instr)
      if (is_unused(instr))
        HSC_TRY(hsc__reduce_keep(r, instr));
  return NULL;
}

hsc_status *hsc__reduce_begin(const hsc_module *module, hsc__reducing *r) {
  HSC_TRY(hsc_module_clone(module, &r->module));
  const hsc_instr *original = module->entry->first;
  HSC_FOR_EACH_COMPUTATION (r->module, computation)
    HSC_FOR_EACH_INSTR_IN (computation, instr)
      instr->scratch = NULL;
  for (hsc_instr *copy = r->module->entry->first; copy && original; copy = copy->next) {
    copy->scratch = (void *)(uintptr_t)original;
    original = original->next;
  }
  r->module->layout_text = NULL;  // says shapes that may change
  r->module->alias_count = r->module->donor_count = 0;
  r->module->is_scheduled = false;
  return note_unused(r);
}

static hsc_status *describe_inputs(hsc__reducing *r, hsc_reduce_input **out_inputs) {
  hsc_computation *entry = r->module->entry;
  hsc_reduce_input *inputs =
      HSC_NEW_ARRAY(r->module->arena, hsc_reduce_input, entry->parameter_count + 1);
  HSC_TRY(hsc_arena_status(r->module->arena));
  for (int p = 0; p < entry->parameter_count; p++) {
    hsc_instr *parameter = entry->parameters[p];
    const hsc_instr *original = parameter->scratch;
    inputs[p].parameter = -1;
    for (int i = 0; i < r->added_count; i++)
      if (r->added[i].parameter == parameter)
        inputs[p].value_of = r->added[i].value_of;
    if (inputs[p].value_of || !original)
      continue;
    inputs[p].parameter = (int32_t)original->attr.index.value;
    if (!hsc_shape_equal(&original->shape, &parameter->shape)) {
      hsc_shape *from = HSC_NEW(r->module->arena, hsc_shape);
      *from = hsc_shape_copy(r->module->arena, original->shape);
      inputs[p].from = from;
    }
  }
  *out_inputs = inputs;
  return NULL;
}

static void close_up_parameters(hsc_computation *entry) {
  int kept = 0;
  for (int p = 0; p < entry->parameter_count; p++) {
    hsc_instr *parameter = entry->parameters[p];
    if (!parameter)
      continue;
    parameter->attr.index.value = kept;
    entry->parameters[kept++] = parameter;
  }
  entry->parameter_count = kept;
}

// Removes instructions of all computations that became dead, and parameters of the entry
// computation that nothing uses; numbers of those that stay close up.
static void reduce_sweep(hsc__reducing *r) {
  HSC_FOR_EACH_COMPUTATION (r->module, computation)
    for (hsc_instr *instr = computation->last, *before; instr; instr = before) {
      before = instr->prev;
      if (hsc_instr_is_dead(instr) && !hsc__reduce_was_unused(r, instr))
        hsc_instr_remove(instr);
    }
  hsc_computation *entry = r->module->entry;
  for (int p = entry->parameter_count - 1; p >= 0; p--) {
    hsc_instr *parameter = entry->parameters[p];
    if (parameter && parameter->user_count == 0 && entry->root != parameter)
      hsc_instr_remove(parameter);
  }
  close_up_parameters(entry);
}

hsc_status *hsc__reduce_end(hsc__reducing *r, hsc_status *status, hsc_reduced *out_reduced) {
  *out_reduced = (hsc_reduced){0};
  if (!status && r->changed) {
    reduce_sweep(r);
    hsc_status *wrong = hsc_module_sort(r->module);
    if (!wrong)
      wrong = hsc_module_verify(r->module);
    bool memory = wrong && hsc_status_code(wrong) == HSC_RESOURCE_EXHAUSTED;
    if (memory)
      status = wrong;
    else if (wrong)
      hsc_status_free(wrong);
    if (!wrong)
      status = describe_inputs(r, &out_reduced->inputs);
    if (!wrong && !status) {
      out_reduced->module = r->module;
      r->module = NULL;
    }
  } else if (status && hsc_status_code(status) != HSC_RESOURCE_EXHAUSTED) {
    hsc_status_free(status);  // an edit that did not fit: nothing comes of it
    status = NULL;
  }
  hsc_module_destroy(r->module);
  hsc_free(r->added);
  return status;
}

static hsc__reduce_fn function_of(const hsc_reduce_rule *rule) {
  for (size_t i = 0; i < HSC_COUNT_OF(RULES); i++)
    if (&RULES[i].rule == rule)
      return RULES[i].run;
  return NULL;
}

hsc_status *hsc_reduce_places(const hsc_reduce_rule *rule,
                              const hsc_module *module,
                              int64_t *out_count) {
  hsc__reducing r = {0};
  HSC_TRY(hsc__reduce_begin(module, &r));
  hsc_status *status = function_of(rule)(&r);
  *out_count = r.places;
  hsc_module_destroy(r.module);
  hsc_free(r.added);
  return status;
}

hsc_status *hsc_reduce_apply(const hsc_reduce_rule *rule,
                             const hsc_module *module,
                             const bool *chosen,
                             int64_t count,
                             hsc_reduced *out_reduced) {
  hsc__reducing r = {.chosen = chosen, .chosen_count = count};
  *out_reduced = (hsc_reduced){0};
  HSC_TRY(hsc__reduce_begin(module, &r));
  return hsc__reduce_end(&r, function_of(rule)(&r), out_reduced);
}

// ---- the whole program at once ------------------------------------------------------------------

// The leaves of a value of tuples, built after what is there.
static int unpack(hsc_builder *b, hsc_instr *value, hsc_instr **leaves) {
  int count = 0;
  if (!hsc_shape_is_tuple(&value->shape)) {
    leaves[0] = value;
    return 1;
  }
  for (int i = 0; i < value->shape.element_count; i++) {
    hsc_instr *element =
        value->op == HSC_OP_TUPLE ? value->operands[i] : hsc_build_get_tuple_element(b, value, i);
    count += unpack(b, element, leaves + count);
  }
  return count;
}

static hsc_instr *pack_parameters(hsc__reducing *r, hsc_builder *b, hsc_shape shape, int *number) {
  if (!hsc_shape_is_tuple(&shape))
    return hsc_build_parameter(b, (*number)++, hsc_shape_without_layout(r->module->arena, shape),
                               "p");
  hsc_instr **elements = HSC_NEW_ARRAY(r->module->arena, hsc_instr *, shape.element_count + 1);
  for (int i = 0; elements && i < shape.element_count; i++)
    elements[i] = pack_parameters(r, b, shape.elements[i], number);
  return hsc_build_tuple(b, elements ? shape.element_count : 0, elements);
}

// Every parameter anew, leaf by leaf. The old ones are unused then.
static hsc_status *flatten_parameters(hsc__reducing *r) {
  hsc_computation *entry = r->module->entry;
  int count = entry->parameter_count;
  hsc_instr **old = HSC_NEW_ARRAY(r->module->arena, hsc_instr *, count + 1);
  int number = 0;
  HSC_TRY(hsc_arena_status(r->module->arena));
  if (count)
    memcpy(old, entry->parameters, (size_t)count * sizeof *old);
  entry->parameter_count = 0;
  entry->parameters = NULL;
  hsc_builder b;
  hsc_builder_at(&b, entry, entry->first);
  for (int p = 0; p < count && !b.status; p++) {
    hsc_instr *value = pack_parameters(r, &b, old[p]->shape, &number);
    if (!b.status)
      b.status = hsc_instr_replace_uses(old[p], value);
  }
  HSC_TRY(hsc_builder_finish(&b, NULL, NULL));
  for (int p = 0; p < count; p++) {
    old[p]->attr.index.value = INT32_MAX;  // none of the list's
    hsc_instr_remove(old[p]);
  }
  return NULL;
}

static hsc_status *flatten_root(hsc_module *module) {
  hsc_computation *entry = module->entry;
  hsc_instr *root = entry->root;
  int leaves = hsc_shape_leaf_count(&root->shape);
  if (!hsc_shape_is_tuple(&root->shape))
    return NULL;
  hsc_instr **elements = HSC_NEW_ARRAY(module->arena, hsc_instr *, leaves + 1);
  HSC_TRY(hsc_arena_status(module->arena));
  hsc_builder b;
  hsc_builder_at(&b, entry, NULL);
  int count = unpack(&b, root, elements);
  hsc_instr *flat = hsc_build_tuple(&b, count, elements);
  return hsc_builder_finish(&b, flat, NULL);
}

hsc_status *hsc_reduce_flatten(const hsc_module *module, hsc_reduced *out_reduced) {
  hsc__reducing r = {.changed = true};
  HSC_TRY(hsc__reduce_begin(module, &r));
  hsc_status *status = flatten_parameters(&r);
  if (!status)
    status = flatten_root(r.module);
  if (!status)
    status = hsc_module_sort(r.module);
  if (!status)
    status = hsc_module_verify(r.module);
  hsc_computation *entry = r.module->entry;
  hsc_reduce_input *inputs =
      HSC_NEW_ARRAY(r.module->arena, hsc_reduce_input, entry->parameter_count + 1);
  if (!status)
    status = hsc_arena_status(r.module->arena);
  for (int p = 0; !status && p < entry->parameter_count; p++)
    inputs[p].parameter = p;
  *out_reduced = (hsc_reduced){.module = status ? NULL : r.module, .inputs = inputs};
  if (status)
    hsc_module_destroy(r.module);
  return status;
}

// ---- cuts through the entry computation ---------------------------------------------------------

int64_t hsc_reduce_entry_count(const hsc_module *module) {
  return module->entry->instr_count - module->entry->parameter_count;
}

// Numbers the instructions of the entry computation, parameters -1.
static void number(hsc_computation *entry) {
  int32_t next = 0;
  for (hsc_instr *instr = entry->first; instr; instr = instr->next)
    instr->index = instr->op == HSC_OP_PARAMETER ? -1 : next++;
}

static bool used_from(const hsc_instr *instr, int64_t cut) {
  for (int i = 0; i < instr->user_count; i++)
    if (instr->users[i]->index >= cut)
      return true;
  return instr->parent->root == instr;
}

hsc_status *hsc_reduce_keep_first(const hsc_module *module,
                                  int64_t count,
                                  hsc_reduced *out_reduced) {
  hsc__reducing r = {.changed = true};
  *out_reduced = (hsc_reduced){0};
  HSC_TRY(hsc__reduce_begin(module, &r));
  hsc_computation *entry = r.module->entry;
  number(entry);
  int room = 0;
  for (hsc_instr *instr = entry->first; instr; instr = instr->next)
    room += hsc_shape_leaf_count(&instr->shape);
  hsc_instr **leaves = hsc_alloc((size_t)(room + 1) * sizeof *leaves);
  hsc_builder b;
  hsc_builder_at(&b, entry, NULL);
  int found = 0;
  hsc_instr *last = entry->last;
  for (hsc_instr *instr = entry->first; leaves && instr; instr = instr->next) {
    if (instr->index >= 0 && instr->index < count && used_from(instr, count) &&
        instr->op != HSC_OP_CONSTANT)
      found += unpack(&b, instr, leaves + found);
    if (instr == last)
      break;
  }
  hsc_instr *root = found == 1 ? leaves[0] : hsc_build_tuple(&b, found, leaves);
  hsc_status *status = hsc_builder_finish(&b, found ? root : NULL, NULL);
  if (!leaves && !status)
    status = hsc_status_out_of_memory();
  r.changed = found > 0;
  hsc_free(leaves);
  return hsc__reduce_end(&r, status, out_reduced);
}

// Parameters for the leaves of `instr`, whose values are those of get-tuple-elements of it: only
// arrays, and tuples that the program takes apart itself, can be cut at.
static hsc_status *cut_off(hsc__reducing *r, hsc_instr *instr, int64_t cut) {
  if (hsc_shape_is_array(&instr->shape))
    return hsc__reduce_by_parameter(r, instr);
  for (int i = 0; i < instr->user_count; i++)
    if (instr->users[i]->index >= cut && instr->users[i]->op != HSC_OP_GET_TUPLE_ELEMENT)
      return HSC_ERR(INVALID_ARGUMENT, "%%%s is used whole", instr->name);
  while (instr->user_count > 0) {
    hsc_instr *element = NULL;
    for (int i = 0; i < instr->user_count && !element; i++)
      if (instr->users[i]->index >= cut)
        element = instr->users[i];
    if (!element)
      break;
    HSC_TRY(cut_off(r, element, cut));
    element->index = -1;
  }
  return NULL;
}

hsc_status *hsc_reduce_drop_first(const hsc_module *module,
                                  int64_t count,
                                  hsc_reduced *out_reduced) {
  hsc__reducing r = {.changed = count > 0};
  *out_reduced = (hsc_reduced){0};
  HSC_TRY(hsc__reduce_begin(module, &r));
  number(r.module->entry);
  hsc_status *status = NULL;
  for (hsc_instr *instr = r.module->entry->first; instr && !status; instr = instr->next)
    if (instr->index >= 0 && instr->index < count && used_from(instr, count) &&
        instr->op != HSC_OP_CONSTANT)
      status = cut_off(&r, instr, count);
  return hsc__reduce_end(&r, status, out_reduced);
}

hsc_status *hsc_reduce_values(const hsc_module *module,
                              const hsc_instr *const *instrs,
                              int count,
                              hsc_module **out_module) {
  hsc__reducing r = {0};
  hsc_status *status = NULL;
  *out_module = NULL;
  HSC_TRY(hsc__reduce_begin(module, &r));
  hsc_instr **values = hsc_alloc((size_t)(count + 1) * sizeof *values);
  int found = 0;
  if (!values)
    HSC_GOTO(hsc_status_out_of_memory());
  // instrs may be in any order; copies point to what they are copies of
  for (int i = 0; i < count; i++)
    for (hsc_instr *copy = r.module->entry->first; copy && found == i; copy = copy->next)
      if (copy->scratch == instrs[i])
        values[found++] = copy;
  if (found != count)
    HSC_GOTO(HSC_ERR(INVALID_ARGUMENT, "an instruction of another computation"));
  hsc_builder b;
  hsc_builder_at(&b, r.module->entry, NULL);
  hsc_instr *root = hsc_build_tuple(&b, count, values);
  HSC_GOTO(hsc_builder_finish(&b, root, NULL));
  HSC_GOTO(hsc_module_sort(r.module));
  HSC_GOTO(hsc_module_verify(r.module));
  *out_module = r.module;
  r.module = NULL;
done:
  hsc_free(values);
  hsc_module_destroy(r.module);
  return status;
}
