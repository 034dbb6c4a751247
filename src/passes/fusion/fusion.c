// fusion.c - instruction fusion: cheap producers move into the loop of their consumer, so that a
// value between them never reaches memory.
//
// Walks each computation from its end: a consumer takes in its operands again and again until none
// is left that is
//   - fusible: elementwise, or data movement whose minor dimension stays contiguous;
//   - used by this consumer alone, or free to compute twice (broadcast, iota, scalar constant,
//   reshape, convert, slice of those);
//   - not read several times per element (through a broadcast or a window), unless it is free;
//   - not wanted at so many indices (by slices of slices of it) that the kernel's code would be
//   thousands of instructions.
// Kinds: a fusion around a reduce is an input fusion, every other one a loop fusion. Linear in
// instructions times fused operands.
//
//   before   a = f32[64] exponential(x);  ROOT b = f32[64] add(a, y)
//   after    ROOT f = f32[64] fusion(x, y), kind=kLoop, calls={ e = exponential(p0); ROOT a =
//            add(e, p1) }
//
// XLA: xla/service/instruction_fusion.h, xla/service/cpu/cpu_instruction_fusion.cc
#include "passes/fusion/fusion_util.h"

enum {
  MAX_FUSED_INSTRUCTIONS = 640,
  MAX_FUSED_OPERANDS = 48,
  LARGE_ELEMENTS = 1 << 14,
  MAX_DUPLICATES = 8
};

static bool moves_minor_dimension(const hsc_instr *transpose) {
  int rank = transpose->shape.rank;
  return rank > 0 && transpose->attr.dims.dims.v[rank - 1] != rank - 1;
}

// A gather of single elements: its value at an index is one element of the operand, wherever.
static bool is_point_gather(const hsc_instr *instr) {
  const hsc_dims *sizes = &instr->attr.gather.slice_sizes;
  for (int i = 0; i < sizes->count; i++)
    if (sizes->v[i] != 1)
      return false;
  return hsc_shape_elements(&instr->operands[0]->shape) > 0;
}

static bool is_scalar_constant(const hsc_instr *constant) {
  return hsc_shape_elements(&constant->shape) == 1 && !constant->attr.literal.value->elided;
}

// Every element of the minor dimension, not one of several: loads stay whole vectors.
static bool skips_minor_elements(const hsc_instr *slice) {
  const hsc_dims *stride = &slice->attr.slice.stride;
  int last = slice->shape.rank - 1;
  return last >= 0 && stride->count > 0 && stride->v[last] != 1;
}

// A window of few elements, reduced by one operation.
static bool is_plain_window(const hsc_instr *instr) {
  hsc_op op;
  return hsc_instr_is_small_window(instr) && hsc_is_simple_reducer(instr->called[0], &op) &&
         !hsc_type_is_complex(instr->shape.type);
}

// What keeps an op from being computed inside of its reader: its value at an index must depend on
// few operand elements at indices that are cheap to compute. HSC_FUSED = nothing does.
static hsc_not_fused not_fusible(const hsc_instr *instr) {
  uint32_t traits = hsc_op_traits(instr->op);
  if (!hsc_shape_is_array(&instr->shape))
    return HSC_NOT_FUSED_NO_ARRAY;
  if (instr->control_count || (traits & HSC_TRAIT_EFFECT))
    return HSC_NOT_FUSED_EFFECT;
  if ((traits & HSC_TRAIT_ELEMENTWISE) && instr->op != HSC_OP_STOCHASTIC_CONVERT)
    return HSC_FUSED;
  switch (instr->op) {
    case HSC_OP_BROADCAST:
    case HSC_OP_IOTA:
    case HSC_OP_CLAMP:
    case HSC_OP_RESHAPE:
      return HSC_FUSED;
    case HSC_OP_BITCAST_CONVERT: {
      bool same = hsc_shape_same_dims(&instr->shape, &instr->operands[0]->shape);
      return same ? HSC_FUSED : HSC_NOT_FUSED_OWN_KERNEL;
    }
    case HSC_OP_TRANSPOSE:
      return moves_minor_dimension(instr) ? HSC_NOT_FUSED_MOVES_MINOR : HSC_FUSED;
    case HSC_OP_SLICE:
      return skips_minor_elements(instr) ? HSC_NOT_FUSED_STRIDES : HSC_FUSED;
    case HSC_OP_CONSTANT:  // a larger one is read from memory
      return is_scalar_constant(instr) ? HSC_FUSED : HSC_NOT_FUSED_OWN_KERNEL;
    case HSC_OP_REDUCE_WINDOW:
      return is_plain_window(instr) ? HSC_FUSED : HSC_NOT_FUSED_WIDE_WINDOW;
    case HSC_OP_GATHER:
      return is_point_gather(instr) ? HSC_FUSED : HSC_NOT_FUSED_GATHERS_SLICES;
    case HSC_OP_FUSION:
      return HSC_NOT_FUSED_FUSION_ALREADY;
    case HSC_OP_GET_TUPLE_ELEMENT:
      return HSC_NOT_FUSED_NO_ARRAY;
    default:
      return HSC_NOT_FUSED_OWN_KERNEL;
  }
}

