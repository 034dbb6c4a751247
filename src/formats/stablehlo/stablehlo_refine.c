// stablehlo_refine.c - shapes that follow from sizes: of results, of integers that are sizes, and
// custom calls that only programs with symbolic dimensions have.
//
// How to read: hsc__refine_result gives the shape of a result before its instruction is built. An
// operation that takes its shape as an operand has it from there; one that works element by element
// from its first operand of that rank; for the others the instruction is built with what the type
// says and hsc__refine_infer asks HLO's own rules. hsc__refine_fold makes constants of integers
// that follow from sizes, so that the next operation that takes a shape finds a constant.
#include <stdlib.h>

#include "formats/stablehlo/refine_internal.h"

enum { MAX_FOLDED = 64, MAX_FOLD_DEPTH = 8 };

hsc_status *hsc__refine_shape(const hsc__importer *im,
                              const hsc__mlir_op *op,
                              hsc_type type,
                              int rank,
                              const int64_t *dims,
                              hsc_shape *out_shape) {
  int64_t bytes = (int64_t)hsc_type_bytes(type);
  for (int d = 0; d < rank; d++) {
    if (dims[d] < 0)
      return HSC_OP_ERR(INVALID_ARGUMENT, im, op, "%s: dimension %d would have the size %lld",
                        op->written_name, d, (long long)dims[d]);
    if (dims[d] > 0 && __builtin_mul_overflow(bytes, dims[d], &bytes))
      return HSC_OP_ERR(INVALID_ARGUMENT, im, op,
                        "%s: with these sizes the tensor is larger than 2^63 bytes",
                        op->written_name);
  }
  *out_shape = hsc_shape_array(im->module->arena, type, rank, dims);
  return NULL;
}

bool hsc__refine_is_dynamic(const hsc__mlir_op *op) {
  for (int i = 0; i < op->result_count; i++)
    if (hsc__refine_is_open(op->results[i].type))
      return true;
  return false;
}

// ---- integers that follow from sizes ------------------------------------------------------------

static bool is_integers(hsc_type type) {
  return type == HSC_TYPE_PRED || hsc_type_is_integral(type);
}

// The value of a constant, element `index`; false when the instruction is none.
static bool int_of_constant(const hsc_instr *instr, int64_t index, int64_t *out) {
  bool splat = instr->op == HSC_OP_BROADCAST && instr->operands[0]->op == HSC_OP_CONSTANT &&
               instr->operands[0]->shape.rank == 0;
  const hsc_instr *constant = splat ? instr->operands[0] : instr;
  if (constant->op != HSC_OP_CONSTANT || !is_integers(constant->shape.type))
    return false;
  const hsc_literal *literal = constant->attr.literal.value;
  if (!literal || literal->elided || index < 0 || index >= hsc_shape_elements(&instr->shape))
    return false;
  *out = hsc_literal_get_int(literal, splat ? 0 : index);
  return true;
}

static bool is_small_integers(const hsc_shape *shape) {
  return hsc_shape_is_array(shape) && hsc_shape_elements(shape) <= MAX_FOLDED &&
         is_integers(shape->type);
}

static bool is_arithmetic(const hsc_instr *instr) {
  uint32_t traits = hsc_op_traits(instr->op);
  bool other = instr->op == HSC_OP_SELECT || instr->op == HSC_OP_CLAMP || instr->op == HSC_OP_IOTA;
  return !instr->called_count && !(traits & (HSC_TRAIT_EFFECT | HSC_TRAIT_COLLECTIVE)) &&
         (other || (traits & (HSC_TRAIT_ELEMENTWISE | HSC_TRAIT_MOVES)));
}

