// checks_buffer.c - arrays in and out: types, shapes, layouts, the host's memory, lifetimes.
//
// How to read: each check is a function hsc__conform_<name>, a row of conform.def; those that go
// over a list of cases have _count and _name beside it. It makes what it needs, calls the plugin,
// and says what it expected; it may die, for it runs in a process of its own.
#include <stdlib.h>

#include "lab/conform/conform_internal.h"

enum { ROOM = 1 << 12 };

typedef struct shape {
  const char *name;
  size_t rank;
  int64_t dims[3];
} shape;
static const shape shapes[] = {
    {"rank0", 0, {0}},
    {"one", 1, {1}},
    {"rank1", 1, {7}},
    {"rank2", 2, {3, 5}},
    {"rank3", 3, {2, 3, 4}},
    {"empty", 1, {0}},
    {"empty-rank3", 3, {3, 0, 2}},
};

static size_t element_count(const shape *s) {
  size_t count = 1;
  for (size_t i = 0; i < s->rank; i++)
    count *= (size_t)s->dims[i];
  return count;
}

// Values that every form of the type holds: small whole numbers, finite bit patterns of narrow
// floats.
static void fill(const conform_type *type, size_t count, unsigned char *out) {
  for (size_t i = 0; i < count; i++) {
    unsigned char *at = out + i * type->bytes;
    float real = (float)((int)(i % 13) - 6);
    double wide = real;
    uint32_t bits;
    memcpy(&bits, &real, sizeof bits);
    uint16_t high = (uint16_t)(bits >> 16);
    memset(at, 0, type->bytes);
    if (type->kind == 'p')
      *at = (unsigned char)(i % 3 == 1);
    else if (type->type == PJRT_Buffer_Type_BF16)
      memcpy(at, &high, sizeof high);
    else if (type->type == PJRT_Buffer_Type_F32 || type->type == PJRT_Buffer_Type_C64)
      memcpy(at, &real, sizeof real);
    else if (type->type == PJRT_Buffer_Type_F64 || type->type == PJRT_Buffer_Type_C128)
      memcpy(at, &wide, sizeof wide);
    else
      *at = (unsigned char)(i * 7 % 0x38);
  }
}

// Types that every device has; another may be refused, which is "not offered".
static bool is_common(PJRT_Buffer_Type type) {
  return type == PJRT_Buffer_Type_PRED || type == PJRT_Buffer_Type_S32 ||
         type == PJRT_Buffer_Type_U8 || type == PJRT_Buffer_Type_F32;
}

static PJRT_Buffer *upload_type(hsc_conform *c,
                                const conform_type *type,
                                const shape *s,
                                const void *data) {
  PJRT_Buffer *buffer =
      hsc__conform_upload(c, type->type, s->dims, s->rank, data, element_count(s) * type->bytes);
  if (!buffer && c->outcome == HSC_CONFORM_FAIL && !is_common(type->type))
    c->outcome = HSC_CONFORM_NOT_OFFERED;
  return buffer;
}

int hsc__conform_round_trip_count(void) {
  return hsc__conform_type_count * (int)HSC_COUNT_OF(shapes);
}

void hsc__conform_round_trip_name(int number, char out_text[64]) {
  int count = (int)HSC_COUNT_OF(shapes);
  snprintf(out_text, 64, "%s-%s", hsc__conform_types[number / count].text,
           shapes[number % count].name);
}

void hsc__conform_round_trip(hsc_conform *c, int number) {
  int shape_count = (int)HSC_COUNT_OF(shapes);
  const conform_type *type = &hsc__conform_types[number / shape_count];
  const shape *s = &shapes[number % shape_count];
  size_t bytes = element_count(s) * type->bytes;
  static unsigned char in[ROOM];
  static unsigned char out[ROOM];
  fill(type, element_count(s), in);
  memset(out, 0xee, sizeof out);
  PJRT_Buffer *buffer = upload_type(c, type, s, in);
  if (!buffer || !hsc__conform_download(c, buffer, s->rank, out, bytes))
    return;
  for (size_t i = 0; i < bytes; i++)
    EXPECT(c, in[i] == out[i], "byte %zu of %zu went in as %d and came back as %d", i, bytes, in[i],
           out[i]);
  EXPECT(c, out[bytes] == 0xee, "it wrote past the %zu bytes of the array", bytes);
  hsc__conform_buffer_free(c, buffer);
}

