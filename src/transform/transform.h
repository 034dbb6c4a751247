// transform.h - what users do to a whole program: run it over and over (repeat), on many inputs at
// once (vmap), in a loop (scan).
//
//   hsc_transform_options options = hsc_transform_options_default();
//   hsc_module *looped;
//   HSC_TRY(hsc_transform_scan(module, 3, &options, &looped));     // f(weights, x) becomes
//   loop(weights, x) = (last x, all x)
//   hsc_module_destroy(looped);
//
// Every transform leaves `module` as it is and makes a new one (hsc_module_destroy), whose name is
// the old one with "_repeat", "_vmap" or "_scan" after it. The new module verifies.
//
// Which result feeds which argument (repeat, scan): results and parameters are counted in leaves (a
// tuple's elements count one by one). By default, in this order:
//   1. what the program itself says by input_output_alias;
//   2. a program with one result leaf: the last parameter of its shape (weights come first, the
//   data last);
//      with several (a training step): leaf i feeds the first parameter of its shape that nothing
//      feeds yet. A leaf without one (the loss)
//      feeds nothing.
// Where nothing fits (an inference: logits in place of images) every application gets data of its
// own instead: the last array among the parameters' leaves has a row for each of them, in all three
// transforms, and the result has the results of all.
#pragma once

#include "hlo/ir/hlo.h"

typedef enum hsc_randomness {
  HSC_RANDOMNESS_ERROR,      // vmap refuses random operations
  HSC_RANDOMNESS_SAME,       // every example sees the same random numbers
  HSC_RANDOMNESS_DIFFERENT,  // every example draws its own
} hsc_randomness;

typedef struct hsc_transform_options {
  // Numbers of parameter leaves. repeat and scan: arguments[i] is what result leaf i feeds, -1 =
  // nothing. vmap: the arguments that get the new dimension. NULL = by default: as reported above;
  // vmap batches what repeat would feed (weights stay shared).
  const int64_t *arguments;
  int32_t argument_count;
  // scan: parameter leaves of which step i reads row i: they get a new leading dimension of
  // `count`. NULL = none.
  const int64_t *per_step;
  int32_t per_step_count;
  bool no_history;            // scan: do not stack the state before every step
  hsc_randomness randomness;  // vmap
} hsc_transform_options;
hsc_transform_options hsc_transform_options_default(void);  // all by default, randomness an error
// "error", "same", "different"
bool hsc_randomness_parse(hsc_view text, hsc_randomness *out_randomness);

// The mapping that repeat and scan use: parameter_of_result[leaf of the result] = leaf of the
// parameters, or -1. It lives in `arena`. *out_data: -1 when something feeds something, else the
// leaf of the parameters that is the data. Errors: INVALID_ARGUMENT when neither is there (with the
// shapes of results and parameters), or when the options name a wrong number.
HSC_MUST_USE hsc_status *hsc_transform_feedback(const hsc_module *module,
                                                const hsc_transform_options *options,
                                                hsc_arena *arena,
                                                int32_t **out_parameter_of_result,
                                                int32_t *out_result_count,
                                                int32_t *out_data);
// In words, for reports: "result 0 f32[32,64] feeds parameter 2 %x". Appends one line a leaf.
HSC_MUST_USE hsc_status *hsc_transform_describe(const hsc_module *module,
                                                const hsc_transform_options *options,
                                                hsc_bytes *out_text);

// f(f(f(x))): `count` >= 1 copies of the entry computation in a row, in one computation. Parameters
// and result are as before; a result leaf that feeds nothing is the last copy's. Where nothing is
// fed: the data has a leading dimension, and the result is a tuple of the leaves of all copies,
// copy by copy.
HSC_MUST_USE hsc_status *hsc_transform_repeat(const hsc_module *module,
                                              int64_t count,
                                              const hsc_transform_options *options,
                                              hsc_module **out_module);

// A while loop of `count` >= 1 steps that carries what is fed. Parameters as before (per_step ones
// with a leading dimension). The result is a tuple of leaves, as jax.lax.scan gives it for (carry,
// _) -> (f(carry), carry):
//   the last state; the state before every step, stacked (unless no_history); what feeds nothing,
//   stacked.
HSC_MUST_USE hsc_status *hsc_transform_scan(const hsc_module *module,
                                            int64_t count,
                                            const hsc_transform_options *options,
                                            hsc_module **out_module);

// `count` >= 1 examples at once: the chosen arguments and every result get a new leading dimension.
// What does not depend on a chosen argument is computed once, and repeated only where it is a
// result.
// Errors: INVALID_ARGUMENT (no such parameter), FAILED_PRECONDITION for a random operation ("vmap:
// called random operation rng while in randomness error mode") and for operations that exchange
// data with the host or other devices, by name.
HSC_MUST_USE hsc_status *hsc_transform_vmap(const hsc_module *module,
                                            int64_t count,
                                            const hsc_transform_options *options,
                                            hsc_module **out_module);
