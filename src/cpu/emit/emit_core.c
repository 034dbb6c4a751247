// emit_core.c - symbols, loops and levels, addresses, loads and stores (see emit_internal.h).
//
// How to read: an address is a sum of terms, each a symbol times a stride; hsc__emit_linear and
// gather_parts bring an index into that form, and address_of makes code of each part at the
// outermost loop at which it does not change. Loads and stores choose by the stride along the
// lanes: one element, a run, every n-th element, or lanes one by one. Loops come in levels, opened
// and closed by the last section.
#include "cpu/emit/emit_internal.h"

// ---- symbols ------------------------------------------------------------------------------------

int32_t hsc__emit_add_symbol(hsc_emitter *e,
                             hsc_emit_symbol_kind kind,
                             int64_t size,
                             hsc_emit_value value) {
  if (e->symbol_count == HSC_EMIT_MAX_SYMBOLS)
    return -1;
  int32_t number = e->symbol_count++;
  e->symbols[number] = (hsc_emit_symbol){.kind = kind, .loop = -1, .value = value};
  e->sizes[number] = size;
  return number;
}

static bool varies(const hsc_emitter *e, const hsc_affine *a) {
  if (e->analysing || e->vector_loop < 0)
    return false;
  for (int i = 0; i < a->count; i++) {
    const hsc_emit_symbol *symbol = &e->symbols[a->terms[i].symbol];
    if (symbol->kind == HSC_SYMBOL_LANES ||
        (symbol->kind == HSC_SYMBOL_LOOP && symbol->loop == e->vector_loop))
      return true;
  }
  return false;
}

void hsc__emit_note(
    hsc_emitter *e, int32_t buffer, const hsc_affine *linear, bool conditional, int element_bytes) {
  if (!e->analysing)
    return;
  if (conditional && buffer >= 0 && element_bytes < 4)
    e->small_conditional = true;
  if (!HSC_GROW_IN(e->arena, e->accesses, e->access_count, e->access_capacity))
    return;  // the arena's status tells
  e->accesses[e->access_count++] = (hsc_emit_access){.buffer = buffer,
                                                     .linear = *linear,
                                                     .conditional = conditional,
                                                     .element_bytes = element_bytes};
}

void hsc__emit_note_width(hsc_emitter *e, hsc_type type) {
  int bytes = (int)hsc_type_bytes(hsc_type_real_part(type));
  if (hsc_type_is_float(type) && bytes < 4)
    bytes = 4;
  if (bytes > e->widest_bytes)
    e->widest_bytes = bytes;
}

hsc_status *hsc__emit_divide(hsc_emitter *e,
                             const hsc_affine *a,
                             int64_t divisor,
                             hsc_affine *out_quotient,
                             hsc_affine *out_remainder) {
  int32_t symbol;
  int64_t inner;
  if (hsc_affine_divide(a, divisor, e->sizes, out_quotient, out_remainder, &symbol, &inner))
    return NULL;
  if (e->analysing && symbol >= 0 && symbol < e->iv_count && e->split_symbol < 0) {
    e->split_symbol = symbol;
    e->split_inner = inner;
  }
  // Computed: quotient and remainder become symbols of their own, the same ones for the same
  // question.
  int32_t found[3] = {-1, -1, -1};
  for (int32_t s = 0; s < e->symbol_count; s++)
    if (e->symbols[s].derived && e->symbols[s].divisor == divisor &&
        hsc_affine_equal(&e->symbols[s].of, a))
      found[e->symbols[s].derived] = s;
  if (found[1] < 0) {
    hsc__emit_note(e, -1, a, false, 8);
    hsc_affine_range range = hsc_affine_range_of(a, e->sizes);
    int64_t highest = range.high < 0 ? 0 : range.high / divisor;
    hsc_emit_symbol_kind kind = varies(e, a) ? HSC_SYMBOL_LANES : HSC_SYMBOL_SCALAR;
    hsc_emit_value quotient = {0};
    hsc_emit_value remainder = {0};
    if (!e->analysing) {
      // Out of range only under a condition that is false there; unsigned, so that it stays an
      // index.
      hsc_emit_value whole = hsc__emit_index(e, a, e->i64);
      hsc__emit_at(e, whole.level);
      hsc_lv by = hsc__emit_int_like(e, e->i64, divisor, whole.vector);
      quotient = remainder = whole;
      quotient.v = hsc_ll.BuildUDiv(e->builder, whole.v, by, "");
      remainder.v =
          hsc_ll.BuildSub(e->builder, whole.v, hsc_ll.BuildMul(e->builder, quotient.v, by, ""), "");
    }
    found[1] = hsc__emit_add_symbol(e, kind, highest + 1, quotient);
    found[2] = hsc__emit_add_symbol(e, kind, divisor, remainder);
    if (found[2] < 0)
      return HSC_ERR(UNIMPLEMENTED, "kernel: not built yet: more than %d index terms",
                     HSC_EMIT_MAX_SYMBOLS);
    for (int d = 1; d <= 2; d++) {
      e->symbols[found[d]].derived = d;
      e->symbols[found[d]].divisor = divisor;
      e->symbols[found[d]].of = *a;
    }
  }
  *out_quotient = hsc_affine_symbol(found[1]);
  *out_remainder = hsc_affine_symbol(found[2]);
  return NULL;
}

