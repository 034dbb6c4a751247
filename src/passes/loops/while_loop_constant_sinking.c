// while_loop_constant_sinking.c - a loop whose state carries a constant that the body passes on
// reads the constant itself.
//
// Scalars, broadcast scalars and small arrays: folding can use them inside, and the element of the
// state is then dead (while-loop-simplifier removes it). Legal always. One walk, linear in the
// state and its readers.
//
//   before   w = while(tuple(zero, x, two)), body: y = multiply(get-tuple-element(s, 1),
//            get-tuple-element(s, 2))
//   after    body: two.1 = constant(2);  y = multiply(get-tuple-element(s, 1), two.1)
//
// XLA: xla/hlo/transforms/simplifiers/while_loop_constant_sinking.h (xla/service before 2024)
#include "passes/loops/while_util.h"

enum { MAX_ELEMENTS = 64 };

static bool is_sinkable(const hsc_instr *value) {
  if (value->op == HSC_OP_BROADCAST)
    value = value->operands[0];
  if (value->op != HSC_OP_CONSTANT || value->attr.literal.value->elided ||
      !hsc_shape_is_array(&value->shape))
    return false;
  return hsc_shape_elements(&value->shape) <= MAX_ELEMENTS;
}

// Whether somebody other than the root's own place uses it.
static bool is_wanted(const hsc_instr *reader) {
  const hsc_instr *root = reader->parent->root;
  for (int u = 0; u < reader->user_count; u++)
    if (reader->users[u] != root || root->op != HSC_OP_TUPLE)
      return true;
  return false;
}

static hsc_status *sink(hsc_instr *reader, hsc_instr *value, bool in_body) {
  hsc_computation *computation = reader->parent;
  hsc_builder b;
  hsc_builder_at(&b, computation, reader);
  hsc_instr *copy = value->op == HSC_OP_BROADCAST ? hsc_build_clone(&b, value->operands[0], NULL)
                                                  : hsc_build_clone(&b, value, NULL);
  if (value->op == HSC_OP_BROADCAST)
    copy = hsc_build_clone(&b, value, &copy);
  HSC_TRY(hsc_builder_finish(&b, NULL, NULL));
  int64_t index = reader->attr.index.value;
  HSC_TRY(hsc_instr_replace_uses(reader, copy));
  // The body passes the element on as before.
  if (in_body)
    hsc_instr_set_operand(computation->root, (int)index, reader);
  else
    hsc_instr_remove(reader);
  return NULL;
}

// The readers of the state in the condition (0) or the body (1).
static hsc_status *sink_in(hsc_instr *loop, int side, hsc_pass_context *cx) {
  const hsc_instr *state = loop->called[side]->parameters[0];
  int count = state->user_count;
  hsc_instr **readers = HSC_NEW_ARRAY(cx->scratch, hsc_instr *, count + 1);
  if (!readers)
    return hsc_status_out_of_memory();
  if (count)
    memcpy(readers, state->users, (size_t)count * sizeof *readers);
  for (int r = 0; r < count; r++) {
    int64_t index = readers[r]->attr.index.value;
    hsc_instr *value = loop->operands[0]->operands[index];
    if (!is_sinkable(value) || !hsc__loop_keeps(loop, index) || !is_wanted(readers[r]))
      continue;
    if (!hsc__pass_spend(cx))
      return NULL;
    HSC_TRY(sink(readers[r], value, side));
  }
  return NULL;
}

hsc_status *hsc__pass_while_loop_constant_sinking(hsc_module *module, hsc_pass_context *cx) {
  HSC_FOR_EACH_COMPUTATION (module, computation) {
    for (hsc_instr *loop = computation->first; loop; loop = loop->next) {
      if (loop->op != HSC_OP_WHILE || loop->operands[0]->op != HSC_OP_TUPLE ||
          !hsc__loop_inside_is_own(loop))
        continue;
      for (int side = 0; side < 2; side++)
        HSC_TRY(sink_in(loop, side, cx));
    }
  }
  return NULL;
}