// The value of an instruction that is made of constants and sizes alone; NULL for others.
static hsc_status *value_of(const hsc__importer *im,
                            const hsc_instr *instr,
                            int depth,
                            hsc_literal **out_value) {
  *out_value = NULL;
  if (depth > MAX_FOLD_DEPTH || !is_small_integers(&instr->shape))
    return NULL;
  if (instr->op == HSC_OP_CONSTANT) {
    *out_value = instr->attr.literal.value->elided ? NULL : instr->attr.literal.value;
    return NULL;
  }
  if (instr->op == HSC_OP_GET_DIMENSION_SIZE) {
    const hsc_shape *array = &instr->operands[0]->shape;
    int64_t d = instr->attr.dims.dims.v[0];
    if (!hsc_shape_is_array(array) || d < 0 || d >= array->rank)
      return NULL;
    int32_t size = (int32_t)array->dims[d];
    if (size != array->dims[d])
      return HSC_ERR(INVALID_ARGUMENT, "a size of %lld does not fit in 32 bits",
                     (long long)array->dims[d]);
    HSC_TRY(hsc_literal_create(im->module->arena, &instr->shape, out_value));
    memcpy((*out_value)->data, &size, sizeof size);
    return NULL;
  }
  if (!is_arithmetic(instr))
    return NULL;
  hsc_literal **operands = HSC_NEW_ARRAY(im->arena, hsc_literal *, instr->operand_count + 1);
  HSC_TRY(hsc_arena_status(im->arena));
  for (int i = 0; i < instr->operand_count; i++) {
    HSC_TRY(value_of(im, instr->operands[i], depth + 1, &operands[i]));
    if (!operands[i])
      return NULL;
  }
  return hsc_evaluate_instr(instr, operands, im->module->arena, out_value);
}

hsc_status *hsc__refine_fold(hsc__importer *im, hsc_builder *b, hsc__mlir_op *op) {
  for (int i = 0; i < op->result_count; i++) {
    hsc_instr *instr = op->results[i].instr;
    hsc_literal *value = NULL;
    if (!instr || instr->op == HSC_OP_CONSTANT || instr->parent != b->computation || b->status)
      continue;
    hsc_status *status = value_of(im, instr, 0, &value);
    if (status)
      return hsc__import_error(status, im, op);
    if (value)
      op->results[i].instr = hsc_build_constant(b, value);
  }
  return NULL;
}

void hsc__refine_clean(hsc_computation *computation) {
  for (hsc_instr *instr = computation->last; instr;) {
    hsc_instr *before = instr->prev;
    if (hsc_instr_is_dead(instr))
      hsc_instr_remove(instr);
    instr = before;
  }
}

// ---- shapes -------------------------------------------------------------------------------------

// The operand that lists the sizes of the result, -1 for operations that have none.
static int shape_operand_of(const char *name) {
  static const struct {
    const char *name;
    int operand;
  } known[] = {
      {"dynamic_broadcast_in_dim", 1}, {"dynamic_iota", 0}, {"dynamic_reshape", 1}, {"rng", 2}};
  for (size_t i = 0; i < HSC_COUNT_OF(known); i++)
    if (!strcmp(name, known[i].name))
      return known[i].operand;
  return -1;
}

// The sizes that `operand`, a list of integers, gives to a result of this type.
static hsc_status *listed_shape(const hsc__importer *im,
                                const hsc__mlir_op *op,
                                const hsc__mlir_type *type,
                                int operand,
                                hsc_shape *out_shape) {
  int64_t dims[HSC_MAX_RANK];
  const hsc_instr *list = operand < op->operand_count ? op->operands[operand]->instr : NULL;
  if (!list || list->shape.rank != 1 || list->shape.dims[0] != type->shape.rank)
    return HSC_OP_ERR(INVALID_ARGUMENT, im, op, "%s: operand %d is no list of %d sizes",
                      op->written_name, operand, type->shape.rank);
  for (int d = 0; d < type->shape.rank; d++)
    if (!int_of_constant(list, d, &dims[d]))
      return HSC_OP_ERR(UNIMPLEMENTED, im, op,
                        "%s: not built yet: a size that depends on what is computed, not on sizes "
                        "of arguments",
                        op->written_name);
  return hsc__refine_shape(im, op, type->shape.type, type->shape.rank, dims, out_shape);
}

