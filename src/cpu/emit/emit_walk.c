// emit_walk.c - the walk over fused instructions: given an index, what is the value (see
// emit_internal.h)?
//
// Operations that move data are functions of the index alone. Where an element comes from one of
// several places (pad, concatenate, dynamic-update-slice), all places are read and the right one
// selected: a condition that is the same for all lanes is met by reading the first element instead
// of one out of range; one that differs between lanes becomes a mask under which the operand is
// visited.
#include "cpu/emit/emit_internal.h"

#define B (e->builder)

// ---- what can be walked -------------------------------------------------------------------------

bool hsc__emit_can_called(const hsc_computation *computation) {
  HSC_FOR_EACH_INSTR_IN (computation, instr) {
    switch (instr->op) {
      case HSC_OP_PARAMETER:
      case HSC_OP_CONSTANT:
        if (!hsc_shape_is_scalar(&instr->shape) || !hsc__emit_can_type(instr->shape.type))
          return false;
        break;
      case HSC_OP_TUPLE:
        if (instr != computation->root)
          return false;
        break;
      case HSC_OP_RESHAPE:
      case HSC_OP_BROADCAST:
        if (!hsc_shape_is_scalar(&instr->shape))
          return false;
        break;
      default:
        if (!hsc_shape_is_scalar(&instr->shape) || !hsc__emit_can_elementwise(instr))
          return false;
    }
  }
  return true;
}

// A constant that is one value everywhere; others are inputs of kernels, not part of them.
static bool is_uniform_constant(const hsc_instr *instr) {
  const hsc_literal *value = instr->attr.literal.value;
  if (value->elided || hsc_shape_elements(&instr->shape) == 0)
    return false;
  if (hsc_shape_is_scalar(&instr->shape))
    return true;
  return !hsc_type_is_complex(instr->shape.type) &&
         hsc_literal_is_all(value, hsc_literal_get_double(value, 0));
}

// One scalar a dimension: the form with all start indices in one vector is left to the evaluator's
// kernel.
static bool has_scalar_indices(const hsc_instr *instr, int first) {
  for (int i = first; i < instr->operand_count; i++)
    if (instr->operands[i]->shape.rank != 0)
      return false;
  return instr->operand_count == first + instr->shape.rank;
}

// The same elements in the same order, under another shape.
static bool keeps_bytes(const hsc_instr *bitcast) {
  return hsc_layout_is_default(&bitcast->shape) &&
         hsc_layout_is_default(&bitcast->operands[0]->shape) &&
         bitcast->shape.type == bitcast->operands[0]->shape.type;
}

static bool calls_what_can_be_emitted(const hsc_instr *instr) {
  return instr->called_count == 1 && hsc__emit_can_called(instr->called[0]);
}

bool hsc__emit_can_walk(const hsc_instr *instr) {
  if (!hsc_shape_is_array(&instr->shape) || !hsc__emit_can_type(instr->shape.type))
    return false;
  for (int i = 0; i < instr->operand_count; i++)
    if (!hsc_shape_is_array(&instr->operands[i]->shape))
      return false;
  switch (instr->op) {
    case HSC_OP_CONSTANT:
      return is_uniform_constant(instr);
    case HSC_OP_IOTA:
      return !hsc_type_is_complex(instr->shape.type) && instr->shape.type != HSC_TYPE_PRED;
    case HSC_OP_BROADCAST:
    case HSC_OP_RESHAPE:
    case HSC_OP_TRANSPOSE:
    case HSC_OP_SLICE:
    case HSC_OP_REVERSE:
    case HSC_OP_PAD:
    case HSC_OP_CONCATENATE:
    case HSC_OP_GATHER:
    case HSC_OP_OPT_BARRIER:
      return true;
    case HSC_OP_DYNAMIC_SLICE:
      return has_scalar_indices(instr, 1);
    case HSC_OP_DYNAMIC_UPDATE_SLICE:
      return has_scalar_indices(instr, 2);
    case HSC_OP_BITCAST:
      return keeps_bytes(instr);
    case HSC_OP_MAP:
      return calls_what_can_be_emitted(instr);
    case HSC_OP_DOT:
      return hsc__emit_can_dot(instr);
    case HSC_OP_REDUCE_WINDOW:
      return hsc_instr_is_small_window(instr) && !hsc_type_is_complex(instr->shape.type) &&
             calls_what_can_be_emitted(instr);
    default:
      return hsc__emit_can_elementwise(instr);
  }
}

// ---- memory of what was visited -----------------------------------------------------------------

