// conform_support.c - what most checks begin with: a client, a device, arrays, a compiled program.
#include <stdlib.h>

#include "lab/conform/conform_internal.h"

const conform_type hsc__conform_types[] = {
    {PJRT_Buffer_Type_PRED, "pred", "i1", 1, 'p'},
    {PJRT_Buffer_Type_S8, "s8", "i8", 1, 'i'},
    {PJRT_Buffer_Type_S16, "s16", "i16", 2, 'i'},
    {PJRT_Buffer_Type_S32, "s32", "i32", 4, 'i'},
    {PJRT_Buffer_Type_S64, "s64", "i64", 8, 'i'},
    {PJRT_Buffer_Type_U8, "u8", "ui8", 1, 'u'},
    {PJRT_Buffer_Type_U16, "u16", "ui16", 2, 'u'},
    {PJRT_Buffer_Type_U32, "u32", "ui32", 4, 'u'},
    {PJRT_Buffer_Type_U64, "u64", "ui64", 8, 'u'},
    {PJRT_Buffer_Type_F16, "f16", "f16", 2, 'f'},
    {PJRT_Buffer_Type_BF16, "bf16", "bf16", 2, 'f'},
    {PJRT_Buffer_Type_F32, "f32", "f32", 4, 'f'},
    {PJRT_Buffer_Type_F64, "f64", "f64", 8, 'f'},
    {PJRT_Buffer_Type_C64, "c64", "complex<f32>", 8, 'c'},
    {PJRT_Buffer_Type_C128, "c128", "complex<f64>", 16, 'c'},
    {PJRT_Buffer_Type_F8E5M2, "f8e5m2", "f8E5M2", 1, 'n'},
    {PJRT_Buffer_Type_F8E4M3FN, "f8e4m3fn", "f8E4M3FN", 1, 'n'},
    {PJRT_Buffer_Type_F8E4M3B11FNUZ, "f8e4m3b11fnuz", "f8E4M3B11FNUZ", 1, 'n'},
    {PJRT_Buffer_Type_F8E5M2FNUZ, "f8e5m2fnuz", "f8E5M2FNUZ", 1, 'n'},
    {PJRT_Buffer_Type_F8E4M3FNUZ, "f8e4m3fnuz", "f8E4M3FNUZ", 1, 'n'},
};
const int hsc__conform_type_count = HSC_COUNT_OF(hsc__conform_types);

const int64_t hsc__conform_four[1] = {4};
const float hsc__conform_one_to_four[4] = {1, 2, 3, 4};
const char hsc__conform_doubles[] =
    "module @m { func.func public @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n"
    "  %0 = stablehlo.add %a, %a : tensor<4xf32>\n  return %0 : tensor<4xf32>\n} }\n";

bool hsc__conform_client(hsc_conform *c) {
  if (c->topology_name) {
    hsc__conform_absent(c, "needs hardware: this is a compiler for %s", c->topology_name);
    return false;
  }
  if (!c->client) {
    PJRT_Client_Create_Args args =
        ARGS_OF(PJRT_Client_Create, .create_options = c->options, .num_options = c->option_count);
    bool called;
    PJRT_Error *error = hsc__conform_call(c, HSC_FN_PJRT_Client_Create, &args, &called);
    if (error) {
      hsc_bytes message = {0};
      hsc__conform_message(c, error, &message);
      hsc__conform_absent(c, "no client here: %s", hsc_bytes_text(&message));
      hsc_bytes_deinit(&message);
      hsc__conform_error_free(c, error);
    }
    if (!called || error)
      return false;
    c->client = args.client;
    if (!c->client)
      hsc__conform_fail(c, "PJRT_Client_Create succeeded and gave no client");
  } else if (c->call_count == 0) {
    // an earlier check made it; the reproducer must make its own
    hsc__conform_step(c, "CALL(a0, PJRT_Client_Create, .struct_size = sizeof a0);");
    hsc__conform_name(c, c->client, "a0.client");
    c->call_count = 1;
  }
  return c->client != NULL;
}

static bool devices(hsc_conform *c, PJRT_Device *const **out, size_t *out_count) {
  *out_count = 0;
  if (!hsc__conform_client(c))
    return false;
  PJRT_Client_AddressableDevices_Args args =
      ARGS_OF(PJRT_Client_AddressableDevices, .client = c->client);
  if (!OK(c, PJRT_Client_AddressableDevices, &args))
    return false;
  *out = args.addressable_devices;
  *out_count = args.num_addressable_devices;
  return true;
}