hsc_status *hsc__emit_linear(const hsc_shape *shape,
                             const hsc_affine *index,
                             hsc_affine *out_linear) {
  hsc_affine linear = hsc_affine_constant(0);
  int64_t stride = 1;
  for (int i = shape->rank - 1; i >= 0; i--) {
    if (!hsc_affine_add(&linear, &index[i], stride, &linear))
      return HSC_ERR(UNIMPLEMENTED, "kernel: not built yet: an index of more than %d terms",
                     HSC_AFFINE_MAX_TERMS);
    stride *= shape->dims[i];
  }
  *out_linear = linear;
  return NULL;
}

// ---- sums of terms ------------------------------------------------------------------------------

typedef struct part {  // one contribution to a sum
  hsc_lv value;        // i64 scalar
  int64_t factor;
  int32_t level;
} part;

typedef struct sum {
  part parts[HSC_AFFINE_MAX_TERMS];  // by rising level
  int count;
  int64_t constant;
  int64_t lane_stride;
  hsc_lv lanes;  // vector of i64 to add, NULL = none
  int32_t lanes_level;
  int32_t level;
} sum;

static void add_part(sum *s, hsc_lv value, int64_t factor, int32_t level) {
  int at = s->count++;
  for (; at > 0 && s->parts[at - 1].level > level; at--)
    s->parts[at] = s->parts[at - 1];
  s->parts[at] = (part){value, factor, level};
  if (level > s->level)
    s->level = level;
}

// The factor of a merged loop is that of its last iv: the merge was allowed only where the others
// follow from it.
static sum gather_parts(hsc_emitter *e, const hsc_affine *a) {
  sum s = {.constant = a->constant};
  for (int l = 0; l < e->loop_count; l++) {
    const hsc_emit_loop *loop = &e->loops[l];
    int64_t factor = loop->iv_count ? hsc_affine_factor(a, loop->first_iv + loop->iv_count - 1) : 0;
    if (factor == 0)
      continue;
    if (l == e->vector_loop)
      s.lane_stride = factor;
    add_part(&s, loop->counter, factor, e->level_of_loop[l]);
  }
  for (int i = 0; i < a->count; i++) {
    const hsc_emit_symbol *symbol = &e->symbols[a->terms[i].symbol];
    if (symbol->kind == HSC_SYMBOL_LOOP)
      continue;
    if (symbol->kind == HSC_SYMBOL_SCALAR) {
      add_part(&s, symbol->value.v, a->terms[i].factor, symbol->value.level);
      continue;
    }
    hsc__emit_at(e, symbol->value.level);
    hsc_lv scaled = symbol->value.v;
    if (a->terms[i].factor != 1)
      scaled = hsc_ll.BuildMul(e->builder, scaled,
                               hsc__emit_int_like(e, e->i64, a->terms[i].factor, true), "");
    if (s.lanes) {
      int level = symbol->value.level > s.lanes_level ? symbol->value.level : s.lanes_level;
      hsc__emit_at(e, level);
      s.lanes = hsc_ll.BuildAdd(e->builder, s.lanes, scaled, "");
      s.lanes_level = level;
    } else {
      s.lanes = scaled;
      s.lanes_level = symbol->value.level;
    }
    if (s.lanes_level > s.level)
      s.level = s.lanes_level;
  }
  return s;
}

