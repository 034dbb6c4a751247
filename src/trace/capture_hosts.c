// capture_hosts.c - processes of several hosts on one time line.
//
// Rings count in ticks, which CLOCK_MONOTONIC_RAW turns into nanoseconds; that clock begins when a
// host is booted, so it only orders what happened on one host. Hosts are laid beside each other by
// their wall clocks, corrected by the capture's clocks.tsv where somebody measured them. A wall
// clock is read at the first and the last moment of a ring: between hosts it also tells how their
// raw clocks run against each other (some ten ppm, 70 ms in an hour).
#include "trace/capture_internal.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "trace/host_clocks.h"

typedef struct host {
  const char *name;
  const hsc__ring *first, *longest;
  int64_t offset_ns, late_offset_ns;  // of its wall clock, at the first and the last moment
  int64_t error_ns;                   // -1 = nobody knows
  int64_t wall_ns;                    // of its first moment, corrected
  double wall_per_raw;                // 0 = cannot be told
} host;

// Times of a damaged ring may be anything: sums wrap, and to_ns keeps what comes of it in bounds.
static int64_t plus(int64_t a, int64_t b) {
  return (int64_t)((uint64_t)a + (uint64_t)b);
}
static int64_t minus(int64_t a, int64_t b) {
  return (int64_t)((uint64_t)a - (uint64_t)b);
}

static bool is_longer(const hsc__ring *a, const hsc__ring *b) {
  return minus(a->header.last_raw_ns, a->header.first_raw_ns) >
         minus(b->header.last_raw_ns, b->header.first_raw_ns);
}

static size_t find_hosts(const hsc_capture *capture, host *hosts) {
  size_t count = 0;
  for (int i = 0; i < capture->ring_count; i++) {
    const hsc__ring *r = &capture->rings[i];
    size_t h = 0;
    while (h < count && strcmp(hosts[h].name, r->header.host) != 0)
      h++;
    if (h == count)
      hosts[count++] = (host){.name = r->header.host, .first = r, .longest = r};
    if (r->header.first_raw_ns < hosts[h].first->header.first_raw_ns)
      hosts[h].first = r;
    if (is_longer(r, hosts[h].longest))
      hosts[h].longest = r;
    capture->processes[i].host_number = (int32_t)h;
  }
  return count;
}

// A wall clock that somebody set while it was recorded says nothing of the raw clock's rate; nor
// does one that was read twice within a second.
static double rate_of(const host *h) {
  const double most = 1e-3;
  const hsc_ring_header *header = &h->longest->header;
  double raw = (double)minus(header->last_raw_ns, header->first_raw_ns);
  double wall = (double)minus(header->last_wall_ns, header->first_wall_ns) -
                (double)minus(h->late_offset_ns, h->offset_ns);
  if (!header->last_wall_ns || raw < 1e9)
    return 0;
  double rate = wall / raw;
  return rate > 1 - most && rate < 1 + most ? rate : 0;
}

static void correct(const hsc_host_clocks *clocks, host *h) {
  const hsc_ring_header *first = &h->first->header;
  const hsc_ring_header *longest = &h->longest->header;
  int64_t late_error = 0;
  h->error_ns = first->wall_error_ns > 0 ? first->wall_error_ns : -1;
  if (hsc_host_clocks_at(clocks, h->name, first->first_wall_ns, &h->offset_ns, &h->error_ns)) {
    hsc_host_clocks_at(clocks, h->name, longest->last_wall_ns, &h->late_offset_ns, &late_error);
    if (!longest->last_wall_ns)
      h->late_offset_ns = h->offset_ns;
    else if (late_error > h->error_ns)
      h->error_ns = late_error;
  }
  h->wall_ns = minus(first->first_wall_ns, h->offset_ns);
  h->wall_per_raw = rate_of(h);
}

static void note_alignment(hsc_capture *capture, const host *hosts, size_t count, size_t base) {
  int64_t worst = 0;
  const char *unknown = NULL;
  for (size_t h = 0; h < count; h++) {
    if (hosts[h].error_ns < 0)
      unknown = hosts[h].name;
    else if (h != base && hosts[h].error_ns > worst)
      worst = hosts[h].error_ns;
  }
  if (unknown)
    hsc_bytes_printf(
        &capture->notes,
        "%zu hosts are aligned by their wall clocks; how far %s's is off is not known: "
        "`hloscope sweep clocks %s/" HSC_HOST_CLOCKS_FILE "` under mpirun measures it\n",
        count, *unknown ? unknown : "one", capture->path);
  else
    hsc_bytes_printf(&capture->notes,
                     "%zu hosts are aligned by their wall clocks, within %.3g ms\n", count,
                     (double)plus(worst, hosts[base].error_ns) * 1e-6);
}

static hsc_status *read_clocks(const hsc_capture *capture,
                               const char *path,
                               hsc_host_clocks *out_clocks) {
  *out_clocks = (hsc_host_clocks){0};
  if (!path) {
    path = hsc_arena_printf(capture->arena, "%s/" HSC_HOST_CLOCKS_FILE, capture->path);
    HSC_TRY(hsc_arena_status(capture->arena));
    if (access(path, F_OK))
      return NULL;
  }
  return hsc_host_clocks_read(path, capture->arena, out_clocks);
}

hsc_status *hsc__capture_align_hosts(hsc_capture *capture, const char *clocks_path) {
  hsc_host_clocks clocks;
  HSC_TRY(read_clocks(capture, clocks_path, &clocks));
  host *hosts = HSC_NEW_ARRAY(capture->arena, host, capture->ring_count + 1);
  HSC_TRY(hsc_arena_status(capture->arena));
  size_t count = find_hosts(capture, hosts);
  size_t base = 0;
  for (size_t h = 0; h < count; h++) {
    correct(&clocks, &hosts[h]);
    if (hosts[h].wall_ns < hosts[base].wall_ns)
      base = h;
  }
  if (!count)
    return NULL;
  double base_rate = hosts[base].wall_per_raw > 0 ? hosts[base].wall_per_raw : 1;
  for (int i = 0; i < capture->ring_count; i++) {
    const host *h = &hosts[capture->processes[i].host_number];
    bool has_rate = h != &hosts[base] && h->wall_per_raw > 0;
    hsc__ring *r = &capture->rings[i];
    r->host_raw_ns = h->first->header.first_raw_ns;
    r->host_rate = has_rate ? h->wall_per_raw / base_rate : 1;
    r->host_start_ns = (double)minus(h->wall_ns, hosts[base].wall_ns) / base_rate;
    r->wall_at_zero_ns = plus(hosts[base].wall_ns, h->offset_ns);
    capture->processes[i].clock_error_ns = h->error_ns;
  }
  capture->base_wall_ns = hosts[base].wall_ns;
  if (count > 1)
    note_alignment(capture, hosts, count, base);
  return NULL;
}
