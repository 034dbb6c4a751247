// mlir_print_internal.h - what the two halves of the writer of MLIR text share.
#pragma once

#include "formats/common/formats_internal.h"
#include "formats/mlir/mlir_ir.h"

#define PUT(p, literal) hsc_bytes_append((p)->out, (literal), sizeof(literal) - 1)

typedef struct hsc__mlir_printer {
  hsc_bytes *out;
  bool generic, locations;
  int depth;
  int64_t next[8];  // numbers of values, by the kind of their names
  // attributes of the operation that is being written which its form has said: one bit each
  uint64_t printed;
} hsc__mlir_printer;

// ---- mlir_print_attrs.c ----
void hsc__mlir_print_type(hsc_bytes *out, const hsc__mlir_type *type);
void hsc__mlir_print_attr(hsc_bytes *out, const hsc__mlir_attr *attr);
// [1, 2] of a dense list
void hsc__mlir_print_ints(hsc_bytes *out, const hsc__mlir_attr *attr);
void hsc__mlir_print_symbol(hsc_bytes *out, hsc_view name);  // @name
void hsc__mlir_print_location(hsc_bytes *out, const hsc__mlir_attr *location);
int64_t hsc__mlir_dense_int(const hsc__mlir_attr *attr, int64_t index);
// A group of attributes that StableHLO nests: <lhs_precision_type = f32, ...> of "algorithm".
void hsc__mlir_print_group(hsc__mlir_printer *p, const hsc__mlir_op *op, const char *group);
// " <{...}>": what StableHLO itself gives the operation.
void hsc__mlir_print_properties(hsc__mlir_printer *p, const hsc__mlir_op *op);
// " {...}": the attributes that are not printed yet; nothing when there are none.
void hsc__mlir_print_rest(hsc__mlir_printer *p, const hsc__mlir_op *op, bool space);
// ---- mlir_print.c ----
void hsc__mlir_print_conv_dims(hsc__mlir_printer *p, const hsc__mlir_op *op);
