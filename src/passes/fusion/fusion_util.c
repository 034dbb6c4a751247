// fusion_util.c - kernels of several results: which shape they have, in which order two of them may
// become one, and making one of two. fusion_util.h says what each function promises.
//
// In an order of instructions that is legal, two kernels may become one where the second is, unless
// something between them needs the first and is needed by the second. The order part looks for such
// a way around, over a bounded reach, so that a pass over a large computation stays linear.
#include "passes/fusion/fusion_util.h"

// ---- shapes -------------------------------------------------------------------------------------

static bool is_fusion(const hsc_instr *instr) {
  return instr->op == HSC_OP_FUSION;
}

// What a kernel computes first: all results of one kernel are computed by loops of one shape, so
// one of them stands for all. NULL = it has no results.
static const hsc_instr *first_root(const hsc_instr *instr) {
  const hsc_instr *root = is_fusion(instr) ? instr->called[0]->root : instr;
  if (root->op == HSC_OP_TUPLE) {
    if (root->operand_count)
      return root->operands[0];
    return NULL;
  }
  return root;
}

// More results make another tuple. So the tuple that is there must be read element by element only,
// and must not be what the computation returns.
bool hsc__fused_shape(const hsc_instr *instr, hsc_fused_shape *out_shape) {
  const hsc_instr *root = first_root(instr);
  if (!hsc_shape_is_array(&instr->shape)) {
    if (instr->parent->root == instr)
      return false;
    for (int u = 0; u < instr->user_count; u++)
      if (instr->users[u]->op != HSC_OP_GET_TUPLE_ELEMENT || instr->users[u]->control_count ||
          instr->users[u]->control_successor_count)
        return false;
  }
  if (!root || instr->control_count || instr->control_successor_count)
    return false;
  if (!is_fusion(instr) && instr->op != HSC_OP_REDUCE)
    return false;
  if (is_fusion(instr) && instr->attr.fusion.kind != HSC_FUSION_LOOP &&
      instr->attr.fusion.kind != HSC_FUSION_INPUT)
    return false;
  if (root->op == HSC_OP_REDUCE) {
    if (root->operand_count != 2 || !hsc_shape_is_array(&root->shape) ||
        root->operands[0]->shape.type != root->operands[1]->shape.type)
      return false;
    *out_shape =
        (hsc_fused_shape){HSC_FUSION_INPUT, &root->operands[0]->shape, &root->attr.dims.dims};
    return true;
  }
  if (!is_fusion(instr) || instr->attr.fusion.kind != HSC_FUSION_LOOP ||
      !hsc_shape_is_array(&root->shape))
    return false;
  *out_shape = (hsc_fused_shape){HSC_FUSION_LOOP, &root->shape, NULL};
  return true;
}

bool hsc__fused_shapes_equal(const hsc_fused_shape *a, const hsc_fused_shape *b) {
  if (a->kind != b->kind || !hsc_shape_same_dims(a->loop, b->loop))
    return false;
  if (a->kind != HSC_FUSION_INPUT)
    return true;
  if (a->reduced->count != b->reduced->count)
    return false;
  for (int i = 0; i < a->reduced->count; i++)
    if (a->reduced->v[i] != b->reduced->v[i])
      return false;
  return true;
}

static int fused_outputs(const hsc_instr *instr) {
  return hsc_shape_leaf_count(&instr->shape);
}

// A reduce that stands alone brings itself and, at most, a parameter for each operand.
static int body_size(const hsc_instr *instr) {
  return is_fusion(instr) ? instr->called[0]->instr_count : 1 + instr->operand_count;
}

bool hsc__fused_too_large(const hsc_instr *a, const hsc_instr *b) {
  return body_size(a) + body_size(b) > HSC_FUSED_MAX_INSTRS ||
         a->operand_count + b->operand_count > HSC_FUSED_MAX_OPERANDS ||
         fused_outputs(a) + fused_outputs(b) > HSC_FUSED_MAX_OUTPUTS;
}

