// tracer.c - handlers of the recorded PJRT calls, and the wrapped tables. What for is in tracer.h.
#include "pjrt/tracer.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <signal.h>
#include <unistd.h>

#include "base/base.h"
#include "hloscope/trace.h"

enum { NAME_SLOTS = 4096, MAX_DEVICES = 64 };

// Names, keys and tracks as numbers of the capture.
typedef struct names {
#define CALL(function, category, text) uint32_t function;
#include "pjrt/tracer_calls.def"
#undef CALL
  uint32_t plugin, format, program, program_bytes, options_bytes, executable, fingerprint, error, error_code, bytes, shape, type, arguments, devices, launch,
      run_id, run, device_bytes, live_buffers;
  uint32_t tracks[MAX_DEVICES];
} names;

typedef struct tracer {
  const PJRT_Api *real;
  PJRT_Api *table;            // the wrapped copy; at least as large as the real one
  void *seen;                 // the real table's bytes when it was wrapped
  GetPjrtApi_Fn *get_api;
  char path[512];
} tracer;

// Pointers of the plugin's objects -> numbers: executables to their names, buffers to their bytes. Open addressing, no removal but by value 0.
typedef struct pointer_map {
  _Atomic(uintptr_t) keys[NAME_SLOTS];
  _Atomic uint64_t values[NAME_SLOTS];
} pointer_map;

static tracer tracers[HSC_TRACER_INSTANCES];
static int tracer_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static hsc_recorder *recorder;
static const char *output_path;
static int64_t max_compiles;   // 0 = any number
static names known;
static pointer_map executable_names, buffer_bytes;
static _Atomic int64_t device_bytes, live_buffers, run_ids;

static uintptr_t slot_of(const void *pointer) { return (uintptr_t)pointer * 0x9E3779B97F4A7C15ull >> 40 & (NAME_SLOTS - 1); }

// Full tables drop the entry: a name or a size less in the capture, nothing else.
static void map_set(pointer_map *map, const void *pointer, uint64_t value) {
  uintptr_t slot = slot_of(pointer);
  for (int probe = 0; probe < 64; probe++, slot = (slot + 1) & (NAME_SLOTS - 1)) {
    uintptr_t key = atomic_load_explicit(&map->keys[slot], memory_order_acquire);
    if (key == (uintptr_t)pointer || ((key == 0 || atomic_load(&map->values[slot]) == 0) && atomic_compare_exchange_strong(&map->keys[slot], &key, (uintptr_t)pointer))) {
      atomic_store_explicit(&map->values[slot], value, memory_order_release);
      return;
    }
  }
}

static uint64_t map_take(pointer_map *map, const void *pointer, bool remove) {
  uintptr_t slot = slot_of(pointer);
  for (int probe = 0; probe < 64; probe++, slot = (slot + 1) & (NAME_SLOTS - 1)) {
    uintptr_t key = atomic_load_explicit(&map->keys[slot], memory_order_acquire);
    if (key == 0) return 0;
    if (key == (uintptr_t)pointer) return remove ? atomic_exchange(&map->values[slot], 0) : atomic_load_explicit(&map->values[slot], memory_order_acquire);
  }
  return 0;
}

static hsc_trace_attr attr_int(uint32_t key, int64_t value) { return (hsc_trace_attr){.key = key, .type = HSC_ATTR_INT, .value.i = value}; }
static hsc_trace_attr attr_string(uint32_t key, uint32_t string) { return (hsc_trace_attr){.key = key, .type = HSC_ATTR_STRING, .value.string = string}; }

static uint32_t intern_n(const char *text, size_t size) {
  char buffer[512];
  if (!text) return 0;
  if (size > sizeof buffer - 1) size = sizeof buffer - 1;
  memcpy(buffer, text, size);
  buffer[size] = 0;
  return hsc_recorder_intern(recorder, buffer);
}

