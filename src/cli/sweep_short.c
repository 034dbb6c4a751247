// sweep_short.c - the first screen of a merged sweep.
#include "base/text/text.h"
#include "cli/sweep_short.h"

#include <stdlib.h>

#include "cli/table_pick.h"

enum { MOST_COLUMNS = 32 };

// What a reader looks at first is first.
typedef enum interest { FAILED, FOUND, DIFFERENT, THE_REST } interest;

static const char *cell_text(const hsc_table *table, size_t row, const char *column) {
  const char *text = hsc_cli_text(table, row, column);
  return text ? text : "";
}

static interest interest_of(const hsc_table *table, size_t row) {
  if (strcmp(cell_text(table, row, "outcome"), "ok") != 0)
    return FAILED;
  if (hsc_cli_number(table, row, "exit code") > 0)
    return FOUND;
  return strcmp(cell_text(table, row, "same"), "no") ? THE_REST : DIFFERENT;
}

static bool same_cell(const hsc_cell *a, const hsc_cell *b) {
  if (a->kind != b->kind)
    return false;
  if (a->kind == HSC_CELL_TEXT)
    return !strcmp(a->text, b->text);
  if (a->kind == HSC_CELL_DOUBLE)
    return a->number == b->number;
  return a->kind == HSC_CELL_MISSING || a->integer == b->integer;
}

// Of a single row only what it lacks is taken out of the table.
static bool is_constant(const hsc_table *table, size_t column) {
  size_t rows = hsc_table_row_count(table);
  for (size_t row = 1; row < rows; row++)
    if (!same_cell(hsc_table_cell(table, 0, column), hsc_table_cell(table, row, column)))
      return false;
  return rows > 1 || (rows == 1 && hsc_table_cell(table, 0, column)->kind == HSC_CELL_MISSING);
}

static bool is_id(const hsc_table *table, size_t column) {
  static const char *const ids[] = {"task", "fingerprint", "digest"};
  for (size_t i = 0; i < HSC_COUNT_OF(ids); i++)
    if (!strcmp(hsc_table_column_name(table, column), ids[i]))
      return true;
  return false;
}

static void put_sentence(const hsc_table *table, hsc_cli *cli) {
  size_t rows = hsc_table_row_count(table);
  size_t counts[THE_REST + 1] = {0};
  size_t compared = 0;
  hsc_bytes line = {0};
  for (size_t row = 0; row < rows; row++) {
    counts[interest_of(table, row)]++;
    compared += hsc_cli_text(table, row, "same") != NULL;
  }
  hsc_bytes_printf(&line, "%zu task%s: %zu ok", rows, hsc_plural((double)rows, "", "s"),
                   rows - counts[FAILED]);
  if (counts[FAILED])
    hsc_bytes_printf(&line, ", %zu not", counts[FAILED]);
  if (counts[FOUND])
    hsc_bytes_printf(&line, ", %zu of them with something to look at (exit code above 0)",
                     counts[FOUND]);
  if (compared)
    hsc_bytes_printf(&line, "; %zu of %zu compiled to something else than the program as it is",
                     counts[DIFFERENT], compared);
  hsc_cli_paragraph(cli, "%s\n", hsc_bytes_text(&line));
  hsc_bytes_deinit(&line);
}

// "kind ablate, device cpu": what every row says.
static void put_constants(const hsc_table *table, hsc_cli *cli) {
  const char *separator = "in every row: ";
  hsc_bytes line = {0};
  size_t columns = hsc_table_row_count(table) ? hsc_table_column_count(table) : 0;
  for (size_t column = 0; column < columns; column++) {
    const hsc_cell *cell = hsc_table_cell(table, 0, column);
    if (is_id(table, column) || !is_constant(table, column) || cell->kind == HSC_CELL_MISSING)
      continue;
    char quantity[32];
    double value = cell->kind == HSC_CELL_DOUBLE ? cell->number : (double)cell->integer;
    if (cell->kind != HSC_CELL_TEXT)
      hsc_format_quantity(value, hsc_table_column_unit(table, column), true, quantity);
    hsc_bytes_printf(&line, "%s%s %s", separator, hsc_table_column_name(table, column),
                     cell->kind == HSC_CELL_TEXT ? cell->text : quantity);
    separator = ", ";
  }
  if (line.size)
    hsc_cli_paragraph(cli, "%s\n", hsc_bytes_text(&line));
  hsc_bytes_deinit(&line);
}

static size_t pick_columns(const hsc_table *table, hsc_cli_pick *picks) {
  size_t count = 0;
  for (size_t column = 0; column < hsc_table_column_count(table); column++) {
    const char *name = hsc_table_column_name(table, column);
    if (!is_id(table, column) && !is_constant(table, column) && count < MOST_COLUMNS)
      picks[count++] = (hsc_cli_pick){.heading = name, .from = name};
  }
  return count;
}

// The rows by interest, else in the order of the plan.
static size_t *order_rows(const hsc_table *table, hsc_arena *arena) {
  size_t rows = hsc_table_row_count(table);
  size_t *order = HSC_NEW_ARRAY(arena, size_t, rows + 1);
  size_t count = 0;
  for (int kind = FAILED; kind <= THE_REST; kind++)
    for (size_t row = 0; row < rows; row++)
      if ((int)interest_of(table, row) == kind)
        order[count++] = row;
  return order;
}

hsc_status *hsc_cli_sweep_short(const hsc_table *whole, size_t rows, hsc_cli *cli) {
  hsc_cli_pick picks[MOST_COLUMNS];
  hsc_table *table = NULL;
  size_t count = pick_columns(whole, picks);
  size_t all = hsc_table_row_count(whole);
  size_t *order = order_rows(whole, cli->arena);
  HSC_TRY(hsc_arena_status(cli->arena));
  put_sentence(whole, cli);
  put_constants(whole, cli);
  if (!count)
    return NULL;
  HSC_TRY(hsc_cli_pick_rows(whole, "sweep", picks, count, order, rows < all ? rows : all, &table));
  for (size_t i = 0; i < hsc_table_note_count(whole); i++)
    hsc_table_note(table, "%s", hsc_table_note_text(whole, i));
  if (rows < all)
    hsc_table_note(table, "%zu of %zu rows; --all shows them all, with their ids", rows, all);
  hsc_cli_print(cli, "\n");
  return hsc_cli_table(cli, table);
}
