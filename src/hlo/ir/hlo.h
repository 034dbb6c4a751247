// hlo.h - the HLO intermediate representation, on one page: types, shapes, literals, instructions,
// computations, modules; building, checking, printing, evaluating and costing them.
//
// Memory: everything of a module lives in the module's arena and dies with it. Instructions that
// passes remove are unlinked, not freed.
// Threads: a module belongs to one thread at a time; reading it from several threads is fine while
// nobody writes.
// Values: dense arrays in row-major order of the logical dimensions, whatever the layout says
// (layouts are kept, and matter only at the edges: parameters, results, bitcasts). Types narrower
// than a byte take one byte per element.
//
//   hsc_module *m; hsc_arena *a = NULL;
//   hsc_module_create("example", &m);
//   hsc_builder b; hsc_builder_init(&b, m, "main");
//   hsc_shape f32_4 = hsc_shape_array(m->arena, HSC_TYPE_F32, 1, (int64_t[]){4});
//   hsc_instr *x = hsc_build_parameter(&b, 0, f32_4, "x");
//   hsc_instr *y = hsc_build_binary(&b, HSC_OP_ADD, x, x);
//   hsc_builder_finish(&b, y, &m->entry);
#pragma once

#include "base/core/bytes.h"
#include "base/core/hash.h"
#include "base/core/map.h"
#include "base/core/memory.h"
#include "base/core/status.h"

// ---- types --------------------------------------------------------------------------------------

typedef enum hsc_type {
#define TYPE(id, text, number, bytes, class, bits) HSC_TYPE_##id,
#include "hlo/ir/types.def"
#undef TYPE
  HSC_TYPE_COUNT
} hsc_type;

typedef enum hsc_type_class {
  HSC_CLASS_OTHER,  // tuple, opaque, token: no elements
  HSC_CLASS_PRED,
  HSC_CLASS_SIGNED,
  HSC_CLASS_UNSIGNED,
  HSC_CLASS_FLOAT,
  HSC_CLASS_COMPLEX,
} hsc_type_class;

const char *hsc_type_text(hsc_type type);  // "f32"
bool hsc_type_parse(hsc_view text, hsc_type *out_type);
int hsc_type_proto(hsc_type type);         // xla_data.proto number
hsc_type hsc_type_from_proto(int number);  // HSC_TYPE_INVALID when unknown
// storage of one element; 0 for tuple, opaque, token
size_t hsc_type_bytes(hsc_type type);
int hsc_type_bits(hsc_type type);  // value bits
hsc_type_class hsc_type_class_of(hsc_type type);
static inline bool hsc_type_is_integral(hsc_type t) {  // pred is not
  hsc_type_class c = hsc_type_class_of(t);
  return c == HSC_CLASS_SIGNED || c == HSC_CLASS_UNSIGNED;
}
static inline bool hsc_type_is_float(hsc_type t) {
  return hsc_type_class_of(t) == HSC_CLASS_FLOAT;
}
static inline bool hsc_type_is_complex(hsc_type t) {
  return hsc_type_class_of(t) == HSC_CLASS_COMPLEX;
}
// f32 of c64, f64 of c128, else the type itself
hsc_type hsc_type_real_part(hsc_type type);
// The type of a product of both where none is stated, by XLA's rule (HigherPrecisionType of
// xla/primitive_util.h): complex before real, then the float of the larger range, of the longer
// significand, the wider integer, the signed one. Where these are alike for two types (XLA ends its
// process there) it is `a`.
hsc_type hsc_type_of_product(hsc_type a, hsc_type b);

// Conversions between a float of any width and its storage bits: exact one way, rounded once to
// nearest even the other. Overflow gives what the type has: infinity, else NaN (f8e4m3fn, ...fnuz),
// else the largest value (f4e2m1fn), as in ml_dtypes, whose types XLA uses.
double hsc_float_decode(hsc_type type, uint64_t bits);
uint64_t hsc_float_encode(hsc_type type, double value);

// ---- shapes -------------------------------------------------------------------------------------

enum {
  HSC_MAX_RANK = 32,
  // nesting of tuple shapes; deeper ones are refused by the readers and by the verifier
  HSC_MAX_TUPLE_DEPTH = 64,
};

// Physical order; kept from the input for printing and for the edges. NULL layout means the default
// (row-major, {rank-1, ..., 0}).
typedef struct hsc_layout {
  int32_t rank;
  const int64_t *minor_to_major;  // [rank]
  // what follows the colon inside the braces, as XLA prints it: tiles "T(8,128)", memory space
  // "S(1)",
  //   element size "E(4)"; NULL = none
  const char *extra;
} hsc_layout;

// A small value; copied freely. Arrays it points to live in an arena and are never changed in
// place.
typedef struct hsc_shape {
  hsc_type type;
  int32_t rank;                      // arrays: number of dimensions; else 0
  int32_t element_count;             // tuples: number of elements; else 0
  bool flat;                         // tuples: no element is a tuple; false also when not known
  const int64_t *dims;               // [rank], each >= 0; for a dynamic dimension the bound
  const bool *dynamic;               // [rank], NULL = all static
  const struct hsc_shape *elements;  // [element_count]
  const hsc_layout *layout;          // NULL = default
} hsc_shape;