// Ends a span, with the error's text and code when there is one; the error stays the caller's.
static PJRT_Error *end(const tracer *t, uint64_t span, PJRT_Error *error, hsc_trace_attr *attrs, int count) {
  if (span && error) {
    PJRT_Error_Message_Args message = {.struct_size = PJRT_Error_Message_Args_STRUCT_SIZE, .error = error};
    t->real->PJRT_Error_Message(&message);
    PJRT_Error_GetCode_Args code = {.struct_size = PJRT_Error_GetCode_Args_STRUCT_SIZE, .error = error};
    PJRT_Error *nested = t->real->PJRT_Error_GetCode(&code);
    if (nested) t->real->PJRT_Error_Destroy(&(PJRT_Error_Destroy_Args){.struct_size = PJRT_Error_Destroy_Args_STRUCT_SIZE, .error = nested});
    hsc_trace_attr failed[2] = {attr_string(known.error, intern_n(message.message, message.message_size)), attr_int(known.error_code, code.code)};
    hsc_span_end(recorder, span, failed, 2);
  } else {
    hsc_span_end(recorder, span, attrs, count);
  }
  return error;
}

static void drop_error(const tracer *t, PJRT_Error *error) {
  if (error) t->real->PJRT_Error_Destroy(&(PJRT_Error_Destroy_Args){.struct_size = PJRT_Error_Destroy_Args_STRUCT_SIZE, .error = error});
}

static bool has_slot(const tracer *t, size_t end_offset) { return t->real->struct_size >= end_offset; }
#define HAS(t, function) (has_slot((t), HSC_PJRT_SIZE_TO(PJRT_Api, function)) && (t)->real->function)

// ---- programs and executables ---------------------------------------------------------------------------------------------------

// Keeps the program's bytes in the capture, once per content, for the recompile ledger and for `hloscope run`.
static uint32_t keep_program(const PJRT_Program *program) {
  hsc_hash128 hash = hsc_hash128_of(program->code, program->code_size, 0);
  char hex[33], path[1024];
  hsc_hash128_hex(hash, hex);
  bool mlir = program->format_size == 4 && !memcmp(program->format, "mlir", 4);
  bool bytecode = mlir && program->code_size >= 4 && !memcmp(program->code, "ML\xefR", 4);
  char name[64];
  snprintf(name, sizeof name, "%s%s", hex, bytecode ? ".mlirbc" : mlir ? ".mlir" : ".hlo.pb");
  snprintf(path, sizeof path, "%s/programs", output_path);
  hsc_status *status = hsc_dir_make(path);
  snprintf(path, sizeof path, "%s/programs/%s", output_path, name);
  if (!status && !hsc_file_exists(path)) status = hsc_file_write_atomic(path, program->code, program->code_size);
  hsc_status_free(status);   // a full disk must not stop the traced program
  return hsc_recorder_intern(recorder, name);
}

static uint32_t executable_name(const tracer *t, PJRT_Executable *executable) {
  PJRT_Executable_Name_Args args = {.struct_size = PJRT_Executable_Name_Args_STRUCT_SIZE, .executable = executable};
  PJRT_Error *error = t->real->PJRT_Executable_Name(&args);
  if (error) return drop_error(t, error), 0;
  return intern_n(args.executable_name, args.executable_name_size);
}

static uint32_t loaded_name(const tracer *t, PJRT_LoadedExecutable *loaded) {
  PJRT_LoadedExecutable_GetExecutable_Args get = {.struct_size = PJRT_LoadedExecutable_GetExecutable_Args_STRUCT_SIZE, .loaded_executable = loaded};
  PJRT_Error *error = t->real->PJRT_LoadedExecutable_GetExecutable(&get);
  if (error) return drop_error(t, error), 0;
  uint32_t name = executable_name(t, get.executable);
  PJRT_Executable_Destroy_Args destroy = {.struct_size = PJRT_Executable_Destroy_Args_STRUCT_SIZE, .executable = get.executable};
  drop_error(t, t->real->PJRT_Executable_Destroy(&destroy));
  map_set(&executable_names, loaded, name);
  return name;
}