static hsc_lv scale(hsc_emitter *e, hsc_lv value, int64_t factor, int level) {
  if (factor == 1)
    return value;
  for (int i = 0; i < e->scaled_count; i++)
    if (e->scaled[i].symbol == value && e->scaled[i].factor == factor)
      return e->scaled[i].product;
  hsc__emit_at(e, level);
  hsc_lv product = hsc_ll.BuildMul(e->builder, value, hsc__emit_int(e, e->i64, factor), "");
  if (e->scaled_count < HSC_EMIT_CACHE)
    e->scaled[e->scaled_count++] = (hsc_emit_scaled){value, product, factor, level};
  return product;
}

static hsc_lv offset_by(
    hsc_emitter *e, hsc_lv base, LLVMTypeRef element, hsc_lv offset, int level) {
  for (int i = 0; i < e->address_count; i++)
    if (e->addresses[i].base == base && e->addresses[i].offset == offset)
      return e->addresses[i].address;
  hsc__emit_at(e, level);
  hsc_lv address = hsc_ll.BuildGEP2(e->builder, element, base, &offset, 1, "");
  if (e->address_count < HSC_EMIT_CACHE)
    e->addresses[e->address_count++] = (hsc_emit_address){base, offset, address, level};
  return address;
}

// The address of lane 0. Strides in elements of `element`.
static hsc_lv address_of(
    hsc_emitter *e, hsc_lv buffer, LLVMTypeRef element, const sum *s, int64_t scale_by) {
  hsc_lv at = buffer;
  if (s->constant)
    at = offset_by(e, at, element, hsc__emit_int(e, e->i64, s->constant * scale_by), 0);
  for (int i = 0; i < s->count; i++) {
    int level = s->parts[i].level;
    at = offset_by(e, at, element,
                   scale(e, s->parts[i].value, s->parts[i].factor * scale_by, level), level);
  }
  return at;
}

static hsc_lv lane_numbers(hsc_emitter *e, LLVMTypeRef type, int64_t stride) {
  hsc_lv numbers[128];
  for (int i = 0; i < e->lanes; i++)
    numbers[i] = hsc__emit_int(e, type, i * stride);
  return hsc_ll.ConstVector(numbers, (unsigned)e->lanes);
}

hsc_emit_value hsc__emit_index(hsc_emitter *e, const hsc_affine *a, LLVMTypeRef type) {
  sum s = gather_parts(e, a);
  hsc_emit_value value = {.v = hsc__emit_int(e, e->i64, s.constant), .level = 0};
  for (int i = 0; i < s.count; i++) {
    hsc_lv part_value = scale(e, s.parts[i].value, s.parts[i].factor, s.parts[i].level);
    hsc__emit_at(e, s.parts[i].level);
    value.v = i == 0 && s.constant == 0 ? part_value
                                        : hsc_ll.BuildAdd(e->builder, value.v, part_value, "");
    value.level = s.parts[i].level;
  }
  if (type != e->i64) {
    hsc__emit_at(e, value.level);
    value.v = hsc_ll.BuildTrunc(e->builder, value.v, type, "");
  }
  if (e->lanes == 1 || (s.lane_stride == 0 && !s.lanes))
    return value;
  value = hsc__emit_widen(e, value);
  hsc__emit_at(e, s.level);
  if (s.lane_stride)
    value.v = hsc_ll.BuildAdd(e->builder, value.v, lane_numbers(e, type, s.lane_stride), "");
  if (s.lanes) {
    hsc_lv lanes = s.lanes;
    if (type != e->i64)
      lanes = hsc_ll.BuildTrunc(e->builder, lanes, hsc_ll.VectorType(type, (unsigned)e->lanes), "");
    value.v = hsc_ll.BuildAdd(e->builder, value.v, lanes, "");
  }
  value.level = s.level;
  return value;
}

// ---- loads and stores ---------------------------------------------------------------------------

static hsc_lv load_one(hsc_emitter *e, LLVMTypeRef type, hsc_lv address, unsigned align) {
  hsc_lv value = hsc_ll.BuildLoad2(e->builder, type, address, "");
  hsc_ll.SetAlignment(value, align);
  return value;
}

