// mlir_ir.h - MLIR as a plain tree: what the readers of MLIR text and bytecode make, and what the
// StableHLO import reads.
//
// Only what StableHLO programs need: one block a region, attributes as values. Readers bring every
// dialect's spelling to one: operation names are StableHLO's without dialect and version
// ("dot_general"; "module", "func", "call", "return"), and attributes are flat as in VHLO
// ("lhs_batching_dimensions", not a nested dot_dimension_numbers), so that one import serves text,
// bytecode and every version of VHLO.
// Memory: everything lives in one arena, which the caller of a reader owns; strings and tensor data
// may point into the input's bytes.
#pragma once

#include "formats/common/formats.h"

typedef enum hsc__mlir_type_kind {
  HSC_MLIR_ELEMENT,   // a scalar type by itself: shape.type
  HSC_MLIR_TENSOR,    // shape
  HSC_MLIR_TUPLE,     // elements
  HSC_MLIR_FUNCTION,  // elements: inputs, then results; input_count of them are inputs
  HSC_MLIR_TOKEN,
  HSC_MLIR_INDEX,
  HSC_MLIR_NONE,
  HSC_MLIR_UNRANKED,  // refused when it is used
  HSC_MLIR_OTHER,     // a type that has no meaning here; `text` names it
} hsc__mlir_type_kind;

typedef struct hsc__mlir_type {
  hsc__mlir_type_kind kind;
  hsc_shape shape;
  const struct hsc__mlir_type **elements;  // [element_count]
  int32_t element_count, input_count;
  const char *text;
  // for the import, when is_imported: the shape in the module's arena
  hsc_shape imported;
  bool is_imported;
} hsc__mlir_type;

typedef enum hsc__mlir_attr_kind {
  HSC_MLIR_UNIT,
  HSC_MLIR_BOOL,
  HSC_MLIR_INT,
  HSC_MLIR_FLOAT,
  HSC_MLIR_STRING,
  HSC_MLIR_SYMBOL,
  HSC_MLIR_TYPE,
  HSC_MLIR_ARRAY,
  // Also StableHLO's meshes: replica_group_mesh_axes {mesh, axes}, axis_ref {name[,
  // sub_axis_info]}, sub_axis_info {pre_size, size}, mesh {axes[, device_ids]}, an axis of it
  // {name, size}
  HSC_MLIR_DICT,
  // type (a tensor) and data: one element (a splat) or all, little-endian; pred one byte each
  HSC_MLIR_DENSE,
  // a StableHLO enum: `integer` is VHLO's number for the case; in an export `text` names the
  // enumeration
  HSC_MLIR_ENUM,
  // of a result: elements = absolute and relative tolerance (floats), ulps (an integer), mode (an
  // enum)
  HSC_MLIR_ACCURACY,
  // `text` = operation name or file, integer = line, column; elements = children
  HSC_MLIR_LOCATION,
  // output_operand_alias: text as XLA prints it; in an export elements = output indices, operand,
  // operand indices
  HSC_MLIR_ALIAS,
  HSC_MLIR_UNKNOWN,  // kept as `text`, an error only where it is needed
} hsc__mlir_attr_kind;

typedef struct hsc__mlir_attr hsc__mlir_attr;
typedef struct hsc__mlir_named {
  hsc_view name;
  const hsc__mlir_attr *value;
} hsc__mlir_named;

struct hsc__mlir_attr {
  hsc__mlir_attr_kind kind;
  int64_t integer;  // BOOL, INT, ENUM, LOCATION line
  int64_t column;
  double number;  // FLOAT
  hsc_view text;
  // of values that have one; of the elements of array<i64: 1>; NULL = not said
  const hsc__mlir_type *type;
  hsc_view data;                    // DENSE
  const hsc__mlir_attr **elements;  // ARRAY, LOCATION: [count]
  const hsc__mlir_named *entries;   // DICT: [count]
  int32_t count;
  bool is_imported;                // for the import: the next are known
  union {                          // in the module's arena
    hsc_dims dims;                 // of a list of integers
    const hsc_metadata *metadata;  // of a location; NULL = it says nothing
  } imported;
};

typedef struct hsc__mlir_op hsc__mlir_op;
typedef struct hsc__mlir_value {
  const hsc__mlir_type *type;
  hsc__mlir_op *owner;            // operation whose result it is; NULL for a block argument
  struct hsc__mlir_block *block;  // where it is defined
  hsc_instr *instr;               // for the import
  int64_t stamp;                  // for the import
} hsc__mlir_value;

typedef struct hsc__mlir_block {
  hsc__mlir_value *arguments;  // [argument_count]
  int32_t argument_count;
  hsc__mlir_op **ops;  // [op_count], the last one is the terminator
  int32_t op_count;
  hsc__mlir_op *parent;  // NULL = the top
} hsc__mlir_block;

