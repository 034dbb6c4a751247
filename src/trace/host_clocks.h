// host_clocks.h - how far the clocks of several hosts are apart: what `hloscope sweep clocks`
// measures and captures are aligned by.
//
// A file of lines: host, wall_ns, offset_ns, error_ns, separated by tabs; lines that begin with #
// are comments. At wall_ns (of the reference's clock) the host's CLOCK_REALTIME was ahead of the
// reference's by offset_ns, give or take error_ns. A host may have several lines: between two of
// them the offset is interpolated.
#pragma once

#include "base/core/memory.h"
#include "base/core/status.h"

#define HSC_HOST_CLOCKS_FILE "clocks.tsv"  // of a capture's folder

typedef struct hsc_host_clock {
  const char *host;
  int64_t wall_ns, offset_ns, error_ns;
} hsc_host_clock;

typedef struct hsc_host_clocks {
  hsc_host_clock *rows;  // [count], by host, then by time
  size_t count;
} hsc_host_clocks;

// Rows live in the arena. Errors: NOT_FOUND, DATA_LOSS with the line.
HSC_MUST_USE hsc_status *hsc_host_clocks_read(const char *path,
                                              hsc_arena *arena,
                                              hsc_host_clocks *out_clocks);
// What the host's clock was ahead of the reference's when it showed `wall_ns`, and the error of
// that: of the measurements around it; away from them it grows by 15 ppm, which is what RFC 5905
// takes for a clock that is not looked after. False: the file does not have the host.
bool hsc_host_clocks_at(const hsc_host_clocks *clocks,
                        const char *host,
                        int64_t wall_ns,
                        int64_t *out_offset_ns,
                        int64_t *out_error_ns);
// Adds rows to the file, which is made where it is missing; its first line says the reference.
// Errors: FAILED_PRECONDITION (the file has another reference), what cannot be written.
HSC_MUST_USE hsc_status *hsc_host_clocks_append(const char *path,
                                                const char *reference,
                                                const hsc_host_clock *rows,
                                                size_t count);