int hsc__conform_buffer_facts_count(void) {
  return hsc__conform_type_count;
}

void hsc__conform_buffer_facts_name(int number, char out_text[64]) {
  snprintf(out_text, 64, "%s", hsc__conform_types[number].text);
}

void hsc__conform_buffer_facts(hsc_conform *c, int number) {
  const conform_type *type = &hsc__conform_types[number];
  static const shape s = {"rank3", 3, {2, 3, 4}};
  static unsigned char in[ROOM];
  fill(type, element_count(&s), in);
  PJRT_Buffer *buffer = upload_type(c, type, &s, in);
  if (!buffer)
    return;
  PJRT_Buffer_ElementType_Args element = ARGS_OF(PJRT_Buffer_ElementType, .buffer = buffer);
  PJRT_Buffer_Dimensions_Args dims = ARGS_OF(PJRT_Buffer_Dimensions, .buffer = buffer);
  PJRT_Buffer_OnDeviceSizeInBytes_Args size =
      ARGS_OF(PJRT_Buffer_OnDeviceSizeInBytes, .buffer = buffer);
  PJRT_Buffer_Device_Args device = ARGS_OF(PJRT_Buffer_Device, .buffer = buffer);
  PJRT_Buffer_IsDeleted_Args deleted = ARGS_OF(PJRT_Buffer_IsDeleted, .buffer = buffer);
  if (!OK(c, PJRT_Buffer_ElementType, &element) || !OK(c, PJRT_Buffer_Dimensions, &dims) ||
      !OK(c, PJRT_Buffer_OnDeviceSizeInBytes, &size) || !OK(c, PJRT_Buffer_Device, &device) ||
      !OK(c, PJRT_Buffer_IsDeleted, &deleted))
    return;
  EXPECT(c, element.type == type->type, "its type is %d, it was made with %d", (int)element.type,
         (int)type->type);
  EXPECT(c, dims.num_dims == 3 && !memcmp(dims.dims, s.dims, sizeof s.dims),
         "its extents are not 2, 3, 4 (rank %zu)", dims.num_dims);
  EXPECT(c, size.on_device_size_in_bytes >= element_count(&s) * type->bytes,
         "it takes %zu bytes on the device, its elements %zu", size.on_device_size_in_bytes,
         element_count(&s) * type->bytes);
  EXPECT(c, device.device == hsc__conform_device(c, 0), "it lies on another device");
  EXPECT(c, !deleted.is_deleted, "it says that it is deleted");
}

// ---- the host's memory --------------------------------------------------------------------------

static const char *const semantics[] = {"only-during-call", "until-transfer-completes", "zero-copy",
                                        "mutable-zero-copy"};
enum { SEMANTICS = HSC_COUNT_OF(semantics) };

// Each with an array of 4 KiB, and with one of a MiB, which a plugin may treat in another way.
int hsc__conform_buffer_semantics_count(void) {
  return 2 * SEMANTICS;
}

void hsc__conform_buffer_semantics_name(int number, char out_text[64]) {
  snprintf(out_text, 64, "%s%s", semantics[number % SEMANTICS], number < SEMANTICS ? "" : "-large");
}

void hsc__conform_buffer_semantics(hsc_conform *c, int number) {
  enum { SMALL = 1 << 10, LARGE = 1 << 18 };
  static _Alignas(64) float in[LARGE];
  static float out[LARGE];
  int count = number < SEMANTICS ? SMALL : LARGE;
  size_t bytes = (size_t)count * sizeof *in;
  PJRT_HostBufferSemantics promise = (PJRT_HostBufferSemantics)(number % SEMANTICS);
  for (int i = 0; i < count; i++)
    in[i] = (float)i;
  PJRT_Device *device = hsc__conform_device(c, 0);
  if (!device)
    return;
  int64_t dims[1] = {count};
  hsc__conform_data(c, in, bytes);
  PJRT_Client_BufferFromHostBuffer_Args args =
      ARGS_OF(PJRT_Client_BufferFromHostBuffer, .client = c->client, .data = in,
              .type = PJRT_Buffer_Type_F32, .dims = dims, .num_dims = 1, .device = device,
              .host_buffer_semantics = promise);
  if (!OK(c, PJRT_Client_BufferFromHostBuffer, &args))
    return;
  if (promise == PJRT_HostBufferSemantics_kImmutableOnlyDuringCall)
    memset(in, 0xff, bytes);  // free for reuse as soon as the call is over
  if (promise == PJRT_HostBufferSemantics_kImmutableUntilTransferCompletes) {
    if (!hsc__conform_await(c, args.done_with_host_buffer, "done_with_host_buffer"))
      return;
    memset(in, 0xff, bytes);
  }
  if (!hsc__conform_download(c, args.buffer, 1, out, bytes))
    return;
  for (int i = 0; i < count; i++)
    EXPECT(c, out[i] == (float)i, "element %d is %g: the host's memory was read too late", i,
           out[i]);
  bool is_zero_copy = promise >= PJRT_HostBufferSemantics_kImmutableZeroCopy;
  for (int i = 0; is_zero_copy && i < count; i++)
    EXPECT(c, in[i] == (float)i, "element %d of the host's memory was written", i);
  hsc__conform_buffer_free(c, args.buffer);
}

