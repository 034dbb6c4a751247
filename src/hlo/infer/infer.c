// infer.c - shape inference: the table of rules, the element-by-element ops, and ops whose shape is
// given and only checked.
//
// How to read: hsc_infer_shape finds the rule of the op. Rules of families are in files beside this
// one (dimensions, indices, products, windows, calls, collectives); infer_common.c holds what they
// share. A rule either makes the shape or checks the one that is there; a refusal names the
// operand.
#include "base/text/text.h"
#include "hlo/infer/infer_internal.h"

static const hsc__infer_rule rules[HSC_OP_COUNT] = {
#define OP(id, text, arity, traits, attr, rule, doc) [HSC_OP_##id] = hsc__infer_##rule,
#include "hlo/ir/ops.def"
#undef OP
};

hsc_status *hsc_infer_shape(hsc_arena *arena, const hsc_instr *instr, hsc_shape *out_shape) {
  if ((unsigned)instr->op >= HSC_OP_COUNT)
    return HSC_ERR(INVALID_ARGUMENT, "instruction: unknown op %d", (int)instr->op);
  if (instr->op == HSC_OP_DOT && instr->attr.dot.sparsity)
    return hsc_op_not_built(instr->op, "sparse operands");
  int arity = hsc_op_arity(instr->op);
  if (arity != VARIADIC_ARITY && instr->operand_count != arity)
    return hsc__infer_error(instr, "takes %d operand%s, has %d", arity,
                            hsc_plural((double)arity, "", "s"), instr->operand_count);
  for (int i = 0; i < instr->called_count; i++)
    if (!instr->called[i] || !instr->called[i]->root)
      return hsc__infer_error(instr, "called computation %d is missing or has no root", i);
  hsc_shape shape = {0};
  HSC_TRY(rules[instr->op](arena, instr, &shape));
  if (shape.rank > HSC_MAX_RANK)
    return hsc__infer_error(instr, "the result would have %d dimensions; %d are allowed",
                            shape.rank, HSC_MAX_RANK);
  *out_shape = shape;
  return NULL;
}

// ---- helpers ------------------------------------------------------------------------------------

// ---- element by element -------------------------------------------------------------------------

enum {
  P = 1 << HSC_CLASS_PRED,
  S = 1 << HSC_CLASS_SIGNED,
  U = 1 << HSC_CLASS_UNSIGNED,
  F = 1 << HSC_CLASS_FLOAT,
  C = 1 << HSC_CLASS_COMPLEX
};

// Classes of element types that an op takes.
// 0: every class, or, of a transcendental operation, floats and complex numbers.
static const unsigned own_classes[HSC_OP_COUNT] = {
    [HSC_OP_ABS] = S | F | C,
    [HSC_OP_AND] = P | S | U,
    [HSC_OP_ATAN2] = S | U | F | C,
    [HSC_OP_CEIL] = F,
    [HSC_OP_CLZ] = S | U,
    [HSC_OP_DIVIDE] = S | U | F | C,
    [HSC_OP_ERF] = F,
    [HSC_OP_FLOOR] = F,
    [HSC_OP_IMAG] = F | C,
    [HSC_OP_IS_FINITE] = F,
    [HSC_OP_MAXIMUM] = P | S | U | F | C,
    [HSC_OP_MINIMUM] = P | S | U | F | C,
    [HSC_OP_NEGATE] = S | U | F | C,
    [HSC_OP_NOT] = P | S | U,
    [HSC_OP_OR] = P | S | U,
    [HSC_OP_POPCNT] = S | U,
    [HSC_OP_POWER] = S | U | F | C,
    [HSC_OP_REAL] = F | C,
    [HSC_OP_REDUCE_PRECISION] = F,
    [HSC_OP_REMAINDER] = S | U | F | C,
    [HSC_OP_ROUND_AFZ] = F,
    [HSC_OP_ROUND_EVEN] = F,
    [HSC_OP_SHIFT_LEFT] = S | U,
    [HSC_OP_SHIFT_RIGHT_ARITH] = S | U,
    [HSC_OP_SHIFT_RIGHT_LOGICAL] = S | U,
    [HSC_OP_SIGN] = S | F | C,
    [HSC_OP_SUBTRACT] = S | U | F | C,
    [HSC_OP_XOR] = P | S | U,
};

static unsigned classes_of(hsc_op op) {
  if (own_classes[op])
    return own_classes[op];
  return hsc_op_traits(op) & HSC_TRAIT_TRANSCENDENTAL ? F | C : P | S | U | F | C;
}

