// table.c - what a table holds: columns, cells, notes. table_print.c writes it in a form.
#include "report/table_internal.h"

#include <math.h>

static const struct {
  hsc_output_format format;
  const char *name;
} format_names[] = {{HSC_FORMAT_TEXT, "text"},   {HSC_FORMAT_JSON, "json"},
                    {HSC_FORMAT_JSONL, "jsonl"}, {HSC_FORMAT_MARKDOWN, "markdown"},
                    {HSC_FORMAT_CSV, "csv"},     {HSC_FORMAT_PARQUET, "parquet"}};

const char *hsc_output_format_name(hsc_output_format format) {
  for (size_t i = 0; i < HSC_COUNT_OF(format_names); i++)
    if (format_names[i].format == format)
      return format_names[i].name;
  return "";
}

bool hsc_output_format_of_name(const char *name, hsc_output_format *out_format) {
  for (size_t i = 0; i < HSC_COUNT_OF(format_names); i++) {
    if (strcmp(format_names[i].name, name) != 0)
      continue;
    *out_format = format_names[i].format;
    return true;
  }
  return false;
}

hsc_status *hsc_table_create(const char *view, hsc_table **out_table) {
  hsc_arena *arena = NULL;
  HSC_TRY(hsc_arena_create(&arena));
  hsc_table *table = HSC_NEW(arena, hsc_table);
  table->arena = arena;
  table->view = hsc_arena_strdup(arena, view);
  if (hsc_arena_status(arena)) {
    hsc_arena_destroy(arena);
    return hsc_status_out_of_memory();
  }
  *out_table = table;
  return NULL;
}

void hsc_table_destroy(hsc_table *table) {
  if (!table)
    return;
  hsc_table__release_rows(table);
  hsc_bytes_deinit(&table->columns);
  hsc_bytes_deinit(&table->cells);
  hsc_bytes_deinit(&table->notes);
  hsc_arena_destroy(table->arena);
}

size_t hsc_table_column_count(const hsc_table *table) {
  return table->column_count;
}

const hsc_column *hsc_table__column(const hsc_table *table, size_t column) {
  return (const hsc_column *)(const void *)table->columns.data + column;
}

size_t hsc_table_row_count(const hsc_table *table) {
  return table->row_count;
}
const char *hsc_table_column_name(const hsc_table *table, size_t column) {
  return hsc_table__column(table, column)->name;
}
const char *hsc_table_column_unit(const hsc_table *table, size_t column) {
  return hsc_table__column(table, column)->unit;
}

hsc_cell_kind hsc_table_column_kind(const hsc_table *table, size_t column) {
  hsc_table__survey(table);
  uint32_t seen = hsc_table__column(table, column)->seen & ~(1u << HSC_CELL_MISSING);
  const uint32_t numbers = 1u << HSC_CELL_INT | 1u << HSC_CELL_DOUBLE;
  if (!seen)
    return HSC_CELL_MISSING;
  if (!(seen & ~numbers))
    return seen & 1u << HSC_CELL_DOUBLE ? HSC_CELL_DOUBLE : HSC_CELL_INT;
  return seen == 1u << HSC_CELL_BOOL ? HSC_CELL_BOOL : HSC_CELL_TEXT;
}

const hsc_cell *hsc_table_cell(const hsc_table *table, size_t row, size_t column) {
  return hsc_table__row(table, row) + column;
}

void hsc_table_column(hsc_table *table, const char *name, const char *unit) {
  if (table->row_count > 0) {
    table->misused = true;
    return;
  }
  hsc_column column = {.name = hsc_arena_strdup(table->arena, name),
                       .unit = hsc_arena_strdup(table->arena, unit ? unit : "")};
  hsc_bytes_append(&table->columns, &column, sizeof column);
  if (!table->columns.failed)
    table->column_count++;
}

void hsc_table_expect(hsc_table *table, size_t rows) {
  size_t size;
  if (hsc_mul_size(rows, table->column_count * sizeof(hsc_cell), &size))
    hsc_bytes_reserve(&table->cells, size);
}

void hsc_table_row(hsc_table *table) {
  if (table->make) {
    table->misused = true;
    return;
  }
  size_t size = table->column_count * sizeof(hsc_cell);
  table->row = hsc_bytes_extend(&table->cells, size);
  table->next_cell = 0;
  if (!table->row)
    return;
  memset(table->row, 0, size);
  table->row_count++;
}