typedef struct strided {
  const char *name;
  PJRT_Buffer_Type type;
  size_t bytes, rank;
  int64_t dims[4], strides[4];  // in elements
} strided;
static const strided stridings[] = {
    {"s8-transposed", PJRT_Buffer_Type_S8, 1, 2, {3, 5}, {1, 3}},
    {"s16-transposed", PJRT_Buffer_Type_S16, 2, 2, {3, 5}, {1, 3}},
    {"f32-transposed", PJRT_Buffer_Type_F32, 4, 2, {3, 5}, {1, 3}},
    {"s64-transposed", PJRT_Buffer_Type_S64, 8, 2, {3, 5}, {1, 3}},
    {"f32-rows-apart", PJRT_Buffer_Type_F32, 4, 2, {3, 5}, {8, 1}},
    {"f32-every-other", PJRT_Buffer_Type_F32, 4, 2, {3, 5}, {10, 2}},
    {"s32-one-row", PJRT_Buffer_Type_S32, 4, 2, {1, 5}, {7, 1}},
    {"s32-repeated", PJRT_Buffer_Type_S32, 4, 2, {3, 5}, {0, 1}},
    {"f32-rank1", PJRT_Buffer_Type_F32, 4, 1, {7}, {3}},
    {"f32-rank3", PJRT_Buffer_Type_F32, 4, 3, {2, 3, 4}, {1, 2, 6}},
    {"s32-rank4", PJRT_Buffer_Type_S32, 4, 4, {2, 3, 2, 2}, {2, 8, 4, 1}},
};

int hsc__conform_buffer_strides_count(void) {
  return (int)HSC_COUNT_OF(stridings);
}

void hsc__conform_buffer_strides_name(int number, char out_text[64]) {
  snprintf(out_text, 64, "%s", stridings[number].name);
}

// Where element `i`, counted in the order of rows, lies in the host's memory, in elements.
static int64_t place_of(const strided *s, int64_t i) {
  int64_t at = 0;
  for (size_t d = s->rank; d-- > 0; i /= s->dims[d])
    at += i % s->dims[d] * s->strides[d];
  return at;
}

void hsc__conform_buffer_strides(hsc_conform *c, int number) {
  const strided *s = &stridings[number];
  static unsigned char in[512];
  static unsigned char out[512];
  for (size_t i = 0; i < sizeof in; i++)
    in[i] = (unsigned char)(i % 64 + i / 64);
  int64_t byte_strides[4];
  int64_t count = 1;
  for (size_t d = 0; d < s->rank; d++) {
    byte_strides[d] = s->strides[d] * (int64_t)s->bytes;
    count *= s->dims[d];
  }
  PJRT_Device *device = hsc__conform_device(c, 0);
  if (!device)
    return;
  hsc__conform_data(c, in, sizeof in);
  PJRT_Client_BufferFromHostBuffer_Args args =
      ARGS_OF(PJRT_Client_BufferFromHostBuffer, .client = c->client, .data = in, .type = s->type,
              .dims = s->dims, .num_dims = s->rank, .byte_strides = byte_strides,
              .num_byte_strides = s->rank, .device = device,
              .host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableOnlyDuringCall);
  bool is_made = is_common(s->type)
                     ? OK(c, PJRT_Client_BufferFromHostBuffer, &args)
                     : hsc__conform_offered(c, HSC_FN_PJRT_Client_BufferFromHostBuffer, &args);
  if (!is_made || !hsc__conform_await(c, args.done_with_host_buffer, "done_with_host_buffer") ||
      !hsc__conform_download(c, args.buffer, s->rank, out, (size_t)count * s->bytes))
    return;
  for (int64_t i = 0; i < count; i++)
    EXPECT(c, !memcmp(out + (size_t)i * s->bytes, in + (size_t)place_of(s, i) * s->bytes, s->bytes),
           "element %lld, in the order of rows, is not the one that the strides name",
           (long long)i);
}

