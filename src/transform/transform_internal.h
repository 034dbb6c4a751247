// transform_internal.h - what the transforms share: a working copy of the module, inlining, leaves
// of tuples, rows of stacked arrays; and vmap's frame, values and rules.
#pragma once

#include "transform/transform.h"

// ---- the new entry computation ------------------------------------------------------------------

// A copy of the module and a builder for its new entry. `from` is the old entry, which stays until
// the new one replaces it.
typedef struct hsc__rewrite {
  hsc_module *module;
  hsc_computation *from;
  hsc_builder b;
} hsc__rewrite;
// `suffix` ("_vmap") goes after the names of the module and of the entry.
HSC_MUST_USE hsc_status *hsc__rewrite_begin(const hsc_module *module,
                                            const char *suffix,
                                            hsc__rewrite *out_rewrite);
// Makes what was built with `root` the entry, drops what is not reached any more, verifies. Takes
// `status`: when it is not NULL, only cleans up and returns it.
HSC_MUST_USE hsc_status *hsc__rewrite_end(hsc__rewrite *rewrite,
                                          hsc_instr *root,
                                          bool same_signature,
                                          hsc_status *status,
                                          hsc_module **out_module);
// Same parameters as the old entry's, in the new one.
void hsc__rewrite_parameters(hsc__rewrite *rewrite, hsc_instr **out_parameters);
// The same, as leaves, those with rows[leaf] with a new leading dimension of `count`.
void hsc__rewrite_parameters_with_rows(hsc__rewrite *rewrite,
                                       const bool *rows,
                                       int64_t count,
                                       hsc_instr **out_leaves);

// Copies all instructions of `computation` (of the same module) into the builder's; arguments[i]
// stand for parameter i.
HSC_MUST_USE hsc_status *hsc__transform_inline(hsc_builder *b,
                                               hsc_computation *computation,
                                               hsc_instr *const *arguments,
                                               hsc_instr **out_root);

// Leaves of an array or nested tuple, depth first; get-tuple-elements are built as needed. `leaves`
// has room for hsc_shape_leaf_count.
void hsc__unpack(hsc_builder *b, hsc_instr *value, hsc_instr **leaves);
// The reverse: a value of the tuple structure of `shape` from leaves, whose own shapes count.
hsc_instr *hsc__pack(hsc_builder *b, const hsc_shape *shape, hsc_instr *const *leaves);

// ---- rows of arrays that are stacked along dimension 0 ------------------------------------------

// arrays; tuples element by element; tokens as they are
hsc_shape hsc__stacked_shape(hsc_arena *arena, const hsc_shape *shape, int64_t count);
// index: s32 scalar
hsc_instr *hsc__row(hsc_builder *b, hsc_instr *stack, hsc_instr *index);
hsc_instr *hsc__set_row(hsc_builder *b, hsc_instr *stack, hsc_instr *row, hsc_instr *index);
// of an array's shape
hsc_instr *hsc__zeros(hsc_builder *b, const hsc_shape *shape);

// ---- vmap ---------------------------------------------------------------------------------------

typedef struct hsc__vmap {
  hsc_module *module;  // the working copy
  hsc_arena *arena;    // scratch, of this one vmap
  int64_t count;
  hsc_randomness randomness;
  hsc_map *computations;  // batched versions, by computation and flags
  hsc_map *random;        // by computation: whether it or what it calls draws random numbers
} hsc__vmap;

// A value in the batched program. batched[i] tells whether leaf i has the new leading dimension.
typedef struct hsc__batch {
  hsc_instr *instr;
  const bool *batched;  // [leaf_count]
  int32_t leaf_count;
} hsc__batch;

typedef struct hsc__vmap_frame {
  hsc__vmap *cx;
  hsc_builder b;
} hsc__vmap_frame;

// One op: instr is of the original; at least one operand is batched, unless the op is one of
// control or randomness.
typedef hsc_status *(*hsc__vmap_rule)(hsc__vmap_frame *f,
                                      hsc_instr *instr,
                                      const hsc__batch *operands,
                                      hsc__batch *out);
