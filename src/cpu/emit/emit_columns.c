// emit_columns.c - arrays of rows of few elements (coordinates, colours): instead of vectors along
// a row, which it does not fill, each column is a vector along the rows.
//
// A kernel writes the trips of its innermost loop out, with the index in the row a number: what
// depends on it alone, such as which operand of a concatenation an element comes from, is known
// then. Rows are loaded as they lie in memory, as many vectors as there are columns, and shuffled
// into columns; what is stored is shuffled back.
#include "cpu/emit/emit_internal.h"

#define B (e->builder)

enum { MOST_CODE = 600 };  // operations of all columns together

static bool is_plain(hsc_type type) {
  return !hsc_type_is_complex(type) && hsc_type_bits(type) >= 8;
}

int hsc__emit_choose_columns(const hsc_emitter *e) {
  if (e->loop_count < 2)
    return 0;
  int64_t columns = e->loops[e->loop_count - 1].size;
  int64_t rows = e->loops[e->loop_count - 2].size;
  int lanes = hsc__emit_choose_lanes(e, rows);
  if (columns > HSC_EMIT_MAX_COLUMNS || lanes < 4 || rows < 2 * lanes ||
      columns * (e->simple_ops + 4 * e->heavy_ops) > MOST_CODE)
    return 0;
  for (int o = 0; o < e->output_count; o++)
    if (!is_plain(e->roots[o]->shape.type))
      return 0;
  bool chooses = false;  // among operands, by the place in the row
  for (int a = 0; a < e->access_count; a++)
    chooses = chooses || e->accesses[a].conditional;
  return columns < lanes || chooses ? (int)columns : 0;
}

// ---- loads --------------------------------------------------------------------------------------

// What is in `all` stays where mask[i] < 0; else lane i comes from lane mask[i] of `from`. NULL:
// nothing yet.
static hsc_lv put_in(hsc_emitter *e, hsc_lv all, const bool *there, hsc_lv from, const int *mask) {
  hsc_lv numbers[HSC_EMIT_MAX_LANES];
  for (int i = 0; i < e->lanes; i++) {
    if (mask[i] >= 0)
      numbers[i] = hsc__emit_int(e, e->i32, all ? e->lanes + mask[i] : mask[i]);
    else if (there[i])
      numbers[i] = hsc__emit_int(e, e->i32, i);
    else
      numbers[i] = hsc_ll.GetUndef(e->i32);
  }
  hsc_lv map = hsc_ll.ConstVector(numbers, (unsigned)e->lanes);
  if (!all)
    return hsc_ll.BuildShuffleVector(B, from, hsc_ll.GetPoison(hsc_ll.TypeOf(from)), map, "");
  return hsc_ll.BuildShuffleVector(B, all, from, map, "");
}

static const hsc_emit_rows *load_rows(hsc_emitter *e, hsc_lv address, hsc_emit_rows *wanted) {
  for (int i = 0; i < e->row_count; i++) {
    const hsc_emit_rows *known = &e->rows[i];
    if (known->buffer == wanted->buffer && known->element == wanted->element &&
        known->stride == wanted->stride && hsc_affine_equal(&known->linear, &wanted->linear))
      return known;
  }
  LLVMTypeRef type = hsc_ll.VectorType(wanted->element, (unsigned)e->lanes);
  hsc__emit_at(e, wanted->level);
  for (int64_t v = 0; v < wanted->stride; v++) {
    hsc_lv offset = hsc__emit_int(e, e->i64, v * e->lanes);
    hsc_lv at = v ? hsc_ll.BuildGEP2(B, wanted->element, address, &offset, 1, "") : address;
    wanted->vectors[v] = hsc_ll.BuildLoad2(B, type, at, "");
    hsc_ll.SetAlignment(wanted->vectors[v], 1);
  }
  if (e->row_count == HSC_EMIT_ROWS)
    return wanted;
  e->rows[e->row_count] = *wanted;
  return &e->rows[e->row_count++];
}

hsc_lv hsc__emit_load_column(hsc_emitter *e,
                             hsc_lv buffer,
                             hsc_lv address,
                             const hsc_affine *linear,
                             LLVMTypeRef element,
                             int64_t stride,
                             int64_t column,
                             int32_t level) {
  hsc_emit_rows wanted = {
      .buffer = buffer, .linear = *linear, .stride = stride, .element = element, .level = level};
  const hsc_emit_rows *rows = load_rows(e, address, &wanted);
  bool there[HSC_EMIT_MAX_LANES] = {0};
  int mask[HSC_EMIT_MAX_LANES];
  hsc_lv all = NULL;
  hsc__emit_at(e, level);
  for (int64_t v = 0; v < stride; v++) {
    bool any = false;
    for (int i = 0; i < e->lanes; i++) {
      int64_t place = i * stride + column - v * e->lanes;
      mask[i] = place >= 0 && place < e->lanes ? (int)place : -1;
      any = any || mask[i] >= 0;
    }
    if (!any)
      continue;
    all = put_in(e, all, there, rows->vectors[v], mask);
    for (int i = 0; i < e->lanes; i++)
      there[i] = there[i] || mask[i] >= 0;
  }
  return all;
}

// ---- stores -------------------------------------------------------------------------------------

void hsc__emit_store_columns(hsc_emitter *e,
                             LLVMTypeRef element,
                             hsc_lv address,
                             hsc_lv *columns,
                             int count,
                             unsigned align) {
  int mask[HSC_EMIT_MAX_LANES];
  for (int64_t v = 0; v < count; v++) {
    bool there[HSC_EMIT_MAX_LANES] = {0};
    hsc_lv all = NULL;
    for (int c = 0; c < count; c++) {
      bool any = false;
      for (int i = 0; i < e->lanes; i++) {
        int64_t place = v * e->lanes + i;
        mask[i] = place % count == c ? (int)(place / count) : -1;
        any = any || mask[i] >= 0;
      }
      if (!any)
        continue;
      all = put_in(e, all, there, columns[c], mask);
      for (int i = 0; i < e->lanes; i++)
        there[i] = there[i] || mask[i] >= 0;
    }
    hsc_lv offset = hsc__emit_int(e, e->i64, v * e->lanes);
    hsc_lv at = v ? hsc_ll.BuildGEP2(B, element, address, &offset, 1, "") : address;
    hsc_ll.SetAlignment(hsc_ll.BuildStore(B, all, at), align);
  }
}
