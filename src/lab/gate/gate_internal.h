// gate_internal.h - what the parts of the gate share.
#pragma once

#include <sys/resource.h>

#include "lab/gate/gate.h"
#include "lab/verdict/agreement.h"
#include "worker/worker_client.h"

enum { HSC__GATE_LOOKS = 3, HSC__GATE_MOST = 192, HSC__GATE_KEPT_ELEMENTS = 4096 };

// What several processes gave of one program.
typedef struct hsc__gate_seen {
  double run_s[HSC__GATE_MOST], compile_s[HSC__GATE_MOST];
  size_t run_count, compile_count;
  double memory_bytes;  // NaN = not reported
  json_t *outputs;      // of the first process, as the baseline keeps them; NULL = it cannot run
  json_t *moved;        // outputs on inputs that are moved by their last place; NULL = not asked
  json_t *structure;    // {"instructions", "fusions"}, null where it is not reported
  char *fingerprint;    // of the program
  char *failure;        // why it does not run or compile; NULL = it does
} hsc__gate_seen;
void hsc__gate_seen_deinit(hsc__gate_seen *seen);

// One more process of a device. Errors: no process, no memory; what the program does is in `seen`.
HSC_MUST_USE hsc_status *hsc__gate_look(const hsc_gate_options *o,
                                        const hsc_device_spec *spec,
                                        const char *program,
                                        hsc__gate_seen *seen);

// Outputs with their kept elements, now against before. Puts each into the agreement.
HSC_MUST_USE hsc_status *hsc__gate_compare_outputs(json_t *before,
                                                   json_t *now,
                                                   json_t *moved,
                                                   hsc_agreement *agreement);

// ---- git (gate_git.c) ---------------------------------------------------------------------------

// Runs to its end, quiet; output: where its standard output goes, NULL = nowhere. Errors: it cannot
// be started.
HSC_MUST_USE hsc_status *hsc__gate_spawn(const char *const *argv,
                                         const char *output,
                                         struct rusage *out_usage,
                                         int *out_wait);
bool hsc__gate_is_revision(const char *name, hsc_arena *arena);
// Writes a file as it was in a revision to `to`; false where it was not there.
bool hsc__gate_file_at(const char *revision, const char *path, const char *to, hsc_arena *arena);
// The tree of a revision, checked out at `directory`; *out_inside: what is the current directory
// there. FAILED_PRECONDITION where git refuses.
HSC_MUST_USE hsc_status *hsc__gate_tree_at(const char *revision,
                                           const char *directory,
                                           hsc_arena *arena,
                                           const char **out_inside);
void hsc__gate_tree_remove(const char *directory);

// ---- entries (gate_names.c) ---------------------------------------------------------------------

// NULL = the baseline has none.
json_t *hsc__gate_entry_named(json_t *baseline, const char *name);
// Of a program's file, whatever folder its path was written from.
json_t *hsc__gate_entry_of(json_t *baseline, const char *program);
bool hsc__gate_same_file(const char *a, const char *b);

// ---- commands (gate_command.c) ------------------------------------------------------------------

const char *hsc__gate_command_text(const hsc_gate_options *o, hsc_arena *arena);
HSC_MUST_USE hsc_status *hsc__gate_command_in_turns(const hsc_gate_options *o,
                                                    const char *revision,
                                                    hsc_arena *arena,
                                                    json_t *row);
// Against an entry of the file (NULL = it has none), or for it: *out_entry with --update.
HSC_MUST_USE hsc_status *hsc__gate_command_now(const hsc_gate_options *o,
                                               json_t *entry,
                                               bool same_machine,
                                               hsc_arena *arena,
                                               json_t *row,
                                               json_t **out_entry);
