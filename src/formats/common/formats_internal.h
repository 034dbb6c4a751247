// formats_internal.h - what the readers and writers of all formats share.
#pragma once

#include "formats/common/formats.h"
#include "hlo/ir/attr_kinds.h"

// ---- links.c: what every reader does once operands and called computations are known ----
// Appends to the computation's list; the caller has set op, id, name and operands.
void hsc__computation_append(hsc_computation *computation, hsc_instr *instr);
// Fills users and parameters of a computation whose operands are all set, and brings attributes to
// their one form (hsc__instr_normalize).
// Errors: INVALID_ARGUMENT for parameter numbers with gaps or duplicates, RESOURCE_EXHAUSTED.
HSC_MUST_USE hsc_status *hsc__computation_link(hsc_computation *computation);
// Callees before callers, else the order that is there; nothing is dropped. INVALID_ARGUMENT for
// recursion.
HSC_MUST_USE hsc_status *hsc__module_order(hsc_module *module);

// ---- one_form.c: one form for what can be said in several ways ----
// Sets what is not zero by default (feature groups, largest).
void hsc__instr_defaults(hsc_instr *instr);
// Both: a failing allocation is the arena's to say (hsc_arena_status).
void hsc__instr_normalize(hsc_arena *arena, hsc_instr *instr);
void hsc__module_normalize(hsc_module *module);  // what is not of instructions

// ---- text_error.c ----
// Makes *slot an INVALID_ARGUMENT at `at` within the text [begin, end), with its line, column and
// source line. The first error stays.
void hsc__text_error(hsc_status **slot,
                     const char *path,
                     const char *begin,
                     const char *end,
                     const char *at,
                     const char *format,
                     va_list args);
// The same error as UNIMPLEMENTED.
HSC_MUST_USE hsc_status *hsc__text_unsupported(hsc_status *status);

// What closes one of ( [ { <.
static inline char hsc__closing_bracket(char open) {
  return (char)(open == '(' ? ')' : open + 2);  // the others are two apart in ASCII
}

// ---- number_parse.c ----
int hsc__hex_value(char digit);  // -1 = it is none
// A decimal or hexadecimal number at `text` (NUL-terminated somewhere): correctly rounded. Returns
// the end, or NULL when there is no number.
const char *hsc__parse_double(const char *text, double *out_value);