// From the root back. Readers at the same index share one computation, so the one that runs most
// often counts; a reader at other indices (a slice, a transpose) computes the value once more for
// itself. Chains of such readers multiply: the numbers stop at a bound.
int64_t hsc__fused_computed(hsc_computation *body, const hsc_instr *of, int64_t *out_of) {
  const int32_t most = 1 << 20;
  int64_t all = 0;
  for (hsc_instr *instr = body->last; instr; instr = instr->prev) {
    int64_t alike = instr == body->root;
    int64_t apart = 0;
    for (int u = 0; u < instr->user_count; u++) {
      const hsc_instr *user = instr->users[u];
      bool same_index = (hsc_op_traits(user->op) & HSC_TRAIT_ELEMENTWISE) ||
                        user->op == HSC_OP_TUPLE || user->op == HSC_OP_CLAMP;
      if (!same_index)
        apart += user->index;
      else if (user->index > alike)
        alike = user->index;
    }
    instr->index = alike + apart < most ? (int32_t)(alike + apart) : most;
    if (instr == of && out_of)
      *out_of = instr->index;
    all += instr->op == HSC_OP_PARAMETER || instr->op == HSC_OP_CONSTANT ? 0 : instr->index;
  }
  return all;
}

// ---- order --------------------------------------------------------------------------------------

// index fields hold the number of the question by which an instruction was last marked; scratch of
// the computation counts questions.
void hsc__fused_begin(hsc_computation *computation) {
  for (hsc_instr *instr = computation->first; instr; instr = instr->next) {
    instr->index = 0;
    instr->scratch = NULL;
  }
  computation->scratch = NULL;
}

void hsc__fused_pass(hsc_instr *instr) {
  instr->scratch = instr->parent;
}
bool hsc__fused_passed(const hsc_instr *instr) {
  return instr->scratch && instr->scratch == instr->parent;
}

static int32_t next_question(hsc_computation *computation) {
  uintptr_t number = (uintptr_t)computation->scratch + 1;
  computation->scratch = (void *)number;
  return (int32_t)number;
}

static bool needs_marked(const hsc_instr *instr, int32_t mark, const hsc_instr *except) {
  for (int i = 0; i < instr->operand_count; i++)
    if (instr->operands[i]->index == mark && instr->operands[i] != except)
      return true;
  for (int i = 0; i < instr->control_count; i++)
    if (instr->control_predecessors[i]->index == mark)
      return true;
  return false;
}

bool hsc__fused_order_allows(hsc_instr *first, hsc_instr *second, bool producer) {
  int32_t mark = next_question(first->parent);
  int32_t steps = 0;
  first->index = mark;
  for (hsc_instr *at = first->next; at != second; at = at->next) {
    if (!at || ++steps > HSC_FUSED_REACH)
      return false;
    if (needs_marked(at, mark, NULL))
      at->index = mark;
  }
  return !needs_marked(second, mark, producer ? first : NULL);
}

// ---- making one of two --------------------------------------------------------------------------

typedef struct merged {
  hsc_builder body;
  hsc_instr **operands;  // of the new fusion; parameters of the body in the same order
  int count;
  hsc_instr *roots[2 * HSC_FUSED_MAX_OUTPUTS + 2];
  int root_count;
} merged;

static hsc_instr *parameter_of(merged *m, hsc_instr *operand) {
  for (int i = 0; i < m->count; i++)
    if (m->operands[i] == operand)
      return m->body.computation->parameters[i];
  m->operands[m->count] = operand;
  char name[32];
  snprintf(name, sizeof name, "param_%d", m->count);
  return hsc_build_parameter(&m->body, m->count++, operand->shape, name);
}

