// emit_small_lanes.c - values of small loops in registers (see emit_small.h): an array is one
// vector of all its elements, so moving elements is one shuffle, which the code generator takes
// apart.
#include "cpu/emit/emit_small.h"

#define B (e->builder)

typedef int32_t lane_map[HSC_SMALL_MAX_ELEMENTS];

void hsc__small_lanes(hsc_small *s, int64_t elements) {
  s->e->lanes = (int)elements;
  s->e->splat_count = 0;  // spread over another number of lanes
}

double hsc__small_vectors(const hsc_small *s, hsc_type type, int64_t elements) {
  double bytes = (double)elements * (hsc_type_bytes(type) < 4 ? 4 : (double)hsc_type_bytes(type));
  double vectors = bytes / s->e->isa->vector_bytes;
  return vectors < 1 ? 1 : vectors;
}

// ---- lanes --------------------------------------------------------------------------------------

hsc_emit_value hsc__small_spread(hsc_small *s, hsc_emit_value value, int64_t elements) {
  hsc__small_lanes(s, elements);
  return hsc__emit_widen(s->e, value);
}

static hsc_lv shuffle(hsc_emitter *e, hsc_lv a, hsc_lv b, const int32_t *map, int64_t count) {
  hsc_lv numbers[HSC_SMALL_MAX_ELEMENTS];
  for (int64_t i = 0; i < count; i++)
    numbers[i] = map[i] < 0 ? hsc_ll.GetUndef(e->i32) : hsc__emit_int(e, e->i32, map[i]);
  return hsc_ll.BuildShuffleVector(B, a, b, hsc_ll.ConstVector(numbers, (unsigned)count), "");
}

static bool is_same(const int32_t *map, int64_t from, int64_t elements) {
  if (from != elements)
    return false;
  for (int64_t i = 0; i < elements; i++)
    if (map[i] != i)
      return false;
  return true;
}

hsc_emit_value hsc__small_pick(
    hsc_small *s, hsc_emit_value value, int64_t from, const int32_t *map, int64_t elements) {
  hsc_emitter *e = s->e;
  if (!value.vector || is_same(map, from, elements))
    return value;
  hsc_lv all = value.v;
  if (hsc__small_known_pick(s, all, map, elements, &value))
    return value;
  hsc__emit_at(e, value.level);
  if (elements == 1) {
    value.v = hsc_ll.BuildExtractElement(B, all, hsc__emit_int(e, e->i32, map[0]), "");
    value.vector = false;
  } else {
    value.v = shuffle(e, all, hsc_ll.GetPoison(hsc_ll.TypeOf(all)), map, elements);
  }
  hsc__small_learn_pick(s, all, map, elements, value);
  return value;
}

// A vector of `lanes` lanes whose first `count` lanes are the value's.
static hsc_lv stretched(hsc_small *s, hsc_emit_value value, int64_t count, int64_t lanes) {
  hsc_emitter *e = s->e;
  lane_map map = {0};
  if (!value.vector)
    return hsc__small_spread(s, value, lanes).v;
  if (count == lanes)
    return value.v;
  for (int64_t i = 0; i < lanes; i++)
    map[i] = i < count ? (int32_t)i : -1;
  hsc__emit_at(e, value.level);
  return shuffle(e, value.v, hsc_ll.GetPoison(hsc_ll.TypeOf(value.v)), map, lanes);
}

hsc_emit_value hsc__small_join(hsc_small *s,
                               hsc_emit_value a,
                               int64_t a_count,
                               hsc_emit_value b,
                               int64_t b_count,
                               const int32_t *map,
                               int64_t elements) {
  hsc_emitter *e = s->e;
  int64_t lanes = a_count > b_count ? a_count : b_count;
  lane_map both;
  if (elements == 1)
    return map[0] < a_count
               ? hsc__small_pick(s, a, a_count, map, 1)
               : hsc__small_pick(s, b, b_count, (int32_t[]){map[0] - (int32_t)a_count}, 1);
  if (lanes < 2)
    lanes = 2;
  for (int64_t i = 0; i < elements; i++)
    both[i] = map[i] < a_count ? map[i] : map[i] - (int32_t)a_count + (int32_t)lanes;
  hsc_lv left = stretched(s, a, a_count, lanes);
  hsc_lv right = stretched(s, b, b_count, lanes);
  hsc_emit_value result = {.level = a.level > b.level ? a.level : b.level, .vector = true};
  hsc__emit_at(e, result.level);
  result.v = shuffle(e, left, right, both, elements);
  return result;
}

