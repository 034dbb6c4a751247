// parquet.c - the Parquet writer. A column gathers plain values (text: dictionary codes) until the
// row group is full, then becomes pages.
//
// How to read: cells come row by row (hsc_parquet_int and the like) and go to their column's
// buffer; end_group writes each column's pages, with levels for what is missing, compressed. The
// footer says where everything lies. A text column whose dictionary grows too large goes on with
// plain values (leave_dictionary).
#include "base/core/map.h"
#include "base/core/memory.h"
#include "base/parquet/parquet.h"

#include <zstd.h>

#include "base/parquet/thrift.h"

enum {
  GROUP_ROWS = 128 << 10,
  DICTIONARY_LIMIT = 32 << 10,
  DICTIONARY_TRIAL = 2048,
  ZSTD_LEVEL = 1
};

// Of parquet.thrift.
enum { TYPE_BOOLEAN = 0, TYPE_INT64 = 2, TYPE_DOUBLE = 5, TYPE_BYTE_ARRAY = 6 };
enum { ENCODING_PLAIN = 0, ENCODING_RLE = 3, ENCODING_RLE_DICTIONARY = 8 };
enum {
  PAGE_DATA = 0,
  PAGE_DICTIONARY = 2,
  CODEC_ZSTD = 6,
  CONVERTED_UTF8 = 0,
  CONVERTED_TIMESTAMP_MICROS = 10,
  CONVERTED_UINT_64 = 14
};

typedef struct column {
  const char *name;
  hsc_parquet_type type;
  // PLAIN values of what is not null; uint32_t codes while a dictionary is in use; a byte each for
  // bools
  hsc_bytes values;
  // a byte a row: 1 = has a value; empty until the first null of a row group
  hsc_bytes present;
  size_t row_count;
  size_t value_count;
  hsc_arena *texts;  // of the dictionary
  hsc_map *codes;    // text -> code + 1
  // the last texts, which mostly come again; views into the dictionary's own copies
  struct {
    hsc_view text;
    uint32_t code;
  } recent[4];
  unsigned recent_count, recent_next;
  struct {  // lasting texts by their address, in this row group
    const char *text;
    uint32_t code;
  } lasting[64];
  hsc_bytes dictionary;  // PLAIN
  bool plain_text;       // this row group has too many different texts for a dictionary
  int64_t low, high;     // of integers
  double low_number, high_number;
  bool has_range, has_nan;
} column;

typedef struct chunk {  // a column in a finished row group
  int64_t dictionary_offset, data_offset, raw_bytes, stored_bytes, rows, nulls, low, high;
  double low_number, high_number;
  bool has_range, has_dictionary;
} chunk;

struct hsc_parquet {
  hsc_bytes_sink write;
  void *user;
  column *columns;
  size_t column_count, next;  // next: column of the next cell
  int64_t rows, group_rows, offset;
  hsc_bytes chunks;       // of chunk, column_count for each row group
  hsc_bytes group_sizes;  // of int64_t, rows in each row group
  hsc_bytes metadata;     // "key\0value\0"...
  size_t metadata_count;
  hsc_bytes page, packed;  // scratch
  ZSTD_CCtx *zstd;
  hsc_status *status;  // first failure
};

static int physical_type(hsc_parquet_type type) {
  switch (type) {
    case HSC_PARQUET_BOOL:
      return TYPE_BOOLEAN;
    case HSC_PARQUET_DOUBLE:
      return TYPE_DOUBLE;
    case HSC_PARQUET_TEXT:
      return TYPE_BYTE_ARRAY;
    default:
      return TYPE_INT64;
  }
}

static void put(hsc_parquet *file, hsc_view bytes) {
  if (file->status)
    return;
  file->status = file->write(file->user, bytes);
  file->offset += (int64_t)bytes.size;
}