// Copies what `instr` computes into the body; operands that are `inside` (NULL = none) are taken
// from its roots.
static hsc_status *copy_in(merged *m,
                           hsc_instr *instr,
                           const hsc_instr *inside,
                           hsc_instr *inside_root) {
  hsc_arena *arena = m->body.module->arena;
  hsc_instr **arguments = HSC_NEW_ARRAY(arena, hsc_instr *, instr->operand_count + 1);
  HSC_TRY(hsc_arena_status(arena));
  for (int i = 0; i < instr->operand_count; i++)
    arguments[i] = instr->operands[i] == inside ? inside_root : parameter_of(m, instr->operands[i]);
  if (m->body.status)
    return NULL;
  if (!is_fusion(instr)) {
    m->roots[m->root_count++] = hsc_build_clone(&m->body, instr, arguments);
    return NULL;
  }
  const hsc_computation *from = instr->called[0];
  for (hsc_instr *at = from->first; at; at = at->next) {
    if (at->op == HSC_OP_PARAMETER) {
      at->scratch = arguments[at->attr.index.value];
      continue;
    }
    if (at == from->root && at->op == HSC_OP_TUPLE)
      continue;
    hsc_instr **operands = HSC_NEW_ARRAY(arena, hsc_instr *, at->operand_count + 1);
    HSC_TRY(hsc_arena_status(arena));
    for (int i = 0; i < at->operand_count; i++)
      operands[i] = at->operands[i]->scratch;
    at->scratch = hsc_build_clone(&m->body, at, operands);
  }
  if (from->root->op != HSC_OP_TUPLE)
    m->roots[m->root_count++] = from->root->scratch;
  else
    for (int i = 0; i < from->root->operand_count; i++)
      m->roots[m->root_count++] = from->root->operands[i]->scratch;
  return NULL;
}

// Users of the old instruction read elements of the new one; the old one goes.
static hsc_status *replace_by_elements(hsc_builder *b,
                                       hsc_instr *old,
                                       hsc_instr *fusion,
                                       int first_element) {
  if (hsc_shape_is_array(&old->shape))
    return hsc__replace(old, hsc_build_get_tuple_element(b, fusion, first_element));
  while (old->user_count > 0) {
    hsc_instr *user = old->users[old->user_count - 1];
    HSC_TRY(hsc__replace(
        user, hsc_build_get_tuple_element(b, fusion, first_element + user->attr.index.value)));
    if (old->user_count > 0 && old->users[old->user_count - 1] == user)
      hsc_instr_remove(user);
  }
  hsc_instr_remove(old);
  return NULL;
}

static hsc_status *make_body(hsc_instr *first,
                             hsc_instr *second,
                             merged *m,
                             int *out_first_count,
                             hsc_computation **out_body) {
  hsc_module *module = first->parent->module;
  *m = (merged){.operands = HSC_NEW_ARRAY(module->arena, hsc_instr *,
                                          first->operand_count + second->operand_count + 1)};
  HSC_TRY(hsc_arena_status(module->arena));
  hsc_builder_init(&m->body, module, "fused_computation");
  hsc_status *status = copy_in(m, first, NULL, NULL);
  *out_first_count = m->root_count;
  if (!status)
    status = copy_in(m, second, hsc_shape_is_array(&first->shape) ? first : NULL, m->roots[0]);
  hsc_instr *tuple = status ? NULL : hsc_build_tuple(&m->body, m->root_count, m->roots);
  hsc_status *built = hsc_builder_finish(&m->body, tuple, out_body);
  if (!status)
    return built;
  hsc_status_free(built);
  return status;
}

hsc_status *hsc__fused_between(hsc_instr *first,
                               hsc_instr *second,
                               hsc_instr ***out_moved,
                               int32_t *out_count) {
  int32_t mark = first->index;
  int32_t count = 0;
  for (hsc_instr *at = first->next; at != second; at = at->next)
    count += at->index == mark;
  hsc_instr **moved = *out_moved =
      HSC_NEW_ARRAY(first->parent->module->arena, hsc_instr *, count + 1);
  HSC_TRY(hsc_arena_status(first->parent->module->arena));
  *out_count = 0;
  for (hsc_instr *at = first->next; at != second; at = at->next)
    if (at->index == mark)
      moved[(*out_count)++] = at;
  return NULL;
}

void hsc__fused_move(hsc_instr *const *moved, int32_t count, hsc_instr *before) {
  for (int32_t i = 0; i < count; i++) {
    if (!moved[i]->parent)
      continue;  // an element of the old instruction, which is gone
    hsc_instr_move_before(moved[i], before);
    moved[i]->scratch = NULL;  // the walk comes by again
  }
}

