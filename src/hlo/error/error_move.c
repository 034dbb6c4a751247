// error_move.c - errors of what only moves values: the same instruction moves the errors.
#include "hlo/error/error_internal.h"

hsc_computation *hsc__double_reducer(hsc__error_walk *walk, hsc_op op) {
  return hsc_module_scalar_reducer(walk->reducers, op, HSC_TYPE_F64);
}

double *hsc__magnitudes(const hsc__error_site *site, int operand, double scale) {
  const hsc_bounded *b = site->operands[operand];
  int64_t count = hsc_shape_elements(&b->value->shape);
  bool complex = hsc_type_is_complex(b->value->shape.type);
  double *out = HSC_NEW_ARRAY(site->walk->arena, double, count + 1);
  hsc_status *failed = hsc_arena_status(site->walk->arena);
  hsc_status_free(failed);
  if (failed)
    return NULL;
  for (int64_t i = 0; i < count; i++) {
    double value = hsc_literal_get_double(b->value, i);
    out[i] = complex ? hypot(value, hsc_literal_get_imag(b->value, i)) : fabs(value);
    if (scale > 0)
      out[i] += scale * hsc__error_at(b, i);
  }
  return out;
}

hsc_status *hsc__error_replay(const hsc__error_site *site,
                              double *const *doubles,
                              hsc_computation *reducer,
                              double **out_values) {
  hsc_arena *arena = site->walk->arena;
  hsc_instr copy = *site->instr;
  int count = copy.operand_count;
  hsc_literal **values = HSC_NEW_ARRAY(arena, hsc_literal *, count + 1);
  hsc_literal *result = NULL;
  HSC_TRY(hsc_arena_status(arena));
  for (int k = 0; k < count; k++) {
    values[k] = site->operands[k]->value;
    if (!doubles[k])
      continue;
    hsc_literal *wide = HSC_NEW(arena, hsc_literal);
    HSC_TRY(hsc_arena_status(arena));
    wide->shape = hsc_shape_with_type(values[k]->shape, HSC_TYPE_F64);
    wide->data = doubles[k];
    values[k] = wide;
  }
  copy.shape = hsc_shape_with_type(copy.shape, HSC_TYPE_F64);
  copy.called = reducer ? &reducer : copy.called;
  HSC_TRY(hsc_evaluate_instr(&copy, values, arena, &result));
  *out_values = result->data;
  return NULL;
}

// The first operand that says where and not what.
static int index_operand(const hsc_instr *instr) {
  switch (instr->op) {
    case HSC_OP_DYNAMIC_SLICE:
    case HSC_OP_GATHER:
    case HSC_OP_SCATTER:
      return 1;
    case HSC_OP_DYNAMIC_UPDATE_SLICE:
      return 2;
    default:
      return instr->operand_count;
  }
}

static bool indices_are_exact(const hsc__error_site *site, int from, int to) {
  for (int k = from; k < to; k++)
    if (!hsc__is_exact(site->operands[k]))
      return false;
  return true;
}

// An operand's errors as doubles; zeros where it is exact.
static double *errors_of(const hsc__error_site *site, int operand) {
  const hsc_bounded *b = site->operands[operand];
  int64_t count = hsc_shape_elements(&b->value->shape);
  return b->error ? b->error : HSC_NEW_ARRAY(site->walk->arena, double, count + 1);
}

hsc_status *hsc__error_moved(const hsc__error_site *site, double *error) {
  const hsc_instr *instr = site->instr;
  int from = index_operand(instr);
  double **doubles = HSC_NEW_ARRAY(site->walk->arena, double *, instr->operand_count + 1);
  double *moved = NULL;
  HSC_TRY(hsc_arena_status(site->walk->arena));
  if (!indices_are_exact(site, from, instr->operand_count))
    return hsc__error_unknown(site, error);
  for (int k = 0; k < from; k++)
    doubles[k] = errors_of(site, k);
  HSC_TRY(hsc_arena_status(site->walk->arena));
  HSC_TRY(hsc__error_replay(site, doubles, NULL, &moved));
  memcpy(error, moved, (size_t)site->count * sizeof *error);
  return NULL;
}

