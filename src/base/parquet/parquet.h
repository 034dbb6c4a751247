// parquet.h - writes Apache Parquet files: flat columns, row groups of 128 Ki rows, dictionaries
// for text, zstd pages, min/max statistics.
//
//   hsc_parquet *file;
//   HSC_TRY(hsc_parquet_create((hsc_parquet_column[]){{"name", HSC_PARQUET_TEXT}, {"duration_ns",
//   HSC_PARQUET_INT64}}, 2, write, user, &file));
//   hsc_parquet_text(file, hsc_view_of("fusion.3"));        // cells in the order of the columns;
//   the last one ends the row
//   hsc_parquet_int(file, 1234);
//   hsc_status *status = hsc_parquet_finish(file);          // the footer; frees the file in any
//   case
//
// Everything is optional (may be null). Errors are sticky and come out of finish; a cell of the
// wrong type is INTERNAL there.
// Format: github.com/apache/parquet-format (parquet.thrift, Encodings.md), written so that readers
// of version 1.0 and 2.x take it: DuckDB, Arrow, Spark.
// Memory: one row group. Thread-compatible.
#pragma once

#include "base/core/bytes.h"
#include "base/core/status.h"

typedef enum hsc_parquet_type {
  HSC_PARQUET_INT64,
  HSC_PARQUET_UINT64,
  HSC_PARQUET_DOUBLE,
  HSC_PARQUET_BOOL,
  HSC_PARQUET_TEXT,  // UTF-8
  // int64 microseconds since the epoch, UTC (nanoseconds are refused by Spark)
  HSC_PARQUET_TIMESTAMP_US,
} hsc_parquet_type;

typedef struct hsc_parquet_column {
  const char *name;  // borrowed until finish
  hsc_parquet_type type;
} hsc_parquet_column;

// Where bytes go, in order.
typedef hsc_status *(*hsc_bytes_sink)(void *user, hsc_view bytes);

typedef struct hsc_parquet hsc_parquet;
HSC_MUST_USE hsc_status *hsc_parquet_create(const hsc_parquet_column *columns,
                                            size_t column_count,
                                            hsc_bytes_sink write,
                                            void *user,
                                            hsc_parquet **out_file);
// Key and value in the file's metadata; copied.
void hsc_parquet_metadata(hsc_parquet *file, const char *key, const char *value);
// INT64, UINT64 (the same bits), TIMESTAMP_US
void hsc_parquet_int(hsc_parquet *file, int64_t value);
void hsc_parquet_double(hsc_parquet *file, double value);
void hsc_parquet_bool(hsc_parquet *file, bool value);
void hsc_parquet_text(hsc_parquet *file, hsc_view value);  // copied
// The same for a text that stays where it is until finish: one that comes again is known by its
// address.
void hsc_parquet_lasting(hsc_parquet *file, const char *text);
void hsc_parquet_null(hsc_parquet *file);
HSC_MUST_USE hsc_status *hsc_parquet_finish(hsc_parquet *file);
// Frees a file that will not be finished. NULL is fine.
void hsc_parquet_abandon(hsc_parquet *file);
