// eval_internal.h - the reference evaluator inside: values, lanes, plans of scalar computations,
// and one function per op family.
//
//   value     what an instruction produced: an array (dense, row-major) or a tuple of values;
//             counted references, so that get-tuple-element,
//             reshape and while move no data, and an op may overwrite an operand that nobody else
//             will read.
//   lane      a run of up to HSC__LANES elements in the form they are computed in: int64 for
//             signed, uint64 for unsigned and pred, float for
//             f32 and everything narrower, double, and pairs of those for complex. Loading widens,
//             storing rounds.
//   plan      a scalar computation (a reducer, a comparator, a map body) compiled once to a list of
//             lane steps.
//
// Memory: values live on the heap and die with their last reference; schedules and plans live in
// the evaluation's arena.
// Threads: one evaluation belongs to one thread; the module is only read.
#pragma once

#include "hlo/ir/hlo_internal.h"

// ---- values -------------------------------------------------------------------------------------

typedef struct hsc__storage {
  int64_t refs;
  void *data;     // hsc_alloc'd, or borrowed from a literal
  bool borrowed;  // never written, never freed
} hsc__storage;

typedef struct hsc__value {
  int64_t refs;
  // arrays it points to belong to the module or the literal that it came from
  hsc_shape shape;
  unsigned char *data;           // arrays: hsc_shape_bytes(&shape) bytes; NULL when there are none
  hsc__storage *storage;         // arrays: what keeps data alive
  struct hsc__value **elements;  // tuples: [shape.element_count], one reference each
  // [shape.rank] run-time sizes where a dimension is dynamic and not at its bound; NULL = full
  int64_t *sizes;
} hsc__value;

// All return a value with one reference for the caller.
// not initialised
HSC_MUST_USE hsc_status *hsc__value_array(const hsc_shape *shape, hsc__value **out_value);
// deep for tuples
HSC_MUST_USE hsc_status *hsc__value_zeros(const hsc_shape *shape, hsc__value **out_value);
// same bytes, other shape
HSC_MUST_USE hsc_status *hsc__value_view(const hsc_shape *shape,
                                         hsc__value *of,
                                         hsc__value **out_value);
// retains the elements
HSC_MUST_USE hsc_status *hsc__value_tuple(const hsc_shape *shape,
                                          hsc__value *const *elements,
                                          hsc__value **out_value);
// borrows the literal's data
HSC_MUST_USE hsc_status *hsc__value_from_literal(const hsc_literal *literal,
                                                 hsc__value **out_value);
// copies
HSC_MUST_USE hsc_status *hsc__value_to_literal(const hsc__value *value,
                                               hsc_arena *arena,
                                               hsc_literal **out_literal);
hsc__value *hsc__value_retain(hsc__value *value);
// NULL is fine
void hsc__value_release(hsc__value *value);
// True when nobody else can see the bytes: the op may write over them.
bool hsc__value_is_ours(const hsc__value *value);
// An array for a result of `shape`: the operand's own bytes when they are ours and the element
// sizes agree, else new. For ops that read element i of the operand before they write element i of
// the result.
HSC_MUST_USE hsc_status *hsc__value_reuse(const hsc_shape *shape,
                                          hsc__value *operand,
                                          hsc__value **out_value);
// An array with the operand's contents that may be written: itself when it is ours, else a copy.
HSC_MUST_USE hsc_status *hsc__value_writable(hsc__value *operand,
                                             const hsc_shape *shape,
                                             hsc__value **out_value);

// ---- lanes --------------------------------------------------------------------------------------

enum { HSC__LANES = 512, HSC__LANE_BYTES = HSC__LANES * 16 };
typedef enum hsc__kind {
  HSC__I64,
  HSC__U64,
  HSC__F32,
  HSC__F64,
  HSC__C64,
  HSC__C128,
  HSC__NO_KIND
} hsc__kind;

hsc__kind hsc__kind_of(hsc_type type);
size_t hsc__kind_bytes(hsc__kind kind);
// True when storage and lane form are the same bytes, so that arrays can be read and written in
// place.
bool hsc__type_is_direct(hsc_type type);
void hsc__lane_load(hsc_type type, const void *src, int64_t count, void *lane);
// values must be representable: rounded or wrapped before
void hsc__lane_store(hsc_type type, const void *lane, int64_t count, void *dst);
// wraps integers, rounds floats to `type`; makes pred 0 or 1
void hsc__lane_round(hsc_type type, int64_t count, void *lane);
// XLA's convert: to pred is != 0, floats to integers truncate, saturate, NaN gives 0; complex to
// real drops the imaginary part.
void hsc__lane_convert(hsc_type from, const void *src, hsc_type to, int64_t count, void *dst);

// One step of a plan. Registers are lane buffers.
typedef struct hsc__step {
  hsc_op op;
  hsc_type type;           // element type of the operands (the second, where pred or bits lead)
  hsc_type out_type;       // element type of the result
  int32_t out, in[3];      // registers
  const hsc_instr *instr;  // attributes
} hsc__step;