// Lanes side by side.
static hsc_lv load_run(
    hsc_emitter *e, LLVMTypeRef element, hsc_lv address, int lanes, unsigned align, hsc_lv mask) {
  LLVMTypeRef type = hsc_ll.VectorType(element, (unsigned)lanes);
  if (!mask)
    return load_one(e, type, address, align);
  unsigned id = hsc_ll.LookupIntrinsicID("llvm.masked.load", 16);
  LLVMTypeRef overloads[2] = {type, e->ptr};
  hsc_lv function = hsc_ll.GetIntrinsicDeclaration(e->module, id, overloads, 2);
  hsc_lv arguments[4] = {address, hsc__emit_int(e, e->i32, align), mask, hsc_ll.ConstNull(type)};
  return hsc_ll.BuildCall2(e->builder, hsc_ll.GlobalGetValueType(function), function, arguments, 4,
                           "");
}

// Lanes anywhere: one load each. Under a mask the lanes that are off read the buffer's first
// element.
static hsc_lv load_scattered(hsc_emitter *e,
                             LLVMTypeRef element,
                             hsc_lv buffer,
                             hsc_lv address,
                             const sum *s,
                             int64_t scale_by,
                             int64_t part_offset,
                             unsigned align,
                             hsc_lv mask) {
  hsc_lv all = hsc_ll.GetPoison(hsc_ll.VectorType(element, (unsigned)e->lanes));
  for (int lane = 0; lane < e->lanes; lane++) {
    hsc_lv number = hsc__emit_int(e, e->i32, lane);
    hsc_lv at = address;
    int64_t fixed = lane * s->lane_stride * scale_by + part_offset;
    if (s->lanes) {
      hsc_lv offset = hsc_ll.BuildExtractElement(e->builder, s->lanes, number, "");
      if (scale_by != 1)
        offset = hsc_ll.BuildMul(e->builder, offset, hsc__emit_int(e, e->i64, scale_by), "");
      at = hsc_ll.BuildGEP2(e->builder, element, at, &offset, 1, "");
    }
    if (fixed) {
      hsc_lv offset = hsc__emit_int(e, e->i64, fixed);
      at = hsc_ll.BuildGEP2(e->builder, element, at, &offset, 1, "");
    }
    if (mask)
      at = hsc_ll.BuildSelect(e->builder, hsc_ll.BuildExtractElement(e->builder, mask, number, ""),
                              at, buffer, "");
    all = hsc_ll.BuildInsertElement(e->builder, all, load_one(e, element, at, align), number, "");
  }
  return all;
}

static hsc_lv shuffle_stride(hsc_emitter *e, hsc_lv both, int first, int step) {
  hsc_lv numbers[128];
  for (int i = 0; i < e->lanes; i++)
    numbers[i] = hsc__emit_int(e, e->i32, first + i * step);
  return hsc_ll.BuildShuffleVector(e->builder, both, hsc_ll.GetPoison(hsc_ll.TypeOf(both)),
                                   hsc_ll.ConstVector(numbers, (unsigned)e->lanes), "");
}

// Whether lanes are rows of few elements, of which each is read one: the rows lie in the buffer
// whole, since that holds a whole number of them.
static bool reads_column(const hsc_emitter *e,
                         const sum *s,
                         const hsc_affine *linear,
                         int64_t elements) {
  int64_t stride = s->lane_stride;
  if (stride < 2 || stride > HSC_EMIT_MAX_COLUMNS || s->lanes || e->lanes < 4 || elements <= 0 ||
      elements % stride || linear->constant < 0)
    return false;
  for (int i = 0; i < s->count; i++)
    if (s->parts[i].factor % stride)
      return false;
  return true;
}