// What the type says, its open dimensions marked: to build an instruction with, before its shape is
// inferred.
static hsc_status *declared_shape(const hsc__importer *im,
                                  const hsc__mlir_op *op,
                                  const hsc__mlir_type *type,
                                  hsc_shape *out_shape) {
  if (!hsc__refine_is_open(type))
    return hsc__import_shape(im, op, type, out_shape);
  hsc_arena *arena = im->module->arena;
  *out_shape = hsc_shape_array(arena, type->shape.type, type->shape.rank, type->shape.dims);
  out_shape->dynamic = hsc_arena_copy(arena, type->shape.dynamic,
                                      (size_t)type->shape.rank * sizeof *type->shape.dynamic);
  return hsc_arena_status(arena);
}

static hsc_status *elementwise_shape(const hsc__importer *im,
                                     const hsc__mlir_op *op,
                                     hsc_shape *out_shape) {
  const hsc_shape *type = &op->results[0].type->shape;
  for (int i = op->operand_count - 1; i >= 0; i--) {
    const hsc_instr *operand = op->operands[i]->instr;
    if (operand && hsc_shape_is_array(&operand->shape) && operand->shape.rank == type->rank)
      return hsc__refine_shape(im, op, type->type, type->rank, operand->shape.dims, out_shape);
  }
  return HSC_OP_ERR(INVALID_ARGUMENT, im, op, "%s: no operand has %d dimensions", op->written_name,
                    type->rank);
}

hsc_status *hsc__refine_result(
    hsc__importer *im, const hsc__mlir_op *op, hsc_op hlo, hsc_shape *out_shape, bool *out_infer) {
  int listed = shape_operand_of(op->name);
  bool each = hlo < HSC_OP_COUNT && (hsc_op_traits(hlo) & HSC_TRAIT_ELEMENTWISE);
  each |= hlo == HSC_OP_SELECT || hlo == HSC_OP_CLAMP;
  *out_infer = false;
  if (op->result_count == 1 && listed >= 0)
    return listed_shape(im, op, op->results[0].type, listed, out_shape);
  if (op->result_count == 1 && each)
    return elementwise_shape(im, op, out_shape);
  *out_infer = true;
  if (op->result_count == 1)
    return declared_shape(im, op, op->results[0].type, out_shape);
  hsc_shape *elements = HSC_NEW_ARRAY(im->arena, hsc_shape, op->result_count + 1);
  HSC_TRY(hsc_arena_status(im->arena));
  for (int i = 0; i < op->result_count; i++)
    HSC_TRY(declared_shape(im, op, op->results[i].type, &elements[i]));
  *out_shape = hsc_shape_tuple(im->module->arena, op->result_count, elements);
  return NULL;
}

// The inferred shape of one result against what its type says of it; the shape anew where it had
// open dimensions.
static hsc_status *check_inferred(const hsc__importer *im,
                                  const hsc__mlir_op *op,
                                  const hsc__mlir_type *type,
                                  hsc_shape *shape) {
  if (type->kind != HSC_MLIR_TENSOR)
    return NULL;
  bool same = hsc_shape_is_array(shape) && shape->rank == type->shape.rank && !shape->dynamic;
  for (int d = 0; same && d < shape->rank; d++)
    same = (type->shape.dynamic && type->shape.dynamic[d]) || shape->dims[d] == type->shape.dims[d];
  if (!same)
    return HSC_OP_ERR(UNIMPLEMENTED, im, op,
                      "%s: not built yet: the sizes of its result do not follow from its operands",
                      op->written_name);
  return hsc__refine_shape(im, op, shape->type, shape->rank, shape->dims, shape);
}

