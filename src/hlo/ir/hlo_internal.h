// hlo_internal.h - what the files of this folder share.
#pragma once

#include "hlo/ir/attr_kinds.h"
#include "hlo/ir/attr_text.h"
#include "hlo/ir/hlo.h"

// attr.c: deep copy into `arena` of the attributes of `op`; equality of two instructions'
// attributes; a canonical byte form for hashing.
void hsc__attr_copy(hsc_arena *arena, hsc_op op, const hsc_attr *from, hsc_attr *to);

// Everything of an instruction that hashes as one number (fingerprint.c): 128 bits, updated field
// by field.
typedef struct hsc__hasher {
  hsc_hash128 state;
} hsc__hasher;
void hsc__hash_u64(hsc__hasher *hasher, uint64_t value);
void hsc__hash_bytes(hsc__hasher *hasher, const void *data, size_t size);
void hsc__hash_text(hsc__hasher *hasher, const char *text);  // NULL differs from ""
void hsc__hash_dims(hsc__hasher *hasher, hsc_dims dims);
void hsc__hash_shape(hsc__hasher *hasher, const hsc_shape *shape);
void hsc__hash_attr(hsc__hasher *hasher, hsc_op op, const hsc_attr *attr);

// module.c: makes `wanted` a legal name that is new in `names`, registers it for `object`, gives
// the arena's copy; NULL when out of memory. Names of instructions are put into the map when one is
// looked up or comes from outside: what a reader of MLIR or a builder makes of operations' own
// texts ("add.7", "Arg_0.3") is unique by counting.
const char *hsc__unique_name(hsc_module *module, hsc_map *names, const char *wanted, void *object);
// The name of an instruction called after its op.
const char *hsc__op_name(hsc_module *module, hsc_instr *instr);
void hsc__name_release(hsc_map *names, const char *name, const void *object);
// Lists the names that were counted; after that names_counted is NULL. False when out of memory.
bool hsc__names_list(hsc_module *module);

// All computations of the module, called ones before their callers; out_order has room for
// computation_count. FAILED_PRECONDITION on recursion, INTERNAL when they call one that is not in
// the module's list.
HSC_MUST_USE hsc_status *hsc__call_order(const hsc_module *module,
                                         hsc_computation **out_order,
                                         int *out_count);

// A hash table from pointers to pointers, for clones. Zero-initialised is empty.
typedef struct hsc__ptr_map {
  const void **keys;
  void **values;
  size_t capacity, count;
  bool failed;
} hsc__ptr_map;
void *hsc__ptr_map_get(const hsc__ptr_map *map, const void *key);
void hsc__ptr_map_put(hsc__ptr_map *map, const void *key, void *value);
void hsc__ptr_map_deinit(hsc__ptr_map *map);

// edit.c: links. Notes that `user` reads `instr` as its operand number `operand`; the operand
// itself is set by the caller.
void hsc__use_add(hsc_instr *instr, hsc_instr *user, int operand);
// Adds to the callers of what it calls.
void hsc__calls_add(const hsc_instr *instr, int by);
// before NULL = at the end
void hsc__list_insert(hsc_computation *computation, hsc_instr *instr, hsc_instr *before);
bool hsc__computation_add_parameter(hsc_computation *computation,
                                    hsc_instr *parameter,
                                    int64_t number);

// clone.c: copies metadata and raw texts of `from` into `arena`.
void hsc__instr_copy_texts(hsc_arena *arena, const hsc_instr *from, hsc_instr *to);

// shape.c: "/*index=N*/" before every fifth element of a tuple or list.
void hsc__print_tuple_index(int index, hsc_bytes *out);

// Decimal digits of `value` at `out` (at least 20 bytes, no terminator); returns the length.
int hsc__format_int(int64_t value, char *out);
int hsc__format_uint(uint64_t value, char *out);
// What printf writes for "%.*g", without the terminator; out has at least 40 bytes. digits is 1 to
// 17.
int hsc__format_g(double value, int digits, char *out);
// As XLA prints a float or double: "%.6g" ("%.15g") if that reads back as the same number, else
// "%.9g" ("%.17g"). No NaN.
int hsc__format_round_trip(double value, bool is_f32, char *out);

// build.c: for the functions of build_ops.c.
hsc_instr *hsc__build_dummy(hsc_op op, hsc_shape shape);
void hsc__build_fail(hsc_builder *b, hsc_status *status);  // takes the status; the first one stays
// Builds with attributes that live in the module's arena already. `shape` matters for ops whose
// rule is `given` or takes the output's dimensions from it; the inferred one replaces it.
hsc_instr *hsc__build_inferred(hsc_builder *b,
                               hsc_op op,
                               hsc_shape shape,
                               const hsc_attr *attr,
                               int operand_count,
                               hsc_instr *const *operands,
                               int called_count,
                               hsc_computation *const *called);

// print_module.c: "{(f32[4]{0})->f32[4]{0}}": the text that came with the module, else from the
// entry computation's shapes.
void hsc__print_entry_layout(const hsc_module *module, hsc_bytes *out);
