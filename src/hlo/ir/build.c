// build.c - the builder: appending instructions with checked operands and sticky errors.
#include "base/text/text.h"
#include "hlo/ir/hlo_internal.h"

void hsc_builder_init(hsc_builder *builder, hsc_module *module, const char *computation_name) {
  // Out of memory: an empty one that belongs to nobody, which callers may look at until they
  // finish.
  static _Thread_local hsc_computation none;
  *builder = (hsc_builder){.module = module};
  builder->computation = hsc_module_add_computation(module, computation_name);
  if (builder->computation)
    return;
  none = (hsc_computation){.module = module, .name = ""};
  builder->computation = &none;
  builder->status = hsc_status_out_of_memory();
}

void hsc_builder_at(hsc_builder *builder, hsc_computation *computation, hsc_instr *before) {
  *builder =
      (hsc_builder){.module = computation->module, .computation = computation, .before = before};
  if (before && before->parent != computation)
    builder->status = HSC_ERR(INVALID_ARGUMENT, "builder: %%%s is not in computation %%%s",
                              before->name, computation->name);
}

hsc_status *hsc_builder_finish(hsc_builder *builder,
                               hsc_instr *root,
                               hsc_computation **out_computation) {
  hsc_status *status = builder->status;
  builder->status = NULL;
  if (!status)
    status = hsc_arena_status(builder->module->arena);
  if (!status && root && root->parent != builder->computation)
    status = HSC_ERR(INVALID_ARGUMENT, "builder: root %%%s is not in computation %%%s", root->name,
                     builder->computation->name);
  if (!status && !root && !builder->computation->root)
    status = HSC_ERR(INVALID_ARGUMENT, "builder: computation %%%s has no root",
                     builder->computation->name);
  if (status)
    return status;
  if (root)
    builder->computation->root = root;
  if (out_computation)
    *out_computation = builder->computation;
  return NULL;
}

