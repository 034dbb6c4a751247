// test_plugin_buffers.c - arrays of our device: copies in any arrangement against the obvious loop,
// shared memory, pending contents, events.
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/core/clock.h"
#include "base/core/random.h"
#include "pjrt/client.h"
#include "plugin/plugin_internal.h"

static const PJRT_Api *api;
static hsc_plugin *plugin;
static hsc_client *the_client;
static PJRT_Client *client;  // the same, as the interface has it

#define ARGS_OF(function, ...) {.struct_size = function##_Args_STRUCT_SIZE, __VA_ARGS__}

static int open_device(void **state) {
  api = hsc__plugin_table();
  assert_null(hsc_plugin_open_table(api, "built-in", &plugin));
  assert_null(hsc_plugin_initialize(plugin));
  assert_null(hsc_client_create(plugin, NULL, 0, &the_client));
  PJRT_Client_Create_Args args = ARGS_OF(PJRT_Client_Create);
  assert_null(api->PJRT_Client_Create(&args));
  client = args.client;
  return 0;
}

static int close_device(void **state) {
  PJRT_Client_Destroy_Args args = ARGS_OF(PJRT_Client_Destroy, .client = client);
  assert_null(api->PJRT_Client_Destroy(&args));
  hsc_client_destroy(the_client);
  hsc_plugin_close(plugin);
  return 0;
}

static int drop_error(PJRT_Error *error) {
  if (!error)
    return 0;
  int code = error->vtable->get_code(error);
  error->vtable->destroy(error);
  return code;
}

static void expect_status(hsc_status *status, hsc_code code, const char *words) {
  if (!status)
    fail_msg("no error, but '%s' expected", words);
  if (hsc_status_code(status) != code || !strstr(hsc_status_message(status), words))
    fail_msg("code %d, message '%s'; expected %d, '%s'", (int)hsc_status_code(status),
             hsc_status_message(status), (int)code, words);
  hsc_status_free(status);
}

static int event_state(PJRT_Event *event) {
  PJRT_Event_IsReady_Args args = ARGS_OF(PJRT_Event_IsReady, .event = event);
  assert_null(api->PJRT_Event_IsReady(&args));
  return args.is_ready;
}

static void drop_event(PJRT_Event *event) {
  PJRT_Event_Destroy_Args args = ARGS_OF(PJRT_Event_Destroy, .event = event);
  assert_null(api->PJRT_Event_Destroy(&args));
}

static void drop_buffer(PJRT_Buffer *buffer) {
  PJRT_Buffer_Destroy_Args args = ARGS_OF(PJRT_Buffer_Destroy, .buffer = buffer);
  assert_null(api->PJRT_Buffer_Destroy(&args));
}

static bool is_deleted(PJRT_Buffer *buffer) {
  PJRT_Buffer_IsDeleted_Args args = ARGS_OF(PJRT_Buffer_IsDeleted, .buffer = buffer);
  assert_null(api->PJRT_Buffer_IsDeleted(&args));
  return args.is_deleted;
}

static void *pointer_of(PJRT_Buffer *buffer) {
  PJRT_Buffer_UnsafePointer_Args args = ARGS_OF(PJRT_Buffer_UnsafePointer, .buffer = buffer);
  assert_null(api->PJRT_Buffer_UnsafePointer(&args));
  return (void *)args.buffer_pointer;
}

static PJRT_Buffer *put(const void *data,
                        PJRT_Buffer_Type type,
                        size_t rank,
                        const int64_t *dims,
                        PJRT_HostBufferSemantics semantics,
                        PJRT_Event **out_done) {
  PJRT_Client_BufferFromHostBuffer_Args args =
      ARGS_OF(PJRT_Client_BufferFromHostBuffer, .client = client, .data = data, .type = type,
              .dims = dims, .num_dims = rank, .host_buffer_semantics = semantics);
  assert_null(api->PJRT_Client_BufferFromHostBuffer(&args));
  if (out_done)
    *out_done = args.done_with_host_buffer;
  else
    drop_event(args.done_with_host_buffer);
  return args.buffer;
}

static void get(PJRT_Buffer *buffer, void *out_data, size_t size) {
  PJRT_Buffer_ToHostBuffer_Args args =
      ARGS_OF(PJRT_Buffer_ToHostBuffer, .src = buffer, .dst = out_data, .dst_size = size);
  assert_null(api->PJRT_Buffer_ToHostBuffer(&args));
  assert_true(event_state(args.event));
  drop_event(args.event);
}

// ---- copies -------------------------------------------------------------------------------------

// Integers of a few bits come with anything in their byte's other bits; the device extends them.
static void extend(PJRT_Buffer_Type type, unsigned char *data, size_t bytes) {
  int bits;
  if (type == PJRT_Buffer_Type_S4 || type == PJRT_Buffer_Type_U4)
    bits = 4;
  else if (type == PJRT_Buffer_Type_S2 || type == PJRT_Buffer_Type_U2)
    bits = 2;
  else if (type == PJRT_Buffer_Type_S1 || type == PJRT_Buffer_Type_U1)
    bits = 1;
  else
    bits = 8;
  bool is_signed =
      type == PJRT_Buffer_Type_S4 || type == PJRT_Buffer_Type_S2 || type == PJRT_Buffer_Type_S1;
  for (size_t i = 0; bits < 8 && i < bytes; i++) {
    data[i] &= (unsigned char)((1 << bits) - 1);
    if (is_signed && data[i] >> (bits - 1))
      data[i] |= (unsigned char)(0xff << bits);
  }
}

static void every_type_goes_there_and_back(void **state) {
  unsigned char data[16 * 6], back[16 * 6];
  static const int64_t dims[2] = {2, 3};
  for (size_t i = 0; i < sizeof data; i++)
    data[i] = (unsigned char)(i * 7 + 1);
  for (int t = PJRT_Buffer_Type_PRED; t <= PJRT_Buffer_Type_U1; t++) {
    if (t == PJRT_Buffer_Type_TOKEN)
      continue;
    hsc_buffer *buffer;
    hsc_array_spec spec;
    size_t bytes;
    const hsc_host_array array = {(PJRT_Buffer_Type)t, 2, dims, data};
    assert_null(hsc_buffer_from_host(the_client, 0, &array, HSC_HOST_COPY, NULL, &buffer));
    assert_null(hsc_buffer_spec(buffer, &spec));
    assert_int_equal(spec.type, t);
    assert_int_equal(spec.rank, 2);
    assert_int_equal(spec.dims[1], 3);
    assert_null(hsc_buffer_host_bytes(buffer, &bytes));
    assert_int_equal(bytes, 6 * hsc_pjrt_type_bytes((PJRT_Buffer_Type)t));
    memset(back, 0, sizeof back);
    assert_null(hsc_buffer_to_host(buffer, back, bytes));
    unsigned char expected[sizeof data];
    memcpy(expected, data, sizeof data);
    extend((PJRT_Buffer_Type)t, expected, bytes);
    assert_memory_equal(back, expected, bytes);
    expect_status(hsc_buffer_to_host(buffer, back, bytes - 1), HSC_INVALID_ARGUMENT, "are needed");
    hsc_buffer_destroy(buffer);
  }
}