hsc_emit_value hsc__emit_load(hsc_emitter *e,
                              hsc_lv buffer,
                              hsc_type type,
                              int64_t elements,
                              const hsc_affine *linear,
                              hsc_lv mask) {
  bool complex = hsc_type_is_complex(type);
  LLVMTypeRef element = hsc__emit_memory_type(e, type);
  int64_t scale_by = complex ? 2 : 1;
  unsigned align = (unsigned)hsc_type_bytes(type) / (complex ? 2 : 1);
  sum s = gather_parts(e, linear);
  if (!mask && !complex && e->lanes > 1 && reads_column(e, &s, linear, elements)) {
    hsc_affine rows = *linear;
    int64_t column = linear->constant % s.lane_stride;
    rows.constant -= column;
    s.constant -= column;
    hsc_lv first = address_of(e, buffer, element, &s, 1);
    hsc_lv raw =
        hsc__emit_load_column(e, buffer, first, &rows, element, s.lane_stride, column, s.level);
    return hsc__emit_from_memory(e, type, raw, NULL, s.level, true);
  }
  hsc_lv address = address_of(e, buffer, element, &s, scale_by);
  bool vector = e->lanes > 1 && (s.lane_stride != 0 || s.lanes);
  int level;
  if (vector || mask) {
    if (mask && e->level > s.level)
      level = e->level;
    else
      level = s.level;
  } else
    level = s.level;
  hsc_lv raw = NULL;
  hsc_lv raw_im = NULL;
  if (!vector) {
    // A uniform element under a mask of lanes: it may be out of range only where every lane is off,
    // so it reads the first element then.
    if (mask) {
      hsc__emit_at(e, level);
      hsc_lv any = hsc__emit_intrinsic(e, "llvm.vector.reduce.or", hsc_ll.TypeOf(mask), &mask, 1);
      address = hsc_ll.BuildSelect(e->builder, any, address, buffer, "");
    }
    hsc__emit_at(e, level);
    raw = load_one(e, element, address, align);
    if (complex) {
      hsc_lv one = hsc__emit_int(e, e->i64, 1);
      raw_im =
          load_one(e, element, hsc_ll.BuildGEP2(e->builder, element, address, &one, 1, ""), align);
    }
    return hsc__emit_from_memory(e, type, raw, raw_im, level, false);
  }
  hsc__emit_at(e, level);
  if (s.lane_stride == 1 && !s.lanes && !(complex && mask)) {
    if (complex) {
      hsc_lv both = load_run(e, element, address, 2 * e->lanes, align, NULL);
      raw = shuffle_stride(e, both, 0, 2);
      raw_im = shuffle_stride(e, both, 1, 2);
    } else {
      raw = load_run(e, element, address, e->lanes, align, mask);
    }
  } else {
    raw = load_scattered(e, element, buffer, address, &s, scale_by, 0, align, mask);
    if (complex)
      raw_im = load_scattered(e, element, buffer, address, &s, scale_by, 1, align, mask);
  }
  return hsc__emit_from_memory(e, type, raw, raw_im, level, true);
}

void hsc__emit_store(
    hsc_emitter *e, hsc_lv buffer, hsc_type type, const hsc_affine *linear, hsc_emit_value value) {
  bool complex = hsc_type_is_complex(type);
  LLVMTypeRef element = hsc__emit_memory_type(e, type);
  unsigned align = (unsigned)hsc_type_bytes(type) / (complex ? 2 : 1);
  sum s = gather_parts(e, linear);
  bool vector = e->lanes > 1 && (s.lane_stride != 0 || s.lanes);
  if (vector)
    value = hsc__emit_widen(e, value);
  hsc_lv address = address_of(e, buffer, element, &s, complex ? 2 : 1);
  hsc__emit_at(e, e->level);
  hsc_lv raw, raw_im;
  hsc__emit_to_memory(e, type, value, &raw, &raw_im);
  if (!complex) {
    hsc_ll.SetAlignment(hsc_ll.BuildStore(e->builder, raw, address), align);
    return;
  }
  if (!vector) {
    hsc_lv one = hsc__emit_int(e, e->i64, 1);
    hsc_ll.SetAlignment(hsc_ll.BuildStore(e->builder, raw, address), align);
    hsc_ll.SetAlignment(
        hsc_ll.BuildStore(e->builder, raw_im,
                          hsc_ll.BuildGEP2(e->builder, element, address, &one, 1, "")),
        align);
    return;
  }
  hsc_lv numbers[256];
  for (int i = 0; i < e->lanes; i++) {
    numbers[2 * i] = hsc__emit_int(e, e->i32, i);
    numbers[2 * i + 1] = hsc__emit_int(e, e->i32, e->lanes + i);
  }
  hsc_lv both = hsc_ll.BuildShuffleVector(e->builder, raw, raw_im,
                                          hsc_ll.ConstVector(numbers, 2 * (unsigned)e->lanes), "");
  hsc_ll.SetAlignment(hsc_ll.BuildStore(e->builder, both, address), align);
}

