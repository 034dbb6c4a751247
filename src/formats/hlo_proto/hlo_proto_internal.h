// hlo_proto_internal.h - what the reader and the writer of HloModuleProto share: numbers of fields,
// kinds of attribute fields, and the pieces that both directions are made of. Field numbers:
// xla/service/hlo.proto, xla/xla_data.proto.
#pragma once

#include "base/wire/wire.h"
#include "formats/common/formats_internal.h"
#include "hlo/ir/attr_text.h"

enum {  // HloModuleProto
  HSC__MODULE_NAME = 1,
  HSC__MODULE_ENTRY_NAME = 2,
  HSC__MODULE_COMPUTATIONS = 3,
  HSC__MODULE_PROGRAM_SHAPE = 4,
  HSC__MODULE_ID = 5,
  HSC__MODULE_ENTRY_ID = 6,
  HSC__MODULE_SCHEDULE = 7,
  HSC__MODULE_ALIASES = 8,
  HSC__MODULE_STACK_INDEX = 17,
  HSC__MODULE_DONORS = 18,
  HSC__MODULE_FRONTEND_ATTRIBUTES = 19,
  HSC__MODULE_PAYLOADS = 22,
};
enum {  // HloComputationProto
  HSC__COMPUTATION_NAME = 1,
  HSC__COMPUTATION_INSTRUCTIONS = 2,
  HSC__COMPUTATION_PROGRAM_SHAPE = 4,
  HSC__COMPUTATION_ID = 5,
  HSC__COMPUTATION_ROOT_ID = 6,
  HSC__COMPUTATION_IS_FUSION = 7,
  HSC__COMPUTATION_THREAD = 8,
};
enum {  // HloInstructionProto: what every instruction may have
  HSC__INSTR_NAME = 1,
  HSC__INSTR_OPCODE = 2,
  HSC__INSTR_SHAPE = 3,
  HSC__INSTR_METADATA = 7,
  HSC__INSTR_ID = 35,
  HSC__INSTR_OPERANDS = 36,
  HSC__INSTR_CONTROL = 37,
  HSC__INSTR_CALLED = 38,
  HSC__INSTR_SHARDING = 40,
  HSC__INSTR_BACKEND_CONFIG = 43,
  HSC__INSTR_FRONTEND_ATTRIBUTES = 68,
  HSC__INSTR_BACKEND_CONFIG_PAYLOAD = 99,
  // Ours, beyond what XLA uses; XLA keeps or ignores it: attributes that have no field, as text.
  HSC__INSTR_COMPARE_ORDER = 102,  // of newer compilers, in place of the type TOTALORDER
  HSC__INSTR_OTHER_ATTRIBUTES = 1000,
};
// the same for the module's header
enum {
  HSC__MODULE_OTHER_ATTRIBUTES = 1000,
  HSC__MODULE_REPLICAS = 1001,
  HSC__MODULE_PARTITIONS = 1002
};

typedef enum hsc__proto_kind {
  // fields of hsc_attr
  HSC__PROTO_DIMS,
  HSC__PROTO_BOOL,
  HSC__PROTO_INT64,
  HSC__PROTO_INT64_OF_1,
  HSC__PROTO_INT32,
  HSC__PROTO_ENUM,
  HSC__PROTO_FLOAT,
  HSC__PROTO_STRING,
  HSC__PROTO_LITERAL,
  HSC__PROTO_DIRECTION,
  HSC__PROTO_COMPARE_TYPE,
  HSC__PROTO_SLICE,
  HSC__PROTO_PADDING,
  HSC__PROTO_WINDOW,
  HSC__PROTO_CONV_DIMS,
  HSC__PROTO_PRECISION,
  HSC__PROTO_DOT_PRECISION,
  HSC__PROTO_DOT_DIMS,
  HSC__PROTO_RAGGED_DIMS,
  HSC__PROTO_GATHER_DIMS,
  HSC__PROTO_CHOLESKY,
  HSC__PROTO_TRIANGULAR,
  HSC__PROTO_FUSION_KIND,
  HSC__PROTO_API_VERSION,
  HSC__PROTO_SHAPES,
  HSC__PROTO_ALIASING_TEXT,
  HSC__PROTO_CHANNEL,
  HSC__PROTO_GROUPS,
  HSC__PROTO_IOTA_GROUPS,
  HSC__PROTO_MESH_GROUPS,
  HSC__PROTO_PAIRS,
  HSC__PROTO_CONSTRAINED,
  HSC__PROTO_IGNORED,
  // text attributes
  HSC__PROTO_CONV_KIND,
  HSC__PROTO_ALIASING,
  HSC__PROTO_INT_OVER_1,
  HSC__PROTO_PADDING_TYPE,
  HSC__PROTO_SCHEDULE,
  HSC__PROTO_SHAPE,
  HSC__PROTO_QUOTED,
  HSC__PROTO_TRUE,
  HSC__PROTO_INT,
  HSC__PROTO_INFERRED_DIM,
  HSC__PROTO_TRI_STATE,
  HSC__PROTO_ACCURACY,
  HSC__PROTO_STATISTICS,
  HSC__PROTO_REPLICATION,
  HSC__PROTO_ORIGIN,
} hsc__proto_kind;

