// profile_internal.h - what the parts of a profile share: the sums while they grow, and what the
// views fill.
#pragma once

#include "views/profile.h"

typedef enum hsc__section {
#define SECTION(id, text, doc) HSC__SECTION_##id,
#include "views/profile_sections.def"
#undef SECTION
  HSC__SECTION_COUNT,
  HSC__SECTION_NONE = HSC__SECTION_COUNT,
} hsc__section;
const char *hsc__section_text(hsc__section section);

// A stretch of time with one activity.
typedef struct hsc__interval {
  int64_t start, end;  // ps
  int32_t activity;
  int32_t what;  // name of a host event: metadata position; operators: -1
} hsc__interval;

#define HSC__LIST(type) \
  struct { \
    type *items; \
    size_t count, capacity; \
  }
// Adds an element; false when memory ran out.
#define HSC__ADD(list, ...) \
  (HSC_GROW((list)->items, (list)->count, (list)->capacity) && \
   ((list)->items[(list)->count++] = (__VA_ARGS__), true))

typedef struct hsc__run {  // one run of a program on a device
  int32_t device, module;
  int64_t id, start_ps, end_ps;
} hsc__run;

typedef struct hsc__op_event {  // kept for samples by step
  int64_t start_ps, self_ps;
  int32_t op;
} hsc__op_event;

// MemoryAllocation, MemoryDeallocation; decoded by who shows them
typedef struct hsc__memory_event {
  const hsc_xplane *plane;
  hsc_view message;
  int64_t at_ps;
  bool gives_back;
} hsc__memory_event;

struct hsc_profile {
  bool keep_events;
  HSC__LIST(hsc__op_event) events;
  hsc_arena *arena;
  hsc_bytes notes;
  HSC__LIST(hsc_xspace *) spaces;
  HSC__LIST(hsc_profile_device) devices;
  HSC__LIST(hsc_profile_op) ops;
  HSC__LIST(hsc_profile_step) steps;
  // marked on the host, device = -1; given to devices without steps of their own
  HSC__LIST(hsc_profile_step) host_steps;
  const char *steps_of;  // hsc_profile_steps_of
  HSC__LIST(hsc_profile_module) modules;
  HSC__LIST(hsc_profile_lane) lanes;
  HSC__LIST(hsc__run) runs;
  HSC__LIST(hsc__memory_event) memory;  // in the order of the file
  // transfers, compilations and other work of the host, sorted by start
  HSC__LIST(hsc__interval) host;
  int64_t base_ns, span_ps;
  const char *only_path;
  const char *peak_source;
  bool joined;
};

// What a space is distinguished by where a profile has several; in the profile's arena.
const char *hsc__space_stem(const hsc_xspace *space, hsc_arena *arena);  // its file's name

static inline int64_t hsc__sat_add(int64_t a, int64_t b) {
  int64_t sum;
  if (__builtin_add_overflow(a, b, &sum)) {
    if (b > 0)
      return INT64_MAX;
    return INT64_MIN;
  }
  return sum;
}
// Picoseconds since the profile's start.
int64_t hsc__profile_time(const hsc_profile *profile, const hsc_xline *line, int64_t offset_ps);

// profile_ops.c: all operators, lanes and steps of a space are added to the profile.
HSC_MUST_USE hsc_status *hsc__profile_read_space(hsc_profile *profile, hsc_xspace *space);
// What an event of the host with this name is (trace/host_events.def); NULL = only the host's work.
typedef struct hsc__host_name {
  const char *part;
  uint8_t activity, section;
} hsc__host_name;
const hsc__host_name *hsc__host_name_of(hsc_view name);
// Whether an event of the device's plane is this device's: planes of hosts hold those of several.
bool hsc__profile_is_of(const hsc_profile_device *device, const hsc_xevent *event);
// profile_steps.c: time of `intervals` (any order) to the steps [first, count) of the device; sorts
// the intervals. Returns the busy time.
HSC_MUST_USE hsc_status *hsc__profile_account(hsc_profile *profile,
                                              int32_t device,
                                              hsc__interval *intervals,
                                              size_t count,
                                              size_t first_step);
// by the device, not reported by the program
bool hsc__profile_steps_are_guessed(const hsc_profile *profile, int32_t device);
HSC_MUST_USE hsc_status *hsc__profile_finish_steps(hsc_profile *profile,
                                                   hsc__interval *const *intervals,
                                                   const size_t *counts);
// profile_join.c: what the profile does not tell of operators, from the programs' HLO. Once.
HSC_MUST_USE hsc_status *hsc__profile_join(hsc_profile *profile);
// The instruction that an operator is, in its program's HLO, whether the operator needed it or not;
// NULL = no HLO, or not in it.
const hsc_instr *hsc__profile_instr(hsc_profile *profile, const hsc_profile_op *op);
// NULL = not reported; found or made; -1 = no memory
int32_t hsc__profile_module_of(hsc_profile *profile,
                               const hsc_xspace *space,
                               const int64_t *program_id,
                               hsc_view name);
hsc_activity hsc__activity_of_category(hsc_view category);
void hsc__profile_note(hsc_profile *profile, const char *format, ...) HSC_PRINTF(2, 3);

// ---- views ----

typedef struct hsc__profile_view {
  hsc_profile *profile;
  const hsc_profile_options *options;
  hsc_table *table;
  hsc_arena *arena;  // dies with the view
  int32_t program;   // module index that --program asks for; -1 = all
} hsc__profile_view;
#define PROFILE_VIEW(id, text, doc) \
  HSC_MUST_USE hsc_status *hsc__profile_view_##id(hsc__profile_view *cx);
#include "views/profile_views.def"
#undef PROFILE_VIEW
bool hsc__profile_room(const hsc__profile_view *cx);
bool hsc__view_contains(hsc_view text, const char *part);  // part NULL: true
void hsc__table_view(hsc_table *table, hsc_view text);     // empty = missing

// Operators with devices added up, by self time.
typedef struct hsc__op_group {
  hsc_profile_op op;    // sums; device = the first one's
  const char *devices;  // "TPU:0", "TPU:0-7", "8 devices"
  double peak_flops, peak_bytes;
} hsc__op_group;
HSC_MUST_USE hsc_status *hsc__profile_groups(hsc__profile_view *cx,
                                             hsc__op_group **out_groups,
                                             size_t *out_count);
