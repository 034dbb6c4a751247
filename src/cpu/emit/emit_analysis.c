// emit_analysis.c - what must be known before a kernel is emitted: how the dimensions of its
// iteration space are cut and merged into loops, how buffers are accessed, what it costs (see
// emit.h).
#include "cpu/emit/emit_internal.h"

static void make_ivs(hsc_emitter *e, const hsc_emit_space *space) {
  e->iv_count = e->symbol_count = 0;
  for (int d = 0; d < space->rank; d++)
    for (int p = 0; p < space->part_count[d]; p++) {
      if (space->parts[d][p] == 1)
        continue;
      e->ivs[e->iv_count++] =
          (hsc_emit_iv){.size = space->parts[d][p], .group = space->group[d], .dim = d};
      hsc__emit_add_symbol(e, HSC_SYMBOL_LOOP, space->parts[d][p], (hsc_emit_value){0});
    }
}

// The part of iv `iv` in the trip of its merged loop that is written out.
static int64_t fixed_part(const hsc_emitter *e, int iv) {
  const hsc_emit_loop *loop = &e->loops[e->fixed_loop];
  int64_t trip = e->fixed_trip;
  for (int later = loop->first_iv + loop->iv_count - 1; later > iv; later--)
    trip /= e->ivs[later].size;
  return trip % e->ivs[iv].size;
}

hsc_affine hsc__emit_space_index(const hsc_emitter *e, const hsc_emit_space *space, int dim) {
  hsc_affine index = hsc_affine_constant(0);
  int iv = 0;
  for (int d = 0; d < dim; d++)
    for (int p = 0; p < space->part_count[d]; p++)
      iv += space->parts[d][p] != 1;
  for (int p = 0; p < space->part_count[dim]; p++) {
    int64_t factor = 1;
    if (space->parts[dim][p] == 1)
      continue;
    for (int later = p + 1; later < space->part_count[dim]; later++)
      factor *= space->parts[dim][later];
    if (!e->analysing && e->fixed_loop >= 0 && e->symbols[iv].loop == e->fixed_loop)
      index.constant += factor * fixed_part(e, iv);
    else
      index.terms[index.count++] = (hsc_affine_term){iv, factor};
    iv++;
  }
  return index;
}

// Cuts the part after iv `symbol` into (size / inner, inner); false when there is no room.
static bool cut(hsc_emitter *e, hsc_emit_space *space, int32_t symbol, int64_t inner) {
  int iv = 0;
  if (e->iv_count + 1 > HSC_EMIT_MAX_LOOPS)
    return false;
  for (int d = 0; d < space->rank; d++)
    for (int p = 0; p < space->part_count[d]; p++) {
      if (space->parts[d][p] == 1)
        continue;
      if (iv++ != symbol)
        continue;
      if (space->part_count[d] == HSC_EMIT_MAX_PARTS)
        return false;
      for (int later = space->part_count[d]; later > p + 1; later--)
        space->parts[d][later] = space->parts[d][later - 1];
      space->part_count[d]++;
      space->parts[d][p + 1] = inner;
      space->parts[d][p] /= inner;
      return true;
    }
  return false;
}

static bool runs_on(const hsc_emitter *e, int iv) {
  for (int a = 0; a < e->access_count; a++) {
    const hsc_affine *linear = &e->accesses[a].linear;
    if (hsc_affine_factor(linear, iv) != hsc_affine_factor(linear, iv + 1) * e->ivs[iv + 1].size)
      return false;
  }
  return true;
}

static void merge_loops(hsc_emitter *e) {
  e->loop_count = 0;
  for (int i = 0; i < e->iv_count; i++) {
    if (i > 0 && e->ivs[i].group == e->ivs[i - 1].group && runs_on(e, i - 1)) {
      e->loops[e->loop_count - 1].size *= e->ivs[i].size;
      e->loops[e->loop_count - 1].iv_count++;
    } else {
      e->loops[e->loop_count++] = (hsc_emit_loop){
          .size = e->ivs[i].size, .group = e->ivs[i].group, .first_iv = i, .iv_count = 1};
    }
    e->symbols[i].loop = e->loop_count - 1;
  }
}

hsc_status *hsc__emit_analyse(hsc_emitter *e, hsc_emit_space *space, hsc_emit_body body) {
  int dims = 0;
  for (int d = 0; d < space->rank; d++) {
    space->part_count[d] = 1;
    space->parts[d][0] = space->dims[d];
    dims += space->dims[d] != 1;
  }
  if (dims > HSC_EMIT_MAX_LOOPS)
    return HSC_ERR(UNIMPLEMENTED, "kernel: not built yet: more than %d dimensions",
                   HSC_EMIT_MAX_LOOPS);
  e->analysing = true;
  e->fixed_loop = -1;
  for (bool again = true; again;) {
    make_ivs(e, space);
    e->split_symbol = -1;
    e->access_count = e->memo_count = 0;
    e->simple_ops = e->heavy_ops = 0;
    e->conditional = e->small_conditional = false;
    for (int b = 0; b < HSC_EMIT_MEMO_BUCKETS; b++)
      e->memo_heads[b] = -1;
    HSC_TRY(body(e, space));
    HSC_TRY(hsc_arena_status(e->arena));
    again = e->split_symbol >= 0 && cut(e, space, e->split_symbol, e->split_inner);
  }
  e->analysing = false;
  merge_loops(e);
  e->symbol_count = e->iv_count;  // what was computed on the way is computed again, with code
  return NULL;
}

int hsc__emit_choose_lanes(const hsc_emitter *e, int64_t size) {
  // Conditional loads of small elements have no instruction before AVX-512.
  if (e->small_conditional && e->isa->level < HSC_CPU_ISA_AVX512)
    return 1;
  int lanes = e->isa->vector_bytes / (e->widest_bytes ? e->widest_bytes : 4);
  if (lanes > 64)
    lanes = 64;
  while (lanes > size)
    lanes /= 2;
  return lanes < 2 ? 1 : lanes;
}

// Measured on AVX2 at 3.4 GHz: a simple operation on 8 floats takes a cycle or less, a function 15
// to 40; memory gives about 10 bytes a ns.
double hsc__emit_cost_ns(const hsc_emitter *e, int64_t elements, int lanes) {
  double bytes = 0;
  for (int a = 0; a < e->access_count; a++)
    bytes += e->accesses[a].buffer >= 0 ? e->accesses[a].element_bytes : 0;
  double each =
      (0.3 * (double)e->simple_ops + 8.0 * (double)e->heavy_ops + 0.5) / lanes + 0.05 * bytes;
  return (double)elements * each;
}

void hsc__emit_load_buffers(hsc_emitter *e, int count) {
  hsc_lv table = hsc_ll.GetParam(e->function, 0);
  hsc__emit_at(e, 0);
  for (int b = 0; b < count; b++) {
    hsc_lv number = hsc__emit_int(e, e->i64, b);
    e->buffers[b] = hsc_ll.BuildLoad2(
        e->builder, e->ptr, b ? hsc_ll.BuildGEP2(e->builder, e->ptr, table, &number, 1, "") : table,
        "");
  }
}
