// odd_faults.c - faults that need the right data, the right size or the right order of calls to
// show, one row a call that the mode changes; more modes of odd_plugin.c. Each is what somebody's
// plugin could well do: a vector loop that reads a whole line, a cache without counts, a copy that
// is put off, a list of which only the first is looked at.
//
// Read from the table `faults` on. What `hloscope conform` says of each is in
// tests/conform/test_odd_plugins.py.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "odd_rules.h"

enum { KNOWN_MAX = 4096, OUTPUTS_MAX = 64, LINE = 64, LARGE = 1 << 16, TAIL_LEAST = 1000 };

// Objects that a mode remembers, each with another pointer; NULL is a free place.
static struct known {
  const void *object, *other;
} known[KNOWN_MAX];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct known *find(const void *object) {
  for (int i = 0; object && i < KNOWN_MAX; i++)
    if (known[i].object == object)
      return &known[i];
  return NULL;
}

static void remember(const void *object, const void *other) {
  for (int i = 0; i < KNOWN_MAX; i++)
    if (!known[i].object || known[i].object == object) {
      known[i] = (struct known){object, other};
      return;
    }
}

static void forget(const void *object) {
  struct known *k = find(object);
  if (k)
    *k = (struct known){0};
}

static PJRT_Error *refuse(odd_call *real, hsc_pjrt_function f) {
  size_t short_size = sizeof short_size;
  return real(f, &short_size);
}

static void await(odd_call *real, PJRT_Event *event) {
  PJRT_Event_Await_Args wait = {.struct_size = sizeof wait, .event = event};
  PJRT_Error_Destroy_Args drop = {.struct_size = sizeof drop};
  if (event && (drop.error = real(HSC_FN_PJRT_Event_Await, &wait)))
    real(HSC_FN_PJRT_Error_Destroy, &drop);
}

static bool is_f32(odd_call *real, PJRT_Buffer *buffer) {
  PJRT_Buffer_ElementType_Args type = {.struct_size = sizeof type, .buffer = buffer};
  real(HSC_FN_PJRT_Buffer_ElementType, &type);
  return type.type == PJRT_Buffer_Type_F32;
}

// Where an array lies, once it is computed, and how large it is. Our plugin's device is the host.
static char *memory_of(odd_call *real, PJRT_Buffer *buffer, size_t *out_bytes) {
  PJRT_Buffer_ReadyEvent_Args ready = {.struct_size = sizeof ready, .buffer = buffer};
  PJRT_Buffer_UnsafePointer_Args at = {.struct_size = sizeof at, .buffer = buffer};
  PJRT_Buffer_OnDeviceSizeInBytes_Args size = {.struct_size = sizeof size, .buffer = buffer};
  PJRT_Event_Destroy_Args drop = {.struct_size = sizeof drop};
  if (real(HSC_FN_PJRT_Buffer_ReadyEvent, &ready))
    return NULL;
  await(real, drop.event = ready.event);
  real(HSC_FN_PJRT_Event_Destroy, &drop);
  if (real(HSC_FN_PJRT_Buffer_UnsafePointer, &at) ||
      real(HSC_FN_PJRT_Buffer_OnDeviceSizeInBytes, &size))
    return NULL;
  *out_bytes = size.on_device_size_in_bytes;
  return (char *)at.buffer_pointer;
}

// ---- the host's arrays --------------------------------------------------------------------------

// 0: too small for a normal number becomes zero. 1: every NaN becomes the same one.
static uint32_t changed_bits(uint32_t bits, int how) {
  uint32_t exponent = bits & 0x7f800000;
  uint32_t fraction = bits & 0x007fffff;
  if (how == 0 && !exponent)
    return bits & 0x80000000;
  return how == 1 && exponent == 0x7f800000 && fraction ? 0x7fc00000 : bits;
}

