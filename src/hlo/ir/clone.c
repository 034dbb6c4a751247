// clone.c - copies of computations and modules.
//
// A computation is cloned in two rounds: all its instructions without their links, then the links,
// since an instruction may name one that comes later. Within a module attributes and texts are
// shared (they live in the module's arena and never change); into another module they are copied,
// and metadata once for all instructions that share it.
#include "hlo/ir/hlo_internal.h"

typedef struct cloner {
  hsc_module *to;
  const char *suffix;  // NULL = names as they are, made unique
  bool same_module;    // attributes and texts are shared, not copied
  bool deep;
  bool whole_module;          // into an empty module: names are unique as they are
  hsc__ptr_map computations;  // computation -> its clone
  hsc__ptr_map metadata;      // metadata -> its copy: many instructions share one
} cloner;

static const char *copy_text(hsc_arena *arena, const char *text) {
  return text ? hsc_arena_strdup(arena, text) : NULL;
}

static const hsc_metadata *copy_metadata(hsc_arena *arena, const hsc_metadata *from) {
  hsc_metadata *copy = hsc_arena_copy(arena, from, sizeof *from);
  copy->op_type = copy_text(arena, from->op_type);
  copy->op_name = copy_text(arena, from->op_name);
  copy->source_file = copy_text(arena, from->source_file);
  copy->extra = copy_text(arena, from->extra);
  return copy;
}

void hsc__instr_copy_texts(hsc_arena *arena, const hsc_instr *from, hsc_instr *to) {
  to->metadata = from->metadata ? copy_metadata(arena, from->metadata) : NULL;
  to->sharding = copy_text(arena, from->sharding);
  to->frontend_attributes = copy_text(arena, from->frontend_attributes);
  to->backend_config = copy_text(arena, from->backend_config);
  to->extra_attributes = copy_text(arena, from->extra_attributes);
}

static const char *name_with_suffix(cloner *c, const char *name) {
  return c->suffix ? hsc_arena_printf(c->to->arena, "%s.%s", name, c->suffix) : name;
}

// Registers the clone's name; NULL when out of memory. In a copy of a whole module names are as
// they were, so that a clone can be found by the name that a user knows.
static const char *clone_name(cloner *c, const char *name, hsc_instr *clone) {
  if (!c->whole_module)
    return hsc__unique_name(c->to, c->to->names, name_with_suffix(c, name), clone);
  if (!hsc__names_list(c->to))
    return NULL;
  size_t size = strlen(name);
  const char *copy = hsc_arena_strndup(c->to->arena, name, size);
  hsc_status *status =
      copy ? hsc_map_put(c->to->names, (hsc_view){copy, size}, clone) : hsc_status_out_of_memory();
  hsc_status_free(status);
  return status ? NULL : copy;
}

// The clone without its links.
static hsc_status *clone_instr(cloner *c,
                               const hsc_instr *from,
                               hsc_computation *into,
                               hsc_instr **out_clone) {
  hsc_arena *arena = c->to->arena;
  hsc_instr *instr = HSC_NEW(arena, hsc_instr);
  HSC_TRY(hsc_arena_status(arena));
  instr->op = from->op;
  instr->parent = into;
  instr->line = from->line;
  instr->column = from->column;
  if (c->same_module) {
    instr->shape = from->shape;
    instr->attr = from->attr;
    instr->metadata = from->metadata;
    instr->sharding = from->sharding;
    instr->frontend_attributes = from->frontend_attributes;
    instr->backend_config = from->backend_config;
    instr->extra_attributes = from->extra_attributes;
  } else {
    instr->shape = hsc_shape_copy(arena, from->shape);
    hsc__attr_copy(arena, from->op, &from->attr, &instr->attr);
    instr->sharding = copy_text(arena, from->sharding);
    instr->frontend_attributes = copy_text(arena, from->frontend_attributes);
    instr->backend_config = copy_text(arena, from->backend_config);
    instr->extra_attributes = copy_text(arena, from->extra_attributes);
    if (from->metadata) {
      instr->metadata = hsc__ptr_map_get(&c->metadata, from->metadata);
      if (!instr->metadata) {
        instr->metadata = copy_metadata(arena, from->metadata);
        hsc__ptr_map_put(&c->metadata, from->metadata, (void *)instr->metadata);
      }
    }
  }
  instr->id = c->to->next_id++;
  instr->name = clone_name(c, from->name, instr);
  if (!instr->name)
    return hsc_status_out_of_memory();
  hsc__list_insert(into, instr, NULL);
  if (from->op == HSC_OP_PARAMETER && from->attr.index.value < from->parent->parameter_count &&
      from->parent->parameters[from->attr.index.value] == from)
    hsc__computation_add_parameter(into, instr, from->attr.index.value);
  *out_clone = instr;
  return hsc_arena_status(arena);
}