hsc_status *hsc_parquet_create(const hsc_parquet_column *columns,
                               size_t column_count,
                               hsc_bytes_sink write,
                               void *user,
                               hsc_parquet **out_file) {
  hsc_parquet *file = hsc_alloc(sizeof *file);
  if (!file)
    return hsc_status_out_of_memory();
  *file = (hsc_parquet){.write = write, .user = user, .column_count = column_count};
  file->columns = hsc_alloc((column_count + 1) * sizeof *file->columns);
  file->zstd = ZSTD_createCCtx();
  hsc_status *status =
      file->columns && file->zstd && column_count ? NULL : hsc_status_out_of_memory();
  for (size_t i = 0; i < column_count && !status; i++) {
    file->columns[i].name = columns[i].name;
    file->columns[i].type = columns[i].type;
    if (columns[i].type == HSC_PARQUET_TEXT)
      status = hsc_arena_create(&file->columns[i].texts);
    if (!status && columns[i].type == HSC_PARQUET_TEXT)
      status = hsc_map_create(&file->columns[i].codes);
  }
  if (status) {
    hsc_parquet_abandon(file);
    return status;
  }
  put(file, HSC_VIEW("PAR1"));
  *out_file = file;
  return NULL;
}

void hsc_parquet_abandon(hsc_parquet *file) {
  if (!file)
    return;
  for (size_t i = 0; file->columns && i < file->column_count; i++) {
    column *c = &file->columns[i];
    hsc_bytes_deinit(&c->values);
    hsc_bytes_deinit(&c->present);
    hsc_bytes_deinit(&c->dictionary);
    hsc_arena_destroy(c->texts);
    hsc_map_destroy(c->codes);
  }
  hsc_free(file->columns);
  hsc_bytes_deinit(&file->chunks);
  hsc_bytes_deinit(&file->group_sizes);
  hsc_bytes_deinit(&file->metadata);
  hsc_bytes_deinit(&file->page);
  hsc_bytes_deinit(&file->packed);
  ZSTD_freeCCtx(file->zstd);
  hsc_status_free(file->status);
  hsc_free(file);
}

void hsc_parquet_metadata(hsc_parquet *file, const char *key, const char *value) {
  hsc_bytes_append(&file->metadata, key, strlen(key) + 1);
  hsc_bytes_append(&file->metadata, value, strlen(value) + 1);
  file->metadata_count++;
}

// ---- pages --------------------------------------------------------------------------------------

// The RLE / bit-packing hybrid, as one bit-packed run of `count` values of `bits` bits, least
// significant first.
static void bit_packed(
    hsc_bytes *out, const void *values, size_t value_bytes, size_t count, int bits) {
  size_t groups = (count + 7) / 8;
  hsc__thrift_varint(out, groups << 1 | 1);
  uint8_t *to = hsc_bytes_extend(out, groups * (size_t)bits);
  if (!to)
    return;
  uint64_t pending = 0;
  int filled = 0;
  for (size_t i = 0; i < groups * 8; i++) {
    uint64_t value;
    if (i >= count)
      value = 0;
    else if (value_bytes == 1)
      value = ((const uint8_t *)values)[i];
    else
      value = ((const uint32_t *)values)[i];
    pending |= value << filled;
    for (filled += bits; filled >= 8; filled -= 8, pending >>= 8)
      *to++ = (uint8_t)pending;
  }
}

static void rle_run(hsc_bytes *out, size_t count, uint8_t value) {
  hsc__thrift_varint(out, count << 1);
  hsc_bytes_append_char(out, (char)value);
}

