// parquet_read.c - the footer, and pages of a column chunk decoded one after the other.
//
// How to read: the footer makes columns, chunks and row groups of what thrift_read.h reads field by
// field. A page has a header, levels that say which rows are
// present, and values: plain, or codes of a dictionary (read_coded, read_plain). Sizes come from
// the file: each is checked against the bytes that are there before it is used.
#include "base/core/map.h"
#include "base/core/memory.h"
#include "base/files/file_io.h"
#include "base/parquet/parquet_read.h"
#include "base/parquet/thrift_read.h"

#include <math.h>

enum {
  TYPE_BOOLEAN,
  TYPE_INT32,
  TYPE_INT64,
  TYPE_INT96,
  TYPE_FLOAT,
  TYPE_DOUBLE,
  TYPE_BYTE_ARRAY,
  TYPE_FIXED
};
enum {
  ENCODING_PLAIN = 0,
  ENCODING_PLAIN_DICTIONARY = 2,
  ENCODING_RLE = 3,
  ENCODING_RLE_DICTIONARY = 8
};
enum { PAGE_DATA = 0, PAGE_INDEX = 1, PAGE_DICTIONARY = 2, PAGE_DATA_V2 = 3 };
enum { CODEC_NONE = 0, CODEC_SNAPPY = 1, CODEC_GZIP = 2, CODEC_ZSTD = 6 };
enum { LARGEST_PAGE = 1 << 30, DEEPEST = 32 };  // bytes; groups inside of groups of the schema

// ---- the footer ---------------------------------------------------------------------------------

typedef struct parquet_column {
  const char *name;
  int type;
  bool optional, nested;
} parquet_column;

typedef struct chunk {  // of one column in one row group
  int64_t values, data_offset, dictionary_offset, compressed_bytes;
  int codec;
} chunk;

struct hsc_parquet_file {
  hsc_view bytes;
  hsc_arena *arena;
  hsc_arena *texts;  // and dictionaries: until they are forgotten
  parquet_column *columns;
  size_t column_count, row_count, group_count;
  chunk *chunks;  // [group][column]
  size_t chunk_room;
  hsc_map *metadata;     // texts in the arena
  hsc_bytes page;        // decompressed data page
  hsc_bytes dictionary;  // decompressed dictionary page
};

static hsc_status *damaged(const hsc_parquet_file *file, const void *at, const char *what) {
  return HSC_ERR(INVALID_ARGUMENT, "damaged Parquet file: %s near byte %zu", what,
                 (size_t)((const char *)at - file->bytes.data));
}

static const char *copied(hsc_parquet_file *file, hsc_view text) {
  char *copy = hsc_arena_alloc(file->arena, text.size + 1);
  if (!copy)
    return "";
  memcpy(copy, text.data, text.size);
  copy[text.size] = 0;
  return copy;
}

// SchemaElement: 1 type, 3 repetition, 4 name, 5 children. Elements lie in depth-first order; the
// first one is the root.
static void read_schema(hsc_parquet_file *file, hsc__thrift_in *t) {
  int type;
  // children still to come, by depth
  size_t count = hsc__thrift_read_list(t, &type);
  size_t open_at[DEEPEST];
  size_t depth = 0;
  file->columns = HSC_NEW_ARRAY(file->arena, parquet_column, count + 1);
  if (!file->columns)
    return;
  for (size_t i = 0; i < count && !t->bad; i++) {
    parquet_column c = {.name = "", .type = -1};
    int64_t children = 0;
    int64_t repetition = 0;
    for (int id = 0, kind;
         (kind = hsc__thrift_read_field(t, &id)) != HSC__THRIFT_STOP && !t->bad;) {
      if (id == 1 && kind == HSC__THRIFT_I32)
        c.type = (int)hsc__thrift_read_zigzag(t);
      else if (id == 3 && kind == HSC__THRIFT_I32)
        repetition = hsc__thrift_read_zigzag(t);
      else if (id == 4 && kind == HSC__THRIFT_BINARY)
        c.name = copied(file, hsc__thrift_read_binary(t));
      else if (id == 5 && kind == HSC__THRIFT_I32)
        children = hsc__thrift_read_zigzag(t);
      else
        hsc__thrift_skip(t, kind, false);
    }
    while (depth > 0 && open_at[depth - 1] == 0)
      depth--;
    if (depth > 0)
      open_at[depth - 1]--;
    c.optional = repetition == 1;
    c.nested = depth > 1 || repetition == 2;
    if (i == 0 || c.type < 0) {  // the root, or a group
      if (depth >= DEEPEST || children < 0 || children > (int64_t)count)
        t->bad = true;
      else
        open_at[depth++] = (size_t)children;
    } else {
      file->columns[file->column_count++] = c;
    }
  }
}

