// checks_devices.c - one program on two devices: who runs what, collectives, what the host sends
// and receives. A client with one device offers none of it.
#include <stdlib.h>

#include "lab/conform/conform_internal.h"

enum { DEVICES = 2, ELEMENTS = 4 };

// One argument and one result for each device; false ends the check.
static bool run_on_both(hsc_conform *c,
                        PJRT_LoadedExecutable *loaded,
                        const float in[DEVICES][ELEMENTS],
                        PJRT_Buffer *outputs[DEVICES]) {
  PJRT_LoadedExecutable_AddressableDevices_Args on =
      ARGS_OF(PJRT_LoadedExecutable_AddressableDevices, .executable = loaded);
  if (!OK(c, PJRT_LoadedExecutable_AddressableDevices, &on))
    return false;
  if (on.num_addressable_devices != DEVICES) {
    hsc__conform_fail(c, "a program for two devices runs on %zu", on.num_addressable_devices);
    return false;
  }
  PJRT_Buffer *arguments[DEVICES];
  for (int d = 0; d < DEVICES; d++) {
    arguments[d] = hsc__conform_upload_to(c, on.addressable_devices[d], PJRT_Buffer_Type_F32,
                                          hsc__conform_four, 1, in[d], sizeof in[d]);
    if (!arguments[d])
      return false;
  }
  return hsc__conform_execute_each(c, loaded, DEVICES, arguments, outputs);
}

static void expect_values(
    hsc_conform *c, PJRT_Buffer *buffer, size_t count, const float *wanted, const char *what) {
  float out[2 * ELEMENTS] = {0};
  if (!buffer || !hsc__conform_download(c, buffer, 1, out, count * sizeof(float)))
    return;
  for (size_t i = 0; i < count; i++)
    EXPECT(c, out[i] == wanted[i], "%s: element %zu is %g, not %g", what, i, out[i], wanted[i]);
}

// ---- who runs what ------------------------------------------------------------------------------

void hsc__conform_devices_array(hsc_conform *c, int number) {
  PJRT_Device *second = hsc__conform_device(c, 1);
  if (!second)
    return;
  PJRT_Buffer *buffer =
      hsc__conform_upload_to(c, second, PJRT_Buffer_Type_F32, hsc__conform_four, 1,
                             hsc__conform_one_to_four, sizeof hsc__conform_one_to_four);
  PJRT_Buffer_Device_Args of = ARGS_OF(PJRT_Buffer_Device, .buffer = buffer);
  if (!buffer || !OK(c, PJRT_Buffer_Device, &of))
    return;
  EXPECT(c, of.device == second, "an array that was put on the second device is on another");
  hsc__conform_expect_times(c, buffer, 1);
}

void hsc__conform_devices_copy(hsc_conform *c, int number) {
  PJRT_Device *second = hsc__conform_device(c, 1);
  PJRT_Buffer *buffer = second ? hsc__conform_some_floats(c) : NULL;
  PJRT_Buffer_CopyToDevice_Args copy =
      ARGS_OF(PJRT_Buffer_CopyToDevice, .buffer = buffer, .dst_device = second);
  if (!buffer || !OK(c, PJRT_Buffer_CopyToDevice, &copy))
    return;
  PJRT_Buffer_Device_Args of = ARGS_OF(PJRT_Buffer_Device, .buffer = copy.dst_buffer);
  if (!OK(c, PJRT_Buffer_Device, &of))
    return;
  EXPECT(c, of.device == second, "the copy is on another device than was asked for");
  hsc__conform_buffer_free(c, buffer);
  hsc__conform_expect_times(c, copy.dst_buffer, 1);
}

void hsc__conform_devices_assignment(hsc_conform *c, int number) {
  if (!hsc__conform_device(c, 1))
    return;
  int ids[DEVICES] = {-1, -1};
  PJRT_Client_DefaultDeviceAssignment_Args args =
      ARGS_OF(PJRT_Client_DefaultDeviceAssignment, .client = c->client, .num_replicas = DEVICES,
              .num_partitions = 1, .default_assignment_size = DEVICES, .default_assignment = ids);
  if (!OK(c, PJRT_Client_DefaultDeviceAssignment, &args))
    return;
  EXPECT(c, ids[0] != ids[1], "two replicas are both put on device %d", ids[0]);
  for (int d = 0; d < DEVICES; d++) {
    PJRT_Client_LookupDevice_Args find =
        ARGS_OF(PJRT_Client_LookupDevice, .client = c->client, .id = ids[d]);
    if (!OK(c, PJRT_Client_LookupDevice, &find))
      return;
  }
}

static PJRT_LoadedExecutable *compile_for_two(hsc_conform *c, const char *mlir, bool partitions) {
  return hsc__conform_device(c, 1)
             ? hsc__conform_compile_for(c, mlir, partitions ? 1 : DEVICES, partitions ? DEVICES : 1)
             : NULL;
}

static const float inputs[DEVICES][ELEMENTS] = {{1, 2, 3, 4}, {10, 20, 30, 40}};

