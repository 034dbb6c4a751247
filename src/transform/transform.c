// transform.c - options, which result feeds which argument, and the frame of every transform: copy,
// build a new entry, verify.
#include "transform/transform_internal.h"

hsc_transform_options hsc_transform_options_default(void) {
  return (hsc_transform_options){.randomness = HSC_RANDOMNESS_ERROR};
}

bool hsc_randomness_parse(hsc_view text, hsc_randomness *out_randomness) {
  static const char *const names[] = {"error", "same", "different"};
  for (size_t i = 0; i < HSC_COUNT_OF(names); i++) {
    if (!hsc_view_equals_text(text, names[i]))
      continue;
    *out_randomness = (hsc_randomness)i;
    return true;
  }
  return false;
}

// ---- feedback -----------------------------------------------------------------------------------

static int parameter_leaf_count(const hsc_module *module) {
  int count = 0;
  for (int i = 0; i < module->entry->parameter_count; i++)
    count += hsc_shape_leaf_count(&module->entry->parameters[i]->shape);
  return count;
}

// Shape of parameter leaf `leaf`; the parameter that it belongs to in *out_parameter (may be NULL).
static const hsc_shape *parameter_leaf(const hsc_module *module,
                                       int leaf,
                                       const hsc_instr **out_parameter) {
  for (int i = 0; i < module->entry->parameter_count; i++) {
    const hsc_instr *parameter = module->entry->parameters[i];
    int count = hsc_shape_leaf_count(&parameter->shape);
    if (leaf < count) {
      if (out_parameter)
        *out_parameter = parameter;
      return hsc_shape_leaf(&parameter->shape, leaf);
    }
    leaf -= count;
  }
  return NULL;
}

// Number of the leaf at a path of tuple indices; -1 when the path does not lead to one.
static int leaf_at_path(const hsc_shape *shape, hsc_dims path) {
  int leaf = 0;
  for (int i = 0; i < path.count; i++) {
    if (!hsc_shape_is_tuple(shape) || path.v[i] < 0 || path.v[i] >= shape->element_count)
      return -1;
    for (int64_t e = 0; e < path.v[i]; e++)
      leaf += hsc_shape_leaf_count(&shape->elements[e]);
    shape = &shape->elements[path.v[i]];
  }
  return hsc_shape_is_tuple(shape) ? -1 : leaf;
}

static int first_leaf_of_parameter(const hsc_module *module, int64_t parameter) {
  int leaf = 0;
  if (parameter < 0 || parameter >= module->entry->parameter_count)
    return -1;
  for (int64_t i = 0; i < parameter; i++)
    leaf += hsc_shape_leaf_count(&module->entry->parameters[i]->shape);
  return leaf;
}

static void feed_by_alias(const hsc_module *module,
                          int parameter_count,
                          int32_t *feeds,
                          bool *fed) {
  for (int i = 0; i < module->alias_count; i++) {
    const hsc_alias *alias = &module->aliases[i];
    int result = leaf_at_path(&module->entry->root->shape, alias->output_index);
    int first = first_leaf_of_parameter(module, alias->parameter);
    if (result < 0 || first < 0)
      continue;
    int inner =
        leaf_at_path(&module->entry->parameters[alias->parameter]->shape, alias->parameter_index);
    if (inner < 0 || first + inner >= parameter_count || feeds[result] >= 0 || fed[first + inner])
      continue;
    if (!hsc_shape_equal(hsc_shape_leaf(&module->entry->root->shape, result),
                         parameter_leaf(module, first + inner, NULL)))
      continue;
    feeds[result] = first + inner;
    fed[first + inner] = true;
  }
}

static void feed_by_shape(
    const hsc_module *module, int result_count, int parameter_count, int32_t *feeds, bool *fed) {
  for (int result = 0; result < result_count; result++) {
    const hsc_shape *shape = hsc_shape_leaf(&module->entry->root->shape, result);
    if (feeds[result] >= 0 || !hsc_shape_is_array(shape))
      continue;
    for (int k = 0; k < parameter_count && feeds[result] < 0; k++) {
      int parameter = result_count == 1 ? parameter_count - 1 - k : k;
      if (fed[parameter] || !hsc_shape_equal(shape, parameter_leaf(module, parameter, NULL)))
        continue;
      feeds[result] = parameter;
      fed[parameter] = true;
    }
  }
}

