// chlo_ops.c - CHLO, StableHLO's client dialect: what HLO has itself, and what is made of HLO's
// operations.
//
// jaxlib takes CHLO apart before it sends bytecode, but not in the text that it prints. The
// decompositions are those of StableHLO (stablehlo/transforms/ChloDecompositionPatterns.td,
// ChloLegalizeToStablehlo.cpp).
#include "formats/stablehlo/chlo_internal.h"

typedef hsc__chlo chlo;
typedef hsc_instr *(*chlo_function)(chlo *c);

#define like hsc__like
#define un hsc__un
#define bin hsc__bin
#define cmp hsc__cmp

static hsc_instr *make_square(chlo *c) {
  return bin(c, HSC_OP_MULTIPLY, c->operands[0], c->operands[0]);
}
static hsc_instr *make_atan(chlo *c) {
  return bin(c, HSC_OP_ATAN2, c->operands[0], like(c, c->operands[0], 1));
}
static hsc_instr *make_is_inf(chlo *c) {
  return cmp(c, HSC_EQ, un(c, HSC_OP_ABS, c->operands[0]), like(c, c->operands[0], INFINITY));
}
static hsc_instr *make_is_pos_inf(chlo *c) {
  return cmp(c, HSC_EQ, c->operands[0], like(c, c->operands[0], INFINITY));
}
static hsc_instr *make_is_neg_inf(chlo *c) {
  return cmp(c, HSC_EQ, c->operands[0], like(c, c->operands[0], -INFINITY));
}

static hsc_instr *make_conj(chlo *c) {
  hsc_instr *x = c->operands[0];
  if (!hsc_type_is_complex(x->shape.type))
    return x;
  return bin(c, HSC_OP_COMPLEX, un(c, HSC_OP_REAL, x), un(c, HSC_OP_NEGATE, un(c, HSC_OP_IMAG, x)));
}

static hsc_instr *make_constant_like(chlo *c) {
  const hsc__mlir_attr *value = hsc__mlir_attr_get(c->op, "value");
  if (!value)
    return NULL;
  return like(c, c->operands[0],
              value->kind == HSC_MLIR_FLOAT ? value->number : (double)value->integer);
}

// ---- special functions --------------------------------------------------------------------------

// Floats narrower than f32 are computed as f32.
static hsc_instr *in_f32(chlo *c,
                         hsc_instr *(*one)(chlo *, hsc_instr *),
                         hsc_instr *(*two)(chlo *, hsc_instr *, hsc_instr *)) {
  hsc_type type = c->operands[0]->shape.type;
  if (!hsc_type_is_float(type))
    return NULL;
  bool narrow = type != HSC_TYPE_F32 && type != HSC_TYPE_F64;
  hsc_instr *x = narrow ? hsc_build_convert(c->b, HSC_TYPE_F32, c->operands[0]) : c->operands[0];
  hsc_instr *y = NULL;
  if (two)
    y = narrow ? hsc_build_convert(c->b, HSC_TYPE_F32, c->operands[1]) : c->operands[1];
  hsc_instr *result = two ? two(c, x, y) : one(c, x);
  return narrow ? hsc_build_convert(c->b, type, result) : result;
}

static hsc_instr *make_bessel_i1e(chlo *c) {
  return in_f32(c, hsc__chlo_bessel_i1e, NULL);
}
static hsc_instr *make_digamma(chlo *c) {
  return in_f32(c, hsc__chlo_digamma, NULL);
}
static hsc_instr *make_erf_inv(chlo *c) {
  return in_f32(c, hsc__chlo_erf_inv, NULL);
}
static hsc_instr *make_erfc(chlo *c) {
  return in_f32(c, hsc__chlo_erfc, NULL);
}
static hsc_instr *make_lgamma(chlo *c) {
  return in_f32(c, hsc__chlo_lgamma, NULL);
}
static hsc_instr *make_polygamma(chlo *c) {
  return in_f32(c, NULL, hsc__chlo_polygamma);
}
static hsc_instr *make_zeta(chlo *c) {
  return in_f32(c, NULL, hsc__chlo_zeta);
}
static hsc_instr *make_next_after(chlo *c) {
  return hsc_type_is_float(c->operands[0]->shape.type)
             ? hsc__chlo_next_after(c, c->operands[0], c->operands[1])
             : NULL;
}
static hsc_instr *make_mulhi(chlo *c) {
  return hsc_type_is_integral(c->operands[0]->shape.type)
             ? hsc__chlo_mulhi(c, c->operands[0], c->operands[1])
             : NULL;
}

