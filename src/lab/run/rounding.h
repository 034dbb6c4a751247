// rounding.h - how far rounding carries in a program: what a last place of its inputs makes of its
// outputs. Differences up to that size say nothing of a pass.
#pragma once

#include <jansson.h>

#include "base/core/status.h"

// moved: rows of hsc_compare_outputs between the outputs and those on inputs moved by a last place
// ("perturb" of a run job); NULL = not measured.

// Whether row `output` of another comparison, which is beyond its type's tolerance, is so by no
// more than `moved` is: by four times what this output moved, or by the largest share of its size
// that any output moved by. NaN where there was none is never rounding.
bool hsc_is_rounding(const json_t *moved, json_t *row, size_t output);
// What a derived bound (outputs.h) says of a row.
typedef enum hsc_bound_says {
  HSC_BOUND_UNKNOWN,  // there is none, or not of every element, and the others are within
  HSC_BOUND_WITHIN,
  HSC_BOUND_BEYOND,
} hsc_bound_says;
hsc_bound_says hsc_bound_says_of(json_t *row);
// To how many bits a platform may shorten factors of products of f32 before they are multiplied,
// where the program does not ask for more (PrecisionConfig): a relative precision, for the
// "bounds" job. 0 = none. NULL: as a CPU.
double hsc_factor_unit(const char *platform);
// {"max_abs", "outputs", "outputs_beyond_tolerance"}; null when not measured. A new reference.
json_t *hsc_rounding_json(const json_t *moved);

// The relative size of a perturbation of one last place: of the narrowest 16-bit float type that
// the program computes with, or of f32 where it computes with f64 as well, else the least that
// moves anything (the worker rounds it up to a last place of each input's own type). Errors: of
// reading the program.
HSC_MUST_USE hsc_status *hsc_program_perturbation(const char *path, double *out_share);

// Whether a program draws random numbers for which no algorithm is laid down (rng, the global
// random state, a generator of the device's own algorithm): each device has its own, and there is
// nothing to compare. Errors: of reading the program.
HSC_MUST_USE hsc_status *hsc_program_draws(const char *path, bool *out_draws);
