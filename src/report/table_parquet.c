// table_parquet.c - a table as a Parquet file: numbers stay numbers, missing cells are null, units
// and notes are in the file's metadata.
#include "base/text/text.h"
#include "base/parquet/parquet.h"
#include "report/table_internal.h"

static hsc_status *append(void *user, hsc_view bytes) {
  hsc_table__stream *stream = user;
  hsc_bytes_append(stream->out, bytes.data, bytes.size);
  return hsc_table__flush(stream);
}

static hsc_parquet_type type_of(hsc_cell_kind kind) {
  switch (kind) {
    case HSC_CELL_INT:
      return HSC_PARQUET_INT64;
    case HSC_CELL_DOUBLE:
      return HSC_PARQUET_DOUBLE;
    case HSC_CELL_BOOL:
      return HSC_PARQUET_BOOL;
    default:
      return HSC_PARQUET_TEXT;
  }
}

// The text of a cell in a column whose kinds mix.
static void put_text(hsc_parquet *file, const hsc_cell *cell) {
  char text[32];
  int length = 0;
  switch (cell->kind) {
    case HSC_CELL_TEXT:
      hsc_parquet_text(file, hsc_view_of(cell->text));
      return;
    case HSC_CELL_INT:
      length = snprintf(text, sizeof text, "%lld", (long long)cell->integer);
      break;
    case HSC_CELL_BOOL:
      length = snprintf(text, sizeof text, "%s", cell->integer ? "true" : "false");
      break;
    default:
      length = hsc_format_double(cell->number, text);
  }
  hsc_parquet_text(file, (hsc_view){text, (size_t)length});
}

static void put_cell(hsc_parquet *file, hsc_parquet_type type, const hsc_cell *cell) {
  if (cell->kind == HSC_CELL_MISSING)
    hsc_parquet_null(file);
  else if (type == HSC_PARQUET_TEXT)
    put_text(file, cell);
  else if (type == HSC_PARQUET_DOUBLE)
    hsc_parquet_double(file, cell->kind == HSC_CELL_INT ? (double)cell->integer : cell->number);
  else if (type == HSC_PARQUET_BOOL)
    hsc_parquet_bool(file, cell->integer != 0);
  else
    hsc_parquet_int(file, cell->integer);
}

hsc_status *hsc_table__print_parquet(const hsc_table *table, hsc_table__stream *stream) {
  size_t columns = hsc_table_column_count(table);
  if (!columns)
    return HSC_ERR(FAILED_PRECONDITION, "table '%s' has no columns, which Parquet cannot hold",
                   table->view);
  hsc_arena *arena = NULL;
  HSC_TRY(hsc_arena_create(&arena));
  hsc_parquet_column *list = HSC_NEW_ARRAY(arena, hsc_parquet_column, columns);
  hsc_parquet *file = NULL;
  hsc_status *status = list ? NULL : hsc_status_out_of_memory();
  for (size_t c = 0; c < columns && !status; c++)
    list[c] = (hsc_parquet_column){hsc_table_column_name(table, c),
                                   type_of(hsc_table_column_kind(table, c))};
  if (!status)
    status = hsc_parquet_create(list, columns, append, stream, &file);
  if (!status) {
    hsc_parquet_metadata(file, "hloscope.view", table->view);
    for (size_t c = 0; c < columns; c++) {
      const char *unit = hsc_table_column_unit(table, c);
      if (*unit)
        hsc_parquet_metadata(file, hsc_arena_printf(arena, "hloscope.unit.%s", list[c].name), unit);
    }
    for (size_t n = 0; n < hsc_table_note_count(table); n++)
      hsc_parquet_metadata(file, "hloscope.note", hsc_table_note_text(table, n));
    for (size_t r = 0; r < table->row_count; r++)
      for (size_t c = 0; c < columns; c++)
        put_cell(file, list[c].type, hsc_table_cell(table, r, c));
    status = hsc_parquet_finish(file);
  }
  hsc_arena_destroy(arena);
  return status;
}