// More compilations than HLOSCOPE_TRACE_MAX_COMPILES allows: the program is told to end, with what was recorded.
static void count_compile(void) {
  static _Atomic int64_t compiles;
  if (!max_compiles || atomic_fetch_add(&compiles, 1) < max_compiles) return;
  char text[160];
  snprintf(text, sizeof text, "hloscope: compilation %lld, and %lld are allowed: the program ends here\n", (long long)max_compiles + 1, (long long)max_compiles);
  ssize_t written = write(STDERR_FILENO, text, strlen(text));
  (void)written;
  kill(getpid(), SIGTERM);
}

static uint64_t begin_compile(uint32_t call, const PJRT_Program *program, size_t options_bytes) {
  if (!hsc_recorder_wants(recorder, HSC_CATEGORY_COMPILE) || !program) return 0;
  hsc_trace_attr attrs[] = {attr_string(known.program, keep_program(program)), attr_string(known.format, intern_n(program->format, program->format_size)),
                            attr_int(known.program_bytes, (int64_t)program->code_size), attr_int(known.options_bytes, (int64_t)options_bytes)};
  uint64_t span = hsc_span_begin(recorder, HSC_CATEGORY_COMPILE, call, attrs, 4);
  count_compile();
  return span;
}

static PJRT_Error *trace_PJRT_Client_Compile(tracer *t, PJRT_Client_Compile_Args *args) {
  uint64_t span = begin_compile(known.PJRT_Client_Compile, args->program, args->compile_options_size);
  PJRT_Error *error = t->real->PJRT_Client_Compile(args);
  if (!span || error) return end(t, span, error, NULL, 0);
  uint64_t done = span;
  hsc_trace_attr attrs[] = {attr_string(known.executable, loaded_name(t, args->executable))};
  return end(t, done, NULL, attrs, 1);
}

static PJRT_Error *trace_PJRT_Compile(tracer *t, PJRT_Compile_Args *args) {
  uint64_t span = begin_compile(known.PJRT_Compile, args->program, args->compile_options_size);
  PJRT_Error *error = t->real->PJRT_Compile(args);
  if (!span || error) return end(t, span, error, NULL, 0);
  hsc_trace_attr attrs[] = {attr_string(known.executable, executable_name(t, args->executable))};
  return end(t, span, NULL, attrs, 1);
}

static PJRT_Error *trace_PJRT_Executable_DeserializeAndLoad(tracer *t, PJRT_Executable_DeserializeAndLoad_Args *args) {
  hsc_trace_attr size = attr_int(known.bytes, (int64_t)args->serialized_executable_size);
  uint64_t span = hsc_span_begin(recorder, HSC_CATEGORY_COMPILE, known.PJRT_Executable_DeserializeAndLoad, &size, 1);
  PJRT_Error *error = t->real->PJRT_Executable_DeserializeAndLoad(args);
  if (!span || error) return end(t, span, error, NULL, 0);
  hsc_trace_attr attrs[] = {attr_string(known.executable, loaded_name(t, args->loaded_executable))};
  return end(t, span, NULL, attrs, 1);
}

static PJRT_Error *trace_PJRT_LoadedExecutable_Destroy(tracer *t, PJRT_LoadedExecutable_Destroy_Args *args) {
  map_take(&executable_names, args->executable, true);
  return t->real->PJRT_LoadedExecutable_Destroy(args);
}

// ---- executions -----------------------------------------------------------------------------------------------------------------

// What is known about a run until the device says that it is done.
typedef struct running {
  const tracer *t;
  uint64_t begin_ticks;
  uint32_t name, track;
  int64_t run_id;
} running;

static void run_done(PJRT_Error *error, void *user) {
  running *run = user;
  hsc_trace_attr attrs[2] = {attr_string(known.executable, run->name), attr_int(known.run_id, run->run_id)};
  hsc_span_complete(recorder, HSC_CATEGORY_EXECUTE, known.run, run->track, run->begin_ticks, hsc_trace_ticks(), attrs, 2);
  drop_error(run->t, error);
  free(run);
}