size_t hsc__conform_device_count(hsc_conform *c) {
  PJRT_Device *const *list;
  size_t count;
  devices(c, &list, &count);
  return count;
}

PJRT_Device *hsc__conform_device(hsc_conform *c, size_t index) {
  PJRT_Device *const *list;
  size_t count;
  if (!devices(c, &list, &count))
    return NULL;
  if (index < count)
    return list[index];
  if (index == 0)
    hsc__conform_fail(c, "the client has no addressable device");
  else
    hsc__conform_absent(c, "needs %zu devices, there are %zu", index + 1, count);
  return NULL;
}

bool hsc__conform_await(hsc_conform *c, PJRT_Event *event, const char *what) {
  if (!event) {
    hsc__conform_fail(c, "%s is NULL", what);
    return false;
  }
  PJRT_Event_Await_Args wait = ARGS_OF(PJRT_Event_Await, .event = event);
  bool called;
  hsc__conform_step(c, HSC_CONFORM_AWAITS "%s", what);
  PJRT_Error *error = hsc__conform_call(c, HSC_FN_PJRT_Event_Await, &wait, &called);
  if (error) {
    hsc_bytes message = {0};
    hsc__conform_message(c, error, &message);
    hsc__conform_fail(c, "%s ended with: %s", what, hsc_bytes_text(&message));
    hsc_bytes_deinit(&message);
    hsc__conform_error_free(c, error);
  }
  PJRT_Event_Destroy_Args destroy = ARGS_OF(PJRT_Event_Destroy, .event = event);
  return OK(c, PJRT_Event_Destroy, &destroy) && called && !error;
}

PJRT_Buffer *hsc__conform_upload_to(hsc_conform *c,
                                    PJRT_Device *device,
                                    PJRT_Buffer_Type type,
                                    const int64_t *dims,
                                    size_t rank,
                                    const void *data,
                                    size_t bytes) {
  hsc__conform_data(c, data, bytes);
  PJRT_Client_BufferFromHostBuffer_Args args =
      ARGS_OF(PJRT_Client_BufferFromHostBuffer, .client = c->client, .data = data, .type = type,
              .dims = dims, .num_dims = rank, .device = device,
              .host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableOnlyDuringCall);
  if (!OK(c, PJRT_Client_BufferFromHostBuffer, &args))
    return NULL;
  if (!args.buffer) {
    hsc__conform_fail(c, "PJRT_Client_BufferFromHostBuffer succeeded and gave no buffer");
    return NULL;
  }
  return hsc__conform_await(c, args.done_with_host_buffer, "the event done_with_host_buffer")
             ? args.buffer
             : NULL;
}

PJRT_Buffer *hsc__conform_upload(hsc_conform *c,
                                 PJRT_Buffer_Type type,
                                 const int64_t *dims,
                                 size_t rank,
                                 const void *data,
                                 size_t bytes) {
  PJRT_Device *device = hsc__conform_device(c, 0);
  return device ? hsc__conform_upload_to(c, device, type, dims, rank, data, bytes) : NULL;
}

PJRT_Buffer *hsc__conform_some_floats(hsc_conform *c) {
  return hsc__conform_upload(c, PJRT_Buffer_Type_F32, hsc__conform_four, 1,
                             hsc__conform_one_to_four, sizeof hsc__conform_one_to_four);
}

void hsc__conform_expect_times(hsc_conform *c, PJRT_Buffer *buffer, float factor) {
  float out[4] = {0};
  if (!buffer || !hsc__conform_download(c, buffer, 1, out, sizeof out))
    return;
  for (int i = 0; i < 4; i++)
    EXPECT(c, out[i] == factor * hsc__conform_one_to_four[i], "element %d is %g, not %g", i, out[i],
           factor * hsc__conform_one_to_four[i]);
}