// One page: header, then the compressed body that is in file->page. `values` counts nulls too.
static void put_page(hsc_parquet *file, int type, size_t values, int encoding, chunk *at) {
  size_t room = ZSTD_compressBound(file->page.size);
  size_t size = 0;
  hsc_bytes_reset(&file->packed);
  char *to = hsc_bytes_extend(&file->packed, room);
  if (to)
    size = ZSTD_compressCCtx(file->zstd, to, room, file->page.data ? file->page.data : "",
                             file->page.size, ZSTD_LEVEL);
  if (!file->status)
    file->status = hsc_bytes_status(&file->page);
  if (!file->status)
    file->status = hsc_bytes_status(&file->packed);
  if (!file->status && ZSTD_isError(size))
    file->status = HSC_ERR(INTERNAL, "zstd: %s", ZSTD_getErrorName(size));
  if (file->status)
    return;
  hsc_bytes head = {0};
  hsc__thrift t = hsc__thrift_of(&head);
  hsc__thrift_i32(&t, 1, type);
  hsc__thrift_i32(&t, 2, (int32_t)file->page.size);
  hsc__thrift_i32(&t, 3, (int32_t)size);
  hsc__thrift_begin(&t, type == PAGE_DATA ? 5 : 7);
  hsc__thrift_i32(&t, 1, (int32_t)values);
  hsc__thrift_i32(&t, 2, encoding);
  if (type == PAGE_DATA) {
    hsc__thrift_i32(&t, 3, ENCODING_RLE);
    hsc__thrift_i32(&t, 4, ENCODING_RLE);
  }
  hsc__thrift_end(&t);
  hsc__thrift_stop(&t);
  file->status = hsc_bytes_status(&head);
  at->raw_bytes += (int64_t)(head.size + file->page.size);
  at->stored_bytes += (int64_t)(head.size + size);
  put(file, hsc_bytes_view(&head));
  put(file, (hsc_view){to, size});
  hsc_bytes_deinit(&head);
}

static void put_definition_levels(hsc_bytes *page, const column *c, size_t rows) {
  size_t start = page->size;
  uint32_t length = 0;
  hsc_bytes_append(page, &length, sizeof length);
  if (c->value_count == rows)
    rle_run(page, rows, 1);
  else if (!c->value_count)
    rle_run(page, rows, 0);
  else
    bit_packed(page, c->present.data, 1, rows, 1);
  length = (uint32_t)(page->size - start - sizeof length);
  if (!page->failed)
    memcpy(page->data + start, &length, sizeof length);
}

static void put_column(hsc_parquet *file, column *c) {
  size_t rows = (size_t)file->group_rows;
  chunk at = {.rows = file->group_rows,
              .nulls = (int64_t)(rows - c->value_count),
              .low = c->low,
              .high = c->high,
              .low_number = c->low_number,
              .high_number = c->high_number,
              .has_range = c->has_range && !c->has_nan};
  bool coded = c->type == HSC_PARQUET_TEXT && !c->plain_text;
  if (coded) {
    at.has_dictionary = true;
    at.dictionary_offset = file->offset;
    hsc_bytes_reset(&file->page);
    hsc_bytes_append(&file->page, c->dictionary.data, c->dictionary.size);
    put_page(file, PAGE_DICTIONARY, hsc_map_count(c->codes), ENCODING_PLAIN, &at);
  }
  at.data_offset = file->offset;
  hsc_bytes_reset(&file->page);
  put_definition_levels(&file->page, c, rows);
  if (coded) {
    int bits = 1;
    while ((size_t)1 << bits < hsc_map_count(c->codes))
      bits++;
    hsc_bytes_append_char(&file->page, (char)bits);
    if (c->value_count)
      bit_packed(&file->page, c->values.data, sizeof(uint32_t), c->value_count, bits);
    else
      hsc__thrift_varint(&file->page, 0);
  } else if (c->type == HSC_PARQUET_BOOL) {
    hsc_bytes bits = {0};
    bit_packed(&bits, c->values.data, 1, c->value_count, 1);
    size_t size = (c->value_count + 7) / 8;  // plain: the bits alone, without the run's header
    if (!bits.failed)
      hsc_bytes_append(&file->page, bits.data + bits.size - size, size);
    hsc_bytes_deinit(&bits);
  } else {
    hsc_bytes_append(&file->page, c->values.data, c->values.size);
  }
  put_page(file, PAGE_DATA, rows, coded ? ENCODING_RLE_DICTIONARY : ENCODING_PLAIN, &at);
  hsc_bytes_append(&file->chunks, &at, sizeof at);
}