hsc_status *hsc__refine_infer(hsc__importer *im, const hsc__mlir_op *op, hsc_instr *instr) {
  hsc_shape shape;
  hsc_status *status = hsc_infer_shape(im->module->arena, instr, &shape);
  if (status)
    return hsc__import_error(status, im, op);
  if (op->result_count == 1) {
    HSC_TRY(check_inferred(im, op, op->results[0].type, &shape));
  } else {
    for (int i = 0; i < op->result_count && i < shape.element_count; i++)
      HSC_TRY(check_inferred(im, op, op->results[i].type, (hsc_shape *)&shape.elements[i]));
  }
  instr->shape = shape;
  return NULL;
}

// ---- operations that only such programs have ----------------------------------------------------

// The message of a failed check, its {0}, {1} ... replaced by the operands after the condition.
static hsc_status *assertion_failed(const hsc__importer *im, const hsc__mlir_op *op) {
  hsc_view message = hsc__import_text(op, "error_message");
  hsc_bytes text = {0};
  static const char rest[] = " Using the following polymorphic";
  const char *end = memmem(message.data, message.size, rest, sizeof rest - 1);
  size_t size = end ? (size_t)(end - message.data) : message.size;
  for (size_t i = 0; i < size; i++) {
    int64_t value;
    bool place = i + 2 < size && message.data[i] == '{' && message.data[i + 1] >= '0' &&
                 message.data[i + 1] <= '9' && message.data[i + 2] == '}';
    int operand = place ? message.data[i + 1] - '0' + 1 : 0;
    if (place && operand < op->operand_count &&
        int_of_constant(op->operands[operand]->instr, 0, &value)) {
      hsc_bytes_printf(&text, "%lld", (long long)value);
      i += 2;
    } else {
      hsc_bytes_append_char(&text, message.data[i]);
    }
  }
  hsc_status *status =
      HSC_OP_ERR(INVALID_ARGUMENT, im, op, "these sizes are not allowed: %s",
                 text.size ? hsc_bytes_text(&text) : "a shape assertion of the program fails");
  hsc_bytes_deinit(&text);
  return status;
}

static hsc_status *import_assertion(const hsc__importer *im, const hsc__mlir_op *op) {
  int64_t holds = 0;
  if (op->operand_count < 1 || op->result_count)
    return HSC_OP_ERR(INVALID_ARGUMENT, im, op, "a shape assertion takes a condition");
  if (!int_of_constant(op->operands[0]->instr, 0, &holds))
    return HSC_OP_ERR(UNIMPLEMENTED, im, op,
                      "not built yet: a shape assertion about what is computed");
  return holds ? NULL : assertion_failed(im, op);
}

// A list of integers that is an operand.
static hsc_status *list_of(
    const hsc__importer *im, const hsc__mlir_op *op, int operand, int count, int64_t *out_values) {
  const hsc_instr *list = op->operands[operand]->instr;
  for (int i = 0; i < count; i++)
    if (!int_of_constant(list, i, &out_values[i]))
      return HSC_OP_ERR(INVALID_ARGUMENT, im, op, "operand %d is no list of %d sizes", operand,
                        count);
  return NULL;
}