void hsc__conform_layout_step(hsc_conform *c, const PJRT_Buffer_MemoryLayout *layout) {
  int n = c->call_count;
  hsc_bytes order = {0};
  for (size_t i = 0; i < layout->tiled.minor_to_major_size; i++)
    hsc_bytes_printf(&order, "%s%lld", i ? ", " : "", (long long)layout->tiled.minor_to_major[i]);
  hsc__conform_step(c, "int64_t order%d[] = {%s};", n, order.size ? hsc_bytes_text(&order) : "0");
  hsc__conform_step(c,
                    "PJRT_Buffer_MemoryLayout layout%d = {.struct_size = sizeof layout%d, .tiled = "
                    "{.struct_size = sizeof(PJRT_Buffer_MemoryLayout_Tiled), .minor_to_major = "
                    "order%d, .minor_to_major_size = %zu}};",
                    n, n, n, layout->tiled.minor_to_major_size);
  hsc__conform_name(c, layout, "&layout%d", n);
  hsc_bytes_deinit(&order);
}

bool hsc__conform_download(
    hsc_conform *c, PJRT_Buffer *buffer, size_t rank, void *out, size_t bytes) {
  enum { RANK_MAX = 8 };
  int64_t order[RANK_MAX];
  for (size_t i = 0; i < rank && i < RANK_MAX; i++)
    order[i] = (int64_t)(rank - 1 - i);
  PJRT_Buffer_MemoryLayout layout = {
      .struct_size = PJRT_Buffer_MemoryLayout_STRUCT_SIZE,
      .type = PJRT_Buffer_MemoryLayout_Type_Tiled,
      .tiled = {.struct_size = PJRT_Buffer_MemoryLayout_Tiled_STRUCT_SIZE,
                .minor_to_major = order,
                .minor_to_major_size = rank}};
  PJRT_Buffer_ToHostBuffer_Args size =
      ARGS_OF(PJRT_Buffer_ToHostBuffer, .src = buffer, .host_layout = &layout);
  hsc__conform_layout_step(c, &layout);
  if (!OK(c, PJRT_Buffer_ToHostBuffer, &size))
    return false;
  if (size.dst_size != bytes) {
    hsc__conform_fail(c, "PJRT_Buffer_ToHostBuffer asks for %zu bytes, the array has %zu",
                      size.dst_size, bytes);
    return false;
  }
  hsc__conform_step(c, "static unsigned char out%d[%zu];", c->call_count, bytes ? bytes : 1);
  hsc__conform_name(c, out, "out%d", c->call_count);
  PJRT_Buffer_ToHostBuffer_Args args =
      ARGS_OF(PJRT_Buffer_ToHostBuffer, .src = buffer, .host_layout = &layout, .dst = out,
              .dst_size = bytes);
  return OK(c, PJRT_Buffer_ToHostBuffer, &args) &&
         hsc__conform_await(c, args.event, "the event of PJRT_Buffer_ToHostBuffer");
}

// The bytes live in c until its next call: threads compile at once, each with a c of its own.
static hsc_view options_proto(hsc_conform *c, int replicas, int partitions) {
  hsc_compile_options options = hsc_compile_options_default();
  options.replica_count = replicas;
  options.partition_count = partitions;
  options.use_spmd_partitioning = partitions > 1;
  hsc_bytes_reset(&c->compile_options);
  hsc_status_free(hsc_compile_options_write(&options, &c->compile_options));
  return hsc_bytes_view(&c->compile_options);
}

hsc_view hsc__conform_options_proto(hsc_conform *c) {
  return options_proto(c, 1, 1);
}

void hsc__conform_program_step(hsc_conform *c, const PJRT_Program *program) {
  enum { WIDTH = 400 };  // of a line: programs of many operations would take the page
  hsc__conform_step(c, "static char code%d[] = \"%s\";", c->call_count, "");
  c->steps.size -= 4;  // the empty text and what closes it
  hsc_bytes_append_text(&c->steps, "\n    \"");
  size_t begin = c->steps.size;
  for (const char *at = program->code; *at; at++) {
    bool is_wide = c->steps.size - begin >= WIDTH && at[1];
    if (*at == '\n')
      hsc_bytes_append_text(&c->steps, "\\n");
    else if (*at == '"' || *at == '\\')
      hsc_bytes_printf(&c->steps, "\\%c", *at);
    else
      hsc_bytes_append_char(&c->steps, *at);
    if (is_wide) {
      hsc_bytes_append_text(&c->steps, "\"\n    \"");
      begin = c->steps.size;
    }
  }
  hsc_bytes_append_text(&c->steps, "\";\n");
  hsc__conform_step(c,
                    "PJRT_Program program%d = {.struct_size = sizeof program%d, .code = code%d, "
                    ".code_size = sizeof code%d - 1, .format = \"mlir\", .format_size = 4};",
                    c->call_count, c->call_count, c->call_count, c->call_count);
  hsc__conform_name(c, program, "&program%d", c->call_count);
}

