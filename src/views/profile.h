// profile.h - an XSpace summed up: operators, steps, lanes. What the profile views, the comparison
// of two profiles and the exports read.
//
//   hsc_profile *profile;
//   HSC_TRY(hsc_profile_open("logdir", &profile));
//   HSC_TRY(hsc_profile_table(profile, HSC_PROFILE_VIEW_hlo_operators, NULL, &table));
//   hsc_profile_close(profile);
//
// Every event is decoded once, line by line; what stays in memory is one row for each operator of
// each device, and one for each step. Operators are the events of a device's line "XLA Ops" (what
// they are is given by their metadata) and the events of any other line that have a stat hlo_op
// (XLA:CPU, XLA:GPU). What a profile does not tell about an operator (flops, bytes, category,
// framework name, source line) is taken from the program's HLO that the profile carries, by program
// and instruction name, and costed by hloscope's own model. Times are picoseconds since the
// profile's first event. Memory: everything borrowed lives until hsc_profile_close.
// Thread-compatible.
#pragma once

#include "hlo/ir/hlo.h"
#include "report/table.h"
#include "trace/xspace.h"

typedef struct hsc_profile hsc_profile;

// What a stretch of time is spent with, the first one that fits where several run at once.
typedef enum hsc_activity {
#define ACTIVITY(id, text, doc) HSC_ACTIVITY_##id,
#include "views/activities.def"
#undef ACTIVITY
  HSC_ACTIVITY_COUNT
} hsc_activity;
const char *hsc_activity_text(hsc_activity activity);

// A device, or the host's share of one: a plane that operators were found on.
typedef struct hsc_profile_device {
  const hsc_xplane *plane;
  const hsc_xspace *space;
  // "TPU:0", "CPU"; with the host's name in front when there are several hosts
  const char *name;
  const char *type;  // device_type_string; "" = not reported
  // on the host's plane, where operators tell it (XLA:CPU with several devices): which device ran
  // them; -1 = the plane is one device
  int64_t ordinal;
  int64_t ordinal_id;             // of the stat that tells it on that plane; -1 = it has none
  double peak_flops, peak_bytes;  // per second; NaN = not known
  int64_t busy_ps;                // operators running, overlaps counted once
  int64_t first_ps, last_ps;      // of its operators
} hsc_profile_device;

typedef struct hsc_profile_op {
  int32_t device;  // index
  int32_t module;  // index; -1 = the profile does not say
  hsc_view name;   // of the instruction: "fusion.1"
  // the whole instruction, where the profile has it; else empty
  hsc_view text;
  hsc_view category, op_name, source;  // empty = not known
  const hsc_instr *instr;              // in the program's HLO; NULL = no HLO, or not in it
  double flops, bytes;                 // of one occurrence; NaN = not known
  bool cost_from_model;                // by hloscope's model, not reported by the profile
  bool cost_unknown;                   // a library's call, of which nobody says what it costs
  bool is_container;                   // while, call, conditional: its cost is its members'
  hsc_activity activity;
  int64_t count, total_ps, self_ps, min_ps, max_ps;
  int32_t next;  // private to the reader
} hsc_profile_op;

typedef struct hsc_profile_step {
  int32_t device;
  int64_t number;
  int64_t start_ps, end_ps;
  int64_t activity_ps[HSC_ACTIVITY_COUNT];  // idle among them; together end - start
} hsc_profile_step;

typedef struct hsc_profile_module {
  // 0 is a number as any other: XLA:CPU's first program has it
  int64_t program_id;
  bool has_id;    // the profile tells the number
  hsc_view name;  // without the number in parentheses
  hsc_view hlo;   // HloProto; empty = none
  const hsc_xspace *space;
  // read when an operator asked for it; NULL = none, or it cannot be read
  hsc_module *module;
  bool tried;
  // times it ran (by its runs' numbers or by a line "XLA Modules")
  int64_t run_count, run_ps;
} hsc_profile_module;

// A line of events as the timeline shows it.
typedef struct hsc_profile_lane {
  const hsc_xspace *space;
  const hsc_xplane *plane;
  const hsc_xline *line;
  const char *device, *name;
  int section;  // of profile_sections.def
  int64_t events, busy_ps, first_ps, last_ps;
  int64_t bytes;                 // that its transfers moved, where they say so
  int64_t gap_ps, gap_start_ps;  // the longest stretch without an event, and where
} hsc_profile_lane;