hsc_emit_value hsc__small_line_up(hsc_small *s,
                                  const hsc_emit_value *parts,
                                  int count,
                                  int64_t each) {
  hsc_emitter *e = s->e;
  int64_t elements = count * each;
  lane_map map = {0};
  if (count == 1)
    return each == 1 ? parts[0] : hsc__small_spread(s, parts[0], each);
  hsc_emit_value all = {.vector = true};
  for (int p = 0; p < count; p++)
    if (parts[p].level > all.level)
      all.level = parts[p].level;
  if (each == 1) {
    hsc__emit_at(e, all.level);
    all.v = hsc_ll.GetPoison(hsc_ll.VectorType(hsc_ll.TypeOf(parts[0].v), (unsigned)elements));
    for (int p = 0; p < count; p++)
      all.v = hsc_ll.BuildInsertElement(B, all.v, parts[p].v, hsc__emit_int(e, e->i32, p), "");
    return all;
  }
  // Pairs, then pairs of pairs: each shuffle puts two neighbours together.
  hsc_emit_value *line = HSC_NEW_ARRAY(e->arena, hsc_emit_value, count);
  int64_t *sizes = HSC_NEW_ARRAY(e->arena, int64_t, count);
  if (!line || !sizes)
    return all;  // the arena's status tells
  for (int p = 0; p < count; p++) {
    line[p] = hsc__small_spread(s, parts[p], each);
    sizes[p] = each;
  }
  while (count > 1) {
    int kept = 0;
    for (int p = 0; p + 1 < count; p += 2, kept++) {
      int64_t size = sizes[p] + sizes[p + 1];
      for (int64_t i = 0; i < size; i++)
        map[i] = (int32_t)i;
      line[kept] = hsc__small_join(s, line[p], sizes[p], line[p + 1], sizes[p + 1], map, size);
      sizes[kept] = size;
    }
    if (count % 2) {
      line[kept] = line[count - 1];
      sizes[kept++] = sizes[count - 1];
    }
    count = kept;
  }
  return line[0];
}

// ---- indices ------------------------------------------------------------------------------------

static void coordinates(const hsc_shape *shape, int64_t linear, int64_t *out_at) {
  for (int d = shape->rank - 1; d >= 0; d--) {
    out_at[d] = linear % shape->dims[d];
    linear /= shape->dims[d];
  }
}

int64_t hsc__small_element(const hsc_shape *shape, const int64_t *at) {
  int64_t linear = 0;
  for (int d = 0; d < shape->rank; d++)
    linear = linear * shape->dims[d] + at[d];
  return linear;
}

// Where the element at `at` of a broadcast, transpose, slice, reverse or pad comes from; false: it
// is the pad's.
static bool source_of(const hsc_instr *instr, const int64_t *at, int64_t *out_from) {
  const hsc_shape *from = &instr->operands[0]->shape;
  for (int d = 0; d < from->rank; d++) {
    switch (instr->op) {
      case HSC_OP_BROADCAST:
        out_from[d] = at[instr->attr.dims.dims.v[d]];
        break;
      case HSC_OP_SLICE:
        out_from[d] = instr->attr.slice.start.v[d] +
                      at[d] * (instr->attr.slice.stride.count ? instr->attr.slice.stride.v[d] : 1);
        break;
      case HSC_OP_PAD: {
        const hsc_pad_dim *pad = &instr->attr.pad.dims[d];
        int64_t moved = at[d] - pad->low;
        if (moved < 0 || moved % (pad->interior + 1) ||
            moved / (pad->interior + 1) >= from->dims[d])
          return false;
        out_from[d] = moved / (pad->interior + 1);
        break;
      }
      default:
        out_from[d] = at[d];
        break;
    }
  }
  if (instr->op == HSC_OP_TRANSPOSE)
    for (int d = 0; d < from->rank; d++)
      out_from[instr->attr.dims.dims.v[d]] = at[d];
  if (instr->op == HSC_OP_REVERSE)
    for (int i = 0; i < instr->attr.dims.dims.count; i++) {
      int64_t d = instr->attr.dims.dims.v[i];
      out_from[d] = from->dims[d] - 1 - at[d];
    }
  return true;
}

// ---- moves --------------------------------------------------------------------------------------

bool hsc__small_is_move(hsc_op op) {
  switch (op) {
    case HSC_OP_BROADCAST:
    case HSC_OP_TRANSPOSE:
    case HSC_OP_SLICE:
    case HSC_OP_REVERSE:
    case HSC_OP_PAD:
    case HSC_OP_CONCATENATE:
    case HSC_OP_IOTA:
    case HSC_OP_CONSTANT:
      return true;
    default:
      return false;
  }
}

static hsc_emit_value iota(hsc_small *s, const hsc_instr *instr) {
  hsc_emitter *e = s->e;
  int64_t elements = hsc_shape_elements(&instr->shape);
  int64_t at[HSC_MAX_RANK];
  hsc_lv all[HSC_SMALL_MAX_ELEMENTS];
  LLVMTypeRef type = hsc__emit_type(e, instr->shape.type);
  for (int64_t i = 0; i < elements; i++) {
    coordinates(&instr->shape, i, at);
    int64_t count = at[instr->attr.dims.dims.v[0]];
    all[i] = hsc_type_is_float(instr->shape.type) ? hsc__emit_real(e, type, (double)count)
                                                  : hsc__emit_int(e, type, count);
  }
  if (elements == 1)
    return (hsc_emit_value){.v = all[0]};
  return (hsc_emit_value){.v = hsc_ll.ConstVector(all, (unsigned)elements), .vector = true};
}

