// thunk_evaluator.c - the way out for operations that have no kernel: the reference evaluator, on
// literals that borrow the thunk's buffers.
#include "cpu/core/cpu_internal.h"

// Makes the literal of `shape` over leaves that lie in buffers.
static hsc_status *borrow(const hsc_cpu_frame *frame,
                          const hsc_shape *shape,
                          const hsc_cpu_slice **slice,
                          hsc_arena *arena,
                          hsc_literal *literal) {
  literal->shape = *shape;
  if (!hsc_shape_is_tuple(shape)) {
    literal->data = (*slice)->bytes ? hsc__cpu_at(frame, *slice) : NULL;
    (*slice)++;
    return NULL;
  }
  literal->elements = HSC_NEW_ARRAY(arena, hsc_literal, shape->element_count + 1);
  HSC_TRY(hsc_arena_status(arena));
  for (int i = 0; i < shape->element_count; i++)
    HSC_TRY(borrow(frame, &shape->elements[i], slice, arena, &literal->elements[i]));
  return NULL;
}

static void store(const hsc_cpu_frame *frame,
                  const hsc_literal *literal,
                  const hsc_cpu_slice **slice) {
  if (!hsc_shape_is_tuple(&literal->shape)) {
    if ((*slice)->bytes)
      memcpy(hsc__cpu_at(frame, *slice), literal->data, (size_t)(*slice)->bytes);
    (*slice)++;
    return;
  }
  for (int i = 0; i < literal->shape.element_count; i++)
    store(frame, &literal->elements[i], slice);
}

hsc_status *hsc__cpu_run_EVALUATOR(const hsc_cpu_frame *frame, const hsc_cpu_thunk *thunk) {
  const hsc_instr *instr = frame->executable->instrs[thunk->instr];
  hsc_status *status = NULL;
  hsc_arena *arena = NULL;
  HSC_GOTO(hsc_arena_create(&arena));
  const hsc_cpu_slice *slice = hsc__cpu_slices(frame, thunk);
  hsc_literal **operands = HSC_NEW_ARRAY(arena, hsc_literal *, instr->operand_count + 1);
  HSC_GOTO(hsc_arena_status(arena));
  for (int i = 0; i < instr->operand_count; i++) {
    operands[i] = HSC_NEW(arena, hsc_literal);
    HSC_GOTO(hsc_arena_status(arena));
    HSC_GOTO(borrow(frame, &instr->operands[i]->shape, &slice, arena, operands[i]));
  }
  hsc_literal *result = NULL;
  HSC_GOTO(hsc_evaluate_instr_drawing(instr, operands, frame->random_state, arena, &result));
  store(frame, result, &slice);
done:
  hsc_arena_destroy(arena);
  return hsc_status_note(status, "while: running %s %s", hsc_op_text(instr->op), instr->name);
}