// ColumnChunk: 3 meta_data. ColumnMetaData: 4 codec, 5 num_values, 7 total_compressed_size, 9
// data_page_offset, 11 dictionary_page_offset.
static void read_chunk(hsc__thrift_in *t, chunk *out) {
  *out = (chunk){.dictionary_offset = -1};
  for (int id = 0, kind; (kind = hsc__thrift_read_field(t, &id)) != HSC__THRIFT_STOP && !t->bad;) {
    if (id != 3 || kind != HSC__THRIFT_STRUCT) {
      hsc__thrift_skip(t, kind, false);
      continue;
    }
    for (int inner = 0, type;
         (type = hsc__thrift_read_field(t, &inner)) != HSC__THRIFT_STOP && !t->bad;) {
      int64_t *to;
      if (inner == 5)
        to = &out->values;
      else if (inner == 7)
        to = &out->compressed_bytes;
      else if (inner == 9)
        to = &out->data_offset;
      else if (inner == 11)
        to = &out->dictionary_offset;
      else
        to = NULL;
      if (to && type == HSC__THRIFT_I64)
        *to = hsc__thrift_read_zigzag(t);
      else if (inner == 4 && type == HSC__THRIFT_I32)
        out->codec = (int)hsc__thrift_read_zigzag(t);
      else
        hsc__thrift_skip(t, type, false);
    }
  }
}

static hsc_status *read_groups(hsc_parquet_file *file, hsc__thrift_in *t) {
  int type;
  size_t count = hsc__thrift_read_list(t, &type);
  size_t total;
  if (!file->columns || !hsc_mul_size(count, file->column_count, &total))
    return damaged(file, t->at, "row groups without a schema");
  file->chunks = HSC_NEW_ARRAY(file->arena, chunk, total + 1);
  if (!file->chunks)
    return hsc_status_out_of_memory();
  for (size_t g = 0; g < count && !t->bad; g++) {
    chunk *row = file->chunks + g * file->column_count;
    for (int id = 0, kind;
         (kind = hsc__thrift_read_field(t, &id)) != HSC__THRIFT_STOP && !t->bad;) {
      if (id != 1 || kind != HSC__THRIFT_LIST) {
        hsc__thrift_skip(t, kind, false);
        continue;
      }
      int of;
      size_t columns = hsc__thrift_read_list(t, &of);
      if (columns != file->column_count)
        return damaged(file, t->at, "a row group with another number of columns");
      for (size_t c = 0; c < columns && !t->bad; c++)
        read_chunk(t, &row[c]);
    }
  }
  file->group_count = count;
  return NULL;
}

static hsc_status *read_metadata(hsc_parquet_file *file, hsc__thrift_in *t) {
  int type;
  for (size_t n = hsc__thrift_read_list(t, &type); n > 0 && !t->bad; n--) {
    hsc_view key = {"", 0};
    hsc_view value = {"", 0};
    for (int id = 0, kind;
         (kind = hsc__thrift_read_field(t, &id)) != HSC__THRIFT_STOP && !t->bad;) {
      if (kind == HSC__THRIFT_BINARY && (id == 1 || id == 2))
        *(id == 1 ? &key : &value) = hsc__thrift_read_binary(t);
      else
        hsc__thrift_skip(t, kind, false);
    }
    HSC_TRY(hsc_map_put(file->metadata, key, (void *)(uintptr_t)copied(file, value)));
  }
  return NULL;
}

// Rows are counted from the chunks: a file's own number is not to be trusted with an allocation.
static hsc_status *check_row_counts(const hsc_parquet_file *file) {
  hsc_view b = file->bytes;
  for (size_t c = 0; c < file->column_count; c++) {
    if (file->columns[c].nested)
      continue;
    size_t rows = 0;
    for (size_t g = 0; g < file->group_count; g++) {
      int64_t values = file->chunks[g * file->column_count + c].values;
      if (values < 0 || !hsc_add_size(rows, (size_t)values, &rows))
        return damaged(file, b.data, "a negative number of values");
    }
    if (rows != file->row_count)
      return HSC_ERR(INVALID_ARGUMENT,
                     "damaged Parquet file: column '%s' has %zu values, the file %zu rows",
                     file->columns[c].name, rows, file->row_count);
  }
  for (size_t g = 0; g < file->group_count; g++)
    for (size_t c = 0; c < file->column_count; c++)
      if (!file->columns[c].nested && (size_t)file->chunks[g * file->column_count + c].values !=
                                          hsc_parquet_group_rows(file, g))
        return damaged(file, b.data, "a row group whose columns differ in length");
  return NULL;
}