// `path` as hsc_xspace_find takes it. Errors: those of hsc_xspace_find and hsc_xspace_open.
HSC_MUST_USE hsc_status *hsc_profile_open(const char *path, hsc_profile **out_profile);
// The same, keeping every operator's event for hsc_profile_step_samples: 24 bytes each.
HSC_MUST_USE hsc_status *hsc_profile_open_detailed(const char *path, hsc_profile **out_profile);
// Of an opened space, which the profile then owns.
HSC_MUST_USE hsc_status *hsc_profile_of(hsc_xspace *space, hsc_profile **out_profile);
void hsc_profile_close(hsc_profile *profile);

int hsc_profile_space_count(const hsc_profile *profile);
const hsc_xspace *hsc_profile_space(const hsc_profile *profile, int space);
int hsc_profile_device_count(const hsc_profile *profile);
int hsc_profile_op_count(const hsc_profile *profile);
const hsc_profile_op *hsc_profile_ops(const hsc_profile *profile);  // [op_count]
int hsc_profile_step_count(const hsc_profile *profile);
// [step_count] by device, then start
const hsc_profile_step *hsc_profile_steps(const hsc_profile *profile);
// Where no steps are marked, the runs of one program stand for them: its name, "" where it is not
// the same on all devices. NULL: they are steps.
const char *hsc_profile_steps_of(const hsc_profile *profile);
int hsc_profile_module_count(const hsc_profile *profile);
const hsc_profile_module *hsc_profile_modules(const hsc_profile *profile);
// newline-separated; "" = none
const char *hsc_profile_notes(const hsc_profile *profile);
// Whether a CPU is in it of which the profile tells no peaks.
bool hsc_profile_wants_peaks(const hsc_profile *profile);
// Peaks for CPUs of which the profile tells none, or these: flops and bytes per second. `source`
// says where they come from, for a note.
void hsc_profile_set_peaks(hsc_profile *profile, double flops, double bytes, const char *source);

// An operator with its devices added up, and what it took in each step.
typedef struct hsc_profile_sample {
  const hsc_profile_op *op;  // of the first device; sums are in the fields below
  const char *program;       // its name; "" = not known
  int64_t count, self_ps;
  double *step_ns;  // [step_count] self time; all devices together
} hsc_profile_sample;
// Of a profile that was opened detailed. Operators outside of steps count in self_ps only.
// Everything lies in `arena`. Steps with the same number on several devices are one.
HSC_MUST_USE hsc_status *hsc_profile_step_samples(hsc_profile *profile,
                                                  hsc_arena *arena,
                                                  hsc_profile_sample **out_samples,
                                                  size_t *out_count,
                                                  size_t *out_step_count);

typedef enum hsc_profile_view_id {
#define PROFILE_VIEW(id, text, doc) HSC_PROFILE_VIEW_##id,
#include "views/profile_views.def"
#undef PROFILE_VIEW
  HSC_PROFILE_VIEW_COUNT
} hsc_profile_view_id;
const char *hsc_profile_view_name(hsc_profile_view_id view);
bool hsc_profile_view_of_name(const char *name, hsc_profile_view_id *out_view);

typedef struct hsc_profile_options {
  const char *where;  // only rows whose name contains this; NULL = all
  // only operators of this program: its name, number, or name(number); NULL = all
  const char *program;
  int64_t limit;      // rows at most; 0 = all. What is cut is said in a note.
  bool by_device;     // a row for each device; else devices are added up
  bool open_fusions;  // also what fusions are made of, with estimated shares
  // leaves out transfers of inputs and what the framework does to stage its graph
  bool traced_only;
} hsc_profile_options;
// The caller owns the table. Errors: NOT_FOUND for a program that is not there (names the nearest),
// RESOURCE_EXHAUSTED.
HSC_MUST_USE hsc_status *hsc_profile_table(hsc_profile *profile,
                                           hsc_profile_view_id view,
                                           const hsc_profile_options *options,
                                           hsc_table **out_table);