static void end_group(hsc_parquet *file) {
  if (!file->group_rows)
    return;
  hsc_bytes_append(&file->group_sizes, &file->group_rows, sizeof file->group_rows);
  for (size_t i = 0; i < file->column_count; i++) {
    column *c = &file->columns[i];
    if (!file->status)
      file->status = hsc_bytes_status(&c->values);
    if (!file->status)
      file->status = hsc_bytes_status(&c->present);
    if (!file->status)
      put_column(file, c);
    hsc_bytes_reset(&c->values);
    hsc_bytes_reset(&c->present);
    hsc_bytes_reset(&c->dictionary);
    if (c->codes) {
      hsc_arena_reset(c->texts);
      hsc_map_destroy(c->codes);
      c->codes = NULL;
      hsc_status *status = hsc_map_create(&c->codes);
      if (status && !file->status)
        file->status = status;
      else
        hsc_status_free(status);
    }
    c->value_count = c->row_count = 0;
    c->recent_count = c->recent_next = 0;
    memset(c->lasting, 0, sizeof c->lasting);
    c->has_range = c->has_nan = c->plain_text = false;
  }
  file->rows += file->group_rows;
  file->group_rows = 0;
}

// ---- cells --------------------------------------------------------------------------------------

static void wrong_type(hsc_parquet *file, const column *c) {
  if (!file->status)
    file->status = HSC_ERR(INTERNAL, "parquet: a value of another type for column %s", c->name);
}

// Presence of one more cell, where the row group has nulls or gets its first.
static void note_presence(column *c, bool present) {
  if (!present && !c->present.size && c->row_count) {
    void *room = hsc_bytes_extend(&c->present, c->row_count);
    if (room)
      memset(room, 1, c->row_count);
  }
  if (!present || c->present.size)
    hsc_bytes_append_char(&c->present, present);
}

// The column of the next cell, which holds a value of one of these types (bits by
// hsc_parquet_type); NULL after a failure or when the type does not fit.
static inline column *take(hsc_parquet *file, unsigned types) {
  column *c = &file->columns[file->next];
  if (__builtin_expect(!(types >> c->type & 1) || file->status, 0)) {
    wrong_type(file, c);
    return NULL;
  }
  if (c->present.size)
    note_presence(c, true);
  c->row_count++;
  c->value_count++;
  return c;
}

static inline void append_word(hsc_bytes *bytes, const void *word) {
  if (__builtin_expect(bytes->capacity - bytes->size > sizeof(uint64_t) && !bytes->failed, 1)) {
    memcpy(bytes->data + bytes->size, word, sizeof(uint64_t));
    bytes->size += sizeof(uint64_t);
    return;
  }
  hsc_bytes_append(bytes, word, sizeof(uint64_t));
}

static inline void append_code(hsc_bytes *bytes, uint32_t code) {
  if (__builtin_expect(bytes->capacity - bytes->size > sizeof code && !bytes->failed, 1)) {
    memcpy(bytes->data + bytes->size, &code, sizeof code);
    bytes->size += sizeof code;
    return;
  }
  hsc_bytes_append(bytes, &code, sizeof code);
}

static inline void advance(hsc_parquet *file) {
  if (++file->next < file->column_count)
    return;
  file->next = 0;
  if (++file->group_rows == GROUP_ROWS)
    end_group(file);
}

void hsc_parquet_int(hsc_parquet *file, int64_t value) {
  column *c = take(
      file, 1u << HSC_PARQUET_INT64 | 1u << HSC_PARQUET_UINT64 | 1u << HSC_PARQUET_TIMESTAMP_US);
  if (!c)
    return;
  append_word(&c->values, &value);
  bool above =
      c->type == HSC_PARQUET_UINT64 ? (uint64_t)value > (uint64_t)c->high : value > c->high;
  bool below = c->type == HSC_PARQUET_UINT64 ? (uint64_t)value < (uint64_t)c->low : value < c->low;
  if (!c->has_range || above)
    c->high = value;
  if (!c->has_range || below)
    c->low = value;
  c->has_range = true;
  advance(file);
}

