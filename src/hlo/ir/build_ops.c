// build_ops.c - one function an op, over the general builder: attributes in, shape inferred.
#include "hlo/ir/hlo_internal.h"

static hsc_attr dims_attr(hsc_builder *b, hsc_dims dims) {
  return (hsc_attr){.dims = {.dims = hsc_dims_copy(b->module->arena, dims.count, dims.v)}};
}

static hsc_instr *failed(hsc_builder *b, hsc_op op, hsc_status *status) {
  hsc__build_fail(b, status);
  return hsc__build_dummy(op, (hsc_shape){0});
}

hsc_instr *hsc_build_constant(hsc_builder *b, hsc_literal *literal) {
  hsc_instr *instr = hsc_build(b, HSC_OP_CONSTANT, literal->shape, 0, NULL);
  instr->attr.literal.value = literal;
  return instr;
}

hsc_instr *hsc_build_scalar(hsc_builder *b, hsc_type type, double value) {
  hsc_shape shape = hsc_shape_scalar(type);
  hsc_literal *literal = NULL;
  if (b->status)
    return hsc__build_dummy(HSC_OP_CONSTANT, shape);
  if (!hsc_shape_is_array(&shape))
    return failed(b, HSC_OP_CONSTANT,
                  HSC_ERR(INVALID_ARGUMENT, "constant: no scalar of type %s", hsc_type_text(type)));
  hsc_status *status = hsc_literal_create(b->module->arena, &shape, &literal);
  if (status)
    return failed(b, HSC_OP_CONSTANT, status);
  hsc_literal_set_double(literal, 0, value);
  return hsc_build_constant(b, literal);
}

hsc_instr *hsc_build_unary(hsc_builder *b, hsc_op op, hsc_instr *x) {
  return hsc__build_inferred(b, op, (hsc_shape){0}, NULL, 1, &x, 0, NULL);
}

hsc_instr *hsc_build_binary(hsc_builder *b, hsc_op op, hsc_instr *x, hsc_instr *y) {
  return hsc__build_inferred(b, op, (hsc_shape){0}, NULL, 2, (hsc_instr *[]){x, y}, 0, NULL);
}

hsc_instr *hsc_build_compare(hsc_builder *b, hsc_direction direction, hsc_instr *x, hsc_instr *y) {
  hsc_attr attr = {.compare = {.direction = direction}};
  return hsc__build_inferred(b, HSC_OP_COMPARE, (hsc_shape){0}, &attr, 2, (hsc_instr *[]){x, y}, 0,
                             NULL);
}

hsc_instr *hsc_build_select(hsc_builder *b,
                            hsc_instr *pred,
                            hsc_instr *on_true,
                            hsc_instr *on_false) {
  return hsc__build_inferred(b, HSC_OP_SELECT, (hsc_shape){0}, NULL, 3,
                             (hsc_instr *[]){pred, on_true, on_false}, 0, NULL);
}

hsc_instr *hsc_build_convert(hsc_builder *b, hsc_type type, hsc_instr *x) {
  hsc_shape shape = b->status || !x ? hsc_shape_scalar(type) : hsc_shape_with_type(x->shape, type);
  return hsc__build_inferred(b, HSC_OP_CONVERT, shape, NULL, 1, &x, 0, NULL);
}

hsc_instr *hsc_build_broadcast(hsc_builder *b, hsc_instr *x, hsc_shape shape, hsc_dims dims) {
  hsc_attr attr = dims_attr(b, dims);
  if (!b->status && x)
    shape = (hsc_shape){.type = x->shape.type,
                        .rank = shape.rank,
                        .dims = shape.dims,
                        .dynamic = shape.dynamic,
                        .layout = shape.layout};
  return hsc__build_inferred(b, HSC_OP_BROADCAST, shape, &attr, 1, &x, 0, NULL);
}