static bool fusible(const hsc_instr *instr) {
  return not_fusible(instr) == HSC_FUSED;
}

static bool is_fusion(const hsc_instr *instr) {
  return instr->op == HSC_OP_FUSION;
}

static bool can_consume(const hsc_instr *instr) {
  if (is_fusion(instr))
    return instr->attr.fusion.kind == HSC_FUSION_LOOP ||
           instr->attr.fusion.kind == HSC_FUSION_INPUT;
  if (instr->op == HSC_OP_REDUCE)
    return true;
  if (instr->op == HSC_OP_CONSTANT || instr->op == HSC_OP_IOTA || instr->op == HSC_OP_RESHAPE)
    return false;
  return fusible(instr);
}

bool hsc__is_costly_op(hsc_op op) {
  return (hsc_op_traits(op) & (HSC_TRAIT_TRANSCENDENTAL | HSC_TRAIT_COSTLY)) != 0;
}

// Costs next to nothing to compute again for each reader, and reads no more memory than its own
// result would.
static bool free_to_duplicate(const hsc_instr *instr, int depth) {
  switch (instr->op) {
    case HSC_OP_CONSTANT:
    case HSC_OP_IOTA:
      return true;
    case HSC_OP_BROADCAST:
      return true;
    case HSC_OP_RESHAPE:
    case HSC_OP_CONVERT:
    case HSC_OP_SLICE:
    case HSC_OP_TRANSPOSE:
    case HSC_OP_BITCAST_CONVERT:
      return depth < 4 && (instr->operands[0]->op == HSC_OP_PARAMETER ||
                           instr->operands[0]->op == HSC_OP_GET_TUPLE_ELEMENT ||
                           free_to_duplicate(instr->operands[0], depth + 1));
    case HSC_OP_COMPARE:
    case HSC_OP_NOT:
    case HSC_OP_AND:
    case HSC_OP_OR:
    case HSC_OP_ADD:
    case HSC_OP_SUBTRACT:
    case HSC_OP_MULTIPLY:
      // Masks and scales over iotas and broadcasts: cheaper to make again than to read.
      if (depth >= 3)
        return false;
      for (int i = 0; i < instr->operand_count; i++)
        if (!free_to_duplicate(instr->operands[i], depth + 1))
          return false;
      return true;
    default:
      return false;
  }
}

// Whether `instr` reads elements of `operand` more than once, or in no order.
static bool rereads(const hsc_instr *instr, const hsc_instr *operand) {
  return instr->operands[0] == operand &&
         (instr->op == HSC_OP_REDUCE_WINDOW || instr->op == HSC_OP_GATHER);
}

bool hsc__fusion_reuses(const hsc_instr *consumer, const hsc_instr *producer) {
  int64_t elements = hsc_shape_elements(&producer->shape);
  if (rereads(consumer, producer))
    return true;
  if (consumer->op == HSC_OP_BROADCAST)
    return hsc_shape_elements(&consumer->shape) > elements;
  if (!is_fusion(consumer))
    return false;
  const hsc_computation *body = consumer->called[0];
  for (int i = 0; i < consumer->operand_count; i++) {
    if (consumer->operands[i] != producer)
      continue;
    const hsc_instr *parameter = body->parameters[i];
    // Follow the parameter through data movement to a broadcast that widens it.
    for (int u = 0; u < parameter->user_count; u++) {
      const hsc_instr *user = parameter->users[u];
      if (rereads(user, parameter))
        return true;
      while (user->op == HSC_OP_RESHAPE && user->user_count == 1)
        user = user->users[0];
      if (user->op == HSC_OP_BROADCAST && hsc_shape_elements(&user->shape) > elements)
        return true;
      if (hsc_shape_elements(&body->root->shape) > elements && body->root->op != HSC_OP_REDUCE &&
          user != body->root) {
        // Somewhere above the result gets wider than this operand: a broadcast further up repeats
        // the work.
        for (const hsc_instr *at = user; at; at = at->user_count == 1 ? at->users[0] : NULL)
          if (at->op == HSC_OP_BROADCAST && hsc_shape_elements(&at->shape) > elements)
            return true;
      }
    }
  }
  return false;
}

