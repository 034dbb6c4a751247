// zip.c - ZIP archives as PKWARE's APPNOTE describes them: the directory at the end says where the
// files are; what stands before each of them is only skipped.
#include "base/files/zip.h"

#include <zlib.h>

enum {
  END_BYTES = 22,      // end of central directory
  END64_BYTES = 56,    // its ZIP64 form
  LOCATOR_BYTES = 20,  // what says where that one is, right before the end record
  DIRECTORY_BYTES = 46,
  LOCAL_BYTES = 30,
  MOST_COMMENT = 65535,
  STORED = 0,
  DEFLATED = 8,
  ENCRYPTED = 1,
  ZIP64_FIELD = 1,
};
// Deflate packs a byte into a thousandth at best: a larger claim is not believed.
static const uint64_t MOST_TIMES = 1040;

typedef struct zip_place {
  uint64_t packed, size, offset;
  uint32_t crc;
  uint16_t method, flags;
} zip_place;

static uint64_t number(hsc_view bytes, uint64_t at, int width) {
  uint64_t value = 0;
  for (int i = width; i-- > 0;)
    value = value << 8 | (unsigned char)bytes.data[at + (uint64_t)i];
  return value;
}

// Whether `size` bytes lie at `at`.
static bool is_inside(hsc_view archive, uint64_t at, uint64_t size) {
  return at <= archive.size && size <= archive.size - at;
}

bool hsc_zip_is(hsc_view archive) {
  return archive.size >= 4 &&
         (memcmp(archive.data, "PK\3\4", 4) == 0 || memcmp(archive.data, "PK\5\6", 4) == 0);
}

// Where the end record is: behind it there is at most a comment.
static hsc_status *find_end(hsc_view archive, uint64_t *out_at) {
  uint64_t least =
      archive.size > END_BYTES + MOST_COMMENT ? archive.size - END_BYTES - MOST_COMMENT : 0;
  for (uint64_t at = archive.size >= END_BYTES ? archive.size - END_BYTES + 1 : 0; at-- > least;)
    if (memcmp(archive.data + at, "PK\5\6", 4) == 0) {
      *out_at = at;
      return NULL;
    }
  return HSC_ERR(DATA_LOSS, "zip: no directory at the end of %zu bytes; is the file whole?",
                 archive.size);
}

static hsc_status *find_directory(hsc_view archive,
                                  uint64_t *out_at,
                                  uint64_t *out_size,
                                  uint64_t *out_count) {
  uint64_t end = 0;
  HSC_TRY(find_end(archive, &end));
  *out_count = number(archive, end + 10, 2);
  *out_size = number(archive, end + 12, 4);
  *out_at = number(archive, end + 16, 4);
  bool has_locator =
      end >= LOCATOR_BYTES && memcmp(archive.data + end - LOCATOR_BYTES, "PK\6\7", 4) == 0;
  if (has_locator) {
    uint64_t at = number(archive, end - LOCATOR_BYTES + 8, 8);
    if (!is_inside(archive, at, END64_BYTES) || memcmp(archive.data + at, "PK\6\6", 4) != 0)
      return HSC_ERR(DATA_LOSS, "zip: the directory is said to be at byte %llu, and is not",
                     (unsigned long long)at);
    *out_count = number(archive, at + 32, 8);
    *out_size = number(archive, at + 40, 8);
    *out_at = number(archive, at + 48, 8);
  }
  if (!is_inside(archive, *out_at, *out_size) || *out_count > *out_size / DIRECTORY_BYTES)
    return HSC_ERR(DATA_LOSS, "zip: the directory lies outside of the %zu bytes", archive.size);
  return NULL;
}

// ZIP64 keeps the numbers that do not fit into 32 bits in a field of their own, in this order.
static hsc_status *read_wide(hsc_view extra, zip_place *place) {
  uint64_t *const wide[] = {&place->size, &place->packed, &place->offset};
  for (uint64_t at = 0; at + 4 <= extra.size;) {
    uint64_t id = number(extra, at, 2);
    uint64_t size = number(extra, at + 2, 2);
    at += 4;
    if (size > extra.size - at)
      break;
    uint64_t from = at;
    for (size_t i = 0; id == ZIP64_FIELD && i < HSC_COUNT_OF(wide); i++) {
      if (*wide[i] != UINT32_MAX)
        continue;
      if (from + 8 > at + size)
        return HSC_ERR(DATA_LOSS, "zip: the 64-bit sizes of a file are cut off");
      *wide[i] = number(extra, from, 8);
      from += 8;
    }
    at += size;
  }
  return NULL;
}

