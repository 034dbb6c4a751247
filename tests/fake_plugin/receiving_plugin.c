// receiving_plugin.c - our plugin, and one receive from the host, which ours does not have.
//
//   HLOSCOPE_RECEIVING_OF=build/libhloscope_cpu_pjrt.so [HLOSCOPE_RECEIVING_FAULT=FAULT]
//
// A program of one argument that receives becomes one of two arguments that adds them; an execution
// asks the host for the second. One fault can be had, to see what `hloscope conform` notices:
//   size    tells of eight bytes too many   granule  parts of no size
//   count   counts no bytes                 greedy   takes more than it has room for
//   keep    never frees the host's chunks   swap     the second chunk lands before the first
//   silent  asks nobody
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/base.h"
#include "pjrt/abi.h"

enum { ELEMENTS = 4, TOTAL = ELEMENTS * sizeof(float) };

struct PJRT_CopyToDeviceStream {
  unsigned char bytes[TOTAL];
  size_t size;
};

static const PJRT_Api *real;
static PJRT_Api table;
static PJRT_Client *client;  // that compiled last

static bool has_fault(const char *name) {
  const char *fault = getenv("HLOSCOPE_RECEIVING_FAULT");
  return fault && !strcmp(fault, name);
}

// An error of the real plugin's making: a function called with a struct that is too short.
static PJRT_Error *some_error(void) {
  PJRT_Plugin_Attributes_Args args = {.struct_size = sizeof(size_t)};
  return real->PJRT_Plugin_Attributes(&args);
}

static PJRT_Error *total_bytes(PJRT_CopyToDeviceStream_TotalBytes_Args *args) {
  args->total_bytes = TOTAL + (has_fault("size") ? 8 : 0);
  return NULL;
}

static PJRT_Error *granule_size(PJRT_CopyToDeviceStream_GranuleSize_Args *args) {
  args->granule_size_in_bytes = has_fault("granule") ? 0 : 4;
  return NULL;
}

static PJRT_Error *current_bytes(PJRT_CopyToDeviceStream_CurrentBytes_Args *args) {
  args->current_bytes = has_fault("count") ? 0 : (int64_t)args->stream->size;
  return NULL;
}

static PJRT_Error *destroy_stream(PJRT_CopyToDeviceStream_Destroy_Args *args) {
  free(args->stream);
  return NULL;
}

static PJRT_Error *some_event(PJRT_Event **out_event) {
  PJRT_Event_Create_Args make = {.struct_size = PJRT_Event_Create_Args_STRUCT_SIZE};
  PJRT_Error *error = real->PJRT_Event_Create(&make);
  PJRT_Event_Set_Args set = {.struct_size = PJRT_Event_Set_Args_STRUCT_SIZE, .event = make.event};
  *out_event = make.event;
  return error ? error : real->PJRT_Event_Set(&set);
}

static PJRT_Error *add_chunk(PJRT_CopyToDeviceStream_AddChunk_Args *args) {
  PJRT_CopyToDeviceStream *s = args->stream;
  bool fits = s->size + args->chunk->size <= TOTAL;
  if (!fits && !has_fault("greedy"))
    return some_error();
  size_t at = has_fault("swap") && args->chunk->size < TOTAL ? TOTAL / 2 - s->size : s->size;
  if (fits) {
    memcpy(s->bytes + at, args->chunk->data, args->chunk->size);
    s->size += args->chunk->size;
  }
  if (!has_fault("keep"))
    args->chunk->deleter(args->chunk->data, args->chunk->deleter_arg);
  return some_event(&args->transfer_complete);
}

static PJRT_Error *compile(PJRT_Client_Compile_Args *args) {
  if (args->struct_size < PJRT_Client_Compile_Args_STRUCT_SIZE)
    return real->PJRT_Client_Compile(args);
  static const char adds[] =
      "module @m { func.func public @main(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> "
      "{\n  %0 = stablehlo.add %a, %b : tensor<4xf32>\n  return %0 : tensor<4xf32>\n} }\n";
  static const char mark[] = "stablehlo.recv";
  PJRT_Client_Compile_Args changed = *args;
  PJRT_Program program = *args->program;
  if (memmem(program.code, program.code_size, mark, sizeof mark - 1)) {
    program.code = (char *)adds;
    program.code_size = sizeof adds - 1;
    changed.program = &program;
  }
  client = args->client;
  PJRT_Error *error = real->PJRT_Client_Compile(&changed);
  args->executable = changed.executable;
  return error;
}

static PJRT_Error *execute(PJRT_LoadedExecutable_Execute_Args *args) {
  if (args->struct_size < PJRT_LoadedExecutable_Execute_Args_STRUCT_SIZE || !args->options ||
      !args->options->num_recv_ops)
    return real->PJRT_LoadedExecutable_Execute(args);
  PJRT_RecvCallbackInfo *info = args->options->recv_callbacks[0];
  // the host frees it
  PJRT_CopyToDeviceStream *stream = calloc(1, sizeof *stream);
  if (!has_fault("silent"))
    info->recv_callback(stream, info->user_arg);
  PJRT_Buffer *first = args->argument_lists[0][0];
  PJRT_Buffer_Device_Args of = {.struct_size = PJRT_Buffer_Device_Args_STRUCT_SIZE,
                                .buffer = first};
  PJRT_Error *error = real->PJRT_Buffer_Device(&of);
  if (error)
    return error;
  static const int64_t dims[1] = {ELEMENTS};
  PJRT_Client_BufferFromHostBuffer_Args upload = {
      .struct_size = PJRT_Client_BufferFromHostBuffer_Args_STRUCT_SIZE,
      .client = client,
      .data = stream->bytes,
      .type = PJRT_Buffer_Type_F32,
      .dims = dims,
      .num_dims = 1,
      .device = of.device,
      .host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableOnlyDuringCall};
  error = real->PJRT_Client_BufferFromHostBuffer(&upload);
  if (error)
    return error;
  PJRT_Buffer *both[2] = {first, upload.buffer};
  PJRT_Buffer *const *lists[1] = {both};
  PJRT_LoadedExecutable_Execute_Args changed = *args;
  PJRT_ExecuteOptions plain = {.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE};
  changed.options = &plain;
  changed.argument_lists = lists;
  changed.num_args = 2;
  return real->PJRT_LoadedExecutable_Execute(&changed);
}

HSC_EXPORT const PJRT_Api *GetPjrtApi(void);
const PJRT_Api *GetPjrtApi(void) {
  const char *path = getenv("HLOSCOPE_RECEIVING_OF");
  if (real)
    return &table;
  void *library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
  void *symbol = library ? dlsym(library, "GetPjrtApi") : NULL;
  if (!symbol)
    return NULL;
  GetPjrtApi_Fn *get;
  memcpy(&get, &symbol, sizeof get);
  real = get();
  memcpy(&table, real, real->struct_size < sizeof table ? real->struct_size : sizeof table);
  table.PJRT_Client_Compile = compile;
  table.PJRT_LoadedExecutable_Execute = execute;
  table.PJRT_CopyToDeviceStream_TotalBytes = total_bytes;
  table.PJRT_CopyToDeviceStream_GranuleSize = granule_size;
  table.PJRT_CopyToDeviceStream_CurrentBytes = current_bytes;
  table.PJRT_CopyToDeviceStream_AddChunk = add_chunk;
  table.PJRT_CopyToDeviceStream_Destroy = destroy_stream;
  return &table;
}