static bool used_only_by(const hsc_instr *producer, const hsc_instr *consumer) {
  if (producer->parent->root == producer)
    return false;
  for (int i = 0; i < producer->user_count; i++)
    if (producer->users[i] != consumer)
      return false;
  return true;
}

static int fused_size(const hsc_instr *instr) {
  return is_fusion(instr) ? instr->called[0]->instr_count : 1 + instr->operand_count;
}

// Large, light, made from one large value, and wanted only by those who can take it in: each of
// them reads that value instead of this one and computes it again, so that it never reaches memory.
// (x - mean) * scale of a batch normalisation, which its sums and its gradients all use.
static bool vanishes_when_duplicated(const hsc_instr *producer) {
  if (!(hsc_op_traits(producer->op) & HSC_TRAIT_ELEMENTWISE) || hsc__is_costly_op(producer->op) ||
      producer->op == HSC_OP_SQRT || producer->op == HSC_OP_RSQRT)
    return false;
  if (hsc_shape_elements(&producer->shape) < LARGE_ELEMENTS || producer->parent->root == producer ||
      producer->user_count > MAX_DUPLICATES)
    return false;
  int large = 0;
  for (int i = 0; i < producer->operand_count; i++)
    large += !free_to_duplicate(producer->operands[i], 0);
  if (large != 1)
    return false;
  for (int i = 0; i < producer->user_count; i++) {
    const hsc_instr *user = producer->users[i];
    if (!can_consume(user) || hsc__fusion_reuses(user, producer) ||
        (user->op == HSC_OP_REDUCE && user->operand_count != 2))
      return false;
    if (is_fusion(user) && fused_size(user) > MAX_FUSED_INSTRUCTIONS / 2)
      return false;
  }
  return true;
}

// A reduction of rows whose reducer is more than one operation (the largest element with its place)
// goes element by element: functions that could be computed in vectors stay outside.
static bool goes_one_by_one(const hsc_instr *consumer) {
  const hsc_instr *root = is_fusion(consumer) ? consumer->called[0]->root : consumer;
  hsc_op op;
  if (root->op != HSC_OP_REDUCE || hsc_is_simple_reducer(root->called[0], &op))
    return false;
  return hsc_dims_contain(root->attr.dims.dims, root->operands[0]->shape.rank - 1);
}

// Numbers side by side for a gather of elements: each is asked for by its place, so that nothing
// has to be chosen.
static bool indexes(const hsc_instr *concatenate, const hsc_instr *value, const hsc_instr *user) {
  return user->op == HSC_OP_GATHER && is_point_gather(user) && user->operands[1] == value &&
         user->operands[0] != value &&
         user->attr.gather.index_vector_dim == concatenate->attr.dims.dims.v[0];
}

static bool is_only_indices(const hsc_instr *consumer, const hsc_instr *producer) {
  if (producer->op != HSC_OP_CONCATENATE || producer->control_count)
    return false;
  if (!is_fusion(consumer))
    return indexes(producer, producer, consumer);
  for (int i = 0; i < consumer->operand_count; i++) {
    const hsc_instr *parameter = consumer->called[0]->parameters[i];
    if (consumer->operands[i] != producer)
      continue;
    for (int u = 0; u < parameter->user_count; u++)
      if (!indexes(producer, parameter, parameter->users[u]))
        return false;
  }
  return true;
}

// A reshape costs nothing where it is; it is worth fusing only when what is after it comes along.
static bool reshape_stays(const hsc_instr *reshape, bool cheap) {
  const hsc_instr *source = reshape->operands[0];
  if (cheap)
    return source->op == HSC_OP_PARAMETER;
  return !fusible(source) || source->op == HSC_OP_RESHAPE || source->user_count != 1 ||
         source->parent->root == source;
}

