// refine_internal.h - what sizes (refine_sizes.c) and shapes (stablehlo_refine.c) share.
#pragma once

#include "formats/stablehlo/stablehlo_refine.h"

// How the program calls the dimensions of an argument: the texts of a specification, empty where it
// has no name for one.
typedef struct hsc__refine_spec {
  hsc_view dims[HSC_MAX_RANK];
  int rank;
} hsc__refine_spec;

struct hsc__refine {
  const hsc_dim_size *sizes;
  int size_count;
  bool *used;                     // [size_count] the program has such a dimension
  hsc__refine_spec *specs;        // [arguments of the entry]
  const int64_t **argument_dims;  // [arguments]; NULL for those whose sizes the type says
  hsc_view *missing;              // names and places without a size
  int missing_count;
};

// A tensor of which the type leaves a dimension open.
static inline bool hsc__refine_is_open(const hsc__mlir_type *type) {
  return type->kind == HSC_MLIR_TENSOR && type->shape.dynamic;
}

// An array's shape in the module. Errors: INVALID_ARGUMENT for more bytes than 2^63 and sizes below
// zero.
HSC_MUST_USE hsc_status *hsc__refine_shape(const hsc__importer *im,
                                           const hsc__mlir_op *op,
                                           hsc_type type,
                                           int rank,
                                           const int64_t *dims,
                                           hsc_shape *out_shape);