// copies dims; default layout
hsc_shape hsc_shape_array(hsc_arena *arena, hsc_type type, int rank, const int64_t *dims);
hsc_shape hsc_shape_scalar(hsc_type type);
// The same without a copy: the array must live as long as the shape.
hsc_shape hsc_shape_tuple_over(int count, const hsc_shape *elements);
// copies the array of elements
hsc_shape hsc_shape_tuple(hsc_arena *arena, int count, const hsc_shape *elements);
hsc_shape hsc_shape_token(void);
hsc_shape hsc_shape_with_type(hsc_shape shape, hsc_type type);
// also in tuple elements
hsc_shape hsc_shape_without_layout(hsc_arena *arena, hsc_shape shape);
// deep copy into another arena
hsc_shape hsc_shape_copy(hsc_arena *arena, hsc_shape shape);
static inline bool hsc_shape_is_array(const hsc_shape *s) {
  return s->type != HSC_TYPE_TUPLE && s->type != HSC_TYPE_TOKEN && s->type != HSC_TYPE_OPAQUE &&
         s->type != HSC_TYPE_INVALID;
}
static inline bool hsc_shape_is_tuple(const hsc_shape *s) {
  return s->type == HSC_TYPE_TUPLE;
}
static inline bool hsc_shape_is_scalar(const hsc_shape *s) {
  return hsc_shape_is_array(s) && s->rank == 0;
}
// product of dimensions; scalars 1; non-arrays 0; INT64_MAX on overflow
int64_t hsc_shape_elements(const hsc_shape *shape);
// storage; tuples: sum of the elements; tokens 0; INT64_MAX on overflow
int64_t hsc_shape_bytes(const hsc_shape *shape);
bool hsc_shape_same_dims(const hsc_shape *a, const hsc_shape *b);
// types and dimensions, not layouts
bool hsc_shape_equal(const hsc_shape *a, const hsc_shape *b);
// also layouts (NULL equals the default)
bool hsc_shape_equal_layout(const hsc_shape *a, const hsc_shape *b);
bool hsc_layout_is_default(const hsc_shape *shape);
// As XLA prints it: "f32[32,64]{1,0}", "(s32[], f32[4]{0})". with_layout false leaves the braces
// out.
void hsc_shape_print(const hsc_shape *shape, bool with_layout, hsc_bytes *out);
// Leaves of a (nested) tuple in depth-first order; 1 for an array.
int hsc_shape_leaf_count(const hsc_shape *shape);
const hsc_shape *hsc_shape_leaf(const hsc_shape *shape, int leaf);  // NULL when out of range
// nesting of tuples; 0 for an array
int hsc_shape_depth(const hsc_shape *shape);

// ---- literals -----------------------------------------------------------------------------------

// A value. Arrays: `data` holds hsc_shape_bytes(shape) bytes, row-major; integers narrower than a
// byte are kept extended to their byte.
// Tuples: `elements`. Memory is an arena's.
typedef struct hsc_literal {
  hsc_shape shape;
  void *data;                    // arrays; NULL when elided ("constant({...})") or zero-sized
  struct hsc_literal *elements;  // tuples: [shape.element_count]
  bool elided;                   // the text it came from left the values out: cannot be run
} hsc_literal;
// Zeroed, deep for tuples. Errors: RESOURCE_EXHAUSTED for what no memory holds.
HSC_MUST_USE hsc_status *hsc_literal_create(hsc_arena *arena,
                                            const hsc_shape *shape,
                                            hsc_literal **out_literal);
HSC_MUST_USE hsc_status *hsc_literal_copy(hsc_arena *arena,
                                          const hsc_literal *literal,
                                          hsc_literal **out_literal);
// any real type; complex: real part
double hsc_literal_get_double(const hsc_literal *literal, int64_t index);
double hsc_literal_get_imag(const hsc_literal *literal, int64_t index);
// integers, pred: exactly (u64 wraps); floats truncate
int64_t hsc_literal_get_int(const hsc_literal *literal, int64_t index);
// rounds to the type; integers saturate
void hsc_literal_set_double(hsc_literal *literal, int64_t index, double value);
void hsc_literal_set_complex(hsc_literal *literal, int64_t index, double re, double im);
void hsc_literal_set_int(hsc_literal *literal, int64_t index, int64_t value);  // wraps
// bitwise, NaN equals NaN of the same bits
bool hsc_literal_equal(const hsc_literal *a, const hsc_literal *b);
// every element equals value
bool hsc_literal_is_all(const hsc_literal *literal, double value);
// as inside constant(...): "{ { 1, 2 }, { 3, 4 } }"
void hsc_literal_print(const hsc_literal *literal, hsc_bytes *out);
// Deterministic inputs for runs without data; the recipe is in models/README.md and is the same in
// Python.
void hsc_literal_fill(hsc_literal *literal, uint64_t seed, uint32_t argument_index);

// ---- operations ---------------------------------------------------------------------------------

enum { VARIADIC_ARITY = -1 };
typedef enum hsc_op {
#define OP(id, text, arity, traits, attr, rule, doc) HSC_OP_##id,
#include "hlo/ir/ops.def"
#undef OP
  HSC_OP_COUNT
} hsc_op;