static bool overwrites(const hsc_instr *instr) {
  const hsc_instr *root = instr->called[0]->root;
  return root->op == HSC_OP_PARAMETER && root->attr.index.value == 1;
}

bool hsc__may_collide(const hsc_instr *instr) {
  return instr->op == HSC_OP_SCATTER && instr->operand_count == 3 && overwrites(instr) &&
         !instr->attr.scatter.unique && !hsc_type_is_complex(instr->shape.type);
}

// Adds how far the update that the evaluator took is from the others of its element: the largest
// and the smallest of them, by the same scatter that keeps those.
static hsc_status *add_collisions(const hsc__error_site *site, double *error) {
  hsc_arena *arena = site->walk->arena;
  const hsc_literal *updates = site->operands[2]->value;
  int64_t count = hsc_shape_elements(&updates->shape);
  double *doubles[3] = {HSC_NEW_ARRAY(arena, double, site->count + 1), NULL,
                        HSC_NEW_ARRAY(arena, double, count + 1)};
  double *most = NULL;
  double *least = NULL;
  HSC_TRY(hsc_arena_status(arena));
  for (int64_t i = 0; i < count; i++)
    doubles[2][i] = hsc_literal_get_double(updates, i);
  for (int64_t i = 0; i < site->count; i++)
    doubles[0][i] = -INFINITY;  // stays where no update goes
  HSC_TRY(hsc__error_replay(site, doubles, hsc__double_reducer(site->walk, HSC_OP_MAXIMUM), &most));
  for (int64_t i = 0; i < site->count; i++)
    doubles[0][i] = INFINITY;
  HSC_TRY(
      hsc__error_replay(site, doubles, hsc__double_reducer(site->walk, HSC_OP_MINIMUM), &least));
  for (int64_t i = 0; i < site->count; i++) {
    double value = hsc_literal_get_double(site->value, i);
    if (most[i] > least[i])
      error[i] += fmax(most[i] - value, value - least[i]);
  }
  return NULL;
}

hsc_status *hsc__error_scatter(const hsc__error_site *site, double *error) {
  const hsc_instr *instr = site->instr;
  const hsc_instr *root = instr->called[0]->root;
  hsc_op op = overwrites(instr) || root->op == HSC_OP_MINIMUM ? HSC_OP_MAXIMUM : root->op;
  double *doubles[3] = {NULL};
  double *sums = NULL;
  double *moved = NULL;
  if (instr->operand_count != 3 || !indices_are_exact(site, 1, 2) ||
      (op != HSC_OP_ADD && op != HSC_OP_MAXIMUM) || hsc_type_is_complex(instr->shape.type))
    return hsc__error_unknown(site, error);
  doubles[0] = errors_of(site, 0);
  doubles[2] = errors_of(site, 2);
  HSC_TRY(hsc_arena_status(site->walk->arena));
  // whichever of equal places is written last
  HSC_TRY(hsc__error_replay(site, doubles, hsc__double_reducer(site->walk, op), &moved));
  if (op == HSC_OP_ADD) {
    doubles[0] = hsc__magnitudes(site, 0, 1);
    doubles[2] = hsc__magnitudes(site, 2, 1);
    HSC_TRY(hsc_arena_status(site->walk->arena));
    HSC_TRY(hsc__error_replay(site, doubles, hsc__double_reducer(site->walk, op), &sums));
  }
  double terms = (double)hsc_shape_elements(&site->operands[2]->value->shape);
  for (int64_t i = 0; i < site->count; i++)
    error[i] = moved[i] + (sums ? 2 * terms * site->unit * sums[i] + site->tiny : 0);
  return hsc__may_collide(instr) ? add_collisions(site, error) : NULL;
}
