// table_text.c - tables for people: aligned columns in a terminal, and Markdown.
//
//   device    compile   note
//   -------  --------  -----------------
//   cpu       12.3 ms  built in
//
// Numbers are right, texts left. When the lines are wider than the terminal, the widest text
// columns are cut first and end in "...".
#include "base/text/text.h"
#include "report/table_internal.h"

enum { GAP = 2, MIN_TEXT_WIDTH = 8 };

// What our own texts use beyond ASCII. Names out of programs stay as they are.
static void write_plain(const char *text, bool unicode, hsc_bytes *out) {
  size_t ascii = 0;
  while (text[ascii] && (unsigned char)text[ascii] < 0x80)
    ascii++;
  hsc_bytes_append(out, text, ascii);
  text += ascii;
  static const char *const plain[][2] = {{"±", "+-"}, {"×", "x"},  {"µ", "u"},   {"–", "-"},
                                         {"—", "-"},  {"→", "->"}, {"…", "..."}, {"≥", ">="},
                                         {"≤", "<="}, {"·", "."}};
  while (*text) {
    size_t i = unicode ? HSC_COUNT_OF(plain) : 0;
    while (i < HSC_COUNT_OF(plain) && !hsc_starts_with(text, plain[i][0]))
      i++;
    if (i < HSC_COUNT_OF(plain)) {
      hsc_bytes_append_text(out, plain[i][1]);
      text += strlen(plain[i][0]);
    } else {
      hsc_bytes_append_char(out, *text++);
    }
  }
}

// Of a cell, which is one line: line ends and tabs too.
static void blank_controls(hsc_bytes *out, size_t from) {
  for (size_t i = from; i < out->size; i++) {
    size_t control =
        (unsigned char)out->data[i] < 0x20 ? 1 : hsc_text_control(hsc_bytes_view(out), i);
    if (control)
      memset(out->data + i, ' ', control);
  }
}

static void write_cell(const hsc_cell *cell, const char *unit, bool unicode, hsc_bytes *out) {
  char number[32];
  size_t from = out->size;
  switch (cell->kind) {
    case HSC_CELL_MISSING:
      if (!cell->text)
        hsc_bytes_append_text(out, unicode ? "\xe2\x80\x93" : "-");
      else
        hsc_bytes_printf(out, "n/a (needs %s %s)", unicode ? "\xe2\x89\xa5" : ">=", cell->text);
      break;
    case HSC_CELL_TEXT:
      write_plain(cell->text, unicode, out);
      blank_controls(out, from);
      break;
    case HSC_CELL_BOOL:
      hsc_bytes_append_text(out, cell->integer ? "yes" : "no");
      break;
    case HSC_CELL_INT:
      if (!*unit || strcmp(unit, "count") == 0)
        hsc_bytes_append(out, number, (size_t)hsc_table__int_text(cell->integer, number));
      else
        hsc_bytes_append(out, number,
                         (size_t)hsc_format_quantity((double)cell->integer, unit, unicode, number));
      break;
    case HSC_CELL_DOUBLE:
      hsc_bytes_append(out, number,
                       (size_t)hsc_format_quantity(cell->number, unit, unicode, number));
      break;
  }
}

static bool is_shown_in_cells(const char *unit) {
  static const char *const shown[] = {"",      "count", "s",        "ns",
                                      "bytes", "ratio", "fraction", "percent"};
  for (size_t i = 0; i < HSC_COUNT_OF(shown); i++)
    if (strcmp(unit, shown[i]) == 0)
      return true;
  return false;
}

// "compile_seconds" reads "compile seconds"; units that the cells do not show are in brackets.
static void write_heading(const hsc_column *column, hsc_bytes *out) {
  bool path = strchr(column->name, '/') != NULL;  // a column may be named after a plugin
  hsc_bytes text = {0};
  for (const char *at = column->name; *at; at++)
    hsc_bytes_append_char(&text, *at == '_' && !path ? ' ' : *at);
  if (!is_shown_in_cells(column->unit))
    hsc_bytes_printf(&text, " [%s]", column->unit);
  hsc_text_plain(hsc_bytes_view(&text), false, out);
  out->failed |= text.failed;
  hsc_bytes_deinit(&text);
}