typedef struct hsc__proto_row {
  const char *text;  // name of the text attribute; NULL: a field of hsc_attr
  uint8_t member, number, kind;
  int16_t op;     // HSC_OP_COUNT = all
  int16_t place;  // offset in hsc_attr
} hsc__proto_row;
extern const hsc__proto_row hsc__proto_rows[];
extern const int hsc__proto_row_count;
static inline bool hsc__proto_row_is_of(const hsc__proto_row *row, hsc_op op) {
  return (row->member == HSC__ATTR_ANY || row->member == hsc__op_attr_kind(op)) &&
         (row->op == HSC_OP_COUNT || row->op == (int)op);
}

// ---- hlo_proto_shape.c ----
// Shapes and metadata that were read before, by their bytes.
typedef struct hsc__proto_cache {
  struct {
    hsc_view bytes;
    hsc_shape shape;
  } shapes[256];
  struct {
    hsc_view bytes;
    const hsc_metadata *metadata;
  } metadata[256];
} hsc__proto_cache;
// cache may be NULL
HSC_MUST_USE hsc_status *hsc__proto_read_shape(hsc_arena *arena,
                                               hsc__proto_cache *cache,
                                               hsc_view bytes,
                                               hsc_shape *out_shape);
// appends to *dims
HSC_MUST_USE hsc_status *hsc__proto_read_dims(hsc_arena *arena,
                                              const hsc_wire_field *field,
                                              hsc_dims *dims);
// "{(f32[2]{0}, s32[])->f32[]}" from a ProgramShapeProto.
HSC_MUST_USE hsc_status *hsc__proto_read_program_shape(hsc_arena *arena,
                                                       hsc_view bytes,
                                                       const char **out_text);
HSC_MUST_USE hsc_status *hsc__proto_write_shape(hsc_bytes *out,
                                                uint32_t field,
                                                const hsc_shape *shape);

// ---- hlo_proto_literal.c ----
HSC_MUST_USE hsc_status *hsc__proto_read_literal(hsc_arena *arena,
                                                 hsc_view bytes,
                                                 int depth,
                                                 hsc_literal **out_literal);
HSC_MUST_USE hsc_status *hsc__proto_write_literal(hsc_bytes *out,
                                                  uint32_t field,
                                                  const hsc_literal *literal);

// ---- hlo_proto_dims.c: messages that describe dimensions ----
HSC_MUST_USE hsc_status *hsc__proto_read_window(hsc_arena *arena,
                                                hsc_view bytes,
                                                hsc_window *out_window);
void hsc__proto_write_window(hsc_bytes *out, uint32_t field, const hsc_window *window);
HSC_MUST_USE hsc_status *hsc__proto_read_conv_dims(hsc_arena *arena,
                                                   hsc_view bytes,
                                                   hsc_conv_dims *out_dims);
void hsc__proto_write_conv_dims(hsc_bytes *out, uint32_t field, const hsc_conv_dims *dims);
HSC_MUST_USE hsc_status *hsc__proto_read_dot_dims(hsc_arena *arena,
                                                  hsc_view bytes,
                                                  hsc_dot_dims *dims);
void hsc__proto_write_dot_dims(hsc_bytes *out, uint32_t field, const hsc_dot_dims *dims);
HSC_MUST_USE hsc_status *hsc__proto_read_gather_dims(hsc_arena *arena,
                                                     hsc_view bytes,
                                                     hsc_gather_dims *dims);
void hsc__proto_write_gather_dims(hsc_bytes *out, uint32_t field, const hsc_gather_dims *dims);