static hsc_status *feed_as_told(const hsc_module *module,
                                const hsc_transform_options *options,
                                int result_count,
                                int parameter_count,
                                int32_t *feeds,
                                bool *fed) {
  if (options->argument_count > result_count)
    return HSC_ERR(INVALID_ARGUMENT, "%d arguments are to be fed, but the program has %d results",
                   (int)options->argument_count, result_count);
  for (int i = 0; i < options->argument_count; i++) {
    int64_t parameter = options->arguments[i];
    if (parameter < 0)
      continue;
    if (parameter >= parameter_count)
      return HSC_ERR(INVALID_ARGUMENT,
                     "argument %lld: the program has %d parameters, counted from 0",
                     (long long)parameter, parameter_count);
    if (fed[parameter])
      return HSC_ERR(INVALID_ARGUMENT, "argument %lld is fed by two results", (long long)parameter);
    const hsc_shape *result = hsc_shape_leaf(&module->entry->root->shape, i);
    const hsc_shape *wanted = parameter_leaf(module, (int)parameter, NULL);
    if (!hsc_shape_is_array(result) || !hsc_shape_equal(result, wanted)) {
      hsc_bytes text = {0};
      hsc_shape_print(result, false, &text);
      hsc_bytes_append_text(&text, " cannot feed an argument of shape ");
      hsc_shape_print(wanted, false, &text);
      hsc_status *status = HSC_ERR(INVALID_ARGUMENT, "result %d of shape %s (parameter %lld)", i,
                                   hsc_bytes_text(&text), (long long)parameter);
      hsc_bytes_deinit(&text);
      return status;
    }
    feeds[i] = (int32_t)parameter;
    fed[parameter] = true;
  }
  return NULL;
}

static hsc_status *nothing_fits(const hsc_module *module, int result_count, int parameter_count) {
  hsc_bytes text = {0};
  for (int i = 0; i < result_count && i < 8; i++) {
    hsc_bytes_append_text(&text, i ? ", " : "");
    hsc_shape_print(hsc_shape_leaf(&module->entry->root->shape, i), false, &text);
  }
  hsc_bytes_append_text(
      &text, result_count > 8 ? ", ...); the parameters have (" : "); the parameters have (");
  for (int i = 0; i < parameter_count && i < 16; i++) {
    hsc_bytes_append_text(&text, i ? ", " : "");
    hsc_shape_print(parameter_leaf(module, i, NULL), false, &text);
  }
  hsc_bytes_append_text(&text, parameter_count > 16 ? ", ...)" : ")");
  hsc_status *status = HSC_ERR(
      INVALID_ARGUMENT,
      "no result of %s has the shape of a parameter, so none can be fed back: the results have (%s",
      module->name, hsc_bytes_text(&text));
  hsc_bytes_deinit(&text);
  return status;
}

// The last array among the parameters' leaves: weights come first, the data last. -1: there is
// none.
static int32_t data_argument(const hsc_module *module, int parameter_count) {
  while (parameter_count > 0 &&
         !hsc_shape_is_array(parameter_leaf(module, parameter_count - 1, NULL)))
    parameter_count--;
  return parameter_count - 1;
}

hsc_status *hsc_transform_feedback(const hsc_module *module,
                                   const hsc_transform_options *options,
                                   hsc_arena *arena,
                                   int32_t **out_parameter_of_result,
                                   int32_t *out_result_count,
                                   int32_t *out_data) {
  if (!module->entry || !module->entry->root)
    return HSC_ERR(INVALID_ARGUMENT, "%s has no entry computation", module->name);
  int result_count = hsc_shape_leaf_count(&module->entry->root->shape);
  int parameter_count = parameter_leaf_count(module);
  int fed_count = 0;
  int32_t *feeds = HSC_NEW_ARRAY(arena, int32_t, result_count + 1);
  bool *fed = HSC_NEW_ARRAY(arena, bool, parameter_count + 1);
  HSC_TRY(hsc_arena_status(arena));
  for (int i = 0; i < result_count; i++)
    feeds[i] = -1;
  if (options && options->arguments) {
    HSC_TRY(feed_as_told(module, options, result_count, parameter_count, feeds, fed));
  } else {
    feed_by_alias(module, parameter_count, feeds, fed);
    feed_by_shape(module, result_count, parameter_count, feeds, fed);
  }
  for (int i = 0; i < result_count; i++)
    fed_count += feeds[i] >= 0;
  *out_data = fed_count == 0 && !(options && options->arguments)
                  ? data_argument(module, parameter_count)
                  : -1;
  // A scan of which every step has a row of its own needs nothing fed.
  bool has_rows = options && options->per_step_count > 0;
  if (fed_count == 0 && *out_data < 0 && !has_rows)
    return nothing_fits(module, result_count, parameter_count);
  *out_parameter_of_result = feeds;
  *out_result_count = result_count;
  return NULL;
}

hsc_status *hsc_transform_describe(const hsc_module *module,
                                   const hsc_transform_options *options,
                                   hsc_bytes *out_text) {
  hsc_arena *arena = NULL;
  int32_t *feeds = NULL;
  int32_t count = 0;
  int32_t data = -1;
  const hsc_instr *parameter = NULL;
  HSC_TRY(hsc_arena_create(&arena));
  hsc_status *status = hsc_transform_feedback(module, options, arena, &feeds, &count, &data);
  if (!status && data >= 0) {
    parameter_leaf(module, data, &parameter);
    hsc_bytes_printf(
        out_text,
        "no result feeds a parameter: each application gets a parameter %d %%%s of its own\n",
        (int)data, parameter->name);
    count = 0;
  }
  for (int i = 0; i < count && !status; i++) {
    hsc_bytes_printf(out_text, "result %d ", i);
    hsc_shape_print(hsc_shape_leaf(&module->entry->root->shape, i), false, out_text);
    if (feeds[i] < 0) {
      hsc_bytes_append_text(out_text, " feeds nothing\n");
    } else {
      parameter_leaf(module, feeds[i], &parameter);
      hsc_bytes_printf(out_text, " feeds parameter %d %%%s\n", (int)feeds[i], parameter->name);
    }
  }
  if (!status)
    status = hsc_bytes_status(out_text);
  hsc_arena_destroy(arena);
  return status;
}