// What calls return after a failure: linked nowhere, and safe to look at as any kind of
// instruction.
hsc_instr *hsc__build_dummy(hsc_op op, hsc_shape shape) {
  static const int64_t ones[HSC_MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
                                             1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  static _Thread_local hsc_instr dummy;
  static _Thread_local hsc_computation nowhere;
  if (shape.type == HSC_TYPE_INVALID)
    shape = hsc_shape_scalar(HSC_TYPE_F32);
  if (!shape.dims)
    shape.dims = ones;
  nowhere = (hsc_computation){.name = "error"};
  dummy = (hsc_instr){.op = op, .name = "error", .shape = shape, .parent = &nowhere};
  return &dummy;
}

void hsc__build_fail(hsc_builder *b, hsc_status *status) {
  if (b->status)
    hsc_status_free(status);
  else
    b->status = status;
}

static bool operands_are_good(hsc_builder *b, hsc_op op, int count, hsc_instr *const *operands) {
  int arity = hsc_op_arity(op);
  if (arity != VARIADIC_ARITY && arity != count) {
    hsc__build_fail(b, HSC_ERR(INVALID_ARGUMENT, "%s: takes %d operand%s, was given %d",
                               hsc_op_text(op), arity, hsc_plural((double)arity, "", "s"), count));
    return false;
  }
  for (int i = 0; i < count; i++) {
    if (!operands[i]) {
      hsc__build_fail(b,
                      HSC_ERR(INVALID_ARGUMENT, "%s: operand %d is missing", hsc_op_text(op), i));
      return false;
    }
    if (operands[i]->parent != b->computation) {
      hsc__build_fail(b,
                      HSC_ERR(INVALID_ARGUMENT, "%s: operand %d, %%%s, is not in computation %%%s",
                              hsc_op_text(op), i, operands[i]->name, b->computation->name));
      return false;
    }
  }
  return true;
}

// Makes the instruction, with its name and links still to come; NULL after a failure.
static hsc_instr *make(hsc_builder *b,
                       hsc_op op,
                       hsc_shape shape,
                       int count,
                       hsc_instr *const *operands,
                       int called_count,
                       hsc_computation *const *called) {
  hsc_arena *arena = b->module->arena;
  hsc_instr *instr = HSC_NEW(arena, hsc_instr);
  hsc_instr **operand_copy =
      count > 0 ? hsc_arena_copy(arena, operands, (size_t)count * sizeof *operands) : NULL;
  hsc_computation **called_copy =
      called_count > 0 ? hsc_arena_copy(arena, called, (size_t)called_count * sizeof *called)
                       : NULL;
  hsc_status *status = hsc_arena_status(arena);
  if (status) {
    hsc__build_fail(b, status);
    return NULL;
  }
  instr->op = op;
  instr->shape = shape;
  instr->operands = operand_copy;
  instr->operand_count = count;
  instr->called = called_copy;
  instr->called_count = called_count;
  hsc__calls_add(instr, 1);
  instr->parent = b->computation;
  instr->metadata = b->metadata;
  return instr;
}

// Gives it a name, and puts it into the computation. False after a failure.
static bool link(hsc_builder *b, hsc_instr *instr, const char *name) {  // name NULL: after its op
  instr->name = name ? hsc__unique_name(b->module, b->module->names, name, instr)
                     : hsc__op_name(b->module, instr);
  if (!instr->name) {
    hsc__build_fail(b, hsc_status_out_of_memory());
    return false;
  }
  instr->id = b->module->next_id++;
  for (int i = 0; i < instr->operand_count; i++)
    hsc__use_add(instr->operands[i], instr, i);
  hsc__list_insert(b->computation, instr, b->before);
  hsc_status *status = hsc_arena_status(b->module->arena);
  if (status)
    hsc__build_fail(b, status);
  return !status;
}

hsc_instr *hsc_build_calls(hsc_builder *b,
                           hsc_op op,
                           hsc_shape shape,
                           int operand_count,
                           hsc_instr *const *operands,
                           int called_count,
                           hsc_computation *const *called) {
  if (b->status || !operands_are_good(b, op, operand_count, operands))
    return hsc__build_dummy(op, shape);
  hsc_instr *instr = make(b, op, shape, operand_count, operands, called_count, called);
  return instr && link(b, instr, NULL) ? instr : hsc__build_dummy(op, shape);
}

hsc_instr *hsc_build(
    hsc_builder *b, hsc_op op, hsc_shape shape, int operand_count, hsc_instr *const *operands) {
  return hsc_build_calls(b, op, shape, operand_count, operands, 0, NULL);
}

hsc_instr *hsc__build_inferred(hsc_builder *b,
                               hsc_op op,
                               hsc_shape shape,
                               const hsc_attr *attr,
                               int operand_count,
                               hsc_instr *const *operands,
                               int called_count,
                               hsc_computation *const *called) {
  if (b->status || !operands_are_good(b, op, operand_count, operands))
    return hsc__build_dummy(op, shape);
  hsc_instr *instr = make(b, op, shape, operand_count, operands, called_count, called);
  if (!instr)
    return hsc__build_dummy(op, shape);
  if (attr)
    instr->attr = *attr;
  hsc_status *status = hsc_infer_shape(b->module->arena, instr, &instr->shape);
  if (status) {
    hsc__build_fail(b, status);
    return hsc__build_dummy(op, shape);
  }
  return link(b, instr, NULL) ? instr : hsc__build_dummy(op, shape);
}

hsc_instr *hsc_build_op(hsc_builder *b,
                        hsc_op op,
                        hsc_shape shape,
                        const hsc_attr *attr,
                        int operand_count,
                        hsc_instr *const *operands,
                        int called_count,
                        hsc_computation *const *called) {
  hsc_attr copy = {0};
  if (attr && !b->status)
    hsc__attr_copy(b->module->arena, op, attr, &copy);
  return hsc__build_inferred(b, op, shape, &copy, operand_count, operands, called_count, called);
}

hsc_instr *hsc_build_parameter(hsc_builder *b, int64_t number, hsc_shape shape, const char *name) {
  if (b->status)
    return hsc__build_dummy(HSC_OP_PARAMETER, shape);
  hsc_instr *instr = make(b, HSC_OP_PARAMETER, shape, 0, NULL, 0, NULL);
  if (!instr)
    return hsc__build_dummy(HSC_OP_PARAMETER, shape);
  instr->attr.index.value = number;
  if (!hsc__computation_add_parameter(b->computation, instr, number)) {
    hsc_status *status = hsc_arena_status(b->module->arena);
    bool taken = number >= 0 && number < b->computation->parameter_count;
    if (!status)
      status = HSC_ERR(INVALID_ARGUMENT, "parameter: computation %%%s %s parameter number %lld",
                       b->computation->name, taken ? "already has a" : "cannot have a",
                       (long long)number);
    hsc__build_fail(b, status);
    return hsc__build_dummy(HSC_OP_PARAMETER, shape);
  }
  return link(b, instr, name && *name ? name : NULL) ? instr
                                                     : hsc__build_dummy(HSC_OP_PARAMETER, shape);
}

hsc_instr *hsc_build_clone(hsc_builder *b, const hsc_instr *from, hsc_instr *const *operands) {
  if (b->status || !operands_are_good(b, from->op, from->operand_count, operands))
    return hsc__build_dummy(from->op, from->shape);
  hsc_instr *instr = make(b, from->op, from->shape, from->operand_count, operands,
                          from->called_count, from->called);
  if (!instr)
    return hsc__build_dummy(from->op, from->shape);
  instr->attr = from->attr;
  if (from->parent->module == b->module) {
    instr->metadata = from->metadata;
    instr->sharding = from->sharding;
    instr->frontend_attributes = from->frontend_attributes;
    instr->backend_config = from->backend_config;
    instr->extra_attributes = from->extra_attributes;
  } else {
    hsc_arena *arena = b->module->arena;
    instr->shape = hsc_shape_copy(arena, from->shape);
    hsc__attr_copy(arena, from->op, &from->attr, &instr->attr);
    hsc__instr_copy_texts(arena, from, instr);
    for (int i = 0; i < from->called_count; i++) {
      hsc_status *status =
          hsc_computation_clone(b->module, from->called[i], NULL, true, &instr->called[i]);
      if (status) {
        hsc__build_fail(b, status);
        return hsc__build_dummy(from->op, from->shape);
      }
    }
  }
  instr->line = from->line;
  instr->column = from->column;
  if (from->op == HSC_OP_PARAMETER &&
      !hsc__computation_add_parameter(b->computation, instr, from->attr.index.value)) {
    hsc__build_fail(b, HSC_ERR(INVALID_ARGUMENT,
                               "parameter: computation %%%s already has a parameter number %lld",
                               b->computation->name, (long long)from->attr.index.value));
    return hsc__build_dummy(from->op, from->shape);
  }
  return link(b, instr, from->name) ? instr : hsc__build_dummy(from->op, from->shape);
}
