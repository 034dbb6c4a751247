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

// A reader in `computation` of element `index` that somebody other than the root's own place uses;
// NULL = none.
static hsc_instr *reader_of(const hsc_computation *computation, int64_t index) {
  const hsc_instr *state = computation->parameters[0];
  const hsc_instr *root = computation->root;
  for (int i = 0; i < state->user_count; i++) {
    hsc_instr *reader = state->users[i];
    if (reader->attr.index.value != index)
      continue;
    for (int u = 0; u < reader->user_count; u++)
      if (reader->users[u] != root || root->op != HSC_OP_TUPLE)
        return reader;
  }
  return NULL;
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

hsc_status *hsc__pass_while_loop_constant_sinking(hsc_module *module, hsc_pass_context *cx) {
  HSC_FOR_EACH_COMPUTATION (module, computation) {
    for (hsc_instr *loop = computation->first; loop; loop = loop->next) {
      if (loop->op != HSC_OP_WHILE || loop->operands[0]->op != HSC_OP_TUPLE ||
          !hsc__loop_inside_is_own(loop))
        continue;
      for (int64_t i = 0; i < loop->shape.element_count; i++) {
        hsc_instr *value = loop->operands[0]->operands[i];
        hsc_instr *reader;
        if (!is_sinkable(value) || !hsc__loop_keeps(loop, i))
          continue;
        for (int in_body = 0; in_body < 2; in_body++) {
          while ((reader = reader_of(loop->called[in_body], i))) {
            if (!hsc__pass_spend(cx))
              return NULL;
            HSC_TRY(sink(reader, value, in_body));
          }
        }
      }
    }
  }
  return NULL;
}