static hsc_status *clone_computation(cloner *c,
                                     const hsc_computation *from,
                                     int depth,
                                     hsc_computation **out_clone);

// Operands, called computations and control edges of a clone; its users and callers follow from
// them. A control edge to an instruction that was not cloned is left out.
static hsc_status *link_clone(
    cloner *c, const hsc__ptr_map *instrs, const hsc_instr *from, hsc_instr *instr, int depth) {
  hsc_arena *arena = c->to->arena;
  if (from->operand_count > 0) {
    instr->operands = HSC_NEW_ARRAY(arena, hsc_instr *, from->operand_count);
    HSC_TRY(hsc_arena_status(arena));
    for (int i = 0; i < from->operand_count; i++) {
      instr->operands[i] = hsc__ptr_map_get(instrs, from->operands[i]);
      if (!instr->operands[i])
        return HSC_ERR(INVALID_ARGUMENT, "%s %%%s: operand %d is not in its computation",
                       hsc_op_text(from->op), from->name, i);
    }
    instr->operand_count = from->operand_count;
    for (int i = 0; i < instr->operand_count; i++)
      hsc__use_add(instr->operands[i], instr, i);
  }
  if (from->called_count > 0) {
    instr->called = HSC_NEW_ARRAY(arena, hsc_computation *, from->called_count);
    HSC_TRY(hsc_arena_status(arena));
    instr->called_count = from->called_count;
    for (int i = 0; i < from->called_count; i++) {
      if (!c->deep)
        instr->called[i] = from->called[i];
      else
        HSC_TRY(clone_computation(c, from->called[i], depth + 1, &instr->called[i]));
    }
    hsc__calls_add(instr, 1);
  }
  for (int i = 0; i < from->control_count; i++) {
    hsc_instr *predecessor = hsc__ptr_map_get(instrs, from->control_predecessors[i]);
    if (predecessor)
      hsc_instr_add_control_predecessor(instr, predecessor);
  }
  return NULL;
}

enum { MAX_DEPTH = 2048 };  // of calls; the verifier allows fewer

static hsc_status *clone_computation(cloner *c,
                                     const hsc_computation *from,
                                     int depth,
                                     hsc_computation **out_clone) {
  *out_clone = hsc__ptr_map_get(&c->computations, from);
  if (*out_clone)
    return NULL;
  if (depth > MAX_DEPTH)
    return HSC_ERR(FAILED_PRECONDITION, "computation %%%s: calls nest deeper than %d", from->name,
                   MAX_DEPTH);
  hsc_status *status = NULL;
  hsc__ptr_map instrs = {0};
  hsc_computation *clone = hsc_module_add_computation(c->to, name_with_suffix(c, from->name));
  if (!clone)
    return hsc_status_out_of_memory();
  clone->execution_thread = copy_text(c->to->arena, from->execution_thread);
  for (const hsc_instr *instr = from->first; instr; instr = instr->next) {
    hsc_instr *copy = NULL;
    HSC_GOTO(clone_instr(c, instr, clone, &copy));
    hsc__ptr_map_put(&instrs, instr, copy);
  }
  if (instrs.failed)
    HSC_GOTO(hsc_status_out_of_memory());
  for (const hsc_instr *instr = from->first; instr; instr = instr->next)
    HSC_GOTO(link_clone(c, &instrs, instr, hsc__ptr_map_get(&instrs, instr), depth));
  clone->root = hsc__ptr_map_get(&instrs, from->root);
  hsc__ptr_map_put(&c->computations, from, clone);
  if (c->computations.failed)
    HSC_GOTO(hsc_status_out_of_memory());
  *out_clone = clone;
done:
  hsc__ptr_map_deinit(&instrs);
  return status;
}