PJRT_LoadedExecutable *hsc__conform_compile(hsc_conform *c, const char *mlir) {
  return hsc__conform_compile_for(c, mlir, 1, 1);
}

PJRT_LoadedExecutable *hsc__conform_compile_for(hsc_conform *c,
                                                const char *mlir,
                                                int replicas,
                                                int partitions) {
  if (!hsc__conform_client(c))
    return NULL;
  PJRT_Program program = {.struct_size = PJRT_Program_STRUCT_SIZE,
                          .code = (char *)mlir,
                          .code_size = strlen(mlir),
                          .format = "mlir",
                          .format_size = 4};
  hsc_view options = options_proto(c, replicas, partitions);
  hsc__conform_program_step(c, &program);
  PJRT_Client_Compile_Args args =
      ARGS_OF(PJRT_Client_Compile, .client = c->client, .program = &program,
              .compile_options = options.data, .compile_options_size = options.size);
  if (!hsc__conform_offered(c, HSC_FN_PJRT_Client_Compile, &args))
    return NULL;
  if (!args.executable)
    hsc__conform_fail(c, "PJRT_Client_Compile succeeded and gave no executable");
  return args.executable;
}

PJRT_TopologyDescription *hsc__conform_topology(hsc_conform *c) {
  if (c->topology)
    return c->topology;
  if (!c->topology_name) {
    if (!hsc__conform_client(c))
      return NULL;
    PJRT_Client_TopologyDescription_Args args =
        ARGS_OF(PJRT_Client_TopologyDescription, .client = c->client);
    return OK(c, PJRT_Client_TopologyDescription, &args) ? args.topology : NULL;
  }
  PJRT_TopologyDescription_Create_Args args =
      ARGS_OF(PJRT_TopologyDescription_Create, .topology_name = c->topology_name,
              .topology_name_size = strlen(c->topology_name), .create_options = c->options,
              .num_options = c->option_count);
  if (OK(c, PJRT_TopologyDescription_Create, &args))
    c->topology = args.topology;
  return c->topology;
}

PJRT_Executable *hsc__conform_executable_of(hsc_conform *c, const char *mlir) {
  if (!c->topology_name)
    return hsc__conform_executable(c, hsc__conform_compile(c, mlir));
  hsc_view options = options_proto(c, 1, 1);
  PJRT_Program program = {.struct_size = PJRT_Program_STRUCT_SIZE,
                          .code = (char *)mlir,
                          .code_size = strlen(mlir),
                          .format = "mlir",
                          .format_size = 4};
  hsc__conform_program_step(c, &program);
  PJRT_Compile_Args args =
      ARGS_OF(PJRT_Compile, .topology = hsc__conform_topology(c), .program = &program,
              .compile_options = options.data, .compile_options_size = options.size);
  return args.topology && OK(c, PJRT_Compile, &args) ? args.executable : NULL;
}

PJRT_Executable *hsc__conform_executable(hsc_conform *c, PJRT_LoadedExecutable *loaded) {
  PJRT_LoadedExecutable_GetExecutable_Args args =
      ARGS_OF(PJRT_LoadedExecutable_GetExecutable, .loaded_executable = loaded);
  return loaded && OK(c, PJRT_LoadedExecutable_GetExecutable, &args) ? args.executable : NULL;
}