static uint32_t bucket_of(const hsc_instr *instr, const hsc_affine *index, int rank) {
  uint64_t hash = (uint64_t)(uintptr_t)instr >> 4;
  for (int i = 0; i < rank; i++) {
    hash = hash * 31 + (uint64_t)index[i].constant;
    for (int t = 0; t < index[i].count; t++)
      hash =
          hash * 31 + (uint64_t)index[i].terms[t].symbol * 7 + (uint64_t)index[i].terms[t].factor;
  }
  return (uint32_t)((hash ^ hash >> 17) % HSC_EMIT_MEMO_BUCKETS);
}

static bool recall(const hsc_emitter *e,
                   uint32_t bucket,
                   const hsc_instr *instr,
                   const hsc_affine *index,
                   hsc_lv mask,
                   hsc_emit_value *out_value) {
  for (int32_t m = e->memo_heads[bucket]; m >= 0; m = e->memos[m].next) {
    const hsc_emit_memo *memo = &e->memos[m];
    if (memo->instr != instr || (memo->mask && memo->mask != mask))
      continue;
    bool same = true;
    for (int i = 0; i < instr->shape.rank && same; i++)
      same = hsc_affine_equal(&memo->index[i], &index[i]);
    if (!same)
      continue;
    *out_value = memo->value;
    return true;
  }
  return false;
}

static hsc_status *remember(hsc_emitter *e,
                            uint32_t bucket,
                            const hsc_instr *instr,
                            const hsc_affine *index,
                            hsc_lv mask,
                            hsc_emit_value value) {
  if (!HSC_GROW_IN(e->arena, e->memos, e->memo_count, e->memo_capacity))
    return hsc_arena_status(e->arena);
  const hsc_affine *kept =
      instr->shape.rank ? hsc_arena_copy(e->arena, index, sizeof *index * (size_t)instr->shape.rank)
                        : NULL;
  HSC_TRY(hsc_arena_status(e->arena));
  e->memos[e->memo_count] = (hsc_emit_memo){
      .instr = instr, .index = kept, .mask = mask, .value = value, .next = e->memo_heads[bucket]};
  e->memo_heads[bucket] = e->memo_count++;
  return NULL;
}

// ---- inputs -------------------------------------------------------------------------------------

static bool is_input(const hsc_emitter *e, const hsc_instr *instr, int *out_buffer) {
  if (e->product && instr == e->product) {
    *out_buffer = e->input_count - 1;
    return true;
  }
  if (e->body) {
    if (instr->op != HSC_OP_PARAMETER || instr->parent != e->body)
      return false;
    *out_buffer = (int)instr->attr.index.value;
    return true;
  }
  if (instr == e->instr)
    return false;
  for (int i = 0; i < e->instr->operand_count; i++)
    if (e->instr->operands[i] == instr) {
      *out_buffer = i;
      return true;
    }
  return false;
}

// ---- conditions on the index --------------------------------------------------------------------

typedef enum where { WHERE_NEVER, WHERE_ALWAYS, WHERE_SOMETIMES } where;

// Is low <= index < high? SOMETIMES makes the condition.
static where inside(hsc_emitter *e,
                    const hsc_affine *index,
                    int64_t low,
                    int64_t high,
                    hsc_emit_value *out_condition) {
  hsc_affine_range range = hsc_affine_range_of(index, e->sizes);
  if (range.low >= low && range.high < high)
    return WHERE_ALWAYS;
  if (range.high < low || range.low >= high)
    return WHERE_NEVER;
  hsc__emit_note(e, -1, index, false, 4);
  if (e->analysing)
    return WHERE_SOMETIMES;
  bool small = range.low > INT32_MIN / 2 && range.high < INT32_MAX / 2 && low > INT32_MIN / 2 &&
               high < INT32_MAX / 2;
  LLVMTypeRef type = small ? e->i32 : e->i64;
  hsc_affine moved = *index;
  moved.constant -= low;
  hsc_emit_value at = hsc__emit_index(e, &moved, type);
  hsc__emit_at(e, at.level);
  at.v =
      hsc_ll.BuildICmp(B, LLVMIntULT, at.v, hsc__emit_int_like(e, type, high - low, at.vector), "");
  *out_condition = at;
  return WHERE_SOMETIMES;
}

static hsc_emit_value both(hsc_emitter *e, hsc_emit_value a, hsc_emit_value b) {
  if (!a.v)
    return b;
  if (a.vector != b.vector) {
    a = hsc__emit_widen(e, a);
    b = hsc__emit_widen(e, b);
  }
  if (b.level > a.level)
    a.level = b.level;
  hsc__emit_at(e, a.level);
  a.v = hsc_ll.BuildAnd(B, a.v, b.v, "");
  return a;
}

