// client.h - drives any PJRT plugin: open, initialise, create a client, compile, run, copy; each
// step a call of its own, so that each can be timed.
//
//   hsc_plugin *p; hsc_client *c; hsc_executable *e; hsc_buffer *x; hsc_execution *run; hsc_bytes
//   options = {0};
//   HSC_TRY(hsc_plugin_open("build/libhloscope_cpu_pjrt.so", &p));                         // load
//   HSC_TRY(hsc_plugin_initialize(p));                                                     //
//   initialise
//   HSC_TRY(hsc_client_create(p, NULL, 0, &c));                                            // open
//   the devices
//   hsc_compile_options o = hsc_compile_options_default();
//   HSC_TRY(hsc_compile_options_write(&o, &options));
//   HSC_TRY(hsc_client_compile(c, code, "hlo", hsc_bytes_view(&options), &e));             //
//   compile
//   HSC_TRY(hsc_buffer_from_host(c, 0, &(hsc_host_array){PJRT_Buffer_Type_F32, 1, (int64_t[]){4},
//   data}, HSC_HOST_COPY, NULL, &x));
//   HSC_TRY(hsc_execution_create(e, 1, &run));
//   hsc_execution_set_argument(run, 0, x);
//   HSC_TRY(hsc_execution_run(run));                                                       //
//   enqueue
//   HSC_TRY(hsc_execution_await(run));                                                     // wait
//   HSC_TRY(hsc_buffer_to_host(hsc_execution_output(run, 0), result, sizeof result));      // copy
//   back
//
// Ownership: who creates destroys. A plugin outlives its clients and topologies, a client its
// executables and buffers, an executable its executions.
//   Texts and arrays that are returned without an `out` bytes object belong to the object that they
//   were asked of.
// Errors: what the plugin says, with its code, its text and its name ("libtpu.so: ..."), noted with
// the function that said it. A function that the
//   plugin does not have is UNIMPLEMENTED "PJRT_X is not supported by plugin P (PJRT API 0.33)";
//   slots that the plugin's table does not cover are
//   never touched.
// Threads: one client may compile and create buffers on several threads at once; every other object
// belongs to one thread at a time. A plugin that aborts takes the process with it: foreign ones
// belong into worker processes.
#pragma once

#include "base/core/bytes.h"
#include "base/core/status.h"
#include "pjrt/abi.h"

typedef struct hsc_plugin hsc_plugin;
typedef struct hsc_client hsc_client;
typedef struct hsc_topology hsc_topology;
// a compiled program; loaded on devices, or only compiled (ahead of time)
typedef struct hsc_executable hsc_executable;
typedef struct hsc_buffer hsc_buffer;
typedef struct hsc_pjrt_event hsc_pjrt_event;
// one call with its argument and result arrays, made once, run many times
typedef struct hsc_execution hsc_execution;
typedef struct hsc_profiler hsc_profiler;

// ---- functions of the interface -----------------------------------------------------------------

typedef enum hsc_pjrt_function {
#define FN(function, need, minor, doc) HSC_FN_##function,
#include "pjrt/functions.def"
#undef FN
  HSC_PJRT_FUNCTION_COUNT
} hsc_pjrt_function;

typedef struct hsc_pjrt_function_info {
  const char *name;  // "PJRT_Client_Create"
  bool required;     // hosts need it
  int minor;         // first minor version
  size_t offset;     // in PJRT_Api
  const char *doc;
} hsc_pjrt_function_info;
const hsc_pjrt_function_info *hsc_pjrt_function_get(hsc_pjrt_function function);

// ---- named values -------------------------------------------------------------------------------

typedef struct hsc_named_value {
  const char *name;
  PJRT_NamedValue_Type type;
  const char *text;     // kString; NUL-terminated
  size_t text_size;     // kString may hold NULs
  int64_t integer;      // kInt64
  const int64_t *list;  // kInt64List
  size_t list_count;
  double real;   // kFloat
  bool boolean;  // kBool
} hsc_named_value;
// NULL when `name` is not among the values.
const hsc_named_value *hsc_named_value_find(const hsc_named_value *values,
                                            size_t count,
                                            const char *name);

