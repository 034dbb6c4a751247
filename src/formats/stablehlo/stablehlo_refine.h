// stablehlo_refine.h - programs with symbolic dimensions: sizes for the entry's arguments, and from
// those the shape of everything else.
//
// JAX's jax.export with symbolic shapes writes tensor<?x64xf32>, passes the sizes along as scalars
// (get_dimension_size) and checks them by custom calls @shape_assertion, whose messages say what
// each dimension is called. With sizes the program is imported as the static one that it would have
// been: calls are put in line, integers that follow from sizes are computed while importing, and
// each result that has dynamic dimensions gets the shape that its operands give it.
#pragma once

#include "formats/stablehlo/stablehlo_internal.h"

typedef struct hsc__refine hsc__refine;

// Sets im->refine, which lives in im->arena; it stays NULL for a program whose shapes are all
// known. Errors: FAILED_PRECONDITION, naming every dimension that has no size; INVALID_ARGUMENT for
// a size that is none, for a dimension that the program does not have, and for sizes of a program
// that has no dimension without one; UNIMPLEMENTED for programs of several partitions.
HSC_MUST_USE hsc_status *hsc__refine_begin(hsc__importer *im,
                                           const hsc__mlir_op *entry,
                                           const hsc_dim_size *sizes,
                                           int size_count);
// The shape of argument `index` of the entry.
HSC_MUST_USE hsc_status *hsc__refine_argument(hsc__importer *im,
                                              const hsc__mlir_op *entry,
                                              int index,
                                              hsc_shape *out_shape);
// The shape of the results of an operation `hlo` that has dynamic dimensions in its type. Where
// only the instruction can tell, *out_infer is set and the shape is one to build it with, after
// which hsc__refine_infer replaces it.
HSC_MUST_USE hsc_status *hsc__refine_result(
    hsc__importer *im, const hsc__mlir_op *op, hsc_op hlo, hsc_shape *out_shape, bool *out_infer);
HSC_MUST_USE hsc_status *hsc__refine_infer(hsc__importer *im,
                                           const hsc__mlir_op *op,
                                           hsc_instr *instr);
bool hsc__refine_is_dynamic(const hsc__mlir_op *op);
// Results that follow from sizes become constants.
HSC_MUST_USE hsc_status *hsc__refine_fold(hsc__importer *im, hsc_builder *b, hsc__mlir_op *op);
// What only programs with symbolic dimensions have: custom calls that check sizes, operations whose
// attributes are operands, slices whose size alone is known. *out_done false for others.
HSC_MUST_USE hsc_status *hsc__refine_special(hsc__importer *im,
                                             hsc_builder *b,
                                             hsc__mlir_op *op,
                                             bool *out_done);
// The shape of an ordinary custom call whose results have open dimensions: operands say it, those
// from *out_kept on, which go. Errors: UNIMPLEMENTED where no operand does.
HSC_MUST_USE hsc_status *hsc__refine_custom_shapes(const hsc__importer *im,
                                                   const hsc__mlir_op *op,
                                                   hsc_shape *out_shape,
                                                   int *out_kept);
// What nothing uses any more: the arithmetic of sizes.
void hsc__refine_clean(hsc_computation *computation);
