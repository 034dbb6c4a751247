// capture_internal.h - a capture while it is read: its rings, and the events that are added from
// profiles.
#pragma once

#include "base/core/memory.h"
#include "trace/capture.h"
#include "trace/xspace.h"

typedef struct hsc__ring {
  const uint8_t *bytes;
  size_t size;
  hsc_ring_header header;  // a copy: the file may be written to while we read
  const char **strings;    // [string_count]
  uint32_t string_count;
  double ns_per_tick, shared_ns_per_tick;
  // one moment on both clocks; of the process's longest ring
  uint64_t anchor_ticks;
  int64_t anchor_raw_ns;
  // of its host (capture_hosts.c): the raw clock's first moment, where that is on the time line,
  // how fast the clock runs against the time line, and what its wall clock shows at time 0
  int64_t host_raw_ns;
  double host_start_ns, host_rate;
  int64_t wall_at_zero_ns;
} hsc__ring;

struct hsc_capture {
  hsc_arena *arena;
  hsc_bytes events;   // of hsc_event
  hsc_bytes threads;  // of hsc_capture_thread
  hsc_bytes notes;
  hsc__ring *rings;
  hsc_capture_process *processes;
  int ring_count, ring_capacity;
  int64_t base_wall_ns;
  const char *path;
  const char *user_categories[HSC_USER_CATEGORIES];  // names; NULL = free
  uint64_t *looks;                                   // at attributes: hsc_capture_looked
  uint64_t backward;                                 // spans whose clock went back
};

// capture_hosts.c: lays the hosts' clocks beside each other, by the file of hsc_host_clocks_read at
// `clocks_path`; NULL = the one in the capture's folder, if there is one. Sets base_wall_ns, what
// rings have of their hosts, and clock_error_ns of processes.
HSC_MUST_USE hsc_status *hsc__capture_align_hosts(hsc_capture *capture, const char *clocks_path);
// capture_profile.c: events of the profiles that lie in DIR/profiles (PID-K.xplane.pb, as profilers
// of devices and of XLA:CPU wrote them) join those of the process that has this number. What cannot
// be read is said in the notes.
HSC_MUST_USE hsc_status *hsc__capture_merge_profiles(hsc_capture *capture);
// capture_events.c: the events of ring `index` join those of the capture, unsorted. Errors:
// RESOURCE_EXHAUSTED.
HSC_MUST_USE hsc_status *hsc__capture_read_events(hsc_capture *capture, int index);
// Rings from this size on are not kept in memory while they are read.
enum { HSC__LARGE_RING_BYTES = 64 << 20 };
// Gives back what was read of large rings; attributes of events stay good.
void hsc__capture_release_pages(const hsc_capture *capture);
// The number that a category of ring `r` has in the whole capture: programs number their own
// categories each by itself, here a name has one number in all of them.
uint32_t hsc__capture_category(hsc_capture *capture, const hsc__ring *r, uint32_t category);
// The thread or track (tid 0) of this name, found or made; sticky errors are in capture->threads.
int hsc__capture_thread(hsc_capture *capture, int process, int64_t tid, const char *name);
// capture_order.c: sorts the events, makes the first one the beginning of time, and finds how they
// nest.
HSC_MUST_USE hsc_status *hsc__capture_put_in_order(hsc_capture *capture);
// capture_nesting.c: how deep the sorted events nest on their threads, and who is around whom.
HSC_MUST_USE hsc_status *hsc__capture_nest(hsc_capture *capture);
// What an event of a host thread is, by its name (host_events.def); 0 = a mark that only closes
// others.
uint32_t hsc__host_event_category(hsc_view name);
// What the programs of a profile say of their operators. Members are NULL where nothing is said,
// and live in the arena.
typedef struct hsc__op_fact {
  const char *category;  // "custom-call lapack_sgeqrf_ffi"
  const char *op_name;   // of the framework: "jit(step)/layer/pure_callback"
} hsc__op_fact;
typedef struct hsc__op_facts hsc__op_facts;
HSC_MUST_USE hsc_status *hsc__op_facts_create(hsc_arena *arena, hsc__op_facts **out_facts);
void hsc__op_facts_destroy(hsc__op_facts *facts);  // NULL is fine
// The instructions of an HloProto; what cannot be read of it is left out.
HSC_MUST_USE hsc_status *hsc__op_facts_add(hsc__op_facts *facts,
                                           int64_t program_id,
                                           hsc_view hlo_proto);
hsc__op_fact hsc__op_facts_of(const hsc__op_facts *facts, int64_t program_id, const char *name);

// The time of an event of `line`, in ns, on the clock that is `shift_ns` ahead of the profile's. A
// damaged profile may hold any number: the result stays within 18 years of 0, so that sums do not
// overflow.
static inline int64_t hsc__xline_time(const hsc_xline *line, int64_t offset_ps, __int128 shift_ns) {
  const __int128 limit = (__int128)1 << 59;
  __int128 ns = (__int128)line->timestamp_ns + offset_ps / 1000 + shift_ns;
  if (ns > limit)
    return (int64_t)limit;
  return (int64_t)(ns < -limit ? -limit : ns);
}

// capture_occurrences.c
// An operator of a profile whose operators do not say which run they are of.
typedef struct hsc__occurrence {
  int64_t program_id;
  const char *program, *name;  // of the operator; borrowed
  int64_t start_ns, end_ns;
  int64_t run;  // from 0 for each program; -1 = it cannot be told
} hsc__occurrence;
// Fills in `run` and reorders the list. Errors: RESOURCE_EXHAUSTED.
HSC_MUST_USE hsc_status *hsc__number_occurrences(hsc__occurrence *list, size_t count);

hsc_view hsc__short_op_name(hsc_view name);  // "%fusion.1 = f32[] fusion(...)" is called fusion.1

// "" when unknown.
static inline const char *hsc__ring_string(const hsc__ring *r, uint64_t number) {
  return number < r->string_count && r->strings[number] ? r->strings[number] : "";
}