void hsc__conform_devices_each(hsc_conform *c, int number) {
  static const float wanted[DEVICES][ELEMENTS] = {{2, 4, 6, 8}, {20, 40, 60, 80}};
  PJRT_LoadedExecutable *loaded = compile_for_two(c, hsc__conform_doubles, false);
  PJRT_Buffer *outputs[DEVICES] = {NULL};
  if (!loaded || !run_on_both(c, loaded, inputs, outputs))
    return;
  PJRT_LoadedExecutable_AddressableDevices_Args on =
      ARGS_OF(PJRT_LoadedExecutable_AddressableDevices, .executable = loaded);
  if (!OK(c, PJRT_LoadedExecutable_AddressableDevices, &on))
    return;
  for (int d = 0; d < DEVICES; d++) {
    PJRT_Buffer_Device_Args of = ARGS_OF(PJRT_Buffer_Device, .buffer = outputs[d]);
    if (!OK(c, PJRT_Buffer_Device, &of))
      return;
    EXPECT(c, of.device == on.addressable_devices[d], "result %d is on another device", d);
    expect_values(c, outputs[d], ELEMENTS, wanted[d], d ? "second device" : "first device");
  }
}

void hsc__conform_devices_too_few(hsc_conform *c, int number) {
  PJRT_LoadedExecutable *loaded = compile_for_two(c, hsc__conform_doubles, false);
  PJRT_Buffer *argument = loaded ? hsc__conform_some_floats(c) : NULL;
  if (!argument)
    return;
  PJRT_ExecuteOptions options = {.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE};
  PJRT_Buffer *const *lists[1] = {&argument};
  PJRT_Buffer *outputs[1] = {NULL};
  PJRT_Buffer **const output_lists[1] = {outputs};
  PJRT_LoadedExecutable_Execute_Args args = ARGS_OF(
      PJRT_LoadedExecutable_Execute, .executable = loaded, .options = &options,
      .argument_lists = lists, .num_devices = 1, .num_args = 1, .output_lists = output_lists);
  REFUSED(c, PJRT_LoadedExecutable_Execute, &args, "arguments for one of its two devices");
}

// ---- collectives --------------------------------------------------------------------------------

typedef struct collective {
  const char *name;
  const char *body;  // makes %0 of %a
  int64_t count;     // elements of the result
  bool partitions;   // two partitions, else two replicas
  float wanted[DEVICES][2 * ELEMENTS];
} collective;
#define SUM \
  "({\n  ^bb0(%x: tensor<f32>, %y: tensor<f32>):\n    %s = stablehlo.add %x, %y : tensor<f32>\n" \
  "    stablehlo.return %s : tensor<f32>\n  }) "
#define GROUPS "replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>"
#define PAIR(a, b) "source_target_pairs = dense<" a "> : tensor<" b "x2xi64>"
#define ID(op) \
  "%i = stablehlo." op \
  " : tensor<ui32>\n  %f = stablehlo.convert %i : (tensor<ui32>) -> " \
  "tensor<f32>\n  %b = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<f32>) -> " \
  "tensor<4xf32>\n  %0 = stablehlo.add %a, %b : tensor<4xf32>"
static const collective collectives[] = {
    {"all-reduce",
     "%0 = \"stablehlo.all_reduce\"(%a) " SUM "{" GROUPS "} : (tensor<4xf32>) -> tensor<4xf32>",
     ELEMENTS,
     false,
     {{11, 22, 33, 44}, {11, 22, 33, 44}}},
    {"all-gather",
     "%0 = \"stablehlo.all_gather\"(%a) {all_gather_dim = 0 : i64, " GROUPS
     "} : (tensor<4xf32>) -> tensor<8xf32>",
     2 * ELEMENTS,
     false,
     {{1, 2, 3, 4, 10, 20, 30, 40}, {1, 2, 3, 4, 10, 20, 30, 40}}},
    {"reduce-scatter",
     "%0 = \"stablehlo.reduce_scatter\"(%a) " SUM "{" GROUPS
     ", scatter_dimension = 0 : i64} : (tensor<4xf32>) -> tensor<2xf32>",
     2,
     false,
     {{11, 22}, {33, 44}}},
    {"all-to-all",
     "%0 = \"stablehlo.all_to_all\"(%a) {concat_dimension = 0 : i64, " GROUPS
     ", split_count = 2 : i64, split_dimension = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32>",
     ELEMENTS,
     false,
     {{1, 2, 10, 20}, {3, 4, 30, 40}}},
    {"permute-swap",
     "%0 = \"stablehlo.collective_permute\"(%a) {" PAIR("[[0, 1], [1, 0]]",
                                                        "2") "} : (tensor<4xf32>) -> tensor<4xf32>",
     ELEMENTS,
     false,
     {{10, 20, 30, 40}, {1, 2, 3, 4}}},
    {"permute-to-nobody",
     "%0 = \"stablehlo.collective_permute\"(%a) {" PAIR("[[0, 1]]",
                                                        "1") "} : (tensor<4xf32>) -> tensor<4xf32>",
     ELEMENTS,
     false,
     {{0, 0, 0, 0}, {1, 2, 3, 4}}},
    {"replica-id", ID("replica_id"), ELEMENTS, false, {{1, 2, 3, 4}, {11, 21, 31, 41}}},
    {"partition-id", ID("partition_id"), ELEMENTS, true, {{1, 2, 3, 4}, {11, 21, 31, 41}}},
    {"all-reduce-partitions",
     "%0 = \"stablehlo.all_reduce\"(%a) " SUM "{" GROUPS
     ", channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids} "
     ": (tensor<4xf32>) -> tensor<4xf32>",
     ELEMENTS,
     true,
     {{11, 22, 33, 44}, {11, 22, 33, 44}}},
    {"twice-in-a-row",
     "%q = \"stablehlo.all_reduce\"(%a) " SUM "{" GROUPS
     "} : (tensor<4xf32>) -> tensor<4xf32>\n  %0 = \"stablehlo.collective_permute\"(%q) {" PAIR(
         "[[0, 1], [1, 0]]", "2") "} : (tensor<4xf32>) -> tensor<4xf32>",
     ELEMENTS,
     false,
     {{11, 22, 33, 44}, {11, 22, 33, 44}}},
};