// Where the condition is the same for all lanes, the index is replaced by one that is in range when
// the condition does not hold.
static hsc_status *guard(hsc_emitter *e,
                         hsc_emit_value condition,
                         int64_t size,
                         hsc_affine *index) {
  hsc_emit_value value = {0};
  if (!e->analysing) {
    if (condition.vector)
      return NULL;
    hsc_emit_value plain = hsc__emit_index(e, index, e->i64);
    if (plain.vector)
      return NULL;  // this dimension runs over lanes but its own bounds hold
    value = plain;
    if (condition.level > value.level)
      value.level = condition.level;
    hsc__emit_at(e, value.level);
    value.v = hsc_ll.BuildSelect(B, condition.v, plain.v, hsc__emit_int(e, e->i64, 0), "");
  } else {
    hsc__emit_note(e, -1, index, false, 8);
  }
  int32_t symbol = hsc__emit_add_symbol(e, HSC_SYMBOL_SCALAR, size, value);
  if (symbol < 0)
    return HSC_ERR(UNIMPLEMENTED, "kernel: not built yet: more than %d index terms",
                   HSC_EMIT_MAX_SYMBOLS);
  *index = hsc_affine_symbol(symbol);
  return NULL;
}

// A dimension of a piece of the result: where index - offset is in [0, size), it is the piece's
// index.
typedef struct piece {
  hsc_affine *index;         // [rank] relative to the piece
  hsc_emit_value condition;  // v NULL = always
  bool never;
  bool bounded[HSC_MAX_RANK];  // that dimension took part in the condition
} piece;

// Arrays of indices live in the arena: visits nest as deep as a fusion does, and thirty-two of them
// are 9 KiB.
static hsc_status *new_index(hsc_emitter *e, int rank, hsc_affine **out_index) {
  *out_index = HSC_NEW_ARRAY(e->arena, hsc_affine, rank + 1);
  return hsc_arena_status(e->arena);
}

static void bound(hsc_emitter *e, piece *p, int dim, int64_t low, int64_t high) {
  hsc_emit_value condition = {0};
  where answer = inside(e, &p->index[dim], low, high, &condition);
  if (answer == WHERE_NEVER)
    p->never = true;
  if (answer != WHERE_SOMETIMES)
    return;
  p->bounded[dim] = true;
  if (!e->analysing)
    p->condition = both(e, p->condition, condition);
}

static bool is_conditional(const piece *p) {
  for (int i = 0; i < HSC_MAX_RANK; i++)
    if (p->bounded[i])
      return true;
  return false;
}

// The value of the piece's source under the piece's condition, beside the value to use where it
// does not hold.
static hsc_status *visit_piece(hsc_emitter *e,
                               const hsc_instr *source,
                               piece *p,
                               hsc_lv mask,
                               hsc_emit_value otherwise,
                               hsc_emit_value *out_value) {
  if (p->never) {
    *out_value = otherwise;
    return NULL;
  }
  if (!is_conditional(p))
    return hsc__emit_visit(e, source, p->index, mask, out_value);
  bool by_lane = p->condition.vector;
  if (e->analysing) {
    // Whether lanes differ is not known yet; the access counts as conditional and as an index.
    for (int i = 0; i < source->shape.rank; i++) {
      if (!p->bounded[i])
        continue;
      hsc__emit_note(e, -1, &p->index[i], false, 8);
    }
    bool outer = e->conditional;
    e->conditional = true;
    hsc_status *status = hsc__emit_visit(e, source, p->index, mask, out_value);
    e->conditional = outer;
    return status;
  }
  if (!by_lane) {
    for (int i = 0; i < source->shape.rank; i++)
      if (p->bounded[i])
        HSC_TRY(guard(e, p->condition, source->shape.dims[i], &p->index[i]));
  } else {
    mask =
        mask ? both(e, (hsc_emit_value){.v = mask, .level = e->level, .vector = true}, p->condition)
                   .v
             : p->condition.v;
  }
  hsc_emit_value value;
  HSC_TRY(hsc__emit_visit(e, source, p->index, by_lane ? mask : mask, &value));
  *out_value = hsc__emit_select(e, p->condition, value, otherwise);
  return NULL;
}

// ---- operations that move data ------------------------------------------------------------------

