// mlir_text_internal.h - the parser of MLIR text: one cursor over a NUL-terminated copy of the
// text, as in hlo_text_internal.h.
//
// Reads StableHLO in pretty and in generic form into the tree of mlir_ir.h: types, attributes,
// operations, regions, locations. Every function that reads returns false after the first error
// (parser->status), and nothing reads on after that.
#pragma once

#include "formats/common/formats_internal.h"
#include "formats/mlir/mlir_ir.h"

enum { HSC__MLIR_MAX_DEPTH = 100 };  // nested regions, attributes and types

// A name of a value: %name, or one of several results %name#k. Names of inner regions shadow and
// end with them.
typedef struct hsc__mlir_definition {
  const char *name;
  uint32_t length;
  uint32_t next;            // in its bucket: index + 1, 0 = none
  hsc__mlir_value *values;  // [count]
  int32_t count;
} hsc__mlir_definition;

typedef struct hsc__mlir_parser {
  const char *begin, *end, *p, *path;
  hsc_status *status;
  hsc_arena *arena;  // of the tree
  int depth;
  const char *line_start;  // of the line that was located last
  int line;

  // "loc41" -> hsc__mlir_attr; made at the first use or at the definition
  hsc_map *attr_aliases;
  hsc_map *type_aliases;  // "type" -> hsc__mlir_type
  hsc_map *types;         // text of a tensor type -> hsc__mlir_type
  hsc_map *resources;     // name of a dense_resource -> hsc__mlir_attr that waits for its data

  uint32_t *buckets;    // [bucket_count] index + 1 of the newest definition
  size_t bucket_count;  // a power of two
  hsc__mlir_definition *definitions;
  size_t definition_count, definition_capacity;

  // scratch: lists that grow while they are read; each reader takes off what it put on
  hsc_bytes stack;
  hsc_bytes text;  // scratch: decoded strings
} hsc__mlir_parser;

// ---- mlir_text_lex.c ----
bool hsc__mlir_error(hsc__mlir_parser *p, const char *at, const char *format, ...) HSC_PRINTF(3, 4);
// UNIMPLEMENTED instead; `what` NULL = out of memory
bool hsc__mlir_unsupported(hsc__mlir_parser *p, const char *at, const char *what);
bool hsc__mlir_expected(hsc__mlir_parser *p, const char *what);
bool hsc__mlir_out_of_memory(hsc__mlir_parser *p);
// spaces and // comments
void hsc__mlir_skip(hsc__mlir_parser *p);
bool hsc__mlir_peek(hsc__mlir_parser *p, char c);
bool hsc__mlir_accept(hsc__mlir_parser *p, char c);
// punctuation of several characters
bool hsc__mlir_accept_text(hsc__mlir_parser *p, const char *text);
bool hsc__mlir_accept_word(hsc__mlir_parser *p, const char *word);  // a whole identifier
// punctuation or a word
bool hsc__mlir_expect(hsc__mlir_parser *p, const char *text);
// letters, digits, _ $ .
bool hsc__mlir_ident(hsc__mlir_parser *p, const char *what, hsc_view *out);
// after % @ # ! ^: also -
bool hsc__mlir_suffix(hsc__mlir_parser *p, const char *what, hsc_view *out);
bool hsc__mlir_int(hsc__mlir_parser *p, int64_t *out);
// decoded, in the arena
bool hsc__mlir_string(hsc__mlir_parser *p, hsc_view *out);
bool hsc__mlir_symbol(hsc__mlir_parser *p, hsc_view *out);  // @name or @"name"
// to a , or closing bracket or newline at depth 0; <> count as brackets
bool hsc__mlir_balanced(hsc__mlir_parser *p, hsc_view *out);
bool hsc__mlir_enter(hsc__mlir_parser *p);
static inline void hsc__mlir_leave(hsc__mlir_parser *p) {
  p->depth--;
}
// places come in ascending order
void hsc__mlir_locate(hsc__mlir_parser *p, const char *at, int32_t *out_line, int32_t *out_column);

// ---- mlir_text_types.c ----
bool hsc__mlir_type_parse(hsc__mlir_parser *p, const hsc__mlir_type **out);
// (a, b) -> c | (c, d)
bool hsc__mlir_function_type(hsc__mlir_parser *p, const hsc__mlir_type **out);
bool hsc__mlir_looks_like_type(hsc__mlir_parser *p);