static hsc_emit_value constant(hsc_small *s, const hsc_instr *instr) {
  const hsc_literal *literal = instr->attr.literal.value;
  int64_t elements = hsc_shape_elements(&instr->shape);
  hsc_lv all[HSC_SMALL_MAX_ELEMENTS];
  bool uniform = true;
  for (int64_t i = 0; i < elements; i++) {
    all[i] = hsc__emit_literal(s->e, literal, i).v;
    uniform = uniform && all[i] == all[0];
  }
  if (uniform)
    return (hsc_emit_value){.v = all[0]};
  return (hsc_emit_value){.v = hsc_ll.ConstVector(all, (unsigned)elements), .vector = true};
}

static hsc_emit_value concatenate(hsc_small *s,
                                  const hsc_instr *instr,
                                  const hsc_small_value *operands) {
  int64_t elements = hsc_shape_elements(&instr->shape);
  int64_t dim = instr->attr.dims.dims.v[0];
  int64_t at[HSC_MAX_RANK];
  bool scalars = true;
  for (int i = 0; i < instr->operand_count; i++)
    scalars = scalars && hsc_shape_elements(&instr->operands[i]->shape) == 1;
  if (scalars) {
    hsc_emit_value parts[HSC_SMALL_MAX_ELEMENTS];
    for (int i = 0; i < instr->operand_count; i++)
      parts[i] = operands[i].in;
    return hsc__small_line_up(s, parts, instr->operand_count, 1);
  }
  // One operand after the other is put in; lanes that are still to come are anything.
  hsc_emit_value all = {0};
  int64_t offset = 0;
  bool laid_out = false;
  for (int i = 0; i < instr->operand_count; i++) {
    const hsc_shape *part = &instr->operands[i]->shape;
    int64_t part_elements = hsc_shape_elements(part);
    lane_map map;
    for (int64_t r = 0; r < elements; r++) {
      coordinates(&instr->shape, r, at);
      bool mine = at[dim] >= offset && at[dim] < offset + part->dims[dim];
      bool before = at[dim] < offset;
      at[dim] -= offset;
      if (mine)
        map[r] = (int32_t)((laid_out ? elements : 0) + hsc__small_element(part, at));
      else
        map[r] = before && laid_out ? (int32_t)r : -1;
    }
    offset += part->dims[dim];
    if (part_elements == 0)
      continue;
    if (laid_out) {
      all = hsc__small_join(s, all, elements, operands[i].in, part_elements, map, elements);
      continue;
    }
    laid_out = true;
    all = hsc__small_spread(s, operands[i].in, part_elements);
    all = hsc__small_pick(s, all, part_elements, map, elements);
    if (elements > 1)
      all = hsc__small_spread(s, all, elements);
  }
  return all;
}

hsc_status *hsc__small_move(hsc_small *s,
                            const hsc_instr *instr,
                            const hsc_small_value *operands,
                            hsc_emit_value *out_value) {
  int64_t elements = hsc_shape_elements(&instr->shape);
  hsc_type type = instr->shape.type;
  if (instr->op == HSC_OP_IOTA &&
      (type == HSC_TYPE_PRED || (hsc_type_is_float(type) && hsc_type_bits(type) < 16)))
    return hsc__small_refuse(instr, "its type");
  if (instr->op == HSC_OP_CONSTANT && instr->attr.literal.value->elided)
    return hsc__small_refuse(instr, "its values");
  if (s->dry) {
    s->cost += hsc__small_vectors(s, type, elements);
    return NULL;
  }
  if (instr->op == HSC_OP_IOTA) {
    *out_value = iota(s, instr);
    return NULL;
  }
  if (instr->op == HSC_OP_CONSTANT) {
    *out_value = constant(s, instr);
    return NULL;
  }
  if (instr->op == HSC_OP_CONCATENATE) {
    *out_value = concatenate(s, instr, operands);
    return NULL;
  }
  const hsc_shape *from = &instr->operands[0]->shape;
  int64_t from_elements = hsc_shape_elements(from);
  int64_t at[HSC_MAX_RANK], source[HSC_MAX_RANK];
  lane_map map = {0};
  bool padded = false;
  for (int64_t i = 0; i < elements; i++) {
    coordinates(&instr->shape, i, at);
    bool inside = source_of(instr, at, source);
    map[i] = inside ? (int32_t)hsc__small_element(from, source) : (int32_t)from_elements;
    padded = padded || !inside;
  }
  *out_value =
      padded ? hsc__small_join(s, operands[0].in, from_elements, operands[1].in, 1, map, elements)
             : hsc__small_pick(s, operands[0].in, from_elements, map, elements);
  return NULL;
}
