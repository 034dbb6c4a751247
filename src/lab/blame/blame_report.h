// blame_report.h - a blame as a folder that a maintainer can work with.
#pragma once

#include "lab/blame/blame.h"
#include "lab/store/store.h"

typedef struct hsc_blame_report_options {
  const char *directory;  // made when missing; files of earlier reports there are replaced
  const char *command;    // as it was typed; NULL = not known
  bool redact;            // of the machine say only what a report needs
  double reduce_s;        // for reducing the program; 0 = it is not reduced
  hsc_store *store;       // of the reduction; NULL = nothing is kept
} hsc_blame_report_options;

// Writes into the folder: ISSUE.md and ISSUE-xla.md (to be pasted), blame.json, index.html,
// machine.json, what `blame` goes on from (kept_failure.h: the program, its inputs, failure.json),
// and where somebody is at fault for what a program shows by itself, reduced.hlo, reduced.mlir and
// reduced.py, each run afresh; report.zip holds all of them, up to 5 MB. Puts "report" and
// "reduced" into the document. Errors: files that cannot be written, no memory, CANCELLED.
HSC_MUST_USE hsc_status *hsc_blame_report(const hsc_blame_options *options,
                                          const hsc_blame_report_options *report,
                                          json_t *document);
