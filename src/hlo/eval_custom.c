// eval_custom.c - custom calls that mean something without a device: a table by target name. All others are refused by name.
#include "hlo/eval_internal.h"

static hsc_status *identity(hsc__eval *cx, const hsc_instr *instr, hsc__value **operands, hsc__value **out_value) {
  (void)cx;
  if (instr->operand_count == 1 && hsc_shape_equal(&operands[0]->shape, &instr->shape)) {
    *out_value = hsc__value_retain(operands[0]);
    return NULL;
  }
  if (hsc_shape_is_tuple(&instr->shape) && instr->shape.element_count == instr->operand_count) return hsc__value_tuple(&instr->shape, operands, out_value);
  return HSC_ERR(UNIMPLEMENTED, "custom-call %s: not built yet: a result of another shape than its operand, in the reference evaluator", instr->attr.custom.target);
}

static hsc_status *zeros(hsc__eval *cx, const hsc_instr *instr, hsc__value **operands, hsc__value **out_value) {
  (void)cx, (void)operands;
  return hsc__value_zeros(&instr->shape, out_value);
}

// TopK(x) gives (values, indices) of the largest k of the last dimension; k is in the result's shape.
static hsc_status *top_k(hsc__eval *cx, const hsc_instr *instr, hsc__value **operands, hsc__value **out_value) {
  (void)cx;
  const hsc_shape *shape = &instr->shape;
  bool good = hsc_shape_is_tuple(shape) && shape->element_count == 2 && instr->operand_count == 1;
  const hsc_shape *values = good ? &shape->elements[0] : NULL, *indices = good ? &shape->elements[1] : NULL, *from = good ? &operands[0]->shape : NULL;
  good = good && values->rank >= 1 && values->rank == from->rank && values->type == from->type && indices->type == HSC_TYPE_S32 && hsc_shape_same_dims(values, indices);
  for (int i = 0; good && i < from->rank; i++) good = i + 1 < from->rank ? values->dims[i] == from->dims[i] : values->dims[i] <= from->dims[i];
  if (!good) return HSC_ERR(INVALID_ARGUMENT, "custom-call TopK: its shape is not (values, indices) of its operand");
  HSC_TRY(hsc__value_zeros(shape, out_value));
  return hsc__top_k(operands[0], shape->elements[0].dims[shape->elements[0].rank - 1], true, (*out_value)->elements[0], (*out_value)->elements[1]);
}

static const struct {
  const char *target;
  hsc__eval_fn run;
  const char *doc;
} targets[] = {
    {"TopK", top_k, "the largest k of the last dimension"},
    {"Sharding", identity, "a sharding annotation"},
    {"SPMDFullToShardShape", identity, "one device: the shard is the whole"},
    {"SPMDShardToFullShape", identity, "one device: the shard is the whole"},
    {"LayoutConstraint", identity, "a layout annotation"},
    {"annotate_device_placement", identity, "a placement annotation"},
    {"MoveToHost", identity, "a placement annotation"},
    {"MoveToDevice", identity, "a placement annotation"},
    {"PinToHost", identity, "a placement annotation"},
    {"PinToDevice", identity, "a placement annotation"},
    {"xla.sdy.FuncResultSharding", identity, "a sharding annotation"},
    {"AllocateBuffer", zeros, "memory whose contents nobody promised"},
};

hsc_status *hsc__eval_custom_call(hsc__eval *cx, const hsc_instr *instr, hsc__value **operands, hsc__value **out_value) {
  const char *target = instr->attr.custom.target ? instr->attr.custom.target : "";
  for (size_t i = 0; i < HSC_COUNT_OF(targets); i++)
    if (strcmp(targets[i].target, target) == 0) return targets[i].run(cx, instr, operands, out_value);
  return HSC_ERR(UNIMPLEMENTED, "custom-call: not built yet: target '%s' in the reference evaluator", target);
}