void hsc__emit_store_rows(hsc_emitter *e,
                          hsc_lv buffer,
                          hsc_type type,
                          const hsc_affine *linear,
                          const hsc_emit_value *values,
                          int count) {
  LLVMTypeRef element = hsc__emit_memory_type(e, type);
  hsc_lv columns[HSC_EMIT_MAX_COLUMNS], none;
  sum s = gather_parts(e, linear);
  hsc_lv address = address_of(e, buffer, element, &s, 1);
  for (int c = 0; c < count; c++) {
    hsc_emit_value wide = hsc__emit_widen(e, values[c]);
    hsc__emit_at(e, e->level);
    hsc__emit_to_memory(e, type, wide, &columns[c], &none);
  }
  hsc__emit_at(e, e->level);
  hsc__emit_store_columns(e, element, address, columns, count, (unsigned)hsc_type_bytes(type));
}

// ---- loops --------------------------------------------------------------------------------------

void hsc__emit_forget(hsc_emitter *e, int level) {
  int kept = 0;
  for (int i = 0; i < e->row_count; i++)
    if (e->rows[i].level < level)
      e->rows[kept++] = e->rows[i];
  e->row_count = kept;
  kept = 0;
  for (int i = 0; i < e->scaled_count; i++)
    if (e->scaled[i].level < level)
      e->scaled[kept++] = e->scaled[i];
  e->scaled_count = kept;
  kept = 0;
  for (int i = 0; i < e->address_count; i++)
    if (e->addresses[i].level < level)
      e->addresses[kept++] = e->addresses[i];
  e->address_count = kept;
  kept = 0;
  for (int i = 0; i < e->splat_count; i++)
    if (e->splats[i].level < level)
      e->splats[kept++] = e->splats[i];
  e->splat_count = kept;
  // Memos: the chains are rebuilt from what stays. Symbols made at this level go with them, since
  // later indices must not meet them again.
  for (int b = 0; b < HSC_EMIT_MEMO_BUCKETS; b++) {
    int32_t *link = &e->memo_heads[b];
    while (*link >= 0) {
      if (e->memos[*link].value.level >= level)
        *link = e->memos[*link].next;
      else
        link = &e->memos[*link].next;
    }
  }
  for (int s = e->iv_count; s < e->symbol_count; s++)
    if (e->symbols[s].value.level >= level)
      e->symbols[s].derived = 0;
}

void hsc__emit_forget_lanes(hsc_emitter *e) {
  e->splat_count = 0;
  e->row_count = 0;
  for (int b = 0; b < HSC_EMIT_MEMO_BUCKETS; b++) {
    int32_t *link = &e->memo_heads[b];
    while (*link >= 0) {
      if (e->memos[*link].value.vector)
        *link = e->memos[*link].next;
      else
        link = &e->memos[*link].next;
    }
  }
}

hsc_emit_open_loop hsc__emit_open(
    hsc_emitter *e, int level, int loop, hsc_lv begin, hsc_lv end, int64_t step) {
  hsc_emit_open_loop open = {.level = level, .end = end, .step = hsc__emit_int(e, e->i64, step)};
  // The branch into the loop is made when it is closed: until then code that does not change in it
  // can still be put before it.
  open.from = e->tails[level];
  open.head = hsc_ll.AppendBasicBlockInContext(e->context, e->function, "");
  e->tails[level + 1] = open.head;
  hsc__emit_at(e, level + 1);
  open.counter = hsc_ll.BuildPhi(e->builder, e->i64, "");
  hsc_ll.AddIncoming(open.counter, &begin, &open.from, 1);
  if (loop >= 0) {
    e->loops[loop].counter = open.counter;
    e->level_of_loop[loop] = level + 1;
  }
  e->level = level + 1;
  return open;
}

void hsc__emit_close(
    hsc_emitter *e, hsc_emit_open_loop *open, hsc_lv *phis, hsc_lv *next, int count) {
  int inner = open->level + 1;
  hsc__emit_at(e, inner);
  hsc_lv following = hsc_ll.BuildAdd(e->builder, open->counter, open->step, "");
  hsc_lv more = hsc_ll.BuildICmp(e->builder, LLVMIntSLT, following, open->end, "");
  LLVMBasicBlockRef exit = hsc_ll.AppendBasicBlockInContext(e->context, e->function, "");
  LLVMBasicBlockRef latch = e->tails[inner];
  hsc_ll.BuildCondBr(e->builder, more, open->head, exit);
  hsc_ll.AddIncoming(open->counter, &following, &latch, 1);
  for (int i = 0; i < count; i++)
    hsc_ll.AddIncoming(phis[i], &next[i], &latch, 1);
  hsc__emit_at(e, open->level);
  hsc_ll.BuildBr(e->builder, open->head);
  e->tails[open->level] = exit;
  e->level = open->level;
  hsc__emit_forget(e, inner);
}