typedef enum hsc_op_trait {
  HSC_TRAIT_ELEMENTWISE = 1 << 0,
  HSC_TRAIT_COMMUTES = 1 << 1,
  HSC_TRAIT_TRANSCENDENTAL = 1 << 2,
  HSC_TRAIT_CALLS = 1 << 3,
  HSC_TRAIT_EFFECT = 1 << 4,
  HSC_TRAIT_COLLECTIVE = 1 << 5,
  HSC_TRAIT_ASYNC = 1 << 6,
  HSC_TRAIT_MOVES = 1 << 7,
  HSC_TRAIT_ALIAS = 1 << 8,
  HSC_TRAIT_COSTLY = 1 << 9,
  HSC_TRAIT_INT = 1 << 10,
  HSC_TRAIT_REAL = 1 << 11,
  HSC_TRAIT_COMPLEX = 1 << 12,
  HSC_TRAIT_ACCURACY = 1 << 13,
  HSC_TRAIT_MONOTONE = 1 << 14,
} hsc_op_trait;

const char *hsc_op_text(hsc_op op);
bool hsc_op_parse(hsc_view text, hsc_op *out_op);
int hsc_op_arity(hsc_op op);  // VARIADIC_ARITY or the count
uint32_t hsc_op_traits(hsc_op op);
// The one sentence that says an op is not there yet, for evaluator, compiler, transforms:
// UNIMPLEMENTED "<op>: not built yet: <where>".
HSC_MUST_USE hsc_status *hsc_op_not_built(hsc_op op, const char *where);

// ---- attributes ---------------------------------------------------------------------------------

typedef struct hsc_dims {
  int32_t count;
  const int64_t *v;  // [count], arena
} hsc_dims;
// The place of a dimension in a list; -1 when it is not there.
static inline int hsc_dims_find(hsc_dims dims, int64_t dimension) {
  for (int i = 0; i < dims.count; i++)
    if (dims.v[i] == dimension)
      return i;
  return -1;
}
static inline bool hsc_dims_contain(hsc_dims dims, int64_t dimension) {
  return hsc_dims_find(dims, dimension) >= 0;
}

typedef enum hsc_direction { HSC_EQ, HSC_NE, HSC_LT, HSC_LE, HSC_GT, HSC_GE } hsc_direction;
typedef enum hsc_compare_type {
  HSC_COMPARE_DEFAULT,  // what the operands' type means
  HSC_COMPARE_FLOAT,
  HSC_COMPARE_TOTALORDER,  // -NaN < -inf < ... < -0 < 0 < ... < inf < NaN
  HSC_COMPARE_SIGNED,
  HSC_COMPARE_UNSIGNED,
} hsc_compare_type;
typedef enum hsc_fusion_kind {
  HSC_FUSION_LOOP,
  HSC_FUSION_INPUT,
  HSC_FUSION_OUTPUT,
  HSC_FUSION_CUSTOM
} hsc_fusion_kind;
typedef enum hsc_fft_type { HSC_FFT, HSC_IFFT, HSC_RFFT, HSC_IRFFT } hsc_fft_type;
typedef enum hsc_rng_algorithm {
  HSC_RNG_DEFAULT,
  HSC_RNG_THREE_FRY,
  HSC_RNG_PHILOX
} hsc_rng_algorithm;
typedef enum hsc_rng_distribution {
  HSC_RNG_NONE,
  HSC_RNG_UNIFORM,
  HSC_RNG_NORMAL
} hsc_rng_distribution;
typedef enum hsc_transpose { HSC_NO_TRANSPOSE, HSC_TRANSPOSE, HSC_ADJOINT } hsc_transpose;

typedef struct hsc_window_dim {
  // stride and dilations default to 1
  int64_t size, stride, pad_low, pad_high, window_dilation, base_dilation;
  bool reversal;
} hsc_window_dim;
typedef struct hsc_window {
  int32_t rank;
  const hsc_window_dim *dims;  // [rank]
} hsc_window;

typedef struct hsc_dot_dims {
  hsc_dims lhs_batch, rhs_batch, lhs_contracting, rhs_contracting;
  hsc_dims precision;    // operand_precision: 0 default, 1 high, 2 highest; empty = default
  int32_t algorithm;     // PrecisionConfig.Algorithm number; 0 = unset
  const char *sparsity;  // raw text; NULL = none
} hsc_dot_dims;

typedef struct hsc_conv_dims {
  int32_t spatial_rank;
  // dimension numbers
  int64_t input_batch, input_feature, kernel_input, kernel_output, output_batch, output_feature;
  // [spatial_rank]
  const int64_t *input_spatial, *kernel_spatial, *output_spatial;
} hsc_conv_dims;

// also scatter: offset_dims = update_window_dims, collapsed = inserted_window_dims,
typedef struct hsc_gather_dims {
  //   start_index_map = scatter_dims_to_operand_dims, *_batching =
  //   input/scatter_indices_batching_dims
  hsc_dims offset_dims;
  hsc_dims collapsed_slice_dims;
  hsc_dims start_index_map;
  hsc_dims operand_batching_dims;
  hsc_dims start_indices_batching_dims;
  int64_t index_vector_dim;
  hsc_dims slice_sizes;  // gather only
  bool indices_are_sorted;
  bool unique;  // scatter: unique_indices
} hsc_gather_dims;

typedef struct hsc_pad_dim {
  int64_t low, high, interior;
} hsc_pad_dim;

