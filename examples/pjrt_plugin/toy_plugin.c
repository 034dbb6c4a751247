// toy_plugin.c - a PJRT plugin in plain C: one device, which is the host's memory.
//
// Read it from the end: GetPjrtApi gives a table of functions, everything else hangs on it. Every
// function takes a struct that begins with struct_size, the bytes that the host knows of; what lies
// beyond must not be touched (NEED). Work is done before a function returns, so every event is
// ready when it is made. docs/howto/write-a-pjrt-plugin.md goes through it.
//   cc -std=c17 -shared -fPIC -I HEADERS toy_plugin.c toy_program.c -lm -o toy_pjrt.so
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>

#include "toy_program.h"

// ---- objects: the API names these types, a plugin says what is in them --------------------------

typedef struct toy_error {  // a PJRT_Error; newer headers give that struct a first field
  const void *reserved;
  PJRT_Error_Code code;
  char message[160];
} toy_error;
struct PJRT_Client {
  char unused;
};
struct PJRT_Event {
  char unused;
};
struct PJRT_Buffer {
  toy_shape shape;
  void *data;  // NULL: deleted
};
struct PJRT_Executable {  // a PJRT_LoadedExecutable is the same object here
  atomic_int owners;
  toy_program program;
};

static char the_device_object;
static char the_memory_object;
static PJRT_Device *const the_device = (PJRT_Device *)&the_device_object;
static PJRT_DeviceDescription *const the_description = (PJRT_DeviceDescription *)&the_device_object;
static PJRT_Memory *const the_memory = (PJRT_Memory *)&the_memory_object;

// ---- errors: NULL is success; the host destroys the others --------------------------------------

static toy_error no_memory = {NULL, PJRT_Error_Code_RESOURCE_EXHAUSTED, "no memory"};
#define NO_MEMORY ((PJRT_Error *)&no_memory)

static PJRT_Error *error_new(PJRT_Error_Code code, const char *where, const char *what) {
  toy_error *error = calloc(1, sizeof *error);
  if (!error)
    return NO_MEMORY;
  error->code = code;
  snprintf(error->message, sizeof error->message, "%s: %s", where, what);
  return (PJRT_Error *)error;
}
#define ERROR(code, what) error_new(PJRT_Error_Code_##code, __func__, (what))
// The host's struct must reach to the end of the last field that is used.
#define NEED(field) \
  if (args->struct_size < (size_t)((char *)(&args->field + 1) - (char *)args)) \
  return ERROR(INVALID_ARGUMENT, "struct_size is too small")

static void toy_PJRT_Error_Destroy(PJRT_Error_Destroy_Args *args) {
  if (args->error != NO_MEMORY)
    free(args->error);
}

static void toy_PJRT_Error_Message(PJRT_Error_Message_Args *args) {
  args->message = ((const toy_error *)args->error)->message;
  args->message_size = strlen(args->message);
}

// ---- functions that only answer are rows of toy_answers.def -------------------------------------

static PJRT_Event *event_new(void) {
  return calloc(1, sizeof(PJRT_Event));
}

#define TEXT(field, text) args->field = (text), args->field##_size = sizeof(text) - 1
#define ANSWER(function, last, ...) \
  static PJRT_Error *toy_##function(function##_Args *args) { \
    NEED(last); \
    __VA_ARGS__; \
    return NULL; \
  }
#include "toy_answers.def"
#undef ANSWER

static PJRT_Error *toy_PJRT_Client_Create(PJRT_Client_Create_Args *args) {
  NEED(client);
  args->client = calloc(1, sizeof *args->client);
  return args->client ? NULL : NO_MEMORY;
}

static PJRT_Error *toy_PJRT_Client_LookupDevice(PJRT_Client_LookupDevice_Args *args) {
  NEED(device);
  args->device = the_device;
  return args->id == 0 ? NULL : ERROR(INVALID_ARGUMENT, "the only device has the id 0");
}

// ---- buffers ------------------------------------------------------------------------------------

// Copies dimension `d` and those after it, element by element; strides are in bytes.
static void copy_strided(const toy_shape *shape,
                         size_t d,
                         char *to,
                         const int64_t *to_strides,
                         const char *from,
                         const int64_t *from_strides) {
  if (d == shape->rank) {
    memcpy(to, from, toy_type_bytes(shape->type));
    return;
  }
  for (int64_t i = 0; i < shape->dims[d]; i++)
    copy_strided(shape, d + 1, to + i * to_strides[d], to_strides, from + i * from_strides[d],
                 from_strides);
}

// Strides of a dense array whose dimension order[0] varies fastest; NULL: the last one does.
static void dense_strides(const toy_shape *shape, const int64_t *order, int64_t out[RANK_MAX]) {
  int64_t stride = (int64_t)toy_type_bytes(shape->type);
  for (size_t i = 0; i < shape->rank; i++) {
    size_t d = order ? (size_t)order[i] : shape->rank - 1 - i;
    out[d] = stride;
    stride *= shape->dims[d];
  }
}

