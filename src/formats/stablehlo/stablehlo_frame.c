// stablehlo_frame.c - builds the instruction of a frame; compare, which CHLO's operations need too.
#include "formats/stablehlo/stablehlo_frame.h"

hsc_instr *hsc__frame_build(hsc__frame *f) {
  f->instr = hsc_build(f->b, f->hlo, f->shape, f->count, f->operands);
  return f->instr;
}

// StableHLO lets a reducer compute in a wider type than the operands have; HLO wants them converted
// before.
static void promote(hsc__frame *f, const hsc_computation *reducer) {
  static const hsc_op ops[] = {HSC_OP_REDUCE, HSC_OP_REDUCE_WINDOW, HSC_OP_SCATTER,
                               HSC_OP_ALL_REDUCE, HSC_OP_REDUCE_SCATTER};
  bool known = false;
  for (size_t i = 0; i < HSC_COUNT_OF(ops); i++)
    known |= f->hlo == ops[i];
  int of_each = reducer->parameter_count / 2;
  if (!known || of_each < 1)
    return;
  for (int i = 0; i < f->count; i++) {
    int k = f->hlo == HSC_OP_SCATTER && i > of_each ? i - of_each - 1 : i % of_each;
    bool index = f->hlo == HSC_OP_SCATTER && i == of_each;
    hsc_type type =
        k < reducer->parameter_count ? reducer->parameters[k]->shape.type : HSC_TYPE_INVALID;
    if (index || !hsc_shape_is_array(&f->operands[i]->shape) ||
        f->operands[i]->shape.type == type || hsc_type_class_of(type) == HSC_CLASS_OTHER)
      continue;
    f->operands[i] = hsc_build_convert(f->b, type, f->operands[i]);
  }
}

hsc_status *hsc__frame_build_calls(hsc__frame *f) {
  if (!f->op->region_count)
    return HSC_OP_ERR(INVALID_ARGUMENT, f->im, f->op,
                      "it has no region, and computes nothing without one");
  hsc_computation **called =
      HSC_NEW_ARRAY(hsc__frame_arena(f), hsc_computation *, f->op->region_count + 1);
  HSC_TRY(hsc_arena_status(hsc__frame_arena(f)));
  for (int i = 0; i < f->op->region_count; i++)
    HSC_TRY(hsc__import_region(f->im, f->op, i, f->op->name, &called[i]));
  promote(f, called[0]);
  f->instr = hsc_build_calls(f->b, f->hlo, f->shape, f->op->operand_count, f->operands,
                             f->op->region_count, called);
  return NULL;
}

hsc_status *hsc__frame_compare(hsc__frame *f) {
  // VHLO's order
  static const hsc_direction directions[] = {HSC_EQ, HSC_NE, HSC_GE, HSC_GT, HSC_LE, HSC_LT};
  int64_t d = hsc__frame_int(f, "comparison_direction", -1);
  int64_t type = hsc__frame_int(f, "compare_type", 0);
  if (d < 0 || d >= (int64_t)HSC_COUNT_OF(directions))
    return HSC_OP_ERR(INVALID_ARGUMENT, f->im, f->op, "an unknown direction");
  hsc__frame_build(f)->attr.compare.direction = directions[d];
  // the same order
  f->instr->attr.compare.type =
      type >= 0 && type <= 4 ? (hsc_compare_type)type : HSC_COMPARE_DEFAULT;
  return NULL;
}

hsc_status *hsc__import_compare(hsc__importer *im,
                                hsc_builder *b,
                                hsc__mlir_op *op,
                                hsc_instr **operands) {
  hsc__frame f = {
      .im = im, .b = b, .op = op, .hlo = HSC_OP_COMPARE, .operands = operands, .count = 2};
  HSC_TRY(hsc__import_result_shape(im, op, &f.shape));
  HSC_TRY(hsc__frame_compare(&f));
  hsc__import_set_results(b, op, f.instr);
  return NULL;
}