static PJRT_Error *upload_changed(odd_call *real, void *args, int how) {
  PJRT_Client_BufferFromHostBuffer_Args own = *(PJRT_Client_BufferFromHostBuffer_Args *)args;
  size_t count = 1;
  for (size_t i = 0; i < own.num_dims; i++)
    count *= (size_t)own.dims[i];
  if (own.type != PJRT_Buffer_Type_F32 || own.byte_strides || !count)
    return real(HSC_FN_PJRT_Client_BufferFromHostBuffer, args);
  uint32_t *copy = malloc(count * sizeof *copy);
  memcpy(copy, own.data, count * sizeof *copy);
  for (size_t i = 0; i < count; i++)
    copy[i] = changed_bits(copy[i], how);
  own.data = copy;
  own.host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableOnlyDuringCall;
  PJRT_Error *error = real(HSC_FN_PJRT_Client_BufferFromHostBuffer, &own);
  free(copy);
  ((PJRT_Client_BufferFromHostBuffer_Args *)args)->buffer = own.buffer;
  ((PJRT_Client_BufferFromHostBuffer_Args *)args)->done_with_host_buffer =
      own.done_with_host_buffer;
  return error;
}

static PJRT_Error *lose_denormals(odd_call *real, hsc_pjrt_function f, void *args) {
  return upload_changed(real, args, 0);
}

static PJRT_Error *quiet_nans(odd_call *real, hsc_pjrt_function f, void *args) {
  return upload_changed(real, args, 1);
}

static PJRT_Error *lose_signs(odd_call *real, hsc_pjrt_function f, void *args) {
  PJRT_Buffer_ToHostBuffer_Args *own = args;
  PJRT_Error *error = real(f, args);
  if (error || !own->dst || !is_f32(real, own->src))
    return error;
  await(real, own->event);
  for (size_t i = 0; i + sizeof(float) <= own->dst_size; i += sizeof(float)) {
    float value;
    memcpy(&value, (char *)own->dst + i, sizeof value);
    value = value == 0 ? 0 : value;
    memcpy((char *)own->dst + i, &value, sizeof value);
  }
  return NULL;
}

// Reads whole lines of 64 bytes.
static PJRT_Error *read_past(odd_call *real, hsc_pjrt_function f, void *args) {
  PJRT_Client_BufferFromHostBuffer_Args *own = args;
  PJRT_Error *error = real(f, args);
  size_t bytes = 0;
  if (error || own->byte_strides || !memory_of(real, own->buffer, &bytes) || !bytes)
    return error;
  uintptr_t end = ((uintptr_t)own->data + bytes + LINE - 1) / LINE * LINE;
  (void)*(const volatile char *)(end - 1);
  if (bytes % LINE)
    (void)*((const volatile char *)own->data + (bytes + LINE - 1) / LINE * LINE - 1);
  return NULL;
}

// Large arrays are not copied, whatever the host says of its memory.
static PJRT_Error *alias_large(odd_call *real, hsc_pjrt_function f, void *args) {
  PJRT_Client_BufferFromHostBuffer_Args *own = args;
  size_t count = 1;
  for (size_t i = 0; i < own->num_dims; i++)
    count *= (size_t)own->dims[i];
  PJRT_HostBufferSemantics asked = own->host_buffer_semantics;
  if (count >= LARGE && !own->byte_strides)
    own->host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableZeroCopy;
  PJRT_Error *error = real(f, args);
  own->host_buffer_semantics = asked;
  return error;
}

static PJRT_Error *strides_of_two(odd_call *real, hsc_pjrt_function f, void *args) {
  PJRT_Client_BufferFromHostBuffer_Args *own = args;
  const int64_t *strides = own->byte_strides;
  if (own->num_dims != 2)
    own->byte_strides = NULL;
  PJRT_Error *error = real(f, args);
  own->byte_strides = strides;
  return error;
}

// The array is read when its event is asked for: too late, where it is gone by then.
static PJRT_Error *put_off(odd_call *real, hsc_pjrt_function f, void *args) {
  PJRT_Buffer_ToHostBuffer_Args *own = args;
  PJRT_Error *error = real(f, args);
  if (!error && own->dst)
    remember(own->src, own->dst);
  return error;
}

static PJRT_Error *drop_read(odd_call *real, hsc_pjrt_function f, void *args) {
  struct known *k = find(((PJRT_Buffer_Destroy_Args *)args)->buffer);
  if (k && k->other)
    memset((void *)(uintptr_t)k->other, 0, sizeof(float));
  forget(((PJRT_Buffer_Destroy_Args *)args)->buffer);
  return real(f, args);
}