static const char *classes_text(unsigned classes) {
  switch (classes) {
    case P | S | U:
      return "integers or pred";
    case S | U:
      return "integers";
    case S | F | C:
      return "signed integers, floats or complex numbers";
    case S | U | F | C:
      return "numbers";
    case F:
      return "floats";
    case F | C:
      return "floats or complex numbers";
    default:
      return "arrays";
  }
}

// All operands are arrays of one shape, of a type that the op takes.
static hsc_status *want_same(hsc_arena *arena, const hsc_instr *instr) {
  HSC_TRY(hsc__want_operands(instr, 1));
  unsigned classes = classes_of(instr->op);
  const hsc_shape *first = hsc__operand_shape(instr, 0);
  for (int i = 0; i < instr->operand_count; i++) {
    const hsc_shape *shape = hsc__operand_shape(instr, i);
    HSC_TRY(hsc__want_array(instr, i));
    if (!(classes >> hsc_type_class_of(shape->type) & 1))
      return hsc__infer_error(instr, "takes %s; operand %d, %%%s, is %s", classes_text(classes), i,
                              instr->operands[i]->name, hsc__shape_text(arena, shape));
    if (shape->type != first->type || !hsc_shape_same_dims(shape, first))
      return hsc__infer_error(instr, "operands differ: operand 0 is %s, operand %d is %s",
                              hsc__shape_text(arena, first), i, hsc__shape_text(arena, shape));
  }
  return NULL;
}

// The first operand's shape; a dimension is dynamic where it is so in any operand.
static hsc_shape merged_shape(hsc_arena *arena, const hsc_instr *instr) {
  hsc_shape shape = *hsc__operand_shape(instr, 0);
  for (int i = 1; i < instr->operand_count; i++) {
    const bool *dynamic = hsc__operand_shape(instr, i)->dynamic;
    if (!dynamic || dynamic == shape.dynamic || shape.rank == 0)
      continue;
    bool *merged = HSC_NEW_ARRAY(arena, bool, shape.rank);
    for (int d = 0; merged && d < shape.rank; d++)
      merged[d] = dynamic[d] || (shape.dynamic && shape.dynamic[d]);
    shape.dynamic = merged;
  }
  return shape;
}

RULE(same) {
  switch (instr->op) {
    case HSC_OP_COPY:
    case HSC_OP_DOMAIN:
      *out_shape = *hsc__operand_shape(instr, 0);
      return NULL;
    default:
      break;
  }
  HSC_TRY(want_same(arena, instr));
  if (instr->op == HSC_OP_CHOLESKY)
    HSC_TRY(hsc__check_cholesky(arena, instr));
  if (instr->op == HSC_OP_REVERSE)
    HSC_TRY(hsc__want_distinct_dims(arena, instr, "dimensions", instr->attr.dims.dims,
                                    hsc__operand_shape(instr, 0)->rank));
  if (instr->op == HSC_OP_REDUCE_PRECISION &&
      (instr->attr.precision.exponent_bits < 1 || instr->attr.precision.mantissa_bits < 0))
    return hsc__infer_error(
        instr, "needs at least 1 exponent bit and 0 mantissa bits; has %d and %d",
        instr->attr.precision.exponent_bits, instr->attr.precision.mantissa_bits);
  *out_shape = merged_shape(arena, instr);
  return NULL;
}

RULE(abs) {
  HSC_TRY(want_same(arena, instr));
  *out_shape = hsc_shape_with_type(*hsc__operand_shape(instr, 0),
                                   hsc_type_real_part(hsc__operand_shape(instr, 0)->type));
  return NULL;
}

RULE(real_part) {
  HSC_TRY(want_same(arena, instr));
  *out_shape = hsc_shape_with_type(*hsc__operand_shape(instr, 0),
                                   hsc_type_real_part(hsc__operand_shape(instr, 0)->type));
  return NULL;
}

RULE(pred) {
  HSC_TRY(want_same(arena, instr));
  *out_shape = hsc_shape_with_type(*hsc__operand_shape(instr, 0), HSC_TYPE_PRED);
  return NULL;
}

RULE(complex) {
  HSC_TRY(want_same(arena, instr));
  hsc_type type = hsc__operand_shape(instr, 0)->type;
  if (type != HSC_TYPE_F32 && type != HSC_TYPE_F64)
    return hsc__infer_error(instr, "takes f32 or f64; operand 0 is %s", hsc_type_text(type));
  *out_shape = hsc_shape_with_type(merged_shape(arena, instr),
                                   type == HSC_TYPE_F32 ? HSC_TYPE_C64 : HSC_TYPE_C128);
  return NULL;
}

