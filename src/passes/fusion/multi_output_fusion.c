// multi_output_fusion.c - kernels that read the same values, or of which one reads what the other
// writes, become one kernel of several results.
//
// Siblings: two loops over equal dimensions, or two reductions over the same dimensions of equal
// shapes, that read at least one large value in common. Producer and consumer: a loop that reads,
// element by element, what another writes and others want too: it no longer reads it from memory.
// Neither when one needs the other by a way around, or when the two together are too large. Linear
// in instructions times readers of a value.
//
//   before   a = f32[64,512] fusion(x), kind=kLoop, calls={ exponential };  b = f32[64,512]
//            fusion(x), kind=kLoop, calls={ tanh }
//   after    f = (f32[64,512], f32[64,512]) fusion(x), kind=kLoop, calls={ tuple(exponential, tanh)
//            };  a, b = get-tuple-element(f)
//
// XLA: xla/service/gpu/transforms/multi_output_fusion.h, xla/service/multi_output_fusion.h
#include "passes/fusion/fusion_util.h"

// Below this a value shared is one that the caches keep between two kernels anyway.
enum { MOST_USERS = 64 };
static const int64_t LEAST_SHARED_BYTES = 32 << 10;

// Every instruction between the parameter and the roots is elementwise on the loop's dimensions:
// the value is wanted at the index of the loop only.
static bool read_in_place(const hsc_computation *body,
                          const hsc_instr *parameter,
                          const hsc_shape *loop) {
  if (!hsc_shape_same_dims(&parameter->shape, loop))
    return false;
  for (hsc_instr *instr = body->first; instr; instr = instr->next)
    instr->index = 0;
  for (int i = 0; i < body->parameter_count; i++)
    body->parameters[i]->index = body->parameters[i] == parameter;
  for (hsc_instr *instr = body->first; instr; instr = instr->next) {
    bool reads = false;
    for (int i = 0; i < instr->operand_count; i++)
      reads |= instr->operands[i]->index == 1;
    if (!reads)
      continue;
    instr->index = 1;
    if (instr == body->root && instr->op == HSC_OP_TUPLE)
      continue;
    if (!hsc_shape_is_array(&instr->shape) || !hsc_shape_same_dims(&instr->shape, loop))
      return false;
    if (!(hsc_op_traits(instr->op) & HSC_TRAIT_ELEMENTWISE) && instr->op != HSC_OP_CLAMP)
      return false;
  }
  return true;
}

// What speaks against the two as one kernel that also writes the producer's value; HSC_FUSED =
// nothing.
static hsc_not_fused refusal(const hsc_instr *producer, const hsc_instr *consumer) {
  hsc_fused_shape a, b;
  if (consumer->op != HSC_OP_FUSION || producer->op != HSC_OP_FUSION ||
      !hsc_shape_is_array(&producer->shape))
    return HSC_NOT_FUSED_OTHER_LOOP;
  if (!hsc__fused_shape(producer, &a) || !hsc__fused_shape(consumer, &b) ||
      a.kind != HSC_FUSION_LOOP || !hsc__fused_shapes_equal(&a, &b))
    return HSC_NOT_FUSED_OTHER_LOOP;
  // Wanted by nobody else, its value would be written for nothing.
  bool wanted = producer->parent->root == producer;
  for (int u = 0; u < producer->user_count; u++)
    wanted |= producer->users[u] != consumer;
  if (!wanted)
    return HSC_NOT_FUSED_ONE_READER;
  if (hsc_shape_bytes(&producer->shape) < LEAST_SHARED_BYTES)
    return HSC_NOT_FUSED_SMALL;
  for (int i = 0; i < consumer->operand_count; i++)
    if (consumer->operands[i] == producer &&
        !read_in_place(consumer->called[0], consumer->called[0]->parameters[i], b.loop))
      return HSC_NOT_FUSED_OTHER_INDEX;
  return hsc__fused_too_large(producer, consumer) ? HSC_NOT_FUSED_TOGETHER_TOO_LARGE : HSC_FUSED;
}

// Whether `operand` may be computed where `second` is, and be written there.
static bool is_partner(hsc_instr *operand, hsc_instr *second) {
  return hsc__fused_passed(operand) && refusal(operand, second) == HSC_FUSED &&
         hsc__fused_order_allows(operand, second, true);
}

// Tells why a kernel stays apart from those whose values it reads. Only the order can still be in
// the way of what nothing else speaks against.
static void tell_refusals(const hsc_instr *second) {
  hsc_fused_shape shape;
  if (!second->parent->module->fusion_log || !hsc__fused_shape(second, &shape))
    return;
  for (int i = 0; i < second->operand_count; i++) {
    const hsc_instr *operand = second->operands[i];
    hsc_not_fused reason = refusal(operand, second);
    if (operand->op == HSC_OP_FUSION)
      hsc__fusion_refused(operand, second, reason == HSC_FUSED ? HSC_NOT_FUSED_ORDER : reason);
  }
}

// A kernel before `second` that reads `operand` too and goes over the same dimensions; NULL = none.
static hsc_instr *find_sibling(hsc_instr *operand,
                               hsc_instr *second,
                               const hsc_fused_shape *shape) {
  hsc_fused_shape other;
  if (hsc_shape_bytes(&operand->shape) < LEAST_SHARED_BYTES || operand->user_count < 2 ||
      operand->user_count > MOST_USERS)
    return NULL;
  for (int u = 0; u < operand->user_count; u++) {
    hsc_instr *user = operand->users[u];
    if (user == second || !hsc__fused_passed(user) || !hsc__fused_shape(user, &other) ||
        !hsc__fused_shapes_equal(shape, &other))
      continue;
    if (!hsc__fused_too_large(user, second) && hsc__fused_order_allows(user, second, false))
      return user;
  }
  return NULL;
}

// The partner of `second` among what is before it; NULL when there is none.
static hsc_instr *find_partner(hsc_instr *second) {
  hsc_fused_shape shape;
  if (!hsc__fused_shape(second, &shape))
    return NULL;
  for (int i = 0; i < second->operand_count; i++) {
    hsc_instr *operand = second->operands[i];
    if (is_partner(operand, second))
      return operand;
    hsc_instr *sibling = find_sibling(operand, second, &shape);
    if (sibling)
      return sibling;
  }
  return NULL;
}

static hsc_status *fuse_in(hsc_computation *computation, hsc_pass_context *cx) {
  hsc__fused_begin(computation);
  for (hsc_instr *instr = computation->first; instr; instr = instr->next) {
    hsc_instr *partner = find_partner(instr);
    while (partner) {
      if (!hsc__pass_spend(cx))
        return NULL;
      hsc_instr *fusion = NULL;
      HSC_TRY(hsc__fuse_together(partner, instr, &fusion));
      instr = fusion;
      partner = find_partner(instr);
    }
    tell_refusals(instr);
    hsc__fused_pass(instr);
  }
  return NULL;
}

hsc_status *hsc__pass_multi_output_fusion(hsc_module *module, hsc_pass_context *cx) {
  hsc__mark_embedded(module);
  int count = module->computation_count;
  for (int i = 0; i < count; i++) {
    hsc_computation *computation = module->computations[i];
    if (!hsc__computation_is_embedded(computation))
      HSC_TRY(fuse_in(computation, cx));
  }
  return NULL;
}
