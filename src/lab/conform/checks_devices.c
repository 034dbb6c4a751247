// checks_devices.c - one program on two devices: who runs what, collectives, what the host sends
// and receives. A client with one device offers none of it.
#include <stdatomic.h>
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
  if (!hsc__conform_device(c, 1))
    return NULL;
  return hsc__conform_compile_for(c, mlir, partitions ? 1 : DEVICES, partitions ? DEVICES : 1);
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

// Runs a program of one argument and one result on device 0; false ends the check.
static bool execute_with(hsc_conform *c,
                         PJRT_LoadedExecutable *loaded,
                         PJRT_Buffer *argument,
                         PJRT_ExecuteOptions *options,
                         PJRT_Buffer *outputs[1]) {
  PJRT_Buffer *const *lists[1] = {&argument};
  PJRT_Buffer **const output_lists[1] = {outputs};
  PJRT_Event *events[1] = {NULL};
  PJRT_LoadedExecutable_Execute_Args args =
      ARGS_OF(PJRT_LoadedExecutable_Execute, .executable = loaded, .options = options,
              .argument_lists = lists, .num_devices = 1, .num_args = 1,
              .output_lists = output_lists, .device_complete_events = events);
  return hsc__conform_offered(c, HSC_FN_PJRT_LoadedExecutable_Execute, &args) &&
         hsc__conform_await(c, events[0], "the execution");
}

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
  PJRT_Buffer *outputs[1] = {NULL};
  if (!execute_with(c, loaded, argument, &options, outputs))
    return;
  hsc__conform_expect_times(c, outputs[0], 2);
  for (int i = 0; i < ELEMENTS; i++)
    EXPECT(c, sent[i] == hsc__conform_one_to_four[i], "element %d was sent as %g, not %g", i,
           sent[i], hsc__conform_one_to_four[i]);
}

// What the host gives in answer to one receive. The plugin calls back on a thread of its own
// choice, so nothing is reported there: the check looks at it once the run is over.
typedef struct giver {
  const PJRT_Api *api;
  PJRT_CopyToDeviceStream *stream;
  int64_t total, granule, first, counted;  // bytes; counted after the first chunk
  PJRT_Event *arrived[2];
  PJRT_Error *error;        // of the first call that failed; the check's
  bool is_excess_taken;     // four bytes more than there is room for
  _Atomic int freed_count;  // chunks whose deleter was called
} giver;

static void count_freed(void *data, void *deleter_arg) {
  atomic_fetch_add(&((giver *)deleter_arg)->freed_count, 1);
}

static PJRT_Error *add_chunk(giver *g, const float *data, size_t bytes, PJRT_Event **out_event) {
  PJRT_Chunk chunk = {
      .data = (void *)data, .size = bytes, .deleter = count_freed, .deleter_arg = g};
  PJRT_CopyToDeviceStream_AddChunk_Args args =
      ARGS_OF(PJRT_CopyToDeviceStream_AddChunk, .stream = g->stream, .chunk = &chunk);
  PJRT_Error *error = g->api->PJRT_CopyToDeviceStream_AddChunk(&args);
  *out_event = args.transfer_complete;
  return error;
}

// More than the receive has room for: an error at once, or one that the event tells.
static bool is_excess_taken(giver *g) {
  static const float more[1] = {9};
  PJRT_Event *event = NULL;
  PJRT_Error *error = add_chunk(g, more, sizeof more, &event);
  PJRT_Event_Await_Args wait = ARGS_OF(PJRT_Event_Await, .event = event);
  if (!error && event)
    error = g->api->PJRT_Event_Await(&wait);
  PJRT_Error_Destroy_Args destroy = ARGS_OF(PJRT_Error_Destroy, .error = error);
  if (error)
    g->api->PJRT_Error_Destroy(&destroy);
  return !error;
}

static void give_two_chunks(PJRT_CopyToDeviceStream *stream, void *user_arg) {
  giver *g = user_arg;
  g->stream = stream;
  PJRT_CopyToDeviceStream_TotalBytes_Args total =
      ARGS_OF(PJRT_CopyToDeviceStream_TotalBytes, .stream = stream);
  PJRT_CopyToDeviceStream_GranuleSize_Args granule =
      ARGS_OF(PJRT_CopyToDeviceStream_GranuleSize, .stream = stream);
  PJRT_CopyToDeviceStream_CurrentBytes_Args current =
      ARGS_OF(PJRT_CopyToDeviceStream_CurrentBytes, .stream = stream);
  if ((g->error = g->api->PJRT_CopyToDeviceStream_TotalBytes(&total)) ||
      (g->error = g->api->PJRT_CopyToDeviceStream_GranuleSize(&granule)))
    return;
  g->total = total.total_bytes;
  g->granule = granule.granule_size_in_bytes;
  // two chunks where the parts may be so small, else one
  size_t bytes = ELEMENTS * sizeof(float);
  size_t first = g->granule > 0 && bytes / 2 % (size_t)g->granule == 0 ? bytes / 2 : bytes;
  if ((g->error = add_chunk(g, hsc__conform_one_to_four, first, &g->arrived[0])) ||
      (g->error = g->api->PJRT_CopyToDeviceStream_CurrentBytes(&current)))
    return;
  g->first = (int64_t)first;
  g->counted = current.current_bytes;
  if (first < bytes)
    g->error = add_chunk(g, hsc__conform_one_to_four + first / sizeof(float), bytes - first,
                         &g->arrived[1]);
  if (!g->error)
    g->is_excess_taken = is_excess_taken(g);
}

