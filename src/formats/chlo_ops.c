// chlo_ops.c - CHLO, StableHLO's client dialect: what HLO has itself, and what is made of HLO's operations.
//
// jaxlib takes CHLO apart before it sends bytecode, but not in the text that it prints. The decompositions are those of StableHLO
// (stablehlo/transforms/ChloDecompositionPatterns.td, ChloLegalizeToStablehlo.cpp).
#include <math.h>

#include "formats/stablehlo_internal.h"

typedef struct chlo {
  hsc__importer *im;
  hsc_builder *b;
  hsc__mlir_op *op;
  hsc_shape shape;         // of the first result
  hsc_instr **operands;
} chlo;

typedef hsc_instr *(*chlo_function)(chlo *c);

// ---- small words -----------------------------------------------------------------------------------------------------------------------

static hsc_instr *like(chlo *c, hsc_instr *x, double value) {
  hsc_instr *scalar = hsc_build_scalar(c->b, hsc_type_real_part(x->shape.type), value);
  if (hsc_type_is_complex(x->shape.type)) scalar = hsc_build_convert(c->b, x->shape.type, scalar);
  return hsc_build_broadcast(c->b, scalar, x->shape, (hsc_dims){0});
}
static hsc_instr *un(chlo *c, hsc_op op, hsc_instr *x) { return hsc_build_unary(c->b, op, x); }
static hsc_instr *bin(chlo *c, hsc_op op, hsc_instr *x, hsc_instr *y) { return hsc_build_binary(c->b, op, x, y); }
static hsc_instr *cmp(chlo *c, hsc_direction d, hsc_instr *x, hsc_instr *y) { return hsc_build_compare(c->b, d, x, y); }

static hsc_instr *make_square(chlo *c) { return bin(c, HSC_OP_MULTIPLY, c->operands[0], c->operands[0]); }
static hsc_instr *make_atan(chlo *c) { return bin(c, HSC_OP_ATAN2, c->operands[0], like(c, c->operands[0], 1)); }
static hsc_instr *make_is_inf(chlo *c) { return cmp(c, HSC_EQ, un(c, HSC_OP_ABS, c->operands[0]), like(c, c->operands[0], INFINITY)); }
static hsc_instr *make_is_pos_inf(chlo *c) { return cmp(c, HSC_EQ, c->operands[0], like(c, c->operands[0], INFINITY)); }
static hsc_instr *make_is_neg_inf(chlo *c) { return cmp(c, HSC_EQ, c->operands[0], like(c, c->operands[0], -INFINITY)); }

static hsc_instr *make_conj(chlo *c) {
  hsc_instr *x = c->operands[0];
  if (!hsc_type_is_complex(x->shape.type)) return x;
  return bin(c, HSC_OP_COMPLEX, un(c, HSC_OP_REAL, x), un(c, HSC_OP_NEGATE, un(c, HSC_OP_IMAG, x)));
}

static hsc_instr *make_constant_like(chlo *c) {
  const hsc__mlir_attr *value = hsc__mlir_attr_get(c->op, "value");
  if (!value) return NULL;
  return like(c, c->operands[0], value->kind == HSC_MLIR_FLOAT ? value->number : (double)value->integer);
}

// Both results of the k largest of the last dimension.
static hsc_instr *make_top_k(chlo *c) {
  hsc_shape tuple;
  hsc_status *status = hsc__import_result_shape(c->im, c->op, &tuple);
  if (status) {
    if (!c->b->status) c->b->status = status;
    else hsc_status_free(status);
    return NULL;
  }
  hsc_instr *result = hsc_build(c->b, HSC_OP_TOPK, tuple, 1, c->operands);
  result->attr.topk.k = hsc__import_int(c->op, "k", 0);
  result->attr.topk.largest = true;
  return result;
}

// ---- the table -------------------------------------------------------------------------------------------------------------------------

// With operands of one shape that HLO has itself.
static const struct {
  const char *name;
  hsc_op op;
} direct[] = {{"acos", HSC_OP_ACOS}, {"acosh", HSC_OP_ACOSH}, {"asin", HSC_OP_ASIN}, {"asinh", HSC_OP_ASINH}, {"atanh", HSC_OP_ATANH},
              {"cosh", HSC_OP_COSH}, {"erf", HSC_OP_ERF},     {"sinh", HSC_OP_SINH}, {"tan", HSC_OP_TAN}};

static const struct {
  const char *name;
  int arity;
  chlo_function make;
} made[] = {{"atan", 1, make_atan},
            {"conj", 1, make_conj},
            {"constant_like", 1, make_constant_like},
            {"is_inf", 1, make_is_inf},
            {"is_neg_inf", 1, make_is_neg_inf},
            {"is_pos_inf", 1, make_is_pos_inf},
            {"square", 1, make_square},
            {"top_k", 1, make_top_k}};

// Composites that say "chlo.<op>" bring a decomposition. For complex cosh and sinh it is exp(z + log 1/2) +- exp(-z + log 1/2), which keeps an infinity
// where XLA, which has these ops, gives NaN.
bool hsc__import_chlo_composite(hsc_builder *b, hsc__mlir_op *op) {
  hsc_view name = hsc__import_text(op, "name");
  bool is_cosh = hsc_view_equals_text(name, "chlo.cosh"), is_sinh = hsc_view_equals_text(name, "chlo.sinh");
  if ((!is_cosh && !is_sinh) || op->operand_count != 1 || op->result_count != 1 || !hsc_type_is_complex(op->operands[0]->instr->shape.type)) return false;
  hsc_instr *operand = op->operands[0]->instr;
  hsc__import_set_results(b, op, hsc_build(b, is_cosh ? HSC_OP_COSH : HSC_OP_SINH, operand->shape, 1, &operand));
  return true;
}

hsc_status *hsc__import_chlo_op(hsc__importer *im, hsc_builder *b, hsc__mlir_op *op, bool *out_done) {
  *out_done = true;
  chlo c = {.im = im, .b = b, .op = op};
  c.operands = HSC_NEW_ARRAY(im->arena, hsc_instr *, op->operand_count + 1);
  if (!c.operands) return hsc_status_out_of_memory();
  for (int i = 0; i < op->operand_count; i++) c.operands[i] = op->operands[i]->instr;
  for (size_t i = 0; i < HSC_COUNT_OF(direct); i++) {
    if (strcmp(op->name, direct[i].name) != 0) continue;
    if (op->operand_count != 1) return HSC_OP_ERR(INVALID_ARGUMENT, im, op, "%d operands instead of one", op->operand_count);
    hsc__import_set_results(b, op, un(&c, direct[i].op, c.operands[0]));
    return NULL;
  }
  for (size_t i = 0; i < HSC_COUNT_OF(made); i++) {
    if (strcmp(op->name, made[i].name) != 0) continue;
    if (op->operand_count != made[i].arity) return HSC_OP_ERR(INVALID_ARGUMENT, im, op, "%d operands instead of %d", op->operand_count, made[i].arity);
    for (int k = 0; k < op->operand_count; k++)
      if (!hsc_shape_is_array(&c.operands[k]->shape)) return HSC_OP_ERR(INVALID_ARGUMENT, im, op, "operand %d is no array", k);
    hsc_instr *result = made[i].make(&c);
    if (!result && !b->status) return HSC_OP_ERR(INVALID_ARGUMENT, im, op, "an attribute is missing");
    if (result) hsc__import_set_results(b, op, result);
    return NULL;
  }
  *out_done = false;
  return NULL;
}