hsc__vmap_rule hsc__vmap_rule_of(hsc_op op);
#define HSC__VMAP(name) \
  HSC_MUST_USE hsc_status *hsc__vmap_##name(hsc__vmap_frame *f, hsc_instr *instr, \
                                            const hsc__batch *operands, hsc__batch *out)
// vmap_elementwise.c
HSC__VMAP(elementwise);
HSC__VMAP(select);
HSC__VMAP(clamp);
HSC__VMAP(map);
// vmap_shape.c
HSC__VMAP(given_shape);
HSC__VMAP(bitcast);
HSC__VMAP(broadcast);
HSC__VMAP(transpose);
HSC__VMAP(slice);
HSC__VMAP(pad);
HSC__VMAP(dims_plus_one);
HSC__VMAP(set_dimension_size);
// vmap_index.c
HSC__VMAP(dynamic_slice);
HSC__VMAP(dynamic_update_slice);
HSC__VMAP(gather);
HSC__VMAP(scatter);
// vmap_reduce.c
HSC__VMAP(reduce);
HSC__VMAP(reduce_window);
HSC__VMAP(select_and_scatter);
// vmap_contract.c
HSC__VMAP(dot);
HSC__VMAP(convolution);
// vmap_control.c
HSC__VMAP(tuple);
HSC__VMAP(get_tuple_element);
HSC__VMAP(first_operand);
HSC__VMAP(call);
HSC__VMAP(while);
HSC__VMAP(conditional);
HSC__VMAP(custom_call);
// vmap_random.c
HSC__VMAP(rng);
HSC__VMAP(rng_bit_generator);
HSC__VMAP(rng_state);
// vmap_loop.c: the op as it is, once for every example, in a loop; right for every op that has no
// effect
HSC__VMAP(by_loop);

// The batched version of a computation for parameters whose leaves are batched as `in` says (all
// parameters' leaves in a row). `at_least` (may be NULL): leaves of the result that must be batched
// in any case. out_flags has room for the result's leaves.
HSC_MUST_USE hsc_status *hsc__vmap_computation(hsc__vmap *cx,
                                               hsc_computation *computation,
                                               const bool *in,
                                               const bool *at_least,
                                               hsc_computation **out_computation,
                                               bool *out_flags);
// Whether a computation, or what it calls, draws random numbers.
bool hsc__vmap_op_is_random(hsc_op op);

// Helpers for rules.
bool hsc__any(const hsc__batch *value);
bool hsc__is_batched(const hsc__batch *value);  // of an array
// The value with the leading dimension: itself, or repeated.
hsc_instr *hsc__batched(hsc__vmap_frame *f, const hsc__batch *value);
// A whole tuple or array with the leaves batched that `flags` says; leaves that are batched already
// stay.
hsc_instr *hsc__promote(hsc__vmap_frame *f, const hsc__batch *value, const bool *flags);
// A scalar per example [count], or one for all, in every place of `shape` (which has the leading
// dimension).
hsc_instr *hsc__spread(hsc__vmap_frame *f, const hsc__batch *scalar, const hsc_shape *shape);
// `like` with other attributes and operands, its called computations, and an inferred shape.
// `shape` gives what inference cannot know.
hsc_instr *hsc__emit(hsc__vmap_frame *f,
                     const hsc_instr *like,
                     const hsc_attr *attr,
                     hsc_shape shape,
                     int count,
                     hsc_instr *const *operands);
hsc_shape hsc__batched_shape(hsc__vmap_frame *f, const hsc_shape *shape);
// With the new dimension in the leaves that `flags` names, from *at on, which moves past them.
hsc_shape hsc__vmap_shape(hsc__vmap_frame *f, const hsc_shape *shape, const bool *flags, int *at);
// All leaves batched, or none.
void hsc__give(hsc__vmap_frame *f, hsc_instr *instr, bool batched, hsc__batch *out);
hsc_dims hsc__plus_one(hsc_arena *arena, hsc_dims dims);
hsc_dims hsc__zero_and_plus_one(hsc_arena *arena, hsc_dims dims);  // {0, d + 1...}
// for operands; NULL when there is none (the arena remembers)
hsc_instr **hsc__transform_room(hsc__vmap_frame *f, int count);