// ---- plugin -------------------------------------------------------------------------------------

// Loads the library (it stays mapped after close: real plugins do not survive dlclose) and reads
// its table. Runs no code of the plugin but its constructors and GetPjrtApi.
// Errors: NOT_FOUND (no file), FAILED_PRECONDITION (the loader's text: a missing library, ...),
// INVALID_ARGUMENT (not a plugin, table truncated), UNIMPLEMENTED (API version: both versions are
// named).
HSC_MUST_USE hsc_status *hsc_plugin_open(const char *path, hsc_plugin **out_plugin);
// The same over a table that is already in this process (a statically linked plugin, a tracer).
// `name` is for messages.
HSC_MUST_USE hsc_status *hsc_plugin_open_table(const PJRT_Api *api,
                                               const char *name,
                                               hsc_plugin **out_plugin);
void hsc_plugin_close(hsc_plugin *plugin);
// PJRT_Plugin_Initialize. A failure here must stop the use of the plugin (libtpu aborts later when
// it is ignored).
HSC_MUST_USE hsc_status *hsc_plugin_initialize(hsc_plugin *plugin);

const char *hsc_plugin_name(const hsc_plugin *plugin);  // file name without directories
const char *hsc_plugin_path(const hsc_plugin *plugin);
// of the plugin's API; the major version is always 0
int hsc_plugin_minor(const hsc_plugin *plugin);
bool hsc_plugin_has(const hsc_plugin *plugin, hsc_pjrt_function function);
// PJRT_Plugin_Attributes, read once. Borrowed from the plugin.
HSC_MUST_USE hsc_status *hsc_plugin_attributes(hsc_plugin *plugin,
                                               const hsc_named_value **out_values,
                                               size_t *out_count);
// The chain of extensions, walked at open with a bound (a loop in it ends the walk). NULL when the
// plugin has none of the type.
const PJRT_Extension_Base *hsc_plugin_extension(const hsc_plugin *plugin, int type);
size_t hsc_plugin_extension_count(const hsc_plugin *plugin);
const PJRT_Extension_Base *hsc_plugin_extension_at(const hsc_plugin *plugin, size_t index);
// "Profiler"; "type 31" for unknown ones (static storage per thread)
const char *hsc_pjrt_extension_text(int type);

// ---- client and devices -------------------------------------------------------------------------

// PJRT_Client_Create. `options` may be NULL when option_count is 0.
HSC_MUST_USE hsc_status *hsc_client_create(hsc_plugin *plugin,
                                           const hsc_named_value *options,
                                           size_t option_count,
                                           hsc_client **out_client);
void hsc_client_destroy(hsc_client *client);
const char *hsc_client_platform_name(const hsc_client *client);
const char *hsc_client_platform_version(const hsc_client *client);
int hsc_client_device_count(const hsc_client *client);  // addressable devices

typedef struct hsc_device_info {
  int id;
  int process_index;
  int local_hardware_id;  // -1 unknown
  const char *kind;
  const char *text;        // short
  const char *debug_text;  // long
  const hsc_named_value *attributes;
  size_t attribute_count;
} hsc_device_info;
const hsc_device_info *hsc_client_device(const hsc_client *client, int index);

typedef struct hsc_memory_stats {
  int64_t bytes_in_use;
  int64_t peak_bytes_in_use;  // these and the following: -1 = the plugin does not say
  int64_t allocation_count;
  int64_t largest_allocation_bytes;
  int64_t limit_bytes;
} hsc_memory_stats;
HSC_MUST_USE hsc_status *hsc_client_memory_stats(hsc_client *client,
                                                 int device,
                                                 hsc_memory_stats *out_stats);

// ---- topology: devices without hardware ---------------------------------------------------------

// PJRT_TopologyDescription_Create. name: "v5e:2x2" for TPU; "" where options say it all.
HSC_MUST_USE hsc_status *hsc_topology_create(hsc_plugin *plugin,
                                             const char *name,
                                             const hsc_named_value *options,
                                             size_t option_count,
                                             hsc_topology **out_topology);