static void cloner_deinit(cloner *c) {
  hsc__ptr_map_deinit(&c->computations);
  hsc__ptr_map_deinit(&c->metadata);
}

hsc_status *hsc_computation_clone(hsc_module *to,
                                  const hsc_computation *computation,
                                  const char *suffix,
                                  bool deep,
                                  hsc_computation **out_clone) {
  cloner c = {.to = to, .suffix = suffix, .same_module = computation->module == to, .deep = deep};
  if (!deep && !c.same_module)
    for (const hsc_instr *instr = computation->first; instr; instr = instr->next)
      if (instr->called_count > 0)
        return HSC_ERR(
            FAILED_PRECONDITION,
            "computation %%%s: %s %%%s calls %%%s: only a deep clone goes into another module",
            computation->name, hsc_op_text(instr->op), instr->name, instr->called[0]->name);
  hsc_status *status = clone_computation(&c, computation, 0, out_clone);
  cloner_deinit(&c);
  return status;
}

static const hsc_alias *copy_aliases(hsc_arena *arena, const hsc_alias *from, int count) {
  if (count == 0)
    return NULL;
  hsc_alias *copy = hsc_arena_copy(arena, from, (size_t)count * sizeof *from);
  for (int i = 0; copy && i < count; i++) {
    copy[i].output_index = hsc_dims_copy(arena, from[i].output_index.count, from[i].output_index.v);
    copy[i].parameter_index =
        hsc_dims_copy(arena, from[i].parameter_index.count, from[i].parameter_index.v);
  }
  return copy;
}

static const char *const *copy_texts(hsc_arena *arena, const char *const *from, int count) {
  const char **copy = count > 0 ? HSC_NEW_ARRAY(arena, const char *, count) : NULL;
  for (int i = 0; copy && i < count; i++)
    copy[i] = copy_text(arena, from[i]);
  return copy;
}

static const hsc_stack_index *copy_stack_index(hsc_arena *arena, const hsc_stack_index *from) {
  hsc_stack_index *copy = hsc_arena_copy(arena, from, sizeof *from);
  copy->file_names = copy_texts(arena, from->file_names, from->file_name_count);
  copy->function_names = copy_texts(arena, from->function_names, from->function_name_count);
  if (from->location_count)
    copy->locations = hsc_arena_copy(arena, from->locations,
                                     (size_t)from->location_count * sizeof *from->locations);
  if (from->frame_count)
    copy->frames =
        hsc_arena_copy(arena, from->frames, (size_t)from->frame_count * sizeof *from->frames);
  return copy;
}

hsc_status *hsc_module_clone(const hsc_module *module, hsc_module **out_module) {
  hsc_status *status = NULL;
  hsc_module *clone = NULL;
  cloner c = {.deep = true, .whole_module = true};
  HSC_TRY(hsc_module_create(module->name, &clone));
  hsc_arena *arena = clone->arena;
  c.to = clone;
  for (int i = 0; i < module->computation_count; i++) {
    hsc_computation *copy = NULL;
    HSC_GOTO(clone_computation(&c, module->computations[i], 0, &copy));
  }
  if (module->entry)
    clone->entry = hsc__ptr_map_get(&c.computations, module->entry);
  clone->is_scheduled = module->is_scheduled;
  clone->layout_text = copy_text(arena, module->layout_text);
  clone->aliases = copy_aliases(arena, module->aliases, module->alias_count);
  clone->alias_count = module->alias_count;
  clone->donors = copy_aliases(arena, module->donors, module->donor_count);
  clone->donor_count = module->donor_count;
  clone->num_partitions = module->num_partitions;
  clone->replica_count = module->replica_count;
  clone->extra_attributes = copy_text(arena, module->extra_attributes);
  clone->source_path = copy_text(arena, module->source_path);
  if (module->stack_index)
    clone->stack_index = copy_stack_index(arena, module->stack_index);
  HSC_GOTO(hsc_arena_status(arena));
done:
  cloner_deinit(&c);
  if (status)
    hsc_module_destroy(clone);
  else
    *out_module = clone;
  return status;
}
