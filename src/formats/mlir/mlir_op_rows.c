// mlir_op_rows.c - the rows of stablehlo_ops.def by name.
#include "formats/mlir/mlir_op_rows.h"

#include <stdlib.h>
#include <string.h>

const hsc__mlir_op_row hsc__mlir_op_rows[] = {
#define NATIVE(attributes) {0, 0, 0, attributes},
#define VHLO(version, major, minor, attributes) {version, major, minor, attributes},
#define SHLO(name, hlo, import, export, check, form, properties) {name, form, {properties}},
#define OTHER(name, import, check, form, properties) {name, form, {properties}},
#include "formats/mlir/stablehlo_ops.def"
#undef NATIVE
#undef VHLO
};
const int hsc__mlir_op_row_count = sizeof hsc__mlir_op_rows / sizeof hsc__mlir_op_rows[0];

static int compare_names(const void *key, const void *row) {
  return strcmp(key, ((const hsc__mlir_op_row *)row)->name);
}

const hsc__mlir_op_row *hsc__mlir_op_row_of(const char *name) {
  return bsearch(name, hsc__mlir_op_rows, (size_t)hsc__mlir_op_row_count,
                 sizeof hsc__mlir_op_rows[0], compare_names);
}

int hsc__mlir_op_row_number(const char *name) {
  const hsc__mlir_op_row *row = hsc__mlir_op_row_of(name);
  return row ? (int)(row - hsc__mlir_op_rows) : -1;
}