int hsc__conform_devices_collective_count(void) {
  return (int)HSC_COUNT_OF(collectives);
}

void hsc__conform_devices_collective_name(int number, char out_text[64]) {
  snprintf(out_text, 64, "%s", collectives[number].name);
}

void hsc__conform_devices_collective(hsc_conform *c, int number) {
  const collective *v = &collectives[number];
  hsc_bytes text = {0};
  hsc_bytes_printf(&text,
                   "module @m { func.func public @main(%%a: tensor<4xf32>) -> tensor<%lldxf32> {\n"
                   "  %s\n  return %%0 : tensor<%lldxf32>\n} }\n",
                   (long long)v->count, v->body, (long long)v->count);
  PJRT_LoadedExecutable *loaded = compile_for_two(c, hsc_bytes_text(&text), v->partitions);
  PJRT_Buffer *outputs[DEVICES] = {NULL};
  // a second run shows what the first one left behind
  for (int run = 0; run < 2 && loaded && run_on_both(c, loaded, inputs, outputs); run++)
    for (int d = 0; d < DEVICES; d++)
      expect_values(c, outputs[d], (size_t)v->count, v->wanted[d],
                    d ? "second device" : "first device");
  hsc_bytes_deinit(&text);
}

// ---- what the host sends and receives -----------------------------------------------------------

static PJRT_Error *take_chunk(PJRT_Chunk *chunk,
                              PJRT_CallbackError *callback_error,
                              size_t total_size_in_bytes,
                              bool done,
                              void *user_arg) {
  float *out = user_arg;
  if (chunk->size <= ELEMENTS * sizeof *out)
    memcpy(out, chunk->data, chunk->size);
  if (chunk->deleter)
    chunk->deleter(chunk->data, chunk->deleter_arg);
  return NULL;
}

void hsc__conform_devices_send(hsc_conform *c, int number) {
  static const char sends[] =
      "module @m { func.func public @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n"
      "  %t = stablehlo.create_token : !stablehlo.token\n"
      "  %u = \"stablehlo.send\"(%a, %t) {channel_handle = #stablehlo.channel_handle<handle = 3, "
      "type = 2>, is_host_transfer = true} : (tensor<4xf32>, !stablehlo.token) -> "
      "!stablehlo.token\n"
      "  %0 = stablehlo.add %a, %a : tensor<4xf32>\n  return %0 : tensor<4xf32>\n} }\n";
  static float sent[ELEMENTS];
  PJRT_LoadedExecutable *loaded = hsc__conform_compile(c, sends);
  PJRT_Buffer *argument = loaded ? hsc__conform_some_floats(c) : NULL;
  if (!argument)
    return;
  PJRT_SendCallbackInfo info = {.channel_id = 3, .user_arg = sent, .send_callback = take_chunk};
  PJRT_SendCallbackInfo *of_device[1] = {&info};
  PJRT_ExecuteOptions options = {.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE,
                                 .send_callbacks = of_device,
                                 .num_send_ops = 1};
  PJRT_Buffer *const *lists[1] = {&argument};
  PJRT_Buffer *outputs[1] = {NULL};
  PJRT_Buffer **const output_lists[1] = {outputs};
  PJRT_Event *events[1] = {NULL};
  PJRT_LoadedExecutable_Execute_Args args =
      ARGS_OF(PJRT_LoadedExecutable_Execute, .executable = loaded, .options = &options,
              .argument_lists = lists, .num_devices = 1, .num_args = 1,
              .output_lists = output_lists, .device_complete_events = events);
  if (!hsc__conform_offered(c, HSC_FN_PJRT_LoadedExecutable_Execute, &args) ||
      !hsc__conform_await(c, events[0], "the execution"))
    return;
  hsc__conform_expect_times(c, outputs[0], 2);
  for (int i = 0; i < ELEMENTS; i++)
    EXPECT(c, sent[i] == hsc__conform_one_to_four[i], "element %d was sent as %g, not %g", i,
           sent[i], hsc__conform_one_to_four[i]);
}