static PJRT_Error *read_in_time(odd_call *real, hsc_pjrt_function f, void *args) {
  memset(known, 0, sizeof known);
  return real(f, args);
}

// A piece goes where the last one ended.
static PJRT_Error *in_order(odd_call *real, hsc_pjrt_function f, void *args) {
  static const void *manager;
  static int64_t at;
  PJRT_AsyncHostToDeviceTransferManager_TransferData_Args *own = args;
  if (manager != own->transfer_manager || own->is_last_transfer * own->offset == 0)
    at = manager == own->transfer_manager ? at : 0;
  manager = own->transfer_manager;
  own->offset = at;
  at += own->transfer_size;
  return real(f, args);
}

// ---- errors and events --------------------------------------------------------------------------

typedef struct fine {
  odd_call *real;
  PJRT_Event_OnReadyCallback call;
  void *user;
} fine;

static void all_is_fine(PJRT_Error *error, void *user) {
  fine *all = user;
  PJRT_Error_Destroy_Args drop = {.struct_size = sizeof drop, .error = error};
  if (error)
    all->real(HSC_FN_PJRT_Error_Destroy, &drop);
  all->call(NULL, all->user);
  free(all);
}

static PJRT_Error *call_back_fine(odd_call *real, hsc_pjrt_function f, void *args) {
  PJRT_Event_OnReady_Args own = *(PJRT_Event_OnReady_Args *)args;
  fine *all = malloc(sizeof *all);
  *all = (fine){real, own.callback, own.user_arg};
  own.callback = all_is_fine;
  own.user_arg = all;
  return real(f, &own);
}

// The error of an event is moved out to the first who asks.
static PJRT_Error *give_once(odd_call *real, hsc_pjrt_function f, void *args) {
  PJRT_Event_Await_Args *own = args;
  PJRT_Error *error = real(f, args);
  PJRT_Error_Destroy_Args drop = {.struct_size = sizeof drop, .error = error};
  if (!error)
    return NULL;
  pthread_mutex_lock(&lock);
  bool is_given = find(own->event) != NULL;
  remember(own->event, own->event);
  pthread_mutex_unlock(&lock);
  if (is_given)
    real(HSC_FN_PJRT_Error_Destroy, &drop);
  return is_given ? NULL : error;
}

static PJRT_Error *forget_event(odd_call *real, hsc_pjrt_function f, void *args) {
  pthread_mutex_lock(&lock);
  forget(((PJRT_Event_Destroy_Args *)args)->event);
  pthread_mutex_unlock(&lock);
  return real(f, args);
}

static PJRT_Error *one_message(odd_call *real, hsc_pjrt_function f, void *args) {
  static char text[4096];
  PJRT_Error_Message_Args *own = args;
  PJRT_Error *error = real(f, args);
  if (own->message_size < sizeof text) {
    memcpy(text, own->message, own->message_size);
    text[own->message_size] = 0;
    own->message = text;
  }
  return error;
}

static PJRT_Error *note_error_buffer(odd_call *real, hsc_pjrt_function f, void *args) {
  PJRT_Error *error = real(f, args);
  if (!error)
    remember(((PJRT_Client_CreateErrorBuffer_Args *)args)->buffer, NULL);
  return error;
}

// Devices of clients, each with its client.
static PJRT_Error *note_client(odd_call *real, hsc_pjrt_function f, void *args) {
  PJRT_Error *error = real(f, args);
  PJRT_Client_AddressableDevices_Args devices = {
      .struct_size = sizeof devices, .client = ((PJRT_Client_Create_Args *)args)->client};
  if (error || real(HSC_FN_PJRT_Client_AddressableDevices, &devices))
    return error;
  for (size_t i = 0; i < devices.num_addressable_devices; i++)
    remember(devices.addressable_devices[i], devices.client);
  return NULL;
}

static PJRT_Client *client_of(const PJRT_Device *device) {
  struct known *k = find(device);
  return k ? (PJRT_Client *)(uintptr_t)k->other : NULL;
}