void hsc_parquet_double(hsc_parquet *file, double value) {
  column *c = take(file, 1u << HSC_PARQUET_DOUBLE);
  if (!c)
    return;
  append_word(&c->values, &value);
  if (value != value)
    c->has_nan = true;
  if (!c->has_range || value > c->high_number)
    c->high_number = value;
  if (!c->has_range || value < c->low_number)
    c->low_number = value;
  c->has_range = true;
  advance(file);
}

void hsc_parquet_bool(hsc_parquet *file, bool value) {
  column *c = take(file, 1u << HSC_PARQUET_BOOL);
  if (!c)
    return;
  hsc_bytes_append_char(&c->values, value);
  advance(file);
}

static void plain_text(hsc_bytes *out, hsc_view text) {
  uint32_t size = (uint32_t)text.size;
  hsc_bytes_append(out, &size, sizeof size);
  hsc_bytes_append(out, text.data, text.size);
}

// The dictionary grew too large: the codes so far become texts.
static void leave_dictionary(column *c) {
  hsc_bytes plain = {0};
  const uint32_t *codes = (const uint32_t *)(const void *)c->values.data;
  for (size_t i = 0; i < c->values.size / sizeof *codes; i++) {
    hsc_view text;
    hsc_map_at(c->codes, codes[i], &text);
    plain_text(&plain, text);
  }
  hsc_bytes_deinit(&c->values);
  c->values = plain;
  c->plain_text = true;
}

// The code of a text in the column's dictionary; UINT32_MAX = none, it is written as it is.
static uint32_t code_of(hsc_parquet *file, column *c, hsc_view value) {
  // A dictionary is worth its while when texts come again: at most one new in two.
  size_t different = c->plain_text ? 0 : hsc_map_count(c->codes);
  if (different >= DICTIONARY_LIMIT ||
      (different >= DICTIONARY_TRIAL && 2 * different > c->value_count))
    leave_dictionary(c);
  if (c->plain_text)
    return UINT32_MAX;
  for (unsigned i = 0; i < c->recent_count; i++)
    if (c->recent[i].text.size == value.size &&
        !memcmp(c->recent[i].text.data, value.data, value.size))
      return c->recent[i].code;
  uintptr_t code = (uintptr_t)hsc_map_get(c->codes, value);
  if (!code) {
    const char *copy = value.size ? hsc_arena_copy(c->texts, value.data, value.size) : "";
    code = hsc_map_count(c->codes) + 1;
    file->status = copy ? hsc_map_put(c->codes, (hsc_view){copy, value.size}, (void *)code)
                        : hsc_status_out_of_memory();
    if (file->status)
      return UINT32_MAX;
    plain_text(&c->dictionary, value);
  }
  uint32_t number = (uint32_t)code - 1;
  hsc_view kept;
  hsc_map_at(c->codes, number, &kept);
  c->recent[c->recent_next].text = kept;
  c->recent[c->recent_next].code = number;
  c->recent_next = (c->recent_next + 1) % HSC_COUNT_OF(c->recent);
  if (c->recent_count < HSC_COUNT_OF(c->recent))
    c->recent_count++;
  return number;
}

void hsc_parquet_text(hsc_parquet *file, hsc_view value) {
  column *c = take(file, 1u << HSC_PARQUET_TEXT);
  if (!c)
    return;
  uint32_t code = code_of(file, c, value);
  if (code == UINT32_MAX)
    plain_text(&c->values, value);
  else
    append_code(&c->values, code);
  advance(file);
}

