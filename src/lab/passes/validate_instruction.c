// validate_instruction.c - which instruction of a stage has another value than the one that it was
// before: both stages are evaluated, instruction by instruction.
#include <math.h>

#include "base/core/clock.h"
#include "base/files/file_io.h"
#include "formats/common/formats.h"
#include "lab/passes/hlo_diff.h"
#include "lab/passes/validate_internal.h"
#include "lab/run/json_tree.h"
#include "lab/run/outputs.h"

// Values of all instructions of the entry computation.
typedef struct values {
  hsc_module *module;
  hsc_arena *arena;
  hsc_map *by_name;  // instruction name -> hsc_literal
} values;

static void values_deinit(values *v) {
  hsc_map_destroy(v->by_name);
  hsc_module_destroy(v->module);
  hsc_arena_destroy(v->arena);
  *v = (values){0};
}

// What the options give in place of the seed's.
static hsc_status *read_input(const hsc_validate_options *o, size_t number, hsc_literal *value) {
  const char *path = json_string_value(json_array_get(o->data, number));
  hsc_bytes data = {0};
  if (!path)
    return NULL;
  HSC_TRY(hsc_file_read(path, &data));
  size_t size = (size_t)hsc_shape_bytes(&value->shape);
  hsc_status *status = NULL;
  if (data.size != size)
    status = HSC_ERR(INVALID_ARGUMENT, "%s has %zu bytes, input %zu takes %zu", path, data.size,
                     number, size);
  else if (size)
    memcpy(value->data, data.data, size);
  hsc_bytes_deinit(&data);
  return status;
}

static hsc_status *evaluate_all(const hsc_validate_options *o, const char *path, values *out) {
  int64_t start_ns = hsc_now_ns();
  int64_t limit_ns = hsc__validate_limit(o, o->limit_ns);
  uint64_t seed = o->seed;
  *out = (values){0};
  HSC_TRY(hsc_arena_create(&out->arena));
  HSC_TRY(hsc_map_create(&out->by_name));
  HSC_TRY(hsc_program_read_file(path, &out->module));
  hsc_computation *entry = out->module->entry;
  for (hsc_instr *instr = entry->first; instr; instr = instr->next) {
    hsc_literal *value = NULL;
    hsc_literal *operands[64];
    if (o->stop && *o->stop)
      return HSC_ERR(CANCELLED, "interrupted");
    if (hsc_now_ns() - start_ns > limit_ns)
      return HSC_ERR(DEADLINE_EXCEEDED, "the evaluator did not get through in %.0f s (--limit)",
                     (double)limit_ns * 1e-9);
    if (instr->op == HSC_OP_PARAMETER) {
      if (hsc_shape_is_tuple(&instr->shape))
        return HSC_ERR(UNIMPLEMENTED, "parameter %s is a tuple", instr->name);
      HSC_TRY(hsc_literal_create(out->arena, &instr->shape, &value));
      hsc_literal_fill(value, seed, (uint32_t)instr->attr.index.value);
      HSC_TRY(read_input(o, (size_t)instr->attr.index.value, value));
    } else {
      hsc_literal **all = instr->operand_count <= 64
                              ? operands
                              : HSC_NEW_ARRAY(out->arena, hsc_literal *, instr->operand_count);
      HSC_TRY(hsc_arena_status(out->arena));
      for (int k = 0; k < instr->operand_count; k++)
        all[k] = hsc_map_get(out->by_name, hsc_view_of(instr->operands[k]->name));
      HSC_TRY(hsc_evaluate_instr(instr, all, out->arena, &value));
    }
    HSC_TRY(hsc_map_put(out->by_name, hsc_view_of(instr->name), value));
  }
  return NULL;
}

static json_t *instruction_json(const hsc_instr *instr,
                                const hsc_instr *before,
                                const hsc_difference *d) {
  static const hsc_print_options form = {
      .no_backend_config = true, .elide_large_constants = true, .no_percent = true};
  hsc_bytes text = {0};
  hsc_instr_print(instr, &form, &text);
  const char *start = hsc_bytes_text(&text);
  while (*start == ' ')
    start++;
  json_t *out = json_pack("{s:s, s:s, s:s, s:I, s:o, s:o, s:o}", "name", instr->name, "text", start,
                          "before", before->name, "element", (json_int_t)d->index, "value_before",
                          hsc_json_real(d->left), "value_after", hsc_json_real(d->right), "max_abs",
                          hsc_json_real(d->max_abs));
  if (instr->metadata && instr->metadata->op_name)
    json_object_set_new(out, "op_name", json_string(instr->metadata->op_name));
  hsc_bytes_deinit(&text);
  return out;
}