static bool is_numeric(const hsc_table *table, size_t column) {
  hsc_cell_kind kind = hsc_table_column_kind(table, column);
  return kind == HSC_CELL_INT || kind == HSC_CELL_DOUBLE;
}

typedef struct column_layout {
  size_t at;  // in the table
  int width;
  bool numeric;
} column_layout;

static bool says_nothing(const hsc_table *table, size_t column) {
  for (size_t r = 0; r < table->row_count; r++) {
    const hsc_cell *cell = &hsc_table__row(table, r)[column];
    bool is_blank = cell->kind == HSC_CELL_TEXT && !*cell->text;
    if (!is_blank && (cell->kind != HSC_CELL_MISSING || cell->text))
      return false;
  }
  return table->row_count > 0;
}

// Where the line is wider than the terminal, columns without a single value make room first.
static size_t leave_out(const hsc_table *table,
                        const hsc_text_style *style,
                        column_layout *columns,
                        size_t count,
                        int *total) {
  size_t kept = 0;
  for (size_t c = 0; c < count; c++) {
    if (c > 0 && style->width > 0 && *total > style->width && says_nothing(table, columns[c].at))
      *total -= columns[c].width + GAP;
    else
      columns[kept++] = columns[c];
  }
  return kept;
}

// Widths of everything, then cut to the terminal. How many columns are left.
static size_t lay_out(const hsc_table *table,
                      const hsc_text_style *style,
                      column_layout *columns,
                      size_t count) {
  hsc_bytes text = {0};
  int total = 0;
  hsc_table__survey(table);
  for (size_t c = 0; c < count; c++) {
    hsc_bytes_reset(&text);
    write_heading(hsc_table__column(table, c), &text);
    columns[c].width = hsc_text_width(hsc_bytes_text(&text), text.size);
    columns[c].at = c;
    columns[c].numeric = is_numeric(table, c);
  }
  for (size_t r = 0; r < table->row_count; r++) {
    const hsc_cell *row = hsc_table__row(table, r);
    for (size_t c = 0; c < count; c++) {
      hsc_bytes_reset(&text);
      write_cell(&row[c], hsc_table__column(table, c)->unit, style->unicode, &text);
      int width = hsc_text_width(hsc_bytes_text(&text), text.size);
      if (width > columns[c].width)
        columns[c].width = width;
    }
  }
  for (size_t c = 0; c < count; c++)
    total += columns[c].width + (c ? GAP : 0);
  hsc_bytes_deinit(&text);
  count = leave_out(table, style, columns, count, &total);
  while (style->width > 0 && total > style->width) {
    size_t widest = count;
    for (size_t c = 0; c < count; c++)
      if (!columns[c].numeric && columns[c].width > MIN_TEXT_WIDTH &&
          (widest == count || columns[c].width > columns[widest].width))
        widest = c;
    if (widest == count)
      break;  // nothing left to cut: the terminal wraps
    columns[widest].width--;
    total--;
  }
  return count;
}

// What a place in a source ends in says more than what it begins with.
static bool is_path(const char *text, size_t size) {
  return size > 1 && memchr(text + 1, '/', size - 1) && !memchr(text, ' ', size);
}

// Appends the last `room` columns of a text that is wider.
static int append_end(const char *text, size_t size, int room, hsc_bytes *out) {
  size_t from = 0;
  while (from < size && (hsc_text_width(text + from, size - from) > room ||
                         ((unsigned char)text[from] & 0xc0) == 0x80))
    from++;
  hsc_bytes_append(out, text + from, size - from);
  return hsc_text_width(text + from, size - from);
}

