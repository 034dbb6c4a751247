// blame_journal.h - what a blame was told so far, so that the same command goes on from there.
//
// Every answer of a worker goes into the store as it comes; files that answers name lie in a
// directory of the blame's own below the cache directory, which goes when the blame is done. The
// same question, on the same program, to the same device, is answered from there. A store that
// cannot be written takes nothing away but that: the blame goes on, and says so.
//
//   hsc_blame_journal *journal = NULL;
//   HSC_TRY(hsc_blame_journal_open(&o, store, "hloscope blame ...", false, &journal));
//   o.journal = journal;  // NULL: nothing is kept
//   hsc_status *status = hsc_blame(&o, &document);
//   status = hsc_blame_journal_close(journal, status, document);
#pragma once

#include "lab/blame/blame.h"
#include "lab/dispatch/task_table.h"

// `options` and `store` stay the caller's, longer than the journal. fresh: what an interrupted
// blame was told is left alone. *out_journal NULL: another process is at the same blame, and has
// it. Errors: the program's, the store's, the cache directory's.
HSC_MUST_USE hsc_status *hsc_blame_journal_open(const hsc_blame_options *options,
                                                hsc_store *store,
                                                const char *command,
                                                bool fresh,
                                                hsc_blame_journal **out_journal);
// With a document the blame is done and its directory goes; else it can be gone on with, which a
// status CANCELLED says. Gives `status` back; frees the journal. NULL is fine.
HSC_MUST_USE hsc_status *hsc_blame_journal_close(hsc_blame_journal *journal,
                                                 hsc_status *status,
                                                 json_t *document);
// Answers that an earlier process was given.
int64_t hsc_blame_journal_remembered(const hsc_blame_journal *journal);
// Why answers could not be kept; NULL = all were.
const char *hsc_blame_journal_problem(const hsc_blame_journal *journal);