RULE(compare) {
  HSC_TRY(want_same(arena, instr));
  hsc_type_class class = hsc_type_class_of(hsc__operand_shape(instr, 0)->type);
  hsc_compare_type type = instr->attr.compare.type;
  bool fits =
      type == HSC_COMPARE_DEFAULT ||
      ((type == HSC_COMPARE_FLOAT) && (class == HSC_CLASS_FLOAT || class == HSC_CLASS_COMPLEX)) ||
      (type == HSC_COMPARE_TOTALORDER && class != HSC_CLASS_COMPLEX) ||
      (type == HSC_COMPARE_SIGNED && class == HSC_CLASS_SIGNED) ||
      (type == HSC_COMPARE_UNSIGNED && (class == HSC_CLASS_UNSIGNED || class == HSC_CLASS_PRED));
  if (!fits)
    return hsc__infer_error(instr, "type=%s does not fit operands of type %s",
                            hsc__word_or_unknown(HSC__WORDS_COMPARE_TYPE, type),
                            hsc_type_text(hsc__operand_shape(instr, 0)->type));
  if (class == HSC_CLASS_COMPLEX && instr->attr.compare.direction != HSC_EQ &&
      instr->attr.compare.direction != HSC_NE)
    return hsc__infer_error(
        instr, "complex numbers have no order: direction=%s; EQ and NE are allowed",
        hsc__word_or_unknown(HSC__WORDS_DIRECTION, instr->attr.compare.direction));
  *out_shape = hsc_shape_with_type(merged_shape(arena, instr), HSC_TYPE_PRED);
  return NULL;
}

RULE(select) {
  for (int i = 0; i < 3; i++)
    HSC_TRY(hsc__want_array(instr, i));
  const hsc_shape *pred = hsc__operand_shape(instr, 0);
  const hsc_shape *on_true = hsc__operand_shape(instr, 1);
  const hsc_shape *on_false = hsc__operand_shape(instr, 2);
  if (pred->type != HSC_TYPE_PRED)
    return hsc__infer_error(instr, "operand 0 must be pred; it is %s",
                            hsc__shape_text(arena, pred));
  if (on_true->type != on_false->type || !hsc_shape_same_dims(on_true, on_false))
    return hsc__infer_error(instr, "operands differ: operand 1 is %s, operand 2 is %s",
                            hsc__shape_text(arena, on_true), hsc__shape_text(arena, on_false));
  if (pred->rank != 0 && !hsc_shape_same_dims(pred, on_true))
    return hsc__infer_error(
        instr, "operand 0 must be a scalar or have the dimensions of operand 1: %s against %s",
        hsc__shape_text(arena, pred), hsc__shape_text(arena, on_true));
  *out_shape = *on_true;
  if (on_false->dynamic && !out_shape->dynamic)
    out_shape->dynamic = on_false->dynamic;
  return NULL;
}

RULE(clamp) {
  for (int i = 0; i < 3; i++)
    HSC_TRY(hsc__want_array(instr, i));
  const hsc_shape *x = hsc__operand_shape(instr, 1);
  for (int i = 0; i < 3; i += 2) {
    const hsc_shape *bound = hsc__operand_shape(instr, i);
    if (bound->type != x->type || (bound->rank != 0 && !hsc_shape_same_dims(bound, x)))
      return hsc__infer_error(
          instr, "the %s must be a scalar or have the shape of the operand: %s against %s",
          i ? "maximum" : "minimum", hsc__shape_text(arena, bound), hsc__shape_text(arena, x));
  }
  if (hsc_type_is_complex(x->type))
    return hsc__infer_error(instr, "complex numbers have no order: %s", hsc__shape_text(arena, x));
  *out_shape = *x;
  return NULL;
}

// ---- tuples, tokens, scalars --------------------------------------------------------------------

RULE(tuple) {
  hsc_shape *elements = NULL;
  if (instr->operand_count > 0) {
    elements = HSC_NEW_ARRAY(arena, hsc_shape, instr->operand_count);
    HSC_TRY(hsc_arena_status(arena));
    for (int i = 0; i < instr->operand_count; i++)
      elements[i] = *hsc__operand_shape(instr, i);
  }
  *out_shape = hsc_shape_tuple_over(instr->operand_count, elements);
  return NULL;
}

