// emit_internal.h - what the files of the emitter share (see emit.h).
//
//   emit_core.c   symbols, loops and levels, addresses, loads and stores
//   emit_ops.c    element-wise operations on values; emit_complex.c: on complex ones;
//                 emit_math.c: exp, sine and the like as code instead of a call
//   emit_walk.c   the walk over fused instructions: from an index to a value
//   emit_loop.c   analysis, and kernels that store one value per element
//   emit_columns.c rows of few elements: a vector for each column
//   emit_reduce.c kernels that fold dimensions
//   emit_small*.c whole loops over small arrays
//
// Levels: code is emitted into the body of loop l at level l + 1, before the loops at level 0. A
// value knows the level where it was made and is good for all deeper ones. Lanes: in a vector loop
// a value that differs between lanes is a vector, one that does not stays a scalar and is spread
// out only when it meets a vector.
#pragma once

#include "cpu/emit/emit.h"
#include "cpu/emit/llvm_api.h"

typedef LLVMValueRef hsc_lv;
typedef struct hsc_emitter hsc_emitter;

enum {
  HSC_EMIT_MAX_SYMBOLS = 256,
  HSC_EMIT_MAX_LOOPS = 34,
  HSC_EMIT_MAX_LEVELS = HSC_EMIT_MAX_LOOPS + 1,
  HSC_EMIT_MAX_LANES = 256  // of one vector
};

typedef struct hsc_emit_value {
  hsc_lv v, im;  // im: imaginary part of complex values, else NULL
  int32_t level;
  bool vector;
} hsc_emit_value;

typedef enum hsc_emit_symbol_kind {
  HSC_SYMBOL_LOOP,
  HSC_SYMBOL_SCALAR,
  HSC_SYMBOL_LANES
} hsc_emit_symbol_kind;

typedef struct hsc_emit_symbol {
  hsc_emit_symbol_kind kind;
  int32_t loop;          // LOOP: number of the merged loop
  hsc_emit_value value;  // SCALAR: an i64; LANES: a vector of i64
  int32_t derived;       // 0 = no; 1 quotient, 2 remainder of `of` by `divisor`
  int64_t divisor;
  hsc_affine of;
} hsc_emit_symbol;

// one part of a dimension of the iteration space, before loops are merged
typedef struct hsc_emit_iv {
  int64_t size;
  int32_t group, dim;
} hsc_emit_iv;

typedef struct hsc_emit_loop {
  int64_t size;
  int32_t group;
  // symbols of the ivs that were merged into it: iv number = symbol number
  int32_t first_iv, iv_count;
  hsc_lv counter;  // i64; in a vector loop the index of lane 0
} hsc_emit_loop;

typedef struct hsc_emit_access {
  // input number, or input_count + output number; -1 = only an index that is computed
  int32_t buffer;
  hsc_affine linear;  // element
  bool conditional;   // under a condition
  int32_t element_bytes;
} hsc_emit_access;

typedef struct hsc_emit_memo {
  const hsc_instr *instr;
  const hsc_affine *index;  // [rank]
  hsc_lv mask;
  hsc_emit_value value;
  int32_t next;  // in its hash chain, -1 ends
} hsc_emit_memo;

typedef struct hsc_emit_scaled {  // cached symbol * factor
  hsc_lv symbol, product;
  int64_t factor;
  int32_t level;
} hsc_emit_scaled;

typedef struct hsc_emit_address {  // cached buffer + part of a sum
  hsc_lv base, offset, address;
  int32_t level;
} hsc_emit_address;

// What sine and cosine of one argument share, made at `level` (emit_math.c).
typedef struct hsc_emit_trig {
  hsc_lv argument, quadrant, sine, cosine;
  int level, lanes;
} hsc_emit_trig;

// Rows of `stride` elements side by side, as they lie in memory, from the first row's first element
// on: `stride` vectors (emit_columns.c).
enum { HSC_EMIT_MAX_COLUMNS = 8, HSC_EMIT_ROWS = 32 };
typedef struct hsc_emit_rows {
  hsc_lv buffer;
  hsc_affine linear;
  int64_t stride;
  LLVMTypeRef element;
  hsc_lv vectors[HSC_EMIT_MAX_COLUMNS];
  int32_t level;
} hsc_emit_rows;

