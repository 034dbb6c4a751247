// cpu.h - the built-in device: compiles HLO modules to machine code and runs them.
//
// A device owns a pool of threads, the JIT and a cache of kernels by structure; it is thread-safe.
// An executable is immutable after compilation and may be run from several threads at once, each
// with its own temporary buffer (the runtime keeps a free list of them). Running allocates nothing
// in the steady state. Buffers are dense row-major arrays, 64-byte aligned; a tuple argument or
// result is passed as its leaves in depth-first order.
#pragma once

#include "hlo/ir/hlo.h"

typedef struct hsc_cpu_device hsc_cpu_device;
typedef struct hsc_cpu_executable hsc_cpu_executable;

// of every buffer, bytes; inputs that are less aligned are refused with INVALID_ARGUMENT
enum { HSC_CPU_ALIGNMENT = 64 };

typedef struct hsc_cpu_device_options {
  // 0 = the cores that this process may use (affinity and cgroup), 1 = the caller's thread only
  int thread_count;
} hsc_cpu_device_options;
HSC_MUST_USE hsc_status *hsc_cpu_device_create(const hsc_cpu_device_options *options,
                                               hsc_cpu_device **out_device);
// executables keep what they need of it until they are gone
void hsc_cpu_device_destroy(hsc_cpu_device *device);
// "x86-64 avx2 fma, 2 threads"; borrowed
const char *hsc_cpu_device_description(const hsc_cpu_device *device);

// XLA's DebugOptions that have a meaning here, under XLA's names without the "xla_" prefix.
typedef struct hsc_cpu_compile_options {
  const char *disable_hlo_passes;      // comma list; NULL = none
  const char *enable_hlo_passes_only;  // comma list; NULL = all
  // comma list of passes that run on request only, to run too; NULL = none
  const char *enable_hlo_passes;
  // xla_fuel: rewrites allowed by pass, "algsimp=17,cse=0"; NULL = no limits
  const char *fuel_of_passes;
  // hloscope_algsimp: the algebraic simplifier's options, "name=value,..."
  // (passes/manager/algsimp_options.def); NULL = defaults
  const char *algsimp;
  const char *dump_to;  // directory; NULL = no dumps
  // POSIX extended regex; NULL = only before and after optimisations
  const char *dump_hlo_pass_re;
  bool dump_module_metadata;
  // hloscope_record_fusion: kernels carry why they were not fused with those that they read
  bool record_fusion;
  int backend_optimization_level;  // 0..3; default 2 (hsc_cpu_compile_options_default)
  int64_t pass_fuel;               // rewrites allowed in all; < 0 = no limit
  // of the program's own values: rematerialization; <= 0 = no limit
  int64_t memory_limit_bytes;
  // xla_cpu_strict_dot_conv_math: convolutions are summed as they are written: no Winograd, whoever
  // asks for it
  bool strict_dot_conv_math;
  // The autotuner (tuner.h), under the names that XLA's GPU compiler gives them: xla_gpu_...
  // 0 (default) nothing is measured: by rule, and the same every time; 1..4 as autotune.h says
  int autotune_level;
  // candidates that compute nothing, write before their output, and fail, beside the others: shows
  // that checks find them
  bool autotune_faults;
  // default true: a convolution that no algorithm works for is an error, not a warning
  bool strict_conv_algorithm_picker;
  // a red zone or result that is wrong is an error of the compilation
  bool crash_on_verification_failures;
  const char *algorithm_denylist_path;  // AlgorithmDenylist as text; NULL = none
  // files as text; NULL = none
  const char *load_autotune_results_from, *dump_autotune_results_to, *dump_autotune_logs_to;
  // where results stay; NULL = autotune/ in the cache directory
  const char *autotune_cache_dir;
} hsc_cpu_compile_options;
hsc_cpu_compile_options hsc_cpu_compile_options_default(void);
// Reads the flags that are known from text like XLA_FLAGS ("--xla_disable_hlo_passes=a,b
// --xla_dump_to=/d"); unknown ones are ignored here.
HSC_MUST_USE hsc_status *hsc_cpu_compile_options_parse_flags(const char *flags,
                                                             hsc_arena *arena,
                                                             hsc_cpu_compile_options *options);

// Where compile time went; names are fixed strings ("verify", "passes", "buffer_assignment",
// "emit", "codegen", "link").
typedef struct hsc_cpu_phase {
  const char *name;
  int64_t duration_ns;
} hsc_cpu_phase;