static const int64_t orders[][3] = {{2, 1, 0}, {0, 1, 2}, {1, 0, 2}, {0, 2, 1}};

int hsc__conform_buffer_host_layout_count(void) {
  return (int)HSC_COUNT_OF(orders);
}

void hsc__conform_buffer_host_layout_name(int number, char out_text[64]) {
  const int64_t *o = orders[number];
  snprintf(out_text, 64, "%lld%lld%lld", (long long)o[0], (long long)o[1], (long long)o[2]);
}

void hsc__conform_buffer_host_layout(hsc_conform *c, int number) {
  static const int64_t dims[3] = {2, 3, 4};
  int32_t in[24];
  int32_t out[24] = {0};
  for (int i = 0; i < 24; i++)
    in[i] = i;
  PJRT_Buffer *buffer = hsc__conform_upload(c, PJRT_Buffer_Type_S32, dims, 3, in, sizeof in);
  if (!buffer)
    return;
  PJRT_Buffer_MemoryLayout layout = {
      .struct_size = PJRT_Buffer_MemoryLayout_STRUCT_SIZE,
      .type = PJRT_Buffer_MemoryLayout_Type_Tiled,
      .tiled = {.struct_size = PJRT_Buffer_MemoryLayout_Tiled_STRUCT_SIZE,
                .minor_to_major = orders[number],
                .minor_to_major_size = 3}};
  hsc__conform_layout_step(c, &layout);
  hsc__conform_step(c, "static int out[24];");
  hsc__conform_name(c, out, "out");
  PJRT_Buffer_ToHostBuffer_Args args =
      ARGS_OF(PJRT_Buffer_ToHostBuffer, .src = buffer, .host_layout = &layout, .dst = out,
              .dst_size = sizeof out);
  if (!OK(c, PJRT_Buffer_ToHostBuffer, &args) ||
      !hsc__conform_await(c, args.event, "the event of PJRT_Buffer_ToHostBuffer"))
    return;
  int64_t stride[3];
  int64_t step = 1;
  for (int k = 0; k < 3; k++) {
    stride[orders[number][k]] = step;
    step *= dims[orders[number][k]];
  }
  for (int64_t i = 0; i < 24; i++) {
    int64_t at = i / 12 * stride[0] + i / 4 % 3 * stride[1] + i % 4 * stride[2];
    EXPECT(c, out[at] == in[i], "element [%lld,%lld,%lld] is %d at its place, not %d",
           (long long)(i / 12), (long long)(i / 4 % 3), (long long)(i % 4), out[at], in[i]);
  }
}

// ---- reading ------------------------------------------------------------------------------------

void hsc__conform_buffer_size_query(hsc_conform *c, int number) {
  PJRT_Buffer_ToHostBuffer_Args args =
      ARGS_OF(PJRT_Buffer_ToHostBuffer, .src = hsc__conform_some_floats(c));
  if (!args.src || !OK(c, PJRT_Buffer_ToHostBuffer, &args))
    return;
  EXPECT(c, args.dst_size >= 16, "it asks for %zu bytes for hsc__conform_four floats",
         args.dst_size);
  EXPECT(c, args.event == NULL, "there is an event, though nothing was copied");
}

void hsc__conform_buffer_small_dst(hsc_conform *c, int number) {
  unsigned char room[64];
  memset(room, 0xee, sizeof room);
  PJRT_Buffer_ToHostBuffer_Args args = ARGS_OF(
      PJRT_Buffer_ToHostBuffer, .src = hsc__conform_some_floats(c), .dst = room, .dst_size = 8);
  if (!args.src || !REFUSED(c, PJRT_Buffer_ToHostBuffer, &args, "8 bytes of room for 16"))
    return;
  for (size_t i = 8; i < sizeof room; i++)
    EXPECT(c, room[i] == 0xee, "it wrote past the room");
}