void hsc_parquet_lasting(hsc_parquet *file, const char *text) {
  column *c = take(file, 1u << HSC_PARQUET_TEXT);
  if (!c)
    return;
  size_t slot = ((uintptr_t)text >> 3 ^ (uintptr_t)text >> 9) % HSC_COUNT_OF(c->lasting);
  if (c->lasting[slot].text == text && !c->plain_text) {
    append_code(&c->values, c->lasting[slot].code);
    advance(file);
    return;
  }
  hsc_view value = hsc_view_of(text);
  uint32_t code = code_of(file, c, value);
  if (code == UINT32_MAX) {
    plain_text(&c->values, value);
  } else {
    append_code(&c->values, code);
    c->lasting[slot].text = text;
    c->lasting[slot].code = code;
  }
  advance(file);
}

void hsc_parquet_null(hsc_parquet *file) {
  column *c = &file->columns[file->next];
  if (file->status)
    return;
  note_presence(c, false);
  c->row_count++;
  advance(file);
}

// ---- footer -------------------------------------------------------------------------------------

static void schema_element(hsc__thrift *t, const column *c) {
  hsc__thrift_element(t);
  hsc__thrift_i32(t, 1, physical_type(c->type));
  hsc__thrift_i32(t, 3, 1);  // OPTIONAL
  hsc__thrift_text(t, 4, hsc_view_of(c->name));
  if (c->type == HSC_PARQUET_TEXT)
    hsc__thrift_i32(t, 6, CONVERTED_UTF8);
  if (c->type == HSC_PARQUET_UINT64)
    hsc__thrift_i32(t, 6, CONVERTED_UINT_64);
  if (c->type == HSC_PARQUET_TIMESTAMP_US)
    hsc__thrift_i32(t, 6, CONVERTED_TIMESTAMP_MICROS);
  if (c->type == HSC_PARQUET_TEXT) {
    hsc__thrift_begin(t, 10);
    hsc__thrift_begin(t, 1);  // STRING
    hsc__thrift_end(t);
    hsc__thrift_end(t);
  }
  hsc__thrift_stop(t);
}

static void column_chunk(hsc__thrift *t, const column *c, const chunk *at) {
  hsc__thrift_element(t);
  hsc__thrift_i64(t, 2, at->has_dictionary ? at->dictionary_offset : at->data_offset);
  hsc__thrift_begin(t, 3);
  hsc__thrift_i32(t, 1, physical_type(c->type));
  hsc__thrift_list(t, 2, HSC__THRIFT_I32, 2);
  hsc__thrift_raw_i32(t, at->has_dictionary ? ENCODING_RLE_DICTIONARY : ENCODING_PLAIN);
  hsc__thrift_raw_i32(t, ENCODING_RLE);
  hsc__thrift_list(t, 3, HSC__THRIFT_BINARY, 1);
  hsc__thrift_raw_text(t, hsc_view_of(c->name));
  hsc__thrift_i32(t, 4, CODEC_ZSTD);
  hsc__thrift_i64(t, 5, at->rows);
  hsc__thrift_i64(t, 6, at->raw_bytes);
  hsc__thrift_i64(t, 7, at->stored_bytes);
  hsc__thrift_i64(t, 9, at->data_offset);
  if (at->has_dictionary)
    hsc__thrift_i64(t, 11, at->dictionary_offset);
  hsc__thrift_begin(t, 12);
  hsc__thrift_i64(t, 3, at->nulls);
  if (at->has_range) {
    bool number = c->type == HSC_PARQUET_DOUBLE;
    hsc__thrift_text(
        t, 5, (hsc_view){number ? (const char *)&at->high_number : (const char *)&at->high, 8});
    hsc__thrift_text(
        t, 6, (hsc_view){number ? (const char *)&at->low_number : (const char *)&at->low, 8});
  }
  hsc__thrift_end(t);
  hsc__thrift_end(t);
  hsc__thrift_stop(t);
}