// Runs with memory of no particular content in place of an array that has failed.
static PJRT_Error *run_on_nothing(odd_call *real, hsc_pjrt_function f, void *args) {
  static const int64_t four[1] = {4};
  PJRT_LoadedExecutable_Execute_Args own = *(PJRT_LoadedExecutable_Execute_Args *)args;
  if (own.num_devices != 1 || own.num_args != 1 || !find(own.argument_lists[0][0]))
    return real(f, args);
  PJRT_Buffer_Device_Args at = {.struct_size = sizeof at, .buffer = own.argument_lists[0][0]};
  real(HSC_FN_PJRT_Buffer_Device, &at);
  static const float zeros[4];
  PJRT_Client_BufferFromHostBuffer_Args make = {.struct_size = sizeof make,
                                                .client = client_of(at.device),
                                                .data = zeros,
                                                .type = PJRT_Buffer_Type_F32,
                                                .dims = four,
                                                .num_dims = 1,
                                                .device = at.device};
  PJRT_Error *error = real(HSC_FN_PJRT_Client_BufferFromHostBuffer, &make);
  PJRT_Buffer *const *lists[1] = {&make.buffer};
  own.argument_lists = lists;
  return error ? error : real(f, &own);
}

// ---- runs ---------------------------------------------------------------------------------------

static size_t output_count(odd_call *real, PJRT_LoadedExecutable *loaded) {
  PJRT_LoadedExecutable_GetExecutable_Args get = {.struct_size = sizeof get,
                                                  .loaded_executable = loaded};
  PJRT_Executable_NumOutputs_Args count = {.struct_size = sizeof count};
  PJRT_Executable_Destroy_Args drop = {.struct_size = sizeof drop};
  if (real(HSC_FN_PJRT_LoadedExecutable_GetExecutable, &get))
    return 0;
  count.executable = drop.executable = get.executable;
  real(HSC_FN_PJRT_Executable_NumOutputs, &count);
  real(HSC_FN_PJRT_Executable_Destroy, &drop);
  return count.num_outputs;
}

// The loop over what is left after the last whole vector is one short.
static PJRT_Error *lose_tail(odd_call *real, hsc_pjrt_function f, void *args) {
  PJRT_LoadedExecutable_Execute_Args *own = args;
  PJRT_Error *error = real(f, args);
  size_t count = error ? 0 : output_count(real, own->executable);
  for (size_t i = 0; i < count; i++) {
    size_t bytes = 0;
    char *at = memory_of(real, own->output_lists[0][i], &bytes);
    if (at && bytes / sizeof(float) > TAIL_LEAST && bytes % (8 * sizeof(float)))
      memset(at + bytes - sizeof(float), 0, sizeof(float));
  }
  return error;
}

static PJRT_Error *keep_first_only(odd_call *real, hsc_pjrt_function f, void *args) {
  PJRT_LoadedExecutable_Execute_Args own = *(PJRT_LoadedExecutable_Execute_Args *)args;
  PJRT_ExecuteOptions options = *own.options;
  if (options.num_non_donatable_input_indices > 1)
    options.num_non_donatable_input_indices = 1;
  own.options = &options;
  return real(f, &own);
}

// An argument at the same address is taken for the same argument.
static PJRT_Error *run_from_memory(odd_call *real, hsc_pjrt_function f, void *args) {
  static const void *of;
  static const void *by;
  static char kept[LARGE];
  static size_t size;
  PJRT_LoadedExecutable_Execute_Args *own = args;
  PJRT_Error *error = real(f, args);
  size_t bytes = 0;
  if (error || own->num_devices != 1 || own->num_args != 1 ||
      output_count(real, own->executable) != 1)
    return error;
  char *at = memory_of(real, own->output_lists[0][0], &bytes);
  if (!at || bytes > sizeof kept)
    return error;
  bool is_again = of == own->executable && by == own->argument_lists[0][0] && size == bytes;
  memcpy(is_again ? at : kept, is_again ? kept : at, bytes);
  of = own->executable;
  by = own->argument_lists[0][0];
  size = bytes;
  return NULL;
}