static bool delete_buffer(hsc_conform *c, PJRT_Buffer *buffer) {
  PJRT_Buffer_Delete_Args args = ARGS_OF(PJRT_Buffer_Delete, .buffer = buffer);
  return buffer && OK(c, PJRT_Buffer_Delete, &args);
}

void hsc__conform_buffer_delete(hsc_conform *c, int number) {
  PJRT_Buffer *buffer = hsc__conform_some_floats(c);
  PJRT_Buffer_IsDeleted_Args is = ARGS_OF(PJRT_Buffer_IsDeleted, .buffer = buffer);
  if (!delete_buffer(c, buffer) || !OK(c, PJRT_Buffer_IsDeleted, &is))
    return;
  EXPECT(c, is.is_deleted, "IsDeleted says no after Delete");
  if (delete_buffer(c, buffer))
    hsc__conform_buffer_free(c, buffer);
}

void hsc__conform_buffer_deleted_read(hsc_conform *c, int number) {
  PJRT_Buffer *buffer = hsc__conform_some_floats(c);
  float out[4];
  if (!delete_buffer(c, buffer))
    return;
  PJRT_Buffer_ToHostBuffer_Args args =
      ARGS_OF(PJRT_Buffer_ToHostBuffer, .src = buffer, .dst = out, .dst_size = sizeof out);
  bool called;
  PJRT_Error *error = hsc__conform_call(c, HSC_FN_PJRT_Buffer_ToHostBuffer, &args, &called);
  if (!called)
    return;
  if (error) {
    hsc__conform_error_free(c, error);
    return;
  }
  // an asynchronous device may tell by the event
  PJRT_Event_Await_Args wait = ARGS_OF(PJRT_Event_Await, .event = args.event);
  EXPECT(c, args.event, "a deleted buffer was read without an error or an event");
  error = hsc__conform_call(c, HSC_FN_PJRT_Event_Await, &wait, &called);
  EXPECT(c, error, "a deleted buffer was read without an error");
  hsc__conform_error_free(c, error);
}

void hsc__conform_buffer_ready(hsc_conform *c, int number) {
  PJRT_Buffer_ReadyEvent_Args args =
      ARGS_OF(PJRT_Buffer_ReadyEvent, .buffer = hsc__conform_some_floats(c));
  if (!args.buffer || !OK(c, PJRT_Buffer_ReadyEvent, &args))
    return;
  EXPECT(c, args.event, "there is no event");
  hsc__conform_await(c, args.event, "the ready event");
}

void hsc__conform_buffer_raw(hsc_conform *c, int number) {
  float out[2] = {0};
  PJRT_Buffer_CopyRawToHost_Args args =
      ARGS_OF(PJRT_Buffer_CopyRawToHost, .buffer = hsc__conform_some_floats(c), .dst = out,
              .offset = 4, .transfer_size = 8);
  if (!args.buffer || !OK(c, PJRT_Buffer_CopyRawToHost, &args) ||
      !hsc__conform_await(c, args.event, "the event of PJRT_Buffer_CopyRawToHost"))
    return;
  EXPECT(c, out[0] == 2 && out[1] == 3, "bytes 4 to 12 of 1, 2, 3, 4 read as %g, %g", out[0],
         out[1]);
}

void hsc__conform_buffer_raw_range(hsc_conform *c, int number) {
  static unsigned char out[4096];
  PJRT_Buffer_CopyRawToHost_Args args =
      ARGS_OF(PJRT_Buffer_CopyRawToHost, .buffer = hsc__conform_some_floats(c), .dst = out,
              .offset = 0, .transfer_size = 1 << 30);
  if (!args.buffer)
    return;
  bool called;
  PJRT_Error *error = hsc__conform_call(c, HSC_FN_PJRT_Buffer_CopyRawToHost, &args, &called);
  if (!called)
    return;
  if (!error && args.event) {
    PJRT_Event_Await_Args wait = ARGS_OF(PJRT_Event_Await, .event = args.event);
    error = hsc__conform_call(c, HSC_FN_PJRT_Event_Await, &wait, &called);
  }
  hsc__conform_was_refused(c, "PJRT_Buffer_CopyRawToHost", error, "1 GiB of an array of 16 bytes");
}

