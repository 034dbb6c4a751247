// reduction_files.h - a reduced program as files that show the symptom by themselves.
#pragma once

#include "lab/reduce/reduction.h"

// Writes <base>.hlo, <base>.mlir (StableHLO) and <base>.py (plain JAX, inputs included), and inputs
// that the seed does not make as <base>.input<N>.bin. Each program is run afresh, in new processes:
// the two files by an observer as the reduction's were, the script by the device's Python.
// *out_document: docs/schemas/reduce.json. A form that cannot be written is null there, one that
// was not run has "shows": null, and why; "verified" is true when all that were run show it. Where
// one that was run does not, the files, the document and the reduction become those of the smallest
// earlier step of which all show it ("fell_back" says so); where no step is like that they stay.
HSC_MUST_USE hsc_status *hsc_reduction_write(const hsc_reduction_options *options,
                                             hsc_reduction *reduction,
                                             const char *base,
                                             json_t **out_document);

// A Python program that runs `module` with JAX alone and ends with exit code 1 when the device's
// numbers are not `expected` (NULL: it only runs). inputs[parameter_count], expected[results].
// Errors: UNIMPLEMENTED for what has no counterpart in jax.lax, by name.
HSC_MUST_USE hsc_status *hsc_jax_script(const hsc_module *module,
                                        hsc_literal *const *inputs,
                                        hsc_literal *const *expected,
                                        int expected_count,
                                        const char *about,
                                        hsc_bytes *out_text);