enum { HSC_EMIT_MEMO_BUCKETS = 256, HSC_EMIT_CACHE = 128, HSC_EMIT_TRIGS = 8 };

struct hsc_emitter {
  const hsc_instr *instr;
  const hsc_computation *body;  // of a fusion, else NULL
  // of an output fusion: read from the buffer after the inputs; else NULL
  const hsc_instr *product;
  const hsc_cpu_isa *isa;
  hsc_arena *arena;               // scratch
  int input_count, output_count;  // buffers: the leaves, the product among the inputs
  int root_count;
  const hsc_instr *roots[HSC_KERNEL_MAX_BUFFERS];

  // the iteration space
  hsc_emit_iv ivs[HSC_EMIT_MAX_LOOPS];
  int iv_count;
  hsc_emit_loop loops[HSC_EMIT_MAX_LOOPS];
  int loop_count;
  hsc_emit_symbol symbols[HSC_EMIT_MAX_SYMBOLS];
  int64_t sizes[HSC_EMIT_MAX_SYMBOLS];
  int symbol_count;

  // Loops of few trips that are written out (emit_columns.c): its counter is a number for now, and
  // indices are made with that; -1 = none.
  int fixed_loop;
  int64_t fixed_trip;

  // analysis
  bool analysing;
  bool conditional;      // visiting under a condition
  int32_t split_symbol;  // wanted cut of an iv, -1 = none
  int64_t split_inner;
  hsc_emit_access *accesses;
  int32_t access_count, access_capacity;
  bool small_conditional;         // a conditional access to elements of 1 or 2 bytes
  int64_t simple_ops, heavy_ops;  // per element, for the estimate of cost
  int32_t widest_bytes;

  // code
  LLVMContextRef context;
  LLVMModuleRef module;
  LLVMBuilderRef builder;
  hsc_lv function;
  int lanes;                                  // of the innermost loop being emitted; 1 = scalar
  int level;                                  // of the innermost loop being emitted
  int32_t level_of_loop[HSC_EMIT_MAX_LOOPS];  // where the counter lives
  int vector_loop;  // merged loop whose counter runs over lanes, -1 = none
  LLVMBasicBlockRef tails[HSC_EMIT_MAX_LEVELS + 1];  // where code of each level goes
  hsc_lv buffers[2 * HSC_KERNEL_MAX_BUFFERS];
  hsc_emit_memo *memos;
  int32_t memo_count, memo_capacity;
  int32_t memo_heads[HSC_EMIT_MEMO_BUCKETS];
  hsc_emit_scaled scaled[HSC_EMIT_CACHE];
  int scaled_count;
  hsc_emit_address addresses[HSC_EMIT_CACHE];
  int address_count;
  hsc_emit_address splats[HSC_EMIT_CACHE];  // scalar (base) spread over lanes (address)
  int splat_count;
  hsc_emit_rows rows[HSC_EMIT_ROWS];
  int row_count;
  bool math_in_place;  // small loops: functions become code instead of calls (emit_math.c)
  hsc_emit_trig trigs[HSC_EMIT_TRIGS];
  int trig_next;
  LLVMTypeRef i1, i8, i16, i32, i64, f16, f32, f64, ptr, none;
};

// ---- emit_core.c --------------------------------------------------------------------------------