hsc_status *hsc__fuse_together(hsc_instr *first, hsc_instr *second, hsc_instr **out_fusion) {
  hsc_computation *computation = first->parent;
  hsc_computation *body = NULL;
  int32_t moved_count = 0;
  int32_t first_count = 0;
  hsc_instr **moved = NULL;
  hsc_fused_shape shape;
  bool shaped = hsc__fused_shape(second, &shape);
  merged m;
  HSC_TRY(make_body(first, second, &m, &first_count, &body));
  body->index = 1;  // embedded: no place for fusions
  HSC_TRY(hsc__fused_between(first, second, &moved, &moved_count));
  hsc_builder b;
  hsc_builder_at(&b, computation, second);
  b.metadata = second->metadata ? second->metadata : first->metadata;
  hsc_instr *fusion = *out_fusion =
      hsc_build_calls(&b, HSC_OP_FUSION, body->root->shape, m.count, m.operands, 1, &body);
  fusion->attr.fusion.kind =
      shaped && shape.kind == HSC_FUSION_INPUT ? HSC_FUSION_INPUT : HSC_FUSION_LOOP;
  fusion->index = 0;
  HSC_TRY(replace_by_elements(&b, first, fusion, 0));
  // What lies between and needs the first one goes after its elements, in the order in which it
  // is.
  hsc__fused_move(moved, moved_count, second);
  HSC_TRY(replace_by_elements(&b, second, fusion, first_count));
  return hsc_builder_finish(&b, NULL, NULL);
}

// ---- side by side -------------------------------------------------------------------------------

// A kernel over more than this takes longer to run than to start.
static const int64_t SMALL_BYTES = 16 << 10;
enum { RECENT = 24 };

static int64_t bytes_touched(const hsc_instr *instr) {
  int64_t bytes = 0;
  for (int l = 0; l < hsc_shape_leaf_count(&instr->shape); l++)
    bytes += hsc_shape_bytes(hsc_shape_leaf(&instr->shape, l));
  for (int i = 0; i < instr->operand_count; i++)
    bytes += hsc_shape_bytes(&instr->operands[i]->shape);
  return bytes;
}

static hsc_status *horizontally(hsc_computation *computation,
                                hsc_pass_context *cx,
                                hsc_fusion_kind kind) {
  hsc_instr *recent[RECENT] = {NULL};
  int turn = 0;
  hsc__fused_begin(computation);
  for (hsc_instr *instr = computation->first; instr; instr = instr->next) {
    hsc_fused_shape shape, other;
    hsc__fused_pass(instr);
    if (!hsc__fused_shape(instr, &shape) || shape.kind != kind ||
        bytes_touched(instr) > SMALL_BYTES)
      continue;
    int slot = -1;
    for (int i = 0; i < RECENT && slot < 0; i++) {
      if (!recent[i] || !recent[i]->parent || !hsc__fused_passed(recent[i]))
        continue;
      if (!hsc__fused_shape(recent[i], &other) || !hsc__fused_shapes_equal(&shape, &other) ||
          hsc__fused_too_large(recent[i], instr))
        continue;
      if (hsc__fused_order_allows(recent[i], instr, false))
        slot = i;
    }
    if (slot >= 0) {
      if (!hsc__pass_spend(cx))
        return NULL;
      HSC_TRY(hsc__fuse_together(recent[slot], instr, &instr));
      hsc__fused_pass(instr);
    } else {
      slot = turn++ % RECENT;
    }
    recent[slot] = instr;
  }
  return NULL;
}

hsc_status *hsc__fuse_horizontally(hsc_module *module, hsc_pass_context *cx, hsc_fusion_kind kind) {
  hsc__mark_embedded(module);
  int count = module->computation_count;
  for (int i = 0; i < count; i++)
    if (!hsc__computation_is_embedded(module->computations[i]))
      HSC_TRY(horizontally(module->computations[i], cx, kind));
  return NULL;
}
