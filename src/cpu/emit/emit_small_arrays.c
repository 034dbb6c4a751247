// emit_small_arrays.c - which arrays of a loop's state stay in memory while a small loop runs
// (see emit_small.h): those of which only slices are read and written, all the way through
// fusions and inner loops, and that the body returns where it got them.
#include "cpu/emit/emit_small.h"

// What is done with an array of a loop's state.
typedef struct array_uses {
  bool dynamic;   // a slice is taken or written at a place that is not known
  bool returned;  // the body returns the array, as it was written
} array_uses;

static bool only_sliced(const hsc_instr *value, int leaf, int depth, array_uses *uses);

// Elements `p` of what a loop or a fusion returns.
static bool elements_keep(const hsc_instr *from, int p, int leaf, int depth, array_uses *uses) {
  for (int u = 0; u < from->user_count; u++) {
    const hsc_instr *element = from->users[u];
    if (element->op != HSC_OP_GET_TUPLE_ELEMENT)
      return false;
    if (element->attr.index.value == p && !only_sliced(element, leaf, depth + 1, uses))
      return false;
  }
  return true;
}

// A tuple with the array is the state of an inner loop, or what a body returns.
static bool tuple_keeps(
    const hsc_instr *tuple, const hsc_instr *value, int leaf, int depth, array_uses *uses) {
  bool root = tuple == tuple->parent->root;
  for (int p = 0; p < tuple->operand_count; p++) {
    if (tuple->operands[p] != value)
      continue;
    if (root && leaf >= 0 && p != leaf)
      return false;
    uses->returned = uses->returned || root;
    for (int u = 0; u < tuple->user_count; u++) {
      const hsc_instr *loop = tuple->users[u];
      if (loop->op != HSC_OP_WHILE || !hsc__small_in_memory(loop, p, depth + 1))
        return false;
      uses->dynamic = true;
      if (!elements_keep(loop, p, leaf, depth, uses))
        return false;
    }
  }
  return true;
}

// Whether a fused value is the parameter, written to.
static bool derives(const hsc_instr *value, const hsc_instr *parameter) {
  while (value != parameter) {
    if (value->op != HSC_OP_DYNAMIC_UPDATE_SLICE && value->op != HSC_OP_RESHAPE &&
        value->op != HSC_OP_BITCAST)
      return false;
    value = value->operands[0];
  }
  return true;
}

static bool fusion_keeps(
    const hsc_instr *fusion, const hsc_instr *value, int leaf, int depth, array_uses *uses) {
  const hsc_instr *root = fusion->called[0]->root;
  for (int p = 0; p < fusion->operand_count; p++) {
    const hsc_instr *parameter = fusion->called[0]->parameters[p];
    array_uses inside = {0};
    if (fusion->operands[p] != value)
      continue;
    if (!only_sliced(parameter, -1, depth + 1, &inside))
      return false;
    uses->dynamic = uses->dynamic || inside.dynamic;
    // What the fusion returns may be the array: then its users count.
    if (root->op != HSC_OP_TUPLE) {
      if (derives(root, parameter) && !only_sliced(fusion, leaf, depth + 1, uses))
        return false;
      continue;
    }
    for (int i = 0; i < root->operand_count; i++)
      if (derives(root->operands[i], parameter) && !elements_keep(fusion, i, leaf, depth, uses))
        return false;
  }
  return true;
}

// Whether all that is done with an array is to take slices of it and to write slices into it, and a
// loop's body that has it as leaf `leaf` of its state returns it, if at all, as that leaf. leaf -1:
// inside of a fusion.
static bool only_sliced(const hsc_instr *value, int leaf, int depth, array_uses *uses) {
  if (depth > 2 * HSC_SMALL_MAX_DEPTH)
    return false;
  for (int u = 0; u < value->user_count; u++) {
    const hsc_instr *user = value->users[u];
    bool good = false;
    switch (user->op) {
      case HSC_OP_SLICE:
        good = true;
        break;
      case HSC_OP_DYNAMIC_SLICE:
        good = user->operands[0] == value;
        uses->dynamic = true;
        break;
      case HSC_OP_DYNAMIC_UPDATE_SLICE:
        good = user->operands[0] == value && user->operands[1] != value &&
               only_sliced(user, leaf, depth + 1, uses);
        uses->dynamic = true;
        break;
      case HSC_OP_RESHAPE:
      case HSC_OP_BITCAST:
        good = user->shape.type == value->shape.type && only_sliced(user, leaf, depth + 1, uses);
        break;
      case HSC_OP_TUPLE:
        good = tuple_keeps(user, value, leaf, depth, uses);
        break;
      case HSC_OP_FUSION:
        good = fusion_keeps(user, value, leaf, depth, uses);
        break;
      default:
        break;
    }
    if (!good)
      return false;
  }
  return true;
}

const hsc_shape *hsc__small_leaf(const hsc_instr *loop, int leaf) {
  return hsc_shape_is_tuple(&loop->shape) ? &loop->shape.elements[leaf] : &loop->shape;
}

// Of the state of a loop. Small arrays do only when slices at places that are not known are taken:
// everything else is better in registers.
bool hsc__small_in_memory(const hsc_instr *loop, int leaf, int depth) {
  int64_t elements = hsc_shape_elements(hsc__small_leaf(loop, leaf));
  array_uses uses = {.dynamic = elements > HSC_SMALL_MAX_ELEMENTS};
  if (!hsc_shape_is_tuple(&loop->shape) || elements < 2 || depth > 2 * HSC_SMALL_MAX_DEPTH)
    return false;
  for (int c = 0; c < 2; c++) {
    const hsc_instr *state = loop->called[c]->parameters[0];
    for (int u = 0; u < state->user_count; u++) {
      const hsc_instr *element = state->users[u];
      if (element->op != HSC_OP_GET_TUPLE_ELEMENT || element->attr.index.value != leaf)
        continue;
      if (!only_sliced(element, leaf, depth + 1, &uses))
        return false;
    }
  }
  return uses.dynamic && (uses.returned || hsc_cpu_loop_keeps(loop, leaf));
}
