// mlir_op_rows.h - what text and bytecode know of operations by name, from stablehlo_ops.def.
#pragma once

enum { HSC__MLIR_MOST_PROPERTIES = 6 };

// The attributes that an operation keeps as properties in bytecode, in the order of their bytes,
// separated by spaces.
typedef struct hsc__mlir_properties {
  int version;             // of the operation in VHLO; 0 = as StableHLO, CHLO or func has it
  int major, minor;        // of the StableHLO that has this version first; 0 where version is 0
  const char *attributes;  // NULL = after the last
} hsc__mlir_properties;

typedef struct hsc__mlir_op_row {
  const char *name;  // without its dialect
  const char *form;  // of its text; "" = the generic one
  hsc__mlir_properties properties[HSC__MLIR_MOST_PROPERTIES + 1];
} hsc__mlir_op_row;

// Sorted by name; the number of a row is also its number in tables that others make of SHLO and
// OTHER rows.
extern const hsc__mlir_op_row hsc__mlir_op_rows[];
extern const int hsc__mlir_op_row_count;

// The number of the row of this name; -1 when there is none.
int hsc__mlir_op_row_number(const char *name);
// The row itself, or NULL.
const hsc__mlir_op_row *hsc__mlir_op_row_of(const char *name);