// Random shapes, permuted, padded and reversed arrangements, to the device and back in another one,
// against the obvious loop.
static void any_arrangement_of_bytes_is_copied_right(void **state) {
  hsc_random random;
  hsc_random_init(&random, 42);
  static unsigned char host[1 << 16], back[1 << 16], expected[1 << 16];
  for (size_t i = 0; i < sizeof host; i++)
    host[i] = (unsigned char)hsc_random_u64(&random);
  for (int round = 0; round < 600; round++) {
    static const PJRT_Buffer_Type types[] = {PJRT_Buffer_Type_U8, PJRT_Buffer_Type_F16,
                                             PJRT_Buffer_Type_F32, PJRT_Buffer_Type_F64,
                                             PJRT_Buffer_Type_C128};
    PJRT_Buffer_Type type = types[hsc_random_below(&random, HSC_COUNT_OF(types))];
    size_t element = hsc_pjrt_type_bytes(type);
    size_t rank = hsc_random_below(&random, 6);
    size_t count = 1;
    int64_t dims[8], strides[8], minor_to_major[8], layout_strides[8];
    for (size_t i = 0; i < rank; i++) {
      // now and then an empty or single dimension, or one longer than a square of the copy
      static const int64_t extents[] = {0, 1, 1, 2, 3, 4, 5, 7, 17, 33};
      dims[i] = extents[hsc_random_below(&random, HSC_COUNT_OF(extents))];
      if (count * (size_t)(dims[i] ? dims[i] : 1) > 1500)
        dims[i] = 1;
      count *= (size_t)dims[i];
      minor_to_major[i] = (int64_t)i;
    }
    for (size_t i = rank; i > 1; i--) {
      size_t k = hsc_random_below(&random, i);
      int64_t swap = minor_to_major[k];
      minor_to_major[k] = minor_to_major[i - 1];
      minor_to_major[i - 1] = swap;
    }
    // Host strides: in the order of a permutation, with gaps, some backwards.
    int64_t stride = (int64_t)element;
    int64_t lowest = 0;
    for (size_t i = 0; i < rank; i++) {
      size_t d = (size_t)minor_to_major[rank - 1 - i];
      if (hsc_random_below(&random, 4) == 0)
        stride += (int64_t)element;
      strides[d] = hsc_random_below(&random, 5) == 0 ? -stride : stride;
      if (dims[d] > 0 && strides[d] < 0)
        lowest += strides[d] * (dims[d] - 1);
      stride *= dims[d] ? dims[d] : 1;
      if (stride > 30000)
        break;
    }
    if (stride > 30000)
      continue;
    const unsigned char *origin = host - lowest;
    PJRT_Client_BufferFromHostBuffer_Args from =
        ARGS_OF(PJRT_Client_BufferFromHostBuffer, .client = client, .data = origin, .type = type,
                .dims = dims, .num_dims = rank, .byte_strides = strides, .num_byte_strides = rank);
    // in two rounds of three the device keeps it in another order than row by row
    int64_t device_order[8];
    for (size_t i = 0; i < rank; i++)
      device_order[i] = minor_to_major[round % 3 == 1 ? i : rank - 1 - i];
    PJRT_Buffer_MemoryLayout device_layout = {
        .struct_size = PJRT_Buffer_MemoryLayout_STRUCT_SIZE,
        .type = PJRT_Buffer_MemoryLayout_Type_Tiled,
        .tiled = {.struct_size = PJRT_Buffer_MemoryLayout_Tiled_STRUCT_SIZE,
                  .minor_to_major = device_order,
                  .minor_to_major_size = rank}};
    if (round % 3)
      from.device_layout = &device_layout;
    assert_null(api->PJRT_Client_BufferFromHostBuffer(&from));
    PJRT_Buffer_GetMemoryLayout_Args told =
        ARGS_OF(PJRT_Buffer_GetMemoryLayout, .buffer = from.buffer);
    assert_null(api->PJRT_Buffer_GetMemoryLayout(&told));
    if (round % 3)
      assert_memory_equal(told.layout.tiled.minor_to_major, device_order,
                          rank * sizeof *device_order);
    drop_event(from.done_with_host_buffer);
    // Back with another permutation as host layout.
    int64_t layout_stride = (int64_t)element;
    for (size_t i = 0; i < rank; i++) {
      layout_strides[minor_to_major[i]] = layout_stride;
      layout_stride *= dims[minor_to_major[i]];
    }
    memset(back, 0xee, sizeof back);
    memset(expected, 0xee, sizeof expected);
    int64_t index[8] = {0};
    for (size_t n = 0; n < count; n++) {
      const unsigned char *f = origin;
      unsigned char *t = expected;
      for (size_t d = 0; d < rank; d++) {
        f += index[d] * strides[d];
        t += index[d] * layout_strides[d];
      }
      memcpy(t, f, element);
      for (size_t d = rank; d-- > 0;) {
        if (++index[d] < dims[d])
          break;
        index[d] = 0;
      }
    }
    PJRT_Buffer_MemoryLayout layout = {
        .struct_size = PJRT_Buffer_MemoryLayout_STRUCT_SIZE,
        .type = PJRT_Buffer_MemoryLayout_Type_Tiled,
        .tiled = {.struct_size = PJRT_Buffer_MemoryLayout_Tiled_STRUCT_SIZE,
                  .minor_to_major = minor_to_major,
                  .minor_to_major_size = rank}};
    PJRT_Buffer_ToHostBuffer_Args size =
        ARGS_OF(PJRT_Buffer_ToHostBuffer, .src = from.buffer, .host_layout = &layout);
    assert_null(api->PJRT_Buffer_ToHostBuffer(&size));
    assert_int_equal(size.dst_size, count * element);
    PJRT_Buffer_ToHostBuffer_Args to =
        ARGS_OF(PJRT_Buffer_ToHostBuffer, .src = from.buffer, .host_layout = &layout, .dst = back,
                .dst_size = size.dst_size);
    assert_null(api->PJRT_Buffer_ToHostBuffer(&to));
    drop_event(to.event);
    if (memcmp(back, expected, sizeof back) != 0)
      fail_msg("round %d: rank %zu, element %zu", round, rank, element);
    drop_buffer(from.buffer);
  }
}