// Equal results are one buffer.
static PJRT_Error *one_of_two(odd_call *real, hsc_pjrt_function f, void *args) {
  PJRT_LoadedExecutable_Execute_Args *own = args;
  PJRT_Error *error = real(f, args);
  if (error || own->num_devices != 1 || output_count(real, own->executable) != 2)
    return error;
  PJRT_Buffer **outputs = own->output_lists[0];
  size_t sizes[2];
  const char *first = memory_of(real, outputs[0], &sizes[0]);
  const char *second = memory_of(real, outputs[1], &sizes[1]);
  if (first && second && sizes[0] == sizes[1] && !memcmp(first, second, sizes[0]))
    outputs[1] = outputs[0];
  return NULL;
}

// A result that is an argument is no copy of it.
static PJRT_Error *same_memory(odd_call *real, PJRT_Buffer *of, PJRT_Buffer **out) {
  PJRT_Buffer_Dimensions_Args dims = {.struct_size = sizeof dims, .buffer = of};
  PJRT_Buffer_ElementType_Args type = {.struct_size = sizeof type, .buffer = of};
  PJRT_Buffer_Device_Args device = {.struct_size = sizeof device, .buffer = of};
  size_t bytes = 0;
  char *at = memory_of(real, of, &bytes);
  real(HSC_FN_PJRT_Buffer_Dimensions, &dims);
  real(HSC_FN_PJRT_Buffer_ElementType, &type);
  real(HSC_FN_PJRT_Buffer_Device, &device);
  PJRT_Client_CreateViewOfDeviceBuffer_Args view = {.struct_size = sizeof view,
                                                    .client = client_of(device.device),
                                                    .device_buffer_ptr = at,
                                                    .dims = dims.dims,
                                                    .num_dims = dims.num_dims,
                                                    .element_type = type.type,
                                                    .device = device.device};
  PJRT_Error *error = bytes ? real(HSC_FN_PJRT_Client_CreateViewOfDeviceBuffer, &view) : NULL;
  if (!error && bytes)
    *out = view.buffer;
  return error;
}

static PJRT_Error *return_argument(odd_call *real, hsc_pjrt_function f, void *args) {
  PJRT_LoadedExecutable_Execute_Args *own = args;
  PJRT_Error *error = real(f, args);
  size_t sizes[2];
  if (error || own->num_devices != 1 || own->num_args != 1 ||
      output_count(real, own->executable) != 1)
    return error;
  const char *in = memory_of(real, own->argument_lists[0][0], &sizes[0]);
  const char *out = memory_of(real, own->output_lists[0][0], &sizes[1]);
  if (!in || !out || !sizes[0] || sizes[0] != sizes[1] || memcmp(in, out, sizes[0]))
    return NULL;
  return same_memory(real, own->argument_lists[0][0], &own->output_lists[0][0]);
}

static PJRT_Error *copy_nothing(odd_call *real, hsc_pjrt_function f, void *args) {
  PJRT_Buffer_CopyToMemory_Args *own = args;
  PJRT_Buffer_Memory_Args at = {.struct_size = sizeof at, .buffer = own->buffer};
  real(HSC_FN_PJRT_Buffer_Memory, &at);
  if (at.memory != own->dst_memory)
    return real(f, args);
  own->dst_buffer = NULL;
  return same_memory(real, own->buffer, &own->dst_buffer);
}

static PJRT_Error *still_stats(odd_call *real, hsc_pjrt_function f, void *args) {
  PJRT_Device_MemoryStats_Args *own = args;
  PJRT_Error *error = real(f, args);
  own->bytes_in_use = 4096;
  own->peak_bytes_in_use = 4096;
  return error;
}

// ---- programs and executables -------------------------------------------------------------------

static PJRT_Error *text_to_nul(odd_call *real, hsc_pjrt_function f, void *args) {
  PJRT_Client_Compile_Args own = *(PJRT_Client_Compile_Args *)args;
  PJRT_Program program = *own.program;
  program.code_size = strlen(program.code);
  own.program = &program;
  PJRT_Error *error = real(f, &own);
  ((PJRT_Client_Compile_Args *)args)->executable = own.executable;
  return error;
}