// Appends `text` in exactly `width` columns; the last column of a line gets no trailing blanks.
static void write_padded(
    const char *text, size_t size, int width, bool right, bool last, bool unicode, hsc_bytes *out) {
  int needed = hsc_text_width(text, size);
  int dots = unicode ? 1 : 3;
  if (needed > width && is_path(text, size)) {
    hsc_bytes_append_text(out, unicode ? "\xe2\x80\xa6" : "...");
    needed = dots + append_end(text, size, width - dots, out);
    size = 0;
  } else if (needed > width) {
    size_t keep = 0;
    while (keep < size) {
      size_t next = keep + 1;
      while (next < size && ((unsigned char)text[next] & 0xc0) == 0x80)
        next++;
      if (hsc_text_width(text, next) > width - dots)
        break;
      keep = next;
    }
    hsc_bytes_append(out, text, keep);
    hsc_bytes_append_text(out, unicode ? "\xe2\x80\xa6" : "...");
    needed = hsc_text_width(text, keep) + dots;
    size = 0;
  }
  int blanks = needed < width && (right || !last) ? width - needed : 0;
  char *room = hsc_bytes_extend(out, size + (size_t)blanks);
  if (!room)
    return;
  memset(right ? room : room + size, ' ', (size_t)blanks);
  if (size)
    memcpy(right ? room + blanks : room, text, size);
}

// Columns from `from` on that are in lines of the terminal's width beside the first one; at least
// one. Where they do not fit, a table goes on below itself.
static size_t columns_that_fit(const column_layout *columns, size_t count, size_t from, int width) {
  int total = columns[0].width + (from ? GAP + columns[from].width : 0);
  size_t end = from + 1;
  while (end < count && (width <= 0 || total + GAP + columns[end].width <= width))
    total += GAP + columns[end++].width;
  return end;
}

// The first column, and those of [from, end).
static hsc_status *print_part(const hsc_table *table,
                              const hsc_text_style *style,
                              const column_layout *columns,
                              size_t from,
                              size_t end,
                              hsc_table__stream *stream) {
  hsc_bytes *out = stream->out;
  hsc_status *status = NULL;
  hsc_bytes text = {0};
  if (style->color)
    hsc_bytes_append_text(out, "\x1b[1m");
  for (size_t k = from ? from - 1 : 0; k < end; k++) {
    size_t c = from && k + 1 == from ? 0 : k;
    hsc_bytes_reset(&text);
    write_heading(hsc_table__column(table, columns[c].at), &text);
    if (c)
      hsc_bytes_append_text(out, "  ");
    write_padded(hsc_bytes_text(&text), text.size, columns[c].width, columns[c].numeric,
                 k + 1 == end, style->unicode, out);
  }
  if (style->color)
    hsc_bytes_append_text(out, "\x1b[0m");
  hsc_bytes_append_char(out, '\n');
  for (size_t k = from ? from - 1 : 0; k < end; k++) {
    size_t c = from && k + 1 == from ? 0 : k;
    if (c)
      hsc_bytes_append_text(out, "  ");
    for (int i = 0; i < columns[c].width; i++)
      hsc_bytes_append_text(out, style->unicode ? "\xe2\x94\x80" : "-");
  }
  hsc_bytes_append_char(out, '\n');
  for (size_t r = 0; r < table->row_count && !status; r++) {
    const hsc_cell *row = hsc_table__row(table, r);
    for (size_t k = from ? from - 1 : 0; k < end; k++) {
      size_t c = from && k + 1 == from ? 0 : k;
      hsc_bytes_reset(&text);
      size_t at = columns[c].at;
      write_cell(&row[at], hsc_table__column(table, at)->unit, style->unicode, &text);
      if (c)
        hsc_bytes_append_text(out, "  ");
      write_padded(hsc_bytes_text(&text), text.size, columns[c].width, columns[c].numeric,
                   k + 1 == end, style->unicode, out);
    }
    hsc_bytes_append_char(out, '\n');
    status = hsc_table__flush(stream);
  }
  if (text.failed)
    out->failed = true;
  hsc_bytes_deinit(&text);
  return status;
}

