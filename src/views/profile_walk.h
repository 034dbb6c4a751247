// profile_walk.h - what the parts of the walk over a plane's events share.
//
// profile_ops.c goes over planes, lines and events; which device ran an event is found in
// profile_devices.c, which operator it is in profile_operators.c; profile_fold.c sums up what a
// line gave. Functions that return bool or an index give false or -1 when memory ran out, and
// nothing else.
#pragma once

#include "views/profile_internal.h"

typedef struct hsc__walk_record {
  int64_t start, duration;
  int32_t op;        // index of the operator; -1 = none
  int32_t activity;  // of what is no operator
} hsc__walk_record;

// One plane while it is read.
typedef struct hsc__walk {
  hsc_profile *profile;
  hsc_xspace *space;
  const hsc_xplane *plane;
  int32_t device;        // index, of the operator that is read; -1 until the first
  int32_t first_device;  // of the plane; those after it are its too
  bool is_device_plane, is_gpu;
  // [handle_count] by metadata position, then by position of the stat's metadata; -1 = none
  int32_t *first_op;
  uint8_t *name_class, *name_activity;  // [event_meta_count]
  int64_t id_hlo_op, id_program_id, id_hlo_module, id_run_id, id_step_num, id_ordinal, id_bytes,
      id_tf_op, id_level_0, id_memcpy;
  HSC__LIST(hsc__walk_record) records;
  bool sorted;                    // the records so far
  HSC__LIST(hsc__interval) busy;  // of operators, outermost ones; what: their device
  HSC__LIST(int64_t) stack_end;
  HSC__LIST(int32_t) stack_op;
  HSC__LIST(size_t) stack_event;  // in profile->events, where those are kept
  hsc_map *texts;                 // names of operators that are given as text, not by number
  hsc_map *runs;                  // (run id, module, device) -> index of the run
  int32_t last_run;
} hsc__walk;

// What the stats of an event say; hlo_op.kind is 0 where it is no operator.
typedef struct hsc__walk_stats {
  hsc_xstat hlo_op, hlo_module;
  int64_t program_id, run_id, step_num, bytes;
  int64_t ordinal;  // -1 = not reported
  bool has_program, has_run, has_step;
} hsc__walk_stats;

// profile_devices.c: the device that ran an operator becomes w->device. `ordinal`: on the host's
// plane, where operators tell it, else -1.
bool hsc__walk_device_of(hsc__walk *w, int64_t ordinal);
bool hsc__walk_device(hsc__walk *w);  // of a plane that has one device
// A plane with one device, the first, is called by the platform alone; several by their ordinals.
HSC_MUST_USE hsc_status *hsc__walk_name_devices(hsc__walk *w);

// profile_operators.c: indices of operators, found or made.
// On a device's line of operators: the metadata at `position` say everything.
int32_t hsc__walk_op_of_metadata(hsc__walk *w, int32_t position);
int32_t hsc__walk_op_of_number(hsc__walk *w, int64_t number);
// Of an event with a stat hlo_op.
int32_t hsc__walk_op_of_event(hsc__walk *w, const hsc__walk_stats *stats);
int32_t hsc__walk_op_of_kernel(hsc__walk *w, const hsc_xevent *event, hsc_view kernel);
bool hsc__walk_add_run(hsc__walk *w, int64_t id, int32_t module, int64_t start, int64_t end);

// profile_fold.c: by start, and what encloses before what it encloses.
int hsc__walk_compare(const void *a, const void *b);
int hsc__walk_section_of(const hsc__walk_record *r);
// Self times and outermost intervals of the records of one line: all of them, or those of the
// lane's section. Puts the records in order.
bool hsc__walk_fold_line(hsc__walk *w, hsc_profile_lane *lane, bool all);
