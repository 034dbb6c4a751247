// emit_small_memory.c - values of small loops in memory (see emit_small.h): arrays that a loop
// reads and writes slices of, such as what a scan runs along and what it makes.
//
// Loads and stores are at the level of the code that asks for them, in its order. A value in
// memory may only be used while it is the newest version of its slot, so that order is right.
#include "cpu/emit/emit_small.h"

#define B (e->builder)

// The slot of a value, which must be as it was last written.
static hsc_status *slot_of(hsc_small *s,
                           const hsc_instr *instr,
                           const hsc_small_value *value,
                           hsc_small_slot **out_slot) {
  *out_slot = &s->slots[value->slot];
  if ((*out_slot)->version != value->version)
    return hsc__small_refuse(instr, "an array after it was written over");
  return NULL;
}

// ---- whole arrays -------------------------------------------------------------------------------

static LLVMTypeRef memory_lanes(hsc_emitter *e, hsc_type type, int64_t elements) {
  LLVMTypeRef lane = hsc__emit_memory_type(e, type);
  return elements == 1 ? lane : hsc_ll.VectorType(lane, (unsigned)elements);
}

hsc_lv hsc__small_room(hsc_small *s, hsc_type type, int64_t elements) {
  hsc_emitter *e = s->e;
  hsc_ll.PositionBuilderAtEnd(B, s->rooms);
  LLVMTypeRef lane = hsc__emit_memory_type(e, type);
  return hsc_ll.BuildAlloca(B, hsc_ll.ArrayType2(lane, (uint64_t)elements), "");
}

hsc_emit_value hsc__small_load(
    hsc_small *s, hsc_type type, hsc_lv address, int64_t elements, int level) {
  hsc_emitter *e = s->e;
  hsc__small_lanes(s, elements);
  hsc__emit_at(e, level);
  hsc_lv raw = hsc_ll.BuildLoad2(B, memory_lanes(e, type, elements), address, "");
  hsc_ll.SetAlignment(raw, (unsigned)hsc_type_bytes(type));
  return hsc__emit_from_memory(e, type, raw, NULL, level, elements > 1);
}

// As memory holds it.
static hsc_lv raw_of(hsc_small *s, hsc_type type, hsc_emit_value value, int64_t elements) {
  hsc_emitter *e = s->e;
  hsc_lv raw, none;
  if (elements > 1)
    value = hsc__small_spread(s, value, elements);
  else
    hsc__small_lanes(s, 1);
  hsc__emit_at(e, e->level);
  hsc__emit_to_memory(e, type, value, &raw, &none);
  return raw;
}

void hsc__small_store(
    hsc_small *s, hsc_type type, hsc_lv address, hsc_emit_value value, int64_t elements) {
  hsc_emitter *e = s->e;
  hsc_lv raw = raw_of(s, type, value, elements);
  hsc__emit_at(e, e->level);
  hsc_ll.SetAlignment(hsc_ll.BuildStore(B, raw, address), (unsigned)hsc_type_bytes(type));
}

static hsc_lv moved(hsc_emitter *e, LLVMTypeRef element, hsc_lv address, hsc_lv by) {
  return hsc_ll.BuildGEP2(B, element, address, &by, 1, "");
}

void hsc__small_copy(hsc_small *s, hsc_lv from, hsc_lv to, int64_t bytes) {
  hsc_emitter *e = s->e;
  enum { BLOCK = 64 };
  LLVMTypeRef block = hsc_ll.VectorType(e->i8, BLOCK);
  hsc__emit_at(e, 0);
  hsc_lv differs = hsc_ll.BuildICmp(B, LLVMIntNE, from, to, "");
  hsc_emit_open_if open = hsc__emit_open_if(e, 0, differs);
  hsc_lv zero = hsc__emit_int(e, e->i64, 0);
  int64_t whole = bytes / BLOCK * BLOCK;
  if (whole) {
    hsc_emit_open_loop loop =
        hsc__emit_open(e, 1, -1, zero, hsc__emit_int(e, e->i64, whole), BLOCK);
    hsc__emit_at(e, 2);
    hsc_lv loaded = hsc_ll.BuildLoad2(B, block, moved(e, e->i8, from, loop.counter), "");
    hsc_ll.SetAlignment(loaded, 1);
    hsc_ll.SetAlignment(hsc_ll.BuildStore(B, loaded, moved(e, e->i8, to, loop.counter)), 1);
    hsc__emit_close(e, &loop, NULL, NULL, 0);
  }
  hsc__emit_at(e, 1);
  for (int64_t at = whole, size = BLOCK / 2; at < bytes; size /= 2) {
    if (size > bytes - at)
      continue;
    hsc_lv by = hsc__emit_int(e, e->i64, at);
    LLVMTypeRef part = hsc_ll.VectorType(e->i8, (unsigned)size);
    hsc_lv loaded = hsc_ll.BuildLoad2(B, part, moved(e, e->i8, from, by), "");
    hsc_ll.SetAlignment(loaded, 1);
    hsc_ll.SetAlignment(hsc_ll.BuildStore(B, loaded, moved(e, e->i8, to, by)), 1);
    at += size;
  }
  hsc__emit_close_if(e, &open);
}