// ---- the frame of a transform -------------------------------------------------------------------

hsc_status *hsc__rewrite_begin(const hsc_module *module,
                               const char *suffix,
                               hsc__rewrite *out_rewrite) {
  *out_rewrite = (hsc__rewrite){0};
  if (!module->entry || !module->entry->root)
    return HSC_ERR(INVALID_ARGUMENT, "%s has no entry computation", module->name);
  HSC_TRY(hsc_module_clone(module, &out_rewrite->module));
  hsc_module *copy = out_rewrite->module;
  out_rewrite->from = copy->entry;
  copy->name = hsc_arena_printf(copy->arena, "%s%s", module->name, suffix);
  copy->is_scheduled = false;
  const char *name = hsc_arena_printf(copy->arena, "%s%s", copy->entry->name, suffix);
  hsc_status *status = hsc_arena_status(copy->arena);
  if (status) {
    hsc_module_destroy(copy);
    return status;
  }
  hsc_builder_init(&out_rewrite->b, copy, name);
  return NULL;
}

// Unused instructions that a transform left behind. Parameters stay.
static void sweep(hsc_computation *computation) {
  for (hsc_instr *instr = computation->last, *previous; instr; instr = previous) {
    previous = instr->prev;
    if (hsc_instr_is_dead(instr))
      hsc_instr_remove(instr);
  }
}

hsc_status *hsc__rewrite_end(hsc__rewrite *rewrite,
                             hsc_instr *root,
                             bool same_signature,
                             hsc_status *status,
                             hsc_module **out_module) {
  hsc_module *module = rewrite->module;
  hsc_computation *entry = NULL;
  hsc_status *built = hsc_builder_finish(&rewrite->b, status ? NULL : root, &entry);
  if (status)
    hsc_status_free(built);
  else
    status = built;
  if (!status) {
    module->entry = entry;
    if (!same_signature) {
      module->layout_text = NULL;
      module->alias_count = module->donor_count = 0;
    }
    for (int i = 0; i < module->computation_count; i++)
      sweep(module->computations[i]);
    status = hsc_module_sort(module);
    // The old entry is gone, and its parameters' names are free again.
    for (int i = 0; i < entry->parameter_count && !status; i++)
      if (i < rewrite->from->parameter_count)
        status = hsc_instr_set_name(entry->parameters[i], rewrite->from->parameters[i]->name);
  }
  if (!status)
    status = hsc_arena_status(module->arena);
  if (!status)
    status = hsc_module_verify(module);
  if (status) {
    hsc_module_destroy(module);
    return status;
  }
  *out_module = module;
  return NULL;
}

void hsc__rewrite_parameters(hsc__rewrite *rewrite, hsc_instr **out_parameters) {
  for (int i = 0; i < rewrite->from->parameter_count; i++)
    out_parameters[i] = hsc_build_clone(&rewrite->b, rewrite->from->parameters[i], NULL);
}

// The shape with the new dimension in the leaves that have rows.
static hsc_shape with_rows(
    hsc_arena *arena, const hsc_shape *shape, const bool *rows, int64_t count, int *at) {
  if (!hsc_shape_is_tuple(shape))
    return rows[(*at)++] ? hsc__stacked_shape(arena, shape, count) : *shape;
  hsc_shape *elements = HSC_NEW_ARRAY(arena, hsc_shape, shape->element_count + 1);
  for (int i = 0; elements && i < shape->element_count; i++)
    elements[i] = with_rows(arena, &shape->elements[i], rows, count, at);
  return hsc_shape_tuple(arena, elements ? shape->element_count : 0, elements);
}

void hsc__rewrite_parameters_with_rows(hsc__rewrite *rewrite,
                                       const bool *rows,
                                       int64_t count,
                                       hsc_instr **out_leaves) {
  for (int i = 0, at = 0; i < rewrite->from->parameter_count; i++) {
    const hsc_instr *old = rewrite->from->parameters[i];
    int leaves = hsc_shape_leaf_count(&old->shape);
    int from = at;
    bool changed = false;
    for (int k = 0; k < leaves; k++)
      changed |= rows[at + k];
    hsc_instr *parameter =
        changed ? hsc_build_parameter(
                      &rewrite->b, i,
                      with_rows(rewrite->module->arena, &old->shape, rows, count, &from), old->name)
                : hsc_build_clone(&rewrite->b, old, NULL);
    hsc__unpack(&rewrite->b, parameter, out_leaves + at);
    at += leaves;
  }
}
