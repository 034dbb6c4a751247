// hlo_stages.h - the dumps of a compile (a directory of after_PASS files, as XLA and `hloscope
// passes dump` write them) as the report page takes them.
//
// {"module": name, "lines": [distinct lines], "stages": [{"run", "pipeline", "pass", "lines":
// base64 of uint32 (index into lines), "came", "went"}]}. Lines are kept once: a hundred stages of
// one program differ in few. came, went: the lines that the stage before has not, and those that it
// alone has, wherever they stand; a line that was changed is one of each.
#pragma once

#include "base/core/bytes.h"
#include "base/core/status.h"

// Whether the directory holds such dumps.
bool hsc_hlo_stages_is_at(const char *dir);
// A pass by what it did to the text, all its runs together.
typedef struct hsc_hlo_pass {
  const char *name;   // borrowed for the call
  size_t came, went;  // lines
} hsc_hlo_pass;

// What the stages of one module come to.
typedef struct hsc_hlo_stages {
  const char *module;    // borrowed for the call
  size_t stage_count;    // with the first, which is the input
  size_t changed_count;  // differ from the stage before
  size_t lines_before, lines_after;
  const hsc_hlo_pass *passes;  // [pass_count] those that changed lines, what did most first
  size_t pass_count;
} hsc_hlo_stages;

// Calls `put` with one document for each module, the largest first, 8 at most; *out_left_out says
// how many modules more there were.
// Errors: NOT_FOUND (no dumps), RESOURCE_EXHAUSTED (over 512 MiB of text), the system's.
HSC_MUST_USE hsc_status *hsc_hlo_stages_read(const char *dir,
                                             hsc_status *(*put)(void *user,
                                                                const hsc_hlo_stages *stages,
                                                                hsc_view json),
                                             void *user,
                                             size_t *out_left_out);
