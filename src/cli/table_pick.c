// table_pick.c - a few columns and rows of a large table.
#include "cli/table_pick.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// The column of that name, or SIZE_MAX.
static size_t cli_column(const hsc_table *table, const char *name) {
  for (size_t i = 0; i < hsc_table_column_count(table); i++)
    if (!strcmp(hsc_table_column_name(table, i), name))
      return i;
  return SIZE_MAX;
}

static const hsc_cell *cell_of(const hsc_table *table, size_t row, const char *name) {
  size_t column = cli_column(table, name);
  return column == SIZE_MAX ? NULL : hsc_table_cell(table, row, column);
}

double hsc_cli_number(const hsc_table *table, size_t row, const char *column) {
  const hsc_cell *cell = cell_of(table, row, column);
  if (!cell || cell->kind == HSC_CELL_MISSING || cell->kind == HSC_CELL_TEXT)
    return NAN;
  return cell->kind == HSC_CELL_DOUBLE ? cell->number : (double)cell->integer;
}

const char *hsc_cli_text(const hsc_table *table, size_t row, const char *column) {
  const hsc_cell *cell = cell_of(table, row, column);
  return cell && cell->kind == HSC_CELL_TEXT ? cell->text : NULL;
}

static void copy_cell(hsc_table *table, const hsc_cell *cell) {
  switch (cell->kind) {
    case HSC_CELL_MISSING:
      hsc_table_missing(table);
      break;
    case HSC_CELL_TEXT:
      hsc_table_text(table, cell->text);
      break;
    case HSC_CELL_INT:
      hsc_table_int(table, cell->integer);
      break;
    case HSC_CELL_DOUBLE:
      hsc_table_double(table, cell->number);
      break;
    case HSC_CELL_BOOL:
      hsc_table_bool(table, cell->integer != 0);
      break;
  }
}

typedef struct ranked {
  double value;
  size_t row;
} ranked;

// The largest first; what has no value last; equal ones as they were.
static int by_rank(const void *a, const void *b) {
  const ranked *x = a;
  const ranked *y = b;
  bool x_missing = isnan(x->value);
  bool y_missing = isnan(y->value);
  if (x_missing != y_missing)
    return x_missing - y_missing;
  if (!x_missing && x->value != y->value)
    return x->value < y->value ? 1 : -1;
  return (x->row > y->row) - (x->row < y->row);
}

hsc_status *hsc_cli_pick_rows(const hsc_table *from,
                              const char *view,
                              const hsc_cli_pick *columns,
                              size_t column_count,
                              const size_t *rows,
                              size_t row_count,
                              hsc_table **out_table) {
  hsc_table *table = NULL;
  HSC_TRY(hsc_table_create(view, &table));
  for (size_t i = 0; i < column_count; i++) {
    size_t column = cli_column(from, columns[i].from);
    if (column != SIZE_MAX)
      hsc_table_column(table, columns[i].heading, hsc_table_column_unit(from, column));
  }
  for (size_t r = 0; r < row_count; r++) {
    hsc_table_row(table);
    for (size_t i = 0; i < column_count; i++) {
      size_t column = cli_column(from, columns[i].from);
      if (column != SIZE_MAX)
        copy_cell(table, hsc_table_cell(from, rows[r], column));
    }
  }
  *out_table = table;
  return NULL;
}

hsc_status *hsc_cli_pick_columns(const hsc_table *from,
                                 const char *view,
                                 const hsc_cli_pick *columns,
                                 size_t column_count,
                                 const char *by,
                                 size_t rows,
                                 hsc_table **out_table) {
  hsc_arena *arena = NULL;
  hsc_status *status = NULL;
  size_t count = hsc_table_row_count(from);
  HSC_GOTO(hsc_arena_create(&arena));
  ranked *order = HSC_NEW_ARRAY(arena, ranked, count + 1);
  size_t *numbers = HSC_NEW_ARRAY(arena, size_t, count + 1);
  HSC_GOTO(hsc_arena_status(arena));
  for (size_t i = 0; i < count; i++)
    order[i] = (ranked){.value = by ? hsc_cli_number(from, i, by) : 0, .row = i};
  if (by)
    qsort(order, count, sizeof *order, by_rank);
  for (size_t i = 0; i < count; i++)
    numbers[i] = order[i].row;
  status = hsc_cli_pick_rows(from, view, columns, column_count, numbers,
                             rows && rows < count ? rows : count, out_table);
done:
  hsc_arena_destroy(arena);
  return status;
}
