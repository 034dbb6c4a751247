// stablehlo_internal.h - what the two halves of the StableHLO import share.
#pragma once

#include "formats/mlir/mlir_ir.h"

enum { HSC__KNOWN_NAMES = 256 };

typedef struct hsc__importer {
  hsc_module *module;
  hsc__mlir_op *top;
  const char *path;
  hsc_arena *arena;    // dies with the import
  hsc_map *functions;  // name -> function record
  struct {
    const char *name;  // by its address: readers keep one copy of each name, as a rule
    int row;
  } known[HSC__KNOWN_NAMES];  // rows that were looked up (stablehlo_import.c)
  int depth;
  int partition_count;  // mhlo.num_partitions
  int64_t inlined;      // operations of calls that are in line
  // meshes and parts of arrays (sdy_import.c); NULL = the program has no mesh
  struct hsc__sdy *sdy;
  const hsc_dim_size *sizes;  // [size_count] as the user gives them
  int size_count;
  // what symbolic dimensions are (stablehlo_refine.h); NULL = all shapes are known
  struct hsc__refine *refine;
} hsc__importer;

// INVALID_ARGUMENT or UNIMPLEMENTED at the operation: "stablehlo.dot_general: ...
// (jit(f)/dot_general)".
#define HSC_OP_ERR(code, im, op, ...) hsc__import_error(HSC_ERR(code, __VA_ARGS__), (im), (op))
HSC_MUST_USE hsc_status *hsc__import_error(hsc_status *status,
                                           const hsc__importer *im,
                                           const hsc__mlir_op *op);

HSC_MUST_USE hsc_status *hsc__import_shape(const hsc__importer *im,
                                           const hsc__mlir_op *op,
                                           const hsc__mlir_type *type,
                                           hsc_shape *out_shape);
// One array result, or a tuple of several.
HSC_MUST_USE hsc_status *hsc__import_result_shape(const hsc__importer *im,
                                                  const hsc__mlir_op *op,
                                                  hsc_shape *out_shape);
// A location as metadata: the innermost file and the outermost name; NULL = it has neither.
const hsc_metadata *hsc__import_metadata(hsc__importer *im, const hsc__mlir_attr *location);
// stablehlo_entry.c: aliasing, donation and shardings of the entry's arguments and results.
HSC_MUST_USE hsc_status *hsc__import_argument_attrs(hsc__importer *im, const hsc__mlir_op *main_op);
// The layouts that are asked for of the entry's arguments and results, as HLO says them.
HSC_MUST_USE hsc_status *hsc__import_layouts(hsc__importer *im, const hsc__mlir_op *main_op);
// A region without captures (but of constants) as a computation: reducers, comparators.
HSC_MUST_USE hsc_status *hsc__import_region(hsc__importer *im,
                                            const hsc__mlir_op *op,
                                            int region,
                                            const char *name,
                                            hsc_computation **out_computation);
// Appends the operations of a block to the builder's computation; *out_terminator NULL when it has
// none.
HSC_MUST_USE hsc_status *hsc__import_block(hsc__importer *im,
                                           hsc_builder *b,
                                           hsc__mlir_block *block,
                                           hsc__mlir_op **out_terminator);
// A function by its symbol, as a computation.
HSC_MUST_USE hsc_status *hsc__import_function_by_name(hsc__importer *im,
                                                      const hsc__mlir_op *op,
                                                      hsc_view name,
                                                      hsc_computation **out_computation);
// The operation that is the function of this name; NULL when there is none.
const hsc__mlir_op *hsc__import_function_op(const hsc__importer *im, hsc_view name);
// What is not StableHLO's own: sharding, frontend attributes, configuration, accuracy; attributes
// of other dialects become frontend attributes.
HSC_MUST_USE hsc_status *hsc__import_attributes(hsc__importer *im,
                                                const hsc__mlir_op *op,
                                                hsc_instr *instr);
// {key = value} in MLIR's spelling; nothing for NULL
void hsc__import_dict_text(const hsc__mlir_attr *attr, hsc_bytes *out);
// What stablehlo.custom_call @mhlo.NAME means: elementwise operations of XLA that StableHLO has
// not, and topk. HSC_OP_COUNT for others.
hsc_op hsc__mhlo_op(hsc_view name);
// The results of `op` are the elements of `value`, or `value` itself when there is one.
void hsc__import_set_results(hsc_builder *b, hsc__mlir_op *op, hsc_instr *value);

// What StableHLO asks of operations and HLO does not (stablehlo_check.c); `row` as below. The
// operands have their instructions.
HSC_MUST_USE hsc_status *hsc__import_check(const hsc__importer *im,
                                           const hsc__mlir_op *op,
                                           int row);
// stablehlo_check_ragged.c
HSC_MUST_USE hsc_status *hsc__import_check_ragged_dot(const hsc__importer *im,
                                                      const hsc__mlir_op *op);

// An operation of StableHLO that is one of HLO, by the number of its row in stablehlo_ops.def;
// those of other rows, and of none (-1), are CHLO's or refused by name.
HSC_MUST_USE hsc_status *hsc__import_plain_op(hsc__importer *im,
                                              hsc_builder *b,
                                              hsc__mlir_op *op,
                                              int row);

// The same for CHLO; *out_done false when it is none of it.
HSC_MUST_USE hsc_status *hsc__import_chlo_op(hsc__importer *im,
                                             hsc_builder *b,
                                             hsc__mlir_op *op,
                                             bool *out_done);
// A comparison of operands that are brought to one shape already.
HSC_MUST_USE hsc_status *hsc__import_compare(hsc__importer *im,
                                             hsc_builder *b,
                                             hsc__mlir_op *op,
                                             hsc_instr **operands);
// True when a composite was replaced by an op of HLO.
bool hsc__import_chlo_composite(hsc_builder *b, hsc__mlir_op *op);

// Attributes as numbers: dense tensors and arrays of integers. A missing one gives count 0.
HSC_MUST_USE hsc_status *hsc__import_dims(const hsc__importer *im,
                                          const hsc__mlir_op *op,
                                          const char *name,
                                          hsc_dims *out_dims);
int64_t hsc__import_int(const hsc__mlir_op *op, const char *name, int64_t missing);
hsc_view hsc__import_text(const hsc__mlir_op *op, const char *name);  // empty when missing
