// decompress.c - gzip (RFC 1952), zlib (RFC 1950), zstd (RFC 8878) or plain bytes, distinguished by
// their magic numbers; a limit guards against bombs.
#include "base/core/bytes.h"
#include "base/core/status.h"
#include "base/files/file_io.h"

#include <zlib.h>
#include <zstd.h>

enum { CHUNK_BYTES = 1 << 16 };

// Bytes that unpack to more than this, and to more than N times their size, are a bomb.
static const size_t ALWAYS_ALLOWED_BYTES = (size_t)64 << 20;
static const size_t MOST_TIMES = 128;

static hsc_status *over_limit(const char *format, size_t limit_bytes) {
  return HSC_ERR(RESOURCE_EXHAUSTED, "%s: more than %zu bytes after decompression", format,
                 limit_bytes);
}

// Room for the next chunk: at least one byte over the limit can be held, so that going over it is
// seen.
static void *next_chunk(hsc_bytes *out, size_t limit_bytes, size_t start, size_t *out_size) {
  size_t done = out->size - start;
  size_t want = done > CHUNK_BYTES ? done : CHUNK_BYTES;
  if (want > limit_bytes - done)
    want = limit_bytes - done + 1;
  *out_size = want;
  return hsc_bytes_extend(out, want);
}

static void cut(hsc_bytes *out, size_t size) {
  out->size = size;
  if (out->data)
    out->data[size] = 0;
}

static hsc_status *inflate_all(const char *format,
                               hsc_view data,
                               size_t limit_bytes,
                               hsc_bytes *out) {
  hsc_status *status = NULL;
  size_t start = out->size;
  size_t at = 0;
  z_stream stream = {0};
  if (inflateInit2(&stream, 32 + MAX_WBITS) != Z_OK)
    return hsc_status_out_of_memory();
  for (;;) {
    size_t room_bytes;
    void *room = next_chunk(out, limit_bytes, start, &room_bytes);
    if (!room) {
      status = hsc_bytes_status(out);
      goto done;
    }
    if (room_bytes > UINT32_MAX) {
      cut(out, out->size - room_bytes + UINT32_MAX);
      room_bytes = UINT32_MAX;
    }
    size_t give = data.size - at < UINT32_MAX ? data.size - at : UINT32_MAX;
    stream.next_in = (Bytef *)(uintptr_t)(data.data + at);
    stream.avail_in = (uInt)give;
    stream.next_out = room;
    stream.avail_out = (uInt)room_bytes;
    int result = inflate(&stream, Z_NO_FLUSH);
    size_t produced = room_bytes - stream.avail_out;
    size_t consumed = give - stream.avail_in;
    at += consumed;
    cut(out, out->size - room_bytes + produced);
    if (out->size - start > limit_bytes) {
      status = over_limit(format, limit_bytes);
      goto done;
    }
    if (result == Z_STREAM_END) {
      if (at == data.size)
        goto done;
      if (inflateReset(&stream) != Z_OK) {  // files of several members are legal
        status = HSC_ERR(INTERNAL, "%s: the decoder cannot be reset", format);
        goto done;
      }
    } else if (result == Z_MEM_ERROR) {
      status = hsc_status_out_of_memory();
      goto done;
    } else if (result != Z_OK || (produced == 0 && consumed == 0)) {
      const char *why = stream.msg ? stream.msg : "corrupt data";
      if (result == Z_OK || result == Z_BUF_ERROR)
        why = "the data end too early";
      status = HSC_ERR(DATA_LOSS, "%s: %s at byte %zu of %zu", format, why, at, data.size);
      goto done;
    }
  }
done:
  inflateEnd(&stream);
  return status;
}

static hsc_status *unzstd(hsc_view data, size_t limit_bytes, hsc_bytes *out) {
  hsc_status *status = NULL;
  size_t start = out->size;
  ZSTD_inBuffer in = {data.data, data.size, 0};
  ZSTD_DStream *stream = ZSTD_createDStream();
  if (!stream)
    return hsc_status_out_of_memory();
  for (size_t pending = 1;;) {
    size_t room_bytes;
    void *room = next_chunk(out, limit_bytes, start, &room_bytes);
    if (!room) {
      status = hsc_bytes_status(out);
      goto done;
    }
    ZSTD_outBuffer chunk = {room, room_bytes, 0};
    size_t before = in.pos;
    pending = ZSTD_decompressStream(stream, &chunk, &in);
    cut(out, out->size - room_bytes + chunk.pos);
    if (ZSTD_isError(pending)) {
      status = HSC_ERR(DATA_LOSS, "zstd: %s at byte %zu of %zu", ZSTD_getErrorName(pending), before,
                       data.size);
      goto done;
    }
    if (out->size - start > limit_bytes) {
      status = over_limit("zstd", limit_bytes);
      goto done;
    }
    if (in.pos == in.size && chunk.pos < chunk.size) {
      if (pending)
        status = HSC_ERR(DATA_LOSS, "zstd: the data end too early, after %zu bytes", data.size);
      goto done;
    }
  }
done:
  ZSTD_freeDStream(stream);
  return status;
}

hsc_status *hsc_decompress(hsc_view data, size_t limit_bytes, hsc_bytes *out_bytes) {
  if (limit_bytes > SIZE_MAX / 2)
    limit_bytes = SIZE_MAX / 2;
  size_t packed_limit = limit_bytes;
  if (limit_bytes > ALWAYS_ALLOWED_BYTES &&
      data.size < (limit_bytes - ALWAYS_ALLOWED_BYTES) / MOST_TIMES)
    packed_limit = ALWAYS_ALLOWED_BYTES + data.size * MOST_TIMES;
  if (data.size >= 2 && memcmp(data.data, "\x1f\x8b", 2) == 0)
    return inflate_all("gzip", data, packed_limit, out_bytes);
  // The header of zlib is a check of itself; no program begins with these.
  if (data.size >= 2 && data.data[0] == 0x78 && (0x7800 + (unsigned char)data.data[1]) % 31 == 0)
    return inflate_all("zlib", data, packed_limit, out_bytes);
  if (data.size >= 4 && memcmp(data.data, "\x28\xb5\x2f\xfd", 4) == 0)
    return unzstd(data, packed_limit, out_bytes);
  if (data.size > limit_bytes)
    return HSC_ERR(RESOURCE_EXHAUSTED, "more than %zu bytes", limit_bytes);
  hsc_bytes_append(out_bytes, data.data, data.size);
  return hsc_bytes_status(out_bytes);
}

bool hsc_is_packed(hsc_view bytes) {
  return (bytes.size >= 2 && !memcmp(bytes.data, "\x1f\x8b", 2)) ||
         (bytes.size >= 4 && !memcmp(bytes.data, "\x28\xb5\x2f\xfd", 4));
}

hsc_status *hsc_file_read_unpacked(const char *path, size_t limit_bytes, hsc_bytes *out_bytes) {
  hsc_bytes file = {0};
  hsc_status *status = hsc_file_read(path, &file);
  if (!status) {
    status = hsc_decompress(hsc_bytes_view(&file), limit_bytes, out_bytes);
    if (status)
      status = hsc_status_at(status, path, 0, 0, NULL);
  }
  hsc_bytes_deinit(&file);
  return status;
}

hsc_view hsc_text_after_mark(hsc_view text) {
  static const char mark[] = "\xef\xbb\xbf";
  size_t size = sizeof mark - 1;
  if (text.size < size || memcmp(text.data, mark, size) != 0)
    return text;
  return (hsc_view){text.data + size, text.size - size};
}
