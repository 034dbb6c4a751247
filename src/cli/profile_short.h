// profile_short.h - the first screen of a profile: where the time goes, then the operators.
#pragma once

#include "report/page_lead.h"
#include "report/table.h"
#include "views/profile.h"

// Writes two sentences to `out_headline` (the costliest operator and what the first ten take; what
// a step is made of), each computed from the rows of the tables beside it, and makes the table that
// proves them: at most `rows` operators (0 = all) with the columns that fit a screen.
// The caller owns the table and the bytes. Errors: those of hsc_profile_table.
HSC_MUST_USE hsc_status *hsc_cli_profile_short(hsc_profile *profile,
                                               bool traced_only,
                                               int64_t rows,
                                               hsc_bytes *out_headline,
                                               hsc_table **out_table);
// The first view of the report page, with the same sentences; left empty where the profile has no
// operators. `path` is what the reader calls the profile. Errors: those of hsc_profile_table.
HSC_MUST_USE hsc_status *hsc_cli_profile_lead(hsc_profile *profile,
                                              const char *path,
                                              hsc_page_lead *lead);