static void add_buffer(const tracer *t, PJRT_Buffer *buffer) {
  if (!buffer || !HAS(t, PJRT_Buffer_OnDeviceSizeInBytes)) return;
  PJRT_Buffer_OnDeviceSizeInBytes_Args size = {.struct_size = PJRT_Buffer_OnDeviceSizeInBytes_Args_STRUCT_SIZE, .buffer = buffer};
  PJRT_Error *error = t->real->PJRT_Buffer_OnDeviceSizeInBytes(&size);
  if (error) {
    drop_error(t, error);
    return;
  }
  map_set(&buffer_bytes, buffer, size.on_device_size_in_bytes + 1);
  atomic_fetch_add_explicit(&live_buffers, 1, memory_order_relaxed);
  int64_t total = atomic_fetch_add_explicit(&device_bytes, (int64_t)size.on_device_size_in_bytes, memory_order_relaxed) + (int64_t)size.on_device_size_in_bytes;
  hsc_trace_counter(recorder, HSC_CATEGORY_MEMORY, known.device_bytes, (double)total);
}

static size_t output_count(const tracer *t, PJRT_LoadedExecutable *loaded) {
  static pointer_map counts;   // value: count + 1
  uint64_t value = map_take(&counts, loaded, false);
  if (value) return (size_t)value - 1;
  PJRT_LoadedExecutable_GetExecutable_Args get = {.struct_size = PJRT_LoadedExecutable_GetExecutable_Args_STRUCT_SIZE, .loaded_executable = loaded};
  PJRT_Error *error = t->real->PJRT_LoadedExecutable_GetExecutable(&get);
  if (error) return drop_error(t, error), 0;
  PJRT_Executable_NumOutputs_Args outputs = {.struct_size = PJRT_Executable_NumOutputs_Args_STRUCT_SIZE, .executable = get.executable};
  error = t->real->PJRT_Executable_NumOutputs(&outputs);
  PJRT_Executable_Destroy_Args destroy = {.struct_size = PJRT_Executable_Destroy_Args_STRUCT_SIZE, .executable = get.executable};
  drop_error(t, t->real->PJRT_Executable_Destroy(&destroy));
  if (error) return drop_error(t, error), 0;
  map_set(&counts, loaded, outputs.num_outputs + 1);
  return outputs.num_outputs;
}