// The typed attributes of an instruction; ops.def says which member an op uses. Arrays live in the
// module's arena.
typedef union hsc_attr {
  // broadcast, transpose, reduce, concatenate, iota, sort, map ...
  struct {
    hsc_dims dims;
    bool is_stable;
    bool is_reverse;
  } dims;
  // parameter number, tuple index, rng-get-and-update-state delta
  struct {
    int64_t value;
  } index;
  struct {
    hsc_literal *value;
  } literal;  // constant
  struct {
    hsc_direction direction;
    hsc_compare_type type;
  } compare;
  struct {
    hsc_dims start, limit, stride;
  } slice;
  struct {
    hsc_dims sizes;
  } slice_sizes;  // dynamic-slice
  struct {
    int32_t rank;
    const hsc_pad_dim *dims;
  } pad;
  // reduce-window, select-and-scatter
  struct {
    hsc_window window;
  } window;
  struct {
    hsc_window window;
    hsc_conv_dims dims;
    int64_t feature_groups, batch_groups;
    hsc_dims precision;
  } conv;
  hsc_dot_dims dot;
  hsc_gather_dims gather;
  hsc_gather_dims scatter;
  struct {
    hsc_fft_type type;
    hsc_dims length;
  } fft;
  struct {
    float epsilon;
    int64_t feature_index;
  } batch_norm;
  struct {
    bool lower;
  } cholesky;
  struct {
    bool left_side, lower, unit_diagonal;
    hsc_transpose transpose_a;
  } triangular;
  struct {
    hsc_rng_algorithm algorithm;
    hsc_rng_distribution distribution;
  } rng;
  struct {
    int32_t exponent_bits, mantissa_bits;
  } precision;  // reduce-precision
  struct {
    hsc_fusion_kind kind;
  } fusion;
  struct {
    int64_t k;
    bool largest;
  } topk;
  // custom-call, infeed, outfeed, send, recv, async
  struct {
    const char *target;  // custom_call_target, infeed_config ...; NULL = none
    const char *opaque;  // legacy backend_config string given to the target; NULL = none
    // 0 = unset; 1 original, 2 status returning, 3 unified, 4 typed FFI
    int32_t api_version;
    bool has_side_effect;
    hsc_literal *literal;
    int32_t operand_layout_count;
    // [operand_layout_count] operand_layout_constraints; NULL = none
    const hsc_shape *operand_layouts;
    const char *aliasing;  // output_to_operand_aliasing, raw text; NULL = none
    int64_t channel_id;    // 0 = none
    bool is_host_transfer;
  } custom;
  struct {                       // collectives
    hsc_dims dims;               // all-gather, reduce-scatter, all-to-all: dimension
    const char *replica_groups;  // raw text as printed
    const char *pairs;           // source_target_pairs, raw text
    int64_t channel_id;          // 0 = none
    bool use_global_device_ids, constrain_layout;
  } collective;
} hsc_attr;

typedef struct hsc_metadata {
  const char *op_type, *op_name, *source_file;  // NULL = none
  // 0 = none
  int32_t source_line, source_end_line, source_column, source_end_column, stack_frame_id;
  const char *extra;  // other fields, raw text
} hsc_metadata;

// ---- instructions, computations, modules --------------------------------------------------------

typedef struct hsc_instr hsc_instr;
typedef struct hsc_computation hsc_computation;
typedef struct hsc_module hsc_module;

struct hsc_instr {
  hsc_op op;
  uint32_t id;       // unique in the module; proto ids are mapped to it
  const char *name;  // without %; unique in the module
  hsc_shape shape;
  hsc_instr **operands;  // [operand_count]
  int32_t operand_count;
  int32_t called_count;
  // [called_count]: to_apply; while: {condition, body}; conditional: branches; fusion: calls;
  //   select-and-scatter: {select, scatter}
  hsc_computation **called;
  hsc_attr attr;
  hsc_computation *parent;
  // program order within the computation: operands come before users
  hsc_instr *prev, *next;
  // [user_count], one entry per use (an instruction that uses this twice is there twice); any order
  hsc_instr **users;
  int32_t user_count, user_capacity;
  // edit.c's own, so that a use is found without looking for it. [user_count] which operand of the
  // user each one is; [operand_count] where this one stands among its operands' users, counted with
  // the `users_dropped` that once stood at their beginning.
  int32_t *use_operands, *use_places;
  int32_t users_dropped;
  int32_t control_count;
  // edges that name this one as predecessor: keeps it from being dead
  int32_t control_successor_count;
  hsc_instr **control_predecessors;  // [control_count]
  const hsc_metadata *metadata;      // NULL = none
  const char *sharding;              // raw text with its braces; NULL = none
  const char *frontend_attributes;   // raw text with its braces; NULL = none
  // raw text (JSON object or quoted string, as printed); NULL = none
  const char *backend_config;
  // unknown attributes, raw "key=value, key=value"; NULL = none. Never dropped.
  const char *extra_attributes;
  int32_t line, column;  // where it was in the text it came from; 0 = unknown
  int32_t index;         // scratch number for the pass or emitter that is running
  void *scratch;         // scratch pointer, likewise
};

struct hsc_computation {
  const char *name;  // without %
  uint32_t id;
  hsc_module *module;
  hsc_instr *first, *last;  // program order
  int32_t instr_count;
  hsc_instr **parameters;  // [parameter_count], by number
  int32_t parameter_count;
  hsc_instr *root;
  const char *execution_thread;  // NULL = main
  int32_t index;                 // scratch
  int32_t callers;               // see hsc_computation_callers
  void *scratch;
};

typedef struct hsc_alias {  // input_output_alias entry
  hsc_dims output_index;    // path in the result
  int64_t parameter;
  hsc_dims parameter_index;  // path in the parameter
  bool must_alias;
} hsc_alias;