// ---- hlo_proto_attrs.c: one field of an instruction that has a row without text ----
HSC_MUST_USE hsc_status *hsc__proto_read_attr(hsc_arena *arena,
                                              const hsc__proto_row *row,
                                              const hsc_wire_field *field,
                                              hsc_attr *attr);
HSC_MUST_USE hsc_status *hsc__proto_write_attr(hsc_bytes *out,
                                               const hsc__proto_row *row,
                                               const hsc_instr *instr);

// ---- hlo_proto_text.c: messages that the IR keeps as text ----
// Appends the text of a field to *text as "name=value" (with ", " before it when *text is not
// empty).
HSC_MUST_USE hsc_status *hsc__proto_text_of(const hsc__proto_row *row,
                                            const hsc_wire_field *field,
                                            const hsc_instr *instr,
                                            hsc_bytes *text);
// The other way; false when the value is not understood (then a part of it may be written).
bool hsc__proto_text_to(const hsc__proto_row *row, hsc_view value, hsc_bytes *out);
// "{a="1"}"; nothing for an empty map
void hsc__proto_frontend_text(hsc_view bytes, hsc_bytes *text);
bool hsc__proto_frontend_write(hsc_view text, hsc_bytes *out, uint32_t field);
// one OutputOperandAliasing: "{0}: (1, {})"
HSC_MUST_USE hsc_status *hsc__proto_aliasing_text(hsc_view bytes, hsc_bytes *text);
// "{{0}: (1, {}), ...}"
bool hsc__proto_aliasing_write(hsc_view text, hsc_bytes *out, uint32_t field);
// CollectiveDeviceListProto
HSC_MUST_USE hsc_status *hsc__proto_groups_text(hsc_view bytes, hsc_bytes *text);
// IotaReplicaGroupListProto
HSC_MUST_USE hsc_status *hsc__proto_iota_text(hsc_view bytes, hsc_bytes *text);
// MeshAxesReplicaGroupListProto (hlo_proto_sharding.c)
HSC_MUST_USE hsc_status *hsc__proto_mesh_groups_text(hsc_view bytes, hsc_bytes *text);
// fields 87, 92 and 93
bool hsc__proto_groups_write(hsc_view text, hsc_bytes *out);
// one SourceTarget: "{0,1}"
void hsc__proto_pair_text(hsc_view bytes, hsc_bytes *text);
bool hsc__proto_pairs_write(hsc_view text, hsc_bytes *out, uint32_t field);
// In quotes, escaped (hsc_text_escape).
void hsc__append_quoted(hsc_bytes *out, hsc_view text);
// The value of a frontend attribute as XLA prints it: an object as it is, anything else in quotes.
void hsc__append_frontend_value(hsc_bytes *text, hsc_view value);

// ---- hlo_proto_sharding.c ----
HSC_MUST_USE hsc_status *hsc__proto_sharding_text(hsc_view bytes, int depth, hsc_bytes *text);
bool hsc__proto_sharding_write(hsc_view text, hsc_bytes *out, uint32_t field);

// ---- hlo_proto_read.c ----
// The HloModuleProto in a message that may wrap it, and the configuration beside it.
hsc_view hsc__proto_unwrap(hsc_view bytes, int depth, hsc_view *out_config);

// A small reader for texts of our own making: skips spaces, reads integers and words.
typedef struct hsc__scan {
  const char *p, *end;
} hsc__scan;
static inline hsc__scan hsc__scan_of(hsc_view text) {
  return (hsc__scan){text.data, text.data + text.size};
}
// the same in text to field 93, to the end of the text
bool hsc__proto_mesh_groups_write(hsc__scan *scan, hsc_bytes *out);
// skips space; takes c when it is next
bool hsc__scan_char(hsc__scan *scan, char c);
bool hsc__scan_peek(hsc__scan *scan, char c);
bool hsc__scan_word(hsc__scan *scan, const char *word);
bool hsc__scan_braces(hsc__scan *scan, hsc_view *out_text);  // past a balanced {...}
bool hsc__scan_int(hsc__scan *scan, int64_t *out_value);
// letters, digits, _ . -; may be empty
hsc_view hsc__scan_ident(hsc__scan *scan);
bool hsc__scan_string(hsc__scan *scan, hsc_bytes *out_text);  // decoded
bool hsc__scan_done(hsc__scan *scan);
// "{1,2}" as a packed field (also when empty: nothing is written).
bool hsc__scan_ints(
    hsc__scan *scan, char open, char close, int64_t *values, int capacity, int *out_count);
