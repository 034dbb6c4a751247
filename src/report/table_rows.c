// table_rows.c - the rows of a table as JSON, JSON lines and CSV: what is between the values is
// made once, values are written in place.
#include "base/text/text.h"
#include "report/table_internal.h"

hsc_status *hsc_table__flush(hsc_table__stream *stream) {
  enum { PIECE_BYTES = 256 << 10 };
  if (!stream->write || stream->out->size < PIECE_BYTES)
    return NULL;
  HSC_TRY(hsc_bytes_status(stream->out));
  hsc_status *status = stream->write(stream->user, hsc_bytes_view(stream->out));
  hsc_bytes_reset(stream->out);
  return status;
}

// ---- values, written in place -------------------------------------------------------------------
//
// A row's longest possible text is known from its cells, so there is room before it is written and
// every value is only moved there. Constant pieces are moved PIECE bytes at a time, whatever their
// size: what is after them is written over.

enum { PIECE = 32, NUMBER_BYTES = 32 };

// A place with room for `size` more bytes after what `out` holds; NULL when there is no memory.
// What was written there is taken over by take_to.
static char *room_for(hsc_bytes *out, size_t size) {
  if (out->failed || !hsc_bytes_extend(out, size))
    return NULL;
  out->size -= size;
  return out->data + out->size;
}

static void take_to(hsc_bytes *out, char *end) {
  out->size = (size_t)(end - out->data);
  *end = 0;
}

// `piece` can be read PIECE bytes beyond its end.
static inline char *put_piece(char *at, const char *piece, size_t size) {
  memcpy(at, piece, PIECE);
  if (__builtin_expect(size > PIECE, 0))
    memcpy(at + PIECE, piece + PIECE, size - PIECE);
  return at + size;
}

static const char pairs[] =
    "0001020304050607080910111213141516171819202122232425262728293031323334353637383940414243444546"
    "4748495051525354555657585960616263646566676869"
    "707172737475767778798081828384858687888990919293949596979899";

static inline char *put_int(char *at, int64_t value) {
  uint64_t left = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
  char digits[20];
  char *from = digits + sizeof digits;
  for (; left >= 100; left /= 100)
    memcpy(from -= 2, pairs + 2 * (left % 100), 2);
  if (left >= 10)
    memcpy(from -= 2, pairs + 2 * left, 2);
  else
    *--from = (char)('0' + left);
  if (value < 0)
    *at++ = '-';
  size_t size = (size_t)(digits + sizeof digits - from);
  memcpy(at, from, size);
  return at + size;
}

int hsc_table__int_text(int64_t value, char out_text[32]) {
  return (int)(put_int(out_text, value) - out_text);
}

static inline char *put_double(char *at, double value) {
  return at + hsc_format_double(value, at);
}

static char *put_word(char *at, const char *word) {
  size_t size = strlen(word);
  memcpy(at, word, size);
  return at + size;
}