// True when the op works on elements of these types lane by lane.
bool hsc__step_supported(const hsc_instr *instr, hsc_type operand_type);
void hsc__step_run(
    const hsc__step *step, int64_t count, void *out, const void *a, const void *b, const void *c);
// The families behind it; each covers one kind and returns through `out`.
void hsc__lane_int(const hsc__step *step, int64_t count, void *out, const void *a, const void *b);
void hsc__lane_f32(const hsc__step *step, int64_t count, void *out, const void *a, const void *b);
void hsc__lane_f64(const hsc__step *step, int64_t count, void *out, const void *a, const void *b);
void hsc__lane_complex(
    const hsc__step *step, int64_t count, void *out, const void *a, const void *b);

// ---- plans of scalar computations ---------------------------------------------------------------

typedef struct hsc__eval hsc__eval;

typedef struct hsc__plan {
  const hsc_computation *computation;
  // false: something in it is not lane by lane; it runs as a computation, one element at a time
  bool is_lanes;
  int32_t parameter_count;
  hsc_type *parameter_types;  // [parameter_count]; register i holds parameter i
  int32_t register_count;
  void **registers;  // [register_count]; parameters' are replaced by the caller's pointers
  void **own;        // [register_count]; the buffers that belong to the plan
  hsc__step *steps;  // [step_count]
  int32_t step_count;
  int32_t result_count;
  int32_t *results;        // [result_count] registers, leaves of the root
  hsc_type *result_types;  // [result_count]
  // the one op when the plan is "parameter 0 op parameter 1" and nothing else, else HSC_OP_COUNT
  hsc_op single_op;
  bool single_swapped;  // parameter 1 op parameter 0
} hsc__plan;

// Compiled once per evaluation and computation.
HSC_MUST_USE hsc_status *hsc__plan_get(hsc__eval *cx,
                                       const hsc_computation *computation,
                                       hsc__plan **out_plan);
// Runs on `count` <= HSC__LANES elements. arguments[i] are lanes of parameter i's type, results[j]
// lanes of result j's type (room for HSC__LANE_BYTES each; may be the same buffers as arguments).
HSC_MUST_USE hsc_status *hsc__plan_run(hsc__eval *cx,
                                       hsc__plan *plan,
                                       int64_t count,
                                       const void *const *arguments,
                                       void *const *results);

// ---- evaluation ---------------------------------------------------------------------------------

struct hsc__eval {
  hsc_arena *arena;          // schedules and plans
  hsc_map *schedules;        // by computation
  hsc_map *plans;            // by computation
  uint64_t random_state[2];  // of rng and rng-get-and-update-state
  int32_t depth;             // nested hsc__eval_run
  hsc_work *work;            // what is done is added to it; NULL = nobody asks
  int32_t fusion_depth;      // inside of a fusion, which is counted as a whole
  hsc__ptr_map costs;        // of instructions that were counted: hsc_cost, each on the heap
};
enum { HSC__MAX_CALL_DEPTH = 400 };

// Runs a computation. Takes one reference of each argument, also on failure, and clears the
// entries.
HSC_MUST_USE hsc_status *hsc__eval_run(hsc__eval *cx,
                                       const hsc_computation *computation,
                                       int argument_count,
                                       hsc__value **arguments,
                                       hsc__value **out_value);

// Every op: operands are borrowed; one that hsc__value_is_ours may be overwritten; one that has a
// single reference may be taken, setting its entry to NULL. *out_value gets one reference.
typedef hsc_status *(*hsc__eval_fn)(hsc__eval *cx,
                                    const hsc_instr *instr,
                                    hsc__value **operands,
                                    hsc__value **out_value);
#define HSC__EVAL(name) \
  HSC_MUST_USE hsc_status *hsc__eval_##name(hsc__eval *cx, const hsc_instr *instr, \
                                            hsc__value **operands, hsc__value **out_value)
// eval_elementwise.c
HSC__EVAL(elementwise);
HSC__EVAL(select);
HSC__EVAL(clamp);
HSC__EVAL(iota);
HSC__EVAL(constant);
// eval_shape.c
HSC__EVAL(same_bytes);
HSC__EVAL(bitcast);
HSC__EVAL(bitcast_convert);
HSC__EVAL(broadcast);
HSC__EVAL(transpose);
HSC__EVAL(slice);
HSC__EVAL(reverse);
HSC__EVAL(pad);
HSC__EVAL(concatenate);
HSC__EVAL(dynamic_slice);
HSC__EVAL(dynamic_update_slice);
// eval_dynamic.c
HSC__EVAL(get_dimension_size);
HSC__EVAL(set_dimension_size);
HSC__EVAL(dynamic_reshape);
// Runs `function` on operands of which at least one has run-time sizes, or refuses.
HSC_MUST_USE hsc_status *hsc__eval_sized(hsc__eval *cx,
                                         const hsc_instr *instr,
                                         hsc__eval_fn function,
                                         hsc__value **operands,
                                         hsc__value **out_value);