hsc_instr *hsc_build_reshape(hsc_builder *b, hsc_instr *x, int rank, const int64_t *dims) {
  hsc_shape shape = hsc_shape_array(b->module->arena, x ? x->shape.type : HSC_TYPE_F32, rank, dims);
  return hsc__build_inferred(b, HSC_OP_RESHAPE, shape, NULL, 1, &x, 0, NULL);
}

hsc_instr *hsc_build_transpose(hsc_builder *b, hsc_instr *x, hsc_dims permutation) {
  hsc_attr attr = dims_attr(b, permutation);
  return hsc__build_inferred(b, HSC_OP_TRANSPOSE, (hsc_shape){0}, &attr, 1, &x, 0, NULL);
}

hsc_instr *hsc_build_slice(
    hsc_builder *b, hsc_instr *x, hsc_dims start, hsc_dims limit, hsc_dims stride) {
  hsc_arena *arena = b->module->arena;
  hsc_attr attr = {.slice = {.start = hsc_dims_copy(arena, start.count, start.v),
                             .limit = hsc_dims_copy(arena, limit.count, limit.v)}};
  if (stride.count > 0) {
    attr.slice.stride = hsc_dims_copy(arena, stride.count, stride.v);
  } else if (start.count > 0) {  // no strides: all 1
    int64_t *ones = HSC_NEW_ARRAY(arena, int64_t, start.count);
    for (int i = 0; ones && i < start.count; i++)
      ones[i] = 1;
    attr.slice.stride = (hsc_dims){ones ? start.count : 0, ones};
  }
  return hsc__build_inferred(b, HSC_OP_SLICE, (hsc_shape){0}, &attr, 1, &x, 0, NULL);
}

// Builds an op whose operands are `first` ones, then `count` more.
static hsc_instr *build_joined(hsc_builder *b,
                               hsc_op op,
                               const hsc_attr *attr,
                               int first_count,
                               hsc_instr *const *first,
                               int count,
                               hsc_instr *const *more) {
  if (b->status)
    return hsc__build_dummy(op, (hsc_shape){0});
  hsc_instr **operands = HSC_NEW_ARRAY(b->module->arena, hsc_instr *, first_count + count);
  if (!operands)
    return failed(b, op, hsc_status_out_of_memory());
  memcpy(operands, first, (size_t)first_count * sizeof *first);
  if (count > 0)
    memcpy(operands + first_count, more, (size_t)count * sizeof *more);
  return hsc__build_inferred(b, op, (hsc_shape){0}, attr, first_count + count, operands, 0, NULL);
}

hsc_instr *hsc_build_dynamic_slice(
    hsc_builder *b, hsc_instr *x, int index_count, hsc_instr *const *indices, hsc_dims sizes) {
  hsc_attr attr = {.slice_sizes = {.sizes = hsc_dims_copy(b->module->arena, sizes.count, sizes.v)}};
  return build_joined(b, HSC_OP_DYNAMIC_SLICE, &attr, 1, &x, index_count, indices);
}

hsc_instr *hsc_build_dynamic_update_slice(
    hsc_builder *b, hsc_instr *x, hsc_instr *update, int index_count, hsc_instr *const *indices) {
  return build_joined(b, HSC_OP_DYNAMIC_UPDATE_SLICE, NULL, 2, (hsc_instr *[]){x, update},
                      index_count, indices);
}

hsc_instr *hsc_build_concatenate(hsc_builder *b,
                                 int count,
                                 hsc_instr *const *operands,
                                 int64_t dimension) {
  hsc_attr attr = dims_attr(b, (hsc_dims){1, &dimension});
  return hsc__build_inferred(b, HSC_OP_CONCATENATE, (hsc_shape){0}, &attr, count, operands, 0,
                             NULL);
}

hsc_instr *hsc_build_iota(hsc_builder *b, hsc_shape shape, int64_t dimension) {
  hsc_attr attr = dims_attr(b, (hsc_dims){1, &dimension});
  return hsc__build_inferred(b, HSC_OP_IOTA, shape, &attr, 0, NULL, 0, NULL);
}