static hsc_status *visit_reshape(hsc_emitter *e,
                                 const hsc_instr *instr,
                                 const hsc_affine *index,
                                 hsc_lv mask,
                                 hsc_emit_value *out_value) {
  const hsc_shape *from = &instr->operands[0]->shape;
  const hsc_shape *to = &instr->shape;
  hsc_affine *inner;
  HSC_TRY(new_index(e, from->rank, &inner));
  if (hsc_shape_elements(from) == 0) {  // never read
    for (int d = 0; d < from->rank; d++)
      inner[d] = hsc_affine_constant(0);
    return hsc__emit_visit(e, instr->operands[0], inner, mask, out_value);
  }
  // Runs of dimensions with the same number of elements are reshaped apart from each other.
  int i = from->rank - 1;
  int j = to->rank - 1;
  while (i >= 0 || j >= 0) {
    int i_first = i;
    int j_first = j;
    int64_t i_size = i >= 0 ? from->dims[i_first--] : 1;
    int64_t j_size = j >= 0 ? to->dims[j_first--] : 1;
    while (i_size != j_size) {
      if (i_size < j_size && i_first >= 0)
        i_size *= from->dims[i_first--];
      else if (j_size < i_size && j_first >= 0)
        j_size *= to->dims[j_first--];
      else
        break;
    }
    hsc_affine linear = hsc_affine_constant(0);
    int64_t stride = 1;
    for (int d = j; d > j_first; d--) {
      if (to->dims[d] != 1 && !hsc_affine_add(&linear, &index[d], stride, &linear))
        return HSC_ERR(UNIMPLEMENTED, "kernel: not built yet: an index of more than %d terms",
                       HSC_AFFINE_MAX_TERMS);
      stride *= to->dims[d];
    }
    int64_t left = i_size;
    for (int d = i; d > i_first; d--) {
      if (from->dims[d] == 1) {
        inner[d] = hsc_affine_constant(0);
      } else if (left == from->dims[d]) {
        inner[d] = linear;
      } else {
        hsc_affine quotient;
        HSC_TRY(hsc__emit_divide(e, &linear, from->dims[d], &quotient, &inner[d]));
        linear = quotient;
      }
      left /= from->dims[d];
    }
    i = i_first;
    j = j_first;
  }
  return hsc__emit_visit(e, instr->operands[0], inner, mask, out_value);
}

static hsc_status *visit_slice(hsc_emitter *e,
                               const hsc_instr *instr,
                               const hsc_affine *index,
                               hsc_lv mask,
                               hsc_emit_value *out_value) {
  hsc_affine *inner;
  HSC_TRY(new_index(e, instr->shape.rank, &inner));
  for (int i = 0; i < instr->shape.rank; i++) {
    inner[i] = hsc_affine_scale(&index[i],
                                instr->attr.slice.stride.count ? instr->attr.slice.stride.v[i] : 1);
    inner[i].constant += instr->attr.slice.start.v[i];
  }
  return hsc__emit_visit(e, instr->operands[0], inner, mask, out_value);
}

static hsc_status *visit_reverse(hsc_emitter *e,
                                 const hsc_instr *instr,
                                 const hsc_affine *index,
                                 hsc_lv mask,
                                 hsc_emit_value *out_value) {
  hsc_affine *inner;
  HSC_TRY(new_index(e, instr->shape.rank, &inner));
  memcpy(inner, index, sizeof *index * (size_t)instr->shape.rank);
  for (int i = 0; i < instr->attr.dims.dims.count; i++) {
    int64_t dim = instr->attr.dims.dims.v[i];
    inner[dim] = hsc_affine_scale(&index[dim], -1);
    inner[dim].constant += instr->shape.dims[dim] - 1;
  }
  return hsc__emit_visit(e, instr->operands[0], inner, mask, out_value);
}

static hsc_status *visit_pad(hsc_emitter *e,
                             const hsc_instr *instr,
                             const hsc_affine *index,
                             hsc_lv mask,
                             hsc_emit_value *out_value) {
  const hsc_shape *from = &instr->operands[0]->shape;
  piece p = {0};
  hsc_emit_value padding;
  HSC_TRY(new_index(e, instr->shape.rank, &p.index));
  HSC_TRY(hsc__emit_visit(e, instr->operands[1], NULL, mask, &padding));
  for (int i = 0; i < instr->shape.rank; i++) {
    const hsc_pad_dim *pad = &instr->attr.pad.dims[i];
    p.index[i] = index[i];
    p.index[i].constant -= pad->low;
    if (pad->interior == 0) {
      bound(e, &p, i, 0, from->dims[i]);
      continue;
    }
    // Positions that are a multiple of interior + 1; moved up by a multiple first, so that nothing
    // negative is divided.
    int64_t step = pad->interior + 1;
    int64_t up = pad->low > 0 ? (pad->low + step - 1) / step : 0;
    hsc_affine moved = p.index[i];
    hsc_affine remainder;
    moved.constant += up * step;
    HSC_TRY(hsc__emit_divide(e, &moved, step, &p.index[i], &remainder));
    p.index[i].constant -= up;
    bound(e, &p, i, 0, from->dims[i]);
    hsc_emit_value condition = {0};
    where answer = inside(e, &remainder, 0, 1, &condition);
    if (answer == WHERE_NEVER)
      p.never = true;
    if (answer == WHERE_SOMETIMES) {
      p.bounded[i] = true;
      if (!e->analysing)
        p.condition = both(e, p.condition, condition);
    }
  }
  return visit_piece(e, instr->operands[0], &p, mask, padding, out_value);
}