static PJRT_Buffer *buffer_new(const toy_shape *shape) {
  PJRT_Buffer *buffer = calloc(1, sizeof *buffer);
  void *data = malloc(shape->bytes + 1);
  if (!buffer || !data) {
    free(buffer);
    free(data);
    return NULL;
  }
  *buffer = (PJRT_Buffer){.shape = *shape, .data = data};
  return buffer;
}

static PJRT_Error *toy_PJRT_Client_BufferFromHostBuffer(
    PJRT_Client_BufferFromHostBuffer_Args *args) {
  NEED(buffer);
  toy_shape shape = {.type = args->type, .rank = args->num_dims};
  if (shape.rank > RANK_MAX || toy_type_bytes(shape.type) == 0)
    return ERROR(UNIMPLEMENTED, "no arrays of this element type or of more than 8 dimensions");
  if (shape.rank > 0)
    memcpy(shape.dims, args->dims, shape.rank * sizeof args->dims[0]);
  if (!toy_shape_measure(&shape))
    return ERROR(INVALID_ARGUMENT, "no memory could hold the array");
  PJRT_Buffer *buffer = buffer_new(&shape);
  if (!buffer)
    return NO_MEMORY;
  int64_t dense[RANK_MAX];
  dense_strides(&shape, NULL, dense);
  copy_strided(&shape, 0, buffer->data, dense, args->data,
               args->num_byte_strides ? args->byte_strides : dense);
  args->buffer = buffer;
  args->done_with_host_buffer = event_new();
  return NULL;
}

static PJRT_Error *toy_PJRT_Buffer_ToHostBuffer(PJRT_Buffer_ToHostBuffer_Args *args) {
  NEED(event);
  const toy_shape *shape = &args->src->shape;
  const PJRT_Buffer_MemoryLayout *layout = args->host_layout;
  const int64_t *order = layout ? layout->tiled.minor_to_major : NULL;
  if (!args->src->data)
    return ERROR(INVALID_ARGUMENT, "the buffer was deleted");
  if (layout && (layout->type != PJRT_Buffer_MemoryLayout_Type_Tiled || layout->tiled.num_tiles))
    return ERROR(UNIMPLEMENTED, "host layouts are an order of dimensions, without tiles");
  if (layout && layout->tiled.minor_to_major_size != shape->rank)
    return ERROR(INVALID_ARGUMENT, "the host layout has another number of dimensions");
  if (args->dst && args->dst_size < shape->bytes)
    return ERROR(INVALID_ARGUMENT, "dst is too small");
  int64_t dense[RANK_MAX];
  int64_t strides[RANK_MAX];
  dense_strides(shape, NULL, dense);
  dense_strides(shape, order, strides);
  if (args->dst) {
    copy_strided(shape, 0, args->dst, strides, args->src->data, dense);
    args->event = event_new();
  }
  args->dst_size = shape->bytes;
  return NULL;
}

static PJRT_Error *toy_PJRT_Buffer_Delete(PJRT_Buffer_Delete_Args *args) {
  NEED(buffer);
  free(args->buffer->data);
  args->buffer->data = NULL;
  return NULL;
}

static PJRT_Error *toy_PJRT_Buffer_Destroy(PJRT_Buffer_Destroy_Args *args) {
  NEED(buffer);
  if (args->buffer)
    free(args->buffer->data);
  free(args->buffer);
  return NULL;
}

// ---- executables: loaded or not, one object that counts its owners ------------------------------

static PJRT_Error *toy_PJRT_Client_Compile(PJRT_Client_Compile_Args *args) {
  NEED(executable);
  const PJRT_Program *program = args->program;
  const char *wrong = NULL;
  if (program->format_size != 4 || memcmp(program->format, "mlir", 4))
    return ERROR(INVALID_ARGUMENT, "the only program format is mlir");
  if (program->code_size >= 4 && !memcmp(program->code, "ML\xefR", 4))
    return ERROR(UNIMPLEMENTED, "programs are StableHLO text; this one is MLIR bytecode");
  // a protobuf begins with a key, whose low bits are 0, 1, 2 or 5
  if (args->compile_options_size > 0 && (args->compile_options[0] & 7) > 5)
    return ERROR(INVALID_ARGUMENT, "the compile options are no CompileOptionsProto");
  struct PJRT_Executable *executable = calloc(1, sizeof *executable);
  char *text = calloc(1, program->code_size + 1);
  PJRT_Error *error = executable && text ? NULL : NO_MEMORY;
  if (!error) {
    memcpy(text, program->code, program->code_size);
    PJRT_Error_Code code = toy_program_read(text, &executable->program, &wrong);
    error = code == PJRT_Error_Code_OK ? NULL : error_new(code, __func__, wrong);
  }
  free(text);
  if (error) {
    free(executable);
    return error;
  }
  executable->owners = 1;
  args->executable = (PJRT_LoadedExecutable *)executable;
  return NULL;
}

static void release(void *executable) {
  if (executable && atomic_fetch_sub(&((struct PJRT_Executable *)executable)->owners, 1) == 1)
    free(executable);
}

static PJRT_Error *toy_PJRT_LoadedExecutable_GetExecutable(
    PJRT_LoadedExecutable_GetExecutable_Args *args) {
  NEED(executable);
  args->executable = (struct PJRT_Executable *)args->loaded_executable;
  atomic_fetch_add(&args->executable->owners, 1);
  return NULL;
}

