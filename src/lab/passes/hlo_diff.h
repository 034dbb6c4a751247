// hlo_diff.h - two modules aligned instruction by instruction: what was added, removed, changed,
// fused.
//
// Instructions are matched by identity, not by lines of text: first by name and op (compilers keep
// names over passes), then by what an instruction does and where in the user's program it comes
// from (op, shape, attributes, op_name), then by structure (the whole expression below it). What is
// left was added or removed. A matched instruction that now is in a computation that a fusion
// calls was fused.
//
//   hsc_diff diff;
//   HSC_TRY(hsc_diff_modules(before, after, &diff));
//   hsc_diff_text(&diff, &style, &out);
//   hsc_diff_deinit(&diff);
#pragma once

#include <jansson.h>

#include "hlo/ir/hlo.h"
#include "report/table.h"

typedef enum hsc_diff_state {
  HSC_DIFF_KEPT,
  HSC_DIFF_CHANGED,
  HSC_DIFF_FUSED,
  HSC_DIFF_MOVED,
  HSC_DIFF_ADDED,
  HSC_DIFF_REMOVED,
  HSC_DIFF_STATES
} hsc_diff_state;
// "kept", "changed", "fused", "moved", "added", "removed"
const char *hsc_diff_state_text(hsc_diff_state state);

typedef struct hsc_diff_row {
  hsc_diff_state state;
  const hsc_instr *left, *right;  // NULL where it is not
  // of changed, fused, moved: "shape", "layout", "attributes", "operands", or "" (only where it
  // is)
  const char *what;
  const hsc_instr *into;  // of fused: the fusion; else NULL
} hsc_diff_row;

typedef struct hsc_diff {
  const hsc_module *left, *right;  // borrowed
  // [row_count], in the order of the right module, removed ones where they were
  hsc_diff_row *rows;
  size_t row_count;
  int64_t counts[HSC_DIFF_STATES];
} hsc_diff;
// Writes instr->index and instr->scratch of both modules, and computation->scratch of the right
// one. Errors: RESOURCE_EXHAUSTED.
HSC_MUST_USE hsc_status *hsc_diff_modules(hsc_module *left, hsc_module *right, hsc_diff *out_diff);
void hsc_diff_deinit(hsc_diff *diff);

// "5 kept, 3 changed, 20 fused, 0 moved, 7 added, 14 removed"
void hsc_diff_counts(const hsc_diff *diff, hsc_bytes *out);
// For people: the rows that are not kept, by computation, in colour where the style has it; `most`
// lines of them, 0 = all.
void hsc_diff_text(const hsc_diff *diff, const hsc_text_style *style, size_t most, hsc_bytes *out);
// {"summary": {state: count}, "instructions": [{"state", "what", "computation", "left", "right",
// "into"}]}; kept ones only with `kept_too`, as the page has them.
HSC_MUST_USE hsc_status *hsc_diff_json(const hsc_diff *diff, bool kept_too, json_t **out_document);
