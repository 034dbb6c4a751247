// lower_mixed.c - operations of mixed float types, written with their conversions.
//
// XLA:TPU's bfloat16-propagation leaves operations whose operands and result have different float
// types ("bf16[8] multiply(f32[8] a, bf16[8] b)"), which XLA's own verifier takes on that platform
// only. They are computed in the widest type there is and rounded to the one that is given;
// operands of a reduce take the types of its reducer.
#include "base/text/view_find.h"
#include "lab/passes/lower_internal.h"

void hsc__lower_shape_text(const hsc_shape *shape, char out[512]) {
  hsc_bytes text = {0};
  hsc_shape_print(shape, true, &text);
  snprintf(out, 512, "%s", hsc_bytes_text(&text));
  hsc_bytes_deinit(&text);
}

static hsc_type widest_float(const hsc_instr *instr) {
  hsc_type widest = instr->shape.type;
  for (int k = 0; k < instr->operand_count; k++) {
    hsc_type type = instr->operands[k]->shape.type;
    if (hsc_type_is_float(type) && hsc_type_bits(type) > hsc_type_bits(widest))
      widest = type;
  }
  return widest;
}

static bool is_mixed(const hsc_instr *instr) {
  if (instr->operand_count == 0)
    return false;
  if (instr->op == HSC_OP_REDUCE)
    return instr->called_count == 1 && instr->called[0]->parameter_count == instr->operand_count &&
           hsc_shape_leaf_count(&instr->shape) * 2 == instr->operand_count &&
           hsc_shape_leaf_count(&instr->called[0]->root->shape) * 2 == instr->operand_count;
  if (!hsc_type_is_float(instr->shape.type))
    return false;
  if (hsc_op_traits(instr->op) & HSC_TRAIT_CALLS)
    return false;
  if (instr->op == HSC_OP_CONVERT || instr->op == HSC_OP_BITCAST_CONVERT ||
      instr->op == HSC_OP_GET_TUPLE_ELEMENT || instr->op == HSC_OP_CUSTOM_CALL)
    return false;
  for (int k = 0; k < instr->operand_count; k++) {
    hsc_type type = instr->operands[k]->shape.type;
    if (hsc_type_is_float(type) && type != instr->shape.type)
      return true;
  }
  return false;
}

// Whether the arrays of two shapes are of the same types, one by one.
static bool same_types(const hsc_shape *a, const hsc_shape *b) {
  int leaves = hsc_shape_leaf_count(a);
  bool same = leaves == hsc_shape_leaf_count(b);
  for (int i = 0; i < leaves && same; i++)
    same = hsc_shape_leaf(a, i)->type == hsc_shape_leaf(b, i)->type;
  return same;
}

// Whether the instruction is one that HLO has not in these types, though they are mixed: its result
// is not of the type that follows from its operands, or, of a reduce, not of its reducer's.
static bool has_other_types(const hsc_instr *instr, hsc_arena *arena) {
  if (instr->op == HSC_OP_REDUCE) {
    const hsc_computation *reducer = instr->called[0];
    bool differs = !same_types(&instr->shape, &reducer->root->shape);
    for (int k = 0; k < instr->operand_count; k++)
      differs |= instr->operands[k]->shape.type != reducer->parameters[k]->shape.type;
    return differs;
  }
  hsc_shape inferred;
  hsc_status *status = hsc_infer_shape(arena, instr, &inferred);
  bool other = status || inferred.type != instr->shape.type;
  hsc_status_free(status);
  return other;
}

// `clones`, [operand_count]: the operands in the types that the instruction then takes. False when
// there is no such instruction; *out_shape has the type of its result.
static bool widen(const hsc_instr *instr,
                  hsc_arena *arena,
                  hsc_instr *clones,
                  hsc_shape *out_shape) {
  const hsc_computation *reducer = instr->op == HSC_OP_REDUCE ? instr->called[0] : NULL;
  hsc_instr wide = *instr;
  wide.operands = HSC_NEW_ARRAY(arena, hsc_instr *, instr->operand_count);
  if (!wide.operands)
    return false;
  hsc_type widest = widest_float(instr);
  for (int k = 0; k < instr->operand_count; k++) {
    clones[k] = *instr->operands[k];
    if (hsc_type_is_float(clones[k].shape.type))
      clones[k].shape.type = reducer ? reducer->parameters[k]->shape.type : widest;
    wide.operands[k] = &clones[k];
  }
  hsc_shape inferred;
  hsc_status *status = hsc_infer_shape(arena, &wide, &inferred);
  bool tuple = hsc_shape_is_tuple(&instr->shape);
  bool ok = !status && hsc_shape_is_tuple(&inferred) == tuple &&
            (tuple || inferred.rank == instr->shape.rank);
  hsc_status_free(status);
  *out_shape = instr->shape;
  if (ok && tuple)
    *out_shape = inferred;
  else if (ok)
    out_shape->type = inferred.type;
  return ok;
}