static PJRT_Error *trace_PJRT_LoadedExecutable_Execute(tracer *t, PJRT_LoadedExecutable_Execute_Args *args) {
  if (!hsc_recorder_wants(recorder, HSC_CATEGORY_EXECUTE)) return t->real->PJRT_LoadedExecutable_Execute(args);
  hsc_tracer_profile_count();
  uint32_t name = (uint32_t)map_take(&executable_names, args->executable, false);
  if (!name) name = loaded_name(t, args->executable);
  int64_t run_id = atomic_fetch_add_explicit(&run_ids, 1, memory_order_relaxed) + 1;
  hsc_trace_attr attrs[] = {attr_string(known.executable, name), attr_int(known.run_id, run_id), attr_int(known.arguments, (int64_t)args->num_args),
                            attr_int(known.devices, (int64_t)args->num_devices)};
  // Completion events tell when the device was done. A caller that wants none still gives us one for the time of the call.
  PJRT_Event *own[MAX_DEVICES] = {0};
  bool borrowed = !args->device_complete_events && args->num_devices <= MAX_DEVICES;
  if (borrowed) args->device_complete_events = own;
  uint64_t span = hsc_span_begin(recorder, HSC_CATEGORY_EXECUTE, known.PJRT_LoadedExecutable_Execute, attrs, 4), begin_ticks = hsc_trace_ticks();
  PJRT_Error *error = t->real->PJRT_LoadedExecutable_Execute(args);
  for (size_t d = 0; !error && args->device_complete_events && d < args->num_devices && d < MAX_DEVICES; d++) {
    PJRT_Event *event = args->device_complete_events[d];
    running *run = event ? malloc(sizeof *run) : NULL;
    if (!run) continue;
    *run = (running){t, begin_ticks, name, known.tracks[d], run_id};
    PJRT_Event_OnReady_Args ready = {.struct_size = PJRT_Event_OnReady_Args_STRUCT_SIZE, .event = event, .callback = run_done, .user_arg = run};
    PJRT_Error *failed = t->real->PJRT_Event_OnReady(&ready);
    if (failed) free(run), drop_error(t, failed);
  }
  if (borrowed) {
    for (size_t d = 0; !error && d < args->num_devices; d++)
      if (own[d]) drop_error(t, t->real->PJRT_Event_Destroy(&(PJRT_Event_Destroy_Args){.struct_size = PJRT_Event_Destroy_Args_STRUCT_SIZE, .event = own[d]}));
    args->device_complete_events = NULL;
  }
  if (!error && hsc_recorder_wants(recorder, HSC_CATEGORY_MEMORY)) {
    size_t outputs = output_count(t, args->executable);
    for (size_t d = 0; d < args->num_devices; d++)
      for (size_t o = 0; o < outputs; o++) add_buffer(t, args->output_lists[d][o]);
  }
  return end(t, span, error, NULL, 0);
}

// ---- transfers, waits, memory ---------------------------------------------------------------------------------------------------

static PJRT_Error *trace_PJRT_Client_BufferFromHostBuffer(tracer *t, PJRT_Client_BufferFromHostBuffer_Args *args) {
  if (!hsc_recorder_wants(recorder, HSC_CATEGORY_TRANSFER)) return t->real->PJRT_Client_BufferFromHostBuffer(args);
  char shape[128];
  int length = 0;
  for (size_t i = 0; i < args->num_dims && length < (int)sizeof shape - 24; i++) length += snprintf(shape + length, sizeof shape - (size_t)length, i ? ",%lld" : "%lld", (long long)args->dims[i]);
  shape[length] = 0;
  hsc_trace_attr attrs[] = {attr_int(known.type, args->type), attr_string(known.shape, hsc_recorder_intern(recorder, shape))};
  uint64_t span = hsc_span_begin(recorder, HSC_CATEGORY_TRANSFER, known.PJRT_Client_BufferFromHostBuffer, attrs, 2);
  PJRT_Error *error = t->real->PJRT_Client_BufferFromHostBuffer(args);
  if (error) return end(t, span, error, NULL, 0);
  add_buffer(t, args->buffer);
  hsc_trace_attr size = attr_int(known.bytes, (int64_t)map_take(&buffer_bytes, args->buffer, false) - 1);
  return end(t, span, NULL, &size, size.value.i >= 0);
}

static PJRT_Error *trace_PJRT_Buffer_ToHostBuffer(tracer *t, PJRT_Buffer_ToHostBuffer_Args *args) {
  if (!args->dst) return t->real->PJRT_Buffer_ToHostBuffer(args);   // asks for the size only
  hsc_trace_attr size = attr_int(known.bytes, (int64_t)args->dst_size);
  uint64_t span = hsc_span_begin(recorder, HSC_CATEGORY_TRANSFER, known.PJRT_Buffer_ToHostBuffer, &size, 1);
  return end(t, span, t->real->PJRT_Buffer_ToHostBuffer(args), NULL, 0);
}

static PJRT_Error *trace_PJRT_Buffer_CopyToDevice(tracer *t, PJRT_Buffer_CopyToDevice_Args *args) {
  uint64_t span = hsc_span_begin(recorder, HSC_CATEGORY_TRANSFER, known.PJRT_Buffer_CopyToDevice, NULL, 0);
  PJRT_Error *error = t->real->PJRT_Buffer_CopyToDevice(args);
  if (!error && hsc_recorder_wants(recorder, HSC_CATEGORY_MEMORY)) add_buffer(t, args->dst_buffer);
  return end(t, span, error, NULL, 0);
}