bool hsc__conform_execute(hsc_conform *c,
                          PJRT_LoadedExecutable *loaded,
                          PJRT_Buffer *const *arguments,
                          size_t argument_count,
                          PJRT_Buffer **outputs,
                          size_t output_count) {
  PJRT_ExecuteOptions options = {.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE};
  PJRT_Buffer *const *lists[1] = {arguments};
  PJRT_Buffer **const output_lists[1] = {outputs};
  PJRT_Event *events[1] = {NULL};
  int n = c->call_count;
  hsc__conform_step(c, "PJRT_ExecuteOptions options%d = {.struct_size = sizeof options%d};", n, n);
  hsc__conform_step(c, "PJRT_Buffer *in%d[%zu], *made%d[%zu], **made_lists%d[] = {made%d};", n,
                    argument_count + 1, n, output_count + 1, n, n);
  hsc__conform_step(c, "PJRT_Buffer *const *in_lists%d[] = {in%d};", n, n);
  hsc__conform_step(c, "PJRT_Event *events%d[1];", n);
  for (size_t i = 0, end; i < argument_count; i = end) {
    const char *name = hsc__conform_known(c, arguments[i]);
    for (end = i + 1; end < argument_count && arguments[end] == arguments[i];)
      end++;
    if (name && end == i + 1)
      hsc__conform_step(c, "in%d[%zu] = %s;", n, i, name);
    else if (name)
      hsc__conform_step(c, "for (int i = %zu; i < %zu; i++) in%d[i] = %s;", i, end, n, name);
  }
  hsc__conform_name(c, &options, "&options%d", n);
  hsc__conform_name(c, lists, "in_lists%d", n);
  hsc__conform_name(c, output_lists, "made_lists%d", n);
  hsc__conform_name(c, events, "events%d", n);
  PJRT_LoadedExecutable_Execute_Args args =
      ARGS_OF(PJRT_LoadedExecutable_Execute, .executable = loaded, .options = &options,
              .argument_lists = lists, .num_devices = 1, .num_args = argument_count,
              .output_lists = output_lists, .device_complete_events = events);
  if (!OK(c, PJRT_LoadedExecutable_Execute, &args))
    return false;
  for (size_t o = 0; o < output_count; o++) {
    hsc__conform_name(c, outputs[o], "made%d[%zu]", n, o);
    if (!outputs[o]) {
      hsc__conform_fail(c, "PJRT_LoadedExecutable_Execute succeeded and left output %zu empty", o);
      return false;
    }
  }
  hsc__conform_name(c, events[0], "events%d[0]", n);
  return hsc__conform_await(c, events[0], "the execution");
}

PJRT_Buffer *hsc__conform_run_one(hsc_conform *c,
                                  PJRT_LoadedExecutable *loaded,
                                  PJRT_Buffer *argument) {
  PJRT_Buffer *output = NULL;
  return loaded && argument && hsc__conform_execute(c, loaded, &argument, 1, &output, 1) ? output
                                                                                         : NULL;
}

bool hsc__conform_execute_each(hsc_conform *c,
                               PJRT_LoadedExecutable *loaded,
                               size_t device_count,
                               PJRT_Buffer *const *arguments,
                               PJRT_Buffer **outputs) {
  enum { DEVICES_MAX = 8 };
  PJRT_ExecuteOptions options = {.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE};
  PJRT_Buffer *const *lists[DEVICES_MAX];
  PJRT_Buffer **output_lists[DEVICES_MAX];
  PJRT_Event *events[DEVICES_MAX] = {NULL};
  for (size_t d = 0; d < device_count && d < DEVICES_MAX; d++) {
    lists[d] = &arguments[d];
    output_lists[d] = &outputs[d];
  }
  PJRT_LoadedExecutable_Execute_Args args =
      ARGS_OF(PJRT_LoadedExecutable_Execute, .executable = loaded, .options = &options,
              .argument_lists = lists, .num_devices = device_count, .num_args = 1,
              .output_lists = output_lists, .device_complete_events = events);
  if (!OK(c, PJRT_LoadedExecutable_Execute, &args))
    return false;
  for (size_t d = 0; d < device_count; d++) {
    if (!outputs[d]) {
      hsc__conform_fail(c, "PJRT_LoadedExecutable_Execute left the result of device %zu empty", d);
      return false;
    }
    if (!hsc__conform_await(c, events[d], "the execution"))
      return false;
  }
  return true;
}

void hsc__conform_buffer_free(hsc_conform *c, PJRT_Buffer *buffer) {
  PJRT_Buffer_Destroy_Args args = ARGS_OF(PJRT_Buffer_Destroy, .buffer = buffer);
  if (buffer)
    OK(c, PJRT_Buffer_Destroy, &args);
}

// ---- extensions ---------------------------------------------------------------------------------

const void *hsc__conform_extension(hsc_conform *c,
                                   PJRT_Extension_Type type,
                                   size_t least_bytes,
                                   const char *name) {
  const PJRT_Extension_Base *at = c->api->extension_start;
  // a list that goes in a circle has a check of its own (table/extensions)
  for (int i = 0; at && at->type != type; i++)
    at = i < CONFORM_EXTENSIONS_MAX ? at->next : NULL;
  if (at && at->struct_size >= least_bytes)
    return at;
  hsc__conform_absent(c, at ? "the %s extension is an older one" : "there is no %s extension",
                      name);
  return NULL;
}
