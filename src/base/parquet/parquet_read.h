// parquet_read.h - reads columns of numbers and texts from Apache Parquet files, as Arrow, DuckDB,
// Spark and parquet.h write them.
//
//   hsc_parquet_file *file = NULL;
//   HSC_TRY(hsc_parquet_open(bytes, &file));                                 // the bytes are
//   borrowed
//   for (size_t c = 0; c < hsc_parquet_column_count(file); c++) puts(hsc_parquet_column_name(file,
//   c));
//   double *values = hsc_alloc(hsc_parquet_row_count(file) * sizeof(double));
//   HSC_TRY(hsc_parquet_read_doubles(file, c, values));                      // null is NaN
//   hsc_parquet_close(file);
//
// Flat columns, required or optional; data pages of version 1 and 2; plain, dictionary and RLE
// encodings; uncompressed, Snappy, gzip, zstd. What else there is in a file is UNIMPLEMENTED by
// name (nested columns have the kind OTHER). Damage is INVALID_ARGUMENT with the offset. Every
// length is checked before use; a page is at most 1 GiB. Format: github.com/apache/parquet-format
// (parquet.thrift, Encodings.md, Compression.md), github.com/google/snappy
// (format_description.txt). Thread-compatible.
#pragma once

#include "base/core/bytes.h"
#include "base/core/status.h"

typedef enum hsc_parquet_kind {
  HSC_PARQUET_KIND_NUMBER,
  HSC_PARQUET_KIND_TEXT,
  HSC_PARQUET_KIND_OTHER
} hsc_parquet_kind;

typedef struct hsc_parquet_file hsc_parquet_file;
HSC_MUST_USE hsc_status *hsc_parquet_open(hsc_view bytes, hsc_parquet_file **out_file);
// NULL is fine
void hsc_parquet_close(hsc_parquet_file *file);
size_t hsc_parquet_row_count(const hsc_parquet_file *file);
size_t hsc_parquet_column_count(const hsc_parquet_file *file);
const char *hsc_parquet_column_name(const hsc_parquet_file *file, size_t column);
hsc_parquet_kind hsc_parquet_column_kind(const hsc_parquet_file *file, size_t column);
// NULL = not there; lives as long as the file
const char *hsc_parquet_get_metadata(const hsc_parquet_file *file, const char *key);
// Rows lie in groups, which can be read one by one: a file of any size in the memory of a group.
size_t hsc_parquet_group_count(const hsc_parquet_file *file);
size_t hsc_parquet_group_rows(const hsc_parquet_file *file, size_t group);
// As the functions for all rows below; out has room for the group's.
HSC_MUST_USE hsc_status *hsc_parquet_group_doubles(hsc_parquet_file *file,
                                                   size_t group,
                                                   size_t column,
                                                   double *out);
HSC_MUST_USE hsc_status *hsc_parquet_group_texts(hsc_parquet_file *file,
                                                 size_t group,
                                                 size_t column,
                                                 hsc_view *out);
// Ends the life of all texts that were read so far.
void hsc_parquet_forget_texts(hsc_parquet_file *file);
// All rows of a column, in order. out has room for every row.
// bool is 0 or 1; 64-bit integers to 53 bits
HSC_MUST_USE hsc_status *hsc_parquet_read_doubles(hsc_parquet_file *file,
                                                  size_t column,
                                                  double *out);
// Texts lie in the file's memory until it is closed or told to forget them; null is the view
// {NULL, 0}.
HSC_MUST_USE hsc_status *hsc_parquet_read_texts(hsc_parquet_file *file,
                                                size_t column,
                                                hsc_view *out);