static PJRT_Error *trace_PJRT_Event_Await(tracer *t, PJRT_Event_Await_Args *args) {
  uint64_t span = hsc_span_begin(recorder, HSC_CATEGORY_WAIT, known.PJRT_Event_Await, NULL, 0);
  return end(t, span, t->real->PJRT_Event_Await(args), NULL, 0);
}

static PJRT_Error *trace_PJRT_Buffer_Destroy(tracer *t, PJRT_Buffer_Destroy_Args *args) {
  uint64_t bytes = args->buffer ? map_take(&buffer_bytes, args->buffer, true) : 0;
  if (bytes) {
    atomic_fetch_sub_explicit(&live_buffers, 1, memory_order_relaxed);
    int64_t total = atomic_fetch_sub_explicit(&device_bytes, (int64_t)bytes - 1, memory_order_relaxed) - ((int64_t)bytes - 1);
    hsc_trace_counter(recorder, HSC_CATEGORY_MEMORY, known.device_bytes, (double)total);
  }
  return t->real->PJRT_Buffer_Destroy(args);
}

// ---- plugin and client ----------------------------------------------------------------------------------------------------------

static PJRT_Error *trace_PJRT_Plugin_Initialize(tracer *t, PJRT_Plugin_Initialize_Args *args) {
  hsc_trace_attr plugin = attr_string(known.plugin, hsc_recorder_intern(recorder, t->path));
  uint64_t span = hsc_span_begin(recorder, HSC_CATEGORY_RUNTIME, known.PJRT_Plugin_Initialize, &plugin, 1);
  return end(t, span, t->real->PJRT_Plugin_Initialize(args), NULL, 0);
}

static PJRT_Error *trace_PJRT_Client_Create(tracer *t, PJRT_Client_Create_Args *args) {
  hsc_trace_attr plugin = attr_string(known.plugin, hsc_recorder_intern(recorder, t->path));
  uint64_t span = hsc_span_begin(recorder, HSC_CATEGORY_RUNTIME, known.PJRT_Client_Create, &plugin, 1);
  return end(t, span, t->real->PJRT_Client_Create(args), NULL, 0);
}

static PJRT_Error *trace_PJRT_Client_Destroy(tracer *t, PJRT_Client_Destroy_Args *args) {
  uint64_t span = hsc_span_begin(recorder, HSC_CATEGORY_RUNTIME, known.PJRT_Client_Destroy, NULL, 0);
  return end(t, span, t->real->PJRT_Client_Destroy(args), NULL, 0);
}

// ---- wrapped tables -------------------------------------------------------------------------------------------------------------

// Every instance needs entry points of its own, because the calls carry no place for ours.
#define CALL(function, category, text)                                                                  \
  static PJRT_Error *entry0_##function(function##_Args *args) { return trace_##function(&tracers[0], args); } \
  static PJRT_Error *entry1_##function(function##_Args *args) { return trace_##function(&tracers[1], args); } \
  static PJRT_Error *entry2_##function(function##_Args *args) { return trace_##function(&tracers[2], args); } \
  static PJRT_Error *entry3_##function(function##_Args *args) { return trace_##function(&tracers[3], args); }
#include "pjrt/tracer_calls.def"
#undef CALL

static void replace_slots(PJRT_Api *table, int instance) {
#define CALL(function, category, text)                                                                                       \
  if (table->struct_size >= HSC_PJRT_SIZE_TO(PJRT_Api, function) && table->function) {                                        \
    static function##_Fn *const entries[HSC_TRACER_INSTANCES] = {entry0_##function, entry1_##function, entry2_##function, entry3_##function}; \
    table->function = entries[instance];                                                                                     \
  }
#include "pjrt/tracer_calls.def"
#undef CALL
}