static hsc_status *read_footer(hsc_parquet_file *file) {
  hsc_view b = file->bytes;
  if (b.size < 12 || memcmp(b.data, "PAR1", 4))
    return HSC_ERR(INVALID_ARGUMENT, "this is no Parquet file: it does not begin with PAR1");
  if (!memcmp(b.data + b.size - 4, "PARE", 4))
    return HSC_ERR(UNIMPLEMENTED, "the Parquet file is encrypted");
  if (memcmp(b.data + b.size - 4, "PAR1", 4))
    return HSC_ERR(INVALID_ARGUMENT, "the Parquet file is cut off: it does not end with PAR1");
  uint32_t size;
  memcpy(&size, b.data + b.size - 8, 4);
  if (size > b.size - 12)
    return damaged(file, b.data + b.size - 8, "a footer larger than the file");
  hsc__thrift_in t = {(const uint8_t *)b.data + b.size - 8 - size,
                      (const uint8_t *)b.data + b.size - 8, false, 0};
  hsc_status *status = NULL;
  for (int id = 0, kind;
       !status && (kind = hsc__thrift_read_field(&t, &id)) != HSC__THRIFT_STOP && !t.bad;) {
    if (id == 2 && kind == HSC__THRIFT_LIST)
      read_schema(file, &t);
    else if (id == 3 && kind == HSC__THRIFT_I64)
      file->row_count = (size_t)hsc__thrift_read_zigzag(&t);
    else if (id == 4 && kind == HSC__THRIFT_LIST)
      status = read_groups(file, &t);
    else if (id == 5 && kind == HSC__THRIFT_LIST)
      status = read_metadata(file, &t);
    else
      hsc__thrift_skip(&t, kind, false);
  }
  if (!status)
    status = hsc_arena_status(file->arena);
  if (!status && t.bad)
    status = damaged(file, t.at, "the footer");
  if (status)
    return status;
  HSC_TRY(check_row_counts(file));
  // A page of one repeated value may be short, but not a billion times shorter than its rows.
  if (file->row_count > ((size_t)1 << 30))
    return HSC_ERR(UNIMPLEMENTED, "the Parquet file has %zu rows; 2^30 are read at most",
                   file->row_count);
  return NULL;
}

hsc_status *hsc_parquet_open(hsc_view bytes, hsc_parquet_file **out_file) {
  *out_file = NULL;
  hsc_parquet_file *file = hsc_alloc(sizeof *file);
  if (!file)
    return hsc_status_out_of_memory();
  *file = (hsc_parquet_file){.bytes = bytes};
  hsc_status *status = hsc_arena_create(&file->arena);
  if (!status)
    status = hsc_arena_create(&file->texts);
  if (!status)
    status = hsc_map_create(&file->metadata);
  if (!status)
    status = read_footer(file);
  if (status)
    hsc_parquet_close(file);
  else
    *out_file = file;
  return status;
}

void hsc_parquet_close(hsc_parquet_file *file) {
  if (!file)
    return;
  if (file->metadata)
    hsc_map_destroy(file->metadata);
  if (file->arena)
    hsc_arena_destroy(file->arena);
  if (file->texts)
    hsc_arena_destroy(file->texts);
  hsc_bytes_deinit(&file->page);
  hsc_bytes_deinit(&file->dictionary);
  hsc_free(file);
}

size_t hsc_parquet_row_count(const hsc_parquet_file *file) {
  return file->row_count;
}
size_t hsc_parquet_column_count(const hsc_parquet_file *file) {
  return file->column_count;
}
const char *hsc_parquet_column_name(const hsc_parquet_file *file, size_t c) {
  return file->columns[c].name;
}
const char *hsc_parquet_get_metadata(const hsc_parquet_file *file, const char *key) {
  return hsc_map_get(file->metadata, hsc_view_of(key));
}

hsc_parquet_kind hsc_parquet_column_kind(const hsc_parquet_file *file, size_t c) {
  const parquet_column *of = &file->columns[c];
  if (of->nested || of->type < 0 || of->type == TYPE_INT96 || of->type > TYPE_BYTE_ARRAY)
    return HSC_PARQUET_KIND_OTHER;
  return of->type == TYPE_BYTE_ARRAY ? HSC_PARQUET_KIND_TEXT : HSC_PARQUET_KIND_NUMBER;
}