// of one lane in a register: i1, iN, float, double
LLVMTypeRef hsc__emit_type(hsc_emitter *e, hsc_type type);
// of one element in memory; of one part for complex
LLVMTypeRef hsc__emit_memory_type(hsc_emitter *e, hsc_type type);
LLVMTypeRef hsc__emit_lanes_of(hsc_emitter *e, LLVMTypeRef type, bool vector);
// code goes there from now on
void hsc__emit_at(hsc_emitter *e, int level);
hsc_lv hsc__emit_int(hsc_emitter *e, LLVMTypeRef type, int64_t value);
hsc_lv hsc__emit_real(hsc_emitter *e, LLVMTypeRef type, double value);
// A constant as a lane or as all lanes.
hsc_lv hsc__emit_int_like(hsc_emitter *e, LLVMTypeRef type, int64_t value, bool vector);
hsc_lv hsc__emit_real_like(hsc_emitter *e, LLVMTypeRef type, double value, bool vector);
hsc_emit_value hsc__emit_widen(hsc_emitter *e, hsc_emit_value value);  // as a vector
hsc_lv hsc__emit_intrinsic(
    hsc_emitter *e, const char *name, LLVMTypeRef overload, hsc_lv *arguments, int count);

int32_t hsc__emit_add_symbol(hsc_emitter *e,
                             hsc_emit_symbol_kind kind,
                             int64_t size,
                             hsc_emit_value value);
// index = index divided by divisor and the rest; makes symbols where it must.
HSC_MUST_USE hsc_status *hsc__emit_divide(hsc_emitter *e,
                                          const hsc_affine *a,
                                          int64_t divisor,
                                          hsc_affine *out_quotient,
                                          hsc_affine *out_remainder);
// The index as an integer of `type`, a vector when it differs between lanes.
hsc_emit_value hsc__emit_index(hsc_emitter *e, const hsc_affine *a, LLVMTypeRef type);
void hsc__emit_note(
    hsc_emitter *e, int32_t buffer, const hsc_affine *linear, bool conditional, int element_bytes);
// a value of this type is in a register
void hsc__emit_note_width(hsc_emitter *e, hsc_type type);
hsc_status *hsc__emit_linear(const hsc_shape *shape,
                             const hsc_affine *index,
                             hsc_affine *out_linear);

// elements: of the buffer, 0 = not known.
hsc_emit_value hsc__emit_load(hsc_emitter *e,
                              hsc_lv buffer,
                              hsc_type type,
                              int64_t elements,
                              const hsc_affine *linear,
                              hsc_lv mask);
void hsc__emit_store(
    hsc_emitter *e, hsc_lv buffer, hsc_type type, const hsc_affine *linear, hsc_emit_value value);

// A conditional branch is hardly ever taken to its first block.
void hsc__emit_mark_rare(hsc_emitter *e, hsc_lv branch);

// Loops. open: makes loop number `loop` current at level loop + 1, with the counter running from
// begin to end in steps; the phi's for carried values are made by the caller between open and
// close. close: ends it; code of the outer level goes on after it.
typedef struct hsc_emit_open_loop {
  LLVMBasicBlockRef from, head;
  hsc_lv counter, step, end;
  int level;  // outside
} hsc_emit_open_loop;
hsc_emit_open_loop hsc__emit_open(
    hsc_emitter *e, int level, int loop, hsc_lv begin, hsc_lv end, int64_t step);
// carried phi's get their values of the next trip.
void hsc__emit_close(
    hsc_emitter *e, hsc_emit_open_loop *open, hsc_lv *phis, hsc_lv *next, int count);
typedef struct hsc_emit_open_if {
  LLVMBasicBlockRef inner, join;
  hsc_lv condition;
  int level;  // outside
} hsc_emit_open_if;
hsc_emit_open_if hsc__emit_open_if(hsc_emitter *e, int level, hsc_lv condition);
void hsc__emit_close_if(hsc_emitter *e, const hsc_emit_open_if *open);
// drops vectors, when the number of lanes changes
void hsc__emit_forget_lanes(hsc_emitter *e);
// drops what was remembered at this level and deeper
void hsc__emit_forget(hsc_emitter *e, int level);

HSC_MUST_USE hsc_status *hsc__emit_begin_function(hsc_emitter *e,
                                                  const char *name,
                                                  int parameter_count);
void hsc__emit_end_function(hsc_emitter *e);

// ---- emit_ops.c ---------------------------------------------------------------------------------