// ---- windows ------------------------------------------------------------------------------------

// A box of an array: where it begins, and its pieces that lie in one run.
typedef struct window {
  const hsc_shape *array;
  int64_t size[HSC_MAX_RANK];
  int64_t elements, run, run_count;
  int64_t constant;  // of the first element
  hsc_lv start;      // i64 to add, NULL = none
  int level;
} window;

static hsc_status *window_of(const hsc_instr *instr,
                             const hsc_shape *array,
                             const int64_t *size,
                             window *out) {
  *out = (window){.array = array, .elements = 1, .run = 1};
  for (int d = 0; d < array->rank; d++) {
    out->size[d] = size[d];
    out->elements *= size[d];
  }
  for (int d = array->rank - 1; d >= 0; d--) {
    out->run *= size[d];
    if (size[d] != array->dims[d])
      break;
  }
  if (out->elements < 1 || out->elements > HSC_SMALL_MAX_ELEMENTS)
    return hsc__small_refuse(instr, "its size");
  out->run_count = out->elements / out->run;
  if (out->run_count > HSC_SMALL_MAX_RUNS)
    return hsc__small_refuse(instr, "its pieces");
  return NULL;
}

// Where run number `r` begins after the window's start, in elements.
static int64_t run_offset(const window *w, int64_t r) {
  int64_t linear = r * w->run;
  int64_t offset = 0;
  int64_t stride = 1;
  for (int d = w->array->rank - 1; d >= 0; d--) {
    offset += linear % w->size[d] * stride;
    linear /= w->size[d];
    stride *= w->array->dims[d];
  }
  return offset;
}

// The start indices, kept inside of the array.
static void start_at(
    hsc_small *s, const hsc_instr *instr, const hsc_small_value *starts, int first, window *w) {
  hsc_emitter *e = s->e;
  int64_t stride = 1;
  for (int d = w->array->rank - 1; d >= 0; stride *= w->array->dims[d], d--) {
    int64_t highest = w->array->dims[d] - w->size[d];
    if (highest == 0)
      continue;
    hsc_type type = instr->operands[first + d]->shape.type;
    hsc_emit_value at = starts[d].in;
    hsc__emit_at(e, at.level);
    bool is_signed = hsc_type_class_of(type) == HSC_CLASS_SIGNED;
    if (hsc_type_bytes(type) < 8)
      at.v =
          is_signed ? hsc_ll.BuildSExt(B, at.v, e->i64, "") : hsc_ll.BuildZExt(B, at.v, e->i64, "");
    hsc_lv top = hsc__emit_int(e, e->i64, highest);
    hsc_lv zero = hsc__emit_int(e, e->i64, 0);
    hsc_lv over = hsc_ll.BuildICmp(B, is_signed ? LLVMIntSGT : LLVMIntUGT, at.v, top, "");
    at.v = hsc_ll.BuildSelect(B, over, top, at.v, "");
    if (is_signed)
      at.v = hsc_ll.BuildSelect(B, hsc_ll.BuildICmp(B, LLVMIntSLT, at.v, zero, ""), zero, at.v, "");
    if (hsc_ll.IsConstant(at.v)) {
      w->constant += stride * hsc_ll.ConstIntGetSExtValue(at.v);
      continue;
    }
    hsc_lv scaled = hsc_ll.BuildMul(B, at.v, hsc__emit_int(e, e->i64, stride), "");
    if (at.level > w->level)
      w->level = at.level;
    hsc__emit_at(e, w->level);
    w->start = w->start ? hsc_ll.BuildAdd(B, w->start, scaled, "") : scaled;
  }
}

static hsc_lv run_address(hsc_small *s, const window *w, hsc_type type, hsc_lv array, int64_t r) {
  hsc_emitter *e = s->e;
  LLVMTypeRef element = hsc__emit_memory_type(e, type);
  hsc_lv at = moved(e, element, array, hsc__emit_int(e, e->i64, w->constant + run_offset(w, r)));
  return w->start ? moved(e, element, at, w->start) : at;
}

static hsc_status *load_window(hsc_small *s,
                               const window *w,
                               hsc_type type,
                               hsc_lv array,
                               int level,
                               hsc_emit_value *out_value) {
  hsc_emit_value parts[HSC_SMALL_MAX_RUNS];
  for (int64_t r = 0; r < w->run_count; r++) {
    hsc__emit_at(s->e, level);
    hsc_lv address = run_address(s, w, type, array, r);
    parts[r] = hsc__small_load(s, type, address, w->run, level);
  }
  *out_value = hsc__small_line_up(s, parts, (int)w->run_count, w->run);
  return hsc_arena_status(s->e->arena);
}

static void store_window(
    hsc_small *s, const window *w, hsc_type type, hsc_lv array, hsc_emit_value value) {
  int32_t map[HSC_SMALL_MAX_ELEMENTS];
  for (int64_t r = 0; r < w->run_count; r++) {
    for (int64_t i = 0; i < w->run; i++)
      map[i] = (int32_t)(r * w->run + i);
    hsc_emit_value part = hsc__small_pick(s, value, w->elements, map, w->run);
    hsc__emit_at(s->e, s->e->level);
    hsc__small_store(s, type, run_address(s, w, type, array, r), part, w->run);
  }
}

