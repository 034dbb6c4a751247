// table.h - one table, printed as text, JSON, JSON lines, Markdown, CSV or Parquet.
//
//   hsc_table *table = NULL;
//   HSC_TRY(hsc_table_create("devices", &table));
//   hsc_table_column(table, "device", "");
//   hsc_table_column(table, "compile", "s");
//   hsc_table_row(table);
//   hsc_table_text(table, "cpu");
//   hsc_table_double(table, 0.0123);                       // text shows "12.3 ms", JSON and CSV
//   0.0123
//   hsc_table_note(table, "%d device not found", 1);
//   HSC_TRY(hsc_table_print(table, HSC_FORMAT_TEXT, &style, &out));
//
// JSON: {"view": ..., "columns": [{"name": ..., "unit": ...}], "rows": [{column: value}], "notes":
// [text]}; a missing value is null. The table copies every text it is given. Errors (no memory, a
// row longer than its columns) are sticky and come out of hsc_table_print. Thread-compatible.
#pragma once

#include "base/core/bytes.h"
#include "base/core/memory.h"
#include "base/core/status.h"
#include "base/json/json_write.h"

// The forms in which commands print. Bits, so that a command can say which ones it has.
typedef enum hsc_output_format {
  HSC_FORMAT_TEXT = 1,      // for people
  HSC_FORMAT_JSON = 2,      // one document
  HSC_FORMAT_JSONL = 4,     // one JSON object a row
  HSC_FORMAT_MARKDOWN = 8,  // for reports and pull requests
  HSC_FORMAT_CSV = 16,      // RFC 4180, header first, full precision
  HSC_FORMAT_PARQUET = 32,  // Apache Parquet; bytes, not text
} hsc_output_format;
// "text"; "" for what is not one format
const char *hsc_output_format_name(hsc_output_format format);
bool hsc_output_format_of_name(const char *name, hsc_output_format *out_format);  // false = unknown

// How text may look at its destination.
typedef struct hsc_text_style {
  int width;     // columns of the terminal; 0 = no limit
  bool unicode;  // else plain ASCII
  bool color;    // ANSI escapes
} hsc_text_style;

typedef struct hsc_table hsc_table;
HSC_MUST_USE hsc_status *hsc_table_create(const char *view, hsc_table **out_table);
void hsc_table_destroy(hsc_table *table);

// Columns come before rows. `unit` says what the numbers are and how text shows them:
//   "s", "ns"   times, scaled: 27.1 us, 12.3 ms   "bytes"   scaled: 1.5 MiB
//      "flops", "bytes/s", "flop/s"   scaled: 1.2 G
//   "ratio"   1.23x   "fraction"  0.125 shows as 12.5 %   "percent"   12.5 shows as 12.5 %
//   "" or "count"  as they are   any other   as they are, named in the heading
void hsc_table_column(hsc_table *table, const char *name, const char *unit);

// So many rows will come, about: memory is taken once.
void hsc_table_expect(hsc_table *table, size_t rows);
// Starts a row; the cells follow in the order of the columns. Cells that are not given are missing.
void hsc_table_row(hsc_table *table);
void hsc_table_text(hsc_table *table, const char *text);  // NULL = missing
void hsc_table_printf(hsc_table *table, const char *format, ...) HSC_PRINTF(2, 3);
void hsc_table_hex(hsc_table *table, uint64_t value);  // text of 16 digits
void hsc_table_int(hsc_table *table, int64_t value);
void hsc_table_double(hsc_table *table, double value);  // NaN = missing
void hsc_table_bool(hsc_table *table, bool value);      // text shows yes or no
void hsc_table_missing(hsc_table *table);
// Missing, because this many samples would be needed: people read "n/a (needs >= 299)", programs
// null.
void hsc_table_needs(hsc_table *table, int64_t samples);
// Rows that are made when they are read, where there are too many to keep: `make` gives the cells
// of one row with the functions above, without hsc_table_row.
// Texts are not copied: they live as long as `user`; hsc_table_printf and hsc_table_needs are not
// for such rows. The table then owns `user` and `arena` (may be NULL): `release` (may be NULL) is
// called, then the arena destroyed. A cell is good until one of another row is asked for, and such
// a table is read by one thread at a time.
typedef void hsc_table_make_row(hsc_table *table, size_t row, void *user);
void hsc_table_rows_on_demand(hsc_table *table,
                              size_t count,
                              hsc_table_make_row *make,
                              void *user,
                              void (*release)(void *user),
                              hsc_arena *arena);
// A line under the table.
void hsc_table_note(hsc_table *table, const char *format, ...) HSC_PRINTF(2, 3);

// ---- reading ----

typedef enum hsc_cell_kind {
  HSC_CELL_MISSING,
  HSC_CELL_TEXT,
  HSC_CELL_INT,
  HSC_CELL_DOUBLE,
  HSC_CELL_BOOL
} hsc_cell_kind;
typedef struct hsc_cell {
  hsc_cell_kind kind;
  union {
    const char *text;  // in the table's arena; of a missing cell the samples that it needs, or NULL
    int64_t integer;   // also the bool
    double number;
  };
} hsc_cell;

size_t hsc_table_row_count(const hsc_table *table);
size_t hsc_table_column_count(const hsc_table *table);
const char *hsc_table_column_name(const hsc_table *table, size_t column);
const char *hsc_table_column_unit(const hsc_table *table, size_t column);
// The kind that holds all cells of the column: MISSING when it has none, INT for whole numbers
// only, DOUBLE when some are not, TEXT when kinds mix.
hsc_cell_kind hsc_table_column_kind(const hsc_table *table, size_t column);
const hsc_cell *hsc_table_cell(const hsc_table *table, size_t row, size_t column);
size_t hsc_table_note_count(const hsc_table *table);
const char *hsc_table_note_text(const hsc_table *table, size_t note);

// Appends to `out`. `style` may be NULL (no limit, ASCII, no colour) and matters only for text.
HSC_MUST_USE hsc_status *hsc_table_print(const hsc_table *table,
                                         hsc_output_format format,
                                         const hsc_text_style *style,
                                         hsc_bytes *out);
// The same in pieces, handed to `write` as they are done: a large table is never in memory as text.
// What was written before an error stays written.
HSC_MUST_USE hsc_status *hsc_table_write(const hsc_table *table,
                                         hsc_output_format format,
                                         const hsc_text_style *style,
                                         hsc_status *(*write)(void *user, hsc_view bytes),
                                         void *user);
// The table as one value of a larger JSON document.
void hsc_table_json(const hsc_table *table, hsc_json *json);

// A text with times in it, as documents in ASCII have them ("1.5 us"), for a reader: with the
// letter mu where the terminal has it.
void hsc_text_units(const char *text, bool unicode, hsc_bytes *out);

// A number as text shows it in a column of this unit, at most 31 bytes and a NUL. Returns the
// length.
int hsc_format_quantity(double value, const char *unit, bool unicode, char out_text[32]);

// Columns that a terminal needs for this UTF-8 text (wide East Asian characters take two, combining
// marks none).
int hsc_text_width(const char *text, size_t size);

// Words broken into lines of at most `width` columns, each led by `indent` blanks; the first goes
// on where the cursor is (at column `indent`). Line breaks in the text stay. Ends with a newline.
void hsc_text_wrap(const char *text, int indent, int width, hsc_bytes *out);