// Where in the user's program instructions come from: the tables FileNames, FunctionNames,
// FileLocations and StackFrames of a module's text (StackFrameIndexProto). Numbers count from 1; 0
// = none.
typedef struct hsc_file_location {
  int32_t file_name, function_name, line, end_line, column, end_column;
} hsc_file_location;
// as in the proto; the text shows parent + 1
typedef struct hsc_stack_frame {
  int32_t location, parent;
} hsc_stack_frame;
typedef struct hsc_stack_index {
  // [file_name_count]: number n is file_names[n - 1]; the same for the others
  const char *const *file_names;
  const char *const *function_names;
  const hsc_file_location *locations;
  const hsc_stack_frame *frames;  // hsc_metadata.stack_frame_id counts these
  int32_t file_name_count, function_name_count, location_count, frame_count;
} hsc_stack_index;

struct hsc_module {
  hsc_arena *arena;
  const char *name;
  // [computation_count]: called ones before their callers; the entry is last after hsc_module_sort
  hsc_computation **computations;
  int32_t computation_count, computation_capacity;
  bool callers_counted;  // false: hsc_computation_callers counts anew
  hsc_computation *entry;
  uint32_t next_id;
  bool is_scheduled;
  const char *layout_text;   // entry_computation_layout as given, raw; NULL = none
  const hsc_alias *aliases;  // [alias_count] input_output_alias
  int32_t alias_count;
  // [donor_count] buffer_donor; only parameter and parameter_index are set
  const hsc_alias *donors;
  int32_t donor_count;
  int32_t num_partitions, replica_count;  // 1 when not given
  // header attributes that are kept as raw text: "frontend_attributes={...}, ..."; NULL = none
  const char *extra_attributes;
  const char *source_path;             // file it came from, for messages; NULL = none
  const hsc_stack_index *stack_index;  // NULL = none
  // instruction name -> hsc_instr, when names_counted is NULL; owned by the module
  hsc_map *names;
  hsc_map *computation_names;  // computation name -> hsc_computation; owned by the module
  // name without its number -> last number given; owned by the module
  hsc_map *name_counts;
  // while all names were made by counting: how many of each op and of each Arg_N; names is empty
  // then
  uint32_t *names_counted;
  // instructions that copies of bodies added, and how many may be added in all (0 = not asked yet)
  int64_t copied_count, copied_limit;
  // what passes that fuse say no to (passes/manager/fusion_log.c); NULL = it is not recorded
  struct hsc_fusion_log *fusion_log;
};

// Before `body` is copied in place of `caller` (inlining, a copy for each caller): calls in calls
// grow exponentially, so copies may add a million instructions and 64 times what the module had
// when it was first asked. RESOURCE_EXHAUSTED names the caller.
HSC_MUST_USE hsc_status *hsc_module_may_copy(hsc_module *module,
                                             const hsc_computation *body,
                                             const struct hsc_instr *caller);

HSC_MUST_USE hsc_status *hsc_module_create(const char *name, hsc_module **out_module);
void hsc_module_destroy(hsc_module *module);
HSC_MUST_USE hsc_status *hsc_module_clone(const hsc_module *module, hsc_module **out_module);
// Adds an empty computation; its name is made unique.
// NULL when out of memory
hsc_computation *hsc_module_add_computation(hsc_module *module, const char *name);
// Copies a computation within or across modules; instructions keep their names plus ".suffix"
// (suffix NULL: made unique by a number). deep: also what it calls, each called computation once.
// Not deep: the clone calls the same computations, so `to` must be its module.
HSC_MUST_USE hsc_status *hsc_computation_clone(hsc_module *to,
                                               const hsc_computation *computation,
                                               const char *suffix,
                                               bool deep,
                                               hsc_computation **out_clone);
// Puts computations in callee-before-caller order, drops unreachable ones. FAILED_PRECONDITION on
// recursion.
HSC_MUST_USE hsc_status *hsc_module_sort(hsc_module *module);
int64_t hsc_module_instr_count(const hsc_module *module);
hsc_computation *hsc_module_find(const hsc_module *module, const char *name);
// by its name without %; NULL when there is none
hsc_instr *hsc_module_find_instr(hsc_module *module, hsc_view name);
// Hash of meaning: structure, shapes, attributes, constants; not names, metadata, ids or the order
// of independent instructions' printing.
hsc_hash128 hsc_module_fingerprint(const hsc_module *module);
hsc_hash128 hsc_computation_fingerprint(const hsc_computation *computation);
// Of one instruction by itself: what it does with which shapes, and which of its operands are the
// same value; not what computes them.
hsc_hash128 hsc_instr_fingerprint(const hsc_instr *instr);

