// outputs.h - the outputs of two runs against each other: bit by bit, then by how many steps of the
// type (ULP) they differ.
#pragma once

#include <jansson.h>

#include "hlo/ir/hlo.h"

// How far apart two results may lie and still be the same computation in another order: `factor`
// times the tolerance of their type, a multiple of its precision, of the largest finite value.
// Results below the type's smallest normal number may be flushed to zero, as XLA:CPU does: such a
// difference is always allowed.
double hsc_outputs_allowed(const hsc_literal *literal, double factor);
// left and right: "outputs" of a run job whose files are there. Appends one object an output:
// "device" (right_name), "against" (left_name), "output", "shape", "max_abs", "max_rel", "max_ulp"
// (null where every difference is across zero), "across_zero", "nan_mismatches", "largest_value",
// "tolerance", "allowed" (hsc_outputs_allowed), "verdict" ("equal", "close", "different"). Where an
// output of `left` has "bound" (of a "bounds" job), also "share" (times its bound that the furthest
// element is off, of those that have one; null: infinitely), "share_abs" and "share_bound" (of that
// element), "unjudged" (elements without a bound), "unjudged_abs" and "unjudged_nans" (of those),
// "boundless" (elements that differ, and may be anything).
// Errors: INVALID_ARGUMENT where they are not as many, or of other shapes: such outputs cannot be
// compared, and none of them was.
HSC_MUST_USE hsc_status *hsc_compare_outputs(
    json_t *left, json_t *right, const char *left_name, const char *right_name, json_t *out_rows);
// Whether any of such rows is not "equal".
bool hsc_any_difference(json_t *rows);
// Whether two "outputs" are as many and have the same at `key`: "digest" (of their numbers),
// "shape".
bool hsc_outputs_same(json_t *left, json_t *right, const char *key);
// One output, of its shape ("f32[32,64]") with the bytes of its file. In `arena`. Errors: INTERNAL
// where it has no file, or one of another size.
HSC_MUST_USE hsc_status *hsc_output_read(json_t *output,
                                         hsc_arena *arena,
                                         hsc_literal **out_literal);
