// stablehlo_export_internal.h - what the two halves of the StableHLO export share: HLO to the tree
// of mlir_ir.h, which the writers of MLIR text and of bytecode print.
//
// The tree of an export: operation names are StableHLO's without dialect, written_name has it
// ("stablehlo.add", "func.call", "chlo.erf"). Attributes are flat as in VHLO and typed, and there
// only when they are not what StableHLO takes without them; those of other dialects have a dot in
// their name.
#pragma once

#include "formats/common/formats_internal.h"
#include "formats/mlir/mlir_ir.h"

// What an HLO value is in MLIR. Tuples exist as lists of values, and as one value only where
// StableHLO cannot do without.
typedef struct hsc__export_node {
  hsc__mlir_value *value;             // NULL for a tuple that has none
  struct hsc__export_node *elements;  // [count] of a tuple
  int32_t count;
  bool is_tuple;
} hsc__export_node;

typedef struct hsc__export_block {  // being filled
  hsc__mlir_block *block;
  int32_t capacity;
} hsc__export_block;

typedef struct hsc__exporter {
  const hsc_module *module;
  hsc_arena *arena;  // of the tree
  // operations of CHLO may be as such; else custom calls of XLA that mean them
  bool chlo;
  hsc_bytes *notes;  // what MLIR has no place for, a line each; may be NULL
  uint64_t noted;    // bits of what was said
  hsc__export_block *at;
  hsc__export_node **nodes;         // by id of the instruction
  hsc_map *functions;               // address of a computation -> its hsc__mlir_op
  hsc_map *names;                   // symbols that are taken
  hsc_map *callers;                 // address of a computation -> number of calls (as a pointer)
  hsc_map *locations;               // address of metadata -> location
  const hsc__mlir_attr *location;   // of what is emitted next
  const hsc_instr *instr;           // likewise, for messages
  const hsc_computation **pending;  // functions to write
  int32_t pending_count, pending_capacity;
} hsc__exporter;

typedef struct hsc__export_op {  // an operation before it is emitted
  hsc__exporter *x;
  const hsc_instr *instr;
  const char *name;  // with its dialect
  hsc__mlir_named attrs[40];
  int32_t attr_count;
  hsc__mlir_value **operands;
  int32_t operand_count;
  hsc__mlir_block **regions;
  int32_t region_count;
} hsc__export_op;

// UNIMPLEMENTED at the instruction: "fusion: ... has no form in StableHLO".
HSC_MUST_USE hsc_status *hsc__export_error(const hsc__exporter *x,
                                           const hsc_instr *instr,
                                           hsc_status *status);
#define HSC_EXPORT_ERR(x, instr, ...) \
  hsc__export_error((x), (instr), HSC_ERR(UNIMPLEMENTED, __VA_ARGS__))

// What StableHLO has no place for; each is noted once.
typedef enum hsc__export_loss {
  HSC_EXPORT_LAYOUT,
  HSC_EXPORT_CONTROL,
  HSC_EXPORT_ENTRY_LAYOUT,
  HSC_EXPORT_ALIAS,
  HSC_EXPORT_MUST_ALIAS,
  HSC_EXPORT_HEADER,
  HSC_EXPORT_SCHEDULE,
  HSC_EXPORT_THREAD,
  HSC_EXPORT_GONE
} hsc__export_loss;
void hsc__export_note(hsc__exporter *x, hsc__export_loss loss, const char *text);

// ---- attributes (NULL only when out of memory, which the arena remembers) ----
const hsc__mlir_attr *hsc__export_int(hsc__exporter *x, hsc_type type, int64_t value);
const hsc__mlir_attr *hsc__export_bool(hsc__exporter *x, bool value);
const hsc__mlir_attr *hsc__export_text(hsc__exporter *x, hsc_view text);
const hsc__mlir_attr *hsc__export_symbol(hsc__exporter *x, const char *text);
const hsc__mlir_attr *hsc__export_enum(hsc__exporter *x, const char *enumeration, int64_t number);
// tensor<Nxi64>
const hsc__mlir_attr *hsc__export_dims(hsc__exporter *x, hsc_dims dims);
const hsc__mlir_attr *hsc__export_ints(
    hsc__exporter *x, hsc_type type, int rank, const int64_t *dims, const int64_t *values);
const hsc__mlir_attr *hsc__export_array(hsc__exporter *x,
                                        int count,
                                        const hsc__mlir_attr *const *elements);
const hsc__mlir_attr *hsc__export_dict(hsc__exporter *x, int count, const hsc__mlir_named *entries);
const hsc__mlir_attr *hsc__export_type_attr(hsc__exporter *x, const hsc__mlir_type *type);
const hsc__mlir_type *hsc__export_type(hsc__exporter *x, const hsc_shape *shape);
const hsc__mlir_type *hsc__export_element(hsc__exporter *x, hsc_type type);

// name(file:line:column), as XLA's metadata and JAX's locations say the same.
const hsc__mlir_attr *hsc__export_location(hsc__exporter *x, const hsc_metadata *metadata);

// ---- operations ----
void hsc__export_put(hsc__export_op *op, const char *name, const hsc__mlir_attr *value);
// One result of a shape.
HSC_MUST_USE hsc_status *hsc__export_emit_value(hsc__export_op *op,
                                                const hsc_shape *shape,
                                                hsc__mlir_value **out_value);
// The results are those of the instruction: one, or the elements of its tuple.
HSC_MUST_USE hsc_status *hsc__export_emit_instr(hsc__export_op *op);
HSC_MUST_USE hsc_status *hsc__export_value(hsc__exporter *x,
                                           const hsc__export_node *node,
                                           const hsc_shape *shape,
                                           hsc__mlir_value **out_value);
// A computation as a region of `op` whose block takes its parameters.
HSC_MUST_USE hsc_status *hsc__export_region(hsc__export_op *op, const hsc_computation *computation);
// The symbol of a function for the computation, which is written later.
HSC_MUST_USE hsc_status *hsc__export_function(hsc__exporter *x,
                                              const hsc_computation *computation,
                                              const char **out_symbol);
// Sharding, frontend attributes, backend configuration and what else HLO gives an instruction, as
// attributes of the dialect mhlo. {key="value",other="value"} as a dictionary; NULL when it is
// something else.
const hsc__mlir_attr *hsc__export_frontend(hsc__exporter *x, const char *text);
HSC_MUST_USE hsc_status *hsc__export_discardable(hsc__export_op *op, const hsc_instr *instr);

// An instruction that is in the tables of operations; *out_done false when it is not.
HSC_MUST_USE hsc_status *hsc__export_plain(hsc__exporter *x,
                                           const hsc_instr *instr,
                                           bool *out_done);

// stablehlo_export_arguments.c: aliasing, donation and shardings of the entry's arguments; the
// sharding of a result that is a tuple of `count` leaves.
HSC_MUST_USE hsc_status *hsc__export_argument_attrs(hsc__exporter *x,
                                                    const hsc_computation *entry,
                                                    hsc__export_op *op);
void hsc__export_result_attrs(hsc__exporter *x,
                              const hsc_instr *root,
                              int count,
                              hsc__export_op *op);
