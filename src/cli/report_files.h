// report_files.h - files as parts of a report page: what `hloscope report` writes and `hloscope
// serve` shows.
#pragma once

#include "cli/command.h"
#include "report/page.h"

typedef struct hsc_report_options {
  int64_t limit;  // rows of each table of a recording; 0 is all
  // served pages: where pieces of the timeline are asked for; NULL: the whole timeline goes into
  // the page
  const char *remote;
  // served pages: the piece of a recording's timeline that is seen first
  hsc_status *(*first_piece)(void *user, const char *path, hsc_bytes *out_json);
  void *user;
} hsc_report_options;

// Adds the parts of one file, and of several files together their comparison first. Errors: of
// reading, with file and line.
HSC_MUST_USE hsc_status *hsc_report_add_file(hsc_page *page,
                                             const char *path,
                                             const hsc_report_options *options,
                                             hsc_cli *cli);
HSC_MUST_USE hsc_status *hsc_report_add_files(hsc_page *page,
                                              const hsc_list *files,
                                              const hsc_report_options *options,
                                              hsc_cli *cli);

// What a path holds, without reading all of it: "capture", "profile", "dumps", "json", or NULL for
// what a page does not show.
const char *hsc_report_kind(const char *path);
// A file's or directory's last name.
const char *hsc_report_base_name(const char *path);
