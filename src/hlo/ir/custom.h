// custom.h - custom calls by name: what a target gets, how one is registered, and the dictionary of
// attributes that comes with a call.
//
// The reference evaluator knows some targets itself (placement marks, TopK, LAPACK's routines under
// the names that JAX gives them on CPUs); others are registered by whoever runs programs: the
// plugin registers handlers of XLA's FFI and functions of Python. Unknown targets are refused by
// name.
// Threads: registering and looking up take a lock; a function may run on several threads at once.
#pragma once

#include "hlo/ir/hlo.h"

// One call. Arrays are dense and row-major, whatever layouts the program names; tuples are
// flattened to their leaves, tokens have no data.
typedef struct hsc_custom_call {
  const char *target;
  const char *config;  // backend_config, raw text; NULL = none
  int32_t operand_count, result_count;
  const hsc_literal *operands;  // [operand_count] only read
  hsc_literal *results;         // [result_count] to be filled; zeros before
  const hsc_instr *instr;       // for layouts and names in messages
} hsc_custom_call;

typedef hsc_status *(*hsc_custom_fn)(void *user, const hsc_custom_call *call);

// `function` and `user` must live as long as the process. A second registration of a name replaces
// the first. Errors: RESOURCE_EXHAUSTED.
HSC_MUST_USE hsc_status *hsc_custom_register(const char *target,
                                             hsc_custom_fn function,
                                             void *user);
// Whether somebody brought a function of that name: it comes before everybody's own.
bool hsc_custom_is_registered(const char *target);
bool hsc_custom_is_known(const char *target);
// UNIMPLEMENTED for an unknown target, with the known name that is nearest to it; NULL for a known
// one.
HSC_MUST_USE hsc_status *hsc_custom_check(const char *target);
// What to do about a call of a Python function, which only the process that made the program has;
// NULL for every other target.
const char *hsc_custom_callback_hint(const char *target);

// Copies a row-major array to bytes in the order of dimensions that `layout` names, and back.
void hsc_custom_to_layout(const hsc_literal *from, const hsc_layout *layout, void *to);
void hsc_custom_from_layout(hsc_literal *to, const hsc_layout *layout, const void *from);

// A call that is gone when the program runs: jax.debug.inspect_array_sharding. Its config is {id =
// N : ui64, sharding = "XLA's text"} by the time that it is answered, when the program is compiled;
// it has neither operands nor results then.
#define HSC_INSPECT_SHARDING "hloscope_inspect_sharding"

// ---- attributes ---------------------------------------------------------------------------------

typedef enum hsc_config_kind {
  HSC_CONFIG_BOOL,
  HSC_CONFIG_INT,
  HSC_CONFIG_FLOAT,
  HSC_CONFIG_STRING,
  HSC_CONFIG_ARRAY,
  HSC_CONFIG_DICT
} hsc_config_kind;

// A value of a dictionary as MLIR prints it: {high = 4 : i32, name = "x", sizes = array<i64: 1,
// 2>}.
typedef struct hsc_config {
  hsc_view name;  // in a dictionary
  hsc_config_kind kind;
  // BOOL, INT, FLOAT, and of an ARRAY's elements: i64 where the text names none
  hsc_type type;
  int64_t integer;
  double number;
  const char *text;  // STRING, without quotes and escapes; NUL at the end
  size_t text_bytes;
  const struct hsc_config *elements;  // ARRAY, DICT (in the order of the text): [count]
  int32_t count;
} hsc_config;

// Memory is the arena's. Errors: INVALID_ARGUMENT with the place in the text.
HSC_MUST_USE hsc_status *hsc_config_parse(const char *text,
                                          hsc_arena *arena,
                                          const hsc_config **out_config);
// NULL = not there
const hsc_config *hsc_config_get(const hsc_config *dict, const char *name);
// INT and BOOL
int64_t hsc_config_int(const hsc_config *dict, const char *name, int64_t otherwise);

// ---- LAPACK -------------------------------------------------------------------------------------

// Routines come from OpenBLAS or LAPACK, opened when first needed, else from what was provided:
// Fortran names without the underscore ("dgesdd"), 32-bit integers. A provided pointer is used only
// where no library has the routine.
HSC_MUST_USE hsc_status *hsc_lapack_provide(const char *name, void *function);
