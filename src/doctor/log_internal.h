// log_internal.h - what the parts of the log reader share.
#pragma once

#include "base/core/map.h"
#include "doctor/log_reader.h"
#include "doctor/line_match.h"

// Findings and counts, filled line by line.
typedef struct hsc__tally {
  hsc_arena *arena;
  const hsc_knowledge *knowledge;
  hsc_log_options options;
  hsc_finding **by_entry;  // of entries that are not distinguished by text
  hsc_map *by_text;        // normalised text -> finding
  hsc_map *modules;        // name -> module
  hsc_finding **findings;
  size_t count, capacity;
  hsc_log_module *last_open;  // the compilation that began last
  hsc_log_module unnamed;
  hsc_log_time first, last;
  // number of a line that is looked at in pieces: what is found again in it is not counted again; 0
  // = none
  uint64_t long_line;
  hsc_log_report report;
  hsc_log_module **module_list;
  hsc_versions *versions, *own_versions;  // own: when none were given
  uint8_t *excluded;                      // by entry, of the generation of versions below
  uint64_t excluded_generation;
  hsc_left_out *left_out;
  size_t left_out_count, left_out_capacity;
} hsc__tally;

HSC_MUST_USE hsc_status *hsc__tally_init(hsc__tally *tally,
                                         hsc_arena *arena,
                                         const hsc_knowledge *knowledge,
                                         const hsc_log_options *options);
void hsc__tally_deinit(hsc__tally *tally);
// One recognised line. `now`: its time stamp or that of a line nearby, and when it arrived.
HSC_MUST_USE hsc_status *hsc__tally_line(hsc__tally *tally,
                                         size_t entry,
                                         hsc_view line,
                                         uint64_t line_number,
                                         const hsc_capture_groups *groups,
                                         hsc_log_time now);
// Whether the versions that are known exclude an entry.
bool hsc__tally_excludes(hsc__tally *tally, size_t entry);
// A line that an excluded entry would have recognised; counted apart.
HSC_MUST_USE hsc_status *hsc__tally_leave_out(hsc__tally *tally,
                                              size_t entry,
                                              hsc_view line,
                                              uint64_t line_number);
HSC_MUST_USE hsc_status *hsc__tally_finish(hsc__tally *tally, uint64_t lines, uint64_t bytes);
