// cpu_internal.h - what the parts of the built-in device share: the device, the executable and its
// thunks.
//
// A thunk is one step of a compiled program: a kind, the slots that it reads and writes, and a
// payload that its kind understands. Thunks lie in one array in the order in which they run; a
// thunk with blocks (while, conditional) is followed by the thunks of its blocks, and `next` skips
// them.
// Adding a kind: a row in thunks.def, and a file in cpu/thunks with its functions.
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "cpu/core/cpu.h"
#include "cpu/core/isa.h"
#include "cpu/core/plan.h"
#include "cpu/core/pool.h"

// ---- thunks -------------------------------------------------------------------------------------

typedef enum hsc_cpu_thunk_kind {
#define THUNK(id, name, choose, module, doc) HSC_CPU_THUNK_##id,
#include "cpu/core/thunks.def"
#undef THUNK
  HSC_CPU_THUNK_COUNT
} hsc_cpu_thunk_kind;

typedef struct hsc_cpu_thunk {
  int32_t kind;
  int32_t next;         // index of the thunk after this one and its blocks
  int32_t slice_first;  // in executable->slices: inputs, outputs, then scratch if has_scratch
  int32_t input_count, output_count;
  int32_t has_scratch;
  int32_t instr;   // number of the instruction in the optimised module, -1 = none
  int32_t kernel;  // KERNEL and epilogues: number in executable->kernels, -1 = none
  int64_t data;    // offset of the payload in executable->data
  int64_t data_bytes;
} hsc_cpu_thunk;

// Generated code: does trips [begin, end) of its outermost loop; buffers are inputs, outputs,
// partial results. begin < end.
typedef void (*hsc_cpu_kernel_function)(void *const *buffers, int64_t begin, int64_t end);
// The epilogue of a product, on rows [row_begin, row_end) and columns [column_begin, column_end) of
// it; the product is after the inputs.
typedef void (*hsc_cpu_panel_function)(void *const *buffers,
                                       int64_t row_begin,
                                       int64_t row_end,
                                       int64_t column_begin,
                                       int64_t column_end);
typedef struct hsc_cpu_kernel {
  union {
    hsc_cpu_kernel_function function;
    hsc_cpu_panel_function panel;
    void *address;
  };
  hsc_cpu_kernel_function combine;  // folds partial results; NULL = none
  hsc_hash128 key;
} hsc_cpu_kernel;

// ---- the executable -----------------------------------------------------------------------------

enum { HSC_CPU_MAX_PHASES = 12 };

struct hsc_cpu_executable {
  _Atomic int reference_count;
  hsc_cpu_device *device;
  hsc_arena *arena;  // owns what follows unless said otherwise
  // optimised; destroyed with the executable; NULL in a loaded one until hsc_cpu_executable_module
  // asks
  hsc_module *module;
  hsc_view module_bytes;        // of a loaded one: what the module is read from
  pthread_mutex_t module_lock;  // of the reading
  const char *name;
  // [instr_count] by number, in module order; there when the module is
  const hsc_instr **instrs;
  int32_t instr_count;

  hsc_cpu_thunk *thunks;  // [thunk_count]
  int32_t thunk_count;
  hsc_cpu_slice *slices;  // [slice_count]
  int32_t slice_count;
  uint8_t *data;  // payloads
  int64_t data_bytes;
  uint8_t *constants;  // aligned; freed with the executable
  int64_t constant_bytes;
  int64_t temp_bytes;
  int64_t worker_scratch_bytes;  // per thread, multiple of 64; lies after the temporaries
  int32_t base_count;

  hsc_cpu_kernel *kernels;  // [kernel_count]
  int32_t kernel_count;
  // [unit_count] machine code that the kernels are in, one reference each
  struct hsc_cpu_unit **units;
  int32_t unit_count;
  int32_t optimization_level;  // of the kernels' code, 0..3
  int64_t compile_ns;          // of a loaded one: what compiling took

  int parameter_count, input_count, output_count;
  const hsc_shape *parameter_shapes;
  hsc_shape result_shape;
  const hsc_shape **input_shapes, **output_shapes;
  int32_t *output_alias;

  hsc_cpu_stats stats;
  hsc_cpu_phase phases[HSC_CPU_MAX_PHASES];
  hsc_cost cost;
  hsc_hash128 fingerprint;
};

// ---- running ------------------------------------------------------------------------------------

typedef struct hsc_cpu_frame {
  const hsc_cpu_executable *executable;
  hsc_cpu_pool *pool;
  uint8_t *const *bases;  // [base_count] temporary block, constants, inputs, outputs
  struct hsc_cpu_communicator *communicator;  // of a program of several devices; NULL = alone
  int rank;                                   // in it
  uint8_t *worker_scratch;                    // [thread count][executable->worker_scratch_bytes]
  struct hsc_cpu_recording *recording;        // NULL: nothing is recorded
  int32_t depth;                              // of the range that runs, while recording
  // [2] of rng and rng-get-and-update-state; a run begins it anew
  uint64_t *random_state;
} hsc_cpu_frame;