// Safe while the body removes the current instruction.
#define HSC_FOR_EACH_INSTR_IN(computation, instr) \
  for (hsc_instr *instr = (computation)->first, *instr##_next = instr ? instr->next : NULL; instr; \
       instr = instr##_next, instr##_next = instr ? instr->next : NULL)
#define HSC_FOR_EACH_COMPUTATION(module, computation) \
  for (int computation##_i = 0; computation##_i < (module)->computation_count; computation##_i++) \
    for (hsc_computation *computation = (module)->computations[computation##_i]; computation; \
         computation = NULL)

// ---- building and editing -----------------------------------------------------------------------

// Appends instructions to one computation, with inferred shapes. Errors are sticky: after the first
// failure calls return a harmless dummy of the right kind, and hsc_builder_finish returns the
// status.
typedef struct hsc_builder {
  hsc_module *module;
  hsc_computation *computation;
  hsc_instr *before;             // insert before this one; NULL = at the end
  hsc_status *status;            // first failure, owned until finish
  const hsc_metadata *metadata;  // put on every instruction that is built; NULL = none
} hsc_builder;
// a new computation
void hsc_builder_init(hsc_builder *builder, hsc_module *module, const char *computation_name);
// edit an existing one
void hsc_builder_at(hsc_builder *builder, hsc_computation *computation, hsc_instr *before);
// Sets the root (NULL keeps the one that is there) and gives the first error that there was; it may
// be called again after more building.
HSC_MUST_USE hsc_status *hsc_builder_finish(hsc_builder *builder,
                                            hsc_instr *root,
                                            hsc_computation **out_computation);

// The general ones: nothing is inferred or checked but the operands; the caller sets attributes
// through instr->attr. Not for parameters.
hsc_instr *hsc_build(
    hsc_builder *b, hsc_op op, hsc_shape shape, int operand_count, hsc_instr *const *operands);
hsc_instr *hsc_build_calls(hsc_builder *b,
                           hsc_op op,
                           hsc_shape shape,
                           int operand_count,
                           hsc_instr *const *operands,
                           int called_count,
                           hsc_computation *const *called);
// Any op but a parameter, with its attributes (copied; NULL = all zero), shape inferred. Of `shape`
// counts what inference cannot know: the whole of it for rows whose rule is `given`, the output's
// dimensions of a broadcast, a preferred element type of dot and convolution; else {0}.
hsc_instr *hsc_build_op(hsc_builder *b,
                        hsc_op op,
                        hsc_shape shape,
                        const hsc_attr *attr,
                        int operand_count,
                        hsc_instr *const *operands,
                        int called_count,
                        hsc_computation *const *called);
hsc_instr *hsc_build_parameter(hsc_builder *b, int64_t number, hsc_shape shape, const char *name);
// lives in the module's arena
hsc_instr *hsc_build_constant(hsc_builder *b, hsc_literal *literal);
hsc_instr *hsc_build_scalar(hsc_builder *b, hsc_type type, double value);
hsc_instr *hsc_build_unary(hsc_builder *b, hsc_op op, hsc_instr *x);
hsc_instr *hsc_build_binary(hsc_builder *b, hsc_op op, hsc_instr *x, hsc_instr *y);
hsc_instr *hsc_build_compare(hsc_builder *b, hsc_direction direction, hsc_instr *x, hsc_instr *y);
hsc_instr *hsc_build_select(hsc_builder *b,
                            hsc_instr *pred,
                            hsc_instr *on_true,
                            hsc_instr *on_false);
hsc_instr *hsc_build_convert(hsc_builder *b, hsc_type type, hsc_instr *x);
// of shape: the dimensions
hsc_instr *hsc_build_broadcast(hsc_builder *b, hsc_instr *x, hsc_shape shape, hsc_dims dims);
hsc_instr *hsc_build_reshape(hsc_builder *b, hsc_instr *x, int rank, const int64_t *dims);
hsc_instr *hsc_build_transpose(hsc_builder *b, hsc_instr *x, hsc_dims permutation);
hsc_instr *hsc_build_slice(
    hsc_builder *b, hsc_instr *x, hsc_dims start, hsc_dims limit, hsc_dims stride);
hsc_instr *hsc_build_dynamic_slice(
    hsc_builder *b, hsc_instr *x, int index_count, hsc_instr *const *indices, hsc_dims sizes);
hsc_instr *hsc_build_dynamic_update_slice(
    hsc_builder *b, hsc_instr *x, hsc_instr *update, int index_count, hsc_instr *const *indices);
hsc_instr *hsc_build_concatenate(hsc_builder *b,
                                 int count,
                                 hsc_instr *const *operands,
                                 int64_t dimension);
hsc_instr *hsc_build_iota(hsc_builder *b, hsc_shape shape, int64_t dimension);
hsc_instr *hsc_build_reduce(
    hsc_builder *b, hsc_instr *x, hsc_instr *init, hsc_dims dims, hsc_computation *reducer);
hsc_instr *hsc_build_dot(hsc_builder *b, hsc_instr *lhs, hsc_instr *rhs, hsc_dot_dims dims);
hsc_instr *hsc_build_tuple(hsc_builder *b, int count, hsc_instr *const *operands);
hsc_instr *hsc_build_get_tuple_element(hsc_builder *b, hsc_instr *tuple, int64_t index);
hsc_instr *hsc_build_call(hsc_builder *b,
                          hsc_computation *computation,
                          int count,
                          hsc_instr *const *operands);
hsc_instr *hsc_build_while(hsc_builder *b,
                           hsc_computation *condition,
                           hsc_computation *body,
                           hsc_instr *init);
// A scalar computation "x op y" for reducers, shared per (module, op, type). NULL when the op does
// not take the type, or out of memory.
hsc_computation *hsc_module_scalar_reducer(hsc_module *module, hsc_op op, hsc_type type);
// Whether what a computation gives is one operation on its two parameters: *out_op of the first and
// the second, in any order where the operation commutes (HSC_TRAIT_COMMUTES: what XLA's collectives
// and our folded loops take).
bool hsc_is_simple_reducer(const hsc_computation *computation, hsc_op *out_op);
// Copies op, shape, attributes, called computations, metadata and raw texts of `instr`, with new
// operands and a new name. From another module: deep copies, of the called computations too.
hsc_instr *hsc_build_clone(hsc_builder *b, const hsc_instr *instr, hsc_instr *const *operands);
hsc_dims hsc_dims_copy(hsc_arena *arena, int count, const int64_t *v);
#define HSC_DIMS(arena, ...) \
  hsc_dims_copy((arena), (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), \
                (int64_t[]){__VA_ARGS__})

// keeps users right
void hsc_instr_set_operand(hsc_instr *instr, int operand, hsc_instr *value);
void hsc_instr_set_operands(hsc_instr *instr, int count, hsc_instr *const *values);
void hsc_instr_set_called(hsc_instr *instr, int count, hsc_computation *const *called);
// made unique with .N
HSC_MUST_USE hsc_status *hsc_instr_set_name(hsc_instr *instr, const char *name);
// all uses and the root; shapes must be equal
HSC_MUST_USE hsc_status *hsc_instr_replace_uses(hsc_instr *instr, hsc_instr *replacement);
// must have no users and not be the root; its name is free again
void hsc_instr_remove(hsc_instr *instr);
// once each; same computation
void hsc_instr_add_control_predecessor(hsc_instr *instr, hsc_instr *predecessor);
// its edges from predecessors
void hsc_instr_drop_control(hsc_instr *instr);
void hsc_instr_move_before(hsc_instr *instr, hsc_instr *before);
// no users, not root, no control edges, no effect, not a parameter
bool hsc_instr_is_dead(const hsc_instr *instr);
// itself or something that it calls
bool hsc_instr_has_effect(const hsc_instr *instr);
// How many instructions of the module call the computation; at least so many when computations have
// left the module since callers_counted was set. Counts all of them in one walk when that is false,
// and is kept up by the builder, copies and removals from then on.
int32_t hsc_computation_callers(const hsc_computation *callee);
// True when the result has the same bytes as the first operand (both dense and row-major), so that
// it needs no code and no memory of its own.
bool hsc_instr_is_alias(const hsc_instr *instr);
// A reduce-window of one operand with so few positions a window that each element of its result can
// be computed by itself: no window that grows with the result (cumulative folds), no element spread
// apart, at most HSC_SMALL_WINDOW positions.
enum { HSC_SMALL_WINDOW = 64 };
bool hsc_instr_is_small_window(const hsc_instr *instr);
// also through broadcast
bool hsc_instr_is_scalar_constant(const hsc_instr *instr, double *out_value);
// op, attributes, raw texts but metadata, called computations (by meaning)
bool hsc_attr_equal(const hsc_instr *a, const hsc_instr *b);
// Of the attributes and the called computations: equal for what hsc_attr_equal calls equal. Time is
// that of reading both once.
hsc_hash128 hsc_attr_hash(const hsc_instr *instr);

// The participants of the largest group of a collective: replica_groups "{{0,1},{2,3}}" has 2,
// "[2,4]<=[8]" has 4; "{}" and NULL mean everybody (the module's replicas times partitions).
int64_t hsc_collective_group_size(const hsc_instr *instr);

// ---- checking, printing -------------------------------------------------------------------------

// Infers the shape from operands, attributes and called computations. For rows whose rule is
// `given`, checks instr->shape and returns it.
// Errors: INVALID_ARGUMENT with the op, what differs, and both values.
HSC_MUST_USE hsc_status *hsc_infer_shape(hsc_arena *arena,
                                         const hsc_instr *instr,
                                         hsc_shape *out_shape);
// Everything: links, order, users, parameters, shapes against inference, called computations'
// signatures, no recursion. Errors point at the instruction (its text, line:column of the module's
// source, its computation): INVALID_ARGUMENT for what a program may get wrong, INTERNAL for broken
// links, FAILED_PRECONDITION for recursion. Calls may nest 512 deep, so that others may walk them
// recursively.
HSC_MUST_USE hsc_status *hsc_module_verify(const hsc_module *module);
HSC_MUST_USE hsc_status *hsc_instr_verify(const hsc_instr *instr);

typedef struct hsc_print_options {
  bool no_metadata;
  bool no_layouts;
  bool elide_large_constants;  // more than 10 elements print as {...}
  bool no_backend_config;
  bool operand_shapes;  // XLA's older style, "add(f32[4]{0} %x, ...)"
  bool no_percent;      // names without %
} hsc_print_options;
// As XLA prints modules; parses back to the same module (unless constants are elided). options NULL
// = all false.
void hsc_module_print(const hsc_module *module, const hsc_print_options *options, hsc_bytes *out);
void hsc_computation_print(const hsc_computation *computation,
                           const hsc_print_options *options,
                           hsc_bytes *out);
void hsc_instr_print(const hsc_instr *instr, const hsc_print_options *options, hsc_bytes *out);

// ---- reference evaluator ------------------------------------------------------------------------

// Runs the entry computation. Slow, obvious, complete: the oracle for everything else.
// arguments[i] has the shape of parameter i. The result lives in `arena`.
// Errors: UNIMPLEMENTED by op name, INVALID_ARGUMENT for argument shapes, RESOURCE_EXHAUSTED,
// FAILED_PRECONDITION for elided constants.
HSC_MUST_USE hsc_status *hsc_evaluate(const hsc_module *module,
                                      int argument_count,
                                      hsc_literal *const *arguments,
                                      hsc_arena *arena,
                                      hsc_literal **out_result);
// Counted as XLA's HloCostAnalysis counts (xla/service/hlo_cost_analysis.cc): a multiply-add is 2
// flops; transcendentals apart.
typedef struct hsc_cost {
  double flops, transcendentals;  // count
  double bytes_read, bytes_written;
  // runs of custom calls of which nothing is known: what they do is missing in the others
  double uncounted;
} hsc_cost;
// *sum becomes larger by `times` times the other.
void hsc_cost_add(hsc_cost *sum, const hsc_cost *part, double times);
// The same by operation; what belongs to a fusion stands under it, as hsc_instr_cost counts it.
typedef struct hsc_op_costs {
  struct hsc_op_cost {
    double runs;  // of instructions of this op
    hsc_cost cost;
    bool guessed;  // some of them are in a loop or branch of which the text does not say how often
  } of[HSC_OP_COUNT];
} hsc_op_costs;
// What an evaluation did: instructions as often as they ran, trips of while loops, and the cost of
// what ran as hsc_instr_cost counts it (a loop's body as often as it ran).
typedef struct hsc_work {
  int64_t instructions, trips;
  double operations;    // flops and transcendentals
  hsc_cost cost;        // of the same; a fusion reads and writes what crosses its border
  hsc_op_costs *by_op;  // added to; NULL = not asked for
} hsc_work;
// The same as hsc_evaluate; *io_work is added to, also when it fails half-way.
HSC_MUST_USE hsc_status *hsc_evaluate_counted(const hsc_module *module,
                                              int argument_count,
                                              hsc_literal *const *arguments,
                                              hsc_arena *arena,
                                              hsc_work *io_work,
                                              hsc_literal **out_result);
HSC_MUST_USE hsc_status *hsc_evaluate_computation(const hsc_computation *computation,
                                                  int argument_count,
                                                  hsc_literal *const *arguments,
                                                  hsc_arena *arena,
                                                  hsc_literal **out_result);
// One instruction with given operand values (constant folding, tests of single ops).
HSC_MUST_USE hsc_status *hsc_evaluate_instr(const hsc_instr *instr,
                                            hsc_literal *const *operands,
                                            hsc_arena *arena,
                                            hsc_literal **out_result);
// The same as a part of a program: rng and rng-get-and-update-state go on in random_state, which a
// program begins as hsc_random_state_start gives it.
HSC_MUST_USE hsc_status *hsc_evaluate_instr_drawing(const hsc_instr *instr,
                                                    hsc_literal *const *operands,
                                                    uint64_t random_state[2],
                                                    hsc_arena *arena,
                                                    hsc_literal **out_result);
void hsc_random_state_start(uint64_t random_state[2]);

// How two results differ, leaf by leaf. ULP distance in the output's type; NaN against NaN is
// equal.
typedef struct hsc_difference {
  int leaf;       // depth-first leaf with the largest difference
  int64_t index;  // element
  double max_abs;
  double max_rel;
  uint64_t max_ulp;
  // of the elements whose two values lie on the same side of zero: across zero a distance in steps
  // counts every number around it and means nothing
  uint64_t max_ulp_one_side;
  int64_t across_zero;     // differing elements that do not: other signs, or one of them zero
  int64_t nan_mismatches;  // elements that are NaN in only one of the two
  double left, right;      // the two values there
} hsc_difference;
HSC_MUST_USE hsc_status *hsc_literal_compare(const hsc_literal *left,
                                             const hsc_literal *right,
                                             hsc_difference *out_difference);

// ---- cost model ---------------------------------------------------------------------------------

// fusions, calls: what they call; while: one trip
void hsc_instr_cost(const hsc_instr *instr, hsc_cost *out_cost);
void hsc_module_cost(const hsc_module *module, hsc_cost *out_cost);  // of the entry computation
// The targets of the module's custom calls that are not counted, "a, b"; NULL = every one is.
const char *hsc_uncounted_targets(const hsc_module *module, hsc_arena *arena);
// What one run of a module costs, from its text alone: loops by their trips, conditionals by the
// branch that is taken, if constants decide them; else one trip, the most expensive branch.
typedef struct hsc_count {
  hsc_cost cost;
  int64_t guessed_loops;         // whose trips the text does not decide
  int64_t guessed_branches;      // likewise; of conditionals whose branches cost different
  const hsc_instr *first_guess;  // NULL = nothing is guessed
} hsc_count;
HSC_MUST_USE hsc_status *hsc_module_count(const hsc_module *module, hsc_count *out_count);
// The same, by operation as well; sums over operations are the count's own. With fusions open, what
// they compute stands under the operations in them, and what they read and write under fusion.
HSC_MUST_USE hsc_status *hsc_module_count_by_op(const hsc_module *module,
                                                bool open_fusions,
                                                hsc_count *out_count,
                                                hsc_op_costs *out_by_op);
// Of one instruction with all that it calls: a loop with its trips.
HSC_MUST_USE hsc_status *hsc_instr_count(const hsc_instr *instr, hsc_count *out_count);
// Trips of a while from its backend_config or from its form (a counter that is compared with a
// constant); -1 = not known before it runs.
int64_t hsc_loop_trip_count(const hsc_instr *loop);