// The streams' functions are optional, and the callback cannot say that one is missing.
static bool has_streams(hsc_conform *c) {
  static const hsc_pjrt_function needed[] = {
      HSC_FN_PJRT_CopyToDeviceStream_AddChunk, HSC_FN_PJRT_CopyToDeviceStream_TotalBytes,
      HSC_FN_PJRT_CopyToDeviceStream_GranuleSize, HSC_FN_PJRT_CopyToDeviceStream_CurrentBytes,
      HSC_FN_PJRT_CopyToDeviceStream_Destroy};
  for (size_t i = 0; i < HSC_COUNT_OF(needed); i++)
    if (!hsc__conform_has(c, needed[i])) {
      hsc__conform_absent(c, "%s is not in the table", hsc_pjrt_function_get(needed[i])->name);
      return false;
    }
  return true;
}

static void look_at_what_was_given(hsc_conform *c, giver *g) {
  EXPECT(c, g->stream, "nobody called back for the receive");
  if (g->error) {
    hsc_bytes message = {0};
    hsc__conform_message(c, g->error, &message);
    FAIL(c, "a call on the stream failed: %s", hsc_bytes_text(&message));
  }
  EXPECT(c, g->total == ELEMENTS * sizeof(float), "it wants %lld bytes, the array has 16",
         (long long)g->total);
  EXPECT(c, g->granule > 0, "its granule is %lld bytes", (long long)g->granule);
  EXPECT(c, g->counted == g->first, "after a chunk of %lld bytes it counts %lld",
         (long long)g->first, (long long)g->counted);
  EXPECT(c, !g->is_excess_taken, "it took more bytes than it has room for");
  int chunks = 1;  // and the one too many, which may be freed or left to the host
  if (!hsc__conform_await(c, g->arrived[0], "the event of a chunk"))
    return;
  if (g->arrived[1]) {
    chunks++;
    if (!hsc__conform_await(c, g->arrived[1], "the event of a chunk"))
      return;
  }
  PJRT_CopyToDeviceStream_Destroy_Args destroy =
      ARGS_OF(PJRT_CopyToDeviceStream_Destroy, .stream = g->stream);
  if (!OK(c, PJRT_CopyToDeviceStream_Destroy, &destroy))
    return;
  int freed = atomic_load(&g->freed_count);
  EXPECT(c, freed == chunks || freed == chunks + 1, "of %d chunks the deleters of %d were called",
         chunks, freed);
}

void hsc__conform_devices_receive(hsc_conform *c, int number) {
  static const char receives[] =
      "module @m { func.func public @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n"
      "  %t = stablehlo.create_token : !stablehlo.token\n"
      "  %r, %u = \"stablehlo.recv\"(%t) {channel_handle = #stablehlo.channel_handle<handle = 4, "
      "type = 3>, is_host_transfer = true} : (!stablehlo.token) -> (tensor<4xf32>, "
      "!stablehlo.token)\n"
      "  %0 = stablehlo.add %a, %r : tensor<4xf32>\n  return %0 : tensor<4xf32>\n} }\n";
  static giver g;  // outlives the check, should the plugin call late
  g = (giver){.api = c->api};
  PJRT_LoadedExecutable *loaded = hsc__conform_compile(c, receives);
  PJRT_Buffer *argument = loaded && has_streams(c) ? hsc__conform_some_floats(c) : NULL;
  if (!argument)
    return;
  PJRT_RecvCallbackInfo info = {.channel_id = 4, .user_arg = &g, .recv_callback = give_two_chunks};
  PJRT_RecvCallbackInfo *of_device[1] = {&info};
  PJRT_ExecuteOptions options = {.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE,
                                 .recv_callbacks = of_device,
                                 .num_recv_ops = 1};
  PJRT_Buffer *outputs[1] = {NULL};
  if (!execute_with(c, loaded, argument, &options, outputs))
    return;
  look_at_what_was_given(c, &g);
  if (c->outcome == HSC_CONFORM_PASS)
    hsc__conform_expect_times(c, outputs[0], 2);
}