struct hsc__mlir_op {
  const char *name;            // normalised
  const char *written_name;    // as it was in the input ("vhlo.add_v1"), for messages
  hsc__mlir_value **operands;  // [operand_count]
  int32_t operand_count;
  hsc__mlir_value *results;  // [result_count]
  int32_t result_count;
  hsc__mlir_block **regions;  // [region_count], NULL = an empty region
  int32_t region_count;
  hsc__mlir_named *attrs;  // [attr_count]
  int32_t attr_count;
  bool has_foreign;  // attributes of other dialects may be among them ("mhlo.sharding")
  const hsc__mlir_attr *location;  // NULL = unknown
  hsc__mlir_block *block;          // that it is in
  // in text; of an export, in the text of the HLO module; 0 = unknown
  int32_t line, column;
};

// The attribute by name; NULL when it is missing, or when it is VHLO's "none" (a type attribute of
// none).
const hsc__mlir_attr *hsc__mlir_attr_get(const hsc__mlir_op *op, const char *name);
// The value of an entry of a dictionary; NULL where it has none, or is no dictionary.
const hsc__mlir_attr *hsc__mlir_dict_get(const hsc__mlir_attr *dict, const char *name);

// Bytecode to a tree; *out_top is the module operation. The arena keeps it; `bytes` must outlive
// it.
HSC_MUST_USE hsc_status *hsc__mlir_bytecode_read(hsc_view bytes,
                                                 const char *path,
                                                 hsc_arena *arena,
                                                 hsc__mlir_op **out_top);
// The same from text. What the tree points to is in the arena; `text` need not outlive it.
HSC_MUST_USE hsc_status *hsc__mlir_text_read(hsc_view text,
                                             const char *path,
                                             hsc_arena *arena,
                                             hsc__mlir_op **out_top);
// One attribute, "{a = 1 : i64}". A list array<i64: 1> is an ARRAY whose `type` is that of its
// elements.
HSC_MUST_USE hsc_status *hsc__mlir_text_read_attr(hsc_view text,
                                                  hsc_arena *arena,
                                                  const hsc__mlir_attr **out_attr);
// On the module: shapes of the entry computation in HLO, "{(f32[2], (s32[], f32[]))->(f32[2])}",
// when @main's arguments and results are the leaves of tuples in another way than that several
// results are one tuple.
#define HSC__ENTRY_SHAPES "mhlo.entry_shapes"
// An HLO module as a tree in the arena; strings point into the module. Not everything of HLO has a
// place: what only helps a compiler is said in *notes (may be NULL), a line each. `chlo` lets
// operations of CHLO stay as they are. Errors: UNIMPLEMENTED at an instruction that StableHLO has
// no form for, FAILED_PRECONDITION for constants without their values.
HSC_MUST_USE hsc_status *hsc__stablehlo_export(const hsc_module *module,
                                               bool chlo,
                                               hsc_arena *arena,
                                               hsc_bytes *notes,
                                               hsc__mlir_op **out_top);
// The tree of an export as text, and as a portable artifact of a version of StableHLO.
typedef struct hsc__mlir_print_options {
  // operations in quotes with all their attributes, instead of the form for people
  bool generic;
  bool locations;
} hsc__mlir_print_options;
HSC_MUST_USE hsc_status *hsc__mlir_text_write(hsc__mlir_op *top,
                                              const hsc__mlir_print_options *options,
                                              hsc_bytes *out);
HSC_MUST_USE hsc_status *hsc__mlir_bytecode_write(hsc__mlir_op *top,
                                                  hsc_stablehlo_version version,
                                                  const char *path,
                                                  hsc_bytes *out);

// The module operation to an HLO module, for N partitions (0 = what mhlo.num_partitions
// says), with sizes for symbolic dimensions. Consumes the values' scratch fields.
HSC_MUST_USE hsc_status *hsc__stablehlo_import(hsc__mlir_op *top,
                                               const char *path,
                                               int partition_count,
                                               const hsc_dim_size *sizes,
                                               int size_count,
                                               hsc_module **out_module);

// "f32", "i8", "ui4", "bf16", "f8E4M3FN" <-> element types; complex ones are not among them (NULL).
bool hsc__mlir_element_type(hsc_view word, hsc_type *out);
const char *hsc__mlir_element_text(hsc_type type);
// "EQ" of a StableHLO enumeration ("comparison_direction"); NULL when there is no such number. And
// back.
const char *hsc__mlir_enum_text(hsc_view enumeration, int64_t number);
bool hsc__mlir_enum_number(hsc_view enumeration, hsc_view name, int64_t *out);