// ---- pages --------------------------------------------------------------------------------------

// Snappy: a varint with the size, then literals and copies from what was written before.
static bool unsnappy(hsc_view in, size_t size, hsc_bytes *out) {
  hsc__thrift_in t = {(const uint8_t *)in.data, (const uint8_t *)in.data + in.size, false, 0};
  if (hsc__thrift_read_varint(&t) != size || t.bad)
    return false;
  uint8_t *to = hsc_bytes_extend(out, size);
  if (!to)
    return false;
  size_t at = 0;
  while (t.at < t.end) {
    uint8_t tag = *t.at++;
    size_t length = tag >> 2;
    size_t offset = 0;
    size_t left = (size_t)(t.end - t.at);
    size_t extra;
    if ((tag & 3) == 0) {
      if (length >= 60) {
        extra = length - 59;
        if (left < extra)
          return false;
        length = 0;
        for (size_t i = 0; i < extra; i++)
          length |= (size_t)*t.at++ << (8 * i);
        left -= extra;
      }
      length++;
      if (length > left || length > size - at)
        return false;
      memcpy(to + at, t.at, length);
      t.at += length;
      at += length;
      continue;
    }
    extra = (tag & 3) == 3 ? 4 : tag & 3;
    if (left < extra)
      return false;
    if ((tag & 3) == 1) {
      offset = (size_t)(tag >> 5) << 8 | t.at[0];
      length = (length & 7) + 4;
    } else {
      for (size_t i = 0; i < extra; i++)
        offset |= (size_t)t.at[i] << (8 * i);
      length++;
    }
    t.at += extra;
    if (offset == 0 || offset > at || length > size - at)
      return false;
    for (size_t i = 0; i < length; i++, at++)
      to[at] = to[at - offset];
  }
  return at == size;
}

// The page's bytes decompressed into `to`.
static hsc_status *inflate(
    hsc_parquet_file *file, int codec, hsc_view in, size_t size, hsc_bytes *to) {
  static const char *const names[] = {"no compression",        "Snappy", "gzip", "LZO", "Brotli",
                                      "LZ4 in Hadoop's frame", "zstd",   "LZ4"};
  switch (codec) {
    case CODEC_NONE:
      hsc_bytes_append(to, in.data, in.size);
      break;
    case CODEC_SNAPPY:
      if (!unsnappy(in, size, to))
        return hsc_bytes_status(to) ? hsc_status_out_of_memory()
                                    : damaged(file, in.data, "a Snappy page");
      break;
    case CODEC_GZIP:
    case CODEC_ZSTD:
      HSC_TRY(hsc_decompress(in, size, to));
      break;
    default:
      return HSC_ERR(
          UNIMPLEMENTED,
          "the Parquet file is compressed with %s, which is not read here; uncompressed, Snappy, "
          "gzip and zstd are",
          codec > 0 && codec < (int)HSC_COUNT_OF(names) ? names[codec] : "an unknown codec");
  }
  HSC_TRY(hsc_bytes_status(to));
  return to->size >= size ? NULL : damaged(file, in.data, "a page shorter than it says");
}

typedef struct page {
  int type, encoding;
  // level_bytes: version 2
  int64_t values, compressed, uncompressed, level_bytes, repetition_bytes;
  bool is_compressed;
} page;

// DataPageHeader (5) and DictionaryPageHeader (7): 1 values, 2 encoding. DataPageHeaderV2 (8): 1
// values, 4 encoding, 5 bytes of definition levels, 6 of repetition levels, 7 is_compressed.
static void read_values_header(hsc__thrift_in *t, int of, page *out) {
  bool is_v2 = of == 8;
  for (int id = 0, kind; (kind = hsc__thrift_read_field(t, &id)) != HSC__THRIFT_STOP && !t->bad;) {
    if (kind == HSC__THRIFT_I32 && id == 1)
      out->values = hsc__thrift_read_zigzag(t);
    else if (kind == HSC__THRIFT_I32 && id == (is_v2 ? 4 : 2))
      out->encoding = (int)hsc__thrift_read_zigzag(t);
    else if (kind == HSC__THRIFT_I32 && is_v2 && id == 5)
      out->level_bytes = hsc__thrift_read_zigzag(t);
    else if (kind == HSC__THRIFT_I32 && is_v2 && id == 6)
      out->repetition_bytes = hsc__thrift_read_zigzag(t);
    else if (is_v2 && id == 7 && (kind == HSC__THRIFT_TRUE || kind == HSC__THRIFT_FALSE))
      out->is_compressed = kind == HSC__THRIFT_TRUE;
    else
      hsc__thrift_skip(t, kind, false);
  }
}