// The topology of a client; must be destroyed before the client.
HSC_MUST_USE hsc_status *hsc_topology_of_client(hsc_client *client, hsc_topology **out_topology);
void hsc_topology_destroy(hsc_topology *topology);
const char *hsc_topology_platform_name(const hsc_topology *topology);
const char *hsc_topology_platform_version(const hsc_topology *topology);
HSC_MUST_USE hsc_status *hsc_topology_attributes(hsc_topology *topology,
                                                 const hsc_named_value **out_values,
                                                 size_t *out_count);
HSC_MUST_USE hsc_status *hsc_topology_devices(hsc_topology *topology,
                                              const hsc_device_info **out_devices,
                                              size_t *out_count);
HSC_MUST_USE hsc_status *hsc_topology_serialize(hsc_topology *topology, hsc_bytes *out_bytes);

// ---- compile ------------------------------------------------------------------------------------

// One entry of env_option_overrides: an XLA flag for this compile only, under its full name
// ("xla_disable_hlo_passes"). Lists are comma-separated text; booleans must be given as
// HSC_OVERRIDE_BOOL (or text "True"/"False"), 32-bit integers as INT or text.
typedef enum hsc_override_type {
  HSC_OVERRIDE_TEXT,
  HSC_OVERRIDE_BOOL,
  HSC_OVERRIDE_INT,
  HSC_OVERRIDE_DOUBLE
} hsc_override_type;
typedef struct hsc_override {
  const char *name;
  hsc_override_type type;
  const char *text;
  bool boolean;
  int64_t integer;
  double real;
} hsc_override;

typedef struct hsc_compile_options {
  int replica_count;    // 1
  int partition_count;  // 1
  // send one explicitly: device 0 for replica 0; false lets the plugin choose
  bool device_assignment;
  // partition the program along its shardings, by Shardy where it speaks of Shardy's meshes
  bool use_spmd_partitioning, use_shardy_partitioner;
  // of each argument and result: 1 = the partitioner chooses how it is cut; NULL = of none
  const int64_t *free_parameters, *free_results;
  size_t free_parameter_count, free_result_count;
  bool parameter_is_tupled;       // false
  const hsc_override *overrides;  // [override_count]; a name given twice: the last wins
  size_t override_count;
} hsc_compile_options;
hsc_compile_options hsc_compile_options_default(void);
// CompileOptionsProto bytes, appended. Protos concatenate: appending overrides to a host's own
// options merges them.
// Errors: INVALID_ARGUMENT (counts < 1, override without name or text), RESOURCE_EXHAUSTED.
HSC_MUST_USE hsc_status *hsc_compile_options_write(const hsc_compile_options *options,
                                                   hsc_bytes *out_bytes);

// PJRT_Client_Compile: format is "hlo" (HloModuleProto; our own device also takes HLO text) or
// "mlir". Everything is borrowed.
HSC_MUST_USE hsc_status *hsc_client_compile(hsc_client *client,
                                            hsc_view code,
                                            const char *format,
                                            hsc_view compile_options,
                                            hsc_executable **out_executable);
// PJRT_Compile: ahead of time, not loaded.
HSC_MUST_USE hsc_status *hsc_topology_compile(hsc_topology *topology,
                                              hsc_view code,
                                              const char *format,
                                              hsc_view compile_options,
                                              hsc_executable **out_executable);
// PJRT_Executable_DeserializeAndLoad.
HSC_MUST_USE hsc_status *hsc_client_load(hsc_client *client,
                                         hsc_view serialized,
                                         hsc_view compile_options,
                                         hsc_executable **out_executable);
void hsc_executable_destroy(hsc_executable *executable);

// ---- what is known about a compiled program -----------------------------------------------------

typedef struct hsc_array_spec {
  PJRT_Buffer_Type type;
  int rank;
  const int64_t *dims;
} hsc_array_spec;

