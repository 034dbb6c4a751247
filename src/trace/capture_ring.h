// capture_ring.h - one ring file as it is read: opening it, its clock, its chunks and records.
//
// The file may be written to while it is read, and may be damaged: what is taken from it here has
// been checked against the size of the file, and records end where the first torn one begins.
#pragma once

#include "trace/capture_internal.h"

// Maps the file and checks its header; ns_per_tick is 0 where the ring is too short to tell.
// Errors: NOT_FOUND; DATA_LOSS: no ring, or damaged; FAILED_PRECONDITION: of a newer hloscope. The
// caller closes the ring after an error too.
HSC_MUST_USE hsc_status *hsc__ring_open(const char *path, hsc__ring *out_ring);
void hsc__ring_close(const hsc__ring *r);
// Gives the pages of a large ring back to the kernel: they come back from the file when an
// attribute is looked at. Without, a capture that is larger than memory would be kept in it whole.
void hsc__ring_release_pages(const hsc__ring *r, const void *from, size_t size);
// The texts of a ring by their numbers, in `arena`. Errors: RESOURCE_EXHAUSTED.
HSC_MUST_USE hsc_status *hsc__ring_read_strings(hsc_arena *arena, hsc__ring *r);
// A ring that was killed within its first chunk has one moment only: the rate of this machine's
// counter is in.
double hsc__measured_ns_per_tick(void);

// A moment of the ring's clock on the time line of the capture.
static inline int64_t hsc__ring_ns(const hsc__ring *r, uint64_t ticks) {
  // A damaged ring may hold any number: times stay within 36 years, so that sums of them do not
  // overflow.
  const double longest = (double)((int64_t)1 << 60);
  double since = (double)(int64_t)(ticks - r->anchor_ticks) * r->ns_per_tick +
                 ((double)r->anchor_raw_ns - (double)r->host_raw_ns);
  since = since * r->host_rate + r->host_start_ns;
  if (!(since > -longest))
    return -((int64_t)1 << 60);
  return since < longest ? (int64_t)since : (int64_t)1 << 60;
}

// Words between the head of a record and its attributes.
static inline uint32_t hsc__payload_words(uint8_t kind) {
  switch (kind) {
    case HSC_RECORD_BEGIN:
      return 2;
    case HSC_RECORD_COMPLETE:
      return 4;
    case HSC_RECORD_RUN:
      return sizeof(hsc_ring_run) / 8;
    case HSC_RECORD_RUN_AGAIN:
      return sizeof(hsc_ring_run_again) / 8;
    case HSC_RECORD_END:
    case HSC_RECORD_COUNTER:
    case HSC_RECORD_FLOW_BEGIN:
    case HSC_RECORD_FLOW_END:
      return 1;
    default:
      return 0;
  }
}

// The record at `at` of a chunk with `used` bytes, or NULL when it is torn or damaged.
static inline const hsc_record *hsc__record_at(const uint8_t *records, uint32_t at, uint32_t used) {
  if (used - at < sizeof(hsc_record))
    return NULL;
  const hsc_record *record = (const hsc_record *)(records + at);
  if (record->size_bytes < sizeof *record || record->size_bytes % 8 ||
      record->size_bytes > used - at)
    return NULL;
  if (record->kind == HSC_RECORD_STRING)
    return record;
  size_t need = sizeof *record + 8 * hsc__payload_words(record->kind) +
                sizeof(hsc_trace_attr) * record->attr_count;
  return need <= record->size_bytes ? record : NULL;
}

static inline const hsc_ring_chunk *hsc__chunk_at(const hsc__ring *r, uint32_t index) {
  return (const hsc_ring_chunk *)(r->bytes + HSC_RING_HEADER_BYTES +
                                  (size_t)index * r->header.chunk_bytes);
}

static inline uint32_t hsc__chunk_used(const hsc__ring *r, const hsc_ring_chunk *chunk) {
  uint32_t used =
      atomic_load_explicit((_Atomic uint32_t *)&chunk->used_bytes, memory_order_acquire);
  uint32_t room = r->header.chunk_bytes - HSC_RING_CHUNK_HEADER_BYTES;
  return used > room ? room : used;
}