RULE(tuple_element) {
  const hsc_shape *tuple = hsc__operand_shape(instr, 0);
  int64_t index = instr->attr.index.value;
  if (!hsc_shape_is_tuple(tuple))
    return hsc__infer_error(instr, "operand 0 must be a tuple; it is %s",
                            hsc__shape_text(arena, tuple));
  if (index < 0 || index >= tuple->element_count)
    return hsc__infer_error(instr, "index %lld is not in the tuple of %d elements",
                            (long long)index, tuple->element_count);
  *out_shape = tuple->elements[index];
  return NULL;
}

// XLA lets any value stand for the moment when it is there.
RULE(token) {
  *out_shape = hsc_shape_token();
  return NULL;
}

RULE(scalar_u32) {
  (void)arena;
  (void)instr;
  *out_shape = hsc_shape_scalar(HSC_TYPE_U32);
  return NULL;
}

RULE(scalar_s32) {
  HSC_TRY(hsc__want_array(instr, 0));
  if (instr->attr.dims.dims.count != 1)
    return hsc__infer_error(instr, "needs one dimension; has %d", instr->attr.dims.dims.count);
  HSC_TRY(hsc__want_distinct_dims(arena, instr, "dimensions", instr->attr.dims.dims,
                                  hsc__operand_shape(instr, 0)->rank));
  *out_shape = hsc_shape_scalar(HSC_TYPE_S32);
  return NULL;
}

RULE(first) {
  HSC_TRY(hsc__want_operands(instr, 1));
  switch (instr->op) {
    case HSC_OP_WHILE:
      HSC_TRY(hsc__check_while(arena, instr));
      break;
    case HSC_OP_DYNAMIC_UPDATE_SLICE:
      HSC_TRY(hsc__check_dynamic_update_slice(arena, instr));
      break;
    case HSC_OP_SELECT_AND_SCATTER:
      HSC_TRY(hsc__check_select_and_scatter(arena, instr));
      break;
    case HSC_OP_BATCH_NORM_INFERENCE:
      HSC_TRY(hsc__check_bn_inference(arena, instr));
      break;
    default:
      break;
  }
  *out_shape = *hsc__operand_shape(instr, 0);
  return NULL;
}

// ---- given shapes -------------------------------------------------------------------------------

static hsc_status *check_convert(hsc_arena *arena, const hsc_instr *instr) {
  HSC_TRY(hsc__want_array(instr, 0));
  const hsc_shape *from = hsc__operand_shape(instr, 0);
  const hsc_shape *to = &instr->shape;
  if (!hsc_shape_is_array(to) || !hsc_shape_same_dims(from, to))
    return hsc__infer_error(instr, "changes the type, not the dimensions: %s from %s",
                            hsc__shape_text(arena, to), hsc__shape_text(arena, from));
  if (hsc_type_is_complex(from->type) && !hsc_type_is_complex(to->type))
    return hsc__infer_error(instr, "a complex number has no %s value: %s from %s",
                            hsc_type_text(to->type), hsc__shape_text(arena, to),
                            hsc__shape_text(arena, from));
  return NULL;
}

static hsc_status *check_reshape(hsc_arena *arena, const hsc_instr *instr) {
  HSC_TRY(hsc__want_array(instr, 0));
  const hsc_shape *from = hsc__operand_shape(instr, 0);
  const hsc_shape *to = &instr->shape;
  if (!hsc_shape_is_array(to) || from->type != to->type ||
      hsc_shape_elements(from) != hsc_shape_elements(to))
    return hsc__infer_error(instr, "must keep the type and the number of elements: %s from %s",
                            hsc__shape_text(arena, to), hsc__shape_text(arena, from));
  return NULL;
}

static hsc_status *check_bitcast(hsc_arena *arena, const hsc_instr *instr) {
  const hsc_shape *from = hsc__operand_shape(instr, 0);
  const hsc_shape *to = &instr->shape;
  // tiles may pad
  bool tiled = (from->layout && from->layout->extra) || (to->layout && to->layout->extra);
  if (!tiled && hsc_shape_is_array(from) && hsc_shape_is_array(to) &&
      hsc_shape_bytes(from) != hsc_shape_bytes(to))
    return hsc__infer_error(instr, "must keep the number of bytes: %s from %s",
                            hsc__shape_text(arena, to), hsc__shape_text(arena, from));
  return NULL;
}