typedef struct hsc_compiled_memory {  // bytes; -1 = this plugin's version does not say
  int64_t code, arguments, outputs, aliases, temporaries;
  int64_t host_code, host_arguments, host_outputs, host_aliases, host_temporaries;
  int64_t peak, total;
} hsc_compiled_memory;

bool hsc_executable_is_loaded(const hsc_executable *executable);
const char *hsc_executable_name(const hsc_executable *executable);
size_t hsc_executable_output_count(const hsc_executable *executable);
// [output_count]
HSC_MUST_USE hsc_status *hsc_executable_outputs(hsc_executable *executable,
                                                const hsc_array_spec **out_specs);
// text or raw bytes
HSC_MUST_USE hsc_status *hsc_executable_fingerprint(hsc_executable *executable,
                                                    hsc_view *out_fingerprint);
// The program after the compiler's passes; *out_format (borrowed): "hlo", "hlo_with_config" or
// "mlir".
HSC_MUST_USE hsc_status *hsc_executable_optimized_program(hsc_executable *executable,
                                                          hsc_bytes *out_code,
                                                          const char **out_format);
HSC_MUST_USE hsc_status *hsc_executable_cost_analysis(hsc_executable *executable,
                                                      const hsc_named_value **out_values,
                                                      size_t *out_count);
HSC_MUST_USE hsc_status *hsc_executable_memory(hsc_executable *executable,
                                               hsc_compiled_memory *out_memory);
HSC_MUST_USE hsc_status *hsc_executable_code_bytes(hsc_executable *executable, int64_t *out_bytes);
HSC_MUST_USE hsc_status *hsc_executable_serialize(hsc_executable *executable, hsc_bytes *out_bytes);

// ---- events -------------------------------------------------------------------------------------

// owns the status; any thread
typedef void (*hsc_pjrt_event_callback)(void *user, hsc_status *status);
// also true when asking fails
bool hsc_pjrt_event_is_ready(hsc_pjrt_event *event);
// the error of the work, if any
HSC_MUST_USE hsc_status *hsc_pjrt_event_await(hsc_pjrt_event *event);
HSC_MUST_USE hsc_status *hsc_pjrt_event_on_ready(hsc_pjrt_event *event,
                                                 hsc_pjrt_event_callback callback,
                                                 void *user);
void hsc_pjrt_event_destroy(hsc_pjrt_event *event);

// ---- buffers ------------------------------------------------------------------------------------

typedef struct hsc_host_array {
  PJRT_Buffer_Type type;
  int rank;
  const int64_t *dims;
  const void *data;  // dense row-major; elements under a byte take one byte
} hsc_host_array;

typedef enum hsc_host_semantics {
  HSC_HOST_COPY = PJRT_HostBufferSemantics_kImmutableOnlyDuringCall,
  HSC_HOST_UNTIL_DONE = PJRT_HostBufferSemantics_kImmutableUntilTransferCompletes,
  HSC_HOST_ZERO_COPY = PJRT_HostBufferSemantics_kImmutableZeroCopy,
  HSC_HOST_ZERO_COPY_MUTABLE = PJRT_HostBufferSemantics_kMutableZeroCopy,
} hsc_host_semantics;

// of one element on the host; 0 for token and invalid
size_t hsc_pjrt_type_bytes(PJRT_Buffer_Type type);
const char *hsc_pjrt_type_text(PJRT_Buffer_Type type);  // "f32"; "invalid"

// Copies (or borrows, by semantics) to a device. out_done NULL: waits until the host memory may be
// reused (for ZERO_COPY only until the buffer is made).
HSC_MUST_USE hsc_status *hsc_buffer_from_host(hsc_client *client,
                                              int device,
                                              const hsc_host_array *array,
                                              hsc_host_semantics semantics,
                                              hsc_pjrt_event **out_done,
                                              hsc_buffer **out_buffer);