static hsc_status *visit_concatenate(hsc_emitter *e,
                                     const hsc_instr *instr,
                                     const hsc_affine *index,
                                     hsc_lv mask,
                                     hsc_emit_value *out_value) {
  int64_t dim = instr->attr.dims.dims.v[0];
  int64_t offset = instr->shape.dims[dim];
  hsc_emit_value value = {0};
  bool have = false;
  // From the last to the first; the one after all others needs no condition.
  for (int o = instr->operand_count - 1; o >= 0; o--) {
    int64_t size = instr->operands[o]->shape.dims[dim];
    offset -= size;
    if (size == 0)
      continue;
    piece p = {0};
    HSC_TRY(new_index(e, instr->shape.rank, &p.index));
    memcpy(p.index, index, sizeof *index * (size_t)instr->shape.rank);
    p.index[dim].constant -= offset;
    bound(e, &p, (int)dim, 0, size);
    if (p.never)
      continue;
    if (!have) {
      // Nothing to fall back on: lanes outside get whatever the guard reads.
      hsc_emit_value nothing = {0};
      if (is_conditional(&p) && !e->analysing) {
        LLVMTypeRef lane = hsc__emit_type(e, instr->shape.type);
        nothing = (hsc_emit_value){
            .v = hsc_ll.ConstNull(lane),
            .im = hsc_type_is_complex(instr->shape.type) ? hsc_ll.ConstNull(lane) : NULL};
      }
      HSC_TRY(visit_piece(e, instr->operands[o], &p, mask, nothing, &value));
      have = true;
      continue;
    }
    HSC_TRY(visit_piece(e, instr->operands[o], &p, mask, value, &value));
  }
  *out_value = value;
  return NULL;
}

// Clamps in the operand's own type where the limit fits in it: twice the lanes of 64 bits.
static void clamp_start(hsc_emitter *e, hsc_type type, int64_t limit, hsc_emit_value *value) {
  bool is_signed = hsc_type_class_of(type) == HSC_CLASS_SIGNED;
  int bits = 8 * (int)hsc_type_bytes(type);
  bool narrow = bits < 64 && limit < (int64_t)1 << (bits - 1);
  LLVMTypeRef wide = hsc__emit_lanes_of(e, e->i64, value->vector);
  LLVMTypeRef at = narrow ? hsc__emit_type(e, type) : e->i64;
  hsc__emit_at(e, value->level);
  if (!narrow && bits < 64)
    value->v = is_signed ? hsc_ll.BuildSExt(B, value->v, wide, "")
                         : hsc_ll.BuildZExt(B, value->v, wide, "");
  hsc_lv zero = hsc__emit_int_like(e, at, 0, value->vector);
  hsc_lv high = hsc__emit_int_like(e, at, limit, value->vector);
  if (is_signed)
    value->v = hsc_ll.BuildSelect(B, hsc_ll.BuildICmp(B, LLVMIntSLT, value->v, zero, ""), zero,
                                  value->v, "");
  value->v = hsc_ll.BuildSelect(B, hsc_ll.BuildICmp(B, LLVMIntUGT, value->v, high, ""), high,
                                value->v, "");
  if (narrow)
    value->v = hsc_ll.BuildZExt(B, value->v, wide, "");
}

// An index operand clamped to [0, limit], as a symbol.
static hsc_status *clamped_start(hsc_emitter *e,
                                 const hsc_instr *operand,
                                 const hsc_affine *index,
                                 hsc_lv mask,
                                 int64_t limit,
                                 hsc_affine *out_start) {
  if (limit <= 0) {
    *out_start = hsc_affine_constant(0);
    return NULL;
  }
  hsc_emit_value value;
  HSC_TRY(hsc__emit_visit(e, operand, index, mask, &value));
  hsc_emit_symbol_kind kind = HSC_SYMBOL_SCALAR;
  if (!e->analysing) {
    clamp_start(e, operand->shape.type, limit, &value);
    if (value.vector)
      kind = HSC_SYMBOL_LANES;
  }
  int32_t symbol = hsc__emit_add_symbol(e, kind, limit + 1, value);
  if (symbol < 0)
    return HSC_ERR(UNIMPLEMENTED, "kernel: not built yet: more than %d index terms",
                   HSC_EMIT_MAX_SYMBOLS);
  *out_start = hsc_affine_symbol(symbol);
  return NULL;
}

static hsc_status *add_index(hsc_affine *to, const hsc_affine *by, int64_t factor) {
  if (hsc_affine_add(to, by, factor, to))
    return NULL;
  return HSC_ERR(UNIMPLEMENTED, "kernel: not built yet: an index of more than %d terms",
                 HSC_AFFINE_MAX_TERMS);
}