// Compiles a copy of `module`; the caller keeps the module. options NULL = default.
// Errors: INVALID_ARGUMENT (the verifier's), UNIMPLEMENTED "<op>: not built yet: ..." naming the op
// and instruction, RESOURCE_EXHAUSTED.
HSC_MUST_USE hsc_status *hsc_cpu_compile(hsc_cpu_device *device,
                                         const hsc_module *module,
                                         const hsc_cpu_compile_options *options,
                                         hsc_cpu_executable **out_executable);
void hsc_cpu_executable_retain(hsc_cpu_executable *executable);
void hsc_cpu_executable_release(hsc_cpu_executable *executable);

typedef struct hsc_cpu_stats {
  int64_t argument_bytes, output_bytes, alias_bytes, temp_bytes, constant_bytes, code_bytes,
      peak_bytes;
  int64_t instruction_count, fusion_count, kernel_count, thunk_count;  // of the optimised module
  const hsc_cpu_phase *phases;                                         // [phase_count]
  int32_t phase_count;
  bool from_cache;  // loaded, not compiled
} hsc_cpu_stats;
const char *hsc_cpu_executable_name(const hsc_cpu_executable *executable);
// leaves of all parameters
int hsc_cpu_executable_input_count(const hsc_cpu_executable *executable);
const hsc_shape *hsc_cpu_executable_input_shape(const hsc_cpu_executable *executable, int input);
// leaves of the result
int hsc_cpu_executable_output_count(const hsc_cpu_executable *executable);
const hsc_shape *hsc_cpu_executable_output_shape(const hsc_cpu_executable *executable, int output);
// input that the output must or may share, -1 = none
int hsc_cpu_executable_output_alias(const hsc_cpu_executable *executable, int output);
// Optimised, borrowed. A loaded executable reads it at the first call (thread-safe); NULL when
// there is no memory for it.
const hsc_module *hsc_cpu_executable_module(const hsc_cpu_executable *executable);
const hsc_cpu_stats *hsc_cpu_executable_stats(const hsc_cpu_executable *executable);
const hsc_cost *hsc_cpu_executable_cost(const hsc_cpu_executable *executable);
hsc_hash128 hsc_cpu_executable_fingerprint(const hsc_cpu_executable *executable);

// Runs to the end. inputs[i] and outputs[j] point to buffers of the leaf's hsc_shape_bytes
// (zero-sized leaves may be NULL). An output pointer may equal an input pointer only where
// hsc_cpu_executable_output_alias allows it.
// Errors: what the program itself can raise (a custom call's failure), RESOURCE_EXHAUSTED for
// temporaries.
HSC_MUST_USE hsc_status *hsc_cpu_execute(hsc_cpu_executable *executable,
                                         const void *const *inputs,
                                         void *const *outputs);
// The same as one of several devices: rank in [0, the communicator's count), each on a thread of
// its own (cpu/core/communicator.h). A rank that fails must end the communicator.
struct hsc_cpu_communicator;
HSC_MUST_USE hsc_status *hsc_cpu_execute_rank(hsc_cpu_executable *executable,
                                              struct hsc_cpu_communicator *communicator,
                                              int rank,
                                              const void *const *inputs,
                                              void *const *outputs);

// Machine code, constants, plan, optimised module: loads again without compiling, by the same build
// on the same kind of processor. Appends. Errors: UNIMPLEMENTED for modules that HloModuleProto has
// no fields for.
HSC_MUST_USE hsc_status *hsc_cpu_executable_serialize(hsc_cpu_executable *executable,
                                                      hsc_bytes *out_bytes);
// Errors: INVALID_ARGUMENT (something else), DATA_LOSS (cut off or damaged), FAILED_PRECONDITION
// (another build of hloscope, a processor with less, another version of the format); the bytes are
// never trusted for sizes (cpu/serial/serial_format.h). `bytes` may lie anywhere and are not kept.
HSC_MUST_USE hsc_status *hsc_cpu_executable_deserialize(hsc_cpu_device *device,
                                                        hsc_view bytes,
                                                        hsc_cpu_executable **out_executable);

// What serialized bytes say about themselves, checked but not loaded.
typedef struct hsc_cpu_serialized_info {
  char name[128];  // of the module; cut when longer
  char build[48];  // hsc_build_id of the writer
  hsc_hash128 fingerprint;
  int64_t compile_ns;  // what compiling took
  int64_t instruction_count, code_bytes, constant_bytes;
  // NULL = this build can load it here; else why not (FAILED_PRECONDITION); the caller frees it
  hsc_status *machine;
} hsc_cpu_serialized_info;
// Errors as deserialise's, but for another build or processor: that is out_info->machine.
HSC_MUST_USE hsc_status *hsc_cpu_serialized_info_read(hsc_view bytes,
                                                      hsc_cpu_serialized_info *out_info);
