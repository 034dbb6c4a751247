// table_on_demand.c - tables whose rows are made when they are read: nothing is kept but the row in
// hand.
#include "report/table_internal.h"

void hsc_table_rows_on_demand(hsc_table *table,
                              size_t count,
                              hsc_table_make_row *make,
                              void *user,
                              void (*release)(void *user),
                              hsc_arena *arena) {
  if (table->row_count || table->make)
    table->misused = true;
  table->make = make;
  table->user = user;
  table->release = release;
  table->user_arena = arena;
  table->current = SIZE_MAX;
  if (hsc_bytes_extend(&table->cells, table->column_count * sizeof(hsc_cell)))
    table->row_count = count;
}

void hsc_table__release_rows(hsc_table *table) {
  if (!table->make)
    return;
  if (table->release)
    table->release(table->user);
  hsc_arena_destroy(table->user_arena);
}

static void make_row(hsc_table *table, size_t row) {
  table->row = (hsc_cell *)(void *)table->cells.data;
  table->next_cell = 0;
  table->make(table, row, table->user);
  while (table->next_cell < table->column_count)
    table->row[table->next_cell++] = (hsc_cell){.kind = HSC_CELL_MISSING};
  table->current = row;
}

const hsc_cell *hsc_table__row(const hsc_table *table, size_t row) {
  if (!table->make)
    return (const hsc_cell *)(const void *)table->cells.data + row * table->column_count;
  // What a reader sees does not change by making it.
  if (table->current != row)
    make_row((hsc_table *)(uintptr_t)table, row);
  return (const hsc_cell *)(const void *)table->cells.data;
}

void hsc_table__survey(const hsc_table *table) {
  if (!table->make || table->surveyed)
    return;
  hsc_column *columns = (hsc_column *)(void *)table->columns.data;
  for (size_t r = 0; r < table->row_count; r++) {
    const hsc_cell *row = hsc_table__row(table, r);
    for (size_t c = 0; c < table->column_count; c++)
      columns[c].seen |= 1u << row[c].kind;
  }
  ((hsc_table *)(uintptr_t)table)->surveyed = true;
}
