// fuzz_plugin_calls.c - a host that calls our plugin in any order with any arguments: answers or
// errors, right numbers where there are numbers, nothing left over, never a crash.
//
// The input is a list of calls, each a byte for what and bytes for with what. Objects are used as
// the interface allows (what is destroyed is not used again, each is destroyed once); everything
// else is free: NULL, deleted buffers, executables of another client, wrong sizes, types, layouts,
// struct sizes of old hosts, options and programs of any bytes.
#include <stdlib.h>

#include "plugin/plugin_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { OBJECTS = 6, MOST_CALLS = 48, DATA_BYTES = 4096 };

typedef struct host {
  const uint8_t *at, *end;
  PJRT_Client *clients[2];
  PJRT_Buffer *buffers[OBJECTS];
  PJRT_LoadedExecutable *programs[OBJECTS];
  PJRT_Executable *descriptions[OBJECTS];
  PJRT_Event *events[OBJECTS];
  unsigned char memory[DATA_BYTES] __attribute__((aligned(64)));
} host;

static const PJRT_Api *api;

static unsigned next(host *h) {
  return h->at < h->end ? *h->at++ : 0;
}

static void drop(PJRT_Error *error) {
  if (!error)
    return;
  PJRT_Error_Message_Args message = {.struct_size = PJRT_Error_Message_Args_STRUCT_SIZE,
                                     .error = error};
  api->PJRT_Error_Message(&message);
  if (!message.message || strlen(message.message) != message.message_size)
    abort();
  PJRT_Error_Destroy_Args destroy = {.struct_size = PJRT_Error_Destroy_Args_STRUCT_SIZE,
                                     .error = error};
  api->PJRT_Error_Destroy(&destroy);
}

// Calls with a struct that is sometimes that of an older host. True: it worked.
#define CALL(host, function, args) \
  (cut(host, &(args)->struct_size), works((PJRT_Error *)api->function(args)))

static void cut(host *h, size_t *struct_size) {
  unsigned how = next(h);
  if (how >= 250)
    *struct_size = how == 250 ? 0 : *struct_size * (how - 250) / 6;
}

static bool works(PJRT_Error *error) {
  bool fine = !error;
  drop(error);
  return fine;
}

#define PICK(host, list) ((host)->list[next(host) % HSC_COUNT_OF((host)->list)])
#define ARGS(function) \
  function##_Args args; \
  memset(&args, 0, sizeof args); \
  args.struct_size = function##_Args_STRUCT_SIZE

// ---- calls --------------------------------------------------------------------------------------

static void destroy_event(PJRT_Event *event) {
  PJRT_Event_Destroy_Args args = {.struct_size = PJRT_Event_Destroy_Args_STRUCT_SIZE,
                                  .event = event};
  drop(api->PJRT_Event_Destroy(&args));
}

static void destroy_buffer(PJRT_Buffer *buffer) {
  PJRT_Buffer_Destroy_Args args = {.struct_size = PJRT_Buffer_Destroy_Args_STRUCT_SIZE,
                                   .buffer = buffer};
  drop(api->PJRT_Buffer_Destroy(&args));
}

static void keep_event(host *h, PJRT_Event *event) {
  PJRT_Event **slot = &PICK(h, events);
  destroy_event(*slot);
  *slot = event;
}

static void keep_buffer(host *h, PJRT_Buffer *buffer) {
  PJRT_Buffer **slot = &PICK(h, buffers);
  destroy_buffer(*slot);
  *slot = buffer;
}

static void from_host(host *h) {
  static const int64_t odd[] = {0, 1, 2, 3, 4, 4, 4, 16, -1, INT64_MAX, 1ll << 40};
  int64_t dims[8], strides[8];
  ARGS(PJRT_Client_BufferFromHostBuffer);
  args.client = PICK(h, clients);
  args.num_dims = next(h) % 4;
  int64_t elements = 1;
  for (size_t i = 0; i < args.num_dims; i++) {
    dims[i] = odd[next(h) % HSC_COUNT_OF(odd)];
    elements = dims[i] < 0 || dims[i] > 64 ? 1 << 20 : elements * dims[i];
    strides[i] = 4;
  }
  args.dims = dims;
  args.type = (PJRT_Buffer_Type)(next(h) % 4 ? PJRT_Buffer_Type_F32 : next(h));
  if (next(h) % 8 == 0 && elements <= 64) {
    args.byte_strides = strides;
    args.num_byte_strides = args.num_dims;
  }
  // The host's memory has to be as large as what it says; sizes beyond it go without memory.
  args.data = elements * 16 <= DATA_BYTES && next(h) % 16 ? h->memory : NULL;
  args.host_buffer_semantics = (PJRT_HostBufferSemantics)(next(h) % 5);
  if (CALL(h, PJRT_Client_BufferFromHostBuffer, &args)) {
    destroy_event(args.done_with_host_buffer);
    keep_buffer(h, args.buffer);
  }
}

