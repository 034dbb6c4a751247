// error_sort.c - what a sort may give: the order of inexact keys, and of equal ones.
//
// A sort that is not stable may leave equal keys in any order, so whatever goes along with them may
// come out in the place of any other of its group: the bound of an element is how far the rest of
// its group is from it. The groups are found in the evaluator's result, which is in order: an
// element that its comparator does not put before the next one is equal to it.
#include "hlo/error/error_internal.h"

// The comparator's answers for each element and the next one of its line; the last of a line is
// compared with itself.
static hsc_status *compare_neighbours(const hsc__error_site *site,
                                      hsc_literal *const *sorted,
                                      int64_t length,
                                      int64_t step,
                                      const hsc_literal **out_before) {
  hsc_arena *arena = site->walk->arena;
  int count = site->instr->operand_count;
  hsc_literal **values = HSC_NEW_ARRAY(arena, hsc_literal *, 2 * count + 1);
  HSC_TRY(hsc_arena_status(arena));
  for (int k = 0; k < count; k++) {
    size_t bytes = (size_t)hsc_type_bytes(sorted[k]->shape.type);
    const unsigned char *from = sorted[k]->data;
    HSC_TRY(hsc_literal_create(arena, &sorted[k]->shape, &values[2 * k + 1]));
    unsigned char *to = values[2 * k + 1]->data;
    for (int64_t i = 0; i < site->count; i++) {
      bool last = i / step % length == length - 1;
      memcpy(to + (size_t)i * bytes, from + (size_t)(last ? i : i + step) * bytes, bytes);
    }
    values[2 * k] = sorted[k];
  }
  hsc_instr map = *site->instr;
  hsc_literal *before = NULL;
  map.op = HSC_OP_MAP;
  map.operand_count = 2 * count;
  map.shape = hsc_shape_with_type(sorted[0]->shape, HSC_TYPE_PRED);
  HSC_TRY(hsc_evaluate_instr(&map, values, arena, &before));
  *out_before = before;
  return NULL;
}

// Of elements first, first + step, ... that may change places: how far each is from the others.
static void add_spread(
    const hsc_literal *value, int64_t first, int64_t count, int64_t step, double *error) {
  double least[2] = {INFINITY, INFINITY};
  double most[2] = {-INFINITY, -INFINITY};
  bool complex = hsc_type_is_complex(value->shape.type);
  for (int64_t i = 0; i < count; i++) {
    int64_t at = first + i * step;
    double parts[2] = {hsc_literal_get_double(value, at),
                       complex ? hsc_literal_get_imag(value, at) : 0};
    for (int p = 0; p < 2; p++) {
      least[p] = fmin(least[p], parts[p]);
      most[p] = fmax(most[p], parts[p]);
    }
  }
  for (int64_t i = 0; i < count && (most[0] > least[0] || most[1] > least[1]); i++) {
    int64_t at = first + i * step;
    double x = hsc_literal_get_double(value, at);
    double y = complex ? hsc_literal_get_imag(value, at) : 0;
    error[at] += hypot(fmax(x - least[0], most[0] - x), fmax(y - least[1], most[1] - y));
  }
}

// Whether the comparator looks at this operand: what it does not look at only goes along.
static bool is_key(const hsc_instr *instr, int operand) {
  HSC_FOR_EACH_INSTR_IN (instr->called[0], reader)
    for (int k = 0; k < reader->operand_count; k++) {
      const hsc_instr *read = reader->operands[k];
      if (read->op == HSC_OP_PARAMETER && read->attr.index.value / 2 == operand)
        return true;
    }
  return false;
}

static double worst_of(const hsc_bounded *b, int64_t count) {
  double worst = 0;
  for (int64_t i = 0; i < count; i++)
    worst = hsc__worse(worst, hsc__error_at(b, i));
  return worst;
}

// The i-th smallest of a line moves by no more than the furthest of the line.
static bool is_order_statistic(const hsc_instr *instr) {
  return instr->operand_count == 1 && instr->called[0]->root->op == HSC_OP_COMPARE;
}

bool hsc__sorts_alike(const hsc_instr *instr) {
  return instr->attr.dims.is_stable || is_order_statistic(instr);
}

hsc_status *hsc__error_sort(const hsc__error_site *site, hsc_bounded *const *results) {
  const hsc_instr *instr = site->instr;
  hsc_arena *arena = site->walk->arena;
  int operands = instr->operand_count;
  const hsc_literal *before = NULL;
  hsc_literal **sorted = HSC_NEW_ARRAY(arena, hsc_literal *, operands + 1);
  const hsc_shape *shape = &results[0]->value->shape;
  HSC_TRY(hsc_arena_status(arena));
  for (int k = 0; k < operands; k++) {
    double worst = worst_of(site->operands[k], site->count);
    // another order of the keys may bring anything to a place
    bool known = worst == 0 || is_order_statistic(instr) || !is_key(instr, k);
    for (int j = 0; j < operands && known; j++)
      known = j == k || !is_key(instr, j) || worst_of(site->operands[j], site->count) == 0;
    sorted[k] = results[k]->value;
    results[k]->error = HSC_NEW_ARRAY(arena, double, site->count + 1);
    HSC_TRY(hsc_arena_status(arena));
    for (int64_t i = 0; i < site->count; i++)
      results[k]->error[i] = known ? worst : NAN;
  }
  if (hsc__sorts_alike(instr) || !site->count || !shape->rank)
    return NULL;
  int64_t dimension = instr->attr.dims.dims.v[0];
  int64_t length = shape->dims[dimension];
  int64_t step = 1;
  for (int d = (int)dimension + 1; d < shape->rank; d++)
    step *= shape->dims[d];
  HSC_TRY(compare_neighbours(site, sorted, length, step, &before));
  const bool *apart = before->data;
  for (int64_t line = 0; line < site->count / length; line++) {
    int64_t base = line / step * step * length + line % step;
    for (int64_t from = 0, to = 0; from < length; from = to) {
      for (to = from + 1; to < length && !apart[base + (to - 1) * step];)
        to++;
      for (int k = 0; k < operands; k++)
        add_spread(sorted[k], base + from * step, to - from, step, results[k]->error);
    }
  }
  return NULL;
}