static hsc_status *inflate_whole(hsc_view packed, void *data, uint64_t size, const char *name) {
  z_stream stream = {0};
  if (packed.size > UINT32_MAX || size > UINT32_MAX)
    return HSC_ERR(UNIMPLEMENTED, "zip: %s is packed and has 4 GiB or more; store it unpacked",
                   name);
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK)
    return hsc_status_out_of_memory();
  stream.next_in = (Bytef *)(uintptr_t)packed.data;
  stream.avail_in = (uInt)packed.size;
  stream.next_out = data;
  stream.avail_out = (uInt)size;
  int result = inflate(&stream, Z_FINISH);
  bool whole = result == Z_STREAM_END && stream.total_out == size;
  inflateEnd(&stream);
  return whole ? NULL
               : HSC_ERR(DATA_LOSS, "zip: %s does not unpack to its %llu bytes", name,
                         (unsigned long long)size);
}

static hsc_status *read_data(hsc_view archive,
                             const zip_place *place,
                             hsc_arena *arena,
                             hsc_zip_entry *entry) {
  if (place->flags & ENCRYPTED)
    return HSC_ERR(UNIMPLEMENTED, "zip: %s is encrypted", entry->name);
  if (place->method != STORED && place->method != DEFLATED)
    return HSC_ERR(UNIMPLEMENTED, "zip: %s is compressed by method %d; deflate is read",
                   entry->name, place->method);
  if (!is_inside(archive, place->offset, LOCAL_BYTES) ||
      memcmp(archive.data + place->offset, "PK\3\4", 4) != 0)
    return HSC_ERR(DATA_LOSS, "zip: %s is not where the directory says", entry->name);
  uint64_t at = place->offset + LOCAL_BYTES + number(archive, place->offset + 26, 2) +
                number(archive, place->offset + 28, 2);
  bool fits = place->method == STORED ? place->size == place->packed
                                      : place->size / MOST_TIMES <= place->packed;
  if (!fits || !is_inside(archive, at, place->packed))
    return HSC_ERR(DATA_LOSS, "zip: the sizes of %s are not possible", entry->name);
  hsc_view packed = {archive.data + at, (size_t)place->packed};
  entry->data = packed;
  if (place->method == DEFLATED) {
    char *data = hsc_arena_alloc(arena, place->size + 1);
    HSC_TRY(hsc_arena_status(arena));
    HSC_TRY(inflate_whole(packed, data, place->size, entry->name));
    entry->data = (hsc_view){data, (size_t)place->size};
  }
  uint32_t crc = (uint32_t)crc32_z(0, (const Bytef *)entry->data.data, entry->data.size);
  if (crc != place->crc)
    return HSC_ERR(DATA_LOSS, "zip: %s is damaged: its checksum is another one", entry->name);
  return NULL;
}

hsc_status *hsc_zip_read(hsc_view archive,
                         hsc_arena *arena,
                         hsc_zip_entry **out_entries,
                         size_t *out_count) {
  uint64_t at = 0;
  uint64_t size = 0;
  uint64_t count = 0;
  HSC_TRY(find_directory(archive, &at, &size, &count));
  uint64_t end = at + size;
  hsc_zip_entry *entries = HSC_NEW_ARRAY(arena, hsc_zip_entry, count + 1);
  HSC_TRY(hsc_arena_status(arena));
  size_t found = 0;
  for (uint64_t i = 0; i < count; i++) {
    if (end - at < DIRECTORY_BYTES || memcmp(archive.data + at, "PK\1\2", 4) != 0)
      return HSC_ERR(DATA_LOSS, "zip: entry %llu of the directory is cut off",
                     (unsigned long long)i);
    zip_place place = {.flags = (uint16_t)number(archive, at + 8, 2),
                       .method = (uint16_t)number(archive, at + 10, 2),
                       .crc = (uint32_t)number(archive, at + 16, 4),
                       .packed = number(archive, at + 20, 4),
                       .size = number(archive, at + 24, 4),
                       .offset = number(archive, at + 42, 4)};
    uint64_t name = number(archive, at + 28, 2);
    uint64_t extra = number(archive, at + 30, 2);
    uint64_t whole = DIRECTORY_BYTES + name + extra + number(archive, at + 32, 2);
    if (whole > end - at)
      return HSC_ERR(DATA_LOSS, "zip: entry %llu of the directory is cut off",
                     (unsigned long long)i);
    HSC_TRY(
        read_wide((hsc_view){archive.data + at + DIRECTORY_BYTES + name, (size_t)extra}, &place));
    hsc_zip_entry *entry = &entries[found];
    entry->name = hsc_arena_strndup(arena, archive.data + at + DIRECTORY_BYTES, (size_t)name);
    HSC_TRY(hsc_arena_status(arena));
    at += whole;
    if (name && entry->name[name - 1] == '/')
      continue;
    HSC_TRY(read_data(archive, &place, arena, entry));
    found++;
  }
  *out_entries = entries;
  *out_count = found;
  return NULL;
}