// One element-wise operation on values; types are those of the instruction and its operands.
hsc_emit_value hsc__emit_elementwise(hsc_emitter *e,
                                     const hsc_instr *instr,
                                     const hsc_emit_value *operands);
bool hsc__emit_can_elementwise(const hsc_instr *instr);
bool hsc__emit_can_type(hsc_type type);
hsc_emit_value hsc__emit_literal(hsc_emitter *e, const hsc_literal *literal, int64_t index);
hsc_emit_value hsc__emit_from_memory(
    hsc_emitter *e, hsc_type type, hsc_lv raw, hsc_lv raw_im, int level, bool vector);
void hsc__emit_to_memory(
    hsc_emitter *e, hsc_type type, hsc_emit_value value, hsc_lv *out_raw, hsc_lv *out_raw_im);
hsc_emit_value hsc__emit_select(hsc_emitter *e,
                                hsc_emit_value condition,
                                hsc_emit_value on_true,
                                hsc_emit_value on_false);
// a float to a narrower type
hsc_emit_value hsc__emit_round(hsc_emitter *e, hsc_type type, hsc_emit_value value);
bool hsc__emit_is_heavy(hsc_op op);  // costs tens of simple operations

// An intrinsic of one operand.
hsc_lv hsc__emit_unary(hsc_emitter *e, const char *name, hsc_lv a);
// A function of vmath.def on lanes of f32 or f64.
hsc_lv hsc__emit_vmath(
    hsc_emitter *e, const char *name, LLVMTypeRef lane, hsc_lv *arguments, int count, bool vector);

// ---- emit_math.c --------------------------------------------------------------------------------

// exp, log, tanh, logistic, sine or cosine of lanes of f32 as code at `level`, where code goes; it
// may go on in another block. NULL: not this function or not here, so call it (hsc__emit_vmath).
hsc_lv hsc__emit_math_in_place(hsc_emitter *e, hsc_op op, hsc_lv x, int level, bool vector);

// ---- emit_complex.c -----------------------------------------------------------------------------

// Whether an operation with complex operands or results can be emitted.
bool hsc__emit_can_complex(const hsc_instr *instr);
// The operation on parts, as many as it has operands; operands are of one form.
void hsc__emit_complex_op(hsc_emitter *e,
                          const hsc_instr *instr,
                          const hsc_emit_value *operands,
                          hsc_emit_value *result);
hsc_lv hsc__emit_complex_abs(hsc_emitter *e, hsc_type from, hsc_emit_value z, bool vector);

// ---- emit_walk.c --------------------------------------------------------------------------------

// The value of `instr` at `index` [rank of its shape], under `mask` (NULL = none).
HSC_MUST_USE hsc_status *hsc__emit_visit(hsc_emitter *e,
                                         const hsc_instr *instr,
                                         const hsc_affine *index,
                                         hsc_lv mask,
                                         hsc_emit_value *out_value);
// A called computation of scalars, with the given arguments (one per parameter). `results` gets one
// value per leaf of the root.
HSC_MUST_USE hsc_status *hsc__emit_called(hsc_emitter *e,
                                          const hsc_computation *computation,
                                          const hsc_emit_value *arguments,
                                          hsc_emit_value *results);
bool hsc__emit_can_called(const hsc_computation *computation);
bool hsc__emit_can_walk(const hsc_instr *instr);
// ---- emit_dot.c ----
bool hsc__emit_can_dot(const hsc_instr *dot);
HSC_MUST_USE hsc_status *hsc__emit_dot(hsc_emitter *e,
                                       const hsc_instr *instr,
                                       const hsc_affine *index,
                                       hsc_lv mask,
                                       hsc_emit_value *out_value);

// ---- emit_columns.c -----------------------------------------------------------------------------

// How many trips of the innermost loop a kernel of loops writes out, each of them with vectors
// along the loop around it; 0 = none.
int hsc__emit_choose_columns(const hsc_emitter *e);
// Column `column` of rows of `stride` elements, one row a lane, of which the first begins at
// `address`, which `linear` leads to.
hsc_lv hsc__emit_load_column(hsc_emitter *e,
                             hsc_lv buffer,
                             hsc_lv address,
                             const hsc_affine *linear,
                             LLVMTypeRef element,
                             int64_t stride,
                             int64_t column,
                             int32_t level);