static void print_notes(const hsc_table *table, const hsc_text_style *style, hsc_bytes *out) {
  hsc_bytes plain = {0};
  hsc_bytes text = {0};
  for (size_t n = 0; n < hsc_table_note_count(table); n++) {
    if (n == 0)
      hsc_bytes_append_char(out, '\n');
    hsc_bytes shown = {0};
    hsc_text_units(hsc_table_note_text(table, n), style->unicode, &shown);
    hsc_bytes_reset(&plain);
    hsc_text_plain(hsc_bytes_view(&shown), false, &plain);
    hsc_bytes_reset(&text);
    write_plain(hsc_bytes_text(&plain), style->unicode, &text);
    text.failed = text.failed || shown.failed || plain.failed;
    hsc_bytes_deinit(&shown);
    if (style->width > 0 && hsc_text_width(hsc_bytes_text(&text), text.size) > style->width) {
      hsc_text_wrap(hsc_bytes_text(&text), 2, style->width - 2 > 10 ? style->width - 2 : 10, out);
    } else {
      hsc_bytes_append(out, hsc_bytes_text(&text), text.size);
      hsc_bytes_append_char(out, '\n');
    }
  }
  if (text.failed)
    out->failed = true;
  hsc_bytes_deinit(&plain);
  hsc_bytes_deinit(&text);
}

hsc_status *hsc_table__print_text(const hsc_table *table,
                                  const hsc_text_style *style,
                                  hsc_table__stream *stream) {
  hsc_bytes *out = stream->out;
  hsc_status *status = NULL;
  size_t count = hsc_table_column_count(table);
  column_layout *columns = hsc_alloc((count + 1) * sizeof *columns);
  if (!columns)
    return hsc_status_out_of_memory();
  count = lay_out(table, style, columns, count);
  for (size_t from = 0; from < count && !status;) {
    size_t end = columns_that_fit(columns, count, from, style->width);
    if (from)
      hsc_bytes_append_char(out, '\n');
    status = print_part(table, style, columns, from, end, stream);
    from = end;
  }
  print_notes(table, style, out);
  hsc_free(columns);
  if (status)
    return status;
  if (out->failed)
    return hsc_status_out_of_memory();
  return NULL;
}

static void write_markdown_text(const char *text, hsc_bytes *out) {
  for (; *text; text++) {
    if (*text == '|' || *text == '\\' || *text == '<' || *text == '*' || *text == '`')
      hsc_bytes_append_char(out, '\\');
    hsc_bytes_append_char(out, (unsigned char)*text < 0x20 ? ' ' : *text);
  }
}

void hsc_table__print_markdown(const hsc_table *table, hsc_bytes *out) {
  size_t count = hsc_table_column_count(table);
  hsc_bytes text = {0};
  for (size_t c = 0; c < count; c++) {
    hsc_bytes_reset(&text);
    write_heading(hsc_table__column(table, c), &text);
    hsc_bytes_append_text(out, "| ");
    write_markdown_text(hsc_bytes_text(&text), out);
    hsc_bytes_append_char(out, ' ');
  }
  hsc_bytes_append_text(out, count ? "|\n" : "");
  for (size_t c = 0; c < count; c++)
    hsc_bytes_append_text(out, is_numeric(table, c) ? "|---:" : "|---");
  hsc_bytes_append_text(out, count ? "|\n" : "");
  for (size_t r = 0; r < table->row_count; r++) {
    for (size_t c = 0; c < count; c++) {
      hsc_bytes_reset(&text);
      write_cell(hsc_table_cell(table, r, c), hsc_table__column(table, c)->unit, true, &text);
      hsc_bytes_append_text(out, "| ");
      write_markdown_text(hsc_bytes_text(&text), out);
      hsc_bytes_append_char(out, ' ');
    }
    hsc_bytes_append_text(out, "|\n");
  }
  for (size_t n = 0; n < hsc_table_note_count(table); n++) {
    hsc_bytes_append_text(out, n == 0 ? "\n" : "");
    hsc_bytes_printf(out, "%s  \n", hsc_table_note_text(table, n));
  }
  if (text.failed)
    out->failed = true;
  hsc_bytes_deinit(&text);
}
