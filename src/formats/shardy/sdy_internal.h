// sdy_internal.h - Shardy's operations in the import: see sdy_import.c.
#pragma once

#include "formats/stablehlo/stablehlo_internal.h"

// Attributes of Shardy's own encoding are arrays whose `column` is the number of the encoding.
// Axes: STRING (`integer` = size in a mesh; an element = only a part of the axis). Mesh: axes;
// `data` = device ids as int64. Dimension: axes; `integer` = closed. Sharding: dimensions; `text` =
// mesh, `integer` = how many axes are unreduced, which are as one more element after the
// dimensions.
enum {
  HSC__SDY_MANUAL_AXES = 0,
  HSC__SDY_MESH = 2,
  HSC__SDY_DIMENSION = 5,
  HSC__SDY_PER_VALUE = 7,
  HSC__SDY_SHARDING = 6,
  HSC__SDY_SHARDING_2 = 15,
  HSC__SDY_SHARDING_3 = 17
};

// What is said of pieces, in a program that is read whole; the operation's name.
#define HSC__NO_WHOLE \
  "%s: the program names its pieces itself (shard_map), so there is no whole for one device"

HSC_MUST_USE hsc_status *hsc__sdy_mesh(hsc__importer *im, const hsc__mlir_op *op);
HSC_MUST_USE hsc_status *hsc__sdy_manual_computation(hsc__importer *im,
                                                     hsc_builder *b,
                                                     hsc__mlir_op *op);
// A parameter of the entry of a module for several partitions: the partition's part; *out is the
// whole.
HSC_MUST_USE hsc_status *hsc__sdy_argument(hsc__importer *im,
                                           hsc_builder *b,
                                           const hsc__mlir_op *function,
                                           int index,
                                           hsc_shape whole,
                                           const char *name,
                                           hsc_instr **out);
// A result of it: the whole becomes what the partition gives; *out_sharding is XLA's text.
HSC_MUST_USE hsc_status *hsc__sdy_result(hsc__importer *im,
                                         hsc_builder *b,
                                         const hsc__mlir_op *function,
                                         int index,
                                         hsc_instr **in_out_value,
                                         const char **out_sharding);
void hsc__sdy_begin_entry(hsc__importer *im, const hsc_builder *b);
// also sdy.reshard
HSC_MUST_USE hsc_status *hsc__sdy_constraint(hsc__importer *im, hsc_builder *b, hsc__mlir_op *op);
// The value as the attributes of `op` want it cut: a copy, until the end of the import.
HSC_MUST_USE hsc_status *hsc__sdy_constrain(hsc__importer *im,
                                            hsc_builder *b,
                                            hsc__mlir_op *op,
                                            hsc_instr **in_out_value);
// Shardings in XLA's own form, of a module for several partitions without a mesh (sdy_xla.c):
// im->sdy is there afterwards, but for a program without shardings. UNIMPLEMENTED where they are
// not the axes of one mesh.
HSC_MUST_USE hsc_status *hsc__sdy_from_xla(hsc__importer *im, const hsc__mlir_op *main_op);
// Whether custom calls that mark shardings are of such a module, and what they make of their
// operand.
bool hsc__sdy_is_xla(const hsc__importer *im);
HSC_MUST_USE hsc_status *hsc__sdy_xla_mark(hsc__importer *im,
                                           hsc_builder *b,
                                           hsc__mlir_op *op,
                                           hsc_view target,
                                           const hsc_shape *result,
                                           hsc_instr **in_out_value);
// Calls of functions of the host: of one device, {id = 1, device = 0}, whose results go to the
// others; of each device with its parts, {id = 1, partitioned = 1}; and what looks at a sharding
// (HSC_INSPECT_SHARDING in hlo/ir/custom.h). Other custom calls stay as they are.
HSC_MUST_USE hsc_status *hsc__sdy_host_call(hsc__importer *im,
                                            hsc_builder *b,
                                            hsc_instr **in_out_call);
// Once the entry of a program for several partitions is there, before its results are cut.
HSC_MUST_USE hsc_status *hsc__sdy_finish_calls(hsc__importer *im,
                                               hsc_builder *b,
                                               const hsc__mlir_op *function);
HSC_MUST_USE hsc_status *hsc__sdy_group(hsc__importer *im, hsc_builder *b, hsc__mlir_op *op);
HSC_MUST_USE hsc_status *hsc__sdy_clean(hsc__importer *im);
// "{{0,1},{2,3}}" of #stablehlo.replica_group_mesh_axes (sdy_axes.c): the devices that differ along
// the axes, in the order of the axes. In the module's arena.
HSC_MUST_USE hsc_status *hsc__sdy_axis_groups(const hsc__importer *im,
                                              const hsc__mlir_op *op,
                                              const hsc__mlir_attr *groups,
                                              const char **out_text);
