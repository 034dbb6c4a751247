// unpack.h - gzip, zstd or plain bytes that come in pieces (what they are the first piece says), of
// any size and in little memory.
//
//   hsc_unpacker *u;
//   HSC_TRY(hsc_unpacker_create(&u));
//   while (...) HSC_GOTO(hsc_unpacker_feed(u, piece, sink, user));   // sink gets what is inside,
//   borrowed during the call
//   HSC_GOTO(hsc_unpacker_finish(u));                                 // DATA_LOSS when the data
//   end too early
//   hsc_unpacker_destroy(u);
#pragma once

#include "base/core/bytes.h"
#include "base/core/status.h"

typedef struct hsc_unpacker hsc_unpacker;
typedef hsc_status *hsc_unpacker_sink(void *user, const void *bytes, size_t size);
HSC_MUST_USE hsc_status *hsc_unpacker_create(hsc_unpacker **out_unpacker);
void hsc_unpacker_destroy(hsc_unpacker *unpacker);
// Errors: DATA_LOSS for corrupt data, with the byte; the sink's.
HSC_MUST_USE hsc_status *hsc_unpacker_feed(hsc_unpacker *unpacker,
                                           hsc_view bytes,
                                           hsc_unpacker_sink *sink,
                                           void *user);
HSC_MUST_USE hsc_status *hsc_unpacker_finish(const hsc_unpacker *unpacker);
