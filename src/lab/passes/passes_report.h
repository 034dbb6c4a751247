// passes_report.h - pictures (SVG) and a text of what passes did and what they are worth, from the
// documents of `passes list` and `passes ablate`.
//
// The pictures of the 2021 study, for any program: the order of calls, how often each pass was
// called, what the program loses without each pass (normalised, highlighted, beside the placebos),
// and compilers side by side. Texts in documents are escaped.
#pragma once

#include <jansson.h>

#include "base/core/bytes.h"
#include "base/core/status.h"
#include "report/table.h"

// list: document of docs/schemas/passes_list.json. Pipelines yellow, with their passes after them:
// blue where they changed the program, pale where not.
void hsc_svg_call_order(const json_t *list, hsc_bytes *out);
void hsc_svg_call_counts(const json_t *list, hsc_bytes *out);
// ablation: document of docs/schemas/passes_ablate.json. key: "total_time" or "kernel_time" (ratios
// with intervals against the band of the placebos), or a member of "delta" ("instructions",
// "kernels", ...). Only variants that are not the baseline's program. False: nothing to draw.
bool hsc_svg_ablation(const json_t *ablation, const char *key, hsc_bytes *out);

// Compilers side by side, a column a document: what ran (lists), or what came of it with every pass
// on (`programs`: ablations). No rows where there is no such document. The caller destroys the
// table.
HSC_MUST_USE hsc_status *hsc_passes_compared(json_t *const *documents,
                                             size_t count,
                                             bool programs,
                                             hsc_table **out_table);

// Into a directory: report.md, and one .svg a picture. documents: lists and ablations in any order,
// borrowed. The page beside them is the command's (cli/cmd_passes_report.c).
// Errors: INVALID_ARGUMENT (neither list nor ablation, with its number), the files.
HSC_MUST_USE hsc_status *hsc_passes_report(json_t *const *documents,
                                           size_t count,
                                           const char *directory);
