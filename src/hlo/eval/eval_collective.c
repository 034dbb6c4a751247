// eval_collective.c - collectives with one participant: every one of them is the identity (or
// zeros, for a permute that sends nothing here).
#include "base/core/ints.h"
#include "hlo/eval/eval_internal.h"
#include "hlo/ir/groups.h"

int64_t hsc_collective_group_size(const hsc_instr *instr) {
  int64_t largest = hsc_groups_largest(instr->attr.collective.replica_groups);
  const hsc_module *module = instr->parent ? instr->parent->module : NULL;
  if (largest || !module)
    return largest ? largest : 1;
  return hsc_max(module->replica_count, 1) * hsc_max(module->num_partitions, 1);
}

static hsc_status *check_alone(const hsc_instr *instr) {
  int64_t participants = hsc_collective_group_size(instr);
  if (participants > 1)
    return HSC_ERR(
        UNIMPLEMENTED,
        "%s: not built yet: %lld participants in the reference evaluator, which is one device",
        hsc_op_text(instr->op), (long long)participants);
  return NULL;
}

static hsc_status *check_shape(const hsc_instr *instr,
                               const hsc_shape *given,
                               const hsc_shape *wanted) {
  if (hsc_shape_equal(given, wanted))
    return NULL;
  return HSC_ERR(UNIMPLEMENTED,
                 "%s: not built yet: a result of another shape than its operand, which takes "
                 "several participants, in the reference evaluator",
                 hsc_op_text(instr->op));
}

// Operands: input, output, input offsets, sizes, output offsets; a slice of rows for each
// participant.
static hsc_status *check_ragged(const hsc_instr *instr, hsc__value *const *operands) {
  int64_t slices = hsc_shape_elements(&operands[2]->shape);
  if (!hsc_shape_equal(&operands[1]->shape, &instr->shape) ||
      operands[0]->shape.rank != instr->shape.rank ||
      operands[0]->shape.type != instr->shape.type || instr->shape.rank < 1 ||
      hsc_shape_elements(&operands[3]->shape) != slices ||
      hsc_shape_elements(&operands[4]->shape) != slices)
    return HSC_ERR(INVALID_ARGUMENT, "ragged-all-to-all: its operands do not fit each other");
  for (int i = 1; i < instr->shape.rank; i++)
    if (operands[0]->shape.dims[i] != instr->shape.dims[i])
      return HSC_ERR(INVALID_ARGUMENT, "ragged-all-to-all: dimension %d of input and output differ",
                     i);
  return NULL;
}

// The output operand with the input's rows copied in at the given offsets.
static hsc_status *ragged_alone(const hsc_instr *instr,
                                hsc__value **operands,
                                hsc__value **out_value) {
  HSC_TRY(check_ragged(instr, operands));
  HSC_TRY(hsc__value_writable(operands[1], &instr->shape, out_value));
  const hsc_shape *shape = &instr->shape;
  int64_t row = shape->dims[0] ? hsc_shape_bytes(shape) / shape->dims[0] : 0;
  int64_t in_rows = operands[0]->shape.dims[0];
  for (int64_t i = 0; i < hsc_shape_elements(&operands[2]->shape); i++) {
    int64_t from = hsc__get_int(operands[2], i);
    int64_t count = hsc__get_int(operands[3], i);
    int64_t to = hsc__get_int(operands[4], i);
    if (from < 0 || to < 0 || count < 0 || from + count > in_rows || to + count > shape->dims[0])
      return HSC_ERR(INVALID_ARGUMENT, "ragged-all-to-all: slice %lld lies outside its operands",
                     (long long)i);
    if (count > 0)
      memcpy((*out_value)->data + to * row, operands[0]->data + from * row, (size_t)(count * row));
  }
  return NULL;
}

hsc_status *hsc__eval_collective(hsc__eval *cx,
                                 const hsc_instr *instr,
                                 hsc__value **operands,
                                 hsc__value **out_value) {
  (void)cx;
  bool permute = instr->op == HSC_OP_COLLECTIVE_PERMUTE;
  if (!permute)
    HSC_TRY(check_alone(instr));
  if (permute && !hsc_pairs_keep(instr->attr.collective.pairs, 0))
    return hsc__value_zeros(&instr->shape, out_value);
  if (instr->op == HSC_OP_RAGGED_ALL_TO_ALL)
    return ragged_alone(instr, operands, out_value);
  if (!hsc_shape_is_tuple(&instr->shape)) {
    HSC_TRY(check_shape(instr, &operands[0]->shape, &instr->shape));
    *out_value = hsc__value_retain(operands[0]);
    return NULL;
  }
  if (instr->shape.element_count != instr->operand_count)
    return check_shape(instr, &operands[0]->shape, &instr->shape);
  for (int32_t i = 0; i < instr->operand_count; i++)
    HSC_TRY(check_shape(instr, &operands[i]->shape, &instr->shape.elements[i]));
  return hsc__value_tuple(&instr->shape, operands, out_value);
}

// all-reduce-start gives what all-reduce gives. The other starts give (operands, results,
// contexts...); with one operand it is there itself.
hsc_status *hsc__eval_collective_start(hsc__eval *cx,
                                       const hsc_instr *instr,
                                       hsc__value **operands,
                                       hsc__value **out_value) {
  if (instr->op == HSC_OP_ALL_REDUCE_START)
    return hsc__eval_collective(cx, instr, operands, out_value);
  if (instr->op == HSC_OP_ALL_GATHER_START)
    HSC_TRY(check_alone(instr));
  if (!hsc_shape_is_tuple(&instr->shape) || instr->shape.element_count < 2)
    return HSC_ERR(INVALID_ARGUMENT, "%s: its shape is not (operand, result, ...)",
                   hsc_op_text(instr->op));
  hsc__value *all = NULL;
  HSC_TRY(hsc__value_zeros(&instr->shape, &all));
  for (int part = 0; part < 2; part++) {
    const hsc_shape *shape = &instr->shape.elements[part];
    hsc__value *value = NULL;
    hsc_status *status = NULL;
    if (part == 1 && instr->op == HSC_OP_COLLECTIVE_PERMUTE_START &&
        !hsc_pairs_keep(instr->attr.collective.pairs, 0))
      continue;
    if (hsc_shape_is_tuple(shape)) {
      status =
          shape->element_count == instr->operand_count
              ? hsc__value_tuple(shape, operands, &value)
              : HSC_ERR(INVALID_ARGUMENT, "%s: element %d of its shape does not match its operands",
                        hsc_op_text(instr->op), part);
    } else {
      status = check_shape(instr, &operands[0]->shape, shape);
      if (!status)
        value = hsc__value_retain(operands[0]);
    }
    if (status) {
      hsc__value_release(all);
      return status;
    }
    hsc__value_release(all->elements[part]);
    all->elements[part] = value;
  }
  *out_value = all;
  return NULL;
}

hsc_status *hsc__eval_device_id(hsc__eval *cx,
                                const hsc_instr *instr,
                                hsc__value **operands,
                                hsc__value **out_value) {
  (void)cx;
  (void)operands;
  return hsc__value_zeros(&instr->shape, out_value);
}