// ---- operations that broadcast ------------------------------------------------------------------

// An operand in `shape`'s dimensions: its dimension i is dimension map[i] there; one of size 1 is
// repeated.
static hsc_status *spread(
    chlo *c, hsc_instr *x, const hsc_shape *shape, const int64_t *map, hsc_instr **out) {
  int64_t kept_dims[HSC_MAX_RANK], kept_map[HSC_MAX_RANK];
  int kept = 0;
  int rank = x->shape.rank;
  for (int i = 0; i < rank; i++) {
    int64_t to = map[i];
    if (to < 0 || to >= shape->rank ||
        (x->shape.dims[i] != 1 && x->shape.dims[i] != shape->dims[to]))
      return HSC_OP_ERR(INVALID_ARGUMENT, c->im, c->op,
                        "dimension %d of an operand does not fit the result", i);
    if (x->shape.dims[i] == 1 && shape->dims[to] != 1)
      continue;
    kept_dims[kept] = x->shape.dims[i];
    kept_map[kept++] = to;
  }
  if (kept != rank)
    x = hsc_build_reshape(c->b, x, kept, kept_dims);
  bool same = kept == shape->rank;
  *out = same ? x
              : hsc_build_broadcast(c->b, x, hsc_shape_with_type(*shape, x->shape.type),
                                    hsc_dims_copy(c->im->module->arena, kept, kept_map));
  return NULL;
}

// The operands of broadcast_NAME in the result's shape: the one of the lower rank goes to
// broadcast_dimensions, or to the last dimensions.
static hsc_status *spread_operands(chlo *c, int count) {
  hsc_shape shape;
  hsc_dims given;
  HSC_TRY(hsc__import_result_shape(c->im, c->op, &shape));
  HSC_TRY(hsc__import_dims(c->im, c->op, "broadcast_dimensions", &given));
  bool is_given = hsc__mlir_attr_get(c->op, "broadcast_dimensions") != NULL;
  if (!hsc_shape_is_array(&shape))
    return HSC_OP_ERR(INVALID_ARGUMENT, c->im, c->op, "the result is no array");
  for (int i = 0; i < count; i++) {
    int64_t map[HSC_MAX_RANK];
    int rank = c->operands[i]->shape.rank;
    if (rank > shape.rank)
      return HSC_OP_ERR(INVALID_ARGUMENT, c->im, c->op,
                        "an operand has more dimensions than the result");
    bool by_given = is_given && rank < shape.rank;
    if (by_given && given.count != rank)
      return HSC_OP_ERR(INVALID_ARGUMENT, c->im, c->op,
                        "%d broadcast_dimensions for an operand of rank %d", given.count, rank);
    for (int k = 0; k < rank; k++)
      map[k] = by_given ? given.v[k] : shape.rank - rank + k;
    HSC_TRY(spread(c, c->operands[i], &shape, map, &c->operands[i]));
  }
  return NULL;
}

// Both results of the k largest of the last dimension.
static hsc_instr *make_top_k(chlo *c) {
  hsc_shape tuple;
  hsc_status *status = hsc__import_result_shape(c->im, c->op, &tuple);
  if (status) {
    if (!c->b->status)
      c->b->status = status;
    else
      hsc_status_free(status);
    return NULL;
  }
  hsc_instr *result = hsc_build(c->b, HSC_OP_TOPK, tuple, 1, c->operands);
  result->attr.topk.k = hsc__import_int(c->op, "k", 0);
  result->attr.topk.largest = true;
  return result;
}

// ---- the table ----------------------------------------------------------------------------------

// With operands of one shape that HLO has itself.
static const struct {
  const char *name;
  hsc_op op;
} direct[] = {
#define LACKED(name, hlo) {name, HSC_OP_##hlo},
#include "formats/mlir/stablehlo_ops.def"
};