static hsc_status *visit_dynamic_slice(hsc_emitter *e,
                                       const hsc_instr *instr,
                                       const hsc_affine *index,
                                       hsc_lv mask,
                                       hsc_emit_value *out_value) {
  const hsc_shape *from = &instr->operands[0]->shape;
  hsc_affine *inner;
  HSC_TRY(new_index(e, instr->shape.rank, &inner));
  for (int i = 0; i < instr->shape.rank; i++) {
    hsc_affine start;
    HSC_TRY(clamped_start(e, instr->operands[1 + i], NULL, mask,
                          from->dims[i] - instr->shape.dims[i], &start));
    inner[i] = index[i];
    HSC_TRY(add_index(&inner[i], &start, 1));
  }
  return hsc__emit_visit(e, instr->operands[0], inner, mask, out_value);
}

static hsc_status *visit_dynamic_update_slice(hsc_emitter *e,
                                              const hsc_instr *instr,
                                              const hsc_affine *index,
                                              hsc_lv mask,
                                              hsc_emit_value *out_value) {
  const hsc_shape *update = &instr->operands[1]->shape;
  piece p = {0};
  HSC_TRY(new_index(e, instr->shape.rank, &p.index));
  for (int i = 0; i < instr->shape.rank; i++) {
    hsc_affine start;
    HSC_TRY(clamped_start(e, instr->operands[2 + i], NULL, mask,
                          instr->shape.dims[i] - update->dims[i], &start));
    p.index[i] = index[i];
    HSC_TRY(add_index(&p.index[i], &start, -1));
    if (update->dims[i] != instr->shape.dims[i])
      bound(e, &p, i, 0, update->dims[i]);
  }
  hsc_emit_value old;
  HSC_TRY(hsc__emit_visit(e, instr->operands[0], index, mask, &old));
  return visit_piece(e, instr->operands[1], &p, mask, old, out_value);
}

static hsc_status *visit_gather(hsc_emitter *e,
                                const hsc_instr *instr,
                                const hsc_affine *index,
                                hsc_lv mask,
                                hsc_emit_value *out_value) {
  const hsc_gather_dims *g = &instr->attr.gather;
  const hsc_shape *from = &instr->operands[0]->shape;
  const hsc_shape *indices = &instr->operands[1]->shape;
  // The result's dimensions that are not offsets index the start indices (without the dimension
  // that holds the vector).
  hsc_affine *batch, *offsets, *inner;
  HSC_TRY(new_index(e, instr->shape.rank, &batch));
  HSC_TRY(new_index(e, instr->shape.rank, &offsets));
  HSC_TRY(new_index(e, from->rank, &inner));
  int batch_count = 0;
  int offset_count = 0;
  for (int i = 0; i < instr->shape.rank; i++) {
    if (hsc_dims_contain(g->offset_dims, i))
      offsets[offset_count++] = index[i];
    else
      batch[batch_count++] = index[i];
  }
  int next_offset = 0;
  for (int d = 0; d < from->rank; d++) {
    if (hsc_dims_contain(g->collapsed_slice_dims, d) ||
        hsc_dims_contain(g->operand_batching_dims, d))
      inner[d] = hsc_affine_constant(0);
    else
      inner[d] = offsets[next_offset++];
    int at = hsc_dims_find(g->operand_batching_dims, d);
    if (at >= 0) {
      // That dimension walks along with the same dimension of the start indices.
      int64_t dim = g->start_indices_batching_dims.v[at];
      inner[d] = batch[dim > g->index_vector_dim ? dim - 1 : dim];
    }
    at = hsc_dims_find(g->start_index_map, d);
    if (at < 0)
      continue;
    hsc_affine *where_start;
    HSC_TRY(new_index(e, indices->rank, &where_start));
    int b = 0;
    for (int i = 0; i < indices->rank; i++)
      where_start[i] = i == g->index_vector_dim ? hsc_affine_constant(at) : batch[b++];
    hsc_affine start;
    HSC_TRY(clamped_start(e, instr->operands[1], where_start, mask,
                          from->dims[d] - g->slice_sizes.v[d], &start));
    HSC_TRY(add_index(&inner[d], &start, 1));
  }
  return hsc__emit_visit(e, instr->operands[0], inner, mask, out_value);
}

static hsc_emit_value iota(hsc_emitter *e, const hsc_instr *instr, const hsc_affine *index) {
  hsc_type type = instr->shape.type;
  const hsc_affine *count = &index[instr->attr.dims.dims.v[0]];
  hsc__emit_note(e, -1, count, false, (int)hsc_type_bytes(type));
  if (e->analysing)
    return (hsc_emit_value){0};
  // As a 64- or 32-bit integer, then converted as HLO's convert does.
  bool small = instr->shape.dims[instr->attr.dims.dims.v[0]] <= INT32_MAX;
  hsc_type counted = small ? HSC_TYPE_S32 : HSC_TYPE_S64;
  hsc_emit_value value = hsc__emit_index(e, count, small ? e->i32 : e->i64);
  hsc_instr operand = {.op = HSC_OP_IOTA, .shape = hsc_shape_scalar(counted)};
  hsc_instr *operands[1] = {&operand};
  hsc_instr conversion = {.op = HSC_OP_CONVERT,
                          .shape = hsc_shape_scalar(type),
                          .operands = operands,
                          .operand_count = 1};
  return counted == type ? value : hsc__emit_elementwise(e, &conversion, &value);
}