static void bad_host_arrays_are_refused(void **state) {
  float data[4] = {0};
  int64_t dims[40] = {4};
  int64_t negative[1] = {-1};
  int64_t huge[3] = {(int64_t)1 << 40, (int64_t)1 << 40, 4};
  hsc_buffer *buffer;
  for (int i = 1; i < 40; i++)
    dims[i] = 1;
  expect_status(hsc_buffer_from_host(the_client, 0,
                                     &(hsc_host_array){PJRT_Buffer_Type_F32, 1, negative, data},
                                     HSC_HOST_COPY, NULL, &buffer),
                HSC_INVALID_ARGUMENT, "dimension 0 is -1");
  expect_status(
      hsc_buffer_from_host(the_client, 0, &(hsc_host_array){PJRT_Buffer_Type_F32, 3, huge, data},
                           HSC_HOST_COPY, NULL, &buffer),
      HSC_RESOURCE_EXHAUSTED, "more bytes");
  expect_status(
      hsc_buffer_from_host(the_client, 0, &(hsc_host_array){PJRT_Buffer_Type_F32, 40, dims, data},
                           HSC_HOST_COPY, NULL, &buffer),
      HSC_INVALID_ARGUMENT, "rank 40");
  expect_status(
      hsc_buffer_from_host(the_client, 0, &(hsc_host_array){(PJRT_Buffer_Type)77, 1, dims, data},
                           HSC_HOST_COPY, NULL, &buffer),
      HSC_INVALID_ARGUMENT, "element type 77");
  expect_status(
      hsc_buffer_from_host(the_client, 0, &(hsc_host_array){PJRT_Buffer_Type_F32, 1, dims, NULL},
                           HSC_HOST_COPY, NULL, &buffer),
      HSC_INVALID_ARGUMENT, "no host memory");
  int64_t petabyte[1] = {(int64_t)1 << 48};
  expect_status(
      hsc_buffer_from_host(the_client, 0, &(hsc_host_array){PJRT_Buffer_Type_U8, 1, petabyte, data},
                           HSC_HOST_COPY, NULL, &buffer),
      HSC_RESOURCE_EXHAUSTED, "no memory");
  int64_t column_major[2] = {0, 1};
  int64_t two[2] = {2, 2};
  PJRT_Buffer_MemoryLayout layout = {
      .struct_size = PJRT_Buffer_MemoryLayout_STRUCT_SIZE,
      .tiled = {.struct_size = PJRT_Buffer_MemoryLayout_Tiled_STRUCT_SIZE,
                .minor_to_major = column_major,
                .minor_to_major_size = 2}};
  PJRT_Client_BufferFromHostBuffer_Args args =
      ARGS_OF(PJRT_Client_BufferFromHostBuffer, .client = client, .data = data,
              .type = PJRT_Buffer_Type_F32, .dims = two, .num_dims = 2, .device_layout = &layout);
  int64_t tile[2] = {8, 128};
  size_t tile_rank = 2;
  layout.tiled.tile_dims = tile;
  layout.tiled.tile_dim_sizes = &tile_rank;
  layout.tiled.num_tiles = 1;
  assert_int_equal(drop_error(api->PJRT_Client_BufferFromHostBuffer(&args)),
                   PJRT_Error_Code_UNIMPLEMENTED);
  layout.tiled.num_tiles = 0;
  column_major[0] = 1;
  column_major[1] = 1;
  PJRT_Buffer *b = put(data, PJRT_Buffer_Type_F32, 2, two,
                       PJRT_HostBufferSemantics_kImmutableOnlyDuringCall, NULL);
  PJRT_Buffer_ToHostBuffer_Args to =
      ARGS_OF(PJRT_Buffer_ToHostBuffer, .src = b, .host_layout = &layout, .dst = data,
              .dst_size = sizeof data);
  assert_int_equal(drop_error(api->PJRT_Buffer_ToHostBuffer(&to)),
                   PJRT_Error_Code_INVALID_ARGUMENT);
  drop_buffer(b);
}

static void empty_arrays_and_scalars_and_high_ranks(void **state) {
  int64_t none[3] = {4, 0, 2};
  int64_t ones[20];
  float one = 1.5f;
  float back = 0;
  for (int i = 0; i < 20; i++)
    ones[i] = 1;
  PJRT_Buffer *b =
      put(NULL, PJRT_Buffer_Type_F32, 3, none, PJRT_HostBufferSemantics_kImmutableZeroCopy, NULL);
  assert_non_null(pointer_of(b));
  get(b, &back, 0);
  drop_buffer(b);
  b = put(&one, PJRT_Buffer_Type_F32, 0, NULL, PJRT_HostBufferSemantics_kImmutableOnlyDuringCall,
          NULL);
  get(b, &back, sizeof back);
  assert_true(back == 1.5f);
  drop_buffer(b);
  b = put(&one, PJRT_Buffer_Type_F32, 20, ones, PJRT_HostBufferSemantics_kImmutableOnlyDuringCall,
          NULL);
  PJRT_Buffer_Dimensions_Args dims = ARGS_OF(PJRT_Buffer_Dimensions, .buffer = b);
  assert_null(api->PJRT_Buffer_Dimensions(&dims));
  assert_int_equal(dims.num_dims, 20);
  assert_int_equal(dims.dims[19], 1);
  PJRT_Buffer_GetMemoryLayout_Args layout = ARGS_OF(PJRT_Buffer_GetMemoryLayout, .buffer = b);
  assert_null(api->PJRT_Buffer_GetMemoryLayout(&layout));
  assert_int_equal(layout.layout.tiled.minor_to_major[0], 19);
  assert_int_equal(layout.layout.tiled.minor_to_major[19], 0);
  drop_buffer(b);
}

// ---- who owns the memory ------------------------------------------------------------------------

static void zero_copy_uses_the_hosts_memory_and_says_when_it_is_free(void **state) {
  static const int64_t dims[1] = {16};
  float *data = aligned_alloc(64, 64 * 2);
  PJRT_Event *done;
  PJRT_Buffer *b =
      put(data, PJRT_Buffer_Type_F32, 1, dims, PJRT_HostBufferSemantics_kImmutableZeroCopy, &done);
  assert_ptr_equal(pointer_of(b), data);
  assert_false(event_state(done));
  PJRT_Buffer_CopyToDevice_Args copy =
      ARGS_OF(PJRT_Buffer_CopyToDevice, .buffer = b, .dst_device = client->device_list[0]);
  assert_null(api->PJRT_Buffer_CopyToDevice(&copy));
  assert_ptr_equal(pointer_of(copy.dst_buffer), data);
  drop_buffer(b);
  assert_false(event_state(done));  // the copy shares it
  drop_buffer(copy.dst_buffer);
  assert_true(event_state(done));
  drop_event(done);
  // Not aligned: copied, free at once.
  b = put(data + 1, PJRT_Buffer_Type_F32, 1, dims, PJRT_HostBufferSemantics_kImmutableZeroCopy,
          &done);
  assert_ptr_not_equal(pointer_of(b), data + 1);
  assert_true(event_state(done));
  drop_event(done);
  drop_buffer(b);
  free(data);
}

static void deleted_is_gone_unless_somebody_holds_it(void **state) {
  static const int64_t dims[1] = {2};
  float data[2] = {1, 2};
  float back[2];
  PJRT_Buffer *b = put(data, PJRT_Buffer_Type_F32, 1, dims,
                       PJRT_HostBufferSemantics_kImmutableOnlyDuringCall, NULL);
  PJRT_Buffer_IncreaseExternalReferenceCount_Args increase =
      ARGS_OF(PJRT_Buffer_IncreaseExternalReferenceCount, .buffer = b);
  PJRT_Buffer_DecreaseExternalReferenceCount_Args decrease =
      ARGS_OF(PJRT_Buffer_DecreaseExternalReferenceCount, .buffer = b);
  assert_null(api->PJRT_Buffer_IncreaseExternalReferenceCount(&increase));
  assert_null(api->PJRT_Buffer_IncreaseExternalReferenceCount(&increase));
  const float *held = pointer_of(b);
  assert_false(is_deleted(b));
  PJRT_Buffer_Delete_Args delete = ARGS_OF(PJRT_Buffer_Delete, .buffer = b);
  assert_null(api->PJRT_Buffer_Delete(&delete));
  assert_null(api->PJRT_Buffer_Delete(&delete));  // twice is fine
  assert_true(is_deleted(b));
  PJRT_Buffer *other = put(back, PJRT_Buffer_Type_F32, 1, dims,
                           PJRT_HostBufferSemantics_kImmutableOnlyDuringCall, NULL);
  assert_ptr_not_equal(pointer_of(other), held);  // not recycled yet
  assert_true(held[1] == 2.0f);
  drop_buffer(other);
  assert_null(api->PJRT_Buffer_DecreaseExternalReferenceCount(&decrease));
  assert_null(api->PJRT_Buffer_DecreaseExternalReferenceCount(&decrease));
  assert_int_equal(drop_error(api->PJRT_Buffer_DecreaseExternalReferenceCount(&decrease)),
                   PJRT_Error_Code_FAILED_PRECONDITION);
  PJRT_Buffer_ToHostBuffer_Args to =
      ARGS_OF(PJRT_Buffer_ToHostBuffer, .src = b, .dst = back, .dst_size = sizeof back);
  assert_int_equal(drop_error(api->PJRT_Buffer_ToHostBuffer(&to)),
                   PJRT_Error_Code_INVALID_ARGUMENT);
  PJRT_Buffer_CopyToMemory_Args copy =
      ARGS_OF(PJRT_Buffer_CopyToMemory, .buffer = b, .dst_memory = client->memory_list[0]);
  assert_int_equal(drop_error(api->PJRT_Buffer_CopyToMemory(&copy)),
                   PJRT_Error_Code_INVALID_ARGUMENT);
  drop_buffer(b);
}

