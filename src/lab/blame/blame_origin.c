// blame_origin.c - which instruction makes the first NaN of a program: the evaluator walks it, into
// calls, fusions and loops, and looks at every value.
#include <math.h>

#include "base/core/clock.h"
#include "formats/common/formats.h"
#include "lab/blame/blame_internal.h"
#include "lab/run/outputs.h"

typedef struct walk {
  const hsc_blame_options *options;
  hsc_arena *arena;
  int64_t start_ns;
  const hsc_instr *found;  // NULL = none yet
  hsc_bytes operands;      // of it, at the element: "log of -0.31"
} walk;

// The first element that is NaN; -1 = none. Tuples: whether any leaf has one.
static int64_t nan_of(const hsc_literal *literal) {
  if (hsc_shape_is_tuple(&literal->shape)) {
    for (int i = 0; i < literal->shape.element_count; i++) {
      int64_t at = nan_of(&literal->elements[i]);
      if (at >= 0)
        return at;
    }
    return -1;
  }
  if (!hsc_shape_is_array(&literal->shape) || !hsc_type_is_float(literal->shape.type))
    return -1;
  int64_t count = hsc_shape_elements(&literal->shape);
  for (int64_t i = 0; i < count; i++)
    if (isnan(hsc_literal_get_double(literal, i)))
      return i;
  return -1;
}

static void describe(walk *w, const hsc_instr *instr, hsc_literal *const *operands, int64_t at) {
  w->found = instr;
  hsc_bytes_printf(&w->operands, "%s of", hsc_op_text(instr->op));
  for (int k = 0; k < instr->operand_count; k++) {
    const hsc_literal *value = operands[k];
    bool same = hsc_shape_is_array(&value->shape) &&
                hsc_shape_elements(&value->shape) == hsc_shape_elements(&instr->shape);
    if (same)
      hsc_bytes_printf(&w->operands, "%s %.9g", k ? "," : "", hsc_literal_get_double(value, at));
    else
      hsc_bytes_printf(&w->operands, "%s %s", k ? "," : "", instr->operands[k]->name);
  }
}

static hsc_status *walk_computation(walk *w,
                                    const hsc_computation *computation,
                                    hsc_literal *const *arguments,
                                    hsc_literal **out_value);

static hsc_status *walk_loop(walk *w,
                             const hsc_instr *instr,
                             hsc_literal *state,
                             hsc_literal **out_value) {
  for (;;) {
    hsc_literal *goes_on = NULL;
    HSC_TRY(hsc_evaluate_computation(instr->called[0], 1, &state, w->arena, &goes_on));
    if (!hsc_literal_get_int(goes_on, 0) || w->found)
      break;
    HSC_TRY(walk_computation(w, instr->called[1], &state, &state));
  }
  *out_value = state;
  return NULL;
}

static hsc_status *walk_instr(walk *w,
                              const hsc_instr *instr,
                              hsc_literal *const *operands,
                              hsc_literal **out_value) {
  bool before = false;
  for (int k = 0; k < instr->operand_count; k++)
    before |= nan_of(operands[k]) >= 0;
  if (!before && instr->op == HSC_OP_WHILE && instr->called_count == 2)
    return walk_loop(w, instr, operands[0], out_value);
  if (!before && (instr->op == HSC_OP_CALL || instr->op == HSC_OP_FUSION) && instr->called_count)
    return walk_computation(w, instr->called[0], operands, out_value);
  HSC_TRY(hsc_evaluate_instr(instr, operands, w->arena, out_value));
  int64_t at = nan_of(*out_value);
  if (!before && at >= 0 && instr->op != HSC_OP_CONSTANT)
    describe(w, instr, operands, at);
  return hsc_bytes_status(&w->operands);
}

