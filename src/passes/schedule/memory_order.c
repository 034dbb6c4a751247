// memory_order.c - the values of a computation as an order's memory sees them: how many bytes each
// needs, and which values a read of an instruction reads. The model is in memory_order.h.
//
// Views (tuples, elements, copies) are resolved once: what they read becomes a list of roots, so
// that each order that is tried takes a walk over numbers alone.
#include "passes/schedule/memory_order.h"

// What needs no memory of its own on top of its operands'. A copy is counted as none: copy
// insertion adds and removes them after scheduling. A loop's result is its carried state.
static bool is_view(const hsc_instr *instr) {
  return hsc_instr_is_alias(instr) || instr->op == HSC_OP_BITCAST || instr->op == HSC_OP_TUPLE ||
         instr->op == HSC_OP_GET_TUPLE_ELEMENT || instr->op == HSC_OP_COPY ||
         instr->op == HSC_OP_WHILE;
}

// Arrays only: tokens and the table of a tuple take nothing.
static int64_t bytes_of(const hsc_instr *instr) {
  if (is_view(instr) || instr->op == HSC_OP_PARAMETER || instr->op == HSC_OP_CONSTANT)
    return 0;
  int64_t bytes = 0;
  for (int l = 0; l < hsc_shape_leaf_count(&instr->shape); l++) {
    const hsc_shape *leaf = hsc_shape_leaf(&instr->shape, l);
    if (hsc_shape_is_array(leaf))
      bytes += hsc_shape_bytes(leaf);
  }
  return bytes;
}

// What an element of a tuple is: the operand that the tuple was made of. A loop's result is its
// carried state, so an element of it lies where that element of its first state lies. NULL: what
// the element is taken from is no such tuple.
static const hsc_instr *element_of(const hsc_instr *instr) {
  if (instr->op != HSC_OP_GET_TUPLE_ELEMENT)
    return NULL;
  const hsc_instr *tuple = instr->operands[0];
  while (tuple->op == HSC_OP_WHILE)
    tuple = tuple->operands[0];
  return tuple->op == HSC_OP_TUPLE ? tuple->operands[instr->attr.index.value] : NULL;
}

hsc_status *hsc__memory_order_make(hsc_computation *computation,
                                   hsc_arena *arena,
                                   hsc_memory_order *out_order) {
  hsc_memory_order *m = out_order;
  *m = (hsc_memory_order){.computation = computation, .count = computation->instr_count};
  m->instrs = HSC_NEW_ARRAY(arena, hsc_instr *, m->count + 1);
  m->bytes = HSC_NEW_ARRAY(arena, int64_t, m->count + 1);
  m->first_root = HSC_NEW_ARRAY(arena, int32_t, m->count + 2);
  HSC_TRY(hsc_arena_status(arena));
  int32_t number = 0;
  int32_t capacity = 2 * m->count + 16;
  int32_t used = 0;
  m->roots = HSC_NEW_ARRAY(arena, int32_t, capacity);
  int32_t *listed_for = HSC_NEW_ARRAY(arena, int32_t, m->count + 1);
  HSC_TRY(hsc_arena_status(arena));
  for (hsc_instr *instr = computation->first; instr; instr = instr->next) {
    int32_t i = number++;
    instr->index = i;
    m->instrs[i] = instr;
    m->bytes[i] = bytes_of(instr);
    m->first_root[i] = used;
    int32_t wanted = 1;
    const hsc_instr *inner = element_of(instr);
    bool element = inner != NULL;
    if (is_view(instr) && !element)
      for (int o = 0; o < instr->operand_count; o++)
        wanted +=
            m->first_root[instr->operands[o]->index + 1] - m->first_root[instr->operands[o]->index];
    if (element) {
      wanted += m->first_root[inner->index + 1] - m->first_root[inner->index];
    }
    if (used + wanted > capacity) {
      capacity = 2 * (used + wanted);
      int32_t *more = HSC_NEW_ARRAY(arena, int32_t, capacity);
      HSC_TRY(hsc_arena_status(arena));
      memcpy(more, m->roots, sizeof *more * (size_t)used);
      m->roots = more;
    }
    if (!is_view(instr)) {
      m->roots[used++] = i;
    } else {
      for (int o = 0; o < (element ? 1 : instr->operand_count); o++) {
        int32_t from = element ? inner->index : instr->operands[o]->index;
        for (int32_t r = m->first_root[from]; r < m->first_root[from + 1]; r++) {
          // Each once: the states of loops one after the other would grow without end.
          if (listed_for[m->roots[r]] == i + 1)
            continue;
          listed_for[m->roots[r]] = i + 1;
          m->roots[used++] = m->roots[r];
        }
      }
    }
    m->first_root[i + 1] = used;
  }
  return NULL;
}

int64_t hsc__memory_order_peak(const hsc_memory_order *m,
                               const int32_t *order,
                               hsc_arena *arena,
                               int32_t *out_place) {
  // For each value the place of its last reader.
  int32_t *last = HSC_NEW_ARRAY(arena, int32_t, m->count + 1);
  int64_t *freed = HSC_NEW_ARRAY(arena, int64_t, m->count + 2);
  if (hsc_arena_status(arena))
    return INT64_MAX;
  for (int32_t p = 0; p < m->count; p++) {
    const hsc_instr *instr = m->instrs[order[p]];
    last[order[p]] = last[order[p]] > p ? last[order[p]] : p;
    for (int o = 0; o < instr->operand_count; o++) {
      int32_t number = hsc__memory_order_read(instr, o);
      for (int32_t r = m->first_root[number]; r < m->first_root[number + 1]; r++)
        if (last[m->roots[r]] < p)
          last[m->roots[r]] = p;
    }
  }
  int32_t root = m->computation->root->index;
  for (int32_t r = m->first_root[root]; r < m->first_root[root + 1]; r++)
    last[m->roots[r]] = m->count;
  for (int32_t i = 0; i < m->count; i++)
    freed[last[i]] += m->bytes[i];
  int64_t alive = 0;
  int64_t peak = 0;
  for (int32_t p = 0; p < m->count; p++) {
    alive += m->bytes[order[p]];
    if (alive > peak) {
      peak = alive;
      if (out_place)
        *out_place = p;
    }
    alive -= freed[p];
  }
  return peak;
}