static const char *const texts[] = {
    "HloModule a\nENTRY e { x = f32[4] parameter(0) ROOT y = f32[4] add(x, x) }\n",
    "HloModule b\nENTRY e { x = f32[4] parameter(0) y = f32[4] parameter(1) ROOT t = (f32[4], "
    "f32[4]) tuple(y, x) }\n",
    "HloModule c, input_output_alias={ {}: (0, {}, may-alias) }\nENTRY e { x = f32[4,4] "
    "parameter(0) ROOT y = f32[4,4] dot(x, x), lhs_contracting_dims={1}, "
    "rhs_contracting_dims={0} }\n",
    "HloModule d\nENTRY e { ROOT c = s32[] constant(7) }\n",
    "HloModule broken\nENTRY e { x = f32[4] parameter(0) ROOT y = f32[5] add(x, x) }\n",
};

static void compile(host *h) {
  static const char hlo[] = "hlo";
  char options[16];
  ARGS(PJRT_Client_Compile);
  PJRT_Program program = {.struct_size = PJRT_Program_STRUCT_SIZE,
                          .format = (char *)(uintptr_t)hlo,
                          .format_size = next(h) % 16 ? 3 : next(h) % 3};
  const char *text = texts[next(h) % HSC_COUNT_OF(texts)];
  program.code = (char *)(uintptr_t)text;
  program.code_size = next(h) % 16 ? strlen(text) : next(h) % strlen(text);
  args.client = PICK(h, clients);
  args.program = next(h) % 32 ? &program : NULL;
  if (next(h) % 4 == 0) {
    args.compile_options_size = next(h) % sizeof options;
    for (size_t i = 0; i < args.compile_options_size; i++)
      options[i] = (char)next(h);
    args.compile_options = options;
  }
  if (!CALL(h, PJRT_Client_Compile, &args))
    return;
  PJRT_LoadedExecutable **slot = &PICK(h, programs);
  PJRT_LoadedExecutable_Destroy_Args destroy = {
      .struct_size = PJRT_LoadedExecutable_Destroy_Args_STRUCT_SIZE, .executable = *slot};
  drop(api->PJRT_LoadedExecutable_Destroy(&destroy));
  *slot = args.executable;
}

static void execute(host *h) {
  PJRT_Buffer *inputs[4];
  PJRT_Buffer *outputs[4] = {0};
  PJRT_Event *events[1] = {0};
  PJRT_Buffer *const *input_lists[1] = {inputs};
  PJRT_Buffer **output_lists[1] = {outputs};
  int64_t kept[2] = {next(h) % 3, next(h)};
  PJRT_ExecuteOptions options = {.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE};
  ARGS(PJRT_LoadedExecutable_Execute);
  args.executable = PICK(h, programs);
  args.options = next(h) % 32 ? &options : NULL;
  if (next(h) % 4 == 0) {
    options.non_donatable_input_indices = kept;
    options.num_non_donatable_input_indices = next(h) % 3;
  }
  args.num_devices = next(h) % 16 ? 1 : next(h) % 3;
  args.num_args = next(h) % 4;
  for (int i = 0; i < 4; i++)
    inputs[i] = PICK(h, buffers);
  args.argument_lists = input_lists;
  args.output_lists = output_lists;
  args.device_complete_events = next(h) % 2 ? events : NULL;
  if (args.num_devices != 1)
    args.num_devices = args.num_devices > 1 ? 1 : 0;
  if (!CALL(h, PJRT_LoadedExecutable_Execute, &args))
    return;
  if (args.device_complete_events)
    keep_event(h, events[0]);
  for (int o = 0; o < 4; o++)
    if (outputs[o])
      keep_buffer(h, outputs[o]);
}

static void to_host(host *h) {
  ARGS(PJRT_Buffer_ToHostBuffer);
  args.src = PICK(h, buffers);
  unsigned how = next(h) % 4;
  unsigned char *exact = NULL;
  if (how) {
    args.dst_size = next(h) * (how == 1 ? 1 : 16);
    exact = malloc(args.dst_size ? args.dst_size : 1);  // its end is the end of what may be written
    args.dst = exact;
  }
  if (CALL(h, PJRT_Buffer_ToHostBuffer, &args) && args.event) {
    PJRT_Event_Await_Args await = {.struct_size = PJRT_Event_Await_Args_STRUCT_SIZE,
                                   .event = args.event};
    drop(api->PJRT_Event_Await(&await));
    destroy_event(args.event);
  }
  free(exact);
}

// Every function whose object is a buffer, an event or an executable and that writes only its own
// struct: the answers are looked at by the sanitizer.
#define ASK(function, field, list) \
  { \
    ARGS(function); \
    args.field = PICK(h, list); \
    (void)CALL(h, function, &args); \
    break; \
  }