static hsc_status *check_constant(hsc_arena *arena, const hsc_instr *instr) {
  const hsc_literal *literal = instr->attr.literal.value;
  if (!literal)
    return hsc__infer_error(instr, "has no literal");
  if (!hsc_shape_equal(&literal->shape, &instr->shape))
    return hsc__infer_error(instr, "its literal is %s, its shape %s",
                            hsc__shape_text(arena, &literal->shape),
                            hsc__shape_text(arena, &instr->shape));
  if (literal->shape.type != HSC_TYPE_TUPLE && !literal->elided && !literal->data &&
      hsc_shape_bytes(&literal->shape) > 0)
    return hsc__infer_error(instr, "its literal has no values");
  return NULL;
}

static hsc_status *check_iota(hsc_arena *arena, const hsc_instr *instr) {
  const hsc_shape *shape = &instr->shape;
  if (!hsc_shape_is_array(shape) || shape->rank == 0 || shape->type == HSC_TYPE_PRED)
    return hsc__infer_error(instr, "must be an array of numbers with at least one dimension: %s",
                            hsc__shape_text(arena, shape));
  if (instr->attr.dims.dims.count != 1)
    return hsc__infer_error(instr, "needs one iota_dimension; has %d", instr->attr.dims.dims.count);
  return hsc__want_distinct_dims(arena, instr, "iota_dimension", instr->attr.dims.dims,
                                 shape->rank);
}

static hsc_status *check_rng(hsc_arena *arena, const hsc_instr *instr) {
  for (int i = 0; i < 2; i++) {
    HSC_TRY(hsc__want_array(instr, i));
    const hsc_shape *shape = hsc__operand_shape(instr, i);
    if (shape->rank != 0 || shape->type != instr->shape.type)
      return hsc__infer_error(instr, "operand %d must be a scalar of the result's type: %s for %s",
                              i, hsc__shape_text(arena, shape),
                              hsc__shape_text(arena, &instr->shape));
  }
  if (instr->attr.rng.distribution == HSC_RNG_NONE)
    return hsc__infer_error(instr, "needs a distribution");
  return NULL;
}

static hsc_status *check_rng_bit_generator(hsc_arena *arena, const hsc_instr *instr) {
  HSC_TRY(hsc__want_array(instr, 0));
  const hsc_shape *state = hsc__operand_shape(instr, 0);
  const hsc_shape *result = &instr->shape;
  if (!hsc_shape_is_tuple(result))
    return NULL;  // the bits alone
  if (result->element_count != 2 || !hsc_shape_equal(&result->elements[0], state) ||
      !hsc_shape_is_array(&result->elements[1]))
    return hsc__infer_error(instr,
                            "must give (state, bits) with the state of operand 0: %s from %s",
                            hsc__shape_text(arena, result), hsc__shape_text(arena, state));
  return NULL;
}

static hsc_status *check_set_dimension_size(hsc_arena *arena, const hsc_instr *instr) {
  HSC_TRY(hsc__want_array(instr, 0));
  HSC_TRY(hsc__want_array(instr, 1));
  if (instr->attr.dims.dims.count != 1)
    return hsc__infer_error(instr, "needs one dimension; has %d", instr->attr.dims.dims.count);
  HSC_TRY(hsc__want_distinct_dims(arena, instr, "dimensions", instr->attr.dims.dims,
                                  hsc__operand_shape(instr, 0)->rank));
  const hsc_shape *size = hsc__operand_shape(instr, 1);
  if (size->type != HSC_TYPE_S32 || size->rank != 0)
    return hsc__infer_error(instr, "the size must be s32[]; it is %s",
                            hsc__shape_text(arena, size));
  if (!hsc_shape_same_dims(&instr->shape, hsc__operand_shape(instr, 0)))
    return hsc__infer_error(instr, "keeps the bounds: %s from %s",
                            hsc__shape_text(arena, &instr->shape),
                            hsc__shape_text(arena, hsc__operand_shape(instr, 0)));
  return NULL;
}

static hsc_status *check_stochastic_convert(hsc_arena *arena, const hsc_instr *instr) {
  HSC_TRY(check_convert(arena, instr));
  HSC_TRY(hsc__want_array(instr, 1));
  const hsc_shape *x = hsc__operand_shape(instr, 0);
  const hsc_shape *random = hsc__operand_shape(instr, 1);
  if (hsc_type_class_of(random->type) != HSC_CLASS_UNSIGNED ||
      hsc_type_bits(random->type) != hsc_type_bits(x->type) || !hsc_shape_same_dims(x, random))
    return hsc__infer_error(
        instr, "the random bits must be unsigned and as wide as the operand: %s for %s",
        hsc__shape_text(arena, random), hsc__shape_text(arena, x));
  return NULL;
}