static int64_t bytes_in_use(void) {
  PJRT_Device_MemoryStats_Args args =
      ARGS_OF(PJRT_Device_MemoryStats, .device = client->device_list[0]);
  assert_null(api->PJRT_Device_MemoryStats(&args));
  assert_true(args.bytes_reservable_limit_is_set);
  assert_int_equal(args.bytes_reservable_limit, args.bytes_limit);
  return args.bytes_in_use;
}

static void memory_is_recycled_and_counted(void **state) {
  static const int64_t dims[1] = {1 << 20};
  int64_t before = bytes_in_use();
  float *data = calloc(1 << 20, sizeof *data);
  PJRT_Buffer *b = put(data, PJRT_Buffer_Type_F32, 1, dims,
                       PJRT_HostBufferSemantics_kImmutableOnlyDuringCall, NULL);
  void *first = pointer_of(b);
  assert_true((uintptr_t)first % 64 == 0);
  assert_int_equal(bytes_in_use() - before, 4 << 20);
  drop_buffer(b);
  assert_int_equal(bytes_in_use(), before);
  b = put(data, PJRT_Buffer_Type_F32, 1, dims, PJRT_HostBufferSemantics_kImmutableOnlyDuringCall,
          NULL);
  assert_ptr_equal(pointer_of(b), first);
  // Deleting gives the memory back while the handle is still there; what somebody holds from
  // outside stays until it is let go.
  PJRT_Buffer_Delete_Args delete = ARGS_OF(PJRT_Buffer_Delete, .buffer = b);
  assert_int_equal(bytes_in_use() - before, 4 << 20);
  assert_null(api->PJRT_Buffer_Delete(&delete));
  assert_int_equal(bytes_in_use(), before);
  drop_buffer(b);
  assert_int_equal(bytes_in_use(), before);
  b = put(data, PJRT_Buffer_Type_F32, 1, dims, PJRT_HostBufferSemantics_kImmutableOnlyDuringCall,
          NULL);
  PJRT_Buffer_IncreaseExternalReferenceCount_Args increase =
      ARGS_OF(PJRT_Buffer_IncreaseExternalReferenceCount, .buffer = b);
  PJRT_Buffer_DecreaseExternalReferenceCount_Args decrease =
      ARGS_OF(PJRT_Buffer_DecreaseExternalReferenceCount, .buffer = b);
  assert_null(api->PJRT_Buffer_IncreaseExternalReferenceCount(&increase));
  delete.buffer = b;
  assert_null(api->PJRT_Buffer_Delete(&delete));
  assert_int_equal(bytes_in_use() - before, 4 << 20);
  assert_null(api->PJRT_Buffer_DecreaseExternalReferenceCount(&decrease));
  assert_int_equal(bytes_in_use(), before);
  drop_buffer(b);
  // Every size gets room for itself, and its class gives the same block again.
  for (size_t size = 0; size < 5000; size += 1 + size / 7) {
    hsc__block *block = hsc__block_take(client, size);
    assert_true(block->capacity_bytes >= size && block->capacity_bytes <= size + size / 4 + 64);
    memset(block->data, 1, block->capacity_bytes);
    void *data_before = block->data;
    hsc__block_release(client, block);
    hsc__block *again = hsc__block_take(client, size);
    assert_ptr_equal(again->data, data_before);
    hsc__block_release(client, again);
  }
  free(data);
}

static int freed;
static void count_free(void *data, void *user) {
  freed += *(int *)user;
}

static void views_call_their_owner_once(void **state) {
  static const int64_t dims[1] = {4};
  float *data = aligned_alloc(64, 128);
  float back[4];
  int one = 1;
  for (int i = 0; i < 8; i++)
    data[i] = (float)i;
  for (int offset = 0; offset < 2; offset++) {
    freed = 0;
    PJRT_Client_CreateViewOfDeviceBuffer_Args args =
        ARGS_OF(PJRT_Client_CreateViewOfDeviceBuffer, .client = client,
                .device_buffer_ptr = data + offset, .dims = dims, .num_dims = 1,
                .element_type = PJRT_Buffer_Type_F32, .device = client->device_list[0],
                .on_delete_callback = count_free, .on_delete_callback_arg = &one);
    assert_null(api->PJRT_Client_CreateViewOfDeviceBuffer(&args));
    assert_int_equal(freed, offset);  // the unaligned one was copied
    get(args.buffer, back, sizeof back);
    assert_true(back[3] == (float)(3 + offset));
    drop_buffer(args.buffer);
    assert_int_equal(freed, 1);
  }
  free(data);
}

static void bitcasts_see_the_same_bytes(void **state) {
  static const int64_t dims[2] = {2, 2};
  static const int64_t more[1] = {16};
  float data[4] = {1, 2, 3, 4};
  unsigned char back[16];
  PJRT_Buffer *b = put(data, PJRT_Buffer_Type_F32, 2, dims,
                       PJRT_HostBufferSemantics_kImmutableOnlyDuringCall, NULL);
  PJRT_Buffer_Bitcast_Args args =
      ARGS_OF(PJRT_Buffer_Bitcast, .buffer = b, .element_type = PJRT_Buffer_Type_U8, .dims = more,
              .num_dims = 1);
  assert_null(api->PJRT_Buffer_Bitcast(&args));
  drop_buffer(b);
  get(args.out_buffer, back, 16);
  assert_memory_equal(back, data, 16);
  args.buffer = args.out_buffer;
  args.element_type = PJRT_Buffer_Type_U16;
  assert_int_equal(drop_error(api->PJRT_Buffer_Bitcast(&args)), PJRT_Error_Code_INVALID_ARGUMENT);
  drop_buffer(args.buffer);
}

// A byte holds two values of four bits, the first one in its low half; on the device each has a
// byte of its own.
static void bitcasts_take_narrow_values_apart_and_together(void **state) {
  static const int64_t pair[1] = {2};
  static const int64_t none[1] = {0};
  unsigned char data = 0xd7;
  unsigned char back[2] = {0};
  PJRT_Buffer *b = put(&data, PJRT_Buffer_Type_U8, 0, none,
                       PJRT_HostBufferSemantics_kImmutableOnlyDuringCall, NULL);
  PJRT_Buffer_Bitcast_Args args =
      ARGS_OF(PJRT_Buffer_Bitcast, .buffer = b, .element_type = PJRT_Buffer_Type_S4, .dims = pair,
              .num_dims = 1);
  assert_null(api->PJRT_Buffer_Bitcast(&args));
  drop_buffer(b);
  get(args.out_buffer, back, 2);
  assert_int_equal((signed char)back[0], 7);
  assert_int_equal((signed char)back[1], -3);
  args.buffer = args.out_buffer;
  args.element_type = PJRT_Buffer_Type_U8;
  args.num_dims = 0;
  assert_null(api->PJRT_Buffer_Bitcast(&args));
  drop_buffer(args.buffer);
  get(args.out_buffer, back, 1);
  assert_int_equal(back[0], 0xd7);
  drop_buffer(args.out_buffer);
}

