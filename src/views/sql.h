// sql.h - SQL over a capture or a profile: every view is a table (dashes become underscores), read
// by SQLite without a copy on disk.
#pragma once

#include "views/profile.h"
#include "views/views.h"

// Runs one SELECT (or another statement that only reads). Tables: the views' names, made when a
// query first names them, under `options`. Columns keep their view's unit where the query takes
// them as they are; others get one from their name ("..._ns", "..._bytes").
// Errors: INVALID_ARGUMENT with SQLite's text and the tables that there are; RESOURCE_EXHAUSTED.
HSC_MUST_USE hsc_status *hsc_view_sql(const hsc_capture *capture,
                                      const char *query,
                                      const hsc_view_options *options,
                                      hsc_table **out_table);

// Rows of one view that fulfil an SQL condition, in an order, at most `limit` (0 = all). `where`
// and `order` may be NULL. `order`: column names separated by commas, each with " desc" where
// wanted.
HSC_MUST_USE hsc_status *hsc_view_select(const hsc_capture *capture,
                                         hsc_view_id view,
                                         const char *where,
                                         const char *order,
                                         int64_t limit,
                                         const hsc_view_options *options,
                                         hsc_table **out_table);

// The same over the views of a profile (hlo_operators, framework_operators, steps, ...). Durations
// are nanoseconds.
HSC_MUST_USE hsc_status *hsc_profile_sql(hsc_profile *profile,
                                         const char *query,
                                         const hsc_profile_options *options,
                                         hsc_table **out_table);
HSC_MUST_USE hsc_status *hsc_profile_select(hsc_profile *profile,
                                            hsc_profile_view_id view,
                                            const char *where,
                                            const char *order,
                                            int64_t limit,
                                            const hsc_profile_options *options,
                                            hsc_table **out_table);