static void ask_buffer(host *h) {
  switch (next(h) % 9) {
    case 0:
      ASK(PJRT_Buffer_ElementType, buffer, buffers)
    case 1:
      ASK(PJRT_Buffer_Dimensions, buffer, buffers)
    case 2:
      ASK(PJRT_Buffer_OnDeviceSizeInBytes, buffer, buffers)
    case 3:
      ASK(PJRT_Buffer_Device, buffer, buffers)
    case 4:
      ASK(PJRT_Buffer_Delete, buffer, buffers)
    case 5:
      ASK(PJRT_Buffer_IsDeleted, buffer, buffers)
    case 6:
      ASK(PJRT_Buffer_GetMemoryLayout, buffer, buffers)
    case 7:
      ASK(PJRT_Buffer_UnsafePointer, buffer, buffers)
    default:
      ASK(PJRT_Buffer_Memory, buffer, buffers)
  }
}

static void ask_program(host *h) {
  switch (next(h) % 6) {
    case 0: {
      ARGS(PJRT_LoadedExecutable_GetExecutable);
      args.loaded_executable = PICK(h, programs);
      if (!CALL(h, PJRT_LoadedExecutable_GetExecutable, &args))
        break;
      PJRT_Executable **slot = &PICK(h, descriptions);
      PJRT_Executable_Destroy_Args destroy = {
          .struct_size = PJRT_Executable_Destroy_Args_STRUCT_SIZE, .executable = *slot};
      drop(api->PJRT_Executable_Destroy(&destroy));
      *slot = args.executable;
      break;
    }
    case 1:
      ASK(PJRT_LoadedExecutable_Delete, executable, programs)
    case 2:
      ASK(PJRT_LoadedExecutable_IsDeleted, executable, programs)
    case 3:
      ASK(PJRT_Executable_NumOutputs, executable, descriptions)
    case 4:
      ASK(PJRT_Executable_GetCostAnalysis, executable, descriptions)
    default:
      ASK(PJRT_Executable_Name, executable, descriptions)
  }
}

static void ask_event(host *h) {
  switch (next(h) % 3) {
    case 0:
      ASK(PJRT_Event_IsReady, event, events)
    case 1:
      ASK(PJRT_Event_Await, event, events)
    default:
      ASK(PJRT_Event_Error, event, events)
  }
}

static void call_one(host *h) {
  switch (next(h) % 12) {
    case 0:
    case 1:
    case 2:
      from_host(h);
      break;
    case 3:
      compile(h);
      break;
    case 4:
    case 5:
    case 6:
      execute(h);
      break;
    case 7:
      to_host(h);
      break;
    case 8:
    case 9:
      ask_buffer(h);
      break;
    case 10:
      ask_program(h);
      break;
    default:
      ask_event(h);
      break;
  }
}

// ---- the host's life ----------------------------------------------------------------------------

static void open_clients(host *h) {
  for (size_t i = 0; i < HSC_COUNT_OF(h->clients); i++) {
    PJRT_Client_Create_Args args = {.struct_size = PJRT_Client_Create_Args_STRUCT_SIZE};
    drop(api->PJRT_Client_Create(&args));
    h->clients[i] = args.client;
  }
}

static void close_all(host *h) {
  for (int i = 0; i < OBJECTS; i++) {
    destroy_event(h->events[i]);
    destroy_buffer(h->buffers[i]);
    PJRT_LoadedExecutable_Destroy_Args program = {
        .struct_size = PJRT_LoadedExecutable_Destroy_Args_STRUCT_SIZE,
        .executable = h->programs[i]};
    drop(api->PJRT_LoadedExecutable_Destroy(&program));
    PJRT_Executable_Destroy_Args description = {
        .struct_size = PJRT_Executable_Destroy_Args_STRUCT_SIZE, .executable = h->descriptions[i]};
    drop(api->PJRT_Executable_Destroy(&description));
  }
  for (size_t i = 0; i < HSC_COUNT_OF(h->clients); i++) {
    PJRT_Client_Destroy_Args client = {.struct_size = PJRT_Client_Destroy_Args_STRUCT_SIZE,
                                       .client = h->clients[i]};
    drop(api->PJRT_Client_Destroy(&client));
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  host *h = NULL;
  setenv("HLOSCOPE_THREADS", "1", 1);
  api = hsc__plugin_table();
  if (posix_memalign((void **)&h, 64, sizeof *h))
    return 0;
  memset(h, 0, sizeof *h);
  h->at = data;
  h->end = data + size;
  open_clients(h);
  for (int call = 0; call < MOST_CALLS && h->at < h->end; call++)
    call_one(h);
  close_all(h);
  free(h);
  return 0;
}