// What still counts as the same: a share of the value's size, or half of what the outputs differ by
// where that is beyond their bound and less.
static double allowed(const hsc_literal *x, double tolerance_factor, double seen) {
  double most = hsc_outputs_allowed(x, tolerance_factor);
  return seen > 0 ? fmin(most, seen / 2) : most;
}

static bool literals_agree(const hsc_literal *x,
                           const hsc_literal *y,
                           double tolerance_factor,
                           double seen) {
  hsc_difference d;
  if (!x || !y || hsc_shape_is_tuple(&x->shape) != hsc_shape_is_tuple(&y->shape))
    return false;
  if (hsc_shape_is_tuple(&x->shape)) {
    bool agree = x->shape.element_count == y->shape.element_count;
    for (int i = 0; agree && i < x->shape.element_count; i++)
      agree = literals_agree(&x->elements[i], &y->elements[i], tolerance_factor, seen);
    return agree;
  }
  hsc_status *status = hsc_shape_is_array(&x->shape) && hsc_shape_is_array(&y->shape)
                           ? hsc_literal_compare(x, y, &d)
                           : HSC_ERR(UNIMPLEMENTED, "no array");
  bool compared = status == NULL;
  hsc_status_free(status);
  return compared && d.nan_mismatches == 0 && d.max_abs <= allowed(x, tolerance_factor, seen);
}

static const hsc_literal *value_of(const values *v, const hsc_instr *instr) {
  return instr ? hsc_map_get(v->by_name, hsc_view_of(instr->name)) : NULL;
}

// The instruction of the entry computation before the pass that became `after`; NULL = none.
static const hsc_instr *partner_of(const hsc_diff *diff,
                                   const hsc_module *before,
                                   const hsc_instr *after) {
  for (size_t i = 0; i < diff->row_count; i++) {
    const hsc_diff_row *row = &diff->rows[i];
    if (row->right == after && row->left && row->left->parent == before->entry)
      return row->left;
  }
  return NULL;
}

// Whether the two values are further apart than what still counts as the same; what cannot be
// compared is not.
static hsc_status *values_differ(const hsc_literal *x,
                                 const hsc_literal *y,
                                 double tolerance_factor,
                                 double seen,
                                 hsc_difference *d,
                                 bool *out_differ) {
  *out_differ = false;
  if (!x || !y || !hsc_shape_is_array(&x->shape) || !hsc_shape_is_array(&y->shape) ||
      !hsc_shape_equal(&x->shape, &y->shape))
    return NULL;
  HSC_TRY(hsc_literal_compare(x, y, d));
  *out_differ = d->nan_mismatches > 0 || d->max_abs > allowed(x, tolerance_factor, seen);
  return NULL;
}

// The first instruction after the pass, in the order of execution, whose value is not that of what
// it was before. A fusion is compared with what it was paired with itself, and with what the root
// of its computation was paired with. *out stays NULL where all values agree.
static hsc_status *first_that_differs(const hsc_validate_options *o,
                                      const values *left,
                                      const values *right,
                                      const hsc_diff *diff,
                                      double seen,
                                      json_t **out) {
  for (const hsc_instr *r = right->module->entry->first; r; r = r->next) {
    bool is_fusion = r->op == HSC_OP_FUSION && r->called_count;
    const hsc_instr *wanted[2] = {r, is_fusion ? r->called[0]->root : NULL};
    for (int k = 0; k < 2 && wanted[k]; k++) {
      const hsc_instr *l = partner_of(diff, left->module, wanted[k]);
      hsc_difference d;
      bool differ;
      HSC_TRY(
          values_differ(value_of(left, l), value_of(right, r), o->tolerance, seen, &d, &differ));
      if (differ) {
        *out = instruction_json(r, l, &d);
        return NULL;
      }
    }
  }
  return NULL;
}

hsc_status *hsc__validate_first_difference(const hsc_validate_options *o,
                                           const char *before,
                                           const char *after,
                                           double seen,
                                           json_t **out_instruction,
                                           bool *out_agree) {
  values left = {0};
  values right = {0};
  hsc_diff diff = {0};
  hsc_status *status = NULL;
  *out_instruction = NULL;
  *out_agree = false;
  HSC_GOTO(evaluate_all(o, before, &left));
  HSC_GOTO(evaluate_all(o, after, &right));
  *out_agree = literals_agree(value_of(&left, left.module->entry->root),
                              value_of(&right, right.module->entry->root), o->tolerance, seen);
  HSC_GOTO(hsc_diff_modules(left.module, right.module, &diff));
  HSC_GOTO(first_that_differs(o, &left, &right, &diff, seen, out_instruction));
done:
  hsc_diff_deinit(&diff);
  values_deinit(&left);
  values_deinit(&right);
  return status;
}