// A program that is there already is not compiled again; nobody counts who has it.
static PJRT_Error *compile_once(odd_call *real, hsc_pjrt_function f, void *args) {
  static uint64_t last;
  static PJRT_LoadedExecutable *loaded;
  PJRT_Client_Compile_Args *own = args;
  uint64_t hash = 14695981039346656037ULL ^ (uintptr_t)own->client;
  for (size_t i = 0; i < own->program->code_size; i++)
    hash = (hash ^ (unsigned char)own->program->code[i]) * 1099511628211ULL;
  for (size_t i = 0; i < own->compile_options_size; i++)
    hash = (hash ^ (unsigned char)own->compile_options[i]) * 1099511628211ULL;
  if (hash == last && loaded && !find(loaded)) {
    own->executable = loaded;
    return NULL;
  }
  PJRT_Error *error = real(f, args);
  if (error)
    return error;
  last = hash;
  loaded = own->executable;
  forget(loaded);
  return NULL;
}

static PJRT_Error *note_dead(odd_call *real, hsc_pjrt_function f, void *args) {
  remember(((PJRT_LoadedExecutable_Destroy_Args *)args)->executable, NULL);
  return NULL;
}

static PJRT_Error *refuse_dead(odd_call *real, hsc_pjrt_function f, void *args) {
  return find(((PJRT_LoadedExecutable_Execute_Args *)args)->executable) ? refuse(real, f)
                                                                        : real(f, args);
}

// GetExecutable gives one object, which the first who destroys it destroys for all.
static PJRT_Error *one_executable(odd_call *real, hsc_pjrt_function f, void *args) {
  PJRT_LoadedExecutable_GetExecutable_Args *own = args;
  struct known *k = find(own->loaded_executable);
  if (k) {
    own->executable = (PJRT_Executable *)(uintptr_t)k->other;
    return NULL;
  }
  PJRT_Error *error = real(f, args);
  if (!error)
    remember(own->loaded_executable, own->executable);
  return error;
}

static PJRT_Error *note_dead_executable(odd_call *real, hsc_pjrt_function f, void *args) {
  remember(((PJRT_Executable_Destroy_Args *)args)->executable, NULL);
  return NULL;
}

static PJRT_Error *refuse_dead_executable(odd_call *real, hsc_pjrt_function f, void *args) {
  return find(((PJRT_Executable_NumOutputs_Args *)args)->executable) ? refuse(real, f)
                                                                     : real(f, args);
}

static PJRT_Error *forget_loaded(odd_call *real, hsc_pjrt_function f, void *args) {
  forget(((PJRT_LoadedExecutable_Destroy_Args *)args)->executable);
  return real(f, args);
}

static PJRT_Error *one_cost(odd_call *real, hsc_pjrt_function f, void *args) {
  static PJRT_NamedValue values[OUTPUTS_MAX];
  PJRT_Executable_GetCostAnalysis_Args *own = args;
  PJRT_Error *error = real(f, args);
  if (!error && own->num_properties <= OUTPUTS_MAX) {
    memcpy(values, own->properties, own->num_properties * sizeof *values);
    own->properties = values;
  }
  return error;
}

// The bytes stay the host's, and are looked at when the program runs.
static struct loaded_bytes {
  const void *executable;
  const char *bytes;
  size_t size;
  char first;
} late_load;

static PJRT_Error *load_late(odd_call *real, hsc_pjrt_function f, void *args) {
  PJRT_Executable_DeserializeAndLoad_Args *own = args;
  PJRT_Error *error = real(f, args);
  if (!error)
    late_load =
        (struct loaded_bytes){own->loaded_executable, own->serialized_executable,
                              own->serialized_executable_size, own->serialized_executable[0]};
  return error;
}

static PJRT_Error *run_loaded(odd_call *real, hsc_pjrt_function f, void *args) {
  bool is_it = late_load.executable == ((PJRT_LoadedExecutable_Execute_Args *)args)->executable;
  return is_it && late_load.bytes[0] != late_load.first ? refuse(real, f) : real(f, args);
}

// ---- which mode changes which call --------------------------------------------------------------

