// print_internal.h - what the printing files share. Everything is appended to a byte buffer; its
// sticky error is the only one.
#pragma once

#include "base/text/text.h"
#include "hlo/ir/hlo_internal.h"
#include "hlo/print/hlo_attrs.h"

#define PUT(out, literal) hsc_bytes_append((out), (literal), sizeof(literal) - 1)

static inline void hsc__put_int(hsc_bytes *out, int64_t value) {
  char digits[24];
  hsc_bytes_append(out, digits, (size_t)hsc__format_int(value, digits));
}

void hsc__put_dims(hsc_bytes *out, hsc_dims dims);                                       // "{0,1}"
void hsc__put_name(hsc_bytes *out, const char *name, const hsc_print_options *options);  // "%name"

// print.c: XLA prints async-start/-update/-done of a computation that holds one instruction as that
// op's: "custom-call-start(%x), custom_call_ target=...", and leaves the computation out. The
// instruction, when `instr` is such a one; NULL otherwise.
const hsc_instr *hsc__async_wrapped(const hsc_instr *instr);

// print_attr.c: ", key=value" for all attributes between the operands and metadata, in XLA's order.
void hsc__print_attributes(const hsc_instr *instr,
                           const hsc_print_options *options,
                           hsc_bytes *out);