static hsc_status *walk_computation(walk *w,
                                    const hsc_computation *computation,
                                    hsc_literal *const *arguments,
                                    hsc_literal **out_value) {
  hsc_map *values = NULL;
  hsc_status *status = hsc_map_create(&values);
  *out_value = NULL;
  for (hsc_instr *instr = computation->first; instr && !status && !w->found; instr = instr->next) {
    hsc_literal *value = NULL;
    hsc_literal **operands = HSC_NEW_ARRAY(w->arena, hsc_literal *, instr->operand_count + 1);
    status = hsc_arena_status(w->arena);
    for (int k = 0; k < instr->operand_count && !status; k++)
      operands[k] = hsc_map_get(values, hsc_view_of(instr->operands[k]->name));
    if (!status && hsc_now_ns() - w->start_ns > w->options->limit_ns)
      status = HSC_ERR(DEADLINE_EXCEEDED, "the evaluator did not get through in time");
    if (!status && w->options->stop && *w->options->stop)
      status = HSC_ERR(CANCELLED, "interrupted");
    if (!status && instr->op == HSC_OP_PARAMETER)
      value = arguments[instr->attr.index.value];
    else if (!status)
      status = walk_instr(w, instr, operands, &value);
    if (!status && !w->found)
      status = hsc_map_put(values, hsc_view_of(instr->name), value);
    if (instr == computation->root)
      *out_value = value;
  }
  hsc_map_destroy(values);
  return status;
}

static hsc_status *walk_entry(walk *w, const hsc_module *module) {
  const hsc_computation *entry = module->entry;
  hsc_literal **inputs = HSC_NEW_ARRAY(w->arena, hsc_literal *, entry->parameter_count + 1);
  hsc_literal *result = NULL;
  HSC_TRY(hsc_arena_status(w->arena));
  for (int p = 0; p < entry->parameter_count; p++) {
    if (!hsc_shape_is_array(&entry->parameters[p]->shape))
      return HSC_ERR(UNIMPLEMENTED, "parameter %d is a tuple", p);
    HSC_TRY(hsc_literal_create(w->arena, &entry->parameters[p]->shape, &inputs[p]));
    hsc_literal_fill(inputs[p], w->options->seed, (uint32_t)p);
  }
  return walk_computation(w, entry, inputs, &result);
}

static json_t *origin_json(const walk *w) {
  static const hsc_print_options form = {
      .no_backend_config = true, .elide_large_constants = true, .no_percent = true};
  const hsc_metadata *m = w->found->metadata;
  hsc_bytes text = {0};
  hsc_bytes source = {0};
  hsc_bytes operands = w->operands;
  hsc_instr_print(w->found, &form, &text);
  const char *start = hsc_bytes_text(&text);
  while (*start == ' ')
    start++;
  if (m && m->source_file)
    hsc_bytes_printf(&source, "%s:%d", m->source_file, (int)m->source_line);
  json_t *json = json_pack("{s:s, s:s, s:s, s:s?, s:s?}", "name", w->found->name, "text", start,
                           "operands", hsc_bytes_text(&operands), "op_name", m ? m->op_name : NULL,
                           "source", source.size ? hsc_bytes_text(&source) : NULL);
  hsc_bytes_deinit(&text);
  hsc_bytes_deinit(&source);
  return json;
}

static hsc_status *any_nan(json_t *outputs, bool *out_any) {
  json_t *output;
  size_t i;
  *out_any = false;
  json_array_foreach (outputs, i, output) {
    hsc_arena *arena = NULL;
    hsc_literal *literal = NULL;
    HSC_TRY(hsc_arena_create(&arena));
    hsc_status *status = hsc_output_read(output, arena, &literal);
    if (!status)
      *out_any |= nan_of(literal) >= 0;
    hsc_arena_destroy(arena);
    HSC_TRY(status);
  }
  return NULL;
}

hsc_status *hsc__blame_nan_origin(hsc__blame *b, json_t **out_instruction) {
  walk w = {.options = b->options, .start_ns = hsc_now_ns()};
  hsc_module *module = NULL;
  bool any = false;
  *out_instruction = NULL;
  HSC_TRY(any_nan(b->right, &any));
  if (!any)
    return NULL;
  hsc_status *status = hsc_arena_create(&w.arena);
  if (!status)
    status = hsc_program_read_file(b->options->program, &module);
  if (!status)
    status = walk_entry(&w, module);
  if (!status && w.found)
    *out_instruction = origin_json(&w);
  if (status && hsc_status_code(status) != HSC_CANCELLED &&
      hsc_status_code(status) != HSC_RESOURCE_EXHAUSTED) {
    hsc__blame_tell(b, "which instruction makes the NaN?", "cannot be said: %s",
                    hsc_status_message(status));
    hsc_status_free(status);
    status = NULL;
  }
  hsc_bytes_deinit(&w.operands);
  hsc_module_destroy(module);
  hsc_arena_destroy(w.arena);
  return status;
}
