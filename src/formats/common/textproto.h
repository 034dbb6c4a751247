// textproto.h - protocol buffers in text form, read without their schema: names, scalars, messages.
//
//   results { device: "x" result { gemm { algorithm: 2 } run_time { nanos: 1500 } } }
//
// A message is a list of fields in their order; a list in brackets, as in algos
// [{ id: 1 }, { id: 2 }], is that many fields of one name. Comments go from # to the end of the
// line. Fields and decoded texts live in the arena. Source: protobuf's text format specification.
#pragma once

#include "base/core/bytes.h"
#include "base/core/memory.h"
#include "base/core/status.h"

typedef struct hsc_textproto hsc_textproto;
struct hsc_textproto {
  hsc_view name;
  // a text without its quotes and escapes, or a number or name as it is; empty of a message
  hsc_view value;
  bool is_text, is_message;
  int32_t line;                // where the name is
  const hsc_textproto *first;  // of a message: its fields; NULL = none
  const hsc_textproto *next;
};

// The top level's fields. `path` (may be NULL) is for messages only. Errors: INVALID_ARGUMENT at
// path:line:column; nesting beyond 64 is one.
HSC_MUST_USE hsc_status *hsc_textproto_parse(hsc_view text,
                                             const char *path,
                                             hsc_arena *arena,
                                             const hsc_textproto **out_first);
// The last field of that name, as protobuf takes it for a field that is not repeated; NULL = none.
const hsc_textproto *hsc_textproto_find(const hsc_textproto *first, const char *name);
// The field's value as a whole number; `otherwise` when there is none or it is no number.
int64_t hsc_textproto_int(const hsc_textproto *first, const char *name, int64_t otherwise);
// The field's value; the empty view when there is none.
hsc_view hsc_textproto_text(const hsc_textproto *first, const char *name);
// Appends the text in quotes.
void hsc_textproto_quote(hsc_bytes *out, const char *text);