static void complain(const char *what) {
  // The one line that a user sees when a trace cannot be made.
  static atomic_flag said = ATOMIC_FLAG_INIT;
  if (atomic_flag_test_and_set(&said)) return;
  static const char prefix[] = "hloscope: the program runs untraced: ";
  ssize_t written = write(STDERR_FILENO, prefix, sizeof prefix - 1);
  written += write(STDERR_FILENO, what, strlen(what));
  written += write(STDERR_FILENO, "\n", 1);
  (void)written;
}

static void name_everything(void) {
#define CALL(function, category, text) known.function = hsc_recorder_intern(recorder, text);
#include "pjrt/tracer_calls.def"
#undef CALL
  static const struct {
    uint32_t *number;
    const char *text;
  } keys[] = {{&known.plugin, "plugin"}, {&known.format, "format"}, {&known.program, "program"}, {&known.program_bytes, "program_bytes"},
              {&known.options_bytes, "options_bytes"}, {&known.executable, "executable"}, {&known.fingerprint, "fingerprint"}, {&known.error, "error"},
              {&known.error_code, "error_code"}, {&known.bytes, "bytes"}, {&known.shape, "shape"}, {&known.type, "type"}, {&known.arguments, "arguments"},
              {&known.devices, "devices"}, {&known.launch, "launch"}, {&known.run_id, "run_id"}, {&known.run, "run"}, {&known.device_bytes, "device bytes"},
              {&known.live_buffers, "live buffers"}};
  for (size_t i = 0; i < HSC_COUNT_OF(keys); i++) *keys[i].number = hsc_recorder_intern(recorder, keys[i].text);
  for (int d = 0; d < MAX_DEVICES; d++) {
    char track[32];
    snprintf(track, sizeof track, "device %d", d);
    known.tracks[d] = hsc_recorder_intern(recorder, track);
  }
}

// Under the lock.
static bool open_recorder(void) {
  static bool tried;
  if (recorder || tried) return recorder != NULL;   // the one that this process has
  tried = true;
  output_path = getenv("HLOSCOPE_OUTPUT_PATH");
  if (!output_path || !*output_path) return false;
  const char *limit = getenv("HLOSCOPE_TRACE_MAX_BYTES"), *compiles = getenv("HLOSCOPE_TRACE_MAX_COMPILES");
  max_compiles = compiles ? strtoll(compiles, NULL, 10) : 0;
  hsc_status *status = hsc_recorder_open(&(hsc_recorder_options){.path = output_path, .label = "pjrt tracer", .max_bytes = limit ? strtoull(limit, NULL, 10) : 0}, &recorder);
  if (status) {
    complain(hsc_status_message(status));
    hsc_status_free(status);
    return false;
  }
  name_everything();
  return true;
}

__attribute__((destructor)) static void close_recorder(void) {
  hsc_recorder_finish(recorder);   // executions may still be running on the plugin's threads
}

hsc_recorder *hsc_tracer_recorder(void) {
  pthread_mutex_lock(&lock);
  hsc_recorder *open = open_recorder() ? recorder : NULL;
  pthread_mutex_unlock(&lock);
  return open;
}

uint64_t hsc_tracer_compile_begin(const char *format, const void *code, size_t code_bytes) {
  PJRT_Program program = {.struct_size = PJRT_Program_STRUCT_SIZE, .code = (char *)(uintptr_t)code, .code_size = code_bytes, .format = format, .format_size = strlen(format)};
  return begin_compile(known.PJRT_Client_Compile, &program, 0);
}

void hsc_tracer_note_profile(const char *file, int64_t wall_ns) {
  hsc_trace_attr attrs[] = {attr_string(hsc_recorder_intern(recorder, "profile"), hsc_recorder_intern(recorder, file)), attr_int(hsc_recorder_intern(recorder, "wall_ns"), wall_ns)};
  hsc_trace_instant(recorder, HSC_CATEGORY_RUNTIME, hsc_recorder_intern(recorder, "profiler session"), attrs, 2);
}