// Code that runs when `condition` (made at `level`) holds: it goes to level + 1, and what it
// computes is forgotten after it.
hsc_emit_open_if hsc__emit_open_if(hsc_emitter *e, int level, hsc_lv condition) {
  hsc_emit_open_if open = {.level = level, .condition = condition};
  open.inner = hsc_ll.AppendBasicBlockInContext(e->context, e->function, "");
  open.join = hsc_ll.AppendBasicBlockInContext(e->context, e->function, "");
  e->tails[level + 1] = open.inner;
  e->level = level + 1;
  return open;
}

void hsc__emit_close_if(hsc_emitter *e, const hsc_emit_open_if *open) {
  hsc__emit_at(e, open->level);
  hsc_ll.BuildCondBr(e->builder, open->condition, open->inner, open->join);
  hsc__emit_at(e, open->level + 1);
  hsc_ll.BuildBr(e->builder, open->join);
  e->tails[open->level] = open->join;
  e->level = open->level;
  hsc__emit_forget(e, open->level + 1);
}

void hsc__emit_mark_rare(hsc_emitter *e, hsc_lv branch) {
  static const char kind[] = "prof";
  static const char weights[] = "branch_weights";
  LLVMMetadataRef parts[3] = {
      hsc_ll.MDStringInContext2(e->context, weights, sizeof weights - 1),
      hsc_ll.ValueAsMetadata(hsc__emit_int(e, e->i32, 1)),
      hsc_ll.ValueAsMetadata(hsc__emit_int(e, e->i32, 1 << 20)),
  };
  LLVMMetadataRef node = hsc_ll.MDNodeInContext2(e->context, parts, HSC_COUNT_OF(parts));
  unsigned id = hsc_ll.GetMDKindIDInContext(e->context, kind, sizeof kind - 1);
  hsc_ll.SetMetadata(branch, id, hsc_ll.MetadataAsValue(e->context, node));
}

// ---- functions ----------------------------------------------------------------------------------

static void add_function_attribute(hsc_emitter *e, const char *name) {
  unsigned kind = hsc_ll.GetEnumAttributeKindForName(name, strlen(name));
  hsc_ll.AddAttributeAtIndex(e->function, LLVMAttributeFunctionIndex,
                             hsc_ll.CreateEnumAttribute(e->context, kind, 0));
}

hsc_status *hsc__emit_begin_function(hsc_emitter *e, const char *name, int parameter_count) {
  LLVMContextRef cx = e->context;
  e->i1 = hsc_ll.Int1TypeInContext(cx);
  e->i8 = hsc_ll.IntTypeInContext(cx, 8);
  e->i16 = hsc_ll.IntTypeInContext(cx, 16);
  e->i32 = hsc_ll.IntTypeInContext(cx, 32);
  e->i64 = hsc_ll.IntTypeInContext(cx, 64);
  e->f16 = hsc_ll.HalfTypeInContext(cx);
  e->f32 = hsc_ll.FloatTypeInContext(cx);
  e->f64 = hsc_ll.DoubleTypeInContext(cx);
  e->ptr = hsc_ll.PointerTypeInContext(cx, 0);
  e->none = hsc_ll.VoidTypeInContext(cx);
  LLVMTypeRef parameters[8] = {e->ptr, e->i64, e->i64, e->i64, e->i64, e->i64, e->i64, e->i64};
  e->function = hsc_ll.AddFunction(
      e->module, name, hsc_ll.FunctionType(e->none, parameters, (unsigned)parameter_count, 0));
  // No unwind tables: nothing here throws.
  add_function_attribute(e, "nounwind");
  e->tails[0] = hsc_ll.AppendBasicBlockInContext(cx, e->function, "");
  e->level = 0;
  e->lanes = 1;
  e->vector_loop = -1;
  e->memo_count = e->scaled_count = e->address_count = e->splat_count = e->row_count = 0;
  for (int b = 0; b < HSC_EMIT_MEMO_BUCKETS; b++)
    e->memo_heads[b] = -1;
  return NULL;
}

void hsc__emit_end_function(hsc_emitter *e) {
  hsc__emit_at(e, 0);
  hsc_ll.BuildRetVoid(e->builder);
}
