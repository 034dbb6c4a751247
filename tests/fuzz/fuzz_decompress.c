// fuzz_decompress.c - any bytes: hsc_decompress gives data within the limit or an error, and never
// reads or writes outside; in pieces the same comes out.
#include <stdlib.h>
#include <string.h>

#include "base/core/bytes.h"
#include "base/core/status.h"
#include "base/files/file_io.h"
#include "base/files/unpack.h"
#include "rules.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LIMIT = 1 << 20, PIECE = 61 };

typedef struct seen {
  const hsc_bytes *whole;  // NULL = nothing to compare with
  size_t at;
} seen;

static hsc_status *compare(void *user, const void *bytes, size_t size) {
  seen *s = user;
  if (s->whole && (size > s->whole->size - s->at || memcmp(s->whole->data + s->at, bytes, size)))
    fuzz_broken();
  s->at += size;
  return s->at > LIMIT ? HSC_ERR(RESOURCE_EXHAUSTED, "more than the test wants") : NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  hsc_bytes out = {0};
  hsc_unpacker *unpacker = NULL;
  hsc_status *status = hsc_decompress((hsc_view){(const char *)data, size}, LIMIT, &out);
  if (!status && out.size > LIMIT)
    fuzz_broken();
  bool packed =
      size >= 4 && ((data[0] == 0x1f && data[1] == 0x8b) ||
                    (data[0] == 0x28 && data[1] == 0xb5 && data[2] == 0x2f && data[3] == 0xfd));
  seen s = {!status && packed ? &out : NULL, 0};
  bool whole = s.whole != NULL;
  fuzz_said_number(status ? "refused" : "size", status ? 0 : (int64_t)out.size);
  hsc_status_free(status);
  status = hsc_unpacker_create(&unpacker);
  for (size_t at = 0; at < size && !status; at += PIECE)
    status = hsc_unpacker_feed(
        unpacker, (hsc_view){(const char *)data + at, size - at < PIECE ? size - at : PIECE},
        compare, &s);
  if (!status)
    status = hsc_unpacker_finish(unpacker);
  if (whole && (status || s.at != out.size))
    fuzz_broken();
  hsc_status_free(status);
  hsc_unpacker_destroy(unpacker);
  hsc_bytes_deinit(&out);
  return 0;
}