void hsc__conform_buffer_external(hsc_conform *c, int number) {
  PJRT_Buffer *buffer = hsc__conform_some_floats(c);
  PJRT_Buffer_IncreaseExternalReferenceCount_Args more =
      ARGS_OF(PJRT_Buffer_IncreaseExternalReferenceCount, .buffer = buffer);
  PJRT_Buffer_DecreaseExternalReferenceCount_Args less =
      ARGS_OF(PJRT_Buffer_DecreaseExternalReferenceCount, .buffer = buffer);
  if (!buffer || !OK(c, PJRT_Buffer_IncreaseExternalReferenceCount, &more) ||
      !OK(c, PJRT_Buffer_DecreaseExternalReferenceCount, &less))
    return;
  REFUSED(c, PJRT_Buffer_DecreaseExternalReferenceCount, &less, "a reference that nobody holds");
}

void hsc__conform_buffer_copy_memory(hsc_conform *c, int number) {
  PJRT_Buffer *buffer = hsc__conform_some_floats(c);
  PJRT_Device_AddressableMemories_Args memories =
      ARGS_OF(PJRT_Device_AddressableMemories, .device = hsc__conform_device(c, 0));
  if (!buffer || !OK(c, PJRT_Device_AddressableMemories, &memories))
    return;
  for (size_t m = 0; m < memories.num_memories; m++) {
    PJRT_Buffer_CopyToMemory_Args args =
        ARGS_OF(PJRT_Buffer_CopyToMemory, .buffer = buffer, .dst_memory = memories.memories[m]);
    PJRT_Buffer_Memory_Args at = ARGS_OF(PJRT_Buffer_Memory, .buffer = NULL);
    if (!OK(c, PJRT_Buffer_CopyToMemory, &args))
      return;
    at.buffer = args.dst_buffer;
    if (!OK(c, PJRT_Buffer_Memory, &at))
      return;
    EXPECT(c, at.memory == memories.memories[m], "the copy is in another memory than asked for");
    hsc__conform_expect_times(c, args.dst_buffer, 1);
  }
}

void hsc__conform_buffer_copy_device(hsc_conform *c, int number) {
  PJRT_Device *second = hsc__conform_device(c, 1);
  if (!second)
    return;
  PJRT_Buffer *buffer = hsc__conform_some_floats(c);
  PJRT_Buffer_CopyToDevice_Args args =
      ARGS_OF(PJRT_Buffer_CopyToDevice, .buffer = buffer, .dst_device = second);
  if (!buffer || !OK(c, PJRT_Buffer_CopyToDevice, &args))
    return;
  PJRT_Buffer_Device_Args at = ARGS_OF(PJRT_Buffer_Device, .buffer = args.dst_buffer);
  if (!OK(c, PJRT_Buffer_Device, &at))
    return;
  EXPECT(c, at.device == second, "the copy is on another device than asked for");
  hsc__conform_expect_times(c, args.dst_buffer, 1);
}

void hsc__conform_buffer_uninitialized(hsc_conform *c, int number) {
  PJRT_Device *device = hsc__conform_device(c, 0);
  if (!device)
    return;
  PJRT_Client_CreateUninitializedBuffer_Args args = ARGS_OF(
      PJRT_Client_CreateUninitializedBuffer, .client = c->client, .shape_dims = hsc__conform_four,
      .shape_num_dims = 1, .shape_element_type = PJRT_Buffer_Type_F32, .device = device);
  if (!OK(c, PJRT_Client_CreateUninitializedBuffer, &args))
    return;
  float out[4];
  hsc__conform_download(c, args.buffer, 1, out, sizeof out);
}

PJRT_Buffer *hsc__conform_failed_floats(hsc_conform *c, const char *message) {
  PJRT_Device_DefaultMemory_Args memory =
      ARGS_OF(PJRT_Device_DefaultMemory, .device = hsc__conform_device(c, 0));
  if (!memory.device || !OK(c, PJRT_Device_DefaultMemory, &memory))
    return NULL;
  PJRT_Client_CreateErrorBuffer_Args args = ARGS_OF(
      PJRT_Client_CreateErrorBuffer, .client = c->client, .error_code = PJRT_Error_Code_DATA_LOSS,
      .error_message = message, .error_message_size = strlen(message),
      .shape_dims = hsc__conform_four, .shape_num_dims = 1,
      .shape_element_type = PJRT_Buffer_Type_F32, .memory = memory.memory);
  return OK(c, PJRT_Client_CreateErrorBuffer, &args) ? args.buffer : NULL;
}