// PageHeader: 1 type, 2 uncompressed, 3 compressed, 5 data_page_header, 7 dictionary_page_header, 8
// data_page_header_v2.
static void read_page_header(hsc__thrift_in *t, page *out) {
  *out = (page){.type = -1, .is_compressed = true};
  for (int id = 0, kind; (kind = hsc__thrift_read_field(t, &id)) != HSC__THRIFT_STOP && !t->bad;) {
    if (kind == HSC__THRIFT_I32 && id == 1)
      out->type = (int)hsc__thrift_read_zigzag(t);
    else if (kind == HSC__THRIFT_I32 && (id == 2 || id == 3))
      *(id == 2 ? &out->uncompressed : &out->compressed) = hsc__thrift_read_zigzag(t);
    else if (kind == HSC__THRIFT_STRUCT && (id == 5 || id == 7 || id == 8))
      read_values_header(t, id, out);
    else
      hsc__thrift_skip(t, kind, false);
  }
}

// Hybrid of runs and packed groups: out[count]; false when the bytes do not hold them.
static bool read_hybrid(hsc_view in, int width, uint32_t *out, size_t count) {
  hsc__thrift_in t = {(const uint8_t *)in.data, (const uint8_t *)in.data + in.size, false, 0};
  size_t done = 0;
  while (done < count) {
    uint64_t header = hsc__thrift_read_varint(&t);
    if (t.bad)
      return false;
    if (header & 1) {
      uint64_t groups = header >> 1;
      uint64_t position = 0;
      if (groups == 0 || groups > (uint64_t)(t.end - t.at) + 1)
        return false;
      uint64_t bits = groups * 8 * (uint64_t)width;
      for (; position + (uint64_t)width <= bits && done < count; position += (uint64_t)width) {
        uint64_t word = 0;
        uint64_t byte = position / 8;
        if (width && byte + (position % 8 + (uint64_t)width + 7) / 8 > (uint64_t)(t.end - t.at))
          return false;
        for (uint64_t i = 0; i < 5 && byte + i < (uint64_t)(t.end - t.at); i++)
          word |= (uint64_t)t.at[byte + i] << (8 * i);
        out[done++] = (uint32_t)(word >> (position % 8) & (((uint64_t)1 << width) - 1));
        if (!width && done >= groups * 8)
          break;
      }
      uint64_t size = bits / 8;
      t.at += size < (uint64_t)(t.end - t.at) ? size : (uint64_t)(t.end - t.at);
    } else {
      uint64_t run = header >> 1;
      uint64_t value = 0;
      int bytes = (width + 7) / 8;
      if (run == 0 || t.end - t.at < bytes)
        return false;
      for (int i = 0; i < bytes; i++)
        value |= (uint64_t)*t.at++ << (8 * i);
      for (; run > 0 && done < count; run--)
        out[done++] = (uint32_t)value;
    }
  }
  return true;
}

// Where decoded values go: exactly one is set.
typedef struct target {
  double *numbers;
  hsc_view *texts;
} target;

// Plain values, one after the other.
typedef struct plain {
  const uint8_t *at, *end;
  int type, bit;
} plain;

static bool next_plain(plain *p, double *out_number, hsc_view *out_text) {
  size_t left = (size_t)(p->end - p->at);
  union {
    int32_t i;
    int64_t l;
    float f;
    double d;
    uint32_t u;
  } v;
  switch (p->type) {
    case TYPE_BOOLEAN:
      if (!left)
        return false;
      *out_number = *p->at >> p->bit & 1;
      if (++p->bit == 8) {
        p->bit = 0;
        p->at++;
      }
      return true;
    case TYPE_INT32:
    case TYPE_FLOAT:
      if (left < 4)
        return false;
      memcpy(&v, p->at, 4);
      *out_number = p->type == TYPE_INT32 ? (double)v.i : (double)v.f;
      p->at += 4;
      return true;
    case TYPE_INT64:
    case TYPE_DOUBLE:
      if (left < 8)
        return false;
      memcpy(&v, p->at, 8);
      *out_number = p->type == TYPE_INT64 ? (double)v.l : v.d;
      p->at += 8;
      return true;
    default:
      if (left < 4)
        return false;
      memcpy(&v, p->at, 4);
      if (v.u > left - 4)
        return false;
      *out_text = (hsc_view){(const char *)p->at + 4, v.u};
      p->at += 4 + v.u;
      return true;
  }
}