static void raw_copies_check_their_range(void **state) {
  static const int64_t dims[1] = {8};
  unsigned char data[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  unsigned char back[8] = {0};
  PJRT_Buffer *b = put(data, PJRT_Buffer_Type_U8, 1, dims,
                       PJRT_HostBufferSemantics_kImmutableOnlyDuringCall, NULL);
  PJRT_Buffer_CopyRawToHost_Args args =
      ARGS_OF(PJRT_Buffer_CopyRawToHost, .buffer = b, .dst = back, .offset = 5, .transfer_size = 3);
  assert_null(api->PJRT_Buffer_CopyRawToHost(&args));
  drop_event(args.event);
  assert_memory_equal(back, data + 5, 3);
  static const int64_t bad[][2] = {{6, 3}, {-1, 2}, {0, 9}, {9, 0}, {0, -1}, {8, INT64_MAX}};
  for (size_t i = 0; i < HSC_COUNT_OF(bad); i++) {
    args.offset = bad[i][0];
    args.transfer_size = bad[i][1];
    assert_int_equal(drop_error(api->PJRT_Buffer_CopyRawToHost(&args)),
                     PJRT_Error_Code_OUT_OF_RANGE);
  }
  PJRT_Buffer_CopyRawToHostFuture_Args future =
      ARGS_OF(PJRT_Buffer_CopyRawToHostFuture, .buffer = b, .offset = 1, .transfer_size = 2);
  assert_null(api->PJRT_Buffer_CopyRawToHostFuture(&future));
  drop_buffer(b);  // the copy still has the bytes
  assert_false(event_state(future.event));
  PJRT_Buffer_CopyRawToHostFuture_Callback_Args callback = {
      .struct_size = PJRT_Buffer_CopyRawToHostFuture_Callback_Args_STRUCT_SIZE,
      .callback_data = future.callback_data,
      .dst = back};
  future.future_ready_callback(&callback);
  assert_true(event_state(future.event));
  assert_memory_equal(back, data + 1, 2);
  drop_event(future.event);
}

// ---- contents that come later -------------------------------------------------------------------

static void transfer_managers_fill_their_buffers(void **state) {
  static const int64_t four[1] = {4};
  static const int64_t two_by_two[2] = {2, 2};
  PJRT_ShapeSpec specs[3];
  for (int i = 0; i < 3; i++)
    specs[i] = (PJRT_ShapeSpec){.struct_size = PJRT_ShapeSpec_STRUCT_SIZE,
                                .dims = four,
                                .num_dims = 1,
                                .element_type = PJRT_Buffer_Type_F32};
  specs[1].dims = two_by_two;
  specs[1].num_dims = 2;
  PJRT_Client_CreateBuffersForAsyncHostToDevice_Args create =
      ARGS_OF(PJRT_Client_CreateBuffersForAsyncHostToDevice, .client = client, .shape_specs = specs,
              .num_shape_specs = 3, .memory = client->memory_list[0]);
  assert_null(api->PJRT_Client_CreateBuffersForAsyncHostToDevice(&create));
  PJRT_Buffer *buffers[3];
  for (int i = 0; i < 3; i++) {
    PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args retrieve =
        ARGS_OF(PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer,
                .transfer_manager = create.transfer_manager, .buffer_index = i);
    assert_null(api->PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer(&retrieve));
    buffers[i] = retrieve.buffer_out;
    assert_int_equal(
        drop_error(api->PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer(&retrieve)),
        PJRT_Error_Code_FAILED_PRECONDITION);
  }
  float data[4] = {1, 2, 3, 4};
  float back[4];
  PJRT_AsyncHostToDeviceTransferManager_TransferData_Args part =
      ARGS_OF(PJRT_AsyncHostToDeviceTransferManager_TransferData,
              .transfer_manager = create.transfer_manager, .data = data, .transfer_size = 8);
  assert_null(api->PJRT_AsyncHostToDeviceTransferManager_TransferData(&part));
  drop_event(part.done_with_h2d_transfer);
  PJRT_Buffer_ReadyEvent_Args ready = ARGS_OF(PJRT_Buffer_ReadyEvent, .buffer = buffers[0]);
  assert_null(api->PJRT_Buffer_ReadyEvent(&ready));
  assert_false(event_state(ready.event));
  part.data = data + 2;
  part.offset = 8;
  part.is_last_transfer = true;
  assert_null(api->PJRT_AsyncHostToDeviceTransferManager_TransferData(&part));
  drop_event(part.done_with_h2d_transfer);
  assert_true(event_state(ready.event));
  drop_event(ready.event);
  assert_int_equal(drop_error(api->PJRT_AsyncHostToDeviceTransferManager_TransferData(&part)),
                   PJRT_Error_Code_FAILED_PRECONDITION);
  get(buffers[0], back, sizeof back);
  assert_memory_equal(back, data, sizeof data);
  static const int64_t column_major[2] = {0, 1};
  PJRT_Buffer_MemoryLayout layout = {
      .struct_size = PJRT_Buffer_MemoryLayout_STRUCT_SIZE,
      .tiled = {.struct_size = PJRT_Buffer_MemoryLayout_Tiled_STRUCT_SIZE,
                .minor_to_major = column_major,
                .minor_to_major_size = 2}};
  PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args literal =
      ARGS_OF(PJRT_AsyncHostToDeviceTransferManager_TransferLiteral,
              .transfer_manager = create.transfer_manager, .buffer_index = 1, .data = data,
              .shape_dims = two_by_two, .shape_num_dims = 2,
              .shape_element_type = PJRT_Buffer_Type_F32, .shape_layout = &layout);
  assert_null(api->PJRT_AsyncHostToDeviceTransferManager_TransferLiteral(&literal));
  drop_event(literal.done_with_h2d_transfer);
  get(buffers[1], back, sizeof back);
  static const float transposed[4] = {1, 3, 2, 4};
  assert_memory_equal(back, transposed, sizeof back);
  PJRT_AsyncHostToDeviceTransferManager_BufferSize_Args size =
      ARGS_OF(PJRT_AsyncHostToDeviceTransferManager_BufferSize,
              .transfer_manager = create.transfer_manager, .buffer_index = 3);
  assert_int_equal(drop_error(api->PJRT_AsyncHostToDeviceTransferManager_BufferSize(&size)),
                   PJRT_Error_Code_INVALID_ARGUMENT);
  size.buffer_index = 2;
  assert_null(api->PJRT_AsyncHostToDeviceTransferManager_BufferSize(&size));
  assert_int_equal(size.buffer_size, 16);
  // The third is never filled: whoever waits hears of it.
  PJRT_AsyncHostToDeviceTransferManager_Destroy_Args destroy = ARGS_OF(
      PJRT_AsyncHostToDeviceTransferManager_Destroy, .transfer_manager = create.transfer_manager);
  assert_null(api->PJRT_AsyncHostToDeviceTransferManager_Destroy(&destroy));
  PJRT_Buffer_ToHostBuffer_Args to =
      ARGS_OF(PJRT_Buffer_ToHostBuffer, .src = buffers[2], .dst = back, .dst_size = sizeof back);
  assert_int_equal(drop_error(api->PJRT_Buffer_ToHostBuffer(&to)), PJRT_Error_Code_CANCELLED);
  for (int i = 0; i < 3; i++)
    drop_buffer(buffers[i]);
}

static void *fulfill_later(void *argument) {
  hsc_sleep_ns(20 * 1000 * 1000);
  assert_null(api->PJRT_Client_FulfillAliasBuffer(argument));
  return NULL;
}

static void aliases_wait_for_their_contents(void **state) {
  static const int64_t dims[1] = {4};
  float data[4] = {4, 3, 2, 1};
  float back[4];
  PJRT_Client_CreateAliasBuffer_Args create =
      ARGS_OF(PJRT_Client_CreateAliasBuffer, .client = client, .memory = client->memory_list[0],
              .shape_dims = dims, .shape_num_dims = 1, .shape_element_type = PJRT_Buffer_Type_F32);
  assert_null(api->PJRT_Client_CreateAliasBuffer(&create));
  PJRT_Buffer *contents = put(data, PJRT_Buffer_Type_F32, 1, dims,
                              PJRT_HostBufferSemantics_kImmutableOnlyDuringCall, NULL);
  PJRT_Client_FulfillAliasBuffer_Args fulfill =
      ARGS_OF(PJRT_Client_FulfillAliasBuffer, .client = client, .buffer = contents,
              .fulfill_alias_buffer_cb = create.fulfill_alias_buffer_cb);
  pthread_t thread;
  pthread_create(&thread, NULL, fulfill_later, &fulfill);
  get(create.alias_buffer, back, sizeof back);  // waits
  pthread_join(thread, NULL);
  assert_memory_equal(back, data, sizeof data);
  drop_buffer(contents);
  drop_buffer(create.alias_buffer);
}

static void error_buffers_give_their_error(void **state) {
  static const int64_t dims[1] = {4};
  float back[4];
  PJRT_Client_CreateErrorBuffer_Args args = ARGS_OF(
      PJRT_Client_CreateErrorBuffer, .client = client, .error_code = PJRT_Error_Code_DATA_LOSS,
      .error_message = "lost it", .error_message_size = 7, .shape_dims = dims, .shape_num_dims = 1,
      .shape_element_type = PJRT_Buffer_Type_F32, .memory = client->memory_list[0]);
  assert_null(api->PJRT_Client_CreateErrorBuffer(&args));
  PJRT_Buffer_ToHostBuffer_Args to =
      ARGS_OF(PJRT_Buffer_ToHostBuffer, .src = args.buffer, .dst = back, .dst_size = sizeof back);
  assert_int_equal(drop_error(api->PJRT_Buffer_ToHostBuffer(&to)), PJRT_Error_Code_DATA_LOSS);
  // each time anew
  assert_int_equal(drop_error(api->PJRT_Buffer_ToHostBuffer(&to)), PJRT_Error_Code_DATA_LOSS);
  drop_buffer(args.buffer);
}

static void donation_with_a_dependency_waits_for_it(void **state) {
  static const int64_t dims[1] = {1};
  float data[1] = {9};
  float back[1];
  PJRT_Buffer *b = put(data, PJRT_Buffer_Type_F32, 1, dims,
                       PJRT_HostBufferSemantics_kImmutableOnlyDuringCall, NULL);
  PJRT_Buffer_DonateWithControlDependency_Args args =
      ARGS_OF(PJRT_Buffer_DonateWithControlDependency, .buffer = b);
  assert_null(api->PJRT_Buffer_DonateWithControlDependency(&args));
  assert_true(is_deleted(b));
  drop_buffer(b);
  PJRT_Buffer_ReadyEvent_Args ready = ARGS_OF(PJRT_Buffer_ReadyEvent, .buffer = args.out_buffer);
  assert_null(api->PJRT_Buffer_ReadyEvent(&ready));
  assert_false(event_state(ready.event));
  drop_event(ready.event);
  PJRT_Buffer_DonateWithControlDependency_Callback_Args callback = {
      .struct_size = PJRT_Buffer_DonateWithControlDependency_Callback_Args_STRUCT_SIZE,
      .callback_data = args.callback_data};
  args.dependency_ready_callback(&callback);
  get(args.out_buffer, back, sizeof back);
  assert_true(back[0] == 9.0f);
  drop_buffer(args.out_buffer);
}

// ---- no memory ----------------------------------------------------------------------------------

// A call that makes something of `from` (which it may take away). The error's code, 0 = none; what
// it made is in *out_buffer or *out_event.
typedef struct call {
  const char *name;
  int (*run)(PJRT_Buffer *from, PJRT_Buffer **out_buffer, PJRT_Event **out_event);
} call;

static const int64_t SIX[2] = {2, 3};
static float six[6] = {1, 2, 3, 4, 5, 6};

static int call_put(PJRT_Buffer *from, PJRT_Buffer **out_buffer, PJRT_Event **out_event) {
  PJRT_Client_BufferFromHostBuffer_Args args =
      ARGS_OF(PJRT_Client_BufferFromHostBuffer, .client = client, .data = six,
              .type = PJRT_Buffer_Type_F32, .dims = SIX, .num_dims = 2);
  int code = drop_error(api->PJRT_Client_BufferFromHostBuffer(&args));
  *out_buffer = args.buffer;
  *out_event = args.done_with_host_buffer;
  return code;
}

static int call_get(PJRT_Buffer *from, PJRT_Buffer **out_buffer, PJRT_Event **out_event) {
  static float back[6];
  PJRT_Buffer_ToHostBuffer_Args args =
      ARGS_OF(PJRT_Buffer_ToHostBuffer, .src = from, .dst = back, .dst_size = sizeof back);
  int code = drop_error(api->PJRT_Buffer_ToHostBuffer(&args));
  *out_event = args.event;
  return code;
}

static int call_copy(PJRT_Buffer *from, PJRT_Buffer **out_buffer, PJRT_Event **out_event) {
  PJRT_Buffer_CopyToMemory_Args args =
      ARGS_OF(PJRT_Buffer_CopyToMemory, .buffer = from, .dst_memory = client->memory_list[0]);
  int code = drop_error(api->PJRT_Buffer_CopyToMemory(&args));
  *out_buffer = args.dst_buffer;
  return code;
}

static int call_donate(PJRT_Buffer *from, PJRT_Buffer **out_buffer, PJRT_Event **out_event) {
  PJRT_Buffer_DonateWithControlDependency_Args args =
      ARGS_OF(PJRT_Buffer_DonateWithControlDependency, .buffer = from);
  int code = drop_error(api->PJRT_Buffer_DonateWithControlDependency(&args));
  *out_buffer = args.out_buffer;
  if (!code) {
    PJRT_Buffer_DonateWithControlDependency_Callback_Args callback = {
        .struct_size = PJRT_Buffer_DonateWithControlDependency_Callback_Args_STRUCT_SIZE,
        .callback_data = args.callback_data};
    args.dependency_ready_callback(&callback);
  }
  return code;
}

static int call_error_buffer(PJRT_Buffer *from, PJRT_Buffer **out_buffer, PJRT_Event **out_event) {
  PJRT_Client_CreateErrorBuffer_Args args = ARGS_OF(
      PJRT_Client_CreateErrorBuffer, .client = client, .error_code = PJRT_Error_Code_DATA_LOSS,
      .error_message = "lost it", .error_message_size = 7, .shape_dims = SIX, .shape_num_dims = 2,
      .shape_element_type = PJRT_Buffer_Type_F32, .memory = client->memory_list[0]);
  int code = drop_error(api->PJRT_Client_CreateErrorBuffer(&args));
  *out_buffer = args.buffer;
  return code;
}

static int call_ready(PJRT_Buffer *from, PJRT_Buffer **out_buffer, PJRT_Event **out_event) {
  PJRT_Buffer_ReadyEvent_Args args = ARGS_OF(PJRT_Buffer_ReadyEvent, .buffer = from);
  int code = drop_error(api->PJRT_Buffer_ReadyEvent(&args));
  *out_event = args.event;
  return code;
}

static int call_event(PJRT_Buffer *from, PJRT_Buffer **out_buffer, PJRT_Event **out_event) {
  PJRT_Event_Create_Args args = ARGS_OF(PJRT_Event_Create, .event = NULL);
  int code = drop_error(api->PJRT_Event_Create(&args));
  *out_event = args.event;
  return code;
}

enum { MOST_HELD = 20000 };
static PJRT_Buffer *held_buffers[MOST_HELD];
static PJRT_Event *held_events[MOST_HELD];
static int held_count;

// What was given back serves again: takes all of it, so that the next call needs an allocation.
static void use_up_what_is_kept(void) {
  hsc_alloc_fail_after(1);
  for (int code = 0; !code && held_count < MOST_HELD;) {
    PJRT_Buffer **buffer = &held_buffers[held_count];
    PJRT_Event **event = &held_events[held_count];
    *buffer = NULL;
    *event = NULL;
    code = call_put(NULL, buffer, event);
    if (code)
      code = call_event(NULL, buffer, event);
    held_count += !code;
  }
  hsc_alloc_fail_after(0);
}

static void give_back_what_was_used_up(void) {
  for (; held_count > 0; held_count--) {
    if (held_buffers[held_count - 1])
      drop_buffer(held_buffers[held_count - 1]);
    drop_event(held_events[held_count - 1]);
  }
}

// Each allocation fails in turn: an error says so, nothing was made, what was given is as it was,
// and the memory of the device is counted as before.
static void each_call_survives_each_allocation_that_fails(void **state) {
  static const call calls[] = {{"BufferFromHostBuffer", call_put},
                               {"ToHostBuffer", call_get},
                               {"CopyToMemory", call_copy},
                               {"DonateWithControlDependency", call_donate},
                               {"CreateErrorBuffer", call_error_buffer},
                               {"ReadyEvent", call_ready},
                               {"Event_Create", call_event}};
  int all_failures = 0;
  for (size_t c = 0; c < HSC_COUNT_OF(calls); c++) {
    int64_t before = bytes_in_use();
    int failures = 0;
    for (uint64_t n = 1, failed = 1; failed; n++) {
      PJRT_Buffer *from = put(six, PJRT_Buffer_Type_F32, 2, SIX,
                              PJRT_HostBufferSemantics_kImmutableOnlyDuringCall, NULL);
      PJRT_Buffer *made = NULL;
      PJRT_Event *event = NULL;
      float back[6] = {0};
      use_up_what_is_kept();
      hsc_alloc_fail_after(n);
      int code = calls[c].run(from, &made, &event);
      hsc_alloc_fail_after(0);
      failed = code != 0;
      failures += code != 0;
      if (failed && code != PJRT_Error_Code_RESOURCE_EXHAUSTED)
        fail_msg("%s, allocation %d: code %d", calls[c].name, (int)n, code);
      if (failed && (made || event))
        fail_msg("%s, allocation %d: an error, and something was made", calls[c].name, (int)n);
      if (!failed && !made && !event)
        fail_msg("%s, allocation %d: no error, and nothing was made", calls[c].name, (int)n);
      if (failed) {
        get(from, back, sizeof back);
        assert_memory_equal(back, six, sizeof back);
      }
      if (event)
        drop_event(event);
      if (made)
        drop_buffer(made);
      drop_buffer(from);
      give_back_what_was_used_up();
      assert_int_equal(bytes_in_use(), before);
    }
    all_failures += failures;
  }
  assert_true(all_failures >= 8);
}

// ---- events -------------------------------------------------------------------------------------

static int last_code, call_count;
static void note_call(PJRT_Error *error, void *user) {
  call_count++;
  last_code = drop_error(error);
}

static void events_of_the_host_are_set_once(void **state) {
  PJRT_Event_Create_Args create = ARGS_OF(PJRT_Event_Create);
  assert_null(api->PJRT_Event_Create(&create));
  call_count = 0;
  PJRT_Event_OnReady_Args on_ready =
      ARGS_OF(PJRT_Event_OnReady, .event = create.event, .callback = note_call);
  assert_null(api->PJRT_Event_OnReady(&on_ready));
  assert_null(api->PJRT_Event_OnReady(&on_ready));
  assert_int_equal(call_count, 0);
  PJRT_Event_Error_Args error = ARGS_OF(PJRT_Event_Error, .event = create.event);
  // not ready
  assert_int_equal(drop_error(api->PJRT_Event_Error(&error)), PJRT_Error_Code_FAILED_PRECONDITION);
  PJRT_Event_Set_Args set =
      ARGS_OF(PJRT_Event_Set, .event = create.event, .error_code = PJRT_Error_Code_ABORTED,
              .error_message = "no", .error_message_size = 2);
  assert_null(api->PJRT_Event_Set(&set));
  assert_int_equal(call_count, 2);
  assert_int_equal(last_code, PJRT_Error_Code_ABORTED);
  assert_int_equal(drop_error(api->PJRT_Event_Set(&set)), PJRT_Error_Code_FAILED_PRECONDITION);
  PJRT_Event_Await_Args await = ARGS_OF(PJRT_Event_Await, .event = create.event);
  assert_int_equal(drop_error(api->PJRT_Event_Await(&await)), PJRT_Error_Code_ABORTED);
  assert_int_equal(drop_error(api->PJRT_Event_Error(&error)), PJRT_Error_Code_ABORTED);
  assert_null(api->PJRT_Event_OnReady(&on_ready));  // at once
  assert_int_equal(call_count, 3);
  drop_event(create.event);
  // Dropped before it was set: the waiter hears of it.
  assert_null(api->PJRT_Event_Create(&create));
  on_ready.event = create.event;
  assert_null(api->PJRT_Event_OnReady(&on_ready));
  drop_event(create.event);
  assert_int_equal(call_count, 4);
  assert_int_equal(last_code, PJRT_Error_Code_CANCELLED);
}

static int user_data_freed;
static void free_user_data(void *data) {
  user_data_freed++;
}

static void hosts_attach_data_to_memories(void **state) {
  PJRT_Client_Create_Args create = ARGS_OF(PJRT_Client_Create);
  assert_null(api->PJRT_Client_Create(&create));
  PJRT_Memory *memory = create.client->memory_list[0];
  int a, b, key;
  user_data_freed = 0;
  assert_null(memory->vtable->get_user_data(memory, &key));
  memory->vtable->set_user_data(memory, &key, &a, free_user_data);
  assert_ptr_equal(memory->vtable->get_user_data(memory, &key), &a);
  memory->vtable->set_user_data(memory, &key, &b, free_user_data);
  assert_int_equal(user_data_freed, 1);
  assert_ptr_equal(memory->vtable->get_user_data(memory, &key), &b);
  PJRT_Client_Destroy_Args destroy = ARGS_OF(PJRT_Client_Destroy, .client = create.client);
  assert_null(api->PJRT_Client_Destroy(&destroy));
  assert_int_equal(user_data_freed, 2);
}

static void options_of_the_client(void **state) {
  hsc_client *c;
  hsc_named_value options[] = {
      {.name = "device_count", .type = PJRT_NamedValue_kInt64, .integer = 3}};
  assert_null(hsc_client_create(plugin, options, 1, &c));
  assert_int_equal(hsc_client_device_count(c), 3);
  assert_int_equal(hsc_client_device(c, 2)->id, 2);
  assert_string_equal(hsc_client_platform_name(c), "hloscope");
  // Buffers live on the device they were made on, and keep the client alive.
  static const int64_t dims[1] = {1};
  float one = 1;
  hsc_buffer *buffer;
  assert_null(hsc_buffer_from_host(c, 2, &(hsc_host_array){PJRT_Buffer_Type_F32, 1, dims, &one},
                                   HSC_HOST_COPY, NULL, &buffer));
  hsc_buffer_destroy(buffer);
  hsc_client_destroy(c);
  // As XLA:CPU is asked: by its plugin's option and by XLA_FLAGS, which every other way beats.
  static const struct {
    const char *flags, *variable;
    int64_t option;
    int count;
  } asked[] = {
      {"--xla_force_host_platform_device_count=8", NULL, 0, 8},
      {"--xla_dump_to=/nowhere --xla_force_host_platform_device_count=2 "
       "--xla_force_host_platform_device_count=4",
       NULL, 0, 4},
      {"--not_xla_force_host_platform_device_count=8", NULL, 0, 1},
      {"--xla_force_host_platform_device_count=8", "5", 0, 5},
      {"--xla_force_host_platform_device_count=8", "5", 6, 6},
      {"/no/such/file", NULL, 0, 1},
      {"", NULL, 0, 1},
  };
  for (size_t i = 0; i < HSC_COUNT_OF(asked); i++) {
    hsc_named_value own = {
        .name = "cpu_device_count", .type = PJRT_NamedValue_kInt64, .integer = asked[i].option};
    setenv("XLA_FLAGS", asked[i].flags, 1);
    if (asked[i].variable)
      setenv("HLOSCOPE_DEVICE_COUNT", asked[i].variable, 1);
    assert_null(hsc_client_create(plugin, &own, asked[i].option != 0, &c));
    assert_int_equal(hsc_client_device_count(c), asked[i].count);
    hsc_client_destroy(c);
    unsetenv("HLOSCOPE_DEVICE_COUNT");
  }
  setenv("XLA_FLAGS", "--xla_force_host_platform_device_count=many", 1);
  expect_status(hsc_client_create(plugin, NULL, 0, &c), HSC_INVALID_ARGUMENT, "wants a number");
  unsetenv("XLA_FLAGS");
  options[0].integer = 0;
  expect_status(hsc_client_create(plugin, options, 1, &c), HSC_INVALID_ARGUMENT,
                "device_count is 0");
  options[0] =
      (hsc_named_value){.name = "device_cuont", .type = PJRT_NamedValue_kInt64, .integer = 1};
  expect_status(hsc_client_create(plugin, options, 1, &c), HSC_INVALID_ARGUMENT, "device_cuont");
  options[0] =
      (hsc_named_value){.name = "device_count", .type = PJRT_NamedValue_kString, .text = "2"};
  expect_status(hsc_client_create(plugin, options, 1, &c), HSC_INVALID_ARGUMENT, "another type");
}

static void topologies_come_by_name(void **state) {
  hsc_topology *topology;
  const hsc_device_info *devices;
  hsc_bytes bytes = {0};
  size_t count;
  assert_null(hsc_topology_create(plugin, "cpu:4", NULL, 0, &topology));
  assert_null(hsc_topology_devices(topology, &devices, &count));
  assert_int_equal(count, 4);
  assert_int_equal(devices[3].id, 3);
  assert_null(hsc_topology_serialize(topology, &bytes));
  assert_string_equal(hsc_bytes_text(&bytes), "cpu:4");
  hsc_bytes_deinit(&bytes);
  hsc_topology_destroy(topology);
  PJRT_TopologyDescription_Create_Args create =
      ARGS_OF(PJRT_TopologyDescription_Create, .topology_name = "", .topology_name_size = 0);
  assert_null(api->PJRT_TopologyDescription_Create(&create));
  static const int64_t dims[2] = {300, 4};
  PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace_Args shape = ARGS_OF(
      PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace, .topology = create.topology,
      .dims = dims, .num_dims = 2, .element_type = PJRT_Buffer_Type_F32);
  assert_null(api->PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace(&shape));
  static const char expected[] = "\x10\x0b\x1a\x03\xac\x02\x04\x2a\x04\x0a\x02\x01\x00";
  assert_int_equal(shape.serialized_shape_size, sizeof expected - 1);
  assert_memory_equal(shape.serialized_shape, expected, sizeof expected - 1);
  shape.serialized_shape_deleter(shape.serialized_shape);
  PJRT_TopologyDescription_Destroy_Args destroy =
      ARGS_OF(PJRT_TopologyDescription_Destroy, .topology = create.topology);
  assert_null(api->PJRT_TopologyDescription_Destroy(&destroy));
  static const char *const bad[] = {
      "tpu:4", "cpu:", "cpu:0", "cpu:65", "cpu:4x", "cpu:99999999999999999999999999999999999999"};
  for (size_t i = 0; i < HSC_COUNT_OF(bad); i++)
    expect_status(hsc_topology_create(plugin, bad[i], NULL, 0, &topology), HSC_INVALID_ARGUMENT,
                  "cpu:N");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_type_goes_there_and_back),
      cmocka_unit_test(any_arrangement_of_bytes_is_copied_right),
      cmocka_unit_test(bad_host_arrays_are_refused),
      cmocka_unit_test(empty_arrays_and_scalars_and_high_ranks),
      cmocka_unit_test(zero_copy_uses_the_hosts_memory_and_says_when_it_is_free),
      cmocka_unit_test(deleted_is_gone_unless_somebody_holds_it),
      cmocka_unit_test(memory_is_recycled_and_counted),
      cmocka_unit_test(views_call_their_owner_once),
      cmocka_unit_test(bitcasts_see_the_same_bytes),
      cmocka_unit_test(bitcasts_take_narrow_values_apart_and_together),
      cmocka_unit_test(raw_copies_check_their_range),
      cmocka_unit_test(transfer_managers_fill_their_buffers),
      cmocka_unit_test(aliases_wait_for_their_contents),
      cmocka_unit_test(error_buffers_give_their_error),
      cmocka_unit_test(donation_with_a_dependency_waits_for_it),
      cmocka_unit_test(each_call_survives_each_allocation_that_fails),
      cmocka_unit_test(events_of_the_host_are_set_once),
      cmocka_unit_test(hosts_attach_data_to_memories),
      cmocka_unit_test(options_of_the_client),
      cmocka_unit_test(topologies_come_by_name),
  };
  return cmocka_run_group_tests(tests, open_device, close_device);
}
