// arrow.h - a table through the Arrow C data interface: one struct array with a child per column,
// for pyarrow, polars, DuckDB, pandas. The two structs are the interface's own
// (arrow.apache.org/docs/format/CDataInterface.html): their layout is fixed for ever.
#pragma once

#include "report/table.h"

#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE
#define ARROW_FLAG_NULLABLE 2
struct ArrowSchema {
  const char *format;
  const char *name;
  const char *metadata;
  int64_t flags;
  int64_t n_children;
  struct ArrowSchema **children;
  struct ArrowSchema *dictionary;
  void (*release)(struct ArrowSchema *);
  void *private_data;
};
struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void **buffers;
  struct ArrowArray **children;
  struct ArrowArray *dictionary;
  void (*release)(struct ArrowArray *);
  void *private_data;
};
#endif

// Fills both; the consumer calls their release functions. Whole numbers are int64, others double,
// texts large UTF-8, yes and no bool; missing is null.
HSC_MUST_USE hsc_status *hsc_table_to_arrow(const hsc_table *table,
                                            struct ArrowSchema *out_schema,
                                            struct ArrowArray *out_array);