static const PJRT_Api *wrap(tracer *t) {
  const PJRT_Api *real = t->get_api();
  if (t->table && t->real == real && t->table->struct_size == real->struct_size && !memcmp(t->seen, real, real->struct_size)) return t->table;
  if (!real || real->struct_size < offsetof(PJRT_Api, PJRT_Error_Destroy) + sizeof(void *)) return real;
  if (real->pjrt_api_version.major_version != PJRT_API_MAJOR || real->pjrt_api_version.minor_version < HSC_PJRT_MINOR_OLDEST) {
    complain("the plugin's PJRT version is outside of what the tracer knows");
    return real;
  }
  const tracer candidate = {.real = real};
  bool complete = HAS(&candidate, PJRT_Error_Destroy) && HAS(&candidate, PJRT_Error_Message) && HAS(&candidate, PJRT_Error_GetCode) && HAS(&candidate, PJRT_Executable_Name) &&
                  HAS(&candidate, PJRT_Executable_Destroy) && HAS(&candidate, PJRT_Executable_NumOutputs) && HAS(&candidate, PJRT_LoadedExecutable_GetExecutable) &&
                  HAS(&candidate, PJRT_Event_OnReady) && HAS(&candidate, PJRT_Event_Destroy);
  if (!complete) {
    complain("the plugin's table lacks functions that every plugin has");
    return real;
  }
  // A table that was reordered in one historic version is left alone as well.
  if (real->pjrt_api_version.minor_version == HSC_PJRT_MINOR_REORDERED || !open_recorder()) return real;
  PJRT_Api *table = malloc(real->struct_size > sizeof *table ? real->struct_size : sizeof *table);
  void *seen = malloc(real->struct_size);
  if (!table || !seen) return free(table), free(seen), real;
  memcpy(table, real, real->struct_size);
  memcpy(seen, real, real->struct_size);
  free(t->seen);
  t->seen = seen;
  t->real = real;   // a table that an earlier call gave stays: calls through it may be under way
  replace_slots(table, (int)(t - tracers));
  t->table = table;
  return table;
}

static tracer *find(GetPjrtApi_Fn *get_api, const char *path) {
  for (int i = 0; i < tracer_count; i++)
    if (tracers[i].get_api == get_api) return &tracers[i];
  if (tracer_count == HSC_TRACER_INSTANCES) return NULL;
  tracer *t = &tracers[tracer_count++];
  t->get_api = get_api;
  snprintf(t->path, sizeof t->path, "%s", path ? path : "");
  return t;
}

const PJRT_Api *hsc_tracer_wrap(GetPjrtApi_Fn *get_api, const char *path) {
  pthread_mutex_lock(&lock);
  tracer *t = find(get_api, path);
  const PJRT_Api *table = t ? hsc_tracer_profile(wrap(t), (int)(t - tracers)) : get_api();
  pthread_mutex_unlock(&lock);
  return table;
}

static const PJRT_Api *get_instance(int instance) {
  pthread_mutex_lock(&lock);
  const PJRT_Api *table = hsc_tracer_profile(wrap(&tracers[instance]), instance);
  pthread_mutex_unlock(&lock);
  return table;
}
static const PJRT_Api *get0(void) { return get_instance(0); }
static const PJRT_Api *get1(void) { return get_instance(1); }
static const PJRT_Api *get2(void) { return get_instance(2); }
static const PJRT_Api *get3(void) { return get_instance(3); }

GetPjrtApi_Fn *hsc_tracer_entry(GetPjrtApi_Fn *get_api, const char *path) {
  static GetPjrtApi_Fn *const entries[HSC_TRACER_INSTANCES] = {get0, get1, get2, get3};
  pthread_mutex_lock(&lock);
  tracer *t = find(get_api, path);
  pthread_mutex_unlock(&lock);
  return t ? entries[t - tracers] : NULL;
}