// (arrays, their initial values, window, strides, base dilations, window dilations, padding)
static hsc_status *import_reduce_window(hsc__importer *im, hsc_builder *b, hsc__mlir_op *op) {
  const hsc__mlir_attr *called = hsc__mlir_attr_get(op, "called_computations");
  int n = op->result_count;
  if (op->operand_count != 2 * n + 5 || !n || !called || called->kind != HSC_MLIR_ARRAY ||
      called->count != 1)
    return HSC_OP_ERR(INVALID_ARGUMENT, im, op, "its operands are not those of a reduce_window");
  int rank = op->operands[0]->instr->shape.rank;
  int64_t lists[4][HSC_MAX_RANK];
  int64_t padding[2 * HSC_MAX_RANK];
  hsc_computation *reducer;
  for (int i = 0; i < 4; i++)
    HSC_TRY(list_of(im, op, 2 * n + i, rank, lists[i]));
  HSC_TRY(list_of(im, op, 2 * n + 4, 2 * rank, padding));
  HSC_TRY(hsc__import_function_by_name(im, op, called->elements[0]->text, &reducer));
  hsc_instr **operands = HSC_NEW_ARRAY(im->arena, hsc_instr *, 2 * n);
  hsc_window_dim *window = HSC_NEW_ARRAY(im->module->arena, hsc_window_dim, rank + 1);
  if (!operands || !window)
    return hsc_status_out_of_memory();
  for (int i = 0; i < 2 * n; i++)
    operands[i] = op->operands[i]->instr;
  for (int d = 0; d < rank; d++)
    window[d] = (hsc_window_dim){.size = lists[0][d],
                                 .stride = lists[1][d],
                                 .base_dilation = lists[2][d],
                                 .window_dilation = lists[3][d],
                                 .pad_low = padding[2 * d],
                                 .pad_high = padding[2 * d + 1]};
  hsc_shape shape;
  bool infer;
  HSC_TRY(hsc__refine_result(im, op, HSC_OP_REDUCE_WINDOW, &shape, &infer));
  hsc_instr *instr = hsc_build_calls(b, HSC_OP_REDUCE_WINDOW, shape, 2 * n, operands, 1, &reducer);
  instr->attr.window.window = (hsc_window){.rank = rank, .dims = window};
  HSC_TRY(hsc__refine_infer(im, op, instr));
  hsc__import_set_results(b, op, instr);
  return NULL;
}

// (state, sizes of the bits) to (state, bits)
static hsc_status *import_random_bits(hsc__importer *im, hsc_builder *b, hsc__mlir_op *op) {
  int64_t algorithm = hsc__import_int(op, "rng_algorithm", 0);
  if (op->operand_count != 2 || op->result_count != 2 || algorithm < 0 || algorithm > 2)
    return HSC_OP_ERR(INVALID_ARGUMENT, im, op,
                      "its operands are not those of an rng_bit_generator");
  hsc_shape parts[2] = {op->operands[0]->instr->shape};
  HSC_TRY(listed_shape(im, op, op->results[1].type, 1, &parts[1]));
  hsc_shape shape = hsc_shape_tuple(im->module->arena, 2, parts);
  hsc_instr *instr = hsc_build(b, HSC_OP_RNG_BIT_GENERATOR, shape, 1, &op->operands[0]->instr);
  instr->attr.rng.algorithm = (hsc_rng_algorithm)algorithm;
  hsc__import_set_results(b, op, instr);
  return NULL;
}

// (array, k) to (values, indices)
static hsc_status *import_top_k(hsc__importer *im, hsc_builder *b, hsc__mlir_op *op) {
  int64_t k = 0;
  if (op->operand_count != 2 || op->result_count != 2)
    return HSC_OP_ERR(INVALID_ARGUMENT, im, op, "its operands are not those of a top_k");
  HSC_TRY(list_of(im, op, 1, 1, &k));
  hsc_shape shape;
  bool infer;
  HSC_TRY(hsc__refine_result(im, op, HSC_OP_TOPK, &shape, &infer));
  hsc_instr *instr = hsc_build(b, HSC_OP_TOPK, shape, 1, &op->operands[0]->instr);
  instr->attr.topk.k = k;
  instr->attr.topk.largest = true;
  HSC_TRY(hsc__refine_infer(im, op, instr));
  hsc__import_set_results(b, op, instr);
  return NULL;
}

// What of `sum` is left without `part`, when it is the sum of both; NULL otherwise.
static const hsc_instr *rest_of_sum(const hsc_instr *sum, const hsc_instr *part) {
  if (sum->op != HSC_OP_ADD)
    return NULL;
  if (sum->operands[0] == part)
    return sum->operands[1];
  return sum->operands[1] == part ? sum->operands[0] : NULL;
}