// ---- called computations ------------------------------------------------------------------------

typedef struct binding {
  const hsc_instr *instr;
  hsc_emit_value value;
} binding;

static hsc_emit_value bound_value(const binding *bindings, int count, const hsc_instr *instr) {
  for (int i = count - 1; i >= 0; i--)
    if (bindings[i].instr == instr)
      return bindings[i].value;
  return (hsc_emit_value){0};
}

hsc_status *hsc__emit_called(hsc_emitter *e,
                             const hsc_computation *computation,
                             const hsc_emit_value *arguments,
                             hsc_emit_value *results) {
  binding *bindings = HSC_NEW_ARRAY(e->arena, binding, computation->instr_count + 1);
  HSC_TRY(hsc_arena_status(e->arena));
  int count = 0;
  HSC_FOR_EACH_INSTR_IN (computation, instr) {
    hsc_emit_value value = {0};
    hsc_emit_value operands[3];
    if (instr->op == HSC_OP_TUPLE)
      break;
    for (int i = 0; i < instr->operand_count && i < 3; i++)
      operands[i] = bound_value(bindings, count, instr->operands[i]);
    if (instr->op == HSC_OP_PARAMETER)
      value = arguments[instr->attr.index.value];
    else if (instr->op == HSC_OP_CONSTANT)
      value = hsc__emit_literal(e, instr->attr.literal.value, 0);
    else if (instr->op == HSC_OP_RESHAPE || instr->op == HSC_OP_BROADCAST)
      value = operands[0];
    else
      value = hsc__emit_elementwise(e, instr, operands);
    bindings[count++] = (binding){instr, value};
  }
  const hsc_instr *root = computation->root;
  if (root->op != HSC_OP_TUPLE) {
    results[0] = bound_value(bindings, count, root);
    return NULL;
  }
  for (int i = 0; i < root->operand_count; i++)
    results[i] = bound_value(bindings, count, root->operands[i]);
  return NULL;
}

// ---- the visit ----------------------------------------------------------------------------------

static hsc_status *visit_elementwise(hsc_emitter *e,
                                     const hsc_instr *instr,
                                     const hsc_affine *index,
                                     hsc_lv mask,
                                     hsc_emit_value *out_value) {
  hsc_emit_value few[3];
  hsc_emit_value *operands = few;
  if (instr->operand_count > 3) {
    operands = HSC_NEW_ARRAY(e->arena, hsc_emit_value, instr->operand_count);
    HSC_TRY(hsc_arena_status(e->arena));
  }
  // clamp and select take scalars for some of their operands.
  for (int i = 0; i < instr->operand_count; i++)
    HSC_TRY(hsc__emit_visit(e, instr->operands[i],
                            hsc_shape_is_scalar(&instr->operands[i]->shape) ? NULL : index, mask,
                            &operands[i]));
  if (e->analysing) {
    if (hsc__emit_is_heavy(instr->op))
      e->heavy_ops++;
    else
      e->simple_ops++;
    hsc__emit_note_width(e, instr->shape.type);
    return NULL;
  }
  if (instr->op == HSC_OP_MAP)
    return hsc__emit_called(e, instr->called[0], operands, out_value);
  *out_value = hsc__emit_elementwise(e, instr, operands);
  return NULL;
}

// One position of a window: what the fold of the positions before it becomes.
static hsc_status *fold_position(
    hsc_emitter *e, const hsc_instr *instr, piece *p, hsc_lv mask, hsc_emit_value *folded) {
  hsc_emit_value arguments[2] = {*folded};
  hsc_emit_value result = {0};
  HSC_TRY(visit_piece(e, instr->operands[0], p, mask, *folded, &arguments[1]));
  if (e->analysing) {
    e->simple_ops += instr->called[0]->instr_count;
    return NULL;
  }
  HSC_TRY(hsc__emit_called(e, instr->called[0], arguments, &result));
  *folded = is_conditional(p) ? hsc__emit_select(e, p->condition, result, *folded) : result;
  return NULL;
}

