// repeat.c - f(f(f(x))): copies of the entry computation in a row, each result feeding the next
// copy's arguments.
//
// Called computations are shared by the copies. A result leaf that feeds nothing is taken from the
// last copy; the others of it are dead and dropped. Where nothing can be fed, the copies have data
// of their own.
#include "transform/transform_internal.h"

static hsc_status *build(hsc__rewrite *r,
                         int64_t count,
                         const int32_t *feeds,
                         int result_count,
                         hsc_arena *arena,
                         hsc_instr **out_root) {
  int parameter_count = r->from->parameter_count;
  int leaf_count = 0;
  for (int i = 0; i < parameter_count; i++)
    leaf_count += hsc_shape_leaf_count(&r->from->parameters[i]->shape);
  hsc_instr **arguments = HSC_NEW_ARRAY(arena, hsc_instr *, parameter_count + 1);
  hsc_instr **leaves = HSC_NEW_ARRAY(arena, hsc_instr *, leaf_count + 1);
  hsc_instr **results = HSC_NEW_ARRAY(arena, hsc_instr *, result_count + 1);
  HSC_TRY(hsc_arena_status(arena));
  hsc__rewrite_parameters(r, arguments);
  for (int64_t step = 0; step < count && !r->b.status; step++) {
    if (step > 0) {
      // The last copy's results in the places of the arguments that they feed; tuples are put
      // together anew only where something changed.
      for (int i = 0, at = 0; i < parameter_count; i++) {
        const hsc_shape *shape = &r->from->parameters[i]->shape;
        int count_here = hsc_shape_leaf_count(shape);
        bool fed = false;
        for (int k = 0; k < result_count; k++)
          fed |= feeds[k] >= at && feeds[k] < at + count_here;
        if (fed) {
          hsc__unpack(&r->b, arguments[i], leaves + at);
          for (int k = 0; k < result_count; k++)
            if (feeds[k] >= at && feeds[k] < at + count_here)
              leaves[feeds[k]] = results[k];
          arguments[i] = hsc__pack(&r->b, shape, leaves + at);
        }
        at += count_here;
      }
    }
    HSC_TRY(hsc__transform_inline(&r->b, r->from, arguments, out_root));
    if (step + 1 < count)
      hsc__unpack(&r->b, *out_root, results);
  }
  return NULL;
}

// Nothing is fed: every copy has a row of the data, and the results of all copies are results.
static hsc_status *build_with_rows(hsc__rewrite *r,
                                   int64_t count,
                                   int32_t data,
                                   int result_count,
                                   hsc_arena *arena,
                                   hsc_instr **out_root) {
  int parameter_count = r->from->parameter_count;
  int leaf_count = 0;
  for (int i = 0; i < parameter_count; i++)
    leaf_count += hsc_shape_leaf_count(&r->from->parameters[i]->shape);
  bool *rows = HSC_NEW_ARRAY(arena, bool, leaf_count + 1);
  hsc_instr **arguments = HSC_NEW_ARRAY(arena, hsc_instr *, parameter_count + 1);
  hsc_instr **leaves = HSC_NEW_ARRAY(arena, hsc_instr *, leaf_count + 1);
  hsc_instr **results = HSC_NEW_ARRAY(arena, hsc_instr *, count * result_count + 1);
  hsc_instr *root = NULL;
  HSC_TRY(hsc_arena_status(arena));
  rows[data] = true;
  hsc__rewrite_parameters_with_rows(r, rows, count, leaves);
  hsc_instr *stack = leaves[data];
  for (int64_t step = 0; step < count && !r->b.status; step++) {
    leaves[data] = hsc__row(&r->b, stack, hsc_build_scalar(&r->b, HSC_TYPE_S32, (double)step));
    for (int i = 0, at = 0; i < parameter_count; i++) {
      arguments[i] = hsc__pack(&r->b, &r->from->parameters[i]->shape, leaves + at);
      at += hsc_shape_leaf_count(&r->from->parameters[i]->shape);
    }
    HSC_TRY(hsc__transform_inline(&r->b, r->from, arguments, &root));
    hsc__unpack(&r->b, root, results + step * result_count);
  }
  if (!r->b.status)
    *out_root = hsc_build_tuple(&r->b, (int)(count * result_count), results);
  return NULL;
}

hsc_status *hsc_transform_repeat(const hsc_module *module,
                                 int64_t count,
                                 const hsc_transform_options *options,
                                 hsc_module **out_module) {
  *out_module = NULL;
  if (count < 1)
    return HSC_ERR(INVALID_ARGUMENT, "repeat: a count of %lld; at least 1 is needed",
                   (long long)count);
  hsc_arena *arena = NULL;
  hsc__rewrite r = {0};
  hsc_instr *root = NULL;
  int32_t *feeds = NULL;
  int32_t result_count = 0;
  int32_t data = -1;
  HSC_TRY(hsc_arena_create(&arena));
  hsc_status *status = hsc_transform_feedback(module, options, arena, &feeds, &result_count, &data);
  if (!status)
    status = hsc__rewrite_begin(module, "_repeat", &r);
  if (!status) {
    status = data < 0 ? build(&r, count, feeds, result_count, arena, &root)
                      : build_with_rows(&r, count, data, result_count, arena, &root);
    status = hsc__rewrite_end(&r, root, data < 0, status, out_module);
  }
  hsc_arena_destroy(arena);
  return status ? hsc_status_note(status, "while: repeating %s", module->name) : NULL;
}