typedef struct dictionary {
  double *numbers;
  hsc_view *texts;
  size_t count;
} dictionary;

static hsc_status *read_dictionary(hsc_parquet_file *file,
                                   int type,
                                   const page *p,
                                   dictionary *out) {
  if (p->values < 0 || (uint64_t)p->values > file->dictionary.size * 8 + 1)
    return damaged(file, file->bytes.data, "a dictionary with more values than bytes");
  size_t count = (size_t)p->values;
  if (type == TYPE_BYTE_ARRAY)
    out->texts = HSC_NEW_ARRAY(file->texts, hsc_view, count + 1);
  else
    out->numbers = HSC_NEW_ARRAY(file->texts, double, count + 1);
  if (!out->texts && !out->numbers)
    return hsc_status_out_of_memory();
  // Texts are kept by callers until the file is closed, the buffer is not.
  const char *bytes = type == TYPE_BYTE_ARRAY ? hsc_arena_copy(file->texts, file->dictionary.data,
                                                               file->dictionary.size)
                                              : (const char *)file->dictionary.data;
  if (file->dictionary.size && !bytes)
    return hsc_status_out_of_memory();
  plain values = {(const uint8_t *)bytes, (const uint8_t *)bytes + file->dictionary.size, type, 0};
  for (size_t i = 0; i < count; i++)
    if (!next_plain(&values, out->numbers ? &out->numbers[i] : NULL,
                    out->texts ? &out->texts[i] : NULL))
      return damaged(file, file->bytes.data, "a dictionary that ends too early");
  out->count = count;
  return NULL;
}

static void put(target to, size_t row, double number, hsc_view text) {
  if (to.numbers)
    to.numbers[row] = number;
  else
    to.texts[row] = text;
}

// The values of one page: of `count` rows those that are present (NULL = all).
typedef struct page_values {
  const parquet_column *column;
  const page *page;
  hsc_view body;
  const uint32_t *present;
  size_t count;
  size_t row;  // of the first
  target to;
} page_values;

static bool is_present(const page_values *v, size_t i) {
  return !v->present || v->present[i];
}

// Codes of a dictionary, or the bits of booleans: in runs, after a byte with their width, or after
// the length of them all.
static hsc_status *read_codes(
    hsc_parquet_file *file, const page_values *v, bool bits, uint32_t *codes, size_t count) {
  size_t skipped = bits ? 4 : 1;
  int width = 1;
  if (count && v->body.size < skipped)
    return damaged(file, file->bytes.data, "a page without its codes");
  if (!bits)
    width = count ? (uint8_t)v->body.data[0] : 0;
  if (count &&
      (width > 32 || !read_hybrid((hsc_view){v->body.data + skipped, v->body.size - skipped}, width,
                                  codes, count)))
    return damaged(file, file->bytes.data, "codes of a page");
  return NULL;
}

static hsc_status *put_codes(hsc_parquet_file *file,
                             const page_values *v,
                             const dictionary *d,
                             bool bits,
                             const uint32_t *codes) {
  hsc_view none = {NULL, 0};
  size_t next = 0;
  for (size_t i = 0; i < v->count; i++) {
    if (!is_present(v, i)) {
      put(v->to, v->row + i, NAN, none);
      continue;
    }
    uint32_t code = codes[next++];
    if (bits)
      put(v->to, v->row + i, code, none);
    else if (code >= d->count)
      return damaged(file, file->bytes.data, "a code beyond the dictionary");
    else
      put(v->to, v->row + i, d->numbers ? d->numbers[code] : 0, d->texts ? d->texts[code] : none);
  }
  return NULL;
}

static hsc_status *read_coded(hsc_parquet_file *file,
                              const page_values *v,
                              const dictionary *d,
                              bool bits) {
  size_t count = 0;
  for (size_t i = 0; i < v->count; i++)
    count += is_present(v, i);
  uint32_t *codes = hsc_alloc((count + 1) * sizeof *codes);
  if (!codes)
    return hsc_status_out_of_memory();
  hsc_status *status = read_codes(file, v, bits, codes, count);
  if (!status)
    status = put_codes(file, v, d, bits, codes);
  hsc_free(codes);
  return status;
}