void hsc__conform_buffer_error(hsc_conform *c, int number) {
  static const char message[] = "made by the check";
  PJRT_Buffer *buffer = hsc__conform_failed_floats(c, message);
  PJRT_Buffer_ReadyEvent_Args ready = ARGS_OF(PJRT_Buffer_ReadyEvent, .buffer = buffer);
  if (!buffer || !OK(c, PJRT_Buffer_ReadyEvent, &ready))
    return;
  PJRT_Event_Await_Args wait = ARGS_OF(PJRT_Event_Await, .event = ready.event);
  bool called;
  PJRT_Error *error = hsc__conform_call(c, HSC_FN_PJRT_Event_Await, &wait, &called);
  EXPECT(c, error, "the ready event of an error buffer is fine");
  hsc_bytes text = {0};
  hsc__conform_message(c, error, &text);
  PJRT_Error_Code code = hsc__conform_code(c, error);
  hsc__conform_error_free(c, error);
  bool has_it = strstr(hsc_bytes_text(&text), message) != NULL;
  hsc_bytes_deinit(&text);
  EXPECT(c, code == PJRT_Error_Code_DATA_LOSS && has_it,
         "its error is of code %d and %s the message", (int)code, has_it ? "has" : "has lost");
}

void hsc__conform_buffer_large(hsc_conform *c, int number) {
  enum { COUNT = 4 << 20 };
  static const int64_t dims[2] = {COUNT / 64, 64};
  int32_t *in = hsc_alloc(sizeof(int32_t) * COUNT);
  int32_t *out = hsc_alloc(sizeof(int32_t) * COUNT);
  for (int i = 0; in && i < COUNT; i++)
    in[i] = i * 7;
  PJRT_Buffer *buffer =
      in && out ? hsc__conform_upload(c, PJRT_Buffer_Type_S32, dims, 2, in, sizeof(int32_t) * COUNT)
                : NULL;
  bool is_same = buffer && hsc__conform_download(c, buffer, 2, out, sizeof(int32_t) * COUNT) &&
                 !memcmp(in, out, sizeof(int32_t) * COUNT);
  if (buffer && !is_same)
    hsc__conform_fail(c, "16 MiB came back changed");
  hsc_free(in);
  hsc_free(out);
}

void hsc__conform_buffer_huge(hsc_conform *c, int number) {
  static const int64_t dims[2] = {1 << 30, 1 << 30};
  PJRT_Device *device = hsc__conform_device(c, 0);
  if (!device)
    return;
  PJRT_Client_CreateUninitializedBuffer_Args args =
      ARGS_OF(PJRT_Client_CreateUninitializedBuffer, .client = c->client, .shape_dims = dims,
              .shape_num_dims = 2, .shape_element_type = PJRT_Buffer_Type_F64, .device = device);
  bool called;
  PJRT_Error *error =
      hsc__conform_call(c, HSC_FN_PJRT_Client_CreateUninitializedBuffer, &args, &called);
  if (!called)
    return;
  if (!error && args.buffer) {
    PJRT_Buffer_ReadyEvent_Args ready = ARGS_OF(PJRT_Buffer_ReadyEvent, .buffer = args.buffer);
    if (!OK(c, PJRT_Buffer_ReadyEvent, &ready))
      return;
    PJRT_Event_Await_Args wait = ARGS_OF(PJRT_Event_Await, .event = ready.event);
    error = hsc__conform_call(c, HSC_FN_PJRT_Event_Await, &wait, &called);
  }
  EXPECT(c, error, "an array of 8 EiB was made");
  if (hsc__conform_code(c, error) == PJRT_Error_Code_UNIMPLEMENTED)
    hsc__conform_absent(c, "PJRT_Client_CreateUninitializedBuffer is not implemented");
  hsc__conform_error_free(c, error);
}

