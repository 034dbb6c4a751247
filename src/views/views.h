// views.h - tables computed from a capture. A view reads the capture and fills a report table;
// nothing is printed here.
#pragma once

#include "report/table.h"
#include "trace/capture.h"

typedef enum hsc_view_id {
#define VIEW(id, text, doc) HSC_VIEW_##id,
#include "views/views.def"
#undef VIEW
  HSC_VIEW_COUNT
} hsc_view_id;
const char *hsc_view_name(hsc_view_id view);
bool hsc_view_of_name(const char *name, hsc_view_id *out_view);

typedef struct hsc_view_options {
  const char *where;  // only events whose name contains this text; NULL = all
  int64_t limit;      // rows at most; 0 = all. What is cut is said in a note.
  // rows of large views are made when the table is read: the capture must stay open until the table
  // is destroyed
  bool on_demand;
} hsc_view_options;

// The caller owns the table. Errors: RESOURCE_EXHAUSTED.
HSC_MUST_USE hsc_status *hsc_view_table(const hsc_capture *capture,
                                        hsc_view_id view,
                                        const hsc_view_options *options,
                                        hsc_table **out_table);

// Samples that a quantile needs before it is printed: the smallest n whose largest value bounds the
// quantile with 95 % confidence, 1 - q^n >= 0.95 (distribution-free, from the binomial distribution
// of order statistics). 29 for 0.9, 299 for 0.99, 2995 for 0.999.
int64_t hsc_quantile_min_samples(double q);