// Positions in ascending order, as the evaluator folds them; those outside take no part.
static hsc_status *visit_reduce_window(hsc_emitter *e,
                                       const hsc_instr *instr,
                                       const hsc_affine *index,
                                       hsc_lv mask,
                                       hsc_emit_value *out_value) {
  const hsc_window_dim *dims = instr->attr.window.window.dims;
  const hsc_shape *from = &instr->operands[0]->shape;
  int64_t k[HSC_MAX_RANK] = {0};
  HSC_TRY(hsc__emit_visit(e, instr->operands[1], NULL, mask, out_value));
  for (bool more = true; more;) {
    piece p = {0};
    HSC_TRY(new_index(e, from->rank, &p.index));
    for (int i = 0; i < from->rank; i++) {
      p.index[i] = hsc_affine_scale(&index[i], dims[i].stride);
      p.index[i].constant += k[i] * dims[i].window_dilation - dims[i].pad_low;
      bound(e, &p, i, 0, from->dims[i]);
    }
    if (!p.never)
      HSC_TRY(fold_position(e, instr, &p, mask, out_value));
    more = false;
    for (int i = from->rank - 1; i >= 0 && !more; i--) {
      more = ++k[i] < dims[i].size;
      if (!more)
        k[i] = 0;
    }
  }
  return NULL;
}

static hsc_status *visit_permuted(hsc_emitter *e,
                                  const hsc_instr *instr,
                                  const hsc_affine *index,
                                  hsc_lv mask,
                                  hsc_emit_value *out_value) {
  hsc_affine *inner;
  HSC_TRY(new_index(e, instr->operands[0]->shape.rank, &inner));
  if (instr->op == HSC_OP_BROADCAST)
    for (int i = 0; i < instr->operands[0]->shape.rank; i++)
      inner[i] = index[instr->attr.dims.dims.v[i]];
  else
    for (int i = 0; i < instr->shape.rank; i++)
      inner[instr->attr.dims.dims.v[i]] = index[i];
  return hsc__emit_visit(e, instr->operands[0], inner, mask, out_value);
}

static hsc_status *visit_op(hsc_emitter *e,
                            const hsc_instr *instr,
                            const hsc_affine *index,
                            hsc_lv mask,
                            hsc_emit_value *out_value) {
  switch (instr->op) {
    case HSC_OP_CONSTANT:
      if (!e->analysing)
        *out_value = hsc__emit_literal(e, instr->attr.literal.value, 0);
      return NULL;
    case HSC_OP_IOTA:
      *out_value = iota(e, instr, index);
      return NULL;
    case HSC_OP_BROADCAST:
    case HSC_OP_TRANSPOSE:
      return visit_permuted(e, instr, index, mask, out_value);
    case HSC_OP_RESHAPE:
    case HSC_OP_BITCAST:
      return visit_reshape(e, instr, index, mask, out_value);
    case HSC_OP_SLICE:
      return visit_slice(e, instr, index, mask, out_value);
    case HSC_OP_REVERSE:
      return visit_reverse(e, instr, index, mask, out_value);
    case HSC_OP_PAD:
      return visit_pad(e, instr, index, mask, out_value);
    case HSC_OP_CONCATENATE:
      return visit_concatenate(e, instr, index, mask, out_value);
    case HSC_OP_DYNAMIC_SLICE:
      return visit_dynamic_slice(e, instr, index, mask, out_value);
    case HSC_OP_DYNAMIC_UPDATE_SLICE:
      return visit_dynamic_update_slice(e, instr, index, mask, out_value);
    case HSC_OP_GATHER:
      return visit_gather(e, instr, index, mask, out_value);
    case HSC_OP_DOT:
      return hsc__emit_dot(e, instr, index, mask, out_value);
    case HSC_OP_REDUCE_WINDOW:
      return visit_reduce_window(e, instr, index, mask, out_value);
    case HSC_OP_OPT_BARRIER:
      return hsc__emit_visit(e, instr->operands[0], index, mask, out_value);
    default:
      return visit_elementwise(e, instr, index, mask, out_value);
  }
}

hsc_status *hsc__emit_visit(hsc_emitter *e,
                            const hsc_instr *instr,
                            const hsc_affine *index,
                            hsc_lv mask,
                            hsc_emit_value *out_value) {
  uint32_t bucket = bucket_of(instr, index, instr->shape.rank);
  *out_value = (hsc_emit_value){0};
  if (recall(e, bucket, instr, index, mask, out_value))
    return NULL;
  int buffer;
  if (is_input(e, instr, &buffer)) {
    hsc_affine linear;
    HSC_TRY(hsc__emit_linear(&instr->shape, index, &linear));
    hsc__emit_note(e, buffer, &linear, e->conditional, (int)hsc_type_bytes(instr->shape.type));
    hsc__emit_note_width(e, instr->shape.type);
    if (!e->analysing)
      *out_value = hsc__emit_load(e, e->buffers[buffer], instr->shape.type,
                                  hsc_shape_elements(&instr->shape), &linear, mask);
  } else {
    HSC_TRY(visit_op(e, instr, index, mask, out_value));
  }
  return remember(e, bucket, instr, index, mask, *out_value);
}