void hsc__conform_buffer_many(hsc_conform *c, int number) {
  enum { COUNT = 1000 };
  static PJRT_Buffer *buffers[COUNT];
  conform_place place = {0};
  for (int i = 0; i < COUNT; i++) {
    float values[4] = {(float)i, 2, 3, 4};
    if (i == 1)
      place = hsc__conform_silence(c);
    buffers[i] =
        hsc__conform_upload(c, PJRT_Buffer_Type_F32, hsc__conform_four, 1, values, sizeof values);
    if (!buffers[i])
      return;
  }
  hsc__conform_resume(c, place);
  for (int i = 0; i < COUNT; i++) {
    float out[4] = {-1};
    if (i == 1)
      hsc__conform_silence(c);
    if (!hsc__conform_download(c, buffers[i], 1, out, sizeof out))
      return;
    EXPECT(c, out[0] == (float)i, "array %d holds %g", i, out[0]);
    hsc__conform_buffer_free(c, buffers[i]);
  }
  c->steps_fd = place.fd;
}

void hsc__conform_buffer_transfer_manager(hsc_conform *c, int number) {
  static const float values[4] = {1, 2, 3, 4};
  PJRT_Device_DefaultMemory_Args memory =
      ARGS_OF(PJRT_Device_DefaultMemory, .device = hsc__conform_device(c, 0));
  if (!memory.device || !OK(c, PJRT_Device_DefaultMemory, &memory))
    return;
  PJRT_ShapeSpec spec = {.struct_size = PJRT_ShapeSpec_STRUCT_SIZE,
                         .dims = hsc__conform_four,
                         .num_dims = 1,
                         .element_type = PJRT_Buffer_Type_F32};
  PJRT_Client_CreateBuffersForAsyncHostToDevice_Args make =
      ARGS_OF(PJRT_Client_CreateBuffersForAsyncHostToDevice, .client = c->client,
              .shape_specs = &spec, .num_shape_specs = 1, .memory = memory.memory);
  if (!OK(c, PJRT_Client_CreateBuffersForAsyncHostToDevice, &make))
    return;
  PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args get =
      ARGS_OF(PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer,
              .transfer_manager = make.transfer_manager, .buffer_index = 0);
  if (!OK(c, PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer, &get))
    return;
  for (int part = 0; part < 2; part++) {
    PJRT_AsyncHostToDeviceTransferManager_TransferData_Args put =
        ARGS_OF(PJRT_AsyncHostToDeviceTransferManager_TransferData,
                .transfer_manager = make.transfer_manager, .data = values + part * 2,
                .offset = part * 8, .transfer_size = 8, .is_last_transfer = part == 1);
    if (!OK(c, PJRT_AsyncHostToDeviceTransferManager_TransferData, &put) ||
        !hsc__conform_await(c, put.done_with_h2d_transfer, "a transfer"))
      return;
  }
  hsc__conform_expect_times(c, get.buffer_out, 1);
}

void hsc__conform_buffer_deleted_execute(hsc_conform *c, int number) {
  PJRT_LoadedExecutable *loaded = hsc__conform_compile(
      c,
      "module @m { func.func public @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n"
      "  %0 = stablehlo.add %a, %a : tensor<4xf32>\n  return %0 : tensor<4xf32>\n} }\n");
  PJRT_Buffer *buffer = loaded ? hsc__conform_some_floats(c) : NULL;
  if (!delete_buffer(c, buffer))
    return;
  PJRT_ExecuteOptions options = {.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE};
  PJRT_Buffer *const *lists[1] = {&buffer};
  PJRT_Buffer *outputs[1] = {NULL};
  PJRT_Buffer **const output_lists[1] = {outputs};
  PJRT_LoadedExecutable_Execute_Args args = ARGS_OF(
      PJRT_LoadedExecutable_Execute, .executable = loaded, .options = &options,
      .argument_lists = lists, .num_devices = 1, .num_args = 1, .output_lists = output_lists);
  bool called;
  PJRT_Error *error = hsc__conform_call(c, HSC_FN_PJRT_LoadedExecutable_Execute, &args, &called);
  if (!error && called && outputs[0]) {  // told by the output
    PJRT_Buffer_ReadyEvent_Args ready = ARGS_OF(PJRT_Buffer_ReadyEvent, .buffer = outputs[0]);
    if (!OK(c, PJRT_Buffer_ReadyEvent, &ready))
      return;
    PJRT_Event_Await_Args wait = ARGS_OF(PJRT_Event_Await, .event = ready.event);
    error = hsc__conform_call(c, HSC_FN_PJRT_Event_Await, &wait, &called);
  }
  EXPECT(c, error, "a program ran on a deleted buffer");
  hsc__conform_error_free(c, error);
}