static const struct {
  const char *name;
  int arity;
  chlo_function make;
} made[] = {{"atan", 1, make_atan},
            {"bessel_i1e", 1, make_bessel_i1e},
            {"conj", 1, make_conj},
            {"constant_like", 1, make_constant_like},
            {"digamma", 1, make_digamma},
            {"erf_inv", 1, make_erf_inv},
            {"erfc", 1, make_erfc},
            {"is_inf", 1, make_is_inf},
            {"is_neg_inf", 1, make_is_neg_inf},
            {"is_pos_inf", 1, make_is_pos_inf},
            {"lgamma", 1, make_lgamma},
            {"mulhi", 2, make_mulhi},
            {"next_after", 2, make_next_after},
            {"polygamma", 2, make_polygamma},
            {"square", 1, make_square},
            {"top_k", 1, make_top_k},
            {"zeta", 2, make_zeta}};

// broadcast_NAME is NAME after its operands were brought to one shape; NAME is an operation of HLO,
// of the table above, or one of these two.
static const struct {
  const char *name;
  int arity;
  hsc_op op;  // HSC_OP_COUNT: a row of `made` with the same name
} broadcast[] = {{"add", 2, HSC_OP_ADD},
                 {"and", 2, HSC_OP_AND},
                 {"atan2", 2, HSC_OP_ATAN2},
                 {"compare", 2, HSC_OP_COMPARE},
                 {"complex", 2, HSC_OP_COMPLEX},
                 {"divide", 2, HSC_OP_DIVIDE},
                 {"maximum", 2, HSC_OP_MAXIMUM},
                 {"minimum", 2, HSC_OP_MINIMUM},
                 {"multiply", 2, HSC_OP_MULTIPLY},
                 {"next_after", 2, HSC_OP_COUNT},
                 {"or", 2, HSC_OP_OR},
                 {"polygamma", 2, HSC_OP_COUNT},
                 {"power", 2, HSC_OP_POWER},
                 {"remainder", 2, HSC_OP_REMAINDER},
                 {"select", 3, HSC_OP_SELECT},
                 {"shift_left", 2, HSC_OP_SHIFT_LEFT},
                 {"shift_right_arithmetic", 2, HSC_OP_SHIFT_RIGHT_ARITH},
                 {"shift_right_logical", 2, HSC_OP_SHIFT_RIGHT_LOGICAL},
                 {"subtract", 2, HSC_OP_SUBTRACT},
                 {"xor", 2, HSC_OP_XOR},
                 {"zeta", 2, HSC_OP_COUNT}};

// What has no form of a known size, and what only other passes of StableHLO make.
static const struct {
  const char *name, *why;
} refused[] = {
    {"_asin_acos_kernel",
     "half of the arc functions of complex numbers, which StableHLO's own decomposition makes"},
    {"dynamic_reshape", "dynamic shapes"},
    {"minimum_broadcast_shapes", "shapes as values"},
    {"scan", "chlo.scan"}};

static hsc_status *import_broadcasting(chlo *c, size_t row) {
  HSC_TRY(spread_operands(c, broadcast[row].arity));
  hsc_instr *result = NULL;
  switch (broadcast[row].op) {
    case HSC_OP_COUNT:
      for (size_t i = 0; i < HSC_COUNT_OF(made) && !result; i++)
        if (!strcmp(made[i].name, broadcast[row].name))
          result = made[i].make(c);
      break;
    case HSC_OP_COMPARE:
      return hsc__import_compare(c->im, c->b, c->op, c->operands);
    case HSC_OP_SELECT:
      result = hsc_build_select(c->b, c->operands[0], c->operands[1], c->operands[2]);
      break;
    case HSC_OP_COMPLEX: {
      hsc_type type = c->operands[0]->shape.type == HSC_TYPE_F64 ? HSC_TYPE_C128 : HSC_TYPE_C64;
      result = hsc_build(c->b, HSC_OP_COMPLEX, hsc_shape_with_type(c->operands[0]->shape, type), 2,
                         c->operands);
      break;
    }
    default:
      result = bin(c, broadcast[row].op, c->operands[0], c->operands[1]);
  }
  if (!result && !c->b->status)
    return HSC_OP_ERR(INVALID_ARGUMENT, c->im, c->op,
                      "its operands have a type that it is not for");
  if (result)
    hsc__import_set_results(c->b, c->op, result);
  return NULL;
}