static inline const hsc_cpu_slice *hsc__cpu_slices(const hsc_cpu_frame *frame,
                                                   const hsc_cpu_thunk *thunk) {
  return frame->executable->slices + thunk->slice_first;
}
static inline void *hsc__cpu_at(const hsc_cpu_frame *frame, const hsc_cpu_slice *slice) {
  return frame->bases[slice->base] + slice->offset;
}
static inline void *hsc__cpu_input(const hsc_cpu_frame *frame, const hsc_cpu_thunk *thunk, int i) {
  return hsc__cpu_at(frame, hsc__cpu_slices(frame, thunk) + i);
}
static inline void *hsc__cpu_output(const hsc_cpu_frame *frame, const hsc_cpu_thunk *thunk, int o) {
  return hsc__cpu_at(frame, hsc__cpu_slices(frame, thunk) + thunk->input_count + o);
}
static inline void *hsc__cpu_scratch(const hsc_cpu_frame *frame, const hsc_cpu_thunk *thunk) {
  return hsc__cpu_at(frame,
                     hsc__cpu_slices(frame, thunk) + thunk->input_count + thunk->output_count);
}
static inline void *hsc__cpu_worker_scratch(const hsc_cpu_frame *frame, int worker) {
  return frame->worker_scratch + worker * frame->executable->worker_scratch_bytes;
}
static inline const void *hsc__cpu_data(const hsc_cpu_frame *frame, const hsc_cpu_thunk *thunk) {
  return frame->executable->data + thunk->data;
}

// Runs thunks[begin, end).
HSC_MUST_USE hsc_status *hsc__cpu_run_range(const hsc_cpu_frame *frame, int32_t begin, int32_t end);

// ---- the device ---------------------------------------------------------------------------------

enum { HSC_CPU_MAX_IDLE_BLOCKS = 16 };
typedef struct hsc_cpu_idle_block {
  void *memory;
  size_t bytes;
} hsc_cpu_idle_block;

struct hsc_cpu_device {
  _Atomic int reference_count;  // the creator's and one per executable
  hsc_cpu_pool *pool;
  hsc_cpu_isa isa;
  char description[128];
  pthread_mutex_t lock;  // of the idle blocks and of what the autotuner found
  hsc_cpu_idle_block idle[HSC_CPU_MAX_IDLE_BLOCKS];
  int idle_count;
  struct hsc_cpu_tuned *tuned;  // what the autotuner found; NULL = nothing yet
  // [extra_candidate_count] of tests: are measured for every product, and never run a program
  const struct hsc_tune_candidate *extra_candidates;
  int extra_candidate_count;
  // by optimisation level, made at the first kernel that needs it, under jit_lock
  struct hsc_cpu_jit *jits[4];
  pthread_mutex_t jit_lock;
};

// A block of at least `bytes` for one execution, 64-byte aligned; blocks go back to the device and
// are used again by any executable.
HSC_MUST_USE hsc_status *hsc__cpu_block_acquire(hsc_cpu_device *device,
                                                size_t bytes,
                                                hsc_cpu_idle_block *out_block);
void hsc__cpu_block_release(hsc_cpu_device *device, hsc_cpu_idle_block block);

void hsc__cpu_device_retain(hsc_cpu_device *device);
// The compiler of kernels, made at the first call.
HSC_MUST_USE hsc_status *hsc__cpu_device_jit(hsc_cpu_device *device,
                                             int optimization_level,
                                             struct hsc_cpu_jit **out_jit);

// ---- making executables -------------------------------------------------------------------------

// An empty one with its arena and a reference to the device; hsc_cpu_executable_release takes it
// apart at any stage.
HSC_MUST_USE hsc_status *hsc__cpu_executable_create(hsc_cpu_device *device,
                                                    hsc_cpu_executable **out_executable);
// Numbers the instructions of the module in order; thunks name them by number.
HSC_MUST_USE hsc_status *hsc__cpu_executable_number_instrs(hsc_cpu_executable *executable);
// Fills the statistics that follow from the interface, sizes and thunks.
void hsc__cpu_executable_count(hsc_cpu_executable *executable);
struct hsc_cpu_jit_kernel;
// Makes `found` the executable's kernel of that number; takes its reference to the unit. kernels
// and units have room for kernel_count.
void hsc__cpu_executable_add_kernel(hsc_cpu_executable *executable,
                                    int32_t number,
                                    const struct hsc_cpu_jit_kernel *found);

// ---- compiling ----------------------------------------------------------------------------------

typedef struct hsc_cpu_kernel_set hsc_cpu_kernel_set;
typedef struct hsc_cpu_compiler {
  hsc_cpu_device *device;
  hsc_cpu_executable *executable;
  hsc_cpu_plan *plan;
  hsc_arena *arena;  // dies with the compilation
  const hsc_cpu_compile_options *options;
  hsc_bytes thunks, slices, data;  // arrays under construction
  hsc_cpu_kernel_set *kernels;     // NULL = none chosen yet
  // computations that kernels are made from beside the program's own; NULL = none; dies with the
  // compilation
  hsc_module *helpers;
} hsc_cpu_compiler;

// How a step is done: in step->choice between choosing and emitting.
typedef struct hsc_cpu_choice {
  hsc_cpu_thunk_kind kind;
  const void *payload;  // copied into the executable's data
  size_t payload_bytes;
  int32_t kernel;  // -1 = none
} hsc_cpu_choice;

// Decides how each step is done; sets in_place, scratch_bytes and choice.
HSC_MUST_USE hsc_status *hsc__cpu_choose(hsc_cpu_compiler *compiler);
// Compiles the kernels that were chosen, or finds them in the device's store.
HSC_MUST_USE hsc_status *hsc__cpu_compile_kernels(hsc_cpu_compiler *compiler,
                                                  int64_t *codegen_ns,
                                                  int64_t *link_ns);
// Makes the thunks, slices and payloads of a placed plan.
HSC_MUST_USE hsc_status *hsc__cpu_lower(hsc_cpu_compiler *compiler);
// Says that a thunk wants this much memory per thread while it runs.
void hsc__cpu_need_worker_scratch(hsc_cpu_compiler *compiler, int64_t bytes);
