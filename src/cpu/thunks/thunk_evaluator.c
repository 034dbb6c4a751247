// thunk_evaluator.c - the way out for operations that have no kernel: the reference evaluator, on
// literals that borrow the thunk's buffers.
#include "cpu/thunks/thunk_kinds.h"

// The way out: it does whatever no other kind does.
hsc_status *hsc__cpu_choose_evaluator(hsc_cpu_compiler *compiler,
                                      hsc_cpu_step *step,
                                      hsc_cpu_choice *choice,
                                      bool *out_chosen) {
  *out_chosen = true;
  return NULL;
}

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

hsc_status *hsc__cpu_run_evaluator(const hsc_cpu_frame *frame, const hsc_cpu_thunk *thunk) {
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

// ---- checking -----------------------------------------------------------------------------------

// The leaves of a shape are the next slices, each as large as its leaf.
static bool leaves_fit(const hsc_shape *shape,
                       const hsc_cpu_slice *slices,
                       int32_t count,
                       int32_t *at) {
  int32_t leaves = (int32_t)hsc_shape_leaf_count(shape);
  if (leaves > count - *at)
    return false;
  for (int32_t l = 0; l < leaves; l++, ++*at)
    if (slices[*at].bytes != hsc_shape_bytes(hsc_shape_leaf(shape, l)))
      return false;
  return true;
}

bool hsc__cpu_check_evaluator(hsc_cpu_payload *p) {
  int32_t number = p->thunk->instr;
  int32_t input = 0;
  int32_t output = 0;
  if (!hsc__payload_is(p, p->bytes, -1, -1) || number < 0 || number >= p->executable->instr_count)
    return false;
  const hsc_instr *instr = p->executable->instrs[number];
  for (int i = 0; i < instr->operand_count; i++)
    if (!leaves_fit(&instr->operands[i]->shape, p->inputs, p->thunk->input_count, &input))
      return false;
  return leaves_fit(&instr->shape, p->outputs, p->thunk->output_count, &output) &&
         input == p->thunk->input_count && output == p->thunk->output_count;
}
