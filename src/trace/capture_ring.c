// capture_ring.c - a ring file is mapped, its header checked, its strings read. The bytes are
// described in ring_format.h.
//
// What can change while a program still writes is copied first (the header) or read once (how much
// of a chunk is used); strings and attributes stay in the mapping and are looked at in place.
#include "trace/capture_ring.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/core/spill.h"
#include "base/files/file_io.h"

static hsc_status *map_file(const char *path, hsc__ring *out) {
  int file = -1;
  size_t size = 0;
  hsc_status *status = NULL;
  HSC_TRY(hsc_file_open(path, &file, &size));
  if (size < HSC_RING_HEADER_BYTES) {
    status = HSC_ERR(DATA_LOSS, "%s is no ring file: %zu bytes are too few", path, size);
  } else {
    out->size = size;
    void *memory = mmap(NULL, out->size, PROT_READ, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED)
      status = HSC_ERR(RESOURCE_EXHAUSTED, "cannot map %s: %s", path, strerror(errno));
    else
      out->bytes = memory;
  }
  if (out->bytes)
    hsc_spill_watch(out->bytes, out->size);
  close(file);
  return status;
}

void hsc__ring_close(const hsc__ring *r) {
  if (!r->bytes)  // of a profile: its events are in memory alone
    return;
  hsc_spill_forget(r->bytes);
  munmap((void *)(uintptr_t)r->bytes, r->size);
}

void hsc__ring_release_pages(const hsc__ring *r, const void *from, size_t size) {
  static const uintptr_t PAGE = 4096;
  uintptr_t start = ((uintptr_t)from + PAGE - 1) & ~(PAGE - 1);
  uintptr_t end = ((uintptr_t)from + size) & ~(PAGE - 1);
  if (r->size >= HSC__LARGE_RING_BYTES && end > start)
    madvise((void *)start, end - start, MADV_DONTNEED);
}

static hsc_status *check_header(const char *path, hsc__ring *r) {
  memcpy(&r->header, r->bytes, sizeof r->header);
  const hsc_ring_header *h = &r->header;
  if (h->magic != HSC_RING_MAGIC)
    return HSC_ERR(DATA_LOSS, "%s is no ring file", path);
  if (h->version > HSC_RING_VERSION)
    return HSC_ERR(FAILED_PRECONDITION,
                   "%s was written by a newer hloscope: ring version %u, this one reads up to %d",
                   path, h->version, HSC_RING_VERSION);
  if (h->header_bytes != HSC_RING_HEADER_BYTES || h->chunk_bytes < 4096 || h->chunk_bytes % 8 ||
      h->chunk_bytes > 1u << 30)
    return HSC_ERR(DATA_LOSS, "%s: damaged header", path);
  uint32_t fit = (uint32_t)((r->size - HSC_RING_HEADER_BYTES) / h->chunk_bytes);
  if (h->chunk_count > fit)
    r->header.chunk_count = fit;
  double ticks = (double)(int64_t)(h->last_ticks - h->first_ticks);
  double ns = (double)(h->last_raw_ns - h->first_raw_ns);
  if (h->clock == HSC_CLOCK_TSC && ticks > 0 && ns > 0)
    r->ns_per_tick = ns / ticks;
  else if (h->clock == HSC_CLOCK_TSC)
    r->ns_per_tick = 0;
  else
    r->ns_per_tick = 1;
  return NULL;
}

hsc_status *hsc__ring_open(const char *path, hsc__ring *out_ring) {
  HSC_TRY(map_file(path, out_ring));
  return check_header(path, out_ring);
}

double hsc__measured_ns_per_tick(void) {
  int64_t ns = hsc_now_ns();
  uint64_t ticks = hsc_trace_ticks();
  hsc_sleep_ns(5000000);
  double d = (double)(int64_t)(hsc_trace_ticks() - ticks);
  return d > 0 ? (double)(hsc_now_ns() - ns) / d : 1;
}

hsc_status *hsc__ring_read_strings(hsc_arena *arena, hsc__ring *r) {
  for (int pass = 0; pass < 2; pass++) {
    uint32_t highest = 0;
    for (uint32_t i = 0; i < r->header.chunk_count; i++) {
      const hsc_ring_chunk *chunk = hsc__chunk_at(r, i);
      if (chunk->kind != HSC_CHUNK_STRINGS)
        continue;
      uint32_t used = hsc__chunk_used(r, chunk);
      const uint8_t *records = (const uint8_t *)chunk + HSC_RING_CHUNK_HEADER_BYTES;
      for (uint32_t at = 0; at < used;) {
        const hsc_record *record = hsc__record_at(records, at, used);
        if (!record || record->kind != HSC_RECORD_STRING)
          break;
        const char *text = (const char *)(record + 1);
        bool whole = memchr(text, 0, record->size_bytes - sizeof *record) != NULL;
        if (pass == 0 && record->name > highest)
          highest = record->name;
        if (pass == 1 && whole && record->name < r->string_count)
          r->strings[record->name] = text;
        at += record->size_bytes;
      }
    }
    if (pass == 1)
      break;
    // more strings than fit: damaged numbers
    if (highest > r->size / sizeof(hsc_record))
      highest = (uint32_t)(r->size / sizeof(hsc_record));
    r->string_count = highest + 1;
    r->strings = HSC_NEW_ARRAY(arena, const char *, r->string_count);
    if (!r->strings)
      return hsc_status_out_of_memory();
  }
  return NULL;
}