// Composites that say "chlo.<op>" bring a decomposition. For complex cosh and sinh it is exp(z +
// log 1/2) +- exp(-z + log 1/2), which keeps an infinity where XLA, which has these ops, gives NaN.
bool hsc__import_chlo_composite(hsc_builder *b, hsc__mlir_op *op) {
  hsc_view name = hsc__import_text(op, "name");
  bool is_cosh = hsc_view_equals_text(name, "chlo.cosh");
  bool is_sinh = hsc_view_equals_text(name, "chlo.sinh");
  if ((!is_cosh && !is_sinh) || op->operand_count != 1 || op->result_count != 1 ||
      !hsc_type_is_complex(op->operands[0]->instr->shape.type))
    return false;
  hsc_instr *operand = op->operands[0]->instr;
  hsc__import_set_results(
      b, op, hsc_build(b, is_cosh ? HSC_OP_COSH : HSC_OP_SINH, operand->shape, 1, &operand));
  return true;
}

hsc_status *hsc__import_chlo_op(hsc__importer *im,
                                hsc_builder *b,
                                hsc__mlir_op *op,
                                bool *out_done) {
  static const char prefix[] = "broadcast_";
  *out_done = true;
  for (size_t i = 0; i < HSC_COUNT_OF(refused); i++)
    if (!strcmp(op->name, refused[i].name))
      return HSC_OP_ERR(UNIMPLEMENTED, im, op, "%s: not built yet: %s", op->written_name,
                        refused[i].why);
  chlo c = {.im = im, .b = b, .op = op};
  c.operands = HSC_NEW_ARRAY(im->arena, hsc_instr *, op->operand_count + 1);
  HSC_TRY(hsc_arena_status(im->arena));
  for (int i = 0; i < op->operand_count; i++)
    c.operands[i] = op->operands[i]->instr;
  for (size_t i = 0; i < HSC_COUNT_OF(direct); i++) {
    if (strcmp(op->name, direct[i].name) != 0)
      continue;
    if (op->operand_count != 1)
      return HSC_OP_ERR(INVALID_ARGUMENT, im, op, "%d operands instead of one", op->operand_count);
    hsc__import_set_results(b, op, un(&c, direct[i].op, c.operands[0]));
    return NULL;
  }
  for (size_t i = 0; i < HSC_COUNT_OF(made); i++) {
    if (strcmp(op->name, made[i].name) != 0)
      continue;
    if (op->operand_count != made[i].arity)
      return HSC_OP_ERR(INVALID_ARGUMENT, im, op, "%d operands instead of %d", op->operand_count,
                        made[i].arity);
    for (int k = 0; k < op->operand_count; k++)
      if (!hsc_shape_is_array(&c.operands[k]->shape))
        return HSC_OP_ERR(INVALID_ARGUMENT, im, op, "operand %d is no array", k);
    hsc_instr *result = made[i].make(&c);
    if (!result && !b->status)
      return HSC_OP_ERR(INVALID_ARGUMENT, im, op,
                        "an attribute is missing, or its operands have a type that it is not for");
    if (result)
      hsc__import_set_results(b, op, result);
    return NULL;
  }
  for (size_t i = 0; i < HSC_COUNT_OF(broadcast) && !strncmp(op->name, prefix, sizeof prefix - 1);
       i++) {
    if (strcmp(op->name + sizeof prefix - 1, broadcast[i].name) != 0)
      continue;
    if (op->operand_count != broadcast[i].arity)
      return HSC_OP_ERR(INVALID_ARGUMENT, im, op, "%d operands instead of %d", op->operand_count,
                        broadcast[i].arity);
    for (int k = 0; k < op->operand_count; k++)
      if (!hsc_shape_is_array(&c.operands[k]->shape))
        return HSC_OP_ERR(INVALID_ARGUMENT, im, op, "operand %d is no array", k);
    return import_broadcasting(&c, i);
  }
  *out_done = false;
  return NULL;
}
