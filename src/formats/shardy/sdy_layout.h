// sdy_layout.h - how whole arrays are cut among the partitions of a program: what the files sdy_*.c
// share.
#pragma once

#include "formats/stablehlo/stablehlo_internal.h"

enum { HSC__MOST_AXES = 8, HSC__MOST_MESHES = 64 };

typedef struct hsc__mesh {
  hsc_view name;
  int axis_count;
  hsc_view axis_names[HSC__MOST_AXES];
  int64_t axis_sizes[HSC__MOST_AXES];
  int64_t device_count;
  // [device_count]: partition at each place of the mesh; NULL = in order
  const int64_t *device_ids;
} hsc__mesh;

// sdy_axes.c: what a mesh is made of, errors at `op`
HSC_MUST_USE hsc_status *hsc__mesh_add_axis(
    const hsc__importer *im, const hsc__mlir_op *op, hsc__mesh *mesh, hsc_view name, int64_t size);
// its device ids name each partition once
HSC_MUST_USE hsc_status *hsc__mesh_check_ids(const hsc__importer *im,
                                             const hsc__mlir_op *op,
                                             const hsc__mesh *mesh);
int hsc__mesh_axis(const hsc__mesh *mesh, hsc_view name);  // -1 = it has none of that name
const hsc__mesh *hsc__mesh_named(const hsc__importer *im, hsc_view name);  // NULL = none

// For each dimension the axes that cut it, the slowest first.
typedef struct hsc__layout {
  const hsc__mesh *mesh;
  int rank;
  int8_t counts[HSC_MAX_RANK];
  int8_t axes[HSC_MAX_RANK][HSC__MOST_AXES];
  // axes, a bit each, along which the devices hold addends of the array
  unsigned unreduced;
  // axes of `mesh`, a bit each, along which devices may hold different values: never cut along them
  unsigned barred;
  bool is_cut;              // or unreduced
  bool open[HSC_MAX_RANK];  // of a sharding as it was read: more axes may be added
} hsc__layout;

bool hsc__layout_same(const hsc__layout *a, const hsc__layout *b);
int64_t hsc__layout_pieces(const hsc__layout *layout, int dim);
// Adds the axes of `from`'s dimension to `to`'s, which has none, as far as they are not used by
// another dimension and cut `size` in equal parts.
void hsc__layout_take(
    hsc__layout *to, int dim, int64_t size, const hsc__layout *from, int from_dim);

// ---- what is known of the values of the entry: hsc_instr.scratch --------------------------------

typedef struct hsc__part {  // a partition's part of a whole array
  hsc__layout layout;
  hsc_instr *local;
  struct hsc__part *next;
} hsc__part;

typedef struct hsc__whole {
  // [leaves] as it comes: from arguments, manual computations, constraints, else by propagation;
  // NULL = not known yet
  hsc__layout *layouts;
  hsc__part *parts;
  hsc_instr *sum;  // the same value added up from what each device has of it; NULL = none
  // of a loop: the one over parts, whose values are cut as `layouts` says
  hsc_instr *divided;
  bool was_tried;  // to divide it
  bool is_fixed;   // the layout is said, not propagated
  int group;       // of values that are cut alike; -1 = none
} hsc__whole;

HSC_MUST_USE hsc_status *hsc__whole_of(hsc__importer *im, hsc_instr *instr, hsc__whole **out);
HSC_MUST_USE hsc_status *hsc__whole_add_part(hsc__importer *im,
                                             hsc_instr *instr,
                                             const hsc__layout *layout,
                                             hsc_instr *local);

// ---- rules (sdy_rules.c) ------------------------------------------------------------------------

// Which dimensions of operands and result go together: an operation on parts that are cut along
// them gives the part of its result.
typedef struct hsc__sdy_rule {
  bool known;
  bool splits[HSC_MAX_RANK];  // the result may be cut along this dimension
  // [operand][dimension]: dimension of the result, -1 = the operand must be whole there
  int8_t (*links)[HSC_MAX_RANK];
} hsc__sdy_rule;
HSC_MUST_USE hsc_status *hsc__sdy_rule_of(hsc_arena *arena,
                                          const hsc_instr *instr,
                                          hsc__sdy_rule *out);

// ---- propagation (sdy_propagate.c) --------------------------------------------------------------

// The layout of a value of the computation, by what is known of those before it. Computed for all
// at the first call.
HSC_MUST_USE hsc_status *hsc__sdy_layout_of(hsc__importer *im, hsc_instr *instr, hsc__layout *out);

HSC_MUST_USE hsc_status *hsc__sdy_propagate(hsc__importer *im, hsc_computation *computation);
// How a loop's values are best cut when some of them are as `layouts` says: [elements], those that
// are whole may become cut.
HSC_MUST_USE hsc_status *hsc__sdy_loop_layouts(hsc__importer *im,
                                               const hsc_instr *loop,
                                               hsc__layout *layouts);
bool hsc__sdy_has_groups(const hsc__importer *im);
void hsc__sdy_settle_groups(hsc__importer *im);
// of the first member that is cut; NULL before groups are settled
const hsc__layout *hsc__sdy_group_layout(const hsc__importer *im, int group);

// ---- parts (sdy_local.c) ------------------------------------------------------------------------

// The partition's part of a whole array, computed from parts where the operation allows it, else
// cut out of the whole.
HSC_MUST_USE hsc_status *hsc__sdy_local(hsc__importer *im,
                                        hsc_builder *b,
                                        const hsc__mlir_op *op,
                                        const hsc__layout *layout,
                                        hsc_instr *whole,
                                        hsc_instr **out);