// ((operands), results, ...) of the start and of every step after it.
static hsc_status *check_async(hsc_arena *arena, const hsc_instr *instr) {
  bool is_done = instr->op == HSC_OP_ASYNC_DONE;
  const hsc_shape *shape = is_done ? hsc__operand_shape(instr, 0) : &instr->shape;
  if (!hsc_shape_is_tuple(shape) || shape->element_count < 2 ||
      !hsc_shape_is_tuple(&shape->elements[0]))
    return hsc__infer_error(instr, "%s must be ((operands), results, ...); it is %s",
                            is_done ? "the operand's shape" : "the shape",
                            hsc__shape_text(arena, shape));
  if (is_done && !hsc_shape_equal(&instr->shape, &shape->elements[1]))
    return hsc__infer_error(instr, "its shape is %s, what was started gives %s",
                            hsc__shape_text(arena, &instr->shape),
                            hsc__shape_text(arena, &shape->elements[1]));
  return NULL;
}

static hsc_status *check_custom_call(hsc_arena *arena, const hsc_instr *instr) {
  const hsc_shape *wanted = instr->attr.custom.operand_layouts;
  if (!wanted)
    return NULL;
  if (instr->attr.custom.operand_layout_count != instr->operand_count)
    return hsc__infer_error(instr, "%d operand_layout_constraints for %d operands",
                            instr->attr.custom.operand_layout_count, instr->operand_count);
  for (int i = 0; i < instr->operand_count; i++)
    if (!hsc_shape_equal(&wanted[i], hsc__operand_shape(instr, i)))
      return hsc__infer_error(instr,
                              "operand_layout_constraints say %s for operand %d, which is %s",
                              hsc__shape_text(arena, &wanted[i]), i,
                              hsc__shape_text(arena, hsc__operand_shape(instr, i)));
  return NULL;
}

static hsc_status *check_infeed(hsc_arena *arena, const hsc_instr *instr) {
  const hsc_shape *shape = &instr->shape;
  if (hsc_shape_is_tuple(shape) && shape->element_count == 2 &&
      shape->elements[1].type == HSC_TYPE_TOKEN)
    return NULL;
  return hsc__infer_error(instr, "the shape must be (data, token[]); it is %s",
                          hsc__shape_text(arena, shape));
}

RULE(given) {
  if (instr->shape.type == HSC_TYPE_INVALID)
    return hsc__infer_error(instr, "its shape cannot be inferred and must be given");
  switch (instr->op) {
    case HSC_OP_CONVERT:
      HSC_TRY(check_convert(arena, instr));
      break;
    case HSC_OP_RESHAPE:
      HSC_TRY(check_reshape(arena, instr));
      break;
    case HSC_OP_BITCAST:
      HSC_TRY(check_bitcast(arena, instr));
      break;
    case HSC_OP_CONSTANT:
      HSC_TRY(check_constant(arena, instr));
      break;
    case HSC_OP_IOTA:
      HSC_TRY(check_iota(arena, instr));
      break;
    case HSC_OP_RNG:
      HSC_TRY(check_rng(arena, instr));
      break;
    case HSC_OP_RNG_BIT_GENERATOR:
      HSC_TRY(check_rng_bit_generator(arena, instr));
      break;
    case HSC_OP_SET_DIMENSION_SIZE:
      HSC_TRY(check_set_dimension_size(arena, instr));
      break;
    case HSC_OP_STOCHASTIC_CONVERT:
      HSC_TRY(check_stochastic_convert(arena, instr));
      break;
    case HSC_OP_ASYNC_DONE:
    case HSC_OP_ASYNC_START:
    case HSC_OP_ASYNC_UPDATE:
      HSC_TRY(check_async(arena, instr));
      break;
    case HSC_OP_CUSTOM_CALL:
      HSC_TRY(check_custom_call(arena, instr));
      break;
    case HSC_OP_INFEED:
      HSC_TRY(check_infeed(arena, instr));
      break;
    case HSC_OP_PARAMETER:
      if (instr->attr.index.value < 0)
        return hsc__infer_error(instr, "number %lld is negative",
                                (long long)instr->attr.index.value);
      break;
    default:
      break;
  }
  *out_shape = instr->shape;
  return NULL;
}
