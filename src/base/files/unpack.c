// unpack.c - see unpack.h.
#include "base/core/memory.h"
#include "base/files/unpack.h"

#include <zlib.h>
#include <zstd.h>

enum { CHUNK_BYTES = 1 << 16 };

struct hsc_unpacker {
  enum { UNPACK_UNKNOWN, UNPACK_PLAIN, UNPACK_GZIP, UNPACK_ZSTD } kind;
  z_stream zlib;
  ZSTD_DStream *zstd;
  bool in_member;  // the stream may not end here
  uint64_t read;
  char out[CHUNK_BYTES];
};

hsc_status *hsc_unpacker_create(hsc_unpacker **out_unpacker) {
  *out_unpacker = hsc_alloc(sizeof **out_unpacker);
  return *out_unpacker ? NULL : hsc_status_out_of_memory();
}

void hsc_unpacker_destroy(hsc_unpacker *u) {
  if (!u)
    return;
  if (u->kind == UNPACK_GZIP)
    inflateEnd(&u->zlib);
  ZSTD_freeDStream(u->zstd);
  hsc_free(u);
}

static hsc_status *begin(hsc_unpacker *u, hsc_view bytes) {
  static const unsigned char gzip[] = {0x1f, 0x8b};
  static const unsigned char zstd[] = {0x28, 0xb5, 0x2f, 0xfd};
  u->kind = UNPACK_PLAIN;
  if (bytes.size >= sizeof gzip && !memcmp(bytes.data, gzip, sizeof gzip)) {
    if (inflateInit2(&u->zlib, 16 + MAX_WBITS) != Z_OK)
      return hsc_status_out_of_memory();
    u->kind = UNPACK_GZIP;
  } else if (bytes.size >= sizeof zstd && !memcmp(bytes.data, zstd, sizeof zstd)) {
    u->zstd = ZSTD_createDStream();
    if (!u->zstd)
      return hsc_status_out_of_memory();
    u->kind = UNPACK_ZSTD;
  }
  return NULL;
}

static hsc_status *feed_gzip(hsc_unpacker *u, hsc_view bytes, hsc_unpacker_sink *sink, void *user) {
  u->zlib.next_in = (Bytef *)(uintptr_t)bytes.data;
  u->zlib.avail_in = (uInt)bytes.size;
  do {
    u->zlib.next_out = (Bytef *)u->out;
    u->zlib.avail_out = sizeof u->out;
    if (u->zlib.avail_in)
      u->in_member = true;
    int result = inflate(&u->zlib, Z_NO_FLUSH);
    if (result == Z_MEM_ERROR)
      return hsc_status_out_of_memory();
    if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR)
      return HSC_ERR(DATA_LOSS, "gzip: %s at byte %llu", u->zlib.msg ? u->zlib.msg : "corrupt data",
                     (unsigned long long)(u->read + bytes.size - u->zlib.avail_in));
    if (sizeof u->out > u->zlib.avail_out)
      HSC_TRY(sink(user, u->out, sizeof u->out - u->zlib.avail_out));
    if (result == Z_STREAM_END) {  // files of several members are legal
      u->in_member = false;
      if (inflateReset(&u->zlib) != Z_OK)
        return HSC_ERR(INTERNAL, "gzip: the decoder cannot be reset");
    }
  } while (u->zlib.avail_in || !u->zlib.avail_out);
  return NULL;
}

static hsc_status *feed_zstd(hsc_unpacker *u, hsc_view bytes, hsc_unpacker_sink *sink, void *user) {
  ZSTD_inBuffer in = {bytes.data, bytes.size, 0};
  ZSTD_outBuffer chunk;
  do {
    chunk = (ZSTD_outBuffer){u->out, sizeof u->out, 0};
    size_t pending = ZSTD_decompressStream(u->zstd, &chunk, &in);
    if (ZSTD_isError(pending))
      return HSC_ERR(DATA_LOSS, "zstd: %s at byte %llu", ZSTD_getErrorName(pending),
                     (unsigned long long)(u->read + in.pos));
    u->in_member = pending != 0;
    if (chunk.pos)
      HSC_TRY(sink(user, u->out, chunk.pos));
  } while (in.pos < in.size || chunk.pos == sizeof u->out);
  return NULL;
}

hsc_status *hsc_unpacker_feed(hsc_unpacker *u,
                              hsc_view bytes,
                              hsc_unpacker_sink *sink,
                              void *user) {
  if (!bytes.size)
    return NULL;
  if (u->kind == UNPACK_UNKNOWN)
    HSC_TRY(begin(u, bytes));
  hsc_status *status;
  if (u->kind == UNPACK_GZIP)
    status = feed_gzip(u, bytes, sink, user);
  else if (u->kind == UNPACK_ZSTD)
    status = feed_zstd(u, bytes, sink, user);
  else
    status = sink(user, bytes.data, bytes.size);
  u->read += bytes.size;
  return status;
}

hsc_status *hsc_unpacker_finish(const hsc_unpacker *u) {
  if (!u->in_member)
    return NULL;
  return HSC_ERR(DATA_LOSS, "%s: the data end too early, after %llu bytes",
                 u->kind == UNPACK_GZIP ? "gzip" : "zstd", (unsigned long long)u->read);
}