// eval_index.c
HSC__EVAL(gather);
HSC__EVAL(scatter);
// eval_reduce.c
HSC__EVAL(reduce);
HSC__EVAL(map);
HSC__EVAL(scan);
// eval_window.c
HSC__EVAL(reduce_window);
HSC__EVAL(select_and_scatter);
// eval_sort.c
HSC__EVAL(sort);
HSC__EVAL(topk);
HSC__EVAL(approx_top_k);
// The k largest (or smallest) of each row of the last dimension, in order, ties by position;
// indices (s32) may be NULL.
HSC_MUST_USE hsc_status *hsc__top_k(
    const hsc__value *operand, int64_t k, bool largest, hsc__value *values, hsc__value *indices);
// eval_contract.c
HSC__EVAL(dot);
// eval_ragged.c
HSC__EVAL(ragged_dot);
HSC__EVAL(scaled_dot);
// eval_conv.c
HSC__EVAL(convolution);
// eval_norm.c
HSC__EVAL(batch_norm_inference);
HSC__EVAL(batch_norm_training);
HSC__EVAL(batch_norm_grad);
// eval_fft.c
HSC__EVAL(fft);
// eval_linalg.c
HSC__EVAL(cholesky);
HSC__EVAL(triangular_solve);
HSC__EVAL(qr);
HSC__EVAL(eigh);
HSC__EVAL(householder_product);
HSC__EVAL(tridiagonal_perturbed);
// eval_random.c
HSC__EVAL(rng);
HSC__EVAL(rng_bit_generator);
HSC__EVAL(rng_get_and_update_state);
// eval_control.c
HSC__EVAL(call);
HSC__EVAL(while);
HSC__EVAL(conditional);
HSC__EVAL(tuple);
HSC__EVAL(get_tuple_element);
HSC__EVAL(after_all);
HSC__EVAL(async_start);
HSC__EVAL(async_done);
HSC__EVAL(copy_start);
// eval_collective.c
HSC__EVAL(collective);
HSC__EVAL(collective_start);
HSC__EVAL(device_id);
// eval_custom.c
HSC__EVAL(custom_call);
// lapack.c: "lapack_sgesdd_ffi" and the like.
struct hsc_custom_call;
bool hsc__lapack_is_target(const char *target);
HSC_MUST_USE hsc_status *hsc__lapack_run(void *user, const struct hsc_custom_call *call);
// lapack_shapes.c: whether operands and results have the shapes that the routine of a row of
// lapack.def reads and writes; the first `batch_rank` dimensions are the batch.
bool hsc__lapack_shapes_fit(const struct hsc_custom_call *call,
                            int row,
                            hsc_type type,
                            int batch_rank);

// Inner loops that are worth a version for wider vectors, picked at load time. Never with fused
// multiply-add: results must not depend on the CPU.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define HSC__CLONES __attribute__((target_clones("avx2", "default")))
#else
#define HSC__CLONES
#endif

// ---- helpers ------------------------------------------------------------------------------------

// Row-major strides in elements.
void hsc__strides(const hsc_shape *shape, int64_t strides[HSC_MAX_RANK]);
// Copies dims[rank] elements of element_bytes each; strides in elements, may be zero or negative.
// Source and destination must not overlap.
void hsc__copy_strided(int rank,
                       const int64_t *dims,
                       size_t element_bytes,
                       unsigned char *dst,
                       const int64_t *dst_strides,
                       const unsigned char *src,
                       const int64_t *src_strides);
// Advances a row-major multi-index; false after the last one. rank 0 has one.
static inline bool hsc__next_index(int rank, const int64_t *dims, int64_t *index) {
  for (int i = rank - 1; i >= 0; i--) {
    if (++index[i] < dims[i])
      return true;
    index[i] = 0;
  }
  return false;
}
// An integer of any integral type or pred.
int64_t hsc__get_int(const hsc__value *value, int64_t index);
// A transposed dense copy into new heap bytes (hsc_free): output dimension i is shape dimension
// permutation[i].
HSC_MUST_USE hsc_status *hsc__transposed(const hsc__value *value,
                                         const int64_t *permutation,
                                         unsigned char **out_bytes);
// A whole array in lane form of `type`'s kind (hsc_free), converted from the value's type.
HSC_MUST_USE hsc_status *hsc__widened(
    hsc_type from, const void *data, int64_t count, hsc_type to, void **out_lanes);
// Rounds and stores a whole lane array.
void hsc__narrowed(hsc_type type, void *lanes, int64_t count, void *dst);

// out[m][n] += lhs[m][k] * rhs[k][n] on lanes, k ascending for every element; ld* are the distances
// between rows, in elements.
void hsc__matrix_product(hsc__kind kind,
                         int64_t m,
                         int64_t n,
                         int64_t k,
                         const void *lhs,
                         int64_t lda,
                         const void *rhs,
                         int64_t ldb,
                         void *restrict out,
                         int64_t ldc);
// The type that sums of products are kept in: f32 for narrower floats, 64 bits for integers.
hsc_type hsc__accumulate_type(hsc_type type);
