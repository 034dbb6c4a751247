// given_inputs.h - the user's own numbers as the inputs of a program, out of a file of NumPy.
#pragma once

#include <jansson.h>

#include "base/core/status.h"

typedef struct hsc_given_inputs_options {
  const char *file;     // .npy or .npz
  const char *program;  // path
  const char *const *transforms;
  size_t transform_count;
} hsc_given_inputs_options;

typedef struct hsc_given_inputs {
  // the "data" of a worker's job (docs/formats/worker.md): an entry an input, the path of its
  // numbers or null where the seed makes them; NULL = all as the seed makes them
  json_t *data;
  char *dir;  // where the numbers lie; removed by deinit
} hsc_given_inputs;

// Nothing where options->file is NULL.
// An array belongs to the input that has its name: the parameter's own, or the one that its
// framework gave it (JAX: the argument's). When no name fits (numpy.savez(f, x, y) calls them
// arr_0, arr_1), the arrays are the inputs in their order, and there must be as many.
// Shapes and types must be the program's: nothing is converted silently.
// Errors: INVALID_ARGUMENT (a name that no input has, another shape or type, another count: with
// the inputs and the line of Python that makes it right), those of the two files.
HSC_MUST_USE hsc_status *hsc_given_inputs_read(const hsc_given_inputs_options *options,
                                               hsc_given_inputs *out_inputs);
// What is in the files that `data` names (borrowed; NULL = none), for plans: a search goes on only
// with the numbers that it began with. Errors: a file that cannot be read.
HSC_MUST_USE hsc_status *hsc_given_inputs_digest(const json_t *data, char out_text[33]);
void hsc_given_inputs_deinit(hsc_given_inputs *inputs);  // zeros are fine