// Bytes that are in a JSON text as they are.
static inline bool is_plain(uint8_t c) {
  return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

static char *put_json_text(hsc_bytes *out, char *at, const char *text, size_t size) {
  char *begin = at;
  *at++ = '"';
  size_t i = 0;
  while (i < size && is_plain((uint8_t)text[i]))
    *at++ = text[i++];
  if (i == size) {
    *at++ = '"';
    return at;
  }
  take_to(out, begin);
  hsc_json json;
  hsc_json_init(&json, out, 0);
  hsc_json_string(&json, text);
  return out->data + out->size;
}

// ---- JSON ---------------------------------------------------------------------------------------

// What is before the value of each column, from the opening bracket on; PIECE bytes more can be
// read past it.
static hsc_status *make_keys(
    const hsc_table *table, int indent, int depth, hsc_bytes *keys, size_t *ends) {
  const char *between = indent > 0 ? "," : ", ";
  for (size_t c = 0; c < hsc_table_column_count(table); c++) {
    hsc_bytes_append_text(keys, c == 0 ? "{" : between);
    if (indent > 0)
      hsc_bytes_printf(keys, "\n%*s", indent * (depth + 1), "");
    hsc_json json;
    hsc_json_init(&json, keys, 0);
    hsc_json_string(&json, hsc_table__column(table, c)->name);
    hsc_bytes_append_text(keys, ": ");
    ends[c] = keys->size;
  }
  void *tail = hsc_bytes_extend(keys, 2 * PIECE);
  if (tail)
    memset(tail, 0, 2 * PIECE);
  return hsc_bytes_status(keys);
}

// Bytes that the cells of a row take at most, without what is between them; sizes[c] is the
// length of a text. A text may grow six-fold and has quotes.
static size_t most_bytes(const hsc_cell *row, size_t columns, size_t *sizes) {
  size_t most = 0;
  for (size_t c = 0; c < columns; c++) {
    sizes[c] = row[c].kind == HSC_CELL_TEXT ? strlen(row[c].text) : 0;
    most += NUMBER_BYTES + 6 * sizes[c];
  }
  return most;
}

static hsc_status *rows(const hsc_table *table,
                        int indent,
                        int depth,
                        const char *before_first,
                        const char *before,
                        const char *after,
                        hsc_table__stream *stream) {
  size_t columns = hsc_table_column_count(table);
  size_t around = strlen(before_first) + strlen(before) + strlen(after) + 2;
  size_t *ends = hsc_alloc((2 * columns + 1) * sizeof *ends);
  size_t *sizes = ends ? ends + columns : NULL;
  if (!ends)
    return hsc_status_out_of_memory();
  hsc_bytes keys = {0};
  hsc_bytes *out = stream->out;
  hsc_status *status = make_keys(table, indent, depth, &keys, ends);
  for (size_t r = 0; r < table->row_count && !status; r++) {
    const hsc_cell *row = hsc_table__row(table, r);
    char *at = room_for(out, most_bytes(row, columns, sizes) + keys.size + around);
    if (!at)
      break;
    at = put_word(at, r ? before : before_first);
    if (!columns)
      *at++ = '{';
    size_t from = 0;
    for (size_t c = 0; c < columns; c++) {
      at = put_piece(at, keys.data + from, ends[c] - from);
      from = ends[c];
      const hsc_cell *cell = &row[c];
      if (cell->kind == HSC_CELL_TEXT)
        at = put_json_text(out, at, cell->text, sizes[c]);
      else if (cell->kind == HSC_CELL_INT)
        at = put_int(at, cell->integer);
      else if (cell->kind == HSC_CELL_DOUBLE && cell->number - cell->number == 0)
        at = put_double(at, cell->number);
      else if (cell->kind == HSC_CELL_BOOL)
        at = put_word(at, cell->integer ? "true" : "false");
      else
        at = put_word(at, "null");
    }
    take_to(out, put_word(at, after));
    status = hsc_table__flush(stream);
  }
  hsc_bytes_deinit(&keys);
  hsc_free(ends);
  return status ? status : hsc_bytes_status(out);
}

hsc_status *hsc_table__rows_json(const hsc_table *table,
                                 int indent,
                                 int depth,
                                 hsc_table__stream *stream) {
  hsc_bytes line = {0};
  if (indent > 0)
    hsc_bytes_printf(&line, ",\n%*s", indent * depth, "");
  else
    hsc_bytes_append_text(&line, ", ");
  size_t comma = line.size + 1;
  hsc_bytes_append_char(&line, 0);
  if (indent > 0 && hsc_table_column_count(table))
    hsc_bytes_printf(&line, "\n%*s", indent * depth, "");
  hsc_bytes_append_char(&line, '}');
  hsc_status *status = hsc_bytes_status(&line);
  if (!status)
    status = rows(table, indent, depth, indent > 0 ? line.data + 1 : "", line.data,
                  line.data + comma, stream);
  hsc_bytes_deinit(&line);
  return status;
}

hsc_status *hsc_table__rows_jsonl(const hsc_table *table, hsc_table__stream *stream) {
  return rows(table, 0, 0, "", "", "}\n", stream);
}

// ---- CSV ----------------------------------------------------------------------------------------

static char *put_csv_text(char *at, const char *text, size_t size) {
  size_t plain = 0;
  while (plain < size && text[plain] != ',' && text[plain] != '"' && text[plain] != '\r' &&
         text[plain] != '\n') {
    at[plain] = text[plain];
    plain++;
  }
  if (plain == size)
    return at + size;
  *at++ = '"';
  for (; *text; text++) {
    if (*text == '"')
      *at++ = '"';
    *at++ = *text;
  }
  *at++ = '"';
  return at;
}

hsc_status *hsc_table__csv(const hsc_table *table, hsc_table__stream *stream) {
  hsc_bytes *out = stream->out;
  size_t columns = hsc_table_column_count(table);
  size_t *sizes = hsc_alloc((columns + 1) * sizeof *sizes);
  if (!sizes)
    return hsc_status_out_of_memory();
  hsc_status *status = NULL;
  for (size_t c = 0; c < columns; c++) {
    const char *name = hsc_table__column(table, c)->name;
    size_t size = strlen(name);
    char *at = room_for(out, 2 * size + 3);
    if (!at)
      break;
    if (c)
      *at++ = ',';
    take_to(out, put_csv_text(at, name, size));
  }
  hsc_bytes_append_text(out, "\r\n");
  for (size_t r = 0; r < table->row_count && !status; r++) {
    const hsc_cell *row = hsc_table__row(table, r);
    char *at = room_for(out, most_bytes(row, columns, sizes) + columns + 2);
    if (!at)
      break;
    for (size_t c = 0; c < columns; c++) {
      const hsc_cell *cell = &row[c];
      if (c)
        *at++ = ',';
      switch (cell->kind) {
        case HSC_CELL_MISSING:
          break;
        case HSC_CELL_TEXT:
          at = put_csv_text(at, cell->text, sizes[c]);
          break;
        case HSC_CELL_INT:
          at = put_int(at, cell->integer);
          break;
        case HSC_CELL_DOUBLE:
          at = put_double(at, cell->number);
          break;
        case HSC_CELL_BOOL:
          at = put_word(at, cell->integer ? "true" : "false");
          break;
      }
    }
    *at++ = '\r';
    *at++ = '\n';
    take_to(out, at);
    status = hsc_table__flush(stream);
  }
  hsc_free(sizes);
  return status ? status : hsc_bytes_status(out);
}
