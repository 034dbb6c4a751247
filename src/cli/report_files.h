// report_files.h - files as parts of a report page: what `hloscope report` writes and `hloscope
// serve` shows.
#pragma once

#include <jansson.h>

#include "cli/command.h"
#include "report/hlo_stages.h"
#include "report/page.h"

typedef struct hsc_report_options {
  int64_t limit;  // rows of each table of a recording; 0 is all
  bool all;       // calls of Python outside of the steps too
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

// Adds a document (docs/schemas) that was read or made already, with its first view. `text` is its
// JSON; failures of memory are sticky in the page's bytes.
void hsc_report_add_document(
    hsc_page *page, const char *label, const json_t *document, hsc_view text, hsc_cli *cli);
// Adds the stages of one module, as hsc_hlo_stages_read gives them. `next` is what to do with them,
// a sentence.
void hsc_report_add_stages(hsc_page *page,
                           const char *label,
                           const char *command,
                           const hsc_hlo_stages *stages,
                           const char *next,
                           hsc_view json);

// What a path holds, without reading all of it: "capture", "profile", "dumps", "json", or NULL for
// what a page does not show.
const char *hsc_report_kind(const char *path);
// A file's or directory's last name.
const char *hsc_report_base_name(const char *path);