static inline void add_cell(hsc_table *table, hsc_cell cell) {
  if (table->cells.failed)
    return;
  if (!table->row || table->next_cell >= table->column_count) {
    table->misused = true;
    return;
  }
  if (!table->make)
    ((hsc_column *)(void *)table->columns.data)[table->next_cell].seen |= 1u << cell.kind;
  table->row[table->next_cell++] = cell;
}

void hsc_table_missing(hsc_table *table) {
  add_cell(table, (hsc_cell){.kind = HSC_CELL_MISSING});
}

void hsc_table_needs(hsc_table *table, int64_t samples) {
  add_cell(table, (hsc_cell){.kind = HSC_CELL_MISSING,
                             .text = hsc_arena_printf(table->arena, "%lld", (long long)samples)});
}

void hsc_table_text(hsc_table *table, const char *text) {
  if (!text) {
    hsc_table_missing(table);
    return;
  }
  if (table->make) {
    add_cell(table, (hsc_cell){.kind = HSC_CELL_TEXT, .text = text});
    return;
  }
  size_t slot = ((uintptr_t)text >> 3 ^ (uintptr_t)text >> 9) % HSC_COUNT_OF(table->recent);
  const char *copy = table->recent[slot].given == text && !strcmp(table->recent[slot].copy, text)
                         ? table->recent[slot].copy
                         : NULL;
  if (!copy) {
    copy = hsc_arena_strdup(table->arena, text);
    if (copy) {
      table->recent[slot].given = text;
      table->recent[slot].copy = copy;
    }
  }
  add_cell(table, (hsc_cell){.kind = HSC_CELL_TEXT, .text = copy});
}

void hsc_table_hex(hsc_table *table, uint64_t value) {
  enum { SIZE = 17, AT_ONCE = 256 };
  if (table->make ? !table->hex_room : !table->hex_left) {
    table->hex_room = hsc_arena_alloc(table->arena, SIZE * AT_ONCE);
    table->hex_left = table->hex_room ? AT_ONCE : 0;
  }
  // a row on demand is written over the last one
  if (table->make && table->hex_room)
    table->hex_left = AT_ONCE - (int)(table->next_cell % AT_ONCE);
  char *text = table->hex_left ? table->hex_room + SIZE * (AT_ONCE - table->hex_left--) : NULL;
  for (int i = 0; text && i < 16; i++)
    text[i] = "0123456789abcdef"[value >> (60 - 4 * i) & 15];
  if (text)
    text[16] = 0;
  add_cell(table, (hsc_cell){.kind = HSC_CELL_TEXT, .text = text ? text : ""});
}

static const char *copy_format(hsc_table *table, const char *format, va_list args) {
  hsc_bytes text = {0};
  hsc_bytes_printf_v(&text, format, args);
  const char *copy = hsc_arena_strndup(table->arena, hsc_bytes_text(&text), text.size);
  if (text.failed)
    table->cells.failed = true;
  hsc_bytes_deinit(&text);
  return copy;
}

void hsc_table_printf(hsc_table *table, const char *format, ...) {
  va_list args;
  va_start(args, format);
  add_cell(table, (hsc_cell){.kind = HSC_CELL_TEXT, .text = copy_format(table, format, args)});
  va_end(args);
}

void hsc_table_int(hsc_table *table, int64_t value) {
  add_cell(table, (hsc_cell){.kind = HSC_CELL_INT, .integer = value});
}

void hsc_table_double(hsc_table *table, double value) {
  if (isnan(value))
    hsc_table_missing(table);
  else
    add_cell(table, (hsc_cell){.kind = HSC_CELL_DOUBLE, .number = value});
}

void hsc_table_bool(hsc_table *table, bool value) {
  add_cell(table, (hsc_cell){.kind = HSC_CELL_BOOL, .integer = value});
}

void hsc_table_note(hsc_table *table, const char *format, ...) {
  va_list args;
  va_start(args, format);
  const char *note = copy_format(table, format, args);
  va_end(args);
  hsc_bytes_append(&table->notes, &note, sizeof note);
}

size_t hsc_table_note_count(const hsc_table *table) {
  return table->notes.size / sizeof(const char *);
}

const char *hsc_table_note_text(const hsc_table *table, size_t note) {
  return ((const char *const *)(const void *)table->notes.data)[note];
}