static hsc_status *read_plain(hsc_parquet_file *file, const page_values *v) {
  hsc_view body = v->body;
  const char *bytes = v->to.texts ? hsc_arena_copy(file->texts, body.data, body.size) : body.data;
  if (body.size && !bytes)
    return hsc_status_out_of_memory();
  plain in = {(const uint8_t *)bytes, (const uint8_t *)bytes + body.size, v->column->type, 0};
  for (size_t i = 0; i < v->count; i++) {
    double number = NAN;
    hsc_view text = {NULL, 0};
    if (is_present(v, i) && !next_plain(&in, &number, &text))
      return damaged(file, file->bytes.data, "a page that ends too early");
    put(v->to, v->row + i, number, text);
  }
  return NULL;
}

static hsc_status *refuse_encoding(const page_values *v) {
  static const char *const names[] = {[4] = "bit-packed",
                                      [5] = "delta binary packed",
                                      [6] = "delta length byte array",
                                      [7] = "delta byte array",
                                      [9] = "byte stream split"};
  int encoding = (int)v->page->encoding;
  const char *name = NULL;
  if (encoding > 3 && (size_t)encoding < HSC_COUNT_OF(names))
    name = names[encoding] ? names[encoding] : "";
  return HSC_ERR(UNIMPLEMENTED,
                 "column '%s' is encoded as %s, which is not read here; plain and dictionary are",
                 v->column->name, name ? name : "something unknown");
}

// Values of a data page, `body` after the levels. present[i] says which of the page's rows have
// one.
static hsc_status *read_values(hsc_parquet_file *file,
                               const parquet_column *c,
                               const page *p,
                               hsc_view body,
                               const uint32_t *present,
                               const dictionary *d,
                               size_t row,
                               target to) {
  page_values v = {.column = c,
                   .page = p,
                   .body = body,
                   .present = present,
                   .count = (size_t)p->values,
                   .row = row,
                   .to = to};
  bool bits = p->encoding == ENCODING_RLE && c->type == TYPE_BOOLEAN;
  if (bits || p->encoding == ENCODING_PLAIN_DICTIONARY || p->encoding == ENCODING_RLE_DICTIONARY)
    return read_coded(file, &v, d, bits);
  return p->encoding == ENCODING_PLAIN ? read_plain(file, &v) : refuse_encoding(&v);
}

static hsc_status *read_data_page(hsc_parquet_file *file,
                                  const parquet_column *c,
                                  int codec,
                                  const page *p,
                                  hsc_view raw,
                                  const dictionary *d,
                                  size_t row,
                                  target to) {
  size_t levels = 0;
  hsc_view level_bytes = {"", 0};
  file->page.size = 0;
  if (p->type == PAGE_DATA_V2) {
    if (p->level_bytes < 0 || p->repetition_bytes != 0 || (uint64_t)p->level_bytes > raw.size ||
        p->uncompressed < p->level_bytes)
      return damaged(file, raw.data, "levels of a page");
    levels = (size_t)p->level_bytes;
    level_bytes = (hsc_view){raw.data, levels};
    hsc_view rest = {raw.data + levels, raw.size - levels};
    HSC_TRY(inflate(file, p->is_compressed ? codec : CODEC_NONE, rest,
                    (size_t)p->uncompressed - levels, &file->page));
  } else {
    HSC_TRY(inflate(file, codec, raw, (size_t)p->uncompressed, &file->page));
  }
  hsc_view body = hsc_bytes_view(&file->page);
  if (p->type == PAGE_DATA && c->optional) {
    uint32_t size;
    if (body.size < 4 || (memcpy(&size, body.data, 4), size > body.size - 4))
      return damaged(file, raw.data, "levels of a page");
    level_bytes = (hsc_view){body.data + 4, size};
    body = (hsc_view){body.data + 4 + size, body.size - 4 - size};
  }
  uint32_t *present = NULL;
  hsc_status *status = NULL;
  if (c->optional) {
    present = hsc_alloc(((size_t)p->values + 1) * sizeof *present);
    if (!present)
      return hsc_status_out_of_memory();
    if (!read_hybrid(level_bytes, 1, present, (size_t)p->values))
      status = damaged(file, raw.data, "levels of a page");
  }
  if (!status)
    status = read_values(file, c, p, body, present, d, row, to);
  hsc_free(present);
  return status;
}

