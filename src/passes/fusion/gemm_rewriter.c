// gemm_rewriter.c - fuses what follows a dot or convolution element by element (bias, activation,
// scale, residual) into it, as an output fusion: the device applies it to each tile of the product
// while the tile is hot.
//
// Legal when the product has no other user and every instruction from it to the root is elementwise
// on its dimensions. Runs after fusion, on the loop fusions that read a product. Of several
// products that one fusion reads, the one with the most work is taken.
//
//   before   d = f32[32,64] dot(x, w);  ROOT f = f32[32,64] fusion(d, b), kind=kLoop, calls={
//            add(p0, broadcast(p1)) }
//   after    ROOT f = f32[32,64] fusion(x, w, b), kind=kOutput, calls={ add(dot(p0, p1),
//            broadcast(p2)) }
//
// XLA: xla/service/gpu/transforms/gemm_rewriter.h (epilogues),
// xla/service/cpu/onednn_contraction_rewriter.h
#include "passes/manager/passes_internal.h"

static bool is_product(const hsc_instr *instr) {
  return (instr->op == HSC_OP_DOT || instr->op == HSC_OP_CONVOLUTION) &&
         hsc_type_is_float(instr->shape.type);
}

// Every instruction of the body works on the root's dimensions, or is a parameter, constant or
// broadcast that feeds such an instruction.
static bool body_is_epilogue(const hsc_computation *body) {
  const hsc_shape *shape = &body->root->shape;
  if (!hsc_shape_is_array(shape))
    return false;
  for (const hsc_instr *instr = body->first; instr; instr = instr->next) {
    if (instr->op == HSC_OP_PARAMETER || instr->op == HSC_OP_CONSTANT)
      continue;
    if (!hsc_shape_same_dims(&instr->shape, shape))
      return false;
    if (instr->op == HSC_OP_BROADCAST) {
      hsc_op source = instr->operands[0]->op;
      if (source != HSC_OP_PARAMETER && source != HSC_OP_CONSTANT)
        return false;
      continue;
    }
    if (!(hsc_op_traits(instr->op) & HSC_TRAIT_ELEMENTWISE) && instr->op != HSC_OP_CLAMP)
      return false;
  }
  return true;
}

// The parameter may be read as it is only: a broadcast of the product would need all of it first.
static bool read_in_place(const hsc_computation *body, int parameter) {
  const hsc_instr *value = body->parameters[parameter];
  for (int i = 0; i < value->user_count; i++)
    if (value->users[i]->op == HSC_OP_BROADCAST)
      return false;
  return hsc_shape_same_dims(&value->shape, &body->root->shape);
}

// What speaks against the product in whatever reads it; HSC_FUSED = nothing.
static hsc_not_fused refusal_of_product(const hsc_instr *product) {
  if (!is_product(product))
    return HSC_NOT_FUSED_PRODUCT_TYPE;
  if (product->user_count != 1 || product->parent->root == product)
    return HSC_NOT_FUSED_PRODUCT_READERS;
  return product->control_count ? HSC_NOT_FUSED_EFFECT : HSC_FUSED;
}

// What speaks against operand `i`, a product, in the fusion.
static hsc_not_fused refusal(const hsc_instr *fusion, int i) {
  hsc_not_fused by_itself = refusal_of_product(fusion->operands[i]);
  if (by_itself != HSC_FUSED)
    return by_itself;
  if (!body_is_epilogue(fusion->called[0]))
    return HSC_NOT_FUSED_NO_EPILOGUE;
  return read_in_place(fusion->called[0], i) ? HSC_FUSED : HSC_NOT_FUSED_PRODUCT_WIDENED;
}

// Tells why products stay outside of a reader that this pass is done with: a fusion, or an
// elementwise operation that became none.
static void tell_refusals(const hsc_instr *reader) {
  bool is_fusion = reader->op == HSC_OP_FUSION;
  if (!is_fusion && !(hsc_op_traits(reader->op) & HSC_TRAIT_ELEMENTWISE))
    return;
  for (int i = 0; i < reader->operand_count && reader->parent->module->fusion_log; i++) {
    const hsc_instr *operand = reader->operands[i];
    if (operand->op != HSC_OP_DOT && operand->op != HSC_OP_CONVOLUTION)
      continue;
    hsc_not_fused reason = is_fusion ? refusal(reader, i) : refusal_of_product(operand);
    if (is_fusion && reader->attr.fusion.kind == HSC_FUSION_OUTPUT)
      reason = HSC_NOT_FUSED_OTHER_PRODUCT;
    hsc__fusion_refused(operand, reader, reason);
  }
}

static hsc_instr *product_to_fuse(const hsc_instr *fusion) {
  hsc_instr *best = NULL;
  double best_flops = -1;
  for (int i = 0; i < fusion->operand_count; i++) {
    hsc_instr *operand = fusion->operands[i];
    if (refusal(fusion, i) != HSC_FUSED)
      continue;
    hsc_cost cost;
    hsc_instr_cost(operand, &cost);
    if (cost.flops <= best_flops)
      continue;
    best = operand;
    best_flops = cost.flops;
  }
  return best;
}

static bool elementwise_of_product(const hsc_instr *instr) {
  if (!(hsc_op_traits(instr->op) & HSC_TRAIT_ELEMENTWISE))
    return false;
  for (int i = 0; i < instr->operand_count; i++)
    if (is_product(instr->operands[i]) && instr->operands[i]->user_count == 1 &&
        instr->operands[i]->parent->root != instr->operands[i])
      return true;
  return false;
}

hsc_status *hsc__pass_gemm_rewriter(hsc_module *module, hsc_pass_context *cx) {
  hsc__mark_embedded(module);
  int count = module->computation_count;
  for (int i = 0; i < count; i++) {
    hsc_computation *computation = module->computations[i];
    if (hsc__computation_is_embedded(computation))
      continue;
    HSC_FOR_EACH_INSTR_IN (computation, instr) {
      hsc_instr *fusion = instr;
      if (fusion->op != HSC_OP_FUSION) {
        if (!elementwise_of_product(instr)) {
          tell_refusals(instr);
          continue;
        }
        if (!hsc__pass_spend(cx))
          return NULL;
        HSC_TRY(hsc__wrap_in_fusion(instr, HSC_FUSION_LOOP, &fusion));
        fusion->called[0]->index = 1;
      }
      bool is_loop = fusion->attr.fusion.kind == HSC_FUSION_LOOP;
      hsc_instr *product = is_loop ? product_to_fuse(fusion) : NULL;
      if (product) {
        if (!hsc__pass_spend(cx))
          return NULL;
        HSC_TRY(hsc__fuse_into(fusion, product));
        fusion->attr.fusion.kind = HSC_FUSION_OUTPUT;
        hsc__fusion_became(product, fusion);
        if (hsc_instr_is_dead(product))
          hsc_instr_remove(product);
      }
      tell_refusals(fusion);
    }
  }
  return NULL;
}
