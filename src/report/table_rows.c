// table_rows.c - the rows of a table as JSON, JSON lines and CSV: what stands between the values is made once, values are written in place.
#include "report/table_internal.h"

hsc_status *hsc_table__flush(hsc_table__stream *stream) {
  enum { PIECE_BYTES = 256 << 10 };
  if (!stream->write || stream->out->size < PIECE_BYTES) return NULL;
  HSC_TRY(hsc_bytes_status(stream->out));
  hsc_status *status = stream->write(stream->user, hsc_bytes_view(stream->out));
  hsc_bytes_reset(stream->out);
  return status;
}

static void put_int(hsc_bytes *out, int64_t value) {
  char digits[21], *at = digits + sizeof digits;
  uint64_t left = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
  do *--at = (char)('0' + left % 10);
  while (left /= 10);
  if (value < 0) *--at = '-';
  hsc_bytes_append(out, at, (size_t)(digits + sizeof digits - at));
}

static void put_json_text(hsc_bytes *out, const char *text) {
  size_t size = 0;
  while ((uint8_t)text[size] >= 0x20 && (uint8_t)text[size] < 0x7f && text[size] != '"' && text[size] != '\\') size++;
  if (!text[size]) {
    char *room = hsc_bytes_extend(out, size + 2);
    if (!room) return;
    *room = room[size + 1] = '"';
    memcpy(room + 1, text, size);
    return;
  }
  hsc_json json;
  hsc_json_init(&json, out, 0);
  hsc_json_string(&json, text);
}

static void put_json(hsc_bytes *out, const hsc_cell *cell) {
  char number[32];
  switch (cell->kind) {
    case HSC_CELL_MISSING: hsc_bytes_append(out, "null", 4); break;
    case HSC_CELL_TEXT: put_json_text(out, cell->text); break;
    case HSC_CELL_INT: put_int(out, cell->integer); break;
    case HSC_CELL_DOUBLE:
      if (cell->number - cell->number == 0) hsc_bytes_append(out, number, (size_t)hsc_format_double(cell->number, number));
      else hsc_bytes_append(out, "null", 4);
      break;
    case HSC_CELL_BOOL: hsc_bytes_append_text(out, cell->integer ? "true" : "false"); break;
  }
}

// What stands before the value of each column, from the opening bracket on.
static hsc_status *make_keys(const hsc_table *table, int indent, int depth, hsc_bytes *keys, size_t *ends) {
  for (size_t c = 0; c < hsc_table_column_count(table); c++) {
    hsc_bytes_append_text(keys, c == 0 ? "{" : indent > 0 ? "," : ", ");
    if (indent > 0) hsc_bytes_printf(keys, "\n%*s", indent * (depth + 1), "");
    put_json_text(keys, hsc_table__column(table, c)->name);
    hsc_bytes_append_text(keys, ": ");
    ends[c] = keys->size;
  }
  return hsc_bytes_status(keys);
}

static hsc_status *rows(const hsc_table *table, int indent, int depth, const char *before_first, const char *before, const char *after, hsc_table__stream *stream) {
  size_t columns = hsc_table_column_count(table);
  size_t *ends = hsc_alloc((columns + 1) * sizeof *ends);
  if (!ends) return hsc_status_out_of_memory();
  hsc_bytes keys = {0};
  hsc_status *status = make_keys(table, indent, depth, &keys, ends);
  for (size_t r = 0; r < table->row_count && !status; r++) {
    hsc_bytes_append_text(stream->out, r ? before : before_first);
    if (!columns) hsc_bytes_append_char(stream->out, '{');
    for (size_t c = 0; c < columns; c++) {
      size_t from = c ? ends[c - 1] : 0;
      hsc_bytes_append(stream->out, keys.data + from, ends[c] - from);
      put_json(stream->out, hsc_table_cell(table, r, c));
    }
    hsc_bytes_append_text(stream->out, after);
    status = hsc_table__flush(stream);
  }
  hsc_bytes_deinit(&keys);
  hsc_free(ends);
  return status;
}

hsc_status *hsc_table__rows_json(const hsc_table *table, int indent, int depth, hsc_table__stream *stream) {
  hsc_bytes line = {0};
  if (indent > 0) hsc_bytes_printf(&line, ",\n%*s", indent * depth, "");
  else hsc_bytes_append_text(&line, ", ");
  size_t comma = line.size + 1;
  hsc_bytes_append_char(&line, 0);
  if (indent > 0 && hsc_table_column_count(table)) hsc_bytes_printf(&line, "\n%*s", indent * depth, "");
  hsc_bytes_append_char(&line, '}');
  hsc_status *status = hsc_bytes_status(&line);
  if (!status) status = rows(table, indent, depth, indent > 0 ? line.data + 1 : "", line.data, line.data + comma, stream);
  hsc_bytes_deinit(&line);
  return status;
}

hsc_status *hsc_table__rows_jsonl(const hsc_table *table, hsc_table__stream *stream) { return rows(table, 0, 0, "", "", "}\n", stream); }

// ---- CSV ------------------------------------------------------------------------------------------------------------------------

static void put_csv_text(const char *text, hsc_bytes *out) {
  size_t plain = strcspn(text, ",\"\r\n");
  if (!text[plain]) {
    hsc_bytes_append(out, text, plain);
    return;
  }
  hsc_bytes_append_char(out, '"');
  for (; *text; text++) {
    if (*text == '"') hsc_bytes_append_char(out, '"');
    hsc_bytes_append_char(out, *text);
  }
  hsc_bytes_append_char(out, '"');
}

hsc_status *hsc_table__csv(const hsc_table *table, hsc_table__stream *stream) {
  hsc_bytes *out = stream->out;
  size_t columns = hsc_table_column_count(table);
  char number[32];
  for (size_t c = 0; c < columns; c++) {
    if (c) hsc_bytes_append_char(out, ',');
    put_csv_text(hsc_table__column(table, c)->name, out);
  }
  hsc_bytes_append_text(out, "\r\n");
  for (size_t r = 0; r < table->row_count; r++) {
    for (size_t c = 0; c < columns; c++) {
      const hsc_cell *cell = hsc_table_cell(table, r, c);
      if (c) hsc_bytes_append_char(out, ',');
      switch (cell->kind) {
        case HSC_CELL_MISSING: break;
        case HSC_CELL_TEXT: put_csv_text(cell->text, out); break;
        case HSC_CELL_INT: put_int(out, cell->integer); break;
        case HSC_CELL_DOUBLE: hsc_bytes_append(out, number, (size_t)hsc_format_double(cell->number, number)); break;
        case HSC_CELL_BOOL: hsc_bytes_append_text(out, cell->integer ? "true" : "false"); break;
      }
    }
    hsc_bytes_append_text(out, "\r\n");
    HSC_TRY(hsc_table__flush(stream));
  }
  return NULL;
}