static PJRT_Error *toy_PJRT_Executable_Destroy(PJRT_Executable_Destroy_Args *args) {
  NEED(executable);
  release(args->executable);
  return NULL;
}

static PJRT_Error *toy_PJRT_LoadedExecutable_Destroy(PJRT_LoadedExecutable_Destroy_Args *args) {
  NEED(executable);
  release(args->executable);
  return NULL;
}

static void keep_assignment(PJRT_DeviceAssignmentSerialized *assignment) {
  (void)assignment;  // it is a constant
}

// A DeviceAssignmentProto: one replica, one computation, on device 0.
static PJRT_Error *toy_PJRT_LoadedExecutable_GetDeviceAssignment(
    PJRT_LoadedExecutable_GetDeviceAssignment_Args *args) {
  NEED(serialized_device_assignment_deleter);
  args->serialized_bytes = "\x08\x01\x10\x01\x1a\x03\x0a\x01\x00";
  args->serialized_bytes_size = 9;
  args->serialized_device_assignment = NULL;
  args->serialized_device_assignment_deleter = keep_assignment;
  return NULL;
}

static PJRT_Error *toy_PJRT_LoadedExecutable_Execute(PJRT_LoadedExecutable_Execute_Args *args) {
  NEED(device_complete_events);
  const toy_program *p = &((struct PJRT_Executable *)args->executable)->program;
  const void *inputs[VALUES_MAX];
  void *outputs[VALUES_MAX];
  if (args->num_devices != 1 || args->num_args != (size_t)p->input_count)
    return ERROR(INVALID_ARGUMENT, "another number of devices or arguments than was compiled");
  for (int i = 0; i < p->input_count; i++) {
    const PJRT_Buffer *argument = args->argument_lists[0][i];
    if (!argument->data || !toy_shape_equal(&argument->shape, &p->values[i].shape))
      return ERROR(INVALID_ARGUMENT, "an argument is deleted or has another shape");
    inputs[i] = argument->data;
  }
  bool is_fine = true;
  PJRT_Buffer **made = args->output_lists[0];
  for (int o = 0; o < p->output_count; o++) {
    made[o] = buffer_new(&p->values[p->outputs[o]].shape);
    is_fine = is_fine && made[o];
    outputs[o] = made[o] ? made[o]->data : NULL;
  }
  is_fine = is_fine && toy_program_run(p, inputs, outputs);
  for (int o = 0; o < p->output_count && !is_fine; o++) {
    PJRT_Buffer_Destroy_Args destroy = {.struct_size = sizeof destroy, .buffer = made[o]};
    toy_PJRT_Buffer_Destroy(&destroy);
    made[o] = NULL;
  }
  if (is_fine && args->device_complete_events)
    args->device_complete_events[0] = event_new();
  return is_fine ? NULL : NO_MEMORY;
}

// ---- the table ----------------------------------------------------------------------------------

// What the plugin does not have says so: a host may call any function of the announced version.
static PJRT_Error *not_implemented(void *args) {
  (void)args;
  return ERROR(UNIMPLEMENTED, "this plugin does not have the function");
}

#define SLOT(function) .function = toy_##function
#define ANSWER(function, ...) SLOT(function),
static PJRT_Api api = {
    // version 0.90 has these functions and no others
    .struct_size = offsetof(PJRT_Api, PJRT_Event_Set) + sizeof(void *),
    .pjrt_api_version = {.struct_size = sizeof(PJRT_Api_Version), .minor_version = 90},
    SLOT(PJRT_Error_Destroy),
    SLOT(PJRT_Error_Message),
    SLOT(PJRT_Client_Create),
    SLOT(PJRT_Client_LookupDevice),
    SLOT(PJRT_Client_BufferFromHostBuffer),
    SLOT(PJRT_Client_Compile),
    SLOT(PJRT_Executable_Destroy),
    SLOT(PJRT_LoadedExecutable_GetExecutable),
    SLOT(PJRT_LoadedExecutable_GetDeviceAssignment),
    SLOT(PJRT_LoadedExecutable_Execute),
    SLOT(PJRT_LoadedExecutable_Destroy),
    SLOT(PJRT_Buffer_ToHostBuffer),
    SLOT(PJRT_Buffer_Delete),
    SLOT(PJRT_Buffer_Destroy),
#include "toy_answers.def"
};

static void fill_table(void) {
  PJRT_Error *(*missing)(void *) = not_implemented;
  char *end = (char *)&api + api.struct_size;
  for (char *slot = (char *)&api.PJRT_Error_Destroy; slot < end; slot += sizeof missing) {
    void *function;
    memcpy(&function, slot, sizeof function);
    if (!function)
      memcpy(slot, &missing, sizeof missing);
  }
}

// The one symbol that a plugin exports.
__attribute__((visibility("default"))) const PJRT_Api *GetPjrtApi(void);
const PJRT_Api *GetPjrtApi(void) {
  static once_flag once = ONCE_FLAG_INIT;
  call_once(&once, fill_table);
  return &api;
}