// (array, start, start + sizes, ones): where it starts is computed, how much it takes is known.
static hsc_status *import_moving_slice(hsc__importer *im,
                                       hsc_builder *b,
                                       hsc__mlir_op *op,
                                       bool *out_done) {
  int64_t sizes[HSC_MAX_RANK], ones[HSC_MAX_RANK];
  hsc_instr *starts[HSC_MAX_RANK];
  *out_done = false;
  if (op->operand_count != 4 || op->result_count != 1)
    return NULL;
  hsc_instr *array = op->operands[0]->instr;
  hsc_instr *start = op->operands[1]->instr;
  const hsc_instr *taken = rest_of_sum(op->operands[2]->instr, start);
  int rank = array->shape.rank;
  if (int_of_constant(start, 0, &ones[0]) || !taken || start->shape.rank != 1 ||
      start->shape.dims[0] != rank)
    return NULL;
  for (int d = 0; d < rank; d++)
    if (!int_of_constant(taken, d, &sizes[d]) ||
        !int_of_constant(op->operands[3]->instr, d, &ones[d]) || ones[d] != 1)
      return NULL;
  *out_done = true;
  hsc_arena *arena = im->module->arena;
  for (int d = 0; d < rank; d++) {
    hsc_instr *one =
        hsc_build_slice(b, start, HSC_DIMS(arena, d), HSC_DIMS(arena, d + 1), HSC_DIMS(arena, 1));
    starts[d] = hsc_build_reshape(b, one, 0, NULL);
  }
  hsc_instr *slice =
      hsc_build_dynamic_slice(b, array, rank, starts, hsc_dims_copy(arena, rank, sizes));
  hsc__import_set_results(b, op, slice);
  return NULL;
}

hsc_status *hsc__refine_special(hsc__importer *im,
                                hsc_builder *b,
                                hsc__mlir_op *op,
                                bool *out_done) {
  *out_done = false;
  if (!strcmp(op->name, "real_dynamic_slice"))
    return import_moving_slice(im, b, op, out_done);
  if (strcmp(op->name, "custom_call") != 0)
    return NULL;
  hsc_view target = hsc__import_text(op, "call_target_name");
  *out_done = true;
  if (hsc_view_equals_text(target, "shape_assertion"))
    return import_assertion(im, op);
  if (hsc_view_equals_text(target, "stablehlo.dynamic_reduce_window"))
    return import_reduce_window(im, b, op);
  if (hsc_view_equals_text(target, "stablehlo.dynamic_rng_bit_generator"))
    return import_random_bits(im, b, op);
  if (hsc_view_equals_text(target, "stablehlo.dynamic_top_k"))
    return import_top_k(im, b, op);
  *out_done = false;
  return NULL;
}

hsc_status *hsc__refine_custom_shapes(const hsc__importer *im,
                                      const hsc__mlir_op *op,
                                      hsc_shape *out_shape,
                                      int *out_kept) {
  hsc_dims listed = {0};
  HSC_TRY(hsc__import_dims(im, op, "indices_of_shape_operands", &listed));
  *out_kept = op->operand_count;
  if (listed.count != op->result_count)
    return HSC_OP_ERR(UNIMPLEMENTED, im, op,
                      "not built yet: a custom call whose results have sizes that no operand says");
  hsc_shape *shapes = HSC_NEW_ARRAY(im->arena, hsc_shape, op->result_count + 1);
  HSC_TRY(hsc_arena_status(im->arena));
  for (int i = 0; i < listed.count; i++) {
    const hsc__mlir_type *type = op->results[i].type;
    if (type->kind != HSC_MLIR_TENSOR || listed.v[i] < 0 || listed.v[i] >= op->operand_count)
      return HSC_OP_ERR(INVALID_ARGUMENT, im, op, "indices_of_shape_operands: result %d", i);
    HSC_TRY(listed_shape(im, op, type, (int)listed.v[i], &shapes[i]));
    if (listed.v[i] < *out_kept)
      *out_kept = (int)listed.v[i];
  }
  *out_shape = op->result_count == 1 ? shapes[0]
                                     : hsc_shape_tuple(im->module->arena, op->result_count, shapes);
  return NULL;
}