// The whole array of what every partition has a part of.
HSC_MUST_USE hsc_status *hsc__sdy_gather(hsc__importer *im,
                                         hsc_builder *b,
                                         const hsc__layout *layout,
                                         hsc_instr *local,
                                         hsc_instr **out_whole);
// Reductions along cut dimensions: each partition reduces its part, then all reduce. For all of the
// entry, once propagation is done.
HSC_MUST_USE hsc_status *hsc__sdy_reductions(hsc__importer *im,
                                             hsc_builder *b,
                                             const hsc__mlir_op *op);
HSC_MUST_USE hsc_status *hsc__sdy_all_reduce(hsc__importer *im,
                                             hsc_builder *b,
                                             const hsc__mesh *mesh,
                                             unsigned axes,
                                             hsc_computation *reducer,
                                             hsc_instr *value,
                                             hsc_instr **out);
// at the end, for all users
HSC_MUST_USE hsc_status *hsc__sdy_replace(hsc__importer *im,
                                          hsc_instr *instr,
                                          hsc_instr *replacement);
// at the end its users take the divided one's results
HSC_MUST_USE hsc_status *hsc__sdy_divided(hsc__importer *im, hsc_instr *loop);
// takes out what nobody needs
void hsc__sdy_sweep(hsc__importer *im, hsc_computation *computation);
HSC_MUST_USE hsc_status *hsc__sdy_local_shape(hsc__importer *im,
                                              const hsc__mlir_op *op,
                                              const hsc__layout *layout,
                                              const hsc_shape *whole,
                                              hsc_shape *out);
void hsc__mesh_coordinates(const hsc__mesh *mesh, int64_t place, int64_t out[HSC__MOST_AXES]);
int64_t hsc__mesh_partition(const hsc__mesh *mesh, int64_t place);
int64_t hsc__layout_piece_of(const hsc__layout *layout, int dim, const int64_t at[HSC__MOST_AXES]);
// may turn out to be unneeded
HSC_MUST_USE hsc_status *hsc__sdy_made(hsc__importer *im, hsc_instr *instr);

// ---- windows over cut dimensions (sdy_halo.c) ---------------------------------------------------

// Whether parts with halos give the parts of the result, sizes of the whole input and output.
bool hsc__sdy_has_halo(const hsc_window_dim *w, int64_t input, int64_t output);
// Whether each part of the input has as many rows as its neighbours need of it.
bool hsc__sdy_halos_fit(const hsc_instr *conv, const hsc__layout *input);
// *in_out_part: of the input, cut as `input` says, becomes the one with halos; *attr, the
// convolution's, pads no more where it has them.
HSC_MUST_USE hsc_status *hsc__sdy_add_halos(hsc__importer *im,
                                            hsc_builder *b,
                                            const hsc__layout *input,
                                            hsc_attr *attr,
                                            hsc_instr **in_out_part);
// A value that goes into a manual computation: from here on it may differ along `manual`, axes of
// `mesh`, a bit each. *in_out_part becomes a copy, until the end of the import.
HSC_MUST_USE hsc_status *hsc__sdy_enter_manual(hsc__importer *im,
                                               hsc_builder *b,
                                               const hsc__mesh *mesh,
                                               unsigned manual,
                                               hsc_instr **in_out_part);
// The value without the copies that stand for it until the end of the import.
hsc_instr *hsc__sdy_behind_copies(hsc_instr *instr);
// Whether two places differ in nothing but the axes that cut this dimension.
bool hsc__layout_beside(const hsc__layout *layout,
                        int dim,
                        const int64_t a[HSC__MOST_AXES],
                        const int64_t b[HSC__MOST_AXES]);

// ---- shardings in XLA's own form (sdy_xla.c) ----------------------------------------------------

// What XLA's text of an array of `rank` dimensions says, as axes of the mesh that was made of the
// program's shardings.
HSC_MUST_USE hsc_status *hsc__sdy_xla_layout(
    hsc__importer *im, const hsc__mlir_op *op, hsc_view text, int rank, hsc__layout *out);

// ---- what an import with several partitions keeps -----------------------------------------------

struct hsc__sdy {
  hsc__mesh meshes[HSC__MOST_MESHES];
  int mesh_count;
  hsc_instr **made;  // instructions made here, which may turn out to be unneeded
  int made_count, made_capacity;
  hsc_instr **grouped;  // members of groups
  int grouped_count, grouped_capacity;
  hsc_instr **constraints;  // copies that stand for constrained values
  int constraint_count, constraint_capacity;
  hsc_instr **divided;  // loops of which there is one over parts
  int divided_count, divided_capacity;
  hsc_instr **replaced;  // pairs: an instruction, what its users take instead
  int replaced_count, replaced_capacity;
  hsc_instr **calls;  // of the host, which look at parts (sdy_calls.c)
  int call_count, call_capacity;
  int manual_depth;        // of manual computations around what is imported
  hsc_computation *entry;  // while it is built
  bool is_xla;             // the mesh was made of shardings in XLA's own form (sdy_xla.c)
  bool is_propagated, groups_are_settled;
};

// To one of the lists above.
HSC_MUST_USE hsc_status *hsc__sdy_append(
    hsc_arena *arena, hsc_instr ***list, int *count, int *capacity, hsc_instr *item);
// "{devices=[2,1]0,1}"; NULL = out of memory
const char *hsc__layout_xla_text(hsc__importer *im, const hsc__layout *layout);