// ---- mlir_text_attrs.c ----
bool hsc__mlir_attribute(hsc__mlir_parser *p, const hsc__mlir_attr **out);
// name = value, ...} after the opening brace (or < ... > after "<"): appends to the attributes of
// `op`, flattening the ones that VHLO has flat.
bool hsc__mlir_attr_entries(hsc__mlir_parser *p, hsc__mlir_op *op, char close);
bool hsc__mlir_location(hsc__mlir_parser *p, const hsc__mlir_attr **out);  // after "loc"
bool hsc__mlir_add_attr(hsc__mlir_parser *p,
                        hsc__mlir_op *op,
                        const char *name,
                        const hsc__mlir_attr *value);
hsc__mlir_attr *hsc__mlir_make_attr(hsc__mlir_parser *p, hsc__mlir_attr_kind kind);
const hsc__mlir_attr *hsc__mlir_make_int(hsc__mlir_parser *p, int64_t value);
const hsc__mlir_attr *hsc__mlir_make_ints(hsc__mlir_parser *p, const int64_t *values, size_t count);
// [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]
bool hsc__mlir_conv_dims(hsc__mlir_parser *p, hsc__mlir_op *op);
// [1, 2] or array<i64: 1, 2>
bool hsc__mlir_int_list(hsc__mlir_parser *p, const hsc__mlir_attr **out);
bool hsc__mlir_attr_alias(hsc__mlir_parser *p, hsc_view name, hsc__mlir_attr **out);

// ---- mlir_text_dense.c ----
bool hsc__mlir_dense(hsc__mlir_parser *p, const hsc__mlir_attr **out);  // after "dense"

// ---- mlir_text_sdy.c ----
// After the name of an attribute ("sdy.sharding") and of an operation; *out_known false for what is
// none of Shardy's, or is read otherwise.
bool hsc__mlir_sdy_attr(hsc__mlir_parser *p,
                        hsc_view name,
                        const hsc__mlir_attr **out,
                        bool *out_known);
bool hsc__mlir_sdy_op(hsc__mlir_parser *p,
                      hsc__mlir_op *op,
                      hsc_view written_name,
                      bool *out_known);
bool hsc__mlir_sdy_mesh(hsc__mlir_parser *p, hsc__mlir_op *op);
// #stablehlo.axis_ref<name = "x", sub_axis_info = (2)4> after the '<'
bool hsc__mlir_axis_ref(hsc__mlir_parser *p, hsc__mlir_attr *attr);
// #stablehlo.mesh<axes=[<name = "x", size = 2>], device_ids=dense<...>> after the '<'
bool hsc__mlir_inline_mesh(hsc__mlir_parser *p, hsc__mlir_attr *attr);

// ---- mlir_text_ops.c ----
// The custom form of an operation, after its name. `op->name` is normalised already.
bool hsc__mlir_custom_op(hsc__mlir_parser *p, hsc__mlir_op *op, hsc_view written_name);

// ---- mlir_text.c ----
bool hsc__mlir_operand(hsc__mlir_parser *p, hsc__mlir_value **out);       // %name or %name#k
bool hsc__mlir_push(hsc__mlir_parser *p, const void *data, size_t size);  // on p->stack
// the values on the stack since then
bool hsc__mlir_set_operands(hsc__mlir_parser *p, hsc__mlir_op *op, size_t stack_start);
bool hsc__mlir_set_results(hsc__mlir_parser *p,
                           hsc__mlir_op *op,
                           const hsc__mlir_type *const *types,
                           int count);
bool hsc__mlir_check_operand_types(hsc__mlir_parser *p,
                                   const char *at,
                                   const hsc__mlir_op *op,
                                   const hsc__mlir_type *const *types,
                                   int count);
typedef struct hsc__mlir_argument {
  hsc_view name;  // without %
  const hsc__mlir_type *type;
} hsc__mlir_argument;
// "%x: tensor<4xf32> loc(...)", the location where there is one.
bool hsc__mlir_typed_argument(hsc__mlir_parser *p, hsc__mlir_argument *out);
// { ... } with `arguments` (may be NULL: then from a ^bb0(...) label) as the block's; appends to
// the op's regions.
bool hsc__mlir_region(hsc__mlir_parser *p,
                      hsc__mlir_op *op,
                      const hsc__mlir_argument *arguments,
                      int count);
hsc__mlir_op *hsc__mlir_new_op(hsc__mlir_parser *p, const char *at, hsc_view written_name);
bool hsc__mlir_types_equal(const hsc__mlir_type *a, const hsc__mlir_type *b);