hsc_instr *hsc_build_reduce(
    hsc_builder *b, hsc_instr *x, hsc_instr *init, hsc_dims dims, hsc_computation *reducer) {
  hsc_attr attr = dims_attr(b, dims);
  return hsc__build_inferred(b, HSC_OP_REDUCE, (hsc_shape){0}, &attr, 2, (hsc_instr *[]){x, init},
                             1, &reducer);
}

hsc_instr *hsc_build_dot(hsc_builder *b, hsc_instr *lhs, hsc_instr *rhs, hsc_dot_dims dims) {
  hsc_attr from = {.dot = dims};
  hsc_attr attr;
  hsc__attr_copy(b->module->arena, HSC_OP_DOT, &from, &attr);
  return hsc__build_inferred(b, HSC_OP_DOT, (hsc_shape){0}, &attr, 2, (hsc_instr *[]){lhs, rhs}, 0,
                             NULL);
}

hsc_instr *hsc_build_tuple(hsc_builder *b, int count, hsc_instr *const *operands) {
  return hsc__build_inferred(b, HSC_OP_TUPLE, (hsc_shape){0}, NULL, count, operands, 0, NULL);
}

hsc_instr *hsc_build_get_tuple_element(hsc_builder *b, hsc_instr *tuple, int64_t index) {
  hsc_attr attr = {.index = {.value = index}};
  return hsc__build_inferred(b, HSC_OP_GET_TUPLE_ELEMENT, (hsc_shape){0}, &attr, 1, &tuple, 0,
                             NULL);
}

hsc_instr *hsc_build_call(hsc_builder *b,
                          hsc_computation *computation,
                          int count,
                          hsc_instr *const *operands) {
  return hsc__build_inferred(b, HSC_OP_CALL, (hsc_shape){0}, NULL, count, operands, 1,
                             &computation);
}

hsc_instr *hsc_build_while(hsc_builder *b,
                           hsc_computation *condition,
                           hsc_computation *body,
                           hsc_instr *init) {
  return hsc__build_inferred(b, HSC_OP_WHILE, (hsc_shape){0}, NULL, 1, &init, 2,
                             (hsc_computation *[]){condition, body});
}

bool hsc_is_simple_reducer(const hsc_computation *computation, hsc_op *out_op) {
  const hsc_instr *root = computation->root;
  if (computation->parameter_count != 2 || root->operand_count != 2 ||
      root->operands[0] == root->operands[1])
    return false;
  if (root->operands[0]->op != HSC_OP_PARAMETER || root->operands[1]->op != HSC_OP_PARAMETER)
    return false;
  if (root->operands[0]->attr.index.value != 0 && !(hsc_op_traits(root->op) & HSC_TRAIT_COMMUTES))
    return false;
  *out_op = root->op;
  return true;
}

hsc_computation *hsc_module_scalar_reducer(hsc_module *module, hsc_op op, hsc_type type) {
  char name[64];
  snprintf(name, sizeof name, "reducer_%s_%s", hsc_op_text(op), hsc_type_text(type));
  hsc_computation *found = hsc_module_find(module, name);
  hsc_op found_op;
  if (found && found->root && found->root->shape.type == type &&
      hsc_is_simple_reducer(found, &found_op) && found_op == op)
    return found;
  hsc_builder b;
  hsc_builder_init(&b, module, name);
  hsc_instr *x = hsc_build_parameter(&b, 0, hsc_shape_scalar(type), "x");
  hsc_instr *y = hsc_build_parameter(&b, 1, hsc_shape_scalar(type), "y");
  hsc_instr *root = hsc_build_binary(&b, op, x, y);
  hsc_computation *computation = NULL;
  hsc_status *status = hsc_builder_finish(&b, root, &computation);
  hsc_status_free(status);
  return status ? NULL : computation;
}