// needed for a row-major copy
HSC_MUST_USE hsc_status *hsc_buffer_host_bytes(hsc_buffer *buffer, size_t *out_bytes);
// Row-major copy to the host; waits for the contents and the copy. size_bytes must be at least
// hsc_buffer_host_bytes.
HSC_MUST_USE hsc_status *hsc_buffer_to_host(hsc_buffer *buffer, void *out_data, size_t size_bytes);
// The same without waiting: out_data must live until the event is ready.
HSC_MUST_USE hsc_status *hsc_buffer_start_to_host(hsc_buffer *buffer,
                                                  void *out_data,
                                                  size_t size_bytes,
                                                  hsc_pjrt_event **out_event);
// dims belong to the buffer
HSC_MUST_USE hsc_status *hsc_buffer_spec(hsc_buffer *buffer, hsc_array_spec *out_spec);
// until the contents are there
HSC_MUST_USE hsc_status *hsc_buffer_await(hsc_buffer *buffer);
HSC_MUST_USE hsc_status *hsc_buffer_device_bytes(hsc_buffer *buffer, size_t *out_bytes);
void hsc_buffer_destroy(hsc_buffer *buffer);

// ---- execution ----------------------------------------------------------------------------------
//
// Runs on the executable's first addressable device, or on its first device_count ones: every
// device has its own arguments and outputs, and a run is one call for all. All arrays are made
// here; running allocates nothing on our side and costs some tens of nanoseconds over the plugin's
// own time. Arguments are not donated unless allowed, so that a run can be repeated.

HSC_MUST_USE hsc_status *hsc_execution_create(hsc_executable *executable,
                                              size_t argument_count,
                                              hsc_execution **out_execution);
// device_count is the number of devices that the program was compiled for.
HSC_MUST_USE hsc_status *hsc_execution_create_on(hsc_executable *executable,
                                                 size_t device_count,
                                                 size_t argument_count,
                                                 hsc_execution **out_execution);
// with the outputs that were not taken
void hsc_execution_destroy(hsc_execution *execution);
// borrowed: must live until the run is over
void hsc_execution_set_argument(hsc_execution *execution, size_t index, hsc_buffer *buffer);
void hsc_execution_set_argument_on(hsc_execution *execution,
                                   size_t device,
                                   size_t index,
                                   hsc_buffer *buffer);
void hsc_execution_allow_donation(hsc_execution *execution, bool allow);
// false: asks for no completion event; await then waits for the first output instead (some plugins
// are faster so).
void hsc_execution_use_event(hsc_execution *execution, bool use);
// Enqueues one run. Outputs of the run before are destroyed. Errors: FAILED_PRECONDITION when an
// argument is not set, and the plugin's.
HSC_MUST_USE hsc_status *hsc_execution_run(hsc_execution *execution);
HSC_MUST_USE hsc_status *hsc_execution_await(hsc_execution *execution);
// Borrowed until the next run; NULL before the first one or when taken.
hsc_buffer *hsc_execution_output(hsc_execution *execution, size_t index);
hsc_buffer *hsc_execution_output_on(hsc_execution *execution, size_t device, size_t index);
HSC_MUST_USE hsc_status *hsc_execution_take_output(hsc_execution *execution,
                                                   size_t index,
                                                   hsc_buffer **out_buffer);
// Makes the output of the last run an argument of the next one (dependent runs), owned by the
// execution; on every device.
HSC_MUST_USE hsc_status *hsc_execution_feed(hsc_execution *execution,
                                            size_t output,
                                            size_t argument);

// ---- profiler extension -------------------------------------------------------------------------

// One session: create, start, (compile and run), stop, collect. `options`:
// tensorflow.ProfileOptions bytes; empty = host tracing on.
HSC_MUST_USE hsc_status *hsc_profiler_create(hsc_plugin *plugin,
                                             hsc_view options,
                                             hsc_profiler **out_profiler);
HSC_MUST_USE hsc_status *hsc_profiler_start(hsc_profiler *profiler);
HSC_MUST_USE hsc_status *hsc_profiler_stop(hsc_profiler *profiler);
// XSpace bytes, trailing NUL removed
HSC_MUST_USE hsc_status *hsc_profiler_collect(hsc_profiler *profiler, hsc_bytes *out_xspace);
void hsc_profiler_destroy(hsc_profiler *profiler);