static void row_groups(hsc__thrift *t, const hsc_parquet *file) {
  size_t groups = file->group_sizes.size / sizeof(int64_t);
  const int64_t *sizes = (const int64_t *)(const void *)file->group_sizes.data;
  const chunk *chunks = (const chunk *)(const void *)file->chunks.data;
  hsc__thrift_list(t, 4, HSC__THRIFT_STRUCT, groups);
  for (size_t g = 0; g < groups; g++) {
    const chunk *of_group = chunks + g * file->column_count;
    int64_t raw = 0;
    int64_t stored = 0;
    for (size_t i = 0; i < file->column_count; i++) {
      raw += of_group[i].raw_bytes;
      stored += of_group[i].stored_bytes;
    }
    hsc__thrift_element(t);
    hsc__thrift_list(t, 1, HSC__THRIFT_STRUCT, file->column_count);
    for (size_t i = 0; i < file->column_count; i++)
      column_chunk(t, &file->columns[i], &of_group[i]);
    hsc__thrift_i64(t, 2, raw);
    hsc__thrift_i64(t, 3, sizes[g]);
    hsc__thrift_i64(
        t, 5, of_group[0].has_dictionary ? of_group[0].dictionary_offset : of_group[0].data_offset);
    hsc__thrift_i64(t, 6, stored);
    hsc__thrift_stop(t);
  }
}

static void footer(hsc_parquet *file, hsc_bytes *out) {
  hsc__thrift t = hsc__thrift_of(out);
  hsc__thrift_i32(&t, 1, 2);
  hsc__thrift_list(&t, 2, HSC__THRIFT_STRUCT, file->column_count + 1);
  hsc__thrift_element(&t);
  hsc__thrift_text(&t, 4, HSC_VIEW("schema"));
  hsc__thrift_i32(&t, 5, (int32_t)file->column_count);
  hsc__thrift_stop(&t);
  for (size_t i = 0; i < file->column_count; i++)
    schema_element(&t, &file->columns[i]);
  hsc__thrift_i64(&t, 3, file->rows);
  row_groups(&t, file);
  if (file->metadata_count) {
    hsc__thrift_list(&t, 5, HSC__THRIFT_STRUCT, file->metadata_count);
    const char *at = hsc_bytes_text(&file->metadata);
    for (size_t i = 0; i < file->metadata_count; i++) {
      hsc__thrift_element(&t);
      hsc__thrift_text(&t, 1, hsc_view_of(at));
      at += strlen(at) + 1;
      hsc__thrift_text(&t, 2, hsc_view_of(at));
      at += strlen(at) + 1;
      hsc__thrift_stop(&t);
    }
  }
  hsc__thrift_text(&t, 6, HSC_VIEW("hloscope version " HSC_VERSION " (build 0)"));
  hsc__thrift_list(&t, 7, HSC__THRIFT_STRUCT, file->column_count);
  for (size_t i = 0; i < file->column_count; i++) {  // ColumnOrder: each type's own
    hsc__thrift_element(&t);
    hsc__thrift_begin(&t, 1);
    hsc__thrift_end(&t);
    hsc__thrift_stop(&t);
  }
  hsc__thrift_stop(&t);
}

hsc_status *hsc_parquet_finish(hsc_parquet *file) {
  if (file->next && !file->status)
    file->status = HSC_ERR(INTERNAL, "parquet: the last row ends before column %s",
                           file->columns[file->next].name);
  end_group(file);
  hsc_bytes out = {0};
  // what the footer is made of has to be whole: it is read by its counts
  const hsc_bytes *const parts[] = {&file->chunks, &file->group_sizes, &file->metadata};
  for (size_t i = 0; !file->status && i < HSC_COUNT_OF(parts); i++)
    file->status = hsc_bytes_status(parts[i]);
  if (!file->status) {
    footer(file, &out);
    uint32_t size = (uint32_t)out.size;
    hsc_bytes_append(&out, &size, sizeof size);
    hsc_bytes_append_text(&out, "PAR1");
    file->status = hsc_bytes_status(&out);
  }
  put(file, hsc_bytes_view(&out));
  hsc_bytes_deinit(&out);
  hsc_status *status = file->status;
  file->status = NULL;
  hsc_parquet_abandon(file);
  return status;
}