// What speaks against the producer in the consumer's kernel; HSC_FUSED = nothing.
static hsc_not_fused refusal(const hsc_instr *consumer, const hsc_instr *producer) {
  hsc_not_fused by_itself = not_fusible(producer);
  if (by_itself != HSC_FUSED && !is_only_indices(consumer, producer))
    return by_itself;
  if (hsc__is_costly_op(producer->op) && goes_one_by_one(consumer))
    return HSC_NOT_FUSED_ONE_BY_ONE;
  bool cheap = free_to_duplicate(producer, 0);
  if (!used_only_by(producer, consumer) && !cheap && !vanishes_when_duplicated(producer))
    return HSC_NOT_FUSED_OTHER_READERS;
  // the initial value stays an operand
  if (consumer->op == HSC_OP_REDUCE && producer->op == HSC_OP_CONSTANT)
    return HSC_NOT_FUSED_INITIAL_VALUE;
  // A fusion of nothing but constants around one op is that op: counters of loops stay readable.
  bool around_one_op =
      !is_fusion(consumer) && (consumer->shape.rank == 0 || consumer->op == HSC_OP_BROADCAST);
  if (around_one_op && producer->op == HSC_OP_CONSTANT)
    return HSC_NOT_FUSED_OWN_KERNEL;
  if (producer->op == HSC_OP_RESHAPE && reshape_stays(producer, cheap))
    return HSC_NOT_FUSED_FREE_RESHAPE;
  if (cheap || !hsc__fusion_reuses(consumer, producer))
    return HSC_FUSED;
  bool one_number = hsc_shape_elements(&producer->shape) == 1 && !hsc__is_costly_op(producer->op);
  return one_number ? HSC_FUSED : HSC_NOT_FUSED_READ_REPEATEDLY;
}

// The kernel would compute the producer for each of several readers that want it at other indices,
// and so with what it reads, and so on.
static bool multiplies_code(const hsc_instr *consumer, const hsc_instr *producer) {
  if (!is_fusion(consumer))
    return false;
  for (int i = 0; i < consumer->operand_count; i++) {
    const hsc_instr *parameter = consumer->called[0]->parameters[i];
    int64_t times = 1;
    if (consumer->operands[i] != producer || parameter->user_count < 2)
      continue;
    int64_t all = hsc__fused_computed(consumer->called[0], parameter, &times);
    return times > 1 && all + times > HSC_FUSED_MAX_COMPUTED;
  }
  return false;
}

// What speaks against operand `i` in the consumer's kernel as that is now; HSC_FUSED = nothing.
static hsc_not_fused refusal_of_operand(const hsc_instr *consumer, int i) {
  const hsc_instr *producer = consumer->operands[i];
  if (!can_consume(consumer))
    return HSC_NOT_FUSED_READER_OP;
  if (fused_size(consumer) > MAX_FUSED_INSTRUCTIONS || consumer->operand_count > MAX_FUSED_OPERANDS)
    return HSC_NOT_FUSED_READER_FULL;
  if (consumer->op == HSC_OP_REDUCE && i >= consumer->operand_count / 2)
    return HSC_NOT_FUSED_INITIAL_VALUE;
  hsc_not_fused reason = refusal(consumer, producer);
  if (reason == HSC_FUSED && multiplies_code(consumer, producer))
    return HSC_NOT_FUSED_CODE_GROWS;
  return reason;
}

// The operand to take in next, NULL when there is none: why not is told then.
static hsc_instr *next_producer(const hsc_instr *consumer) {
  if (hsc_instr_is_dead(consumer))
    return NULL;
  for (int i = 0; i < consumer->operand_count; i++)
    if (refusal_of_operand(consumer, i) == HSC_FUSED)
      return consumer->operands[i];
  for (int i = 0; i < consumer->operand_count && consumer->parent->module->fusion_log; i++)
    hsc__fusion_refused(consumer->operands[i], consumer, refusal_of_operand(consumer, i));
  return NULL;
}

hsc_status *hsc__pass_fusion(hsc_module *module, hsc_pass_context *cx) {
  hsc__mark_embedded(module);
  int count = module->computation_count;  // fusion bodies are added after
  for (int i = 0; i < count; i++) {
    hsc_computation *computation = module->computations[i];
    if (hsc__computation_is_embedded(computation))
      continue;
    for (hsc_instr *instr = computation->last; instr;) {
      hsc_instr *prev = instr->prev;
      hsc_instr *producer = next_producer(instr);
      while (producer) {
        if (!hsc__pass_spend(cx))
          return NULL;
        if (!is_fusion(instr)) {
          hsc_fusion_kind kind = instr->op == HSC_OP_REDUCE ? HSC_FUSION_INPUT : HSC_FUSION_LOOP;
          HSC_TRY(hsc__wrap_in_fusion(instr, kind, &instr));
          instr->called[0]->index = 1;
        }
        HSC_TRY(hsc__fuse_into(instr, producer));
        if (hsc_instr_is_dead(producer))
          hsc_instr_remove(producer);
        producer = next_producer(instr);
      }
      prev = instr->prev;
      instr = prev;
    }
  }
  return NULL;
}