static hsc_status *read_chunk_pages(
    hsc_parquet_file *file, const parquet_column *c, const chunk *of, size_t row, target to) {
  int64_t from = of->dictionary_offset > 0 && of->dictionary_offset < of->data_offset
                     ? of->dictionary_offset
                     : of->data_offset;
  if (from < 4 || (uint64_t)from > file->bytes.size)
    return damaged(file, file->bytes.data, "a chunk outside of the file");
  hsc__thrift_in t = {(const uint8_t *)file->bytes.data + from,
                      (const uint8_t *)file->bytes.data + file->bytes.size - 8, false, 0};
  dictionary d = {0};
  for (int64_t done = 0; done < of->values;) {
    page p;
    read_page_header(&t, &p);
    if (t.bad || p.compressed < 0 || p.uncompressed < 0 || p.uncompressed > LARGEST_PAGE ||
        (uint64_t)p.compressed > (uint64_t)(t.end - t.at))
      return damaged(file, t.at, "a page header");
    hsc_view raw = {(const char *)t.at, (size_t)p.compressed};
    t.at += p.compressed;
    if (p.type == PAGE_DICTIONARY) {
      file->dictionary.size = 0;
      HSC_TRY(inflate(file, of->codec, raw, (size_t)p.uncompressed, &file->dictionary));
      HSC_TRY(read_dictionary(file, c->type, &p, &d));
    } else if (p.type == PAGE_DATA || p.type == PAGE_DATA_V2) {
      if (p.values <= 0 || p.values > of->values - done)
        return damaged(file, raw.data, "a page with more values than its column");
      HSC_TRY(read_data_page(file, c, of->codec, &p, raw, &d, row + (size_t)done, to));
      done += p.values;
    } else if (p.type != PAGE_INDEX) {
      return damaged(file, raw.data, "a page of an unknown kind");
    }
  }
  return NULL;
}

static hsc_status *check_kind(const hsc_parquet_file *file, size_t c, hsc_parquet_kind wanted) {
  if (hsc_parquet_column_kind(file, c) == wanted)
    return NULL;
  return HSC_ERR(INVALID_ARGUMENT, "column '%s' does not hold %s", file->columns[c].name,
                 wanted == HSC_PARQUET_KIND_TEXT ? "texts" : "numbers");
}

static hsc_status *read_group(
    hsc_parquet_file *file, size_t group, size_t c, size_t row, target to) {
  return read_chunk_pages(file, &file->columns[c], &file->chunks[group * file->column_count + c],
                          row, to);
}

static hsc_status *read_column(hsc_parquet_file *file, size_t c, target to) {
  for (size_t g = 0, row = 0; g < file->group_count; g++) {
    HSC_TRY(read_group(file, g, c, row, to));
    row += hsc_parquet_group_rows(file, g);
  }
  return NULL;
}

size_t hsc_parquet_group_count(const hsc_parquet_file *file) {
  return file->group_count;
}

// Flat columns have a value a row, and opening the file saw that they agree.
size_t hsc_parquet_group_rows(const hsc_parquet_file *file, size_t group) {
  for (size_t c = 0; c < file->column_count; c++)
    if (!file->columns[c].nested)
      return (size_t)file->chunks[group * file->column_count + c].values;
  return 0;
}

hsc_status *hsc_parquet_group_doubles(hsc_parquet_file *file,
                                      size_t group,
                                      size_t column,
                                      double *out) {
  HSC_TRY(check_kind(file, column, HSC_PARQUET_KIND_NUMBER));
  return read_group(file, group, column, 0, (target){.numbers = out});
}

hsc_status *hsc_parquet_group_texts(hsc_parquet_file *file,
                                    size_t group,
                                    size_t column,
                                    hsc_view *out) {
  HSC_TRY(check_kind(file, column, HSC_PARQUET_KIND_TEXT));
  return read_group(file, group, column, 0, (target){.texts = out});
}

void hsc_parquet_forget_texts(hsc_parquet_file *file) {
  hsc_arena_reset(file->texts);
}

hsc_status *hsc_parquet_read_doubles(hsc_parquet_file *file, size_t column, double *out) {
  HSC_TRY(check_kind(file, column, HSC_PARQUET_KIND_NUMBER));
  return read_column(file, column, (target){.numbers = out});
}
hsc_status *hsc_parquet_read_texts(hsc_parquet_file *file, size_t column, hsc_view *out) {
  HSC_TRY(check_kind(file, column, HSC_PARQUET_KIND_TEXT));
  return read_column(file, column, (target){.texts = out});
}