// Stores vectors, one a column, as rows of `count` elements from `address` on, as memory holds
// them.
void hsc__emit_store_columns(hsc_emitter *e,
                             LLVMTypeRef element,
                             hsc_lv address,
                             hsc_lv *columns,
                             int count,
                             unsigned align);
// Columns of an output, as hsc__emit_store stores one; linear leads to the first.
void hsc__emit_store_rows(hsc_emitter *e,
                          hsc_lv buffer,
                          hsc_type type,
                          const hsc_affine *linear,
                          const hsc_emit_value *values,
                          int count);

// ---- emit_analysis.c ----------------------------------------------------------------------------

enum { HSC_EMIT_MAX_PARTS = 8 };
// the iteration space: dimensions of a shape, each cut into parts where reshapes want it
typedef struct hsc_emit_space {
  int32_t rank;
  int64_t dims[HSC_MAX_RANK];
  // dimensions of different groups are never merged: kept and reduced ones, rows and columns of a
  // panel
  int32_t group[HSC_MAX_RANK];
  int32_t part_count[HSC_MAX_RANK];
  int64_t parts[HSC_MAX_RANK][HSC_EMIT_MAX_PARTS];
} hsc_emit_space;

typedef hsc_status *(*hsc_emit_body)(hsc_emitter *e, const hsc_emit_space *space);
// Walks `body` without code until no dimension needs another cut, then makes e->loops.
HSC_MUST_USE hsc_status *hsc__emit_analyse(hsc_emitter *e,
                                           hsc_emit_space *space,
                                           hsc_emit_body body);
// The index of dimension `dim` of the space.
hsc_affine hsc__emit_space_index(const hsc_emitter *e, const hsc_emit_space *space, int dim);
// for an innermost loop of that size
int hsc__emit_choose_lanes(const hsc_emitter *e, int64_t size);
// Estimated time of `elements` elements.
double hsc__emit_cost_ns(const hsc_emitter *e, int64_t elements, int lanes);
// Pointers of all buffers that are accessed, from the function's first parameter; `count` buffers.
void hsc__emit_load_buffers(hsc_emitter *e, int count);

// ---- emit_loop.c, emit_reduce.c -----------------------------------------------------------------

typedef struct hsc_emit_job {  // what analysis found, kept for emission
  hsc_emitter e;
  hsc_emit_space space;
  hsc_kernel_plan plan;
  int lanes;
  // Of short rows, written out: hsc__emit_choose_columns, hsc__reduce_choose_short_rows.
  int columns;
} hsc_emit_job;
HSC_MUST_USE hsc_status *hsc__emit_plan_loop(hsc_emit_job *job, uint64_t *in_place);
HSC_MUST_USE hsc_status *hsc__emit_loop(hsc_emit_job *job, const char *name);
HSC_MUST_USE hsc_status *hsc__emit_plan_panel(hsc_emit_job *job);
HSC_MUST_USE hsc_status *hsc__emit_panel(hsc_emit_job *job, const char *name);
HSC_MUST_USE hsc_status *hsc__emit_plan_reduce(hsc_emit_job *job);
HSC_MUST_USE hsc_status *hsc__emit_reduce(hsc_emit_job *job, const char *name);
// May this reduce be a root beside `first`: same operand dimensions, same reduced dimensions?
bool hsc__emit_can_reduce(const hsc_instr *reduce, const hsc_instr *first);

// ---- emit_small.c -------------------------------------------------------------------------------

// Of a while. Errors: UNIMPLEMENTED for one that is not small.
HSC_MUST_USE hsc_status *hsc__emit_plan_small(hsc_emit_job *job, uint64_t *in_place);
HSC_MUST_USE hsc_status *hsc__emit_small(hsc_emit_job *job, const char *name);