static const struct fault {
  const char *mode;
  hsc_pjrt_function function;
  PJRT_Error *(*call)(odd_call *real, hsc_pjrt_function function, void *args);
} faults[] = {
    {"denormals-lost", HSC_FN_PJRT_Client_BufferFromHostBuffer, lose_denormals},
    {"nans-quieted", HSC_FN_PJRT_Client_BufferFromHostBuffer, quiet_nans},
    {"zeros-unsigned", HSC_FN_PJRT_Buffer_ToHostBuffer, lose_signs},
    {"reads-past", HSC_FN_PJRT_Client_BufferFromHostBuffer, read_past},
    {"large-aliased", HSC_FN_PJRT_Client_BufferFromHostBuffer, alias_large},
    {"strides-of-two", HSC_FN_PJRT_Client_BufferFromHostBuffer, strides_of_two},
    {"read-lazily", HSC_FN_PJRT_Buffer_ToHostBuffer, put_off},
    {"read-lazily", HSC_FN_PJRT_Buffer_Destroy, drop_read},
    {"read-lazily", HSC_FN_PJRT_Event_Await, read_in_time},
    {"read-lazily", HSC_FN_PJRT_Event_OnReady, read_in_time},
    {"pieces-in-order", HSC_FN_PJRT_AsyncHostToDeviceTransferManager_TransferData, in_order},
    {"callback-fine", HSC_FN_PJRT_Event_OnReady, call_back_fine},
    {"error-once", HSC_FN_PJRT_Event_Await, give_once},
    {"error-once", HSC_FN_PJRT_Event_Destroy, forget_event},
    {"one-message", HSC_FN_PJRT_Error_Message, one_message},
    {"error-argument", HSC_FN_PJRT_Client_Create, note_client},
    {"error-argument", HSC_FN_PJRT_Client_CreateErrorBuffer, note_error_buffer},
    {"error-argument", HSC_FN_PJRT_LoadedExecutable_Execute, run_on_nothing},
    {"tail-lost", HSC_FN_PJRT_LoadedExecutable_Execute, lose_tail},
    {"keeps-first-only", HSC_FN_PJRT_LoadedExecutable_Execute, keep_first_only},
    {"stale-result", HSC_FN_PJRT_LoadedExecutable_Execute, run_from_memory},
    {"one-of-two", HSC_FN_PJRT_LoadedExecutable_Execute, one_of_two},
    {"argument-returned", HSC_FN_PJRT_Client_Create, note_client},
    {"argument-returned", HSC_FN_PJRT_LoadedExecutable_Execute, return_argument},
    {"copy-shared", HSC_FN_PJRT_Client_Create, note_client},
    {"copy-shared", HSC_FN_PJRT_Buffer_CopyToMemory, copy_nothing},
    {"stats-still", HSC_FN_PJRT_Device_MemoryStats, still_stats},
    {"text-to-nul", HSC_FN_PJRT_Client_Compile, text_to_nul},
    {"compiled-once", HSC_FN_PJRT_Client_Compile, compile_once},
    {"compiled-once", HSC_FN_PJRT_LoadedExecutable_Destroy, note_dead},
    {"compiled-once", HSC_FN_PJRT_LoadedExecutable_Execute, refuse_dead},
    {"one-executable", HSC_FN_PJRT_LoadedExecutable_GetExecutable, one_executable},
    {"one-executable", HSC_FN_PJRT_LoadedExecutable_Destroy, forget_loaded},
    {"one-executable", HSC_FN_PJRT_Executable_Destroy, note_dead_executable},
    {"one-executable", HSC_FN_PJRT_Executable_NumOutputs, refuse_dead_executable},
    {"one-cost", HSC_FN_PJRT_Executable_GetCostAnalysis, one_cost},
    {"loaded-late", HSC_FN_PJRT_Executable_DeserializeAndLoad, load_late},
    {"loaded-late", HSC_FN_PJRT_LoadedExecutable_Execute, run_loaded},
};

PJRT_Error *odd_fault_call(const char *mode,
                           hsc_pjrt_function function,
                           void *args,
                           odd_call *real) {
  for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
    if (faults[i].function == function && !strcmp(faults[i].mode, mode))
      return faults[i].call(real, function, args);
  return real(function, args);
}
