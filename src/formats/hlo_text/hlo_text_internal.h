// hlo_text_internal.h - the parser of HLO text: one cursor over a NUL-terminated copy of the text,
// one function per thing that is read.
//
// Every function that reads returns false after the first error and leaves the error in
// parser->status; nothing reads on after that. Names are looked up per computation; called
// computations and operands that are defined later are fixed up at the end.
#pragma once

#include "formats/common/formats_internal.h"

// nested tuples, braces, inline computations, instructions as operands
enum { HSC__TEXT_MAX_DEPTH = 64 };

// A name seen in a scope (a computation). The table is open addressing; scopes never share entries.
typedef struct hsc__name_slot {
  const char *name;  // in the text copy; NULL = free
  uint32_t length;
  uint32_t scope;
  uint64_t hash;
  hsc_instr *instr;
} hsc__name_slot;

// A shape that was read before, by its text.
typedef struct hsc__shape_slot {
  const char *text;  // in the text copy
  size_t length;     // 0 = free
  hsc_shape shape;
} hsc__shape_slot;

// Metadata that was read before, by its text.
typedef struct hsc__metadata_slot {
  hsc_view text;
  const hsc_metadata *metadata;
} hsc__metadata_slot;

// Something that could not be linked when it was read.
typedef struct hsc__fixup {
  hsc_instr *instr;
  int32_t slot;    // operand or called index; control: index in control_predecessors
  const char *at;  // where the name is in the text copy
  hsc_view name;
  const hsc_shape *shape;  // operand shape given in the text; NULL = none
  bool control;
} hsc__fixup;

typedef struct hsc__fixups {
  hsc__fixup *items;
  size_t count, capacity;
} hsc__fixups;

typedef struct hsc__hlo_parser {
  const char *begin, *end, *p;
  const char *path;
  hsc_module *module;
  hsc_arena *arena;        // the module's
  hsc_status *status;      // the first error; owned until the end
  int depth;               // bounds recursion
  const char *line_start;  // of the line that was located last
  int line;
  const hsc_shape *given_shape;  // of an instruction in the place of an operand, read before it

  hsc__name_slot *names;
  size_t name_capacity, name_count;  // capacity is a power of two
  uint32_t scope;                    // of the computation that is being read
  uint32_t next_scope;
  hsc_computation *computation;  // likewise
  // of the open computations; each computation handles those after its start
  hsc__fixups operand_fixups;
  hsc__fixups called_fixups;  // of the module
  bool order_broken;          // an operand of this computation is defined after its use
  hsc_map *computations;      // name in the text -> hsc_computation
  hsc_computation *entry;
  bool has_inline;  // computations that are in instructions

  hsc_instr **scratch_instrs;  // operands while an instruction is read; a stack
  size_t scratch_count, scratch_capacity;
  hsc_bytes text;  // scratch for decoded strings
  hsc__shape_slot shapes[256];
  hsc__metadata_slot metadata[256];
} hsc__hlo_parser;

// ---- hlo_text_lex.c ----
// The first error wins. Returns false. `at` points into the text copy.
bool hsc__hlo_error(hsc__hlo_parser *p, const char *at, const char *format, ...) HSC_PRINTF(3, 4);
// "expected WHAT, found ..." at the cursor
bool hsc__hlo_expected(hsc__hlo_parser *p, const char *what);
bool hsc__hlo_out_of_memory(hsc__hlo_parser *p);
void hsc__hlo_skip_space(hsc__hlo_parser *p);      // also comments
bool hsc__hlo_accept(hsc__hlo_parser *p, char c);  // skips space first
bool hsc__hlo_expect(hsc__hlo_parser *p, char c, const char *where);
bool hsc__hlo_peek(hsc__hlo_parser *p, char c);
bool hsc__hlo_accept_word(hsc__hlo_parser *p, const char *word);  // whole identifiers only
bool hsc__hlo_name(hsc__hlo_parser *p, const char *what, hsc_view *out_name);  // with or without %
// letters, digits, _ - .
bool hsc__hlo_word(hsc__hlo_parser *p, const char *what, hsc_view *out_word);
bool hsc__hlo_int(hsc__hlo_parser *p, int64_t *out_value);
bool hsc__hlo_int32(hsc__hlo_parser *p, int32_t *out_value);
bool hsc__hlo_bool(hsc__hlo_parser *p, bool *out_value);
bool hsc__hlo_string(hsc__hlo_parser *p, const char **out_text);  // decoded, arena
// decoded, may hold NULs
bool hsc__hlo_string_to(hsc__hlo_parser *p, hsc_bytes *out_bytes);
// a balanced {...}, braces included
bool hsc__hlo_braced_raw(hsc__hlo_parser *p, hsc_view *out_raw);
// up to , or end at depth 0
bool hsc__hlo_raw_value(hsc__hlo_parser *p, hsc_view *out_raw);
bool hsc__hlo_dims(hsc__hlo_parser *p, hsc_dims *out_dims);  // {1,2}
bool hsc__hlo_enter(hsc__hlo_parser *p);                     // counts depth
static inline void hsc__hlo_leave(hsc__hlo_parser *p) {
  p->depth--;
}
bool hsc__hlo_is_name_char(char c);

// ---- hlo_text_shape.c ----
bool hsc__hlo_looks_like_shape(hsc__hlo_parser *p);
bool hsc__hlo_shape(hsc__hlo_parser *p, hsc_shape *out_shape);

// ---- hlo_text_literal.c ----
bool hsc__hlo_literal(hsc__hlo_parser *p, const hsc_shape *shape, hsc_literal **out_literal);
// With its shape before it: s32[2]{0} {1, 2}; of a tuple each value has its own: ( s32[2]{0} {1,
// 2}, pred[] true ).
bool hsc__hlo_shaped_literal(hsc__hlo_parser *p, hsc_literal **out_literal);

// ---- hlo_text_attrs.c ----
// Reads ", name=value" until there is no more; called computations go to called_fixups. `outer` is
// NULL, or the async-start that wraps `instr`: what any instruction may have (metadata, sharding,
// ...) goes to it, what belongs to the op goes to `instr`.
bool hsc__hlo_attributes(hsc__hlo_parser *p, hsc_instr *instr, hsc_instr *outer);

// ---- hlo_text.c ----
bool hsc__hlo_fixup_add(hsc__hlo_parser *p, hsc__fixups *fixups, hsc__fixup fixup);
// A parser of a text that is no module, whose results go to `arena`. deinit gives the error, if
// any.
hsc_status *hsc__hlo_parser_init(hsc__hlo_parser **out_parser, hsc_arena *arena, hsc_view text);
hsc_status *hsc__hlo_parser_deinit(hsc__hlo_parser *p);
bool hsc__hlo_inline_computation(hsc__hlo_parser *p,
                                 const hsc_instr *caller,
                                 hsc_computation **out_computation);

// Parts of a text alone, for other readers and writers. The errors point into `text`.
bool hsc__hlo_window(hsc__hlo_parser *p, hsc_window *out_window);
bool hsc__hlo_dim_labels(hsc__hlo_parser *p, hsc_conv_dims *out_dims);

// ---- hlo_text_header.c ----
bool hsc__hlo_header(hsc__hlo_parser *p);  // everything before the first computation
