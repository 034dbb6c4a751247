// bench_tracer_calls.c - what the tracer adds to one PJRT call: each slot called many times in a
// row, straight and through the tracer, taking turns in one process.
//
//   bench_tracer_calls PLUGIN.so TRACER.so      the capture goes to a folder of its own under /tmp,
//   which is removed
// Prints one line a slot: name, median ns straight, traced, added, and the 10th and 90th percentile
// of what is added over all batches.
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

#include "pjrt/client.h"

enum { BATCH = 64, BATCHES = 1500, WARM = 100 };

// One way to the plugin, and what the calls work on.
typedef struct side {
  const PJRT_Api *api;
  PJRT_Client *client;
  PJRT_Device *device;
  PJRT_LoadedExecutable *executable;
  PJRT_Buffer *x, *made[BATCH];
  PJRT_Event *events[BATCH];
} side;

static PJRT_Error *failure;  // the first one
static const PJRT_Api *failed_by;

#define ARGS(function, ...) \
  &(function##_Args) { \
    .struct_size = function##_Args_STRUCT_SIZE, __VA_ARGS__ \
  }
#define CALL(side, function, args) \
  do { \
    PJRT_Error *error_ = (side)->api->function(args); \
    if (error_ && !failure) \
      failure = error_, failed_by = (side)->api; \
  } while (0)

// Processor time: other programs on the machine do not count. Read once a batch.
static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static const float data[4] = {1, 2, 3, 4};
static const int64_t dims[2] = {2, 2};

static PJRT_Buffer *from_host(side *s) {
  PJRT_Client_BufferFromHostBuffer_Args args = {
      .struct_size = PJRT_Client_BufferFromHostBuffer_Args_STRUCT_SIZE,
      .client = s->client,
      .data = data,
      .type = PJRT_Buffer_Type_F32,
      .dims = dims,
      .num_dims = 2,
      .host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableOnlyDuringCall,
      .device = s->device};
  CALL(s, PJRT_Client_BufferFromHostBuffer, &args);
  if (args.done_with_host_buffer)
    CALL(s, PJRT_Event_Destroy, ARGS(PJRT_Event_Destroy, .event = args.done_with_host_buffer));
  return args.buffer;
}

static void drop_made(side *s) {
  for (int i = 0; i < BATCH; i++) {
    if (s->made[i])
      CALL(s, PJRT_Buffer_Destroy, ARGS(PJRT_Buffer_Destroy, .buffer = s->made[i]));
    if (s->events[i])
      CALL(s, PJRT_Event_Destroy, ARGS(PJRT_Event_Destroy, .event = s->events[i]));
    s->made[i] = NULL;
    s->events[i] = NULL;
  }
}

// ---- the slots: each prepares, is timed, and leaves what it made in made and events ----

static void execute(side *s, int i, bool event) {
  PJRT_ExecuteOptions options = {.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE};
  PJRT_Buffer *const arguments[1] = {s->x};
  PJRT_Buffer *const *const lists[1] = {arguments};
  PJRT_Buffer **outputs[1] = {&s->made[i]};
  CALL(s, PJRT_LoadedExecutable_Execute,
       ARGS(PJRT_LoadedExecutable_Execute, .executable = s->executable, .options = &options,
            .argument_lists = lists, .num_devices = 1, .num_args = 1, .output_lists = outputs,
            .device_complete_events = event ? &s->events[i] : NULL));
}
static void run_with_event(side *s, int i) {
  execute(s, i, true);
}
static void run_without_event(side *s, int i) {
  execute(s, i, false);
}
static void to_device(side *s, int i) {
  s->made[i] = from_host(s);
}
static void to_host(side *s, int i) {
  float out[4];
  PJRT_Buffer_ToHostBuffer_Args args = {.struct_size = PJRT_Buffer_ToHostBuffer_Args_STRUCT_SIZE,
                                        .src = s->x,
                                        .dst = out,
                                        .dst_size = sizeof out};
  CALL(s, PJRT_Buffer_ToHostBuffer, &args);
  s->events[i] = args.event;
}
static void prepare_event(side *s, int i) {
  execute(s, i, true);
}
static void await(side *s, int i) {
  CALL(s, PJRT_Event_Await, ARGS(PJRT_Event_Await, .event = s->events[i]));
}
static void callback(PJRT_Error *error, void *user) {
  (void)error;
  (void)user;
}
static void on_ready(side *s, int i) {
  CALL(s, PJRT_Event_OnReady,
       ARGS(PJRT_Event_OnReady, .event = s->events[i], .callback = callback));
}
static void prepare_buffer(side *s, int i) {
  s->made[i] = from_host(s);
}
static void destroy(side *s, int i) {
  CALL(s, PJRT_Buffer_Destroy, ARGS(PJRT_Buffer_Destroy, .buffer = s->made[i]));
  s->made[i] = NULL;
}

