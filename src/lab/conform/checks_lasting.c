// checks_lasting.c - answers that must last, and that must agree with the bytes: lists and texts of
// two objects, what the host lends for a call, the layout of an array, kinds of memory, what
// callbacks may call.
#include <stdatomic.h>

#include "base/core/clock.h"
#include "lab/conform/conform_internal.h"

// ---- lists and texts ----------------------------------------------------------------------------

typedef enum owner { OF_BUFFER, OF_EXECUTABLE, OF_DESCRIPTION, OF_MEMORY } owner;

// A function whose answer is a pointer and then a count, or the other way round, after the object.
typedef struct listing {
  hsc_pjrt_function function;
  owner owner;
  size_t bytes;  // of the arguments
  size_t unit;   // bytes of an element
  bool count_first;
} listing;
#define LISTING(function, owner, unit) \
  {HSC_FN_##function, owner, function##_Args_STRUCT_SIZE, unit, false}
static const listing listings[] = {
    LISTING(PJRT_Buffer_Dimensions, OF_BUFFER, sizeof(int64_t)),
    LISTING(PJRT_Buffer_UnpaddedDimensions, OF_BUFFER, sizeof(int64_t)),
    LISTING(PJRT_Executable_Name, OF_EXECUTABLE, 1),
    LISTING(PJRT_Executable_Fingerprint, OF_EXECUTABLE, 1),
    LISTING(PJRT_Executable_OutputElementTypes, OF_EXECUTABLE, sizeof(PJRT_Buffer_Type)),
    {HSC_FN_PJRT_Executable_GetCostAnalysis, OF_EXECUTABLE,
     PJRT_Executable_GetCostAnalysis_Args_STRUCT_SIZE, sizeof(PJRT_NamedValue),
     .count_first = true},
    LISTING(PJRT_DeviceDescription_ToString, OF_DESCRIPTION, 1),
    LISTING(PJRT_DeviceDescription_DebugString, OF_DESCRIPTION, 1),
    LISTING(PJRT_Memory_ToString, OF_MEMORY, 1),
    LISTING(PJRT_Memory_DebugString, OF_MEMORY, 1),
};

// As the rows above have them.
typedef union listing_args {
  struct {
    size_t struct_size;
    void *extension_start;
    void *object;
    const void *list;
    size_t count;
  };
  struct {
    void *before[3];
    size_t count_before;
    const void *list_after;
  };
  unsigned char bytes[512];
} listing_args;

static bool list_of(hsc_conform *c, const listing *l, listing_args *args) {
  if (!hsc__conform_ok(c, l->function, args))
    return false;
  if (l->count_first) {
    size_t count = args->count_before;
    args->list = args->list_after;
    args->count = count;
  }
  return true;
}

int hsc__conform_getter_lasts_count(void) {
  return (int)HSC_COUNT_OF(listings);
}

void hsc__conform_getter_lasts_name(int number, char out_text[64]) {
  snprintf(out_text, 64, "%s", hsc_pjrt_function_get(listings[number].function)->name);
}

static PJRT_Buffer *array_of(hsc_conform *c, int which) {
  static const float values[24] = {1, 2, 3};
  static const int64_t dims[2][3] = {{2, 3, 4}, {4, 3, 2}};
  return hsc__conform_upload(c, PJRT_Buffer_Type_F32, dims[which], 3, values, sizeof values);
}

static PJRT_Executable *program_of(hsc_conform *c, int which) {
  static const char *const programs[] = {
      "module @first { func.func public @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n"
      "  %0 = stablehlo.add %a, %a : tensor<4xf32>\n  return %0 : tensor<4xf32>\n} }\n",
      "module @other { func.func public @main(%a: tensor<4xi32>) -> tensor<4xi32> {\n"
      "  %0 = stablehlo.add %a, %a : tensor<4xi32>\n  return %0 : tensor<4xi32>\n} }\n"};
  return hsc__conform_executable_of(c, programs[which]);
}

static PJRT_Memory *memory_of(hsc_conform *c, size_t which) {
  if (!hsc__conform_client(c))
    return NULL;
  PJRT_Client_AddressableMemories_Args args =
      ARGS_OF(PJRT_Client_AddressableMemories, .client = c->client);
  if (!OK(c, PJRT_Client_AddressableMemories, &args))
    return NULL;
  if (which < args.num_addressable_memories)
    return args.addressable_memories[which];
  hsc__conform_absent(c, "needs two memories, there is %zu", args.num_addressable_memories);
  return NULL;
}

// The first or second of its kind; NULL ends the check.
static void *object_of(hsc_conform *c, owner of, int which) {
  PJRT_Device_GetDescription_Args description = ARGS_OF(PJRT_Device_GetDescription, .device = NULL);
  switch (of) {
    case OF_BUFFER:
      return array_of(c, which);
    case OF_EXECUTABLE:
      return program_of(c, which);
    case OF_MEMORY:
      return memory_of(c, (size_t)which);
    case OF_DESCRIPTION:
      description.device = hsc__conform_device(c, (size_t)which);
      return description.device && OK(c, PJRT_Device_GetDescription, &description)
                 ? description.device_description
                 : NULL;
  }
  return NULL;
}

void hsc__conform_getter_lasts(hsc_conform *c, int number) {
  enum { MOST_BYTES = 1 << 16 };
  const listing *l = &listings[number];
  void *first = object_of(c, l->owner, 0);
  void *second = first ? object_of(c, l->owner, 1) : NULL;
  if (!second)
    return;
  listing_args of_first = {.struct_size = l->bytes, .object = first};
  listing_args of_second = {.struct_size = l->bytes, .object = second};
  if (!list_of(c, l, &of_first))
    return;
  EXPECT(c, of_first.list && of_first.count < MOST_BYTES, "%zu elements at %p", of_first.count,
         of_first.list);
  void *kept = hsc_arena_copy(c->arena, of_first.list, of_first.count * l->unit + 1);
  EXPECT(c, kept, "no memory");
  if (!list_of(c, l, &of_second))
    return;
  EXPECT(c, !memcmp(kept, of_first.list, of_first.count * l->unit),
         "what the first one's pointer points to is another once the second one is asked%s",
         of_first.list == of_second.list ? ": both got the same pointer" : "");
}

// ---- what one error, one program and one executable share with another --------------------------

void hsc__conform_table_messages(hsc_conform *c, int number) {
  enum { WHICH = 2 };
  static const hsc_pjrt_function functions[WHICH] = {HSC_FN_PJRT_Client_PlatformName,
                                                     HSC_FN_PJRT_Client_Compile};
  PJRT_Error *errors[WHICH] = {NULL};
  PJRT_Error_Message_Args messages[WHICH];
  for (int i = 0; i < WHICH; i++) {
    size_t short_size = sizeof short_size;
    bool called;
    errors[i] = hsc__conform_call(c, functions[i], &short_size, &called);
    if (!called || !errors[i])  // struct-size/short says what is wrong then
      return;
  }
  hsc_bytes first = {0};
  hsc__conform_message(c, errors[0], &first);
  for (int i = 0; i < WHICH; i++) {
    messages[i] = (PJRT_Error_Message_Args){.struct_size = PJRT_Error_Message_Args_STRUCT_SIZE,
                                            .error = errors[i]};
    c->api->PJRT_Error_Message(&messages[i]);
  }
  bool is_kept = hsc_view_equals(hsc_bytes_view(&first),
                                 (hsc_view){messages[0].message, messages[0].message_size});
  hsc_bytes_deinit(&first);
  for (int i = 0; i < WHICH; i++)
    hsc__conform_error_free(c, errors[i]);
  EXPECT(c, is_kept, "the message of an error is another one once another error is asked");
}

static void destroy_loaded(hsc_conform *c, PJRT_LoadedExecutable *loaded) {
  PJRT_LoadedExecutable_Destroy_Args args =
      ARGS_OF(PJRT_LoadedExecutable_Destroy, .executable = loaded);
  OK(c, PJRT_LoadedExecutable_Destroy, &args);
}

void hsc__conform_compile_again(hsc_conform *c, int number) {
  PJRT_LoadedExecutable *first = hsc__conform_compile(c, hsc__conform_doubles);
  PJRT_LoadedExecutable *second = first ? hsc__conform_compile(c, hsc__conform_doubles) : NULL;
  if (!second)
    return;
  destroy_loaded(c, first);
  hsc__conform_expect_times(c, hsc__conform_run_one(c, second, hsc__conform_some_floats(c)), 2);
}

void hsc__conform_executable_twice(hsc_conform *c, int number) {
  PJRT_LoadedExecutable *loaded = hsc__conform_compile(c, hsc__conform_doubles);
  PJRT_Executable *first = hsc__conform_executable(c, loaded);
  PJRT_Executable *second = first ? hsc__conform_executable(c, loaded) : NULL;
  PJRT_Executable_Destroy_Args destroy = ARGS_OF(PJRT_Executable_Destroy, .executable = first);
  PJRT_Executable_NumOutputs_Args outputs =
      ARGS_OF(PJRT_Executable_NumOutputs, .executable = second);
  if (!second || !OK(c, PJRT_Executable_Destroy, &destroy) ||
      !OK(c, PJRT_Executable_NumOutputs, &outputs))
    return;
  EXPECT(c, outputs.num_outputs == 1,
         "it has %zu outputs after another one of the same program "
         "was destroyed",
         outputs.num_outputs);
  destroy.executable = second;
  OK(c, PJRT_Executable_Destroy, &destroy);
}

void hsc__conform_executable_borrowed(hsc_conform *c, int number) {
  PJRT_Executable_Serialize_Args made = ARGS_OF(
      PJRT_Executable_Serialize, .executable = hsc__conform_executable_of(c, hsc__conform_doubles));
  if (!made.executable || !hsc__conform_client(c) || !OK(c, PJRT_Executable_Serialize, &made))
    return;
  char *bytes = hsc_arena_copy(c->arena, made.serialized_bytes, made.serialized_bytes_size);
  EXPECT(c, bytes, "no memory");
  hsc__conform_name(c, bytes, "NULL /* the bytes */");
  PJRT_Executable_DeserializeAndLoad_Args args = ARGS_OF(
      PJRT_Executable_DeserializeAndLoad, .client = c->client, .serialized_executable = bytes,
      .serialized_executable_size = made.serialized_bytes_size);
  if (!OK(c, PJRT_Executable_DeserializeAndLoad, &args))
    return;
  memset(bytes, 0, made.serialized_bytes_size);
  hsc__conform_step(c, "// the host writes over the bytes");
  hsc__conform_expect_times(
      c, hsc__conform_run_one(c, args.loaded_executable, hsc__conform_some_floats(c)), 2);
}

// ---- layouts ------------------------------------------------------------------------------------

enum { RANK = 2, ROWS = 2, COLUMNS = 3, RAW_MAX = 4096 };

// Bytes from one element to the next in each dimension. False ends the check: tiles.
static bool strides_of(hsc_conform *c,
                       const PJRT_Buffer_MemoryLayout *layout,
                       const int64_t dims[RANK],
                       int64_t out_strides[RANK]) {
  bool seen[RANK] = {false};
  int64_t stride = sizeof(float);
  if (layout->type == PJRT_Buffer_MemoryLayout_Type_Strides) {
    bool whole = layout->strides.num_byte_strides == RANK && layout->strides.byte_strides;
    for (int d = 0; whole && d < RANK; d++)
      out_strides[d] = layout->strides.byte_strides[d];
    if (!whole)
      hsc__conform_fail(c, "%zu byte strides for %d dimensions", layout->strides.num_byte_strides,
                        RANK);
    return whole;
  }
  const PJRT_Buffer_MemoryLayout_Tiled *tiled = &layout->tiled;
  if (tiled->minor_to_major_size != RANK || !tiled->minor_to_major) {
    hsc__conform_fail(c, "minor_to_major has %zu of %d dimensions", tiled->minor_to_major_size,
                      RANK);
    return false;
  }
  for (int i = 0; i < RANK; i++) {
    int64_t d = tiled->minor_to_major[i];
    if (d < 0 || d >= RANK || seen[d]) {
      hsc__conform_fail(c, "minor_to_major is {%lld, %lld}: each dimension is to be there once",
                        (long long)tiled->minor_to_major[0], (long long)tiled->minor_to_major[1]);
      return false;
    }
    seen[d] = true;
    out_strides[d] = stride;
    stride *= dims[d];
  }
  return tiled->num_tiles == 0;  // what tiles pad is the device's
}

// Where the layout says that an element lies, there its value is.
void hsc__conform_buffer_layout(hsc_conform *c, int number) {
  static const float values[ROWS * COLUMNS] = {1, 2, 3, 4, 5, 6};
  static const int64_t dims[RANK] = {ROWS, COLUMNS};
  static unsigned char raw[RAW_MAX];
  int64_t strides[RANK];
  PJRT_Buffer *buffer =
      hsc__conform_upload(c, PJRT_Buffer_Type_F32, dims, RANK, values, sizeof values);
  PJRT_Buffer_GetMemoryLayout_Args layout = ARGS_OF(PJRT_Buffer_GetMemoryLayout, .buffer = buffer);
  PJRT_Buffer_OnDeviceSizeInBytes_Args size =
      ARGS_OF(PJRT_Buffer_OnDeviceSizeInBytes, .buffer = buffer);
  if (!buffer || !OK(c, PJRT_Buffer_GetMemoryLayout, &layout) ||
      !strides_of(c, &layout.layout, dims, strides) ||
      !OK(c, PJRT_Buffer_OnDeviceSizeInBytes, &size) || size.on_device_size_in_bytes > RAW_MAX)
    return;
  PJRT_Buffer_CopyRawToHost_Args copy =
      ARGS_OF(PJRT_Buffer_CopyRawToHost, .buffer = buffer, .dst = raw,
              .transfer_size = (int64_t)size.on_device_size_in_bytes);
  if (!OK(c, PJRT_Buffer_CopyRawToHost, &copy) ||
      !hsc__conform_await(c, copy.event, "the event of PJRT_Buffer_CopyRawToHost"))
    return;
  for (int i = 0; i < ROWS * COLUMNS; i++) {
    int64_t at = i / COLUMNS * strides[0] + i % COLUMNS * strides[1];
    float seen = 0;
    EXPECT(c, at >= 0 && at + (int64_t)sizeof seen <= (int64_t)size.on_device_size_in_bytes,
           "the layout puts element [%d, %d] at byte %lld of %zu", i / COLUMNS, i % COLUMNS,
           (long long)at, size.on_device_size_in_bytes);
    memcpy(&seen, raw + at, sizeof seen);
    EXPECT(c, seen == values[i],
           "the layout puts element [%d, %d] at byte %lld, where %g lies and not %g", i / COLUMNS,
           i % COLUMNS, (long long)at, seen, values[i]);
  }
}

// ---- kinds of memory ----------------------------------------------------------------------------

void hsc__conform_agree_kinds(hsc_conform *c, int number) {
  PJRT_Device_AddressableMemories_Args memories =
      ARGS_OF(PJRT_Device_AddressableMemories, .device = hsc__conform_device(c, 0));
  if (!memories.device || !OK(c, PJRT_Device_AddressableMemories, &memories))
    return;
  for (size_t i = 0; i < memories.num_memories; i++)
    for (size_t j = 0; j < i; j++) {
      PJRT_Memory_Kind_Args a = ARGS_OF(PJRT_Memory_Kind, .memory = memories.memories[i]);
      PJRT_Memory_Kind_Args b = ARGS_OF(PJRT_Memory_Kind, .memory = memories.memories[j]);
      if (!OK(c, PJRT_Memory_Kind, &a) || !OK(c, PJRT_Memory_Kind, &b))
        return;
      EXPECT(c, a.kind_size != b.kind_size || memcmp(a.kind, b.kind, a.kind_size) != 0,
             "memories %zu and %zu of device 0 are both of kind '%.*s': a host that asks for it "
             "gets either",
             j, i, (int)a.kind_size, a.kind);
    }
}

// ---- what callbacks may call --------------------------------------------------------------------

typedef enum stage { NOT_CALLED, CALLED, ASKED, DESTROYED } stage;

typedef struct inside {
  const PJRT_Api *api;
  PJRT_Event *event;
  _Atomic int stage;
  _Atomic bool ready, refused;
} inside;

// Asks its event and destroys it, by the table: checks' calls are of one thread.
static void ask_and_destroy(PJRT_Error *error, void *user) {
  inside *in = user;
  PJRT_Event_IsReady_Args ready = ARGS_OF(PJRT_Event_IsReady, .event = in->event);
  PJRT_Event_Destroy_Args destroy = ARGS_OF(PJRT_Event_Destroy, .event = in->event);
  PJRT_Error_Destroy_Args drop = ARGS_OF(PJRT_Error_Destroy, .error = error);
  atomic_store(&in->stage, CALLED);
  if (error)
    in->api->PJRT_Error_Destroy(&drop);
  if (in->api->PJRT_Event_IsReady(&ready))
    atomic_store(&in->refused, true);
  atomic_store(&in->ready, ready.is_ready);
  atomic_store(&in->stage, ASKED);
  if (in->api->PJRT_Event_Destroy(&destroy))
    atomic_store(&in->refused, true);
  atomic_store(&in->stage, DESTROYED);
}

// Of an array that was transferred, and of one that a run made.
void hsc__conform_event_inside(hsc_conform *c, int number) {
  enum { TRIES = 2000, PAUSE_NS = 1000000, EVENTS = 2 };
  static inside in[EVENTS];
  PJRT_Buffer *buffer = hsc__conform_some_floats(c);
  PJRT_LoadedExecutable *loaded = buffer ? hsc__conform_compile(c, hsc__conform_doubles) : NULL;
  PJRT_Buffer *const of[EVENTS] = {buffer, hsc__conform_run_one(c, loaded, buffer)};
  for (int i = 0; i < EVENTS && of[i]; i++) {
    PJRT_Buffer_ReadyEvent_Args event = ARGS_OF(PJRT_Buffer_ReadyEvent, .buffer = of[i]);
    if (!OK(c, PJRT_Buffer_ReadyEvent, &event))
      return;
    EXPECT(c, event.event, "PJRT_Buffer_ReadyEvent succeeded and gave no event");
    in[i] = (inside){.api = c->api, .event = event.event};
    PJRT_Event_OnReady_Args args = ARGS_OF(PJRT_Event_OnReady, .event = event.event,
                                           .callback = ask_and_destroy, .user_arg = &in[i]);
    hsc__conform_step(c, "// the callback calls PJRT_Event_IsReady and PJRT_Event_Destroy");
    if (!OK(c, PJRT_Event_OnReady, &args))
      return;
    for (int t = 0; t < TRIES && atomic_load(&in[i].stage) < DESTROYED; t++)
      hsc_sleep_ns(PAUSE_NS);
    int last = atomic_load(&in[i].stage);
    EXPECT(c, last != NOT_CALLED, "the callback was not called within two seconds");
    EXPECT(c, last == DESTROYED, "%s of its event does not come back within a callback",
           last == CALLED ? "PJRT_Event_IsReady" : "PJRT_Event_Destroy");
    EXPECT(c, !atomic_load(&in[i].refused), "within a callback, its event gives errors");
    EXPECT(c, atomic_load(&in[i].ready), "the callback is called, and IsReady says no");
  }
}
