// table_internal.h - the inside of a table, for the files that print it.
#pragma once

#include "report/table.h"

typedef struct hsc_column {
  const char *name, *unit;  // in the table's arena
  // kinds of its cells so far, a bit each; of rows on demand those of all, once table->surveyed
  uint32_t seen;
} hsc_column;

struct hsc_table {
  hsc_arena *arena;
  const char *view;
  hsc_bytes columns;  // of hsc_column
  hsc_bytes cells;    // of hsc_cell, row by row
  hsc_bytes notes;    // of const char *
  size_t row_count, column_count;
  hsc_cell *row;     // the one that is being filled; NULL = none
  size_t next_cell;  // its next column
  bool misused;      // a programmer's error, told by print
  char *hex_room;    // texts of hsc_table_hex, many in one piece of the arena
  int hex_left;      // that may still be written there
  struct {
    // texts that came last, by the address they came from: mostly they come again
    const char *given, *copy;
  } recent[64];
  // Rows on demand (table_on_demand.c): `cells` holds one row.
  hsc_table_make_row *make;  // NULL = rows are kept
  void (*release)(void *user);
  void *user;
  hsc_arena *user_arena;
  size_t current;  // the row that is made; SIZE_MAX = none
  bool surveyed;
};

// The row's cells, [column_count], until another row is asked for.
const hsc_cell *hsc_table__row(const hsc_table *table, size_t row);
// Sets every column's `seen`.
void hsc_table__survey(const hsc_table *table);
void hsc_table__release_rows(hsc_table *table);

// Where what is printed goes in pieces; without `write` it stays in `out`.
typedef struct hsc_table__stream {
  hsc_bytes *out;
  hsc_status *(*write)(void *user, hsc_view bytes);
  void *user;
} hsc_table__stream;
// Hands over what has gathered, once it is worth it.
HSC_MUST_USE hsc_status *hsc_table__flush(hsc_table__stream *stream);

// decimal, no NUL after it; returns the length
int hsc_table__int_text(int64_t value, char out_text[32]);

// table_rows.c: all rows, fast. JSON as hsc_json would write them with this indentation as items of
// an array at `depth`.
HSC_MUST_USE hsc_status *hsc_table__rows_json(const hsc_table *table,
                                              int indent,
                                              int depth,
                                              hsc_table__stream *stream);
HSC_MUST_USE hsc_status *hsc_table__rows_jsonl(const hsc_table *table, hsc_table__stream *stream);
HSC_MUST_USE hsc_status *hsc_table__csv(const hsc_table *table, hsc_table__stream *stream);

const hsc_column *hsc_table__column(const hsc_table *table, size_t column);

HSC_MUST_USE hsc_status *hsc_table__print_text(const hsc_table *table,
                                               const hsc_text_style *style,
                                               hsc_table__stream *stream);
HSC_MUST_USE hsc_status *hsc_table__print_parquet(const hsc_table *table,
                                                  hsc_table__stream *stream);
void hsc_table__print_markdown(const hsc_table *table, hsc_bytes *out);