// The tuple of the instruction's own types from that of `shape`, "%name.wide".
static void put_narrowed_tuple(const hsc_instr *instr, const hsc_shape *shape, hsc_bytes *out) {
  char text[512];
  int leaves = hsc_shape_leaf_count(shape);
  for (int i = 0; i < leaves; i++) {
    hsc__lower_shape_text(hsc_shape_leaf(shape, i), text);
    hsc_bytes_printf(out, "\n  %%%s.wide%d = %s get-tuple-element(%%%s.wide), index=%d",
                     instr->name, i, text, instr->name, i);
    hsc__lower_shape_text(hsc_shape_leaf(&instr->shape, i), text);
    hsc_bytes_printf(out, "\n  %%%s.own%d = %s convert(%%%s.wide%d)", instr->name, i, text,
                     instr->name, i);
  }
  hsc__lower_shape_text(&instr->shape, text);
  hsc_bytes_printf(out, "\n  %s%%%s = %s tuple(", instr == instr->parent->root ? "ROOT " : "",
                   instr->name, text);
  for (int i = 0; i < leaves; i++)
    hsc_bytes_printf(out, "%s%%%s.own%d", i ? ", " : "", instr->name, i);
  hsc_bytes_append_char(out, ')');
}

// The lines of the instruction in the types of `clones`, with conversions before and after it;
// `head` is " op(", `close` is where the operands end in `line`.
static void put_widened(const hsc_instr *instr,
                        const hsc_instr *clones,
                        const hsc_shape *shape,
                        const char *head,
                        hsc_view rest,
                        hsc_bytes *out) {
  char own[512], wide[512];
  hsc__lower_shape_text(&instr->shape, own);
  hsc__lower_shape_text(shape, wide);
  for (int k = 0; k < instr->operand_count; k++) {
    char operand[512];
    if (clones[k].shape.type == instr->operands[k]->shape.type)
      continue;
    hsc__lower_shape_text(&clones[k].shape, operand);
    hsc_bytes_printf(out, "  %%%s.operand%d = %s convert(%%%s)\n", instr->name, k, operand,
                     instr->operands[k]->name);
  }
  bool same = same_types(shape, &instr->shape);
  bool root = instr == instr->parent->root;
  hsc_bytes_printf(out, "  %s%%%s%s = %s%s", same && root ? "ROOT " : "", instr->name,
                   same ? "" : ".wide", wide, head);
  for (int k = 0; k < instr->operand_count; k++) {
    if (clones[k].shape.type == instr->operands[k]->shape.type)
      hsc_bytes_printf(out, "%s%%%s", k ? ", " : "", instr->operands[k]->name);
    else
      hsc_bytes_printf(out, "%s%%%s.operand%d", k ? ", " : "", instr->name, k);
  }
  hsc_bytes_append(out, rest.data, rest.size);
  if (!same && hsc_shape_is_tuple(shape))
    put_narrowed_tuple(instr, shape, out);
  else if (!same)
    hsc_bytes_printf(out, "\n  %s%%%s = %s convert(%%%s.wide)", root ? "ROOT " : "", instr->name,
                     own, instr->name);
  hsc_bytes_append_char(out, '\n');
}

bool hsc__lower_mixed(const hsc_instr *instr, hsc_view line, hsc_bytes *out) {
  hsc_arena *arena = NULL;
  hsc_shape shape;
  char head[64];
  if (!is_mixed(instr))
    return false;
  hsc_status *status = hsc_arena_create(&arena);
  hsc_instr *clones = status ? NULL : HSC_NEW_ARRAY(arena, hsc_instr, instr->operand_count);
  bool ok = clones && has_other_types(instr, arena) && widen(instr, arena, clones, &shape);
  // "  ROOT %name = SHAPE op(operands), rest"
  snprintf(head, sizeof head, " %s(", hsc_op_text(instr->op));
  const char *at = ok ? hsc_view_find(line, head) : NULL;
  const char *close = at ? memchr(at, ')', line.size - (size_t)(at - line.data)) : NULL;
  if (close)
    put_widened(instr, clones, &shape, head,
                (hsc_view){close, line.size - (size_t)(close - line.data)}, out);
  hsc_arena_destroy(arena);
  hsc_status_free(status);
  return close != NULL;
}