static const struct {
  const char *name;
  void (*prepare)(side *, int), (*call)(side *, int);
} slots[] = {{"LoadedExecutable_Execute, event asked for", NULL, run_with_event},
             {"LoadedExecutable_Execute, no event", NULL, run_without_event},
             {"Client_BufferFromHostBuffer", NULL, to_device},
             {"Buffer_ToHostBuffer", NULL, to_host},
             {"Event_Await", prepare_event, await},
             {"Event_OnReady, ready already", prepare_event, on_ready},
             {"Buffer_Destroy", prepare_buffer, destroy}};

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a;
  double y = *(const double *)b;
  return (x > y) - (x < y);
}

static double batch(side *s, size_t slot) {
  for (int i = 0; i < BATCH && slots[slot].prepare; i++)
    slots[slot].prepare(s, i);
  double start = now_ns();
  for (int i = 0; i < BATCH; i++)
    slots[slot].call(s, i);
  double each = (now_ns() - start) / BATCH;
  drop_made(s);
  return each;
}

static void measure(side *plain, side *traced, size_t slot) {
  static double of[3][BATCHES];
  for (int b = -WARM; b < BATCHES; b++) {
    double first = batch(b & 1 ? plain : traced, slot);
    double second = batch(b & 1 ? traced : plain, slot);
    if (b < 0)
      continue;
    of[0][b] = b & 1 ? first : second;
    of[1][b] = b & 1 ? second : first;
    of[2][b] = of[1][b] - of[0][b];
  }
  for (int i = 0; i < 3; i++)
    qsort(of[i], BATCHES, sizeof of[i][0], by_value);
  printf("%-44s %8.1f %8.1f  added %7.1f  (%.1f .. %.1f) ns\n", slots[slot].name,
         of[0][BATCHES / 2], of[1][BATCHES / 2], of[2][BATCHES / 2], of[2][BATCHES / 10],
         of[2][BATCHES * 9 / 10]);
}

static bool open_side(side *s, const PJRT_Api *api) {
  if (!api)
    return false;
  s->api = api;
  CALL(s, PJRT_Plugin_Initialize, ARGS(PJRT_Plugin_Initialize, .extension_start = NULL));
  PJRT_Client_Create_Args create = {.struct_size = PJRT_Client_Create_Args_STRUCT_SIZE};
  CALL(s, PJRT_Client_Create, &create);
  if (failure)
    return false;
  s->client = create.client;
  PJRT_Client_AddressableDevices_Args devices = {
      .struct_size = PJRT_Client_AddressableDevices_Args_STRUCT_SIZE, .client = s->client};
  CALL(s, PJRT_Client_AddressableDevices, &devices);
  if (failure || !devices.num_addressable_devices)
    return false;
  s->device = devices.addressable_devices[0];
  static char text[] =
      "HloModule negate\nENTRY main {\n  x = f32[2,2] parameter(0)\n  ROOT n = f32[2,2] "
      "negate(x)\n}\n";
  static char format[] = "hlo";
  PJRT_Program program = {.struct_size = PJRT_Program_STRUCT_SIZE,
                          .code = text,
                          .code_size = sizeof text - 1,
                          .format = format,
                          .format_size = 3};
  hsc_bytes options = {0};
  hsc_compile_options defaults = hsc_compile_options_default();
  hsc_status_free(hsc_compile_options_write(&defaults, &options));
  PJRT_Client_Compile_Args compile = {.struct_size = PJRT_Client_Compile_Args_STRUCT_SIZE,
                                      .client = s->client,
                                      .program = &program,
                                      .compile_options = options.data,
                                      .compile_options_size = options.size};
  CALL(s, PJRT_Client_Compile, &compile);
  hsc_bytes_deinit(&options);
  if (failure)
    return false;
  s->executable = compile.executable;
  s->x = from_host(s);
  return !failure;
}

int main(int argc, char **argv) {
  if (argc != 3) {
    fputs("usage: bench_tracer_calls PLUGIN.so TRACER.so\n", stderr);
    return 2;
  }
  char directory[] = "/tmp/hloscope-bench-XXXXXX";
  char command[64];
  if (!mkdtemp(directory) || setenv("HLOSCOPE_OUTPUT_PATH", directory, 1) ||
      setenv("HLOSCOPE_TRACED_PLUGIN", argv[1], 1))
    return 1;
  static side plain, traced;
  const PJRT_Api *(*get[2])(void) = {NULL, NULL};
  for (int i = 0; i < 2; i++) {
    void *library = dlopen(argv[1 + i], RTLD_NOW | RTLD_LOCAL);
    void *found = library ? dlsym(library, "GetPjrtApi") : NULL;
    if (!found) {
      fprintf(stderr, "bench_tracer_calls: %s\n", dlerror());
      return 1;
    }
    memcpy(&get[i], &found, sizeof found);
  }
  bool open = open_side(&plain, get[0]()) && open_side(&traced, get[1]());
  for (size_t i = 0; open && !failure && i < HSC_COUNT_OF(slots); i++)
    measure(&plain, &traced, i);
  if (failure) {
    PJRT_Error_Message_Args message = {.struct_size = PJRT_Error_Message_Args_STRUCT_SIZE,
                                       .error = failure};
    failed_by->PJRT_Error_Message(&message);
    fprintf(stderr, "bench_tracer_calls: %.*s\n", (int)message.message_size, message.message);
  }
  snprintf(command, sizeof command, "rm -rf %s", directory);
  return system(command) || !open || failure;
}