// Lanes of an array in registers that a window at a constant place covers.
static void window_lanes(const window *w, int32_t *map) {
  for (int64_t i = 0; i < w->elements; i++)
    map[i] = (int32_t)(w->constant + run_offset(w, i / w->run) + i % w->run);
}

// ---- slices and updates -------------------------------------------------------------------------

static double window_cost(const hsc_small *s, const window *w, hsc_type type) {
  return (double)w->run_count * (3 + hsc__small_vectors(s, type, w->run));
}

// An array in registers is put into memory first where the start is not known.
static hsc_lv spilled(hsc_small *s, hsc_type type, hsc_emit_value value, int64_t elements) {
  hsc_lv room = hsc__small_room(s, type, elements);
  hsc__small_store(s, type, room, value, elements);
  return room;
}

hsc_status *hsc__small_slice(hsc_small *s,
                             const hsc_instr *instr,
                             const hsc_small_value *operands,
                             hsc_small_value *out_value) {
  const hsc_shape *array = &instr->operands[0]->shape;
  hsc_type type = array->type;
  int64_t elements = hsc_shape_elements(array);
  hsc_small_slot *slot = NULL;
  window w;
  if (instr->op == HSC_OP_SLICE)
    for (int d = 0; d < array->rank; d++)
      if (instr->attr.slice.stride.count && instr->attr.slice.stride.v[d] != 1)
        return hsc__small_refuse(instr, "its stride");
  if (instr->op == HSC_OP_DYNAMIC_SLICE && instr->operand_count != 1 + array->rank)
    return hsc__small_refuse(instr, "its indices");
  if (operands[0].slot >= 0)
    HSC_TRY(slot_of(s, instr, &operands[0], &slot));
  HSC_TRY(window_of(instr, array, instr->shape.dims, &w));
  *out_value = (hsc_small_value){.slot = -1};
  if (s->dry) {
    s->cost += window_cost(s, &w, type);
    return NULL;
  }
  if (instr->op == HSC_OP_SLICE) {
    int64_t stride = 1;
    for (int d = array->rank - 1; d >= 0; stride *= array->dims[d], d--)
      w.constant += instr->attr.slice.start.v[d] * stride;
  } else {
    start_at(s, instr, operands + 1, 1, &w);
  }
  if (slot)
    return load_window(s, &w, type, slot->address, slot->written ? s->e->level : w.level,
                       &out_value->in);
  if (!w.start) {
    int32_t map[HSC_SMALL_MAX_ELEMENTS];
    window_lanes(&w, map);
    out_value->in = hsc__small_pick(s, operands[0].in, elements, map, w.elements);
    return NULL;
  }
  hsc_lv room = spilled(s, type, operands[0].in, elements);
  return load_window(s, &w, type, room, s->e->level, &out_value->in);
}

hsc_status *hsc__small_update(hsc_small *s,
                              const hsc_instr *instr,
                              const hsc_small_value *operands,
                              hsc_small_value *out_value) {
  const hsc_shape *array = &instr->operands[0]->shape;
  hsc_type type = array->type;
  int64_t elements = hsc_shape_elements(array);
  hsc_small_slot *slot = NULL;
  window w;
  if (instr->operand_count != 2 + array->rank || operands[1].slot >= 0)
    return hsc__small_refuse(instr, "its operands");
  if (operands[0].slot >= 0) {
    HSC_TRY(slot_of(s, instr, &operands[0], &slot));
    if (!slot->written)
      return hsc__small_refuse(instr, "an array that the loop keeps");
    slot->version++;
  }
  HSC_TRY(window_of(instr, array, instr->operands[1]->shape.dims, &w));
  *out_value = (hsc_small_value){.slot = operands[0].slot, .version = slot ? slot->version : 0};
  if (s->dry) {
    s->cost += window_cost(s, &w, type);
    return NULL;
  }
  start_at(s, instr, operands + 2, 2, &w);
  if (slot) {
    store_window(s, &w, type, slot->address, operands[1].in);
    return NULL;
  }
  if (!w.start) {
    int32_t map[HSC_SMALL_MAX_ELEMENTS], lanes[HSC_SMALL_MAX_ELEMENTS];
    window_lanes(&w, lanes);
    for (int64_t i = 0; i < elements; i++)
      map[i] = (int32_t)i;
    for (int64_t i = 0; i < w.elements; i++)
      map[lanes[i]] = (int32_t)(elements + i);
    out_value->in =
        hsc__small_join(s, operands[0].in, elements, operands[1].in, w.elements, map, elements);
    return NULL;
  }
  hsc_lv room = spilled(s, type, operands[0].in, elements);
  store_window(s, &w, type, room, operands[1].in);
  out_value->in = hsc__small_load(s, type, room, elements, s->e->level);
  return NULL;
}
